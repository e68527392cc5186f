/* Requests to run: an object in, its time and whether it is right out. The first call is the checked one; what will be
 * compared of the outputs is poisoned before it. It is ended when it is clearly slower than the best. A candidate that is
 * slower than NEAR times the best has only this call; the others are timed, and checked again after the last call, since
 * a race need not show in the first. What would be the new best, and finalists, are compared whole. */
#include <math.h>

#include "autotune/worker.h"
#include "runtime/kernel.h"

/* A run is ended after END times the best, but not before END_S. */
#define END 1.5
#define END_S 5e-3
/* What is slower than NEAR times the best is called once; SLACK is what a first call may cost for waking threads. */
#define NEAR 1.3
#define SLACK_S 1e-3
/* Longer calls vary little, and several of them could overrun the time limit. */
#define LONG_CALL_S 0.25
#define PEAK_HZ 6e9

static const tn_timing_options timing = {.min_batch_s = 0.001,
                                         .max_total_s = 0.02,
                                         .min_samples = 5,
                                         .max_samples = 40,
                                         .tight = 0.002,
                                         .median_within = 0.01};
/* A finalist is timed in several turns: each is short. */
static const tn_timing_options final_timing = {
    .min_batch_s = 0.001, .max_total_s = 0.004, .min_samples = 3, .max_samples = 5, .tight = 0.001};

/* What a request asks for. */
typedef struct run_request {
  double best_s; /* fastest so far, 0: none */
  bool is_final;
  worker_sample sample;
} run_request;

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

/* Whether an input was written to. Changed inputs are made anew with the next request. */
static bool wrote_input(worker_program *p, worker_answer *answer) {
  int input = worker_guard_written();
  if (input < 0) return false;
  worker_fail(answer, TN_MEASURE_WRONG_ANSWER, "the kernel wrote to one of its inputs: %s", p->args[input].name);
  worker_data_free(p->data);
  p->data = NULL;
  return true;
}

/* Whether outputs are right and inputs as they were. */
static bool check(worker_program *p, const worker_sample *sample, worker_answer *answer) {
  TN_SCOPE(WORKER, 3, "Runner/check");
  bool right = !wrote_input(p, answer) && worker_check_outputs(p, sample, answer);
  worker_lap(answer, WORKER_CHECK);
  return right;
}

/* Timed without an event of its own: what is recorded of it is written when the time has been taken. False: it failed
 * or was ended. */
static bool call_once(worker_program *p, const tn_kernel *kernel, double limit_s, worker_answer *answer,
                      double *seconds) {
  static const tn_site site = {__FILE__, "call_once", __LINE__, TN_CATEGORY_KERNEL, 3};
  tn_status status = TN_OK;
  uint64_t start = runtime_now_ns();
  answer->ended_early = !worker_guard_call(p->ctx, kernel, p->data->args, p->n_args, limit_s, &status);
  uint64_t end = runtime_now_ns();
  *seconds = (double)(end - start) * 1e-9;
  tn_event_arg flops = tn_event_arg_u64("flops", (uint64_t)tn_program_flops(p->program));
  tn_event_add(&site, "first call", start, end, 0, &flops, 1);
  worker_lap(answer, WORKER_RUN);
  if (status != TN_OK) return worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
  return !answer->ended_early;
}

/* One call's time as the cost. */
static void take_one(worker_answer *answer, double seconds) {
  answer->n_costs = answer->n_samples = 1;
  answer->costs[0] = answer->min_s = seconds;
}

/* Quartiles rather than all samples: their median is the samples' median, and their distance the spread. */
static void take_timing(worker_answer *answer, const tn_timing *t) {
  answer->n_costs = t->n_samples > 1 ? 3 : 1;
  answer->costs[0] = t->n_samples > 1 ? t->p25_s : t->median_s;
  answer->costs[1] = t->median_s;
  answer->costs[2] = t->p75_s;
  answer->n_samples = t->n_samples;
  answer->min_s = t->min_s;
  answer->noise = 1.57 * t->spread / sqrt((double)RUNTIME_MAX(t->n_samples, 1));
}

static bool time_calls(worker_program *p, const tn_kernel *kernel, const run_request *r, worker_answer *answer) {
  TN_SCOPE(KERNEL, 3, "Runner/time");
  tn_timing_options options = r->is_final ? final_timing : timing;
  tn_timing t;
  worker_waits waits;
  double stolen_s = worker_stolen_s();
  worker_take_waits(&waits);
  if (r->best_s > 0 && !r->is_final) options.give_up_above_s = NEAR * r->best_s + SLACK_S / 10;
  tn_status status = tn_time(p->ctx, kernel, p->data->args, p->n_args, &options, &t);
  worker_lap(answer, WORKER_RUN);
  if (status != TN_OK) return worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
  answer->waited_s = (double)worker_waited_ns(&waits) * 1e-9;
  answer->steal_s = worker_stolen_s() - stolen_s;
  answer->load = worker_load();
  take_timing(answer, &t);
  return is_plausible(p, t.median_s, answer);
}

static void make_arguments(worker_program *p, const worker_sample *sample, worker_answer *answer) {
  TN_SCOPE(WORKER, 2, "Runner/alloc_argument");
  worker_poison_outputs(p, sample);
  worker_lap(answer, WORKER_ARGUMENTS);
}

/* A call whose outputs, of which every element is poisoned before, are compared whole. */
static bool check_whole(worker_program *p, const tn_kernel *kernel, worker_answer *answer) {
  static const worker_sample whole = {.whole = true};
  double seconds;
  worker_poison_outputs(p, &whole);
  worker_lap(answer, WORKER_ARGUMENTS);
  return call_once(p, kernel, 0, answer, &seconds) && check(p, &whole, answer);
}

static bool is_slow(const run_request *r, double first_s) {
  if (first_s > LONG_CALL_S) return true;
  return !r->is_final && r->best_s > 0 && first_s > NEAR * r->best_s + SLACK_S;
}

static double time_limit(const run_request *r) {
  return r->best_s > 0 && !r->is_final ? fmax(END * r->best_s, END_S) : 0;
}

/* What will be compared of the outputs is poisoned. */
static void measure(const worker *w, worker_program *p, const tn_kernel *kernel, const run_request *r,
                    worker_answer *answer) {
  double first_s;
  bool finished = call_once(p, kernel, time_limit(r), answer, &first_s);
  if (answer->ended_early && !wrote_input(p, answer)) take_one(answer, first_s);
  if (!finished) return;
  spoil(w, p);
  if (!check(p, &r->sample, answer)) return;
  if (is_slow(r, first_s))
    take_one(answer, first_s);
  else if (!time_calls(p, kernel, r, answer) || !check(p, &r->sample, answer))
    return;
  bool is_best = answer->n_costs > 0 && answer->costs[answer->n_costs / 2] < r->best_s;
  answer->checked = !is_best || r->sample.whole || check_whole(p, kernel, answer);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static worker_program *prepared_program(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = worker_program_get(w, request->header, answer);
  uint64_t seed = (uint64_t)protocol_int(request->header, "seed", 0);
  double default_s = protocol_number(request->header, "default_s", 0);
  bool spoil = w->fault_now == WORKER_DISAGREE;
  return p && worker_prepare_data(p, seed, default_s, spoil, answer) ? p : NULL;
}

/* The unscheduled program's time, when the reference is what it computed: measured as a candidate's is. */
static void measure_default(const worker *w, worker_program *p, worker_answer *answer) {
  static const run_request whole = {.sample = {.whole = true}};
  tn_schedule *schedule = tn_schedule_new(p->program);
  tn_kernel *kernel = schedule ? worker_kernel(p, schedule, NULL, answer) : NULL;
  if (kernel) {
    worker_poison_outputs(p, &whole.sample);
    measure(w, p, kernel, &whole, answer);
  }
  tn_kernel_free(kernel);
  tn_schedule_free(schedule);
}

void worker_prepare(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = prepared_program(w, request, answer);
  if (!p) return;
  answer->default_s = p->data->default_s;
  answer->is_estimate = !p->data->default_was_run;
  if (json_is_true(json_object_get(request->header, "wants_default")) && p->data->default_was_run)
    measure_default(w, p, answer);
}

static tn_kernel *load(worker_program *p, const protocol_message *request, worker_answer *answer) {
  TN_SCOPE(WORKER, 2, "Runner/load_module");
  tn_kernel *kernel = codegen_load(p->ctx, request->payload, request->payload_bytes, WORKER_SYMBOL, p->n_args, p->args);
  worker_lap(answer, WORKER_LOAD);
  if (!kernel) worker_fail_context(answer, TN_MEASURE_LOAD, p->ctx);
  return kernel;
}

static void evaluate(const worker *w, worker_program *p, const tn_kernel *kernel, const run_request *r,
                     worker_answer *answer) {
  TN_SCOPE(WORKER, 2, "Runner/run_evaluator");
  make_arguments(p, &r->sample, answer);
  measure(w, p, kernel, r, answer);
  for (int i = 0; w->fault_now == WORKER_TIMELESS && i < answer->n_costs; ++i) answer->costs[i] = 0;
}

static void clean_up(tn_kernel *kernel) {
  TN_SCOPE(WORKER, 2, "Runner/cleanup");
  tn_kernel_free(kernel);
}

/* Every candidate is compared in other blocks. */
static run_request take_request(const protocol_message *request) {
  double best_s = protocol_number(request->header, "best_s", 0);
  bool is_final = json_is_true(json_object_get(request->header, "final"));
  uint64_t seed = (uint64_t)protocol_int(request->header, "seed", 0);
  uint64_t blocks = runtime_hash(request->payload, request->payload_bytes, seed);
  return (run_request){best_s, is_final, {.whole = best_s <= 0 || is_final, .seed = blocks}};
}

void worker_run(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = prepared_program(w, request, answer);
  if (!p) return;
  worker_profile_describe(&w->event, p);
  tn_kernel *kernel = load(p, request, answer);
  if (!kernel) return;
  run_request r = take_request(request);
  evaluate(w, p, kernel, &r, answer);
  clean_up(kernel);
}
