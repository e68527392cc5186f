/* generic.c: schedules that are made without searching. Cheap stages are inlined, the others grouped: a
 * group is a stage and what is best computed inside its loops. The operator of a group is recognised by
 * its structure, and its family's file schedules it; a context may have schedules of its own for an
 * operator (TVM: topi's schedules and their registry). Groups are formed before any of them is
 * scheduled. Work happens on a draft, a copy of the schedule; what a primitive refuses is undone by
 * throwing the copy away. Group and plan memory is the arena of schedule_plans. */
#include "schedule/cost.h"
#include "schedule/plan.h"

#include <math.h>
#include <stdio.h>

typedef enum operator_kind {
#define X(name, text, what) OPERATOR_##name,
  TN_OPERATORS(X)
#undef X
      OPERATOR_COUNT
} operator_kind;

static const struct {
  const char *name, *what;
} operators[OPERATOR_COUNT] = {
#define X(name, text, what) [OPERATOR_##name] = {text, what},
    TN_OPERATORS(X)
#undef X
};

/* The family that a schedule asked for by an operator's name is of. */
static const schedule_family *family_of(operator_kind kind, const generic_group *g) {
  switch (kind) {
    case OPERATOR_INJECTIVE:
    case OPERATOR_BROADCAST: return g->n > 0 ? &schedule_family_rows : &schedule_family_points;
    case OPERATOR_REDUCE:
    case OPERATOR_POOL: return &schedule_family_reduce;
    case OPERATOR_SOFTMAX:
    case OPERATOR_NORMALIZATION: return &schedule_family_rows;
    case OPERATOR_DENSE:
    case OPERATOR_BATCH_MATMUL:
    case OPERATOR_CONV:
    case OPERATOR_DEPTHWISE: return &schedule_family_tile;
    case OPERATOR_COUNT: break;
  }
  return NULL;
}

/* "injective, broadcast, ... or depthwise", in a buffer of the caller. */
static const char *operator_names(char *buffer, size_t n) {
  size_t used = 0;
  for (int i = 0; i < OPERATOR_COUNT && used < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, "%s%s",
                             i == 0                   ? ""
                             : i + 1 < OPERATOR_COUNT ? ", "
                                                      : " or ",
                             operators[i].name);
  return buffer;
}

/* ---- schedules of a context's own -------------------------------------------------------------------------------- */

/* In the context's arena, a list from the last one made. */
typedef struct own_schedule {
  int kind; /* operator_kind */
  const char *cpu;
  tn_generic_fn fn;
  void *user;
  struct own_schedule *next; /* made before */
} own_schedule;

typedef struct own_schedules {
  own_schedule *last;
} own_schedules;

/* They lie in the context's arena and go with it. */
static own_schedules *own_of(tn_context *ctx, bool make) {
  own_schedules *own = runtime_slot_get(ctx, RUNTIME_SLOT_GENERICS);
  if (own || !make) return own;
  own = RUNTIME_NEW(&ctx->arena, own_schedules);
  if (own) runtime_slot_set(ctx, RUNTIME_SLOT_GENERICS, own, NULL);
  return own;
}

/* Nothing is called now; the function must stay valid as long as the context. */
tn_status tn_generic_register(tn_context *ctx, const char *operator_name, const char *cpu, tn_generic_fn fn,
                              void *user) {
  char names[256];
  if (!ctx) return TN_ERROR_ARGUMENT;
  if (!fn)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_generic_register: the function is NULL: give the one to call");
  int kind = RUNTIME_FIND(operators, operator_name);
  if (kind < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_generic_register: \"%s\" is no operator: %s",
                        operator_name ? operator_name : "", operator_names(names, sizeof names));
  own_schedules *own = own_of(ctx, true);
  own_schedule *entry = own ? RUNTIME_NEW(&ctx->arena, own_schedule) : NULL;
  const char *kept = cpu && own ? runtime_strdup(&ctx->arena, cpu) : NULL;
  if (!entry || (cpu && !kept)) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
  *entry = (own_schedule){kind, kept, fn, user, own->last};
  own->last = entry;
  return TN_OK;
}

/* The last one registered that fits. */
static const own_schedule *find_own(const generic_draft *p, int kind) {
  const own_schedules *own = own_of(p->s->ctx, false);
  for (const own_schedule *o = own ? own->last : NULL; o; o = o->next) {
    bool fits = !o->cpu || (p->machine.cpu && strcmp(o->cpu, p->machine.cpu) == 0);
    if (o->kind == kind && fits) return o;
  }
  return NULL;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* An exponential is what makes a normalization a softmax. */
static void look_at(const generic_draft *p, const tn_tensor *tensor, int *n_reductions, bool *has_exp) {
  const te_op *op = p->s->stages[generic_stage(p, tensor)].op;
  *n_reductions += op->n_reduce > 0;
  *has_exp |= op->body && tir_has_op(op->body, TIR_EXP);
}

/* Some data axis of the anchor is in all that it reads, and is not that of vectors. */
static bool is_batched(const generic_reads *r) {
  for (int a = 0; a < r->n_data - 1; a++) {
    bool everywhere = r->extent[a] > 1;
    for (int i = 0; i < r->n; i++) everywhere &= r->reads[i].stride[a] != 0;
    if (everywhere) return true;
  }
  return false;
}

/* By reads alone: names do not count. */
static operator_kind kind_of_single(const generic_draft *p, int stage) {
  const te_op *op = p->s->stages[stage].op;
  generic_reads r;
  bool window = false, broadcast = false;
  if (!generic_read_all(p, stage, &r)) return op->n_reduce > 0 ? OPERATOR_REDUCE : OPERATOR_INJECTIVE;
  for (int i = 0; i < r.n; i++) {
    window |= r.reads[i].is_window;
    for (int a = 0; a < r.n_data; a++)
      broadcast |= r.extent[a] > 1 && r.reads[i].is_known[a] && r.reads[i].stride[a] == 0;
  }
  if (op->n_reduce > 0) return window ? OPERATOR_POOL : OPERATOR_REDUCE;
  return broadcast ? OPERATOR_BROADCAST : OPERATOR_INJECTIVE;
}

/* For users and for schedules registered under an operator's name; plans are chosen by family. */
static operator_kind kind_of(const generic_draft *p, const generic_group *g) {
  int n_reductions = 0;
  bool has_exp = false, window, channel;
  generic_reads r;
  if (g->anchor) {
    int anchor = generic_stage(p, g->anchor);
    (void)generic_is_tileable(p, anchor, &window, &channel);
    if (window) return channel ? OPERATOR_DEPTHWISE : OPERATOR_CONV;
    return generic_read_all(p, anchor, &r) && is_batched(&r) ? OPERATOR_BATCH_MATMUL : OPERATOR_DENSE;
  }
  look_at(p, g->root, &n_reductions, &has_exp);
  for (int i = 0; i < g->n; i++) look_at(p, g->members[i], &n_reductions, &has_exp);
  if (g->n > 0 && n_reductions > 0) return n_reductions > 1 && has_exp ? OPERATOR_SOFTMAX : OPERATOR_NORMALIZATION;
  return kind_of_single(p, generic_stage(p, g->root));
}

/* ---- scheduling a group ------------------------------------------------------------------------------------------ */

/* Quiet: refusals are part of the search. */
bool generic_attempt(generic_draft *p, const generic_group *g, generic_attempt_fn fn, const void *data, char *why,
                     size_t n) {
  generic_draft draft = *p;
  runtime_quiet quiet = runtime_quiet_begin(p->s->ctx);
  draft.s = tn_schedule_copy(p->s);
  bool ok = draft.s && fn(&draft, g, data);
  if (why) snprintf(why, n, "%s", tn_context_message(p->s->ctx));
  runtime_quiet_end(&quiet);
  if (ok) schedule_swap_contents(p->s, draft.s);
  tn_schedule_free(draft.s);
  return ok;
}

/* A user's schedule, on the draft. */
static bool apply_own(generic_draft *draft, const generic_group *g, const void *data) {
  const own_schedule *own = data;
  const char *stage = schedule_stage_name(&draft->s->stages[generic_stage(draft, g->root)]);
  return own->fn(draft->s, stage, &draft->machine, own->user) == TN_OK;
}

/* The last resort: threads and vectors, nothing else. */
static bool apply_injective(generic_draft *draft, const generic_group *g, const void *data) {
  (void)data;
  return generic_injective(draft, g);
}

/* The DATA of apply_plan. */
typedef struct planned {
  const plan_choices *choices;
  const schedule_plan *plan;
} planned;

static bool apply_plan(generic_draft *draft, const generic_group *g, const void *data) {
  const planned *by = data;
  return schedule_plan_realize(draft, g, by->choices, by->plan);
}

/* A group, what can be chosen for it, and its plans in order. */
typedef struct planned_group {
  generic_group group;
  operator_kind kind;
  plan_choices choices;
  int n;
  schedule_plan plans[PLAN_MAX_RANKED];
} planned_group;

/* ONLY: the family that was asked for by name. */
static void rank_plans(const generic_draft *p, planned_group *pg, const schedule_family *only) {
  schedule_plan_choices(p, &pg->group, only, &pg->choices);
  pg->n = schedule_plan_rank(&pg->choices, PLAN_MAX_RANKED, pg->plans);
}

static bool realize_plan(generic_draft *p, const planned_group *pg, const schedule_plan *plan, char *why, size_t n) {
  return generic_attempt(p, &pg->group, apply_plan, &(planned){&pg->choices, plan}, why, n);
}

/* The best-ranked plan that no primitive refuses: its place; -1: there is none. */
static int realize_best(generic_draft *p, const planned_group *pg, char *why, size_t n) {
  for (int i = 0; i < pg->n; i++)
    if (realize_plan(p, pg, &pg->plans[i], why, n)) return i;
  return -1;
}

/* Loops that were touched stay as they are. */
static void try_single(generic_draft *p, const tn_tensor *tensor) {
  generic_group alone = {.root = tensor};
  int stage = generic_stage(p, tensor);
  generic_reads r;
  if (p->s->stages[stage].op->n_reduce > 0 || !generic_is_untouched(p, stage)) return;
  if (generic_read_all(p, stage, &r)) alone.ns = generic_cost_ns(p, &r);
  (void)generic_attempt(p, &alone, apply_injective, NULL, NULL, 0);
}

/* What a refused group's stages get instead. */
static void fall_back(generic_draft *p, const generic_group *g, operator_kind kind, const char *why) {
  const char *name = schedule_stage_name(&p->s->stages[generic_stage(p, g->root)]);
  runtime_say(p->s->ctx, TN_SEVERITY_INFO,
              "auto: %s is scheduled as injective, or not at all where it is a reduction, since the schedule of %s was "
              "refused: %s",
              name, operators[kind].name, *why ? why : "its structure is not understood");
  try_single(p, g->root);
  for (int i = 0; i < g->n; i++) try_single(p, g->members[i]);
  if (g->anchor && g->anchor != g->root) try_single(p, g->anchor);
  if (g->padding) try_single(p, g->padding);
}

/* A registered schedule first, then plans in their order, then the stages one by one. */
static void schedule_group(generic_draft *p, const planned_group *pg) {
  char why[512] = "";
  const own_schedule *own = find_own(p, pg->kind);
  if (own && generic_attempt(p, &pg->group, apply_own, own, why, sizeof why)) return;
  if (own)
    runtime_say(p->s->ctx, TN_SEVERITY_INFO,
                "auto: the registered schedule of %s refused %s: %s; the generic one is taken",
                operators[pg->kind].name, pg->group.root->name, why);
  if (realize_best(p, pg, why, sizeof why) < 0) fall_back(p, &pg->group, pg->kind, why);
}

/* ---- the whole program ------------------------------------------------------------------------------------------- */

struct schedule_plans {
  generic_draft draft; /* its schedule: what is inlined and scans; no group is scheduled */
  tn_schedule
      *whole; /* of the program itself, where the draft's leaves axes of one element out (te/squeeze.c); else NULL */
  runtime_arena arena;
  RUNTIME_VEC(planned_group *) groups;
};

static planned_group *add_group(schedule_plans *plans) {
  planned_group *pg = RUNTIME_NEW(&plans->arena, planned_group);
  return pg && RUNTIME_PUSH(&plans->groups, pg) ? pg : NULL;
}

/* Whether some plan of a group is not refused, on a copy. */
static bool can_realize(const generic_draft *p, const planned_group *pg) {
  generic_draft draft = *p;
  draft.s = tn_schedule_copy(p->s);
  bool ok = draft.s && realize_best(&draft, pg, NULL, 0) >= 0;
  tn_schedule_free(draft.s);
  return ok;
}

/* The group of a root that nothing else is computed with. */
static void form_alone(const generic_draft *p, const tn_tensor *root, generic_group *g) {
  generic_reads r;
  generic_form_group(p, generic_stage(p, root), NULL, g);
  if (generic_read_all(p, generic_stage(p, root), &r)) g->ns = generic_cost_ns(p, &r); /* without the others' */
  g->n = 0;
  g->anchor = g->padding = NULL;
  for (int f = 0; f < TN_MAX_RANK; f++) g->is_common[f] = f < root->ndim;
}

/* A chain of stencils, if there is one and no primitive refuses its plans. False: no memory. */
static bool plan_strip(schedule_plans *plans, const tn_tensor *root, generic_taken *t) {
  generic_draft *p = &plans->draft;
  generic_group g;
  if (!generic_form_strip(p, generic_stage(p, root), t, &g)) return true;
  planned_group *pg = add_group(plans);
  if (!pg) return false;
  pg->group = g;
  pg->kind = kind_of(p, &g);
  rank_plans(p, pg, NULL);
  if (can_realize(p, pg)) return generic_take_group(t, &g);
  plans->groups.n--;
  return true;
}

/* What the stage costs by its best plan as a group of its own; INFINITY: it has none, or no memory. */
static double cost_alone(schedule_plans *plans, const tn_tensor *tensor) {
  planned_group *pg = RUNTIME_NEW(&plans->arena, planned_group);
  if (!pg) return INFINITY;
  form_alone(&plans->draft, tensor, &pg->group);
  rank_plans(&plans->draft, pg, NULL);
  return pg->n > 0 ? pg->plans[0].ns : INFINITY;
}

/* Whether stages of columns cost less one after the other, each over all columns, than all of them for some columns at a time. */
static bool is_better_apart(schedule_plans *plans, const planned_group *pg) {
  const generic_group *g = &pg->group;
  if (pg->n == 0 || !generic_is_by_columns(&plans->draft, g)) return false;
  double ns = cost_alone(plans, g->root);
  for (int i = 0; i < g->n && ns < pg->plans[0].ns; i++) ns += cost_alone(plans, g->members[i]);
  return ns < pg->plans[0].ns;
}

/* Stages are not computed together where that leaves threads idle. But what goes together stays in near caches, and starts threads once:
 * the group that one thread would have is taken instead of PG's where its plan costs less than the stages one after the other. False: no
 * memory. */
static bool try_together(schedule_plans *plans, const tn_tensor *root, const generic_taken *t, planned_group *pg) {
  generic_draft alone = plans->draft;
  planned_group *all = RUNTIME_NEW(&plans->arena, planned_group);
  if (!all) return false;
  alone.machine.threads = 1;
  generic_form_group(&alone, generic_stage(&alone, root), t, &all->group);
  if (all->group.n <= pg->group.n || all->group.anchor || pg->group.anchor || pg->n == 0) return true;
  all->kind = kind_of(&plans->draft, &all->group);
  rank_plans(&plans->draft, all, NULL);
  double ns = pg->plans[0].ns, together = all->n > 0 ? all->plans[0].ns : INFINITY;
  for (int i = 0; i < all->group.n && ns <= together; i++)
    if (!generic_map_of(&pg->group, all->group.members[i])) ns += cost_alone(plans, all->group.members[i]);
  if (ns > together && can_realize(&plans->draft, all)) *pg = *all;
  return true;
}

/* Forms the group that ends in ROOT, ranks its plans and takes its stages, so that later groups leave them alone. Where no
 * plan serves all stages together the root is a group of its own, and the others will be. False: no memory. */
static bool plan_group(schedule_plans *plans, const tn_tensor *root, generic_taken *t) {
  const generic_draft *p = &plans->draft;
  planned_group *pg = add_group(plans);
  if (!pg) return false;
  generic_form_group(p, generic_stage(p, root), t, &pg->group);
  pg->kind = kind_of(p, &pg->group);
  rank_plans(p, pg, NULL);
  if (p->machine.threads > 1 && !try_together(plans, root, t, pg)) return false;
  bool is_alone = pg->group.n == 0 && (!pg->group.anchor || pg->group.anchor == root) && !pg->group.padding;
  if (!is_alone && (is_better_apart(plans, pg) || !can_realize(p, pg))) {
    form_alone(p, root, &pg->group);
    pg->kind = kind_of(p, &pg->group);
    rank_plans(p, pg, NULL);
  }
  return generic_take_group(t, &pg->group);
}

typedef bool (*plan_fn)(schedule_plans *plans, const tn_tensor *root, generic_taken *t);

/* Calls PLAN for each stage that stands in no group, from the last to the first. */
static bool plan_stages(schedule_plans *plans, generic_taken *t, plan_fn plan) {
  RUNTIME_VEC(const tn_tensor *) stages = {0};
  const tn_schedule *s = plans->draft.s;
  bool ok = true;
  for (int i = 0; ok && i < s->n_stages; i++)
    if (generic_is_computed(&s->stages[i])) ok = RUNTIME_PUSH(&stages, s->stages[i].tensors);
  for (int i = stages.n - 1; ok && i >= 0; i--)
    if (!generic_is_taken(t, stages.data[i])) ok = plan(plans, stages.data[i], t);
  RUNTIME_VEC_FREE(&stages);
  return ok;
}

/* Groups are formed before any is scheduled. Chains of stencils come first: what they do not take is inlined as
 * elsewhere. */
static bool plan_all(schedule_plans *plans) {
  generic_taken t = {0};
  generic_draft *p = &plans->draft;
  generic_inline_stages(p, NULL);
  bool ok = generic_take_scans(p, &t) && plan_stages(plans, &t, plan_strip);
  if (ok) generic_inline_stages(p, &t);
  ok = ok && plan_stages(plans, &t, plan_group);
  RUNTIME_VEC_FREE(&t.tensors);
  return ok;
}

/* S is the plans' own, and may be freed. */
static tn_schedule *of_program(const schedule_plans *plans, tn_schedule *s) {
  if (!s || !plans->whole) return s;
  tn_schedule *all = generic_with_ones(plans->whole, s);
  tn_schedule_free(s);
  return all;
}

/* Describes and ranks; no group is scheduled yet. */
static schedule_plans *plan_program(tn_program *program, const tn_machine *machine) {
  schedule_plans *plans = calloc(1, sizeof *plans);
  if (plans) {
    plans->draft = (generic_draft){.s = tn_schedule_new(program), .machine = cost_fill_machine(machine)};
    plans->draft.arena = &plans->arena;
  }
  if (plans && plans->draft.s && plan_all(plans) && !plans->arena.failed) return plans;
  schedule_plans_free(plans);
  runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
  return NULL;
}

/* The same of PROGRAM without its axes of one element. NULL: there are none, or no memory. */
static schedule_plans *plan_without_ones(tn_program *program, const tn_machine *machine) {
  tn_program *without = te_without_ones(program);
  schedule_plans *plans = without ? plan_program(without, machine) : NULL;
  if (!plans || (plans->whole = tn_schedule_new(program))) return plans;
  schedule_plans_free(plans);
  return NULL;
}

/* Whether the plans that cost least are schedules of the program itself, too. */
static bool best_is_of_program(schedule_plans *plans) {
  schedule_plan best[GENERIC_MAX_STAGES] = {0};
  if (plans->groups.n > GENERIC_MAX_STAGES) return false;
  for (int i = 0; i < plans->groups.n; i++) {
    const planned_group *pg = plans->groups.data[i];
    if (pg->n > 0) best[i] = pg->plans[0];
    if (pg->n == 0) best[i].family = -1;
  }
  tn_schedule *s = schedule_plans_realize(plans, best);
  tn_schedule_free(s);
  return s != NULL;
}

schedule_plans *schedule_plans_new(tn_program *program, const tn_machine *machine) {
  if (te_check_no_symbols(program, "auto") != TN_OK) return NULL;
  schedule_plans *plans = plan_without_ones(program, machine);
  if (plans && best_is_of_program(plans)) return plans;
  schedule_plans_free(plans);
  return plan_program(program, machine);
}

void schedule_plans_free(schedule_plans *plans) {
  if (!plans) return;
  tn_schedule_free(plans->draft.s);
  tn_schedule_free(plans->whole);
  RUNTIME_VEC_FREE(&plans->groups);
  runtime_arena_free(&plans->arena);
  free(plans);
}

int schedule_plans_count(const schedule_plans *plans) { return plans->groups.n; }

const char *schedule_plans_name(const schedule_plans *plans, int group) {
  return plans->groups.data[group]->group.root->name;
}

const plan_choices *schedule_plans_choices(const schedule_plans *plans, int group) {
  return &plans->groups.data[group]->choices;
}

/* *OUT belongs to PLANS. */
int schedule_plans_ranked(const schedule_plans *plans, int group, const schedule_plan **out) {
  *out = plans->groups.data[group]->plans;
  return plans->groups.data[group]->n;
}

char *schedule_plans_text(const schedule_plans *plans, const schedule_plan *by_group) {
  json_t *all = json_array();
  for (int i = 0; all && i < plans->groups.n; i++)
    if (by_group[i].family >= 0)
      json_array_append_new(all, schedule_plan_json(schedule_plans_name(plans, i), &by_group[i]));
  char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
  json_decref(all);
  return text;
}

tn_schedule *schedule_plans_realize(schedule_plans *plans, const schedule_plan *by_group) {
  generic_draft draft = plans->draft;
  draft.s = tn_schedule_copy(plans->draft.s);
  runtime_quiet quiet = runtime_quiet_begin(plans->draft.s->ctx);
  bool ok = draft.s != NULL;
  for (int i = 0; ok && i < plans->groups.n; i++) {
    const planned_group *pg = plans->groups.data[i];
    if (by_group[i].family >= 0)
      ok = schedule_plan_realize(&draft, &pg->group, &pg->choices, &by_group[i]);
    else
      fall_back(&draft, &pg->group, pg->kind, "");
  }
  if (ok) generic_join_siblings(&draft);
  runtime_quiet_end(&quiet);
  if (plans->arena.failed) ok = runtime_fail(plans->draft.s->ctx, TN_ERROR_MEMORY, "out of memory for a plan") == TN_OK;
  if (ok) return of_program(plans, draft.s);
  tn_schedule_free(draft.s);
  return NULL;
}

double schedule_plans_cost(const schedule_plans *plans, const schedule_plan *by_group) {
  double ns = 0;
  for (int i = 0; i < plans->groups.n; i++)
    if (by_group[i].family >= 0) ns += schedule_plan_cost(&plans->groups.data[i]->choices, &by_group[i]);
  return ns;
}

/* As soon as a step is added the plans are not what made the schedule. */
const char *schedule_plan_text(const tn_schedule *s) { return s->plan_steps == s->n_steps ? s->plan : NULL; }

tn_status schedule_set_plan(tn_schedule *s, const char *text) {
  s->plan = runtime_strdup(&s->arena, text);
  s->plan_steps = s->n_steps;
  return s->plan ? TN_OK : runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for a plan");
}

/* By the stage that it ends in; -1: none. */
static int find_group(const schedule_plans *plans, const char *stage) {
  for (int i = 0; stage && i < plans->groups.n; i++)
    if (strcmp(schedule_plans_name(plans, i), stage) == 0) return i;
  return -1;
}

/* A record of another program names other stages. FITS: values may be changed. */
static tn_status decode_group(const schedule_plans *plans, const json_t *json, bool fits, schedule_plan *by_group) {
  tn_context *ctx = plans->draft.s->ctx;
  const char *stage = json_string_value(json_object_get(json, "stage"));
  schedule_plan plan;
  int group = find_group(plans, stage);
  if (group < 0)
    return runtime_fail(ctx, TN_ERROR_RECORD, "plan: \"stage\" names no group of the program: %s",
                        stage ? stage : "it is missing");
  SCHEDULE_TRY(schedule_plan_decode(ctx, json, &plan));
  const plan_choices *choices = &plans->groups.data[group]->choices;
  SCHEDULE_TRY(
      (fits ? schedule_plan_fit(ctx, stage, choices, &plan) : schedule_plan_check(ctx, stage, choices, &plan)));
  by_group[group] = plan;
  return TN_OK;
}

static tn_status decode_groups(const schedule_plans *plans, const char *text, bool fits, schedule_plan *by_group) {
  json_t *all = json_loads(text, 0, NULL);
  tn_status status = json_is_array(all)
                         ? TN_OK
                         : runtime_fail(plans->draft.s->ctx, TN_ERROR_RECORD, "plan: an array of objects is needed");
  for (size_t i = 0; status == TN_OK && i < json_array_size(all); i++)
    status = decode_group(plans, json_array_get(all, i), fits, by_group);
  json_decref(all);
  return status;
}

tn_status schedule_plans_fit(const schedule_plans *plans, const char *text, schedule_plan *by_group) {
  return decode_groups(plans, text, true, by_group);
}

/* Groups that the text leaves out get family -1. */
tn_status schedule_plans_decode(const schedule_plans *plans, const char *text, schedule_plan *by_group) {
  for (int i = 0; i < plans->groups.n; i++) by_group[i] = (schedule_plan){.family = -1};
  return decode_groups(plans, text, false, by_group);
}

/* Each group is tried on what the groups before became. */
void schedule_plans_best(schedule_plans *plans, schedule_plan *by_group) {
  generic_draft draft = plans->draft;
  draft.s = tn_schedule_copy(plans->draft.s);
  for (int i = 0; i < plans->groups.n; i++) {
    const planned_group *pg = plans->groups.data[i];
    int best = draft.s ? realize_best(&draft, pg, NULL, 0) : -1;
    by_group[i] = best < 0 ? (schedule_plan){.family = -1} : pg->plans[best];
  }
  tn_schedule_free(draft.s);
}

/* ---- groups as parts --------------------------------------------------------------------------------------------- */

/* The op's place in its program; -1: it is none of its ops. */
static int number_of_op(const tn_program *program, const tn_tensor *tensor) {
  for (int i = 0; i < program->n_ops; i++)
    if (program->ops[i]->outputs == tensor) return i;
  return -1;
}

/* Inlined stages belong to all that read them: readers stand behind what they read. */
static void add_inlined(const tn_schedule *s, bool *is_in) {
  const tn_program *p = s->program;
  for (int i = p->n_ops - 1; i >= 0; i--) {
    for (int k = 0; is_in[i] && k < p->ops[i]->n_inputs; k++) {
      int from = number_of_op(p, p->ops[i]->inputs[k]->op->outputs);
      int stage = from >= 0 ? schedule_stage_of_tensor(s, p->ops[from]->outputs) : -1;
      if (stage >= 0 && s->stages[stage].attach == SCHEDULE_INLINED) is_in[from] = true;
    }
  }
}

bool schedule_plans_ops(const schedule_plans *plans, int group, bool *is_in) {
  const tn_schedule *s = plans->draft.s;
  generic_taken t = {0};
  bool ok = generic_take_group(&t, &plans->groups.data[group]->group);
  memset(is_in, 0, sizeof *is_in * (size_t)s->program->n_ops);
  for (int i = 0; ok && i < t.tensors.n; i++) {
    int op = number_of_op(s->program, t.tensors.data[i]);
    ok = op >= 0 && s->program->ops[op]->kind == TE_COMPUTE;
    if (ok) is_in[op] = true;
  }
  RUNTIME_VEC_FREE(&t.tensors);
  if (ok) add_inlined(s, is_in);
  return ok;
}

/* Those of groups that are done are where their schedules want them. */
static bool is_inlined_by_others(const schedule_plans *plans, const bool *done, int op, bool *is_in) {
  bool is_read = false;
  for (int g = 0; g < plans->groups.n; g++) {
    if (!schedule_plans_ops(plans, g, is_in) || !is_in[op]) continue;
    if (done[g]) return false;
    is_read = true;
  }
  return is_read;
}

/* A stage that a primitive refuses to inline is computed. */
static void inline_rest(const schedule_plans *plans, const bool *done, bool *is_in, tn_schedule *s) {
  const tn_schedule *draft = plans->draft.s;
  for (int i = 0; i < draft->n_stages; i++) {
    if (draft->stages[i].attach != SCHEDULE_INLINED) continue;
    int op = number_of_op(draft->program, draft->stages[i].tensors);
    int stage = schedule_stage_of_tensor(s, draft->stages[i].tensors);
    if (op < 0 || !is_inlined_by_others(plans, done, op, is_in)) continue;
    runtime_quiet quiet = runtime_quiet_begin(s->ctx);
    (void)schedule_compute_inline(s, stage);
    runtime_quiet_end(&quiet);
  }
}

tn_status schedule_plans_complete(schedule_plans *plans, const bool *done, tn_schedule *s) {
  generic_draft draft = plans->draft;
  bool *is_in = calloc((size_t)s->program->n_ops + 1, sizeof *is_in);
  if (!is_in) return schedule_no_memory(s);
  inline_rest(plans, done, is_in, s);
  free(is_in);
  draft.s = s;
  for (int g = 0; g < plans->groups.n; g++)
    if (!done[g]) schedule_group(&draft, plans->groups.data[g]);
  generic_join_siblings(&draft);
  if (!plans->arena.failed) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
}

/* A generic schedule to be made. */
typedef struct automatic {
  tn_schedule *schedule;
  const tn_machine *machine;
  tn_status status;
} automatic;

enum { AUTO_STACK_BYTES = 1 << 20 }; /* a host's thread may have less */

/* The best plan of each group that is not refused; frees PLANS, NULL where there was no memory. False: no memory, or axes of one element
 * were left out and a step without them is refused. */
static bool schedule_groups(automatic *a, schedule_plans *plans) {
  tn_schedule *s = a->schedule;
  bool was_ok = tn_context_status(s->ctx) == TN_OK;
  a->status = plans ? TN_OK : tn_context_status(s->ctx);
  if (!plans) return false;
  for (int i = 0; i < plans->groups.n; i++) schedule_group(&plans->draft, plans->groups.data[i]);
  generic_join_siblings(&plans->draft);
  /* Out of memory in a trial is no refusal: another schedule would come out. */
  if (plans->arena.failed) runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
  tn_schedule *made = plans->whole ? generic_with_ones(plans->whole, plans->draft.s) : plans->draft.s;
  if (was_ok) a->status = tn_context_status(s->ctx);
  bool is_made = a->status == TN_OK && made;
  if (is_made) schedule_swap_contents(s, made);
  if (plans->whole) tn_schedule_free(made);
  schedule_plans_free(plans);
  return is_made;
}

/* Runs on a stack that is known to be large enough. */
static void schedule_here(void *data) {
  automatic *a = data;
  schedule_plans *without = plan_without_ones(a->schedule->program, a->machine);
  if (without && (schedule_groups(a, without) || a->status != TN_OK)) return;
  schedule_groups(a, plan_program(a->schedule->program, a->machine));
}

/* The draft takes the schedule's place at the end. */
tn_status tn_schedule_auto(tn_schedule *s, const tn_machine *machine) {
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(te_check_no_symbols(s->program, "auto"));
  if (s->n_steps > 0)
    return runtime_fail(
        s->ctx, TN_ERROR_SCHEDULE,
        "auto: the schedule has %d steps already: make a generic schedule from a new one, and go on from "
        "there",
        s->n_steps);
  automatic a = {.schedule = s, .machine = machine};
  if (runtime_with_stack(AUTO_STACK_BYTES, schedule_here, &a)) return a.status;
  return runtime_fail(s->ctx, TN_ERROR_MEMORY, "auto: no thread with the stack that it needs");
}

/* ---- one stage --------------------------------------------------------------------------------------------------- */

/* Whether the group has what an operator's schedule works on. */
static bool suits(const generic_draft *p, const generic_group *g, operator_kind kind) {
  const schedule_family *family = family_of(kind, g);
  bool reduces = p->s->stages[generic_stage(p, g->root)].op->n_reduce > 0;
  if (family == &schedule_family_tile) return g->anchor != NULL;
  if (kind == OPERATOR_SOFTMAX || kind == OPERATOR_NORMALIZATION) return g->n > 0;
  return family == &schedule_family_reduce ? reduces : !reduces;
}

/* Elementwise and simple reductions are schedules of one stage. */
static void leave_alone(const generic_draft *p, generic_group *g, operator_kind kind) {
  if (kind == OPERATOR_SOFTMAX || kind == OPERATOR_NORMALIZATION || family_of(kind, g) == &schedule_family_tile) return;
  form_alone(p, g->root, g);
}

static tn_status refuse_operator(generic_draft *p, int stage, const char *call, operator_kind found, int kind) {
  return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE, "%s: %s is %s, not %s: %s; leave the operator out, or name that",
                      call, schedule_stage_name(&p->s->stages[stage]), operators[found].name, operators[kind].name,
                      operators[kind].what);
}

/* NAME NULL: as recognised. */
static tn_status schedule_stage_as(generic_draft *p, int stage, const char *call, const char *name) {
  char names[256];
  int kind = RUNTIME_FIND(operators, name);
  if (name && kind < 0)
    return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE, "%s: there is no such operator: %s", call,
                        operator_names(names, sizeof names));
  SCHEDULE_TRY(schedule_check_stage(&(schedule_call){.s = p->s, .words = call}, stage));
  if (!generic_is_untouched(p, stage))
    return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s already has a schedule, which would be lost: call it before other primitives on %s",
                        call, schedule_stage_name(&p->s->stages[stage]), schedule_stage_name(&p->s->stages[stage]));
  planned_group *pg = RUNTIME_NEW(p->arena, planned_group);
  if (!pg) return runtime_fail(p->s->ctx, TN_ERROR_MEMORY, "out of memory for a generic schedule");
  generic_form_group(p, stage, NULL, &pg->group);
  operator_kind found = kind_of(p, &pg->group);
  bool is_named = kind >= 0 && (operator_kind)kind != found;
  pg->kind = kind >= 0 ? (operator_kind)kind : found;
  if (kind >= 0 && !suits(p, &pg->group, pg->kind)) return refuse_operator(p, stage, call, found, kind);
  if (is_named && family_of(pg->kind, &pg->group) != family_of(found, &pg->group)) leave_alone(p, &pg->group, pg->kind);
  rank_plans(p, pg, is_named ? family_of(pg->kind, &pg->group) : NULL);
  schedule_group(p, pg);
  return TN_OK;
}

/* *STAGE is its position. */
static tn_status find_computed(tn_schedule *s, const char *call, const char *name, int *stage) {
  *stage = name ? schedule_find_stage(s, name) : -1;
  if (*stage >= 0 && generic_is_computed(&s->stages[*stage])) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: %s: name a stage that is computed, and not inlined", call,
                      *stage < 0 ? "there is no such stage" : "it has no loops");
}

/* Other stages stay as they are. */
tn_status tn_schedule_generic(tn_schedule *s, const char *stage, const char *operator_name, const tn_machine *machine) {
  char call[256];
  int at;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(te_check_no_symbols(s->program, "generic"));
  snprintf(call, sizeof call, "generic(%s%s%s)", stage ? stage : "", operator_name ? ", " : "",
           operator_name ? operator_name : "");
  SCHEDULE_TRY(find_computed(s, call, stage, &at));
  runtime_arena arena = {0};
  generic_draft p = {.s = s, .machine = cost_fill_machine(machine), .arena = &arena};
  tn_status status = schedule_stage_as(&p, at, call, operator_name);
  runtime_arena_free(&arena);
  return status;
}

const char *tn_schedule_operator(tn_schedule *s, const char *stage) {
  int at;
  generic_group g;
  runtime_arena arena = {0};
  if (!s || find_computed(s, "operator", stage, &at) != TN_OK) return NULL;
  generic_draft p = {.s = s, .machine = cost_fill_machine(NULL), .arena = &arena};
  generic_form_group(&p, at, NULL, &g);
  operator_kind kind = kind_of(&p, &g);
  runtime_arena_free(&arena);
  return operators[kind].name;
}
