/* The quality of the search, judged without a clock: ten spaces whose times were recorded (tests/search/recorded), and how many
 * trials the search takes to 95 % of the best that the records know. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "autotune/internal.h"
#include "tests/search/search_test.h"

enum { TRIALS = 144 };

/* MOST: trials to 95 % of the best known. */
typedef struct recorded {
  const char *name, *program;
  int most;
} recorded;

static const recorded spaces[] = {
    {"matmul_128", MATMUL(128, 128, 128), 24},
    {"matmul_127", MATMUL(127, 127, 127), 24},
    {"matmul_thin", MATMUL(512, 16, 256), 60},
    {"matmul_transposed", "C[i<192, j<192] = sum[k<192](A[i,k] * B[j,k])", 24},
    {"matmul_relu", "M[i<96, j<160] = sum[k<128](A[i,k] * B[k,j]); R[i<96, j<160] = max(M[i,j] + D[j], 0)", 72},
    {"softmax", SOFTMAX(128, 256), 36},
    {"row_sum", ROW_SUM(512, 1000), 24},
    {"total", "B = sum[i<300, k<300](A[i,k])", 24},
    {"stencil", "input P: f32[258,258]; S[y<256, x<256] = sum[r<3, s<3](P[y+r, x+s]); O[y<256, x<256] = S[y,x] * 0.111",
     TRIALS},
    {"batch", "C[b<8, i<64, j<48] = sum[k<64](A[b,i,k] * B[b,k,j])", 24},
};

/* A run over a replay: when it came to 95 % of the best known. */
typedef struct curve {
  double wanted_s;
  int n, reached;   /* trials so far; the trial that reached it, 0: none has */
  uint64_t history; /* a hash of all candidates in the order of their trials */
} curve;

static void follow(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  curve *c = user;
  ++c->n;
  c->history = runtime_hash(candidate->steps, strlen(candidate->steps), c->history);
  if (c->reached == 0 && m->n_costs > 0 && m->costs[0] <= c->wanted_s) c->reached = c->n;
}

static void find_best(tn_context *ctx, const char *log, double *best_s, char *target, size_t n) {
  tn_log_table table = {0};
  assert_int_equal(tn_log_top(ctx, log, NULL, 1, &table), TN_OK);
  assert_int_equal(table.n_rows, 1);
  *best_s = table.rows[0].cost_s;
  snprintf(target, n, "%s", table.rows[0].target);
  tn_log_table_free(&table);
}

static curve search(const recorded *space, uint64_t seed) {
  char records[256], log[64], target_text[512];
  double best_s;
  curve c = {0};
  tn_context *ctx = check_context();
  tn_builder builder;
  tn_runner runner;
  snprintf(records, sizeof records, "%s/tests/search/recorded/%s.json", TENON_SOURCE_DIR, space->name);
  snprintf(log, sizeof log, "/tmp/tenon-replay-%d.json", (int)getpid());
  unlink(log);
  find_best(ctx, records, &best_s, target_text, sizeof target_text);
  tn_program *program = tn_program_parse(ctx, space->program, 0, NULL);
  tn_target *target = tn_target_new(ctx, target_text);
  check_ok(ctx);
  assert_true(tn_replay_new(program, target, records, &builder, &runner));
  c.wanted_s = best_s / 0.95;
  tn_tune_options options = {.log = log,
                             .trials = TRIALS,
                             .seed = seed,
                             .target = target,
                             .builder = &builder,
                             .runner = &runner,
                             .on_measured = follow,
                             .user = &c};
  assert_int_equal(tn_tune(program, &options, NULL), TN_OK);
  builder.free(builder.self);
  runner.free(runner.self);
  unlink(log);
  check_context_free(ctx);
  return c;
}

static bool finds_the_best_known(const recorded *space) {
  curve c = search(space, 1);
  bool is_found = c.reached > 0 && c.reached <= space->most;
  print_message("%-18s 95 %% of the best known after %2d trials (0: never), at most %d are allowed%s\n", space->name,
                c.reached, space->most, is_found ? "" : ": FAILED");
  return is_found;
}

static void test_trials_to_the_best_known(void **state) {
  (void)state;
  int n_missed = 0;
  for (int i = 0; i < RUNTIME_COUNT(spaces); ++i) n_missed += !finds_the_best_known(&spaces[i]);
  if (n_missed > 0) fail_msg("%d of %d spaces", n_missed, RUNTIME_COUNT(spaces));
}

static void test_a_replay_repeats_itself(void **state) {
  (void)state;
  curve a = search(&spaces[0], 3), b = search(&spaces[0], 3), other = search(&spaces[0], 4);
  assert_true(a.history == b.history && a.reached == b.reached);
  assert_true(a.history != other.history);
}

static void test_logs_without_the_program_are_refused(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *program = tn_program_parse(ctx, MATMUL(8, 8, 8), 0, NULL);
  tn_target *target = tn_target_new(ctx, NULL);
  tn_builder builder;
  tn_runner runner;
  char records[256];
  snprintf(records, sizeof records, "%s/tests/search/recorded/total.json", TENON_SOURCE_DIR);
  assert_false(tn_replay_new(program, target, records, &builder, &runner));
  check_fails(ctx, TN_ERROR_RECORD, "no record with a time of this program", "record some by tuning it");
  tn_context_clear(ctx);
  assert_false(tn_replay_new(program, target, "/no/such.json", &builder, &runner));
  check_fails(ctx, TN_ERROR_IO, "/no/such.json");
  tn_context_clear(ctx);
  assert_false(tn_replay_new(program, target, records, NULL, &runner));
  check_fails(ctx, TN_ERROR_ARGUMENT, "tn_replay_new", "NULL");
  check_context_free(ctx);
}

int run_replay_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trials_to_the_best_known),
      cmocka_unit_test(test_a_replay_repeats_itself),
      cmocka_unit_test(test_logs_without_the_program_are_refused),
  };
  return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
