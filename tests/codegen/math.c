/* Functions of vectors of floats: the error over a sweep of their arguments, held against libm in double; and that no
 * function of a scalar is called where vectors are computed. */
#include <math.h>

#include "tests/codegen/kit.h"

enum { N = 1 << 14, LANES = 32 };

typedef struct math_row {
  const char *name, *expression;
  double from, to; /* the sweep */
  double (*reference)(double);
  double limit; /* ulp */
} math_row;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double power(double x) { return pow(x, 2.5); }
static double reciprocal_root(double x) { return 1 / sqrt(x); }

static const math_row rows[] = {
    {"exp", "exp(X[i])", -87, 88, exp, 2},
    {"exp near zero", "exp(X[i])", -1e-3, 1e-3, exp, 2},
    {"log", "log(X[i])", 1e-30, 1e30, log, 4},
    {"log near one", "log(X[i])", 0.5, 2, log, 4},
    {"tanh", "tanh(X[i])", -10, 10, tanh, 4},
    {"tanh near zero", "tanh(X[i])", -1e-2, 1e-2, tanh, 4},
    {"erf", "erf(X[i])", -4, 4, erf, 2},
    {"erf where its two ways meet", "erf(X[i])", 0.9, 1.1, erf, 2},
    {"erf near zero", "erf(X[i])", -1e-2, 1e-2, erf, 2},
    {"erf of tiny arguments", "erf(X[i])", 1e-38, 1e-3, erf, 2},
    {"sigmoid", "sigmoid(X[i])", -80, 80, sigmoid, 4},
    {"sin", "sin(X[i])", -100, 100, sin, 4},
    {"sin of large arguments", "sin(X[i])", 1e4, 1e6, sin, 4},
    {"cos", "cos(X[i])", -100, 100, cos, 4},
    {"pow", "pow(X[i], 2.5)", 1e-3, 1e6, power, 4},
    {"rsqrt", "rsqrt(X[i])", 1e-30, 1e30, reciprocal_root, 4},
};

static float input[N], output[N];

/* Evenly spaced; over many powers of two evenly in the exponent. */
static void fill(const math_row *r) {
  bool wide = r->from > 0 && r->to / r->from > 1e5;
  for (int i = 0; i < N; ++i) {
    double t = (double)i / (N - 1);
    input[i] = (float)(wide ? r->from * pow(r->to / r->from, t) : r->from + (r->to - r->from) * t);
  }
}

static tn_schedule *vector_schedule(const math_row *r) {
  char program[128], schedule[64];
  snprintf(program, sizeof program, "Y[i<%d] = %s", N, r->expression);
  snprintf(schedule, sizeof schedule, "split(Y, i, %d); vectorize(Y, i.inner)", LANES);
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s, schedule);
  check_ok(K.ctx);
  return s;
}

static double ulps(float got, double expected) {
  float nearest = (float)expected;
  double unit = (double)nextafterf(fabsf(nearest), INFINITY) - (double)fabsf(nearest);
  return fabs((double)got - expected) / unit;
}

static void accurate(void **state) {
  const math_row *r = *state;
  double worst = 0;
  int at = 0;
  tn_schedule *s = vector_schedule(r);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  fill(r);
  kit_call(kernel, (void *[]){input, output});
  for (int i = 0; i < N; ++i) {
    double error = ulps(output[i], r->reference((double)input[i]));
    if (!(error <= worst)) worst = error, at = i;
  }
  print_message("%s: %.2f ulp at %g\n", r->name, worst, (double)input[at]);
  if (!(worst <= r->limit)) fail_msg("%s: %.2f ulp at %.9g", r->name, worst, (double)input[at]);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

/* The code calls what TARGET has for whole registers and nothing for one float; exponentials are written out. */
static void calls_vectors(void **state) {
  static const struct {
    const char *target, *prefix;
  } targets[] = {{"triple=x86_64-linux-gnu cpu=znver4", "_ZGVeN16v"},
                 {"triple=x86_64-linux-gnu cpu=haswell", "_ZGVdN8v"},
                 {"triple=x86_64-linux-gnu cpu=ivybridge", "_ZGVcN8v"},
                 {"triple=x86_64-linux-gnu cpu=x86-64-v2", "_ZGVbN4v"}};
  const math_row *r = *state;
  if (strncmp(r->expression, "rsqrt", 5) == 0) return;
  bool is_called = strncmp(r->expression, "exp", 3) != 0 && strncmp(r->expression, "sigmoid", 7) != 0 &&
                   strncmp(r->expression, "erf", 3) != 0 && strncmp(r->expression, "tanh", 4) != 0;
  tn_schedule *s = vector_schedule(r);
  for (int i = 0; i < RUNTIME_COUNT(targets); ++i) {
    tn_build_options options = {.target = tn_target_new(K.ctx, targets[i].target)};
    char *text = tn_build_text(s, &options, ".s");
    check_ok(K.ctx);
    if (is_called) check_has(text, targets[i].prefix);
    if (!is_called) check_has_not(text, "callq");
    for (const char *call = strstr(text, "callq"); call != NULL; call = strstr(call + 1, "callq")) {
      if (strncmp(call, "callq\t_ZGV", 10) != 0) fail_msg("a scalar call: %.40s", call);
    }
    free(text);
  }
  tn_schedule_free(s);
}

/* Without vector functions: lane by lane, the same values as libm's. */
static void other_targets(void **state) {
  (void)state;
  tn_schedule *s = vector_schedule(&(math_row){"log", "log(X[i])", 1, 2, log, 4});
  tn_build_options options = {.target = tn_target_new(K.ctx, "triple=aarch64-linux-gnu cpu=neoverse-n1")};
  char *text = tn_build_text(s, &options, ".s");
  check_ok(K.ctx);
  check_has(text, "logf");
  assert_null(strstr(text, "_ZGV"));
  free(text);
  tn_schedule_free(s);
}

/* 2^n * e^r is one instruction where there is one; a vector that is no whole registers does without. */
static void scales_by_instruction(void **state) {
  (void)state;
  static const struct {
    const char *target, *schedule;
    bool has;
  } cases[] = {{"triple=x86_64-linux-gnu cpu=znver4", "split(Y, i, 32); vectorize(Y, i.inner)", true},
               {"triple=x86_64-linux-gnu cpu=znver4", "split(Y, i, 8); vectorize(Y, i.inner)", false},
               {"triple=x86_64-linux-gnu cpu=haswell", "split(Y, i, 32); vectorize(Y, i.inner)", false},
               {"triple=aarch64-linux-gnu cpu=neoverse-n1", "split(Y, i, 32); vectorize(Y, i.inner)", false}};
  for (int i = 0; i < RUNTIME_COUNT(cases); ++i) {
    tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, "Y[i<64] = exp(X[i])", 0, NULL));
    tn_schedule_apply(s, cases[i].schedule);
    tn_build_options options = {.target = tn_target_new(K.ctx, cases[i].target)};
    char *text = tn_build_text(s, &options, ".s");
    check_ok(K.ctx);
    assert_int_equal(strstr(text, "vscalefps") != NULL, cases[i].has);
    if (cases[i].has) check_has(text, "{z}"); /* not where the result would be smaller than any float */
    check_has_not(text, "expf");
    free(text);
    tn_schedule_free(s);
  }
}

/* As libm has them: overflow, results without an exponent's bits, zero, infinities; NaN stays NaN. */
static void ends_of_exp(void **state) {
  (void)state;
  static const float values[] = {INFINITY, -INFINITY, 88.72f, 88.73f, 89.5f, 1e30f, -87.4f,
                                 -95.f,    -103.9f,   -104.f, -1e30f, 0.f,   -0.f,  1e-40f};
  const math_row row = {"ends", "exp(X[i])", 0, 1, exp, 0};
  tn_schedule *s = vector_schedule(&row);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  for (int i = 0; i < N; i++) input[i] = values[i % RUNTIME_COUNT(values)];
  input[5] = NAN;
  assert_int_equal(kit_call(kernel, (void *[]){input, output}), 0);
  assert_true(isnan(output[5]));
  for (int i = 6; i < N; i++) {
    float expected = (float)exp((double)input[i]);
    if (!(output[i] == expected || fabsf(output[i] - expected) <= 2e-7f * expected + 1e-44f))
      fail_msg("exp(%g) is %g instead of %g", (double)input[i], (double)output[i], (double)expected);
  }
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* 1 and NaN where they belong, the sign of the argument, half of a ulp more for results without an exponent's bits. */
static bool is_erf(float x, float got) {
  double expected = erf((double)x);
  if (isnan(x)) return isnan(got);
  if (fabsf(x) >= 4 || x == 0) return got == (float)expected && !signbit(got) == !signbit(x);
  return !signbit(got) == !signbit(x) && fabsf(got) <= 1 && ulps(got, expected) <= 2;
}

/* Every STEP-th float, both signs, from 0 over denormal numbers to infinity and NaN with bits of their own. */
static void check_everywhere(tn_kernel *kernel, const math_row *row, uint32_t step,
                             bool (*is_right)(float x, float got)) {
  const uint64_t end = 1ull << 32;
  for (uint64_t bits = 0; bits < end;) {
    for (int i = 0; i < N; i++, bits += step) input[i] = float_of((uint32_t)(bits < end ? bits : 0x7FC00001));
    assert_int_equal(kit_call(kernel, (void *[]){input, output}), 0);
    for (int i = 0; i < N; i++)
      if (!is_right(input[i], output[i]))
        fail_msg("%s(%a) is %a, not %a", row->name, (double)input[i], (double)output[i],
                 row->reference((double)input[i]));
  }
}

static const math_row erf_row = {"erf", "erf(X[i])", 0, 1, erf, 0}, tanh_row = {"tanh", "tanh(X[i])", 0, 1, tanh, 0};

static void all_of_erf(tn_kernel *kernel) { check_everywhere(kernel, &erf_row, 1009, is_erf); }

static void erf_everywhere(void **state) {
  (void)state;
  tn_schedule *s = vector_schedule(&erf_row);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  all_of_erf(kernel);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

/* 1 and NaN where they belong, and the sign of the argument. */
static bool is_tanh(float x, float got) {
  if (isnan(x)) return isnan(got);
  bool is_near = fabsf(x) >= 10 ? fabsf(got) == 1 : fabsf(got) <= 1 && ulps(got, tanh((double)x)) <= 3;
  return is_near && !signbit(got) == !signbit(x);
}

/* By vectors of both lengths. */
static void tanh_everywhere(void **state) {
  (void)state;
  static const char *const targets[] = {"native", "cpu=haswell"};
  for (int t = 0; t < RUNTIME_COUNT(targets); t++) {
    tn_schedule *s = vector_schedule(&tanh_row);
    const tn_build_options options = {.target = tn_target_new(K.ctx, targets[t])};
    tn_kernel *kernel = tn_build(s, &options);
    check_ok(K.ctx);
    check_everywhere(kernel, &tanh_row, 10007, is_tanh);
    tn_kernel_free(kernel);
    tn_schedule_free(s);
  }
}

/* The same polynomials in C source; gcc makes vector code of them. */
static void erf_in_c(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *X = kit_in("X", TN_F32, N), *Y = kit_out("Y", TN_F32, N);
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_mul(kit_at(i), LANES), 1, LANES);
  const tir_expr *value = tir_unary(&K.arena, TIR_ERF, kit_load(X, at));
  tir_func *f = kit_func("kernel", kit_for(i, N / LANES, TIR_SERIAL, kit_store(Y, at, value)));
  tn_kernel *kernel = kit_compile_c(f, NULL, "cc -O2 -Wall -Wextra -Wconversion");
  all_of_erf(kernel);
  tn_kernel_free(kernel);
}

/* A function of what is the same for all rows is called once, by vectors and lane by lane; of what is another for each row, for each. */
static void same_values_once(void **state) {
  (void)state;
  static const struct {
    const char *program;
    int calls;
  } programs[] = {{"input A: f32[16]; C[i<4, j<16] = log(A[j]) + f32(i)", 1},
                  {"input A: f32[16]; C[i<4, j<16] = log(A[j] + f32(i))", 4},
                  {"input A: f32[16], B: f32[16]; C[i<4, j<16] = pow(A[j], B[j]) + f32(i)", 1},
                  {"input A: f64[16]; C[i<4, j<2] = asin(A[j]) + f64(i)", 1}};
  for (size_t i = 0; i < RUNTIME_COUNT(programs); i++) {
    char *text = kit_assembly(programs[i].program, "unroll(C, i); vectorize(C, j)", "znver4");
    int calls = 0;
    for (const char *at = text; (at = strstr(at, "callq")) != NULL; at++) calls++;
    if (calls != programs[i].calls) fail_msg("%s: %d calls:\n%s", programs[i].program, calls, text);
    free(text);
  }
}

int test_math(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(other_targets),         cmocka_unit_test(ends_of_exp),
                                            cmocka_unit_test(erf_everywhere),        cmocka_unit_test(tanh_everywhere),
                                            cmocka_unit_test(scales_by_instruction), cmocka_unit_test(erf_in_c),
                                            cmocka_unit_test(same_values_once)};
  return CHECK_TABLE("vector functions are accurate", rows, accurate) +
         CHECK_TABLE("vector functions are called", rows, calls_vectors) + CHECK_TESTS("vector functions", tests);
}
