/* Row B8: a profiled run behaves as it does without: the same candidates under replayed timings, hardly more CPU time,
 * and no event inside what a worker times. */
#include <sys/resource.h>
#include <unistd.h>

#include "tests/profiler/tune/tune.h"

/* ---- measurements that are replayed: a cost made of the steps ---------------------------------------------------- */

typedef struct replay {
  uint64_t order; /* hash over all steps so far, in their order */
  int n;
} replay;

static tn_status replay_build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  replay *r = self;
  for (int i = 0; i < n; ++i) {
    out[i] = (tn_measurement){.object = strdup("object"), .object_bytes = 6};
    r->order = runtime_hash(candidates[i].steps, strlen(candidates[i].steps), r->order);
    ++r->n;
  }
  return TN_OK;
}

static tn_status replay_run(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  (void)self;
  for (int i = 0; i < n; ++i) {
    uint64_t h = runtime_hash(candidates[i].steps, strlen(candidates[i].steps), 7);
    out[i].n_costs = 1;
    out[i].costs[0] = 1e-5 + (double)(h % 1000000) * 1e-10;
    out[i].checked = true;
  }
  return TN_OK;
}

static double cpu_s(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* CPU seconds of a run with replayed measurements. */
static double tune_replayed(replay *r, double *best_s) {
  char log[64];
  tn_context *ctx = check_context();
  tn_builder builder = {.self = r, .build = replay_build};
  tn_runner runner = {.self = r, .run = replay_run};
  snprintf(log, sizeof log, "/tmp/tenon-same-%d.json", (int)getpid());
  unlink(log);
  *r = (replay){0};
  tn_program *program = tn_program_parse(ctx, TUNE_MATMUL, 0, NULL);
  tn_tune_options options = {
      .log = log, .trials = 64, .per_round = 16, .seed = 3, .builder = &builder, .runner = &runner};
  tn_tune_result result;
  double before = cpu_s();
  assert_int_equal(tn_tune(program, &options, &result), TN_OK);
  double spent = cpu_s() - before;
  *best_s = result.best_s;
  unlink(log);
  check_context_free(ctx);
  return spent;
}

ROW(b8_same_candidates) {
  (void)state;
  replay off, on;
  double best_off, best_on, off_s = 1e9, on_s = 1e9, events = 0, cost_ns = 0;
  for (int i = 0; i < 3 || (i < 24 && on_s > 1.01 * off_s); ++i) { /* the least of several: the machine is not ours */
    off_s = RUNTIME_MIN(off_s, tune_replayed(&off, &best_off));
    assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
    double spent = tune_replayed(&on, &best_on);
    tn_recording *r = rows_collect();
    on_s = RUNTIME_MIN(on_s, spent);
    events = (double)r->info.stats.events + (double)r->n_args;
    cost_ns = r->info.stats.event_cost_ns;
    tn_recording_free(r);
    assert_true(off.n == 64 && on.n == 64);
    assert_int_equal(on.order, off.order);
    assert_true(best_on == best_off);
  }
  double by_events = events * cost_ns * 1e-9 / off_s;
  printf("CPU: %.3f s without, %.3f s with: %+.2f %%; %.0f records of %.0f ns each: %.3f %%\n", off_s, on_s,
         100 * (on_s / off_s - 1), events, cost_ns, 100 * by_events);
  if (!rows_is_optimized()) return;
  assert_true(by_events <= 0.01);
  assert_true(on_s <= off_s * 1.01);
}

/* ---- nothing inside a timed call --------------------------------------------------------------------------------- */

static bool lies_inside(int64_t at, const tn_event *outer) { return at > outer->start_ns && at < tune_end(outer); }

ROW(b8_nothing_inside_timed_calls) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, 12, NULL);
  const tn_recording *r = run.r;
  int n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *call = &r->events[i];
    if (!tune_is_worker(r, call) || (strcmp(call->name, "first call") != 0 && strcmp(call->name, "Runner/time") != 0))
      continue;
    ++n;
    for (int64_t k = 0; k < r->n_events; ++k) {
      const tn_event *e = &r->events[k];
      if (k != i && r->lanes.data[e->lane].process == r->lanes.data[call->lane].process)
        assert_false(lies_inside(e->start_ns, call) || lies_inside(tune_end(e), call));
    }
  }
  assert_true(n >= 12);
  tune_free(&run);
}
