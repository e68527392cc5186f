/* write_chrome.c: a recording as Chrome trace events (Perfetto, chrome://tracing, Tracy), in one pass, one line per
 * event. Times are microseconds from the start with three decimals, never in scientific notation. Scopes nest exactly,
 * parents first; events that may overlap are async pairs. Beside what the format defines, an event carries "level",
 * "change" and "address", which viewers ignore and our reader takes. */
#include "profile/files.h"
#include "profile/reports.h"

/* A file being written, event by event. */
typedef struct writer {
  profiler_out *out;
  const tn_recording *r;
  profiler_ids ids;
  profiler_map dense; /* id -> small number, for flows and ranges; used if some ids are too large for viewers */
  profiler_map flows; /* id, name -> the ends that the flow has: bit 0 the start, bit 1 the end */
  bool is_dense;
  uint64_t last_id; /* the largest id in use */
  bool has_events;
} writer;

#define LITERAL(w, text) PROFILER_OUT_LITERAL((w)->out, text)

/* ---- ids --------------------------------------------------------------------------------------------------------- */

static bool has_id(const tn_event *e) { return e->kind == TN_EVENT_FLOW || e->kind == TN_EVENT_ASYNC; }

/* Finds out which flows have both ends. Viewers refuse a flow with only one end, as a killed run leaves behind. */
static bool find_whole_flows(writer *w) {
  for (int64_t i = 0; i < w->r->n_events; ++i) {
    const tn_event *e = &w->r->events[i];
    if (e->kind != TN_EVENT_FLOW || e->phase == TN_FLOW_STEP) continue;
    int64_t *ends = profiler_map_at(&w->flows, e->id, (uint64_t)(uintptr_t)e->name, 0);
    if (!ends) return false;
    *ends |= e->phase == TN_FLOW_START ? 1 : 2;
  }
  return true;
}

/* Both ends were seen (bit 0: the start, bit 1: the end). */
static bool is_whole_flow(writer *w, const tn_event *e) {
  const int64_t *ends = profiler_map_at(&w->flows, e->id, (uint64_t)(uintptr_t)e->name, 0);
  return ends && *ends == 3;
}

/* Viewers keep ids in 32 bits. If all ids fit, they are written unchanged, so that a trace can be compared
 * with its recording. If one is too large, all are renumbered. */
static bool number_ids(writer *w) {
  for (int64_t i = 0; i < w->r->n_events; ++i) {
    if (has_id(&w->r->events[i])) w->last_id = RUNTIME_MAX(w->last_id, w->r->events[i].id);
  }
  w->is_dense = w->last_id > INT32_MAX;
  if (!w->is_dense) return true;
  w->last_id = 0;
  for (int64_t i = 0; i < w->r->n_events; ++i) {
    const tn_event *e = &w->r->events[i];
    int64_t *id = has_id(e) ? profiler_map_at(&w->dense, e->id, 0, 0) : NULL;
    if (has_id(e) && !id) return false;
    if (id && *id == 0) *id = (int64_t)++w->last_id;
  }
  return true;
}

/* A scope that overlaps others is written as a range. Ranges need an id, so it gets one that no event has. */
static uint64_t id_of(writer *w, const tn_event *e) {
  if (e->kind == TN_EVENT_SCOPE) return ++w->last_id; /* one that overlaps its neighbour */
  return w->is_dense ? (uint64_t)*profiler_map_at(&w->dense, e->id, 0, 0) : e->id;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* The value as JSON, according to its type. */
static void write_arg_value(writer *w, const tn_event_arg *arg) {
  switch (arg->type) {
    case TN_EVENT_ARG_I64: return profiler_out_i64(w->out, arg->i64);
    case TN_EVENT_ARG_U64: return profiler_out_u64(w->out, arg->u64);
    case TN_EVENT_ARG_F64: return profiler_out_f64(w->out, arg->f64);
    case TN_EVENT_ARG_TEXT: return profiler_out_json(w->out, arg->text);
  }
}

/* *IS_FIRST becomes false. */
static void write_arg_key(writer *w, const char *key, bool *is_first) {
  if (!*is_first) LITERAL(w, ",");
  *is_first = false;
  profiler_out_json(w->out, key);
  LITERAL(w, ":");
}

/* The source location as a single argument, because the format has no field for it. */
static void write_source(writer *w, const tn_source *source, bool *is_first) {
  runtime_str text = {0};
  if (!*source->file) return;
  runtime_str_addf(&text, "%s:%d:%s", source->file, source->line, source->function);
  if (text.failed) profiler_out_no_memory(w->out);
  write_arg_key(w, "source", is_first);
  profiler_out_json(w->out, text.data ? text.data : "");
  runtime_str_free(&text);
}

/* Our own arguments come first, and our reader takes them back; the user's follow in their order. */
static void write_args(writer *w, const tn_event *e) {
  profiler_flags_text flags = profiler_flags_of(e, ',');
  bool is_first = true;
  LITERAL(w, ",\"args\":{");
  write_source(w, &w->r->sources.data[e->site], &is_first);
  if (e->sequence) write_arg_key(w, "sequence", &is_first), profiler_out_u64(w->out, e->sequence);
  if (*flags.text) write_arg_key(w, "flags", &is_first), profiler_out_json(w->out, flags.text);
  for (int i = 0; i < e->n_args; ++i) {
    const tn_event_arg *arg = &w->r->args[e->first_arg + i];
    write_arg_key(w, arg->key, &is_first);
    write_arg_value(w, arg);
  }
  LITERAL(w, "}");
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Leaves the object open: each caller must close it with a brace. */
static void begin_event(writer *w, const char *phase, const char *name, int64_t ts_ns) {
  profiler_out_text(w->out, w->has_events ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
  w->has_events = true;
  profiler_out_text(w->out, phase);
  LITERAL(w, "\",\"ts\":");
  profiler_out_us(w->out, ts_ns);
  LITERAL(w, ",\"name\":");
  profiler_out_json(w->out, name);
}

/* "level" is our own: Chrome ignores members that it does not know. */
static void write_place_on(writer *w, const tn_event *e, int lane) {
  LITERAL(w, ",\"cat\":\"");
  profiler_out_text(w->out, tn_category_name(e->category));
  LITERAL(w, "\",\"level\":");
  profiler_out_u64(w->out, e->level);
  LITERAL(w, ",\"pid\":");
  profiler_out_u64(w->out, w->ids.pids[w->r->lanes.data[e->lane].process]);
  LITERAL(w, ",\"tid\":");
  profiler_out_u64(w->out, w->ids.tids[lane]);
}

static void write_place(writer *w, const tn_event *e) { write_place_on(w, e, e->lane); }

/* The lane of the thread that began a range: the lane of its end, unless an argument names another thread. */
static int first_lane(const tn_recording *r, const tn_event *e) {
  const tn_event_arg *began_on = e->kind == TN_EVENT_ASYNC ? profiler_find_arg(r, e, TN_BEGAN_ON) : NULL;
  for (int i = 0; began_on && i < r->lanes.n; ++i)
    if (r->lanes.data[i].tid == began_on->i64 && r->lanes.data[i].process == r->lanes.data[e->lane].process) return i;
  return e->lane;
}

static void write_event_id(writer *w, uint64_t id) {
  LITERAL(w, ",\"id\":");
  profiler_out_u64(w->out, id);
}

/* Begin and end must have the same id, name and category, or viewers do not join them. */
static void write_range(writer *w, const tn_event *e) {
  uint64_t id = id_of(w, e);
  begin_event(w, "b", e->name, e->start_ns);
  write_place_on(w, e, first_lane(w->r, e));
  write_event_id(w, id);
  write_args(w, e);
  LITERAL(w, "}");
  begin_event(w, "e", e->name, e->start_ns + e->duration_ns);
  write_place(w, e);
  write_event_id(w, id);
  LITERAL(w, "}");
}

/* Chrome nests the "X" events of a thread by time alone, so a scope that overlaps its neighbour is written
 * as a range. */
static void write_scope(writer *w, const tn_event *e) {
  if (e->flags & TN_EVENT_OVERLAP) return write_range(w, e);
  begin_event(w, "X", e->name, e->start_ns);
  LITERAL(w, ",\"dur\":");
  profiler_out_us(w->out, e->duration_ns);
  write_place(w, e);
  write_args(w, e);
  LITERAL(w, "}");
}

/* "s":"t" makes viewers draw it on its own thread only. */
static void write_instant(writer *w, const tn_event *e) {
  begin_event(w, "i", e->name, e->start_ns);
  LITERAL(w, ",\"s\":\"t\"");
  write_place(w, e);
  write_args(w, e);
  LITERAL(w, "}");
}

/* A number that JSON cannot express becomes null. */
static void write_counter(writer *w, const tn_event *e) {
  begin_event(w, "C", e->name, e->start_ns);
  write_place(w, e);
  LITERAL(w, ",\"args\":{\"value\":");
  profiler_out_f64(w->out, e->value);
  LITERAL(w, "}}");
}

/* A point of a flow that lacks an end is written as an instant. */
static void write_flow(writer *w, const tn_event *e) {
  static const char *const phases[] = {[TN_FLOW_START] = "s", [TN_FLOW_STEP] = "t", [TN_FLOW_END] = "f"};
  if (!is_whole_flow(w, e)) return write_instant(w, e);
  uint64_t id = id_of(w, e);
  begin_event(w, phases[e->phase % 3], e->name, e->start_ns);
  write_place(w, e);
  write_event_id(w, id);
  if (e->phase == TN_FLOW_END) LITERAL(w, ",\"bp\":\"e\"");
  write_args(w, e);
  LITERAL(w, "}");
}

/* A failed allocation is an instant. Any other event is a sample of its pool's counter; "change" says what happened. */
static void write_memory(writer *w, const tn_event *e) {
  bool is_failed = e->flags & TN_EVENT_FAILED;
  begin_event(w, is_failed ? "i" : "C", e->name, e->start_ns);
  if (is_failed) LITERAL(w, ",\"s\":\"t\"");
  write_place(w, e);
  LITERAL(w, ",\"address\":");
  profiler_out_u64(w->out, e->id);
  LITERAL(w, ",\"change\":");
  profiler_out_i64(w->out, e->bytes);
  profiler_out_text(w->out, is_failed ? ",\"args\":{\"flags\":\"failed\",\"failed_bytes\":" : ",\"args\":{\"bytes\":");
  profiler_out_i64(w->out, is_failed ? e->bytes : e->current);
  LITERAL(w, "}}");
}

/* Each kind of event has its own writer. */
static void write_event(writer *w, const tn_event *e) {
  static void (*const writers[TN_EVENT_KIND_COUNT])(writer *, const tn_event *) = {
      [TN_EVENT_SCOPE] = write_scope,     [TN_EVENT_ASYNC] = write_range, [TN_EVENT_INSTANT] = write_instant,
      [TN_EVENT_COUNTER] = write_counter, [TN_EVENT_FLOW] = write_flow,   [TN_EVENT_MEMORY] = write_memory};
  writers[e->kind](w, e);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Begins a metadata event that names a process or a thread. A LANE of -1 means the process itself. */
static void write_meta(writer *w, const char *what, int process, int64_t lane, const char *key) {
  profiler_out_addf(w->out, "%s\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"%s\":",
                    w->has_events ? "," : "", what, w->ids.pids[process], lane < 0 ? 0 : w->ids.tids[lane], key);
  w->has_events = true;
}

/* The sort index makes viewers keep the recording's order; they would sort by number otherwise. */
static void write_names(writer *w) {
  for (int i = 0; i < w->r->processes.n; ++i) {
    write_meta(w, "process_name", i, -1, "name");
    profiler_out_json(w->out, w->r->processes.data[i].name);
    LITERAL(w, "}}");
    write_meta(w, "process_sort_index", i, -1, "sort_index");
    profiler_out_i64(w->out, i);
    LITERAL(w, "}}");
  }
  for (int i = 0; i < w->r->lanes.n; ++i) {
    const tn_lane *lane = &w->r->lanes.data[i];
    write_meta(w, "thread_name", lane->process, i, "name");
    profiler_out_json(w->out, lane->name);
    LITERAL(w, "}}");
    write_meta(w, "thread_sort_index", lane->process, i, "sort_index");
    profiler_out_i64(w->out, i);
    LITERAL(w, "}}");
  }
}

/* ---- what the session says of itself ----------------------------------------------------------------------------- */

static void write_number(writer *w, const char *key, int64_t value) {
  profiler_out_addf(w->out, ",\"%s\":%lld", key, (long long)value);
}

static void write_text(writer *w, const char *key, const char *value) {
  profiler_out_addf(w->out, ",\"%s\":", key);
  profiler_out_json(w->out, value);
}

/* What Chrome's format has no place for goes into "otherData". PROFILER_PROCESS_NUMBERS lists the members
 * for writer and reader. */
static void write_process(writer *w, int i) {
  const tn_process *p = &w->r->processes.data[i];
  profiler_out_addf(w->out, "%s\n{\"pid\":%u", i ? "," : "", w->ids.pids[i]);
  write_text(w, "name", p->name);
  write_text(w, "host", p->host);
#define X(member, otherwise) write_number(w, #member, p->member);
  PROFILER_PROCESS_NUMBERS(X)
#undef X
  LITERAL(w, "}");
}

/* Only lanes that dropped events and lanes of devices are listed. */
static void write_lanes(writer *w) {
  bool is_first = true;
  LITERAL(w, ",\n\"lanes\":[");
  for (int i = 0; i < w->r->lanes.n; ++i) {
    const tn_lane *lane = &w->r->lanes.data[i];
    if (!lane->dropped && !lane->is_device) continue;
    profiler_out_addf(w->out, "%s\n{\"pid\":%u,\"tid\":%u,\"dropped\":%llu,\"is_device\":%d}", is_first ? "" : ",",
                      w->ids.pids[lane->process], w->ids.tids[i], (unsigned long long)lane->dropped, lane->is_device);
    is_first = false;
  }
  LITERAL(w, "]");
}

/* Comes before the events, so that a trace that is cut off still says what it was. */
static void write_other_data(writer *w) {
  const tn_recording_info *info = &w->r->info;
  LITERAL(w, "{\"otherData\":{\"version\":\"" TN_VERSION "\"");
#define X(member, key) write_number(w, key, (int64_t)info->member);
  PROFILER_INFO_NUMBERS(X)
#undef X
  write_number(w, "rounds", info->n_rounds);
  LITERAL(w, ",\"event_cost_ns\":");
  profiler_out_f64(w->out, info->stats.event_cost_ns);
  write_text(w, "errors", tn_recording_errors(w->r));
  write_text(w, "warnings", tn_recording_warnings(w->r));
  LITERAL(w, ",\n\"processes\":[");
  for (int i = 0; i < w->r->processes.n; ++i) write_process(w, i);
  LITERAL(w, "]");
  write_lanes(w);
  LITERAL(w, "},\n\"traceEvents\":[");
}

bool profiler_write_chrome(profiler_out *out, const tn_recording *r) {
  writer w = {.out = out, .r = r};
  bool ok = profiler_ids_make(r, &w.ids) && number_ids(&w) && find_whole_flows(&w);
  if (ok) {
    write_other_data(&w);
    write_names(&w);
    for (int64_t i = 0; i < r->n_events; ++i) write_event(&w, &r->events[i]);
    LITERAL(&w, "\n]}\n");
  }
  profiler_ids_free(&w.ids);
  profiler_map_free(&w.dense);
  profiler_map_free(&w.flows);
  return ok;
}
