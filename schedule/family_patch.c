/* family_patch.c: reductions over patches that lie side by side, as pools that go on by their own width and means of blocks: a row of
 * them is one row of what is read. Rows of a patch are reduced in whole vectors first, whatever its width, and then the columns of each.
 *
 *     for c, y: S[x, s] = sum[r](X[c, h*y + r, w*x + s]), where x and s are one loop of vectors;  Y[c, y, x] = sum[s](S[x, s])
 *
 * What is computed point by point of the results goes along with them. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum { PATCH_VECTORS, PATCH_THREADS, PATCH_FIELD_COUNT };
enum { MAX_WRITTEN_OUT = 16 };

typedef struct patch_facts {
  tn_machine machine;
  const tn_tensor *sums; /* the reduction; the group's root or what it is made of */
  int across;            /* its axis along a patch's columns, among all of its op's */
  double ns;             /* of one thread for what stands besides the reduction */
  double rows, results;  /* of patches; patches in such a row */
  double width, steps;   /* columns of a patch; what else is reduced */
  double lanes, ops;     /* of a vector; operations of a step */
  double spans;          /* loads for each vector: 2 where all touch two lines */
  bool is_whole;         /* a row is whole vectors */
  double read, written;  /* bytes */
} patch_facts;

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* The group's reduction: its root, or the only member, of which the root is made point by point. NULL: there is none. */
static const tn_tensor *reduction_of(const generic_draft *d, const generic_group *g) {
  const te_op *root = d->s->stages[generic_stage(d, g->root)].op;
  if (g->anchor || g->n_windows > 0 || g->n > 1) return NULL;
  if (g->n == 0) return root->n_reduce > 0 ? g->root : NULL;
  const int8_t *map = generic_map_of(g, g->members[0]);
  if (root->n_reduce > 0 || g->members[0]->ndim != g->root->ndim) return NULL;
  for (int a = 0; a < g->root->ndim && !g->is_chain; a++) /* members of a chain are read point by point */
    if (!g->is_common[a] || map[a] != a) return NULL;
  return g->members[0];
}

/* The reduction axis along which READ goes on from the end of one patch to the begin of the next: by one element a step, and by as many
 * as there are of them from column to column. -1: there is none. */
static int axis_across(const generic_reads *r, const generic_read *read) {
  int x = r->n_data - 1;
  int64_t stride, step;
  for (int k = r->n_data; k < r->n_axes; k++)
    if (generic_stride(read, x, &stride) && generic_stride(read, k, &step) && step == 1 && stride == r->extent[k] &&
        stride > 1 && read->dim[x] >= 0 && read->dim[x] == read->dim[k])
      return k;
  return -1;
}

/* One read, and something to reduce besides a patch's columns. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  const tn_tensor *sums = reduction_of(d, g);
  generic_reads r;
  if (!sums || !generic_read_all(d, generic_stage(d, sums), &r)) return NULL;
  if (r.n != 1 || r.n_data < 2 || r.n_axes < r.n_data + 2 || r.op->n_outputs > 1 || r.n_data == TN_MAX_RANK)
    return NULL;
  int across = axis_across(&r, &r.reads[0]);
  patch_facts *f = across >= 0 && !r.op->body->u.reduce->has_where ? RUNTIME_NEW(d->arena, patch_facts) : NULL;
  if (!f) return NULL;
  *f = (patch_facts){.machine = d->machine, .sums = sums, .across = across, .rows = 1, .steps = 1};
  for (int a = 0; a + 1 < r.n_data; a++) f->rows *= (double)r.extent[a];
  for (int k = r.n_data; k < r.n_axes; k++) f->steps *= k == across ? 1 : (double)r.extent[k];
  f->results = (double)r.extent[r.n_data - 1], f->width = (double)r.extent[across];
  f->lanes = (double)generic_lanes(d, generic_stage(d, sums)), f->ops = fmax(r.ops, 1);
  if (f->results * f->width < f->lanes) return NULL;
  double bytes = (double)tn_dtype_bytes(r.reads[0].tensor->dtype);
  f->spans = 1 + (fmod(f->results * f->width * bytes, COST_LINE) != 0 ? bytes * f->lanes / COST_LINE : 0);
  f->is_whole = fmod(f->results * f->width, f->lanes) == 0;
  f->read = generic_read_bytes(&r), f->written = generic_bytes(g->root);
  f->ns = g->n > 0 ? f->rows * f->results / f->lanes * 2 * cost_fma(&d->machine, d->machine.vector_bytes) : 0;
  return f;
}

static void space(const void *facts, plan_space *s) {
  const patch_facts *f = facts;
  for (int n = 4; n >= 1; n /= 2) plan_add(s, PATCH_VECTORS, n);
  plan_add(s, PATCH_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine,
                                  f->rows * f->results * f->width * f->steps / f->lanes * f->machine.costs.load))
    plan_add(s, PATCH_THREADS, 1);
}

/* A row of patches: its vectors, each added to the row above, in blocks whose sums wait for each other unless the next block hides it;
 * then the columns of each patch, which are shuffled out of whole vectors, or taken one by one. */
static double row_ns(const patch_facts *f, double registers) {
  static const double hidden = 0.5;
  const tn_machine *m = &f->machine;
  double vectors = ceil(f->results * f->width / f->lanes), blocks = ceil(vectors / registers);
  double vector_op = cost_fma(m, m->vector_bytes), vector = fmax(f->spans * m->costs.load, f->ops * vector_op);
  double waits = blocks * f->steps * fmax(m->costs.chain - registers * vector, 0) * hidden;
  double columns = f->results * f->width * (f->is_whole ? f->width / f->lanes * 2 * vector_op : m->costs.gather);
  return f->steps * vectors * vector + waits + vectors * 2 * m->costs.load + columns + 3 * m->costs.chain;
}

static double cost(const void *facts, const int32_t *c) {
  const patch_facts *f = facts;
  double ns = f->ns + f->rows * row_ns(f, c[PATCH_VECTORS]);
  ns = cost_overlap(ns, cost_stream(&f->machine, f->read, f->written, c[PATCH_THREADS], false));
  return c[PATCH_THREADS] ? cost_threads(&f->machine, ns, f->rows) : ns;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* Sums of columns, STAGE: the last two data axes are one, in blocks of vectors, outside of what is reduced. */
static bool arrange_columns(generic_draft *d, int stage, int registers) {
  int last = d->s->stages[stage].op->n_axes - 1, fused, outer, inner, order[SCHEDULE_MAX_AXES], n = 0;
  const int pair[] = {last - 1, last};
  if (!generic_fuse(d, stage, 2, pair, &fused)) return false;
  if (!generic_split_vector(d, stage, fused, registers, &outer, &inner)) return false;
  for (int a = 0; a < last - 1; a++) order[n++] = a;
  if (outer >= 0) order[n++] = outer;
  const schedule_stage *st = &d->s->stages[stage];
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL) order[n++] = st->leaves[i];
  int step = order[n - 1];
  order[n++] = inner;
  bool is_short = st->axes[step].extent <= MAX_WRITTEN_OUT;
  return generic_order(d, stage, n, order) && generic_annotate(d, stage, inner, SCHEDULE_VECTORIZE) &&
         (!is_short || generic_annotate(d, stage, step, SCHEDULE_UNROLL));
}

/* The columns of each patch, all patches of a row at a time. */
static bool arrange_patches(generic_draft *d, int stage) {
  const schedule_stage *st = &d->s->stages[stage];
  int step = st->n_spatial_roots;
  bool is_short = st->axes[step].extent <= MAX_WRITTEN_OUT;
  return generic_put_vector_last(d, stage, st->op->n_axes - 1) &&
         (!is_short || generic_annotate(d, stage, step, SCHEDULE_UNROLL));
}

static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const patch_facts *f = facts;
  int stage = generic_stage(d, f->sums), loops[TN_MAX_RANK], n = g->root->ndim - 1, loop, n_fused;
  int at = schedule_leaf_position(&d->s->stages[stage], f->across);
  if (at < 0 || schedule_rfactor(d->s, stage, at, f->sums->ndim) != TN_OK) return false;
  const tn_tensor *columns = d->s->stages[stage].tensors;
  if (!arrange_columns(d, stage, c[PATCH_VECTORS]) || !arrange_patches(d, generic_stage(d, f->sums))) return false;
  int root = generic_stage(d, g->root);
  if (f->sums != g->root && !generic_put_vector_last(d, root, n)) return false;
  for (int a = 0; a < n; a++) loops[a] = a;
  if (!generic_parallel(d, root, n, loops, c[PATCH_THREADS] ? INFINITY : 0, &loop, &n_fused)) return false;
  if (n_fused < n) loop = loops[n - 1];
  return (f->sums == g->root || generic_attach(d, f->sums, g->root, loop)) && generic_attach(d, columns, g->root, loop);
}

static const plan_field fields[PATCH_FIELD_COUNT] = {
    [PATCH_VECTORS] = {"vectors", "registers that the sums of columns are cut into"},
    [PATCH_THREADS] = {"threads", "1: rows of patches are shared among threads"},
};

PLAN_FAMILY_OF_CHAINS(patch, PATCH_FIELD_COUNT);
