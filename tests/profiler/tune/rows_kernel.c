/* Rows A21 and A22: what a kernel says of its stages: times by sampling, work counters; both only where asked for. */
#include <math.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "profile/analysis.h"
#include "tests/profiler/tune/tune.h"

/* A kernel built from a program and a schedule, with arrays to call it on. */
typedef struct staged {
  tn_context *ctx;
  tn_schedule *schedule;
  tn_kernel *kernel;
  DLTensor *args[8];
  int n_args;
} staged;

static void open_staged(staged *t, const char *program, const char *schedule) {
  *t = (staged){.ctx = check_context()};
  tn_program *p = tn_program_parse(t->ctx, program, 0, NULL);
  if (p == NULL) fail_msg("%s", tn_context_message(t->ctx));
  t->schedule = tn_schedule_new(p);
  if (tn_schedule_apply(t->schedule, schedule) != TN_OK) fail_msg("%s", tn_context_message(t->ctx));
}

static void build_staged(staged *t, const tn_build_options *options) {
  t->kernel = tn_build(t->schedule, options);
  if (t->kernel == NULL) fail_msg("%s", tn_context_message(t->ctx));
  const runtime_kernel_arg *args = runtime_kernel_args(t->kernel, &t->n_args);
  for (int i = 0; i < t->n_args; ++i) {
    t->args[i] = tn_array_new(t->ctx, args[i].dtype, args[i].ndim, args[i].shape);
    tn_array_fill(t->ctx, t->args[i], (uint64_t)i);
  }
}

static void call_staged(staged *t) { assert_int_equal(tn_call(t->ctx, t->kernel, t->args, t->n_args), TN_OK); }

static void close_staged(staged *t) {
  for (int i = 0; i < t->n_args; ++i) tn_array_free(t->args[i]);
  tn_kernel_free(t->kernel);
  check_context_free(t->ctx);
}

static tn_kernel_stage stage_of(const staged *t, const char *name) {
  tn_kernel_stage stages[16];
  int n = tn_kernel_stages(t->kernel, RUNTIME_COUNT(stages), stages);
  for (int i = 0; i < n; ++i)
    if (strcmp(stages[i].name, name) == 0) return stages[i];
  fail_msg("no stage %s among %d", name, n);
  return stages[0];
}

/* ---- A21 --------------------------------------------------------------------------------------------------------- */

#define TWO_TO_ONE                                    \
  "B[i<128, j<128] = sum[k<256](X[i, k] * Y[k, j])\n" \
  "C[i<128, j<128] = sum[l<128](B[i, l] * Z[l, j])"
enum { ENOUGH_SAMPLES = 1500, TRIES = 8 }; /* a busy machine may take the processor away at a bad moment */

/* What was billed and sampled so far; the seconds of the first stage. */
static double billed(const staged *t, double *sum, int64_t *samples) {
  tn_kernel_stage stages[4];
  assert_int_equal(tn_kernel_stages(t->kernel, RUNTIME_COUNT(stages), stages), 3);
  *sum = 0, *samples = 0;
  for (int i = 0; i < 3; ++i) *sum += stages[i].seconds, *samples += stages[i].samples;
  return stages[0].seconds;
}

/* One call; whether what it added to the bills is its wall time within 1 %. */
static bool call_is_billed(staged *t) {
  double before, after;
  int64_t samples;
  billed(t, &before, &samples);
  uint64_t start = runtime_now_ns();
  call_staged(t);
  double wall = (double)(runtime_now_ns() - start) * 1e-9;
  billed(t, &after, &samples);
  return fabs(after - before - wall) <= 0.01 * wall;
}

/* Calls until there are enough samples; the share of the first stage. NAN: billed times are not the wall time of the
 * calls, but for the few where the processor was taken away between the two clocks. */
static double sampled_share(const char *schedule) {
  staged t;
  double sum, first = 0;
  int64_t samples = 0;
  int n = 0, right = 0;
  open_staged(&t, TWO_TO_ONE, schedule);
  build_staged(&t, &(tn_build_options){.sample = true});
  for (; samples < ENOUGH_SAMPLES; ++n) {
    right += call_is_billed(&t);
    first = billed(&t, &sum, &samples);
  }
  char *report = tn_kernel_stage_report(t.kernel);
  check_has_not(report, "fewer than");
  free(report);
  close_staged(&t);
  return right >= 0.75 * n ? first / sum : NAN;
}

static void check_share(const char *schedule, double least, double most) {
  double share = NAN;
  for (int i = 0; i < TRIES && !(share >= least && share <= most); ++i) share = sampled_share(schedule);
  if (!(share >= least && share <= most))
    fail_msg("'%s': the first stage's share is %.3f (nan: billed times are not the wall time)", schedule, share);
}

ROW(a21_sampled_kernel) {
  (void)state;
  check_share("", 0.60, 0.73);
}

/* On a busy machine the threads' waiting for each other is most of so short a stage: only that both are billed is sure. */
ROW(a21_sampled_parallel_kernel) {
  (void)state;
  check_share("parallel(B, i); parallel(C, i)", 0.10, 0.95);
}

ROW(a21_few_samples_are_said) {
  (void)state;
  staged t;
  open_staged(&t, TWO_TO_ONE, "");
  build_staged(&t, &(tn_build_options){.sample = true});
  call_staged(&t);
  char *report = tn_kernel_stage_report(t.kernel);
  check_has(report, "samples, fewer than 100: the shares are rough");
  check_has(report, "(outside)");
  free(report);
  close_staged(&t);
}

ROW(a21_stages_computed_inside) {
  (void)state;
  staged t;
  open_staged(&t, TWO_TO_ONE, "compute_at(B, C, i)");
  char *ir = tn_build_text(t.schedule, &(tn_build_options){.sample = true}, ".ll");
  check_has(ir, "store atomic volatile i32 1, ptr @kernel_stage monotonic");
  check_has(ir, "store atomic volatile i32 2, ptr @kernel_stage monotonic");
  free(ir);
  ir = tn_build_text(t.schedule, NULL, ".ll");
  check_has_not(ir, "kernel_stage");
  free(ir);
  assert_null(tn_build_text(t.schedule, &(tn_build_options){.sample = true}, ".c"));
  check_fails(t.ctx, TN_ERROR_CODEGEN, "C source does not say which stage it is in");
  build_staged(&t, &(tn_build_options){.sample = true});
  call_staged(&t);
  close_staged(&t);
}

/* ---- A22 --------------------------------------------------------------------------------------------------------- */

#define STENCIL                                                                                  \
  "P[y<66, x<66] = A[y, x] * 2\n"                                                                \
  "S[y<64, x<64] = P[y,x] + P[y,x+1] + P[y,x+2] + P[y+1,x] + P[y+1,x+1] + P[y+1,x+2] + P[y+2,x]" \
  " + P[y+2,x+1] + P[y+2,x+2]"
#define STENCIL_SUM "P[y<66, x<66] = A[y, x] * 2\nS[y<64, x<64] = sum[r<3, s<3](P[y + r, x + s])"
#define MATMUL "C[i<48, j<40] = sum[k<24](A[i, k] * B[k, j])"

/* Numbers of one stage; those that are -1 are not looked at. */
typedef struct work_row {
  const char *program, *schedule, *stage;
  int64_t points, required, loads, stores, vector_loads, vector_stores;
} work_row;

static const work_row work_rows[] = {
    {STENCIL, "compute_inline(P)", "P", 9 * 64 * 64, 66 * 66, 0, 0, 0, 0},
    {STENCIL, "compute_inline(P)", "S", 64 * 64, 64 * 64, 9 * 64 * 64, 64 * 64, 0, 0},
    {STENCIL, "", "P", 66 * 66, 66 * 66, 66 * 66, 66 * 66, 0, 0},
    {STENCIL, "compute_at(P, S, y)", "P", 64 * 3 * 66, 66 * 66, 64 * 3 * 66, 64 * 3 * 66, 0, 0},
    {STENCIL, "vectorize(S, x)", "S", 64 * 64, 64 * 64, 0, 0, 9 * 64, 64},
    {STENCIL_SUM, "compute_inline(P)", "P", 9 * 64 * 64, 66 * 66, 0, 0, 0, 0},
    {MATMUL, "", "C", 48 * 40, 48 * 40, 2 * 48 * 40 * 24, 48 * 40, 0, 0},
    {MATMUL, "parallel(C, i)", "C", 48 * 40, 48 * 40, 2 * 48 * 40 * 24, 48 * 40, 0, 0},
    /* k outside: the element goes to memory and back for each k */
    {MATMUL, "reorder(C, k, i, j)", "C", 48 * 40, 48 * 40, 3 * 48 * 40 * 24, 48 * 40 * 25, 0, 0},
    /* guards: neither 7 nor 9 divides, nor 5 the sum */
    {MATMUL, "split(C, i, 7); split(C, j, 9); split(C, k, 5)", "C", 48 * 40, 48 * 40, 2 * 48 * 40 * 24, 48 * 40, 0, 0},
    {MATMUL, "reorder(C, i, k, j); vectorize(C, j)", "C", 48 * 40, 48 * 40, 48 * 24, 0, 2 * 48 * 24, 48 * 25},
    {MATMUL, "cache_write(C, local)", "C", 48 * 40, 48 * 40, 48 * 40, 48 * 40, 0, 0},
    /* tuples: a point has all tensors; each new value loads what it reads */
    {"(S, D)[i<64] = (A[i] + B[i], A[i] - B[i])", "", "S", 64, 64, 256, 128, 0, 0},
    {"(I, V)[i<64] = argmax[k<10](A[i,k])", "", "I", 64, 64, 2 * 640, 128, 0, 0},
    {"(I, V)[i<64] = argmax[k<10](A[i,k])", "reorder(I, k, i)", "I", 64, 64, 4 * 640, 128 * 11, 0, 0},
    {"P[i<64, k<10] = A[i,k] * 2; (I, V)[i<64] = argmax[k<10](P[i,k])", "compute_inline(P)", "P", 640, 640, 0, 0, 0, 0},
    /* the select makes the load on 62 of 64 elements */
    {"D[i<64] = select(i >= 1 && i < 63, A[i], 0.0)", "", "D", 64, 64, 62, 64, 0, 0},
};

static void check_count(const work_row *row, const char *what, int64_t got, int64_t expected) {
  if (got != expected)
    fail_msg("%s | %s: %s of %s are %lld, not %lld", row->program, row->schedule, what, row->stage, (long long)got,
             (long long)expected);
}

ROW(a22_work_counters) {
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(work_rows); ++i) {
    const work_row *row = &work_rows[i];
    staged t;
    open_staged(&t, row->program, row->schedule);
    build_staged(&t, &(tn_build_options){.count = true});
    call_staged(&t);
    tn_kernel_stage stage = stage_of(&t, row->stage);
    assert_true(stage.is_counted);
#define X(name) check_count(row, #name, stage.name, row->name);
    X(points)
    X(required)
    X(loads)
    X(stores)
    X(vector_loads)
    X(vector_stores)
#undef X
    close_staged(&t);
  }
}

ROW(a22_recompute) {
  (void)state;
  static const char *const schedules[] = {"compute_inline(P)", ""};
  const double expected[] = {9.0 * 64 * 64 / (66.0 * 66), 1.0};
  for (int i = 0; i < RUNTIME_COUNT(schedules); ++i) {
    staged t;
    open_staged(&t, STENCIL, schedules[i]);
    build_staged(&t, &(tn_build_options){.count = true});
    tn_kernel_stage stage = stage_of(&t, "P");
    assert_true(tn_kernel_stage_recompute(&stage) == expected[i]);
    close_staged(&t);
  }
}

/* The marks reach the rules: what was inlined nine times is said. */
ROW(a22_marks_and_advice) {
  (void)state;
  staged t;
  open_staged(&t, STENCIL, "compute_inline(P)");
  build_staged(&t, &(tn_build_options){.count = true, .name = "stencil"});
  assert_int_equal(tn_profile_start(t.ctx, NULL), TN_OK);
  call_staged(&t);
  tn_kernel_mark_stages(t.kernel);
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, "stage"), 2);
  tn_analysis *a = tn_analysis_of(t.ctx, r);
  const tn_rows *rows = tn_analysis_table(t.ctx, a, "kernel");
  assert_int_equal(tn_rows_count(rows), 2);
  assert_string_equal(analysis_text(rows, 0, "kernel"), "stencil");
  assert_string_equal(analysis_text(rows, 0, "stage"), "P");
  assert_true(analysis_number(rows, 0, "recompute") == 9.0 * 64 * 64 / (66.0 * 66));
  assert_true(analysis_number(rows, 1, "stores") == 64 * 64);
  tn_analysis_free(a);
  tn_recording_free(r);
  close_staged(&t);
}

static char *object_of(const tn_schedule *s, const tn_build_options *options, size_t *n) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tenon-a22-%d.o", (int)getpid());
  assert_int_equal(tn_build_file(s, options, path), TN_OK);
  char *bytes = runtime_read_file(NULL, path, n);
  assert_non_null(bytes);
  unlink(path);
  return bytes;
}

ROW(a22_off_is_identical) {
  (void)state;
  staged t;
  size_t n_before, n_off, n_sampled;
  open_staged(&t, STENCIL, "compute_at(P, S, y); vectorize(S, x); parallel(S, y)");
  char *before = object_of(t.schedule, NULL, &n_before);
  build_staged(&t, &(tn_build_options){.count = true, .sample = true});
  call_staged(&t);
  char *sampled = object_of(t.schedule, &(tn_build_options){.sample = true}, &n_sampled);
  char *off = object_of(t.schedule, &(tn_build_options){.name = "kernel"}, &n_off);
  assert_int_equal(n_before, n_off);
  assert_memory_equal(before, off, n_off);
  assert_true(n_sampled != n_off || memcmp(sampled, off, n_off) != 0);
  free(before);
  free(sampled);
  free(off);
  close_staged(&t);
}
