/* The simplifier, bounds and proofs against the interpreter: random expressions over a few variables of small ranges,
 * compared on every assignment, in wide and in wrapping dtypes, with and without known conditions. Every row is one
 * stream of expressions with its own dtype, depth and ranges. */
#include "tests/tir/tests.h"

typedef struct stream {
  const char *name;
  tn_dtype dtype;
  int n_vars, depth, count;
  tir_interval ranges[3];
  bool with_condition;
} stream;

static const stream streams[] = {
    {"i32, two variables from zero", TN_I32, 2, 3, 4000, {{0, 7}, {0, 5}}, false},
    {"i32, ranges of the size of factors", TN_I32, 2, 2, 8000, {{0, 4}, {0, 8}}, false},
    {"i32, ranges from one on", TN_I32, 2, 2, 8000, {{0, 3}, {1, 8}}, false},
    {"i32, negative ranges", TN_I32, 2, 3, 4000, {{-9, 4}, {-5, 5}}, false},
    {"i32, deep", TN_I32, 2, 5, 2000, {{-3, 9}, {0, 6}}, false},
    {"i32, three variables", TN_I32, 3, 4, 1500, {{0, 4}, {-3, 3}, {0, 7}}, false},
    {"i32, a single point", TN_I32, 2, 4, 2000, {{3, 3}, {-2, 4}}, false},
    {"i32, known condition", TN_I32, 2, 3, 6000, {{0, 9}, {-4, 5}}, true},
    {"i32, three variables, known condition", TN_I32, 3, 3, 2000, {{0, 5}, {0, 4}, {-2, 3}}, true},
    {"i8, wrapping", TN_I8, 2, 4, 3000, {{-128, 127}, {-4, 5}}, false},
    {"u8, wrapping", TN_U8, 2, 4, 3000, {{0, 255}, {0, 5}}, false},
    {"i8, known condition", TN_I8, 2, 3, 3000, {{-20, 127}, {-4, 5}}, true},
    {"i64", TN_I64, 2, 4, 2000, {{-6, 9}, {0, 5}}, false},
    {"u32", TN_U32, 2, 4, 2000, {{0, 9}, {0, 5}}, false},
};

typedef struct maker {
  runtime_arena *arena;
  runtime_rng rng;
  const stream *s;
  tir_var vars[3];
} maker;

static const tir_expr *leaf(maker *m) {
  if (runtime_random_below(&m->rng, 3) > 0) {
    return tir_var_expr(m->arena, &m->vars[runtime_random_below(&m->rng, m->s->n_vars)]);
  }
  static const int64_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, -1, -2, -3, -8, 100, 127};
  return tir_int(m->arena, m->s->dtype, numbers[runtime_random_below(&m->rng, RUNTIME_COUNT(numbers))]);
}

static const tir_expr *boolean(maker *m, int depth);

/* i*c + j*d + e: what loops make of their variables, with factors that just fit the ranges or just do not. */
static const tir_expr *index_like(maker *m) {
  static const int64_t factors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, -1, -8};
  const tir_expr *sum = leaf(m);
  for (int i = 0; i < 2; i++) {
    const tir_expr *factor =
        tir_int(m->arena, m->s->dtype, factors[runtime_random_below(&m->rng, RUNTIME_COUNT(factors))]);
    sum = tir_binary(m->arena, TIR_ADD, tir_binary(m->arena, TIR_MUL, leaf(m), factor), sum);
  }
  return sum;
}

/* Such an index divided, or what remains of it. */
static const tir_expr *divided_index(maker *m) {
  static const int64_t divisors[] = {2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 18, 20, 24, 32};
  int64_t divisor = divisors[runtime_random_below(&m->rng, RUNTIME_COUNT(divisors))];
  tir_op op = runtime_random_below(&m->rng, 2) ? TIR_FLOORDIV : TIR_FLOORMOD;
  return tir_binary(m->arena, op, index_like(m), tir_int(m->arena, m->s->dtype, divisor));
}

static const tir_expr *integer(maker *m, int depth) {
  static const tir_op ops[] = {TIR_ADD,      TIR_ADD,      TIR_SUB, TIR_MUL, TIR_FLOORDIV, TIR_FLOORDIV,
                               TIR_FLOORMOD, TIR_FLOORMOD, TIR_MIN, TIR_MAX, TIR_MUL,      TIR_ADD};
  if (depth == 0 || runtime_random_below(&m->rng, 6) == 0) return leaf(m);
  if (runtime_random_below(&m->rng, 4) == 0) return divided_index(m);
  int64_t pick = runtime_random_below(&m->rng, RUNTIME_COUNT(ops) + 1);
  const tir_expr *a = integer(m, depth - 1), *b = runtime_random_below(&m->rng, 2) ? leaf(m) : integer(m, depth - 1);
  if (pick < RUNTIME_COUNT(ops)) return tir_binary(m->arena, ops[pick], a, b);
  return tir_select(m->arena, boolean(m, depth - 1), a, b);
}

static const tir_expr *boolean(maker *m, int depth) {
  int64_t pick = runtime_random_below(&m->rng, 12);
  if (pick >= 10) {
    const tir_expr *limit = tir_int(m->arena, m->s->dtype, runtime_random_below(&m->rng, 100));
    return tir_binary(m->arena, TIR_EQ + (tir_op)runtime_random_below(&m->rng, 6), index_like(m), limit);
  }
  if (depth <= 1 || pick < 6) {
    return tir_binary(m->arena, TIR_EQ + (tir_op)runtime_random_below(&m->rng, 6),
                      integer(m, depth - 1 > 0 ? depth - 1 : 0), integer(m, depth - 1 > 0 ? depth - 1 : 0));
  }
  if (pick == 6) return tir_unary(m->arena, TIR_NOT, boolean(m, depth - 1));
  return tir_binary(m->arena, pick < 9 ? TIR_AND : TIR_OR, boolean(m, depth - 1), boolean(m, depth - 1));
}

/* The next assignment of the variables; false after the last. */
static bool step(maker *m, machine *at, int64_t *values) {
  for (int i = 0; i < m->s->n_vars; i++) {
    if (++values[i] <= m->s->ranges[i].hi) {
      machine_set(at, &m->vars[i], values[i]);
      return true;
    }
    values[i] = m->s->ranges[i].lo;
    machine_set(at, &m->vars[i], values[i]);
  }
  return false;
}

static void complain(maker *m, const tir_expr *e, const tir_expr *simple, const tir_expr *cond, machine *at) {
  for (int i = 0; i < m->s->n_vars; i++) print_error("%s = %ld\n", m->vars[i].name, (long)at->vars[i].value.i);
  fail_msg("%s\n  became %s\n  given %s", print_expr(m->arena, e), print_expr(m->arena, simple),
           cond != NULL ? print_expr(m->arena, cond) : "nothing");
}

static void compare_everywhere(maker *m, const tir_env *env, const tir_expr *cond, const tir_expr *e) {
  const tir_expr *simple = tir_simplify(m->arena, env, e);
  assert_non_null(simple);
  bool is_bool = e->dtype == TN_BOOL, proved = is_bool && tir_prove(m->arena, env, e);
  tir_interval bounds = tir_bounds(env, e);
  machine at = {0};
  int64_t values[3];
  for (int i = 0; i < m->s->n_vars; i++) machine_set(&at, &m->vars[i], values[i] = m->s->ranges[i].lo);
  do {
    if (cond != NULL && !evaluate(&at, cond, 0).i) continue;
    int64_t before = evaluate(&at, e, 0).i, after = evaluate(&at, simple, 0).i;
    if (before != after || before < bounds.lo || before > bounds.hi || (proved && !before))
      complain(m, e, simple, cond, &at);
  } while (step(m, &at, values));
  if (cond == NULL && tir_simplify(m->arena, env, simple) != simple) {
    fail_msg("not idempotent: %s\n then %s\n then %s", print_expr(m->arena, e), print_expr(m->arena, simple),
             print_expr(m->arena, tir_simplify(m->arena, env, simple)));
  }
}

static void run_stream(void **state) {
  maker m = {.s = *state, .rng = {20240607}};
  static const char *const names[] = {"i", "j", "k"};
  for (int n = 0; n < m.s->count; n++) {
    runtime_arena arena = {0};
    m.arena = &arena;
    tir_env env[4] = {{0}};
    for (int i = 0; i < m.s->n_vars; i++) {
      m.vars[i] = (tir_var){names[i], m.s->dtype};
      env[i] = (tir_env){.outer = i > 0 ? &env[i - 1] : NULL, .var = &m.vars[i], .range = m.s->ranges[i]};
    }
    const tir_env *top = &env[m.s->n_vars - 1];
    const tir_expr *cond = m.s->with_condition ? boolean(&m, 2) : NULL;
    if (cond != NULL) {
      env[3] = (tir_env){.outer = top, .cond = cond};
      top = &env[3];
    }
    compare_everywhere(&m, top, cond, n % 3 == 0 ? boolean(&m, m.s->depth) : integer(&m, m.s->depth));
    runtime_arena_free(&arena);
  }
}

int test_simplify_exhaustive(void) { return CHECK_TABLE("tir simplify exhaustive", streams, run_stream); }
