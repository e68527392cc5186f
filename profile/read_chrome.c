/* read_chrome.c: Chrome trace events to a recording, ours or another program's: an object with traceEvents or an array,
 * which may be cut off anywhere. One event is in memory at a time. Phases X, B, E, b, n, e, i, I, R, C, s, t, f and M
 * are read; others are counted in a warning.
 *
 * The `reader` owns the maps from the trace's ids to indices, and the stacks of open B events. */
#include <errno.h>
#include <math.h>

#include "profile/files.h"
#include "profile/reports.h"

/* The open events of one lane: begun by a "B" event, not yet ended by an "E". */
typedef RUNTIME_VEC(int64_t) event_stack;

/* A file being read, event by event: the values of an event are freed when the next is read. */
typedef struct reader {
  tn_recording *r;
  profiler_in *in;
  runtime_arena scratch;  /* of one event */
  runtime_arena kept;     /* of otherData */
  profiler_map processes; /* pid -> index */
  profiler_map lanes;     /* pid, tid -> index */
  profiler_map asyncs;    /* name, id -> twice the index of the open event (+1: see read_range_end); -1: none */
  RUNTIME_VEC(event_stack) stacks; /* one for each lane */
  const profiler_json *other;      /* otherData; NULL: none */
  int64_t n_skipped, latest_ns;
  bool is_cut_off, has_events;
  const char *why;
} reader;

/* Always false, for `return out_of_memory(x)`. */
static bool out_of_memory(reader *x) {
  x->why = "out of memory";
  return false;
}

/* ---- processes and lanes ----------------------------------------------------------------------------------------- */

/* The value of a number, of a text that is a number, or else a text's hash below 2^32, because some
 * programs write ids as texts. */
static int64_t read_id(const profiler_json *event, const char *key) {
  const char *text = profiler_json_text(event, key, NULL);
  if (!text) return profiler_json_i64(event, key, 0);
  char *end;
  unsigned long long number = strtoull(text, &end, 0);
  if (*text && !*end) return (int64_t)number;
  return (int64_t)(runtime_hash(text, strlen(text), 0) & UINT32_MAX);
}

/* A process is added when an event first names it. Its name may come later, or never. */
static int find_process(reader *x, int64_t pid) {
  int64_t *index = profiler_map_at(&x->processes, (uint64_t)pid, 0, -1);
  if (!index) return out_of_memory(x), -1;
  tn_process process = {.name = "", .host = "", .pid = pid, .node_id = -1};
  if (*index < 0) *index = profiler_add_process(x->r, &process);
  if (*index < 0) out_of_memory(x);
  return (int)*index;
}

/* Each lane has its own stack of open "B" events. */
static int add_lane(reader *x, int process, int64_t tid) {
  tn_lane lane = {.name = "", .tid = tid, .process = process};
  int index = profiler_add_lane(x->r, &lane);
  if (index < 0 || !RUNTIME_PUSH(&x->stacks, (event_stack){0})) return out_of_memory(x), -1;
  return index;
}

/* -1: out of memory. Thread ids are unique only within their process. */
static int find_lane(reader *x, const profiler_json *event) {
  int64_t pid = read_id(event, "pid"), tid = read_id(event, "tid");
  int process = find_process(x, pid);
  int64_t *index = process < 0 ? NULL : profiler_map_at(&x->lanes, (uint64_t)pid, (uint64_t)tid, -1);
  if (!index) return out_of_memory(x), -1;
  if (*index < 0) *index = add_lane(x, process, tid);
  return (int)*index;
}

static const char *keep_text(reader *x, const char *text) { return runtime_intern(&x->r->strings, text, strlen(text)); }

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* An integer if the number is one and fits, else a double. */
static tn_event_arg number_arg(const char *key, const char *text) {
  errno = 0;
  int64_t i64 = strtoll(text, NULL, 10);
  bool fits = !strpbrk(text, ".eE") && errno == 0;
  if (fits) return tn_event_arg_i64(key, i64);
  errno = 0;
  uint64_t u64 = strtoull(text, NULL, 10);
  fits = !strpbrk(text, ".eE") && *text != '-' && errno == 0;
  return fits ? tn_event_arg_u64(key, u64) : tn_event_arg_f64(key, runtime_parse_float(text, NULL));
}

/* Whether the text has the form file:line:function. Otherwise it is an ordinary argument. */
static bool is_place(const char *text) {
  const char *colon = strchr(text, ':');
  return colon && strchr(colon + 1, ':');
}

/* Takes an argument that our own writer added. False if it is an ordinary one. */
static bool read_own_arg(reader *x, tn_event *e, const profiler_json *arg) {
  bool is_text = arg->kind == PROFILER_JSON_STRING;
  if (is_text && strcmp(arg->key, "source") == 0)
    return is_place(arg->text) && (profiler_source_parse(x->r, e, arg->text), true);
  if (is_text && strcmp(arg->key, "flags") == 0) return profiler_flags_parse(e, arg->text), true;
  if (arg->kind != PROFILER_JSON_NUMBER || strcmp(arg->key, "sequence") != 0) return false;
  e->sequence = (uint32_t)strtoul(arg->text, NULL, 10);
  return true;
}

/* Items of nested arrays and objects get keys of the form "outer.inner". */
static void add_args(reader *x, const profiler_json *items, const char *prefix) {
  int n = 0;
  for (const profiler_json *item = items->child; item; item = item->next, ++n) {
    const char *key = item->key ? item->key : runtime_format(&x->scratch, "%d", n);
    if (*prefix) key = runtime_format(&x->scratch, "%s.%s", prefix, key ? key : "");
    if (!key) continue;
    tn_event_arg arg = tn_event_arg_text(key, item->text);
    if (item->kind == PROFILER_JSON_BOOL) arg = tn_event_arg_i64(key, *item->text == 't');
    if (item->kind == PROFILER_JSON_NUMBER) arg = number_arg(key, item->text);
    if (item->kind == PROFILER_JSON_ARRAY || item->kind == PROFILER_JSON_OBJECT)
      add_args(x, item, key);
    else if (item->kind != PROFILER_JSON_NULL)
      profiler_add_arg(x->r, &arg);
  }
}

/* Removes our own arguments from the list and adds the rest to the event. */
static void read_args(reader *x, tn_event *e, const profiler_json *event) {
  profiler_json *args = (profiler_json *)profiler_json_member(event, "args");
  if (!args || args->kind != PROFILER_JSON_OBJECT) return;
  for (profiler_json **at = &args->child; *at;) {
    if (read_own_arg(x, e, *at))
      *at = (*at)->next;
    else
      at = &(*at)->next;
  }
  add_args(x, args, "");
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* The first of several separated by commas. A category that is not ours becomes TN_CATEGORY_APP. */
static tn_category read_category(const profiler_json *event) {
  const char *cat = profiler_json_text(event, "cat", "");
  int category = profiler_find_category(cat, strcspn(cat, ","));
  return category < 0 ? TN_CATEGORY_APP : (tn_category)category;
}

/* Adds the event without its arguments; NULL without memory. */
static tn_event *add_bare(reader *x, const profiler_json *event, tn_event_kind kind, const char *name) {
  int lane = find_lane(x, event);
  tn_event *e = lane < 0 ? NULL : profiler_add_event(x->r, lane, kind, name);
  if (!e) return out_of_memory(x), NULL;
  int64_t ts = 0, level = profiler_json_i64(event, "level", 1);
  profiler_json_us(profiler_json_member(event, "ts"), &ts);
  e->start_ns = profiler_clip(ts, PROFILER_MAX_NS);
  e->level = level >= 0 && level <= TN_LEVEL_MAX ? (uint8_t)level : 1;
  e->category = (uint8_t)read_category(event);
  e->parent = PROFILER_PARENT_UNKNOWN;
  x->latest_ns = RUNTIME_MAX(x->latest_ns, e->start_ns);
  return e;
}

/* NULL when out of memory. Arguments are added directly after their event, because the recording keeps them
 * in the order of events. */
static tn_event *add_event(reader *x, const profiler_json *event, tn_event_kind kind) {
  tn_event *e = add_bare(x, event, kind, profiler_json_text(event, "name", ""));
  if (e) read_args(x, e, event);
  return e;
}

/* Also moves the recording's end, which files of other programs do not state. */
static void set_duration(reader *x, tn_event *e, int64_t duration_ns) {
  e->duration_ns = RUNTIME_MAX(0, profiler_clip(duration_ns, PROFILER_MAX_NS));
  x->latest_ns = RUNTIME_MAX(x->latest_ns, e->start_ns + e->duration_ns);
}

/* Event categories of PyTorch's Kineto that take part in launches. */
static const struct kineto {
  const char *category;
  tn_flow_phase phase; /* of the arrow from the call to what it launched */
} kineto[] = {{"cuda_runtime", TN_FLOW_START},
              {"cuda_driver", TN_FLOW_START},
              {"kernel", TN_FLOW_END},
              {"gpu_memcpy", TN_FLOW_END},
              {"gpu_memset", TN_FLOW_END}};

/* A Kineto event with a correlation number is one end of a launch (tn_launch). E must be the event added last. */
static bool read_launch(reader *x, tn_event *e, const profiler_json *event) {
  const char *category = profiler_json_text(event, "cat", "");
  int k = 0;
  while (k < RUNTIME_COUNT(kineto) && strcmp(kineto[k].category, category) != 0) ++k;
  int64_t launch = profiler_json_i64(profiler_json_member(event, "args"), "correlation", 0);
  if (k == RUNTIME_COUNT(kineto) || launch <= 0) return true;
  e->category = TN_CATEGORY_DEVICE;
  if (kineto[k].phase == TN_FLOW_END) {
    tn_event_arg arg = tn_event_arg_i64(TN_LAUNCH, launch);
    e->flags |= TN_EVENT_DEVICE;
    x->r->lanes.data[e->lane].is_device = true;
    profiler_add_arg(x->r, &arg);
  }
  tn_event *arrow = add_bare(x, event, TN_EVENT_FLOW, TN_LAUNCH);
  if (!arrow) return false;
  arrow->id = (uint64_t)launch;
  arrow->phase = (uint8_t)kineto[k].phase;
  return true;
}

/* "X": start and duration in one event. */
static bool read_complete(reader *x, const profiler_json *event) {
  int64_t duration = 0;
  tn_event *e = add_event(x, event, TN_EVENT_SCOPE);
  profiler_json_us(profiler_json_member(event, "dur"), &duration);
  if (!e) return false;
  set_duration(x, e, duration);
  return read_launch(x, e, event);
}

/* The event stays unfinished if its end does not come. */
static bool read_begin(reader *x, const profiler_json *event) {
  tn_event *e = add_event(x, event, TN_EVENT_SCOPE);
  if (!e) return false;
  e->flags |= TN_EVENT_UNFINISHED; /* until its end comes */
  return RUNTIME_PUSH(&x->stacks.data[e->lane], x->r->n_events - 1) || out_of_memory(x);
}

/* The times may be in any order, so a negative duration becomes 0. */
static bool end_event(reader *x, int64_t index, const profiler_json *event) {
  tn_event *e = &x->r->events[index];
  int64_t ts = e->start_ns;
  profiler_json_us(profiler_json_member(event, "ts"), &ts);
  set_duration(x, e, ts - e->start_ns);
  e->flags &= (uint16_t)~TN_EVENT_UNFINISHED;
  return true;
}

/* An end without a beginning is counted as skipped: a ring buffer may have lost the beginning. */
static bool read_end(reader *x, const profiler_json *event) {
  int lane = find_lane(x, event);
  if (lane < 0) return false;
  event_stack *stack = &x->stacks.data[lane];
  if (stack->n == 0) return ++x->n_skipped, true;
  return end_event(x, stack->data[--stack->n], event);
}

/* Where the index of the open range with this name and id is kept. */
static int64_t *open_range(reader *x, const profiler_json *event) {
  const char *name = keep_text(x, profiler_json_text(event, "name", ""));
  int64_t *at = profiler_map_at(&x->asyncs, (uint64_t)(uintptr_t)name, (uint64_t)read_id(event, "id"), -1);
  if (!at) out_of_memory(x);
  return at;
}

/* Our writer writes scopes that overlap others as ranges, because nested events cannot show them. A flag
 * marks them, and they become scopes again. */
static bool read_range_begin(reader *x, const profiler_json *event) {
  int64_t *open = open_range(x, event);
  tn_event *e = open ? add_event(x, event, TN_EVENT_ASYNC) : NULL;
  if (!e) return false;
  bool was_unfinished = e->flags & TN_EVENT_UNFINISHED;
  e->id = (uint64_t)read_id(event, "id");
  if (e->flags & TN_EVENT_OVERLAP) e->kind = TN_EVENT_SCOPE, e->id = 0;
  if (!was_unfinished) e->flags |= TN_EVENT_UNFINISHED;
  *open = (x->r->n_events - 1) * 2 + was_unfinished;
  return true;
}

/* An end without a beginning is counted as skipped, not refused: traces are often cut. The index of the
 * open range is kept doubled, plus 1 if our writer had to close the range itself. */
static bool read_range_end(reader *x, const profiler_json *event) {
  int64_t *open = open_range(x, event);
  if (!open) return false;
  int64_t kept = *open;
  *open = -1;
  if (kept < 0) return ++x->n_skipped, true;
  end_event(x, kept / 2, event);
  tn_event *e = &x->r->events[kept / 2];
  int lane = profiler_find_arg(x->r, e, TN_BEGAN_ON) ? find_lane(x, event) : e->lane;
  if (lane < 0) return false;
  x->r->events[kept / 2].lane = lane;                                /* a range stands where it ends */
  if (kept % 2) x->r->events[kept / 2].flags |= TN_EVENT_UNFINISHED; /* our writer closed it */
  return true;
}

/* Our writer writes failed allocations as instants, because they change no counter. */
static bool read_instant(reader *x, const profiler_json *event) {
  tn_event *e = add_event(x, event, TN_EVENT_INSTANT);
  if (!e || !(e->flags & TN_EVENT_FAILED)) return e != NULL;
  e->kind = TN_EVENT_MEMORY;
  e->bytes = profiler_clip(profiler_json_i64(event, "change", 0), PROFILER_MAX_BYTES);
  e->n_args = 0;
  return true;
}

/* "change" is positive for an allocation and negative for a release. */
static bool read_memory(reader *x, const profiler_json *event) {
  tn_event *e = add_bare(x, event, TN_EVENT_MEMORY, profiler_json_text(event, "name", ""));
  if (!e) return false;
  e->bytes = profiler_clip(profiler_json_i64(event, "change", 0), PROFILER_MAX_BYTES);
  e->id = (uint64_t)profiler_json_i64(event, "address", 0);
  if (e->bytes < 0) e->flags |= TN_EVENT_FREE;
  return true;
}

/* One counter for each series. A series called "value" gets the event's name alone. */
static bool read_counter(reader *x, const profiler_json *event) {
  if (profiler_json_member(event, "change")) return read_memory(x, event);
  const profiler_json *args = profiler_json_member(event, "args");
  const char *name = profiler_json_text(event, "name", "");
  for (const profiler_json *item = args ? args->child : NULL; item; item = item->next) {
    bool is_alone = !item->key || strcmp(item->key, "value") == 0;
    const char *full = is_alone ? name : runtime_format(&x->scratch, "%s %s", name, item->key);
    if (item->kind != PROFILER_JSON_NUMBER && item->kind != PROFILER_JSON_NULL) continue;
    tn_event *e = full ? add_bare(x, event, TN_EVENT_COUNTER, full) : NULL;
    if (!e) return out_of_memory(x);
    e->value = item->kind == PROFILER_JSON_NUMBER ? runtime_parse_float(item->text, NULL) : (double)NAN;
  }
  return true;
}

/* "s", "t" and "f" are a flow's start, step and end, in the order of tn_flow_phase. */
static bool read_flow(reader *x, const profiler_json *event) {
  static const char phases[] = "stf";
  tn_event *e = add_event(x, event, TN_EVENT_FLOW);
  if (!e) return false;
  e->id = (uint64_t)read_id(event, "id");
  e->phase = (uint8_t)(strchr(phases, *profiler_json_text(event, "ph", "s")) - phases);
  return true;
}

/* Metadata other than the two names (sort orders, labels) is ignored. */
static bool read_name(reader *x, const profiler_json *event) {
  const char *what = profiler_json_text(event, "name", ""), *name = NULL;
  name = profiler_json_text(profiler_json_member(event, "args"), "name", NULL);
  if (name && !(name = keep_text(x, name))) return out_of_memory(x);
  bool is_process = strcmp(what, "process_name") == 0, is_lane = strcmp(what, "thread_name") == 0;
  if (!name || (!is_process && !is_lane)) return true;
  int index = is_process ? find_process(x, read_id(event, "pid")) : find_lane(x, event);
  if (index < 0) return false;
  if (is_process) x->r->processes.data[index].name = name;
  if (is_lane) x->r->lanes.data[index].name = name;
  return true;
}

/* An event of an unknown phase is skipped and counted; a value that is not an object ends the reading. */
static bool read_event(reader *x, const profiler_json *event) {
  static bool (*const readers[128])(reader *, const profiler_json *) = {
      ['X'] = read_complete,  ['B'] = read_begin,   ['E'] = read_end,     ['b'] = read_range_begin,
      ['e'] = read_range_end, ['i'] = read_instant, ['I'] = read_instant, ['R'] = read_instant,
      ['n'] = read_instant,   ['C'] = read_counter, ['s'] = read_flow,    ['t'] = read_flow,
      ['f'] = read_flow,      ['M'] = read_name};
  const char *phase = profiler_json_text(event, "ph", "");
  unsigned char c = (unsigned char)*phase;
  if (event->kind != PROFILER_JSON_OBJECT) return x->why = "an event is no object", false;
  if (c < 128 && readers[c]) return readers[c](x, event);
  ++x->n_skipped;
  return true;
}

/* ---- what the session said of itself ----------------------------------------------------------------------------- */

/* Only our own files have this list. It holds what Chrome's format has no place for. */
static void read_process(reader *x, const profiler_json *item) {
  int index = find_process(x, profiler_json_i64(item, "pid", 0));
  const char *host = keep_text(x, profiler_json_text(item, "host", ""));
  if (index < 0 || !host) return;
  tn_process *p = &x->r->processes.data[index];
  p->host = host;
#define X(member, otherwise) p->member = (__typeof__(p->member))profiler_json_i64(item, #member, otherwise);
  PROFILER_PROCESS_NUMBERS(X)
#undef X
}

/* As read_process, for lanes. */
static void read_lane(reader *x, const profiler_json *item) {
  int index = find_lane(x, item);
  if (index < 0) return;
  x->r->lanes.data[index].dropped = (uint64_t)profiler_json_i64(item, "dropped", 0);
  x->r->lanes.data[index].is_device = profiler_json_i64(item, "is_device", 0) != 0;
}

/* The "otherData" of our own files. It is applied last, when all processes and lanes are known. */
static void read_other(reader *x) {
  static void (*const readers[])(reader *, const profiler_json *) = {read_process, read_lane};
  static const char *const lists[] = {"processes", "lanes"};
  tn_recording_info *info = &x->r->info;
#define X(member, key) info->member = profiler_json_i64(x->other, key, 0);
  PROFILER_INFO_NUMBERS(X)
#undef X
  info->n_rounds = (int)profiler_json_i64(x->other, "rounds", 0);
  const profiler_json *cost = profiler_json_member(x->other, "event_cost_ns");
  if (cost && cost->kind == PROFILER_JSON_NUMBER) info->stats.event_cost_ns = runtime_parse_float(cost->text, NULL);
  runtime_str_add(&x->r->errors, profiler_json_text(x->other, "errors", ""));
  runtime_str_add(&x->r->warnings, profiler_json_text(x->other, "warnings", ""));
  for (int i = 0; i < RUNTIME_COUNT(lists); ++i) {
    const profiler_json *list = profiler_json_member(x->other, lists[i]);
    for (const profiler_json *item = list ? list->child : NULL; item && !x->why; item = item->next) readers[i](x, item);
  }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Whether reading stopped because the input ended. */
static bool was_cut_off(reader *x) { return !x->in->failed && profiler_in_peek(x->in) < 0; }

/* Reads from '[' to ']', or to where the file is cut off. */
static bool read_events(reader *x) {
  profiler_in_get(x->in);
  for (int c; (c = profiler_json_peek(x->in)) != ']';) {
    if (c == ',') profiler_in_get(x->in), c = profiler_json_peek(x->in);
    if (c == ']') break;
    profiler_json *event = profiler_json_next(x->in, &x->scratch, &x->why);
    x->is_cut_off = !event && was_cut_off(x);
    if (x->is_cut_off) return x->why = NULL, true;
    if (!event || !read_event(x, event)) return false;
    runtime_arena_reset(&x->scratch);
  }
  profiler_in_get(x->in);
  return true;
}

/* traceEvents is read as a stream. All other values except otherData are dropped as soon as they are parsed. */
static bool read_member(reader *x) {
  const char *key = profiler_json_string(x->in, &x->scratch, &x->why);
  if (!key) return false;
  bool is_events = strcmp(key, "traceEvents") == 0, is_other = strcmp(key, "otherData") == 0;
  runtime_arena_reset(&x->scratch);
  if (profiler_json_peek(x->in) != ':') return x->why = "':' is expected", false;
  profiler_in_get(x->in);
  x->has_events |= is_events;
  if (is_events && profiler_json_peek(x->in) == '[') return read_events(x);
  profiler_json *value = profiler_json_next(x->in, is_other ? &x->kept : &x->scratch, &x->why);
  if (is_other) x->other = value;
  if (value && is_events) x->why = "traceEvents is no array";
  return value && !is_events;
}

/* A file that is cut off is read as far as it goes: that is what a killed program leaves behind. */
static bool read_object(reader *x) {
  profiler_in_get(x->in);
  for (int c; (c = profiler_json_peek(x->in)) != '}';) {
    if (c == ',') profiler_in_get(x->in), profiler_json_peek(x->in);
    if (!read_member(x)) return false;
    if (x->is_cut_off) return true;
    c = profiler_json_peek(x->in);
    if (c != ',' && c != '}') return x->why = "',' or '}' is expected", false;
  }
  if (!x->has_events) x->why = "it has no traceEvents: a recording is what --profile FILE.json wrote";
  return x->has_events;
}

/* Both shapes of Chrome's format: an object with "traceEvents", or the bare list, whose end may be missing. */
static bool read_all(reader *x) {
  int c = profiler_json_peek(x->in);
  if (c != '{' && c != '[') x->why = "neither an object nor an array";
  bool ok = c == '{' ? read_object(x) : c == '[' ? read_events(x) : false;
  if (ok && x->other) read_other(x);
  if (x->in->failed) x->why = x->in->failed;
  return ok && !x->why;
}

/* Events that were begun and never ended last until the latest time in the trace. Fills in what the trace
 * does not state. */
static void close_open(reader *x) {
  tn_recording_info *info = &x->r->info;
  if (!x->other) info->stats.events = (uint64_t)x->r->n_events;
  info->duration_ns = RUNTIME_MAX(info->duration_ns, x->other ? 0 : x->latest_ns);
  for (int64_t i = 0; i < x->r->n_events; ++i) {
    tn_event *e = &x->r->events[i];
    bool is_open = (e->flags & TN_EVENT_UNFINISHED) && profiler_has_time(e) && e->duration_ns == 0;
    if (is_open) e->duration_ns = x->latest_ns - e->start_ns;
  }
  if (x->is_cut_off) profiler_warn(x->r, "the trace is cut off after %lld events", (long long)x->r->n_events);
  if (x->n_skipped) profiler_warn(x->r, "%lld trace events were left out", (long long)x->n_skipped);
}

/* Frees everything but the recording, which is passed on. */
static void free_reader(reader *x) {
  runtime_arena_free(&x->scratch);
  runtime_arena_free(&x->kept);
  profiler_map_free(&x->processes);
  profiler_map_free(&x->lanes);
  profiler_map_free(&x->asyncs);
  for (int i = 0; i < x->stacks.n; ++i) RUNTIME_VEC_FREE(&x->stacks.data[i]);
  RUNTIME_VEC_FREE(&x->stacks);
}

/* Takes O(events) time. Beside the recording, memory holds one event at a time. */
tn_recording *profiler_read_chrome(tn_context *ctx, profiler_in *in, const char *name) {
  reader x = {.r = profiler_recording_new(), .in = in};
  bool ok = x.r ? read_all(&x) : out_of_memory(&x);
  if (ok)
    close_open(&x);
  else
    runtime_fail(ctx, TN_ERROR_PARSE, "%s, byte %llu: %s", name, (unsigned long long)profiler_in_place(in), x.why);
  free_reader(&x);
  if (ok) return profiler_finish_reading(ctx, x.r, name);
  tn_recording_free(x.r);
  return NULL;
}
