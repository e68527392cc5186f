/* Comparing with the reference: what counts as equal, and how a wrong element is told. */
#include <math.h>

#include "autotune/worker.h"
#include "tests/common/check.h"
#include "tests/measure/measure_test.h"

static const struct error_row {
  const char *name;
  tn_dtype dtype;
  double x, r, scale, error;
} error_rows[] = {
    {"equal floats", TN_F32, 1.5, 1.5, 1, 0},
    {"relative to the element", TN_F32, 101, 100, 1, 0.01},
    {"relative to the scale", TN_F32, 0.01, 0.02, 1, 0.01},
    {"below the element", TN_F32, 99, 100, 1, 0.01},
    {"NaN is NaN", TN_F32, NAN, NAN, 1, 0},
    {"NaN is no number", TN_F64, NAN, 1, 1, INFINITY},
    {"a number is no NaN", TN_F64, 1, NAN, 1, INFINITY},
    {"infinity is infinity", TN_F32, INFINITY, INFINITY, 1, 0},
    {"infinities have a sign", TN_F32, INFINITY, -INFINITY, 1, INFINITY},
    {"zero with no scale", TN_F32, 1e-30, 0, 0, INFINITY},
    {"minus zero", TN_F32, -0.0, 0.0, 0, 0},
    {"equal integers", TN_I32, 7, 7, 1, 0},
    {"integers are exact", TN_I32, 1000001, 1000000, 1e9, INFINITY},
    {"booleans are exact", TN_BOOL, 1, 0, 1, INFINITY},
};

static void errors(void **state) {
  const struct error_row *row = *state;
  double error = worker_error(row->dtype, row->x, row->r, row->scale);
  assert_true(error == row->error || fabs(error - row->error) < 1e-12);
}

static const struct element_row {
  const char *name;
  int ndim;
  int64_t shape[3], flat;
  const char *text;
} element_rows[] = {
    {"rank 0", 0, {0}, 0, "C"},
    {"rank 1", 1, {5}, 3, "C[3]"},
    {"rank 3", 3, {2, 3, 4}, 23, "C[1, 2, 3]"},
};

static void elements(void **state) {
  const struct element_row *row = *state;
  DLTensor t = {.ndim = row->ndim, .shape = (int64_t *)row->shape};
  runtime_str out = {0};
  worker_print_element(&out, "C", &t, row->flat);
  assert_string_equal(out.data, row->text);
  runtime_str_free(&out);
}

/* A program of one output C: f32 or i32, 2500 elements. */
typedef struct fixture {
  tn_context *ctx;
  worker_data data;
  worker_program program;
  DLTensor *args[1], *reference[1];
  double scale[1];
  runtime_kernel_arg arg;
} fixture;

static tn_program *one_output(tn_context *ctx, tn_dtype dtype) {
  tn_axis *i = tn_axis_new(ctx, "i", 50), *j = tn_axis_new(ctx, "j", 50);
  return tn_program_new(ctx, tn_compute(ctx, "C", tn_const(ctx, dtype, 0), i, j));
}

static void set_up(fixture *f, tn_dtype dtype) {
  *f = (fixture){
      .ctx = check_context(), .scale = {0.5}, .arg = {.name = "C", .dtype = dtype, .ndim = 2, .shape = {50, 50}}};
  f->args[0] = tn_array_new(f->ctx, dtype, 2, f->arg.shape);
  f->reference[0] = tn_array_new(f->ctx, dtype, 2, f->arg.shape);
  tn_array_fill(f->ctx, f->args[0], 5);
  tn_array_fill(f->ctx, f->reference[0], 5);
  f->data =
      (worker_data){.n_args = 1, .args = f->args, .reference = f->reference, .scale = f->scale, .tolerance = 1e-5};
  f->program = (worker_program){.ctx = f->ctx, .n_args = 1, .args = &f->arg, .data = &f->data};
  f->program.program = one_output(f->ctx, dtype);
}

static void tear_down(fixture *f, worker_answer *answer) {
  tn_array_free(f->args[0]);
  tn_array_free(f->reference[0]);
  runtime_str_free(&answer->message);
  check_context_free(f->ctx);
}

static const worker_sample whole = {.whole = true};

static void equal_outputs(void **state) {
  (void)state;
  fixture f;
  worker_answer answer = {0};
  set_up(&f, TN_F32);
  assert_true(worker_check_outputs(&f.program, &whole, &answer));
  assert_true(answer.max_error == 0);
  tear_down(&f, &answer);
}

static void close_outputs(void **state) {
  (void)state;
  fixture f;
  worker_answer answer = {0};
  set_up(&f, TN_F32);
  ((float *)f.args[0]->data)[2499] += 1e-6f;
  assert_true(worker_check_outputs(&f.program, &whole, &answer));
  assert_true(answer.max_error > 0 && answer.max_error < 1e-5);
  tear_down(&f, &answer);
}

static void one_wrong_float(void **state) {
  (void)state;
  fixture f;
  worker_answer answer = {0};
  set_up(&f, TN_F32);
  ((float *)f.args[0]->data)[1234] += 1.0f;
  assert_false(worker_check_outputs(&f.program, &whole, &answer));
  assert_int_equal(answer.error, TN_MEASURE_WRONG_ANSWER);
  check_has(answer.message.data, "1 of 2500 elements are wrong; the worst: C[24, 34] is");
  check_has(answer.message.data, "allowed 1e-05");
  tear_down(&f, &answer);
}

/* An output of 16 elements, floats or i32, of a program with an input of 4096. */
typedef struct sixteen {
  tn_context *ctx;
  tn_program *program;
  tn_dtype dtype;
  DLTensor *args[2], *reference;
} sixteen;

static sixteen sixteen_new(const char *text) {
  sixteen o = {.ctx = check_context()};
  o.program = tn_program_parse(o.ctx, text, 0, NULL);
  assert_non_null(o.program);
  o.dtype = tn_tensor_dtype(tn_program_arg(o.program, 1));
  o.args[0] = tn_array_new(o.ctx, TN_F32, 1, (int64_t[]){4096});
  o.args[1] = tn_array_new(o.ctx, o.dtype, 1, (int64_t[]){16});
  o.reference = tn_array_new(o.ctx, o.dtype, 1, (int64_t[]){16});
  for (int i = 0; i < 4096; ++i) ((float *)o.args[0]->data)[i] = 0.3F + 0.001F * (float)(i % 256);
  assert_int_equal(tn_evaluate(o.program, (DLTensor *[]){o.args[0], o.reference}, 2), TN_OK);
  return o;
}

/* Whether what stands in args[1] passes, with a tolerance of 1e-6; the end of O. */
static bool passes(sixteen *o) {
  worker_answer answer = {0};
  worker_data data = {.n_args = 2,
                      .n_inputs = 1,
                      .args = o->args,
                      .reference = &o->reference,
                      .scale = (double[]){0},
                      .tolerance = 1e-6};
  runtime_kernel_arg described[] = {{.name = "A", .dtype = TN_F32, .ndim = 1, .shape = {4096}},
                                    {.name = "C", .dtype = o->dtype, .ndim = 1, .shape = {16}}};
  worker_program p = {.ctx = o->ctx, .program = o->program, .n_args = 2, .args = described, .data = &data};
  bool right = worker_check_outputs(&p, &whole, &answer);
  assert_true(!right || isfinite(answer.max_error));
  runtime_str_free(&answer.message);
  for (int i = 0; i < 2; ++i) tn_array_free(o->args[i]);
  tn_array_free(o->reference);
  check_context_free(o->ctx);
  return right;
}

/* Whether an output that is FACTOR times what the evaluator says passes. */
static bool off_by(const char *text, double factor) {
  sixteen o = sixteen_new(text);
  for (int i = 0; i < 16; ++i) ((float *)o.args[1]->data)[i] = (float)(factor * ((float *)o.reference->data)[i]);
  return passes(&o);
}

/* The same of one that is STEP more. */
static bool off_by_step(const char *text, int step) {
  sixteen o = sixteen_new(text);
  for (int i = 0; i < 16; ++i) ((int32_t *)o.args[1]->data)[i] = ((int32_t *)o.reference->data)[i] + step;
  return passes(&o);
}

/* exp makes of a sum's rounding error, relative to the sum, one that is the sum times as large: what is beyond the
 * tolerance may be right there, and is wrong where nothing is magnified. */
static void magnified_roundings(void **state) {
  (void)state;
  const char *plain = "C[i<16] = sum[k<256](A[i*256+k])";
  const char *magnified = "G[i<16] = sum[k<256](A[i*256+k] * A[i*256+k]); C[i<16] = exp(G[i])";
  assert_true(off_by(plain, 1));
  assert_true(off_by(magnified, 1 + 1e-5));
  assert_false(off_by(plain, 1 + 1e-4));
  assert_false(off_by(magnified, 1.01));
}

/* What is next to a whole number may be rounded down to the one before it, or to it, and to no other; where no float is near, an
 * integer is exact. */
static void integers_of_roundings(void **state) {
  (void)state;
  const char *near = "input A: f32[4096]\nC[i<16] = i32((A[i] + 1) - A[i] + 2)"; /* 2.9999999, 3 or 3.0000001 */
  const char *far = "input A: f32[4096]\nC[i<16] = i32((A[i] + 1) - A[i] + 2.5)";
  assert_true(off_by_step(near, 0));
  assert_true(off_by_step(near, -1));
  assert_false(off_by_step(near, 1));
  assert_false(off_by_step(near, -2));
  assert_false(off_by_step(near, 2));
  assert_false(off_by_step(far, 1));
  assert_false(off_by_step(far, -1));
  assert_false(off_by_step("input A: f32[4096]\nC[i<16] = i32(i) * 3 + i32(A[i])", 1));
}

static void one_wrong_integer(void **state) {
  (void)state;
  fixture f;
  worker_answer answer = {0};
  set_up(&f, TN_I32);
  ((int32_t *)f.args[0]->data)[0] += 1;
  assert_false(worker_check_outputs(&f.program, &whole, &answer));
  check_has(answer.message.data, "1 of 2500 elements are wrong; the worst: C[0, 0] is");
  tear_down(&f, &answer);
}

static void wrong_beyond_a_double(void **state) {
  (void)state;
  fixture f;
  worker_answer answer = {0};
  set_up(&f, TN_I64);
  ((int64_t *)f.reference[0]->data)[9] = ((int64_t)1 << 60);
  ((int64_t *)f.args[0]->data)[9] = ((int64_t)1 << 60) + 1;
  assert_false(worker_check_outputs(&f.program, &whole, &answer));
  tear_down(&f, &answer);
}

static void the_second_output_is_compared(void **state) {
  (void)state;
  fixture f, second;
  worker_answer answer = {0}, unused = {0};
  set_up(&f, TN_F32);
  set_up(&second, TN_F32);
  DLTensor *args[] = {f.args[0], second.args[0]}, *reference[] = {f.reference[0], second.reference[0]};
  double scale[] = {0.5, 0.5};
  runtime_kernel_arg both[] = {f.arg, second.arg};
  both[1].name = "D";
  worker_data data = {.n_args = 2, .args = args, .reference = reference, .scale = scale, .tolerance = 1e-5};
  worker_program program = {.n_args = 2, .args = both, .data = &data};
  assert_true(worker_check_outputs(&program, &whole, &answer));
  ((float *)second.args[0]->data)[7] += 1.0f;
  assert_false(worker_check_outputs(&program, &whole, &answer));
  check_has(answer.message.data, "the worst: D[0, 7] is");
  tear_down(&second, &unused);
  tear_down(&f, &answer);
}

/* Of a large output blocks are compared, the first and the last always. */
static void ends_are_compared(void **state) {
  (void)state;
  enum { N = 1 << 18 };
  fixture f = {.ctx = check_context(), .scale = {1}};
  worker_answer answer = {0};
  f.arg = (runtime_kernel_arg){.name = "C", .dtype = TN_I32, .ndim = 1, .shape = {N}};
  f.args[0] = tn_array_new(f.ctx, TN_I32, 1, f.arg.shape);
  f.reference[0] = tn_array_new(f.ctx, TN_I32, 1, f.arg.shape);
  memset(f.args[0]->data, 0, N * sizeof(int32_t));
  memset(f.reference[0]->data, 0, N * sizeof(int32_t));
  f.data = (worker_data){.n_args = 1, .args = f.args, .reference = f.reference, .scale = f.scale};
  f.program = (worker_program){.n_args = 1, .args = &f.arg, .data = &f.data};
  int32_t *elements_of = f.args[0]->data;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const worker_sample sample = {.seed = seed};
    assert_true(worker_check_outputs(&f.program, &sample, &answer));
    assert_true(answer.share > 0 && answer.share < 1);
    for (int last = 0; last < 2; ++last) {
      elements_of[last ? N - 1 : 0] = 1;
      assert_false(worker_check_outputs(&f.program, &sample, &answer));
      elements_of[last ? N - 1 : 0] = 0;
      runtime_str_free(&answer.message);
      answer = (worker_answer){0};
    }
  }
  tear_down(&f, &answer);
}

static void poison_is_seen(void **state) {
  static const tn_dtype dtypes[] = {TN_BOOL, TN_U8, TN_I32, TN_I64, TN_F32, TN_F64};
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(dtypes); ++i) {
    fixture f;
    worker_answer answer = {0};
    set_up(&f, dtypes[i]);
    worker_poison(f.args[0], dtypes[i]);
    assert_false(worker_check_outputs(&f.program, &whole, &answer));
    check_has(answer.message.data, "2500 of 2500 elements are wrong");
    tear_down(&f, &answer);
  }
}

static void typical_ignores_outliers(void **state) {
  (void)state;
  fixture f;
  worker_answer answer = {0};
  set_up(&f, TN_F32);
  float *x = f.args[0]->data;
  for (int i = 0; i < 1000; ++i) x[i] = i % 3 ? 0 : INFINITY;
  x[1000] = 1e30f;
  double typical = worker_typical(f.args[0], TN_F32);
  assert_true(typical > 0.1 && typical < 1);
  memset(x, 0, tn_array_bytes(f.args[0]));
  assert_true(worker_typical(f.args[0], TN_F32) == 0);
  tear_down(&f, &answer);
}

int check_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_outputs),
      cmocka_unit_test(close_outputs),
      cmocka_unit_test(magnified_roundings),
      cmocka_unit_test(integers_of_roundings),
      cmocka_unit_test(one_wrong_float),
      cmocka_unit_test(one_wrong_integer),
      cmocka_unit_test(wrong_beyond_a_double),
      cmocka_unit_test(poison_is_seen),
      cmocka_unit_test(ends_are_compared),
      cmocka_unit_test(the_second_output_is_compared),
      cmocka_unit_test(typical_ignores_outliers),
  };
  return CHECK_TABLE("errors", error_rows, errors) + CHECK_TABLE("elements", element_rows, elements) +
         CHECK_TESTS("outputs", tests);
}
