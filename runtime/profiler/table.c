/* table.c: the profiler's table, as TVM's MetaSchedule prints it. */
#include "runtime/profiler/layout.h"
#include "runtime/profiler/state.h"

/* One row of the profiler. */
typedef struct row {
  const char *name; /* owned by the profiler */
  double seconds;
} row;

/* Decided by the name: a scope called Total shares the row, as in TVM. */
static bool is_total(const row *r) { return strcmp(r->name, "Total") == 0; }

/* Total first, then the longest time; equal times by name. */
static int by_time(const void *left, const void *right) {
  const row *a = left, *b = right;
  if (is_total(a) != is_total(b)) return is_total(a) ? -1 : 1;
  if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Sorts the rows, and numbers all but the first. NULL: no memory. */
static char *print(row *rows, int n, double total) {
  static const char *const titles[] = {"ID", "Name", "Time (min)", "Percentage"};
  profiler_layout l = {0};
  runtime_str out = {0};
  qsort(rows, (size_t)n, sizeof *rows, by_time);
  profiler_layout_titles(&l, titles, RUNTIME_COUNT(titles));
  for (int i = 0; i < n; ++i) {
    profiler_layout_cellf(&l, i ? "%d" : "", i);
    profiler_layout_cell(&l, rows[i].name, 0);
    profiler_layout_cellf(&l, "%.4f", rows[i].seconds / 60);
    profiler_layout_cellf(&l, "%.4f", total > 0 ? rows[i].seconds / total * 100 : 0);
  }
  if (!l.failed) profiler_layout_grid(&l, &out);
  if (l.failed || out.failed) runtime_str_free(&out);
  profiler_layout_free(&l);
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
  for (int i = 0; rows && i < n; ++i) rows[i].name = tn_profiler_name_at(profiler, i, &rows[i].seconds, NULL);
  char *text = rows ? print(rows, n, tn_profiler_get(profiler, "Total")) : NULL;
  free(rows);
  return text;
}
