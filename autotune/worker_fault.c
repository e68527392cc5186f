/* worker_fault.c: faults on demand, for tests of the tuner's side: what a bad candidate does to its worker. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "autotune/worker.h"

static const char *const fault_words[] = {[WORKER_NO_FAULT] = "",
#define X(name, text) [WORKER_##name] = text,
                                          WORKER_FAULTS(X)
#undef X
};

static const char *const request_words[] = {"hello", "build", "prepare", "run"};

/* "run-crash@3". False: not of that form, an unknown word, or no positive number. */
bool worker_fault_parse(const char *text, worker_fault *out) {
  char fault[32];
  long long at = 0;
  int n = 0;
  *out = (worker_fault){0};
  if (sscanf(text, "%15[a-z]-%31[a-z-]@%lld%n", out->request, fault, &at, &n) != 3 || text[n] || at < 1) return false;
  out->at = at;
  int kind = RUNTIME_FIND(fault_words, fault);
  if (kind > 0) out->kind = (worker_fault_kind)kind;
  return out->kind != WORKER_NO_FAULT && RUNTIME_FIND(request_words, out->request) >= 0;
}

worker_fault_kind worker_fault_next(worker_fault *fault, const char *request) {
  if (fault->kind == WORKER_NO_FAULT || strcmp(fault->request, request) != 0) return WORKER_NO_FAULT;
  return ++fault->seen == fault->at ? fault->kind : WORKER_NO_FAULT;
}

/* ---- striking ---------------------------------------------------------------------------------------------------- */

/* Each of the functions below breaks one promise that a worker gives. */
static void crash(int out_fd) {
  (void)out_fd;
  if (!worker_last_is_on()) signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would turn it into an exit */
  raise(SIGSEGV);
}

/* Like a failed assertion. */
static void die_by_abort(int out_fd) {
  (void)out_fd;
  if (!worker_last_is_on()) signal(SIGABRT, SIG_DFL);
  abort();
}

/* Like a kernel that calls exit: no answer follows. */
static void leave(int out_fd) {
  (void)out_fd;
  if (worker_last_is_on()) exit(3);
  _exit(3);
}

static void hang(int out_fd) {
  (void)out_fd;
  for (;;) pause();
}

/* Keeps its processor busy, so that only the time limit ends it. */
static void spin(int out_fd) {
  (void)out_fd;
  for (volatile uint64_t n = 0;; ++n) continue;
}

/* Maps memory, since a sanitizer's malloc would end the process in its own way. Without a limit it stops at
 * 64 GiB; the pages are not touched. */
static void eat_memory(int out_fd) {
  static const char words[] = "terminate called after throwing an instance of 'std::bad_alloc'\n";
  const size_t bite = 16 << 20;
  for (size_t eaten = 0; eaten < (size_t)64 << 30; eaten += bite) {
    if (mmap(NULL, bite, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
      continue;
    if (write(STDERR_FILENO, words, sizeof words - 1) > 0) die_by_abort(out_fd);
  }
  _exit(4);
}

/* Like a kernel that prints: what comes is no frame. */
static void babble(int out_fd) {
  protocol_write(out_fd, "C[0, 0] = 42\n", 13);
  hang(out_fd);
}

/* Announces 64 bytes, sends 8, and exits. */
static void truncate_answer(int out_fd) {
  protocol_write(out_fd, "\x40\0\0\0{\"error\"", 12);
  _exit(0);
}

/* A well-formed frame that answers a request nobody made. */
static void answer_stranger(int out_fd) {
  static const char text[] = "{\"id\":-7,\"error\":\"none\"}";
  runtime_str out = {0};
  runtime_str_addn(&out, (char[]){sizeof text - 1, 0, 0, 0}, 4);
  runtime_str_add(&out, text);
  protocol_write(out_fd, out.data, out.n);
  hang(out_fd);
}

/* Closes the sending side only. That works on sockets, which is what the pool gives its workers. */
static void close_and_hang(int out_fd) {
  shutdown(out_fd, SHUT_WR);
  hang(out_fd);
}

/* Writes words until the pipe is full, and then blocks there. */
static void chatter(int out_fd) {
  static const char text[] = "Welcome to this machine. ";
  while (protocol_write(out_fd, text, sizeof text - 1)) continue;
  _exit(0);
}

/* Whether the calls meant for threads can signal another process, change its limits, or make one. */
static bool reaches_processes(void) {
  pid_t parent = getppid(), child = fork();
  struct rlimit now;
  if (child == 0) _exit(0);
  return child > 0 || syscall(SYS_tgkill, parent, parent, 0) == 0 || syscall(SYS_tkill, parent, 0) == 0 ||
         prlimit(parent, RLIMIT_CORE, NULL, &now) == 0;
}

/* Tries ways out of the sandbox: a program, a socket, files written and removed, another process. Exits if
 * one is open; crashes if all are refused. */
static void break_out(int out_fd) {
  const char *const argv[] = {"/bin/true", NULL};
  char file[] = "/tmp/tenon-break-out";
  pid_t child = 0;
  bool is_out = socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
  is_out |= open(file, O_WRONLY | O_CREAT, 0600) >= 0 || open("/dev/null", O_RDWR) >= 0 || creat(file, 0600) >= 0;
  is_out |= unlink(file) == 0 || mkdir(file, 0700) == 0 || kill(getppid(), 0) == 0;
  is_out |= posix_spawn(&child, argv[0], NULL, NULL, (char *const *)argv, NULL) == 0;
  is_out |= open("/proc/self/status", O_RDONLY) < 0; /* reading stays */
  if (is_out || reaches_processes()) leave(out_fd);
  crash(out_fd);
}

static void (*const strikes[])(int) = {
    [WORKER_CRASH] = crash,
    [WORKER_ABORT] = die_by_abort,
    [WORKER_EXIT] = leave,
    [WORKER_HANG] = hang,
    [WORKER_SPIN] = spin,
    [WORKER_EAT_MEMORY] = eat_memory,
    [WORKER_GARBAGE] = babble,
    [WORKER_TRUNCATE] = truncate_answer,
    [WORKER_STRANGER] = answer_stranger,
    [WORKER_CLOSE] = close_and_hang,
    [WORKER_BREAK_OUT] = break_out,
    [WORKER_DEAF] = hang,
    [WORKER_CHATTY] = chatter,
};

void worker_fault_strike(worker_fault_kind kind, int out_fd) {
  if ((int)kind < RUNTIME_COUNT(strikes) && strikes[kind]) strikes[kind](out_fd);
}
