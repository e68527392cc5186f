/* Sizes that serve a symbol: one function, right for every value of it; records of sizes are used; what is refused.
 * TENON_EVERY_VALUE=1 (make every-value): all values of each symbol are run, not the first ones and drawn ones only. */
#include <math.h>

#include "autotune/bucket_pieces.h"
#include "codegen/codegen.h"
#include "schedule/state.h"
#include "tests/record/fixture.h"

enum { EVERY = 300, DRAWN = 24, MOST = 4096, MAX_ARGS = 6 };

/* Reductions are short, so that every value of M takes a moment. */
#define PRODUCT "symbol M<=4096\nC[i<M, j<40] = sum[k<24](A[i,k] * B[k,j])"
#define SOFTMAX                                                                     \
  "symbol M<=4096\nX[i<M] = max[k<33](A[i,k]); E[i<M, j<33] = exp(A[i,j] - X[i])\n" \
  "S[i<M] = sum[k<33](E[i,k]); Y[i<M, j<33] = E[i,j] / S[i]"
#define DENSE                                                          \
  "symbol M<=4096\nD[i<M, j<32] = sum[k<16](A[i,k] * W[k,j]) + b[j]\n" \
  "G[i<M, j<32] = 0.5 * D[i,j] * (1 + erf(D[i,j] * 0.70710678))"

static const struct row {
  const char *name, *program;
  int n;
  int64_t sizes[4];
  int most; /* values of M up to here, each, and drawn ones up to its limit */
} rows[] = {
    {"a product", PRODUCT, 4, {1, 16, 128, 1024}, EVERY},
    {"softmax of rows", SOFTMAX, 4, {1, 16, 128, 1024}, EVERY},
    {"dense and gelu", DENSE, 4, {1, 16, 128, 1024}, EVERY},
    {"one size", PRODUCT, 1, {100}, 130},
    {"sizes side by side", PRODUCT, 4, {7, 8, 9, 11}, 40},
    {"a sum over the symbol", "symbol M<=4096\nC[i<20] = sum[k<M](A[i,k] * B[k])", 3, {1, 64, 512}, 130},
    {"columns", "symbol M<=600\nC[i<12, j<M] = sum[k<8](A[i,k] * B[k,j])", 3, {16, 100, 512}, 130},
    {"row sums that are computed some together",
     "symbol M<=900\nC[i<M] = sum[k<700](A[i,k] * A[i,k])",
     3,
     {1, 64, 512},
     200},
    {"two stencils",
     "symbol M<=500\ninput A: f32[M+2,130]\n"
     "H[y<M+2, x<128] = A[y,x] + 2*A[y,x+1] + A[y,x+2]; V[y<M, x<128] = H[y,x] + 2*H[y+1,x] + H[y+2,x]",
     2,
     {16, 128},
     200},
    {"images",
     "symbol M<=40\ninput A: f32[M,8,8,4], W: f32[3,3,4,8]\n"
     "C[n<M, y<6, x<6, f<8] = sum[r<3, s<3, c<4](A[n,y+r,x+s,c] * W[r,s,c,f])",
     2,
     {4, 32},
     40},
    {"rows rolled, several in a vector",
     "symbol 3<=M<=300\ninput A: f32[50,M]\nC[i<50, j<M] = select(j < M-3, A[i,j+3], A[i,j+3-M])",
     2,
     {16, 128},
     140},
    {"both sides of a square", "symbol 3<=M<=200\nC[i<M, j<M] = A[j,i] + B[i,j]*f32(M)", 2, {16, 64}, 150},
    {"a stencil, and extents made of the symbol",
     "symbol 3<=M<=400\nC[i<M - 2] = A[i] + A[i+1] * A[i+2]; D[i<M] = A[i]",
     2,
     {16, 100},
     EVERY},
    {"pixels that are doubled",
     "symbol M<=200\ninput A: f32[M,9]\nC[i<2*M, j<18] = A[i//2, j//2] * 0.5",
     2,
     {16, 64},
     90},
    {"pixels out of planes, and a pyramid's larger step",
     "symbol M<=150\ninput A: f32[4,M,7], B: f32[2*M,14]\nC[i<2*M, j<14] = A[i%2*2 + j%2, i//2, j//2] + B[i,j]",
     2,
     {16, 64},
     90},
    {"the greatest along the symbol, often the least there is",
     "symbol M<=200\ninput A: u8[M,40], B: f32[40,M]\n(I, V)[i<40] = argmax[k<M](A[k,i] // 200); (J, U)[i<40] = "
     "argmin[k<M](B[i,k])",
     2,
     {16, 64},
     90},
    {"integers", "symbol M<=300\ninput A: i32[M,9]\nC[i<M] = max[k<9](A[i,k]*3 - 1)", 2, {16, 64}, 90},
    {"a scalar", "symbol M<=300\nscalar s: f32\nC[i<M, j<8] = A[i,j] * s", 2, {16, 64}, 90},
    {"layer norm",
     "symbol M<=4096\nU[i<M] = sum[k<40](A[i,k]) / 40; V[i<M] = sum[k<40]((A[i,k] - U[i])*(A[i,k] - U[i])) / 40\n"
     "Y[i<M, j<40] = (A[i,j] - U[i]) * rsqrt(V[i] + 1e-5)",
     3,
     {1, 64, 1024},
     90},
    {"an addition", "symbol M<=4096\nC[i<M, j<45] = max(A[i,j] + B[i,j] * 2, 0)", 3, {1, 64, 1024}, 90},
    {"row sums", "symbol M<=4096\nC[i<M] = sum[k<70](A[i,k] * A[i,k])", 3, {1, 64, 1024}, 90},
    {"column sums", "symbol M<=4096\nC[j<37] = sum[i<M](A[i,j])", 3, {1, 64, 1024}, 90},
    {"softmax along the symbol",
     "symbol M<=4096\nX[i<5] = max[k<M](A[i,k]); E[i<5, j<M] = exp(A[i,j] - X[i])\n"
     "S[i<5] = sum[k<M](E[i,k]); Y[i<5, j<M] = E[i,j] / S[i]",
     3,
     {16, 128, 1024},
     130},
    {"wide columns", "symbol M<=4096\nC[i<40, j<M] = sum[k<24](A[i,k] * B[k,j])", 3, {16, 128, 1024}, 150},
    {"blur of rows",
     "symbol M<=4096\ninput A: f32[M+2,50]\n"
     "H[y<M+2, x<48] = A[y,x] + 2*A[y,x+1] + A[y,x+2]; V[y<M, x<48] = H[y,x] + 2*H[y+1,x] + H[y+2,x]",
     3,
     {16, 128, 1024},
     150},
    {"rows that are woven",
     "symbol M<=300\ninput A: f32[5,M], B: f32[5,M]\nC[i<5, j<2*M] = select(j % 2 == 0, A[i,j//2], B[i,j//2])",
     2,
     {16, 128},
     EVERY},
    {"planes that become pixels",
     "symbol M<=300\ninput A: u8[3,4,M]\nC[i<4, j<M, c<3] = A[c,i,j]",
     2,
     {16, 128},
     EVERY},
    {"padded rows",
     "symbol M<=300\ninput A: f32[4,M]\nC[i<4, j<M+4] = select(j >= 2 && j < M+2, A[i,j-2], 0)",
     2,
     {16, 128},
     EVERY},
    {"rows that go round",
     "symbol 3<=M<=300\ninput A: f32[4,M]\nC[i<4, j<M] = select(j < M-3, A[i,j+3], A[i,j+3-M])",
     2,
     {16, 128},
     EVERY},
    {"the most of every second window",
     "symbol M<=200\ninput A: f32[9,2*M+1]\nC[y<4, x<M] = max[r<3, s<3](A[2*y+r,2*x+s])",
     2,
     {16, 128},
     200},
    {"a filter along the symbol",
     "symbol M<=300\ninput A: f32[4,M+2], W: f32[8,4,3]\nC[f<8, x<M] = sum[c<4, r<3](A[c,x+r] * W[f,c,r])",
     2,
     {16, 128},
     EVERY},
    {"a square of two vectors", "symbol M<=300\nC[i<M, j<M] = sum[k<3](A[i,k] * B[k,j])", 2, {16, 128}, 150},
    {"small images",
     "symbol M<=4096\ninput A: f32[M,5,5,4], W: f32[3,3,4,8]\n"
     "C[n<M, y<3, x<3, f<8] = sum[r<3, s<3, c<4](A[n,y+r,x+s,c] * W[r,s,c,f])",
     3,
     {1, 32, 512},
     60},
    {"a product whose sides are both the symbol",
     "symbol M<=700\nC[i<M, j<M] = sum[k<64](A[i,k] * B[k,j])",
     3,
     {16, 128, 512},
     140},
    {"transposed", "symbol M<=4096\nC[i<M, j<33] = A[j,i] * 2", 3, {16, 128, 1024}, 90},
    {"argmax along the symbol", "symbol M<=4096\n(I, V)[i<7] = argmax[k<M](A[i,k])", 3, {16, 128, 1024}, 90},
    {"attention over keys",
     "symbol M<=700\nS[i<6, j<M] = sum[k<16](Q[i,k] * K[j,k]); X[i<6] = max[j<M](S[i,j]); E[i<6, j<M] = exp(S[i,j] - "
     "X[i])\n"
     "D[i<6] = sum[j<M](E[i,j]); O[i<6, d<16] = sum[j<M](E[i,j] * U[j,d]) / D[i]",
     3,
     {16, 128, 512},
     140},
    {"two tensors joined",
     "symbol M<=4096\ninput A: f32[M], B: f32[40]\nC[i<M + 40] = select(i < M, A[i], B[i - M])",
     3,
     {16, 128, 1024},
     90},
    {"rows of a table",
     "symbol M<=4096\ninput T: f32[50,33], I: i32[M]\nC[i<M, j<33] = T[min(max(I[i], 0), 49), j]",
     3,
     {1, 64, 512},
     90},
    {"batch norm",
     "symbol M<=4096\nC[n<M, c<37] = (A[n,c] - U[c]) * rsqrt(V[c]*V[c] + 1e-3) * G[c] + B[c]",
     3,
     {1, 64, 512},
     90},
    {"images whose sides are both the symbol",
     "symbol M<=48\ninput A: f32[M+2,M+2,4], W: f32[3,3,4,8]\n"
     "C[y<M, x<M, f<8] = sum[r<3, s<3, c<4](A[y+r,x+s,c] * W[r,s,c,f])",
     2,
     {8, 32},
     48},
    {"many small products", "symbol M<=200\nC[b<M, i<10, j<12] = sum[k<9](A[b,i,k] * B[b,k,j])", 3, {1, 12, 96}, 60},
    {"every second element",
     "symbol M<=1000\ninput A: f32[2*M,6]\nC[i<M, j<3] = A[2*i,2*j] + A[2*i+1,2*j+1]",
     2,
     {16, 256},
     90},
    {"columns of every second element",
     "symbol M<=1000\ninput A: f32[5,2*M]\nC[i<5, j<M] = A[i,2*j] * 3 + A[i,2*j+1]",
     2,
     {16, 256},
     150},
    {"a product of bytes",
     "symbol M<=300\ninput A: u8[M,24], B: i8[24,20]\nC[i<M, j<20] = sum[k<24](i32(A[i,k]) * i32(B[k,j]))",
     2,
     {16, 64},
     90},
    {"bytes along the symbol",
     "symbol M<=300\ninput A: u8[12,M], B: i8[M,20]\nC[i<12, j<20] = sum[k<M](i32(A[i,k]) * i32(B[k,j]))",
     2,
     {16, 64},
     150},
    {"a product as deep as the symbol",
     "symbol M<=700\nC[i<13, j<21] = sum[k<M](A[i,k] * B[k,j])",
     3,
     {16, 128, 512},
     150},
    {"channels",
     "symbol M<=200\ninput A: f32[6,6,5], W: f32[3,3,5,M]\n"
     "C[y<4, x<4, f<M] = sum[r<3, s<3, c<5](A[y+r,x+s,c] * W[r,s,c,f])",
     3,
     {16, 64, 128},
     200},
    {"wide images",
     "symbol M<=200\ninput A: f32[5,M+2,3], W: f32[3,3,3,9]\n"
     "C[y<3, x<M, f<9] = sum[r<3, s<3, c<3](A[y+r,x+s,c] * W[r,s,c,f])",
     2,
     {16, 64},
     90},
    {"transposed in both directions", "symbol M<=600\nC[i<M, j<M] = A[j,i] + 1", 3, {16, 128, 512}, 150},
    {"turned back", "symbol M<=4096\nC[i<33, j<M] = A[j,i] * 2", 3, {16, 128, 1024}, 150},
    {"all elements of rows and columns", "symbol M<=700\nC[] = sum[i<M, j<10](A[i,j])", 2, {16, 128}, 150},
    {"rows whose sums go down a square matrix",
     "symbol M<=700\nC[j<M] = sum[k<M](x[k] * A[k,j])",
     3,
     {16, 128, 512},
     150},
    {"cubes whose loops are one",
     "symbol M<=90\ninput A: f32[3,M,M], B: f32[3,M,4]\nC[i<3, j<M, k<M] = A[i,j,k] * 3; D[i<3, j<M, k<4] = B[i,j,k] + "
     "1",
     2,
     {16, 64},
     90},
    {"attention to itself",
     "symbol M<=300\nS[i<M, j<M] = sum[k<8](Q[i,k] * K[j,k]); X[i<M] = max[j<M](S[i,j]); E[i<M, j<M] = exp(S[i,j] - "
     "X[i])\n"
     "D[i<M] = sum[j<M](E[i,j]); O[i<M, d<12] = sum[j<M](E[i,j] * U[j,d]) / D[i]",
     2,
     {16, 128},
     130},
    {"a wide product of bytes",
     "symbol M<=300\ninput A: u8[12,24], B: i8[24,M]\nC[i<12, j<M] = sum[k<24](i32(A[i,k]) * i32(B[k,j]))",
     2,
     {16, 64},
     130},
    {"two tensors woven",
     "symbol M<=300\ninput A: f32[5,M], B: f32[5,M]\nC[i<5, j<2*M] = select(j % 2 == 0, A[i,j//2], B[i,j//2])",
     2,
     {16, 64},
     130},
    {"backwards", "symbol M<=300\ninput A: f32[5,M]\nC[i<5, j<M] = A[i,M-1-j]", 2, {16, 64}, 130},
    {"a filter of planes",
     "symbol M<=200\ninput A: f32[6,6,M], W: f32[3,3,M]\nC[y<4, x<4, c<M] = sum[r<3, s<3](A[y+r,x+s,c] * W[r,s,c])",
     3,
     {16, 64, 128},
     130},
    {"a vector times a square", "symbol M<=3000\nC[j<M] = sum[k<M](x[k] * A[k,j])", 3, {16, 128, 1024}, 40},
    {"rows one behind the other",
     "symbol M<=4096\ninput A: f32[M,20], B: f32[9,20]\nC[i<M + 9, j<20] = select(i < M, A[i,j], B[i - M,j])",
     3,
     {16, 128, 1024},
     90},
    {"bytes whose rows are one",
     "symbol M<=300\ninput A: u8[M,20], B: u8[M,20]\nC[i<M, j<20] = u8((i32(A[i,j]) + i32(B[i,j]) + 1) // 2)",
     2,
     {16, 64},
     130},
    {"colours of pixels",
     "symbol M<=300\ninput A: f32[5,M], B: f32[3]\nC[i<5, j<3*M] = select(j//3 < M, A[i,j//3], 0) * B[j % 3]",
     2,
     {16, 64},
     130},
    {"pairs of pairs",
     "symbol M<=300\ninput A: f32[M], B: f32[4*M]\n"
     "C[i<4*M] = select(i//2//2 < M, A[i//2//2], 0) + B[i] * f32(i//2 % 2)",
     2,
     {16, 64},
     130},
    {"a square and its turned one", "symbol M<=300\nC[i<M, j<M] = A[j,i] + A[i,j]", 2, {16, 64}, 150},
    {"a norm along the symbol",
     "symbol M<=600\nU[i<9] = sum[k<M](A[i,k]) / f32(M); V[i<9] = sum[k<M]((A[i,k] - U[i])*(A[i,k] - U[i])) / f32(M)\n"
     "Y[i<9, j<M] = (A[i,j] - U[i]) * rsqrt(V[i] + 1e-5)",
     2,
     {16, 128},
     150},
    {"packed in each call",
     "symbol M<=300\ninput A: f32[M,24], B: f32[24,64] layout_free\nC[i<M, j<64] = sum[k<24](A[i,k] * B[k,j])",
     2,
     {16, 64},
     90},
};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

typedef struct both {
  tn_context *ctx;
  tn_program *program;
  tn_kernel *any, *plain; /* the buckets'; the program's own loops */
} both;

static DLTensor *make_array(const both *b, const tn_tensor *t, int64_t m, uint64_t seed) {
  int64_t shape[TN_MAX_RANK] = {0};
  for (int d = 0; d < t->ndim; d++) shape[d] = t->size[d] ? te_size_value(b->program, t->size[d], &m) : t->shape[d];
  DLTensor *made = tn_array_new(b->ctx, t->dtype, t->ndim, shape);
  assert_non_null(made);
  if (seed) tn_array_fill(b->ctx, made, seed);
  if (!seed) memset(made->data, 0xff, tn_array_bytes(made));
  return made;
}

static void compare_floats(const DLTensor *got, const DLTensor *want, int64_t m) {
  const float *g = got->data, *w = want->data;
  for (size_t k = 0; k < tn_array_bytes(got) / sizeof *g; k++)
    if (!(fabsf(g[k] - w[k]) <= 1e-4f * (1 + fabsf(w[k]))))
      fail_msg("M=%d: element %zu is %g, not %g", (int)m, k, (double)g[k], (double)w[k]);
}

static void call_with(const both *b, int64_t m) {
  DLTensor *got[MAX_ARGS], *want[MAX_ARGS];
  tn_program *p = b->program;
  for (int i = 0; i < p->n_args; i++) {
    bool is_output = i >= p->n_inputs;
    got[i] = make_array(b, p->args[i], m, is_output ? 0 : (uint64_t)i + 1);
    want[i] = is_output ? make_array(b, p->args[i], m, 0) : got[i];
  }
  assert_int_equal(tn_call(b->ctx, b->any, got, p->n_args), TN_OK);
  assert_int_equal(m <= 20 ? tn_evaluate(p, want, p->n_args) : tn_call(b->ctx, b->plain, want, p->n_args), TN_OK);
  for (int i = p->n_inputs; i < p->n_args; i++) {
    if (p->args[i]->dtype == TN_F32) compare_floats(got[i], want[i], m);
    if (p->args[i]->dtype != TN_F32) assert_memory_equal(got[i]->data, want[i]->data, tn_array_bytes(got[i]));
    tn_array_free(want[i]);
  }
  for (int i = 0; i < p->n_args; i++) tn_array_free(got[i]);
}

/* Starting threads costs next to nothing there, so that small programs are shared, too. */
static const char *const machines[] = {NULL, "threads=4 costs=fork:1"};

static both open_row(const struct row *row, const char *machine) {
  both b = {.ctx = check_context()};
  tn_target *target = tn_target_new(b.ctx, machine);
  b.program = tn_program_parse(b.ctx, row->program, 0, NULL);
  check_ok(b.ctx);
  tn_schedule *s = tn_apply_buckets(b.program, target, NULL, "M", row->n, row->sizes, NULL);
  check_ok(b.ctx);
  b.any = tn_build(s, &(tn_build_options){.target = target});
  check_ok(b.ctx);
  b.plain = tn_build(tn_schedule_new(b.program), NULL);
  check_ok(b.ctx);
  return b;
}

static void close_row(both *b) {
  tn_kernel_free(b->any);
  tn_kernel_free(b->plain);
  check_context_free(b->ctx);
}

static void right_on(const struct row *row, const char *machine) {
  both b = open_row(row, machine);
  const tn_axis *symbol = b.program->symbols[0];
  runtime_rng rng = {(uint64_t)row->sizes[0]};
  int64_t most = getenv("TENON_EVERY_VALUE") ? symbol->extent : row->most;
  for (int64_t m = symbol->least; m <= most; m++) call_with(&b, m);
  for (int i = 0; i < DRAWN; i++)
    call_with(&b, symbol->least + runtime_random_below(&rng, symbol->extent - symbol->least + 1));
  call_with(&b, symbol->extent);
  close_row(&b);
}

static void right_for_every_value(void **state) {
  for (int i = 0; i < RUNTIME_COUNT(machines); i++) right_on(*state, machines[i]);
}

/* No host is one of these, so their generic schedules are the same wherever the test runs. */
static const char *const known_machines[] = {"triple=x86_64-linux-gnu cpu=x86-64-v4 threads=1",
                                             "triple=x86_64-linux-gnu cpu=x86-64-v3 threads=2"};

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const schedule_variant *variant_of(const tn_schedule *s, int64_t value) {
  for (int i = 0; i < s->n_variants; i++)
    if (s->variants[i].least <= value && value <= s->variants[i].most) return &s->variants[i];
  return NULL;
}

static void assert_text(const tn_schedule *s, const char *text) {
  char *made = tn_schedule_print(s, TN_FORM_TEXT);
  assert_string_equal(made, text);
  free(made);
}

/* At its size as it is, and below on loops that are peeled, in parts of which 33 rows are enough for both threads. */
static void records_are_used(void **state) {
  fixture *f = *state;
  static const int64_t sizes[] = {4, 40, 60};
  tn_bucket out[3];
  tn_param m = {"M", 40};
  tn_program *any = tn_program_parse(f->ctx, PRODUCT, 0, NULL);
  f->target = tn_target_new(f->ctx, "triple=x86_64-linux-gnu cpu=znver4 threads=2"); /* short parts depend on it */
  f->program = tn_program_parse(f->ctx, PRODUCT, 1, &m);
  append(f, "[[\"SP\",2,0,40,[4],1,\"guard\"],[\"AN\",2,0,3]]", 3e-6, true);
  tn_schedule *s = tn_apply_buckets(any, f->target, f->log, "M", 3, sizes, out);
  check_ok(f->ctx);
  assert_true(out[0].seconds == 0 && out[1].seconds == 3e-6 && out[2].seconds == 0);
  assert_text(variant_of(s, 40)->schedule, "split(C, i, 4); parallel(C, i.outer)\n");
  assert_text(variant_of(s, 39)->schedule, "split(C, i, 2, tail=peel); parallel(C, i.outer)\n");
}

/* With a number each of two threads may have a part. Where a symbol decides how many parts of that length there are, they are shorter. */
static void threads_share_many_parts(void **state) {
  fixture *f = *state;
  static const int64_t sizes[] = {512};
  tn_param m = {"M", 512};
  tn_target *two = f->target = tn_target_new(f->ctx, "triple=x86_64-linux-gnu cpu=znver4 threads=2");
  tn_program *any = tn_program_parse(f->ctx, PRODUCT, 0, NULL);
  f->program = tn_program_parse(f->ctx, PRODUCT, 1, &m);
  append(f, "[[\"SP\",2,0,512,[256],1,\"guard\"],[\"SP\",2,1,256,[4],1,\"guard\"],[\"AN\",2,0,3]]", 3e-6, true);
  tn_schedule *s = tn_apply_buckets(any, two, f->log, "M", 1, sizes, NULL);
  check_ok(f->ctx);
  assert_text(variant_of(s, 512)->schedule, "split(C, i, 256); split(C, i.inner, 4); parallel(C, i.outer)\n");
  char *text = tn_schedule_print(variant_of(s, 511)->schedule, TN_FORM_TEXT);
  int length = 0;
  assert_int_equal(sscanf(text, "split(C, i, %d, tail=peel); split(C, i.inner, 4); parallel(C, i.outer)", &length), 1);
  assert_true(length % 4 == 0 && length <= 512 / 16);
  free(text);
}

/* Steps that a symbol refuses cost a range of values dearly: up to a hundred times as long as the kernels of numbers. */
static void no_range_is_left_as_it_is(void **state) {
  const struct row *row = *state;
  tn_context *ctx = check_context();
  tn_bucket out[TN_MAX_BUCKETS];
  for (int i = 0; i < RUNTIME_COUNT(known_machines); i++) {
    const tn_target *target = tn_target_new(ctx, known_machines[i]);
    tn_schedule *s =
        tn_apply_buckets(tn_program_parse(ctx, row->program, 0, NULL), target, NULL, "M", row->n, row->sizes, out);
    check_ok(ctx);
    for (int k = 0; k < row->n; k++) assert_false(out[k].is_plain);
    for (int k = 0; k < s->n_variants; k++)
      assert_true(s->variants[k].least == s->variants[k].most || s->variants[k].schedule->n_steps > 0);
  }
}

/* Of blocks of blocks each asks once whether it is full, so that even one that is never whole is worth having: it keeps what it reads in a cache. */
static void blocks_of_blocks_stay(void **state) {
  fixture *f = *state;
  static const int64_t sizes[] = {512};
  tn_param m = {"M", 512};
  tn_program *any = tn_program_parse(f->ctx, PRODUCT, 0, NULL);
  f->target = tn_target_new(f->ctx, "triple=x86_64-linux-gnu cpu=znver4 threads=1");
  f->program = tn_program_parse(f->ctx, PRODUCT, 1, &m);
  append(f, "[[\"SP\",2,0,512,[4],1,\"guard\"],[\"SP\",2,0,128,[64],1,\"guard\"]]", 3e-6, true);
  tn_schedule *s = tn_apply_buckets(any, f->target, f->log, "M", 1, sizes, NULL);
  check_ok(f->ctx);
  assert_text(variant_of(s, 511)->schedule, "split(C, i, 4, tail=peel); split(C, i.outer, 64, tail=peel)\n");
}

/* A few vectors that are whole have no tail, and a kernel of their own. */
static void whole_vectors_are_apart(void **state) {
  (void)state;
  static const int64_t sizes[] = {16, 1024};
  tn_context *ctx = check_context();
  tn_target *target = tn_target_new(ctx, known_machines[0]);
  tn_program *p = tn_program_parse(ctx, "symbol M<=4096\ninput A: f32[50,M]\nC[i<50, j<M] = A[i,M-1-j]", 0, NULL);
  tn_schedule *s = tn_apply_buckets(p, target, NULL, "M", 2, sizes, NULL);
  check_ok(ctx);
  for (int64_t m = 33; m <= 96; m++) {
    const schedule_variant *v = variant_of(s, m);
    if (m % 16 == 0) assert_true(v->least == m && v->most == m);
    if (m % 16 != 0) assert_true(v->least < v->most);
  }
  check_context_free(ctx);
}

/* Costs say only about where it pays, and beside that place the wrong one takes long: between sizes it begins where it begins with numbers. */
static void stores_past_caches_begin_in_time(void **state) {
  (void)state;
  enum { STEP = 38 };
  static const int64_t sizes[] = {16, 128, 1024};
  const char *text = "symbol M<=4096\ninput T: f32[500,320], I: i32[M]\nC[i<M, j<320] = T[min(max(I[i], 0), 499), j]";
  tn_context *ctx = check_context();
  tn_target *target = tn_target_new(ctx, known_machines[0]);
  tn_machine machine = tn_target_machine(target);
  tn_schedule *s = tn_apply_buckets(tn_program_parse(ctx, text, 0, NULL), target, NULL, "M", 3, sizes, NULL);
  check_ok(ctx);
  int n = 0;
  for (int64_t m = 129; m < 1024; m += STEP) {
    tn_param value = {"M", m};
    tn_schedule *own = tn_schedule_new(tn_program_parse(ctx, text, 1, &value));
    assert_int_equal(tn_schedule_auto(own, &machine), TN_OK);
    assert_int_equal(bucket_streams(variant_of(s, m)->schedule), bucket_streams(own));
    n += bucket_streams(own);
  }
  assert_true(n > 0);
  check_context_free(ctx);
}

/* What is left behind the last tile is computed as a whole one: of a few tiles that would be much. Eight vectors are as quick. */
static void long_tiles_become_short(void **state) {
  fixture *f = *state;
  static const int64_t sizes[] = {1000};
  tn_param m = {"M", 1000};
  const char *average = "symbol 600<=M<=4096\ninput A: f32[M+4]\nC[i<M] = sum[k<5](A[i+k] * W[k])";
  tn_program *any = tn_program_parse(f->ctx, average, 0, NULL);
  f->target = tn_target_new(f->ctx, "triple=x86_64-linux-gnu cpu=znver4 threads=1");
  f->program = tn_program_parse(f->ctx, average, 1, &m);
  append(f,
         "[[\"SP\",2,0,1000,[384],1,\"guard\"],[\"SP\",2,1,384,[16],1,\"guard\"],[\"RE\",2,[0,3,1,2]],[\"AN\",2,3,2]]",
         3e-6, true);
  tn_schedule *s = tn_apply_buckets(any, f->target, f->log, "M", 1, sizes, NULL);
  check_ok(f->ctx);
  char *text = tn_schedule_print(variant_of(s, 999)->schedule, TN_FORM_TEXT);
  assert_string_equal(text,
                      "split(C, i, 128, tail=peel); split(C, i.inner, 16); reorder(C, i.outer, k, i.inner.outer, "
                      "i.inner.inner); vectorize(C, i.inner.inner)\n");
  free(text);
}

/* All values have a variant, the first ones and the sizes one each; one schedule may have several ranges. */
static void variants_cover_the_symbol(void **state) {
  const struct row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = tn_program_parse(ctx, row->program, 0, NULL);
  tn_schedule *s = tn_apply_buckets(p, NULL, NULL, "M", row->n, row->sizes, NULL);
  check_ok(ctx);
  int64_t next = p->symbols[0]->least;
  for (int i = 0; i < s->n_variants; i++) {
    const schedule_variant *v = &s->variants[i];
    assert_int_equal(v->least, next);
    assert_true(v->least <= v->most);
    if (v->least <= 32) assert_int_equal(v->least, v->most);
    for (int k = 0; k < row->n; k++)
      if (v->least <= row->sizes[k] && row->sizes[k] <= v->most) assert_int_equal(v->least, v->most);
    next = v->most + 1;
  }
  assert_int_equal(next, p->symbols[0]->extent + 1);
  check_context_free(ctx);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static const struct refusal {
  const char *name, *program, *symbol;
  int n;
  int64_t sizes[3];
  const char *message;
} refusals[] = {
    {"no symbol",
     "C[i<8] = A[i] + 1",
     "M",
     1,
     {4},
     "buckets: the program has no symbol 'M': all its extents are numbers; declare one, as in symbol M<=4096"},
    {"another symbol", "symbol N<=8\nC[i<N] = A[i] + 1", "M", 1, {4}, "buckets: the program has no symbol 'M': name N"},
    {"several symbols",
     "symbol M<=8, N<=8\nC[i<M, j<N] = A[i,j] + 1",
     "M",
     1,
     {4},
     "buckets: the program has 2 symbols, and one function chooses by one: give the others a number, as in -p N=64"},
    {"above the limit",
     "symbol M<=8\nC[i<M] = A[i] + 1",
     "M",
     2,
     {4, 9},
     "buckets: M=9 is none of the symbol's values, 1 to 8: change the size, or the symbol's limits"},
    {"below the limit",
     "symbol 3<=M<=8\nC[i<M] = A[i] + 1",
     "M",
     1,
     {2},
     "buckets: M=2 is none of the symbol's values, 3 to 8"},
    {"zero", "symbol M<=8\nC[i<M] = A[i] + 1", "M", 1, {0}, "buckets: M=0 is none of the symbol's values, 1 to 8"},
    {"not ascending",
     "symbol M<=8\nC[i<M] = A[i] + 1",
     "M",
     2,
     {4, 2},
     "buckets: 2 stands behind 4: name the sizes in ascending order"},
    {"twice",
     "symbol M<=8\nC[i<M] = A[i] + 1",
     "M",
     3,
     {2, 4, 4},
     "buckets: 4 stands there twice: name each size once"},
    {"none", "symbol M<=8\nC[i<M] = A[i] + 1", "M", 0, {0}, "buckets: 0 sizes: give 1 to 64"},
};

static void refused(void **state) {
  const struct refusal *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = tn_program_parse(ctx, row->program, 0, NULL);
  check_ok(ctx);
  assert_null(tn_apply_buckets(p, NULL, NULL, row->symbol, row->n, row->sizes, NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT, row->message);
  check_context_free(ctx);
}

static const struct variant_refusal {
  const char *name, *whole, *variant;
  int64_t least, most;
  const char *message;
} variant_refusals[] = {
    {"no symbol", "C[i<8] = A[i] + 1", "C[i<8] = A[i] + 1", 8, 8,
     "add_variant(8 .. 8): the program has no symbol: it is one kernel as it is"},
    {"several symbols", "symbol M, N\nC[i<M, j<N] = A[i,j] + 1", "C[i<8, j<8] = A[i,j] + 1", 8, 8,
     "add_variant(8 .. 8): the program has several symbols: give all but one a number"},
    {"beyond the limits", "symbol M<=8\nC[i<M] = A[i] + 1", "C[i<9] = A[i] + 1", 9, 9,
     "add_variant(9 .. 9): these are not values of the program's symbol"},
    {"a number for a range", "symbol M<=8\nC[i<M] = A[i] + 1", "C[i<4] = A[i] + 1", 3, 4,
     "add_variant(3 .. 4): the variant's program is not for all of these values"},
    {"narrower limits", "symbol M<=8\nC[i<M] = A[i] + 1", "symbol M<=3\nC[i<M] = A[i] + 1", 3, 4,
     "add_variant(3 .. 4): the variant's program is not for all of these values"},
    {"another extent", "symbol M<=8\nC[i<M] = A[i] + 1", "C[i<5] = A[i] + 1", 4, 4,
     "add_variant(4 .. 4): the variant's program has other arguments"},
    {"another dtype", "symbol M<=8\nC[i<M] = A[i] + 1", "input A: f64[4]\nC[i<4] = A[i] + 1", 4, 4,
     "add_variant(4 .. 4): the variant's program has other arguments"},
    {"more arguments", "symbol M<=8\nC[i<M] = A[i] + 1", "C[i<4] = A[i] + B[i]", 4, 4,
     "add_variant(4 .. 4): the variant's program has other arguments"},
};

static void refused_variants(void **state) {
  const struct variant_refusal *row = *state;
  tn_context *ctx = check_context();
  tn_schedule *whole = tn_schedule_new(tn_program_parse(ctx, row->whole, 0, NULL));
  tn_schedule *variant = tn_schedule_new(tn_program_parse(ctx, row->variant, 0, NULL));
  check_ok(ctx);
  assert_int_equal(tn_schedule_add_variant(whole, row->least, row->most, variant), TN_ERROR_SCHEDULE);
  check_fails(ctx, TN_ERROR_SCHEDULE, row->message);
  assert_int_equal(whole->n_variants, 0);
  check_context_free(ctx);
}

static void variants_do_not_overlap_and_are_whole(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = tn_program_parse(
      ctx, "symbol M<=8\ninput A: f32[M], B: f32[8] layout_free\nC[i<M, j<8] = A[i] * (B[j] + 1)", 0, NULL);
  tn_schedule *whole = tn_schedule_new(p), *same = tn_schedule_new(p);
  assert_int_equal(tn_schedule_add_variant(whole, 2, 4, same), TN_OK);
  assert_int_equal(tn_schedule_add_variant(whole, 4, 5, same), TN_ERROR_SCHEDULE);
  check_fails(ctx, TN_ERROR_SCHEDULE,
              "add_variant(4 .. 5): a variant before has these values, too: add them in ascending order, apart");
  assert_int_equal(whole->n_variants, 1);
  assert_int_equal(tn_schedule_add_variant(whole, 5, 5, NULL), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "add_variant: the variant is NULL");
  assert_null(tn_build(whole, &(tn_build_options){.part = TN_BUILD_PACKED}));
  check_fails(ctx, TN_ERROR_SCHEDULE, "a kernel of several variants is not built in parts");
  check_context_free(ctx);
}

int run_buckets(void) {
  const struct CMUnitTest tests[] = {WITH_LOG(records_are_used),
                                     WITH_LOG(threads_share_many_parts),
                                     WITH_LOG(long_tiles_become_short),
                                     WITH_LOG(blocks_of_blocks_stay),
                                     cmocka_unit_test(whole_vectors_are_apart),
                                     cmocka_unit_test(stores_past_caches_begin_in_time),
                                     cmocka_unit_test(variants_do_not_overlap_and_are_whole)};
  return CHECK_TABLE("every value of a symbol", rows, right_for_every_value) +
         CHECK_TABLE("the values of a symbol in pieces", rows, variants_cover_the_symbol) +
         CHECK_TABLE("steps that a symbol allows", rows, no_range_is_left_as_it_is) +
         CHECK_TABLE("buckets that are refused", refusals, refused) +
         CHECK_TABLE("variants that are refused", variant_refusals, refused_variants) + CHECK_TESTS("buckets", tests);
}
