/* average.c: events grouped into rows: counts, totals, self times, distributions, memory, FLOPs. It takes two passes:
 * the first finds each event's row and adds to it, the second sorts each row's durations for percentiles. Nothing here
 * recurses, since scopes may nest ten thousand deep.
 *
 * tn_averages owns its rows and their texts and refers to the recording, which must outlive it. A `grouping` lives for
 * one call. */
#include <math.h>
#include <stdio.h>

#include "profile/files.h"
#include "profile/reports.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

const tn_event_arg *profiler_find_arg(const tn_recording *r, const tn_event *e, const char *key) {
  for (int i = 0; i < e->n_args; ++i) {
    if (strcmp(r->args[e->first_arg + i].key, key) == 0) return &r->args[e->first_arg + i];
  }
  return NULL;
}

/* Texts are not parsed: "1e9" as an argument is a text. */
static double number_of(const tn_event_arg *arg, double otherwise) {
  switch (arg->type) {
    case TN_EVENT_ARG_I64: return (double)arg->i64;
    case TN_EVENT_ARG_U64: return (double)arg->u64;
    case TN_EVENT_ARG_F64: return arg->f64;
    case TN_EVENT_ARG_TEXT: return otherwise;
  }
  return otherwise;
}

double profiler_arg_number(const tn_recording *r, const tn_event *e, const char *key, double otherwise) {
  const tn_event_arg *arg = profiler_find_arg(r, e, key);
  return arg ? number_of(arg, otherwise) : otherwise;
}

const char *profiler_arg_text(const tn_recording *r, const tn_event *e, const char *key, const char *otherwise) {
  const tn_event_arg *arg = profiler_find_arg(r, e, key);
  return arg && arg->type == TN_EVENT_ARG_TEXT ? arg->text : otherwise;
}

static bool is_device_pool(const tn_event *e) {
  return e->kind == TN_EVENT_MEMORY && strncmp(e->name, TN_DEVICE_POOL, strlen(TN_DEVICE_POOL)) == 0;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* What distinguishes rows. Keys are compared as bytes, so zero one before filling it. */
typedef struct key {
  const char *name, *shapes, *source;
  int64_t node, process, lane, event, is_device;
} key;

/* For a row: where its outermost open scope on a lane ends. */
typedef struct reach {
  int32_t lane;
  int64_t end_ns;
} reach;

/* What devices did for one scope. */
typedef struct device_share {
  int64_t self_ns, total_ns, self_bytes, total_bytes;
} device_share;

/* The work of one call. SELF_BYTES and TOTAL_BYTES are by event: what a scope allocated by itself, and
 * together with all inside it. */
typedef struct grouping {
  tn_averages *a;
  const tn_recording *r;
  profiler_map rows; /* two hashes of a key -> index */
  RUNTIME_VEC(reach) reaches;
  int32_t *row_of; /* of each event; -1: none */
  int64_t *self_bytes, *total_bytes;
  device_share *on_device; /* of each event */
} grouping;

/* "Round#7" becomes "Round*". */
static const char *folded_name(tn_averages *a, const tn_event *e) {
  const char *sharp = e->category == TN_CATEGORY_ROUND ? strrchr(e->name, '#') : NULL;
  if (!sharp || sharp[1] == '\0' || sharp[1 + strspn(sharp + 1, "0123456789")] != '\0') return e->name;
  char text[128];
  int n = snprintf(text, sizeof text, "%.*s*", (int)RUNTIME_MIN(sharp - e->name, 120), e->name);
  return runtime_intern(&a->strings, text, (size_t)n);
}

/* Appends the innermost N frames of a recorded call stack ("main;f;g"), innermost first. */
static void add_frames(runtime_str *out, const char *stack, int n) {
  for (const char *end = stack + strlen(stack); n-- > 0 && end > stack;) {
    const char *start = end;
    while (start > stack && start[-1] != ';') --start;
    if (out->n) runtime_str_add(out, ";");
    runtime_str_addn(out, start, (size_t)(end - start));
    end = start > stack ? start - 1 : start;
  }
}

/* Entries are separated by ';', as in a recorded call stack. An event without a source adds nothing. */
static void add_site(runtime_str *out, const tn_recording *r, const tn_event *e) {
  const tn_source *s = &r->sources.data[e->site];
  if (e->site <= 0 || !*s->file) return;
  runtime_str_addf(out, "%s%s:%d %s", out->n ? ";" : "", s->file, s->line, s->function);
}

/* The first N entries: of the recorded call stack if there is one, otherwise the places of the scope and of
 * those around it. */
static const char *source_of(grouping *g, const tn_event *e, int n) {
  const char *stack = profiler_arg_text(g->r, e, "stack", NULL);
  runtime_str text = {0};
  add_site(&text, g->r, e);
  if (stack) add_frames(&text, stack, n - 1);
  for (int32_t at = e->parent; !stack && at >= 0 && --n > 0; at = g->r->events[at].parent)
    add_site(&text, g->r, &g->r->events[at]);
  const char *source = text.failed ? NULL : runtime_intern(&g->a->strings, text.n ? text.data : "", text.n);
  runtime_str_free(&text);
  return source;
}

/* Either the event says so (our kernels), or its whole lane is a device's (a plug-in's). */
static bool is_on_device(const grouping *g, const tn_event *e) {
  return (e->flags & TN_EVENT_DEVICE) || g->r->lanes.data[e->lane].is_device;
}

static int role_of(const grouping *g, const tn_event *e) {
  return g->a->options.by_role ? (int)profiler_arg_number(g->r, e, TN_ROLE_KEY, TN_ROLE_ORDINARY) : TN_ROLE_ORDINARY;
}

/* "outer/inner". NULL: no memory. */
static const char *inner_name(grouping *g, const tn_event *e) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%s/%s", g->r->events[e->parent].name, e->name);
  const char *name = text.failed ? NULL : runtime_intern(&g->a->strings, text.data, text.n);
  runtime_str_free(&text);
  return name;
}

static const char *name_of(grouping *g, const tn_event *e, int role) {
  if (e->kind == TN_EVENT_MEMORY) return runtime_intern(&g->a->strings, "[memory]", 8);
  return role == TN_ROLE_INNER && e->parent >= 0 ? inner_name(g, e) : folded_name(g->a, e);
}

/* Members that the options exclude are constant, so that rows which differ only in them become one. */
static key key_of(grouping *g, const tn_event *e) {
  const tn_average_options *o = &g->a->options;
  key k;
  memset(&k, 0, sizeof k);
  int role = role_of(g, e);
  k.name = name_of(g, e, role);
  k.shapes = o->by_shapes ? profiler_arg_text(g->r, e, "shapes", "") : "";
  k.shapes = runtime_intern(&g->a->strings, k.shapes, strlen(k.shapes));
  if (o->stack_n > 0) k.source = source_of(g, e, o->stack_n);
  k.node = o->merge_nodes ? -1 : profiler_process_of(g->r, e)->node_id;
  k.process = o->by_process ? g->r->lanes.data[e->lane].process : -1;
  k.lane = o->by_thread ? e->lane : -1;
  k.event = o->by_event || role == TN_ROLE_UNIQUE ? e - g->r->events : -1;
  k.is_device = is_on_device(g, e);
  return k;
}

/* Equal texts have equal addresses, so the bytes of keys can be compared. */
static uint64_t hash_of(const key *k, uint64_t seed) { return runtime_hash(k, sizeof *k, seed); }

/* Extremes start at the opposite ends, so that the row's first event sets them. */
static bool new_row(grouping *g, const tn_event *e, const key *k) {
  tn_average row = {.name = k->name,
                    .shapes = k->shapes,
                    .source = k->source,
                    .node_id = (int32_t)k->node,
                    .process = g->r->lanes.data[e->lane].process,
                    .lane = e->lane,
                    .category = e->category,
                    .is_async = e->kind == TN_EVENT_ASYNC,
                    .is_device = k->is_device,
                    .is_special = role_of(g, e) == TN_ROLE_SPECIAL,
                    .min_ns = INT64_MAX,
                    .first_end_ns = INT64_MAX};
  if (!row.source) row.source = source_of(g, e, 1);
  reach none = {-1, 0};
  return row.name && row.source && RUNTIME_PUSH(&g->a->rows, row) && RUNTIME_PUSH(&g->reaches, none);
}

/* The index of the event's row; -1 without memory. */
static int row_of(grouping *g, const tn_event *e) {
  key k = key_of(g, e);
  if (!k.name || !k.shapes) return -1;
  int64_t *index = profiler_map_at(&g->rows, hash_of(&k, 1), hash_of(&k, 2), -1);
  if (!index) return -1;
  if (*index < 0) {
    if (!new_row(g, e, &k)) return -1;
    *index = g->a->rows.n - 1;
  }
  return (int)*index;
}

/* ---- adding up --------------------------------------------------------------------------------------------------- */

/* Whether a scope of the same row is open around it on its lane. Events of a lane come in the order of
 * their beginnings. */
static bool is_inside_itself(reach *outer, const tn_event *e) {
  int64_t end = e->start_ns + e->duration_ns;
  if (e->kind != TN_EVENT_SCOPE || (e->flags & TN_EVENT_OVERLAP)) return false;
  if (outer->lane == e->lane && end <= outer->end_ns && e->start_ns < outer->end_ns) return true;
  *outer = (reach){e->lane, end};
  return false;
}

/* Total time counts a recursion once; self time counts every call, so that the self times of all rows add
 * up to the wall time. */
static void add_event(grouping *g, int64_t index, int row) {
  const tn_event *e = &g->r->events[index];
  tn_average *a = &g->a->rows.data[row];
  const device_share *device = &g->on_device[index];
  if (!is_inside_itself(&g->reaches.data[row], e)) {
    a->total_ns += e->duration_ns;
    a->device_ns += device->total_ns;
  }
  a->self_device_ns += device->self_ns;
  a->device_bytes += device->total_bytes;
  a->self_device_bytes += device->self_bytes;
  ++a->calls;
  a->self_ns += is_on_device(g, e) ? 0 : e->self_ns;
  a->min_ns = RUNTIME_MIN(a->min_ns, e->duration_ns);
  a->max_ns = RUNTIME_MAX(a->max_ns, e->duration_ns);
  a->first_end_ns = RUNTIME_MIN(a->first_end_ns, e->start_ns + e->duration_ns);
  a->flops += profiler_arg_number(g->r, e, "flops", 0);
  a->bytes += profiler_arg_number(g->r, e, "bytes", 0);
  a->bytes_written += profiler_arg_number(g->r, e, "bytes_written", 0);
  a->bytes_moved += profiler_arg_number(g->r, e, "bytes_moved", 0);
  a->launches += profiler_arg_number(g->r, e, "launches", 0);
  a->cycles += profiler_arg_number(g->r, e, "cycles", 0);
  a->instructions += profiler_arg_number(g->r, e, "instructions", 0);
  a->cache_misses += profiler_arg_number(g->r, e, "cache_misses", 0);
  bool is_memory = e->kind == TN_EVENT_MEMORY;
  int64_t of_host = is_device_pool(e) ? 0 : e->bytes;
  a->self_bytes += is_memory ? of_host : g->self_bytes[index] - device->self_bytes;
  a->total_bytes += is_memory ? of_host : g->total_bytes[index] - device->total_bytes;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* Maps each launch's number, which is unique in a recording, to the scope in which it was made. False: no memory. */
static bool find_launches(const tn_recording *r, profiler_map *out) {
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    bool is_launch = e->kind == TN_EVENT_FLOW && e->phase == TN_FLOW_START && strcmp(e->name, TN_LAUNCH) == 0;
    int64_t *at = is_launch ? profiler_map_at(out, e->id, 0, -1) : NULL;
    if (is_launch && !at) return false;
    if (at) *at = e->parent;
  }
  return true;
}

/* Attributes a device's events to the scopes that launched them. */
static void bill_time(grouping *g, profiler_map *launches) {
  for (int64_t i = 0; i < g->r->n_events; ++i) {
    const tn_event *e = &g->r->events[i];
    if (e->kind != TN_EVENT_SCOPE || !is_on_device(g, e)) continue;
    uint64_t launch = (uint64_t)profiler_arg_number(g->r, e, TN_LAUNCH, 0);
    int64_t *at = launch ? profiler_map_at(launches, launch, 0, -1) : NULL;
    if (at && *at >= 0) g->on_device[*at].self_ns += e->duration_ns;
  }
}

/* Parents come before their children, so going backwards each event adds its total to its parent's. False:
 * no memory. */
static bool look_at_devices(grouping *g) {
  profiler_map launches = {0};
  bool done = find_launches(g->r, &launches);
  if (done) bill_time(g, &launches);
  profiler_map_free(&launches);
  for (int64_t i = g->r->n_events; i-- > 0;) {
    const tn_event *e = &g->r->events[i];
    device_share *own = &g->on_device[i];
    own->total_ns += own->self_ns;
    own->total_bytes += own->self_bytes;
    bool is_memory = is_device_pool(e) && !(e->flags & TN_EVENT_FAILED);
    if (is_memory && e->parent < 0) own->self_bytes = own->total_bytes = e->bytes;
    if (e->parent < 0) continue;
    device_share *outer = &g->on_device[e->parent];
    outer->total_ns += own->total_ns;
    outer->total_bytes += own->total_bytes;
    if (is_memory) outer->self_bytes += e->bytes;
  }
  return done;
}

/* Counts scopes and ranges, and memory outside all scopes. */
static bool is_counted(const grouping *g, const tn_event *e) {
  if (e->kind == TN_EVENT_MEMORY) return e->parent < 0 && !(e->flags & TN_EVENT_FAILED);
  return profiler_has_time(e) && (e->parent < 0 || !g->a->options.top_level_only);
}

/* Finds each event's row, or -1 if it is not counted. False without memory. */
static bool group(grouping *g) {
  for (int64_t i = 0; i < g->r->n_events; ++i) {
    g->row_of[i] = -1;
    if (!is_counted(g, &g->r->events[i])) continue;
    g->row_of[i] = row_of(g, &g->r->events[i]);
    if (g->row_of[i] < 0) return false;
    add_event(g, i, g->row_of[i]);
  }
  return true;
}

/* ---- distributions ----------------------------------------------------------------------------------------------- */

/* The nearest rank without interpolation, so always a duration that occurred. N > 0. */
static int64_t percentile(const int64_t *sorted, int64_t n, int percent) {
  return sorted[(n * percent + 99) / 100 - 1];
}

/* Uses two passes: the sum of squares alone would lose all digits for long durations. */
static void describe(tn_average *row, int64_t *durations) {
  double sum = 0, squares = 0, n = (double)row->calls;
  qsort(durations, (size_t)row->calls, sizeof *durations, runtime_compare_i64);
  for (int64_t i = 0; i < row->calls; ++i) sum += (double)durations[i];
  row->mean_ns = sum / n;
  for (int64_t i = 0; i < row->calls; ++i) squares += pow((double)durations[i] - row->mean_ns, 2);
  row->deviation_ns = sqrt(squares / n);
  row->p50_ns = percentile(durations, row->calls, 50);
  row->p90_ns = percentile(durations, row->calls, 90);
  row->p99_ns = percentile(durations, row->calls, 99);
}

/* Puts the durations of each row side by side, then describes each row. */
static bool distribute(grouping *g) {
  int64_t n = 0, at = 0;
  for (int i = 0; i < g->a->rows.n; ++i) n += g->a->rows.data[i].calls;
  int64_t *durations = malloc((size_t)(n + 1) * sizeof *durations);
  int64_t *next = malloc((size_t)(g->a->rows.n + 1) * sizeof *next);
  bool done = durations && next;
  for (int i = 0; done && i < g->a->rows.n; at += g->a->rows.data[i++].calls) next[i] = at;
  for (int64_t i = 0; done && i < g->r->n_events; ++i) {
    if (g->row_of[i] >= 0) durations[next[g->row_of[i]]++] = g->r->events[i].duration_ns;
  }
  for (int i = 0; done && i < g->a->rows.n; ++i)
    describe(&g->a->rows.data[i], durations + next[i] - g->a->rows.data[i].calls);
  free(durations);
  free(next);
  return done;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* Takes time proportional to the events times their logarithm, for sorting. */
static bool average(tn_averages *a, const tn_recording *r) {
  grouping g = {.a = a, .r = r};
  size_t n = (size_t)r->n_events + 1;
  g.row_of = malloc(n * sizeof *g.row_of);
  g.self_bytes = malloc(n * sizeof *g.self_bytes);
  g.total_bytes = malloc(n * sizeof *g.total_bytes);
  g.on_device = calloc(n, sizeof *g.on_device);
  bool done = g.row_of && g.self_bytes && g.total_bytes && g.on_device;
  if (done) {
    tn_recording_memory(r, g.self_bytes, g.total_bytes, NULL);
    done = look_at_devices(&g) && group(&g) && distribute(&g);
  }
  profiler_map_free(&g.rows);
  RUNTIME_VEC_FREE(&g.reaches);
  free(g.row_of);
  free(g.self_bytes);
  free(g.total_bytes);
  free(g.on_device);
  return done;
}

/* The rows point into the recording, which must outlive them. */
tn_averages *tn_key_averages(tn_context *ctx, const tn_recording *recording, const tn_average_options *options) {
  if (!recording) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "key_averages: there is no recording"), NULL;
  tn_averages *a = calloc(1, sizeof *a);
  if (a) {
    a->recording = recording;
    a->strings.arena = &a->arena;
    if (options) a->options = *options;
    if (average(a, recording)) return a;
  }
  tn_averages_free(a);
  return runtime_fail(ctx, TN_ERROR_MEMORY, "key_averages: out of memory"), NULL;
}

void tn_averages_free(tn_averages *averages) {
  if (!averages) return;
  RUNTIME_VEC_FREE(&averages->rows);
  runtime_names_free(&averages->strings);
  runtime_arena_free(&averages->arena);
  free(averages);
}

const tn_average *tn_averages_rows(const tn_averages *averages, int *n) {
  if (n) *n = averages ? averages->rows.n : 0;
  return averages ? averages->rows.data : NULL;
}

/* The totals of rows overlap: if scopes nest, their sum exceeds the wall time. */
tn_average tn_total_average(const tn_averages *averages) {
  tn_average sum = {.name = "Total", .shapes = "", .source = "", .node_id = -1, .min_ns = INT64_MAX};
  for (int i = 0; averages && i < averages->rows.n; ++i) {
    const tn_average *row = &averages->rows.data[i];
    sum.calls += row->calls;
    sum.total_ns += row->total_ns;
    sum.self_ns += row->self_ns;
    sum.min_ns = RUNTIME_MIN(sum.min_ns, row->min_ns);
    sum.max_ns = RUNTIME_MAX(sum.max_ns, row->max_ns);
    sum.mean_ns += row->mean_ns * (double)row->calls;
    sum.total_bytes += row->total_bytes;
    sum.self_bytes += row->self_bytes;
    sum.flops += row->flops;
    sum.device_ns += row->device_ns;
    sum.self_device_ns += row->self_device_ns;
    sum.device_bytes += row->device_bytes;
    sum.self_device_bytes += row->self_device_bytes;
  }
  if (sum.calls) sum.mean_ns /= (double)sum.calls;
  if (!sum.calls) sum.min_ns = 0;
  return sum;
}
