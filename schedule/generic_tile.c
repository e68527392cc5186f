/* generic_tile.c: reductions that use data again: products and convolutions. A tile of accumulators is kept in vector
 * registers: some vectors along the last data axis by some rows of another axis that share what is loaded. What is read
 * against the grain, or in rows far apart, is packed into panels as wide as the tile; zeros around an input are
 * computed for a block of the output (TVM: dense_pack, conv2d_NCHWc and the like, without changed layouts at the
 * border). */
#include <math.h>

#include "schedule/generic.h"

enum {
  MAX_VECTORS = 4,     /* of a tile along the last axis ... */
  MAX_ROW_VECTORS = 8, /* ... where there are no rows */
  FREE_REGISTERS = 4,  /* for what is loaded */
  LEAST_REUSE = 8,     /* rows that make packing worth it */
  FAR_APART_BYTES = 1024,
  MAX_UNROLLED = 25, /* steps of a filter */
  FEW_CHANNELS = 16
};

/* ---- the tile ---------------------------------------------------------------------------------------------------- */

/* Cycles of one step of the reduction: two multiply-adds a cycle, in chains of four cycles; loads are partly hidden,
 * those of vectors, which come from farther away, less. */
static double step_cycles(int64_t vectors, int64_t rows) {
  double work = (double)(vectors * rows) / 2;
  return fmax(work, 4) + 0.4 * (double)vectors + 0.1 * (double)rows;
}

/* Of a whole line of tiles of N elements in tiles of SIZE; the rest is a smaller tile. */
static double line_cycles(int64_t n, int64_t rows, int64_t vectors) {
  return (double)(n / rows) * step_cycles(vectors, rows) + (n % rows ? step_cycles(vectors, n % rows) : 0);
}

typedef struct tile {
  const tn_tensor *anchor;
  generic_reads reads;
  int v, u, u2;                 /* data axes: of vectors, of rows, of more rows; -1: none */
  int64_t columns, rows, rows2; /* lengths of the tile */
  int packed;                   /* the read that is packed, or -1 */
  double reduced;               /* steps of the reduction */
  double reused_bytes;          /* what all rows share */
  bool is_window, is_depthwise;
} tile;

static double tile_cycles(const tile *t, int64_t lanes, int64_t vectors, int64_t rows) {
  int64_t extent = t->reads.extent[t->v], width = vectors * lanes, n_rows = t->u < 0 ? 1 : t->reads.extent[t->u];
  int64_t rest = extent % width, rest_vectors = (rest + lanes - 1) / lanes;
  double cycles = (double)(extent / width) * line_cycles(n_rows, rows, vectors);
  if (rest) cycles += line_cycles(n_rows, rows, rest_vectors) * (rest % lanes ? 2 : 1);
  return cycles;
}

static void choose_tile(const generic_plan *p, tile *t, int64_t lanes) {
  int64_t n_rows = t->u < 0 ? 1 : t->reads.extent[t->u], block = 0;
  double best = INFINITY;
  for (int i = 0; i < t->reads.n; i++) block = RUNTIME_MAX(block, t->reads.reads[i].block[t->v]);
  int64_t budget = p->machine.vector_registers - FREE_REGISTERS;
  int64_t most = n_rows == 1 ? MAX_ROW_VECTORS : MAX_VECTORS;
  *t = (tile){.anchor = t->anchor,
              .reads = t->reads,
              .v = t->v,
              .u = t->u,
              .u2 = t->u2,
              .packed = t->packed,
              .reduced = t->reduced,
              .reused_bytes = t->reused_bytes,
              .is_window = t->is_window,
              .is_depthwise = t->is_depthwise,
              .columns = lanes,
              .rows = 1,
              .rows2 = 1};
  for (int64_t vectors = 1; vectors <= most; vectors *= 2) {
    if ((vectors - 1) * lanes >= t->reads.extent[t->v] || (block && block % (vectors * lanes))) continue;
    for (int64_t rows = 1; rows <= n_rows && rows * vectors <= budget; rows++) {
      double cycles = tile_cycles(t, lanes, vectors, rows);
      if (cycles > best * 0.999) continue;
      best = cycles;
      t->columns = RUNTIME_MIN(vectors * lanes, t->reads.extent[t->v]), t->rows = rows;
    }
  }
  if (block && block < lanes) t->columns = block;
  int64_t used = (t->columns + lanes - 1) / lanes * t->rows;
  if (t->u2 < 0 || t->rows < n_rows || used * 2 > budget) return;
  t->rows2 = RUNTIME_MIN(budget / used, t->reads.extent[t->u2]);
  for (int64_t d = t->rows2; d > t->rows2 / 2; d--)
    if (t->reads.extent[t->u2] % d == 0) {
      t->rows2 = d;
      break;
    }
}

/* ---- what can be tiled ------------------------------------------------------------------------------------------- */

static bool is_reused_along(const generic_read *read, const generic_reads *r, int axis) {
  return r->extent[axis] > 1 && read->is_known[axis] && read->stride[axis] == 0 && read->block[axis] == 0;
}

static double reuse(const generic_read *read, const generic_reads *r) {
  double n = 1;
  for (int a = 0; a < r->n_data; a++) n *= is_reused_along(read, r, a) ? (double)r->extent[a] : 1;
  return n;
}

/* Reading along the vector axis with a stride is worth a packed copy. */
static bool can_be_packed(const generic_plan *p, const generic_reads *r, const generic_read *read) {
  int v = r->n_data - 1, reads_of_it = 0;
  for (int i = 0; i < r->n; i++) reads_of_it += r->reads[i].tensor == read->tensor;
  if (generic_stage(p, read->tensor) < 0 || reads_of_it != 1) return false;
  return !read->is_window && read->dim[v] >= 0 && read->tensor->ndim < TN_MAX_RANK && reuse(read, r) >= LEAST_REUSE;
}

/* The axis of rows: along it some of what is loaded as vectors stays the same. The last before BEFORE; -1: none. */
static int row_axis(const generic_reads *r, int before) {
  int v = r->n_data - 1;
  for (int a = before - 1; a >= 0; a--) {
    for (int i = 0; i < r->n; i++)
      if ((!r->reads[i].is_known[v] || r->reads[i].stride[v]) && is_reused_along(&r->reads[i], r, a)) return a;
  }
  return -1;
}

static bool describe(const generic_plan *p, int stage, tile *t) {
  generic_reads *r = &t->reads;
  *t = (tile){.anchor = p->s->stages[stage].tensors, .packed = -1, .reduced = 1};
  if (!generic_read_all(p, stage, r) || r->n_data == 0 || r->op->n_outputs > 1 || r->op->body->op != TIR_REDUCE ||
      r->n < 2)
    return false;
  t->v = r->n_data - 1;
  bool along = false, reused = false, all_along = true;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[t->v] || (read->block[t->v] && read->stride[t->v])) return false;
    bool is_far = read->stride[t->v] != 0 && read->stride[t->v] != 1;
    if (is_far && (t->packed >= 0 || !can_be_packed(p, r, read))) return false;
    if (is_far) t->packed = i;
    along |= read->stride[t->v] != 0;
    all_along &= read->stride[t->v] != 0;
    reused |= reuse(read, r) > 1;
    t->is_window |= read->is_window;
  }
  t->is_depthwise = all_along && t->is_window;
  for (int a = r->n_data; a < r->n_axes; a++) t->reduced *= (double)r->extent[a];
  return along && reused && r->extent[t->v] > 1;
}

bool generic_is_tileable(const generic_plan *p, int stage, bool *is_window, bool *is_depthwise) {
  tile t;
  bool can = describe(p, stage, &t);
  *is_window = can && t.is_window;
  *is_depthwise = can && t.is_depthwise;
  return can;
}

bool generic_is_against_the_grain(const generic_plan *p, int stage) {
  tile t;
  return describe(p, stage, &t) && t.packed >= 0;
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* The operand that all rows share. -1: none. */
static int shared_read(const tile *t) {
  for (int i = 0; i < t->reads.n && t->u >= 0; i++)
    if (t->reads.reads[i].stride[t->v] && is_reused_along(&t->reads.reads[i], &t->reads, t->u)) return i;
  return -1;
}

static void measure_shared(tile *t) {
  int shared = shared_read(t);
  if (shared < 0) return;
  const generic_read *read = &t->reads.reads[shared];
  t->reused_bytes = (double)tn_dtype_bytes(read->tensor->dtype) * (double)t->reads.extent[t->v];
  for (int a = t->reads.n_data; a < t->reads.n_axes; a++)
    t->reused_bytes *= read->stride[a] ? (double)t->reads.extent[a] : 1;
}

/* A shared operand that is read row by row, rows far apart, and larger than the first cache. */
static void choose_packed(const generic_plan *p, tile *t) {
  int shared = shared_read(t);
  if (t->packed >= 0 || t->is_window || shared < 0) return;
  const generic_read *read = &t->reads.reads[shared];
  int64_t bytes = (int64_t)tn_dtype_bytes(read->tensor->dtype), row = 0;
  for (int a = t->reads.n_data; a < t->reads.n_axes; a++) row = RUNTIME_MAX(row, llabs(read->stride[a]) * bytes);
  bool pays = row >= FAR_APART_BYTES && t->reused_bytes > (double)p->machine.cache_bytes[1];
  if (pays && t->reads.extent[t->u] >= LEAST_REUSE * t->rows && can_be_packed(p, &t->reads, read)) t->packed = shared;
}

/* "[d0, d1] -> [d1//32, d0, d1%32]" */
static bool panel_map(const tile *t, char *out, size_t n) {
  const generic_read *read = &t->reads.reads[t->packed];
  int dim = read->dim[t->v], ndim = read->tensor->ndim;
  runtime_str map = {0};
  for (int d = 0; d < ndim; d++) runtime_str_addf(&map, "%sd%d", d ? ", " : "[", d);
  runtime_str_addf(&map, "] -> [d%d//%lld", dim, (long long)t->columns);
  for (int d = 0; d < ndim; d++)
    if (d != dim) runtime_str_addf(&map, ", d%d", d);
  runtime_str_addf(&map, ", d%d%%%lld]", dim, (long long)t->columns);
  bool ok = !map.failed && map.n < n;
  if (ok) memcpy(out, map.data, map.n + 1);
  runtime_str_free(&map);
  return ok;
}

/* Copies the packed operand for the anchor into panels, whose columns are copied as vectors. */
static bool pack(generic_plan *p, const tile *t, const tn_tensor *reader, const tn_tensor **copy) {
  const generic_read *read = &t->reads.reads[t->packed];
  int from = generic_stage(p, read->tensor), by = generic_stage(p, reader), outer, inner, order[2 * TN_MAX_RANK], n = 0;
  int dim = read->dim[t->v];
  char map[256];
  if (!panel_map(t, map, sizeof map) || schedule_cache_read(p->s, from, "global", 1, &by) != TN_OK) return false;
  *copy = p->s->stages[from + 1].tensors;
  if (schedule_transform_layout(p->s, from + 1, map) != TN_OK) return false;
  if (!generic_split(p, from + 1, dim, t->columns, &outer, &inner)) return false;
  for (int d = 0; d < read->tensor->ndim; d++)
    if (d != dim) order[n++] = d;
  order[n++] = outer, order[n++] = inner;
  return generic_order(p, from + 1, n, order) && generic_annotate(p, from + 1, inner, SCHEDULE_VECTORIZE);
}

/* ---- loops around tiles ------------------------------------------------------------------------------------------ */

typedef struct around {
  int n_outer, outer[TN_MAX_RANK];           /* axes that are not tiled */
  int v_block, v_panel, v_in;                /* blocks of panels, panels, columns */
  int u_block, u_tile, u_in, u2_tile, u2_in; /* -1 where there is none */
  bool panels_first;                         /* panels outside of all else: the operand is large */
} around;

static int64_t outer_iterations(const tile *t, const around *a) {
  int64_t n = 1;
  for (int i = 0; i < a->n_outer; i++) n *= t->reads.extent[a->outer[i]];
  return n;
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Panels in a block: half of the second cache, and enough blocks for the threads. */
static int64_t panels_in_block(const generic_plan *p, const tile *t, int64_t wanted_blocks) {
  int64_t panels = ceil_div(t->reads.extent[t->v], t->columns);
  double panel_bytes = t->reused_bytes / (double)t->reads.extent[t->v] * (double)t->columns;
  int64_t fit = panel_bytes > 0 ? (int64_t)((double)p->machine.cache_bytes[2] / 2 / panel_bytes) : panels;
  fit = RUNTIME_MAX(RUNTIME_MIN(fit, panels), 1);
  return RUNTIME_MAX(RUNTIME_MIN(fit, panels / wanted_blocks), 1);
}

static bool split_rows(generic_plan *p, int stage, const tile *t, int64_t blocks, around *a) {
  a->u_block = a->u_tile = a->u_in = a->u2_tile = a->u2_in = -1;
  if (t->u2 >= 0 && t->rows2 > 1 && !generic_split(p, stage, t->u2, t->rows2, &a->u2_tile, &a->u2_in)) return false;
  if (t->u < 0) return true;
  if (!generic_split(p, stage, t->u, t->rows, &a->u_tile, &a->u_in)) return false;
  int64_t tiles = ceil_div(t->reads.extent[t->u], t->rows);
  if (blocks < 2 || tiles < 2) return true;
  return generic_split(p, stage, a->u_tile, ceil_div(tiles, RUNTIME_MIN(blocks, tiles)), &a->u_block, &a->u_tile);
}

/* Splits the root's axes. Blocks of panels and of rows are for threads where the other axes are too few. */
static bool split_axes(generic_plan *p, int stage, const tile *t, double ns, around *a) {
  a->n_outer = 0;
  for (int d = 0; d < t->v; d++)
    if (d != t->u && (d != t->u2 || t->rows2 == 1)) a->outer[a->n_outer++] = d;
  int64_t threads = generic_is_worth_threads(p, ns) ? p->machine.threads : 1, have = outer_iterations(t, a);
  a->panels_first = t->is_window && !t->is_depthwise && t->reused_bytes > (double)p->machine.cache_bytes[2];
  int64_t wanted = have >= 2 * threads || threads == 1 ? 1 : 2 * threads;
  int64_t panels = ceil_div(t->reads.extent[t->v], t->columns),
          per_block = panels_in_block(p, t, RUNTIME_MIN(wanted, panels));
  if (a->panels_first) per_block = 1;
  int64_t have_blocks = have * ceil_div(panels, per_block);
  int64_t row_blocks = wanted > 1 && have_blocks < wanted && !a->panels_first ? ceil_div(wanted, have_blocks) : 1;
  return generic_split(p, stage, t->v, t->columns, &a->v_panel, &a->v_in) &&
         generic_split(p, stage, a->v_panel, per_block, &a->v_block, &a->v_panel) &&
         split_rows(p, stage, t, row_blocks, a);
}

static void put(int *n, int *order, int axis) {
  if (axis >= 0) order[(*n)++] = axis;
}

/* *N_SHARED: how many of the outer loops may be shared among threads. */
static int list_loops(const around *a, int *order, int *n_shared) {
  int n = 0;
  if (a->panels_first) put(&n, order, a->v_block);
  for (int i = 0; i < a->n_outer; i++) put(&n, order, a->outer[i]);
  if (!a->panels_first) put(&n, order, a->v_block), put(&n, order, a->u_block);
  *n_shared = n;
  put(&n, order, a->u2_tile), put(&n, order, a->u_tile), put(&n, order, a->v_panel);
  put(&n, order, a->u2_in), put(&n, order, a->u_in), put(&n, order, a->v_in);
  return n;
}

/* ---- inside of a tile -------------------------------------------------------------------------------------------- */

/* The last two reduction axes as one, where the reads walk on: rows of a filter with few channels. */
static bool join_channels(generic_plan *p, int stage, const tile *t) {
  const generic_reads *r = &t->reads;
  int last = r->n_axes - 1, fused;
  if (r->n_axes - r->n_data < 2 || r->extent[last] > FEW_CHANNELS) return true;
  for (int i = 0; i < r->n; i++)
    if (r->reads[i].stride[last - 1] != r->reads[i].stride[last] * r->extent[last]) return true;
  return generic_fuse(p, stage, 2, (int[]){last - 1, last}, &fused);
}

/* Reduction loops around the accumulators' loops. */
static bool arrange_tile(generic_plan *p, int stage, const tile *t) {
  int order[SCHEDULE_MAX_AXES], n = 0;
  if (t->is_window && !t->is_depthwise && !join_channels(p, stage, t)) return false;
  const schedule_stage *st = &p->s->stages[stage];
  for (int a = 0; a < t->v; a++)
    if (a != t->u && a != t->u2) order[n++] = a;
  for (int i = 0; i < st->n_leaves; i++)
    if (st->leaves[i] >= t->reads.n_data) order[n++] = st->leaves[i];
  put(&n, order, t->u2), put(&n, order, t->u), put(&n, order, t->v);
  if (!generic_order(p, stage, n, order) || !generic_annotate(p, stage, t->v, SCHEDULE_VECTORIZE)) return false;
  for (int a = t->reads.n_data; t->is_depthwise && t->reduced <= MAX_UNROLLED && a < t->reads.n_axes; a++)
    if (!generic_annotate(p, stage, a, SCHEDULE_UNROLL)) return false;
  return true;
}

static bool attach(generic_plan *p, const tn_tensor *tensor, const tn_tensor *root, int axis) {
  int to = generic_stage(p, root), at = schedule_leaf_position(&p->s->stages[to], axis);
  return at >= 0 && schedule_compute_at(p->s, generic_stage(p, tensor), to, at) == TN_OK;
}

/* Zeros around an input, for a block of the output; or before all, when that would repeat too much. */
static bool place_padding(generic_plan *p, const generic_group *g, const around *a, int loop) {
  int stage = generic_stage(p, g->padding);
  generic_reads r;
  if (loop >= 0 && !a->panels_first) return generic_inner_injective(p, stage) && attach(p, g->padding, g->root, loop);
  generic_group alone = {.root = g->padding};
  if (generic_read_all(p, stage, &r)) alone.ns = generic_cost_ns(p, &r);
  return generic_injective(p, &alone);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* The stage with the sums: what the root copies or reads point by point. */
static bool make_tile_stage(generic_plan *p, const generic_group *g, const tn_tensor **sums) {
  int stage = generic_stage(p, g->anchor);
  *sums = g->anchor;
  if (g->anchor != g->root) return schedule_set_scope(p->s, stage, "local") == TN_OK;
  if (schedule_cache_write(p->s, stage, "local") != TN_OK) return false;
  *sums = p->s->stages[stage].tensors;
  return true;
}

/* The loop in which what all tiles of a block share is computed: the fused one, or the last shared one after it. */
static int shared_loop(const generic_plan *p, const tn_tensor *root, int n_left) {
  const schedule_stage *st = &p->s->stages[generic_stage(p, root)];
  return st->leaves[n_left];
}

/* The innermost of the outer loops along which the padded input is read at other places. -1: there is none. */
static int padding_loop(const tile *t, const generic_group *g, const around *a, int fused, int n_fused) {
  const generic_read *read = NULL;
  for (int i = 0; i < t->reads.n; i++)
    if (t->reads.reads[i].tensor == g->padding) read = &t->reads.reads[i];
  for (int i = a->n_outer - 1; read && i >= 0; i--) {
    bool moves = !read->is_known[a->outer[i]] || read->stride[a->outer[i]] != 0;
    if (moves && t->reads.extent[a->outer[i]] > 1) return i < n_fused ? fused : a->outer[i];
  }
  return -1;
}

bool generic_tile(generic_plan *p, const generic_group *g) {
  tile t;
  around a;
  const tn_tensor *sums, *copy = NULL;
  int order[SCHEDULE_MAX_AXES], n_shared, loop, n_fused, stage = generic_stage(p, g->anchor);
  if (!describe(p, stage, &t)) return false;
  t.u = row_axis(&t.reads, t.v);
  t.u2 = t.u < 0 ? -1 : row_axis(&t.reads, t.u);
  measure_shared(&t);
  choose_tile(p, &t, generic_lanes(p, stage));
  choose_packed(p, &t);
  if (!make_tile_stage(p, g, &sums) || (t.packed >= 0 && !pack(p, &t, sums, &copy))) return false;
  stage = generic_stage(p, g->root);
  if (!split_axes(p, stage, &t, g->ns, &a)) return false;
  int n = list_loops(&a, order, &n_shared);
  if (!generic_order(p, stage, n, order) || !generic_annotate(p, stage, a.v_in, SCHEDULE_VECTORIZE)) return false;
  if (!generic_parallel(p, stage, n_shared, order, g->ns, &loop, &n_fused)) return false;
  int inner = a.v_panel;
  if (!attach(p, sums, g->root, inner) || !arrange_tile(p, generic_stage(p, sums), &t)) return false;
  int last_shared = shared_loop(p, g->root, n_shared - n_fused);
  if (copy && !attach(p, copy, g->root, last_shared)) return false;
  return !g->padding || place_padding(p, g, &a, padding_loop(&t, g, &a, loop, n_fused));
}
