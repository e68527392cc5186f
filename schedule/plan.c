/* plan.c: the table of families, the ranking of a group's plans, and plans as JSON. */
#include "schedule/plan.h"

#include <math.h>

/* All families. Of plans that cost the same the earlier family's wins. */
static const schedule_family *const families[PLAN_FAMILIES] = {
    &schedule_family_tile,  &schedule_family_strip, &schedule_family_rows,   &schedule_family_reduce,
    &schedule_family_short, &schedule_family_move,  &schedule_family_points, &schedule_family_fold,
    &schedule_family_phase, &schedule_family_patch, &schedule_family_spread};

/* NULL: there is none of that number. */
const schedule_family *schedule_family_at(int family) {
  return family >= 0 && family < PLAN_FAMILIES ? families[family] : NULL;
}

/* In the order of the table, which decides between plans of equal cost. */
void schedule_plan_choices(const generic_draft *d, const generic_group *g, const schedule_family *only,
                           plan_choices *out) {
  out->n = 0;
  for (int f = 0; f < PLAN_FAMILIES; f++) {
    if ((only && families[f] != only) || (g->is_chain && !families[f]->takes_chains)) continue;
    plan_choice *c = &out->choices[out->n];
    *c = (plan_choice){.family = f, .facts = families[f]->describe(d, g)};
    if (!c->facts) continue;
    families[f]->space(c->facts, &c->space);
    out->n++;
  }
}

bool plan_has(const plan_space *space, int field, int64_t value) {
  for (int i = 0; i < space->n[field]; i++)
    if (space->value[field][i] == value) return true;
  return false;
}

/* Values keep the order in which they were added. */
bool plan_add(plan_space *space, int field, int64_t value) {
  if (plan_has(space, field, value)) return true;
  if (space->n[field] == PLAN_MAX_VALUES) return false;
  space->value[field][space->n[field]++] = (int32_t)value;
  return true;
}

/* ---- ranking ----------------------------------------------------------------------------------------------------- */

/* OUT of schedule_plan_rank, in the making. */
typedef struct ranking {
  int n, max;
  schedule_plan *best; /* in order of their costs */
} ranking;

/* A descent meets plans more than once. */
static bool same_values(const schedule_plan *a, const schedule_plan *b) {
  return a->family == b->family && memcmp(a->value, b->value, sizeof a->value) == 0;
}

/* Of plans that cost the same, the one that was found first stays first. */
static void rank(ranking *r, const schedule_plan *plan) {
  if (!isfinite(plan->ns)) return;
  int at = r->n;
  while (at > 0 && r->best[at - 1].ns > plan->ns) at--;
  for (int i = at - 1; i >= 0 && r->best[i].ns == plan->ns; i--)
    if (same_values(&r->best[i], plan)) return;
  if (at == r->max) return;
  int n_moved = RUNTIME_MIN(r->n, r->max - 1) - at;
  memmove(&r->best[at + 1], &r->best[at], sizeof *r->best * (size_t)n_moved);
  r->best[at] = *plan;
  r->n = RUNTIME_MIN(r->n + 1, r->max);
}

/* Not among those that are kept. */
static bool is_behind(const ranking *r, double ns) { return r->n == r->max && r->best[r->n - 1].ns < ns; }

/* Every pair of values of two fields was looked at, the other fields being as they are in BEST, which was the best. */
typedef struct sweep {
  int a, b;
  schedule_plan best;
} sweep;

/* The sweeps of one choice: descents meet, and go over the same pairs again to see that nothing is better. */
typedef struct sweeps {
  RUNTIME_VEC(sweep) done;
  runtime_map at; /* places in DONE and one more, by a hash of what was the same in all plans */
} sweeps;

/* A search from one start: two fields at a time, until nothing is better. */
typedef struct descent {
  const plan_choice *choice;
  ranking *ranking;
  sweeps *sweeps;
  schedule_plan at; /* the best found from one start */
  int held;         /* this field keeps its value in the first turn; -1: none */
} descent;

static void normalize(const plan_choice *c, int32_t *value) {
  const schedule_family *family = families[c->family];
  if (family->normalize) family->normalize(c->facts, &c->space, value);
}

/* Every plan that is looked at is ranked, not only those on the way. The way goes on from values as they were tried: beside
 * others they may have an effect. */
static void try_values(const plan_choice *c, ranking *r, const schedule_plan *plan, schedule_plan *best) {
  schedule_plan next = *plan;
  next.ns = families[plan->family]->cost(c->facts, next.value);
  if (next.ns < best->ns) *best = next;
  if (!isfinite(next.ns) || is_behind(r, next.ns)) return;
  normalize(c, next.value);
  next.ns = families[plan->family]->cost(c->facts, next.value);
  rank(r, &next);
}

/* Every pair of values of two fields, the others as they are. */
static void make_sweep(const plan_choice *c, ranking *r, sweep *s) {
  const plan_space *space = &c->space;
  schedule_plan plan = s->best;
  s->best.ns = INFINITY;
  for (int i = 0; i < space->n[s->a]; i++) {
    plan.value[s->a] = space->value[s->a][i];
    for (int j = 0; j < space->n[s->b]; j++) {
      plan.value[s->b] = space->value[s->b][j];
      try_values(c, r, &plan, &s->best);
    }
  }
}

typedef struct sweep_key {
  const sweeps *all;
  int a, b;
  int32_t value[PLAN_MAX_FIELDS]; /* 0 for A and B */
} sweep_key;

static bool is_of_key(const void *user, runtime_map_value value) {
  const sweep_key *key = user;
  const sweep *s = &key->all->done.data[value.i - 1];
  if (s->a != key->a || s->b != key->b) return false;
  for (int f = 0; f < PLAN_MAX_FIELDS; f++)
    if (f != s->a && f != s->b && s->best.value[f] != key->value[f]) return false;
  return true;
}

/* The sweep of these fields from PLAN, made now if it is new. What cannot be remembered is made again. */
static sweep sweep_from(descent *d, const schedule_plan *plan, int a, int b) {
  sweeps *all = d->sweeps;
  sweep_key key = {.all = all, .a = a, .b = b};
  memcpy(key.value, plan->value, sizeof key.value);
  key.value[a] = key.value[b] = 0;
  uint64_t hash = runtime_hash(key.value, sizeof key.value, (uint64_t)(a * PLAN_MAX_FIELDS + b)) | 1;
  runtime_map_value *known = runtime_map_match_at(&all->at, hash, is_of_key, &key);
  if (known && known->i > 0) return all->done.data[known->i - 1];
  sweep made = {a, b, *plan};
  make_sweep(d->choice, d->ranking, &made);
  if (known && RUNTIME_PUSH(&all->done, made)) known->i = all->done.n;
  return made;
}

static bool sweep_pair(descent *d, int a, int b) {
  sweep s = sweep_from(d, &d->at, a, b);
  bool is_better = s.best.ns < d->at.ns;
  if (is_better) d->at = s.best;
  return is_better;
}

/* Changes two fields at a time until no pair is better. A value that the search began with keeps until the others were fitted
 * to it: beside those of the plainest plan it may be worse than none. */
static void descend(descent *d) {
  enum { MAX_TURNS = 4 };
  const plan_space *space = &d->choice->space;
  int n = families[d->choice->family]->n_fields;
  bool is_better = true;
  for (int turn = 0; is_better && turn < MAX_TURNS; turn++) {
    int held = turn == 0 ? d->held : -1;
    is_better = held >= 0;
    for (int a = 0; a < n; a++)
      for (int b = a + 1; b < n; b++)
        if (a != held && b != held && (space->n[a] > 1 || space->n[b] > 1)) is_better |= sweep_pair(d, a, b);
  }
}

/* One more local minimum. */
static void descend_from(const plan_choice *choice, ranking *r, sweeps *all, const schedule_plan *start, int held) {
  descent d = {.choice = choice, .ranking = r, .sweeps = all, .at = *start, .held = held};
  d.at.ns = INFINITY;
  try_values(choice, r, start, &d.at);
  descend(&d);
}

/* From the plainest plan, two fields at a time, as values of tiles only pay together; and from it with another value of
 * a field that has few, or, where the plainest is to do without, with each of some or the first of many: such a value (to pack,
 * to take dot products, to cut the reduction) often needs several other fields to change with it. */
static void rank_choice(const plan_choice *choice, ranking *r) {
  enum { FEW = 3, SOME = 8 };
  const plan_space *space = &choice->space;
  sweeps all = {0};
  schedule_plan plainest = {.family = choice->family, .ns = INFINITY};
  int n = families[choice->family]->n_fields;
  for (int f = 0; f < n; f++) plainest.value[f] = space->value[f][0];
  descend_from(choice, r, &all, &plainest, -1);
  for (int f = 0; f < n; f++) {
    bool can_do_without = space->value[f][0] == 0;
    int most = space->n[f] <= (can_do_without ? SOME : FEW) ? space->n[f] : can_do_without ? 2 : 1;
    for (int i = 1; i < most; i++) {
      schedule_plan start = plainest;
      start.value[f] = space->value[f][i];
      descend_from(choice, r, &all, &start, f);
    }
  }
  runtime_map_free(&all.at);
  RUNTIME_VEC_FREE(&all.done);
}

/* Some thousand costs a group, a few microseconds each at most. */
int schedule_plan_rank(const plan_choices *choices, int max, schedule_plan *out) {
  ranking r = {.max = max, .best = out};
  for (int i = 0; i < choices->n; i++) rank_choice(&choices->choices[i], &r);
  return r.n;
}

/* NULL if the stage cannot be made by that family. */
static const plan_choice *choice_of(const plan_choices *choices, int family) {
  for (int i = 0; i < choices->n; i++)
    if (choices->choices[i].family == family) return &choices->choices[i];
  return NULL;
}

double schedule_plan_cost(const plan_choices *choices, const schedule_plan *plan) {
  const plan_choice *c = choice_of(choices, plan->family);
  return c ? families[c->family]->cost(c->facts, plan->value) : INFINITY;
}

void schedule_plan_normalize(const plan_choices *choices, int family, int32_t *value) {
  const plan_choice *c = choice_of(choices, family);
  if (c) normalize(c, value);
}

/* On the draft itself: the caller throws it away when this is false. */
bool schedule_plan_realize(generic_draft *d, const generic_group *g, const plan_choices *choices,
                           const schedule_plan *plan) {
  const plan_choice *c = choice_of(choices, plan->family);
  return c && families[c->family]->realize(d, g, c->facts, plan->value);
}

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

json_t *schedule_plan_json(const char *stage, const schedule_plan *plan) {
  const schedule_family *family = families[plan->family];
  json_t *json = json_pack("{s:s, s:s}", "stage", stage, "family", family->name);
  for (int f = 0; json && f < family->n_fields; f++)
    if (json_object_set_new(json, family->fields[f].name, json_integer(plan->value[f])) != 0) {
      json_decref(json);
      json = NULL;
    }
  return json;
}

/* A field that is missing is refused, too, unless it is a later one. */
static tn_status decode_field(tn_context *ctx, const json_t *json, const char *family, const plan_field *f,
                              int32_t *out) {
  const char *field = f->name;
  const json_t *value = json_object_get(json, field);
  *out = 0;
  if (!value && f->is_later) return TN_OK;
  json_int_t n = json_integer_value(value);
  if (!json_is_integer(value) || n < INT32_MIN || n > INT32_MAX)
    return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"%s\" of family %s has to be a whole number", field, family);
  *out = (int32_t)n;
  return TN_OK;
}

/* Whether the values go together is the primitives' to say. */
tn_status schedule_plan_decode(tn_context *ctx, const json_t *json, schedule_plan *out) {
  const char *name = json_string_value(json_object_get(json, "family"));
  *out = (schedule_plan){.family = -1, .ns = INFINITY};
  for (int f = 0; name && f < PLAN_FAMILIES; f++)
    if (strcmp(families[f]->name, name) == 0) out->family = f;
  if (out->family < 0)
    return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"family\" names none: %s", name ? name : "it is missing");
  const schedule_family *family = families[out->family];
  for (int f = 0; f < family->n_fields; f++)
    SCHEDULE_TRY(decode_field(ctx, json, name, &family->fields[f], &out->value[f]));
  return TN_OK;
}

/* A field that has no choice in this space must be 0. */
static bool has_value(const plan_space *space, int field, int32_t value) {
  return plan_has(space, field, value) || (space->n[field] == 0 && value == 0); /* of no use here */
}

/* "1, 2, 3, ..." */
static void list_values(const plan_space *space, int field, runtime_str *out) {
  enum { MOST = 12 };
  for (int i = 0; i < space->n[field] && i < MOST; i++)
    runtime_str_addf(out, "%s%d", i ? ", " : "", space->value[field][i]);
  if (space->n[field] > MOST) runtime_str_add(out, ", ...");
}

/* The values that could have been taken are listed: a plan comes from a log of perhaps another machine. */
static tn_status refuse_value(tn_context *ctx, const char *stage, const plan_choice *c, const schedule_plan *plan,
                              int field) {
  runtime_str values = {0};
  const schedule_family *family = families[plan->family];
  list_values(&c->space, field, &values);
  tn_status status = runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"%s\" of %s is %d, and family %s has %s there",
                                  family->fields[field].name, stage, plan->value[field], family->name,
                                  values.failed || values.n == 0 ? "no such value" : values.data);
  runtime_str_free(&values);
  return status;
}

/* 0 where there is no choice. */
static int32_t nearest_value(const plan_space *space, int field, int32_t value) {
  int best = 0;
  for (int i = 1; i < space->n[field]; i++)
    if (llabs((int64_t)space->value[field][i] - value) < llabs((int64_t)space->value[field][best] - value)) best = i;
  return space->n[field] > 0 ? space->value[field][best] : 0;
}

tn_status schedule_plan_fit(tn_context *ctx, const char *stage, const plan_choices *choices, schedule_plan *plan) {
  const plan_choice *c = choice_of(choices, plan->family);
  for (int f = 0; c && f < families[plan->family]->n_fields; f++)
    plan->value[f] = nearest_value(&c->space, f, plan->value[f]);
  return schedule_plan_check(ctx, stage, choices, plan);
}

tn_status schedule_plan_check(tn_context *ctx, const char *stage, const plan_choices *choices,
                              const schedule_plan *plan) {
  const plan_choice *c = choice_of(choices, plan->family);
  if (!c)
    return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"family\" of %s is %s, which cannot schedule it", stage,
                        families[plan->family]->name);
  for (int f = 0; f < families[plan->family]->n_fields; f++)
    if (!has_value(&c->space, f, plan->value[f])) return refuse_value(ctx, stage, c, plan, f);
  return TN_OK;
}
