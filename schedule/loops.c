/* loops.c: the primitives that change a stage's loops: split, fuse, reorder, annotate, and tile, which is made of them.
 * Each is three steps: the invariant in a comment, the legality check, the rewrite. Positions are in leaf order. */
#include <stdio.h>

#include "schedule/edit.h"
#include "schedule/tail.h"

const char *const schedule_annotation_words[SCHEDULE_ANNOTATION_COUNT] = {
    "none",        "unroll",     "vectorize",   "parallel",   "vthread",    "blockIdx.x",
    "threadIdx.x", "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z"};

/* A loop that is split or fused must not carry an annotation or a pragma: it would be lost. */
static tn_status check_plain(const schedule_call *c, int iter) {
  const schedule_stage *st = &c->s->stages[c->step.stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  SCHEDULE_TRY(schedule_check_outside(c, c->step.stage, iter));
  if (axis->annotation == SCHEDULE_NONE && !schedule_has_pragma(axis) && !schedule_has_prefetch(st, st->leaves[iter]))
    return TN_OK;
  const char *what = axis->annotation >= SCHEDULE_BIND ? "bind"
                     : axis->annotation                ? schedule_annotation_words[axis->annotation]
                     : schedule_has_pragma(axis)       ? "pragma"
                                                       : "prefetch";
  return schedule_refuse(c, "loop %s of %s already has %s, which would be lost: put this before %s(%s, %s)", axis->name,
                         schedule_stage_name(st), what, what, schedule_stage_name(st), axis->name);
}

/* Names of derived loops grow; what schedule text cannot name any more is refused. */
static tn_status check_name(const schedule_call *c, const char *suffix, size_t length) {
  if (length <= SCHEDULE_MAX_NAME) return TN_OK;
  return schedule_refuse(c,
                         "the name of the new loop would be longer than %d characters (it ends in %s): split into all "
                         "parts at once, as in split(stage, axis, 4, 8, 16)",
                         SCHEDULE_MAX_NAME, suffix);
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

/* Invariant: the children, outer to inner, count through [0, product of extents); the part below the parent's extent is
 * the parent, the rest is the tail. */

/* Each at least 1, and an index holds their product. */
static tn_status check_lengths(const schedule_call *c, const schedule_axis *axis) {
  const char *stage = schedule_stage_name(&c->s->stages[c->step.stage]);
  int64_t product = 1;
  for (int i = 0; i < c->step.n; i++) {
    int64_t length = c->step.list[i];
    if (length < 1)
      return schedule_refuse(
          c, "length %lld: a factor must be at least 1 (loop %s has extent %lld); for example split(%s, %s, %lld)",
          (long long)length, axis->name, (long long)axis->extent, stage, axis->name,
          (long long)RUNTIME_MIN(axis->extent, 8));
    if (__builtin_mul_overflow(product, length, &product) || product > INT32_MAX)
      return schedule_refuse(
          c, "length %lld: the product of the lengths is over %d, and loop %s has extent %lld: take smaller lengths",
          (long long)length, INT32_MAX, axis->name, (long long)axis->extent);
  }
  return TN_OK;
}

/* The recorded extent says which axis was meant: a record that does not fit its program is stale. */
static tn_status check_recorded(const schedule_call *c, const schedule_axis *axis) {
  if (c->step.value == 0 || axis->size || axis->extent == c->step.value) return TN_OK;
  return schedule_refuse(
      c, "the step was recorded for extent %lld, the loop has %lld: use it with the program that it was recorded for",
      (long long)c->step.value, (long long)axis->extent);
}

/* The strategy is known and suits the axis. */
static tn_status check_split_tail(const schedule_call *c) {
  tn_tail tail = (tn_tail)c->step.tail;
  if (tail >= TN_TAIL_COUNT)
    return schedule_refuse(c, "tail strategy %d is unknown: take 0 guard, 1 peel, 2 mask, 3 pad, 4 overlap", (int)tail);
  if (tail != TN_TAIL_GUARD && tail != TN_TAIL_PEEL)
    SCHEDULE_TRY(schedule_check_no_time(c, c->step.stage, c->step.iter,
                                        "its rest is guarded or peeled off, so that no time runs twice",
                                        "take tail guard or peel"));
  return schedule_check_tail(c, c->step.stage, c->step.iter, tail);
}

/* Cheap refusals first. At most 16 parts, which is more than any tuner uses. */
tn_status schedule_check_split(schedule_call *c) {
  int n = c->step.n;
  SCHEDULE_TRY(schedule_check_iter(c, c->step.stage, c->step.iter));
  const schedule_stage *st = &c->s->stages[c->step.stage];
  const schedule_axis *axis = schedule_leaf(st, c->step.iter);
  SCHEDULE_TRY(check_recorded(c, axis));
  SCHEDULE_TRY(check_plain(c, c->step.iter));
  if (n < 1 || n > 15)
    return schedule_refuse(c, "%d lengths: a split takes 1 to 15; split one of the new loops again", n);
  if (n > 1 && !c->step.inner_to_outer)
    return schedule_refuse(c, "%d lengths from the outside: nparts is one length; give the inner lengths", n);
  SCHEDULE_TRY(check_split_tail(c));
  if (st->n_axes + n + 1 > SCHEDULE_MAX_AXES)
    return schedule_refuse(c, "stage %s would have more than %d axes: keep fewer loops", schedule_stage_name(st),
                           SCHEDULE_MAX_AXES);
  SCHEDULE_TRY(check_name(c, ".outer", strlen(axis->name) + strlen(".outer")));
  return check_lengths(c, axis);
}

/* Extents of the n+1 children of an axis of a given extent. The free one is the outermost (inner_to_outer) or the
 * innermost. A length that the axis does not need is cut: split(16, factor 20) gives 1 x 16. */
void schedule_child_extents(int64_t extent, bool is_symbolic, int n, const int64_t *lengths, bool inner_to_outer,
                            int64_t *out) {
  int64_t rest = extent;
  for (int i = 0; i < n; i++) {
    int child = inner_to_outer ? n - i : i;
    int64_t length = lengths[inner_to_outer ? n - 1 - i : i];
    out[child] = is_symbolic ? length : RUNTIME_MIN(length, rest);
    rest = (rest - 1) / out[child] + 1;
  }
  out[inner_to_outer ? 0 : n] = rest;
}

/* Divided one length after the other, which gives what dividing by their product would. */
const tir_expr *schedule_rest_size(runtime_arena *arena, const tir_expr *size, int n, const int64_t *lengths) {
  for (int i = 0; i < n; i++) {
    if (lengths[i] == 1) continue;
    tn_dtype dtype = (tn_dtype)size->dtype;
    size = tir_binary(arena, TIR_ADD, size, tir_int(arena, dtype, lengths[i] - 1));
    size = tir_binary(arena, TIR_FLOORDIV, size, tir_int(arena, dtype, lengths[i]));
  }
  return size;
}

/* Cut where BUFFER ends. */
const char *schedule_extent_text(const schedule_axis *axis, char *buffer, size_t n) {
  runtime_str text = {0};
  if (axis->size)
    te_print_expr(&text, axis->size);
  else
    runtime_str_addf(&text, "%lld", (long long)axis->extent);
  snprintf(buffer, n, "%s", text.failed ? "?" : text.data);
  runtime_str_free(&text);
  return buffer;
}

/* Interned; NULL: out of memory. */
static const char *child_name(tn_schedule *s, const char *parent, int i, int n_children) {
  if (n_children == 2) return schedule_intern_joined(s->program, parent, i ? "inner" : "outer");
  return schedule_internf(s->program, "%s.%d", parent, i);
}

/* Children inherit the kind of their parent, no annotation. REST: the size of the one that has no length, or NULL. */
static bool add_children(tn_schedule *s, schedule_stage *st, int parent, schedule_relation *r, const int64_t *extents,
                         const tir_expr *rest) {
  for (int i = 0; i < r->n; i++) {
    schedule_axis child = {.name = child_name(s, st->axes[parent].name, i, r->n),
                           .extent = extents[i],
                           .size = i == (r->inner_to_outer ? 0 : r->n - 1) ? rest : NULL,
                           .kind = st->axes[parent].kind,
                           .root = -1,
                           .made_by = (int16_t)(st->n_relations - 1),
                           .used_by = -1,
                           .unroll_step = -1};
    int made = child.name ? schedule_add_axis(s, st, &child) : -1;
    if (made < 0) return false;
    r->many[i] = (int16_t)made;
  }
  return true;
}

/* Stages attached to loop FROM of a stage are from now on attached to loop TO. */
static void move_attachments(tn_schedule *s, int stage, int from, int to) {
  for (int i = 0; i < s->n_stages; i++) {
    schedule_stage *st = &s->stages[i];
    if (st->attach == SCHEDULE_AT && st->at_stage == stage && st->at_axis == from) st->at_axis = (int16_t)to;
  }
}

/* Stages computed at the loop are computed at its innermost part from now on, so that their regions stay. */
bool schedule_rewrite_split(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  int parent = st->leaves[c->step.iter], n = c->step.n;
  int64_t extents[16];
  const tir_expr *size = st->axes[parent].size;
  c->step.value = st->axes[parent].extent;
  schedule_child_extents(c->step.value, size != NULL, n, c->step.list, c->step.inner_to_outer, extents);
  const tir_expr *rest = size ? schedule_rest_size(&c->s->ctx->arena, size, n, c->step.list) : NULL;
  schedule_relation *r = schedule_add_relation(c->s, st, n + 1);
  if (!r || (size && !rest)) return false;
  r->one = (int16_t)parent;
  r->tail = c->step.tail;
  r->inner_to_outer = c->step.inner_to_outer;
  if (!add_children(c->s, st, parent, r, extents, rest)) return false;
  if (!schedule_set_leaves(c->s, st, c->step.iter, 1, n + 1, r->many)) return false;
  st->axes[parent].used_by = (int16_t)(st->n_relations - 1);
  move_attachments(c->s, c->step.stage, parent, r->many[n]);
  return true;
}

/* LENGTHS as TVM's SP step has them: of the inner loops, or with INNER_TO_OUTER false of the outer
 * ones. */
tn_status schedule_split(tn_schedule *s, int stage, int iter, int n, const int64_t *lengths, bool inner_to_outer,
                         tn_tail tail) {
  schedule_step step = {.kind = SCHEDULE_STEP_SP,
                        .stage = (int16_t)stage,
                        .iter = (int16_t)iter,
                        .n = n,
                        .list = lengths,
                        .inner_to_outer = inner_to_outer,
                        .tail = (uint8_t)tail};
  return schedule_apply_step(s, &step);
}

tn_status tn_split_many(tn_schedule *s, const char *stage, const char *axis, int n, const int64_t *lengths,
                        tn_tail tail) {
  return SCHEDULE_CALL(s, split, schedule_name(stage), schedule_name(axis),
                       {.is_list = true, .number = n, .numbers = lengths}, schedule_tail(tail));
}
tn_status tn_split(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail) {
  return SCHEDULE_CALL(s, split, schedule_name(stage), schedule_name(axis), schedule_number(factor),
                       schedule_tail(tail));
}
/* The outer extent is NPARTS or, where the axis is shorter, the axis's. */
tn_status tn_split_nparts(tn_schedule *s, const char *stage, const char *axis, int64_t nparts, tn_tail tail) {
  return SCHEDULE_CALL(s, split, schedule_name(stage), schedule_name(axis), {.key = "nparts", .number = nparts},
                       schedule_tail(tail));
}

/* ---- fuse -------------------------------------------------------------------------------------------------------- */

/* Invariant: the fused loop counts through the product of its parts' extents, the last part fastest. */

/* Loops between the parts would change their place otherwise. */
static tn_status check_adjacent(const schedule_call *c, int n, const int64_t *iters) {
  const schedule_stage *st = &c->s->stages[c->step.stage];
  char names[512];
  for (int i = 1; i < n; i++) {
    if (iters[i] == iters[i - 1] + 1) continue;
    return schedule_refuse(c, "loops %s and %s of %s are not adjacent in this order (loops: %s): reorder them first",
                           schedule_leaf(st, (int)iters[i - 1])->name, schedule_leaf(st, (int)iters[i])->name,
                           schedule_stage_name(st), schedule_loop_names(st, names, sizeof names));
  }
  return TN_OK;
}

/* Fusing i and j leaves no loop that runs once an i: what is computed there would have no place. */
static tn_status check_no_attachment(const schedule_call *c, int stage, int iter) {
  tn_schedule *s = c->s;
  const schedule_stage *st = &s->stages[stage];
  for (int i = 0; i < s->n_stages; i++) {
    const schedule_stage *other = &s->stages[i];
    if (other->attach != SCHEDULE_AT || other->at_stage != stage || other->at_axis != st->leaves[iter]) continue;
    return schedule_refuse(c,
                           "%s is computed at loop %s of %s: only the innermost of the fused loops may carry stages; "
                           "call compute_at(%s, ...) after the fuse",
                           schedule_stage_name(other), schedule_leaf(st, iter)->name, schedule_stage_name(st),
                           schedule_stage_name(other));
  }
  return TN_OK;
}

/* Fuses any number of neighbours at once. */
tn_status schedule_check_fuse(schedule_call *c) {
  int n = c->step.n, stage = c->step.stage;
  SCHEDULE_TRY(schedule_check_stage(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  if (n < 2 || n > st->n_leaves)
    return schedule_refuse(c, "%d loops to fuse, of %s, which has %d: name two or more adjacent loops", n,
                           schedule_stage_name(st), st->n_leaves);
  int64_t extent = 1;
  size_t length = strlen("fused");
  for (int i = 0; i < n; i++) {
    int iter = (int)c->step.list[i];
    SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
    SCHEDULE_TRY(schedule_check_no_time(c, stage, iter, "it stays a loop of its own, in which the steps stand",
                                        "fuse other loops"));
    length += strlen(schedule_leaf(st, iter)->name) + 1;
    SCHEDULE_TRY(check_plain(c, iter));
    if (__builtin_mul_overflow(extent, schedule_leaf(st, iter)->extent, &extent))
      return schedule_refuse(c, "the fused extent does not fit 63 bits: fuse fewer loops");
  }
  SCHEDULE_TRY(check_adjacent(c, n, c->step.list));
  SCHEDULE_TRY(schedule_check_fuse_overlap(c, stage, n, c->step.list));
  for (int i = 0; i + 1 < n; i++) SCHEDULE_TRY(check_no_attachment(c, stage, (int)c->step.list[i]));
  return check_name(c, ".fused", length);
}

/* The product of the parts' extents, where symbols decide one of them. */
static const tir_expr *fused_size(tn_schedule *s, const schedule_stage *st, int n, const int64_t *iters) {
  const tir_expr *product = tir_int(&s->ctx->arena, TN_I32, 1);
  bool is_symbolic = false;
  for (int i = 0; i < n; i++) {
    const schedule_axis *part = schedule_leaf(st, (int)iters[i]);
    is_symbolic = is_symbolic || part->size;
    const tir_expr *extent = part->size ? part->size : tir_int(&s->ctx->arena, TN_I32, part->extent);
    product = tir_binary(&s->ctx->arena, TIR_MUL, product, extent);
  }
  return is_symbolic ? product : NULL;
}

/* Fills OUT; it belongs to no stage yet. False: out of memory. */
static bool fused_axis(tn_schedule *s, const schedule_stage *st, int n, const int64_t *iters, schedule_axis *out) {
  runtime_str name = {0};
  *out = (schedule_axis){.extent = 1,
                         .size = fused_size(s, st, n, iters),
                         .kind = schedule_leaf(st, (int)iters[0])->kind,
                         .root = -1,
                         .made_by = (int16_t)st->n_relations,
                         .used_by = -1,
                         .unroll_step = -1};
  for (int i = 0; i < n; i++) {
    const schedule_axis *part = schedule_leaf(st, (int)iters[i]);
    runtime_str_addf(&name, "%s.", part->name);
    out->extent *= part->extent;
    if (part->kind != out->kind) out->kind = SCHEDULE_MIXED;
  }
  runtime_str_add(&name, "fused");
  out->name = name.failed ? NULL : schedule_intern(s->program, name.data);
  runtime_str_free(&name);
  return out->name != NULL;
}

/* What is computed in the innermost part is computed in the fused loop. */
bool schedule_rewrite_fuse(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  const int64_t *iters = c->step.list;
  int n = c->step.n;
  schedule_axis fused;
  if (!fused_axis(c->s, st, n, iters, &fused)) return false;
  schedule_relation *r = schedule_add_relation(c->s, st, n);
  int child = r ? schedule_add_axis(c->s, st, &fused) : -1;
  if (child < 0) return false;
  r->is_fuse = true;
  r->one = (int16_t)child;
  for (int i = 0; i < n; i++) {
    r->many[i] = st->leaves[iters[i]];
    st->axes[r->many[i]].used_by = fused.made_by;
  }
  move_attachments(c->s, c->step.stage, r->many[n - 1], child);
  return schedule_set_leaves(c->s, st, (int)iters[0], n, 1, &r->one);
}

/* A step whose list is loops of a stage. */
static tn_status apply_loops(tn_schedule *s, schedule_step_kind kind, int stage, int n, const int *iters) {
  int64_t list[SCHEDULE_MAX_AXES];
  for (int i = 0; i < n && i < SCHEDULE_MAX_AXES; i++) list[i] = iters[i];
  schedule_step step = {.kind = (uint8_t)kind, .stage = (int16_t)stage, .iter = -1, .n = n, .list = list};
  return schedule_apply_step(s, &step);
}

tn_status schedule_fuse(tn_schedule *s, int stage, int n, const int *iters) {
  return apply_loops(s, SCHEDULE_STEP_FU, stage, n, iters);
}
tn_status tn_fuse_names(tn_schedule *s, const char *stage, int n, const char *const *axes) {
  return SCHEDULE_CALL(s, fuse, schedule_name(stage), schedule_names(n, axes));
}

/* ---- reorder ----------------------------------------------------------------------------------------------------- */

/* Invariant: the same loops, another nesting. Legal for all loops: iterations of data axes are independent, and every
 * combiner is commutative and associative (floats up to rounding). */

/* All loops of the stage, once each. */
static tn_status check_order(const schedule_call *c) {
  int n = c->step.n, stage = c->step.stage;
  SCHEDULE_TRY(schedule_check_stage(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  char names[512];
  if (n != st->n_leaves)
    return schedule_refuse(c, "%d loops in the new order, %s has %d: name all of them (%s)", n, schedule_stage_name(st),
                           st->n_leaves, schedule_loop_names(st, names, sizeof names));
  bool seen[SCHEDULE_MAX_AXES] = {false};
  for (int i = 0; i < n; i++) {
    int iter = (int)c->step.list[i];
    SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
    if (seen[iter])
      return schedule_refuse(c, "loop %s stands twice in the new order: name each loop once",
                             schedule_leaf(st, iter)->name);
    seen[iter] = true;
  }
  return TN_OK;
}

/* Tried on the stage's loops, and taken back. While they stand in the new order, it is that that messages show. */
tn_status schedule_check_reorder(schedule_call *c) {
  int16_t before[SCHEDULE_MAX_AXES];
  int64_t as_they_are[SCHEDULE_MAX_AXES];
  SCHEDULE_TRY(check_order(c));
  schedule_call tried = *c;
  tried.step.list = as_they_are;
  for (int i = 0; i < c->step.n; i++) as_they_are[i] = i;
  schedule_stage *st = &c->s->stages[c->step.stage];
  size_t bytes = sizeof *before * (size_t)c->step.n;
  memcpy(before, st->leaves, bytes);
  schedule_rewrite_reorder(c);
  tn_status status = schedule_check_order(&tried);
  bool is_same = memcmp(before, st->leaves, bytes) == 0;
  memcpy(st->leaves, before, bytes);
  if (status == TN_OK && is_same) schedule_warn(c, " has no effect: the loops stand in this order already");
  return status;
}

/* Only the list of leaves changes: axes and relations stay. */
bool schedule_rewrite_reorder(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  int16_t before[SCHEDULE_MAX_AXES];
  memcpy(before, st->leaves, sizeof *before * (size_t)c->step.n);
  for (int i = 0; i < c->step.n; i++) st->leaves[i] = before[c->step.list[i]];
  return true;
}

tn_status schedule_reorder(tn_schedule *s, int stage, int n, const int *order) {
  return apply_loops(s, SCHEDULE_STEP_RE, stage, n, order);
}
tn_status tn_reorder_names(tn_schedule *s, const char *stage, int n, const char *const *axes) {
  return SCHEDULE_CALL(s, reorder, schedule_name(stage), schedule_names(n, axes));
}

/* ---- tile -------------------------------------------------------------------------------------------------------- */

/* Two splits; then a.outer, b.outer, a.inner, b.inner take the places that they hold. */
tn_status schedule_compose_tile(tn_schedule *s, const schedule_call *c) {
  int stage = c->step.stage, a = c->step.iter, b = c->step.target_iter, order[SCHEDULE_MAX_AXES];
  const int64_t *factor = c->step.list;
  const schedule_stage *st = &c->s->stages[stage];
  if (factor[0] < 1 || factor[1] < 1)
    return schedule_refuse(c, "factors %lld and %lld: both must be at least 1; for example tile(%s, %s, %s, 8, 8)",
                           (long long)factor[0], (long long)factor[1], schedule_stage_name(st),
                           schedule_leaf(st, a)->name, schedule_leaf(st, b)->name);
  SCHEDULE_TRY(schedule_split(s, stage, a, 1, &factor[0], true, (tn_tail)c->step.tail));
  SCHEDULE_TRY(schedule_split(s, stage, b + (b > a), 1, &factor[1], true, (tn_tail)c->step.tail));
  int outer_a = a + (a > b), outer_b = b + (b > a), first = RUNTIME_MIN(outer_a, outer_b);
  int last = RUNTIME_MAX(outer_a, outer_b), n = s->stages[stage].n_leaves;
  for (int i = 0; i < n; i++) order[i] = i;
  order[first] = outer_a;
  order[first + 1] = outer_b;
  order[last] = outer_a + 1;
  order[last + 1] = outer_b + 1;
  return schedule_reorder(s, stage, n, order);
}

tn_status tn_tile(tn_schedule *s, const char *stage, const char *a, const char *b, int64_t factor_a, int64_t factor_b,
                  tn_tail tail) {
  return SCHEDULE_CALL(s, tile, schedule_name(stage), schedule_name(a), schedule_name(b), schedule_number(factor_a),
                       schedule_number(factor_b), schedule_tail(tail));
}

/* ---- annotate: unroll, vectorize, parallel ----------------------------------------------------------------------- */

/* Invariant: the loop's iterations may run in lockstep or at the same time only when none reads what another writes:
 * data axes. A reduction axis carries the accumulator from one iteration to the next. */

/* What to do instead: "vectorize a data axis (i, j)"; a full reduction has none. */
static const char *instead_of_reduction(const schedule_stage *st, schedule_annotation annotation, char *buffer,
                                        size_t n) {
  const char *verb = annotation == SCHEDULE_PARALLEL    ? "make parallel"
                     : annotation == SCHEDULE_VECTORIZE ? "vectorize"
                                                        : "bind";
  size_t used = (size_t)snprintf(buffer, n, "%s a data axis (", verb), begin = used;
  for (int i = 0; i < st->n_leaves && used + 2 < n; i++) {
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL) continue;
    used += (size_t)snprintf(buffer + used, n - used, "%s%s", used > begin ? ", " : "", schedule_leaf(st, i)->name);
  }
  if (used == begin) return "write it as two stages, one for the partial results and one that combines them";
  if (used + 1 < n) snprintf(buffer + used, n - used, ")");
  return buffer;
}

/* Only a loop whose iterations can be counted is expanded, becomes lanes, or is given to so many threads of a GPU.
 * Under compute_at a stage's region decides, and may be constant; if it is not, lowering says so and makes the loop
 * serial. */
static tn_status check_constant_extent(const schedule_call *c, const schedule_stage *st, int iter,
                                       schedule_annotation annotation) {
  const schedule_axis *axis = schedule_leaf(st, iter);
  const char *word = schedule_annotation_words[annotation], *name = schedule_stage_name(st);
  char extent[64];
  bool may_be_constant = st->attach == SCHEDULE_AT && annotation < SCHEDULE_PARALLEL;
  if (!axis->size || annotation == SCHEDULE_PARALLEL || may_be_constant) return TN_OK;
  return schedule_refuse(c,
                         "loop %s of %s has the extent %s, which is known at a call only: %s needs a constant one: use "
                         "split(%s, %s, 16), then %s.inner",
                         axis->name, name, schedule_extent_text(axis, extent, sizeof extent), word, name, axis->name,
                         axis->name);
}

/* What can be said of the loop alone; its neighbours are asked when it is tried. */
static tn_status check_loop(const schedule_call *c, schedule_annotation annotation) {
  int stage = c->step.stage, iter = c->step.iter;
  SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
  const schedule_stage *st = &c->s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  char instead[256];
  if (annotation < SCHEDULE_UNROLL || annotation >= SCHEDULE_ANNOTATION_COUNT)
    return schedule_refuse(c, "annotation %lld is unknown: take 1 unroll, 2 vectorize, 3 parallel, 4 to 10 bind",
                           (long long)c->step.value);
  SCHEDULE_TRY(schedule_check_outside(c, stage, iter));
  if (axis->annotation != SCHEDULE_NONE)
    return schedule_refuse(c, "loop %s of %s already has %s: a loop takes one annotation; split it first", axis->name,
                           schedule_stage_name(st), schedule_annotation_words[axis->annotation]);
  if (annotation != SCHEDULE_UNROLL && axis->kind != SCHEDULE_SPATIAL)
    return schedule_refuse(c,
                           "loop %s of %s runs over a reduction axis (extent %lld): its iterations update the same "
                           "element, so they cannot run %s; %s",
                           axis->name, schedule_stage_name(st), (long long)axis->extent,
                           annotation == SCHEDULE_VECTORIZE ? "in lockstep" : "in parallel",
                           instead_of_reduction(st, annotation, instead, sizeof instead));
  return check_constant_extent(c, st, iter, annotation);
}

/* Tried on the loop, and taken back. */
tn_status schedule_check_annotate(schedule_call *c) {
  bool is_known = c->step.value >= SCHEDULE_NONE && c->step.value < SCHEDULE_ANNOTATION_COUNT;
  SCHEDULE_TRY(check_loop(c, is_known ? (schedule_annotation)c->step.value : SCHEDULE_ANNOTATION_COUNT));
  schedule_stage *st = &c->s->stages[c->step.stage];
  schedule_rewrite_annotate(c);
  tn_status status = c->step.value == SCHEDULE_UNROLL ? TN_OK : schedule_check_paths(c);
  st->axes[st->leaves[c->step.iter]].annotation = SCHEDULE_NONE;
  return status;
}

/* SCHEDULE_NONE takes an annotation back. */
bool schedule_rewrite_annotate(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  st->axes[st->leaves[c->step.iter]].annotation = (uint8_t)c->step.value;
  return true;
}

/* The tuner's unroll, vectorize and parallel. */
tn_status schedule_annotate(tn_schedule *s, int stage, int iter, schedule_annotation annotation) {
  schedule_step step = {
      .kind = SCHEDULE_STEP_AN, .stage = (int16_t)stage, .iter = (int16_t)iter, .value = (int64_t)annotation};
  return schedule_apply_step(s, &step);
}

tn_status tn_vectorize(tn_schedule *s, const char *stage, const char *axis) {
  return SCHEDULE_CALL(s, vectorize, schedule_name(stage), schedule_name(axis));
}
tn_status tn_unroll(tn_schedule *s, const char *stage, const char *axis) {
  return SCHEDULE_CALL(s, unroll, schedule_name(stage), schedule_name(axis));
}
tn_status tn_parallel(tn_schedule *s, const char *stage, const char *axis) {
  return SCHEDULE_CALL(s, parallel, schedule_name(stage), schedule_name(axis));
}
tn_status tn_bind(tn_schedule *s, const char *stage, const char *axis, const char *thread) {
  return SCHEDULE_CALL(s, bind, schedule_name(stage), schedule_name(axis), schedule_name(thread));
}

/* A split, and its inner loop vectorized. */
tn_status schedule_compose_vectorize_by(tn_schedule *s, const schedule_call *c) {
  SCHEDULE_TRY(schedule_split(s, c->step.stage, c->step.iter, 1, &c->step.value, true, (tn_tail)c->step.tail));
  return schedule_annotate(s, c->step.stage, c->step.iter + 1, SCHEDULE_VECTORIZE);
}
tn_status tn_vectorize_by(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail) {
  return SCHEDULE_CALL(s, vectorize_by, schedule_name(stage), schedule_name(axis), schedule_number(factor),
                       schedule_tail(tail));
}
