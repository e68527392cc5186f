/* The cost model: learning to rank programs of synthetic features, the same with the same seed, refusals. */
#include <math.h>
#include <unistd.h>

#include "autotune/feature.h"
#include "autotune/trees.h"
#include "tests/common/check.h"

enum { MAX_PROGRAMS = 600 };

/* ---- how good scores are -------------------------------------------------------------------------------------------- */

/* How well scores order costs: of all pairs with different costs (both failed: not a pair), the share with the scores
 * the right way round; equal scores count half. 0.5 is guessing, 1 perfect; 1 when there is no pair. */
static double rank_accuracy(int n, const float *scores, const double *costs_s) {
  double right = 0, pairs = 0;
  for (int i = 0; i < n; ++i) {
    for (int k = i + 1; k < n; ++k) {
      if (costs_s[i] == costs_s[k]) continue;
      ++pairs;
      if (scores[i] == scores[k])
        right += 0.5;
      else
        right += (scores[i] > scores[k]) == (costs_s[i] < costs_s[k]);
    }
  }
  return pairs > 0 ? right / pairs : 1;
}

/* How many scores are higher; of equal ones the earlier counts as higher. */
static int rank_of(int n, const float *scores, int i) {
  int rank = 0;
  for (int k = 0; k < n; ++k) rank += scores[k] > scores[i] || (scores[k] == scores[i] && k < i);
  return rank;
}

/* The fastest cost among the K programs with the highest scores, as best/cost: 1 when the fastest is among them. */
static double peak_at(int n, const float *scores, const double *costs_s, int k) {
  double best = INFINITY, best_of_k = INFINITY;
  for (int i = 0; i < n; ++i) {
    best = RUNTIME_MIN(best, costs_s[i]);
    if (rank_of(n, scores, i) < k) best_of_k = RUNTIME_MIN(best_of_k, costs_s[i]);
  }
  return isinf(best) ? 1 : best / best_of_k;
}

/* ---- what is learned ------------------------------------------------------------------------------------------------ */

/* Programs of two or three rows; cost depends on a few features of the first rows. */
typedef struct data_set {
  int n;
  int first_row[MAX_PROGRAMS + 1];
  double costs[MAX_PROGRAMS];
  float *rows;
} data_set;

static double row_cost(const float *f) {
  return 1 + f[feature_b0_lines] * (f[feature_vec_len] > 2 ? 1 : 3) + fabsf(f[feature_parallel_prod] - 4) +
         (f[feature_body_written] > 5 ? 4 : 0);
}

static void make_row(runtime_rng *rng, int kind, float *f) {
  for (int i = 0; i < AUTOTUNE_FEATURES; ++i) f[i] = i % 4 ? 0 : (float)runtime_random_below(rng, 6);
  for (int i = feature_cost_share; i < FEATURE_COUNT; ++i) f[i] = 0;
  f[feature_alloc_size] = (float)kind * 3;
  f[feature_vec_len] = (float)runtime_random_below(rng, 5);
  f[feature_parallel_prod] = (float)runtime_random_below(rng, 8);
  f[feature_body_written] = (float)runtime_random_below(rng, 8);
  f[feature_b0_lines] = (float)runtime_random_below(rng, 6);
}

static data_set *make_data(int n, uint64_t seed) {
  data_set *d = calloc(1, sizeof *d);
  assert_non_null(d);
  d->n = n;
  d->rows = calloc((size_t)n * 3 * AUTOTUNE_FEATURES, sizeof(float));
  assert_non_null(d->rows);
  runtime_rng rng = {seed};
  for (int i = 0; i < n; ++i) {
    float *rows = d->rows + (ptrdiff_t)d->first_row[i] * AUTOTUNE_FEATURES;
    int n_rows = 2 + (int)runtime_random_below(&rng, 2);
    for (int k = 0; k < n_rows; ++k) make_row(&rng, k, rows + (ptrdiff_t)k * AUTOTUNE_FEATURES);
    bool fails = rows[feature_body_written] == 7 && rows[feature_vec_len] == 4;
    d->costs[i] = fails ? INFINITY : 1e-4 * (row_cost(rows) + 0.2 * row_cost(rows + AUTOTUNE_FEATURES));
    d->first_row[i + 1] = d->first_row[i] + n_rows;
  }
  return d;
}

static void free_data(data_set *d) {
  free(d->rows);
  free(d);
}

static autotune_model *model_with(tn_context *ctx, const data_set *d, uint64_t seed) {
  autotune_model *model = autotune_model_new(ctx, seed, 2);
  assert_non_null(model);
  for (int i = 0; i < d->n; ++i) {
    const float *rows = d->rows + (ptrdiff_t)d->first_row[i] * AUTOTUNE_FEATURES;
    assert_int_equal(autotune_model_add(model, 0, rows, d->first_row[i + 1] - d->first_row[i], d->costs[i]), TN_OK);
  }
  return model;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

typedef struct quality {
  double accuracy, peak;
} quality;

static quality held_out(int n) {
  tn_context *ctx = check_context();
  data_set *train = make_data(n, 1), *test = make_data(MAX_PROGRAMS, 2);
  autotune_model *model = model_with(ctx, train, 3);
  float scores[MAX_PROGRAMS];
  assert_int_equal(autotune_model_train(model), TN_OK);
  assert_int_equal(autotune_model_predict(model, test->n, test->first_row, test->rows, scores), TN_OK);
  check_ok(ctx);
  quality q = {rank_accuracy(test->n, scores, test->costs), peak_at(test->n, scores, test->costs, 32)};
  autotune_model_free(model);
  free_data(train);
  free_data(test);
  check_context_free(ctx);
  return q;
}

static const struct learning_row {
  const char *name;
  int n;
  double accuracy, peak; /* at least */
} learning[] = {
    {"64 programs already help", 64, 0.57, 0.5},
    {"200 programs rank unseen ones", 200, 0.68, 0.7},
    {"500 programs rank them well", 500, 0.77, 0.8},
};

static void learns(void **state) {
  const struct learning_row *row = *state;
  quality q = held_out(row->n);
  if (q.accuracy < row->accuracy || q.peak < row->peak) fail_msg("accuracy %.3f, peak@32 %.3f", q.accuracy, q.peak);
}

/* How well one model that learned two tasks ranks programs of each; the second one's times are SCALE times as long. */
static void two_tasks(bool are_told, double scale, quality *out) {
  tn_context *ctx = check_context();
  data_set *train = make_data(400, 1), *test = make_data(MAX_PROGRAMS, 2);
  autotune_model *model = autotune_model_new(ctx, 3, 2);
  float scores[MAX_PROGRAMS];
  int tasks[2] = {0, 0};
  for (int i = 0; are_told && i < 2; ++i) tasks[i] = autotune_model_begin_task(model);
  for (int i = 0; i < train->n; ++i) {
    const float *rows = train->rows + (ptrdiff_t)train->first_row[i] * AUTOTUNE_FEATURES;
    int n_rows = train->first_row[i + 1] - train->first_row[i];
    double cost_s = train->costs[i] * (i % 2 ? scale : 1);
    assert_int_equal(autotune_model_add(model, tasks[i % 2], rows, n_rows, cost_s), TN_OK);
  }
  assert_int_equal(autotune_model_train(model), TN_OK);
  assert_int_equal(autotune_model_predict(model, test->n, test->first_row, test->rows, scores), TN_OK);
  *out = (quality){rank_accuracy(test->n, scores, test->costs), peak_at(test->n, scores, test->costs, 32)};
  autotune_model_free(model);
  free_data(train);
  free_data(test);
  check_context_free(ctx);
}

/* Programs are compared with those of their task: a task a thousand times as slow does not spoil what is learned. */
static void one_model_for_two_tasks(void **state) {
  (void)state;
  quality told, untold, alike;
  two_tasks(true, 1000, &told);
  two_tasks(false, 1000, &untold);
  two_tasks(true, 1, &alike);
  assert_true(told.accuracy > untold.accuracy + 0.05);
  assert_true(fabs(told.accuracy - alike.accuracy) < 0.02);
}

static void a_task_that_was_not_begun(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  autotune_model *model = autotune_model_new(ctx, 1, 1);
  float row[AUTOTUNE_FEATURES] = {0};
  assert_int_equal(autotune_model_add(model, 1, row, 1, 1), TN_ERROR_ARGUMENT);
  assert_int_equal(autotune_model_add(model, -1, row, 1, 1), TN_ERROR_ARGUMENT);
  assert_int_equal(autotune_model_begin_task(model), 0);
  assert_int_equal(autotune_model_begin_task(model), 1);
  assert_int_equal(autotune_model_add(model, 1, row, 1, 1), TN_OK);
  assert_int_equal(autotune_model_add(model, 2, row, 1, 1), TN_ERROR_ARGUMENT);
  autotune_model_free(model);
  check_context_free(ctx);
}

static void failures_score_low(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  data_set *train = make_data(500, 1), *test = make_data(MAX_PROGRAMS, 2);
  autotune_model *model = model_with(ctx, train, 3);
  float scores[MAX_PROGRAMS];
  autotune_model_train(model);
  autotune_model_predict(model, test->n, test->first_row, test->rows, scores);
  double sum[2] = {0};
  int n[2] = {0};
  for (int i = 0; i < test->n; ++i) {
    sum[isinf(test->costs[i]) != 0] += scores[i];
    ++n[isinf(test->costs[i]) != 0];
  }
  assert_true(n[1] > 5);
  assert_true(sum[1] / n[1] < 0.8 * sum[0] / n[0]);
  autotune_model_free(model);
  free_data(train);
  free_data(test);
  check_context_free(ctx);
}

/* Programs [FIRST, END) of D, and what the model says of the first one then. */
static float add_and_refresh(autotune_model *model, const data_set *d, int first, int end) {
  float score;
  for (int i = first; i < end; ++i) {
    const float *rows = d->rows + (ptrdiff_t)d->first_row[i] * AUTOTUNE_FEATURES;
    assert_int_equal(autotune_model_add(model, 0, rows, d->first_row[i + 1] - d->first_row[i], d->costs[i]), TN_OK);
  }
  assert_int_equal(autotune_model_refresh(model), TN_OK);
  assert_int_equal(autotune_model_predict(model, 1, d->first_row, d->rows, &score), TN_OK);
  return score;
}

/* A training is over all programs: the many of a long run would add up. */
static void trained_again_when_it_has_grown(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  data_set *d = make_data(MAX_PROGRAMS, 1);
  autotune_model *model = autotune_model_new(ctx, 3, 2);
  float first = add_and_refresh(model, d, 0, 80), few = add_and_refresh(model, d, 80, 89);
  assert_true(autotune_model_is_trained(model));
  assert_true(few == first);
  assert_true(add_and_refresh(model, d, 89, 90) != first);
  autotune_model_free(model);
  free_data(d);
  check_context_free(ctx);
}

static void scores_of(uint64_t seed, bool train, const data_set *d, float *scores) {
  tn_context *ctx = check_context();
  autotune_model *model = model_with(ctx, d, seed);
  if (train) assert_int_equal(autotune_model_train(model), TN_OK);
  assert_int_equal(autotune_model_is_trained(model), train);
  assert_int_equal(autotune_model_predict(model, d->n, d->first_row, d->rows, scores), TN_OK);
  autotune_model_free(model);
  check_context_free(ctx);
}

static void same_seed_same_scores(void **state) {
  (void)state;
  data_set *d = make_data(100, 1);
  for (int train = 0; train < 2; ++train) {
    float a[100], b[100];
    scores_of(5, train, d, a);
    scores_of(5, train, d, b);
    assert_memory_equal(a, b, sizeof a);
  }
  free_data(d);
}

/* Without a model the analytic cost, which stands in a program's rows, is the score. */
static void cost_alone_ranks(void **state) {
  (void)state;
  data_set *d = make_data(100, 1);
  float scores[100];
  for (int i = 0; i < d->n; ++i)
    for (int row = d->first_row[i]; row < d->first_row[i + 1]; ++row)
      d->rows[row * AUTOTUNE_FEATURES + feature_cost_share] = 1.0F / (float)(1 + (i * 37) % 100);
  scores_of(5, false, d, scores);
  for (int i = 0; i < 100; ++i) assert_float_equal(scores[i], 1.0F / (float)(1 + (i * 37) % 100), 1e-6);
  free_data(d);
}

/* What a cost is wrong about is learned: here it says nothing of VEC_LEN, which makes programs slower. */
static void cost_is_corrected(void **state) {
  (void)state;
  enum { N = 160 };
  tn_context *ctx = check_context();
  data_set *d = make_data(2 * N, 1);
  float *guesses = calloc(2 * N, sizeof *guesses), *scores = calloc(2 * N, sizeof *scores);
  autotune_model *model = autotune_model_new(ctx, 1, 1);
  for (int i = 0; i < d->n; ++i) {
    const float *first = d->rows + (ptrdiff_t)d->first_row[i] * AUTOTUNE_FEATURES;
    double ns = 1000 * (1 + i % 16);
    for (int row = d->first_row[i]; row < d->first_row[i + 1]; ++row)
      d->rows[row * AUTOTUNE_FEATURES + feature_cost_share] = (float)(1000 / ns);
    d->costs[i] = 1e-9 * ns * (first[feature_vec_len] > 2 ? 1 : 3);
    guesses[i] = (float)(1000 / ns);
    if (i >= N) continue;
    assert_int_equal(autotune_model_add(model, 0, first, d->first_row[i + 1] - d->first_row[i], d->costs[i]), TN_OK);
  }
  assert_int_equal(autotune_model_train(model), TN_OK);
  assert_int_equal(autotune_model_predict(model, N, d->first_row + N, d->rows, scores), TN_OK);
  double guessed = rank_accuracy(N, guesses + N, d->costs + N), learned = rank_accuracy(N, scores, d->costs + N);
  if (!(learned > 0.85 && learned > guessed + 0.05)) fail_msg("by the cost %.3f, learned %.3f", guessed, learned);
  free(guesses);
  free(scores);
  autotune_model_free(model);
  free_data(d);
  check_context_free(ctx);
}

static void training_can_be_repeated(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  data_set *d = make_data(100, 1);
  autotune_model *model = model_with(ctx, d, 1);
  float first[100], second[100];
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(autotune_model_train(model), TN_OK);
    autotune_model_predict(model, d->n, d->first_row, d->rows, round ? second : first);
  }
  assert_memory_equal(first, second, sizeof first);
  autotune_model_free(model);
  free_data(d);
  check_context_free(ctx);
}

/* A pack's score is the sum of its rows' scores. */
static void scores_are_sums_of_rows(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  data_set *d = make_data(100, 1);
  autotune_model *model = model_with(ctx, d, 1);
  autotune_model_train(model);
  float pack, single[2];
  const int first_pack[] = {0, 2}, first_single[] = {0, 1, 2};
  autotune_model_predict(model, 1, first_pack, d->rows, &pack);
  autotune_model_predict(model, 2, first_single, d->rows, single);
  assert_float_equal(pack, single[0] + single[1], 1e-5);
  autotune_model_free(model);
  free_data(d);
  check_context_free(ctx);
}

static void rows_may_begin_in_the_middle(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  data_set *d = make_data(100, 1);
  autotune_model *model = model_with(ctx, d, 1);
  autotune_model_train(model);
  float all[100], tail[50];
  autotune_model_predict(model, 100, d->first_row, d->rows, all);
  autotune_model_predict(model, 50, d->first_row + 50, d->rows, tail);
  assert_memory_equal(all + 50, tail, sizeof tail);
  autotune_model_free(model);
  free_data(d);
  check_context_free(ctx);
}

static void training_is_quick(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  data_set *d = make_data(500, 1);
  autotune_model *model = model_with(ctx, d, 1);
  uint64_t start = runtime_now_ns();
  autotune_model_train(model);
  assert_true(runtime_now_ns() - start < 20000000000u); /* 0.3 s on an idle machine */
  autotune_model_free(model);
  free_data(d);
  check_context_free(ctx);
}

/* ---- what it does not do ----------------------------------------------------------------------------------------- */

typedef struct fixture {
  tn_context *ctx;
  autotune_model *model;
  float row[2 * AUTOTUNE_FEATURES];
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->ctx = check_context();
  f->model = autotune_model_new(f->ctx, 1, 1);
  *state = f;
  return f->model ? 0 : -1;
}

static int teardown(void **state) {
  fixture *f = *state;
  autotune_model_free(f->model);
  check_context_free(f->ctx);
  free(f);
  return 0;
}

static void refuses_nan_cost(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_add(f->model, 0, f->row, 1, NAN), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "cost model", "nan seconds");
}
static void refuses_zero_cost(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_add(f->model, 0, f->row, 1, 0), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "a cost of 0 seconds");
}
static void refuses_negative_rows(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_add(f->model, 0, f->row, -1, 1), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "-1 rows");
}
static void refuses_too_many_rows(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_add(f->model, 0, f->row, AUTOTUNE_MAX_ROWS + 1, 1), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "33 rows");
}
static void refuses_missing_rows(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_add(f->model, 0, NULL, 1, 1), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "cost model");
}
static void refuses_null(void **state) {
  fixture *f = *state;
  assert_null(autotune_model_new(NULL, 0, 1));
  assert_int_equal(autotune_model_add(NULL, 0, f->row, 1, 1), TN_ERROR_ARGUMENT);
  assert_int_equal(autotune_model_train(NULL), TN_ERROR_ARGUMENT);
  assert_int_equal(autotune_model_refresh(NULL), TN_ERROR_ARGUMENT);
  assert_int_equal(autotune_model_predict(NULL, 1, NULL, NULL, NULL), TN_ERROR_ARGUMENT);
  assert_int_equal(autotune_model_predict(f->model, 1, NULL, NULL, NULL), TN_ERROR_ARGUMENT);
  assert_false(autotune_model_is_trained(NULL));
  autotune_model_free(NULL);
}

static void xgboost_errors_become_warnings(void **state) {
  fixture *f = *state;
  f->row[3] = INFINITY;
  assert_int_equal(autotune_model_add(f->model, 0, f->row, 1, 1), TN_OK);
  assert_int_equal(autotune_model_train(f->model), TN_OK);
  check_has(check_messages(f->ctx), "no cost model: XGBoost failed while preparing");
  assert_int_equal(autotune_model_add(f->model, 0, f->row, 1, 1), TN_OK);
  assert_int_equal(autotune_model_train(f->model), TN_OK);
  assert_false(autotune_model_is_trained(f->model));
}

static void nothing_to_learn_is_no_error(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_train(f->model), TN_OK);
  assert_false(autotune_model_is_trained(f->model));
}

static void failures_alone_teach_nothing(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_add(f->model, 0, f->row, 1, INFINITY), TN_OK);
  assert_int_equal(autotune_model_train(f->model), TN_OK);
  assert_false(autotune_model_is_trained(f->model));
}

static void programs_without_rows_score_lowest(void **state) {
  fixture *f = *state;
  const int first_row[] = {0, 0, 1};
  float scores[2];
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(autotune_model_predict(f->model, 2, first_row, f->row, scores), TN_OK);
    assert_true(isinf(scores[0]) && scores[0] < 0);
    assert_true(isfinite(scores[1]));
    autotune_model_add(f->model, 0, f->row, 1, 1);
    autotune_model_add(f->model, 0, f->row, 0, 1);
    assert_int_equal(autotune_model_train(f->model), TN_OK);
  }
}

static void no_programs_no_scores(void **state) {
  fixture *f = *state;
  assert_int_equal(autotune_model_predict(f->model, 0, NULL, NULL, NULL), TN_OK);
}

/* ---- quality ----------------------------------------------------------------------------------------------------- */

static const struct quality_row {
  const char *name;
  int n, k;
  float scores[4];
  double costs[4];
  double accuracy, peak;
} qualities[] = {
    {"perfect", 3, 1, {3, 2, 1}, {1, 2, 4}, 1, 1},
    {"reversed", 3, 1, {1, 2, 3}, {1, 2, 4}, 0, 0.25},
    {"equal scores are half right", 2, 1, {1, 1}, {1, 2}, 0.5, 1},
    {"equal costs are no pair", 3, 1, {1, 2, 3}, {1, 1, 1}, 1, 1},
    {"failures are slowest", 2, 1, {0, 1}, {INFINITY, 2}, 1, 1},
    {"two failures are no pair", 2, 1, {0, 1}, {INFINITY, INFINITY}, 1, 1},
    {"a failure chosen is worth nothing", 2, 1, {1, 0}, {INFINITY, 2}, 0, 0},
    {"the best among the first two", 4, 2, {4, 3, 2, 1}, {4, 2, 1, 8}, 0.5, 0.5},
    {"all chosen", 4, 4, {4, 3, 2, 1}, {4, 2, 1, 8}, 0.5, 1},
    {"nothing", 0, 1, {0}, {0}, 1, 1},
};

static void measures_quality(void **state) {
  const struct quality_row *row = *state;
  assert_float_equal(rank_accuracy(row->n, row->scores, row->costs), row->accuracy, 1e-9);
  assert_float_equal(peak_at(row->n, row->scores, row->costs, row->k), row->peak, 1e-9);
}

/* ---- XGBoost that is not there, or not as it should be ----------------------------------------------------------- */

static const struct library_row {
  const char *name, *library, *why;
} library_rows[] = {
    {"absent", "libnowhere-to-be-found.so", "cannot be used: libnowhere-to-be-found.so"},
    {"too old", "libm.so.6", "it is too old: it has no function XGBoostVersion"},
};

static void library_that_does_not_do(void **state) {
  const struct library_row *row = *state;
  static const float rows[AUTOTUNE_FEATURES];
  const int first_row[2] = {0, 1};
  float score = -1;
  tn_context *ctx = check_context();
  autotune_model *model = autotune_model_new(ctx, 1, 1);
  autotune_model_set_library(model, row->library);
  assert_int_equal(autotune_model_add(model, 0, rows, 1, 0.5), TN_OK);
  for (int i = 0; i < 2; ++i) assert_int_equal(autotune_model_train(model), TN_OK);
  assert_false(autotune_model_is_trained(model));
  assert_int_equal(autotune_model_predict(model, 1, first_row, rows, &score), TN_OK);
  assert_true(score >= 0 && score <= 1);
  check_has(check_messages(ctx), row->why);
  assert_false(autotune_model_save(model, "/tmp/never-written"));
  autotune_model_free(model);
  check_ok(ctx);
  check_context_free(ctx);
}

static autotune_model *small_model(tn_context *ctx, bool train) {
  autotune_model *model = autotune_model_new(ctx, 1, 1);
  float row[AUTOTUNE_FEATURES] = {0};
  for (int i = 1; train && i <= 40; ++i) {
    row[3] = (float)i;
    assert_int_equal(autotune_model_add(model, 0, row, 1, i * 1e-3), TN_OK);
  }
  assert_int_equal(autotune_model_train(model), TN_OK);
  return model;
}

/* N programs of one to three rows whose fourth feature is LEVEL and whose cost is about that. */
static void add_level(autotune_model *model, int n, float level) {
  float rows[3 * AUTOTUNE_FEATURES] = {0};
  for (int i = 0; i < 3; ++i) rows[i * AUTOTUNE_FEATURES + 3] = level;
  for (int i = 0; i < n; ++i)
    assert_int_equal(autotune_model_add(model, 0, rows, 1 + i % 3, level * (1 + i % 7 * 0.01)), TN_OK);
}

/* After many slow and failed programs the few fast ones of the beginning are still known, and the memory has a bound. */
static void long_runs_keep_the_fastest(void **state) {
  (void)state;
  static const float levels[] = {1, 9, 5};
  const int first_row[] = {0, 1, 2, 3};
  float rows[3 * AUTOTUNE_FEATURES] = {0}, scores[3];
  tn_context *ctx = check_context();
  autotune_model *model = autotune_model_new(ctx, 1, 1);
  for (int i = 0; i < 3; ++i) {
    add_level(model, i == 0 ? 300 : 20000, levels[i]);
    rows[i * AUTOTUNE_FEATURES + 3] = levels[i];
    assert_true(autotune_model_n_rows(model) <= 8192);
  }
  for (int i = 0; i < 5000; ++i)
    assert_int_equal(autotune_model_add(model, 0, rows + AUTOTUNE_FEATURES, 1, INFINITY), TN_OK);
  assert_in_range(autotune_model_n_rows(model), 4096, 8192);
  assert_int_equal(autotune_model_train(model), TN_OK);
  assert_int_equal(autotune_model_predict(model, 3, first_row, rows, scores), TN_OK);
  assert_true(scores[0] > scores[2] + 0.3);
  assert_true(scores[2] > scores[1]);
  autotune_model_free(model);
  check_ok(ctx);
  check_context_free(ctx);
}

/* What a task's best is counts for that task alone: one of a thousand times the seconds keeps its fast programs as well. */
static void each_task_keeps_its_fastest(void **state) {
  (void)state;
  const int first_row[] = {0, 1, 2};
  tn_context *ctx = check_context();
  autotune_model *model = autotune_model_new(ctx, 1, 1);
  int tasks[2] = {autotune_model_begin_task(model), autotune_model_begin_task(model)};
  float programs[2][AUTOTUNE_FEATURES] = {0}, rows[2 * AUTOTUNE_FEATURES] = {0}, scores[2];
  for (int round = 0; round < 2; ++round) {
    float level = rows[round * AUTOTUNE_FEATURES + 3] = programs[1][3] = programs[0][5] = round == 0 ? 1 : 9;
    for (int i = 0; i < (round == 0 ? 500 : 20000); ++i) {
      double cost_s = level * (i % 2 ? 1 : 1e-3);
      assert_int_equal(autotune_model_add(model, tasks[i % 2], programs[i % 2], 1, cost_s), TN_OK);
    }
  }
  assert_int_equal(autotune_model_train(model), TN_OK);
  assert_int_equal(autotune_model_predict(model, 2, first_row, rows, scores), TN_OK);
  assert_true(scores[0] > scores[1] + 0.3);
  autotune_model_free(model);
  check_ok(ctx);
  check_context_free(ctx);
}

static void kept_in_a_file(void **state) {
  (void)state;
  char path[] = "/tmp/tenon-model-XXXXXX.json";
  const int first_row[3] = {0, 1, 2};
  float rows[2 * AUTOTUNE_FEATURES] = {0}, before[2], after[2];
  tn_context *ctx = check_context();
  close(mkstemps(path, 5));
  rows[3] = 2;
  rows[AUTOTUNE_FEATURES + 3] = 30;
  autotune_model *trained = small_model(ctx, true), *fresh = small_model(ctx, false);
  assert_true(autotune_model_save(trained, path));
  assert_false(autotune_model_is_trained(fresh));
  assert_true(autotune_model_load(fresh, path));
  assert_true(autotune_model_is_trained(fresh));
  autotune_model_predict(trained, 2, first_row, rows, before);
  autotune_model_predict(fresh, 2, first_row, rows, after);
  assert_memory_equal(before, after, sizeof before);
  assert_true(before[0] > before[1]);
  autotune_model_free(trained);
  autotune_model_free(fresh);
  unlink(path);
  check_ok(ctx);
  check_context_free(ctx);
}

/* A loaded model asks XGBoost, one that was trained its own trees where the machine has vectors for it: the scores are the same, to the
 * bit, also where a value is missing, and where the last block of rows is not full. */
static void trees_are_those_of_xgboost(void **state) {
  (void)state;
  char path[] = "/tmp/tenon-model-XXXXXX.json";
  tn_context *ctx = check_context();
  data_set *train = make_data(200, 1), *test = make_data(301, 2);
  float own[MAX_PROGRAMS], asked[MAX_PROGRAMS];
  autotune_model *trained = model_with(ctx, train, 3), *loaded = autotune_model_new(ctx, 3, 1);
  assert_int_equal(autotune_model_train(trained), TN_OK);
  close(mkstemps(path, 5));
  assert_true(autotune_model_save(trained, path));
  assert_true(autotune_model_load(loaded, path));
#if defined(__x86_64__)
  assert_int_equal(autotune_model_has_trees(trained), __builtin_cpu_supports("avx512f") != 0);
#endif
  assert_false(autotune_model_has_trees(loaded));
  for (int misses = 0; misses < 2; misses++) {
    if (misses) test->rows[7 * AUTOTUNE_FEATURES + feature_b0_lines] = NAN;
    assert_int_equal(autotune_model_predict(trained, test->n, test->first_row, test->rows, own), TN_OK);
    assert_int_equal(autotune_model_predict(loaded, test->n, test->first_row, test->rows, asked), TN_OK);
    assert_memory_equal(own, asked, sizeof *own * (size_t)test->n);
  }
  autotune_model_free(trained);
  autotune_model_free(loaded);
  free_data(train);
  free_data(test);
  unlink(path);
  check_ok(ctx);
  check_context_free(ctx);
}

#define LEAF(id) "{\"nodeid\": " #id ", \"leaf\": 0.5}"
#define SPLIT(feature, no, children)                                                            \
  "{\"nodeid\": 0, \"split\": \"" feature "\", \"split_condition\": 2, \"yes\": 1, \"no\": " no \
  ", \"children\": [" children "]}"

static const struct tree_row {
  const char *name, *text;
} tree_rows[] = {
    {"no JSON", "nonsense"},
    {"neither leaf nor split", "{\"nodeid\": 0}"},
    {"one child", SPLIT("f3", "2", LEAF(1))},
    {"a feature that rows do not have", SPLIT("f100000", "2", LEAF(1) ", " LEAF(2))},
    {"a feature by another name", SPLIT("lines", "2", LEAF(1) ", " LEAF(2))},
    {"a child that is not there", SPLIT("f3", "3", LEAF(1) ", " LEAF(2))},
};

static void tree_that_is_not_understood(void **state) {
  const struct tree_row *row = *state;
  assert_null(autotune_trees_read(1, &row->text));
}

/* Children may stand in any order; a tree that is one leaf is as deep as the others. */
static void reads_trees(void **state) {
  (void)state;
  const char *texts[] = {SPLIT("f3", "2", "{\"nodeid\": 2, \"leaf\": 4}, {\"nodeid\": 1, \"leaf\": 1}"), LEAF(0)};
  float rows[3 * AUTOTUNE_FEATURES] = {0}, sums[3];
  autotune_trees *trees = autotune_trees_read(2, texts);
  if (!trees) return; /* no machine for it */
  for (int i = 0; i < 3; i++) rows[i * AUTOTUNE_FEATURES + 3] = (float)i + 1;
  assert_true(autotune_trees_sum(trees, 3, rows, sums));
  assert_float_equal(sums[0], 1.5, 0);
  assert_float_equal(sums[1], 4.5, 0);
  assert_float_equal(sums[2], 4.5, 0);
  rows[5] = NAN;
  assert_false(autotune_trees_sum(trees, 3, rows, sums));
  autotune_trees_free(trees);
}

/* A file that is no model, and a model of other features. */
static void file_that_does_not_fit(void **state) {
  (void)state;
  char path[] = "/tmp/tenon-model-XXXXXX.json";
  tn_context *ctx = check_context();
  close(mkstemps(path, 5));
  autotune_model *trained = small_model(ctx, true), *fresh = small_model(ctx, false);
  assert_false(autotune_model_load(fresh, path));
  check_has(check_messages(ctx), "it cannot be read");
  assert_true(autotune_model_save(trained, path));
  char *text = runtime_read_file(ctx, path, NULL), *version = text ? strstr(text, "tenon_features") : NULL;
  assert_non_null(version);
  version = strstr(version, "176.2");
  assert_non_null(version);
  memcpy(version, "171.1", 5);
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
  free(text);
  assert_false(autotune_model_load(fresh, path));
  assert_false(autotune_model_is_trained(fresh));
  check_has(check_messages(ctx), "it was trained on other features");
  autotune_model_free(trained);
  autotune_model_free(fresh);
  unlink(path);
  check_context_free(ctx);
}

static void turned_off(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  autotune_model *model = autotune_model_new(ctx, 1, 1);
  static const float rows[AUTOTUNE_FEATURES];
  autotune_model_turn_off(model);
  assert_int_equal(autotune_model_add(model, 0, rows, 1, 0.5), TN_OK);
  assert_int_equal(autotune_model_train(model), TN_OK);
  assert_false(autotune_model_is_trained(model));
  assert_string_equal(check_messages(ctx), "");
  autotune_model_free(model);
  check_context_free(ctx);
}

int run_model(void) {
  const struct CMUnitTest learned[] = {
      cmocka_unit_test(trained_again_when_it_has_grown),
      cmocka_unit_test(one_model_for_two_tasks),
      cmocka_unit_test(a_task_that_was_not_begun),
      cmocka_unit_test(failures_score_low),
      cmocka_unit_test(same_seed_same_scores),
      cmocka_unit_test(cost_alone_ranks),
      cmocka_unit_test(cost_is_corrected),
      cmocka_unit_test(training_can_be_repeated),
      cmocka_unit_test(scores_are_sums_of_rows),
      cmocka_unit_test(rows_may_begin_in_the_middle),
      cmocka_unit_test(training_is_quick),
      cmocka_unit_test(long_runs_keep_the_fastest),
      cmocka_unit_test(each_task_keeps_its_fastest),
      cmocka_unit_test(kept_in_a_file),
      cmocka_unit_test(file_that_does_not_fit),
      cmocka_unit_test(trees_are_those_of_xgboost),
      cmocka_unit_test(reads_trees),
      cmocka_unit_test(turned_off),
  };
#define WITH_MODEL(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
  const struct CMUnitTest refusals[] = {
      WITH_MODEL(refuses_nan_cost),
      WITH_MODEL(refuses_zero_cost),
      WITH_MODEL(refuses_negative_rows),
      WITH_MODEL(refuses_too_many_rows),
      WITH_MODEL(refuses_missing_rows),
      WITH_MODEL(refuses_null),
      WITH_MODEL(xgboost_errors_become_warnings),
      WITH_MODEL(nothing_to_learn_is_no_error),
      WITH_MODEL(failures_alone_teach_nothing),
      WITH_MODEL(programs_without_rows_score_lowest),
      WITH_MODEL(no_programs_no_scores),
  };
  return CHECK_TABLE("learning", learning, learns) +
         CHECK_TABLE("other libraries", library_rows, library_that_does_not_do) +
         CHECK_TABLE("trees", tree_rows, tree_that_is_not_understood) + CHECK_TESTS("learned", learned) +
         CHECK_TESTS("model refusals", refusals) + CHECK_TABLE("quality", qualities, measures_quality);
}
