/* worker_guard.c: two things that a candidate must not do are caught while it runs, without losing the
 * worker and the data it holds:
 *
 *  - Writing to an input. Inputs are mapped read-only. A write faults; the handler notes which input it
 *    was, makes the input writable, and lets the instruction run again. worker_guard_written tells
 *    afterwards.
 *  - Running on when it is clearly slower than the best. A thread sleeps until the time is over and then
 *    signals all threads of the process, again and again, until the call has ended. The handler leaves by
 *    siglongjmp, but only out of the candidate's own code, which holds no lock. A thread of a parallel loop
 *    leaves its part of the loop, further parts are skipped, and the caller leaves once the loop has been
 *    joined.
 *
 * Signal handlers get no argument of ours, so there is one guard for a process. That is enough, since a
 * worker has its process to itself.
 *
 * All state is static: `guard`, part of it under a lock, and for each thread the place where it lands.
 * Nothing is allocated but the guard's thread. */
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

/* STRIKE: the signal that ends a call, sent every STRIKE_NS until the call has ended. */
enum { STRIKE = SIGUSR2, STRIKE_NS = 200000, GUARD_STACK_BYTES = 256 << 10 };

/* Where a thread goes when it is struck; NULL: it is not running a candidate. initial-exec: the handler
 * reads it without a call that might allocate. */
static _Thread_local sigjmp_buf *landing __attribute__((tls_model("initial-exec")));
static _Thread_local bool is_open_to_strikes __attribute__((tls_model("initial-exec")));

static struct worker_guard {
  bool is_started;
  const worker_data *data; /* the data whose inputs are watched; borrowed */
  _Atomic int written;     /* the input that was written to, from 1; 0: none */
  struct sigaction before; /* the handler of SIGSEGV before ours */

  pthread_mutex_t lock; /* of the members up to the blank line */
  pthread_cond_t changed;
  bool is_armed;
  uint64_t start_ns, deadline_ns, limit_ns;
  worker_waits waits; /* of all threads when the call began */
  pid_t thread;       /* the guard's own, which is not struck */

  atomic_bool is_over; /* the call is to end */
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

/* A fault elsewhere goes to the handler that was there before. Without one the default action is restored,
 * and on return the instruction faults again, which ends the process. */
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

/* DATA must live until other data, or NULL, is set. For data that is guarded already nothing changes. */
void worker_guard_inputs(const worker_data *data) {
  if (data && data == guard.data) return;
  guard.data = data;
  atomic_store(&guard.written, 0);
  for (int i = 0; data && i < data->n_inputs; ++i)
    mprotect(data->args[i]->data, runtime_array_mapped_bytes(data->args[i]), PROT_READ);
}

int worker_guard_written(void) { return atomic_load(&guard.written) - 1; }

/* ---- striking ---------------------------------------------------------------------------------------------------- */

/* The address at which the thread was interrupted, from the signal's context; 0 on other processors. */
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

/* Async-signal-safe but for siglongjmp. That is safe here, because candidate code holds no lock and owns nothing. */
static void on_strike(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  if (!landing || !atomic_load(&guard.is_over)) return;
  if (program_counter(context) - guard.code < guard.code_bytes) siglongjmp(*landing, 1);
}

/* Takes the threads from the kernel's list, since a threading runtime's are not known to us. */
static void strike_all(void) {
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id > 0 && id != guard.thread) syscall(SYS_tgkill, getpid(), id, STRIKE);
  }
  if (tasks) closedir(tasks);
}

/* Called with the lock held, as the condition variable wants it. Returns early when the guard is armed again. */
static void wait_until(uint64_t ns) {
  struct timespec at = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  pthread_cond_timedwait(&guard.changed, &guard.lock, &at);
}

/* The deadline has passed. Extends it by what other processes took of the processors since the start; where
 * it is passed even so, strikes. */
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

/* The guard's thread. Never returns: it ends with the process. */
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

/* SA_NODEFER: otherwise leaving by siglongjmp would leave the signal blocked. */
static void handle(int number, void (*handler)(int, siginfo_t *, void *), struct sigaction *before) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, before);
}

/* All signals are blocked in the guard's thread, so that none meant for the program is delivered there. */
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

/* Finds the mapping that holds the kernel's code. False: unknown. */
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

/* The limit counts from here. The waits of all threads so far are noted, to be subtracted. */
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

/* Takes the lock, so that the guard is not between its look at the clock and its strikes. */
static void disarm(void) {
  pthread_mutex_lock(&guard.lock);
  guard.is_armed = false;
  atomic_store(&guard.is_over, false);
  pthread_mutex_unlock(&guard.lock);
}

/* A parallel loop as the guard passes it on. It lives on the caller's stack, which outlives the loop. */
typedef struct guarded_loop {
  tn_parallel_body body;
  void *loop;
} guarded_loop;

/* The pool starts its threads with signals blocked. Each unblocks STRIKE once, in the first part of a
 * guarded loop that it gets. */
static void open_to_strikes(void) {
  sigset_t strikes;
  if (is_open_to_strikes) return;
  sigemptyset(&strikes);
  sigaddset(&strikes, STRIKE);
  pthread_sigmask(SIG_UNBLOCK, &strikes, NULL);
  is_open_to_strikes = true;
}

/* Runs a part of a parallel loop, on any thread. */
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

/* Runs a parallel loop. If the call is over the caller leaves here, after the join, since the other threads
 * use its stack. */
static void guarded_for(void *pool, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  guarded_loop l = {body, loop};
  runtime_pool_share(pool, guarded_body, &l, begin, end, threads);
  if (atomic_load(&guard.is_over) && landing == guard.out) siglongjmp(*guard.out, 1);
}

/* sigsetjmp without the signal mask: SA_NODEFER leaves the mask unchanged, and saving it is a system call
 * in every timed call. */
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

/* Without a limit, or where the code cannot be found, the kernel is called unguarded. */
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
