/* family_short.c: reductions along rows that are too short for lanes of their own: as many rows as a vector has lanes go
 * together, a lane each. What is read along rows is turned into a local buffer whose last dimension is the rows, all stages
 * of the group are computed for these rows there, and what comes out is turned back. A row's steps are written out, so that
 * codegen/emit_turn.c turns blocks by shuffles.
 *
 *     for i.outer: X'[k, i.inner] = X[i, k];  M[i.inner] = max(M[i.inner], X'[k, i.inner]);  ...;  Y[i, j] = Y'[j, i.inner] */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum { SHORT_VECTORS, SHORT_THREADS, SHORT_FIELD_COUNT };
/* Steps of a row in a stage, and where each chooses between several values: their lanes are dear to combine. */
enum { MAX_STEPS = 64, MAX_CHOSEN = 128, MAX_TURNED = 8, BLOCK_BYTES = 16, NONE = -1 };
enum { MAX_WOVEN = 256 }; /* lanes of a vector that tables are made for (codegen/emit_lane_table.c) */

typedef struct short_facts {
  tn_machine machine;
  int lane;              /* the root's axis whose rows go together: the last common one that is longer than 1 */
  int columns;           /* the root's last axis where it is not common; NONE: each row gives one point */
  int64_t rows, lanes;   /* how many there are; of a vector */
  double ns, parts;      /* of one thread, from memory if that is longer; rows in all */
  double inside;         /* of operations on what was turned */
  double turned, picked; /* elements that are turned by shuffles; that are taken one by one */
  bool is_output;        /* the root is one */
  double waits;          /* steps of a row's reductions, which wait for each other */
  int n;
  const tn_tensor *inputs[MAX_TURNED]; /* that are read along rows */
} short_facts;

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* The axis of TENSOR's stage that goes along with the root's axis LANE. NONE: it has none. */
static int lane_of(const generic_group *g, const tn_tensor *tensor, int lane) {
  const int8_t *map = tensor == g->root ? NULL : generic_map_of(g, tensor);
  return tensor == g->root ? lane : map ? map[lane] : NONE;
}

static bool is_of_group(const generic_group *g, const tn_tensor *tensor) {
  return tensor == g->root || generic_map_of(g, tensor) != NULL;
}

static bool has(const short_facts *f, const tn_tensor *tensor) {
  for (int i = 0; i < f->n; i++)
    if (f->inputs[i] == tensor) return true;
  return false;
}

/* Elements that go from rows to lanes or back: blocks of neighbours are turned, the rest of a row is picked. */
static void count_turned(short_facts *f, const tn_tensor *tensor) {
  int64_t block = RUNTIME_MAX(BLOCK_BYTES / (int64_t)tn_dtype_bytes(tensor->dtype), 1);
  int64_t row = tensor->shape[tensor->ndim - 1], whole = row <= block ? row : row / block * block;
  double elements = generic_bytes(tensor) / (double)tn_dtype_bytes(tensor->dtype);
  f->turned += elements * (double)whole / (double)row;
  f->picked += elements * (double)(row - whole) / (double)row;
}

/* What a stage reads goes along with the lanes, or does not depend on them, or is an input that can be turned. */
static bool take_reads(const generic_group *g, const generic_reads *r, int lane, short_facts *f) {
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (is_of_group(g, read->tensor)) continue;
    if (!read->is_known[lane]) return false;
    if (llabs(read->stride[lane]) <= 1) continue;
    if (read->dim[lane] < 0 || read->stride[lane] < 0) return false;
    if (has(f, read->tensor)) continue;
    if (f->n == MAX_TURNED) return false;
    f->inputs[f->n++] = read->tensor;
    count_turned(f, read->tensor);
  }
  return true;
}

/* Operations on what is in registers: reads of what is turned count there. */
static double inside_ns(const generic_draft *d, const generic_group *g, const generic_reads *r, int64_t lanes) {
  double points = 1, ops = r->ops + r->taken;
  for (int a = 0; a < r->n_axes; a++) points *= (double)r->extent[a];
  for (int i = 0; i < r->n; i++) ops -= !is_of_group(g, r->reads[i].tensor);
  return points / (double)lanes * fmax(ops, 1) * cost_fma(&d->machine, d->machine.vector_bytes);
}

/* Adds what one stage says. *IS_SHORT: it has a reduction along rows that has no lanes of its own, or one of several values
 * (argmax), whose lanes are dear to combine. */
static bool take_stage(const generic_draft *d, const generic_group *g, const tn_tensor *tensor, short_facts *f,
                       bool *is_short) {
  int stage = generic_stage(d, tensor), lane = lane_of(g, tensor, f->lane);
  generic_reads r;
  if (lane < 0 || !generic_read_all(d, stage, &r)) return false;
  double steps = 1, sums = 1;
  for (int a = 0; a < r.n_axes; a++) {
    bool is_common = false;
    for (int c = 0; a < r.n_data && c < g->root->ndim; c++) is_common |= g->is_common[c] && lane_of(g, tensor, c) == a;
    if (!is_common) steps *= (double)r.extent[a];
    if (a >= r.n_data) sums *= (double)r.extent[a];
  }
  if (r.n_axes > r.n_data) {
    *is_short |= r.op->n_outputs > 1 || generic_rows_in_lanes(d, tensor) == 0 ||
                 r.extent[r.n_axes - 1] < 2 * generic_lanes(d, stage);
    f->waits += sums * r.op->n_outputs;
  }
  f->inside += inside_ns(d, g, &r, generic_lanes(d, stage));
  return steps <= (r.op->n_outputs > 1 ? MAX_CHOSEN : MAX_STEPS) && take_reads(g, &r, lane, f);
}

/* Groups with a reduction along rows. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  bool is_short = false;
  short_facts *f = !g->anchor && g->n_windows == 0 && !g->is_chain ? RUNTIME_NEW(d->arena, short_facts) : NULL;
  if (!f) return NULL;
  *f = (short_facts){.machine = d->machine, .lane = g->root->ndim - 1, .parts = 1, .ns = g->ns};
  f->is_output = schedule_is_output(d->s, generic_stage(d, g->root));
  f->columns = f->lane >= 0 && !g->is_common[f->lane] ? f->lane : NONE;
  while (f->lane >= 0 && (!g->is_common[f->lane] || g->root->shape[f->lane] == 1)) f->lane--;
  if (f->lane < 0) return NULL;
  f->rows = g->root->shape[f->lane], f->lanes = generic_widest_lanes(d, generic_stage(d, g->root));
  for (int a = 0; a < g->root->ndim; a++) f->parts *= g->is_common[a] ? (double)g->root->shape[a] : 1;
  if (f->lanes < 2 || f->rows < f->lanes) return NULL;
  if (!take_stage(d, g, g->root, f, &is_short)) return NULL;
  for (int i = 0; i < g->n; i++)
    if (!take_stage(d, g, g->members[i], f, &is_short)) return NULL;
  if (!is_short || f->n == 0) return NULL;
  if (f->columns >= 0) count_turned(f, g->root);
  return f;
}

static void space(const void *facts, plan_space *s) {
  const short_facts *f = facts;
  for (int n = 1; n <= 2 && n * f->lanes <= f->rows; n++) plan_add(s, SHORT_VECTORS, n);
  plan_add(s, SHORT_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, SHORT_THREADS, 1);
}

/* ---- the cost ---------------------------------------------------------------------------------------------------- */

/* 16 bytes are loaded at once, which puts them into their place of a vector as well, and turned by as many shuffles as a block has
 * halvings. Where whole vectors are loaded, halvings of their blocks take about as long. */
static double turning_ns(const short_facts *f) {
  const tn_machine *m = &f->machine;
  double lanes = (double)f->lanes, block = fmax(BLOCK_BYTES * lanes / m->vector_bytes, 1);
  double of_block = m->costs.load / block + log2(block) / lanes * cost_fma(m, m->vector_bytes);
  return f->turned * of_block + f->picked * m->costs.gather;
}

/* The steps of a block's sums wait for each other; two vectors are two sums. */
static double cost(const void *facts, const int32_t *c) {
  const short_facts *f = facts;
  const tn_machine *m = &f->machine;
  double rows = (double)f->lanes * c[SHORT_VECTORS], blocks = f->parts / (double)f->rows * ceil((double)f->rows / rows);
  double waits = blocks * (f->waits + 1) * m->costs.chain;
  double ns = cost_overlap(fmax(f->ns, f->inside + turning_ns(f)), waits);
  return c[SHORT_THREADS] ? generic_shared_ns(m, ns, f->parts / (double)f->rows, f->rows, (int64_t)rows, f->is_output)
                          : ns;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* A stage inside of the loop over blocks: LANE innermost, as a vector; what a row has of its own is written out. OUTER: bits of the axes
 * that loops around the blocks go over. */
static bool arrange(generic_draft *d, int stage, int lane, uint32_t outer) {
  bool ok = generic_put_vector_last(d, stage, lane);
  const schedule_stage *st = &d->s->stages[stage];
  for (int i = 0; ok && i + 1 < st->n_leaves; i++) {
    bool is_outer = st->leaves[i] < 32 && (outer >> st->leaves[i] & 1) != 0;
    ok = is_outer || schedule_leaf(st, i)->extent > MAX_CHOSEN || schedule_leaf(st, i)->extent == 1 ||
         generic_annotate(d, stage, st->leaves[i], SCHEDULE_UNROLL);
  }
  return ok && generic_store_last(d, stage, lane);
}

/* Bits of the axes of TENSOR's stage that go along with common axes of the root other than LANE's. */
static uint32_t outer_axes(const generic_group *g, const tn_tensor *tensor, int lane) {
  uint32_t bits = 0;
  for (int c = 0; c < lane; c++) {
    int axis = g->is_common[c] ? lane_of(g, tensor, c) : NONE;
    if (axis >= 0) bits |= UINT32_C(1) << axis;
  }
  return bits;
}

static bool is_inside(const generic_group *g, const tn_tensor *sums, const tn_tensor *tensor) {
  return tensor == sums || (tensor != g->root && generic_map_of(g, tensor) != NULL);
}

/* The group's stages that read stage FROM, and those that are inlined into such stages alone. False: one is inlined into
 * others, too. */
static bool find_readers(generic_draft *d, const generic_group *g, const tn_tensor *sums, int from, int *n,
                         int *readers) {
  int all[SCHEDULE_MAX_STAGES], behind[SCHEDULE_MAX_STAGES];
  int n_all = schedule_consumers(d->s, from, false, RUNTIME_COUNT(all), all);
  if (n_all > RUNTIME_COUNT(all)) return false;
  *n = 0;
  for (int i = 0; i < n_all; i++) {
    const schedule_stage *st = &d->s->stages[all[i]];
    bool inside = is_inside(g, sums, st->tensors);
    int n_behind =
        st->attach == SCHEDULE_INLINED ? schedule_consumers(d->s, all[i], true, RUNTIME_COUNT(behind), behind) : 0;
    for (int k = 0, n_in = 0; k < n_behind && k < RUNTIME_COUNT(behind); k++) {
      n_in += is_inside(g, sums, d->s->stages[behind[k]].tensors);
      if (n_in > 0 && n_in <= k) return false;
      inside = n_in > 0;
    }
    if (inside) readers[(*n)++] = all[i];
  }
  return *n > 0;
}

/* The dimension of TENSOR that the lanes go along in some read of the group; all reads agree, or the last one is turned in
 * vain. *OUTER: bits of those that it has of outer axes. */
static int lane_dim(const generic_draft *d, const generic_group *g, const tn_tensor *sums, int lane,
                    const tn_tensor *tensor, uint32_t *outer) {
  generic_reads r;
  *outer = 0;
  for (int m = -1; m < g->n; m++) {
    const tn_tensor *reader = m < 0 ? sums : g->members[m];
    if (!generic_read_all(d, generic_stage(d, reader), &r)) continue;
    int axis = m < 0 ? lane : lane_of(g, reader, lane);
    for (int i = 0; i < r.n; i++) {
      if (r.reads[i].tensor != tensor || r.reads[i].stride[axis] <= 1) continue;
      for (int k = 0; k < tensor->ndim; k++) {
        int of = r.reads[i].plain[k];
        for (int c = 0; c < lane && of >= 0; c++)
          if (g->is_common[c] && (m < 0 ? c : lane_of(g, reader, c)) == of) *outer |= UINT32_C(1) << k;
      }
      return r.reads[i].dim[axis];
    }
  }
  return NONE;
}

static bool turn_input(generic_draft *d, const generic_group *g, const tn_tensor *sums, int lane,
                       const tn_tensor *tensor, const tn_tensor **copy) {
  uint32_t outer;
  int from = generic_stage(d, tensor), n, readers[SCHEDULE_MAX_STAGES],
      dim = lane_dim(d, g, sums, lane, tensor, &outer);
  if (dim < 0 || !find_readers(d, g, sums, from, &n, readers)) return false;
  if (schedule_cache_read(d->s, from, "local", n, readers) != TN_OK) return false;
  *copy = d->s->stages[from + 1].tensors;
  return arrange(d, from + 1, dim, outer);
}

/* Rows of few columns, one behind the other: all of a block are written as one vector. */
static bool is_woven(const generic_group *g, const short_facts *f, int64_t rows) {
  int64_t columns = f->columns > 0 ? g->root->shape[f->columns] : 0;
  return f->columns == g->root->ndim - 1 && f->lane == f->columns - 1 && 2 * columns <= f->lanes &&
         rows * columns <= MAX_WOVEN;
}

/* Blocks of rows; the root copies what was computed. *LOOP: the innermost one over blocks. */
static bool arrange_root(generic_draft *d, const generic_group *g, const short_facts *f, const int32_t *c, int *loop) {
  int stage = generic_stage(d, g->root), order[SCHEDULE_MAX_AXES], n = 0, outer, inner, n_fused;
  int columns = NONE, column = NONE;
  int64_t rows = f->lanes * c[SHORT_VECTORS];
  if (!generic_split_as(d, stage, f->lane, rows, TN_TAIL_OVERLAP, &outer, &inner)) return false;
  if (f->columns >= 0 && !generic_split_vector(d, stage, f->columns, 1, &columns, &column)) return false;
  for (int a = 0; a < g->root->ndim; a++)
    if (g->is_common[a] && a != f->lane) order[n++] = a;
  order[n++] = outer;
  int n_shared = n;
  for (int a = 0; a < g->root->ndim; a++)
    if (!g->is_common[a] && a != f->columns) order[n++] = a;
  if (columns >= 0) order[n++] = columns;
  order[n++] = inner;
  if (column >= 0) order[n++] = column;
  const int pair[] = {inner, column};
  bool weaves = is_woven(g, f, rows);
  int vector = order[n - 1];
  if (!generic_order(d, stage, n, order) || (weaves && !generic_fuse(d, stage, 2, pair, &vector))) return false;
  if (!generic_annotate(d, stage, vector, SCHEDULE_VECTORIZE)) return false;
  if (column >= 0 && !weaves && !generic_annotate(d, stage, inner, SCHEDULE_UNROLL)) return false;
  if (!generic_parallel(d, stage, n_shared, order, c[SHORT_THREADS] ? INFINITY : 0, loop, &n_fused)) return false;
  if (n_fused < n_shared) *loop = outer;
  return true;
}

static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const short_facts *f = facts;
  int loop, stage = generic_stage(d, g->root);
  if (schedule_cache_write(d->s, stage, "local") != TN_OK) return false;
  const tn_tensor *sums = d->s->stages[stage].tensors, *copies[MAX_TURNED];
  for (int i = 0; i < f->n; i++)
    if (!turn_input(d, g, sums, f->lane, f->inputs[i], &copies[i])) return false;
  bool ok = arrange_root(d, g, f, c, &loop) &&
            arrange(d, generic_stage(d, sums), f->lane, outer_axes(g, g->root, f->lane)) &&
            generic_attach(d, sums, g->root, loop);
  for (int i = 0; ok && i < g->n; i++) {
    stage = generic_stage(d, g->members[i]);
    ok = arrange(d, stage, lane_of(g, g->members[i], f->lane), outer_axes(g, g->members[i], f->lane)) &&
         schedule_set_scope(d->s, stage, "local") == TN_OK && generic_attach(d, g->members[i], g->root, loop);
  }
  for (int i = 0; ok && i < f->n; i++) ok = generic_attach(d, copies[i], g->root, loop);
  return ok;
}

static const plan_field fields[SHORT_FIELD_COUNT] = {
    [SHORT_VECTORS] = {"vectors", "of rows that go together, a lane each"},
    [SHORT_THREADS] = {"threads", "1: rows are shared among threads"},
};

PLAN_FAMILY(short, SHORT_FIELD_COUNT);
