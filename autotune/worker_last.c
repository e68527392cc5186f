/* worker_last.c: what a worker on a host says before a candidate ends it. The tuner sees no exit status and
 * no signal of a process on a host, so without these words a crash would look as if the host, or the way to
 * it, were lost. For the same reason the worker itself ends a request that takes longer than its limit.
 *
 * The words are prepared before a request is served; the handlers only write them. Signal handlers get no
 * argument of ours, so all state is static: a worker has its process to itself. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "autotune/worker.h"

/* WORDS_BYTES: of a message, including the LENGTH_BYTES of its frame. STACK_BYTES: of the stack that the signal
 * handler runs on, since the candidate's own may have overflowed. */
enum { WORDS_BYTES = 160, STACK_BYTES = 64 << 10, LENGTH_BYTES = 4 };

/* The ways in which a worker ends. X(NAME, signal, whether it is the time limit, "words") */
#define ENDS(X)                                                              \
  X(EXIT, 0, false, "exited")                                                \
  X(SEGV, SIGSEGV, false, "was killed by signal 11 (Segmentation fault)")    \
  X(BUS, SIGBUS, false, "was killed by signal 7 (Bus error)")                \
  X(FPE, SIGFPE, false, "was killed by signal 8 (Floating point exception)") \
  X(ILL, SIGILL, false, "was killed by signal 4 (Illegal instruction)")      \
  X(ABRT, SIGABRT, false, "was killed by signal 6 (Aborted)")                \
  X(XCPU, SIGXCPU, true, "was over its limit of processor time")             \
  X(ALRM, SIGALRM, true, "was over its time limit")

typedef enum last_end {
#define X(name, signal, is_late, words) END_##name,
  ENDS(X)
#undef X
      N_ENDS
} last_end;

static const struct end_row {
  int signal;
  bool is_late;
  const char *words;
} rows[] = {
#define X(name, signal, is_late, words) {signal, is_late, words},
    ENDS(X)
#undef X
};

/* All state of this file. */
static struct worker_last {
  bool is_started;
  int fd;
  pid_t pid;            /* so that a forked child stays silent */
  atomic_bool is_armed; /* a request is served and nothing was said yet */
  struct {
    char bytes[WORDS_BYTES];
    size_t n;
  } messages[N_ENDS];
} last;

/* ---- the words --------------------------------------------------------------------------------------------------- */

/* Prepares a message in the form of protocol_encode. It has fixed words and a number, so nothing needs quoting. */
static void compose(last_end end, int64_t id) {
  char *bytes = last.messages[end].bytes;
  int n = snprintf(bytes + LENGTH_BYTES, WORDS_BYTES - LENGTH_BYTES, "{\"id\":%lld,\"died\":\"%s\",\"late\":%s}",
                   (long long)id, rows[end].words, rows[end].is_late ? "true" : "false");
  for (int i = 0; i < LENGTH_BYTES; ++i) bytes[i] = (char)(n >> (8 * i));
  last.messages[end].n = LENGTH_BYTES + (size_t)n;
}

/* Async-signal-safe. Only the first of several threads says anything. */
static void say(last_end end) {
  bool was_armed = atomic_exchange(&last.is_armed, false);
  if (was_armed && getpid() == last.pid) protocol_write(last.fd, last.messages[end].bytes, last.messages[end].n);
}

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

/* Says how the worker ends, and ends it in that way. An alarm that comes after the request is over does nothing. */
static void on_signal(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  last_end end = END_EXIT;
  while (rows[end].signal != number) ++end;
  if (number == SIGALRM && !atomic_load(&last.is_armed)) return;
  say(end);
  if (number == SIGALRM) _exit(1);
  signal(number, SIG_DFL);
  raise(number);
}

static void on_exit_call(void) { say(END_EXIT); }

/* Handlers get a stack of their own, so that an overflow of the main one can be told, too. */
static void give_stack(void) {
  void *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = STACK_BYTES}, NULL);
}

void worker_last_start(int out_fd) {
  if (last.is_started) return;
  last.is_started = true;
  last.fd = out_fd;
  last.pid = getpid();
  give_stack();
  for (int i = END_EXIT + 1; i < N_ENDS; ++i) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(rows[i].signal, &action, NULL);
  }
  atexit(on_exit_call);
}

bool worker_last_is_on(void) { return last.is_started; }

/* ---- a request --------------------------------------------------------------------------------------------------- */

static void set_alarm(double seconds) {
  struct itimerval timer = {.it_value = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

void worker_last_arm(int64_t id, double limit_s) {
  if (!last.is_started) return;
  for (int i = 0; i < N_ENDS; ++i) compose((last_end)i, id);
  atomic_store(&last.is_armed, true);
  if (limit_s > 0) set_alarm(limit_s < 1e9 ? limit_s : 1e9);
}

/* If another thread is about to say its words, this one must not answer any more: it waits for the process to end. */
void worker_last_disarm(void) {
  if (!last.is_started) return;
  set_alarm(0);
  if (!atomic_exchange(&last.is_armed, false))
    for (;;) pause();
}
