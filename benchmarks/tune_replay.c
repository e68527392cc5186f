/* tune_replay.c: a long search over recorded times, without a kernel: what the tuner itself takes in time and memory. Usage:
 * tune_replay RECORDS TRIALS SEED. Prints a row of a Markdown table. The log is a temporary file. */
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

static double peak_mib(void) {
  struct rusage used;
  return getrusage(RUSAGE_SELF, &used) == 0 ? (double)used.ru_maxrss / 1024 : 0;
}

static int search(tn_context *ctx, char **argv) {
  tn_builder builder;
  tn_runner runner;
  tn_target *target = NULL;
  tn_tune_result result;
  char log[] = "/tmp/tenon-replay-XXXXXX";
  tn_program *program = open_best(ctx, argv[1], &target);
  if (!program || !target || !tn_replay_new(program, target, argv[1], &builder, &runner)) return 1;
  close(mkstemp(log));
  tn_tune_options options = {.log = log,
                             .trials = atoi(argv[2]),
                             .seed = strtoull(argv[3], NULL, 10),
                             .target = target,
                             .builder = &builder,
                             .runner = &runner};
  double start = now_s();
  tn_status status = tn_tune(program, &options, &result);
  if (status == TN_OK) printf("| %s | %d | %.0f | %.0f |\n", argv[3], result.trials, now_s() - start, peak_mib());
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
