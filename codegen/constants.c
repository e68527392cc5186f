/* constants.c: what operations take on this machine (tn_machine_costs), measured by short loops: the
 * least of some runs in which nobody else had the processor, so that a busy machine does no more than lengthen it. Nothing here
 * depends on which processor it is; the loops are compiled for each width of vectors, and those that the processor
 * lacks take their cost from narrower ones. About 100 MB of memory are taken for the time of measuring,
 * to be sure of leaving the caches. */
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "codegen/internal.h"
#include "runtime/parallel.h"
#include "schedule/cost.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { RUNS = 7, STEPS = 4000, ROOTS = 400, CHAINS = 12, LINE = 64, PAGE = 4096, LOOPS = 30 };

typedef void (*loop_fn)(void *data, size_t n);

/* Of the calling thread: what else the machine does while the thread waits for a core does not count. */
static uint64_t processor_ns(void) {
  struct timespec now;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0
             ? (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec
             : runtime_now_ns();
}

/* Nanoseconds of one call, the least of some. What the processor's time lacks of the time that passed, somebody else had: another thread,
 * or another guest of the machine, whose share the system only estimates, so that either time may be wrong. Such calls count only where
 * there are no others. */
static double least_ns(loop_fn loop, void *data, size_t n) {
  static const double calm = 0.98;
  double best = INFINITY, best_disturbed = INFINITY;
  for (int i = 0; i < RUNS; i++) {
    uint64_t begin_processor = processor_ns(), begin = runtime_now_ns();
    loop(data, n);
    double passed = (double)(runtime_now_ns() - begin), processor = (double)(processor_ns() - begin_processor);
    if (processor >= calm * passed)
      best = fmin(best, passed);
    else
      best_disturbed = fmin(best_disturbed, processor);
  }
  return isfinite(best) ? best : best_disturbed;
}

/* ---- multiply-adds and loads ------------------------------------------------------------------------------------- */

/* Rows in the first cache, each summed up in four sums; then some additions, each of which waits for the one before. */
typedef struct row_ends {
  float *data;
  int steps;
} row_ends;

enum { ROW_VECTORS = 32, END_STEPS = 16 };

/* Rows of a matrix, a page and a line apart, that tiles go over: a panel of TILE_RUN bytes of all rows after the other. */
typedef struct tile_rows {
  const char *data;
  float sum[16];
} tile_rows;

enum { TILE_RUN = 2 * LINE, TILE_ROW = PAGE + LINE };

/* Twelve chains that do not wait for each other, one that waits for itself, twelve of roots, and sums of vectors that lie in a row. */
#define LOOPS_OF(isa, bits, vector, set, fma, add, root, load, store)                                       \
  isa static void fma_##bits(void *data, size_t n) {                                                        \
    vector x = set(0.999f), y = set(0.001f), a[CHAINS];                                                     \
    for (int c = 0; c < CHAINS; c++) a[c] = set((float)c);                                                  \
    for (size_t i = 0; i < n; i++) {                                                                        \
      _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) a[c] = fma(a[c], x, y);                     \
    }                                                                                                       \
    for (int c = 1; c < CHAINS; c++) a[0] = add(a[0], a[c]);                                                \
    store(data, a[0]);                                                                                      \
  }                                                                                                         \
  isa static void chain_##bits(void *data, size_t n) {                                                      \
    vector x = set(0.999f), y = set(0.001f), a = y;                                                         \
    for (size_t i = 0; i < n; i++) a = fma(a, x, y);                                                        \
    store(data, a);                                                                                         \
  }                                                                                                         \
  isa static void root_##bits(void *data, size_t n) {                                                       \
    vector y = set(0.5f), a[CHAINS];                                                                        \
    for (int c = 0; c < CHAINS; c++) a[c] = set((float)c);                                                  \
    for (size_t i = 0; i < n; i++) {                                                                        \
      _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) a[c] = add(root(a[c]), y);                  \
    }                                                                                                       \
    for (int c = 1; c < CHAINS; c++) a[0] = add(a[0], a[c]);                                                \
    store(data, a[0]);                                                                                      \
  }                                                                                                         \
  isa static void ends_##bits(void *data, size_t n) {                                                       \
    const row_ends *e = data;                                                                               \
    float *to = e->data + ROW_VECTORS * 16;                                                                 \
    for (size_t i = 0; i < n; i++) {                                                                        \
      vector a[4] = {set(0), set(0), set(0), set(0)}, last = set(1);                                        \
      for (int v = 0; v < ROW_VECTORS; v++) a[v % 4] = add(a[v % 4], load(e->data + v * ((bits) / 32)));    \
      last = add(add(a[0], a[1]), add(a[2], a[3]));                                                         \
      for (int k = 0; k < e->steps; k++) last = add(last, a[k % 4]);                                        \
      store(to + 16, last);                                                                                 \
    }                                                                                                       \
  }                                                                                                         \
  isa static void tile_##bits(void *data, size_t n_rows) {                                                  \
    enum { LANES = (bits) / 32, FLOATS = LINE / 4 };                                                        \
    tile_rows *t = data;                                                                                    \
    vector x = set(0.001f), a[CHAINS];                                                                      \
    for (int c = 0; c < CHAINS; c++) a[c] = set((float)c);                                                  \
    for (size_t at = 0; at + TILE_RUN <= TILE_ROW; at += TILE_RUN)                                          \
      for (size_t r = 0; r < n_rows; r++) {                                                                 \
        const float *from = (const float *)(t->data + r * TILE_ROW + at);                                   \
        _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) a[c] =                                    \
            fma(load(from + c * LANES % FLOATS), x, a[c]);                                                  \
        _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) a[c] =                                    \
            fma(load(from + FLOATS + c * LANES % FLOATS), x, a[c]);                                         \
      }                                                                                                     \
    for (int c = 1; c < CHAINS; c++) a[0] = add(a[0], a[c]);                                                \
    store(t->sum, a[0]);                                                                                    \
  }                                                                                                         \
  isa static void sum_##bits(void *data, size_t n) {                                                        \
    enum { LANES = (bits) / 32, SUMS = 16 };                                                                \
    float *from = data;                                                                                     \
    vector a[SUMS];                                                                                         \
    for (int c = 0; c < SUMS; c++) a[c] = set(0);                                                           \
    for (size_t i = 0; i + SUMS * LANES <= n; i += SUMS * LANES) {                                          \
      _Pragma("GCC unroll 16") for (int c = 0; c < SUMS; c++) a[c] = add(a[c], load(from + i + c * LANES)); \
    }                                                                                                       \
    for (int n_left = SUMS / 2; n_left > 0; n_left /= 2)                                                    \
      for (int c = 0; c < n_left; c++) a[c] = add(a[c], a[c + n_left]);                                     \
    store(data, a[0]);                                                                                      \
  }

/* The first half of an array to the second, in order; past the caches, too, by whole lines where vectors are that long. */
#define COPY_OF(name, isa, bits, load, store, end)                                        \
  isa static void name##_##bits(void *data, size_t floats) {                              \
    float *from = data, *to = from + floats / 2;                                          \
    for (size_t i = 0; i < floats / 2; i += LINE / sizeof *to) {                          \
      _Pragma("GCC unroll 4") for (size_t k = 0; k < LINE / sizeof *to; k += (bits) / 32) \
          store(to + i + k, load(from + i + k));                                          \
    }                                                                                     \
    end;                                                                                  \
  }

#if defined(__x86_64__)
/* What is measured is the processor, in builds without optimization and under a sanitizer, too. */
#ifdef __clang__
#define ISA(name) __attribute__((target(name), noinline, no_sanitize("address", "thread", "undefined")))
#else
#define ISA(name)                                                                                       \
  __attribute__((target(name), optimize("O2"), noinline, no_sanitize("address"), no_sanitize("thread"), \
                 no_sanitize("undefined")))
#endif
#define FMA_128(a, x, y) _mm_add_ps(_mm_mul_ps(a, x), y)
LOOPS_OF(ISA("sse2"), 128, __m128, _mm_set1_ps, FMA_128, _mm_add_ps, _mm_sqrt_ps, _mm_loadu_ps, _mm_storeu_ps)
LOOPS_OF(ISA("avx2,fma"), 256, __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps, _mm256_sqrt_ps, _mm256_loadu_ps,
         _mm256_storeu_ps)
LOOPS_OF(ISA("avx512f"), 512, __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps, _mm512_sqrt_ps, _mm512_loadu_ps,
         _mm512_storeu_ps)
COPY_OF(copy, ISA("sse2"), 128, _mm_load_ps, _mm_store_ps, )
COPY_OF(copy, ISA("avx2,fma"), 256, _mm256_load_ps, _mm256_store_ps, )
COPY_OF(copy, ISA("avx512f"), 512, _mm512_load_ps, _mm512_store_ps, )
COPY_OF(past, ISA("sse2"), 128, _mm_load_ps, _mm_stream_ps, _mm_sfence())
COPY_OF(past, ISA("avx2,fma"), 256, _mm256_load_ps, _mm256_stream_ps, _mm_sfence())
COPY_OF(past, ISA("avx512f"), 512, _mm512_load_ps, _mm512_stream_ps, _mm_sfence())
ISA("avx2,fma") static void fma_xmm(void *data, size_t n) {
  __m128 x = _mm_set1_ps(0.999f), y = _mm_set1_ps(0.001f), a[CHAINS];
  for (int c = 0; c < CHAINS; c++) a[c] = _mm_set1_ps((float)c);
  for (size_t i = 0; i < n; i++) {
    _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) a[c] = _mm_fmadd_ps(a[c], x, y);
  }
  for (int c = 1; c < CHAINS; c++) a[0] = _mm_add_ps(a[0], a[c]);
  _mm_storeu_ps(data, a[0]);
}

/* As many sums of products of groups of lanes, by the instructions that codegen/emit_dot.c asks for. */
#define DOTS_OF(name, isa, vector, set, left, right, dot, add, store)                          \
  isa static void name(void *data, size_t n) {                                                 \
    vector a[CHAINS];                                                                          \
    for (int c = 0; c < CHAINS; c++) a[c] = set(c);                                            \
    for (size_t i = 0; i < n; i++) {                                                           \
      _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) a[c] = dot(a[c], left, right); \
    }                                                                                          \
    for (int c = 1; c < CHAINS; c++) a[0] = add(a[0], a[c]);                                   \
    store(data, a[0]);                                                                         \
  }
#define SET_F32(c) _mm512_set1_ps((float)(c))

DOTS_OF(dot_bf16_512, ISA("avx512f,avx512bf16"), __m512, SET_F32, (__m512bh)_mm512_set1_epi16(0x3f80),
        (__m512bh)_mm512_set1_epi16(0x3a80), _mm512_dpbf16_ps, _mm512_add_ps, _mm512_storeu_ps)
DOTS_OF(dot_i8_512, ISA("avx512f,avx512vnni"), __m512i, _mm512_set1_epi32, _mm512_set1_epi8(3), _mm512_set1_epi8(1),
        _mm512_dpbusd_epi32, _mm512_add_epi32, _mm512_storeu_si512)
/* Without such an instruction: of halves, each product of which depends on the sum, so that none is made only once. */
#define HALVES_512(a, x, y) _mm512_add_epi32(_mm512_add_epi32(a, _mm512_madd_epi16(a, x)), _mm512_madd_epi16(a, y))
#define HALVES_256(a, x, y) _mm256_add_epi32(_mm256_add_epi32(a, _mm256_madd_epi16(a, x)), _mm256_madd_epi16(a, y))
DOTS_OF(halves_i8_512, ISA("avx512f,avx512bw"), __m512i, _mm512_set1_epi32, _mm512_set1_epi16(3), _mm512_set1_epi16(1),
        HALVES_512, _mm512_add_epi32, _mm512_storeu_si512)
DOTS_OF(halves_i8_256, ISA("avx2"), __m256i, _mm256_set1_epi32, _mm256_set1_epi16(3), _mm256_set1_epi16(1), HALVES_256,
        _mm256_add_epi32, _mm256_storeu_si256)
DOTS_OF(dot_i8_256, ISA("avx2,avxvnni"), __m256i, _mm256_set1_epi32, _mm256_set1_epi8(3), _mm256_set1_epi8(1),
        _mm256_dpbusd_avx_epi32, _mm256_add_epi32, _mm256_storeu_si256)
#else
typedef float wide __attribute__((vector_size(16), aligned(4)));
#define SET_128(f) ((wide){f, f, f, f})
#define FMA_128(a, x, y) ((a) * (x) + (y))
#define ADD_128(a, b) ((a) + (b))
#define ROOT_128(a) ((wide){sqrtf((a)[0]), sqrtf((a)[1]), sqrtf((a)[2]), sqrtf((a)[3])})
#define LOAD_128(p) (*(const wide *)(p))
#define STORE_128(p, a) (*(wide *)(p) = (a))
LOOPS_OF(__attribute__((noinline)), 128, wide, SET_128, FMA_128, ADD_128, ROOT_128, LOAD_128, STORE_128)
COPY_OF(copy, __attribute__((noinline)), 128, LOAD_128, STORE_128, )
COPY_OF(past, __attribute__((noinline)), 128, LOAD_128, STORE_128, )
#endif

/* The loops that are timed, made by LLVM for this processor and loaded like kernels. */
typedef struct loops {
  loop_fn fma[3]; /* of 16, 32, 64 bytes; NULL: the processor lacks them */
  loop_fn chain, root, sum, ends, tile, copy, past;
  loop_fn sum32;            /* of 32 bytes or fewer, as the processor has them */
  loop_fn dot_bf16, dot_i8; /* of the widest vectors, by an instruction or of halves; NULL: the processor lacks them */
} loops;

/* The widest that the processor and the system allow. */
static loops find_loops(void) {
  loops l = {.fma = {fma_128},
             .chain = chain_128,
             .root = root_128,
             .sum = sum_128,
             .sum32 = sum_128,
             .ends = ends_128,
             .tile = tile_128,
             .copy = copy_128,
             .past = past_128};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
    l = (loops){.fma = {fma_xmm, fma_256},
                .chain = chain_256,
                .root = root_256,
                .sum = sum_256,
                .sum32 = sum_256,
                .ends = ends_256,
                .tile = tile_256,
                .copy = copy_256,
                .past = past_256};
  if (__builtin_cpu_supports("avx512f"))
    l = (loops){.fma = {fma_xmm, fma_256, fma_512},
                .chain = chain_512,
                .root = root_512,
                .sum = sum_512,
                .sum32 = sum_256,
                .ends = ends_512,
                .tile = tile_512,
                .copy = copy_512,
                .past = past_512};
  if (__builtin_cpu_supports("avx2")) l.dot_i8 = halves_i8_256;
  if (__builtin_cpu_supports("avxvnni")) l.dot_i8 = dot_i8_256;
  if (__builtin_cpu_supports("avx512bw")) l.dot_i8 = halves_i8_512;
  if (__builtin_cpu_supports("avx512vnni")) l.dot_i8 = dot_i8_512;
  if (__builtin_cpu_supports("avx512bf16")) l.dot_bf16 = dot_bf16_512;
#endif
  return l;
}

/* A cost that is the difference of two times is kept as the two until all is measured: of each time the least counts, and the
 * least of differences would be of a moment when only the smaller time was disturbed. */
typedef struct raw_costs {
  tn_machine_costs more, less; /* LESS: 0 but for costs that are differences */
} raw_costs;

static double fma_ns(loop_fn loop, void *data) { return least_ns(loop, data, STEPS) / STEPS / CHAINS; }

/* Of a row with STEPS additions at its end, for each addition that a long end has and a short one has not. The last ones of a short
 * loop and of a long one hide as much. */
static double ends_ns(const loops *l, void *data, int steps) {
  enum { ROWS = 1000 };
  row_ends e = {data, steps};
  return least_ns(l->ends, &e, ROWS) / ROWS / (END_STEPS - END_STEPS / 4);
}

/* A width that the processor lacks takes as long as the narrower vectors that it is made of, a dot product as the
 * multiply-adds that it stands for. */
static void measure_arithmetic(const loops *l, void *data, raw_costs *raw) {
  tn_machine_costs *c = &raw->more;
  c->fma16 = fma_ns(l->fma[0], data);
  c->fma32 = l->fma[1] ? fma_ns(l->fma[1], data) : 2 * c->fma16;
  c->fma64 = l->fma[2] ? fma_ns(l->fma[2], data) : 2 * c->fma32;
  c->chain = least_ns(l->chain, data, STEPS) / STEPS;
  c->root = least_ns(l->root, data, ROOTS) / ROOTS / CHAINS;
  c->ends = ends_ns(l, data, END_STEPS);
  raw->less.ends = ends_ns(l, data, END_STEPS / 4);
  double widest = l->fma[2] ? c->fma64 : l->fma[1] ? c->fma32 : c->fma16;
  c->dot2 = l->dot_bf16 ? fma_ns(l->dot_bf16, data) : 2 * widest;
  c->dot4 = l->dot_i8 ? fma_ns(l->dot_i8, data) : 4 * widest;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A sum over an array, so often that reading the clock takes no time beside it. */
typedef struct repeated {
  loop_fn sum;
  float *data;
  size_t floats;
} repeated;

/* Reads the same data TIMES times; what the sums give is of no interest, so nothing is returned. */
static void sum_again(void *data, size_t times) {
  const repeated *r = data;
  for (size_t i = 0; i < times; i++) r->sum(r->data, r->floats);
}

/* Nanoseconds for each 64 bytes of a sum over BYTES. */
static double line_ns(loop_fn sum, float *data, size_t bytes) {
  enum { LEAST_BYTES = 1 << 20 };
  repeated r = {sum, data, bytes / sizeof *data};
  size_t times = RUNTIME_MAX(LEAST_BYTES / bytes, 1);
  sum_again(&r, 1);
  return least_ns(sum_again, &r, times) / (double)(times * (bytes / LINE));
}

/* 64 bytes that are read and as many that are written; BYTES are both. The least of some places of
 * the WHOLE bytes of DATA: where pages lie decides how a cache keeps them. */
static double copy_ns(loop_fn copy, float *data, size_t whole, size_t bytes) {
  enum { PLACES = 4 };
  size_t floats = bytes / sizeof *data;
  double best = INFINITY;
  for (size_t place = 0; place < PLACES && (place + 1) * bytes <= whole; place++) {
    copy(data + place * floats, floats);
    best = fmin(best, least_ns(copy, data + place * floats, floats));
  }
  return best / ((double)bytes / 2 / LINE);
}

/* Turns a square of floats, element by element: a load and a store each. Eight in a step of the loop, which takes no time then wherever
 * it lies. */
__attribute__((noinline)) static void turn(void *data, size_t n) {
  enum { SIDE = 32 };
  const float *from = data;
  float *to = (float *)data + (ptrdiff_t)SIDE * (SIDE + 1);
  for (size_t k = 0; k < n; k++) {
    for (int i = 0; i < SIDE; i++)
      _Pragma("GCC unroll 8") for (int j = 0; j < SIDE; j++) to[i * SIDE + j] = from[j * (SIDE + 1) + i];
    __asm__ volatile("" : : "r"(to) : "memory");
  }
}

/* VOLATILE, so that the chain of accesses is not optimised away. */
typedef struct pages {
  char *data;
  size_t step;
  volatile char last;
} pages;

/* Each access waits for the one before. */
__attribute__((noinline)) static void touch(void *data, size_t n) {
  pages *p = data;
  size_t at = 0;
  char sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum = (char)(sum + p->data[at + (size_t)(sum & 0)]);
    at += p->step;
  }
  p->last = sum;
}

/* Of one of as many lines, STEP bytes apart. */
static double touch_ns(char *data, size_t step) {
  enum { PAGES = 1024 };
  pages p = {data, step, 0};
  memset(data, 0, (size_t)PAGES * (PAGE + LINE));
  return least_ns(touch, &p, PAGES) / PAGES;
}

/* Stores to each line once, page after page: all at the same place of a page fall into one set of the first cache. */
__attribute__((noinline)) static void store_apart(void *data, size_t n_pages) {
  enum { LINES = PAGE / LINE };
  volatile char *to = data;
  for (size_t line = 0; line < LINES; line++)
    for (size_t p = 0; p < n_pages; p++) to[p * PAGE + line * LINE] = 1;
}

/* In memory that the third cache holds and the second does not. */
static double apart_ns(char *data, size_t bytes) {
  size_t n_pages = bytes / PAGE;
  memset(data, 0, bytes);
  return least_ns(store_apart, data, n_pages) / (double)(n_pages * (PAGE / LINE));
}

/* Some rows side by side, stores of a line's bytes to each in turn. */
typedef struct spanning {
  char *data;
  size_t offset; /* of a row's stores: 0: none spans two lines */
} spanning;

enum { ROWS = 16, ROW = PAGE + LINE };

typedef char line_bytes __attribute__((vector_size(LINE), aligned(1)));

/* As few stores as the vectors of ISA need. */
#define STORE_ROWS_OF(name, isa)                                                           \
  isa static void name(void *data, size_t n_groups) {                                      \
    const spanning *s = data;                                                              \
    for (size_t g = 0; g < n_groups; g++)                                                  \
      for (size_t at = s->offset; at + LINE <= ROW; at += LINE)                            \
        for (size_t r = 0; r < ROWS; r++)                                                  \
          *(volatile line_bytes *)(s->data + (g * ROWS + r) * ROW + at) = (line_bytes){1}; \
  }
#if defined(__x86_64__)
STORE_ROWS_OF(store_rows_512, ISA("avx512f"))
STORE_ROWS_OF(store_rows_256, ISA("avx2"))
#endif
STORE_ROWS_OF(store_rows_128, __attribute__((noinline)))

/* A line's bytes, stored OFFSET bytes behind a line's begin: an eighth of a line off, one of their stores spans two lines for each
 * width of vectors. */
static double rows_ns(char *data, size_t bytes, size_t offset) {
  loop_fn store_rows = store_rows_128;
#if defined(__x86_64__)
  store_rows = __builtin_cpu_supports("avx512f") ? store_rows_512
               : __builtin_cpu_supports("avx2")  ? store_rows_256
                                                 : store_rows_128;
#endif
  size_t n_groups = bytes / (ROWS * ROW), stores = n_groups * ROWS * (ROW / LINE);
  spanning rows = {data, offset};
  return stores > 0 ? least_ns(store_rows, &rows, n_groups) / (double)stores : 0;
}

/* The lines of pages in runs, a run of each page after the other: no page holds two that follow each other in time. */
typedef struct runs {
  const char *data;
  size_t lines; /* of a run */
  volatile char last;
} runs;

/* A byte of each line. */
__attribute__((noinline)) static void read_runs(void *data, size_t n_pages) {
  runs *r = data;
  char sum = 0;
  for (size_t at = 0; at < PAGE; at += r->lines * LINE)
    for (size_t p = 0; p < n_pages; p++) {
      const char *run = r->data + p * PAGE + at;
      for (size_t l = 0; l < r->lines; l++) sum = (char)(sum + ((const volatile char *)run)[l * LINE]);
    }
  r->last = sum;
}

/* Of a line. */
static double runs_ns(const char *data, size_t bytes, size_t lines) {
  runs r = {data, lines, 0};
  size_t n_pages = bytes / PAGE;
  return least_ns(read_runs, &r, n_pages) / (double)(n_pages * (PAGE / LINE));
}

/* Of a line of rows that tiles go over by panels, by LOOP. */
static double tile_ns(loop_fn loop, const char *data, size_t bytes) {
  size_t n_rows = bytes / TILE_ROW;
  tile_rows t = {data, {0}};
  return least_ns(loop, &t, n_rows) / (double)(n_rows * (TILE_ROW / TILE_RUN * (TILE_RUN / LINE)));
}

/* Computes nothing, but asks for what the next panel has of a row. The last rows are asked for beyond the end, which does no harm. */
__attribute__((noinline)) static void ask_rows(void *data, size_t n_rows) {
  tile_rows *t = data;
  char sum = 0;
  for (size_t at = 0; at + TILE_RUN <= TILE_ROW; at += TILE_RUN)
    for (size_t r = 0; r < n_rows; r++) {
      const volatile char *from = t->data + r * TILE_ROW + at;
      for (size_t l = 0; l < TILE_RUN; l += LINE) __builtin_prefetch((const char *)from + TILE_RUN + l);
      for (size_t l = 0; l < TILE_RUN; l += LINE) sum = (char)(sum + from[l]);
    }
  t->sum[0] = sum;
}

/* Four pages at a time, a line of each in turn. */
__attribute__((noinline)) static void read_beside(void *data, size_t n_pages) {
  enum { STREAMS = 4 };
  runs *r = data;
  char sum = 0;
  for (size_t p = 0; p + STREAMS <= n_pages; p += STREAMS)
    for (size_t at = 0; at < PAGE; at += LINE)
      for (size_t s = 0; s < STREAMS; s++) sum = (char)(sum + ((const volatile char *)r->data)[(p + s) * PAGE + at]);
  r->last = sum;
}

/* Of a line. */
static double beside_ns(const char *data, size_t bytes) {
  runs r = {data, 1, 0};
  return least_ns(read_beside, &r, bytes / PAGE) / ((double)bytes / LINE);
}

/* The system gives pages when they are touched first. */
static double fresh_ns(void) {
  enum { FRESH_BYTES = 4 << 20 };
  double best = INFINITY;
  for (int i = 0; i < 3; i++) {
    char *data = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) break;
    uint64_t begin = processor_ns();
    memset(data, 1, FRESH_BYTES);
    best = fmin(best, (double)(processor_ns() - begin));
    munmap(data, FRESH_BYTES);
  }
  return isfinite(best) ? best / ((double)FRESH_BYTES / LINE) : 1;
}

/* Half of a level, but more than the level below it. */
static size_t level_bytes(const int64_t caches[4], int level) {
  static const size_t most = (size_t)8 << 20; /* others use the last level, too */
  size_t below = (size_t)caches[level - 1], whole = (size_t)caches[level];
  return RUNTIME_MIN(RUNTIME_MAX(whole / 2, RUNTIME_MIN(2 * below, whole)), most);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Reading memory from all threads at once: each has a part of DATA of its own. */
typedef struct shared_sum {
  const loops *l;
  float *data;
  size_t part; /* floats of a thread */
} shared_sum;

/* Parts begin to end of memory that all threads read together. */
static void sum_part(void *loop, int64_t begin, int64_t end) {
  const shared_sum *s = loop;
  for (int64_t i = begin; i < end; i++) s->l->sum(s->data + (size_t)i * s->part, s->part);
}

/* What a loop of some microseconds takes longer than its share of the work. */
static double fork_ns(runtime_pool *pool, const loops *l, float *data, int threads) {
  enum { PARTS = 8, FLOATS = 4096, LEAST_NS = 200 };
  shared_sum s = {l, data, FLOATS};
  double alone = INFINITY, shared = INFINITY;
  for (int i = 0; i < LOOPS; i++) {
    uint64_t begin = runtime_now_ns(); /* the same clock twice: the other takes long to read */
    sum_part(&s, 0, (int64_t)PARTS * threads);
    alone = fmin(alone, (double)(runtime_now_ns() - begin));
    begin = runtime_now_ns();
    runtime_pool_run(pool, sum_part, &s, 0, (int64_t)PARTS * threads, threads);
    shared = fmin(shared, (double)(runtime_now_ns() - begin));
  }
  return fmax(shared - alone / threads, LEAST_NS);
}

/* The least time of three in which all threads have done their PARTS. */
static double least_shared_ns(runtime_pool *pool, void (*part)(void *, int64_t, int64_t), void *parts, int threads) {
  double best = INFINITY;
  for (int i = 0; i < 3; i++) {
    uint64_t begin = runtime_now_ns();
    runtime_pool_run(pool, part, parts, 0, threads, threads);
    best = fmin(best, (double)(runtime_now_ns() - begin));
  }
  return best;
}

/* Of each thread's lines while all stream. */
static double shared_ns(runtime_pool *pool, const loops *l, float *data, size_t bytes, int threads) {
  shared_sum s = {l, data, bytes / sizeof *data / (size_t)threads};
  return least_shared_ns(pool, sum_part, &s, threads) / ((double)bytes / LINE / threads);
}

/* Each thread copies the first half of its part to the second. */
typedef struct shared_copy {
  loop_fn copy;
  float *data;
  size_t part; /* floats of a thread, whole lines in either half */
} shared_copy;

static void copy_part(void *loop, int64_t begin, int64_t end) {
  const shared_copy *s = loop;
  for (int64_t i = begin; i < end; i++) s->copy(s->data + (size_t)i * s->part, s->part);
}

/* 64 bytes that each thread reads and as many that it writes, while all do; BYTES are both, of all threads. */
static double shared_copy_ns(runtime_pool *pool, loop_fn copy, float *data, size_t bytes, int threads) {
  enum { LINE_FLOATS = LINE / sizeof *data };
  size_t lines = bytes / 2 / LINE / (size_t)threads;
  shared_copy s = {copy, data, 2 * lines * LINE_FLOATS};
  return least_shared_ns(pool, copy_part, &s, threads) / (double)lines;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void keep_least(tn_machine_costs *c, const tn_machine_costs *again) {
#define X(name, what) c->name = fmin(c->name, again->name);
  TN_MACHINE_COSTS(X)
#undef X
}

/* Nothing is measured yet: more than anything takes. */
static raw_costs unknown_costs(void) {
  raw_costs raw = {.less = {0}};
#define X(name, what) raw.more.name = INFINITY;
  TN_MACHINE_COSTS(X)
#undef X
  raw.less.load = raw.less.load32 = raw.less.ends = raw.less.spans = raw.less.page = raw.less.waited = INFINITY;
  return raw;
}

/* Room for measure_core alone, behind the BYTES of DATA: others leave numbers there that are too small to be quick. */
static float *core_room(char *data, size_t bytes, const int64_t caches[4]) {
  float *room = (float *)(data + bytes);
  for (size_t i = 0; i < (size_t)caches[1] / sizeof *room; i++) room[i] = 1;
  return room;
}

/* Registers and the first cache: a millisecond. Their proportions decide the shapes of tiles, while clock and neighbours change
 * from one millisecond to the next: so they are measured again after each of the others, and the least of each counts. */
static void measure_core(const loops *l, float *room, const int64_t caches[4], raw_costs *raw) {
  raw_costs now = unknown_costs();
  measure_arithmetic(l, room, &now);
  now.more.load = line_ns(l->sum, room, (size_t)caches[1] / 2);
  now.less.load = line_ns(l->sum, room, (size_t)caches[1] / 4);
  now.more.load32 = line_ns(l->sum32, room, (size_t)caches[1] / 2);
  now.less.load32 = line_ns(l->sum32, room, (size_t)caches[1] / 4);
  keep_least(&raw->more, &now.more);
  keep_least(&raw->less, &now.less);
}

/* What all threads do at once; of one thread it is what that does alone. */
static void measure_threads(runtime_pool *pool, const loops *l, float *data, size_t bytes, size_t cached_bytes,
                            tn_machine_costs *c) {
  int threads = tn_thread_count();
  c->shared4 = c->line4, c->sharedwrite4 = c->write4, c->sharedpast = c->past;
  if (threads > 1) {
    c->shared4 = shared_ns(pool, l, data, bytes, threads);
    c->sharedwrite4 = shared_copy_ns(pool, l->copy, data, bytes, threads);
    c->sharedpast = shared_copy_ns(pool, l->past, data, cached_bytes, threads);
  }
  c->fork = fork_ns(pool, l, data, threads);
}

/* Some hundred milliseconds. */
static void measure(runtime_pool *pool, char *data, size_t bytes, const int64_t caches[4], raw_costs *raw) {
  enum { TURNS = 20, TURNED = 32 * 32, NEAR_ROWS = 4 }; /* NEAR_ROWS: the first cache holds them */
  loops l = find_loops();
  float *floats = (float *)data, *room = core_room(data, bytes, caches);
  size_t bytes2 = level_bytes(caches, 2), bytes3 = level_bytes(caches, 3);
  tn_machine_costs *more = &raw->more, *less = &raw->less;
  *raw = unknown_costs();
#define MEASURE(cost, ns) (cost) = (ns), measure_core(&l, room, caches, raw)
  memset(data, 0, bytes);
  MEASURE(more->gather, least_ns(turn, data, TURNS) / TURNS / TURNED);
  MEASURE(more->line2, line_ns(l.sum, floats, bytes2));
  MEASURE(more->line3, line_ns(l.sum, floats, bytes3));
  MEASURE(more->line4, line_ns(l.sum, floats, bytes));
  MEASURE(more->stray, runs_ns(data, bytes3, 1));
  MEASURE(more->waited, tile_ns(l.tile, data, bytes3));
  MEASURE(less->waited, tile_ns(l.tile, data, (size_t)NEAR_ROWS * TILE_ROW));
  MEASURE(more->asked, tile_ns(ask_rows, data, bytes3));
  MEASURE(more->stray4, runs_ns(data, bytes, 16));
  MEASURE(more->beside, beside_ns(data, bytes3));
  MEASURE(more->runs3, runs_ns(data, bytes3, 16));
  for (size_t i = 0; i < bytes / sizeof *floats; i++) floats[i] = 1; /* some processors skip zeros over zeros */
  MEASURE(more->write2, copy_ns(l.copy, floats, bytes, bytes2));
  MEASURE(more->write3, copy_ns(l.copy, floats, bytes, bytes3));
  MEASURE(more->write4, copy_ns(l.copy, floats, bytes, bytes));
  MEASURE(more->past, copy_ns(l.past, floats, bytes, bytes3));
  MEASURE(more->apart, apart_ns(data, bytes3));
  MEASURE(more->spans, rows_ns(data, bytes3, LINE / 8));
  MEASURE(less->spans, rows_ns(data, bytes3, 0));
  MEASURE(more->fresh, fresh_ns());
  MEASURE(more->page, touch_ns(data, PAGE + LINE));
  MEASURE(less->page, touch_ns(data, LINE));
#undef MEASURE
  measure_threads(pool, &l, floats, bytes, bytes3, more);
}

/* What 64 bytes that are written take beside as many that are read, of BOTH. */
static double write_of(double both_ns, double read_ns) { return fmax(both_ns - read_ns, 0.1 * read_ns); }

/* The load of a vector of BYTES, of 64 bytes of a half of the first cache and of a quarter: what the ends of a sum take is in both. */
static double load_of(double half_ns, double quarter_ns, double bytes) {
  return fmax(2 * half_ns - quarter_ns, half_ns / 2) * bytes / LINE;
}

static tn_machine_costs costs_of(const raw_costs *raw) {
  static const double least = 0.01; /* a cost of nothing would be taken for one that is not known */
  tn_machine_costs c = raw->more;
  loops l = find_loops();
  double widest = l.fma[2] ? 64 : l.fma[1] ? 32 : 16;
  c.load = load_of(raw->more.load, raw->less.load, widest);
  c.load32 = load_of(raw->more.load32, raw->less.load32, fmin(widest, 32));
  c.ends = fmax(raw->more.ends - raw->less.ends, least);
  c.spans = fmax(raw->more.spans - raw->less.spans, least);
  c.page = fmax(raw->more.page - raw->less.page, least);
  c.waited = cost_hidden(c.waited, raw->less.waited);
  c.write2 = write_of(c.write2, c.line2);
  c.write3 = write_of(c.write3, c.line3);
  c.write4 = write_of(c.write4, c.line4);
  c.past = write_of(c.past, c.line3);
  c.sharedwrite4 = write_of(c.sharedwrite4, c.shared4);
  c.sharedpast = write_of(c.sharedpast, c.line3);
  return c;
}

/* Another process had the processor for most of the time: what is pipelined cannot take longer than what waits. */
static bool is_disturbed(const tn_machine_costs *c) {
  static const double room = 1.5;
  double most = fmax(fmax(c->fma16, c->fma32), fmax(c->fma64, c->load));
  return most > room * c->chain;
}

/* Whether the least so far was seen once more, in AGAIN. */
static bool agree(const tn_machine_costs *c, const tn_machine_costs *again) {
  static const double room = 1.1;
  return again->fma16 < room * c->fma16 && again->fma32 < room * c->fma32 && again->fma64 < room * c->fma64 &&
         again->load < room * c->load && again->line2 < room * c->line2 && again->line3 < room * c->line3;
}

/* Twice, at least, until what decides most was seen twice: the least of each. A level that is measured faster than a nearer one was
 * disturbed, too: order is what the cost model relies on. */
static void measure_calmly(runtime_pool *pool, char *data, size_t bytes, const int64_t caches[4], tn_machine_costs *c) {
  enum { TRIES = 5 };
  raw_costs raw, again;
  bool is_calm = false;
  measure(pool, data, bytes, caches, &raw);
  for (int i = 1; i < TRIES && !is_calm; i++) {
    measure(pool, data, bytes, caches, &again);
    bool was_less = agree(&again.more, &raw.more); /* the least before was no chance */
    keep_least(&raw.more, &again.more);
    keep_least(&raw.less, &again.less);
    *c = costs_of(&raw);
    is_calm = was_less && agree(&raw.more, &again.more) && !is_disturbed(c);
  }
  c->line3 = fmax(c->line3, c->line2);
  c->stray = fmax(c->stray, c->line3);
  c->asked = fmax(c->asked, c->line3);
  c->waited = fmax(c->waited, c->line3);
  c->line4 = fmax(c->line4, c->line3);
  c->shared4 = fmax(c->shared4, c->line4);
  c->sharedwrite4 = fmax(c->sharedwrite4, c->write4);
  c->sharedpast = fmax(c->sharedpast, c->past);
  c->stray4 = fmax(c->stray4, c->line4);
  c->runs3 = fmin(fmax(c->runs3, c->line3), c->stray);
  c->beside = fmax(c->beside, c->line3);
}

/* Threads are the context's own pool: what is measured is what kernels use. */
const char *tn_measure_costs(tn_context *ctx) {
  enum { MOST_BYTES = 96 << 20, LEAST_BYTES = 16 << 20 };
  int64_t caches[4];
  int ways[4];
  codegen_costs costs = {0};
  if (ctx == NULL) return NULL;
  codegen_host_caches(caches);
  codegen_host_ways(ways);
  for (int level = 1; level < 4; level++) costs.cache[level] = (double)caches[level];
  for (int level = 1; level < 4; level++) costs.ways[level] = ways[level];
  size_t bytes = (size_t)RUNTIME_MIN(RUNTIME_MAX(2 * caches[3], (int64_t)LEAST_BYTES), (int64_t)MOST_BYTES);
  runtime_pool *pool = runtime_pool_of(ctx);
  size_t room = ((size_t)caches[1] + PAGE - 1) / PAGE * PAGE;
  char *data = pool != NULL ? aligned_alloc(PAGE, bytes + room) : NULL;
  if (data != NULL) measure_calmly(pool, data, bytes, caches, &costs.ns);
  free(data);
  const char *text = data != NULL ? codegen_costs_text(ctx, &costs) : NULL;
  if (text == NULL && tn_context_status(ctx) == TN_OK)
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for measuring the machine");
  return text;
}
