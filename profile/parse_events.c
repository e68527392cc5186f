/* parse_events.c: parsers of what was recorded, by event and by name: run, op, event, counter, memory, process. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "profile/analysis.h"
#include "profile/reports.h"

/* The table event ends after this many rows: it is for looking at, and the other tables count all events. */
enum { MOST_EVENTS = 1000000 };

/* ---- run: facts about the recording and the machine -------------------------------------------------------------- */

static const tn_column columns_run[] = {{"key", TN_CELL_TEXT}, {"value", TN_CELL_TEXT}};

static bool add_fact(tn_rows *out, const char *key, const char *fmt, ...) TN_PRINTF(3, 4);
/* Adds a row of key and value. Values are text, since facts have no common unit. False: no memory. */
static bool add_fact(tn_rows *out, const char *key, const char *fmt, ...) {
  runtime_str value = {0};
  RUNTIME_ADD_ARGS(&value, fmt);
  bool done = !value.failed && tn_rows_add(out, key, value.data);
  runtime_str_free(&value);
  return done;
}

/* The first mark of tn_host_record; NULL: it was not called. */
const tn_event *profiler_host_mark(const tn_recording *r) {
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind == TN_EVENT_INSTANT && e->category == TN_CATEGORY_DEVICE && strcmp(e->name, "host") == 0) return e;
  }
  return NULL;
}

/* Adds what the mark says of the machine, a row for each argument. */
static bool add_host(const tn_recording *r, tn_rows *out) {
  const tn_event *e = profiler_host_mark(r);
  bool done = true;
  for (int k = 0; e && done && k < e->n_args; ++k) {
    const tn_event_arg *arg = &r->args[e->first_arg + k];
    done = arg->type == TN_EVENT_ARG_TEXT ? tn_rows_add(out, arg->key, arg->text)
                                          : add_fact(out, arg->key, "%.10g", profiler_arg_number(r, e, arg->key, 0));
  }
  return done;
}

/* The scopes and ranges for which the table event has no room. */
static int64_t count_left_out(const tn_recording *r) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) n += profiler_has_time(&r->events[i]);
  return RUNTIME_MAX(n - MOST_EVENTS, 0);
}

/* Facts are rows of a key and a text, so that a new fact needs no new column and old readers skip it. */
static bool parse_run(const tn_recording *r, tn_rows *out) {
  const tn_recording_info *info = &r->info;
  bool done = tn_rows_add(out, "version", TN_VERSION);
#define X(member, key) done = done && add_fact(out, key, "%lld", (long long)info->member);
  PROFILER_INFO_NUMBERS(X)
#undef X
  done = done && add_fact(out, "processes", "%d", r->processes.n);
  done = done && add_fact(out, "events_not_listed", "%lld", (long long)count_left_out(r));
  done = done && add_fact(out, "event_cost_ns", "%.1f", info->stats.event_cost_ns);
  done = done && tn_rows_add(out, "errors", tn_recording_errors(r));
  done = done && tn_rows_add(out, "warnings", tn_recording_warnings(r));
  return done && add_host(r, out);
}
ANALYSIS_TABLE(run);

/* ---- op: averages by name and shapes ----------------------------------------------------------------------------- */

static const tn_column columns_op[] = {
    {"name", TN_CELL_TEXT},         {"category", TN_CELL_TEXT},     {"node_id", TN_CELL_INT},
    {"calls", TN_CELL_INT},         {"total_ns", TN_CELL_INT},      {"self_ns", TN_CELL_INT},
    {"min_ns", TN_CELL_INT},        {"max_ns", TN_CELL_INT},        {"mean_ns", TN_CELL_REAL},
    {"p50_ns", TN_CELL_INT},        {"p90_ns", TN_CELL_INT},        {"p99_ns", TN_CELL_INT},
    {"deviation_ns", TN_CELL_REAL}, {"total_bytes", TN_CELL_INT},   {"self_bytes", TN_CELL_INT},
    {"flops", TN_CELL_REAL},        {"bytes", TN_CELL_REAL},        {"bytes_written", TN_CELL_REAL},
    {"bytes_moved", TN_CELL_REAL},  {"launches", TN_CELL_REAL},     {"gflops", TN_CELL_REAL},
    {"gbps", TN_CELL_REAL},         {"device_ns", TN_CELL_REAL},    {"device_bytes", TN_CELL_REAL},
    {"cycles", TN_CELL_REAL},       {"instructions", TN_CELL_REAL}, {"cache_misses", TN_CELL_REAL},
    {"shapes", TN_CELL_TEXT}};

/* 0 means not known. */
static double known(double value) { return value > 0 ? value : NAN; }

/* Rates that would divide by 0 are NAN, which becomes a missing cell. */
static bool add_op(const tn_average *a, tn_rows *out) {
  double ns = known((double)a->total_ns);
  return tn_rows_add(out, a->name, tn_category_name(a->category), (int64_t)a->node_id, a->calls, a->total_ns,
                     a->self_ns, a->min_ns, a->max_ns, a->mean_ns, a->p50_ns, a->p90_ns, a->p99_ns, a->deviation_ns,
                     a->total_bytes, a->self_bytes, a->flops, known(a->bytes), known(a->bytes_written),
                     known(a->bytes_moved), known(a->launches), known(a->flops) / ns, known(a->bytes) / ns,
                     known((double)a->device_ns), known((double)a->device_bytes), known(a->cycles),
                     known(a->instructions), known(a->cache_misses), a->shapes);
}

/* Equal names with different shapes are different rows. */
static bool parse_op(const tn_recording *r, tn_rows *out) {
  tn_averages *a = tn_key_averages(NULL, r, &(tn_average_options){.by_shapes = true});
  bool done = a != NULL;
  for (int i = 0; done && i < a->rows.n; ++i) done = add_op(&a->rows.data[i], out);
  tn_averages_free(a);
  return done;
}
ANALYSIS_TABLE(op);

/* ---- event: every scope and range -------------------------------------------------------------------------------- */

static const tn_column columns_event[] = {
    {"name", TN_CELL_TEXT},    {"kind", TN_CELL_TEXT},    {"category", TN_CELL_TEXT},   {"process", TN_CELL_TEXT},
    {"thread", TN_CELL_TEXT},  {"start_ns", TN_CELL_INT}, {"duration_ns", TN_CELL_INT}, {"self_ns", TN_CELL_INT},
    {"sequence", TN_CELL_INT}, {"parent", TN_CELL_TEXT},  {"shapes", TN_CELL_TEXT},     {"flops", TN_CELL_REAL},
    {"flags", TN_CELL_TEXT}};

/* Stops at MOST_EVENTS; the table run says how many were left out. */
static bool parse_event(const tn_recording *r, tn_rows *out) {
  for (int64_t i = 0; i < r->n_events && out->n < MOST_EVENTS; ++i) {
    const tn_event *e = &r->events[i];
    if (!profiler_has_time(e)) continue;
    if (!tn_rows_add(out, e->name, e->kind == TN_EVENT_SCOPE ? "scope" : "async", tn_category_name(e->category),
                     profiler_process_of(r, e)->name, r->lanes.data[e->lane].name, e->start_ns, e->duration_ns,
                     e->self_ns, e->sequence ? (int64_t)e->sequence : INT64_MIN,
                     e->parent >= 0 ? r->events[e->parent].name : "", profiler_arg_text(r, e, "shapes", ""),
                     profiler_arg_number(r, e, "flops", NAN), profiler_flags_of(e, ' ').text))
      return false;
  }
  return true;
}
ANALYSIS_TABLE(event);

/* ---- counter: samples by name and process ------------------------------------------------------------------------ */

static const tn_column columns_counter[] = {
    {"name", TN_CELL_TEXT},   {"category", TN_CELL_TEXT}, {"process", TN_CELL_TEXT},
    {"samples", TN_CELL_INT}, {"first", TN_CELL_REAL},    {"last", TN_CELL_REAL},
    {"min", TN_CELL_REAL},    {"max", TN_CELL_REAL},      {"mean", TN_CELL_REAL}};

/* The index of E's item in a list with one item for each name and process. If it is the first event of
 * both, that is NEXT. -1: no memory. */
static int64_t place_of(profiler_map *at, const tn_recording *r, const tn_event *e, int next) {
  uint64_t process = (uint64_t)r->lanes.data[e->lane].process;
  const int64_t *place = profiler_map_at(at, (uint64_t)(uintptr_t)e->name, process, next);
  return place ? *place : -1;
}

/* A counter over the recording; the events tell its lane and its ends. */
typedef struct series {
  const tn_event *first_event, *last_event;
  int64_t n;
  double min, max, sum;
} series;

/* Samples come in the order of lanes, not of time, so first and last are searched for. */
static void add_sample(series *s, const tn_event *e) {
  assert(s);
  if (!s->n++) s->first_event = s->last_event = e, s->min = s->max = e->value;
  if (e->start_ns < s->first_event->start_ns) s->first_event = e;
  if (e->start_ns >= s->last_event->start_ns) s->last_event = e;
  s->min = RUNTIME_MIN(s->min, e->value);
  s->max = RUNTIME_MAX(s->max, e->value);
  s->sum += e->value;
}

/* A row for each counter of each process: queues of the same name in two workers are two queues. */
static bool parse_counter(const tn_recording *r, tn_rows *out) {
  RUNTIME_VEC(series) all = {0};
  profiler_map at = {0};
  bool done = true;
  for (int64_t i = 0; done && i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind != TN_EVENT_COUNTER) continue;
    int64_t place = place_of(&at, r, e, all.n);
    done = place >= 0 && (place < all.n || RUNTIME_PUSH(&all, (series){0}));
    if (done) add_sample(&all.data[place], e);
  }
  for (int i = 0; done && i < all.n; ++i) {
    const series *s = &all.data[i];
    done = tn_rows_add(out, s->first_event->name, tn_category_name(s->first_event->category),
                       profiler_process_of(r, s->first_event)->name, s->n, s->first_event->value, s->last_event->value,
                       s->min, s->max, s->sum / (double)s->n);
  }
  profiler_map_free(&at);
  RUNTIME_VEC_FREE(&all);
  return done;
}
ANALYSIS_TABLE(counter);

/* ---- memory: pools of processes ---------------------------------------------------------------------------------- */

static const tn_column columns_memory[] = {
    {"process", TN_CELL_TEXT},        {"pool", TN_CELL_TEXT},         {"allocs", TN_CELL_INT},
    {"frees", TN_CELL_INT},           {"failed", TN_CELL_INT},        {"unknown_frees", TN_CELL_INT},
    {"allocated_bytes", TN_CELL_INT}, {"current_bytes", TN_CELL_INT}, {"peak_bytes", TN_CELL_INT}};

/* What one pool of memory did. UNKNOWN: releases of what was allocated before the recording. */
typedef struct pool {
  const tn_event *last;
  int64_t allocs, frees, failed, unknown, allocated, current, peak, last_ns;
} pool;

/* The peak is that of the running sum (`current`) that finishing the recording computed. */
static void add_memory(pool *p, const tn_event *e) {
  assert(p);
  if (!p->last) p->last = e, p->last_ns = INT64_MIN;
  if (e->flags & TN_EVENT_FAILED)
    ++p->failed;
  else if (e->flags & TN_EVENT_UNKNOWN)
    ++p->unknown;
  else if (e->flags & TN_EVENT_FREE)
    ++p->frees;
  else
    ++p->allocs, p->allocated += e->bytes;
  p->peak = RUNTIME_MAX(p->peak, e->current);
  if (e->start_ns >= p->last_ns) p->last_ns = e->start_ns, p->current = e->current;
}

/* Pools are distinguished by process and name, like counters. */
static bool parse_memory(const tn_recording *r, tn_rows *out) {
  RUNTIME_VEC(pool) all = {0};
  profiler_map at = {0};
  bool done = true;
  for (int64_t i = 0; done && i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    if (e->kind != TN_EVENT_MEMORY) continue;
    int64_t place = place_of(&at, r, e, all.n);
    done = place >= 0 && (place < all.n || RUNTIME_PUSH(&all, (pool){0}));
    if (done) add_memory(&all.data[place], e);
  }
  for (int i = 0; done && i < all.n; ++i) {
    const pool *p = &all.data[i];
    done = tn_rows_add(out, profiler_process_of(r, p->last)->name, p->last->name, p->allocs, p->frees, p->failed,
                       p->unknown, p->allocated, p->current, p->peak);
  }
  profiler_map_free(&at);
  RUNTIME_VEC_FREE(&all);
  return done;
}
ANALYSIS_TABLE(memory);

/* ---- process ----------------------------------------------------------------------------------------------------- */

static const tn_column columns_process[] = {
    {"process", TN_CELL_TEXT}, {"host", TN_CELL_TEXT},  {"pid", TN_CELL_INT},     {"node_id", TN_CELL_INT},
    {"remote", TN_CELL_INT},   {"killed", TN_CELL_INT}, {"threads", TN_CELL_INT}, {"events", TN_CELL_INT},
    {"busy_ns", TN_CELL_INT},  {"share", TN_CELL_REAL}};

/* Busy time is self time over all threads, so its share is of the session's time multiplied by the threads. */
static bool parse_process(const tn_recording *r, tn_rows *out) {
  bool done = true;
  for (int p = 0; done && p < r->processes.n; ++p) {
    const tn_process *process = &r->processes.data[p];
    int64_t threads = 0, events = 0, busy_ns = 0;
    for (int i = 0; i < r->lanes.n; ++i) threads += r->lanes.data[i].process == p;
    for (int64_t i = 0; i < r->n_events; ++i) {
      if (r->lanes.data[r->events[i].lane].process != p) continue;
      ++events;
      busy_ns += r->events[i].self_ns;
    }
    double wall = (double)r->info.duration_ns * (double)RUNTIME_MAX(threads, 1);
    done = tn_rows_add(out, process->name, process->host, process->pid, (int64_t)process->node_id,
                       (int64_t)process->is_remote, (int64_t)process->was_killed, threads, events, busy_ns,
                       wall > 0 ? (double)busy_ns / wall : NAN);
  }
  return done;
}
ANALYSIS_TABLE(process);
