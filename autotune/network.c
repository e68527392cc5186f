/* network.c: reads a network's file: one task a line, a program with its parameters, how often the network
 * calls it, and the weight of its time. Errors are reported with file and line. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "autotune/internal.h"

/* The most words in a line of a network's file. */
enum { MAX_WORDS = 64 };

/* A line that is being read. Its words are malloc'ed and freed with it. */
typedef struct line_reader {
  tn_context *ctx;
  const char *file;
  int line;
  char *words[MAX_WORDS];
  bool is_quoted[MAX_WORDS];
  int n;
} line_reader;

static tn_status refuse(const line_reader *r, const char *fmt, ...) TN_PRINTF(2, 3);
static tn_status refuse(const line_reader *r, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  tn_status status = runtime_fail(r->ctx, TN_ERROR_PARSE, "%s:%d: %s", r->file, r->line,
                                  text.failed ? "out of memory for a message" : text.data);
  runtime_str_free(&text);
  return status;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Cuts TEXT, which it writes to, into words; a word in quotes may have blanks. A comment begins at the
 * beginning of a word. */
static tn_status cut(line_reader *r, char *text) {
  for (char *at = text + strspn(text, " \t\r"); *at && *at != '#'; at += strspn(at, " \t\r")) {
    char quote = *at == '"' || *at == '\'' ? *at : '\0';
    char *end = quote ? strchr(at + 1, quote) : at + strcspn(at, " \t\r");
    if (!end) return refuse(r, "a %c without its partner", quote);
    if (quote && end[1] && !strchr(" \t\r", end[1]))
      return refuse(r, "a blank is missing behind the closing %c", quote);
    if (r->n == MAX_WORDS) return refuse(r, "more than %d words", MAX_WORDS);
    bool is_last = *end == '\0';
    *end = '\0';
    r->is_quoted[r->n] = quote != '\0';
    r->words[r->n++] = quote ? at + 1 : at;
    at = is_last ? end : end + 1;
  }
  return TN_OK;
}

/* Whether TEXT is a whole number of at least LEAST, and nothing more. */
static bool is_count(const char *text, int64_t least, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || value < least) return false;
  *out = value;
  return true;
}

/* `x 4`: how often the network calls the program. */
static tn_status take_count(const line_reader *r, const char *word, tn_task *task) {
  int64_t count;
  if (!is_count(word, 1, &count) || count > INT32_MAX)
    return refuse(r, "the count behind x is '%s': give a whole number of 1 or more", word);
  task->count = (int)count;
  return TN_OK;
}

static tn_status take_weight(const line_reader *r, const char *word, tn_task *task) {
  char *end;
  task->weight = runtime_parse_float(word, &end);
  if (end != word && !*end && isfinite(task->weight) && task->weight > 0) return TN_OK;
  return refuse(r, "the weight is '%s': give a number above 0", word);
}

/* Reads "NAME=N". */
static tn_status take_param(const line_reader *r, char *word, tn_param *param) {
  char *equals = strchr(word, '=');
  int64_t value;
  if (!equals || equals == word)
    return refuse(r, "'%s' is none of NAME=N, x COUNT, weight W, as NAME; a program with blanks stands in quotes",
                  word);
  if (!is_count(equals + 1, INT64_MIN, &value)) return refuse(r, "'%s': the value is no whole number", word);
  *equals = '\0';
  *param = (tn_param){word, value};
  return TN_OK;
}

/* Reads the words behind the program. */
static tn_status take_words(line_reader *r, tn_task *task, int *n_params, tn_param *params) {
  tn_status status = TN_OK;
  *n_params = 0;
  for (int i = 1; i < r->n && status == TN_OK; ++i) {
    char *word = r->words[i];
    bool is_x = strcmp(word, "x") == 0, is_weight = strcmp(word, "weight") == 0, is_as = strcmp(word, "as") == 0;
    if (!is_x && !is_weight && !is_as) {
      status = take_param(r, word, &params[(*n_params)++]);
      continue;
    }
    if (++i == r->n) return refuse(r, "nothing stands behind %s", word);
    if (is_x) status = take_count(r, r->words[i], task);
    if (is_weight) status = take_weight(r, r->words[i], task);
    if (is_as && !(task->name = runtime_strdup(&r->ctx->arena, r->words[i]))) status = TN_ERROR_MEMORY;
  }
  return status;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* The path of a file, relative to the folder of the network's file, malloc'ed. */
static char *path_of(const line_reader *r, const char *word) {
  const char *slash = strrchr(r->file, '/');
  runtime_str path = {0};
  if (slash && *word != '/') runtime_str_addn(&path, r->file, (size_t)(slash - r->file + 1));
  runtime_str_add(&path, word);
  if (!path.failed) return path.data;
  runtime_str_free(&path);
  return NULL;
}

/* The text of a program's file, malloc'ed: a word without quotes is a file's name. NULL after a message. */
static char *read_program(const line_reader *r, const char *word) {
  char *path = path_of(r, word), *text = NULL;
  struct stat info;
  if (!path)
    runtime_fail(r->ctx, TN_ERROR_MEMORY, "out of memory for a network");
  else if (stat(path, &info) != 0)
    runtime_fail(r->ctx, TN_ERROR_IO, "%s:%d: there is no program file %s: a program's text stands in quotes", r->file,
                 r->line, path);
  else
    text = runtime_read_text(r->ctx, path);
  free(path);
  return text;
}

/* Parses the program. The parser's message is put behind the network's file and line. */
static tn_status parse_program(const line_reader *r, const char *text, int n_params, const tn_param *params,
                               tn_task *task) {
  tn_context *ctx = r->ctx;
  char why[sizeof ctx->message];
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  task->program = tn_program_parse(ctx, text, n_params, params);
  memcpy(why, ctx->message, sizeof why);
  runtime_quiet_end(&quiet);
  return task->program ? TN_OK : refuse(r, "%s", why);
}

/* Reads one task: its program, as a quoted text or a file's name, then parameters, count, weight and name.
 * The task's texts are the context's. */
static tn_status take_line(line_reader *r, tn_task *task) {
  tn_param params[MAX_WORDS];
  int n_params;
  *task = (tn_task){0};
  tn_status status = take_words(r, task, &n_params, params);
  if (status != TN_OK) return status;
  char *owned = r->is_quoted[0] ? NULL : read_program(r, r->words[0]);
  if (!r->is_quoted[0] && !owned) return tn_context_status(r->ctx);
  status = parse_program(r, owned ? owned : r->words[0], n_params, params, task);
  free(owned);
  if (status == TN_OK && !task->name && !r->is_quoted[0]) task->name = runtime_strdup(&r->ctx->arena, r->words[0]);
  return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

typedef RUNTIME_VEC(tn_task) task_list;

/* Reads the lines of TEXT, which is cut up in place, up to the first that is refused. */
static tn_status read_lines(tn_context *ctx, const char *file, char *text, task_list *tasks) {
  tn_status status = TN_OK;
  line_reader r = {.ctx = ctx, .file = file};
  for (char *at = text; at && status == TN_OK;) {
    char *newline = strchr(at, '\n');
    if (newline) *newline = '\0';
    tn_task task;
    ++r.line;
    r.n = 0;
    status = cut(&r, at);
    if (status == TN_OK && r.n > 0) status = take_line(&r, &task);
    if (status == TN_OK && r.n > 0 && !RUNTIME_PUSH(tasks, task))
      status = runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a network");
    at = newline ? newline + 1 : NULL;
  }
  if (status == TN_OK && tasks->n == 0)
    status = runtime_fail(ctx, TN_ERROR_PARSE, "%s names no task: write one a line, as in 'conv2d.te H=56 x 3'", file);
  return status;
}

tn_status tn_network_read(tn_context *ctx, const char *file, tn_network *out) {
  if (out) *out = (tn_network){0};
  if (!RUNTIME_GIVEN(ctx, file) || !RUNTIME_GIVEN(ctx, out)) return TN_ERROR_ARGUMENT;
  char *text = runtime_read_text(ctx, file);
  if (!text) return tn_context_status(ctx);
  task_list tasks = {0};
  tn_status status = read_lines(ctx, file, text, &tasks);
  free(text);
  *out = (tn_network){tasks.n, tasks.data};
  if (status != TN_OK) tn_network_free(out);
  return status;
}

void tn_network_free(tn_network *network) {
  if (!network) return;
  free(network->tasks);
  *network = (tn_network){0};
}
