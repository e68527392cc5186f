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

/* One run without and one with the profiler. */
typedef struct pair {
  replay off, on;
  double best_off, best_on, off_s, on_s;
  double events, cost_ns; /* records of the run with it, and what one costs */
} pair;

static pair tune_pair(void) {
  pair p;
  p.off_s = tune_replayed(&p.off, &p.best_off);
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  p.on_s = tune_replayed(&p.on, &p.best_on);
  tn_recording *r = rows_collect();
  p.events = (double)r->info.stats.events + (double)r->n_args;
  p.cost_ns = r->info.stats.event_cost_ns;
  tn_recording_free(r);
  return p;
}

ROW(b8_same_candidates) {
  (void)state;
  pair p = tune_pair();
  assert_true(p.off.n == 64 && p.on.n == 64);
  assert_int_equal(p.on.order, p.off.order);
  assert_true(p.best_on == p.best_off);
}

/* ---- CPU time: the least of several runs of each kind, for the machine is not ours ------------------------------- */

enum { LEAST_PAIRS = 4, MOST_PAIRS = 20, NEAR = 3 };

/* A least time means something if it was come near to several times: by how much the NEAR-th least exceeds it. SECONDS
 * gets sorted. */
static int compare_seconds(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double spread(double *seconds, int n) {
  qsort(seconds, (size_t)n, sizeof *seconds, compare_seconds);
  return seconds[NEAR - 1] / seconds[0] - 1;
}

/* How much runs that should cost the same differ: within each kind, and between the halves of the plain ones. */
static double noise_of(const double *off, const double *on, int n) {
  double a[MOST_PAIRS], b[MOST_PAIRS], halves[2] = {1e9, 1e9};
  memcpy(a, off, (size_t)n * sizeof *off);
  memcpy(b, on, (size_t)n * sizeof *on);
  for (int i = 0; i < n; ++i) halves[i % 2] = RUNTIME_MIN(halves[i % 2], off[i]);
  double between = halves[0] > halves[1] ? halves[0] / halves[1] - 1 : halves[1] / halves[0] - 1;
  return RUNTIME_MAX(between, RUNTIME_MAX(spread(a, n), spread(b, n)));
}

ROW(b8_cpu_time) {
  (void)state;
  const double limit = 0.01;
  double off[MOST_PAIRS], on[MOST_PAIRS], least_off = 1e9, least_on = 1e9;
  pair p = {0};
  int n = 0;
  if (!rows_is_optimized()) ROW_SKIP("costs are measured in a plain build");
  rows_load load = rows_load_now();
  for (; n < LEAST_PAIRS || (n < MOST_PAIRS && least_on > (1 + limit) * least_off); ++n) {
    p = tune_pair();
    least_off = RUNTIME_MIN(least_off, off[n] = p.off_s);
    least_on = RUNTIME_MIN(least_on, on[n] = p.on_s);
  }
  double growth = least_on / least_off - 1, by_events = p.events * p.cost_ns * 1e-9 / least_off;
  double noise = noise_of(off, on, n);
  printf(
      "CPU of %d pairs: %.3f s without, %.3f s with: %+.2f %%; %.0f records of %.0f ns each: %.3f %%; noise %.2f %%\n",
      n, least_off, least_on, 100 * growth, p.events, p.cost_ns, 100 * by_events, 100 * noise);
  assert_true(by_events <= limit);
  if (growth > limit && noise > limit)
    ROW_SKIP("equal runs differ by %.1f %% of CPU time, more than the limit of 1 %%", 100 * noise);
  if (growth > limit) rows_skip_if_busy(&load, "CPU time grew by more than 1 %");
  assert_true(growth <= limit);
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
