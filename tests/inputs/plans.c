/* plans.c: the target plans: what a record says of the choices that its steps were made from. A search goes on from them, so
 * they are decoded, and realized by primitives. */
#include "codegen/codegen.h"
#include "schedule/plan.h"
#include "tests/inputs/inputs.h"

/* Integers: results are the same to the bit. One for each family at least. */
static const char *const programs[] = {
    "input A: i32[48,32], B: i32[32,40]\nC[i<48, j<40] = sum[k<32](A[i,k] * B[k,j])",
    "input A: i32[37,64]\nR[i<37] = sum[k<64](A[i,k])\nM[i<37, k<64] = A[i,k] - R[i]",
    "input A: i32[3000]\nS = sum[k<3000](A[k])",
    "input A: i32[40,33]\nT[i<33, j<40] = A[j,i]",
    "input I: i32[12,13], W: i32[3,3]\nO[h<10, w<11] = sum[r<3, s<3](I[h+r, w+s] * W[r,s])\nP[h<10, w<11] = "
    "max(O[h,w], 0)",
    "input A: i32[24,16], x: i32[16]\ny[i<24] = sum[k<16](A[i,k] * x[k])\nZ[i<24] = y[i] + y[23-i]",
};

enum { N_PROGRAMS = sizeof programs / sizeof *programs, USES = 512, SEEDS = 6, MOST_GROUPS = 64 };

/* The groups of a program, ranked once for many inputs. */
typedef struct ranked {
  tn_context *ctx;
  schedule_plans *plans;
  int uses;
} ranked;

static void forget(ranked *r) {
  schedule_plans_free(r->plans);
  tn_context_free(r->ctx);
  *r = (ranked){0};
}

/* Of the process; a context is made anew now and then, since what it keeps adds up. */
static ranked *groups_of(int which) {
  static ranked all[N_PROGRAMS];
  ranked *r = &all[which];
  if (r->uses == USES) forget(r);
  if (!r->ctx) {
    r->ctx = tn_context_new(NULL);
    tn_program *program = tn_program_parse(r->ctx, programs[which], 0, NULL);
    const tn_target *target = tn_target_new(r->ctx, "threads=2");
    const tn_machine machine = tn_target_machine(target);
    r->plans = schedule_plans_new(program, &machine);
    if (!r->plans) inputs_broken("no plans: %s", tn_context_message(r->ctx));
  }
  r->uses++;
  tn_context_clear(r->ctx);
  return r;
}

/* The first byte says which program. */
static void add(inputs_corpus *corpus, int which, const char *plan) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%c%s", '0' + which, plan);
  inputs_add(corpus, text.data, text.n);
  runtime_str_free(&text);
}

/* The best-ranked plans of each program, and for its last group some more. */
void inputs_seed_plans(inputs_corpus *corpus) {
  schedule_plan by_group[MOST_GROUPS];
  const schedule_plan *list;
  for (int i = 0; i < N_PROGRAMS; i++) {
    ranked *r = groups_of(i);
    int last = schedule_plans_count(r->plans) - 1, n = schedule_plans_ranked(r->plans, last, &list);
    schedule_plans_best(r->plans, by_group);
    for (int k = 0; k < RUNTIME_MIN(n, SEEDS); k++) {
      tn_schedule *s = schedule_plans_realize(r->plans, by_group);
      const char *text = s ? schedule_plan_text(s) : NULL;
      if (text) add(corpus, i, text);
      tn_schedule_free(s);
      by_group[last] = list[k * n / SEEDS];
    }
  }
}

/* Realized plans are primitives: they lower, and what they make is right. */
static void go_on(tn_context *ctx, const tn_schedule *s, uint64_t hash) {
  runtime_arena arena = {0};
  const tir_func *f = schedule_lower(s, "kernel", &arena);
  if (!f && tn_context_status(ctx) == TN_OK) inputs_broken("not lowered, without a message");
  runtime_arena_free(&arena);
  if (f && hash % 50 == 0) inputs_compare(ctx, s);
}

/* A refusal names the plan's field. */
static void check_refusal(const tn_context *ctx) {
  const char *message = tn_context_message(ctx);
  if (strncmp(message, "plan: ", 6) != 0 || (!strchr(message, '"') && !strstr(message, "an array")))
    inputs_broken("refused without naming the field: %s", message);
}

/* Any values that the families have: few texts that were changed fit. */
static void draw(const schedule_plans *plans, uint64_t seed, schedule_plan *by_group) {
  runtime_rng rng = {seed};
  for (int g = 0; g < schedule_plans_count(plans); g++) {
    const plan_choices *choices = schedule_plans_choices(plans, g);
    const plan_choice *c = &choices->choices[runtime_random_below(&rng, RUNTIME_MAX(choices->n, 1))];
    by_group[g] = (schedule_plan){.family = choices->n ? c->family : -1};
    for (int f = 0; choices->n && f < schedule_family_at(c->family)->n_fields; f++)
      if (c->space.n[f]) by_group[g].value[f] = c->space.value[f][runtime_random_below(&rng, c->space.n[f])];
  }
}

/* A plan that fits may still be refused by a primitive, without a message. */
void inputs_one_plans(const uint8_t *data, size_t n) {
  if (n == 0) return;
  char *text = inputs_text(data + 1, n - 1);
  uint64_t hash = runtime_hash(data, n, 6);
  ranked *r = groups_of(data[0] % N_PROGRAMS);
  schedule_plan by_group[MOST_GROUPS];
  bool fits = schedule_plans_decode(r->plans, text, by_group) == TN_OK;
  if (!fits) {
    check_refusal(r->ctx);
    tn_context_clear(r->ctx);
    draw(r->plans, hash, by_group);
  }
  tn_schedule *s = fits || hash % 8 == 0 ? schedule_plans_realize(r->plans, by_group) : NULL;
  if (s) go_on(r->ctx, s, hash / 8);
  tn_schedule_free(s);
  free(text);
}
