/* family_tile.c: reductions that use data again: products, convolutions, contractions. A tile of
 * accumulators is kept in vector registers: some vectors along the last data axis by some rows of other
 * axes that share what is loaded. Here: what tiles and blocks cost. tile_facts.c says what a group is, tile_space.c
 * which plans it has, tile_realize.c makes the schedules. Costs: steps of the reduction by multiply-adds, loads
 * and waiting; what tiles read by the cache level that it comes from; packing and padding by the bytes
 * that they move. Facts lie in the draft's arena. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/tile.h"

enum { MAX_LOOPS = 2 * GENERIC_MAX_AXES + 5 /* around a tile */ };

/* ---- what a plan costs ------------------------------------------------------------------------------------------- */

/* The loops around a tile, from the outermost to the innermost: their axis and how often they run. */
typedef struct nest {
  int n;
  struct {
    int axis;
    double count;
  } loops[MAX_LOOPS];
  double v_blocks, u_blocks, outer, parities, panels; /* outer: without the parities */
  double parts;                                       /* that threads can share */
  double block, last; /* of all that is computed: a whole part, and the last one, which may be smaller */
  int depth;          /* the innermost loop over blocks of the reduction; -1: it is whole */
  double blocks;      /* of the reduction */
} nest;

/* Loops of one iteration do not count. */
static void push(nest *n, int axis, double count) {
  if (axis < 0 || count <= 1) return;
  n->loops[n->n].axis = axis;
  n->loops[n->n++].count = count;
}

/* Whether an iteration of the axis reads something else. AXIS -1: there is none. */
static bool moves(const tile_facts *f, int read, int axis) { return axis >= 0 && f->walks[read].moving >> axis & 1; }

/* The axes of no tile. Where the reduction is cut, those that the shared operand does not move along are inside. */
static void push_outer(const tile_facts *f, const int32_t *c, nest *n, bool is_inside) {
  for (int a = 0; a < f->reads.n_data; a++) {
    bool is_tiled = a == f->v || a == f->u || (a == f->u2 && c[TILE_ROWS2] > 1);
    bool is_kept = n->blocks > 1 && !moves(f, f->shared, a);
    if (is_tiled || is_kept != is_inside || tile_parity_of(f, a)) continue;
    push(n, a, (double)f->reads.extent[a]);
    n->outer *= (double)f->reads.extent[a];
  }
}

/* Blocks of the reduction, one after the other, and what they all go over. */
static void push_blocks(const tile_facts *f, const tile_cut *cut, nest *n) {
  for (int a = f->reads.n_data; a < cut->axis; a++) push(n, a, (double)f->reads.extent[a]);
  push(n, cut->axis, (double)generic_ceil_div(f->reads.extent[cut->axis], cut->steps));
  n->depth = n->n - 1;
}

/* In the order in which tile_realize makes them: both follow c[ORDER] and c[INNER]. */
static void make_nest(const tile_facts *f, const int32_t *c, nest *n) {
  double panels = (double)generic_ceil_div(tile_extent_of(f, f->v), tile_columns(f, c));
  double tiles = (double)generic_ceil_div(tile_extent_of(f, f->u), c[TILE_ROWS]);
  double tiles2 = (double)generic_ceil_div(tile_extent_of(f, f->u2), c[TILE_ROWS2]);
  double in_block = fmin(c[TILE_PANELS], panels), rows_in_block = c[TILE_BLOCK] ? fmin(c[TILE_BLOCK], tiles) : tiles;
  tile_cut cut;
  bool is_cut = tile_cut_of(&f->reads, c[TILE_DEPTH], &cut);
  *n = (nest){.v_blocks = ceil(panels / in_block),
              .u_blocks = ceil(tiles / rows_in_block),
              .outer = 1,
              .parities = 1,
              .panels = panels,
              .depth = -1,
              .blocks = is_cut ? cut.blocks : 1};
  if (c[TILE_ORDER]) push(n, f->v, n->v_blocks);
  push_outer(f, c, n, false);
  if (!c[TILE_ORDER]) push(n, f->v, n->v_blocks);
  double u_blocks = is_cut ? 1 : n->u_blocks, of_v = fmin(in_block / panels, 1);
  double of_u = u_blocks > 1 ? rows_in_block / tiles : 1;
  n->parts = n->outer * n->v_blocks * u_blocks;
  n->block = of_v * of_u / n->outer;
  n->last = (1 - (n->v_blocks - 1) * of_v) * (1 - (u_blocks - 1) * of_u) / n->outer;
  if (is_cut) push_blocks(f, &cut, n), push_outer(f, c, n, true);
  push(n, f->u, n->u_blocks);
  for (int i = 0; i < f->n_parities; i++) {
    push(n, f->parities[i].data, (double)f->reads.extent[f->parities[i].data]);
    n->parities *= (double)f->reads.extent[f->parities[i].data];
  }
  if (c[TILE_INNER]) push(n, f->v, panels / n->v_blocks);
  if (c[TILE_ROWS2] > 1) push(n, f->u2, tiles2);
  push(n, f->u, tiles / n->u_blocks);
  if (!c[TILE_INNER]) push(n, f->v, panels / n->v_blocks);
}

/* fmin and fmax are calls, for values that are no numbers. Costs are, and are worked out by the million. */
static double lesser(double a, double b) { return b < a ? b : a; }
static double greater(double a, double b) { return b > a ? b : a; }

/* Distinct elements that loops of these lengths read: axes that move an index alike, as a window's do, overlap. */
static double elements_read(const tile_walk *w, const double *extent) {
  double n = 1;
  for (int g = 0; g < w->n; g++) {
    int first = w->first[g];
    double length = extent[w->axes[first]], pairs = length;
    if (w->block[g]) pairs = length = ceil(length / (double)w->block[g]);
    int end = w->first[g + 1];
    if (end > first + 1) length = 1 + w->steps[first] * (length - 1); /* else nothing overlaps */
    for (int i = first + 1; i < end; i++) {
      length += w->steps[i] * (extent[w->axes[i]] - 1);
      pairs *= extent[w->axes[i]];
    }
    n *= end > first + 1 ? lesser(length, pairs) : length;
  }
  return lesser(n, w->all);
}

/* Rows of vectors that do not all begin where a line does: most touch one line more, and so do the vectors. */
static bool is_askew(const tile_facts *f, const int32_t *c, int read) {
  if (tile_is_beside(c))
    return f->reads.reads[read].stride[f->v] && c[TILE_LANES] * tile_columns(f, c) * f->bytes % COST_LINE;
  if (c[TILE_LANES]) return f->is_lane_askew[read];
  return f->is_askew[read] && !tile_is_in_panels(f, c, read);
}

/* What converting an element takes when it is copied. */
static double widen_ns(const tile_facts *f, const int32_t *c, int read) {
  return tile_is_widened(f, c, read) ? cost_fma(&f->machine, c[TILE_WIDTH]) / (double)tile_lanes(f, c) : 0;
}

/* One operand as the caches see it. */
typedef struct stream {
  const generic_read *read;
  const tile_walk *walk;
  bool is_packed, is_askew;
  bool grows; /* an image's rows: tiles side by side make longer ones. Of a product all of the reduction lies between */
  double bytes;   /* of an element */
  double row;     /* bytes that lie side by side, of a tile */
  double run;     /* bytes that tiles one after the other read side by side: of an image's rows */
  double begins;  /* such rows begin at multiples of so many bytes, up to a line */
  double stride;  /* bytes between such rows */
  double sets[3]; /* by level, where rows are apart: sets that they begin in */
  double asked;   /* the part of its lines that were asked for, and are still there when they are used */
} stream;

/* The axis of the innermost loop around a tile. */
static int innermost_axis(const tile_facts *f, const int32_t *c) {
  int64_t panels = RUNTIME_MIN(c[TILE_PANELS], generic_ceil_div(tile_extent_of(f, f->v), tile_columns(f, c)));
  return c[TILE_INNER] || panels == 1 ? f->u : f->v;
}

/* What a tile goes over. */
static void tile_extents(const tile_facts *f, const int32_t *c, double *extent) {
  tile_cut cut;
  bool is_cut = tile_cut_of(&f->reads, c[TILE_DEPTH], &cut);
  for (int a = 0; a < f->reads.n_axes; a++)
    extent[a] = a < f->reads.n_data || (is_cut && a < cut.axis) ? 1 : (double)f->reads.extent[a];
  if (is_cut) extent[cut.axis] = (double)cut.steps;
  extent[f->v] = fmin((double)tile_columns(f, c), (double)f->reads.extent[f->v]);
  if (f->u >= 0) extent[f->u] = c[TILE_ROWS];
  if (f->u2 >= 0) extent[f->u2] = c[TILE_ROWS2];
}

/* What is packed lies in one run: a row without an end. */
static stream stream_of(const tile_facts *f, const int32_t *c, int i) {
  const generic_read *read = &f->reads.reads[i];
  double bytes = tile_is_widened(f, c, i) ? (double)f->bytes : f->walks[i].bytes;
  stream s = {.read = read, .walk = &f->walks[i], .bytes = bytes, .row = 0, .stride = 0};
  s.is_askew = is_askew(f, c, i);
  s.is_packed = i == tile_turned(f, c) || (!c[TILE_LANES] && tile_is_in_panels(f, c, i)) ||
                (tile_is_left(f, c, i) && !tile_left_lies(f, c));
  double width = (double)tile_columns(f, c);
  int last = f->reads.n_axes - 1;
  double extent[GENERIC_MAX_AXES];
  tile_extents(f, c, extent);
  bool is_row = read->stride[f->v] == 1 || f->apart[i] > 0;
  s.grows = is_row && (read->is_window || c[TILE_DEPTH]);
  double run = is_row ? fmin(width, (double)tile_extent_of(f, f->v)) * (double)read->stride[f->v]
               : last >= f->reads.n_data && read->stride[last] == 1 ? extent[last]
               : f->u >= 0 && read->stride[f->u] == 1               ? extent[f->u]
                                                                    : 1;
  s.row = s.bytes * run;
  s.begins = COST_LINE;
  int64_t row = (int64_t)s.row;
  if (f->u >= 0 && read->stride[f->u] == 1) s.begins = fmin((double)(row & -row), COST_LINE);
  if (s.is_packed) s.row = 1e9;
  s.run = s.row;
  if (is_row && read->is_window && innermost_axis(f, c) == f->v)
    s.run = fmin(s.row * c[TILE_PANELS], s.bytes * (double)tile_extent_of(f, f->v));
  for (int a = 0; a < f->reads.n_axes; a++) {
    double stride = fabs((double)read->stride[a]) * s.bytes;
    bool is_outer = a < f->reads.n_data && a != f->v && a != f->u;
    if (!is_outer && !s.is_packed && stride >= s.row && f->reads.extent[a] > 1 && (s.stride == 0 || stride < s.stride))
      s.stride = stride;
  }
  for (int level = 1; level <= 2 && s.stride > 0; level++) s.sets[level] = cost_sets(&f->machine, level, s.stride);
  return s;
}

/* How much more than their own bytes the lines of rows of ROW bytes have: of a row that begins anywhere the first and the last
 * line are parts. */
static double lines_to_bytes(const tile_facts *f, const stream *s, double row, const double *extent) {
  double run = s->read->stride[f->v] == 1 ? greater(row, extent[f->v] * s->bytes) : row;
  if (s->stride == 0) return 1;
  if (s->is_askew) return greater(lesser(run + COST_LINE - s->bytes, s->stride) / run, 1);
  return row < COST_LINE ? lesser(COST_LINE, s->stride) / row : 1;
}

/* Bytes that lie side by side of what loops of these lengths read. */
static double row_of(const tile_facts *f, const stream *s, const double *extent) {
  return s->grows ? greater(s->row, extent[f->v] * s->bytes) : s->row;
}

/* Bytes of the lines that loops of these lengths read, each line once. */
static double bytes_touched(const tile_facts *f, const stream *s, const double *extent) {
  return elements_read(s->walk, extent) * s->bytes * lines_to_bytes(f, s, row_of(f, s, extent), extent);
}

/* Room that BYTES of such lines take in a level, where some rows fall into the same sets. */
static double footprint(const tile_facts *f, const stream *s, double bytes, const double *extent, int level) {
  if (level > 2 || s->stride == 0 || s->is_packed) return bytes;
  double reached = cost_reached_by(&f->machine, level, row_of(f, s, extent), s->sets[level]);
  return bytes * greater((double)f->machine.cache_bytes[level] / reached, 1);
}

/* The place that holds what all streams of these loops read together, TOUCHED bytes of each, and ADDED bytes of results
 * (cost_place). What is somewhat more than the second cache holds comes from there in part; of twice as much as good as nothing. */
static double place_of(const tile_facts *f, int n, const stream *streams, const double *extent, double added,
                       double *touched) {
  static const double all = 0.8; /* that is missed of twice as much */
  double sum[4] = {0};
  for (int i = 0; i < n; i++) touched[i] = bytes_touched(f, &streams[i], extent);
  for (int level = 1; level < 4; level++) {
    sum[level] = added;
    for (int i = 0; i < n; i++) sum[level] += footprint(f, &streams[i], touched[i], extent, level);
    if (cost_level(&f->machine, sum[level]) > level) continue;
    double part = level == 3 ? cost_missed(&f->machine, 2, sum[2]) : all;
    return part < all ? 2 + part / all : cost_place(&f->machine, level, sum[level]);
  }
  return 4;
}

/* Lines that a tile reads of a stream: each row of it begins anew. */
static double lines_of(const stream *s, const double *extent) {
  double bytes = elements_read(s->walk, extent) * s->bytes;
  double of_row = s->is_askew ? fmax(s->row / COST_LINE, 1) + 1 : fmax((s->row + COST_LINE - s->begins) / COST_LINE, 1);
  return s->row >= bytes ? bytes / COST_LINE : bytes / s->row * of_row;
}

/* Panels that follow each other read up to so many ROWS on, side by side, each LEAST bytes long: that is guessed. */
static bool is_followed(const tile_facts *f, const int32_t *c, const stream *s, int rows, double least) {
  bool is_short = c[TILE_DEPTH] > 0 && c[TILE_DEPTH] <= rows;
  return is_short && c[TILE_PANELS] * s->row >= least && s->read->stride[f->v] == 1;
}

/* Of a line of rows that are followed side by side. Where they fall into the same sets of the first cache, what came ahead of its
 * use is gone; and where a block has parts of a single row's matrix, each part begins with a wait. */
static double followed_ns(const tile_facts *f, const int32_t *c, const stream *s, int level) {
  double crowded = cost_conflict(&f->machine, c[TILE_DEPTH], s->stride) * f->machine.costs.line2;
  double run = c[TILE_PANELS] * fmax(s->row / COST_LINE, 1);
  bool is_whole = c[TILE_PANELS] * tile_columns(f, c) >= tile_extent_of(f, f->v);
  return crowded + (is_whole || !tile_is_single_row(f) ? 0 : cost_visit(&f->machine, level, run) / run);
}

/* Rows of ROW bytes, of which a page holds as many as show that they are STRIDE apart, or one longer than a page. */
static bool is_guessed(double row, double stride) {
  enum { GUESSED = 4, SEEN = 3 };
  double lines = greater(row / COST_LINE, 1), rows = COST_PAGE / greater(stride, 1);
  return row >= COST_PAGE || (rows >= SEEN && rows * lines >= GUESSED);
}

/* Lines that come in vain with each line of rows that follow each other in a page: one of its pair where tiles leave that to others. */
static double between_lines(const stream *s) {
  double run = fmax(fmax(s->row, s->run), COST_LINE);
  return s->stride >= 2 * COST_LINE && run < 2 * COST_LINE && s->stride > run ? 1 : 0;
}

/* What a line from the third cache takes longer where a page holds one row of it, or so few lines that nobody guesses the
 * next ones: each row begins with a wait, unless it was asked for. */
static double guess3_ns(const tile_facts *f, const int32_t *c, const stream *s) {
  enum { ROWS = 64, WAITED_LINES = 2, WAITED_FMAS = 12 };
  const tn_machine_costs *costs = &f->machine.costs;
  double lines = fmax(s->row / COST_LINE, 1);
  if (s->is_packed) return 0;
  if (is_guessed(s->row, s->stride)) return fmin(between_lines(s) * costs->line3, costs->stray - costs->line3);
  /* The more multiply-adds wait for a line, the fewer loads of later rows has the processor begun meanwhile. */
  double fmas = (double)c[TILE_ROWS] * c[TILE_ROWS2] * fmax((double)COST_LINE / c[TILE_WIDTH], 1);
  double waits = (costs->waited - costs->line3) * fmin(WAITED_LINES / lines, 1) * fmas / WAITED_FMAS;
  double alone = is_followed(f, c, s, ROWS, COST_PAGE / 4) ? followed_ns(f, c, s, 3)
                                                           : fmax((costs->stray - costs->line3) / lines, waits);
  return alone + s->asked * (costs->asked - costs->line3 - alone);
}

/* From memory: where rows are left before the page ends, what was fetched ahead is for nothing. */
static double guess4_ns(const tile_facts *f, const int32_t *c, const stream *s) {
  enum { ROWS = 16 };
  if (s->is_packed || s->run >= COST_PAGE || s->stride <= s->run) return 0;
  if (is_followed(f, c, s, ROWS, COST_PAGE)) return followed_ns(f, c, s, 4);
  /* Whole rows that are shorter have to be asked for. */
  if (s->asked > 0 && is_followed(f, c, s, ROWS, fmin(s->stride, COST_PAGE)))
    return s->asked * followed_ns(f, c, s, 4) + (1 - s->asked) * (f->machine.costs.stray4 - f->machine.costs.line4);
  return f->machine.costs.stray4 - f->machine.costs.line4;
}

/* A line of a stream from a place, one of a row that may be short. */
static double line_ns(const tile_facts *f, const int32_t *c, const stream *s, double place) {
  double guess = place <= 2  ? 0
                 : place < 3 ? cost_between(place, 0, guess3_ns(f, c, s))
                 : place < 4 ? cost_between(place, guess3_ns(f, c, s), guess4_ns(f, c, s))
                             : guess4_ns(f, c, s);
  return cost_line_at(&f->machine, place, c[TILE_THREADS]) + guess;
}

/* Of the results that loops of these lengths add to. */
static double bytes_added(const tile_facts *f, const nest *n, const double *extent) {
  double bytes = n->depth < 0 ? 0 : (double)f->bytes;
  for (int a = 0; a < f->reads.n_data; a++) bytes *= extent[a];
  return bytes;
}

/* Each block of the reduction reads and writes the results, which PLACE holds, and the first ones are zeros; what reads
 * them is a walk of its own. */
static double added_ns(const tile_facts *f, const nest *n, const double *extent, double place) {
  double all = (double)f->bytes;
  for (int a = 0; a < f->reads.n_data; a++) all *= (double)f->reads.extent[a];
  double lines = fmax(all / COST_LINE, extent[f->v] > 0 ? all / f->bytes / extent[f->v] : 0);
  return lines * (2 * n->blocks + 1 + (f->has_root ? 2 : 0)) *
         cost_line_at(&f->machine, tile_is_single_row(f) ? place : fmax(place, 2), false);
}

/* What the tiles read of one operand: in some parts of all tiles its lines come from nearer than in others. */
typedef struct reading {
  int n;
  struct {
    double part, ns; /* of all tiles; of such a tile */
  } kinds[MAX_LOOPS + 1];
  double ns; /* of a tile in the mean */
} reading;

static void add_kind(reading *r, double part, double ns) {
  r->kinds[r->n].part = part;
  r->kinds[r->n++].ns = ns;
  r->ns += part * ns;
}

/* What begins a page, where rows of many pages are read that no table holds any more. */
static double page_ns(const tile_facts *f, const stream *s, const double *extent) {
  double rows = elements_read(s->walk, extent) * s->bytes / s->row;
  bool is_paged = !s->is_packed && s->stride >= COST_PAGE / 2 && rows > COST_LINE && s->row < COST_PAGE;
  if (!is_paged) return 0;
  return f->machine.costs.page / fmax(s->row / COST_LINE, 1) * fmin(s->stride / COST_PAGE, 1);
}

/* The loops around a tile as all operands see them. */
typedef struct walked {
  stream streams[GENERIC_MAX_READS];
  double lines[GENERIC_MAX_READS]; /* of a tile */
  double place[MAX_LOOPS + 1];     /* that holds what the loops inside of a loop read; of the last: all of them */
  double touched[MAX_LOOPS + 1][GENERIC_MAX_READS]; /* bytes of lines that they read */
  double page[GENERIC_MAX_READS];
} walked;

/* By loops from the innermost, [0], to the outermost. Returns what adding up blocks of the reduction takes. */
static double walk_loops(const tile_facts *f, const int32_t *c, const nest *n, walked *w, double *tiles) {
  double extent[GENERIC_MAX_AXES], added_ns_all = 0;
  int n_reads = f->reads.n;
  *tiles = 1;
  tile_extents(f, c, extent);
  w->streams[0] = stream_of(f, c, 0);
  for (int i = 1; i < n_reads; i++) w->streams[i] = stream_of(f, c, i);
  for (int i = 0; i < n_reads; i++) w->lines[i] = lines_of(&w->streams[i], extent);
  for (int l = 0; l < n->n; l++) {
    int outer = n->n - 1 - l;
    double added = bytes_added(f, n, extent);
    w->place[l] = place_of(f, n_reads, w->streams, extent, added, w->touched[l]);
    if (l == 0 && c[TILE_PREFETCH] &&
        f->shared >= 0) { /* asked for by the tiles before, whose panel lies in the same sets */
      stream *panel = &w->streams[f->shared];
      double both = c[TILE_INNER] ? 2 : 1; /* panels, while tiles of rows follow each other on one */
      panel->asked = 1 - cost_missed(&f->machine, 2, both * footprint(f, panel, w->touched[0][f->shared], extent, 2));
    }
    if (outer == n->depth) added_ns_all = added_ns(f, n, extent, w->place[l]);
    extent[n->loops[outer].axis] *= n->loops[outer].count;
    *tiles *= n->loops[outer].count;
  }
  w->place[n->n] = place_of(f, n_reads, w->streams, extent, 0, w->touched[n->n]);
  for (int i = 0; i < n_reads; i++) w->page[i] = page_ns(f, &w->streams[i], extent);
  return added_ns_all;
}

/* What an iteration of loop L reads that the iterations before it did not: all, but where windows overlap or iterations share lines. */
static double new_part(const walked *w, int read, int l, double count) {
  double part = w->touched[l + 1][read] / (count * w->touched[l][read]);
  return part > 1 ? 1 : part < 1 / count ? 1 / count : part;
}

/* Tiles of rows that follow each other on a panel take turns in asking for the next one: what the first of them would read from afar comes
 * while all of them compute. READ's first N kinds are the others. */
static void share_asking(reading *read, int n) {
  double others = 0, near = 0;
  for (int k = 0; k < n; k++) others += read->kinds[k].part, near += read->kinds[k].part * read->kinds[k].ns;
  for (int k = n; k < read->n; k++) {
    read->kinds[k - n].part = read->kinds[k].part / (1 - others);
    read->kinds[k - n].ns = near + (1 - others) * read->kinds[k].ns;
  }
  read->n -= n;
}

/* What all tiles read of each operand, from the level where it was since it was used last; TILES is how many there are. */
static double read_all(const tile_facts *f, const int32_t *c, const nest *n, reading *out, double *tiles) {
  walked w;
  double added = walk_loops(f, c, n, &w, tiles);
  for (int i = 0; i < f->reads.n; i++) {
    const stream *s = &w.streams[i];
    double left = 1, first = w.place[n->n], lines = w.lines[i],
           near = 0;                 /* LINES: of a tile, but those that are NEAR */
    int loops = n->n, on_panel = -1; /* kinds of tiles that follow others on the same panel */
    out[i].n = 0, out[i].ns = 0;
    if (n->depth >= 0 && tile_is_in_panels(f, c, i) && i == f->shared)
      loops = n->n - 1 - n->depth, first = greater(w.place[loops], 2); /* the block that was just copied */
    for (int l = 0; l < loops; l++) {
      double count = n->loops[n->n - 1 - l].count, line = line_ns(f, c, s, w.place[l]) + w.page[i];
      if (moves(f, i, n->loops[n->n - 1 - l].axis)) {
        if (on_panel < 0) on_panel = out[i].n;
        double part = new_part(&w, i, l, count);
        near += lines * (1 - part) * line;
        lines *= part;
        continue;
      }
      add_kind(&out[i], left * (count - 1) / count, near + lines * line);
      left /= count;
    }
    add_kind(&out[i], left, near + lines * (line_ns(f, c, s, first) + w.page[i]));
    if (c[TILE_PREFETCH] && c[TILE_INNER] && i == f->shared && on_panel > 0) share_asking(&out[i], on_panel);
  }
  return added;
}

/* Computing and reading, which partly hide each other: a tile's waits only what it computes itself. So the operand that takes
 * longest counts by the kinds of tiles that read it from different places, the others as they are in the mean. */
static double tiles_ns(const tile_facts *f, const int32_t *c, const nest *n, double compute, double store) {
  reading readings[GENERIC_MAX_READS];
  readings[0].ns = 0;
  double tiles, mean = 0, ns = 0, other = read_all(f, c, n, readings, &tiles) + store;
  int dearest = 0;
  for (int i = 0; i < f->reads.n; i++) {
    mean += readings[i].ns;
    if (readings[i].ns > readings[dearest].ns) dearest = i;
  }
  const reading *r = &readings[dearest];
  mean += other / tiles - r->ns;
  for (int k = 0; k < r->n; k++) ns += r->kinds[k].part * cost_overlap(compute / tiles, r->kinds[k].ns + mean);
  return tiles * ns;
}

/* The part of a row that a tile stores waits where the rows since the part before it are too many for the sets that they
 * fall into: those of a tile inside of a block of panels, all that the block goes by at its beginning. */
static double store_conflict(const tile_facts *f, const int32_t *c, const nest *n, double stride) {
  double all = (double)tile_extent_of(f, f->u) / n->u_blocks, tile = c[TILE_ROWS] * c[TILE_ROWS2];
  double begins = c[TILE_INNER] ? 1 : n->v_blocks / n->panels;
  return begins * cost_conflict(&f->machine, all, stride) + (1 - begins) * cost_conflict(&f->machine, tile, stride);
}

/* Bytes of a row that are stored after each other: of a tile, or of all tiles of a block where these follow along the rows. */
static double stored_run(const tile_facts *f, const int32_t *c, const nest *n) {
  double follow = c[TILE_INNER] ? 1 : n->panels / n->v_blocks;
  return lesser(follow * (double)tile_columns(f, c), (double)tile_extent_of(f, f->v)) * (double)f->bytes;
}

/* What stores of rows take longer that are no whole number of lines apart: each line is written by two of them, with other rows
 * between them, and where a row's parts are stored one by one, their first and last lines come twice. */
static double askew_ns(const tile_facts *f, const int32_t *c, double lines, double begins) {
  const tn_machine *m = &f->machine;
  bool is_along = c[TILE_ROWS] * c[TILE_ROWS2] == 1 && begins == 0;
  return is_along ? 0 : lines * m->costs.spans + begins * cost_line(m, 2, false);
}

/* An element of a vector that does not go along what is stored: one of a few columns that are woven, if a tile has all of them, or alone. */
static double apart_ns(const tile_facts *f, const int32_t *c) {
  int last = f->reads.n_data - 1;
  int64_t columns = f->reads.extent[last];
  bool is_woven = columns <= COST_MOST_APART && last == f->u && c[TILE_ROWS] == columns;
  return is_woven ? cost_apart(&f->machine, f->bytes, -columns) : f->machine.costs.gather;
}

static double store_ns(const tile_facts *f, const int32_t *c, const nest *n) {
  const tn_machine *m = &f->machine;
  double row_bytes = (double)(f->bytes * tile_extent_of(f, f->v)), stride = row_bytes, rows = 1;
  for (int a = f->v - 1; f->u >= 0 && a > f->u; a--) stride *= (double)f->reads.extent[a];
  for (int a = 0; a < f->reads.n_data; a++) rows *= a == f->v ? 1 : (double)f->reads.extent[a];
  int level = cost_level(m, rows * row_bytes);
  double waits = level > 2 ? rows * n->panels * store_conflict(f, c, n, stride) * m->costs.apart : 0;
  double apart = f->is_across && f->reads.extent[f->reads.n_data - 1] > 1 ? rows * row_bytes / f->bytes : 0;
  double run = stored_run(f, c, n), runs = rows * row_bytes / run, lines = fmax(row_bytes / COST_LINE, 1);
  bool waits_anew = level == 3 && !is_guessed(run, stride);
  double begins = waits_anew ? runs * cost_visit(m, 3, run / COST_LINE) : 0;
  bool is_askew = level > 2 && apart == 0 && fmod(row_bytes, COST_LINE) != 0;
  double askew = is_askew ? askew_ns(f, c, rows * lines, runs - rows) : 0;
  return rows * lines * cost_line(m, level, c[TILE_THREADS]) + waits +
         (begins + askew) * cost_missed(m, 2, rows * row_bytes) + apart * apart_ns(f, c);
}

/* The part of the lines of ROWS rows that a step loses: of those that share a set all where they are more than its ways;
 * else, as other streams come by that set, each once or so before the reduction leaves the line. */
static double lost_each_step(const tile_facts *f, const generic_read *read, double rows, double stride) {
  double conflict = cost_conflict(&f->machine, rows, stride);
  if (conflict == 0) return 0;
  int last = f->reads.n_axes - 1;
  double step =
      last < f->reads.n_data ? 0 : fabs((double)read->stride[last]) * (double)tn_dtype_bytes(read->tensor->dtype);
  bool is_kept = cost_crowded(&f->machine, (int)rows, 1, stride, f->machine.cache_ways[1]) == 0;
  return conflict * (is_kept && step > 0 ? fmin(step / COST_LINE, 1) : 1);
}

/* How many tiles of STEPS steps are computed at once: those whose instructions a processor looks ahead, which all that have vectors
 * of these lengths do by as many. */
static double at_once(double v, double r, double r2, double steps) {
  enum { WINDOW = 128 };
  return greater(WINDOW / (steps * (v * r * r2 + v + r * r2)), 1);
}

/* What a step has besides its multiply-adds, in registers: loads, conversions to the sums' type, shuffles. */
typedef struct extras {
  double loads, converted, shuffles;
} extras;

/* Of N registers of operand I, which may begin anywhere, lie apart, or be of another type. */
static void add_operand(const tile_facts *f, const int32_t *c, int i, double n, extras *e) {
  bool is_beside = tile_is_beside(c);
  e->loads += n * (is_askew(f, c, i) ? 1 + (double)c[TILE_WIDTH] / COST_LINE : 1);
  if (f->apart[i] > 0 && !c[TILE_LANES] && !tile_is_in_panels(f, c, i)) {
    e->loads += n * (2 * f->apart[i] - 1); /* of registers that begin anywhere in a line */
    e->shuffles += n * (f->apart[i] - 1);
  }
  if (is_beside && tile_beside_shuffles(f, i)) e->shuffles += n;
  if (tile_is_woven(c) && i == f->shared) { /* parts of registers are put together first */
    double lanes = (double)tile_lanes(f, c) * f->dot_group;
    double more = lanes / (double)tile_woven_columns(f, c, tile_columns(f, c)) - 1;
    e->loads += n * more;
    e->shuffles += n * (log2(f->dot_group) + more);
  }
  bool is_other = !c[TILE_DOT] && tn_dtype_bytes(f->reads.reads[i].tensor->dtype) != (size_t)f->bytes;
  if (is_other && !tile_is_widened(f, c, i))
    e->converted += is_beside ? 2 * n : n; /* no load brings them in place: a shuffle more */
}

/* Those of one step of a tile of V vectors, R rows and R2 rows. */
static extras step_extras(const tile_facts *f, const int32_t *c, double v, double r, double r2) {
  extras e = {.loads = c[TILE_PREFETCH] ? v : 0};
  for (int i = 0; i < f->reads.n; i++) {
    const generic_read *read = &f->reads.reads[i];
    bool is_shared = read->is_known[f->v] && read->stride[f->v] == 0 && !tile_is_beside(c);
    double along = is_shared ? 1 : v; /* a tile lies in one block */
    add_operand(f, c, i, along * (moves(f, i, f->u) ? r : 1) * (moves(f, i, f->u2) ? r2 : 1), &e);
  }
  if (!c[TILE_DOT]) return e;
  if (f->dot_signed) e.converted += c[TILE_LANES] ? v * (1 + r * r2) : v; /* sums of what is too much */
  if (f->dot_halves) e.converted += 2 * v + r * r2;                       /* both halves of each operand */
  return e;
}

/* What a step waits for lines of ROWS rows that fell out of their sets. */
static double step_conflict_ns(const tile_facts *f, const int32_t *c, double rows) {
  double ns = 0;
  for (int i = 0; i < f->reads.n && f->u >= 0; i++) {
    const generic_read *read = &f->reads.reads[i];
    double stride = fabs((double)read->stride[f->u]) * (double)tn_dtype_bytes(read->tensor->dtype);
    bool is_spread = stride >= COST_LINE && (!tile_is_left(f, c, i) || tile_left_lies(f, c));
    if (read->stride[f->u] && !read->overlaps && is_spread)
      ns += rows * f->machine.costs.line2 * lost_each_step(f, read, rows, stride);
  }
  return ns;
}

/* One step of the reduction for a tile of V vectors, R rows and R2 rows, CHAIN from one to the next. */
static double step_ns(const tile_facts *f, const int32_t *c, double v, double r, double r2, double chain) {
  const tn_machine *m = &f->machine;
  bool dot = c[TILE_DOT] != 0;
  double each = cost_fma(m, c[TILE_WIDTH]), fma = dot ? cost_dot(m, f->dot_group) : each;
  double work = dot ? 1 : RUNTIME_MAX(f->reads.n - 1, 1);
  if (!dot && f->reads.op->outputs[0].dtype == TN_I32) work *= 2; /* a product is two instructions or a slow one */
  extras e = step_extras(f, c, v, r, r2);
  double arithmetic = v * r * r2 * work * fma + e.converted * (f->dot_halves ? each : fma) + e.shuffles * each;
  /* What a step waits for hides nearly all of the rest: steps follow each other without end. */
  static const double exposed = 0.05, slack = 1.2;
  /* Twice as many instructions for the same work: not all are there each time that they could begin. */
  static const double narrow = 1.15;
  if (c[TILE_WIDTH] < m->vector_bytes) arithmetic *= narrow;
  double busy = fmax(arithmetic, slack * chain), loading = e.loads * cost_load(m, c[TILE_WIDTH]);
  return cost_overlap(fmax(busy, loading) + exposed * fmin(busy, loading), step_conflict_ns(f, c, r * r2));
}

/* Vectors along the last reduction axis, whose rest is one more. */
static double lane_steps(const tile_facts *f, const int32_t *c) {
  int64_t extent = f->reads.extent[f->reads.n_axes - 1];
  int64_t group = c[TILE_DOT] ? f->dot_group : 1;
  return f->reduced / (double)extent * (double)generic_ceil_div(extent, tile_lanes(f, c) * group);
}

/* The sum of a vector's lanes, as tile_realize.c makes it: they are halved again and again, a shuffle and an addition each time, and each
 * sum begins at zero and is put beside the others. */
static double lane_sum_ns(const tile_facts *f, const int32_t *c) {
  enum { BYTES = 16, MOVES = 4 };
  return (2 * log2((double)tile_lanes(f, c)) + MOVES) * cost_fma(&f->machine, BYTES);
}

/* Vectors of steps that lie beside each other, of which the last has a rest. */
static double beside_steps(const tile_facts *f, const int32_t *c) {
  int64_t extent = f->reads.extent[f->reads.n_axes - 1], steps = (int64_t)c[TILE_LANES] * c[TILE_VECTORS];
  return f->reduced / (double)extent * (double)generic_ceil_div(extent, steps);
}

/* Adding up one vector of such sums by columns: each step is taken out by a shuffle, which every other multiply-add could be done
 * beside. */
static double beside_sum_ns(const tile_facts *f, const int32_t *c) {
  return 3 * c[TILE_LANES] * cost_fma(&f->machine, c[TILE_WIDTH]) + 2 * f->machine.costs.load;
}

/* An element of BYTES that is turned with as many others as a line has: a load, a store, and shuffles that halve the distance.
 * Short ones are gathered. */
static double turned_ns(const tile_facts *f, double bytes) {
  const tn_machine *m = &f->machine;
  enum { LEAST = 4 };
  double lanes = m->vector_bytes / bytes;
  if (bytes < LEAST) return 0.4 * m->costs.gather;
  return fmax(2 * m->costs.load, log2(lanes) * cost_fma(m, m->vector_bytes)) / lanes;
}

/* Copying the operand that is turned for vectors along the reduction, or for dot products. */
static double turn_ns(const tile_facts *f, const int32_t *c) {
  int turned = tile_turned(f, c);
  if (turned < 0 || tile_is_constant(&f->reads.reads[turned])) return 0;
  const tn_tensor *tensor = f->reads.reads[turned].tensor;
  double elements = 1;
  for (int k = 0; k < tensor->ndim; k++) elements *= (double)tensor->shape[k];
  double bytes = elements * (double)tn_dtype_bytes(tensor->dtype);
  int level = cost_level(&f->machine, 2 * bytes);
  double line = level < 2 ? 0 : cost_line_at(&f->machine, cost_place(&f->machine, level, 2 * bytes), false);
  double written = level < 2 ? 0 : cost_write(&f->machine, bytes, level, false, false);
  double together = (double)tensor->shape[tensor->ndim - 1], lanes = (double)tile_lanes(f, c);
  double moved = together < lanes ? f->machine.costs.gather : turned_ns(f, bytes / elements);
  return elements * moved + bytes / COST_LINE * line + written;
}

/* A tile whose steps are written out: what they read again is still in a register. Where there is no loop inside at all the next tile
 * begins before this one ends, and what is the same there stays in registers as well, where they are enough. */
static double unrolled_ns(const tile_facts *f, const int32_t *c, double v, double r, double r2) {
  int from = tile_unrolled_from(f);
  bool is_whole = from == f->reads.n_data;
  int inner = is_whole ? innermost_axis(f, c) : -1;
  double extent[GENERIC_MAX_AXES], loads = 0, free = f->machine.vector_registers - v * r * r2 - 1, turns = 1;
  for (int a = 0; a < f->reads.n_axes; a++) extent[a] = a < from ? 1 : (double)f->reads.extent[a];
  for (int a = f->reads.n_data; a < from; a++) turns *= (double)f->reads.extent[a];
  if (f->u >= 0) extent[f->u] = r;
  if (f->u2 >= 0) extent[f->u2] = r2;
  for (int i = 0; i < f->reads.n; i++) {
    double vectors = v * elements_read(&f->walks[i], extent);
    bool stays = is_whole && !moves(f, i, inner) && vectors <= free;
    loads += stays ? 0 : turns * vectors;
  }
  double arithmetic = v * r * r2 * f->reduced * cost_fma(&f->machine, c[TILE_WIDTH]);
  double waits = (is_whole ? 1 : f->reduced) * f->machine.costs.chain;
  return cost_overlap(fmax(arithmetic, waits), loads * cost_load(&f->machine, c[TILE_WIDTH]));
}

/* What a tile takes to find out which steps count: a test for each that does not, unless they are written out. */
static double test_ns(const tile_facts *f, const int32_t *c) {
  double tests = f->n_parities && !c[TILE_PARITY] ? 1 : 0;
  for (int i = 0; i < f->n_parities; i++)
    tests *= (double)(f->reads.extent[f->parities[i].reduced] * f->parities[i].modulus);
  return tests * f->machine.costs.chain;
}

/* Vectors of a rest of COLUMNS. The last has no more lanes than it needs (tir/pass_dead_lanes.c) and counts as what it takes. */
static double rest_vectors(const tile_facts *f, const int32_t *c, int64_t columns) {
  int64_t lanes = c[TILE_LANES] ? 1 : tile_lanes(f, c), part = columns % lanes;
  if (part == 0 || c[TILE_DOT]) return (double)generic_ceil_div(columns, lanes);
  int bytes = 16;
  while (bytes < part * f->bytes) bytes *= 2;
  return (double)(columns / lanes) + cost_fma(&f->machine, bytes) / cost_fma(&f->machine, c[TILE_WIDTH]);
}

/* What a tile takes but for its stores. */
static double tile_ns(const tile_facts *f, const int32_t *c, double v, double r, double r2, double steps,
                      double waits) {
  if (tile_is_unrolled(f)) return unrolled_ns(f, c, v, r, r2);
  double chain =
      f->machine.costs.chain / (c[TILE_LANES] ? 1 : at_once(v, r, r2, steps)); /* sums of lanes are long ends */
  return steps * step_ns(f, c, v, r, r2, chain) + waits * chain + test_ns(f, c);
}

/* A row of tiles for R rows: whole panels, and the rest, whose last vector may be short. */
static double row_ns(const tile_facts *f, const int32_t *c, double r, double r2) {
  int64_t width = tile_columns(f, c), extent = f->reads.extent[f->v];
  double reduced = c[TILE_DEPTH] ? (double)c[TILE_DEPTH] : f->reduced, v = c[TILE_VECTORS];
  double steps = reduced / (c[TILE_DOT] ? f->dot_group : 1);
  double waits =
      tile_is_single_row(f) && c[TILE_DEPTH] ? 1 : 4; /* tiles of few steps begin before those before them end */
  double store = (c[TILE_DEPTH] ? 3 : 2) * f->machine.costs.load;
  if (c[TILE_LANES] == 1) steps = lane_steps(f, c), store = lane_sum_ns(f, c);
  if (tile_is_beside(c)) steps = beside_steps(f, c), store = beside_sum_ns(f, c);
  double ns = (double)(extent / width) * (tile_ns(f, c, v, r, r2, steps, waits) + v * r * r2 * store);
  double rest = rest_vectors(f, c, extent % width);
  return rest == 0 ? ns : ns + tile_ns(f, c, rest, r, r2, steps, waits) + rest * r * r2 * store;
}

/* Whole tiles, and one for the rest. */
static double rows_ns(const tile_facts *f, const int32_t *c, double r2) {
  int64_t rows = tile_extent_of(f, f->u), r = c[TILE_ROWS];
  double ns = (double)(rows / r) * row_ns(f, c, (double)r, r2);
  return rows % r ? ns + row_ns(f, c, (double)(rows % r), r2) : ns;
}

/* Along the second axis of rows likewise. */
static double compute_ns(const tile_facts *f, const int32_t *c, const nest *n) {
  int64_t rows = tile_extent_of(f, f->u2), r = c[TILE_ROWS2];
  double times = n->outer * n->parities * (c[TILE_DEPTH] ? f->reduced / c[TILE_DEPTH] : 1);
  if (r == 1) return times * rows_ns(f, c, 1);
  double ns = (double)(rows / r) * rows_ns(f, c, (double)r);
  return times * (rows % r ? ns + rows_ns(f, c, (double)(rows % r)) : ns);
}

/* The axes that loops outside of tiles and parities go along. */
static bool is_outer(const tile_facts *f, const int32_t *c, int axis) {
  return axis != f->v && axis != f->u && (axis != f->u2 || c[TILE_ROWS2] == 1) && !tile_parity_of(f, axis);
}

/* How often the packed operand is copied: inside of the innermost loop that moves it, once for each turn of the others around
 * that. Threads share a loop over all of them. */
static double copies(const tile_facts *f, const int32_t *c, const nest *n) {
  bool blocks = n->v_blocks > 1;
  double times = 1,
         since = 1; /* TIMES: SINCE at the last loop that moves it; SINCE: turns of all loops so far that do not */
  for (int a = 0; a < f->reads.n_data; a++) {
    if (!is_outer(f, c, a)) continue;
    if (moves(f, f->shared, a))
      times = since;
    else
      since *= (double)f->reads.extent[a];
  }
  if (n->depth >= 0) return 1; /* what does not move it is inside of the blocks of the reduction */
  if (c[TILE_THREADS]) return since * n->u_blocks;
  return blocks && !c[TILE_ORDER] ? since : times;
}

/* Elements of panels that hold padding to all elements: the last, and those that are left of the last block. */
static double padded_part(const tile_facts *f, const int32_t *c, const nest *n) {
  double extent = (double)tile_extent_of(f, f->v), columns = (double)tile_columns(f, c);
  double in_block = c[TILE_PACK] == 1 ? fmin(c[TILE_PANELS], n->panels) : n->panels;
  if (extent < columns) return 0; /* a single panel is no wider than it has to be */
  double copied = c[TILE_PACK] == 1 ? n->v_blocks * in_block : n->panels;
  return (copied - floor(extent / columns)) * columns / extent;
}

/* An element, of BYTES, of an operand that is packed in groups for dot products: they are put side by side by shuffles of rows, or words of
 * them are turned, of which the last, if it is no whole one, is gathered. */
static double grouped_ns(const tile_facts *f, double bytes, bool is_turned) {
  const tn_machine *m = &f->machine;
  double group = f->dot_group, extent = (double)f->reads.extent[f->dot_axis], rest = fmod(extent, group);
  double shuffled = (2 * m->costs.load + log2(group) * cost_fma(m, m->vector_bytes)) * bytes / m->vector_bytes;
  return is_turned ? turned_ns(f, bytes * group) / group + m->costs.gather * rest / extent : shuffled;
}

/* Copying the packed operand as often as the loops around the copy run. */
static double pack_ns(const tile_facts *f, const int32_t *c, const nest *n) {
  if (!c[TILE_PACK] || tile_is_woven(c)) return 0;
  const generic_read *read = &f->reads.reads[f->shared];
  if (c[TILE_PACK] == 2 && tile_is_constant(read)) return 0;
  const tn_machine *m = &f->machine;
  double elements = 1, bytes = (double)tn_dtype_bytes(read->tensor->dtype);
  double times = c[TILE_PACK] == 1 ? copies(f, c, n) : 1;
  for (int k = 0; k < read->tensor->ndim; k++) elements *= (double)read->tensor->shape[k];
  double lines = elements * bytes / COST_LINE;
  double place = cost_place(m, cost_level(m, elements * bytes), elements * bytes);
  double line = cost_line_at(m, place, c[TILE_THREADS]) + m->costs.line2;
  bool is_turned = read->stride[f->v] != 1;
  double moved = elements;
  if (c[TILE_DOT])
    moved *= grouped_ns(f, bytes, is_turned);
  else
    moved *= is_turned ? turned_ns(f, bytes) + m->costs.gather * padded_part(f, c, n)
                       : bytes / c[TILE_WIDTH] * m->costs.load * 2;
  if (is_turned) line += m->costs.page;
  return times * (lines * line + moved + elements * widen_ns(f, c, f->shared));
}

/* Copying the operand of rows once: neighbours go together, others one by one. */
static double left_ns(const tile_facts *f, const int32_t *c) {
  if (!c[TILE_LEFT] || tile_is_constant(&f->reads.reads[f->left])) return 0;
  const tn_machine *m = &f->machine;
  const generic_read *read = &f->reads.reads[f->left];
  double bytes = f->walks[f->left].all * f->walks[f->left].bytes;
  int level = cost_level(m, 2 * bytes);
  double line = cost_line_at(m, cost_place(m, level, 2 * bytes), c[TILE_THREADS]);
  double written = cost_write(m, bytes, RUNTIME_MAX(level, 2), c[TILE_THREADS], false);
  double panel = (double)RUNTIME_MIN(c[TILE_ROWS] * f->walks[f->left].bytes, c[TILE_WIDTH]);
  double moved = tile_left_lies(f, c)      ? bytes / c[TILE_WIDTH] * 2 * 2 * m->costs.load
                 : read->stride[f->u] == 1 ? bytes / panel * 2 * 2 * m->costs.load
                                           : f->walks[f->left].all * m->costs.gather;
  return bytes / COST_LINE * line + written + moved + f->walks[f->left].all * widen_ns(f, c, f->left);
}

/* The loop that zeros around an input stand in: the innermost one of no tile that moves READ. -1: there is none. */
static int padding_loop(const tile_facts *f, const int32_t *c, int read) {
  int loop = -1;
  for (int a = 0; a < f->reads.n_data; a++)
    if (is_outer(f, c, a) && f->reads.extent[a] > 1 && moves(f, read, a)) loop = a;
  return loop;
}

/* Copying an input with zeros around it: once, or in each turn of a loop what tiles read there, which may be a part of what the turn
 * before read. What is copied again lies near. */
static double padded_ns(const tile_facts *f, const int32_t *c, const nest *n, int read) {
  const tn_machine *m = &f->machine;
  double extent[GENERIC_MAX_AXES], turns = 1, all = f->walks[read].all * f->walks[read].bytes;
  for (int a = 0; a < f->reads.n_axes; a++) extent[a] = (double)f->reads.extent[a];
  if (c[TILE_PADDING] && c[TILE_ORDER]) extent[f->v] /= n->v_blocks, turns *= n->v_blocks;
  for (int a = c[TILE_PADDING] ? padding_loop(f, c, read) : -1; a >= 0; a--)
    if (is_outer(f, c, a)) turns *= extent[a], extent[a] = 1;
  double bytes = elements_read(&f->walks[read], extent) * f->walks[read].bytes, copied = turns * bytes;
  double far = cost_line(m, cost_level(m, 2 * all), c[TILE_THREADS]),
         near = cost_line(m, cost_level(m, 2 * bytes), false);
  double lines = lesser(copied, all) / COST_LINE * far + greater(copied - all, 0) / COST_LINE * near;
  double vectors = copied / f->machine.vector_bytes;
  return lines + 2 * vectors * m->costs.load +
         turns * cost_write(m, bytes, cost_level(m, 2 * bytes), c[TILE_THREADS], false);
}

/* 0 where there is no padding. */
static double padding_ns(const tile_facts *f, const int32_t *c, const nest *n) {
  for (int i = 0; f->padding && i < f->reads.n; i++)
    if (f->reads.reads[i].tensor == f->padding) return padded_ns(f, c, n, i);
  return 0;
}

/* Of plans that cost the same, the one with fewer loops; but what is copied for a block is used while it is near. */
static double plainness(const int32_t *c, const nest *n) {
  static const double loop = 0.001, copy = 0.005, doubt = 0.02; /* results that are added to in memory may wait */
  return 1 + (c[TILE_DEPTH] ? doubt : 0) + (c[TILE_PACK] ? copy : 0) +
         loop * ((n->v_blocks > 1 && c[TILE_PACK] != 1) + (c[TILE_BLOCK] != 0) + (c[TILE_PACK] == 2) + c[TILE_ORDER] +
                 c[TILE_INNER] + c[TILE_LEFT]);
}

/* Copies that threads share in a loop of their own. */
static int own_copies(const tile_facts *f, const int32_t *c) {
  bool packs = c[TILE_PACK] == 2 && !tile_is_constant(&f->reads.reads[f->shared]);
  bool copies_left = c[TILE_LEFT] && !tile_is_constant(&f->reads.reads[f->left]);
  return packs + copies_left + (tile_turned(f, c) >= 0 && !tile_is_constant(&f->reads.reads[tile_turned(f, c)]));
}

/* NS of one thread on all. Each block begins with a wait, and copies start threads of their own. */
static double shared_ns(const tile_facts *f, const int32_t *c, const nest *n, double ns) {
  enum { BEGIN = 8 }; /* chains that a thread waits at the begin of a block */
  const tn_machine *m = &f->machine;
  double turns = ceil(n->parts / m->threads);
  if (n->parts < 2) return ns;
  return cost_blocks(m, ns, n->parts, n->block, n->last) + turns * BEGIN * m->costs.chain +
         own_copies(f, c) * m->costs.fork;
}

/* INFINITY for what does not go together, so that ranking leaves it out. */
static double cost(const void *facts, const int32_t *c) {
  const tile_facts *f = facts;
  nest n;
  if (!tile_goes_together(f, c)) return INFINITY;
  make_nest(f, c, &n);
  double ns = tiles_ns(f, c, &n, compute_ns(f, c, &n), store_ns(f, c, &n)) + pack_ns(f, c, &n) + turn_ns(f, c) +
              left_ns(f, c) + padding_ns(f, c, &n);
  ns *= plainness(c, &n);
  return c[TILE_THREADS] ? shared_ns(f, c, &n, ns) : ns;
}

/* ---- plans that make one schedule -------------------------------------------------------------------------------- */

static void set(const plan_space *s, int32_t *c, int field, int64_t value) {
  if (plan_has(s, field, value)) c[field] = (int32_t)value;
}

/* The least number of panels in a block that is at least COUNT. */
static int64_t least_panels(const plan_space *s, int64_t count) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < s->n[TILE_PANELS]; i++)
    if (s->value[TILE_PANELS][i] >= count) least = RUNTIME_MIN(least, s->value[TILE_PANELS][i]);
  return least;
}

/* Outer loops of LEAST iterations or more along which READ moves; READ -1: that stand outside of blocks of the reduction. */
static bool has_outer_loop(const tile_facts *f, const int32_t *c, int read, int64_t least) {
  bool has = false;
  for (int a = 0; a < f->reads.n_data; a++) {
    bool counts = read >= 0 ? moves(f, read, a) : !c[TILE_DEPTH] || moves(f, f->shared, a);
    has |= is_outer(f, c, a) && f->reads.extent[a] >= least && counts;
  }
  return has;
}

/* Where no loop moves the input, zeros around it are made before all. */
static bool has_padding_loop(const tile_facts *f, const int32_t *c) {
  for (int i = 0; i < f->reads.n; i++)
    if (f->reads.reads[i].tensor == f->padding && padding_loop(f, c, i) >= 0) return true;
  return false;
}

/* One block of all panels is of no length; it stands in no order to other loops, nor do blocks where there are no others, nor a
 * block of one tile or panel. What is packed for a block, of which there is one, is packed before all. */
static void normalize(const void *facts, const plan_space *s, int32_t *c) {
  const tile_facts *f = facts;
  int64_t columns = f->block ? RUNTIME_MIN(tile_columns(f, c), f->block) : tile_columns(f, c);
  int64_t panels = generic_ceil_div(tile_extent_of(f, f->v), columns),
          tiles = generic_ceil_div(tile_extent_of(f, f->u), c[TILE_ROWS]);
  bool is_whole = c[TILE_PANELS] >= panels;
  if (is_whole) set(s, c, TILE_PANELS, least_panels(s, panels));
  int64_t least = c[TILE_THREADS] ? 1 : 2; /* a loop of one iteration is fused with others that threads share */
  if (is_whole || !has_outer_loop(f, c, -1, least)) set(s, c, TILE_ORDER, 0);
  if (c[TILE_BLOCK] >= tiles) set(s, c, TILE_BLOCK, 0);
  int64_t in_block = c[TILE_BLOCK] ? c[TILE_BLOCK] : tiles;
  int64_t tiles2 = generic_ceil_div(tile_extent_of(f, f->u2), c[TILE_ROWS2]);
  bool is_alone = in_block == 1 && (c[TILE_ROWS2] == 1 || tiles2 == 1);
  if (is_alone || RUNTIME_MIN(c[TILE_PANELS], panels) == 1) set(s, c, TILE_INNER, 0);
  if (c[TILE_PACK] == 1 && is_whole && !has_outer_loop(f, c, f->shared, 1)) set(s, c, TILE_PACK, 2);
  if (c[TILE_PADDING] && !has_padding_loop(f, c)) set(s, c, TILE_PADDING, 0);
}

static const plan_field fields[TILE_FIELD_COUNT] = {
#define X(name, text, what) {text, what, TILE_##name == TILE_LEFT},
    TILE_FIELDS(X)
#undef X
};

const schedule_family schedule_family_tile = {.name = "tile",
                                              .n_fields = TILE_FIELD_COUNT,
                                              .fields = fields,
                                              .describe = tile_describe,
                                              .space = tile_space,
                                              .cost = cost,
                                              .realize = tile_realize,
                                              .normalize = normalize};
