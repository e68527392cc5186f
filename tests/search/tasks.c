/* The tasks of a network: who gets the next round, by numbers alone; tn_tune_tasks over a builder and a runner made up; the
 * files that name a network. */
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/scheduler.h"
#include "tests/search/search_test.h"

/* ---- a network made up: times that fall towards a floor ----------------------------------------------------------- */

typedef struct curve {
  double weight, start_s, floor_s, rounds; /* that it takes to come 63 % of the way */
  double round_takes;                      /* of the budget */
} curve;

static double time_after(const curve *c, int n) { return c->floor_s + (c->start_s - c->floor_s) * exp(-n / c->rounds); }

enum { MOST_TASKS = 8 };

typedef struct made_up {
  const curve *curves;
  scheduler s;
  scheduler_task tasks[MOST_TASKS];
  double area, first_total; /* of the total over the budget, from when all have a time */
  int longest_wait;         /* rounds between two of one task, of those not over */
} made_up;

static void begin(made_up *m, int n, const curve *curves, tn_strategy strategy, tn_objective objective) {
  *m = (made_up){.curves = curves, .s = {.strategy = strategy, .objective = objective, .n = n}};
  m->s.tasks = m->tasks;
  for (int i = 0; i < n; ++i) m->tasks[i].weight = curves[i].weight;
}

/* Spends the budget. Where the scheduler says -1 it ends. */
static void spend(made_up *m, double budget) {
  for (double spent = 0; spent < budget;) {
    int i = scheduler_next(&m->s);
    if (i < 0) return;
    m->longest_wait = RUNTIME_MAX(m->longest_wait, m->s.n_turns - m->tasks[i].last_turn);
    double total = scheduler_total(&m->s), takes = m->curves[i].round_takes;
    m->area += total * takes;
    spent += takes;
    scheduler_tell(&m->s, i, takes, 8, time_after(&m->curves[i], m->tasks[i].n_rounds + 1));
    if (m->first_total == 0) m->first_total = scheduler_total(&m->s);
  }
}

/* One large task that is far from its floor, some that are quick, one whose rounds take long. */
static const curve usual[] = {{1, 10e-3, 2e-3, 12, 1}, {4, 1e-3, 0.9e-3, 3, 1},     {1, 0.2e-3, 0.1e-3, 2, 1},
                              {2, 3e-3, 1e-3, 8, 1},   {1, 0.05e-3, 0.04e-3, 5, 1}, {1, 4e-3, 3.8e-3, 4, 6}};

static void the_gradient_is_quicker_than_round_robin(void **state) {
  (void)state;
  static const double budgets[] = {20, 40, 80};
  for (int i = 0; i < RUNTIME_COUNT(budgets); ++i) {
    made_up gradient, robin;
    begin(&gradient, 6, usual, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
    begin(&robin, 6, usual, TN_STRATEGY_ROUND_ROBIN, TN_OBJECTIVE_LATENCY);
    spend(&gradient, budgets[i]);
    spend(&robin, budgets[i]);
    assert_true(gradient.first_total == robin.first_total);
    assert_true(scheduler_total(&gradient.s) < scheduler_total(&robin.s));
    assert_true(gradient.area < robin.area);
  }
}

static void rounds_go_where_the_time_is(void **state) {
  (void)state;
  made_up m;
  begin(&m, 6, usual, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  spend(&m, 60);
  for (int i = 1; i < 6; ++i) assert_true(m.tasks[0].n_rounds >= m.tasks[i].n_rounds);
  assert_true(m.tasks[3].n_rounds > 2 * m.tasks[2].n_rounds);
}

/* The same curves twice: one as often in the network as ten of the other. */
static void a_weight_counts(void **state) {
  (void)state;
  static const curve two[] = {{1, 1e-3, 0.5e-3, 10, 1}, {10, 1e-3, 0.5e-3, 10, 1}};
  made_up m;
  begin(&m, 2, two, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  spend(&m, 33);
  assert_true(m.tasks[1].n_rounds >= 5 * m.tasks[0].n_rounds);
}

/* By the geometric mean a task that is a thousand times as quick counts as much. */
static void the_mean_counts_ratios(void **state) {
  (void)state;
  static const curve two[] = {{1, 1, 0.5, 10, 1}, {1, 1e-3, 0.5e-3, 10, 1}};
  made_up m;
  begin(&m, 2, two, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_GEOMEAN);
  spend(&m, 40);
  assert_int_equal(m.tasks[0].n_rounds, m.tasks[1].n_rounds);
  assert_true(fabs(scheduler_total(&m.s) - sqrt(m.tasks[0].best_s * m.tasks[1].best_s)) < 1e-9);
  begin(&m, 2, two, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  spend(&m, 40);
  assert_true(m.tasks[0].n_rounds > 2 * m.tasks[1].n_rounds);
}

static void nobody_starves(void **state) {
  (void)state;
  static const curve unequal[] = {{1, 1, 1e-3, 50, 1}, {1, 1e-7, 0.9e-7, 3, 1}, {1, 1e-6, 0.5e-6, 3, 1}};
  made_up m;
  begin(&m, 3, unequal, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  spend(&m, 300);
  assert_true(m.longest_wait <= 4 * 3 + 3);
  for (int i = 0; i < 3; ++i) assert_true(m.tasks[i].n_rounds >= 300 / (4 * 3 + 3));
}

/* A light task's first draws do not wait as long as others. */
static void the_second_round_comes_sooner(void **state) {
  (void)state;
  static const curve unequal[] = {{1, 1, 1e-3, 50, 1}, {1, 1e-7, 0.9e-7, 3, 1}, {1, 1e-6, 0.5e-6, 3, 1}};
  made_up m;
  begin(&m, 3, unequal, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  spend(&m, 3 + 2 * 3 + 3);
  for (int i = 0; i < 3; ++i) assert_true(m.tasks[i].n_rounds >= 2);
}

/* A round of a task gains the same, but takes six times as long. */
static void a_long_round_costs_more(void **state) {
  (void)state;
  static const curve two[] = {{1, 1, 0.5, 10, 1}, {1, 1, 0.5, 10, 6}};
  made_up m;
  begin(&m, 2, two, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  spend(&m, 120);
  assert_true(m.tasks[0].n_rounds > 2 * m.tasks[1].n_rounds);
}

static void what_is_over_gets_no_turn(void **state) {
  (void)state;
  made_up m;
  begin(&m, 6, usual, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  spend(&m, 12);
  int before = m.tasks[0].n_rounds;
  m.tasks[0].is_over = true;
  spend(&m, 300);
  assert_int_equal(m.tasks[0].n_rounds, before);
  for (int i = 0; i < 6; ++i) m.tasks[i].is_over = true;
  assert_int_equal(scheduler_next(&m.s), -1);
}

/* Tasks as heavy as each other: one has the best rate, one half of it, and of one nothing is known. */
static void the_best_rate_tells_what_is_left(void **state) {
  (void)state;
  static const double work[] = {1e9, 0.5e9, 0};
  made_up m;
  begin(&m, 3, usual, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  for (int i = 0; i < 3; ++i) {
    m.tasks[i].weight = 1;
    m.tasks[i].work = work[i];
    scheduler_tell(&m.s, i, 1, 10, 1e-3);
  }
  assert_true(scheduler_gain(&m.s, 0) > 0);
  assert_true(scheduler_gain(&m.s, 1) > 10 * scheduler_gain(&m.s, 0));
  assert_true(fabs(scheduler_gain(&m.s, 2) - 2 * scheduler_gain(&m.s, 1)) < 1e-9 * scheduler_gain(&m.s, 2));
  assert_int_equal(scheduler_next(&m.s), 2);
  m.tasks[2].target_s = 0.9e-3; /* what falls below it gains nothing */
  assert_int_equal(scheduler_next(&m.s), 1);
}

/* Behind the first rounds, whatever these took: who runs the slowest schedule for long may be the one that counts. */
static void the_heaviest_is_second(void **state) {
  (void)state;
  static const double first[] = {0.1, 20, 5}, best_s[] = {1e-3, 5e-3, 0};
  made_up m;
  begin(&m, 3, usual, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  for (int i = 0; i < 3; ++i) m.tasks[i].weight = 1;
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(scheduler_next(&m.s), i);
    scheduler_tell(&m.s, i, first[i], 2, best_s[i]);
  }
  assert_int_equal(scheduler_next(&m.s), 2); /* without its time there is no total */
  scheduler_tell(&m.s, 2, 1, 8, 0);
  assert_int_equal(scheduler_next(&m.s), 1);
  scheduler_tell(&m.s, 1, 1, 8, 5e-3); /* now it has had five times as many trials */
  assert_true(fabs(scheduler_gain(&m.s, 0) - scheduler_gain(&m.s, 1)) < 1e-9 * scheduler_gain(&m.s, 0));
  assert_true(scheduler_gain(&m.s, 2) == 0);
}

/* The whole is told once all that can have a time have one. */
static void the_total(void **state) {
  (void)state;
  made_up m;
  begin(&m, 3, usual, TN_STRATEGY_GRADIENT, TN_OBJECTIVE_LATENCY);
  scheduler_tell(&m.s, 0, 1, 8, 1e-3);
  scheduler_tell(&m.s, 1, 1, 8, 2e-3);
  assert_true(scheduler_total(&m.s) == 0);
  scheduler_tell(&m.s, 2, 1, 8, 0);
  assert_true(scheduler_total(&m.s) == 0);
  m.tasks[2].is_over = true;
  assert_true(fabs(scheduler_total(&m.s) - (1 * 1e-3 + 4 * 2e-3)) < 1e-12);
}

/* ---- tn_tune_tasks over a machine made up -------------------------------------------------------------------------- */

enum { MOST_RUNS = 4096 };

typedef struct machine {
  const char *wrong; /* programs with this in their text are never right */
  int n_runs, stop_at;
  int n_seen;
  uint64_t seen[MOST_RUNS];     /* programs and steps */
  uint64_t programs[MOST_RUNS]; /* of each run, in order */
  const char *disturbed;        /* all candidates are as fast, but finals of this program take twice as long, ... */
  bool is_always_disturbed;     /* ... or only until another program had finals */
  bool others_had_finals;
  int n_disturbed, n_finals; /* finals of it: one after another without any of other programs' between them */
  bool is_in_finals;
} machine;

static tn_status fake_build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  (void)self, (void)candidates;
  for (int i = 0; i < n; ++i) out[i] = (tn_measurement){.object = calloc(1, 1), .object_bytes = 1};
  return TN_OK;
}

static uint64_t hash_of(const char *text, uint64_t seed) { return runtime_hash(text, strlen(text), seed); }

/* Other work of the machine, while some finals are timed. */
static double disturbance(machine *m, const tn_candidate *c) {
  bool is_meant = m->disturbed && c->is_final && strcmp(c->program, m->disturbed) == 0;
  m->n_finals += is_meant && !m->is_in_finals;
  m->is_in_finals = is_meant;
  m->others_had_finals |= c->is_final && !is_meant;
  bool is_disturbed = is_meant && (m->is_always_disturbed || !m->others_had_finals);
  m->n_disturbed += is_disturbed;
  return is_disturbed ? 2 : 1;
}

/* The longer the program's text, the longer it takes; from a hash of the steps, so that better ones are found now and then. */
static tn_status fake_run(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  machine *m = self;
  for (int i = 0; i < n; ++i) {
    const tn_candidate *c = &candidates[i];
    bool is_wrong = m->wrong && strstr(c->program, m->wrong);
    uint64_t hash = hash_of(c->steps, 7);
    if (!c->is_final) m->seen[m->n_seen++ % MOST_RUNS] = hash_of(c->steps, hash_of(c->program, 1));
    m->programs[m->n_runs++ % MOST_RUNS] = hash_of(c->program, 1);
    inout[i].error = is_wrong ? TN_MEASURE_WRONG_ANSWER : TN_MEASURE_NONE;
    inout[i].n_costs = !is_wrong;
    double seconds = 1e-6 * (double)strlen(c->program) * disturbance(m, c);
    inout[i].costs[0] = seconds * (m->disturbed ? 1 : 1 + (double)(hash % 1000) / 100);
    inout[i].checked = !is_wrong;
  }
  return TN_OK;
}

typedef struct fixture {
  tn_context *ctx;
  char folder[64], log[96], file[96];
  machine machine;
  tn_builder builder;
  tn_runner runner;
  tn_task tasks[4];
  tn_tasks_options options;
  tn_tasks_result result;
  int n_told, told_tasks;
} fixture;

static tn_program *parse(fixture *f, const char *text) {
  tn_program *program = tn_program_parse(f->ctx, text, 0, NULL);
  check_ok(f->ctx);
  return program;
}

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  f->ctx = check_context();
  strcpy(f->folder, "/tmp/tenon-tasks-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->log, sizeof f->log, "%s/log.json", f->folder);
  snprintf(f->file, sizeof f->file, "%s/net.tenon", f->folder);
  f->builder = (tn_builder){.self = &f->machine, .build = fake_build};
  f->runner = (tn_runner){.self = &f->machine, .run = fake_run};
  f->tasks[0] = (tn_task){.program = parse(f, MATMUL(64, 64, 64)), .name = "square", .count = 3};
  f->tasks[1] = (tn_task){.program = parse(f, ROW_SUM(256, 300)), .weight = 2};
  f->tasks[2] = (tn_task){.program = parse(f, MATMUL_ADD(32, 48, 64)), .name = "dense"};
  f->options.tune = (tn_tune_options){.log = f->log,
                                      .trials = 200,
                                      .seed = 1,
                                      .population = 64,
                                      .generations = 1,
                                      .cost_model = "none",
                                      .builder = &f->builder,
                                      .runner = &f->runner,
                                      .user = f};
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  tn_tasks_result_free(&f->result);
  unlink(f->log);
  unlink(f->file);
  rmdir(f->folder);
  check_context_free(f->ctx);
  free(f);
  return 0;
}

static tn_status tune(fixture *f, int n) {
  tn_tasks_result_free(&f->result);
  return tn_tune_tasks(n, f->tasks, &f->options, &f->result);
}

static void assert_nothing_twice(const machine *m) {
  for (int i = 0; i < m->n_seen; ++i)
    for (int j = 0; j < i; ++j) assert_true(m->seen[i] != m->seen[j]);
}

static void tasks_share_the_trials(void **state) {
  fixture *f = *state;
  assert_int_equal(tune(f, 3), TN_OK);
  const tn_tasks_result *r = &f->result;
  int trials = 0;
  for (int i = 0; i < 3; ++i) {
    trials += r->tasks[i].result.trials;
    assert_true(r->tasks[i].result.best_s > 0 && r->tasks[i].rounds > 0);
  }
  assert_int_equal(trials, 200);
  assert_int_equal(f->machine.n_runs, 200);
  assert_int_equal(r->end, TN_TUNE_TRIALS);
  assert_int_equal(r->n_distinct, 3);
  assert_nothing_twice(&f->machine);
  double total = 3 * r->tasks[0].result.best_s + 2 * r->tasks[1].result.best_s + r->tasks[2].result.best_s;
  assert_true(fabs(r->total_s - total) < 1e-12 && r->default_s >= r->total_s);
}

/* In rounds, not one after the other; and the curve falls. */
static void tasks_take_turns(void **state) {
  fixture *f = *state;
  assert_int_equal(tune(f, 3), TN_OK);
  int switches = 0;
  for (int i = 1; i < f->machine.n_runs; ++i) switches += f->machine.programs[i] != f->machine.programs[i - 1];
  assert_in_range(switches, 5, 30);
  const tn_tasks_result *r = &f->result;
  assert_true(r->n_points >= 5);
  for (int i = 1; i < r->n_points; ++i) {
    assert_true(r->curve[i].total_s <= r->curve[i - 1].total_s);
    assert_true(r->curve[i].elapsed_s >= r->curve[i - 1].elapsed_s && r->curve[i].trials >= r->curve[i - 1].trials);
  }
  assert_true(r->curve[r->n_points - 1].total_s == r->total_s);
}

/* Finals that are much slower than the best trial are repeated behind those of the others, which then hold; but not for ever. */
static void disturbed_finals_are_repeated(void **state) {
  fixture *f = *state;
  f->options.tune.finalists = 3;
  f->machine.disturbed = tn_program_text(f->tasks[0].program);
  assert_int_equal(tune(f, 3), TN_OK);
  double undisturbed_s = f->result.tasks[0].result.best_s;
  int n_once = f->machine.n_disturbed;
  assert_true(n_once > 0);
  assert_int_equal(f->machine.n_finals, 2);

  unlink(f->log);
  f->machine = (machine){.disturbed = f->machine.disturbed, .is_always_disturbed = true};
  assert_int_equal(tune(f, 3), TN_OK);
  assert_in_range(f->machine.n_disturbed, 2 * n_once + 1, 4 * n_once - 1); /* three times in all */
  assert_true(fabs(f->result.tasks[0].result.best_s - 2 * undisturbed_s) < 1e-12);
}

static void equal_programs_are_one_task(void **state) {
  fixture *f = *state;
  f->tasks[1] = (tn_task){.program = parse(f, "# the same\nC[i<64,j<64]=sum[k<64](A[i, k]*B[k,j])"), .count = 2};
  assert_int_equal(tune(f, 3), TN_OK);
  const tn_tasks_result *r = &f->result;
  assert_int_equal(r->n_distinct, 2);
  assert_int_equal(r->tasks[1].same_as, 0);
  assert_int_equal(r->tasks[0].same_as, 0);
  assert_true(r->tasks[0].weight == 5 && r->tasks[1].weight == 5);
  assert_true(r->tasks[1].result.best_s == r->tasks[0].result.best_s);
  assert_true(fabs(r->total_s - 5 * r->tasks[0].result.best_s - r->tasks[2].result.best_s) < 1e-12);
}

/* Data may decide about times: programs that are given other data are other tasks. */
static void other_data_are_another_task(void **state) {
  fixture *f = *state;
  f->tasks[1] = f->tasks[0];
  f->tasks[1].fill = "A=zeros";
  assert_int_equal(tune(f, 2), TN_OK);
  assert_int_equal(f->result.n_distinct, 2);
}

static void it_goes_on_from_the_log(void **state) {
  fixture *f = *state;
  assert_int_equal(tune(f, 3), TN_OK);
  double total = f->result.total_s;
  f->options.tune.trials = 260;
  assert_int_equal(tune(f, 3), TN_OK);
  assert_int_equal(f->machine.n_runs, 260);
  assert_nothing_twice(&f->machine);
  assert_true(f->result.total_s <= total);
  int reused = 0;
  for (int i = 0; i < 3; ++i) reused += f->result.tasks[i].result.reused;
  assert_int_equal(reused, 200);
  assert_int_equal(tune(f, 3), TN_OK);
  assert_int_equal(f->machine.n_runs, 260);
  assert_int_equal(f->result.end, TN_TUNE_TRIALS);
}

/* The number of records of a task in the log does not say when another is served. */
static void round_robin_is_fair(void **state) {
  fixture *f = *state;
  f->options.strategy = TN_STRATEGY_ROUND_ROBIN;
  assert_int_equal(tune(f, 3), TN_OK);
  for (int i = 1; i < 3; ++i)
    assert_in_range(f->result.tasks[i].rounds, f->result.tasks[0].rounds - 1, f->result.tasks[0].rounds);
}

static void a_task_that_fails_costs_itself_only(void **state) {
  fixture *f = *state;
  f->machine.wrong = "256";
  assert_int_equal(tune(f, 3), TN_OK);
  const tn_tasks_result *r = &f->result;
  assert_int_equal(r->n_failed, 1);
  assert_int_equal(r->tasks[1].result.end, TN_TUNE_FAILED);
  assert_true(r->tasks[1].result.best_s == 0 && r->tasks[1].result.trials < 40);
  assert_true(fabs(r->total_s - 3 * r->tasks[0].result.best_s - r->tasks[2].result.best_s) < 1e-12);
}

static void all_tasks_fail(void **state) {
  fixture *f = *state;
  f->machine.wrong = "[";
  assert_int_equal(tune(f, 3), TN_ERROR_TUNE);
  check_fails(f->ctx, TN_ERROR_TUNE, "no candidate was valid", "wrong_answer");
  assert_int_equal(f->result.n_failed, 3);
}

/* Row sums have few schedules here: the task ends, the others go on. */
static void early_stop_ends_a_task(void **state) {
  fixture *f = *state;
  f->options.tune.trials = 2000;
  f->options.tune.early_stop = 30;
  assert_int_equal(tune(f, 3), TN_OK);
  for (int i = 0; i < 3; ++i) assert_int_equal(f->result.tasks[i].result.end, TN_TUNE_NO_PROGRESS);
  assert_int_equal(f->result.end, TN_TUNE_EXHAUSTED);
  assert_true(f->machine.n_runs < 2000);
}

/* What any schedule meets gets one round; the others have all trials. */
static void a_target_ends_a_task(void **state) {
  fixture *f = *state;
  f->tasks[0].target_s = 1e3;
  assert_int_equal(tune(f, 3), TN_OK);
  assert_int_equal(f->result.tasks[0].result.end, TN_TUNE_TARGET);
  assert_int_equal(f->result.tasks[0].rounds, 1);
  assert_int_equal(f->result.tasks[1].result.end, TN_TUNE_TRIALS);
  int before = f->machine.n_runs;
  for (int i = 0; i < 3; ++i) f->tasks[i].target_s = 1e3;
  f->options.tune.trials = 400;
  assert_int_equal(tune(f, 3), TN_OK); /* all are met by what the log holds */
  assert_int_equal(f->result.end, TN_TUNE_TARGET);
  for (int i = 0; i < 3; ++i) assert_int_equal(f->result.tasks[i].result.trials, 0);
  assert_int_equal(f->machine.n_runs, before);
  assert_true(f->result.total_s > 0);
}

/* Of equal programs the harder target counts. */
static void equal_tasks_have_one_target(void **state) {
  fixture *f = *state;
  f->tasks[1] = f->tasks[0];
  f->tasks[0].target_s = 1e3;
  f->tasks[1].target_s = 1e-30;
  assert_int_equal(tune(f, 2), TN_OK);
  for (int i = 0; i < 2; ++i) assert_true(f->result.tasks[i].target_s == 1e-30);
  assert_int_equal(f->result.tasks[0].result.end, TN_TUNE_TRIALS);
}

static bool stop_after(void *user, const tn_tasks_progress *p) {
  fixture *f = user;
  f->n_told++;
  f->told_tasks = p->n_tasks;
  assert_true(p->task >= 0 && p->task < p->n_tasks && p->tasks[p->task].name);
  assert_int_equal(p->trials_wanted, 200);
  return p->trials >= 60;
}

static void it_can_be_stopped(void **state) {
  fixture *f = *state;
  f->options.on_tasks = stop_after;
  assert_int_equal(tune(f, 3), TN_OK);
  assert_int_equal(f->result.end, TN_TUNE_STOPPED);
  assert_int_equal(f->machine.n_runs, 60);
  assert_true(f->n_told >= 60 && f->told_tasks == 3);
}

static void a_limit_of_time_is_one_of_all(void **state) {
  fixture *f = *state;
  f->options.tune.trials = 0;
  f->options.tune.seconds = 2;
  uint64_t start_ns = runtime_now_ns();
  assert_int_equal(tune(f, 3), TN_OK);
  assert_int_equal(f->result.end, TN_TUNE_TIME);
  assert_true((double)(runtime_now_ns() - start_ns) * 1e-9 < 10);
  for (int i = 0; i < 3; ++i) assert_true(f->result.tasks[i].result.best_s > 0);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

static void refused_tasks(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_tune_tasks(0, f->tasks, &f->options, &f->result), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_tune_tasks(1, NULL, &f->options, &f->result), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_tune_tasks(3, f->tasks, NULL, &f->result), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "options are needed", "log");
  f->tasks[1].weight = -1;
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "the weight of tasks[1] is -1", "above 0");
  f->tasks[1].weight = NAN;
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "the weight of tasks[1]", "above 0");
  f->tasks[1].weight = 1;
  f->tasks[1].target_s = -1;
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "the target of tasks[1] is -1 s", "above 0");
  f->tasks[1].target_s = INFINITY;
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "the target of tasks[1]", "0 for none");
  f->tasks[1] = (tn_task){.program = f->tasks[0].program, .count = -2};
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "the count of tasks[1] is -2", "1 or more");
  f->tasks[1] = (tn_task){0};
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tasks[1] has no program", "tasks");
  assert_int_equal(f->machine.n_runs, 0);
}

static void refused_options(void **state) {
  fixture *f = *state;
  f->options.strategy = (tn_strategy)7;
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "options.strategy is 7", "tn_strategy");
  f->options.strategy = TN_STRATEGY_GRADIENT;
  f->options.objective = (tn_objective)9;
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "options.objective is 9", "tn_objective");
  f->options.objective = TN_OBJECTIVE_LATENCY;
  f->options.tune.effort = (tn_effort)9;
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "options.effort is 9", "tn_effort");
  assert_int_equal(tn_objective_find("speed"), -1);
  assert_int_equal(tn_strategy_find("random"), -1);
  assert_int_equal(tn_objective_find("geomean"), TN_OBJECTIVE_GEOMEAN);
}

static void programs_of_two_contexts(void **state) {
  fixture *f = *state;
  tn_context *other = check_context();
  f->tasks[1].program = tn_program_parse(other, ROW_SUM(8, 8), 0, NULL);
  assert_int_equal(tune(f, 3), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tasks[1] is of another context", "parse all programs in one");
  check_context_free(other);
}

/* ---- files of networks --------------------------------------------------------------------------------------------- */

static tn_status read_network(fixture *f, const char *text, tn_network *out) {
  FILE *file = fopen(f->file, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  return tn_network_read(f->ctx, f->file, out);
}

static void a_network_is_read(void **state) {
  fixture *f = *state;
  tn_network net;
  char program[112];
  snprintf(program, sizeof program, "%s/rows.te", f->folder);
  FILE *file = fopen(program, "w");
  assert_non_null(file);
  fputs("param N = 4\nB[i<N] = sum[k<8](A[i,k])\n", file);
  fclose(file);
  assert_int_equal(read_network(f,
                                "# two tasks\n\nrows.te N=16 x 12 as rows  # behind it\n"
                                "'C[i<8] = A[i] + B[i]' weight 0.25\r\nrows.te",
                                &net),
                   TN_OK);
  assert_int_equal(net.n, 3);
  assert_string_equal(net.tasks[0].name, "rows");
  assert_int_equal(net.tasks[0].count, 12);
  assert_non_null(strstr(tn_program_text(net.tasks[0].program), "i<16"));
  assert_true(net.tasks[1].weight == 0.25 && !net.tasks[1].name && net.tasks[1].count == 0);
  assert_string_equal(net.tasks[2].name, "rows.te");
  assert_non_null(strstr(tn_program_text(net.tasks[2].program), "i<4"));
  tn_network_free(&net);
  unlink(program);
}

static void lines_that_are_refused(void **state) {
  fixture *f = *state;
  static const struct {
    const char *text, *where, *why;
  } cases[] = {
      {"", "names no task", "one a line"},
      {"# nothing\n\n", "names no task", "x 3"},
      {"'C[i<8] = A[i]' x 0", "net.tenon:1:", "whole number of 1 or more"},
      {"\n'C[i<8] = A[i]' x many", "net.tenon:2:", "'many'"},
      {"'C[i<8] = A[i]' weight -1", "net.tenon:1:", "above 0"},
      {"'C[i<8] = A[i]' weight nan", "net.tenon:1:", "above 0"},
      {"'C[i<8] = A[i]' as", "net.tenon:1:", "nothing stands behind as"},
      {"'C[i<8] = A[i]' twice", "net.tenon:1:", "NAME=N, x COUNT"},
      {"'C[i<8] = A[i]' N=x", "net.tenon:1:", "no whole number"},
      {"'C[i<8] = A[i]' N=4", "net.tenon:1:", "N"},
      {"'C[i<8] = A[i]", "net.tenon:1:", "without its partner"},
      {"'C[i<8] = A[i]'x 3", "net.tenon:1:", "a blank is missing"},
      {"'C[i<8] = A[i'", "net.tenon:1:", "expected"},
      {"'C[i<8] = A[i]'\nnone.te", "net.tenon:2:", "there is no program file"},
  };
  for (int i = 0; i < RUNTIME_COUNT(cases); ++i) {
    tn_network net;
    tn_status status = read_network(f, cases[i].text, &net);
    assert_true(status == TN_ERROR_PARSE || status == TN_ERROR_IO);
    assert_true(net.n == 0 && !net.tasks);
    check_fails(f->ctx, status, cases[i].where, cases[i].why);
  }
}

static void a_network_that_is_not_there(void **state) {
  fixture *f = *state;
  tn_network net;
  assert_int_equal(tn_network_read(f->ctx, f->file, &net), TN_ERROR_IO);
  check_fails(f->ctx, TN_ERROR_IO, "net.tenon", "No such file");
  assert_int_equal(tn_network_read(NULL, f->file, &net), TN_ERROR_ARGUMENT);
}

/* What is known of the networks: how many convolutions they have, and how many operations all in all. */
static const struct {
  const char *name;
  int n_convolutions, n_distinct;
  double flops;
} networks[] = {{"resnet50", 53, 23, 8.2e9}, {"mobilenet_v2", 52, 30, 0.61e9}, {"bert_base", 0, 0, 22.4e9}};

static void the_networks_of_the_examples(void **state) {
  fixture *f = *state;
  for (int i = 0; i < RUNTIME_COUNT(networks); ++i) {
    char file[512];
    tn_network net;
    int n_convolutions = 0, n_distinct = 0;
    double flops = 0;
    snprintf(file, sizeof file, "%s/examples/networks/%s.tenon", TENON_SOURCE_DIR, networks[i].name);
    assert_int_equal(tn_network_read(f->ctx, file, &net), TN_OK);
    for (int k = 0; k < net.n; ++k) {
      const tn_task *task = &net.tasks[k];
      int count = RUNTIME_MAX(task->count, 1);
      const char *text = tn_program_text(task->program);
      bool is_convolution = (strstr(text, "Pad[n, h") || strstr(text, "(I[n, h")) && strstr(text, "W[");
      n_convolutions += is_convolution * count;
      n_distinct += is_convolution;
      flops += count * tn_program_flops(task->program);
      for (int j = 0; j < k; ++j)
        assert_string_not_equal(tn_program_key(task->program), tn_program_key(net.tasks[j].program));
    }
    assert_int_equal(n_convolutions, networks[i].n_convolutions);
    assert_int_equal(n_distinct, networks[i].n_distinct);
    assert_true(fabs(flops / networks[i].flops - 1) < 0.05);
    tn_network_free(&net);
  }
}

int run_task_tests(void) {
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_gradient_is_quicker_than_round_robin),
      cmocka_unit_test(rounds_go_where_the_time_is),
      cmocka_unit_test(a_weight_counts),
      cmocka_unit_test(the_mean_counts_ratios),
      cmocka_unit_test(nobody_starves),
      cmocka_unit_test(the_second_round_comes_sooner),
      cmocka_unit_test(a_long_round_costs_more),
      cmocka_unit_test(what_is_over_gets_no_turn),
      cmocka_unit_test(the_best_rate_tells_what_is_left),
      cmocka_unit_test(the_heaviest_is_second),
      cmocka_unit_test(the_total),
      WITH(tasks_share_the_trials),
      WITH(tasks_take_turns),
      WITH(disturbed_finals_are_repeated),
      WITH(equal_programs_are_one_task),
      WITH(other_data_are_another_task),
      WITH(it_goes_on_from_the_log),
      WITH(round_robin_is_fair),
      WITH(a_task_that_fails_costs_itself_only),
      WITH(all_tasks_fail),
      WITH(early_stop_ends_a_task),
      WITH(a_target_ends_a_task),
      WITH(equal_tasks_have_one_target),
      WITH(it_can_be_stopped),
      WITH(a_limit_of_time_is_one_of_all),
      WITH(refused_tasks),
      WITH(refused_options),
      WITH(programs_of_two_contexts),
      WITH(a_network_is_read),
      WITH(lines_that_are_refused),
      WITH(a_network_that_is_not_there),
      WITH(the_networks_of_the_examples),
  };
#undef WITH
  return cmocka_run_group_tests_name("tasks", tests, NULL, NULL);
}
