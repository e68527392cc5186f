/* Calls of C functions: by address, by symbol, as LLVM IR that is linked in; IR that cannot be. */
#include <dlfcn.h>

#include "tests/codegen/kit.h"

enum { ROWS = 6, COLUMNS = 10 };

/* out[i] = scale * (sum of n elements from in + i*n). */
static void row_sums(const float *in, float *out, int64_t n, float scale) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++) sum += in[i];
  *out = scale * sum;
}

static tir_operand address(tir_access access, const tir_buffer *buffer, const tir_expr *index, int64_t span) {
  return (tir_operand){.access = access, .buffer = buffer, .n_index = 1, .index = {index}, .span = {span}};
}

static tir_operand number(const tir_expr *value) { return (tir_operand){.access = TIR_BY_VALUE, .value = value}; }

/* for (i) row_sums(&A[i*COLUMNS], &C[i], COLUMNS, 2) */
static tir_func *rows(const tir_callee *callee, tir_loop_kind kind) {
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, ROWS * COLUMNS), *C = kit_out("C", TN_F32, ROWS);
  const tir_var *i = kit_var("i");
  tir_operand operands[] = {address(TIR_READS, A, kit_mul(kit_at(i), COLUMNS), COLUMNS),
                            address(TIR_WRITES, C, kit_at(i), 1), number(tir_int(&K.arena, TN_I64, COLUMNS)),
                            number(tir_float(&K.arena, TN_F32, 2))};
  return kit_func("kernel", kit_for(i, ROWS, kind, tir_call(&K.arena, callee, 4, operands)));
}

/* What the kernel must give. */
static void check_rows(const tn_kernel *kernel) {
  float a[ROWS * COLUMNS], c[ROWS] = {0};
  for (int i = 0; i < ROWS * COLUMNS; i++) a[i] = (float)(i % 7 - 3);
  assert_int_equal(kit_call(kernel, (void *[]){a, c}), 0);
  for (int i = 0; i < ROWS; i++) {
    float sum = 0;
    for (int j = 0; j < COLUMNS; j++) sum += a[i * COLUMNS + j];
    assert_true(c[i] == 2 * sum);
  }
}

static void run_rows(const tir_func *func) {
  tn_kernel *kernel = kit_compile(func, NULL);
  check_rows(kernel);
  tn_kernel_free(kernel);
}

static const tir_callee by_address = {.name = "row_sums", .function = (void (*)(void))row_sums};
static const tir_callee by_symbol = {.name = "row_sums"};

static void calls_an_address(void **state) {
  (void)state;
  run_rows(rows(&by_address, TIR_SERIAL));
  run_rows(rows(&by_address, TIR_PARALLEL));
  run_rows(rows(&by_address, TIR_UNROLLED));
}

static void calls_on_scratch(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_F32, 1), *T = kit_scratch("T", TN_F32, COLUMNS);
  const tir_var *i = kit_var("i");
  tir_operand operands[] = {address(TIR_READS, T, kit_int(0), COLUMNS), address(TIR_WRITES, C, kit_int(0), 1),
                            number(tir_int(&K.arena, TN_I64, COLUMNS)), number(tir_float(&K.arena, TN_F32, 1))};
  const tir_stmt *fill = kit_store(T, kit_at(i), tir_cast(&K.arena, TN_F32, kit_at(i)));
  const tir_stmt *both[] = {kit_for(i, COLUMNS, TIR_SERIAL, fill), tir_call(&K.arena, &by_address, 4, operands)};
  float c = 0;
  kit_run(kit_func("kernel", tir_alloc(&K.arena, T, kit_seq(2, both))), (void *[]){&c});
  assert_true(c == 45);
}

static void no_code_here(void **state) {
  (void)state;
  tir_func *f = rows(&by_symbol, TIR_SERIAL);
  codegen_bytes object;
  assert_int_equal(codegen_object(K.ctx, f, NULL, &object), TN_OK);
  assert_null(codegen_load_calling(K.ctx, object.data, object.n, "kernel", 0, NULL, f));
  check_fails(K.ctx, TN_ERROR_CODEGEN, "kernel calls row_sums, which has no code here", "link it with the function");
  free(object.data);
}

static void kernel_and_callee_of_one_name(void **state) {
  (void)state;
  static const tir_callee own = {.name = "kernel"};
  codegen_bytes object;
  assert_int_equal(codegen_object(K.ctx, rows(&own, TIR_SERIAL), NULL, &object), TN_ERROR_CODEGEN);
  check_fails(K.ctx, TN_ERROR_CODEGEN, "the kernel and a function that it calls are both named kernel", "");
}

/* ---- exported ---------------------------------------------------------------------------------------------------- */

static const char user_source[] =
    "void row_sums(const float *in, float *out, long n, float scale) {\\n"
    "  float sum = 0;\\n  for (long i = 0; i < n; i++) sum += in[i];\\n  *out = scale * sum;\\n}\\n";

/* FORM ".o" or ".c" linked with a C file that has the function. */
static void links_with_the_function(const char *form) {
  char folder[64], path[128];
  tir_func *f = rows(&by_symbol, TIR_SERIAL);
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/k%s", folder, form);
  assert_int_equal(codegen_write(K.ctx, f, NULL, path), TN_OK);
  assert_int_equal(kit_shell(NULL, "printf '%s' > %s/user.c", user_source, folder), 0);
  runtime_str says = {0};
  int status =
      kit_shell(&says, "cd %s && cc -O1 -shared -fPIC -Wall -Werror user.c k%s -o k.so -lm 2>&1", folder, form);
  if (status != 0) fail_msg("%s", says.data);
  runtime_str_free(&says);
  snprintf(path, sizeof path, "%s/k.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  tn_kernel *kernel = runtime_kernel_new(
      K.ctx, "kernel", (tn_kernel_fn)(uintptr_t)dlsym(library, "kernel"), 2,
      (runtime_kernel_arg[]){{.name = "A", .dtype = TN_F32, .ndim = 1, .shape = {ROWS * COLUMNS}},
                             {.name = "C", .dtype = TN_F32, .ndim = 1, .shape = {ROWS}, .is_output = true}},
      NULL, NULL);
  check_rows(kernel);
  tn_kernel_free(kernel);
  dlclose(library);
  kit_folder_remove(folder);
}

static void exported_object(void **state) { (void)state, links_with_the_function(".o"); }
static void exported_c(void **state) { (void)state, links_with_the_function(".c"); }

static void c_source_declares(void **state) {
  (void)state;
  char *text = kit_text(rows(&by_symbol, TIR_SERIAL), NULL, CODEGEN_C);
  check_has(text, "void row_sums(const float *, float *, int64_t, float);");
  check_has(text, "row_sums(&A[i * 10], &C[i], 10, 2.0f);");
  free(text);
}

/* ---- LLVM IR ----------------------------------------------------------------------------------------------------- */

#define SIGNATURE "(ptr %in, ptr %out, i64 %n, float %scale)"
#define LOOP                                                                                                   \
  "{\nentry:\n  br label %loop\nloop:\n  %i = phi i64 [0, %entry], [%j, %loop]\n"                              \
  "  %s = phi float [0.0, %entry], [%t, %loop]\n  %p = getelementptr float, ptr %in, i64 %i\n"                 \
  "  %v = load float, ptr %p\n  %t = fadd float %s, %v\n  %j = add i64 %i, 1\n  %more = icmp slt i64 %j, %n\n" \
  "  br i1 %more, label %loop, label %done\ndone:\n  %r = call float @times(float %t, float %scale)\n"         \
  "  store float %r, ptr %out\n  ret void\n}\n"
#define TIMES                                                               \
  "@factor = global float 1.0\ndefine float @times(float %a, float %b) {\n" \
  "  %f = load float, ptr @factor\n  %c = fmul float %a, %b\n  %d = fmul float %c, %f\n  ret float %d\n}\n"

static const char good_ir[] = TIMES "define void @row_sums" SIGNATURE LOOP;

static tir_callee linked(const char *ir) {
  return (tir_callee){.name = "row_sums", .module = ir, .module_bytes = strlen(ir)};
}

static void links_ir(void **state) {
  (void)state;
  tir_callee callee = linked(good_ir);
  run_rows(rows(&callee, TIR_SERIAL));
  run_rows(rows(&callee, TIR_PARALLEL));
}

/* The bitcode of the same text, as a kernel's own bitcode holds it: any module with the function serves. */
static void links_bitcode(void **state) {
  (void)state;
  runtime_str bitcode = {0};
  kit_bitcode(good_ir, &bitcode);
  tir_callee callee = {.name = "row_sums", .module = bitcode.data, .module_bytes = bitcode.n};
  run_rows(rows(&callee, TIR_SERIAL));
  runtime_str_free(&bitcode);
}

/* The object defines the kernel and nothing that came with the IR. */
static void what_ir_defines_is_private(void **state) {
  (void)state;
  tir_callee callee = linked(good_ir);
  char *text = kit_text(rows(&callee, TIR_SERIAL), NULL, CODEGEN_IR);
  assert_null(strstr(text, "define void @row_sums"));
  assert_null(strstr(text, "define float @times"));
  assert_null(strstr(text, "declare"));
  free(text);
}

typedef struct ir_row {
  const char *name, *ir, *says, *and;
} ir_row;

static const ir_row bad_ir[] = {
    {"no IR at all", "hello", "the LLVM IR of row_sums cannot be read", "expected top-level entity"},
    {"empty", " ", "the LLVM IR of row_sums does not define it", ""},
    {"cut off", "define void @row_sums" SIGNATURE " {\n  ret", "cannot be read", ""},
    {"broken bitcode", "BC\xC0\xDE nothing follows", "cannot be read", ""},
    {"another function", TIMES, "does not define it", ""},
    {"only a declaration", "declare void @row_sums" SIGNATURE, "does not define it", ""},
    {"another signature", "define void @row_sums(ptr %in, ptr %out) { ret void }", "defines it as: void (ptr, ptr)",
     "but it is called as void (ptr, ptr, i64, float)"},
    {"a result", "define i32 @row_sums" SIGNATURE " { ret i32 0 }", "defines it as: i32 (ptr, ptr, i64, float)", ""},
    {"another machine", "target triple = \"armv7-none-eabi\"\ndefine void @row_sums" SIGNATURE " { ret void }",
     "is for another machine: armv7-unknown-none-eabi", "not x86_64"},
    {"another layout", "target datalayout = \"E-p:32:32\"\ndefine void @row_sums" SIGNATURE " { ret void }",
     "has another data layout: \"E-p:32:32\"", "the target's is"},
    {"the kernel's name",
     "define void @kernel() { ret void }\ndefine void @row_sums" SIGNATURE " { call void @kernel() ret void }",
     "defines the kernel's own name, too: kernel", ""},
};

static void refuses_ir(void **state) {
  const ir_row *r = *state;
  tir_callee callee = linked(r->ir);
  codegen_bytes object;
  tn_status status = codegen_object(K.ctx, rows(&callee, TIR_SERIAL), NULL, &object);
  assert_int_equal(status, TN_ERROR_CODEGEN);
  check_fails(K.ctx, TN_ERROR_CODEGEN, r->says, r->and);
}

static void no_c_source_of_ir(void **state) {
  (void)state;
  tir_callee callee = linked(good_ir);
  codegen_bytes bytes;
  assert_int_not_equal(codegen_bytes_of(K.ctx, rows(&callee, TIR_SERIAL), NULL, CODEGEN_C, &bytes), TN_OK);
  check_fails(K.ctx, TN_ERROR_CODEGEN, "row_sums comes as LLVM IR, which C source cannot hold", "write an object (.o)");
}

int test_calls(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_an_address),  cmocka_unit_test(calls_on_scratch),
      cmocka_unit_test(no_code_here),      cmocka_unit_test(kernel_and_callee_of_one_name),
      cmocka_unit_test(exported_object),   cmocka_unit_test(exported_c),
      cmocka_unit_test(c_source_declares), cmocka_unit_test(links_ir),
      cmocka_unit_test(links_bitcode),     cmocka_unit_test(what_ir_defines_is_private),
      cmocka_unit_test(no_c_source_of_ir)};
  return cmocka_run_group_tests_name("codegen calls", tests, NULL, NULL) +
         CHECK_TABLE("codegen refused IR", bad_ir, refuses_ir);
}
