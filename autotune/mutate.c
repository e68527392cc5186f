/* mutate.c: changes to genomes: each kind is a row of a table and is drawn by its weight. Source of the
 * kinds and of moving a factor between levels: AS/search_policy/sketch_policy_rules.cc. Nudging a register
 * tile and crossover are ours.
 *
 * All state is in the caller's generator and genome. A change that does not apply has drawn numbers but
 * left the genome as it was. */
#include <stddef.h>

#include "autotune/search.h"

/* Random draws until a change counts as not applicable. */
enum { TRIES = 8 };

/* A kind of change. APPLY returns false where it does not apply, and has changed nothing then. */
typedef struct mutation {
  const char *name;
  int weight;
  bool (*apply)(const autotune_space *space, runtime_rng *rng, autotune_genome *genome);
} mutation;

static const autotune_sketch *sketch_of(const autotune_space *space, const autotune_genome *genome) {
  return &space->sketches[genome->sketch];
}

/* A random hole that is sampled and longer than 1; -1: none was found. */
static int random_hole(const autotune_space *space, runtime_rng *rng, const autotune_genome *genome) {
  const autotune_sketch *sketch = sketch_of(space, genome);
  for (int i = 0; i < TRIES && sketch->n_holes > 0; i++) {
    int h = (int)runtime_random_below(rng, sketch->n_holes);
    if (sketch->holes[h].follows < 0 && sketch->holes[h].extent > 1) return h;
  }
  return -1;
}

/* In 64 bits: three lengths of 32 bits could exceed them only for extents that no program has. */
static int64_t product_of(const autotune_tile *tile) {
  return (int64_t)tile->length[0] * tile->length[1] * tile->length[2];
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Moves a factor from one level to another. Level -1 is the outermost, whose length is what the others leave. */
static bool move_factor(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) {
  int h = random_hole(space, rng, genome);
  if (h < 0) return false;
  const autotune_hole *hole = &sketch_of(space, genome)->holes[h];
  autotune_tile *tile = &genome->tiles[h];
  int from = (int)runtime_random_below(rng, hole->n_lengths + 1) - 1;
  int to = (int)runtime_random_below(rng, hole->n_lengths + 1) - 1;
  int64_t length = from < 0 ? hole->extent / product_of(tile) : tile->length[from];
  if (from == to || length < 2) return false;
  int64_t factor = length;
  for (int i = 0; i < TRIES && (i == 0 || factor == 1); i++) factor = autotune_random_divisor(rng, length, length);
  if (factor == 1) return false;
  if (!hole->is_reduce && to == AUTOTUNE_LENGTHS - 1 && tile->length[to] * factor > AUTOTUNE_MAX_VECTOR) return false;
  if (from >= 0) tile->length[from] = (int32_t)(length / factor);
  if (to >= 0) tile->length[to] = (int32_t)(tile->length[to] * factor);
  return true;
}

/* Shortens the outer lengths until their product with the innermost is within the extent. */
static void refit(const autotune_hole *hole, autotune_tile *tile) {
  for (int l = 0; l < hole->n_lengths - 1; l++) {
    while (product_of(tile) > hole->extent && tile->length[l] > 1) tile->length[l] = (tile->length[l] + 1) / 2;
  }
  bool divides = hole->extent % product_of(tile) == 0;
  if (divides) tile->tail = TN_TAIL_GUARD;
}

/* Changes the innermost length a little, or doubles or halves it. */
static bool nudge(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) {
  int h = random_hole(space, rng, genome);
  if (h < 0) return false;
  const autotune_hole *hole = &sketch_of(space, genome)->holes[h];
  autotune_tile *tile = &genome->tiles[h];
  int32_t *length = &tile->length[hole->n_lengths - 1], step = hole->is_vector ? 8 : 1;
  int64_t limit = hole->is_reduce ? hole->extent : RUNTIME_MIN(hole->extent, AUTOTUNE_MAX_VECTOR);
  int64_t near[] = {*length - step, *length + step, *length / 2, *length * 2};
  int64_t to = near[runtime_random_below(rng, RUNTIME_COUNT(near))];
  if (to < 1 || to > limit || to == *length) return false;
  *length = (int32_t)to;
  refit(hole, tile);
  return true;
}

/* Draws a hole's lengths uniformly, without the bias towards register tiles, and so reaches what the bias
 * never draws. */
static bool resample_hole(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) {
  int h = random_hole(space, rng, genome);
  if (h < 0) return false;
  autotune_sample_hole(&sketch_of(space, genome)->holes[h], rng, &genome->tiles[h]);
  return true;
}

static bool resample_tiles(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) {
  int h = random_hole(space, rng, genome);
  if (h >= 0) autotune_sample_tiles(space, rng, h, genome);
  return h >= 0;
}

/* Only where a tail is left: elsewhere both kinds of tail are the same loops. */
static bool change_tail(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) {
  int h = random_hole(space, rng, genome);
  if (h < 0 || sketch_of(space, genome)->holes[h].extent % product_of(&genome->tiles[h]) == 0) return false;
  genome->tiles[h].tail = genome->tiles[h].tail == TN_TAIL_PEEL ? TN_TAIL_GUARD : TN_TAIL_PEEL;
  return true;
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

/* Gives one choice of a random computed stage another value. */
static bool change_choice(const autotune_space *space, runtime_rng *rng, autotune_genome *genome, size_t offset,
                          int n) {
  const tn_schedule *base = sketch_of(space, genome)->base;
  int n_stages = RUNTIME_MIN(base->n_stages, AUTOTUNE_MAX_STAGES);
  for (int i = 0; i < TRIES; i++) {
    int stage = (int)runtime_random_below(rng, n_stages);
    if (te_is_placeholder(base->stages[stage].op) || base->stages[stage].attach == SCHEDULE_INLINED) continue;
    uint8_t *choice = (uint8_t *)&genome->choices[stage] + offset;
    *choice = (uint8_t)((*choice + 1 + runtime_random_below(rng, n - 1)) % n);
    return true;
  }
  return false;
}

#define X(name, n)                                                                                    \
  static bool change_##name(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) { \
    return change_choice(space, rng, genome, offsetof(autotune_choice, name), (n));                   \
  }
AUTOTUNE_CHOICES(X)
#undef X

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

/* The weight says how often a kind is drawn in relation to the others. */
static const mutation mutations[] = {
    {"move_factor", 40, move_factor},
    {"nudge", 16, nudge},
    {"resample_hole", 8, resample_hole},
    {"resample_tiles", 8, resample_tiles},
    {"tail", 3, change_tail},
    {"location", 7, change_location},
    {"vector", 5, change_vector},
    {"parallel", 6, change_parallel},
    {"unroll", 5, change_unroll},
    {"unroll_inner", 2, change_unroll_inner},
};

bool autotune_mutate(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) {
  int total = 0, kind = 0;
  if (genome->sketch == AUTOTUNE_PLANNED) return autotune_mutate_plans(space, rng, genome);
  for (int i = 0; i < RUNTIME_COUNT(mutations); i++) total += mutations[i].weight;
  int64_t draw = runtime_random_below(rng, total);
  while (draw >= mutations[kind].weight) draw -= mutations[kind++].weight;
  return mutations[kind].apply(space, rng, genome);
}

/* Lengths of one split stay together: mixing them would break their product. Otherwise uniform, one coin
 * for each tile or stage. */
void autotune_crossover(const autotune_genome *a, const autotune_genome *b, runtime_rng *rng, autotune_genome *out) {
  *out = *a;
  if (a->sketch == AUTOTUNE_PLANNED) {
    autotune_cross_plans(a, b, rng, out);
    return;
  }
  for (int h = 0; h < AUTOTUNE_MAX_HOLES; h++) {
    if (runtime_random_below(rng, 2)) out->tiles[h] = b->tiles[h];
  }
  for (int stage = 0; stage < AUTOTUNE_MAX_STAGES; stage++) {
    if (runtime_random_below(rng, 2)) out->choices[stage] = b->choices[stage];
  }
}
