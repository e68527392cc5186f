/* group.c: compute_group_at: a stage and what it is made from, down to given stages, computed in one loop (TVM:
 * create_group, then compute_at of the group). Composed of compute_at, so that records know no groups. */
#include "schedule/edit.h"

/* ---- members ----------------------------------------------------------------------------------------------------- */

typedef struct group {
  const tn_schedule *s;
  bool is_end[SCHEDULE_MAX_STAGES];    /* named as one that stays where it is */
  bool is_member[SCHEDULE_MAX_STAGES]; /* the last stage, and producers above the ends */
  bool is_met[SCHEDULE_MAX_STAGES];    /* ends that a member reads */
} group;

/* Readers stand behind what they read, so one walk from the last stage forwards in the list meets every producer. */
static void find_members(group *g, int last) {
  g->is_member[last] = true;
  for (int i = last; i >= 0; i--) {
    const te_op *op = g->s->stages[i].op;
    for (int k = 0; g->is_member[i] && k < op->n_inputs; k++) {
      int from = schedule_stage_of_tensor(g->s, op->inputs[k]);
      if (from < 0) continue;
      g->is_met[from] = true;
      g->is_member[from] = !g->is_end[from] && !te_is_placeholder(g->s->stages[from].op);
    }
  }
}

/* A stage that is named and not met is a misunderstanding of the user's; TVM ignores it. */
static tn_status check_ends(const schedule_call *c, const group *g) {
  const char *output = schedule_stage_name(&c->s->stages[c->step.stage]);
  for (int i = 0; i < c->step.n; i++) {
    if (g->is_met[c->step.list[i]]) continue;
    const char *name = schedule_stage_name(&c->s->stages[c->step.list[i]]);
    return schedule_refuse(c, "%s is made without %s: name stages that %s reads, or that what it reads reads", output,
                           name, output);
  }
  return TN_OK;
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

/* Readers first: a stage can move into a loop when all that read it are there. */
tn_status schedule_compose_compute_group_at(tn_schedule *s, const schedule_call *c) {
  group g = {.s = s};
  for (int i = 0; i < c->step.n; i++) g.is_end[c->step.list[i]] = true;
  find_members(&g, c->step.stage);
  SCHEDULE_TRY(check_ends(c, &g));
  for (int i = c->step.stage; i >= 0; i--)
    if (g.is_member[i] && s->stages[i].attach != SCHEDULE_INLINED)
      SCHEDULE_TRY(schedule_compute_at(s, i, c->step.target_stage, c->step.target_iter));
  return TN_OK;
}

tn_status tn_compute_group_at_names(tn_schedule *s, const char *stage, const char *target, const char *axis, int n,
                                    const char *const *inputs) {
  return SCHEDULE_CALL(s, compute_group_at, schedule_name(stage), schedule_name(target), schedule_name(axis),
                       schedule_names(n, inputs));
}
