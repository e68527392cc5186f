/* report_sorted.c: Paddle's sorted report: rows by thread, then of all threads merged. Rows have child rows
 * according to their names. It also divides the time into computation and overhead. */
#include <stdio.h>

#include "profile/phases.h"
#include "profile/reports.h"

/* Paddle's layout: blanks after the longest name, and the width of a column. */
enum { NAME_EXTRA = 8, CELL_WIDTH = 12 };

/* One row of the report. */
typedef struct row {
  tn_average sum;
  int thread;     /* number of its thread in the report; -1: merged */
  int parent;     /* the row that this one's name extends by one segment; -1: none */
  int level;      /* how many parents it has */
  double base_ns; /* total time of its thread's rows without parents */
} row;

/* Rows of one thread are consecutive. `order` holds indices, so that parents stay valid while it is sorted. */
typedef struct sheet {
  RUNTIME_VEC(row) rows;
  int *order;
} sheet;

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static double average_of(const tn_average *a) { return a->calls ? (double)a->total_ns / (double)a->calls : 0; }
static double key_none(const tn_average *a) { return -(double)a->first_end_ns; }
static double key_calls(const tn_average *a) { return (double)a->calls; }
static double key_total(const tn_average *a) { return (double)a->total_ns; }
static double key_max(const tn_average *a) { return (double)a->max_ns; }
static double key_min(const tn_average *a) { return (double)a->min_ns; }

/* What the report can be sorted by, and how its title says so. */
static const struct sort_key {
  const char *name, *words;
  double (*value)(const tn_average *);
} sort_keys[] = {
    {"none", "the end of the first event", key_none},       {"calls", "number of calls in descending order", key_calls},
    {"total", "total time in descending order", key_total}, {"max", "maximum time in descending order", key_max},
    {"min", "minimum time in descending order", key_min},   {"ave", "average time in descending order", average_of}};

/* A NAME of NULL means "none". NULL with a message if there is no such key. */
static const struct sort_key *find_key(tn_context *ctx, const char *name) {
  const struct sort_key *key = RUNTIME_ROW(sort_keys, name ? name : "none");
  if (key) return key;
  runtime_fail(ctx, TN_ERROR_ARGUMENT, "report: there is no sorted key '%s': give none, calls, total, max, min or ave",
               name);
  return NULL;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The row of the same thread that NAME extends by exactly one segment; -1: none. */
static int parent_of(const sheet *s, int first, int end, const char *name) {
  const char *slash = strrchr(name, '/');
  for (int i = first; slash && slash[1] && i < end; ++i) {
    const char *other = s->rows.data[i].sum.name;
    if (strlen(other) == (size_t)(slash - name) && strncmp(other, name, (size_t)(slash - name)) == 0) return i;
  }
  return -1;
}

/* Sets parents, levels and base times. Takes quadratic time in the rows of a thread, which are names, not events. */
static void find_parents(sheet *s, int first, int end) {
  double base_ns = 0;
  for (int i = first; i < end; ++i) {
    row *r = &s->rows.data[i];
    r->parent = parent_of(s, first, end, r->sum.name);
    if (r->parent < 0 && !r->sum.is_special) base_ns += (double)r->sum.total_ns;
  }
  for (int i = first; i < end; ++i) {
    row *r = &s->rows.data[i];
    r->base_ns = base_ns;
    for (int at = r->parent; at >= 0; at = s->rows.data[at].parent) ++r->level;
  }
}

/* Adds the rows of LANE, or with -1 of all lanes, in the order in which their names first appear. */
static bool add_rows(sheet *s, const tn_averages *a, int lane, int thread) {
  int first = s->rows.n, n;
  const tn_average *rows = tn_averages_rows(a, &n);
  for (int i = 0; i < n; ++i) {
    if ((lane >= 0 && rows[i].lane != lane) || strcmp(rows[i].name, "[memory]") == 0) continue;
    if (!RUNTIME_PUSH(&s->rows, ((row){.sum = rows[i], .thread = thread}))) return false;
  }
  find_parents(s, first, s->rows.n);
  return true;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* What compare_rows needs to compare two row indices. */
typedef struct sorting {
  const sheet *s;
  double (*value)(const tn_average *);
} sorting;

/* Largest first; equal rows keep their order. */
static int compare_siblings(const sorting *by, int a, int b) {
  const row *rows = by->s->rows.data;
  double x = by->value(&rows[a].sum), y = by->value(&rows[b].sum);
  return x != y ? (x < y) - (x > y) : a - b;
}

/* The ancestor of AT at LEVEL; AT itself if it is at that level. */
static int ancestor_at(const row *rows, int at, int level) {
  while (rows[at].level > level) at = rows[at].parent;
  return at;
}

/* Orders threads by number, and the rows of a thread by the key, with children after their parent. */
static int compare_rows(const void *left, const void *right, void *user) {
  const sorting *by = user;
  const row *rows = by->s->rows.data;
  int a = *(const int *)left, b = *(const int *)right;
  if (rows[a].thread != rows[b].thread) return rows[a].thread < rows[b].thread ? -1 : 1;
  int level = RUNTIME_MIN(rows[a].level, rows[b].level);
  for (int l = 0; l <= level; ++l) {
    int x = ancestor_at(rows, a, l), y = ancestor_at(rows, b, l);
    if (x != y) return compare_siblings(by, x, y);
  }
  return rows[a].level - rows[b].level;
}

/* Sorts row indices rather than rows, since rows name their parents by index. False when out of memory. */
static bool sort_rows(sheet *s, const struct sort_key *key) {
  s->order = malloc((size_t)(s->rows.n + 1) * sizeof *s->order);
  for (int i = 0; s->order && i < s->rows.n; ++i) s->order[i] = i;
  if (s->order) qsort_r(s->order, (size_t)s->rows.n, sizeof *s->order, compare_rows, &(sorting){s, key->value});
  return s->order != NULL;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Writes "    thread0::name" unless OUT is NULL; returns its length. */
static int add_name(const row *r, runtime_str *out) {
  char thread[32] = "";
  if (r->thread >= 0) snprintf(thread, sizeof thread, "thread%d::", r->thread);
  if (out) runtime_str_addf(out, "%*s%s%s", 2 * r->level, "", thread, r->sum.name);
  return 2 * r->level + (int)strlen(thread) + (int)strlen(r->sum.name);
}

static int name_width(const sheet *s) {
  int width = (int)strlen("Event");
  for (int i = 0; i < s->rows.n; ++i) width = RUNTIME_MAX(width, add_name(&s->rows.data[i], NULL));
  return width + NAME_EXTRA;
}

/* Six significant digits, as Paddle prints them. The last number of a line is not padded. */
static void add_number(runtime_str *out, double value, bool is_last) {
  char text[40];
  snprintf(text, sizeof text, "%.6g", value);
  runtime_str_addf(out, "%-*s%s", is_last ? 0 : CELL_WIDTH, text, is_last ? "\n" : "");
}

/* Times are in milliseconds. The ratio is relative to the rows without parents of the same thread. */
static void add_row(const row *r, int width, runtime_str *out) {
  const tn_average *a = &r->sum;
  const double ms[] = {(double)a->total_ns, (double)a->min_ns, (double)a->max_ns, average_of(a)};
  int n = add_name(r, out);
  runtime_str_addf(out, "%*s%-*lld", width - n, "", CELL_WIDTH, (long long)a->calls);
  for (int i = 0; i < RUNTIME_COUNT(ms); ++i) add_number(out, ms[i] / 1e6, false);
  add_number(out, r->base_ns > 0 ? (double)a->total_ns / r->base_ns : 0, true);
}

static void add_sheet(const sheet *s, const struct sort_key *key, const char *where, runtime_str *out) {
  static const char *const titles[] = {"Calls", "Total", "Min.", "Max.", "Ave."};
  int width = name_width(s);
  runtime_str_addf(out, "Sorted by %s in %s\n\n%-*s", key->words, where, width, "Event");
  for (int i = 0; i < RUNTIME_COUNT(titles); ++i) runtime_str_addf(out, "%-*s", CELL_WIDTH, titles[i]);
  runtime_str_add(out, "Ratio.\n");
  for (int i = 0; i < s->rows.n; ++i) add_row(&s->rows.data[s->order[i]], width, out);
}

/* Divides the recording's wall time into kernel measurement and tuner overhead. Writes nothing if the
 * recording has no measurements. */
static void add_overhead(const tn_recording *r, runtime_str *out) {
  profiler_phases phases;
  if (!profiler_phases_of(r, &phases)) return;
  double total = (double)phases.wall_ns, kernel = (double)phases.ns[PROFILER_PHASE_MEASURE];
  if (total <= 0 || kernel <= 0) return;
  runtime_str_addf(out, "Total time: %.6g\n", total / 1e6);
  runtime_str_addf(out, "  kernel measurement: %.6g  Ratio: %.4f\n", kernel / 1e6, kernel / total);
  runtime_str_addf(out, "  tuner overhead: %.6g  Ratio: %.4f\n\n", (total - kernel) / 1e6, 1 - kernel / total);
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* Adds the rows of every lane; *n_threads is set to the number of lanes that have rows. */
static bool add_threads(sheet *s, const tn_recording *r, const tn_averages *a, int *n_threads) {
  *n_threads = 0;
  for (int lane = 0; lane < r->lanes.n; ++lane) {
    int before = s->rows.n;
    if (!add_rows(s, a, lane, *n_threads)) return false;
    *n_threads += s->rows.n > before;
  }
  return true;
}

static void sheet_free(sheet *s) {
  RUNTIME_VEC_FREE(&s->rows);
  free(s->order);
}

/* A table of each thread's own rows. *N_THREADS is set to the number of threads with events. */
static bool report_threads(const tn_recording *r, const tn_averages *a, const struct sort_key *key, int *n_threads,
                           runtime_str *out) {
  sheet s = {0};
  bool done = add_threads(&s, r, a, n_threads) && sort_rows(&s, key);
  if (done) add_sheet(&s, key, "the same thread", out);
  sheet_free(&s);
  return done;
}

/* A table of the rows of all threads, by name. */
static bool report_merged(const tn_averages *a, const struct sort_key *key, int n_threads, runtime_str *out) {
  sheet s = {0};
  bool done = add_rows(&s, a, -1, -1) && sort_rows(&s, key);
  if (done) {
    runtime_str_addf(out, "\n------------------------->  Merged over %d threads  <-------------------------\n\n",
                     n_threads);
    add_sheet(&s, key, "all threads (calls and totals are sums, Min. and Max. over all)", out);
  }
  sheet_free(&s);
  return done;
}

/* The merged part is printed only if there is more than one thread. */
static bool print_report(tn_context *ctx, const tn_recording *r, const struct sort_key *key, runtime_str *out) {
  int n_threads = 0;
  tn_averages *by_thread = tn_key_averages(ctx, r, &(tn_average_options){.by_thread = true, .by_role = true});
  tn_averages *merged = tn_key_averages(ctx, r, &(tn_average_options){.merge_nodes = true, .by_role = true});
  bool done = by_thread && merged;
  if (done) {
    runtime_str_add(out,
                    "------------------------->     Profiling Report     <-------------------------\n\n"
                    "Place: CPU\nTime unit: ms\n");
    if (r->info.stats.dropped)
      runtime_str_addf(out, "%llu events were dropped\n", (unsigned long long)r->info.stats.dropped);
    add_overhead(r, out);
    done = report_threads(r, by_thread, key, &n_threads, out);
  }
  if (done && n_threads > 1) done = report_merged(merged, key, n_threads, out);
  tn_averages_free(by_thread);
  tn_averages_free(merged);
  return done && !out->failed;
}

char *tn_recording_report(tn_context *ctx, const tn_recording *recording, const char *sorted_key) {
  const struct sort_key *key = find_key(ctx, sorted_key);
  runtime_str out = {0};
  if (!key) return NULL;
  if (!recording) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "report: there is no recording"), NULL;
  if (print_report(ctx, recording, key, &out)) return out.data;
  runtime_str_free(&out);
  runtime_fail(ctx, TN_ERROR_MEMORY, "report: out of memory");
  return NULL;
}

/* The arguments are checked before the session is stopped: a mistake must not cost the recording. */
char *tn_profile_stop_report(tn_context *ctx, const char *sorted_key, const char *path) {
  tn_profile_form form;
  if (!find_key(ctx, sorted_key) || (path && tn_profile_form_of(ctx, path, &form) != TN_OK)) return NULL;
  if (tn_profile_stop(ctx) != TN_OK) return NULL;
  tn_recording *r = tn_profile_collect(ctx);
  char *text = r ? tn_recording_report(ctx, r, sorted_key) : NULL;
  if (text && path && tn_recording_save(ctx, r, path) != TN_OK) free(text), text = NULL;
  tn_recording_free(r);
  return text;
}
