/* analyse_query.c: queries as JSON: which analyser, which rows (filter), in what order (sort), and which
 * page.
 *
 * A `query` borrows the rows and owns only the list of rows that are kept. */
#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "profile/analysis.h"

/* Rows on a page: the most, and the default. MOST_OFFSET: the largest number of rows to skip. */
enum { MOST_LIMIT = 100, USUAL_LIMIT = 10, MOST_OFFSET = 1000000 };

/* A query being answered. */
typedef struct query {
  tn_context *ctx;
  const json_t *root;
  const tn_rows *rows;
  int *kept; /* indices of rows that pass the filter, later in order */
  int n_kept;
  int limit, offset; /* limit 0: no pages */
} query;

static bool refuse(const query *q, const char *fmt, ...) TN_PRINTF(2, 3);
/* Always false, so that a step can `return refuse(...)`. */
static bool refuse(const query *q, const char *fmt, ...) {
  char text[512];
  RUNTIME_PRINT_ARGS(text, fmt);
  runtime_fail(q->ctx, TN_ERROR_ARGUMENT, "analyse: %s", text);
  return false;
}

/* ---- cells against values ---------------------------------------------------------------------------------------- */

/* For columns of numbers only. Integers beyond 2^53 lose their last digits, which does no harm to orders and sums. */
static double cell_number(const tn_column *column, const tn_cell *cell) {
  return column->type == TN_CELL_INT ? (double)cell->i64 : cell->f64;
}

/* A missing value equals null and nothing else. Integers are compared as integers, since doubles would
 * confuse large ids. */
static bool is_equal(const tn_column *column, const tn_cell *cell, const json_t *value) {
  if (cell->is_missing) return json_is_null(value);
  if (column->type == TN_CELL_TEXT) return json_is_string(value) && strcmp(cell->text, json_string_value(value)) == 0;
  if (column->type == TN_CELL_INT && json_is_integer(value)) return cell->i64 == json_integer_value(value);
  return json_is_number(value) && cell_number(column, cell) == json_number_value(value);
}

/* Ignores case, as TensorFlow's viewer does. Numbers have no parts. */
static bool has_part(const tn_column *column, const tn_cell *cell, const json_t *value) {
  return column->type == TN_CELL_TEXT && json_is_string(value) && strcasestr(cell->text, json_string_value(value));
}

typedef bool (*match_fn)(const tn_column *, const tn_cell *, const json_t *);

/* The filters of a filter_condition. */
static const struct filter_operator {
  const char *name;
  match_fn match;
  bool wanted; /* whether some value must match, or none may */
} operators[] = {{"in", is_equal, true}, {"not_in", is_equal, false}, {"partial_match_str_in", has_part, true}};

/* Without values nothing matches, so that "in []" keeps no row and "not_in []" keeps all. */
static bool any_matches(match_fn match, const tn_column *column, const tn_cell *cell, const json_t *values) {
  for (size_t i = 0; i < json_array_size(values); ++i) {
    if (match(column, cell, json_array_get(values, i))) return true;
  }
  return false;
}

/* ---- filter ------------------------------------------------------------------------------------------------------ */

/* Filters in place; the rows that are kept stay in order. */
static void keep_matching(query *q, int column, const struct filter_operator *op, const json_t *values) {
  int n = 0;
  for (int i = 0; i < q->n_kept; ++i) {
    const tn_cell *cell = &tn_rows_at(q->rows, q->kept[i])[column];
    if (any_matches(op->match, &q->rows->columns[column], cell, values) == op->wanted) q->kept[n++] = q->kept[i];
  }
  q->n_kept = n;
}

/* Keeps the rows whose COLUMN passes the filter NAME with the list VALUES. False after a message: there is
 * no such filter, or the values do not fit the column. */
static bool filter_by(query *q, int column, const char *name, const json_t *values) {
  const struct filter_operator *op = RUNTIME_ROW(operators, name);
  if (!op) return refuse(q, "there is no filter '%s': give in, not_in or partial_match_str_in", name);
  if (!json_is_array(values)) return refuse(q, "filter '%s' wants a list of values", name);
  if (op->match == has_part && q->rows->columns[column].type != TN_CELL_TEXT)
    return refuse(q, "filter '%s' is for texts; column '%s' holds numbers", name, q->rows->columns[column].name);
  keep_matching(q, column, op, values);
  return true;
}

/* An unknown name is answered with the names of all columns, since queries are written by hand. */
static bool find_column(const query *q, const char *what, const char *name, int *column) {
  *column = analysis_column(q->rows, name);
  if (*column >= 0) return true;
  runtime_str names = {0};
  for (int c = 0; c < q->rows->n_columns; ++c)
    runtime_str_addf(&names, "%s%s", c ? ", " : "", q->rows->columns[c].name);
  refuse(q, "%s: there is no column '%s': there are %s", what, name, names.failed ? "?" : names.data);
  runtime_str_free(&names);
  return false;
}

/* All conditions must hold. If a query is refused half way, `kept` was filtered by the first conditions,
 * and nobody reads it. */
static bool filter(query *q) {
  json_t *conditions = json_object_get(q->root, "filter_condition"), *condition, *values;
  const char *name, *op;
  int column;
  if (!conditions || json_is_null(conditions)) return true;
  if (!json_is_object(conditions)) return refuse(q, "filter_condition is an object: {column: {filter: [values]}}");
  json_object_foreach(conditions, name, condition) {
    if (!find_column(q, "filter_condition", name, &column)) return false;
    if (!json_is_object(condition)) return refuse(q, "filter_condition of '%s' is an object: {filter: [values]}", name);
    json_object_foreach(condition, op, values) {
      if (!filter_by(q, column, op, values)) return false;
    }
  }
  return true;
}

/* ---- sort -------------------------------------------------------------------------------------------------------- */

/* What comparing two rows needs; SIGN is -1 for a descending order. */
typedef struct sorting {
  const tn_rows *rows;
  int column, sign;
} sorting;

/* A missing value is the smallest. */
static int compare_cells(const tn_column *column, const tn_cell *a, const tn_cell *b) {
  if (a->is_missing || b->is_missing) return b->is_missing - a->is_missing;
  if (column->type == TN_CELL_TEXT) return strcmp(a->text, b->text);
  if (column->type == TN_CELL_INT) return (a->i64 > b->i64) - (a->i64 < b->i64);
  return (a->f64 > b->f64) - (a->f64 < b->f64);
}

/* Rows with equal keys stay in the table's order, so that pages do not overlap. */
static int compare_rows(const void *left, const void *right, void *user) {
  const sorting *s = user;
  int a = *(const int *)left, b = *(const int *)right;
  int order = compare_cells(&s->rows->columns[s->column], &tn_rows_at(s->rows, a)[s->column],
                            &tn_rows_at(s->rows, b)[s->column]);
  return order ? order * s->sign : a - b;
}

/* Descending unless the query says otherwise, since usually the largest are wanted. */
static bool sort(query *q) {
  const json_t *condition = json_object_get(q->root, "sort_condition");
  if (!condition || json_is_null(condition)) return true;
  const char *name = json_string_value(json_object_get(condition, "name"));
  const json_t *type = json_object_get(condition, "type");
  sorting s = {.rows = q->rows, .sign = -1};
  if (!name) return refuse(q, "sort_condition wants the name of a column");
  if (!find_column(q, "sort_condition", name, &s.column)) return false;
  if (type && !json_is_null(type)) {
    const char *text = json_is_string(type) ? json_string_value(type) : "";
    if (strcmp(text, "ascending") == 0)
      s.sign = 1;
    else if (strcmp(text, "descending") != 0)
      return refuse(q, "sort_condition: type is '%s': give ascending or descending", text);
  }
  qsort_r(q->kept, (size_t)q->n_kept, sizeof *q->kept, compare_rows, &s);
  return true;
}

/* ---- page -------------------------------------------------------------------------------------------------------- */

/* Reads a member that may be missing or null, which gives USUAL. Anything but a whole number from LEAST to
 * MOST is refused. */
static bool read_number(const query *q, const json_t *group, const char *name, int least, int most, int usual,
                        int *out) {
  const json_t *value = json_object_get(group, name);
  *out = usual;
  if (!value || json_is_null(value)) return true;
  if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > most)
    return refuse(q, "group_condition: %s is a whole number from %d to %d", name, least, most);
  *out = (int)json_integer_value(value);
  return true;
}

/* The offset counts pages, not rows. Without a group_condition, or with an empty one, all rows are one page. */
static bool page(query *q) {
  const json_t *group = json_object_get(q->root, "group_condition");
  if (!group || json_is_null(group)) return true;
  if (!json_is_object(group)) return refuse(q, "group_condition is an object: {limit, offset}");
  if (json_object_size(group) == 0) return true;
  return read_number(q, group, "limit", 1, MOST_LIMIT, USUAL_LIMIT, &q->limit) &&
         read_number(q, group, "offset", 0, MOST_OFFSET, 0, &q->offset);
}

/* ---- answer ------------------------------------------------------------------------------------------------------ */

/* A missing value is null, since JSON has no NaN. */
static void write_cell(profiler_out *out, const tn_column *column, const tn_cell *cell) {
  if (cell->is_missing) return PROFILER_OUT_LITERAL(out, "null");
  switch (column->type) {
    case TN_CELL_TEXT: profiler_out_json(out, cell->text); break;
    case TN_CELL_INT: profiler_out_i64(out, cell->i64); break;
    case TN_CELL_REAL: profiler_out_f64(out, cell->f64); break;
  }
}

/* Writes a row as a JSON list, in the order of the columns. */
static void write_row(profiler_out *out, const tn_rows *rows, int row) {
  PROFILER_OUT_LITERAL(out, "[");
  for (int c = 0; c < rows->n_columns; ++c) {
    if (c) PROFILER_OUT_LITERAL(out, ", ");
    write_cell(out, &rows->columns[c], &tn_rows_at(rows, row)[c]);
  }
  PROFILER_OUT_LITERAL(out, "]");
}

/* `size` is the number of rows that pass the filter, on all pages together. */
static char *answer(const query *q) {
  profiler_out out;
  int64_t first = (int64_t)q->limit * q->offset, end = q->limit ? first + q->limit : q->n_kept;
  profiler_out_memory(&out);
  PROFILER_OUT_LITERAL(&out, "{\"col_name\": [");
  for (int c = 0; c < q->rows->n_columns; ++c) {
    if (c) PROFILER_OUT_LITERAL(&out, ", ");
    profiler_out_json(&out, q->rows->columns[c].name);
  }
  PROFILER_OUT_LITERAL(&out, "], \"object\": [");
  for (int64_t i = first; i < end && i < q->n_kept; ++i) {
    if (i > first) PROFILER_OUT_LITERAL(&out, ",\n");
    write_row(&out, q->rows, q->kept[i]);
  }
  PROFILER_OUT_LITERAL(&out, "], \"size\": ");
  profiler_out_i64(&out, q->n_kept);
  PROFILER_OUT_LITERAL(&out, "}");
  return profiler_out_take(&out, NULL);
}

/* NULL after a message in the query's context. */
static char *run(query *q) {
  q->kept = malloc((size_t)(q->rows->n + 1) * sizeof *q->kept);
  char *text = NULL;
  if (q->kept) {
    for (; q->n_kept < q->rows->n; ++q->n_kept) q->kept[q->n_kept] = q->n_kept;
    bool is_good = filter(q) && sort(q) && page(q);
    text = is_good ? answer(q) : NULL;
    if (is_good && !text) runtime_fail(q->ctx, TN_ERROR_MEMORY, "analyse: out of memory");
  }
  free(q->kept);
  return text;
}

/* ---- analysers --------------------------------------------------------------------------------------------------- */

/* An analyser without columns of its own passes on its first table. The caller frees the rows. */
tn_rows *analysis_load(tn_context *ctx, const tn_analysis *a, const tn_analyser *analyser) {
  const tn_rows *tables[RUNTIME_COUNT(analyser->tables)] = {NULL};
  for (int i = 0; i < RUNTIME_COUNT(analyser->tables) && analyser->tables[i]; ++i) {
    if (!(tables[i] = tn_analysis_table(ctx, a, analyser->tables[i]))) return NULL;
  }
  bool has_own = analyser->columns != NULL;
  assert(tables[0] || (has_own && analyser->load));
  tn_rows *out = analysis_rows_new(has_own ? analyser->columns : tables[0]->columns,
                                   has_own ? analyser->n_columns : tables[0]->n_columns);
  bool done = out != NULL;
  if (done && analyser->load) done = analyser->load(tables, out) && !out->failed;
  for (int i = 0; done && !analyser->load && i < tables[0]->n; ++i)
    done = analysis_rows_add_cells(out, tn_rows_at(tables[0], i));
  if (done) return out;
  analysis_rows_free(out);
  return runtime_fail(ctx, TN_ERROR_MEMORY, "analyse: out of memory"), NULL;
}

static const tn_column types_columns[] = {{"type", TN_CELL_TEXT}, {"size", TN_CELL_INT}, {"what", TN_CELL_TEXT}};

/* Lists the types that have rows here. */
static tn_rows *load_types(const tn_analysis *a) {
  tn_rows *out = analysis_rows_new(types_columns, RUNTIME_COUNT(types_columns));
  const tn_analyser *analyser;
  for (int k = 0; out && (analyser = tn_analysis_type(a, k)); ++k) {
    tn_rows *rows = analysis_load(NULL, a, analyser);
    if (rows && rows->n) tn_rows_add(out, analyser->type, (int64_t)rows->n, analyser->what);
    analysis_rows_free(rows);
  }
  return out;
}

static const tn_column advice_columns[] = {{"rule", TN_CELL_TEXT},      {"label", TN_CELL_TEXT},
                                           {"subject", TN_CELL_TEXT},   {"value", TN_CELL_REAL},
                                           {"threshold", TN_CELL_REAL}, {"text", TN_CELL_TEXT}};

/* The advice of tn_advise with the usual thresholds. */
static tn_rows *load_advice(tn_context *ctx, const tn_analysis *a) {
  tn_rows *out = analysis_rows_new(advice_columns, RUNTIME_COUNT(advice_columns));
  tn_advices *advices = out ? tn_advise(ctx, a, NULL) : NULL;
  int n;
  const tn_advice *all = tn_advices_at(advices, &n);
  bool done = advices != NULL;
  for (int i = 0; done && i < n; ++i)
    done = tn_rows_add(out, all[i].rule, all[i].label, all[i].subject, all[i].value, all[i].threshold, all[i].text);
  tn_advices_free(advices);
  if (done) return out;
  analysis_rows_free(out);
  return runtime_fail(ctx, TN_ERROR_MEMORY, "analyse: out of memory"), NULL;
}

/* NULL after a message with the names of all types: there is none of that name. */
static tn_rows *load_type(const query *q, const tn_analysis *a, const char *type) {
  const tn_analyser *analyser;
  if (strcmp(type, "types") == 0) return load_types(a);
  if (strcmp(type, "advice") == 0) return load_advice(q->ctx, a);
  runtime_str names = {0};
  for (int k = 0; (analyser = tn_analysis_type(a, k)); ++k) {
    if (strcmp(analyser->type, type) == 0) return runtime_str_free(&names), analysis_load(q->ctx, a, analyser);
    runtime_str_addf(&names, "%s, ", analyser->type);
  }
  refuse(q, "there is no type '%s': there are %sadvice, types", type, names.failed ? "" : names.data);
  runtime_str_free(&names);
  return NULL;
}

/* Otherwise a misspelt key would be a filter that does nothing. */
static bool check_keys(const query *q) {
  static const char *const known[] = {"type", "filter_condition", "sort_condition", "group_condition"};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)q->root, key, value) {
    if (RUNTIME_FIND(known, key) < 0)
      return refuse(q, "there is no '%s' in a query: there are type, filter_condition, sort_condition, group_condition",
                    key);
  }
  return true;
}

/* Rows are loaded again for every query; tables are small compared with the recording. */
char *tn_analysis_query(tn_context *ctx, const tn_analysis *analysis, const char *text) {
  json_error_t error;
  json_t *root = json_loads(text ? text : "", 0, &error);
  query q = {.ctx = ctx, .root = root};
  char *result = NULL;
  const char *type = json_string_value(json_object_get(root, "type"));
  if (!root) {
    refuse(&q, "the query is not JSON: line %d: %s", error.line, error.text);
  } else if (!type) {
    refuse(&q, "the query names no type: {\"type\": \"op_type\", ...}");
  } else if (check_keys(&q)) {
    tn_rows *rows = load_type(&q, analysis, type);
    q.rows = rows;
    if (rows) result = run(&q);
    analysis_rows_free(rows);
  }
  json_decref(root);
  return result;
}

/* Parses the whole recording for one answer. In a context of its own, so that it can be called from a
 * server's thread. */
char *tn_recording_query(const tn_recording *recording, const char *text, char **message) {
  tn_context *ctx = tn_context_new(NULL);
  tn_analysis *a = ctx ? tn_analysis_of(ctx, recording) : NULL;
  char *result = a ? tn_analysis_query(ctx, a, text) : NULL;
  if (message) *message = result ? NULL : strdup(ctx ? tn_context_message(ctx) : "out of memory");
  tn_analysis_free(a);
  tn_context_free(ctx);
  return result;
}
