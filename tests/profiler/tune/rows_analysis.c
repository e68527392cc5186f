/* Rows of section E that need a real tuning run: overhead, types of queries, rounds, suggestions, tasks. */
#include <jansson.h>
#include <math.h>

#include "profile/analysis.h"
#include "profile/profiler_reports.h"
#include "tests/profiler/tune/tune.h"

ROW(e6_overhead_while_tuning) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  char *text = tn_recording_report(NULL, run.r, "total");
  double total = rows_check_overhead(text);
  assert_true(fabs(total * 1e6 - (double)run.r->info.duration_ns) <= 0.01 * (double)run.r->info.duration_ns);
  check_has(text, "\n  thread0::EvoSearch/Evolve/Mutation"); /* a child of EvoSearch/Evolve */
  free(text);
  tune_free(&run);
}

ROW(e9_every_type_while_tuning) {
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  tn_analysis *a = tn_analysis_of(run.ctx, run.r);
  assert_non_null(a);
  const tn_analyser *analyser;
  for (int k = 0; (analyser = tn_analysis_type(a, k)); ++k) {
    char query[64];
    if (strcmp(analyser->type, "kernel") == 0) continue; /* work counters are a build of their own */
    snprintf(query, sizeof query, "{\"type\": \"%s\"}", analyser->type);
    char *text = tn_analysis_query(run.ctx, a, query);
    if (!text) fail_msg("%s: %s", analyser->type, tn_context_message(run.ctx));
    json_t *answer = json_loads(text, 0, NULL);
    if (json_integer_value(json_object_get(answer, "size")) < 1) fail_msg("%s has no rows", analyser->type);
    json_decref(answer);
    free(text);
  }
  tn_analysis_free(a);
  tune_free(&run);
}

ROW(e10_rounds_while_tuning) {
  static const char *const phases[] = {"wait_ns", "generate_ns", "build_ns", "measure_ns", "update_ns", "tail_ns"};
  (void)state;
  tune_run run;
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  tn_analysis *a = tn_analysis_of(run.ctx, run.r);
  const tn_rows *rounds = tn_analysis_table(run.ctx, a, "round");
  double measured = 0, built = 0;
  assert_int_equal(tn_rows_count(rounds), run.r->info.n_rounds);
  for (int i = 0; i < tn_rows_count(rounds); ++i) {
    double wall = analysis_number(rounds, i, "duration_ns"), sum = 0;
    for (int p = 0; p < RUNTIME_COUNT(phases); ++p) sum += analysis_number(rounds, i, phases[p]);
    assert_true(wall > 0 && fabs(sum - wall) <= 0.01 * wall);
    assert_true(analysis_number(rounds, i, "tail_ns") >= 0);
    measured += analysis_number(rounds, i, "measure_ns");
    built += analysis_number(rounds, i, "build_ns");
  }
  assert_true(measured > 0 && built > 0); /* of a round alone either may be 0: it was built while another one was run */
  tn_analysis_free(a);
  tune_free(&run);
}

/* Whether no rule fires on a run: of kernels that take long enough, in rounds large enough, that search and model are not most
 * of it. */
static bool is_quiet(void) {
  tune_run run;
  tune_recorded_rounds(&run, "C[i<640, j<640] = sum[k<640](A[i, k] * B[k, j])", TUNE_TRIALS, 32);
  tn_analysis *a = tn_analysis_of(run.ctx, run.r);
  tn_advices *advices = tn_advise(run.ctx, a, NULL);
  char *text = tn_advices_text(advices, false);
  printf("%s", text);
  check_has(text, "largest phase: ");
  bool quiet = strstr(text, "nothing stands out");
  free(text);
  tn_advices_free(advices);
  tn_analysis_free(a);
  tune_free(&run);
  return quiet;
}

ROW(e12_healthy_tuning_is_quiet) {
  (void)state;
  if (rows_is_instrumented()) ROW_SKIP("instrumented code shifts the phases' shares, which the rules are about");
  rows_load load = rows_load_now();
  bool ok = false;
  for (int i = 0; i < 3 && !ok; ++i) ok = is_quiet();
  if (!ok) rows_skip_if_busy(&load, "a rule fired"); /* others slow phases and workers down: then rules should fire */
  assert_true(ok);
}

ROW(e15_tasks_while_tuning) {
  (void)state;
  tune_run run;
  char total[64];
  tune_recorded(&run, TUNE_MATMUL, TUNE_TRIALS, NULL);
  tn_analysis *a = tn_analysis_of(run.ctx, run.r);
  const tn_rows *tasks = tn_analysis_table(run.ctx, a, "task");
  assert_int_equal(tn_rows_count(tasks), 1);
  double best_s = analysis_number(tasks, 0, "best_s"), flops = tn_program_flops(run.program);
  assert_true(fabs(best_s - run.best_s) <= 1e-9 * run.best_s);
  assert_true(fabs(analysis_number(tasks, 0, "gflops") * best_s * 1e9 - flops) <= 1e-6 * flops);
  assert_int_equal(analysis_number(tasks, 0, "trials"), TUNE_TRIALS);
  char *text = tn_analysis_task_table(run.ctx, a);
  printf("%s", text);
  snprintf(total, sizeof total, "Total trials: %d\n", TUNE_TRIALS);
  check_has(text, total);
  check_has(text, "C[i<64, j<64]");
  free(text);
  tn_analysis_free(a);
  tune_free(&run);
}
