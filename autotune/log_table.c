/* log_table.c: what a log holds, as a table: the best record of each program and target, or records by a filter and in an order.
 *
 * A table owns one arena with all its strings (tn_log_table.owner) and its array of rows. Most lines are only glanced at: those
 * that make the table are parsed. */
#include <math.h>

#include "autotune/log_work.h"

/* A table being made. Strings go to the arena. */
typedef struct collector {
  tn_log_table *table;
  runtime_arena *arena;
  const tn_log_filter *filter;
  tn_log_order order;
  bool best_only;   /* one row a program and target; checked records only */
  int most;         /* rows that are wanted; 0: all. Twice as many are kept meanwhile */
  double slowest_s; /* of those wanted, where they are in order of their costs: slower records are none of them */
  int cap;
  runtime_map places;   /* of a program and target: the row's number, from 1 */
  runtime_map programs; /* hashes of keys */
  int counted_line;     /* the last one that was counted */
  bool failed;          /* no memory */
} collector;

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* Replaces what the row held; strings of the old one stay in the arena until the table is freed. */
static bool fill_row(collector *c, int line, const autotune_record *record, double cost_s, tn_log_row *row) {
  char *steps = json_dumps(record->steps, JSON_COMPACT);
  *row = (tn_log_row){.line = line,
                      .key = runtime_strdup(c->arena, record->key),
                      .program = runtime_strdup(c->arena, record->program),
                      .target = runtime_strdup(c->arena, record->target),
                      .steps = steps ? runtime_strdup(c->arena, steps) : NULL,
                      .cost_s = cost_s,
                      .error = record->error,
                      .checked = record->checked,
                      .time_s = record->time_s,
                      .message = record->message ? runtime_strdup(c->arena, record->message) : NULL};
  free(steps);
  return row->key && row->program && row->target && row->steps;
}

/* NULL when memory ended. The row is not set. */
static tn_log_row *new_row(tn_log_table *table, int *cap) {
  if (table->n_rows == *cap && !runtime_vec_grow((void **)&table->rows, cap, sizeof *table->rows)) return NULL;
  return &table->rows[table->n_rows++];
}

static uint64_t place_of(const log_facts *f) { return runtime_hash(&f->target, sizeof f->target, f->key) | 1; }

/* The row of the record's program and target; NULL: none yet. */
static tn_log_row *find_row(const collector *c, const log_facts *f) {
  const runtime_map_value *place = runtime_map_find(&c->places, place_of(f));
  return place && place->i > 0 ? &c->table->rows[place->i - 1] : NULL;
}

static tn_log_row *add_row(collector *c, const log_facts *f) {
  tn_log_row *row = new_row(c->table, &c->cap);
  runtime_map_value *place = row && c->best_only ? runtime_map_at(&c->places, place_of(f)) : NULL;
  if (place) place->i = c->table->n_rows;
  return place || !c->best_only ? row : NULL;
}

/* ---- order -------------------------------------------------------------------------------------------------------- */

/* Of equal rows the earlier line comes first, so that the table does not depend on qsort. */
static int by_line(const void *a, const void *b) {
  return ((const tn_log_row *)a)->line - ((const tn_log_row *)b)->line;
}

static int by_cost(const void *a, const void *b) {
  const tn_log_row *x = a, *y = b;
  if (x->cost_s != y->cost_s) return x->cost_s < y->cost_s ? -1 : 1;
  return by_line(a, b);
}

static int by_time(const void *a, const void *b) {
  const tn_log_row *x = a, *y = b;
  if (x->time_s != y->time_s) return x->time_s < y->time_s ? -1 : 1;
  return by_line(a, b);
}

static int by_program(const void *a, const void *b) {
  const tn_log_row *x = a, *y = b;
  int programs = strcmp(x->key, y->key);
  return programs ? programs : by_cost(a, b);
}

/* No order leaves two rows equal, so that a table does not depend on qsort. */
static void sort_rows(const collector *c) {
  static int (*const orders[])(const void *a, const void *b) = {[TN_LOG_BY_COST] = by_cost,
                                                                [TN_LOG_BY_LINE] = by_line,
                                                                [TN_LOG_BY_TIME] = by_time,
                                                                [TN_LOG_BY_PROGRAM] = by_program};
  tn_log_table *table = c->table;
  if (table->n_rows > 1) qsort(table->rows, (size_t)table->n_rows, sizeof *table->rows, orders[c->order]);
}

/* Keeps only the first rows when there are twice as many as wanted, so that a table takes little memory. */
static void cut_rows(collector *c) {
  if (c->most == 0 || c->table->n_rows < 2 * c->most) return;
  sort_rows(c);
  c->table->n_rows = c->most;
  if (c->order == TN_LOG_BY_COST) c->slowest_s = c->table->rows[c->most - 1].cost_s;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

/* Whether a record replaces the best row of its program. Finals outweigh what came before them, and only
 * their winner counts. */
static bool beats(const log_facts *f, const tn_log_row *row) {
  return f->is_final ? f->is_winner : f->cost_s < row->cost_s;
}

/* Counts a record that was looked at, whether or not it becomes a row. */
static void count_record(collector *c, const log_facts *f, bool is_ours) {
  c->counted_line = f->line;
  if (f->is_final && !c->best_only) return; /* its trial is there */
  c->table->n_others += !is_ours && !f->is_final;
  if (!is_ours) return;
  c->table->n_records += !f->is_final;
  c->table->n_failed += isinf(f->cost_s);
  if (!runtime_map_at(&c->programs, f->key)) c->failed = true;
}

/* Counts the record and says whether it becomes a row, so that its line has to be parsed. */
static bool is_wanted(collector *c, const log_facts *f) {
  const char *key = c->filter->key;
  bool is_ours = !key || log_key_hash(key, strlen(key)) == f->key;
  if (c->counted_line != f->line) count_record(c, f, is_ours);
  if ((f->is_final && !c->best_only) || !log_filter_means(c->filter, f)) return false;
  if (c->best_only && (!f->checked || isinf(f->cost_s))) return false;
  if (f->cost_s > c->slowest_s) return false;
  const tn_log_row *row = c->best_only ? find_row(c, f) : NULL;
  return !row || beats(f, row);
}

/* Most lines are only counted, by a glance. */
static log_answer look(void *user, int line, const log_glance *glance, const char *text) {
  collector *c = user;
  (void)text;
  log_facts f = log_facts_of_glance(line, glance);
  bool wanted = is_wanted(c, &f);
  return c->failed ? LOG_STOP : wanted ? LOG_READ : LOG_PASS;
}

/* A record that a glance wanted, or that it did not understand. */
static bool visit(void *user, int line, autotune_record *record) {
  collector *c = user;
  log_facts f = log_facts_of_record(line, record);
  if (!is_wanted(c, &f)) return !c->failed;
  tn_log_row *row = c->best_only ? find_row(c, &f) : NULL;
  if (!row) row = add_row(c, &f);
  if (!row || !fill_row(c, line, record, f.cost_s, row)) c->failed = true;
  if (!c->failed) cut_rows(c);
  return !c->failed;
}

/* ---- tables ------------------------------------------------------------------------------------------------------- */

/* Reads the log into C's table. After a failure the table is empty and freed. */
static tn_status collect(tn_context *ctx, const char *log, collector *c) {
  if (!ctx || !log || !c->table) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "log table: an argument is NULL");
  autotune_log_place start = {0};
  log_reading reading = {.look = look, .visit = visit, .user = c};
  *c->table = (tn_log_table){0};
  c->table->owner = c->arena = calloc(1, sizeof *c->arena);
  c->failed = !c->arena;
  c->slowest_s = INFINITY;
  tn_status status = TN_OK;
  if (!c->failed) status = log_read(ctx, log, &reading, &start);
  c->table->n_skipped = reading.n_skipped;
  c->table->n_programs = c->programs.n;
  runtime_map_free(&c->programs);
  runtime_map_free(&c->places);
  if (c->failed && status == TN_OK) status = runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while reading %s", log);
  if (status != TN_OK) tn_log_table_free(c->table);
  return status;
}

tn_status tn_log_best(tn_context *ctx, const char *log, const char *key, tn_log_table *out) {
  const tn_log_filter filter = {.key = key};
  return collect(ctx, log, &(collector){.table = out, .filter = &filter, .best_only = true});
}

int tn_log_order_find(const char *word) {
  static const char *const words[] = {
#define X(name, word) word,
      TN_LOG_ORDERS(X)
#undef X
  };
  return word ? RUNTIME_FIND(words, word) : -1;
}

tn_status tn_log_select(tn_context *ctx, const char *log, const tn_log_filter *filter, tn_log_order order, int limit,
                        tn_log_table *out) {
  static const tn_log_filter all;
  if (out) *out = (tn_log_table){0};
  if ((unsigned)order > TN_LOG_BY_PROGRAM)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_log_select: the order is %d: give one of enum tn_log_order",
                        (int)order);
  tn_status status = log_filter_check(ctx, filter);
  if (status != TN_OK) return status;
  collector c = {.table = out, .filter = filter ? filter : &all, .order = order, .most = limit > 0 ? limit : 0};
  status = collect(ctx, log, &c);
  if (status != TN_OK) return status;
  sort_rows(&c);
  if (limit > 0 && limit < out->n_rows) out->n_rows = limit;
  return TN_OK;
}

tn_status tn_log_top(tn_context *ctx, const char *log, const char *key, int limit, tn_log_table *out) {
  return tn_log_select(ctx, log, &(tn_log_filter){.key = key, .error = "none"}, TN_LOG_BY_COST, limit, out);
}

void tn_log_table_free(tn_log_table *table) {
  if (!table) return;
  if (table->owner) runtime_arena_free(table->owner);
  free(table->owner);
  free(table->rows);
  *table = (tn_log_table){0};
}
