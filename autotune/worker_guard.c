/* worker_guard.c: two things that a candidate must not do, caught while it runs, without losing the worker and what it
 * holds:
 *
 *  - write to an input. Inputs are mapped read-only; the fault of a write is noted, the input made writable, and the
 *    instruction run again. Who asks afterwards is told which input it was.
 *  - run on when it is clearly slower than the best. A thread sleeps until the time is over and then signals all threads
 *    of the process, again and again, until the call has ended. The handler leaves by siglongjmp, but only from the
 *    candidate's own code: that holds no lock. A thread of a parallel loop leaves its part of the loop, further parts
 *    are skipped, and the caller leaves when the loop has been joined.
 *
 * Signal handlers have no argument of ours, so there is one guard a process: a worker owns its process.
 *
 * All of it is static: `guard` under its lock, and for each thread where it lands. Nothing is owned but the
 * guard's thread. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "autotune/worker.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"

enum { STRIKE = SIGUSR2, STRIKE_NS = 200000, GUARD_STACK_BYTES = 256 << 10 };

/* Where a thread goes when it is struck; NULL: it is not running a candidate. */
static _Thread_local sigjmp_buf *landing __attribute__((tls_model("initial-exec")));
static _Thread_local bool is_open_to_strikes __attribute__((tls_model("initial-exec")));

static struct worker_guard {
  bool is_started;
  const worker_data *data; /* whose inputs are watched */
  _Atomic int written;     /* the input that was written to, counted from 1; 0: none */
  struct sigaction before; /* what handled SIGSEGV */

  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  bool is_armed;
  uint64_t start_ns, deadline_ns, limit_ns;
  worker_waits waits; /* at the start */
  pid_t thread;       /* of the guard itself */

  atomic_bool is_over; /* the call shall end */
  uintptr_t code, code_bytes;
  sigjmp_buf *out; /* the caller's landing */
} guard;

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* The input that holds an address, counted from 1; 0: none. */
static int input_at(const void *address) {
  const worker_data *d = guard.data;
  for (int i = 0; d && i < d->n_inputs; ++i) {
    size_t offset = (size_t)((const char *)address - (const char *)d->args[i]->data);
    if (offset < runtime_array_mapped_bytes(d->args[i])) return i + 1;
  }
  return 0;
}

/* A fault elsewhere is handled as it would have been without us: on return the instruction faults again. */
static void on_fault(int number, siginfo_t *info, void *context) {
  int input = input_at(info->si_addr);
  if (input) {
    DLTensor *t = guard.data->args[input - 1];
    atomic_store(&guard.written, input);
    if (mprotect(t->data, runtime_array_mapped_bytes(t), PROT_READ | PROT_WRITE) == 0) return;
  }
  if (guard.before.sa_flags & SA_SIGINFO)
    guard.before.sa_sigaction(number, info, context);
  else
    signal(number, SIG_DFL);
}

/* DATA must stay until another is set. Of data that are guarded already nothing was written to since, or it is told. */
void worker_guard_inputs(const worker_data *data) {
  if (data && data == guard.data) return;
  guard.data = data;
  atomic_store(&guard.written, 0);
  for (int i = 0; data && i < data->n_inputs; ++i)
    mprotect(data->args[i]->data, runtime_array_mapped_bytes(data->args[i]), PROT_READ);
}

int worker_guard_written(void) { return atomic_load(&guard.written) - 1; }

/* ---- striking ---------------------------------------------------------------------------------------------------- */

/* Where the thread was interrupted, from the signal's context. */
static uintptr_t program_counter(const void *context) {
  const ucontext_t *c = context;
#if defined(__x86_64__)
  return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (uintptr_t)c->uc_mcontext.pc;
#else
  return (void)c, 0; /* never the candidate's code: only the tuner's time limit ends a run */
#endif
}

/* Async-signal-safe but for siglongjmp, which is safe here because candidate code holds no lock and
 * owns nothing. */
static void on_strike(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  if (!landing || !atomic_load(&guard.is_over)) return;
  if (program_counter(context) - guard.code < guard.code_bytes) siglongjmp(*landing, 1);
}

/* By the kernel's list of threads: a runtime's threads are not known to us. */
static void strike_all(void) {
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id > 0 && id != guard.thread) syscall(SYS_tgkill, getpid(), id, STRIKE);
  }
  if (tasks) closedir(tasks);
}

/* With the lock held, as a condition variable wants it. Returns early when the guard is armed anew. */
static void wait_until(uint64_t ns) {
  struct timespec at = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  pthread_cond_timedwait(&guard.changed, &guard.lock, &at);
}

/* Time is over: but what other processes took of the processors is not the candidate's. */
static void end_or_extend(void) {
  uint64_t robbed = worker_waited_ns(&guard.waits), end = guard.start_ns + guard.limit_ns + robbed;
  if (end > guard.deadline_ns) {
    guard.deadline_ns = end;
    return;
  }
  atomic_store(&guard.is_over, true);
  strike_all();
  wait_until(runtime_now_ns() + STRIKE_NS);
}

/* Never returns: the thread ends with the process. */
static void *guard_main(void *unused) {
  (void)unused;
  pthread_mutex_lock(&guard.lock);
  guard.thread = (pid_t)syscall(SYS_gettid);
  for (;;) {
    if (!guard.is_armed)
      pthread_cond_wait(&guard.changed, &guard.lock);
    else if (runtime_now_ns() < guard.deadline_ns)
      wait_until(guard.deadline_ns);
    else
      end_or_extend();
  }
  return NULL;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* SA_NODEFER: leaving by siglongjmp would else leave the signal blocked. */
static void handle(int number, void (*handler)(int, siginfo_t *, void *), struct sigaction *before) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, before);
}

/* All signals are blocked in the guard's own thread: the program's signals are not for it. */
static bool start_thread(void) {
  pthread_attr_t attributes;
  pthread_condattr_t clock;
  pthread_t thread;
  sigset_t all, old;
  if (pthread_attr_init(&attributes) != 0 || pthread_condattr_init(&clock) != 0) return false;
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&guard.changed, &clock);
  pthread_mutex_init(&guard.lock, NULL);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, GUARD_STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  bool started = pthread_create(&thread, &attributes, guard_main, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
  pthread_condattr_destroy(&clock);
  return started;
}

bool worker_guard_start(void) {
  if (guard.is_started) return true;
  handle(SIGSEGV, on_fault, &guard.before);
  handle(STRIKE, on_strike, NULL);
  guard.is_started = start_thread();
  return guard.is_started;
}

/* ---- a call with a limit ----------------------------------------------------------------------------------------- */

/* The mapping that holds the kernel's code. */
static bool find_code(const tn_kernel *kernel) {
  char line[512];
  uintptr_t at = (uintptr_t)kernel->fn;
  guard.code = guard.code_bytes = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps && guard.code == 0 && fgets(line, sizeof line, maps)) {
    unsigned long long begin, end;
    if (sscanf(line, "%llx-%llx", &begin, &end) != 2 || at < begin || at >= end) continue;
    guard.code = (uintptr_t)begin;
    guard.code_bytes = (uintptr_t)(end - begin);
  }
  if (maps) fclose(maps);
  return guard.code != 0;
}

/* The limit counts from here: the waits of all threads are noted, to be taken off. */
static void arm(double limit_s) {
  pthread_mutex_lock(&guard.lock);
  atomic_store(&guard.is_over, false);
  worker_take_waits(&guard.waits);
  guard.start_ns = runtime_now_ns();
  guard.limit_ns = (uint64_t)(limit_s * 1e9);
  guard.deadline_ns = guard.start_ns + guard.limit_ns;
  guard.is_armed = true;
  pthread_cond_signal(&guard.changed);
  pthread_mutex_unlock(&guard.lock);
}

/* Under the lock: the guard is then not between its look at the clock and its strikes. */
static void disarm(void) {
  pthread_mutex_lock(&guard.lock);
  guard.is_armed = false;
  atomic_store(&guard.is_over, false);
  pthread_mutex_unlock(&guard.lock);
}

/* A parallel loop as the guard passes it on; on the caller's stack, which outlives the loop. */
typedef struct guarded_loop {
  tn_parallel_body body;
  void *loop;
} guarded_loop;

/* Threads of the pool are born with signals blocked; each opens once, in the first part of a loop that
 * it gets. */
static void open_to_strikes(void) {
  sigset_t strikes;
  if (is_open_to_strikes) return;
  sigemptyset(&strikes);
  sigaddset(&strikes, STRIKE);
  pthread_sigmask(SIG_UNBLOCK, &strikes, NULL);
  is_open_to_strikes = true;
}

/* A part of a parallel loop, on any thread. */
static void guarded_body(void *user, int64_t begin, int64_t end) {
  const guarded_loop *l = user;
  sigjmp_buf here, *volatile outer = landing;
  if (atomic_load_explicit(&guard.is_over, memory_order_relaxed)) return;
  open_to_strikes();
  if (sigsetjmp(here, 0) == 0) {
    landing = &here;
    l->body(l->loop, begin, end);
  }
  landing = outer;
}

/* The caller's own part may have been left too: then it leaves here, after the join, since the others
 * use its stack. */
static void guarded_for(void *pool, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  guarded_loop l = {body, loop};
  runtime_pool_share(pool, guarded_body, &l, begin, end, threads);
  if (atomic_load(&guard.is_over) && landing == guard.out) siglongjmp(*guard.out, 1);
}

/* sigsetjmp without the mask: SA_NODEFER leaves it unchanged, and saving it is a system call in every
 * call that is timed. */
static bool call_armed(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args, double limit_s,
                       tn_status *status) {
  sigjmp_buf out;
  volatile bool has_ended = false;
  arm(limit_s);
  if (sigsetjmp(out, 0) == 0) {
    landing = guard.out = &out;
    *status = runtime_call_quiet(ctx, kernel, args, n_args);
  } else {
    has_ended = true;
  }
  landing = guard.out = NULL;
  disarm();
  return !has_ended;
}

/* Without a limit, or where the code cannot be found, the call runs as it is. */
bool worker_guard_call(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args, double limit_s,
                       tn_status *status) {
  runtime_pool *pool = runtime_pool_of(ctx);
  if (limit_s <= 0 || !pool || kernel->stages || !worker_guard_start() || !find_code(kernel)) {
    *status = runtime_call_quiet(ctx, kernel, args, n_args);
    return true;
  }
  runtime_pool_set(pool, guarded_for, pool);
  bool finished = call_armed(ctx, kernel, args, n_args, limit_s, status);
  runtime_pool_set(pool, NULL, NULL);
  return finished;
}
