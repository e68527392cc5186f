/* family_reduce.c: a reduction that uses each element once. Along columns: accumulators in vector registers, the
 * reduction loops outside of them; or, where rows are long, some rows at a time that are added to results in a cache, so
 * that memory is read row by row. Along rows: family_rows.c. Where there are fewer results than threads, the
 * reduction is cut into a part for each (TVM: schedule_reduce, which does neither). */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "tir/passes.h"

/* ---- parts for threads ------------------------------------------------------------------------------------------- */

/* Results that can be computed at the same time. */
static int64_t independent(const generic_draft *p, int stage, bool columns) {
  const te_op *op = p->s->stages[stage].op;
  int64_t n = 1;
  for (int a = 0; a < op->n_axes; a++) {
    int64_t extent = op->axes[a]->extent, lanes = generic_lanes(p, stage) * generic_registers(p);
    n *= columns && a == op->n_axes - 1 ? (extent + lanes - 1) / lanes : extent;
  }
  return n;
}

/* Index in the stage's axis table. */
static int longest_reduction(const generic_draft *p, int stage) {
  const schedule_stage *st = &p->s->stages[stage];
  int best = st->n_spatial_roots;
  for (int a = best; a < st->n_roots; a++)
    if (st->axes[a].extent > st->axes[best].extent) best = a;
  return best;
}

bool generic_cut_for_threads(generic_draft *p, const tn_tensor *tensor, int64_t parts, const tn_tensor **partial) {
  int stage = generic_stage(p, tensor), axis = longest_reduction(p, stage);
  const schedule_stage *st = &p->s->stages[stage];
  int at = schedule_leaf_position(st, axis);
  if (schedule_split(p->s, stage, at, 1, &parts, false, TN_TAIL_GUARD) != TN_OK) return false;
  if (schedule_rfactor(p->s, stage, at, 0) != TN_OK) return false;
  *partial = p->s->stages[stage].tensors;
  return true;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* TENSOR[.., v] copies a block of accumulators, which is computed inside its loop over blocks. */
static bool columns(generic_draft *p, const tn_tensor *tensor, double ns) {
  int stage = generic_stage(p, tensor), loop, n_fused, last = tensor->ndim - 1;
  generic_columns copy;
  bool by_lanes;
  int64_t block = generic_column_block(tensor->shape[last], generic_lanes(p, stage), generic_registers(p), &by_lanes);
  if (schedule_cache_write(p->s, stage, "local") != TN_OK) return false;
  if (!generic_split_columns(p, stage + 1, last, block, by_lanes, &copy)) return false;
  if (!generic_annotate(p, stage + 1, copy.lane, SCHEDULE_VECTORIZE)) return false;
  int loops[TN_MAX_RANK + 1], n = 0;
  for (int a = 0; a < last; a++) loops[n++] = a;
  if (copy.block >= 0) loops[n++] = copy.block;
  if (!generic_parallel(p, stage + 1, n, loops, ns, &loop, &n_fused)) return false;
  if (n > 0 && n_fused < n) loop = loops[n - 1];
  if (!generic_arrange_columns(p, stage, last, by_lanes)) return false;
  int at = loop < 0 ? -1 : schedule_leaf_position(&p->s->stages[stage + 1], loop);
  return at < 0 || schedule_compute_at(p->s, stage, stage + 1, at) == TN_OK;
}

/* Some steps of the innermost reduction loop at a time, each over all columns: what they give is added up in registers,
 * then to the results. */
static bool columns_by_rows(generic_draft *p, const tn_tensor *tensor, int together, double ns) {
  int stage = generic_stage(p, tensor), last = tensor->ndim - 1, outer, inner, k, some, order[SCHEDULE_MAX_AXES], n = 0;
  const schedule_stage *st = &p->s->stages[stage];
  int step = st->leaves[st->n_leaves - 1], loop, n_fused;
  if (!generic_split(p, stage, step, together, &k, &some)) return false;
  if (!generic_split_vector(p, stage, last, generic_registers(p), &outer, &inner)) return false;
  st = &p->s->stages[stage];
  for (int a = 0; a < last; a++) order[n++] = a;
  int n_data = n;
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL && st->leaves[i] != some) order[n++] = st->leaves[i];
  if (outer >= 0) order[n++] = outer;
  order[n++] = some, order[n++] = inner;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, inner, SCHEDULE_VECTORIZE) &&
         generic_annotate(p, stage, some, SCHEDULE_UNROLL) &&
         generic_parallel(p, stage, n_data, order, ns, &loop, &n_fused);
}

/* Rows: a group of its own. Neither: threads only. */
static bool rows(generic_draft *p, const tn_tensor *tensor, int together, double ns) {
  generic_group alone = {.root = tensor, .ns = ns};
  generic_draft with = *p;
  for (int a = 0; a < tensor->ndim; a++) alone.is_common[a] = true;
  with.together = together;
  return generic_rows(&with, &alone);
}

/* argmax by value first (codegen/emit_place.c): TOGETHER rows side by side inside of the loop along them. */
static bool rows_by_value(generic_draft *p, const tn_tensor *tensor, int together, double ns) {
  int stage = generic_stage(p, tensor), last = tensor->ndim - 1, loops[TN_MAX_RANK], order[TN_MAX_RANK + 2], n = 0;
  int row = -1, step = p->s->stages[stage].n_spatial_roots, loop, n_fused;
  for (int a = 0; a <= last; a++) loops[a] = a;
  if (together > 1 && !(generic_split_as(p, stage, last, together, TN_TAIL_OVERLAP, &loops[last], &row) &&
                        generic_annotate(p, stage, row, SCHEDULE_UNROLL)))
    return false;
  for (int a = 0; a <= last; a++) order[n++] = loops[a];
  order[n++] = step;
  if (row >= 0) order[n++] = row;
  return generic_order(p, stage, n, order) && generic_parallel(p, stage, last + 1, loops, ns, &loop, &n_fused);
}

/* Whether vectors can go along the results instead of along the reduction. */
static bool is_by_columns(const generic_draft *p, int stage) {
  generic_reads r;
  if (!generic_read_all(p, stage, &r) || r.n_data == 0 || r.extent[r.n_data - 1] < 2) return false;
  return generic_is_contiguous(&r, r.n_data - 1);
}

/* NS INFINITY: threads; 0: none. */
static bool arrange(generic_draft *p, const tn_tensor *tensor, int together, double ns) {
  if (!is_by_columns(p, generic_stage(p, tensor))) return rows(p, tensor, together, ns);
  return together > 1 ? columns_by_rows(p, tensor, together, ns) : columns(p, tensor, ns);
}

/* ---- the family -------------------------------------------------------------------------------------------------- */

enum {
  REDUCE_VECTORS,
  REDUCE_PARTS,
  REDUCE_THREADS,
  REDUCE_TOGETHER,
  REDUCE_WIDE,
  REDUCE_PLACES,
  REDUCE_DOTS,
  REDUCE_FIELD_COUNT
};

enum { MOST_TOGETHER = 8 }; /* rows whose lanes are combined one by one */

/* In the draft's arena, as all facts. */
typedef struct reduce_facts {
  tn_machine machine;
  double ns;              /* of one thread */
  double wide_ns;         /* the same of wide rows */
  double results;         /* that can be computed at the same time */
  int64_t longest;        /* steps of the longest reduction loop */
  bool cuts_lanes;        /* vectors go along that loop, whose parts have lanes only if they are long enough */
  bool can_have_parts;    /* there is room for a data axis more */
  bool has_columns;       /* vectors can go along the results */
  double row, rows;       /* bytes of a row that is reduced by columns; how many there are of them */
  int64_t columns, lanes; /* of such a row; of a vector */
  double outer;           /* iterations of data axes around the columns */
  int64_t innermost;      /* steps of the innermost reduction loop */
  int64_t in_lanes;       /* rows that could go together, each reduced in lanes; 0: none */
  generic_row_sum sum;    /* of rows that are reduced in lanes */
  int values;             /* of a result: argmax has two */
  double combined;        /* operations that combine two results */
  bool is_output;         /* the results are */
  double read;            /* bytes, each once */
  double memory_ns;       /* that these take to come in */
  double shared_ns;       /* of arithmetic with what rows that go together share */
  bool has_dots;          /* rows are sums of products that can go by dot products */
  int64_t placed;         /* rows of argmax that can go by value first; 0: none */
  double placed_lanes;    /* of a vector of their values */
} reduce_facts;

/* argmax or argmin of what lies side by side, as it is, along the only reduction loop. The emitter sees by the loop how long rows are: those
 * of a symbol would be single steps. */
static bool has_places(const generic_draft *d, const generic_group *g, const generic_reads *r) {
  const tir_expr *body = r->op->body;
  const tir_tuple_combiner *tuple = body->op == TIR_REDUCE ? body->u.reduce->tuple : NULL;
  int stage = generic_stage(d, g->root), values = r->op->n_outputs - 1;
  if (d->s->program->is_of_symbol) return false;
  if (!tuple || !tuple->takes_position || r->op->n_reduce != 1 || r->op->n_axes == 0 || r->n != 1) return false;
  const tn_dtype dtype = r->reads[0].tensor->dtype;
  bool is_plain = dtype == TN_F32 || dtype == TN_F64 || (!tn_dtype_is_float(dtype) && dtype != TN_BOOL);
  return is_plain && dtype == d->s->stages[stage].tensors[values].dtype && r->ops == 1 &&
         generic_row_axis(d, stage) == r->n_data && r->extent[r->n_data] >= 8 && !body->u.reduce->has_where;
}

/* Loads, and what widens them, of what all rows along the last data axis read again. */
static double shared_ns(const generic_draft *d, const generic_reads *r) {
  double ops = 0, points = 1;
  for (int a = 0; a < r->n_axes; a++) points *= (double)r->extent[a];
  for (int i = 0; i < r->n && r->n_data > 0; i++) {
    const generic_read *read = &r->reads[i];
    bool is_narrow = tn_dtype_bytes(read->tensor->dtype) < tn_dtype_bytes(r->tensor->dtype);
    if (read->is_known[r->n_data - 1] && read->stride[r->n_data - 1] == 0) ops += is_narrow ? 2 : 1;
  }
  return points * ops / (d->machine.vector_bytes / 4.0) * cost_fma(&d->machine, d->machine.vector_bytes);
}

/* One stage with a reduction that is no tile. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  int stage = generic_stage(d, g->root);
  const te_op *op = d->s->stages[stage].op;
  reduce_facts *f =
      g->n == 0 && g->n_windows == 0 && !g->anchor && op->n_reduce > 0 ? RUNTIME_NEW(d->arena, reduce_facts) : NULL;
  if (!f) return NULL;
  *f = (reduce_facts){
      .machine = d->machine, .ns = g->ns + generic_rows_alone(d, g->root), .can_have_parts = op->n_axes < TN_MAX_RANK};
  f->has_columns = is_by_columns(d, stage);
  f->results = (double)independent(d, stage, f->has_columns);
  f->rows = f->outer = 1;
  for (int a = 0; a < op->n_reduce; a++) {
    f->cuts_lanes = !f->has_columns && op->reduce_axes[a]->extent > f->longest;
    f->longest = RUNTIME_MAX(f->longest, op->reduce_axes[a]->extent);
    f->rows *= (double)op->reduce_axes[a]->extent;
    f->innermost = op->reduce_axes[a]->extent;
  }
  for (int a = 0; a + 1 < op->n_axes; a++) f->outer *= (double)op->axes[a]->extent;
  f->rows *= f->outer;
  f->values = op->n_outputs, f->is_output = schedule_is_output(d->s, stage);
  generic_reads reads;
  f->read = generic_read_all(d, stage, &reads) ? generic_read_bytes(&reads) : 0;
  f->combined = reads.combined;
  if (f->has_columns && f->read > 0) f->ns = fmin(f->ns, generic_column_ns(d, stage, &reads));
  f->placed = f->read > 0 && has_places(d, g, &reads) ? op->axes[op->n_axes - 1]->extent : 0;
  if (f->placed > 0)
    f->placed_lanes = (double)d->machine.vector_bytes / (double)tn_dtype_bytes(reads.reads[0].tensor->dtype);
  bool in_lanes = generic_row_sum_of(d, g->root, &f->sum) && !f->has_columns && op->n_axes > 0;
  if (f->has_columns || op->n_axes == 0 || op->n_outputs > 1) f->sum.is_wide = false;
  f->wide_ns = g->ns + generic_wide_ends(&f->machine, g->root, &f->sum);
  f->has_dots = !f->has_columns && f->sum.dot;
  f->shared_ns = f->read > 0 ? shared_ns(d, &reads) : 0;
  f->memory_ns = f->read > 0 ? generic_memory_ns(d, &reads) : 0;
  f->in_lanes = in_lanes ? op->axes[op->n_axes - 1]->extent : 0;
  f->columns = f->has_columns ? op->axes[op->n_axes - 1]->extent : 0;
  f->lanes = RUNTIME_MAX(generic_lanes(d, stage), 1);
  if (f->has_columns) f->row = (double)f->columns * (double)tn_dtype_bytes(g->root->dtype);
  return f;
}

/* Parts only where each thread gets some steps of its own. */
static void space(const void *facts, plan_space *s) {
  const reduce_facts *f = facts;
  bool worth = generic_is_worth_threads_on(&f->machine, f->ns);
  for (int n = 4; n >= 1; n /= 2) plan_add(s, REDUCE_VECTORS, n);
  plan_add(s, REDUCE_VECTORS, 8);
  int64_t all = (f->columns + f->lanes - 1) / f->lanes;
  if (f->has_columns && all <= generic_most_columns(&f->machine)) plan_add(s, REDUCE_VECTORS, all);
  plan_add(s, REDUCE_PARTS, 1);
  plan_add(s, REDUCE_TOGETHER, 1);
  for (int n = 4; n <= 8 && f->has_columns; n *= 2)
    if (f->innermost >= 2 * n) plan_add(s, REDUCE_TOGETHER, n);
  for (int n = 2; n <= MOST_TOGETHER && n <= RUNTIME_MAX(f->in_lanes, f->placed); n *= 2)
    plan_add(s, REDUCE_TOGETHER, n);
  plan_add(s, REDUCE_THREADS, 0);
  plan_add(s, REDUCE_WIDE, 0);
  if (f->sum.is_wide) plan_add(s, REDUCE_WIDE, 1);
  plan_add(s, REDUCE_PLACES, 0);
  if (f->placed > 0) plan_add(s, REDUCE_PLACES, 1);
  plan_add(s, REDUCE_DOTS, 0);
  if (f->has_dots) plan_add(s, REDUCE_DOTS, 1);
  if (!worth) return;
  plan_add(s, REDUCE_THREADS, 1);
  for (int n = 1; f->can_have_parts && n <= 4; n *= 2)
    if (f->longest >= 2 * n * f->machine.threads) plan_add(s, REDUCE_PARTS, n * f->machine.threads);
}

/* A vector's time; a step of few columns has lanes that stand still. */
static double vector_ns(const reduce_facts *f) { return f->ns / (f->rows * f->row / f->machine.vector_bytes); }

static double idle_ns(const reduce_facts *f) {
  double vectors = (double)f->columns / (double)f->lanes;
  return f->rows * (ceil(vectors) - vectors) * vector_ns(f);
}

/* What a step waits for the one before it, where results of columns lie in registers: those of a block go on side by side,
 * and so do those of the rest, which are fewer. */
static double chains_ns(const reduce_facts *f, const int32_t *c) {
  const tn_machine *m = &f->machine;
  double vector = vector_ns(f), chain = f->values * m->costs.chain;
  bool by_lanes;
  int64_t length = generic_column_block(f->columns, f->lanes, c[REDUCE_VECTORS], &by_lanes), rest = f->columns % length;
  double of_block = fmax(chain - (double)length / (double)f->lanes * vector, 0);
  double of_rest = rest > 0 ? fmax(chain - ceil((double)rest / (double)f->lanes) * vector, 0) : 0;
  return f->rows * ((double)(f->columns / length) * of_block + of_rest);
}

/* Results of columns lie in registers while memory is read a part of a row at a time, and nobody guesses where the next
 * part lies; or they are read and written for some rows at a time. */
static double columns_ns(const reduce_facts *f, const int32_t *c) {
  const tn_machine *m = &f->machine;
  double vectors = f->rows * f->row / m->vector_bytes;
  double width = f->read / f->rows; /* of what a row reads, whose elements may be wider than the results' */
  double spans = cost_spanning(m, f->rows * ceil(width / m->vector_bytes), width, f->read);
  if (c[REDUCE_TOGETHER] == 1) {
    bool by_lanes;
    int64_t block = generic_column_block(f->columns, f->lanes, c[REDUCE_VECTORS], &by_lanes);
    double piece = f->row * (double)block / (double)f->columns;
    if (f->values * block / f->lanes > RUNTIME_MAX(generic_most_columns(m), f->values)) return INFINITY;
    return chains_ns(f, c) + cost_pieces(m, f->rows, piece, f->row, f->read) + spans;
  }
  /* A vector in chunks is loaded and stored at each step. */
  double shared = c[REDUCE_VECTORS] * f->lanes > TIR_MAX_LANES ? 1 : c[REDUCE_TOGETHER];
  double line = cost_line(m, cost_level(m, f->row), false), in_flight = ceil((double)f->columns / (double)f->lanes);
  double waits = f->rows * fmax(f->values * m->costs.chain - in_flight * vector_ns(f), 0);
  return vectors / shared * f->values * (2 * m->costs.load + 2 * line) + waits + spans;
}

/* A row is gone through twice: the greatest, then the first place that has it, whose comparisons become bits of a word. Rows that go
 * together fold their lanes together. A longer row is searched until the place is found: half of it, and nobody guesses where that ends. *BEHIND: of rows
 * that no first cache keeps for that, during which nothing else comes in. */
static double places_ns(const reduce_facts *f, int together, double *behind) {
  const tn_machine *m = &f->machine;
  double op = cost_fma(m, m->vector_bytes), width = (double)f->longest;
  double lanes = fmin(fmin(f->placed_lanes, 64), width);
  double vectors = ceil(width / lanes), is_long = width > 64, bytes = f->read / f->results;
  double greatest = fmax(vectors * fmax(m->costs.load, op), is_long ? 0 : m->costs.chain / together);
  double fold = (3 * (together - 1) + 2 * log2(lanes / together)) / together * op;
  double place = vectors * (fmax(m->costs.load, op) + op) * (is_long ? 0.5 : 1) + (is_long ? 4 * m->costs.chain : 0);
  double again = bytes / 2 / COST_LINE * cost_line(m, cost_level(m, 2 * together * bytes), false);
  *behind = again > 0 && is_long ? f->results * (place + again) : 0;
  return f->results * (greatest + fold + place + 2 * m->costs.chain) - (*behind > 0 ? f->results * place : 0);
}

static double places_cost(const reduce_facts *f, const int32_t *c) {
  const tn_machine *m = &f->machine;
  int together = c[REDUCE_TOGETHER];
  if (f->placed == 0 || c[REDUCE_PARTS] > 1 || c[REDUCE_WIDE] || c[REDUCE_VECTORS] != 4) return INFINITY;
  if (together > f->placed) return INFINITY;
  double written = f->results * 8, behind, ns = places_ns(f, together, &behind);
  ns += generic_rows_streams(m, f->read, together);
  ns = cost_overlap(ns, cost_stream(m, f->read, written, c[REDUCE_THREADS], false)) + behind;
  if (!c[REDUCE_THREADS]) return ns;
  return together > 1 ? generic_shared_ns(m, ns, f->outer, f->placed, together, f->is_output)
                      : cost_threads(m, ns, f->results);
}

/* Rows by dot products, as many vectors as divide one. */
static double dots_cost(const reduce_facts *f, const int32_t *c) {
  const tn_machine *m = &f->machine;
  int vectors = c[REDUCE_VECTORS], together = c[REDUCE_TOGETHER];
  if (!f->has_dots || c[REDUCE_PARTS] > 1 || c[REDUCE_WIDE] || c[REDUCE_PLACES]) return INFINITY;
  if (generic_dot_vectors(&f->sum, vectors) != vectors) return INFINITY;
  if (together > 1 && (together > f->in_lanes || together * vectors > m->vector_registers / 2)) return INFINITY;
  double ns = fmax(generic_dots_ns(m, &f->sum, vectors, together), f->memory_ns);
  ns += generic_rows_streams(m, f->read, together);
  ns += generic_rows_ends(m, f->results, vectors, together, 1, f->combined);
  if (!c[REDUCE_THREADS]) return ns;
  if (together == 1) return cost_threads(m, ns, f->results);
  return generic_shared_ns(m, ns, f->results / (double)f->in_lanes, f->in_lanes, together, f->is_output);
}

static double cost(const void *facts, const int32_t *c) {
  static const double KEEPS_PACE = 2; /* arithmetic is counted one operation after the other */
  const reduce_facts *f = facts;
  if (c[REDUCE_DOTS]) return dots_cost(f, c);
  if (c[REDUCE_PLACES]) return places_cost(f, c);
  if (c[REDUCE_WIDE])
    return f->sum.is_wide && !c[REDUCE_THREADS] && c[REDUCE_PARTS] == 1 && c[REDUCE_TOGETHER] == 1 ? f->wide_ns
                                                                                                   : INFINITY;
  int rows = f->has_columns ? 1 : c[REDUCE_TOGETHER];
  if (rows > 1 && rows > f->in_lanes) return INFINITY;
  if (rows > 1 && rows * c[REDUCE_VECTORS] * f->values > f->machine.vector_registers / 2) return INFINITY;
  /* One row of one value that keeps pace with memory: this guesses best what follows in one row. */
  bool keeps_pace = f->ns <= KEEPS_PACE * f->memory_ns;
  if (rows > 1 && f->values == 1 && cost_level(&f->machine, f->read) > 2 && keeps_pace) return INFINITY;
  double waits = f->has_columns ? 1 : generic_rows_waits(&f->machine, f->lanes, c[REDUCE_VECTORS], rows, f->values);
  double ns = fmax(f->ns - f->shared_ns * (1 - 1.0 / rows), fmin(f->memory_ns, f->ns)) *
              (waits + (c[REDUCE_PARTS] > 1 ? 0.05 : 0));
  if (f->in_lanes > 0) ns += generic_row_sum_waits(&f->machine, &f->sum, c[REDUCE_VECTORS], rows);
  if (f->in_lanes > 0)
    ns += generic_rows_ends(&f->machine, f->results, c[REDUCE_VECTORS], rows, f->values, f->combined);
  ns += generic_rows_streams(&f->machine, f->read, rows);
  if (c[REDUCE_PARTS] > 1 && !c[REDUCE_THREADS]) return INFINITY;
  if (c[REDUCE_PARTS] > 1 && f->cuts_lanes && f->longest < 2 * f->lanes * c[REDUCE_PARTS]) return INFINITY;
  if (f->has_columns && c[REDUCE_TOGETHER] > 1 && c[REDUCE_THREADS] && c[REDUCE_PARTS] == 1 &&
      f->outer < f->machine.threads)
    return INFINITY;
  if (f->has_columns) ns += columns_ns(f, c) + idle_ns(f);
  if (!c[REDUCE_THREADS]) return ns;
  if (rows > 1 && c[REDUCE_PARTS] == 1)
    return generic_shared_ns(&f->machine, ns, f->results / (double)f->in_lanes, f->in_lanes, rows, f->is_output);
  return cost_threads(&f->machine, ns, c[REDUCE_PARTS] > 1 ? c[REDUCE_PARTS] : f->results);
}

/* The partial results are arranged like the results, which come last and without threads. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const reduce_facts *f = facts;
  const tn_tensor *partial = NULL, *wide;
  generic_draft with = *d;
  double ns = c[REDUCE_THREADS] ? INFINITY : 0;
  with.registers = c[REDUCE_VECTORS];
  if (c[REDUCE_PLACES])
    return c[REDUCE_PARTS] == 1 && c[REDUCE_TOGETHER] <= f->placed &&
           rows_by_value(&with, g->root, c[REDUCE_TOGETHER], ns);
  with.by_dots = c[REDUCE_DOTS] != 0;
  if (with.by_dots && c[REDUCE_PARTS] > 1) return false;
  if (c[REDUCE_PARTS] > 1 && !generic_cut_for_threads(&with, g->root, c[REDUCE_PARTS], &partial)) return false;
  if (c[REDUCE_WIDE] && !generic_part_wide(&with, g->root, &f->sum, &wide)) return false;
  int together = c[REDUCE_TOGETHER];
  if (!partial) return arrange(&with, g->root, together, ns);
  return arrange(&with, partial, together, ns) && arrange(&with, g->root, 1, 0);
}

static const plan_field fields[REDUCE_FIELD_COUNT] = {
    [REDUCE_VECTORS] = {"vectors", "registers that a vector loop is long"},
    [REDUCE_PARTS] = {"parts", "into which the longest reduction is cut, summed up afterwards"},
    [REDUCE_THREADS] = {"threads", "1: results, or parts, are shared among threads"},
    [REDUCE_TOGETHER] = {"together", "rows that are reduced at a time; of columns: 1: results stay in registers"},
    [REDUCE_WIDE] = {"wide", "1: elements of rows that lie one behind the other are summed up first", true},
    [REDUCE_PLACES] = {"places", "1: argmax takes the greatest of a row, then its first place", true},
    [REDUCE_DOTS] = {"dots", "1: products of narrow numbers are summed up by dot products", true},
};

PLAN_FAMILY(reduce, REDUCE_FIELD_COUNT);
