/* buffering.c: the primitives that keep a stage's buffer from one iteration of the loop it is computed in to the next:
 * double_buffer, where two halves alternate and the next iteration's part is computed ahead, and rolling_buffer, where
 * only what the iteration before did not compute is computed. */
#include "schedule/lowering.h"
#include "schedule/tail.h"

static const char *const words[] = {"none", "double_buffer", "rolling_buffer"};

const char *schedule_buffering_word(schedule_buffering buffering) { return words[buffering]; }

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* A stage that is computed in the same loop, whose part for the next iteration is not there yet, and that STAGE, or
 * what is computed inside of it, reads; -1: none. */
static int read_neighbour(const tn_schedule *s, int stage) {
  const schedule_stage *st = &s->stages[stage];
  int position = schedule_leaf_position(&s->stages[st->at_stage], st->at_axis);
  for (int i = 0; i < stage; i++) {
    if (s->stages[i].attach != SCHEDULE_AT || schedule_inside(s, i, stage) >= 0) continue;
    if (schedule_inside(s, i, st->at_stage) < position) continue;
    int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(s, i, true, RUNTIME_COUNT(readers), readers);
    for (int k = 0; k < n; k++)
      if (schedule_inside(s, readers[k], stage) >= 0) return i;
  }
  return -1;
}

/* An iteration hands its buffer to the next, so that they cannot run at the same time or in another
 * order. */
static tn_status check_loop(const schedule_call *c, int stage) {
  const schedule_stage *st = &c->s->stages[stage], *target = &c->s->stages[st->at_stage];
  const schedule_axis *axis = &target->axes[st->at_axis];
  const char *name = schedule_stage_name(st);
  if (axis->annotation == SCHEDULE_NONE || axis->annotation == SCHEDULE_UNROLL) return TN_OK;
  return schedule_refuse(c,
                         "%s has %s in loop %s of %s, which would have %s: its iterations hand the buffer on, so that "
                         "they must follow each other; keep that loop serial, or split it and use the outer part",
                         name, words[st->buffering], axis->name, schedule_stage_name(target),
                         schedule_annotation_words[axis->annotation]);
}

/* The first times of a scan are a loop of their own. */
static tn_status check_time(const schedule_call *c, int stage) {
  const schedule_stage *st = &c->s->stages[stage], *target = &c->s->stages[st->at_stage];
  if (!schedule_is_time(target, st->at_axis)) return TN_OK;
  return schedule_refuse(c,
                         "%s has %s in loop %s of %s, the time of a scan, whose first times are a loop of their own: "
                         "compute %s at another loop, or leave its buffer as it is",
                         schedule_stage_name(st), words[st->buffering], target->axes[st->at_axis].name,
                         schedule_stage_name(target), schedule_stage_name(st));
}

/* Asked after every primitive that moves a stage or annotates a loop. */
tn_status schedule_check_buffering(const schedule_call *c, int stage) {
  tn_schedule *s = c->s;
  const schedule_stage *st = &s->stages[stage];
  if (st->buffering == SCHEDULE_BUFFER_ONCE || st->attach != SCHEDULE_AT) return TN_OK;
  SCHEDULE_TRY(schedule_check_no_scan(c, stage, words[st->buffering], "leave its buffer as it is"));
  SCHEDULE_TRY(check_time(c, stage));
  SCHEDULE_TRY(check_loop(c, stage));
  int other = st->buffering == SCHEDULE_BUFFER_DOUBLE ? read_neighbour(s, stage) : -1;
  if (other < 0) return TN_OK;
  const char *name = schedule_stage_name(st), *input = schedule_stage_name(&s->stages[other]);
  return schedule_refuse(c,
                         "%s has double_buffer and would read %s, which is computed in the same iteration of loop %s, "
                         "one iteration ahead of it: call compute_at(%s, %s, ...), or compute_root(%s)",
                         name, input, s->stages[st->at_stage].axes[st->at_axis].name, input, name, input);
}

/* What can be said without the loop around. */
static tn_status check_stage(const schedule_call *c, int stage, schedule_buffering buffering) {
  SCHEDULE_TRY(schedule_check_stage(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  const char *name = schedule_stage_name(st);
  if (schedule_is_output(c->s, stage))
    return schedule_refuse(c,
                           "%s is an output: its memory is the caller's; use cache_write(%s, local), which makes a "
                           "stage with a buffer of its own",
                           name, name);
  if (st->attach != SCHEDULE_AT)
    return schedule_refuse(c, "%s is at root, where its buffer is filled once: call compute_at(%s, reader, axis) first",
                           name, name);
  if (st->buffering != SCHEDULE_BUFFER_ONCE)
    return schedule_refuse(c, "%s has %s already: keep one of the two", name, words[st->buffering]);
  if (st->n_tensors > 1)
    return schedule_refuse(c, "%s has %d outputs and a buffer for each: use %s on stages with one", name, st->n_tensors,
                           words[buffering]);
  if (buffering == SCHEDULE_BUFFER_DOUBLE && (st->tensors->ndim == TN_MAX_RANK || st->layout))
    return schedule_refuse(c, "two halves are one dimension more than %s, which %s: keep one buffer", name,
                           st->layout ? "has a layout of its own" : "has as many as there can be");
  return TN_OK;
}

/* ---- the primitives ---------------------------------------------------------------------------------------------- */

/* Both primitives share this check and this rewriting; the kind of the step tells them apart. */
static schedule_buffering buffering_of(const schedule_call *c) {
  return c->step.kind == SCHEDULE_STEP_DB ? SCHEDULE_BUFFER_DOUBLE : SCHEDULE_BUFFER_ROLLING;
}

/* Invariant: an iteration reads what it read before; iterations run one after the other. Tried on the
 * stage, and taken back. */
tn_status schedule_check_set_buffering(schedule_call *c) {
  SCHEDULE_TRY(check_stage(c, c->step.stage, buffering_of(c)));
  schedule_rewrite_set_buffering(c);
  tn_status status = schedule_check_buffering(c, c->step.stage);
  c->s->stages[c->step.stage].buffering = SCHEDULE_BUFFER_ONCE;
  return status;
}

bool schedule_rewrite_set_buffering(schedule_call *c) {
  c->s->stages[c->step.stage].buffering = (uint8_t)buffering_of(c);
  return true;
}

tn_status tn_double_buffer(tn_schedule *s, const char *stage) {
  return SCHEDULE_CALL(s, double_buffer, schedule_name(stage));
}
tn_status schedule_rolling_buffer(tn_schedule *s, int stage) {
  schedule_step step = {.kind = SCHEDULE_STEP_RB, .stage = (int16_t)stage, .iter = -1};
  return schedule_apply_step(s, &step);
}
tn_status tn_rolling_buffer(tn_schedule *s, const char *stage) {
  return SCHEDULE_CALL(s, rolling_buffer, schedule_name(stage));
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* No effect is no error: the result is the same. */
static void warn(lowering *l, const lower_stage *ls, const char *why) {
  schedule_lowering_warn(l, "%s(%s) has no effect: %s", words[ls->st->buffering], schedule_stage_name(ls->st), why);
}

/* The loop that the stage is computed in; NULL: none, or it has one iteration, or nothing needs its stage. */
static const lower_var *loop_of(const lowering *l, const lower_stage *ls) {
  if (ls->st->attach != SCHEDULE_AT) return NULL;
  const lower_stage *target = &l->stages[ls->st->at_stage];
  if (!target->is_live) return NULL;
  const lower_var *v = target->var[schedule_leaf_position(target->st, ls->st->at_axis)];
  return v->extent > 1 ? v : NULL;
}

/* How far a dimension's first point moves from one iteration to the next; -1: not by a constant. */
static int64_t shift_of(lowering *l, const lower_stage *ls, const lower_var *v, int dim) {
  if (!tir_uses_var(ls->min[dim], &v->var)) return 0;
  const tir_expr *here = tir_var_expr(l->arena, &v->var), *one = tir_int(l->arena, (tn_dtype)here->dtype, 1);
  tir_binding next = {&v->var, tir_binary(l->arena, TIR_ADD, here, one)};
  const tir_expr *there = tir_substitute(l->arena, ls->min[dim], 1, &next);
  const tir_expr *moved = tir_simplify(l->arena, NULL, tir_binary(l->arena, TIR_SUB, there, ls->min[dim]));
  int64_t by;
  return tir_is_int(moved, &by) && by > 0 ? by : -1;
}

/* Finds the one dimension along which the region moves by less than its extent. NULL, or why there is none. */
static const char *find_roll(lowering *l, lower_stage *ls, const lower_var *v) {
  int dim = -1;
  int64_t by = 0;
  for (int i = 0; i < ls->st->tensors->ndim; i++) {
    int64_t shift = shift_of(l, ls, v, i);
    if (shift < 0) return "what an iteration needs does not move by a constant";
    if (shift > 0 && dim >= 0) return "what an iteration needs moves along two dimensions";
    if (shift > 0) dim = i, by = shift;
  }
  if (dim < 0) return "every iteration needs the same";
  if (by >= ls->extent[dim]) return "an iteration needs nothing that the one before needed";
  int64_t padded;
  if (ls->size[dim] || !tir_is_int(schedule_padded_extent(l, ls, dim), &padded) || padded != ls->extent[dim])
    return "the dimension is padded";
  ls->roll = (lower_roll){.by = by, .room = (ls->extent[dim] + by - 1) / by * by, .dim = dim, .var = v};
  return NULL;
}

/* In lowering, where regions are known: the primitive cannot say what a region will be. */
void schedule_find_roll(lowering *l, lower_stage *ls) {
  const lower_var *v = loop_of(l, ls);
  if (ls->st->buffering == SCHEDULE_BUFFER_ONCE || !ls->is_live) return;
  const char *why_not =
      !v ? ls->st->attach == SCHEDULE_AT ? "the loop has one iteration" : "the stage is at root" : NULL;
  if (!why_not && ls->st->buffering == SCHEDULE_BUFFER_ROLLING) why_not = find_roll(l, ls, v);
  if (!why_not && ls->st->buffering == SCHEDULE_BUFFER_DOUBLE) ls->is_doubled = true;
  if (why_not) warn(l, ls, why_not);
}

/* An element's place: counted from the loop's first iteration, modulo the buffer's room, so that it keeps it while the
 * region moves. */
const tir_expr *schedule_rolled_index(lowering *l, const lower_stage *ls, const tir_expr *index) {
  const tir_expr *v = tir_var_expr(l->arena, &ls->roll.var->var);
  tn_dtype dtype = (tn_dtype)index->dtype;
  const tir_expr *moved =
      tir_binary(l->arena, TIR_MUL, tir_cast(l->arena, dtype, v), tir_int(l->arena, dtype, ls->roll.by));
  const tir_expr *at = tir_binary(l->arena, TIR_ADD, index, moved);
  return tir_binary(l->arena, TIR_FLOORMOD, at, tir_int(l->arena, dtype, ls->roll.room));
}

/* The axis that counts blocks of the rolled dimension of which the last is all that is new; -1: there is none. */
static int blocks_of(const lower_stage *ls, int64_t *last) {
  for (int i = 0; i < ls->st->n_relations; i++) {
    const schedule_relation *r = &ls->st->relations[i];
    bool moves_last = !r->is_fuse && r->one == ls->roll.dim && r->n == 2 && r->tail == TN_TAIL_OVERLAP;
    if (!moves_last || ls->axis_extent[r->many[1]] != ls->roll.by) continue;
    *last = ls->axis_extent[r->many[0]] - 1;
    return r->many[0];
  }
  return -1;
}

/* At the first iteration everything is new, later what the region moved on to. Where blocks overlap, the last computes all of
 * that, and what is new in others is left to it. */
const tir_expr *schedule_is_new(lowering *l, const lower_stage *ls, const tir_expr **values) {
  const tir_expr *v = tir_var_expr(l->arena, &ls->roll.var->var);
  const tir_expr *first = tir_binary(l->arena, TIR_EQ, v, tir_int(l->arena, (tn_dtype)v->dtype, 0));
  int64_t old = ls->extent[ls->roll.dim] - ls->roll.by, last;
  int blocks = blocks_of(ls, &last);
  const tir_expr *at = blocks < 0 ? values[ls->roll.dim] : values[blocks];
  const tir_expr *from = tir_int(l->arena, (tn_dtype)at->dtype, blocks < 0 ? old : last);
  return tir_binary(l->arena, TIR_OR, first, tir_binary(l->arena, TIR_GE, at, from));
}
