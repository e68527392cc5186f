/* Rows of the table about worker processes: their events, clocks, ends. */
#include <unistd.h>

#include "tests/profiler/tune/tune.h"

/* How many workers have an event of NAME. */
static int count_workers_with(const tn_recording *r, const char *name) {
  int n = 0;
  for (int p = 0; p < r->processes.n; ++p) {
    bool has = false;
    for (int64_t i = 0; i < r->n_events && !has; ++i)
      has = r->lanes.data[r->events[i].lane].process == p && tune_is_worker(r, &r->events[i]) &&
            strcmp(r->events[i].name, name) == 0;
    n += has;
  }
  return n;
}

ROW(c1_scopes_of_workers) {
  (void)state;
  static const char *const names[] = {"Runner/load_module", "Runner/alloc_argument", "Runner/run_evaluator",
                                      "Runner/cleanup"};
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  int64_t n_measured = rows_count(run.r, "measure");
  assert_true(n_measured > TUNE_TRIALS / 2);
  for (int i = 0; i < RUNTIME_COUNT(names); ++i) assert_int_equal(tune_count_in_workers(run.r, names[i]), n_measured);
  assert_int_equal(tune_count_in_workers(run.r, "build"), TUNE_TRIALS - 1); /* not the default schedule */
  /* Two build at once; one at a time measures. A worker that starts slowly may come when all is built. */
  assert_true(count_workers_with(run.r, "build") >= (rows_is_instrumented() ? 1 : 2));
  tune_free(&run);
}

/* The tuner's scope of a name and number. */
static const tn_event *find_numbered(const tn_recording *r, const char *name, uint32_t sequence) {
  for (int64_t i = 0; i < r->n_events; ++i)
    if (r->events[i].sequence == sequence && strcmp(r->events[i].name, name) == 0) return &r->events[i];
  return NULL;
}

/* Every measure event of a worker lies in the tuner's range, give or take SLACK. Returns how many. */
static int check_inside(const tn_recording *r, int64_t slack_ns) {
  int n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (strcmp(e->name, "measure") != 0) continue;
    const tn_event *outer = find_numbered(r, "measuring", e->sequence);
    assert_non_null(outer);
    assert_true(e->start_ns >= outer->start_ns - slack_ns);
    assert_true(tune_end(e) <= tune_end(outer) + slack_ns);
    ++n;
  }
  return n;
}

ROW(c2_one_timeline) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  assert_true(check_inside(run.r, 1000) > TUNE_TRIALS / 2);
  tune_free(&run);
}

ROW(c4_killed_worker_keeps_its_events) {
  (void)state;
  static const char *const command[] = {TENON_COMMAND, "worker", "--inject=run-crash@10", NULL};
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, command);
  int killed = 0, killed_processes = 0;
  int64_t lost_ns = -1;
  for (int64_t i = 0; i < run.r->n_events; ++i) {
    const tn_event *e = &run.r->events[i];
    if (strcmp(e->name, "worker lost") == 0 && lost_ns < 0) lost_ns = e->start_ns;
  }
  for (int64_t i = 0; i < run.r->n_events; ++i) {
    const tn_event *e = &run.r->events[i];
    if (!(e->flags & TN_EVENT_KILLED) || strcmp(e->name, "measure") != 0) continue;
    const tn_event *outer = find_numbered(run.r, "measuring", e->sequence);
    assert_non_null(outer);
    assert_true(e->start_ns >= outer->start_ns - 1000 && e->duration_ns > 0);
    ++killed;
  }
  for (int p = 0; p < run.r->processes.n; ++p) killed_processes += run.r->processes.data[p].was_killed;
  assert_true(lost_ns > 0);
  assert_true(killed >= 1 && killed == run.result.failed && killed == killed_processes);
  assert_true(tune_count_in_workers(run.r, "Runner/cleanup") >= 9); /* what was finished is there */
  assert_true(count_workers_with(run.r, "measure") > killed);       /* who came after has a lane of its own */
  tune_free(&run);
}

/* A worker whose clock is 5 s ahead, with up to a millisecond on each way. */
ROW(c5_remote_clock_is_estimated) {
  (void)state;
  static const char *const command[] = {TENON_TEST_FAR_WORKER, "--remote", NULL};
  rows_load load = rows_load_now();
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, 12, command);
  int64_t shortest_ns = INT64_MAX; /* no request took longer than the range it lies in */
  for (int64_t i = 0; i < run.r->n_events; ++i)
    if (strcmp(run.r->events[i].name, "measuring") == 0)
      shortest_ns = RUNTIME_MIN(shortest_ns, run.r->events[i].duration_ns);
  int64_t widest_ns = 0;
  int remote = 0;
  for (int p = 0; p < run.r->processes.n; ++p) {
    const tn_process *process = &run.r->processes.data[p];
    if (strcmp(process->name, "worker") != 0) continue;
    int64_t error = process->clock_offset_ns + INT64_C(5000000000);
    assert_true(process->is_remote);
    assert_true(process->clock_bound_ns > 0);
    widest_ns = RUNTIME_MAX(widest_ns, process->clock_bound_ns);
    assert_true(error <= process->clock_bound_ns && -error <= process->clock_bound_ns);
    ++remote;
  }
  assert_true(remote >= 2);
  assert_int_equal(check_inside(run.r, 1000), rows_count(run.r, "measure"));
  assert_true(rows_count(run.r, "measure") >= 8);
  tune_free(&run);
  int64_t limit_ns = RUNTIME_MIN(shortest_ns / 2, rows_is_optimized() ? 2000000 : INT64_MAX);
  if (widest_ns <= limit_ns) return;
  rows_skip_if_busy(&load, "a bound of a clock was wider than half a round trip, or 2 ms");
  fail_msg("a bound of %.1f ms", (double)widest_ns * 1e-6);
}
