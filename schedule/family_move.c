/* family_move.c: stages that read against the grain: transposes, layout changes and what is computed on the way.
 * Tiles of two axes, the one in which the result lies and the one in which what is read lies: the lines of both are
 * used whole before they leave the first cache, and a tile of registers turns vectors. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"

enum {
  MOVE_COLUMNS,
  MOVE_ROWS,
  MOVE_BLOCK_COLUMNS,
  MOVE_BLOCK_ROWS,
  MOVE_THREADS,
  MOVE_STREAM,
  MOVE_AHEAD,
  MOVE_FIELD_COUNT
};
/* Lines that a processor fills side by side on their way past the caches: every one has room for as many. */
enum { OPEN_LINES = 8 };

/* What describe finds out about a transposing group, once for all of its plans; in the arena of the draft. */
typedef struct move_facts {
  tn_machine machine;
  generic_reads reads;
  int v, u;                /* data axes: the last, and the one that what is read against the grain lies along */
  int v_first, u_first;    /* the first of those that are fused with them; their extents are those of all */
  double points, ns;       /* of one thread without that read */
  int word;                /* elements that go together, as a pixel's: of a last axis that both sides have last; or 1 */
  double bytes, out_bytes; /* of such elements that are read, and written */
  double stride, row;      /* bytes between elements along v; between rows of the result */
  bool can_stream;         /* vectors may go past the caches */
  const tn_tensor *turned; /* what is read against the grain */
} move_facts;

/* Elements along the last axis that every read and the result have last, and that are a word of at most eight bytes, or three in one. 1: these
 * are none. */
static int word_of(const generic_reads *r, int64_t bytes) {
  enum { MOST_BYTES = 8 };
  int last = r->n_data - 1;
  int64_t n = r->extent[last];
  if (r->n_data < 3 || n < 2 || n * bytes > MOST_BYTES || ((n & (n - 1)) != 0 && n != 3)) return 1;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[last] || read->block[last] || read->stride[last] != 1) return 1;
    for (int a = 0; a < last; a++)
      if (!read->is_known[a] || read->stride[a] % n != 0) return 1;
  }
  return (int)n;
}

/* The read with a stride of more than a word along the axis V, and the axis in which its words lie. -1: there is none, or more than one. */
static int turned_read(const generic_reads *r, int v, int word, int *u) {
  int found = -1;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (!read->is_known[v] || read->block[v]) return -1;
    if (llabs(read->stride[v]) <= word) continue;
    if (found >= 0) return -1;
    for (int a = 0; a < v; a++)
      if (read->is_known[a] && llabs(read->stride[a]) == word && r->extent[a] > 1) found = i, *u = a;
    if (found < 0) return -1;
  }
  return found;
}

/* The first axis that is fused with AXIS, so that its loop fills vectors. OTHER stays apart. */
static int join(generic_reads *r, int axis, int other, int64_t lanes) {
  int first = axis;
  while (first - 1 != other && r->extent[first] % lanes != 0 && generic_joins(r, first)) {
    first--;
    r->extent[first] *= r->extent[first + 1];
  }
  r->extent[axis] = r->extent[first];
  return first;
}

/* A group of one stage without a reduction, of which exactly one read goes against the grain. */
static const void *describe(const generic_draft *d, const generic_group *g) {
  int stage = generic_stage(d, g->root);
  const te_op *op = d->s->stages[stage].op;
  bool fits = g->n == 0 && g->n_windows == 0 && !g->anchor && op->n_reduce == 0 && op->n_outputs == 1;
  move_facts *f = fits ? RUNTIME_NEW(d->arena, move_facts) : NULL;
  if (!f || !generic_read_all(d, stage, &f->reads) || f->reads.n_data < 2) return NULL;
  f->word = word_of(&f->reads, (int64_t)tn_dtype_bytes(op->outputs[0].dtype));
  f->v = f->reads.n_data - (f->word > 1 ? 2 : 1);
  int turned = turned_read(&f->reads, f->v, f->word, &f->u);
  if (turned < 0) return NULL;
  const generic_read *read = &f->reads.reads[turned];
  f->machine = d->machine;
  f->turned = read->tensor;
  f->ns = g->ns;
  f->points = f->row = 1;
  for (int a = 0; a < f->reads.n_data; a++) f->points *= (double)f->reads.extent[a];
  f->points /= f->word;
  f->bytes = (double)tn_dtype_bytes(read->tensor->dtype) * f->word;
  f->out_bytes = (double)tn_dtype_bytes(op->outputs[0].dtype) * f->word;
  for (int a = f->u + 1; a <= f->v; a++) f->row *= (double)f->reads.extent[a];
  f->row *= f->out_bytes;
  f->v_first = f->v, f->u_first = f->u;
  if (f->word == 1 && !generic_has_strides(d, stage, &f->reads) && generic_is_of_reads(d, stage)) {
    int64_t lanes = RUNTIME_MAX(f->machine.vector_bytes, COST_LINE) / (int64_t)fmax(f->bytes, f->out_bytes);
    f->v_first = join(&f->reads, f->v, f->u, lanes);
    f->u_first = join(&f->reads, f->u, -1, lanes);
  }
  f->can_stream = fmod(f->row, f->machine.vector_bytes) == 0 &&
                  generic_can_stream(d, stage, f->reads.extent[f->v] * f->word, f->points * (f->bytes + f->out_bytes));
  f->stride = fabs((double)read->stride[f->v]) * f->bytes / f->word;
  return f;
}

/* Bytes of a word in a register; a word of three elements takes the room of four. */
static double bytes_in_register(const move_facts *f, double bytes) { return f->word == 3 ? bytes / 3 * 4 : bytes; }

/* Elements of 16 bytes, which the code generator turns by shuffles where so many rows of a tile stand together. */
static int32_t turned_at_once(const move_facts *f) {
  return (int32_t)RUNTIME_MAX(16 / bytes_in_register(f, f->bytes), 1);
}

/* Adds N if the axis is as long. */
static void add_tile(plan_space *s, int field, int64_t n, int64_t extent) {
  if (n <= extent) plan_add(s, field, n);
}

/* Tiles of 8 to 32, of whole vectors and of whole lines, and small ones for short axes. */
static void space(const void *facts, plan_space *s) {
  const move_facts *f = facts;
  int64_t columns = f->reads.extent[f->v], rows = f->reads.extent[f->u], turned = turned_at_once(f);
  plan_add(s, MOVE_COLUMNS, 8), plan_add(s, MOVE_ROWS, 8);
  for (int n = 16; n <= 32; n *= 2) add_tile(s, MOVE_COLUMNS, n, columns), add_tile(s, MOVE_ROWS, n, rows);
  plan_add(s, MOVE_COLUMNS, 4), plan_add(s, MOVE_ROWS, 4), plan_add(s, MOVE_ROWS, 1);
  for (int n = 1; n <= 2; n++) add_tile(s, MOVE_COLUMNS, n * f->machine.vector_bytes / (int64_t)f->bytes / 2, columns);
  add_tile(s, MOVE_COLUMNS, (int64_t)(COST_LINE / f->out_bytes), columns);
  for (int64_t n = turned; n <= 4 * turned; n *= 2) add_tile(s, MOVE_ROWS, n, rows);
  for (int n = 1; n <= 64; n *= 2) plan_add(s, MOVE_BLOCK_COLUMNS, n), plan_add(s, MOVE_BLOCK_ROWS, n);
  plan_add(s, MOVE_BLOCK_COLUMNS, 0);
  plan_add(s, MOVE_AHEAD, 0);
  if (f->turned->ndim > 0 && cost_level(&f->machine, f->points * (f->bytes + f->out_bytes)) > 2)
    plan_add(s, MOVE_AHEAD, 1);
  plan_add(s, MOVE_STREAM, 0);
  if (f->can_stream) plan_add(s, MOVE_STREAM, 1);
  plan_add(s, MOVE_THREADS, 0);
  if (generic_is_worth_threads_on(&f->machine, f->ns)) plan_add(s, MOVE_THREADS, 1);
}

/* Bytes of LENGTH neighbours, in whole lines. */
static double in_lines(double length, double bytes) { return ceil(length * bytes / COST_LINE) * COST_LINE; }

/* The nearest level, 1 to 3, in which the lines of N rows are together, each of BYTES and STRIDE from the next. */
static int stay(const tn_machine *m, double n, double bytes, double stride) {
  for (int level = 1; level <= 2; level++) {
    double usable = fmin(cost_reached(m, level, bytes, stride), (double)m->cache_bytes[level] / 2);
    if (n * bytes <= 0.75 * usable) return level;
  }
  return 3;
}

/* Columns of a tile that are turned together: more than a vector would need twice the registers. */
static int32_t width_of(const move_facts *f, const int32_t *c) {
  int32_t lanes = (int32_t)fmax(f->machine.vector_bytes / bytes_in_register(f, fmax(f->bytes, f->out_bytes)), 1);
  return c[MOVE_COLUMNS] % lanes == 0 ? RUNTIME_MIN(c[MOVE_COLUMNS], lanes) : c[MOVE_COLUMNS];
}

/* Whether a tile is one of those that the code generator turns; *WHOLE: it reads whole vectors, each once. */
static bool is_turned(const move_facts *f, const int32_t *c, bool *whole) {
  int32_t turned = turned_at_once(f), columns = width_of(f, c);
  bool is_power = (columns & (columns - 1)) == 0;
  double bytes = bytes_in_register(f, f->bytes);
  *whole = columns * bytes == f->machine.vector_bytes && c[MOVE_ROWS] % columns == 0;
  if (columns * bytes > f->machine.vector_bytes) return false;
  if (columns > f->reads.extent[f->v] || c[MOVE_ROWS] > f->reads.extent[f->u]) return false; /* no tile is whole */
  return turned >= 2 && c[MOVE_ROWS] % turned == 0 && columns % turned == 0 && is_power && f->stride >= 5 * f->bytes;
}

/* Vectors of a whole tile for which there are no registers are stored and loaded once more. */
static double waiting_ns(const move_facts *f, int32_t columns) {
  const tn_machine *m = &f->machine;
  double waiting = fmax(columns - m->vector_registers, 0) / columns;
  return f->points * f->bytes / m->vector_bytes * waiting * 2 * m->costs.load;
}

/* Elements that go through registers: 16 bytes are loaded at once and turned by shuffles, as many as there are halvings
 * and blocks of a vector; or one by one, but neighbours of a line at once where rows fill vectors. */
static double turning_ns(const move_facts *f, const int32_t *c) {
  const tn_machine *m = &f->machine;
  int32_t turned = turned_at_once(f), columns = width_of(f, c);
  bool whole;
  if (is_turned(f, c, &whole)) {
    double lanes = fmin(columns, m->vector_bytes / f->bytes);
    double shuffles = log2(turned) + (whole ? log2(lanes / turned) : lanes / turned - 1);
    double shuffle = cost_fma(m, (int)(lanes * f->bytes));
    return f->points * (m->costs.load / (whole ? lanes : turned) + shuffles / lanes * shuffle) +
           (whole ? waiting_ns(f, columns) : 0);
  }
  columns = c[MOVE_COLUMNS];
  double spills = columns * c[MOVE_ROWS] > 256 ? 1.5 : 1;
  return f->points * m->costs.gather * (0.5 + 1.0 / c[MOVE_ROWS] + 2.0 / columns) * spills;
}

/* BYTES in rows STRIDE bytes apart, VISIT of them at a time, before N other rows are visited: how often a row is met whose
 * page is not known any more. */
static double forgotten(const tn_machine *m, double bytes, double visit, double stride, double n) {
  bool is_far = stride >= COST_PAGE / 2 && visit < COST_PAGE && n * COST_LINE > (double)m->cache_bytes[1];
  return is_far ? bytes / fmax(visit, COST_LINE) : 0;
}

/* The same of lines that are read in parts, which the second cache brings with their neighbours: of each two lines one is met. Rows of
 * which so little is read at a time are known as long as the second cache holds half of their pages. */
static double forgotten_parts(const tn_machine *m, double bytes, double stride, double n) {
  bool is_far = stride >= COST_PAGE / 2 && n * COST_PAGE >= (double)m->cache_bytes[2] / 2;
  return is_far ? bytes / COST_LINE / 2 : 0;
}

/* BYTES in N rows STRIDE bytes apart, which are read side by side: the more of the second cache they take, the more of
 * what is fetched ahead of each is gone before it is used. */
static double ahead_ns(const tn_machine *m, double bytes, double stride, double n) {
  double taken = fmin(n * COST_LINE / cost_reached(m, 2, COST_LINE, stride), 1);
  return taken * bytes / COST_LINE * cost_visit(m, 3, 1);
}

/* Bytes behind the begin of a line, at least, at which rows of the result begin: a power of two up to a line. */
static double aligned_rows(const move_facts *f) {
  double aligned = COST_LINE;
  while (fmod(f->row, aligned) != 0) aligned /= 2;
  return aligned;
}

/* A store as long as a line that spans two of them waits for both where they come from afar, and no later one overtakes
 * it; shorter ones that span two have a neighbour that fetched the second, or fetch it for one. */
static double spans_ns(const move_facts *f, double stored) {
  return stored < COST_LINE
             ? 0
             : f->points * f->out_bytes / COST_LINE * (1 - aligned_rows(f) / COST_LINE) * f->machine.costs.spans;
}

/* How many of N runs of RUN bytes begin where nothing of their page was met: runs that lie STRIDE apart share pages, and what
 * follows at once is one stream. */
static double fresh_runs(double n, double run, double stride) {
  return run >= stride ? 0 : n * fmin(stride / COST_PAGE, 1);
}

/* How many lines of BYTES come again that are used in parts of so many bytes. */
static double again(double bytes, double part) { return bytes / COST_LINE * fmax(COST_LINE / part - 1, 0); }

/* Lines of the result that a tile fills in part come again with the next tile, which goes on in the same rows: and go, where they did not
 * stay in the first cache. Rows that lie a power of two and a little apart creep through few of its sets. */
static double filled_ns(const move_facts *f, const int32_t *c) {
  const tn_machine *m = &f->machine;
  double stored = c[MOVE_COLUMNS] * f->out_bytes, aligned = fmin(aligned_rows(f), stored);
  double more = f->points * f->out_bytes / COST_LINE * (COST_LINE - aligned) / stored;
  int next = stay(m, c[MOVE_ROWS], COST_LINE, f->row);
  if (next > 1) return again(f->points * f->out_bytes, stored) * 2 * cost_line(m, next, false);
  return more * 2 * cost_crowded(m, c[MOVE_ROWS], aligned < stored ? 2 : 1, f->row, cost_ways(m)) * m->costs.line2;
}

/* Parts of a tile's columns that are turned side by side, as there are registers for all of them, so that rows go past the caches in
 * whole lines. 1: there are none. */
static int32_t parts_of_line(const move_facts *f, const int32_t *c) {
  int32_t stored = (int32_t)(width_of(f, c) * f->out_bytes), columns = (int32_t)(c[MOVE_COLUMNS] * f->out_bytes);
  bool is_line = stored < COST_LINE && columns == COST_LINE && c[MOVE_COLUMNS] <= f->machine.vector_registers;
  return c[MOVE_STREAM] && is_line ? columns / stored : 1;
}

/* Whether what is written can go past the caches: in whole lines, which where rows begin between two lines are parts of few lines at a time,
 * whose others follow with the next tile. */
static bool can_go_past(const move_facts *f, const int32_t *c) {
  bool whole;
  int32_t parts = parts_of_line(f, c), stored = (int32_t)(width_of(f, c) * f->out_bytes) * parts;
  if (!f->can_stream || fmod(stored, COST_LINE) != 0) return false;
  if (parts > 1 && !(is_turned(f, c, &whole) && whole)) return false;
  return fmod(f->row, COST_LINE) == 0 || (c[MOVE_ROWS] <= OPEN_LINES && c[MOVE_BLOCK_COLUMNS] != 0);
}

/* Of N tiles of LENGTH along an axis the elements that go by before the loop around goes on: one tile is no block, and 0 are one
 * that goes down all rows. */
static double of_block(int32_t length, int32_t n, int64_t extent) {
  if (n == 0) return length;
  return n == 1 ? (double)extent : fmin((double)length * n, (double)extent);
}

/* Bytes of a column of the result until the next tiles of it come: of parts of lines the lines, those that are fetched ahead of them
 * and what is written, about as much. */
static double until_again(const move_facts *f, const int32_t *c) {
  double read = in_lines(c[MOVE_ROWS], f->bytes);
  return c[MOVE_ROWS] * f->bytes < COST_LINE ? 3 * read : read;
}

/* Of what goes past the caches in parts of lines those whose other part does not come soon, at both ends of a block of columns: memory
 * reads and writes a line for each part. */
static double torn_ns(const move_facts *f, const int32_t *c, double columns) {
  const tn_machine *m = &f->machine;
  double length = columns * f->out_bytes;
  if (!c[MOVE_STREAM] || (fmod(f->row, COST_LINE) == 0 && fmod(length, COST_LINE) == 0)) return 0;
  return f->points / columns * 2 * (cost_line(m, 4, false) + cost_write(m, COST_LINE, 4, false, false));
}

/* Tiles on along what is read that are asked for: the next, or those that begin in the next line. */
static int32_t tiles_ahead(const move_facts *f, const int32_t *c) {
  return (int32_t)fmax(ceil(COST_LINE / (c[MOVE_ROWS] * f->bytes)), 1);
}

/* The part of what is read that was asked for and is still near when its turn comes: two panels' lines are, but for the first panels of a
 * block whose columns are not all, which were asked for long before. */
static double asked_part(const move_facts *f, const int32_t *c, double columns) {
  bool is_near = stay(&f->machine, columns, 2 * in_lines(c[MOVE_ROWS], f->bytes), f->stride) <= 2;
  double tiles = c[MOVE_BLOCK_ROWS], rows = (double)f->reads.extent[f->u];
  if (!c[MOVE_AHEAD] || !is_near) return 0;
  if (tiles == 1 || columns >= (double)f->reads.extent[f->v]) tiles = ceil(rows / c[MOVE_ROWS]);
  return fmax(1 - tiles_ahead(f, c) / tiles, 0);
}

/* What lines that nobody guesses take longer than a stream where each is asked for before; and to ask for them. */
static double asking_ns(const move_facts *f, const int32_t *c, int level, double lines) {
  const tn_machine *m = &f->machine;
  double asks = f->points / c[MOVE_ROWS] * fmax(c[MOVE_ROWS] * f->bytes / COST_LINE, 1);
  if (level <= 2) return asks * m->costs.load;
  return lines * fmax(m->costs.asked - m->costs.line3, 0) + asks * m->costs.load;
}

/* Tiles go by along the result's rows, which LEVEL holds with what is read, KEPT what the caches keep. Lines that a tile uses or fills in
 * parts are fetched again, from where they stayed; where that is the second cache it brings their neighbours, of each two lines
 * one, on the way. */
static double cost_from(const move_facts *f, const int32_t *c, int level, int kept) {
  const tn_machine *m = &f->machine;
  double columns = of_block(c[MOVE_COLUMNS], c[MOVE_BLOCK_COLUMNS], f->reads.extent[f->v]);
  double rows = of_block(c[MOVE_ROWS], c[MOVE_BLOCK_ROWS], f->reads.extent[f->u]);
  double in_bytes = f->points * f->bytes, out_bytes = f->points * f->out_bytes;
  double stored = c[MOVE_COLUMNS] * f->out_bytes, of_tile = c[MOVE_ROWS] * f->bytes, at_once = 16;
  bool whole, past = c[MOVE_STREAM] != 0;
  double line = cost_line(m, kept, c[MOVE_THREADS] != 0);
  int in = stay(m, columns, until_again(f, c), f->stride);
  int out = stay(m, rows, in_lines(columns, f->out_bytes), f->row);
  if (!is_turned(f, c, &whole)) at_once = f->bytes;
  if (whole) at_once = COST_LINE;
  double out_lines =
      out <= 2 || stored >= COST_LINE ? out_bytes : f->points / columns * in_lines(columns, f->out_bytes);
  double far_rows = in <= 2 ? rows : c[MOVE_ROWS];
  double read = f->points / far_rows * in_lines(far_rows, f->bytes) / COST_LINE * line;
  double written = cost_write(m, out_lines, level, c[MOVE_THREADS], past);
  if (in <= 2) read += again(in_bytes, of_tile) * cost_line(m, in, false);
  if (at_once < COST_LINE && stay(m, c[MOVE_COLUMNS], COST_LINE, f->stride) > 1)
    read += in_bytes / at_once * cost_line(m, in, false);
  written += past ? torn_ns(f, c, columns) : filled_ns(f, c);
  double met = in == 2 && of_tile < COST_LINE ? forgotten_parts(m, in_bytes, f->stride, columns)
                                              : forgotten(m, in_bytes, of_tile, f->stride, columns);
  double stores = past ? 0 : forgotten(m, out_bytes, columns * f->out_bytes, f->row, rows);
  double asked = asked_part(f, c, columns), reads = 0;
  if (asked < 1)
    reads +=
        (1 - asked) *
        (fmax(met * cost_visit(m, level, of_tile / COST_LINE), ahead_ns(m, in_bytes, f->stride, columns)) +
         fresh_runs(f->points / rows, rows * f->bytes, f->stride) * cost_visit(m, level, rows * f->bytes / COST_LINE));
  if (c[MOVE_AHEAD]) reads += asking_ns(f, c, level, asked * in_bytes / COST_LINE);
  double waits = reads + (past ? 0 : spans_ns(f, stored)) +
                 (past ? 0
                       : fresh_runs(f->points / columns, columns * f->out_bytes, f->row) *
                             cost_visit(m, level, columns * f->out_bytes / COST_LINE)) +
                 stores * cost_visit(m, level, columns * f->out_bytes / COST_LINE);
  if (level <= 2) waits = 0;
  double tiles = whole ? 0 : f->points / (c[MOVE_COLUMNS] * c[MOVE_ROWS]);
  double ns = cost_overlap(read + written + waits, turning_ns(f, c)) + (tiles + c[MOVE_ROWS]) * m->costs.chain;
  double shared = (double)c[MOVE_COLUMNS] * RUNTIME_MAX(c[MOVE_BLOCK_COLUMNS], 1) * c[MOVE_ROWS] * c[MOVE_BLOCK_ROWS];
  return c[MOVE_THREADS] ? cost_threads(m, ns, fmax(f->points / shared, 1)) : ns;
}

/* Of what the third cache has room for it loses a part; what goes past the caches leaves it to what is read. */
static double cost(const void *facts, const int32_t *c) {
  const move_facts *f = facts;
  const tn_machine *m = &f->machine;
  double in = f->points * f->bytes, all = in + f->points * f->out_bytes, kept = c[MOVE_STREAM] ? in : all;
  int level = cost_level(m, all), from = cost_level(m, kept);
  if (c[MOVE_STREAM] && !can_go_past(f, c)) return INFINITY;
  bool is_one_block = c[MOVE_BLOCK_COLUMNS] <= 1 && c[MOVE_BLOCK_ROWS] == 1; /* whose loops threads share as one */
  if (c[MOVE_AHEAD] && (c[MOVE_BLOCK_COLUMNS] == 0 || (c[MOVE_THREADS] && is_one_block))) return INFINITY;
  double lost = from == 3 ? cost_lost(m, kept) : 0, near = cost_from(f, c, level, from);
  return lost > 0 ? (1 - lost) * near + lost * cost_from(f, c, 4, 4) : near;
}

/* *AXIS, which is adjacent to those from FIRST on, becomes the loop over all of them. */
static bool fuse(generic_draft *d, int stage, int first, int *axis) {
  int axes[TN_MAX_RANK], n = 0;
  for (int a = first; a <= *axis; a++) axes[n++] = a;
  return generic_fuse(d, stage, n, axes, axis);
}

/* Splits an axis into tiles, and these into blocks. *BLOCK: -1: there is one only. */
static bool split_twice(generic_draft *d, int stage, int axis, int64_t length, int64_t tiles, int *block, int *tile,
                        int *inner) {
  int64_t n = (d->s->stages[stage].axes[axis].extent + length - 1) / length;
  *block = -1;
  if (!generic_split(d, stage, axis, length, tile, inner)) return false;
  return tiles >= n || tiles <= 1 || generic_split(d, stage, *tile, tiles, block, tile);
}

/* At each tile what the tile reads that comes after all of its row, at least a line further on, is asked for. */
static bool ask_ahead(generic_draft *d, int stage, const move_facts *f, const int32_t *c, int u_tile, int v_tile) {
  const schedule_stage *st = &d->s->stages[stage];
  int tile = schedule_leaf_position(st, u_tile), iter = schedule_leaf_position(st, v_tile);
  return tile < iter && generic_prefetch(d, stage, iter, f->turned, tiles_ahead(f, c), stage, tile);
}

/* Loops: the other axes, blocks, tiles, then a tile whose rows are written out and whose columns are a vector, or some vectors that
 * are turned one after the other, or side by side. */
static bool realize(generic_draft *d, const generic_group *g, const void *facts, const int32_t *c) {
  const move_facts *f = facts;
  int stage = generic_stage(d, g->root), order[SCHEDULE_MAX_AXES], n = 0, n_shared, loop, n_fused;
  int v_block, v_tile, v_in, v_part = -1, u_block, u_tile, u_in, v = f->v, u = f->u, width = width_of(f, c);
  if (!fuse(d, stage, f->v_first, &v) || !fuse(d, stage, f->u_first, &u)) return false;
  if (!split_twice(d, stage, v, c[MOVE_COLUMNS], c[MOVE_BLOCK_COLUMNS], &v_block, &v_tile, &v_in)) return false;
  if (width < c[MOVE_COLUMNS] && !generic_split(d, stage, v_in, width, &v_part, &v_in)) return false;
  if (!split_twice(d, stage, u, c[MOVE_ROWS], c[MOVE_BLOCK_ROWS], &u_block, &u_tile, &u_in)) return false;
  for (int a = 0; a < f->v_first; a++)
    if (a < f->u_first || a > f->u) order[n++] = a;
  int last = f->reads.n_data - 1, lanes[] = {v_in, last};
  if (u_block >= 0) order[n++] = u_block;
  if (v_block >= 0) order[n++] = v_block;
  n_shared = n;
  bool is_down = c[MOVE_BLOCK_COLUMNS] == 0, is_beside = parts_of_line(f, c) > 1;
  order[n++] = is_down ? v_tile : u_tile, order[n++] = is_down ? u_tile : v_tile;
  if (v_part >= 0 && !is_beside) order[n++] = v_part;
  order[n++] = u_in;
  if (v_part >= 0 && is_beside) order[n++] = v_part;
  order[n++] = v_in;
  if (f->word > 1) order[n++] = last;
  if (n_shared == 0) n_shared = 2;
  return generic_order(d, stage, n, order) && (f->word == 1 || generic_fuse(d, stage, 2, lanes, &v_in)) &&
         generic_annotate(d, stage, v_in, SCHEDULE_VECTORIZE) && generic_annotate(d, stage, u_in, SCHEDULE_UNROLL) &&
         (v_part < 0 || generic_annotate(d, stage, v_part, SCHEDULE_UNROLL)) &&
         generic_parallel(d, stage, n_shared, order, c[MOVE_THREADS] ? INFINITY : 0, &loop, &n_fused) &&
         (!c[MOVE_STREAM] || generic_stream(d, stage)) && (!c[MOVE_AHEAD] || ask_ahead(d, stage, f, c, u_tile, v_tile));
}

/* The words of a plan in records, and what each number counts. */
static const plan_field fields[MOVE_FIELD_COUNT] = {
    [MOVE_COLUMNS] = {"columns", "of a tile of registers, along the last axis"},
    [MOVE_ROWS] = {"rows", "of a tile, along the axis in which what is read lies"},
    [MOVE_BLOCK_COLUMNS] = {"block_columns", "tiles of columns in a block; 0: one, down all rows"},
    [MOVE_BLOCK_ROWS] = {"block_rows", "tiles of rows in a block"},
    [MOVE_THREADS] = {"threads", "1: blocks are shared among threads"},
    [MOVE_STREAM] = {"stream", "1: what is written goes past the caches"},
    [MOVE_AHEAD] = {"ahead", "1: what the next row of tiles reads is asked for", true},
};

PLAN_FAMILY(move, MOVE_FIELD_COUNT);
