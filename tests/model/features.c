/* Features of nests built by hand: every group against values worked out on paper. */
#include <math.h>

#include "tests/model/nests.h"

static double slog(double x) { return log2(1 + x); }

/* ---- single values ----------------------------------------------------------------------------------------------- */

static const struct value_row {
  const char *name;
  nest_fn nest;
  int row; /* written buffers in order of their first store */
  feature_index feature;
  double expected; /* before slog */
} values[] = {
    /* computation */
    {"add: additions", nest_add, 0, feature_float_addsub, 1024},
    {"add: no multiply-add", nest_add, 0, feature_float_mad, 0},
    {"add: an index that two loads share counts once", nest_add_vectorized, 0, feature_int_mad, 1024},
    {"matmul: multiply-adds", nest_matmul, 0, feature_float_mad, 16 * 32 * 64},
    {"matmul: a product in a multiply-add is no product", nest_matmul, 0, feature_float_mul, 0},
    {"matmul: its sum is no sum", nest_matmul, 0, feature_float_addsub, 0},
    {"tiled: same multiply-adds", nest_matmul_tiled, 0, feature_float_mad, 16 * 32 * 64},
    {"fused: index division and modulo", nest_fused, 0, feature_int_divmod, 2 * 64},
    {"select: one select", nest_select, 0, feature_select_op, 10},
    {"select: one and", nest_select, 0, feature_bool_op, 10},
    {"select: float comparison", nest_select, 0, feature_float_cmp, 10},
    {"select: int comparison", nest_select, 0, feature_int_cmp, 10},
    {"select: square root", nest_select, 0, feature_float_mathfunc, 10},
    {"select: abs", nest_select, 0, feature_float_otherfunc, 10},
    {"select: division", nest_select, 0, feature_float_divmod, 10},
    {"scalar: exp", nest_scalar, 0, feature_float_mathfunc, 1},
    /* annotations */
    {"vectorized: number", nest_add_vectorized, 0, feature_vec_num, 1},
    {"vectorized: product", nest_add_vectorized, 0, feature_vec_prod, 8},
    {"vectorized: length", nest_add_vectorized, 0, feature_vec_len, 8},
    {"vectorized: inner spatial", nest_add_vectorized, 0, feature_vec_inner_spatial, 1},
    {"serial: none vectorized", nest_add, 0, feature_vec_none, 1},
    {"tiled: unrolled is middle spatial", nest_matmul_tiled, 0, feature_unroll_middle_spatial, 1},
    {"tiled: unrolled product", nest_matmul_tiled, 0, feature_unroll_prod, 4},
    {"tiled: parallel is outer spatial", nest_matmul_tiled, 0, feature_parallel_outer_spatial, 1},
    {"tiled: parallel length", nest_matmul_tiled, 0, feature_parallel_len, 4},
    {"local: loops outside the buffer are spatial", nest_matmul_local, 0, feature_reduce_prod, 64},
    {"is_gpu", nest_add, 0, feature_is_gpu, 0},
    {"gpu thread lengths are 1", nest_add, 0, feature_thread_x_len, 1},
    {"vthread length is 1", nest_add, 0, feature_vthread_len, 1},
    /* buffers: sorted by lines, then bytes, then order of appearance (the written one first) */
    {"add: C is written", nest_add, 0, feature_b0_write, 1},
    {"add: A is read", nest_add, 0, feature_b1_read, 1},
    {"add: bytes", nest_add, 0, feature_b0_bytes, 4096},
    {"add: unique bytes", nest_add, 0, feature_b1_unique_bytes, 4096},
    {"add: lines", nest_add, 0, feature_b2_lines, 64},
    {"add: unique lines", nest_add, 0, feature_b2_unique_lines, 64},
    {"add: stride", nest_add, 0, feature_b0_stride, 1},
    {"add: no reuse", nest_add, 0, feature_b0_no_reuse, 1},
    {"add: bytes without reuse count double", nest_add, 0, feature_b0_bytes_per_reuse, 8192},
    {"add: no fourth buffer", nest_add, 0, feature_b3_bytes, 0},
    {"vectorized: lines do not change", nest_add_vectorized, 0, feature_b0_lines, 64},
    /* B moves by rows: 64*32*16 accesses, each its own line; C and A share lines */
    {"matmul: B first: lines", nest_matmul, 0, feature_b0_lines, 16 * 32 * 64},
    {"matmul: B stride is its row", nest_matmul, 0, feature_b0_stride, 32},
    {"matmul: B unique bytes", nest_matmul, 0, feature_b0_unique_bytes, 64 * 32 * 4},
    {"matmul: B unique lines", nest_matmul, 0, feature_b0_unique_lines, 64 * 32 * 4 / 64},
    {"matmul: B is reused by i", nest_matmul, 0, feature_b0_loop_reuse, 1},
    {"matmul: B reuse count", nest_matmul, 0, feature_b0_reuse_count, 16},
    {"matmul: B reuse distance in iterations", nest_matmul, 0, feature_b0_reuse_iterations, 32 * 64},
    {"matmul: B reuse distance in bytes: a row of C and A, all of B", nest_matmul, 0, feature_b0_reuse_bytes,
     (32 + 64 + 64 * 32) * 4},
    {"matmul: A second: lines", nest_matmul, 0, feature_b1_lines, 16 * 32 * 64 * 4 / 64},
    {"matmul: A is reused by j", nest_matmul, 0, feature_b1_reuse_count, 32},
    {"matmul: A reuse distance", nest_matmul, 0, feature_b1_reuse_iterations, 64},
    {"matmul: A reuse bytes: one of C, a row, a column", nest_matmul, 0, feature_b1_reuse_bytes, (1 + 64 + 64) * 4},
    {"matmul: C third: read and written", nest_matmul, 0, feature_b2_readwrite, 1},
    {"matmul: C lines: the skipped loop's own extent", nest_matmul, 0, feature_b2_lines, 16 * 32 * 4 / 64},
    {"matmul: C is reused by k at once", nest_matmul, 0, feature_b2_reuse_iterations, 1},
    {"matmul: C reuse bytes: one iteration", nest_matmul, 0, feature_b2_reuse_bytes, 12},
    {"matmul: C does not move in the innermost loop", nest_matmul, 0, feature_b2_stride, 0},
    {"tiled: A has the fewest lines now", nest_matmul_tiled, 0, feature_b2_unique_bytes, 16 * 64 * 4},
    {"fused: region through tir_bounds", nest_fused, 0, feature_b0_unique_bytes, 256},
    {"fused: outer spatial is found through // and %", nest_fused, 0, feature_parallel_inner_spatial, 1},
    {"guarded: the region ends with the buffer", nest_guarded, 0, feature_b0_unique_bytes, 400},
    {"guarded: 104 iterations", nest_guarded, 0, feature_b0_bytes, 416},
    {"stencil: A before C: region is the hull", nest_stencil, 0, feature_b1_unique_bytes, 64 * 4},
    {"stencil: C", nest_stencil, 0, feature_b0_unique_bytes, 62 * 4},
    {"transpose: A's stride is a row", nest_transpose, 0, feature_b0_stride, 32},
    {"transpose: A touches a line each time", nest_transpose, 0, feature_b0_lines, 2048},
    {"transpose: unique lines do not care", nest_transpose, 0, feature_b0_unique_lines, 128},
    {"gather: all of A may be touched", nest_gather, 0, feature_b1_unique_bytes, 4000},
    {"gather: the index is a buffer too", nest_gather, 0, feature_b2_unique_bytes, 128},
    {"scalar: unique bytes", nest_scalar, 0, feature_b0_unique_bytes, 4},
    {"scalar: one line", nest_scalar, 0, feature_b0_lines, 1},
    {"scalar: no stride", nest_scalar, 0, feature_b0_stride, 0},
    {"chain: T is used again by the second loop", nest_chain, 1, feature_b1_serial_reuse, 1},
    {"chain: T reuse count", nest_chain, 1, feature_b1_reuse_count, 1},
    {"chain: C is not", nest_chain, 1, feature_b0_no_reuse, 1},
    /* arithmetic intensity */
    {"add: intensity is the same everywhere", nest_add, 0, feature_curve_0, 1.0 / 12},
    {"add: intensity at the end", nest_add, 0, feature_curve_9, 1.0 / 12},
    {"matmul: intensity at the end", nest_matmul, 0, feature_curve_9,
     2.0 * 16 * 32 * 64 / ((16 * 32 + 16 * 64 + 64 * 32) * 4)},
    {"transpose: no float operation, no curve", nest_transpose, 0, feature_curve_9, 0},
    /* allocation and scope */
    {"add: size of the output", nest_add, 0, feature_alloc_size, 4096},
    {"add: an output is allocated once", nest_add, 0, feature_alloc_outer_prod, 1},
    {"local: size", nest_matmul_local, 0, feature_alloc_size, 128},
    {"local: allocated in 16 iterations", nest_matmul_local, 0, feature_alloc_outer_prod, 16},
    {"local: elements over all of them", nest_matmul_local, 0, feature_alloc_prod, 512},
    {"local: iterations inside", nest_matmul_local, 0, feature_alloc_inner_prod, 64 * 32},
    {"add: iterations", nest_add, 0, feature_outer_prod, 1024},
    {"tiled: loops", nest_matmul_tiled, 0, feature_num_loops, 6},
    {"tiled: pragma", nest_matmul_tiled, 0, feature_auto_unroll_max_step, 8},
    {"matmul: no pragma", nest_matmul, 0, feature_auto_unroll_max_step, 0},
    {"unit: a loop of extent 1 is no loop", nest_unit, 0, feature_num_loops, 1},
    {"fill: a lone constant store has a row", nest_fill, 0, feature_outer_prod, 100},
    /* our own */
    {"local: is local", nest_matmul_local, 0, feature_is_local, 1},
    {"local: the copy is not", nest_matmul_local, 1, feature_is_local, 0},
    {"guarded: guards", nest_guarded, 0, feature_guards, 1},
    {"guarded: evaluated every iteration", nest_guarded, 0, feature_guard_prod, 104},
    {"add: no guard", nest_add, 0, feature_guards, 0},
    {"local: one body is a register tile", nest_matmul_local, 0, feature_body_prod, 32},
    {"local: accumulators", nest_matmul_local, 0, feature_body_written, 32},
    {"local: loads of a body", nest_matmul_local, 0, feature_body_read, 4 + 8},
    {"tiled: the pragma's loops are in the body", nest_matmul_tiled, 0, feature_body_prod, 4 * 8 * 8},
    {"serial: the body is one iteration", nest_matmul, 0, feature_body_prod, 1},
    {"matmul: reduction iterations", nest_matmul, 0, feature_reduce_prod, 64},
    {"vectorized: bytes at once", nest_add_vectorized, 0, feature_vec_bytes, 32},
};

static void value(void **state) {
  const struct value_row *row = *state;
  runtime_arena arena = {0};
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  int n = nest_rows(&arena, row->nest(&arena), rows);
  assert_true(row->row < n);
  float got = rows[row->row * AUTOTUNE_FEATURES + row->feature];
  if (fabs(got - slog(row->expected)) > 1e-4) {
    fail_msg("%s is %g, expected %g", autotune_feature_names[row->feature], exp2(got) - 1, row->expected);
  }
  runtime_arena_free(&arena);
}

/* ---- numbers of rows --------------------------------------------------------------------------------------------- */

static const struct count_row {
  const char *name;
  nest_fn nest;
  int expected;
} counts[] = {
    {"a store is a row", nest_add, 1},
    {"init and update are one row", nest_matmul, 1},
    {"local buffer and output are two", nest_matmul_local, 2},
    {"two stages are two", nest_chain, 2},
    {"a lone fill is one", nest_fill, 1},
};

static void count(void **state) {
  const struct count_row *row = *state;
  runtime_arena arena = {0};
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  assert_int_equal(nest_rows(&arena, row->nest(&arena), rows), row->expected);
  runtime_arena_free(&arena);
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

static void same_rows(nest_fn a, nest_fn b) {
  runtime_arena arena = {0};
  static float rows_a[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES], rows_b[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  int n = nest_rows(&arena, a(&arena), rows_a);
  assert_int_equal(n, nest_rows(&arena, b(&arena), rows_b));
  assert_memory_equal(rows_a, rows_b, sizeof(float) * (size_t)(n * AUTOTUNE_FEATURES));
  runtime_arena_free(&arena);
}

static void init_does_not_change_the_row(void **state) {
  (void)state;
  same_rows(nest_matmul, nest_matmul_update);
}
static void unit_loops_do_not_change_the_row(void **state) {
  (void)state;
  same_rows(nest_unit, nest_add);
}

static void all_values_are_finite(void **state) {
  (void)state;
  const nest_fn all[] = {nest_add,     nest_matmul, nest_matmul_tiled, nest_matmul_local, nest_fused, nest_guarded,
                         nest_stencil, nest_gather, nest_scalar,       nest_fill,         nest_chain, nest_select};
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  for (int i = 0; i < RUNTIME_COUNT(all); ++i) {
    runtime_arena arena = {0};
    int n = nest_rows(&arena, all[i](&arena), rows);
    for (int k = 0; k < n * AUTOTUNE_FEATURES; ++k) assert_true(isfinite(rows[k]));
    runtime_arena_free(&arena);
  }
}

static void tiling_raises_the_intensity_inside(void **state) {
  (void)state;
  runtime_arena arena = {0};
  static float naive[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES], tiled[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  nest_rows(&arena, nest_matmul(&arena), naive);
  nest_rows(&arena, nest_matmul_tiled(&arena), tiled);
  assert_true(tiled[feature_curve_0] > naive[feature_curve_0]);
  runtime_arena_free(&arena);
}

static void no_function_no_rows(void **state) {
  (void)state;
  float row[AUTOTUNE_FEATURES];
  assert_int_equal(autotune_features(NULL, 64, NULL, row, NULL), 0);
  assert_int_equal(autotune_features(&(tir_func){.name = "f"}, 64, NULL, row, NULL), 0);
}

static void no_store_no_rows(void **state) {
  (void)state;
  runtime_arena arena = {0};
  float row[AUTOTUNE_FEATURES];
  assert_int_equal(nest_rows(&arena, tir_nop(&arena), row), 0);
  runtime_arena_free(&arena);
}

/* N loops of extent 2 around C[v0 + v1 + ...] = 1 + C[...] */
static const tir_stmt *deep(runtime_arena *a, int n) {
  tir_buffer *C = RUNTIME_NEW(a, tir_buffer);
  *C = (tir_buffer){.name = "C", .dtype = TN_F32, .ndim = 1, .shape = {1000}, .scope = "global", .is_param = true};
  tir_var *vars = RUNTIME_NEW_ARRAY(a, tir_var, n);
  const tir_expr *index = tir_int(a, TN_I32, 0);
  for (int i = 0; i < n; ++i) {
    vars[i] = (tir_var){"v", TN_I32};
    index = tir_binary(a, TIR_ADD, index, tir_var_expr(a, &vars[i]));
  }
  const tir_expr *value = tir_binary(a, TIR_ADD, tir_load(a, C, 1, &index, NULL), tir_float(a, TN_F32, 1));
  const tir_stmt *s = tir_store(a, C, 1, &index, value, NULL);
  const tir_expr *zero = tir_int(a, TN_I32, 0), *two = tir_int(a, TN_I32, 2);
  for (int i = 0; i < n; ++i) s = tir_for(a, &vars[i], zero, two, TIR_SERIAL, s);
  return s;
}

static void deep_nests_are_cut(void **state) {
  (void)state;
  runtime_arena arena = {0};
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  assert_int_equal(nest_rows(&arena, deep(&arena, 100), rows), 1);
  assert_float_equal(rows[feature_num_loops], slog(TOUCH_MAX_LOOPS), 1e-4);
  assert_float_equal(rows[feature_outer_prod], 100, 1e-3);
  runtime_arena_free(&arena);
}

static void many_buffers_are_cut(void **state) {
  (void)state;
  runtime_arena arena = {0};
  const tir_stmt *stores[100];
  for (int i = 0; i < RUNTIME_COUNT(stores); ++i) stores[i] = nest_add(&arena);
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  int n = nest_rows(&arena, tir_seq(&arena, RUNTIME_COUNT(stores), stores), rows);
  assert_int_equal(n, AUTOTUNE_MAX_ROWS);
  runtime_arena_free(&arena);
}

static void names_are_distinct(void **state) {
  (void)state;
  for (int i = 0; i < FEATURE_COUNT; ++i) {
    for (int k = 0; k < i; ++k) assert_string_not_equal(autotune_feature_names[i], autotune_feature_names[k]);
  }
}

int run_features(void) {
  const struct CMUnitTest properties[] = {
      cmocka_unit_test(init_does_not_change_the_row), cmocka_unit_test(unit_loops_do_not_change_the_row),
      cmocka_unit_test(all_values_are_finite),        cmocka_unit_test(tiling_raises_the_intensity_inside),
      cmocka_unit_test(no_function_no_rows),          cmocka_unit_test(no_store_no_rows),
      cmocka_unit_test(deep_nests_are_cut),           cmocka_unit_test(many_buffers_are_cut),
      cmocka_unit_test(names_are_distinct),
  };
  return CHECK_TABLE("feature values", values, value) + CHECK_TABLE("feature rows", counts, count) +
         CHECK_TESTS("feature properties", properties);
}
