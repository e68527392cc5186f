/* layout.c: times, bytes and percentages as text; tables of text with columns as wide as their longest cell. */
#include <assert.h>
#include <stdio.h>

#include "runtime/profiler/layout.h"

static const profiler_unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
enum { FINEST_BY_SIZE = 2 /* us */, MOST_COLUMNS = 32 };

const profiler_unit *profiler_find_unit(const char *name) { return RUNTIME_ROW(units, name); }

/* UNIT NULL: the largest that gives at least 1, but nothing finer than microseconds, as PyTorch prints it. */
profiler_text profiler_time_text(double ns, const profiler_unit *unit) {
  profiler_text t;
  double size = ns < 0 ? -ns : ns;
  for (int i = 0; !unit; ++i) {
    if (size >= units[i].ns || i == FINEST_BY_SIZE) unit = &units[i];
  }
  snprintf(t.text, sizeof t.text, "%.3f%s", ns / unit->ns, unit->name);
  return t;
}

profiler_text profiler_bytes_text(int64_t bytes) {
  static const char *const names[] = {"B", "KB", "MB", "GB"};
  double value = (double)bytes;
  int i = 0;
  for (; i + 1 < RUNTIME_COUNT(names) && (value >= 1024 || value <= -1024); ++i) value /= 1024;
  profiler_text t;
  snprintf(t.text, sizeof t.text, i ? "%.2f %s" : "%.0f %s", value, names[i]);
  return t;
}

profiler_text profiler_percent_text(double part, double whole) {
  profiler_text t;
  if (whole == 0)
    snprintf(t.text, sizeof t.text, "NaN");
  else
    snprintf(t.text, sizeof t.text, "%.2f%%", part / whole * 100);
  return t;
}

/* MOST 0: no limit. Longer texts end in "...". */
void profiler_layout_cell(profiler_layout *layout, const char *text, int most) {
  size_t n = strlen(text);
  const char *cell = most > 3 && n > (size_t)most ? runtime_format(&layout->arena, "%.*s...", most - 3, text)
                                                  : runtime_strdup(&layout->arena, text);
  if (!cell || !RUNTIME_PUSH(&layout->cells, cell)) layout->failed = true;
}

void profiler_layout_cellf(profiler_layout *layout, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  const char *cell = runtime_str_take(&text, &layout->arena);
  if (!cell || !RUNTIME_PUSH(&layout->cells, cell)) layout->failed = true;
}

void profiler_layout_titles(profiler_layout *layout, const char *const *titles, int n) {
  for (int i = 0; i < n; ++i) profiler_layout_cell(layout, titles[i], 0);
  layout->n_columns = n;
}

/* Counted in bytes, so names that are not ASCII look narrower than their column. */
static int width_of(const profiler_layout *l, int column, int least) {
  int width = least;
  for (int i = column; i < l->cells.n; i += l->n_columns) width = RUNTIME_MAX(width, (int)strlen(l->cells.data[i]));
  return width;
}

/* Writes the widths of the columns; returns their number. */
static int find_widths(const profiler_layout *l, int least, int widths[MOST_COLUMNS]) {
  int n = RUNTIME_MIN(l->n_columns, MOST_COLUMNS);
  assert(n > 0 && "the titles stand before the rows");
  for (int c = 0; c < n; ++c) widths[c] = width_of(l, c, least);
  return n;
}

static void add_dashes(runtime_str *out, int n) {
  while (n-- > 0) runtime_str_add(out, "-");
}

/* A line of dashes under each column, with two blanks between. */
static void add_rule(const int *widths, int n, runtime_str *out) {
  for (int c = 0; c < n; ++c) {
    if (c) runtime_str_add(out, "  ");
    add_dashes(out, widths[c]);
  }
  runtime_str_add(out, "\n");
}

void profiler_layout_print(const profiler_layout *layout, int least, bool first_left, runtime_str *out) {
  int widths[MOST_COLUMNS], n = find_widths(layout, least, widths);
  add_rule(widths, n, out);
  for (int i = 0; i < layout->cells.n; ++i) {
    int c = i % layout->n_columns;
    bool is_left = c == 0 && first_left;
    runtime_str_addf(out, "%s%*s", c ? "  " : "", is_left ? -widths[c] : widths[c], layout->cells.data[i]);
    if (c == layout->n_columns - 1) runtime_str_add(out, "\n");
    if (i == layout->n_columns - 1) add_rule(widths, n, out);
  }
  add_rule(widths, n, out);
}

void profiler_layout_grid(const profiler_layout *layout, runtime_str *out) {
  int widths[MOST_COLUMNS], n = find_widths(layout, 0, widths), length = 3 * n - 1;
  for (int c = 0; c < n; ++c) length += widths[c];
  for (int i = 0; i < layout->cells.n; ++i) {
    int c = i % n;
    runtime_str_addf(out, "%s %*s %s", c ? "|" : "", widths[c], layout->cells.data[i], c == n - 1 ? "\n" : "");
    if (i == n - 1) add_dashes(out, length), runtime_str_add(out, "\n");
  }
  add_dashes(out, length);
}

void profiler_layout_free(profiler_layout *layout) {
  RUNTIME_VEC_FREE(&layout->cells);
  runtime_arena_free(&layout->arena);
}
