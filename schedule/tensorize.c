/* tensorize.c: the loops from an axis inward become an intrinsic. The stage keeps its loops, marked; lowering hands
 * them to the pass tensorize, which compares what is left of them with the intrinsic's pattern. The primitive lowers
 * the schedule as it stands up to that pass, so that what it accepts is what will happen. */
#include <stdio.h>

#include "schedule/edit.h"
#include "schedule/intrin.h"

int schedule_tensor_position(const schedule_stage *st) {
  return st->intrin ? schedule_leaf_position(st, st->tensor_axis) : st->n_leaves;
}

/* ---- legality ---------------------------------------------------------------------------------------------------- */

tn_status schedule_check_outside(tn_schedule *s, const char *call, int stage, int iter) {
  const schedule_stage *st = &s->stages[stage];
  if (iter < schedule_tensor_position(st)) return TN_OK;
  return runtime_fail(
      s->ctx, TN_ERROR_SCHEDULE,
      "%s: loop %s of %s is inside the intrinsic %s, from loop %s inward: call this before tensorize(%s, "
      "%s, %s)",
      call, schedule_leaf(st, iter)->name, schedule_stage_name(st), st->intrin->name, st->axes[st->tensor_axis].name,
      schedule_stage_name(st), st->axes[st->tensor_axis].name, st->intrin->name);
}

tn_status schedule_check_intrin(tn_schedule *s, const char *call, int stage) {
  const schedule_stage *st = &s->stages[stage];
  if (!st->intrin) return TN_OK;
  int position = schedule_tensor_position(st);
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    if (axis->in_intrin == (i >= position)) continue;
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: loop %s of %s would come %s the intrinsic %s, which stands at loop %s: reorder before "
                        "tensorize(%s, ...)",
                        call, axis->name, schedule_stage_name(st), axis->in_intrin ? "out of" : "into",
                        st->intrin->name, st->axes[st->tensor_axis].name, schedule_stage_name(st));
  }
  return TN_OK;
}

static tn_status check_loops(tn_schedule *s, const char *call, int stage, int iter) {
  const schedule_stage *st = &s->stages[stage];
  const char *name = schedule_stage_name(st);
  if (st->intrin)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s already has the intrinsic %s at loop %s: a stage has one; tensorize another stage",
                        call, name, st->intrin->name, st->axes[st->tensor_axis].name);
  for (int i = iter; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    const char *what = axis->annotation                           ? schedule_annotation_words[axis->annotation]
                       : schedule_has_pragma(axis)                ? "a pragma"
                       : schedule_has_prefetch(st, st->leaves[i]) ? "a prefetch"
                                                                  : NULL;
    if (what)
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                          "%s: loop %s of %s has %s, which would be lost inside the intrinsic: leave that loop plain",
                          call, axis->name, name, what);
    for (int k = 0; k < s->n_stages; k++)
      if (s->stages[k].attach == SCHEDULE_AT && s->stages[k].at_stage == stage && s->stages[k].at_axis == st->leaves[i])
        return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                            "%s: %s is computed at loop %s, inside the intrinsic: compute it at a loop outside of %s",
                            call, schedule_stage_name(&s->stages[k]), axis->name, schedule_leaf(st, iter)->name);
  }
  return TN_OK;
}

static tn_status find_intrin(tn_schedule *s, const char *call, const char *name, const tir_intrin **out) {
  char names[512];
  *out = schedule_find_intrin(s->ctx, name);
  if (*out) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: no intrinsic is called \"%s\": take one of %s", call, name,
                      schedule_intrin_names(s->ctx, names, sizeof names));
}

/* ---- the trial --------------------------------------------------------------------------------------------------- */

static tn_status say_why(tn_schedule *s, const char *call, const tir_intrin *intrin, const tir_tensorized *found) {
  if (found->n_matched > 0) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                      "%s: the loops are not %s: %s; its pattern is %s: make the loops from here inward those of the "
                      "pattern, or vectorize a data loop instead",
                      call, intrin->name, found->why_not ? found->why_not : "the stage is not computed", intrin->text);
}

/* Lowers the schedule up to the pass tensorize, which tells what became of the stage's marks. */
static tn_status try_lowering(tn_schedule *s, const char *call, int stage) {
  runtime_arena arena = {0};
  tir_tensorized found = {.stage = stage};
  tn_context_options options = s->ctx->options;
  s->ctx->options.on_message = NULL; /* warnings are said when code is made */
  tir_func *f = schedule_lower(s, "trial", &arena);
  tir_pass_context p = {.ctx = s->ctx, .arena = &arena, .tensorized = &found};
  if (f) f = tir_run_through(&p, f, "tensorize");
  s->ctx->options = options;
  tn_status status = f ? say_why(s, call, s->stages[stage].intrin, &found) : tn_context_status(s->ctx);
  runtime_arena_free(&arena);
  return status == TN_OK && !f ? TN_ERROR_MEMORY : status;
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

static void mark(schedule_stage *st, int iter, const tir_intrin *intrin) {
  st->intrin = intrin;
  st->tensor_axis = st->leaves[iter];
  for (int i = iter; i < st->n_leaves; i++) st->axes[st->leaves[i]].in_intrin = intrin != NULL;
}

/* Invariant: where the loops from ITER inward do what the intrinsic's pattern says, up to names, offsets, strides and
 * the order of commutative operands, the intrinsic stands in their place; all other points run in the loops. */
static tn_status tensorize(tn_schedule *s, const char *call, int stage, int iter, const char *name) {
  const tir_intrin *intrin;
  SCHEDULE_TRY(schedule_check_iter(s, call, stage, iter));
  SCHEDULE_TRY(find_intrin(s, call, name, &intrin));
  SCHEDULE_TRY(check_loops(s, call, stage, iter));
  mark(&s->stages[stage], iter, intrin);
  tn_status status = schedule_check_paths(s, call);
  if (status == TN_OK) status = try_lowering(s, call, stage);
  if (status != TN_OK) mark(&s->stages[stage], iter, NULL);
  return status;
}

static const char *call_text(char *buffer, size_t n, const tn_schedule *s, int stage, int iter, const char *intrin) {
  const schedule_stage *st = stage >= 0 && stage < s->n_stages ? &s->stages[stage] : NULL;
  bool has_loop = st && iter >= 0 && iter < st->n_leaves;
  snprintf(buffer, n, "tensorize(%s, %s, %s)", st ? schedule_stage_name(st) : "?",
           has_loop ? schedule_leaf(st, iter)->name : "?", intrin);
  return buffer;
}

tn_status schedule_tensorize(tn_schedule *s, int stage, int iter, const char *intrin) {
  char call[512];
  SCHEDULE_TRY(tensorize(s, call_text(call, sizeof call, s, stage, iter, intrin), stage, iter, intrin));
  const char *record = schedule_intrin_record(s->ctx, intrin);
  schedule_step step = {.kind = SCHEDULE_STEP_TZ, .stage = (int16_t)stage, .iter = (int16_t)iter, .text = record};
  return schedule_push_step(s, &step) ? TN_OK : runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
}

tn_status schedule_try_tensorize(tn_schedule *s, int stage, int iter, const char *intrin) {
  char call[512];
  SCHEDULE_TRY(tensorize(s, call_text(call, sizeof call, s, stage, iter, intrin), stage, iter, intrin));
  mark(&s->stages[stage], iter, NULL);
  return TN_OK;
}
