/* From a program and a schedule to running code: tn_build and its sisters, against the reference evaluator. */
#include <math.h>

#include "tests/codegen/kit.h"

typedef struct build_row {
  const char *name;
  const char *program;
  const char *schedule; /* "": the default */
} build_row;

#define MATMUL "C[i<64, j<96] = sum[k<48](A[i,k] * B[k,j])"
#define ODD "C[i<37, j<53] = sum[k<29](A[i,k] * B[k,j])"
#define ADD "C[i<100, j<70] = A[i,j] + B[i,j]"

static const build_row rows[] = {
    {"add", ADD, ""},
    {"add, tiled and vectorized", ADD, "tile(C, i, j, 32, 32); vectorize(C, j.inner); parallel(C, i.outer)"},
    {"add, a split that does not divide", ADD, "split(C, i, 33); vectorize(C, j)"},
    {"matmul", MATMUL, ""},
    {"matmul, tiled", MATMUL,
     "tile(C, i, j, 8, 32); reorder(C, i.outer, j.outer, k, i.inner, j.inner); vectorize(C, j.inner)"},
    {"matmul, register tile", MATMUL,
     "cache_write(C, local); tile(C, i, j, 8, 32); compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); "
     "unroll(C.local, i.c); vectorize(C.local, j.c); unroll(C, i.inner); vectorize(C, j.inner); parallel(C, i.outer)"},
    {"matmul, odd sizes", ODD, "tile(C, i, j, 8, 16); vectorize(C, j.inner); parallel(C, i.outer)"},
    {"softmax",
     "M[i<20] = max[k<30](X[i,k]); E[i<20, j<30] = exp(X[i,j] - M[i]); S[i<20] = sum[k<30](E[i,k]); "
     "Y[i<20, j<30] = E[i,j] / S[i]",
     "parallel(Y, i)"},
    {"padded convolution",
     "input I: f32[1,10,10,8], W: f32[3,3,8,8]; P[n<1, h<12, w<12, c<8] = select(h >= 1 && h < 11 && w >= 1 && w < 11, "
     "I[n, h-1, w-1, c], 0); O[n<1, h<5, w<5, f<8] = sum[r<3, s<3, c<8](P[n, h*2+r, w*2+s, c] * W[r,s,c,f])",
     "compute_inline(P); vectorize(O, f)"},
    {"lanes chosen by a condition", "input A: i32[16], q: bool; C[i<16] = select(A[i] > 0 && q, A[i], i)",
     "vectorize(C, i)"},
    {"scalars of all kinds, in parallel",
     "scalar f: f32, d: f64, h: f16, b: bool; input A: f32[9,20]; scalar u: u8, l: i64\n"
     "C[i<9, j<20] = select(b, A[i,j]*f + f32(d), f32(h) + f32(u) - f32(l))",
     "vectorize(C, j); parallel(C, i)"},
    {"a scalar as an index and in conditions",
     "scalar n: i32, u: u16; input A: f32[30]\nC[i<20] = A[i + n%9] + select(n + i > 7, A[u + i], 1)",
     "split(C, i, 8); vectorize(C, i.inner); parallel(C, i.outer)"},
    {"a scalar in a condition of a reduction, inlined",
     "scalar n: i8, s: f32; P[i<40] = A[i]*s\nC = sum[i<40 where i < n](P[i])", "compute_inline(P)"},
    {"integers", "input A: i8[40], B: u16[40]; C[i<40] = i32(A[i]) // 3 + i32(B[i]) % 7", "vectorize(C, i)"},
};

/* ---- running ----------------------------------------------------------------------------------------------------- */

enum { MAX_ARGS = 8 };

typedef struct run {
  tn_program *program;
  tn_schedule *schedule;
  int n;
  DLTensor *args[MAX_ARGS];
} run;

static run run_open(const build_row *r) {
  run x = {.program = tn_program_parse(K.ctx, r->program, 0, NULL)};
  check_ok(K.ctx);
  x.schedule = tn_schedule_new(x.program);
  tn_schedule_apply(x.schedule, r->schedule);
  check_ok(K.ctx);
  x.n = tn_program_arg_count(x.program);
  for (int i = 0; i < x.n; ++i) {
    tn_tensor *t = tn_program_arg(x.program, i);
    x.args[i] = tn_array_new(K.ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    tn_array_fill(K.ctx, x.args[i], 1 + (uint64_t)i);
  }
  check_ok(K.ctx);
  return x;
}

static void run_close(run *x) {
  for (int i = 0; i < x->n; ++i) tn_array_free(x->args[i]);
  tn_schedule_free(x->schedule);
}

static void same_element(const char *name, double got, double expected, int64_t i) {
  if (fabs(got - expected) <= 1e-5 * (1 + fabs(expected))) return;
  fail_msg("%s[%lld]: got %.9g, expected %.9g", name, (long long)i, got, expected);
}

/* The last argument is the output (all programs here have one). */
static void check_output(run *x) {
  tn_tensor *t = tn_program_arg(x->program, x->n - 1);
  DLTensor *expected = tn_array_new(K.ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
  DLTensor *args[MAX_ARGS];
  memcpy(args, x->args, sizeof args);
  args[x->n - 1] = expected;
  tn_evaluate(x->program, args, x->n);
  check_ok(K.ctx);
  int64_t n = (int64_t)(tn_array_bytes(expected) / tn_dtype_bytes(tn_tensor_dtype(t)));
  for (int64_t i = 0; i < n; ++i) {
    same_element(tn_tensor_name(t), kit_get(tn_tensor_dtype(t), x->args[x->n - 1]->data, i),
                 kit_get(tn_tensor_dtype(t), expected->data, i), i);
  }
  tn_array_free(expected);
}

static void build(void **state) {
  run x = run_open(*state);
  tn_kernel *kernel = tn_build(x.schedule, NULL);
  check_ok(K.ctx);
  tn_call(K.ctx, kernel, x.args, x.n);
  check_ok(K.ctx);
  check_output(&x);
  tn_kernel_free(kernel);
  run_close(&x);
}

/* ---- scratch that is shared ------------------------------------------------------------------------------------------ */

static const struct far_row {
  const char *name;
  int far;
} far_rows[] = {{"the last but one", 2}, {"three back", 3}, {"seven back", 7}, {"the first", 24}};

/* A long chain, each link of which reads the last one and one of those before, at rows that are not its own: buffers share memory
 * and nests are functions of their own, and none may overwrite what is still read. FAR: how far back it reads. */
static void chain(void **state) {
  int far = ((const struct far_row *)*state)->far;
  enum { LINKS = 24 };
  runtime_str text = {0};
  runtime_str_add(&text, "T0[i<50, j<100] = A[i,j] * 0.5\nT1[i<50, j<100] = T0[49 - i, j] + 1\n");
  for (int i = 2; i < LINKS; ++i)
    runtime_str_addf(&text, "T%d[i<50, j<100] = T%d[49 - i, j] * 0.5 + T%d[i, 99 - j]\n", i, i - 1,
                     RUNTIME_MAX(i - far, 0));
  build_row row = {.name = "chain", .program = text.data, .schedule = ""}, *one = &row;
  build((void **)&one);
  run x = run_open(&row);
  char *ir = tn_build_text(x.schedule, NULL, ".ll");
  int taken = 0;
  for (const char *at = ir; (at = strstr(at, "call ptr @aligned_alloc")) != NULL; ++at) ++taken;
  assert_in_range(taken, 2, far + 2);
  free(ir);
  run_close(&x);
  runtime_str_free(&text);
}

/* ---- options, texts, files --------------------------------------------------------------------------------------- */

static void named(void **state) {
  (void)state;
  run x = run_open(&rows[0]);
  tn_kernel *kernel = tn_build(x.schedule, &(tn_build_options){.name = "add"});
  check_ok(K.ctx);
  assert_string_equal(tn_kernel_name(kernel), "add");
  assert_int_equal(tn_kernel_arg_count(kernel), 3);
  tn_kernel_free(kernel);
  run_close(&x);
}

static void texts(void **state) {
  (void)state;
  static const char *const forms[][2] = {
      {".ll", "define i32 @kernel"}, {".s", "kernel:"}, {".h", "int32_t kernel("}, {".c", "int32_t kernel("}};
  run x = run_open(&rows[5]);
  for (int i = 0; i < RUNTIME_COUNT(forms); ++i) {
    char *text = tn_build_text(x.schedule, NULL, forms[i][0]);
    check_ok(K.ctx);
    check_has(text, forms[i][1]);
    free(text);
  }
  run_close(&x);
}

/* An object and its header, used by a C program. */
static void exported(void **state) {
  (void)state;
  char folder[64], path[128];
  run x = run_open(&rows[0]);
  tn_build_options options = {.name = "add"};
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/add.o", folder);
  tn_build_file(x.schedule, &options, path);
  snprintf(path, sizeof path, "%s/add.h", folder);
  tn_build_header(x.schedule, &options, path);
  check_ok(K.ctx);
  assert_int_equal(kit_shell(NULL,
                             "cd %s && printf '#include \"add.h\"\\nstatic float a[7000], b[7000], c[7000];\\n"
                             "int main(void) { a[5] = 1; b[5] = 2; return add(a, b, c) || c[5] != 3; }\\n' > use.c && "
                             "cc use.c add.o -o use 2>&1 && ./use",
                             folder),
                   0);
  kit_folder_remove(folder);
  run_close(&x);
}

static void for_another_target(void **state) {
  (void)state;
  run x = run_open(&rows[4]);
  const tn_target *target = tn_target_new(K.ctx, "triple=aarch64-linux-gnu threads=1");
  char *text = tn_build_text(x.schedule, &(tn_build_options){.target = target}, ".s");
  check_ok(K.ctx);
  check_has(text, "fmla");
  free(text);
  run_close(&x);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refuse_names(void **state) {
  (void)state;
  run x = run_open(&rows[0]);
  assert_null(tn_build(x.schedule, &(tn_build_options){.name = "my kernel"}));
  check_fails(K.ctx, TN_ERROR_ARGUMENT, "\"my kernel\"", "C identifier");
  assert_int_equal(tn_build_header(x.schedule, &(tn_build_options){.name = "int"}, "/tmp/x.h"), TN_ERROR_ARGUMENT);
  check_fails(K.ctx, TN_ERROR_ARGUMENT, "\"int\"");
  run_close(&x);
}

static void refuse_forms(void **state) {
  (void)state;
  run x = run_open(&rows[0]);
  assert_null(tn_build_text(x.schedule, NULL, ".o"));
  check_fails(K.ctx, TN_ERROR_ARGUMENT, "\".o\" is no text: use .c, .ll, .s or .h");
  assert_int_equal(tn_build_file(x.schedule, NULL, "/tmp/kernel.wasm"), TN_ERROR_ARGUMENT);
  check_fails(K.ctx, TN_ERROR_ARGUMENT, "/tmp/kernel.wasm");
  assert_int_equal(tn_build_header(x.schedule, NULL, "/nonexistent/kernel.h"), TN_ERROR_IO);
  check_fails(K.ctx, TN_ERROR_IO, "cannot write /nonexistent/kernel.h");
  run_close(&x);
}

static void refuse_null(void **state) {
  (void)state;
  assert_null(tn_build(NULL, NULL));
  assert_null(tn_build_text(NULL, NULL, ".ll"));
  assert_int_equal(tn_build_file(NULL, NULL, "/tmp/kernel.o"), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_build_header(NULL, NULL, "/tmp/kernel.h"), TN_ERROR_ARGUMENT);
}

static void refuse_call(void **state) {
  (void)state;
  run x = run_open(&rows[0]);
  tn_kernel *kernel = tn_build(x.schedule, NULL);
  check_ok(K.ctx);
  assert_int_equal(tn_call(K.ctx, kernel, x.args, 2), TN_ERROR_CALL);
  check_message_has(K.ctx, "3");
  tn_kernel_free(kernel);
  run_close(&x);
}

/* A peeled loop around a buffer allocates it in both its parts: the same memory, asked for once. */
static void scratch_once(void **state) {
  (void)state;
  tn_schedule *s = tn_schedule_new(
      tn_program_parse(K.ctx, "P[i<100, j<300] = A[i,j]*2; C[i<100, j<300] = P[i,j] + P[i,299-j]", 0, NULL));
  tn_schedule_apply(s, "split(C, i, 32, tail=peel); compute_at(P, C, i.outer)");
  check_ok(K.ctx);
  char *tir = tn_schedule_print(s, TN_FORM_TIR), *text = tn_build_text(s, NULL, ".ll");
  check_ok(K.ctx);
  const char *first = strstr(tir, "allocate(P"), *call = strstr(text, "@aligned_alloc");
  assert_true(first != NULL && strstr(first + 1, "allocate(P") != NULL);
  assert_non_null(call);
  assert_null(strstr(strchr(call, '\n'), "call ptr @aligned_alloc"));
  free(tir);
  free(text);
  tn_schedule_free(s);
}

int test_build(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(named),        cmocka_unit_test(texts),
                                            cmocka_unit_test(exported),     cmocka_unit_test(for_another_target),
                                            cmocka_unit_test(refuse_names), cmocka_unit_test(refuse_forms),
                                            cmocka_unit_test(refuse_null),  cmocka_unit_test(refuse_call),
                                            cmocka_unit_test(scratch_once)};
  return CHECK_TABLE("builds", rows, build) + CHECK_TABLE("shared scratch", far_rows, chain) +
         CHECK_TESTS("build calls", tests);
}
