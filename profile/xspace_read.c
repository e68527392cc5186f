/* xspace_read.c: XSpace files of ours or of other programs as a recording. Planes with our statistics become the
 * processes and lanes that they were written from. Another program's /device: planes become lanes of devices, its other
 * planes processes. Unknown fields are skipped, unknown statistics become arguments. Messages are joined here too.
 *
 * A `plane` refers to the message and adds an index of its names. The message is freed when everything is read; its
 * texts are interned in the recording before that. */
#include <assert.h>
#include <math.h>

#include "profile/xspace.h"

/* The largest file that is read: a message has to be in memory as a whole. */
enum { MOST_BYTES = 1 << 30 };

/* A message being read. A plane is a process or a part of one; a line is a lane. */
typedef struct reader {
  tn_recording *r;
  int64_t base_unix_ns; /* UNIX time at which the recording's times are 0 */
  profiler_map lanes;   /* process, tid -> lane */
  int first_process;    /* index of the first process of this message */
  const char *why;
} reader;

/* A plane, with its names indexed by id. */
typedef struct plane {
  const xspace_plane *message;
  profiler_map event_names, stat_names; /* id -> index plus one */
  int process;                          /* index of the process; for a device, of the process that it belongs to */
  bool is_device, is_ours, is_qualified;
} plane;

/* Keeps the first reason, since later ones follow from it. Always false. */
static bool refuse(reader *x, const char *why) {
  if (!x->why) x->why = why;
  return false;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Events refer to names by ids that need not be small, hence the maps. Indices are stored plus one, so that
 * 0 means an id without a name. */
static bool index_names(reader *x, plane *p) {
  for (size_t i = 0; i < p->message->n_event_metadata; ++i) {
    int64_t *at = profiler_map_at(&p->event_names, (uint64_t)p->message->event_metadata[i]->key, 0, 0);
    if (!at) return refuse(x, "out of memory");
    *at = (int64_t)i + 1;
  }
  for (size_t i = 0; i < p->message->n_stat_metadata; ++i) {
    int64_t *at = profiler_map_at(&p->stat_names, (uint64_t)p->message->stat_metadata[i]->key, 0, 0);
    if (!at) return refuse(x, "out of memory");
    *at = (int64_t)i + 1;
  }
  return true;
}

/* "" if the plane has no such metadata, as in a message that was cut off or made by hand. */
static const char *event_name(plane *p, int64_t id) {
  const int64_t *at = profiler_map_at(&p->event_names, (uint64_t)id, 0, 0);
  const xspace_event_metadata *value = at && *at ? p->message->event_metadata[*at - 1]->value : NULL;
  if (!value) return "";
  return *value->name || !value->display_name ? value->name : value->display_name;
}

/* "" for an id that the plane does not list; such a statistic is kept with an empty name. */
static const char *stat_name(plane *p, uint64_t id) {
  const int64_t *at = profiler_map_at(&p->stat_names, id, 0, 0);
  const xspace_stat_metadata *value = at && *at ? p->message->stat_metadata[*at - 1]->value : NULL;
  return value ? value->name : "";
}

static void free_plane(plane *p) {
  profiler_map_free(&p->event_names);
  profiler_map_free(&p->stat_names);
}

/* ---- stats ------------------------------------------------------------------------------------------------------- */

static bool is_i64(const xspace_stat *s) { return s->value_case == TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE; }
static bool is_u64(const xspace_stat *s) { return s->value_case == TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE; }
static bool is_f64(const xspace_stat *s) { return s->value_case == TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE; }

/* 0 if the statistic is not an integer. */
static int64_t stat_i64(const xspace_stat *stat) {
  return is_i64(stat) ? stat->int64_value : is_u64(stat) ? (int64_t)stat->uint64_value : 0;
}

/* Integers above 53 bits are rounded. */
static double stat_number(const xspace_stat *stat) {
  if (is_f64(stat)) return stat->double_value;
  return is_u64(stat) ? (double)stat->uint64_value : (double)stat_i64(stat);
}

/* The text of a statistic, or "" if it is not a text. Bytes are interned in the recording. */
static const char *stat_text(reader *x, plane *p, const xspace_stat *stat) {
  if (stat->value_case == TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE) return stat->str_value;
  if (stat->value_case == TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE) return stat_name(p, stat->ref_value);
  if (stat->value_case != TENSORFLOW__PROFILER__XSTAT__VALUE_BYTES_VALUE || !stat->bytes_value.len) return "";
  const char *text = runtime_intern(&x->r->strings, (const char *)stat->bytes_value.data, stat->bytes_value.len);
  return text ? text : "";
}

/* A reference becomes a text, because references only save space in the file. */
static tn_event_arg stat_arg(reader *x, plane *p, const char *key, const xspace_stat *stat) {
  if (is_i64(stat)) return tn_event_arg_i64(key, stat->int64_value);
  if (is_u64(stat)) return tn_event_arg_u64(key, stat->uint64_value);
  if (is_f64(stat)) return tn_event_arg_f64(key, stat->double_value);
  return tn_event_arg_text(key, stat_text(x, p, stat));
}

/* Searches linearly: a plane has few statistics, and each is asked for a few times. */
static const xspace_stat *plane_stat(plane *p, const char *name) {
  for (size_t i = 0; i < p->message->n_stats; ++i) {
    const xspace_stat *stat = p->message->stats[i];
    assert(stat && "protobuf leaves no holes");
    if (strcmp(stat_name(p, (uint64_t)stat->metadata_id), name) == 0) return stat;
  }
  return NULL;
}

/* A statistic of the plane itself, such as the process id; OTHERWISE if it is missing. */
static int64_t plane_i64(plane *p, const char *name, int64_t otherwise) {
  const xspace_stat *stat = plane_stat(p, name);
  return stat ? stat_i64(stat) : otherwise;
}

static const char *plane_text(reader *x, plane *p, const char *name) {
  const xspace_stat *stat = plane_stat(p, name);
  return stat ? stat_text(x, p, stat) : "";
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Counters are recognised by their line, not by this statistic. */
static void set_kind(tn_event *e, const char *text) {
  int kind = TN_EVENT_KIND_COUNT;
  while (kind-- > 0 && strcmp(profiler_kind_name((tn_event_kind)kind), text) != 0) continue;
  if (kind >= 0 && kind != TN_EVENT_COUNTER) e->kind = (uint8_t)kind;
  if (kind == TN_EVENT_FLOW) e->phase = TN_FLOW_END;
}

/* A text that is not one of our categories leaves the event's category unchanged. */
static void set_category(tn_event *e, const char *text) {
  int category = profiler_find_category(text, strlen(text));
  if (category >= 0) e->category = (uint8_t)category;
}

/* A flow event that both produces and consumes is a step. Until a producer statistic is seen, it is an end. */
static void set_flow(tn_event *e, uint64_t id, bool is_consumer) {
  bool is_producer = e->phase == TN_FLOW_START;
  e->id = id;
  if (e->kind == TN_EVENT_FLOW) e->phase = !is_consumer ? TN_FLOW_START : is_producer ? TN_FLOW_STEP : TN_FLOW_END;
}

/* All bits of tn_event.flags; unknown bits in a file are dropped. */
enum { KNOWN_FLAGS = 255 };

/* Applies a statistic that our writer made to the event; false if it is an argument. */
static bool read_own_stat(reader *x, plane *p, tn_event *e, xspace_stat_name name, const xspace_stat *stat) {
  switch (name) {
    case XSPACE_STAT_KIND: return set_kind(e, stat_text(x, p, stat)), true;
    case XSPACE_STAT_CATEGORY: return set_category(e, stat_text(x, p, stat)), true;
    case XSPACE_STAT_LEVEL: e->level = (uint8_t)(stat_i64(stat) & TN_LEVEL_MAX); return true;
    case XSPACE_STAT_SOURCE: return profiler_source_parse(x->r, e, stat_text(x, p, stat)), true;
    case XSPACE_STAT_SEQUENCE: e->sequence = (uint32_t)stat_i64(stat); return true;
    case XSPACE_STAT_FLAGS: e->flags = (uint16_t)(stat_i64(stat) & KNOWN_FLAGS); return true;
    case XSPACE_STAT_PRODUCER: return set_flow(e, (uint64_t)stat_i64(stat), false), true;
    case XSPACE_STAT_CONSUMER: return set_flow(e, (uint64_t)stat_i64(stat), true), true;
    case XSPACE_STAT_ASYNC: e->kind = TN_EVENT_ASYNC; return true;
    case XSPACE_STAT_ID:
    case XSPACE_STAT_ADDRESS: e->id = (uint64_t)stat_i64(stat); return true;
    case XSPACE_STAT_POOL: {
      const char *text = stat_text(x, p, stat), *pool = runtime_intern(&x->r->strings, text, strlen(text));
      if (pool) e->name = pool;
      return true;
    }
    case XSPACE_STAT_BYTES: e->bytes = profiler_clip(stat_i64(stat), PROFILER_MAX_BYTES); return true;
    case XSPACE_STAT_TID:
    case XSPACE_STAT_PRODUCER_TYPE:
    case XSPACE_STAT_CONSUMER_TYPE:
    case XSPACE_STAT_SELF:
    case XSPACE_STAT_CURRENT: return true;
    case XSPACE_STAT_COUNT: break;
  }
  return false;
}

/* Other programs use statistics with these names too; theirs become arguments. */
static bool take_own_stat(reader *x, plane *p, tn_event *e, const char *name, const xspace_stat *stat) {
  int known = p->is_ours ? xspace_stat_find(name) : -1;
  return known >= 0 && read_own_stat(x, p, e, (xspace_stat_name)known, stat);
}

/* Our writer puts a prefix before a user's argument that has the name of one of our own statistics. */
static const char *without_prefix(const char *name) {
  size_t n = strlen(XSPACE_ARG_PREFIX);
  return strncmp(name, XSPACE_ARG_PREFIX, n) == 0 ? name + n : name;
}

/* Statistics that our writer made become members of the event; all others become arguments. */
static void read_stats(reader *x, plane *p, tn_event *e, const xspace_event *event) {
  for (size_t i = 0; i < event->n_stats; ++i) {
    const xspace_stat *stat = event->stats[i];
    const char *name = stat_name(p, (uint64_t)stat->metadata_id);
    if (take_own_stat(x, p, e, name, stat)) continue;
    tn_event_arg arg = stat_arg(x, p, p->is_ours ? without_prefix(name) : name, stat);
    profiler_add_arg(x->r, &arg);
  }
}

/* Picoseconds to nanoseconds, rounded down, so that ends that met still meet. */
static int64_t to_ns(int64_t ps) { return runtime_floordiv(ps, 1000); }

/* Everything is clipped before it is added, because a file may hold any number as an offset in picoseconds.
 * An event of duration 0 is an instant until a statistic says otherwise. */
static tn_event *add_event(reader *x, int lane, const xspace_line *line, const xspace_event *event, const char *name) {
  bool has_offset = event->data_case == TENSORFLOW__PROFILER__XEVENT__DATA_OFFSET_PS;
  int64_t offset_ps = has_offset ? profiler_clip(event->offset_ps, INT64_MAX / 2) : 0;
  int64_t duration_ps = profiler_clip(RUNTIME_MAX(event->duration_ps, 0), INT64_MAX / 2);
  int64_t start_ns = to_ns(offset_ps), end_ns = to_ns(offset_ps + duration_ps);
  tn_event *e = profiler_add_event(x->r, lane, duration_ps > 0 ? TN_EVENT_SCOPE : TN_EVENT_INSTANT, name);
  if (!e) return refuse(x, "out of memory"), NULL;
  int64_t line_ns = profiler_clip(RUNTIME_MAX(line->timestamp_ns, 0), PROFILER_MAX_NS) - x->base_unix_ns;
  e->start_ns = profiler_clip(line_ns + start_ns, PROFILER_MAX_NS);
  e->duration_ns = end_ns - start_ns;
  e->level = 1;
  e->parent = PROFILER_PARENT_UNKNOWN;
  if (event->data_case == TENSORFLOW__PROFILER__XEVENT__DATA_NUM_OCCURRENCES) e->kind = TN_EVENT_ASYNC; /* a sum */
  return e;
}

/* The format does not store parents. They are found by time when the recording is finished. */
static bool read_event(reader *x, plane *p, int lane, const xspace_line *line, const xspace_event *event) {
  tn_event *e = add_event(x, lane, line, event, event_name(p, event->metadata_id));
  if (!e) return false;
  read_stats(x, p, e, event);
  if (p->is_device && !p->is_ours) e->flags |= TN_EVENT_DEVICE, e->category = TN_CATEGORY_DEVICE;
  if (e->flags & TN_EVENT_OVERLAP) e->parent = -1;
  return true;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Where the index of the plane's lane for thread TID is kept; -1 if there is no lane yet. */
static int64_t *lane_at(reader *x, const plane *p, int64_t tid) {
  return profiler_map_at(&x->lanes, (uint64_t)p->process, (uint64_t)tid, -1);
}

/* A device's lane carries the plane's name too, since several devices may have a stream of the same name. */
static int add_lane(reader *x, const plane *p, int64_t tid, const char *name) {
  bool is_bare = !p->is_device || (p->is_ours && !p->is_qualified);
  const char *full = is_bare ? name : runtime_format(&x->r->arena, "%s: %s", p->message->name, name);
  tn_lane lane = {.name = full, .tid = tid, .process = p->process, .is_device = p->is_device};
  int index = full ? profiler_add_lane(x->r, &lane) : -1;
  if (index < 0) refuse(x, "out of memory");
  return index;
}

/* Lines of our own with the same thread id (the low 32 bits of the line's id) become one lane. */
static int lane_of(reader *x, const plane *p, const xspace_line *line) {
  int64_t tid = p->is_ours ? line->id & UINT32_MAX : line->id;
  int64_t *lane = p->is_ours ? lane_at(x, p, tid) : NULL;
  if (lane && *lane >= 0) return (int)*lane;
  int index = add_lane(x, p, tid, *line->name || !line->display_name ? line->name : line->display_name);
  if (lane) *lane = index;
  return index;
}

/* The lane that a sample of a counter was taken on, by the sample's statistic "tid". */
static int sample_lane(reader *x, plane *p, const xspace_event *event) {
  int64_t tid = 0;
  for (size_t i = 0; i < event->n_stats; ++i) {
    bool is_tid = strcmp(stat_name(p, (uint64_t)event->stats[i]->metadata_id), xspace_stat_text(XSPACE_STAT_TID)) == 0;
    if (is_tid) tid = stat_i64(event->stats[i]);
  }
  int64_t *lane = lane_at(x, p, tid);
  if (!lane) return refuse(x, "out of memory"), -1;
  if (*lane < 0) *lane = add_lane(x, p, tid, XSPACE_COUNTERS);
  return (int)*lane;
}

/* Each statistic of a sample is a series. Our own statistics are visited twice: once to tell them from
 * values, once to fill in the event. */
static bool read_sample(reader *x, plane *p, int lane, const xspace_line *line, const xspace_event *event) {
  const char *name = event_name(p, event->metadata_id);
  for (size_t i = 0; i < event->n_stats; ++i) {
    const xspace_stat *stat = event->stats[i];
    const char *series = stat_name(p, (uint64_t)stat->metadata_id);
    if (p->is_ours && xspace_stat_find(series) >= 0) continue;
    bool is_alone = p->is_ours || !*name || strcmp(name, series) == 0;
    const char *full = is_alone ? (*name ? name : series) : runtime_format(&x->r->arena, "%s %s", name, series);
    tn_event *e = full ? add_event(x, lane, line, event, full) : NULL;
    if (!e) return refuse(x, "out of memory");
    e->kind = TN_EVENT_COUNTER;
    e->duration_ns = 0;
    e->value = stat_number(stat);
    for (size_t k = 0; k < event->n_stats && p->is_ours; ++k)
      take_own_stat(x, p, e, stat_name(p, (uint64_t)event->stats[k]->metadata_id), event->stats[k]);
    e->kind = TN_EVENT_COUNTER;
    e->value = stat_number(stat);
  }
  return true;
}

/* A line is a thread. In our own files it may also be the line of counter samples, whose events name their lanes. */
static bool read_line(reader *x, plane *p, const xspace_line *line) {
  bool is_counters = strcmp(line->name, XSPACE_COUNTERS) == 0;
  int lane = is_counters ? -1 : lane_of(x, p, line);
  for (size_t i = 0; i < line->n_events && !x->why; ++i) {
    if (is_counters) lane = sample_lane(x, p, line->events[i]);
    if (lane < 0) break;
    if (is_counters)
      read_sample(x, p, lane, line, line->events[i]);
    else
      read_event(x, p, lane, line, line->events[i]);
  }
  return !x->why;
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* Numbers that other programs do not write get their default. */
static int add_process(reader *x, plane *p, const char *name, int64_t pid) {
  tn_process process = {.name = name, .host = plane_text(x, p, "host"), .pid = pid};
#define X(member, otherwise) process.member = (__typeof__(process.member))plane_i64(p, #member, otherwise);
  PROFILER_PROCESS_NUMBERS(X)
#undef X
  int index = profiler_add_process(x->r, &process);
  if (index < 0) refuse(x, "out of memory");
  return index;
}

/* The process that a device's plane belongs to; adds one if the recording has none. */
static int process_of_device(reader *x, plane *p) {
  int64_t index = plane_i64(p, "process_index", 0) + x->first_process;
  if (x->r->processes.n == 0) return add_process(x, p, "", 0);
  bool exists = index >= 0 && index < x->r->processes.n;
  return exists ? (int)index : 0;
}

/* A plane is ours if it has statistics that only our writer makes. A device is also recognised by
 * TensorFlow's prefix of the plane's name. */
static void choose_kind(reader *x, plane *p) {
  bool is_process = plane_stat(p, "pid") && plane_stat(p, "process_name");
  p->is_device = !is_process && (plane_stat(p, "process_index") ||
                                 strncmp(p->message->name, XSPACE_DEVICE_PREFIX, strlen(XSPACE_DEVICE_PREFIX)) == 0);
  p->is_ours = is_process || plane_stat(p, "process_index");
  p->is_qualified = plane_i64(p, "is_qualified", 0) != 0;
  if (p->is_device)
    p->process = process_of_device(x, p);
  else if (is_process)
    p->process = add_process(x, p, plane_text(x, p, "process_name"), plane_i64(p, "pid", 0));
  else
    p->process = add_process(x, p, p->message->name, p->message->id);
}

/* The ids of a device's lines may equal those of the host's, so the map of lanes starts empty for each device. */
static bool read_plane(reader *x, const xspace_plane *message) {
  plane p = {.message = message};
  if (index_names(x, &p)) choose_kind(x, &p);
  if (!x->why && p.is_device) profiler_map_free(&x->lanes); /* its lines have ids of their own */
  for (size_t i = 0; i < message->n_lines && !x->why; ++i) read_line(x, &p, message->lines[i]);
  free_plane(&p);
  return !x->why;
}

/* ---- the recording's own numbers --------------------------------------------------------------------------------- */

/* Reads the recording's numbers from the first plane if it is ours. Otherwise the earliest line marks the start. */
static bool read_info(reader *x, const xspace_space *space) {
  plane p = {.message = space->planes[0]};
  tn_recording_info *info = &x->r->info;
  if (!index_names(x, &p)) return free_plane(&p), false;
  bool is_ours = plane_stat(&p, "plane_count") != NULL;
  if (plane_i64(&p, "plane_count", 1) > (int64_t)space->n_planes) refuse(x, "it is cut off: planes are missing");
#define X(member, key) info->member = plane_i64(&p, key, 0);
  PROFILER_INFO_NUMBERS(X)
#undef X
  info->n_rounds = (int)plane_i64(&p, "rounds", 0);
  const xspace_stat *cost = plane_stat(&p, "event_cost_ns");
  if (cost) info->stats.event_cost_ns = stat_number(cost);
  free_plane(&p);
  for (size_t i = 0; i < space->n_planes && !is_ours; ++i) {
    for (size_t k = 0; k < space->planes[i]->n_lines; ++k) {
      int64_t ns = space->planes[i]->lines[k]->timestamp_ns;
      if (ns > 0 && (info->start_unix_ns == 0 || ns < info->start_unix_ns)) info->start_unix_ns = ns;
    }
  }
  x->base_unix_ns = profiler_clip(RUNTIME_MAX(info->start_unix_ns, 0), PROFILER_MAX_NS);
  return !x->why;
}

/* The format has no total duration, so the end of the last event is taken. */
static void guess_duration(tn_recording *r) {
  for (int64_t i = 0; i < r->n_events; ++i)
    r->info.duration_ns = RUNTIME_MAX(r->info.duration_ns, r->events[i].start_ns + r->events[i].duration_ns);
  r->info.stats.events = (uint64_t)r->n_events;
  r->info.stats.lanes = (uint64_t)r->lanes.n;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* The message in DATA, to be freed with free_unpacked; NULL with *why. */
static xspace_space *unpack(const void *data, size_t n, const char **why) {
  xspace_space *space = tensorflow__profiler__xspace__unpack(NULL, n, data);
  if (!space) *why = "it is no XSpace, or it is cut off";
  return space;
}

/* Processes are numbered after those that the recording already has, because a plug-in's planes are added
 * to a session's recording. */
static bool read_space(reader *x, const xspace_space *space) {
  x->first_process = x->r->processes.n;
  for (size_t i = 0; i < space->n_planes; ++i) {
    if (!read_plane(x, space->planes[i])) return false;
  }
  for (size_t i = 0; i < space->n_errors; ++i) profiler_error(x->r, "%s", space->errors[i]);
  for (size_t i = 0; i < space->n_warnings; ++i) profiler_warn(x->r, "%s", space->warnings[i]);
  return !x->r->failed || refuse(x, "out of memory");
}

/* A file without a duration is not ours: it lasts until its last event. */
static bool read_bytes(reader *x, const void *data, size_t n) {
  xspace_space *space = unpack(data, n, &x->why);
  if (!space) return false;
  bool ok = space->n_planes > 0 || refuse(x, "it has no planes");
  ok = ok && read_info(x, space) && read_space(x, space);
  bool is_foreign = ok && x->r->info.duration_ns == 0;
  if (is_foreign) guess_duration(x->r);
  tensorflow__profiler__xspace__free_unpacked(space, NULL);
  profiler_map_free(&x->lanes);
  return ok;
}

/* Memory holds the file and its message, up to MOST_BYTES each. */
tn_recording *profiler_read_xspace(tn_context *ctx, profiler_in *in, const char *name) {
  size_t n = 0;
  char *data = profiler_in_rest(in, MOST_BYTES, &n);
  reader x = {.r = profiler_recording_new()};
  bool ok = data && x.r ? read_bytes(&x, data, n) : refuse(&x, in->failed ? in->failed : "out of memory");
  free(data);
  if (ok) return profiler_finish_reading(ctx, x.r, name);
  runtime_fail(ctx, TN_ERROR_PARSE, "%s: %s", name, x.why);
  tn_recording_free(x.r);
  return NULL;
}

bool profiler_append_xspace(tn_recording *r, const void *data, size_t n, const char **why) {
  reader x = {.r = r, .base_unix_ns = r->info.start_unix_ns};
  xspace_space *space = unpack(data, n, &x.why);
  bool ok = space && read_space(&x, space);
  if (space) tensorflow__profiler__xspace__free_unpacked(space, NULL);
  profiler_map_free(&x.lanes);
  *why = x.why;
  return ok;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

/* Appends PART's host names that are not in HOSTS yet. */
static bool unite_hosts(xspace_space *hosts, runtime_arena *arena, const xspace_space *part) {
  char **all = RUNTIME_NEW_ARRAY(arena, char *, hosts->n_hostnames + part->n_hostnames + 1);
  if (!all) return false;
  size_t n = hosts->n_hostnames;
  if (n) memcpy(all, hosts->hostnames, n * sizeof *all);
  for (size_t i = 0; i < part->n_hostnames; ++i) {
    bool is_new = true;
    for (size_t k = 0; k < n; ++k) is_new &= strcmp(all[k], part->hostnames[i]) != 0;
    if (is_new && !(all[n++] = runtime_strdup(arena, part->hostnames[i]))) return false;
  }
  hosts->hostnames = all;
  hosts->n_hostnames = n;
  return true;
}

/* Appending the bytes of a message joins it to the ones before, because all fields of XSpace are repeated. */
static void append_packed(profiler_out *out, const xspace_space *space) {
  size_t n = tensorflow__profiler__xspace__get_packed_size(space);
  uint8_t *bytes = malloc(n + 1);
  if (bytes) profiler_out_bytes(out, bytes, tensorflow__profiler__xspace__pack(space, bytes));
  out->failed |= !bytes;
  free(bytes);
}

/* Appends one message as bytes; only its host names are looked at. */
static bool append_part(profiler_out *out, xspace_space *hosts, runtime_arena *arena, const tn_bytes *bytes,
                        const char **why) {
  xspace_space *part = unpack(bytes->data, bytes->n, why);
  if (!part) return false;
  bool ok = unite_hosts(hosts, arena, part);
  size_t n_hostnames = part->n_hostnames;
  part->n_hostnames = 0;
  append_packed(out, part);
  part->n_hostnames = n_hostnames;
  tensorflow__profiler__xspace__free_unpacked(part, NULL);
  if (!ok) *why = "out of memory";
  return ok;
}

/* Messages are joined as bytes, which is how protobuf joins repeated fields, so fields that this version
 * does not know are kept. Only host names are made unique. *OUT is malloc'ed, or NULL after a failure. */
tn_status tn_xspace_merge(tn_context *ctx, const tn_bytes *parts, int n_parts, void **out, size_t *out_n) {
  profiler_out all;
  runtime_arena arena = {0};
  xspace_space hosts = TENSORFLOW__PROFILER__XSPACE__INIT;
  const char *why = NULL;
  if (!RUNTIME_GIVEN(ctx, parts) || !RUNTIME_GIVEN(ctx, out) || !RUNTIME_GIVEN(ctx, out_n)) return TN_ERROR_ARGUMENT;
  profiler_out_memory(&all);
  for (int i = 0; i < n_parts && !why; ++i) {
    if (!append_part(&all, &hosts, &arena, &parts[i], &why)) runtime_fail(ctx, TN_ERROR_PARSE, "XSpace %d: %s", i, why);
  }
  append_packed(&all, &hosts);
  runtime_arena_free(&arena);
  *out = profiler_out_take(&all, out_n);
  if (!*out) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while messages XSpace were merged");
  if (!why) return TN_OK;
  free(*out);
  *out = NULL;
  return TN_ERROR_PARSE;
}
