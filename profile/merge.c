/* merge.c: merges several recordings. Processes get the names that the caller wants and unique process ids;
 * flows and ranges of each input get ids after those of the inputs before; times are placed by UNIX time.
 * Merging merged recordings gives the same as merging all at once.
 *
 * The inputs are only read; all texts are interned again. */
#include "profile/files.h"

/* A merge in progress, one input after the other. */
typedef struct merger {
  tn_recording *into;
  uint64_t last_id; /* the largest id of flows and ranges so far */
} merger;

/* ---- names and ids ----------------------------------------------------------------------------------------------- */

/* Several processes of one input are named NAME/theirs, so that they stay distinct. */
static void name_processes(tn_recording *into, int first, const char *name) {
  int n = into->processes.n - first;
  for (int i = first; name && i < into->processes.n; ++i) {
    tn_process *p = &into->processes.data[i];
    const char *text = n == 1 ? name : runtime_format(&into->arena, "%s/%s", name, p->name);
    p->name = text ? runtime_intern(&into->strings, text, strlen(text)) : NULL;
    if (!p->name) p->name = "", into->failed = true;
  }
}

static int compare_ids(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static bool has_id(const tn_event *e) { return e->kind == TN_EVENT_FLOW || e->kind == TN_EVENT_ASYNC; }

/* The ids of the events from FIRST on, sorted and without duplicates; NULL without memory. */
static uint64_t *list_ids(const tn_recording *r, int64_t first, size_t *n) {
  uint64_t *ids = malloc((size_t)(r->n_events - first + 1) * sizeof *ids);
  size_t found = 0, kept = 0;
  if (!ids) return NULL;
  for (int64_t i = first; i < r->n_events; ++i) {
    if (has_id(&r->events[i])) ids[found++] = r->events[i].id;
  }
  qsort(ids, found, sizeof *ids, compare_ids);
  for (size_t i = 0; i < found; ++i) {
    if (i == 0 || ids[i] != ids[kept - 1]) ids[kept++] = ids[i];
  }
  *n = kept;
  return ids;
}

/* The k-th smallest id of an input becomes the k-th id after those of the inputs before. 0: ID is not among
 * the input's. */
static uint64_t new_id(const merger *m, const uint64_t *ids, size_t n, uint64_t id) {
  const uint64_t *at = bsearch(&id, ids, n, sizeof *ids, compare_ids);
  return at ? m->last_id + (uint64_t)(at - ids) + 1 : 0;
}

/* A device's event refers to its launch by the arrow's id. A launch without an arrow belongs to nobody, and
 * must not become that of another input. */
static void renumber_launch(const merger *m, const tn_event *e, const uint64_t *ids, size_t n) {
  for (int k = 0; k < e->n_args; ++k) {
    tn_event_arg *arg = &m->into->args[e->first_arg + k];
    bool is_number = arg->type == TN_EVENT_ARG_I64 || arg->type == TN_EVENT_ARG_U64;
    if (is_number && strcmp(arg->key, TN_LAUNCH) == 0) arg->u64 = new_id(m, ids, n, arg->u64);
  }
}

/* Renumbers the events from FIRST on, which are those of one input. */
static bool renumber_ids(merger *m, int64_t first) {
  size_t n = 0;
  uint64_t *ids = list_ids(m->into, first, &n);
  if (!ids) return false;
  for (int64_t i = first; i < m->into->n_events; ++i) {
    tn_event *e = &m->into->events[i];
    if (has_id(e)) e->id = new_id(m, ids, n, e->id);
    renumber_launch(m, e, ids, n);
  }
  m->last_id += n;
  free(ids);
  return true;
}

/* Files may use the same process and thread numbers for different things; written files must distinguish them. */
static bool renumber_processes(tn_recording *r) {
  profiler_ids ids;
  if (!profiler_ids_make(r, &ids)) return false;
  for (int i = 0; i < r->processes.n; ++i) r->processes.data[i].pid = ids.pids[i];
  for (int i = 0; i < r->lanes.n; ++i) r->lanes.data[i].tid = ids.tids[i];
  profiler_ids_free(&ids);
  return true;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

/* The merged recording begins with the earliest input. */
static void choose_start(tn_recording *into, const tn_merge_input *inputs, int n) {
  into->info = inputs[0].recording->info;
  for (int i = 1; i < n; ++i) {
    const tn_recording_info *info = &inputs[i].recording->info;
    if (info->start_unix_ns < into->info.start_unix_ns) into->info = *info;
  }
  into->info.stats = (tn_profile_stats){0};
  into->info.duration_ns = 0;
  into->info.n_rounds = 0;
}

/* The ids of flows are made unique here, input by input; process ids at the end, when all are known. */
static bool append(merger *m, const tn_merge_input *input) {
  const tn_recording_info *from = &input->recording->info;
  tn_recording_info *info = &m->into->info;
  int64_t shift = from->start_unix_ns - info->start_unix_ns, first = m->into->n_events;
  int first_process = m->into->processes.n;
  /* What append shifts by itself is taken back. */
  if (!profiler_recording_append(m->into, input->recording, shift - (from->start_ns - info->start_ns))) return false;
  info->duration_ns = RUNTIME_MAX(info->duration_ns, shift + from->duration_ns);
  info->n_rounds = RUNTIME_MAX(info->n_rounds, from->n_rounds);
  info->stats.event_cost_ns = RUNTIME_MAX(info->stats.event_cost_ns, from->stats.event_cost_ns);
  name_processes(m->into, first_process, input->name);
  return renumber_ids(m, first);
}

/* Takes time proportional to the events times their logarithm. The inputs are not changed. */
tn_recording *tn_recording_merge(tn_context *ctx, const tn_merge_input *inputs, int n) {
  if (n > 0 && !RUNTIME_GIVEN(ctx, inputs)) return NULL;
  for (int i = 0; i < n; ++i) {
    if (!inputs[i].recording) n = 0;
  }
  if (n < 1) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "a merge needs one recording or more"), NULL;
  merger m = {.into = profiler_recording_new()};
  bool ok = m.into != NULL;
  if (ok) choose_start(m.into, inputs, n);
  for (int i = 0; i < n && ok; ++i) ok = append(&m, &inputs[i]);
  ok = ok && renumber_processes(m.into) && profiler_recording_finish(m.into);
  if (ok) return m.into;
  runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while recordings were merged");
  tn_recording_free(m.into);
  return NULL;
}
