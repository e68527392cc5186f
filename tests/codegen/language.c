/* The language's wider parts through the whole house: programs with inputs and outputs worked out by hand, under the
 * default schedule and under others. */
#include <math.h>

#include "tests/codegen/kit.h"

enum { MAX_INPUTS = 3, MAX_VALUES = 8, MAX_LANGUAGE_ARGS = 8 };

typedef struct language_row {
  const char *name, *program, *schedule;
  double inputs[MAX_INPUTS][MAX_VALUES]; /* one row an input, repeated to its size */
  double expected[2 * MAX_VALUES];       /* the first elements of the outputs, one after the other */
} language_row;

/* Indices below 0 and at or above the extent read 0. */
#define WILD {5, -1, 0, 6, 7, -2147483648.0, 2147483647, 3}
#define TABLE {10, 11, 12, 13, 14, 15, 16}
#define TAMED {15, 0, 10, 16, 0, 0, 0, 13}

#define LADDER {1, 2, 3, 4, 5, 6, 7, 8}

static const language_row gathers[] = {
    {"gather", "input A: f32[7], K: i32[8]; C[i<8] = A[K[i]]", "", {TABLE, WILD}, TAMED},
    {"gather, vectorized", "input A: f32[7], K: i32[8]; C[i<8] = A[K[i]]", "vectorize(C, i)", {TABLE, WILD}, TAMED},
    {"gather, a tail",
     "input A: f32[7], K: i32[7]; C[i<7] = A[K[i]]",
     "split(C, i, 4); vectorize(C, i.inner)",
     {TABLE, WILD},
     {15, 0, 10, 16, 0, 0, 0}},
    {"gather, unrolled and parallel",
     "input A: f64[7], K: i32[8]; C[i<8] = A[K[i]]",
     "split(C, i, 4); parallel(C, i.outer); unroll(C, i.inner)",
     {TABLE, WILD},
     TAMED},
    {"indices of 64 bits do not wrap into range",
     "input A: f32[7], K: i64[8]; C[i<8] = A[K[i]*4294967296]",
     "vectorize(C, i)",
     {TABLE, {0, 1, -1, 0, 2, 0, 1, 0}},
     {10, 0, 0, 10, 0, 10, 0, 10}},
    {"unsigned indices",
     "input A: f32[7], K: u32[8]; C[i<8] = A[K[i]]",
     "vectorize(C, i)",
     {TABLE, {0, 4294967295.0, 6, 7, 2147483648.0, 1, 2, 3}},
     {10, 0, 16, 0, 0, 11, 12, 13}},
    {"bytes as indices",
     "input A: i8[7], K: u8[8]; C[i<8] = A[K[i]]",
     "vectorize(C, i)",
     {TABLE, {0, 255, 6, 7, 128, 1, 2, 3}},
     {10, 0, 16, 0, 0, 11, 12, 13}},
    {"a narrow index into a large tensor",
     "input A: f32[300], K: i8[4]; C[i<4] = A[K[i]] + 1",
     "vectorize(C, i)",
     {TABLE, {126, -128, -1, 2}},
     {17, 1, 1, 13}},
    {"arithmetic of 64 bits in an index",
     "input A: f32[7]; C[i<8] = A[(i64(i)*5000000000) % 7]",
     "",
     {TABLE},
     {10, 12, 14, 16, 11, 13, 15, 10}},
    {"bytes that wrap in an index",
     "input A: f32[7]; C[i<8] = A[u8(i)*u8(40) % u8(7)]",
     "vectorize(C, i)",
     {TABLE},
     {10, 15, 13, 11, 16, 14, 12, 13}},
    {"32 bits that wrap among indices of 64",
     "input B: f32[1,7] strided; C[i<8] = B[0, (i*1000000000) % 7]",
     "",
     {TABLE},
     {10, 16, 15, 10, 16, 15, 14, 16}},
    {"two indices from data",
     "input A: f32[2,3], K: i32[4], L: i32[4]; C[i<4] = A[K[i], L[i]]",
     "vectorize(C, i)",
     {{1, 2, 3, 4, 5, 6}, {0, 1, 2, 1}, {2, 0, 0, 3}},
     {3, 4, 0, 0}},
    {"an index of an index",
     "input A: f32[4], K: i32[4], L: i32[4]; C[i<4] = A[K[L[i]]]",
     "",
     {{1, 2, 3, 4}, {3, 2, 1, 9}, {3, 0, 1, -1}},
     {0, 4, 3, 1}},
    {"a gather in a reduction",
     "input A: f32[4], K: i32[4]; C = sum[k<4](A[K[k]])",
     "",
     {{1, 2, 3, 4}, {3, 3, -1, 0}},
     {9}},
    {"an embedding's rows",
     "input E: f32[3,2], K: i32[4]; C[i<4, j<2] = E[K[i], j]",
     "vectorize(C, j)",
     {{1, 2, 3, 4, 5, 6}, {2, 0, 3, 1}},
     {5, 6, 1, 2, 0, 0, 3, 4}},
    {"a computed index, inlined",
     "input A: f32[7]; K[i<8] = i32(i)*2 - 3; C[i<8] = A[K[i]]",
     "compute_inline(K); vectorize(C, i)",
     {TABLE},
     {0, 0, 11, 13, 15, 0, 0, 0}},
    {"a computed table",
     "input B: f32[4], K: i32[4]; A[i<4] = B[i]*2; C[i<4] = A[K[i]]",
     "compute_at(A, C, i)",
     {{1, 2, 3, 4}, {3, 0, 4, 1}},
     {8, 2, 0, 4}},
    {"a cached table",
     "input A: f32[4], K: i32[4]; C[i<4] = A[K[i]]",
     "cache_read(A, local, C); cache_write(C, local)",
     {{1, 2, 3, 4}, {3, 0, 4, 1}},
     {4, 1, 0, 2}},
    {"a guard that does not keep its word",
     "input A: f32[4], K: i32[4]; C[i<4] = select(K[i] > 0, A[i + 1], -1)",
     "vectorize(C, i)",
     {{1, 2, 3, 4}, {1, 0, 1, 1}},
     {2, -1, 4, 0}},
};

static const language_row operators[] = {
    {"bit operators in code",
     "input A: i16[8]; C[i<8] = (A[i] & 6 | 1) ^ ~A[i] << 2 >> 1",
     "vectorize(C, i)",
     {{0, 1, 2, 3, 4, 5, 6, 7}},
     {-1, -3, -7, -5, -13, -15, -11, -9}},
    {"an index of bits",
     "input A: f32[4], K: i32[8]; C[i<8] = A[K[i] & 3]",
     "vectorize(C, i)",
     {{1, 2, 3, 4}, {0, 1, 2, 3, 4, -1, -2, 7}},
     {1, 2, 3, 4, 1, 4, 3, 4}},
    {"if_then_else does not touch what it leaves out",
     "input A: f32[2]; C[i<4] = if_then_else(i >= 1 && i < 3, A[i-1], 7)",
     "vectorize(C, i)",
     {{1, 2}},
     {7, 1, 2, 7}},
    {"tests of floats in code",
     "C[i<4] = select(isnan(A[i]), 1, select(isinf(A[i]), 2, select(isfinite(A[i]), 3, 4)))",
     "vectorize(C, i)",
     {{NAN, INFINITY, -INFINITY, 1}},
     {1, 2, 2, 3}},
};

static const language_row halves[] = {
    {"f16 to f16",
     "input A: f16[8], B: f16[8]; C[i<8] = f16(A[i] + B[i])",
     "vectorize(C, i)",
     {{1, 2, 2048, 65504, 0.5, -1, 0, INFINITY}, {1, 0.25, 1, 65504, 0.25, 1, -0.0, 1}},
     {2, 2.25, 2048, INFINITY, 0.75, 0, 0, INFINITY}},
    {"bf16 to bf16",
     "input A: bf16[8]; C[i<8] = bf16(A[i]*1.5)",
     "split(C, i, 3); vectorize(C, i.inner)",
     {{1, 3, 171, -171, 0.5, INFINITY, 0, 85}},
     {1.5, 4.5, 256, -256, 0.75, INFINITY, 0, 127.5}},
    {"f16 copies are bits",
     "input A: f16[8]; C[i<8] = A[i]",
     "cache_read(A, local, C); vectorize(C, i)",
     {LADDER},
     LADDER},
    {"a product of f16 matrices",
     "input A: f16[2,8], B: f16[8,2]; C[i<2, j<2] = sum[k<8](A[i,k]*B[k,j])",
     "cache_write(C, local); reorder(C.local, k, i.c, j.c); unroll(C.local, i.c); vectorize(C.local, j.c)",
     {LADDER, LADDER},
     {164, 200, 164, 200}},
    {"an f16 stage between",
     "input A: f16[8]; B[i<8] = f16(A[i]*0.1); C[i<8] = B[i]*10",
     "compute_at(B, C, i)",
     {{0, 1, 2}},
     {0, 0.999755859375, 1.99951171875}},
    {"a constant of bf16", "C[i<4] = bf16(0.3)", "", {{0}}, {0.30078125, 0.30078125, 0.30078125, 0.30078125}},
};

static const language_row reductions[] = {
    {"where over the reduction", "C[i<4] = sum[k<8 where k != i](A[k])", "", {LADDER}, {35, 34, 33, 32}},
    {"where, the data axis vectorized",
     "C[i<4] = sum[k<8 where k != i](A[k])",
     "reorder(C, k, i); vectorize(C, i)",
     {LADDER},
     {35, 34, 33, 32}},
    {"a triangle",
     "C[i<8] = sum[k<8 where k <= i](A[k])",
     "split(C, k, 3); unroll(C, k.inner); parallel(C, i)",
     {LADDER},
     {1, 3, 6, 10, 15, 21, 28, 36}},
    {"where from data",
     "input Q: bool[8]; C[i<2] = max[k<8 where Q[k]](A[k]*(i + 1))",
     "vectorize(C, i)",
     {{1, 0, 1, 0, 1, 0, 0, 0}, {3, 9, 5, 9, 4, 9, 9, 9}},
     {5, 10}},
    {"where guards what is outside",
     "input A: f32[4]; C[i<4] = sum[k<3 where i + k >= 1 && i + k < 5](A[i + k - 1])",
     "vectorize(C, i)",
     {{1, 2, 3, 4}},
     {3, 6, 9, 7}},
    {"where in a register tile",
     "C[i<4, j<4] = sum[k<8 where (k + i) % 2 == 0](A[k] * B[j])",
     "cache_write(C, local); tile(C, i, j, 2, 4); compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); "
     "unroll(C.local, i.c); vectorize(C.local, j.c)",
     {LADDER, {1, 10, 100, 1000}},
     {16, 160, 1600, 16000, 20, 200, 2000, 20000, 16, 160, 1600, 16000, 20, 200, 2000, 20000}},
    {"where and a padded split, factored",
     "input A: f32[8]; C[i<4] = sum[k<6 where k != i](A[k])",
     "split(C, k, 4); rfactor(C, k.outer)",
     {{1, 2, 3, 4, 5, 6, 100, 100}},
     {20, 19, 18, 17}},
    {"init", "C[i<4] = sum[k<8 init = B[i]](A[k])", "", {{10, 20, 30, 40}, LADDER}, {46, 56, 66, 76}},
    {"init, split and reordered",
     "C[i<7] = sum[k<8 init = B[i]](A[k])",
     "split(C, i, 4); reorder(C, k, i.outer, i.inner); vectorize(C, i.inner)",
     {{10, 20, 30, 40, 50, 60, 70}, LADDER},
     {46, 56, 66, 76, 86, 96, 106}},
    {"init in a cache",
     "C[i<4, j<4] = sum[k<8 init = B[j]](A[k])",
     "cache_write(C, local); compute_at(C.local, C, i); vectorize(C.local, j.c)",
     {{1, 2, 3, 4}, LADDER},
     {37, 38, 39, 40, 37, 38, 39, 40, 37, 38, 39, 40, 37, 38, 39, 40}},
    {"init from a computed stage",
     "B[i<4] = D[i]*2; C[i<4] = prod[k<2 init = B[i]](A[k])",
     "compute_at(B, C, i)",
     {{1, 2, 3, 4}, {3, 5}},
     {30, 60, 90, 120}},
    {"where and init", "C[i<2] = min[k<8 where k > 2 init = 6.5](A[k])", "vectorize(C, i)", {LADDER}, {4, 4}},
};

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct arrays {
  int n, n_inputs;
  DLTensor *args[MAX_LANGUAGE_ARGS];
} arrays;

static int64_t count(const DLTensor *a, tn_dtype dtype) { return (int64_t)(tn_array_bytes(a) / tn_dtype_bytes(dtype)); }

static arrays fill_arrays(const language_row *r, const tn_program *p) {
  arrays a = {.n = tn_program_arg_count(p), .n_inputs = tn_program_input_count(p)};
  assert_true(a.n <= MAX_LANGUAGE_ARGS && a.n_inputs <= MAX_INPUTS);
  for (int i = 0; i < a.n; i++) {
    const tn_tensor *t = tn_program_arg(p, i);
    a.args[i] = tn_array_new(K.ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    check_ok(K.ctx);
    for (int64_t k = 0; i < a.n_inputs && k < count(a.args[i], tn_tensor_dtype(t)); k++) {
      double value = r->inputs[i][k % MAX_VALUES];
      kit_set(tn_tensor_dtype(t), a.args[i]->data, k, isfinite(value) ? (int64_t)value : 0, value);
    }
  }
  return a;
}

static bool is_near(double got, double expected) {
  return got == expected || (isnan(got) && isnan(expected)) || fabs(got - expected) <= 1e-6 * fabs(expected);
}

static void check_arrays(const language_row *r, const tn_program *p, const arrays *a) {
  int at = 0;
  for (int i = a->n_inputs; i < a->n; i++) {
    const tn_tensor *t = tn_program_arg(p, i);
    tn_dtype dtype = tn_tensor_dtype(t);
    for (int64_t k = 0; k < count(a->args[i], dtype) && at < RUNTIME_COUNT(r->expected); k++, at++) {
      double got = kit_get(dtype, a->args[i]->data, k);
      if (!tn_dtype_is_float(dtype)) got = (double)kit_get_int(dtype, a->args[i]->data, k);
      if (!is_near(got, r->expected[at]))
        fail_msg("%s[%d]: got %.9g, expected %.9g", tn_tensor_name(t), (int)k, got, r->expected[at]);
    }
  }
}

static void gives(void **state) {
  const language_row *r = *state;
  tn_program *p = tn_program_parse(K.ctx, r->program, 0, NULL);
  check_ok(K.ctx);
  tn_schedule *s = tn_schedule_new(p);
  tn_schedule_apply(s, r->schedule);
  check_ok(K.ctx);
  arrays a = fill_arrays(r, p);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  tn_call(K.ctx, kernel, a.args, a.n);
  check_ok(K.ctx);
  check_arrays(r, p, &a);
  for (int i = 0; i < a.n; i++) tn_array_free(a.args[i]);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

int test_language(void) {
  return CHECK_TABLE("language: gathers", gathers, gives) + CHECK_TABLE("language: operators", operators, gives) +
         CHECK_TABLE("language: reductions", reductions, gives) + CHECK_TABLE("language: f16 and bf16", halves, gives);
}
