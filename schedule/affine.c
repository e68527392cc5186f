/* affine.c: whether all that a schedule computes goes by sums of its loops. Then a block that begins at o*8 can begin at M - 8 as well: where
 * something is divided, the simplifier makes use of o*8 being a multiple of 8, and what is left is right for such blocks only:
 *     A[(o*8 + i) % 2] is A[i % 2] */
#include "schedule/lowering.h"

static bool is_symbol(const tn_program *program, const tir_var *var) {
  for (int i = 0; i < program->n_symbols; i++)
    if (&program->symbols[i]->var == var) return true;
  return false;
}

static tir_walk find_axis(void *user, const tir_expr *e) {
  if (e->op == TIR_READ) return TIR_WALK_PRUNE;
  return e->op == TIR_VAR && !is_symbol(user, e->u.var) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether an axis decides the value, and not only which element is read. */
static bool has_axis(const tn_program *program, const tir_expr *e) {
  return !tir_walk_expr(e, find_axis, (void *)program);
}

static tir_walk find_division(void *user, const tir_expr *e) {
  const tn_program *program = user;
  tir_class is = tir_class_of(e);
  bool divides = is == TIR_CLASS_DIVISION || is == TIR_CLASS_BITS || is == TIR_CLASS_SHIFT || is == TIR_CLASS_COUNT;
  return divides && has_axis(program, e) ? TIR_WALK_STOP : TIR_WALK_ON;
}

static bool divides_nothing(const tn_program *program, const tir_expr *e) {
  return e == NULL || tir_walk_expr(e, find_division, (void *)program);
}

/* Loops that are one after being two, indices of a layout and of a buffer that goes round are divided. */
static bool is_stage_affine(const tn_program *program, const schedule_stage *st) {
  bool is_plain = st->op->kind == TE_PLACEHOLDER || st->op->kind == TE_COMPUTE;
  if (!is_plain || st->buffering != SCHEDULE_BUFFER_ONCE || st->intrin != NULL) return false;
  if (st->layout != NULL && (strchr(st->layout, '/') != NULL || strchr(st->layout, '%') != NULL)) return false;
  for (int i = 0; i < st->n_relations; i++)
    if (st->relations[i].is_fuse || st->relations[i].tail == TN_TAIL_OVERLAP) return false;
  return divides_nothing(program, st->op->body) && divides_nothing(program, st->predicate);
}

bool schedule_is_affine(const tn_schedule *s) {
  for (int i = 0; i < s->n_stages; i++)
    if (!is_stage_affine(s->program, &s->stages[i])) return false;
  return true;
}
