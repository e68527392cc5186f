/* worker_inputs.c: numbers for the inputs: those that were asked for, or random ones that the program can
 * take. Inputs used as indices get indices. Other numbers are in [-1, 1) at first. Where the evaluator then
 * finds infinities or NaN at some points of the result (log, sqrt, pow, acosh, a division), other ranges
 * are tried, and the one with the fewest such points is kept. Where a point takes the evaluator too long, a
 * kernel is asked instead. */
#include <math.h>

#include "autotune/internal.h"
#include "autotune/worker.h"
#include "runtime/kernel.h"

/* How many points of an output the evaluator is asked for; as few as LEAST_POINTS where time runs out. */
enum { POINTS = 16, LEAST_POINTS = 2 };
static const double looking_s = 0.02; /* the evaluator's time for one output of one choice of ranges */

/* Ranges for all inputs that nobody specified, in the order in which they are tried. */
static const char *const ranges[] = {"uniform(0.1, 2)", "uniform(1.01, 3)", "uniform(-0.9, 0.9)",
                                     "uniform(0.05, 0.95)"};

/* Whether an input's range may be chosen: nobody specified it, and it is of floats. Integers may be indices. */
static bool is_free(const worker_program *p, const worker_data *data, int i) {
  const tn_tensor *tensor = tn_program_arg(p->program, i);
  return tn_dtype_is_float(tn_tensor_dtype(tensor)) && !autotune_fill_names(data->fill, tensor->name);
}

/* Every input gets a seed of its own, so that equal shapes do not hold equal data. */
static bool fill_one(worker_program *p, worker_data *data, int i, worker_answer *answer) {
  const tn_tensor *tensor = tn_program_arg(p->program, i);
  uint64_t seed = data->seed + (uint64_t)i;
  bool is_given = autotune_fill_names(data->fill, tensor->name);
  tn_status status = is_given ? autotune_fill_input(p->ctx, data->fill, tensor->name, data->args[i], seed)
                              : runtime_array_fill(p->ctx, data->args[i], seed, te_index_limit(p->program, tensor));
  return status == TN_OK || worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
}

/* How many of the points of an output are infinite or NaN. POINTS + 1 if the evaluator fails. */
static int count_odd_of(worker_program *p, const worker_data *data, int output) {
  const DLTensor *t = data->args[data->n_inputs + output];
  int64_t n = worker_elements(t), index[TN_MAX_RANK];
  uint64_t end_ns = runtime_now_ns() + (uint64_t)(looking_s * 1e9);
  runtime_rng rng = {.state = data->seed};
  int odd = 0;
  for (int i = 0; i < POINTS && n > 0 && (i < LEAST_POINTS || runtime_now_ns() < end_ns); ++i) {
    double value = 0;
    worker_unravel(t, runtime_random_below(&rng, n), index);
    runtime_quiet quiet = runtime_quiet_begin(p->ctx);
    bool is_known = tn_evaluate_at(p->program, data->args, data->n_args,
                                   tn_program_arg(p->program, data->n_inputs + output), index, &value) == TN_OK;
    runtime_quiet_end(&quiet);
    if (!is_known) return POINTS + 1;
    odd += !isfinite(value);
  }
  return odd;
}

/* Counts infinities and NaN. The loop for elements of four bytes, by far the most frequent, can be vectorized. */
static int64_t count_odd_elements(const DLTensor *t, tn_dtype dtype) {
  const uint32_t exponent = 0x7f800000;
  const uint32_t *bits = (const uint32_t *)((const char *)t->data + t->byte_offset);
  int64_t n = worker_elements(t), odd = 0;
  if (dtype == TN_F32)
    for (int64_t k = 0; k < n; ++k) odd += (bits[k] & exponent) == exponent;
  else
    for (int64_t k = 0; k < n; ++k) odd += !isfinite(worker_element(t, dtype, k));
  return odd;
}

/* Counts infinities and NaN in the outputs of floats, by the kernel or, if KERNEL is NULL, by the evaluator
 * at some points. */
static int64_t count_odd(worker_program *p, const worker_data *data, const tn_kernel *kernel) {
  int64_t odd = 0;
  if (kernel && runtime_call_quiet(p->ctx, kernel, data->args, data->n_args) != TN_OK) return INT64_MAX;
  for (int i = 0; i < data->n_args - data->n_inputs; ++i) {
    tn_dtype dtype = p->args[data->n_inputs + i].dtype;
    if (!tn_dtype_is_float(dtype)) continue;
    odd += kernel ? count_odd_elements(data->args[data->n_inputs + i], dtype) : count_odd_of(p, data, i);
  }
  return odd;
}

/* Fills the free inputs with a range; NULL: with the first one, [-1, 1). */
static bool fill_free(worker_program *p, worker_data *data, const char *range, worker_answer *answer) {
  for (int i = 0; i < data->n_inputs; ++i) {
    if (!is_free(p, data, i)) continue;
    bool filled = range ? tn_array_fill_as(p->ctx, data->args[i], range, data->seed + (uint64_t)i) == TN_OK
                        : fill_one(p, data, i, answer);
    if (!filled) return worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
  }
  return true;
}

/* Tries ranges until all results are finite, and keeps the best. */
static bool try_ranges(worker_program *p, worker_data *data, const tn_kernel *kernel, worker_answer *answer) {
  int64_t least = count_odd(p, data, kernel);
  const char *best = NULL;
  for (int i = 0; i < RUNTIME_COUNT(ranges) && least > 0; ++i) {
    if (!fill_free(p, data, ranges[i], answer)) return false;
    int64_t odd = count_odd(p, data, kernel);
    if (odd >= least) continue;
    least = odd;
    best = ranges[i];
  }
  return least == 0 || fill_free(p, data, best, answer);
}

/* Without a generic schedule the first range stays, since the evaluator would take hours. */
static bool choose_ranges(worker_program *p, worker_data *data, worker_answer *answer) {
  if (!worker_is_deep(p->program)) return try_ranges(p, data, NULL, answer);
  tn_schedule *schedule = worker_generic_schedule(p, false);
  tn_kernel *kernel = schedule ? worker_kernel(p, schedule, NULL, answer) : NULL;
  bool chose = kernel && try_ranges(p, data, kernel, answer);
  tn_kernel_free(kernel);
  tn_schedule_free(schedule);
  return chose || !schedule;
}

bool worker_fill_inputs(worker_program *p, worker_data *data, worker_answer *answer) {
  bool has_free = false;
  for (int i = 0; i < data->n_inputs; ++i) {
    if (!fill_one(p, data, i, answer)) return false;
    has_free |= is_free(p, data, i);
  }
  return !has_free || te_has_externs(p->program) || choose_ranges(p, data, answer);
}

double worker_odd_share(const worker_program *p, const worker_data *data) {
  double odd = 0, all = 0;
  for (int i = data->n_inputs; i < data->n_args; ++i) {
    const DLTensor *t = data->reference[i - data->n_inputs];
    if (!tn_dtype_is_float(p->args[i].dtype)) continue;
    odd += (double)count_odd_elements(t, p->args[i].dtype);
    all += (double)worker_elements(t);
  }
  return all > 0 ? odd / all : 0;
}
