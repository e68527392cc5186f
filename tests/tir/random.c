/* Random loop nests through every pass and through the whole pipeline: memory must end the same, no access may leave a
 * buffer, the checker must agree after each step. */
#include "tests/tir/tests.h"

enum { MAX_LOOPS = 5 };

typedef struct nest {
  runtime_arena *arena;
  runtime_rng rng;
  tir_buffer a, c, t;
  int n_loops;
  tir_var vars[MAX_LOOPS];
  int64_t extents[MAX_LOOPS];
  int64_t size[2]; /* of c: less than the loops cover, so that guards are needed */
} nest;

static int64_t pick(nest *n, int64_t below) { return runtime_random_below(&n->rng, below); }

static const tir_expr *number(nest *n, int64_t v) { return tir_int(n->arena, TN_I32, v); }

/* The axis made of loops 2*d and 2*d+1: outer * extent + inner, or a single loop. */
static const tir_expr *axis(nest *n, int d) {
  const tir_expr *outer = tir_var_expr(n->arena, &n->vars[2 * d]), *inner = tir_var_expr(n->arena, &n->vars[2 * d + 1]);
  const tir_expr *scaled = tir_binary(n->arena, TIR_MUL, outer, number(n, n->extents[2 * d + 1]));
  return tir_binary(n->arena, TIR_ADD, scaled, inner);
}

static const tir_expr *load_a(nest *n, const tir_expr *i, const tir_expr *j) {
  const tir_expr *index[2] = {i, j};
  return tir_load(n->arena, &n->a, 2, index, NULL);
}

static const tir_expr *value_of(nest *n, const tir_expr *i, const tir_expr *j) {
  const tir_expr *plain = load_a(n, i, j), *two = tir_float(n->arena, TN_F32, 2), *edge;
  switch (pick(n, 5)) {
    case 0: return tir_binary(n->arena, TIR_MUL, plain, two);
    case 1: return tir_cast(n->arena, TN_F32, tir_binary(n->arena, TIR_FLOORMOD, i, number(n, 3)));
    case 2: /* a shifted, padded load */
      edge = tir_binary(n->arena, TIR_SUB, j, number(n, 1));
      return tir_select(n->arena, tir_binary(n->arena, TIR_GE, j, number(n, 1)), load_a(n, i, edge),
                        tir_float(n->arena, TN_F32, (double)pick(n, 2)));
    case 3: return tir_binary(n->arena, TIR_ADD, plain, load_a(n, i, number(n, 0)));
    default: return plain;
  }
}

static const tir_stmt *store_c(nest *n, const tir_expr *i, const tir_expr *j, const tir_expr *stored) {
  const tir_expr *index[2] = {i, j};
  return tir_store(n->arena, &n->c, 2, index, stored, NULL);
}

/* The innermost statements: a plain store, an accumulation, or one through a temporary. */
static const tir_stmt *innermost(nest *n, const tir_expr *i, const tir_expr *j) {
  const tir_expr *index[2] = {i, j}, *zero[1] = {number(n, 0)}, *stored = value_of(n, i, j);
  const tir_stmt *parts[2];
  switch (pick(n, 3)) {
    case 0: return store_c(n, i, j, stored);
    case 1:
      stored = tir_binary(n->arena, TIR_ADD, tir_load(n->arena, &n->c, 2, index, NULL), stored);
      return store_c(n, i, j, stored);
    default:
      parts[0] = tir_store(n->arena, &n->t, 1, zero, stored, NULL);
      parts[1] = store_c(n, i, j, tir_load(n->arena, &n->t, 1, zero, NULL));
      return tir_alloc(n->arena, &n->t, tir_seq(n->arena, 2, parts));
  }
}

/* S only where the first index is small, and then an increment everywhere. */
static const tir_stmt *partly_guarded(nest *n, const tir_expr *i, const tir_expr *j, const tir_stmt *s) {
  const tir_expr *index[2] = {i, j}, *old = tir_load(n->arena, &n->c, 2, index, NULL);
  const tir_expr *small = tir_binary(n->arena, TIR_LT, i, number(n, 1 + pick(n, 8)));
  const tir_stmt *parts[2] = {tir_if(n->arena, small, s, NULL),
                              store_c(n, i, j, tir_binary(n->arena, TIR_ADD, old, tir_float(n->arena, TN_F32, 1)))};
  return tir_seq(n->arena, 2, parts);
}

static const tir_stmt *guarded(nest *n, const tir_expr *i, const tir_expr *j, const tir_stmt *s) {
  const tir_expr *first = tir_binary(n->arena, TIR_LT, i, number(n, n->size[0]));
  const tir_expr *second = tir_binary(n->arena, TIR_LT, j, number(n, n->size[1]));
  if (pick(n, 2)) return tir_if(n->arena, tir_binary(n->arena, TIR_AND, first, second), s, NULL);
  return tir_if(n->arena, first, tir_if(n->arena, second, s, NULL), NULL);
}

static const tir_stmt *wrap_loops(nest *n, const tir_stmt *s) {
  static const int orders[][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 3, 1}, {2, 3, 0, 1}};
  const int *order = orders[pick(n, 4)];
  for (int at = 3; at >= 0; at--) {
    static const tir_loop_kind kinds[] = {TIR_SERIAL, TIR_SERIAL, TIR_UNROLLED, TIR_VECTORIZED, TIR_PARALLEL};
    tir_loop_kind kind = at == 3 ? kinds[pick(n, 4)] : at == 0 ? kinds[pick(n, 2) * 4] : kinds[pick(n, 4)];
    int d = order[at];
    tir_stmt *loop = (tir_stmt *)tir_for(n->arena, &n->vars[d], number(n, 0), number(n, n->extents[d]), kind, s);
    loop->u.loop.peel = pick(n, 3) == 0;
    s = loop;
    if (pick(n, 6) == 0) s = tir_attr(n->arena, "auto_unroll_max_step", 16, s);
  }
  return s;
}

static tir_func *random_func(nest *n) {
  static const char *const names[] = {"i.outer", "i.inner", "j.outer", "j.inner"};
  n->n_loops = 4;
  for (int d = 0; d < 4; d++) {
    n->vars[d] = (tir_var){names[d], TN_I32};
    n->extents[d] = 1 + pick(n, d % 2 ? 9 : 4);
  }
  for (int d = 0; d < 2; d++) {
    int64_t covered = n->extents[2 * d] * n->extents[2 * d + 1], less = pick(n, 3) * pick(n, 5);
    n->size[d] = covered > less ? covered - less : covered;
  }
  n->a = (tir_buffer){.name = "A",
                      .dtype = TN_F32,
                      .ndim = 2,
                      .shape = {n->size[0], n->size[1]},
                      .scope = "global",
                      .is_param = true,
                      .is_input = true};
  n->c = (tir_buffer){
      .name = "C", .dtype = TN_F32, .ndim = 2, .shape = {n->size[0], n->size[1]}, .scope = "global", .is_param = true};
  n->t = (tir_buffer){.name = "T", .dtype = TN_F32, .ndim = 1, .shape = {1}, .scope = "local"};
  const tir_expr *i = axis(n, 0), *j = axis(n, 1);
  const tir_stmt *inside = innermost(n, i, j);
  if (pick(n, 3) == 0) inside = partly_guarded(n, i, j, inside);
  const tir_stmt *body = wrap_loops(n, guarded(n, i, j, inside));
  tir_func *f = RUNTIME_NEW(n->arena, tir_func);
  const tir_buffer **params = RUNTIME_NEW_ARRAY(n->arena, const tir_buffer *, 2);
  params[0] = &n->a, params[1] = &n->c;
  *f = (tir_func){.name = "f", .n_params = 2, .n_inputs = 1, .params = params, .index_dtype = TN_I32, .body = body};
  return f;
}

static void expect_same(nest *n, const char *name, const tir_func *before, const tir_func *after, uint64_t seed) {
  const char *difference = same_effect(before, after, seed);
  if (difference == NULL) return;
  fail_msg("seed %lu, %s: %s\n%s\nbecame\n%s", (unsigned long)seed, name, difference, print_func(n->arena, before),
           print_func(n->arena, after));
}

/* Whether a pass needs what others establish. */
static bool stands_alone(const char *name) { return strcmp(name, "vectorize") != 0 && strcmp(name, "unroll") != 0; }

/* What is printed parses to the same text and to the same effect. */
static void expect_text_to_parse(nest *n, tn_context *ctx, const tir_func *f, uint64_t seed) {
  runtime_str out = {0}, again = {0};
  tir_print_func(&out, f);
  tir_func *parsed = tir_parse_func(ctx, n->arena, out.data);
  check_ok(ctx);
  tir_print_func(&again, parsed);
  check_text(again.data, out.data);
  expect_same(n, "parsed text", f, parsed, seed);
  runtime_str_free(&out);
  runtime_str_free(&again);
}

static void one_nest(uint64_t seed) {
  runtime_arena arena = {0};
  nest n = {.arena = &arena, .rng = {seed}};
  tn_context *ctx = check_context();
  tir_pass_context p = {.ctx = ctx, .arena = &arena, .options = {.max_unrolled_body = 64, .check = true}};
  tir_func *f = random_func(&n);
  assert_int_equal(tir_check(ctx, f), TN_OK);
  for (const tir_pass *pass = tir_passes; pass->name != NULL; pass++) {
    if (!stands_alone(pass->name)) continue;
    tir_func *after = pass->run(&p, f);
    expect_same(&n, pass->name, f, after, seed);
    if (seed % 4 == 0) expect_text_to_parse(&n, ctx, after, seed);
  }
  tir_func *whole = tir_run_pipeline(&p, f);
  check_ok(ctx);
  expect_same(&n, "pipeline", f, whole, seed);
  expect_text_to_parse(&n, ctx, whole, seed);
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

enum { NESTS = 300 };

static void nests(void **state) {
  const uint64_t *start = *state;
  for (uint64_t seed = *start; seed < *start + NESTS; seed++) one_nest(seed);
}

static uint64_t starts[] = {1, 10001, 20001, 30001, 40001};

int test_passes_random(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(nests, &starts[0]), cmocka_unit_test_prestate(nests, &starts[1]),
      cmocka_unit_test_prestate(nests, &starts[2]), cmocka_unit_test_prestate(nests, &starts[3]),
      cmocka_unit_test_prestate(nests, &starts[4]),
  };
  return CHECK_TESTS("tir random loop nests", tests);
}
