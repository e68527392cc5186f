/* Contexts: the first failure is kept, all are passed on; what hangs on a context is freed in the right order. */
#include "tests/common/check.h"
#include "tests/runtime/tests.h"

static void a_new_context_is_ok(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  assert_int_equal(tn_context_status(ctx), TN_OK);
  assert_string_equal(tn_context_message(ctx), "");
  tn_context_free(ctx);
  tn_context_free(NULL);
}

static void the_first_failure_is_kept_until_cleared(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_int_equal(runtime_fail(ctx, TN_ERROR_PARSE, "first %d", 1), TN_ERROR_PARSE);
  assert_int_equal(runtime_fail(ctx, TN_ERROR_IO, "second"), TN_ERROR_IO);
  assert_int_equal(tn_context_status(ctx), TN_ERROR_PARSE);
  assert_string_equal(tn_context_message(ctx), "first 1");
  tn_context_clear(ctx);
  assert_int_equal(tn_context_status(ctx), TN_OK);
  runtime_fail(ctx, TN_ERROR_IO, "third");
  assert_string_equal(tn_context_message(ctx), "third");
  check_context_free(ctx);
}

static void the_callback_gets_every_message(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  runtime_fail(ctx, TN_ERROR_PARSE, "first");
  runtime_say(ctx, TN_SEVERITY_WARNING, "line %d is torn", 3);
  runtime_fail(ctx, TN_ERROR_IO, "second");
  runtime_say(ctx, TN_SEVERITY_INFO, "done");
  assert_string_equal(check_messages(ctx), "error: first\nwarning: line 3 is torn\nerror: second\ninfo: done\n");
  check_context_free(ctx);
}

static void a_warning_is_no_failure(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  runtime_say(ctx, TN_SEVERITY_WARNING, "careful");
  check_ok(ctx);
  check_context_free(ctx);
}

static void a_very_long_message_is_cut_not_overrun(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  runtime_fail(ctx, TN_ERROR_PARSE, "%0100000d", 1);
  assert_int_equal(strlen(tn_context_message(ctx)), sizeof ctx->message - 1);
  check_context_free(ctx);
}

static void a_null_context_is_an_error_not_a_crash(void **state) {
  (void)state;
  assert_int_equal(tn_context_status(NULL), TN_ERROR_ARGUMENT);
  assert_non_null(tn_context_message(NULL));
  tn_context_clear(NULL);
  runtime_say(NULL, TN_SEVERITY_INFO, "nobody hears");
  assert_int_equal(runtime_fail(NULL, TN_ERROR_LOWER, "nobody hears"), TN_ERROR_LOWER);
  assert_false(runtime_debug_wants(NULL, "lower", NULL));
}

static int freed_in[RUNTIME_SLOT_COUNT], n_freed;
static void note_free(void *data) { freed_in[n_freed++] = *(int *)data; }

static void slots_are_released_from_the_last_to_the_first(void **state) {
  (void)state;
  int numbers[RUNTIME_SLOT_COUNT];
  n_freed = 0;
  tn_context *ctx = tn_context_new(NULL);
  for (int i = 0; i < RUNTIME_SLOT_COUNT; ++i) {
    numbers[i] = i;
    assert_null(runtime_slot_get(ctx, (runtime_slot)i));
    runtime_slot_set(ctx, (runtime_slot)i, &numbers[i], note_free);
    assert_ptr_equal(runtime_slot_get(ctx, (runtime_slot)i), &numbers[i]);
  }
  tn_context_free(ctx);
  assert_int_equal(n_freed, RUNTIME_SLOT_COUNT);
  for (int i = 0; i < RUNTIME_SLOT_COUNT; ++i) assert_int_equal(freed_in[i], RUNTIME_SLOT_COUNT - 1 - i);
}

static void a_quiet_stretch_leaves_no_trace(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  runtime_fail(ctx, TN_ERROR_LOWER, "a trial");
  assert_string_equal(tn_context_message(ctx), "a trial");
  runtime_quiet_end(&quiet);
  assert_int_equal(tn_context_status(ctx), TN_OK);
  assert_string_equal(tn_context_message(ctx), "");
  assert_string_equal(check_messages(ctx), "");
  check_context_free(ctx);
}

static void a_quiet_stretch_keeps_an_earlier_failure(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  runtime_fail(ctx, TN_ERROR_PARSE, "the first");
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  assert_int_equal(tn_context_status(ctx), TN_OK);
  runtime_fail(ctx, TN_ERROR_LOWER, "a trial");
  assert_string_equal(tn_context_message(ctx), "a trial");
  runtime_quiet_end(&quiet);
  assert_int_equal(tn_context_status(ctx), TN_ERROR_PARSE);
  assert_string_equal(tn_context_message(ctx), "the first");
  tn_context_free(ctx);
}

static void memory_that_ran_out_in_a_quiet_stretch_is_said(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a trial");
  runtime_quiet_end(&quiet);
  assert_int_equal(tn_context_status(ctx), TN_ERROR_MEMORY);
  assert_string_equal(check_messages(ctx), "error: out of memory for a trial\n");
  check_context_free(ctx);
}

static void a_quiet_stretch_may_hand_its_failure_on(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  runtime_say(ctx, TN_SEVERITY_WARNING, "nobody hears");
  assert_int_equal(runtime_quiet_end_loud(&quiet), TN_OK);
  quiet = runtime_quiet_begin(ctx);
  runtime_fail(ctx, TN_ERROR_LOWER, "a trial");
  assert_int_equal(runtime_quiet_end_loud(&quiet), TN_ERROR_LOWER);
  assert_string_equal(tn_context_message(ctx), "a trial");
  assert_string_equal(check_messages(ctx), "error: a trial\n");
  check_context_free(ctx);
}

static const struct status_row {
  const char *name;
  int status;
} status_rows[] = {
    {"ok", TN_OK},
    {"illegal schedule", TN_ERROR_SCHEDULE},
    {"internal error", TN_ERROR_INTERNAL},
    {"unknown status", 99},
    {"unknown status", -1},
};
static void a_status_has_words(void **state) {
  const struct status_row *row = *state;
  assert_string_equal(tn_status_text((tn_status)row->status), row->name);
}

static const struct debug_row {
  const char *debug, *pass;
  int level; /* -1: not wanted */
} debug_rows[] = {
    {"", "lower", -1},         {"lower", "lower", 1},
    {"lower:2", "lower", 2},   {"simplify,lower:3", "lower", 3},
    {"lowering", "lower", -1}, {"lower:2,simplify", "simplify", 1},
    {"low", "lower", -1},      {",,lower", "lower", 1},
};
static void debug_names_passes(void **state) {
  const struct debug_row *row = *state;
  tn_context *ctx = check_context_debug(row->debug);
  int level = -1;
  assert_int_equal(runtime_debug_wants(ctx, row->pass, &level), row->level >= 0);
  assert_int_equal(level, row->level);
  check_context_free(ctx);
}

static void nothing(void) {}

/* COUNT objects of each kind are there. */
static void check_held(const tn_context *ctx, int arrays, int schedules, int kernels) {
  tn_held held = tn_context_held(ctx);
  assert_int_equal(held.arrays, arrays);
  assert_int_equal(held.schedules, schedules);
  assert_int_equal(held.kernels, kernels);
}

static void a_context_counts_what_it_holds(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  check_held(ctx, 0, 0, 0);
  check_held(NULL, 0, 0, 0);
  DLTensor *array = tn_array_new(ctx, TN_F32, 1, (int64_t[]){4}), *mapped = runtime_array_map(ctx, TN_I8, 0, NULL);
  tn_kernel *kernel = runtime_kernel_new(ctx, "nothing", nothing, 0, NULL, NULL, NULL);
  check_held(ctx, 2, 0, 1);
  assert_null(tn_array_new(ctx, TN_F32, 1, (int64_t[]){-4}));
  check_held(ctx, 2, 0, 1);
  tn_array_free(array);
  tn_array_free(mapped);
  tn_kernel_free(kernel);
  check_held(ctx, 0, 0, 0);
  check_context_free(ctx);
}

static void an_array_may_outlive_its_context(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  DLTensor *array = tn_array_new(ctx, TN_F32, 1, (int64_t[]){4});
  tn_context_free(ctx);
  ((float *)array->data)[3] = 1;
  tn_array_free(array);
}

static char last_words[200];
static void keep_words(void *user, tn_severity severity, const char *text) {
  (void)user, (void)severity;
  snprintf(last_words, sizeof last_words, "%s", text);
}

static void what_is_left_is_said_when_asked_for(void **state) {
  (void)state;
  for (int asked = 0; asked < 2; ++asked) {
    tn_context *ctx =
        tn_context_new(&(tn_context_options){.on_message = keep_words, .debug = asked ? "held" : "lower"});
    DLTensor *array = tn_array_new(ctx, TN_F32, 1, (int64_t[]){4});
    runtime_kernel_new(ctx, "nothing", nothing, 0, NULL, NULL, NULL);
    last_words[0] = '\0';
    tn_context_free(ctx);
    assert_string_equal(last_words, asked ? "held: the context is freed with arrays 1, schedules 0, kernels 1" : "");
    tn_array_free(array);
  }
}

int test_context(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_context_is_ok),
      cmocka_unit_test(the_first_failure_is_kept_until_cleared),
      cmocka_unit_test(the_callback_gets_every_message),
      cmocka_unit_test(a_warning_is_no_failure),
      cmocka_unit_test(a_very_long_message_is_cut_not_overrun),
      cmocka_unit_test(a_null_context_is_an_error_not_a_crash),
      cmocka_unit_test(slots_are_released_from_the_last_to_the_first),
      cmocka_unit_test(a_quiet_stretch_leaves_no_trace),
      cmocka_unit_test(a_quiet_stretch_keeps_an_earlier_failure),
      cmocka_unit_test(memory_that_ran_out_in_a_quiet_stretch_is_said),
      cmocka_unit_test(a_quiet_stretch_may_hand_its_failure_on),
      cmocka_unit_test(a_context_counts_what_it_holds),
      cmocka_unit_test(an_array_may_outlive_its_context),
      cmocka_unit_test(what_is_left_is_said_when_asked_for),
  };
  return CHECK_TESTS("context", tests) + CHECK_TABLE("statuses", status_rows, a_status_has_words) +
         CHECK_TABLE("debug names", debug_rows, debug_names_passes);
}
