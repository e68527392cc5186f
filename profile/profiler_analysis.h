/* tenon/profiler_analysis.h: from a recording to answers, in MindSpore's layers:
 *
 *   parser     recording -> intermediate tables, files people can read     tn_profile_parse_to(ctx, r, "dir")
 *   analysers  tables -> answers to queries with filter, sort and page     tn_analysis_query(ctx, a, "{\"type\": ...}")
 *   proposer   tables -> suggestions, by rules with thresholds             tn_advise(ctx, a, NULL)
 *
 * The layers are coupled through tables only: analysers and rules see no events. tn_analysis_of makes the tables in
 * memory, tn_analysis_open reads them from a directory; the answers are the same bytes. */
#ifndef TENON_PROFILER_ANALYSIS_H
#define TENON_PROFILER_ANALYSIS_H

#include "runtime/profiler/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef enum tn_cell_type { TN_CELL_TEXT, TN_CELL_INT, TN_CELL_REAL } tn_cell_type;

/* A column of a table; all its cells have the same type. */
typedef struct tn_column {
  const char *name; /* with its unit: "total_ns" */
  tn_cell_type type;
} tn_column;

/* A value; the column says which member is valid. Texts belong to the table. */
typedef struct tn_cell {
  bool is_missing; /* no value; sorts as the smallest */
  union {
    const char *text;
    int64_t i64;
    double f64;
  };
} tn_cell;

/* A table: rows of cells under columns. */
typedef struct tn_rows tn_rows;
TN_API int tn_rows_count(const tn_rows *rows);
TN_API const tn_column *tn_rows_columns(const tn_rows *rows, int *n);
/* A row's cells, one for each column; NULL outside the table. */
TN_API const tn_cell *tn_rows_at(const tn_rows *rows, int row);
/* Appends a row: a value for each column, const char *, int64_t or double by its type (cast plain
 * integers). INT64_MIN and NaN are missing values. Texts are copied. False without memory. */
TN_API bool tn_rows_add(tn_rows *rows, ...);

/* ---- analyses ---------------------------------------------------------------------------------------------------- */

typedef struct tn_analysis tn_analysis;

/* Writes the intermediate tables into DIRECTORY as NAME.csv; makes it if necessary. */
TN_API tn_status tn_profile_parse_to(tn_context *ctx, const tn_recording *recording, const char *directory);
/* An analysis of a recording, which is not needed afterwards. NULL after a message. */
TN_API TN_GIVE tn_analysis *tn_analysis_of(tn_context *ctx, const tn_recording *recording);
/* An analysis of the tables in a directory. A missing or broken file only affects the analysers that read it. */
TN_API TN_GIVE tn_analysis *tn_analysis_open(tn_context *ctx, const char *directory);
TN_API void tn_analysis_free(TN_TAKE tn_analysis *analysis);

/* An intermediate table by its name ("op", "event", "round", ...). NULL after a message that names the file. */
TN_API const tn_rows *tn_analysis_table(tn_context *ctx, const tn_analysis *analysis, const char *name);

/* Answers the queries of one type. */
typedef struct tn_analyser {
  const char *type, *what;  /* "op_type"; one line */
  const char *tables[3];    /* what it reads; NULL ends the list */
  const tn_column *columns; /* NULL: those of tables[0] */
  int n_columns;
  /* Adds the rows; false without memory. NULL: the rows of tables[0] unchanged. TABLES are in the order above. */
  bool (*load)(const tn_rows *const *tables, tn_rows *out);
} tn_analyser;
/* Adds an analyser of the caller's, which must outlive the analysis. A type that exists already is refused. */
TN_API tn_status tn_analysis_add(tn_context *ctx, tn_analysis *analysis, const tn_analyser *analyser);
/* The K-th analyser, the library's first; NULL: there are no more. */
TN_API const tn_analyser *tn_analysis_type(const tn_analysis *analysis, int k);

/* Answers a query:
 *
 *   {"type": "op_type",
 *    "filter_condition": {"category": {"in": ["search", "model"]}, "name": {"partial_match_str_in": ["evolve"]}},
 *    "sort_condition": {"name": "total_ns", "type": "ascending"},         // default: descending
 *    "group_condition": {"limit": 10, "offset": 2}}                       // rows 21 to 30: offset counts pages
 *
 * with {"col_name": [...], "object": [[...], ...], "size": rows after filtering, before paging}. Filters: in, not_in,
 * partial_match_str_in (case does not matter); several hold together. limit is 1 to 100 (10 when only offset is given),
 * offset 0 to 1000000. The type "types" lists the types that have rows. The text is malloc'ed; NULL with a message for
 * what is wrong with the query. */
TN_API TN_GIVE char *tn_analysis_query(tn_context *ctx, const tn_analysis *analysis, const char *query);
/* The same for a recording, for tn_server_options.query: without a context; *message is malloc'ed. */
TN_API TN_GIVE char *tn_recording_query(const tn_recording *recording, const char *query, TN_GIVE char **message);

/* ---- suggestions ------------------------------------------------------------------------------------------------- */

/* A suggestion. Its texts belong to the advices. */
typedef struct tn_advice {
  const char *rule;    /* the rule's id: "worker_outlier" */
  const char *label;   /* "tuner", "workers", "memory", "kernel", "recording" */
  const char *subject; /* what it is about: the name of a worker, phase or stage */
  double value, threshold;
  const char *text; /* a sentence that says what to do */
} tn_advice;
typedef struct tn_advices tn_advices;
/* Runs all rules in order. OPTIONS: NULL, or thresholds by rule: {"worker_outlier": 0.1}; null turns a rule
 * off. Rules whose tables are missing are skipped. NULL after a message about an unknown rule. */
TN_API TN_GIVE tn_advices *tn_advise(tn_context *ctx, const tn_analysis *analysis, const char *options);
/* Rules of the user, which tn_advise runs after the library's; RULES is a JSON array of
 *
 *   {"id": "slow_step", "label": "train", "query": {"type": "op_type", "filter_condition": {"name": {"in": ["load"]}}},
 *    "column": "mean_ns", "above": 1e6, "subject": "name", "sentence": "'{name}' takes {mean_ns} ns: read ahead"}
 *
 * Every row of the query's answer whose column is above (or below) the number gives an advice with the sentence, in
 * which {column} stands for the row's value. label ("user") and subject (the column "name") may be left out. They stand
 * with the recording or the analysis: the command, the page and the server follow them alike. NULL: none any more.
 * TN_ERROR_ARGUMENT with the row's number for what is no rule, such as one that asks for advice; a query that is wrong
 * is an advice that says so. */
TN_API tn_status tn_recording_set_rules(tn_context *ctx, tn_recording *recording, const char *rules);
TN_API tn_status tn_analysis_set_rules(tn_context *ctx, tn_analysis *analysis, const char *rules);
TN_API const tn_advice *tn_advices_at(const tn_advices *advices, int *n);
TN_API void tn_advices_free(TN_TAKE tn_advices *advices);
/* As text: what the time was spent on, largest phase first, then the suggestions, one per line. Or as JSON:
 * {"phases": {...}, "largest_phase": ..., "advice": [{"rule", "label", "subject", "values": {...},
 * "text"}]}. */
TN_API TN_GIVE char *tn_advices_text(const tn_advices *advices, bool is_json);
/* The K-th rule's id and usual threshold; NULL: there are no more. */
TN_API const char *tn_advise_rule(int k, double *threshold);

/* ---- tuning table ------------------------------------------------------------------------------------------------ */

/* TVM's table of tasks: ID, Name, FLOP, Weight, Speed (GFLOPS), Latency (us), Weighted Latency (us),
 * Trials, Done; then the sums. N/A without a valid trial. malloc'ed; NULL after a message. */
TN_API TN_GIVE char *tn_analysis_task_table(tn_context *ctx, const tn_analysis *analysis);

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* The machine on which this process runs. */
typedef struct tn_host {
  char cpu_model[64];
  int cores;       /* those that this process may use */
  int vector_bits; /* of the widest registers that can add floats */
  int64_t memory_bytes;
  double peak_gflops;     /* f32 multiply-adds on all cores, measured; 0: not measured */
  double peak_gbps;       /* reading memory from all cores, measured; 0: not measured */
  double cache_gbps[4];   /* of the data caches by level, from all cores; [0] is unused; 0: not known */
  int64_t cache_bytes[4]; /* of all cores together */
} tn_host;
/* Fills *out. MEASURE also measures the peaks, which takes about a tenth of a second and is only right on a
 * quiet machine; where a target has measured costs, tn_host_set_machine takes the limits from them. */
TN_API void tn_host_get(tn_host *out, bool measure);
/* Takes the limits from a machine's measured costs (tn_target_machine); limits that were not measured are unchanged. */
struct tn_machine;
TN_API void tn_host_set_machine(tn_host *host, const struct tn_machine *machine);
/* Writes it into the running session: a mark "host" with an argument for every field, for reports and rooflines. */
TN_API void tn_host_record(const tn_host *host);

#ifdef __cplusplus
}
#endif
#endif
