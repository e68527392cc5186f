/* buckets.c: one function for every M (`tenon build --buckets`) beside the kernel that is made for the size alone, in turns, in one process, on
 * the same data: at the buckets' sizes and between them. LOG has records of the sizes (tenon tune -p M=...); without it, and at sizes that it
 * does not have, the static kernels have the generic schedule. Outputs are compared. Usage: buckets [LOG] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

enum { TURNS = 7, MOST = 8 };
static const int64_t buckets[] = {1, 16, 128, 1024};
static const int64_t sizes[] = {1,   2,   3,   5,   8,   12,  15,  16,   17,   23,   40,   64,   100,
                                127, 128, 129, 200, 300, 512, 700, 1000, 1024, 1025, 1500, 3000, 4096};
enum { N_BUCKETS = sizeof buckets / sizeof *buckets, N_SIZES = sizeof sizes / sizeof *sizes };

static const struct workload {
  const char *name, *program;
} workloads[] = {
    {"product", "symbol M<=4096\nC[i<M, j<768] = sum[k<768](A[i,k] * B[k,j])"},
    {"softmax",
     "symbol M<=4096\nX[i<M] = max[k<1000](A[i,k]); E[i<M, j<1000] = exp(A[i,j] - X[i])\n"
     "S[i<M] = sum[k<1000](E[i,k]); Y[i<M, j<1000] = E[i,j] / S[i]"},
    {"dense_gelu",
     "symbol M<=4096\nD[i<M, j<512] = sum[k<512](A[i,k] * W[k,j]) + b[j]\n"
     "G[i<M, j<512] = 0.5 * D[i,j] * (1 + erf(D[i,j] * 0.70710678))"},
};

static void die(tn_context *ctx) {
  fprintf(stderr, "buckets: %s\n", tn_context_message(ctx));
  exit(1);
}

/* The static kernel: the log's record of the size, or the generic schedule. */
static tn_kernel *build_static(tn_context *ctx, const char *text, const tn_target *target, const char *log, int64_t m) {
  tn_param value = {"M", m};
  tn_program *p = tn_program_parse(ctx, text, 1, &value);
  tn_schedule *s = p && log ? tn_apply_best(p, target, log, NULL) : NULL;
  if (p && !s) {
    tn_context_clear(ctx);
    const tn_machine machine = tn_target_machine(target);
    s = tn_schedule_new(p);
    if (tn_schedule_auto(s, &machine) != TN_OK) die(ctx);
  }
  tn_kernel *kernel = p ? tn_build(s, &(tn_build_options){.target = target}) : NULL;
  if (!kernel) die(ctx);
  return kernel;
}

static double least_time(tn_context *ctx, const tn_kernel *kernel, DLTensor **args, int n, double before) {
  tn_timing timing;
  const tn_timing_options options = {.max_total_s = 0.02, .min_samples = 3};
  if (tn_time(ctx, kernel, args, n, &options, &timing) != TN_OK) die(ctx);
  return fmin(before, timing.median_s);
}

/* The arrays of a program for one M; the last is the output, of which there are two. */
static int make_arrays(tn_context *ctx, const tn_program *p, int64_t m, DLTensor **args, DLTensor **other) {
  int n = tn_program_arg_count(p);
  for (int i = 0; i <= n; ++i) {
    const tn_tensor *t = tn_program_arg(p, i < n ? i : n - 1);
    int64_t shape[MOST];
    memcpy(shape, tn_tensor_shape(t), sizeof *shape * (size_t)tn_tensor_rank(t));
    if (shape[0] == 4096) shape[0] = m;
    DLTensor *made = tn_array_new(ctx, tn_tensor_dtype(t), tn_tensor_rank(t), shape);
    if (!made) die(ctx);
    tn_array_fill(ctx, made, (uint64_t)i);
    *(i < n ? &args[i] : other) = made;
  }
  return n;
}

static double difference(const DLTensor *a, const DLTensor *b) {
  const float *x = a->data, *y = b->data;
  double most = 0;
  for (size_t i = 0; i < tn_array_bytes(a) / sizeof *x; ++i)
    most = fmax(most, fabs((double)x[i] - (double)y[i]) / (1 + fabs((double)x[i])));
  return most;
}

static bool is_bucket(int64_t m) {
  for (int i = 0; i < N_BUCKETS; ++i)
    if (buckets[i] == m) return true;
  return false;
}

/* A line; returns how many times as long as the static kernel's the buckets' takes. */
static double compare(tn_context *ctx, const struct workload *w, const tn_program *p, const tn_kernel *any,
                      const tn_target *target, const char *log, int64_t m) {
  DLTensor *args[MOST + 1], *theirs[MOST + 1];
  int n = make_arrays(ctx, p, m, args, &theirs[MOST]);
  memcpy(theirs, args, sizeof *args * (size_t)(n - 1));
  theirs[n - 1] = theirs[MOST];
  tn_kernel *fixed = build_static(ctx, w->program, target, log, m);
  double ours = INFINITY, static_s = INFINITY;
  for (int turn = 0; turn < TURNS; ++turn) {
    ours = least_time(ctx, any, args, n, ours);
    static_s = least_time(ctx, fixed, theirs, n, static_s);
  }
  double error = difference(args[n - 1], theirs[n - 1]);
  printf("%-12s M=%-5lld %s  %10.2f us  static %10.2f us  %5.2f%s\n", w->name, (long long)m,
         is_bucket(m) ? "bucket " : "between", ours * 1e6, static_s * 1e6, ours / static_s,
         error < 1e-4 ? "" : "  WRONG");
  fflush(stdout);
  for (int i = 0; i < n; ++i) tn_array_free(args[i]);
  tn_array_free(theirs[n - 1]);
  tn_kernel_free(fixed);
  return error < 1e-4 ? ours / static_s : INFINITY;
}

/* The worst ratios of one program go to AT and BETWEEN. */
static void run(tn_context *ctx, const struct workload *w, const tn_target *target, const char *log, double *at,
                double *between) {
  tn_program *p = tn_program_parse(ctx, w->program, 0, NULL);
  tn_schedule *s = p ? tn_apply_buckets(p, target, log, "M", N_BUCKETS, buckets, NULL) : NULL;
  tn_kernel *any = s ? tn_build(s, &(tn_build_options){.target = target}) : NULL;
  if (!any) die(ctx);
  for (int i = 0; i < N_SIZES; ++i) {
    double ratio = compare(ctx, w, p, any, target, log, sizes[i]);
    double *worst = is_bucket(sizes[i]) ? at : between;
    *worst = fmax(*worst, ratio);
  }
  tn_kernel_free(any);
}

int main(int argc, char **argv) {
  tn_context *ctx = tn_context_new(NULL);
  tn_target *target = ctx ? tn_target_new(ctx, NULL) : NULL;
  const char *costs = target ? tn_measure_costs(ctx) : NULL, *log = argc > 1 ? argv[1] : NULL;
  double at = 0, between = 0;
  if (!costs || tn_target_set_costs(target, costs) != TN_OK) die(ctx);
  for (size_t i = 0; i < sizeof workloads / sizeof *workloads; ++i) run(ctx, &workloads[i], target, log, &at, &between);
  printf("worst: %.2f at the buckets' sizes, %.2f between them\n", at, between);
  tn_context_free(ctx);
  return isfinite(at) && isfinite(between) ? 0 : 1;
}
