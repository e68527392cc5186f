/* recorder.c: the hot path: opening and closing scopes, writing records. A thread marks itself busy, looks
 * at the filter again, writes into its own chunk, and publishes the record by the chunk's count. It takes a
 * lock only to attach to a session and to see a name for the first time. Whoever stops the session clears
 * the filter, makes every processor pass a barrier (membarrier), and waits until no thread is busy. That
 * pairs with the plain stores here.
 *
 * A process has one profiler_recorder (state.h). Each thread owns a profiler_thread with its cache of
 * labels, its newest chunk and its stack; chunks belong to the storage. `control` orders calls that change
 * the session; `lock` guards names, lanes and the list of threads. `control` is taken first. */
#include "runtime/profiler/recorder.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/profiler/state.h"

uint64_t tn_profile_filter;
profiler_recorder profiler_the_recorder = {
    .control = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .storage = {.file = -1}};

static _Thread_local profiler_thread *this_thread __attribute__((tls_model("initial-exec")));

#define THE (&profiler_the_recorder)
/* What scope->open points to if a tracer got the scope. */
#define TRACED ((void *)&profiler_the_recorder)

static const tn_site unknown_site = {"", "", 0, TN_CATEGORY_APP, 1};
static const tn_site device_site = {"", "", 0, TN_CATEGORY_DEVICE, 1};

static uint64_t filter_word(void) { return __atomic_load_n(&tn_profile_filter, __ATOMIC_RELAXED); }

/* Whether the session wants the site: one relaxed load. */
static bool session_wants(const tn_site *site) {
  uint64_t wanted = 1ull << site->category | 1ull << (32 + site->level);
  return (filter_word() & wanted) == wanted;
}

static void count_one(_Atomic uint64_t *counter) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

/* ---- threads and lanes ------------------------------------------------------------------------------------------- */

/* Makes this thread's record when it first records; NULL before the first session, or without memory. */
static profiler_thread *make_thread(void) {
  profiler_thread *t = atomic_load(&THE->is_prepared) ? calloc(1, sizeof *t) : NULL;
  if (!t) return NULL;
  pthread_mutex_lock(&THE->lock);
  t->next = THE->threads;
  THE->threads = t;
  pthread_mutex_unlock(&THE->lock);
  pthread_setspecific(THE->exit_key, t);
  return this_thread = t;
}

/* The destructor of the thread's key. Its lane stays in the storage. */
void profiler_thread_exits(void *thread) {
  profiler_thread *t = thread;
  pthread_mutex_lock(&THE->lock);
  for (profiler_thread **at = &THE->threads; *at; at = &(*at)->next) {
    if (*at != t) continue;
    *at = t->next;
    break;
  }
  pthread_mutex_unlock(&THE->lock);
  this_thread = NULL;
  free(t->own_name);
  free(t);
}

/* In a forked child: the other threads do not exist there, so nothing else refers to their records. */
void profiler_forget_threads(void) {
  for (profiler_thread *t = THE->threads, *next; t; t = next) {
    next = t->next;
    if (t == this_thread) continue;
    free(t->own_name);
    free(t);
  }
  THE->threads = this_thread;
  if (!this_thread) return;
  this_thread->next = NULL;
  this_thread->generation = 0;
}

/* Names a lane, once for each thread and session. A thread without a name of its own has the one in the kernel. */
static void name_lane(storage_lane *lane, const char *own_name) {
  char kernel_name[32] = "";
  if (!own_name) pthread_getname_np(pthread_self(), kernel_name, sizeof kernel_name);
  lane->name = profiler_name(own_name ? own_name : kernel_name);
}

/* Takes a free lane of the storage; returns its number plus one, or 0: none left. Called under the lock. */
static uint32_t new_lane(void) {
  storage_header *h = THE->storage.header;
  uint32_t link = atomic_load(&h->n_lanes) + 1;
  if (link > STORAGE_MAX_LANES || !storage_take_lane(&THE->storage, link - 1)) return 0;
  atomic_store(&h->n_lanes, link);
  return link;
}

/* Gives the thread a lane, its first chunk and its stack in the running session. Called under the lock. */
static bool attach_locked(profiler_thread *t) {
  if (!THE->storage.header && !profiler_new_storage()) return false;
  storage *s = &THE->storage;
  uint32_t link = new_lane(), stack = link ? storage_new_chunk(s, link, true) : 0,
           chunk = stack ? storage_new_chunk(s, link, false) : 0;
  if (!chunk) return false;
  storage_lane *lane = &s->lanes[link - 1];
  lane->tid = (int64_t)syscall(SYS_gettid);
  name_lane(lane, t->own_name);
  lane->first_stack = stack;
  lane->first = lane->last = chunk;
  memset(t->cache, 0, sizeof t->cache);
  t->lane = lane;
  t->lane_link = link;
  t->stack = storage_chunk_at(s, stack);
  t->chunk = storage_chunk_at(s, chunk);
  t->top = NULL;
  t->depth = t->ordinal = 0;
  t->generation = atomic_load(&THE->generation);
  return true;
}

/* If a thread gets no lane, each of its events counts as dropped. */
static bool attach(profiler_thread *t) {
  pthread_mutex_lock(&THE->lock);
  bool attached = attach_locked(t);
  if (!attached && THE->storage.header) count_one(&THE->storage.header->dropped);
  pthread_mutex_unlock(&THE->lock);
  return attached;
}

/* Called before the thread looks at the filter. Where possible the waiting side enforces the order
 * (membarrier), so that a plain store is enough here. */
static inline void set_busy(profiler_thread *t) {
  if (__builtin_expect(THE->needs_fence, 0)) {
    atomic_exchange(&t->busy, 1);
  } else {
    atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
  }
}

/* Releases: whoever sees the thread not busy sees all that it wrote. */
static void leave(profiler_thread *t) { atomic_store_explicit(&t->busy, 0, memory_order_release); }

/* This thread, busy and attached, if a session wants the site; otherwise NULL. Call `leave` afterwards. */
static inline profiler_thread *enter(const tn_site *site) {
  profiler_thread *t = this_thread;
  if (__builtin_expect(!t, 0) && !(t = make_thread())) return NULL;
  set_busy(t);
  uint32_t generation = atomic_load_explicit(&THE->generation, memory_order_relaxed);
  if (session_wants(site) && (__builtin_expect(t->generation == generation, 1) || attach(t))) return t;
  leave(t);
  return NULL;
}

/* Waits until no thread is busy. False after a second: a thread was stopped in the middle of a record, or
 * died there by a signal. */
bool profiler_quiesce(void) {
  if (!THE->needs_fence) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  uint64_t deadline = 0;
  for (;;) {
    bool is_busy = false;
    pthread_mutex_lock(&THE->lock);
    for (profiler_thread *t = THE->threads; t; t = t->next)
      is_busy |= t != this_thread && atomic_load_explicit(&t->busy, memory_order_acquire);
    pthread_mutex_unlock(&THE->lock);
    if (!is_busy) return true;
    uint64_t now = runtime_now_ns();
    if (!deadline) deadline = now + 1000000000u;
    if (now > deadline) return false;
    sched_yield();
  }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* For a label that is not in the thread's cache: finds or makes it under the lock all threads share, and
 * caches it in place of an older one. */
static __attribute__((noinline)) uint32_t label_slow(profiler_cached *cached, const tn_site *site, const char *name,
                                                     uint64_t key) {
  pthread_mutex_lock(&THE->lock);
  uint32_t label = profiler_make_label(site, name);
  pthread_mutex_unlock(&THE->lock);
  *cached = (profiler_cached){.site = site, .name = key, .label = label};
  return label;
}

/* A literal is identified by its address, another text by its hash. */
static inline uint32_t label_of(profiler_thread *t, const tn_site *site, const char *name, bool is_literal) {
  uint64_t key = is_literal ? (uint64_t)(uintptr_t)name : runtime_hash(name, strlen(name), 0) | 1ull << 63;
  uint64_t mixed = (key ^ (uint64_t)(uintptr_t)site >> 3) * 0x9e3779b97f4a7c15u;
  profiler_cached *cached = &t->cache[mixed >> 56];
  if (__builtin_expect(cached->site == site && cached->name == key, 1)) return cached->label;
  return label_slow(cached, site, name, key);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Notes both clocks in the storage's header, for a reader of a killed process's file. */
static void note_moment(void) {
  if (THE->storage.file < 0 || pthread_mutex_trylock(&THE->lock) != 0) return;
  profiler_moment now = profiler_clock_moment();
  THE->storage.header->ticks[1] = now.ticks;
  THE->storage.header->ns[1] = now.ns;
  pthread_mutex_unlock(&THE->lock);
}

/* Empties the thread's oldest chunk to become its newest; what it held is counted as dropped. */
static storage_chunk *recycle(profiler_thread *t) {
  storage *s = &THE->storage;
  uint32_t first = t->lane->first, last = t->lane->last;
  storage_chunk *oldest = storage_chunk_at(s, first);
  atomic_fetch_add_explicit(&t->lane->dropped, oldest->n, memory_order_relaxed);
  atomic_store_explicit(&oldest->n, 0, memory_order_release);
  if (first == last) return oldest;
  t->lane->first = oldest->next;
  oldest->next = 0;
  storage_chunk_at(s, last)->next = first;
  t->lane->last = first;
  return oldest;
}

/* A chunk with room; NULL if the memory is full and the newest events are to be lost. */
static __attribute__((noinline)) storage_chunk *next_chunk(profiler_thread *t) {
  storage *s = &THE->storage;
  uint32_t link = storage_new_chunk(s, t->lane_link, false);
  if (!link && THE->options.drop == TN_DROP_NEW) {
    count_one(&t->lane->dropped);
    return NULL;
  }
  if (link) {
    storage_chunk_at(s, t->lane->last)->next = link;
    t->lane->last = link;
    note_moment();
  }
  return t->chunk = link ? storage_chunk_at(s, link) : recycle(t);
}

/* Publishes the count after the record, so that a reader of a killed process's file sees only whole records. */
static inline void write_record(profiler_thread *t, const storage_record *record) {
  storage_chunk *chunk = t->chunk;
  uint32_t n = atomic_load_explicit(&chunk->n, memory_order_relaxed);
  if (__builtin_expect(n == STORAGE_RECORDS, 0)) {
    if (!(chunk = next_chunk(t))) return;
    n = 0;
  }
  storage_records(chunk)[n] = *record;
  atomic_store_explicit(&chunk->n, n + 1, memory_order_release);
}

/* For texts made at run time; the names of sites are interned with their labels. */
static uint32_t name_of_text(const char *text) {
  pthread_mutex_lock(&THE->lock);
  uint32_t name = profiler_name(text);
  pthread_mutex_unlock(&THE->lock);
  return name;
}

/* An argument is a record of its own, before or after its event; the ordinal connects them. */
static void write_arg(profiler_thread *t, uint32_t ordinal, const tn_event_arg *arg) {
  storage_record record = {.kind = STORAGE_ARG, .arg_type = (uint8_t)arg->type, .ordinal = ordinal, .end = arg->u64};
  if (!arg->key) return;
  record.label = label_of(t, &unknown_site, arg->key, false);
  if (arg->type == TN_EVENT_ARG_TEXT) record.end = name_of_text(arg->text);
  write_record(t, &record);
}

/* Most events have no arguments, so that keeping them apart keeps events small. */
static void write_args(profiler_thread *t, uint32_t ordinal, const tn_event_arg *args, int n) {
  for (int i = 0; args && i < n; ++i) write_arg(t, ordinal, &args[i]);
}

/* ---- the stack of open scopes ------------------------------------------------------------------------------------ */

/* Moves to the stack's next chunk, which is made on first use; false without memory. */
static __attribute__((noinline)) bool grow_stack(profiler_thread *t) {
  storage *s = &THE->storage;
  if (!t->stack->next) {
    uint32_t link = storage_new_chunk(s, t->lane_link, true);
    if (!link) return false;
    storage_chunk_at(s, link)->prev = (uint32_t)(((char *)t->stack - s->chunks) / STORAGE_CHUNK_BYTES) + 1;
    t->stack->next = link;
  }
  t->stack = storage_chunk_at(s, t->stack->next);
  return true;
}

/* Publishes the depth last: entries above it count as free. */
static inline void pop(profiler_thread *t) {
  --t->depth;
  if (t->depth == 0) {
    t->top = NULL;
  } else if (t->top == storage_opens(t->stack)) {
    t->stack = storage_chunk_at(&THE->storage, t->stack->prev);
    t->top = storage_opens(t->stack) + STORAGE_OPENS - 1;
  } else {
    --t->top;
  }
  atomic_store_explicit(&t->lane->depth, t->depth, memory_order_release);
}

/* Pops scopes that were ended out of order or by another thread, so that the top is open. */
static inline void settle(profiler_thread *t) {
  while (t->top && atomic_load_explicit(&t->top->state, memory_order_relaxed) == STORAGE_ENDED) pop(t);
}

/* A place for one more open scope; NULL without memory. It counts only after push_done. */
static inline storage_open *push(profiler_thread *t) {
  storage_open *open = t->top ? t->top + 1 : storage_opens(t->stack);
  if (__builtin_expect(open == storage_opens(t->stack) + STORAGE_OPENS, 0)) {
    if (!grow_stack(t)) return NULL;
    open = storage_opens(t->stack);
  }
  return open;
}

/* Publishes the entry, which must be filled in before. */
static inline void push_done(profiler_thread *t, storage_open *open) {
  t->top = open;
  atomic_store_explicit(&t->lane->depth, ++t->depth, memory_order_release);
}

/* The ordinal of the innermost open scope; 0: none is open. */
static uint32_t parent_ordinal(profiler_thread *t) {
  settle(t);
  return t->top ? t->top->ordinal : 0;
}

/* OPEN ends while scopes above it go on; those have no parent from now on. */
static void end_below_top(profiler_thread *t, storage_open *open) {
  storage_chunk *chunk = t->stack;
  for (storage_open *o = t->top; o != open;) {
    if (atomic_load(&o->state) == STORAGE_RUNNING && !(o->flags & TN_EVENT_OVERLAP)) {
      o->flags |= TN_EVENT_OVERLAP;
      o->parent = 0;
      count_one(&THE->storage.header->overlaps);
    }
    if (o == storage_opens(chunk)) {
      if (!chunk->prev) return;
      chunk = storage_chunk_at(&THE->storage, chunk->prev);
      o = storage_opens(chunk) + STORAGE_OPENS;
    }
    --o;
  }
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/* Checks both limits with one subtraction: a time before the beginning wraps to a large number. */
static bool is_in_time(uint64_t ticks) {
  return ticks - atomic_load_explicit(&THE->from_ticks, memory_order_relaxed) <=
         atomic_load_explicit(&THE->n_ticks, memory_order_relaxed);
}

static uint64_t last_in_time(void) {
  return atomic_load_explicit(&THE->from_ticks, memory_order_relaxed) +
         atomic_load_explicit(&THE->n_ticks, memory_order_relaxed);
}

/* Leaves out the innermost frames, which are the profiler's own. */
static void write_stack(profiler_thread *t, uint32_t ordinal) {
  char text[2048];
  profiler_stack_text(3, text, sizeof text);
  tn_event_arg arg = tn_event_arg_text("stack", text);
  write_arg(t, ordinal, &arg);
}

/* True: a tracer is loaded. Then nothing is recorded, whether it wanted the site or not. */
static bool begin_traced(tn_scope *scope, const tn_site *site, const char *name) {
  tn_tracer *tracer = atomic_load_explicit(&THE->tracer, memory_order_acquire);
  if (__builtin_expect(!tracer, 1) || !session_wants(site)) return tracer != NULL;
  tracer->push(tracer->user, name);
  scope->open = TRACED;
  scope->state = 1;
  return true;
}

/* If anything fails scope->open stays NULL, and nothing is recorded at the scope's end. */
static void begin_recorded(tn_scope *scope, const tn_site *site, const char *name, bool is_literal) {
  profiler_thread *t = enter(site);
  if (!t) return;
  uint32_t label = label_of(t, site, name, is_literal);
  uint32_t parent = parent_ordinal(t), ordinal = ++t->ordinal;
  storage_open *open = push(t);
  if (__builtin_expect(!open, 0)) {
    count_one(&t->lane->dropped);
    leave(t);
    return;
  }
  if (__builtin_expect(THE->options.stacks, 0)) write_stack(t, ordinal);
  uint64_t start = profiler_ticks();
  if (__builtin_expect(is_in_time(start), 1)) {
    open->start = start;
    open->label = label;
    open->ordinal = ordinal;
    open->parent = parent;
    open->sequence = open->flags = 0;
    atomic_store_explicit(&open->state, STORAGE_RUNNING, memory_order_relaxed);
    push_done(t, open);
    scope->open = open;
    scope->start = start;
    scope->ordinal = ordinal;
    scope->generation = t->generation;
    scope->state = 1;
  }
  leave(t);
}

/* IS_LITERAL: the address of NAME identifies it during the whole session. */
tn_scope tn_scope_open(const tn_site *site, const char *name, bool is_literal) {
  tn_scope scope = TN_NO_SCOPE;
  if (!site) site = &unknown_site;
  if (!name) name = "";
  uint64_t word = filter_word();
  if (__builtin_expect((word & PROFILER_TABLE_BIT) != 0, 0)) profiler_tables_begin(&scope, name);
  if ((word & PROFILER_SESSION_BITS) && !begin_traced(&scope, site, name))
    begin_recorded(&scope, site, name, is_literal);
  return scope;
}

/* Whether the scope's entry is still its own, and not ended through a copy of the scope. */
static bool is_current(const tn_scope *scope, const storage_open *open) {
  return open->ordinal == scope->ordinal && atomic_load_explicit(&open->state, memory_order_relaxed) == STORAGE_RUNNING;
}

/* The link of the lane to which the scope's entry belongs. */
static uint32_t lane_of(const storage_open *open) {
  size_t index = (size_t)((const char *)open - THE->storage.chunks) / STORAGE_CHUNK_BYTES;
  return storage_chunk_at(&THE->storage, (uint32_t)index + 1)->lane;
}

/* Whether the scope was begun by this thread: the chunk of its entry tells whose it is. */
static bool is_mine(const profiler_thread *t, const storage_open *open) { return lane_of(open) == t->lane_link; }

/* Writes the record before releasing the entry, so that a killed process leaves at least one of them. */
static void end_own(profiler_thread *t, storage_open *open, uint64_t now) {
  if (__builtin_expect(open != t->top, 0)) end_below_top(t, open);
  storage_record record = {.start = open->start,
                           .end = now,
                           .label = open->label,
                           .ordinal = open->ordinal,
                           .parent = open->parent,
                           .sequence = open->sequence,
                           .kind = TN_EVENT_SCOPE,
                           .flags = (uint16_t)open->flags};
  write_record(t, &record);
  atomic_store_explicit(&open->state, STORAGE_ENDED, memory_order_relaxed);
  settle(t);
}

/* Writes a range and, if another thread than T began it, which one. */
static void write_range(profiler_thread *t, storage_record record, uint32_t began_on) {
  record.kind = TN_EVENT_ASYNC;
  record.ordinal = ++t->ordinal;
  write_record(t, &record);
  if (began_on == t->lane_link || began_on == 0) return;
  tn_event_arg thread = tn_event_arg_i64(TN_BEGAN_ON, THE->storage.lanes[began_on - 1].tid);
  write_arg(t, record.ordinal, &thread);
}

/* For a scope ended on another thread: records an async range in this thread's lane. */
static void end_foreign(profiler_thread *t, storage_open *open, uint64_t now) {
  if (atomic_exchange(&open->state, STORAGE_ENDED) != STORAGE_RUNNING) {
    count_one(&THE->storage.header->double_ends);
    return;
  }
  storage_record record = {.start = open->start,
                           .end = now,
                           .id = atomic_fetch_add(&THE->storage.header->last_async, 1) + 1,
                           .label = open->label,
                           .sequence = open->sequence};
  write_range(t, record, lane_of(open));
}

/* This thread if it may still write into the scope's session, whatever its site; otherwise NULL. */
static inline profiler_thread *enter_session_of(const tn_scope *scope) {
  profiler_thread *t = this_thread;
  if (__builtin_expect(!t, 0) && !(t = make_thread())) return NULL;
  set_busy(t);
  if ((filter_word() & PROFILER_SESSION_BITS) &&
      atomic_load_explicit(&THE->generation, memory_order_relaxed) == scope->generation &&
      (__builtin_expect(t->generation == scope->generation, 1) || attach(t)))
    return t;
  leave(t);
  return NULL;
}

/* Nothing is written once the scope's session has ended. */
static void end_recorded(tn_scope *scope, uint64_t now) {
  profiler_thread *t = enter_session_of(scope);
  if (!t) return;
  storage_open *open = scope->open;
  bool mine = is_mine(t, open);
  if (__builtin_expect(!is_in_time(now), 0)) {
    now = last_in_time();
    open->flags |= TN_EVENT_UNFINISHED; /* the session's limit ended it */
  }
  if (mine && is_current(scope, open))
    end_own(t, open, now);
  else if (!mine)
    end_foreign(t, open, now);
  else
    count_one(&THE->storage.header->double_ends);
  leave(t);
}

/* Pops a scope that was passed to a tracer. */
static void end_traced(void) {
  tn_tracer *tracer = atomic_load_explicit(&THE->tracer, memory_order_acquire);
  if (tracer) tracer->pop(tracer->user);
}

/* Counts a second end of the same scope. */
static __attribute__((noinline)) void end_again(const tn_scope *scope) {
  if (!scope->open || scope->open == TRACED) return;
  profiler_thread *t = enter_session_of(scope);
  if (!t) return;
  count_one(&THE->storage.header->double_ends);
  leave(t);
}

/* The clock is read first, so that the cost of ending is not in the scope's time. Ending twice is counted
 * and harmless. */
void tn_scope_close(tn_scope *scope) {
  uint64_t now = profiler_ticks();
  if (__builtin_expect(!scope || scope->state != 1, 0)) {
    if (scope && scope->state == 2) end_again(scope);
    return;
  }
  scope->state = 2;
  if (__builtin_expect(scope->table_serial != 0, 0)) profiler_tables_end(scope, now);
  if (__builtin_expect(scope->open == TRACED, 0))
    end_traced();
  else if (scope->open)
    end_recorded(scope, now);
}

void tn_scope_sequence(tn_scope *scope, uint32_t sequence) {
  if (!scope || scope->state != 1 || !scope->open || scope->open == TRACED) return;
  profiler_thread *t = enter_session_of(scope);
  if (!t) return;
  storage_open *open = scope->open;
  if (is_mine(t, open) && is_current(scope, open)) open->sequence = sequence;
  leave(t);
}

/* Only possible on the scope's own thread; on another one the argument is dropped. */
void tn_scope_arg(tn_scope *scope, const tn_event_arg *arg) {
  if (!scope || !arg || scope->state != 1 || !scope->open || scope->open == TRACED) return;
  profiler_thread *t = enter_session_of(scope);
  if (!t) return;
  if (is_mine(t, scope->open)) write_arg(t, scope->ordinal, arg);
  leave(t);
}

void tn_scope_role(tn_scope *scope, tn_event_role role) {
  tn_event_arg arg = tn_event_arg_i64(TN_ROLE_KEY, role);
  if (role > TN_ROLE_ORDINARY && role <= TN_ROLE_SPECIAL) tn_scope_arg(scope, &arg);
}

/* 0: nothing records. */
uint32_t tn_sequence_next(void) {
  tn_scope session = {.generation = atomic_load(&THE->generation)};
  profiler_thread *t = enter_session_of(&session);
  if (!t) return 0;
  uint32_t next = atomic_fetch_add(&THE->storage.header->last_sequence, 1) + 1;
  leave(t);
  return next;
}

static const tn_site timed_site = {"", "", 0, TN_CATEGORY_APP, 1};

tn_timed tn_timed_begin(const char *name) {
  tn_timed none = TN_NO_SCOPE;
  return tn_profile_wants(TN_CATEGORY_APP, 1) ? tn_scope_open(&timed_site, name, false) : none;
}

void tn_timed_end(tn_timed *scope) {
  if (scope) tn_scope_end(scope);
}

/* ---- other events ------------------------------------------------------------------------------------------------ */

/* RECORD has what is special about the event; label, parent and ordinal are filled in here. */
void profiler_write_event(const tn_site *site, const char *name, storage_record record, const tn_event_arg *args,
                          int n_args) {
  if (!site) site = &unknown_site;
  if (!name || !session_wants(site) || atomic_load(&THE->tracer)) return;
  profiler_thread *t = enter(site);
  if (!t) return;
  if (!(record.flags & TN_EVENT_ADDED)) record.start = profiler_ticks();
  if (is_in_time(record.flags & TN_EVENT_ADDED ? profiler_ticks() : record.start)) {
    record.label = label_of(t, site, name, false);
    record.parent = parent_ordinal(t);
    record.ordinal = ++t->ordinal;
    write_record(t, &record);
    write_args(t, record.ordinal, args, n_args);
  }
  leave(t);
}

/* Nothing is written before the range's end, which uses GENERATION to see whether the session is still the same. */
tn_async tn_async_begin(const tn_site *site, const char *name) {
  tn_async range = {0};
  if (!site) site = &unknown_site;
  if (!name || !session_wants(site) || atomic_load(&THE->tracer)) return range;
  profiler_thread *t = enter(site);
  if (!t) return range;
  range.label = label_of(t, site, name, false);
  range.generation = t->generation;
  range.id = atomic_fetch_add(&THE->storage.header->last_async, 1) + 1;
  range.lane = t->lane_link;
  range.start = profiler_ticks();
  leave(t);
  return range;
}

/* Called on any thread; the range is in that thread's lane. A range of an earlier session is dropped. */
void tn_async_end(tn_async *range) {
  if (!range || range->id == 0) return;
  tn_scope session = {.generation = range->generation};
  profiler_thread *t = enter_session_of(&session);
  if (t) {
    storage_record record = {.start = range->start,
                             .end = profiler_ticks(),
                             .id = range->id,
                             .label = range->label,
                             .sequence = range->sequence};
    write_range(t, record, range->lane);
    leave(t);
  }
  range->id = 0;
}

/* Holds for this and later sessions. */
void tn_thread_name(const char *name) {
  if (!name) return;
  profiler_thread *t = this_thread ? this_thread : make_thread();
  char *copy = t ? strdup(name) : NULL;
  if (!copy) return;
  free(t->own_name);
  t->own_name = copy;
  t = enter_session_of(&(tn_scope){.generation = atomic_load(&THE->generation)});
  if (!t) return;
  t->lane->name = name_of_text(name);
  leave(t);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* Takes the next place for a device; returns its number, or -1: none. Called under the lock. */
static int add_device(const char *name, uint64_t (*now)(void *user), void *user) {
  if (THE->n_devices == PROFILER_MAX_DEVICES) return -1;
  uint32_t link = new_lane(), chunk = link ? storage_new_chunk(&THE->storage, link, false) : 0;
  if (!chunk) return -1;
  storage_lane *lane = &THE->storage.lanes[link - 1];
  lane->is_device = 1;
  lane->name = profiler_name(name);
  lane->first = lane->last = chunk;
  lane->device_ns[0] = now(user);
  lane->host_ns[0] = profiler_clock_moment().ns;
  THE->devices[THE->n_devices] = (profiler_device){now, user, link};
  return THE->n_devices++;
}

/* 0: nothing records, or there is no place. NOW is called at the beginning and at the end, to relate the clocks. */
int tn_device_lane(const char *name, uint64_t (*now)(void *user), void *user) {
  profiler_thread *t = name && now ? enter(&device_site) : NULL;
  if (!t) return 0;
  pthread_mutex_lock(&THE->lock);
  int index = add_device(name, now, user);
  pthread_mutex_unlock(&THE->lock);
  leave(t);
  return index + 1;
}

/* Events of devices are rare, so they are written under the lock. */
static void write_device_record(uint32_t link, storage_record record) {
  storage *s = &THE->storage;
  storage_lane *lane = &s->lanes[link - 1];
  storage_chunk *chunk = storage_chunk_at(s, lane->last);
  if (chunk->n == STORAGE_RECORDS) {
    uint32_t next = storage_new_chunk(s, link, false);
    if (!next) {
      count_one(&lane->dropped);
      return;
    }
    chunk->next = next;
    lane->last = next;
    chunk = storage_chunk_at(s, next);
  }
  if (record.kind != STORAGE_ARG) ++lane->first_stack; /* a device has no stack: the field counts its events */
  record.ordinal = lane->first_stack;
  storage_records(chunk)[chunk->n] = record;
  atomic_fetch_add(&chunk->n, 1);
}

/* Writes the device's end of the arrow, and the launch as an argument of the event written last. Called
 * under the lock. */
static void write_launch(uint32_t link, uint64_t start, uint64_t launch, uint32_t label) {
  write_device_record(
      link, (storage_record){.kind = STORAGE_ARG, .arg_type = TN_EVENT_ARG_U64, .label = label, .end = launch});
  write_device_record(link, (storage_record){.kind = TN_EVENT_FLOW,
                                             .flags = TN_EVENT_DEVICE,
                                             .start = start,
                                             .end = TN_FLOW_END,
                                             .id = launch,
                                             .label = label});
}

/* Any thread may report a device's events, so they are written under the lock. */
void tn_device_launched(int lane, const char *name, uint64_t launch, uint64_t device_start_ns, uint64_t device_end_ns) {
  profiler_thread *t = name && lane > 0 ? enter(&device_site) : NULL;
  if (!t) return;
  storage_record record = {.kind = TN_EVENT_SCOPE,
                           .flags = TN_EVENT_DEVICE,
                           .start = device_start_ns,
                           .end = RUNTIME_MAX(device_start_ns, device_end_ns),
                           .label = label_of(t, &device_site, name, false)};
  uint32_t arrow = launch ? label_of(t, &device_site, TN_LAUNCH, false) : 0;
  pthread_mutex_lock(&THE->lock);
  uint32_t link = lane <= THE->n_devices ? THE->devices[lane - 1].lane_link : 0;
  if (link) write_device_record(link, record);
  if (link && launch) write_launch(link, device_start_ns, launch, arrow);
  pthread_mutex_unlock(&THE->lock);
  leave(t);
}

void tn_device_event(int lane, const char *name, uint64_t device_start_ns, uint64_t device_end_ns) {
  tn_device_launched(lane, name, 0, device_start_ns, device_end_ns);
}

/* Numbers come from the same counter as those of ranges, so that arrows of launches and ranges cannot be confused. */
uint64_t tn_launch(void) {
  profiler_thread *t = enter(&device_site);
  if (!t) return 0;
  uint64_t launch = atomic_fetch_add(&THE->storage.header->last_async, 1) + 1;
  leave(t);
  tn_flow(&device_site, TN_LAUNCH, TN_FLOW_START, launch);
  return launch;
}

/* ---- for the session --------------------------------------------------------------------------------------------- */

void profiler_record_scope(const tn_site *site, const char *name, uint64_t start, uint64_t end) {
  storage_record record = {
      .kind = TN_EVENT_SCOPE, .flags = TN_EVENT_ADDED, .arg_type = STORAGE_TICKS, .start = start, .end = end};
  profiler_write_event(site, name, record, NULL, 0);
}

/* Measures the cost of a scope by recording some thousand, after which the caller discards the storage. */
double profiler_scope_cost_ns(void) {
  /* The first WARM scopes only warm the caches; the others are timed. */
  enum { SCOPES = 4096, WARM = 64 };
  uint64_t start = 0;
  for (int i = 0; i < SCOPES + WARM; ++i) {
    if (i == WARM) start = profiler_ticks();
    tn_scope scope = tn_scope_open(&unknown_site, "cost", true);
    tn_scope_end(&scope);
  }
  return profiler_ticks_to_ns(profiler_ticks() - start) / SCOPES;
}

/* ---- for tests --------------------------------------------------------------------------------------------------- */

int64_t profiler_open_scopes(void) {
  int64_t n = 0;
  pthread_mutex_lock(&THE->lock);
  for (profiler_thread *t = THE->threads; t; t = t->next)
    if (THE->storage.header && t->generation == THE->generation) n += atomic_load(&t->lane->depth);
  pthread_mutex_unlock(&THE->lock);
  return n;
}

int64_t profiler_live_events(void) {
  int64_t n = 0;
  pthread_mutex_lock(&THE->lock);
  uint32_t n_chunks = THE->storage.header ? THE->storage.header->n_chunks : 0;
  for (uint32_t i = 1; i <= n_chunks; ++i) n += storage_chunk_at(&THE->storage, i)->n;
  pthread_mutex_unlock(&THE->lock);
  return n;
}
