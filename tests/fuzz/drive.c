/* The driver: starts workers, follows their messages, has what is wrong shrunk, prints what happened. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/worker.h"

enum { MAX_JOBS = 8, MAX_FINDINGS = 5, LONG_RUN = 20000 };

typedef struct job {
  pid_t pid; /* 0: finished */
  int pipe;
  int64_t number, left; /* the pair it is at, pairs still to compare */
  char program[FUZZ_TEXT], schedule[FUZZ_TEXT], why[FUZZ_TEXT];
  fuzz_counts counts; /* of the current process */
} job;

typedef struct finding {
  int64_t number;
  char program[FUZZ_TEXT], schedule[FUZZ_TEXT];
} finding;

typedef struct drive {
  const char *self;
  uint64_t seed;
  bool stops; /* at the first finding, which is not shrunk */
  int n_jobs, n_findings;
  job *jobs;
  finding *findings; /* MAX_FINDINGS + MAX_JOBS */
  fuzz_counts total;
} drive;

void fuzz_add_counts(fuzz_counts *to, const fuzz_counts *from) {
  int64_t *a = (int64_t *)to;
  const int64_t *b = (const int64_t *)from;
  for (size_t i = 0; i < sizeof *to / sizeof *a; i++) a[i] += b[i];
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

pid_t fuzz_start(const char *self, char *const *argv, int pipe_end, bool quiet) {
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
  j->pid = fuzz_start(d->self, argv, ends[1], false);
  j->pipe = ends[0];
  j->number = first;
  j->counts = (fuzz_counts){0};
  close(ends[1]);
  return j->pid > 0;
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

static void say_replay(const finding *f) {
  printf("schedule: %s\nreplay: test_fuzz --replay '%s' '%s' %lld\n", f->schedule, f->program, f->schedule,
         (long long)f->number);
  fflush(stdout);
}

static void report(drive *d, const job *j, int status) {
  finding *f = &d->findings[d->n_findings++];
  f->number = j->number;
  strcpy(f->program, j->program);
  strcpy(f->schedule, j->schedule);
  printf("\nWRONG: seed %llu, pair %lld: ", (unsigned long long)d->seed, (long long)j->number);
  if (WIFSIGNALED(status))
    printf("killed by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else
    printf("%s\n", j->why[0] ? j->why : "the worker stopped");
  printf("%s", f->program);
  say_replay(f);
}

/* When the workers have ended: one would wait for its pipe to be read, and be taken for hung. */
static void shrink_all(drive *d) {
  for (int i = 0; i < d->n_findings; i++) {
    finding *f = &d->findings[i];
    fuzz_shrink(d->self, f->number, f->program, f->schedule);
    printf("\nsmaller: seed %llu, pair %lld:\n%s", (unsigned long long)d->seed, (long long)f->number, f->program);
    say_replay(f);
  }
}

/* ---- following --------------------------------------------------------------------------------------------------- */

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
    case 'n': return take_number(j);
    case 'p': return take_text(j, j->program, &h);
    case 's': return take_text(j, j->schedule, &h);
    case 'w': return take_text(j, j->why, &h);
    default: return read_all(j->pipe, &j->counts, sizeof j->counts);
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
  if (d->stops)
    stop_workers(d);
  else if (d->n_findings < MAX_FINDINGS && j->left > 0)
    start_worker(d, j, j->number + d->n_jobs);
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

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static double cpu_seconds(void) {
  struct rusage of;
  getrusage(RUSAGE_CHILDREN, &of);
  return (double)(of.ru_utime.tv_sec + of.ru_stime.tv_sec) + (double)(of.ru_utime.tv_usec + of.ru_stime.tv_usec) * 1e-6;
}

static int count_jobs(void) {
  const char *asked = getenv("TENON_FUZZ_JOBS");
  return RUNTIME_MAX(RUNTIME_MIN(asked ? atoi(asked) : tn_thread_count(), MAX_JOBS), 1);
}

int fuzz_drive(const char *self, uint64_t seed, int64_t pairs, bool stops) {
  drive d = {.self = self, .seed = seed, .stops = stops, .n_jobs = count_jobs()};
  uint64_t begin = runtime_now_ns();
  d.jobs = calloc((size_t)d.n_jobs, sizeof *d.jobs);
  d.findings = calloc(MAX_FINDINGS + MAX_JOBS, sizeof *d.findings);
  if (!d.jobs || !d.findings) return 1;
  printf("fuzz: seed %llu, %lld pairs, %d workers\n", (unsigned long long)seed, (long long)pairs, d.n_jobs);
  fflush(stdout);
  for (int i = 0; i < d.n_jobs; i++) {
    d.jobs[i].left = pairs / d.n_jobs + (i < pairs % d.n_jobs);
    if (d.jobs[i].left && !start_worker(&d, &d.jobs[i], i)) d.n_findings++;
  }
  follow_all(&d);
  double seconds = (double)(runtime_now_ns() - begin) * 1e-9;
  /* In a long run nothing is used less than once in a hundred pairs. */
  int rare = fuzz_print_counts(&d.total, pairs >= LONG_RUN && !getenv("TENON_FUZZ_FAMILIES") ? pairs / 100 : 0);
  double n = (double)d.total.pairs;
  printf("fuzz: seed %llu: %.0f pairs compared in %.1f s, %.0f a second (%.1f ms of one core for a pair); %d wrong\n",
         (unsigned long long)seed, n, seconds, n / seconds, cpu_seconds() / n * 1e3, d.n_findings);
  if (!stops) shrink_all(&d);
  free(d.jobs);
  free(d.findings);
  return d.n_findings + rare;
}
