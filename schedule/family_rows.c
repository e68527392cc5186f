/* family_rows.c: stages with common outer loops: softmax, normalization, a row's reduction. All are computed inside
 * the loops over the axes that they share, which run in parallel; inside, each is vectorized: reductions along a row
 * through rfactor into the lanes of some vectors, which are then combined. Some rows may go together, so that one row's
 * combination does not wait for another's, and what all rows read (a normalization's weights) is loaded once. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum { LAST_LANES = 4, LAST_BYTES = 16, LOCAL_BYTES = 16 << 10 };

/* ---- a reduction in lanes ---------------------------------------------------------------------------------------- */

/* Takes a new stage of partial results into OUT and gives it its loops: VECTOR, its last data axis, is innermost. */
static bool take_part(generic_draft *p, int stage, generic_parts *out) {
  const schedule_stage *st = &p->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0, vector = st->op->n_axes - 1;
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] != vector) order[n++] = st->leaves[i];
  order[n++] = vector;
  out->tensors[out->n++] = st->tensors;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, vector, SCHEDULE_VECTORIZE) &&
         schedule_set_scope(p->s, stage, "local") == TN_OK;
}

bool generic_part_once(generic_draft *p, const tn_tensor *tensor, int axis, int64_t width, generic_parts *out) {
  int stage = generic_stage(p, tensor), at = schedule_leaf_position(&p->s->stages[stage], axis), first, second;
  int64_t extent = p->s->stages[stage].axes[axis].extent, blocks = extent / width;
  int n_data = p->s->stages[stage].op->n_axes;
  if (at < 0 || schedule_split(p->s, stage, at, 1, &width, true, TN_TAIL_GUARD) != TN_OK) return false;
  if (schedule_rfactor(p->s, stage, at + 1, n_data) != TN_OK) return false;
  const schedule_stage *part = &p->s->stages[stage];
  int outer = -1;
  for (int i = 0; i < part->n_leaves; i++)
    if (i > n_data && schedule_leaf(part, i)->extent == (extent + width - 1) / width) outer = part->leaves[i];
  if (extent % width && blocks > 1 && outer >= 0 && !generic_split(p, stage, outer, blocks, &first, &second))
    return false;
  return take_part(p, stage, out);
}

/* The reduction loop along which rows are read. -1: none. */
static int row_axis(const generic_draft *p, int stage) {
  generic_reads r;
  if (!generic_read_all(p, stage, &r) || r.n_axes == r.n_data || r.op->body->op != TIR_REDUCE) return -1;
  if (r.n_data > 0 && r.extent[r.n_data - 1] > 1 && generic_is_contiguous(&r, r.n_data - 1)) return -1;
  return generic_is_contiguous(&r, r.n_axes - 1) ? r.n_axes - 1 : -1;
}

/* Fuses reduction axes that run through every read as one; *AXIS is then the last of them. */
static bool join_reduction(generic_draft *p, int stage, int *axis) {
  generic_reads r;
  int n = 1, axes[GENERIC_MAX_AXES];
  if (!generic_read_all(p, stage, &r)) return true;
  int64_t extent = r.extent[*axis];
  int first = *axis;
  for (bool joins = true; joins && first > r.n_data;) {
    for (int i = 0; joins && i < r.n; i++)
      joins = r.reads[i].is_known[first - 1] && r.reads[i].stride[first - 1] == r.reads[i].stride[*axis] * extent;
    joins &= extent * r.extent[first - 1] < INT32_MAX;
    if (joins) extent *= r.extent[--first];
  }
  for (n = 0; first + n <= *axis; n++) axes[n] = first + n;
  return generic_fuse(p, stage, n, axes, axis);
}

/* Parts the reduction of TENSOR, whose stage is untouched, into a vector's lanes and their combination. N 0: it
 * stays whole. */
static bool part_lanes(generic_draft *p, const tn_tensor *tensor, generic_parts *out) {
  int stage = generic_stage(p, tensor), axis = row_axis(p, stage);
  int64_t lanes = generic_lanes(p, stage);
  *out = (generic_parts){0};
  if (axis < 0 || p->s->stages[stage].op->n_axes == TN_MAX_RANK) return true;
  if (!join_reduction(p, stage, &axis)) return false;
  int64_t extent = p->s->stages[stage].axes[axis].extent;
  if (extent < 2 * lanes || lanes < 2) return true;
  int64_t width = generic_vector_length(extent, lanes, (int)RUNTIME_MIN(generic_registers(p), extent / lanes / 2));
  if (width == extent) width = lanes;
  if (!generic_part_once(p, tensor, axis, width, out)) return false;
  while (width > LAST_LANES && out->n < RUNTIME_COUNT(out->tensors)) {
    int64_t next = width > lanes && width % lanes == 0 ? lanes : LAST_LANES;
    if (width % next || width == next) break;
    stage = generic_stage(p, tensor);
    if (!generic_part_once(p, tensor, p->s->stages[stage].leaves[p->s->stages[stage].n_leaves - 1], next, out))
      return false;
    width = next;
  }
  for (int i = 0, j = out->n - 1; i < j; i++, j--) { /* the last made is the first that is read */
    const tn_tensor *t = out->tensors[i];
    out->tensors[i] = out->tensors[j], out->tensors[j] = t;
  }
  stage = generic_stage(p, tensor);
  const schedule_stage *st = &p->s->stages[stage];
  return generic_annotate(p, stage, st->leaves[st->n_leaves - 1], SCHEDULE_UNROLL);
}

/* ---- members inside the common loops ----------------------------------------------------------------------------- */

/* Scratch small enough for a thread's stack goes there; a larger one stays on the heap. */
static bool make_local(generic_draft *p, const generic_group *g, const tn_tensor *tensor, bool column) {
  const int8_t *map = generic_map_of(g, tensor);
  double bytes = (double)tn_dtype_bytes(tensor->dtype) * RUNTIME_MAX(p->together, 1);
  int stage = generic_stage(p, tensor);
  for (int a = 0; a < tensor->ndim; a++) {
    bool fixed = false;
    for (int f = 0; map && f < g->root->ndim; f++)
      fixed |= g->is_common[f] && map[f] == a && (f + 1 < g->root->ndim || !column);
    if (!fixed) bytes *= (double)tensor->shape[a];
  }
  if (bytes > LOCAL_BYTES || strcmp(p->s->stages[stage].scope, "local") == 0) return true;
  return schedule_set_scope(p->s, stage, "local") == TN_OK;
}

/* The data axis that a vector of a member runs along: the one that goes along with the root's vectors, or the last. */
static bool arrange_member(generic_draft *p, const tn_tensor *tensor, int vector) {
  int stage = generic_stage(p, tensor), order[SCHEDULE_MAX_AXES], n = 0, outer = -1, inner;
  const schedule_stage *st = &p->s->stages[stage];
  generic_reads r;
  if (vector < 0) {
    if (st->op->n_reduce == 0) return generic_inner_injective(p, stage);
    if (!generic_read_all(p, stage, &r) || r.n_data == 0 || !generic_is_contiguous(&r, r.n_data - 1)) return true;
    if (!generic_split_vector(p, stage, r.n_data - 1, generic_registers(p), &outer, &inner)) return false;
    vector = inner;
  }
  st = &p->s->stages[stage];
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] != vector) order[n++] = st->leaves[i];
  order[n++] = vector;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, vector, SCHEDULE_VECTORIZE);
}

/* At the root's loop over AXIS, wherever that stands by now. */
static bool attach(generic_draft *p, const tn_tensor *tensor, const tn_tensor *root, int axis) {
  int at = generic_stage(p, root);
  return schedule_compute_at(p->s, generic_stage(p, tensor), at, schedule_leaf_position(&p->s->stages[at], axis)) ==
         TN_OK;
}

/* ---- the root's loops -------------------------------------------------------------------------------------------- */

/* Cuts the last of the N common loops into blocks of rows that go together; the last block is moved back. *ROW: a block's
 * rows, unrolled; -1: rows go one by one. */
static bool put_together(generic_draft *p, int stage, int n, int *common, int *row) {
  *row = -1;
  if (p->together <= 1) return true;
  if (n == 0 || p->s->stages[stage].axes[common[n - 1]].extent < p->together) return false;
  return generic_split_as(p, stage, common[n - 1], p->together, TN_TAIL_OVERLAP, &common[n - 1], row) &&
         generic_annotate(p, stage, *row, SCHEDULE_UNROLL);
}

/* The common loops, then the others, rows that go together outside of a reduction, vectors innermost. *LOOP: the last
 * common one; *COLUMN: the vectorized axis is common, and all members have it. */
static bool arrange_root(generic_draft *p, const generic_group *g, int *loop, bool *column) {
  int stage = generic_stage(p, g->root), n = 0, common[TN_MAX_RANK + 1], order[SCHEDULE_MAX_AXES], outer = -1,
      inner = -1, row;
  const schedule_stage *st = &p->s->stages[stage];
  int n_data = st->op->n_axes, last = n_data - 1;
  bool reduces = st->op->n_reduce > 0, in_row = last >= 0 && !g->is_common[last];
  *column = last >= 0 && g->is_common[last] && g->n > 0 && st->axes[last].extent > 1 && row_axis(p, stage) < 0;
  for (int a = 0; *column && a < g->n; a++) {
    *column = g->maps[a][last] >= 0 && row_axis(p, generic_stage(p, g->members[a])) < 0;
  }
  if ((*column || in_row) && !reduces && !generic_split_vector(p, stage, last, generic_registers(p), &outer, &inner))
    return false;
  if (*column && outer < 0 && !reduces) *column = false;
  for (int a = 0; a < n_data; a++)
    if (g->is_common[a] && (a != last || !*column)) common[n++] = a;
  if (*column && outer >= 0) common[n++] = outer;
  int n_common = n, n_fused;
  if (*column && p->together > 1) return false;
  if (!put_together(p, stage, n, common, &row)) return false;
  memcpy(order, common, sizeof *common * (size_t)n);
  if (row >= 0 && reduces) order[n++] = row;
  st = &p->s->stages[stage];
  for (int i = 0; i < st->n_leaves; i++) {
    bool is_listed = st->leaves[i] == inner || st->leaves[i] == row;
    for (int k = 0; k < n_common; k++) is_listed |= common[k] == st->leaves[i];
    if (!is_listed) order[n++] = st->leaves[i];
  }
  if (row >= 0 && !reduces) order[n++] = row;
  if (inner >= 0) order[n++] = inner;
  if (!generic_order(p, stage, n, order)) return false;
  if (inner >= 0 && !generic_annotate(p, stage, inner, SCHEDULE_VECTORIZE)) return false;
  if (!generic_parallel(p, stage, n_common, common, g->ns, loop, &n_fused)) return false;
  if (n_common > 0 && n_fused < n_common) *loop = common[n_common - 1];
  return true;
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

/* All stages of the group that are computed inside, consumers first. */
typedef struct row_list {
  int n;
  struct {
    const tn_tensor *tensor;
    bool is_part;
    int row; /* of a part: the axis that goes along with the root's last common one */
  } rows[GENERIC_MAX_STAGES * 2];
} row_list;

/* The last axis that the root shares with all members; -1: none. */
static int last_common(const generic_group *g) {
  int last = g->root->ndim - 1;
  while (last >= 0 && !g->is_common[last]) last--;
  return last;
}

/* Adds to LIST the stage of TENSOR, then those of the parts that its lanes are reduced in. The root is left out: it has
 * loops of its own. False: it has no such parts, or the list is full. */
static bool part_member(generic_draft *p, const generic_group *g, const tn_tensor *tensor, row_list *list) {
  generic_parts parts;
  if (list->n + 8 >= RUNTIME_COUNT(list->rows)) return false;
  if (!part_lanes(p, tensor, &parts)) return false;
  const int8_t *map = generic_map_of(g, tensor);
  int row = last_common(g);
  if (map && row >= 0) row = map[row];
  if (tensor != g->root) {
    list->rows[list->n].tensor = tensor;
    list->rows[list->n].row = row;
    list->rows[list->n++].is_part = parts.n > 0;
  }
  for (int i = 0; i < parts.n; i++) {
    list->rows[list->n].tensor = parts.tensors[i];
    list->rows[list->n].row = row;
    list->rows[list->n++].is_part = true;
  }
  return true;
}

/* Of a reduction in lanes: the rows that go together, axis ROW, stand next to each other inside of the loop along them. */
static bool put_rows_inside(generic_draft *p, int stage, int row) {
  const schedule_stage *st = &p->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0, last = st->leaves[st->n_leaves - 1];
  if (p->together <= 1) return true;
  for (int i = 0; i + 1 < st->n_leaves; i++)
    if (st->leaves[i] != row) order[n++] = st->leaves[i];
  order[n++] = row;
  if (last != row) order[n++] = last;
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, row, SCHEDULE_UNROLL);
}

/* False: a primitive refused, and the schedule is thrown away. */
bool generic_rows(generic_draft *p, const generic_group *g) {
  row_list list = {0};
  int loop;
  bool column;
  if (!part_member(p, g, g->root, &list)) return false;
  for (int i = 0; i < g->n; i++)
    if (!part_member(p, g, g->members[i], &list)) return false;
  if (!arrange_root(p, g, &loop, &column)) return false;
  for (int i = 0; i < list.n; i++) {
    const tn_tensor *tensor = list.rows[i].tensor;
    if (!list.rows[i].is_part) {
      const int8_t *map = generic_map_of(g, tensor);
      if (!arrange_member(p, tensor, column && map ? map[g->root->ndim - 1] : -1) || !make_local(p, g, tensor, column))
        return false;
    } else if (!put_rows_inside(p, generic_stage(p, tensor), list.rows[i].row) || !make_local(p, g, tensor, column)) {
      return false;
    }
    if (loop >= 0 && !attach(p, tensor, g->root, loop)) return false;
  }
  return true;
}

/* ---- the family -------------------------------------------------------------------------------------------------- */

enum { ROWS_VECTORS, ROWS_THREADS, ROWS_STREAM, ROWS_TOGETHER, ROWS_FIELD_COUNT };

typedef struct rows_facts {
  tn_machine machine;
  double ns, parts; /* of one thread; rows that threads can share */
  double written;   /* bytes; about as many are read */
  bool can_stream;  /* the root's vectors may go past the caches */
  int64_t rows;     /* that could go together; 0: no reduction is done in lanes */
  double row_bytes; /* of what the group has along a row */
  double sums;      /* of a row that are done in lanes */
  double steps;     /* of sums by columns: vectors that are added */
} rows_facts;

int64_t generic_rows_in_lanes(const generic_draft *d, const tn_tensor *tensor) {
  int stage = generic_stage(d, tensor), axis = row_axis(d, stage);
  return axis < 0 || d->s->stages[stage].op->n_axes == TN_MAX_RANK ||
                 d->s->stages[stage].axes[axis].extent < 2 * generic_lanes(d, stage)
             ? 0
             : d->s->stages[stage].axes[axis].extent;
}

/* Vectors that a reduction by columns adds up. 0: it is none. */
static double column_steps(const generic_draft *d, const tn_tensor *tensor) {
  generic_reads r;
  int stage = generic_stage(d, tensor);
  double points = 1;
  if (!generic_read_all(d, stage, &r) || r.n_axes == r.n_data || r.n_data == 0) return 0;
  if (row_axis(d, stage) >= 0 || !generic_is_contiguous(&r, r.n_data - 1)) return 0;
  for (int a = 0; a < r.n_axes; a++) points *= (double)r.extent[a];
  return points / (double)RUNTIME_MIN(generic_lanes(d, stage), r.extent[r.n_data - 1]);
}

/* Rows go together where a reduction along them is done in lanes. */
static void describe_rows(const generic_draft *d, const generic_group *g, rows_facts *f) {
  int64_t steps = generic_rows_in_lanes(d, g->root);
  int last = last_common(g);
  f->row_bytes = generic_bytes(g->root);
  f->sums = steps > 0;
  for (int i = 0; i < g->n; i++) {
    int64_t of_member = generic_rows_in_lanes(d, g->members[i]);
    steps = RUNTIME_MAX(steps, of_member);
    f->sums += of_member > 0;
    f->row_bytes += generic_bytes(g->members[i]);
    f->steps += column_steps(d, g->members[i]);
  }
  f->row_bytes = f->row_bytes / f->parts;
  f->rows = steps > 0 && last >= 0 ? g->root->shape[last] : 0;
}

/* A group of several stages without a tile and without windows. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  rows_facts *f = g->n > 0 && !g->anchor && g->n_windows == 0 ? RUNTIME_NEW(d->arena, rows_facts) : NULL;
  if (!f) return NULL;
  *f = (rows_facts){.machine = d->machine, .ns = g->ns, .parts = 1, .written = generic_bytes(g->root)};
  f->can_stream =
      generic_can_stream(d, generic_stage(d, g->root), generic_row(d, generic_stage(d, g->root)), 2 * f->written);
  for (int a = 0; a < g->root->ndim; a++) f->parts *= g->is_common[a] ? (double)g->root->shape[a] : 1;
  describe_rows(d, g, f);
  f->ns += generic_rows_alone(d, g->root);
  for (int i = 0; i < g->n; i++) f->ns += generic_rows_alone(d, g->members[i]);
  return f;
}

/* The usual number of registers first. */
static void space(const void *facts, plan_space *s) {
  const rows_facts *f = facts;
  for (int n = 4; n >= 1; n /= 2) plan_add(s, ROWS_VECTORS, n);
  plan_add(s, ROWS_VECTORS, 8);
  plan_add(s, ROWS_STREAM, 0);
  if (f->can_stream) plan_add(s, ROWS_STREAM, 1);
  plan_add(s, ROWS_TOGETHER, 1);
  for (int n = 2; n <= 8 && n <= f->rows; n *= 2) plan_add(s, ROWS_TOGETHER, n);
  plan_add(s, ROWS_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, ROWS_THREADS, 1);
}

/* A sum waits for the one before it: more registers, and more rows, are more sums in flight; long vectors leave a longer
 * rest. */
double generic_rows_waits(const tn_machine *m, int vectors, int together, int values) {
  double waiting = values * m->costs.chain / (vectors * together * cost_fma(m, m->vector_bytes));
  return 1 + 0.05 * waiting + 0.02 * vectors + 0.01 * (together - 1);
}

/* One addition after the other; argmax waits for each comparison and each choice, and no other row helps. */
double generic_rows_alone(const generic_draft *d, const tn_tensor *tensor) {
  generic_reads r;
  int stage = generic_stage(d, tensor);
  if (row_axis(d, stage) < 0 || generic_rows_in_lanes(d, tensor) > 0 || !generic_read_all(d, stage, &r)) return 0;
  const tn_machine_costs *c = &d->machine.costs;
  double points = 1, waits = r.op->n_outputs > 1 ? r.op->n_outputs * c->chain : 0;
  for (int a = 0; a < r.n_axes; a++) points *= (double)r.extent[a];
  return points * ((r.ops + r.combined) * cost_fma(&d->machine, 4) + waits);
}

/* Rows that go together wait side by side; what combines two sums beside that operation is computed for each. */
double generic_rows_ends(const tn_machine *m, double rows, int vectors, int together, int values, double ops) {
  double lanes = m->vector_bytes / 4.0, steps = vectors + lanes / LAST_LANES + LAST_LANES;
  return rows * steps * fmax(values * m->costs.ends / together, (ops - 1) * cost_fma(m, LAST_BYTES));
}

double generic_rows_streams(const tn_machine *m, double bytes, int together) {
  int level = cost_level(m, bytes);
  double slower = m->costs.beside / m->costs.line3 - 1;
  return together > 1 && level > 2 ? bytes / COST_LINE * cost_line(m, level, false) * slower : 0;
}

/* Rows that go together stay in the first cache between the group's stages. */
static double cost(const void *facts, const int32_t *c) {
  const rows_facts *f = facts;
  int together = c[ROWS_TOGETHER];
  if (together > 1 && together * c[ROWS_VECTORS] > f->machine.vector_registers / 2) return INFINITY;
  if (together > 1 && together * f->row_bytes > (double)f->machine.cache_bytes[1] / 2) return INFINITY;
  if (c[ROWS_THREADS] && together > 1 && f->rows % together != 0)
    return INFINITY; /* blocks that overlap are not shared */
  double ns = f->ns * generic_rows_waits(&f->machine, c[ROWS_VECTORS], together, 1);
  ns += generic_rows_ends(&f->machine, f->parts * f->sums, c[ROWS_VECTORS], together, 1, 1);
  ns += generic_rows_streams(&f->machine, 2 * f->written, together);
  double vector = fmax(f->machine.costs.load, cost_fma(&f->machine, f->machine.vector_bytes));
  ns += f->steps / c[ROWS_VECTORS] * fmax(f->machine.costs.chain - c[ROWS_VECTORS] * vector, 0);
  ns = cost_overlap(ns, cost_stream(&f->machine, f->written, f->written, c[ROWS_THREADS], c[ROWS_STREAM]));
  return c[ROWS_THREADS] ? cost_threads(&f->machine, ns, f->parts) : ns;
}

/* The generic schedule of rows does the work; whether threads share the rows is said by what the group is told to
 * cost. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  (void)facts;
  generic_draft with = *d;
  generic_group group = *g;
  with.registers = c[ROWS_VECTORS];
  with.together = c[ROWS_TOGETHER];
  group.ns = c[ROWS_THREADS] ? INFINITY : 0;
  return generic_rows(&with, &group) && (!c[ROWS_STREAM] || generic_stream(d, generic_stage(d, g->root)));
}

static const plan_field fields[ROWS_FIELD_COUNT] = {
    [ROWS_VECTORS] = {"vectors", "registers that a vector loop is long"},
    [ROWS_THREADS] = {"threads", "1: rows are shared among threads"},
    [ROWS_STREAM] = {"stream", "1: what is written goes past the caches"},
    [ROWS_TOGETHER] = {"together", "rows that are computed at a time"},
};

PLAN_FAMILY(rows, ROWS_FIELD_COUNT);
