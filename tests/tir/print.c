/* The printer: parentheses, constants, statements; what is printed reads back as the same text. */
#include "tests/tir/tests.h"

typedef struct row {
  const char *name, *in, *out;
} row;

static const row exprs[] = {
    {"a guard", "(i*20) + j < 1024", "i*20 + j < 1024"},
    {"sums lean left", "i + (j + 1)", "i + (j + 1)"},
    {"differences keep theirs", "i - (j - 1)", "i - (j - 1)"},
    {"products of sums", "(i + 1)*(j + 2)", "(i + 1)*(j + 2)"},
    {"products lean left", "i*(j*3)", "i*(j*3)"},
    {"a negative constant subtracts", "i + -3", "i - 3"},
    {"floor division as a call", "(i + 1)//32", "floordiv(i + 1, 32)"},
    {"floor modulo as a call", "i%32", "floormod(i, 32)"},
    {"min, max, select as calls", "select(i < j, min(i, j), max(i, 2))", "select(i < j, min(i, j), max(i, 2))"},
    {"or around and", "i < 3 || j < 4 && i < 2", "i < 3 || j < 4 && i < 2"},
    {"and around or", "(i < 3 || j < 4) && i < 2", "(i < 3 || j < 4) && i < 2"},
    {"not", "!(i < 3 && j < 3)", "!(i < 3 && j < 3)"},
    {"comparison of comparisons", "(i < 3) == (j < 3)", "(i < 3) == (j < 3)"},
    {"booleans", "select(b, i, j) < 3 == (1 < 2)", "(select(b, i, j) < 3) == True"},
    {"float constants are short", "x*0.1f32 + 1.5f32 - 0f32*x", "x*0.1f32 + 1.5f32 - 0f32*x"},
    {"large and small floats", "x*1e+30f32 + 1e-30f32", "x*1e+30f32 + 1e-30f32"},
    {"suffixes of other dtypes", "cast(int64, i) + 3i64", "cast(int64, i) + 3i64"},
    {"float division", "x/(x*2f32)", "x/(x*2f32)"},
    {"functions", "exp(x) + pow(x, 2f32)", "exp(x) + pow(x, 2f32)"},
    {"loads of several dimensions", "A[i, j + 1]", "A[i, j + 1]"},
    {"loads with a predicate", "A[i, j, predicate = i < 3]", "A[i, j, predicate = i < 3]"},
    {"dot products", "dot(D[ramp(i, 1, 4)], U[ramp(j, 1, 16)], U[ramp(i*4, 1, 16)])",
     "dot(D[ramp(i, 1, 4)], U[ramp(j, 1, 16)], U[ramp(i*4, 1, 16)])"},
    {"vectors", "ramp(i*8, 1, 8) < broadcast(3, 8)", "ramp(i*8, 1, 8) < broadcast(3, 8)"},
};

static void print_row(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "i in 0..7, j in 0..7, x: float32, b: bool, A: float32[8, 8], D: int32[16], U: uint8[64]");
  const char *text = print_expr(&arena, read_expr(&read, r->in));
  assert_string_equal(text, r->out);
  assert_string_equal(print_expr(&arena, read_expr(&read, text)), text);
  runtime_arena_free(&arena);
}

static const char whole[] =
    "in A: float32[100, 32]; out B: float32[100, 32] { for (i.outer: int32, 0, 7) \"parallel\" { "
    "allocate(A.local: Pointer(local float32), float32, [64]), storage_scope = local { "
    "for (i.inner: int32, 0, 16) \"peel\" { if (i.outer*16 + i.inner < 100) { attr \"pragma_auto_unroll_max_step\" = "
    "64 { "
    "for (j: int32, 2, 32) \"vectorized\" { A.local[j] = A[i.outer*16 + i.inner, j]*2f32 } "
    "for (j: int32, i.inner, i.inner + 8) \"unroll\" { B[i.outer*16 + i.inner, j, predicate = j < 32] = A.local[j] } } "
    "} "
    "else { nop } } } } }";

static void whole_functions(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  tir_func *f = read_func(&read, whole);
  runtime_str out = {0};
  tir_print_func(&out, f);
  check_golden("tir/function.txt", out.data);
  runtime_str_free(&out);
  runtime_arena_free(&arena);
}

static void printed_statements_read_back(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  tir_func *f = read_func(&read, whole);
  char *text = print_func(&arena, f);
  tir_func again = {.body = read_stmts(&read, text)};
  check_text(print_func(&arena, &again), text);
  runtime_arena_free(&arena);
}

/* A value that is squared forty times is a graph of forty nodes. */
static void endless_text_is_refused(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  tir_func f = *read_func(&read, "in A: float32[4]; out B: float32[4] { for (i: int32, 0, 4) { B[i] = A[i] } }");
  tir_stmt store = *f.body->u.loop.body, loop = *f.body;
  for (int i = 0; i < 40; i++)
    store.u.store.value = tir_binary(&arena, TIR_MUL, store.u.store.value, store.u.store.value);
  loop.u.loop.body = &store;
  f.body = &loop;
  tn_context *ctx = tn_context_new(NULL);
  runtime_str out = runtime_str_limited(ctx);
  tir_print_func(&out, &f);
  assert_null(runtime_str_finish(&out, ctx, "the loop IR"));
  assert_non_null(strstr(tn_context_message(ctx), "the loop IR is longer than 16777216 bytes as text"));
  assert_non_null(strstr(tn_context_message(ctx), "text_bytes"));
  tn_context_free(ctx);
  runtime_arena_free(&arena);
}

int test_print(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whole_functions), cmocka_unit_test(printed_statements_read_back),
                                     cmocka_unit_test(endless_text_is_refused)};
  return CHECK_TABLE("tir print", exprs, print_row) + CHECK_TESTS("tir print functions", tests);
}
