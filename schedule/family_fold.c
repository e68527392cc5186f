/* family_fold.c: reductions along columns of which there are few. Rows of such columns lie one behind the other, so that some
 * of them are vectors: a lane for each column of each of these rows. The lanes of a column are added up at the end, once.
 *
 *     for k.outer: S.rf[k.inner.j] += X[k.outer*rows + k.inner.j];  S[j] = S.rf[0, j] + S.rf[1, j] + ... */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "tir/passes.h"

enum { FOLD_ROWS, FOLD_PARTS, FOLD_THREADS, FOLD_BLOCKS, FOLD_FIELD_COUNT };
enum { MOST_RAGGED = 8 }; /* rows that are no whole vectors */
enum {
  LEAST_BLOCK = 4,
  MORE_BLOCKS = 2
}; /* vectors of a block where there are several; how many more blocks than are needed */

typedef struct fold_facts {
  tn_machine machine;
  double ns;             /* of one thread */
  double outer, points;  /* iterations of data axes around the columns; of all loops */
  int64_t columns, rows; /* rows: steps of the innermost reduction loop */
  int64_t lanes;
  int n_steady;        /* reads that are the same for all rows */
  int values;          /* of a result */
  double combined;     /* operations that combine two results */
  bool can_have_parts; /* there is room for one more data axis */
  double bytes;        /* of an element of what is read along the rows; of all of that */
  double read;
} fold_facts;

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static int64_t vectors_of(const fold_facts *f, int64_t n) { return (n * f->columns + f->lanes - 1) / f->lanes; }

/* Whether N rows are a few vectors, which stay in registers with what each column reads again, and are met at least twice. */
static bool fits(const fold_facts *f, int64_t n) {
  int64_t vectors = vectors_of(f, n);
  return n >= 2 && 2 * n <= f->rows && vectors * f->values <= generic_most_columns(&f->machine) &&
         (f->n_steady == 0 || vectors * (f->values + f->n_steady) < f->machine.vector_registers);
}

/* Vectors of a block that stay in registers, with what each column reads again. */
static int64_t most_of_block(const fold_facts *f) {
  int64_t most = (f->machine.vector_registers - 1) / (f->values + f->n_steady);
  return RUNTIME_MIN(most, generic_most_columns(&f->machine) / f->values);
}

/* Vectors of a block of those of N rows, which are whole ones, all blocks but the last alike. 0: there are no such blocks, or
 * results of several values (argmax), whose positions are no ramps. */
static int64_t block_of(const fold_facts *f, int64_t n, int64_t blocks) {
  int64_t vectors = vectors_of(f, n), block = blocks > 0 ? (vectors + blocks - 1) / blocks : 0;
  if (f->values > 1 || n < 2 || 2 * n > f->rows || n * f->columns % f->lanes != 0 || block > most_of_block(f)) return 0;
  return blocks == 1 || block >= LEAST_BLOCK ? block : 0;
}

/* The least number of blocks. */
static int64_t least_blocks(const fold_facts *f, int64_t n) {
  int64_t most = RUNTIME_MAX(most_of_block(f), 1);
  return (vectors_of(f, n) + most - 1) / most;
}

/* What is read along the rows: the first of these. */
static void describe_stream(const generic_reads *r, fold_facts *f) {
  for (int i = 0; i < r->n && f->bytes == 0; i++)
    if (r->reads[i].stride[r->n_axes - 1] != 0) f->bytes = (double)tn_dtype_bytes(r->reads[i].tensor->dtype);
  f->read = generic_read_bytes(r);
}

/* One stage that is reduced by columns. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  int stage = generic_stage(d, g->root);
  const te_op *op = d->s->stages[stage].op;
  generic_reads r;
  if (g->n > 0 || g->n_windows > 0 || g->anchor || op->n_reduce == 0 || op->n_axes == 0) return NULL;
  if (op->n_axes + 2 > TN_MAX_RANK || !generic_read_all(d, stage, &r) || op->body->op != TIR_REDUCE) return NULL;
  generic_folded folded;
  bool is_folded = generic_is_folded(&r, r.n_axes - 1, r.n_data - 1, &folded) && folded.n_spread + folded.n_apart == 0;
  fold_facts *f = is_folded ? RUNTIME_NEW(d->arena, fold_facts) : NULL;
  if (!f) return NULL;
  *f = (fold_facts){.machine = d->machine,
                    .ns = fmin(g->ns, generic_column_ns(d, stage, &r)),
                    .outer = 1,
                    .points = 1,
                    .columns = r.extent[r.n_data - 1],
                    .rows = r.extent[r.n_axes - 1],
                    .lanes = generic_lanes(d, stage),
                    .n_steady = folded.n_steady,
                    .values = op->n_outputs,
                    .combined = r.combined};
  f->can_have_parts = op->n_reduce == 1;
  for (int a = 0; a < r.n_axes; a++) f->points *= (double)r.extent[a];
  for (int a = 0; a + 1 < r.n_data; a++) f->outer *= (double)r.extent[a];
  describe_stream(&r, f);
  return f->lanes > 1 && f->columns > 1 && fits(f, 2) ? f : NULL;
}

/* Rows that are whole vectors first, then others, whose last vector is a short one. Parts only where each thread gets some steps of its
 * own. */
static void space(const void *facts, plan_space *s) {
  const fold_facts *f = facts;
  int64_t whole = generic_rows_of_fold(f->columns, f->lanes);
  for (int64_t n = whole; fits(f, n); n *= 2) plan_add(s, FOLD_ROWS, (int32_t)n);
  if (2 * whole <= f->rows) plan_add(s, FOLD_ROWS, (int32_t)whole);
  plan_add(s, FOLD_BLOCKS, 0);
  for (int64_t n = whole; n <= 2 * whole; n *= 2)
    for (int64_t more = 0; more < MORE_BLOCKS; more++)
      if (block_of(f, n, least_blocks(f, n) + more) > 0) plan_add(s, FOLD_BLOCKS, least_blocks(f, n) + more);
  for (int64_t n = 2; fits(f, n) && n <= MOST_RAGGED; n++) plan_add(s, FOLD_ROWS, (int32_t)n);
  plan_add(s, FOLD_PARTS, 1);
  plan_add(s, FOLD_THREADS, 0);
  if (!generic_is_worth_threads_on(&f->machine, f->ns)) return;
  plan_add(s, FOLD_THREADS, 1);
  for (int n = 1; f->can_have_parts && n <= 4; n *= 2)
    if (f->rows / (n * f->machine.threads) >= 4 * generic_rows_of_fold(f->columns, f->lanes))
      plan_add(s, FOLD_PARTS, n * f->machine.threads);
}

/* ---- the cost ---------------------------------------------------------------------------------------------------- */

/* Vectors that a step goes through: a long one runs in chunks, each of which may leave a rest. */
static double step_vectors(const fold_facts *f, const int32_t *c) {
  if (c[FOLD_BLOCKS] > 0) return (double)vectors_of(f, c[FOLD_ROWS]);
  int64_t lanes = c[FOLD_ROWS] * f->columns, chunk = tir_chunk_lanes(lanes), rest = lanes % chunk;
  return (double)(lanes / chunk * ((chunk + f->lanes - 1) / f->lanes) + (rest + f->lanes - 1) / f->lanes);
}

/* What comes in: blocks are pieces of rows that are whole lines; chunks begin anywhere in a line. */
static double reading_ns(const fold_facts *f, const int32_t *c, double steps, double vectors) {
  const tn_machine *m = &f->machine;
  double row = (double)(c[FOLD_ROWS] * f->columns) * f->bytes;
  if (c[FOLD_BLOCKS] > 0)
    return cost_pieces(m, steps, (double)(block_of(f, c[FOLD_ROWS], c[FOLD_BLOCKS]) * f->lanes) * f->bytes, row,
                       f->read);
  double chunk = (double)tir_chunk_lanes(c[FOLD_ROWS] * f->columns) * f->bytes;
  double loads = fmax((double)f->lanes * f->bytes / m->vector_bytes, 1); /* of a vector of results */
  return cost_spanning(m, steps * vectors * loads, fmod(row, m->vector_bytes) == 0 ? chunk : row, f->read);
}

/* The vectors of a step, or of a block, wait for those of the step before; at the end of a result each row's lanes wait for the one
 * before. */
static double cost(const void *facts, const int32_t *c) {
  const fold_facts *f = facts;
  const tn_machine *m = &f->machine;
  double parts = fmax(c[FOLD_PARTS], 1), rows = fmax(c[FOLD_ROWS], 1), blocks = fmax(c[FOLD_BLOCKS], 1);
  bool is_fit = c[FOLD_BLOCKS] > 0 ? block_of(f, c[FOLD_ROWS], c[FOLD_BLOCKS]) > 0 : fits(f, c[FOLD_ROWS]);
  if ((parts > 1 && !c[FOLD_THREADS]) || !is_fit || parts * 2 * rows > (double)f->rows) return INFINITY;
  double vectors = step_vectors(f, c);
  double others = f->points / (double)(f->rows * f->columns), steps = others * ceil((double)f->rows / rows);
  double vector = f->ns / (f->points / (double)f->lanes), chain = f->values * m->costs.chain;
  double waits = steps * blocks * fmax(chain - vectors / blocks * vector, 0);
  double sums = ceil((double)f->columns / (double)f->lanes); /* of a row, which are loaded and stored again */
  double ends = f->outer * parts * rows *
                fmax(chain, sums * (f->combined * cost_fma(m, m->vector_bytes) + 3 * f->values * m->costs.load));
  double idle = fmax(steps * vectors - f->points / (double)f->lanes, 0) * vector;
  double ns = f->ns + idle + waits + ends + steps * blocks * m->costs.load; /* a step's own */
  ns += reading_ns(f, c, steps, vectors);
  return c[FOLD_THREADS] ? cost_threads(m, ns, parts > 1 ? parts : f->outer) : ns;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* The lanes of a step in blocks of BLOCK vectors, which are written out. A block goes through all steps before the next one begins. */
static bool put_blocks(generic_draft *d, int stage, int fused, int64_t block) {
  int first = -1, vector, lane = fused, order[SCHEDULE_MAX_AXES], n = 0;
  int64_t length = block * generic_lanes(d, stage);
  if (d->s->stages[stage].axes[fused].extent > length && !generic_split(d, stage, fused, length, &first, &lane))
    return false;
  if (!generic_split_lanes(d, stage, lane, &vector, &lane)) return false;
  const schedule_stage *st = &d->s->stages[stage];
  for (int i = 0; i < st->n_leaves; i++) {
    if (st->leaves[i] != first && st->leaves[i] != vector && st->leaves[i] != lane &&
        schedule_leaf(st, i)->kind == SCHEDULE_SPATIAL)
      order[n++] = st->leaves[i];
  }
  if (first >= 0) order[n++] = first;
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL) order[n++] = st->leaves[i];
  if (vector >= 0) order[n++] = vector;
  order[n++] = lane;
  return generic_order(d, stage, n, order) && generic_annotate(d, stage, lane, SCHEDULE_VECTORIZE);
}

/* Every ROWS-th step of the reduction becomes a sum of its own, the innermost data axis but one of a new stage, which is one
 * vector with the columns. A rest is a step of its own. */
static bool fold(generic_draft *d, int stage, int64_t rows, int64_t block) {
  const schedule_stage *st = &d->s->stages[stage];
  int n_data = st->op->n_axes, at = schedule_leaf_position(st, st->n_roots - 1), fused, outer = -1, first, second;
  int64_t extent = st->axes[st->n_roots - 1].extent, blocks = extent / rows;
  if (at < 0 || rows < 1 || blocks < 1) return false; /* parts may have fewer steps */
  if (schedule_split(d->s, stage, at, 1, &rows, true, TN_TAIL_GUARD) != TN_OK) return false;
  if (schedule_rfactor(d->s, stage, at + 1, n_data - 1) != TN_OK) return false;
  st = &d->s->stages[stage];
  for (int i = n_data + 1; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->extent == (extent + rows - 1) / rows) outer = st->leaves[i];
  if (extent % rows && outer >= 0 && !generic_split(d, stage, outer, blocks, &first, &second)) return false;
  const int pair[] = {n_data - 1, n_data};
  return generic_fuse(d, stage, 2, pair, &fused) &&
         (block > 0 ? put_blocks(d, stage, fused, block) : generic_put_vector_last(d, stage, fused)) &&
         schedule_set_scope(d->s, stage, "local") == TN_OK;
}

/* TENSOR's sums, folded inside of its outermost loops. NS INFINITY: threads; 0: none. */
static bool arrange(generic_draft *d, const tn_tensor *tensor, int64_t rows, int64_t block, double ns) {
  int stage = generic_stage(d, tensor), loop = -1, n_fused = 0, loops[TN_MAX_RANK], n = 0;
  if (!fold(d, stage, rows, block)) return false;
  int last = d->s->stages[++stage].op->n_axes - 1;
  for (int a = 0; a < last; a++) loops[n++] = a;
  if (!generic_put_vector_last(d, stage, last)) return false;
  if (n > 0 && !generic_parallel(d, stage, n, loops, ns, &loop, &n_fused)) return false;
  if (n > 0 && n_fused < n) loop = loops[n - 1];
  int at = loop < 0 ? -1 : schedule_leaf_position(&d->s->stages[stage], loop);
  return at < 0 || schedule_compute_at(d->s, stage - 1, stage, at) == TN_OK;
}

/* The results of parts come last and are added up without threads. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const fold_facts *f = facts;
  const tn_tensor *sums = g->root;
  int64_t block = block_of(f, c[FOLD_ROWS], c[FOLD_BLOCKS]);
  if (c[FOLD_BLOCKS] > 0 && block == 0) return false;
  if (c[FOLD_PARTS] > 1 && !generic_cut_for_threads(d, g->root, c[FOLD_PARTS], &sums)) return false;
  if (!arrange(d, sums, c[FOLD_ROWS], block, c[FOLD_THREADS] ? INFINITY : 0)) return false;
  return sums == g->root || generic_put_vector_last(d, generic_stage(d, g->root), g->root->ndim - 1);
}

static const plan_field fields[FOLD_FIELD_COUNT] = {
    [FOLD_ROWS] = {"rows", "whose columns are lanes of one vector"},
    [FOLD_PARTS] = {"parts", "into which the reduction is cut, summed up afterwards"},
    [FOLD_THREADS] = {"threads", "1: results, or parts, are shared among threads"},
    [FOLD_BLOCKS] = {"blocks",
                     "of whole vectors that a step's lanes are cut into, one after the other; 0: one long vector",
                     true},
};

PLAN_FAMILY(fold, FOLD_FIELD_COUNT);
