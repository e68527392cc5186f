/* Rows B9 and B10: what a scope costs, off and on. The smallest of five runs of a loop, less the bare loop's; in
 * processor time of the thread, for other programs may run. */
#include <time.h>

#include "tests/profiler/rows.h"

static volatile uint64_t sink;

static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double bare_ns(int64_t n) {
  uint64_t start = cpu_ns();
  for (int64_t i = 0; i < n; ++i) sink = sink + 1;
  return (double)(cpu_ns() - start) / (double)n;
}

static double scope_ns(int64_t n) {
  uint64_t start = cpu_ns();
  for (int64_t i = 0; i < n; ++i) {
    TN_SCOPE(APP, 1, "cost");
    sink = sink + 1;
  }
  return (double)(cpu_ns() - start) / (double)n;
}

/* ns a scope */
static double measure(int64_t n) {
  double bare = 1e9, scope = 1e9;
  for (int i = 0; i < 5; ++i) {
    bare = RUNTIME_MIN(bare, bare_ns(n));
    scope = RUNTIME_MIN(scope, scope_ns(n));
  }
  return scope - bare;
}

ROW(b9_cost_when_disabled) {
  (void)state;
  rows_load load = rows_load_now();
  double ns = measure(rows_scaled(100000000));
  printf("a disabled scope costs %.2f ns\n", ns);
  if (!rows_is_optimized() || ns <= 2) return;
  rows_skip_if_busy(&load, "a disabled scope cost more than 2 ns");
  fail_msg("%.2f ns are more than 2", ns);
}

static double measure_enabled(int64_t n) {
  const tn_profile_options options = {.max_bytes = 64 << 20, .drop = TN_KEEP_LAST};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  {
    TN_TIMED("the first event of a thread");
  }
  double ns = measure(n);
  tn_recording_free(rows_collect());
  return ns;
}

/* What two readings of the clock cost now: a floor that other programs on the same core raise. */
static double floor_ns(void) {
  double best = 1e9;
  for (int k = 0; k < 5; ++k) {
    enum { N = 1000000 };
    uint64_t start = cpu_ns();
    for (int i = 0; i < N; ++i) sink = profiler_now_ns();
    best = RUNTIME_MIN(best, (double)(cpu_ns() - start) / N);
  }
  return 2 * best;
}

/* At most LIMIT ns, or on a busy machine no more over the floor than LIMIT is over QUIET_FLOOR, the quiet machine's. */
static void check_enabled(double limit, double quiet_floor) {
  rows_load load = rows_load_now();
  double ns = measure_enabled(rows_scaled(10000000)), floor = floor_ns();
  printf("an enabled scope costs %.1f ns with %s; two readings of the clock alone %.1f ns\n", ns,
         profiler_clock_is_tsc() ? "the TSC" : "CLOCK_MONOTONIC", floor);
  if (!rows_is_optimized() || ns <= limit || ns - floor <= limit - quiet_floor) return;
  rows_skip_if_busy(&load, "an enabled scope cost more than its limit");
  fail_msg("%.1f ns are more than %.0f", ns, limit);
}

ROW(b10_cost_when_enabled) {
  (void)state;
  if (profiler_clock_is_tsc()) check_enabled(60, 26);
  const profiler_clock system_clock = {.no_tsc = true};
  profiler_set_clock(&system_clock);
  check_enabled(120, 60);
}
