/* pass_util.c: small things that several passes need: environments of loops, lists of conditions, empty statements. */
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
