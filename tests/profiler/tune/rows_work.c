/* Rows of the table of features: what kernels say of their work, from the schedule's own loops, and what reports make of
 * it without anybody annotating. */
#include <math.h>
#include <stdio.h>

#include "codegen/codegen.h"
#include "profile/analysis.h"
#include "schedule/state.h"
#include "schedule/traffic.h"
#include "tests/profiler/tune/tune.h"

/* Machines that nobody has: one that no kernel can keep up with, and one that every kernel leaves behind. */
#define COSTS(ns)                                                                                              \
  "costs=fma16:" ns ",fma32:" ns ",fma64:" ns ",chain:" ns ",load:" ns ",gather:" ns ",line2:" ns ",line3:" ns \
  ",line4:" ns ",shared4:" ns

typedef struct kernel_run {
  tn_context *ctx;
  tn_recording *r;
  tn_analysis *a;
} kernel_run;

static tn_kernel *build(tn_context *ctx, const char *text, const char *schedule, const tn_target *target) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, text, 0, NULL));
  assert_int_equal(tn_schedule_apply(s, schedule), TN_OK);
  tn_kernel *kernel = tn_build(s, &(tn_build_options){.name = "work", .target = target});
  check_ok(ctx);
  return kernel;
}

static void call(tn_context *ctx, const tn_kernel *kernel, int times) {
  DLTensor *args[RUNTIME_MAX_KERNEL_ARGS];
  int n;
  const runtime_kernel_arg *wanted = runtime_kernel_args(kernel, &n);
  for (int i = 0; i < n; ++i) args[i] = tn_array_new(ctx, wanted[i].dtype, wanted[i].ndim, wanted[i].shape);
  for (int i = 0; i < times; ++i) assert_int_equal(tn_call(ctx, kernel, args, n), TN_OK);
  for (int i = 0; i < n; ++i) tn_array_free(args[i]);
}

/* Three recorded calls on a machine of COSTS. */
static void run(kernel_run *k, const char *text, const char *schedule, const char *costs) {
  tn_host host;
  k->ctx = check_context();
  tn_target *target = tn_target_new(k->ctx, NULL);
  assert_int_equal(tn_target_set_costs(target, costs), TN_OK);
  tn_machine machine = tn_target_machine(target);
  tn_kernel *kernel = build(k->ctx, text, schedule, target);
  tn_host_get(&host, false);
  tn_host_set_machine(&host, &machine);
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  tn_host_record(&host);
  call(k->ctx, kernel, 3);
  k->r = rows_collect();
  k->a = tn_analysis_of(NULL, k->r);
  tn_kernel_free(kernel);
}

static void end(kernel_run *k) {
  tn_analysis_free(k->a);
  tn_recording_free(k->r);
  check_context_free(k->ctx);
}

static uint64_t number(const kernel_run *k, const char *key) {
  const tn_event_arg *arg = rows_arg(k->r, rows_find(k->r, "work", 0), key);
  return arg ? arg->u64 : 0;
}

/* ---- A23: bytes and launches ------------------------------------------------------------------------------------- */

static const struct work_case {
  const char *text, *schedule;
  uint64_t flops, bytes, written, launches;
} work_cases[] = {
    {"C[i<4096] = A[i] + B[i]", "", 4096, 3 * 4096 * 4, 4096 * 4, 0},
    {"C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])", "parallel(C, i)", 2 * 64 * 64 * 64, 3 * 64 * 64 * 4, 64 * 64 * 4, 1},
    /* A stage between is neither read nor written from outside. */
    {"T[i<4096] = A[i] * 2\nC[i<4096] = T[i] + 1", "", 2 * 4096, 2 * 4096 * 4, 4096 * 4, 0},
    {"T[i<4096] = A[i] * 2\nC[i<4096] = T[i] + 1", "parallel(T, i); parallel(C, i)", 2 * 4096, 2 * 4096 * 4, 4096 * 4,
     2},
    /* Half of what is given is read; a parallel loop inside of another loop starts again and again. */
    {"input A: f32[64,64]\nC[i<32, j<64] = A[i,j] * 2", "parallel(C, j)", 32 * 64, 2 * 32 * 64 * 4, 32 * 64 * 4, 32},
    {"C[i<128, j<256] = A[j,i]", "", 0, 2 * 128 * 256 * 4, 128 * 256 * 4, 0},
    /* Which rows are read is known when it runs: at least the indices and the results. */
    {"input I: i32[32], E: f32[1000, 16]\nC[i<32, j<16] = E[I[i], j]", "", 0, 32 * 4 + 32 * 16 * 4, 32 * 16 * 4, 0},
    /* More buffers than are looked at: nothing is said rather than too little. */
    {"C[i<64] = A[i]+B[i]+D[i]+E[i]+F[i]+G[i]+H[i]+I[i]+J[i]+K[i]+L[i]+M[i]+N[i]+O[i]+P[i]+Q[i]+R[i]+S[i]+T[i]+U[i]",
     "", 19 * 64, 0, 0, 0},
};

ROW(a23_bytes_and_launches) {
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(work_cases); ++i) {
    const struct work_case *w = &work_cases[i];
    kernel_run k;
    run(&k, w->text, w->schedule, COSTS("0.001"));
    if (number(&k, "flops") != w->flops || number(&k, "bytes") != w->bytes ||
        number(&k, "bytes_written") != w->written || number(&k, "launches") != w->launches)
      fail_msg("%s: flops %llu, bytes %llu, written %llu, launches %llu", w->text,
               (unsigned long long)number(&k, "flops"), (unsigned long long)number(&k, "bytes"),
               (unsigned long long)number(&k, "bytes_written"), (unsigned long long)number(&k, "launches"));
    assert_true(number(&k, "bytes_moved") >= w->bytes);
    end(&k);
  }
}

/* Rows and columns of a product that no cache holds: B comes once a row, or once a block of 64
 * rows, of which A stays meanwhile. */
ROW(a23_moved_bytes_are_the_schedules) {
  (void)state;
  static const char text[] = "C[i<1024, j<1024] = sum[k<1024](A[i,k] * B[k,j])";
  const double array = 1024.0 * 1024 * 4;
  tn_context *ctx = check_context();
  tn_machine machine = {.cache_bytes = {0, 32 << 10, 256 << 10, 1 << 20}};
  static const char *const schedules[] = {
      "", "tile(C, i, j, 64, 64); split(C, k, 64); reorder(C, i.outer, j.outer, k.outer, i.inner, k.inner, j.inner)"};
  double moved[2];
  for (int i = 0; i < 2; ++i) {
    schedule_traffic traffic;
    runtime_arena arena = {0};
    tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, text, 0, NULL));
    assert_int_equal(tn_schedule_apply(s, schedules[i]), TN_OK);
    assert_true(schedule_traffic_of(schedule_lower(s, "f", &arena), &machine, &traffic));
    assert_true(traffic.bytes_read == 2 * array && traffic.bytes_written == array);
    moved[i] = traffic.bytes_moved / array;
    runtime_arena_free(&arena);
  }
  if (moved[0] < 1024 || moved[0] > 1.1 * 1024) fail_msg("plain: %.1f arrays", moved[0]);
  if (moved[1] < 17 || moved[1] > 19) fail_msg("in blocks: %.1f arrays", moved[1]);
  check_context_free(ctx);
}

/* The first column of 65536 rows pulls a line a row; columns one after the other pull each line once where 4096 lines
 * stay in the cache, and once for each column where 65536 do not. */
ROW(a23_columns_move_lines) {
  (void)state;
  static const struct {
    const char *text, *schedule;
    double elements, lines; /* what comes: both together */
  } cases[] = {
      {"input A: f32[65536,64]\nC[i<65536] = A[i,0] * 2", "", 65536, 65536},
      {"C[j<1024] = sum[k<4096](A[k,j])", "", 1024 + 4096 * 1024, 0},
      {"C[j<1024] = sum[k<65536](A[k,j])", "", 1024, 65536 * 1024},
  };
  tn_context *ctx = check_context();
  tn_machine machine = {.cache_bytes = {0, 32 << 10, 256 << 10, 1 << 20}};
  for (int i = 0; i < RUNTIME_COUNT(cases); ++i) {
    schedule_traffic traffic;
    runtime_arena arena = {0};
    tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, cases[i].text, 0, NULL));
    assert_true(schedule_traffic_of(schedule_lower(s, "f", &arena), &machine, &traffic));
    double expected = cases[i].elements * 4 + cases[i].lines * 64;
    if (fabs(traffic.bytes_moved / expected - 1) > 0.01)
      fail_msg("%s: %.0f bytes, not %.0f", cases[i].text, traffic.bytes_moved, expected);
    runtime_arena_free(&arena);
  }
  check_context_free(ctx);
}

static int64_t points_named(const tn_kernel *kernel, const char *name) {
  tn_kernel_stage stages[8];
  int n = tn_kernel_stages(kernel, 8, stages);
  for (int i = 0; i < n; ++i)
    if (strcmp(stages[i].name, name) == 0) return stages[i].is_counted ? stages[i].points : -1;
  return -2;
}

/* A part counts what it runs: the packing V, the rest Y. */
ROW(a22_counts_of_parts) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(
      ctx, "input X: f32[8,9], W: f32[9] layout_free\nV[j<9] = exp(W[j])\nY[i<8, j<9] = X[i,j] * V[j]", 0, NULL);
  static const int64_t expected[][2] = {
      [TN_BUILD_WHOLE] = {9, 72}, [TN_BUILD_PREPACK] = {9, -1}, [TN_BUILD_PACKED] = {-1, 72}};
  for (int part = TN_BUILD_WHOLE; part <= TN_BUILD_PACKED; ++part) {
    tn_build_options options = {.count = true, .part = part};
    tn_kernel *kernel = tn_build(tn_schedule_new(program), &options);
    assert_non_null(kernel);
    assert_int_equal(points_named(kernel, "V"), expected[part][0]);
    assert_int_equal(points_named(kernel, "Y"), expected[part][1]);
    tn_kernel_free(kernel);
  }
  check_context_free(ctx);
}

/* ---- E16: the roofline of kernels -------------------------------------------------------------------------------- */

static const char *bound_of(const kernel_run *k, double *achieved) {
  int type = 0;
  while (strcmp(analysis_analysers[type].type, "roofline") != 0) ++type;
  tn_rows *rows = analysis_load(NULL, k->a, &analysis_analysers[type]);
  assert_int_equal(tn_rows_count(rows), 1);
  static char bound[64];
  snprintf(bound, sizeof bound, "%s", analysis_text(rows, 0, "bound"));
  *achieved = analysis_is_missing(rows, 0, "achieved") ? -1 : analysis_number(rows, 0, "achieved");
  analysis_rows_free(rows);
  return bound;
}

static void check_bound(const char *text, const char *costs, const char *bound) {
  kernel_run k;
  double achieved;
  run(&k, text, "", costs);
  const char *got = bound_of(&k, &achieved);
  if (strcmp(got, bound) != 0) fail_msg("%s: bound by '%s', not '%s', achieved %g", text, got, bound, achieved);
  char *advice = rows_advice_text(NULL, k.a);
  bool is_error = strncmp(bound, "error", 5) == 0;
  assert_true((strstr(advice, "above_roof") != NULL) == is_error);
  if (!is_error && *bound) assert_true(achieved > 0 && achieved <= 1);
  free(advice);
  end(&k);
}

/* Where so many bytes lie that are more than a second cache holds: the third cache of some processors has hundreds of MB. */
static const char *bound_of_bytes(int64_t bytes) {
  tn_context *ctx = check_context();
  bool is_cached = tn_target_cache_bytes(tn_target_new(ctx, ""), 3) >= bytes;
  check_context_free(ctx);
  return is_cached ? "cache 3" : "memory";
}

/* 192 MB of additions are limited by memory, or by the last cache where it holds them all, a product by arithmetic, small data by
 * a cache; and nothing is faster than the machine. */
ROW(e16_roofline_of_kernels) {
  (void)state;
  check_bound("C[i<16777216] = A[i] + B[i]", COSTS("0.01"), bound_of_bytes(192 << 20));
  check_bound("C[i<512, j<512] = sum[k<512](A[i,k] * B[k,j])", COSTS("0.01"), "arithmetic");
  check_bound("C[i<1024] = A[i] + B[i]", COSTS("0.01"), "cache 1");
  check_bound("C[i<16777216] = A[i] + B[i]", COSTS("1000"), "error: above the roof");
  check_bound("C[i<256, j<256] = sum[k<256](A[i,k] * B[k,j])", COSTS("1000"), "error: above the roof");
  /* how fast bytes can be multiplied is not measured */
  check_bound("input A: i8[67108864]\nC[i<67108864] = A[i] * A[i]", COSTS("0.01"), bound_of_bytes(128 << 20));
}
