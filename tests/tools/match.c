/* match.c: which programs are taken for a matrix product, and as which one. */
#include "te/match.h"

#include "tests/common/check.h"

/* What is found as text: "f32 MxNxK A*B": tensors by name, ' where transposed, "+ D" or "+ row D", "= C"; "alone" when
 * the program computes more; "none". */
typedef struct row {
  const char *name, *program, *expected;
} row;

#define PRODUCT "M[i<4, j<5] = sum[k<6](A[i,k] * B[k,j])"

static const row rows[] = {
    {"product", PRODUCT, "f32 4x5x6 A*B = M"},
    {"factors swapped", "M[i<4, j<5] = sum[k<6](B[k,j] * A[i,k])", "f32 4x5x6 A*B = M"},
    {"A transposed", "M[i<4, j<5] = sum[k<6](A[k,i] * B[k,j])", "f32 4x5x6 A'*B = M"},
    {"B transposed", "M[i<4, j<5] = sum[k<6](A[i,k] * B[j,k])", "f32 4x5x6 A*B' = M"},
    {"both transposed", "M[i<4, j<5] = sum[k<6](A[k,i] * B[j,k])", "f32 4x5x6 A'*B' = M"},
    {"one input twice", "M[i<4, j<4] = sum[k<4](A[i,k] * A[k,j])", "f32 4x4x4 A*A = M"},
    {"doubles", "input A: f64[4,6], B: f64[6,5]; " PRODUCT, "f64 4x5x6 A*B = M"},
    {"addition", PRODUCT "; O[i<4, j<5] = M[i,j] + D[i,j]", "f32 4x5x6 A*B + D = O"},
    {"addition swapped", PRODUCT "; O[i<4, j<5] = D[i,j] + M[i,j]", "f32 4x5x6 A*B + D = O"},
    {"row added", PRODUCT "; O[i<4, j<5] = M[i,j] + R[j]", "f32 4x5x6 A*B + row R = O"},
    {"column added", PRODUCT "; O[i<4, j<5] = M[i,j] + Q[i]", "f32 4x5x6 A*B alone"},
    {"product added to itself", PRODUCT "; O[i<4, j<5] = M[i,j] + M[i,j]", "f32 4x5x6 A*B alone"},
    {"relu", PRODUCT "; O[i<4, j<5] = max(M[i,j], 0)", "f32 4x5x6 A*B alone"},
    {"transposed afterwards", PRODUCT "; O[j<5, i<4] = M[i,j] + D[i,j]", "f32 4x5x6 A*B alone"},
    {"three stages", PRODUCT "; O[i<4, j<5] = M[i,j] + D[i,j]; P[i<4, j<5] = O[i,j] * 2", "f32 4x5x6 A*B alone"},
    {"addition alone", "O[i<4, j<5] = D[i,j] + E[i,j]", "none"},
    {"product of computed tensors", "X[i<4, k<6] = A[i,k] * 2; M[i<4, j<5] = sum[k<6](X[i,k] * B[k,j])", "none"},
    {"maximum", "M[i<4, j<5] = max[k<6](A[i,k] * B[k,j])", "none"},
    {"integers", "input A: i32[4,6], B: i32[6,5]; " PRODUCT, "none"},
    {"batch", "M[b<2, i<4, j<5] = sum[k<6](A[b,i,k] * B[b,k,j])", "none"},
    {"matrix and vector", "M[i<4] = sum[k<6](A[i,k] * V[k])", "none"},
    {"shifted", "M[i<4, j<5] = sum[k<6](A[i,k+1] * B[k,j])", "none"},
    {"part of an input", "input A: f32[8, 6]; " PRODUCT, "none"},
    {"scaled inside", "M[i<4, j<5] = sum[k<6](A[i,k] * B[k,j] * 2)", "none"},
};

static void describe(const tn_program *program, const te_matmul *m, runtime_str *out) {
  runtime_str_addf(out, "%s %dx%dx%d %s%s*%s%s", tn_dtype_name(m->dtype), (int)m->m, (int)m->n, (int)m->k,
                   tn_tensor_name(tn_program_arg(program, m->a)), m->is_a_transposed ? "'" : "",
                   tn_tensor_name(tn_program_arg(program, m->b)), m->is_b_transposed ? "'" : "");
  if (m->addend >= 0)
    runtime_str_addf(out, " + %s%s", m->is_addend_row ? "row " : "",
                     tn_tensor_name(tn_program_arg(program, m->addend)));
  if (m->output >= 0)
    runtime_str_addf(out, " = %s", tn_tensor_name(tn_program_arg(program, m->output)));
  else
    runtime_str_add(out, " alone");
}

static void test_match(void **state) {
  const row *r = *state;
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, r->program, 0, NULL);
  check_ok(ctx);
  te_matmul found;
  runtime_str text = {0};
  if (te_match_matmul(program, &found))
    describe(program, &found, &text);
  else
    runtime_str_add(&text, "none");
  check_text(text.data, r->expected);
  runtime_str_free(&text);
  check_context_free(ctx);
}

int main(void) { return CHECK_TABLE("match", rows, test_match); }
