/* Profilers: accumulated seconds and calls under names. The profilers entered on a thread form a list from the
 * innermost outwards; its head is the only mutable thread-local state of the library. */
#include "runtime/profiler/profiler.h"

#include "runtime/base.h"

/* One row of the table: what was accumulated under a name. */
typedef struct entry {
  char *name;
  uint64_t hash;
  double seconds;
  int64_t calls;
} entry;

struct tn_profiler {
  tn_profiler *outer; /* the one below on the stack */
  bool is_entered;
  uint64_t start_ns;   /* of the running Total */
  runtime_arena arena; /* names */
  RUNTIME_VEC(entry) entries;
  int *
      slots; /* hash table of indices into entries plus one; 0 is empty. n_slots is a power of two, at most half full */
  int n_slots;
};

static _Thread_local tn_profiler *innermost;

static const char total_name[] = "Total";

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The slot that holds NAME, or the empty one where it belongs. Needs n_slots > 0. */
static int *find_slot(const tn_profiler *p, const char *name, uint64_t hash) {
  for (uint64_t i = hash;; ++i) {
    int *slot = &p->slots[i & (uint64_t)(p->n_slots - 1)];
    if (*slot == 0) return slot;
    const entry *e = &p->entries.data[*slot - 1];
    if (e->hash == hash && strcmp(e->name, name) == 0) return slot;
  }
}

static uint64_t hash_name(const char *name) { return runtime_hash(name, strlen(name), 0); }

/* The entry of NAME, NULL when there is none. */
static entry *find(const tn_profiler *p, const char *name) {
  if (!p || !name || p->n_slots == 0) return NULL;
  int slot = *find_slot(p, name, hash_name(name));
  return slot ? &p->entries.data[slot - 1] : NULL;
}

/* Doubles the hash table; false without memory, the old table stands then. */
static bool grow_slots(tn_profiler *p) {
  int n = p->n_slots ? p->n_slots * 2 : 32;
  int *slots = calloc((size_t)n, sizeof *slots);
  if (!slots) return false;
  free(p->slots);
  p->slots = slots;
  p->n_slots = n;
  for (int i = 0; i < p->entries.n; ++i) *find_slot(p, p->entries.data[i].name, p->entries.data[i].hash) = i + 1;
  return true;
}

/* The entry of NAME, made when it is new; NULL without memory. */
static entry *find_or_add(tn_profiler *p, const char *name) {
  if (2 * (p->entries.n + 1) > p->n_slots && !grow_slots(p)) return NULL;
  uint64_t hash = hash_name(name);
  int *slot = find_slot(p, name, hash);
  if (*slot == 0) {
    char *copy = runtime_strdup(&p->arena, name);
    if (!copy || !RUNTIME_PUSH(&p->entries, ((entry){.name = copy, .hash = hash}))) return NULL;
    *slot = p->entries.n;
  }
  return &p->entries.data[*slot - 1];
}

/* ---- life and stack ---------------------------------------------------------------------------------------------- */

tn_profiler *tn_profiler_new(void) { return calloc(1, sizeof(tn_profiler)); }

void tn_profiler_free(tn_profiler *profiler) {
  if (!profiler) return;
  for (tn_profiler **at = &innermost; *at; at = &(*at)->outer) {
    if (*at != profiler) continue;
    *at = profiler->outer;
    break;
  }
  runtime_arena_free(&profiler->arena);
  RUNTIME_VEC_FREE(&profiler->entries);
  free(profiler->slots);
  free(profiler);
}

tn_status tn_profiler_enter(tn_profiler *profiler) {
  if (!profiler || profiler->is_entered) return TN_ERROR_ARGUMENT;
  profiler->is_entered = true;
  profiler->outer = innermost;
  profiler->start_ns = runtime_now_ns();
  innermost = profiler;
  return TN_OK;
}

tn_status tn_profiler_exit(tn_profiler *profiler) {
  if (!profiler || innermost != profiler) return TN_ERROR_ARGUMENT;
  uint64_t now = runtime_now_ns();
  innermost = profiler->outer;
  profiler->outer = NULL;
  profiler->is_entered = false;
  tn_profiler_add(profiler, total_name, (double)(now - profiler->start_ns) * 1e-9, 1);
  return TN_OK;
}

tn_profiler *tn_profiler_current(void) { return innermost; }

/* ---- times ------------------------------------------------------------------------------------------------------- */

void tn_profiler_add(tn_profiler *profiler, const char *name, double seconds, int64_t calls) {
  entry *e = profiler && name ? find_or_add(profiler, name) : NULL;
  if (!e) return;
  e->seconds += seconds;
  e->calls += calls;
}

double tn_profiler_get(const tn_profiler *profiler, const char *name) {
  const entry *e = find(profiler, name);
  return e ? e->seconds : 0;
}

int64_t tn_profiler_calls(const tn_profiler *profiler, const char *name) {
  const entry *e = find(profiler, name);
  return e ? e->calls : 0;
}

int tn_profiler_count(const tn_profiler *profiler) { return profiler ? profiler->entries.n : 0; }

const char *tn_profiler_name_at(const tn_profiler *profiler, int index, double *seconds, int64_t *calls) {
  if (index < 0 || index >= tn_profiler_count(profiler)) return NULL;
  const entry *e = &profiler->entries.data[index];
  if (seconds) *seconds = e->seconds;
  if (calls) *calls = e->calls;
  return e->name;
}

tn_timed tn_timed_begin(const char *name) {
  if (!innermost) return (tn_timed){0};
  return (tn_timed){.profiler = innermost, .name = name, .start_ns = runtime_now_ns()};
}

void tn_timed_end(tn_timed *scope) {
  if (!scope || !scope->profiler) return;
  tn_profiler_add(scope->profiler, scope->name, (double)(runtime_now_ns() - scope->start_ns) * 1e-9, 1);
  scope->profiler = NULL;
}
