/* worker_rounding.c: whether an element beyond the tolerance is wrong, or whether roundings can explain it.
 *
 * One tolerance serves all elements of a program, and most programs stay well within it. But a sigmoid of a
 * large sum, or a difference of nearly equal values, magnifies the roundings of its operands, in some
 * elements more than in others. So the evaluator computes such an element several times with randomly
 * chosen roundings. A kernel may be off by as much as these answers differ, times a margin. Integers that floats
 * are rounded to, or that say where one of them is, are right when some roundings lead as far; those that no float
 * has a part in never differ. */
#include <math.h>

#include "autotune/worker.h"
#include "te/graph.h"

/* Evaluations with random roundings; of a number between two integers some of these many go to the other one. */
enum { ANSWERS = 5, MOST_ANSWERS = 40 };

/* An element may differ from the exact value by this many times the spread of the random roundings. */
static const double margin = 16;

/* Widens LOW and HIGH, which begin as the exact value, by at most N evaluations with random roundings; they end where both reach WANTED.
 * False: one fails. */
static bool spread_by_chance(tn_program *program, const worker_data *data, const tn_tensor *tensor,
                             const int64_t *index, int n, const double wanted[2], double *low, double *high) {
  runtime_rng chance = {.state = data->seed};
  double value;
  for (int i = 0; i < n && (*low > wanted[0] || *high < wanted[1]); ++i) {
    if (te_evaluate_by_chance(program, data->args, data->n_args, &chance, tensor, index, &value) != TN_OK) return false;
    *low = fmin(*low, value), *high = fmax(*high, value);
  }
  return true;
}

/* A float may be as far off on either side as the answers are on one, times the margin. An integer lies between answers, and so does the
 * reference. */
static bool is_explained(tn_program *program, const worker_data *data, const tn_tensor *tensor, const int64_t *index,
                         double exact, double got, double reference) {
  double low = exact, high = exact;
  if (tn_dtype_is_float(tn_tensor_dtype(tensor))) {
    const double all[2] = {-INFINITY, INFINITY};
    bool ok = spread_by_chance(program, data, tensor, index, ANSWERS, all, &low, &high);
    return ok && fabs(got - exact) <= margin * fmax(high - exact, exact - low);
  }
  const double both[2] = {fmin(got, reference), fmax(got, reference)};
  bool ok = spread_by_chance(program, data, tensor, index, MOST_ANSWERS, both, &low, &high);
  return ok && low <= both[0] && high >= both[1];
}

bool worker_is_rounding(tn_program *program, const worker_data *data, int output, int64_t flat, double got) {
  tn_tensor *tensor = tn_program_arg(program, data->n_inputs + output);
  if (!tensor || !isfinite(got) || te_has_externs(program) || worker_is_deep(program)) return false;
  int64_t index[TN_MAX_RANK];
  double exact, reference = worker_element(data->reference[output], tn_tensor_dtype(tensor), flat);
  worker_unravel(data->reference[output], flat, index);
  bool is_known = tn_evaluate_at(program, data->args, data->n_args, tensor, index, &exact) == TN_OK;
  bool is_it = is_known && is_explained(program, data, tensor, index, exact, got, reference);
  if (tn_context_status(program->ctx) != TN_OK) tn_context_clear(program->ctx); /* wrong, which is said */
  return is_it;
}
