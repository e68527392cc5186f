/* profile.c: `tenon profile`: looks at recordings. Each view is a row of a table: it loads what its
 * operands name, and prints text or writes a file. The library does the work. */
#include <signal.h>
#include <sys/stat.h>

#include "profile/profiler_files.h"
#include "profile/profiler_reports.h"
#include "tools/profile.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION("sort", 0, TEXT, sort, "KEY",
                 "report: calls, total, max, min, ave; averages: count, cpu_time_total,\n"
                 "self_cpu_time_total (the default), cpu_time, flops, min, max, p50, p90, p99 ..."),
    TOOLS_OPTION("by", 0, TEXT, by, "LIST",
                 "averages: also one row for each of shapes, thread, process; joined by commas"),
    TOOLS_OPTION("stack", 0, COUNT, stack, "N", "averages: also one row for each first N places of the call stack"),
    TOOLS_OPTION("top-level", 0, FLAG, top_level, NULL, "averages: only what is inside of nothing else"),
    TOOLS_OPTION("limit", 'n', COUNT, limit, "N", "averages: print at most N rows (100)"),
    TOOLS_OPTION("rules", 0, TEXT, rules, "FILE", "advise, serve, convert: a JSON array of rules of your own"),
    TOOLS_OPTION("port", 0, COUNT, port, "PORT", "serve: where to listen (any that is free)"),
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_END,
};

const tools_verb tools_profile = {
    .name = "profile",
    .operands =
        "VIEW FILE... [--sort KEY] [-n N] [--by LIST] [--stack N] [--top-level] [--rules FILE] [--port PORT] [--json]",
    .summary = "look at what a profiler recorded",
    .details =
        "table FILE             minutes and percentages by name\n"
        "report FILE            calls, total, min, max, average and ratio by thread and name\n"
        "averages FILE          self and total times by name; --json: all sums, unrounded\n"
        "analyse FILE QUERY     the answer to a query: '{\"type\": \"op_type\"}'; '{\"type\": \"types\"}' lists the "
        "types\n"
        "advise FILE [LIMITS]   where the time went and what could be done; LIMITS: '{\"worker_outlier\": 0.1}'\n"
        "tasks FILE             what was tuned: FLOP, speed, latency and trials of each task\n"
        "parse FILE DIRECTORY   intermediate tables as CSV; analyse and advise read DIRECTORY in the place of FILE\n"
        "convert FILE TO        writes TO in the form of its suffix\n"
        "merge TO [NAME=]FILE...  writes several recordings as one; NAME is what their processes are called\n"
        "compare BEFORE AFTER   how two recordings differ, the largest change first\n"
        "serve FILE             answers over HTTP on this machine until it is interrupted: /, /timeline, /report,\n"
        "                       /advise, POST /ops/search\n"
        "\n"
        "FILE is a recording of `tenon tune --profile FILE` or tn_recording_save (.json, .json.gz, .xplane.pb,\n"
        ".tnprof), or the .buffers file that a killed run left behind; FILE.buffers is taken when there is no FILE.\n"
        "TO may also end in .html (all views in one page), .csv, .report.json, .folded (for flame graphs).",
    .examples =
        "tenon tune matmul.te --log log.json --profile run.tnprof\n"
        "tenon profile advise run.tnprof\n"
        "tenon profile convert run.tnprof run.trace.json",
    .options = options,
    .min_operands = 2,
    .max_operands = TOOLS_MAX_OPERANDS,
    .run = run,
};

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static bool exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

/* Loads a recording. A run that was killed leaves FILE.buffers and no FILE: that is taken instead, with a
 * warning. NULL after a message. */
tn_recording *tools_load_recording(tools_session *session, const char *path) {
  runtime_str buffers = {0};
  runtime_str_addf(&buffers, "%s.buffers", path);
  bool was_killed = !buffers.failed && !exists(path) && exists(buffers.data);
  if (was_killed) tools_warn(session, "there is no %s: what its run left in %s is taken", path, buffers.data);
  tn_recording *r = tn_recording_load(session->ctx, was_killed ? buffers.data : path);
  runtime_str_free(&buffers);
  return r;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* A view prints one look at a recording, which its caller frees. It returns the exit status. */
static int view_table(tools_session *session, const tools_args *args, tn_recording *r) {
  (void)args;
  char *text = tn_recording_table(r);
  return text ? tools_print_text(text) : tools_fail(session, "out of memory");
}

static int view_report(tools_session *session, const tools_args *args, tn_recording *r) {
  return tools_print_text(tn_recording_report(session->ctx, r, args->sort));
}

/* Reads the list of --by, such as "shapes,thread". False after a message. */
static bool take_by(tools_session *session, const char *by, tn_average_options *out) {
  const struct {
    const char *name;
    bool *is_on;
  } keys[] = {{"shapes", &out->by_shapes}, {"thread", &out->by_thread}, {"process", &out->by_process}};
  while (by && *by) {
    size_t n = strcspn(by, ",");
    int k = 0;
    while (k < RUNTIME_COUNT(keys) && (strlen(keys[k].name) != n || strncmp(keys[k].name, by, n) != 0)) ++k;
    if (k == RUNTIME_COUNT(keys)) {
      tools_fail(session, "averages: --by %.*s: give shapes, thread or process", (int)n, by);
      return false;
    }
    *keys[k].is_on = true;
    by += n + (by[n] == ',');
  }
  return true;
}

/* --json has all columns with their exact numbers; --sort and --limit apply to the table only. */
static int view_averages(tools_session *session, const tools_args *args, tn_recording *r) {
  if (args->is_json) return tools_print_text(tn_recording_write(session->ctx, r, TN_FORM_REPORT, NULL));
  tn_table_options table = {.sort_by = args->sort ? args->sort : "self_cpu_time_total", .row_limit = (int)args->limit};
  tn_average_options rows = {.stack_n = (int)args->stack, .top_level_only = args->top_level};
  if (!take_by(session, args->by, &rows)) return TOOLS_FAILED;
  tn_averages *averages = tn_key_averages(session->ctx, r, &rows);
  int status = averages ? tools_print_text(tn_averages_table(session->ctx, averages, &table)) : TOOLS_FAILED;
  tn_averages_free(averages);
  return status;
}

/* The second recording is loaded here, so that a failure names its file. */
static int view_compare(tools_session *session, const tools_args *args, tn_recording *before) {
  tn_recording *after = tools_load_recording(session, args->operands[2]);
  int status = after ? tools_print_text(tn_recording_compare(session->ctx, before, after)) : TOOLS_FAILED;
  tn_recording_free(after);
  return status;
}

/* The form follows from the new file's name. */
static int view_convert(tools_session *session, const tools_args *args, tn_recording *r) {
  return tn_recording_save(session->ctx, r, args->operands[2]) == TN_OK ? TOOLS_OK : TOOLS_FAILED;
}

/* Returns on SIGINT or SIGTERM. */
static void wait_for_signal(void) {
  sigset_t signals;
  int signal_number;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigwait(&signals, &signal_number);
}

/* Blocks the signals before the server's thread begins: otherwise that thread could receive them and end
 * the process. */
static void hold_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* Serves until it is interrupted, which counts as success. */
static int view_serve(tools_session *session, const tools_args *args, tn_recording *r) {
  const tn_server_options serving = {.port = (int)args->port, .query = tools_profile_query};
  hold_signals();
  tn_server *server = tn_server_new(session->ctx, r, &serving);
  if (!server) return TOOLS_FAILED;
  printf("http://127.0.0.1:%d/ serves %s; Ctrl-C ends it\n", tn_server_port(server), args->operands[1]);
  fflush(stdout);
  wait_for_signal();
  tn_server_free(server);
  return TOOLS_OK;
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

/* Reads NAME=FILE, or FILE. argv may be written to, so the name is ended at the '='. */
static bool load_input(tools_session *session, const char *operand, tn_merge_input *out) {
  char *equals = strchr(operand, '=');
  if (equals) *equals = '\0';
  out->name = equals ? operand : NULL;
  out->recording = tools_load_recording(session, equals ? equals + 1 : operand);
  return out->recording != NULL;
}

/* The output's suffix is checked before the inputs are read, which may take long. */
static int merge(tools_session *session, const tools_args *args) {
  tn_merge_input inputs[TOOLS_MAX_OPERANDS] = {0};
  tn_profile_form form;
  int n = args->n_operands - 2;
  bool ok = tn_profile_form_of(session->ctx, args->operands[1], &form) == TN_OK;
  for (int i = 0; i < n && ok; ++i) ok = load_input(session, args->operands[2 + i], &inputs[i]);
  tn_recording *all = ok ? tn_recording_merge(session->ctx, inputs, n) : NULL;
  ok = all && tn_recording_save(session->ctx, all, args->operands[1]) == TN_OK;
  tn_recording_free(all);
  for (int i = 0; i < n; ++i) tn_recording_free((tn_recording *)inputs[i].recording);
  return ok ? TOOLS_OK : TOOLS_FAILED;
}

/* ---- the table of views ------------------------------------------------------------------------------------------ */

/* A view gets the recording of its first operand; one with run_bare loads what it needs. */
static const struct view {
  const char *name;
  int min_operands, max_operands; /* the view's name is one of them */
  int (*run)(tools_session *session, const tools_args *args, tn_recording *r);
  int (*run_bare)(tools_session *session, const tools_args *args);
} views[] = {
    {"table", 2, 2, view_table, NULL},
    {"report", 2, 2, view_report, NULL},
    {"averages", 2, 2, view_averages, NULL},
    {"analyse", 3, 3, NULL, tools_profile_analyse},
    {"advise", 2, 3, NULL, tools_profile_advise},
    {"tasks", 2, 2, NULL, tools_profile_tasks},
    {"parse", 3, 3, tools_profile_parse, NULL},
    {"convert", 3, 3, view_convert, NULL},
    {"merge", 3, TOOLS_MAX_OPERANDS, NULL, merge},
    {"compare", 3, 3, view_compare, NULL},
    {"serve", 2, 2, view_serve, NULL},
};

/* Suggests the nearest view, or lists all, from the table. */
static int refuse_view(const tools_args *args) {
  char names[256] = "";
  runtime_nearest nearest = runtime_nearest_to(args->operands[0]);
  for (int i = 0; i < RUNTIME_COUNT(views); ++i) runtime_nearest_offer(&nearest, views[i].name);
  if (nearest.word)
    return tools_usage(args->verb, "there is no view '%s'; did you mean '%s'?", args->operands[0], nearest.word);
  for (int i = 0; i < RUNTIME_COUNT(views); ++i) {
    size_t n = strlen(names);
    snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", views[i].name);
  }
  return tools_usage(args->verb, "there is no view '%s': %s", args->operands[0], names);
}

/* Loads the recording and runs the view. Returns the exit status. */
static int run_view(const struct view *view, tools_session *session, const tools_args *args) {
  if (view->run_bare) return view->run_bare(session, args);
  tn_recording *r = tools_load_recording(session, args->operands[1]);
  int status = r && tools_set_rules(session, args, r) ? view->run(session, args, r) : TOOLS_FAILED;
  tn_recording_free(r);
  return status;
}

/* Checks the number of operands by the view's row: the verb's table only knows the range of all views. */
static int run(const tools_args *args) {
  const struct view *view = RUNTIME_ROW(views, args->operands[0]);
  if (!view) return refuse_view(args);
  if (args->n_operands < view->min_operands) return tools_usage(args->verb, "%s: an operand is missing", view->name);
  if (args->n_operands > view->max_operands)
    return tools_usage(args->verb, "'%s' is one operand too many", args->operands[view->max_operands]);
  tools_session session;
  int status = tools_open(&session, args) ? run_view(view, &session, args) : TOOLS_FAILED;
  tools_close(&session);
  return status;
}
