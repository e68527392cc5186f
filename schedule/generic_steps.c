/* generic_steps.c: steps of a scan that are reductions, as a recurrent network's product of its last state and its weights. They stay
 * in the loop over the time; inside of it they go by tiles of sums in registers:
 *
 *     for t: for j.outer: for b.outer: for k: for b.inner, unrolled: vector j.inner:  H[b,j] += S[t-1,b,k] * U[k,j]
 *
 * An input that lies across the vectors is copied once, before all times. Where elements of the state never depend on others along an
 * axis, as on other sequences of a batch, threads share that axis around the time; else they share the tiles of each time. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/generic.h"

enum { MAX_TURNED = 4, MOST_VECTORS = 8, MOST_ROWS = 12 };

/* How a step goes. */
typedef struct step_tile {
  int stage;
  int v, u;              /* data axes of vectors and of rows; U -1: there is none */
  int64_t columns, rows; /* of a tile */
  bool has_threads;      /* tiles of a time are shared */
  int n;                 /* what is turned, ... */
  const tn_tensor *inputs[MAX_TURNED];
  int dim[MAX_TURNED];                 /* ... the dimension that goes along V, ... */
  const tn_tensor *copies[MAX_TURNED]; /* ... and what it is turned into, once realized */
} step_tile;

/* ---- axes -------------------------------------------------------------------------------------------------------- */

static bool goes_along(const generic_read *read, int axis) {
  return read->is_known[axis] && !read->block[axis] && (read->stride[axis] == 0 || read->stride[axis] == 1);
}

/* An input that is read at one place, with the axis as an index. */
static bool can_turn(const generic_reads *r, const generic_read *read, int axis) {
  int n = 0, dim = read->dim[axis];
  for (int i = 0; i < r->n; i++) n += r->reads[i].tensor == read->tensor;
  return n == 1 && te_is_placeholder(read->tensor->op) && dim >= 0 && read->plain[dim] == axis;
}

/* Whether vectors can go along AXIS, and what has to be turned for that. */
static bool find_turned(const generic_reads *r, int axis, step_tile *t) {
  bool is_along = false;
  t->n = 0;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    is_along |= read->is_known[axis] && read->stride[axis] != 0;
    if (goes_along(read, axis)) continue;
    if (t->n == MAX_TURNED || !can_turn(r, read, axis)) return false;
    t->dim[t->n] = read->dim[axis], t->inputs[t->n++] = read->tensor;
  }
  return is_along;
}

/* The longest axis beside the time and V along which some operand of the vectors is the same. -1: there is none. */
static int rows_axis(const generic_reads *r, int v) {
  int u = -1;
  for (int a = 1; a < r->n_data; a++) {
    bool is_shared = false;
    for (int i = 0; i < r->n; i++)
      is_shared |= r->reads[i].is_known[a] && r->reads[i].stride[a] == 0 && r->reads[i].stride[v] != 0;
    if (a != v && is_shared && r->extent[a] > 1 && (u < 0 || r->extent[a] > r->extent[u])) u = a;
  }
  return u;
}

/* ---- the tile ---------------------------------------------------------------------------------------------------- */

/* COUNT cut into blocks of BLOCK: the part of the work that is not done twice. */
static double useful(int64_t count, int64_t block) {
  return (double)count / (double)((count + block - 1) / block * block);
}

/* Of a point and a step of the reduction, with sums of V vectors and R rows in registers. */
static double tile_ns(const tn_machine *m, int64_t v, int64_t r) {
  double sums = (double)(v * r), loads = (double)(v + r) * m->costs.load;
  return fmax(fmax(sums * cost_fma(m, m->vector_bytes), loads), m->costs.chain) / sums;
}

static void choose_tile(const generic_draft *p, const generic_reads *r, int64_t lanes, step_tile *t) {
  const tn_machine *m = &p->machine;
  int64_t columns = r->extent[t->v], rows = t->u < 0 ? 1 : r->extent[t->u];
  double least = INFINITY;
  for (int64_t v = 1; v <= MOST_VECTORS && v * lanes <= columns; v++)
    for (int64_t n = 1; n <= MOST_ROWS && n <= rows; n++) {
      double ns = tile_ns(m, v, n) / useful(columns, v * lanes) / useful(rows, n);
      if (v * n + v + 1 > m->vector_registers || ns >= least) continue;
      least = ns, t->columns = v * lanes, t->rows = n;
    }
}

/* False: the step stays as it is. */
static bool describe(const generic_draft *p, int stage, bool is_shared, step_tile *t) {
  generic_reads r;
  const schedule_stage *st = &p->s->stages[stage];
  int64_t lanes = generic_lanes(p, stage);
  *t = (step_tile){.stage = stage, .v = -1};
  if (st->op->n_reduce == 0 || st->n_tensors > 1 || lanes < 2 || st->n_relations > 0) return false;
  if (st->attach == SCHEDULE_INLINED) return false;
  if (!generic_read_all(p, stage, &r)) return false;
  for (int most = 0; most <= MAX_TURNED && t->v < 0; most++)
    for (int a = r.n_data - 1; a >= 1 && t->v < 0; a--)
      if (r.extent[a] >= lanes && find_turned(&r, a, t) && t->n <= most) t->v = a;
  if (t->v < 0) return false;
  t->u = rows_axis(&r, t->v);
  choose_tile(p, &r, lanes, t);
  double ns_of_time = generic_cost_ns(p, &r) / (double)r.extent[0];
  t->has_threads = !is_shared && generic_is_worth_threads(p, ns_of_time);
  return true;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* A copy of an input before all times, turned in small tiles. */
static bool turn(generic_draft *p, step_tile *t, const tn_tensor *step, int i) {
  enum { TURNED_ROWS = 16, TURNED_COLUMNS = 8 };
  int from = generic_stage(p, t->inputs[i]), reader = generic_stage(p, step), dim = t->dim[i];
  if (from < 0 || schedule_cache_read(p->s, from, "global", 1, &reader) != TN_OK) return false;
  const tn_tensor *copy = t->copies[i] = p->s->stages[from + 1].tensors;
  int stage = generic_stage(p, copy), last = copy->ndim - 1, order[SCHEDULE_MAX_AXES], n = 0, tiles, column, rows, row;
  if (!generic_store_panels(p, stage, dim, t->columns)) return false;
  if (!generic_split_as(p, stage, dim, TURNED_COLUMNS, TN_TAIL_PEEL, &tiles, &column)) return false;
  if (!generic_split_as(p, stage, last, TURNED_ROWS, TN_TAIL_PEEL, &rows, &row)) return false;
  for (int a = 0; a < last; a++) order[n++] = a == dim ? tiles : a;
  order[n++] = rows, order[n++] = row, order[n++] = column;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, row, SCHEDULE_UNROLL) &&
         generic_annotate(p, stage, column, SCHEDULE_VECTORIZE);
}

/* The loop over the step's own time, which has one iteration, stands inside of those that threads may share. */
static bool realize(generic_draft *p, const generic_group *g, const void *data) {
  step_tile *t = *(step_tile *const *)data;
  const tn_tensor *step = p->s->stages[t->stage].tensors;
  const te_op *op = p->s->stages[t->stage].op;
  int v_outer = t->v, v_inner = t->v, u_outer = t->u, u_inner = -1, order[SCHEDULE_MAX_AXES], n = 0, loop, n_fused;
  (void)g;
  for (int i = 0; i < t->n; i++)
    if (!turn(p, t, step, i)) return false;
  int stage = generic_stage(p, step);
  tn_tail tail = t->has_threads ? TN_TAIL_PEEL : TN_TAIL_OVERLAP; /* threads must not write the same elements */
  if (!generic_split_as(p, stage, t->v, t->columns, tail, &v_outer, &v_inner)) return false;
  if (t->u >= 0 && !generic_split_as(p, stage, t->u, t->rows, TN_TAIL_OVERLAP, &u_outer, &u_inner)) return false;
  order[n++] = v_outer;
  for (int a = 0; a < op->n_axes; a++)
    if (a != t->v && a != t->u) order[n++] = a;
  if (t->u >= 0) order[n++] = u_outer;
  for (int a = 0; a < op->n_reduce; a++) order[n++] = op->n_axes + a;
  if (t->u >= 0) order[n++] = u_inner;
  order[n++] = v_inner;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, v_inner, SCHEDULE_VECTORIZE) &&
         (t->u < 0 || generic_annotate(p, stage, u_inner, SCHEDULE_UNROLL)) &&
         (!t->has_threads || generic_parallel(p, stage, 1, order, INFINITY, &loop, &n_fused));
}

bool generic_tile_step(generic_draft *p, generic_taken *taken, int stage, bool is_shared) {
  step_tile t, *at = &t;
  if (!describe(p, stage, is_shared, &t) || !generic_attempt(p, NULL, realize, &at, NULL, 0)) return false;
  for (int i = 0; i < t.n; i++)
    if (!RUNTIME_PUSH(&taken->tensors, t.copies[i])) return false;
  return true;
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* The loop over AXIS of a scan, cut for threads around the time. Refused where the scan reads across the axis. */
typedef struct sharing {
  const tn_tensor *state;
  int axis;
} sharing;

static bool share(generic_draft *p, const generic_group *g, const void *data) {
  const sharing *s = data;
  int stage = generic_stage(p, s->state), n_axes = p->s->stages[stage].op->n_axes, outer, inner, n = 0;
  int order[SCHEDULE_MAX_AXES];
  int64_t extent = p->s->stages[stage].axes[s->axis].extent, threads = p->machine.threads;
  (void)g;
  if (extent < threads || !generic_split(p, stage, s->axis, (extent + threads - 1) / threads, &outer, &inner))
    return false;
  order[n++] = outer;
  for (int a = 0; a < n_axes; a++) order[n++] = a == s->axis ? inner : a;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, outer, SCHEDULE_PARALLEL);
}

bool generic_share_scan(generic_draft *p, int stage, double ns) {
  sharing s = {.state = p->s->stages[stage].tensors};
  if (p->machine.threads < 2 || !generic_is_worth_threads(p, ns)) return false;
  for (s.axis = 1; s.axis < p->s->stages[stage].op->n_axes; s.axis++)
    if (generic_attempt(p, NULL, share, &s, NULL, 0)) return true;
  return false;
}
