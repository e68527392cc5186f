/* collect.c: reads a storage, of this process or from a file that another one left behind, into a
 * recording. Nothing in it is trusted.
 *
 * The `reader` borrows the storage and owns the arrays of one lane at a time; what it makes belongs to the
 * recording. */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "runtime/profiler/guests.h"
#include "runtime/profiler/storage.h"
#include "runtime/profiler/stream.h"

/* The state of the reader. */
typedef struct reader {
  const storage *from;
  tn_recording *r;
  uint32_t n_labels, n_chunks;
  uint64_t names_used;
  double ns_per_tick;
  uint64_t end_ticks; /* where events end that are still open */
  int *sources;       /* by label; -1: not made yet */
  uint8_t *seen;      /* by chunk: a chunk must belong to only one list */
  /* of one lane */
  const storage_record **records; /* all of the lane's records, arguments included */
  int64_t n_records, cap_records;
  int32_t *event_of;               /* by slot: the event's index; -1: none */
  uint32_t first_ordinal, n_slots; /* a slot for each ordinal from the first on */
  uint32_t *ordinals;              /* or, if most events were dropped, ascending: one for each of these only */
} reader;

static uint64_t load64(const _Atomic uint64_t *value) { return atomic_load((_Atomic uint64_t *)value); }
static uint32_t load32(const _Atomic uint32_t *value) { return atomic_load((_Atomic uint32_t *)value); }

/* ---- names and times --------------------------------------------------------------------------------------------- */

/* Interns a name. The rest of the storage is its limit, so that a name that does not end is not read beyond it. */
static const char *name_at(reader *x, uint64_t offset) {
  if (offset == 0 || offset >= x->names_used) return "";
  const char *name = runtime_intern(&x->r->strings, x->from->names + offset, x->names_used - offset);
  if (!name) x->r->failed = true;
  return name ? name : "";
}

/* Never NULL: an unknown label has no name and no place. */
static const storage_label *label_at(const reader *x, uint32_t label) {
  static const storage_label unknown = {.level = 1};
  return label < x->n_labels ? &x->from->labels[label] : &unknown;
}

/* Limits times to what is far beyond any session. */
static int64_t clip(double ns) { return (int64_t)(ns < -9e15 ? -9e15 : ns > 9e15 ? 9e15 : ns); }

/* The difference is signed, since an event may have begun before the session's first moment. */
static int64_t from_ticks(const reader *x, uint64_t ticks) {
  double passed = (double)(int64_t)(ticks - x->from->header->ticks[0]);
  return x->ns_per_tick == 1 ? clip(passed) : clip(passed * x->ns_per_tick + 0.5);
}

static int64_t from_ns(const reader *x, uint64_t ns) { return clip((double)(int64_t)(ns - x->from->header->ns[0])); }

/* The least distance of two moments that tells a clock's rate better than reading the clocks disturbs it. */
#define FAR_ENOUGH_NS 1e6

/* A device's time, by the line through its two moments; in step with the host's clock if they are one, or too close. */
static int64_t from_device(const reader *x, const storage_lane *lane, uint64_t ns) {
  double rate = 1, spread = (double)(int64_t)(lane->device_ns[1] - lane->device_ns[0]);
  if (lane->host_ns[1] > lane->host_ns[0] && spread > FAR_ENOUGH_NS)
    rate = (double)(lane->host_ns[1] - lane->host_ns[0]) / spread;
  double after = (double)(int64_t)(ns - lane->device_ns[0]) * rate;
  return clip((double)from_ns(x, lane->host_ns[0]) + after + 0.5);
}

/* The start of the recording is 0. Records have three kinds of times: ticks, nanoseconds (of events added
 * from elsewhere), and a device's own. */
static int64_t time_of(const reader *x, const storage_lane *lane, const storage_record *record, uint64_t time) {
  if (lane->is_device) return from_device(x, lane, time);
  bool is_ns = (record->flags & TN_EVENT_ADDED) && record->arg_type != STORAGE_TICKS;
  return is_ns ? from_ns(x, time) : from_ticks(x, time);
}

/* The source of a label. It is made at first use and kept, so that a million events of one place search once. */
static int source_of(reader *x, uint32_t label) {
  if (label >= x->n_labels) return 0;
  if (x->sources[label] < 0) {
    const storage_label *l = &x->from->labels[label];
    tn_source source = {name_at(x, l->file), name_at(x, l->function), l->line};
    x->sources[label] = RUNTIME_MAX(profiler_add_source(x->r, &source), 0);
  }
  return x->sources[label];
}

/* ---- one lane ---------------------------------------------------------------------------------------------------- */

/* Whether a link names a chunk of the storage. */
static bool is_link(const reader *x, uint32_t link) { return link > 0 && link <= x->n_chunks; }

/* Keeps a pointer into the storage, which must stay mapped until the lane is read. */
static bool keep_record(reader *x, const storage_record *record) {
  if (x->n_records == x->cap_records) {
    int64_t cap = x->cap_records ? x->cap_records * 2 : 1024;
    const storage_record **grown = realloc(x->records, (size_t)cap * sizeof *grown);
    if (!grown) return !(x->r->failed = true);
    x->records = grown;
    x->cap_records = cap;
  }
  x->records[x->n_records++] = record;
  return true;
}

/* Gathers the lane's records. Chunks that were seen before end the list, so that a cycle does no harm. */
static void gather(reader *x, const storage_lane *lane) {
  x->n_records = 0;
  for (uint32_t link = load32(&lane->first); is_link(x, link) && !x->seen[link - 1];) {
    storage_chunk *chunk = storage_chunk_at(x->from, link);
    uint32_t n = RUNTIME_MIN(load32(&chunk->n), (uint32_t)STORAGE_RECORDS);
    x->seen[link - 1] = 1;
    for (uint32_t i = 0; i < n; ++i)
      if (!keep_record(x, &storage_records(chunk)[i])) return;
    link = chunk->next;
  }
}

static int by_number(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

/* Makes a slot for each ordinal that occurs. */
static bool make_sparse_slots(reader *x) {
  x->ordinals = malloc((size_t)(x->n_records + 1) * sizeof *x->ordinals);
  if (!x->ordinals) return false;
  size_t n = 0;
  for (int64_t i = 0; i < x->n_records; ++i)
    if (x->records[i]->kind < TN_EVENT_KIND_COUNT) x->ordinals[n++] = x->records[i]->ordinal;
  qsort(x->ordinals, n, sizeof *x->ordinals, by_number);
  x->n_slots = 0;
  for (size_t i = 0; i < n; ++i)
    if (i == 0 || x->ordinals[i] != x->ordinals[i - 1]) x->ordinals[x->n_slots++] = x->ordinals[i];
  return true;
}

/* Chooses how slots are found, by the range of the ordinals; false without memory. */
static bool make_slots(reader *x) {
  uint32_t least = UINT32_MAX, most = 0;
  for (int64_t i = 0; i < x->n_records; ++i) {
    if (x->records[i]->kind >= TN_EVENT_KIND_COUNT) continue;
    least = RUNTIME_MIN(least, x->records[i]->ordinal);
    most = RUNTIME_MAX(most, x->records[i]->ordinal);
  }
  x->first_ordinal = least;
  x->n_slots = 0;
  if (least > most) return true;
  bool is_dense = (most - least) / 4 <= (uint64_t)x->n_records + 1024;
  if (is_dense) x->n_slots = most - least + 1;
  if (!is_dense && !make_sparse_slots(x)) return false;
  x->event_of = malloc(x->n_slots * sizeof *x->event_of);
  return x->event_of != NULL;
}

/* The slot of an ordinal; n_slots if it has none. */
static uint32_t slot_of(const reader *x, uint32_t ordinal) {
  if (!x->ordinals) return RUNTIME_MIN(ordinal - x->first_ordinal, x->n_slots);
  const uint32_t *found = bsearch(&ordinal, x->ordinals, x->n_slots, sizeof ordinal, by_number);
  return found ? (uint32_t)(found - x->ordinals) : x->n_slots;
}

/* Also -1 if the parent was dropped: its children become outermost scopes. */
static int32_t parent_of(const reader *x, uint32_t ordinal) {
  uint32_t slot = slot_of(x, ordinal);
  return ordinal != 0 && slot < x->n_slots ? x->event_of[slot] : -1;
}

/* The record's `end` means something else for each kind. Values that are infinite or too large are limited,
 * since sums are made of them. */
static void set_value(tn_event *e, const storage_record *record) {
  memcpy(&e->value, &record->end, sizeof e->value); /* a counter's double, memory's bytes */
  if (e->kind != TN_EVENT_COUNTER && e->kind != TN_EVENT_MEMORY) e->bytes = 0;
  if (e->kind == TN_EVENT_FLOW) e->phase = (uint8_t)RUNTIME_MIN(record->end, (uint64_t)TN_FLOW_END);
  if (e->kind == TN_EVENT_COUNTER && !(e->value - e->value == 0)) e->value = 0;
  if (e->kind == TN_EVENT_MEMORY) e->bytes = RUNTIME_MIN(RUNTIME_MAX(e->bytes, -(INT64_C(1) << 50)), INT64_C(1) << 50);
}

/* Adds a record's event on LANE; NULL without memory. Times become nanoseconds since the session began. A
 * negative duration, from a clock that went back, becomes 0. */
static tn_event *add_event(reader *x, const storage_lane *from, int lane, const storage_record *record) {
  const storage_label *label = label_at(x, record->label);
  tn_event *e = profiler_add_event(x->r, lane, (tn_event_kind)record->kind, name_at(x, label->name));
  if (!e) return NULL;
  e->start_ns = time_of(x, from, record, record->start);
  if (profiler_has_time(e)) e->duration_ns = RUNTIME_MAX(time_of(x, from, record, record->end) - e->start_ns, 0);
  e->id = record->id;
  e->flags = record->flags;
  e->sequence = record->sequence;
  e->category = RUNTIME_MIN(label->category, TN_CATEGORY_COUNT - 1);
  e->level = label->level;
  e->site = source_of(x, record->label);
  set_value(e, record);
  return e;
}

/* Adds the events in the order of their ordinals. event_of first holds the places of records, then the
 * indices of events. */
static void add_events(reader *x, const storage_lane *from, int lane) {
  for (uint32_t i = 0; i < x->n_slots; ++i) x->event_of[i] = -1;
  for (int64_t i = 0; i < x->n_records; ++i)
    if (x->records[i]->kind < TN_EVENT_KIND_COUNT) x->event_of[slot_of(x, x->records[i]->ordinal)] = (int32_t)i;
  int64_t first = x->r->n_events;
  for (uint32_t i = 0; i < x->n_slots && !x->r->failed; ++i) {
    if (x->event_of[i] < 0) continue;
    const storage_record *record = x->records[x->event_of[i]];
    tn_event *e = add_event(x, from, lane, record);
    if (e) e->first_arg = x->event_of[i]; /* its record, until parents and arguments are known */
    x->event_of[i] = (int32_t)(x->r->n_events - 1);
  }
  for (int64_t i = first; i < x->r->n_events; ++i) {
    tn_event *e = &x->r->events[i];
    const storage_record *record = x->records[e->first_arg];
    bool by_time = record->flags & (TN_EVENT_ADDED | TN_EVENT_DEVICE);
    e->parent = by_time ? PROFILER_PARENT_UNKNOWN : parent_of(x, record->parent);
    if (e->parent >= i || e->kind == TN_EVENT_ASYNC) e->parent = -1;
    if (e->parent >= 0 && x->r->events[e->parent].kind != TN_EVENT_SCOPE) e->parent = -1;
    e->first_arg = 0;
  }
}

/* name_at checks the offset of a text; other values are taken as they are. */
static void set_arg(reader *x, tn_event_arg *arg, const storage_record *record) {
  *arg =
      (tn_event_arg){.key = name_at(x, label_at(x, record->label)->name), .type = (tn_event_arg_type)record->arg_type};
  arg->u64 = record->end;
  if (record->arg_type == TN_EVENT_ARG_TEXT) arg->text = name_at(x, record->end);
}

/* The arguments of an event must be adjacent, so they are counted first and then placed. */
static void add_args(reader *x) {
  tn_recording *r = x->r;
  int64_t n = 0;
  for (int64_t i = 0; i < x->n_records; ++i) {
    const storage_record *record = x->records[i];
    int32_t event =
        record->kind == STORAGE_ARG && record->arg_type <= TN_EVENT_ARG_TEXT ? parent_of(x, record->ordinal) : -1;
    if (event < 0) continue;
    ++r->events[event].n_args;
    ++n;
  }
  if (n == 0) return;
  tn_event_arg *grown = r->n_args + n < INT32_MAX ? realloc(r->args, (size_t)(r->n_args + n) * sizeof *grown) : NULL;
  if (!grown) {
    r->failed = true;
    return;
  }
  r->args = grown;
  r->cap_args = r->n_args + n;
  int32_t at = (int32_t)r->n_args;
  for (uint32_t i = 0; i < x->n_slots; ++i) {
    if (x->event_of[i] < 0) continue;
    tn_event *e = &r->events[x->event_of[i]];
    e->first_arg = at;
    at += e->n_args;
    e->n_args = 0;
  }
  for (int64_t i = 0; i < x->n_records; ++i) {
    const storage_record *record = x->records[i];
    int32_t event =
        record->kind == STORAGE_ARG && record->arg_type <= TN_EVENT_ARG_TEXT ? parent_of(x, record->ordinal) : -1;
    if (event < 0) continue;
    tn_event *e = &r->events[event];
    set_arg(x, &r->args[e->first_arg + e->n_args++], record);
  }
  r->n_args += n;
}

/* ---- what was open ----------------------------------------------------------------------------------------------- */

/* Writes records for scopes that were still open. They live until the lane has been read. */
static storage_record *gather_open(reader *x, const storage_lane *lane) {
  const storage_header *h = x->from->header;
  uint32_t depth = load32(&lane->depth), n = 0;
  depth = RUNTIME_MIN(depth, x->n_chunks * (uint32_t)STORAGE_OPENS);
  if (lane->is_device || depth == 0) return NULL;
  storage_record *records = malloc(depth * sizeof *records);
  if (!records) {
    x->r->failed = true;
    return NULL;
  }
  uint32_t link = lane->first_stack;
  while (n < depth && is_link(x, link) && !x->seen[link - 1]) {
    storage_chunk *chunk = storage_chunk_at(x->from, link);
    x->seen[link - 1] = 1;
    for (int i = 0; i < STORAGE_OPENS && n < depth; ++i) {
      const storage_open *open = &storage_opens(chunk)[i];
      bool runs = load32(&open->state) == STORAGE_RUNNING;
      records[n++] = (storage_record){
          .kind = runs ? TN_EVENT_SCOPE : UINT8_MAX,
          .start = open->start,
          .end = RUNTIME_MAX(x->end_ticks, open->start),
          .label = open->label,
          .ordinal = open->ordinal,
          .parent = open->parent,
          .sequence = open->sequence,
          .flags =
              (uint16_t)((open->flags & TN_EVENT_OVERLAP) | (h->is_stopped ? TN_EVENT_UNFINISHED : TN_EVENT_KILLED)),
      };
    }
    link = chunk->next;
  }
  for (uint32_t i = n; i < depth; ++i) records[i].kind = UINT8_MAX;
  return records;
}

/* Whether an open scope has a record already. */
static bool has_record(const reader *x, uint32_t ordinal) {
  /* Only the last record can also stand on the stack: it is written before the scope is taken off. */
  const storage_record *last = x->n_records ? x->records[x->n_records - 1] : NULL;
  return last && last->kind < TN_EVENT_KIND_COUNT && last->ordinal == ordinal;
}

/* Scopes that were open when the process died or the session stopped are only on their lane's stack. They
 * are kept and counted as unfinished. */
static void keep_open(reader *x, const storage_lane *lane, storage_record *opens) {
  uint32_t depth = RUNTIME_MIN(load32(&lane->depth), x->n_chunks * (uint32_t)STORAGE_OPENS);
  for (uint32_t i = 0; i < depth; ++i)
    if (opens[i].kind == TN_EVENT_SCOPE && !has_record(x, opens[i].ordinal) && keep_record(x, &opens[i]))
      ++x->r->info.stats.unfinished;
}

/* Reads a lane. The arrays of records are used again for the next lane. */
static void read_lane(reader *x, const storage_lane *from, int process) {
  tn_lane lane = {.name = name_at(x, load32(&from->name)),
                  .tid = from->tid,
                  .process = process,
                  .is_device = from->is_device != 0,
                  .dropped = load64(&from->dropped)};
  x->r->info.stats.dropped += lane.dropped;
  int index = profiler_add_lane(x->r, &lane);
  if (index < 0) return;
  gather(x, from);
  storage_record *opens = gather_open(x, from);
  if (opens) keep_open(x, from, opens);
  if (make_slots(x)) {
    add_events(x, from, index);
    if (!x->r->failed) add_args(x); /* or slots have records where others have events */
  } else {
    x->r->failed = true;
  }
  free(x->event_of);
  free(x->ordinals);
  x->event_of = NULL;
  x->ordinals = NULL;
  free(opens);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* The latest tick in any record: the last sign of life of a killed process. */
static uint64_t last_tick(const reader *x) {
  uint64_t last = x->from->header->ticks[1], first = x->from->header->ticks[0];
  for (uint32_t link = 1; link <= x->n_chunks; ++link) {
    storage_chunk *chunk = storage_chunk_at(x->from, link);
    uint32_t n = RUNTIME_MIN(load32(&chunk->n), (uint32_t)STORAGE_RECORDS);
    for (uint32_t i = 0; i < n && !chunk->is_stack; ++i) {
      const storage_record *record = &storage_records(chunk)[i];
      if (record->kind == TN_EVENT_SCOPE && !(record->flags & (TN_EVENT_ADDED | TN_EVENT_DEVICE)) &&
          (int64_t)(record->end - first) > (int64_t)(last - first))
        last = record->end;
    }
  }
  return last;
}

/* Sets the clock's rate: from the session's two moments if they are far enough apart, which is better than
 * what the recorder knew at its start. */
static void set_rate(reader *x) {
  const storage_header *h = x->from->header;
  double ticks = (double)(h->ticks[1] - h->ticks[0]), ns = (double)(h->ns[1] - h->ns[0]);
  x->ns_per_tick = h->ns_per_tick > 0 && h->ns_per_tick < 1e9 ? h->ns_per_tick : 1;
  if (x->ns_per_tick != 1 && ns > FAR_ENOUGH_NS && ticks > 0 && ns / ticks < 1e9) x->ns_per_tick = ns / ticks;
}

/* All numbers come from another process's memory: times are limited, and sizes are not used to allocate. */
static void set_info(reader *x, uint64_t end_ticks) {
  const storage_header *h = x->from->header;
  tn_recording_info *info = &x->r->info;
  info->start_ns = (int64_t)RUNTIME_MIN(h->ns[0], (uint64_t)PROFILER_MAX_NS);
  info->start_unix_ns = (int64_t)RUNTIME_MIN(h->unix_ns, (uint64_t)PROFILER_MAX_NS);
  info->duration_ns = RUNTIME_MAX(from_ticks(x, end_ticks), 0);
  info->n_rounds = h->n_rounds;
  info->cpu_ns =
      RUNTIME_MAX(profiler_clip(h->cpu_ns[1], PROFILER_MAX_NS) - profiler_clip(h->cpu_ns[0], PROFILER_MAX_NS), 0);
  info->peak_rss_bytes = h->peak_rss_bytes;
  info->stats.dropped = load64(&h->dropped);
  info->stats.double_ends = load64(&h->double_ends);
  info->stats.overlaps = load64(&h->overlaps);
  info->stats.lost_names = load64(&h->lost_names);
  info->stats.bytes = (uint64_t)x->n_chunks * STORAGE_CHUNK_BYTES;
  info->stats.start_ns = h->start_cost_ns;
  info->stats.stop_ns = h->stop_cost_ns;
  info->stats.event_cost_ns = h->event_cost_ns >= 0 && h->event_cost_ns < 1e9 ? h->event_cost_ns : 0;
}

/* Limits counts to what the storage can hold before anything is indexed by them. */
static bool open_reader(reader *x, const storage *s) {
  const storage_header *h = s->header;
  *x = (reader){.from = s};
  x->n_labels = RUNTIME_MIN(load32(&h->n_labels), (uint32_t)STORAGE_MAX_LABELS);
  x->n_chunks = RUNTIME_MIN(load32(&h->n_chunks), h->max_chunks);
  x->names_used = RUNTIME_MIN(load64(&h->names_used), h->names_bytes);
  x->r = profiler_recording_new();
  x->sources = malloc((x->n_labels + 1) * sizeof *x->sources);
  x->seen = calloc(x->n_chunks + 1, 1);
  for (uint32_t i = 0; x->sources && i < x->n_labels; ++i) x->sources[i] = -1;
  return x->r && x->sources && x->seen;
}

/* Frees what was needed to read; events and names belong to the recording. */
static void close_reader(reader *x) {
  free(x->sources);
  free(x->seen);
  free(x->records);
}

/* A recording says what it lacks, so that no table is taken for the whole truth. */
static void warn_of_losses(tn_recording *r, const storage_header *h) {
  const tn_profile_stats *s = &r->info.stats;
  bool is_disk_full = load32(&h->is_disk_full) != 0;
  if (s->dropped)
    profiler_warn(r, "%llu events were dropped: the %s full", (unsigned long long)s->dropped,
                  is_disk_full ? "disk was" : "buffers were");
  if (s->lost_names)
    profiler_warn(r, "%llu names were lost: %s was full", (unsigned long long)s->lost_names,
                  is_disk_full ? "the disk" : "their memory");
  if (!h->is_stopped) profiler_warn(r, "process %lld ended before its session was stopped", (long long)h->pid);
}

/* Takes time proportional to the records, times their logarithm for lanes whose ordinals have gaps. NULL: no memory. */
tn_recording *storage_collect(const storage *s, uint64_t now_ticks) {
  const storage_header *h = s->header;
  uint64_t started = runtime_now_ns();
  reader x;
  bool opened = open_reader(&x, s);
  if (opened) {
    set_rate(&x);
    x.end_ticks = now_ticks ? now_ticks : h->is_stopped ? h->ticks[1] : last_tick(&x);
    set_info(&x, x.end_ticks);
    tn_process process = {.name = name_at(&x, h->process_name),
                          .host = name_at(&x, h->host_name),
                          .pid = h->pid,
                          .node_id = RUNTIME_MAX(h->node_id, -1),
                          .was_killed = !h->is_stopped};
    int index = profiler_add_process(x.r, &process);
    uint32_t n_lanes = RUNTIME_MIN(load32(&h->n_lanes), (uint32_t)STORAGE_MAX_LANES);
    for (uint32_t i = 0; i < n_lanes && index >= 0; ++i) read_lane(&x, &s->lanes[i], index);
    warn_of_losses(x.r, h);
  }
  close_reader(&x);
  if (opened && profiler_recording_finish(x.r)) {
    x.r->info.stats.parse_ns = runtime_now_ns() - started;
    return x.r;
  }
  tn_recording_free(x.r);
  return NULL;
}

tn_recording *tn_recording_recover(tn_context *ctx, const char *path) {
  storage s;
  if (!storage_open_file(ctx, &s, path)) return NULL;
  tn_recording *r = storage_collect(&s, 0);
  storage_close(&s);
  if (r && profiler_guests_recover(r, path)) return r;
  tn_recording_free(r);
  runtime_fail(ctx, TN_ERROR_MEMORY, "%s: out of memory", path);
  return NULL;
}
