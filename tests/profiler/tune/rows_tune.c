/* Rows of the table that need a real tuning run: what is recorded of rounds and candidates. */
#include <math.h>

#include "tests/profiler/tune/tune.h"

/* ---- A7: counters ------------------------------------------------------------------------------------------------ */

ROW(a7_best_gflops_while_tuning) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  double last = 0;
  int in_round[16] = {0}, n_rounds = 0;
  for (int64_t i = 0; i < run.r->n_events; ++i) {
    const tn_event *e = &run.r->events[i];
    if (strncmp(e->name, "Round#", 6) == 0) ++n_rounds;
    if (strcmp(e->name, "best_gflops") != 0) continue;
    assert_true(e->value >= last);
    last = e->value;
    ++in_round[n_rounds - 1];
  }
  assert_int_equal(n_rounds, run.r->info.n_rounds);
  /* A round may begin before the results of the one before it come: all of them may follow the last beginning. */
  assert_true(in_round[n_rounds - 1] >= 1);
  assert_int_equal(rows_count(run.r, "best_gflops"), TUNE_TRIALS);
  double in_log = tn_program_flops(run.program) / run.best_s * 1e-9;
  assert_true(fabs(last - in_log) <= 1e-3 * in_log);
  assert_true(rows_count(run.r, "builder_queue") > 0 && rows_count(run.r, "runner_queue") > 0);
  assert_int_equal(rows_count(run.r, "candidates_failed"), TUNE_TRIALS);
  tune_free(&run);
}

/* ---- A8: arrows -------------------------------------------------------------------------------------------------- */

static const tn_event *find_flow(const tn_recording *r, uint64_t id, tn_flow_phase phase, int *n) {
  const tn_event *found = NULL;
  *n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind != TN_EVENT_FLOW || e->id != id || e->phase != phase) continue;
    found = e;
    ++*n;
  }
  return found;
}

static void check_name(const tn_recording *r, const tn_event *e, const char *name) {
  assert_true(e->parent >= 0);
  assert_string_equal(r->events[e->parent].name, name);
}

/* The three of one candidate. */
static void check_arrow(const tn_recording *r, const tn_event *s) {
  int n_s, n_t, n_f;
  assert_ptr_equal(find_flow(r, s->id, TN_FLOW_START, &n_s), s);
  const tn_event *t = find_flow(r, s->id, TN_FLOW_STEP, &n_t), *f = find_flow(r, s->id, TN_FLOW_END, &n_f);
  assert_true(n_s == 1 && n_t == 1 && n_f == 1);
  assert_true(s->start_ns <= t->start_ns && t->start_ns <= f->start_ns);
  assert_ptr_equal(s->name, t->name);
  assert_ptr_equal(s->name, f->name);
  assert_true(s->category == t->category && s->category == f->category);
  assert_true(tune_is_worker(r, t) && !tune_is_worker(r, s) && !tune_is_worker(r, f));
  check_name(r, s, "SendToRunner");
  check_name(r, t, "measure");
  check_name(r, f, "MeasureCallback/UpdateCostModel");
}

ROW(a8_arrows_of_candidates) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  int n = 0;
  for (int64_t i = 0; i < run.r->n_events; ++i) {
    const tn_event *e = &run.r->events[i];
    if (e->kind != TN_EVENT_FLOW || e->phase != TN_FLOW_START) continue;
    check_arrow(run.r, e);
    ++n;
  }
  assert_int_equal(n, rows_count(run.r, "measure"));
  bool all_were_built =
      run.result.failures[TN_MEASURE_BUILD_TIMEOUT].n == 0; /* a busy machine's may have been given up */
  assert_true(n > 0 && (!all_were_built || rows_count(run.r, "candidate") == 3 * n));
  tune_free(&run);
}

/* ---- A12, A13 ---------------------------------------------------------------------------------------------------- */

static void check_measures(const tn_recording *r, const char *shapes, uint64_t flops, int at_least) {
  int n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (strcmp(e->name, "measure") != 0) continue;
    const tn_event_arg *s = rows_arg(r, e, "shapes"), *f = rows_arg(r, e, "flops"), *w = rows_arg(r, e, "workload");
    assert_non_null(s);
    assert_true(w && strlen(w->text) > 0);
    if (strcmp(s->text, shapes) != 0) continue;
    assert_int_equal(f->u64, flops);
    ++n;
  }
  assert_true(n >= at_least);
}

ROW(a12_shapes_and_flops) {
  (void)state;
  tune_run run, larger;
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  tune_only(&run, TUNE_MATMUL, 6, NULL);
  tune_free(&run);
  tune_only(&larger, "C[i<128, j<128] = sum[k<128](A[i, k] * B[k, j])", 6, NULL);
  larger.r = rows_collect();
  check_measures(larger.r, "f32[64,64] f32[64,64] f32[64,64]", 2ull * 64 * 64 * 64, 5);
  check_measures(larger.r, "f32[128,128] f32[128,128] f32[128,128]", 2ull * 128 * 128 * 128, 5);
  tune_free(&larger);
}

/* How many events of NAME carry SEQUENCE. */
static int count_with(const tn_recording *r, const char *name, uint32_t sequence) {
  int n = 0;
  for (int64_t i = 0; i < r->n_events; ++i)
    n += r->events[i].sequence == sequence && strcmp(r->events[i].name, name) == 0;
  return n;
}

ROW(a13_sequence_of_candidates) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  uint32_t last = 0;
  int n = 0;
  for (int64_t i = 0; i < run.r->n_events; ++i) {
    const tn_event *e = &run.r->events[i];
    if (strcmp(e->name, "generate") != 0 || e->sequence == 0) continue;
    assert_true(e->sequence > last);
    last = e->sequence;
    ++n;
    assert_int_equal(count_with(run.r, "build", e->sequence), 1);
    assert_true(count_with(run.r, "measure", e->sequence) <= 1);
    assert_int_equal(count_with(run.r, "MeasureCallback/UpdateCostModel", e->sequence), 1);
  }
  assert_int_equal(n, TUNE_TRIALS - 1); /* the default schedule is measured with the reference */
  tune_free(&run);
}

/* ---- A17: memory ------------------------------------------------------------------------------------------------- */

/* At the level of small chunks: whether any is as large as the usual level wants depends on the search. */
ROW(a17_memory_while_tuning) {
  (void)state;
  tune_run run;
  assert_int_equal(tn_profile_start(NULL, &(tn_profile_options){.level = 5}), TN_OK);
  tune_only(&run, TUNE_MATMUL, 6, NULL);
  run.r = rows_collect();
  int64_t arena = 0, array = 0;
  for (int64_t i = 0; i < run.r->n_events; ++i) {
    const tn_event *e = &run.r->events[i];
    if (e->kind != TN_EVENT_MEMORY) continue;
    arena += strcmp(e->name, "arena") == 0;
    array += strcmp(e->name, "array") == 0 && tune_is_worker(run.r, e);
  }
  assert_true(arena > 0 && array >= 3); /* A, B, C of the worker */
  tune_free(&run);
}

/* ---- B5: rounds -------------------------------------------------------------------------------------------------- */

ROW(b5_rounds_while_tuning) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  int64_t end = 0;
  int n = 0;
  for (int64_t i = 0; i < run.r->n_events; ++i) {
    const tn_event *e = &run.r->events[i];
    char name[32];
    if (e->category != TN_CATEGORY_ROUND) continue;
    snprintf(name, sizeof name, "Round#%d", n++);
    assert_string_equal(e->name, name);
    assert_true(e->start_ns >= end);
    end = tune_end(e);
  }
  assert_int_equal(n, (TUNE_TRIALS + TUNE_PER_ROUND - 1) / TUNE_PER_ROUND);
  tune_free(&run);
}

/* ---- calls of kernels -------------------------------------------------------------------------------------------- */

ROW(a12_calls_of_kernels) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program =
      tn_program_parse(ctx, "B[i<96, j<96] = A[i,j] * 2\nC[i<96, j<96] = sum[k<96](B[i,k] * A[k,j])", 0, NULL);
  check_ok(ctx);
  tn_kernel *kernel = tn_build(tn_schedule_new(program), &(tn_build_options){.name = "twice"});
  check_ok(ctx);
  const int64_t shape[] = {96, 96};
  DLTensor *args[2];
  for (int i = 0; i < 2; ++i) args[i] = tn_array_new(ctx, TN_F32, 2, shape);
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  for (int i = 0; i < 3; ++i) assert_int_equal(tn_call(ctx, kernel, args, 2), TN_OK);
  tn_recording *r = rows_collect();
  const tn_event *call = rows_find(r, "twice", 2), *taken = rows_find(r, "scratch", 4);
  assert_int_equal(rows_count(r, "twice"), 3);
  assert_string_equal(rows_arg(r, call, "shapes")->text, "f32[96,96] f32[96,96]");
  assert_int_equal(rows_arg(r, call, "flops")->u64, 2 * 96 * 96 * 96 + 96 * 96);
  assert_int_equal(rows_count(r, "scratch"), 6); /* B, taken and given back by each call */
  assert_true(taken->parent >= 0 && taken->bytes == 96 * 96 * 4 && taken->current == taken->bytes);
  tn_recording_free(r);
  for (int i = 0; i < 2; ++i) tn_array_free(args[i]);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}
