/* rate.c: how fast candidates are looked at before one is measured: processor time of one thread. */
#include <math.h>
#include <stdio.h>

#include "autotune/search.h"
#include "benchmarks/plans/plans.h"

/* Plans for the first figure, plans for the second, and those of them that the model learns from. */
enum { RANKED = 200000, SCORED = 4096, TAUGHT = 200 };

/* Measured where no program is given. */
static const struct {
  const char *name, *program;
} usual[] = {
    {"product 1024^3", "C[i<1024, j<1024] = sum[k<1024](A[i,k] * B[k,j])"},
    {"convolution, bias, ReLU",
     "input I: f32[1,56,56,64], W: f32[3,3,64,64], G: f32[64]\n"
     "P[n<1, h<58, w<58, c<64] = select(h >= 1 && h < 57 && w >= 1 && w < 57, I[n, h-1, w-1, c], 0)\n"
     "O[n<1, h<56, w<56, f<64] = sum[r<3, s<3, c<64](P[n, h+r, w+s, c] * W[r,s,c,f])\n"
     "R[n<1, h<56, w<56, f<64] = max(O[n,h,w,f] + G[f], 0)"},
    {"softmax 1024 x 1024",
     "M[i<1024] = max[k<1024](X[i,k])\nE[i<1024, j<1024] = exp(X[i,j] - M[i])\n"
     "S[i<1024] = sum[k<1024](E[i,k])\nY[i<1024, j<1024] = E[i,j] / S[i]"},
};

/* One program's space of plans, and a model that is trained on it. */
typedef struct rating {
  autotune_task task;
  autotune_space space;
  autotune_model *model;
  runtime_rng rng;
} rating;

/* Neighbours of the best plans, as the search makes them. */
static autotune_genome *draw(rating *r, int n) {
  autotune_genome *genomes = malloc(sizeof *genomes * (size_t)n);
  for (int i = 0; genomes && i < n; i++) autotune_sample_plans(&r->space, &r->rng, &genomes[i]);
  return genomes;
}

/* Plans a second, from the values of their fields to nanoseconds. Values that do not go together are no plans. */
static double rank(rating *r, const autotune_genome *genomes, int n) {
  int n_ranked = 0;
  double start = plans_now_s(1);
  for (int i = 0; i < RANKED; i++) n_ranked += isfinite(autotune_genome_cost(&r->space, &genomes[i % n]));
  return n_ranked / (plans_now_s(1) - start);
}

static bool is_same_plan(const rating *r, const schedule_plan *a, const schedule_plan *b) {
  bool same = true;
  for (int g = 0; same && g < r->space.n_groups; g++)
    same = a[g].family == b[g].family && memcmp(a[g].value, b[g].value, sizeof a[g].value) == 0;
  return same;
}

/* How many of N there are once each: where it is a handful, a rate says little. */
static int count_different(const rating *r, const autotune_genome *genomes, int n) {
  schedule_plan(*plans)[AUTOTUNE_MAX_GROUPS] = calloc((size_t)n, sizeof *plans);
  int different = 0;
  for (int i = 0; plans && i < n; i++) {
    bool is_new = true;
    autotune_genome_plans(&r->space, &genomes[i], plans[different]);
    for (int k = 0; is_new && k < different; k++) is_new = !is_same_plan(r, plans[k], plans[different]);
    different += is_new;
  }
  free(plans);
  return different;
}

/* What lowering made of the plans: plan i has rows first_row[i] to first_row[i + 1], none where it was refused. */
typedef struct batch {
  int n, n_lowered; /* plans, and those that no primitive refused */
  int first_row[SCORED + 1];
  float *rows, scores[SCORED];
} batch;

/* Realizes, lowers and describes SCORED plans as the search does. B->rows is for the caller to free. */
static bool lower_all(rating *r, const autotune_genome *genomes, batch *b) {
  runtime_arena arena = {0};
  b->n = b->n_lowered = b->first_row[0] = 0;
  b->rows = malloc(sizeof(float) * SCORED * AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES);
  for (int i = 0; b->rows && i < SCORED; i++) {
    runtime_quiet quiet = runtime_quiet_begin(r->task.ctx);
    tn_schedule *s = autotune_genome_schedule(&r->space, &genomes[i]);
    runtime_quiet_end(&quiet);
    float *rows = b->rows + (ptrdiff_t)b->first_row[b->n] * AUTOTUNE_FEATURES;
    double cost_ns = autotune_genome_cost(&r->space, &genomes[i]);
    int n = s ? autotune_schedule_rows(&r->space, s, cost_ns, &arena, rows, NULL) : 0;
    (void)(s && autotune_schedule_hash(s)); /* the search knows by it what it has seen */
    tn_schedule_free(s);
    b->n++;
    b->n_lowered += n > 0;
    b->first_row[b->n] = b->first_row[b->n - 1] + n;
  }
  runtime_arena_free(&arena);
  return b->rows != NULL;
}

/* Trains the model on made-up times: what matters is how long it takes to ask it. */
static bool teach(rating *r, const batch *b) {
  for (int i = 0; i < TAUGHT && i < b->n; i++) {
    const float *rows = b->rows + (ptrdiff_t)b->first_row[i] * AUTOTUNE_FEATURES;
    int n = b->first_row[i + 1] - b->first_row[i];
    if (n > 0 && autotune_model_add(r->model, 0, rows, n, 1e-3 * (1 + i % 17)) != TN_OK) return false;
  }
  return autotune_model_train(r->model) == TN_OK && autotune_model_is_trained(r->model);
}

/* Plans a second, from the plan to its score; 0: there is no model. */
static double score(rating *r, const autotune_genome *genomes) {
  batch *first = calloc(1, sizeof *first), *again = calloc(1, sizeof *again);
  double rate = 0;
  if (first && again && lower_all(r, genomes, first) && teach(r, first)) {
    double start = plans_now_s(1);
    bool ok = lower_all(r, genomes, again) &&
              autotune_model_predict(r->model, again->n, again->first_row, again->rows, again->scores) == TN_OK;
    rate = ok ? again->n_lowered / (plans_now_s(1) - start) : 0;
  }
  if (first) free(first->rows);
  if (again) free(again->rows);
  free(first);
  free(again);
  return rate;
}

/* Prints the line of one program. */
static bool rate(const char *name, const char *text) {
  tn_context *ctx = tn_context_new(NULL);
  rating *r = calloc(1, sizeof *r);
  tn_program *program = tn_program_parse(ctx, text, 0, NULL);
  const tn_target *target = tn_target_new(ctx, "threads=1");
  bool ok = r && program && target;
  if (ok) {
    r->task = (autotune_task){.ctx = ctx,
                              .program = program,
                              .target = target,
                              .threads = 1,
                              .vector_bytes = tn_target_vector_bytes(target),
                              .cache_line_bytes = 64};
    r->space.task = &r->task;
    r->rng.state = 1;
    r->model = autotune_model_new(ctx, 1, 1);
    ok = r->model && autotune_space_fill(&r->space) && r->space.n_groups > 0;
  }
  autotune_genome *genomes = ok ? draw(r, SCORED) : NULL;
  if (genomes)
    printf("%-26s ranked by cost %9.0f a second (%d different plans)   lowered and scored %8.0f a second\n", name,
           rank(r, genomes, SCORED), count_different(r, genomes, SCORED), score(r, genomes));
  else
    fprintf(stderr, "tenon-plans: %s: %s\n", name, ctx ? tn_context_message(ctx) : "out of memory");
  free(genomes);
  if (r) autotune_space_release(&r->space);
  if (r) autotune_model_free(r->model);
  free(r);
  tn_context_free(ctx);
  return genomes != NULL;
}

int plans_rate(const char *program) {
  bool ok = true;
  if (program) return !rate("the program", program);
  for (int i = 0; i < RUNTIME_COUNT(usual); i++) ok &= rate(usual[i].name, usual[i].program);
  return !ok;
}
