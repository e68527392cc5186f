/* lesson.c: what records of similar programs teach. For each of their plans two things are known: its
 * measured time and its analytic cost. The logarithm of their ratio is split into parts: one for each
 * neighbour (its machine was busy, its sizes are unlucky), each family, each value of a field, and the
 * innermost loops (the first fields together). This is done by least squares with a penalty on parts that
 * few records tell of. The parts that are not a neighbour's own correct the costs of this program's plans.
 * Ansor instead trains its cost model on all records; that model then has to learn the costs themselves.
 *
 * Everything is computed once, before the search proposes anything, and the same records give the same
 * numbers. */
#include <math.h>

#include "autotune/lesson.h"

/* Fields of a plan that describe its innermost loops, and rounds of the solver. */
enum { KERNEL_FIELDS = 4, ROUNDS = 60 };
/* Each part counts as if it had been seen so often with nothing to tell. A neighbour's own part has nearly
 * no penalty. */
static const double usual_penalty = 2, own_penalty = 0.01;
/* A record's weight depends on how similar its program is, and on how close it is to the fastest record of it. */
static const double least_weight = 0.1, far = 4;
/* Corrections are at most this factor either way, as a logarithm. */
static const double most_log = 1.1;
/* How far the lessons of a single neighbour are believed. */
static const double trust_of_one = 0.5;

/* A record of a neighbour: its log ratio is explained as the sum of its parts. */
typedef struct example {
  double log_ratio, weight;
  int neighbour;
  int first_part; /* its parts are [first_part, the next example's first_part) */
} example;

/* The data of the fit. Freed when the lessons are learned. */
typedef struct fitting {
  runtime_map *places; /* number of each part, plus one; 0: it is new */
  RUNTIME_VEC(double) penalty;
  RUNTIME_VEC(int) parts;
  RUNTIME_VEC(example) examples;
  bool failed; /* no memory */
} fitting;

/* ---- parts of a plan ------------------------------------------------------------------------------------------------ */

/* What a part stands for. */
enum part_kind { PART_NEIGHBOUR, PART_FAMILY, PART_VALUE, PART_KERNEL };

/* The identity of a part, a hash that is never 0. */
static uint64_t part_of(enum part_kind kind, int group, int family, int field, int32_t value) {
  const int32_t all[] = {(int32_t)kind, group, family, field, value};
  return runtime_hash(all, sizeof all, 3) | 1;
}

/* The part of the innermost loops: the family and its first fields. */
static uint64_t kernel_of(int group, const schedule_plan *plan) {
  int32_t all[KERNEL_FIELDS + 2] = {group, plan->family};
  memcpy(all + 2, plan->value, KERNEL_FIELDS * sizeof *all);
  return runtime_hash(all, sizeof all, 4) | 1;
}

/* The parts of one group's plan; returns how many, at most PLAN_MAX_FIELDS + 2. */
static int parts_of(int group, const schedule_plan *plan, uint64_t *out) {
  int n = 0;
  if (plan->family < 0) return 0;
  out[n++] = part_of(PART_FAMILY, group, plan->family, 0, 0);
  for (int f = 0; f < schedule_family_at(plan->family)->n_fields; f++)
    out[n++] = part_of(PART_VALUE, group, plan->family, f, plan->value[f]);
  out[n++] = kernel_of(group, plan);
  return n;
}

/* ---- examples ------------------------------------------------------------------------------------------------------- */

/* Adds a part to the last example, and numbers it if it is new. */
static void add_part(fitting *f, uint64_t part, double penalty) {
  runtime_map_value *place = runtime_map_at(f->places, part);
  bool ok = place != NULL;
  if (ok && place->i == 0) {
    ok = RUNTIME_PUSH(&f->penalty, penalty);
    place->i = f->penalty.n;
  }
  f->failed |= !ok || !RUNTIME_PUSH(&f->parts, (int)place->i - 1);
}

/* Adds one record of a neighbour with all its parts. */
static void add_example(fitting *f, int neighbour, int n_groups, const schedule_plan *by_group, double log_ratio,
                        double weight) {
  uint64_t parts[PLAN_MAX_FIELDS + 2];
  f->failed |= !RUNTIME_PUSH(&f->examples, ((example){log_ratio, weight, neighbour, f->parts.n}));
  add_part(f, part_of(PART_NEIGHBOUR, neighbour, 0, 0, 0), own_penalty);
  for (int g = 0; g < n_groups; g++) {
    int n = parts_of(g, &by_group[g], parts);
    for (int i = 0; i < n; i++) add_part(f, parts[i], usual_penalty);
  }
}

/* Adds a neighbour's records as examples. Plans that no longer fit its program are left out. */
static void add_trials(fitting *f, int number, const autotune_neighbour *near, const schedule_plans *plans,
                       int n_groups) {
  schedule_plan by_group[AUTOTUNE_MAX_GROUPS];
  double nearness = far / (far + near->distance);
  for (int i = 0; i < near->n_trials && !f->failed; i++) {
    const struct autotune_known *known = &near->trials[i];
    if (schedule_plans_decode(plans, known->plan, by_group) != TN_OK) continue;
    double ns = schedule_plans_cost(plans, by_group);
    if (!(ns > 0) || isinf(ns)) continue;
    double speed = near->trials[0].cost_s / known->cost_s;
    add_example(f, number, n_groups, by_group, log(known->cost_s * 1e9 / ns),
                nearness * fmax(speed * speed, least_weight));
  }
}

/* The neighbour's program is parsed in a context of its own, which is freed afterwards. */
static void add_neighbour(fitting *f, const autotune_space *space, int number, const autotune_neighbour *near) {
  tn_context *ctx = near->n_trials > 0 ? tn_context_new(NULL) : NULL;
  runtime_quiet quiet = {0};
  if (!ctx) return;
  quiet = runtime_quiet_begin(ctx);
  tn_program *program = tn_program_parse(ctx, near->program, 0, NULL);
  const tn_target *target = program && near->is_other_machine ? tn_target_new(ctx, near->target) : NULL;
  const tn_machine machine = target ? tn_target_machine(target) : space->machine;
  schedule_plans *plans = program ? schedule_plans_new(program, &machine) : NULL;
  if (plans && schedule_plans_count(plans) == space->n_groups) add_trials(f, number, near, plans, space->n_groups);
  schedule_plans_free(plans);
  runtime_quiet_end(&quiet);
  tn_context_free(ctx);
}

/* ---- least squares -------------------------------------------------------------------------------------------------- */

/* The end of example I's parts. */
static int end_part(const fitting *f, int i) {
  return i + 1 < f->examples.n ? f->examples.data[i + 1].first_part : f->parts.n;
}

/* What the parts say about example I: a logarithm of measured over analytic time. */
static double sum_parts(const fitting *f, int i, const double *part) {
  double sum = 0;
  for (int k = f->examples.data[i].first_part; k < end_part(f, i); k++) sum += part[f->parts.data[k]];
  return sum;
}

/* The example's weight; 0 if its neighbour is left out. */
static double weight_of(const fitting *f, int i, int left_out) {
  return f->examples.data[i].neighbour == left_out ? 0 : f->examples.data[i].weight;
}

/* OUT = (A' W A + penalties) X, where row i of A marks the parts of example i. */
static void multiply(const fitting *f, int left_out, const double *x, double *out) {
  for (int k = 0; k < f->penalty.n; k++) out[k] = f->penalty.data[k] * x[k];
  for (int i = 0; i < f->examples.n; i++) {
    double weighted = weight_of(f, i, left_out) * sum_parts(f, i, x);
    for (int k = f->examples.data[i].first_part; k < end_part(f, i); k++) out[f->parts.data[k]] += weighted;
  }
}

static double dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Solves for the parts by conjugate gradients. X has room for four times the parts and begins with the solution. */
static void solve(const fitting *f, int left_out, double *x) {
  int n = f->penalty.n;
  double *rest = x + n, *way = rest + n, *product = way + n;
  for (int k = 0; k < n; k++) x[k] = rest[k] = 0;
  for (int i = 0; i < f->examples.n; i++) {
    double weighted = weight_of(f, i, left_out) * f->examples.data[i].log_ratio;
    for (int k = f->examples.data[i].first_part; k < end_part(f, i); k++) rest[f->parts.data[k]] += weighted;
  }
  memcpy(way, rest, sizeof *way * (size_t)n);
  double left = dot(n, rest, rest), first = left;
  for (int round = 0; round < ROUNDS && left > 1e-12 * first; round++) {
    multiply(f, left_out, way, product);
    double step = left / dot(n, way, product), before = left;
    for (int k = 0; k < n; k++) x[k] += step * way[k], rest[k] -= step * product[k];
    left = dot(n, rest, rest);
    for (int k = 0; k < n; k++) way[k] = rest[k] + left / before * way[k];
  }
}

/* Weighted sums over the examples of one neighbour: of what was said about them, and of what they were. */
typedef struct moments {
  double weight, said, was, said_said, said_was;
} moments;

/* Adds what the other neighbours say about a neighbour's plans, and what those really took. */
static void add_moments(const fitting *f, int neighbour, const double *part, moments *all) {
  moments m = {0};
  for (int i = 0; i < f->examples.n; i++) {
    const example *e = &f->examples.data[i];
    if (e->neighbour != neighbour) continue;
    double said = sum_parts(f, i, part) - part[f->parts.data[e->first_part]];
    m.weight += e->weight;
    m.said += e->weight * said;
    m.was += e->weight * e->log_ratio;
    m.said_said += e->weight * said * said;
    m.said_was += e->weight * said * e->log_ratio;
  }
  if (m.weight <= 0) return;
  all->said_said += m.said_said - m.said * m.said / m.weight;
  all->said_was += m.said_was - m.said * m.was / m.weight;
}

/* How far neighbours are right about each other, from 0 to 1: each is left out in turn. If there is only
 * one, it is half believed. */
static double trust(const fitting *f, int n_neighbours, double *x) {
  moments all = {0};
  int n_heard = 0;
  for (int k = 0; k < n_neighbours; k++) {
    bool is_heard = false;
    for (int i = 0; i < f->examples.n; i++) is_heard |= f->examples.data[i].neighbour == k;
    if (!is_heard) continue;
    n_heard++;
    solve(f, k, x);
    add_moments(f, k, x, &all);
  }
  if (n_heard < 2) return trust_of_one;
  return all.said_said > 0 ? fmin(fmax(all.said_was / all.said_said, 0), 1) : 0;
}

/* ---- values that no neighbour had -------------------------------------------------------------------------------- */

/* NULL: the part was not seen. */
static const double *find_part(const autotune_lessons *l, uint64_t part) {
  const runtime_map_value *place = runtime_map_find(&l->places, part);
  return place ? &l->part[place->i - 1] : NULL;
}

/* How far two values of a field are apart, in factors of two. */
static double log_distance(int32_t a, int32_t b) { return fabs(log2(abs(a) + 1.0) - log2(abs(b) + 1.0)); }

/* The part of a value; if it was not seen, that of the nearest value that was. */
static double value_part(const autotune_lessons *l, const plan_choice *choice, int group, int field, int32_t value) {
  const double *known = find_part(l, part_of(PART_VALUE, group, choice->family, field, value));
  double nearest = 1;
  if (known) return *known;
  double part = 0;
  for (int i = 0; i < choice->space.n[field]; i++) {
    int32_t other = choice->space.value[field][i];
    known = find_part(l, part_of(PART_VALUE, group, choice->family, field, other));
    if (!known || log_distance(value, other) > nearest) continue;
    nearest = log_distance(value, other);
    part = *known;
  }
  return part;
}

/* The sum of the parts of one group's plan. */
static double group_part(const autotune_lessons *l, const plan_choices *choices, int group, const schedule_plan *plan) {
  double sum = 0;
  for (int c = 0; c < choices->n; c++) {
    const plan_choice *choice = &choices->choices[c];
    if (choice->family != plan->family) continue;
    const double *family = find_part(l, part_of(PART_FAMILY, group, plan->family, 0, 0)), *kernel;
    for (int f = 0; f < schedule_family_at(plan->family)->n_fields; f++)
      sum += value_part(l, choice, group, f, plan->value[f]);
    kernel = find_part(l, kernel_of(group, plan));
    sum += (family ? *family : 0) + (kernel ? *kernel : 0);
  }
  return sum;
}

/* The logarithm of the correction of all groups' plans together. */
static double log_of(const autotune_lessons *l, const schedule_plans *plans, const schedule_plan *by_group) {
  double sum = 0;
  for (int g = 0; g < schedule_plans_count(plans); g++)
    sum += group_part(l, schedule_plans_choices(plans, g), g, &by_group[g]);
  return sum;
}

/* ---- what is asked --------------------------------------------------------------------------------------------------- */

double lessons_factor(const autotune_lessons *l, const schedule_plans *plans, const schedule_plan *by_group) {
  if (!l->part || l->is_off) return 1;
  double correction = l->trust * (log_of(l, plans, by_group) - l->of_auto);
  return exp(fmin(fmax(correction, -most_log), most_log));
}

void lessons_release(autotune_lessons *l) {
  free(l->part);
  runtime_map_free(&l->places);
  *l = (autotune_lessons){0};
}

bool lessons_learn(autotune_space *space, int n, const autotune_neighbour *near) {
  autotune_lessons l = {0};
  fitting f = {.places = &l.places};
  for (int i = 0; i < n && !f.failed; i++) add_neighbour(&f, space, i, &near[i]);
  l.part = !f.failed && f.examples.n > 0 ? malloc(sizeof *l.part * 4 * (size_t)f.penalty.n) : NULL;
  bool has_memory = !f.failed && (f.examples.n == 0 || l.part);
  if (l.part) {
    schedule_plan best[AUTOTUNE_MAX_GROUPS];
    l.trust = trust(&f, n, l.part);
    solve(&f, -1, l.part);
    autotune_genome_plans(space, &space->best, best);
    l.of_auto = log_of(&l, space->plans, best);
    lessons_release(&space->lessons);
    space->lessons = l;
  } else {
    lessons_release(&l);
  }
  RUNTIME_VEC_FREE(&f.penalty);
  RUNTIME_VEC_FREE(&f.parts);
  RUNTIME_VEC_FREE(&f.examples);
  return has_memory;
}
