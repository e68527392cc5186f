/* Walks, rewrites, substitution; the printer; bounds and proofs. */
#include "tests/tir/tests.h"

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static tir_walk count(void *user, const tir_expr *e) {
  (void)e;
  ++*(int *)user;
  return TIR_WALK_ON;
}

static tir_walk prune_at_load(void *user, const tir_expr *e) {
  ++*(int *)user;
  return e->op == TIR_LOAD ? TIR_WALK_PRUNE : TIR_WALK_ON;
}

static tir_walk stop_at_load(void *user, const tir_expr *e) {
  ++*(int *)user;
  return e->op == TIR_LOAD ? TIR_WALK_STOP : TIR_WALK_ON;
}

static const tir_expr *doubled(runtime_arena *arena, const tir_expr *e, int times) {
  while (times-- > 0) e = tir_binary(arena, TIR_ADD, e, e);
  return e;
}

static void shared_nodes_are_seen_once(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tir_var x = {"x", TN_F32};
  const tir_expr *e = doubled(&arena, tir_unary(&arena, TIR_EXP, tir_var_expr(&arena, &x)), 60);
  int n = 0;
  assert_true(tir_walk_expr(e, count, &n));
  assert_int_equal(n, 62);
  runtime_arena_free(&arena);
}

static void walks_prune_and_stop(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "i in 0..7, A: int32[8]");
  const tir_expr *e = read_expr(&read, "A[i] + i");
  int n = 0;
  assert_true(tir_walk_expr(e, prune_at_load, &n));
  assert_int_equal(n, 3);
  n = 0;
  assert_false(tir_walk_expr(e, stop_at_load, &n));
  assert_int_equal(n, 2);
  assert_true(tir_uses_var(e, reader_var(&read, "i")));
  assert_false(tir_uses_var(e, &(tir_var){"i", TN_I32}));
  runtime_arena_free(&arena);
}

typedef struct tally {
  int stmts, exprs;
} tally;

static tir_walk count_stmt(void *user, const tir_stmt *s) {
  ((tally *)user)->stmts++;
  return s->kind == TIR_IF ? TIR_WALK_PRUNE : TIR_WALK_ON;
}

static tir_walk count_expr(void *user, const tir_expr *e) {
  (void)e;
  ((tally *)user)->exprs++;
  return TIR_WALK_ON;
}

static void statements_are_walked_with_their_expressions(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "C: float32[8]");
  const tir_stmt *s = read_stmts(&read, "for (i: int32, 0, 8) { C[i] = 1f32 if (i < 4) { C[i] = 2f32 } }");
  tally t = {0};
  tir_visitor visitor = {count_stmt, count_expr, &t};
  assert_true(tir_walk_stmt(s, &visitor));
  assert_int_equal(t.stmts, 4);
  assert_int_equal(t.exprs, 4);
  runtime_arena_free(&arena);
}

/* ---- rewriting --------------------------------------------------------------------------------------------------- */

static const tir_expr *same(void *user, const tir_expr *e) {
  ++*(int *)user;
  return e;
}

static void a_rewrite_without_change_gives_the_same_pointer(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "A: float32[8], C: float32[8]");
  const tir_stmt *s = read_stmts(&read, "for (i: int32, 0, 8) { if (i < 4) { C[i] = A[i]*2f32 } C[i] = 1f32 }");
  int n = 0;
  tir_rewriter rewriter = {&arena, NULL, same, &n};
  assert_ptr_equal(tir_rewrite_stmt(&rewriter, s), s);
  assert_true(n > 0);
  runtime_arena_free(&arena);
}

static void shared_nodes_are_rewritten_once_and_stay_shared(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tir_var x = {"x", TN_F32}, y = {"y", TN_F32};
  const tir_expr *e = doubled(&arena, tir_unary(&arena, TIR_EXP, tir_var_expr(&arena, &x)), 60);
  tir_binding binding = {&x, tir_var_expr(&arena, &y)};
  const tir_expr *r = tir_substitute(&arena, e, 1, &binding);
  assert_ptr_equal(r->arg[0], r->arg[1]);
  assert_true(tir_uses_var(r, &y));
  assert_false(tir_uses_var(r, &x));
  assert_ptr_equal(tir_substitute(&arena, r, 1, &binding), r);
  runtime_arena_free(&arena);
}

static void substitution_folds(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "A: float32[8], i in 0..7, j in 0..7");
  const tir_expr *e = read_expr(&read, "select(i < 4, A[i*2 + j], 0f32)");
  tir_binding bindings[] = {{reader_var(&read, "i"), tir_int(&arena, TN_I32, 3)},
                            {reader_var(&read, "j"), read_expr(&read, "i")}};
  assert_string_equal(print_expr(&arena, tir_substitute(&arena, e, 2, bindings)), "A[6 + i]");
  runtime_arena_free(&arena);
}

static void statements_are_substituted_into(void **state) {
  (void)state;
  runtime_arena arena = {0};
  reader read = {.arena = &arena};
  read_names(&read, "C: float32[8], n in 0..7");
  tir_func f = {.body = read_stmts(&read, "for (i: int32, n, 8) { if (i < n) { C[n] = 1f32 } }")};
  tir_binding binding = {reader_var(&read, "n"), tir_int(&arena, TN_I32, 2)};
  f.body = tir_substitute_stmt(&arena, f.body, 1, &binding);
  check_text(print_func(&arena, &f), "for (i: int32, 2, 8) {\n  if (i < 2) {\n    C[2] = 1f32\n  }\n}\n");
  runtime_arena_free(&arena);
}

int test_walk(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shared_nodes_are_seen_once),
      cmocka_unit_test(walks_prune_and_stop),
      cmocka_unit_test(statements_are_walked_with_their_expressions),
      cmocka_unit_test(a_rewrite_without_change_gives_the_same_pointer),
      cmocka_unit_test(shared_nodes_are_rewritten_once_and_stay_shared),
      cmocka_unit_test(substitution_folds),
      cmocka_unit_test(statements_are_substituted_into),
  };
  return CHECK_TESTS("tir walks", tests);
}
