/* progress.c: one live line on a terminal, and a few plain lines elsewhere. */
#include "tools/progress.h"

#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Plain lines of a whole run, the least time between two drawings, and a terminal's width where it does not tell. */
enum { PLAIN_LINES = 6, REDRAW_NS = 50000000, USUAL_COLUMNS = 80 };

/* Writes the line, the most important part first. BREVITY: 0 all words, 1 units without words, 2 only the
 * best time and the time left. */
static void describe(const tn_progress *p, int brevity, runtime_str *out) {
  const char *estimated = p->default_is_estimate ? brevity == 0 ? " (estimated)" : "?" : "";
  if (p->best_s > 0)
    runtime_str_addf(out, "best %.2f GFLOPS (%s)", tools_gflops(p->flops, p->best_s), tools_time(p->best_s).text);
  else
    runtime_str_add(out, "no valid candidate yet");
  if (p->best_s > 0 && p->default_s > 0 && brevity < 2)
    runtime_str_addf(out, brevity == 0 ? ", %.1fx the default%s" : ", %.0fx%s", p->default_s / p->best_s, estimated);
  runtime_str_addf(out, " | %d", p->trials);
  if (p->trials_wanted > 0) runtime_str_addf(out, "/%d", p->trials_wanted);
  if (brevity < 2) runtime_str_addf(out, " trials, %d failed", p->failed);
  if (brevity == 0 || p->left_s < 0) runtime_str_addf(out, " | %.0f s", p->elapsed_s);
  if (p->left_s >= 0) runtime_str_addf(out, "%s%.0f s left", brevity == 0 ? ", " : " | ", p->left_s);
}

/* Writes the longest form that fits into so many columns, so that the time left is never cut on a terminal
 * of usual width. */
static void describe_within(const tn_progress *p, int columns, runtime_str *out) {
  for (int brevity = 0; brevity < 3; ++brevity) {
    out->n = 0;
    describe(p, brevity, out);
    if (out->failed || (int)out->n <= columns) return;
  }
}

/* Asked each time: the window's size may change. */
static int terminal_columns(FILE *stream) {
  struct winsize size;
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL_COLUMNS;
}

/* Draws the live line, at most every REDRAW_NS: a slow terminal would otherwise slow the run down. It is
 * cut to the width, since a wrapped line cannot be drawn over. */
static void draw(tools_progress *show, const char *text, bool is_last) {
  uint64_t now = runtime_now_ns();
  if (!is_last && now - show->shown_ns < REDRAW_NS) return;
  show->shown_ns = now;
  show->session->has_live_line = true;
  fprintf(show->stream, "\r%.*s\033[K", terminal_columns(show->stream) - 1, text);
  fflush(show->stream);
}

/* How much of the run is done: by trials or, when they have no limit, by time. */
static double share_done(int trials, int trials_wanted, double elapsed_s, double left_s) {
  if (trials_wanted > 0) return (double)trials / trials_wanted;
  return left_s >= 0 ? elapsed_s / fmax(elapsed_s + left_s, 1e-9) : 0;
}

/* Prints a plain line when another share of the run is done. */
static void print_line(tools_progress *show, const char *text, int trials, double share) {
  if (trials == 0 || show->lines_printed == PLAIN_LINES) return;
  if (show->lines_printed > 0 && share * (PLAIN_LINES - 1) < show->lines_printed) return;
  ++show->lines_printed;
  fprintf(show->stream, "%s\n", text);
  fflush(show->stream);
}

/* With --json standard output is the result's: progress then goes to standard error, and only to a terminal. */
tools_progress tools_progress_begin(tools_session *session, bool json_out) {
  FILE *stream = json_out ? stderr : stdout;
  bool is_live = isatty(fileno(stream));
  return (tools_progress){session, json_out && !is_live ? NULL : stream, is_live, 0, 0};
}

void tools_progress_show(tools_progress *show, const tn_progress *p) {
  runtime_str text = {0};
  if (!show->stream) return;
  if (show->is_live)
    describe_within(p, terminal_columns(show->stream) - 1, &text);
  else
    describe(p, 0, &text);
  if (!text.failed && show->is_live) draw(show, text.data, p->trials == p->trials_wanted);
  double share = share_done(p->trials, p->trials_wanted, p->elapsed_s, p->left_s);
  if (!text.failed && !show->is_live) print_line(show, text.data, p->trials, share);
  runtime_str_free(&text);
}

/* Writes the line of a network: the total first, then the task that is being tuned, which a narrow terminal cuts. */
static void describe_tasks(const tn_tasks_progress *p, runtime_str *out) {
  const tn_task_state *task = &p->tasks[p->task];
  if (p->total_s > 0)
    runtime_str_addf(out, "total %s", tools_time(p->total_s).text);
  else
    runtime_str_add(out, "no total yet");
  runtime_str_addf(out, " | %d", p->trials);
  if (p->trials_wanted > 0) runtime_str_addf(out, "/%d", p->trials_wanted);
  runtime_str_addf(out, " trials | %.0f s", p->elapsed_s);
  if (p->left_s >= 0) runtime_str_addf(out, ", %.0f s left", p->left_s);
  runtime_str_addf(out, " | %s", task->name);
  if (task->result.best_s > 0) runtime_str_addf(out, " %s", tools_time(task->result.best_s).text);
}

void tools_progress_show_tasks(tools_progress *show, const tn_tasks_progress *p) {
  runtime_str text = {0};
  if (!show->stream) return;
  describe_tasks(p, &text);
  if (!text.failed && show->is_live) draw(show, text.data, p->trials == p->trials_wanted);
  double share = share_done(p->trials, p->trials_wanted, p->elapsed_s, p->left_s);
  if (!text.failed && !show->is_live) print_line(show, text.data, p->trials, share);
  runtime_str_free(&text);
}

/* Clears the live line, so that what is printed next starts at the beginning of a line. */
void tools_progress_end(tools_progress *show) {
  if (show->is_live && show->stream && show->session->has_live_line) fputs("\r\033[K", show->stream);
  show->session->has_live_line = false;
}
