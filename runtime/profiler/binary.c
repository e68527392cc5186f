/* binary.c: .tnprof, the lossless form of a recording. A file is magic, a version, the texts, and a section
 * for each kind of item. Every section begins with the types of its items' fields, so that a file with
 * fewer fields (an older version) or more (a newer one) can be read: missing fields stay zero, unknown ones
 * are skipped. Numbers are zigzag varints, texts are numbers into the list of texts, doubles are their
 * bits. A saved file is compressed with gzip, which also checks its bytes.
 *
 * The writer owns the numbering of texts, the reader their list; all texts belong to the recording. */
#include "runtime/profiler/stream.h"

/* Fields of a section and bytes of a text beyond these limits mean that a file is broken. */
enum { VERSION = 1, MAX_FIELDS = 64, MAX_TEXT = 1 << 24 };

/* ---- the fields -------------------------------------------------------------------------------------------------- */

typedef enum field_type { I8, U8, U16, I32, U32, I64, F64, TEXT, TYPE_COUNT } field_type;

/* A member of a struct, and how it is coded. */
typedef struct field {
  uint8_t type;
  uint16_t at; /* its offset */
} field;

/* X(struct, member, type). New fields go to the end of their list; old ones stay. The bytes of a counter's
 * value and those of memory share a member. */
/* clang-format off */
#define PROCESS_FIELDS(X)                                                                                              \
  X(tn_process, name, TEXT) X(tn_process, host, TEXT) X(tn_process, pid, I64) X(tn_process, node_id, I32)              \
  X(tn_process, is_remote, U8) X(tn_process, was_killed, U8) X(tn_process, clock_offset_ns, I64)                       \
  X(tn_process, clock_bound_ns, I64)
#define LANE_FIELDS(X)                                                                                                 \
  X(tn_lane, name, TEXT) X(tn_lane, tid, I64) X(tn_lane, process, I32) X(tn_lane, is_device, U8)                       \
  X(tn_lane, dropped, I64)
#define SOURCE_FIELDS(X) X(tn_source, file, TEXT) X(tn_source, function, TEXT) X(tn_source, line, I32)
#define EVENT_FIELDS(X)                                                                                                \
  X(tn_event, start_ns, I64) X(tn_event, duration_ns, I64) X(tn_event, id, I64) X(tn_event, bytes, I64)                \
  X(tn_event, name, TEXT) X(tn_event, lane, I32) X(tn_event, parent, I32) X(tn_event, n_args, I32)                     \
  X(tn_event, site, I32) X(tn_event, sequence, U32) X(tn_event, kind, U8) X(tn_event, category, U8)                    \
  X(tn_event, level, U8) X(tn_event, phase, U8) X(tn_event, flags, U16)
#define ARG_FIELDS(X) X(flat_arg, key, TEXT) X(flat_arg, type, I32) X(flat_arg, bits, I64) X(flat_arg, text, TEXT)
/* clang-format on */

/* An argument without its union. */
typedef struct flat_arg {
  const char *key, *text;
  int32_t type;
  int64_t bits;
} flat_arg;

/* What a file has once. */
typedef struct once {
  tn_recording_info info;
  const char *errors, *warnings;
} once;
/* clang-format off */
#define INFO_FIELD(member, key) X(once, info.member, I64)
#define ONCE_FIELDS(X)                                                                                                 \
  X(once, info.n_rounds, I32) X(once, info.stats.event_cost_ns, F64) X(once, info.stats.parse_ns, I64)                 \
  X(once, info.stats.export_ns, I64) X(once, errors, TEXT) X(once, warnings, TEXT)                                     \
  PROFILER_INFO_NUMBERS(INFO_FIELD)
/* clang-format on */

#define X(type, member, kind) {kind, offsetof(type, member)},
static const field process_fields[] = {PROCESS_FIELDS(X)}, lane_fields[] = {LANE_FIELDS(X)},
                   source_fields[] = {SOURCE_FIELDS(X)}, event_fields[] = {EVENT_FIELDS(X)},
                   arg_fields[] = {ARG_FIELDS(X)}, once_fields[] = {ONCE_FIELDS(X)};
#undef X

/* A kind of item. A file lists its own fields, so that older and newer files can be read. */
typedef struct section {
  const field *fields;
  int n_fields;
} section;
#define SECTION(fields) {fields, RUNTIME_COUNT(fields)}
static const section once_section = SECTION(once_fields), process_section = SECTION(process_fields),
                     lane_section = SECTION(lane_fields), source_section = SECTION(source_fields),
                     event_section = SECTION(event_fields), arg_section = SECTION(arg_fields);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Writes a recording. Texts are numbered by address, since all texts of a recording are interned. */
typedef struct writer {
  profiler_out *out;
  const tn_recording *r;
  profiler_map texts; /* address of an interned text -> its number */
  RUNTIME_VEC(const char *) list;
  bool failed;
} writer;

/* Zigzag coding makes small negative numbers short, too; ten bytes at most. */
static void write_varint(profiler_out *out, int64_t value) {
  char bytes[10];
  size_t n = 0;
  uint64_t rest = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
  for (; rest >= 0x80; rest >>= 7) bytes[n++] = (char)(rest | 0x80);
  bytes[n++] = (char)rest;
  profiler_out_bytes(out, bytes, n);
}

/* The number of a text. One seen for the first time is appended to the list. */
static int64_t text_number(writer *w, const char *text) {
  int64_t *number = profiler_map_at(&w->texts, (uint64_t)(uintptr_t)text, 0, -1);
  if (number && *number >= 0) return *number;
  w->failed |= !number || !RUNTIME_PUSH(&w->list, text);
  if (w->failed) return 0;
  *number = w->list.n - 1;
  return *number;
}

/* Any field as an integer: a text as its number, a double as its bits. */
static int64_t load_field(writer *w, const field *f, const void *item) {
  const char *at = (const char *)item + f->at;
  switch ((field_type)f->type) {
    case I8: return *(const int8_t *)at;
    case U8: return *(const uint8_t *)at;
    case U16: return *(const uint16_t *)at;
    case I32: return *(const int32_t *)at;
    case U32: return *(const uint32_t *)at;
    case I64:
    case F64: return *(const int64_t *)at;
    case TEXT: return text_number(w, *(const char *const *)at);
    case TYPE_COUNT: break;
  }
  return 0;
}

/* Every field is a varint: a number by its value, a text by its index in the list of texts. */
static void write_item(writer *w, const section *s, const void *item) {
  for (int i = 0; i < s->n_fields; ++i) write_varint(w->out, load_field(w, &s->fields[i], item));
}

/* The layout precedes a section; this keeps files of other versions readable. */
static void write_head(writer *w, const section *s, int64_t n_items) {
  write_varint(w->out, s->n_fields);
  for (int i = 0; i < s->n_fields; ++i) write_varint(w->out, s->fields[i].type);
  write_varint(w->out, n_items);
}

/* ITEMS are N structs of BYTES each; the section's fields say what is written of them. */
static void write_items(writer *w, const section *s, const void *items, int64_t n, size_t bytes) {
  write_head(w, s, n);
  for (int64_t i = 0; i < n; ++i) write_item(w, s, (const char *)items + (size_t)i * bytes);
}

/* Stores the union's bits in one field whatever the type is, so that reading loses nothing. */
static flat_arg flatten(const tn_event_arg *arg) {
  flat_arg flat = {
      .key = arg->key, .type = (int32_t)arg->type, .text = arg->type == TN_EVENT_ARG_TEXT ? arg->text : arg->key};
  if (arg->type != TN_EVENT_ARG_TEXT) memcpy(&flat.bits, &arg->u64, sizeof flat.bits);
  return flat;
}

/* The arguments of an event follow it. */
static void write_events(writer *w) {
  const tn_recording *r = w->r;
  write_head(w, &arg_section, 0);
  write_head(w, &event_section, r->n_events);
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    write_item(w, &event_section, e);
    for (int k = 0; k < e->n_args; ++k) {
      flat_arg flat = flatten(&r->args[e->first_arg + k]);
      write_item(w, &arg_section, &flat);
    }
  }
}

/* Numbers all texts in a walk before anything is written. */
static void number_texts(writer *w, const once *info) {
  const tn_recording *r = w->r;
  text_number(w, info->errors);
  text_number(w, info->warnings);
  for (int i = 0; i < r->processes.n; ++i)
    text_number(w, r->processes.data[i].name), text_number(w, r->processes.data[i].host);
  for (int i = 0; i < r->lanes.n; ++i) text_number(w, r->lanes.data[i].name);
  for (int i = 0; i < r->sources.n; ++i)
    text_number(w, r->sources.data[i].file), text_number(w, r->sources.data[i].function);
  for (int64_t i = 0; i < r->n_events; ++i) text_number(w, r->events[i].name);
  for (int64_t i = 0; i < r->n_args; ++i) {
    text_number(w, r->args[i].key);
    if (r->args[i].type == TN_EVENT_ARG_TEXT) text_number(w, r->args[i].text);
  }
}

/* Texts come first, since all other sections refer to them by number. */
static void write_texts(writer *w) {
  write_varint(w->out, w->list.n);
  for (int i = 0; i < w->list.n; ++i) {
    size_t n = strlen(w->list.data[i]);
    write_varint(w->out, (int64_t)n);
    profiler_out_bytes(w->out, w->list.data[i], n);
  }
}

bool profiler_write_binary(profiler_out *out, const tn_recording *r) {
  writer w = {.out = out, .r = r};
  once info = {r->info, tn_recording_errors(r), tn_recording_warnings(r)};
  number_texts(&w, &info);
  PROFILER_OUT_LITERAL(out, PROFILER_BINARY_MAGIC);
  write_varint(out, VERSION);
  write_texts(&w);
  write_items(&w, &once_section, &info, 1, sizeof info);
  write_items(&w, &process_section, r->processes.data, r->processes.n, sizeof *r->processes.data);
  write_items(&w, &lane_section, r->lanes.data, r->lanes.n, sizeof *r->lanes.data);
  write_items(&w, &source_section, r->sources.data, r->sources.n, sizeof *r->sources.data);
  write_events(&w);
  profiler_map_free(&w.texts);
  RUNTIME_VEC_FREE(&w.list);
  return !w.failed;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* How a section's items are laid out in the file: where each field goes; NULL: nowhere. */
typedef struct layout {
  const field *to[MAX_FIELDS];
  uint8_t types[MAX_FIELDS];
  int n_fields;
  int64_t n_items;
} layout;

/* A file being read. Nothing in it is trusted before it was checked. */
typedef struct reader {
  profiler_in *in;
  tn_recording *r;
  RUNTIME_VEC(const char *) texts;
  RUNTIME_VEC(int) sites; /* of each of the file's sources */
  const char *why;        /* the first failure */
} reader;

/* Keeps the first failure, as later ones follow from it. Always false, or 0 as a number. */
static bool refuse(reader *x, const char *why) {
  if (!x->why) x->why = why;
  return false;
}

/* 0 after a failure, which x->why tells. */
static int64_t read_varint(reader *x) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    int byte = profiler_in_get(x->in);
    if (byte < 0) return refuse(x, x->in->failed ? x->in->failed : "it is cut off");
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return (int64_t)(value >> 1 ^ (0 - (value & 1)));
  }
  return refuse(x, "a number is too long");
}

/* Reads byte by byte, so that a wrong length cannot make it allocate more than the file holds. */
static const char *read_text(reader *x, runtime_str *buffer) {
  int64_t n = read_varint(x);
  if (x->why || n < 0 || n > MAX_TEXT) return refuse(x, "a text's length is wrong"), NULL;
  for (buffer->n = 0; n > 0; --n) {
    int byte = profiler_in_get(x->in);
    if (byte <= 0) return refuse(x, byte ? "it is cut off" : "a text holds a zero"), NULL;
    char c = (char)byte;
    runtime_str_addn(buffer, &c, 1);
  }
  const char *text = buffer->failed ? NULL : runtime_intern(&x->r->strings, buffer->n ? buffer->data : "", buffer->n);
  if (!text) refuse(x, "out of memory");
  return text;
}

/* Stops at the end of the file whatever the number says: a hundred bytes could claim a billion texts. */
static bool read_texts(reader *x) {
  runtime_str buffer = {0};
  int64_t n = read_varint(x);
  for (int64_t i = 0; i < n && !x->why; ++i) {
    bool is_at_end = profiler_in_peek(x->in) < 0;
    const char *text = is_at_end ? NULL : read_text(x, &buffer);
    if (is_at_end) refuse(x, "it is cut off");
    if (text && !RUNTIME_PUSH(&x->texts, text)) refuse(x, "out of memory");
  }
  runtime_str_free(&buffer);
  return !x->why;
}

/* Finds where each of the file's fields goes; NULL for fields that this version does not know. Items
 * without fields would be endless, so they are refused. */
static bool read_layout(reader *x, const section *s, layout *out) {
  int64_t n = read_varint(x);
  if (n < 0 || n > MAX_FIELDS) return refuse(x, "a section's number of fields is wrong");
  *out = (layout){.n_fields = (int)n};
  for (int i = 0; i < n && !x->why; ++i) {
    int64_t type = read_varint(x);
    if (type < 0 || type >= TYPE_COUNT) return refuse(x, "a field's type is unknown");
    out->types[i] = (uint8_t)type;
    if (i < s->n_fields) out->to[i] = &s->fields[i];
    if (i < s->n_fields && (type == TEXT) != (s->fields[i].type == TEXT)) return refuse(x, "a field's type is wrong");
  }
  out->n_items = read_varint(x);
  if (out->n_items < 0 || (out->n_items > 0 && n == 0)) return refuse(x, "a section's number of items is wrong");
  return !x->why;
}

/* Narrower fields are truncated; whoever adds the item checks values that must be in a range. */
static void store_field(reader *x, const field *f, void *item, int64_t value) {
  char *at = (char *)item + f->at;
  switch ((field_type)f->type) {
    case I8: *(int8_t *)at = (int8_t)value; return;
    case U8: *(uint8_t *)at = (uint8_t)value; return;
    case U16: *(uint16_t *)at = (uint16_t)value; return;
    case I32: *(int32_t *)at = (int32_t)value; return;
    case U32: *(uint32_t *)at = (uint32_t)value; return;
    case I64:
    case F64: *(int64_t *)at = value; return;
    case TEXT:
      if (value < 0 || value >= x->texts.n)
        refuse(x, "there is no such text");
      else
        *(const char **)at = x->texts.data[value];
      return;
    case TYPE_COUNT: break;
  }
}

/* Fields that the file lacks keep what ITEM held. */
static bool read_item(reader *x, const layout *l, void *item) {
  for (int i = 0; i < l->n_fields && !x->why; ++i) {
    int64_t value = read_varint(x);
    if (l->to[i] && !x->why) store_field(x, l->to[i], item, value);
  }
  return !x->why;
}

/* If there are several, the last counts. */
static bool read_once(reader *x) {
  layout l;
  once info = {.errors = "", .warnings = ""};
  if (!read_layout(x, &once_section, &l)) return false;
  for (int64_t i = 0; i < l.n_items; ++i) {
    if (!read_item(x, &l, &info)) return false;
  }
  x->r->info = info.info;
  runtime_str_add(&x->r->errors, info.errors);
  runtime_str_add(&x->r->warnings, info.warnings);
  return true;
}

/* Fields that an older file lacks keep the defaults set here. */
static bool read_processes(reader *x) {
  layout l;
  if (!read_layout(x, &process_section, &l)) return false;
  for (int64_t i = 0; i < l.n_items; ++i) {
    tn_process item = {.name = "", .host = "", .node_id = -1};
    unsigned char flags[sizeof item];
    if (!read_item(x, &l, &item)) return false;
    memcpy(flags, &item, sizeof flags); /* a byte that is neither 0 nor 1 is no bool */
    item.is_remote = flags[offsetof(tn_process, is_remote)] != 0;
    item.was_killed = flags[offsetof(tn_process, was_killed)] != 0;
    if (profiler_add_process(x->r, &item) < 0) return refuse(x, "out of memory");
  }
  return true;
}

/* A lane must name a process before it; later on events refer to lanes without a check. */
static bool read_lanes(reader *x) {
  layout l;
  if (!read_layout(x, &lane_section, &l)) return false;
  for (int64_t i = 0; i < l.n_items; ++i) {
    tn_lane item = {.name = ""};
    unsigned char flags[sizeof item];
    if (!read_item(x, &l, &item)) return false;
    memcpy(flags, &item, sizeof flags);
    item.is_device = flags[offsetof(tn_lane, is_device)] != 0;
    if (item.process < 0 || item.process >= x->r->processes.n) return refuse(x, "a lane's process does not exist");
    if (profiler_add_lane(x->r, &item) < 0) return refuse(x, "out of memory");
  }
  return true;
}

/* Merging files of two sessions may make two sources one, so places are translated through SITES. */
static bool read_sources(reader *x) {
  layout l;
  if (!read_layout(x, &source_section, &l)) return false;
  for (int64_t i = 0; i < l.n_items; ++i) {
    tn_source item = {"", "", 0};
    int index = read_item(x, &l, &item) ? profiler_add_source(x->r, &item) : -1;
    if (x->why) return false;
    if (index < 0 || !RUNTIME_PUSH(&x->sites, index)) return refuse(x, "out of memory");
  }
  return true;
}

/* A value is stored as 64 bits, and its type says how to read them. */
static bool read_arg(reader *x, const layout *l) {
  flat_arg flat = {.key = "", .text = ""};
  if (!read_item(x, l, &flat)) return false;
  if (flat.type < 0 || flat.type > TN_EVENT_ARG_TEXT) return refuse(x, "an argument's type is unknown");
  tn_event_arg arg = tn_event_arg_text(flat.key, flat.text);
  arg.type = (tn_event_arg_type)flat.type;
  if (arg.type != TN_EVENT_ARG_TEXT) memcpy(&arg.u64, &flat.bits, sizeof arg.u64);
  profiler_add_arg(x->r, &arg);
  return true;
}

/* The parent of an event if it can be right; otherwise it will be found again by time. */
static int32_t check_parent(tn_recording *r, const tn_event *e, int64_t index) {
  if (e->parent < 0) return -1;
  tn_event *parent = e->parent < index ? &r->events[e->parent] : NULL;
  if (!parent || parent->lane != e->lane || parent->kind != TN_EVENT_SCOPE) return PROFILER_PARENT_UNKNOWN;
  if (e->kind != TN_EVENT_SCOPE) return e->parent;
  if (parent->self_ns < e->duration_ns) return PROFILER_PARENT_UNKNOWN;
  parent->self_ns -= e->duration_ns;
  return e->parent;
}

/* All indices are checked here and times are clipped, so that later sums cannot overflow. */
static bool add_event(reader *x, const tn_event *item) {
  tn_recording *r = x->r;
  if (item->lane < 0 || item->lane >= r->lanes.n) return refuse(x, "an event's lane does not exist");
  if (item->kind >= TN_EVENT_KIND_COUNT || item->category >= TN_CATEGORY_COUNT || item->phase > TN_FLOW_END)
    return refuse(x, "an event's kind, category or phase is unknown");
  if (item->site < 0 || (item->site > 0 && item->site >= x->sites.n))
    return refuse(x, "an event's place does not exist");
  tn_event *e = profiler_add_event(r, item->lane, (tn_event_kind)item->kind, item->name);
  if (!e) return refuse(x, "out of memory");
  int32_t first_arg = e->first_arg;
  const char *name = e->name;
  *e = *item;
  e->name = name;
  e->first_arg = first_arg;
  e->n_args = 0;
  e->site = item->site < x->sites.n ? x->sites.data[item->site] : 0;
  e->start_ns = profiler_clip(e->start_ns, PROFILER_MAX_NS);
  e->duration_ns = profiler_clip(RUNTIME_MAX(e->duration_ns, 0), PROFILER_MAX_NS);
  if (e->kind == TN_EVENT_MEMORY) e->bytes = profiler_clip(e->bytes, PROFILER_MAX_BYTES);
  e->self_ns = e->duration_ns;
  e->parent = check_parent(r, e, r->n_events - 1);
  return true;
}

/* Arguments are read one by one, so a wrong number ends at the end of the file. */
static bool read_events(reader *x) {
  layout args, l;
  if (!read_layout(x, &arg_section, &args) || !read_layout(x, &event_section, &l)) return false;
  for (int64_t i = 0; i < l.n_items; ++i) {
    tn_event item = {.name = "", .parent = -1};
    if (!read_item(x, &l, &item) || !add_event(x, &item)) return false;
    for (int32_t k = 0; k < item.n_args; ++k) {
      if (args.n_fields == 0) return refuse(x, "arguments have no fields");
      if (!read_arg(x, &args)) return false;
    }
  }
  return true;
}

/* Newer major versions are refused. New fields do not change the version. */
static bool read_all(reader *x) {
  char magic[sizeof PROFILER_BINARY_MAGIC - 1];
  if (!profiler_in_bytes(x->in, magic, sizeof magic) || memcmp(magic, PROFILER_BINARY_MAGIC, sizeof magic) != 0)
    return refuse(x, "it is no .tnprof file");
  int64_t version = read_varint(x);
  if (version < 1 || version > VERSION) return refuse(x, x->why ? x->why : "its version is unknown");
  return read_texts(x) && read_once(x) && read_processes(x) && read_lanes(x) && read_sources(x) && read_events(x);
}

/* Computes again what the file had computed. */
tn_recording *profiler_finish_reading(tn_context *ctx, tn_recording *r, const char *name) {
  tn_recording_info *info = &r->info;
  info->start_ns = profiler_clip(RUNTIME_MAX(info->start_ns, 0), PROFILER_MAX_NS);
  info->start_unix_ns = profiler_clip(RUNTIME_MAX(info->start_unix_ns, 0), PROFILER_MAX_NS);
  info->duration_ns = profiler_clip(RUNTIME_MAX(info->duration_ns, 0), PROFILER_MAX_NS);
  tn_profile_stats stats = info->stats;
  if (profiler_recording_finish(r)) {
    info->stats = stats;
    return r;
  }
  runtime_fail(ctx, TN_ERROR_MEMORY, "%s: out of memory", name);
  tn_recording_free(r);
  return NULL;
}

/* Nothing in the file is trusted. NULL after a message with the place in bytes. */
tn_recording *profiler_read_binary(tn_context *ctx, profiler_in *in, const char *name) {
  reader x = {.in = in, .r = profiler_recording_new()};
  bool ok = x.r ? read_all(&x) : refuse(&x, "out of memory");
  if (ok && x.r->failed) ok = refuse(&x, "out of memory");
  if (!ok)
    runtime_fail(ctx, TN_ERROR_PARSE, "%s, byte %llu: %s", name, (unsigned long long)profiler_in_place(in), x.why);
  RUNTIME_VEC_FREE(&x.texts);
  RUNTIME_VEC_FREE(&x.sites);
  if (ok) return profiler_finish_reading(ctx, x.r, name);
  tn_recording_free(x.r);
  return NULL;
}

char *profiler_encode(const tn_recording *r, size_t *n) {
  profiler_out out;
  profiler_out_memory(&out);
  if (!profiler_write_binary(&out, r)) profiler_out_no_memory(&out);
  return profiler_out_take(&out, n);
}

tn_recording *profiler_decode(const void *data, size_t n) {
  profiler_in in;
  profiler_in_memory(&in, data, n);
  return profiler_read_binary(NULL, &in, "the recording");
}
