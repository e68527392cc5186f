/* search.c: chooses what to measure next, and remembers what was learned. Candidates are the best of an
 * evolution that starts from the plans of `auto`, the fastest measured genomes, and the best-ranked plans
 * of every family; a few are random (eps-greedy). The cost model says which are best. Until it has seen
 * measurements, the analytic cost does.
 *
 * A search owns the sketches and plans of its space, the hashes of all schedules it has seen, and the
 * genomes of the fastest. The schedules it proposes belong to the caller. */
#include <math.h>

#include "autotune/lesson.h"
#include "runtime/profiler/profiler.h"

/* MAX_ADVISED: plans taken over from similar programs, of each the ADVISED_OF_EACH best. MAX_SEEDS:
 * measured genomes that are kept; MOST_SEEDS: genomes an evolution starts from. The search counts as
 * exhausted after MISSES_BEFORE_EXHAUSTED useless draws in a row. */
enum { MAX_ADVISED = 32, ADVISED_OF_EACH = 2, MAX_SEEDS = 64, MOST_SEEDS = 256, MISSES_BEFORE_EXHAUSTED = 400 };
static const autotune_policy usual_policy = {1024, 4, 0.1, false, 0.75, 0.15};
static const double eps_own_rules = 0.3; /* more random draws, so that the user's rules are seen */

/* A measured genome and its time. */
typedef struct measured {
  double cost_s;
  autotune_genome genome;
} measured;

/* Schedules that are measured first, without a search. */
typedef enum fixed { FIXED_DEFAULT, FIXED_OWN, FIXED_GENERIC, N_FIXED } fixed;

/* Freed by autotune_search_free. The model belongs to the caller and must live longer. */
struct autotune_search {
  autotune_task task;
  autotune_policy policy;
  autotune_model *model;
  int model_task;
  runtime_rng rng;
  autotune_space space;
  runtime_map seen;        /* hashes of schedules proposed or observed */
  runtime_map tried;       /* how often each trait was proposed (traits.c) */
  bool has_fixed[N_FIXED]; /* proposed: making the generic one again would take as long as a trial */
  int n_best;
  measured best[MAX_SEEDS]; /* the fastest, best first */
  int n_advised, next_advised;
  autotune_genome advised[MAX_ADVISED]; /* taken over from similar programs, in order */
  runtime_arena arena;
  RUNTIME_VEC(uint32_t) sequences; /* event numbers of what the last call proposed */
};

/* For the same task and seed the search proposes the same candidates, as long as it is told the same times. */
autotune_search *autotune_search_new(const autotune_task *task, autotune_model *model, uint64_t seed) {
  if (!task || !model) return NULL;
  if (task->program->n_ops > AUTOTUNE_MAX_STAGES) {
    runtime_fail(task->ctx, TN_ERROR_PROGRAM,
                 "tuning takes programs of up to %d tensors, and this one has %d: tune it in parts (tn_program_cut)",
                 AUTOTUNE_MAX_STAGES, task->program->n_ops);
    return NULL;
  }
  if (te_check_no_externs(task->program, "tuning") != TN_OK) return NULL;
  bool is_filled = false;
  autotune_search *search = calloc(1, sizeof *search);
  if (search) {
    TN_SCOPE(SEARCH, 1, "EvoSearch/GenerateSketches");
    search->task = *task;
    search->policy = usual_policy;
    search->model = model;
    search->model_task = autotune_model_begin_task(model);
    search->rng.state = seed;
    search->space.task = &search->task;
    runtime_quiet quiet = runtime_quiet_begin(task->ctx);
    is_filled = autotune_space_fill(&search->space);
    runtime_quiet_end(&quiet);
  }
  if (is_filled) return search;
  runtime_fail(task->ctx, TN_ERROR_MEMORY, "out of memory for the search");
  autotune_search_free(search);
  return NULL;
}

void autotune_search_set_policy(autotune_search *search, const autotune_policy *policy) {
  if (policy->population > 0) search->policy.population = policy->population;
  if (policy->generations > 0) search->policy.generations = policy->generations;
  if (policy->eps != 0) search->policy.eps = fmax(policy->eps, 0);
  if (policy->mutated != 0) search->policy.mutated = fmax(policy->mutated, 0);
  if (policy->crossed != 0) search->policy.crossed = fmax(policy->crossed, 0);
  search->space.only_plans = policy->no_sketches;
}

void autotune_search_free(autotune_search *search) {
  if (!search) return;
  autotune_space_release(&search->space);
  runtime_map_free(&search->seen);
  runtime_map_free(&search->tried);
  RUNTIME_VEC_FREE(&search->sequences);
  runtime_arena_free(&search->arena);
  free(search);
}

/* ---- proposing --------------------------------------------------------------------------------------------------- */

/* Gives what was just proposed its number. */
static void number(autotune_search *search, tn_scope *scope) {
  uint32_t sequence = tn_sequence_next();
  tn_scope_sequence(scope, sequence);
  (void)RUNTIME_PUSH(&search->sequences, sequence);
}

uint32_t autotune_search_sequence(const autotune_search *search, int i) {
  return search && i >= 0 && i < search->sequences.n ? search->sequences.data[i] : 0;
}

/* After a failed allocation the draws differ from those with enough memory. The error is noted in the
 * context, so that the run does not end well. Returns false. */
static bool lacks_memory(const autotune_search *search) {
  runtime_fail(search->task.ctx, TN_ERROR_MEMORY, "out of memory for the search");
  return false;
}

/* Whether S is new, can be lowered and is worth compiling. Its hash is marked as seen either way. */
static bool is_wanted(autotune_search *search, const tn_schedule *s) {
  float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  autotune_estimate estimate;
  uint64_t hash = autotune_schedule_hash(s);
  if (runtime_map_find(&search->seen, hash)) return false;
  if (!runtime_map_at(&search->seen, hash)) return lacks_memory(search);
  int n = autotune_schedule_rows(&search->space, s, 0, &search->arena, rows, &estimate);
  return n > 0 && autotune_is_promising(&search->space, &estimate);
}

/* Counts the traits of a proposed genome. */
static void note_tried(autotune_search *search, const autotune_genome *genome) {
  uint64_t traits[AUTOTUNE_MAX_TRAITS];
  int n = autotune_traits(&search->space, genome, traits);
  for (int i = 0; i < n; i++) {
    runtime_map_value *tried = runtime_map_at(&search->tried, traits[i]);
    if (tried)
      tried->i++;
    else
      lacks_memory(search);
  }
}

/* Proposes a genome unless its schedule is not wanted; returns whether it did. A schedule that a primitive
 * refuses is no error: evolution draws another. */
static bool propose_genome(autotune_search *search, const autotune_genome *genome, tn_schedule **out) {
  TN_SCOPE_AS(scope, SEARCH, 2, "generate");
  runtime_quiet quiet = runtime_quiet_begin(search->task.ctx);
  tn_schedule *s = autotune_genome_schedule(&search->space, genome);
  runtime_quiet_end(&quiet);
  if (!s || !is_wanted(search, s)) {
    tn_schedule_free(s);
    return false;
  }
  autotune_genome_say(&search->space, genome, s);
  note_tried(search, genome);
  *out = s;
  number(search, &scope);
  return true;
}

/* The message context is quiet: where the generic scheduler refuses, the default schedule takes its place. */
tn_schedule *autotune_generic_schedule(const autotune_task *task) {
  const tn_machine machine = autotune_machine(task);
  tn_schedule *s = tn_schedule_new(task->program);
  runtime_quiet quiet = runtime_quiet_begin(task->ctx);
  bool made = s && tn_schedule_auto(s, &machine) == TN_OK;
  runtime_quiet_end(&quiet);
  if (made) return s;
  tn_schedule_free(s);
  return NULL;
}

/* Writes the plan down with the generic schedule. It is made from the best-ranked plans unless a scheduler
 * of the context's own took their place. */
static void say_plans(autotune_search *search, tn_schedule *s) {
  if (search->space.n_groups == 0) return;
  tn_schedule *planned = autotune_planned_schedule(&search->space, &search->space.best);
  bool is_planned = planned && autotune_schedule_hash(planned) == autotune_schedule_hash(s);
  if (is_planned) autotune_genome_say(&search->space, &search->space.best, s);
  if (is_planned) note_tried(search, &search->space.best);
  tn_schedule_free(planned);
}

tn_schedule *autotune_own_schedule(const autotune_task *task) {
  tn_schedule *s = task->program->n_blocks > 0 ? tn_schedule_new(task->program) : NULL;
  if (s && tn_schedule_apply_own(s) == TN_OK) return s;
  tn_schedule_free(s);
  return NULL;
}

/* NULL: there is no such schedule. If the program's own schedule is refused, that was reported before the
 * search began. */
static tn_schedule *make_fixed(autotune_search *search, fixed which) {
  if (which == FIXED_DEFAULT) return tn_schedule_new(search->task.program);
  runtime_quiet quiet = runtime_quiet_begin(search->task.ctx);
  tn_schedule *s = which == FIXED_OWN ? autotune_own_schedule(&search->task) : autotune_generic_schedule(&search->task);
  runtime_quiet_end(&quiet);
  if (which == FIXED_GENERIC && s) say_plans(search, s);
  return s;
}

/* Proposes a fixed schedule that was neither proposed nor observed yet; it is measured even if it has no
 * features. Returns how many, 0 or 1. */
static int propose_fixed(autotune_search *search, fixed which, tn_schedule **out) {
  if (search->has_fixed[which]) return 0;
  TN_SCOPE_AS(scope, SEARCH, 2, "generate");
  tn_schedule *s = make_fixed(search, which);
  uint64_t hash = s ? autotune_schedule_hash(s) : 0;
  bool is_known = s && runtime_map_find(&search->seen, hash);
  search->has_fixed[which] = s && (runtime_map_at(&search->seen, hash) || lacks_memory(search));
  if (search->has_fixed[which] && !is_known) {
    *out = s;
    number(search, &scope);
    return 1;
  }
  tn_schedule_free(s);
  return 0;
}

/* Gives up after MISSES_BEFORE_EXHAUSTED draws in a row that were known, illegal, or plans whose values do
 * not go together. */
static int propose_random(autotune_search *search, int n, tn_schedule **out) {
  TN_SCOPE(SEARCH, 1, "EvoSearch/PickWithEpsGreedy");
  int found = 0;
  for (int misses = 0; found < n && misses < MISSES_BEFORE_EXHAUSTED; misses++) {
    autotune_genome genome;
    autotune_sample(&search->space, &search->rng, &genome);
    if (isinf(autotune_genome_cost(&search->space, &genome))) continue;
    if (!propose_genome(search, &genome, &out[found])) continue;
    found++;
    misses = -1;
  }
  return found;
}

/* Lists where evolution starts: the plans of `auto`, the fastest measured, those of similar programs, then
 * the best-ranked of each family in turn. */
static int list_seeds(const autotune_search *search, int max, autotune_genome *out) {
  const autotune_space *space = &search->space;
  int n = 0;
  if (space->n_groups > 0) out[n++] = space->best;
  for (int i = 0; i < search->n_best && n < max; i++) out[n++] = search->best[i].genome;
  for (int i = 0; i < search->n_advised && n < max; i++) out[n++] = search->advised[i];
  for (int place = 0; place < AUTOTUNE_RANKED; place++)
    for (int i = 0; i < space->ranked.n && n < max; i++) {
      if (place >= space->ranked.data[i].n) continue;
      out[n] = space->best;
      autotune_plan_put(&out[n++], space->ranked.data[i].group, &space->ranked.data[i].plans[place]);
    }
  return n;
}

/* Where the candidates of a round come from: the ranking with what similar programs teach, the one without,
 * and the plans that were fastest for similar programs. */
enum { RANKED, RANKED_ALONE, ADVISED, N_RANKINGS };

/* Writes at most N of the best genomes to OUT; returns how many. 0 without memory for the population. */
static int evolve(autotune_search *search, int n, autotune_individual *out) {
  autotune_evolution evolution = {&search->space,
                                  search->model,
                                  &search->rng,
                                  &search->seen,
                                  &search->tried,
                                  search->policy.population,
                                  search->policy.generations,
                                  search->policy.mutated,
                                  search->policy.crossed};
  int found = 0;
  autotune_genome *seeds = malloc(sizeof *seeds * MOST_SEEDS);
  TN_SCOPE(SEARCH, 1, "EvoSearch/Evolve");
  int n_seeds = seeds ? list_seeds(search, MOST_SEEDS, seeds) : 0;
  if (!seeds || autotune_evolve(&evolution, n_seeds, seeds, n, out, &found) == TN_ERROR_MEMORY) lacks_memory(search);
  free(seeds);
  return found;
}

/* Rankings whose candidates are proposed in turn. */
typedef struct rankings {
  int n[N_RANKINGS];
  autotune_individual *list[N_RANKINGS]; /* one allocation, owned by RANKED */
} rankings;

/* Ranks with the lessons of similar programs, and, while at most one schedule was measured here, also without them. */
static void rank_both(autotune_search *search, int n, rankings *out) {
  autotune_lessons *lessons = &search->space.lessons;
  out->n[RANKED] = evolve(search, n, out->list[RANKED]);
  if (!lessons->part || search->n_best > 1) return;
  lessons->is_off = true;
  out->n[RANKED_ALONE] = evolve(search, n, out->list[RANKED_ALONE]);
  lessons->is_off = false;
}

/* Takes the next of a ranking, or the next plan of similar programs. False: that list is at its end. */
static bool next_of(autotune_search *search, const rankings *r, int which, int at, autotune_genome *out) {
  if (which == ADVISED && search->next_advised == search->n_advised) return false;
  if (which != ADVISED && at >= r->n[which]) return false;
  *out = which == ADVISED ? search->advised[search->next_advised++] : r->list[which][at].genome;
  return true;
}

/* Similar programs may mislead. Until more than the generic schedule was measured here, candidates
 * therefore come in turn from both rankings and from the plans of similar programs. */
static int propose_evolved(autotune_search *search, int n, tn_schedule **out) {
  int found = 0, at[N_RANKINGS] = {0};
  rankings r = {{0}, {n > 0 ? malloc(sizeof *r.list[0] * 2 * (size_t)n) : NULL}};
  autotune_genome genome;
  if (n < 1) return 0;
  if (!r.list[RANKED]) return lacks_memory(search);
  r.list[RANKED_ALONE] = r.list[RANKED] + n;
  rank_both(search, n, &r);
  for (bool any = true; any && found < n;) {
    any = false;
    for (int which = 0; which < N_RANKINGS && found < n; which++) {
      bool is_there = next_of(search, &r, which, at[which]++, &genome);
      any |= is_there;
      if (is_there) found += propose_genome(search, &genome, &out[found]);
    }
  }
  free(r.list[RANKED]);
  return found;
}

/* Proposes the schedules that need no search. */
static int propose_all_fixed(autotune_search *search, int n, tn_schedule **out) {
  int found = 0;
  for (int which = 0; which < N_FIXED && found < n; which++) found += propose_fixed(search, (fixed)which, out + found);
  return found;
}

/* Whether the fastest plan of the most similar program promises to be at least as fast as `auto`. */
static bool is_advice_first(const autotune_search *search) {
  const autotune_space *space = &search->space;
  return autotune_genome_cost(space, &search->advised[0]) <= autotune_genome_cost(space, &space->best);
}

/* After the program's own schedule come the two best guesses: the plan of the most similar program, and `auto`. */
static int propose_guesses(autotune_search *search, int n, tn_schedule **out) {
  int found = n > 0 ? propose_fixed(search, FIXED_OWN, out) : 0;
  for (int i = 0; i < 2 && found < n; i++) {
    bool is_advice = (i == 0) == is_advice_first(search);
    if (!is_advice)
      found += propose_fixed(search, FIXED_GENERIC, out + found);
    else if (search->next_advised == 0)
      found += propose_genome(search, &search->advised[search->next_advised++], out + found);
  }
  return found;
}

bool autotune_search_is_advised(const autotune_search *search) { return search->n_advised > 0; }

/* Whether the round's last place goes to the default schedule. A round of one candidate is not given to it
 * while better guesses are left. False without memory. */
static bool ends_with_default(const autotune_search *search, int n) {
  bool is_its_turn = search->n_advised > 0 && (n > 1 || (search->has_fixed[FIXED_GENERIC] && search->next_advised > 0));
  bool is_open = is_its_turn && !search->has_fixed[FIXED_DEFAULT];
  tn_schedule *s = is_open ? tn_schedule_new(search->task.program) : NULL;
  bool is_new = s && !runtime_map_find(&search->seen, autotune_schedule_hash(s));
  tn_schedule_free(s);
  return is_new;
}

void autotune_search_advise(autotune_search *search, const char *plan) {
  schedule_plan by_group[AUTOTUNE_MAX_GROUPS];
  autotune_space *space = &search->space;
  if (space->n_groups == 0 || search->n_advised == MAX_ADVISED) return;
  autotune_genome_plans(space, &space->best, by_group);
  runtime_quiet quiet = runtime_quiet_begin(search->task.ctx);
  bool fits = schedule_plans_fit(space->plans, plan, by_group) == TN_OK;
  runtime_quiet_end(&quiet);
  if (fits) autotune_plans_genome(space, by_group, &search->advised[search->n_advised++]);
}

void autotune_search_learn(autotune_search *search, int n, const autotune_neighbour *near) {
  autotune_space *space = &search->space;
  if (space->n_groups == 0) return;
  for (int i = 0; i < n; i++) autotune_search_advise(search, near[i].plan);
  for (int rank = 1; rank < ADVISED_OF_EACH; rank++)
    for (int i = 0; i < n; i++)
      if (rank < near[i].n_trials) autotune_search_advise(search, near[i].trials[rank].plan);
  if (!lessons_learn(space, n, near)) lacks_memory(search);
}

/* The default schedule comes first, since all others are compared with it. Then come the program's own and
 * the generic one, so that the answer is never worse than what the user wrote or than `auto`. Where similar
 * programs tell what to begin with, the default schedule can wait until the end of the first round. */
int autotune_search_next(autotune_search *search, int n, tn_schedule **out) {
  if (!search || !out || n < 1) return 0;
  search->sequences.n = 0;
  bool is_advised = autotune_search_is_advised(search), default_last = ends_with_default(search, n);
  int most = n - default_last;
  int found = is_advised ? propose_guesses(search, most, out) : propose_all_fixed(search, most, out);
  double eps = search->task.n_rules > 0 ? fmax(search->policy.eps, eps_own_rules) : search->policy.eps;
  int n_random = (int)ceil(eps * (most - found));
  found += propose_evolved(search, most - found - n_random, out + found);
  found += propose_random(search, most - found, out + found);
  return found + (default_last ? propose_fixed(search, FIXED_DEFAULT, out + found) : 0);
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* Keeps the MAX_SEEDS fastest, best first. */
static void insert_best(autotune_search *search, double cost_s, const autotune_genome *genome) {
  int at = search->n_best;
  while (at > 0 && search->best[at - 1].cost_s > cost_s) at--;
  if (at == MAX_SEEDS) return;
  int n_moved = RUNTIME_MIN(search->n_best, MAX_SEEDS - 1) - at;
  memmove(&search->best[at + 1], &search->best[at], sizeof *search->best * (size_t)n_moved);
  search->best[at] = (measured){cost_s, *genome};
  search->n_best = RUNTIME_MIN(search->n_best + 1, MAX_SEEDS);
}

/* Schedules that the search did not propose are welcome, for example from the log or written by hand. They
 * have features, but often no genome. */
tn_status autotune_search_observe(autotune_search *search, const tn_schedule *schedule, double cost_s) {
  if (!search || !schedule) return TN_ERROR_ARGUMENT;
  float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  autotune_genome genome;
  uint64_t hash = autotune_schedule_hash(schedule);
  bool is_own = runtime_map_find(&search->seen, hash) != NULL;
  if (!runtime_map_at(&search->seen, hash)) {
    return runtime_fail(search->task.ctx, TN_ERROR_MEMORY, "out of memory for observed schedules");
  }
  runtime_quiet quiet = runtime_quiet_begin(search->task.ctx);
  bool is_known = autotune_genome_of(&search->space, schedule, &genome);
  runtime_quiet_end(&quiet);
  if (is_known && !is_own) note_tried(search, &genome);
  if (is_known && isfinite(cost_s)) insert_best(search, cost_s, &genome);
  double cost_ns = is_known ? autotune_genome_cost(&search->space, &genome) : 0;
  int n_rows =
      autotune_schedule_rows(&search->space, schedule, isinf(cost_ns) ? 0 : cost_ns, &search->arena, rows, NULL);
  return n_rows > 0 ? autotune_model_add(search->model, search->model_task, rows, n_rows, cost_s) : TN_OK;
}

void autotune_search_too_long(autotune_search *search, const tn_schedule *schedule) {
  float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  autotune_estimate estimate;
  if (autotune_schedule_rows(&search->space, schedule, 0, &search->arena, rows, &estimate) > 0)
    autotune_learn_too_many(&search->space, estimate.statements);
}

tn_status autotune_search_check_plan(const autotune_search *search, const char *text) {
  autotune_genome genome;
  return autotune_genome_read(&search->space, text, &genome);
}
