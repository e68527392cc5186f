/* Rows E2 to E7: Paddle's sorted report, PyTorch's averages and table, distributions. */
#include <math.h>

#include "profile/phases.h"
#include "profile/profiler_reports.h"
#include "tests/profiler/rows.h"
#include "tests/profiler/scripted.h"

static char *report(const tn_recording *r, const char *key) {
  tn_context *ctx = check_context();
  char *text = tn_recording_report(ctx, r, key);
  if (!text) fail_msg("no report: %s", tn_context_message(ctx));
  check_context_free(ctx);
  return text;
}

/* ---- E2 ---------------------------------------------------------------------------------------------------------- */

/* The numbers of the row "NAME ..." of a report: calls, total, min, max, ave, ratio. */
typedef struct numbers {
  double calls, total, min, max, ave, ratio;
} numbers;

static numbers numbers_of(const char *text, const char *name) {
  numbers n = {0};
  const char *at = strstr(text, name);
  assert_non_null(at);
  at += strlen(name);
  assert_int_equal(sscanf(at, "%lf %lf %lf %lf %lf %lf", &n.calls, &n.total, &n.min, &n.max, &n.ave, &n.ratio), 6);
  return n;
}

/* Scripted: outer 0-100 with a part 10-60, two unique calls beside it, and a special one of 1000. */
static tn_recording *with_roles(void) {
  rows_clock_install();
  tn_profile_start(NULL, NULL);
  tn_scope outer = rows_begin(0, "outer"), inner = rows_begin(10, "part");
  tn_scope_role(&inner, TN_ROLE_INNER);
  rows_end(60, &inner);
  rows_end(100, &outer);
  for (int i = 0; i < 2; ++i) {
    tn_scope unique = rows_begin(200 + (uint64_t)i * 100, "unique");
    tn_scope_role(&unique, TN_ROLE_UNIQUE);
    rows_end(250 + (uint64_t)i * 100, &unique);
  }
  tn_scope special = rows_begin(1000, "special");
  tn_scope_role(&special, TN_ROLE_SPECIAL);
  rows_end(2000, &special);
  return rows_collect();
}

ROW(e2_roles) {
  (void)state;
  tn_recording *r = with_roles();
  char *text = report(r, "none");
  assert_true(fabs(numbers_of(text, "thread0::outer ").ratio - 0.5) < 1e-6);
  numbers part = numbers_of(text, "  thread0::outer/part ");
  assert_true(part.calls == 1 && fabs(part.total - 50e-6) < 1e-9);
  numbers unique = numbers_of(text, "thread0::unique ");
  assert_true(unique.calls == 1 && fabs(unique.ratio - 0.25) < 1e-6);
  assert_non_null(strstr(strstr(text, "thread0::unique ") + 1, "thread0::unique "));
  assert_true(fabs(numbers_of(text, "thread0::special ").ratio - 5) < 1e-5);
  free(text);
  tn_recording_free(r);
}

ROW(e2_sorted_report) {
  static const char *const keys[] = {"calls", "total", "max", "min", "ave", "none"};
  (void)state;
  tn_recording *r = rows_tree();
  for (int k = 0; k < RUNTIME_COUNT(keys); ++k) {
    char *text = report(r, keys[k]), golden[64];
    snprintf(golden, sizeof golden, "profiler/e2_report_%s.txt", keys[k]);
    check_golden(golden, text);
    free(text);
  }
  char *text = report(r, NULL), *none = report(r, "none");
  check_text(text, none);
  static const char *const thread0[] = {"thread0::A ", "thread0::B ", "thread0::C "};
  double ratios = 0;
  for (int i = 0; i < 3; ++i) {
    numbers n = numbers_of(text, thread0[i]);
    assert_true(fabs(n.ave * n.calls - n.total) < 1e-6 && n.min <= n.ave && n.ave <= n.max);
    ratios += n.ratio;
  }
  assert_true(fabs(ratios - 1) < 2e-6); /* printed with six digits */
  numbers b = numbers_of(strstr(text, "Merged over 2 threads"), "\nB ");
  assert_true(b.calls == 2 && b.total == 0.0007 && b.min == 0.0003 && b.max == 0.0004);
  free(text);
  free(none);
  tn_context *ctx = check_context();
  assert_null(tn_recording_report(ctx, r, "median"));
  check_fails(ctx, TN_ERROR_ARGUMENT, "no sorted key 'median'", "calls, total, max, min or ave");
  check_context_free(ctx);
  tn_recording_free(r);
}

/* ---- E3 ---------------------------------------------------------------------------------------------------------- */

static char *table_of(const tn_recording *r, const tn_average_options *by, const tn_table_options *options) {
  tn_context *ctx = check_context();
  tn_averages *a = tn_key_averages(ctx, r, by);
  char *text = tn_averages_table(ctx, a, options);
  if (!text) fail_msg("no table: %s", tn_context_message(ctx));
  tn_averages_free(a);
  check_context_free(ctx);
  return text;
}

/* A range from 100 to 200, one scope of one call with memory, shapes, FLOPs and a node. */
static tn_recording *optional_columns(void) {
  tn_recording *r = scripted_new(1000);
  r->processes.data[0].node_id = 3;
  scripted_scope(r, 0, TN_CATEGORY_KERNEL, "matmul", 0, 1000);
  scripted_text(r, "shapes", "64x64");
  scripted_number(r, "flops", 524288);
  tn_event *range = profiler_add_event(r, 0, TN_EVENT_ASYNC, "range");
  range->start_ns = 100;
  range->duration_ns = 100;
  tn_event *bytes = profiler_add_event(r, 0, TN_EVENT_MEMORY, "heap");
  bytes->start_ns = 500;
  bytes->bytes = 2048;
  bytes->parent = PROFILER_PARENT_UNKNOWN;
  return scripted_finish(r);
}

ROW(e3_torch_like_table) {
  static const char *const optional[] = {"CPU Mem", "Node ID", "Input Shapes", "Source Location", "FLOPs", "DEV total"};
  (void)state;
  tn_recording *r = rows_tree();
  char *text = table_of(r, NULL, NULL);
  check_golden("profiler/e3_table.txt", text);
  check_has(text, "Self CPU time total: 1.300us\n");
  for (int i = 0; i < RUNTIME_COUNT(optional); ++i) check_has_not(text, optional[i]);
  double percent = 0;
  for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
    double value;
    char name[8];
    if (sscanf(line, " %1[ABCD] %lf%%", name, &value) == 2) percent += value;
  }
  assert_true(fabs(percent - 100) <= 0.05);
  free(text);
  tn_recording_free(r);

  r = optional_columns();
  text = table_of(r, &(tn_average_options){.by_shapes = true, .stack_n = 1}, NULL);
  check_golden("profiler/e3_optional_columns.txt", text);
  for (int i = 0; i < 5; ++i) check_has(text, optional[i]);
  free(text);
  tn_recording_free(r);

  r = scripted_new(100);
  scripted_scope(r, 0, TN_CATEGORY_APP, "empty", 10, 0);
  text = table_of(scripted_finish(r), NULL, NULL);
  check_has(text, "NaN");
  free(text);
  tn_recording_free(r);
}

/* ---- E4 ---------------------------------------------------------------------------------------------------------- */

/* Twelve events: four names; three shapes more; places; two nodes. */
static tn_recording *twelve(void) {
  static const struct {
    const char *name, *shapes;
    int place, lane;
  } events[] = {{"a", "1", 1, 0}, {"a", "1", 2, 0}, {"a", "2", 1, 0}, {"a", "1", 1, 1},
                {"b", "1", 3, 0}, {"b", "1", 4, 0}, {"b", "2", 3, 0}, {"b", "1", 3, 1},
                {"c", "1", 5, 0}, {"c", "1", 6, 1}, {"d", "1", 7, 0}, {"d", "1", 7, 1}};
  tn_recording *r = scripted_new(12000);
  int other = scripted_process(r, "other", 2, 1), lane = scripted_lane(r, other, "there");
  for (int i = 0; i < RUNTIME_COUNT(events); ++i) {
    tn_source source = {"f.c", "f", events[i].place};
    int site = profiler_add_source(r, &source);
    scripted_scope(r, events[i].lane ? lane : 0, TN_CATEGORY_APP, events[i].name, i * 1000, i + 1)->site = site;
    scripted_text(r, "shapes", events[i].shapes);
  }
  return scripted_finish(r);
}

ROW(e4_grouping) {
  static const struct {
    tn_average_options by;
    int n;
  } groupings[] = {{{.merge_nodes = true}, 4},
                   {{.merge_nodes = true, .by_shapes = true}, 6},
                   {{.merge_nodes = true, .stack_n = 1}, 7},
                   {{.by_shapes = false}, 8},
                   {{.by_event = true}, 12}};
  (void)state;
  tn_recording *r = twelve();
  for (int i = 0; i < RUNTIME_COUNT(groupings); ++i) {
    int n;
    tn_averages *a = tn_key_averages(NULL, r, &groupings[i].by);
    tn_averages_rows(a, &n);
    assert_int_equal(n, groupings[i].n);
    tn_average total = tn_total_average(a);
    assert_string_equal(total.name, "Total");
    assert_int_equal(total.calls, 12);
    assert_int_equal(total.total_ns, 78);
    assert_int_equal(total.self_ns, 78);
    tn_averages_free(a);
  }
  tn_recording_free(r);
}

/* ---- E5 ---------------------------------------------------------------------------------------------------------- */

static tn_recording *hundred(void) {
  tn_recording *r = scripted_new(1000000);
  for (int i = 0; i < 100; ++i) {
    char name[80];
    snprintf(name, sizeof name, "operator number %03d with a name that is longer than the table's widest column", i);
    for (int call = 0; call <= i % 7; ++call) {
      scripted_scope(r, 0, TN_CATEGORY_APP, name, i * 1000 + call * 100, 90 - call);
      if (i % 3 == 0) scripted_scope(r, 0, TN_CATEGORY_APP, "child", i * 1000 + call * 100, i / 4);
    }
  }
  return scripted_finish(r);
}

static int count_of(const char *text, const char *part) {
  int n = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) ++n;
  return n;
}

/* The K-th cell of a line, cells being two blanks apart; *n gets its length. */
static const char *cell_of(const char *line, int k, size_t *n) {
  for (;; --k) {
    line += strspn(line, " ");
    const char *end = line;
    while (*end != '\n' && !(end[0] == ' ' && end[1] == ' ')) ++end;
    *n = (size_t)(end - line);
    if (k == 0 || *end == '\n') return k == 0 && *n ? line : NULL;
    line = end;
  }
}

static int column_of(const char *header, const char *title) {
  size_t n;
  const char *cell;
  for (int k = 0; (cell = cell_of(header, k, &n)); ++k) {
    if (n == strlen(title) && strncmp(cell, title, n) == 0) return k;
  }
  fail_msg("no column %s", title);
  return -1;
}

/* The cells of the column that TITLE heads never rise from row to row. */
static void check_descending(const char *text, const char *title) {
  double before = 1e300;
  size_t n;
  int rows = 0;
  const char *line = strchr(text, '\n') + 1;
  int column = column_of(line, title);
  line = strchr(strchr(line, '\n') + 1, '\n') + 1;
  for (; *line != '-'; line = strchr(line, '\n') + 1, ++rows) {
    double value = strtod(cell_of(line, column, &n), NULL);
    assert_true(value <= before);
    before = value;
  }
  assert_int_equal(rows, 101);
}

static void check_sort_keys(const tn_recording *r) {
  static const struct {
    const char *key, *column;
  } keys[] = {{"count", "# of Calls"},
              {"cpu_time", "CPU time avg"},
              {"cpu_time_total", "CPU total"},
              {"self_cpu_time_total", "Self CPU"},
              {"min", "Min"},
              {"max", "Max"},
              {"p50", "P50"},
              {"p90", "P90"},
              {"p99", "P99"},
              {"deviation", "Deviation"}};
  for (int i = 0; i < RUNTIME_COUNT(keys); ++i) {
    char *text = table_of(
        r, NULL,
        &(tn_table_options){.sort_by = keys[i].key, .time_unit = "ns", .row_limit = -1, .has_distribution = true});
    check_descending(text, keys[i].column);
    free(text);
  }
}

static void check_refused(const tn_recording *r, const tn_table_options *options, const char *message) {
  tn_context *ctx = check_context();
  tn_averages *a = tn_key_averages(ctx, r, NULL);
  assert_null(tn_averages_table(ctx, a, options));
  check_fails(ctx, TN_ERROR_ARGUMENT, message);
  tn_averages_free(a);
  check_context_free(ctx);
}

ROW(e5_sort_keys_and_limits) {
  (void)state;
  tn_recording *r = hundred();
  check_sort_keys(r);
  char *text = table_of(r, NULL, &(tn_table_options){.row_limit = 3, .header = "The header", .time_unit = "ms"});
  assert_int_equal(count_of(text, "operator number"), 2); /* the third is "child" */
  check_has(text, "98 more rows were left out\n");
  assert_int_equal(strncmp(text, "The header\n", 11), 0);
  assert_int_equal(count_of(text, "..."), 2);
  assert_int_equal(count_of(text, "ms  "), 9); /* 3 rows of 3 times */
  assert_int_equal(count_of(text, "us"), 0);
  free(text);
  text = table_of(r, &(tn_average_options){.top_level_only = true}, &(tn_table_options){.row_limit = -1});
  check_has_not(text, "child");
  check_has_not(text, "left out");
  assert_int_equal(count_of(text, "operator number"), 100);
  free(text);
  text = table_of(r, NULL, &(tn_table_options){.max_name_width = -1, .row_limit = 1});
  check_has(text, "widest column");
  free(text);
  check_refused(r, &(tn_table_options){.sort_by = "speed"}, "no sort key 'speed': give one of count, cpu_time");
  check_refused(r, &(tn_table_options){.time_unit = "h"}, "no unit 'h'");
  check_refused(r, &(tn_table_options){.row_limit = -2}, "row_limit is -2");
  tn_recording_free(r);
  r = scripted_finish(scripted_new(10));
  text = table_of(r, NULL, NULL);
  assert_string_equal(text, "");
  free(text);
  tn_recording_free(r);
}

/* ---- E6 ---------------------------------------------------------------------------------------------------------- */

ROW(e6_computation_and_overhead) {
  (void)state;
  tn_recording *r = scripted_tuning(3, 8);
  char *text = report(r, "total");
  rows_check_overhead(text);
  check_has(text, "\nthread0::SendToRunner");
  check_has(text, "\n  thread0::SendToRunner/wait");
  /* ratios of the rows without parents add up to 1 */
  double ratios = 0;
  for (const char *line = strstr(text, "\nthread0::"); line; line = strstr(line + 1, "\nthread0::")) {
    char name[128];
    numbers n;
    assert_int_equal(
        sscanf(line, " %127s %lf %lf %lf %lf %lf %lf", name, &n.calls, &n.total, &n.min, &n.max, &n.ave, &n.ratio), 7);
    ratios += n.ratio;
  }
  assert_true(fabs(ratios - 1) < 1e-5);
  free(text);
  tn_recording_free(r);
}

/* ---- E7 ---------------------------------------------------------------------------------------------------------- */

ROW(e7_distributions) {
  (void)state;
  tn_recording *r = scripted_new(100000);
  for (int i = 0; i < 100; ++i) scripted_scope(r, 0, TN_CATEGORY_APP, "f", i * 200, 1 + (i * 37) % 100);
  scripted_finish(r);
  int n;
  tn_averages *a = tn_key_averages(NULL, r, NULL);
  const tn_average *row = tn_averages_rows(a, &n);
  assert_int_equal(n, 1);
  assert_int_equal(row->calls, 100);
  assert_int_equal(row->min_ns, 1);
  assert_int_equal(row->max_ns, 100);
  assert_true(fabs(row->mean_ns - 50.5) < 1e-9);
  assert_in_range(row->p50_ns, 50, 51);
  assert_in_range(row->p90_ns, 90, 91);
  assert_int_equal(row->p99_ns, 99);
  assert_true(fabs(row->deviation_ns - 28.866) <= 0.001);
  tn_averages_free(a);
  tn_recording_free(r);
}
