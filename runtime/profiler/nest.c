/* nest.c: finishes a recording: the order of events, parents, self times, sums of memory.
 *
 * Events are sorted in place, so indices of events are valid only afterwards. */
#include <stdio.h>

#include "runtime/profiler/recorder.h"
#include "runtime/profiler/stream.h"

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Orders by lane, then by beginning; of events that began together the longer is first, then the one added first. */
static int compare_events(const tn_event *a, const tn_event *b) {
  if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
  if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
  if (a->duration_ns != b->duration_ns) return a->duration_ns > b->duration_ns ? -1 : 1;
  return 0;
}

/* Equal events keep the order in which they were recorded, so that one file always gives one tree. */
static int by_order(const void *left, const void *right, void *events) {
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  int order = compare_events((const tn_event *)events + a, (const tn_event *)events + b);
  return order ? order : (a > b) - (a < b);
}

/* Usually true for what one thread recorded. Checking is cheaper than sorting a million events. */
static bool is_sorted(const tn_recording *r) {
  for (int64_t i = 1; i < r->n_events; ++i)
    if (compare_events(&r->events[i - 1], &r->events[i]) > 0) return false;
  return true;
}

/* Puts the events into ORDER (a list of present indices), and updates parents. In a damaged file a parent
 * may begin after its child; then it is searched by time, since parents must come before children. */
static bool permute(tn_recording *r, const int32_t *order) {
  size_t n = (size_t)r->n_events;
  tn_event *sorted = malloc((n + 1) * sizeof *sorted);
  int32_t *new_at = malloc((n + 1) * sizeof *new_at);
  bool done = sorted && new_at;
  if (done) {
    for (size_t i = 0; i < n; ++i) new_at[order[i]] = (int32_t)i;
    for (size_t i = 0; i < n; ++i) {
      sorted[i] = r->events[order[i]];
      if (sorted[i].parent >= 0) sorted[i].parent = new_at[sorted[i].parent];
      if (sorted[i].parent >= (int32_t)i) sorted[i].parent = PROFILER_PARENT_UNKNOWN;
    }
    free(r->events);
    r->events = sorted;
    r->cap_events = r->n_events + 1;
  } else {
    free(sorted);
  }
  free(new_at);
  return done;
}

/* Checks first, because what one thread recorded is usually in order already. False without memory. */
static bool sort_events(tn_recording *r) {
  if (is_sorted(r)) return true;
  int32_t *order = malloc((size_t)r->n_events * sizeof *order);
  if (!order) return false;
  for (int64_t i = 0; i < r->n_events; ++i) order[i] = (int32_t)i;
  qsort_r(order, (size_t)r->n_events, sizeof *order, by_order, r->events);
  bool done = permute(r, order);
  free(order);
  return done;
}

/* ---- parents ----------------------------------------------------------------------------------------------------- */

static int64_t end_of(const tn_event *e) { return e->start_ns + e->duration_ns; }

/* Async ranges, and scopes that overlapped others, are outside the tree. */
static bool can_nest(const tn_event *e) { return e->kind == TN_EVENT_SCOPE && !(e->flags & TN_EVENT_OVERLAP); }

/* The innermost of the open scopes (linked by parent) that has not ended when E begins. */
static int32_t still_open(const tn_event *events, int32_t top, const tn_event *e) {
  while (top >= 0 && (end_of(&events[top]) < e->start_ns ||
                      (end_of(&events[top]) == e->start_ns && (e->duration_ns > 0 || events[top].duration_ns > 0))))
    top = events[top].parent;
  return top;
}

/* Times measured elsewhere differ by the error of clocks. Such a scope may be shortened by this much to fit. */
enum { SLACK_NS = 2000 };

/* Whether INNER lies in OUTER, possibly after shortening. Only times that were measured elsewhere are changed. */
static bool fit(tn_event *outer, tn_event *inner) {
  int64_t over = end_of(inner) - end_of(outer);
  if (over <= 0) return true;
  if (over > SLACK_NS || !((outer->flags | inner->flags) & TN_EVENT_ADDED)) return false;
  if (inner->flags & TN_EVENT_ADDED)
    inner->duration_ns -= over;
  else
    outer->duration_ns += over;
  return inner->duration_ns >= 0;
}

/* Nests the scopes of one lane by their times. */
static void nest_by_time(tn_recording *r, int64_t first, int64_t end) {
  int32_t top = -1;
  for (int64_t i = first; i < end; ++i) {
    tn_event *e = &r->events[i];
    if (e->kind == TN_EVENT_ASYNC || (e->flags & TN_EVENT_OVERLAP)) continue;
    top = still_open(r->events, top, e);
    if (!can_nest(e)) {
      if (e->parent == PROFILER_PARENT_UNKNOWN) e->parent = top;
      continue;
    }
    if (top >= 0 && !fit(&r->events[top], e)) {
      e->flags |= TN_EVENT_OVERLAP;
      e->parent = -1;
      ++r->info.stats.overlaps;
      continue;
    }
    e->parent = top;
    top = (int32_t)i;
  }
}

/* Only lanes with an unknown parent are nested by time, since the recorder's own parents are exact. */
static void nest(tn_recording *r) {
  for (int64_t first = 0, end; first < r->n_events; first = end) {
    bool by_time = false;
    for (end = first; end < r->n_events && r->events[end].lane == r->events[first].lane; ++end)
      by_time |= r->events[end].parent == PROFILER_PARENT_UNKNOWN;
    if (by_time) nest_by_time(r, first, end);
    for (int64_t i = first; i < end; ++i)
      if (r->events[i].parent == PROFILER_PARENT_UNKNOWN) r->events[i].parent = -1;
  }
}

/* The result may be negative where children timed by another clock stick out. */
static void compute_self(tn_recording *r) {
  for (int64_t i = 0; i < r->n_events; ++i)
    r->events[i].self_ns = r->events[i].kind == TN_EVENT_SCOPE ? r->events[i].duration_ns : 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind == TN_EVENT_SCOPE && e->parent >= 0) r->events[e->parent].self_ns -= e->duration_ns;
  }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* The change that an event makes. A free without a size gets that of its allocation. LIVE: address and
 * process -> bytes. False without memory. */
static bool settle_bytes(tn_recording *r, tn_event *e, profiler_map *live, uint64_t process) {
  int64_t *bytes = e->id ? profiler_map_at(live, e->id, process, 0) : NULL;
  if (e->id && !bytes) return false;
  if (!(e->flags & TN_EVENT_FREE)) {
    if (bytes) *bytes += e->bytes;
    return true;
  }
  bool is_known = bytes ? *bytes > 0 : e->bytes != 0;
  if (!is_known) {
    e->flags |= TN_EVENT_UNKNOWN;
    e->bytes = 0;
    ++r->info.stats.unknown_frees;
    return true;
  }
  e->bytes = bytes ? -*bytes : -RUNTIME_MAX(e->bytes, -e->bytes);
  if (bytes) *bytes = 0;
  return true;
}

/* Events of equal times keep the recording's order. */
static int by_time(const void *left, const void *right, void *events) {
  const tn_event *a = (const tn_event *)events + *(const int32_t *)left,
                 *b = (const tn_event *)events + *(const int32_t *)right;
  if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
  return a < b ? -1 : a > b;
}

/* The indices of memory events in order of time; *N: how many. NULL: there are none, or no memory. */
static int32_t *memory_events(tn_recording *r, int64_t *n) {
  *n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) *n += r->events[i].kind == TN_EVENT_MEMORY;
  int32_t *found = *n ? malloc((size_t)*n * sizeof *found) : NULL;
  if (!found) return NULL;
  int64_t at = 0;
  for (int64_t i = 0; i < r->n_events; ++i)
    if (r->events[i].kind == TN_EVENT_MEMORY) found[at++] = (int32_t)i;
  qsort_r(found, (size_t)*n, sizeof *found, by_time, r->events);
  return found;
}

/* Sums up memory for every pool of every process. */
static bool run_memory(tn_recording *r) {
  int64_t n;
  int32_t *order = memory_events(r, &n);
  if (!order) return n == 0;
  profiler_map live = {0}, pools = {0}; /* pools: name, process -> bytes in use */
  bool done = true;
  r->info.stats.unknown_frees = 0;
  for (int64_t i = 0; i < n && done; ++i) {
    tn_event *e = &r->events[order[i]];
    uint64_t process = (uint64_t)r->lanes.data[e->lane].process;
    int64_t *pool = profiler_map_at(&pools, (uint64_t)(uintptr_t)e->name, process, 0);
    bool counts = !(e->flags & TN_EVENT_FAILED);
    done = pool != NULL && (!counts || settle_bytes(r, e, &live, process));
    if (!done) break;
    if (counts) *pool += e->bytes;
    e->current = *pool;
  }
  profiler_map_free(&live);
  profiler_map_free(&pools);
  free(order);
  return done;
}

/* The arrays are the caller's, with a number for each event; each may be NULL. With TOTAL_BYTES it takes
 * time proportional to events times depth. */
void tn_recording_memory(const tn_recording *r, int64_t *self_bytes, int64_t *total_bytes, int64_t *outside) {
  if (!r) return;
  for (int64_t i = 0; i < r->n_events; ++i) {
    if (self_bytes) self_bytes[i] = 0;
    if (total_bytes) total_bytes[i] = 0;
  }
  if (outside) *outside = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind != TN_EVENT_MEMORY || (e->flags & TN_EVENT_FAILED)) continue;
    if (e->parent < 0 && outside) *outside += e->bytes;
    if (e->parent >= 0 && self_bytes) self_bytes[e->parent] += e->bytes;
    for (int32_t at = e->parent; total_bytes && at >= 0; at = r->events[at].parent) total_bytes[at] += e->bytes;
  }
}

/* ---- finish ------------------------------------------------------------------------------------------------------ */

/* Nesting may shorten a scope that was sorted by its old length. The order stays right, since starts do not move. */
bool profiler_recording_finish(tn_recording *r) {
  if (r->failed || !sort_events(r)) return false;
  nest(r);
  compute_self(r);
  r->info.stats.events = (uint64_t)r->n_events;
  r->info.stats.lanes = (uint64_t)r->lanes.n;
  return run_memory(r);
}

/* ---- folded stacks ----------------------------------------------------------------------------------------------- */

/* Frames are joined by ';' and the line ends with a blank and a number, so a name must contain neither ';'
 * nor control characters. */
static void add_frame(runtime_str *out, const char *name) {
  for (const char *p = name; *p; ++p) runtime_str_addn(out, *p == ';' ? ":" : (unsigned char)*p < ' ' ? " " : p, 1);
}

/* Writes the innermost MAX frames at most; returns how many. */
static int chain_of(const tn_recording *r, int32_t at, int32_t *chain, int max) {
  int n = 0;
  for (; at >= 0 && n < max; at = r->events[at].parent) chain[n++] = at;
  return n;
}

/* CHAIN has room for MAX numbers. Frames go from root to leaf, as flamegraph.pl expects. */
static void add_folded_line(runtime_str *out, const tn_recording *r, int32_t index, int64_t us, int32_t *chain,
                            int max) {
  for (int n = chain_of(r, index, chain, max); n-- > 0;) {
    add_frame(out, r->events[chain[n]].name);
    runtime_str_add(out, n ? ";" : " ");
  }
  runtime_str_addf(out, "%lld\n", (long long)us);
}

/* Values are self times in whole microseconds, as flame graph tools expect; those that round to 0 are left
 * out. NULL: no memory. */
char *tn_recording_folded(const tn_recording *r) {
  /* The deepest stack that is written. */
  enum { MAX_FRAMES = 16384 };
  int32_t *chain = malloc(MAX_FRAMES * sizeof *chain);
  runtime_str out = {0};
  runtime_str_add(&out, "");
  for (int64_t i = 0; r && chain && i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    int64_t us = (e->self_ns + 500) / 1000;
    if (e->kind == TN_EVENT_SCOPE && us > 0) add_folded_line(&out, r, (int32_t)i, us, chain, MAX_FRAMES);
  }
  bool failed = !chain || out.failed;
  free(chain);
  if (failed) runtime_str_free(&out);
  return out.data;
}
