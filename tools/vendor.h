/* vendor.h: a library of others (benchmarks/vendors) doing what a program does. */
#ifndef TENON_TOOLS_VENDOR_H
#define TENON_TOOLS_VENDOR_H

#include "benchmarks/vendors/vendors.h"
#include "tools/tools.h"

typedef struct tools_vendor {
  char name[16];
  vendor_problem problem;
  int inputs[3], n_inputs; /* the program's arguments that it reads, in the vendor's order; then the addend: */
  int addend;              /* or -1 */
  int output;              /* the argument that it computes; -1: a part of the program, whose result nobody else has */
  DLTensor *result;
  vendor_kernel kernel;
} tools_vendor;

/* Recognises what the session's program computes and makes the vendor NAME ready to do it on the program's inputs,
 * which stand in ARGS. False after a message; close in either case. */
bool tools_vendor_open(tools_session *session, const char *name, DLTensor *const *args, int threads, tools_vendor *out);
/* "product", "convolution", "softmax", "layer_norm": what it was found to be. */
const char *tools_vendor_operator(const tools_vendor *vendor);
void tools_vendor_close(tools_vendor *vendor);
/* What the program multiplies, for the machine's limit: of its inputs, the smallest say it. */
vendor_number tools_vendor_number(const tn_program *program);
/* A routine that does operations like the program's on registers alone: multiply-adds where there is nothing else, else
 * all kinds in the program's proportion. *WANTED: operations of one call of the program; *WORK: of one of OUT. False:
 * WHY. */
bool tools_vendor_arithmetic(const tn_program *program, int threads, vendor_kernel *out, double *wanted, double *work,
                             char why[VENDOR_TEXT]);

#endif
