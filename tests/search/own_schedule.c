/* A program's own `schedule { }` blocks in a run: measured like any other candidate, in the finals, told in the result, and
 * refused before anything runs. Builder and runner are made up. */
#include <jansson.h>
#include <unistd.h>

#include "tests/search/search_test.h"

#define OWN "split(C, j, 16); parallel(C, i); vectorize(C, j.inner)"

/* What the made-up machine takes, in seconds. */
static const double own_s = 2e-3, default_s = 9e-3;

typedef struct run {
  tn_context *ctx;
  tn_program *program;
  char folder[64], log[96];
  char *own; /* its steps */
  int n_own, n_final;
  double another_s; /* what all other schedules take */
  tn_tune_options options;
  tn_tune_result result;
} run;

static tn_status fake_build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  (void)self, (void)candidates;
  for (int i = 0; i < n; i++) out[i] = (tn_measurement){.build_s = 0.001, .object = strdup("object")};
  return TN_OK;
}

/* Whether two lists of steps are the same, however they are written. */
static bool are_equal(const char *a, const char *b) {
  json_t *left = json_loads(a, 0, NULL), *right = json_loads(b, 0, NULL);
  bool equal = json_equal(left, right);
  json_decref(left);
  json_decref(right);
  return equal;
}

static tn_status fake_run(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  run *r = self;
  for (int i = 0; i < n; i++) {
    bool is_own = r->own && are_equal(candidates[i].steps, r->own);
    r->n_own += is_own && !candidates[i].is_final;
    r->n_final += is_own && candidates[i].is_final;
    inout[i].n_costs = 1;
    inout[i].checked = true;
    inout[i].costs[0] = is_own ? own_s : are_equal(candidates[i].steps, "[]") ? default_s : r->another_s;
  }
  return TN_OK;
}

static const tn_builder builder = {.build = fake_build};

/* SCHEDULE NULL: the program has no block. */
static void begin(run *r, const char *schedule) {
  char text[512];
  *r = (run){.ctx = check_context(), .another_s = 3e-3};
  snprintf(text, sizeof text, MATMUL(64, 64, 64) "%s%s%s", schedule ? "; schedule { " : "", schedule ? schedule : "",
           schedule ? " }" : "");
  r->program = tn_program_parse(r->ctx, text, 0, NULL);
  check_ok(r->ctx);
  tn_schedule *s = tn_schedule_new(r->program);
  if (schedule && tn_schedule_apply_own(s) == TN_OK) r->own = tn_schedule_print(s, TN_FORM_STEPS);
  tn_schedule_free(s);
  tn_context_clear(r->ctx);
  strcpy(r->folder, "/tmp/tenon-own-XXXXXX");
  assert_non_null(mkdtemp(r->folder));
  snprintf(r->log, sizeof r->log, "%s/log.json", r->folder);
}

static tn_status tune(run *r, int trials, int finalists) {
  const tn_runner runner = {.self = r, .run = fake_run};
  r->options = (tn_tune_options){.log = r->log,
                                 .trials = trials,
                                 .finalists = finalists,
                                 .seed = 1,
                                 .cost_model = "none",
                                 .builder = &builder,
                                 .runner = &runner};
  return tn_tune(r->program, &r->options, &r->result);
}

static void end(run *r) {
  unlink(r->log);
  rmdir(r->folder);
  free(r->own);
  check_context_free(r->ctx);
}

static void is_second_candidate(void **state) {
  (void)state;
  run r;
  begin(&r, OWN);
  assert_int_equal(tune(&r, 2, -1), TN_OK);
  assert_int_equal(r.n_own, 1);
  assert_true(r.result.own_s == own_s && r.result.best_s == own_s && r.result.default_s == default_s);
  end(&r);
}

/* Another run takes its time from the log and does not measure it again. */
static void is_known_from_log(void **state) {
  (void)state;
  run r;
  begin(&r, OWN);
  assert_int_equal(tune(&r, 4, -1), TN_OK);
  assert_int_equal(tune(&r, 8, -1), TN_OK);
  assert_int_equal(r.n_own, 1);
  assert_int_equal(r.result.reused, 4);
  assert_true(r.result.own_s == own_s);
  end(&r);
}

/* The record's steps make it again in a program without the block. */
static void is_replayed(void **state) {
  (void)state;
  run r;
  begin(&r, OWN);
  assert_int_equal(tune(&r, 12, -1), TN_OK);
  tn_program *plain = tn_program_parse(r.ctx, MATMUL(64, 64, 64), 0, NULL);
  double seconds;
  tn_schedule *s = tn_apply_best(plain, NULL, r.log, &seconds);
  check_ok(r.ctx);
  char *steps = tn_schedule_print(s, TN_FORM_STEPS);
  assert_string_equal(steps, r.own);
  assert_true(seconds == own_s);
  free(steps);
  tn_schedule_free(s);
  end(&r);
}

/* Others are faster, more than the finals have room for. */
static void takes_part_in_finals(void **state) {
  (void)state;
  run r;
  begin(&r, OWN);
  r.another_s = 1e-3;
  assert_int_equal(tune(&r, 16, 2), TN_OK);
  assert_true(r.n_final > 0);
  assert_true(r.result.own_s == own_s && r.result.best_s == 1e-3);
  end(&r);
}

/* As hopeless as the generic schedule may be. */
static void slow_one_is_left_out(void **state) {
  (void)state;
  run r;
  begin(&r, OWN);
  r.another_s = 1e-4;
  assert_int_equal(tune(&r, 16, 2), TN_OK);
  assert_int_equal(r.n_final, 0);
  assert_true(r.result.own_s == own_s);
  end(&r);
}

static void without_one_nothing_is_told(void **state) {
  (void)state;
  run r;
  begin(&r, NULL);
  assert_int_equal(tune(&r, 8, -1), TN_OK);
  assert_true(r.result.own_s == 0);
  end(&r);
}

/* A block without steps is the default schedule, which is measured once. */
static void empty_one_is_the_default(void **state) {
  (void)state;
  run r;
  begin(&r, "");
  assert_int_equal(tune(&r, 8, -1), TN_OK);
  assert_int_equal(r.n_own, 1);
  assert_true(r.result.own_s == r.result.default_s && r.result.own_s > 0);
  end(&r);
}

typedef struct refusal {
  const char *name, *schedule, *part, *other_part;
} refusal;

static const refusal refusals[] = {
    {"lanes over a reduction", "vectorize(C, k)", "vectorize(C, k)", "reduction"},
    {"a stage that is not there", "parallel(D, i)", "D", "C"},
    {"no list of primitives", "split(C, j 16)", "schedule block, line 1", "expected"},
    {"the second of two steps", "parallel(C, i); split(C, q, 4)", "split(C, q", "q"},
};

static void refused(void **state) {
  const refusal *row = *state;
  run r;
  begin(&r, row->schedule);
  tn_status status = tune(&r, 8, -1);
  assert_int_not_equal(status, TN_OK);
  check_fails(r.ctx, status, row->part, row->other_part);
  assert_int_equal(r.result.trials, 0);
  assert_int_not_equal(access(r.log, F_OK), 0);
  end(&r);
}

int run_own_schedule_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_second_candidate),
      cmocka_unit_test(is_known_from_log),
      cmocka_unit_test(is_replayed),
      cmocka_unit_test(takes_part_in_finals),
      cmocka_unit_test(slow_one_is_left_out),
      cmocka_unit_test(without_one_nothing_is_told),
      cmocka_unit_test(empty_one_is_the_default),
  };
  return CHECK_TABLE("a program's own schedule is refused", refusals, refused) +
         CHECK_TESTS("a program's own schedule", tests);
}
