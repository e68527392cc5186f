/* report_tasks.c: TVM's table of tuning tasks, in the layout of its other tables. */
#include "profile/analysis.h"
#include "profile/reports.h"

/* A number that only a task with a valid trial has, times SCALE; "N/A" for the others. */
static void add_best(profiler_layout *l, const tn_rows *tasks, int row, const char *name, double scale) {
  if (analysis_is_missing(tasks, row, name))
    profiler_layout_cell(l, "N/A", 0);
  else
    profiler_layout_cellf(l, "%.4f", analysis_number(tasks, row, name) * scale);
}

/* ROW is also the task's number. */
static void add_task(profiler_layout *l, const tn_rows *tasks, int row) {
  enum { NAME_BYTES = 63 };
  profiler_layout_cellf(l, "%d", row);
  profiler_layout_cellf(l, "%.*s", NAME_BYTES, analysis_text(tasks, row, "task"));
  profiler_layout_cellf(l, "%.0f", analysis_number(tasks, row, "flops"));
  profiler_layout_cellf(l, "%.0f", analysis_number(tasks, row, "weight"));
  add_best(l, tasks, row, "gflops", 1);
  add_best(l, tasks, row, "best_s", 1e6);
  add_best(l, tasks, row, "weighted_s", 1e6);
  profiler_layout_cellf(l, "%.0f", analysis_number(tasks, row, "trials"));
  profiler_layout_cell(l, analysis_number(tasks, row, "done") > 0 ? "Y" : "", 0);
}

/* A task without a valid trial adds 0 to the latency, which is then too small; the N/A in its row shows that. */
static void add_sums(runtime_str *out, const tn_rows *tasks) {
  double trials = 0, latency_s = 0;
  for (int i = 0; i < tasks->n; ++i) {
    trials += analysis_number(tasks, i, "trials");
    latency_s += analysis_number(tasks, i, "weighted_s");
  }
  runtime_str_addf(out, "Total trials: %.0f\nTotal latency (us): %.6g\n", trials, latency_s * 1e6);
}

char *tn_analysis_task_table(tn_context *ctx, const tn_analysis *analysis) {
  static const char *const titles[] = {
      "ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)", "Weighted Latency (us)", "Trials", "Done"};
  const tn_rows *tasks = tn_analysis_table(ctx, analysis, "task");
  profiler_layout l = {0};
  runtime_str out = {0};
  if (!tasks) return NULL;
  profiler_layout_titles(&l, titles, RUNTIME_COUNT(titles));
  for (int i = 0; i < tasks->n; ++i) add_task(&l, tasks, i);
  if (!l.failed) profiler_layout_grid(&l, &out);
  runtime_str_add(&out, "\n");
  add_sums(&out, tasks);
  bool failed = l.failed || out.failed;
  profiler_layout_free(&l);
  if (!failed) return out.data;
  runtime_str_free(&out);
  return runtime_fail(ctx, TN_ERROR_MEMORY, "task table: out of memory"), NULL;
}
