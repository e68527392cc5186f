/* Rows B9 and B10: what a scope costs, off and on. The smallest of five runs of a loop, less the bare loop's. */
#include "tests/profiler/rows.h"

static volatile uint64_t sink;

static double bare_ns(int64_t n) {
  uint64_t start = runtime_now_ns();
  for (int64_t i = 0; i < n; ++i) sink = sink + 1;
  return (double)(runtime_now_ns() - start) / (double)n;
}

static double scope_ns(int64_t n) {
  uint64_t start = runtime_now_ns();
  for (int64_t i = 0; i < n; ++i) {
    TN_SCOPE(APP, 1, "cost");
    sink = sink + 1;
  }
  return (double)(runtime_now_ns() - start) / (double)n;
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
  double ns = measure(rows_scaled(100000000));
  printf("a disabled scope costs %.2f ns\n", ns);
  if (rows_is_optimized() && ns > 2) fail_msg("%.2f ns are more than 2", ns);
}

static double measure_enabled(int64_t n) {
  const tn_profile_options options = {.max_bytes = 64 << 20, .drop = TN_KEEP_LAST};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  { TN_TIMED("the first event of a thread"); }
  double ns = measure(n);
  tn_recording_free(rows_collect());
  return ns;
}

ROW(b10_cost_when_enabled) {
  (void)state;
  double ns = measure_enabled(rows_scaled(10000000));
  double limit = profiler_clock_is_tsc() ? 60 : 120;
  printf("an enabled scope costs %.1f ns (%s)\n", ns, profiler_clock_is_tsc() ? "TSC" : "CLOCK_MONOTONIC");
  const profiler_clock system_clock = {.no_tsc = true};
  profiler_set_clock(&system_clock);
  double system_ns = measure_enabled(rows_scaled(10000000));
  printf("an enabled scope costs %.1f ns (CLOCK_MONOTONIC)\n", system_ns);
  profiler_set_clock(NULL);
  if (!rows_is_optimized()) return;
  if (ns > limit) fail_msg("%.1f ns are more than %.0f", ns, limit);
  if (system_ns > 120) fail_msg("%.1f ns with CLOCK_MONOTONIC are more than 120", system_ns);
}
