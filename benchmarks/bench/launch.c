/* launch.c: --launch: what starting a parallel loop and waiting for its end costs: a loop of two iterations, of nothing
 * or of some microseconds each, in memory (the threads of its context), and the same exported as a shared object
 * (libgomp). Hot: call after call. After a sleep: the threads have gone to sleep, too. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/* Samples: rounds of each launcher in turn, calls in a round after a short wait (hot) or with a pause before
 * each (slept). PAUSE_NS is long enough for idle threads to stop spinning. */
enum {
  ROUNDS = 20,
  HOT_CALLS = 1000,
  SLEPT_CALLS = 10,
  WARM_UPS = 100,
  MOST = ROUNDS * HOT_CALLS,
  PAUSE_NS = 20000000
};

typedef int32_t add_fn(const float *a, float *c);

/* One of the two that are compared; `times` are seconds, `n` of them filled. */
typedef struct launcher {
  const char *name;
  add_fn *call;
  double *times; /* MOST */
  int n;
} launcher;

/* What the kernels read and write; large enough for both loads. */
static float input[2 * 4096], output[2];

/* "empty" costs the launch alone: mostly the launcher is done before another thread has begun. Of "busy" one thread has
 * both iterations to do, two have one each and the launch. */
static const struct load {
  const char *name, *program;
} loads[] = {{"empty", "C[i<2] = A[i] + 1"}, {"busy", "C[i<2] = sum[k<4096](A[i,k])"}};

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL); }

static void time_call(launcher *l) {
  double begin = vendor_now(false);
  l->call(input, output);
  l->times[l->n++] = vendor_now(false) - begin;
}

/* Whoever called before has idle threads that spin: they get the time to stop. */
static void hot_round(launcher *l) {
  nap();
  for (int i = 0; i < WARM_UPS; ++i) l->call(input, output);
  for (int i = 0; i < HOT_CALLS; ++i) time_call(l);
}

static void slept_round(launcher *l) {
  for (int i = 0; i < SLEPT_CALLS; ++i) {
    nap();
    time_call(l);
  }
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Runs the launchers in turn and prints the median and the 99th percentile of each. */
static void run(int n, launcher *launchers, int threads, const char *load, const char *when,
                void (*round)(launcher *)) {
  for (int i = 0; i < n; ++i) launchers[i].n = 0;
  for (int r = 0; r < ROUNDS; ++r) {
    for (int i = 0; i < n; ++i) round(&launchers[i]);
  }
  for (int i = 0; i < n; ++i) {
    launcher *l = &launchers[i];
    qsort(l->times, (size_t)l->n, sizeof *l->times, ascending);
    printf("%-5s  %d thread%s %-13s  %-8s p50 %8.2f us  p99 %8.2f us\n", load, threads, threads == 1 ? " " : "s", when,
           l->name, 1e6 * l->times[l->n / 2], 1e6 * l->times[l->n * 99 / 100]);
  }
}

/* Exports the kernel to a shared object and loads that. NULL: this failed. The library is never closed, since
 * libgomp's idle threads run code in it. */
static add_fn *export(const tn_schedule *s, const tn_build_options *options) {
  char path[] = "/tmp/tenon-launch-XXXXXX.so";
  int fd = mkstemps(path, 3);
  void *library = NULL;
  if (fd < 0) return NULL;
  close(fd);
  if (tn_build_file(s, options, path) == TN_OK) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  return library != NULL ? (add_fn *)dlsym(library, "add") : NULL;
}

/* One load with so many threads, hot and after a sleep. Goes on without libgomp where no compiler can link the
 * shared object. */
static bool measure(tn_context *ctx, int threads, const struct load *load, launcher *launchers) {
  char spec[32];
  snprintf(spec, sizeof spec, "threads=%d", threads);
  tn_build_options options = {.target = tn_target_new(ctx, spec), .name = "add"};
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, load->program, 0, NULL));
  if (s == NULL || tn_schedule_apply(s, "parallel(C, i)") != TN_OK) return false;
  tn_kernel *kernel = tn_build(s, &options);
  if (kernel == NULL) return false;
  launchers[0].call = (add_fn *)tn_kernel_function(kernel);
  launchers[1].call = export(s, &options);
  int n = launchers[1].call != NULL ? 2 : 1;
  run(n, launchers, threads, load->name, "hot", hot_round);
  run(n, launchers, threads, load->name, "after a sleep", slept_round);
  tn_kernel_free(kernel);
  return true;
}

/* Both loads with one thread and with two. */
int bench_launch(void) {
  tn_context *ctx = tn_context_new(NULL);
  launcher launchers[] = {{"tenon", NULL, calloc(MOST, sizeof(double)), 0},
                          {"libgomp", NULL, calloc(MOST, sizeof(double)), 0}};
  bool good = launchers[0].times != NULL && launchers[1].times != NULL;
  for (int i = 0; good && i < 4; ++i) good = measure(ctx, 1 + i % 2, &loads[i / 2], launchers);
  if (!good) fprintf(stderr, "tenon-bench: %s\n", tn_context_message(ctx));
  free(launchers[0].times);
  free(launchers[1].times);
  tn_context_free(ctx);
  return !good;
}
