/* report_averages.c: averages as PyTorch's table, and two recordings compared. Columns and sort keys are tables here.
 *
 * A table's texts are kept in its layout's arena until it is printed. */
#include <math.h>
#include <stdio.h>

#include "profile/reports.h"

/* Defaults of tn_table_options, and the least width of a column. */
enum { ROW_LIMIT = 100, NAME_WIDTH = 55, SHAPES_WIDTH = 80, SOURCE_WIDTH = 75, COLUMN_WIDTH = 12 };

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* 0 for a device's row; otherwise the same time would count as host and as device time. */
static double host_total(const tn_average *a) { return a->is_device ? 0 : (double)a->total_ns; }
static double device_total(const tn_average *a) { return (double)(a->is_device ? a->total_ns : a->device_ns); }
static double self_device(const tn_average *a) { return (double)(a->is_device ? a->total_ns : a->self_device_ns); }
static double by_device_bytes(const tn_average *a) { return (double)a->device_bytes; }
static double by_self_device_bytes(const tn_average *a) { return (double)a->self_device_bytes; }
static double by_cycles(const tn_average *a) { return a->cycles; }
static double by_instructions(const tn_average *a) { return a->instructions; }
static double by_cache_misses(const tn_average *a) { return a->cache_misses; }
static double host_average(const tn_average *a) { return a->calls ? host_total(a) / (double)a->calls : 0; }
static double by_count(const tn_average *a) { return (double)a->calls; }
static double by_self(const tn_average *a) { return (double)a->self_ns; }
static double by_bytes(const tn_average *a) { return (double)a->total_bytes; }
static double by_self_bytes(const tn_average *a) { return (double)a->self_bytes; }
static double by_flops(const tn_average *a) { return a->flops; }
static double by_min(const tn_average *a) { return (double)a->min_ns; }
static double by_max(const tn_average *a) { return (double)a->max_ns; }
static double by_p50(const tn_average *a) { return (double)a->p50_ns; }
static double by_p90(const tn_average *a) { return (double)a->p90_ns; }
static double by_p99(const tn_average *a) { return (double)a->p99_ns; }
static double by_deviation(const tn_average *a) { return a->deviation_ns; }

/* X("key", the value that rows are sorted by, descending) */
/* clang-format off */
#define SORT_KEYS(X)                                                                                               \
  X("count", by_count)                                                                                             \
  X("cpu_time", host_average) X("cpu_time_total", host_total) X("self_cpu_time_total", by_self)                    \
      X("cpu_memory_usage", by_bytes) X("self_cpu_memory_usage", by_self_bytes) X("flops", by_flops)               \
          X("device_time_total", device_total) X("self_device_time_total", self_device)                            \
          X("device_memory_usage", by_device_bytes) X("self_device_memory_usage", by_self_device_bytes)            \
          X("cycles", by_cycles) X("instructions", by_instructions) X("cache_misses", by_cache_misses) X("min", by_min) X("max", by_max) X("p50", by_p50) X("p90", by_p90) \
              X("p99", by_p99) X("deviation", by_deviation)
/* clang-format on */

typedef double (*value_fn)(const tn_average *row);
/* What a table can be sorted by; the largest always comes first. */
static const struct sort_key {
  const char *name;
  value_fn value;
} sort_keys[] = {
#define X(name, value) {name, value},
    SORT_KEYS(X)
#undef X
};

/* PyTorch's present or former names for the same keys. */
static const struct sort_key aliases[] = {
    {"cuda_time_total", device_total},
    {"self_cuda_time_total", self_device},
    {"xpu_time_total", device_total},
    {"self_xpu_time_total", self_device},
    {"cuda_memory_usage", by_device_bytes},
    {"self_cuda_memory_usage", by_self_device_bytes},
    {"cpu_memory", by_bytes},
    {"self_cpu_memory", by_self_bytes},
};

/* NULL with a message that lists all keys. */
static const struct sort_key *find_key(tn_context *ctx, const char *name) {
#define X(key, value) key ", "
  static const char names[] = SORT_KEYS(X);
#undef X
  const struct sort_key *key = RUNTIME_ROW(sort_keys, name);
  if (!key) key = RUNTIME_ROW(aliases, name);
  if (key) return key;
  runtime_fail(ctx, TN_ERROR_ARGUMENT, "averages: there is no sort key '%s': give one of %.*s", name,
               (int)sizeof names - 3, names);
  return NULL;
}

/* What compare_rows needs to compare two row indices. */
typedef struct sorting {
  const tn_average *rows;
  value_fn value;
} sorting;

/* Rows with equal values stay in the order of first appearance. */
static int compare_rows(const void *left, const void *right, void *user) {
  const sorting *s = user;
  int a = *(const int *)left, b = *(const int *)right;
  double x = s->value(&s->rows[a]), y = s->value(&s->rows[b]);
  return x != y ? (x < y) - (x > y) : a - b;
}

/* The sorted indices of the rows, malloc'ed. */
static int *order_rows(const tn_averages *a, value_fn value) {
  int *order = calloc((size_t)a->rows.n + 1, sizeof *order);
  for (int i = 0; order && i < a->rows.n; ++i) order[i] = i;
  if (order && value) qsort_r(order, (size_t)a->rows.n, sizeof *order, compare_rows, &(sorting){a->rows.data, value});
  return order;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* What cells are made from. */
typedef struct report {
  const tn_averages *a;
  const tn_table_options *o;
  const profiler_unit *unit, *flops_unit;
  double base_ns; /* what percentages refer to: the sum of all rows' self times */
  bool has_memory, has_device, has_device_memory, has_cycles, has_instructions, has_misses, has_node, has_shapes,
      has_source, has_flops, has_distribution;
  bool always; /* always true: the condition of columns that have none */
} report;

/* In the unit of the whole column, or in the one that fits the value. */
static profiler_text time_of(const report *p, double ns) { return profiler_time_text(ns, p->unit); }
static profiler_text text_of(const char *fmt, double value) {
  profiler_text t;
  snprintf(t.text, sizeof t.text, fmt, value); /* fmt is one of the literals below */
  return t;
}

#define CELL(name, expression)                                        \
  static profiler_text name(const report *p, const tn_average *row) { \
    (void)p;                                                          \
    return expression;                                                \
  }
CELL(cell_self_percent, profiler_percent_text((double)row->self_ns, p->base_ns))
CELL(cell_self, time_of(p, (double)row->self_ns))
CELL(cell_percent, profiler_percent_text(profiler_is_host_time(row) ? (double)row->total_ns : 0, p->base_ns))
CELL(cell_total, time_of(p, host_total(row)))
CELL(cell_average, time_of(p, host_average(row)))
CELL(cell_min, time_of(p, by_min(row)))
CELL(cell_max, time_of(p, by_max(row)))
CELL(cell_p50, time_of(p, by_p50(row)))
CELL(cell_p90, time_of(p, by_p90(row)))
CELL(cell_p99, time_of(p, by_p99(row)))
CELL(cell_deviation, time_of(p, by_deviation(row)))
CELL(cell_bytes, profiler_bytes_text(row->total_bytes))
CELL(cell_self_bytes, profiler_bytes_text(row->self_bytes))
CELL(cell_device, time_of(p, device_total(row)))
CELL(cell_self_device, time_of(p, self_device(row)))
CELL(cell_device_bytes, profiler_bytes_text(row->device_bytes))
CELL(cell_self_device_bytes, profiler_bytes_text(row->self_device_bytes))
CELL(cell_cycles, text_of("%.0f", row->cycles))
CELL(cell_instructions, text_of("%.0f", row->instructions))
CELL(cell_misses, text_of("%.0f", row->cache_misses))
CELL(cell_calls, text_of("%.0f", by_count(row)))
CELL(cell_node, text_of("%.0f", row->node_id))
CELL(cell_flops, text_of("%.3f", row->flops / p->flops_unit->ns))
CELL(cell_rate, row->total_ns > 0 ? text_of("%.3f", row->flops / (double)row->total_ns) : text_of("--", 0))

/* X(title, its condition in report, the cell) */
/* clang-format off */
#define COLUMNS(X)                                                                                           \
  X("Self CPU %", always, cell_self_percent)                                                                 \
  X("Self CPU", always, cell_self) X("CPU total %", always, cell_percent) X("CPU total", always, cell_total) \
      X("CPU time avg", always, cell_average) X("Min", has_distribution, cell_min)                           \
          X("Max", has_distribution, cell_max) X("P50", has_distribution, cell_p50)                          \
              X("P90", has_distribution, cell_p90) X("P99", has_distribution, cell_p99)                      \
                  X("Deviation", has_distribution, cell_deviation) X("Self DEV", has_device, cell_self_device) X("DEV total", has_device, cell_device)   \
 X("DEV Mem", has_device_memory, cell_device_bytes) X("Self DEV Mem", has_device_memory, cell_self_device_bytes) X("Cycles", has_cycles, cell_cycles) X("Instructions", has_instructions, cell_instructions) X("Cache misses", has_misses, cell_misses) \
                      X("CPU Mem", has_memory, cell_bytes) X("Self CPU Mem", has_memory, cell_self_bytes)    \
                          X("# of Calls", always, cell_calls) X("Node ID", has_node, cell_node)
/* clang-format on */

/* A column is shown if its condition, a bool member of the report, holds. */
static const struct column {
  const char *title;
  size_t condition;
  profiler_text (*cell)(const report *, const tn_average *);
} columns[] = {
#define X(title, condition, cell) {title, offsetof(report, condition), cell},
    COLUMNS(X)
#undef X
};

/* The table of columns names the condition by its offset in the report. */
static bool is_shown(const report *p, int column) {
  return *((const bool *)((const char *)p + columns[column].condition));
}

/* Units of FLOP counts. The member `ns` holds the number of FLOPs here. */
static const profiler_unit flops_units[] = {
    {"Total TFLOPs", 1e12}, {"Total GFLOPs", 1e9}, {"Total MFLOPs", 1e6}, {"Total KFLOPs", 1e3}, {"Total FLOPs", 1}};

/* Columns that would be empty in every row are not shown. */
static void look_at_rows(report *p) {
  double most = 0;
  for (int i = 0; i < p->a->rows.n; ++i) {
    const tn_average *row = &p->a->rows.data[i];
    p->base_ns += (double)row->self_ns;
    p->has_memory |= row->total_bytes != 0 || row->self_bytes != 0;
    p->has_device |= row->is_device || row->device_ns != 0;
    p->has_device_memory |= row->device_bytes != 0 || row->self_device_bytes != 0;
    p->has_cycles |= row->cycles > 0;
    p->has_instructions |= row->instructions > 0;
    p->has_misses |= row->cache_misses > 0;
    p->has_node |= row->node_id != -1;
    p->has_shapes |= *row->shapes != '\0';
    most = RUNTIME_MAX(most, row->flops);
  }
  p->has_source = p->a->options.stack_n > 0;
  p->has_flops = most > 0;
  for (int i = 0; !p->flops_unit; ++i) {
    if (most >= flops_units[i].ns || i + 1 == RUNTIME_COUNT(flops_units)) p->flops_unit = &flops_units[i];
  }
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* 0 means any width. */
static int width_or(int given, int usual) { return given < 0 ? 0 : given > 0 ? given : usual; }

/* Must add the same columns in the same order as add_row. */
static void add_header(const report *p, profiler_layout *l) {
  profiler_layout_cell(l, "Name", 0);
  for (int c = 0; c < RUNTIME_COUNT(columns); ++c) {
    if (is_shown(p, c)) profiler_layout_cell(l, columns[c].title, 0);
  }
  if (p->has_shapes) profiler_layout_cell(l, "Input Shapes", 0);
  if (p->has_source) profiler_layout_cell(l, "Source Location", 0);
  if (p->has_flops) profiler_layout_cell(l, p->flops_unit->name, 0);
  if (p->has_flops) profiler_layout_cell(l, "GFLOP/s", 0);
  l->n_columns = l->cells.n;
}

/* Must use the same conditions in the same order as add_header. */
static void add_row(const report *p, const tn_average *row, profiler_layout *l) {
  profiler_layout_cell(l, row->name, width_or(p->o->max_name_width, NAME_WIDTH));
  for (int c = 0; c < RUNTIME_COUNT(columns); ++c) {
    if (is_shown(p, c)) profiler_layout_cell(l, columns[c].cell(p, row).text, 0);
  }
  if (p->has_shapes) profiler_layout_cell(l, row->shapes, width_or(p->o->max_shapes_width, SHAPES_WIDTH));
  if (p->has_source) profiler_layout_cell(l, row->source, width_or(p->o->max_source_width, SOURCE_WIDTH));
  if (p->has_flops) profiler_layout_cell(l, row->flops > 0 ? cell_flops(p, row).text : "--", 0);
  if (p->has_flops) profiler_layout_cell(l, row->flops > 0 ? cell_rate(p, row).text : "--", 0);
}

/* Percentages are of the sum of all rows' self times, including the rows that are left out. */
static char *print_table(const report *p, const int *order) {
  int limit = p->o->row_limit < 0 ? p->a->rows.n : p->o->row_limit ? p->o->row_limit : ROW_LIMIT;
  int shown = RUNTIME_MIN(limit, p->a->rows.n);
  profiler_layout l = {0};
  runtime_str out = {0};
  add_header(p, &l);
  for (int i = 0; i < shown; ++i) add_row(p, &p->a->rows.data[order[i]], &l);
  if (p->o->header) runtime_str_addf(&out, "%s\n", p->o->header);
  if (!l.failed) profiler_layout_print(&l, COLUMN_WIDTH, false, &out);
  if (shown < p->a->rows.n) runtime_str_addf(&out, "%d more rows were left out\n", p->a->rows.n - shown);
  runtime_str_addf(&out, "Self CPU time total: %s\n", time_of(p, p->base_ns).text);
  if (l.failed || out.failed) runtime_str_free(&out);
  profiler_layout_free(&l);
  return out.data;
}

/* Without rows the table is the empty text. The caller frees it. */
char *tn_averages_table(tn_context *ctx, const tn_averages *averages, const tn_table_options *options) {
  static const tn_table_options usual = {0};
  report p = {.a = averages, .o = options ? options : &usual, .always = true};
  const struct sort_key *key = NULL;
  if (!averages) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "averages: there are none"), NULL;
  if (p.o->sort_by && !(key = find_key(ctx, p.o->sort_by))) return NULL;
  if (p.o->time_unit && !(p.unit = profiler_find_unit(p.o->time_unit))) {
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "averages: there is no unit '%s': give s, ms, us or ns", p.o->time_unit);
    return NULL;
  }
  if (p.o->row_limit < -1) {
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "averages: row_limit is %d: give a number of rows, or -1 for all",
                 p.o->row_limit);
    return NULL;
  }
  if (averages->rows.n == 0) return calloc(1, 1);
  p.has_distribution = p.o->has_distribution;
  look_at_rows(&p);
  int *order = order_rows(averages, key ? key->value : NULL);
  char *text = order ? print_table(&p, order) : NULL;
  free(order);
  if (!text) runtime_fail(ctx, TN_ERROR_MEMORY, "averages: out of memory");
  return text;
}

/* ---- two recordings compared ------------------------------------------------------------------------------------- */

/* A name in two recordings: [0] before, [1] after. */
typedef struct difference {
  const char *name;
  int64_t calls[2], total_ns[2];
} difference;

/* By the size of the change in time, in either direction. */
static int by_change(const void *left, const void *right) {
  const difference *a = left, *b = right;
  double x = fabs((double)(a->total_ns[1] - a->total_ns[0])), y = fabs((double)(b->total_ns[1] - b->total_ns[0]));
  return x != y ? (x < y) - (x > y) : strcmp(a->name, b->name);
}

/* Pairs the rows of both by name. The result is malloc'ed; *n is set to its length. */
static difference *pair_rows(const tn_averages *const sides[2], int *n) {
  difference *all = calloc((size_t)(sides[0]->rows.n + sides[1]->rows.n + 1), sizeof *all);
  *n = 0;
  for (int side = 0; all && side < 2; ++side) {
    for (int i = 0; i < sides[side]->rows.n; ++i) {
      const tn_average *row = &sides[side]->rows.data[i];
      int at = 0;
      while (at < *n && strcmp(all[at].name, row->name) != 0) ++at;
      if (at == *n) all[(*n)++].name = row->name;
      all[at].calls[side] += row->calls;
      all[at].total_ns[side] += row->total_ns;
    }
  }
  if (all) qsort(all, (size_t)*n, sizeof *all, by_change);
  return all;
}

/* A name that only one side has is "new" or "gone" and has no ratio. */
static void add_difference(const difference *d, profiler_layout *l) {
  double quotient = d->total_ns[0] ? (double)d->total_ns[1] / (double)d->total_ns[0] : 0;
  profiler_layout_cell(l, d->name, NAME_WIDTH);
  for (int side = 0; side < 2; ++side) {
    profiler_layout_cellf(l, "%lld", (long long)d->calls[side]);
    profiler_layout_cell(l, profiler_time_text((double)d->total_ns[side], NULL).text, 0);
  }
  profiler_layout_cell(l, profiler_time_text((double)(d->total_ns[1] - d->total_ns[0]), NULL).text, 0);
  profiler_layout_cell(l, d->calls[0] == 0 ? "new" : d->calls[1] == 0 ? "gone" : text_of("%.3f", quotient).text, 0);
}

/* The caller frees it; NULL when out of memory. */
static char *print_differences(const difference *all, int n) {
  static const char *const titles[] = {"Name",        "Calls before", "Total before", "Calls after",
                                       "Total after", "Change",       "After/before"};
  profiler_layout l = {0};
  runtime_str out = {0};
  profiler_layout_titles(&l, titles, RUNTIME_COUNT(titles));
  for (int i = 0; i < n; ++i) add_difference(&all[i], &l);
  if (!l.failed) profiler_layout_print(&l, COLUMN_WIDTH, true, &out);
  if (l.failed || out.failed) runtime_str_free(&out);
  profiler_layout_free(&l);
  return out.data;
}

/* Compares by name with all processes merged, because the numbers of processes and threads may differ. */
char *tn_recording_compare(tn_context *ctx, const tn_recording *before, const tn_recording *after) {
  const tn_average_options options = {.merge_nodes = true};
  tn_averages *sides[2] = {tn_key_averages(ctx, before, &options), NULL};
  if (sides[0]) sides[1] = tn_key_averages(ctx, after, &options);
  char *text = NULL;
  if (sides[1]) {
    int n;
    difference *all = pair_rows((const tn_averages *const *)sides, &n);
    text = all ? print_differences(all, n) : NULL;
    free(all);
    if (!text) runtime_fail(ctx, TN_ERROR_MEMORY, "compare: out of memory");
  }
  tn_averages_free(sides[0]);
  tn_averages_free(sides[1]);
  return text;
}
