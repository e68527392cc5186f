/* compile.c: what compiling and calling cost: --compile-time draws random schedules of a matrix product, a convolution
 * and a softmax, as a tuner does, and times tn_build of each; --memory compiles many times and looks at the process's
 * size; --calls times tn_call and a direct call of the smallest kernel. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* Random schedules of each program for --compile-time; compilations in one context for --memory. */
enum { DRAWS = 500, COMPILATIONS = 10000 };

/* A program and the function that writes a random schedule of it, drawn with SEED, into SCHEDULE. */
typedef struct subject {
  const char *name, *program;
  void (*draw)(unsigned *seed, char *schedule, size_t size);
} subject;

/* One of the N numbers at FROM, by a linear congruential generator: the same SEED gives the same schedules on
 * every machine. */
static int pick(unsigned *seed, int n, const int *from) {
  *seed = *seed * 1664525u + 1013904223u;
  return from[*seed / 65536 % (unsigned)n];
}

/* What factors, vector lengths and unroll limits are drawn from: about what a tuner's search tries. */
static const int small[] = {1, 2, 4, 6, 8, 12, 16}, lanes[] = {8, 16, 32, 64}, blocks[] = {1, 2, 4, 8},
                 steps[] = {0, 16, 64, 512};
#define PICK(seed, table) pick((seed), (int)(sizeof(table) / sizeof *(table)), (table))

/* A product in two levels of tiles: the innermost is summed in a local buffer and vectorized along j. */
static void draw_matmul(unsigned *seed, char *s, size_t size) {
  snprintf(s, size,
           "cache_write(C, local); split(C, i, %d, %d); split(C, j, %d, %d); reorder(C, i.0, j.0, i.1, j.1, i.2, j.2)\n"
           "vectorize(C, j.2); compute_at(C.local, C, j.1); split(C.local, k, %d)\n"
           "reorder(C.local, k.outer, k.inner, i.c, j.c); vectorize(C.local, j.c)\n"
           "pragma(C.local, k.outer, auto_unroll_max_step, %d); parallel(C, i.0)\n",
           PICK(seed, blocks), PICK(seed, small), PICK(seed, blocks), PICK(seed, lanes), PICK(seed, small),
           PICK(seed, steps));
}

/* A convolution NHWC: tiles of columns and filters, summed in a local buffer; the padded input is inlined or
 * computed for each row. */
static void draw_conv(unsigned *seed, char *s, size_t size) {
  snprintf(s, size,
           "cache_write(Out, local); split(Out, w, %d); split(Out, f, %d)\n"
           "reorder(Out, n, h, f.outer, w.outer, w.inner, f.inner); vectorize(Out, f.inner)\n"
           "compute_at(Out.local, Out, w.outer); split(Out.local, c, %d)\n"
           "reorder(Out.local, n.c, h.c, r, s, c.outer, c.inner, w.c, f.c); vectorize(Out.local, f.c)\n"
           "pragma(Out.local, r, auto_unroll_max_step, %d); %s; parallel(Out, h)\n",
           PICK(seed, small), PICK(seed, lanes), PICK(seed, small), PICK(seed, steps),
           PICK(seed, blocks) > 2 ? "compute_inline(Pad)" : "compute_at(Pad, Out, h)");
}

/* Softmax by blocks of rows: the stages of a row are computed together. */
static void draw_softmax(unsigned *seed, char *s, size_t size) {
  snprintf(s, size,
           "split(Y, i, %d); compute_at(S, Y, i.inner); compute_at(E, Y, i.inner); compute_at(M, Y, i.inner)\n"
           "split(E, j, %d); vectorize(E, j.inner); split(Y, j, %d); vectorize(Y, j.inner)\n"
           "pragma(Y, i.inner, auto_unroll_max_step, %d); parallel(Y, i.outer)\n",
           PICK(seed, small), PICK(seed, lanes), PICK(seed, lanes), PICK(seed, steps));
}

static const subject subjects[] = {
    {"matmul", "C[i<512, j<512] = sum[k<512](A[i,k] * B[k,j])", draw_matmul},
    {"conv2d",
     "input I: f32[1, 14, 14, 256], W: f32[3, 3, 256, 256]; Pad[n<1, y<16, x<16, c<256] = select(y >= 1 && y < 15 && "
     "x >= 1 && x < 15, I[n, y-1, x-1, c], 0); Out[n<1, h<14, w<14, f<256] = sum[r<3, s<3, c<256](Pad[n, h+r, w+s, c] "
     "* "
     "W[r,s,c,f])",
     draw_conv},
    {"softmax",
     "M[i<1024] = max[k<1024](X[i,k]); E[i<1024, j<1024] = exp(X[i,j] - M[i]); S[i<1024] = sum[k<1024](E[i,k]); "
     "Y[i<1024, j<1024] = E[i,j] / S[i]",
     draw_softmax},
};

/* Seconds that tn_build takes, from a schedule to code that can be called. Negative: the schedule was refused. */
static double build_once(const subject *s, tn_program *program, unsigned *seed) {
  char text[1024];
  s->draw(seed, text, sizeof text);
  tn_schedule *schedule = tn_schedule_new(program);
  double took = -1;
  if (schedule != NULL && tn_schedule_apply(schedule, text) == TN_OK) {
    double begin = vendor_now(true);
    tn_kernel *kernel = tn_build(schedule, NULL);
    took = vendor_now(true) - begin;
    if (kernel == NULL) took = -1;
    tn_kernel_free(kernel);
  }
  tn_schedule_free(schedule);
  return took;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Prints quantiles of the time of a build for each subject. Fails when any drawn schedule is refused: all of
 * them are meant to be legal. */
int bench_compile_time(void) {
  static double times[DRAWS];
  int refused = 0;
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; ++i) {
    tn_context *ctx = tn_context_new(NULL);
    tn_program *program = tn_program_parse(ctx, subjects[i].program, 0, NULL);
    unsigned seed = 1;
    int n = 0;
    build_once(&subjects[i], program, &seed); /* makes the target machine */
    for (int k = 0; k < DRAWS; ++k) {
      double took = build_once(&subjects[i], program, &seed);
      if (took >= 0) times[n++] = took;
    }
    refused += DRAWS - n;
    if (n == 0) fprintf(stderr, "tenon-bench: %s: %s\n", subjects[i].name, tn_context_message(ctx));
    qsort(times, (size_t)n, sizeof *times, ascending);
    if (n > 0) {
      printf("compile-time-%-8s %d candidates: p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, most %.1f ms\n", subjects[i].name,
             n, 1e3 * times[n / 2], 1e3 * times[n * 9 / 10], 1e3 * times[n * 99 / 100], 1e3 * times[n - 1]);
    }
    tn_context_free(ctx);
  }
  return refused > 0;
}

/* Megabytes that the process has in memory. */
static double resident(void) {
  long total = 0, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) * 1e-6;
}

/* Prints the process's size as compilations go on in one context. A number that keeps growing is a leak; the
 * first hundred are left to warm up. */
int bench_memory(void) {
  tn_context *ctx = tn_context_new(NULL);
  tn_program *program = tn_program_parse(ctx, subjects[2].program, 0, NULL);
  unsigned seed = 1;
  for (int i = 1; i <= COMPILATIONS; ++i) {
    if (build_once(&subjects[2], program, &seed) < 0) return 1;
    if (i == 100 || i % (COMPILATIONS / 10) == 0) printf("after %5d compilations: %.1f MB\n", i, resident());
    fflush(stdout);
  }
  tn_context_free(ctx);
  return 0;
}

/* The smallest kernel and its three arrays of one element. Owned by bench_calls. */
typedef struct call_state {
  tn_context *ctx;
  tn_kernel *kernel;
  DLTensor *args[3];
} call_state;

/* Through tn_call, which checks the arguments each time. */
static int32_t call_checked(void *state) {
  call_state *c = state;
  return tn_call(c->ctx, c->kernel, c->args, 3) != TN_OK;
}

/* Straight to the kernel's address, with its real signature. */
static int32_t call_direct(void *state) {
  call_state *c = state;
  return ((int32_t (*)(void *, void *, void *))tn_kernel_function(c->kernel))(c->args[0]->data, c->args[1]->data,
                                                                              c->args[2]->data);
}

/* Prints what tn_call adds to a call: both ways are timed in turns. */
int bench_calls(void) {
  call_state c = {.ctx = tn_context_new(NULL)};
  const int64_t one = 1;
  c.kernel = tn_build(tn_schedule_new(tn_program_parse(c.ctx, "C[i<1] = A[i] + B[i]", 0, NULL)), NULL);
  if (c.kernel == NULL) return 1;
  for (int i = 0; i < 3; ++i) c.args[i] = tn_array_new(c.ctx, TN_F32, 1, &one);
  vendor_side sides[] = {{.call = call_checked, .self = &c}, {.call = call_direct, .self = &c}};
  if (!vendor_time_rounds(2, sides, &(vendor_timing){.seconds = 1, .block_s = 4e-3, .by_cpu = true})) return 1;
  printf("tn_call of three tensors %.0f ns, direct call %.1f ns (each with the loop around it)\n", 1e9 * sides[0].low,
         1e9 * sides[1].low);
  for (int i = 0; i < 2; ++i) vendor_side_free(&sides[i]);
  for (int i = 0; i < 3; ++i) tn_array_free(c.args[i]);
  tn_kernel_free(c.kernel);
  tn_context_free(c.ctx);
  return 0;
}
