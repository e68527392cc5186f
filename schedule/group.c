/* group.c: compute_group_at: a stage and what it is made from, down to given stages, computed in one loop (TVM:
 * create_group, then compute_at of the group). Composed of compute_at, so that records know no groups. */
#include <stdio.h>

#include "schedule/edit.h"

/* ---- members ----------------------------------------------------------------------------------------------------- */

typedef struct group {
  tn_schedule *s;
  const char *call;
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

static tn_status check_ends(const group *g, const char *output, int n, const int *ends) {
  for (int i = 0; i < n; i++) {
    if (g->is_met[ends[i]]) continue;
    const char *name = schedule_stage_name(&g->s->stages[ends[i]]);
    return runtime_fail(g->s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is made without %s: name stages that %s reads, or that what it reads reads", g->call,
                        output, name, output);
  }
  return TN_OK;
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

/* Readers first: a stage can move into a loop when all that read it are there. */
static tn_status move_members(group *g, int last, const char *target, const char *axis) {
  tn_schedule *s = g->s;
  for (int i = last; i >= 0; i--)
    if (g->is_member[i] && s->stages[i].attach != SCHEDULE_INLINED)
      SCHEDULE_TRY(tn_compute_at(s, schedule_stage_name(&s->stages[i]), target, axis));
  return TN_OK;
}

static tn_status place_group(group *g, const char *stage, const char *target, const char *axis, int n,
                             const char *const *inputs) {
  int ends[SCHEDULE_MAX_STAGES];
  SCHEDULE_TRY(schedule_find_named(g->s, "compute_group_at", stage, &(int){0}));
  int last = schedule_find_stage(g->s, stage);
  for (int i = 0; i < n; i++) {
    SCHEDULE_TRY(schedule_find_named(g->s, "compute_group_at", inputs[i], &ends[i]));
    g->is_end[ends[i]] = true;
  }
  find_members(g, last);
  SCHEDULE_TRY(check_ends(g, stage, n, ends));
  g->s->within = g->call;
  return move_members(g, last, target, axis);
}

tn_status tn_compute_group_at_names(tn_schedule *s, const char *stage, const char *target, const char *axis, int n,
                                    const char *const *inputs) {
  if (!s || !stage || !target || !axis || n < 0 || n > SCHEDULE_MAX_STAGES || (n > 0 && !inputs))
    return TN_ERROR_ARGUMENT;
  char call[512];
  snprintf(call, sizeof call, "compute_group_at(%s, %s, %s)", stage, target, axis);
  group *g = calloc(1, sizeof *g);
  tn_schedule *copy = g ? tn_schedule_copy(s) : NULL;
  tn_status status = TN_ERROR_MEMORY;
  if (copy) {
    g->s = copy;
    g->call = call;
    status = place_group(g, stage, target, axis, n, inputs);
    copy->within = s->within;
    if (status == TN_OK) schedule_swap_contents(s, copy);
  }
  tn_schedule_free(copy);
  free(g);
  return status;
}
