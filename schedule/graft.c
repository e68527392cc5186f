/* graft.c: the steps of a schedule of a program's part, applied to the whole program: to the stages that compute the same. Stages
 * are followed by their tensors, since positions differ and shift where caches are added. */
#include "schedule/edit.h"

/* PART's steps are done on two schedules at once, which grow alike. */
typedef struct grafting {
  tn_schedule *whole, *part;
  RUNTIME_VEC(te_twin) twins;
} grafting;

/* The whole's position of a stage of the part; -1: it has none. */
static int position_of(const grafting *g, int stage) {
  if (stage < 0 || stage >= g->part->n_stages) return -1;
  for (int i = 0; i < g->twins.n; i++)
    if (g->twins.data[i].part == g->part->stages[stage].tensors)
      return schedule_stage_of_tensor(g->whole, g->twins.data[i].whole);
  return -1;
}

static bool has_twin(const grafting *g, const tn_tensor *tensor, bool of_whole) {
  for (int i = 0; i < g->twins.n; i++)
    if ((of_whole ? g->twins.data[i].whole : g->twins.data[i].part) == tensor) return true;
  return false;
}

/* The I-th stage of S at or behind AT that is no twin yet; NULL: there is none. Stages that a primitive adds stand beside the one
 * that it was called for. */
static const tn_tensor *new_stage(const grafting *g, const tn_schedule *s, int at) {
  for (int i = at; i >= 0 && i < s->n_stages && i <= at + 1; i++)
    if (!has_twin(g, s->stages[i].tensors, s == g->whole)) return s->stages[i].tensors;
  return NULL;
}

/* What the step made in both. AT, AT_WHOLE: where it was applied. */
static bool follow(grafting *g, int at, int at_whole, int n_before) {
  if (g->part->n_stages == n_before) return true;
  te_twin made = {new_stage(g, g->whole, at_whole), new_stage(g, g->part, at)};
  return made.whole && made.part && RUNTIME_PUSH(&g->twins, made);
}

/* The first N_STAGES numbers of the step's list are stages, too. */
static int stages_in_list(const schedule_step *step) {
  return step->kind == SCHEDULE_STEP_CHR ? step->n : step->kind == SCHEDULE_STEP_PF ? RUNTIME_MIN(step->n, 1) : 0;
}

static bool names_two(const schedule_step *step) {
  return step->kind == SCHEDULE_STEP_CA || step->kind == SCHEDULE_STEP_PF;
}

/* Stages among a step's numbers, as positions in the whole. LIST has room for them. */
static bool translate(const grafting *g, const schedule_step *step, schedule_step *out, int64_t *list) {
  *out = *step;
  out->stage = (int16_t)position_of(g, step->stage);
  if (names_two(step)) out->target_stage = (int16_t)position_of(g, step->target_stage);
  if (out->stage < 0 || out->target_stage < 0) return false;
  if (step->n) memcpy(list, step->list, sizeof *list * (size_t)step->n);
  for (int i = 0; i < stages_in_list(step); i++)
    if ((list[i] = position_of(g, (int)step->list[i])) < 0) return false;
  out->list = list;
  return true;
}

/* A stage that several parts read may be inlined already. */
static bool is_done(const grafting *g, const schedule_step *step) {
  return step->kind == SCHEDULE_STEP_CI && g->whole->stages[step->stage].attach == SCHEDULE_INLINED;
}

static tn_status apply(grafting *g, const schedule_step *step) {
  int64_t list[SCHEDULE_MAX_AXES];
  schedule_step own;
  int n_before = g->part->n_stages;
  if (step->n > SCHEDULE_MAX_AXES || !translate(g, step, &own, list))
    return runtime_fail(g->whole->ctx, TN_ERROR_SCHEDULE, "a step of the part has no counterpart in the whole program");
  if (!is_done(g, &own)) SCHEDULE_TRY(schedule_apply_step(g->whole, &own));
  SCHEDULE_TRY(schedule_apply_step(g->part, step));
  return follow(g, step->stage, own.stage, n_before)
             ? TN_OK
             : runtime_fail(g->whole->ctx, TN_ERROR_SCHEDULE, "a stage that a step adds is not found");
}

static tn_status apply_all(grafting *g, const tn_schedule *steps, const te_part *part) {
  if (!g->whole || !g->part) return TN_ERROR_MEMORY;
  for (int i = 0; i < part->n_twins; i++)
    if (!RUNTIME_PUSH(&g->twins, part->twins[i])) return schedule_no_memory(steps);
  for (int i = 0; i < steps->n_steps; i++) SCHEDULE_TRY(apply(g, &steps->steps[i]));
  return TN_OK;
}

/* On a copy, which takes the schedule's place at the end. */
tn_status schedule_graft(tn_schedule *s, const tn_schedule *steps, const te_part *part) {
  grafting g = {.whole = tn_schedule_copy(s), .part = tn_schedule_new(part->program)};
  tn_status status = apply_all(&g, steps, part);
  if (status == TN_OK) g.whole->is_replayed = true;
  if (status == TN_OK) schedule_swap_contents(s, g.whole);
  RUNTIME_VEC_FREE(&g.twins);
  tn_schedule_free(g.whole);
  tn_schedule_free(g.part);
  return status;
}
