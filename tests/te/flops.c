/* Operation counts by TVM's rules. */
#include "tests/te/tests.h"

static const struct flops_row {
  const char *name, *text;
  double flops;
} rows[] = {
    {"matmul", "C[i<8, j<8] = sum[k<8](A[i,k]*B[k,j])", 2 * 512},
    {"vector add", "C[i<100] = A[i] + B[i]", 100},
    {"copy", "C[i<100] = A[i]", 0},
    {"row sum", "C[i<4] = sum[k<10](A[i,k])", 40},
    {"functions cost their arguments", "C[i<10] = exp(A[i] + 1)", 10},
    {"padding costs nothing", "C[i<10] = select(i >= 1 && i < 9, A[i-1], 0)", 0},
    {"select counts its dearer branch", "C[i<10] = select(A[i] > 0, A[i]*2, A[i]*2 + 1)", 30},
    {"index arithmetic is not counted", "C[i<10] = A[i*2 + 1]*3", 10},
    {"integer work in a float tensor", "C[i<10] = A[i] + f32(i*2)", 10},
    {"integer work in an integer tensor", "C[i<10] = i*2 + 1", 20},
    {"max reduction", "C[i<4] = max[k<10](A[i,k])", 40},
    {"min and max operators", "C[i<10] = max(min(A[i], 6), 0)", 20},
    {"logic in a bool tensor", "C[i<10] = A[i] > 0 && A[i] < 1", 10},
    {"conv layer", "C[i<8] = sum[k<3](A[i+k]*W[k]); O[i<8] = max((C[i] + b[i])*s[i] + o[i], 0)", 8 * 6 + 8 * 4},
    {"a tuple", "(S, D)[i<10] = (A[i] + B[i], A[i]*B[i]*2)", 30},
    {"argmax", "C = argmax[k<10](A[k])", 10 * 3},
    {"softmax",
     "M[i<4] = max[k<10](X[i,k]); E[i<4,j<10] = exp(X[i,j] - M[i]); S[i<4] = sum[k<10](E[i,k]); "
     "Y[i<4,j<10] = E[i,j]/S[i]",
     160},
};

static const struct flops_row bytes_rows[] = {
    {"copy", "C[i<100] = A[i]", 800},
    {"matmul reads each element once", "C[i<8, j<8] = sum[k<8](A[i,k]*B[k,j])", 3 * 256},
    {"a gather reads what it takes", "input T: f32[1000], I: i32[10]; C[i<10] = T[I[i]]", 40 + 40 + 40},
    {"dtypes have their sizes", "input A: i8[100]; C[i<100] = f64(A[i])", 900},
    {"a strided read", "input A: f32[100]; C[i<50] = A[2*i]", 400},
    {"intermediate tensors are not moved", "B[i<10] = A[i]; C[i<10] = B[i]", 80},
    {"reductions repeat a read", "input A: f32[10]; C[i<4] = sum[k<10](A[k])", 40 + 16},
    {"symbols decide", "symbol N; C[i<N] = A[i]", 0},
};

static void bytes(void **state) {
  const struct flops_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, row->text, 0, NULL);
  if (!program) fail_msg("%s: %s", row->name, tn_context_message(ctx));
  if (tn_program_bytes(program) != row->flops) fail_msg("%s: %g", row->name, tn_program_bytes(program));
  check_context_free(ctx);
}

static void flops(void **state) {
  const struct flops_row *row = *state;
  tn_context *ctx = check_context();
  double got = tn_program_flops(parse(ctx, row->text));
  if (got != row->flops) fail_msg("%g operations instead of %g", got, row->flops);
  check_context_free(ctx);
}

/* ---- kinds of operations ----------------------------------------------------------------------------------------- */

typedef struct kinds_row {
  const char *name, *text;
  double counts[TE_OPERATION_COUNT]; /* sums, products, choices, divisions, roots, functions, fused */
} kinds_row;

static const kinds_row kinds_rows[] = {
    {"matmul", "C[i<8, j<8] = sum[k<8](A[i,k]*B[k,j])", {512, 512, 0, 0, 0, 0, 512}},
    {"product", "C[i<4] = prod[k<10](A[i,k])", {0, 40, 0, 0, 0, 0, 0}},
    {"max filter", "C[i<4] = max[k<10](A[i+k])", {0, 0, 40, 0, 0, 0, 0}},
    {"the same twice", "C[i<10] = (A[i] + B[i]) * (A[i] + B[i])", {10, 10, 0, 0, 0, 0, 0}},
    {"functions", "C[i<10] = exp(A[i]) + tanh(A[i])", {10, 0, 0, 0, 0, 20, 0}},
    {"roots and divisions", "C[i<10] = rsqrt(A[i]) / sqrt(B[i])", {0, 0, 0, 20, 20, 0, 0}},
    {"sigmoid", "C[i<10] = sigmoid(A[i])", {0, 0, 0, 10, 0, 10, 0}},
    {"a choice and its condition", "C[i<10] = select(A[i] > 0, A[i], B[i])", {0, 0, 20, 0, 0, 0, 0}},
    {"what a row has in common", "C[i<4, j<10] = (A[i,j] - M[i]/10) * sqrt(V[i])", {40, 40, 0, 4, 4, 0, 0}},
    {"in a reduction, too", "C[i<4] = sum[k<10]((A[i,k] - M[i]/10) * exp(B[k]))", {80, 40, 0, 4, 0, 10, 40}},
    {"a combiner of the user's",
     "combiner add2(a: f32; b) = (a + b), identity (0); C[i<4] = add2[k<10](A[i,k] * 2)",
     {40, 40, 0, 0, 0, 0, 0}},
    {"a product of a sum is not fused", "C[i<10] = (A[i] + B[i] + D[i]) * 2", {20, 10, 0, 0, 0, 0, 0}},
    {"two products make one sum", "C[i<10] = A[i]*2 + B[i]*3", {10, 20, 0, 0, 0, 0, 10}},
    {"a product of a row is not fused with each element", "C[i<4, j<10] = A[i,j] + M[i]*2", {40, 4, 0, 0, 0, 0, 0}},
    {"padding only chooses", "C[i<10] = select(i >= 1 && i < 9, A[i-1], 0)", {0, 0, 10, 0, 0, 0, 0}},
    {"indices and integers are none", "C[i<10] = A[i*2 + 1]; D[i<10] = i*2 + 1", {0, 0, 0, 0, 0, 0, 0}},
    {"symbols decide", "symbol N; C[i<N] = A[i] + 1", {0, 0, 0, 0, 0, 0, 0}},
};

static void kinds(void **state) {
  const kinds_row *row = *state;
  double got[TE_OPERATION_COUNT];
  tn_context *ctx = check_context();
  te_operations(parse(ctx, row->text), got);
  for (int k = 0; k < TE_OPERATION_COUNT; k++)
    if (got[k] != row->counts[k]) fail_msg("kind %d: %g instead of %g", k, got[k], row->counts[k]);
  check_context_free(ctx);
}

int test_flops(void) {
  return CHECK_TABLE("flops", rows, flops) + CHECK_TABLE("bytes", bytes_rows, bytes) +
         CHECK_TABLE("kinds of operations", kinds_rows, kinds);
}
