/* read_perf.c: the text of `perf script` (samples with or without call chains) as a recording. A sample says where a
 * thread was. A frame that two consecutive samples share is taken for one call that lasted from the first to the
 * second. So frames become nested scopes, as flame charts draw them, and all reports work on them.
 *
 *   main  4242/4243 [001] 1024.123456:     250000 cycles:u:        one line per sample: command, process/thread, time
 *   	    55d0 inner+0x10 (/usr/bin/main)                           its frames, innermost first; then a blank line
 *
 * Any other line is refused, with its number in the message. */
#include <stdio.h>

#include "profile/files.h"

/* MOST_FRAMES: of a call chain. USUAL_NS: the assumed interval for a thread with a single sample. LONGEST_GAP:
 * mean intervals after which a thread is taken not to have run. */
enum { MOST_FRAMES = 512, MOST_BYTES = 1 << 30, USUAL_NS = 1000000, LONGEST_GAP = 10 };

/* Where one thread was at one moment. */
typedef struct sample {
  int lane;
  int64_t at_ns;
  int first, n; /* its frames: index of the first, and how many */
} sample;

/* A text being read. Samples are sorted at the end, because perf writes them processor by processor. */
typedef struct reader {
  tn_recording *r;
  RUNTIME_VEC(sample) samples;
  RUNTIME_VEC(const char *) frames; /* interned in the recording */
  profiler_map processes, lanes;    /* keyed by process id; by process and thread id */
  int line;
  char why[160];
} reader;

#define REFUSE(x, ...) (snprintf((x)->why, sizeof(x)->why, __VA_ARGS__), false)
static bool no_memory(reader *x) { return REFUSE(x, "out of memory"); }

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const char *keep(reader *x, const char *text, size_t n) { return runtime_intern(&x->r->strings, text, n); }

/* "55d0 inner+0x10 (/usr/bin/main)" -> inner. */
static const char *symbol_of(reader *x, const char *text) {
  char *end;
  strtoull(text, &end, 16);
  if (end == text) return NULL;
  while (*end == ' ') ++end;
  size_t n = strlen(end);
  for (const char *at = end; (at = strstr(at, " (")); ++at) n = (size_t)(at - end);
  for (size_t i = n; i-- > 0;)
    if (strncmp(end + i, "+0x", 3) == 0) n = i;
  return n ? keep(x, end, n) : keep(x, "[unknown]", 9);
}

/* Adds a frame to the last sample. Frames beyond MOST_FRAMES, which are the outermost, are left out. */
static bool add_frame(reader *x, const char *text) {
  while (*text == ' ' || *text == '\t') ++text;
  if (x->samples.n == 0) return REFUSE(x, "a frame stands before any sample");
  const char *name = symbol_of(x, text);
  if (!name) return REFUSE(x, "a frame begins with an address in hexadecimal digits");
  sample *s = &x->samples.data[x->samples.n - 1];
  if (s->n == MOST_FRAMES) return true;
  ++s->n;
  return RUNTIME_PUSH(&x->frames, name) || no_memory(x);
}

/* Parses "1024.123456:" into nanoseconds; false if the token is not a time. */
static bool is_time(const char *token, size_t n, int64_t *ns) {
  char *point, *end;
  if (n < 4 || n > 24 || token[n - 1] != ':' || token[0] < '0' || token[0] > '9') return false;
  unsigned long long s = strtoull(token, &point, 10), fraction = 0;
  if (*point != '.' || s > (unsigned long long)(PROFILER_MAX_NS / 1000000000)) return false;
  fraction = strtoull(point + 1, &end, 10);
  long digits = end - point - 1;
  if (end != token + n - 1 || digits < 1 || digits > 9) return false;
  for (; digits < 9; ++digits) fraction *= 10;
  *ns = (int64_t)(s * 1000000000ull + fraction);
  return true;
}

/* Parses "4242" or "4242/4243". */
static bool is_thread(const char *token, size_t n, int64_t *pid, int64_t *tid) {
  char *end;
  if (n == 0 || token[0] < '0' || token[0] > '9') return false;
  *pid = *tid = (int64_t)strtoull(token, &end, 10);
  if (*end == '/' && end[1] >= '0' && end[1] <= '9') *tid = (int64_t)strtoull(end + 1, &end, 10);
  return end == token + n;
}

/* A thread's lane, added when the thread is first seen; -1: out of memory. */
static int lane_of(reader *x, const char *command, size_t n, int64_t pid, int64_t tid) {
  const char *name = keep(x, command, n);
  int64_t *process = profiler_map_at(&x->processes, (uint64_t)pid, 0, -1);
  int64_t *lane = profiler_map_at(&x->lanes, (uint64_t)pid, (uint64_t)tid, -1);
  if (!name || !process || !lane) return -1;
  if (*process < 0)
    *process = profiler_add_process(x->r, &(tn_process){.name = name, .host = "", .pid = pid, .node_id = -1});
  if (*lane < 0 && *process >= 0)
    *lane = profiler_add_lane(x->r, &(tn_lane){.name = name, .tid = tid, .process = (int32_t)*process});
  return (int)*lane;
}

/* Commands may contain blanks. So the time is searched for, and the thread is the last token before it that
 * is not the processor in brackets. */
static bool add_sample(reader *x, const char *line) {
  const char *before = NULL;
  size_t n_before = 0, n;
  for (const char *token = line; *(token += strspn(token, " \t")); token += n) {
    int64_t at_ns, pid, tid;
    n = strcspn(token, " \t");
    if (before && is_time(token, n, &at_ns) && is_thread(before, n_before, &pid, &tid)) {
      const char *command = line + strspn(line, " \t");
      size_t length = (size_t)(before - command);
      while (length && command[length - 1] == ' ') --length;
      int lane = lane_of(x, command, length, pid, tid);
      if (lane < 0 || !RUNTIME_PUSH(&x->samples, ((sample){lane, at_ns, x->frames.n, 0}))) return no_memory(x);
      const char *rest = strstr(token + n, ": "); /* without call chains the address follows the event's name */
      rest = rest ? rest + 1 + strspn(rest + 1, " ") : "";
      return !*rest || add_frame(x, rest);
    }
    if (token[0] == '[') continue;
    before = token;
    n_before = n;
  }
  return REFUSE(x, "neither a sample (command, thread, time and ':') nor a frame");
}

/* Cuts TEXT into lines in place. False after a refusal; x->line is then the line at fault. */
static bool read_lines(reader *x, char *text) {
  for (char *line = text, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    ++x->line;
    line[strcspn(line, "\r")] = '\0';
    if (*line == '#' || line[strspn(line, " \t")] == '\0') continue;
    if (!(*line == '\t' ? add_frame : add_sample)(x, line)) return false;
  }
  return x->samples.n > 0 || REFUSE(x, "no sample");
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/* Samples with equal times keep the order of the file, so that the result does not depend on the sort. */
static int by_lane_and_time(const void *left, const void *right) {
  const sample *a = left, *b = right;
  if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
  if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

/* The K-th frame counted from the root. */
static const char *frame(const reader *x, const sample *s, int k) { return x->frames.data[s->first + s->n - 1 - k]; }

/* How many frames from the root two samples share: these calls are taken to have continued from one to the other. */
static int common(const reader *x, const sample *a, const sample *b) {
  int k = 0;
  while (k < a->n && k < b->n && frame(x, a, k) == frame(x, b, k)) ++k;
  return k;
}

/* Ends the open scopes from DEPTH on. */
static void close_from(reader *x, const int64_t *open, int depth, int n, int64_t at_ns) {
  for (int k = depth; k < n; ++k) {
    tn_event *e = &x->r->events[open[k]];
    e->duration_ns = RUNTIME_MAX(at_ns - e->start_ns, 0);
  }
}

/* Begins a scope for each frame of the sample from DEPTH on. False: out of memory. */
static bool open_from(reader *x, int64_t *open, int depth, const sample *s, int64_t start_ns) {
  for (int k = depth; k < s->n; ++k) {
    tn_event *e = profiler_add_event(x->r, s->lane, TN_EVENT_SCOPE, frame(x, s, k));
    if (!e) return false;
    e->start_ns = s->at_ns - start_ns;
    e->level = 1;
    e->parent = PROFILER_PARENT_UNKNOWN;
    open[k] = x->r->n_events - 1;
  }
  return true;
}

/* Turns the samples of one lane, in order of time, into scopes. If a thread was not seen for more than
 * LONGEST_GAP mean intervals, it is taken not to have run, and its scopes end one mean interval after the
 * last sample. */
static bool add_lane(reader *x, const sample *s, int n, int64_t start_ns) {
  int64_t open[MOST_FRAMES], spread = s[n - 1].at_ns - s[0].at_ns, mean = n > 1 ? spread / (n - 1) : USUAL_NS;
  int depth = 0;
  for (int i = 0; i < n; ++i) {
    bool is_near = i > 0 && s[i].at_ns - s[i - 1].at_ns <= LONGEST_GAP * mean;
    int same = is_near ? common(x, &s[i - 1], &s[i]) : 0;
    int64_t ends = is_near || i == 0 ? s[i].at_ns : s[i - 1].at_ns + mean;
    close_from(x, open, same, depth, ends - start_ns);
    if (!open_from(x, open, same, &s[i], start_ns)) return false;
    depth = s[i].n;
  }
  close_from(x, open, 0, depth, s[n - 1].at_ns + mean - start_ns);
  x->r->info.duration_ns = RUNTIME_MAX(x->r->info.duration_ns, s[n - 1].at_ns + mean - start_ns);
  return true;
}

/* False after a refusal. */
static bool add_scopes(reader *x) {
  sample *all = x->samples.data;
  int64_t start_ns = all[0].at_ns;
  for (int i = 0; i < x->samples.n; ++i) start_ns = RUNTIME_MIN(start_ns, all[i].at_ns);
  x->r->info.start_ns = start_ns;
  qsort(all, (size_t)x->samples.n, sizeof *all, by_lane_and_time);
  for (int first = 0, end; first < x->samples.n; first = end) {
    for (end = first; end < x->samples.n && all[end].lane == all[first].lane;) ++end;
    if (!add_lane(x, all + first, end - first, start_ns)) return no_memory(x);
  }
  return true;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Takes O(samples log samples) time and O(file) memory. */
tn_recording *profiler_read_perf(tn_context *ctx, profiler_in *in, const char *name) {
  reader x = {.r = profiler_recording_new()};
  size_t n = 0;
  char *text = x.r ? profiler_in_rest(in, MOST_BYTES, &n) : NULL;
  bool ok = text ? true : REFUSE(&x, "%s", in->failed ? in->failed : "out of memory, or more than 1 GiB");
  if (ok && memchr(text, '\0', n))
    ok = REFUSE(&x, "a NUL byte: it is no text, and no other form of a recording either");
  ok = ok && read_lines(&x, text) && add_scopes(&x);
  free(text);
  RUNTIME_VEC_FREE(&x.samples);
  RUNTIME_VEC_FREE(&x.frames);
  profiler_map_free(&x.processes);
  profiler_map_free(&x.lanes);
  if (ok) return profiler_finish_reading(ctx, x.r, name);
  tn_recording_free(x.r);
  runtime_fail(ctx, TN_ERROR_PARSE, "%s, line %d: %s", name, x.line, x.why);
  return NULL;
}
