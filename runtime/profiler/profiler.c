/* profiler.c: profilers, which accumulate seconds and calls under names. The profilers entered on a thread
 * form a list from the innermost outwards. A scope adds to each of them that was entered when it began, up
 * to the first exclusive one.
 *
 * A tn_profiler owns its names and rows and belongs to one thread at a time, so nothing here takes a lock. */
#include "runtime/profiler/profiler.h"

#include "runtime/profiler/state.h"

/* A row of the table: what was accumulated under a name. */
typedef struct entry {
  char *name;
  double seconds;
  int64_t calls;
  int64_t open; /* scopes of this name that are open: only the outermost adds its time */
} entry;

/* A table of names and times that belongs to one thread. The profilers entered on a thread are a stack; a
 * scope adds to all of them down to an exclusive one. */
struct tn_profiler {
  tn_profiler *outer; /* the one below on the stack */
  bool is_entered, is_exclusive;
  bool lost;                     /* there was no memory for some name, so a table would lack it */
  uint32_t serial;               /* of the last time it was entered on its thread, from 1 */
  uint64_t start_ns;             /* of the running Total */
  tn_profiler *of;               /* the profiler that a joined thread adds to; NULL: an ordinary profiler */
  _Atomic(tn_profiler *) joined; /* of threads that left, linked by `outer`; added at the exit */
  runtime_arena arena;           /* holds the names */
  RUNTIME_VEC(entry) entries;
  runtime_map index; /* hash of a name -> its place in entries, plus one */
};

/* The profilers entered on a thread. */
typedef struct entered_list {
  tn_profiler *innermost;
  uint32_t serial; /* of the last one entered */
} entered_list;
static _Thread_local entered_list entered;

static const char total_name[] = "Total";

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* What comparing names of equal hash needs. */
typedef struct wanted_name {
  const tn_profiler *in;
  const char *name;
} wanted_name;

static bool is_named(const void *user, runtime_map_value place) {
  const wanted_name *wanted = user;
  return strcmp(wanted->in->entries.data[place.i - 1].name, wanted->name) == 0;
}

static uint64_t hash_name(const char *name) { return runtime_hash(name, strlen(name), 0) | 1; }

/* The entry of whichever name has the hash. */
static entry *find_hash(const tn_profiler *p, uint64_t hash) {
  const runtime_map_value *place = runtime_map_find(&p->index, hash);
  return place && place->i ? &p->entries.data[place->i - 1] : NULL;
}

/* The entry of NAME; NULL: there is none. */
static entry *find(const tn_profiler *p, const char *name) {
  if (!p || !name) return NULL;
  const runtime_map_value *place =
      runtime_map_find_match(&p->index, hash_name(name), is_named, &(wanted_name){p, name});
  return place ? &p->entries.data[place->i - 1] : NULL;
}

/* The entry of NAME, made if there is none; NULL without memory. */
static entry *find_or_add(tn_profiler *p, const char *name) {
  uint64_t hash = hash_name(name);
  runtime_map_value *place = runtime_map_match_at(&p->index, hash, is_named, &(wanted_name){p, name});
  char *copy = place && place->i == 0 ? runtime_strdup(&p->arena, name) : NULL;
  if (copy && RUNTIME_PUSH(&p->entries, ((entry){.name = copy}))) place->i = p->entries.n;
  if (!place || place->i == 0) {
    p->lost = true;
    return NULL;
  }
  return &p->entries.data[place->i - 1];
}

/* ---- life and stack ---------------------------------------------------------------------------------------------- */

tn_profiler *tn_profiler_new(void) { return calloc(1, sizeof(tn_profiler)); }

/* Tells the filter that a thread entered or left a profiler. */
static void count_entered(int change) {
  profiler_recorder *recorder = &profiler_the_recorder;
  pthread_mutex_lock(&recorder->lock);
  recorder->n_tables += change;
  if (recorder->n_tables > 0)
    __atomic_fetch_or(&tn_profile_filter, PROFILER_TABLE_BIT, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(&tn_profile_filter, PROFILER_SESSION_BITS, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&recorder->lock);
}

/* Frees the tables of threads that left after the last exit. */
static void free_joined(tn_profiler *first) {
  for (tn_profiler *p = first, *next; p; p = next) {
    next = p->outer;
    p->outer = NULL;
    tn_profiler_free(p);
  }
}

/* A profiler that is still entered is removed from this thread's list. It must not be on another thread's. */
void tn_profiler_free(tn_profiler *profiler) {
  if (!profiler) return;
  free_joined(atomic_exchange(&profiler->joined, NULL));
  for (tn_profiler **at = &entered.innermost; *at; at = &(*at)->outer) {
    if (*at != profiler) continue;
    *at = profiler->outer;
    count_entered(-1);
    break;
  }
  runtime_arena_free(&profiler->arena);
  RUNTIME_VEC_FREE(&profiler->entries);
  runtime_map_free(&profiler->index);
  free(profiler);
}

void tn_profiler_set_exclusive(tn_profiler *profiler, bool is_exclusive) {
  if (profiler) profiler->is_exclusive = is_exclusive;
}

/* A profiler can only be entered once at a time. Scopes that were open when it was last left are forgotten. */
tn_status tn_profiler_enter(tn_profiler *profiler) {
  if (!profiler || profiler->is_entered) return TN_ERROR_ARGUMENT;
  for (int i = 0; i < profiler->entries.n; ++i) profiler->entries.data[i].open = 0;
  profiler->is_entered = true;
  profiler->outer = entered.innermost;
  profiler->serial = ++entered.serial;
  profiler->start_ns = profiler_now_ns();
  entered.innermost = profiler;
  count_entered(1);
  return TN_OK;
}

/* Removes the innermost profiler from this thread's list. */
static void unlist_innermost(void) {
  tn_profiler *profiler = entered.innermost;
  count_entered(-1);
  entered.innermost = profiler->outer;
  profiler->outer = NULL;
  profiler->is_entered = false;
}

/* Adds the times of threads that joined and left. */
static void take_joined(tn_profiler *profiler) {
  tn_profiler *first = atomic_exchange(&profiler->joined, NULL);
  for (tn_profiler *p = first; p; p = p->outer) {
    for (int i = 0; i < p->entries.n; ++i) {
      const entry *e = &p->entries.data[i];
      tn_profiler_add(profiler, e->name, e->seconds, e->calls);
    }
    profiler->lost |= p->lost;
  }
  free_joined(first);
}

/* Only the innermost profiler can be left; otherwise nothing changes. */
tn_status tn_profiler_exit(tn_profiler *profiler) {
  if (!profiler || entered.innermost != profiler) return TN_ERROR_ARGUMENT;
  if (profiler->of) return TN_ERROR_ARGUMENT;
  uint64_t now = profiler_now_ns();
  unlist_innermost();
  take_joined(profiler);
  tn_profiler_add(profiler, total_name, (double)(now - profiler->start_ns) * 1e-9, 1);
  return TN_OK;
}

/* Until it leaves, a thread adds up in a profiler of its own, so that no lock is needed. */
tn_status tn_profiler_join(tn_profiler *profiler) {
  if (!profiler) return TN_ERROR_ARGUMENT;
  for (const tn_profiler *p = entered.innermost; p; p = p->outer)
    if (p == profiler || p->of == profiler) return TN_ERROR_ARGUMENT;
  tn_profiler *own = tn_profiler_new();
  if (!own) return TN_ERROR_MEMORY;
  own->of = profiler;
  return tn_profiler_enter(own);
}

/* Uses compare-and-swap, since the profiler's thread may be taking what others left at the same moment. */
tn_status tn_profiler_leave(tn_profiler *profiler) {
  tn_profiler *own = entered.innermost;
  if (!profiler || !own || own->of != profiler) return TN_ERROR_ARGUMENT;
  unlist_innermost();
  own->outer = atomic_load(&profiler->joined);
  while (!atomic_compare_exchange_weak(&profiler->joined, &own->outer, own)) {
  }
  return TN_OK;
}

/* ---- errands ----------------------------------------------------------------------------------------------------- */

/* The caller's list does not change while it waits. */
static const void *errand_sent(void) { return &entered; }
static void errand_arrived(const void *from) { entered = *(const entered_list *)from; }
const runtime_errand_observer runtime_the_errand_observer = {errand_sent, errand_arrived};

tn_profiler *tn_profiler_current(void) {
  tn_profiler *innermost = entered.innermost;
  return innermost && innermost->of ? innermost->of : innermost;
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/* The clock is read last, so that the cost of this is not in the scope's time. */
void profiler_tables_begin(tn_scope *scope, const char *name) {
  if (!entered.innermost) return;
  for (tn_profiler *p = entered.innermost; p; p = p->is_exclusive ? NULL : p->outer) {
    entry *e = find_or_add(p, name);
    if (e) ++e->open;
  }
  scope->table_hash = hash_name(name);
  scope->table_serial = entered.serial;
  scope->state = 1;
  scope->start = profiler_ticks();
}

/* Among nested scopes of one name only the outermost adds its time. */
static void end_in(tn_profiler *p, const tn_scope *scope, double seconds) {
  entry *e = find_hash(p, scope->table_hash);
  if (!e || e->open == 0) return;
  ++e->calls;
  if (--e->open == 0) e->seconds += seconds;
}

/* A scope is not added to profilers that were entered after it began, nor to those left before it ended. */
void profiler_tables_end(const tn_scope *scope, uint64_t end_ticks) {
  double seconds = profiler_ticks_to_ns(end_ticks - scope->start) * 1e-9;
  bool is_seen = true;
  for (tn_profiler *p = entered.innermost; p && is_seen; p = p->outer) {
    if (p->serial > scope->table_serial) continue;
    end_in(p, scope, seconds);
    is_seen = !p->is_exclusive;
  }
}

bool profiler_table_lost(const tn_profiler *profiler) { return profiler->lost; }

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

/* In the order in which names first appeared. */
const char *tn_profiler_name_at(const tn_profiler *profiler, int index, double *seconds, int64_t *calls) {
  if (index < 0 || index >= tn_profiler_count(profiler)) return NULL;
  const entry *e = &profiler->entries.data[index];
  if (seconds) *seconds = e->seconds;
  if (calls) *calls = e->calls;
  return e->name;
}
