/* model.c: the cost model: XGBoost's boosted trees, trained during the run, on top of the analytic cost.
 *
 * A program is a pack of rows, one for each written buffer. Its score should be best cost / cost: 1 for the
 * fastest, 0 for a failure. The score is a first guess, which comes from the plan's analytic cost and is in
 * the rows (cost_share), plus the sum of the rows' outputs: the trees learn where that cost is wrong.
 * Without a model the guess alone ranks. The loss is w/2 * (score - label)^2, so a row's gradient is w *
 * (score - label). Two things differ from TVM's model, which has the same objective:
 *  - the hessian of a row is w * (rows of the pack): the rows move together, and with w alone a pack of n
 *    rows would step n times too far;
 *  - the weight has a floor, so that slow and failed programs teach what to avoid instead of counting for
 *    nothing.
 *
 * The model owns copies of the rows. Each training uses all of them. A long run would fill the memory, so
 * beyond MOST_ROWS it keeps only the rows of the fastest programs, which it has to tell apart, and of the
 * newest. */
#include <math.h>
#include <stdio.h>

#include "autotune/internal.h"
#include "autotune/trees.h"
#include "autotune/xgboost.h"

/* Below so many rows a thread one thread is faster: barriers cost more, above all on a busy machine. */
enum { ROUNDS = 150, ROWS_PER_THREAD = 20000 };
/* The model is trained again when one in so many programs is new. */
enum { GROWN = 8 };
/* Rows that are kept: some thousand programs in 6 MB, and two and a half times as much while XGBoost trains. */
enum { MOST_ROWS = 8192 };
/* The least weight of a program in the loss. */
static const double weight_floor = 0.1;

/* Shallow trees and strong shrinking: with a few hundred noisy times and 176 features deeper trees learn by heart. */
static const char *const parameters[][2] = {
    {"booster", "gbtree"},
    {"tree_method", "hist"},
    {"max_bin", "32"},
    {"max_depth", "4"},
    {"eta", "0.1"},
    {"gamma", "0"},
    {"lambda", "5"},
    {"min_child_weight", "0"},
    {"base_score", "0"},
    {"verbosity", "0"},
    {"disable_default_eval_metric", "1"},
};

/* A measured program. Its rows are [first_row, the next program's first_row). It is compared only with
 * others of its task. Older programs come first. */
typedef struct program {
  int first_row, task;
  double cost_s;
  /* Only set while programs are being forgotten: */
  bool is_dropped;
  double slowness; /* its cost in relation to the best of its task */
} program;

/* The cost model of one run: rows of features with costs, and the booster that was last trained on them.
 * Without XGBoost it guesses from the features alone. */
struct autotune_model {
  tn_context *ctx;
  uint64_t seed;
  int threads;
  bool is_loaded, is_off; /* is_loaded: XGBoost is there; is_off: it is not wanted, or does not work */
  const char *library;    /* NULL: its usual names are tried */
  autotune_xgboost xg;
  autotune_meanwhile meanwhile; /* called during training */
  BoosterHandle booster;        /* NULL before the first training */
  autotune_trees *trees;        /* the booster's own; NULL: XGBoost is asked */
  RUNTIME_VEC(float) rows;      /* of all programs */
  RUNTIME_VEC(program) programs;
  int n_tasks;   /* tasks that were begun; without any, all programs are of task 0 */
  int n_trained; /* programs of the last training */
  int n_new;     /* programs added since then */
};

static void ignore_log(const char *text) { (void)text; }

/* Does without a model from now on: candidates are ranked by their analytic costs, as before the first training. */
static void give_up(autotune_model *model, const char *doing, const char *why) {
  runtime_say(model->ctx, TN_SEVERITY_WARNING,
              "no cost model: XGBoost %s: %s; candidates are ranked by the analytic cost", doing, why);
  if (model->booster) model->xg.BoosterFree(model->booster);
  model->booster = NULL;
  autotune_trees_free(model->trees);
  model->trees = NULL;
  model->is_off = true;
}

/* Whether an XGBoost function succeeded: RESULT is what it returned, 0 for success. False: there is no
 * model any more. */
static bool works(autotune_model *model, int result, const char *doing) {
  if (result == 0) return true;
  give_up(model, doing, model->xg.BGetLastError());
  return false;
}

/* Loads the library at its first use. False: there is no model. */
static bool is_ready(autotune_model *model) {
  char why[300];
  if (model->is_off || model->is_loaded) return !model->is_off;
  model->is_loaded = autotune_xgboost_load(model->library, &model->xg, why, sizeof why);
  if (model->is_loaded)
    model->xg.BRegisterLogCallback(ignore_log);
  else
    give_up(model, "cannot be used", why);
  return model->is_loaded;
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
  return model;
}

void autotune_model_free(autotune_model *model) {
  if (!model) return;
  if (model->booster) model->xg.BoosterFree(model->booster);
  autotune_trees_free(model->trees);
  RUNTIME_VEC_FREE(&model->rows);
  RUNTIME_VEC_FREE(&model->programs);
  free(model);
}

void autotune_model_set_meanwhile(autotune_model *model, autotune_meanwhile meanwhile) {
  if (model) model->meanwhile = meanwhile;
}

void autotune_model_set_library(autotune_model *model, const char *library) { model->library = library; }

void autotune_model_turn_off(autotune_model *model) { model->is_off = true; }

bool autotune_model_is_trained(const autotune_model *model) { return model && model->booster; }

/* The end of program I's rows; the last program ends where the rows do. */
static int end_row(const autotune_model *model, int i) {
  return i + 1 < model->programs.n ? model->programs.data[i + 1].first_row : model->rows.n / AUTOTUNE_FEATURES;
}

/* The least cost of each task, INFINITY where nothing was valid, for the caller to free. *ANY: at least one
 * is valid. NULL: no memory. */
static double *best_costs(const autotune_model *model, bool *any) {
  int n = RUNTIME_MAX(model->n_tasks, 1);
  double *best = malloc(sizeof *best * (size_t)n);
  *any = false;
  for (int i = 0; best && i < n; ++i) best[i] = INFINITY;
  for (int i = 0; best && i < model->programs.n; ++i) {
    const program *p = &model->programs.data[i];
    best[p->task] = RUNTIME_MIN(best[p->task], p->cost_s);
    *any |= isfinite(p->cost_s);
  }
  return best;
}

/* ---- forgetting -------------------------------------------------------------------------------------------------- */

/* By slowness in relation to the task's best; of equal ones the newest first. */
static int by_slowness(const void *a, const void *b) {
  const program *p = *(program *const *)a, *q = *(program *const *)b;
  return p->slowness != q->slowness ? (p->slowness > q->slowness) - (p->slowness < q->slowness) : (p < q) - (p > q);
}

/* The newest first. */
static int by_age(const void *a, const void *b) {
  const program *p = *(program *const *)a, *q = *(program *const *)b;
  return (p < q) - (p > q);
}

/* Marks programs to keep, from the first of ORDER on, until they have ROWS rows; returns how many they are. */
static int keep_first(const autotune_model *model, program *const *order, int n, int rows) {
  int kept = 0;
  for (; kept < n; kept++) {
    int i = (int)(order[kept] - model->programs.data);
    rows -= end_row(model, i) - order[kept]->first_row;
    if (rows < 0) break;
    order[kept]->is_dropped = false;
  }
  return kept;
}

/* Moves the programs that are kept together, in their order. */
static void close_gaps(autotune_model *model) {
  int n_programs = 0, n_rows = 0;
  for (int i = 0; i < model->programs.n; ++i) {
    program p = model->programs.data[i];
    int n = end_row(model, i) - p.first_row;
    if (p.is_dropped) continue;
    memmove(model->rows.data + (ptrdiff_t)n_rows * AUTOTUNE_FEATURES,
            model->rows.data + (ptrdiff_t)p.first_row * AUTOTUNE_FEATURES,
            sizeof(float) * AUTOTUNE_FEATURES * (size_t)n);
    p.first_row = n_rows;
    model->programs.data[n_programs++] = p;
    n_rows += n;
  }
  model->programs.n = n_programs;
  model->rows.n = n_rows * AUTOTUNE_FEATURES;
}

/* Forgets programs when there are too many rows. O(n log n), once for each quarter of MOST_ROWS. False: no
 * memory, and nothing is forgotten. */
static bool forget(autotune_model *model) {
  int n = model->programs.n;
  bool any;
  program **order = malloc(sizeof *order * (size_t)n);
  double *best_s = best_costs(model, &any);
  for (int i = 0; order && best_s && i < n; ++i) {
    program *p = order[i] = &model->programs.data[i];
    p->is_dropped = true;
    p->slowness = isinf(p->cost_s) ? INFINITY : p->cost_s / best_s[p->task];
  }
  free(best_s);
  if (!order || !best_s) {
    free(order);
    return false;
  }
  qsort(order, (size_t)n, sizeof *order, by_slowness);
  int kept = keep_first(model, order, n, MOST_ROWS / 2);
  qsort(order + kept, (size_t)(n - kept), sizeof *order, by_age);
  keep_first(model, order + kept, n - kept, MOST_ROWS / 4);
  free(order);
  close_gaps(model);
  return true;
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

/* Adds a program's rows, all or none of them. */
static bool push_rows(autotune_model *model, int task, const float *rows, int n_rows, double cost_s) {
  int first = model->rows.n;
  for (int i = 0; i < n_rows * AUTOTUNE_FEATURES; ++i) {
    if (!RUNTIME_PUSH(&model->rows, rows[i])) {
      model->rows.n = first;
      return false;
    }
  }
  program added = {.first_row = first / AUTOTUNE_FEATURES, .task = task, .cost_s = cost_s};
  if (RUNTIME_PUSH(&model->programs, added)) return true;
  model->rows.n = first;
  return false;
}

int autotune_model_begin_task(autotune_model *model) { return model->n_tasks++; }

tn_status autotune_model_add(autotune_model *model, int task, const float *rows, int n_rows, double cost_s) {
  if (!model || task < 0 || task >= RUNTIME_MAX(model->n_tasks, 1)) return TN_ERROR_ARGUMENT;
  if (n_rows < 0 || n_rows > AUTOTUNE_MAX_ROWS || (n_rows > 0 && !rows)) {
    return runtime_fail(model->ctx, TN_ERROR_ARGUMENT, "cost model: a program with %d rows of features", n_rows);
  }
  if (isnan(cost_s) || cost_s <= 0) {
    return runtime_fail(model->ctx, TN_ERROR_ARGUMENT, "cost model: a cost of %g seconds", cost_s);
  }
  bool is_full = model->rows.n / AUTOTUNE_FEATURES + n_rows > MOST_ROWS;
  if ((is_full && !forget(model)) || !push_rows(model, task, rows, n_rows, cost_s)) return no_memory(model->ctx);
  model->n_new++;
  return TN_OK;
}

int autotune_model_n_rows(const autotune_model *model) { return model ? model->rows.n / AUTOTUNE_FEATURES : 0; }

/* ---- asking the trees -------------------------------------------------------------------------------------------- */

/* The booster's output for each of N rows, by XGBoost, which takes their address as text. OUTPUTS is its memory. False: the model is
 * off. */
static bool ask_booster(autotune_model *model, int n, const float *rows, const float **outputs) {
  char array[200];
  static const char config[] =
      "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false, "
      "\"missing\": NaN, \"cache_id\": 0}";
  snprintf(array, sizeof array, "{\"data\": [%zu, true], \"shape\": [%d, %d], \"typestr\": \"<f4\", \"version\": 3}",
           (size_t)rows, n, AUTOTUNE_FEATURES);
  const bst_ulong *shape;
  bst_ulong dim;
  int result = model->xg.BoosterPredictFromDense(model->booster, array, config, NULL, &shape, &dim, outputs);
  return works(model, result, "failed while predicting");
}

/* Takes over the booster's trees, if they give the same outputs as XGBoost for the first of N rows: what the text of a tree means is
 * not ours to say. */
static void take_trees(autotune_model *model, int n, const float *rows) {
  enum { COMPARED = 256 };
  float sums[COMPARED];
  const char **texts;
  bst_ulong n_texts;
  const float *outputs;
  autotune_trees_free(model->trees);
  model->trees = NULL;
  n = RUNTIME_MIN(n, COMPARED);
  if (n < 1 || model->xg.BoosterDumpModelEx(model->booster, "", 0, "json", &n_texts, &texts) != 0) return;
  autotune_trees *trees = n_texts <= INT16_MAX ? autotune_trees_read((int)n_texts, texts) : NULL;
  bool is_asked = trees && autotune_trees_sum(trees, n, rows, sums);
  if (is_asked && ask_booster(model, n, rows, &outputs) && memcmp(sums, outputs, sizeof *sums * (size_t)n) == 0)
    model->trees = trees;
  else
    autotune_trees_free(trees);
}

bool autotune_model_has_trees(const autotune_model *model) { return model && model->trees; }

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* One training. It makes a new booster over all data each time, because a better time changes the labels of
 * all programs. */
typedef struct training {
  autotune_model *model;
  DMatrixHandle data;
  BoosterHandle booster;
  double *best_s; /* of each task */
  int n_rows, threads;
  float *gradient, *hessian;
} training;

/* The score of rows [FIRST, END) by the analytic cost alone. */
static float guess_of(const float *rows, int first, int end) {
  return first < end ? autotune_cost_share(rows + (ptrdiff_t)first * AUTOTUNE_FEATURES) : 0;
}

/* Gradients and hessians of one pack, for the loss described above. OUTPUTS are the trees' alone, without the guess. */
static void pack_gradient(training *t, int pack, const float *outputs) {
  const program *p = &t->model->programs.data[pack];
  int first = p->first_row, end = end_row(t->model, pack);
  double sum = 0, label = isinf(p->cost_s) ? 0 : t->best_s[p->task] / p->cost_s,
         weight = RUNTIME_MAX(label, weight_floor);
  sum += guess_of(t->model->rows.data, first, end);
  for (int row = first; row < end; ++row) sum += outputs[row];
  for (int row = first; row < end; ++row) {
    t->gradient[row] = (float)(weight * (sum - label));
    t->hessian[row] = (float)(weight * (end - first));
  }
}

/* One round. XGBoost is given gradients and hessians, since none of its own objectives knows packs. */
static bool boost_once(training *t) {
  static const char config[] =
      "{\"type\": 1, \"training\": true, \"iteration_begin\": 0, \"iteration_end\": 0, \"strict_shape\": false}";
  const bst_ulong *shape;
  bst_ulong dim;
  const float *outputs;
  autotune_model *m = t->model;
  int result = m->xg.BoosterPredictFromDMatrix(t->booster, t->data, config, &shape, &dim, &outputs);
  if (!works(m, result, "failed while predicting its training data")) return false;
  for (int i = 0; i < m->programs.n; ++i) pack_gradient(t, i, outputs);
  result = m->xg.BoosterBoostOneIter(t->booster, t->data, t->gradient, t->hessian, (bst_ulong)t->n_rows);
  return works(m, result, "failed while training");
}

/* The seed is cut to 31 bits: XGBoost parses an int. */
static bool set_parameters(const training *t) {
  char threads[16], seed[24];
  const autotune_xgboost *xg = &t->model->xg;
  snprintf(threads, sizeof threads, "%d", t->threads);
  snprintf(seed, sizeof seed, "%d", (int)(t->model->seed & INT32_MAX));
  int result = xg->BoosterSetParam(t->booster, "nthread", threads) | xg->BoosterSetParam(t->booster, "seed", seed);
  for (int i = 0; i < RUNTIME_COUNT(parameters) && result == 0; ++i) {
    result = xg->BoosterSetParam(t->booster, parameters[i][0], parameters[i][1]);
  }
  return works(t->model, result, "failed while setting parameters");
}

/* Copies the rows to XGBoost's matrix, which takes as much memory again until the training ends. */
static bool start(training *t) {
  autotune_model *m = t->model;
  int result =
      m->xg.DMatrixCreateFromMat_omp(m->rows.data, (bst_ulong)t->n_rows, AUTOTUNE_FEATURES, NAN, &t->data, t->threads);
  if (result == 0) result = m->xg.BoosterCreate(&t->data, 1, &t->booster);
  return works(m, result, "failed while preparing") && set_parameters(t);
}

/* Trains a booster, which replaces the old one when it is complete. */
static void boost(training *t) {
  autotune_model *m = t->model;
  bool is_whole = start(t);
  for (int round = 0; round < ROUNDS && is_whole; ++round) {
    is_whole = boost_once(t);
    autotune_give_a_moment(&m->meanwhile);
  }
  if (t->data) m->xg.DMatrixFree(t->data);
  BoosterHandle unused = is_whole ? m->booster : t->booster;
  if (is_whole) m->booster = t->booster;
  if (unused) m->xg.BoosterFree(unused);
  if (is_whole) take_trees(m, t->n_rows, m->rows.data);
}

/* Takes ROUNDS times O(rows * features) at most. Without a valid time there are no labels, so nothing is trained. */
tn_status autotune_model_train(autotune_model *model) {
  if (!model) return TN_ERROR_ARGUMENT;
  training t = {.model = model, .n_rows = model->rows.n / AUTOTUNE_FEATURES};
  if (t.n_rows == 0) return TN_OK;
  bool any;
  t.best_s = best_costs(model, &any);
  t.threads = RUNTIME_MIN(model->threads, 1 + t.n_rows / ROWS_PER_THREAD);
  t.gradient = malloc(sizeof(float) * (size_t)t.n_rows);
  t.hessian = malloc(sizeof(float) * (size_t)t.n_rows);
  bool has_memory = t.best_s && t.gradient && t.hessian;
  bool can_learn = has_memory && any && is_ready(model); /* else there is nothing to learn from yet, or by */
  if (can_learn) boost(&t);
  if (can_learn) {
    model->n_trained = model->programs.n;
    model->n_new = 0;
  }
  free(t.best_s);
  free(t.gradient);
  free(t.hessian);
  return has_memory ? TN_OK : no_memory(model->ctx);
}

tn_status autotune_model_refresh(autotune_model *model) {
  if (!model) return TN_ERROR_ARGUMENT;
  bool has_grown = model->n_new >= RUNTIME_MAX(model->n_trained / GROWN, 1);
  return has_grown ? autotune_model_train(model) : TN_OK;
}

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

/* An attribute of saved models that tells which features they were trained on. */
#define FEATURES_KEY "tenon_features"
static void features_version(char text[16]) { snprintf(text, 16, "%d.2", AUTOTUNE_FEATURES); }

bool autotune_model_save(autotune_model *model, const char *path) {
  char version[16];
  if (!model || !model->booster) return false;
  features_version(version);
  int result = model->xg.BoosterSetAttr(model->booster, FEATURES_KEY, version);
  if (result == 0) result = model->xg.BoosterSaveModel(model->booster, path);
  if (result != 0)
    runtime_say(model->ctx, TN_SEVERITY_WARNING, "the cost model cannot be saved to %s: %s", path,
                model->xg.BGetLastError());
  return result == 0;
}

/* A model of other features would give meaningless scores. */
static bool has_our_features(autotune_model *model, BoosterHandle booster) {
  char wanted[16];
  const char *version = NULL;
  int found = 0;
  features_version(wanted);
  return model->xg.BoosterGetAttr(booster, FEATURES_KEY, &version, &found) == 0 && found && version &&
         strcmp(version, wanted) == 0;
}

/* The model stays as it was unless a complete and fitting one was read. A file that is none is no error of the run. */
bool autotune_model_load(autotune_model *model, const char *path) {
  BoosterHandle booster = NULL;
  if (!model || !is_ready(model) || !works(model, model->xg.BoosterCreate(NULL, 0, &booster), "failed while loading"))
    return false;
  bool is_read = model->xg.BoosterLoadModel(booster, path) == 0, fits = is_read && has_our_features(model, booster);
  if (!fits) {
    runtime_say(model->ctx, TN_SEVERITY_WARNING, "the cost model %s is not used: %s; a new one is trained", path,
                is_read ? "it was trained on other features" : "it cannot be read");
    model->xg.BoosterFree(booster);
    return false;
  }
  if (model->booster) model->xg.BoosterFree(model->booster);
  autotune_trees_free(model->trees); /* there are no rows yet to compare new ones by */
  model->trees = NULL;
  model->booster = booster;
  return true;
}

/* ---- predicting -------------------------------------------------------------------------------------------------- */

/* The trees' outputs for the rows of all programs, in *OWN (for the caller to free) or XGBoost's memory. NULL: no memory, or the model is
 * off. */
static const float *ask(autotune_model *model, int n, const float *rows, float **own) {
  const float *outputs = NULL;
  *own = model->trees ? malloc(sizeof **own * (size_t)n) : NULL;
  if (*own && autotune_trees_sum(model->trees, n, rows, *own)) return *own;
  return ask_booster(model, n, rows, &outputs) ? outputs : NULL;
}

/* False: the model is off, and SCORES is not valid. */
static bool sum_outputs(autotune_model *model, int n, const int *first_row, const float *rows, float *scores) {
  float *own;
  const float *outputs =
      ask(model, first_row[n] - first_row[0], rows + (ptrdiff_t)first_row[0] * AUTOTUNE_FEATURES, &own);
  for (int i = 0; outputs && i < n; ++i) {
    float sum = guess_of(rows, first_row[i], first_row[i + 1]);
    for (int row = first_row[i]; row < first_row[i + 1]; ++row) sum += outputs[row - first_row[0]];
    scores[i] = sum;
  }
  free(own);
  return outputs != NULL;
}

tn_status autotune_model_predict(autotune_model *model, int n, const int *first_row, const float *rows, float *scores) {
  if (!model || n < 0 || (n > 0 && (!first_row || !scores))) return TN_ERROR_ARGUMENT;
  bool asks = n > 0 && model->booster && first_row[n] > first_row[0];
  if (!asks || !sum_outputs(model, n, first_row, rows, scores))
    for (int i = 0; i < n; ++i) scores[i] = guess_of(rows, first_row[i], first_row[i + 1]);
  for (int i = 0; i < n; ++i) {
    if (first_row[i] == first_row[i + 1]) scores[i] = -INFINITY;
  }
  return TN_OK;
}
