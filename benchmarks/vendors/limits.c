/* limits.c: the most that a machine can do, as routines that are timed in turns with kernels: arithmetic on
 * registers alone, and reading, or reading and writing, an array. A limit that was measured at another time,
 * under another load, says nothing. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "benchmarks/vendors/vendors.h"

/* Steps of an arithmetic routine, the most threads, and the size of a huge page. */
enum { STEPS = 20000, MAX_THREADS = 256, HUGE_B = 1 << 21 };
/* Accumulators that are independent of each other: enough to hide an instruction's latency. */
enum { CHAINS_512 = 16, CHAINS_256 = 12 }; /* with what they share no more than there are registers */

/* Seconds that a thread computes in one call. With several threads it is long, so that starting them costs
 * nothing beside it. Alone it may be shorter: a busy machine interrupts it less often then. */
static const double part_s = 2e-3, alone_s = 5e-5;
/* The same for reading, in bytes. */
static const double part_B = 64e6, alone_B = 1e6;

enum { SLOTS = 64 /* of the most frequent operation in a mix */ };

/* What thread AT does in one call. Returns something that depends on all of it. */
typedef struct limit limit;
typedef float (*limit_part)(const limit *l, int at);
typedef float (*limit_stream)(const float *from, size_t n);
typedef void (*limit_copy)(float *to, const float *from, size_t n);

enum { COPIES = 3 /* ways to copy */ };

/* A prepared routine; it owns DATA. Each thread has a piece of its own. */
struct limit {
  limit_part part;
  int threads, repeats;
  size_t n;       /* floats of each thread: read, */
  size_t written; /* and written, behind those of all threads that are read */
  float *data;
  limit_copy copy;     /* of what is moved */
  limit_stream stream; /* what reads the rest; NULL: four streams */
  int n_slots;         /* of a mix, in the order in which they run */
  unsigned char slots[SLOTS * VENDOR_OPERATIONS];
  unsigned char alike[SLOTS * VENDOR_OPERATIONS]; /* slots of one kind in a row, from this one on */
  pthread_t thread[MAX_THREADS];
};

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>

/* Independent chains, two vectors of constants: nothing but multiply-adds and the loop. */
#define DEFINE_CHAINS(name, isa, n_chains, vector, zero, first, second, step)                     \
  __attribute__((target(isa), noinline)) static float name(const limit *l, int at) {              \
    enum { chains = n_chains };                                                                   \
    vector a[chains];                                                                             \
    float out[sizeof(vector) / sizeof(float)];                                                    \
    (void)l;                                                                                      \
    (void)at;                                                                                     \
    for (int c = 0; c < chains; ++c) a[c] = zero;                                                 \
    for (int i = 0; i < STEPS; ++i) {                                                             \
      _Pragma("GCC unroll 16") for (int c = 0; c < chains; ++c) a[c] = step(a[c], first, second); \
    }                                                                                             \
    for (int c = 1; c < chains; ++c) a[0] = (vector)(a[0] + a[c]);                                \
    memcpy(out, &a[0], sizeof a[0]);                                                              \
    return out[0];                                                                                \
  }

#define FMA_512(a, x, y) _mm512_fmadd_ps(a, x, y)
#define FMA_256(a, x, y) _mm256_fmadd_ps(a, x, y)
#define FMA_512_F64(a, x, y) _mm512_fmadd_pd(a, x, y)
#define FMA_256_F64(a, x, y) _mm256_fmadd_pd(a, x, y)
DEFINE_CHAINS(f32_512, "avx512f", CHAINS_512, __m512, _mm512_set1_ps((float)c), _mm512_set1_ps(0.999f),
              _mm512_set1_ps(0.001f), FMA_512)
DEFINE_CHAINS(f32_256, "avx2,fma", CHAINS_256, __m256, _mm256_set1_ps((float)c), _mm256_set1_ps(0.999f),
              _mm256_set1_ps(0.001f), FMA_256)
DEFINE_CHAINS(f64_512, "avx512f", CHAINS_512, __m512d, _mm512_set1_pd(c), _mm512_set1_pd(0.999), _mm512_set1_pd(0.001),
              FMA_512_F64)
DEFINE_CHAINS(f64_256, "avx2,fma", CHAINS_256, __m256d, _mm256_set1_pd(c), _mm256_set1_pd(0.999), _mm256_set1_pd(0.001),
              FMA_256_F64)
/* Without an instruction for dot products of bytes: pairs of 16 bits are multiplied and added. */
#define PAIRS_256(a, x, unused) _mm256_add_epi32(a, _mm256_madd_epi16(a, x))
DEFINE_CHAINS(bytes_256, "avx2", CHAINS_256, __m256i, _mm256_set1_epi32(c), _mm256_set1_epi16(3), _mm256_set1_epi16(1),
              PAIRS_256)
DEFINE_CHAINS(bytes_512, "avx512f,avx512vnni", CHAINS_512, __m512i, _mm512_set1_epi32(c), _mm512_set1_epi8(3),
              _mm512_set1_epi8(1), _mm512_dpbusd_epi32)
DEFINE_CHAINS(bf16_512, "avx512f,avx512bf16", CHAINS_512, __m512, _mm512_set1_ps((float)c),
              (__m512bh)_mm512_set1_epi16(0x3f80), (__m512bh)_mm512_set1_epi16(0x3a80), _mm512_dpbf16_ps)

/* The fastest first; the widest that the processor has counts. Multiply-adds are two operations each. */
static const struct arithmetic {
  vendor_number number;
  const char *feature, *other; /* both, as GCC names them */
  limit_part part;
  int chains, operations; /* ... of one step of one chain */
} table[] = {
    {VENDOR_F32, "avx512f", "avx512f", f32_512, CHAINS_512, 32},
    {VENDOR_F32, "avx2", "fma", f32_256, CHAINS_256, 16},
    {VENDOR_F64, "avx512f", "avx512f", f64_512, CHAINS_512, 16},
    {VENDOR_F64, "avx2", "fma", f64_256, CHAINS_256, 8},
    {VENDOR_BYTES, "avx512f", "avx512vnni", bytes_512, CHAINS_512, 128},
    {VENDOR_BYTES, "avx2", "avx2", bytes_256, CHAINS_256, 32},
    {VENDOR_BF16, "avx512f", "avx512bf16", bf16_512, CHAINS_512, 64},
    {VENDOR_BF16, "avx512f", "avx512f", f32_512, CHAINS_512, 32},
    {VENDOR_BF16, "avx2", "fma", f32_256, CHAINS_256, 16},
};

/* __builtin_cpu_supports takes literals only. */
static bool has(const char *feature) {
  return strcmp(feature, "avx512f") == 0      ? __builtin_cpu_supports("avx512f")
         : strcmp(feature, "avx512vnni") == 0 ? __builtin_cpu_supports("avx512vnni")
         : strcmp(feature, "avx512bf16") == 0 ? __builtin_cpu_supports("avx512bf16")
         : strcmp(feature, "avx2") == 0       ? __builtin_cpu_supports("avx2")
                                              : __builtin_cpu_supports("fma");
}

/* Whether the row is for this number and the processor has the instructions. */
static bool fits(const struct arithmetic *a, vendor_number number) {
  return a->number == number && has(a->feature) && has(a->other);
}

/* Four streams, each with sums of its own: one alone does not keep as many lines under way as a core can, and more of them
 * than loads can feed. */
#define DEFINE_READER(name, isa, vector, lanes, zero, load, add)                             \
  __attribute__((target(isa), noinline)) static float name(const limit *l, int at) {         \
    vector sum[8];                                                                           \
    float out[lanes];                                                                        \
    const float *data = l->data + l->n * (size_t)at;                                         \
    size_t n = l->n, quarter = n / 4;                                                        \
    for (int c = 0; c < 8; ++c) sum[c] = zero();                                             \
    for (size_t i = 0; i + 2 * lanes <= quarter; i += 2 * lanes) {                           \
      _Pragma("GCC unroll 8") for (int c = 0; c < 8; ++c) sum[c] =                           \
          add(sum[c], load(data + (size_t)(c / 2) * quarter + i + (size_t)(c % 2) * lanes)); \
    }                                                                                        \
    for (int c = 1; c < 8; ++c) sum[0] = add(sum[0], sum[c]);                                \
    memcpy(out, &sum[0], sizeof sum[0]);                                                     \
    return out[0];                                                                           \
  }

/* The same of one stream: which is faster depends on the machine. */
#define DEFINE_STREAM(name, isa, vector, lanes, zero, load, add)                                                      \
  __attribute__((target(isa), noinline)) static float name(const float *from, size_t n) {                             \
    vector sum[8];                                                                                                    \
    float out[lanes];                                                                                                 \
    for (int c = 0; c < 8; ++c) sum[c] = zero();                                                                      \
    for (size_t i = 0; i + 8 * (lanes) <= n; i += 8 * (lanes)) {                                                      \
      _Pragma("GCC unroll 8") for (int c = 0; c < 8; ++c) sum[c] = add(sum[c], load(from + i + (size_t)c * (lanes))); \
    }                                                                                                                 \
    for (int c = 1; c < 8; ++c) sum[0] = add(sum[0], sum[c]);                                                         \
    memcpy(out, &sum[0], sizeof sum[0]);                                                                              \
    return out[0];                                                                                                    \
  }

DEFINE_STREAM(stream_512, "avx512f", __m512, 16, _mm512_setzero_ps, _mm512_loadu_ps, _mm512_add_ps)
DEFINE_STREAM(stream_256, "avx2", __m256, 8, _mm256_setzero_ps, _mm256_loadu_ps, _mm256_add_ps)

/* Copies through the caches, or past them (stores that leave no line in the cache). */
#define DEFINE_COPY(name, isa, lanes, load, store)                                                  \
  __attribute__((target(isa), noinline)) static void name(float *to, const float *from, size_t n) { \
    for (size_t i = 0; i + 4 * (lanes) <= n; i += 4 * (lanes)) {                                    \
      _Pragma("GCC unroll 4") for (size_t c = 0; c < 4; ++c)                                        \
          store(to + i + c * (lanes), load(from + i + c * (lanes)));                                \
    }                                                                                               \
    _mm_sfence();                                                                                   \
  }

DEFINE_COPY(copy_512, "avx512f", 16, _mm512_loadu_ps, _mm512_store_ps)
DEFINE_COPY(copy_256, "avx2", 8, _mm256_loadu_ps, _mm256_store_ps)
DEFINE_COPY(past_512, "avx512f", 16, _mm512_loadu_ps, _mm512_stream_ps)
DEFINE_COPY(past_256, "avx2", 8, _mm256_loadu_ps, _mm256_stream_ps)

static void copy_library(float *to, const float *from, size_t n) { memcpy(to, from, n * sizeof *to); }

DEFINE_READER(read_512, "avx512f", __m512, 16, _mm512_setzero_ps, _mm512_loadu_ps, _mm512_add_ps)
DEFINE_READER(read_256, "avx2", __m256, 8, _mm256_setzero_ps, _mm256_loadu_ps, _mm256_add_ps)

/* N operations of each chain: chains and constants fit the registers. A loop for each kind, since the compiler moves chains from register
 * to register, and into memory, where one loop chooses among all kinds. Values stay between 0 and e^20 or so: no denormals,
 * which take longer. */
#define ALL_CHAINS(e)                                                     \
  do {                                                                    \
    _Pragma("GCC unroll 16") for (int c = 0; c < chains; ++c) a[c] = (e); \
  } while (--n)
#define DEFINE_MIX(name, isa, vector, lanes, n_chains, set, fma, add, most, divide, root, function) \
  __attribute__((target(isa), noinline)) static float name(const limit *l, int at) {                \
    enum { chains = n_chains };                                                                     \
    vector a[chains], x = set(0.999f), y = set(0.001f), z = set(1.5f);                              \
    float out[lanes];                                                                               \
    (void)at;                                                                                       \
    for (int c = 0; c < chains; ++c) a[c] = set((float)c);                                          \
    for (int i = 0; i < STEPS / l->n_slots; ++i) {                                                  \
      for (int k = 0, n; k < l->n_slots; k += l->alike[k]) {                                        \
        n = l->alike[k];                                                                            \
        switch (l->slots[k]) {                                                                      \
          case VENDOR_FUSED: ALL_CHAINS(fma(a[c], x, y)); break;                                    \
          case VENDOR_ADDITION: ALL_CHAINS(add(a[c], y)); break;                                    \
          case VENDOR_EXTREMUM: ALL_CHAINS(most(a[c], y)); break;                                   \
          case VENDOR_DIVISION: ALL_CHAINS(divide(a[c], z)); break;                                 \
          case VENDOR_ROOT: ALL_CHAINS(root(a[c])); break;                                          \
          default: ALL_CHAINS(function(a[c])); break;                                               \
        }                                                                                           \
      }                                                                                             \
    }                                                                                               \
    for (int c = 1; c < chains; ++c) a[0] = add(a[0], a[c]);                                        \
    memcpy(out, &a[0], sizeof a[0]);                                                                \
    return out[0];                                                                                  \
  }

/* e^x: x is split into a multiple n of ln 2 and a remainder, whose exponential is a polynomial. The result is
 * that times 2^n. REST_OF subtracts n ln 2 in two parts, so that no digits are lost. */
#define REST_OF(set, fma, n, x) fma(n, set(2.12194440e-4f), fma(n, set(-0.693359375f), x))
#define TERMS(set, fma, r)                                                                                           \
  fma(fma(fma(fma(fma(fma(set(1.f / 720), r, set(1.f / 120)), r, set(1.f / 24)), r, set(1.f / 6)), r, set(0.5f)), r, \
          set(1)),                                                                                                   \
      r, set(1))

__attribute__((target("avx512f"))) static inline __m512 exp_512(__m512 x) {
  x = _mm512_max_ps(_mm512_min_ps(x, _mm512_set1_ps(20)), _mm512_set1_ps(-20));
  __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
  __m512 r = REST_OF(_mm512_set1_ps, _mm512_fmadd_ps, n, x);
  return _mm512_scalef_ps(TERMS(_mm512_set1_ps, _mm512_fmadd_ps, r), n);
}

__attribute__((target("avx2,fma"))) static inline __m256 exp_256(__m256 x) {
  x = _mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(20)), _mm256_set1_ps(-20));
  __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)), 8);
  __m256 r = REST_OF(_mm256_set1_ps, _mm256_fmadd_ps, n, x);
  __m256i bits = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(TERMS(_mm256_set1_ps, _mm256_fmadd_ps, r)), bits));
}

DEFINE_MIX(mix_512, "avx512f", __m512, 16, CHAINS_512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_max_ps,
           _mm512_div_ps, _mm512_sqrt_ps, exp_512)
DEFINE_MIX(mix_256, "avx2,fma", __m256, 8, CHAINS_256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_max_ps,
           _mm256_div_ps, _mm256_sqrt_ps, exp_256)

/* The mix for the widest vectors, with the lanes of a vector and the chains that it has; NULL: none. */
static limit_part mixer(int *lanes, int *chains) {
  *lanes = has("avx512f") ? 16 : 8;
  *chains = has("avx512f") ? CHAINS_512 : CHAINS_256;
  return has("avx512f") ? mix_512 : has("avx2") && has("fma") ? mix_256 : NULL;
}

/* Below: the routines for the widest vectors that the processor has. NULL: it has neither AVX-512 nor AVX2. */
static limit_stream streamer(void) { return has("avx512f") ? stream_512 : has("avx2") ? stream_256 : NULL; }

/* WAY: 0 through the caches, 1 past them, 2 the C library's memcpy. */
static limit_copy copier(int way) {
  switch (way) {
    case 0: return has("avx512f") ? copy_512 : has("avx2") ? copy_256 : NULL;
    case 1: return has("avx512f") ? past_512 : has("avx2") ? past_256 : NULL;
    default: return copy_library;
  }
}

static limit_part reader(void) { return has("avx512f") ? read_512 : has("avx2") ? read_256 : NULL; }

/* Other processors have no limits: every routine is refused. */
#else

static const struct arithmetic {
  limit_part part;
  int chains, operations;
} table[1];
static bool fits(const struct arithmetic *a, vendor_number number) { return (void)a, (void)number, false; }
static limit_part reader(void) { return NULL; }
static limit_part mixer(int *lanes, int *chains) { return *lanes = *chains = 1, NULL; }
static limit_stream streamer(void) { return NULL; }
static limit_copy copier(int way) { return (void)way, NULL; }

#endif

/* ---- one call: all threads do their part --------------------------------------------------------------------------- */

/* What a thread is started with. */
typedef struct share {
  const limit *limit;
  int at;
} share;

/* A thread's main function. Storing to a volatile keeps the compiler from dropping the work. */
static void *run_part(void *user) {
  const share *s = user;
  const limit *l = s->limit;
  volatile float sink = 0;
  for (int i = 0; i < l->repeats; ++i) sink = l->part(l, s->at);
  (void)sink;
  return NULL;
}

/* Pins a new thread to the AT-th processor that the process may use, not counting the caller's own. Linux puts
 * a new thread beside the one that made it and leaves both there for milliseconds. */
static void choose_processor(int at, pthread_attr_t *attr) {
  cpu_set_t allowed, one;
  int self = sched_getcpu();
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  if (self >= 0 && CPU_COUNT(&allowed) > 1) CPU_CLR(self, &allowed);
  int skip = (at - 1) % CPU_COUNT(&allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || skip-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_attr_setaffinity_np(attr, sizeof one, &one);
    return;
  }
}

static bool start_part(limit *l, share *s) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return false;
  choose_processor(s->at, &attr);
  bool started = pthread_create(&l->thread[s->at], &attr, run_part, s) == 0;
  pthread_attr_destroy(&attr);
  return started;
}

/* One call: starts the other threads, does the caller's part and waits. 1: a thread could not be started. */
static int32_t call_limit(void *self) {
  limit *l = self;
  share shares[MAX_THREADS];
  int started = 1, status = 0;
  for (; started < l->threads; ++started) {
    shares[started] = (share){l, started};
    if (!start_part(l, &shares[started])) break;
  }
  shares[0] = (share){l, 0};
  run_part(&shares[0]);
  if (started < l->threads) status = 1;
  while (--started > 0) pthread_join(l->thread[started], NULL);
  return status;
}

static void free_limit(void *self) {
  limit *l = self;
  if (l) free(l->data);
  free(l);
}

/* Moves OF to the heap and into OUT; takes its data over. False: no memory. */
static bool make(const limit *of, vendor_kernel *out, char why[VENDOR_TEXT]) {
  limit *l = malloc(sizeof *l);
  if (!l) return free(of->data), snprintf(why, VENDOR_TEXT, "out of memory"), false;
  *l = *of;
  *out = (vendor_kernel){.call = call_limit, .free = free_limit, .self = l};
  return true;
}

/* Always false. */
static bool refuse(const char *what, char why[VENDOR_TEXT]) {
  snprintf(why, VENDOR_TEXT, "how fast this processor %s is not measured: there is a routine for x86 with AVX2 only",
           what);
  return false;
}

/* Seconds of one part on one thread. */
static double part_seconds(limit *l) {
  l->repeats = 1;
  share alone = {l, 0};
  double start = vendor_now(false);
  run_part(&alone);
  return vendor_now(false) - start;
}

/* Chooses the repeats so that a call takes as long as it should. */
static void set_repeats(limit *l) {
  double took = part_seconds(l);
  l->repeats = 1 + (int)((l->threads > 1 ? part_s : alone_s) / (took > 1e-6 ? took : 1e-6));
}

/* Fills the slots with each kind as often as COUNTS say, spread evenly. Returns the operations of all slots for
 * one lane of one chain. */
static double fill_slots(limit *l, const double *counts) {
  double most = 0, owed[VENDOR_OPERATIONS] = {0}, sum = 0;
  for (int k = 0; k < VENDOR_OPERATIONS; ++k) most = counts[k] > most ? counts[k] : most;
  l->n_slots = 0;
  for (int turn = 0; turn < SLOTS; ++turn)
    for (int k = 0; k < VENDOR_OPERATIONS; ++k) {
      owed[k] += (int)(counts[k] / most * SLOTS + 0.5) / (double)SLOTS;
      if (owed[k] < 1 - 1e-9) continue;
      owed[k] -= 1;
      l->slots[l->n_slots++] = (unsigned char)k;
      sum += k == VENDOR_FUSED ? 2 : 1;
    }
  return sum;
}

static int compare_slots(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }

/* For each slot, how many slots of its kind follow each other from there on, itself included. */
static void count_alike(limit *l) {
  for (int k = l->n_slots - 1; k >= 0; --k) {
    bool goes_on = k + 1 < l->n_slots && l->slots[k + 1] == l->slots[k] && l->alike[k + 1] < UCHAR_MAX;
    l->alike[k] = (unsigned char)(goes_on ? l->alike[k + 1] + 1 : 1);
  }
}

/* Chooses the order of the slots by trying both. Kinds that are spread evenly may share the time of several
 * ports; kinds in a row are easy for the branch predictor. */
static void choose_order(limit *l) {
  /* Both orders are tried so often, in turns; the least time of each counts. */
  enum { TRIES = 9 };
  limit sorted = *l;
  double evenly = INFINITY, in_a_row = INFINITY;
  qsort(sorted.slots, (size_t)sorted.n_slots, sizeof *sorted.slots, compare_slots);
  count_alike(l);
  count_alike(&sorted);
  for (int i = 0; i < TRIES; ++i) {
    evenly = fmin(evenly, part_seconds(l));
    in_a_row = fmin(in_a_row, part_seconds(&sorted));
  }
  if (in_a_row < evenly) *l = sorted;
}

bool vendor_limit_mix(const double counts[VENDOR_OPERATIONS], int threads, vendor_kernel *out, double *operations,
                      char why[VENDOR_TEXT]) {
  int lanes, chains;
  limit l = {.part = mixer(&lanes, &chains), .threads = threads};
  if (!l.part || threads < 1 || threads > MAX_THREADS) return refuse("computes", why);
  double sum = fill_slots(&l, counts);
  choose_order(&l);
  set_repeats(&l);
  *operations = sum * chains * lanes * (STEPS / l.n_slots) * l.repeats * threads;
  return make(&l, out, why);
}

/* The row whose least time is best: an instruction of a number's own may be slower than what it replaces. NULL: none fits. */
static const struct arithmetic *fastest(vendor_number number, int threads) {
  enum { TRIES = 9 };
  const struct arithmetic *best = NULL;
  double best_rate = 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    limit l = {.part = table[i].part, .threads = threads};
    double least_s = INFINITY;
    if (!fits(&table[i], number)) continue;
    for (int k = 0; k < TRIES; ++k) least_s = fmin(least_s, part_seconds(&l));
    double rate = table[i].operations * table[i].chains / least_s;
    if (rate > best_rate) best = &table[i], best_rate = rate;
  }
  return best;
}

bool vendor_limit_arithmetic(vendor_number number, int threads, vendor_kernel *out, double *operations,
                             char why[VENDOR_TEXT]) {
  const struct arithmetic *a = fastest(number, threads);
  if (!a || threads < 1 || threads > MAX_THREADS) return refuse("computes", why);
  limit l = {.part = a->part, .threads = threads};
  set_repeats(&l);
  *operations = (double)a->operations * a->chains * STEPS * l.repeats * threads;
  return make(&l, out, why);
}

/* Floats of each thread, rounded up to whole groups of 64. */
static size_t share_of(double bytes, int threads) { return ((size_t)(bytes / threads) / sizeof(float) + 64) / 64 * 64; }

/* Allocates and writes an array for all threads, in huge pages where it is large enough, and sets how often one
 * call goes over it. False: WHY. */
static bool take_array(limit *l, char why[VENDOR_TEXT]) {
  size_t total = (l->n + l->written) * (size_t)l->threads, bytes = total * sizeof(float);
  l->data =
      aligned_alloc(bytes >= HUGE_B ? HUGE_B : 64, bytes >= HUGE_B ? (bytes + HUGE_B - 1) / HUGE_B * HUGE_B : bytes);
  if (l->data && bytes >= HUGE_B) (void)madvise(l->data, bytes, MADV_HUGEPAGE);
  if (!l->data) return snprintf(why, VENDOR_TEXT, "out of memory for an array of %zu bytes", bytes), false;
  for (size_t i = 0; i < total; ++i) l->data[i] = 1;
  double share_B = (double)(l->n + l->written) * sizeof(float);
  l->repeats = 1 + (int)((l->threads > 1 ? part_B : alone_B) / share_B);
  return true;
}

bool vendor_limit_reading(double bytes, int threads, vendor_kernel *out, double *read, char why[VENDOR_TEXT]) {
  limit l = {.part = reader(), .threads = threads};
  if (!l.part || threads < 1 || threads > MAX_THREADS) return refuse("reads", why);
  l.n = share_of(bytes, threads);
  if (!take_array(&l, why)) return false;
  *read = (double)l.n * sizeof(float) * l.repeats * threads;
  return make(&l, out, why);
}

/* Copies as much as is both read and written, and reads or writes the rest. */
static float move(const limit *l, int at) {
  limit rest = *l;
  size_t copied = l->n < l->written ? l->n : l->written;
  const float *from = l->data + l->n * (size_t)at;
  float *to = l->data + l->n * (size_t)l->threads + l->written * (size_t)at;
  l->copy(to, from, copied);
  for (size_t i = copied; i < l->written; i += copied) /* from what was copied last: it is near */
    l->copy(to + i, from, l->written - i < copied ? l->written - i : copied);
  if (l->n == copied) return to[0];
  if (l->stream) return l->stream(from + copied, l->n - copied);
  rest.data = l->data + l->n * (size_t)at + copied, rest.n = l->n - copied;
  return reader()(&rest, 0);
}

/* Tries each way of copying with each way of reading and keeps the fastest. */
static void choose_way(limit *l) {
  /* A way of copying is tried with and without streaming, so each COPIES has two WAYS; each is tried TRIES times,
   * in turns. */
  enum { TRIES = 5, WAYS = 2 * COPIES };
  double best[WAYS] = {0};
  int fastest = 0;
  for (int i = 0; i < WAYS * TRIES; ++i) {
    l->copy = copier(i % COPIES), l->stream = i % WAYS < COPIES ? streamer() : NULL;
    double start = vendor_now(false);
    (void)call_limit(l);
    double took = vendor_now(false) - start;
    if (i < WAYS || took < best[i % WAYS]) best[i % WAYS] = took;
  }
  for (int i = 1; i < WAYS; ++i)
    if (best[i] < best[fastest]) fastest = i;
  l->copy = copier(fastest % COPIES), l->stream = fastest < COPIES ? streamer() : NULL;
}

bool vendor_limit_moving(double read, double written, int threads, vendor_kernel *out, double *moved,
                         char why[VENDOR_TEXT]) {
  limit l = {.part = move, .threads = threads};
  if (!streamer() || threads < 1 || threads > MAX_THREADS) return refuse("moves data", why);
  l.n = share_of(read, threads), l.written = share_of(written, threads);
  if (!take_array(&l, why)) return false;
  choose_way(&l);
  *moved = (double)(l.n + l.written) * sizeof(float) * l.repeats * threads;
  return make(&l, out, why);
}

double vendor_limit_rate(const vendor_kernel *kernel, double work, bool by_cpu) {
  /* The rate is that of the shortest of so many calls: a limit is what the machine reaches undisturbed. */
  enum { CALLS = 40 };
  double best = 0;
  for (int i = 0; i < CALLS; ++i) {
    double start = vendor_now(by_cpu);
    if (kernel->call(kernel->self) != 0) return 0;
    double rate = work / (vendor_now(by_cpu) - start);
    if (rate > best) best = rate;
  }
  return best;
}
