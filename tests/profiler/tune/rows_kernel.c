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
enum { TRIES = 8, MOST_STAGES = 8, ENOUGH_MS = 150 }; /* a busy machine may take the processor away at a bad moment */

/* Shares of all stages, "(outside)" the last, of calls that took long enough together; how many there are. WALL: what the
 * caller saw of it. */
static int shares_of(staged *t, double *shares, double *wall_share) {
  tn_kernel_stage stages[MOST_STAGES];
  double sum = 0, wall = 0;
  int n = 0;
  while (wall * 1e3 < ENOUGH_MS) {
    uint64_t start = runtime_now_ns();
    call_staged(t);
    wall += (double)(runtime_now_ns() - start) * 1e-9;
  }
  n = tn_kernel_stages(t->kernel, MOST_STAGES, stages);
  for (int i = 0; i < n; ++i) sum += stages[i].seconds;
  for (int i = 0; i < n; ++i) shares[i] = stages[i].seconds / sum;
  *wall_share = sum / wall;
  return n;
}

/* The same on a number of threads. */
static int shares_on(const char *program, const char *schedule, int threads, double *shares, double *wall_share) {
  staged t;
  char words[32];
  snprintf(words, sizeof words, "threads=%d", threads);
  open_staged(&t, program, schedule);
  tn_target *target = tn_target_new(t.ctx, words);
  check_ok(t.ctx);
  build_staged(&t, &(tn_build_options){.sample = true, .target = target});
  int n = shares_of(&t, shares, wall_share);
  close_staged(&t);
  return n;
}

/* The first stage has twice the operations of the second; times sum to the calls'. */
ROW(a21_sampled_kernel) {
  (void)state;
  double shares[MOST_STAGES], wall = 0;
  for (int i = 0; i < TRIES && !(shares[0] > 0.60 && shares[0] < 0.73 && wall > 0.98); ++i)
    assert_int_equal(shares_on(TWO_TO_ONE, "", 1, shares, &wall), 3);
  if (!(shares[0] > 0.60 && shares[0] < 0.73)) fail_msg("the first stage's share is %.3f", shares[0]);
  if (!(wall > 0.98 && wall < 1.001)) fail_msg("times are %.3f of the calls' time", wall);
}

/* Of one thread, and of two and four, which more often wait for each other than not on a machine that has fewer. */
static const struct {
  const char *program, *schedule;
} parallel_kernels[] = {
    {TWO_TO_ONE, "parallel(B, i); parallel(C, i)"},
    {"C[i<256, j<256] = sum[k<256](A[i,k] * B[k,j])",
     "cache_write(C, global); split(C, i, 32); parallel(C, i.outer); compute_at(C.global, C, i.outer); vectorize(C, "
     "j)"},
    {"T[i<512, j<512] = exp(A[i,j])\nC[i<512, j<512] = tanh(T[i,j]) * 2", "parallel(T, i); parallel(C, i)"},
    {"T[i<512, j<512] = exp(A[i,j])\nC[i<512, j<512] = tanh(T[i,j]) * 2", "parallel(C, i); compute_at(T, C, i)"},
    {"M[i<256] = max[k<1000](X[i,k])\nE[i<256, j<1000] = exp(X[i,j] - M[i])\nS[i<256] = sum[k<1000](E[i,k])\n"
     "Y[i<256, j<1000] = E[i,j] / S[i]",
     "parallel(Y, i); compute_at(S, Y, i); compute_at(E, Y, i); compute_at(M, Y, i)"},
    {"P[y<258, x<258] = sqrt(A[y, x])\nS[y<256, x<256] = exp(P[y,x] + P[y+1,x+1] + P[y+2,x+2])",
     "parallel(P, y); parallel(S, y)"},
    {"B[i<128, j<128] = sum[k<128](X[i, k] * Y[k, j])\nD[i<128, j<128] = sum[k<128](B[i, k] * Y[k, j])\n"
     "C[i<128, j<128] = sum[l<128](D[i, l] * Z[l, j])",
     "parallel(B, i); parallel(D, i); parallel(C, i)"},
    {"T[i<64, j<2048] = sigmoid(A[i,j])\nC[i<64] = sum[k<2048](T[i,k] * A[i,k])", "parallel(T, i); parallel(C, i)"},
};

/* The largest difference of shares, relative to the larger of the share and a fifth. */
static double difference(int n, const double *a, const double *b) {
  double most = 0;
  for (int i = 0; i < n; ++i) most = fmax(most, fabs(a[i] - b[i]) / fmax(a[i], 0.2));
  return most;
}

/* Threads whose processors share units slow each other down in one stage more than in another: 13 % were seen. */
#define ALIKE 0.2

ROW(a24_shares_on_many_threads) {
  (void)state;
  for (int k = 0; k < RUNTIME_COUNT(parallel_kernels); ++k) {
    const char *program = parallel_kernels[k].program, *schedule = parallel_kernels[k].schedule;
    for (int threads = 2; threads <= 4; threads *= 2) {
      double one[MOST_STAGES], many[MOST_STAGES], wall, off = INFINITY;
      for (int i = 0; i < TRIES && off > ALIKE; ++i) {
        int n = shares_on(program, schedule, 1, one, &wall);
        assert_int_equal(shares_on(program, schedule, threads, many, &wall), n);
        off = difference(n, one, many);
      }
      print_message("kernel %d on %d threads: shares differ by %.1f %%\n", k, threads, 100 * off);
      if (off > ALIKE)
        fail_msg("%s | %s: on %d threads shares differ by %.0f %%", program, schedule, threads, 100 * off);
    }
  }
}

/* Of the threads' time in the parallel loop of a kernel, the part that was worked in. */
static double active_of(const char *schedule, int tasks) {
  staged t;
  double shares[MOST_STAGES], wall;
  open_staged(&t, "C[i<512, j<256] = sum[k<256](X[i, k] * Y[k, j])", schedule);
  tn_target *target = tn_target_new(t.ctx, "threads=2");
  build_staged(&t, &(tn_build_options){.sample = true, .count = true, .target = target});
  shares_of(&t, shares, &wall);
  tn_kernel_stage stage = stage_of(&t, "C");
  assert_int_equal(stage.loops, 1);
  assert_int_equal(stage.tasks, tasks);
  char *report = tn_kernel_stage_report(t.kernel);
  check_has(report, "(outside)");
  free(report);
  close_staged(&t);
  return stage.active;
}

/* What threads wait for each other is no stage's time, and shows as threads that are not active: 384 and 128 rows keep two
 * threads busy for two thirds of the time, or three quarters and somewhat more where one thread is faster while the other has nothing to do. */
ROW(a24_active_threads) {
  (void)state;
  double even = 0, uneven = 1;
  for (int i = 0; i < TRIES && even < 0.8; ++i)
    even = fmax(even, active_of("split(C, i, 64); parallel(C, i.outer)", 8));
  for (int i = 0; i < TRIES && uneven > 0.7; ++i)
    uneven = fmin(uneven, active_of("split(C, i, 384); parallel(C, i.outer)", 2));
  print_message("active: eight tasks %.2f, uneven ones %.2f\n", even, uneven);
  if (!(uneven > 0.3 && uneven <= 0.9)) fail_msg("384 and 128 rows keep %.2f of two threads busy", uneven);
  if (!(even > 0.6 && even <= 1)) fail_msg("eight tasks keep %.2f of two threads busy", even);
}

ROW(a21_stages_computed_inside) {
  (void)state;
  staged t;
  open_staged(&t, TWO_TO_ONE, "compute_at(B, C, i)");
  char *ir = tn_build_text(t.schedule, &(tn_build_options){.sample = true}, ".ll");
  check_has(ir, "@kernel_stage = ");
  check_has(ir, "[12 x i64]"); /* four rows for B, C and what is outside */
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
