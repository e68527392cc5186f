/* worker_data.c: the arguments that candidates get: outputs, and inputs in pages of their own that are made
 * read-only once they are filled. Each output also has a second array for its reference.
 *
 * worker_data owns all arrays. */
#include <float.h>
#include <math.h>

#include "autotune/worker.h"

void worker_data_free(worker_data *data) {
  if (!data) return;
  worker_guard_inputs(NULL);
  for (int i = 0; data->args && i < data->n_args; ++i) tn_array_free(data->args[i]);
  for (int i = 0; data->reference && i < data->n_args - data->n_inputs; ++i) tn_array_free(data->reference[i]);
  free(data->args);
  free(data->reference);
  free(data->scale);
  free(data->fill);
  free(data);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* The relative error that the program's floats may have. The roundings of N terms add up like a random
 * walk; the constant leaves room for errors in the last bits of library functions. A value stored as f16 or
 * bf16 may fall on either side of a tie. */
static double float_tolerance(const tn_program *program) {
  double terms = 0, epsilon = 0, half = 0;
  for (int i = 0; i < program->n_ops; ++i) {
    const te_op *op = program->ops[i];
    double here = 1;
    for (int r = 0; r < op->n_reduce; ++r) here *= (double)op->reduce_axes[r]->extent;
    terms += here;
    for (int v = 0; v < op->n_outputs; ++v) {
      double unit = runtime_float_unit(op->outputs[v].dtype);
      bool is_half = runtime_is_half(op->outputs[v].dtype);
      epsilon = fmax(epsilon, is_half ? (double)FLT_EPSILON : unit);
      half = fmax(half, is_half ? unit : 0);
    }
  }
  return epsilon * (256 + 8 * sqrt(terms)) + 4 * half;
}

/* Makes an output's two arrays: the candidate's, and the reference's. */
static bool allocate_output(worker_program *p, worker_data *data, int i, worker_answer *answer) {
  const runtime_kernel_arg *arg = &p->args[i];
  DLTensor **reference = &data->reference[i - data->n_inputs];
  data->args[i] = tn_array_new(p->ctx, arg->dtype, arg->ndim, arg->shape);
  if (data->args[i]) *reference = tn_array_new(p->ctx, arg->dtype, arg->ndim, arg->shape);
  return *reference || worker_fail_context(answer, TN_MEASURE_MEMORY, p->ctx);
}

/* Inputs are mapped, since only whole pages can be made read-only. Outputs need not be. */
static bool allocate_arrays(worker_program *p, worker_data *data, worker_answer *answer) {
  for (int i = 0; i < data->n_args; ++i) {
    const runtime_kernel_arg *arg = &p->args[i];
    if (i >= data->n_inputs) {
      if (!allocate_output(p, data, i, answer)) return false;
      continue;
    }
    data->args[i] = runtime_array_map(p->ctx, arg->dtype, arg->ndim, arg->shape);
    if (data->args[i]) continue;
    worker_fail(answer, TN_MEASURE_MEMORY, "%s of %s", tn_context_message(p->ctx), arg->name);
    tn_context_clear(p->ctx);
    return false;
  }
  return true;
}

worker_data *worker_data_new(worker_program *p, uint64_t seed, const char *fill, worker_answer *answer) {
  worker_data *data = calloc(1, sizeof *data);
  int n = p->n_args, n_inputs = tn_program_input_count(p->program);
  if (data) {
    *data = (worker_data){.seed = seed, .n_args = n, .n_inputs = n_inputs, .tolerance = float_tolerance(p->program)};
    data->args = calloc((size_t)n + 1, sizeof *data->args);
    data->reference = calloc((size_t)(n - n_inputs) + 1, sizeof *data->reference);
    data->scale = calloc((size_t)(n - n_inputs) + 1, sizeof *data->scale);
  }
  if (data && fill) data->fill = strdup(fill);
  if (!data || (fill && !data->fill) || !data->args || !data->reference || !data->scale)
    worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for the arguments");
  else if (allocate_arrays(p, data, answer) && worker_fill_inputs(p, data, answer))
    return data;
  worker_data_free(data);
  return NULL;
}
