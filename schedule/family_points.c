/* family_points.c: stages without a reduction: vectors along the axis in which memory is contiguous, threads over
 * the outer loops (TVM: schedule_injective, schedule_broadcast). And filters over images whose colours are interleaved: their
 * taps are unrolled inside of the vectors' loop. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "tir/linear.h"
#include "tir/passes.h"

int generic_first_joined(const generic_draft *p, int stage, generic_reads *r, int least, int64_t wanted, bool even) {
  int first = r->n_data - 1;
  bool strides = generic_has_strides(p, stage, r);
  even = even && generic_is_of_reads(p, stage);
  while (!strides && first > least && (r->extent[first] < wanted || (even && r->extent[first] % wanted != 0)) &&
         generic_joins(r, first)) {
    first--;
    r->extent[first] *= r->extent[first + 1];
  }
  return first;
}

/* What loops that are fused should be a multiple of. */
static int64_t wanted_extent(const generic_draft *p, int stage) {
  return generic_registers(p) * generic_lanes(p, stage);
}

/* Fuses the last of N loops. LOOPS: axes in order; shortened. */
static bool join_rows(generic_draft *p, int stage, generic_reads *r, bool even, int *n, int *loops) {
  int first = *n == 0 ? 0 : generic_first_joined(p, stage, r, 0, wanted_extent(p, stage), even), n_joined = *n - first;
  if (n_joined <= 1) return true;
  *n = first + 1;
  return generic_fuse(p, stage, n_joined, loops + first, &loops[first]);
}

/* How long vectors are whose usual length would cut blocks and periods of GRAIN elements that reads have: as many whole ones as fit, or,
 * where one fills a register, which then is a row of its own, a whole part of one; preferably without a rest. */
static int64_t length_of_grain(int64_t grain, int64_t extent, int64_t lanes, int64_t most) {
  for (int64_t length = most; length >= lanes; length--)
    if (extent % length == 0 && (grain % length == 0 || (grain < lanes && length % grain == 0))) return length;
  return grain <= most ? (grain < lanes ? most / grain : 1) * grain : 0; /* 0: there is none */
}

static bool split_last(generic_draft *p, int stage, int64_t grain, int axis, int *outer, int *inner) {
  int64_t lanes = generic_lanes(p, stage), extent = p->s->stages[stage].axes[axis].extent;
  int64_t length = generic_vector_length(extent, lanes, generic_registers(p));
  bool is_usual = grain % length == 0 || (grain < lanes && (length == extent || length % grain == 0));
  length = is_usual ? 0 : length_of_grain(grain, extent, lanes, generic_registers(p) * lanes);
  *outer = -1, *inner = axis;
  if (length == 0) return generic_split_vector(p, stage, axis, generic_registers(p), outer, inner);
  return length == extent || generic_split(p, stage, axis, length, outer, inner);
}

/* Splits and vectorizes the last loop and puts its parts into LOOPS. GRAIN: as of generic_grain, where no loops were joined. */
static bool vectorize_last(generic_draft *p, int stage, int64_t grain, int *n, int *loops) {
  int outer, inner;
  if (*n == 0) return true;
  bool has_borders = loops[*n - 1] == *n - 1 && generic_has_borders(p, stage, *n - 1);
  if (!split_last(p, stage, grain, loops[*n - 1], &outer, &inner)) return false;
  if (outer >= 0) loops[*n - 1] = outer, (*n)++;
  loops[*n - 1] = inner;
  return (!has_borders || generic_part_borders(p, stage, outer)) &&
         generic_annotate(p, stage, inner, SCHEDULE_VECTORIZE);
}

/* A filter's taps, unrolled around the vector, which stays in registers for all of them. */
static bool unroll_taps(generic_draft *p, int stage, int n, const int *loops) {
  int order[SCHEDULE_MAX_AXES], n_order = 0, n_data = p->s->stages[stage].op->n_axes;
  int n_reduce = p->s->stages[stage].op->n_reduce;
  if (n_reduce == 0) return true;
  for (int i = 0; i + 1 < n; i++) order[n_order++] = loops[i];
  for (int a = 0; a < n_reduce; a++) order[n_order++] = n_data + a;
  order[n_order++] = loops[n - 1];
  if (!generic_order(p, stage, n_order, order)) return false;
  for (int a = 0; a < n_reduce; a++)
    if (!generic_annotate(p, stage, n_data + a, SCHEDULE_UNROLL)) return false;
  return true;
}

/* Puts the loop over vectors' blocks, the last but one, outermost. False: there is none. */
static bool put_columns_first(generic_draft *p, int stage, int n, int *loops) {
  if (n < 3 || p->s->stages[stage].op->n_reduce > 0) return false;
  int blocks = loops[n - 2];
  memmove(loops + 1, loops, sizeof *loops * (size_t)(n - 2));
  loops[0] = blocks;
  return generic_order(p, stage, n, loops);
}

/* Puts the loop over AXIS right around the vector, or around the rows of one. False: it is joined with others, or there already. */
static bool put_inside(generic_draft *p, int stage, int n, int *loops, int axis) {
  int at = 0;
  while (at < n && loops[at] != axis) at++;
  if (at + 2 >= n || p->s->stages[stage].op->n_reduce > 0) return false;
  memmove(loops + at, loops + at + 1, sizeof *loops * (size_t)(n - 2 - at));
  loops[n - 2] = axis;
  return generic_order(p, stage, n, loops);
}

/* LOOPS are the stage's loops in order, outermost first, without those of a filter's taps; those without a vector can be
 * shared among threads. EVEN: no row is to have a rest. */
static bool arrange(generic_draft *p, int stage, bool even, int *n, int *loops) {
  generic_reads r;
  *n = p->s->stages[stage].op->n_axes;
  for (int a = 0; a < *n; a++) loops[a] = a;
  if (!generic_read_all(p, stage, &r)) return true;
  int64_t grain = *n > 0 ? generic_grain(&r, *n - 1) : 0; /* such loops are not joined */
  return join_rows(p, stage, &r, even, n, loops) && vectorize_last(p, stage, grain, n, loops) &&
         unroll_taps(p, stage, *n, loops);
}

bool generic_inner_injective(generic_draft *p, int stage) {
  int n, loops[TN_MAX_RANK + 1] = {0};
  return arrange(p, stage, false, &n, loops);
}

/* Rows of few columns that are one vector: N of them. What lies in front of them from axis FIRST on is one loop with them. */
typedef struct points_fold {
  int64_t n; /* 0: none */
  int first;
  bool has_borders; /* of rows, at which the loop around vectors is parted */
} points_fold;

/* The last of ROWS rows are done twice in part where N do not divide their number, and threads have an axis in front of them to
 * share. Else what is left of them has a mask. */
static bool folds_twice(const points_fold *f, int64_t rows) { return f->first > 0 && rows % f->n != 0; }

/* LOOPS as of arrange. N_SHARED: those that threads can share. */
static bool fold(generic_draft *p, int stage, const points_fold *f, int *n_shared, int *loops) {
  int outer, inner, rows, last = p->s->stages[stage].op->n_axes - 1;
  for (int a = 0; a < last; a++) loops[a] = a;
  if (!generic_fuse(p, stage, last - f->first, loops + f->first, &rows)) return false;
  bool is_twice = folds_twice(f, p->s->stages[stage].axes[rows].extent);
  if (!generic_split_as(p, stage, rows, f->n, is_twice ? TN_TAIL_OVERLAP : TN_TAIL_PEEL, &outer, &inner)) return false;
  if (f->has_borders && !generic_part_borders(p, stage, outer)) return false;
  const int pair[] = {inner, last};
  int vector;
  loops[f->first] = outer, *n_shared = f->first + !is_twice;
  return generic_fuse(p, stage, 2, pair, &vector) && generic_annotate(p, stage, vector, SCHEDULE_VECTORIZE);
}

/* How the loops of a stage by itself go. */
typedef struct points_loops {
  int columns; /* 1: some columns of all rows at a time; 2: of all of AXIS */
  int axis;
  points_fold fold;
  bool unrolls; /* a row's vectors are written out, so that what all rows share stays in registers */
} points_loops;

/* Whether loop AT was made of a row that is cut into vectors. */
static bool is_of_vectors(const schedule_stage *st, const int *loops, int at) {
  return at >= 0 && loops[at] >= st->op->n_axes && st->axes[loops[at + 1]].annotation == SCHEDULE_VECTORIZE;
}

static bool arrange_alone(generic_draft *p, const generic_group *g, const points_loops *l) {
  int n, n_shared, loops[TN_MAX_RANK + 1] = {0}, loop, n_fused, stage = generic_stage(p, g->root);
  if (l->fold.n > 0)
    return fold(p, stage, &l->fold, &n_shared, loops) &&
           generic_parallel(p, stage, n_shared, loops, g->ns, &loop, &n_fused);
  if (!arrange(p, stage, l->columns != 1, &n, loops)) return false;
  if (l->columns == 1 && !put_columns_first(p, stage, n, loops)) return false;
  if (l->columns == 2 && !put_inside(p, stage, n, loops, l->axis)) return false;
  bool unrolls = l->unrolls && is_of_vectors(&p->s->stages[stage], loops, n - 2);
  if (unrolls && !generic_annotate(p, stage, loops[n - 2], SCHEDULE_UNROLL)) return false;
  bool ends_in_vector = n > 0 && p->s->stages[stage].axes[loops[n - 1]].annotation == SCHEDULE_VECTORIZE;
  return generic_parallel(p, stage, n - ends_in_vector - unrolls - (l->columns == 2), loops, g->ns, &loop, &n_fused);
}

bool generic_injective(generic_draft *p, const generic_group *g) { return arrange_alone(p, g, &(points_loops){0}); }

/* ---- the family -------------------------------------------------------------------------------------------------- */

enum { POINTS_VECTORS, POINTS_THREADS, POINTS_STREAM, POINTS_COLUMNS, POINTS_FOLD, POINTS_FIELD_COUNT };
enum {
  MAX_VECTORS = 8,
  MOST_SPREAD = 64, /* lanes; longer vectors are loops, and no load of theirs begins where a row does */
  LEAST_SPREAD = 4  /* rows */
};

typedef struct points_facts {
  tn_machine machine;
  double points, ns, far_ns, parts; /* ns: of one thread; of reads against the grain; parts: what threads can share */
  double read, written;             /* bytes */
  bool can_stream;                  /* vectors may go past the caches */
  double steady_ns;                 /* of what is the same for all points of a column: */
  int steady_values;                /* as many values */
  double steady_along_ns;           /* of what is the same for all points along an axis in front of the rows */
  int along;                        /* this axis; -1: there is none */
  bool is_around;                   /* it is right in front of the rows */
  double row_along, extent_along;   /* bytes of such a row; of the axis */
  double row, pieces;               /* bytes of a row, and how many rows there are, where columns may go first */
  int64_t columns, rows;            /* of rows that may be one vector; 0: they may not */
  int first;                        /* the first of the axes that they are joined of */
  bool has_borders;                 /* between rows */
  int64_t lanes;
  generic_folded folded; /* how they are read */
  int n_reads;
  int64_t bytes; /* of an element that is written */
  double idle;   /* what rests of rows take longer, in parts */
} points_facts;

/* A read whose next element lies STRIDE bytes on: its lines are used again by the next row if a row's lines stay in a
 * cache. */
static double far_ns(const tn_machine *m, double row, double stride) {
  double lines = row * COST_LINE * fmax((double)m->cache_bytes[2] / cost_reached(m, 2, COST_LINE, stride), 1);
  double line = cost_line(m, RUNTIME_MAX(cost_level(m, lines), 2), false);
  return m->costs.gather + line + (stride >= COST_PAGE && row > COST_LINE ? m->costs.page : 0);
}

/* Whether lanes of READ, whose index has axis // block, lie in a row of neighbours, some of which are taken more than once: elsewhere
 * they are taken one by one (codegen/emit_lane_table.c). */
static bool is_repeated(const generic_read *read, const tir_var *var) {
  int64_t step = 1, blocks = 0;
  for (int d = read->expr->n_args - 1; d >= 0; step *= read->tensor->shape[d--]) {
    tir_linear form;
    tir_linear_zero(&form);
    if (!tir_linear_add_expr(&form, read->expr->arg[d], 1)) return false;
    for (int i = 0; i < form.n; i++)
      if (tir_uses_var(form.terms[i].atom, var)) blocks += step * form.terms[i].coef;
  }
  return blocks == 1;
}

/* What lies between the lanes comes in, too, and comes again for another row where no other read of this one takes it. */
static double between_ns(const tn_machine *m, const generic_reads *r, const generic_read *read) {
  int v = r->n_data - 1;
  double bytes = (double)tn_dtype_bytes(read->tensor->dtype), n = 0;
  for (int i = 0; i < r->n; i++)
    n += r->reads[i].tensor == read->tensor && r->reads[i].is_known[v] && r->reads[i].stride[v] == read->stride[v];
  double again = fmax(fabs((double)read->stride[v]) / n - 1, 0);
  return again * bytes / COST_LINE * cost_line(m, cost_level(m, generic_bytes(read->tensor)), false);
}

/* Nanoseconds that an element takes more where its vector is not one of neighbours. */
static double lane_ns(const points_facts *f, const generic_reads *r, const generic_read *read) {
  int v = r->n_data - 1;
  double bytes = (double)tn_dtype_bytes(read->tensor->dtype), stride = fabs((double)read->stride[v]) * bytes;
  bool is_near = read->is_known[v] && llabs(read->stride[v]) <= COST_MOST_APART;
  int64_t grain = generic_grain(r, v), inside;
  bool is_whole = grain >= (int64_t)(f->machine.vector_bytes / bytes) && r->extent[v] % grain == 0;
  if (is_whole && generic_stride_in_grain(r, read, v, grain, &inside) && llabs(inside) <= COST_MOST_APART)
    return cost_apart(&f->machine, bytes, inside); /* vectors do not go over the borders of blocks */
  if (is_near && read->block[v] == 0)
    return cost_apart(&f->machine, bytes, read->stride[v]) + between_ns(&f->machine, r, read);
  if (is_near && read->stride[v] == 0 && is_repeated(read, &r->op->axes[v]->var))
    return cost_apart(&f->machine, bytes, -1);
  double table = cost_table(&f->machine, bytes, generic_bytes(read->tensor) / bytes);
  return fmin(table, is_near ? f->machine.costs.gather : far_ns(&f->machine, (double)r->extent[v], stride));
}

/* Rows that are one vector first. Of spread reads as many as the longest vector has room for. */
static int64_t most_rows(const points_facts *f) {
  int64_t n = LEAST_SPREAD;
  if (f->folded.n_spread == 0) return generic_rows_of_fold(f->columns, f->lanes);
  while (2 * n * f->columns <= MOST_SPREAD) n *= 2;
  return n;
}

/* R itself, or, where AXIS has borders, at which a loop over it is parted, what is read between them, in ROOM. NULL: no memory. */
static const generic_reads *between_borders(const generic_draft *d, int stage, int axis, const generic_reads *r,
                                            generic_reads *room) {
  if (!generic_has_borders(d, stage, axis)) return r;
  *room = *r;
  return generic_read_inside(d, stage, room) ? room : NULL;
}

/* Rows of few columns, one behind the other but for what is the same for all rows, or all columns. Where vectors do not divide
 * them, they go on in the next image, if all reads do. Extents of R as those of joined loops. */
static void describe_fold(const generic_draft *d, int stage, generic_reads *r, points_facts *f) {
  int last = r->n_data - 1;
  f->lanes = generic_lanes(d, stage);
  if (last < 1 || r->n_axes > r->n_data || r->extent[last] < 2 || generic_has_strides(d, stage, r)) return;
  generic_folded folded;
  generic_reads room;
  const generic_reads *inside = between_borders(d, stage, last - 1, r, &room);
  if (!inside || !generic_is_of_reads_inside(d, stage) || !generic_is_folded(inside, last - 1, last, &folded)) return;
  f->has_borders = inside != r;
  if (folded.n_steady + folded.n_spread + folded.n_apart == 0 && !f->has_borders) return;
  f->folded = folded;
  f->n_reads = r->n, f->columns = r->extent[last], f->first = last - 1;
  bool goes_on = !f->has_borders; /* in the next image */
  for (int64_t n = most_rows(f); goes_on && f->first > 0 && r->extent[f->first] % n != 0 && generic_joins(r, f->first);
       f->first--)
    r->extent[f->first - 1] *= r->extent[f->first];
  f->rows = r->extent[f->first];
}

/* Whether N rows are a few vectors, beside which what is the same for all rows stays in registers. */
static bool folds(const points_facts *f, int64_t n) {
  int64_t vectors = (n * f->columns + f->lanes - 1) / f->lanes;
  bool spreads = f->folded.n_spread == 0 || (n >= LEAST_SPREAD && n * f->columns <= MOST_SPREAD);
  return f->columns > 0 && spreads && n * f->columns <= MAX_VECTORS * f->lanes && 2 * n <= f->rows &&
         vectors * f->folded.n_steady < f->machine.vector_registers / 2;
}

/* What is done twice, as a part of all. A mask that stands once is not counted. */
static double twice(const points_facts *f, int64_t n) {
  double done = ceil((double)f->rows / (double)n) * (double)n;
  return folds_twice(&(points_fold){n, f->first, f->has_borders}, f->rows) ? done / (double)f->rows - 1 : 0;
}

/* Where some reads leave rows between: what lies there is loaded, too, and left out by a shuffle for each register more. */
static double apart_ns(const points_facts *f, int64_t n) {
  double lanes = (double)(n * f->columns), registers = ceil(lanes / (double)f->lanes),
         more = (double)f->folded.apart - 1;
  double one = f->machine.costs.load + cost_fma(&f->machine, f->machine.vector_bytes);
  return f->points / lanes * registers * f->folded.n_apart * more * one;
}

/* Where some reads are spread: a load and a shuffle for each register of theirs. The last register of a vector that does not fill
 * it is made of pieces, powers of two, in all that is read and written. A step of the loop takes about as long as one of these. */
static double spread_ns(const points_facts *f, int64_t n) {
  double lanes = (double)(n * f->columns), registers = ceil(lanes / (double)f->lanes);
  int pieces = __builtin_popcountll((uint64_t)(n * f->columns % f->lanes));
  double more = fmax(pieces - 1, 0) * (f->n_reads + 1);
  double one = f->machine.costs.load + cost_fma(&f->machine, f->machine.vector_bytes);
  return f->folded.n_spread == 0 ? 0 : f->points / lanes * (registers * f->folded.n_spread + more + 1) * one;
}

/* The axis in front of the rows, which are ROW bytes and begin with axis FIRST, along which most stays the same, if that is more than stays
 * so along all. */
static void describe_along(const generic_draft *d, int stage, int first, double row, double op_ns, points_facts *f) {
  f->along = -1, f->row_along = row;
  for (int a = 0; a < first; a++) {
    double ns = op_ns * generic_steady_ops(d, stage, a, a + 1);
    if (ns > fmax(f->steady_along_ns, f->steady_ns)) f->steady_along_ns = ns, f->along = a;
  }
  f->is_around = f->along == first - 1;
  if (f->along >= 0) f->extent_along = (double)d->s->stages[stage].op->axes[f->along]->extent;
}

/* Any stage without a reduction, so that a group that no other family takes has a plan; and interleaved filters. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  int stage = generic_stage(d, g->root);
  generic_reads r;
  bool fits = g->n == 0 && g->n_windows == 0 && !g->anchor &&
              (d->s->stages[stage].op->n_reduce == 0 || generic_is_interleaved(d, stage));
  points_facts *f = fits ? RUNTIME_NEW(d->arena, points_facts) : NULL;
  if (!f) return NULL;
  *f = (points_facts){.machine = d->machine, .ns = g->ns, .points = 1, .parts = 1};
  if (!generic_read_all(d, stage, &r) || r.n_data == 0) return f;
  f->read = generic_read_bytes(&r), f->written = generic_bytes(g->root);
  for (int a = 0; a < r.n_data; a++) f->points *= (double)r.extent[a];
  double points = f->points;
  generic_reads room;
  const generic_reads *inside = between_borders(d, stage, r.n_data - 1, &r, &room);
  if (!inside) return f;
  for (int i = 0; i < inside->n; i++) f->far_ns += points * lane_ns(f, inside, &inside->reads[i]);
  describe_fold(d, stage, &r, f);
  int64_t wanted = wanted_extent(d, stage), first = generic_first_joined(d, stage, &r, 0, wanted, true),
          row = r.extent[first];
  f->parts = points / (double)RUNTIME_MAX(RUNTIME_MIN(row, wanted), 1);
  f->can_stream = generic_can_stream(d, stage, row, f->read + f->written);
  double lanes = d->machine.vector_bytes / 4.0;
  f->bytes = (int64_t)tn_dtype_bytes(g->root->dtype);
  f->row = (double)(r.extent[r.n_data - 1] * f->bytes);
  f->pieces = points / (double)r.extent[r.n_data - 1];
  f->idle = ceil((double)row / (double)f->lanes) * (double)f->lanes / (double)row - 1;
  double op_ns = points / lanes * cost_fma(&d->machine, d->machine.vector_bytes);
  generic_steady steady = generic_steady_of(d, stage, 0, r.n_data - 1);
  f->steady_ns = op_ns * steady.ops, f->steady_values = steady.values;
  f->ns = fmax(f->ns - op_ns * steady.counted, fmin(f->ns, generic_memory_ns(d, &r)));
  describe_along(d, stage, (int)first, (double)row * (double)tn_dtype_bytes(g->root->dtype), op_ns, f);
  return f;
}

static void add_fold(plan_space *s, const points_facts *f, int64_t n) {
  if (folds(f, n)) plan_add(s, POINTS_FOLD, (int32_t)n);
}

/* The usual four registers first. */
static void space(const void *facts, plan_space *s) {
  const points_facts *f = facts;
  for (int n = 4; n >= 1; n /= 2) plan_add(s, POINTS_VECTORS, n);
  plan_add(s, POINTS_VECTORS, 8);
  plan_add(s, POINTS_STREAM, 0);
  if (f->can_stream) plan_add(s, POINTS_STREAM, 1);
  plan_add(s, POINTS_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, POINTS_THREADS, 1);
  plan_add(s, POINTS_COLUMNS, 0);
  if (f->steady_ns > 0) plan_add(s, POINTS_COLUMNS, 1);
  if (f->along >= 0) plan_add(s, POINTS_COLUMNS, 2);
  plan_add(s, POINTS_FOLD, 0);
  if (f->columns > 0 && f->folded.n_spread > 0)
    for (int64_t n = LEAST_SPREAD; n * f->columns <= MOST_SPREAD; n *= 2) add_fold(s, f, n);
  else if (f->columns > 0)
    for (int64_t n = most_rows(f); folds(f, n); n *= 2) add_fold(s, f, n);
}

/* Whether the loop over the axis along which most stays the same is around one vector without being put there. */
static bool is_inside(const points_facts *f, double width) { return f->is_around && width >= f->row_along; }

/* Elements of the vectors that rows are cut into. */
static int64_t length_of(const points_facts *f, const int32_t *c) {
  return generic_vector_length((int64_t)f->row / f->bytes, f->machine.vector_bytes / f->bytes, c[POINTS_VECTORS]);
}

/* Whether what is the same for all points of a column is done once: where vectors are not cut into chunks, and rows are written out or
 * columns stand outside. */
static bool keeps_steady(const points_facts *f, const int32_t *c) {
  int64_t row = (int64_t)f->row / f->bytes, lanes = f->machine.vector_bytes / f->bytes;
  if (length_of(f, c) > TIR_MAX_LANES) return false;
  return c[POINTS_COLUMNS] == 1 || row <= c[POINTS_VECTORS] * lanes;
}

/* What registers have no room for is loaded again. */
static double kept_ns(const points_facts *f, const int32_t *c) {
  enum { OTHERS = 4 };
  double lanes = (double)(f->machine.vector_bytes / f->bytes), row = f->row / (double)f->bytes;
  double kept = f->steady_values * fmin(ceil(row / lanes), c[POINTS_VECTORS]),
         room = f->machine.vector_registers - OTHERS;
  return kept <= room ? 0 : (1 - room / kept) * f->steady_values * f->points / lanes * f->machine.costs.load;
}

/* Of whole rows one after the other: what is the same for all of them. */
static double again_ns(const points_facts *f, const int32_t *c, double width) {
  double all = f->steady_ns == 0 ? 0 : keeps_steady(f, c) ? kept_ns(f, c) : f->steady_ns;
  double along = f->along < 0 || is_inside(f, width) ? 0 : f->steady_along_ns;
  if (c[POINTS_COLUMNS] == 2) return along / f->extent_along;
  return c[POINTS_COLUMNS] == 1 ? all + fmax(along - f->steady_ns, 0) : fmax(all, along);
}

/* The estimate of the reads, less what is done once for a column, with a hint of preference for the usual length of vectors. */
static double cost(const void *facts, const int32_t *c) {
  const points_facts *f = facts;
  double width = (double)c[POINTS_VECTORS] * f->machine.vector_bytes, ns = f->ns;
  if (c[POINTS_COLUMNS] && c[POINTS_STREAM]) return INFINITY; /* only whole rows go past the caches */
  if (c[POINTS_COLUMNS] == 2 && (f->along < 0 || is_inside(f, width))) return INFINITY;
  if (c[POINTS_FOLD] && (c[POINTS_COLUMNS] || !folds(f, c[POINTS_FOLD]))) return INFINITY;
  ns += f->far_ns + (c[POINTS_FOLD] ? spread_ns(f, c[POINTS_FOLD]) + apart_ns(f, c[POINTS_FOLD]) : ns * f->idle);
  if (c[POINTS_FOLD]) ns *= 1 + twice(f, c[POINTS_FOLD]);
  if (!c[POINTS_FOLD]) ns += again_ns(f, c, width);
  double row = c[POINTS_COLUMNS] == 2 ? f->row_along : f->row;
  double piece = c[POINTS_COLUMNS] == 1 ? (double)(length_of(f, c) * f->bytes) : width;
  if (c[POINTS_COLUMNS]) ns += cost_pieces(&f->machine, f->pieces * f->row / row, piece, row, f->read + f->written);
  ns *= 1 + 0.01 * abs(c[POINTS_VECTORS] - GENERIC_REGISTERS);
  ns = cost_overlap(ns, cost_stream(&f->machine, f->read, f->written, c[POINTS_THREADS], c[POINTS_STREAM]));
  return c[POINTS_THREADS] ? cost_threads(&f->machine, ns, fmax(f->parts, 1)) : ns;
}

/* The number of threads is decided by the plan and not by the estimate of the time. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const points_facts *f = facts;
  generic_draft with = *d;
  generic_group group = *g;
  with.registers = c[POINTS_VECTORS];
  group.ns = c[POINTS_THREADS] ? INFINITY : 0;
  points_loops loops = {c[POINTS_COLUMNS],
                        f->along,
                        {c[POINTS_FOLD], f->first, f->has_borders},
                        f->steady_ns > 0 && !c[POINTS_COLUMNS] && keeps_steady(f, c)};
  return arrange_alone(&with, &group, &loops) && (!c[POINTS_STREAM] || generic_stream(d, generic_stage(d, g->root)));
}

static const plan_field fields[POINTS_FIELD_COUNT] = {
    [POINTS_VECTORS] = {"vectors", "registers that a vector loop is long"},
    [POINTS_THREADS] = {"threads", "1: outer loops are shared among threads"},
    [POINTS_STREAM] = {"stream", "1: what is written goes past the caches"},
    [POINTS_COLUMNS] =
        {"columns",
         "some columns at a time, of 1: all rows, 2: those along one axis: what is the same for them is done once",
         true},
    [POINTS_FOLD] = {"fold", "rows of few columns that are one vector", true},
};

PLAN_FAMILY(points, POINTS_FIELD_COUNT);
