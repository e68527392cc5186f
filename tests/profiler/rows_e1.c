/* Row E1: TVM's table and get(), to the byte. */
#include <math.h>

#include "tests/profiler/rows.h"

/* Under CLK: names of several lengths, ties, a name inside itself. */
static tn_profiler *scripted(void) {
  static const struct {
    const char *name;
    uint64_t seconds;
  } phases[] = {{"SendToBuilder", 90},       {"EvoSearch/Evolve/Mutation", 240}, {"SendToRunner", 90},
                {"InitializeTask", 3},       {"EvoSearch/Evolve/Mutation", 60},  {"JoinRunnerFutures", 1},
                {"PostTuningCompilation", 0}};
  rows_clock_install();
  tn_profiler *p = tn_profiler_new();
  uint64_t now = 0;
  tn_profiler_enter(p);
  for (int i = 0; i < RUNTIME_COUNT(phases); ++i) {
    tn_scope scope = rows_begin(now, phases[i].name);
    rows_end(now += phases[i].seconds * 1000000000u, &scope);
  }
  tn_scope outer = rows_begin(now, "TaskExtraction"), inner = rows_begin(now, "TaskExtraction");
  rows_end(now += 6000000000u, &inner);
  rows_end(now, &outer);
  rows_clock_set(600000000000u);
  tn_profiler_exit(p);
  return p;
}

/* get() is minutes times 60. */
static void check_seconds(const tn_profiler *p) {
  double total = 0;
  for (int i = 0; i < tn_profiler_count(p); ++i) {
    double seconds;
    const char *name = tn_profiler_name_at(p, i, &seconds, NULL);
    double minutes = tn_profiler_get(p, name) / 60;
    assert_true(fabs(seconds - minutes * 60) <= 1e-9);
    if (strcmp(name, "Total") != 0) total += seconds;
  }
  assert_true(fabs(tn_profiler_get(p, "Total") - 600) <= 1e-9);
  assert_true(fabs(tn_profiler_get(p, "EvoSearch/Evolve/Mutation") - 300) <= 1e-9);
  assert_true(fabs(total - 490) <= 1e-9);
}

ROW(e1_tvm_table) {
  (void)state;
  tn_profiler *p = scripted();
  char *table = tn_profiler_table(p);
  check_golden("profiler/tvm_table.txt", table);
  assert_null(tn_profiler_table_error(p));
  check_seconds(p);
  free(table);
  tn_profiler_free(p);
}

ROW(e1_no_table) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  assert_null(tn_profiler_table(p));
  check_has(tn_profiler_table_error(p), "empty");
  tn_profiler_enter(p);
  {
    TN_TIMED("work");
  }
  assert_null(tn_profiler_table(p));
  check_has(tn_profiler_table_error(p), "not left yet");
  tn_profiler_exit(p);
  assert_null(tn_profiler_table_error(p));
  tn_profiler_free(p);
}
