/* look.c: what a schedule consists of, for those who hold it from outside: its stages in order, their loops. */
#include "schedule/state.h"

int tn_schedule_stage_count(const tn_schedule *s) { return s ? s->n_stages : 0; }

/* Positions change when stages are inserted. */
const char *tn_schedule_stage_name(const tn_schedule *s, int index) {
  if (!s || index < 0 || index >= s->n_stages) return NULL;
  return schedule_stage_name(&s->stages[index]);
}

/* "none", "unroll", ... as schedules say it; tensorize stands at a loop like an annotation does. */
static const char *annotation_word(const schedule_stage *st, int axis) {
  if (st->intrin && st->tensor_axis == axis) return "tensorize";
  return schedule_annotation_words[st->axes[axis].annotation];
}

/* MAX 0 asks for the number alone. */
int tn_schedule_loops(const tn_schedule *s, const char *stage, int max, tn_loop *out) {
  if (!s || !RUNTIME_GIVEN(s->ctx, stage) || (max > 0 && !RUNTIME_GIVEN(s->ctx, out))) return -1;
  int at = schedule_find_stage(s, stage);
  if (at < 0) {
    runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "loops: there is no stage \"%s\"", stage);
    return -1;
  }
  const schedule_stage *st = &s->stages[at];
  for (int i = 0; out && i < st->n_leaves && i < max; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    out[i] = (tn_loop){.name = axis->name,
                       .extent = axis->extent,
                       .is_symbolic = axis->size != NULL,
                       .is_reduction = axis->kind != SCHEDULE_SPATIAL,
                       .annotation = annotation_word(st, st->leaves[i])};
  }
  return st->n_leaves;
}
