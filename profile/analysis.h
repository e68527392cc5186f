/* analysis.h: the tables between parser and analysers, from inside. */
#ifndef TENON_PROFILE_ANALYSIS_H
#define TENON_PROFILE_ANALYSIS_H

#include "profile/files.h"
#include "profile/profiler_analysis.h"
#include "runtime/profiler/recorder.h"

/* A table. It owns its texts; CELLS has n * n_columns items. */
struct tn_rows {
  runtime_arena arena; /* holds the texts */
  runtime_names strings;
  const tn_column *columns;
  int n_columns;
  RUNTIME_VEC(tn_cell) cells; /* row by row */
  int n;
  bool failed;
};

tn_rows *analysis_rows_new(const tn_column *columns, int n_columns); /* NULL: no memory */
void analysis_rows_free(tn_rows *rows);
/* Adds a row. False: the rows have failed for lack of memory. */
bool analysis_rows_add_cells(tn_rows *rows, const tn_cell *cells);
/* The index of a column; -1: there is none. */
int analysis_column(const tn_rows *rows, const char *name);
/* A cell by its column's name. If the cell is missing, or there is no such column, the number is 0 and the text "". */
double analysis_number(const tn_rows *rows, int row, const char *column);
const char *analysis_text(const tn_rows *rows, int row, const char *column);
bool analysis_is_missing(const tn_rows *rows, int row, const char *column);
/* The value of KEY in the table "run"; NAN if the recording does not have it. What is computed from it is
 * then missing instead of 0, and a rule that compares with it stays silent. */
double analysis_fact(const tn_rows *run, const char *key);

/* CSV with a header. Reading requires exactly the table's columns; false with a static message in *why. */
void analysis_write_csv(profiler_out *out, const tn_rows *rows);
bool analysis_read_csv(const char *text, tn_rows *rows, const char **why);

/* An intermediate table; its name is also that of its file. */
typedef struct analysis_table {
  const char *name;
  const tn_column *columns;
  int n_columns;
  bool (*parse)(const tn_recording *r, tn_rows *out);
} analysis_table;

/* All tables, X(name); each has columns_NAME and parse_NAME in a parse_*.c. */
#define ANALYSIS_TABLES(X) \
  X(run)                   \
  X(op)                    \
  X(event)                 \
  X(round) X(phase) X(step) X(queue) X(stage) X(worker) X(task) X(candidate) X(counter) X(memory) X(process) X(kernel)
/* The tables of an analysis; each is made from a recording by a parser. */
typedef enum analysis_table_id {
#define X(name) ANALYSIS_##name,
  ANALYSIS_TABLES(X)
#undef X
      ANALYSIS_TABLE_COUNT
} analysis_table_id;
#define X(name) extern const analysis_table analysis_table_##name;
ANALYSIS_TABLES(X)
#undef X
#define ANALYSIS_TABLE(table) \
  const analysis_table analysis_table_##table = {#table, columns_##table, RUNTIME_COUNT(columns_##table), parse_##table}

/* All tables of a recording, which is not needed once they are made. A table that cannot be made does not
 * affect the others. */
struct tn_analysis {
  tn_rows *tables[ANALYSIS_TABLE_COUNT]; /* NULL: `why` has the reason */
  char *why[ANALYSIS_TABLE_COUNT];
  RUNTIME_VEC(const tn_analyser *) added;
  char *rules; /* the user's, as JSON; NULL: none */
};
tn_analysis *analysis_new(void);
/* Sets a table from CSV text, for tests. False with a message in *why. */
bool analysis_set(tn_analysis *a, const char *table, const char *csv, const char **why);
const analysis_table *analysis_table_at(int id);
int analysis_table_find(const char *name); /* -1: there is none */

extern const tn_analyser analysis_analysers[]; /* ends with a NULL type */
/* The rows of an analyser, to be freed by the caller; NULL after a message. */
tn_rows *analysis_load(tn_context *ctx, const tn_analysis *a, const tn_analyser *analyser);

/* ---- proposers --------------------------------------------------------------------------------------------------- */

/* The advice found, in the order of the rules. Owns its texts. */
struct tn_advices {
  runtime_arena arena;
  RUNTIME_VEC(tn_advice) items;
  const tn_rows *phases; /* NULL: not known; the analysis must outlive the advices */
  bool failed;
};

typedef struct proposer proposer;
/* A rule: what it looks at, from which value on it speaks, and its check. */
typedef struct analysis_rule {
  const char *id, *label;
  const char *table; /* what it looks at; without that table the rule is skipped */
  double threshold;
  void (*check)(proposer *p, const tn_rows *rows);
} analysis_rule;
/* A rule while it runs; analysis_say adds to ADVICES what it finds. */
struct proposer {
  tn_advices *advices;
  const tn_analysis *analysis;
  const analysis_rule *rule;
  double threshold;
};
extern const analysis_rule analysis_rules_tuner[], analysis_rules_kernel[]; /* end with a NULL id */
/* Runs all of the user's rules, after the library's. */
void analysis_run_user_rules(tn_advices *all, const tn_analysis *analysis);
/* Adds a suggestion of the running rule. */
void analysis_say(proposer *p, const char *subject, double value, const char *fmt, ...) TN_PRINTF(4, 5);
bool analysis_said(const proposer *p,
                   const char *rule); /* an earlier rule fired: for rules that are hidden by others */
const tn_rows *analysis_rows_of(const proposer *p, const char *table); /* NULL: missing */

#endif
