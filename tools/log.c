/* log.c: `tenon log`: what a log of records holds. */
#include <time.h>

#include "tools/report.h"

enum { TOP_ROWS = 10 };

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("output", 'o', TEXT, output, "OUT.html", "report: the page to write"),
    TOOLS_OPTION("limit", 'n', COUNT, limit, "N", "top: print at most N records (10)"),
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_END,
};

const tools_verb tools_log = {
    .name = "log",
    .operands = "best|top|curve|report LOG [PROGRAM] [-n N] [-o OUT.html] [--json]",
    .summary = "print the best records of a log",
    .details =
        "best  the best checked record of each program and target, in order of their first appearance\n"
        "top   the fastest valid records, fastest first\n"
        "curve how the best time fell, candidate by candidate, drawn as text\n"
        "report a page to look at, one file that needs no network: curve, candidates with their schedules, the\n"
        "      winner's loops beside the generic schedule's, time by phase, failures, the machine's limits\n"
        "\n"
        "With PROGRAM only its records count. Lines that are no records are warned about by number. The exit\n"
        "status is 1 when there is nothing to print. With --json each record has its program, target and steps.",
    .examples =
        "tenon log best matmul.json\n"
        "tenon log top matmul.json -n 3 --json\n"
        "tenon log report matmul.json -o matmul.html",
    .options = options,
    .min_operands = 2,
    .max_operands = 3,
    .run = run,
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef tn_status (*table_reader)(tools_session *session, const tools_args *args, const char *key, tn_log_table *out);

/* One row a program. */
static tn_status read_best(tools_session *session, const tools_args *args, const char *key, tn_log_table *out) {
  return tn_log_best(session->ctx, args->operands[1], key, out);
}

/* The fastest of one program; without --limit, TOP_ROWS. */
static tn_status read_top(tools_session *session, const tools_args *args, const char *key, tn_log_table *out) {
  int limit = args->limit ? (int)args->limit : TOP_ROWS;
  return tn_log_top(session->ctx, args->operands[1], key, limit, out);
}

/* NULL for the operands that print no table. */
static table_reader find_reader(const char *name) {
  static const struct {
    const char *name;
    table_reader read;
  } readers[] = {{"best", read_best}, {"top", read_top}};
  int i = RUNTIME_FIND(readers, name);
  return i < 0 ? NULL : readers[i].read;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* The program of a record; NULL when it cannot be read any more, or there was no memory, which is said: all its counts
 * are 0. */
static const tn_program *row_program(tools_session *session, const tn_log_row *row) {
  runtime_quiet quiet = runtime_quiet_begin(session->ctx);
  const tn_program *program = tn_program_parse(session->ctx, row->program, 0, NULL);
  runtime_quiet_end(&quiet);
  return program;
}

/* Adds the program on one line, without what it declares. */
static void add_program(runtime_str *line, const char *text) {
  enum { SHOWN = 60 };
  if (strncmp(text, "input ", 6) == 0) text += strcspn(text, "\n");
  text += *text == '\n';
  for (size_t end = line->n + SHOWN; *text && line->n < end; ++text) {
    if (*text != '\n') runtime_str_addn(line, text, 1);
    if (*text == '\n' && text[1]) runtime_str_add(line, "; ");
    if (line->failed) return;
  }
  runtime_str_add(line, *text ? "..." : "");
}

/* Control characters of a log, which is data from outside, do not reach the terminal: tools_print_text
 * replaces them. */
static int print_row(tools_session *session, const tn_log_row *row) {
  char day[32] = "";
  time_t time_s = (time_t)row->time_s;
  struct tm when;
  if (localtime_r(&time_s, &when)) strftime(day, sizeof day, "%Y-%m-%d %H:%M", &when);
  runtime_str line = {0};
  runtime_str_addf(&line, "%6d  %-16s  %10s  %10s  %-7s  %-16s  ", row->line, row->key, tools_time(row->cost_s).text,
                   tools_rate(row_program(session, row), row->cost_s).text, row->checked ? "yes" : "no", day);
  add_program(&line, row->program);
  if (!line.failed) return tools_print_text(line.data);
  runtime_str_free(&line);
  return tools_fail(session, "out of memory for a row of the table");
}

/* A program that cannot be parsed any more has a rate of 0, but is printed. */
static int print_plain(tools_session *session, const tools_args *args, const tn_log_table *table) {
  printf("%6s  %-16s  %10s  %10s  %-7s  %-16s  %s\n", "line", "program", "time", "GFLOPS", "checked", "measured",
         "text");
  int status = TOOLS_OK;
  for (int i = 0; i < table->n_rows && status == TOOLS_OK; ++i) status = print_row(session, &table->rows[i]);
  printf("%s: %d records, %d of them failed, of %d programs", args->operands[1], table->n_records, table->n_failed,
         table->n_programs);
  if (table->n_skipped) printf("; %d lines skipped", table->n_skipped);
  printf("\n");
  return tn_context_status(session->ctx) == TN_OK ? status : TOOLS_FAILED;
}

/* Steps that are no JSON become an empty list, so that the output is always JSON. */
static json_t *row_object(tools_session *session, const tn_log_row *row) {
  json_t *steps = json_loads(row->steps, JSON_DECODE_ANY, NULL);
  const tn_program *program = row_program(session, row);
  return json_pack("{s:i, s:s, s:s, s:s, s:o, s:f, s:f, s:f, s:b, s:I}", "line", row->line, "key", row->key, "program",
                   row->program, "target", row->target, "steps", steps ? steps : json_array(), "seconds", row->cost_s,
                   "gflops", tools_gflops(tn_program_flops(program), row->cost_s), "gbytes_per_s",
                   tools_gflops(tn_program_bytes(program), row->cost_s), "checked", row->checked, "time",
                   (json_int_t)row->time_s);
}

static int print_object(tools_session *session, const tools_args *args, const tn_log_table *table) {
  json_t *rows = json_array();
  for (int i = 0; i < table->n_rows; ++i) json_array_append_new(rows, row_object(session, &table->rows[i]));
  json_t *object =
      json_pack("{s:s, s:o, s:i, s:i, s:i, s:i}", "log", args->operands[1], "rows", rows, "records", table->n_records,
                "failed", table->n_failed, "programs", table->n_programs, "skipped", table->n_skipped);
  if (tn_context_status(session->ctx) != TN_OK) return json_decref(object), TOOLS_FAILED;
  return tools_print_json(session, object);
}

/* An empty table is a failure with the reason, so that a script can test for it. */
static int print_table(tools_session *session, const tools_args *args, const tn_log_table *table) {
  if (table->n_rows == 0)
    return tools_fail(
        session, "%s holds no %s record%s (%d records, %d of them failed%s, %d lines skipped)", args->operands[1],
        strcmp(args->operands[0], "best") == 0 ? "valid and checked" : "valid",
        args->n_operands > 2 ? " of this program" : "", table->n_records + table->n_others, table->n_failed,
        table->n_others == 0 ? "" : runtime_format(&session->ctx->arena, ", %d of other programs", table->n_others),
        table->n_skipped);
  return args->is_json ? print_object(session, args, table) : print_plain(session, args, table);
}

/* The verbs that print a table. */
static int run_table(tools_session *session, const tools_args *args, table_reader read) {
  tn_log_table table = {0};
  const char *key = session->program ? tn_program_key(session->program) : NULL;
  int status = TOOLS_FAILED;
  if (read(session, args, key, &table) == TN_OK) status = print_table(session, args, &table);
  tn_log_table_free(&table);
  return status;
}

static int run(const tools_args *args) {
  const char *verb = args->operands[0];
  table_reader read = find_reader(verb);
  bool is_curve = strcmp(verb, "curve") == 0, is_report = strcmp(verb, "report") == 0;
  if (!read && !is_curve && !is_report)
    return tools_usage(args->verb, "there is no '%s': write best, top, curve or report", verb);
  if (is_report && !args->output) return tools_usage(args->verb, "which page? report LOG -o OUT.html");
  tools_session session;
  int status = TOOLS_FAILED;
  if (tools_open(&session, args) && (args->n_operands < 3 || tools_load(&session, args, args->operands[2])))
    status = is_curve    ? tools_print_curve(&session, args->operands[1])
             : is_report ? tools_write_report(&session, args->operands[1], args->output)
                         : run_table(&session, args, read);
  tools_close(&session);
  return status;
}
