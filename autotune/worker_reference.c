/* What a candidate is compared with. The outputs of the unscheduled kernel: the default schedule, compiled and run
 * serially. That kernel itself is held against the evaluator, which walks the graph and shares no code with lowering,
 * at sampled points of every output: full evaluation would take longer than the tuning. Only a program that calls C
 * functions is evaluated in full, since a call computes a whole tensor; such a program is not tuned. */
#include <float.h>
#include <math.h>

#include "autotune/worker.h"

enum { SAMPLES = 64, MIN_SAMPLES = 4 };

static const double sampling_s = 2.0; /* sampling stops when it has taken this long */

void worker_data_free(worker_data *data) {
  if (!data) return;
  for (int i = 0; data->args && i < data->n_args; ++i) tn_array_free(data->args[i]);
  for (int i = 0; data->reference && i < data->n_args - data->n_inputs; ++i) tn_array_free(data->reference[i]);
  free(data->args);
  free(data->reference);
  free(data->scale);
  free(data);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* The distance of 1 to the next value. */
static double unit_of(tn_dtype dtype) {
  static const double units[TN_DTYPE_COUNT] = {
      [TN_F16] = 0x1p-10, [TN_BF16] = 0x1p-7, [TN_F32] = FLT_EPSILON, [TN_F64] = DBL_EPSILON};
  return units[dtype];
}

/* Rounding errors of N terms add up like a random walk; the constant leaves room for the functions' last bits.
 * What is stored as f16 or bf16 may fall on either side of a tie. */
static double float_tolerance(const tn_program *program) {
  double terms = 0, epsilon = 0, half = 0;
  for (int i = 0; i < program->n_ops; ++i) {
    const te_op *op = program->ops[i];
    double here = 1;
    for (int r = 0; r < op->n_reduce; ++r) here *= (double)op->reduce_axes[r]->extent;
    terms += here;
    for (int v = 0; v < op->n_outputs; ++v) {
      double unit = unit_of(op->outputs[v].dtype);
      bool is_half = runtime_is_half(op->outputs[v].dtype);
      epsilon = fmax(epsilon, is_half ? (double)FLT_EPSILON : unit);
      half = fmax(half, is_half ? unit : 0);
    }
  }
  return epsilon * (256 + 8 * sqrt(terms)) + 4 * half;
}

static bool allocate_arrays(worker_program *p, worker_data *data, worker_answer *answer) {
  for (int i = 0; i < data->n_args; ++i) {
    const runtime_kernel_arg *arg = &p->args[i];
    data->args[i] = tn_array_new(p->ctx, arg->dtype, arg->ndim, arg->shape);
    if (!data->args[i]) return worker_fail_context(answer, TN_MEASURE_MEMORY, p->ctx);
    if (i < data->n_inputs) continue;
    DLTensor **reference = &data->reference[i - data->n_inputs];
    *reference = tn_array_new(p->ctx, arg->dtype, arg->ndim, arg->shape);
    if (!*reference) return worker_fail_context(answer, TN_MEASURE_MEMORY, p->ctx);
  }
  return true;
}

/* Every input gets a seed of its own, so that equal shapes do not hold equal data; what is used as an index gets
 * indices. */
static bool fill_inputs(worker_program *p, worker_data *data, worker_answer *answer) {
  for (int i = 0; i < data->n_inputs; ++i)
    if (runtime_array_fill(p->ctx, data->args[i], data->seed + (uint64_t)i,
                           te_index_limit(p->program, tn_program_arg(p->program, i))) != TN_OK)
      return worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
  data->input_hash = worker_hash_inputs(data);
  return true;
}

static worker_data *data_new(worker_program *p, uint64_t seed, worker_answer *answer) {
  worker_data *data = calloc(1, sizeof *data);
  int n = p->n_args, n_inputs = tn_program_input_count(p->program);
  if (data) {
    *data = (worker_data){.seed = seed, .n_args = n, .n_inputs = n_inputs, .tolerance = float_tolerance(p->program)};
    data->args = calloc((size_t)n + 1, sizeof *data->args);
    data->reference = calloc((size_t)(n - n_inputs) + 1, sizeof *data->reference);
    data->scale = calloc((size_t)(n - n_inputs) + 1, sizeof *data->scale);
  }
  if (!data || !data->args || !data->reference || !data->scale)
    worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for the arguments");
  else if (allocate_arrays(p, data, answer) && fill_inputs(p, data, answer))
    return data;
  worker_data_free(data);
  return NULL;
}

/* ---- the unscheduled kernel -------------------------------------------------------------------------------------- */

static tn_kernel *unscheduled_kernel(worker_program *p, worker_answer *answer) {
  codegen_bytes object = {0};
  tn_kernel *kernel = NULL;
  tn_schedule *schedule = tn_schedule_new(p->program);
  if (!schedule) {
    worker_fail_context(answer, TN_MEASURE_MEMORY, p->ctx);
  } else if (worker_compile(p, schedule, answer, &object)) {
    kernel = codegen_load(p->ctx, object.data, object.n, WORKER_SYMBOL, p->n_args, p->args);
    if (!kernel) worker_fail_context(answer, TN_MEASURE_LOAD, p->ctx);
    worker_lap(answer, WORKER_LOAD);
  }
  free(object.data);
  tn_schedule_free(schedule);
  return kernel;
}

/* Runs the kernel on the candidates' arrays and keeps the outputs. */
static bool run_unscheduled(worker_program *p, worker_data *data, const tn_kernel *kernel, worker_answer *answer) {
  int n_outputs = data->n_args - data->n_inputs;
  for (int i = 0; i < n_outputs; ++i) worker_poison(data->args[data->n_inputs + i], p->args[data->n_inputs + i].dtype);
  if (tn_call(p->ctx, kernel, data->args, data->n_args) != TN_OK)
    return worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
  for (int i = 0; i < n_outputs; ++i) {
    const DLTensor *output = data->args[data->n_inputs + i];
    memcpy(data->reference[i]->data, output->data, tn_array_bytes(output));
    data->scale[i] = worker_typical(output, p->args[data->n_inputs + i].dtype);
  }
  return true;
}

/* ---- the evaluator's word ---------------------------------------------------------------------------------------- */

static void unravel(const DLTensor *t, int64_t flat, int64_t *index) {
  for (int d = t->ndim - 1; d >= 0; --d) {
    index[d] = flat % t->shape[d];
    flat /= t->shape[d];
  }
}

/* Element FLAT of an output, of which the evaluator says VALUE. */
static bool agrees_with(worker_program *p, worker_data *data, int output, int64_t flat, double value,
                        worker_answer *answer) {
  const DLTensor *reference = data->reference[output];
  tn_tensor *tensor = tn_program_arg(p->program, data->n_inputs + output);
  tn_dtype dtype = tn_tensor_dtype(tensor);
  double got = worker_element(reference, dtype, flat);
  if (worker_error(dtype, got, value, data->scale[output]) <= data->tolerance) return true;
  runtime_str at = {0};
  worker_print_element(&at, tn_tensor_name(tensor), reference, flat);
  worker_fail(answer, TN_MEASURE_WRONG_ANSWER,
              "the unscheduled kernel disagrees with the evaluator: %s is %.9g, the evaluator says %.9g",
              at.failed ? "an element" : at.data, got, value);
  runtime_str_free(&at);
  return false;
}

static bool agrees_at(worker_program *p, worker_data *data, int output, int64_t flat, worker_answer *answer) {
  int64_t index[TN_MAX_RANK];
  double value = 0;
  unravel(data->reference[output], flat, index);
  if (tn_evaluate_at(p->program, data->args, data->n_args, tn_program_arg(p->program, data->n_inputs + output), index,
                     &value) != TN_OK)
    return worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
  return agrees_with(p, data, output, flat, value, answer);
}

/* The first and the last element, and others at random. */
static bool verify_output(worker_program *p, worker_data *data, int output, worker_answer *answer) {
  int64_t n = worker_elements(data->reference[output]);
  runtime_rng rng = {.state = data->seed};
  uint64_t end_ns = runtime_now_ns() + (uint64_t)(sampling_s * 1e9);
  for (int i = 0; i < SAMPLES && n > 0; ++i) {
    int64_t flat = i == 0 ? 0 : i == 1 ? n - 1 : runtime_random_below(&rng, n);
    if (!agrees_at(p, data, output, flat, answer)) return false;
    if (i + 1 >= MIN_SAMPLES && runtime_now_ns() > end_ns) break;
  }
  return true;
}

static bool verify_samples(worker_program *p, worker_data *data, worker_answer *answer) {
  for (int i = 0; i < data->n_args - data->n_inputs; ++i)
    if (!verify_output(p, data, i, answer)) return false;
  return true;
}

/* Every element: the evaluator's outputs are in the candidates' arrays, which nobody needs yet. */
static bool verify_whole(worker_program *p, worker_data *data, worker_answer *answer) {
  if (tn_evaluate(p->program, data->args, data->n_args) != TN_OK)
    return worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
  for (int i = 0; i < data->n_args - data->n_inputs; ++i) {
    const DLTensor *output = data->args[data->n_inputs + i];
    tn_dtype dtype = p->args[data->n_inputs + i].dtype;
    for (int64_t flat = 0; flat < worker_elements(output); ++flat)
      if (!agrees_with(p, data, i, flat, worker_element(output, dtype, flat), answer)) return false;
  }
  return true;
}

static void spoil_reference(worker_data *data) {
  unsigned char *bytes = data->reference[0]->data;
  for (size_t i = 0; i < tn_array_bytes(data->reference[0]); ++i) bytes[i] ^= 0x15;
}

bool worker_prepare_data(worker_program *p, uint64_t seed, bool spoil, worker_answer *answer) {
  if (p->data && p->data->seed == seed) return true;
  worker_data_free(p->data);
  p->data = NULL;
  worker_data *data = data_new(p, seed, answer);
  worker_lap(answer, WORKER_ARGUMENTS);
  tn_kernel *kernel = data ? unscheduled_kernel(p, answer) : NULL;
  bool ready = kernel && run_unscheduled(p, data, kernel, answer);
  tn_kernel_free(kernel);
  if (ready && spoil) spoil_reference(data);
  if (ready) ready = te_has_externs(p->program) ? verify_whole(p, data, answer) : verify_samples(p, data, answer);
  worker_lap(answer, WORKER_ARGUMENTS);
  if (ready)
    p->data = data;
  else
    worker_data_free(data);
  return ready;
}
