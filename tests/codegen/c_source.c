/* C source: what it looks like, names, and that it needs no more than it says; everything that runs, through C. */
#include <locale.h>
#include <math.h>

#include "tests/codegen/kit.h"

#define WARNINGS "-std=c17 -Wall -Wextra -Werror"

/* ---- everything that runs, through C ----------------------------------------------------------------------------- */

static bool has_compiler(const char *name) { return kit_shell(NULL, "%s --version > /dev/null 2>&1", name) == 0; }

int test_through_c(const char *command) {
  int failed = 0;
  K.c_compiler = command ? command : "cc " WARNINGS " -O1 -fopenmp";
  failed += test_memory_run() + test_dots_run() + test_loops_run() + test_ops_run();
  K.c_compiler = "clang-19 " WARNINGS " -O1"; /* without OpenMP: serial, and no warning of its pragmas */
  if (!command && has_compiler("clang-19")) failed += test_memory_run() + test_dots_run() + test_loops_run();
  K.c_compiler = NULL;
  return failed;
}

/* ---- what it looks like ------------------------------------------------------------------------------------------ */

static const char x86_64[] = "triple=x86_64-linux-gnu cpu=haswell threads=2";

static char *text_of(const char *program, const char *schedule, const char *target) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s, schedule);
  check_ok(K.ctx);
  tn_build_options options = {.target = tn_target_new(K.ctx, target)};
  char *text = tn_build_text(s, &options, ".c");
  check_ok(K.ctx);
  tn_schedule_free(s);
  return text;
}

typedef struct look_row {
  const char *name, *program, *schedule;
  const char *has[3], *has_not;
} look_row;

#define MATMUL "C[i<64, j<96] = sum[k<48](A[i,k] * B[k,j])"

static const look_row look_rows[] = {
    {"plain loops",
     MATMUL,
     "",
     {"int32_t kernel(const float *restrict A, const float *restrict B, float *restrict C) {",
      "  for (int64_t i = 0; i < 64; i++) {\n", "C[i * 96 + j] = C[i * 96 + j] + A[i * 48 + k] * B[k * 96 + j];"},
     "vector_size"},
    {"parallel loop",
     MATMUL,
     "parallel(C, i)",
     {"#ifdef _OPENMP\n#pragma omp parallel for schedule(static) num_threads(2)\n#endif\n"},
     "failed"},
    {"wide vectors are cut",
     MATMUL,
     "split(C, j, 32); reorder(C, i, j.outer, k, j.inner); vectorize(C, j.inner)",
     {"typedef float f32x8 __attribute__((vector_size(32)));", "aligned(4), may_alias", "* 32 + 24] ="},
     "f32x32"},
    {"an odd number of lanes",
     "C[i<26] = A[i] * 2",
     "split(C, i, 13); vectorize(C, i.inner)",
     {"for (int lane = 0; lane < 13; lane++) {"},
     "vector_size"},
    {"a tail",
     "C[i<30] = A[i] * 2",
     "split(C, i, 8); vectorize(C, i.inner)",
     {"for (int lane = 0; lane < 8; lane++) {", "if (i_outer * 8 + lane < 30) C[i_outer * 8 + lane] = "},
     "vector_size"},
    {"a function",
     "C[i<32] = exp(A[i])",
     "split(C, i, 8); vectorize(C, i.inner)",
     {"for (int lane = 0; lane < 8; lane++) t1[lane] = expf(t0[lane]);"},
     "aligned_alloc"},
    {"division",
     "input A: i32[8], B: i32[8]; C[i<8] = A[i] // B[i]",
     "",
     {"static inline int32_t floordiv_i32(int32_t a, int32_t b) {", "C[i] = floordiv_i32(A[i], B[i]);"},
     "vector_size"},
    {"index arithmetic", "C[i<64] = A[i // 8, (i + 3) % 5]", "", {"C[i] = A[i / 8 * 5 + (i + 3) % 5];"}, "floordiv"},
    {"integers wrap",
     "input A: i32[8]; C[i<8] = A[i] * A[i]",
     "",
     {"C[i] = (int32_t)((uint32_t)A[i] * (uint32_t)A[i]);"},
     "floordiv"},
    {"a saturating cast",
     "C[i<8] = u8(A[i])",
     "",
     {"x != x ? 0 : x <= 0 ? 0 : x >= 0x1p8f ? UINT8_MAX : (uint8_t)x", "C[i] = u8_of_f32(A[i]);"},
     "vector_size"},
    {"large scratch in a parallel loop",
     "T[i<4, j<9000] = A[i,j] * 2; C[i<4, j<9000] = T[i,8999-j]",
     "compute_at(T, C, i); parallel(C, i)",
     {"#pragma omp parallel num_threads(2) reduction(| : failed)", "float *restrict T = aligned_alloc(64, 36032);",
      "if (failed) continue;"},
     "_Alignas"},
    {"scratch named as what makes it",
     "free[i<100000] = A[i] * 2; aligned_alloc[i<100000] = free[99999-i]; C[i<100000] = aligned_alloc[99999-i]",
     "",
     {"float *restrict v_free = aligned_alloc(64, ", "float *restrict v_aligned_alloc = aligned_alloc(64, ",
      "free(v_free);"},
     "_Alignas"},
};

static void looks(void **state) {
  const look_row *r = *state;
  char *text = text_of(r->program, r->schedule, x86_64);
  for (int i = 0; i < RUNTIME_COUNT(r->has) && r->has[i] != NULL; ++i) check_has(text, r->has[i]);
  check_has_not(text, r->has_not);
  free(text);
}

static void golden(void **state) {
  (void)state;
  char *text = text_of(
      "M[i<20] = max[k<32](X[i,k]); E[i<20, j<32] = exp(X[i,j] - M[i]); S[i<20] = sum[k<32](E[i,k]); "
      "Y[i<20, j<32] = E[i,j] / S[i]",
      "split(E, j, 8); vectorize(E, j.inner); split(Y, j, 8); vectorize(Y, j.inner); parallel(Y, i)", x86_64);
  check_golden("codegen/softmax.txt", text);
  free(text);
}

static void one_thread(void **state) {
  (void)state;
  char *text = text_of(MATMUL, "parallel(C, i)", "triple=x86_64-linux-gnu threads=1");
  check_has_not(text, "#pragma omp");
  free(text);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Names that C has, that generated code has, that are no names, and all of them twice. */
static void odd_names(void **state) {
  (void)state;
  static const char *const names[] = {"int",   "t0",   "exp", "f32x8",   "A.local",
                                      "linux", "lane", "9",   "min_f32", "kernel"};
  for (int i = 0; i < RUNTIME_COUNT(names); ++i) {
    kit_begin();
    const tir_buffer *A = kit_in(names[i], TN_F32, 16), *C = kit_out(names[i], TN_F32, 16);
    const tir_var *v = kit_var(names[i]), *w = kit_var(names[i]);
    const tir_expr *at = kit_add(kit_mul(kit_at(v), 4), kit_at(w)), *a = kit_load(A, at);
    const tir_expr *value = tir_binary(&K.arena, TIR_MIN, tir_unary(&K.arena, TIR_EXP, a), a);
    const tir_stmt *s = kit_for(v, 4, TIR_SERIAL, kit_for(w, 4, TIR_SERIAL, kit_store(C, at, value)));
    float in[16], out[16];
    for (int k = 0; k < 16; ++k) in[k] = (float)k;
    tn_kernel *kernel = kit_compile_c(kit_func("kernel", s), NULL, "cc " WARNINGS);
    assert_int_equal(kit_call(kernel, (void *[]){in, out}), 0);
    assert_memory_equal(in, out, sizeof in);
    tn_kernel_free(kernel);
  }
}

static const struct name_row {
  const char *name;
} name_rows[] = {{"t3"}, {"f32x4"}, {"i8_of_f32"}, {"floordiv_i32"}, {"lane"}, {"failed"}};

static void refuse_name(void **state) {
  const struct name_row *r = *state;
  kit_begin();
  codegen_bytes source;
  const tir_buffer *C = kit_out("C", TN_I32, 1);
  codegen_bytes_of(K.ctx, kit_func(r->name, kit_store(C, kit_int(0), kit_int(1))), NULL, CODEGEN_C, &source);
  check_fails(K.ctx, TN_ERROR_ARGUMENT, r->name, "cannot be used in C source");
  assert_null(source.data);
}

/* ---- refusals, and what must not be refused ---------------------------------------------------------------------- */

typedef struct wrong_row {
  const char *name, *message;
  tn_status status;
} wrong_row;

static const wrong_row wrong_rows[] = {
    {"reduce", "REDUCE reached code generation", TN_ERROR_INTERNAL},
    {"slash", "/ of integers", TN_ERROR_INTERNAL},
    {"stray", "the variable stray is used outside its loop", TN_ERROR_INTERNAL},
    {"scope", "T is used outside its scope", TN_ERROR_INTERNAL},
    {"deep", "nested deeper than 4000", TN_ERROR_CODEGEN},
    {"huge", "scratch buffer T is larger than memory can be", TN_ERROR_CODEGEN},
};

static const tir_stmt *wrong_stmt(const char *name) {
  static const tir_reduce reduce = {.combiner = TIR_REDUCE_SUM};
  const tir_buffer *A = kit_in("A", TN_I32, 1), *C = kit_out("C", TN_I32, 1);
  const tir_expr *zero = kit_int(0), *x = kit_load(A, zero), *sum = x;
  if (strcmp(name, "reduce") == 0) return kit_store(C, zero, tir_reduce_expr(&K.arena, &reduce, x));
  if (strcmp(name, "slash") == 0) return kit_store(C, zero, tir_binary(&K.arena, TIR_DIV, x, x));
  if (strcmp(name, "stray") == 0) return kit_store(C, zero, kit_at(kit_var("stray")));
  if (strcmp(name, "scope") == 0) return kit_store(kit_scratch("T", TN_I32, 4), zero, x);
  if (strcmp(name, "deep") == 0) {
    for (int i = 0; i < 5000; ++i) sum = kit_add(sum, x);
    return kit_store(C, zero, sum);
  }
  const tir_buffer *T = kit_scratch("T", TN_I32, INT64_MAX / 2);
  return tir_alloc(&K.arena, T, kit_store(C, zero, kit_load(T, zero)));
}

static void refuse(void **state) {
  const wrong_row *r = *state;
  kit_begin();
  codegen_bytes source;
  codegen_bytes_of(K.ctx, kit_func("kernel", wrong_stmt(r->name)), NULL, CODEGEN_C, &source);
  check_fails(K.ctx, r->status, r->message);
  assert_null(source.data);
}

/* 2^40 paths through 40 shared nodes; 900 nested additions, more than clang takes in one expression. */
static void shared_and_deep(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_I64, 1), *C = kit_out("C", TN_I64, 1);
  const tir_expr *a = kit_load(A, kit_int(0)), *x = a;
  for (int i = 0; i < 40; ++i) x = kit_add(x, x);
  for (int i = 0; i < 900; ++i) x = kit_add(a, x);
  tir_func *f = kit_func("kernel", kit_store(C, kit_int(0), x));
  static const char *const compilers[] = {"cc " WARNINGS, "clang-19 " WARNINGS};
  for (int i = 0; i < 2 && has_compiler(i ? "clang-19" : "cc"); ++i) {
    int64_t in = 3, out = 0;
    tn_kernel *kernel = kit_compile_c(f, NULL, compilers[i]);
    assert_int_equal(kit_call(kernel, (void *[]){&in, &out}), 0);
    assert_int_equal(out, (3ll << 40) + 2700);
    tn_kernel_free(kernel);
  }
}

/* Numbers that have no plain literal. */
static void literals(void **state) {
  (void)state;
  static const double values[] = {INFINITY, -INFINITY, NAN, -0.0, 1e-40, 3.4e38, 0.1, 16777216, 1e300};
  double out[RUNTIME_COUNT(values)];
  const tir_stmt *stores[RUNTIME_COUNT(values)];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_F64, RUNTIME_COUNT(values));
  for (int i = 0; i < RUNTIME_COUNT(values); ++i) {
    stores[i] = kit_store(C, kit_int(i), tir_float(&K.arena, TN_F64, values[i]));
  }
  tn_kernel *kernel = kit_compile_c(kit_func("kernel", kit_seq(RUNTIME_COUNT(values), stores)), NULL, "cc " WARNINGS);
  assert_int_equal(kit_call(kernel, (void *[]){out}), 0);
  for (int i = 0; i < RUNTIME_COUNT(values); ++i) {
    assert_true(isnan(values[i]) ? isnan(out[i]) : memcmp(&out[i], &values[i], sizeof *out) == 0);
  }
  tn_kernel_free(kernel);
}

/* A locale with a decimal comma, for this thread; made here, since machines seldom have one. */
static locale_t enter_comma_locale(const char *folder) {
  if (kit_shell(NULL, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8", folder) != 0) return (locale_t)0;
  setenv("LOCPATH", folder, 1);
  locale_t comma;
  LEAKS_ALLOWED(comma = newlocale(LC_NUMERIC_MASK, "de_DE.UTF-8", (locale_t)0)); /* glibc keeps the list of folders */
  unsetenv("LOCPATH");
  if (comma) uselocale(comma);
  return comma;
}

static void every_text(char *texts[3]) {
  static const char program[] = "C[i<8] = A[i] * 0.5 + f32(0.1)";
  tn_program *p = tn_program_parse(K.ctx, program, 0, NULL);
  tn_schedule *s = tn_schedule_new(p);
  check_ok(K.ctx);
  tn_build_options options = {.target = tn_target_new(K.ctx, x86_64)};
  texts[0] = tn_build_text(s, &options, ".c");
  texts[1] = tn_build_text(s, &options, ".ll");
  texts[2] = strdup(tn_program_text(p));
  check_ok(K.ctx);
  tn_schedule_free(s);
}

/* Where the program around the library writes 0,5, all texts that are read again say 0.5. */
static void decimal_comma(void **state) {
  (void)state;
  char folder[64], *plain[3], *texts[3], half[8];
  every_text(plain);
  kit_folder(folder);
  locale_t comma = enter_comma_locale(folder);
  if (!comma) skip(); /* no localedef, or no sources of locales */
  snprintf(half, sizeof half, "%g", 0.5);
  every_text(texts);
  uselocale(LC_GLOBAL_LOCALE);
  freelocale(comma);
  kit_folder_remove(folder);
  assert_string_equal(half, "0,5");
  check_has(texts[0], "* 0.5f + 0.1f");
  for (int i = 0; i < 3; ++i) {
    assert_string_equal(texts[i], plain[i]);
    free(texts[i]), free(plain[i]);
  }
}

int test_c_source(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(golden),    cmocka_unit_test(one_thread),
                                            cmocka_unit_test(odd_names), cmocka_unit_test(shared_and_deep),
                                            cmocka_unit_test(literals),  cmocka_unit_test(decimal_comma)};
  return CHECK_TABLE("C source", look_rows, looks) + CHECK_TESTS("C source, the rest", tests) +
         CHECK_TABLE("names refused in C", name_rows, refuse_name) + CHECK_TABLE("refused in C", wrong_rows, refuse);
}
