/* log_work.c: `tenon log` show, stats, check, merge, compact, export and import. */
#include <math.h>
#include <time.h>

#include "autotune/log.h"
#include "tools/log.h"

bool tools_log_same_target(const tools_session *session, const char *target) {
  return autotune_same_target(target, tn_target_text(session->target));
}

/* ---- show --------------------------------------------------------------------------------------------------------- */

/* The line that `show` asks for, and its record once it is found. */
typedef struct wanted_line {
  int line;
  autotune_record record;
} wanted_line;

/* log_read asks before it parses a line: lines before the wanted one are passed over. */
static log_answer look(void *user, int line, const log_glance *glance, const char *text) {
  const wanted_line *w = user;
  (void)glance, (void)text;
  return line < w->line ? LOG_PASS : line == w->line ? LOG_READ : LOG_STOP;
}

/* Takes the wanted line's record over and stops. */
static bool visit(void *user, int line, autotune_record *record) {
  wanted_line *w = user;
  if (line != w->line) return line < w->line;
  w->record = *record;
  record->json = NULL;
  return false;
}

/* Adds the record's schedule as primitives, which `-s` takes. If the steps are refused now, a warning says why. */
static void add_schedule(tools_session *session, const autotune_record *record, runtime_str *out) {
  tn_program *program = tn_program_parse(session->ctx, record->program, 0, NULL);
  tn_schedule *schedule = program ? tn_schedule_new(program) : NULL;
  char *steps = json_dumps(record->steps, JSON_COMPACT);
  bool applied = schedule && steps && tn_schedule_replay(schedule, steps) == TN_OK;
  char *text = applied ? tn_schedule_print(schedule, TN_FORM_TEXT) : NULL;
  if (text && *text) runtime_str_addf(out, "schedule\n%s", text);
  if (text && !*text) runtime_str_add(out, "schedule\ndefault\n");
  free(text);
  free(steps);
  tn_schedule_free(schedule);
}

/* Adds what was measured, a line a fact. */
static void add_measured(const autotune_record *r, runtime_str *out) {
  double cost_s = autotune_record_cost(r);
  char day[32] = "";
  time_t time_s = (time_t)r->time_s;
  struct tm when;
  if (localtime_r(&time_s, &when)) strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &when);
  if (isfinite(cost_s))
    runtime_str_addf(out, "time      %s, the median of %d%s\n", tools_time(cost_s).text, r->n_costs,
                     r->checked ? "; the output was checked" : "; the output was not checked");
  else
    runtime_str_addf(out, "failed    %s: %s\n", tn_measure_error_word(r->error), r->message ? r->message : "");
  if (r->is_final) runtime_str_addf(out, "final     rank %d\n", r->rank);
  runtime_str_addf(out, "key       %s\ntarget    %s\nmeasured  %s, seed %llu, built in %s\n", r->key, r->target, day,
                   (unsigned long long)r->seed, tools_time(r->build_s).text);
}

/* Prints the record: as JSON the line itself, otherwise facts, program and schedule. Returns the exit status. */
static int print_record(tools_session *session, const tools_args *args, const autotune_record *record) {
  if (args->is_json) return tools_print_json(session, json_incref(record->json));
  runtime_str text = {0};
  add_measured(record, &text);
  runtime_str_addf(&text, "program\n%s", record->program);
  add_schedule(session, record, &text);
  while (!text.failed && text.n > 0 && text.data[text.n - 1] == '\n') text.data[--text.n] = '\0';
  if (!text.failed) return tools_print_text(text.data);
  runtime_str_free(&text);
  return tools_fail(session, "out of memory for a record");
}

int tools_log_show(tools_session *session, const tools_args *args) {
  char *end;
  long line = strtol(args->operands[2], &end, 10);
  if (end == args->operands[2] || *end || line < 1 || line > INT32_MAX)
    return tools_usage(args->verb, "show takes the number of a line, as best and top print it, not '%s'",
                       args->operands[2]);
  wanted_line wanted = {.line = (int)line};
  autotune_log_place start = {0};
  log_reading reading = {.look = look, .visit = visit, .user = &wanted};
  if (log_read(session->ctx, args->operands[1], &reading, &start) != TN_OK) return TOOLS_FAILED;
  if (!wanted.record.json)
    return tools_fail(session, "line %ld of %s is no record: `tenon log list` prints the numbers of those that are",
                      line, args->operands[1]);
  int status = print_record(session, args, &wanted.record);
  autotune_record_free(&wanted.record);
  return tn_context_status(session->ctx) == TN_OK ? status : TOOLS_FAILED;
}

/* ---- stats -------------------------------------------------------------------------------------------------------- */

/* All counts of a log. "errors" has the classes that occurred. */
static json_t *sum_object(const char *log, const tn_log_sum *s) {
  json_t *errors = json_object();
  for (int i = 1; i < TN_MEASURE_CLASSES; ++i)
    if (s->errors[i] > 0)
      json_object_set_new(errors, tn_measure_error_word((tn_measure_error)i), json_integer(s->errors[i]));
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:i, s:i, s:I, s:I, s:I, s:i, s:I, s:I}", "log", log,
                   "records", (json_int_t)s->records, "valid", (json_int_t)s->errors[0], "unchecked",
                   (json_int_t)s->unchecked, "finals", (json_int_t)s->finals, "events", (json_int_t)s->events, "errors",
                   errors, "strange", (json_int_t)s->strange, "programs", s->n_programs, "targets", s->n_targets,
                   "first", (json_int_t)s->first_s, "last", (json_int_t)s->last_s, "bytes", (json_int_t)s->bytes,
                   "wrong", s->n_wrong, "duplicates", (json_int_t)s->duplicates, "kept", (json_int_t)s->kept);
}

/* A moment in local time; nothing for 0, which means that there is none. */
static void print_day(const char *name, int64_t time_s) {
  char day[32] = "";
  time_t at = (time_t)time_s;
  struct tm when;
  if (time_s > 0 && localtime_r(&at, &when) && strftime(day, sizeof day, "%Y-%m-%d %H:%M", &when) > 0)
    printf("%s  %s\n", name, day);
}

static void print_sum(const tn_log_sum *s) {
  printf("records   %lld, of %d programs and %d targets\n", (long long)s->records, s->n_programs, s->n_targets);
  printf("valid     %lld, %lld of them not checked\n", (long long)s->errors[0], (long long)s->unchecked);
  for (int i = 1; i < TN_MEASURE_CLASSES; ++i)
    if (s->errors[i] > 0)
      printf("failed    %lld x %s\n", (long long)s->errors[i], tn_measure_error_word((tn_measure_error)i));
  printf("finals    %lld\nevents    %lld\n", (long long)s->finals, (long long)s->events);
  if (s->strange > 0) printf("skipped   %lld lines\n", (long long)s->strange);
  print_day("first   ", s->first_s);
  print_day("last    ", s->last_s);
  printf("bytes     %lld\n", (long long)s->bytes);
}

int tools_log_stats(tools_session *session, const tools_args *args) {
  tn_log_sum sum;
  tn_log_filter filter;
  if (!tools_log_filter(session, args, &filter)) return TOOLS_USAGE;
  bool has_filter = filter.key || filter.target || filter.error || filter.since_s || filter.until_s;
  if (tn_log_stats(session->ctx, args->operands[1], has_filter ? &filter : NULL, &sum) != TN_OK) return TOOLS_FAILED;
  if (args->is_json) return tools_print_json(session, sum_object(args->operands[1], &sum));
  print_sum(&sum);
  return TOOLS_OK;
}

/* ---- check -------------------------------------------------------------------------------------------------------- */

/* Checks every line, program and best record. A log with broken lines is still usable, but the exit status
 * tells a script. */
int tools_log_check(tools_session *session, const tools_args *args) {
  tn_log_sum sum;
  if (tn_log_check(session->ctx, args->operands[1], &sum) != TN_OK) return TOOLS_FAILED;
  if (args->remeasures) return tools_log_remeasure(session, args);
  int status = sum.strange + sum.n_wrong > 0 ? TOOLS_FAILED : TOOLS_OK;
  if (args->is_json) {
    int printed = tools_print_json(session, sum_object(args->operands[1], &sum));
    return printed == TOOLS_OK ? status : printed;
  }
  printf("%s: %lld records of %d programs, %lld lines that are none, %d records that are wrong\n", args->operands[1],
         (long long)sum.records, sum.n_programs, (long long)sum.strange, sum.n_wrong);
  return status;
}

/* ---- making logs -------------------------------------------------------------------------------------------------- */

/* What was written, for merge, compact, export and import. Returns the exit status. */
static int print_written(tools_session *session, const tools_args *args, const char *out, const tn_log_sum *sum) {
  if (args->is_json) return tools_print_json(session, sum_object(out, sum));
  printf("%s: %lld lines of %lld records, %lld finals and %lld events; %lld were there twice, %lld are no records\n",
         out, (long long)sum->kept, (long long)sum->records, (long long)sum->finals, (long long)sum->events,
         (long long)sum->duplicates, (long long)sum->strange);
  return TOOLS_OK;
}

/* Writes the lines of N logs that the filter lets through to OUT, each once. Returns the exit status. */
static int write_merged(tools_session *session, const tools_args *args, int n, const char *const *logs,
                        const char *out) {
  tn_log_sum sum;
  tn_log_filter filter;
  if (!tools_log_filter(session, args, &filter)) return TOOLS_USAGE;
  bool has_filter = filter.key || filter.target || filter.error || filter.since_s || filter.until_s;
  if (tn_log_merge(session->ctx, n, logs, has_filter ? &filter : NULL, out, &sum) != TN_OK) return TOOLS_FAILED;
  return print_written(session, args, out, &sum);
}

int tools_log_merge(tools_session *session, const tools_args *args) {
  return write_merged(session, args, args->n_operands - 1, args->operands + 1, args->output);
}

/* Exports records in TVM's format. */
static int export_tvm(tools_session *session, const tools_args *args) {
  tn_log_sum sum;
  tn_log_filter filter;
  if (!tools_log_filter(session, args, &filter)) return TOOLS_USAGE;
  if (tn_log_export_tvm(session->ctx, args->operands[1], &filter, args->workload, args->output, &sum) != TN_OK)
    return TOOLS_FAILED;
  if (sum.kept == 0)
    return tools_fail(session, "%s: none of its %lld records that are meant can be said to TVM", args->operands[1],
                      (long long)sum.records);
  if (args->is_json) return tools_print_json(session, sum_object(args->output, &sum));
  printf("%s: %lld records, %d are refused\n", args->output, (long long)sum.kept, sum.n_wrong);
  return TOOLS_OK;
}

int tools_log_export(tools_session *session, const tools_args *args) {
  if (args->to) return export_tvm(session, args);
  return write_merged(session, args, 1, args->operands + 1, args->output);
}

/* Imports records that TVM wrote, of the program that --program gives. */
static int import_tvm(tools_session *session, const tools_args *args) {
  int status = TOOLS_OK;
  const char *log = args->operands[1];
  for (int i = 2; i < args->n_operands && status == TOOLS_OK; ++i) {
    tn_log_sum sum;
    if (tn_log_import_tvm(session->program, args->operands[i], log, &sum) != TN_OK) return TOOLS_FAILED;
    if (sum.kept == 0) status = tools_fail(session, "%s: no record of it fits the program", args->operands[i]);
    if (status == TOOLS_OK && !args->is_json)
      printf("%s: %lld records of %s, %d are refused\n", log, (long long)sum.kept, args->operands[i], sum.n_wrong);
    if (status == TOOLS_OK && args->is_json) status = tools_print_json(session, sum_object(log, &sum));
  }
  return status == TOOLS_OK && args->remeasures ? tools_log_measure_best(session, args) : status;
}

int tools_log_import(tools_session *session, const tools_args *args) {
  if (args->from) return import_tvm(session, args);
  return write_merged(session, args, args->n_operands - 2, args->operands + 2, args->operands[1]);
}

int tools_log_compact(tools_session *session, const tools_args *args) {
  tn_log_sum sum;
  const char *out = args->output ? args->output : args->operands[1];
  if (tn_log_compact(session->ctx, args->operands[1], (int)args->limit, args->output, &sum) != TN_OK)
    return TOOLS_FAILED;
  return print_written(session, args, out, &sum);
}
