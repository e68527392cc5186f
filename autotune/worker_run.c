/* Requests to run: an object in, its time and whether it is right out. The first call is the checked one; outputs are
 * poisoned before it. A candidate that is slow, or clearly slower than the best so far, has only this call; the others
 * are timed, and checked again after the last call, since a race need not show in the first. */
#include <math.h>

#include "autotune/worker.h"
#include "runtime/kernel.h"

/* A candidate is clearly slow above SLOW times the best; SLACK is what a first call may cost for waking threads and the
 * like. */
#define SLOW 3.0
#define SLACK_S 1e-3
/* Longer calls vary little, and several of them could overrun the time limit. */
#define LONG_CALL_S 0.25
#define PEAK_HZ 6e9

static const tn_timing_options timing = {
    .min_batch_s = 0.001, .max_total_s = 0.015, .min_samples = 5, .max_samples = 20, .tight = 0.03};

/* ---- plausibility ------------------------------------------------------------------------------------------------ */

/* Operations a second that no machine like the target reaches: two multiply-adds a cycle of full vectors on every core.
 */
static double peak_flops(const worker_program *p) {
  size_t bytes = 8;
  for (int i = 0; i < p->n_args; ++i) bytes = RUNTIME_MIN(bytes, tn_dtype_bytes(p->args[i].dtype));
  double lanes = (double)tn_target_vector_bytes(p->target) / (double)bytes;
  return tn_target_threads(p->target) * 2 * lanes * 2 * PEAK_HZ;
}

/* Integers are left out: a compiler may find a closed form for their sums. */
static bool is_plausible(const worker_program *p, double seconds, worker_answer *answer) {
  for (int i = 0; i < p->n_args; ++i)
    if (!tn_dtype_is_float(p->args[i].dtype)) return true;
  double least = tn_program_flops(p->program) / peak_flops(p);
  if (seconds > 0 && seconds >= least) return true;
  return worker_fail(answer, TN_MEASURE_UNKNOWN,
                     "a time of %.3g s beats the machine's peak (at least %.3g s): the kernel is broken", seconds,
                     least);
}

/* ---- calling ----------------------------------------------------------------------------------------------------- */

static void poison_outputs(worker_program *p) {
  for (int i = p->data->n_inputs; i < p->n_args; ++i) worker_poison(p->data->args[i], p->args[i].dtype);
}

/* Changes the element in the middle. */
static void change_element(DLTensor *t) {
  size_t bytes = t->dtype.bits / 8u;
  unsigned char *element = (unsigned char *)t->data + (size_t)(worker_elements(t) / 2) * bytes;
  for (size_t i = 0; i < bytes; ++i) element[i] ^= 0x55;
}

static void spoil(const worker *w, worker_program *p) {
  if (w->fault_now == WORKER_WRONG) change_element(p->data->args[p->data->n_inputs]);
  if (w->fault_now == WORKER_SPOIL && p->data->n_inputs > 0) change_element(p->data->args[0]);
}

/* Whether outputs are right and inputs as they were. Changed inputs are made anew with the next request. */
static bool check(worker_program *p, worker_answer *answer) {
  TN_SCOPE(WORKER, 3, "Runner/check");
  bool right = worker_check_outputs(p, answer);
  if (worker_hash_inputs(p->data) != p->data->input_hash) {
    right = worker_fail(answer, TN_MEASURE_WRONG_ANSWER, "the kernel wrote to one of its inputs");
    worker_data_free(p->data);
    p->data = NULL;
  }
  worker_lap(answer, WORKER_CHECK);
  return right;
}

/* Timed without an event of its own: what is recorded of it is written when the time has been taken. */
static bool call_once(worker_program *p, const tn_kernel *kernel, worker_answer *answer, double *seconds) {
  static const tn_site site = {__FILE__, "call_once", __LINE__, TN_CATEGORY_KERNEL, 3};
  uint64_t start = runtime_now_ns();
  tn_status status = runtime_call_quiet(p->ctx, kernel, p->data->args, p->n_args);
  uint64_t end = runtime_now_ns();
  *seconds = (double)(end - start) * 1e-9;
  tn_event_arg flops = tn_event_arg_u64("flops", (uint64_t)tn_program_flops(p->program));
  tn_event_add(&site, "first call", start, end, 0, &flops, 1);
  worker_lap(answer, WORKER_RUN);
  return status == TN_OK || worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
}

/* Quartiles rather than all samples: their median is the samples' median, and their distance the spread. */
static bool time_calls(worker_program *p, const tn_kernel *kernel, double best_s, worker_answer *answer) {
  TN_SCOPE(KERNEL, 3, "Runner/time");
  tn_timing_options options = timing;
  tn_timing t;
  if (best_s > 0) options.give_up_above_s = SLOW * best_s + SLACK_S / 10;
  tn_status status = tn_time(p->ctx, kernel, p->data->args, p->n_args, &options, &t);
  worker_lap(answer, WORKER_RUN);
  if (status != TN_OK) return worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
  answer->n_costs = t.n_samples > 1 ? 3 : 1;
  answer->costs[0] = t.n_samples > 1 ? t.p25_s : t.median_s;
  answer->costs[1] = t.median_s;
  answer->costs[2] = t.p75_s;
  return is_plausible(p, t.median_s, answer);
}

static void make_arguments(worker_program *p, worker_answer *answer) {
  TN_SCOPE(WORKER, 2, "Runner/alloc_argument");
  poison_outputs(p);
  worker_lap(answer, WORKER_ARGUMENTS);
}

static void measure(const worker *w, worker_program *p, const tn_kernel *kernel, double best_s, worker_answer *answer) {
  double first_s;
  make_arguments(p, answer);
  if (!call_once(p, kernel, answer, &first_s)) return;
  spoil(w, p);
  if (!check(p, answer)) return;
  answer->checked = true;
  if (first_s > LONG_CALL_S || (best_s > 0 && first_s > SLOW * best_s + SLACK_S)) {
    answer->n_costs = 1;
    answer->costs[0] = first_s;
    return;
  }
  answer->checked = time_calls(p, kernel, best_s, answer) && check(p, answer);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static worker_program *prepared_program(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = worker_program_get(w, request->header, answer);
  uint64_t seed = (uint64_t)protocol_int(request->header, "seed", 0);
  return p && worker_prepare_data(p, seed, w->fault_now == WORKER_DISAGREE, answer) ? p : NULL;
}

void worker_prepare(worker *w, const protocol_message *request, worker_answer *answer) {
  prepared_program(w, request, answer);
}

static tn_kernel *load(worker_program *p, const protocol_message *request, worker_answer *answer) {
  TN_SCOPE(WORKER, 2, "Runner/load_module");
  tn_kernel *kernel = codegen_load(p->ctx, request->payload, request->payload_bytes, WORKER_SYMBOL, p->n_args, p->args);
  worker_lap(answer, WORKER_LOAD);
  if (!kernel) worker_fail_context(answer, TN_MEASURE_LOAD, p->ctx);
  return kernel;
}

static void evaluate(const worker *w, worker_program *p, const tn_kernel *kernel, double best_s,
                     worker_answer *answer) {
  TN_SCOPE(WORKER, 2, "Runner/run_evaluator");
  measure(w, p, kernel, best_s, answer);
}

static void clean_up(tn_kernel *kernel) {
  TN_SCOPE(WORKER, 2, "Runner/cleanup");
  tn_kernel_free(kernel);
}

void worker_run(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = prepared_program(w, request, answer);
  if (!p) return;
  worker_profile_describe(&w->event, p);
  tn_kernel *kernel = load(p, request, answer);
  if (!kernel) return;
  evaluate(w, p, kernel, protocol_number(request->header, "best_s", 0), answer);
  clean_up(kernel);
}
