/* rewrite.c: bottom-up rewriting of expressions and statements, and substitution on top of it. Results of interior
 * nodes are remembered, so a shared subexpression is rewritten once and stays shared. */
#include "tir/internal.h"

/* A rewriter at work, with what it has made so far. */
typedef struct rewriting {
  const tir_rewriter *by;
  tir_memo *memo;
} rewriting;

static const tir_expr *rewrite_node(rewriting *r, const tir_expr *e);

/* The node with rewritten arguments. */
static const tir_expr *rewrite_args(rewriting *r, const tir_expr *e) {
  const tir_expr *small[4], **args = small;
  if (e->n_args > RUNTIME_COUNT(small)) args = RUNTIME_NEW_ARRAY(r->by->arena, const tir_expr *, e->n_args);
  if (args == NULL) return NULL;
  for (int i = 0; i < e->n_args; i++) {
    if ((args[i] = rewrite_node(r, e->arg[i])) == NULL) return NULL;
  }
  return tir_with_args(r->by->arena, e, args);
}

/* Leaves are handed to the callback each time, interior nodes once. */
static const tir_expr *rewrite_node(rewriting *r, const tir_expr *e) {
  if (e->n_args == 0) return r->by->expr(r->by->user, e);
  const tir_expr *done = tir_memo_get(r->memo, e);
  if (done != NULL) return done;
  const tir_expr *result = rewrite_args(r, e);
  if (result != NULL) result = r->by->expr(r->by->user, result);
  if (result != NULL) tir_memo_put(r->memo, e, result);
  return result;
}

/* The memo lives for one call. Without memory the result is NULL: a half-rewritten DAG would be wrong. */
const tir_expr *tir_rewrite_expr(const tir_rewriter *rewriter, const tir_expr *e) {
  if (e == NULL || rewriter->expr == NULL) return e;
  if (e->n_args == 0) return rewriter->expr(rewriter->user, e);
  tir_memo memo;
  tir_memo_init(&memo);
  rewriting r = {rewriter, &memo};
  const tir_expr *result = rewrite_node(&r, e);
  return tir_memo_end_for(rewriter->arena, &memo) ? result : NULL;
}

/* Expressions of one statement share the memo with all others of the function. */
static const tir_expr *rewrite_part(void *user, const tir_expr *e) {
  rewriting *r = user;
  return r->by->expr == NULL ? e : rewrite_node(r, e);
}

/* The statement's own expressions first, then its children, then the callback. */
static const tir_stmt *rewrite_stmt(void *user, const tir_stmt *s) {
  rewriting *r = user;
  s = tir_map_exprs(r->by->arena, s, rewrite_part, r);
  if (s != NULL) s = tir_map_children(r->by->arena, s, rewrite_stmt, r);
  return s == NULL || r->by->stmt == NULL ? s : r->by->stmt(r->by->user, s);
}

/* A node that is shared is rewritten once. NULL when memory ended or a rewriter returned it. */
const tir_stmt *tir_rewrite_stmt(const tir_rewriter *rewriter, const tir_stmt *s) {
  if (s == NULL) return NULL;
  tir_memo memo;
  tir_memo_init(&memo);
  rewriting r = {rewriter, &memo};
  const tir_stmt *result = rewrite_stmt(&r, s);
  return tir_memo_end_for(rewriter->arena, &memo) ? result : NULL;
}

/* ---- substitution ------------------------------------------------------------------------------------------------ */

/* What variables become. */
typedef struct bindings {
  int n;
  const tir_binding *items;
} bindings;

/* Linear in the bindings, which are the loops of one scope. */
static const tir_expr *replace_var(void *user, const tir_expr *e) {
  if (e->op != TIR_VAR) return e;
  const bindings *b = user;
  for (int i = 0; i < b->n; i++) {
    if (b->items[i].var == e->u.var) return b->items[i].value;
  }
  return e;
}

const tir_expr *tir_substitute(runtime_arena *arena, const tir_expr *e, int n, const tir_binding *items) {
  bindings b = {n, items};
  tir_rewriter rewriter = {arena, NULL, replace_var, &b};
  return tir_rewrite_expr(&rewriter, e);
}

const tir_stmt *tir_substitute_stmt(runtime_arena *arena, const tir_stmt *s, int n, const tir_binding *items) {
  bindings b = {n, items};
  tir_rewriter rewriter = {arena, NULL, replace_var, &b};
  return tir_rewrite_stmt(&rewriter, s);
}
