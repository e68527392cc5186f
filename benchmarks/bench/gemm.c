/* gemm.c: matrix products: gemm-MxNxK and bgemm-BxMxNxK. The program has a stage that copies B into panels 32 columns
 * wide, padded with zeros: the inner kernel reads them in order. */
#include <string.h>

#include "bench.h"

enum { TILE_ROWS = 12, TILE_COLUMNS = 32, DEPTH = 256 };

static const char packed_program[] =
    "param M = %lld, N = %lld, K = %lld\n"
    "input A: f32[M,K], B: f32[K,N]\n"
    "P[jo<(N+31)//32, k<K, ji<32] = select(jo*32 + ji < N, B[k, jo*32 + ji], 0)\n"
    "C[i<M, j<N] = sum[k<K](A[i,k] * P[j//32, k, j%%32])\n";

/* Blocks of k outermost: P holds one such block of B. Blocks of rows next: their part of A is copied together. */
static void packed_schedule(bench_case *c, int64_t m, int64_t n, int64_t k, int threads) {
  char *out = c->schedule;
  size_t size = sizeof c->schedule;
  int64_t tiles = (m + TILE_ROWS - 1) / TILE_ROWS, block = threads > 1 ? (tiles + 2 * threads - 1) / (2 * threads) : 16;
  int64_t blocks = (k + DEPTH - 1) / DEPTH, depth = (k + blocks - 1) / blocks;
  if (block > 16) block = (block + (block + 15) / 16 - 1) / ((block + 15) / 16);
  depth = (depth + 15) / 16 * 16;
  snprintf(out, size,
           "cache_read(A, local, C)\n"
           "split(C, i, %d, tail=peel); split(C, j, %d, tail=peel); split(C, k, %lld, tail=peel)\n"
           "split(C, i.outer, %lld, tail=peel)\n"
           "reorder(C, k.outer, i.outer.outer, j.outer, i.outer.inner, k.inner, i.inner, j.inner)\n"
           "unroll(C, i.inner); vectorize(C, j.inner)\n"
           "compute_at(P, C, k.outer); vectorize(P, ji)\n"
           "compute_at(A.local, C, i.outer.outer); split(A.local, ax1, 16); vectorize(A.local, ax1.inner)\n%s",
           TILE_ROWS, TILE_COLUMNS, (long long)depth, (long long)block,
           threads > 1 ? "parallel(C, i.outer.outer); parallel(P, jo)\n" : "");
  (void)n;
}

static bool one_gemm(bench_case *c, int64_t m, int64_t n, int64_t k, int threads) {
  snprintf(c->program, sizeof c->program, packed_program, (long long)m, (long long)n, (long long)k);
  packed_schedule(c, m, n, k, threads);
  c->operator = BENCH_GEMM;
  memcpy(c->dim, (int64_t[]){1, m, n, k}, 4 * sizeof(int64_t));
  c->flops = 2.0 * (double)m * (double)n * (double)k;
  c->bytes = 4.0 * ((double)m * (double)k + (double)k * (double)n + (double)m * (double)n);
  return true;
}

bool bench_gemm(bench_case *c, const char *name, int threads) {
  long long m, n, k;
  int end = 0;
  if (sscanf(name, "gemm-%lldx%lldx%lld%n", &m, &n, &k, &end) == 3 && name[end] == '\0') {
    return one_gemm(c, m, n, k, threads);
  }
  return false;
}
