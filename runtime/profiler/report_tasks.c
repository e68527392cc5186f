/* report_tasks.c: TVM's table of tuning tasks, in the layout of its other tables. */
#include <math.h>
#include <stdio.h>

#include "runtime/profiler/analysis.h"

enum { COLUMNS = 9, CELL = 64 };

/* Cells are cut at CELL - 1 bytes. */
typedef struct line {
  char cells[COLUMNS][CELL];
} line;

static const line header = {
    {"ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)", "Weighted Latency (us)", "Trials", "Done"}};

/* A number of a valid trial. */
static void put_best(line *l, int column, const tn_rows *tasks, int row, const char *name, double scale) {
  if (analysis_is_missing(tasks, row, name))
    snprintf(l->cells[column], CELL, "N/A");
  else
    snprintf(l->cells[column], CELL, "%.4f", analysis_number(tasks, row, name) * scale);
}

/* ROW is the task's number too. */
static line line_of(const tn_rows *tasks, int row) {
  line l;
  snprintf(l.cells[0], CELL, "%d", row);
  snprintf(l.cells[1], CELL, "%s", analysis_text(tasks, row, "task"));
  snprintf(l.cells[2], CELL, "%.0f", analysis_number(tasks, row, "flops"));
  snprintf(l.cells[3], CELL, "%.0f", analysis_number(tasks, row, "weight"));
  put_best(&l, 4, tasks, row, "gflops", 1);
  put_best(&l, 5, tasks, row, "best_s", 1e6);
  put_best(&l, 6, tasks, row, "weighted_s", 1e6);
  snprintf(l.cells[7], CELL, "%.0f", analysis_number(tasks, row, "trials"));
  snprintf(l.cells[8], CELL, "%s", analysis_number(tasks, row, "done") > 0 ? "Y" : "");
  return l;
}

/* TVM's: as long as a line, without crossings. */
static void add_rule(runtime_str *out, const int *widths) {
  int n = 3 * COLUMNS - 1;
  for (int c = 0; c < COLUMNS; ++c) n += widths[c];
  while (n-- > 0) runtime_str_add(out, "-");
  runtime_str_add(out, "\n");
}

static void add_line(runtime_str *out, const line *l, const int *widths) {
  for (int c = 0; c < COLUMNS; ++c) runtime_str_addf(out, "%s %*s ", c ? "|" : "", widths[c], l->cells[c]);
  runtime_str_add(out, "\n");
}

static void widen(int *widths, const line *l) {
  for (int c = 0; c < COLUMNS; ++c) widths[c] = RUNTIME_MAX(widths[c], (int)strlen(l->cells[c]));
}

/* Tasks without a valid trial count for 0 in the latency, which is then too small: N/A in their rows
 * tells. */
static void add_sums(runtime_str *out, const tn_rows *tasks) {
  double trials = 0, latency_s = 0;
  for (int i = 0; i < tasks->n; ++i) {
    trials += analysis_number(tasks, i, "trials");
    latency_s += analysis_number(tasks, i, "weighted_s");
  }
  runtime_str_addf(out, "Total trials: %.0f\nTotal latency (us): %.6g\n", trials, latency_s * 1e6);
}

char *tn_analysis_task_table(tn_context *ctx, const tn_analysis *analysis) {
  const tn_rows *tasks = tn_analysis_table(ctx, analysis, "task");
  int widths[COLUMNS] = {0};
  runtime_str out = {0};
  if (!tasks) return NULL;
  widen(widths, &header);
  for (int i = 0; i < tasks->n; ++i) {
    line l = line_of(tasks, i);
    widen(widths, &l);
  }
  add_line(&out, &header, widths);
  add_rule(&out, widths);
  for (int i = 0; i < tasks->n; ++i) {
    line l = line_of(tasks, i);
    add_line(&out, &l, widths);
  }
  add_rule(&out, widths);
  add_sums(&out, tasks);
  if (!out.failed) return out.data;
  runtime_str_free(&out);
  return runtime_fail(ctx, TN_ERROR_MEMORY, "task table: out of memory"), NULL;
}
