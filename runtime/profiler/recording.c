/* recording.c: how recordings are put together and read.
 *
 * A recording owns everything in it: texts, interned in its arena, and plain arrays of events, arguments,
 * lanes, processes and sources that refer to each other by index. */
#include <stdio.h>

#include "runtime/profiler/recorder.h"

/* The interned text; "" for NULL, or without memory. */
static const char *keep(tn_recording *r, const char *text) {
  const char *kept = text ? runtime_intern(&r->strings, text, strlen(text)) : "";
  if (!kept) r->failed = true;
  return kept ? kept : "";
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Source 0 is the unknown place, so that events need no test for it. */
tn_recording *profiler_recording_new(void) {
  tn_recording *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  r->strings.arena = &r->arena;
  if (RUNTIME_PUSH(&r->sources, ((tn_source){"", "", 0}))) return r;
  tn_recording_free(r);
  return NULL;
}

void tn_recording_free(tn_recording *r) {
  if (!r) return;
  runtime_arena_free(&r->arena);
  runtime_names_free(&r->strings);
  free(r->events);
  free(r->args);
  RUNTIME_VEC_FREE(&r->lanes);
  RUNTIME_VEC_FREE(&r->processes);
  RUNTIME_VEC_FREE(&r->sources);
  runtime_str_free(&r->errors);
  runtime_str_free(&r->warnings);
  free(r->rules);
  free(r);
}

/* The index of the item that was pushed last, or -1. */
static int pushed(tn_recording *r, bool is_pushed, int n) {
  if (!is_pushed) r->failed = true;
  return is_pushed ? n - 1 : -1;
}

int profiler_add_process(tn_recording *r, const tn_process *process) {
  tn_process copy = *process;
  copy.name = keep(r, process->name);
  copy.host = keep(r, process->host);
  bool is_pushed = RUNTIME_PUSH(&r->processes, copy);
  return pushed(r, is_pushed, r->processes.n);
}

int profiler_add_lane(tn_recording *r, const tn_lane *lane) {
  tn_lane copy = *lane;
  copy.name = keep(r, lane->name);
  bool is_pushed = RUNTIME_PUSH(&r->lanes, copy);
  return pushed(r, is_pushed, r->lanes.n);
}

/* Searches backwards, since events of one place come together. There are only as many sources as the
 * program has sites. */
int profiler_add_source(tn_recording *r, const tn_source *source) {
  tn_source copy = {keep(r, source->file), keep(r, source->function), source->line};
  for (int i = r->sources.n; i-- > 0;) {
    const tn_source *s = &r->sources.data[i];
    if (s->file == copy.file && s->function == copy.function && s->line == copy.line) return i;
    if (i == 0 && !*copy.file && !*copy.function && copy.line == 0) return 0;
  }
  bool is_pushed = RUNTIME_PUSH(&r->sources, copy);
  return pushed(r, is_pushed, r->sources.n);
}

/* Makes room for one more item of a long array. */
static bool reserve(void **data, int64_t n, int64_t *cap, size_t bytes) {
  if (n < *cap) return true;
  int64_t more = *cap ? *cap * 2 : 256;
  void *grown = more < INT32_MAX ? realloc(*data, (size_t)more * bytes) : NULL;
  if (!grown) return false;
  *data = grown;
  *cap = more;
  return true;
}

/* The address is valid until the next event is added. NULL: no memory; the recording has failed. */
tn_event *profiler_add_event(tn_recording *r, int lane, tn_event_kind kind, const char *name) {
  if (!reserve((void **)&r->events, r->n_events, &r->cap_events, sizeof *r->events)) {
    r->failed = true;
    return NULL;
  }
  tn_event *e = &r->events[r->n_events++];
  *e = (tn_event){.lane = lane, .kind = (uint8_t)kind, .name = keep(r, name), .parent = -1};
  e->first_arg = (int32_t)r->n_args;
  return e;
}

/* Adds to the event added last, since an event's arguments must be adjacent. */
void profiler_add_arg(tn_recording *r, const tn_event_arg *arg) {
  if (r->n_events == 0) return;
  if (!reserve((void **)&r->args, r->n_args, &r->cap_args, sizeof *r->args)) {
    r->failed = true;
    return;
  }
  tn_event_arg copy = *arg;
  copy.key = keep(r, arg->key);
  if (arg->type == TN_EVENT_ARG_TEXT) copy.text = keep(r, arg->text);
  r->args[r->n_args++] = copy;
  ++r->events[r->n_events - 1].n_args;
}

/* Lines are separated by newlines, not ended by them. */
static runtime_str *new_line(runtime_str *to) {
  if (to->n) runtime_str_add(to, "\n");
  return to;
}

void profiler_warn(tn_recording *r, const char *fmt, ...) { RUNTIME_ADD_ARGS(new_line(&r->warnings), fmt); }

void profiler_error(tn_recording *r, const char *fmt, ...) { RUNTIME_ADD_ARGS(new_line(&r->errors), fmt); }

/* Interns the texts again, since the other recording may be freed. */
static bool append_event(tn_recording *into, const tn_recording *from, const tn_event *e, int first_lane,
                         int64_t first_event, const int *sources, int64_t shift) {
  tn_event *copy = profiler_add_event(into, first_lane + e->lane, (tn_event_kind)e->kind, e->name);
  if (!copy) return false;
  const char *name = copy->name;
  int32_t first_arg = copy->first_arg;
  *copy = *e;
  copy->name = name;
  copy->lane = first_lane + e->lane;
  copy->start_ns += shift;
  copy->parent = e->parent < 0 ? e->parent : (int32_t)(first_event + e->parent);
  copy->site = sources[e->site];
  copy->first_arg = first_arg;
  copy->n_args = 0;
  for (int i = 0; i < e->n_args; ++i) profiler_add_arg(into, &from->args[e->first_arg + i]);
  return !into->failed;
}

/* Adds up what the parts of a recording lost; costs of the recorder are the first part's. */
static void append_stats(tn_profile_stats *into, const tn_profile_stats *from) {
  into->dropped += from->dropped;
  into->double_ends += from->double_ends;
  into->overlaps += from->overlaps;
  into->unfinished += from->unfinished;
  into->lost_names += from->lost_names;
  into->bytes += from->bytes;
}

/* Shifts FROM's times by the distance of both starts and by OFFSET_NS. The recording must be finished afterwards. */
bool profiler_recording_append(tn_recording *into, const tn_recording *from, int64_t offset_ns) {
  int64_t shift = from->info.start_ns + offset_ns - into->info.start_ns, first_event = into->n_events;
  int first_process = into->processes.n, first_lane = into->lanes.n;
  int *sources = malloc((size_t)from->sources.n * sizeof *sources);
  if (!sources) return false;
  for (int i = 0; i < from->sources.n; ++i)
    sources[i] = RUNTIME_MAX(profiler_add_source(into, &from->sources.data[i]), 0);
  for (int i = 0; i < from->processes.n; ++i) profiler_add_process(into, &from->processes.data[i]);
  for (int i = 0; i < from->lanes.n; ++i) {
    tn_lane lane = from->lanes.data[i];
    lane.process += first_process;
    profiler_add_lane(into, &lane);
  }
  for (int64_t i = 0; i < from->n_events && !into->failed; ++i)
    append_event(into, from, &from->events[i], first_lane, first_event, sources, shift);
  free(sources);
  append_stats(&into->info.stats, &from->info.stats);
  if (from->errors.n) profiler_error(into, "%s", from->errors.data);
  if (from->warnings.n) profiler_warn(into, "%s", from->warnings.data);
  return !into->failed;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

const tn_event *tn_recording_events(const tn_recording *r, int64_t *n) {
  if (n) *n = r ? r->n_events : 0;
  return r ? r->events : NULL;
}

const tn_lane *tn_recording_lanes(const tn_recording *r, int *n) {
  if (n) *n = r ? r->lanes.n : 0;
  return r ? r->lanes.data : NULL;
}

const tn_process *tn_recording_processes(const tn_recording *r, int *n) {
  if (n) *n = r ? r->processes.n : 0;
  return r ? r->processes.data : NULL;
}

const tn_source *tn_recording_sources(const tn_recording *r, int *n) {
  if (n) *n = r ? r->sources.n : 0;
  return r ? r->sources.data : NULL;
}

const tn_event_arg *tn_recording_args(const tn_recording *r, int64_t *n) {
  if (n) *n = r ? r->n_args : 0;
  return r ? r->args : NULL;
}

const tn_recording_info *tn_recording_get_info(const tn_recording *r) { return r ? &r->info : NULL; }
const char *tn_recording_errors(const tn_recording *r) { return r && r->errors.n ? r->errors.data : ""; }
const char *tn_recording_warnings(const tn_recording *r) { return r && r->warnings.n ? r->warnings.data : ""; }
