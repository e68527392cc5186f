/* xspace_write.c: a recording as XSpace. A process is a plane, the first called /host:CPU; a thread is a line; a
 * device's lane is a plane of its own. Events that may overlap go to further lines of the thread (ids above 2^32),
 * samples of counters to the line _counters_. Events are packed one at a time, since repeated fields are joined by
 * joining their bytes; so memory holds one plane in its final form. All else comes before the planes, and the first
 * plane says how many processes there are, so that a reader notices a file that was cut off.
 *
 * The writer owns the ids and statistics of one plane at a time. */
#include <stdio.h>

#include "profile/reports.h"
#include "profile/xspace.h"

/* Field numbers of XSpace, XPlane and XLine in xplane.proto, for the fields that are written by hand. */
enum { SPACE_PLANES = 1, SPACE_ERRORS = 2, SPACE_WARNINGS = 3, SPACE_HOSTS = 4, PLANE_LINES = 3, LINE_EVENTS = 4 };
enum { PLANE_EVENT_METADATA = 4, PLANE_STAT_METADATA = 5 };

/* Names of one plane, with the ids 1, 2, 3, ... */
typedef struct names {
  profiler_map ids; /* address of the interned text -> id */
  RUNTIME_VEC(const char *) list;
} names;

/* A further line of a thread, for events that overlap others. */
typedef struct track {
  int64_t end_ns;
  profiler_out events;
} track;

/* A message being written, one plane at a time. Each plane numbers its names from 1. */
typedef struct writer {
  const tn_recording *r;
  profiler_ids ids;
  int64_t *first; /* index of each lane's first event, and then the end */
  runtime_arena arena;
  runtime_names strings;
  names events, stats; /* of the plane */
  profiler_out lines;  /* of the plane */
  profiler_out counters;
  RUNTIME_VEC(track) tracks;           /* of the lane */
  RUNTIME_VEC(xspace_stat) item_stats; /* of the event or plane */
  RUNTIME_VEC(xspace_stat *) item_pointers;
  bool failed;
} writer;

static const char *const stat_texts[] = {
#define X(name, text) [XSPACE_STAT_##name] = text,
    XSPACE_STATS(X)
#undef X
};

const char *xspace_stat_text(xspace_stat_name name) { return stat_texts[name]; }

/* -1 if the text names none of ours. */
int xspace_stat_find(const char *text) { return RUNTIME_FIND(stat_texts, text); }

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* protobuf-c's buffer interface over a profiler_out. `base` must be the first member, because append_packed
 * casts its address. */
typedef struct packing {
  ProtobufCBuffer base;
  profiler_out *out;
} packing;

/* The function that protobuf-c calls with packed bytes. */
static void append_packed(ProtobufCBuffer *buffer, size_t n, const uint8_t *data) {
  profiler_out_bytes(((packing *)buffer)->out, data, n);
}

/* The tag of a length-delimited field, and the length N as a varint. */
static void put_head(profiler_out *out, int field, uint64_t n) {
  char bytes[12] = {(char)(field << 3 | 2)};
  size_t at = 1;
  for (; n >= 0x80; n >>= 7) bytes[at++] = (char)(n | 0x80);
  bytes[at++] = (char)n;
  profiler_out_bytes(out, bytes, at);
}

/* Packs straight into OUT, without a copy of the message. */
static void put_message(profiler_out *out, int field, const ProtobufCMessage *message) {
  packing p = {{append_packed}, out};
  put_head(out, field, protobuf_c_message_get_packed_size(message));
  protobuf_c_message_pack_to_buffer(message, &p.base);
}

/* Writes a field of bytes by hand, so that no message ever holds all planes at once. */
static void put_bytes(profiler_out *out, int field, const void *data, size_t n) {
  put_head(out, field, n);
  profiler_out_bytes(out, data, n);
}

/* Texts of messages must be UTF-8. Invalid bytes are replaced as in JSON, without its quotes and escapes. */
static const char *clean(writer *w, const char *text) {
  const char *cured = profiler_utf8(&w->arena, text);
  w->failed |= !cured;
  return cured ? cured : "";
}

/* ---- names and stats --------------------------------------------------------------------------------------------- */

/* The id of a name in the plane, counted from 1; 0 after a failure. The map is keyed by address, so the
 * text is interned first. */
static int64_t name_id(writer *w, names *table, const char *text) {
  const char *kept = runtime_intern(&w->strings, text, strlen(text));
  int64_t *id = kept ? profiler_map_at(&table->ids, (uint64_t)(uintptr_t)kept, 0, 0) : NULL;
  if (id && *id) return *id;
  w->failed |= !id || !RUNTIME_PUSH(&table->list, kept);
  if (w->failed) return 0;
  return *id = table->list.n;
}

/* Ids belong to one plane, so the next starts from 1 again. */
static void clear_names(names *table) {
  profiler_map_free(&table->ids);
  RUNTIME_VEC_FREE(&table->list);
}

/* Adds a statistic to the message being made. The pointer is valid until the next call. */
static xspace_stat *add_stat(writer *w, const char *name, Tensorflow__Profiler__XStat__ValueCase type) {
  xspace_stat stat = TENSORFLOW__PROFILER__XSTAT__INIT;
  stat.metadata_id = name_id(w, &w->stats, name);
  stat.value_case = type;
  w->failed |= !RUNTIME_PUSH(&w->item_stats, stat);
  return w->failed ? NULL : &w->item_stats.data[w->item_stats.n - 1];
}

/* Here and in the functions below, an allocation failure is kept in the writer and checked at the end. */
static void add_i64(writer *w, const char *name, int64_t value) {
  xspace_stat *stat = add_stat(w, name, TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE);
  if (stat) stat->int64_value = value;
}

static void add_u64(writer *w, const char *name, uint64_t value) {
  xspace_stat *stat = add_stat(w, name, TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE);
  if (stat) stat->uint64_value = value;
}

static void add_f64(writer *w, const char *name, double value) {
  xspace_stat *stat = add_stat(w, name, TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE);
  if (stat) stat->double_value = value;
}

/* A text that is valid UTF-8 is written as a string, any other as bytes. */
static void add_text(writer *w, const char *name, const char *text) {
  bool is_clean = strcmp(clean(w, text), text) == 0;
  xspace_stat *stat = add_stat(
      w, name,
      is_clean ? TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE : TENSORFLOW__PROFILER__XSTAT__VALUE_BYTES_VALUE);
  if (stat && is_clean) stat->str_value = (char *)text;
  if (stat && !is_clean) stat->bytes_value = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
}

/* A text that recurs: it is stored once per plane and referred to by id. */
static void add_ref(writer *w, const char *name, const char *text) {
  int64_t id = name_id(w, &w->stats, clean(w, text));
  xspace_stat *stat = add_stat(w, name, TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE);
  if (stat) stat->ref_value = (uint64_t)id;
}

/* The statistics in the form that a message needs. They are valid until the next add_stat, which starts a new list. */
static xspace_stat **take_stats(writer *w, size_t *n) {
  w->item_pointers.n = 0;
  for (int i = 0; i < w->item_stats.n; ++i) w->failed |= !RUNTIME_PUSH(&w->item_pointers, &w->item_stats.data[i]);
  *n = (size_t)w->item_pointers.n;
  w->item_stats.n = 0;
  return w->item_pointers.data;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Whether the current message already has a statistic with this id: readers take the first of two. */
static bool has_stat(const writer *w, int64_t id) {
  for (int i = 0; i < w->item_stats.n; ++i) {
    if (w->item_stats.data[i].metadata_id == id) return true;
  }
  return false;
}

/* Ids in a list of statistics must differ, so the second argument with a key is called "key#2". */
static const char *arg_name(writer *w, const char *key) {
  bool is_taken = xspace_stat_find(key) >= 0 || strncmp(key, XSPACE_ARG_PREFIX, strlen(XSPACE_ARG_PREFIX)) == 0;
  const char *base = is_taken ? runtime_format(&w->arena, XSPACE_ARG_PREFIX "%s", key) : key, *name = base;
  /* without memory every name has the id 0, and no other would be free */
  for (int i = 2; name && !w->failed && has_stat(w, name_id(w, &w->stats, clean(w, name))); ++i)
    name = runtime_format(&w->arena, "%s#%d", base, i);
  w->failed |= !name;
  return name ? clean(w, name) : "";
}

/* In the argument's own type. */
static void add_arg(writer *w, const tn_event_arg *arg) {
  const char *name = arg_name(w, arg->key);
  switch (arg->type) {
    case TN_EVENT_ARG_I64: return add_i64(w, name, arg->i64);
    case TN_EVENT_ARG_U64: return add_u64(w, name, arg->u64);
    case TN_EVENT_ARG_F64: return add_f64(w, name, arg->f64);
    case TN_EVENT_ARG_TEXT: return add_text(w, name, arg->text);
  }
}

#define STAT(name) stat_texts[XSPACE_STAT_##name]

/* As "file:line:function". An event without a source gets no such statistic. */
static void add_source(writer *w, const tn_source *source) {
  if (!*source->file) return;
  const char *text = runtime_format(&w->arena, "%s:%d:%s", source->file, source->line, source->function);
  w->failed |= !text;
  add_ref(w, STAT(SOURCE), text ? text : "");
}

/* Flows are written as TensorFlow's context types, which connect host and device. A step both consumes and produces. */
static void add_flow(writer *w, const tn_event *e) {
  if (e->phase != TN_FLOW_END) add_u64(w, STAT(PRODUCER_TYPE), XSPACE_FLOW_TYPE), add_u64(w, STAT(PRODUCER), e->id);
  if (e->phase != TN_FLOW_START) add_u64(w, STAT(CONSUMER_TYPE), XSPACE_FLOW_TYPE), add_u64(w, STAT(CONSUMER), e->id);
}

/* Uses the statistics of TensorFlow's allocator events. */
static void add_memory(writer *w, const tn_event *e) {
  add_ref(w, STAT(POOL), e->name);
  add_u64(w, STAT(ADDRESS), e->id);
  add_i64(w, STAT(BYTES), e->bytes);
  add_i64(w, STAT(CURRENT), e->current);
}

/* Only what cannot be derived from the duration is written, so a plain scope costs no statistic for its kind. */
static void add_kind(writer *w, const tn_event *e) {
  tn_event_kind usual = e->duration_ns > 0 ? TN_EVENT_SCOPE : TN_EVENT_INSTANT;
  if (e->kind != usual && e->kind != TN_EVENT_COUNTER)
    add_ref(w, STAT(KIND), profiler_kind_name((tn_event_kind)e->kind));
  if (e->kind == TN_EVENT_FLOW) add_flow(w, e);
  if (e->kind == TN_EVENT_MEMORY) add_memory(w, e);
  if (e->kind == TN_EVENT_ASYNC) add_u64(w, STAT(ASYNC), 1), add_u64(w, STAT(ID), e->id);
  if (e->kind == TN_EVENT_SCOPE && e->self_ns != e->duration_ns) add_i64(w, STAT(SELF), e->self_ns * 1000);
  if (e->kind == TN_EVENT_COUNTER) add_u64(w, STAT(TID), w->ids.tids[e->lane]);
}

/* Members with their usual value are left out, since a file may have millions of events. */
static void add_event_stats(writer *w, const tn_event *e) {
  add_ref(w, STAT(CATEGORY), tn_category_name(e->category));
  add_kind(w, e);
  if (e->level != 1) add_u64(w, STAT(LEVEL), e->level);
  if (e->flags) add_u64(w, STAT(FLAGS), e->flags);
  if (e->sequence) add_i64(w, STAT(SEQUENCE), e->sequence);
  add_source(w, &w->r->sources.data[e->site]);
  if (e->kind == TN_EVENT_COUNTER) add_f64(w, arg_name(w, e->name), e->value);
  for (int i = 0; i < e->n_args; ++i) add_arg(w, &w->r->args[e->first_arg + i]);
}

/* ---- events and lines -------------------------------------------------------------------------------------------- */

/* Clipped, since multiplying by 1000 may overflow. */
static int64_t to_ps(int64_t ns) { return profiler_clip(ns, INT64_MAX / 1000) * 1000; }

/* TensorFlow's names for memory events, which its viewers look for. */
static const char *event_name(const tn_event *e) {
  if (e->kind != TN_EVENT_MEMORY) return e->name;
  if (e->flags & TN_EVENT_FAILED) return "[OutOfMemory]";
  return e->flags & TN_EVENT_FREE ? "MemoryDeallocation" : "MemoryAllocation";
}

/* The arena holds the texts of one event and is emptied after it. */
static void put_event(writer *w, profiler_out *out, const tn_event *e) {
  xspace_event message = TENSORFLOW__PROFILER__XEVENT__INIT;
  add_event_stats(w, e);
  message.metadata_id = name_id(w, &w->events, clean(w, event_name(e)));
  message.data_case = TENSORFLOW__PROFILER__XEVENT__DATA_OFFSET_PS;
  message.offset_ps = to_ps(e->start_ns);
  message.duration_ps = to_ps(e->duration_ns);
  message.stats = take_stats(w, &message.n_stats);
  if (!w->failed) put_message(out, LINE_EVENTS, &message.base);
  runtime_arena_reset(&w->arena);
}

/* The line's head and its events are packed separately under one length, so events are never copied into a message. */
static void put_line(writer *w, int64_t id, const char *name, profiler_out *events) {
  xspace_line message = TENSORFLOW__PROFILER__XLINE__INIT;
  message.id = message.display_id = id;
  message.name = (char *)clean(w, name);
  message.timestamp_ns = w->r->info.start_unix_ns;
  message.duration_ps = to_ps(w->r->info.duration_ns);
  packing p = {{append_packed}, &w->lines};
  put_head(&w->lines, PLANE_LINES, protobuf_c_message_get_packed_size(&message.base) + events->n);
  protobuf_c_message_pack_to_buffer(&message.base, &p.base);
  profiler_out_bytes(&w->lines, events->data, events->n);
  w->failed |= events->failed;
  runtime_arena_reset(&w->arena);
}

static bool may_overlap(const tn_event *e) { return e->kind == TN_EVENT_ASYNC || (e->flags & TN_EVENT_OVERLAP); }

/* The first track that is free when E begins. */
static profiler_out *track_for(writer *w, const tn_event *e) {
  int i = 0;
  while (i < w->tracks.n && w->tracks.data[i].end_ns > e->start_ns) ++i;
  if (i == w->tracks.n) {
    track fresh = {0};
    w->failed |= !RUNTIME_PUSH(&w->tracks, fresh);
    if (w->failed) return NULL;
    profiler_out_memory(&w->tracks.data[i].events);
  }
  w->tracks.data[i].end_ns = e->start_ns + e->duration_ns;
  return &w->tracks.data[i].events;
}

/* The id of a further line is the thread's plus a multiple of 2^32, which the reader removes again. */
static void put_tracks(writer *w, const tn_lane *lane, uint32_t tid) {
  for (int i = 0; i < w->tracks.n; ++i) {
    char name[256];
    snprintf(name, sizeof name, "%.200s (ranges %d)", lane->name, i + 1);
    put_line(w, ((int64_t)(i + 1) << 32) + tid, name, &w->tracks.data[i].events);
    free(w->tracks.data[i].events.data);
  }
  w->tracks.n = 0;
}

/* Events are ordered by their start, so tracks can be filled in one pass. */
static void put_lane(writer *w, int index, const char *name) {
  const tn_lane *lane = &w->r->lanes.data[index];
  profiler_out events;
  profiler_out_memory(&events);
  for (int64_t i = w->first[index]; i < w->first[index + 1] && !w->failed; ++i) {
    const tn_event *e = &w->r->events[i];
    profiler_out *out = e->kind == TN_EVENT_COUNTER ? &w->counters : may_overlap(e) ? track_for(w, e) : &events;
    if (out) put_event(w, out, e);
  }
  put_line(w, w->ids.tids[index], name, &events);
  put_tracks(w, lane, w->ids.tids[index]);
  free(events.data);
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* Written at the end of the plane, when all ids are known. */
static void put_names(writer *w, profiler_out *out) {
  for (int i = 0; i < w->events.list.n; ++i) {
    xspace_event_metadata value = TENSORFLOW__PROFILER__XEVENT_METADATA__INIT;
    xspace_event_entry entry = TENSORFLOW__PROFILER__XEVENT_METADATA_ENTRY__INIT;
    entry.key = value.id = i + 1;
    value.name = (char *)w->events.list.data[i];
    entry.value = &value;
    put_message(out, PLANE_EVENT_METADATA, &entry.base);
  }
  for (int i = 0; i < w->stats.list.n; ++i) {
    xspace_stat_metadata value = TENSORFLOW__PROFILER__XSTAT_METADATA__INIT;
    xspace_stat_entry entry = TENSORFLOW__PROFILER__XSTAT_METADATA_ENTRY__INIT;
    entry.key = value.id = i + 1;
    value.name = (char *)w->stats.list.data[i];
    entry.value = &value;
    put_message(out, PLANE_STAT_METADATA, &entry.base);
  }
}

/* Lines are collected in memory first, because the plane's head needs their size and their names. */
static void begin_plane(writer *w) {
  clear_names(&w->events);
  clear_names(&w->stats);
  profiler_out_memory(&w->lines);
  profiler_out_memory(&w->counters);
}

/* Writes the plane with the lines that were put and the statistics that were added. */
static void end_plane(writer *w, profiler_out *out, int64_t id, const char *name) {
  profiler_out rest;
  profiler_out_memory(&rest);
  if (w->counters.n) put_line(w, (int64_t)1 << 62, XSPACE_COUNTERS, &w->counters);
  xspace_plane message = TENSORFLOW__PROFILER__XPLANE__INIT;
  message.id = id;
  message.name = (char *)clean(w, name);
  message.stats = take_stats(w, &message.n_stats);
  packing p = {{append_packed}, &rest};
  if (!w->failed) protobuf_c_message_pack_to_buffer(&message.base, &p.base);
  if (!w->failed) put_names(w, &rest);
  put_head(out, SPACE_PLANES, rest.n + w->lines.n);
  profiler_out_bytes(out, rest.data, rest.n);
  profiler_out_bytes(out, w->lines.data, w->lines.n);
  w->failed |= rest.failed || w->lines.failed || w->counters.failed;
  free(rest.data);
  free(w->lines.data);
  free(w->counters.data);
  runtime_arena_reset(&w->arena);
}

/* Identifies the process when the file is read back. */
static void add_process_stats(writer *w, int index) {
  const tn_process *p = &w->r->processes.data[index];
  add_i64(w, "pid", w->ids.pids[index]);
  add_text(w, "process_name", p->name);
  add_text(w, "host", p->host);
#define X(member, otherwise) add_i64(w, #member, p->member);
  PROFILER_PROCESS_NUMBERS(X)
#undef X
}

/* Added to the first plane only, because the format has no place for what concerns the whole recording. */
static void add_info_stats(writer *w) {
  const tn_recording_info *info = &w->r->info;
  add_text(w, "version", TN_VERSION);
  add_i64(w, "plane_count", w->r->processes.n);
#define X(member, key) add_i64(w, key, (int64_t)info->member);
  PROFILER_INFO_NUMBERS(X)
#undef X
  add_i64(w, "rounds", info->n_rounds);
  add_f64(w, "event_cost_ns", info->stats.event_cost_ns);
}

/* Describes the machine by statistics of the plane, taken from the mark "host" (tn_host_record). */
static void add_host_stats(writer *w) {
  static const char *const keys[] = {"cpu_model",   "cores",        "vector_bits",  "memory_bytes",
                                     "peak_gflops", "peak_gbps",    "cache1_gbps",  "cache2_gbps",
                                     "cache3_gbps", "cache1_bytes", "cache2_bytes", "cache3_bytes"};
  const tn_event *e = profiler_host_mark(w->r);
  for (int i = 0; e && i < RUNTIME_COUNT(keys); ++i) {
    const tn_event_arg *arg = profiler_find_arg(w->r, e, keys[i]);
    if (!arg) continue;
    if (arg->type == TN_EVENT_ARG_TEXT)
      add_text(w, keys[i], arg->text);
    else
      add_f64(w, keys[i], profiler_arg_number(w->r, e, keys[i], 0));
  }
}

/* The first plane is called /host:CPU, as TensorFlow's viewers expect, whichever process it is. */
static void put_process(writer *w, profiler_out *out, int index) {
  char name[256] = XSPACE_HOST_PLANE;
  begin_plane(w);
  for (int i = 0; i < w->r->lanes.n; ++i) {
    const tn_lane *lane = &w->r->lanes.data[i];
    if (lane->process == index && !lane->is_device) put_lane(w, i, lane->name);
  }
  add_process_stats(w, index);
  if (index == 0) add_info_stats(w), add_host_stats(w);
  if (index > 0)
    snprintf(name, sizeof name, XSPACE_HOST_PLANE " %.180s %u", w->r->processes.data[index].name, w->ids.pids[index]);
  end_plane(w, out, index, name);
}

/* A lane named "/device:GPU:0: stream" becomes line "stream" of plane "/device:GPU:0". Any other becomes a
 * custom device. */
static void put_device(writer *w, profiler_out *out, int index, int number) {
  const tn_lane *lane = &w->r->lanes.data[index];
  const char *colon =
      strncmp(lane->name, XSPACE_DEVICE_PREFIX, strlen(XSPACE_DEVICE_PREFIX)) == 0 ? strstr(lane->name, ": ") : NULL;
  char plane[256];
  snprintf(plane, sizeof plane, XSPACE_DEVICE_PLANE "%d", number);
  if (colon) snprintf(plane, sizeof plane, "%.*s", (int)RUNTIME_MIN(colon - lane->name, 255), lane->name);
  begin_plane(w);
  put_lane(w, index, colon ? colon + 2 : lane->name);
  add_i64(w, "process_index", lane->process);
  if (colon) add_i64(w, "is_qualified", 1);
  end_plane(w, out, w->r->processes.n + number, plane);
}

/* ---- the space --------------------------------------------------------------------------------------------------- */

/* Writes one field for every line of TEXT. */
static void put_texts(writer *w, profiler_out *out, int field, const char *text) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    char *line = runtime_strndup(&w->arena, text, n);
    w->failed |= !line;
    const char *cured = clean(w, line ? line : "");
    if (n) put_bytes(out, field, cured, strlen(cured));
    text += n + (text[n] == '\n');
  }
}

/* Each host once, in the order of the processes. */
static void put_hosts(writer *w, profiler_out *out) {
  for (int i = 0; i < w->r->processes.n; ++i) {
    const char *host = w->r->processes.data[i].host;
    bool is_new = *host != '\0';
    for (int k = 0; k < i; ++k) is_new &= strcmp(w->r->processes.data[k].host, host) != 0;
    if (is_new) put_texts(w, out, SPACE_HOSTS, host);
  }
}

/* Finds where the events of each lane begin. They are stored lane by lane. */
static bool find_lanes(writer *w) {
  w->first = calloc((size_t)w->r->lanes.n + 1, sizeof *w->first);
  if (!w->first) return false;
  int64_t at = 0;
  for (int i = 0; i <= w->r->lanes.n; ++i) {
    while (at < w->r->n_events && w->r->events[at].lane < i) ++at;
    w->first[i] = at;
  }
  return true;
}

/* Errors and hosts come before the planes, so that a reader of a stream has them early. */
static void put_all(writer *w, profiler_out *out) {
  put_texts(w, out, SPACE_ERRORS, tn_recording_errors(w->r));
  put_texts(w, out, SPACE_WARNINGS, tn_recording_warnings(w->r));
  put_hosts(w, out);
  for (int i = 0; i < w->r->processes.n && !w->failed; ++i) put_process(w, out, i);
  for (int i = 0, number = 0; i < w->r->lanes.n && !w->failed; ++i) {
    if (w->r->lanes.data[i].is_device) put_device(w, out, i, number++);
  }
}

/* Memory holds one plane in its final form at a time. */
bool profiler_write_xspace(profiler_out *out, const tn_recording *r) {
  writer w = {.r = r};
  runtime_arena texts = {0};
  w.strings.arena = &texts;
  w.failed = !profiler_ids_make(r, &w.ids) || !find_lanes(&w);
  if (!w.failed) put_all(&w, out);
  clear_names(&w.events);
  clear_names(&w.stats);
  RUNTIME_VEC_FREE(&w.tracks);
  RUNTIME_VEC_FREE(&w.item_stats);
  RUNTIME_VEC_FREE(&w.item_pointers);
  runtime_arena_free(&w.arena);
  runtime_arena_free(&texts);
  runtime_names_free(&w.strings);
  free(w.first);
  profiler_ids_free(&w.ids);
  return !w.failed;
}
