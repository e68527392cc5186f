/* storage.c: storage_align: room between the rows of a stage's buffer, so that a dimension's stride is a given value
 * modulo a factor: against rows that fall into the same cache sets, or for rows that begin at aligned addresses. */
#include <stdio.h>

#include "schedule/lowering.h"

enum { MAX_FACTOR = 512 };

/* A dimension of the stage's own buffer with others inside of it, whose extents are numbers. */
static tn_status check_dimension(const schedule_call *c, int stage, int iter) {
  SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
  const schedule_stage *st = &c->s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  const char *name = schedule_stage_name(st);
  if (axis->root < 0 || axis->kind != SCHEDULE_SPATIAL)
    return schedule_refuse(
        c, "loop %s of %s is no dimension of its buffer: name one of its data axes, before split and fuse", axis->name,
        name);
  if (axis->root + 1 == st->tensors[0].ndim)
    return schedule_refuse(
        c, "%s is the last dimension of %s, whose elements stand next to each other (stride 1): name an outer one",
        axis->name, name);
  for (int d = axis->root + 1; d < st->tensors[0].ndim; d++)
    if (st->tensors[0].size[d])
      return schedule_refuse(c,
                             "the stride of axis %s of %s depends on the extent of axis %s, which is known at a call "
                             "only: name an axis inside of which all extents are constant",
                             axis->name, name, st->axes[d].name);
  if (schedule_is_output(c->s, stage))
    return schedule_refuse(c,
                           "%s is an output: its memory is the caller's; use cache_write(%s, global), which makes a "
                           "stage whose strides can change",
                           name, name);
  return TN_OK;
}

/* Outputs and inputs lie in the caller's memory; one alignment a stage. */
tn_status schedule_check_storage_align(schedule_call *c) {
  int stage = c->step.stage, iter = c->step.iter, offset = c->step.target_iter;
  int64_t factor = c->step.value;
  SCHEDULE_TRY(check_dimension(c, stage, iter));
  const schedule_stage *st = &c->s->stages[stage];
  const char *name = schedule_stage_name(st);
  if (factor < 1 || factor > MAX_FACTOR || offset < 0 || offset >= factor)
    return schedule_refuse(c,
                           "factor %lld, offset %d: the factor is 1 to %d and the offset below it; for example "
                           "storage_align(%s, %s, 32, 8)",
                           (long long)factor, offset, MAX_FACTOR, name, schedule_leaf(st, iter)->name);
  SCHEDULE_TRY(schedule_check_no_extern_reader(c, stage, "arrays without gaps",
                                               "make a copy for the other readers by cache_read, and align that"));
  if (st->layout)
    return schedule_refuse(
        c, "the layout of %s is %s, which decides its strides: use one of storage_align and transform_layout", name,
        st->layout);
  if (st->align_factor == 0) return TN_OK;
  return schedule_refuse(
      c, "the stride of axis %s of %s is aligned already (factor %d, offset %d): keep one alignment a stage",
      st->axes[st->align_dim].name, name, st->align_factor, st->align_offset);
}

/* Invariant: the buffer gets longer rows; every element still has a place of its own. */
bool schedule_rewrite_storage_align(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  st->align_dim = (int16_t)schedule_leaf(st, c->step.iter)->root;
  st->align_factor = (int16_t)c->step.value;
  st->align_offset = (int16_t)c->step.target_iter;
  return true;
}

tn_status schedule_storage_align(tn_schedule *s, int stage, int iter, int64_t factor, int offset) {
  schedule_step step = {.kind = SCHEDULE_STEP_SA,
                        .stage = (int16_t)stage,
                        .iter = (int16_t)iter,
                        .value = factor,
                        .target_iter = (int16_t)offset};
  return schedule_apply_step(s, &step);
}

tn_status tn_storage_align(tn_schedule *s, const char *stage, const char *axis, int64_t factor, int64_t offset) {
  return SCHEDULE_CALL(s, storage_align, schedule_name(stage), schedule_name(axis), schedule_number(factor),
                       schedule_number(offset));
}

/* The least room behind dimension DIM + 1 with which INNER elements a step give the stride; -1: none does. */
static int64_t room_for(const schedule_stage *st, int64_t extent, int64_t inner) {
  for (int64_t room = 0; room < st->align_factor; room++)
    if ((extent + room) * inner % st->align_factor == st->align_offset) return room;
  return -1;
}

bool schedule_align_shape(const schedule_stage *st, int64_t *shape) {
  int next = st->align_dim + 1, last = st->tensors[0].ndim - 1;
  int64_t between = 1, best = INT64_MAX, best_room = 0, best_last = 0;
  for (int i = next + 1; i < last; i++) between *= shape[i];
  for (int64_t more = 0; more < (next < last ? st->align_factor : 1); more++) {
    int64_t inner = next < last ? between * (shape[last] + more) : 1, room = room_for(st, shape[next], inner);
    if (room < 0 || (shape[next] + room) * inner >= best) continue;
    best = (shape[next] + room) * inner;
    best_room = room, best_last = more;
  }
  if (best == INT64_MAX) return false;
  shape[last] += best_last;
  shape[next] += best_room;
  return true;
}
