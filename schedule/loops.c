/* loops.c: the primitives that change a stage's loops: split, fuse, reorder, annotate. Each is three steps: the
 * invariant in a comment, the legality check, the rewrite; the step is recorded last. Positions are in leaf order. */
#include <stdio.h>

#include "schedule/edit.h"
#include "schedule/tail.h"

static tn_status no_memory(tn_schedule *s) {
  return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
}

const char *const schedule_annotation_words[SCHEDULE_ANNOTATION_COUNT] = {
    "none",        "unroll",     "vectorize",   "parallel",   "vthread",    "blockIdx.x",
    "threadIdx.x", "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z"};

/* The message's beginning: `split(C, i)`, or `fuse(C, i, j)` with several loops. */
static const char *call_with_loops(char *buffer, size_t n, const char *primitive, const tn_schedule *s, int stage,
                                   int n_iters, const int *iters) {
  const schedule_stage *st = stage >= 0 && stage < s->n_stages ? &s->stages[stage] : NULL;
  size_t used = (size_t)snprintf(buffer, n, "%s%s%s(%s", s->within ? s->within : "", s->within ? ": " : "", primitive,
                                 st ? schedule_stage_name(st) : "?");
  for (int i = 0; st && i < n_iters && used < n; i++)
    if (iters[i] >= 0 && iters[i] < st->n_leaves)
      used += (size_t)snprintf(buffer + used, n - used, ", %s", schedule_leaf(st, iters[i])->name);
  if (used < n) snprintf(buffer + used, n - used, ")");
  return buffer;
}

static const char *call_text(char *buffer, size_t n, const char *primitive, const tn_schedule *s, int stage, int iter) {
  return call_with_loops(buffer, n, primitive, s, stage, 1, &iter);
}

/* A loop that is split or fused must not carry an annotation or a pragma: it would be lost. */
static tn_status check_plain(tn_schedule *s, const char *call, const schedule_stage *st, int iter) {
  const schedule_axis *axis = schedule_leaf(st, iter);
  SCHEDULE_TRY(schedule_check_outside(s, call, (int)(st - s->stages), iter));
  if (axis->annotation == SCHEDULE_NONE && !schedule_has_pragma(axis) && !schedule_has_prefetch(st, st->leaves[iter]))
    return TN_OK;
  const char *what = axis->annotation >= SCHEDULE_BIND ? "bind"
                     : axis->annotation                ? schedule_annotation_words[axis->annotation]
                     : schedule_has_pragma(axis)       ? "pragma"
                                                       : "prefetch";
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                      "%s: loop %s of %s already has %s, which would be lost: put this before %s(%s, %s)", call,
                      axis->name, schedule_stage_name(st), what, what, schedule_stage_name(st), axis->name);
}

/* Names of derived loops grow; what schedule text cannot name any more is refused. */
static tn_status check_name(tn_schedule *s, const char *call, const char *suffix, size_t length) {
  if (length <= SCHEDULE_MAX_NAME) return TN_OK;
  return runtime_fail(
      s->ctx, TN_ERROR_SCHEDULE,
      "%s: the name of the new loop would be longer than %d characters (it ends in %s): split into all parts at "
      "once, as in split(stage, axis, 4, 8, 16)",
      call, SCHEDULE_MAX_NAME, suffix);
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

/* Invariant: the children, outer to inner, count through [0, product of extents); the part below the parent's extent is
 * the parent, the rest is the tail. */

static tn_status check_lengths(tn_schedule *s, const char *call, int stage, int iter, int n, const int64_t *lengths) {
  const schedule_stage *st = &s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  int64_t product = 1;
  for (int i = 0; i < n; i++) {
    if (lengths[i] < 1)
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                          "%s: length %lld: a factor must be at least 1 (loop %s has extent %lld); for example "
                          "split(%s, %s, %lld)",
                          call, (long long)lengths[i], axis->name, (long long)axis->extent, schedule_stage_name(st),
                          axis->name, (long long)RUNTIME_MIN(axis->extent, 8));
    if (__builtin_mul_overflow(product, lengths[i], &product) || product > INT32_MAX)
      return runtime_fail(
          s->ctx, TN_ERROR_SCHEDULE,
          "%s: length %lld: the product of the lengths is over %d, and loop %s has extent %lld: take smaller "
          "lengths",
          call, (long long)lengths[i], INT32_MAX, axis->name, (long long)axis->extent);
  }
  return TN_OK;
}

static tn_status check_split(tn_schedule *s, const char *call, int stage, int iter, int n, bool inner_to_outer,
                             tn_tail tail) {
  SCHEDULE_TRY(schedule_check_iter(s, call, stage, iter));
  const schedule_stage *st = &s->stages[stage];
  SCHEDULE_TRY(check_plain(s, call, st, iter));
  if (n < 1 || n > 15)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %d lengths: a split takes 1 to 15; split one of the new loops again", call, n);
  if (n > 1 && !inner_to_outer)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %d lengths from the outside: nparts is one length; give the inner lengths", call, n);
  if ((unsigned)tail >= TN_TAIL_COUNT)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: tail strategy %d is unknown: take 0 guard, 1 peel, 2 mask, 3 pad, 4 overlap", call,
                        (int)tail);
  if (tail != TN_TAIL_GUARD && tail != TN_TAIL_PEEL)
    SCHEDULE_TRY(schedule_check_no_time(s, call, stage, iter,
                                        "its rest is guarded or peeled off, so that no time runs twice",
                                        "take tail guard or peel"));
  SCHEDULE_TRY(schedule_check_tail(s, call, stage, iter, tail));
  if (st->n_axes + n + 1 > SCHEDULE_MAX_AXES)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: stage %s would have more than %d axes: keep fewer loops", call,
                        schedule_stage_name(st), SCHEDULE_MAX_AXES);
  return check_name(s, call, ".outer", strlen(schedule_leaf(st, iter)->name) + strlen(".outer"));
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
    rest = (rest + out[child] - 1) / out[child];
  }
  out[inner_to_outer ? 0 : n] = rest;
}

const tir_expr *schedule_rest_size(runtime_arena *arena, const tir_expr *size, int n, const int64_t *lengths) {
  for (int i = 0; i < n; i++) {
    if (lengths[i] == 1) continue;
    tn_dtype dtype = (tn_dtype)size->dtype;
    size = tir_binary(arena, TIR_ADD, size, tir_int(arena, dtype, lengths[i] - 1));
    size = tir_binary(arena, TIR_FLOORDIV, size, tir_int(arena, dtype, lengths[i]));
  }
  return size;
}

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

static const char *child_name(tn_schedule *s, const char *parent, int i, int n_children) {
  if (n_children == 2) return schedule_internf(s->program, "%s.%s", parent, i ? "inner" : "outer");
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

tn_status schedule_split(tn_schedule *s, int stage, int iter, int n, const int64_t *lengths, bool inner_to_outer,
                         tn_tail tail) {
  char call[1024];
  SCHEDULE_TRY(
      check_split(s, call_text(call, sizeof call, "split", s, stage, iter), stage, iter, n, inner_to_outer, tail));
  SCHEDULE_TRY(check_lengths(s, call, stage, iter, n, lengths));
  schedule_stage *st = &s->stages[stage];
  int parent = st->leaves[iter];
  int64_t extent = st->axes[parent].extent, extents[16];
  const tir_expr *size = st->axes[parent].size;
  schedule_child_extents(extent, size != NULL, n, lengths, inner_to_outer, extents);
  const tir_expr *rest = size ? schedule_rest_size(&s->ctx->arena, size, n, lengths) : NULL;
  schedule_relation *r = schedule_add_relation(s, st, n + 1);
  if (!r || (size && !rest)) return no_memory(s);
  r->one = (int16_t)parent;
  r->tail = (uint8_t)tail;
  r->inner_to_outer = inner_to_outer;
  if (!add_children(s, st, parent, r, extents, rest) || !schedule_set_leaves(s, st, iter, 1, n + 1, r->many))
    return no_memory(s);
  st->axes[parent].used_by = (int16_t)(st->n_relations - 1);
  move_attachments(s, stage, parent, r->many[n]);
  schedule_step step = {.kind = SCHEDULE_STEP_SP,
                        .stage = (int16_t)stage,
                        .iter = (int16_t)iter,
                        .value = extent,
                        .n = n,
                        .list = lengths,
                        .inner_to_outer = inner_to_outer,
                        .tail = (uint8_t)tail};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
}

/* ---- fuse -------------------------------------------------------------------------------------------------------- */

/* Invariant: the fused loop counts through the product of its parts' extents, the last part fastest. */

/* Loops between the parts would change their place otherwise. */
static tn_status check_adjacent(tn_schedule *s, const char *call, int stage, int n, const int *iters) {
  const schedule_stage *st = &s->stages[stage];
  char names[512];
  for (int i = 1; i < n; i++) {
    if (iters[i] == iters[i - 1] + 1) continue;
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: loops %s and %s of %s are not adjacent in this order (loops: %s): reorder them first",
                        call, schedule_leaf(st, iters[i - 1])->name, schedule_leaf(st, iters[i])->name,
                        schedule_stage_name(st), schedule_loop_names(st, names, sizeof names));
  }
  return TN_OK;
}

/* Fusing i and j leaves no loop that runs once an i: what is computed there would have no place. */
static tn_status check_no_attachment(tn_schedule *s, const char *call, int stage, int iter) {
  const schedule_stage *st = &s->stages[stage];
  for (int i = 0; i < s->n_stages; i++) {
    const schedule_stage *other = &s->stages[i];
    if (other->attach != SCHEDULE_AT || other->at_stage != stage || other->at_axis != st->leaves[iter]) continue;
    return runtime_fail(
        s->ctx, TN_ERROR_SCHEDULE,
        "%s: %s is computed at loop %s of %s: only the innermost of the fused loops may carry stages; call "
        "compute_at(%s, ...) after the fuse",
        call, schedule_stage_name(other), schedule_leaf(st, iter)->name, schedule_stage_name(st),
        schedule_stage_name(other));
  }
  return TN_OK;
}

static tn_status check_fuse(tn_schedule *s, const char *call, int stage, int n, const int *iters) {
  SCHEDULE_TRY(schedule_check_stage(s, call, stage));
  const schedule_stage *st = &s->stages[stage];
  if (n < 2 || n > st->n_leaves)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %d loops to fuse, of %s, which has %d: name two or more adjacent loops", call, n,
                        schedule_stage_name(st), st->n_leaves);
  int64_t extent = 1;
  size_t length = strlen("fused");
  for (int i = 0; i < n; i++) {
    SCHEDULE_TRY(schedule_check_iter(s, call, stage, iters[i]));
    SCHEDULE_TRY(schedule_check_no_time(s, call, stage, iters[i],
                                        "it stays a loop of its own, in which the steps stand", "fuse other loops"));
    length += strlen(schedule_leaf(st, iters[i])->name) + 1;
    SCHEDULE_TRY(check_plain(s, call, st, iters[i]));
    if (__builtin_mul_overflow(extent, schedule_leaf(st, iters[i])->extent, &extent))
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: the fused extent does not fit 63 bits: fuse fewer loops",
                          call);
  }
  SCHEDULE_TRY(check_adjacent(s, call, stage, n, iters));
  SCHEDULE_TRY(schedule_check_fuse_overlap(s, call, stage, n, iters));
  for (int i = 0; i + 1 < n; i++) SCHEDULE_TRY(check_no_attachment(s, call, stage, iters[i]));
  return check_name(s, call, ".fused", length);
}

/* The product of the parts' extents, where symbols decide one of them. */
static const tir_expr *fused_size(tn_schedule *s, const schedule_stage *st, int n, const int *iters) {
  const tir_expr *product = tir_int(&s->ctx->arena, TN_I32, 1);
  bool is_symbolic = false;
  for (int i = 0; i < n; i++) {
    const schedule_axis *part = schedule_leaf(st, iters[i]);
    is_symbolic = is_symbolic || part->size;
    const tir_expr *extent = part->size ? part->size : tir_int(&s->ctx->arena, TN_I32, part->extent);
    product = tir_binary(&s->ctx->arena, TIR_MUL, product, extent);
  }
  return is_symbolic ? product : NULL;
}

static bool fused_axis(tn_schedule *s, const schedule_stage *st, int n, const int *iters, schedule_axis *out) {
  runtime_str name = {0};
  *out = (schedule_axis){.extent = 1,
                         .size = fused_size(s, st, n, iters),
                         .kind = schedule_leaf(st, iters[0])->kind,
                         .root = -1,
                         .made_by = (int16_t)st->n_relations,
                         .used_by = -1,
                         .unroll_step = -1};
  for (int i = 0; i < n; i++) {
    const schedule_axis *part = schedule_leaf(st, iters[i]);
    runtime_str_addf(&name, "%s.", part->name);
    out->extent *= part->extent;
    if (part->kind != out->kind) out->kind = SCHEDULE_MIXED;
  }
  runtime_str_add(&name, "fused");
  out->name = name.failed ? NULL : schedule_intern(s->program, name.data);
  runtime_str_free(&name);
  return out->name != NULL;
}

tn_status schedule_fuse(tn_schedule *s, int stage, int n, const int *iters) {
  char call[1024];
  SCHEDULE_TRY(check_fuse(s, call_with_loops(call, sizeof call, "fuse", s, stage, n, iters), stage, n, iters));
  schedule_stage *st = &s->stages[stage];
  schedule_axis fused;
  if (!fused_axis(s, st, n, iters, &fused)) return no_memory(s);
  schedule_relation *r = schedule_add_relation(s, st, n);
  int child = r ? schedule_add_axis(s, st, &fused) : -1;
  if (child < 0) return no_memory(s);
  r->is_fuse = true;
  r->one = (int16_t)child;
  int64_t list[SCHEDULE_MAX_AXES];
  for (int i = 0; i < n; i++) {
    r->many[i] = st->leaves[iters[i]];
    st->axes[r->many[i]].used_by = fused.made_by;
    list[i] = iters[i];
  }
  move_attachments(s, stage, r->many[n - 1], child);
  if (!schedule_set_leaves(s, st, iters[0], n, 1, &r->one)) return no_memory(s);
  schedule_step step = {.kind = SCHEDULE_STEP_FU, .stage = (int16_t)stage, .iter = -1, .n = n, .list = list};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
}

/* ---- reorder ----------------------------------------------------------------------------------------------------- */

/* Invariant: the same loops, another nesting. Legal for all loops: iterations of data axes are independent, and every
 * combiner is commutative and associative (floats up to rounding). */

static tn_status check_reorder(tn_schedule *s, const char *call, int stage, int n, const int *order) {
  SCHEDULE_TRY(schedule_check_stage(s, call, stage));
  const schedule_stage *st = &s->stages[stage];
  char names[512];
  if (n != st->n_leaves)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: %d loops in the new order, %s has %d: name all of them (%s)",
                        call, n, schedule_stage_name(st), st->n_leaves, schedule_loop_names(st, names, sizeof names));
  bool seen[SCHEDULE_MAX_AXES] = {false};
  for (int i = 0; i < n; i++) {
    SCHEDULE_TRY(schedule_check_iter(s, call, stage, order[i]));
    if (seen[order[i]])
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: loop %s stands twice in the new order: name each loop once",
                          call, schedule_leaf(st, order[i])->name);
    seen[order[i]] = true;
  }
  return TN_OK;
}

tn_status schedule_reorder(tn_schedule *s, int stage, int n, const int *order) {
  char call[1024];
  SCHEDULE_TRY(check_reorder(s, call_with_loops(call, sizeof call, "reorder", s, stage, n, order), stage, n, order));
  schedule_stage *st = &s->stages[stage];
  int16_t before[SCHEDULE_MAX_AXES];
  int64_t list[SCHEDULE_MAX_AXES];
  memcpy(before, st->leaves, sizeof *before * (size_t)n);
  for (int i = 0; i < n; i++) {
    st->leaves[i] = before[order[i]];
    list[i] = order[i];
  }
  tn_status status = schedule_check_paths(s, call);
  if (status == TN_OK) status = schedule_check_attachments(s, call);
  if (status != TN_OK) {
    memcpy(st->leaves, before, sizeof *before * (size_t)n);
    return status;
  }
  if (memcmp(before, st->leaves, sizeof *before * (size_t)n) == 0)
    runtime_say(s->ctx, TN_SEVERITY_WARNING, "%s has no effect: the loops stand in this order already", call);
  schedule_step step = {.kind = SCHEDULE_STEP_RE, .stage = (int16_t)stage, .iter = -1, .n = n, .list = list};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
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
static tn_status check_constant_extent(tn_schedule *s, const char *call, const schedule_stage *st, int iter,
                                       schedule_annotation annotation) {
  const schedule_axis *axis = schedule_leaf(st, iter);
  const char *word = schedule_annotation_words[annotation], *name = schedule_stage_name(st);
  char extent[64];
  bool may_be_constant = st->attach == SCHEDULE_AT && annotation < SCHEDULE_PARALLEL;
  if (!axis->size || annotation == SCHEDULE_PARALLEL || may_be_constant) return TN_OK;
  return runtime_fail(
      s->ctx, TN_ERROR_SCHEDULE,
      "%s: loop %s of %s has the extent %s, which is known at a call only: %s needs a constant one: use "
      "split(%s, %s, 16), then %s.inner",
      call, axis->name, name, schedule_extent_text(axis, extent, sizeof extent), word, name, axis->name, axis->name);
}

static tn_status check_annotate(tn_schedule *s, const char *call, int stage, int iter, schedule_annotation annotation) {
  SCHEDULE_TRY(schedule_check_iter(s, call, stage, iter));
  const schedule_stage *st = &s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  char instead[256];
  if (annotation < SCHEDULE_UNROLL || annotation >= SCHEDULE_ANNOTATION_COUNT)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: annotation %d is unknown: take 1 unroll, 2 vectorize, 3 parallel, 4 to 10 bind", call,
                        (int)annotation);
  SCHEDULE_TRY(schedule_check_outside(s, call, stage, iter));
  if (axis->annotation != SCHEDULE_NONE)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: loop %s of %s already has %s: a loop takes one annotation; split it first", call,
                        axis->name, schedule_stage_name(st), schedule_annotation_words[axis->annotation]);
  if (annotation != SCHEDULE_UNROLL && axis->kind != SCHEDULE_SPATIAL)
    return runtime_fail(
        s->ctx, TN_ERROR_SCHEDULE,
        "%s: loop %s of %s runs over a reduction axis (extent %lld): its iterations update the same element, so "
        "they cannot run %s; %s",
        call, axis->name, schedule_stage_name(st), (long long)axis->extent,
        annotation == SCHEDULE_VECTORIZE ? "in lockstep" : "in parallel",
        instead_of_reduction(st, annotation, instead, sizeof instead));
  return check_constant_extent(s, call, st, iter, annotation);
}

tn_status schedule_annotate(tn_schedule *s, int stage, int iter, schedule_annotation annotation) {
  char call[1024];
  bool known = annotation >= SCHEDULE_NONE && annotation < SCHEDULE_ANNOTATION_COUNT;
  call_text(call, sizeof call,
            !known                        ? "annotate"
            : annotation >= SCHEDULE_BIND ? "bind"
                                          : schedule_annotation_words[annotation],
            s, stage, iter);
  SCHEDULE_TRY(check_annotate(s, call, stage, iter, annotation));
  schedule_axis *axis = &s->stages[stage].axes[s->stages[stage].leaves[iter]];
  axis->annotation = (uint8_t)annotation;
  tn_status status = annotation == SCHEDULE_UNROLL ? TN_OK : schedule_check_paths(s, call);
  if (status != TN_OK) {
    axis->annotation = SCHEDULE_NONE;
    return status;
  }
  schedule_step step = {.kind = SCHEDULE_STEP_AN, .stage = (int16_t)stage, .iter = (int16_t)iter, .value = annotation};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
}
