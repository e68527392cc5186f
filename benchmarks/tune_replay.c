/* tune_replay.c: a long search over recorded times, without a kernel: what the tuner itself takes in time and memory. Usage:
 * tune_replay RECORDS TRIALS SEED. Prints a row of a Markdown table: seed, trials, seconds, MiB, and the
 * trial that came to 95 % of the best recorded (0: none). The log is a temporary file. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "benchmarks/best_of_log.h"

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The most memory that the process has had, in MiB. */
static double peak_mib(void) {
  struct rusage used;
  return getrusage(RUSAGE_SELF, &used) == 0 ? (double)used.ru_maxrss / 1024 : 0;
}

/* Notes which trial was the first to take no longer than WANTED_S. */
typedef struct curve {
  double wanted_s;
  int n, reached; /* trials so far; the one that reached it, 0: none has */
} curve;

/* tn_tune calls it after each trial. */
static void follow(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  curve *c = user;
  (void)candidate;
  ++c->n;
  if (c->reached == 0 && m->n_costs > 0 && m->costs[0] <= c->wanted_s) c->reached = c->n;
}

/* Seconds of the best record; 0: none. */
static double best_of(tn_context *ctx, const char *records) {
  tn_log_table table = {0};
  double best_s = tn_log_top(ctx, records, NULL, 1, &table) == TN_OK && table.n_rows == 1 ? table.rows[0].cost_s : 0;
  tn_log_table_free(&table);
  return best_s;
}

/* Runs the search and prints its row. 1: it failed, with a message in the context. */
static int search(tn_context *ctx, char **argv) {
  tn_builder builder;
  tn_runner runner;
  tn_target *target = NULL;
  tn_tune_result result;
  char log[] = "/tmp/tenon-replay-XXXXXX";
  tn_program *program = open_best(ctx, argv[1], &target);
  if (!program || !target || !tn_replay_new(program, target, argv[1], &builder, &runner)) return 1;
  close(mkstemp(log));
  curve c = {.wanted_s = best_of(ctx, argv[1]) / 0.95};
  tn_tune_options options = {.log = log,
                             .trials = atoi(argv[2]),
                             .seed = strtoull(argv[3], NULL, 10),
                             .target = target,
                             .builder = &builder,
                             .runner = &runner,
                             .on_measured = follow,
                             .user = &c};
  double start = now_s();
  tn_status status = tn_tune(program, &options, &result);
  if (status == TN_OK)
    printf("| %s | %d | %.0f | %.0f | %d |\n", argv[3], result.trials, now_s() - start, peak_mib(), c.reached);
  builder.free(builder.self);
  runner.free(runner.self);
  unlink(log);
  return status != TN_OK;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: tune_replay RECORDS TRIALS SEED\n");
    return 2;
  }
  tn_context *ctx = tn_context_new(NULL);
  int status = search(ctx, argv);
  if (status) fprintf(stderr, "tune_replay: %s\n", tn_context_message(ctx));
  tn_context_free(ctx);
  return status;
}
