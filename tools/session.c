/* session.c: the context of one run of the command, its messages, and what is read from arguments or files.
 *
 * A session owns its context and, through it, the target, the program and schedules. */
#include <sys/stat.h>

#include "tools/cut.h"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Whether a failure or a warning was printed; main asks that at the end. The command runs once and in one
 * thread, so this may be static. */
static bool has_spoken;

/* Prints and frees a message, without control characters: it may quote a log, a recording or a worker. */
static void say(const tools_session *session, const char *word, runtime_str *message) {
  has_spoken = true;
  if (session->has_live_line) fputs("\r\033[K", stderr);
  tools_tint tint = *word == '\0' ? TOOLS_RED : *word == 'w' ? TOOLS_YELLOW : TOOLS_BLUE;
  fprintf(stderr, "%stenon: %s%s%s\n", tools_colour(stderr, tint), word, tools_colour(stderr, TOOLS_PLAIN),
          message->failed ? "out of memory for a message" : tools_plain(message->data));
  runtime_str_free(message);
}

/* Whether this warning was printed before: each build of a schedule would warn again. Without memory every
 * one is printed. */
static bool is_warned(tools_session *session, const char *text) {
  uint64_t hash = runtime_hash(text, strlen(text), 0);
  for (int i = 0; i < session->warned.n; i++)
    if (session->warned.data[i] == hash) return true;
  (void)RUNTIME_PUSH(&session->warned, hash);
  return false;
}

bool tools_has_spoken(void) { return has_spoken; }

/* The context's on_message. The same warning is printed once in a run. */
static void print_message(void *user, tn_severity severity, const char *text) {
  static const char *const words[] = {
      [TN_SEVERITY_INFO] = "note: ", [TN_SEVERITY_WARNING] = "warning: ", [TN_SEVERITY_ERROR] = ""};
  tools_session *session = user;
  bool is_held = session->is_muted || (session->holds_errors && severity == TN_SEVERITY_ERROR);
  if (is_held || (severity == TN_SEVERITY_WARNING && is_warned(session, text))) return;
  runtime_str message = {0};
  if (session->file && !strstr(text, session->file)) runtime_str_addf(&message, "%s: ", session->file);
  runtime_str_add(&message, text);
  say(session, words[severity], &message);
}

void tools_warn(tools_session *session, const char *fmt, ...) {
  runtime_str message = {0};
  RUNTIME_ADD_ARGS(&message, fmt);
  say(session, "warning: ", &message);
}

int tools_fail(tools_session *session, const char *fmt, ...) {
  runtime_str message = {0};
  RUNTIME_ADD_ARGS(&message, fmt);
  say(session, "", &message);
  return TOOLS_FAILED;
}

/* ---- contexts and targets ---------------------------------------------------------------------------------------- */

/* --threads N is added to the target's words. */
static tn_target *make_target(tn_context *ctx, const tools_args *args) {
  if (args->threads == 0) return tn_target_new(ctx, args->target);
  runtime_str spec = {0};
  runtime_str_addf(&spec, "%s threads=%lld", args->target ? args->target : "", (long long)args->threads);
  tn_target *target = spec.failed ? NULL : tn_target_new(ctx, spec.data);
  runtime_str_free(&spec);
  return target;
}

/* Reads TENON_LIMITS, as in text_bytes=64M,params=10000. False after a message. */
static bool read_limits(tools_session *session, tn_limits *limits) {
  const char *text = getenv("TENON_LIMITS"), *at;
  if (!text || tn_limits_parse(text, limits, &at)) return true;
  static const char names[] = ""
#define X(name, usual, words) " " #name
      TN_LIMITS(X)
#undef X
      ;
  tools_fail(session, "TENON_LIMITS: '%s' is no limit such as params=10000 or text_bytes=64M; they are%s", at, names);
  return false;
}

/* Even after a failure the session has to be closed. */
bool tools_open(tools_session *session, const tools_args *args) {
  tn_context_options options = {.on_message = print_message, .user = session, .debug = getenv("TENON_DEBUG")};
  *session = (tools_session){0};
  if (!read_limits(session, &options.limits)) return false;
  *session = (tools_session){.ctx = tn_context_new(&options)};
  if (!session->ctx) return tools_fail(session, "out of memory"), false;
  session->target = make_target(session->ctx, args);
  return session->target != NULL;
}

void tools_close(tools_session *session) {
  tn_context_free(session->ctx);
  RUNTIME_VEC_FREE(&session->warned);
  *session = (tools_session){0};
}

/* ---- texts and files --------------------------------------------------------------------------------------------- */

/* A name that ends in .te is a file even when it does not exist, so that a misspelt one is reported as a
 * missing file. */
static bool is_file(const char *argument) {
  struct stat info;
  size_t n = strlen(argument);
  if (n > 3 && strcmp(argument + n - 3, ".te") == 0) return true;
  return stat(argument, &info) == 0 && S_ISREG(info.st_mode);
}

/* ARGUMENT itself, or the text of the file that it names, which *OWNED frees. NULL after a message. */
static const char *read_text(tools_session *session, const char *argument, char **owned) {
  *owned = NULL;
  if (!is_file(argument)) return argument;
  *owned = runtime_read_text(session->ctx, argument);
  session->file = *owned ? argument : NULL;
  return *owned;
}

/* Ends what read_text began: messages are not about the file any more. */
static void done_reading(tools_session *session, char *owned) {
  session->file = NULL;
  free(owned);
}

char *tools_read(tools_session *session, const char *path) {
  return runtime_read_text(session->ctx, strcmp(path, "-") == 0 ? "/dev/stdin" : path);
}

/* A text without '=' cannot be a program; it is most likely a misspelt file's name, and reported as that. */
bool tools_load(tools_session *session, const tools_args *args, const char *program) {
  if (is_file(program)) {
    session->file = program;
    session->program = tn_program_parse_file(session->ctx, program, args->n_params, args->params);
    session->file = NULL;
  } else if (!strchr(program, '=')) {
    tools_fail(session, "'%s' is neither a file nor a program such as 'C[i<8] = A[i] + B[i]'", program);
  } else {
    session->program = tn_program_parse(session->ctx, program, args->n_params, args->params);
  }
  bool links = args->n_links > 0 || tn_program_link_count(session->program) > 0;
  if (!session->program || !links) return session->program != NULL;
  return tn_program_link_files(session->program, args->n_links, args->links) == TN_OK;
}

/* Only `tenon tune` records itself: warns a user who expects it of another verb. */
static void warn_of_profile(tools_session *session, const tools_args *args) {
  const char *profile = getenv("TENON_PROFILE");
  if (profile && *profile && strcmp(args->verb->name, "tune") != 0)
    tools_warn(session, "TENON_PROFILE is for `tenon tune`: `tenon %s` records nothing", args->verb->name);
}

bool tools_open_program(tools_session *session, const tools_args *args) {
  warn_of_profile(session, args);
  return tools_open(session, args) && tools_load(session, args, args->operands[0]);
}

/* -s auto: measures the machine in the first run, unless its costs are in the cache. */
static bool apply_auto(tools_session *session, tn_schedule *schedule) {
  if (!tools_know_machine(session, false)) return false;
  const tn_machine machine = tn_target_machine(session->target);
  return tn_schedule_auto(schedule, &machine) == TN_OK;
}

/* Whether the text is this word alone, perhaps with blanks and a newline as a file would have. */
static bool is_word(const char *text, const char *word) {
  size_t n = strlen(word);
  text += strspn(text, " \t\n");
  return strncmp(text, word, n) == 0 && text[n + strspn(text + n, " \t\n")] == '\0';
}

/* The schedule of the program's own blocks, or the default one. NULL after a message. */
static tn_schedule *own_schedule(const tools_session *session) {
  tn_schedule *schedule = tn_schedule_new(session->program);
  return schedule && tn_schedule_apply_own(schedule) == TN_OK ? schedule : NULL;
}

bool tools_is_scheduled(const tools_session *session, const tools_args *args) {
  if (args->schedule) return *args->schedule && !is_word(args->schedule, "none");
  return args->log || tn_program_schedule(session->program);
}

/* The schedule of the program's record, or else of its groups' records. If there are neither, the message
 * is the one about the program. */
static tn_schedule *logged_schedule(tools_session *session, const tools_args *args) {
  char why[sizeof session->ctx->message];
  session->holds_errors = true;
  tn_schedule *schedule = tn_apply_best(session->program, session->target, args->log, NULL);
  session->holds_errors = false;
  if (schedule) return schedule;
  tn_status status = tn_context_status(session->ctx);
  memcpy(why, session->ctx->message, sizeof why);
  tn_context_clear(session->ctx);
  if (status == TN_ERROR_RECORD) schedule = tools_cut_schedule(session, args->log);
  if (!schedule) runtime_fail(session->ctx, status, "%s", why);
  return schedule;
}

/* The schedule belongs to the session's context. NULL after a message. */
tn_schedule *tools_schedule(tools_session *session, const tools_args *args) {
  if (args->log) return logged_schedule(session, args);
  if (!args->schedule) return own_schedule(session);
  tn_schedule *schedule = tn_schedule_new(session->program);
  if (!schedule || is_word(args->schedule, "none")) return schedule;
  char *owned;
  const char *text = read_text(session, args->schedule, &owned);
  bool is_auto = text && is_word(text, "auto");
  if (text && !owned && *text && !is_auto && !strchr(text, '(')) {
    tools_fail(session, "'%s' is neither a file nor a schedule such as 'split(C, i, 8)', nor auto, nor none", text);
    return NULL;
  }
  bool applied = is_auto ? apply_auto(session, schedule) : text && tn_schedule_apply(schedule, text) == TN_OK;
  done_reading(session, owned);
  return applied ? schedule : NULL;
}
