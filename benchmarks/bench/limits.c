/* limits.c: what one core can do at most: multiply-adds on registers only, and reading an array. */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { CHAINS = 16, STEPS = 20000 };

/* Sixteen independent chains, two vectors of constants: nothing but multiply-adds and the loop. */
#define DEFINE_FMA(name, isa, vector, set, fma)                                         \
  __attribute__((target(isa), noinline)) static void name(float *out) {                 \
    vector x = set(0.999f), y = set(0.001f), a[CHAINS];                                 \
    for (int c = 0; c < CHAINS; ++c) a[c] = set((float)c);                              \
    for (int i = 0; i < STEPS; ++i) {                                                   \
      _Pragma("GCC unroll 16") for (int c = 0; c < CHAINS; ++c) a[c] = fma(a[c], x, y); \
    }                                                                                   \
    for (int c = 1; c < CHAINS; ++c) a[0] = fma(a[c], x, a[0]);                         \
    memcpy(out, &a[0], sizeof a[0]);                                                    \
  }

DEFINE_FMA(fma_512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)
DEFINE_FMA(fma_256, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)

double bench_fma_limit(void) {
  float out[16];
  bool wide = __builtin_cpu_supports("avx512f"), narrow = __builtin_cpu_supports("fma");
  double best = 1e9, flops = 2.0 * CHAINS * STEPS * (wide ? 16 : 8);
  if (!wide && !narrow) return 0;
  for (int i = 0; i < 400; ++i) {
    double begin = vendor_now(true);
    if (wide)
      fma_512(out);
    else
      fma_256(out);
    double took = vendor_now(true) - begin;
    if (took < best) best = took;
  }
  return flops / best * 1e-9;
}

/* Eight sums of vectors: more than loads can feed. */
__attribute__((target("avx2"), noinline)) static float read_all(const float *data, size_t n) {
  __m256 sum[8];
  float lanes[8], total = 0;
  for (int c = 0; c < 8; ++c) sum[c] = _mm256_setzero_ps();
  for (size_t i = 0; i + 64 <= n; i += 64) {
    _Pragma("GCC unroll 8") for (int c = 0; c < 8; ++c) sum[c] =
        _mm256_add_ps(sum[c], _mm256_loadu_ps(data + i + 8 * c));
  }
  for (int c = 0; c < 8; ++c) {
    _mm256_storeu_ps(lanes, sum[c]);
    for (int i = 0; i < 8; ++i) total += lanes[i];
  }
  return total;
}

double bench_bandwidth_limit(double bytes) {
  size_t n = (size_t)bytes / sizeof(float);
  float *data = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);
  volatile float sink;
  double best = 1e9;
  if (data == NULL || !__builtin_cpu_supports("avx2")) return 0;
  for (size_t i = 0; i < n; ++i) data[i] = 1;
  int calls = 1 + (int)(4e6 / bytes);
  for (int i = 0; i < 40; ++i) {
    double begin = vendor_now(true);
    for (int c = 0; c < calls; ++c) sink = read_all(data, n);
    double took = (vendor_now(true) - begin) / calls;
    if (took < best) best = took;
  }
  (void)sink;
  free(data);
  return bytes / best * 1e-9;
}
