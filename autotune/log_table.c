/* log_table.c: what a log holds, as a table: the best record of each program and target, or the fastest of all.
 *
 * A table owns one arena with all its strings (tn_log_table.owner) and its array of rows. */
#include <math.h>

#include "autotune/search.h"

/* A table being made. Strings go to the arena. */
typedef struct collector {
  tn_log_table *table;
  runtime_arena *arena;
  const char *key; /* NULL: all programs */
  bool best_only;  /* one row a program and target; checked records only */
  int cap;
  runtime_map programs; /* hashes of keys */
  bool failed;          /* no memory */
} collector;

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
                      .time_s = record->time_s};
  free(steps);
  return row->key && row->program && row->target && row->steps;
}

/* NULL when memory ended. The row is not set. */
static tn_log_row *new_row(tn_log_table *table, int *cap) {
  if (table->n_rows == *cap && !runtime_vec_grow((void **)&table->rows, cap, sizeof *table->rows)) return NULL;
  return &table->rows[table->n_rows++];
}

/* The row of the record's program and target; NULL: none yet. */
static tn_log_row *find_row(const collector *c, const autotune_record *record) {
  for (int i = 0; i < c->table->n_rows; ++i) {
    tn_log_row *row = &c->table->rows[i];
    if (strcmp(row->key, record->key) == 0 && autotune_same_target(row->target, record->target)) return row;
  }
  return NULL;
}

/* Finals outweigh what came before them: of those they timed, only the winner counts. */
static bool beats(const autotune_record *record, double cost_s, const tn_log_row *row) {
  return record->is_final ? record->rank == 1 : cost_s < row->cost_s;
}

/* A valid record of the key is looked at even when it does not make the table: n_records counts what
 * was looked at. */
static bool visit(void *user, int line, autotune_record *record) {
  collector *c = user;
  if (record->is_final && !c->best_only) return true; /* its trial is there */
  if (c->key && strcmp(c->key, record->key) != 0) {
    c->table->n_others += !record->is_final;
    return true;
  }
  c->table->n_records += !record->is_final;
  if (!runtime_map_at(&c->programs, runtime_hash(record->key, strlen(record->key), 0) | 1)) c->failed = true;
  double cost_s = autotune_record_cost(record);
  c->table->n_failed += isinf(cost_s);
  if (isinf(cost_s) || (c->best_only && !record->checked)) return !c->failed;
  tn_log_row *row = c->best_only ? find_row(c, record) : NULL;
  if (row && !beats(record, cost_s, row)) return !c->failed;
  if (!row) row = new_row(c->table, &c->cap);
  if (!row || !fill_row(c, line, record, cost_s, row)) c->failed = true;
  return !c->failed;
}

/* On failure the table is empty and freed. */
static tn_status collect(tn_context *ctx, const char *log, collector *c) {
  if (!ctx || !log || !c->table) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "log table: an argument is NULL");
  *c->table = (tn_log_table){0};
  c->table->owner = c->arena = calloc(1, sizeof *c->arena);
  c->failed = !c->arena;
  tn_status status = TN_OK;
  if (!c->failed) status = autotune_log_scan(ctx, log, false, &c->table->n_skipped, visit, c);
  c->table->n_programs = c->programs.n;
  runtime_map_free(&c->programs);
  if (c->failed && status == TN_OK) status = runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while reading %s", log);
  if (status != TN_OK) tn_log_table_free(c->table);
  return status;
}

/* Of equal times the earlier line, so that the table does not depend on qsort. */
static int by_cost(const void *a, const void *b) {
  const tn_log_row *x = a, *y = b;
  if (x->cost_s != y->cost_s) return x->cost_s < y->cost_s ? -1 : 1;
  return x->line - y->line;
}

tn_status tn_log_best(tn_context *ctx, const char *log, const char *key, tn_log_table *out) {
  return collect(ctx, log, &(collector){.table = out, .key = key, .best_only = true});
}

tn_status tn_log_top(tn_context *ctx, const char *log, const char *key, int limit, tn_log_table *out) {
  tn_status status = collect(ctx, log, &(collector){.table = out, .key = key});
  if (status != TN_OK) return status;
  if (out->n_rows > 1) qsort(out->rows, (size_t)out->n_rows, sizeof *out->rows, by_cost);
  if (limit > 0 && limit < out->n_rows) out->n_rows = limit;
  return TN_OK;
}

void tn_log_table_free(tn_log_table *table) {
  if (!table) return;
  if (table->owner) runtime_arena_free(table->owner);
  free(table->owner);
  free(table->rows);
  *table = (tn_log_table){0};
}
