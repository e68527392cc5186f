/* Declared intrinsics: a matrix-vector product in plain C, as body, reset and update, run and exported; patterns and
 * functions that are refused; steps that name what is not declared. */
#include "tests/codegen/kit.h"

enum { ROWS = 16, DEPTH = 8 };

#define GEMV "c[m<16] = sum[l<8](a[l] * b[m,l])"

/* ---- the functions ----------------------------------------------------------------------------------------------- */

static int n_calls[3];

static void gemv_update(float *c, const float *a, const float *b, int64_t cm, int64_t al, int64_t bm, int64_t bl) {
  n_calls[2]++;
  for (int m = 0; m < ROWS; m++)
    for (int l = 0; l < DEPTH; l++) c[m * cm] += a[l * al] * b[m * bm + l * bl];
}

static void gemv_reset(float *c, int64_t cm) {
  n_calls[1]++;
  for (int m = 0; m < ROWS; m++) c[m * cm] = 0;
}

static void gemv_body(float *c, const float *a, const float *b, int64_t cm, int64_t al, int64_t bm, int64_t bl) {
  n_calls[0]++;
  for (int m = 0; m < ROWS; m++) c[m * cm] = 0;
  for (int m = 0; m < ROWS; m++)
    for (int l = 0; l < DEPTH; l++) c[m * cm] += a[l * al] * b[m * bm + l * bl];
}

static void doubled(int32_t *c, const int32_t *a, int64_t ci, int64_t ai) {
  for (int i = 0; i < 8; i++) c[i * ci] = 2 * a[i * ai];
}

#define FUNCTION(f) {#f, (void (*)(void))f}

static const tn_intrin_functions all_three = {FUNCTION(gemv_body), FUNCTION(gemv_reset), FUNCTION(gemv_update)};
static const tn_intrin_functions update_only = {.update = FUNCTION(gemv_update)};

static void declare(void) {
  static bool done;
  if (done) return;
  done = true;
  tn_intrin_new(K.ctx, "gemv", GEMV, &all_three);
  tn_intrin_new(K.ctx, "gemv_add", GEMV, &update_only);
  tn_intrin_new(K.ctx, "gemv_linked", GEMV, &(tn_intrin_functions){.update = {.name = "gemv_linked"}});
  tn_intrin_new(K.ctx, "double8", "input a: i32[8]; c[i<8] = a[i] * 2",
                &(tn_intrin_functions){.body = FUNCTION(doubled)});
  check_ok(K.ctx);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct call_row {
  const char *name, *program, *schedule;
  int body, reset, update; /* calls */
} call_row;

#define MM(depth) "C[i<4, j<32] = sum[k<" depth "](A[i,k] * B[j,k])"
#define LOOPS "split(C, j, 16); split(C, k, 8); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "

static const call_row call_rows[] = {
    {"the whole reduction inside: body", MM("8"), "split(C, j, 16); tensorize(C, j.inner, gemv)", 8, 0, 0},
    {"a reduction loop outside: reset and update", MM("24"), LOOPS "tensorize(C, j.inner, gemv)", 0, 8, 24},
    {"no reset: loops for the init", MM("24"), LOOPS "tensorize(C, j.inner, gemv_add)", 0, 0, 24},
    {"no body: loops and update", MM("8"), "split(C, j, 16); tensorize(C, j.inner, gemv_add)", 0, 0, 8},
    {"a transposed operand and a strided result", "C[i<32, j<4] = sum[k<8](A[k,j] * B[k,i])",
     "split(C, i, 16); reorder(C, i.outer, j, i.inner, k); tensorize(C, i.inner, gemv)", 8, 0, 0},
    {"a rest that is peeled", "C[i<4, j<21] = sum[k<19](A[i,k] * B[j,k])",
     "split(C, j, 16, tail=peel); split(C, k, 8, tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, gemv)",
     0, 4, 8},
    {"an init of its own: loops for it", "C[i<4, j<32] = sum[k<8 init = D[j]](A[i,k] * B[j,k])",
     "split(C, j, 16); tensorize(C, j.inner, gemv)", 0, 0, 8},
    {"no reduction", "input A: i32[4,32]; C[i<4, j<32] = A[i,j] * 2", "split(C, j, 8); tensorize(C, j.inner, double8)",
     0, 0, 0},
    {"a symbolic number of rows", "symbol M; C[i<M, j<32] = sum[k<8](A[i,k] * B[j,k])",
     "split(C, j, 16); tensorize(C, j.inner, gemv)", 48, 0, 0},
    {"rows of symbolic length", "symbol K; C[i<4, j<32] = sum[k<K](A[i,k] * B[j,k])",
     "split(C, j, 16); split(C, k, 8, tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "
     "tensorize(C, j.inner, gemv)",
     0, 8, 24},
    {"a transposed operand and results in rows of symbolic length",
     "symbol N; C[i<32, j<N] = sum[k<8](A[k,j] * B[k,i])",
     "split(C, i, 16); reorder(C, i.outer, j, i.inner, k); tensorize(C, i.inner, gemv)", 48, 0, 0},
    {"strides of a call", "input A: f32[4,8] strided, B: f32[32,8] strided; C[i<4, j<32] = sum[k<8](A[i,k] * B[j,k])",
     "split(C, j, 16); tensorize(C, j.inner, gemv)", 8, 0, 0},
    {"in parallel, of a stage inside", "T[i<4, j<32] = sum[k<24](A[i,k] * B[j,k])\nC[i<4, j<32] = T[i,j] + 1",
     "split(T, j, 16); split(T, k, 8); reorder(T, i, j.outer, k.outer, j.inner, k.inner); tensorize(T, j.inner, gemv); "
     "compute_at(T, C, i)",
     0, 8, 24},
};

/* What symbols decide is 24. */
static DLTensor *make_array(const tn_program *p, const tn_tensor *t, uint64_t seed) {
  int64_t shape[TN_MAX_RANK];
  for (int d = 0; d < t->ndim; d++)
    shape[d] = t->size[d] ? te_size_value(p, t->size[d], (int64_t[]){24, 24}) : t->shape[d];
  DLTensor *array = tn_array_new(K.ctx, t->dtype, t->ndim, shape);
  tn_array_fill(K.ctx, array, seed);
  return array;
}

static void runs(void **state) {
  const call_row *r = *state;
  declare();
  tn_program *p = tn_program_parse(K.ctx, r->program, 0, NULL);
  tn_schedule *s = tn_schedule_new(p);
  tn_schedule_apply(s, r->schedule);
  check_ok(K.ctx);
  DLTensor *got[4], *wanted[4];
  int n = tn_program_arg_count(p);
  for (int i = 0; i < n; i++) {
    got[i] = make_array(p, tn_program_arg(p, i), 3 + (uint64_t)i);
    wanted[i] = make_array(p, tn_program_arg(p, i), 3 + (uint64_t)i);
  }
  tn_kernel *k = tn_build(s, NULL);
  check_ok(K.ctx);
  memset(n_calls, 0, sizeof n_calls);
  tn_call(K.ctx, k, got, n);
  assert_int_equal(n_calls[0], r->body);
  assert_int_equal(n_calls[1], r->reset);
  assert_int_equal(n_calls[2], r->update);
  tn_evaluate(p, wanted, n);
  check_ok(K.ctx);
  bool is_float = tn_tensor_dtype(tn_program_arg(p, n - 1)) == TN_F32;
  if (!is_float) assert_memory_equal(got[n - 1]->data, wanted[n - 1]->data, tn_array_bytes(got[n - 1]));
  for (size_t i = 0; is_float && i < tn_array_bytes(got[n - 1]) / 4; i++) {
    float x = ((float *)got[n - 1]->data)[i], y = ((float *)wanted[n - 1]->data)[i];
    assert_true(x - y <= 1e-4f && y - x <= 1e-4f);
  }
  tn_kernel_free(k);
  for (int i = 0; i < n; i++) tn_array_free(got[i]), tn_array_free(wanted[i]);
  tn_schedule_free(s);
}

/* ---- exported, recorded ------------------------------------------------------------------------------------------ */

static tn_schedule *scheduled(const char *program, const char *schedule) {
  declare();
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s, schedule);
  check_ok(K.ctx);
  return s;
}

static void exported(void **state) {
  (void)state;
  tn_schedule *s = scheduled(MM("24"), LOOPS "tensorize(C, j.inner, gemv_linked)");
  char *source = tn_build_text(s, NULL, ".c"), *assembly = tn_build_text(s, NULL, ".s");
  check_ok(K.ctx);
  check_has(source, "gemv_linked(");
  check_has(assembly, "gemv_linked");
  free(source);
  free(assembly);
  assert_null(tn_build(s, NULL));
  check_fails(K.ctx, TN_ERROR_CODEGEN, "calls gemv_linked, which has no code here", "");
  tn_schedule_free(s);
}

static void recorded(void **state) {
  (void)state;
  tn_schedule *s = scheduled(MM("24"), LOOPS "tensorize(C, j.inner, gemv)");
  char *steps = tn_schedule_print(s, TN_FORM_STEPS), *text = tn_schedule_print(s, TN_FORM_TEXT);
  check_has(steps, "[\"TZ\",2,3,\"gemv: ");
  check_has(steps, "c[m<16] = sum[l<8](a[l]*b[m, l])\"]");
  check_has(text, "tensorize(C, j.inner, gemv)");
  tn_schedule *again = tn_schedule_new(tn_schedule_program(s));
  tn_schedule_replay(again, steps);
  check_ok(K.ctx);
  char *other = strdup(steps), *at = strstr(other, "l<8");
  memcpy(at, "l<9", 3);
  assert_int_not_equal(tn_schedule_replay(again = tn_schedule_new(tn_schedule_program(s)), other), TN_OK);
  check_fails(K.ctx, TN_ERROR_SCHEDULE, "the step was recorded with another intrinsic, gemv: ", "declare that one");
  char *unknown = strdup(steps);
  memcpy(strstr(unknown, "gemv"), "xemv", 4);
  assert_int_not_equal(tn_schedule_replay(again = tn_schedule_new(tn_schedule_program(s)), unknown), TN_OK);
  check_fails(K.ctx, TN_ERROR_SCHEDULE, "no intrinsic is called \"xemv\"", "take one of dot4_u8i8");
  free(steps), free(text), free(other), free(unknown);
  tn_schedule_free(s);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void wrong_update(float *c, const float *a, const float *b, int64_t cm, int64_t al, int64_t bm, int64_t bl) {
  gemv_body(c, a, b, cm, al, bm, bl); /* overwrites */
}
static void wrong_body(float *c, const float *a, const float *b, int64_t cm, int64_t al, int64_t bm, int64_t bl) {
  gemv_update(c, a, b, cm, al, bm, bl); /* adds to what is there */
}
static void wrong_strides(float *c, const float *a, const float *b, int64_t cm, int64_t al, int64_t bm, int64_t bl) {
  (void)bm;
  gemv_update(c, a, b, cm, al, DEPTH, bl);
}

typedef struct refused_row {
  const char *name, *intrin, *pattern;
  tn_intrin_functions functions;
  tn_status status;
  const char *message;
} refused_row;

static const refused_row refused_rows[] = {
    {"an update that overwrites",
     "g",
     GEMV,
     {.update = FUNCTION(wrong_update)},
     TN_ERROR_ARGUMENT,
     "intrinsic g: its update, wrong_update, does not do what the pattern says"},
    {"a body that adds",
     "g",
     GEMV,
     {.body = FUNCTION(wrong_body), .update = FUNCTION(gemv_update)},
     TN_ERROR_ARGUMENT,
     "intrinsic g: its body, wrong_body, does not do what the pattern says"},
    {"a stride that is not looked at",
     "g",
     GEMV,
     {.update = FUNCTION(wrong_strides)},
     TN_ERROR_ARGUMENT,
     "intrinsic g: its update, wrong_strides, does not do what the pattern says"},
    {"no update",
     "g",
     GEMV,
     {.body = FUNCTION(gemv_body)},
     TN_ERROR_ARGUMENT,
     "intrinsic g: a reduction needs an update"},
    {"an update of no reduction",
     "g",
     "c[i<8] = a[i] * 2",
     {.body = FUNCTION(gemv_body), .update = FUNCTION(gemv_update)},
     TN_ERROR_ARGUMENT,
     "intrinsic g: what is no reduction has a body only"},
    {"no name",
     "2g",
     GEMV,
     {.update = FUNCTION(gemv_update)},
     TN_ERROR_ARGUMENT,
     "intrinsic \"2g\": the name has to be an identifier"},
    {"a built-in's name",
     "dot4_u8i8",
     GEMV,
     {.update = FUNCTION(gemv_update)},
     TN_ERROR_ARGUMENT,
     "intrinsic dot4_u8i8: there is one of this name: take another"},
    {"a function without a name",
     "g",
     GEMV,
     {.update = {NULL, (void (*)(void))gemv_update}},
     TN_ERROR_ARGUMENT,
     "intrinsic g: a function has an address but no name"},
    {"two stages",
     "g",
     "d[i<8] = a[i] * 2; c[i<8] = d[i] + 1",
     {.body = FUNCTION(gemv_body)},
     TN_ERROR_SCHEDULE,
     "intrinsic g: it has to compute one tensor"},
    {"an index that is no axis",
     "g",
     "c[i<8] = a[i*2]",
     {.body = FUNCTION(gemv_body)},
     TN_ERROR_SCHEDULE,
     "intrinsic g: it reads an input at more than plain axes, or in two ways"},
    {"an input read in two ways",
     "g",
     "c[i<8, j<8] = a[i,j] + a[j,i]",
     {.body = FUNCTION(gemv_body)},
     TN_ERROR_SCHEDULE,
     "intrinsic g: it reads an input at more than plain axes, or in two ways"},
    {"no program", "g", "c[i<8] = ", {.body = FUNCTION(gemv_body)}, TN_ERROR_PARSE, "expected"},
};

static void refused(void **state) {
  const refused_row *r = *state;
  declare();
  assert_int_equal(tn_intrin_new(K.ctx, r->intrin, r->pattern, &r->functions), r->status);
  check_fails(K.ctx, r->status, r->message, "");
}

/* What symbols decide may go backwards, too. */
static void backwards_by_symbols(void **state) {
  (void)state;
  declare();
  tn_schedule *s = tn_schedule_new(
      tn_program_parse(K.ctx, "symbol M; C[i<4, j<16, m<M] = sum[k<8](A[i,k] * B[m, 15 - j, k, m])", 0, NULL));
  tn_schedule_apply(s, "reorder(C, i, m, j, k)");
  check_ok(K.ctx);
  assert_int_equal(tn_tensorize(s, "C", "j", "gemv"), TN_ERROR_SCHEDULE);
  check_fails(K.ctx, TN_ERROR_SCHEDULE, "a stride is negative, and a C function gets the lowest address", "");
  tn_schedule_free(s);
}

static void backwards(void **state) {
  (void)state;
  declare();
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, "C[i<4, j<16] = sum[k<8](A[i,k] * B[15 - j,k])", 0, NULL));
  assert_int_equal(tn_tensorize(s, "C", "j", "gemv"), TN_ERROR_SCHEDULE);
  check_fails(K.ctx, TN_ERROR_SCHEDULE, "a stride is negative, and a C function gets the lowest address", "");
  tn_schedule_free(s);
}

int test_intrinsics(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(exported), cmocka_unit_test(recorded),
                                            cmocka_unit_test(backwards), cmocka_unit_test(backwards_by_symbols)};
  return CHECK_TABLE("declared intrinsics", call_rows, runs) +
         CHECK_TABLE("intrinsics refused", refused_rows, refused) + CHECK_TESTS("declared intrinsics, the rest", tests);
}
