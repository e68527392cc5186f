/* foresee.c: what is known of a candidate before it is measured: the features of its loops and its analytic cost, which
 * the cost model corrects; and which candidates are not worth a compilation. */
#include <math.h>

#include "autotune/lesson.h"
#include "schedule/cost.h"

/* What computes so many times the least work is not the fastest, however its loops stand. */
#define MOST_WORK 4.0
/* An estimate of loops leaves out much of what a plan's cost knows (sets of caches, pages, tails): it is taken for so much
 * too low, and nothing that is only estimated comes before `auto`. */
#define DOUBT 2.0
/* Of vector instructions of straight-line code: of twice as many LLVM made about a second, when a usual candidate took 15 ms. With half
 * as many the best of small products, whose reductions are unrolled whole, would be lost. */
#define MOST_STATEMENTS 4096.0
/* Of four candidates of examples/cortex_m for riscv32, 40 to 312 KB of mostly straight-line code: 8.4 to 10.1 bytes. */
#define BYTES_OF_INSTRUCTION 8.0
/* A time-out of less code comes from something else. */
#define LEAST_TOO_MANY 512.0

tn_schedule *autotune_genome_schedule(const autotune_space *space, const autotune_genome *genome) {
  return genome->sketch == AUTOTUNE_PLANNED ? autotune_planned_schedule(space, genome)
                                            : autotune_sketch_schedule(space, genome);
}

double autotune_genome_cost(const autotune_space *space, const autotune_genome *genome) {
  schedule_plan by_group[AUTOTUNE_MAX_GROUPS];
  if (genome->sketch != AUTOTUNE_PLANNED) return 0;
  autotune_genome_plans(space, genome, by_group);
  double ns = schedule_plans_cost(space->plans, by_group);
  return isinf(ns) ? ns : ns * lessons_factor(&space->lessons, space->plans, by_group);
}

/* 0: it cannot be lowered, or writes nothing. ROWS has room for AUTOTUNE_MAX_ROWS; ARENA is empty
 * afterwards, so the loops are gone. */
static int look_at(const autotune_space *space, const tn_schedule *s, runtime_arena *arena, float *rows,
                   autotune_estimate *estimate) {
  runtime_quiet quiet = runtime_quiet_begin(space->task->ctx);
  tir_func *f = schedule_lower(s, "kernel", arena);
  int n = f ? autotune_features(f, space->task->cache_line_bytes, &space->machine, rows, estimate) : 0;
  runtime_quiet_end(&quiet);
  runtime_arena_reset(arena);
  if (n < 0) runtime_fail(space->task->ctx, TN_ERROR_MEMORY, "out of memory for the features of a candidate");
  return n < 0 ? 0 : n;
}

/* Without a plan's cost the loops' own estimate stands in, brought to the plans' scale, doubled (DOUBT), on top of the cost
 * of `auto`: the order among such candidates stays, and plans that are nearly as good as `auto` come first. */
int autotune_schedule_rows(const autotune_space *space, const tn_schedule *s, double cost_ns, runtime_arena *arena,
                           float *rows, autotune_estimate *estimate) {
  autotune_estimate own = {0};
  if (!estimate) estimate = &own;
  int n = look_at(space, s, arena, rows, estimate);
  bool is_known = cost_ns > 0 && isfinite(cost_ns);
  if (!is_known) cost_ns = space->auto_ns + DOUBT * space->scale * estimate->ns;
  if (n > 0) autotune_rows_set_cost(n, rows, estimate, cost_ns, space->auto_ns);
  return n;
}

static bool fits_flash(const autotune_space *space, const autotune_estimate *estimate) {
  double instructions = space->is_in_words ? estimate->words : estimate->code;
  return space->flash_bytes == 0 || BYTES_OF_INSTRUCTION * instructions <= space->flash_bytes;
}

bool autotune_is_promising(const autotune_space *space, const autotune_estimate *estimate) {
  bool is_too_much = space->least_work > 0 && estimate->work > MOST_WORK * space->least_work;
  bool is_too_long = space->too_many > 0 && estimate->statements >= space->too_many;
  return !is_too_much && !is_too_long && estimate->statements <= MOST_STATEMENTS && fits_flash(space, estimate);
}

void autotune_learn_too_many(autotune_space *space, double statements) {
  if (space->too_many > 0 && space->too_many < statements) return;
  space->too_many = fmax(fmax(statements, LEAST_TOO_MANY), 2 * space->statements);
}

/* The best plan of every family that has one, the other groups as in `auto`: who computes least. */
static void find_least_work(autotune_space *space, runtime_arena *arena, float *rows) {
  for (int i = 0; i < space->ranked.n; i++) {
    autotune_genome genome = space->best;
    const autotune_ranked *ranked = &space->ranked.data[i];
    autotune_estimate estimate;
    autotune_plan_put(&genome, ranked->group, &ranked->plans[0]);
    tn_schedule *s = autotune_planned_schedule(space, &genome);
    if (s && look_at(space, s, arena, rows, &estimate) > 0 && estimate.work < space->least_work)
      space->least_work = estimate.work;
    tn_schedule_free(s);
  }
}

/* Fills what candidates are compared with: lowers `auto` and the best plan of each family once, when the search begins. */
static void foresee(autotune_space *space) {
  float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  runtime_arena arena = {0};
  autotune_estimate estimate;
  const tn_machine machine = autotune_machine(space->task);
  space->machine = cost_fill_machine(&machine);
  space->flash_bytes = (double)tn_target_flash_bytes(space->task->target);
  space->is_in_words = !tn_target_has_vectors(space->task->target);
  tn_schedule *s =
      space->n_groups > 0 ? autotune_planned_schedule(space, &space->best) : autotune_generic_schedule(space->task);
  space->scale = 1;
  if (s && look_at(space, s, &arena, rows, &estimate) > 0 && estimate.ns > 0) {
    double cost_ns = space->n_groups > 0 ? autotune_genome_cost(space, &space->best) : 0;
    bool is_known = cost_ns > 0 && isfinite(cost_ns);
    space->auto_ns = is_known ? cost_ns : estimate.ns;
    space->scale = space->auto_ns / estimate.ns;
    space->least_work = estimate.work;
    space->statements = estimate.statements;
    find_least_work(space, &arena, rows);
  }
  tn_schedule_free(s);
  runtime_arena_free(&arena);
}

/* The order counts: what candidates are compared with is made from the plans. */
bool autotune_space_fill(autotune_space *space) {
  space->n_sketches = autotune_sketches(space->task, AUTOTUNE_MAX_SKETCHES, space->sketches);
  if (space->n_sketches < 1 || !autotune_plan_space(space)) return false;
  foresee(space);
  return true;
}

void autotune_space_release(autotune_space *space) {
  for (int i = 0; i < space->n_sketches; i++) tn_schedule_free(space->sketches[i].base);
  RUNTIME_VEC_FREE(&space->ranked);
  lessons_release(&space->lessons);
  schedule_plans_free(space->plans);
}
