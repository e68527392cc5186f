/* list.c: the schedules of `tenon-bench --list` beside plans of the plain program, which computes the same but
 * has no stage that only a schedule needs. A plan realizes a schedule when the plan's loops do no more work and
 * are not estimated slower (autotune_estimate). With --time both are timed, in turns. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autotune/search.h"
#include "benchmarks/bench/bench.h"
#include "benchmarks/plans/plans.h"

/* Slack that a plan has: MORE_WORK times the hand's operations, MORE_NS times its estimated time. */
enum { TIMED = 6, MAX_ARGS = 8 };
#define MORE_WORK 1.1
#define MORE_NS 1.25
#define SIDE_S 0.2 /* of timing for each */

/* ---- plain programs ---------------------------------------------------------------------------------------------- */

static const char product[] =
    "input A: %s[%lld, %lld], B: %s[%lld, %lld]\nC[i<%lld, j<%lld] = sum[k<%lld](%s(A[i,k]) * %s(B[k,j]))";

/* The textbook program of a product's name; false: NAME is none. */
static bool plain_product(const char *name, char *out, size_t n) {
  static const struct {
    const char *form, *left, *right, *sum;
  } kinds[] = {{"gemm-%lldx%lldx%lld", "f32", "f32", "f32"},
               {"gemm-bf16-%lldx%lldx%lld", "bf16", "bf16", "f32"},
               {"gemm-i8-%lldx%lldx%lld", "u8", "i8", "i32"},
               {"gemm-s8-%lldx%lldx%lld", "i8", "i8", "i32"}};
  long long b, m, c, k;
  for (size_t i = 0; i < RUNTIME_COUNT(kinds); i++) {
    if (sscanf(name, kinds[i].form, &m, &c, &k) != 3) continue;
    snprintf(out, n, product, kinds[i].left, m, k, kinds[i].right, k, c, m, c, k, kinds[i].sum, kinds[i].sum);
    return true;
  }
  if (sscanf(name, "bgemm-%lldx%lldx%lldx%lld", &b, &m, &c, &k) != 4) return false;
  snprintf(out, n, "C[b<%lld, i<%lld, j<%lld] = sum[k<%lld](X[b,i,k] * Y[b,k,j])", b, m, c, k);
  return true;
}

/* The same for operators on rows. */
static bool plain_rows(const char *name, char *out, size_t n) {
  long long r, c;
  if (sscanf(name, "softmax-%lldx%lld", &r, &c) == 2)
    snprintf(out, n,
             "param R = %lld, C = %lld\nM[i<R] = max[k<C](X[i,k])\nE[i<R, j<C] = exp(X[i,j] - M[i])\n"
             "S[i<R] = sum[k<C](E[i,k])\nT[i<R] = 1 / S[i]\nY[i<R, j<C] = E[i,j] * T[i]",
             r, c);
  else if (sscanf(name, "layernorm-%lldx%lld", &r, &c) == 2)
    snprintf(out, n,
             "param R = %lld, C = %lld\ninput X: f32[R,C], gamma: f32[C], beta: f32[C]\n"
             "S[i<R] = sum[k<C](X[i,k])\nM[i<R] = S[i] * (1.0 / C)\n"
             "V[i<R] = sum[k<C]((X[i,k] - M[i]) * (X[i,k] - M[i]))\nT[i<R] = rsqrt(V[i] * (1.0 / C) + 1e-5)\n"
             "Y[i<R, j<C] = (X[i,j] - M[i]) * T[i] * gamma[j] + beta[j]",
             r, c);
  else if (sscanf(name, "sum-%lld", &c) == 1)
    snprintf(out, n, "S = sum[k<%lld](X[k])", c);
  else
    return false;
  return true;
}

/* The textbook program of a case, written to OUT where it differs from the case's own; a convolution's is plain
 * already. */
static const char *plain_program(const bench_case *c, char *out, size_t n) {
  if (plain_product(c->name, out, n) || plain_rows(c->name, out, n)) return out;
  return c->text.program;
}

/* ---- estimates --------------------------------------------------------------------------------------------------- */

/* What the command asks for, and the count over all cases. */
typedef struct listing {
  bool is_timed;
  const char *target;
  int threads, n, n_realized;
} listing;

/* One case: its schedule by hand against the space of plans of the plain program. close_contest releases what
 * open_contest made. */
typedef struct contest {
  tn_context *ctx;
  autotune_task task;
  autotune_space space;
  tn_schedule *hand;
  autotune_estimate by_hand, by_plan;
  autotune_genome plan; /* the best-estimated */
} contest;

/* The estimate of a schedule's loops. False: it was refused. */
static bool estimate(const contest *c, const tn_schedule *s, autotune_estimate *out) {
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  runtime_arena arena = {0};
  bool ok = s && autotune_schedule_rows(&c->space, s, 0, &arena, rows, out) > 0;
  runtime_arena_free(&arena);
  return ok;
}

static bool is_as_good(const autotune_estimate *a, const autotune_estimate *b) {
  return a->work <= MORE_WORK * b->work && a->ns <= MORE_NS * b->ns;
}

/* The larger of both figures of E in relation to the hand's, with the slack; 1 or less: as good. */
static double distance(const contest *c, const autotune_estimate *e) {
  return fmax(e->work / c->by_hand.work / MORE_WORK, e->ns / c->by_hand.ns / MORE_NS);
}

/* Takes GENOME's plan if it comes nearer to the hand's schedule than the one so far, or is the first. Returns
 * whether it was taken. */
static bool try_plan(contest *c, const autotune_genome *genome) {
  autotune_estimate found;
  runtime_quiet quiet = runtime_quiet_begin(c->ctx);
  tn_schedule *s = autotune_genome_schedule(&c->space, genome);
  bool is_nearer =
      estimate(c, s, &found) && (c->by_plan.ns == 0 || distance(c, &found) < distance(c, &c->by_plan) - 1e-9);
  runtime_quiet_end(&quiet);
  tn_schedule_free(s);
  if (is_nearer) c->by_plan = found, c->plan = *genome;
  return is_nearer;
}

static bool is_found(const contest *c) { return c->by_plan.ns > 0 && is_as_good(&c->by_plan, &c->by_hand); }

/* Tries all values of two fields, A and B, of a group's plan. Returns whether a nearer plan was found. */
static bool change_pair(contest *c, int group, const plan_choice *choice, int a, int b) {
  const plan_choices *choices = schedule_plans_choices(c->space.plans, group);
  bool is_nearer = false;
  for (int i = 0; i < choice->space.n[a]; i++) {
    for (int k = 0; k < choice->space.n[b] && !is_found(c); k++) {
      schedule_plan plan = {.family = choice->family};
      autotune_genome genome = c->plan;
      memcpy(plan.value, c->plan.plans[group].value, sizeof plan.value);
      plan.value[a] = choice->space.value[a][i], plan.value[b] = choice->space.value[b][k];
      plan.ns = schedule_plan_cost(choices, &plan);
      if (!isfinite(plan.ns)) continue;
      autotune_plan_put(&genome, group, &plan);
      is_nearer |= try_plan(c, &genome);
    }
  }
  return is_nearer;
}

/* Tries each two fields of the group's plan. Returns whether a nearer one was found, so that the caller can go
 * on from there. */
static bool change_fields(contest *c, int group) {
  const plan_choices *choices = schedule_plans_choices(c->space.plans, group);
  bool is_nearer = false;
  for (int i = 0; i < choices->n; i++) {
    const plan_choice *choice = &choices->choices[i];
    int n = choice->family == c->plan.plans[group].family ? schedule_family_at(choice->family)->n_fields : 0;
    for (int a = 0; a < n; a++)
      for (int b = a + 1; b < n; b++) is_nearer |= change_pair(c, group, choice, a, b);
  }
  return is_nearer;
}

/* Finds the plan that is nearest to the hand's schedule: the one that `auto` takes; then all ranked ones; then
 * their values are changed as long as that comes nearer. Stops at the first that is as good. */
static void find_plan(contest *c) {
  /* Rounds of changing values: each goes on from the best of the one before. */
  enum { MAX_TURNS = 4 };
  c->plan = c->space.best;
  (void)try_plan(c, &c->space.best);
  for (int i = 0; i < c->space.ranked.n; i++) {
    const autotune_ranked *ranked = &c->space.ranked.data[i];
    for (int place = 0; place < ranked->n && !is_found(c); place++) {
      autotune_genome genome = c->space.best;
      autotune_plan_put(&genome, ranked->group, &ranked->plans[place]);
      (void)try_plan(c, &genome);
    }
  }
  bool is_nearer = c->by_plan.ns > 0;
  for (int turn = 0; turn < MAX_TURNS && is_nearer && !is_found(c); turn++) {
    is_nearer = false;
    for (int g = 0; g < c->space.n_groups; g++) is_nearer |= change_fields(c, g);
  }
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

/* A kernel with arrays of its own and its least time so far. */
typedef struct side {
  tn_kernel *kernel;
  int n;
  DLTensor *args[MAX_ARGS];
  double least_s;
} side;

/* Builds a side's kernel, fills its arguments with the same random values as the other side's, and calls it once.
 * False: it cannot be built or called. */
static bool open_side(contest *c, side *s, const tn_schedule *schedule, const tn_program *program) {
  tn_build_options options = {.target = c->task.target};
  s->kernel = schedule ? tn_build(schedule, &options) : NULL;
  s->n = tn_program_arg_count(program);
  for (int i = 0; i < s->n && i < MAX_ARGS; i++) {
    const tn_tensor *t = tn_program_arg(program, i);
    s->args[i] = tn_array_new(c->ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    if (!s->args[i] || tn_array_fill(c->ctx, s->args[i], 1 + (uint64_t)i) != TN_OK) return false;
  }
  s->least_s = INFINITY;
  return s->kernel != NULL && tn_call(c->ctx, s->kernel, s->args, s->n) == TN_OK;
}

static void close_side(side *s) {
  for (int i = 0; i < s->n && i < MAX_ARGS; i++) tn_array_free(s->args[i]);
  tn_kernel_free(s->kernel);
}

/* Calls the kernel for about 5 ms and keeps the mean of a call if it is the least. */
static void take_turn(contest *c, side *s) {
  int n = 0;
  double start = plans_now_s(c->task.threads), end = start;
  for (; end - start < 5e-3; n++, end = plans_now_s(c->task.threads)) (void)tn_call(c->ctx, s->kernel, s->args, s->n);
  s->least_s = fmin(s->least_s, (end - start) / n);
}

/* Processor time of the hand's schedule in relation to the plan's: above 1 the plan is faster. 0: one of them
 * cannot be built or called. */
static double race(contest *c) {
  side sides[2] = {{0}, {0}};
  tn_schedule *planned = autotune_genome_schedule(&c->space, &c->plan);
  bool ok = open_side(c, &sides[0], c->hand, c->hand->program) && open_side(c, &sides[1], planned, c->task.program);
  for (double end = plans_now_s(c->task.threads) + 2 * SIDE_S; ok && plans_now_s(c->task.threads) < end;)
    for (int i = 0; i < 2; i++) take_turn(c, &sides[i]);
  double ratio = ok ? sides[0].least_s / sides[1].least_s : 0;
  for (int i = 0; i < 2; i++) close_side(&sides[i]);
  tn_schedule_free(planned);
  return ratio;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* False: the program, its schedule or the space was refused; the message is in C's context. */
static bool open_contest(contest *c, const bench_case *of, const listing *l) {
  char text[1024], spec[1000];
  int threads = l->threads;
  snprintf(spec, sizeof spec, "%s threads=%d", l->target ? l->target : "", threads);
  c->ctx = tn_context_new(NULL);
  tn_program *program = tn_program_parse(c->ctx, plain_program(of, text, sizeof text), 0, NULL);
  tn_target *target = tn_target_new(c->ctx, spec);
  if (!program || !target) return false;
  const char *costs = l->is_timed && !*tn_target_costs(target) ? tn_measure_costs(c->ctx) : NULL;
  if (costs && tn_target_set_costs(target, costs) != TN_OK) return false;
  c->task = (autotune_task){.ctx = c->ctx,
                            .program = program,
                            .target = target,
                            .threads = threads,
                            .vector_bytes = tn_target_vector_bytes(target),
                            .cache_line_bytes = 64};
  c->space.task = &c->task;
  c->hand = tn_schedule_new(tn_program_parse(c->ctx, of->text.program, 0, NULL));
  return c->hand && tn_schedule_apply(c->hand, of->text.schedule) == TN_OK && autotune_space_fill(&c->space) &&
         c->space.n_groups > 0 && estimate(c, c->hand, &c->by_hand);
}

static void close_contest(contest *c) {
  tn_schedule_free(c->hand);
  autotune_space_release(&c->space);
  tn_context_free(c->ctx);
}

/* Prints the line of one case. */
static void visit(void *user, const bench_case *of) {
  listing *l = user;
  static contest c; /* large */
  memset(&c, 0, sizeof c);
  l->n++;
  if (open_contest(&c, of, l)) {
    find_plan(&c);
    bool is_realized = is_as_good(&c.by_plan, &c.by_hand);
    char *text = autotune_genome_text(&c.space, &c.plan);
    l->n_realized += is_realized;
    printf("%-24s %-3s  work %5.2f  estimate %5.2f", of->name, is_realized ? "yes" : "no",
           c.by_hand.work / c.by_plan.work, c.by_hand.ns / c.by_plan.ns);
    if (l->is_timed) printf("  time %5.2f", race(&c));
    printf("  %s\n", text ? text : "");
    free(text);
  } else {
    printf("%-24s no   %s\n", of->name, tn_context_message(c.ctx));
  }
  close_contest(&c);
}

int plans_list(const char *pattern, const char *target, int threads, bool is_timed, int at_least) {
  listing l = {.is_timed = is_timed, .target = target, .threads = threads};
  if (bench_find(pattern, threads, visit, &l) == 0) return 2;
  printf("%d of %d schedules are realized by a plan\n", l.n_realized, l.n);
  return l.n_realized < at_least;
}
