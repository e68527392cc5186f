/* evolve.c: the evolutionary search: a population of genomes is scored by the cost model, and good ones are
 * mutated and crossed. All genomes of one call are kept in a pool, where each is lowered and scored once.
 * Source: AS/search_policy (EvolutionarySearch).
 *
 * A `pool` owns the genomes, their features and the arena of lowering for one call. A `population` is a
 * list of places in it. */
#include <math.h>

#include "autotune/search.h"
#include "runtime/profiler/profiler.h"

/* A proposal has at least so many different kernels. */
enum { FAMILIES = 6 };
/* One in UNTRIED proposals, at most, is there for a trait that was tried fewer than TRIED_ENOUGH times. Its
 * score has to be at least this part of the best. */
enum { UNTRIED = 4, TRIED_ENOUGH = 2 };
#define WORTH_A_TRY 0.2F
/* One in so many proposals is what a trained model scores best, whatever kernel it is: neighbours of the fastest. */
enum { LIKED_BEST = 3 };
/* Genomes that are lowered between two looks at the workers. */
enum { LOOK_EVERY = 4 };

/* The genomes of one call. An individual is never removed or moved to another place, so that a population
 * can be a list of places. Those from `all[n_scored]` on have no score yet, and `rows` are theirs only: the
 * model scores them in one call. */
typedef struct pool {
  const autotune_evolution *e;
  RUNTIME_VEC(autotune_individual) all;
  runtime_map index; /* hash of the genome's bytes -> place in all */
  int n_scored;
  RUNTIME_VEC(float) rows;
  RUNTIME_VEC(int) first_row;
  runtime_arena arena;
} pool;

/* Plans and features in the arena go with it. */
static void free_pool(pool *p) {
  RUNTIME_VEC_FREE(&p->all);
  RUNTIME_VEC_FREE(&p->rows);
  RUNTIME_VEC_FREE(&p->first_row);
  runtime_map_free(&p->index);
  runtime_arena_free(&p->arena);
}

/* Bytes of a genome that count: of one of plans, only the groups that there are. The rest is zero. */
static size_t used_bytes(const autotune_space *space, const autotune_genome *genome) {
  size_t plans = sizeof genome->plans[0] * (size_t)space->n_groups;
  return genome->sketch == AUTOTUNE_PLANNED ? offsetof(autotune_genome, plans) + plans : sizeof *genome;
}

/* The genome's place in the pool; it is added if it is new. -1: no memory. */
static int add_genome(pool *p, const autotune_genome *given) {
  autotune_genome normal = *given, *genome = &normal;
  autotune_normalize(p->e->space, genome);
  uint64_t hash = runtime_hash(genome, used_bytes(p->e->space, genome), 0) | 1;
  const runtime_map_value *known = runtime_map_find(&p->index, hash);
  if (known) return (int)known->i;
  autotune_individual individual = {.genome = *genome, .score = -INFINITY};
  runtime_map_value *place = runtime_map_at(&p->index, hash);
  if (!place || !RUNTIME_PUSH(&p->all, individual)) return -1;
  place->i = p->all.n - 1;
  return p->all.n - 1;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* Adds the rows of one individual. One without rows gets an empty pack, so that pack i stays individual
 * n_scored + i. */
static bool append_rows(pool *p, int n_rows, const float *rows) {
  size_t n = (size_t)n_rows * AUTOTUNE_FEATURES;
  while ((size_t)p->rows.cap < (size_t)p->rows.n + n) {
    if (!runtime_vec_grow((void **)&p->rows.data, &p->rows.cap, sizeof *p->rows.data)) return false;
  }
  if (n) memcpy(p->rows.data + p->rows.n, rows, n * sizeof *rows);
  p->rows.n += (int)n;
  return RUNTIME_PUSH(&p->first_row, p->rows.n / AUTOTUNE_FEATURES);
}

/* Makes the individual's schedule and its rows, and returns how many. An illegal one, or one that is not
 * worth compiling, has none. */
static int rows_of(pool *p, autotune_individual *individual, float *rows) {
  const autotune_space *space = p->e->space;
  autotune_estimate estimate;
  double cost_ns = autotune_genome_cost(space, &individual->genome);
  if (isinf(cost_ns)) return 0;
  runtime_quiet quiet = runtime_quiet_begin(space->task->ctx);
  tn_schedule *s = autotune_genome_schedule(space, &individual->genome);
  runtime_quiet_end(&quiet);
  int n = s ? autotune_schedule_rows(space, s, cost_ns, &p->arena, rows, &estimate) : 0;
  if (n > 0 && !autotune_is_promising(space, &estimate)) n = 0;
  individual->hash = n > 0 ? autotune_schedule_hash(s) : 0;
  tn_schedule_free(s);
  return n;
}

/* Makes the rows of one individual. False: no memory. */
static bool lower_individual(pool *p, autotune_individual *individual) {
  float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  int n = rows_of(p, individual, rows);
  return append_rows(p, n, rows);
}

/* Computes features for the individuals without a score. Most of the search's time is spent lowering, so
 * whoever waits is called now and then. False: no memory. */
static bool lower_new(pool *p) {
  TN_SCOPE(SEARCH, 1, "EvoSearch/Evolve/Lower");
  p->rows.n = p->first_row.n = 0;
  bool ok = RUNTIME_PUSH(&p->first_row, 0);
  for (int i = p->n_scored; ok && i < p->all.n; i++) {
    ok = lower_individual(p, &p->all.data[i]);
    if (i % LOOK_EVERY == 0) autotune_give_a_moment(&p->e->space->task->meanwhile);
  }
  return ok;
}

/* Scores the individuals that were added since the last call. */
static tn_status score_new(pool *p) {
  tn_context *ctx = p->e->space->task->ctx;
  int n = p->all.n - p->n_scored;
  if (n == 0) return TN_OK;
  float *scores = lower_new(p) ? malloc(sizeof *scores * (size_t)n) : NULL;
  if (!scores) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while scoring %d candidates", n);
  TN_SCOPE(SEARCH, 1, "EvoSearch/Evolve/PredictNormalizedScore");
  tn_status status = autotune_model_predict(p->e->model, n, p->first_row.data, p->rows.data, scores);
  for (int i = 0; status == TN_OK && i < n; i++) {
    autotune_individual *individual = &p->all.data[p->n_scored + i];
    individual->score = individual->hash ? scores[i] : -INFINITY;
  }
  p->n_scored = p->all.n;
  free(scores);
  return status;
}

/* ---- generations ------------------------------------------------------------------------------------------------- */

/* A generation. MEMBERS may have a place more than once: as in TVM, a copy is a second chance to be drawn. */
typedef struct population {
  int n, *members; /* places in the pool */
  double *up_to;   /* running sums of the members' scores, negative ones counted as a little */
} population;

/* Scores may be 0 or negative for all members. The small number that counts instead keeps every member
 * drawable, also under an untrained model. A member that cannot be lowered counts nothing. */
static void sum_scores(const pool *p, population *pop) {
  static const double least = 1e-4;
  double sum = 0;
  for (int i = 0; i < pop->n; i++) {
    const autotune_individual *individual = &p->all.data[pop->members[i]];
    if (individual->hash) sum += RUNTIME_MAX((double)individual->score, least);
    pop->up_to[i] = sum;
  }
}

/* Draws a member with a probability in proportion to its score. */
static const autotune_genome *pick(const pool *p, const population *pop) {
  double at = runtime_random_unit(p->e->rng) * pop->up_to[pop->n - 1];
  int low = 0, high = pop->n - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if (pop->up_to[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return &p->all.data[pop->members[low]].genome;
}

/* A copy, a mutation or a cross of drawn members. Genomes of two sketches have no holes in common, so their
 * cross is a copy of the first. */
static autotune_genome make_child(const pool *p, const population *pop) {
  autotune_genome child = *pick(p, pop);
  double draw = runtime_random_unit(p->e->rng);
  if (draw < p->e->mutated) {
    autotune_mutate(p->e->space, p->e->rng, &child);
  } else if (draw < p->e->mutated + p->e->crossed) {
    const autotune_genome *other = pick(p, pop);
    autotune_genome parent = child;
    if (other->sketch == parent.sketch) autotune_crossover(&parent, other, p->e->rng, &child);
  }
  return child;
}

/* Fills the first generation with the seeds and random genomes. Seeds beyond its size are ignored, so the
 * best should come first. */
static bool start_population(pool *p, population *pop, int n_seeds, const autotune_genome *seeds) {
  TN_SCOPE(SEARCH, 1, "EvoSearch/SampleInitPopulation");
  for (int i = 0; i < pop->n; i++) {
    autotune_genome genome;
    if (i < n_seeds)
      genome = seeds[i];
    else
      autotune_sample(p->e->space, p->e->rng, &genome);
    if ((pop->members[i] = add_genome(p, &genome)) < 0) return false;
  }
  return true;
}

/* Replaces the members by as many children. False: no memory; the population stays as it was. */
static bool next_generation(pool *p, population *pop) {
  TN_SCOPE(SEARCH, 1, "EvoSearch/Evolve/Mutation");
  sum_scores(p, pop);
  int *children = malloc(sizeof *children * (size_t)pop->n);
  bool ok = children != NULL;
  for (int i = 0; ok && i < pop->n; i++) {
    autotune_genome child = make_child(p, pop);
    ok = (children[i] = add_genome(p, &child)) >= 0;
    if (i % LOOK_EVERY == 0) autotune_give_a_moment(&p->e->space->task->meanwhile);
  }
  if (ok) memcpy(pop->members, children, sizeof *children * (size_t)pop->n);
  free(children);
  return ok;
}

/* Scores once more than there are generations: the last children are scored, too, before the choice. */
static tn_status run_generations(pool *p, population *pop, int n_seeds, const autotune_genome *seeds) {
  tn_context *ctx = p->e->space->task->ctx;
  bool ok = start_population(p, pop, n_seeds, seeds);
  for (int generation = 0; ok; generation++) {
    tn_status status = score_new(p);
    if (status != TN_OK || generation == p->e->generations) return status;
    ok = next_generation(p, pop);
  }
  return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a population of %d", pop->n);
}

/* ---- the best ---------------------------------------------------------------------------------------------------- */

/* By score, the best first; equal scores by hash, so that the order does not depend on the sort. */
static int by_score(const void *a, const void *b) {
  const autotune_individual *x = *(const autotune_individual *const *)a, *y = *(const autotune_individual *const *)b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* A hash of the sketch and the innermost tile. Genomes of one family are variations of one kernel. */
static uint64_t family_of(const autotune_space *space, const autotune_genome *genome) {
  enum { KERNEL_FIELDS = 4 }; /* the first fields of a plan say what its innermost loops are */
  if (genome->sketch == AUTOTUNE_PLANNED) {
    int32_t kernel[AUTOTUNE_MAX_GROUPS][KERNEL_FIELDS + 1] = {{0}};
    for (int g = 0; g < space->n_groups; g++) {
      kernel[g][0] = genome->plans[g].family;
      memcpy(&kernel[g][1], genome->plans[g].value, KERNEL_FIELDS * sizeof(int32_t));
    }
    return runtime_hash(kernel, sizeof kernel, 2) | 1;
  }
  const autotune_sketch *sketch = &space->sketches[genome->sketch];
  int32_t key[AUTOTUNE_MAX_HOLES + 1] = {genome->sketch};
  for (int h = 0; h < sketch->n_holes; h++) {
    if (!sketch->holes[h].is_reduce) key[h + 1] = genome->tiles[h].length[AUTOTUNE_LENGTHS - 1];
  }
  return runtime_hash(key, sizeof key, 1) | 1;
}

/* The choice of what is proposed. Schedules must differ, not genomes: two genomes may make the same loops. */
typedef struct choosing {
  const pool *p;
  runtime_map taken;    /* hashes of schedules */
  runtime_map traits;   /* traits for which one was taken */
  runtime_map families; /* how many of each family were taken */
  int n_out;
  autotune_individual *out;
} choosing;

/* Whether its schedule was neither proposed before nor taken in this call. Hash 0: it cannot be lowered. */
static bool is_new(const choosing *c, const autotune_individual *individual) {
  uint64_t hash = individual->hash;
  return hash && !runtime_map_find(c->p->e->seen, hash) && !runtime_map_find(&c->taken, hash);
}

/* Takes it, and counts its family. False: no memory. */
static bool take_one(choosing *c, const autotune_individual *individual) {
  runtime_map_value *members = runtime_map_at(&c->families, family_of(c->p->e->space, &individual->genome));
  if (!members || !runtime_map_at(&c->taken, individual->hash)) return false;
  members->i++;
  c->out[c->n_out++] = *individual;
  return true;
}

/* Whether it has a trait that was tried too seldom and that nothing taken so far has. Its traits are then noted. */
static bool has_untried(choosing *c, const autotune_individual *individual) {
  uint64_t traits[AUTOTUNE_MAX_TRAITS];
  bool has = false;
  int n = autotune_traits(c->p->e->space, &individual->genome, traits);
  for (int i = 0; i < n && !has; i++) {
    const runtime_map_value *tried = runtime_map_find(c->p->e->tried, traits[i]);
    has = (!tried || tried->i < TRIED_ENOUGH) && !runtime_map_find(&c->traits, traits[i]);
  }
  for (int i = 0; i < n && has; i++)
    (void)runtime_map_at(&c->traits, traits[i]); /* take_best asks whether all are there */
  return has;
}

/* Takes, from the best score down, the first individual with each trait that was tried too seldom. False: no memory. */
static bool take_untried(choosing *c, const autotune_individual **order, int most) {
  bool ok = true;
  float least = c->p->all.n > 0 ? WORTH_A_TRY * order[0]->score : 0;
  for (int i = 0; ok && i < c->p->all.n && c->n_out < most && order[i]->score >= least; i++)
    if (is_new(c, order[i]) && has_untried(c, order[i])) ok = take_one(c, order[i]);
  return ok;
}

/* Takes new individuals from the best score down, at most MOST of a family, until there are N. False: no memory. */
static bool take(choosing *c, const autotune_individual **order, int most, int n) {
  for (int i = 0; i < c->p->all.n && c->n_out < n; i++) {
    if (!is_new(c, order[i])) continue;
    const runtime_map_value *members = runtime_map_find(&c->families, family_of(c->p->e->space, &order[i]->genome));
    if ((!members || members->i < most) && !take_one(c, order[i])) return false;
  }
  return true;
}

/* Chooses the proposals. At first only a few of each family: if the model errs about one kernel, it errs
 * about all its variations. */
static bool take_best(const pool *p, int n, autotune_individual *out, int *n_out) {
  const autotune_individual **order = malloc(sizeof *order * (size_t)(p->all.n + 1));
  choosing c = {.p = p, .out = out};
  if (order) {
    for (int i = 0; i < p->all.n; i++) order[i] = &p->all.data[i];
    qsort(order, (size_t)p->all.n, sizeof *order, by_score);
  }
  int n_liked = autotune_model_is_trained(p->e->model) ? n / LIKED_BEST : 0;
  bool ok = order && take_untried(&c, order, n / UNTRIED) &&
            take(&c, order, RUNTIME_MAX(n / FAMILIES, 1), n - n_liked) && take(&c, order, n, n) && !c.traits.failed;
  *n_out = c.n_out;
  runtime_map_free(&c.taken);
  runtime_map_free(&c.families);
  runtime_map_free(&c.traits);
  free(order);
  return ok;
}

tn_status autotune_evolve(const autotune_evolution *evolution, int n_seeds, const autotune_genome *seeds, int n,
                          autotune_individual *out, int *n_out) {
  pool p = {.e = evolution};
  population pop = {.n = evolution->population};
  pop.members = malloc(sizeof *pop.members * (size_t)pop.n);
  pop.up_to = malloc(sizeof *pop.up_to * (size_t)pop.n);
  *n_out = 0;
  tn_status status = TN_ERROR_MEMORY;
  if (pop.members && pop.up_to) status = run_generations(&p, &pop, n_seeds, seeds);
  if (status == TN_OK && !take_best(&p, n, out, n_out)) status = TN_ERROR_MEMORY;
  free(pop.members);
  free(pop.up_to);
  free_pool(&p);
  return status;
}
