/* sketch_own.c: the user's own sketch rules (tn_sketch_rule). The steps that a rule adds to a schedule are
 * replayed one by one, so that splits it leaves open are found and become holes of the sketch. Source:
 * TVM's PreloadCustomSketchRule. */
#include "autotune/search.h"

/* A sketch on which the steps of a rule are replayed. Stages are remembered by their tensors, since steps
 * may insert stages and move positions. */
typedef struct taking {
  const autotune_sketch *from;
  autotune_sketch *to;
  const tn_tensor *hole_of[AUTOTUNE_MAX_HOLES]; /* the stage of each hole */
  const tn_tensor *own[SCHEDULE_MAX_STAGES];    /* the stages that the rule scheduled */
  int n_own;
} taking;

/* A split whose lengths are all 1 is meant as open: the search fills it. */
static bool is_open(const schedule_step *step) {
  if (step->kind != SCHEDULE_STEP_SP || step->n > AUTOTUNE_LENGTHS || !step->inner_to_outer) return false;
  for (int i = 0; i < step->n; i++)
    if (step->list[i] != 1) return false;
  return true;
}

/* Turns an open split of the user's rule into a hole. */
static void open_split(taking *t, const schedule_step *step) {
  autotune_sketch *to = t->to;
  const schedule_stage *stage = &to->base->stages[step->stage];
  if (to->n_holes == AUTOTUNE_MAX_HOLES || step->iter < 0 || step->iter >= stage->n_leaves) return;
  const schedule_axis *axis = schedule_leaf(stage, step->iter);
  bool is_last = stage->op->n_axes > 0 && stage->leaves[step->iter] == stage->op->n_axes - 1;
  t->hole_of[to->n_holes] = stage->tensors;
  to->holes[to->n_holes++] = (autotune_hole){.step = (int16_t)to->base->n_steps,
                                             .follows = -1,
                                             .n_lengths = (int16_t)step->n,
                                             .is_reduce = axis->kind != SCHEDULE_SPATIAL,
                                             .is_vector = is_last,
                                             .is_own = true,
                                             .extent = axis->extent};
}

/* Replays one step of the user's rule. False: it does not replay, or there are too many. */
static bool take_step(taking *t, const schedule_step *step) {
  const tn_schedule *base = t->to->base;
  if (step->stage < 0 || step->stage >= base->n_stages || t->n_own == SCHEDULE_MAX_STAGES) return false;
  t->own[t->n_own++] = base->stages[step->stage].tensors;
  if (is_open(step)) open_split(t, step);
  return schedule_apply_step(t->to->base, step) == TN_OK;
}

/* Brings roles and holes up to date: new stages may have moved the positions. */
static bool settle(taking *t) {
  const tn_schedule *from = t->from->base, *base = t->to->base;
  autotune_sketch *to = t->to;
  int at;
  if (base->n_stages > AUTOTUNE_MAX_STAGES) return false;
  memset(to->roles, AUTOTUNE_PLAIN, sizeof to->roles);
  for (int s = 0; s < from->n_stages && s < AUTOTUNE_MAX_STAGES; s++)
    if ((at = schedule_stage_of_tensor(base, from->stages[s].tensors)) >= 0) to->roles[at] = t->from->roles[s];
  for (int i = 0; i < t->n_own; i++)
    if ((at = schedule_stage_of_tensor(base, t->own[i])) >= 0) to->roles[at] = AUTOTUNE_OWN;
  for (int h = 0; h < to->n_holes; h++) {
    if ((at = schedule_stage_of_tensor(base, t->hole_of[h])) < 0) return false; /* the rule took its stage away */
    to->holes[h].stage = (int16_t)at;
  }
  return true;
}

/* Replays what the rule added to MADE. False: it added nothing, or a step does not replay. */
static bool take_steps(taking *t, const tn_schedule *made) {
  bool ok = made->n_steps > t->from->base->n_steps;
  for (int h = 0; h < t->to->n_holes; h++) t->hole_of[h] = t->from->base->stages[t->from->holes[h].stage].tensors;
  for (int i = t->from->base->n_steps; ok && i < made->n_steps; i++) ok = take_step(t, &made->steps[i]);
  return ok && settle(t);
}

bool autotune_apply_own(const autotune_sketch *from, const tn_sketch_rule *rule, int stage, autotune_sketch *to) {
  const char *name = schedule_stage_name(&from->base->stages[stage]);
  tn_schedule *made = tn_schedule_copy(from->base);
  *to = *from;
  to->is_own = true;
  to->base = tn_schedule_copy(from->base);
  taking t = {.from = from, .to = to};
  bool ok = made && to->base && rule->apply(rule->user, made, name) == TN_OK && take_steps(&t, made);
  tn_schedule_free(made);
  if (ok) return true;
  tn_schedule_free(to->base);
  to->base = NULL;
  return false;
}
