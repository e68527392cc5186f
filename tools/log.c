/* log.c: `tenon log`: shows what a log of records holds. The tables are here; log_work.c shows one record,
 * sums logs up, checks them and makes logs of logs. */
#include "tools/log.h"

#include <math.h>
#include <time.h>

#include "tools/report.h"

/* Records that top and list print where -n says nothing. */
enum { TOP_ROWS = 10 };

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("output", 'o', TEXT, output, "OUT",
                 "the file to write: report's page, the log of merge, compact and export"),
    TOOLS_OPTION("limit", 'n', COUNT, limit, "N",
                 "top, list: at most N records (10); compact: keep N of each program (16)"),
    TOOLS_OPTION("sort", 0, TEXT, sort, "ORDER", "list: by cost (the default), line, time or program"),
    TOOLS_OPTION("error", 0, TEXT, error, "CLASS",
                 "only records that failed so: compile, runtime, run_timeout, ...; any: all that\n"
                 "failed; none: all that did not"),
    TOOLS_OPTION("since", 0, TEXT, since, "DAY", "only records measured on YYYY-MM-DD or later"),
    TOOLS_OPTION("until", 0, TEXT, until, "DAY", "only records measured before YYYY-MM-DD"),
    TOOLS_OPTION("csv", 0, FLAG, is_csv, NULL, "best, top, list: as comma-separated values, a line of names first"),
    TOOLS_OPTION("from", 0, TEXT, from, "FORMAT", "import: the files' format, tvm (auto_scheduler's, v0.2 to v0.6)"),
    TOOLS_OPTION("to", 0, TEXT, to, "FORMAT", "export: the format of OUT, tvm (auto_scheduler's, v0.6)"),
    TOOLS_OPTION("workload", 0, TEXT, workload, "KEY",
                 "export --to tvm: TVM's workload key, a JSON list such as [\"matmul\", 128, 128, 128]"),
    TOOLS_OPTION("program", 0, TEXT, program, "PROGRAM", "import --from tvm: the program that the files are about"),
    TOOLS_OPTION("remeasure", 0, FLAG, remeasures, NULL,
                 "check: build and time the best records of this target again, and print both times;\n"
                 "import --from tvm: build and time the fastest of them here, and record it"),
    TOOLS_OPTION_TARGET,
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_END,
};

const tools_verb tools_log = {
    .name = "log",
    .operands =
        "best|top|list|show|stats|curve|report|check|merge|compact|export|import LOG... [PROGRAM] [-n N] [-o OUT]",
    .summary = "look into logs, check them, put them together",
    .details =
        "best LOG [PROGRAM]     the best checked record of each program and target, in order of their first\n"
        "                       appearance\n"
        "top LOG [PROGRAM]      the fastest valid records, fastest first\n"
        "list LOG [PROGRAM]     records by filters (--target, --error, --since, --until), in an order\n"
        "show LOG LINE          one record: its program, its schedule, what was measured\n"
        "stats LOG [PROGRAM]    how many records there are, of what, how many failed and why\n"
        "curve LOG [PROGRAM]    how the best time fell, candidate by candidate, drawn as text\n"
        "report LOG [PROGRAM]   a page to look at, one file that needs no network: curve, candidates with their\n"
        "                       schedules, the winner's loops beside the generic schedule's, time by phase,\n"
        "                       failures, the machine's limits\n"
        "check LOG              parse every line, every program and the steps of the best records; --remeasure\n"
        "merge LOG... -o OUT    all lines of the logs, each once, into OUT, whose own lines stay\n"
        "compact LOG [-n N]     keep the N fastest checked records of each program and target, and the winners;\n"
        "                       in place, or as OUT\n"
        "export LOG [PROGRAM] -o OUT   the lines that the filters mean; --to tvm: as records of TVM\n"
        "import LOG FILE...     add the lines of other logs to LOG; --from tvm --program P: records of TVM\n"
        "\n"
        "With PROGRAM only its records count. Lines that are no records are warned about by number; when logs\n"
        "are written the broken ones are left out. The exit status is 1 when there is nothing to print, or when\n"
        "check finds something. With --json each record has its program, target and steps.",
    .examples =
        "tenon log best matmul.json\n"
        "tenon log top matmul.json -n 3 --json\n"
        "tenon log list matmul.json --error any --sort time\n"
        "tenon log merge monday.json tuesday.json -o all.json\n"
        "tenon log compact all.json -n 8\n"
        "tenon log import gmm.json tvm.json --from tvm --program gmm.te --remeasure\n"
        "tenon log export tvm.json -o again.json --to tvm\n"
        "tenon log report matmul.json -o matmul.html",
    .options = options,
    .min_operands = 2,
    .max_operands = TOOLS_MAX_OPERANDS,
    .run = run,
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Midnight of the day in local time, in seconds of UNIX time; -1: TEXT is no day. */
static int64_t day_of(const char *text) {
  struct tm day = {.tm_isdst = -1};
  const char *end = strptime(text, "%Y-%m-%d", &day);
  return end && !*end ? (int64_t)mktime(&day) : -1;
}

/* Reads the day of an option; 0 where it was not given. False after a message. */
static bool take_day(const tools_args *args, const char *option, const char *text, int64_t *out) {
  *out = text ? day_of(text) : 0;
  if (*out >= 0) return true;
  tools_usage(args->verb, "--%s takes a day such as 2026-01-31, not '%s'", option, text);
  return false;
}

bool tools_log_filter(const tools_session *session, const tools_args *args, tn_log_filter *out) {
  *out = (tn_log_filter){.key = session->program ? tn_program_key(session->program) : NULL,
                         .target = args->target ? tn_target_text(session->target) : NULL,
                         .error = args->error};
  return take_day(args, "since", args->since, &out->since_s) && take_day(args, "until", args->until, &out->until_s);
}

/* Reads the rows that the word asks for: the best of each program, the fastest, or those that the filter
 * lets through. */
static tn_status read_table(tools_session *session, const tools_args *args, const tn_log_filter *filter,
                            tn_log_table *out) {
  const char *what = args->operands[0], *log = args->operands[1];
  int limit = args->limit ? (int)args->limit : TOP_ROWS;
  if (strcmp(what, "best") == 0) return tn_log_best(session->ctx, log, filter->key, out);
  if (strcmp(what, "top") == 0) return tn_log_top(session->ctx, log, filter->key, limit, out);
  int order = args->sort ? tn_log_order_find(args->sort) : TN_LOG_BY_COST;
  return tn_log_select(session->ctx, log, filter, (tn_log_order)order, limit, out);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* The row's program. NULL when it cannot be read any more, or memory ran out, which the context says.
 * tn_program_... of NULL is 0, so callers need no test. */
static const tn_program *row_program(tools_session *session, const tn_log_row *row) {
  runtime_quiet quiet = runtime_quiet_begin(session->ctx);
  const tn_program *program = tn_program_parse(session->ctx, row->program, 0, NULL);
  runtime_quiet_end(&quiet);
  return program;
}

/* Adds the program's first 60 characters or so on one line, without its input line. */
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

/* Prints one row. A log is data from outside: tools_print_text replaces control characters, so that they do
 * not reach the terminal. */
static int print_row(tools_session *session, const tn_log_row *row) {
  char day[32] = "";
  time_t time_s = (time_t)row->time_s;
  struct tm when;
  bool failed = isinf(row->cost_s);
  if (localtime_r(&time_s, &when)) strftime(day, sizeof day, "%Y-%m-%d %H:%M", &when);
  runtime_str line = {0};
  runtime_str_addf(&line, "%6d  %-16s  %10s  %10s  %-7s  %-16s  ", row->line, row->key,
                   failed ? tn_measure_error_word(row->error) : tools_time(row->cost_s).text,
                   failed ? "-" : tools_rate(row_program(session, row), row->cost_s).text, row->checked ? "yes" : "no",
                   day);
  add_program(&line, row->program);
  if (!line.failed) return tools_print_text(line.data);
  runtime_str_free(&line);
  return tools_fail(session, "out of memory for a row of the table");
}

/* Adds TEXT in quotes, with the quotes in it doubled (RFC 4180). */
static void add_quoted(runtime_str *out, const char *text) {
  runtime_str_add(out, "\"");
  for (const char *c = text; *c; ++c) runtime_str_addn(out, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
  runtime_str_add(out, "\"");
}

/* Prints the table as CSV. A missing time is an empty field. */
static int print_csv(tools_session *session, const tn_log_table *table) {
  printf("line,key,seconds,gflops,error,checked,time,target,program\n");
  for (int i = 0; i < table->n_rows; ++i) {
    const tn_log_row *row = &table->rows[i];
    runtime_str line = {0};
    runtime_str_addf(&line, "%d,", row->line);
    add_quoted(&line, row->key);
    if (isfinite(row->cost_s))
      runtime_str_addf(&line, ",%.9g,%.6g", row->cost_s,
                       tools_gflops(tn_program_flops(row_program(session, row)), row->cost_s));
    else
      runtime_str_add(&line, ",,");
    runtime_str_addf(&line, ",%s,%s,%lld,", tn_measure_error_word(row->error), row->checked ? "true" : "false",
                     (long long)row->time_s);
    add_quoted(&line, row->target);
    runtime_str_add(&line, ",");
    add_quoted(&line, row->program);
    bool failed = line.failed;
    if (!failed) fwrite(line.data, 1, line.n, stdout);
    if (!failed) putchar('\n');
    runtime_str_free(&line);
    if (failed) return tools_fail(session, "out of memory for a row of the table");
  }
  return tn_context_status(session->ctx) == TN_OK ? TOOLS_OK : TOOLS_FAILED;
}

/* Prints the table as text. A program that cannot be parsed any more is printed with a rate of 0. */
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

/* A row as JSON. Steps that are no JSON become an empty list. */
static json_t *row_object(tools_session *session, const tn_log_row *row) {
  json_t *steps = json_loads(row->steps, JSON_DECODE_ANY, NULL);
  const tn_program *program = row_program(session, row);
  return json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:f, s:f, s:b, s:I, s:s}", "line", row->line, "key", row->key,
                   "program", row->program, "target", row->target, "steps", steps ? steps : json_array(), "seconds",
                   isfinite(row->cost_s) ? json_real(row->cost_s) : json_null(), "gflops",
                   tools_gflops(tn_program_flops(program), row->cost_s), "gbytes_per_s",
                   tools_gflops(tn_program_bytes(program), row->cost_s), "checked", row->checked, "time",
                   (json_int_t)row->time_s, "error", tn_measure_error_word(row->error));
}

/* The table as JSON, with the counts of the whole log. */
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
        strcmp(args->operands[0], "best") == 0  ? "valid and checked"
        : strcmp(args->operands[0], "top") == 0 ? "valid"
                                                : "such",
        args->n_operands > 2 ? " of this program" : "", table->n_records + table->n_others, table->n_failed,
        table->n_others == 0 ? "" : runtime_format(&session->ctx->arena, ", %d of other programs", table->n_others),
        table->n_skipped);
  if (args->is_csv) return print_csv(session, table);
  return args->is_json ? print_object(session, args, table) : print_plain(session, args, table);
}

/* Runs best, top and list. */
static int run_table(tools_session *session, const tools_args *args) {
  tn_log_table table = {0};
  tn_log_filter filter;
  int status = TOOLS_FAILED;
  if (!tools_log_filter(session, args, &filter)) return TOOLS_USAGE;
  if (read_table(session, args, &filter, &table) == TN_OK) status = print_table(session, args, &table);
  tn_log_table_free(&table);
  return status;
}

static int run_curve(tools_session *session, const tools_args *args) {
  return tools_print_curve(session, args->operands[1]);
}

static int run_report(tools_session *session, const tools_args *args) {
  return tools_write_report(session, args->operands[1], args->output);
}

/* ---- the words after `tenon log` --------------------------------------------------------------------------------- */

/* One of them. `filters`: --error, --since and --until apply; `sorts`: --sort applies. Where it takes a
 * program, that is the last operand. */
static const struct word {
  const char *name;
  bool takes_program, filters, sorts, is_table;
  const char *output; /* how the file that it writes is given; NULL: it needs none */
  int least, most;    /* operands behind the word, the log included; most 0: no limit */
  int (*run)(tools_session *session, const tools_args *args);
} words[] = {
    {"best", true, false, false, true, NULL, 1, 2, run_table},
    {"top", true, false, false, true, NULL, 1, 2, run_table},
    {"list", true, true, true, true, NULL, 1, 2, run_table},
    {"show", false, false, false, false, NULL, 2, 2, tools_log_show},
    {"stats", true, true, false, false, NULL, 1, 2, tools_log_stats},
    {"curve", true, false, false, false, NULL, 1, 2, run_curve},
    {"report", true, false, false, false, "report LOG -o OUT.html", 1, 2, run_report},
    {"check", false, false, false, false, NULL, 1, 1, tools_log_check},
    {"merge", false, true, false, false, "merge LOG... -o OUT", 1, 0, tools_log_merge},
    {"compact", false, false, false, false, NULL, 1, 1, tools_log_compact},
    {"export", true, true, false, false, "export LOG -o OUT", 1, 2, tools_log_export},
    {"import", false, false, false, false, NULL, 2, 0, tools_log_import},
};

/* An unknown word: suggests the nearest, or lists all. */
static int refuse_word(const tools_args *args) {
  runtime_nearest nearest = runtime_nearest_to(args->operands[0]);
  runtime_str text = {0};
  for (int i = 0; i < RUNTIME_COUNT(words); ++i) {
    runtime_nearest_offer(&nearest, words[i].name);
    runtime_str_addf(&text, "%s%s", i == 0 ? "" : i + 1 == RUNTIME_COUNT(words) ? " or " : ", ", words[i].name);
  }
  int status =
      nearest.word
          ? tools_usage(args->verb, "there is no '%s'; did you mean '%s'?", args->operands[0], nearest.word)
          : tools_usage(args->verb, "there is no '%s': write %s", args->operands[0], text.failed ? "best" : text.data);
  runtime_str_free(&text);
  return status;
}

/* Refuses options that the word would ignore, and wrong numbers of operands. Returns the exit status. */
static int check_word(const tools_args *args, const struct word *word) {
  int n = args->n_operands - 1;
  const char *filter = args->error ? "error" : args->since ? "since" : args->until ? "until" : NULL;
  if (n < word->least || (word->most > 0 && n > word->most))
    return tools_usage(args->verb, "%s takes %d to %d operands, not %d", word->name, word->least,
                       word->most > 0 ? word->most : TOOLS_MAX_OPERANDS - 1, n);
  if (word->output && !args->output) return tools_usage(args->verb, "which file? %s", word->output);
  if (filter && !word->filters) return tools_usage(args->verb, "--%s is for list, stats, merge and export", filter);
  if (args->sort && !word->sorts) return tools_usage(args->verb, "--sort is for list");
  if (args->sort && tn_log_order_find(args->sort) < 0)
    return tools_usage(args->verb, "--sort is cost, line, time or program, not '%s'", args->sort);
  if (args->is_csv && !word->is_table) return tools_usage(args->verb, "--csv is for best, top and list");
  bool is_tvm = strcmp(word->name, "import") == 0 && args->from;
  if (args->remeasures && strcmp(word->name, "check") != 0 && !is_tvm)
    return tools_usage(args->verb, "--remeasure is for check, and for import --from tvm");
  if (args->from && (!is_tvm || strcmp(args->from, "tvm") != 0))
    return tools_usage(args->verb, "--from is for import, and takes tvm, not '%s'", args->from);
  bool is_export = strcmp(word->name, "export") == 0;
  if (args->to && (!is_export || strcmp(args->to, "tvm") != 0))
    return tools_usage(args->verb, "--to is for export, and takes tvm, not '%s'", args->to);
  if (args->workload && !args->to) return tools_usage(args->verb, "--workload is for export --to tvm");
  if (!args->from != !args->program) return tools_usage(args->verb, "--from tvm and --program belong together");
  return TOOLS_OK;
}

static int run(const tools_args *args) {
  const struct word *word = RUNTIME_ROW(words, args->operands[0]);
  if (!word) return refuse_word(args);
  int status = check_word(args, word);
  if (status != TOOLS_OK) return status;
  tools_session session;
  status = TOOLS_FAILED;
  bool has_program = word->takes_program && args->n_operands > 2;
  const char *program = has_program ? args->operands[2] : args->program;
  if (tools_open(&session, args) && (!program || tools_load(&session, args, program)))
    status = word->run(&session, args);
  tools_close(&session);
  return status;
}
