/* analysis.c: makes analyses: tables parsed from a recording, written to a directory, and read back. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "profile/analysis.h"

static const analysis_table *const tables[] = {
#define X(name) &analysis_table_##name,
    ANALYSIS_TABLES(X)
#undef X
};

const analysis_table *analysis_table_at(int id) { return tables[id]; }

int analysis_table_find(const char *name) {
  for (int i = 0; i < ANALYSIS_TABLE_COUNT; ++i) {
    if (strcmp(tables[i]->name, name) == 0) return i;
  }
  return -1;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

tn_analysis *analysis_new(void) { return calloc(1, sizeof(tn_analysis)); }

void tn_analysis_free(tn_analysis *a) {
  if (!a) return;
  for (int i = 0; i < ANALYSIS_TABLE_COUNT; ++i) {
    analysis_rows_free(a->tables[i]);
    free(a->why[i]);
  }
  RUNTIME_VEC_FREE(&a->added);
  free(a->rules);
  free(a);
}

/* NULL only without memory. If a recording lacks a table's events, the table has no rows. */
static tn_rows *parse(const tn_recording *r, const analysis_table *table) {
  tn_rows *rows = analysis_rows_new(table->columns, table->n_columns);
  if (rows && table->parse(r, rows) && !rows->failed) return rows;
  analysis_rows_free(rows);
  return NULL;
}

/* Makes all tables at once. The recording is not needed afterwards. */
tn_analysis *tn_analysis_of(tn_context *ctx, const tn_recording *recording) {
  if (!recording) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "analyse: there is no recording"), NULL;
  tn_analysis *a = analysis_new();
  bool done = a != NULL;
  for (int i = 0; done && i < ANALYSIS_TABLE_COUNT; ++i) done = (a->tables[i] = parse(recording, tables[i])) != NULL;
  if (done && recording->rules) done = (a->rules = strdup(recording->rules)) != NULL;
  if (done) return a;
  tn_analysis_free(a);
  return runtime_fail(ctx, TN_ERROR_MEMORY, "analyse: out of memory"), NULL;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* The caller frees it; NULL without memory. */
static char *path_of(const char *directory, const char *table) {
  runtime_str path = {0};
  runtime_str_addf(&path, "%s/%s.csv", directory, table);
  if (path.failed) runtime_str_free(&path);
  return path.data;
}

/* A file that cannot be written completely is removed. */
static tn_status write_table(tn_context *ctx, const tn_rows *rows, const char *path) {
  profiler_out out;
  if (!profiler_out_open(ctx, &out, path, 0)) return tn_context_status(ctx);
  analysis_write_csv(&out, rows);
  return profiler_out_close(ctx, &out, path) ? TN_OK : TN_ERROR_IO;
}

/* Tables written before a failure stay, since each is complete in itself. */
tn_status tn_profile_parse_to(tn_context *ctx, const tn_recording *recording, const char *directory) {
  if (!RUNTIME_GIVEN(ctx, directory)) return TN_ERROR_ARGUMENT;
  tn_analysis *a = tn_analysis_of(ctx, recording);
  if (!a) return ctx ? tn_context_status(ctx) : TN_ERROR_MEMORY;
  tn_status status = TN_OK;
  if (mkdir(directory, 0777) != 0 && errno != EEXIST)
    status = runtime_fail(ctx, TN_ERROR_IO, "%s: cannot be made: %s", directory, strerror(errno));
  for (int i = 0; status == TN_OK && i < ANALYSIS_TABLE_COUNT; ++i) {
    char *path = path_of(directory, tables[i]->name);
    status = path ? write_table(ctx, a->tables[i], path) : runtime_fail(ctx, TN_ERROR_MEMORY, "analyse: out of memory");
    free(path);
  }
  tn_analysis_free(a);
  return status;
}

/* On failure the analysis keeps the table it had. */
bool analysis_set(tn_analysis *a, const char *table, const char *csv, const char **why) {
  int id = analysis_table_find(table);
  *why = "there is no such table";
  if (id < 0) return false;
  tn_rows *rows = analysis_rows_new(tables[id]->columns, tables[id]->n_columns);
  *why = "out of memory";
  if (!rows || !analysis_read_csv(csv, rows, why)) return analysis_rows_free(rows), false;
  analysis_rows_free(a->tables[id]);
  a->tables[id] = rows;
  return true;
}

/* Reads a table; if it is wrong, the reason is kept. False only without memory. */
static bool read_table(tn_analysis *a, const char *directory, int id) {
  char *path = path_of(directory, tables[id]->name);
  tn_context *ctx = tn_context_new(NULL); /* a missing file is no failure of the caller's yet */
  const char *why = "";
  runtime_str message = {0};
  bool done = path && ctx;
  if (done) {
    char *text = runtime_read_text(ctx, path);
    if (!text)
      runtime_str_addf(&message, "%s", tn_context_message(ctx));
    else if (!analysis_set(a, tables[id]->name, text, &why))
      runtime_str_addf(&message, "%s: %s", path, why);
    free(text);
    done = !message.failed;
    a->why[id] = message.data;
  }
  tn_context_free(ctx);
  free(path);
  return done;
}

/* A missing or broken table is no failure here; queries that need it report it. */
tn_analysis *tn_analysis_open(tn_context *ctx, const char *directory) {
  struct stat info;
  if (!RUNTIME_GIVEN(ctx, directory)) return NULL;
  if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode)) {
    runtime_fail(ctx, TN_ERROR_IO, "analyse: %s is no directory of tables", directory);
    return NULL;
  }
  tn_analysis *a = analysis_new();
  bool done = a != NULL;
  for (int i = 0; done && i < ANALYSIS_TABLE_COUNT; ++i) done = read_table(a, directory, i);
  if (done) return a;
  tn_analysis_free(a);
  return runtime_fail(ctx, TN_ERROR_MEMORY, "analyse: out of memory"), NULL;
}

/* If a table could not be made, the reason is reported here again. */
const tn_rows *tn_analysis_table(tn_context *ctx, const tn_analysis *analysis, const char *name) {
  if (!RUNTIME_GIVEN(ctx, analysis) || !RUNTIME_GIVEN(ctx, name)) return NULL;
  int id = analysis_table_find(name);
  if (id < 0) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "analyse: there is no table '%s'", name), NULL;
  if (!analysis->tables[id]) {
    const char *why = analysis->why[id];
    runtime_fail(ctx, TN_ERROR_IO, "analyse: table '%s' is missing%s%s", name, why ? ": " : "", why ? why : "");
  }
  return analysis->tables[id];
}
