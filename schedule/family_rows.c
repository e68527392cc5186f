/* family_rows.c: stages with common outer loops: softmax, normalization, a row's reduction. All are computed inside
 * the loops over the axes that they share, which run in parallel; inside, each is vectorized: reductions along a row
 * through rfactor into the lanes of some vectors, which are then combined. Some rows may go together, so that one row's
 * combination does not wait for another's, and what all rows read (a normalization's weights) is loaded once. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum { LOCAL_BYTES = 16 << 10 };

/* ---- members inside the common loops ----------------------------------------------------------------------------- */

/* Scratch small enough for a thread's stack goes there; a larger one stays on the heap. COLUMNS: how many of the root's last axis, if it is
 * common, are computed at a time. */
static bool make_local(generic_draft *p, const generic_group *g, const tn_tensor *tensor, int64_t columns) {
  const int8_t *map = generic_map_of(g, tensor);
  double bytes = (double)tn_dtype_bytes(tensor->dtype) * RUNTIME_MAX(p->together, 1);
  int stage = generic_stage(p, tensor);
  for (int a = 0; a < tensor->ndim; a++) {
    int64_t extent = tensor->shape[a];
    for (int f = 0; map && f < g->root->ndim; f++)
      if (g->is_common[f] && map[f] == a) extent = f + 1 < g->root->ndim ? 1 : RUNTIME_MIN(columns, extent);
    bytes *= (double)extent;
  }
  if (bytes > LOCAL_BYTES || strcmp(p->s->stages[stage].scope, "local") == 0) return true;
  return schedule_set_scope(p->s, stage, "local") == TN_OK;
}

/* A vector of a member runs along the last axis. */
static bool arrange_member(generic_draft *p, const tn_tensor *tensor) {
  int stage = generic_stage(p, tensor), outer = -1, inner;
  generic_reads r;
  if (p->s->stages[stage].op->n_reduce == 0) return generic_inner_injective(p, stage);
  if (!generic_read_all(p, stage, &r) || r.n_data == 0 || !generic_is_contiguous(&r, r.n_data - 1)) return true;
  return generic_split_vector(p, stage, r.n_data - 1, generic_registers(p), &outer, &inner) &&
         generic_put_vector_last(p, stage, inner);
}

/* ---- the root's loops -------------------------------------------------------------------------------------------- */

/* Cuts the last of the N common loops into blocks of rows that go together; the last block is moved back. *ROW: a block's
 * rows; -1: they go one by one. */
static bool put_together(generic_draft *p, int stage, int n, int *common, int *row) {
  *row = -1;
  if (p->together <= 1) return true;
  if (n == 0 || p->s->stages[stage].axes[common[n - 1]].extent < p->together) return false;
  return generic_split_as(p, stage, common[n - 1], p->together, TN_TAIL_OVERLAP, &common[n - 1], row);
}

/* Fuses the last of the root's axes, none of which is common, where rows leave a rest and every read goes on from row to row. *LAST:
 * the last one then. */
static bool join_columns(generic_draft *p, const generic_group *g, int stage, int *last) {
  int least = *last, axes[TN_MAX_RANK], n = 0;
  int64_t wanted = generic_registers(p) * generic_lanes(p, stage);
  generic_reads r;
  while (least > 0 && !g->is_common[least - 1]) least--;
  if (!generic_read_all(p, stage, &r)) return true;
  int first = generic_first_joined(p, stage, &r, least, wanted, true);
  for (int a = first; a <= *last; a++) axes[n++] = a;
  return generic_fuse(p, stage, n, axes, last);
}

bool generic_is_by_columns(const generic_draft *p, const generic_group *g) {
  int stage = generic_stage(p, g->root), last = g->root->ndim - 1;
  bool is_common = last >= 0 && g->is_common[last] && g->n > 0 && p->s->stages[stage].axes[last].extent > 1;
  if (!is_common || generic_row_axis(p, stage) >= 0) return false;
  for (int a = 0; a < g->n; a++)
    if (g->maps[a][last] < 0 || generic_row_axis(p, generic_stage(p, g->members[a])) >= 0) return false;
  return true;
}

/* The root's loops. A loop that there is not is -1. */
typedef struct root_loops {
  int n_common, common[TN_MAX_RANK + 1]; /* outermost */
  int row;                               /* rows that go together, inside a reduction and outside of other loops */
  bool ends;                             /* they are a vector of sums */
  int first;                             /* blocks of columns that go outside of the rows that are not common */
  generic_columns columns;               /* the vectors */
  bool has_vectors;
} root_loops;

/* Cuts the axis that members have by blocks, if it is common, and puts the loop over blocks in place of it among the common ones of L. */
static bool cut_blocks(generic_draft *p, const generic_group *g, int stage, root_loops *l) {
  int outer, inner;
  if (g->block == 0 || !g->is_common[g->blocked]) return true;
  if (!generic_split(p, stage, g->blocked, g->block, &outer, &inner)) return false;
  for (int i = 0; i < l->n_common; i++)
    if (l->common[i] == g->blocked) l->common[i] = outer;
  return true;
}

static bool is_listed(const root_loops *l, int leaf) {
  bool is =
      leaf == l->row || leaf == l->first || (l->has_vectors && (leaf == l->columns.vector || leaf == l->columns.lane));
  for (int k = 0; k < l->n_common; k++) is |= l->common[k] == leaf;
  return is;
}

/* The common loops, then the others, rows that go together outside of a reduction, vectors innermost. */
static bool order_root(generic_draft *p, int stage, const root_loops *l) {
  const schedule_stage *st = &p->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0;
  for (int i = 0; i < l->n_common; i++) order[n++] = l->common[i];
  if (l->first >= 0) order[n++] = l->first;
  if (l->row >= 0 && st->op->n_reduce > 0 && !l->ends) order[n++] = l->row;
  for (int i = 0; i < st->n_leaves; i++)
    if (!is_listed(l, st->leaves[i])) order[n++] = st->leaves[i];
  if (l->row >= 0 && (st->op->n_reduce == 0 || l->ends)) order[n++] = l->row;
  if (l->has_vectors && l->columns.vector >= 0) order[n++] = l->columns.vector;
  if (l->has_vectors) order[n++] = l->columns.lane;
  return generic_order(p, stage, n, order) &&
         (l->row < 0 || generic_annotate(p, stage, l->row, l->ends ? SCHEDULE_VECTORIZE : SCHEDULE_UNROLL)) &&
         (!l->has_vectors || generic_annotate(p, stage, l->columns.lane, SCHEDULE_VECTORIZE));
}

/* Blocks of a common axis that vectors go along. */
typedef struct column_blocks {
  int64_t length;
  bool by_lanes;
} column_blocks;

/* *LOOP: the last common one. BLOCKS NULL: vectors go along none of these. ENDS: rows that go together are a vector of sums. */
static bool arrange_root(generic_draft *p, const generic_group *g, const column_blocks *blocks, bool ends, int *loop) {
  int stage = generic_stage(p, g->root), n_fused, last = g->root->ndim - 1;
  const te_op *op = p->s->stages[stage].op;
  bool in_row = last >= 0 && !g->is_common[last] && op->n_reduce == 0, by_columns = blocks != NULL;
  root_loops l = {.ends = ends, .row = -1, .first = -1, .has_vectors = by_columns || in_row, .columns = {-1, -1, last}};
  if (by_columns &&
      (p->together > 1 || !generic_split_columns(p, stage, last, blocks->length, blocks->by_lanes, &l.columns)))
    return false;
  if (in_row && !p->columns_first && !join_columns(p, g, stage, &last)) return false;
  if (in_row && !generic_split_vector(p, stage, last, generic_registers(p), &l.columns.block, &l.columns.lane))
    return false;
  if (p->columns_first) l.first = l.columns.block;
  if (p->columns_first && (by_columns || l.first < 0)) return false;
  for (int a = 0; a < op->n_axes; a++)
    if (g->is_common[a] && (a != last || !by_columns)) l.common[l.n_common++] = a;
  if (by_columns && l.columns.block >= 0) l.common[l.n_common++] = l.columns.block;
  if (!cut_blocks(p, g, stage, &l)) return false;
  if (!put_together(p, stage, l.n_common, l.common, &l.row) || !order_root(p, stage, &l)) return false;
  if (!generic_parallel(p, stage, l.n_common, l.common, g->ns, loop, &n_fused)) return false;
  if (l.n_common > 0 && n_fused < l.n_common) *loop = l.common[l.n_common - 1];
  return true;
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

/* All stages of the group that are computed inside, consumers first. */
typedef struct row_list {
  int n;
  struct {
    const tn_tensor *tensor;
    bool is_part;
    int row;        /* of a part: the axis that goes along with the root's last common one */
    int64_t folded; /* as of generic_parts */
    bool ends;      /* adds up what is folded: its rows are a vector */
  } rows[GENERIC_MAX_STAGES * 2];
  bool root_ends; /* so does the root */
} row_list;

/* The last axis that the root shares with all members; -1: none. */
static int last_common(const generic_group *g) {
  int last = g->root->ndim - 1;
  while (last >= 0 && !g->is_common[last]) last--;
  return last;
}

/* Whether the last axis of TENSOR's stage is one of the common loops. */
static bool is_last_common(const generic_group *g, const tn_tensor *tensor) {
  const int8_t *map = tensor == g->root ? NULL : generic_map_of(g, tensor);
  bool is = false;
  for (int f = 0; f < g->root->ndim; f++) is |= g->is_common[f] && (map ? map[f] : f) == tensor->ndim - 1;
  return is;
}

/* Adds to LIST the stage of TENSOR, then those of the parts that its lanes are reduced in. The root is left out: it has
 * loops of its own. False: it has no such parts, or the list is full. */
static bool part_member(generic_draft *p, const generic_group *g, const tn_tensor *tensor, row_list *list) {
  generic_parts parts;
  if (list->n + 8 >= RUNTIME_COUNT(list->rows)) return false;
  const int8_t *map = generic_map_of(g, tensor);
  int row = last_common(g);
  if (map && row >= 0) row = map[row];
  bool folds = p->together > 1 && row == tensor->ndim - 1;
  if (!generic_part_lanes(p, tensor, !is_last_common(g, tensor), folds, &parts)) return false;
  bool ends = parts.n > 0 && parts.folded[0] > 0;
  if (tensor == g->root) list->root_ends = ends;
  if (tensor != g->root) {
    list->rows[list->n].tensor = tensor;
    list->rows[list->n].row = row;
    list->rows[list->n].ends = ends;
    list->rows[list->n++].is_part = parts.n > 0;
  }
  for (int i = 0; i < parts.n; i++) {
    list->rows[list->n].tensor = parts.tensors[i];
    list->rows[list->n].row = row;
    list->rows[list->n].folded = parts.folded[i];
    list->rows[list->n++].is_part = true;
  }
  return true;
}

/* Of a reduction in lanes: the rows that go together, axis ROW, stand next to each other inside of the loop along them. */
static bool put_rows_inside(generic_draft *p, int stage, int row) {
  const schedule_stage *st = &p->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0, inner = RUNTIME_MIN(st->n_leaves - 1, schedule_tensor_position(st));
  if (p->together <= 1) return true;
  for (int i = 0; i < inner; i++)
    if (st->leaves[i] != row) order[n++] = st->leaves[i];
  order[n++] = row;
  for (int i = inner; i < st->n_leaves; i++)
    if (st->leaves[i] != row) order[n++] = st->leaves[i];
  return generic_order(p, stage, n, order) && generic_annotate(p, stage, row, SCHEDULE_UNROLL);
}

/* A stage of LIST, by what it is. */
static bool put_loops(generic_draft *p, const row_list *list, int i) {
  const tn_tensor *tensor = list->rows[i].tensor;
  int stage = generic_stage(p, tensor);
  if (list->rows[i].folded > 0) return generic_put_folded(p, stage, list->rows[i].folded);
  if (list->rows[i].ends) return generic_put_vector_last(p, stage, list->rows[i].row);
  return list->rows[i].is_part ? put_rows_inside(p, stage, list->rows[i].row) : arrange_member(p, tensor);
}

/* Of a root that is reduced by columns, the sums become a member, which the root copies. GROUP: a copy of the root's. */
static bool make_sums_member(generic_draft *p, generic_group *g) {
  int stage = generic_stage(p, g->root);
  if (p->s->stages[stage].op->n_reduce == 0) return true;
  if (g->n == GENERIC_MAX_STAGES || schedule_cache_write(p->s, stage, "local") != TN_OK) return false;
  memmove(g->members + 1, g->members, sizeof *g->members * (size_t)g->n);
  memmove(g->maps + 1, g->maps, sizeof *g->maps * (size_t)g->n);
  g->members[0] = p->s->stages[stage].tensors;
  for (int a = 0; a < TN_MAX_RANK; a++) g->maps[0][a] = (int8_t)(a < g->root->ndim ? a : -1);
  g->n++;
  return true;
}

/* Stages whose last common axis is that of vectors. */
static bool by_columns(generic_draft *p, const generic_group *given) {
  generic_group g = *given;
  int loop, last = g.root->ndim - 1;
  column_blocks blocks;
  if (!make_sums_member(p, &g)) return false;
  int64_t lanes = generic_lanes(p, generic_stage(p, g.root));
  blocks.length = generic_column_block(g.root->shape[last], lanes, generic_registers(p), &blocks.by_lanes);
  if (!arrange_root(p, &g, &blocks, false, &loop)) return false;
  for (int i = 0; i < g.n; i++) {
    const tn_tensor *tensor = g.members[i];
    if (!generic_arrange_columns(p, generic_stage(p, tensor), g.maps[i][last], blocks.by_lanes)) return false;
    if (!make_local(p, &g, tensor, blocks.length) || (loop >= 0 && !generic_attach(p, tensor, g.root, loop)))
      return false;
  }
  return true;
}

static bool is_of_group(const generic_group *g, const tn_tensor *tensor) {
  return tensor == g->root || generic_map_of(g, tensor) != NULL;
}

/* What is read row by row: of no stage of the group, at least half as large as what is written. NULL: nothing is. */
static const tn_tensor *row_input(const generic_draft *d, const generic_group *g) {
  const tn_tensor *input = NULL;
  for (int i = -1; i < g->n; i++) {
    const tn_tensor *tensor = i < 0 ? g->root : g->members[i];
    const int8_t *map = i < 0 ? NULL : g->maps[i];
    int row = last_common(g);
    generic_reads r;
    if (row < 0 || !generic_read_all(d, generic_stage(d, tensor), &r)) continue;
    row = map ? map[row] : row;
    for (int k = 0; row >= 0 && k < r.n; k++) {
      const tn_tensor *read = r.reads[k].tensor;
      bool goes_along = !is_of_group(g, read) && r.reads[k].is_known[row] && r.reads[k].stride[row] != 0;
      if (goes_along && generic_bytes(read) >= generic_bytes(input ? input : g->root) / (input ? 1 : 2)) input = read;
    }
  }
  return input;
}

/* Arithmetic of TENSOR's stage, if it reads INPUT; else negative. */
static double reading_ns(const generic_draft *d, const tn_tensor *tensor, const tn_tensor *input) {
  generic_reads r;
  int stage = generic_stage(d, tensor);
  double points = 1;
  bool reads = false;
  if (!input || !generic_read_all(d, stage, &r)) return -1;
  for (int k = 0; k < r.n; k++) reads |= r.reads[k].tensor == input;
  for (int a = 0; a < r.n_axes; a++) points *= (double)r.extent[a];
  double vectors = points / (double)generic_lanes(d, stage);
  return reads ? vectors * generic_moving_ops(d, stage, &r) * cost_fma(&d->machine, d->machine.vector_bytes) : -1;
}

/* Where the stage that computes most with what is read row by row goes along a row, what the next rows have there is asked for. */
static bool ask_ahead(generic_draft *p, const generic_group *g, const row_list *list, int loop) {
  const tn_tensor *input = row_input(p, g), *by = g->root;
  double most = reading_ns(p, by, input);
  for (int i = 0; i < list->n; i++) {
    double ns = reading_ns(p, list->rows[i].tensor, input);
    if (ns > most) most = ns, by = list->rows[i].tensor;
  }
  int stage = generic_stage(p, by), root = generic_stage(p, g->root), iter = -1;
  const schedule_stage *st = &p->s->stages[stage];
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *leaf = schedule_leaf(st, i);
    if (leaf->annotation == SCHEDULE_NONE && leaf->extent > 1 && st->leaves[i] != loop) iter = i;
  }
  return most > 0 && loop >= 0 &&
         generic_prefetch(p, stage, iter, input, 1, root, schedule_leaf_position(&p->s->stages[root], loop));
}

/* False: a primitive refused, and the schedule is thrown away. */
bool generic_rows(generic_draft *p, const generic_group *g) {
  row_list list = {0};
  int loop;
  if (generic_is_by_columns(p, g)) return by_columns(p, g);
  if (!part_member(p, g, g->root, &list)) return false;
  for (int i = 0; i < g->n; i++)
    if (!part_member(p, g, g->members[i], &list)) return false;
  if (!arrange_root(p, g, NULL, list.root_ends, &loop)) return false;
  for (int i = 0; i < list.n; i++) {
    const tn_tensor *tensor = list.rows[i].tensor;
    if (!put_loops(p, &list, i) || !make_local(p, g, tensor, 1) ||
        (loop >= 0 && !generic_attach(p, tensor, g->root, loop)))
      return false;
  }
  return !p->asks_ahead || ask_ahead(p, g, &list, loop);
}

/* ---- the family -------------------------------------------------------------------------------------------------- */

enum {
  ROWS_VECTORS,
  ROWS_THREADS,
  ROWS_STREAM,
  ROWS_TOGETHER,
  ROWS_COLUMNS,
  ROWS_AHEAD,
  ROWS_BLOCKS,
  ROWS_DOTS,
  ROWS_FIELD_COUNT
};

/* Of a stage of columns. */
typedef struct column_stage {
  double ns;     /* of its operations */
  double rows;   /* points for each column */
  double read;   /* bytes that are no results of the group */
  double inside; /* bytes of the group\'s results, read and written, but for those of one row */
  int values;    /* of a sum; 0: it is none */
} column_stage;

typedef struct rows_facts rows_facts;
struct rows_facts {
  tn_machine machine;
  double ns, parts;  /* of one thread; rows that threads can share */
  double apart_ns;   /* of rows that are too short for lanes, element by element; where they are summed as wide rows: */
  double wide_ns;    /* ... of the ends of these */
  double written;    /* bytes; about as many are read */
  bool is_output;    /* the root is one */
  int64_t in_vector; /* its elements */
  bool can_stream;   /* the root's vectors may go past the caches */
  int64_t rows;      /* that could go together; 0: no reduction is done in lanes */
  double row_bytes;  /* of what the group has along a row */
  double steady_ns;  /* of what is the same for all of the root's points of a column that are computed together */
  double width;      /* bytes of the root's last axis, where its columns may go first */
  double ahead_ns;   /* of the stage that computes most with what is read row by row; 0: there is none */
  int n_sums;        /* of a row that are done in lanes */
  generic_row_sum sums[GENERIC_MAX_STAGES + 1];
  bool has_dots;          /* some can go by dot products */
  double plain_ns;        /* of those that can, without them */
  double dot_memory_ns;   /* that what these read takes to come in */
  double row;             /* bytes of the root's row of columns */
  int64_t columns, lanes; /* 0: vectors go along rows; of the root, whose last axis is that of vectors */
  int n_stages;
  column_stage stages[GENERIC_MAX_STAGES + 1]; /* of columns, the root first */
  double steps;                                /* of sums by columns: vectors that are added */
  bool has_common;                             /* an axis that needs no blocks */
  const rows_facts *in_blocks;                 /* of the group with an axis by blocks; NULL: there is none */
};

static bool describe_sum(const generic_draft *d, const generic_group *g, const tn_tensor *tensor,
                         generic_row_sum *out) {
  bool in_lanes = generic_row_sum_of(d, tensor, out);
  out->is_wide &= !is_last_common(g, tensor);
  return in_lanes;
}

/* What changes where sums go by dot products. SUM: TENSOR's. */
static void describe_dots(const generic_draft *d, const tn_tensor *tensor, const generic_row_sum *sum, rows_facts *f) {
  generic_reads r;
  if (!sum->dot || !generic_read_all(d, generic_stage(d, tensor), &r)) return;
  f->has_dots = true;
  f->plain_ns += generic_cost_ns(d, &r), f->dot_memory_ns += generic_memory_ns(d, &r);
}

/* Vectors that a reduction by columns adds up. 0: it is none. */
static double column_steps(const generic_draft *d, const tn_tensor *tensor) {
  generic_reads r;
  int stage = generic_stage(d, tensor);
  double points = 1;
  if (!generic_read_all(d, stage, &r) || r.n_axes == r.n_data || r.n_data == 0) return 0;
  if (generic_row_axis(d, stage) >= 0 || !generic_is_contiguous(&r, r.n_data - 1)) return 0;
  for (int a = 0; a < r.n_axes; a++) points *= (double)r.extent[a];
  return points / (double)RUNTIME_MIN(generic_lanes(d, stage), r.extent[r.n_data - 1]);
}

/* Rows go together where a reduction along them is done in lanes. */
static void describe_rows(const generic_draft *d, const generic_group *g, rows_facts *f) {
  int last = last_common(g);
  f->row_bytes = generic_bytes(g->root);
  f->n_sums = describe_sum(d, g, g->root, &f->sums[0]);
  if (f->n_sums > 0) describe_dots(d, g->root, &f->sums[0], f);
  for (int i = 0; i < g->n; i++) {
    int at = f->n_sums;
    f->n_sums += describe_sum(d, g, g->members[i], &f->sums[at]);
    if (f->n_sums > at) describe_dots(d, g->members[i], &f->sums[at], f);
    f->row_bytes += generic_bytes(g->members[i]);
    f->steps += column_steps(d, g->members[i]);
  }
  f->row_bytes = f->row_bytes / f->parts;
  f->rows = f->n_sums > 0 && last >= 0 ? generic_common_extent(g, last) : 0;
}

/* What STAGE, COLUMN its axis of vectors, takes by itself. */
static void describe_column(const generic_draft *d, const generic_group *g, const tn_tensor *tensor, rows_facts *f) {
  column_stage *c = &f->stages[f->n_stages];
  generic_reads r;
  int stage = generic_stage(d, tensor);
  if (!generic_read_all(d, stage, &r)) return;
  double points = 1;
  for (int a = 0; a < r.n_axes; a++) points *= (double)r.extent[a];
  *c = (column_stage){.rows = points / (double)f->columns, .values = r.n_axes > r.n_data ? r.op->n_outputs : 0};
  int own = 0;
  while (tensor == g->root && own < g->root->ndim && g->is_common[own]) own++;
  double ops = fmax(
      generic_step_ops(d, stage, &r) - (tensor == g->root ? generic_steady_of(d, stage, own, r.n_data - 1).counted : 0),
      1);
  c->ns = points / (double)f->lanes * (ops + r.taken) * cost_fma(&d->machine, d->machine.vector_bytes);
  for (int i = 0; i < r.n; i++)
    if (!is_of_group(g, r.reads[i].tensor))
      c->read = fmax(c->read, generic_bytes(r.reads[i].tensor));
    else if (generic_bytes(r.reads[i].tensor) > f->row)
      c->inside = generic_bytes(r.reads[i].tensor);
  if (tensor != g->root && generic_bytes(tensor) > f->row) c->inside += generic_bytes(tensor);
  f->n_stages++;
}

static void describe_columns(const generic_draft *d, const generic_group *g, rows_facts *f) {
  if (!generic_is_by_columns(d, g)) return;
  f->columns = g->root->shape[g->root->ndim - 1], f->lanes = generic_lanes(d, generic_stage(d, g->root));
  f->row = (double)f->columns * (double)tn_dtype_bytes(g->root->dtype);
  describe_column(d, g, g->root, f);
  for (int i = 0; i < g->n; i++) describe_column(d, g, g->members[i], f);
}

/* What the root does again and again for each column inside of the common loops. */
static void describe_steady(const generic_draft *d, const generic_group *g, rows_facts *f) {
  int last = g->root->ndim - 1, stage = generic_stage(d, g->root);
  double points = generic_bytes(g->root) / (double)tn_dtype_bytes(g->root->dtype);
  if (f->columns > 0 || last < 1 || g->is_common[last]) return;
  double ops = generic_steady_ops(d, stage, last_common(g) + 1, g->root->ndim - 1),
         lanes = d->machine.vector_bytes / 4.0;
  f->steady_ns = points * ops / lanes * cost_fma(&d->machine, d->machine.vector_bytes);
  f->width = (double)g->root->shape[last] * (double)tn_dtype_bytes(g->root->dtype);
}

/* What waits element by element, unless it is a part of wide rows. */
static void describe_alone(const generic_draft *d, const generic_group *g, const tn_tensor *tensor, rows_facts *f) {
  generic_row_sum sum;
  double alone = generic_rows_alone(d, tensor);
  (void)generic_row_sum_of(d, tensor, &sum);
  bool is_wide = sum.is_wide && !is_last_common(g, tensor);
  f->ns += is_wide ? 0 : alone;
  f->apart_ns += is_wide ? alone : 0;
  f->wide_ns += is_wide ? generic_wide_ends(&f->machine, tensor, &sum) : 0;
}

/* All stages' operations that change along rows; what they read, the first of them from where all of it has room, the others from where
 * what an iteration of the common loops reads has. */
static double nearer_ns(const generic_draft *d, const generic_group *g, double parts) {
  const tn_machine *m = &d->machine;
  double ns = 0;
  for (int i = -1; i < g->n; i++) {
    int stage = generic_stage(d, i < 0 ? g->root : g->members[i]);
    generic_reads r;
    double points = 1;
    if (!generic_read_all(d, stage, &r)) continue;
    for (int a = 0; a < r.n_axes; a++) points *= (double)r.extent[a];
    double vectors = points / (double)generic_lanes(d, stage), bytes = generic_read_bytes(&r);
    double compute = vectors * fmax(generic_moving_ops(d, stage, &r), 1) * cost_fma(m, m->vector_bytes);
    int level = cost_level(m, i + 1 == g->n ? bytes : bytes / parts);
    ns += cost_overlap(compute, bytes / COST_LINE * cost_line(m, level, false));
  }
  return ns;
}

/* Arithmetic of the stage that asks for the next rows; 0: there is none, or rows have several axes: what one of their vectors reads is a box
 * of whole lines of these, and to ask for it takes longer than to wait. */
static double asked_ns(const generic_draft *d, const generic_group *g) {
  const tn_tensor *input = row_input(d, g);
  double most = 0;
  for (int i = -1; i < g->n; i++) {
    const tn_tensor *tensor = i < 0 ? g->root : g->members[i];
    double ns = reading_ns(d, tensor, input);
    generic_reads r;
    int along = 0;
    if (ns < 0 || !generic_read_all(d, generic_stage(d, tensor), &r)) continue;
    for (int a = r.n_axes > r.n_data ? r.n_data : last_common(g) + 1; a < r.n_axes; a++) along += r.extent[a] > 1;
    if (along > 1) return 0;
    most = fmax(most, ns);
  }
  return most;
}

static const rows_facts *describe_group(const generic_draft *d, const generic_group *g) {
  rows_facts *f = RUNTIME_NEW(d->arena, rows_facts);
  if (!f) return NULL;
  *f = (rows_facts){.machine = d->machine, .ns = g->ns, .parts = 1, .written = generic_bytes(g->root)};
  f->can_stream =
      generic_can_stream(d, generic_stage(d, g->root), generic_row(d, generic_stage(d, g->root)), 2 * f->written);
  for (int a = 0; a < g->root->ndim; a++) f->parts *= g->is_common[a] ? (double)generic_common_extent(g, a) : 1;
  for (int a = 0; a < g->root->ndim; a++) f->has_common |= g->is_common[a];
  if (g->block > 0) f->ns = nearer_ns(d, g, f->parts);
  f->is_output = schedule_is_output(d->s, generic_stage(d, g->root));
  f->in_vector = generic_lanes(d, generic_stage(d, g->root));
  describe_rows(d, g, f);
  describe_columns(d, g, f);
  describe_steady(d, g, f);
  f->ahead_ns = asked_ns(d, g);
  describe_alone(d, g, g->root, f);
  for (int i = 0; i < g->n; i++) describe_alone(d, g, g->members[i], f);
  return f;
}

/* A group of several stages without a tile and without windows. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  if (g->n == 0 || g->anchor || g->n_windows > 0) return NULL;
  const rows_facts *f = describe_group(d, g);
  if (!f || g->block == 0) return f;
  generic_group with = generic_in_blocks(g);
  const rows_facts *in_blocks = describe_group(d, &with);
  rows_facts *both = in_blocks ? RUNTIME_NEW(d->arena, rows_facts) : NULL;
  if (!both) return NULL;
  *both = *f;
  both->in_blocks = in_blocks;
  return both;
}

/* The usual number of registers first. */
static void space(const void *facts, plan_space *s) {
  const rows_facts *f = facts;
  for (int n = 4; n >= 1; n /= 2) plan_add(s, ROWS_VECTORS, n);
  plan_add(s, ROWS_VECTORS, 8);
  int64_t all = (f->columns + f->lanes - 1) / RUNTIME_MAX(f->lanes, 1);
  if (all <= generic_most_columns(&f->machine)) plan_add(s, ROWS_VECTORS, RUNTIME_MAX(all, 1));
  plan_add(s, ROWS_STREAM, 0);
  if (f->can_stream) plan_add(s, ROWS_STREAM, 1);
  plan_add(s, ROWS_TOGETHER, 1);
  for (int n = 2; n <= 8 && n <= f->rows; n *= 2) plan_add(s, ROWS_TOGETHER, n);
  plan_add(s, ROWS_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, ROWS_THREADS, 1);
  plan_add(s, ROWS_COLUMNS, 0);
  if (f->steady_ns > 0) plan_add(s, ROWS_COLUMNS, 1);
  plan_add(s, ROWS_AHEAD, 0);
  if (f->columns == 0 && f->ahead_ns > 0 && cost_level(&f->machine, 2 * f->written) > 2) plan_add(s, ROWS_AHEAD, 1);
  if (f->has_common || !f->in_blocks) plan_add(s, ROWS_BLOCKS, 0);
  if (f->in_blocks) plan_add(s, ROWS_BLOCKS, 1);
  plan_add(s, ROWS_DOTS, 0);
  if (f->has_dots && f->columns == 0) plan_add(s, ROWS_DOTS, 1);
}

/* A block's vectors wait for the step before, where there are too few of them. N columns. */
static double column_waits(const rows_facts *f, const column_stage *s, double vector, int64_t n) {
  double in_flight = ceil((double)n / (double)f->lanes);
  return n == 0 ? 0 : s->rows * fmax(s->values * f->machine.costs.chain - in_flight * vector, 0);
}

/* What a stage reads and writes: the first one from where all of it has room, by pieces of rows; what others read again of the
 * block's columns, a PART of all, may be nearer. */
static double column_memory(const rows_facts *f, const column_stage *s, double part, bool is_first) {
  const tn_machine *m = &f->machine;
  double row = f->row, all = is_first ? s->read + f->written : (s->read + s->inside) * part;
  double lines = (s->read / COST_LINE) * cost_line(m, cost_level(m, all), false);
  double inside = s->inside / COST_LINE * cost_line(m, cost_level(m, (s->read + s->inside) * part), false);
  return lines + inside + (s->read > 0 ? cost_pieces(m, s->rows, part * row, row, all) : 0);
}

/* Blocks of columns, all stages for each. */
static double columns_cost(const rows_facts *f, const int32_t *c) {
  static const double spilled = 0.03; /* of a function's constants, for each vector more than the usual */
  const tn_machine *m = &f->machine;
  bool by_lanes;
  int64_t block = generic_column_block(f->columns, f->lanes, c[ROWS_VECTORS], &by_lanes);
  double blocks = (double)(f->columns / block), ns = 0, part = (double)block / (double)f->columns;
  if (c[ROWS_STREAM] && block < f->columns) return INFINITY; /* only whole rows go past the caches */
  for (int i = 0; i < f->n_stages; i++) {
    const column_stage *s = &f->stages[i];
    double vectors = (double)f->columns / (double)f->lanes, vector = s->ns / (s->rows * vectors);
    double compute = s->rows * ceil(vectors) * vector + blocks * column_waits(f, s, vector, block) +
                     column_waits(f, s, vector, f->columns % block);
    if (s->values * block / f->lanes > generic_most_columns(m)) return INFINITY;
    if (i > 0 && s->values == 0) compute *= 1 + spilled * (double)RUNTIME_MAX(block / f->lanes - GENERIC_REGISTERS, 0);
    double spans = s->read > 0 ? cost_spanning(m, s->rows * ceil(vectors), f->row, s->read) : 0;
    ns += fmax(compute, column_memory(f, s, part, i + 1 == f->n_stages)) + spans;
  }
  ns += cost_pieces(m, f->stages[0].rows, part * f->row, f->row, f->written);
  ns = cost_overlap(ns, cost_stream(m, 0, f->written, c[ROWS_THREADS], c[ROWS_STREAM]));
  double parts = f->parts / (double)f->columns * ceil((double)f->columns / (double)block);
  return c[ROWS_THREADS] ? cost_threads(m, ns, parts) : ns;
}

/* A block of rows is read by its first stage alone, which computes little: what a processor has not begun to read by itself before that
 * (up to READY lines, and no more in another page) is waited for. If it is asked for while the block before is computed, it comes while
 * that takes longer than the lines do. */
static double burst_ns(const rows_facts *f, int together, bool is_ahead) {
  static const double exposed = 0.6;
  enum { READY = 16 };
  const tn_machine *m = &f->machine;
  double all = f->written / COST_LINE, lines = all / f->parts * together, page = (double)COST_PAGE / COST_LINE;
  int level = cost_level(m, 2 * f->written);
  double come = all * cost_line(m, level, false);
  double waits = exposed * come * fmin(fmax((lines - READY) / (page - READY), 0), 1);
  if (level < 3) return 0;
  return is_ahead ? fmax(waits - fmax(f->ahead_ns - come, 0), 0) : waits;
}

/* Each line is asked for. */
static double asking_ns(const rows_facts *f) { return f->written / COST_LINE * f->machine.costs.load; }

/* Stores of several rows in turn that span two lines each; in one row those that share a line follow each other. */
static double spanning_ns(const rows_facts *f, int vectors, int together) {
  const tn_machine *m = &f->machine;
  bool spans = together > 1 && m->vector_bytes >= COST_LINE && fmod(f->written / f->parts, COST_LINE) != 0;
  return spans && cost_level(m, 2 * f->written) > 2 ? f->written / COST_LINE / vectors * m->costs.spans : 0;
}

/* The group's arithmetic, where sums go by dot products if they can. */
static double dots_ns(const rows_facts *f, int vectors, int together) {
  double ns = 0;
  for (int i = 0; i < f->n_sums; i++)
    if (f->sums[i].dot) ns += generic_dots_ns(&f->machine, &f->sums[i], vectors, together);
  return fmax(f->ns - f->plain_ns, 0) + fmax(ns, f->dot_memory_ns);
}

/* Rows that go together stay in the first cache between the group's stages. */
static double cost(const void *facts, const int32_t *c) {
  const rows_facts *f = facts;
  int together = c[ROWS_TOGETHER];
  if (c[ROWS_BLOCKS]) f = f->in_blocks;
  if (together > 1 && together * c[ROWS_VECTORS] > f->machine.vector_registers / 2) return INFINITY;
  if (together > 1 && together * f->row_bytes > (double)f->machine.cache_bytes[1] / 2) return INFINITY;
  if (c[ROWS_COLUMNS] && c[ROWS_STREAM]) return INFINITY; /* only whole rows go past the caches */
  if (f->columns > 0) return columns_cost(f, c);
  if (c[ROWS_DOTS] && !f->has_dots) return INFINITY;
  double ns = c[ROWS_DOTS] ? dots_ns(f, c[ROWS_VECTORS], together) : f->ns;
  ns *= generic_rows_waits(&f->machine, f->in_vector, c[ROWS_VECTORS], together, 1);
  ns += together > 1 ? f->apart_ns : f->wide_ns;
  for (int i = 0; i < f->n_sums; i++)
    if (!c[ROWS_DOTS] || !f->sums[i].dot)
      ns += generic_row_sum_waits(&f->machine, &f->sums[i], c[ROWS_VECTORS], together);
  ns += generic_rows_ends(&f->machine, f->parts * f->n_sums, c[ROWS_VECTORS], together, 1, 1);
  ns += generic_rows_streams(&f->machine, 2 * f->written, together);
  ns += c[ROWS_COLUMNS]
            ? cost_pieces(&f->machine, f->written / f->width, (double)c[ROWS_VECTORS] * f->machine.vector_bytes,
                          f->width, 2 * f->written / f->parts)
            : f->steady_ns;
  double vector = fmax(f->machine.costs.load, cost_fma(&f->machine, f->machine.vector_bytes));
  ns += f->steps / c[ROWS_VECTORS] * fmax(f->machine.costs.chain - c[ROWS_VECTORS] * vector, 0);
  ns += burst_ns(f, together, c[ROWS_AHEAD]);
  ns = cost_overlap(ns, cost_stream(&f->machine, f->written, f->written, c[ROWS_THREADS], c[ROWS_STREAM]));
  ns += spanning_ns(f, c[ROWS_VECTORS], together) + (c[ROWS_AHEAD] ? asking_ns(f) : 0);
  if (!c[ROWS_THREADS]) return ns;
  if (together == 1) return cost_threads(&f->machine, ns, f->parts);
  return generic_shared_ns(&f->machine, ns, f->parts / (double)f->rows, f->rows, together, f->is_output);
}

/* The generic schedule of rows does the work; whether threads share the rows is said by what the group is told to
 * cost. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  (void)facts;
  generic_draft with = *d;
  generic_group group = c[ROWS_BLOCKS] ? generic_in_blocks(g) : *g;
  with.registers = c[ROWS_VECTORS];
  with.together = c[ROWS_TOGETHER];
  with.columns_first = c[ROWS_COLUMNS] != 0;
  with.asks_ahead = c[ROWS_AHEAD] != 0;
  with.by_dots = c[ROWS_DOTS] != 0;
  group.ns = c[ROWS_THREADS] ? INFINITY : 0;
  return generic_rows(&with, &group) && (!c[ROWS_STREAM] || generic_stream(d, generic_stage(d, g->root)));
}

static const plan_field fields[ROWS_FIELD_COUNT] = {
    [ROWS_VECTORS] = {"vectors", "registers that a vector loop is long"},
    [ROWS_THREADS] = {"threads", "1: rows are shared among threads"},
    [ROWS_STREAM] = {"stream", "1: what is written goes past the caches"},
    [ROWS_TOGETHER] = {"together", "rows that are computed at a time"},
    [ROWS_COLUMNS] = {"columns", "1: the last stage goes by columns: what is the same for all rows is done once", true},
    [ROWS_AHEAD] = {"ahead", "1: while rows are computed, what the next ones read is asked for", true},
    [ROWS_BLOCKS] = {"blocks", "1: blocks of an axis, each of which members have one value for, go one by one", true},
    [ROWS_DOTS] = {"dots", "1: products of narrow numbers are summed up by dot products", true},
};

PLAN_FAMILY(rows, ROWS_FIELD_COUNT);
