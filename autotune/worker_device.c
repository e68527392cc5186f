/* worker_device.c: candidates that run on a device. This machine compiles them, makes the inputs and proves
 * the reference as for any candidate, and sends both once. The program tenon-runner on the device times and
 * checks. Whatever goes wrong on the device or on the way to it costs only the candidate under way. */
#include <math.h>
#include <stdio.h>

#include "autotune/worker.h"
#include "runtime/kernel.h"

/* Thresholds as in worker_run.c; a device's clock may be coarser, and its line slower. LINE_S: how long an
 * answer of the line itself may take. */
#define ONCE 1.3
#define SLACK_S 1e-3
#define LONG_CALL_S 0.25
#define LINE_S 20.0
static const uint64_t batch_ns = 500000, budget_ns = 30000000;
enum { SAMPLES = 24, FINAL_SAMPLES = 12 };

/* The target for which inputs and reference are made: this machine. */
static const char home[] = "native";

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static device_dtype dtype_of(tn_dtype dtype) {
  static const device_dtype of[TN_DTYPE_COUNT] = {
      [TN_F16] = DEVICE_F16, [TN_BF16] = DEVICE_BF16, [TN_F32] = DEVICE_F32, [TN_F64] = DEVICE_F64};
  return of[dtype];
}

/* A hash of the data that the device is to hold: program, seed and fill. Never 0, which means none. */
static uint64_t data_key(const worker_program *p) {
  uint64_t key = runtime_hash(p->text, strlen(p->text), p->data->seed);
  return (p->data->fill ? runtime_hash(p->data->fill, strlen(p->data->fill), key) : key) | 1;
}

/* Whether the device can take the program's arguments. False: the answer says why not. */
static bool fits_device(const worker_program *p, worker_answer *answer) {
  if (p->n_args > DEVICE_MAX_ARGS)
    return worker_fail(answer, TN_MEASURE_INSTANTIATION, "a device's kernels have at most %d arguments, this one %d",
                       DEVICE_MAX_ARGS, p->n_args);
  for (int i = 0; i < p->n_args; ++i)
    if (p->args[i].by_value)
      return worker_fail(answer, TN_MEASURE_INSTANTIATION,
                         "%s is passed by value, which a device's kernels do not take: make it an input of rank 0",
                         p->args[i].name);
  return true;
}

/* Reports what the runner did instead of answering. Returns false. */
static bool lose(const worker *w, worker_answer *answer) {
  return worker_fail(answer, TN_MEASURE_RUNTIME, "%s", w->device.why);
}

/* Sends an input, or an output's reference with what comparing it needs. */
static bool send_argument(worker *w, const worker_program *p, int i, worker_answer *answer) {
  const worker_data *data = p->data;
  bool is_output = i >= data->n_inputs;
  const DLTensor *t = is_output ? data->reference[i - data->n_inputs] : data->args[i];
  tn_dtype dtype = p->args[i].dtype;
  device_argument about = {.index = (uint32_t)i,
                           .is_output = is_output,
                           .dtype = dtype_of(dtype),
                           .element_bytes = (uint32_t)tn_dtype_bytes(dtype),
                           .bytes = tn_array_bytes(t),
                           .scale = is_output ? data->scale[i - data->n_inputs] : 0,
                           .tolerance = data->tolerance};
  const char *bytes = (const char *)t->data + t->byte_offset;
  return device_ask(&w->device, DEVICE_ARGUMENT, &about, sizeof about, bytes, about.bytes, NULL, 0, LINE_S) ||
         lose(w, answer);
}

/* Sends all arguments unless the device has them already. */
static bool send_arguments(worker *w, const worker_program *p, worker_answer *answer) {
  uint64_t key = data_key(p);
  if (w->device.sent == key) return true;
  w->device.sent = 0;
  for (int i = 0; i < p->n_args; ++i)
    if (!send_argument(w, p, i, answer)) return false;
  w->device.sent = key;
  worker_lap(answer, WORKER_ARGUMENTS);
  return true;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* One element's bytes as a number. */
static double element_of(const uint8_t bytes[8], tn_dtype dtype) {
  int64_t one = 1;
  uint64_t copy;
  memcpy(&copy, bytes, sizeof copy);
  DLTensor t = {.data = &copy, .ndim = 1, .shape = &one};
  return worker_element(&t, dtype, 0);
}

/* Puts the device's worst element into the answer. Indices from the device are checked first. */
static bool say_wrong(const worker_program *p, const device_result *r, worker_answer *answer) {
  int i = (int)r->detail, output = i - p->data->n_inputs;
  if (output < 0 || i >= p->n_args || (int64_t)r->worst >= worker_elements(p->data->args[i]))
    return worker_fail(answer, TN_MEASURE_UNKNOWN, "the runner says that what is no output is wrong");
  tn_dtype dtype = p->args[i].dtype;
  runtime_str at = {0};
  worker_print_element(&at, p->args[i].name, p->data->reference[output], (int64_t)r->worst);
  worker_fail(answer, TN_MEASURE_WRONG_ANSWER,
              "%llu elements are wrong; the worst: %s is %.9g, the reference %.9g (relative error %.3g, allowed %.3g)",
              (unsigned long long)r->n_wrong, at.failed ? "an element" : at.data, element_of(r->got, dtype),
              element_of(r->wanted, dtype), r->max_error, tn_dtype_is_float(dtype) ? p->data->tolerance : 0);
  runtime_str_free(&at);
  return false;
}

/* Turns the device's outcome into an error of the answer. True: there are times. */
static bool take_outcome(const worker_program *p, const device_result *r, double limit_s, worker_answer *answer) {
  const char *import = device_import_name(r->detail - DEVICE_MAX_ARGS);
  switch ((device_outcome)r->outcome) {
    case DEVICE_OK: return true;
    case DEVICE_WRONG: return say_wrong(p, r, answer);
    case DEVICE_TIMEOUT:
      return worker_fail(answer, TN_MEASURE_RUN_TIMEOUT, "the kernel took longer than %.3g s on the device", limit_s);
    case DEVICE_SIGNAL:
      return worker_fail(answer, TN_MEASURE_RUNTIME, "the kernel was ended on the device by signal %u%s", r->detail,
                         r->detail == 11 ? ": it touched memory outside of its arrays, or wrote to an input" : "");
    case DEVICE_NO_MEMORY: return worker_fail(answer, TN_MEASURE_MEMORY, "the device has no memory for the kernel");
    case DEVICE_MISSING:
      return worker_fail(answer, TN_MEASURE_LOAD, "the device has no %s that the kernel calls",
                         import ? import : "argument");
  }
  return worker_fail(answer, TN_MEASURE_UNKNOWN, "the runner says that the run ended in way %u, of which there is none",
                     r->outcome);
}

static int compare_times(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Takes the quartiles as costs, as for candidates of this machine. */
static bool take_times(device_result *r, worker_answer *answer) {
  int n = (int)RUNTIME_MIN(r->n_samples, (uint32_t)DEVICE_MAX_SAMPLES);
  if (n == 0) return worker_fail(answer, TN_MEASURE_UNKNOWN, "the runner sent no time");
  qsort(r->sample_ps, (size_t)n, sizeof *r->sample_ps, compare_times);
  const double quarters[] = {1e-12 * (double)r->sample_ps[n / 4], 1e-12 * (double)r->sample_ps[n / 2],
                             1e-12 * (double)r->sample_ps[3 * n / 4]};
  answer->n_costs = n > 1 ? 3 : 1;
  memcpy(answer->costs, quarters, sizeof quarters);
  answer->n_samples = n;
  answer->min_s = 1e-12 * (double)r->sample_ps[0];
  answer->noise = quarters[1] > 0 ? 1.57 * (quarters[2] - quarters[0]) / quarters[1] / sqrt(n) : 0;
  answer->checked = true;
  answer->share = 1;
  answer->max_error = r->max_error;
  return true;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* What a request asks for. ARCHITECTURE is in the caller's buffer. */
typedef struct device_request {
  const char *architecture;
  double best_s, timeout_s;
  bool is_final;
} device_request;

/* Sends a linked image, and takes its outcome and times. */
static bool run_image(worker *w, const worker_program *p, const device_image *image, const device_request *q,
                      worker_answer *answer) {
  double limit_s = 0.8 * q->timeout_s, once_s = q->best_s > 0 ? ONCE * q->best_s + SLACK_S : LONG_CALL_S;
  if (q->is_final) once_s = LONG_CALL_S;
  device_run run = {.n_args = (uint32_t)p->n_args,
                    .file_bytes = image->file_bytes,
                    .memory_bytes = image->memory_bytes,
                    .entry = image->entry,
                    .n_places = image->n_places,
                    .max_samples = q->is_final ? FINAL_SAMPLES : SAMPLES,
                    .batch_ns = batch_ns,
                    .budget_ns = budget_ns,
                    .once_above_ns = (uint64_t)(fmin(once_s, LONG_CALL_S) * 1e9),
                    .limit_ns = (uint64_t)(limit_s * 1e9)};
  device_result result;
  size_t n = image->file_bytes + image->n_places * sizeof(device_place);
  bool came =
      device_ask(&w->device, DEVICE_RUN, &run, sizeof run, image->bytes, n, &result, sizeof result, limit_s + LINE_S) ||
      lose(w, answer);
  worker_lap(answer, WORKER_RUN);
  return came && take_outcome(p, &result, limit_s, answer) && take_times(&result, answer);
}

/* Links an object, opens the line if it is closed, sends the arguments the device lacks, and runs. */
static bool run_object(worker *w, const worker_program *p, const void *object, size_t n, const device_request *q,
                       worker_answer *answer) {
  char why[DEVICE_WHY_BYTES];
  device_image image;
  if (!device_image_make(object, n, WORKER_SYMBOL, q->architecture, &image, why))
    return worker_fail(answer, TN_MEASURE_LOAD, "%s", why);
  worker_lap(answer, WORKER_LOAD);
  bool ran = (device_open(&w->device, q->architecture, LINE_S) || lose(w, answer)) && send_arguments(w, p, answer) &&
             run_image(w, p, &image, q, answer);
  device_image_free(&image);
  return ran;
}

/* Reads a request. BUFFER gets the architecture: the first part of the target's triple. */
static device_request take_request(const protocol_message *request, char buffer[32]) {
  const char *target = protocol_text(request->header, "target", ""), *triple = strstr(target, "triple=");
  snprintf(buffer, 32, "%.*s", triple ? (int)strcspn(triple + 7, "-") : 0, triple ? triple + 7 : "");
  return (device_request){.architecture = buffer,
                          .best_s = protocol_number(request->header, "best_s", 0),
                          .timeout_s = fmax(protocol_number(request->header, "timeout_s", 10), 0.1),
                          .is_final = json_is_true(json_object_get(request->header, "final"))};
}

/* The program as compiled for this machine, with its data. NULL: the answer has the error. */
static worker_program *home_program(worker *w, const protocol_message *request, worker_answer *answer) {
  worker_program *p = worker_program_for(w, protocol_text(request->header, "program", ""), home, answer);
  uint64_t seed = (uint64_t)protocol_int(request->header, "seed", 0);
  const char *fill = protocol_text(request->header, "fill", NULL);
  if (!p || !fits_device(p, answer) || !worker_prepare_data(p, seed, fill, 0, w->fault_now == WORKER_DISAGREE, answer))
    return NULL;
  answer->odd_share = p->data->odd_share;
  return p;
}

void worker_device_run(worker *w, const protocol_message *request, worker_answer *answer) {
  char architecture[32];
  worker_program *p = home_program(w, request, answer);
  device_request q = take_request(request, architecture);
  if (p) run_object(w, p, request->payload, request->payload_bytes, &q, answer);
}

/* ---- the unscheduled program ------------------------------------------------------------------------------------- */

/* Compiles the unscheduled program for the device; the caller frees the object. */
static bool compile_default(worker *w, const protocol_message *request, worker_answer *answer, codegen_bytes *object) {
  worker_program *p = worker_program_get(w, request->header, answer);
  tn_schedule *schedule = p ? tn_schedule_new(p->program) : NULL;
  bool compiled = schedule && worker_compile(p, schedule, NULL, answer, object);
  tn_schedule_free(schedule);
  return compiled;
}

/* The reference is made here, but the unscheduled program's time is the device's. */
void worker_device_prepare(worker *w, const protocol_message *request, worker_answer *answer) {
  char architecture[32];
  codegen_bytes object = {0};
  device_request q = take_request(request, architecture);
  bool is_wanted = json_is_true(json_object_get(request->header, "wants_default"));
  if (is_wanted && !compile_default(w, request, answer, &object)) return;
  worker_program *p = home_program(w, request, answer);
  if (p && is_wanted && run_object(w, p, object.data, object.n, &q, answer))
    answer->default_s = answer->costs[answer->n_costs / 2];
  free(object.data);
}
