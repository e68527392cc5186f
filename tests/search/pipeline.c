/* The pipeline over a builder and a runner made up, with a clock made up: nothing sleeps. Nobody idles while work waits, and
 * what is proposed does not depend on how many work. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "autotune/tuner.h"
#include "tests/search/search_test.h"

enum { MOST = 64, MOST_SEEN = 1024 };

/* Jobs of one kind: at work, with the time they end; or waiting. */
typedef struct lane {
  int width;
  double takes_s;
  int n_working, n_waiting;
  tn_job *working[MOST], *waiting[MOST];
  double ends_s[MOST];
} lane;

typedef struct simulated {
  double now_s;
  lane builds, runs;
  bool varies; /* builds take from half to three times as long */
  int n_built; /* built, but not given to the runner yet */
  int n_run;   /* the first one's time limits the others: it runs alone */
  double idle_run_s, busy_run_s, busy_build_s;
  int n_seen;
  uint64_t seen[MOST_SEEN]; /* hashes of the steps, in the order in which builds were submitted */
} simulated;

static double length_of(const simulated *m, const lane *l, const tn_job *job) {
  if (l != &m->builds || !m->varies) return l->takes_s;
  const char *steps = job->candidate->steps;
  return l->takes_s * (0.5 + (double)(runtime_hash(steps, strlen(steps), 1) % 26) / 10);
}

static void start(simulated *m, lane *l) {
  while (l->n_working < l->width && l->n_waiting > 0) {
    tn_job *job = l->waiting[0];
    memmove(l->waiting, l->waiting + 1, sizeof *l->waiting * (size_t)--l->n_waiting);
    l->ends_s[l->n_working] = m->now_s + length_of(m, l, job);
    l->working[l->n_working++] = job;
  }
}

static tn_status submit(simulated *m, lane *l, tn_job *job) {
  assert_true(l->n_waiting < MOST);
  l->waiting[l->n_waiting++] = job;
  start(m, l);
  return TN_OK;
}

static int first_to_end(const lane *l) {
  int first = -1;
  for (int i = 0; i < l->n_working; ++i)
    if (first < 0 || l->ends_s[i] < l->ends_s[first]) first = i;
  return first;
}

static double next_end(const lane *l) {
  int first = first_to_end(l);
  return first < 0 ? INFINITY : l->ends_s[first];
}

/* Time passes; the runner should not have idled if something was built. */
static void pass(simulated *m, double until_s) {
  double passed = until_s - m->now_s;
  if (m->runs.n_working < m->runs.width && m->n_built > 0 && m->n_run > 0) m->idle_run_s += passed;
  m->busy_run_s += passed * m->runs.n_working;
  m->busy_build_s += passed * m->builds.n_working;
  m->now_s = until_s;
}

static tn_job *take_ended(simulated *m, lane *l) {
  int i = first_to_end(l);
  if (i < 0 || l->ends_s[i] > m->now_s) return NULL;
  tn_job *job = l->working[i];
  l->n_working--;
  l->working[i] = l->working[l->n_working];
  l->ends_s[i] = l->ends_s[l->n_working];
  start(m, l);
  return job;
}

static tn_job *poll_lane(simulated *m, lane *l, double wait_s) {
  tn_job *job = take_ended(m, l);
  if (job) return job;
  double next = fmin(next_end(&m->builds), next_end(&m->runs));
  if (next > m->now_s) pass(m, fmin(next, m->now_s + wait_s));
  return take_ended(m, l);
}

static tn_status submit_build(void *self, tn_job *job) {
  simulated *m = self;
  m->seen[m->n_seen++ % MOST_SEEN] = runtime_hash(job->candidate->steps, strlen(job->candidate->steps), 0);
  return submit(m, &m->builds, job);
}

static tn_status poll_build(void *self, double wait_s, tn_job **done) {
  simulated *m = self;
  *done = poll_lane(m, &m->builds, wait_s);
  if (*done) {
    (*done)->measurement->object = strdup("object");
    m->n_built++;
  }
  return TN_OK;
}

static tn_status submit_run(void *self, tn_job *job) {
  simulated *m = self;
  m->n_built--;
  return submit(m, &m->runs, job);
}

/* The cost is a hash of the steps. */
static tn_status poll_run(void *self, double wait_s, tn_job **done) {
  *done = poll_lane(self, &((simulated *)self)->runs, wait_s);
  if (!*done) return TN_OK;
  const char *steps = (*done)->candidate->steps;
  tn_measurement *m = (*done)->measurement;
  m->n_costs = 1;
  ((simulated *)self)->n_run++;
  m->costs[0] = 1e-3 + 1e-6 * (double)(runtime_hash(steps, strlen(steps), 2) % 1000);
  m->checked = true;
  return TN_OK;
}

static void simulate(simulated *m, int trials) {
  char log[64];
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, MATMUL_ADD(64, 64, 64), 0, NULL);
  tn_builder builder = {.self = m, .submit = submit_build, .poll = poll_build, .width = m->builds.width};
  tn_runner runner = {.self = m, .submit = submit_run, .poll = poll_run, .width = m->runs.width};
  tn_tune_result result;
  snprintf(log, sizeof log, "/tmp/tenon-pipeline-%d.json", (int)getpid());
  unlink(log);
  tn_tune_options options = {.log = log, .trials = trials, .seed = 7, .builder = &builder, .runner = &runner};
  assert_int_equal(tn_tune(program, &options, &result), TN_OK);
  check_ok(ctx);
  assert_int_equal(result.trials, trials);
  assert_int_equal(m->builds.n_working + m->builds.n_waiting + m->runs.n_working + m->runs.n_waiting, 0);
  unlink(log);
  check_context_free(ctx);
}

static simulated machine(int builders, int runners, bool varies) {
  return (simulated){
      .builds = {.width = builders, .takes_s = 0.05}, .runs = {.width = runners, .takes_s = 0.01}, .varies = varies};
}

/* 50 ms a build, 10 ms a run: five builders keep one runner busy from the first object to the last run. */
static void test_nobody_idles(void **state) {
  (void)state;
  simulated m = machine(5, 1, false);
  simulate(&m, 200);
  assert_true(m.idle_run_s == 0);
  assert_true(fabs(m.busy_run_s - 200 * 0.01) < 1e-6);
  if (m.now_s > 0.05 + 200 * 0.01 + 0.05) fail_msg("200 candidates took %g s", m.now_s);
}

static void test_nobody_idles_with_few_builders(void **state) {
  (void)state;
  simulated m = machine(2, 1, true);
  simulate(&m, 100);
  assert_true(m.idle_run_s == 0);
  double least_s = m.busy_build_s / 2;
  if (m.now_s > 1.03 * least_s + 0.2) fail_msg("100 candidates took %g s, the builders needed %g s", m.now_s, least_s);
}

/* Several machines are a runner of that width. */
static void test_several_runners(void **state) {
  (void)state;
  simulated m = machine(20, 4, false);
  simulate(&m, 200);
  assert_true(m.idle_run_s == 0);
  if (m.now_s > 0.05 + 200 * 0.01 / 4 + 0.15) fail_msg("200 candidates took %g s", m.now_s);
}

/* One seed, one sequence, whoever is first. */
static void test_same_candidates_with_any_number_of_workers(void **state) {
  (void)state;
  static const struct {
    int builders, runners;
    bool varies;
  } crews[] = {{1, 1, false}, {2, 1, true}, {7, 1, true}, {3, 4, true}};
  simulated first = machine(1, 1, false);
  simulate(&first, 150);
  assert_int_equal(first.n_seen, 150);
  for (int i = 1; i < RUNTIME_COUNT(crews); ++i) {
    simulated other = machine(crews[i].builders, crews[i].runners, crews[i].varies);
    simulate(&other, 150);
    assert_int_equal(other.n_seen, first.n_seen);
    assert_memory_equal(other.seen, first.seen, sizeof first.seen);
  }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refuse(const tn_builder *builder, const tn_runner *runner, const char *what, const char *remedy) {
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, MATMUL_ADD(8, 8, 8), 0, NULL);
  tn_tune_options options = {.log = "/tmp/tenon-none.json", .builder = builder, .runner = runner};
  assert_int_equal(tn_tune(program, &options, NULL), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, what, remedy);
  check_context_free(ctx);
}

static void test_halves_are_refused(void **state) {
  (void)state;
  const tn_builder whole = {.submit = submit_build, .poll = poll_build}, no_poll = {.submit = submit_build};
  const tn_runner runs = {.submit = submit_run, .poll = poll_run}, no_submit = {.poll = poll_run}, nothing = {0};
  refuse(&no_poll, &runs, "options.builder has submit without poll", "both or neither");
  refuse(&whole, &no_submit, "options.runner has poll without submit", "both or neither");
  refuse(&whole, &nothing, "options.runner has no run function", "no submit and poll");
  refuse(&whole, NULL, "options.builder is given without options.runner", "what one makes");
}

int run_pipeline_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nobody_idles),       cmocka_unit_test(test_nobody_idles_with_few_builders),
      cmocka_unit_test(test_several_runners),    cmocka_unit_test(test_same_candidates_with_any_number_of_workers),
      cmocka_unit_test(test_halves_are_refused),
  };
  return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
