/* family_strip.c: chains of stencils: filters of a few taps, differences, what is computed between them. The last
 * stage runs in tiles of rows and columns (a chain along one axis: of columns alone); what its windows read is computed
 * for a tile at a time, its margins anew for each, so that it stays in a cache; what is read point by point is computed
 * where it is used, in registers; what is cheap is inlined. In every stage some rows go together, so that taps along a
 * column share what they load. Vectors go along rows, threads over parts of the rows (Halide: compute_at the tiles of the consumer). */
#include <math.h>
#include <stdio.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "schedule/strip.h"

/* The fields of a plan; `fields` below says what each counts. */
enum {
  STRIP_ROWS,
  STRIP_COLUMNS,
  STRIP_TOGETHER,
  STRIP_VECTORS,
  STRIP_INLINED,
  STRIP_PARTS,
  STRIP_STREAM,
  STRIP_ROLLS,
  STRIP_WINDOWS,
  STRIP_FIELD_COUNT
};
enum { MAX_UNROLLED = 49, MAX_BODY = 800, MAX_CODE = 8000, MAX_WARM = 4, MOST_EVEN = 6, NONE = -1 };

static generic_sharing sharing_of(int way) {
  return (generic_sharing){.rows_last = way % 2 == 0, .in_parts = way > STRIP_WAYS / 2};
}

/* Of the chain with its windows taken apart, on a copy. */
static const strip_facts *facts_apart(const generic_draft *d, const generic_group *g, int way) {
  generic_draft copy = *d;
  generic_group chain;
  copy.s = tn_schedule_copy(d->s);
  bool is_chain = copy.s && generic_share_windows(&copy, g, sharing_of(way), &chain);
  const strip_facts *f = is_chain ? generic_strip_facts(&copy, &chain) : NULL;
  tn_schedule_free(copy.s);
  return f;
}

static const void *describe(const generic_draft *d, const generic_group *g) {
  strip_ways ways = {.facts = {generic_strip_facts(d, g)}};
  bool has_any = ways.facts[0] != NULL, has_windows = generic_has_windows(d, g);
  for (int way = 1; way < STRIP_WAYS && has_windows; way++) {
    ways.facts[way] = facts_apart(d, g, way);
    has_any |= ways.facts[way] != NULL;
  }
  strip_ways *kept = has_any ? RUNTIME_NEW(d->arena, strip_ways) : NULL;
  if (kept) *kept = ways;
  return kept;
}

/* NULL: there is no such way. */
static const strip_facts *facts_of(const strip_ways *ways, const int32_t *c) {
  int way = c[STRIP_WINDOWS];
  return way >= 0 && way < STRIP_WAYS ? ways->facts[way] : NULL;
}

/* ---- the space --------------------------------------------------------------------------------------------------- */

/* Nanoseconds of one thread without tiles: the arithmetic of all stages, or what is read and written where that
 * takes longer. It decides whether threads are worth it. */
static double ns_of(const strip_facts *f, const strip_level *level) {
  double ns = 0, points = (double)f->rows * (double)f->columns * f->shared;
  for (int i = 0; i < level->n; i++) {
    const strip_stage *s = &level->stages[i];
    double point = s->ops * cost_fma(&f->machine, f->machine.vector_bytes) + s->roots * f->machine.costs.root;
    ns += points / (double)f->lanes * s->lead * s->wide * point;
  }
  double streamed = f->read + f->written;
  return fmax(ns, streamed / COST_LINE * cost_line(&f->machine, cost_level(&f->machine, streamed), false));
}

/* The first value of each field makes the plainest plan, which ranking starts from. Threads are offered only where
 * the work is worth starting them. */
static void space(const void *facts, plan_space *s) {
  const strip_ways *ways = facts;
  const strip_facts *f = NULL;
  for (int way = STRIP_WAYS - 1; way >= 0; way--) f = ways->facts[way] ? ways->facts[way] : f;
  plan_add(s, STRIP_ROWS, RUNTIME_MIN(f->rows, 32));
  for (int64_t n = 4; n < f->rows && n <= 1024; n += n >= 32 ? n / 2 : 4) plan_add(s, STRIP_ROWS, n);
  plan_add(s, STRIP_ROWS, f->rows);
  plan_add(s, STRIP_COLUMNS, f->columns);
  int64_t most = f->rows > 1 ? 128 * f->lanes : f->columns;
  for (int64_t n = 4 * f->whole; n < f->columns && n <= most; n *= 2) plan_add(s, STRIP_COLUMNS, n);
  for (int k = 2; k <= MOST_EVEN; k++) { /* even tiles, whose last one is hardly moved back */
    int64_t n = (f->columns + k * f->whole - 1) / (k * f->whole) * f->whole;
    if (n >= 4 * f->whole && n < f->columns && n <= most) plan_add(s, STRIP_COLUMNS, n);
  }
  for (int n = 1; n <= 16 && n <= f->rows; n += n < 6 ? 1 : 2) plan_add(s, STRIP_TOGETHER, n);
  for (int n = 1; n <= 4; n *= 2) plan_add(s, STRIP_VECTORS, n);
  plan_add(s, STRIP_STREAM, 0);
  plan_add(s, STRIP_ROLLS, 0);
  for (int way = 0; way < STRIP_WAYS; way++) {
    const strip_facts *of = ways->facts[way];
    if (!of) continue;
    plan_add(s, STRIP_WINDOWS, way);
    for (int n = 0; n < of->n_levels; n++) plan_add(s, STRIP_INLINED, n);
    if (of->can_stream) plan_add(s, STRIP_STREAM, 1);
    if (of->levels[0]->n > 1) plan_add(s, STRIP_ROLLS, 1);
  }
  plan_add(s, STRIP_PARTS, 0);
  if (!generic_is_worth_threads_on(&f->machine, ns_of(f, f->levels[0]))) return;
  if (f->shared >= f->machine.threads || f->is_row) plan_add(s, STRIP_PARTS, 1);
  for (int n = 1; n <= 8; n *= 2)
    if (f->rows >= n * f->machine.threads) plan_add(s, STRIP_PARTS, n * f->machine.threads);
}

/* ---- the cost ---------------------------------------------------------------------------------------------------- */

/* The plan's numbers, cut to the chain: rows and columns of a tile, rows and columns of a block of registers, rows of a
 * part. */
typedef struct strip_shape {
  double rows, columns, together, vector, part;
  double vectors; /* registers of a block's row */
  double locals;  /* stages whose values of a block stay in registers until the last of them is there */
  bool rolls;     /* windows keep their rows from one row of blocks to the next */
  bool streams;   /* the root goes past the caches */
} strip_shape;

/* A plan's tile as it comes out: no dimension is longer than the one that it is cut from. */
static strip_shape shape_of(const strip_facts *f, const int32_t *c) {
  strip_shape s = {.part = ceil((double)f->rows / fmax(c[STRIP_PARTS], 1))};
  s.rows = fmin(c[STRIP_ROWS], s.part);
  s.columns = fmin(floor(c[STRIP_COLUMNS] / (double)f->channels) * (double)f->channels, (double)f->columns);
  s.together = fmin(c[STRIP_TOGETHER], s.rows);
  s.rolls = c[STRIP_ROLLS] > 0, s.streams = c[STRIP_STREAM] > 0;
  if (s.rolls) s.rows = floor(s.rows / fmax(s.together, 1)) * s.together; /* whole blocks */
  s.vector = fmin((double)c[STRIP_VECTORS] * (double)f->whole, s.columns);
  s.vectors = ceil(s.vector / (double)f->lanes);
  return s;
}

/* Rows (DIM 0) or columns of S that so many of the root take. */
static double extent(double of_root, const strip_stage *s, int dim) {
  return (of_root - s->unit[dim]) * s->scale[dim] + s->unit[dim] + s->high[dim] - s->low[dim];
}

/* Whether some stage goes on by more rows or columns than the root. */
static bool is_scaled(const strip_level *level) {
  bool is = false;
  for (int i = 0; i < level->n; i++) is |= level->stages[i].scale[0] != 1 || level->stages[i].scale[1] != 1;
  return is;
}

/* Whether rows of S, which share nothing, go one after the other: side by side they would be as many streams, pages apart. Rows of
 * the root that are not written past the caches stay side by side: of several streams the lines come from afar at a time. */
static bool goes_in_turn(const strip_shape *shape, const strip_stage *s) {
  return !s->shares && shape->together > 1 && (s->last_reader >= 0 || shape->streams);
}

/* The shape of one stage. Rows in turn have longer vectors instead, up to as many registers as a block has, where the columns leave
 * few of them empty. */
static strip_shape stage_shape(const strip_shape *shape, const strip_stage *s) {
  strip_shape own = *shape;
  double columns = extent(shape->columns, s, 1), least = INFINITY;
  double most = fmin(shape->together * shape->vectors, GENERIC_REGISTERS);
  if (!goes_in_turn(shape, s)) return own;
  own.together = 1;
  for (double n = shape->vectors; n <= fmax(most, shape->vectors); n *= 2) {
    double vector = shape->vector * n / shape->vectors, steps = ceil(columns / vector) * (n + 1);
    if (vector > columns || steps >= least) break;
    own.vectors = n, own.vector = vector, least = steps;
  }
  return own;
}

/* Vectors that a register's lanes lie in. */
static double woven(const strip_stage *s) { return s->is_woven ? 2 : 1; }

/* Vectors as long as a line are read once for all taps along a row, and put together by shuffles
 * (codegen/emit_near.c). */
static bool reads_once(const tn_machine *m, const strip_shape *shape, const strip_stage *s) {
  double taps = s->near * shape->together + s->columns, rows = s->rows * shape->together + s->more_rows;
  bool is_whole = s->is_woven && fmod(shape->vector * s->bytes, m->vector_bytes) == 0;
  return m->vector_bytes == COST_LINE && s->bytes >= 4 && taps > rows && (s->near_apart == 0 || is_whole);
}

/* What several rows share stays in registers from its first use to its last (of a sum that goes down the rows innermost: held_ns):
 * of stages that are no sums what COLUMNS registers the next rows share, beside the N values that are stored
 * when all are there. Where rows are read once, what was read stays, too: of a sum all rows, and weights, so that loads that
 * are more than twice the registers, with the sums, go to the stack and back; of other stages those of one row of the block.
 * What earlier stages of the block left in registers stays, too. */
static double spilled(const tn_machine *m, const strip_shape *shape, const strip_stage *s) {
  enum { OTHERS = 2 };
  double n = shape->together * shape->vectors, columns = s->columns * shape->vectors, loads = s->near * n + columns;
  double kept = s->is_local ? n * (shape->locals - 1) : 0, registers = fmax(m->vector_registers - kept, 1), ratio = 1;
  if (s->columns > 0 && s->reduces && reads_once(m, shape, s)) ratio = (n + loads) / (2 * registers);
  if (s->columns > 0 && !s->reduces) ratio = (n + columns + OTHERS) / registers;
  if (reads_once(m, shape, s)) {
    double rows =
        (s->kept_rows * (s->reduces ? shape->together : 1) + s->kept_more_rows) * (shape->vectors * woven(s) + 1) +
        (s->reduces ? s->fixed : 0);
    ratio = fmax(ratio, (n + rows + OTHERS + (s->reduces ? 0 : columns)) / registers);
  }
  return fmax(ratio, 1);
}

/* Rows of a sum whose lanes lie apart stay, with what is between, until the last tap that takes its lanes from between those of
 * another; those that no register holds go to the stack, and come back for some taps. */
static double between_ns(const tn_machine *m, const strip_shape *shape, const strip_stage *s) {
  enum { OTHERS = 2, TIMES = 7 };
  double rows = (shape->together - 1) * s->step + 1 + s->reach;
  double kept = (shape->together + rows * s->between) * shape->vectors + OTHERS;
  return s->between > 0 && s->reduces && !reads_once(m, shape, s)
             ? fmax(kept - m->vector_registers, 0) * TIMES * m->costs.load
             : 0;
}

/* Sums that go down the rows hold a row each beside the sums themselves, and weights: of those that no register holds each tap
 * stores and loads one. */
static double held_ns(const tn_machine *m, const strip_shape *shape, const strip_stage *s) {
  enum { OTHERS = 2 };
  double held = 2 * shape->together * shape->vectors + (s->fixed > 0 ? OTHERS : 0) - m->vector_registers;
  bool holds = s->columns > 0 && s->reduces && !reads_once(m, shape, s);
  return holds ? fmax(held, 0) * s->taps * 2 * m->costs.load : 0;
}

/* Lines of the rows that a block shares come again from the second cache where they fall into few sets of the first. */
static double crowded_ns(const strip_facts *f, const strip_shape *shape, const strip_stage *s) {
  const tn_machine *m = &f->machine;
  int rows = (int)(shape->together + s->reach), lines = (int)(shape->vector * s->bytes / COST_LINE) + 1;
  if (rows * s->planes <= m->cache_ways[1]) return 0;
  double lost = cost_crowded_planes(m, (int)s->planes, s->plane, rows, lines, s->stride, m->cache_ways[1]);
  return lost * s->planes * rows * lines * cost_line(m, 2, false);
}

/* Rows of the root that a block writes: those that are more in a set of the first cache than it has room for, or, where they are
 * written in parts of lines, than it keeps beside what is read, go to the second and come again. */
static double stored_ns(const strip_facts *f, const strip_shape *shape, const strip_stage *s) {
  const tn_machine *m = &f->machine;
  double bytes = shape->vector * s->bytes;
  bool whole = fmod(bytes, COST_LINE) == 0;
  if (s->last_reader >= 0 || (shape->streams && !whole)) return 0;
  int rows = (int)shape->together, lines = (int)ceil(bytes / COST_LINE);
  double lost = cost_crowded(m, rows, lines, f->row, whole ? m->cache_ways[1] : cost_ways(m));
  return lost * rows * lines * (cost_line(m, 2, false) + m->costs.write2);
}

/* Masks of a block of N registers, in the mean: all that it computes has them at both ends of a row. A block that is a whole row of no
 * whole registers has its lanes masked one by one. */
static double masks(const strip_facts *f, const strip_shape *shape, const strip_stage *s, double n) {
  double blocks = ceil((double)f->columns / shape->vector), lanes = (double)f->lanes;
  bool is_odd = blocks == 1 && fmod(shape->vector, lanes) != 0;
  return s->limits * n * fmin(2 / blocks, 1) * (is_odd ? lanes : 1);
}

/* Loads and arithmetic of a block of registers of one stage, and FIXED registers besides. Of loads that begin at any element the part that touches two lines
 * counts twice. Rows that are read once are one vector longer, a short one, and adders leave shuffles half of their time; sums of products leave
 * those that take every second lane out of two registers none, nor what else they wait for. */
static double busy_ns(const strip_facts *f, const strip_shape *shape, const strip_stage *s, double fixed) {
  static const double beside = 2.0 / 3;
  const tn_machine *m = &f->machine;
  double n = shape->together * shape->vectors, fma = cost_fma(m, m->vector_bytes), load = m->costs.load;
  double apart = fmax(m->vector_bytes - s->bytes, 0) / COST_LINE;
  bool is_root = s->last_reader < 0, is_whole = !is_root || f->is_row || fmod(f->row, COST_LINE) == 0;
  double stored = !is_root && s->is_local ? 0 : n * (is_whole ? 1 : 1 + apart);
  double taps = s->near * n + s->columns * shape->vectors, rows = s->rows * shape->together + s->more_rows;
  double spans = apart * (s->near_spans * n + s->columns_spans * shape->vectors);
  double ops =
      s->once * n + (s->ops - s->once) * shape->vectors + masks(f, shape, s, n); /* the first row shares nothing */
  double ns =
      fmax((taps + spans + fixed + stored) * load, ops * fma) + s->near_apart * n + s->columns_apart * shape->vectors;
  if (!reads_once(m, shape, s)) return ns;
  double loads = rows * shape->vectors * woven(s) * (1 + apart * s->row_spans) + stored + rows + fixed;
  bool waits = s->is_woven && s->reduces;
  double shuffles = s->is_woven ? taps : taps - rows * shape->vectors;
  double all = waits ? ops + shuffles + fixed : (ops + shuffles) * beside;
  return fmin(ns, fmax(loads * load, fmax(ops, all) * fma));
}

/* A load waits where what was just written lies as far into another page as what it reads. Each row that a block reads may meet each that
 * it writes so, as likely as the two overlap anywhere in a page. */
static double aliased_ns(const tn_machine *m, const strip_shape *shape, const strip_stage *s) {
  double written = s->last_reader >= 0 && s->is_local ? 0 : shape->together;
  double read = (shape->together + s->reach) * s->planes, width = shape->vectors * m->vector_bytes;
  return read * written * 2 * width / COST_PAGE * m->costs.chain;
}

/* Steps of a reduction that are written out, the innermost ones, of blocks of so many rows. */
static int64_t most_unrolled(double together) {
  return RUNTIME_MIN((int64_t)fmax(MAX_BODY / fmax(together, 1), 1), MAX_UNROLLED);
}

/* A block whose taps, all written out, come in the order in which they read (tir/pass_read_once.c): what is read stays until all rows
 * have taken it, with what it is shuffled from, and those weights for which no register is left are loaded for each row. What earlier stages
 * of the block left in registers stays, too. Taps that compute much more than a product read too much for that. Where every second lane is
 * taken out of what is read, LLVM moves sums that are more than a few to the stack and back for every second tap. */
static double in_reading_order_ns(const strip_facts *f, const strip_shape *shape, const strip_stage *s) {
  enum { OTHERS = 4, MOST_OPS = 2, FEW = 5 };
  double n = shape->together * shape->vectors, kept = s->is_local ? n * (shape->locals - 1) : 0;
  double read = reads_once(&f->machine, shape, s) ? 2 * woven(s) * shape->vectors + 1 : shape->vectors;
  double room = f->machine.vector_registers - n - kept - read - OTHERS;
  bool is_simple = s->reduces && s->columns > 0 && s->ops <= MOST_OPS * s->taps;
  bool is_possible = is_simple && s->taps <= (double)most_unrolled(shape->together) && room >= 0;
  double moved = s->is_woven ? fmax(n - f->machine.vector_registers / FEW, 0) * s->taps / 2 : 0;
  return is_possible ? busy_ns(f, shape, s, fmax(s->fixed - room, 0) * shape->together + moved) : INFINITY;
}

/* Sums that wait for each other are hidden in part by the blocks that follow; addresses and the loop are as long as one
 * sum's wait. */
static double block_ns(const strip_facts *f, const strip_shape *shape, const strip_stage *s) {
  static const double hidden = 0.5;
  const tn_machine *m = &f->machine;
  double waits = s->reduces ? s->taps * m->costs.chain * hidden : 0, busy = fmax(busy_ns(f, shape, s, s->fixed), waits);
  strip_stage sums = *s; /* spills lengthen what goes with loads, not what is computed of them */
  if (s->reduces) sums.ops = fmin(s->ops, s->taps), sums.once = fmin(s->once, s->taps);
  double spills = (spilled(m, shape, s) - 1) * fmax(busy_ns(f, shape, &sums, s->fixed), waits);
  double by_taps = busy + spills + held_ns(m, shape, s);
  return fmin(by_taps, fmax(in_reading_order_ns(f, shape, s), waits)) + between_ns(m, shape, s) +
         crowded_ns(f, shape, s) + stored_ns(f, shape, s) + aliased_ns(m, shape, s) + m->costs.chain;
}

/* What roots and quotients that take ROOTS add to a block that takes REST, nanoseconds of both: they hide beside it, unless it SPILLS:
 * stores of what no register holds, half of the registers at least, then wait behind what waits for them. */
static double roots_ns(double roots, double rest, double spills) {
  static const double most = 1.5;
  double waits = fmin((spills - 1) / (most - 1), 1);
  return waits * roots + (1 - waits) * fmax(roots - rest, 0);
}

/* Rows of blocks that a window is computed in before the first of the root's; later it is one for each of these. */
static double warm_blocks(const strip_shape *shape, const strip_stage *s) {
  return ceil(extent(shape->together, s, 0) / shape->together);
}

/* In which so many rows are computed TOGETHER. */
static double row_blocks(const strip_shape *shape, const strip_stage *s, double together) {
  double blocks = ceil(extent(shape->rows, s, 0) / together), rolled = shape->rows / shape->together - 1;
  return shape->rolls ? (rolled + warm_blocks(shape, s)) * shape->together / together : blocks;
}

/* Of a stage's buffer. The root has none when rows are kept. */
static double tile_bytes(const strip_shape *shape, const strip_stage *s) {
  double rows = shape->rolls ? warm_blocks(shape, s) * shape->together : extent(shape->rows, s, 0);
  return s->is_local || (shape->rolls && s->last_reader < 0) ? 0
                                                             : rows * extent(shape->columns, s, 1) * s->lead * s->bytes;
}

/* Bytes that are used between a write to a stage's buffer and the reading of it. Rows that are kept are used again after a
 * whole row of blocks of all stages, and of what is read from outside. */
static double bytes_between(const strip_facts *f, const strip_shape *shape, const strip_level *level, int at) {
  double between = 0;
  int first = shape->rolls ? 0 : RUNTIME_MAX(level->stages[at].last_reader, 0), last = shape->rolls ? level->n - 1 : at;
  for (int i = first; i <= last; i++) {
    const strip_stage *s = &level->stages[i];
    between += tile_bytes(shape, s);
    if (shape->rolls && s->last_reader < 0)
      between += extent(shape->together, &level->stages[level->n - 1], 0) * shape->columns * s->bytes * f->n_read;
  }
  return between;
}

/* Bytes that one tile after another uses: all buffers, what is read from outside and the root. */
static double cycle_bytes(const strip_facts *f, const strip_shape *shape, const strip_level *level) {
  double bytes = 0, outside = shape->rows * shape->columns * level->stages[0].bytes * f->n_read;
  for (int i = 0; i < level->n; i++) bytes += tile_bytes(shape, &level->stages[i]);
  return bytes + outside;
}

/* Its lines go from the first cache and come for the reading, those of rows that two blocks read twice. They are written again for
 * the next tile, and may have gone by then. A buffer that no near cache holds lies in memory that is new each time. */
static double buffer_ns(const strip_facts *f, const strip_shape *shape, const strip_level *level, int at) {
  const tn_machine *m = &f->machine;
  const strip_stage *s = &level->stages[at];
  double bytes = extent(shape->rows, s, 0) * extent(shape->columns, s, 1) * s->lead * s->bytes;
  double between = bytes_between(f, shape, level, at), since = cycle_bytes(f, shape, level) - between;
  int near = cost_level(m, between), written = shape->rolls ? near : cost_level(m, fmax(between, since));
  const strip_stage *reader = s->last_reader < 0 ? NULL : &level->stages[s->last_reader];
  double step = reader ? s->scale[0] / reader->scale[0] : 1;
  double again = reader ? fmax(reader->reach - (step - 1), 0) / (shape->together * step) : 0;
  double read = bytes / COST_LINE * cost_line(m, near, true) * (1 + again);
  return cost_write(m, bytes, written, true, false) + read + (near > 2 ? bytes / COST_LINE * m->costs.fresh : 0);
}

/* Nanoseconds of one tile. Arithmetic and the traffic of a stage's buffer overlap; the last stage and those in
 * registers have no buffer. */
static double tile_ns(const strip_facts *f, const strip_shape *shape, const strip_level *level) {
  double ns = 0, of_block = 0, roots_of_block = 0;
  double block_spilled = 1;
  for (int i = 0; i < level->n; i++) {
    const strip_stage *s = &level->stages[i];
    strip_shape own = stage_shape(shape, s);
    double blocks = row_blocks(shape, s, own.together) * ceil(extent(shape->columns, s, 1) / own.vector);
    own.vectors *= s->wide;
    double compute = blocks * s->lead * block_ns(f, &own, s);
    double roots = blocks * s->lead * own.together * own.vectors * s->roots * f->machine.costs.root;
    double spills = spilled(&f->machine, &own, s);
    if (i == 0 || s->is_local) {
      of_block += compute, roots_of_block += roots, block_spilled = fmax(block_spilled, spills);
      continue;
    }
    ns += cost_overlap(compute + roots_ns(roots, compute, spills), buffer_ns(f, shape, level, i));
  }
  return ns + of_block + roots_ns(roots_of_block, of_block, block_spilled);
}

/* A processor collects what goes past its caches line by line, for a few lines at a time: where rows go together, each row of a
 * block is whole lines, since what is gone before its other half came is written in parts. */
static bool streams_lines(const strip_facts *f, const strip_shape *shape) {
  double bytes = shape->vector * f->row / (double)f->columns;
  return shape->together == 1 || (fmod(bytes, COST_LINE) == 0 && fmod(f->row, COST_LINE) == 0);
}

/* Operations that are written out for all stages, those of windows that roll for each block in front of the first as well. LLVM takes
 * 0.05 ms for each. */
static double code_of(const strip_shape *shape, const strip_level *level) {
  double code = 0;
  for (int i = 0; i < level->n; i++) {
    const strip_stage *s = &level->stages[i];
    double copies = shape->rolls && i > 0 && !s->is_local ? warm_blocks(shape, s) + 1 : 1;
    strip_shape own = stage_shape(shape, s);
    code += own.together * own.vectors * fmin(s->ops, MAX_UNROLLED) * copies;
  }
  return code;
}

/* The block of a stage's accumulators fits the registers, and its body is not too long when it is written out, nor are all together. */
static bool fits(const strip_facts *f, const strip_shape *shape, const strip_level *level) {
  enum { OTHERS = 4 }; /* registers for what is loaded */
  double n = shape->together * shape->vectors, most = 1;
  int n_local = 1;
  for (int i = 0; i < level->n; i++) {
    most = fmax(most, fmin(level->stages[i].ops, MAX_UNROLLED));
    n_local += level->stages[i].is_local;
  }
  bool rolls = !shape->rolls || (shape->rows >= 2 * shape->together && !is_scaled(level) && !level->ends);
  for (int i = 1; i < level->n; i++)
    rolls &= !shape->rolls || level->stages[i].is_local || warm_blocks(shape, &level->stages[i]) <= MAX_WARM;
  if (!rolls || (shape->rolls && n_local == level->n)) return false;
  return n == 1 || (n * n_local <= f->machine.vector_registers - OTHERS && n * most <= MAX_BODY &&
                    code_of(shape, level) <= MAX_CODE);
}

/* Where a row of a tile of WIDTH bytes begins, as nobody guesses where it lies; a stream waits so once a page. */
static double begin_ns(const strip_facts *f, double place, double width) {
  const tn_machine *m = &f->machine;
  double lines = width / COST_LINE, near = cost_visit(m, (int)place, lines);
  if (width >= f->row || f->is_row) return 0;
  return fmax(1 - width / COST_PAGE, 0) *
         cost_between(place, near, cost_visit(m, RUNTIME_MIN((int)place + 1, 4), lines));
}

/* Lines that the last cache has room for, and loses before the next call asks for them, since others share their sets: from memory they
 * come later, and what is written goes there. Of arrays that it has no room for cost_missed counts the lines: from what is usable of
 * the cache to all of it one goes over into the other. */
static double lost_ns(const strip_facts *f, bool streams, bool is_shared) {
  const tn_machine *m = &f->machine;
  double bytes = streams ? f->read : f->read + f->written, room = (double)m->cache_bytes[3];
  if (cost_level(m, bytes) < 3 || bytes >= room) return 0;
  double over = cost_level(m, bytes) > 3 ? cost_missed(m, 3, bytes) / cost_missed(m, 3, room) : 0;
  double lost = cost_lost(m, bytes) * (1 - over);
  double read = f->read / COST_LINE * fmax(cost_line(m, 4, is_shared) - cost_line(m, 3, is_shared), 0);
  double near = cost_write(m, f->written, 3, is_shared, false), far = cost_write(m, f->written, 4, is_shared, false);
  return lost * (read + (streams ? 0 : fmax(far - near, 0)));
}

/* Stores as long as a line that span two of them wait for both where these come from the second cache or from farther. Those that
 * follow each other in a row of a block share what they wait for. */
static double spanning_ns(const strip_facts *f, const strip_shape *shape, const strip_stage *root) {
  static const double alone = 1, shared = 0.5;
  const tn_machine *m = &f->machine;
  bool spans = !f->is_row && m->vector_bytes >= COST_LINE && fmod(f->row, COST_LINE) != 0;
  if (!spans || shape->streams || cost_level(m, f->read + f->written) < 2) return 0;
  double apart = (m->vector_bytes - root->bytes) / COST_LINE, vectors = stage_shape(shape, root).vectors;
  return f->written / m->vector_bytes * apart * (shared + alone / vectors) * m->costs.spans;
}

/* What is read from outside and written. For margins it is read again, from a nearer cache. */
static double outside_ns(const strip_facts *f, const int32_t *c, const strip_shape *shape, const strip_stage *root,
                         double first) {
  const tn_machine *m = &f->machine;
  bool is_shared = c[STRIP_PARTS] > 0;
  double bytes = c[STRIP_STREAM] ? f->read : f->read + f->written;
  int level = cost_level(m, bytes);
  double width = shape->columns / (double)f->columns * f->row, segments = f->written / width;
  double waits = begin_ns(f, cost_place(m, level, bytes), width);
  double again = f->read / COST_LINE * cost_line(m, level, is_shared) * 0.5 * (first - 1);
  return cost_stream(m, f->read, f->written, is_shared, c[STRIP_STREAM]) + lost_ns(f, c[STRIP_STREAM], is_shared) +
         again + segments * waits * (1 + f->n_read) + spanning_ns(f, shape, root);
}

/* What plans of one chain take in relation to each other: windows that are taken apart less than the numbers say, since partial sums are
 * short bodies; parts along rows more, since each is one more stage that keeps rows. */
static const double of_way[STRIP_WAYS] = {1, 0.91, 0.91, 1.14, 1.14};

/* Loads that touch two lines leave half of the time that rows take to come in. */
static double cost(const void *facts, const int32_t *c) {
  static const double exposed = 0.5;
  const strip_facts *f = facts_of(facts, c);
  if (!f || (c[STRIP_STREAM] && !f->can_stream)) return INFINITY;
  const tn_machine *m = &f->machine;
  const strip_level *level = f->levels[RUNTIME_MIN(RUNTIME_MAX(c[STRIP_INLINED], 0), f->n_levels - 1)];
  if (c[STRIP_INLINED] >= f->n_levels || (c[STRIP_ROLLS] && f->levels[0]->n == 1)) return INFINITY;
  strip_shape shape = shape_of(f, c);
  double parts = fmax(c[STRIP_PARTS], 1);
  for (int i = 0; i < level->n; i++) shape.locals += level->stages[i].is_local;
  if (c[STRIP_TOGETHER] > shape.rows || !fits(f, &shape, level)) return INFINITY;
  if (c[STRIP_STREAM] && !streams_lines(f, &shape)) return INFINITY;
  double tiles = f->shared * parts * ceil(shape.part / shape.rows) * ceil((double)f->columns / shape.columns);
  double first = 1;
  for (int i = 0; i < level->n; i++) /* what is read from outside is read again for margins, from a nearer cache */
    first = fmax(first, extent(shape.rows, &level->stages[i], 0) / (shape.rows * level->stages[i].scale[0]));
  double computed = tiles * tile_ns(f, &shape, level), streamed = outside_ns(f, c, &shape, &level->stages[0], first);
  double ns = (fmax(computed, streamed) + exposed * fmin(computed, streamed)) * of_way[c[STRIP_WINDOWS]];
  return c[STRIP_PARTS] > 0 ? cost_threads(m, ns, f->is_row ? tiles : parts * f->shared) : ns;
}

/* ---- realizing --------------------------------------------------------------------------------------------------- */

/* On the stack of realize. */
typedef struct strips {
  generic_draft *d;
  const generic_group *g;
  const strip_facts *f;
  strip_shape shape;
  int64_t together;    /* rows of a block of registers where they share something */
  bool rolls;          /* rows of blocks are what TILE counts, and windows keep rows from one to the next */
  bool has_borders[2]; /* of rows and of columns, in some stage: loops over blocks are parted there */
  int tile, block;     /* the root's innermost loops over tiles and over blocks; NONE: there is one of them only */
} strips;

/* TENSOR in the loop of TO over AXIS; NONE: TENSOR stays where it is. */
static bool attach(const strips *x, const tn_tensor *tensor, const tn_tensor *to, int axis) {
  return axis == NONE || generic_attach(x->d, tensor, to, axis);
}

/* The last block is moved back so that it ends with the axis. *OUTER: NONE: there is one block. AXIS: NONE: there is no axis. */
static bool split_moved(generic_draft *d, int stage, int axis, int64_t factor, int *outer, int *inner) {
  *outer = NONE, *inner = axis;
  const schedule_stage *st = &d->s->stages[stage];
  if (axis == NONE || st->axes[axis].extent <= factor) return true;
  int at = schedule_leaf_position(st, axis);
  if (at < 0 || schedule_split(d->s, stage, at, 1, &factor, true, TN_TAIL_OVERLAP) != TN_OK) return false;
  *outer = d->s->stages[stage].leaves[at];
  *inner = d->s->stages[stage].leaves[at + 1];
  return true;
}

/* Tiles of the root's columns: of one that has no rows those that threads share, of which none may be moved back, since both would
 * write what they have in common. *OUTER: as split_moved says. */
static bool split_columns(const strips *x, int stage, int axis, int64_t factor, bool for_threads, int *outer,
                          int *inner) {
  if (!for_threads || x->d->s->stages[stage].axes[axis].extent <= factor)
    return split_moved(x->d, stage, axis, factor, outer, inner);
  return generic_split(x->d, stage, axis, factor, outer, inner);
}

/* Whether steps along AXIS, a reduction, go down the rows of what is read. */
static bool goes_down(const generic_reads *r, int axis, int row) {
  bool does = false;
  for (int i = 0; row >= 0 && axis >= r->n_data && i < r->n; i++)
    does |= r->reads[i].dim[row] >= 0 && r->reads[i].dim[axis] == r->reads[i].dim[row];
  return does;
}

/* A stage's axis of channels; NONE: it has none. */
static int channel_of(const strips *x, int stage) {
  return x->f->channels > 1 ? x->d->s->stages[stage].op->n_axes - 1 : NONE;
}

/* The N loops of ORDER, which has room for more, then vectors of COLUMN and its channels. */
static bool order_vectors(const strips *x, int stage, int n, int *order, int column) {
  int channel = channel_of(x, stage), axes[] = {column, channel};
  order[n++] = column;
  if (channel != NONE) order[n++] = channel;
  return generic_order(x->d, stage, n, order) && (channel == NONE || generic_fuse(x->d, stage, 2, axes, &column)) &&
         generic_annotate(x->d, stage, column, SCHEDULE_VECTORIZE);
}

/* Other data axes, reductions, rows, vectors. Reductions are unrolled from the innermost outwards while the body
 * stays short. Those down the rows are the innermost: what rows of a block share is then used again soon, and as many
 * registers hold it as the block has rows, whatever taps there are along a row; where rows are read once for these, all
 * taps of a row follow each other. */
static bool arrange_sums(const strips *x, int stage, const strip_stage *of) {
  const schedule_stage *st = &x->d->s->stages[stage];
  generic_reads r;
  int order[SCHEDULE_MAX_AXES], n = 0, column = st->op->n_axes - 1 - of->trailing, row = column - 1;
  int channel = channel_of(x, stage);
  strip_shape own = stage_shape(&x->shape, of);
  bool by_rows = reads_once(&x->d->machine, &own, of);
  int64_t steps = 1, most = most_unrolled(own.together);
  if (!generic_read_all(x->d, stage, &r)) return false;
  for (int down = 0; down <= 1; down++)
    for (int i = 0; i < st->n_leaves; i++)
      if (st->leaves[i] != column && st->leaves[i] != row && st->leaves[i] != channel &&
          (!by_rows && goes_down(&r, st->leaves[i], row)) == down)
        order[n++] = st->leaves[i];
  int n_outer = n;
  if (row >= 0) order[n++] = row;
  if (!order_vectors(x, stage, n, order, column)) return false;
  if (own.together > 1 && !generic_annotate(x->d, stage, row, SCHEDULE_UNROLL)) return false;
  for (int i = n_outer - 1; i >= 0; i--) {
    const schedule_axis *axis = &x->d->s->stages[stage].axes[order[i]];
    if (axis->kind != SCHEDULE_REDUCE || (steps *= axis->extent) > most) break;
    if (!generic_annotate(x->d, stage, order[i], SCHEDULE_UNROLL)) return false;
  }
  return true;
}

/* Loops over rows and columns are parted where arrays have borders. NONE: there is no such loop. */
static bool part_borders(const strips *x, int stage, int rows, int columns) {
  bool ok = !x->has_borders[0] || x->rolls || generic_part_borders(x->d, stage, rows);
  return ok && (!x->has_borders[1] || generic_part_borders(x->d, stage, columns));
}

/* Rows and columns of a stage in blocks of registers: OUTER, its loops around them, N of them, then blocks, rows of a
 * block, vectors. Rows that share nothing stand outside of the blocks of columns. *BLOCK: the innermost loop over blocks, or the
 * innermost of OUTER; NONE: there is none. */
static bool arrange_blocks(const strips *x, int stage, const strip_stage *of, int row, int column, int n, int *order,
                           int *block) {
  int rows, columns, row_in, column_in;
  strip_shape own = stage_shape(&x->shape, of);
  bool together = own.together > 1, in_turn = x->rolls && own.together < x->together;
  if (!split_moved(x->d, stage, row, in_turn ? x->together : (int64_t)own.together, &rows, &row_in)) return false;
  if (!split_moved(x->d, stage, column, (int64_t)own.vector / x->f->channels, &columns, &column_in)) return false;
  if (rows != NONE) order[n++] = rows;
  if (in_turn) order[n++] = row_in;
  if (columns != NONE) order[n++] = columns;
  *block = n > 0 ? order[n - 1] : NONE;
  if (!in_turn && row_in != NONE) order[n++] = row_in;
  if (!part_borders(x, stage, rows, columns)) return false;
  return order_vectors(x, stage, n, order, column_in) &&
         (!together || generic_annotate(x->d, stage, row_in, SCHEDULE_UNROLL));
}

/* Where values of a block are computed before any is stored: sums, and rows that share what they load. *SUMS: the new
 * stage, in front of OF's; NULL: there is none. */
static bool part_sums(const strips *x, const strip_stage *of, const tn_tensor **sums) {
  int stage = generic_stage(x->d, of->tensor);
  *sums = NULL;
  if (!of->reduces && (x->together == 1 || goes_in_turn(&x->shape, of))) return true;
  if (schedule_cache_write(x->d->s, stage, "local") != TN_OK) return false;
  *sums = x->d->s->stages[stage].tensors;
  return true;
}

/* "[d0, d1, d2] -> [d2, d0, d1]": the TRAILING last dimensions in front. */
static bool store_columns_last(const strips *x, const tn_tensor *tensor, int trailing) {
  char map[16 * TN_MAX_RANK];
  int n = snprintf(map, sizeof map, "[d0"), ndim = tensor->ndim;
  for (int k = 1; k < ndim; k++) n += snprintf(map + n, sizeof map - (size_t)n, ", d%d", k);
  for (int k = 0; k < ndim; k++)
    n += snprintf(map + n, sizeof map - (size_t)n, "%sd%d", k ? ", " : "] -> [", (k + ndim - trailing) % ndim);
  snprintf(map + n, sizeof map - (size_t)n, "]");
  return schedule_transform_layout(x->d->s, generic_stage(x->d, tensor), map) == TN_OK;
}

/* The rows that a window keeps are no whole blocks: where the rows of a block lie is a number only block by block. */
static bool is_ragged(const strips *x, const strip_stage *window) {
  return x->rolls && fmod(window->high[0] - window->low[0], (double)x->together) != 0;
}

/* The loop that counts blocks of AXIS. */
static bool unroll_blocks(const strips *x, int stage, int axis) {
  const schedule_stage *st = &x->d->s->stages[stage];
  int used_by = st->axes[axis].used_by;
  return used_by < 0 || generic_annotate(x->d, stage, st->relations[used_by].many[0], SCHEDULE_UNROLL);
}

/* Rows of a buffer begin with a line, and lie an odd number of lines apart: those of a column fall into all sets of a
 * cache. */
static bool align_rows(const strips *x, const tn_tensor *tensor) {
  int64_t line = RUNTIME_MAX(COST_LINE / (int64_t)tn_dtype_bytes(tensor->dtype), 1);
  int row = tensor->ndim - 2 - (x->f->channels > 1);
  return row < 0 || schedule_storage_align(x->d->s, generic_stage(x->d, tensor), row, 2 * line, (int)line) == TN_OK;
}

/* What a window reads: computed for a tile. */
static bool place_window(const strips *x, const strip_stage *window) {
  const tn_tensor *sums, *tensor = window->tensor;
  int order[SCHEDULE_MAX_AXES], n = 0, block, column = tensor->ndim - 1 - window->trailing;
  bool is_stored_last = window->trailing > 0 && x->f->channels == 1;
  if (!(is_stored_last ? store_columns_last(x, tensor, window->trailing) : align_rows(x, tensor))) return false;
  if (!part_sums(x, window, &sums)) return false;
  int stage = generic_stage(x->d, tensor);
  for (int a = 0; a < tensor->ndim; a++)
    if (a != column && a != column - 1 && a != channel_of(x, stage)) order[n++] = a;
  if (!arrange_blocks(x, stage, window, column - 1, column, n, order, &block)) return false;
  if (is_ragged(x, window) && !unroll_blocks(x, stage, column - 1)) return false;
  if (sums && (!arrange_sums(x, generic_stage(x->d, sums), window) || !attach(x, sums, tensor, block))) return false;
  if (!attach(x, tensor, x->g->root, x->tile)) return false;
  return !x->rolls || window->high[0] <= window->low[0] ||
         schedule_rolling_buffer(x->d->s, generic_stage(x->d, tensor)) == TN_OK;
}

/* What is read point by point: computed in registers for a block. */
static bool place_member(const strips *x, const strip_stage *member) {
  const tn_tensor *tensor = member->tensor;
  int stage = generic_stage(x->d, tensor);
  return arrange_sums(x, stage, member) && schedule_set_scope(x->d->s, stage, "local") == TN_OK &&
         attach(x, tensor, x->g->root, x->block);
}

/* Axes that all stages have and parts, which threads share (of a chain along one axis: tiles); tiles; the root's other axes;
 * blocks. */
static bool arrange_root(strips *x, const strip_stage *root, const int32_t *c) {
  const tn_tensor *sums;
  int n_axes = x->g->root->ndim - root->trailing, part, rows, row, columns, column, order[SCHEDULE_MAX_AXES], n = 0;
  int loop, n_fused;
  strip_shape shape = x->shape;
  if (!part_sums(x, root, &sums)) return false;
  int stage = generic_stage(x->d, x->g->root), n_shared;
  for (int a = 0; a < n_axes - 2; a++)
    if (x->g->is_common[a]) order[n++] = a;
  row = n_axes - 2;
  if (c[STRIP_PARTS] > 1) {
    if (!generic_split(x->d, stage, row, (int64_t)shape.part, &part, &row)) return false;
    order[n++] = part;
  }
  n_shared = n;
  if (!split_moved(x->d, stage, row, (int64_t)shape.rows, &rows, &row)) return false;
  bool tiles_are_shared = x->f->is_row && c[STRIP_PARTS] > 0;
  if (!split_columns(x, stage, n_axes - 1, (int64_t)shape.columns / x->f->channels, tiles_are_shared, &columns,
                     &column))
    return false;
  if (!part_borders(x, stage, rows, columns)) return false;
  if (rows != NONE) order[n++] = rows;
  if (columns != NONE) order[n++] = columns;
  if (tiles_are_shared) n_shared = n;
  if (x->rolls) {
    if (!split_moved(x->d, stage, row, x->together, &rows, &row) || rows == NONE) return false;
    order[n++] = rows;
  }
  int n_tiles = n;
  for (int a = 0; a < n_axes - 2; a++)
    if (!x->g->is_common[a]) order[n++] = a;
  if (!arrange_blocks(x, stage, root, row, column, n, order, &x->block)) return false;
  if (!generic_parallel(x->d, stage, n_shared, order, c[STRIP_PARTS] ? INFINITY : 0, &loop, &n_fused)) return false;
  x->tile = n_tiles == 0 ? NONE : n_tiles > n_fused ? order[n_tiles - 1] : loop;
  if (x->block != NONE && schedule_leaf_position(&x->d->s->stages[stage], x->block) < 0) x->block = loop;
  return !sums || (arrange_sums(x, generic_stage(x->d, sums), root) && attach(x, sums, x->g->root, x->block));
}

/* Windows that are taken apart come first; of the rest the root, in whose loops the others are computed. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const strip_facts *f = facts_of(facts, c);
  generic_group chain;
  if (!f || c[STRIP_INLINED] < 0 || c[STRIP_INLINED] >= f->n_levels) return false;
  if (c[STRIP_WINDOWS] > 0 && !generic_share_windows(d, g, sharing_of(c[STRIP_WINDOWS]), &chain)) return false;
  if (c[STRIP_WINDOWS] > 0) g = &chain;
  const strip_level *level = f->levels[c[STRIP_INLINED]];
  strip_shape shape = shape_of(f, c);
  strips x = {.d = d, .g = g, .shape = shape, .f = f, .together = (int64_t)shape.together, .rolls = shape.rolls};
  bool ok = shape.rows >= 1 && shape.columns >= 1 && shape.together >= 1 && shape.vector >= 1;
  for (int i = 0; ok && i < level->n_inlined; i++)
    ok = schedule_compute_inline(d->s, generic_stage(d, level->inlined[i])) == TN_OK;
  for (int i = 0; ok && i < level->n; i++) {
    int of = generic_stage(d, level->stages[i].tensor),
        column = level->stages[i].tensor->ndim - 1 - level->stages[i].trailing;
    for (int k = f->is_row; k < 2; k++) x.has_borders[k] |= generic_has_borders(d, of, column - 1 + k);
  }
  ok = ok && arrange_root(&x, &level->stages[0], c);
  for (int i = 1; ok && i < level->n; i++)
    ok = level->stages[i].is_local ? place_member(&x, &level->stages[i]) : place_window(&x, &level->stages[i]);
  return ok && (!c[STRIP_STREAM] || generic_stream(d, generic_stage(d, g->root)));
}

/* The words of a plan in records, and what each number counts. */
static const plan_field fields[STRIP_FIELD_COUNT] = {
    [STRIP_ROWS] = {"rows", "of the last stage in a tile"},
    [STRIP_COLUMNS] = {"columns", "of the last stage in a tile"},
    [STRIP_TOGETHER] = {"together", "rows that share what they load"},
    [STRIP_VECTORS] = {"vectors", "registers that a vector loop is long"},
    [STRIP_INLINED] = {"inlined", "0 to 6: more and more is computed where it is read"},
    [STRIP_PARTS] =
        {"parts",
         "of the rows, shared among threads; 1: other axes are, or tiles where there are no rows; 0: nothing is"},
    [STRIP_STREAM] = {"stream", "1: what is written goes past the caches"},
    [STRIP_ROLLS] = {"rolls",
                     "1: what windows read is kept from one row of blocks to the next, as many rows as these need"},
    [STRIP_WINDOWS] =
        {"windows",
         "how sums of windows are taken apart: 0: they are not; 1, 2: columns, rows are added up last; 3, 4: "
         "likewise, and long ones in parts"},
};

PLAN_FAMILY_OF_CHAINS(strip, STRIP_FIELD_COUNT);
