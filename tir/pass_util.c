/* pass_util.c: small things that several passes need: environments of loops, lists of conditions, empty statements,
 * copies of a buffer. */
#include "tir/passes.h"

/* A copy: the function before the pass stays as it was and may be dumped or compared. */
tir_func *tir_func_with_body(tir_pass_context *p, tir_func *f, const tir_stmt *body) {
  if (body == f->body) return f;
  tir_func *copy = body != NULL ? runtime_copy(p->arena, f, sizeof *f) : NULL;
  if (copy == NULL) {
    runtime_fail(p->ctx, TN_ERROR_MEMORY, "out of memory while lowering \"%s\"", f->name);
    return NULL;
  }
  copy->body = body;
  return copy;
}

/* A loop of constant bounds is an interval. Any other gives var < min + extent as a condition, too,
 * from which sharper answers follow than from two intervals. */
tir_env tir_env_loop(runtime_arena *arena, const tir_env *outer, const tir_stmt *loop) {
  tir_env env = {.outer = outer, .var = loop->u.loop.var};
  int64_t min, extent;
  if (tir_const_loop(loop, &min, &extent)) {
    env.range = (tir_interval){min, min + extent - 1};
    return env;
  }
  tir_interval low = tir_bounds(outer, loop->u.loop.min), n = tir_bounds(outer, loop->u.loop.extent);
  env.range = (tir_interval){low.lo, INT64_MAX};
  if (low.hi == INT64_MAX || n.hi == INT64_MAX || __builtin_add_overflow(low.hi, n.hi - 1, &env.range.hi)) {
    env.range.hi = INT64_MAX;
  }
  const tir_expr *var = tir_var_expr(arena, loop->u.loop.var);
  const tir_expr *end = tir_binary(arena, TIR_ADD, loop->u.loop.min, loop->u.loop.extent);
  env.cond = tir_binary(arena, TIR_LT, var, end);
  return env;
}

/* An IF with an ELSE adds nothing: the condition would hold on one side only. */
const tir_env *tir_env_inside(runtime_arena *arena, const tir_env *outer, const tir_stmt *s, tir_env *own) {
  bool is_branch = s->kind == TIR_IF && s->u.branch.else_body == NULL;
  if (s->kind != TIR_FOR && !is_branch) return outer;
  *own = is_branch ? tir_env_cond(outer, s->u.branch.cond) : tir_env_loop(arena, outer, s);
  return own;
}

/* An IF whose THEN is empty is turned round. */
const tir_stmt *tir_drop_empty(runtime_arena *arena, const tir_stmt *s) {
  if (s == NULL) return NULL;
  const tir_stmt *body = tir_body(s);
  if (body != NULL && body->kind == TIR_NOP) return body;
  if (s->kind != TIR_IF) return s;
  const tir_stmt *then_body = s->u.branch.then_body, *else_body = s->u.branch.else_body;
  bool no_else = else_body == NULL || else_body->kind == TIR_NOP;
  if (then_body->kind == TIR_NOP) {
    if (no_else) return then_body;
    return tir_if(arena, tir_unary(arena, TIR_NOT, s->u.branch.cond), else_body, NULL);
  }
  return no_else ? tir_if_with(arena, s, s->u.branch.cond, then_body, NULL) : s;
}

/* A CALL counts as one, whatever it does. */
static tir_walk count_store(void *user, const tir_stmt *s) {
  if (s->kind == TIR_STORE || s->kind == TIR_CALL) ++*(int64_t *)user;
  return TIR_WALK_ON;
}

int64_t tir_count_stores(const tir_stmt *s) {
  int64_t n = 0;
  tir_visitor visitor = {.stmt = count_store, .user = &n};
  tir_walk_stmt(s, &visitor);
  return n;
}

/* ---- lists of conditions ----------------------------------------------------------------------------------------- */

/* ANDs are taken apart in any nesting. What was appended before the list was full stays in it. */
bool tir_conds_add(tir_conds *conds, const tir_expr *cond) {
  if (cond->op == TIR_AND) return tir_conds_add(conds, cond->arg[0]) && tir_conds_add(conds, cond->arg[1]);
  if (conds->n == TIR_MAX_CONDS) return false;
  conds->item[conds->n++] = cond;
  return true;
}

bool tir_conds_has(const tir_conds *conds, const tir_expr *cond) {
  for (int i = 0; i < conds->n; i++) {
    if (tir_equal(conds->item[i], cond)) return true;
  }
  return false;
}

/* The conjunction, true of no conditions. In order, leaning left: guards of loads stay in front of them. */
static const tir_expr *join_conds(runtime_arena *arena, const tir_conds *conds) {
  if (conds->n == 0) return tir_int(arena, TN_BOOL, 1);
  const tir_expr *joined = conds->item[0];
  for (int i = 1; i < conds->n; i++) joined = tir_binary(arena, TIR_AND, joined, conds->item[i]);
  return joined;
}

const tir_stmt *tir_conds_guard(runtime_arena *arena, const tir_conds *conds, const tir_stmt *body) {
  return conds->n == 0 ? body : tir_if(arena, join_conds(arena, conds), body, NULL);
}

/* ---- copies of a buffer ------------------------------------------------------------------------------------------ */

/* Strides are not moved along: what is allocated has none. */
const tir_buffer *tir_buffer_copies(runtime_arena *arena, const tir_buffer *buffer, int64_t n) {
  tir_buffer *all = runtime_copy(arena, buffer, sizeof *all);
  if (all == NULL) return NULL;
  memmove(all->shape + 1, all->shape, sizeof *all->shape * (size_t)all->ndim);
  memmove(all->size + 1, all->size, sizeof *all->size * (size_t)all->ndim);
  all->shape[0] = n;
  all->size[0] = NULL;
  all->ndim++;
  return all;
}

/* Accesses to FROM go to the copy AT of TO. */
typedef struct copying {
  runtime_arena *arena;
  const tir_buffer *from, *to;
  const tir_expr *at;
} copying;

/* Which copy, then the place in it. */
static void place_in_copy(const copying *c, int n, const tir_expr *const *index, const tir_expr **out) {
  out[0] = c->at;
  for (int i = 0; i < n; i++) out[i + 1] = index[i];
}

static const tir_expr *load_of_copy(void *user, const tir_expr *e) {
  const copying *c = user;
  const tir_expr *index[TN_MAX_RANK];
  if (e->op != TIR_LOAD || e->u.buffer != c->from) return e;
  place_in_copy(c, tir_n_index(e), e->arg, index);
  return tir_load(c->arena, c->to, c->to->ndim, index, tir_predicate(e));
}

/* Calls are the caller's to rule out: what they touch lies in one piece, which a copy may not. */
static const tir_stmt *access_of_copy(void *user, const tir_stmt *s) {
  const copying *c = user;
  const tir_expr *index[TN_MAX_RANK];
  if (s->kind == TIR_STORE && s->u.store.buffer == c->from) {
    place_in_copy(c, s->u.store.n_index, s->u.store.index, index);
    return tir_store(c->arena, c->to, c->to->ndim, index, s->u.store.value, s->u.store.predicate);
  }
  if (s->kind != TIR_PREFETCH || s->u.prefetch.buffer != c->from) return s;
  place_in_copy(c, s->u.prefetch.n_index, s->u.prefetch.index, index);
  return tir_prefetch(c->arena, c->to, c->to->ndim, index);
}

const tir_stmt *tir_in_copy(runtime_arena *arena, const tir_stmt *s, const tir_buffer *from, const tir_buffer *to,
                            const tir_expr *at) {
  copying c = {arena, from, to, at};
  tir_rewriter rewriter = {arena, access_of_copy, load_of_copy, &c};
  return tir_rewrite_stmt(&rewriter, s);
}
