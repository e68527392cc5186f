/* buckets.c: one function for every M (`tenon build --buckets`) beside the kernel that is made for one size
 * alone. Both are timed in turns, in one process, on the same data, and their outputs are compared.
 *
 * Usage: buckets [LOG [SEED [DRAWN [WORKLOAD [SIZES [TARGET]]]]]]
 * LOG: records of the sizes (tenon tune -p M=...). Without it (-), and at sizes that it does not have, the
 * static kernels have the generic schedule. SEED: draws DRAWN sizes between the least and the most; 0: the
 * named sizes, or SIZES, as in 17,40. WORKLOAD: one of the table, or a program of your own with a symbol M<=N;
 * "": all. TARGET: as in threads=1; with costs=... nothing is measured, so that two runs choose alike. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tenon/tenon.h>

/* Turns of each comparison, the most arguments of a program, the most sizes of a run. */
enum { TURNS = 4, MOST = 8, MAX_SIZES = 64 };
/* Tried where no sizes are given: small ones, powers of two and their neighbours, and sizes inside the buckets. */
static const int64_t named[] = {1,   2,   3,   5,   8,   12,  15,  16,   17,   23,   40,   64,   100,
                                127, 128, 129, 200, 300, 512, 700, 1000, 1024, 1025, 1500, 3000, 4096};
enum { N_NAMED = sizeof named / sizeof *named };

/* A program with a symbol M, the range of M that is tried, and the sizes that its buckets are made for. */
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
    {"cube", "symbol M<=1000\nC[i<M, j<M] = sum[k<M](A[i,k] * B[k,j])", 1, 1000, 3, {16, 128, 512}},
    {"every_third",
     "symbol M<=2048\ninput A: f32[2*M,400]\nC[i<M, j<128] = A[2*i,3*j] * 2 + 1",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"halve", "symbol M<=50000\ninput A: f32[2*M]\nC[i<M] = A[2*i] + A[2*i+1]", 1, 50000, 3, {64, 1024, 16384}},
    {"interleave",
     "symbol M<=4096\ninput A: f32[50,M], B: f32[50,M]\nC[i<50, j<2*M] = select(j % 2 == 0, A[i,j//2], B[i,j//2])",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"join_columns",
     "symbol M<=4096\ninput A: f32[64,M], B: f32[64,100]\nC[i<64, j<M + 100] = select(j < M, A[i,j], B[i,j - M])",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"join_rows",
     "symbol M<=4096\ninput A: f32[M,100], B: f32[64,100]\nC[i<M + 64, j<100] = select(i < M, A[i,j], B[i - M,j])",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"reverse", "symbol M<=4096\ninput A: f32[50,M]\nC[i<50, j<M] = A[i,M-1-j]", 1, 4096, 3, {16, 128, 1024}},
    {"gather_along",
     "symbol M<=4096\ninput T: f32[64,500], I: i32[M]\nC[i<64, j<M] = T[i,min(max(I[j], 0), 499)]",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"small_products", "symbol M<=4096\nC[b<M, i<8, j<8] = sum[k<8](A[b,i,k] * B[b,k,j])", 1, 4096, 3, {16, 128, 1024}},
    {"blur_width",
     "symbol M<=2048\ninput A: f32[130,M+2]\n"
     "H[y<130, x<M] = A[y,x] + 2*A[y,x+1] + A[y,x+2]; V[y<128, x<M] = H[y,x] + 2*H[y+1,x] + H[y+2,x]",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"blur_both",
     "symbol M<=1500\ninput A: f32[M+2,M+2]\n"
     "H[y<M+2, x<M] = A[y,x] + 2*A[y,x+1] + A[y,x+2]; V[y<M, x<M] = H[y,x] + 2*H[y+1,x] + H[y+2,x]",
     1,
     1500,
     3,
     {16, 128, 512}},
    {"halves",
     "symbol M<=2048\ninput A: bf16[M,256], B: bf16[256,192]\nC[i<M, j<192] = sum[k<256](A[i,k] * B[k,j])",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"bytes_wide",
     "symbol M<=2048\ninput A: u8[96,256], B: i8[256,M]\nC[i<96, j<M] = sum[k<256](i32(A[i,k]) * i32(B[k,j]))",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"bytes_deep",
     "symbol M<=2048\ninput A: u8[96,M], B: i8[M,128]\nC[i<96, j<128] = sum[k<M](i32(A[i,k]) * i32(B[k,j]))",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"argmax_rows", "symbol M<=4096\n(I, V)[i<M] = argmax[k<300](A[i,k])", 1, 4096, 3, {16, 128, 1024}},
    {"argmax_down", "symbol M<=4096\n(I, V)[j<200] = argmax[k<M](A[k,j])", 1, 4096, 3, {16, 128, 1024}},
    {"norm_down",
     "symbol M<=4096\nU[j<96] = sum[i<M](A[i,j]) / f32(M); V[j<96] = sum[i<M]((A[i,j] - U[j])*(A[i,j] - U[j])) / "
     "f32(M)\n"
     "Y[i<M, j<96] = (A[i,j] - U[j]) * rsqrt(V[j] + 1e-5)",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"norm_along",
     "symbol M<=4096\nU[i<64] = sum[k<M](A[i,k]) / f32(M); V[i<64] = sum[k<M]((A[i,k] - U[i])*(A[i,k] - U[i])) / "
     "f32(M)\n"
     "Y[i<64, j<M] = (A[i,j] - U[i]) * rsqrt(V[i] + 1e-5)",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"sum_all", "symbol M<=4096\nC[] = sum[i<M, j<100](A[i,j])", 1, 4096, 3, {16, 128, 1024}},
    {"dot", "symbol M<=100000\nC[] = sum[i<M](A[i] * B[i])", 1, 100000, 3, {64, 1024, 16384}},
    {"matrix_vector", "symbol M<=3000\nC[i<M] = sum[k<M](A[i,k] * x[k])", 1, 3000, 3, {16, 128, 1024}},
    {"vector_matrix", "symbol M<=3000\nC[j<M] = sum[k<M](x[k] * A[k,j])", 1, 3000, 3, {16, 128, 1024}},
    {"outer", "symbol M<=2000\nC[i<M, j<M] = x[i] * y[j]", 1, 2000, 3, {16, 128, 512}},
    {"turn_square", "symbol M<=2000\nC[i<M, j<M] = A[j,i] + 1", 1, 2000, 3, {16, 128, 512}},
    {"causal",
     "symbol M<=1000\ninput A: f32[M,M]\nX[i<M] = max[j<M](select(j <= i, A[i,j], -1e30)); E[i<M, j<M] = select(j <= "
     "i, exp(A[i,j] - "
     "X[i]), 0)\n"
     "S[i<M] = sum[j<M](E[i,j]); Y[i<M, j<M] = E[i,j] / S[i]",
     1,
     1000,
     3,
     {16, 128, 512}},
    {"self_attention",
     "symbol M<=1000\nS[i<M, j<M] = sum[k<64](Q[i,k] * K[j,k]) * 0.125; X[i<M] = max[j<M](S[i,j]); E[i<M, j<M] = "
     "exp(S[i,j] - X[i])\n"
     "D[i<M] = sum[j<M](E[i,j]); O[i<M, d<64] = sum[j<M](E[i,j] * U[j,d]) / D[i]",
     1,
     1000,
     3,
     {16, 128, 512}},
    {"heads",
     "symbol M<=256\nS[h<M, i<32, j<32] = sum[k<16](Q[h,i,k] * K[h,j,k]); X[h<M, i<32] = max[j<32](S[h,i,j])\n"
     "E[h<M, i<32, j<32] = exp(S[h,i,j] - X[h,i]); D[h<M, i<32] = sum[j<32](E[h,i,j])\n"
     "O[h<M, i<32, d<16] = sum[j<32](E[h,i,j] * U[h,j,d]) / D[h,i]",
     1,
     256,
     3,
     {1, 12, 96}},
    {"depthwise",
     "symbol M<=512\ninput A: f32[30,30,M], W: f32[3,3,M]\nC[y<28, x<28, c<M] = sum[r<3, s<3](A[y+r,x+s,c] * W[r,s,c])",
     1,
     512,
     3,
     {16, 64, 256}},
    {"channels_in",
     "symbol M<=512\ninput A: f32[16,16,M], W: f32[3,3,M,32]\n"
     "C[y<14, x<14, f<32] = sum[r<3, s<3, c<M](A[y+r,x+s,c] * W[r,s,c,f])",
     1,
     512,
     3,
     {16, 64, 256}},
    {"planes",
     "symbol M<=256\ninput A: f32[16,M+2,M+2], W: f32[16,16,3,3]\n"
     "C[f<16, y<M, x<M] = sum[c<16, r<3, s<3](A[c,y+r,x+s] * W[f,c,r,s])",
     1,
     256,
     3,
     {8, 32, 128}},
    {"strided_filter",
     "symbol M<=128\ninput A: f32[2*M+1,2*M+1,16], W: f32[3,3,16,32]\n"
     "C[y<M, x<M, f<32] = sum[r<3, s<3, c<16](A[2*y+r,2*x+s,c] * W[r,s,c,f])",
     1,
     128,
     3,
     {8, 32, 64}},
    {"pool_along",
     "symbol M<=2048\ninput A: f32[64,2*M]\nC[i<64, j<M] = max[s<2](A[i,2*j+s])",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"average_filter",
     "symbol M<=4096\ninput A: f32[M+4]\nC[i<M] = sum[k<5](A[i+k] * W[k])",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"middle", "symbol M<=1024\nC[i<30, j<50] = sum[m<M](A[i,m,j])", 1, 1024, 3, {16, 128, 512}},
    {"turned_a", "symbol M<=2048\nC[i<M, j<128] = sum[k<96](A[k,i] * B[k,j])", 1, 2048, 3, {16, 128, 1024}},
    {"turned_b", "symbol M<=2048\nC[i<100, j<M] = sum[k<96](A[i,k] * B[j,k])", 1, 2048, 3, {16, 128, 1024}},
    {"turn_planes", "symbol M<=512\nC[a<16, i<M, j<64] = A[i,a,j] + 1", 1, 512, 3, {16, 64, 256}},
    {"turn_heads", "symbol M<=512\nC[i<M, a<64, j<16] = A[i,j,a]", 1, 512, 3, {16, 64, 256}},
    {"bytes_add",
     "symbol M<=4096\ninput A: u8[M,100], B: u8[M,100]\nC[i<M, j<100] = u8((i32(A[i,j]) + i32(B[i,j]) + 1) // 2)",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"two_layers",
     "symbol M<=1024\nH[i<M, j<256] = max(sum[k<128](A[i,k] * V[k,j]) + b[j], 0); C[i<M, j<64] = sum[k<256](H[i,k] * "
     "W[k,j])",
     1,
     1024,
     3,
     {4, 32, 256}},
    {"doubles",
     "symbol M<=1024\ninput A: f64[M,100], B: f64[100,90]\nC[i<M, j<90] = sum[k<100](A[i,k] * B[k,j])",
     1,
     1024,
     3,
     {16, 128, 512}},
    {"pixels", "symbol M<=4096\ninput A: u8[3,40,M]\nC[i<40, j<M, c<3] = A[c,i,j]", 1, 4096, 3, {16, 128, 1024}},
    {"pad_edges",
     "symbol M<=4096\ninput A: f32[40,M]\nC[i<40, j<M+4] = select(j >= 2 && j < M+2, A[i,j-2], 0)",
     1,
     4096,
     3,
     {16, 128, 1024}},
    {"roll",
     "symbol 3<=M<=4096\ninput A: f32[50,M]\nC[i<50, j<M] = select(j < M-3, A[i,j+3], A[i,j+3-M])",
     3,
     4096,
     3,
     {16, 128, 1024}},
    {"pool_width",
     "symbol M<=1024\ninput A: f32[41,2*M+1]\nC[y<20, x<M] = max[r<3, s<3](A[2*y+r,2*x+s])",
     1,
     1024,
     3,
     {16, 128, 1024}},
    {"filter_along",
     "symbol M<=2048\ninput A: f32[24,M+2], W: f32[40,24,3]\nC[f<40, x<M] = sum[c<24, r<3](A[c,x+r] * W[f,c,r])",
     1,
     2048,
     3,
     {16, 128, 1024}},
    {"rank_three", "symbol M<=1024\nC[i<M, j<M] = sum[k<3](A[i,k] * B[k,j])", 1, 1024, 3, {16, 128, 1024}},
    {"gram", "symbol M<=1024\nC[i<M, j<M] = sum[k<48](A[i,k] * A[j,k])", 1, 1024, 3, {16, 128, 1024}},
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

/* The lesser of BEFORE and the median of a short measurement. */
static double least_time(tn_context *ctx, const tn_kernel *kernel, DLTensor **args, int n, double before) {
  tn_timing timing;
  const tn_timing_options options = {.max_total_s = 0.02, .min_samples = 3};
  if (tn_time(ctx, kernel, args, n, &options, &timing) != TN_OK) die(ctx);
  return fmin(before, timing.median_s);
}

/* Makes the arrays of a program for one M and returns how many arguments there are. The last argument is the
 * output, of which there are two: args[n - 1] and *OTHER. */
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

/* The largest difference relative to 1 + |value|, as below. */
static double difference_of_doubles(const DLTensor *a, const DLTensor *b) {
  const double *x = a->data, *y = b->data;
  double most = 0;
  for (size_t i = 0; i < tn_array_bytes(a) / sizeof *x; ++i) most = fmax(most, fabs(x[i] - y[i]) / (1 + fabs(x[i])));
  return most;
}

/* The largest difference relative to 1 + |value|. Elements that are no floats have to be equal, bit for bit;
 * infinite where they are not. */
static double difference(const DLTensor *a, const DLTensor *b) {
  const float *x = a->data, *y = b->data;
  double most = 0;
  if (a->dtype.code == kDLFloat && a->dtype.bits == 64) return difference_of_doubles(a, b);
  if (a->dtype.code != kDLFloat || a->dtype.bits != 32)
    return memcmp(a->data, b->data, tn_array_bytes(a)) == 0 ? 0 : INFINITY;
  for (size_t i = 0; i < tn_array_bytes(a) / sizeof *x; ++i)
    most = fmax(most, fabs((double)x[i] - (double)y[i]) / (1 + fabs((double)x[i])));
  return most;
}

static bool is_bucket(const struct workload *w, int64_t m) {
  for (int i = 0; i < w->n; ++i)
    if (w->buckets[i] == m) return true;
  return false;
}

/* Prints a line for one size and returns the time of the buckets' kernel in relation to the static one's;
 * infinite when their outputs differ. */
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

/* A size whose logarithm is evenly distributed: as likely below 10 as between 100 and 1000. */
static int64_t draw(uint64_t *state, int64_t least, int64_t most) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  double part = (double)(*state >> 11) / 9007199254740992.0;
  return (int64_t)((double)least * pow((double)(most + 1) / (double)least, part));
}

/* What the command line asks for. */
typedef struct question {
  const char *log;
  uint64_t seed; /* 0: the named sizes */
  int n_drawn;
  const char *sizes; /* NULL: the named ones */
} question;

/* Fills OUT with the sizes to try and returns how many: those that are named, or drawn ones. */
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

/* Builds and compares one program. Its worst ratios go to AT, at the buckets' own sizes, and to BETWEEN, at all
 * others. */
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

/* A program that the command line gives, with buckets of 16, 128 and 1024, or those below its last value. NULL: TEXT is none. */
static const struct workload *own_workload(const char *text) {
  static struct workload own = {.name = "own", .least = 1, .buckets = {16, 128, 1024}};
  const char *limit = strstr(text, "M<=");
  if (!limit) return NULL;
  own.program = text;
  own.most = strtoll(limit + 3, NULL, 10);
  while (own.n < 3 && own.buckets[own.n] <= own.most) own.n++;
  return &own;
}

int main(int argc, char **argv) {
  tn_context *ctx = tn_context_new(NULL);
  tn_target *target = ctx ? tn_target_new(ctx, argc > 6 ? argv[6] : NULL) : NULL;
  bool has_costs = argc > 6 && strstr(argv[6], "costs=") != NULL;
  const char *costs = target && !has_costs ? tn_measure_costs(ctx) : NULL;
  question q = {.log = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL,
                .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
                .n_drawn = argc > 3 ? atoi(argv[3]) : 12,
                .sizes = argc > 5 && argv[5][0] ? argv[5] : NULL};
  double at = 0, between = 0;
  if (!target || (!has_costs && (!costs || tn_target_set_costs(target, costs) != TN_OK))) die(ctx);
  const struct workload *own = argc > 4 ? own_workload(argv[4]) : NULL;
  if (own) run(ctx, own, target, &q, &at, &between);
  for (size_t i = 0; !own && i < sizeof workloads / sizeof *workloads; ++i)
    if (argc <= 4 || !argv[4][0] || strcmp(argv[4], workloads[i].name) == 0)
      run(ctx, &workloads[i], target, &q, &at, &between);
  printf("worst: %.2f at the buckets' sizes, %.2f between them\n", at, between);
  tn_context_free(ctx);
  return isfinite(at) && isfinite(between) ? 0 : 1;
}
