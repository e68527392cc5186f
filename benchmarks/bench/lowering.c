/* lowering.c: how long a schedule takes to become loop IR: bound inference, loop nests, all passes, and the text. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

/* Measurements of each program, and stages of the chain. */
enum { RUNS = 500, STAGES = 64 };

/* Processor time of this thread, so that other work on the machine does not count. */
static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* One line: the median of RUNS and the spread (p75 - p25) / median. */
static bool measure(tn_context *ctx, const char *name, const char *program, const char *schedule) {
  static double times[RUNS];
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, program, 0, NULL));
  if (s == NULL || tn_schedule_apply(s, schedule) != TN_OK) return false;
  for (int i = 0; i < RUNS; ++i) {
    double start = now_us();
    char *text = tn_schedule_print(s, TN_FORM_TIR);
    times[i] = now_us() - start;
    if (text == NULL) return false;
    free(text);
  }
  qsort(times, RUNS, sizeof *times, by_size);
  double p50 = times[RUNS / 2], spread = (times[3 * RUNS / 4] - times[RUNS / 4]) / p50;
  printf("%-40s p50 %8.1f us   spread %4.1f %%\n", name, p50, 100 * spread);
  tn_schedule_free(s);
  return true;
}

/* Elementwise stages, each reading the one before; all but the last inlined. */
static bool measure_chain(tn_context *ctx) {
  char program[STAGES * 64], schedule[STAGES * 32];
  int n = snprintf(program, sizeof program, "T0[i<1024] = A[i]*2\n"), m = 0;
  for (int i = 1; i < STAGES; ++i) {
    n += snprintf(program + n, sizeof program - (size_t)n, "T%d[i<1024] = max(T%d[i] + %d, 0)\n", i, i - 1, i);
    m += snprintf(schedule + m, sizeof schedule - (size_t)m, "compute_inline(T%d); ", i - 1);
  }
  return measure(ctx, "64 elementwise stages, all inlined", program, schedule);
}

/* Two extremes: one stage with many loops, and many stages that all become one. */
int bench_lowering(void) {
  tn_context *ctx = tn_context_new(NULL);
  bool good = measure(ctx, "tiled matmul", "C[i<1024, j<1024] = sum[k<1024](A[i,k] * B[k,j])",
                      "cache_write(C, local); tile(C, i, j, 32, 32); compute_at(C.local, C, j.outer); "
                      "split(C.local, k, 4); reorder(C.local, k.outer, i.c, k.inner, j.c); vectorize(C.local, j.c); "
                      "unroll(C.local, k.inner); vectorize(C, j.inner); parallel(C, i.outer)") &&
              measure_chain(ctx);
  if (!good) fprintf(stderr, "tenon-bench: %s\n", tn_context_message(ctx));
  tn_context_free(ctx);
  return !good;
}
