/* generic_reduce.c: a reduction that uses each element once. Along columns: accumulators in vector registers, the
 * reduction loops outside of them. Along rows: generic_rows.c. Where there are fewer results than threads, the
 * reduction is cut into a part for each (TVM: schedule_reduce, which does neither). */
#include "schedule/generic.h"

enum { REGISTERS = 4 };

/* ---- parts for threads ------------------------------------------------------------------------------------------- */

/* Results that can be computed at the same time. */
static int64_t independent(const generic_plan *p, int stage, bool columns) {
  const te_op *op = p->s->stages[stage].op;
  int64_t n = 1;
  for (int a = 0; a < op->n_axes; a++) {
    int64_t extent = op->axes[a]->extent, lanes = generic_lanes(p, stage) * REGISTERS;
    n *= columns && a == op->n_axes - 1 ? (extent + lanes - 1) / lanes : extent;
  }
  return n;
}

static int longest_reduction(const generic_plan *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  int best = st->n_spatial_roots;
  for (int a = best; a < st->n_roots; a++)
    if (st->axes[a].extent > st->axes[best].extent) best = a;
  return best;
}

/* Cuts the longest reduction loop into a part for each thread; the partial results become *PARTIAL. */
static bool cut_for_threads(generic_plan *p, const tn_tensor *tensor, const tn_tensor **partial) {
  int stage = generic_stage(p, tensor), axis = longest_reduction(p, stage);
  const schedule_stage *st = &p->s->stages[stage];
  int64_t parts = p->machine.threads, extent = st->axes[axis].extent;
  if (extent < 2 * parts || st->op->n_axes == TN_MAX_RANK) return true;
  int at = schedule_leaf_position(st, axis);
  if (schedule_split(p->s, stage, at, 1, &parts, false, TN_TAIL_GUARD) != TN_OK) return false;
  if (schedule_rfactor(p->s, stage, at, 0) != TN_OK) return false;
  *partial = p->s->stages[stage].tensors;
  return true;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Loops but VECTOR, data before reduction, VECTOR innermost. */
static bool put_innermost(generic_plan *p, int stage, int vector) {
  const schedule_stage *st = &p->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0;
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] != vector) order[n++] = st->leaves[i];
  order[n++] = vector;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, vector, SCHEDULE_VECTORIZE);
}

/* TENSOR[.., v] copies a block of accumulators, which is computed inside its loop over vectors. */
static bool columns(generic_plan *p, const tn_tensor *tensor, double ns) {
  int stage = generic_stage(p, tensor), outer, inner, loop, n_fused, last = tensor->ndim - 1;
  if (schedule_cache_write(p->s, stage, "local") != TN_OK) return false;
  if (!generic_split_vector(p, stage + 1, last, REGISTERS, &outer, &inner)) return false;
  if (!generic_annotate(p, stage + 1, inner, SCHEDULE_VECTORIZE)) return false;
  int loops[TN_MAX_RANK + 1], n = 0;
  for (int a = 0; a < last; a++) loops[n++] = a;
  if (outer >= 0) loops[n++] = outer;
  if (!generic_parallel(p, stage + 1, n, loops, ns, &loop, &n_fused)) return false;
  if (n_fused < n) loop = loops[n - 1];
  if (!put_innermost(p, stage, last)) return false;
  int at = loop < 0 ? -1 : schedule_leaf_position(&p->s->stages[stage + 1], loop);
  return at < 0 || schedule_compute_at(p->s, stage, stage + 1, at) == TN_OK;
}

/* Rows: a group of its own. Neither: threads only. */
static bool rows(generic_plan *p, const tn_tensor *tensor, double ns) {
  generic_group alone = {.root = tensor, .ns = ns};
  for (int a = 0; a < tensor->ndim; a++) alone.is_common[a] = true;
  return generic_rows(p, &alone);
}

static bool is_by_columns(const generic_plan *p, int stage) {
  generic_reads r;
  if (!generic_read_all(p, stage, &r) || r.n_data == 0 || r.extent[r.n_data - 1] < 2) return false;
  return generic_is_contiguous(&r, r.n_data - 1);
}

static bool arrange(generic_plan *p, const tn_tensor *tensor, double ns) {
  return is_by_columns(p, generic_stage(p, tensor)) ? columns(p, tensor, ns) : rows(p, tensor, ns);
}

bool generic_reduce(generic_plan *p, const generic_group *g) {
  int stage = generic_stage(p, g->root);
  bool is_long = generic_is_worth_threads(p, g->ns);
  const tn_tensor *partial = NULL;
  if (is_long && independent(p, stage, is_by_columns(p, stage)) < p->machine.threads &&
      !cut_for_threads(p, g->root, &partial))
    return false;
  if (!partial) return arrange(p, g->root, g->ns);
  return arrange(p, partial, g->ns) && arrange(p, g->root, 0);
}
