/* tails.c: what happens where a split does not divide its axis: which strategies a split may take, what the loops of an
 * overlapped split may not become, and what each strategy does to indices, conditions and buffers.
 *
 * guard and peel put a condition around the body (peel asks for the full blocks to be parted from the rest); mask does
 * the same and promises that the loop inside is vectorized, so that the condition is a mask. overlap moves the last
 * block back so that it ends with the axis: elements are computed twice. pad runs the last block in full: what it
 * writes beyond a data axis lies in padding of the stage's buffer, what it adds beyond a reduction axis is left out by
 * a select. */
#include "schedule/index.h"
#include "schedule/tail.h"

const char *const schedule_tail_words[TN_TAIL_COUNT] = {
#define X(name, text) text,
    TN_TAILS(X)
#undef X
};

/* ---- which splits ------------------------------------------------------------------------------------------------ */

/* The last block would move before the axis's first point where the loop is shorter. */
static bool can_be_short(const schedule_call *c, const schedule_axis *axis) {
  return axis->size && (!c->step.inner_to_outer || c->step.list[c->step.n - 1] > schedule_least_extent(c->s, axis));
}

static tn_status check_overlap(const schedule_call *c, int stage, int iter) {
  const schedule_stage *st = &c->s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  char extent[64];
  if (can_be_short(c, axis))
    return schedule_refuse(c,
                           "tail overlap: loop %s of %s has the extent %s, which can be smaller than a block at a "
                           "call: there is nothing to move the last block back to; take guard, peel, mask or pad, or "
                           "give the symbol a lower limit",
                           axis->name, schedule_stage_name(st), schedule_extent_text(axis, extent, sizeof extent));
  if (axis->kind != SCHEDULE_SPATIAL)
    return schedule_refuse(c,
                           "tail overlap: loop %s of %s runs over a reduction axis (extent %lld): the blocks overlap, "
                           "and elements would be combined twice; take guard, peel or pad",
                           axis->name, schedule_stage_name(st), (long long)axis->extent);
  for (int i = 0; i < iter; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL)
      return schedule_refuse(
          c,
          "tail overlap: loop %s of %s stands inside the reduction loop %s: an element that two blocks hold would be "
          "combined twice; call reorder(%s, %s, %s) first, or take guard, peel or pad",
          axis->name, schedule_stage_name(st), schedule_leaf(st, i)->name, schedule_stage_name(st), axis->name,
          schedule_leaf(st, i)->name);
  return TN_OK;
}

/* The buffer must be the stage's own. */
static tn_status check_pad(const schedule_call *c, int stage, int iter) {
  const schedule_stage *st = &c->s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  const char *name = schedule_stage_name(st);
  if (axis->kind == SCHEDULE_REDUCE) return TN_OK;
  if (axis->kind == SCHEDULE_MIXED || axis->root < 0)
    return schedule_refuse(
        c,
        "tail pad: loop %s of %s is no axis of the stage but made from others, and only a whole dimension of its "
        "buffer can be padded: pad the first split of an axis, or take guard or peel",
        axis->name, name);
  SCHEDULE_TRY(schedule_check_no_extern_reader(c, stage, "arrays without padding", "take guard or peel"));
  if (!schedule_is_output(c->s, stage)) return TN_OK;
  return schedule_refuse(
      c,
      "tail pad: %s is an output: its memory is the caller's and has no padding; use cache_write(%s, local), which "
      "makes a stage whose buffer can be padded, or take guard or peel",
      name, name);
}

/* GUARD, PEEL and MASK are always legal. */
tn_status schedule_check_tail(const schedule_call *c, int stage, int iter, tn_tail tail) {
  if (tail == TN_TAIL_OVERLAP) return check_overlap(c, stage, iter);
  return tail == TN_TAIL_PAD ? check_pad(c, stage, iter) : TN_OK;
}

/* ---- overlapped splits stay legal -------------------------------------------------------------------------------- */

/* The overlapped split above an axis: *is_block says that the axis, or what it was made from, counts its blocks. -1:
 * none. */
static int overlap_above(const schedule_stage *st, int axis, bool *is_block) {
  int made_by = st->axes[axis].made_by;
  if (made_by < 0) return -1;
  const schedule_relation *r = &st->relations[made_by];
  if (!r->is_fuse) {
    bool outer_block = false;
    int outer = overlap_above(st, r->one, &outer_block);
    *is_block = outer >= 0 && outer_block;
    if (*is_block || r->tail != TN_TAIL_OVERLAP) return outer;
    *is_block = r->many[r->n - 1] != axis;
    return made_by;
  }
  int found = -1;
  for (int i = 0; i < r->n; i++) {
    bool part_block = false;
    int part = overlap_above(st, r->many[i], &part_block);
    if (part < 0 || (found >= 0 && !part_block)) continue;
    found = part;
    *is_block = *is_block || part_block;
  }
  return found;
}

/* Whether an axis counts the blocks of an overlapped split: also one that was made of such a loop with others. */
static bool counts_overlaps(const schedule_stage *st, int axis) {
  bool is_block = false;
  return overlap_above(st, axis, &is_block) >= 0 && is_block;
}

/* The last loop that counts overlapping blocks; -1: none. */
static int last_block_leaf(const schedule_stage *st) {
  for (int i = st->n_leaves - 1; i >= 0; i--)
    if (counts_overlaps(st, st->leaves[i])) return i;
  return -1;
}

/* Whether AXIS goes over chunks of the blocks of an overlapped split, of which the last chunk has two blocks or more: only
 * the last two blocks have elements in common, and they are in one chunk. The stage's region must be the whole tensor, or
 * there may be fewer blocks. */
static bool parts_overlaps(const schedule_call *c, const schedule_stage *st, int axis) {
  int by = st->axes[axis].made_by;
  if (by < 0 || st->attach != SCHEDULE_ROOT || !schedule_is_output(c->s, (int)(st - c->s->stages))) return false;
  const schedule_relation *chunks = &st->relations[by];
  if (chunks->is_fuse || chunks->n != 2 || chunks->many[0] != axis || chunks->tail == TN_TAIL_OVERLAP) return false;
  const schedule_axis *block = &st->axes[chunks->one], *inside = &st->axes[chunks->many[1]];
  if (block->made_by < 0 || block->size || inside->size || st->axes[axis].size) return false;
  const schedule_relation *blocks = &st->relations[block->made_by];
  if (blocks->is_fuse || blocks->n != 2 || blocks->many[0] != chunks->one || blocks->tail != TN_TAIL_OVERLAP)
    return false;
  bool is_block = false; /* nothing above may overlap as well */
  if (overlap_above(st, blocks->one, &is_block) >= 0) return false;
  return block->extent - (st->axes[axis].extent - 1) * inside->extent >= 2;
}

/* Two blocks write the same elements: harmless one after the other, a race otherwise. */
static tn_status check_overlap_loop(const schedule_call *c, const schedule_stage *st, int iter, int last) {
  const schedule_axis *axis = schedule_leaf(st, iter);
  bool is_block = false;
  bool is_part = overlap_above(st, st->leaves[iter], &is_block) >= 0 && !parts_overlaps(c, st, st->leaves[iter]);
  bool races = axis->annotation >= SCHEDULE_PARALLEL && is_part && iter <= last;
  if (races || (axis->annotation == SCHEDULE_VECTORIZE && is_block))
    return schedule_refuse(c,
                           "loop %s of %s would run blocks of a split with tail overlap %s: they write the same "
                           "elements; take tail guard or peel there, or another loop",
                           axis->name, schedule_stage_name(st),
                           axis->annotation == SCHEDULE_VECTORIZE ? "in lockstep" : "in parallel");
  if (axis->kind == SCHEDULE_SPATIAL || iter > last) return TN_OK;
  return schedule_refuse(c,
                         "loop %s of %s, which counts the blocks of a split with tail overlap, would stand inside the "
                         "reduction loop %s: elements that two blocks hold would be combined twice; keep it outside",
                         schedule_leaf(st, last)->name, schedule_stage_name(st), axis->name);
}

/* Asked after annotations and reorders. */
tn_status schedule_check_overlaps(const schedule_call *c, int stage) {
  const schedule_stage *st = &c->s->stages[stage];
  bool any = false;
  for (int i = 0; i < st->n_relations && !any; i++)
    any = !st->relations[i].is_fuse && st->relations[i].tail == TN_TAIL_OVERLAP;
  int last = any ? last_block_leaf(st) : -1;
  for (int i = 0; any && i < st->n_leaves; i++) SCHEDULE_TRY(check_overlap_loop(c, st, i, last));
  return TN_OK;
}

/* A fused loop would count blocks inside of a reduction. */
tn_status schedule_check_fuse_overlap(const schedule_call *c, int stage, int n, const int64_t *iters) {
  const schedule_stage *st = &c->s->stages[stage];
  int block = -1, reduce = -1;
  for (int i = 0; i < n; i++) {
    if (counts_overlaps(st, st->leaves[iters[i]])) block = (int)iters[i];
    if (schedule_leaf(st, (int)iters[i])->kind != SCHEDULE_SPATIAL) reduce = (int)iters[i];
  }
  if (block < 0 || reduce < 0) return TN_OK;
  return schedule_refuse(
      c,
      "loop %s of %s counts the blocks of a split with tail overlap and cannot be fused with the reduction loop %s: "
      "elements that two blocks hold would be combined twice; take tail guard, or keep the loops apart",
      schedule_leaf(st, block)->name, schedule_stage_name(st), schedule_leaf(st, reduce)->name);
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* Extents of the region: a split that is exact for the axis may not be for a part of it. */
bool schedule_is_exact(const lower_stage *ls, const schedule_relation *r) {
  int64_t product = 1;
  if (ls->axis_size[r->one]) return false; /* as far as is known */
  for (int i = 0; i < r->n; i++)
    if (__builtin_mul_overflow(product, ls->axis_extent[r->many[i]], &product)) return false;
  return product == ls->axis_extent[r->one];
}

/* Only the first split of a data axis can pad. */
bool schedule_pads_dimension(const schedule_stage *st, int dim) {
  int used_by = dim < st->n_spatial_roots ? st->axes[dim].used_by : -1;
  return used_by >= 0 && !st->relations[used_by].is_fuse && st->relations[used_by].tail == TN_TAIL_PAD;
}

/* Whether a loop over the axis, or the innermost one made of it, is vectorized. */
static bool is_vectorized(const schedule_stage *st, int axis) {
  for (int used_by; (used_by = st->axes[axis].used_by) >= 0;) {
    const schedule_relation *r = &st->relations[used_by];
    axis = r->is_fuse ? r->one : r->many[r->n - 1];
  }
  return st->axes[axis].annotation == SCHEDULE_VECTORIZE;
}

bool schedule_pads_tile(const schedule_stage *st, int dim) {
  bool is_tile = st->attach == SCHEDULE_AT && strcmp(st->scope, "local") == 0 && dim < st->n_spatial_roots;
  return is_tile && st->tensors->size[dim] && is_vectorized(st, dim);
}

/* The product of the children's extents. */
const tir_expr *schedule_padded_extent(lowering *l, const lower_stage *ls, int dim) {
  if (!schedule_pads_dimension(ls->st, dim)) return schedule_extent(l, ls->extent[dim], ls->size[dim]);
  const schedule_relation *r = &ls->st->relations[ls->st->axes[dim].used_by];
  const tir_expr *product = schedule_index_int(l, 1);
  for (int i = 0; i < r->n; i++)
    product = schedule_index_binary(l, TIR_MUL, product, schedule_axis_extent(l, ls, r->many[i]));
  return product;
}

/* A mask that is no mask is a guard, which is slower than peel. */
void schedule_warn_masks(lowering *l, const lower_stage *ls) {
  const schedule_stage *st = ls->st;
  for (int i = 0; i < st->n_relations; i++) {
    const schedule_relation *r = &st->relations[i];
    if (r->is_fuse || r->tail != TN_TAIL_MASK || schedule_is_exact(ls, r)) continue;
    int inner = r->many[r->n - 1];
    if (is_vectorized(st, inner)) continue;
    const char *name = schedule_stage_name(st);
    schedule_lowering_warn(
        l,
        "split(%s, %s): tail mask has no effect: loop %s is not vectorized, so that the tail is a condition as "
        "with guard; call vectorize(%s, %s)",
        name, st->axes[r->one].name, st->axes[inner].name, name, st->axes[inner].name);
  }
}
