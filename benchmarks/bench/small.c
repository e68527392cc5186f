/* small.c: --small PART/OF: matrix products of every m, n, k in 1 .. 33 under the schedules of gemm.c, compared
 * exactly: the inputs are small integers. A process takes every OF-th shape, beginning with PART. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* Sizes 1 to MOST; GUARD elements before and after C must stay untouched. A context is replaced after some
 * shapes, since it keeps every program that was parsed in it. */
enum { MOST = 33, SHAPES = MOST * MOST * MOST, GUARD = 64, BUFFER = MOST * MOST + 2 * GUARD, SHAPES_A_CONTEXT = 200 };
static const float untouched = 12345;

typedef int32_t gemm_fn(const float *a, const float *b, float *c);

/* C[m,n] = A[m,k] B[k,n]. */
typedef struct shape {
  int m, n, k;
} shape;

/* NUMBER counts all shapes, k fastest. */
static shape shape_of(int number) {
  return (shape){1 + number / (MOST * MOST), 1 + number / MOST % MOST, 1 + number % MOST};
}

/* Integers from -4 to 4: sums of up to 33 products of them are exact in f32, in any order. */
static void fill(float *data, unsigned seed) {
  for (int i = 0; i < MOST * MOST; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)((int)(seed >> 16) % 9 - 4);
  }
}

/* Element AT of C, counted row by row. */
static float expected(const float *a, const float *b, shape s, int at) {
  float sum = 0;
  for (int k = 0; k < s.k; ++k) sum += a[at / s.n * s.k + k] * b[k * s.n + at % s.n];
  return sum;
}

/* Every element of C, and that what stands around C is as it was. */
static bool is_right(gemm_fn *gemm, shape s) {
  static float a[MOST * MOST], b[MOST * MOST], c[BUFFER];
  fill(a, 1);
  fill(b, 2);
  for (int i = 0; i < BUFFER; ++i) c[i] = untouched;
  if (gemm(a, b, c + GUARD) != 0) return false;
  for (int i = 0; i < BUFFER; ++i) {
    int at = i - GUARD;
    bool inside = at >= 0 && at < s.m * s.n;
    if (c[i] != (inside ? expected(a, b, s, at) : untouched)) return false;
  }
  return true;
}

/* False and a line on standard error when the shape is computed wrong, or is refused. */
static bool check_shape(tn_context *ctx, shape s) {
  static bench_case c; /* large */
  memset(&c, 0, sizeof c);
  snprintf(c.name, sizeof c.name, "gemm-%dx%dx%d", s.m, s.n, s.k);
  if (!bench_gemm(&c, c.name, 1)) return false;
  tn_schedule *schedule = tn_schedule_new(tn_program_parse(ctx, c.text.program, 0, NULL));
  bool good = schedule != NULL && tn_schedule_apply(schedule, c.text.schedule) == TN_OK;
  tn_kernel *kernel = good ? tn_build(schedule, NULL) : NULL;
  good = kernel != NULL && is_right((gemm_fn *)tn_kernel_function(kernel), s);
  if (!good) fprintf(stderr, "tenon-bench: %s is wrong: %s\n", c.name, tn_context_message(ctx));
  tn_kernel_free(kernel);
  return good;
}

/* SLICE is PART/OF. Returns 1 when a shape was wrong, and 2 when SLICE does not read so. */
int bench_small(const char *slice) {
  int part, of, n_done = 0, n_wrong = 0;
  if (sscanf(slice, "%d/%d", &part, &of) != 2 || of < 1 || part < 0) {
    fprintf(stderr, "tenon-bench: --small takes PART/OF, for instance 0/2\n");
    return 2;
  }
  tn_context *ctx = NULL;
  for (int number = part; number < SHAPES; number += of, ++n_done) {
    if (n_done % SHAPES_A_CONTEXT == 0) {
      tn_context_free(ctx);
      ctx = tn_context_new(NULL);
    }
    n_wrong += !check_shape(ctx, shape_of(number));
  }
  tn_context_free(ctx);
  printf("%d products of 1x1x1 to %dx%dx%d, %d wrong\n", n_done, MOST, MOST, MOST, n_wrong);
  return n_wrong > 0;
}
