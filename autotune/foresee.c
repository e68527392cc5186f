/* foresee.c: what is known of a candidate before it is measured: the features of its loops and its analytic
 * cost, which the cost model corrects. It also decides which candidates are not worth compiling. */
#include <math.h>

#include "autotune/lesson.h"
#include "schedule/cost.h"

/* A candidate that computes more than this many times the least work is not the fastest, whatever its loops. */
#define MOST_WORK 4.0
/* An estimate of loops leaves out much that a plan's cost includes (cache sets, pages, tails). So it is
 * taken to be too low by this factor, and nothing that is only estimated is ranked before `auto`. */
#define DOUBT 2.0
/* The most vector instructions of straight-line code. For twice as many LLVM took about a second, when a
 * usual candidate took 15 ms. With half as many the best candidates of small products, whose reductions are
 * fully unrolled, would be lost. */
#define MOST_STATEMENTS 4096.0
/* Bytes of an instruction, for the size of code. Measured on four candidates of examples/cortex_m for
 * riscv32, 40 to 312 KB of mostly straight-line code: 8.4 to 10.1 bytes. */
#define BYTES_OF_INSTRUCTION 8.0
/* A time-out of less code than this has another cause. */
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

/* Lowers a schedule and computes its rows. 0: it cannot be lowered, or writes nothing. ROWS has room for
 * AUTOTUNE_MAX_ROWS. The arena is emptied, so the loops are gone. */
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

/* Without a plan's cost the loops' own estimate is used: scaled to the plans' costs, doubled (DOUBT), and
 * added to the cost of `auto`. That keeps the order among such candidates, and puts plans that are nearly
 * as good as `auto` first. */
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

/* Whether the code is small enough for the target's flash memory, as far as can be told. */
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

/* Finds the least work: looks at the best plan of every family that has one, with the other groups as in `auto`. */
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

/* Fills in what candidates are compared with, by lowering `auto` and the best plan of each family once when
 * the search begins. */
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

/* The order matters: what candidates are compared with is made from the plans. */
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
