/* worker_reference.c: what a candidate is compared with, and the proof of it.
 *
 * Where the unscheduled program is quick, it is the reference: the default schedule, compiled and run.
 * Otherwise the generic schedule's kernel is, compared with a second kernel of other loops: the generic
 * schedule for a machine with other vectors and caches. Either is also compared with the evaluator, which
 * walks the graph and shares no code with lowering, at sampled points of every output, or of every tensor
 * (worker_stages.c). If a generic reference cannot be proved, the unscheduled program is run after all.
 * Only a program that calls C functions is evaluated in full, since each call computes a whole tensor; such
 * a program is not tuned. */
#include <math.h>

#include "autotune/internal.h"
#include "autotune/worker.h"
#include "runtime/kernel.h"

/* How many points of an output the evaluator is asked for; as few as MIN_SAMPLES where time runs out. */
enum { SAMPLES = 64, MIN_SAMPLES = 2 };

static const double sampling_s = 0.1;      /* the evaluator's time for all outputs together */
static const double short_default_s = 0.2; /* an unscheduled program that takes less is run */

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Runs the kernel on the candidates' arrays. Every byte of the outputs is poisoned before. */
static bool run_kernel(worker_program *p, worker_data *data, const tn_kernel *kernel, double *seconds,
                       worker_answer *answer) {
  for (int i = data->n_inputs; i < data->n_args; ++i) worker_poison(data->args[i], p->args[i].dtype);
  uint64_t start = runtime_now_ns();
  tn_status status = runtime_call_quiet(p->ctx, kernel, data->args, data->n_args);
  *seconds = (double)(runtime_now_ns() - start) * 1e-9;
  return status == TN_OK || worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
}

/* Makes the outputs the reference. The scale is the reference's, since a candidate's output may be garbage. */
static void keep_outputs(worker_program *p, worker_data *data) {
  for (int i = data->n_inputs; i < data->n_args; ++i) {
    const DLTensor *output = data->args[i];
    memcpy(data->reference[i - data->n_inputs]->data, output->data, tn_array_bytes(output));
    data->scale[i - data->n_inputs] = worker_typical(output, p->args[i].dtype);
  }
}

/* Makes what SCHEDULE's kernel computes the reference. SCHEDULE may be NULL: no memory. */
static bool compute_reference(worker_program *p, worker_data *data, const tn_schedule *schedule, double *seconds,
                              worker_answer *answer) {
  tn_kernel *kernel = schedule ? worker_kernel(p, schedule, NULL, answer) : NULL;
  bool ran = kernel && run_kernel(p, data, kernel, seconds, answer);
  if (ran) keep_outputs(p, data);
  tn_kernel_free(kernel);
  return ran || worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for the reference's schedule");
}

/* ---- the evaluator's word ---------------------------------------------------------------------------------------- */

/* Whether element FLAT of the reference agrees with VALUE, which the evaluator says. */
static bool agrees_with(worker_program *p, worker_data *data, int output, int64_t flat, double value,
                        worker_answer *answer) {
  const DLTensor *reference = data->reference[output];
  tn_tensor *tensor = tn_program_arg(p->program, data->n_inputs + output);
  tn_dtype dtype = tn_tensor_dtype(tensor);
  double got = worker_element(reference, dtype, flat);
  if (worker_error(dtype, got, value, data->scale[output]) <= data->tolerance) return true;
  if (worker_is_rounding(p->program, data, output, flat, got)) return true;
  runtime_str at = {0};
  worker_print_element(&at, tn_tensor_name(tensor), reference, flat);
  worker_fail(answer, TN_MEASURE_WRONG_ANSWER,
              "the %s kernel disagrees with the evaluator: %s is %.9g, the evaluator says %.9g",
              data->is_generic ? "generic schedule's" : "unscheduled", at.failed ? "an element" : at.data, got, value);
  runtime_str_free(&at);
  return false;
}

/* Computing one element may take long, for a chain of reductions. Therefore sampling_s limits how many are
 * asked for. */
static bool agrees_at(worker_program *p, worker_data *data, int output, int64_t flat, worker_answer *answer) {
  int64_t index[TN_MAX_RANK];
  double value = 0;
  worker_unravel(data->reference[output], flat, index);
  if (tn_evaluate_at(p->program, data->args, data->n_args, tn_program_arg(p->program, data->n_inputs + output), index,
                     &value) != TN_OK)
    return worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
  return agrees_with(p, data, output, flat, value, answer);
}

/* Compares the first and the last element, and others at random. */
static bool verify_output(worker_program *p, worker_data *data, int output, worker_answer *answer) {
  int64_t n = worker_elements(data->reference[output]);
  runtime_rng rng = {.state = data->seed};
  uint64_t end_ns = runtime_now_ns() + (uint64_t)(sampling_s / (data->n_args - data->n_inputs) * 1e9);
  for (int i = 0; i < SAMPLES && n > 0; ++i) {
    int64_t flat = i == 0 ? 0 : i == 1 ? n - 1 : runtime_random_below(&rng, n);
    if (!agrees_at(p, data, output, flat, answer)) return false;
    if (i + 1 >= MIN_SAMPLES && runtime_now_ns() > end_ns) break;
  }
  return true;
}

/* Compares the reference kernel with the evaluator, output by output: a reference that is wrong itself must
 * not judge others. */
static bool verify_samples(worker_program *p, worker_data *data, worker_answer *answer) {
  for (int i = 0; i < data->n_args - data->n_inputs; ++i)
    if (!verify_output(p, data, i, answer)) return false;
  return true;
}

/* Compares every element. The evaluator writes to the candidates' arrays, which nobody needs yet. */
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

/* The fault WORKER_DISAGREE: changes the reference of the last output. */
static void spoil_reference(worker_data *data) {
  DLTensor *last = data->reference[data->n_args - data->n_inputs - 1];
  unsigned char *bytes = last->data;
  for (size_t i = 0; i < tn_array_bytes(last); ++i) bytes[i] ^= 0x15;
}

/* Proves the reference. SPOIL changes it first; the proof must notice. */
static bool verify(worker_program *p, worker_data *data, bool spoil, worker_answer *answer) {
  if (spoil) spoil_reference(data);
  if (te_has_externs(p->program)) return verify_whole(p, data, answer);
  if (!worker_is_deep(p->program)) return verify_samples(p, data, answer);
  return worker_verify_stages(p, data, answer);
}

/* ---- which reference --------------------------------------------------------------------------------------------- */

/* Runs the whole program in its default loops, which may take minutes; the tuner's limit applies. */
static bool prove_unscheduled(worker_program *p, worker_data *data, bool spoil, worker_answer *answer) {
  double seconds = 0;
  data->is_generic = false;
  tn_schedule *schedule = tn_schedule_new(p->program);
  bool proved = compute_reference(p, data, schedule, &seconds, answer) && verify(p, data, spoil, answer);
  if (proved) data->default_s = seconds;
  data->default_was_run = proved;
  tn_schedule_free(schedule);
  return proved;
}

tn_schedule *worker_generic_schedule(worker_program *p, bool other) {
  tn_machine machine = tn_target_machine(p->target);
  if (other) {
    machine.vector_bytes = machine.vector_bytes > 16 ? machine.vector_bytes / 2 : 2 * machine.vector_bytes;
    machine.vector_registers = RUNTIME_MAX(machine.vector_registers / 2, 8);
    for (int level = 1; level < RUNTIME_COUNT(machine.cache_bytes); ++level) machine.cache_bytes[level] /= 4;
  }
  tn_schedule *s = tn_schedule_new(p->program);
  if (s && tn_schedule_auto(s, &machine) == TN_OK) return s;
  tn_context_clear(p->ctx);
  tn_schedule_free(s);
  return NULL;
}

/* Whether a second kernel computes the same as the first in every element. */
static bool agree(worker_program *p, worker_data *data, const tn_schedule *second, worker_answer *answer) {
  double seconds;
  tn_kernel *kernel = worker_kernel(p, second, NULL, answer);
  bool same = kernel && run_kernel(p, data, kernel, &seconds, answer);
  p->data = data; /* what outputs are compared in */
  same = same && worker_check_outputs(p, &(worker_sample){.whole = true}, answer);
  p->data = NULL;
  tn_kernel_free(kernel);
  return same;
}

/* Two schedules of equal hash would prove nothing by agreeing, so that fails. */
static bool prove_generic(worker_program *p, worker_data *data, bool spoil, worker_answer *answer) {
  double seconds;
  tn_schedule *first = worker_generic_schedule(p, false), *second = worker_generic_schedule(p, true);
  data->is_generic = true;
  bool proved = first && second && autotune_schedule_hash(first) != autotune_schedule_hash(second) &&
                compute_reference(p, data, first, &seconds, answer) && verify(p, data, spoil, answer) &&
                agree(p, data, second, answer);
  tn_schedule_free(first);
  tn_schedule_free(second);
  return proved;
}

/* The failed attempt is not the answer, since another way may succeed. */
static void forget_error(worker_answer *answer) {
  answer->error = TN_MEASURE_NONE;
  answer->max_error = 0;
  runtime_str_free(&answer->message);
}

/* The time is estimated first: it decides which way is quicker. */
static bool make_reference(worker_program *p, worker_data *data, bool spoil, worker_answer *answer) {
  if (te_has_externs(p->program)) return prove_unscheduled(p, data, spoil, answer);
  if (data->default_s == 0 && !worker_estimate(p, data, answer, &data->default_s)) return false;
  if (data->default_s >= short_default_s && prove_generic(p, data, spoil, answer)) return true;
  forget_error(answer);
  return prove_unscheduled(p, data, spoil, answer);
}

/* Whether the data that is kept was made for this seed and fill. */
static bool has_data(const worker_program *p, uint64_t seed, const char *fill) {
  const worker_data *d = p->data;
  return d && d->seed == seed && strcmp(d->fill ? d->fill : "", fill ? fill : "") == 0;
}

/* p->data only ever holds proved data. On failure it is NULL, and the next request tries again. */
bool worker_prepare_data(worker_program *p, uint64_t seed, const char *fill, double default_s, bool spoil,
                         worker_answer *answer) {
  if (has_data(p, seed, fill)) {
    worker_guard_inputs(p->data); /* another program's were guarded meanwhile */
    return true;
  }
  worker_data_free(p->data);
  p->data = NULL;
  worker_data *data = worker_data_new(p, seed, fill, answer);
  worker_lap(answer, WORKER_ARGUMENTS);
  if (!data) return false;
  data->default_s = default_s;
  bool ready = worker_guard_start() || worker_fail(answer, TN_MEASURE_UNKNOWN, "no thread to watch candidates");
  worker_guard_inputs(data);
  ready = ready && make_reference(p, data, spoil, answer);
  if (ready) data->odd_share = worker_odd_share(p, data);
  worker_lap(answer, WORKER_ARGUMENTS);
  if (ready)
    p->data = data;
  else
    worker_data_free(data);
  return ready;
}
