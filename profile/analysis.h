/* analysis.h: the tables between parser and analysers, from inside. */
#ifndef TENON_PROFILE_ANALYSIS_H
#define TENON_PROFILE_ANALYSIS_H

#include "profile/files.h"
#include "profile/profiler_analysis.h"
#include "runtime/profiler/recorder.h"

/* A table of results. It owns its texts; CELLS has n * n_columns of them. */
struct tn_rows {
  runtime_arena arena; /* texts */
  runtime_names strings;
  const tn_column *columns;
  int n_columns;
  RUNTIME_VEC(tn_cell) cells; /* row by row */
  int n;
  bool failed;
};

tn_rows *analysis_rows_new(const tn_column *columns, int n_columns); /* NULL: no memory */
void analysis_rows_free(tn_rows *rows);
bool analysis_rows_add_cells(tn_rows *rows, const tn_cell *cells);
/* The index of a column; -1: there is none. */
int analysis_column(const tn_rows *rows, const char *name);
/* A cell by its column's name; the number 0 or "" for a missing one and for a column that is not there. */
double analysis_number(const tn_rows *rows, int row, const char *column);
const char *analysis_text(const tn_rows *rows, int row, const char *column);
bool analysis_is_missing(const tn_rows *rows, int row, const char *column);
/* The value of KEY in the table "run"; NAN when the recording does not say it: what is computed from it is missing
 * then, not 0, and a rule that compares with it is silent. */
double analysis_fact(const tn_rows *run, const char *key);

/* CSV with a header. Reading wants exactly the table's columns; false with a message in *why (static). */
void analysis_write_csv(profiler_out *out, const tn_rows *rows);
bool analysis_read_csv(const char *text, tn_rows *rows, const char **why);

/* One intermediate table: its name is that of its file. */
typedef struct analysis_table {
  const char *name;
  const tn_column *columns;
  int n_columns;
  bool (*parse)(const tn_recording *r, tn_rows *out);
} analysis_table;

/* All tables, X(name); each is columns_NAME and parse_NAME in a parse_*.c. */
#define ANALYSIS_TABLES(X) \
  X(run)                   \
  X(op)                    \
  X(event)                 \
  X(round) X(phase) X(step) X(queue) X(stage) X(worker) X(task) X(candidate) X(counter) X(memory) X(process) X(kernel)
/* The tables of an analysis, each made by one parser out of a recording. */
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

/* All tables of one recording, which is not needed any more once they are made. A table that cannot be made leaves
 * the others alone. */
struct tn_analysis {
  tn_rows *tables[ANALYSIS_TABLE_COUNT]; /* NULL: why says the reason */
  char *why[ANALYSIS_TABLE_COUNT];
  RUNTIME_VEC(const tn_analyser *) added;
  char *rules; /* of the user, as JSON; NULL: none */
};
tn_analysis *analysis_new(void);
/* Puts a table of CSV text in (tests, fixtures). False with a message in *why. */
bool analysis_set(tn_analysis *a, const char *table, const char *csv, const char **why);
const analysis_table *analysis_table_at(int id);
int analysis_table_find(const char *name); /* -1: there is none */

extern const tn_analyser analysis_analysers[]; /* ends with a NULL type */
/* The rows of an analyser, to be freed; NULL with a message. */
tn_rows *analysis_load(tn_context *ctx, const tn_analysis *a, const tn_analyser *analyser);

/* ---- proposers --------------------------------------------------------------------------------------------------- */

/* Suggestions, in the order of the rules. It owns their texts. */
struct tn_advices {
  runtime_arena arena;
  RUNTIME_VEC(tn_advice) items;
  const tn_rows *phases; /* NULL: unknown; the analysis must outlive the advices */
  bool failed;
};

typedef struct proposer proposer;
/* One piece of advice: what it looks at, from which value on it speaks, and how. */
typedef struct analysis_rule {
  const char *id, *label;
  const char *table; /* what it looks at; the rule is passed over when it is missing */
  double threshold;
  void (*check)(proposer *p, const tn_rows *rows);
} analysis_rule;
/* A rule while it runs; analysis_say adds to ADVICES what it found. */
struct proposer {
  tn_advices *advices;
  const tn_analysis *analysis;
  const analysis_rule *rule;
  double threshold;
};
extern const analysis_rule analysis_rules_tuner[], analysis_rules_kernel[]; /* end with a NULL id */
/* All of the user's rules, after the library's. */
void analysis_run_user_rules(tn_advices *all, const tn_analysis *analysis);
/* Adds a suggestion of the running rule. */
void analysis_say(proposer *p, const char *subject, double value, const char *fmt, ...) TN_PRINTF(4, 5);
bool analysis_said(const proposer *p,
                   const char *rule); /* an earlier rule fired: for rules that are hidden by others */
const tn_rows *analysis_rows_of(const proposer *p, const char *table); /* NULL: missing */

#endif
