/* buckets.c: one function for every M (`tenon build --buckets`) beside the kernel that is made for the size alone, in turns, in one process, on
 * the same data: at the buckets' sizes and between them, at sizes that are named here and at drawn ones. LOG has records of the sizes
 * (tenon tune -p M=...); without it (-), and at sizes that it does not have, the static kernels have the generic schedule. Outputs are
 * compared. Usage: buckets [LOG [SEED [DRAWN [WORKLOAD [SIZES [TARGET]]]]]]; a SEED of 0: the named sizes, or SIZES, as in 17,40; TARGET: as
 * in threads=1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tenon/tenon.h>

enum { TURNS = 4, MOST = 8, MAX_SIZES = 64 };
static const int64_t named[] = {1,   2,   3,   5,   8,   12,  15,  16,   17,   23,   40,   64,   100,
                                127, 128, 129, 200, 300, 512, 700, 1000, 1024, 1025, 1500, 3000, 4096};
enum { N_NAMED = sizeof named / sizeof *named };

static const struct workload {
  const char *name, *program;
  int64_t least, most; /* of M */
  int n;
  int64_t buckets[4];
} workloads[] = {
    {"product", "symbol M<=4096\nC[i<M, j<768] = sum[k<768](A[i,k] * B[k,j])", 1, 4096, 4, {1, 16, 128, 1024}},
    {"softmax",
     "symbol M<=4096\nX[i<M] = max[k<1000](A[i,k]); E[i<M, j<1000] = exp(A[i,j] - X[i])\n"
     "S[i<M] = sum[k<1000](E[i,k]); Y[i<M, j<1000] = E[i,j] / S[i]",
     1,
     4096,
     4,
     {1, 16, 128, 1024}},
    {"dense_gelu",
     "symbol M<=4096\nD[i<M, j<512] = sum[k<512](A[i,k] * W[k,j]) + b[j]\n"
     "G[i<M, j<512] = 0.5 * D[i,j] * (1 + erf(D[i,j] * 0.70710678))",
     1,
     4096,
     4,
     {1, 16, 128, 1024}},
    {"columns", "symbol M<=4096\nC[i<256, j<M] = sum[k<320](A[i,k] * B[k,j])", 1, 4096, 3, {16, 128, 1024}},
    {"add", "symbol M<=4096\nC[i<M, j<900] = max(A[i,j] + B[i,j] * 2, 0)", 1, 4096, 3, {1, 64, 1024}},
    {"row_sums", "symbol M<=4096\nC[i<M] = sum[k<700](A[i,k] * A[i,k])", 1, 4096, 3, {1, 64, 1024}},
    {"layer_norm",
     "symbol M<=4096\nU[i<M] = sum[k<768](A[i,k]) / 768; V[i<M] = sum[k<768]((A[i,k] - U[i])*(A[i,k] - U[i])) / 768\n"
     "Y[i<M, j<768] = (A[i,j] - U[i]) * rsqrt(V[i] + 1e-5)",
     1,
     4096,
     3,
     {1, 64, 1024}},
    {"conv_batch",
     "symbol M<=64\ninput A: f32[M,16,16,32], W: f32[3,3,32,32]\n"
     "C[n<M, y<14, x<14, f<32] = sum[r<3, s<3, c<32](A[n,y+r,x+s,c] * W[r,s,c,f])",
     1,
     64,
     3,
     {1, 8, 32}},
    {"conv_height",
     "symbol M<=256\ninput A: f32[M+2,34,16], W: f32[3,3,16,32]\n"
     "C[y<M, x<32, f<32] = sum[r<3, s<3, c<16](A[y+r,x+s,c] * W[r,s,c,f])",
     1,
     256,
     3,
     {8, 32, 128}},
    {"blur",
     "symbol M<=2048\ninput A: f32[M+2,1026]\n"
     "H[y<M+2, x<1024] = A[y,x] + 2*A[y,x+1] + A[y,x+2]; V[y<M, x<1024] = H[y,x] + 2*H[y+1,x] + H[y+2,x]",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"depth", "symbol M<=4096\nC[i<64, j<96] = sum[k<M](A[i,k] * B[k,j])", 1, 4096, 3, {16, 128, 1024}},
    {"square", "symbol M<=1000\nC[i<M, j<M] = sum[k<64](A[i,k] * B[k,j])", 1, 1000, 3, {16, 128, 512}},
    {"batch", "symbol M<=256\nC[b<M, i<64, j<64] = sum[k<64](A[b,i,k] * B[b,k,j])", 1, 256, 3, {1, 12, 96}},
    {"softmax_along",
     "symbol M<=4096\nX[i<100] = max[k<M](A[i,k]); E[i<100, j<M] = exp(A[i,j] - X[i])\n"
     "S[i<100] = sum[k<M](E[i,k]); Y[i<100, j<M] = E[i,j] / S[i]",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"column_sums", "symbol M<=4096\nC[j<900] = sum[i<M](A[i,j])", 1, 4096, 3, {1, 64, 1024}},
    {"sums_along", "symbol M<=4096\nC[i<200] = sum[k<M](A[i,k] * B[k])", 1, 4096, 3, {16, 128, 1024}},
    {"vector", "symbol M<=100000\nC[i<M] = exp(A[i] * 0.1) + B[i]", 1, 100000, 3, {64, 1024, 16384}},
    {"transpose", "symbol M<=4096\nC[i<M, j<300] = A[j,i] * 2", 1, 4096, 3, {16, 128, 1024}},
    {"conv_width",
     "symbol M<=256\ninput A: f32[30,M+2,16], W: f32[3,3,16,32]\n"
     "C[y<28, x<M, f<32] = sum[r<3, s<3, c<16](A[y+r,x+s,c] * W[r,s,c,f])",
     1,
     256,
     3,
     {8, 32, 128}},
    {"channels",
     "symbol M<=512\ninput A: f32[16,16,32], W: f32[3,3,32,M]\n"
     "C[y<14, x<14, f<M] = sum[r<3, s<3, c<32](A[y+r,x+s,c] * W[r,s,c,f])",
     1,
     512,
     3,
     {16, 64, 256}},
    {"argmax_along", "symbol M<=4096\n(I, V)[i<200] = argmax[k<M](A[i,k])", 1, 4096, 3, {16, 128, 1024}},
    {"attention",
     "symbol M<=2048\nS[i<64, j<M] = sum[k<64](Q[i,k] * K[j,k]); X[i<64] = max[j<M](S[i,j]); E[i<64, j<M] = exp(S[i,j] "
     "- X[i])\n"
     "D[i<64] = sum[j<M](E[i,j]); O[i<64, d<64] = sum[j<M](E[i,j] * U[j,d]) / D[i]",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"join",
     "symbol M<=100000\ninput A: f32[M], B: f32[400]\nC[i<M + 400] = select(i < M, A[i], B[i - M])",
     1,
     100000,
     3,
     {64, 1024, 16384}},
    {"table",
     "symbol M<=4096\ninput T: f32[500,320], I: i32[M]\nC[i<M, j<320] = T[min(max(I[i], 0), 499), j]",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"batch_norm",
     "symbol M<=4096\nC[n<M, c<500] = (A[n,c] - U[c]) * rsqrt(V[c]*V[c] + 1e-3) * G[c] + B[c]",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"conv_both",
     "symbol M<=128\ninput A: f32[M+2,M+2,16], W: f32[3,3,16,32]\n"
     "C[y<M, x<M, f<32] = sum[r<3, s<3, c<16](A[y+r,x+s,c] * W[r,s,c,f])",
     1,
     128,
     3,
     {8, 32, 64}},
    {"every_second",
     "symbol M<=2048\ninput A: f32[60,2*M]\nC[i<60, j<M] = A[i,2*j] * 3 + A[i,2*j+1]",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"bytes",
     "symbol M<=2048\ninput A: u8[M,256], B: i8[256,128]\nC[i<M, j<128] = sum[k<256](i32(A[i,k]) * i32(B[k,j]))",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"pool",
     "symbol M<=256\ninput A: f32[2*M+1,65,32]\nC[y<M, x<32, c<32] = max[r<3, s<3](A[2*y+r,2*x+s,c])",
     1,
     256,
     3,
     {8, 32, 128}},
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
static int make_arrays(tn_context *ctx, const char *text, int64_t m, DLTensor **args, DLTensor **other) {
  tn_param value = {"M", m};
  const tn_program *p = tn_program_parse(ctx, text, 1, &value);
  int n = p ? tn_program_arg_count(p) : 0;
  if (n == 0) die(ctx);
  for (int i = 0; i <= n; ++i) {
    const tn_tensor *t = tn_program_arg(p, i < n ? i : n - 1);
    DLTensor *made = tn_array_new(ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
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

static bool is_bucket(const struct workload *w, int64_t m) {
  for (int i = 0; i < w->n; ++i)
    if (w->buckets[i] == m) return true;
  return false;
}

/* A line; returns how many times as long as the static kernel's the buckets' takes. */
static double compare(tn_context *ctx, const struct workload *w, const tn_kernel *any, const tn_target *target,
                      const char *log, int64_t m) {
  DLTensor *args[MOST + 1], *theirs[MOST + 1];
  int n = make_arrays(ctx, w->program, m, args, &theirs[MOST]);
  memcpy(theirs, args, sizeof *args * (size_t)(n - 1));
  theirs[n - 1] = theirs[MOST];
  tn_kernel *fixed = build_static(ctx, w->program, target, log, m);
  double ours = INFINITY, static_s = INFINITY;
  /* Where an array lies decides how fast it is written, too: each writes both. */
  for (int turn = 0; turn < TURNS; ++turn)
    for (int swapped = 0; swapped < 2; ++swapped) {
      static_s = least_time(ctx, fixed, swapped ? args : theirs, n, static_s);
      ours = least_time(ctx, any, swapped ? theirs : args, n, ours);
    }
  least_time(ctx, any, args, n, ours);
  least_time(ctx, fixed, theirs, n, ours);
  double error = difference(args[n - 1], theirs[n - 1]);
  printf("%-12s M=%-5lld %s  %10.3f us  static %10.3f us  %5.2f%s\n", w->name, (long long)m,
         is_bucket(w, m) ? "bucket " : "between", ours * 1e6, static_s * 1e6, ours / static_s,
         error < 1e-4 ? "" : "  WRONG");
  fflush(stdout);
  for (int i = 0; i < n; ++i) tn_array_free(args[i]);
  tn_array_free(theirs[n - 1]);
  tn_kernel_free(fixed);
  return error < 1e-4 ? ours / static_s : INFINITY;
}

/* As likely below 10 as between 100 and 1000. */
static int64_t draw(uint64_t *state, int64_t least, int64_t most) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  double part = (double)(*state >> 11) / 9007199254740992.0;
  return (int64_t)((double)least * pow((double)(most + 1) / (double)least, part));
}

typedef struct question {
  const char *log;
  uint64_t seed; /* 0: the named sizes */
  int n_drawn;
  const char *sizes; /* NULL: the named ones */
} question;

/* How many. */
static int sizes_of(const struct workload *w, const question *q, int64_t *out) {
  int n = 0;
  uint64_t state = q->seed;
  if (q->sizes) {
    for (char *end = NULL, *at = (char *)q->sizes; *at && n < MAX_SIZES; at = *end == ',' ? end + 1 : end) {
      int64_t size = strtoll(at, &end, 10);
      if (end == at) return 0;
      if (size >= w->least && size <= w->most) out[n++] = size;
    }
    return n;
  }
  if (q->seed == 0) {
    for (int i = 0; i < N_NAMED; ++i)
      if (named[i] >= w->least && named[i] <= w->most) out[n++] = named[i];
    return n;
  }
  for (int i = 0; i < w->n; ++i) out[n++] = w->buckets[i];
  while (n < w->n + q->n_drawn && n < MAX_SIZES) out[n++] = draw(&state, w->least, w->most);
  return n;
}

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The worst ratios of one program go to AT and BETWEEN. */
static void run(tn_context *ctx, const struct workload *w, const tn_target *target, const question *q, double *at,
                double *between) {
  double start = seconds_now();
  int64_t sizes[MAX_SIZES];
  tn_program *p = tn_program_parse(ctx, w->program, 0, NULL);
  tn_schedule *s = p ? tn_apply_buckets(p, target, q->log, "M", w->n, w->buckets, NULL) : NULL;
  tn_kernel *any = s ? tn_build(s, &(tn_build_options){.target = target}) : NULL;
  if (!any) die(ctx);
  double build_s = seconds_now() - start, worst_at = 0, worst_between = 0;
  int n = sizes_of(w, q, sizes);
  for (int i = 0; i < n; ++i) {
    double ratio = compare(ctx, w, any, target, q->log, sizes[i]);
    double *worst = is_bucket(w, sizes[i]) ? &worst_at : &worst_between;
    *worst = fmax(*worst, ratio);
  }
  printf("%-12s built in %.2f s; worst: %.2f at the buckets' sizes, %.2f between them\n", w->name, build_s, worst_at,
         worst_between);
  *at = fmax(*at, worst_at);
  *between = fmax(*between, worst_between);
  tn_kernel_free(any);
}

int main(int argc, char **argv) {
  tn_context *ctx = tn_context_new(NULL);
  tn_target *target = ctx ? tn_target_new(ctx, argc > 6 ? argv[6] : NULL) : NULL;
  const char *costs = target ? tn_measure_costs(ctx) : NULL;
  question q = {.log = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL,
                .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                .n_drawn = argc > 3 ? atoi(argv[3]) : 12,
                .sizes = argc > 5 && argv[5][0] ? argv[5] : NULL};
  double at = 0, between = 0;
  if (!costs || tn_target_set_costs(target, costs) != TN_OK) die(ctx);
  for (size_t i = 0; i < sizeof workloads / sizeof *workloads; ++i)
    if (argc <= 4 || strcmp(argv[4], workloads[i].name) == 0) run(ctx, &workloads[i], target, &q, &at, &between);
  printf("worst: %.2f at the buckets' sizes, %.2f between them\n", at, between);
  tn_context_free(ctx);
  return isfinite(at) && isfinite(between) ? 0 : 1;
}
