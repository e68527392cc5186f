/* race.c: what the analytic cost says of plans beside what they take: the best-ranked plans of a program's dearest group,
 * and random ones, are built and timed in turns on one thread or more. It shows whether the ranking is at fault where a
 * program is slow, or the space of plans, or the code. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autotune/search.h"
#include "benchmarks/plans/plans.h"

/* The most plans in a race, the most arguments, and draws until a random plan counts as not found. */
enum { MAX_RACERS = 256, MAX_ARGS = 16, DRAWS = 200 };
/* Seconds of calls that each plan gets in a turn. */
#define TURN_S 2e-3
#define WORTH 6 /* times the least cost: a random plan beyond it is not built */

/* One plan that could be built, and the least mean time of a call in any turn. */
typedef struct racer {
  int rank; /* -1: drawn at random */
  schedule_plan plan;
  tn_kernel *kernel;
  double least_s;
} racer;

/* The plans of one group of a program; all run on the same arrays. */
typedef struct race {
  tn_context *ctx;
  autotune_task task;
  autotune_space space;
  int group; /* the dearest */
  int n_args, n;
  DLTensor *args[MAX_ARGS];
  racer racers[MAX_RACERS];
} race;

static bool make_arrays(race *r) {
  const tn_program *program = r->task.program;
  r->n_args = tn_program_arg_count(program);
  for (int i = 0; i < r->n_args && i < MAX_ARGS; i++) {
    const tn_tensor *t = tn_program_arg(program, i);
    r->args[i] = tn_array_new(r->ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    if (!r->args[i] || tn_array_fill(r->ctx, r->args[i], 1 + (uint64_t)i) != TN_OK) return false;
  }
  return r->n_args <= MAX_ARGS;
}

/* Adds a plan to the race if it can be built and called. A refusal is silent. */
static void enter(race *r, int rank, const schedule_plan *plan) {
  autotune_genome genome = r->space.best;
  racer *next = &r->racers[r->n];
  tn_build_options options = {.target = r->task.target};
  if (r->n == MAX_RACERS) return;
  autotune_plan_put(&genome, r->group, plan);
  runtime_quiet quiet = runtime_quiet_begin(r->ctx);
  tn_schedule *s = autotune_genome_schedule(&r->space, &genome);
  tn_kernel *kernel = s ? tn_build(s, &options) : NULL;
  bool ok = kernel && tn_call(r->ctx, kernel, r->args, r->n_args) == TN_OK;
  runtime_quiet_end(&quiet);
  tn_schedule_free(s);
  if (!ok) return tn_kernel_free(kernel);
  *next = (racer){.rank = rank, .plan = *plan, .kernel = kernel, .least_s = INFINITY};
  r->n++;
}

/* A plan with any value in each field, of a cost that is not hopeless. */
static bool draw(race *r, runtime_rng *rng, double least_ns, schedule_plan *out) {
  const plan_choices *choices = schedule_plans_choices(r->space.plans, r->group);
  for (int i = 0; i < DRAWS; i++) {
    const plan_choice *choice = &choices->choices[runtime_random_below(rng, choices->n)];
    *out = (schedule_plan){.family = choice->family};
    for (int f = 0; f < schedule_family_at(choice->family)->n_fields; f++)
      out->value[f] = choice->space.value[f][runtime_random_below(rng, choice->space.n[f])];
    out->ns = schedule_plan_cost(choices, out);
    if (out->ns <= WORTH * least_ns) return true;
  }
  return false;
}

/* Writes other values into PLAN: "vectors=2,rows=8". False: a word names no field of the family. */
static bool change(const char *text, schedule_plan *plan) {
  const schedule_family *family = schedule_family_at(plan->family);
  char name[32];
  int value, end;
  for (; sscanf(text, "%31[a-z0-9_]=%d%n", name, &value, &end) == 2; text += end + (text[end] == ',')) {
    int field = 0;
    while (field < family->n_fields && strcmp(family->fields[field].name, name) != 0) field++;
    if (field == family->n_fields) return false;
    plan->value[field] = value;
  }
  return *text == '\0';
}

/* Adds the best-ranked plan with the values of TEXT; a line on standard error when it is refused. False: TEXT
 * names no field. */
static bool enter_changed(race *r, const schedule_plan *best, const char *text) {
  schedule_plan plan = *best;
  if (!change(text, &plan)) return fprintf(stderr, "tenon-plans: no such values: %s\n", text), false;
  plan.ns = schedule_plan_cost(schedule_plans_choices(r->space.plans, r->group), &plan);
  int before = r->n;
  enter(r, -1, &plan);
  if (r->n == before) fprintf(stderr, "tenon-plans: refused: %s\n", text);
  return true;
}

/* Enters the N_BEST plans with the least analytic cost, and N_RANDOM random ones to compare them with. */
static void enter_all(race *r, int n_best, int n_random) {
  const schedule_plan *ranked;
  schedule_plan plan;
  runtime_rng rng = {.state = 1};
  int n = schedule_plans_ranked(r->space.plans, r->group, &ranked);
  for (int i = 0; i < n && i < n_best; i++) enter(r, i, &ranked[i]);
  for (int i = 0; n > 0 && i < n_random; i++)
    if (draw(r, &rng, ranked[0].ns, &plan)) enter(r, -1, &plan);
}

/* Calls a kernel for TURN_S and keeps the mean of a call if it is the least. */
static void take_turn(race *r, racer *of) {
  int n = 0;
  double start = plans_now_s(r->task.threads), end = start;
  for (; end - start < TURN_S; n++, end = plans_now_s(r->task.threads))
    (void)tn_call(r->ctx, of->kernel, r->args, r->n_args);
  of->least_s = fmin(of->least_s, (end - start) / n);
}

static int by_time(const void *a, const void *b) {
  double x = ((const racer *)a)->least_s, y = ((const racer *)b)->least_s;
  return (x > y) - (x < y);
}

/* GENOME's schedule as text, as `tenon bench -s` takes it. */
static void print_schedule(const race *r, const autotune_genome *genome) {
  tn_schedule *s = autotune_genome_schedule(&r->space, genome);
  char *text = s ? tn_schedule_print(s, TN_FORM_TEXT) : NULL;
  printf("%s\n", text ? text : "");
  free(text);
  tn_schedule_free(s);
}

/* The fastest first: time, cost, rank, plan; of the first N_SCHEDULES the schedule, too. */
static void print(const race *r, int n_schedules) {
  for (int i = 0; i < r->n; i++) {
    const racer *x = &r->racers[i];
    autotune_genome genome = r->space.best;
    autotune_plan_put(&genome, r->group, &x->plan);
    char *text = autotune_genome_text(&r->space, &genome), rank[16] = "random";
    if (x->rank >= 0) snprintf(rank, sizeof rank, "%d", x->rank);
    printf("%10.2f us  cost %10.2f us  rank %-6s  %s\n", x->least_s * 1e6, x->plan.ns * 1e-3, rank, text ? text : "");
    free(text);
    if (i < n_schedules) print_schedule(r, &genome);
  }
}

/* The group whose best plan costs most: where a better plan would gain most. */
static int dearest_group(const race *r) {
  int dearest = 0;
  double most = -1;
  for (int g = 0; g < r->space.n_groups; g++) {
    const schedule_plan *ranked;
    int n = schedule_plans_ranked(r->space.plans, g, &ranked);
    if (n > 0 && ranked[0].ns > most) dearest = g, most = ranked[0].ns;
  }
  return dearest;
}

/* False: the program or the target was refused, or no group has plans; the message is in R's context. */
static bool open_race(race *r, const char *text, const char *spec, int threads) {
  r->ctx = tn_context_new(NULL);
  tn_program *program = tn_program_parse(r->ctx, text, 0, NULL);
  tn_target *target = tn_target_new(r->ctx, spec);
  if (!program || !target) return false;
  if (!*tn_target_costs(target)) {
    const char *costs = tn_measure_costs(r->ctx);
    if (!costs || tn_target_set_costs(target, costs) != TN_OK) return false;
  }
  r->task = (autotune_task){.ctx = r->ctx,
                            .program = program,
                            .target = target,
                            .threads = threads,
                            .vector_bytes = tn_target_vector_bytes(target),
                            .cache_line_bytes = 64};
  r->space.task = &r->task;
  return autotune_space_fill(&r->space) && r->space.n_groups > 0 && make_arrays(r);
}

int plans_race(const plans_race_options *options) {
  race *r = calloc(1, sizeof *r);
  bool ok = r && open_race(r, options->program, options->target, options->threads);
  if (ok) {
    r->group = dearest_group(r);
    enter_all(r, options->n_best, options->n_random);
    const schedule_plan *ranked;
    int n = schedule_plans_ranked(r->space.plans, r->group, &ranked);
    for (int i = 0; ok && n > 0 && i < options->n_changed; i++) ok = enter_changed(r, ranked, options->changed[i]);
    for (double end = plans_now_s(r->task.threads) + options->seconds; plans_now_s(r->task.threads) < end;)
      for (int i = 0; i < r->n; i++) take_turn(r, &r->racers[i]);
    qsort(r->racers, (size_t)r->n, sizeof *r->racers, by_time);
    print(r, options->n_schedules);
  } else {
    fprintf(stderr, "tenon-plans: %s\n", r && r->ctx ? tn_context_message(r->ctx) : "out of memory");
  }
  for (int i = 0; r && i < r->n; i++) tn_kernel_free(r->racers[i].kernel);
  for (int i = 0; r && i < r->n_args && i < MAX_ARGS; i++) tn_array_free(r->args[i]);
  if (r) autotune_space_release(&r->space);
  if (r) tn_context_free(r->ctx);
  free(r);
  return !ok;
}
