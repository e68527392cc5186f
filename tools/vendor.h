/* vendor.h: a vendor's library (benchmarks/vendors) that does what a program does. */
#ifndef TENON_TOOLS_VENDOR_H
#define TENON_TOOLS_VENDOR_H

#include "benchmarks/vendors/vendors.h"
#include "tools/tools.h"

/* A vendor made ready for the session's program. tools_vendor_close frees it. */
typedef struct tools_vendor {
  char name[16];
  vendor_problem problem;
  int inputs[3], n_inputs; /* the program's arguments that it reads, in the vendor's order */
  int addend;              /* the argument that is added behind them; -1: none */
  int output;              /* the argument that it computes; -1: a part of the program, whose result is no argument */
  DLTensor *result;
  vendor_kernel kernel;
} tools_vendor;

/* Recognises what the session's program computes, and makes the vendor NAME ready to do it on the inputs in
 * ARGS. False after a message. tools_vendor_close is needed in either case. */
bool tools_vendor_open(tools_session *session, const char *name, DLTensor *const *args, int threads, tools_vendor *out);
/* What the program was found to be: "product", "convolution", "softmax" or "layer_norm". */
const char *tools_vendor_operator(const tools_vendor *vendor);
void tools_vendor_close(tools_vendor *vendor);
/* What the program multiplies, for the machine's limit: the smallest type among its inputs. */
vendor_number tools_vendor_number(const tn_program *program);
/* A routine that does the program's operations on registers alone: multiply-adds where there is nothing
 * else, otherwise all kinds in the program's proportion. *WANTED: operations of one call of the program;
 * *WORK: of one call of OUT. False: WHY. */
bool tools_vendor_arithmetic(const tn_program *program, int threads, vendor_kernel *out, double *wanted, double *work,
                             char why[VENDOR_TEXT]);

#endif
