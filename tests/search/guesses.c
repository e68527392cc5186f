/* What is measured first where a log has records of programs like this one: guesses, and the default schedule behind them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/search/search_test.h"

enum { ROUND = 8 };

typedef struct row {
  const char *name;
  bool has_neighbours, prepares, estimates;
  int per_round;
  int least, most;       /* which trial runs the default schedule; 0: none */
  bool prepares_default; /* its time is asked for with the reference */
} row;

static const row rows[] = {
    {"nothing is known", false, false, false, ROUND, 1, 1, false},
    {"neighbours", true, false, false, ROUND, ROUND, ROUND, false},
    {"neighbours, a trial a round", true, false, false, 1, 2, 3, false},
    {"nothing is known, the runner makes a reference", false, true, false, ROUND, 0, 0, true},
    {"neighbours, the runner makes a reference", true, true, false, ROUND, ROUND, ROUND, false},
    {"neighbours, what the default takes is estimated", true, true, true, ROUND, 0, 0, false},
};

/* The machine that times nothing, and what it was asked. */
typedef struct machine {
  const row *row;
  int n, default_at; /* runs */
  double best_s, timeout_s;
  bool was_default_wanted, has_prepared;
} machine;

static tn_status fake_build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  (void)self, (void)candidates;
  for (int i = 0; i < n; i++) out[i] = (tn_measurement){.object = strdup("object"), .object_bytes = 7};
  return TN_OK;
}

/* The default schedule is so slow that a limit made of the others' times would end it. */
static tn_status fake_run(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  machine *m = self;
  for (int i = 0; i < n; i++) {
    bool is_default = strncmp(candidates[i].steps, "[]", 2) == 0;
    m->n++;
    if (is_default) m->default_at = m->n, m->best_s = candidates[i].best_s, m->timeout_s = candidates[i].timeout_s;
    inout[i].n_costs = 1;
    inout[i].costs[0] = is_default ? 5 : 1e-4 + 1e-6 * (double)strlen(candidates[i].steps);
    inout[i].checked = true;
  }
  return TN_OK;
}

static tn_status fake_prepare(void *self, const tn_candidate *candidate, tn_measurement *out) {
  machine *m = self;
  *out = (tn_measurement){.n_costs = 1, .costs = {4}, .checked = true, .is_estimate = m->row->estimates};
  m->was_default_wanted = candidate->steps != NULL;
  m->has_prepared = true;
  return TN_OK;
}

static tn_tune_result tune(const char *log, const char *text, machine *m, int trials) {
  tn_context *ctx = check_context();
  tn_builder builder = {.self = m, .build = fake_build};
  tn_runner runner = {.self = m, .run = fake_run, .prepare = m->row->prepares ? fake_prepare : NULL};
  tn_tune_options options = {.log = log,
                             .target = tn_target_new(ctx, "triple=x86_64-linux-gnu cpu=znver4 threads=2"),
                             .trials = trials,
                             .per_round = m->row->per_round,
                             .seed = 1,
                             .cost_model = "none",
                             .builder = &builder,
                             .runner = &runner};
  tn_tune_result result;
  tn_program *program = tn_program_parse(ctx, text, 0, NULL);
  check_ok(ctx);
  assert_int_equal(tn_tune(program, &options, &result), TN_OK);
  check_context_free(ctx);
  return result;
}

static void the_default_can_wait(void **state) {
  const row *r = *state;
  char log[] = "/tmp/tenon-guesses-XXXXXX";
  static const row plain = {.per_round = ROUND};
  int fd = mkstemp(log);
  assert_true(fd >= 0);
  close(fd);
  if (r->has_neighbours) tune(log, MATMUL(64, 96, 64), &(machine){.row = &plain}, ROUND);
  machine m = {.row = r};
  tn_tune_result result = tune(log, MATMUL(80, 96, 64), &m, 2 * ROUND);
  if (m.default_at < r->least || m.default_at > r->most)
    fail_msg("%s: the default schedule is trial %d", r->name, m.default_at);
  assert_true(m.best_s == 0 && m.timeout_s == 0);
  assert_true(m.has_prepared == r->prepares && m.was_default_wanted == r->prepares_default);
  assert_true(result.default_s == (r->most > 0 ? 5 : 4));
  assert_true(result.default_is_estimate == r->estimates);
  assert_true(result.best_s < 1);
  unlink(log);
}

int run_guess_tests(void) { return CHECK_TABLE("guesses", rows, the_default_can_wait); }
