/* propose.c: the proposer: runs the rules in order with their thresholds, keeps what they say, and prints it. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "profile/analysis.h"

static const analysis_rule *const rule_lists[] = {analysis_rules_tuner, analysis_rules_kernel};

/* The lists count as one list. NULL after the last rule ends a caller's loop. */
static const analysis_rule *rule_at(int k) {
  for (int i = 0; k >= 0 && i < RUNTIME_COUNT(rule_lists); ++i) {
    for (const analysis_rule *rule = rule_lists[i]; rule->id; ++rule) {
      if (k-- == 0) return rule;
    }
  }
  return NULL;
}

const char *tn_advise_rule(int k, double *threshold) {
  const analysis_rule *rule = rule_at(k);
  if (rule && threshold) *threshold = rule->threshold;
  return rule ? rule->id : NULL;
}

/* ---- what rules call --------------------------------------------------------------------------------------------- */

/* A failure is kept in the advices, so rules need not check for memory. */
void analysis_say(proposer *p, const char *subject, double value, const char *fmt, ...) {
  tn_advices *all = p->advices;
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  tn_advice advice = {.rule = p->rule->id, .label = p->rule->label, .value = value, .threshold = p->threshold};
  advice.subject = runtime_strdup(&all->arena, subject);
  advice.text = runtime_str_take(&text, &all->arena);
  if (!advice.subject || !advice.text || !RUNTIME_PUSH(&all->items, advice)) all->failed = true;
}

bool analysis_said(const proposer *p, const char *rule) {
  for (int i = 0; i < p->advices->items.n; ++i) {
    if (strcmp(p->advices->items.data[i].rule, rule) == 0) return true;
  }
  return false;
}

/* NULL if the analysis was read from a directory without that table. */
const tn_rows *analysis_rows_of(const proposer *p, const char *table) {
  return p->analysis->tables[analysis_table_find(table)];
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* A misspelt rule name is refused, because its threshold would be ignored silently. */
static bool check_options(tn_context *ctx, const json_t *options) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)options, name, value) {
    const analysis_rule *rule = NULL;
    for (int k = 0; (rule = rule_at(k)) && strcmp(rule->id, name) != 0;) ++k;
    if (!rule) {
      runtime_fail(ctx, TN_ERROR_ARGUMENT, "advise: there is no rule '%s'", name);
      return false;
    }
    if (!json_is_number(value) && !json_is_null(value)) {
      runtime_fail(ctx, TN_ERROR_ARGUMENT, "advise: the threshold of '%s' is a number, or null to turn it off", name);
      return false;
    }
  }
  return true;
}

/* A rule whose table is missing is skipped. Order matters: a rule may ask whether an earlier one spoke. */
static void run_rules(tn_advices *all, const tn_analysis *analysis, const json_t *options) {
  for (int k = 0; rule_at(k); ++k) {
    proposer p = {.advices = all, .analysis = analysis, .rule = rule_at(k)};
    const json_t *threshold = json_object_get(options, p.rule->id);
    const tn_rows *rows = analysis_rows_of(&p, p.rule->table);
    if (!rows || (threshold && json_is_null(threshold))) continue;
    p.threshold = threshold ? json_number_value(threshold) : p.rule->threshold;
    p.rule->check(&p, rows);
  }
}

/* OPTIONS: {"rule": threshold, or null to leave the rule out}. NULL with a message. The advices refer to
 * ANALYSIS's tables. */
tn_advices *tn_advise(tn_context *ctx, const tn_analysis *analysis, const char *options) {
  json_error_t error;
  if (!RUNTIME_GIVEN(ctx, analysis)) return NULL;
  json_t *root = json_loads(options && *options ? options : "{}", 0, &error);
  if (!json_is_object(root)) {
    json_decref(root);
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "advise: options are a JSON object of thresholds by rule"), NULL;
  }
  tn_advices *all = NULL;
  if (check_options(ctx, root)) {
    all = calloc(1, sizeof *all);
    if (all) {
      all->phases = analysis->tables[ANALYSIS_phase];
      run_rules(all, analysis, root);
      analysis_run_user_rules(all, analysis);
    }
    if (!all || all->failed) {
      tn_advices_free(all), all = NULL;
      runtime_fail(ctx, TN_ERROR_MEMORY, "advise: out of memory");
    }
  }
  json_decref(root);
  return all;
}

const tn_advice *tn_advices_at(const tn_advices *advices, int *n) {
  if (n) *n = advices ? advices->items.n : 0;
  return advices ? advices->items.data : NULL;
}

void tn_advices_free(tn_advices *advices) {
  if (!advices) return;
  RUNTIME_VEC_FREE(&advices->items);
  runtime_arena_free(&advices->arena);
  free(advices);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* The row of the largest phase; -1: unknown. */
static int largest_phase(const tn_rows *phases) {
  int largest = -1;
  for (int i = 0; i < tn_rows_count(phases); ++i) {
    if (largest < 0 || analysis_number(phases, i, "total_ns") > analysis_number(phases, largest, "total_ns"))
      largest = i;
  }
  return largest;
}

/* The phases of a tuning run, or else the outermost scopes by name; nothing without scopes. */
static void print_phases(const tn_rows *phases, runtime_str *out) {
  int largest = largest_phase(phases);
  if (largest < 0) return;
  runtime_str_addf(out, "largest phase: %s, %.1f %% of the time\n", analysis_text(phases, largest, "phase"),
                   analysis_number(phases, largest, "share") * 100);
  for (int i = 0; i < phases->n; ++i)
    runtime_str_addf(out, "  %-10s %10.3f s  %5.1f %%\n", analysis_text(phases, i, "phase"),
                     analysis_number(phases, i, "total_ns") * 1e-9, analysis_number(phases, i, "share") * 100);
}

/* The caller frees the text; NULL when out of memory. */
static char *print_text(const tn_advices *all) {
  runtime_str out = {0};
  print_phases(all->phases, &out);
  for (int i = 0; i < all->items.n; ++i) {
    const tn_advice *a = &all->items.data[i];
    runtime_str_addf(&out, "%s (%s): %s\n", a->rule, a->label, a->text);
  }
  if (all->items.n == 0) runtime_str_add(&out, "nothing stands out\n");
  if (out.failed) runtime_str_free(&out);
  return out.data;
}

/* JSON has neither infinity nor NaN. */
static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* As print_text. A subject without a number, and a share of nothing, become null. */
static char *print_json(const tn_advices *all) {
  json_t *phases = json_object(), *list = json_array();
  int largest = largest_phase(all->phases);
  for (int i = 0; i < tn_rows_count(all->phases); ++i)
    json_object_set_new(phases, analysis_text(all->phases, i, "phase"),
                        number(analysis_number(all->phases, i, "share")));
  for (int i = 0; i < all->items.n; ++i) {
    const tn_advice *a = &all->items.data[i];
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:s, s:{s:o, s:o}, s:s}", "rule", a->rule, "label", a->label, "subject", a->subject,
                        "values", "value", number(a->value), "threshold", number(a->threshold), "text", a->text));
  }
  json_t *root =
      json_pack("{s:o, s:o, s:o}", "phases", phases, "largest_phase",
                largest < 0 ? json_null() : json_string(analysis_text(all->phases, largest, "phase")), "advice", list);
  char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
  json_decref(root);
  return text;
}

char *tn_advices_text(const tn_advices *advices, bool is_json) {
  if (!advices) return NULL;
  return is_json ? print_json(advices) : print_text(advices);
}
