/* digest.c: hashes of what random plans and sketches of a program become: loops before and after the passes,
 * features, estimates. Two builds that print the same numbers make the same of every candidate. It checks
 * changes that may only make the search faster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autotune/search.h"
#include "benchmarks/plans/plans.h"
#include "tir/ir.h"

/* The task and its space, and a hash for each stage of the way, which every candidate is added to. */
typedef struct digest {
  autotune_task task;
  autotune_space space;
  runtime_rng rng;
  runtime_arena arena;
  int n_lowered;
  uint64_t loops, passed, rows, estimates, hashes;
} digest;

/* Adds the printed loop IR to the hash SEED. F may be NULL: it was refused. */
static uint64_t of_func(const tir_func *f, uint64_t seed) {
  runtime_str text = {0};
  if (!f) return seed;
  tir_print_func(&text, f);
  uint64_t hash = runtime_hash(text.data, text.n, seed);
  runtime_str_free(&text);
  return hash;
}

/* Adds what one schedule becomes at each stage. COST_NS: its plan's analytic cost. */
static void add_schedule(digest *d, const tn_schedule *s, double cost_ns) {
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  autotune_estimate estimate = {0};
  uint64_t hash = autotune_schedule_hash(s);
  d->loops = of_func(schedule_lower(s, "kernel", &d->arena), d->loops);
  runtime_arena_reset(&d->arena);
  d->passed = of_func(schedule_lower_and_optimize(s, "kernel", &d->arena), d->passed);
  runtime_arena_reset(&d->arena);
  int n = autotune_schedule_rows(&d->space, s, cost_ns, &d->arena, rows, &estimate);
  d->n_lowered += n > 0;
  d->rows = runtime_hash(rows, sizeof *rows * (size_t)n * AUTOTUNE_FEATURES, d->rows);
  d->estimates = runtime_hash(&estimate, sizeof estimate, d->estimates);
  d->hashes = runtime_hash(&hash, sizeof hash, d->hashes);
}

/* Adds one candidate. One that a primitive refuses adds its cost and nothing else, so that the digest shows
 * refusals, too. */
static void add_genome(digest *d, const autotune_genome *genome) {
  double cost_ns = autotune_genome_cost(&d->space, genome);
  d->estimates = runtime_hash(&cost_ns, sizeof cost_ns, d->estimates);
  runtime_quiet quiet = runtime_quiet_begin(d->task.ctx);
  tn_schedule *s = autotune_genome_schedule(&d->space, genome);
  if (s) add_schedule(d, s, cost_ns);
  runtime_quiet_end(&quiet);
  tn_schedule_free(s);
}

/* Adds N random candidates; each fourth may be a sketch or a plan, the others are plans (sketches alone where the
 * program has no plans). */
static void draw(digest *d, int n) {
  autotune_genome genome;
  for (int i = 0; i < n; i++) {
    if (i % 4 == 3 || d->space.n_groups == 0)
      autotune_sample(&d->space, &d->rng, &genome);
    else
      autotune_sample_plans(&d->space, &d->rng, &genome);
    add_genome(d, &genome);
  }
}

/* The command `digest`. Costs that TARGET does not give are measured, and a measurement is never the same
 * twice: two calls that shall agree need a target text with costs. */
int plans_digest(const char *text, const char *target_text, int n) {
  tn_context *ctx = tn_context_new(NULL);
  digest *d = calloc(1, sizeof *d);
  tn_program *program = tn_program_parse(ctx, text, 0, NULL);
  const tn_target *target = tn_target_new(ctx, target_text);
  bool ok = d && program && target;
  if (ok) {
    d->task = (autotune_task){.ctx = ctx,
                              .program = program,
                              .target = target,
                              .threads = 1,
                              .vector_bytes = tn_target_vector_bytes(target),
                              .cache_line_bytes = 64};
    d->space.task = &d->task;
    d->rng.state = 1;
    ok = autotune_space_fill(&d->space);
  }
  if (ok) draw(d, n);
  if (ok)
    printf("%d of %d lowered: loops %016llx passed %016llx features %016llx estimates %016llx hashes %016llx\n",
           d->n_lowered, n, (unsigned long long)d->loops, (unsigned long long)d->passed, (unsigned long long)d->rows,
           (unsigned long long)d->estimates, (unsigned long long)d->hashes);
  else
    fprintf(stderr, "tenon-plans: %s\n", ctx ? tn_context_message(ctx) : "out of memory");
  if (d) autotune_space_release(&d->space);
  if (d) runtime_arena_free(&d->arena);
  free(d);
  tn_context_free(ctx);
  return !ok;
}
