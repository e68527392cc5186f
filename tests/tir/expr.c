/* Constructors: folding by the semantics of tir/ir.h, trivial operations, lanes, NULL, equality, combiners. */
#include <math.h>

#include "tests/tir/tests.h"

typedef struct row {
  const char *name, *in, *out;
} row;

/* What the reader's constructor calls make, printed. */
static const row folds[] = {
    {"i8 wraps", "127i8 + 1i8", "-128i8"},
    {"u8 wraps", "0u8 - 1u8", "255u8"},
    {"i32 product wraps", "65536*65536", "0"},
    {"u32 wraps", "4294967295u32 + 1u32", "0u32"},
    {"floor division rounds down", "(0 - 7)//2", "-4"},
    {"floor modulo has the divisor's sign", "7%(0 - 3)", "-2"},
    {"division by zero is zero", "7//0", "0"},
    {"modulo by zero is zero", "7%0", "0"},
    {"the smallest over -1 is itself", "(0 - 2147483648)//(0 - 1)", "-2147483648"},
    {"absolute value wraps", "abs(0i8 - 128i8)", "-128i8"},
    {"f32 rounds", "16777216f32 + 1f32", "16777216f32"},
    {"f64 does not", "16777216f64 + 1f64", "16777217f64"},
    {"float division", "1f32/4f32", "0.25f32"},
    {"comparison of integers", "3 < 4", "True"},
    {"comparison of floats", "3f32 >= 4f32", "False"},
    {"min and max", "min(3, 4) + max(3, 4)", "7"},
    {"cast saturates", "cast(int8, 300f32)", "127i8"},
    {"cast saturates below zero", "cast(uint8, 0f32 - 5f32)", "0u8"},
    {"cast of not-a-number", "cast(int32, 0f32/0f32)", "0"},
    {"cast wraps integers", "cast(int8, 300)", "44i8"},
    {"cast to bool", "cast(bool, 0.5f32)", "True"},
    {"rounding is half away from zero", "round(2.5f32) - round(0f32 - 2.5f32)", "6f32"},
    {"exp is left to run time", "exp(0f32)", "exp(0f32)"},
    {"x + 0", "i + 0", "i"},
    {"x * 1", "i*1", "i"},
    {"x * 0", "i*0", "0"},
    {"x // 1", "i//1", "i"},
    {"x % 1", "i%1", "0"},
    {"0 // x", "0//i", "0"},
    {"float x + 0 stays: -0 + 0 is +0", "x + 0f32", "x + 0f32"},
    {"float x - 0", "x - 0f32", "x"},
    {"float x * 1", "x*1f32", "x"},
    {"float x * 0 stays: infinities", "x*0f32", "x*0f32"},
    {"float x / 1", "x/1f32", "x"},
    {"select by a constant", "select(1 < 2, i, 7)", "i"},
    {"and with true", "b && 1 < 2", "b"},
    {"or with true", "b || 1 < 2", "True"},
    {"not twice", "!(!b)", "b"},
    {"folding under broadcasts", "broadcast(2, 4) + broadcast(3, 4)", "broadcast(5, 4)"},
    {"a scalar meets a vector", "ramp(i, 1, 4) + 3", "ramp(i, 1, 4) + broadcast(3, 4)"},
    {"a ramp of stride 0 is a broadcast", "ramp(i, 0, 4)", "broadcast(i, 4)"},
    {"a false predicate loads zero", "A[i, predicate = 1 > 2]", "0f32"},
    {"a true predicate goes", "A[i, predicate = 1 < 2]", "A[i]"},
};

static void fold_row(void **state) {
  const row *r = *state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "i in 0..7, x: float32, b: bool, A: float32[8]");
  assert_string_equal(print_expr(&arena, read_expr(&read, r->in)), r->out);
  runtime_arena_free(&arena);
}

static void null_gives_null(void **state) {
  (void)state;
  runtime_arena arena = {0};
  const tir_expr *one = tir_int(&arena, TN_I32, 1);
  assert_null(tir_unary(&arena, TIR_ABS, NULL));
  assert_null(tir_binary(&arena, TIR_ADD, one, NULL));
  assert_null(tir_select(&arena, NULL, one, one));
  assert_null(tir_cast(&arena, TN_F32, NULL));
  assert_null(tir_var_expr(&arena, NULL));
  assert_null(tir_ramp(&arena, NULL, 1, 4));
  assert_null(tir_for(&arena, NULL, one, one, TIR_SERIAL, tir_nop(&arena)));
  assert_null(tir_if(&arena, NULL, tir_nop(&arena), NULL));
  assert_null(tir_alloc(&arena, NULL, tir_nop(&arena)));
  assert_null(tir_seq(&arena, 1, (const tir_stmt *[]){NULL}));
  runtime_arena_free(&arena);
}

static void the_table_is_whole(void **state) {
  (void)state;
  for (int op = 0; op < TIR_OP_COUNT; op++) {
    assert_non_null(tir_op_table[op].name);
    assert_non_null(tir_op_table[op].text);
    assert_in_range(tir_op_table[op].op_class, TIR_CLASS_CONSTANT, TIR_CLASS_DOT);
    assert_in_range(tir_op_table[op].rule, TIR_RULE_LEAF, TIR_RULE_OWN);
  }
}

static void identities_are_neutral(void **state) {
  (void)state;
  runtime_arena arena = {0};
  static const tn_dtype dtypes[] = {TN_I8, TN_U8, TN_I32, TN_I64, TN_F32, TN_F64};
  for (int c = 0; c <= TIR_REDUCE_MIN; c++) {
    for (int d = 0; d < RUNTIME_COUNT(dtypes); d++) {
      const tir_expr *five = tir_const(&arena, dtypes[d], 5);
      assert_true(tir_equal(tir_combine(&arena, c, tir_identity(&arena, c, dtypes[d]), five), five));
    }
  }
  const tir_expr *yes = tir_int(&arena, TN_BOOL, 1);
  assert_true(tir_equal(tir_combine(&arena, TIR_REDUCE_ALL, tir_identity(&arena, TIR_REDUCE_ALL, TN_BOOL), yes), yes));
  assert_true(tir_equal(tir_combine(&arena, TIR_REDUCE_ANY, tir_identity(&arena, TIR_REDUCE_ANY, TN_BOOL), yes), yes));
  assert_true(isinf(tir_identity(&arena, TIR_REDUCE_MAX, TN_F32)->u.f));
  assert_int_equal(tir_identity(&arena, TIR_REDUCE_MAX, TN_I8)->u.i, -128);
  runtime_arena_free(&arena);
}

static void equality_is_structural(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "i in 0..7, j in 0..7, A: float32[8]");
  assert_true(tir_equal(read_expr(&read, "A[i*8 + j]"), read_expr(&read, "A[i*8 + j]")));
  assert_false(tir_equal(read_expr(&read, "A[i*8 + j]"), read_expr(&read, "A[j*8 + i]")));
  assert_false(tir_equal(read_expr(&read, "A[i]"), read_expr(&read, "A[i, predicate = j < 3]")));
  assert_false(tir_equal(read_expr(&read, "ramp(i, 1, 4)"), read_expr(&read, "ramp(i, 2, 4)")));
  assert_false(tir_equal(read_expr(&read, "1f32"), read_expr(&read, "1f64")));
  assert_false(tir_equal(read_expr(&read, "i"), NULL));
  runtime_arena_free(&arena);
}

/* x + x, that plus itself, ... 60 times: 2^60 paths, 61 nodes. */
static const tir_expr *doubled(runtime_arena *arena, const tir_expr *e, int times) {
  while (times-- > 0) e = tir_binary(arena, TIR_ADD, e, e);
  return e;
}

static void equality_of_shared_nodes_is_fast(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tir_var x = {"x", TN_F32};
  const tir_expr *a = doubled(&arena, tir_var_expr(&arena, &x), 60), *b = doubled(&arena, tir_var_expr(&arena, &x), 60);
  assert_true(tir_equal(a, b));
  assert_false(tir_equal(a, doubled(&arena, tir_var_expr(&arena, &x), 59)));
  runtime_arena_free(&arena);
}

static void sequences_are_flat(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "C: float32[8]");
  const tir_stmt *a = read_stmts(&read, "C[0] = 1f32"), *b = read_stmts(&read, "C[1] = 1f32 C[2] = 1f32");
  const tir_stmt *parts[] = {tir_nop(&arena), a, b, tir_nop(&arena)};
  assert_int_equal(tir_seq(&arena, 4, parts)->u.seq.n, 3);
  assert_ptr_equal(tir_seq(&arena, 2, parts), a);
  assert_ptr_equal(tir_seq(&arena, 1, &b), b);
  assert_int_equal(tir_seq(&arena, 1, parts)->kind, TIR_NOP);
  runtime_arena_free(&arena);
}

static void stores_without_parts(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tir_buffer c = {.name = "C", .dtype = TN_F32, .ndim = 1, .shape = {8}};
  const tir_expr *index = tir_int(&arena, TN_I32, 0), *v = tir_float(&arena, TN_F32, 1);
  const tir_expr *no = tir_int(&arena, TN_BOOL, 0);
  assert_int_equal(tir_store(&arena, &c, 1, &index, v, no)->kind, TIR_NOP);
  assert_null(tir_store(&arena, &c, 1, &index, NULL, NULL));
  assert_null(tir_store(&arena, NULL, 1, &index, v, NULL));
  runtime_arena_free(&arena);
}

int test_expr(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_gives_null),        cmocka_unit_test(the_table_is_whole),
      cmocka_unit_test(identities_are_neutral), cmocka_unit_test(equality_is_structural),
      cmocka_unit_test(sequences_are_flat),     cmocka_unit_test(equality_of_shared_nodes_is_fast),
      cmocka_unit_test(stores_without_parts),
  };
  return CHECK_TABLE("tir folding", folds, fold_row) + CHECK_TESTS("tir nodes", tests);
}
