/* Features of real schedules: programs from text, primitives from text, lowered, then looked at. */
#include <math.h>

#include "autotune/feature.h"
#include "tests/common/check.h"

#define MATMUL "C[i<64, j<96] = sum[k<128](A[i,k] * B[k,j])"
#define TWO "T[i<64, j<32] = A[i,j] + 1; C[i<64, j<32] = T[i,j] * 2"
#define SOFTMAX                                                                                    \
  "M[i<8] = max[k<100](X[i,k]); E[i<8, j<100] = exp(X[i,j] - M[i]); S[i<8] = sum[k<100](E[i,k]); " \
  "Y[i<8, j<100] = E[i,j] / S[i]"
#define TILED                                                                                                       \
  "cache_write(C, local); split(C, i, 4); split(C, j, 32); reorder(C, i.outer, j.outer, i.inner, j.inner); "        \
  "compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c); unroll(C.local, i.c); " \
  "parallel(C, i.outer); vectorize(C, j.inner)"

static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];

/* Fills ROWS; returns how many. */
static int lower_and_look(tn_context *ctx, const char *text, const char *schedule) {
  tn_program *program = tn_program_parse(ctx, text, 0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  if (*schedule) tn_schedule_apply(s, schedule);
  check_ok(ctx);
  runtime_arena arena = {0};
  int n = autotune_features(schedule_lower(s, "f", &arena), 64, NULL, rows, NULL);
  check_ok(ctx);
  runtime_arena_free(&arena);
  return n;
}

static const struct value_row {
  const char *name, *program, *schedule;
  int n_rows, row;
  feature_index feature;
  double expected;
} values[] = {
    {"matmul: multiply-adds", MATMUL, "", 1, 0, feature_float_mad, 64 * 96 * 128},
    {"matmul: reduction", MATMUL, "", 1, 0, feature_reduce_prod, 128},
    {"row sum: additions", "B[i<64] = sum[l<128](A[i,l])", "", 1, 0, feature_float_addsub, 64 * 128},
    {"row maximum: comparisons", "B[i<64] = max[l<128](A[i,l])", "", 1, 0, feature_float_cmp, 64 * 128},
    {"integers count as integers", "input A: i32[64, 8]; B[i<64] = sum[l<8](A[i,l])", "", 1, 0, feature_int_addsub,
     512},
    {"full reduction: one element", "B[] = sum[l<128](A[l])", "", 1, 0, feature_alloc_size, 4},
    {"f64 elements", "input A: f64[64]; B[i<64] = A[i] + 1", "", 1, 0, feature_b0_unique_bytes, 512},
    {"split: loops", MATMUL, "split(C, i, 8)", 1, 0, feature_num_loops, 4},
    {"split that does not divide: a guard", MATMUL, "split(C, i, 20)", 1, 0, feature_guards, 1},
    {"split that does not divide: iterations", MATMUL, "split(C, i, 20)", 1, 0, feature_outer_prod, 80 * 96 * 128},
    {"split that does not divide: region", MATMUL, "split(C, i, 20)", 1, 0, feature_b2_unique_bytes, 64 * 96 * 4},
    {"vectorized", MATMUL, "split(C, j, 16); vectorize(C, j.inner)", 1, 0, feature_vec_len, 16},
    {"unrolled", MATMUL, "split(C, j, 4); unroll(C, j.inner)", 1, 0, feature_unroll_prod, 4},
    {"parallel", MATMUL, "parallel(C, i)", 1, 0, feature_parallel_outer_spatial, 1},
    {"parallel over a fused loop", MATMUL, "fuse(C, i, j); parallel(C, i.j.fused)", 1, 0, feature_parallel_prod,
     64 * 96},
    {"fused: region", MATMUL, "fuse(C, i, j)", 1, 0, feature_b2_unique_bytes, 64 * 96 * 4},
    {"pragma", MATMUL, "pragma(C, i, auto_unroll_max_step, 16)", 1, 0, feature_auto_unroll_max_step, 16},
    {"two stages", TWO, "", 2, 1, feature_float_mul, 64 * 32},
    {"inlined: one row", TWO, "compute_inline(T)", 1, 0, feature_float_mad, 0},
    {"inlined: both operations", TWO, "compute_inline(T)", 1, 0, feature_float_addsub, 64 * 32},
    {"compute_at: only what is needed", TWO, "compute_at(T, C, i)", 2, 0, feature_alloc_size, 32 * 4},
    {"compute_at: in every iteration", TWO, "compute_at(T, C, i)", 2, 0, feature_alloc_outer_prod, 64},
    {"compute_at: used again at once", TWO, "compute_at(T, C, i)", 2, 1, feature_b1_serial_reuse, 1},
    {"softmax", SOFTMAX, "", 4, 1, feature_float_mathfunc, 800},
    {"register tile: accumulators", MATMUL, TILED, 2, 0, feature_body_written, 4 * 32},
    {"register tile: loads", MATMUL, TILED, 2, 0, feature_body_read, 4 + 32},
    {"register tile: local", MATMUL, TILED, 2, 0, feature_is_local, 1},
    {"register tile: size", MATMUL, TILED, 2, 0, feature_alloc_size, 4 * 32 * 4},
    {"register tile: unrolled spatial", MATMUL, TILED, 2, 0, feature_unroll_middle_spatial, 1},
    {"register tile: the copy", MATMUL, TILED, 2, 1, feature_outer_prod, 64 * 96},
};

static void value(void **state) {
  const struct value_row *row = *state;
  tn_context *ctx = check_context();
  assert_int_equal(lower_and_look(ctx, row->program, row->schedule), row->n_rows);
  float got = rows[row->row * AUTOTUNE_FEATURES + row->feature];
  if (fabs(got - log2(1 + row->expected)) > 1e-4) {
    fail_msg("%s is %g, expected %g", autotune_feature_names[row->feature], exp2(got) - 1, row->expected);
  }
  check_context_free(ctx);
}

static void a_tile_is_more_intense(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  lower_and_look(ctx, MATMUL, "");
  float naive = rows[feature_curve_0];
  lower_and_look(ctx, MATMUL, TILED);
  assert_true(rows[feature_curve_0] > naive);
  check_context_free(ctx);
}

static void larger_tiles_touch_fewer_bytes_again(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  float last = INFINITY;
  const char *const schedules[] = {"", "split(C, j, 8); reorder(C, j.outer, k, i, j.inner)",
                                   "split(C, j, 32); reorder(C, j.outer, k, i, j.inner)"};
  for (int i = 0; i < RUNTIME_COUNT(schedules); ++i) {
    lower_and_look(ctx, MATMUL, schedules[i]);
    assert_true(rows[feature_b0_lines] < last);
    last = rows[feature_b0_lines];
  }
  check_context_free(ctx);
}

static void features_take_microseconds(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, MATMUL, 0, NULL));
  assert_int_equal(tn_schedule_apply(s, TILED), TN_OK);
  runtime_arena arena = {0};
  const tir_func *f = schedule_lower(s, "f", &arena);
  enum { TIMES = 200 };
  uint64_t start = runtime_now_ns();
  for (int i = 0; i < TIMES; ++i) assert_int_equal(autotune_features(f, 64, NULL, rows, NULL), 2);
  assert_true((runtime_now_ns() - start) / TIMES <
              400000); /* under 100 us is the aim, measured 4; sanitizers are slow */
  runtime_arena_free(&arena);
  check_context_free(ctx);
}

int run_lowered(void) {
  const struct CMUnitTest properties[] = {
      cmocka_unit_test(a_tile_is_more_intense),
      cmocka_unit_test(larger_tiles_touch_fewer_bytes_again),
      cmocka_unit_test(features_take_microseconds),
  };
  return CHECK_TABLE("features of schedules", values, value) +
         CHECK_TESTS("features of schedules, properties", properties);
}
