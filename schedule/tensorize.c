/* tensorize.c: the loops from an axis inward become an intrinsic. The stage keeps its loops, marked; lowering hands
 * them to the pass tensorize, which compares what is left of them with the intrinsic's pattern. The primitive lowers
 * the schedule as it stands up to that pass, so that what it accepts is what will happen. */
#include <stdio.h>

#include "schedule/edit.h"
#include "te/intrin.h"

/* Asked by every primitive that changes loops. */
int schedule_tensor_position(const schedule_stage *st) {
  return st->intrin ? schedule_leaf_position(st, st->tensor_axis) : st->n_leaves;
}

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* The loops of an intrinsic are its pattern: changing them would undo the match. */
tn_status schedule_check_outside(const schedule_call *c, int stage, int iter) {
  const schedule_stage *st = &c->s->stages[stage];
  if (iter < schedule_tensor_position(st)) return TN_OK;
  return schedule_refuse(
      c, "loop %s of %s is inside the intrinsic %s, from loop %s inward: call this before tensorize(%s, %s, %s)",
      schedule_leaf(st, iter)->name, schedule_stage_name(st), st->intrin->name, st->axes[st->tensor_axis].name,
      schedule_stage_name(st), st->axes[st->tensor_axis].name, st->intrin->name);
}

/* After a reorder, the intrinsic's loops must still be innermost. */
tn_status schedule_check_intrin(const schedule_call *c, int stage) {
  const schedule_stage *st = &c->s->stages[stage];
  if (!st->intrin) return TN_OK;
  int position = schedule_tensor_position(st);
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    if (axis->in_intrin == (i >= position)) continue;
    return schedule_refuse(
        c, "loop %s of %s would come %s the intrinsic %s, which stands at loop %s: reorder before tensorize(%s, ...)",
        axis->name, schedule_stage_name(st), axis->in_intrin ? "out of" : "into", st->intrin->name,
        st->axes[st->tensor_axis].name, schedule_stage_name(st));
  }
  return TN_OK;
}

/* What would be lost is named. */
static tn_status check_loops(const schedule_call *c, int stage, int iter) {
  tn_schedule *s = c->s;
  const schedule_stage *st = &s->stages[stage];
  const char *name = schedule_stage_name(st);
  if (st->intrin)
    return schedule_refuse(c, "%s already has the intrinsic %s at loop %s: a stage has one; tensorize another stage",
                           name, st->intrin->name, st->axes[st->tensor_axis].name);
  for (int i = iter; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    const char *what = axis->annotation                           ? schedule_annotation_words[axis->annotation]
                       : schedule_has_pragma(axis)                ? "a pragma"
                       : schedule_has_prefetch(st, st->leaves[i]) ? "a prefetch"
                                                                  : NULL;
    if (what)
      return schedule_refuse(c, "loop %s of %s has %s, which would be lost inside the intrinsic: leave that loop plain",
                             axis->name, name, what);
    for (int k = 0; k < s->n_stages; k++)
      if (s->stages[k].attach == SCHEDULE_AT && s->stages[k].at_stage == stage && s->stages[k].at_axis == st->leaves[i])
        return schedule_refuse(c, "%s is computed at loop %s, inside the intrinsic: compute it at a loop outside of %s",
                               schedule_stage_name(&s->stages[k]), axis->name, schedule_leaf(st, iter)->name);
  }
  return TN_OK;
}

/* The refusal lists the names there are. */
static tn_status find_intrin(const schedule_call *c, const char *name, const tir_intrin **out) {
  char names[512];
  *out = te_find_intrin(c->s->ctx, c->s->program, name);
  if (*out) return TN_OK;
  return schedule_refuse(c, "no intrinsic is called \"%s\": take one of %s", name,
                         te_intrin_names(c->s->ctx, c->s->program, names, sizeof names));
}

/* ---- the trial --------------------------------------------------------------------------------------------------- */

/* The first difference that the pass found, both sides. */
static tn_status say_why(const schedule_call *c, const tir_intrin *intrin, const tir_tensorized *found) {
  if (found->n_matched > 0) return TN_OK;
  return schedule_refuse(c,
                         "the loops are not %s: %s; its pattern is %s: make the loops from here inward those of the "
                         "pattern, or vectorize a data loop instead",
                         intrin->name, found->why_not ? found->why_not : "the stage is not computed", intrin->text);
}

/* Lowers the schedule up to the pass tensorize, which tells what became of the stage's marks. */
static tn_status try_lowering(const schedule_call *c, int stage) {
  tn_schedule *s = c->s;
  runtime_arena arena = {0};
  tir_tensorized found = {.stage = stage};
  runtime_quiet quiet = runtime_quiet_begin(s->ctx); /* warnings are said when code is made */
  tir_func *f = schedule_lower(s, "trial", &arena);
  tir_pass_context p = {.ctx = s->ctx, .arena = &arena, .tensorized = &found};
  if (f) f = tir_run_through(&p, f, "tensorize");
  tn_status status = runtime_quiet_end_loud(&quiet);
  if (f) status = say_why(c, s->stages[stage].intrin, &found);
  runtime_arena_free(&arena);
  return status == TN_OK && !f ? TN_ERROR_MEMORY : status;
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

/* INTRIN NULL takes the mark back. */
static void mark(schedule_stage *st, int iter, const tir_intrin *intrin) {
  st->intrin = intrin;
  st->tensor_axis = st->leaves[iter];
  for (int i = iter; i < st->n_leaves; i++) st->axes[st->leaves[i]].in_intrin = intrin != NULL;
}

/* "name", or "name: pattern" of a declared one, which must have that pattern here. */
static tn_status check_recorded(const schedule_call *c, const char *name) {
  const char *here = te_intrin_record(c->s->ctx, c->s->program, name);
  if (strcmp(here, name) == 0 || !strchr(c->step.text, ':') || strcmp(here, c->step.text) == 0) return TN_OK;
  return schedule_refuse(c, "the step was recorded with another intrinsic, %s; here it is %s: declare that one",
                         c->step.text, here);
}

/* Invariant: where the loops from ITER inward do what the intrinsic's pattern says, up to names, offsets, strides and
 * the order of commutative operands, the intrinsic stands in their place; all other points run in the loops. Tried on
 * the stage, and taken back. */
tn_status schedule_check_tensorize(schedule_call *c) {
  const tir_intrin *intrin;
  int stage = c->step.stage, iter = c->step.iter;
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(c->step.text, ":"), c->step.text);
  SCHEDULE_TRY(check_recorded(c, name));
  SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
  SCHEDULE_TRY(find_intrin(c, name, &intrin));
  SCHEDULE_TRY(check_loops(c, stage, iter));
  mark(&c->s->stages[stage], iter, intrin);
  tn_status status = schedule_check_paths(c);
  if (status == TN_OK) status = try_lowering(c, stage);
  mark(&c->s->stages[stage], iter, NULL);
  c->step.text = te_intrin_record(c->s->ctx, c->s->program, name);
  c->found = intrin;
  return status;
}

bool schedule_rewrite_tensorize(schedule_call *c) {
  mark(&c->s->stages[c->step.stage], c->step.iter, c->found);
  return true;
}

tn_status schedule_tensorize(tn_schedule *s, int stage, int iter, const char *intrin) {
  schedule_step step = {.kind = SCHEDULE_STEP_TZ, .stage = (int16_t)stage, .iter = (int16_t)iter, .text = intrin};
  return schedule_apply_step(s, &step);
}
tn_status tn_tensorize(tn_schedule *s, const char *stage, const char *axis, const char *intrin) {
  return SCHEDULE_CALL(s, tensorize, schedule_name(stage), schedule_name(axis), schedule_name(intrin));
}
tn_status tn_tensorize_try(tn_schedule *s, const char *stage, const char *axis, const char *intrin) {
  return SCHEDULE_WITH(schedule_try_words, s, tensorize, schedule_name(stage), schedule_name(axis),
                       schedule_name(intrin));
}
