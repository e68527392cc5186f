/* planned.c: the part of the search that works on plans (schedule/plan.h), that is, on the space that
 * `auto` ranks. Candidates are drawn near the best-ranked plans. A mutation changes a field to a value near
 * it, or takes another plan. Plans are crossed group by group and field by field. */
#include <math.h>

#include "autotune/search.h"

/* Chances in percent, except NEAR (see draw_place) and TRIES. */
enum { ANY_FAMILY = 20, ANOTHER_PLAN = 12, ANY_VALUE = 30, FROM_OTHER = 50, NEAR = 6, CHANGED = 60, TRIES = 16 };

static bool chance(runtime_rng *rng, int percent) { return runtime_random_below(rng, 100) < percent; }

tn_machine autotune_machine(const autotune_task *task) {
  tn_machine machine = tn_target_machine(task->target);
  machine.threads = task->threads;
  machine.vector_bytes = task->vector_bytes;
  return machine;
}

/* The unused rest is zeroed, since genomes are compared as bytes. */
static autotune_plan plan_of(const schedule_plan *plan) {
  autotune_plan out = {.family = plan->family};
  memcpy(out.value, plan->value, sizeof out.value);
  return out;
}

void autotune_plan_put(autotune_genome *genome, int group, const schedule_plan *plan) {
  genome->plans[group] = plan_of(plan);
}

void autotune_plans_genome(const autotune_space *space, const schedule_plan *by_group, autotune_genome *out) {
  memset(out, 0, sizeof *out);
  out->sketch = AUTOTUNE_PLANNED;
  for (int g = 0; g < space->n_groups; g++) out->plans[g] = plan_of(&by_group[g]);
}

void autotune_genome_plans(const autotune_space *space, const autotune_genome *genome, schedule_plan *by_group) {
  for (int g = 0; g < space->n_groups; g++) {
    by_group[g] = (schedule_plan){.family = genome->plans[g].family};
    memcpy(by_group[g].value, genome->plans[g].value, sizeof by_group[g].value);
  }
}

/* Adds each family's own ranking of the group: in the group's ranking a family may be behind all plans of another. */
static bool rank_families(autotune_space *space, int group) {
  const plan_choices *choices = schedule_plans_choices(space->plans, group);
  for (int i = 0; i < choices->n; i++) {
    plan_choices one = {1, {choices->choices[i]}};
    autotune_ranked ranked = {.group = group};
    ranked.n = schedule_plan_rank(&one, AUTOTUNE_RANKED, ranked.plans);
    if (ranked.n > 0 && !RUNTIME_PUSH(&space->ranked, ranked)) return false;
  }
  return true;
}

/* A program with more groups than a genome has room for is not searched by plans, only by sketches. */
bool autotune_plan_space(autotune_space *space) {
  const tn_machine machine = autotune_machine(space->task);
  schedule_plan best[AUTOTUNE_MAX_GROUPS];
  space->plans = schedule_plans_new(space->task->program, &machine);
  int n = space->plans ? schedule_plans_count(space->plans) : 0;
  if (n > AUTOTUNE_MAX_GROUPS) return true;
  space->n_groups = n;
  if (n == 0) return true;
  schedule_plans_best(space->plans, best);
  autotune_plans_genome(space, best, &space->best);
  bool ok = true;
  for (int g = 0; ok && g < n; g++) ok = rank_families(space, g);
  return ok;
}

tn_schedule *autotune_planned_schedule(const autotune_space *space, const autotune_genome *genome) {
  schedule_plan by_group[AUTOTUNE_MAX_GROUPS];
  autotune_genome_plans(space, genome, by_group);
  return schedule_plans_realize(space->plans, by_group);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* Draws a rank: one that is NEAR places further down is drawn half as often. */
static int draw_place(runtime_rng *rng, int n) {
  int place = (int)(-log2(1 - runtime_random_unit(rng)) * NEAR);
  return RUNTIME_MIN(place, n - 1);
}

/* Draws one of a family's best plans; all families are equally likely. */
static bool draw_of_family(const autotune_space *space, runtime_rng *rng, int group, autotune_plan *out) {
  int first = 0, n = 0;
  for (int i = 0; i < space->ranked.n; i++) {
    if (space->ranked.data[i].group != group) continue;
    if (n++ == 0) first = i;
  }
  if (n == 0) return false;
  const autotune_ranked *ranked = &space->ranked.data[first + runtime_random_below(rng, n)];
  *out = plan_of(&ranked->plans[draw_place(rng, ranked->n)]);
  return true;
}

/* Mostly draws near the top of the group's ranking, sometimes from a family that the ranking puts behind. */
static void draw_ranked(const autotune_space *space, runtime_rng *rng, int group, autotune_plan *out) {
  const schedule_plan *ranked;
  if (chance(rng, ANY_FAMILY) && draw_of_family(space, rng, group, out)) return;
  int n = schedule_plans_ranked(space->plans, group, &ranked);
  if (n > 0) *out = plan_of(&ranked[draw_place(rng, n)]);
}

/* Mutates each draw one and a half times on average (CHANGED), so that single changes are as frequent as several. */
void autotune_sample_plans(const autotune_space *space, runtime_rng *rng, autotune_genome *out) {
  *out = space->best;
  for (int g = 0; g < space->n_groups; g++) draw_ranked(space, rng, g, &out->plans[g]);
  while (chance(rng, CHANGED) && autotune_mutate_plans(space, rng, out)) continue;
}

/* The group's choice of that family; NULL: the group cannot be made by it. */
static const plan_choice *choice_of(const autotune_space *space, int group, int family) {
  const plan_choices *choices = schedule_plans_choices(space->plans, group);
  for (int i = 0; i < choices->n; i++)
    if (choices->choices[i].family == family) return &choices->choices[i];
  return NULL;
}

/* The index of the value nearest to VALUE. */
static int place_of(const plan_space *space, int field, int32_t value) {
  int best = 0;
  for (int i = 1; i < space->n[field]; i++)
    if (llabs((int64_t)space->value[field][i] - value) < llabs((int64_t)space->value[field][best] - value)) best = i;
  return best;
}

/* The next larger or smaller value, or any. */
static int32_t another_value(const plan_space *space, runtime_rng *rng, int field, int32_t value) {
  int n = space->n[field], at = place_of(space, field, value), next = -1;
  bool up = chance(rng, 50);
  if (n < 3 || chance(rng, ANY_VALUE)) return space->value[field][(at + 1 + runtime_random_below(rng, n - 1)) % n];
  for (int i = 0; i < n; i++) {
    int32_t candidate = space->value[field][i];
    bool is_beyond = up ? candidate > value : candidate < value;
    bool is_nearer = next < 0 || llabs((int64_t)candidate - value) < llabs((int64_t)space->value[field][next] - value);
    if (is_beyond && is_nearer) next = i;
  }
  return space->value[field][next < 0 ? (at + 1) % n : next];
}

/* Values that do not go together get a cost of INFINITY, or are refused when they are realized. */
static bool change_field(const autotune_space *space, runtime_rng *rng, int group, autotune_plan *plan) {
  const plan_choice *choice = choice_of(space, group, plan->family);
  if (!choice) return false;
  int field = (int)runtime_random_below(rng, schedule_family_at(plan->family)->n_fields);
  if (choice->space.n[field] < 2) return false;
  plan->value[field] = another_value(&choice->space, rng, field, plan->value[field]);
  return true;
}

bool autotune_mutate_plans(const autotune_space *space, runtime_rng *rng, autotune_genome *genome) {
  for (int i = 0; i < TRIES; i++) {
    int g = (int)runtime_random_below(rng, space->n_groups);
    if (chance(rng, ANOTHER_PLAN)) {
      draw_ranked(space, rng, g, &genome->plans[g]);
      return true;
    }
    if (change_field(space, rng, g, &genome->plans[g])) return true;
  }
  return false;
}

void autotune_normalize(const autotune_space *space, autotune_genome *genome) {
  for (int g = 0; genome->sketch == AUTOTUNE_PLANNED && g < space->n_groups; g++)
    schedule_plan_normalize(schedule_plans_choices(space->plans, g), genome->plans[g].family, genome->plans[g].value);
}

/* Fields of different families mean different things; there the group is taken over whole. */
void autotune_cross_plans(const autotune_genome *a, const autotune_genome *b, runtime_rng *rng, autotune_genome *out) {
  *out = *a;
  for (int g = 0; g < AUTOTUNE_MAX_GROUPS; g++) {
    if (a->plans[g].family != b->plans[g].family) {
      if (chance(rng, FROM_OTHER)) out->plans[g] = b->plans[g];
      continue;
    }
    for (int f = 0; f < PLAN_MAX_FIELDS; f++)
      if (chance(rng, FROM_OTHER)) out->plans[g].value[f] = b->plans[g].value[f];
  }
}
