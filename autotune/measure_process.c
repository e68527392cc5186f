/* measure_process.c: one worker process. It is spawned (never forked) in a process group of its own and
 * talked to over one socket; its last words are kept and its end is explained. Nothing of it is left
 * behind: every way out kills the group and reaps the child. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "autotune/measure.h"

extern char **environ;

/* Descriptors below FIRST_FREE_FD are a process's standard streams. END_MS: how long a process may take to end by
 * itself once its connection is closed. */
enum { FIRST_FREE_FD = 3, END_MS = 500 };

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Moves a descriptor above 2, so that the child's dup2 calls cannot overwrite it. */
static bool lift(int *fd) {
  if (*fd >= FIRST_FREE_FD) return true;
  int lifted = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
  close_fd(fd);
  *fd = lifted;
  return lifted >= 0;
}

/* OURS: the socket and the reading end of the pipe; THEIRS: the other ends. All close on exec. */
static bool make_channels(int ours[2], int theirs[2]) {
  int pair[2], ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
  ours[0] = pair[0];
  theirs[0] = pair[1];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  ours[1] = ends[0];
  theirs[1] = ends[1];
  return lift(&ours[0]) && lift(&ours[1]) && lift(&theirs[0]) && lift(&theirs[1]) &&
         fcntl(ours[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(ours[1], F_SETFL, O_NONBLOCK) == 0;
}

/* Leaves nothing else open in the child: if it held another worker's socket, that worker would not see its
 * input end. */
static int set_actions(posix_spawn_file_actions_t *actions, const int theirs[2]) {
  int error = posix_spawn_file_actions_adddup2(actions, theirs[0], STDIN_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, theirs[0], STDOUT_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, theirs[1], STDERR_FILENO);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, FIRST_FREE_FD);
  return error;
}

/* A new process group, no blocked signals and default handlers, whatever the calling program has set up. */
static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawnattr_setpgroup(attributes, 0);
  if (!error) error = posix_spawnattr_setsigmask(attributes, &none);
  if (!error) error = posix_spawnattr_setsigdefault(attributes, &all);
  if (!error)
    error =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  return error;
}

/* By posix_spawn, not fork: the program may have threads, and gigabytes mapped. */
static int spawn(pid_t *pid, const char *const *argv, const int theirs[2]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = set_actions(&actions, theirs);
    if (!error) error = set_attributes(&attributes);
    if (!error) error = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* After a failure nothing is left open and pid is 0. */
int measure_process_start(measure_process *p, const char *const *argv) {
  int ours[2] = {-1, -1}, theirs[2] = {-1, -1};
  *p = (measure_process){.fd = -1, .err_fd = -1};
  int error = make_channels(ours, theirs) ? spawn(&p->pid, argv, theirs) : errno;
  close_fd(&theirs[0]);
  close_fd(&theirs[1]);
  if (error) {
    close_fd(&ours[0]);
    close_fd(&ours[1]);
    p->pid = 0;
    return error;
  }
  p->fd = ours[0];
  p->err_fd = ours[1];
  return 0;
}

/* ---- last words -------------------------------------------------------------------------------------------------- */

/* Appends to the tail. A ring would be faster, but a worker says little, and this text is complete at any time. */
static void keep_tail(measure_process *p, const char *data, size_t n) {
  if (n > MEASURE_TAIL) {
    data += n - MEASURE_TAIL;
    n = MEASURE_TAIL;
  }
  size_t kept = RUNTIME_MIN(p->tail_n, MEASURE_TAIL - n);
  memmove(p->tail, p->tail + p->tail_n - kept, kept);
  memcpy(p->tail + kept, data, n);
  p->tail_n = kept + n;
  p->tail[p->tail_n] = '\0';
}

/* Reads at most 64 blocks: a worker that writes without end must not hold up the loop. */
void measure_process_read_tail(measure_process *p) {
  char block[4096];
  for (int blocks = 0; p->err_fd >= 0 && blocks < 64; ++blocks) {
    ssize_t n = read(p->err_fd, block, sizeof block);
    if (n > 0)
      keep_tail(p, block, (size_t)n);
    else if (n == 0)
      close_fd(&p->err_fd);
    else if (errno != EINTR)
      return;
  }
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Whether it died within MS. It is not reaped yet, so that its process group cannot become another's. */
static bool has_died(const measure_process *p, int ms) {
  for (uint64_t end = runtime_now_ns() + (uint64_t)ms * 1000000u;;) {
    siginfo_t info = {0};
    int failed = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (failed && errno != EINTR) return true; /* ECHILD: the calling program reaps children itself */
    if (!failed && info.si_pid == p->pid) return true;
    if (runtime_now_ns() >= end) return false;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

/* Kills the group, reaps the child and closes. Returns the status of waitpid, or -1. */
static int finish(measure_process *p) {
  int status = -1;
  pid_t got;
  kill(-p->pid, SIGKILL);
  while ((got = waitpid(p->pid, &status, 0)) < 0 && errno == EINTR) continue;
  measure_process_read_tail(p);
  close_fd(&p->fd);
  close_fd(&p->err_fd);
  p->pid = 0;
  return got < 0 ? -1 : status;
}

void measure_process_kill(measure_process *p) {
  if (p->pid > 0) finish(p);
}

void measure_process_dismiss(measure_process *p) {
  if (p->pid > 0) close_fd(&p->fd);
}

void measure_process_end(measure_process *p) {
  if (p->pid <= 0) return;
  close_fd(&p->fd);
  has_died(p, END_MS);
  finish(p);
}

/* What programs, LLVM, libstdc++ and libgomp print when memory runs out. */
static const char *const memory_words[] = {"out of memory",     "Out of memory",          "bad_alloc",
                                           "OUT OF MEMORY",     "Cannot allocate memory", "failed to allocate",
                                           "allocation failed", "Thread creation failed", "out-of-memory"};

/* Judges by words, since the exit statuses of these libraries tell nothing. */
static bool speaks_of_memory(const char *text) {
  for (int i = 0; i < RUNTIME_COUNT(memory_words); ++i)
    if (strstr(text, memory_words[i])) return true;
  return false;
}

/* Writes how the process ended and returns what snprintf does. For SIGKILL the kernel is named only as
 * probable: a user may kill, too. */
static int describe_status(int status, char *text, size_t n) {
  if (status == -1) return snprintf(text, n, "the worker ended, its exit status was taken by someone else");
  if (WIFEXITED(status)) return snprintf(text, n, "the worker exited with status %d", WEXITSTATUS(status));
  int number = WTERMSIG(status);
  const char *why = number == SIGKILL   ? ", probably by the kernel for want of memory"
                    : number == SIGXCPU ? ", it was over its limit of CPU time"
                                        : "";
  return snprintf(text, n, "the worker was killed by signal %d (%s)%s", number, strsignal(number), why);
}

/* Adds the last line, without control characters, which could garble a log. */
static void add_last_words(const measure_process *p, char *text, size_t n) {
  size_t end = p->tail_n;
  while (end > 0 && p->tail[end - 1] == '\n') --end;
  size_t start = end;
  while (start > 0 && p->tail[start - 1] != '\n') --start;
  if (start == end) return;
  int used = snprintf(text, n, "; its last words: ");
  for (size_t i = start; i < end && (size_t)used + 1 < n; ++i) {
    unsigned char c = (unsigned char)p->tail[i];
    text[used++] = c >= ' ' && c < 127 ? (char)c : '?';
  }
  text[used] = '\0';
}

/* The end of output may be seen before the exit, so this waits. Afterwards the process is gone. */
void measure_process_autopsy(measure_process *p, int wait_ms, measure_death *death) {
  *death = (measure_death){0};
  bool died = has_died(p, wait_ms);
  int status = finish(p);
  int n = died ? describe_status(status, death->text, sizeof death->text)
               : snprintf(death->text, sizeof death->text, "the worker closed its output without ending");
  bool signaled = died && status != -1 && WIFSIGNALED(status);
  death->out_of_cpu = signaled && WTERMSIG(status) == SIGXCPU;
  death->out_of_memory = (signaled && WTERMSIG(status) == SIGKILL) || speaks_of_memory(p->tail);
  add_last_words(p, death->text + n, sizeof death->text - (size_t)n);
}
