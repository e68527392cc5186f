/* internal.h: what the files of this folder share. */
#ifndef TENON_VENDORS_INTERNAL_H
#define TENON_VENDORS_INTERNAL_H

#include "benchmarks/vendors/vendors.h"

/* A row of the table of vendors. */
typedef struct vendor_library {
  const char *name;
  /* As vendor_prepare. */
  bool (*prepare)(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                  char why[VENDOR_TEXT]);
} vendor_library;

/* Opens FILE and looks up N names in it. False: WHY. The library stays open. */
bool vendor_open_library(const char *file, int n, const char *const *names, void **addresses, char why[VENDOR_TEXT]);

/* The vendors' own forms of vendor_prepare. */
bool vendor_openblas_prepare(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                             char why[VENDOR_TEXT]);
bool vendor_blis_prepare(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                         char why[VENDOR_TEXT]);
bool vendor_onednn_prepare(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                           char why[VENDOR_TEXT]);

/* ---- choose.c ---------------------------------------------------------------------------------------------------- */

/* A library that reads an environment variable once, when it is loaded, to choose the kind of processor for its
 * kernels. */
typedef struct vendor_choice {
  const char *variable;
  const char *const *values; /* NULL-terminated */
  /* In a child that has the variable set: opens the library, makes the call ready in *OUT and says in NAME which kernels it
   * took. */
  bool (*prepare)(void *user, vendor_kernel *out, char name[64]);
  void *user;
} vendor_choice;

/* Sets the variable to the value under which the call is fastest, trying each in a short process of its own, and the
 * library's own choice too. What the environment says is only reported: a comparison is with the vendor's best. NOTE gets
 * what was tried and what came of it. */
void vendor_choose(const vendor_choice *choice, char note[VENDOR_TEXT]);

#endif
