/* tile_realize.c: from a plan of the family `tile` to primitives: the loops of the group's last stage around tiles,
 * the accumulators inside, the packed operand, the zeros around an input (TVM: dense_pack, conv2d_NCHWc and the like,
 * without changed layouts at the border). */
#include <math.h>

#include "schedule/tile.h"

/* Steps of a filter's row; and registers of a vector loop that stay registers when it is one vector. */
enum { FEW_CHANNELS = 16, LONGEST_VECTOR = 4 };

/* On the stack of tile_realize. Axes are indices in stages' axis tables, which stay when loops move. */
typedef struct tiling {
  generic_draft *d;
  const generic_group *g;
  const tn_tensor *root; /* whose loops are around the tiles: the group's, or where the reduction is cut the sums' */
  const tile_facts *f;
  const int32_t *c;       /* the plan's values */
  int64_t lanes, columns; /* of a vector, of a tile */
  bool by_lanes;          /* vectors are loops of their own, since the last is short or they are not the widest */
  int n_outer, outer[TN_MAX_RANK]; /* data axes of the sums that are in no tile; without those of parities */
  int axis[TN_MAX_RANK];           /* by data axis of the sums: the root's loop */
  int n_idle, idle[TN_MAX_RANK];   /* loops of the root that no such axis goes along, of one iteration */
  int v_block, v_panel, v_sub, v_in, u_block, u_tile, u_in, u2_tile, u2_in; /* the root's loops; -1: there is none */
  int depth;                                                                /* and that over blocks of the reduction */
  int order[SCHEDULE_MAX_AXES], n_order, n_shared;
  int fused, n_fused; /* the first shared loop, and of how many it is made */
} tiling;

/* Leaves out loops that there are not. */
static void put(int *n, int *order, int axis) {
  if (axis >= 0) order[(*n)++] = axis;
}

/* ---- the packed operand ------------------------------------------------------------------------------------------ */

/* Only where c[PACK] is not 0. */
static const generic_read *packed_read(const tiling *t) { return &t->f->reads.reads[t->f->shared]; }

/* The dimension of the packed operand that groups of k lie along; -1: no dot product. */
static int group_dim(const tiling *t) { return t->c[TILE_DOT] ? packed_read(t)->dim[t->f->dot_axis] : -1; }

/* The loop's iterations without a check go apart. */
static bool part_off(const tiling *t, int stage, int axis) {
  int at = schedule_leaf_position(&t->d->s->stages[stage], axis);
  return at < 0 || schedule_pragma_partition(t->d->s, stage, at) == TN_OK;
}

/* An operand that lies across the panels is turned in small tiles, whose lines are used whole: elements of it, or groups of the reduction
 * for dot products (GROUPED: their dimension; -1: elements). Where the last panel is partly padding, tiles without padding are turned
 * without checks, which would make them columns of single elements. */
static bool turn_copy(const tiling *t, int stage, int outer, int inner, int along, int grouped) {
  enum { TURNED_ROWS = 16, TURNED_COLUMNS = 8 };
  int k_outer = along, k_inner, group = -1, block = -1, order[2 * TN_MAX_RANK + 4], n = 0;
  int dim = packed_read(t)->dim[t->f->v];
  int64_t by = grouped >= 0 ? t->lanes : TURNED_COLUMNS, extent = t->f->reads.extent[t->f->v];
  if (grouped >= 0 && !generic_split(t->d, stage, along, t->f->dot_group, &k_outer, &group)) return false;
  if (!generic_split(t->d, stage, k_outer, TURNED_ROWS, &k_outer, &k_inner)) return false;
  if (t->columns % by == 0 && !generic_split(t->d, stage, inner, by, &block, &inner)) return false;
  order[n++] = outer;
  for (int k = 0; k < packed_read(t)->tensor->ndim; k++)
    if (k != dim) order[n++] = k == along ? k_outer : k;
  put(&n, order, block);
  order[n++] = k_inner, order[n++] = inner, put(&n, order, group);
  bool has_rest = extent > t->columns && extent % t->columns != 0;
  if (group >= 0 && !part_off(t, stage, k_outer)) return false; /* groups are not whole either */
  if (has_rest && (!part_off(t, stage, outer) || (block >= 0 && !part_off(t, stage, block)))) return false;
  if (!generic_order(t->d, stage, n, order)) return false;
  if (group >= 0 && !generic_fuse(t->d, stage, 2, (int[]){inner, group}, &inner)) return false;
  return generic_annotate(t->d, stage, inner, SCHEDULE_VECTORIZE) &&
         generic_annotate(t->d, stage, k_inner, SCHEDULE_UNROLL);
}

/* The copy's loops: panels outermost where threads share them, else as the operand lies; a row of a panel is a
 * vector. */
static bool arrange_copy(const tiling *t, int stage, bool panels_first) {
  const generic_read *read = packed_read(t);
  int dim = read->dim[t->f->v], grouped = group_dim(t), outer, inner, group_inner = -1, order[2 * TN_MAX_RANK + 2],
      n = 0;
  int group_outer = -1;
  /* The rest of a panel is zeros: sums there are nobody's, but they should not be of slow numbers. Dot products know
   * none, and whole groups are copied faster without the condition; but a single panel is no wider than it has to be: there
   * vectors are padded. */
  bool is_single = grouped >= 0 && read->tensor->shape[dim] < t->columns;
  tn_tail tail = grouped >= 0 && !is_single ? TN_TAIL_PEEL : TN_TAIL_PAD;
  if (!generic_split_as(t->d, stage, dim, is_single ? t->lanes : t->columns, tail, &outer, &inner)) return false;
  int along = read->tensor->ndim - 1;
  if (along != dim && (grouped < 0 || along == grouped)) return turn_copy(t, stage, outer, inner, along, grouped);
  if (grouped >= 0 && !generic_split(t->d, stage, grouped, t->f->dot_group, &group_outer, &group_inner)) return false;
  if (panels_first) order[n++] = outer;
  for (int k = 0; k < read->tensor->ndim; k++)
    if (k != dim) order[n++] = k == grouped ? group_outer : k;
  if (!panels_first) order[n++] = outer;
  order[n++] = inner;
  put(&n, order, group_inner);
  if (!generic_order(t->d, stage, n, order)) return false;
  if (group_inner >= 0 && !generic_fuse(t->d, stage, 2, (int[]){inner, group_inner}, &inner)) return false;
  return generic_annotate(t->d, stage, inner, SCHEDULE_VECTORIZE);
}

/* Copies TENSOR for READER into SCOPE, as MAP says. MAP NULL: as it lies. */
static bool copy_as(const tiling *t, const tn_tensor *tensor, const tn_tensor *reader, const char *scope,
                    const char *map, const tn_tensor **copy) {
  int from = generic_stage(t->d, tensor), by = generic_stage(t->d, reader);
  if (schedule_cache_read(t->d->s, from, scope, 1, &by) != TN_OK) return false;
  *copy = t->d->s->stages[from + 1].tensors;
  return !map || schedule_transform_layout(t->d->s, from + 1, map) == TN_OK;
}

/* Copies the packed operand for READER into panels. */
static bool pack(const tiling *t, const tn_tensor *reader, const tn_tensor **copy) {
  const generic_read *read = packed_read(t);
  char map[256];
  return generic_panel_map(t->d, read->tensor->ndim, read->dim[t->f->v], t->columns, group_dim(t), t->f->dot_group, map,
                           sizeof map) &&
         copy_as(t, read->tensor, reader, "global", map, copy);
}

/* Copies it for READER in groups for dot products, which otherwise lie as it does: "[d0, d1] -> [d0//4, d1, d0%4]". */
static bool weave(const tiling *t, const tn_tensor *reader, const tn_tensor **copy) {
  const tn_tensor *tensor = packed_read(t)->tensor;
  char map[256];
  return generic_group_map(t->d, tensor->ndim, group_dim(t), t->f->dot_group, map, sizeof map) &&
         copy_as(t, tensor, reader, "local", map, copy);
}

/* Such a copy of the rows that one step of SUMS' loop STEP takes: vectors of whole registers, which are part of the tile's columns. */
static bool place_woven(const tiling *t, const tn_tensor *copy, const tn_tensor *sums, int step) {
  int stage = generic_stage(t->d, copy), last = packed_read(t)->tensor->ndim - 1, grouped = group_dim(t);
  int64_t by = tile_woven_columns(t->f, t->c, t->columns);
  int groups, group, blocks, lane, order[TN_MAX_RANK + 2], n = 0;
  if (!generic_split(t->d, stage, grouped, t->f->dot_group, &groups, &group)) return false;
  if (!generic_split_as(t->d, stage, last, by, TN_TAIL_PAD, &blocks, &lane)) return false;
  for (int k = 0; k < last; k++) order[n++] = k == grouped ? groups : k;
  order[n++] = blocks, order[n++] = lane, order[n++] = group;
  return generic_order(t->d, stage, n, order) && generic_fuse(t->d, stage, 2, (int[]){lane, group}, &lane) &&
         (t->columns <= by || generic_annotate(t->d, stage, blocks, SCHEDULE_UNROLL)) &&
         generic_annotate(t->d, stage, lane, SCHEDULE_VECTORIZE) && generic_attach(t->d, copy, sums, step);
}

/* Whether an iteration of the axis reads another part. */
static bool moves(const generic_read *read, int axis) {
  return !read->is_known[axis] || read->stride[axis] != 0 || read->block[axis] != 0;
}

/* The loop over blocks of the reduction, or else the innermost shared loop along which the packed operand changes; -1: none. */
static int copy_loop(const tiling *t) {
  int found = -1;
  if (t->depth >= 0) return t->depth;
  for (int i = 0; i < t->n_shared; i++) {
    bool changes = t->order[i] == t->v_block;
    for (int k = 0; k < t->n_outer; k++)
      changes |= t->order[i] == t->axis[t->outer[k]] && moves(packed_read(t), t->outer[k]);
    if (changes) found = i < t->n_fused ? t->fused : t->order[i];
  }
  return found;
}

/* Puts a packed copy inside of the root's loop that uses all of it, or makes it a stage of its own, which threads
 * share. False: a primitive refused. */
static bool place_copy(const tiling *t, const tn_tensor *copy) {
  int loop = t->c[TILE_PACK] == 1 ? copy_loop(t) : -1, stage = generic_stage(t->d, copy);
  bool alone = loop < 0 && t->c[TILE_THREADS];
  if (!arrange_copy(t, stage, alone)) return false;
  if (loop >= 0) return generic_attach(t->d, copy, t->root, loop);
  return !alone || generic_annotate(t->d, stage, t->d->s->stages[stage].leaves[0], SCHEDULE_PARALLEL);
}

/* ---- the operand of rows ----------------------------------------------------------------------------------------- */

/* Only where c[LEFT] is not 0. */
static const generic_read *left_read(const tiling *t) { return &t->f->reads.reads[t->f->left]; }

/* Copies the operand of rows for READER into panels of a tile's rows: "[d0, d1] -> [d0//6, d1, d0%6]". */
static bool pack_left(const tiling *t, const tn_tensor *reader, const tn_tensor **copy) {
  const generic_read *read = left_read(t);
  char map[256];
  if (tile_left_lies(t->f, t->c)) return copy_as(t, read->tensor, reader, "global", NULL, copy);
  return generic_panel_map(t->d, read->tensor->ndim, read->dim[t->f->u], t->c[TILE_ROWS], -1, 0, map, sizeof map) &&
         copy_as(t, read->tensor, reader, "global", map, copy);
}

/* Some steps of the reduction at a time: panels go by them where the operand lies along the panels, else the steps go by a
 * panel. What lies side by side there is a vector. */
static bool place_left(const tiling *t, const tn_tensor *copy) {
  enum { STEPS = 8 };
  const generic_read *read = left_read(t);
  int stage = generic_stage(t->d, copy), order[TN_MAX_RANK + 4], n = 0, outer, inner, steps = -1, step = -1;
  int dim = read->dim[t->f->u], along = read->dim[t->f->reads.n_axes - 1];
  bool is_along = read->stride[t->f->u] == 1;
  if (!generic_split_as(t->d, stage, dim, t->c[TILE_ROWS], TN_TAIL_PAD, &outer, &inner)) return false;
  if (along == dim) along = -1;
  if (along >= 0 && !generic_split(t->d, stage, along, STEPS, &steps, &step)) return false;
  for (int k = 0; k < read->tensor->ndim; k++)
    if (k != dim && k != along) order[n++] = k;
  if (is_along) put(&n, order, steps);
  put(&n, order, outer);
  if (!is_along) put(&n, order, steps);
  put(&n, order, step), put(&n, order, inner);
  if (!generic_order(t->d, stage, n, order) || !generic_annotate(t->d, stage, inner, SCHEDULE_VECTORIZE)) return false;
  if (step >= 0 && !generic_annotate(t->d, stage, step, SCHEDULE_UNROLL)) return false;
  return !t->c[TILE_THREADS] || generic_annotate(t->d, stage, t->d->s->stages[stage].leaves[0], SCHEDULE_PARALLEL);
}

/* ---- loops around tiles ------------------------------------------------------------------------------------------ */

/* Cuts the rows into blocks of tiles of rows; an axis that the plan does not cut is -1. False: a primitive refused. */
static bool split_rows(tiling *t, int stage) {
  const tile_facts *f = t->f;
  const int32_t *c = t->c;
  t->u_block = t->u_tile = t->u_in = t->u2_tile = t->u2_in = -1;
  if (c[TILE_ROWS2] > 1 && !generic_split(t->d, stage, t->axis[f->u2], c[TILE_ROWS2], &t->u2_tile, &t->u2_in))
    return false;
  if (f->u < 0) return true;
  if (!generic_split(t->d, stage, t->axis[f->u], c[TILE_ROWS], &t->u_tile, &t->u_in)) return false;
  int64_t tiles = generic_ceil_div(f->reads.extent[f->u], c[TILE_ROWS]);
  if (c[TILE_BLOCK] == 0 || c[TILE_BLOCK] >= tiles) return true;
  return generic_split(t->d, stage, t->u_tile, c[TILE_BLOCK], &t->u_block, &t->u_tile);
}

/* Panels of one tile's columns, blocks of panels; where a tile is several short vectors these are a
 * loop of their own. */
static bool split_columns(tiling *t, int stage) {
  int64_t panels = generic_ceil_div(t->f->reads.extent[t->f->v], t->columns),
          in_block = RUNTIME_MIN(t->c[TILE_PANELS], panels);
  t->v_block = t->v_sub = -1;
  if (!generic_split(t->d, stage, t->axis[t->f->v], t->columns, &t->v_panel, &t->v_in)) return false;
  if (in_block < panels && !generic_split(t->d, stage, t->v_panel, in_block, &t->v_block, &t->v_panel)) return false;
  return !t->by_lanes || generic_split_as(t->d, stage, t->v_in, t->lanes, TN_TAIL_MASK, &t->v_sub, &t->v_in);
}

/* Loops over other parts of the shared operand are outside of its blocks, the others inside. */
static void put_outer(const tiling *t, int *n, int *order, bool is_inside) {
  const generic_read *read = &t->f->reads.reads[t->f->shared < 0 ? 0 : t->f->shared];
  for (int i = 0; i < t->n_outer; i++)
    if ((t->depth >= 0 && !moves(read, t->outer[i])) == is_inside) put(n, order, t->axis[t->outer[i]]);
}

/* As make_nest in family_tile.c counts them. Blocks of the reduction run one after the other. */
static void list_loops(tiling *t) {
  int n = 0, *order = t->order;
  for (int i = 0; i < t->n_idle; i++) put(&n, order, t->idle[i]);
  if (t->c[TILE_ORDER]) put(&n, order, t->v_block);
  put_outer(t, &n, order, false);
  if (!t->c[TILE_ORDER]) put(&n, order, t->v_block);
  if (t->depth < 0) put(&n, order, t->u_block);
  t->n_shared = n;
  put(&n, order, t->depth), put_outer(t, &n, order, true);
  if (t->depth >= 0) put(&n, order, t->u_block);
  for (int i = 0; i < t->f->n_parities; i++) put(&n, order, t->axis[t->f->parities[i].data]);
  if (t->c[TILE_INNER]) put(&n, order, t->v_panel);
  put(&n, order, t->u2_tile);
  put(&n, order, t->u_tile);
  if (!t->c[TILE_INNER]) put(&n, order, t->v_panel);
  put(&n, order, t->u2_in);
  if (t->f->is_across) put(&n, order, t->v_sub); /* rows of one vector beside each other can be woven */
  put(&n, order, t->u_in);
  if (!t->f->is_across) put(&n, order, t->v_sub);
  put(&n, order, t->v_in);
  t->n_order = n;
}

/* Fills t->axis, and t->idle: cuts the root's axes where those of the sums are quotients and rests. */
static bool unfold_root(tiling *t, int stage) {
  const generic_unfold *u = &t->g->unfold;
  bool is_used[TN_MAX_RANK] = {false}, is_some = u->is_some && t->root == t->g->root;
  for (int a = 0; a < t->f->reads.n_data; a++) t->axis[a] = is_some ? u->axis[a] : a;
  if (!is_some) return true;
  for (int a = 0; a < t->f->reads.n_data; a++) {
    int outer, inner;
    is_used[u->axis[a]] = true;
    if (u->by[a] <= 0) continue;
    if (!generic_split(t->d, stage, u->axis[a], u->by[a], &outer, &inner)) return false;
    t->axis[a] = outer;
    for (int b = 0; b < t->f->reads.n_data; b++)
      if (u->axis[b] == u->axis[a] && u->by[b] < 0) t->axis[b] = inner;
  }
  for (int a = 0; a < t->g->root->ndim; a++)
    if (!is_used[a]) t->idle[t->n_idle++] = a;
  return true;
}

/* Loops over parities are written out. */
static bool unroll_parities(const tiling *t, int stage) {
  for (int i = 0; t->c[TILE_PARITY] && i < t->f->n_parities; i++)
    if (!generic_annotate(t->d, stage, t->axis[t->f->parities[i].data], SCHEDULE_UNROLL)) return false;
  return true;
}

/* Whether the last block of the reduction is shorter: the others run without a test of each step. */
static bool has_short_block(const tiling *t) {
  tile_cut cut;
  return tile_cut_of(&t->f->reads, t->c[TILE_DEPTH], &cut) && t->f->reads.extent[cut.axis] % cut.steps != 0;
}

/* Outer axes, blocks, tiles, rows and vectors; the shared ones are outermost. */
static bool arrange_root(tiling *t) {
  int stage = generic_stage(t->d, t->root);
  for (int a = 0; a < t->f->reads.n_data; a++)
    if (a != t->f->v && a != t->f->u && (a != t->f->u2 || t->c[TILE_ROWS2] == 1) && !tile_parity_of(t->f, a))
      t->outer[t->n_outer++] = a;
  if (!unfold_root(t, stage)) return false;
  t->depth = t->c[TILE_DEPTH] ? t->f->reads.n_data : -1; /* what rfactor left */
  if (!split_columns(t, stage) || !split_rows(t, stage)) return false;
  list_loops(t);
  if (!generic_order(t->d, stage, t->n_order, t->order)) return false;
  if (has_short_block(t) && !part_off(t, stage, t->depth)) return false;
  if (!generic_annotate(t->d, stage, t->v_in, SCHEDULE_VECTORIZE) || !unroll_parities(t, stage)) return false;
  return generic_parallel(t->d, stage, t->n_shared, t->order, t->c[TILE_THREADS] ? INFINITY : 0, &t->fused,
                          &t->n_fused);
}

/* ---- inside of a tile -------------------------------------------------------------------------------------------- */

/* Whether a condition chooses among the steps of a reduction axis, or what they read is worked out by more than a product and a sum. */
static bool is_asked(const tiling *t, int axis) {
  const generic_reads *r = &t->f->reads;
  const tir_expr *where = tir_reduce_where(r->op->body);
  int k = axis - r->n_data;
  if (k < 0 || k >= r->op->n_reduce) return false;
  for (int i = 0; i < r->n; i++)
    if (!r->reads[i].is_known[axis]) return true;
  return where && tir_uses_var(where, &r->op->reduce_axes[k]->var);
}

/* The last two reduction axes as one, where the reads walk on: rows of a filter with few channels. */
static bool join_channels(const tiling *t, int stage) {
  const generic_reads *r = &t->f->reads;
  int last = r->n_axes - 1, fused;
  if (t->f->n_parities || is_asked(t, last) || is_asked(t, last - 1)) return true;
  if (r->n_axes - r->n_data < 2 || r->extent[last] > FEW_CHANNELS) return true;
  for (int i = 0; i < r->n; i++)
    if (r->reads[i].stride[last - 1] != r->reads[i].stride[last] * r->extent[last]) return true;
  return generic_fuse(t->d, stage, 2, (int[]){last - 1, last}, &fused);
}

/* Which steps count is constant in loops around all others. *N, INNER: these. */
static bool split_parities(const tiling *t, int stage, int *n, int *inner) {
  const tile_facts *f = t->f;
  *n = 0;
  for (int i = 0; t->c[TILE_PARITY] && i < f->n_parities; i++) {
    const tile_parity *p = &f->parities[i];
    int outer;
    if (!generic_split_as(t->d, stage, p->reduced, p->modulus, TN_TAIL_GUARD, &outer, &inner[*n])) return false;
    if (!generic_annotate(t->d, stage, inner[(*n)++], SCHEDULE_UNROLL)) return false;
  }
  return true;
}

static bool is_among(int axis, int n, const int *axes) {
  for (int i = 0; i < n; i++)
    if (axes[i] == axis) return true;
  return false;
}

/* Appends the leaves that reduce, but for GROUP and those that ORDER has; conditions are asked outside of the steps that they are
 * the same for. */
static void put_reducing(const tiling *t, int stage, int group, int *n, int *order) {
  const schedule_stage *st = &t->d->s->stages[stage];
  for (int asked = 1; asked >= 0; asked--)
    for (int i = 0; i < st->n_leaves; i++) {
      int leaf = st->leaves[i];
      bool reduces = schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL && leaf != group;
      if (reduces && is_asked(t, leaf) == asked && !is_among(leaf, *n, order)) order[(*n)++] = leaf;
    }
}

/* The innermost loop of the reduction but for GROUP. */
static int innermost_step(const tiling *t, int stage, int group) {
  const schedule_stage *st = &t->d->s->stages[stage];
  int step = -1;
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL && st->leaves[i] != group) step = st->leaves[i];
  return step;
}

/* Reduction loops around the accumulators' loops; the loops that a dot product stands for innermost. */
static bool order_tile(const tiling *t, int stage, int v_sub, int v_in, int group) {
  const tile_facts *f = t->f;
  int order[SCHEDULE_MAX_AXES], n = 0, n_parities, parities[TILE_MAX_PARITIES];
  if (!split_parities(t, stage, &n_parities, parities)) return false;
  for (int a = 0; a < f->reads.n_data; a++)
    if (a != f->v && a != f->u && a != f->u2) order[n++] = a;
  if (t->depth >= 0) order[n++] = f->reads.n_data; /* the block, which there is one of in a tile */
  for (int i = 0; i < n_parities; i++) order[n++] = parities[i];
  put_reducing(t, stage, group, &n, order);
  put(&n, order, f->u2), put(&n, order, f->u), put(&n, order, v_sub), put(&n, order, v_in), put(&n, order, group);
  return generic_order(t->d, stage, n, order);
}

/* The stage with the sums: reduction loops outside, a tile of accumulators inside, written out by
 * register_tiles. WOVEN: the copy for dot products that each step makes; NULL: none. */
static bool arrange_tile(const tiling *t, int stage, const tn_tensor *woven) {
  const tn_tensor *sums = t->d->s->stages[stage].tensors;
  const tile_facts *f = t->f;
  int v_sub = -1, v_in = f->v, group = -1;
  int k = t->depth >= 0 ? t->d->s->stages[stage].n_axes - 1
                        : f->dot_axis; /* blocks of the reduction have axes of their own */
  bool joins = f->is_window && !f->is_depthwise && !t->c[TILE_DOT] && t->depth < 0;
  if (joins && !join_channels(t, stage)) return false;
  if ((t->by_lanes || t->c[TILE_DOT]) && !generic_split_as(t->d, stage, f->v, t->lanes, TN_TAIL_PAD, &v_sub, &v_in))
    return false;
  if (t->c[TILE_DOT] && !generic_split(t->d, stage, k, f->dot_group, &k, &group)) return false;
  if (!order_tile(t, stage, v_sub, v_in, group)) return false;
  if (woven && !place_woven(t, woven, sums, innermost_step(t, stage, group))) return false;
  stage = generic_stage(t->d, sums);
  if (t->c[TILE_DOT])
    return schedule_tensorize(t->d->s, stage, schedule_leaf_position(&t->d->s->stages[stage], v_in), f->dot) == TN_OK;
  if (!generic_annotate(t->d, stage, v_in, SCHEDULE_VECTORIZE)) return false;
  for (int a = tile_unrolled_from(f); a < f->reads.n_axes; a++)
    if (!generic_annotate(t->d, stage, a, SCHEDULE_UNROLL)) return false;
  return true;
}

/* The sums of a block of the reduction, which the anchor's stage adds up. */
static bool part_sums(const tiling *t, const tile_cut *cut, const tn_tensor **sums) {
  const generic_reads *r = &t->f->reads;
  int stage = generic_stage(t->d, t->g->anchor), loops[GENERIC_MAX_AXES], n = 0, outer = cut->axis, inner, fused;
  bool splits = cut->steps > 1;
  if (splits && !generic_split_as(t->d, stage, cut->axis, cut->steps, TN_TAIL_GUARD, &outer, &inner)) return false;
  for (int a = r->n_data; a < cut->axis; a++) loops[n++] = a;
  loops[n++] = outer;
  if (!generic_fuse(t->d, stage, n, loops, &fused)) return false;
  int at = schedule_leaf_position(&t->d->s->stages[stage], fused);
  if (at < 0 || schedule_rfactor(t->d->s, stage, at, r->n_data) != TN_OK) return false;
  *sums = t->d->s->stages[stage].tensors;
  return schedule_set_scope(t->d->s, stage, "local") == TN_OK;
}

/* The stage with the sums: what the root copies or reads point by point. */
static bool make_sums(const tiling *t, const tn_tensor **sums) {
  int stage = generic_stage(t->d, t->g->anchor);
  tile_cut cut;
  *sums = t->g->anchor;
  if (tile_cut_of(&t->f->reads, t->c[TILE_DEPTH], &cut)) return part_sums(t, &cut, sums);
  if (t->g->anchor != t->root) return schedule_set_scope(t->d->s, stage, "local") == TN_OK;
  if (schedule_cache_write(t->d->s, stage, "local") != TN_OK) return false;
  *sums = t->d->s->stages[stage].tensors;
  return true;
}

/* Vectors of accumulators are vectors of the buffer that they are in, too: "[d0, d1] -> [d1, d0]". */
static bool turn_sums(const tiling *t, const tn_tensor *sums) {
  runtime_str map = {0};
  generic_map_begin(&map, sums->ndim);
  int v = t->f->v; /* blocks of a reduction, if it is cut, are behind the data axes */
  for (int a = 0; a < sums->ndim; a++)
    if (a != v) runtime_str_addf(&map, "d%d, ", a);
  runtime_str_addf(&map, "d%d]", v);
  bool ok = !map.failed && schedule_transform_layout(t->d->s, generic_stage(t->d, sums), map.data) == TN_OK;
  runtime_str_free(&map);
  return ok;
}

/* ---- zeros around an input --------------------------------------------------------------------------------------- */

/* The innermost of the outer loops along which the padded input is read at other places. -1: there is none. */
static int padding_loop(const tiling *t) {
  const generic_read *read = NULL;
  for (int i = 0; i < t->f->reads.n; i++)
    if (t->f->reads.reads[i].tensor == t->g->padding) read = &t->f->reads.reads[i];
  for (int i = t->n_outer - 1; read && i >= 0; i--) {
    bool changes = moves(read, t->outer[i]);
    if (!changes || t->f->reads.extent[t->outer[i]] == 1) continue;
    int loop = t->axis[t->outer[i]];
    return is_among(loop, t->n_fused, t->order) ? t->fused : loop;
  }
  return -1;
}

/* A stage without a reduction, not in the loops of others. */
static bool place_apart(const tiling *t, const tn_tensor *tensor) {
  generic_group alone = {.root = tensor};
  generic_reads r;
  if (generic_read_all(t->d, generic_stage(t->d, tensor), &r)) alone.ns = generic_cost_ns(t->d, &r);
  return generic_injective(t->d, &alone);
}

/* At the loop that moves it, or at root. */
static bool place_padding(const tiling *t) {
  int stage = generic_stage(t->d, t->g->padding), loop = t->c[TILE_PADDING] ? padding_loop(t) : -1;
  if (loop >= 0) return generic_inner_injective(t->d, stage) && generic_attach(t->d, t->g->padding, t->root, loop);
  return place_apart(t, t->g->padding);
}

/* At the innermost loop of the reduction, what the tile of the next columns reads there of TENSOR. */
static bool prefetch_next(const tiling *t, const tn_tensor *sums, const tn_tensor *tensor) {
  int stage = generic_stage(t->d, sums), root = generic_stage(t->d, t->root), iter = -1;
  const schedule_stage *st = &t->d->s->stages[stage], *of = &t->d->s->stages[root];
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL) iter = i;
  int panel = schedule_leaf_position(of, t->v_panel);
  if (of->axes[t->v_panel].extent < 2 && t->v_block >= 0) panel = schedule_leaf_position(of, t->v_block);
  return generic_prefetch(t->d, stage, iter, tensor, 1, root, panel);
}

/* ---- sums in lanes ----------------------------------------------------------------------------------------------- */

/* Copies the operand that is turned, once: "[d0, d1, d2] -> [d0, d2, d1]", the reduction's dimension last, in tiles whose
 * lines are used whole (codegen/emit_turn.c). */
static bool turn_operand(const tiling *t, const tn_tensor *reader) {
  const generic_read *read = &t->f->reads.reads[tile_turned(t->f, t->c)];
  int from = generic_stage(t->d, read->tensor), by = generic_stage(t->d, reader), ndim = read->tensor->ndim;
  int along = t->c[TILE_LANES] ? t->f->reads.n_axes - 1 : t->f->dot_axis;
  int dim = read->dim[along], order[TN_MAX_RANK + 2], n = 0, outer, inner, far, near;
  char map[256];
  runtime_str text = {0};
  generic_map_begin(&text, ndim);
  for (int k = 0; k < ndim; k++)
    if (k != dim) runtime_str_addf(&text, "d%d, ", k);
  runtime_str_addf(&text, "d%d]", dim);
  if (text.failed) runtime_arena_lacks(t->d->arena);
  bool ok = !text.failed && text.n < sizeof map;
  if (ok) memcpy(map, text.data, text.n + 1);
  runtime_str_free(&text);
  if (!ok || schedule_cache_read(t->d->s, from, "global", 1, &by) != TN_OK) return false;
  if (schedule_transform_layout(t->d->s, from + 1, map) != TN_OK) return false;
  if (!generic_split(t->d, from + 1, dim, t->lanes, &outer, &inner)) return false;
  int64_t together = RUNTIME_MIN(t->lanes, read->tensor->shape[ndim - 1]);
  if (!generic_split(t->d, from + 1, ndim - 1, together, &far, &near)) return false;
  for (int k = 0; k < ndim; k++) order[n++] = k == dim ? outer : k == ndim - 1 ? far : k;
  order[n++] = near, order[n++] = inner;
  return generic_order(t->d, from + 1, n, order) && generic_annotate(t->d, from + 1, near, SCHEDULE_UNROLL) &&
         generic_annotate(t->d, from + 1, inner, SCHEDULE_VECTORIZE);
}

/* The loops of the partial sums: the reduction's around the accumulators', a vector of steps, LANE, innermost. SETS: the loop over such
 * vectors that follow each other; GROUP: over the steps of a lane's dot product; -1: there is none. */
static bool order_lanes(const tiling *t, int stage, int sets, int lane, int group) {
  const tile_facts *f = t->f;
  const schedule_stage *st = &t->d->s->stages[stage];
  int order[SCHEDULE_MAX_AXES], n = 0;
  for (int a = 0; a < f->reads.n_data; a++)
    if (a != f->v && a != f->u && a != f->u2) order[n++] = a;
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL && st->leaves[i] != group) order[n++] = st->leaves[i];
  put(&n, order, sets), put(&n, order, f->u2), put(&n, order, f->u), put(&n, order, f->v), put(&n, order, lane);
  put(&n, order, group);
  return generic_order(t->d, stage, n, order);
}

/* The same of dot products: each lane has a group of steps. */
static bool part_dots(const tiling *t, const tn_tensor *sums, generic_parts *parts) {
  const tn_tensor *part = generic_part_groups(t->d, sums, t->f->reads.n_axes - 1, t->lanes, t->f->dot_group);
  if (!part) return false;
  int stage = generic_stage(t->d, part), lane = t->d->s->stages[stage].op->n_axes - 1;
  const schedule_stage *st = &t->d->s->stages[stage];
  parts->tensors[parts->n++] = part;
  if (!order_lanes(t, stage, -1, lane, st->leaves[st->n_leaves - 1])) return false;
  return schedule_tensorize(t->d->s, stage, schedule_leaf_position(&t->d->s->stages[stage], lane), t->f->dot) == TN_OK;
}

/* Steps in the lanes of vectors: the sums of a tile for each. */
static bool part_lanes(const tiling *t, const tn_tensor *sums, generic_parts *parts) {
  if (t->c[TILE_DOT]) return part_dots(t, sums, parts);
  if (!generic_part_once(t->d, sums, t->f->reads.n_axes - 1, t->lanes, parts)) return false;
  int stage = generic_stage(t->d, parts->tensors[0]);
  return order_lanes(t, stage, -1, t->d->s->stages[stage].op->n_axes - 1, -1);
}

/* The reduction in lanes of a vector, these halved again and again: all in the loop around a tile. */
static bool sum_in_lanes(const tiling *t, const tn_tensor *sums, int loop) {
  generic_parts parts = {0};
  if (!part_lanes(t, sums, &parts)) return false;
  int stage = generic_stage(t->d, sums);
  const schedule_stage *st = &t->d->s->stages[stage];
  for (int64_t width = t->lanes / 2; width > 1; width /= 2) {
    st = &t->d->s->stages[stage = generic_stage(t->d, sums)];
    if (!generic_part_once(t->d, sums, st->leaves[st->n_leaves - 1], width, &parts)) return false;
  }
  st = &t->d->s->stages[stage = generic_stage(t->d, sums)];
  if (!generic_annotate(t->d, stage, st->leaves[st->n_leaves - 1], SCHEDULE_UNROLL)) return false;
  if (!generic_attach(t->d, sums, t->root, loop)) return false;
  for (int i = parts.n - 1; i >= 0; i--)
    if (!generic_attach(t->d, parts.tensors[i], t->root, loop)) return false;
  return true;
}

/* The loops of sums beside columns: a vector has all columns and some steps along the axis STEP. */
static bool order_beside(const tiling *t, int stage, int step) {
  int sets = -1, lane;
  if (t->c[TILE_VECTORS] > 1 && !generic_split(t->d, stage, step, t->c[TILE_LANES], &sets, &step)) return false;
  return order_lanes(t, stage, sets, step, -1) && generic_fuse(t->d, stage, 2, (int[]){t->f->v, step}, &lane) &&
         generic_annotate(t->d, stage, lane, SCHEDULE_VECTORIZE);
}

/* Vectors of sums lie one behind the other: "[d0, d1, d2] -> [d0, d2//4, d1, d2%4]" of the steps d2. */
static bool lay_beside(const tiling *t, int stage) {
  int n = t->f->reads.n_data, steps = t->c[TILE_LANES];
  runtime_str text = {0};
  if (t->c[TILE_VECTORS] == 1) return true;
  generic_map_begin(&text, n + 1);
  for (int k = 0; k < n - 1; k++) runtime_str_addf(&text, "d%d, ", k);
  runtime_str_addf(&text, "d%d//%d, d%d, d%d%%%d]", n, steps, n - 1, n, steps);
  if (text.failed) runtime_arena_lacks(t->d->arena);
  bool ok = !text.failed && schedule_transform_layout(t->d->s, stage, text.data) == TN_OK;
  runtime_str_free(&text);
  return ok;
}

/* Steps of the reduction beside each of a few columns, in vectors that are added up by columns: all in the loop around a tile. */
static bool sum_beside(const tiling *t, const tn_tensor *sums, int loop) {
  const tile_facts *f = t->f;
  int order[SCHEDULE_MAX_AXES], n = 0, steps = t->c[TILE_LANES] * t->c[TILE_VECTORS];
  const tn_tensor *parts = generic_part_steps(t->d, sums, f->reads.n_axes - 1, steps);
  int stage = parts != NULL ? generic_stage(t->d, parts) : -1;
  if (stage < 0 || !lay_beside(t, stage) || !order_beside(t, stage, f->reads.n_data)) return false;
  if (schedule_set_scope(t->d->s, stage, "local") != TN_OK) return false;
  stage = generic_stage(t->d, sums);
  const schedule_stage *st = &t->d->s->stages[stage];
  int step = st->leaves[st->n_leaves - 1];
  for (int a = 0; a < f->reads.n_data; a++)
    if (a != f->v) order[n++] = a;
  order[n++] = step, order[n++] = f->v;
  if (!generic_order(t->d, stage, n, order) || !generic_annotate(t->d, stage, step, SCHEDULE_UNROLL)) return false;
  return generic_annotate(t->d, stage, f->v, SCHEDULE_VECTORIZE) && generic_attach(t->d, sums, t->root, loop) &&
         generic_attach(t->d, parts, t->root, loop);
}

/* The sums, and what is copied for them: sums first, whose reads the copies are for. */
static bool make_stages(const tiling *t, const tn_tensor **sums, const tn_tensor **copy, const tn_tensor **left) {
  *copy = *left = NULL;
  if (!make_sums(t, sums) || (t->f->is_across && !turn_sums(t, *sums))) return false;
  if (t->c[TILE_PACK] && !(tile_is_woven(t->c) ? weave : pack)(t, *sums, copy)) return false;
  if (t->c[TILE_LEFT] && !pack_left(t, *sums, left)) return false;
  return tile_turned(t->f, t->c) < 0 || turn_operand(t, *sums);
}

bool tile_realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *value) {
  const tile_facts *f = facts;
  bool is_cut = value[TILE_DEPTH] != 0;
  tiling t = {.d = d, .g = g, .root = is_cut ? g->anchor : g->root, .f = f, .c = value, .lanes = tile_lanes(f, value)};
  const tn_tensor *sums, *copy, *left;
  int64_t extent = f->reads.extent[f->v];
  bool lanes = value[TILE_LANES] != 0;
  int64_t whole =
      value[TILE_PACK] && !lanes ? generic_ceil_div(extent, t.lanes) * t.lanes : extent; /* panels are padded */
  t.columns = RUNTIME_MIN(tile_columns(f, value), whole);
  if (f->block && f->block < t.columns) t.columns = f->block;
  bool is_narrow = value[TILE_WIDTH] < f->machine.vector_bytes && t.columns > t.lanes;
  t.by_lanes =
      !lanes && (is_narrow || value[TILE_VECTORS] > LONGEST_VECTOR || value[TILE_DOT] ||
                 (t.columns > t.lanes && extent % t.columns % t.lanes) || (t.columns % t.lanes && t.columns > t.lanes));
  bool is_woven = tile_is_woven(value);
  if (!make_stages(&t, &sums, &copy, &left) || !arrange_root(&t)) return false;
  int innermost = value[TILE_INNER] && t.u_tile >= 0 ? t.u_tile : t.v_panel;
  bool is_beside = tile_is_beside(value);
  if (lanes && !(is_beside ? sum_beside : sum_in_lanes)(&t, sums, innermost)) return false;
  if (!lanes && !generic_attach(d, sums, t.root, innermost)) return false;
  if (copy && !is_woven && !place_copy(&t, copy))
    return false; /* before dot products, which ask how far it may be read */
  if (left && !(tile_left_lies(f, value) ? place_apart(&t, left) : place_left(&t, left))) return false;
  if (!lanes && !arrange_tile(&t, generic_stage(d, sums), is_woven ? copy : NULL)) return false;
  if (value[TILE_PREFETCH] && !prefetch_next(&t, sums, copy ? copy : packed_read(&t)->tensor)) return false;
  if (t.root != g->root && !place_apart(&t, g->root)) return false;
  return !g->padding || place_padding(&t);
}
