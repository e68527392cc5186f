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

/* ---- other operators --------------------------------------------------------------------------------------------- */

#define PAD "Pad[n<1, y<12, x<12, c<8] = select(y >= 1 && y < 11 && x >= 1 && x < 11, I[n, y-1, x-1, c], 0); "
#define CONV(h) "O[n<1, h<" h ", w<" h ", f<16] = sum[r<3, s<3, c<8]"
#define CONV_WHERE(condition) "O[n<1, h<10, w<10, f<16] = sum[r<3, s<3, c<8 where " condition "]"
#define IMAGE "input I: f32[1,10,10,8], W: f32[3,3,8,16]; "

static const row others[] = {
    {"batch", "C[b<2, i<4, j<5] = sum[k<6](A[b,i,k] * B[b,k,j])", "batch 2 4x5x6 A*B"},
    {"batch, factors swapped", "C[b<2, i<4, j<5] = sum[k<6](B[b,k,j] * A[b,i,k])", "batch 2 4x5x6 A*B"},
    {"batch, transposed", "C[b<2, i<4, j<5] = sum[k<6](A[b,i,k] * B[b,j,k])", "none"},
    {"batch and more", "C[b<2, i<4, j<5] = sum[k<6](A[b,i,k] * B[b,k,j]); D[b<2, i<4, j<5] = C[b,i,j] * 2", "none"},
    {"convolution", IMAGE CONV("8") "(I[n, h+r, w+s, c] * W[r,s,c,f])", "conv 1x10x10x8 16 k3 s1 p0 d1"},
    {"padded", IMAGE PAD CONV("10") "(Pad[n, h+r, w+s, c] * W[r,s,c,f])", "conv 1x10x10x8 16 k3 s1 p1 d1"},
    {"strided", IMAGE PAD CONV("5") "(Pad[n, h*2+r, w*2+s, c] * W[r,s,c,f])", "conv 1x10x10x8 16 k3 s2 p1 d1"},
    {"dilated", IMAGE PAD CONV("8") "(Pad[n, h+r*2, w+s*2, c] * W[r,s,c,f])", "conv 1x10x10x8 16 k3 s1 p1 d2"},
    {"edges left out",
     IMAGE CONV_WHERE("h+r >= 1 && h+r < 11 && w+s >= 1 && w+s < 11") "(I[n, h+r-1, w+s-1, c] * W[r,s,c,f])",
     "conv 1x10x10x8 16 k3 s1 p1 d1"},
    {"edges in other words",
     IMAGE CONV_WHERE("0 < h+r && 10 >= h+r && w+s-1 >= 0 && 11 > w+s") "(I[n, h+r-1, w+s-1, c] * W[r,s,c,f])",
     "conv 1x10x10x8 16 k3 s1 p1 d1"},
    {"more than the edges left out",
     IMAGE CONV_WHERE("h+r >= 2 && h+r < 11 && w+s >= 1 && w+s < 11") "(I[n, h+r-1, w+s-1, c] * W[r,s,c,f])", "none"},
    {"every other product left out",
     IMAGE CONV_WHERE(
         "(h+r)%2 == 0 && h+r >= 1 && h+r < 11 && w+s >= 1 && w+s < 11") "(I[n, h+r-1, w+s-1, c] * W[r,s,c,f])",
     "none"},
    {"a condition on a padded image", IMAGE PAD CONV_WHERE("h+r >= 1 && h+r < 11") "(Pad[n, h+r, w+s, c] * W[r,s,c,f])",
     "none"},
    {"an init", IMAGE "O[n<1, h<8, w<8, f<16] = sum[r<3, s<3, c<8 init = 1](I[n, h+r, w+s, c] * W[r,s,c,f])", "none"},
    {"two strides", IMAGE CONV("4") "(I[n, h*2+r, w+s, c] * W[r,s,c,f])", "none"},
    {"part of the image", IMAGE CONV("7") "(I[n, h+r, w+s, c] * W[r,s,c,f])", "none"},
    {"turned weights", IMAGE CONV("8") "(I[n, h+r, w+s, c] * W[s,r,c,f])", "none"},
    {"depthwise",
     "input I: f32[1,10,10,8], W: f32[3,3,8]; O[n<1, h<8, w<8, f<8] = sum[r<3, s<3](I[n, h+r, w+s, f] * W[r,s,f])",
     "depthwise 1x10x10x8 8 k3 s1 p0 d1"},
    {"softmax",
     "M[i<4] = max[k<8](X[i,k]); E[i<4, j<8] = exp(X[i,j] - M[i]); S[i<4] = sum[k<8](E[i,k]); Y[i<4, j<8] = E[i,j] / "
     "S[i]",
     "softmax 4x8"},
    {"softmax of columns",
     "M[j<8] = max[k<4](X[k,j]); E[i<4, j<8] = exp(X[i,j] - M[j]); S[j<8] = sum[k<4](E[k,j]); Y[i<4, j<8] = E[i,j] / "
     "S[j]",
     "softmax 4x8 by columns"},
    {"maxima of columns, sums of rows",
     "M[j<8] = max[k<8](X[k,j]); E[i<8, j<8] = exp(X[i,j] - M[j]); S[i<8] = sum[k<8](E[i,k]); Y[i<8, j<8] = E[i,j] / "
     "S[i]",
     "none"},
    {"exponentials", "Y[i<4, j<8] = exp(X[i,j])", "none"},
    {"normalization",
     "input X: f32[4,8], g: f32[8], b: f32[8]; S[i<4] = sum[k<8](X[i,k]); V[i<4] = sum[k<8]((X[i,k] - S[i]/8.0) * "
     "(X[i,k] - "
     "S[i]/8.0)); Y[i<4, j<8] = (X[i,j] - S[i]/8.0) * rsqrt(V[i]/8.0 + 0.001) * g[j] + b[j]",
     "normalization 4x8 0.001"},
    {"normalization of columns",
     "input X: f32[8,8], g: f32[8], b: f32[8]; S[j<8] = sum[k<8](X[k,j]); V[j<8] = sum[k<8]((X[k,j] - S[j]/8.0) * "
     "(X[k,j] - "
     "S[j]/8.0)); Y[i<8, j<8] = (X[i,j] - S[j]/8.0) * rsqrt(V[j]/8.0 + 0.001) * g[j] + b[j]",
     "none"},
    {"normalization without shift",
     "input X: f32[4,8], g: f32[8]; V[i<4] = sum[k<8](X[i,k] * X[i,k]); Y[i<4, j<8] = X[i,j] * rsqrt(V[i] + 0.001) * "
     "g[j]",
     "none"},
};

static void describe_other(const tn_program *program, runtime_str *out) {
  te_batch_matmul m;
  te_conv c;
  te_row_operator r;
  if (te_match_batch_matmul(program, &m))
    runtime_str_addf(out, "batch %d %dx%dx%d %s*%s", (int)m.batch, (int)m.m, (int)m.n, (int)m.k,
                     tn_tensor_name(tn_program_arg(program, m.a)), tn_tensor_name(tn_program_arg(program, m.b)));
  else if (te_match_conv(program, &c))
    runtime_str_addf(out, "%s %dx%dx%dx%d %d k%d s%d p%d d%d", c.is_depthwise ? "depthwise" : "conv", (int)c.batch,
                     (int)c.height, (int)c.width, (int)c.channels, (int)c.filters, (int)c.kernel, (int)c.stride,
                     (int)c.padding, (int)c.dilation);
  else if (te_match_rows(program, &r))
    runtime_str_addf(out,
                     r.is_by_columns ? "softmax %dx%d by columns"
                     : r.is_softmax  ? "softmax %dx%d"
                                     : "normalization %dx%d %g",
                     (int)r.rows, (int)r.columns, r.epsilon);
  else
    runtime_str_add(out, "none");
}

static void test_other(void **state) {
  const row *r = *state;
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, r->program, 0, NULL);
  check_ok(ctx);
  runtime_str text = {0};
  describe_other(program, &text);
  check_text(text.data, r->expected);
  runtime_str_free(&text);
  check_context_free(ctx);
}

int main(void) {
  int failed = CHECK_TABLE("match", rows, test_match);
  return failed + CHECK_TABLE("other operators", others, test_other);
}
