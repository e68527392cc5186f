/* family_move.c: stages that read against the grain: transposes, layout changes and what is computed on the way.
 * Tiles of two axes, the one in which the result lies and the one in which what is read lies: the lines of both are
 * used whole before they leave the first cache, and a tile of registers turns vectors. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum { MOVE_COLUMNS, MOVE_ROWS, MOVE_BLOCK_COLUMNS, MOVE_BLOCK_ROWS, MOVE_THREADS, MOVE_FIELD_COUNT };

typedef struct move_facts {
  tn_machine machine;
  generic_reads reads;
  int v, u;                /* data axes: the last, and the one that what is read against the grain lies along */
  double points, ns;       /* of one thread without that read */
  double bytes, out_bytes; /* of an element that is read, and written */
  double stride, row;      /* bytes between elements along v; between rows of the result */
} move_facts;

/* The read with a stride along the last axis, and the axis in which it lies. -1: there is none, or more than one. */
static int turned_read(const generic_reads *r, int *u) {
  int v = r->n_data - 1, found = -1;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[v] || read->block[v]) return -1;
    if (llabs(read->stride[v]) <= 1) continue;
    if (found >= 0) return -1;
    for (int a = 0; a < v; a++)
      if (read->is_known[a] && read->stride[a] == 1 && r->extent[a] > 1) found = i, *u = a;
    if (found < 0) return -1;
  }
  return found;
}

/* A group of one stage without a reduction, of which exactly one read goes against the grain. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  int stage = generic_stage(d, g->root);
  const te_op *op = d->s->stages[stage].op;
  bool fits = g->n == 0 && g->n_windows == 0 && !g->anchor && op->n_reduce == 0 && op->n_outputs == 1;
  move_facts *f = fits ? RUNTIME_NEW(d->arena, move_facts) : NULL;
  if (!f || !generic_read_all(d, stage, &f->reads) || f->reads.n_data < 2) return NULL;
  int turned = turned_read(&f->reads, &f->u);
  if (turned < 0) return NULL;
  const generic_read *read = &f->reads.reads[turned];
  f->machine = d->machine;
  f->v = f->reads.n_data - 1;
  f->ns = g->ns;
  f->points = f->row = 1;
  for (int a = 0; a < f->reads.n_data; a++) f->points *= (double)f->reads.extent[a];
  f->bytes = (double)tn_dtype_bytes(read->tensor->dtype);
  f->out_bytes = (double)tn_dtype_bytes(op->outputs[0].dtype);
  for (int a = f->u + 1; a <= f->v; a++) f->row *= (double)f->reads.extent[a];
  f->row *= f->out_bytes;
  f->stride = fabs((double)read->stride[f->v]) * f->bytes;
  return f;
}

/* Tiles of 8 to 32, and small ones for short axes. */
static void space(const void *facts, plan_space *s) {
  const move_facts *f = facts;
  for (int n = 8; n <= 32; n *= 2)
    if (n == 8 || n <= f->reads.extent[f->v]) plan_add(s, MOVE_COLUMNS, n);
  plan_add(s, MOVE_COLUMNS, 4);
  for (int n = 8; n <= 32; n *= 2)
    if (n == 8 || n <= f->reads.extent[f->u]) plan_add(s, MOVE_ROWS, n);
  plan_add(s, MOVE_ROWS, 4), plan_add(s, MOVE_ROWS, 1);
  for (int n = 1; n <= 32; n *= 2) plan_add(s, MOVE_BLOCK_COLUMNS, n), plan_add(s, MOVE_BLOCK_ROWS, n);
  plan_add(s, MOVE_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, MOVE_THREADS, 1);
}

/* Bytes of LENGTH neighbours, in whole lines. */
static double in_lines(double length, double bytes) { return ceil(length * bytes / COST_LINE) * COST_LINE; }

/* The nearest level, 1 to 3, in which the lines of N rows are together, each of BYTES and STRIDE from the next. */
static int stay(const tn_machine *m, double n, double bytes, double stride) {
  for (int level = 1; level <= 2; level++) {
    double usable = fmin(cost_reached(m, level, bytes, stride), (double)m->cache_bytes[level] / 2);
    if (n * bytes <= 0.75 * usable) return level;
  }
  return 3;
}

/* Tiles go by along the result's rows: lines that they fill in parts are written once if they stay in the second cache.
 * What does not stay in the first is fetched again for each vector, and waited for. */
static double cost(const void *facts, const int32_t *c) {
  const move_facts *f = facts;
  const tn_machine *m = &f->machine;
  double columns = fmin((double)c[MOVE_COLUMNS] * c[MOVE_BLOCK_COLUMNS], (double)f->reads.extent[f->v]);
  double rows = fmin((double)c[MOVE_ROWS] * c[MOVE_BLOCK_ROWS], (double)f->reads.extent[f->u]);
  double all = f->points * (f->bytes + f->out_bytes), line = cost_line(m, cost_level(m, all), c[MOVE_THREADS] != 0);
  int in = stay(m, columns, in_lines(rows, f->bytes), f->stride);
  int out = stay(m, rows, in_lines(columns, f->out_bytes), f->row);
  double out_lines = out <= 2 ? f->points * f->out_bytes : f->points / columns * in_lines(columns, f->out_bytes);
  double read = f->points / rows * in_lines(rows, f->bytes) / COST_LINE * line,
         written = 2 * out_lines / COST_LINE * line;
  read += f->points * 2 * cost_line(m, in, false);
  written += f->points / c[MOVE_COLUMNS] * 2 * cost_line(m, out, false);
  /* Elements are loaded one by one, but neighbours of a line at once where rows fill vectors. */
  double turning = f->points * m->costs.gather * (0.5 + 1.0 / c[MOVE_ROWS] + 2.0 / c[MOVE_COLUMNS]);
  double unrolled = (double)(c[MOVE_COLUMNS] * c[MOVE_ROWS]), spills = unrolled > 256 ? 1.5 : 1;
  double ns = cost_overlap(read + written, turning * spills) + f->points / unrolled * m->costs.chain;
  return c[MOVE_THREADS] ? cost_threads(m, ns, f->points / columns / rows) : ns;
}

/* Splits an axis into tiles, and these into blocks. *BLOCK: -1: there is one only. */
static bool split_twice(generic_draft *d, int stage, int axis, int64_t length, int64_t tiles, int *block, int *tile,
                        int *inner) {
  int64_t n = (d->s->stages[stage].axes[axis].extent + length - 1) / length;
  *block = -1;
  if (!generic_split(d, stage, axis, length, tile, inner)) return false;
  return tiles >= n || tiles == 1 || generic_split(d, stage, *tile, tiles, block, tile);
}

/* Loops: the other axes, blocks, tiles, then a tile whose rows are written out and whose columns are a
 * vector. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const move_facts *f = facts;
  int stage = generic_stage(d, g->root), order[SCHEDULE_MAX_AXES], n = 0, n_shared, loop, n_fused;
  int v_block, v_tile, v_in, u_block, u_tile, u_in;
  if (!split_twice(d, stage, f->v, c[MOVE_COLUMNS], c[MOVE_BLOCK_COLUMNS], &v_block, &v_tile, &v_in)) return false;
  if (!split_twice(d, stage, f->u, c[MOVE_ROWS], c[MOVE_BLOCK_ROWS], &u_block, &u_tile, &u_in)) return false;
  for (int a = 0; a < f->v; a++)
    if (a != f->u) order[n++] = a;
  if (u_block >= 0) order[n++] = u_block;
  if (v_block >= 0) order[n++] = v_block;
  n_shared = n;
  order[n++] = u_tile, order[n++] = v_tile, order[n++] = u_in, order[n++] = v_in;
  if (n_shared == 0) n_shared = 2;
  return generic_order(d, stage, n, order) && generic_annotate(d, stage, v_in, SCHEDULE_VECTORIZE) &&
         generic_annotate(d, stage, u_in, SCHEDULE_UNROLL) &&
         generic_parallel(d, stage, n_shared, order, c[MOVE_THREADS] ? INFINITY : 0, &loop, &n_fused);
}

static const plan_field fields[MOVE_FIELD_COUNT] = {
    [MOVE_COLUMNS] = {"columns", "of a tile of registers, along the last axis"},
    [MOVE_ROWS] = {"rows", "of a tile, along the axis in which what is read lies"},
    [MOVE_BLOCK_COLUMNS] = {"block_columns", "tiles of columns in a block"},
    [MOVE_BLOCK_ROWS] = {"block_rows", "tiles of rows in a block"},
    [MOVE_THREADS] = {"threads", "1: blocks are shared among threads"},
};

PLAN_FAMILY(move, MOVE_FIELD_COUNT);
