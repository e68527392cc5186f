/* pass_guard_loads.c: gives loads that only one side of a select (or the right side of && and ||) may make, and that
 * could leave their buffer otherwise, the condition under which they are made as a predicate. */
#include "tir/passes.h"

/* What holds where an expression is evaluated; loops and branches are in env, the rest is in conds. */
typedef struct state {
  runtime_arena *arena;
  const tir_env *env;
  const tir_expr *cond; /* conjunction of the selects around, NULL: none */
  tir_memo *memo;       /* results under this condition */
} state;

static const tir_expr *guard(state *at, const tir_expr *e);

/* SIDE where COND (or with HOLDS false: its opposite) is also known. */
static const tir_expr *guard_under(state *at, const tir_expr *cond, bool holds, const tir_expr *side) {
  if (!tir_reads_memory(side)) return side;
  tir_memo memo;
  tir_memo_init(&memo);
  if (!holds) cond = tir_unary(at->arena, TIR_NOT, cond);
  state inner = {at->arena, at->env, at->cond == NULL ? cond : tir_binary(at->arena, TIR_AND, at->cond, cond), &memo};
  const tir_expr *result = inner.cond != NULL ? guard(&inner, side) : NULL;
  return tir_memo_end_for(at->arena, &memo) ? result : NULL;
}

/* A load that gives 0 where its predicate fails is the whole of select(predicate, load, 0). */
static const tir_expr *guard_select(state *at, const tir_expr *e) {
  const tir_expr *cond = guard(at, e->arg[0]);
  if (cond == NULL) return NULL;
  const tir_expr *args[3] = {cond, guard_under(at, cond, true, e->arg[1]), guard_under(at, cond, false, e->arg[2])};
  if (args[1] == NULL || args[2] == NULL) return NULL;
  const tir_expr *loaded = args[1]->op == TIR_LOAD ? tir_predicate(args[1]) : NULL;
  bool zero = (args[2]->op == TIR_INT && args[2]->u.i == 0) ||
              (args[2]->op == TIR_FLOAT && memcmp(&args[2]->u.f, &(double){0}, sizeof(double)) == 0);
  if (loaded != NULL && zero && tir_equal(loaded, cond)) return args[1];
  return tir_with_args(at->arena, e, args);
}

/* The right side is evaluated where the left one leaves the matter open. */
static const tir_expr *guard_junction(state *at, const tir_expr *e) {
  const tir_expr *left = guard(at, e->arg[0]);
  if (left == NULL) return NULL;
  const tir_expr *args[2] = {left, guard_under(at, left, e->op == TIR_AND, e->arg[1])};
  return args[1] == NULL ? NULL : tir_with_args(at->arena, e, args);
}

/* Proved, with an extent that symbols decide. */
static bool is_below(const state *at, const tir_expr *index, const tir_expr *size) {
  index = tir_cast(at->arena, (tn_dtype)size->dtype, index);
  const tir_expr *cond = index != NULL ? tir_binary(at->arena, TIR_LT, index, size) : NULL;
  return cond != NULL && tir_prove(at->arena, at->env, cond);
}

/* Whether every index is provably within its dimension by what AT's scope says. */
static bool stays_inside(const state *at, const tir_expr *load) {
  const tir_buffer *buffer = load->u.buffer;
  for (int i = 0; i < tir_n_index(load); i++) {
    const tir_expr *simple = tir_simplify(at->arena, at->env, load->arg[i]);
    if (simple == NULL) return false;
    tir_interval r = tir_bounds(at->env, simple);
    if (r.lo < 0) return false;
    if (buffer->size[i] == NULL ? r.hi >= buffer->shape[i] : !is_below(at, simple, buffer->size[i])) return false;
  }
  return true;
}

/* Stops at a variable that the load's index has. */
static tir_walk find_shared(void *user, const tir_expr *e) {
  const tir_expr *load = user;
  for (int i = 0; e->op == TIR_VAR && i < tir_n_index(load); i++)
    if (tir_uses_var(load->arg[i], e->u.var)) return TIR_WALK_STOP;
  return TIR_WALK_ON;
}

/* What has no variable of the index says nothing of where the load goes. */
static bool is_about(const tir_expr *cond, const tir_expr *load) {
  return !tir_walk_expr(cond, find_shared, (void *)load);
}

/* The part of the condition that reads no memory and is about the index, where that alone keeps the load inside; else all of it. What data say
 * would have to be known before the load: a predicate for nothing, and a load of its own beside an equal one. */
static const tir_expr *needed_condition(const state *at, const tir_expr *load) {
  tir_conds conds = {0};
  const tir_expr *plain = NULL;
  if (!tir_conds_add(&conds, at->cond)) return at->cond;
  for (int i = 0; i < conds.n; i++) {
    if (tir_reads_memory(conds.item[i]) || !is_about(conds.item[i], load)) continue;
    plain = plain == NULL ? conds.item[i] : tir_binary(at->arena, TIR_AND, plain, conds.item[i]);
    if (plain == NULL) return NULL;
  }
  if (plain == NULL) return at->cond;
  tir_env env = tir_env_cond(at->env, plain);
  state inner = *at;
  inner.env = &env;
  return stays_inside(&inner, load) ? plain : at->cond;
}

/* The condition joins a predicate that is there already. */
static const tir_expr *guard_load(state *at, const tir_expr *load) {
  if (at->cond == NULL || stays_inside(at, load)) return load;
  const tir_expr *own = tir_predicate(load), *both = needed_condition(at, load);
  if (own != NULL && both != NULL) both = tir_binary(at->arena, TIR_AND, both, own);
  return both == NULL ? NULL : tir_load(at->arena, load->u.buffer, tir_n_index(load), load->arg, both);
}

/* Over rewritten arguments the node may have folded away: only what is still a load is guarded. */
static const tir_expr *guard_args(state *at, const tir_expr *e) {
  const tir_expr *args[TN_MAX_RANK + 1];
  if (e->n_args > RUNTIME_COUNT(args)) return e;
  for (int i = 0; i < e->n_args; i++) {
    if ((args[i] = guard(at, e->arg[i])) == NULL) return NULL;
  }
  const tir_expr *result = tir_with_args(at->arena, e, args);
  return result != NULL && result->op == TIR_LOAD ? guard_load(at, result) : result;
}

/* The memo holds for one condition; guard_under has its own. */
static const tir_expr *guard(state *at, const tir_expr *e) {
  if (e->n_args == 0) return e;
  const tir_expr *done = tir_memo_get(at->memo, e), *result;
  if (done != NULL) return done;
  if (e->op == TIR_SELECT) {
    result = guard_select(at, e);
  } else if (e->op == TIR_AND || e->op == TIR_OR) {
    result = guard_junction(at, e);
  } else {
    result = guard_args(at, e);
  }
  if (result != NULL) tir_memo_put(at->memo, e, result);
  return result;
}

/* Stops at the first node that makes evaluation conditional. Most expressions have none and are passed
 * over. */
static tir_walk find_choice(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_SELECT || e->op == TIR_AND || e->op == TIR_OR ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* USER carries the scope. A memo that ran out of memory ends the pass, since results may have been
 * lost. */
static const tir_expr *guard_expr(void *user, const tir_expr *e) {
  state *at = user;
  if (tir_walk_expr(e, find_choice, NULL)) return e;
  tir_memo memo;
  tir_memo_init(&memo);
  at->memo = &memo;
  const tir_expr *result = guard(at, e);
  return tir_memo_end_for(at->arena, &memo) ? result : NULL;
}

/* USER is the state around S. What S binds or tests is known inside of it, so its children get a state of their
 * own. */
static const tir_stmt *guard_stmt(void *user, const tir_stmt *s) {
  state *at = user, inner = *at;
  tir_env env;
  s = tir_map_exprs(at->arena, s, guard_expr, at);
  if (s == NULL) return NULL;
  inner.env = tir_env_inside(at->arena, at->env, s, &env);
  return tir_map_children(at->arena, s, guard_stmt, &inner);
}

/* Requires: buffers not yet flattened (bounds are checked by dimension). Establishes: no load on a side not taken
 * touches memory outside its buffer. Breaks: nothing. */
tir_func *tir_pass_guard_loads(tir_pass_context *p, tir_func *f) {
  state at = {.arena = p->arena, .env = f->env};
  return tir_func_with_body(p, f, guard_stmt(&at, f->body));
}
