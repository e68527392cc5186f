/* report.c: reads a log (docs/records.md) and gathers what its page shows as one JSON object, which
 * tools/page draws. Each record is looked at alone, and what it lacks is left out. */
#include "tools/report.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "runtime/new_file.h"
#include "tools/vendor.h"

/* What the page is about, and what was gathered. It owns the JSON values until they are in the page. */
typedef struct report {
  tools_session *session;
  const char *log;
  char key[32];
  json_t *trials, *finals, *phases, *failures;
  json_int_t first_s; /* when the run began, in UNIX time */
  int n_trials;
} report;

/* ---- records ------------------------------------------------------------------------------------------------------ */

/* A record's text; "" where the field is missing, as in older logs. Never NULL. */
static const char *text_of(const json_t *record, const char *field) {
  const char *text = json_string_value(json_object_get(record, field));
  return text ? text : "";
}

/* Median seconds of a record's costs; 0: it failed. */
static double cost_of(const json_t *record) {
  enum { MOST = 16 };
  double costs[MOST];
  const json_t *array = json_object_get(record, "costs");
  int n = (int)RUNTIME_MIN(json_array_size(array), (size_t)MOST);
  for (int i = 0; i < n; ++i) costs[i] = json_number_value(json_array_get(array, (size_t)i));
  runtime_sort(costs, n);
  return n > 0 ? runtime_quantile(costs, n, 0.5) : 0;
}

/* The family of the record's first plan; "default" without steps, "steps" without a plan. */
static const char *family_of(const json_t *record) {
  const json_t *plan = json_array_get(json_object_get(record, "plan"), 0);
  if (json_array_size(json_object_get(record, "steps")) == 0) return "default";
  return *text_of(plan, "family") ? text_of(plan, "family") : "steps";
}

/* The schedule of the record's steps as text, malloc'ed; "" where they are refused now. */
static char *schedule_text(const report *r, const json_t *record) {
  runtime_quiet quiet = runtime_quiet_begin(r->session->ctx);
  tn_schedule *schedule = tn_schedule_new(r->session->program);
  char *steps = json_dumps(json_object_get(record, "steps"), JSON_COMPACT), *text = NULL;
  if (schedule && steps && tn_schedule_replay(schedule, steps) == TN_OK)
    text = tn_schedule_print(schedule, TN_FORM_TEXT);
  runtime_quiet_end(&quiet);
  free(steps);
  return text ? text : strdup("");
}

/* Adds to the sum of that name. Sums stay in the order in which names occurred first. */
static void add_to(json_t *object, const char *name, double value) {
  json_object_set_new(object, name, json_real(json_number_value(json_object_get(object, name)) + value));
}

/* Adds the seconds of the trial's phases; older logs have none. */
static void add_phases(report *r, const json_t *record) {
  const char *name;
  json_t *value;
  json_object_foreach(json_object_get(record, "phases"), name, value) add_to(r->phases, name, json_number_value(value));
}

/* Counts a failure of a class, and keeps the message of the first. */
static void add_failure(report *r, const json_t *record, const char *error) {
  json_t *class = json_object_get(r->failures, error);
  if (!class) {
    class = json_pack("{s:i, s:s}", "n", 0, "sample", text_of(record, "message"));
    json_object_set_new(r->failures, error, class);
  }
  json_object_set_new(class, "n", json_integer(json_integer_value(json_object_get(class, "n")) + 1));
}

/* Finals, which time the best again, are listed apart and are not counted as trials. */
static void add_record(report *r, const json_t *record) {
  const char *error = text_of(record, "error");
  bool is_final = json_is_true(json_object_get(record, "final"));
  bool failed = strcmp(error, "none") != 0;
  json_int_t time_s = json_integer_value(json_object_get(record, "time"));
  if (r->first_s == 0 || time_s < r->first_s) r->first_s = time_s;
  char *text = schedule_text(r, record);
  json_t *row = json_pack("{s:i, s:I, s:f, s:s, s:s, s:s, s:b, s:i}", "n", is_final ? 0 : ++r->n_trials, "time", time_s,
                          "seconds", failed ? 0 : cost_of(record), "error", error, "family", family_of(record), "text",
                          text ? text : "", "early", json_is_true(json_object_get(record, "ended_early")), "rank",
                          (int)json_integer_value(json_object_get(record, "rank")));
  free(text);
  json_array_append_new(is_final ? r->finals : r->trials, row);
  if (failed && !is_final) add_failure(r, record, error);
  add_phases(r, record);
}

/* Adds the line's record if it is one of the program; any other line is passed over. */
static void add_line(report *r, const char *line) {
  json_t *record = json_loads(line, 0, NULL);
  if (strcmp(text_of(record, "key"), r->key) == 0 && json_is_array(json_object_get(record, "steps")))
    add_record(r, record);
  json_decref(record);
}

/* Calls TAKE with each line of the log. False after a message. */
static bool each_line(report *r, void (*take)(report *r, const char *line)) {
  FILE *file = fopen(r->log, "re");
  char *line = NULL;
  size_t room = 0;
  if (!file) return tools_fail(r->session, "%s cannot be read: %s", r->log, strerror(errno)), false;
  while (getline(&line, &room, file) >= 0) take(r, line);
  bool read = !ferror(file);
  free(line);
  fclose(file);
  return read || (tools_fail(r->session, "%s cannot be read to its end", r->log), false);
}

/* Keeps the program of the last record so far as the session's. */
static void find_last(report *r, const char *line) {
  json_t *record = json_loads(line, 0, NULL);
  const char *program = text_of(record, "program");
  if (*program && strcmp(text_of(record, "key"), r->key) != 0) {
    tn_program *parsed = tn_program_parse(r->session->ctx, program, 0, NULL);
    if (parsed) r->session->program = parsed;
    if (parsed) snprintf(r->key, sizeof r->key, "%s", tn_program_key(parsed));
  }
  json_decref(record);
}

/* ---- the page's data ---------------------------------------------------------------------------------------------- */

/* The most that the target's threads can do on this machine, measured now. A limit that cannot be measured
 * is left out. */
static json_t *limits(const report *r) {
  char why[VENDOR_TEXT];
  vendor_kernel kernel = {0};
  double work = 0, rates[2] = {0}, bytes = tn_program_bytes(r->session->program);
  int threads = tn_target_threads(r->session->target);
  if (vendor_limit_arithmetic(tools_vendor_number(r->session->program), threads, &kernel, &work, why))
    rates[0] = vendor_limit_rate(&kernel, work, false);
  vendor_kernel_free(&kernel);
  if (vendor_limit_reading(bytes, threads, &kernel, &work, why)) rates[1] = vendor_limit_rate(&kernel, work, false);
  vendor_kernel_free(&kernel);
  return json_pack("{s:f, s:f}", "flops", rates[0], "bytes", rates[1]);
}

/* The loop tree of a schedule as a JSON string; null without a schedule. */
static json_t *tree(tn_schedule *schedule) {
  char *text = schedule ? tn_schedule_print(schedule, TN_FORM_TREE) : NULL;
  json_t *json = text ? json_string(text) : json_null();
  free(text);
  return json;
}

/* The generic schedule; NULL if there is none. The page then shows one tree less. */
static tn_schedule *generic(const report *r) {
  tn_schedule *schedule = tn_schedule_new(r->session->program);
  const tn_machine machine = tn_target_machine(r->session->target);
  return schedule && tn_schedule_auto(schedule, &machine) == TN_OK ? schedule : NULL;
}

/* All data of the page, for the caller to release. Messages are kept quiet: a record that cannot be applied
 * now still makes a page. */
static json_t *gather(report *r) {
  tn_context *ctx = r->session->ctx;
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  double best_s = 0;
  tn_schedule *best = tn_apply_best(r->session->program, r->session->target, r->log, &best_s);
  json_t *best_tree = tree(best), *auto_tree = tree(generic(r));
  runtime_quiet_end(&quiet);
  return json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:O, s:O, s:O, s:O, s:I}", "tenon", TN_VERSION,
                   "log", r->log, "program", tn_program_text(r->session->program), "target",
                   tn_target_text(r->session->target), "flops", tn_program_flops(r->session->program), "bytes",
                   tn_program_bytes(r->session->program), "best_s", best_s, "best_tree", best_tree, "auto_tree",
                   auto_tree, "limits", limits(r), "trials", r->trials, "finals", r->finals, "phases", r->phases,
                   "failures", r->failures, "first", r->first_s);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* JSON inside a script: with '<' escaped, so that no text of a log ends the script. */
static void put_json(FILE *file, const char *json) {
  for (const char *c = json; *c; ++c)
    if (*c == '<')
      fputs("\\u003c", file);
    else
      fputc(*c, file);
}

/* Writes the page with its scripts and data in it, so that it needs no network. It is ASCII, so that no
 * encoding can be wrong. */
static bool write_page(FILE *file, json_t *data) {
  char *json = data ? json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6)) : NULL;
  if (!json) return false;
  fwrite(tools_report_head, 1, tools_report_head_bytes, file);
  fwrite(tools_chart_js, 1, tools_chart_js_bytes, file);
  fputs("</script>\n<script>\nconst DATA = ", file);
  put_json(file, json);
  fputs(";\n", file);
  fwrite(tools_report_script, 1, tools_report_script_bytes, file);
  free(json);
  return !ferror(file);
}

/* Goes through a temporary file, so that a page that somebody is looking at stays whole. Returns the exit status. */
static int write_file(report *r, const char *out) {
  runtime_new_file made = {.fd = -1};
  FILE *file = runtime_new_file_open(&made, out) ? runtime_new_file_stream(&made) : NULL;
  json_t *data = gather(r);
  bool wrote = file && write_page(file, data);
  if (file && fclose(file) != 0) wrote = false;
  wrote = wrote && runtime_new_file_keep(&made, out);
  int status = wrote ? TOOLS_OK : tools_fail(r->session, "%s cannot be written: %s", out, strerror(errno));
  runtime_new_file_drop(&made);
  json_decref(data);
  return status;
}

/* Finds the program, unless the session has one, and gathers its records. False after a message. */
static bool read_log(report *r) {
  tools_session *s = r->session;
  if (s->program)
    snprintf(r->key, sizeof r->key, "%s", tn_program_key(s->program));
  else if (!each_line(r, find_last))
    return false;
  if (!s->program) return tools_fail(s, "%s holds no record", r->log), false;
  if (!each_line(r, add_line)) return false;
  return r->n_trials > 0 || (tools_fail(s, "%s holds no record of this program", r->log), false);
}

static report open_report(tools_session *session, const char *log) {
  return (report){.session = session,
                  .log = log,
                  .trials = json_array(),
                  .finals = json_array(),
                  .phases = json_object(),
                  .failures = json_object()};
}

static void close_report(report *r) {
  json_decref(r->trials);
  json_decref(r->finals);
  json_decref(r->phases);
  json_decref(r->failures);
}

bool tools_check_report(tools_session *session, const char *out) {
  runtime_new_file made = {.fd = -1};
  bool ok = runtime_new_file_open(&made, out);
  if (!ok) tools_fail(session, "%s cannot be written: %s", out, strerror(errno));
  runtime_new_file_drop(&made);
  return ok;
}

int tools_write_report(tools_session *session, const char *log, const char *out) {
  if (tools_chart_js_bytes == 0)
    return tools_fail(
        session,
        "reports are not in this build: it found no Chart.js (Debian: libjs-chart.js); install that and build again");
  report r = open_report(session, log);
  int status = read_log(&r) ? write_file(&r, out) : TOOLS_FAILED;
  close_report(&r);
  return status;
}

/* ---- the curve as text -------------------------------------------------------------------------------------------- */

/* The size of the curve in characters. */
enum { CURVE_ROWS = 12, CURVE_COLUMNS = 64 };

/* The best rate so far after each part of the trials, of which there are CURVE_COLUMNS. Returns the last. */
static double best_rates(const report *r, double work, double *rates) {
  double best = 0;
  for (int i = 0, column = 0; i < r->n_trials; ++i) {
    const json_t *trial = json_array_get(r->trials, (size_t)i);
    double seconds = json_number_value(json_object_get(trial, "seconds"));
    if (seconds > 0 && !json_is_true(json_object_get(trial, "early"))) best = fmax(best, work / seconds * 1e-9);
    for (; column < CURVE_COLUMNS && column * r->n_trials < (i + 1) * CURVE_COLUMNS; ++column) rates[column] = best;
  }
  return best;
}

/* One row of the curve, from the top. A column is filled up to its rate, in steps of an eighth of a row. */
static void print_row(const double *rates, double most, int row) {
  static const char *const eighths[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                        "\u2585", "\u2586", "\u2587", "\u2588"};
  printf("%10.4g |", most * (row + 1) / CURVE_ROWS);
  for (int i = 0; i < CURVE_COLUMNS; ++i) {
    double filled = rates[i] / most * CURVE_ROWS - row;
    fputs(eighths[(int)(fmin(fmax(filled, 0), 1) * 8 + 0.5)], stdout);
  }
  printf("\n");
}

int tools_print_curve(tools_session *session, const char *log) {
  report r = open_report(session, log);
  double rates[CURVE_COLUMNS] = {0};
  int status = read_log(&r) ? TOOLS_OK : TOOLS_FAILED;
  double flops = status == TOOLS_OK ? tn_program_flops(session->program) : 0;
  double work = status == TOOLS_OK && flops == 0 ? tn_program_bytes(session->program) : flops;
  double most = status == TOOLS_OK ? best_rates(&r, work, rates) : 0;
  if (status == TOOLS_OK && most == 0) status = tools_fail(session, "%s holds no valid record of this program", log);
  if (status == TOOLS_OK) {
    printf("%10s  best so far, after candidates\n", flops > 0 ? "GFLOPS" : "GB/s");
    for (int row = CURVE_ROWS - 1; row >= 0; --row) print_row(rates, most, row);
    printf("%10s +%.*s\n%12d%*d\n", "", CURVE_COLUMNS,
           "----------------------------------------------------------------", 1, CURVE_COLUMNS - 1, r.n_trials);
  }
  close_report(&r);
  return status;
}
