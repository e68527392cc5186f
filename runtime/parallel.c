/* parallel.c: the threads of a context. A worker has a mailbox: one word that is empty, or says that the
 * worker sleeps, or holds the address of a job on its launcher's stack. Mailing a job, picking it up and
 * taking it back are one compare-and-swap each. So a launcher never waits for a worker that has not begun:
 * on a busy machine it takes the job back, having done the work itself. Workers and launchers spin for some
 * microseconds, then sleep on a futex. */
#include "runtime/parallel.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* LINE and SHARE_LINE: alignments that keep data of different threads in different cache lines. SPIN_NS: how
 * long to spin before sleeping; the clock is read every PAUSES pauses. */
enum { LINE = 128, SHARE_LINE = 64, MAX_SHARES = 64, PAUSES = 32, SPIN_NS = 50000 };

/* What a mailbox can hold besides a job. A worker is BUSY from picking up a job until its last iteration. */
enum { IDLE, ASLEEP, BUSY, STOP };
/* A flag in job.pending, besides the number of workers: the launcher sleeps. */
#define LAUNCHER_SLEEPS 0x80000000u

/* A thread's part of a loop. Threads that have finished take from the others' shares, so NEXT has a cache
 * line of its own. */
typedef struct share {
  _Alignas(SHARE_LINE) _Atomic int64_t next; /* the first iteration that nobody has taken */
  int64_t end;
} share;

/* A loop being run. A worker that has subtracted itself from PENDING must not touch the job any more. */
typedef struct job {
  _Alignas(SHARE_LINE) _Atomic uint32_t pending; /* workers that were wanted and may still use the job */
  tn_parallel_body body;
  void *loop;
  int n_shares;
  share shares[MAX_SHARES];
} job;

/* A thread of the pool. It has cache lines of its own, so that a launcher writing to one worker does not
 * disturb the others. */
typedef struct worker {
  _Alignas(LINE) _Atomic uintptr_t mail;
  int number; /* from 1; the launcher is 0 */
  pthread_t thread;
  _Atomic pid_t id;   /* the system's thread number; 0: it has not begun */
  _Atomic bool moves; /* a lock for the members below and the thread's affinity mask; nobody waits for it */
  bool moved;         /* the mask lacks one of HOME's processors */
  cpu_set_t home;     /* the launcher's mask, to which the worker returns */
} worker;

/* Values of runtime_pool.state other than the number of the process that the workers belong to. */
enum { COLD = 0, STARTING = -1 };

/* The threads of a context's parallel loops. Workers are added when a loop wants more, up to MOST, and end
 * with the context. */
struct runtime_pool {
  tn_parallel_for_fn parallel_for; /* the user's; NULL: the workers run loops */
  void *user;
  int limit; /* 0: what the machine has */
  int most;  /* the number of workers there is room for */
  worker *workers;
  _Atomic int n_workers;
  _Atomic bool grows; /* a thread is adding workers */
  /* In a page of its own that a forked child sees as zeros, which is COLD. Where the system cannot do that,
   * the process number is compared at each loop. */
  _Atomic pid_t *state;
  bool is_wiped;
};

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Tells the processor that this is a spin, so that a sibling thread of the core can proceed. */
static inline void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Returns when woken, on a signal, or at once if WORD is not EXPECTED: callers loop. */
static void futex_wait(const void *word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

/* Wakes one waiter; there is only one at each word. */
static void futex_wake(const void *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

/* The half of a mailbox that distinguishes ASLEEP from the rest: addresses of jobs are aligned. */
static const void *low_half(const worker *w) {
  return (const char *)&w->mail + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof(uintptr_t) - 4);
}

/* Whether the mailbox holds the address of a job, or STOP. */
static bool has_mail(uintptr_t mail) { return mail >= STOP; }

/* ---- where a worker wakes up ------------------------------------------------------------------------------------- */

/* A system that takes two processors for unrelated may wake a thread on the one that its waker is using,
 * and leave both there for milliseconds. So a sleeping worker is only allowed to wake elsewhere; when it is
 * up it takes all processors back. */
static void move_away(worker *w, pid_t id, int from) {
  cpu_set_t all, others;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  others = all;
  CPU_CLR(from, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(id, sizeof others, &others) != 0) return;
  w->home = all;
  w->moved = true;
}

/* Called by a launcher for a worker that it is about to wake. Does nothing while somebody else holds MOVES:
 * waking on a busy processor is slow but not wrong. */
static void wake_elsewhere(worker *w) {
  pid_t id = atomic_load(&w->id);
  int here = sched_getcpu();
  if (id == 0 || here < 0 || atomic_exchange(&w->moves, true)) return;
  move_away(w, id, here);
  atomic_store(&w->moves, false);
}

/* Restores the mask, unless a launcher is changing it; then the next time it wakes. */
static void come_home(worker *w) {
  if (atomic_exchange(&w->moves, true)) return;
  if (w->moved) sched_setaffinity(0, sizeof w->home, &w->home);
  w->moved = false;
  atomic_store(&w->moves, false);
}

/* Spins for mail; false: SPIN_NS passed without any. */
static bool spin_for_mail(worker *w) {
  uint64_t end = runtime_now_ns() + SPIN_NS;
  do {
    for (int i = 0; i < PAUSES; ++i, pause_briefly()) {
      if (has_mail(atomic_load_explicit(&w->mail, memory_order_relaxed))) return true;
    }
  } while (runtime_now_ns() < end);
  return false;
}

/* Waits for the address of a job, or STOP. */
static uintptr_t wait_for_mail(worker *w) {
  while (!spin_for_mail(w)) {
    uintptr_t mail = IDLE;
    if (!atomic_compare_exchange_strong(&w->mail, &mail, ASLEEP)) continue;
    while (atomic_load(&w->mail) == ASLEEP) futex_wait(low_half(w), ASLEEP);
    come_home(w);
  }
  return atomic_load(&w->mail);
}

/* ---- working ----------------------------------------------------------------------------------------------------- */

/* Takes half of what is left of a share, at least one iteration; false: nothing is left. */
static bool take(share *s, int64_t *begin, int64_t *end) {
  int64_t at = atomic_load_explicit(&s->next, memory_order_relaxed), after;
  do {
    if (at >= s->end) return false;
    after = at + (s->end - at + 1) / 2;
  } while (!atomic_compare_exchange_weak_explicit(&s->next, &at, after, memory_order_relaxed, memory_order_relaxed));
  *begin = at;
  *end = after;
  return true;
}

/* Works on this thread's share first, then on the others. */
static void work(job *j, int number) {
  int64_t begin, end;
  for (int i = 0; i < j->n_shares; ++i) {
    share *s = &j->shares[(number + i) % j->n_shares];
    while (take(s, &begin, &end)) j->body(j->loop, begin, end);
  }
}

/* A worker's last access to the job. Once PENDING is 0 the launcher may return, and its stack may be reused. */
static void leave(job *j) {
  uint32_t before = atomic_fetch_sub(&j->pending, 1);
  if (before == (LAUNCHER_SLEEPS | 1)) futex_wake(&j->pending); /* an address only: the job may be gone */
}

/* Empties the mailbox before the launcher can go on, so that its next loop finds this worker. */
static void *worker_main(void *arg) {
  worker *w = arg;
  atomic_store(&w->id, (pid_t)syscall(SYS_gettid));
  for (;;) {
    uintptr_t mail = wait_for_mail(w);
    if (mail == STOP) return NULL;
    if (!has_mail(mail) || !atomic_compare_exchange_strong(&w->mail, &mail, BUSY)) continue; /* taken back */
    job *j = (job *)mail;
    work(j, w->number);
    atomic_store(&w->mail, IDLE);
    leave(j);
  }
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* Divides the iterations into N shares whose lengths differ by at most one. No share is empty, since there
 * are at least N iterations. */
static void divide(job *j, int64_t begin, int64_t end, int n) {
  int64_t each = (end - begin) / n, rest = (end - begin) % n;
  j->n_shares = n;
  for (int i = 0; i < n; ++i) {
    atomic_init(&j->shares[i].next, begin);
    j->shares[i].end = begin += each + (i < rest);
  }
}

/* Mails the job to at most WANTED idle workers; returns to how many. */
static int mail_to_workers(runtime_pool *pool, job *j, int wanted) {
  int mailed = 0, n = atomic_load_explicit(&pool->n_workers, memory_order_acquire);
  for (int i = 0; i < n && mailed < wanted; ++i) {
    worker *w = &pool->workers[i];
    uintptr_t mail = atomic_load_explicit(&w->mail, memory_order_relaxed);
    while (mail <= ASLEEP && !atomic_compare_exchange_weak(&w->mail, &mail, (uintptr_t)j)) continue;
    if (mail > ASLEEP) continue;
    ++mailed;
    if (mail != ASLEEP) continue;
    wake_elsewhere(w);
    futex_wake(low_half(w));
  }
  return mailed;
}

/* Takes the job back from workers that have not begun; returns from how many. */
static int take_back(runtime_pool *pool, job *j) {
  int taken = 0, n = atomic_load_explicit(&pool->n_workers, memory_order_acquire);
  for (int i = 0; i < n; ++i) {
    uintptr_t mail = (uintptr_t)j;
    if (atomic_load_explicit(&pool->workers[i].mail, memory_order_relaxed) != mail) continue;
    taken += atomic_compare_exchange_strong(&pool->workers[i].mail, &mail, IDLE);
  }
  return taken;
}

/* Spins until all workers have left the job; false: SPIN_NS passed. Loops of some microseconds end here
 * without a system call. */
static bool spin_for_workers(job *j) {
  uint64_t end = runtime_now_ns() + SPIN_NS;
  do {
    for (int i = 0; i < PAUSES; ++i, pause_briefly()) {
      if (atomic_load(&j->pending) == 0) return true;
    }
  } while (runtime_now_ns() < end);
  return false;
}

/* ABSENT: how many of the wanted workers did not take part. */
static void wait_for_workers(job *j, uint32_t absent) {
  if (atomic_fetch_sub(&j->pending, absent) == absent || spin_for_workers(j)) return;
  uint32_t left = atomic_fetch_or(&j->pending, LAUNCHER_SLEEPS) | LAUNCHER_SLEEPS;
  for (; left != LAUNCHER_SLEEPS; left = atomic_load(&j->pending)) futex_wait(&j->pending, left);
}

/* Runs a loop with a job on this stack. PENDING starts with the number of workers wanted, before any can
 * see the job; those that never came are subtracted at the end. */
static void run_together(runtime_pool *pool, tn_parallel_body body, void *loop, int64_t begin, int64_t end,
                         int threads) {
  job j;
  j.body = body;
  j.loop = loop;
  atomic_init(&j.pending, (uint32_t)threads - 1);
  divide(&j, begin, end, RUNTIME_MIN(threads, MAX_SHARES));
  int mailed = mail_to_workers(pool, &j, threads - 1);
  work(&j, 0);
  int here = mailed > 0 ? mailed - take_back(pool, &j) : 0;
  wait_for_workers(&j, (uint32_t)(threads - 1 - here));
}

/* ---- starting and ending ----------------------------------------------------------------------------------------- */

/* Signals are meant for the program's own threads, so workers block them. Those raised by an instruction go
 * to the thread that executes it; blocked, they would end the process in spite of a handler, so they stay
 * open. */
static bool add_worker(runtime_pool *pool) {
  static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  int n = atomic_load(&pool->n_workers);
  worker *w = &pool->workers[n];
  sigset_t all, old;
  w->number = n + 1;
  atomic_init(&w->mail, IDLE);
  atomic_init(&w->id, 0);
  atomic_init(&w->moves, false);
  w->moved = false;
  sigfillset(&all);
  for (int i = 0; i < RUNTIME_COUNT(raised); ++i) sigdelset(&all, raised[i]);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  bool added = pthread_create(&w->thread, NULL, worker_main, w) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (added) atomic_store_explicit(&pool->n_workers, n + 1, memory_order_release);
  return added;
}

/* Adds workers up to WANTED, as far as the system allows, unless another thread is doing so. */
static void grow(runtime_pool *pool, int wanted) {
  if (atomic_load_explicit(&pool->n_workers, memory_order_relaxed) >= wanted || atomic_exchange(&pool->grows, true))
    return;
  while (atomic_load(&pool->n_workers) < wanted && add_worker(pool)) continue;
  atomic_store(&pool->grows, false);
}

/* Makes an empty list of workers. In a forked child the parent's threads are gone and only their memory is there. */
static void make_room(runtime_pool *pool) {
  int limit = pool->limit > 0 ? pool->limit : runtime_machine_threads();
  free(pool->workers);
  pool->workers = limit > 1 ? aligned_alloc(LINE, sizeof(worker) * (size_t)(limit - 1)) : NULL;
  pool->most = pool->workers ? limit - 1 : 0;
  atomic_store(&pool->n_workers, 0);
  atomic_store(&pool->grows, false);
}

/* Whether the workers belong to this process. After a fork a child has its parent's list, but not the threads. */
static bool is_ready(const runtime_pool *pool) {
  pid_t state = atomic_load_explicit(pool->state, memory_order_acquire);
  return state > 0 && (pool->is_wiped || state == getpid());
}

/* False: another thread is starting the pool. */
static bool start(runtime_pool *pool) {
  pid_t state = atomic_load(pool->state);
  if (state == STARTING || !atomic_compare_exchange_strong(pool->state, &state, STARTING)) return false;
  make_room(pool);
  atomic_store(pool->state, getpid());
  return true;
}

/* The page is anonymous and private; MADV_WIPEONFORK (Linux 4.14) makes a child read 0 there. Without that,
 * each loop asks for the process number by a system call. */
static _Atomic pid_t *map_state(bool *is_wiped) {
  void *page = mmap(NULL, sizeof(_Atomic pid_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  *is_wiped = madvise(page, sizeof(_Atomic pid_t), MADV_WIPEONFORK) == 0;
  return page;
}

/* No thread is started until a loop wants one. */
runtime_pool *runtime_pool_new(int limit) {
  runtime_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pool->limit = limit;
  pool->state = map_state(&pool->is_wiped);
  if (pool->state) return pool;
  free(pool);
  return NULL;
}

/* Waits until the worker is idle: no loop may be running, and a mailbox stays BUSY only for the last
 * instructions of one. */
static void dismiss(worker *w) {
  uintptr_t mail = IDLE;
  while (!atomic_compare_exchange_strong(&w->mail, &mail, STOP)) {
    if (mail > ASLEEP) {
      mail = IDLE;
      sched_yield();
    }
  }
  if (mail == ASLEEP) futex_wake(low_half(w));
  pthread_join(w->thread, NULL);
}

void runtime_pool_free(runtime_pool *pool) {
  if (!pool) return;
  int n = runtime_pool_workers(pool);
  for (int i = 0; i < n; ++i) dismiss(&pool->workers[i]);
  munmap((void *)pool->state, sizeof(_Atomic pid_t));
  free(pool->workers);
  free(pool);
}

int runtime_pool_workers(const runtime_pool *pool) {
  return is_ready(pool) ? atomic_load_explicit(&pool->n_workers, memory_order_acquire) : 0;
}

/* ---- the user's own ---------------------------------------------------------------------------------------------- */

/* What a user's parallel-for gets as its loop: every range is checked and every iteration counted. */
typedef struct watched {
  tn_parallel_body body;
  void *loop;
  int64_t begin, end;
  _Atomic int64_t done;
  _Atomic bool broken;
} watched;

/* A range outside the loop is not run, since the body would write outside the kernel's memory. Empty ranges
 * are allowed. */
static void watched_body(void *loop, int64_t begin, int64_t end) {
  watched *w = loop;
  if (begin >= end) return;
  if (begin < w->begin || end > w->end) {
    w->broken = true;
    return;
  }
  w->body(w->loop, begin, end);
  atomic_fetch_add(&w->done, end - begin);
}

/* Counts iterations, not calls: a range run twice instead of another is only noticed if their lengths
 * differ. That suffices to notice a parallel-for that runs only a part or returns too early. */
static int32_t run_by_user(const runtime_pool *pool, tn_parallel_body body, void *loop, int64_t begin, int64_t end,
                           int threads) {
  watched w = {.body = body, .loop = loop, .begin = begin, .end = end};
  pool->parallel_for(pool->user, threads, begin, end, watched_body, &w);
  return w.broken || atomic_load(&w.done) != end - begin ? RUNTIME_LOOP_BROKEN : 0;
}

void runtime_pool_set(runtime_pool *pool, tn_parallel_for_fn parallel_for, void *user) {
  pool->parallel_for = parallel_for;
  pool->user = user;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

/* How many of THREADS a loop of N iterations can use. */
static int32_t usable_threads(runtime_pool *pool, int64_t n, int32_t threads) {
  bool started = is_ready(pool) || start(pool);
  int most = started ? pool->most + 1 : 1;
  threads = RUNTIME_MIN(threads, most);
  return threads > n ? (int32_t)n : threads;
}

/* With one thread no worker is woken and no atomic touched, so a small loop costs no more than a call. */
static void run_by_workers(runtime_pool *pool, tn_parallel_body body, void *loop, int64_t begin, int64_t end,
                           int32_t threads) {
  if (threads <= 1) {
    body(loop, begin, end);
    return;
  }
  grow(pool, threads - 1);
  run_together(pool, body, loop, begin, end, threads);
}

void runtime_pool_share(runtime_pool *pool, tn_parallel_body body, void *loop, int64_t begin, int64_t end,
                        int32_t threads) {
  if (begin < end) run_by_workers(pool, body, loop, begin, end, usable_threads(pool, end - begin, threads));
}

int32_t runtime_pool_run(runtime_pool *pool, tn_parallel_body body, void *loop, int64_t begin, int64_t end,
                         int32_t threads) {
  if (begin >= end) return 0;
  threads = usable_threads(pool, end - begin, threads);
  if (pool->parallel_for) return run_by_user(pool, body, loop, begin, end, RUNTIME_MAX(threads, 1));
  run_by_workers(pool, body, loop, begin, end, threads);
  return 0;
}

static void free_pool(void *pool) { runtime_pool_free(pool); }

runtime_pool *runtime_pool_of(tn_context *ctx) {
  runtime_pool *pool = runtime_slot_get(ctx, RUNTIME_SLOT_POOL);
  if (pool) return pool;
  pool = runtime_pool_new(0);
  if (pool)
    runtime_slot_set(ctx, RUNTIME_SLOT_POOL, pool, free_pool);
  else
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the threads of parallel loops");
  return pool;
}

/* Makes the pool even though no thread is needed yet, since it keeps the choice. */
tn_status tn_set_parallel_for(tn_context *ctx, tn_parallel_for_fn parallel_for, void *user) {
  runtime_pool *pool = ctx ? runtime_pool_of(ctx) : NULL;
  if (!pool) return ctx ? tn_context_status(ctx) : TN_ERROR_ARGUMENT;
  runtime_pool_set(pool, parallel_for, user);
  return TN_OK;
}
