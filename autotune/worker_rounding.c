/* worker_rounding.c: whether an element beyond the tolerance is wrong, or whether roundings can explain it.
 *
 * One tolerance serves all elements of a program, and most programs stay well within it. But a sigmoid of a
 * large sum, or a difference of nearly equal values, magnifies the roundings of its operands, in some
 * elements more than in others. So the evaluator computes such an element several times with randomly
 * chosen roundings. A kernel may be off by as much as these answers differ, times a margin. */
#include <math.h>

#include "autotune/worker.h"
#include "te/graph.h"

/* Evaluations with random roundings. */
enum { ANSWERS = 5 };

/* An element may differ from the exact value by this many times the spread of the random roundings. */
static const double margin = 16;

/* The largest distance from EXACT of ANSWERS evaluations with random roundings; negative if one fails. */
static double spread_at(tn_program *program, const worker_data *data, const tn_tensor *tensor, const int64_t *index,
                        double exact) {
  runtime_rng chance = {.state = data->seed};
  double spread = 0, value;
  for (int i = 0; i < ANSWERS; ++i) {
    if (te_evaluate_by_chance(program, data->args, data->n_args, &chance, tensor, index, &value) != TN_OK) return -1;
    spread = fmax(spread, fabs(value - exact));
  }
  return spread;
}

bool worker_is_rounding(tn_program *program, const worker_data *data, int output, int64_t flat, double got) {
  tn_tensor *tensor = tn_program_arg(program, data->n_inputs + output);
  if (!tn_dtype_is_float(tn_tensor_dtype(tensor)) || !isfinite(got)) return false;
  if (te_has_externs(program) || worker_is_deep(program)) return false;
  int64_t index[TN_MAX_RANK];
  double exact;
  worker_unravel(data->reference[output], flat, index);
  bool is_known = tn_evaluate_at(program, data->args, data->n_args, tensor, index, &exact) == TN_OK;
  double spread = is_known ? spread_at(program, data, tensor, index, exact) : -1;
  if (spread < 0) tn_context_clear(program->ctx); /* the element counts as wrong, which is said */
  return spread >= 0 && fabs(got - exact) <= margin * spread;
}
