/* farm_scaling.c: how many trials a second K workers give, where each candidate sleeps: the worker rests for so long before it times it, so that
 * the processors of this machine do not limit what is measured. Usage: farm_scaling [SLEEP_S [TRIALS [COMMAND]]]; COMMAND is a worker's
 * (`tenon worker`), a line for a shell, started K times. Prints a Markdown table for K = 1, 2, 4, 8. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "autotune/autotune.h"

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Measures from the moment when every worker has had its first candidates to the last answer. The first ones
 * are skipped because a worker computes the reference with them. */
typedef struct watch {
  int n, skipped;
  double first_s, last_s;
} watch;

/* tn_tune calls it after each trial. */
static void on_measured(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  watch *w = user;
  (void)candidate, (void)m;
  w->last_s = now_s();
  if (++w->n == w->skipped) w->first_s = w->last_s;
}

/* Trials a second with K workers; negative after a message. Each context, log and set of workers is its own, so
 * that no state is carried over. */
static double rate_of(int k, double sleep_s, int trials, const char *worker) {
  tn_context *ctx = tn_context_new(NULL);
  tn_program *program = tn_program_parse(ctx, "C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])", 0, NULL);
  const char *command[] = {"/bin/sh", "-c", worker, NULL};
  tn_worker_host host = {.command = command, .count = k};
  char log[] = "/tmp/tenon-scaling-XXXXXX";
  watch w = {.skipped = 2 * k + 2};
  close(mkstemp(log));
  tn_tune_options options = {.log = log,
                             .trials = w.skipped + trials * k,
                             .finalists = -1,
                             .cost_model = "none",
                             .on_measured = on_measured,
                             .user = &w,
                             .workers = {.hosts = &host, .n_hosts = 1, .repeats = {.cooldown_s = sleep_s}}};
  tn_status status = tn_tune(program, &options, NULL);
  if (status != TN_OK) fprintf(stderr, "farm_scaling: %s\n", tn_context_message(ctx));
  tn_context_free(ctx);
  unlink(log);
  return status == TN_OK ? (w.n - w.skipped) / (w.last_s - w.first_s) : -1;
}

int main(int argc, char **argv) {
  double sleep_s = argc > 1 ? strtod(argv[1], NULL) : 0.5, one = 0;
  int trials = argc > 2 ? atoi(argv[2]) : 24;
  if (argc > 4 || sleep_s <= 0 || trials < 1) {
    fprintf(stderr, "usage: farm_scaling [SLEEP_S [TRIALS [COMMAND]]]\n");
    return 2;
  }
  printf("| workers | trials a second | of so many times one's |\n| --- | --- | --- |\n");
  for (int k = 1; k <= 8; k *= 2) {
    double rate = rate_of(k, sleep_s, trials, argc > 3 ? argv[3] : "exec " TENON_COMMAND " worker");
    if (rate < 0) return 1;
    if (k == 1) one = rate;
    printf("| %d | %.2f | %.2f |\n", k, rate, rate / one / k);
    fflush(stdout);
  }
  return 0;
}
