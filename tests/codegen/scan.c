/* Scans as kernels: running sums of integers, which are exact, and a recurrent cell, against plain C. */
#include <math.h>

#include "te/te.h"
#include "tests/codegen/kit.h"

enum { T = 9, B = 3, D = 5, N = 8 };

/* ---- running sums, made by calls from C -------------------------------------------------------------------------- */

static tn_program *sums(tn_context *ctx) {
  tn_tensor *x = tn_placeholder(ctx, "X", TN_I32, T, N), *s = tn_state(ctx, "S", TN_I32, T, N);
  tn_axis *t = tn_axis_new(ctx, "t", T), *i = tn_axis_new(ctx, "i", N);
  tn_expr *next = tn_add(tn_at(s, tn_sub(t, 1), i), tn_at(x, t, i));
  return tn_program_new(ctx, x, tn_scan(s, tn_select(tn_lt(t, 1), tn_at(x, t, i), next), t, i));
}

static tn_kernel *build(tn_context *ctx, tn_program *program, const char *schedule) {
  tn_schedule *s = tn_schedule_new(program);
  assert_int_equal(tn_schedule_apply(s, schedule), TN_OK);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(ctx);
  assert_non_null(kernel);
  tn_schedule_free(s);
  return kernel;
}

static const char *const sum_schedules[][1] = {{""},
                                               {"vectorize(S, i)"},
                                               {"unroll(S, t)"},
                                               {"parallel(S, i)"},
                                               {"reorder(S, i, t); parallel(S, i)"},
                                               {"split(S, t, 4); split(S, i, 3); vectorize(S, i.inner)"},
                                               {"split(S, t, 4, tail=peel); reorder(S, i, t.outer, t.inner)"}};

static void running_sums(void **state) {
  const char *const *schedule = *state;
  tn_context *ctx = check_context();
  tn_kernel *kernel = build(ctx, sums(ctx), schedule[0]);
  int32_t x[T][N], s[T][N], sum[N] = {0};
  for (int t = 0; t < T; t++)
    for (int i = 0; i < N; i++) x[t][i] = (t * 31 + i * 17) % 23 - 11;
  memset(s, 0x55, sizeof s);
  assert_int_equal(kit_call(kernel, (void *[]){x, s}), 0);
  for (int t = 0; t < T; t++)
    for (int i = 0; i < N; i++) assert_int_equal(s[t][i], sum[i] += x[t][i]);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}

/* ---- a recurrent cell -------------------------------------------------------------------------------------------- */

#define CELL                                                                                                        \
  "input X: f32[9, 3, 5], U: f32[5, 8], W: f32[8, 8]\nstate H: f32[9, 3, 8]\n"                                      \
  "P[t<9, i<3, j<8] = sum[k<5](X[t,i,k] * U[k,j])\nZ[t<9, i<3, j<8] = sum[k<8 where t >= 1](H[t-1,i,k] * W[k,j])\n" \
  "scan H[t<9, i<3, j<8] = tanh(P[t,i,j] + Z[t,i,j])"

static void cell(float x[T][B][D], float u[D][N], float w[N][N], float h[T][B][N]) {
  for (int t = 0; t < T; t++)
    for (int i = 0; i < B; i++)
      for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int k = 0; k < D; k++) sum += (double)x[t][i][k] * u[k][j];
        for (int k = 0; t > 0 && k < N; k++) sum += (double)h[t - 1][i][k] * w[k][j];
        h[t][i][j] = (float)tanh(sum);
      }
}

static float small(int i) { return (float)(i * 37 % 19 - 9) / 16; }

static const char *const cell_schedules[][1] = {
    {""},
    {"compute_at(P, H, t)"},
    {"compute_at(P, H, j); compute_at(Z, H, j)"},
    {"reorder(Z, t, i, k, j); vectorize(Z, j); vectorize(H, j); parallel(Z, i)"},
    {"reorder(H, i, t, j); parallel(H, i); compute_at(P, H, i); vectorize(H, j)"},
    {"split(H, t, 4); compute_at(P, H, t.outer); unroll(H, t.inner)"},
    {"set_scope(Z, local); split(H, j, 5, tail=peel); compute_at(Z, H, j.outer)"},
    {"cache_read(W, local, Z); compute_at(W.local, Z, j)"}};

static void recurrent_cell(void **state) {
  const char *const *schedule = *state;
  tn_context *ctx = check_context();
  tn_kernel *kernel = build(ctx, tn_program_parse(ctx, CELL, 0, NULL), schedule[0]);
  float x[T][B][D], u[D][N], w[N][N], h[T][B][N], expected[T][B][N];
  for (int i = 0; i < T * B * D; i++) ((float *)x)[i] = small(i);
  for (int i = 0; i < D * N; i++) ((float *)u)[i] = small(i + 5);
  for (int i = 0; i < N * N; i++) ((float *)w)[i] = small(i + 11);
  cell(x, u, w, expected);
  assert_int_equal(kit_call(kernel, (void *[]){x, u, w, h}), 0);
  for (int i = 0; i < T * B * N; i++) assert_true(fabsf(((float *)h)[i] - ((float *)expected)[i]) < 1e-5);
  tn_kernel_free(kernel);
  check_context_free(ctx);
}

/* ---- calls that are refused -------------------------------------------------------------------------------------- */

static void refused_calls(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_tensor *x = tn_placeholder(ctx, "X", TN_F32, T);
  tn_axis *t = tn_axis_new(ctx, "t", T);
  assert_null(tn_scan(x, tn_at(x, t), t));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_scan: 'X' is no state", "tn_state");
  assert_null(tn_state(ctx, "S", 99, T));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_state: 'S': 99 is no dtype");
  assert_null(tn_state(ctx, "S", TN_F32));
  check_fails(ctx, TN_ERROR_PROGRAM, "state 'S' has rank 0");
  tn_tensor *s = tn_state(ctx, "S", TN_F32, T);
  assert_null(tn_scan(s, tn_at(x, t), x));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_scan: 'S': argument 1 after the expression is no axis");
  assert_null(tn_program_new(ctx, s));
  check_fails(ctx, TN_ERROR_PROGRAM, "state 'S' is declared, but no scan defines it");
  check_context_free(ctx);
}

int test_scan(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(refused_calls)};
  return CHECK_TABLE("running sums", sum_schedules, running_sums) +
         CHECK_TABLE("a recurrent cell", cell_schedules, recurrent_cell) +
         cmocka_run_group_tests_name("scans refused", tests, NULL, NULL);
}
