/* family_spread.c: small products of few columns, as points by a matrix of 4 x 4 are: a vector is some rows, a lane for each column of
 * each. What a row reads is spread over its columns by shuffles, what a column reads is the same for all rows; the steps are unrolled.
 *
 *     for b.outer: Y[b.inner.i] = X[b.inner, 0]*M[0, i] + X[b.inner, 1]*M[1, i] + ...
 *
 * What is computed point by point of the results goes along with them. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum { SPREAD_ROWS, SPREAD_THREADS, SPREAD_FIELD_COUNT };
enum { MOST_STEPS = 16, MOST_VECTORS = 4 }; /* of a row of lanes: together they are written out */

/* How a read goes along the lanes, in elements. */
typedef struct spread_read {
  int64_t row, column;
  bool is_steady;  /* no loop around the lanes moves it */
  bool is_stepped; /* each step reads something else */
  bool is_narrow;  /* what comes in is widened, each vector by itself */
} spread_read;

typedef struct spread_facts {
  tn_machine machine;
  const tn_tensor *sums; /* the product; the group's root or what it is made of */
  int first;             /* the first of the axes that rows are joined of */
  int64_t columns, rows; /* rows: of the joined axes */
  int64_t lanes;         /* of a register */
  double steps, ops;     /* ops: of a step; of what is computed of a result: */
  double after;
  double outer;         /* rows of lanes that axes in front of the rows have, in parts of one */
  double read, written; /* bytes */
  int n_reads;
  const spread_read *reads;
} spread_facts;

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* The group's product: its root, or what its root is made of point by point. NULL: there is none. */
static const tn_tensor *product_of(const generic_draft *d, const generic_group *g) {
  if (g->padding || g->n_windows > 0 || g->n > 0 || g->unfold.is_some) return NULL;
  const tn_tensor *sums = g->anchor ? g->anchor : g->root;
  return d->s->stages[generic_stage(d, sums)].op->n_reduce > 0 ? sums : NULL;
}

/* False: it does not go evenly along the rows and columns, or the steps. */
static bool read_lanes(const generic_reads *r, const generic_read *read, int first, spread_read *out) {
  int last = r->n_data - 1;
  int64_t bytes = (int64_t)tn_dtype_bytes(read->tensor->dtype);
  *out = (spread_read){.is_steady = true, .is_narrow = bytes < (int64_t)tn_dtype_bytes(r->tensor->dtype)};
  for (int a = 0; a < r->n_axes; a++) {
    int64_t stride;
    if (!generic_stride(read, a, &stride) || read->block[a] || read->period[a]) return false;
    if (a < first) out->is_steady &= stride == 0;
    if (a >= r->n_data) out->is_stepped |= stride != 0;
    if (a == last - 1) out->row = stride;
    if (a == last) out->column = stride;
  }
  return out->row >= 0 && out->column >= 0;
}

/* Rows that are whole vectors do not divide those of an image: they go on in the next one, if all reads do. */
static void join_rows(generic_reads *r, int64_t rows, spread_facts *f) {
  for (; f->first > 0 && r->extent[f->first] % rows != 0 && generic_joins(r, f->first); f->first--)
    r->extent[f->first - 1] *= r->extent[f->first];
  f->rows = r->extent[f->first];
}

/* Whether N rows, which are whole vectors, are few of these. */
static bool fits(const spread_facts *f, int64_t n) { return n <= f->rows && n * f->columns / f->lanes <= MOST_VECTORS; }

static bool is_small_product(const generic_draft *d, int stage, const generic_reads *r) {
  const te_op *op = d->s->stages[stage].op;
  int64_t steps = 1, columns = r->n_data > 1 ? r->extent[r->n_data - 1] : 0;
  for (int a = r->n_data; a < r->n_axes; a++) steps *= r->extent[a];
  return op->n_outputs == 1 && op->body->op == TIR_REDUCE && !op->body->u.reduce->has_where && steps <= MOST_STEPS &&
         columns > 1 && columns < generic_lanes(d, stage) && r->n > 0 && generic_is_of_reads(d, stage) &&
         !generic_has_strides(d, stage, r);
}

/* Operations of a point, or of a step, besides loads; the sum goes along with a product. */
static double arithmetic(const generic_reads *r) { return fmax(r->ops - r->n, 1); }

static const void *describe(const generic_draft *d, const generic_group *g) {
  const tn_tensor *sums = product_of(d, g);
  generic_reads r, root;
  int stage = sums ? generic_stage(d, sums) : -1;
  if (!sums || !generic_read_all(d, stage, &r) || !is_small_product(d, stage, &r)) return NULL;
  if (!generic_read_all(d, generic_stage(d, g->root), &root)) return NULL;
  spread_facts *f = RUNTIME_NEW(d->arena, spread_facts);
  spread_read *reads = RUNTIME_NEW_ARRAY(d->arena, spread_read, r.n);
  if (!f || !reads) return NULL;
  int last = r.n_data - 1;
  *f = (spread_facts){.machine = d->machine, .sums = sums, .first = last - 1, .steps = 1, .outer = 1};
  f->columns = r.extent[last], f->rows = r.extent[last - 1], f->lanes = generic_lanes(d, stage);
  for (int a = r.n_data; a < r.n_axes; a++) f->steps *= (double)r.extent[a];
  f->ops = arithmetic(&r), f->after = sums == g->root ? 0 : arithmetic(&root);
  f->read = generic_read_bytes(&r), f->written = generic_bytes(g->root);
  if (sums == g->root) join_rows(&r, generic_rows_of_fold(f->columns, f->lanes), f);
  for (int a = 0; a < f->first; a++) f->outer *= (double)r.extent[a];
  f->n_reads = r.n, f->reads = reads;
  for (int i = 0; i < r.n; i++)
    if (!read_lanes(&r, &r.reads[i], f->first, &reads[i])) return NULL;
  return fits(f, generic_rows_of_fold(f->columns, f->lanes)) ? f : NULL;
}

static void space(const void *facts, plan_space *s) {
  const spread_facts *f = facts;
  for (int64_t n = generic_rows_of_fold(f->columns, f->lanes); fits(f, n); n *= 2) plan_add(s, SPREAD_ROWS, n);
  plan_add(s, SPREAD_THREADS, 0);
  double vectors = f->outer * (double)(f->rows * f->columns) / (double)f->lanes;
  if (generic_is_worth_threads_on(&f->machine, vectors * f->steps * f->machine.costs.load))
    plan_add(s, SPREAD_THREADS, 1);
}

/* ---- the cost ---------------------------------------------------------------------------------------------------- */

/* What a row of lanes takes of each of the units that work side by side. */
typedef struct spread_work {
  double loads, shuffles, gathers, held; /* held: registers around the loop */
} spread_work;

/* Lanes FROM to END of a row of lanes: how many registers of elements READ takes them from. */
static double registers_of(const spread_facts *f, const spread_read *read, int64_t from, int64_t end) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int64_t i = from; i < end; i++) {
    int64_t at = i / f->columns * read->row + i % f->columns * read->column;
    low = RUNTIME_MIN(low, at), high = RUNTIME_MAX(high, at);
  }
  return (double)((high - low + f->lanes) / f->lanes);
}

/* Registers that N rows of what is the same for all of them take: vectors that begin with the same column are the same. */
static double distinct(const spread_facts *f, int64_t n) {
  return fmin((double)(n * f->columns / f->lanes),
              (double)(generic_rows_of_fold(f->columns, f->lanes) * f->columns) / (double)f->lanes);
}

/* Shuffles that put lanes together out of so many registers: two are one table, more are put together by pairs, with choices between them.
 * Words that go beyond 16 bytes take a second one. Registers of 32 bytes have shuffles inside of their halves. */
static double shuffles_of(const spread_facts *f, double registers) {
  enum { IN_HALVES = 32, WORDS = 16 };
  double halves = f->machine.vector_bytes == IN_HALVES ? 2 : 1, bytes = f->machine.vector_bytes / (double)f->lanes;
  bool is_wide = bytes <= 4 && (double)f->columns * bytes > WORDS;
  return registers <= 1 ? (is_wide ? 2 : 1) : registers <= 2 ? halves : 2 * registers * halves;
}

/* Rows that do not divide a register begin anywhere in a line, and their loads touch two. */
static void add_read(const spread_facts *f, const spread_read *read, int64_t n, spread_work *w) {
  enum { MOST = 4 };
  double times = read->is_stepped ? f->steps : 1, vectors = (double)(n * f->columns) / (double)f->lanes;
  if (read->row == 0) {
    double all = times * (read->column == 0 ? 1 : distinct(f, n));
    bool is_row = read->column == 0 || f->lanes % f->columns == 0; /* which a load repeats */
    *(read->is_steady ? &w->held : &w->loads) += all;
    w->shuffles += read->is_steady || is_row ? 0 : all;
    return;
  }
  if (read->is_narrow) w->shuffles += times * vectors;
  if (read->column == 1 && read->row == f->columns) w->loads += times * vectors;
  if (read->column == 1 && read->row == f->columns) return;
  double lines = f->lanes % read->row == 0 ? 1 : 2;
  for (int64_t v = 0; v < n * f->columns; v += f->lanes) {
    double from = registers_of(f, read, v, v + f->lanes);
    if (from > MOST)
      w->gathers += times * (double)f->lanes;
    else
      w->shuffles += times * shuffles_of(f, from);
    if (from <= MOST) w->loads += from > 1 || lines > 1 ? times * from * lines : 1;
  }
}

/* Shuffles and multiply-adds share a port; what does not stay in registers is loaded again. */
static double cost(const void *facts, const int32_t *c) {
  const spread_facts *f = facts;
  const tn_machine *m = &f->machine;
  int64_t n = c[SPREAD_ROWS];
  if (!fits(f, n)) return INFINITY;
  spread_work w = {0};
  for (int i = 0; i < f->n_reads; i++) add_read(f, &f->reads[i], n, &w);
  double vectors = (double)(n * f->columns) / (double)f->lanes, fma = cost_fma(m, m->vector_bytes);
  if (w.held > m->vector_registers / 2.0) w.loads += w.held;
  double computing = vectors * (f->steps * f->ops + f->after) * fma;
  double turn = computing + w.shuffles * fma + w.gathers * m->costs.gather;
  turn = fmax(turn, (w.loads + vectors) * m->costs.load);
  double turns = f->outer * ceil((double)f->rows / (double)n);
  double ns = cost_overlap(turns * turn, cost_stream(m, f->read, f->written, c[SPREAD_THREADS], false));
  return c[SPREAD_THREADS] ? cost_threads(m, ns, fmax(turns, 1)) : ns;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* Steps stand around the vector LANE, written out. */
static bool write_out_steps(generic_draft *d, int stage, int lane) {
  const schedule_stage *st = &d->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0, steps[SCHEDULE_MAX_AXES], n_steps = 0;
  for (int i = 0; i < st->n_leaves; i++) {
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL) steps[n_steps++] = st->leaves[i];
    if (schedule_leaf(st, i)->kind == SCHEDULE_SPATIAL && st->leaves[i] != lane) order[n++] = st->leaves[i];
  }
  for (int i = 0; i < n_steps; i++) order[n++] = steps[i];
  order[n++] = lane;
  if (!generic_order(d, stage, n, order)) return false;
  for (int i = 0; i < n_steps; i++)
    if (!generic_annotate(d, stage, steps[i], SCHEDULE_UNROLL)) return false;
  return true;
}

/* ROWS and COLUMNS become one vector. */
static bool put_lanes(generic_draft *d, int stage, int rows, int columns) {
  const int pair[] = {rows, columns};
  int lane;
  return generic_fuse(d, stage, 2, pair, &lane) && write_out_steps(d, stage, lane) &&
         generic_annotate(d, stage, lane, SCHEDULE_VECTORIZE);
}

/* The last rows are in part done twice. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const spread_facts *f = facts;
  int root = generic_stage(d, g->root), last = g->root->ndim - 1, loops[TN_MAX_RANK], rows, outer, inner, loop, n_fused;
  for (int a = 0; a < last; a++) loops[a] = a;
  if (!generic_fuse(d, root, last - f->first, loops + f->first, &rows)) return false;
  if (!generic_split_as(d, root, rows, c[SPREAD_ROWS], TN_TAIL_OVERLAP, &outer, &inner)) return false;
  if (!put_lanes(d, root, inner, last)) return false;
  int n = f->first;
  if (outer >= 0) loops[n++] = outer;
  bool is_shared = n > 0;
  if (is_shared && !generic_parallel(d, root, n, loops, c[SPREAD_THREADS] ? INFINITY : 0, &loop, &n_fused))
    return false;
  if (f->sums == g->root) return true;
  if (is_shared && n_fused < n) loop = loops[n - 1];
  int stage = generic_stage(d, f->sums);
  return put_lanes(d, stage, last - 1, last) && schedule_set_scope(d->s, stage, "local") == TN_OK &&
         (!is_shared || generic_attach(d, f->sums, g->root, loop));
}

static const plan_field fields[SPREAD_FIELD_COUNT] = {
    [SPREAD_ROWS] = {"rows", "whose columns are lanes of a few registers"},
    [SPREAD_THREADS] = {"threads", "1: rows are shared among threads"},
};

PLAN_FAMILY(spread, SPREAD_FIELD_COUNT);
