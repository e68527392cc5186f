/* host.c: the machine: its name, cores, vector width, and its peaks. These are measured by multiply-adds in
 * registers and by reading memory larger than the caches, on all cores that the process may use. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "profile/analysis.h"
#include "schedule/schedule.h"

/* Cores that are loaded at once, and how often a measurement is repeated; the shortest time counts. */
enum { MOST_THREADS = 256, REPEATS = 3 };

/* ---- what the system says ---------------------------------------------------------------------------------------- */

/* The first processor is at the beginning of the file. Does not allocate, so that lack of memory never
 * makes the model unknown. */
static void read_model(char *model, size_t n) {
  char text[4096];
  int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
  if (fd >= 0) close(fd);
  text[RUNTIME_MAX(got, 0)] = '\0';
  const char *at = strstr(text, "model name"), *colon = at ? strchr(at, ':') : NULL;
  snprintf(model, n, "unknown");
  if (!colon) return;
  colon += 1 + strspn(colon + 1, " ");
  snprintf(model, n, "%.*s", (int)RUNTIME_MIN(strcspn(colon, "\n"), 63), colon);
}

/* The cores that this process may use, as limited by containers and taskset; at least 1. */
static int count_cores(void) {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  return RUNTIME_MAX(n, 1);
}

/* The width that this process may use, which can be less than the processor's: a system can switch off AVX. */
static int vector_bits(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") ? 512 : __builtin_cpu_supports("avx") ? 256 : 128;
#else
  return 128;
#endif
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* CHAINS independent chains of STEPS multiply-adds of `lanes` floats; values stay near 1. */
enum { CHAINS = 12, STEPS = 400000 };

#define DEFINE_CHAINS(name, lanes, attributes)                                                     \
  typedef float name##_vector __attribute__((vector_size(4 * (lanes))));                           \
  attributes static float name(void) {                                                             \
    name##_vector sums[CHAINS], factor, term;                                                      \
    float result = 0;                                                                              \
    for (int l = 0; l < (lanes); ++l) factor[l] = 0.999f, term[l] = 0.001f;                        \
    for (int c = 0; c < CHAINS; ++c) sums[c] = term * (float)c;                                    \
    for (int i = 0; i < STEPS; ++i) {                                                              \
      _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; ++c) sums[c] = sums[c] * factor + term; \
    }                                                                                              \
    for (int c = 0; c < CHAINS; ++c) result += sums[c][0];                                         \
    return result;                                                                                 \
  }
#if defined(__x86_64__)
DEFINE_CHAINS(chains_512, 16, __attribute__((target("avx512f"), optimize("O2", "fp-contract=fast"))))
DEFINE_CHAINS(chains_256, 8, __attribute__((target("avx2,fma"), optimize("O2", "fp-contract=fast"))))
#endif
DEFINE_CHAINS(chains_128, 4, __attribute__((optimize("O2", "fp-contract=fast"))))

/* A loop of independent multiply-adds in registers, and how many floats one of them has. */
typedef struct arithmetic {
  float (*run)(void);
  int lanes;
} arithmetic;

/* Chosen by what this processor has, not by how the library was compiled. */
static arithmetic best_arithmetic(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return (arithmetic){chains_512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (arithmetic){chains_256, 8};
#endif
  return (arithmetic){chains_128, 4};
}

/* ---- on all cores ------------------------------------------------------------------------------------------------ */

/* One thread's share of the work. The sinks are volatile, so that the work is not optimised away. */
typedef struct load {
  arithmetic math;
  const uint64_t *memory; /* NULL: arithmetic */
  size_t n_words;
  volatile float sink;
  volatile uint64_t sum;
} load;

/* Eight independent sums, since a single one would measure the latency of an addition. */
static void *run_load(void *user) {
  load *l = user;
  assert(l->memory || l->math.run);
  if (!l->memory) return l->sink = l->math.run(), NULL;
  uint64_t sums[8] = {0};
  for (size_t i = 0; i + 8 <= l->n_words; i += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += l->memory[i + (size_t)k];
  }
  for (int k = 0; k < 8; ++k) l->sum += sums[k];
  return NULL;
}

/* Runs the loads side by side; returns the fewest seconds of several runs. */
static double time_loads(load *loads, int n) {
  pthread_t threads[MOST_THREADS];
  double best_s = 1e9;
  for (int repeat = 0; repeat < REPEATS; ++repeat) {
    uint64_t start = runtime_now_ns();
    int started = 1;
    while (started < n && pthread_create(&threads[started], NULL, run_load, &loads[started]) == 0) ++started;
    run_load(&loads[0]);
    for (int i = 1; i < started; ++i) pthread_join(threads[i], NULL);
    if (started == n) best_s = RUNTIME_MIN(best_s, (double)(runtime_now_ns() - start) * 1e-9);
  }
  return best_s;
}

/* Twelve chains hide a latency of up to six cycles on two ports. */
static double measure_gflops(int cores) {
  load loads[MOST_THREADS] = {{.math = {NULL, 0}}};
  for (int i = 0; i < cores; ++i) loads[i].math = best_arithmetic();
  double flops = 2.0 * STEPS * CHAINS * loads[0].math.lanes * cores;
  return flops / time_loads(loads, cores) * 1e-9;
}

/* The pages are touched beforehand, since the first read would measure the kernel's zeroing. 0 without memory. */
static double measure_gbps(int cores) {
  enum { BYTES = 64 << 20 };
  load loads[MOST_THREADS] = {{.math = {NULL, 0}}};
  uint64_t *memory = malloc(BYTES);
  size_t words = BYTES / sizeof *memory / (size_t)cores;
  if (!memory) return 0;
  memset(memory, 1, BYTES);
  for (int i = 0; i < cores; ++i) loads[i].memory = memory + (size_t)i * words, loads[i].n_words = words;
  double seconds = time_loads(loads, cores);
  free(memory);
  return (double)(words * sizeof *memory * (size_t)cores) / seconds * 1e-9;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* MEASURE takes some tens of milliseconds on all cores; without it the peaks are 0. */
void tn_host_get(tn_host *out, bool measure) {
  if (!out) return;
  *out = (tn_host){.cores = count_cores(), .vector_bits = vector_bits()};
  read_model(out->cpu_model, sizeof out->cpu_model);
  out->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (!measure) return;
  int threads = RUNTIME_MIN(out->cores, MOST_THREADS);
  out->peak_gflops = measure_gflops(threads);
  out->peak_gbps = measure_gbps(threads);
}

/* The rate of an operation that takes NS nanoseconds on each of THREADS at once; 0: not known. */
static double rate(double amount, int threads, double ns) { return ns > 0 ? amount * threads / ns : 0; }

/* Each core has its own caches of the first two levels; the third is shared. */
void tn_host_set_machine(tn_host *host, const struct tn_machine *m) {
  enum { LINE = 64 };
  if (!host || !m) return;
  const tn_machine_costs *c = &m->costs;
  double fma_ns = m->vector_bytes >= 64 ? c->fma64 : m->vector_bytes >= 32 ? c->fma32 : c->fma16;
  double gflops = rate(2.0 * m->vector_bytes / sizeof(float), m->threads, fma_ns);
  double all = rate(LINE, m->threads, c->shared4), one = rate(LINE, 1, c->line4);
  if (gflops > 0) host->peak_gflops = gflops;
  if (RUNTIME_MAX(all, one) > 0) host->peak_gbps = RUNTIME_MAX(all, one);
  const double gbps[] = {0, rate(m->vector_bytes, m->threads, c->load), rate(LINE, m->threads, c->line2),
                         rate(LINE, m->threads, c->line3)};
  for (int level = 1; level <= 3; ++level) {
    host->cache_gbps[level] = gbps[level];
    host->cache_bytes[level] = m->cache_bytes[level] * (level < 3 ? m->threads : 1);
  }
}

/* What is not known is left out. */
void tn_host_record(const tn_host *host) {
  static const tn_site site = TN_SITE(DEVICE, 0);
  if (!host) return;
  tn_event_arg args[] = {
      tn_event_arg_text("cpu_model", host->cpu_model),        tn_event_arg_i64("cores", host->cores),
      tn_event_arg_i64("vector_bits", host->vector_bits),     tn_event_arg_i64("memory_bytes", host->memory_bytes),
      tn_event_arg_f64("peak_gflops", host->peak_gflops),     tn_event_arg_f64("peak_gbps", host->peak_gbps),
      tn_event_arg_f64("cache1_gbps", host->cache_gbps[1]),   tn_event_arg_f64("cache2_gbps", host->cache_gbps[2]),
      tn_event_arg_f64("cache3_gbps", host->cache_gbps[3]),   tn_event_arg_i64("cache1_bytes", host->cache_bytes[1]),
      tn_event_arg_i64("cache2_bytes", host->cache_bytes[2]), tn_event_arg_i64("cache3_bytes", host->cache_bytes[3]),
  };
  int n = host->peak_gflops <= 0 ? 4 : host->cache_gbps[3] <= 0 ? 6 : RUNTIME_COUNT(args);
  tn_mark(&site, "host", args, n);
}
