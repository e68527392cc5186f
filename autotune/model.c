/* model.c: the cost model: XGBoost's boosted trees, trained during the run.
 *
 * A program is a pack of rows (one a written buffer); its score is the sum of its rows' outputs, which shall be best
 * cost / cost: 1 for the fastest, 0 for a failure. The loss is w/2 * (sum - label)^2; a row's gradient is w * (sum -
 * label). Two things differ from TVM's model with the same objective:
 *  - the hessian of a row is w * (rows of the pack): the rows move together, and with w alone a pack of n rows would
 *    step n times too far;
 *  - the weight has a floor, so that slow and failed programs teach what to avoid instead of counting for nothing. */
#include <math.h>
#include <stdio.h>
#include <xgboost/c_api.h>

#include "autotune/internal.h"

/* Fewer rows a thread are quicker on one: the barriers cost more, above all on a busy machine. */
enum { ROUNDS = 150, ROWS_PER_THREAD = 20000 };
static const double weight_floor = 0.1;

/* Shallow trees and strong shrinking: with a few hundred noisy times and 172 features deeper ones learn by heart. */
static const char *const parameters[][2] = {
    {"booster", "gbtree"},
    {"tree_method", "hist"},
    {"max_bin", "64"},
    {"max_depth", "4"},
    {"eta", "0.1"},
    {"gamma", "0"},
    {"lambda", "5"},
    {"min_child_weight", "0"},
    {"base_score", "0"},
    {"verbosity", "0"},
    {"disable_default_eval_metric", "1"},
};

/* A measured program: its rows are [first_row, the next program's first_row). */
typedef struct program {
  int first_row;
  double cost_s;
} program;

struct autotune_model {
  tn_context *ctx;
  uint64_t seed;
  int threads;
  runtime_rng random;      /* scores before the first training */
  BoosterHandle booster;   /* NULL before the first training */
  RUNTIME_VEC(float) rows; /* of all programs */
  RUNTIME_VEC(program) programs;
};

static void ignore_log(const char *text) { (void)text; }

static tn_status check(const autotune_model *model, int result, const char *doing) {
  if (result == 0) return TN_OK;
  return runtime_fail(model->ctx, TN_ERROR_INTERNAL, "XGBoost failed while %s: %s", doing, XGBGetLastError());
}

static tn_status no_memory(tn_context *ctx) {
  return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory in the cost model");
}

autotune_model *autotune_model_new(tn_context *ctx, uint64_t seed, int threads) {
  if (!ctx) return NULL;
  autotune_model *model = calloc(1, sizeof *model);
  if (!model) {
    no_memory(ctx);
    return NULL;
  }
  model->ctx = ctx;
  model->seed = seed;
  model->threads = RUNTIME_MAX(threads, 1);
  model->random.state = seed;
  XGBRegisterLogCallback(ignore_log);
  return model;
}

void autotune_model_free(autotune_model *model) {
  if (!model) return;
  if (model->booster) XGBoosterFree(model->booster);
  RUNTIME_VEC_FREE(&model->rows);
  RUNTIME_VEC_FREE(&model->programs);
  free(model);
}

bool autotune_model_is_trained(const autotune_model *model) { return model && model->booster; }

static bool push_rows(autotune_model *model, const float *rows, int n_rows, double cost_s) {
  int first = model->rows.n;
  for (int i = 0; i < n_rows * AUTOTUNE_FEATURES; ++i) {
    if (!RUNTIME_PUSH(&model->rows, rows[i])) {
      model->rows.n = first;
      return false;
    }
  }
  if (RUNTIME_PUSH(&model->programs, ((program){first / AUTOTUNE_FEATURES, cost_s}))) return true;
  model->rows.n = first;
  return false;
}

tn_status autotune_model_add(autotune_model *model, const float *rows, int n_rows, double cost_s) {
  if (!model) return TN_ERROR_ARGUMENT;
  if (n_rows < 0 || n_rows > AUTOTUNE_MAX_ROWS || (n_rows > 0 && !rows)) {
    return runtime_fail(model->ctx, TN_ERROR_ARGUMENT, "cost model: a program with %d rows of features", n_rows);
  }
  if (isnan(cost_s) || cost_s <= 0) {
    return runtime_fail(model->ctx, TN_ERROR_ARGUMENT, "cost model: a cost of %g seconds", cost_s);
  }
  return push_rows(model, rows, n_rows, cost_s) ? TN_OK : no_memory(model->ctx);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct training {
  autotune_model *model;
  DMatrixHandle data;
  BoosterHandle booster;
  double best_s;
  int n_rows, threads;
  float *gradient, *hessian;
} training;

static int end_row(const autotune_model *model, int i) {
  return i + 1 < model->programs.n ? model->programs.data[i + 1].first_row : model->rows.n / AUTOTUNE_FEATURES;
}

static double best_cost(const autotune_model *model) {
  double best = INFINITY;
  for (int i = 0; i < model->programs.n; ++i) best = RUNTIME_MIN(best, model->programs.data[i].cost_s);
  return best;
}

static void pack_gradient(training *t, int pack, const float *outputs) {
  int first = t->model->programs.data[pack].first_row, end = end_row(t->model, pack);
  double cost = t->model->programs.data[pack].cost_s, sum = 0;
  double label = isinf(cost) ? 0 : t->best_s / cost, weight = RUNTIME_MAX(label, weight_floor);
  for (int row = first; row < end; ++row) sum += outputs[row];
  for (int row = first; row < end; ++row) {
    t->gradient[row] = (float)(weight * (sum - label));
    t->hessian[row] = (float)(weight * (end - first));
  }
}

static tn_status boost_once(training *t) {
  static const char config[] =
      "{\"type\": 1, \"training\": true, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false}";
  const bst_ulong *shape;
  bst_ulong dim;
  const float *outputs;
  int result = XGBoosterPredictFromDMatrix(t->booster, t->data, config, &shape, &dim, &outputs);
  if (result != 0) return check(t->model, result, "predicting its training data");
  for (int i = 0; i < t->model->programs.n; ++i) pack_gradient(t, i, outputs);
  result = XGBoosterBoostOneIter(t->booster, t->data, t->gradient, t->hessian, (bst_ulong)t->n_rows);
  return check(t->model, result, "training");
}

static tn_status set_parameters(const training *t) {
  char threads[16], seed[24];
  snprintf(threads, sizeof threads, "%d", t->threads);
  snprintf(seed, sizeof seed, "%d", (int)(t->model->seed & INT32_MAX));
  int result = XGBoosterSetParam(t->booster, "nthread", threads) | XGBoosterSetParam(t->booster, "seed", seed);
  for (int i = 0; i < RUNTIME_COUNT(parameters) && result == 0; ++i) {
    result = XGBoosterSetParam(t->booster, parameters[i][0], parameters[i][1]);
  }
  return check(t->model, result, "setting parameters");
}

static tn_status start(training *t) {
  autotune_model *model = t->model;
  int result =
      XGDMatrixCreateFromMat_omp(model->rows.data, (bst_ulong)t->n_rows, AUTOTUNE_FEATURES, NAN, &t->data, t->threads);
  if (result == 0) result = XGBoosterCreate(&t->data, 1, &t->booster);
  if (result != 0) return check(model, result, "preparing");
  t->gradient = malloc(sizeof(float) * (size_t)t->n_rows);
  t->hessian = malloc(sizeof(float) * (size_t)t->n_rows);
  return t->gradient && t->hessian ? set_parameters(t) : no_memory(model->ctx);
}

tn_status autotune_model_train(autotune_model *model) {
  if (!model) return TN_ERROR_ARGUMENT;
  training t = {.model = model, .best_s = best_cost(model), .n_rows = model->rows.n / AUTOTUNE_FEATURES};
  if (t.n_rows == 0 || isinf(t.best_s)) return TN_OK; /* nothing to learn from yet */
  t.threads = RUNTIME_MIN(model->threads, 1 + t.n_rows / ROWS_PER_THREAD);
  tn_status status = start(&t);
  for (int round = 0; round < ROUNDS && status == TN_OK; ++round) status = boost_once(&t);
  free(t.gradient);
  free(t.hessian);
  if (t.data) XGDMatrixFree(t.data);
  BoosterHandle unused = status == TN_OK ? model->booster : t.booster;
  if (status == TN_OK) model->booster = t.booster;
  if (unused) XGBoosterFree(unused);
  return status;
}

/* ---- predicting -------------------------------------------------------------------------------------------------- */

static tn_status sum_outputs(autotune_model *model, int n, const int *first_row, const float *rows, float *scores) {
  char array[200];
  static const char config[] =
      "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false, "
      "\"missing\": NaN, \"cache_id\": 0}";
  snprintf(array, sizeof array, "{\"data\": [%zu, true], \"shape\": [%d, %d], \"typestr\": \"<f4\", \"version\": 3}",
           (size_t)(rows + (ptrdiff_t)first_row[0] * AUTOTUNE_FEATURES), first_row[n] - first_row[0],
           AUTOTUNE_FEATURES);
  const bst_ulong *shape;
  bst_ulong dim;
  const float *outputs;
  int result = XGBoosterPredictFromDense(model->booster, array, config, NULL, &shape, &dim, &outputs);
  if (result != 0) return check(model, result, "predicting");
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int row = first_row[i]; row < first_row[i + 1]; ++row) sum += outputs[row - first_row[0]];
    scores[i] = sum;
  }
  return TN_OK;
}

tn_status autotune_model_predict(autotune_model *model, int n, const int *first_row, const float *rows, float *scores) {
  if (!model || n < 0 || (n > 0 && (!first_row || !scores))) return TN_ERROR_ARGUMENT;
  tn_status status = TN_OK;
  if (n > 0 && model->booster && first_row[n] > first_row[0])
    status = sum_outputs(model, n, first_row, rows, scores);
  else
    for (int i = 0; i < n; ++i) scores[i] = (float)runtime_random_unit(&model->random);
  for (int i = 0; i < n; ++i) {
    if (first_row[i] == first_row[i + 1]) scores[i] = -INFINITY;
  }
  return status;
}

/* ---- quality ----------------------------------------------------------------------------------------------------- */

double autotune_rank_accuracy(int n, const float *scores, const double *costs_s) {
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

double autotune_peak_at(int n, const float *scores, const double *costs_s, int k) {
  double best = INFINITY, best_of_k = INFINITY;
  for (int i = 0; i < n; ++i) {
    best = RUNTIME_MIN(best, costs_s[i]);
    if (rank_of(n, scores, i) < k) best_of_k = RUNTIME_MIN(best_of_k, costs_s[i]);
  }
  return isinf(best) ? 1 : best / best_of_k;
}
