/* rows.c: operators on rows: softmax-RxC, layernorm-RxC, sum-N. A reduction is written as 64 sums (or maxima) side by
 * side, four vectors of 16, that are then reduced to 16 and to one: that is what vectorizes. */
#include <string.h>

#include "bench.h"

/* The maximum and the sum of a row in three steps each: 64 values side by side, then 16, then one. The last pass
 * multiplies by the reciprocal T instead of dividing. */
static const char softmax_program[] =
    "param R = %lld, C = %lld\n"
    "input X: f32[R,C]\n"
    "MA[i<R, l<64] = max[k<C//64](X[i, k*64 + l])\n"
    "MB[i<R, l<16] = max[k<4](MA[i, k*16 + l])\n"
    "M[i<R] = max[k<16](MB[i,k])\n"
    "E[i<R, j<C] = exp(X[i,j] - M[i])\n"
    "SA[i<R, l<64] = sum[k<C//64](E[i, k*64 + l])\n"
    "SB[i<R, l<16] = sum[k<4](SA[i, k*16 + l])\n"
    "S[i<R] = sum[k<16](SB[i,k])\n"
    "T[i<R] = 1 / S[i]\n"
    "Y[i<R, j<C] = E[i,j] * T[i]\n";

/* One row at a time: all stages of a row stay in local buffers, which the first level cache holds. */
static const char softmax_schedule[] =
    "compute_at(T, Y, i); compute_at(S, Y, i); compute_at(SB, Y, i); compute_at(SA, Y, i); compute_at(E, Y, i)\n"
    "compute_at(M, Y, i); compute_at(MB, Y, i); compute_at(MA, Y, i)\n"
    "set_scope(MA, local); set_scope(SA, local); set_scope(MB, local); set_scope(SB, local); set_scope(M, local)\n"
    "set_scope(S, local); set_scope(T, local); set_scope(E, local)\n"
    "reorder(MA, i, k, l); vectorize(MA, l); reorder(MB, i, k, l); vectorize(MB, l); unroll(MB, k); unroll(M, k)\n"
    "reorder(SA, i, k, l); vectorize(SA, l); reorder(SB, i, k, l); vectorize(SB, l); unroll(SB, k); unroll(S, k)\n"
    "split(E, j, 32); vectorize(E, j.inner); split(Y, j, 64); vectorize(Y, j.inner)\n";

/* Two passes over a row, mean and then variance, as oneDNN computes it. */
static const char layernorm_program[] =
    "param R = %lld, C = %lld\n"
    "input X: f32[R,C], gamma: f32[C], beta: f32[C]\n"
    "SA[i<R, l<64] = sum[k<C//64](X[i, k*64 + l])\n"
    "SB[i<R, l<16] = sum[k<4](SA[i, k*16 + l])\n"
    "S[i<R] = sum[k<16](SB[i,k])\n"
    "M[i<R] = S[i] * (1.0 / C)\n"
    "VA[i<R, l<64] = sum[k<C//64]((X[i, k*64 + l] - M[i]) * (X[i, k*64 + l] - M[i]))\n"
    "VB[i<R, l<16] = sum[k<4](VA[i, k*16 + l])\n"
    "V[i<R] = sum[k<16](VB[i,k])\n"
    "T[i<R] = rsqrt(V[i] * (1.0 / C) + 1e-5)\n"
    "Y[i<R, j<C] = (X[i,j] - M[i]) * T[i] * gamma[j] + beta[j]\n";

/* One row at a time, as for softmax. */
static const char layernorm_schedule[] =
    "compute_at(T, Y, i); compute_at(V, Y, i); compute_at(VB, Y, i); compute_at(VA, Y, i)\n"
    "compute_at(M, Y, i); compute_at(S, Y, i); compute_at(SB, Y, i); compute_at(SA, Y, i)\n"
    "set_scope(VA, local); set_scope(SA, local); set_scope(VB, local); set_scope(SB, local); set_scope(M, local)\n"
    "set_scope(S, local); set_scope(T, local); set_scope(V, local)\n"
    "reorder(VA, i, k, l); vectorize(VA, l); reorder(VB, i, k, l); vectorize(VB, l); unroll(VB, k); unroll(V, k)\n"
    "reorder(SA, i, k, l); vectorize(SA, l); reorder(SB, i, k, l); vectorize(SB, l); unroll(SB, k); unroll(S, k)\n"
    "split(Y, j, 64); vectorize(Y, j.inner)\n";

/* P parts, which threads share, each with 64 sums side by side. */
static const char sum_program[] =
    "param N = %lld, P = %d\n"
    "input X: f32[N]\n"
    "A[p<P, l<64] = sum[k<N//(64*P)](X[p*(N//P) + k*64 + l])\n"
    "B[l<64] = sum[p<P](A[p, l])\n"
    "S = sum[l<64](B[l])\n";

static const char sum_schedule[] = "reorder(A, p, k, l); vectorize(A, l); reorder(B, p, l); vectorize(B, l)\n%s";

/* False when a row is not a multiple of the 64 sums side by side. Bytes: the input read once and the output
 * written once. */
static bool one_rows(bench_case *c, const char *program, const char *schedule, int64_t rows, int64_t columns,
                     int threads) {
  if (columns % 64 != 0) return false;
  snprintf(c->text.program, sizeof c->text.program, program, (long long)rows, (long long)columns);
  snprintf(c->text.schedule, sizeof c->text.schedule, "%s%s", schedule, threads > 1 ? "parallel(Y, i)\n" : "");
  c->problem.dim[0] = rows, c->problem.dim[1] = columns;
  c->bytes = 8.0 * (double)rows * (double)columns;
  return true;
}

/* One part for each thread; N has to fill them all. */
static bool sum(bench_case *c, int64_t n, int threads) {
  if (n % (64 * threads) != 0) return false;
  snprintf(c->text.program, sizeof c->text.program, sum_program, (long long)n, threads);
  snprintf(c->text.schedule, sizeof c->text.schedule, sum_schedule, threads > 1 ? "parallel(A, p)\n" : "");
  c->bytes = 4.0 * (double)n;
  return true;
}

bool bench_rows(bench_case *c, const char *name, int threads) {
  long long r, n;
  int end = 0;
  if (sscanf(name, "softmax-%lldx%lld%n", &r, &n, &end) == 2 && name[end] == '\0') {
    c->problem.op = VENDOR_SOFTMAX;
    return one_rows(c, softmax_program, softmax_schedule, r, n, threads);
  }
  if (sscanf(name, "layernorm-%lldx%lld%n", &r, &n, &end) == 2 && name[end] == '\0') {
    c->problem.op = VENDOR_LAYERNORM;
    return one_rows(c, layernorm_program, layernorm_schedule, r, n, threads);
  }
  if (sscanf(name, "sum-%lld%n", &n, &end) == 1 && name[end] == '\0') return sum(c, n, threads);
  return false;
}
