/* The index dtype: i32 as long as everything fits it, i64 beyond, a refusal where not even that is shown. What fits is
 * judged here without intervals: all loops stand at their first or their last iteration, in many combinations, and every
 * part of every index is computed exactly. Nothing is allocated. */
#include "tests/schedule/tests.h"
#include "tir/passes.h"

typedef __int128 wide;
enum { CORNERS = 200, MAX_LOOPS = 64 };

/* ---- the judge --------------------------------------------------------------------------------------------------- */

typedef struct corner {
  const tir_func *f;
  runtime_rng rng;
  int n;
  struct {
    const tir_var *var;
    wide value;
  } at[MAX_LOOPS];
  wide most; /* the greatest part of an index, without its sign */
} corner;

static wide value_of(corner *c, const tir_expr *e, bool judged);

static wide value_of_var(const corner *c, const tir_var *var) {
  for (int i = c->n - 1; i >= 0; i--)
    if (c->at[i].var == var) return c->at[i].value;
  fail_msg("%s is not bound", var->name);
  return 0;
}

static wide floor_div(wide a, wide b) {
  wide q = b ? a / b : 0;
  return q * b != a && b && (a < 0) != (b < 0) ? q - 1 : q;
}

static wide apply(const tir_expr *e, wide a, wide b) {
  wide q = floor_div(a, b);
  const wide results[TIR_OP_COUNT] = {
      [TIR_ADD] = a + b,
      [TIR_SUB] = a - b,
      [TIR_MUL] = a * b,
      [TIR_FLOORDIV] = q,
      [TIR_FLOORMOD] = b ? a - b * q : 0,
      [TIR_MIN] = a < b ? a : b,
      [TIR_MAX] = a > b ? a : b,
      [TIR_LT] = a<b, [TIR_LE] = a <= b, [TIR_GT] = a> b,
      [TIR_GE] = a >= b,
      [TIR_EQ] = a == b,
      [TIR_NE] = a != b,
      [TIR_AND] = a && b,
      [TIR_OR] = a || b,
  };
  return results[e->op];
}

/* Of lanes, the last. Data is 0; what it is read at is looked at by visit_expr. */
static wide value_of(corner *c, const tir_expr *e, bool judged) {
  wide result;
  if (e->op == TIR_INT)
    result = e->u.i;
  else if (e->op == TIR_VAR)
    result = value_of_var(c, e->u.var);
  else if (e->op == TIR_RAMP)
    result = value_of(c, e->arg[0], judged) + (wide)e->u.i * (e->lanes - 1);
  else if (e->op == TIR_BROADCAST || e->op == TIR_CAST || e->op == TIR_NOT)
    result = value_of(c, e->arg[0], judged), result = e->op == TIR_NOT ? !result : result;
  else if (e->n_args == 2 && e->op != TIR_LOAD)
    result = apply(e, value_of(c, e->arg[0], judged), value_of(c, e->arg[1], judged));
  else
    return 0;
  wide size = result < 0 ? -result - 1 : result;
  if (judged && e->dtype == c->f->index_dtype && size > c->most) c->most = size;
  return result;
}

static tir_walk visit_expr(void *user, const tir_expr *e) {
  corner *c = user;
  if (e->op == TIR_LOAD) {
    const tir_expr *predicate = tir_predicate(e);
    if (predicate && !value_of(c, predicate, true)) return TIR_WALK_PRUNE;
    for (int i = 0; i < e->n_args; i++) value_of(c, e->arg[i], true);
  }
  if (e->op == TIR_SELECT) value_of(c, e->arg[0], true);
  return TIR_WALK_ON;
}

static void visit(corner *c, const tir_stmt *s);

static void visit_loop(corner *c, const tir_stmt *s) {
  wide min = value_of(c, s->u.loop.min, true), extent = value_of(c, s->u.loop.extent, true);
  if (extent < 1) return;
  assert_true(c->n < MAX_LOOPS);
  c->at[c->n].var = s->u.loop.var;
  c->at[c->n++].value = runtime_random_below(&c->rng, 2) ? min + extent - 1 : min;
  visit(c, s->u.loop.body);
  c->n--;
}

static void visit_store(corner *c, const tir_stmt *s) {
  if (s->u.store.predicate && !value_of(c, s->u.store.predicate, true)) return;
  for (int i = 0; i < s->u.store.n_index; i++) value_of(c, s->u.store.index[i], true);
  tir_walk_expr(s->u.store.value, visit_expr, c);
}

static void visit(corner *c, const tir_stmt *s) {
  if (s->kind == TIR_FOR) visit_loop(c, s);
  if (s->kind == TIR_STORE) visit_store(c, s);
  if (s->kind == TIR_SEQ)
    for (int i = 0; i < s->u.seq.n; i++) visit(c, s->u.seq.stmts[i]);
  if (s->kind == TIR_ALLOC) visit(c, s->u.alloc.body);
  if (s->kind == TIR_ATTR) visit(c, s->u.attr.body);
  if (s->kind != TIR_IF) return;
  tir_walk_expr(s->u.branch.cond, visit_expr, c);
  if (value_of(c, s->u.branch.cond, true))
    visit(c, s->u.branch.then_body);
  else if (s->u.branch.else_body)
    visit(c, s->u.branch.else_body);
}

/* Symbols and strides are as small or as large as they can be. With i64 an argument is at most as large as memory, which
 * a call checks: then they are at most 2^20 here. */
static wide greatest_part(const tir_func *f) {
  int64_t limit = f->index_dtype == TN_I64 ? 1 << 20 : INT32_MAX;
  corner c = {.f = f, .rng = {1}};
  for (int i = 0; i < CORNERS; i++) {
    c.n = 0;
    for (const tir_env *env = f->env; env; env = env->outer) {
      if (!env->var) continue;
      c.at[c.n].var = env->var;
      c.at[c.n++].value = i % 4 ? RUNTIME_MIN(env->range.hi, limit) : env->range.lo;
    }
    visit(&c, f->body);
  }
  return c.most;
}

static void judge(const tir_func *f, tn_dtype expected) {
  wide most = greatest_part(f), limit = expected == TN_I32 ? INT32_MAX : INT64_MAX;
  assert_int_equal(f->index_dtype, expected);
  if (most > limit) fail_msg("a part of an index is %.17g", (double)most);
}

/* ---- the edges --------------------------------------------------------------------------------------------------- */

static const struct width_row {
  const char *name, *program, *schedule;
  tn_dtype dtype;
} rows[] = {
    {"2^31 - 1 elements", "C[i<2147483647] = A[i] + 1", "", TN_I32},
    {"2^31 elements", "C[i<65536, j<32768] = A[i,j] + 1", "", TN_I32},
    {"2^31 + 1 elements", "C[i<3, j<715827883] = A[i,j] + 1", "", TN_I64},
    {"2^31 elements, two tensors that are read elsewhere", "C[i<65536, j<32768] = A[j,i] * B[i]", "", TN_I32},
    {"2^31 elements, the last index first", "C[i<32768, j<65536] = A[32767 - i, 65535 - j]", "", TN_I32},
    {"an input alone has 2^31 elements", "input A: f32[2, 1073741824]\nC[i<2] = A[i, i]", "", TN_I32},
    {"an input alone has 2^31 + 2 elements", "input A: f32[2, 1073741825]\nC[i<2] = A[i, i]", "", TN_I64},
    {"a scratch tensor alone has 2^31 + 2 elements",
     "T[t<2, i<1073741825] = A[i] + B[t]\nC[t<2] = sum[i<1073741825](T[t,i])", "", TN_I64},
    {"the same a half at a time", "T[t<2, i<1073741825] = A[i] + B[t]\nC[t<2] = sum[i<1073741825](T[t,i])",
     "compute_at(T, C, t)", TN_I32},
    {"the same in two halves", "T[t<2, i<1073741825] = A[i] + B[t]\nC[t<2] = sum[i<1073741825](T[t,i])",
     "compute_at(T, C, t); double_buffer(T)", TN_I64},
    {"fused to 2^31 - 2", "C[i<3, j<715827882] = A[i,j] + 1", "fuse(C, i, j)", TN_I32},
    {"fused to 2^31", "C[i<65536, j<32768] = A[i,j] + 1", "fuse(C, i, j)", TN_I64},
    {"fused beyond, of a reduction over one element", "C[i<4] = sum[a<65536, b<32769](A[i])", "fuse(C, a, b)", TN_I64},
    {"the same apart", "C[i<4] = sum[a<65536, b<32769](A[i])", "", TN_I32},
    {"a split that rounds up to 2^31", "C[i<2147483647] = A[i] + 1", "split(C, i, 8)", TN_I32},
    {"a split that rounds up to 2^31 + 4", "C[i<2147483647] = A[i] + 1", "split(C, i, 7)", TN_I64},
    {"two splits that round up beyond", "C[i<2147483647] = A[i] + 1", "split(C, i, 8); split(C, i.outer, 3)", TN_I64},
    {"a mask up to 2^31", "C[i<2147483647] = A[i] + 1", "split(C, i, 16, tail=mask); vectorize(C, i.inner)", TN_I32},
    {"peeled up to 2^31", "C[i<2147483641] = A[i] + 1", "split(C, i, 16, tail=peel); vectorize(C, i.inner)", TN_I32},
    {"overlapping up to the end", "C[i<2147483647] = A[i] + 1", "split(C, i, 7, tail=overlap)", TN_I32},
    {"padded to 2^31 elements", "P[i<65536, j<32765] = A[i,j] * 2\nC[i<65536, j<32765] = P[i,j] + 1",
     "split(P, j, 8, tail=pad)", TN_I32},
    {"padded beyond", "P[i<65537, j<32765] = A[i,j] * 2\nC[i<65537, j<32765] = P[i,j] + 1", "split(P, j, 8, tail=pad)",
     TN_I64},
    {"rows aligned beyond", "P[i<65536, j<32766] = A[i,j] * 2\nC[i<65536, j<32766] = P[i,j] + 1",
     "storage_align(P, i, 64, 33)", TN_I64},
    {"a layout that rounds up beyond", "P[i<65537, j<32765] = A[i,j] * 2\nC[i<65537, j<32765] = P[i,j] + 1",
     "transform_layout(P, [i, j] -> [j//16, i, j%16])", TN_I64},
    {"a layout that fits", "P[i<65536, j<32765] = A[i,j] * 2\nC[i<65536, j<32765] = P[i,j] + 1",
     "transform_layout(P, [i, j] -> [j//16, i, j%16])", TN_I32},
    {"a prefetch beyond the last iteration", "C[i<2147483647] = A[i] + 1", "prefetch(C, A, i, 64)", TN_I64},
    {"a symbol up to 2^31 - 2", "symbol M<=2147483646\nC[i<M] = A[i] + 1", "", TN_I32},
    {"a symbol that is rounded up", "symbol M<=2147483646\nC[i<M] = A[i] + 1", "split(C, i, 16)", TN_I64},
    {"a symbol that may be rounded up", "symbol M<=2147483632\nC[i<M] = A[i] + 1", "split(C, i, 16)", TN_I32},
    {"symbols up to 2^31 elements", "symbol M<=46340, N<=46340\nC[i<M, j<N] = A[i,j] + 1", "", TN_I32},
    {"symbols beyond", "symbol M<=46341, N<=46341\nC[i<M, j<N] = A[i,j] + 1", "", TN_I64},
    {"symbols of any size", "symbol M, N\nC[i<M, j<N] = A[j,i] + 1", "", TN_I64},
    {"three symbols of any size", "symbol M, N, K\nC[i<M, j<N, k<K] = A[i,j,k] + 1", "", TN_I64},
    {"fused symbols", "symbol M<=46341, N<=46341\nC[i<M] = sum[a<M, b<N](A[i]*B[b])", "fuse(C, a, b)", TN_I64},
    {"symbols, peeled", "symbol M<=2147483000\nC[i<M] = A[i] + 1", "split(C, i, 16, tail=peel); vectorize(C, i.inner)",
     TN_I32},
    {"strides of a call", "input A: f32[4, 8] strided\nC[i<4, j<8] = A[i,j] + 1", "", TN_I64},
    {"a program that wraps where it does not read",
     "input A: f32[2147483647]\nC[i<100] = select(i < 8, A[i*268435455], 0)", "", TN_I64},
    {"a product that is data", "C[i<65536, j<32768] = i32(i)*i32(j)*A[j]", "", TN_I32},
    {"a strided read up to the end", "input A: f32[2147483647]\nC[i<8] = A[i*306783378]", "", TN_I32},
};

static void has_width(void **state) {
  const struct width_row *row = *state;
  fixture f = fixture_new(row->program, row->schedule);
  runtime_arena arena = {0};
  tir_func *lowered = schedule_lower(f.s, "f", &arena);
  check_ok(f.ctx);
  judge(lowered, row->dtype);
  tir_func *after = schedule_lower_and_optimize(f.s, "f", &arena);
  check_ok(f.ctx);
  judge(after, row->dtype);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* ---- refusals and warnings --------------------------------------------------------------------------------------- */

static void beyond_i64_is_refused(void **state) {
  (void)state;
  fixture f = fixture_new("C[i<4] = sum[a<2, b<2147483647, c<2147483647](A[i])",
                          "fuse(C, a, b, c); split(C, a.b.c.fused, 2147483646); "
                          "split(C, a.b.c.fused.outer, 2147483646)");
  runtime_arena arena = {0};
  char *before = print_form(f.s, TN_FORM_STEPS);
  assert_null(schedule_lower(f.s, "f", &arena));
  check_fails(f.ctx, TN_ERROR_LOWER,
              "C: axis a can reach 1.384e+19 in (a.b.c.fused.outer.outer*2147483646i64 + a.b.c.fused.outer.inner)"
              "*2147483646i64, and an index of int64 at most 9223372036854775806: fuse fewer loops");
  char *after = print_form(f.s, TN_FORM_STEPS);
  assert_string_equal(after, before);
  free(after);
  free(before);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* It is lowered twice. */
static void what_has_no_effect_is_said_once(void **state) {
  (void)state;
  fixture f = fixture_new("symbol M<=2147483646\nC[i<M] = A[i] + 1", "split(C, i, 16, tail=mask)");
  runtime_arena arena = {0};
  assert_int_equal(schedule_lower(f.s, "f", &arena)->index_dtype, TN_I64);
  const char *said = check_messages(f.ctx), *first = strstr(said, "tail mask has no effect");
  assert_non_null(first);
  assert_null(strstr(first + 1, "tail mask"));
  runtime_arena_free(&arena);
  fixture_free(&f);
}

int test_width(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(beyond_i64_is_refused),
                                     cmocka_unit_test(what_has_no_effect_is_said_once)};
  return CHECK_TABLE("index dtype", rows, has_width) + CHECK_TESTS("index dtype, refused", tests);
}
