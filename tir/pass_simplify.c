/* pass_simplify.c: simplifies every expression of a function by what is known where it stands; decides branches,
 * replaces the variable of a loop of one iteration by its value. */
#include "tir/passes.h"

enum { MAX_BINDINGS = 32 };

/* ENV grows and shrinks with the walk, on the C stack. */
typedef struct state {
  runtime_arena *arena;
  const tir_env *env;
  bool only_bound; /* leave expressions without a bound variable alone */
  int n_bindings;  /* variables of loops of one iteration */
  tir_binding *bindings;
} state;

static const tir_stmt *simplify(void *user, const tir_stmt *s);

/* Substitution first: the value of a loop of one iteration may decide a condition. */
static const tir_expr *simplify_expr(void *user, const tir_expr *e) {
  state *at = user;
  const tir_expr *bound = e;
  if (at->n_bindings > 0) bound = tir_substitute(at->arena, e, at->n_bindings, at->bindings);
  return at->only_bound && bound == e ? e : tir_simplify(at->arena, at->env, bound);
}

/* S in a scope further in. */
static const tir_stmt *simplify_under(state *at, tir_env env, const tir_stmt *s) {
  const tir_env *outer = at->env;
  at->env = &env;
  s = simplify(at, s);
  at->env = outer;
  return s;
}

/* The body with the variable bound to MIN. */
static const tir_stmt *simplify_single(state *at, const tir_stmt *s) {
  if (at->n_bindings == MAX_BINDINGS) {
    tir_binding binding = {s->u.loop.var, s->u.loop.min};
    return simplify(at, tir_substitute_stmt(at->arena, s->u.loop.body, 1, &binding));
  }
  at->bindings[at->n_bindings++] = (tir_binding){s->u.loop.var, s->u.loop.min};
  const tir_stmt *body = simplify(at, s->u.loop.body);
  at->n_bindings--;
  return body;
}

/* No iteration: nothing; one: the body; else the loop with its range known inside. */
static const tir_stmt *simplify_for(state *at, const tir_stmt *s) {
  int64_t extent;
  s = tir_map_exprs(at->arena, s, simplify_expr, at);
  if (s == NULL) return NULL;
  if (tir_is_int(s->u.loop.extent, &extent)) {
    if (extent <= 0) return tir_nop(at->arena);
    if (extent == 1) return simplify_single(at, s);
  }
  const tir_stmt *body = simplify_under(at, tir_env_loop(at->arena, at->env, s), s->u.loop.body);
  return tir_drop_empty(at->arena, tir_for_with(at->arena, s, s->u.loop.min, s->u.loop.extent, body));
}

/* A decided condition leaves one body; an open one is known in the first, its opposite in the second. */
static const tir_stmt *simplify_branch(state *at, const tir_stmt *s) {
  const tir_expr *cond = simplify_expr(at, s->u.branch.cond);
  const tir_stmt *else_body = s->u.branch.else_body;
  int64_t value;
  if (cond == NULL) return NULL;
  if (tir_is_int(cond, &value)) {
    if (value) return simplify(at, s->u.branch.then_body);
    return else_body != NULL ? simplify(at, else_body) : tir_nop(at->arena);
  }
  const tir_stmt *then_body = simplify_under(at, tir_env_cond(at->env, cond), s->u.branch.then_body);
  if (then_body != NULL && else_body != NULL) {
    const tir_expr *otherwise = tir_unary(at->arena, TIR_NOT, cond);
    if (otherwise == NULL) return NULL;
    else_body = simplify_under(at, tir_env_cond(at->env, otherwise), else_body);
    if (else_body == NULL) return NULL;
  }
  return tir_drop_empty(at->arena, tir_if_with(at->arena, s, cond, then_body, else_body));
}

/* Statements whose parts are not expressions are rebuilt around their children. */
static const tir_stmt *simplify(void *user, const tir_stmt *s) {
  state *at = user;
  if (s == NULL) return NULL;
  switch (s->kind) {
    case TIR_FOR: return simplify_for(at, s);
    case TIR_IF: return simplify_branch(at, s);
    case TIR_STORE:
    case TIR_CALL:
    case TIR_PREFETCH: return tir_map_exprs(at->arena, s, simplify_expr, at);
    case TIR_ALLOC:
    case TIR_ATTR:
    case TIR_SEQ:
    case TIR_NOP: break;
  }
  return tir_drop_empty(at->arena, tir_map_children(at->arena, s, simplify, at));
}

/* At most MAX_BINDINGS loops of one iteration inside each other are replaced; deeper ones stay loops. */
const tir_stmt *tir_simplify_stmt(runtime_arena *arena, const tir_env *env, const tir_binding *binding,
                                  const tir_stmt *s) {
  tir_binding bindings[MAX_BINDINGS];
  state at = {.arena = arena, .env = env, .bindings = bindings};
  if (binding != NULL) {
    bindings[at.n_bindings++] = *binding;
    at.only_bound = true;
  }
  return simplify(&at, s);
}

/* Requires: nothing. Establishes: expressions in canonical form, no branch on a provable condition, no loop of zero or
 * one iteration, nothing empty. Breaks: nothing. */
tir_func *tir_pass_simplify(tir_pass_context *p, tir_func *f) {
  return tir_func_with_body(p, f, tir_simplify_stmt(p->arena, f->env, NULL, f->body));
}
