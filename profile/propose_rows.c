/* propose_rows.c: rules that users write, as rows of a JSON array: a query, a column, a threshold, a
 * sentence. They are kept with the recording, so that everything that gives advice on it follows them: the
 * command, the server and the page. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "profile/analysis.h"

/* One row of the array. Its texts belong to the JSON. */
typedef struct user_rule {
  const char *id, *label, *column, *subject, *sentence;
  const json_t *query;
  double threshold;
  bool is_below; /* speaks about values below the threshold, not above it */
} user_rule;

/* Returns why ROW is not a rule, or NULL if it is one. */
static const char *read_rule(const json_t *row, user_rule *out) {
  static const char *const known[] = {"id", "label", "query", "column", "subject", "above", "below", "sentence"};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)row, key, value) {
    if (RUNTIME_FIND(known, key) < 0) return "its keys are id, label, query, column, subject, above or below, sentence";
  }
  const json_t *above = json_object_get(row, "above"), *below = json_object_get(row, "below");
  const char *label = json_string_value(json_object_get(row, "label")),
             *subject = json_string_value(json_object_get(row, "subject"));
  *out = (user_rule){.id = json_string_value(json_object_get(row, "id")),
                     .label = label ? label : "user",
                     .column = json_string_value(json_object_get(row, "column")),
                     .subject = subject ? subject : "name",
                     .sentence = json_string_value(json_object_get(row, "sentence")),
                     .query = json_object_get(row, "query"),
                     .threshold = json_number_value(above ? above : below),
                     .is_below = below != NULL};
  if (!out->id || !out->column || !out->sentence) return "it needs the texts id, column and sentence";
  if (!json_is_object(out->query)) return "it needs a query: {\"type\": \"op_type\"}";
  const char *type = json_string_value(json_object_get(out->query, "type"));
  if (type && strcmp(type, "advice") == 0)
    return "its query asks for advice, and this rule is part of that: ask a table";
  return json_is_number(above) == json_is_number(below) ? "it needs one number: above or below" : NULL;
}

/* K counts from 0, messages count from 1. A user's rule must not have the id of a built-in rule, because
 * advice could not tell the two apart. */
static bool check_rule(tn_context *ctx, const json_t *row, int k) {
  user_rule rule;
  const char *why = json_is_object(row) ? read_rule(row, &rule) : "it is no object";
  double unused;
  const char *id = json_string_value(json_object_get(row, "id")), *known = "";
  for (int i = 0; !why && (known = tn_advise_rule(i, &unused)); ++i)
    if (strcmp(known, id) == 0) why = "the library has a rule of that id";
  if (why)
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "rules: row %d%s%s%s: %s", k + 1, id ? " ('" : "", id ? id : "",
                 id ? "')" : "", why);
  return !why;
}

/* False with a message if TEXT is not an array of rules. */
static bool check_rules(tn_context *ctx, const char *text) {
  json_error_t error;
  json_t *rows = json_loads(text, 0, &error);
  bool ok = json_is_array(rows);
  if (!ok) runtime_fail(ctx, TN_ERROR_ARGUMENT, "rules: %s", rows ? "they are a JSON array of objects" : error.text);
  for (int k = 0; ok && k < (int)json_array_size(rows); ++k) ok = check_rule(ctx, json_array_get(rows, (size_t)k), k);
  json_decref(rows);
  return ok;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The first N characters of NAME are the column's name: it may be part of a sentence. -1: there is no such column. */
static int find_column(const json_t *names, const char *name, size_t n) {
  for (int i = 0; i < (int)json_array_size(names); ++i) {
    const char *at = json_string_value(json_array_get(names, (size_t)i));
    if (strlen(at) == n && strncmp(at, name, n) == 0) return i;
  }
  return -1;
}

/* Adds a value to the sentence of an advice. A missing value becomes a question mark. */
static void add_cell(runtime_str *out, const json_t *cell) {
  if (json_is_string(cell))
    runtime_str_add(out, json_string_value(cell));
  else if (json_is_number(cell))
    runtime_str_addf(out, "%.6g", json_number_value(cell));
  else
    runtime_str_add(out, "?");
}

/* Copies SENTENCE with each {column} replaced by the row's value. Braces around anything else stay. */
static void fill_sentence(runtime_str *out, const char *sentence, const json_t *names, const json_t *row) {
  while (*sentence) {
    size_t plain = strcspn(sentence, "{"), n = sentence[plain] ? strcspn(sentence + plain + 1, "}") : 0;
    int column = n ? find_column(names, sentence + plain + 1, n) : -1;
    runtime_str_addn(out, sentence, plain);
    sentence += plain;
    if (column >= 0 && sentence[n + 1] == '}') {
      add_cell(out, json_array_get(row, (size_t)column));
      sentence += n + 2;
    } else if (*sentence) {
      runtime_str_addn(out, sentence++, 1);
    }
  }
}

/* A missing value is neither above nor below the threshold. */
static void look_at_row(proposer *p, const user_rule *rule, const json_t *names, const json_t *row) {
  const json_t *cell = json_array_get(row, (size_t)find_column(names, rule->column, strlen(rule->column)));
  int subject = find_column(names, rule->subject, strlen(rule->subject));
  double value = json_is_number(cell) ? json_number_value(cell) : NAN;
  if (!(rule->is_below ? value < rule->threshold : value > rule->threshold)) return;
  const json_t *of = subject >= 0 ? json_array_get(row, (size_t)subject) : NULL;
  runtime_str text = {0};
  fill_sentence(&text, rule->sentence, names, row);
  analysis_say(p, json_is_string(of) ? json_string_value(of) : rule->column, value, "%s", text.data ? text.data : "");
  p->advices->failed |= text.failed;
  runtime_str_free(&text);
}

/* If the query is wrong, or its answer lacks a column, the advice says so instead. */
static void run_rule(proposer *p, const user_rule *rule) {
  tn_context *ctx = tn_context_new(NULL);
  char *query = json_dumps(rule->query, 0), *answer = query ? tn_analysis_query(ctx, p->analysis, query) : NULL;
  json_t *root = answer ? json_loads(answer, 0, NULL) : NULL;
  const json_t *names = json_object_get(root, "col_name"), *rows = json_object_get(root, "object");
  bool has_column = find_column(names, rule->column, strlen(rule->column)) >= 0;
  if (!root)
    analysis_say(p, rule->id, NAN, "the rule's query is wrong: %s", tn_context_message(ctx));
  else if (!has_column)
    analysis_say(p, rule->id, NAN, "the answer to the rule's query has no column '%s'", rule->column);
  for (size_t i = 0; has_column && i < json_array_size(rows); ++i) look_at_row(p, rule, names, json_array_get(rows, i));
  json_decref(root);
  free(answer);
  free(query);
  tn_context_free(ctx);
}

void analysis_run_user_rules(tn_advices *all, const tn_analysis *analysis) {
  json_t *rows = analysis->rules ? json_loads(analysis->rules, 0, NULL) : NULL;
  for (size_t k = 0; k < json_array_size(rows); ++k) {
    user_rule rule;
    if (read_rule(json_array_get(rows, k), &rule)) continue;
    analysis_rule as_rule = {.id = runtime_strdup(&all->arena, rule.id),
                             .label = runtime_strdup(&all->arena, rule.label)};
    proposer p = {.advices = all, .analysis = analysis, .rule = &as_rule, .threshold = rule.threshold};
    if (as_rule.id && as_rule.label)
      run_rule(&p, &rule);
    else
      all->failed = true;
  }
  json_decref(rows);
}

/* ---- where they stand -------------------------------------------------------------------------------------------- */

/* Replaces *PLACE by a copy of RULES, or by NULL; on failure nothing changes. */
static tn_status set_rules(tn_context *ctx, char **place, const char *rules) {
  if (rules && !check_rules(ctx, rules)) return TN_ERROR_ARGUMENT;
  char *copy = rules ? strdup(rules) : NULL;
  if (rules && !copy) return runtime_fail(ctx, TN_ERROR_MEMORY, "rules: out of memory");
  free(*place);
  *place = copy;
  return TN_OK;
}

tn_status tn_recording_set_rules(tn_context *ctx, tn_recording *recording, const char *rules) {
  return RUNTIME_GIVEN(ctx, recording) ? set_rules(ctx, &recording->rules, rules) : TN_ERROR_ARGUMENT;
}

tn_status tn_analysis_set_rules(tn_context *ctx, tn_analysis *analysis, const char *rules) {
  return RUNTIME_GIVEN(ctx, analysis) ? set_rules(ctx, &analysis->rules, rules) : TN_ERROR_ARGUMENT;
}
