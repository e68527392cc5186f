/* matmul.c: the whole job on one matrix product: define it, look at its loops, tune it into a log, apply the best
 * record, look at the loops again, check the result, time it beside the untuned kernel and OpenBLAS, and say where the
 * tuning time went. Usage: matmul [LOG [TRIALS [SECONDS]]]. A second run goes on from the log of the first. */
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <time.h>
#include <unistd.h>

#include "benchmarks/vendors/vendors.h"

/* The size of the product, limits of the tuning run, and how much is printed, timed and checked. */
enum { N = 512, ARGS = 3, TRIALS = 320, SECONDS = 40, SHOWN_LINES = 48, ROUNDS = 9, POINTS = 64 };

/* What the steps of the job pass on to each other. main frees it; programs, schedules and kernels die with the
 * context. */
typedef struct job {
  tn_context *ctx;
  tn_program *program;
  char log[4096];
  int trials; /* to be measured in this run */
  double seconds;
  tn_profiler *profiler;
  tn_schedule *untuned_schedule, *tuned_schedule;
  tn_kernel *untuned, *tuned;
  DLTensor *args[ARGS], *expected; /* A, B, C; C of the untuned kernel */
} job;

/* Calls need not be checked one by one: the context keeps the first error, and functions accept the NULL that a
 * failed one before them returned. */
static bool is_ok(const job *j) { return tn_context_status(j->ctx) == TN_OK; }

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* Step 1: say what to compute. Axes, then tensors, then the sum: C[i,j] = sum over k of A[i,k] * B[k,j]. */
static tn_program *define_matmul(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", N), *j = tn_axis_new(ctx, "j", N), *k = tn_reduce_axis(ctx, "k", N);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, N, N), *B = tn_placeholder(ctx, "B", TN_F32, N, N);
  tn_tensor *C = tn_compute(ctx, "C", tn_sum(tn_mul(tn_at(A, i, k), tn_at(B, k, j)), k), i, j);
  return tn_program_new(ctx, A, B, C);
}

/* Prints a schedule as loops. The first lines are enough: a tuned kernel's innermost body is unrolled. */
static void print_loops(const tn_schedule *schedule, const char *title) {
  char *text = tn_schedule_print(schedule, TN_FORM_TIR);
  if (!text) return;
  printf("---- %s\n", title);
  int n = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (n++ < SHOWN_LINES) printf("%.160s%s\n", line, strlen(line) > 160 ? " ..." : "");
  }
  if (n > SHOWN_LINES) printf("... and %d more lines\n", n - SHOWN_LINES);
  printf("\n");
  free(text);
}

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

/* Called while tuning; returning true would stop it. Prints one live line on a terminal, and every 32nd trial
 * elsewhere. */
static bool show_progress(void *user, const tn_progress *p) {
  int *shown = user; /* trials, at the last line */
  bool is_live = isatty(STDOUT_FILENO);
  if (p->best_s <= 0 || (!is_live && (p->trials % 32 != 0 || p->trials == *shown))) return false;
  *shown = p->trials;
  printf("%sbest %.1f GFLOPS (%.2f ms)", is_live ? "\r" : "", p->flops / p->best_s * 1e-9, p->best_s * 1e3);
  if (p->default_s > 0) printf(", %.1f times the default", p->default_s / p->best_s);
  printf(" | %d/%d trials, %d failed | %.0f s", p->trials, p->trials_wanted, p->failed, p->elapsed_s);
  if (p->left_s >= 0) printf(", %.0f s left", p->left_s);
  printf(is_live ? "\033[K" : "\n");
  fflush(stdout);
  return false;
}

/* Records of this program in the log; a log that is not there yet has none. */
static int held_records(job *j) {
  tn_log_table table = {0};
  if (access(j->log, R_OK) != 0) return 0;
  int n = tn_log_best(j->ctx, j->log, tn_program_key(j->program), &table) == TN_OK ? table.n_records : 0;
  tn_log_table_free(&table);
  return n;
}

/* Step 2: search for a fast schedule. Every trial is a record in the log, so that a run can be repeated or
 * continued. The number of trials counts those of earlier runs, too. The profiler notes where the time goes. */
static void tune(job *j) {
  int held = held_records(j);
  int shown = 0;
  tn_tune_options options = {
      .log = j->log, .trials = held + j->trials, .seconds = j->seconds, .on_progress = show_progress, .user = &shown};
  tn_tune_result result = {0};
  printf("---- tuning: at most %d candidates or %.0f s; records go to %s", j->trials, j->seconds, j->log);
  if (held) printf(", which holds %d already", held);
  printf("\n");
  tn_profiler_enter(j->profiler);
  tn_tune(j->program, &options, &result);
  tn_profiler_exit(j->profiler);
  printf("%s%d measured, %d of them failed, %d taken from the log\n\n", isatty(STDOUT_FILENO) ? "\n" : "",
         result.trials, result.failed, result.reused);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

static double root_mean_square(const float *values) {
  double sum = 0;
  for (int n = 0; n < N * N; ++n) sum += (double)values[n] * values[n];
  return sqrt(sum / (N * N));
}

/* The largest relative error at some points. The reference evaluator shares no code with the compiler, but is
 * too slow for all elements. */
static double error_at_points(job *j, const float *values, double scale) {
  double worst = 0, value = 0;
  for (int n = 0; n < POINTS && is_ok(j); ++n) {
    int64_t index[2] = {n * 389 % N, n * 613 % N};
    tn_evaluate_at(j->program, j->args, ARGS, tn_program_arg(j->program, ARGS - 1), index, &value);
    worst = fmax(worst, fabs(values[index[0] * N + index[1]] - value) / scale);
  }
  return worst;
}

/* Step 4: check every element against the untuned kernel, and some against the reference evaluator. C is filled
 * with NaNs before, so that an element that is never written shows. */
static bool check(job *j) {
  tn_call(j->ctx, j->untuned, j->args, ARGS);
  memcpy(j->expected->data, j->args[2]->data, tn_array_bytes(j->expected));
  memset(j->args[2]->data, 0xFF, tn_array_bytes(j->args[2]));
  tn_call(j->ctx, j->tuned, j->args, ARGS);
  const float *got = j->args[2]->data, *expected = j->expected->data;
  double scale = root_mean_square(expected), worst = error_at_points(j, got, scale);
  for (int n = 0; n < N * N; ++n) worst = fmax(worst, isnan(got[n]) ? INFINITY : fabs(got[n] - expected[n]) / scale);
  bool right = is_ok(j) && worst < 1e-5;
  printf(
      "---- checked: largest relative error %.2g over %d elements, %d of them against the reference evaluator: %s\n\n",
      worst, N * N, POINTS, right ? "right" : "WRONG");
  return right;
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

/* Seconds of a block's calls that do not count, and of those that do. */
#define WARM_UP_S 0.02
#define BLOCK_S 0.02

/* OpenBLAS with as many threads as our kernels have, and with the fastest of its kernels for this processor.
 * Has no `call` when OpenBLAS is not installed. */
static vendor_kernel find_openblas(job *j) {
  const vendor_problem problem = {.op = VENDOR_GEMM, .dim = {1, N, N, N}};
  void *const data[] = {j->args[0]->data, j->args[1]->data, j->expected->data};
  vendor_kernel openblas;
  char why[VENDOR_TEXT];
  if (!vendor_prepare("openblas", &problem, data, tn_thread_count(), &openblas, why)) printf("OpenBLAS: %s\n", why);
  return openblas;
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One call of our tuned kernel, or of VENDOR if it is not NULL. */
static void call_once(job *j, const vendor_kernel *vendor) {
  if (vendor)
    vendor->call(vendor->self);
  else
    tn_call(j->ctx, j->tuned, j->args, ARGS);
}

/* Seconds of one call, the least of a block. Threads of the side before spin for up to 0.1 s, so they get time
 * to fall asleep. A core that has slept needs some milliseconds to reach its speed, so calls until then do not
 * count. */
static double time_block(job *j, const vendor_kernel *vendor) {
  double best = INFINITY;
  nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
  for (double begin = now_s(), start = begin; start - begin < WARM_UP_S + BLOCK_S;) {
    call_once(j, vendor);
    double end = now_s();
    if (start - begin >= WARM_UP_S) best = fmin(best, end - start);
    start = end;
  }
  return best;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values) {
  qsort(values, ROUNDS, sizeof *values, compare_doubles);
  return values[ROUNDS / 2];
}

static void print_speed(const job *j, const char *name, double seconds) {
  printf("%-9s %9.3f ms  %8.2f GFLOPS\n", name, seconds * 1e3, tn_program_flops(j->program) / seconds * 1e-9);
}

/* Step 5: time both sides in turns and take medians, so that other work on the machine matters little. */
static void compare_speeds(job *j) {
  double ours[ROUNDS], theirs[ROUNDS], ratios[ROUNDS];
  tn_timing untuned = {0};
  vendor_kernel openblas = find_openblas(j);
  bool has_openblas = openblas.call != NULL;
  tn_time(j->ctx, j->untuned, j->args, ARGS, &(tn_timing_options){.give_up_above_s = 0.2}, &untuned);
  for (int n = 0; n < ROUNDS; ++n) {
    ours[n] = time_block(j, NULL);
    theirs[n] = has_openblas ? time_block(j, &openblas) : INFINITY;
    ratios[n] = theirs[n] / ours[n];
  }
  printf("---- speed, %d threads, medians of %d alternating rounds\n", tn_thread_count(), ROUNDS);
  print_speed(j, "untuned", untuned.median_s);
  print_speed(j, "tuned", median(ours));
  if (has_openblas) print_speed(j, "OpenBLAS", median(theirs));
  printf("tuned is %.1f times as fast as untuned", untuned.median_s / median(ours));
  if (has_openblas) printf(" and %.2f times as fast as OpenBLAS\n%s", median(ratios), openblas.note);
  printf("\n\n");
  vendor_kernel_free(&openblas);
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

/* The default log is beside the program. */
static void read_arguments(job *j, int argc, char **argv) {
  char self[2048];
  snprintf(self, sizeof self, "%s", argv[0]);
  if (argc > 1)
    snprintf(j->log, sizeof j->log, "%s", argv[1]);
  else
    snprintf(j->log, sizeof j->log, "%s/matmul.json", dirname(self));
  j->trials = argc > 2 ? atoi(argv[2]) : TRIALS;
  j->seconds = argc > 3 ? atof(argv[3]) : SECONDS;
}

/* Arrays are DLPack tensors, which are allocated and filled here. */
static void make_arrays(job *j) {
  const int64_t shape[2] = {N, N};
  for (int a = 0; a < ARGS; ++a) j->args[a] = tn_array_new(j->ctx, TN_F32, 2, shape);
  for (int a = 0; a < ARGS - 1; ++a) tn_array_fill(j->ctx, j->args[a], (uint64_t)a);
  j->expected = tn_array_new(j->ctx, TN_F32, 2, shape);
}

/* The whole job. Step 3 is tn_apply_best: it reads the log and returns the schedule of its best record. False:
 * something failed, and the context says what. */
static bool do_job(job *j) {
  j->program = define_matmul(j->ctx);
  j->untuned_schedule = tn_schedule_new(j->program);
  if (!is_ok(j)) return false;
  printf("---- the program\n%s\n", tn_program_text(j->program));
  print_loops(j->untuned_schedule, "its loops, untuned");
  tune(j);
  j->tuned_schedule = tn_apply_best(j->program, NULL, j->log, NULL);
  if (!is_ok(j)) return false;
  print_loops(j->tuned_schedule, "its loops under the best record");
  j->untuned = tn_build(j->untuned_schedule, NULL);
  j->tuned = tn_build(j->tuned_schedule, NULL);
  make_arrays(j);
  if (!is_ok(j) || !check(j)) return false;
  compare_speeds(j);
  char *table = tn_profiler_table(j->profiler);
  if (table) printf("---- where the tuning time went\n%s\n", table);
  free(table);
  return is_ok(j);
}

int main(int argc, char **argv) {
  job j = {.ctx = tn_context_new(NULL), .profiler = tn_profiler_new()};
  read_arguments(&j, argc, argv);
  bool done = j.ctx && j.profiler && do_job(&j);
  if (!is_ok(&j)) fprintf(stderr, "matmul: %s\n", tn_context_message(j.ctx));
  for (int a = 0; a < ARGS; ++a) tn_array_free(j.args[a]);
  tn_array_free(j.expected);
  tn_profiler_free(j.profiler);
  tn_context_free(j.ctx);
  return done ? 0 : 1;
}
