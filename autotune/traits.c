/* traits.c: which structures were tried. A trait is a choice with few values: a group's family, whether an
 * operand is packed, which loop is outside, a sketch. Where the cost that ranks plans is wrong, it is wrong
 * about a structure rather than about a length. A trait that it ranks low would not be measured for many
 * rounds, and so the mistake would not be noticed. */
#include "autotune/search.h"

/* FEW: a field with more values is a length. FEW_SKETCHES: where there are more, they are combinations of
 * choices, and none is tried for its own sake. */
enum { FEW = 3, FEW_SKETCHES = 8 };

/* What a trait is hashed from; unused fields are -1. */
typedef struct trait {
  int32_t group, family, field, value;
} trait;

/* Never 0, which the maps take for an empty place. */
static uint64_t hash_of(trait t) { return runtime_hash(&t, sizeof t, 3) | 1; }

/* Writes the traits of one group: its family, and each field with a choice of few values. */
static int traits_of_plan(const autotune_space *space, int group, const autotune_plan *plan, uint64_t *out) {
  const plan_choices *choices = schedule_plans_choices(space->plans, group);
  int n = 0;
  for (int c = 0; c < choices->n; c++) {
    const plan_choice *choice = &choices->choices[c];
    if (choice->family != plan->family) continue;
    if (choices->n > 1) out[n++] = hash_of((trait){group, plan->family, -1, 0});
    for (int f = 0; f < schedule_family_at(plan->family)->n_fields; f++)
      if (choice->space.n[f] > 1 && choice->space.n[f] <= FEW)
        out[n++] = hash_of((trait){group, plan->family, f, plan->value[f]});
  }
  return n;
}

int autotune_traits(const autotune_space *space, const autotune_genome *genome, uint64_t *out) {
  int n = 0;
  if (genome->sketch != AUTOTUNE_PLANNED) {
    out[0] = hash_of((trait){-1, -1, -1, space->n_sketches <= FEW_SKETCHES ? genome->sketch : 0});
    return 1;
  }
  for (int g = 0; g < space->n_groups; g++) n += traits_of_plan(space, g, &genome->plans[g], out + n);
  return n;
}
