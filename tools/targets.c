/* targets.c: reads the file of `tenon tune --objective FILE`: which time is good enough for each task. */
#include <ctype.h>
#include <math.h>

#include "tools/tuning.h"

/* A file that is being read, and the tasks that get its targets. */
typedef struct targets {
  tools_session *session;
  const char *file;
  int line, n;
  tn_task *tasks;
} targets;

static bool refuse(const targets *t, const char *fmt, ...) TN_PRINTF(2, 3);
/* Always false, after a message with file and line. */
static bool refuse(const targets *t, const char *fmt, ...) {
  runtime_str why = {0};
  RUNTIME_ADD_ARGS(&why, fmt);
  tools_fail(t->session, "%s:%d: %s", t->file, t->line, why.failed ? "out of memory" : why.data);
  runtime_str_free(&why);
  return false;
}

/* The task's name, as the tables of a run print it. */
static const char *name_of(const tn_task *task) { return task->name ? task->name : tn_program_key(task->program); }

/* "120us" in seconds; 0: it is no time above 0. */
static double seconds_of(const char *text) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  char *end;
  double value = runtime_parse_float(text, &end);
  if (end == text || !isfinite(value) || value <= 0) return 0;
  for (int i = 0; i < RUNTIME_COUNT(units); ++i)
    if (strcmp(end, units[i].unit) == 0) return value * units[i].seconds;
  return 0;
}

/* Suggests the nearest name of a task. Always false. */
static bool refuse_name(const targets *t, const char *name) {
  runtime_nearest nearest = runtime_nearest_to(name);
  for (int i = 0; i < t->n; ++i) runtime_nearest_offer(&nearest, name_of(&t->tasks[i]));
  if (nearest.word) return refuse(t, "there is no task %s; did you mean %s?", name, nearest.word);
  return refuse(t, "there is no task %s: write a name as the table of the run has it, such as %s", name,
                name_of(&t->tasks[0]));
}

/* Gives all tasks of that name the target. False after a message: there is none, or it has a target already. */
static bool set_target(const targets *t, const char *name, double seconds) {
  bool is_there = false;
  for (int i = 0; i < t->n; ++i) {
    if (strcmp(name_of(&t->tasks[i]), name) != 0) continue;
    if (t->tasks[i].target_s > 0) return refuse(t, "%s has a target already", name);
    is_there = true;
  }
  for (int i = 0; i < t->n; ++i)
    if (strcmp(name_of(&t->tasks[i]), name) == 0) t->tasks[i].target_s = seconds;
  return is_there || refuse_name(t, name);
}

/* TEXT without the blanks around it; it is cut in place. */
static char *trim(char *text) {
  while (isspace((unsigned char)*text)) ++text;
  for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]);) text[--n] = '\0';
  return text;
}

/* Reads a line: `#` begins a comment, the last word is the time, and the name before it may have blanks. */
static bool take_line(const targets *t, char *line) {
  line[strcspn(line, "#")] = '\0';
  line = trim(line);
  if (!*line) return true;
  char *time = line + strlen(line);
  while (time > line && !isspace((unsigned char)time[-1])) --time;
  double seconds = seconds_of(time);
  if (time == line) return refuse(t, "'%s' is no target: write NAME TIME, as in 'conv3x3 120us'", line);
  if (seconds == 0)
    return refuse(t, "'%s' is no time: write a number above 0 with ns, us, ms or s behind it, as in 120us", time);
  time[-1] = '\0';
  return set_target(t, trim(line), seconds);
}

bool tools_read_targets(tools_session *session, const char *file, int n, tn_task *tasks) {
  targets t = {.session = session, .file = file, .n = n, .tasks = tasks};
  char *text = runtime_read_text(session->ctx, file);
  bool taken = text != NULL;
  for (char *at = text; taken && at;) {
    char *newline = strchr(at, '\n');
    if (newline) *newline = '\0';
    ++t.line;
    taken = take_line(&t, at);
    at = newline ? newline + 1 : NULL;
  }
  free(text);
  for (int i = 0; taken && i < n; ++i)
    if (tasks[i].target_s > 0) return true;
  return taken ? (tools_fail(session, "%s names no target: write one a line, as in 'conv3x3 120us'", file), false)
               : false;
}
