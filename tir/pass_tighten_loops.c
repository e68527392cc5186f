/* pass_tighten_loops.c: a loop whose whole body is guarded by its own variable against a constant runs only that far:
 *   for (i, 0, 20) { if (i < 4) S }   becomes   for (i, 0, 4) S */
#include "tir/linear.h"
#include "tir/passes.h"

/* Narrows RANGE by COND when COND compares VAR itself with a constant. */
static bool narrows(const tir_expr *cond, const tir_var *var, tir_interval *range) {
  int64_t bound;
  if (tir_class_of(cond) != TIR_CLASS_COMPARISON || cond->lanes != 1) return false;
  if (cond->arg[0]->op != TIR_VAR || cond->arg[0]->u.var != var || !tir_is_int(cond->arg[1], &bound)) return false;
  if (cond->op == TIR_NE) return false;
  tir_interval allowed = tir_interval_add(tir_comparison_range((tir_op)cond->op), (tir_interval){bound, bound});
  range->lo = RUNTIME_MAX(range->lo, allowed.lo);
  range->hi = RUNTIME_MIN(range->hi, allowed.hi);
  return true;
}

/* Conditions on other things are kept as a guard inside. A range that became empty removes the loop. */
static const tir_stmt *tighten_for(runtime_arena *arena, const tir_stmt *s) {
  const tir_stmt *body = s->u.loop.body;
  tir_conds conds = {0}, kept = {0};
  int64_t min, extent;
  if (!tir_const_loop(s, &min, &extent) || body->kind != TIR_IF || body->u.branch.else_body != NULL) return s;
  if (!tir_conds_add(&conds, body->u.branch.cond)) return s;
  tir_interval range = {min, min + extent - 1};
  for (int i = 0; i < conds.n; i++) {
    if (!narrows(conds.item[i], s->u.loop.var, &range)) tir_conds_add(&kept, conds.item[i]);
  }
  if (kept.n == conds.n) return s;
  if (range.lo > range.hi) return tir_nop(arena);
  tn_dtype dtype = s->u.loop.var->dtype;
  return tir_for_with(arena, s, tir_int(arena, dtype, range.lo), tir_int(arena, dtype, range.hi - range.lo + 1),
                      tir_conds_guard(arena, &kept, body->u.branch.then_body));
}

/* Bottom-up: an inner loop that was tightened may leave the guard of the outer one. */
static const tir_stmt *tighten(void *user, const tir_stmt *s) {
  runtime_arena *arena = user;
  s = tir_map_children(arena, s, tighten, arena);
  return s != NULL && s->kind == TIR_FOR ? tighten_for(arena, s) : s;
}

/* Requires: conditions normalised by simplify (variable left, constant right). Establishes: no loop whose whole body is
 * guarded by its variable against a constant. Breaks: loops of no or one iteration can appear (simplify removes them).
 */
tir_func *tir_pass_tighten_loops(tir_pass_context *p, tir_func *f) {
  return tir_func_with_body(p, f, tighten(p->arena, f->body));
}
