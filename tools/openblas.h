/* openblas.h: OpenBLAS, found when the program runs, doing what a program's matrix product does. */
#ifndef TENON_TOOLS_OPENBLAS_H
#define TENON_TOOLS_OPENBLAS_H

#include "te/match.h"
#include "tools/tools.h"

typedef struct tools_openblas {
  void *library; /* from dlopen */
  void *gemm;    /* cblas_sgemm or cblas_dgemm */
  char *config;  /* what openblas_get_config says */
  te_matmul matmul;
  const DLTensor *a, *b, *addend; /* addend: NULL when there is none */
  DLTensor *result;
} tools_openblas;

/* Finds OpenBLAS, recognises the product in the session's program and sets the number of threads. ARGS: the program's
 * arguments, of which the inputs are used. False after a message; close in either case. */
bool tools_openblas_open(tools_session *session, DLTensor *const *args, int threads, tools_openblas *out);
void tools_openblas_close(tools_openblas *blas);
/* result = A * B, or D copied into result and result += A * B. A tools_side.call. */
int32_t tools_openblas_call(void *blas);

#endif
