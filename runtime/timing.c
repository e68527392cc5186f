/* timing.c: times a kernel: one call to warm up and to learn how long it takes, then samples of as many
 * calls as fill a batch, until the quartiles are close together or a limit is reached. Times are wall clock
 * times in seconds for one call. Tuning compares medians, which do not move when the system interrupts a
 * few samples. */
#include <math.h>

#include "runtime/kernel.h"

/* The options with zeros replaced by the defaults given in runtime.h. */
static tn_timing_options with_defaults(const tn_timing_options *given) {
  tn_timing_options o = given ? *given : (tn_timing_options){0};
  if (o.min_batch_s <= 0) o.min_batch_s = 0.001;
  if (o.max_total_s <= 0) o.max_total_s = 0.5;
  if (o.min_samples <= 0) o.min_samples = 5;
  if (o.max_samples <= 0) o.max_samples = 50;
  if (o.tight <= 0) o.tight = 0.02;
  o.min_samples = RUNTIME_MIN(o.min_samples, o.max_samples);
  return o;
}

/* Seconds for one call, measured over N. *result: the kernel's first result other than 0. */
static double time_calls(runtime_call *call, int64_t n, int32_t *result) {
  uint64_t start = runtime_now_ns();
  for (int64_t i = 0; i < n && *result == 0; ++i) *result = runtime_call_invoke(call);
  return (double)(runtime_now_ns() - start) * 1e-9 / (double)n;
}

/* Inserts VALUE into the N sorted ones. */
static void insert_sorted(double *sorted, int n, double value) {
  int i = n;
  for (; i > 0 && sorted[i - 1] > value; --i) sorted[i] = sorted[i - 1];
  sorted[i] = value;
}

/* The statistics of N >= 1 sorted samples. */
static tn_timing summary(const double *sorted, int n) {
  tn_timing t = {.n_samples = n,
                 .min_s = sorted[0],
                 .median_s = runtime_quantile(sorted, n, 0.5),
                 .p25_s = runtime_quantile(sorted, n, 0.25),
                 .p75_s = runtime_quantile(sorted, n, 0.75)};
  t.spread = t.median_s > 0 ? (t.p75_s - t.p25_s) / t.median_s : 0;
  return t;
}

/* How many calls make a sample, for a kernel that takes ONE_S. */
static int64_t batch_calls(const tn_timing_options *o, double one_s) {
  double calls = o->min_batch_s / RUNTIME_MAX(one_s, 1e-9);
  int64_t least = RUNTIME_MAX(o->min_calls, 1);
  return calls <= (double)least ? least : (int64_t)(calls + 0.999);
}

/* Whether more samples would change nothing that the caller cares about: the middle half is close together,
 * or the median is known well enough (the interval of tn_timing_options.median_within). */
static bool is_tight(const tn_timing_options *o, const tn_timing *t) {
  return t->spread < o->tight || 1.57 * t->spread < o->median_within * sqrt((double)t->n_samples);
}

/* Takes samples after the first call, which paid for page faults and for waking threads. The second call
 * tells how many calls make a batch; if one is enough, it is the first sample. SAMPLES has room for
 * max_samples. */
static int32_t sample(runtime_call *call, const tn_timing_options *o, double *samples, tn_timing *out) {
  int32_t result = 0;
  uint64_t start = runtime_now_ns();
  double second_s = time_calls(call, 1, &result);
  int64_t n_calls = batch_calls(o, second_s);
  for (int n = 0; n < o->max_samples && result == 0;) {
    if (o->before_sample) o->before_sample(o->user);
    bool is_taken = n == 0 && n_calls == 1 && !o->before_sample;
    insert_sorted(samples, n, is_taken ? second_s : time_calls(call, n_calls, &result));
    *out = summary(samples, ++n);
    bool is_slow = o->drop_above_s > 0 && n == 2 && out->min_s > o->drop_above_s;
    bool is_over = (double)(runtime_now_ns() - start) * 1e-9 > o->max_total_s;
    if (is_slow || is_over || (n >= o->min_samples && is_tight(o, out))) break;
  }
  return result;
}

/* Times a call whose arguments were checked. */
static tn_status time_prepared(tn_context *ctx, runtime_call *call, const tn_timing_options *o, tn_timing *out) {
  int32_t result = 0;
  double first_s = time_calls(call, 1, &result);
  if (result == 0 && o->give_up_above_s > 0 && first_s > o->give_up_above_s) {
    *out = summary(&first_s, 1);
    return TN_OK;
  }
  double *samples = calloc((size_t)o->max_samples, sizeof *samples);
  if (!samples) return runtime_fail(ctx, TN_ERROR_MEMORY, "tn_time: out of memory for %d samples", o->max_samples);
  if (result == 0) result = sample(call, o, samples, out);
  free(samples);
  return result == 0 ? TN_OK : runtime_call_failed(ctx, "tn_time", call->kernel, result);
}

/* OUT is all zeros after a failure. */
tn_status tn_time(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args,
                  const tn_timing_options *options, tn_timing *out) {
  if (!out) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_time: there is no place for the result");
  *out = (tn_timing){0};
  runtime_call call;
  tn_status status = runtime_call_prepare(ctx, "tn_time", kernel, args, n_args, &call);
  if (status != TN_OK) return status;
  tn_timing_options o = with_defaults(options);
  return time_prepared(ctx, &call, &o, out);
}
