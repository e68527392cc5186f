/* recorder.h: a recording from inside. Code that collects, loads, merges, analyses or writes recordings
 * uses this header; code that records uses profiler.h.
 *
 * A recording is flat arrays and an arena. To make one (a reader, a merge): call profiler_recording_new,
 * add processes, lanes, sources, and events with their arguments in any order, and call
 * profiler_recording_finish. That sorts the events (by lane, then by beginning), finds parents and self
 * times, and sums up memory. Afterwards the recording is read only. */
#ifndef TENON_RUNTIME_PROFILER_RECORDER_H
#define TENON_RUNTIME_PROFILER_RECORDER_H

#include "runtime/base.h"
#include "runtime/profiler/profiler.h"

/* Freed by tn_recording_free. */
struct tn_recording {
  runtime_arena arena; /* holds names, texts of arguments, messages */
  runtime_names strings;
  tn_event *events;
  int64_t n_events, cap_events;
  tn_event_arg *args;
  int64_t n_args, cap_args;
  RUNTIME_VEC(tn_lane) lanes;
  RUNTIME_VEC(tn_process) processes;
  RUNTIME_VEC(tn_source) sources; /* [0] is the unknown place */
  tn_recording_info info;
  runtime_str errors, warnings; /* one per line */
  char *rules;                  /* the user's rules for advice: JSON; NULL: none */
  bool failed;                  /* memory ran out while it was made */
};

TN_GIVE tn_recording *profiler_recording_new(void); /* NULL: no memory */
/* Return the index of the new item, or -1 without memory (then `failed` is set). Texts are copied. */
int profiler_add_process(tn_recording *r, const tn_process *process);
int profiler_add_lane(tn_recording *r, const tn_lane *lane);
int profiler_add_source(tn_recording *r, const tn_source *source); /* equal ones share an index */
/* Adds an event, zeroed, with parent -1 and a name; NULL without memory. It is valid until the next one is
 * added. EVENT.parent may be set to the index of any event added before or after; PROFILER_PARENT_UNKNOWN
 * makes finish find it by times. Add its arguments (profiler_add_arg) before the next event. */
tn_event *profiler_add_event(tn_recording *r, int lane, tn_event_kind kind, const char *name);
enum { PROFILER_PARENT_UNKNOWN = -2 };
/* Adds an argument to the event added last; key and text are interned. */
void profiler_add_arg(tn_recording *r, const tn_event_arg *arg);
/* Sorts, nests and sums. False without memory. */
bool profiler_recording_finish(tn_recording *r);
/* Append a line to what tn_recording_warnings or tn_recording_errors returns. */
void profiler_warn(tn_recording *r, const char *fmt, ...) TN_PRINTF(2, 3);
void profiler_error(tn_recording *r, const char *fmt, ...) TN_PRINTF(2, 3);

/* Copies everything of FROM into INTO (before INTO is finished). Times are shifted by OFFSET_NS and made
 * relative to INTO's start. */
bool profiler_recording_append(tn_recording *into, const tn_recording *from, int64_t offset_ns);

static inline const tn_process *profiler_process_of(const tn_recording *r, const tn_event *e) {
  return &r->processes.data[r->lanes.data[e->lane].process];
}
static inline bool profiler_has_time(const tn_event *e) {
  return e->kind == TN_EVENT_SCOPE || e->kind == TN_EVENT_ASYNC;
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

/* For tests: all times are read from here. NULL functions mean the system's clock. */
typedef struct profiler_clock {
  uint64_t (*monotonic_ns)(void *user);
  uint64_t (*realtime_ns)(void *user);
  void *user;
  bool no_tsc; /* use CLOCK_MONOTONIC even if the TSC is invariant */
} profiler_clock;
/* Replaces the clock of the process (NULL: the system's). Not allowed while a session runs or a profiler is entered. */
void profiler_set_clock(const profiler_clock *clock);
uint64_t profiler_now_ns(void); /* what the recorder takes for CLOCK_MONOTONIC */
bool profiler_clock_is_tsc(void);

/* For tests: events recorded so far in the running session, and scopes that are open now in all threads. */
int64_t profiler_live_events(void);
int64_t profiler_open_scopes(void);

#endif
