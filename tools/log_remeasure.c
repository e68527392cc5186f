/* log_remeasure.c: `tenon log check --remeasure`: times the best records again, on this machine. */
#include <math.h>

#include "autotune/internal.h"
#include "tools/log.h"

/* Times that differ by less than this factor count as alike. A larger difference means another machine or
 * another load. */
#define ALIKE 1.15

/* A record and its new measurement, whose message and object are the holder's to free. */
typedef struct again {
  const tn_log_row *row;
  tn_measurement measured;
} again;

static bool is_measured(const again *a) { return a->measured.error == TN_MEASURE_NONE && a->measured.n_costs > 0; }

/* The median; the costs are sorted. */
static double cost_of(const again *a) { return a->measured.costs[a->measured.n_costs / 2]; }

/* Builds and times the record as a finalist: the whole output is compared, and a slow candidate is not
 * given up. False after a message; a failed candidate is no failure of this. */
static bool measure(const tn_builder *builder, const tn_runner *runner, again *a) {
  const tn_candidate candidate = {.program = a->row->program,
                                  .steps = a->row->steps,
                                  .target = a->row->target,
                                  .is_final = true,
                                  .packs_apart = runner->packs};
  if (builder->build(builder->self, 1, &candidate, &a->measured) != TN_OK) return false;
  return a->measured.error != TN_MEASURE_NONE || runner->run(runner->self, 1, &candidate, &a->measured) == TN_OK;
}

/* One line of the table. Returns the exit status. */
static int print_line(tools_session *session, const again *a) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%6d  %-16s  %10s  ", a->row->line, a->row->key, tools_time(a->row->cost_s).text);
  if (is_measured(a)) {
    double ratio = cost_of(a) / a->row->cost_s;
    runtime_str_addf(&text, "%10s  %6.2f  %s", tools_time(cost_of(a)).text, ratio,
                     ratio > ALIKE       ? "slower now"
                     : ratio < 1 / ALIKE ? "faster now"
                                         : "alike");
  } else {
    runtime_str_addf(&text, "%10s  %6s  %s", tn_measure_error_word(a->measured.error), "-",
                     a->measured.message ? a->measured.message : "");
  }
  if (!text.failed) return tools_print_text(text.data);
  runtime_str_free(&text);
  return tools_fail(session, "out of memory for a row of the table");
}

static json_t *line_object(const again *a) {
  return json_pack("{s:i, s:s, s:f, s:o, s:s}", "line", a->row->line, "key", a->row->key, "seconds_logged",
                   a->row->cost_s, "seconds", is_measured(a) ? json_real(cost_of(a)) : json_null(), "error",
                   tn_measure_error_word(a->measured.error));
}

/* Measures all records of this machine's target; others cannot run here. *N_FAILED counts those that could
 * not be measured. False after a message. */
static bool measure_all(tools_session *session, const tools_args *args, const tn_log_table *table, json_t *lines,
                        int *n_failed) {
  tn_builder builder;
  tn_runner runner;
  bool works = tn_workers_new(session->ctx, &(tn_worker_options){0}, &builder, &runner);
  for (int i = 0; works && i < table->n_rows; ++i) {
    again a = {.row = &table->rows[i]};
    if (!tools_log_same_target(session, a.row->target)) continue;
    works = measure(&builder, &runner, &a);
    if (works && args->is_json) json_array_append_new(lines, line_object(&a));
    if (works && !args->is_json) works = print_line(session, &a) == TOOLS_OK;
    *n_failed += !is_measured(&a);
    free(a.measured.message);
    free(a.measured.object);
  }
  if (builder.free) builder.free(builder.self);
  if (runner.free) runner.free(runner.self);
  return works;
}

int tools_log_remeasure(tools_session *session, const tools_args *args) {
  tn_log_table table;
  int n_failed = 0;
  if (tn_log_best(session->ctx, args->operands[1], NULL, &table) != TN_OK) return TOOLS_FAILED;
  json_t *lines = json_array();
  if (!args->is_json) printf("%6s  %-16s  %10s  %10s  %6s\n", "line", "program", "logged", "now", "ratio");
  bool measured = measure_all(session, args, &table, lines, &n_failed);
  tn_log_table_free(&table);
  int status = measured && n_failed == 0 ? TOOLS_OK : TOOLS_FAILED;
  if (args->is_json && measured) {
    int printed = tools_print_json(session, json_pack("{s:s, s:O}", "log", args->operands[1], "rows", lines));
    if (printed != TOOLS_OK) status = printed;
  }
  json_decref(lines);
  return measured && n_failed > 0 ? tools_fail(session, "%d records cannot be measured now", n_failed) : status;
}

/* ---- records of another compiler --------------------------------------------------------------------------------- */

/* Appends the measurement to the log as a trial, failed or not. False after a message. */
static bool append_measured(tools_session *session, const tools_args *args, const again *a) {
  autotune_record record = {0};
  const tn_candidate candidate = {
      .program = a->row->program, .steps = a->row->steps, .target = tn_target_text(session->target)};
  bool done = autotune_record_make(session->ctx, &candidate, session->program, session->target, &a->measured,
                                   &record) == TN_OK &&
              autotune_record_append(session->ctx, args->operands[1], &record) == TN_OK;
  autotune_record_free(&record);
  return done;
}

int tools_log_measure_best(tools_session *session, const tools_args *args) {
  tn_log_table table;
  tn_builder builder;
  tn_runner runner;
  if (tn_log_top(session->ctx, args->operands[1], tn_program_key(session->program), 1, &table) != TN_OK)
    return TOOLS_FAILED;
  int status = TOOLS_FAILED;
  if (table.n_rows == 0) {
    tools_fail(session, "%s has no time of this program", args->operands[1]);
  } else if (tn_workers_new(session->ctx, &(tn_worker_options){0}, &builder, &runner)) {
    tn_log_row here = table.rows[0];
    here.target = tn_target_text(session->target);
    again a = {.row = &here};
    bool done = measure(&builder, &runner, &a) && append_measured(session, args, &a);
    if (done && is_measured(&a) && !args->is_json)
      printf("line %d: %s there, %s here%s\n", here.line, tools_time(here.cost_s).text, tools_time(cost_of(&a)).text,
             a.measured.checked ? ", checked" : "");
    if (done && !is_measured(&a))
      tools_fail(session, "line %d cannot be measured here: %s", here.line,
                 a.measured.message ? a.measured.message : tn_measure_error_word(a.measured.error));
    if (done && is_measured(&a)) status = TOOLS_OK;
    free(a.measured.message);
    free(a.measured.object);
    builder.free(builder.self);
    runner.free(runner.self);
  }
  tn_log_table_free(&table);
  return status;
}
