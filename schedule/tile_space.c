/* tile_space.c: which plans the family `tile` has for a group: tiles, blocks, copies, cuts of the reduction; and which of these choices go
 * together. */
#include "schedule/cost.h"
#include "schedule/tile.h"

enum { MAX_VECTORS = 4, MAX_THIN = 8, MAX_ROWS = 30, MAX_LIMITED = 6 };

/* 1, 2, 3, 4, 6, 8, 12 ... up to MOST, and those that cut COUNT into equal parts. */
static void add_counts(plan_space *s, int field, int64_t count, int64_t most) {
  for (int64_t n = 1; n <= RUNTIME_MIN(count, most); n = n < 4 ? n + 1 : n * 3 / 2) plan_add(s, field, n);
  for (int64_t parts = 1; parts <= 16 && parts <= count; parts++)
    if (generic_ceil_div(count, parts) <= most) plan_add(s, field, generic_ceil_div(count, parts));
}

/* Rows of the shared operand that lie apart, which the processor does not guess. */
static bool can_prefetch(const tile_facts *f) {
  if (f->shared < 0 || f->block) return false;
  const generic_read *read = &f->reads.reads[f->shared];
  return read->stride[f->v] == 1 && !read->is_window && read->tensor != f->padding;
}

/* The last block may be shorter. */
bool tile_cut_of(const generic_reads *r, int64_t depth, tile_cut *out) {
  int64_t whole = 1;
  for (int a = r->n_axes - 1; depth > 0 && a >= r->n_data; whole *= r->extent[a--]) {
    if (depth >= whole * r->extent[a]) continue;
    if (depth % whole != 0) return false;
    *out =
        (tile_cut){.axis = a, .steps = depth / whole, .blocks = (double)generic_ceil_div(r->extent[a] * whole, depth)};
    for (int b = r->n_data; b < a; b++) out->blocks *= (double)r->extent[b];
    return true;
  }
  return false;
}

/* Blocks of the reduction near DEPTH steps: equal ones, or where the length has no such divisor the last is shorter. 0: none
 * fit. */
static int64_t depth_near(const generic_reads *r, int64_t depth) {
  int64_t whole = 1;
  for (int a = r->n_axes - 1; a >= r->n_data; whole *= r->extent[a--]) {
    if (depth >= whole * r->extent[a]) continue;
    int64_t steps = RUNTIME_MAX(depth / whole, 1), least = RUNTIME_MAX(steps / 2, 1);
    for (int64_t n = steps; n >= least; n--)
      if (r->extent[a] % n == 0) return n * whole;
    return steps * whole;
  }
  return 0;
}

/* So long that adding up is little beside them and that LLVM does not write the steps out, with all that they ask for at once; so
 * short that the rows of the shared operand are followed side by side. Of no use where the second cache holds that operand. A matrix
 * that a single row goes over is read nearly as it lies, in blocks of few steps, whose sums stay in the first cache. */
static void add_depths(const tile_facts *f, plan_space *s) {
  enum { LEAST = 16, LEAST_OF_ROW = 4, LEAST_OF_DOTS = 8, MOST = 512 };
  plan_add(s, TILE_DEPTH, 0);
  int level = f->can_cut ? cost_level(&f->machine, generic_bytes(f->reads.reads[f->shared].tensor)) : 0;
  if (level <= 2) return;
  int64_t least = tile_is_single_row(f) ? LEAST_OF_ROW : f->can_weave && f->dot ? LEAST_OF_DOTS : LEAST;
  for (int64_t depth = least; depth <= MOST && (double)(2 * depth) <= f->reduced; depth *= 2) {
    int64_t near = depth_near(&f->reads, depth);
    if (near > 0) plan_add(s, TILE_DEPTH, RUNTIME_MAX(near, least));
  }
}

/* As many as few rows leave registers for: columns of few rows are read in long runs. With sums in lanes a tile may have
 * all of a few columns. */
static void add_vectors(const tile_facts *f, plan_space *s) {
  enum { OTHERS = 4 };
  int64_t rows = f->rows_block ? f->rows_block : tile_extent_of(f, f->u);
  int64_t most = (f->machine.vector_registers - OTHERS) / rows;
  bool is_thin = (f->can_lane || f->dots_lie) && tile_extent_of(f, f->v) <= MAX_THIN;
  most = RUNTIME_MAX(most, is_thin ? MAX_THIN : MAX_VECTORS);
  for (int64_t n = 1; n <= most; n += n < MAX_THIN ? 1 : 4) plan_add(s, TILE_VECTORS, n);
}

/* A tile's rows share an operand: all do, or those of a block, of which a tile has a part. Addresses of few limited rows fit the general
 * registers. */
static void add_rows(const tile_facts *f, plan_space *s) {
  int64_t most = f->limits_rows ? MAX_LIMITED : MAX_ROWS;
  for (int64_t n = 1; n <= RUNTIME_MIN(tile_extent_of(f, f->u), most); n++)
    if (f->rows_block % n == 0) plan_add(s, TILE_ROWS, n);
  for (int64_t n = 1; n <= RUNTIME_MIN(tile_extent_of(f, f->u2), MAX_ROWS); n++) plan_add(s, TILE_ROWS2, n);
}

/* The first value of each field is the plainest: full width, one vector, nothing packed. */
void tile_space(const void *facts, plan_space *s) {
  const tile_facts *f = facts;
  int64_t rows = tile_extent_of(f, f->u), lanes = f->machine.vector_bytes / f->bytes;
  for (int64_t width = f->machine.vector_bytes; width >= 16 && width >= 2 * f->bytes; width /= 2)
    plan_add(s, TILE_WIDTH, width);
  add_vectors(f, s);
  add_rows(f, s);
  bool can_lane = f->can_lane || f->dots_lie;
  if (f->far < 0 || can_lane || f->apart[f->far] > 0) plan_add(s, TILE_PACK, 0);
  /* What other reads of the tensor need is more than a block. */
  bool is_alone = f->can_pack && tile_reads_of(&f->reads, f->reads.reads[f->shared].tensor) == 1;
  if (is_alone) plan_add(s, TILE_PACK, 1);
  if (f->can_pack) plan_add(s, TILE_PACK, 2);
  if (f->can_weave && f->dots_across) plan_add(s, TILE_PACK, TILE_PACK_WOVEN);
  int64_t columns = tile_extent_of(f, f->v); /* where they are fewer than lanes, these go along the reduction */
  if (can_lane && columns <= MAX_THIN)
    plan_add(s, TILE_PANELS, columns); /* all, so that the other operand is read once */
  add_counts(s, TILE_PANELS, can_lane && columns <= lanes ? columns : generic_ceil_div(columns, lanes), 64);
  plan_add(s, TILE_BLOCK, 0);
  add_counts(s, TILE_BLOCK, rows, 64);
  add_depths(f, s);
  for (int i = 0; i < 2; i++) {
    plan_add(s, TILE_ORDER, i);
    plan_add(s, TILE_INNER, i);
    if (i == 0 || can_prefetch(f)) plan_add(s, TILE_PREFETCH, i);
    if (i == 0 || f->dot) plan_add(s, TILE_DOT, i);
    if (i == 0 || can_lane) plan_add(s, TILE_LANES, i);
    if (i == 0 || generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, TILE_THREADS, i);
    if (i == 0 || f->padding) plan_add(s, TILE_PADDING, i);
    if (i == 0 || f->n_parities) plan_add(s, TILE_PARITY, i);
    if (i == 0 || f->left >= 0) plan_add(s, TILE_LEFT, i);
  }
  for (int64_t steps = 2; tile_goes_beside(f, steps); steps *= 2) plan_add(s, TILE_LANES, steps);
}

/* ---- plans whose choices fit each other ------------------------------------------------------------------------------ */

bool tile_is_in_panels(const tile_facts *f, const int32_t *c, int read) {
  const generic_read *reads = f->reads.reads;
  return c[TILE_PACK] && !tile_is_woven(c) &&
         (read == f->shared || (reads[read].tensor == reads[f->shared].tensor && reads[read].stride[f->v] != 0));
}

bool tile_is_left(const tile_facts *f, const int32_t *c, int read) { return c[TILE_LEFT] && read == f->left; }

bool tile_is_constant(const generic_read *read) { return read->tensor->is_layout_free; }

bool tile_is_widened(const tile_facts *f, const int32_t *c, int read) {
  const tn_tensor *tensor = f->reads.reads[read].tensor;
  bool is_half = tensor->dtype == TN_F16 || tensor->dtype == TN_BF16;
  bool is_copied = tile_is_in_panels(f, c, read) || tile_is_left(f, c, read);
  return is_half && is_copied && !c[TILE_DOT] && f->reads.op->outputs[0].dtype == TN_F32 &&
         !tile_is_constant(&f->reads.reads[read]);
}

/* Sums, one operand's vectors and one more must fit into the registers. */
static bool fits_registers(const tile_facts *f, const int32_t *c) {
  int64_t sums = (int64_t)c[TILE_VECTORS] * c[TILE_ROWS] * c[TILE_ROWS2];
  int64_t others = c[TILE_DOT] && f->dot_halves   ? 2 * c[TILE_VECTORS] + 3
                   : c[TILE_DOT] && f->dot_signed ? 2 * c[TILE_VECTORS] + 2
                                                  : c[TILE_VECTORS] + 1;
  if (tile_is_woven(c)) others += f->dot_group;
  if (c[TILE_ROWS] * c[TILE_ROWS2] == 1 && !c[TILE_DOT]) others = 2; /* what is used once is loaded where it is used */
  if (tile_is_unrolled(f) && c[TILE_ROWS2] > 1) return false;        /* all that two rows read stays in registers */
  if (tile_is_unrolled(f)) others = f->machine.vector_registers / 2; /* so does what columns share */
  return sums + others <= f->machine.vector_registers;
}

/* Blocks of the reduction. Results of vectors that go across lie apart in memory, where blocks would add to them. */
static bool depth_goes(const tile_facts *f, const int32_t *c) {
  tile_cut cut;
  /* What is packed as a whole is read in order anyway; a block of it is packed when it is used (GotoBLAS). */
  bool needs_whole = c[TILE_LANES] || c[TILE_PADDING] || (c[TILE_DOT] && !tile_is_woven(c)) || c[TILE_PACK] == 2;
  if (!c[TILE_DEPTH]) return true;
  if (needs_whole || !tile_cut_of(&f->reads, c[TILE_DEPTH], &cut)) return false;
  if (c[TILE_DOT] && (cut.axis != f->reads.n_axes - 1 || cut.steps % f->dot_group != 0)) return false;
  return !f->is_across || f->reads.extent[f->reads.n_data - 1] <= 1;
}

/* Vectors of columns are none of them empty; those of steps begin all with one. */
static bool has_full_vectors(const tile_facts *f, const int32_t *c) {
  if (tile_is_beside(c)) return c[TILE_LANES] * c[TILE_VECTORS] <= f->reads.extent[f->reads.n_axes - 1];
  return tile_columns(f, c) / c[TILE_VECTORS] * (c[TILE_VECTORS] - 1) < f->reads.extent[f->v];
}

/* Sums of dot products: in lanes, or each of a column of the operand that is copied, or put side by side in registers. */
static bool dots_go(const tile_facts *f, const int32_t *c) {
  if (c[TILE_LEFT] || c[TILE_PREFETCH]) return false;
  if (c[TILE_LANES]) return c[TILE_LANES] == 1 && f->dots_lie;
  if (f->dot_axis < f->reads.n_axes - 1 && !tile_is_woven(c)) return false;
  /* Of a window that a single tile is wider than, the copy would be read behind its end. */
  bool is_wider = tile_columns(f, c) > f->reads.extent[f->v];
  if (tile_is_woven(c) && is_wider && f->reads.reads[f->shared].is_window) return false;
  return f->dots_across && c[TILE_PACK] && c[TILE_WIDTH] == f->machine.vector_bytes;
}

bool tile_goes_together(const tile_facts *f, const int32_t *c) {
  if (!fits_registers(f, c) || !depth_goes(f, c) || !has_full_vectors(f, c)) return false;
  if (c[TILE_PARITY] && c[TILE_LANES]) return false;
  if (c[TILE_LANES] && (c[TILE_PACK] || c[TILE_WIDTH] != f->machine.vector_bytes)) return false;
  if (c[TILE_DOT] ? !dots_go(f, c) : tile_is_woven(c)) return false;
  if (c[TILE_LANES] && c[TILE_DOT]) return true;
  if (c[TILE_LANES] == 1 && !f->can_lane && f->lie_turned >= 0) return false;
  if (f->far >= 0 && f->apart[f->far] == 0 && !c[TILE_PACK] && !c[TILE_LANES]) return false;
  if (c[TILE_LEFT] && (c[TILE_DEPTH] || c[TILE_ROWS] < 2)) return false;
  if (c[TILE_LEFT] && tile_is_beside(c)) return false;
  if (c[TILE_LEFT] && c[TILE_LANES] && (f->left == f->turned || !tile_is_widened(f, c, f->left))) return false;
  if (c[TILE_LEFT] && c[TILE_PADDING] && f->reads.reads[f->left].tensor == f->padding) return false;
  if (c[TILE_PREFETCH] && c[TILE_PACK] == 1 && c[TILE_PANELS] < 2) return false; /* the next panel is not yet packed */
  if (c[TILE_PREFETCH] && (c[TILE_LANES] || tile_columns(f, c) >= f->reads.extent[f->v])) return false;
  if (c[TILE_ROWS2] > 1 && !f->n_parities && c[TILE_ROWS] < f->reads.extent[f->u]) return false;
  if (f->turn && tile_columns(f, c) % f->turn) return false;
  if (f->block && f->block % RUNTIME_MIN(tile_columns(f, c), f->block)) return false;
  return !f->block || c[TILE_VECTORS] == 1 || tile_columns(f, c) <= f->block;
}
