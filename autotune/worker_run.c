/* worker_run.c: requests to run: an object in; its time, and whether it is right, out. The first call is
 * checked: those outputs that will be compared are poisoned before it. It is ended when it is clearly
 * slower than the best. A candidate slower than NEAR times the best gets only this call. Others are timed,
 * and checked again after the last call, since a race need not show in the first. A possible new best and
 * the finalists are compared whole.
 *
 * A kernel lives for one request; its object is the request's payload. */
#include <assert.h>
#include <math.h>
#include <time.h>

#include "autotune/worker.h"
#include "runtime/kernel.h"

/* A first call is ended after END times the best time, but not before END_S. */
#define END 1.5
#define END_S 5e-3
/* A kernel slower than NEAR times the best is called only once. SLACK_S is what a first call may cost for
 * waking threads. */
#define NEAR 1.3
#define SLACK_S 1e-3
/* Longer calls vary little, and several of them could exceed the time limit. A first call under
 * QUICK_CALL_S is timed by quick_timing. A finalist's turn above LONG_TURN_S is one call. */
#define LONG_CALL_S 0.25
#define QUICK_CALL_S 1e-3
#define LONG_TURN_S 1e-2
/* PEAK_HZ: the assumed bound of clock rates. LONGEST_COOLDOWN_S: the most that a request may make a worker
 * sleep. FLUSHED_BYTES: more than most caches hold; touched in steps of LINE_BYTES to empty the caches. */
#define PEAK_HZ 8e9
#define LONGEST_COOLDOWN_S 10.0
enum { MOST_REPEATS = 1000, LINE_BYTES = 64, FLUSHED_BYTES = 128 << 20 };

/* A quick kernel is timed in samples of a quarter of a millisecond; one clearly slower than the best is
 * dropped after two. */
static const tn_timing_options quick_timing = {.min_batch_s = 0.00025,
                                               .max_total_s = 0.006,
                                               .min_samples = 6,
                                               .max_samples = 24,
                                               .tight = 0.002,
                                               .median_within = 0.01};
static const tn_timing_options timing = {.min_batch_s = 0.001,
                                         .max_total_s = 0.02,
                                         .min_samples = 5,
                                         .max_samples = 40,
                                         .tight = 0.002,
                                         .median_within = 0.01};
/* A finalist is timed in several turns, each of them short. */
static const tn_timing_options final_timing = {
    .min_batch_s = 0.00025, .max_total_s = 0.002, .min_samples = 3, .max_samples = 4, .tight = 0.001};

/* What a request asks for. */
typedef struct run_request {
  double best_s; /* the fastest so far; 0: none */
  bool is_final;
  bool is_proved; /* its outputs were compared whole before: it is only timed */
  worker_sample sample;
  tn_repeat_options repeats; /* the user's wishes; 0: what suits the kernel */
} run_request;

/* ---- plausibility ------------------------------------------------------------------------------------------------ */

/* Operations a second that no machine of the target's kind reaches: two multiply-adds a cycle with full
 * vectors, on every core. */
static double peak_flops(const worker_program *p) {
  size_t bytes = 8;
  for (int i = 0; i < p->n_args; ++i) bytes = RUNTIME_MIN(bytes, tn_dtype_bytes(p->args[i].dtype));
  double lanes = (double)tn_target_vector_bytes(p->target) / (double)bytes;
  return tn_target_threads(p->target) * 2 * lanes * 2 * PEAK_HZ;
}

/* Whether the time is possible. Programs of integers are left out: a compiler may find a closed form for their sums. */
static bool is_plausible(const worker_program *p, double seconds, worker_answer *answer) {
  for (int i = 0; i < p->n_args; ++i)
    if (!tn_dtype_is_float(p->args[i].dtype)) return true;
  double flops = answer->is_packed ? te_call_flops(p->program) : tn_program_flops(p->program);
  double least = flops / peak_flops(p);
  if (seconds > 0 && seconds >= least) return true;
  return worker_fail(answer, TN_MEASURE_UNKNOWN,
                     "a time of %.3g s beats the machine's peak (at least %.3g s): the kernel is broken", seconds,
                     least);
}

/* ---- calling ----------------------------------------------------------------------------------------------------- */

/* Changes an element in the middle of T. */
static void change_element(DLTensor *t) {
  size_t bytes = t->dtype.bits / 8u;
  unsigned char *element = (unsigned char *)t->data + (size_t)(worker_elements(t) / 2) * bytes;
  for (size_t i = 0; i < bytes; ++i) element[i] ^= 0x55;
}

/* Commits a test's fault between call and check: a wrong result, or a write to an input. */
static void spoil(const worker *w, worker_program *p) {
  assert(p->data && "the arguments of the call");
  if (w->fault_now == WORKER_WRONG) change_element(p->data->args[p->data->n_inputs]);
  if (w->fault_now == WORKER_SPOIL && p->data->n_inputs > 0) change_element(p->data->args[0]);
}

/* Whether an input was written to; the inputs are then made again for the next request. */
static bool wrote_input(worker_program *p, worker_answer *answer) {
  int input = worker_guard_written();
  if (input < 0) return false;
  worker_fail(answer, TN_MEASURE_WRONG_ANSWER, "the kernel wrote to one of its inputs: %s", p->args[input].name);
  worker_data_free(p->data);
  p->data = NULL;
  return true;
}

/* Whether the outputs are right and the inputs untouched. */
static bool check(worker_program *p, const worker_sample *sample, worker_answer *answer) {
  TN_SCOPE(WORKER, 3, "Runner/check");
  bool right = !wrote_input(p, answer) && worker_check_outputs(p, sample, answer);
  worker_lap(answer, WORKER_CHECK);
  return right;
}

/* The call is timed without an open event: its event is written after its time was taken. False: it failed
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

/* Takes one call's time as the cost. */
static void take_one(worker_answer *answer, double seconds) {
  answer->n_costs = answer->n_samples = 1;
  answer->costs[0] = answer->min_s = seconds;
}

/* Takes quartiles rather than all samples: their median is the samples' median, and their distance the spread. */
static void take_timing(worker_answer *answer, const tn_timing *t) {
  answer->n_costs = t->n_samples > 1 ? 3 : 1;
  answer->costs[0] = t->n_samples > 1 ? t->p25_s : t->median_s;
  answer->costs[1] = t->median_s;
  answer->costs[2] = t->p75_s;
  answer->n_samples = t->n_samples;
  answer->min_s = t->min_s;
  answer->noise = 1.57 * t->spread / sqrt((double)RUNTIME_MAX(t->n_samples, 1));
}

/* Reads more than the caches hold. The sum is written to the buffer, so that no compiler leaves the reads out. */
static void flush_caches(void *user) {
  unsigned char *bytes = user, sum = 0;
  for (size_t i = 1; bytes && i < FLUSHED_BYTES; i += LINE_BYTES) sum = (unsigned char)(sum + bytes[i]++);
  if (bytes) bytes[0] = sum;
}

/* Applies what the user asks for. A fixed number of repeats switches off all that would end the timing early. */
static void apply_repeats(tn_timing_options *options, const tn_repeat_options *r) {
  if (r->repeat > 0) options->min_samples = options->max_samples = r->repeat;
  if (r->repeat > 0) options->max_total_s = INFINITY;
  if (r->number > 0) options->min_calls = r->number;
  if (r->min_repeat_ms > 0) options->min_batch_s = r->min_repeat_ms * 1e-3;
  if (r->repeat > 0) options->tight = options->median_within = 1e-12;
  if (r->flushes_cache) options->min_batch_s = 1e-12;
}

/* Sleeps, at most LONGEST_COOLDOWN_S whatever the request says. */
static void cool_down(const tn_repeat_options *r) {
  double seconds = fmin(r->cooldown_s, LONGEST_COOLDOWN_S);
  if (seconds > 0) nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)}, NULL);
}

/* What else the machine did before the timing. It is read around the whole timing rather than each call,
 * since reading costs more than a short kernel. */
typedef struct around {
  worker_waits waits;
  double stolen_s;
} around;

static void look_around(around *before) {
  before->stolen_s = worker_stolen_s();
  worker_take_waits(&before->waits);
}

static void tell_around(const around *before, worker_answer *answer) {
  answer->waited_s = (double)worker_waited_ns(&before->waits) * 1e-9;
  answer->steal_s = worker_stolen_s() - before->stolen_s;
  answer->load = worker_load();
}

/* Whether two calls exceed what a timing may take. Then the first has warmed up, and one more is enough. */
static bool is_long(const run_request *r, double first_s) {
  const tn_repeat_options *o = &r->repeats;
  bool is_asked = o->repeat > 0 || o->number > 0 || o->min_repeat_ms > 0 || o->flushes_cache;
  return first_s > timing.max_total_s && !r->is_final && !is_asked;
}

/* Takes the better of two calls, since other work only adds to a time. */
static bool time_once_more(worker_program *p, const tn_kernel *kernel, double first_s, worker_answer *answer) {
  around before;
  double second_s;
  look_around(&before);
  if (!call_once(p, kernel, 0, answer, &second_s)) return false;
  tell_around(&before, answer);
  take_one(answer, fmin(first_s, second_s));
  answer->n_samples = 2;
  return is_plausible(p, answer->min_s, answer);
}

/* Times the kernel and takes the result. False: it failed, or the time is not possible. */
static bool time_calls(worker_program *p, const tn_kernel *kernel, const run_request *r, double first_s,
                       worker_answer *answer) {
  TN_SCOPE_AS(scope, KERNEL, 3, "Runner/time");
  tn_timing_options options = r->is_final ? final_timing : first_s < QUICK_CALL_S ? quick_timing : timing;
  tn_timing t;
  around before;
  if (is_long(r, first_s)) return time_once_more(p, kernel, first_s, answer);
  look_around(&before);
  if (r->best_s > 0 && !r->is_final) options.give_up_above_s = NEAR * r->best_s + SLACK_S / 10;
  if (r->best_s > 0 && !r->is_final) options.drop_above_s = NEAR * r->best_s;
  apply_repeats(&options, &r->repeats);
  if (r->repeats.flushes_cache) options.before_sample = flush_caches, options.user = calloc(1, FLUSHED_BYTES);
  tn_hardware counted = {0};
  tn_hardware_read(&counted);
  tn_status status = tn_time(p->ctx, kernel, p->data->args, p->n_args, &options, &t);
  tn_scope_hardware(&scope, &counted);
  free(options.user);
  worker_lap(answer, WORKER_RUN);
  if (status != TN_OK) return worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
  tell_around(&before, answer);
  take_timing(answer, &t);
  return is_plausible(p, t.median_s, answer);
}

/* Inputs are left alone: they are the same for all candidates of a program. */
static void make_arguments(worker_program *p, const worker_sample *sample, worker_answer *answer) {
  TN_SCOPE(WORKER, 2, "Runner/alloc_argument");
  worker_poison_outputs(p, sample);
  worker_lap(answer, WORKER_ARGUMENTS);
}

/* Calls the kernel once more with all outputs poisoned, and compares all of them. */
static bool check_whole(worker_program *p, const tn_kernel *kernel, worker_answer *answer) {
  static const worker_sample whole = {.whole = true};
  double seconds;
  worker_poison_outputs(p, &whole);
  worker_lap(answer, WORKER_ARGUMENTS);
  return call_once(p, kernel, 0, answer, &seconds) && check(p, &whole, answer);
}

/* Whether the first call is enough. Against the best, a finalist is never too slow: it is timed to be compared. */
static bool is_slow(const run_request *r, double first_s) {
  if (first_s > (r->is_final ? LONG_TURN_S : LONG_CALL_S)) return true;
  return !r->is_final && r->best_s > 0 && first_s > NEAR * r->best_s + SLACK_S;
}

/* The limit for the first call in seconds; 0: none. */
static double time_limit(const run_request *r) {
  return r->best_s > 0 && !r->is_final ? fmax(END * r->best_s, END_S) : 0;
}

/* Times a turn of a finalist whose outputs were compared before. A long kernel is called twice, since the
 * first call finds other data in the caches. */
static void time_proved(worker_program *p, const tn_kernel *kernel, const run_request *r, worker_answer *answer) {
  double first_s, second_s;
  if (!call_once(p, kernel, 0, answer, &first_s) || wrote_input(p, answer)) return;
  if (first_s < LONG_TURN_S)
    time_calls(p, kernel, r, first_s, answer);
  else if (call_once(p, kernel, 0, answer, &second_s))
    take_one(answer, fmin(first_s, second_s));
}

/* Calls, checks and times a candidate. The outputs to be compared are poisoned already. */
static void measure(const worker *w, worker_program *p, const tn_kernel *kernel, const run_request *r,
                    worker_answer *answer) {
  double first_s;
  if (r->is_proved) {
    time_proved(p, kernel, r, answer);
    return;
  }
  bool finished = call_once(p, kernel, time_limit(r), answer, &first_s);
  if (answer->ended_early && !wrote_input(p, answer)) take_one(answer, first_s);
  if (!finished) return;
  spoil(w, p);
  if (!check(p, &r->sample, answer)) return;
  if (is_slow(r, first_s))
    take_one(answer, first_s);
  else if (!time_calls(p, kernel, r, first_s, answer) || !check(p, &r->sample, answer))
    return;
  bool is_best = answer->n_costs > 0 && answer->costs[answer->n_costs / 2] < r->best_s;
  answer->checked = !is_best || r->sample.whole || check_whole(p, kernel, answer);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* The program with its data, which costs nothing if the worker holds them. NULL: the answer has the error. */
static worker_program *prepared_program(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = worker_program_get(w, request->header, answer);
  uint64_t seed = (uint64_t)protocol_int(request->header, "seed", 0);
  double default_s = protocol_number(request->header, "default_s", 0);
  bool spoil = w->fault_now == WORKER_DISAGREE;
  const char *fill = protocol_text(request->header, "fill", NULL);
  if (!p || !worker_prepare_data(p, seed, fill, default_s, spoil, answer)) return NULL;
  answer->odd_share = p->data->odd_share;
  return p;
}

/* Times the unscheduled program in the way of candidates, for the case that it is the reference. */
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
  if (w->device.command) {
    worker_device_prepare(w, request, answer);
    return;
  }
  worker_program *p = prepared_program(w, request, answer);
  if (!p) return;
  answer->default_s = p->data->default_s;
  answer->is_estimate = !p->data->default_was_run;
  if (json_is_true(json_object_get(request->header, "wants_default")) && p->data->default_was_run)
    measure_default(w, p, answer);
}

/* Loads the object. The caller frees the kernel with clean_up, so that a recording shows both. */
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
  if (!r->is_proved) make_arguments(p, &r->sample, answer);
  measure(w, p, kernel, r, answer);
  for (int i = 0; w->fault_now == WORKER_TIMELESS && i < answer->n_costs; ++i) answer->costs[i] = 0;
}

/* Packs the constants once, before anything is timed. A kernel without such a function packs at each call,
 * or has nothing to pack. */
bool worker_pack(worker_program *p, const tn_kernel *kernel, worker_answer *answer) {
  bool has_constants = false;
  for (int i = 0; i < p->program->n_inputs; ++i) has_constants |= p->program->args[i]->is_layout_free;
  tn_kernel *packs = has_constants ? codegen_load_other(p->ctx, kernel, WORKER_PACK_SYMBOL) : NULL;
  if (!packs && tn_context_status(p->ctx) != TN_OK) return worker_fail_context(answer, TN_MEASURE_LOAD, p->ctx);
  if (!packs) return true;
  tn_status status = runtime_call_quiet(p->ctx, packs, p->data->args, p->n_args);
  tn_kernel_free(packs);
  answer->is_packed = true;
  worker_lap(answer, WORKER_ARGUMENTS);
  return status == TN_OK || worker_fail_context(answer, TN_MEASURE_RUNTIME, p->ctx);
}

/* An event of its own: unmapping the code is part of what a candidate costs. */
static void clean_up(tn_kernel *kernel) {
  TN_SCOPE(WORKER, 2, "Runner/cleanup");
  tn_kernel_free(kernel);
}

/* Numbers are clipped to what their types hold, since the request may come from another version. */
static tn_repeat_options take_repeats(const protocol_message *request) {
  const json_t *h = request->header;
  return (tn_repeat_options){.repeat = (int)fmin(protocol_number(h, "repeat", 0), MOST_REPEATS),
                             .number = (int)fmin(protocol_number(h, "number", 0), INT32_MAX),
                             .min_repeat_ms = protocol_number(h, "min_repeat_ms", 0),
                             .cooldown_s = protocol_number(h, "cooldown_s", 0),
                             .flushes_cache = protocol_number(h, "flush", 0) > 0};
}

/* The blocks to compare are seeded by the object, too, so that each candidate is compared in others. */
static run_request take_request(const protocol_message *request) {
  double best_s = protocol_number(request->header, "best_s", 0);
  bool is_final = json_is_true(json_object_get(request->header, "final"));
  uint64_t seed = (uint64_t)protocol_int(request->header, "seed", 0);
  uint64_t blocks = runtime_hash(request->payload, request->payload_bytes, seed);
  bool is_proved = json_is_true(json_object_get(request->header, "proved"));
  return (run_request){
      best_s, is_final, is_proved, {.whole = best_s <= 0 || is_final, .seed = blocks}, take_repeats(request)};
}

/* The kernel is freed before the next request: the code of thousands of candidates would fill the address space. */
void worker_run(worker *w, const protocol_message *request, worker_answer *answer) {
  if (w->device.command) {
    worker_device_run(w, request, answer);
    return;
  }
  worker_program *p = prepared_program(w, request, answer);
  if (!p) return;
  worker_profile_describe(&w->event, p);
  tn_kernel *kernel = load(p, request, answer);
  if (!kernel) return;
  run_request r = take_request(request);
  cool_down(&r.repeats);
  if (worker_pack(p, kernel, answer)) evaluate(w, p, kernel, &r, answer);
  clean_up(kernel);
}
