/* farm_simulation.c: a search over recorded times on many simulated machines, each of which builds and times one candidate at a
 * time. The clock is made up: it goes on by the processor time that the tuner takes, all of it, and jumps to the next answer when
 * the tuner waits. So it tells whether one tuner on one core keeps the machines busy, and what that does to the search. Usage:
 * farm_simulation RECORDS WORKERS TRIALS SECONDS SEED [ROUND]; a candidate takes between half and one and a half times SECONDS.
 * Prints a row of a Markdown table: workers, round, trials a second, share of the time that workers were busy, the tuner's milliseconds
 * a trial, best time found. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "benchmarks/best_of_log.h"

/* A machine at work: what it measures, and when on the made-up clock it will be done. */
typedef struct working {
  tn_job *job;
  double ends_s;
} working;

/* The simulated farm. Machines at work are a heap, the first to end at its top; jobs that wait are a ring of
 * ROOM places. All times are seconds of the made-up clock, except `left_s` and `tuner_s`, which are processor
 * time. */
typedef struct farm {
  tn_runner replay; /* where times come from */
  int width, n_working, n_waiting, first_waiting, room;
  double job_s, now_s, left_s; /* a job's mean length; the clock; processor time when the tuner was last entered */
  double since_s, until_s, idle_s,
      idle_until_s; /* from when all machines worked to the last submission, and machine seconds idle until then */
  double tuner_s;
  unsigned short random[3];
  working *heap;
  double *free_s; /* since when each free machine is free: the last WIDTH - N_WORKING of them */
  tn_job **waiting;
} farm;

/* Processor time of the whole process, all threads of the tuner included. */
static double processor_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

static void swap(working *a, working *b) {
  working t = *a;
  *a = *b;
  *b = t;
}

/* Puts a machine that starts into the heap. */
static void push(farm *f, working w) {
  int i = f->n_working++;
  f->heap[i] = w;
  for (; i > 0 && f->heap[i].ends_s < f->heap[(i - 1) / 2].ends_s; i = (i - 1) / 2)
    swap(&f->heap[i], &f->heap[(i - 1) / 2]);
}

/* Takes the machine that ends first out of the heap and returns its job. Needs one at work. */
static tn_job *pop(farm *f) {
  tn_job *job = f->heap[0].job;
  f->heap[0] = f->heap[--f->n_working];
  for (int i = 0, least = 0;; i = least) {
    for (int k = 2 * i + 1; k <= 2 * i + 2 && k < f->n_working; ++k)
      if (f->heap[k].ends_s < f->heap[least].ends_s) least = k;
    if (least == i) return job;
    swap(&f->heap[i], &f->heap[least]);
  }
}

/* Gives waiting jobs to free machines, at the current time: in a real farm, too, a machine gets its next job
 * only when the tuner looks. */
static void start(farm *f) {
  while (f->n_working < f->width && f->n_waiting > 0) {
    tn_job *job = f->waiting[f->first_waiting];
    f->first_waiting = (f->first_waiting + 1) % f->room;
    f->n_waiting--;
    f->idle_s += f->now_s - f->free_s[f->n_working];
    push(f, (working){job, f->now_s + f->job_s * (0.5 + erand48(f->random))});
  }
}

/* Machine seconds without work up to now. */
static double idle_so_far(const farm *f) {
  double idle_s = f->idle_s;
  for (int i = f->n_working; i < f->width; ++i) idle_s += f->now_s - f->free_s[i];
  return idle_s;
}

/* Called when the tuner calls the runner: the processor time that it took since `leave` passes on the clock, too. */
static void enter(farm *f) {
  double passed = processor_s() - f->left_s;
  f->tuner_s += passed;
  f->now_s += passed;
}

/* Called when the runner returns to the tuner. */
static void leave(farm *f) { f->left_s = processor_s(); }

/* ---- the runner: a tn_runner whose machines exist on paper ------------------------------------------------------- */

/* tn_runner.submit. From the first moment when all machines work, idle time is counted afresh. */
static tn_status submit(void *self, tn_job *job) {
  farm *f = self;
  enter(f);
  if (f->n_waiting == f->room) return TN_ERROR_WORKER;
  f->waiting[(f->first_waiting + f->n_waiting++) % f->room] = job;
  start(f);
  if (f->since_s == 0 && f->n_working == f->width) f->since_s = f->now_s, f->idle_s = 0;
  if (f->since_s > 0) f->until_s = f->now_s, f->idle_until_s = idle_so_far(f);
  leave(f);
  return TN_OK;
}

/* tn_runner.poll: waits at most WAIT_S on the made-up clock. The answer itself comes from the recorded times. */
static tn_status poll(void *self, double wait_s, tn_job **done) {
  farm *f = self;
  enter(f);
  *done = NULL;
  if (f->n_working > 0) {
    double ends_s = f->heap[0].ends_s;
    if (ends_s > f->now_s) f->now_s += fmin(ends_s - f->now_s, fmax(wait_s, 0));
    if (ends_s <= f->now_s) {
      *done = pop(f);
      f->free_s[f->n_working] = ends_s;
      start(f);
      f->replay.run(f->replay.self, 1, (*done)->candidate, (*done)->measurement);
    }
  }
  leave(f);
  return TN_OK;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* The row of the table. Busy: the share of machine time between the first full load and the last submission. */
static void print(const farm *f, const tn_tune_result *r, int round) {
  double busy = f->since_s > 0 ? 1 - f->idle_until_s / ((f->until_s - f->since_s) * f->width) : 0;
  printf("| %d | %d | %d | %.1f | %.1f | %.2f | %.4f |\n", f->width, round, r->trials, r->trials / f->now_s, 100 * busy,
         1e3 * f->tuner_s / r->trials, 1e3 * r->best_s);
}

/* Runs one search over the records and prints its row. 1: it failed, with a message in the context. */
static int search(tn_context *ctx, int argc, char **argv) {
  tn_builder builder;
  tn_target *target = NULL;
  tn_tune_result result;
  char log[] = "/tmp/tenon-farm-XXXXXX";
  farm f = {.width = atoi(argv[2]), .job_s = strtod(argv[4], NULL), .random = {1, 2, 3}};
  tn_program *program = open_best(ctx, argv[1], &target);
  if (!program || !target || !tn_replay_new(program, target, argv[1], &builder, &f.replay)) return 1;
  f.room = 4 * f.width + 16;
  f.heap = calloc((size_t)f.width + 1, sizeof *f.heap);
  f.free_s = calloc((size_t)f.width, sizeof *f.free_s);
  f.waiting = calloc((size_t)f.room, sizeof *f.waiting);
  builder.width = 2 * f.width; /* machines build what they time: a build is part of their SECONDS */
  tn_runner runner = {.self = &f, .submit = submit, .poll = poll, .width = f.width};
  close(mkstemp(log));
  tn_tune_options options = {.log = log,
                             .trials = atoi(argv[3]),
                             .seed = strtoull(argv[5], NULL, 10),
                             .per_round = argc > 6 ? atoi(argv[6]) : 0,
                             .target = target,
                             .builder = &builder,
                             .runner = &runner};
  leave(&f);
  tn_status status = tn_tune(program, &options, &result);
  if (status == TN_OK) print(&f, &result, options.per_round);
  builder.free(builder.self);
  f.replay.free(f.replay.self);
  free(f.heap);
  free(f.free_s);
  free(f.waiting);
  unlink(log);
  return status != TN_OK;
}

int main(int argc, char **argv) {
  if ((argc != 6 && argc != 7) || atoi(argv[2]) < 1 || atoi(argv[3]) < 1 || strtod(argv[4], NULL) <= 0) {
    fprintf(stderr, "usage: farm_simulation RECORDS WORKERS TRIALS SECONDS SEED [ROUND]\n");
    return 2;
  }
  tn_context *ctx = tn_context_new(NULL);
  int status = search(ctx, argc, argv);
  if (status) fprintf(stderr, "farm_simulation: %s\n", tn_context_message(ctx));
  tn_context_free(ctx);
  return status;
}
