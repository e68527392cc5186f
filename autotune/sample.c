/* sample.c: random genomes. Tile lengths are drawn so that most innermost tiles of accumulators fit the
 * vector registers, with a vector loop that is a multiple of the lanes where the extent allows. Everything
 * else stays possible, so that evolution can reach it. Most lengths are divisors of the extent. Others
 * leave a tail; they are drawn more often where the extent has few divisors of a useful size. */
#include <stddef.h>

#include "autotune/search.h"

/* MAX_TILE: the longest loop that is drawn for a tile of a data axis. FREE_REGISTERS: the fewest
 * accumulators aimed at, and the registers left for operands. TRIES: draws of which the best is taken. */
enum { MAX_TILE = 64, FREE_REGISTERS = 4, TRIES = 2 };
/* Chances in percent. */
enum { PLAIN_FACTORS = 8, PLANNED = 60, TAIL = 20, TAIL_WHEN_POOR = 65, PEELED = 90, UNIT_S2 = 65, REDUCE_TAIL = 8 };

static bool chance(runtime_rng *rng, int percent) { return runtime_random_below(rng, 100) < percent; }

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

/* Writes the divisors of N that are at most LIMIT, in no particular order; returns how many (at most MAX). */
static int divisors_of(int64_t n, int64_t limit, int max, int64_t *out) {
  int count = 0;
  for (int64_t d = 1; d * d <= n && d <= limit && count < max; d++) {
    if (n % d == 0) out[count++] = d;
  }
  for (int i = count - 1; i >= 0 && count < max; i--) {
    int64_t d = n / out[i];
    if (d != out[i] && d <= limit && d > out[count - 1]) out[count++] = d;
  }
  return count;
}

int64_t autotune_random_divisor(runtime_rng *rng, int64_t n, int64_t limit) {
  enum { MAX = 512 };
  int64_t divisors[MAX];
  return divisors[runtime_random_below(rng, divisors_of(n, RUNTIME_MAX(limit, 1), MAX, divisors))];
}

/* The largest of TRIES random divisors, which prefers large ones. */
static int64_t large_divisor(runtime_rng *rng, int64_t n, int64_t limit) {
  int64_t best = 1;
  for (int i = 0; i < TRIES; i++) best = RUNTIME_MAX(best, autotune_random_divisor(rng, n, limit));
  return best;
}

/* Whether N has a divisor in LOW..HIGH. Takes at most HIGH - LOW + 1 divisions. */
static bool has_divisor_in(int64_t n, int64_t low, int64_t high) {
  for (int64_t d = low; d <= high; d++) {
    if (n % d == 0) return true;
  }
  return false;
}

/* The innermost length of a data axis that is not vectorized. */
static int64_t row_length(runtime_rng *rng, int64_t extent, int64_t limit) {
  limit = RUNTIME_MIN(limit, extent);
  if (limit <= 1) return 1;
  bool is_poor = !has_divisor_in(extent, RUNTIME_MAX(limit / 2, 2), limit);
  if (!chance(rng, is_poor ? TAIL_WHEN_POOR : TAIL)) return large_divisor(rng, extent, limit);
  return 1 + runtime_random_below(rng, limit);
}

/* The length of the vectorized loop: one to four registers, or a divisor where the extent is shorter than a
 * register. */
static int64_t vector_length(runtime_rng *rng, int64_t extent, int64_t lanes) {
  static const uint8_t registers[] = {1, 1, 2, 2, 2, 2, 3, 4, 4, 4};
  int64_t limit = RUNTIME_MIN(AUTOTUNE_MAX_VECTOR, extent);
  int64_t length = lanes * registers[runtime_random_below(rng, RUNTIME_COUNT(registers))];
  if (length > limit) length = limit / lanes * lanes;
  if (length == 0) return large_divisor(rng, extent, limit);
  bool is_poor = extent % lanes != 0;
  if (extent % length == 0 || chance(rng, is_poor ? TAIL_WHEN_POOR : TAIL)) return length;
  return large_divisor(rng, extent, limit);
}

/* Sets a tile with the given innermost length. The product of the two lengths around it (S1 and S2) divides
 * the number of whole innermost tiles. */
static void set_outer(runtime_rng *rng, int64_t extent, int64_t innermost, autotune_tile *tile) {
  int64_t rest = extent / innermost;
  int64_t s2 = chance(rng, UNIT_S2) ? 1 : autotune_random_divisor(rng, rest, MAX_TILE);
  int64_t s1 = autotune_random_divisor(rng, rest / s2, rest);
  *tile = (autotune_tile){{(int32_t)s1, (int32_t)s2, (int32_t)innermost}, TN_TAIL_GUARD};
  if (extent % innermost && chance(rng, PEELED)) tile->tail = TN_TAIL_PEEL;
}

/* The tile of a reduction that is not parted: one random length; the others stay 1. */
static void sample_reduce(runtime_rng *rng, int64_t extent, autotune_tile *tile) {
  int64_t length = autotune_random_divisor(rng, extent, extent);
  if (chance(rng, REDUCE_TAIL)) length = 1 + runtime_random_below(rng, RUNTIME_MIN(extent, MAX_TILE));
  *tile = (autotune_tile){{(int32_t)length, 1, 1}, extent % length ? TN_TAIL_PEEL : TN_TAIL_GUARD};
}

/* The tile of a reduction that rfactor parts: lanes for vectors, parts for threads, or both with a
 * sequential loop between them. */
static void sample_parts(runtime_rng *rng, const autotune_hole *hole, autotune_tile *tile) {
  int64_t lanes = hole->is_vector ? (int64_t)8 << runtime_random_below(rng, 5) : 1;
  if (hole->is_vector && chance(rng, TAIL)) lanes = autotune_random_divisor(rng, hole->extent, AUTOTUNE_MAX_VECTOR);
  lanes = RUNTIME_MIN(lanes, hole->extent);
  int64_t rest = (hole->extent + lanes - 1) / lanes, parts = (int64_t)2 << runtime_random_below(rng, 5);
  int64_t between = (rest + parts - 1) / parts;
  *tile = (autotune_tile){{1, 1, 1}, TN_TAIL_GUARD};
  if (hole->parts) tile->length[0] = (int32_t)between;
  if (hole->is_vector) tile->length[hole->n_lengths - 1] = (int32_t)lanes;
}

void autotune_sample_hole(const autotune_hole *hole, runtime_rng *rng, autotune_tile *tile) {
  if (hole->is_reduce && (hole->is_vector || hole->parts))
    sample_parts(rng, hole, tile);
  else if (hole->is_reduce)
    sample_reduce(rng, hole->extent, tile);
  else
    set_outer(rng, hole->extent, row_length(rng, hole->extent, MAX_TILE), tile);
}

/* ---- tiles of a stage -------------------------------------------------------------------------------------------- */

/* The consecutive holes of one stage: first its data axes, then its reduce axes. */
typedef struct group {
  int first, n_spatial, n;
} group;

/* The group that HOLE belongs to. Holes that follow others are left out, since their lengths are not drawn. */
static group group_of(const autotune_sketch *sketch, int hole) {
  const autotune_hole *holes = sketch->holes;
  group g = {.first = hole};
  while (g.first > 0 && holes[g.first - 1].stage == holes[hole].stage && holes[g.first - 1].follows < 0) g.first--;
  for (int h = g.first; h < sketch->n_holes && holes[h].stage == holes[hole].stage && holes[h].follows < 0; h++) {
    g.n++;
    g.n_spatial += !holes[h].is_reduce;
  }
  return g;
}

/* Divides a random number of accumulator registers among the data axes: first the vectorized one, then the
 * others, starting at a random one. */
static void sample_register_tile(const autotune_sketch *sketch, const group *g, int64_t lanes, runtime_rng *rng,
                                 autotune_tile *tiles) {
  const autotune_hole *vector = &sketch->holes[g->first + g->n_spatial - 1];
  int64_t registers = lanes >= 8 ? AUTOTUNE_VECTOR_REGISTERS : AUTOTUNE_VECTOR_REGISTERS / 2;
  int64_t length = vector_length(rng, vector->extent, lanes);
  int64_t budget = FREE_REGISTERS + runtime_random_below(rng, registers - 2 * FREE_REGISTERS + 1);
  budget /= (length + lanes - 1) / lanes;
  set_outer(rng, vector->extent, length, &tiles[g->first + g->n_spatial - 1]);
  int n_rows = g->n_spatial - 1, start = n_rows > 0 ? (int)runtime_random_below(rng, n_rows) : 0;
  for (int i = 0; i < n_rows; i++) {
    int h = g->first + (start + i) % n_rows;
    int64_t row = row_length(rng, sketch->holes[h].extent, budget);
    set_outer(rng, sketch->holes[h].extent, row, &tiles[h]);
    budget /= row;
  }
}

/* PLAIN_FACTORS percent of the draws ignore the registers. Evolution only recombines what was drawn, so
 * every length has to be drawn now and then. */
void autotune_sample_tiles(const autotune_space *space, runtime_rng *rng, int hole, autotune_genome *genome) {
  const autotune_sketch *sketch = &space->sketches[genome->sketch];
  group g = group_of(sketch, hole);
  const te_op *op = sketch->base->stages[sketch->holes[hole].stage].op;
  int64_t lanes = RUNTIME_MAX(space->task->vector_bytes / (int)tn_dtype_bytes(op->outputs[0].dtype), 1);
  bool plain = g.n_spatial == 0 || sketch->holes[hole].is_own || chance(rng, PLAIN_FACTORS);
  for (int h = g.first; h < g.first + g.n; h++) {
    if (plain || h >= g.first + g.n_spatial) autotune_sample_hole(&sketch->holes[h], rng, &genome->tiles[h]);
  }
  if (!plain) sample_register_tile(sketch, &g, lanes, rng, genome->tiles);
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

/* The values of each choice, repeated as often as they should be drawn. */
static const uint8_t vectors[] = {0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4};
static const uint8_t parallels[] = {0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5};
static const uint8_t unrolls[] = {0, 1, 2, 3};
static const uint8_t unroll_inners[] = {0, 1, 1, 1, 1, 1, 1, 1};

/* Weights by repetition are easy to read, and there is no sum to keep right. */
static uint8_t one_of(runtime_rng *rng, const uint8_t *values, size_t n) {
  return values[runtime_random_below(rng, (int64_t)n)];
}

/* Draws the choices of one stage. A location is reduced modulo the number of places there are, so that
 * every number means something in every program. */
static autotune_choice sample_choice(runtime_rng *rng) {
  autotune_choice choice;
  choice.location = (uint8_t)runtime_random_below(rng, 32);
  choice.vector = one_of(rng, vectors, sizeof vectors);
  choice.parallel = one_of(rng, parallels, sizeof parallels);
  choice.unroll = one_of(rng, unrolls, sizeof unrolls);
  choice.unroll_inner = one_of(rng, unroll_inners, sizeof unroll_inners);
  return choice;
}

/* A random sketch. Where the user has sketch rules, it is drawn again when no rule took part: who writes
 * rules wants to see what they make. */
static int32_t draw_sketch(const autotune_space *space, runtime_rng *rng) {
  int32_t sketch = (int32_t)runtime_random_below(rng, space->n_sketches);
  for (int i = 0; i < TRIES && space->task->n_rules > 0 && !space->sketches[sketch].is_own; i++)
    sketch = (int32_t)runtime_random_below(rng, space->n_sketches);
  return sketch;
}

/* PLANNED percent of the genomes are plans, where the program has them. */
void autotune_sample(const autotune_space *space, runtime_rng *rng, autotune_genome *out) {
  memset(out, 0, sizeof *out);
  if (space->n_groups > 0 && (space->only_plans || chance(rng, PLANNED))) {
    autotune_sample_plans(space, rng, out);
    return;
  }
  out->sketch = draw_sketch(space, rng);
  const autotune_sketch *sketch = &space->sketches[out->sketch];
  for (int h = 0; h < sketch->n_holes; h++) {
    bool is_first = h == 0 || sketch->holes[h - 1].stage != sketch->holes[h].stage || sketch->holes[h - 1].follows >= 0;
    if (is_first && sketch->holes[h].follows < 0) autotune_sample_tiles(space, rng, h, out);
  }
  for (int stage = 0; stage < RUNTIME_MIN(sketch->base->n_stages, AUTOTUNE_MAX_STAGES); stage++) {
    if (!te_is_placeholder(sketch->base->stages[stage].op)) out->choices[stage] = sample_choice(rng);
  }
}
