/* plan.h: plans. A plan says everything that one family of schedules has to know to schedule one group of stages: a
 * small flat value, one number for each of the family's fields. `auto` ranks the plans of all families that can take
 * a group and realizes the best; the tuner changes and measures plans. Realizing is calling primitives: a plan that
 * does not fit is refused by them, it never makes a wrong kernel.
 *
 * A family is one file with four functions and one row in the table of plan.c. */
#ifndef TENON_SCHEDULE_PLAN_H
#define TENON_SCHEDULE_PLAN_H

#include <jansson.h>

#include "schedule/generic.h"

enum {
  PLAN_MAX_FIELDS = 17,
  PLAN_MAX_VALUES = 40, /* of one field */
  PLAN_MAX_RANKED = 64  /* plans of a group that are kept in order */
};

typedef struct schedule_plan {
  int32_t family; /* place in the table of families */
  int32_t value[PLAN_MAX_FIELDS];
  double ns; /* what the family's cost says */
} schedule_plan;

/* Which values each field may have here. The first is the plainest. */
typedef struct plan_space {
  int n[PLAN_MAX_FIELDS];
  int32_t value[PLAN_MAX_FIELDS][PLAN_MAX_VALUES];
} plan_space;

typedef struct plan_field {
  const char *name; /* in texts */
  const char *what;
  bool is_later; /* plans of before do not have it: 0 */
} plan_field;

/* A row of the table. FACTS are the family's own and live in the draft's arena. */
typedef struct schedule_family {
  const char *name;
  int n_fields;
  const plan_field *fields;
  bool takes_chains; /* of stencils, too (is_chain) */
  /* What the family knows of the group, in the draft's arena. NULL: it cannot take the group, or no memory. */
  const void *(*describe)(const generic_draft *d, const generic_group *g);
  void (*space)(const void *facts, plan_space *out);
  /* Nanoseconds of the group on the draft's machine. INFINITY: the values do not go together. */
  double (*cost)(const void *facts, const int32_t *value);
  /* False: a primitive refused; the schedule is then thrown away. */
  bool (*realize)(generic_draft *d, const generic_group *g, const void *facts, const int32_t *value);
  /* Gives fields that have no effect beside the others one value of SPACE: plans of one schedule become one plan. NULL: there
   * are no such fields. */
  void (*normalize)(const void *facts, const plan_space *space, int32_t *value);
} schedule_family;

/* Defines the family NAME_ of a file whose functions and fields bear the names above. */
#define PLAN_FAMILY(name_, n_fields_) PLAN_FAMILY_AS(name_, n_fields_, false)
#define PLAN_FAMILY_OF_CHAINS(name_, n_fields_) PLAN_FAMILY_AS(name_, n_fields_, true)
#define PLAN_FAMILY_AS(name_, n_fields_, takes_chains_)                           \
  const schedule_family schedule_family_##name_ = {.name = #name_,                \
                                                   .n_fields = n_fields_,         \
                                                   .fields = fields,              \
                                                   .takes_chains = takes_chains_, \
                                                   .describe = describe,          \
                                                   .space = space,                \
                                                   .cost = cost,                  \
                                                   .realize = realize}

extern const schedule_family schedule_family_points, schedule_family_move, schedule_family_reduce, schedule_family_rows,
    schedule_family_short, schedule_family_strip, schedule_family_tile, schedule_family_fold, schedule_family_phase,
    schedule_family_patch, schedule_family_spread;

/* The families that a group may be scheduled by, their facts and spaces. */
typedef struct plan_choice {
  int family;
  const void *facts;
  plan_space space;
} plan_choice;

enum { PLAN_FAMILIES = 11 };

typedef struct plan_choices {
  int n;
  plan_choice choices[PLAN_FAMILIES];
} plan_choices;

const schedule_family *schedule_family_at(int family);

/* ONLY: one family's, NULL: all that can take the group. */
void schedule_plan_choices(const generic_draft *d, const generic_group *g, const schedule_family *only,
                           plan_choices *out);
/* Ranks: at most MAX plans, the least cost first. Returns how many. */
int schedule_plan_rank(const plan_choices *choices, int max, schedule_plan *out);
/* What the plan's family says it costs; INFINITY: the values do not go together, or no such family is among CHOICES. */
double schedule_plan_cost(const plan_choices *choices, const schedule_plan *plan);
/* Ranked plans are normal; records may hold others, which stay as they are. A family that is not among CHOICES is left alone. */
void schedule_plan_normalize(const plan_choices *choices, int family, int32_t *value);
/* CHOICES are those that the plan was ranked with. */
bool schedule_plan_realize(generic_draft *d, const generic_group *g, const plan_choices *choices,
                           const schedule_plan *plan);

/* ---- plans of a whole program (generic.c) ------------------------------------------------------------------------ */

/* The groups of a program for a machine, each with what can be chosen and its plans in order. Belongs to who made it,
 * and has to be freed before the program's context. */
typedef struct schedule_plans schedule_plans;

/* NULL with a message. Refused: a program with symbols. */
TN_GIVE schedule_plans *schedule_plans_new(tn_program *program, const tn_machine *machine);
void schedule_plans_free(TN_TAKE schedule_plans *plans);
int schedule_plans_count(const schedule_plans *plans);
/* The stage that a group ends in. */
const char *schedule_plans_name(const schedule_plans *plans, int group);
const plan_choices *schedule_plans_choices(const schedule_plans *plans, int group);
/* The plans of a group, the least cost first. Returns how many. */
int schedule_plans_ranked(const schedule_plans *plans, int group, const schedule_plan **out);
/* Which ops of the program the group computes: its stages, and what is inlined into them. IS_IN: one for each op of the program. False:
 * the group is none that can be cut out (te_cut), or no memory. */
bool schedule_plans_ops(const schedule_plans *plans, int group, bool *is_in);
/* Schedules what S lacks, of which the groups that are DONE are scheduled: the others as `auto` does. */
tn_status schedule_plans_complete(schedule_plans *plans, const bool *done, tn_schedule *s);
/* One plan for each group; family -1: a group that has none. NULL: a primitive refused one of them, or no memory; the
 * context has no message. The caller frees the schedule. */
TN_GIVE tn_schedule *schedule_plans_realize(schedule_plans *plans, const schedule_plan *by_group);
/* Nanoseconds of all groups that have a plan. INFINITY: values of one of them do not go together. */
double schedule_plans_cost(const schedule_plans *plans, const schedule_plan *by_group);
/* Plans as JSON text: an array of one object for each group that has one. NULL: no memory. The caller frees it. */
char *schedule_plans_text(const schedule_plans *plans, const schedule_plan *by_group);
/* The plans that a schedule says it was made from, as JSON text; NULL: it says none, or was changed since. */
const char *schedule_plan_text(const tn_schedule *s);
/* Says so of a schedule whose steps were replayed. TN_ERROR_MEMORY. */
tn_status schedule_set_plan(tn_schedule *s, const char *text);
/* The plans of a text, one for each group. TN_ERROR_RECORD: it does not fit the program; the message names the
 * field. */
tn_status schedule_plans_decode(const schedule_plans *plans, const char *text, schedule_plan *by_group);
/* The same for plans of a program of other sizes, or for another machine: values that there are not here become the nearest. A
 * group that the text leaves out keeps its plan. */
tn_status schedule_plans_fit(const schedule_plans *plans, const char *text, schedule_plan *by_group);
/* The plans that `auto` takes: of each group the best-ranked one that no primitive refuses. */
void schedule_plans_best(schedule_plans *plans, schedule_plan *by_group);

bool plan_has(const plan_space *space, int field, int64_t value);
/* Adds a value to a field's values, once; false when there is no room. */
bool plan_add(plan_space *space, int field, int64_t value);

/* {"stage": "C", "family": "tile", "vectors": 4, ...}; NULL: no memory. The caller owns it. */
TN_GIVE json_t *schedule_plan_json(const char *stage, const schedule_plan *plan);
/* The message of a refusal names the field. */
tn_status schedule_plan_decode(tn_context *ctx, const json_t *json, schedule_plan *out);
/* Values that cannot be chosen become the nearest that can. TN_ERROR_RECORD: the family cannot schedule the group. */
tn_status schedule_plan_fit(tn_context *ctx, const char *stage, const plan_choices *choices, schedule_plan *plan);
/* Whether the plan is one of those that can be chosen. TN_ERROR_RECORD with a message that names the field. */
tn_status schedule_plan_check(tn_context *ctx, const char *stage, const plan_choices *choices,
                              const schedule_plan *plan);

#endif
