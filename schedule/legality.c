/* legality.c: the checks that primitives share, and the two invariants of a whole schedule: where attached stages may
 * be computed, and how parallel and vectorized loops may nest. */
#include <stdio.h>

#include "schedule/edit.h"
#include "schedule/tail.h"
#include "tir/intrin.h"

/* Cut where BUFFER ends: it is for messages. */
const char *schedule_loop_names(const schedule_stage *stage, char *buffer, size_t n) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int i = 0; i < stage->n_leaves && used + 1 < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, "%s%s", i ? ", " : "", schedule_leaf(stage, i)->name);
  return stage->n_leaves ? buffer : "none (it has rank 0)";
}

/* The four reasons why a stage has no loops are told apart, as their remedies differ. */
tn_status schedule_check_stage(const schedule_call *c, int stage) {
  tn_schedule *s = c->s;
  if (stage < 0 || stage >= s->n_stages)
    return schedule_refuse(c, "there is no stage %d: take 0 to %d", stage, s->n_stages - 1);
  const schedule_stage *st = &s->stages[stage];
  if (te_is_placeholder(st->op))
    return schedule_refuse(
        c,
        "%s is an input and has no loops: take a computed stage, or copy it first with cache_read(%s, local, reader)",
        schedule_stage_name(st), schedule_stage_name(st));
  SCHEDULE_TRY(schedule_check_no_extern(c, stage, "name a stage that it reads, or one that reads it"));
  if (st->attach == SCHEDULE_INLINED)
    return schedule_refuse(c, "%s is inlined and has no loops of its own: call compute_root(%s) first",
                           schedule_stage_name(st), schedule_stage_name(st));
  return TN_OK;
}

tn_status schedule_check_iter(const schedule_call *c, int stage, int iter) {
  SCHEDULE_TRY(schedule_check_stage(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  if (iter >= 0 && iter < st->n_leaves) return TN_OK;
  char names[512];
  return schedule_refuse(c, "stage %s has no loop number %d: take one of its %d loops, counted from 0 (%s)",
                         schedule_stage_name(st), iter, st->n_leaves, schedule_loop_names(st, names, sizeof names));
}

/* Follows the attachments outwards; cycles cannot arise, since compute_at refuses them. */
int schedule_inside(const tn_schedule *s, int stage, int target) {
  if (stage == target) return s->stages[target].n_leaves;
  while (s->stages[stage].attach == SCHEDULE_AT) {
    const schedule_stage *st = &s->stages[stage];
    if (st->at_stage == target) return schedule_leaf_position(&s->stages[target], st->at_axis);
    stage = st->at_stage;
  }
  return -1;
}

/* A stage under compute_at exists only while an iteration of that loop runs: who reads it must run inside too. Inlined
 * readers are looked through, since their readers read it then. */
static tn_status check_readers(const schedule_call *c, int stage) {
  tn_schedule *s = c->s;
  const schedule_stage *st = &s->stages[stage], *target = &s->stages[st->at_stage];
  const char *name = schedule_stage_name(st), *target_name = schedule_stage_name(target);
  const char *axis = target->axes[st->at_axis].name;
  int position = schedule_leaf_position(target, st->at_axis);
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++) {
    if (schedule_inside(s, readers[i], st->at_stage) >= position) continue;
    const char *reader = schedule_stage_name(&s->stages[readers[i]]);
    return schedule_refuse(
        c,
        "%s is computed inside loop %s of %s, but %s reads it outside of that loop: a stage under compute_at must have "
        "all its readers inside; call compute_root(%s), or compute %s at %s as well",
        name, axis, target_name, reader, name, reader, target_name);
  }
  return TN_OK;
}

/* Whether a reader's init reads a stage, looking through inlined ones. */
static bool init_reads(const tn_schedule *s, const tir_expr *e, const schedule_stage *st) {
  if (e->op == TIR_READ) {
    int from = schedule_stage_of_tensor(s, e->u.tensor);
    if (schedule_has_tensor(st, e->u.tensor)) return true;
    if (from >= 0 && s->stages[from].attach == SCHEDULE_INLINED && init_reads(s, s->stages[from].op->body, st))
      return true;
  }
  for (int i = 0; i < e->n_args; i++)
    if (init_reads(s, e->arg[i], st)) return true;
  return false;
}

/* A reduction's init is computed before its first reduction loop; what it reads must be there by then. */
static tn_status check_init(const schedule_call *c, int stage) {
  tn_schedule *s = c->s;
  const schedule_stage *st = &s->stages[stage], *target = &s->stages[st->at_stage];
  const tir_expr *body = target->op->body;
  int position = schedule_leaf_position(target, st->at_axis), first = 0;
  while (first < target->n_leaves && schedule_leaf(target, first)->kind == SCHEDULE_SPATIAL) first++;
  bool reads = false;
  for (int v = 0; v < tir_n_values(body) && tir_reduce_init(body, v); v++)
    reads |= init_reads(s, tir_reduce_init(body, v), st);
  if (position < first || !reads) return TN_OK;
  const char *name = schedule_stage_name(st), *target_name = schedule_stage_name(target);
  return schedule_refuse(c,
                         "%s is computed inside loop %s of %s, but %s's init reads it before the reduction loop %s "
                         "begins: compute it at a loop outside of %s, or call compute_root(%s)",
                         name, target->axes[st->at_axis].name, target_name, target_name,
                         schedule_leaf(target, first)->name, schedule_leaf(target, first)->name, name);
}

/* One stage's place: outputs lie in the caller's memory and must be complete, so they stay at root; a loop that another
 * stage is computed in must exist. */
static tn_status check_attachment(const schedule_call *c, int stage) {
  tn_schedule *s = c->s;
  const schedule_stage *st = &s->stages[stage];
  if (st->attach == SCHEDULE_ROOT) return TN_OK;
  const char *name = schedule_stage_name(st);
  if (schedule_is_output(s, stage))
    return schedule_refuse(c, "%s is an output: outputs are computed at root; compute its producers at %s instead",
                           name, name);
  if (st->attach == SCHEDULE_INLINED) return TN_OK;
  const schedule_stage *target = &s->stages[st->at_stage];
  if (target->attach == SCHEDULE_INLINED)
    return schedule_refuse(c,
                           "%s is computed at loop %s of %s: a stage that others are computed in cannot be inlined; "
                           "call compute_root(%s) first",
                           name, target->axes[st->at_axis].name, schedule_stage_name(target), name);
  SCHEDULE_TRY(check_init(c, stage));
  return check_readers(c, stage);
}

/* Linear in stages times readers; called after every primitive that moves a stage or changes an order of loops. */
static tn_status check_attachments(const schedule_call *c) {
  for (int i = 0; i < c->s->n_stages; i++) SCHEDULE_TRY(check_attachment(c, i));
  return TN_OK;
}

/* What surrounds a loop on its path from the root. */
typedef struct path_state {
  const char *parallel_stage, *parallel_axis; /* NULL: none yet */
  const char *vector_axis;
  const char *bound_axis[SCHEDULE_ANNOTATION_COUNT]; /* by thread index */
} path_state;

/* The rules of one path: OpenMP regions do not nest, and a vector lane cannot start threads. */
static tn_status step_into(const schedule_call *c, const schedule_stage *st, int iter, path_state *path) {
  const schedule_axis *axis = schedule_leaf(st, iter);
  const char *name = schedule_stage_name(st);
  if (axis->annotation == SCHEDULE_PARALLEL && path->parallel_axis && path->parallel_stage != name)
    return schedule_refuse(
        c, "loop %s of %s would be a parallel loop inside the parallel loop %s of %s: make one of the two parallel",
        axis->name, name, path->parallel_axis, path->parallel_stage);
  if (axis->annotation == SCHEDULE_PARALLEL && path->parallel_axis)
    return schedule_refuse(c,
                           "loop %s of %s would be a parallel loop inside the parallel loop %s of %s: fuse the two and "
                           "make the fused loop parallel, or keep one",
                           axis->name, name, path->parallel_axis, path->parallel_stage);
  if (axis->annotation == SCHEDULE_PARALLEL && path->vector_axis)
    return schedule_refuse(c,
                           "the parallel loop %s of %s would stand inside the vectorized loop %s: put the parallel "
                           "loop outermost, for example reorder(%s, %s, %s)",
                           axis->name, name, path->vector_axis, name, axis->name, path->vector_axis);
  if (axis->annotation >= SCHEDULE_BIND && path->bound_axis[axis->annotation])
    return schedule_refuse(c,
                           "loop %s of %s would be bound to %s inside loop %s, which is bound to it, too: bind it to "
                           "another index, or fuse the two loops",
                           axis->name, name, schedule_annotation_words[axis->annotation],
                           path->bound_axis[axis->annotation]);
  if (axis->annotation >= SCHEDULE_BIND) path->bound_axis[axis->annotation] = axis->name;
  if (axis->annotation == SCHEDULE_PARALLEL) path->parallel_axis = axis->name, path->parallel_stage = name;
  if (axis->annotation == SCHEDULE_VECTORIZE) path->vector_axis = axis->name;
  return TN_OK;
}

/* Walks the loops around and of a stage, outermost first. LAST: leaves 0..last of the stage. */
static tn_status walk_path(const schedule_call *c, int stage, int last, path_state *path) {
  const schedule_stage *st = &c->s->stages[stage];
  if (st->attach == SCHEDULE_AT) {
    const schedule_stage *target = &c->s->stages[st->at_stage];
    SCHEDULE_TRY(walk_path(c, st->at_stage, schedule_leaf_position(target, st->at_axis), path));
    if (path->vector_axis)
      return schedule_refuse(c,
                             "%s would be computed inside the vectorized loop %s of %s: attach it further out, or "
                             "vectorize a loop of %s itself",
                             schedule_stage_name(st), path->vector_axis, schedule_stage_name(target),
                             schedule_stage_name(st));
  }
  int tensor = schedule_tensor_position(st);
  for (int i = 0; i <= last; i++) {
    if (i == tensor && path->vector_axis)
      return schedule_refuse(c,
                             "the intrinsic %s of %s would stand inside the vectorized loop %s: an intrinsic has its "
                             "own vectors; leave that loop serial, or unroll it",
                             st->intrin->name, schedule_stage_name(st), path->vector_axis);
    bool has_rules = schedule_leaf(st, i)->annotation >= SCHEDULE_VECTORIZE;
    if (has_rules) SCHEDULE_TRY(step_into(c, st, i, path));
  }
  return TN_OK;
}

/* By stage: its outermost loop that rules of paths are about (its number of loops: there is none), and how many there are. */
typedef struct ruled_loops {
  int first[SCHEDULE_MAX_STAGES], n[SCHEDULE_MAX_STAGES];
} ruled_loops;

static void find_ruled_loops(const tn_schedule *s, ruled_loops *ruled) {
  for (int i = 0; i < s->n_stages; i++) {
    const schedule_stage *st = &s->stages[i];
    ruled->first[i] = st->n_leaves;
    ruled->n[i] = 0;
    for (int k = st->n_leaves - 1; k >= 0; k--) {
      if (schedule_leaf(st, k)->annotation < SCHEDULE_VECTORIZE) continue;
      ruled->first[i] = k;
      ruled->n[i]++;
    }
  }
}

/* Whether a rule can be broken on the stage's path: each is about two such loops, or about what stands inside of one. Most paths have one
 * at the most. */
static bool is_worth_walking(const tn_schedule *s, int stage, const ruled_loops *ruled) {
  const schedule_stage *st = &s->stages[stage];
  if (st->intrin || ruled->n[stage] > 1) return true;
  for (; st->attach == SCHEDULE_AT; st = &s->stages[st->at_stage]) {
    int at = st->at_stage;
    if (s->stages[at].intrin || ruled->first[at] <= schedule_leaf_position(&s->stages[at], st->at_axis)) return true;
  }
  return false;
}

/* Every stage's path from the root, so also those of stages computed inside of others. Most stages have nothing that
 * three of the four are about. */
static tn_status check_paths(const schedule_call *c) {
  ruled_loops ruled;
  find_ruled_loops(c->s, &ruled);
  for (int i = 0; i < c->s->n_stages; i++) {
    const schedule_stage *st = &c->s->stages[i];
    if (te_is_placeholder(st->op) || st->attach == SCHEDULE_INLINED) continue;
    if (st->intrin) SCHEDULE_TRY(schedule_check_intrin(c, i));
    if (is_worth_walking(c->s, i, &ruled)) SCHEDULE_TRY(walk_path(c, i, st->n_leaves - 1, &(path_state){0}));
    if (st->n_relations) SCHEDULE_TRY(schedule_check_overlaps(c, i));
    if (st->buffering != SCHEDULE_BUFFER_ONCE) SCHEDULE_TRY(schedule_check_buffering(c, i));
  }
  return TN_OK;
}

tn_status schedule_check_paths(const schedule_call *c) {
  SCHEDULE_TRY(check_paths(c));
  return schedule_check_scans(c);
}

tn_status schedule_check_places(const schedule_call *c) {
  SCHEDULE_TRY(schedule_check_scans(c));
  SCHEDULE_TRY(check_attachments(c));
  return check_paths(c);
}

tn_status schedule_check_order(const schedule_call *c) {
  SCHEDULE_TRY(schedule_check_paths(c));
  return check_attachments(c);
}
