/* recurrence.c: scans. A scan stage reads its own buffer at earlier times, directly or through its steps, which are
 * computed inside its loop over the time. Invariant: when an iteration at time t begins, all that it reads of times
 * before t is there. So
 *  - a scan stands at root, its steps inside its innermost loop over the time (or inlined),
 *  - loops over the time stay in order, serial or unrolled,
 *  - a loop over another axis may stand outside of them, be it parallel, when the scan never reads across that axis:
 *    element j of a time depends on elements j of earlier times only (TVM: ScanFixPointAnalysis). */
#include <stdio.h>

#include "schedule/edit.h"

/* The stage that stores the state; its steps are ordinary computes. */
static bool is_scan(const schedule_stage *st) { return st->op->kind == TE_SCAN; }

/* Follows splits up to the root axis, which is the first. */
bool schedule_is_time(const schedule_stage *st, int axis) {
  if (!is_scan(st)) return false;
  while (st->axes[axis].made_by >= 0) {
    const schedule_relation *r = &st->relations[st->axes[axis].made_by];
    if (r->is_fuse) return false; /* fusing the time is refused */
    axis = r->one;
  }
  return st->axes[axis].root == 0;
}

/* The position of the innermost loop over the time. */
static int last_time(const schedule_stage *st) {
  int last = st->n_leaves - 1;
  while (!schedule_is_time(st, st->leaves[last])) last--;
  return last;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Steps stand before their scan, which reads them; every reader of the state that stands there is one. */
void schedule_find_steps(const tn_schedule *s, int scan, bool *steps) {
  for (int i = 0; i < scan; i++) {
    const te_op *op = s->stages[i].op;
    steps[i] = false;
    for (int k = 0; k < op->n_inputs && !steps[i]; k++) {
      int from = schedule_stage_of_tensor(s, op->inputs[k]);
      steps[i] = from == scan || (from >= 0 && from < i && steps[from]);
    }
  }
}

/* The scan that a stage is a step of; -1: none. */
static int scan_of(const tn_schedule *s, int stage) {
  bool steps[SCHEDULE_MAX_STAGES] = {false};
  for (int i = stage + 1; i < s->n_stages; i++) {
    if (!is_scan(&s->stages[i])) continue;
    schedule_find_steps(s, i, steps);
    if (steps[stage]) return i;
  }
  return -1;
}

bool schedule_is_in_scan(const tn_schedule *s, int stage) {
  return is_scan(&s->stages[stage]) || scan_of(s, stage) >= 0;
}

/* ---- axes that a scan never reads across ------------------------------------------------------------------------- */

/* A search for the dimension of each step that goes with one of the state's. */
typedef struct across {
  const tn_schedule *s;
  int scan, axis;               /* the state's dimension */
  int dim[SCHEDULE_MAX_STAGES]; /* by step: the dimension that goes with it; -1: not met yet */
  const te_op *op;              /* whose reads are looked at ... */
  int own;                      /* ... and its axis that goes with the dimension */
} across;

/* The axis alone: with an offset elements would be read across. */
static bool is_axis(const tir_expr *e, const tn_axis *axis) { return e->op == TIR_VAR && e->u.var == &axis->var; }

static bool keeps_apart(across *a, int stage, int own);

/* Each step is looked at once; the dimension that goes with the axis is found at its first read. */
static tir_walk look_at_read(void *user, const tir_expr *e) {
  across *a = user;
  if (e->op != TIR_READ) return TIR_WALK_ON;
  const tn_axis *own = a->op->axes[a->own];
  int from = schedule_stage_of_tensor(a->s, e->u.tensor);
  bool steps[SCHEDULE_MAX_STAGES];
  if (from == a->scan) return is_axis(e->arg[a->axis], own) ? TIR_WALK_ON : TIR_WALK_STOP;
  if (from > a->scan) return TIR_WALK_ON;
  schedule_find_steps(a->s, a->scan, steps);
  if (!steps[from]) return TIR_WALK_ON;
  if (a->dim[from] >= 0) return is_axis(e->arg[a->dim[from]], own) ? TIR_WALK_ON : TIR_WALK_STOP;
  for (int d = 0; d < e->n_args; d++) {
    if (!is_axis(e->arg[d], own)) continue;
    a->dim[from] = d;
    return keeps_apart(a, from, d) ? TIR_WALK_ON : TIR_WALK_STOP;
  }
  return TIR_WALK_STOP;
}

/* A step at a time, recursively: steps read steps. */
static bool keeps_apart(across *a, int stage, int own) {
  across outer = *a;
  a->op = a->s->stages[stage].op;
  a->own = own;
  bool apart = tir_walk_expr(a->op->body, look_at_read, a);
  a->op = outer.op;
  a->own = outer.own;
  return apart;
}

/* Whether element j along a root axis depends on elements j of earlier times only. */
static bool is_apart(const tn_schedule *s, int scan, int root) {
  across a = {.s = s, .scan = scan, .axis = root};
  for (int i = 0; i < SCHEDULE_MAX_STAGES; i++) a.dim[i] = -1;
  return keeps_apart(&a, scan, root);
}

/* The first root axis under AXIS that the scan reads across; NULL: none. */
static const schedule_axis *read_across(const tn_schedule *s, int scan, int axis) {
  const schedule_stage *st = &s->stages[scan];
  if (st->axes[axis].made_by < 0) return is_apart(s, scan, st->axes[axis].root) ? NULL : &st->axes[axis];
  const schedule_relation *r = &st->relations[st->axes[axis].made_by];
  if (!r->is_fuse) return read_across(s, scan, r->one);
  for (int i = 0; i < r->n; i++) {
    const schedule_axis *found = read_across(s, scan, r->many[i]);
    if (found) return found;
  }
  return NULL;
}

/* ---- the checks -------------------------------------------------------------------------------------------------- */

/* Inlining or moving a scan would start it anew for each reader. */
static tn_status check_place(const schedule_call *c, int scan) {
  const schedule_stage *st = &c->s->stages[scan];
  const char *name = schedule_stage_name(st);
  if (st->attach == SCHEDULE_ROOT) return TN_OK;
  return schedule_refuse(c,
                         "%s is a scan: each of its times reads earlier ones, so it is computed as a whole, at root; "
                         "compute what it reads at one of its loops (%s) instead",
                         name, schedule_leaf(st, 0)->name);
}

/* The place of a loop among those under AXIS in the order of the times, added to *place. False: it is not there. */
static bool find_place(const schedule_stage *st, int axis, int loop, int *place) {
  if (axis == loop) return true;
  if (st->axes[axis].used_by < 0) {
    ++*place;
    return false;
  }
  const schedule_relation *r = &st->relations[st->axes[axis].used_by];
  for (int i = 0; i < r->n; i++) {
    if (find_place(st, r->many[i], loop, place)) return true;
  }
  return false;
}

/* Earlier loops step over what later ones count: time is the first axis, and only split. */
static int place_in_time(const schedule_stage *st, int loop) {
  int place = 0, time = 0;
  while (!schedule_is_time(st, time)) time++;
  find_place(st, time, loop, &place);
  return place;
}

/* Loops over the time: none in lockstep or parallel, and in the order of the times. */
static tn_status check_time(const schedule_call *c, int scan) {
  const schedule_stage *st = &c->s->stages[scan];
  int before = -1;
  for (int i = 0; i < st->n_leaves; i++) {
    if (!schedule_is_time(st, st->leaves[i])) continue;
    const schedule_axis *axis = schedule_leaf(st, i);
    if (axis->annotation > SCHEDULE_UNROLL)
      return schedule_refuse(c,
                             "loop %s of %s (extent %lld) is the time of a scan: an iteration reads what earlier ones "
                             "stored, so they cannot run %s; take one of the scan's other loops",
                             axis->name, schedule_stage_name(st), (long long)axis->extent,
                             axis->annotation == SCHEDULE_VECTORIZE ? "in lockstep" : "in parallel");
    if (before >= 0 && place_in_time(st, st->leaves[i]) < place_in_time(st, before))
      return schedule_refuse(c,
                             "loop %s of %s would stand inside a later part of the time: the times would run out of "
                             "order; leave %s outside of %s",
                             axis->name, schedule_stage_name(st), axis->name, st->axes[before].name);
    before = st->leaves[i];
  }
  return TN_OK;
}

/* What stands outside of a loop over the time takes all times of its part before the next part begins. */
static tn_status check_outer(const schedule_call *c, int scan) {
  const schedule_stage *st = &c->s->stages[scan];
  int last = last_time(st);
  for (int i = 0; i < last; i++) {
    if (schedule_is_time(st, st->leaves[i])) continue;
    const schedule_axis *root = read_across(c->s, scan, st->leaves[i]);
    if (!root) continue;
    const char *name = schedule_leaf(st, i)->name, *time = schedule_leaf(st, last)->name;
    return schedule_refuse(c,
                           "loop %s of %s would stand outside of the time %s, but the scan reads across %s: element %s "
                           "of a time needs other elements of earlier times; keep %s outside of %s",
                           name, schedule_stage_name(st), time, root->name, root->name, time, name);
  }
  return TN_OK;
}

/* Inlined steps are part of their readers. */
static tn_status check_steps(const schedule_call *c, int scan) {
  tn_schedule *s = c->s;
  const schedule_stage *target = &s->stages[scan];
  bool steps[SCHEDULE_MAX_STAGES];
  int last = last_time(target);
  const char *time = schedule_leaf(target, last)->name, *name = schedule_stage_name(target);
  schedule_find_steps(s, scan, steps);
  for (int i = 0; i < scan; i++) {
    const schedule_stage *st = &s->stages[i];
    if (!steps[i] || st->attach == SCHEDULE_INLINED || schedule_inside(s, i, scan) >= last) continue;
    return schedule_refuse(c,
                           "%s is a step of the scan %s: it reads what the scan stored at earlier times, so it is "
                           "computed inside the time %s; use compute_at(%s, %s, %s) or a loop inside of that one",
                           schedule_stage_name(st), name, time, schedule_stage_name(st), name, time);
  }
  return TN_OK;
}

/* Quadratic in the steps, of which scans have a few. */
tn_status schedule_check_scans(const schedule_call *c) {
  for (int i = 0; i < c->s->n_stages; i++) {
    if (!is_scan(&c->s->stages[i])) continue;
    SCHEDULE_TRY(check_place(c, i));
    SCHEDULE_TRY(check_time(c, i));
    SCHEDULE_TRY(check_outer(c, i));
    SCHEDULE_TRY(check_steps(c, i));
  }
  return TN_OK;
}

/* PRIMITIVE is what would stand between two times. */
tn_status schedule_check_no_scan(const schedule_call *c, int stage, const char *primitive, const char *instead) {
  tn_schedule *s = c->s;
  const schedule_stage *st = &s->stages[stage];
  int scan = is_scan(st) ? stage : scan_of(s, stage);
  if (scan < 0) return TN_OK;
  return schedule_refuse(c,
                         "%s is %s%s, whose times are computed one after the other from one buffer: %s would put "
                         "another stage between them; %s",
                         schedule_stage_name(st), scan == stage ? "a scan" : "a step of the scan ",
                         scan == stage ? "" : schedule_stage_name(&s->stages[scan]), primitive, instead);
}

/* WHY ends "... is the time of a scan:". */
tn_status schedule_check_no_time(const schedule_call *c, int stage, int iter, const char *why, const char *instead) {
  const schedule_stage *st = &c->s->stages[stage];
  if (!schedule_is_time(st, st->leaves[iter])) return TN_OK;
  return schedule_refuse(c, "loop %s of %s is the time of a scan: %s; %s", schedule_leaf(st, iter)->name,
                         schedule_stage_name(st), why, instead);
}
