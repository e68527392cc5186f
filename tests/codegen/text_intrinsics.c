/* Intrinsics that a program's text declares: code for them from a file, what their functions need of operands, schedules
 * that a program carries, and calls of C functions whose arguments are mixed. */
#include "tests/codegen/kit.h"

enum { LANES = 8, BLOCKS = 3 };

/* c = FACTOR * a, eight numbers in a row each: strides are not looked at. */
#define TWICE(factor)                                                                                \
  "define void @twice(ptr %c, ptr %a, i64 %cs, i64 %as) {\n  %v = load <8 x i32>, ptr %a, align 4\n" \
  "  %f = insertelement <8 x i32> undef, i32 " factor                                                \
  ", i32 0\n"                                                                                        \
  "  %g = shufflevector <8 x i32> %f, <8 x i32> undef, <8 x i32> zeroinitializer\n"                  \
  "  %w = mul <8 x i32> %v, %g\n  store <8 x i32> %w, ptr %c, align 4\n  ret void\n}\n"

#define DECLARATION "intrin twice { input a: i32[8]; c[i<8] = a[i] * 2 } body twice, strides a [1], strides c [1]\n"
#define PROGRAM "input A: i32[24]; C[i<24] = A[i] * 2\n"
#define SCHEDULE "schedule {\n  split(C, i, 8)\n  tensorize(C, i.inner, twice)\n}\n"

/* A folder with program.te and twice.ll; the program is parsed in it. */
static tn_program *parse_in(tn_context *ctx, const char *folder, const char *text) {
  char path[128];
  kit_write(folder, "program.te", text);
  snprintf(path, sizeof path, "%s/program.te", folder);
  return tn_program_parse_file(ctx, path, 0, NULL);
}

static DLTensor array(int32_t *data, int64_t *n) {
  return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = tn_dtype_dlpack(TN_I32), .shape = n};
}

/* The whole way: file, declaration, link, the program's own schedule, code that runs. */
static void linked_from_text(void **state) {
  (void)state;
  char folder[64];
  tn_context *ctx = check_context();
  kit_folder(folder);
  kit_write(folder, "twice.ll", TWICE("2"));
  tn_program *p = parse_in(ctx, folder, "link \"twice.ll\"\n" DECLARATION PROGRAM SCHEDULE);
  assert_int_equal(tn_program_link_files(p, 0, NULL), TN_OK);
  tn_schedule *s = tn_schedule_new(p);
  assert_int_equal(tn_schedule_apply_own(s), TN_OK);
  check_ok(ctx);
  char *lowered = tn_schedule_print(s, TN_FORM_TIR);
  check_has(lowered, "call twice(writes(C[i.outer*8], [8]), reads(A[i.outer*8], [8]), 1i64, 1i64)");
  free(lowered);
  int32_t a[LANES * BLOCKS], c[LANES * BLOCKS] = {0};
  int64_t n[] = {LANES * BLOCKS};
  for (int i = 0; i < LANES * BLOCKS; i++) a[i] = i * 5 - 40;
  DLTensor in = array(a, n), out = array(c, n);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(ctx);
  assert_int_equal(tn_call(ctx, kernel, (DLTensor *[]){&in, &out}, 2), TN_OK);
  for (int i = 0; i < LANES * BLOCKS; i++) assert_int_equal(c[i], 2 * a[i]);
  tn_kernel_free(kernel);
  /* the same file again in this context: another program, with an intrinsic and IR of its own */
  tn_program *again = parse_in(ctx, folder, "link \"twice.ll\"\n" DECLARATION PROGRAM);
  assert_int_equal(tn_program_link_files(again, 0, NULL), TN_OK);
  check_ok(ctx);
  kit_folder_remove(folder);
  check_context_free(ctx);
}

/* What a file defines is tried before it is used. */
static const struct link_row {
  const char *name, *ir;
  tn_status status;
  const char *message;
} link_rows[] = {
    {"computes something else", TWICE("3"), TN_ERROR_ARGUMENT, "intrinsic twice: its body, twice, does not do what"},
    {"another type", "define void @twice(ptr %c, ptr %a, i64 %cs) {\n  ret void\n}\n", TN_ERROR_CODEGEN,
     "twice.ll: twice: it defines it as: void (ptr, ptr, i64), but it is called as void (ptr, ptr, i64, i64)"},
    {"another function", "define void @thrice() {\n  ret void\n}\n", TN_ERROR_ARGUMENT,
     "twice.ll defines no function that the program calls: the program calls twice; the file defines thrice"},
    {"no IR", "int twice;", TN_ERROR_CODEGEN, "twice.ll cannot be read"},
};

static void refused_link(void **state) {
  const struct link_row *row = *state;
  char folder[64];
  tn_context *ctx = check_context();
  kit_folder(folder);
  kit_write(folder, "twice.ll", row->ir);
  tn_program *p = parse_in(ctx, folder, "link \"twice.ll\"\n" DECLARATION PROGRAM);
  check_ok(ctx);
  assert_int_equal(tn_program_link_files(p, 0, NULL), row->status);
  check_fails(ctx, row->status, row->message);
  kit_folder_remove(folder);
  check_context_free(ctx);
}

/* ---- what functions need ----------------------------------------------------------------------------------------- */

#define COPY "P[i<24] = A[i] + 1; C[i<24] = P[i] * 2\n"
#define ALIGNED "intrin f { input a: i32[8]; c[i<8] = a[i] * 2 } body f, align a 32\n"
#define STRIDED "intrin f { input a: i32[8]; c[i<8] = a[i] * 2 } body f, strides a [3]\n"
#define UPDATE "intrin f { c[m<4] = sum[l<8](a[l] * b[m,l]) } body f, update g, reset r, strides b [*, 1], align c 16\n"
#define MM "C[i<6, j<4] = sum[k<16](A[i,k] * B[j,k])\n"

static const struct need_row {
  const char *name, *text, *schedule, *message; /* NULL: it is legal */
} needs[] = {
    {"an argument is not aligned", ALIGNED "input A: i32[24]; C[i<24] = A[i] * 2",
     "split(C, i, 8); tensorize(C, i.inner, f)", "a has to be at a multiple of 32 bytes, and A is an argument"},
    {"what is computed is", ALIGNED "input A: i32[24]\n" COPY, "split(C, i, 8); tensorize(C, i.inner, f)", NULL},
    {"a copy of an argument is", ALIGNED "input A: i32[24]; C[i<24] = A[i] * 2",
     "cache_read(A, global, C); split(C, i, 8); tensorize(C, i.inner, f)", NULL},
    {"but not from its second element on",
     ALIGNED "input A: i32[25]; P[i<25] = A[i] + 1; C[i<24] = P[i + 1] * 2; D = P[0]",
     "split(C, i, 8); tensorize(C, i.inner, f)",
     "a has to be at a multiple of 32 bytes, and the block's place in P is not"},
    {"nor in rows of twelve",
     ALIGNED "input A: i32[4, 12]; P[i<4, j<12] = A[i,j] + 1; C[i<4, j<8] = P[i,j] * 2; D[i<4] = P[i,11]",
     "tensorize(C, j, f)", "split by a multiple of 8"},
    {"of a word's bytes everything is", "intrin f { input a: i32[8]; c[i<8] = a[i] * 2 } body f, align a 4\n" PROGRAM,
     "split(C, i, 8); tensorize(C, i.inner, f)", NULL},
    {"another stride", STRIDED "input A: i32[24]; C[i<24] = A[i] * 2", "split(C, i, 8); tensorize(C, i.inner, f)",
     "dimension 0 of a has to have a stride of 3 elements, and A has another there"},
    {"that stride", STRIDED "input A: i32[24]; C[i<8] = A[i*3 + 2] * 2", "tensorize(C, i, f)", NULL},
    {"the output of a reduction", UPDATE MM, "tensorize(C, j, f)", "the pattern's axes are"},
    {"its output is an argument", UPDATE MM, "split(C, k, 8); reorder(C, i, k.outer, j, k.inner); tensorize(C, j, f)",
     "c has to be at a multiple of 16 bytes, and C is an argument"},
    {"its output is computed", UPDATE MM,
     "cache_write(C, local); split(C.local, k, 8); reorder(C.local, i.c, k.outer, j.c, k.inner); tensorize(C.local, "
     "j.c, f)",
     NULL},
    {"rows the other way", UPDATE "C[i<6, j<4] = sum[k<16](A[i,k] * B[k,j])\n",
     "cache_write(C, local); split(C.local, k, 8); reorder(C.local, i.c, k.outer, j.c, k.inner); tensorize(C.local, "
     "j.c, f)",
     "dimension 1 of b has to have a stride of 1 elements, and B has another there"},
};

static void needs_of_functions(void **state) {
  const struct need_row *row = *state;
  tn_context *ctx = check_context();
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, row->text, 0, NULL));
  check_ok(ctx);
  tn_status status = tn_schedule_apply(s, row->schedule);
  if (row->message) {
    assert_int_equal(status, TN_ERROR_SCHEDULE);
    check_fails(ctx, TN_ERROR_SCHEDULE, row->message);
  } else {
    check_ok(ctx);
    char *lowered = tn_schedule_print(s, TN_FORM_TIR);
    check_has(lowered, "call "); /* of f, or of what updates */
    free(lowered);
  }
  check_context_free(ctx);
}

/* ---- declarations in C ------------------------------------------------------------------------------------------- */

static void twice_apart(int32_t *c, const int32_t *a, int64_t cs, int64_t as) {
  (void)cs;
  for (int i = 0; i < LANES; i++) c[i] = 2 * a[as == 3 ? 3 * i : 3 * i % LANES];
}

/* A function that takes one stride only is no function of the pattern, unless the stride is asked for. */
static void declared_in_c(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  static const char pattern[] = "input a: i32[8]; c[i<8] = a[i] * 2";
  const tn_intrin_functions f = {.body = {"twice_apart", (void (*)(void))twice_apart}};
  const tn_intrin_operand apart = {.name = "a", .align = 64, .n_strides = 1, .strides = (int64_t[]){3}};
  const tn_intrin_operand folded = {.name = "b", .n_strides = 2, .strides = (int64_t[]){1, 1}};
  assert_int_equal(tn_intrin_new(ctx, "f", pattern, &f), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "its body, twice_apart, does not do what the pattern says");
  assert_int_equal(tn_intrin_declare(ctx, "f", pattern, &f, 1, &apart), TN_OK);
  check_ok(ctx);
  assert_int_equal(tn_intrin_declare(ctx, "f", pattern, &f, 1, &apart), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "intrinsic f: there is one of this name: take another");
  assert_int_equal(tn_intrin_declare(ctx, "g", pattern, &f, 1, NULL), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "operands");
  assert_int_equal(
      tn_intrin_declare(ctx, "g", "c[i<2, j<2] = b[i,j]", &(tn_intrin_functions){.body = {.name = "g"}}, 1, &folded),
      TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "intrinsic g: by the strides of 'b' two of its elements share memory");
  assert_null(tn_program_parse(ctx, "intrin g { c[i<4] = a[i] } body g, strides a [9223372036854775807]", 0, NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT,
              "intrinsic g: 'a' spans more than 1048576 elements: an intrinsic is a small block");
  assert_null(tn_program_parse(ctx, "intrin g { c[i<9999, j<9999] = a[i,j] } body g", 0, NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT, "intrinsic g: 'a' spans more than 1048576 elements");
  assert_null(tn_program_parse(ctx, "intrin f { input a: i32[8]; c[i<8] = a[i] } body f\nC[i<4] = A[i]", 0, NULL));
  check_fails(ctx, TN_ERROR_PARSE, "line 1, column 8", "intrinsic f: there is another one of this name");
  check_context_free(ctx);
}

/* Intrinsics of two programs that have one name and nothing else in common. */
static void of_one_name(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  static const char once[] =
      "intrin f { input a: i32[8]; c[i<8] = a[i] * 2 } body f\ninput A: i32[8]; C[i<8] = A[i] * 2";
  static const char more[] =
      "intrin f { input a: i32[4]; c[i<4] = a[i] + 1 } body g\ninput A: i32[4]; C[i<4] = A[i] + 1";
  tn_program *p = tn_program_parse(ctx, once, 0, NULL), *q = tn_program_parse(ctx, more, 0, NULL);
  tn_program *again = tn_program_parse(ctx, once, 0, NULL);
  check_ok(ctx);
  tn_schedule *s = tn_schedule_new(p), *t = tn_schedule_new(q), *u = tn_schedule_new(again);
  assert_int_equal(tn_schedule_apply(s, "tensorize(C, i, f)"), TN_OK);
  assert_int_equal(tn_schedule_apply(t, "tensorize(C, i, f)"), TN_OK);
  char *first = tn_schedule_print(s, TN_FORM_STEPS), *second = tn_schedule_print(t, TN_FORM_STEPS);
  assert_non_null(strstr(first, "a[i]*2"));
  assert_non_null(strstr(second, "a[i] + 1"));
  assert_int_equal(tn_schedule_replay(u, first), TN_OK);
  assert_int_not_equal(tn_schedule_replay(tn_schedule_new(q), first), TN_OK);
  check_fails(ctx, tn_context_status(ctx), "f", "a[i]*2");
  free(first);
  free(second);
  tn_schedule_free(s);
  tn_schedule_free(t);
  tn_schedule_free(u);
  check_context_free(ctx);
}

/* A program without the statement has no such intrinsic, and neither has one whose text was refused. */
static void of_no_other_program(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  static const char declares[] =
      "intrin f { input a: i32[8]; c[i<8] = a[i] * 2 } body f\ninput A: i32[8]; C[i<8] = A[i] * 2";
  assert_null(tn_program_parse(ctx, "intrin f { c[i<4] = a[i] } body f\nC[i<4] = ", 0, NULL));
  tn_context_clear(ctx);
  assert_non_null(tn_program_parse(ctx, declares, 0, NULL));
  tn_program *plain = tn_program_parse(ctx, "input A: i32[8]; C[i<8] = A[i] * 2", 0, NULL);
  tn_schedule *s = tn_schedule_new(plain);
  assert_int_not_equal(tn_schedule_apply(s, "tensorize(C, i, f)"), TN_OK);
  check_fails(ctx, tn_context_status(ctx), "no intrinsic is called \"f\"", "dot4_u8i8");
  tn_schedule_free(s);
  check_context_free(ctx);
}

/* ---- schedules of programs --------------------------------------------------------------------------------------- */

static const struct own_row {
  const char *name, *text, *schedule; /* NULL: refused */
  const char *message;
} own_rows[] = {
    {"none", "C[i<8] = A[i]", "", NULL},
    {"one", "C[i<8] = A[i]; schedule { vectorize(C, i) }", "vectorize(C, i)", NULL},
    {"two, in order", "schedule { split(C, i, 4) }\nC[i<8] = A[i]\nschedule {\n# lanes\nvectorize(C, i.inner) }",
     "split(C, i, 4); vectorize(C, i.inner)", NULL},
    {"the second is refused", "schedule { split(C, i, 4) }\nC[i<8] = A[i]; schedule { unroll(C, j) }", NULL,
     "unroll(C, j): axis \"j\" is not part of stage C"},
    {"a broken one", "C[i<8] = A[i]\n  schedule {\n    split(C i) }", NULL,
     "schedule block, line 3, column 13: expected ',' or ')'"},
};

static void own_schedules(void **state) {
  const struct own_row *row = *state;
  tn_context *ctx = check_context();
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, row->text, 0, NULL));
  check_ok(ctx);
  tn_status status = tn_schedule_apply_own(s);
  assert_int_equal(status == TN_OK, row->schedule != NULL);
  if (!row->schedule) check_has(tn_context_message(ctx), row->message);
  tn_context_clear(ctx);
  char *text = tn_schedule_print(s, TN_FORM_TEXT);
  check_has(text, row->schedule ? row->schedule : ""); /* refused: no step of the first block is left */
  if (!row->schedule) check_has_not(text, "split");
  free(text);
  assert_int_equal(tn_schedule_apply_own(NULL), TN_ERROR_ARGUMENT);
  check_context_free(ctx);
}

/* ---- mixed arguments --------------------------------------------------------------------------------------------- */

static void axpy(int32_t n, float *y, const float *x, double factor, int64_t shift, float offset) {
  for (int i = 0; i < n; i++) y[i] = (float)factor * x[i] + (float)shift + offset;
}

/* The same by calls from C and from text, in a kernel and by the evaluator. */
static void mixed_arguments(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_tensor *x = tn_placeholder(ctx, "x", TN_F32, LANES);
  tn_callee *callee = tn_callee_function(ctx, "axpy", (void (*)(void))axpy);
  tn_tensor *y = tn_extern(ctx, callee, TN_RESULT("y", TN_F32, LANES), LANES, tn_arg_result(0), x,
                           tn_const(ctx, TN_F64, 0.5), INT64_C(1) << 33, 0.25);
  tn_program *p = tn_program_new(ctx, x, y);
  check_ok(ctx);
  check_text(tn_program_text(p), "input x: f32[8]\nextern y: f32[8] = axpy(8, y, x, f64(0.5), 8589934592, 0.25)\n");
  tn_program *parsed = tn_program_parse(ctx, tn_program_text(p), 0, NULL);
  assert_int_equal(tn_program_bind(parsed, "axpy", (void (*)(void))axpy), TN_OK);
  float in[LANES], out[LANES], wanted[LANES];
  int64_t n[] = {LANES};
  for (int i = 0; i < LANES; i++) in[i] = (float)(i - 3);
  axpy(LANES, wanted, in, 0.5, INT64_C(1) << 33, 0.25f);
  DLTensor a = {.data = in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = tn_dtype_dlpack(TN_F32), .shape = n}, b = a;
  b.data = out;
  for (int i = 0; i < 2; i++) {
    tn_kernel *kernel = tn_build(tn_schedule_new(i ? parsed : p), NULL);
    check_ok(ctx);
    memset(out, 0, sizeof out);
    assert_int_equal(tn_call(ctx, kernel, (DLTensor *[]){&a, &b}, 2), TN_OK);
    assert_memory_equal(out, wanted, sizeof out);
    memset(out, 0, sizeof out);
    assert_int_equal(tn_evaluate(i ? parsed : p, (DLTensor *[]){&a, &b}, 2), TN_OK);
    assert_memory_equal(out, wanted, sizeof out);
    tn_kernel_free(kernel);
  }
  check_context_free(ctx);
}

static void mixed_arguments_refused(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_tensor *x = tn_placeholder(ctx, "x", TN_F32, LANES);
  tn_callee *f = tn_callee_symbol(ctx, "f");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), x, tn_arg_result(1)));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_extern: f has results 0 to 0, and argument 2 is result 1");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), tn_arg_result(0), x, tn_arg_result(0)));
  check_fails(ctx, TN_ERROR_PROGRAM, "f is given result 'y' 2 times");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), tn_const(ctx, TN_I8, 3)));
  check_fails(ctx, TN_ERROR_PROGRAM, "f: input 1 is a number of i8", "write i32(3)");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), tn_const(ctx, TN_F16, 0.5)));
  check_fails(ctx, TN_ERROR_PROGRAM, "f: input 1 is a number of f16", "write f32(0.5)");
  assert_null(tn_extern(ctx, f, TN_RESULT("y", TN_F32, 4), tn_at(x, 0)));
  check_fails(ctx, TN_ERROR_ARGUMENT, "input 1 of f is no tensor, result or constant number");
  assert_null(tn_at(x, tn_arg_result(0)));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_arg_result names a place of tn_extern's call");
  check_context_free(ctx);
}

int test_text_intrinsics(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(linked_from_text), cmocka_unit_test(declared_in_c),
      cmocka_unit_test(of_one_name),      cmocka_unit_test(of_no_other_program),
      cmocka_unit_test(mixed_arguments),  cmocka_unit_test(mixed_arguments_refused)};
  return CHECK_TABLE("intrinsics' code refused", link_rows, refused_link) +
         CHECK_TABLE("what intrinsics need", needs, needs_of_functions) +
         CHECK_TABLE("schedules of programs", own_rows, own_schedules) + CHECK_TESTS("intrinsics in text", tests);
}
