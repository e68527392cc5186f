/* embed.h: what the hosts of tests/embed share. A host is a stranger's program: it sees the public headers only. */
#ifndef TENON_TESTS_EMBED_H
#define TENON_TESTS_EMBED_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

/* Ends the host with a message: every failure of these tests. */
#define REQUIRE(condition, ...)                                       \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                                   \
      fputc('\n', stderr);                                            \
      _Exit(1);                                                       \
    }                                                                 \
  } while (0)

enum { EMBED_ROWS = 64, EMBED_COLUMNS = 96, EMBED_ARGS = 2 };

/* A kernel with what an embedded one may lack: parallel loops, vectors, and a function of glibc's vector library. */
typedef struct embed_kernel {
  tn_context *ctx;
  tn_kernel *kernel;
  DLTensor *args[EMBED_ARGS];
} embed_kernel;

static inline void embed_build(embed_kernel *k) {
  tn_program *program =
      tn_program_parse(k->ctx, "S[i<64] = sum[r<96](X[i,r]); Y[i<64, j<96] = exp(X[i,j] * 0.5) + S[i]", 0, NULL);
  tn_schedule *schedule = tn_schedule_new(program);
  tn_schedule_apply(schedule, "split(Y, j, 32); vectorize(Y, j.inner); parallel(Y, i)");
  k->kernel = tn_build(schedule, NULL);
}

/* Everything that a kernel takes, in a context of its own. */
static inline embed_kernel embed_new(void) {
  const int64_t shape[] = {EMBED_ROWS, EMBED_COLUMNS};
  embed_kernel k = {.ctx = tn_context_new(NULL)};
  embed_build(&k);
  for (int a = 0; a < EMBED_ARGS; ++a) k.args[a] = tn_array_new(k.ctx, TN_F32, 2, shape);
  tn_array_fill(k.ctx, k.args[0], 7);
  REQUIRE(k.kernel && k.args[1], "%s", tn_context_message(k.ctx));
  return k;
}

/* Calls the kernel on a poisoned output and compares it with the same in plain C. */
static inline void embed_check(const embed_kernel *k) {
  const float *x = k->args[0]->data, *y = k->args[1]->data;
  memset(k->args[1]->data, 0xff, tn_array_bytes(k->args[1]));
  REQUIRE(tn_call(k->ctx, k->kernel, k->args, EMBED_ARGS) == TN_OK, "%s", tn_context_message(k->ctx));
  for (int i = 0; i < EMBED_ROWS; ++i) {
    double sum = 0;
    for (int j = 0; j < EMBED_COLUMNS; ++j) sum += x[i * EMBED_COLUMNS + j];
    for (int j = 0; j < EMBED_COLUMNS; ++j) {
      double wanted = exp(x[i * EMBED_COLUMNS + j] * 0.5) + sum, got = y[i * EMBED_COLUMNS + j];
      REQUIRE(fabs(got - wanted) < 1e-4, "Y[%d,%d] is %g, not %g", i, j, got, wanted);
    }
  }
}

static inline void embed_free(embed_kernel *k) {
  for (int a = 0; a < EMBED_ARGS; ++a) tn_array_free(k->args[a]);
  tn_kernel_free(k->kernel);
  tn_context_free(k->ctx);
}

#endif
