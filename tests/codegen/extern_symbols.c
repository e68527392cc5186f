/* Calls of C functions where symbols decide sizes: the function is told them as numbers. Kernels and the evaluator, which calls
 * the function, too, against plain C, for several values of the symbols. */
#include "tests/codegen/kit.h"

enum { MOST = 24 };

/* y = A * x + bias, A of rows by columns; *ASKED gets what else was passed. */
static struct asked {
  int64_t elements;
  float columns;
} asked;

static void gemv(int32_t rows, int32_t columns, int64_t elements, float columns_too, const float *a, const float *x,
                 float *y, float *sums) {
  asked = (struct asked){elements, columns_too};
  for (int i = 0; i < rows; i++) {
    y[i] = 0;
    for (int j = 0; j < columns; j++) y[i] += a[i * columns + j] * x[j];
  }
  for (int j = 0; j < columns + 1; j++) sums[j] = (float)rows;
}

#define GEMV                                                                             \
  "symbol n<=24, 2<=m<=24\ninput A: f32[n, m], x: f32[m]\nP[i<n, j<m] = A[i, j] + 1.0\n" \
  "extern (y: f32[n], z: f32[m + 1]) = gemv(n, m, i64(n*m - 1), f32(m), P, x)\n"         \
  "C[i<n, j<m] = y[i] + z[j + 1]*P[i, j]\n"

static void expect(int n, int m, const float *a, const float *x, float *c) {
  for (int i = 0; i < n; i++) {
    float y = 0;
    for (int j = 0; j < m; j++) y += (a[i * m + j] + 1) * x[j];
    for (int j = 0; j < m; j++) c[i * m + j] = y + (float)n * (a[i * m + j] + 1);
  }
}

/* PROGRAM, or KERNEL where it is not NULL. Small integers are exact. */
static void check_size(tn_context *ctx, tn_program *program, const tn_kernel *kernel, int n, int m) {
  float a[MOST * MOST], x[MOST], c[MOST * MOST], expected[MOST * MOST];
  int64_t matrix[] = {n, m}, row[] = {m};
  for (int i = 0; i < n * m; i++) a[i] = (float)(i * 37 % 19 - 9);
  for (int j = 0; j < m; j++) x[j] = (float)(j * 5 % 7 - 3);
  memset(c, 0x55, sizeof c);
  expect(n, m, a, x, expected);
  DLDataType f32 = tn_dtype_dlpack(TN_F32);
  DLTensor arrays[] = {{a, {kDLCPU, 0}, 2, f32, matrix, NULL, 0},
                       {x, {kDLCPU, 0}, 1, f32, row, NULL, 0},
                       {c, {kDLCPU, 0}, 2, f32, matrix, NULL, 0}};
  DLTensor *const args[] = {&arrays[0], &arrays[1], &arrays[2]};
  asked = (struct asked){0};
  assert_int_equal(kernel ? tn_call(ctx, kernel, args, 3) : tn_evaluate(program, args, 3), TN_OK);
  check_ok(ctx);
  assert_true(asked.elements == (int64_t)n * m - 1 && asked.columns == (float)m);
  for (int i = 0; i < n * m; i++) assert_true(c[i] == expected[i]);
}

static void check_sizes(tn_context *ctx, tn_program *program, const tn_kernel *kernel) {
  check_size(ctx, program, kernel, 1, 2);
  check_size(ctx, program, kernel, 7, 5);
  check_size(ctx, program, kernel, 24, 24);
  check_size(ctx, program, kernel, 16, 23);
}

static tn_program *parse(tn_context *ctx, const char *text, int n_params, const tn_param *params) {
  tn_program *program = tn_program_parse(ctx, text, n_params, params);
  check_ok(ctx);
  assert_int_equal(tn_program_bind(program, "gemv", (void (*)(void))gemv), TN_OK);
  return program;
}

static const char *const schedules[][1] = {
    {""},
    {"parallel(P, i); parallel(C, i); split(P, j, 4, tail=guard); unroll(P, j.inner)"},
    {"split(C, j, 8, tail=mask); vectorize(C, j.inner); split(P, i, 4, tail=peel)"},
    {"cache_read(P, global, y); cache_read(y, global, C); fuse(P, i, j)"}};

static void every_size(void **state) {
  const char *const *text = *state;
  tn_context *ctx = check_context();
  tn_program *program = parse(ctx, GEMV, 0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  assert_int_equal(tn_schedule_apply(s, text[0]), TN_OK);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(ctx);
  check_sizes(ctx, program, kernel);
  check_sizes(ctx, program, NULL);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
  check_context_free(ctx);
}

static void text_stays(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_string_equal(tn_program_text(parse(ctx, GEMV, 0, NULL)), GEMV);
  const tn_param sizes[] = {{"n", 3}, {"m", 4}};
  const char *text = tn_program_text(parse(ctx, GEMV, 2, sizes));
  assert_non_null(strstr(text, "extern (y: f32[3], z: f32[5]) = gemv(3, 4, i64(11), 4.0, P, x)"));
  check_context_free(ctx);
}

/* The same program by calls has the same text. */
static void by_calls(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_expr *n = tn_symbol_in(ctx, "n", 1, 24), *m = tn_symbol_in(ctx, "m", 2, 24);
  tn_tensor *a = tn_placeholder_of(ctx, "A", TN_F32, n, m), *x = tn_placeholder_of(ctx, "x", TN_F32, m);
  tn_axis *i = tn_axis_of(ctx, "i", n), *j = tn_axis_of(ctx, "j", m);
  tn_tensor *p = tn_compute(ctx, "P", tn_add(tn_at(a, i, j), 1), i, j);
  const tn_result results[] = {{"y", TN_F32, 1, {0}, {n}}, {"z", TN_F32, 1, {0}, {tn_add(m, 1)}}};
  tn_callee *callee = tn_callee_function(ctx, "gemv", (void (*)(void))gemv);
  tn_tensor *y = tn_extern(ctx, callee, TN_RESULTS(results), n, m, tn_cast(TN_I64, tn_sub(tn_mul(n, m), 1)),
                           tn_cast(TN_F32, m), p, x);
  check_ok(ctx);
  tn_axis *r = tn_axis_of(ctx, "i", n), *c = tn_axis_of(ctx, "j", m);
  tn_expr *scaled = tn_mul(tn_at(tn_output(y, 1), tn_add(c, 1)), tn_at(p, r, c));
  tn_program *program = tn_program_new(ctx, a, x, tn_compute(ctx, "C", tn_add(tn_at(y, r), scaled), r, c));
  check_ok(ctx);
  assert_string_equal(tn_program_text(program), GEMV);
  check_sizes(ctx, program, NULL);
  check_context_free(ctx);
}

static void refused_by_calls(void **state) {
  (void)state;
  tn_context *ctx = check_context(), *other = check_context();
  tn_expr *n = tn_symbol(ctx, "n");
  tn_tensor *a = tn_placeholder_of(ctx, "A", TN_F32, n);
  tn_callee *f = tn_callee_symbol(ctx, "f");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), tn_mul(n, n)));
  check_fails(ctx, TN_ERROR_ARGUMENT, "input 1 of f can be more than an i32 holds", "symbol M<=4096");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), a, tn_cast(TN_U8, n)));
  check_fails(ctx, TN_ERROR_PROGRAM, "f: input 2 is a number of u8", "write i32(n)");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), tn_at(a, 0)));
  check_fails(ctx, TN_ERROR_ARGUMENT, "input 1 of f is no tensor", "made of symbols");
  const tn_result small[] = {{"y", TN_F32, 1, {0}, {tn_sub(n, 1)}}}, strange[] = {{"y", TN_F32, 1, {0}, {tn_at(a, 0)}}};
  assert_null(tn_extern(ctx, f, TN_RESULTS(small), a));
  check_fails(ctx, TN_ERROR_PROGRAM, "n - 1, can be 0", "at least 1");
  assert_null(tn_extern(ctx, f, TN_RESULTS(strange), a));
  check_fails(ctx, TN_ERROR_PROGRAM, "is no number and not made of symbols");
  const tn_result foreign[] = {{"y", TN_F32, 1, {0}, {tn_symbol(other, "k")}}};
  assert_null(tn_extern(ctx, f, TN_RESULTS(foreign), a));
  check_fails(ctx, TN_ERROR_ARGUMENT, "context");
  check_context_free(other);
  check_context_free(ctx);
}

/* A size that the arguments do not agree on never reaches the function. */
static void disagreeing_sizes(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program = parse(ctx, GEMV, 0, NULL);
  float memory[64] = {0};
  int64_t matrix[] = {2, 3}, row[] = {4}, out[] = {2, 3};
  DLDataType f32 = tn_dtype_dlpack(TN_F32);
  DLTensor a = {memory, {kDLCPU, 0}, 2, f32, matrix, NULL, 0}, x = {memory + 16, {kDLCPU, 0}, 1, f32, row, NULL, 0};
  DLTensor c = {memory + 32, {kDLCPU, 0}, 2, f32, out, NULL, 0};
  asked = (struct asked){0};
  assert_int_not_equal(tn_evaluate(program, (DLTensor *[]){&a, &x, &c}, 3), TN_OK);
  assert_int_equal(asked.elements, 0);
  tn_context_clear(ctx);
  check_context_free(ctx);
}

int test_extern_symbols(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(text_stays), cmocka_unit_test(by_calls),
                                            cmocka_unit_test(refused_by_calls), cmocka_unit_test(disagreeing_sizes)};
  return CHECK_TABLE("externs of any size", schedules, every_size) + CHECK_TESTS("externs with symbols", tests);
}
