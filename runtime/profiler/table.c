/* The profiler's table in the layout of TVM MetaSchedule's: every cell right-aligned to its column with a blank either
 * side, cells joined by '|', a rule after the header and one after the last row, no newline at the end. */
#include <stdio.h>

#include "runtime/base.h"
#include "runtime/profiler/profiler.h"
#include "runtime/profiler/state.h"

enum { COLUMNS = 4, CELL = 40 };

/* One row: its cells as text (name is the profiler's), seconds to sort by. */
typedef struct row {
  char id[16];
  const char *name;
  double seconds;
  char minutes[CELL], percentage[CELL];
} row;

/* The text of one of the four columns. */
static const char *cell(const row *r, int column) {
  const char *const cells[COLUMNS] = {r->id, r->name, r->minutes, r->percentage};
  return cells[column];
}

/* By name: a scope that is called Total shares the row, as in TVM. */
static bool is_total(const row *r) { return strcmp(r->name, "Total") == 0; }

/* Total, then the longest time first; equal times by name. */
static int by_time(const void *left, const void *right) {
  const row *a = left, *b = right;
  if (is_total(a) != is_total(b)) return is_total(a) ? -1 : 1;
  if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Fills the rows from the profiler, sorts them and numbers all but the first. */
static void collect(const tn_profiler *profiler, row *rows, int n, double total) {
  for (int i = 0; i < n; ++i) {
    row *r = &rows[i];
    r->name = tn_profiler_name_at(profiler, i, &r->seconds, NULL);
    snprintf(r->minutes, CELL, "%.4f", r->seconds / 60);
    snprintf(r->percentage, CELL, "%.4f", total > 0 ? r->seconds / total * 100 : 0);
  }
  qsort(rows, (size_t)n, sizeof *rows, by_time);
  for (int i = 1; i < n; ++i) snprintf(rows[i].id, sizeof rows[i].id, "%d", i);
}

static void add_row(runtime_str *out, const row *r, const int *widths) {
  for (int c = 0; c < COLUMNS; ++c) runtime_str_addf(out, "%s %*s ", c ? "|" : "", widths[c], cell(r, c));
  runtime_str_add(out, "\n");
}

static void add_rule(runtime_str *out, const int *widths) {
  int n = 3 * COLUMNS - 1;
  for (int c = 0; c < COLUMNS; ++c) n += widths[c];
  while (n-- > 0) runtime_str_add(out, "-");
}

/* Writes header, rules and rows; the column widths are those of the longest cells. */
static char *layout(const row *rows, int n) {
  static const row header = {.id = "ID", .name = "Name", .minutes = "Time (min)", .percentage = "Percentage"};
  int widths[COLUMNS];
  for (int c = 0; c < COLUMNS; ++c) {
    widths[c] = (int)strlen(cell(&header, c));
    for (int i = 0; i < n; ++i) widths[c] = RUNTIME_MAX(widths[c], (int)strlen(cell(&rows[i], c)));
  }
  runtime_str out = {0};
  add_row(&out, &header, widths);
  add_rule(&out, widths);
  runtime_str_add(&out, "\n");
  for (int i = 0; i < n; ++i) add_row(&out, &rows[i], widths);
  add_rule(&out, widths);
  if (out.failed) runtime_str_free(&out);
  return out.data;
}

const char *tn_profiler_table_error(const tn_profiler *profiler) {
  if (profiler && profiler_table_lost(profiler)) return "there was no memory for all names";
  if (tn_profiler_calls(profiler, "Total") > 0) return NULL;
  return tn_profiler_count(profiler) > 0 ? "the profiler was not left yet: it has no Total"
                                         : "the profiler is empty: nothing was timed";
}

char *tn_profiler_table(const tn_profiler *profiler) {
  if (tn_profiler_calls(profiler, "Total") == 0 || profiler_table_lost(profiler)) return NULL;
  int n = tn_profiler_count(profiler);
  row *rows = calloc((size_t)n, sizeof *rows);
  if (!rows) return NULL;
  collect(profiler, rows, n, tn_profiler_get(profiler, "Total"));
  char *text = layout(rows, n);
  free(rows);
  return text;
}
