/* generic_loops.c: changes of loops as generic schedules ask for them: by axis instead of position, vectors of a good
 * length, as many fused outer loops as the threads need. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "schedule/cost.h"
#include "schedule/generic.h"

/* Iterations that each thread should have, so that they end at about the same time. */
enum { ITERATIONS_PER_THREAD = 4 };

/* Positions shift when a stage is inserted: not to be kept over a primitive. */
static schedule_stage *stage_at(generic_draft *p, int stage) { return &p->s->stages[stage]; }

/* With tail peel: whole blocks without a check. */
bool generic_split(generic_draft *p, int stage, int axis, int64_t factor, int *outer, int *inner) {
  return generic_split_as(p, stage, axis, factor, TN_TAIL_PEEL, outer, inner);
}

/* A factor that divides needs no tail. */
bool generic_split_as(generic_draft *p, int stage, int axis, int64_t factor, tn_tail tail, int *outer, int *inner) {
  const schedule_stage *st = stage_at(p, stage);
  int at = schedule_leaf_position(st, axis);
  if (at >= 0 && st->axes[axis].extent % factor == 0) tail = TN_TAIL_GUARD;
  if (at < 0 || schedule_split(p->s, stage, at, 1, &factor, true, tail) != TN_OK) return false;
  *outer = stage_at(p, stage)->leaves[at];
  *inner = stage_at(p, stage)->leaves[at + 1];
  return true;
}

bool generic_fuse(generic_draft *p, int stage, int n, const int *axes, int *fused) {
  int iters[SCHEDULE_MAX_AXES];
  assert(n > 0);
  *fused = axes[0];
  if (n == 1) return true;
  for (int i = 0; i < n; i++) iters[i] = schedule_leaf_position(stage_at(p, stage), axes[i]);
  if (iters[0] < 0 || schedule_fuse(p->s, stage, n, iters) != TN_OK) return false;
  *fused = stage_at(p, stage)->leaves[iters[0]];
  return true;
}

/* Nothing is recorded when the order is as it was. */
bool generic_order(generic_draft *p, int stage, int n, const int *order) {
  const schedule_stage *st = stage_at(p, stage);
  int positions[SCHEDULE_MAX_AXES];
  bool changed = false;
  if (n != st->n_leaves) return false;
  for (int i = 0; i < n; i++) {
    positions[i] = schedule_leaf_position(st, order[i]);
    changed |= positions[i] != i;
  }
  return !changed || schedule_reorder(p->s, stage, n, positions) == TN_OK;
}

bool generic_annotate(generic_draft *p, int stage, int axis, schedule_annotation annotation) {
  int at = schedule_leaf_position(stage_at(p, stage), axis);
  if (at < 0 || stage_at(p, stage)->axes[axis].extent < 2) return at >= 0;
  return schedule_annotate(p->s, stage, at, annotation) == TN_OK;
}

bool generic_put_vector_last(generic_draft *p, int stage, int axis) {
  const schedule_stage *st = stage_at(p, stage);
  int order[SCHEDULE_MAX_AXES], n = 0;
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] != axis) order[n++] = st->leaves[i];
  order[n++] = axis;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, axis, SCHEDULE_VECTORIZE);
}

/* What threads save is more than starting them takes; a caller's own limit may be lower, not higher. */
bool generic_is_worth_threads_on(const tn_machine *m, double ns) {
  if (m->threads < 2) return false;
  double pays = m->costs.fork * m->threads / (m->threads - 1);
  return ns >= (pays < (double)m->fork_ns ? pays : (double)m->fork_ns);
}

/* How many loops make enough iterations: many for each thread, or as many for each. */
static int loops_needed(generic_draft *p, int stage, int n, const int *axes) {
  int64_t product = 1, threads = p->machine.threads;
  for (int i = 0; i < n; i++) {
    product *= stage_at(p, stage)->axes[axes[i]].extent;
    if (product >= ITERATIONS_PER_THREAD * threads || (product >= threads && product % threads == 0)) return i + 1;
  }
  return n;
}

/* Whether AXIS counts blocks that leave a rest, with TAIL. */
static bool counts_blocks(const schedule_stage *st, int axis, tn_tail tail) {
  const schedule_relation *r = st->axes[axis].made_by < 0 ? NULL : &st->relations[st->axes[axis].made_by];
  if (!r || r->is_fuse || r->n != 2 || r->tail != tail || r->many[0] != axis) return false;
  return st->axes[r->one].extent % st->axes[r->many[1]].extent != 0;
}

/* Blocks are shared in as many chunks as there are threads, of LENGTH. *LOOP: the blocks of a chunk. */
static bool share_chunks(generic_draft *p, int stage, int64_t length, int *loop) {
  int chunk;
  return length > 0 && generic_split_as(p, stage, *loop, length, TN_TAIL_GUARD, &chunk, loop) &&
         generic_annotate(p, stage, chunk, SCHEDULE_PARALLEL);
}

int64_t generic_chunk(int64_t blocks, int threads) {
  int64_t length = (blocks + threads - 1) / RUNTIME_MAX(threads, 1),
          chunks = (blocks + length - 1) / RUNTIME_MAX(length, 1);
  return chunks >= 2 && blocks - (chunks - 1) * length >= 2 ? length : 0;
}

double generic_shared_ns(const tn_machine *m, double ns, double outer, int64_t rows, int64_t block, bool is_output) {
  int64_t blocks = (rows + block - 1) / block;
  if (rows % block == 0) return cost_threads(m, ns, outer * (double)blocks);
  if (outer >= m->threads) return cost_threads(m, ns, outer);
  int64_t length = is_output && outer == 1 ? generic_chunk(blocks, m->threads) : 0;
  if (length == 0) return INFINITY;
  int64_t chunks = (blocks + length - 1) / length, last = blocks - (chunks - 1) * length;
  return cost_blocks(m, ns, (double)chunks, (double)length / (double)blocks, (double)last / (double)blocks);
}

/* True, and no loop made parallel, when it is not worth it. */
bool generic_parallel(generic_draft *p, int stage, int n, const int *axes, double ns, int *loop, int *n_fused) {
  *loop = n > 0 ? axes[0] : -1;
  *n_fused = RUNTIME_MIN(n, 1);
  if (n == 0 || !generic_is_worth_threads(p, ns)) return true;
  *n_fused = loops_needed(p, stage, n, axes);
  const schedule_stage *st = stage_at(p, stage);
  int64_t blocks = st->axes[axes[0]].extent;
  int threads = p->machine.threads;
  /* Blocks that overlap: the last two are in one chunk. */
  bool overlaps = counts_blocks(st, axes[*n_fused - 1], TN_TAIL_OVERLAP);
  if (overlaps && *n_fused == 1) return share_chunks(p, stage, generic_chunk(blocks, threads), loop);
  if (overlaps) --*n_fused;
  /* A parallel loop cannot be parted, so that each block would ask whether it is whole. */
  if (*n_fused == 1 && blocks >= ITERATIONS_PER_THREAD * threads && counts_blocks(st, axes[0], TN_TAIL_PEEL))
    return share_chunks(p, stage, (blocks + threads - 1) / threads, loop);
  return generic_fuse(p, stage, *n_fused, axes, loop) && generic_annotate(p, stage, *loop, SCHEDULE_PARALLEL);
}

/* 1 counts. */
static bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/* Powers of two, which code generation cuts well. A short rest costs little: whole vectors are worth more than a
 * divisor that leaves lanes empty. */
int64_t generic_vector_length(int64_t extent, int64_t lanes, int registers) {
  if (extent <= lanes || (extent <= lanes * registers && is_power_of_two(extent))) return extent;
  int64_t longest = lanes;
  while (longest * 2 <= lanes * registers) longest *= 2;
  for (int64_t length = longest; length >= lanes; length /= 2)
    if (extent % length == 0) return length;
  for (int64_t length = longest; length > lanes; length /= 2)
    if (extent >= 4 * length) return length;
  return lanes;
}

bool generic_split_vector(generic_draft *p, int stage, int axis, int registers, int *outer, int *inner) {
  int64_t extent = stage_at(p, stage)->axes[axis].extent;
  int64_t length = generic_vector_length(extent, generic_lanes(p, stage), registers);
  *outer = -1, *inner = axis;
  return length == extent || generic_split(p, stage, axis, length, outer, inner);
}

/* Blocks of whole vectors, as even as can be. */
int64_t generic_column_block(int64_t extent, int64_t lanes, int registers, bool *by_lanes) {
  int64_t length = generic_vector_length(extent, lanes, registers), vectors = (extent + lanes - 1) / lanes;
  *by_lanes = lanes > 1 && vectors > 1 && !(extent % length == 0 && length >= RUNTIME_MIN(registers, vectors) * lanes);
  if (!*by_lanes) return length;
  int64_t blocks = (vectors + registers - 1) / registers;
  return (vectors + blocks - 1) / blocks * lanes;
}

bool generic_split_lanes(generic_draft *p, int stage, int axis, int *vector, int *lane) {
  int64_t lanes = generic_lanes(p, stage);
  *vector = -1, *lane = axis;
  if (stage_at(p, stage)->axes[axis].extent <= lanes) return true;
  return generic_split(p, stage, axis, lanes, vector, lane) && generic_annotate(p, stage, *vector, SCHEDULE_UNROLL);
}

bool generic_arrange_columns(generic_draft *p, int stage, int axis, bool by_lanes) {
  int order[SCHEDULE_MAX_AXES], n = 0, vector = -1, lane = axis;
  if (by_lanes && !generic_split_lanes(p, stage, axis, &vector, &lane)) return false;
  const schedule_stage *st = stage_at(p, stage);
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] != vector && st->leaves[i] != lane) order[n++] = st->leaves[i];
  if (vector >= 0) order[n++] = vector;
  order[n++] = lane;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, lane, SCHEDULE_VECTORIZE);
}

bool generic_split_columns(generic_draft *p, int stage, int axis, int64_t block, bool by_lanes, generic_columns *out) {
  *out = (generic_columns){.block = -1, .vector = -1, .lane = axis};
  bool is_split = stage_at(p, stage)->axes[axis].extent > block;
  if (is_split && !generic_split(p, stage, axis, block, &out->block, &out->lane)) return false;
  return !by_lanes || generic_split_lanes(p, stage, out->lane, &out->vector, &out->lane);
}

int64_t generic_row(const generic_draft *p, int stage) {
  const tn_tensor *t = p->s->stages[stage].tensors;
  return t->ndim > 0 ? t->shape[t->ndim - 1] : 1;
}

bool generic_can_stream(const generic_draft *p, int stage, int64_t row, double bytes) {
  const tn_tensor *t = p->s->stages[stage].tensors;
  row *= (int64_t)tn_dtype_bytes(t->dtype);
  return schedule_is_output(p->s, stage) && !t->is_strided && t->ndim > 0 && row > 0 &&
         row % p->machine.vector_bytes == 0 && cost_level(&p->machine, bytes) > 2;
}

/* An axis, and the op's other data axes. */
typedef struct border {
  const te_op *op;
  int axis;
} border;

/* Whether E goes on with the axis, and with no other: only then it is the same for all rows. */
static bool is_of_axis(const border *b, const tir_expr *e) {
  bool is_alone = tir_uses_var(e, &b->op->axes[b->axis]->var);
  for (int a = 0; is_alone && a < b->op->n_axes; a++) is_alone = a == b->axis || !tir_uses_var(e, &b->op->axes[a]->var);
  return is_alone;
}

static tir_walk find_comparison(void *user, const tir_expr *e) {
  bool is_order = tir_class_of(e) == TIR_CLASS_COMPARISON && e->op != TIR_EQ && e->op != TIR_NE;
  return is_order && is_of_axis(user, e) ? TIR_WALK_STOP : TIR_WALK_ON;
}

static tir_walk find_border(void *user, const tir_expr *e) {
  bool is_ring = tir_period(e) >= TIR_LONG_PERIOD;
  bool is_limit = tir_class_of(e) == TIR_CLASS_EXTREMUM && !tn_dtype_is_float(e->dtype);
  if (is_ring || is_limit) return is_of_axis(user, e) && !tir_has_op(e, TIR_READ) ? TIR_WALK_STOP : TIR_WALK_ON;
  const tir_expr *of = e->op == TIR_SELECT ? e->arg[0] : e->op == TIR_REDUCE ? tir_reduce_where(e) : NULL;
  if (of == NULL || tir_has_op(of, TIR_READ)) return TIR_WALK_ON;
  return tir_walk_expr(of, find_comparison, user) ? TIR_WALK_ON : TIR_WALK_STOP;
}

bool generic_has_borders(const generic_draft *p, int stage, int axis) {
  const te_op *op = p->s->stages[stage].op;
  const tir_expr *body = op->kind == TE_COMPUTE && axis < op->n_axes ? generic_body(p, stage) : NULL;
  border b = {op, axis};
  return body != NULL && !tir_walk_expr(body, find_border, &b);
}

bool generic_part_borders(generic_draft *p, int stage, int axis) {
  int at = axis < 0 ? -1 : schedule_leaf_position(stage_at(p, stage), axis);
  return axis < 0 || (at >= 0 && schedule_pragma_partition(p->s, stage, at) == TN_OK);
}

bool generic_attach(generic_draft *p, const tn_tensor *tensor, const tn_tensor *root, int axis) {
  int to = generic_stage(p, root), at = schedule_leaf_position(&p->s->stages[to], axis);
  return at >= 0 && schedule_compute_at(p->s, generic_stage(p, tensor), to, at) == TN_OK;
}

bool generic_stream(generic_draft *p, int stage) {
  return stage_at(p, stage)->n_leaves == 0 || schedule_pragma_stream(p->s, stage, 0) == TN_OK;
}

/* "[d0, d1, d2] -> [d0, d2, d1]". */

bool generic_prefetch(generic_draft *p, int stage, int iter, const tn_tensor *tensor, int64_t offset, int of,
                      int leaf) {
  int64_t later[] = {of, leaf};
  schedule_step step = {.kind = SCHEDULE_STEP_PF,
                        .stage = (int16_t)stage,
                        .iter = (int16_t)iter,
                        .target_stage = (int16_t)generic_stage(p, tensor),
                        .value = offset,
                        .n = RUNTIME_COUNT(later),
                        .list = later};
  return iter >= 0 && leaf >= 0 && schedule_apply_step(p->s, &step) == TN_OK;
}
