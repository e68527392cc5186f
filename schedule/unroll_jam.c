/* unroll_jam.c: the primitive unroll_jam: FACTOR iterations of a loop run together, their copies of each statement next
 * to each other inside the loops that stood in it. What they read in common is read once, and sums get that many
 * accumulators (the register tiles of hand-written kernels). Made of split, reorder and unroll: records know those. */
#include "schedule/edit.h"

/* Where the copies stand: inside of all loops but those that become lanes or an intrinsic. */
static int place_of_copies(const schedule_stage *st) {
  int place = schedule_tensor_position(st);
  while (place > 0 && schedule_leaf(st, place - 1)->annotation == SCHEDULE_VECTORIZE) place--;
  return place;
}

/* What is computed in the loop has its place there, and would be computed once for each copy. */
static tn_status check_no_guest(const schedule_call *c, const schedule_stage *st) {
  const char *axis = schedule_leaf(st, c->step.iter)->name;
  for (int i = 0; i < c->s->n_stages; i++) {
    const schedule_stage *guest = &c->s->stages[i];
    if (guest->attach != SCHEDULE_AT || guest->at_stage != c->step.stage) continue;
    if (guest->at_axis != st->leaves[c->step.iter]) continue;
    const char *name = schedule_stage_name(guest);
    return schedule_refuse(c,
                           "%s is computed at loop %s of %s, and would be computed for each of the copies: call "
                           "compute_at(%s, %s, %s.outer) behind it instead",
                           name, axis, schedule_stage_name(st), name, schedule_stage_name(st), axis);
  }
  return TN_OK;
}

/* Refuses what would only be a split and an unroll. */
static tn_status check_jam(const schedule_call *c) {
  SCHEDULE_TRY(schedule_check_outside(c, c->step.stage, c->step.iter));
  const schedule_stage *st = &c->s->stages[c->step.stage];
  const char *name = schedule_stage_name(st), *axis = schedule_leaf(st, c->step.iter)->name;
  if (c->step.value < 2)
    return schedule_refuse(c, "factor %lld: at least 2 iterations run together; for example unroll_jam(%s, %s, 4)",
                           (long long)c->step.value, name, axis);
  if (place_of_copies(st) <= c->step.iter + 1)
    return schedule_refuse(c,
                           "no loop stands inside loop %s of %s but lanes or an intrinsic, so that there is nothing to "
                           "jam: call split(%s, %s, %lld) and unroll(%s, %s.inner)",
                           axis, name, name, axis, (long long)c->step.value, name, axis);
  return check_no_guest(c, st);
}

/* Invariant: that of its parts; all orders of loops are legal, and a split's tail keeps its condition. */
tn_status schedule_compose_unroll_jam(tn_schedule *s, const schedule_call *c) {
  SCHEDULE_TRY(check_jam(c));
  int stage = c->step.stage, iter = c->step.iter, place = place_of_copies(&s->stages[stage]);
  int order[SCHEDULE_MAX_AXES];
  SCHEDULE_TRY(schedule_split(s, stage, iter, 1, &c->step.value, true, (tn_tail)c->step.tail));
  int n = s->stages[stage].n_leaves;
  for (int i = 0; i < n; i++) order[i] = i <= iter || i > place ? i : i + 1;
  order[place] = iter + 1;
  SCHEDULE_TRY(schedule_reorder(s, stage, n, order));
  return schedule_annotate(s, stage, place, SCHEDULE_UNROLL);
}

tn_status tn_unroll_jam(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail) {
  return SCHEDULE_CALL(s, unroll_jam, schedule_name(stage), schedule_name(axis), schedule_number(factor),
                       schedule_tail(tail));
}
