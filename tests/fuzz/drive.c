/* The driver: starts workers, follows their messages, shrinks what is wrong, prints what happened. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/worker.h"

enum { MAX_JOBS = 8, MAX_FINDINGS = 5 };

typedef struct job {
  pid_t pid; /* 0: finished */
  int pipe;
  int64_t number, left; /* the pair it is at, pairs still to compare */
  char program[FUZZ_TEXT], schedule[FUZZ_TEXT], why[FUZZ_TEXT];
  fuzz_counts counts; /* of the current process */
} job;

typedef struct drive {
  const char *self;
  uint64_t seed;
  bool stops; /* at the first finding, which is not shrunk */
  int n_jobs, n_findings;
  job *jobs;
  fuzz_counts total;
} drive;

void fuzz_add_counts(fuzz_counts *to, const fuzz_counts *from) {
  int64_t *a = (int64_t *)to;
  const int64_t *b = (const int64_t *)from;
  for (size_t i = 0; i < sizeof *to / sizeof *a; i++) a[i] += b[i];
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Executes this program again. PIPE: what becomes FUZZ_PIPE, or -1; QUIET: without output. */
static pid_t start(const char *self, char *const *argv, int pipe_end, bool quiet) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  if (pipe_end >= 0) dup2(pipe_end, FUZZ_PIPE);
  if (quiet) {
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
  }
  execv(self, argv);
  _exit(4);
}

static bool start_worker(drive *d, job *j, int64_t first) {
  int ends[2];
  char numbers[4][32];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  snprintf(numbers[0], sizeof numbers[0], "%llu", (unsigned long long)d->seed);
  snprintf(numbers[1], sizeof numbers[1], "%lld", (long long)first);
  snprintf(numbers[2], sizeof numbers[2], "%d", d->n_jobs);
  snprintf(numbers[3], sizeof numbers[3], "%lld", (long long)j->left);
  char *argv[] = {"test_fuzz", "--worker", numbers[0], numbers[1], numbers[2], numbers[3], NULL};
  j->pid = start(d->self, argv, ends[1], false);
  j->pipe = ends[0];
  j->number = first;
  j->counts = (fuzz_counts){0};
  close(ends[1]);
  return j->pid > 0;
}

/* ---- shrinking
 * ------------------------------------------------------------------------------------------------------- */

/* Whether the texts still go wrong, in a process of their own. */
static bool fails(const drive *d, const char *program, const char *schedule, int64_t number) {
  char seed[32];
  int status = 0;
  snprintf(seed, sizeof seed, "%lld", (long long)number);
  char *argv[] = {"test_fuzz", "--replay", (char *)program, (char *)schedule, seed, NULL};
  pid_t pid = start(d->self, argv, -1, true);
  return pid > 0 && waitpid(pid, &status, 0) == pid && status != 0;
}

/* SCHEDULE without its WHICH-th primitive. False: it has fewer. */
static bool without(const char *schedule, int which, char *out) {
  const char *from = schedule;
  for (int i = 0; i < which; i++) {
    from = strstr(from, "; ");
    if (!from) return false;
    from += 2;
  }
  const char *end = strstr(from, "; ");
  size_t before = (size_t)(from - schedule);
  if (!*from) return false;
  memcpy(out, schedule, before);
  strcpy(out + before, end ? end + 2 : "");
  if (!end && before >= 2) out[before - 2] = '\0';
  return true;
}

/* Drops primitives as long as the pair still goes wrong. */
static void shrink(const drive *d, job *j) {
  static char shorter[FUZZ_TEXT];
  if (!fails(d, j->program, j->schedule, j->number)) return;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; without(j->schedule, i, shorter); i++) {
      if (!fails(d, j->program, shorter, j->number)) continue;
      strcpy(j->schedule, shorter);
      changed = true;
      i--;
    }
  }
}

static void report(drive *d, job *j, int status) {
  d->n_findings++;
  printf("\nWRONG: seed %llu, pair %lld: ", (unsigned long long)d->seed, (long long)j->number);
  if (WIFSIGNALED(status))
    printf("killed by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else
    printf("%s\n", j->why[0] ? j->why : "the worker stopped");
  printf("%s", j->program);
  fflush(stdout);
  if (!d->stops) shrink(d, j);
  printf("schedule: %s\nreplay: test_fuzz --replay '%s' '%s' %lld\n", j->schedule, j->program, j->schedule,
         (long long)j->number);
  fflush(stdout);
}

/* ---- following
 * ------------------------------------------------------------------------------------------------------- */

static bool read_all(int fd, void *to, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t got = read(fd, (char *)to + done, n - done);
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static bool take_text(job *j, char *to, const fuzz_header *h) {
  if (h->bytes >= FUZZ_TEXT || !read_all(j->pipe, to, h->bytes)) return false;
  to[h->bytes] = '\0';
  return true;
}

static bool take_number(job *j) {
  j->program[0] = j->schedule[0] = j->why[0] = '\0';
  return read_all(j->pipe, &j->number, sizeof j->number);
}

/* One message. False: the worker has ended. */
static bool follow(job *j) {
  fuzz_header h;
  if (!read_all(j->pipe, &h, sizeof h)) return false;
  switch (h.kind) {
    case 'n':
      return take_number(j);
    case 'p':
      return take_text(j, j->program, &h);
    case 's':
      return take_text(j, j->schedule, &h);
    case 'w':
      return take_text(j, j->why, &h);
    default:
      return read_all(j->pipe, &j->counts, sizeof j->counts);
  }
}

/* They end at once, and count as what they are: stopped. */
static void stop_workers(drive *d) {
  for (int i = 0; i < d->n_jobs; i++) {
    job *j = &d->jobs[i];
    if (!j->pid) continue;
    kill(j->pid, SIGKILL);
    waitpid(j->pid, NULL, 0);
    close(j->pipe);
    j->pid = 0;
  }
}

/* A worker ended: done, or wrong, and then another goes on behind the wrong pair. */
static void finish(drive *d, job *j) {
  int status = 0;
  waitpid(j->pid, &status, 0);
  close(j->pipe);
  j->pid = 0;
  fuzz_add_counts(&d->total, &j->counts);
  j->left -= j->counts.pairs;
  if (status == 0) return;
  report(d, j, status);
  if (d->stops) stop_workers(d);
  else if (d->n_findings < MAX_FINDINGS && j->left > 0) start_worker(d, j, j->number + d->n_jobs);
}

static void follow_all(drive *d) {
  struct pollfd fds[MAX_JOBS];
  for (;;) {
    int n = 0;
    job *of[MAX_JOBS];
    for (int i = 0; i < d->n_jobs; i++)
      if (d->jobs[i].pid) of[n] = &d->jobs[i], fds[n++] = (struct pollfd){.fd = d->jobs[i].pipe, .events = POLLIN};
    if (n == 0) return;
    poll(fds, (nfds_t)n, -1);
    for (int i = 0; i < n; i++)
      if (of[i]->pid && fds[i].revents && !follow(of[i])) finish(d, of[i]);
  }
}

/* ---- telling
 * ---------------------------------------------------------------------------------------------------------- */

static void print_counts(const fuzz_counts *c) {
  static const char *const words[] = {
#define X(name, word) word,
      FUZZ_PRIMITIVES(X)
#undef X
  };
  static const char *const tails[] = {
#define X(name, word) word,
      TN_TAILS(X)
#undef X
  };
  printf("  %-16s %9s %9s\n", "primitive", "accepted", "refused");
  for (int i = 0; i < FUZZ_PRIMITIVE_COUNT; i++)
    printf("  %-16s %9lld %9lld\n", words[i], (long long)c->accepted[i], (long long)c->refused[i]);
  for (int i = 0; i < TN_TAIL_COUNT; i++) printf("  tail %-11s %9lld\n", tails[i], (long long)c->tails[i]);
  printf("  pairs with a generic schedule: %lld\n", (long long)c->generic_pairs);
  printf("  not run: %lld programs refused, %lld with unsafe roundings, %lld schedules too slow\n",
         (long long)c->programs_refused, (long long)c->programs_unsafe, (long long)c->schedules_too_slow);
}

int fuzz_drive(const char *self, uint64_t seed, int64_t pairs, bool stops) {
  drive d = {.self = self, .seed = seed, .stops = stops, .n_jobs = RUNTIME_MIN(tn_thread_count(), MAX_JOBS)};
  uint64_t begin = runtime_now_ns();
  d.jobs = calloc((size_t)d.n_jobs, sizeof *d.jobs);
  if (!d.jobs) return 1;
  printf("fuzz: seed %llu, %lld pairs, %d workers\n", (unsigned long long)seed, (long long)pairs, d.n_jobs);
  fflush(stdout);
  for (int i = 0; i < d.n_jobs; i++) {
    d.jobs[i].left = pairs / d.n_jobs + (i < pairs % d.n_jobs);
    if (d.jobs[i].left && !start_worker(&d, &d.jobs[i], i)) d.n_findings++;
  }
  follow_all(&d);
  double seconds = (double)(runtime_now_ns() - begin) * 1e-9;
  print_counts(&d.total);
  printf("fuzz: %lld pairs compared in %.1f s, %.0f a second; %d wrong\n", (long long)d.total.pairs, seconds,
         (double)d.total.pairs / seconds, d.n_findings);
  free(d.jobs);
  return d.n_findings;
}
