/* Timing: how often a kernel is called, what the numbers mean, when timing stops early. */
#include <time.h>

#include "tests/common/check.h"
#include "tests/runtime/tests.h"

static int32_t count(int32_t *calls) { return ++*calls, 0; }
static int32_t nap(int32_t *calls) {
  ++*calls;
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  return 0;
}
static int32_t fail_at_third(int32_t *calls) { return ++*calls == 3; }

typedef struct fixture {
  tn_context *ctx;
  DLTensor *calls;
  tn_timing timing;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->ctx = check_context();
  f->calls = tn_array_new(f->ctx, TN_I32, 0, NULL);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  tn_array_free(f->calls);
  check_context_free(f->ctx);
  free(f);
  return 0;
}

static tn_status time_it(fixture *f, int32_t (*fn)(int32_t *), tn_timing_options options) {
  runtime_kernel_arg arg = {.name = "calls", .dtype = TN_I32, .ndim = 0, .shape = {0}, .is_output = true};
  tn_kernel *kernel = runtime_kernel_new(f->ctx, "counter", (tn_kernel_fn)fn, 1, &arg, NULL, NULL);
  return tn_time(f->ctx, kernel, &f->calls, 1, &options, &f->timing);
}
static int calls_of(const fixture *f) { return *(int32_t *)f->calls->data; }

static void a_fast_kernel_is_called_in_batches(void **state) {
  fixture *f = *state;
  assert_int_equal(time_it(f, count, (tn_timing_options){.max_samples = 8, .tight = 1e-9}), TN_OK);
  assert_in_range(f->timing.n_samples, 1, 8);
  assert_true(calls_of(f) > 100 * f->timing.n_samples);
  assert_true(f->timing.median_s > 0 && f->timing.median_s < 1e-4);
}

static void the_quartiles_are_in_order(void **state) {
  fixture *f = *state;
  assert_int_equal(time_it(f, nap, (tn_timing_options){.max_samples = 9, .tight = 1e-9}), TN_OK);
  const tn_timing *t = &f->timing;
  assert_true(t->min_s <= t->p25_s && t->p25_s <= t->median_s && t->median_s <= t->p75_s);
  assert_true(t->median_s >= 0.002);
  assert_true(t->spread == (t->p75_s - t->p25_s) / t->median_s);
}

static void a_slow_kernel_is_called_once_a_sample(void **state) {
  fixture *f = *state;
  assert_int_equal(time_it(f, nap, (tn_timing_options){.min_samples = 4, .max_samples = 4, .tight = 1e-9}), TN_OK);
  assert_int_equal(f->timing.n_samples, 4);
  assert_int_equal(calls_of(f), 5); /* one to warm up */
}

static void a_tight_spread_stops_early(void **state) {
  fixture *f = *state;
  assert_int_equal(time_it(f, nap, (tn_timing_options){.min_samples = 3, .max_samples = 50, .tight = 1e9}), TN_OK);
  assert_int_equal(f->timing.n_samples, 3);
}

static void the_total_is_a_limit(void **state) {
  fixture *f = *state;
  assert_int_equal(time_it(f, nap, (tn_timing_options){.max_total_s = 0.001, .tight = 1e-9}), TN_OK);
  assert_int_equal(f->timing.n_samples, 1);
}

static void a_clearly_slow_kernel_is_dropped_after_one_call(void **state) {
  fixture *f = *state;
  assert_int_equal(time_it(f, nap, (tn_timing_options){.give_up_above_s = 0.001}), TN_OK);
  assert_int_equal(calls_of(f), 1);
  assert_int_equal(f->timing.n_samples, 1);
  assert_true(f->timing.median_s >= 0.002 && f->timing.min_s == f->timing.median_s);
}

static void a_failing_kernel_is_reported(void **state) {
  fixture *f = *state;
  assert_int_equal(time_it(f, fail_at_third, (tn_timing_options){0}), TN_ERROR_CALL);
  check_fails(f->ctx, TN_ERROR_CALL, "tn_time counter: the kernel returned 1");
  assert_int_equal(calls_of(f), 3);
}

static void arguments_are_checked(void **state) {
  fixture *f = *state;
  f->calls->dtype.bits = 64;
  assert_int_equal(time_it(f, count, (tn_timing_options){0}), TN_ERROR_CALL);
  check_fails(f->ctx, TN_ERROR_CALL, "tn_time counter: argument 0 (calls): dtype i64, the kernel was built for i32");
  assert_int_equal(calls_of(f), 0);
}

static void a_result_needs_a_place(void **state) {
  fixture *f = *state;
  assert_int_equal(tn_time(f->ctx, NULL, &f->calls, 1, NULL, NULL), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_time", "no place for the result");
  assert_int_equal(tn_time(f->ctx, NULL, &f->calls, 1, NULL, &f->timing), TN_ERROR_ARGUMENT);
  check_fails(f->ctx, TN_ERROR_ARGUMENT, "tn_time: the kernel is NULL");
}

int test_timing(void) {
#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(a_fast_kernel_is_called_in_batches),
      WITH_FIXTURE(the_quartiles_are_in_order),
      WITH_FIXTURE(a_slow_kernel_is_called_once_a_sample),
      WITH_FIXTURE(a_tight_spread_stops_early),
      WITH_FIXTURE(the_total_is_a_limit),
      WITH_FIXTURE(a_clearly_slow_kernel_is_dropped_after_one_call),
      WITH_FIXTURE(a_failing_kernel_is_reported),
      WITH_FIXTURE(arguments_are_checked),
      WITH_FIXTURE(a_result_needs_a_place),
  };
  return CHECK_TESTS("timing", tests);
}
