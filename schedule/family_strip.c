/* family_strip.c: chains of stencils: filters of a few taps, differences, what is computed between them. The last stage
 * runs in strips of some rows; what its windows read is computed for a strip at a time, its margins anew for each, so
 * that it stays in a cache; what is read point by point is computed where it is used, in registers. Vectors go along
 * rows, threads over strips (Halide: compute_at the strips of the consumer). */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum { STRIP_ROWS, STRIP_VECTORS, STRIP_THREADS, STRIP_FIELD_COUNT };
enum { LEAST_MARGIN = 1, MAX_UNROLLED = 49 };

typedef struct strip_facts {
  tn_machine machine;
  int64_t rows, columns;    /* of the root */
  double outer;             /* iterations of the axes around them */
  double ns;                /* of one thread, as generic_cost_ns says, without the windows' stages */
  double window_ns, margin; /* of these, once; rows that a strip computes more, of all of them and on average */
  double row_bytes;         /* of a row of all that stays in a cache */
  int64_t bytes;            /* of the root's elements */
} strip_facts;

/* Of one row of the tensor. */
static double row_bytes(const tn_tensor *t) { return (double)t->shape[t->ndim - 1] * (double)tn_dtype_bytes(t->dtype); }

/* Its cost, and the rows that each strip computes again for it. */
static void add_window(const generic_draft *d, const generic_group *g, const tn_tensor *t, strip_facts *f) {
  generic_reads r;
  if (generic_read_all(d, generic_stage(d, t), &r)) f->window_ns += generic_cost_ns(d, &r);
  f->margin += (double)RUNTIME_MAX(t->shape[t->ndim - 2] - g->root->shape[g->root->ndim - 2], LEAST_MARGIN);
  f->row_bytes += row_bytes(t);
}

/* NULL: no windows, or no rows. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  strip_facts *f = g->n_windows > 0 && g->root->ndim >= 2 ? RUNTIME_NEW(d->arena, strip_facts) : NULL;
  if (!f) return NULL;
  const int64_t *shape = g->root->shape;
  int n = g->root->ndim;
  *f = (strip_facts){.machine = d->machine, .rows = shape[n - 2], .columns = shape[n - 1], .outer = 1, .ns = g->ns};
  f->bytes = (int64_t)tn_dtype_bytes(g->root->dtype);
  for (int a = 0; a < n - 2; a++) f->outer *= (double)shape[a];
  f->row_bytes = row_bytes(g->root);
  for (int i = 0; i < g->n_windows; i++) add_window(d, g, g->windows[i], f);
  f->margin /= g->n_windows;
  return f;
}

/* Heights from 4 up, and those that cut the rows into equal strips. */
static void space(const void *facts, plan_space *s) {
  const strip_facts *f = facts;
  for (int64_t n = 4; n < f->rows && n <= 256; n = n * 3 / 2) plan_add(s, STRIP_ROWS, n);
  for (int64_t parts = 1; parts <= 32 && f->rows / parts >= 4; parts *= 2)
    plan_add(s, STRIP_ROWS, (f->rows + parts - 1) / parts);
  if (s->n[STRIP_ROWS] == 0) plan_add(s, STRIP_ROWS, f->rows);
  for (int n = 1; n <= 4; n *= 2) plan_add(s, STRIP_VECTORS, n);
  plan_add(s, STRIP_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine, f->ns + f->window_ns)) plan_add(s, STRIP_THREADS, 1);
}

/* Margins are computed again for each strip; a strip that no cache holds is written and read, in memory
 * that is new each time. Vectors of several
 * registers leave fewer for the sums of the stages that are computed beside each other. */
static double cost(const void *facts, const int32_t *c) {
  const strip_facts *f = facts;
  const tn_machine *m = &f->machine;
  double rows = fmin(c[STRIP_ROWS], (double)f->rows), strips = ceil((double)f->rows / rows);
  double again = 1 + f->margin / rows, bytes = f->row_bytes * (rows + f->margin);
  double all = f->row_bytes * (double)f->rows * f->outer;
  double moved = 2 * all / COST_LINE * again * cost_line(m, cost_level(m, bytes), c[STRIP_THREADS] != 0);
  if (cost_level(m, bytes) > 2) moved += all / COST_LINE * again * m->costs.fresh;
  double streams = all / COST_LINE * cost_line(m, cost_level(m, all), c[STRIP_THREADS] != 0) * 0.5;
  double compute = f->ns + f->window_ns * again;
  double ns = cost_overlap(compute, moved + streams) * (1 + 0.04 * (c[STRIP_VECTORS] - 1));
  return c[STRIP_THREADS] ? cost_threads(m, ns, strips * f->outer) : ns;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* On the stack of realize. */
typedef struct strips {
  generic_draft *d;
  const generic_group *g;
  int64_t columns;   /* of a vector loop */
  int strip, column; /* the root's loops: strips, or what they are fused into; blocks of columns */
} strips;

/* TENSOR in the loop of TO over AXIS. */
static bool attach(const strips *x, const tn_tensor *tensor, const tn_tensor *to, int axis) {
  int at = generic_stage(x->d, to), position = schedule_leaf_position(&x->d->s->stages[at], axis);
  return position >= 0 && schedule_compute_at(x->d->s, generic_stage(x->d, tensor), at, position) == TN_OK;
}

/* Data axes but the last, reductions, unrolled where they are short, and vectors innermost. */
static bool arrange_sums(const strips *x, int stage) {
  const schedule_stage *st = &x->d->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0, last = st->op->n_axes - 1;
  int64_t steps = 1;
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] != last) order[n++] = st->leaves[i];
  order[n++] = last;
  for (int a = 0; a < st->op->n_reduce; a++) steps *= st->op->reduce_axes[a]->extent;
  if (!generic_order(x->d, stage, n, order) || !generic_annotate(x->d, stage, last, SCHEDULE_VECTORIZE)) return false;
  for (int a = st->op->n_axes; steps <= MAX_UNROLLED && a < st->op->n_axes + st->op->n_reduce; a++)
    if (!generic_annotate(x->d, stage, a, SCHEDULE_UNROLL)) return false;
  return true;
}

/* The sums of a reduction in registers, a block of columns at a time; *COLUMN: the loop over blocks. */
static bool split_sums(const strips *x, const tn_tensor *tensor, int *column) {
  int stage = generic_stage(x->d, tensor), inner, last = tensor->ndim - 1;
  if (schedule_cache_write(x->d->s, stage, "local") != TN_OK) return false;
  const tn_tensor *sums = x->d->s->stages[stage].tensors;
  if (!generic_split(x->d, stage + 1, last, x->columns, column, &inner)) return false;
  if (!generic_annotate(x->d, stage + 1, inner, SCHEDULE_VECTORIZE) || !arrange_sums(x, stage)) return false;
  return attach(x, sums, tensor, *column);
}

/* What a window reads: computed for a strip. */
static bool place_window(const strips *x, const tn_tensor *tensor) {
  int stage = generic_stage(x->d, tensor), column;
  bool reduces = x->d->s->stages[stage].op->n_reduce > 0;
  if (!(reduces ? split_sums(x, tensor, &column) : generic_inner_injective(x->d, stage))) return false;
  return attach(x, tensor, x->g->root, x->strip);
}

/* What is read point by point: computed in registers for a block of columns. */
static bool place_member(const strips *x, const tn_tensor *tensor) {
  int stage = generic_stage(x->d, tensor);
  return arrange_sums(x, stage) && schedule_set_scope(x->d->s, stage, "local") == TN_OK &&
         attach(x, tensor, x->g->root, x->column);
}

/* Strips outside, then rows, blocks of columns, vectors. A root that reduces copies its sums. */
static bool arrange_root(strips *x, const int32_t *c) {
  int stage = generic_stage(x->d, x->g->root), n_axes = x->g->root->ndim, row, inner, order[TN_MAX_RANK + 4], n = 0;
  const tn_tensor *sums = NULL;
  bool reduces = x->d->s->stages[stage].op->n_reduce > 0;
  if (reduces && schedule_cache_write(x->d->s, stage, "local") != TN_OK) return false;
  if (reduces) sums = x->d->s->stages[stage].tensors, stage++;
  if (!generic_split(x->d, stage, n_axes - 2, c[STRIP_ROWS], &x->strip, &row)) return false;
  if (!generic_split(x->d, stage, n_axes - 1, x->columns, &x->column, &inner)) return false;
  for (int a = 0; a < n_axes - 2; a++) order[n++] = a;
  order[n++] = x->strip;
  int n_shared = n, n_fused, strip;
  order[n++] = row, order[n++] = x->column, order[n++] = inner;
  if (!generic_order(x->d, stage, n, order) || !generic_annotate(x->d, stage, inner, SCHEDULE_VECTORIZE)) return false;
  if (!generic_parallel(x->d, stage, n_shared, order, c[STRIP_THREADS] ? INFINITY : 0, &strip, &n_fused)) return false;
  if (n_fused == n_shared) x->strip = strip;
  return !sums || (arrange_sums(x, stage - 1) && attach(x, sums, x->g->root, x->column));
}

/* The root first: its loops are where the others are computed. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const strip_facts *f = facts;
  strips x = {.d = d, .g = g};
  x.columns = RUNTIME_MIN(c[STRIP_VECTORS] * (f->machine.vector_bytes / f->bytes), f->columns);
  bool ok = arrange_root(&x, c);
  for (int i = 0; ok && i < g->n; i++) ok = place_member(&x, g->members[i]);
  for (int i = 0; ok && i < g->n_windows; i++) ok = place_window(&x, g->windows[i]);
  return ok;
}

static const plan_field fields[STRIP_FIELD_COUNT] = {
    [STRIP_ROWS] = {"rows", "of the last stage in a strip"},
    [STRIP_VECTORS] = {"vectors", "registers that a vector loop is long"},
    [STRIP_THREADS] = {"threads", "1: strips are shared among threads"},
};

const schedule_family schedule_family_strip = {.name = "strip",
                                               .n_fields = STRIP_FIELD_COUNT,
                                               .fields = fields,
                                               .describe = describe,
                                               .space = space,
                                               .cost = cost,
                                               .realize = realize};
