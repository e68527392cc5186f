/* row_sums.c: reductions along rows in the lanes of vectors, which are combined at the end: as many vectors as hide that each sum
 * waits for the one before it; where rows are too short for that, steps of the next reduction loop beside each other; where
 * rows are parts of longer ones, each element of these a sum of its own first. And what such sums cost. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/generic.h"
#include "tir/passes.h"

enum { LAST_LANES = 4, LAST_BYTES = 16, FEW_STEPS = 4 };

/* ---- partial results --------------------------------------------------------------------------------------------- */

/* Takes a new stage of partial results into OUT and gives it its loops: VECTOR, its last data axis, is innermost. */
static bool take_part(generic_draft *p, int stage, generic_parts *out) {
  const schedule_stage *st = &p->s->stages[stage];
  out->tensors[out->n++] = st->tensors;
  return generic_put_vector_last(p, stage, st->op->n_axes - 1) && schedule_set_scope(p->s, stage, "local") == TN_OK;
}

/* Every WIDTH-th step of the reduction loop AT becomes a partial result, data axis PLACE of a new stage, which then stands at
 * STAGE. */
static bool factor(generic_draft *p, int stage, int at, int64_t width, int place) {
  return at >= 0 && schedule_split(p->s, stage, at, 1, &width, true, TN_TAIL_GUARD) == TN_OK &&
         schedule_rfactor(p->s, stage, at + 1, place) == TN_OK;
}

/* The loop AXIS over EXTENT steps by WIDTH runs in full blocks, then over the rest. */
static bool peel_rest(generic_draft *p, int stage, int axis, int64_t extent, int64_t width) {
  int first, second;
  return extent % width == 0 || extent < 2 * width || generic_split(p, stage, axis, extent / width, &first, &second);
}

const tn_tensor *generic_part_steps(generic_draft *p, const tn_tensor *tensor, int axis, int64_t width) {
  int stage = generic_stage(p, tensor), at = schedule_leaf_position(&p->s->stages[stage], axis);
  int64_t extent = p->s->stages[stage].axes[axis].extent;
  int n_data = p->s->stages[stage].op->n_axes;
  if (!factor(p, stage, at, width, n_data)) return NULL;
  const schedule_stage *part = &p->s->stages[stage];
  int outer = -1;
  for (int i = n_data + 1; i < part->n_leaves; i++)
    if (schedule_leaf(part, i)->extent == generic_ceil_div(extent, width)) outer = part->leaves[i];
  return outer < 0 || peel_rest(p, stage, outer, extent, width) ? p->s->stages[stage].tensors : NULL;
}

bool generic_part_once(generic_draft *p, const tn_tensor *tensor, int axis, int64_t width, generic_parts *out) {
  const tn_tensor *parts = generic_part_steps(p, tensor, axis, width);
  return parts != NULL && take_part(p, generic_stage(p, parts), out);
}

int generic_row_axis(const generic_draft *p, int stage) {
  generic_reads r;
  if (!generic_read_all(p, stage, &r) || r.n_axes == r.n_data || r.op->body->op != TIR_REDUCE) return -1;
  if (r.n_data > 0 && r.extent[r.n_data - 1] > 1 && generic_is_contiguous(&r, r.n_data - 1)) return -1;
  return generic_is_contiguous(&r, r.n_axes - 1) ? r.n_axes - 1 : -1;
}

/* The first of the reduction axes that run through every read as one and end in AXIS. *EXTENT: of all of them. */
static int first_of_row(const generic_reads *r, int axis, int64_t *extent) {
  int first = axis;
  *extent = r->extent[axis];
  for (bool joins = true; joins && first > r->n_data;) {
    for (int i = 0; joins && i < r->n; i++)
      joins = r->reads[i].is_known[first - 1] && r->reads[i].stride[first - 1] == r->reads[i].stride[axis] * *extent;
    joins &= *extent * r->extent[first - 1] < INT32_MAX;
    if (joins) *extent *= r->extent[--first];
  }
  return first;
}

/* Fuses reduction axes that run through every read as one; *AXIS is then the last of them. */
static bool join_reduction(generic_draft *p, int stage, int *axis) {
  generic_reads r;
  int n = 0, axes[GENERIC_MAX_AXES];
  int64_t extent;
  if (!generic_read_all(p, stage, &r)) return true;
  for (int a = first_of_row(&r, *axis, &extent); a <= *axis; a++) axes[n++] = a;
  return generic_fuse(p, stage, n, axes, axis);
}

/* Steps of the innermost of the other loops that a sum of wide rows takes at a time. */
enum { WIDE_STEPS = 8 };

/* Whether the rows of neighbouring results, which end in AXIS, are gone through as one, or are whole vectors each. */
static bool lies_wide(const generic_reads *r, int axis, generic_row_sum *out) {
  int results = r->n_data - 1;
  out->joins = true;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[results]) return false;
    if (read->stride[axis] != 0 && read->stride[results] != out->extent) return false;
    out->joins &= read->stride[axis] != 0 || read->stride[results] == 0;
  }
  return out->joins || out->extent % out->lanes == 0;
}

/* Rows that are parts of longer ones bring more lines than they need, which takes longer than to load and to store sums. */
static bool is_wide(const generic_draft *d, const generic_reads *r, int axis, int first, generic_row_sum *out) {
  const tn_machine *m = &d->machine;
  if (out->values > 1 || first == r->n_data || r->n_data == 0 || r->n_data + 1 > TN_MAX_RANK) return false;
  int64_t row = out->extent * r->extent[r->n_data - 1];
  if (r->extent[first - 1] < 2 * WIDE_STEPS || row < WIDE_STEPS * out->lanes || row == out->extent) return false;
  if (!lies_wide(r, axis, out)) return false;
  double width = (double)out->extent * 4, vectors = fmax((double)out->extent / (double)out->lanes, 1);
  double pieces =
      cost_pieces(m, out->rows / (double)r->extent[r->n_data - 1], width, (double)row * 4, generic_read_bytes(r));
  return out->extent < 2 * out->lanes || pieces > out->rows * vectors * 2 * m->costs.load / WIDE_STEPS;
}

/* Lanes of a row's dot products, MOST at most: as many as divide it, unless that takes more than half as many steps again. 0: the row
 * is shorter than LAST_LANES of them. */
static int64_t lanes_of_dots(int64_t extent, int64_t most, int64_t group) {
  while (most >= LAST_LANES && most * group > extent) most /= 2;
  if (most < LAST_LANES) return 0;
  int64_t best = most, steps = generic_ceil_div(extent, most * group);
  for (int64_t lanes = most / 2; lanes >= LAST_LANES && extent % (best * group) != 0; lanes /= 2) {
    int64_t more = generic_ceil_div(extent, lanes * group);
    if (extent % (lanes * group) == 0 && 2 * more <= 3 * steps) best = lanes;
  }
  return best;
}

/* A sum of products of two numbers each, which lie side by side along AXIS, a row's only loop. */
static void describe_dot(const generic_draft *d, const generic_reads *r, int axis, int first, generic_row_sum *out) {
  const tir_expr *body = r->op->body;
  bool is_sum = body->op == TIR_REDUCE && body->u.reduce->combiner == TIR_REDUCE_SUM && !body->u.reduce->tuple &&
                !body->u.reduce->has_where && body->arg[0]->op == TIR_MUL;
  if (!is_sum || first != axis || r->n != 2 || r->reads[0].stride[axis] != 1 || r->reads[1].stride[axis] != 1) return;
  const generic_dot *dot =
      generic_find_dot(r->reads[0].tensor->dtype, r->reads[1].tensor->dtype, r->op->outputs[0].dtype);
  if (!dot || generic_dot_has_halves(&d->machine, dot)) return;
  out->dot_lanes = lanes_of_dots(out->extent, generic_dot_lanes(&d->machine, dot), dot->group);
  out->dot = out->dot_lanes > 0 ? dot : NULL;
}

int64_t generic_dot_vectors(const generic_row_sum *sum, int registers) {
  int64_t n = 1, width = sum->dot_lanes * sum->dot->group, steps = generic_ceil_div(sum->extent, width);
  while (2 * n <= registers && 2 * n * width <= sum->extent && steps % (2 * n) == 0) n *= 2;
  return n;
}

bool generic_row_sum_of(const generic_draft *d, const tn_tensor *tensor, generic_row_sum *out) {
  int stage = generic_stage(d, tensor), axis = generic_row_axis(d, stage);
  generic_reads r;
  *out = (generic_row_sum){.rows = 1, .next = 1, .lanes = generic_lanes(d, stage)};
  if (axis < 0 || out->lanes < 2 || !generic_read_all(d, stage, &r) || r.n_data == TN_MAX_RANK) return false;
  int first = first_of_row(&r, axis, &out->extent);
  for (int a = 0; a < first; a++) out->rows *= (double)r.extent[a];
  out->values = r.op->n_outputs, out->ops = r.taken;
  if (first > r.n_data && out->values == 1 && r.n_data + 2 <= TN_MAX_RANK) out->next = r.extent[first - 1];
  out->is_wide = is_wide(d, &r, axis, first, out);
  describe_dot(d, &r, axis, first, out);
  return out->extent >= 2 * out->lanes;
}

bool generic_part_wide(generic_draft *p, const tn_tensor *tensor, const generic_row_sum *wide, const tn_tensor **sums) {
  int stage = generic_stage(p, tensor), axis = generic_row_axis(p, stage), n_data = p->s->stages[stage].op->n_axes;
  int order[SCHEDULE_MAX_AXES], n = 0, k, some, blocks, lane = n_data;
  if (axis < 0 || !join_reduction(p, stage, &axis)) return false;
  int at = schedule_leaf_position(&p->s->stages[stage], axis);
  if (at < 0 || schedule_rfactor(p->s, stage, at, n_data) != TN_OK) return false;
  *sums = p->s->stages[stage].tensors;
  const schedule_stage *st = &p->s->stages[stage];
  if (!generic_split(p, stage, st->leaves[st->n_leaves - 1], WIDE_STEPS, &k, &some)) return false;
  const int pair[] = {n_data - 1, n_data};
  if (wide->joins && !generic_fuse(p, stage, 2, pair, &lane)) return false;
  if (!generic_split_vector(p, stage, lane, generic_registers(p), &blocks, &lane)) return false;
  st = &p->s->stages[stage];
  for (int a = 0; a < n_data - 1; a++) order[n++] = a;
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL && st->leaves[i] != some) order[n++] = st->leaves[i];
  if (!wide->joins) order[n++] = n_data - 1;
  if (blocks >= 0) order[n++] = blocks;
  order[n++] = some, order[n++] = lane;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, some, SCHEDULE_UNROLL) &&
         generic_annotate(p, stage, lane, SCHEDULE_VECTORIZE);
}

/* A vector of what a sum reads, loaded and added. */
static double vector_ns(const tn_machine *m, const generic_row_sum *sum) {
  return m->costs.load + sum->ops * cost_fma(m, m->vector_bytes);
}

/* What a sum waits for the one before it, if nothing goes side by side with it. */
static double chain_ns(const tn_machine *m, const generic_row_sum *sum, int together) {
  return sum->values * m->costs.chain / RUNTIME_MAX(together, 1);
}

/* How many vectors long the sum is best, REGISTERS at most and two steps at least: where each waits for the one before it, more of
 * them go side by side; what is left over takes a step as well. */
static int64_t vectors_of_sum(const tn_machine *m, const generic_row_sum *sum, int registers, int together) {
  int64_t best = 1;
  static const double nearly = 1.1; /* longer vectors have fewer loops around them */
  double least = INFINITY, chain = chain_ns(m, sum, together);
  for (int64_t n = 1; n <= registers && (n == 1 || sum->extent >= 2 * n * sum->lanes); n *= 2) {
    double steps = ceil((double)sum->extent / (double)(n * sum->lanes));
    double ns = steps * fmax(chain, (double)n * vector_ns(m, sum));
    if (ns <= least * nearly) best = n, least = fmin(ns, least);
  }
  return best;
}

/* Of rows that are too short for enough VECTORS, how many steps of the next reduction loop go side by side. */
static int64_t beside_of_sum(const tn_machine *m, const generic_row_sum *sum, int64_t vectors, int registers,
                             int together) {
  int64_t n = 1;
  double chain = chain_ns(m, sum, together);
  while ((double)(n * vectors) * vector_ns(m, sum) < chain && 2 * n * vectors <= registers && sum->next >= 4 * n)
    n *= 2;
  return n;
}

double generic_row_sum_waits(const tn_machine *m, const generic_row_sum *sum, int registers, int together) {
  if (sum->is_wide && together <= 1) return 0;
  int64_t vectors = vectors_of_sum(m, sum, registers, together);
  int64_t beside = beside_of_sum(m, sum, vectors, registers, together);
  double steps = ceil((double)sum->extent / (double)(vectors * sum->lanes)) / (double)beside;
  return sum->rows * steps * fmax(chain_ns(m, sum, together) - (double)(vectors * beside) * vector_ns(m, sum), 0);
}

/* Of STAGE's sums in lanes, its last data axis, every BESIDE-th step of the reduction loop around that along rows is a sum of its
 * own. These sums are added up in the stage behind, in OUT as well. WIDTH steps of a row's EXTENT go along the lanes. */
static bool part_beside(generic_draft *p, int stage, int64_t beside, int64_t extent, int64_t width,
                        generic_parts *out) {
  const schedule_stage *st = &p->s->stages[stage];
  int lane = st->op->n_axes - 1, at = st->n_leaves - 2, order[SCHEDULE_MAX_AXES], n = 0;
  int64_t steps = schedule_leaf(st, at)->extent;
  if (!factor(p, stage, at, beside, lane)) return false;
  st = &p->s->stages[stage];
  int along = st->leaves[st->n_leaves - 1], other = st->leaves[st->n_leaves - 2];
  if (!peel_rest(p, stage, other, steps, beside) || !peel_rest(p, stage, along, extent, width)) return false;
  if (extent % width == 0 && extent / width <= FEW_STEPS && !generic_annotate(p, stage, along, SCHEDULE_UNROLL))
    return false;
  st = &p->s->stages[stage];
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] != lane && st->leaves[i] != lane + 1) order[n++] = st->leaves[i];
  order[n++] = lane, order[n++] = lane + 1;
  out->tensors[out->n++] = st->tensors;
  st = &p->s->stages[stage + 1];
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, lane, SCHEDULE_UNROLL) &&
         generic_annotate(p, stage, lane + 1, SCHEDULE_VECTORIZE) &&
         schedule_set_scope(p->s, stage, "local") == TN_OK &&
         generic_annotate(p, stage + 1, st->leaves[st->n_leaves - 1], SCHEDULE_UNROLL) && take_part(p, stage + 1, out);
}

const tn_tensor *generic_part_groups(generic_draft *p, const tn_tensor *tensor, int axis, int64_t width, int group) {
  int stage = generic_stage(p, tensor), n_data = p->s->stages[stage].op->n_axes, blocks, block, lanes, steps;
  int64_t extent = p->s->stages[stage].axes[axis].extent;
  if (!generic_split(p, stage, axis, width * group, &blocks, &block)) return NULL;
  if (!generic_split(p, stage, block, group, &lanes, &steps)) return NULL;
  int at = schedule_leaf_position(&p->s->stages[stage], lanes);
  if (schedule_rfactor(p->s, stage, at, n_data) != TN_OK) return NULL;
  at = p->s->stages[stage].n_leaves - 2; /* of blocks, around the steps of a group */
  if (extent % (width * group) != 0 && schedule_pragma_partition(p->s, stage, at) != TN_OK) return NULL;
  return schedule_set_scope(p->s, stage, "local") == TN_OK ? p->s->stages[stage].tensors : NULL;
}

/* A row's sums by dot products: the lanes of some vectors, each of groups of products along AXIS. */
static bool part_dots(generic_draft *p, const tn_tensor *tensor, const generic_row_sum *sum, int axis, int64_t *width,
                      generic_parts *out) {
  int order[SCHEDULE_MAX_AXES], n = 0, vector = -1;
  int64_t vectors = generic_dot_vectors(sum, generic_registers(p));
  *width = vectors * sum->dot_lanes;
  const tn_tensor *parts = generic_part_groups(p, tensor, axis, *width, sum->dot->group);
  if (!parts) return false;
  int stage = generic_stage(p, parts), lane = p->s->stages[stage].op->n_axes - 1;
  const schedule_stage *st = &p->s->stages[stage];
  int group = st->leaves[st->n_leaves - 1];
  for (int i = 0; i + 1 < st->n_leaves; i++)
    if (st->leaves[i] != lane) order[n++] = st->leaves[i];
  if (vectors > 1 && !generic_split(p, stage, lane, sum->dot_lanes, &vector, &lane)) return false;
  if (vector >= 0) order[n++] = vector;
  order[n++] = lane, order[n++] = group;
  out->tensors[out->n++] = parts;
  st = &p->s->stages[stage];
  return generic_order(p, stage, n, order) && (vector < 0 || generic_annotate(p, stage, vector, SCHEDULE_UNROLL)) &&
         schedule_tensorize(p->s, stage, schedule_leaf_position(st, lane),
                            generic_dot_intrin(sum->dot, sum->dot_lanes)) == TN_OK;
}

/* Parts the reduction along AXIS into lanes of vectors. *WIDTH: how many. */
static bool part_row(generic_draft *p, const tn_tensor *tensor, const generic_row_sum *sum, int axis, int64_t *width,
                     generic_parts *out) {
  int stage = generic_stage(p, tensor), registers = generic_registers(p);
  const schedule_stage *st = &p->s->stages[stage];
  if (p->by_dots && sum->dot) return part_dots(p, tensor, sum, axis, width, out);
  int64_t vectors = vectors_of_sum(&p->machine, sum, registers, p->together);
  int64_t beside = beside_of_sum(&p->machine, sum, vectors, registers, p->together);
  *width = vectors * sum->lanes;
  if (beside == 1) return generic_part_once(p, tensor, axis, *width, out);
  return factor(p, stage, schedule_leaf_position(st, axis), *width, st->op->n_axes) &&
         part_beside(p, stage, beside, sum->extent, *width, out);
}

/* Rows that go together, of one value each, nearly fill a vector when their lanes are halved by turns. Of fewer the halvings wait for each
 * other longer than the sums of each row alone. */
static bool folds_rows(double lanes, int rows, int values) { return values == 1 && 2 * rows >= lanes; }

/* Of WIDTH lanes a row: all are powers of two. */
static bool can_fold(const generic_draft *p, const generic_row_sum *sum, int64_t width) {
  int64_t rows = p->together;
  return folds_rows((double)sum->lanes, p->together, sum->values) && (rows & (rows - 1)) == 0 &&
         (width & (width - 1)) == 0 && width > 2 && width <= sum->lanes;
}

/* Sums of WIDTH lanes of each row become sums of half as many, until these are two. */
static bool fold_lanes(generic_draft *p, const tn_tensor *tensor, int64_t width, generic_parts *out) {
  while (width > 2 && out->n < RUNTIME_COUNT(out->tensors)) {
    int stage = generic_stage(p, tensor);
    const schedule_stage *st = &p->s->stages[stage];
    width /= 2;
    if (!factor(p, stage, st->n_leaves - 1, width, st->op->n_axes)) return false;
    st = &p->s->stages[stage];
    out->folded[out->n] = width, out->tensors[out->n++] = st->tensors;
    if (schedule_set_scope(p->s, stage, "local") != TN_OK) return false;
  }
  return true;
}

bool generic_put_folded(generic_draft *p, int stage, int64_t width) {
  int lane = p->s->stages[stage].op->n_axes - 1, row = lane - 1, others = -1, order[SCHEDULE_MAX_AXES], n = 0, vector;
  int64_t together = RUNTIME_MIN(p->together, RUNTIME_MAX(generic_lanes(p, stage) / width, 1));
  if (together < p->together && !generic_split(p, stage, row, together, &others, &row)) return false;
  const schedule_stage *st = &p->s->stages[stage];
  for (int i = 0; i < st->n_leaves; i++) {
    int leaf = st->leaves[i];
    if (leaf != row && leaf != lane && schedule_leaf(st, i)->kind == SCHEDULE_SPATIAL) order[n++] = leaf;
  }
  int step = st->leaves[st->n_leaves - 1];
  order[n++] = step, order[n++] = row, order[n++] = lane;
  const int pair[] = {row, lane};
  return generic_order(p, stage, n, order) && generic_fuse(p, stage, 2, pair, &vector) &&
         (others < 0 || generic_annotate(p, stage, others, SCHEDULE_UNROLL)) &&
         generic_annotate(p, stage, step, SCHEDULE_UNROLL) && generic_annotate(p, stage, vector, SCHEDULE_VECTORIZE);
}

bool generic_part_lanes(generic_draft *p, const tn_tensor *tensor, bool can_be_wide, bool folds, generic_parts *out) {
  const tn_tensor *wide;
  int stage = generic_stage(p, tensor), axis = generic_row_axis(p, stage);
  int64_t lanes = generic_lanes(p, stage), width;
  generic_row_sum sum;
  *out = (generic_parts){0};
  bool in_lanes = generic_row_sum_of(p, tensor, &sum);
  if (can_be_wide && sum.is_wide && p->together <= 1) {
    if (!generic_part_wide(p, tensor, &sum, &wide)) return false;
    out->tensors[out->n++] = wide;
    in_lanes = generic_row_sum_of(p, tensor, &sum);
    stage = generic_stage(p, tensor), axis = generic_row_axis(p, stage);
  }
  if (!in_lanes) return true;
  if (!join_reduction(p, stage, &axis) || !part_row(p, tensor, &sum, axis, &width, out)) return false;
  while (width > LAST_LANES && out->n < RUNTIME_COUNT(out->tensors)) {
    int64_t next = width > lanes && width % lanes == 0 ? lanes : LAST_LANES;
    if (folds && can_fold(p, &sum, width) && !fold_lanes(p, tensor, width, out)) return false;
    if (out->folded[out->n - 1] > 0 || width % next || width == next) break;
    stage = generic_stage(p, tensor);
    if (!generic_part_once(p, tensor, p->s->stages[stage].leaves[p->s->stages[stage].n_leaves - 1], next, out))
      return false;
    width = next;
  }
  for (int i = 0, j = out->n - 1; i < j; i++, j--) { /* the last made is the first that is read */
    const tn_tensor *t = out->tensors[i];
    int64_t width_of = out->folded[i];
    out->tensors[i] = out->tensors[j], out->tensors[j] = t;
    out->folded[i] = out->folded[j], out->folded[j] = width_of;
  }
  stage = generic_stage(p, tensor);
  const schedule_stage *st = &p->s->stages[stage];
  return generic_annotate(p, stage, st->leaves[st->n_leaves - 1], SCHEDULE_UNROLL);
}

/* ---- costs ------------------------------------------------------------------------------------------------------- */

int64_t generic_rows_in_lanes(const generic_draft *d, const tn_tensor *tensor) {
  generic_row_sum sum;
  return generic_row_sum_of(d, tensor, &sum) ? sum.extent : 0;
}

/* Rows that go together load what they share once. Signed bytes are shifted, and what that adds is summed up and taken away. */
double generic_dots_ns(const tn_machine *m, const generic_row_sum *sum, int registers, int together) {
  enum { FOR_SIGNS = 2 };
  static const double longer =
      1.5; /* a dot product waits for the one before it longer than a multiply-add (vdpbf16ps, Zen 4) */
  double vectors = (double)generic_dot_vectors(sum, registers), rows = RUNTIME_MAX(together, 1);
  double steps = sum->rows * (double)generic_ceil_div(sum->extent, sum->dot_lanes * sum->dot->group);
  double work = cost_dot(m, sum->dot->group) + (sum->dot->is_signed ? FOR_SIGNS * cost_fma(m, m->vector_bytes) : 0);
  double step = fmax((1 + 1 / rows) * m->costs.load, work);
  return steps * (step + fmax(longer * m->costs.chain / (vectors * rows) - step, 0));
}

/* A sum waits for the one before it: more registers, and more rows, are more sums in flight; long vectors leave a longer
 * rest. Vectors that run in chunks have their sums in memory, which is no plan. */
double generic_rows_waits(const tn_machine *m, int64_t lanes, int vectors, int together, int values) {
  if (vectors * lanes > TIR_MAX_LANES) return INFINITY;
  double waiting = values * m->costs.chain / (vectors * together * cost_fma(m, m->vector_bytes));
  return 1 + 0.05 * waiting + 0.01 * vectors + 0.02 * (together - 1);
}

/* One addition after the other; argmax waits for each comparison and each choice, and no other row helps. */
double generic_rows_alone(const generic_draft *d, const tn_tensor *tensor) {
  generic_reads r;
  int stage = generic_stage(d, tensor);
  if (generic_row_axis(d, stage) < 0 || generic_rows_in_lanes(d, tensor) > 0 || !generic_read_all(d, stage, &r))
    return 0;
  const tn_machine_costs *c = &d->machine.costs;
  double points = 1, waits = r.op->n_outputs > 1 ? r.op->n_outputs * c->chain : 0;
  for (int a = 0; a < r.n_axes; a++) points *= (double)r.extent[a];
  return points * ((r.ops + r.taken) * cost_fma(&d->machine, 4) + waits);
}

/* Of ROWS rows in vectors of LANES each, whose halves are added up by turns: a step for each vector of two halves, two shuffles and a sum. */
static double folding_steps(double lanes, double rows) {
  double steps = 0;
  for (double width = lanes / 2; width >= 1; width /= 2) steps += 3 * ceil(rows * width / lanes);
  return steps;
}

/* Rows that go together wait side by side; what combines two sums beside that operation is computed for each. */
double generic_rows_ends(const tn_machine *m, double rows, int vectors, int together, int values, double ops) {
  double lanes = m->vector_bytes / 4.0, steps = vectors + lanes / LAST_LANES + LAST_LANES;
  if (folds_rows(lanes, together, values))
    return rows * (folding_steps(lanes, together) / together + vectors - 1) * ops * cost_fma(m, m->vector_bytes);
  return rows * steps * fmax(values * m->costs.ends / together, ops * cost_fma(m, LAST_BYTES));
}

double generic_wide_ends(const tn_machine *m, const tn_tensor *results, const generic_row_sum *sum) {
  double sums = generic_bytes(results) / (double)tn_dtype_bytes(results->dtype) * (double)sum->extent;
  double steps = sum->rows * (double)sum->extent / (double)sum->lanes / WIDE_STEPS;
  return steps * 2 * m->costs.load + sums * (m->costs.load + cost_fma(m, 4));
}

double generic_rows_streams(const tn_machine *m, double bytes, int together) {
  int level = cost_level(m, bytes);
  double slower = m->costs.beside / m->costs.line3 - 1;
  return together > 1 && level > 2 ? bytes / COST_LINE * cost_line(m, level, false) * slower : 0;
}
