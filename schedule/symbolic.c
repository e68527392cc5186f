/* symbolic.c: the steps of a schedule whose extents were numbers, on loops whose extents a symbol decides. */
#include "schedule/edit.h"

/* A step that was whole, or moved its last block, where the extent was a number. */
static schedule_step symbolic_step(const tn_schedule *s, const schedule_step *step) {
  schedule_step out = *step;
  const schedule_stage *st = step->stage >= 0 && step->stage < s->n_stages ? &s->stages[step->stage] : NULL;
  bool is_split = step->kind == SCHEDULE_STEP_SP && st && step->iter >= 0 && step->iter < st->n_leaves;
  if (!is_split || !schedule_leaf(st, step->iter)->size) return out;
  if (out.tail == TN_TAIL_GUARD || out.tail == TN_TAIL_OVERLAP) out.tail = TN_TAIL_PEEL;
  return out;
}

/* Annotations that a stage may have only inside of the loop that it is attached to, where its loops may be as short as a block: they
 * wait for that step. */
typedef struct waiting {
  schedule_step steps[SCHEDULE_MAX_AXES];
  int n, n_stages; /* as many as there are stages, a stage has its number */
} waiting;

/* On loops whose extent a symbol decides. */
static bool has_to_wait(const tn_schedule *s, const schedule_step *step) {
  const schedule_stage *st = step->stage >= 0 && step->stage < s->n_stages ? &s->stages[step->stage] : NULL;
  bool is_mark = step->kind == SCHEDULE_STEP_AN && st && step->iter >= 0 && step->iter < st->n_leaves;
  return is_mark && st->attach == SCHEDULE_ROOT && step->value < SCHEDULE_PARALLEL &&
         schedule_leaf(st, step->iter)->size != NULL;
}

/* Those of the stage that was attached. */
static tn_status apply_waiting(tn_schedule *s, waiting *w, int stage) {
  int kept = 0;
  tn_status status = TN_OK;
  for (int i = 0; i < w->n && status == TN_OK; i++) {
    if (w->steps[i].stage != stage)
      w->steps[kept++] = w->steps[i];
    else
      status = schedule_apply_step(s, &w->steps[i]);
  }
  w->n = kept;
  return status;
}

/* What waits says positions of loops, which other steps would shift. */
static bool disturbs(const waiting *w, const schedule_step *step) {
  bool is_harmless = step->kind == SCHEDULE_STEP_AN || step->kind == SCHEDULE_STEP_SS || step->kind == SCHEDULE_STEP_CA;
  for (int i = 0; i < w->n && !is_harmless; i++)
    if (w->steps[i].stage == step->stage) return true;
  return false;
}

static tn_status replay_one(tn_schedule *s, const schedule_step *given, waiting *w) {
  schedule_step step = symbolic_step(s, given);
  if (has_to_wait(s, &step) && w->n < RUNTIME_COUNT(w->steps)) {
    w->n_stages = s->n_stages;
    w->steps[w->n++] = step;
    return TN_OK;
  }
  tn_status status = w->n > 0 && disturbs(w, &step) ? TN_ERROR_SCHEDULE : schedule_apply_step(s, &step);
  if (status == TN_OK && step.kind == SCHEDULE_STEP_CA) status = apply_waiting(s, w, step.stage);
  return status == TN_OK && w->n > 0 && s->n_stages != w->n_stages ? TN_ERROR_SCHEDULE : status;
}

/* What still waits at the end is refused, as it is without waiting. */
tn_status schedule_replay_symbolic(tn_schedule *s, const tn_schedule *steps) {
  tn_schedule *copy = tn_schedule_copy(s);
  tn_status status = copy ? TN_OK : TN_ERROR_MEMORY;
  waiting w = {.n = 0};
  for (int i = 0; i < steps->n_steps && status == TN_OK; i++) status = replay_one(copy, &steps->steps[i], &w);
  for (int i = 0; i < w.n && status == TN_OK; i++) status = schedule_apply_step(copy, &w.steps[i]);
  if (status == TN_OK) copy->is_replayed = true;
  if (status == TN_OK) schedule_swap_contents(s, copy);
  tn_schedule_free(copy);
  return status;
}
