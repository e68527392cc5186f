/* Records as values: what is written, what is read back, which lines are no records. */
#include <math.h>

#include "tests/record/fixture.h"

/* ---- making ------------------------------------------------------------------------------------------------------ */

static const char *text_field(const autotune_record *record, const char *name) {
  return json_string_value(json_object_get(record->json, name));
}

static void holds_all_fields(void **state) {
  fixture *f = *state;
  autotune_record r = make_record(f, "[[\"CI\", 0]]", 1.5e-5, true);
  assert_int_equal(json_integer_value(json_object_get(r.json, "v")), 1);
  assert_string_equal(r.program, tn_program_text(f->program));
  assert_string_equal(r.key, tn_program_key(f->program));
  assert_string_equal(r.target, tn_target_text(f->target));
  assert_string_equal(text_field(&r, "tenon"), TN_VERSION);
  assert_string_equal(text_field(&r, "error"), "none");
  assert_null(r.message);
  assert_int_equal(json_array_size(r.steps), 1);
  assert_true(r.checked);
  assert_true(r.seed == 42);
  assert_true(r.time_s > 1600000000);
  assert_float_equal(r.build_s, 0.5, 0);
  assert_float_equal(r.run_s, 0.25, 0);
  assert_float_equal(r.max_error, 1e-6, 1e-12);
  autotune_record_free(&r);
}

static void holds_the_hardware(void **state) {
  fixture *f = *state;
  autotune_record r = make_record(f, NULL, 1, true);
  const json_t *hardware = json_object_get(r.json, "hardware");
  assert_int_equal(json_integer_value(json_object_get(hardware, "threads")), 2);
  assert_int_equal(json_integer_value(json_object_get(hardware, "vector_bytes")), tn_target_vector_bytes(f->target));
  assert_int_equal(json_integer_value(json_object_get(hardware, "cache_line_bytes")), 64);
  assert_int_equal(json_array_size(json_object_get(hardware, "cache_bytes")), 3);
  autotune_record_free(&r);
}

static void holds_the_phases_by_name(void **state) {
  fixture *f = *state;
  autotune_record r = make_record(f, NULL, 1, true);
  const json_t *phases = json_object_get(r.json, "phases");
  assert_float_equal(json_real_value(json_object_get(phases, "parse")), 0.001, 1e-12);
  assert_float_equal(json_real_value(json_object_get(phases, "lower")), 0.002, 1e-12);
  autotune_record_free(&r);
}

static void a_failure_holds_class_and_message(void **state) {
  fixture *f = *state;
  autotune_record r = make_record(f, NULL, INFINITY, false);
  assert_int_equal(r.error, TN_MEASURE_COMPILE);
  assert_string_equal(r.message, "it did not compile");
  assert_int_equal(r.n_costs, 0);
  assert_true(isinf(autotune_record_cost(&r)));
  autotune_record_free(&r);
}

static tn_status make(fixture *f, const char *steps, const tn_measurement *measured, autotune_record *out) {
  const tn_candidate candidate = {
      .program = tn_program_text(f->program), .steps = steps, .target = tn_target_text(f->target), .seed = UINT64_MAX};
  return autotune_record_make(f->ctx, &candidate, f->program, f->target, measured, out);
}

static void a_time_that_is_none_is_a_failure(void **state) {
  fixture *f = *state;
  const double bad[] = {NAN, INFINITY, 0, -1};
  for (int i = 0; i < RUNTIME_COUNT(bad); ++i) {
    autotune_record r;
    assert_int_equal(make(f, "[]", &(tn_measurement){.n_costs = 1, .costs = {bad[i]}}, &r), TN_OK);
    assert_int_equal(r.error, TN_MEASURE_UNKNOWN);
    check_has(r.message, "no usable time");
    autotune_record_free(&r);
  }
}

static void a_message_need_not_be_utf8(void **state) {
  fixture *f = *state;
  autotune_record r;
  const tn_measurement measured = {.error = TN_MEASURE_RUNTIME, .message = (char *)"died: \xff\xfe."};
  assert_int_equal(make(f, "[]", &measured, &r), TN_OK);
  assert_string_equal(r.message, "died: ??.");
  autotune_record_free(&r);
}

static void a_long_message_is_cut(void **state) {
  fixture *f = *state;
  autotune_record r;
  char message[5000];
  memset(message, 'x', sizeof message);
  message[sizeof message - 1] = '\0';
  assert_int_equal(make(f, "[]", &(tn_measurement){.error = TN_MEASURE_COMPILE, .message = message}, &r), TN_OK);
  assert_int_equal(strlen(r.message), 2000);
  autotune_record_free(&r);
}

static void a_large_seed_survives(void **state) {
  fixture *f = *state;
  autotune_record r;
  assert_int_equal(make(f, "[]", &(tn_measurement){.n_costs = 1, .costs = {1}}, &r), TN_OK);
  assert_true(r.seed == UINT64_MAX);
  autotune_record_free(&r);
}

static const struct steps_row {
  const char *name, *steps, *message;
} bad_steps[] = {
    {"steps that are no JSON", "[[", "steps are no JSON array"},
    {"steps that are an object", "{}", "steps are no JSON array"},
    {"no steps", NULL, "steps are no JSON array"},
};

static void refuses_steps(void **state) {
  const struct steps_row *row = *state;
  void *fixture_state;
  fixture_setup(&fixture_state);
  fixture *f = fixture_state;
  autotune_record r;
  assert_int_equal(make(f, row->steps, &(tn_measurement){.n_costs = 1, .costs = {1}}, &r), TN_ERROR_RECORD);
  check_message_has(f->ctx, row->message);
  fixture_teardown(&fixture_state);
}

static void refuses_null(void **state) {
  fixture *f = *state;
  autotune_record r;
  assert_int_equal(autotune_record_make(f->ctx, NULL, f->program, f->target, NULL, &r), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "NULL");
  assert_int_equal(autotune_record_append(f->ctx, NULL, NULL), TN_ERROR_ARGUMENT);
  check_message_has(f->ctx, "NULL");
  autotune_record_free(NULL);
}

/* ---- parsing: one valid line, and what makes it none ------------------------------------------------------------- */

static const struct parse_row {
  const char *name, *field, *value; /* the valid line with this field set; NULL: taken out */
  const char *why;                  /* NULL: it is still a record */
} parses[] = {
    {"a whole record", "seed", "7", NULL},
    {"an unknown field", "weather", "{\"rain\": true}", NULL},
    {"no message", "message", NULL, NULL},
    {"several costs", "costs", "[1e-3, 2e-3]", NULL},
    {"a whole number as cost", "costs", "[1]", NULL},
    {"a failure without costs", "error", "\"compile\"", NULL},
    {"no version", "v", NULL, "no field \"v\""},
    {"a version in words", "v", "\"1\"", "no field \"v\""},
    {"a later version", "v", "2", "version 2 is not known here (this Tenon reads 1)"},
    {"no program", "program", NULL, "field \"program\" is missing"},
    {"no key", "key", NULL, "field \"key\" is missing"},
    {"no target", "target", NULL, "field \"target\" is missing"},
    {"no steps", "steps", NULL, "field \"steps\" is missing"},
    {"no costs", "costs", NULL, "field \"costs\" is missing"},
    {"no error class", "error", NULL, "field \"error\" is missing"},
    {"no word on checking", "checked", NULL, "field \"checked\" is missing"},
    {"program is a number", "program", "5", "field \"program\" is not a string"},
    {"steps are a string", "steps", "\"SP\"", "field \"steps\" is not an array"},
    {"checked is a number", "checked", "1", "field \"checked\" is not true or false"},
    {"seed is a string", "seed", "\"x\"", "field \"seed\" is not an integer"},
    {"build_s is a string", "build_s", "\"x\"", "field \"build_s\" is not a number"},
    {"hardware is an array", "hardware", "[]", "field \"hardware\" is not an object"},
    {"an unknown error class", "error", "\"tired\"", "\"tired\", which is no error class"},
    {"an error class and more", "error", "\"nonesuch\"", "\"nonesuch\", which is no error class"},
    {"a negative cost", "costs", "[-1.0]", "no positive number"},
    {"a cost of zero", "costs", "[0]", "no positive number"},
    {"a cost in words", "costs", "[\"fast\"]", "no positive number"},
    {"too many costs", "costs", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "at most 16"},
    {"success without costs", "costs", "[]", "empty although"},
};

static json_t *valid_line(void) {
  return json_loads(
      "{\"v\": 1, \"program\": \"p\", \"key\": \"k\", \"target\": \"t\", \"steps\": [], \"costs\": [0.5], "
      "\"error\": \"none\", \"checked\": true}",
      0, NULL);
}

static void parses_line(void **state) {
  const struct parse_row *row = *state;
  json_t *json = valid_line();
  if (row->value)
    json_object_set_new(json, row->field, json_loads(row->value, JSON_DECODE_ANY, NULL));
  else
    json_object_del(json, row->field);
  autotune_record r;
  char why[256] = "";
  bool ok = autotune_record_parse(json, &r, why, sizeof why);
  if (row->why)
    check_has(why, row->why);
  else
    check_text(why, "");
  assert_int_equal(ok, row->why == NULL);
  autotune_record_free(&r);
}

static void an_array_is_no_record(void **state) {
  (void)state;
  autotune_record r;
  char why[256];
  assert_false(autotune_record_parse(json_array(), &r, why, sizeof why));
  assert_string_equal(why, "not a JSON object");
}

/* ---- costs and words --------------------------------------------------------------------------------------------- */

static const struct cost_row {
  const char *name;
  int n;
  double costs[4], median;
} medians[] = {
    {"one", 1, {3}, 3}, {"odd", 3, {9, 1, 5}, 5}, {"even", 4, {4, 1, 3, 2}, 2.5}, {"none", 0, {0}, INFINITY}};

static void takes_median(void **state) {
  const struct cost_row *row = *state;
  autotune_record r = {.n_costs = row->n};
  memcpy(r.costs, row->costs, sizeof row->costs);
  assert_true(autotune_record_cost(&r) == row->median);
}

static void a_failed_record_costs_infinity(void **state) {
  (void)state;
  const autotune_record r = {.n_costs = 1, .costs = {1}, .error = TN_MEASURE_WRONG_ANSWER};
  assert_true(isinf(autotune_record_cost(&r)));
}

static void error_words_are_inverse(void **state) {
  (void)state;
  for (int i = 0; i <= TN_MEASURE_MEMORY; ++i) {
    tn_measure_error error;
    assert_true(autotune_parse_error(tn_measure_error_word((tn_measure_error)i), &error));
    assert_int_equal(error, i);
  }
  tn_measure_error unused;
  assert_false(autotune_parse_error("", &unused));
  assert_string_equal(tn_measure_error_word((tn_measure_error)99), "unknown");
}

static const struct target_row {
  const char *name, *a, *b;
  bool same;
} targets[] = {
    {"equal texts", "triple=x cpu=a threads=2", "triple=x cpu=a threads=2", true},
    {"other order", "triple=x cpu=a threads=2", "cpu=a threads=2 triple=x", true},
    {"other features", "triple=x cpu=a features=+b threads=2", "triple=x cpu=a threads=2", true},
    {"other triple", "triple=x cpu=a threads=2", "triple=y cpu=a threads=2", false},
    {"other cpu", "triple=x cpu=a threads=2", "triple=x cpu=b threads=2", false},
    {"other threads", "triple=x cpu=a threads=2", "triple=x cpu=a threads=4", false},
    {"a longer name", "triple=x cpu=znver3 threads=2", "triple=x cpu=znver33 threads=2", false},
    {"no cpu", "triple=x threads=2", "triple=x cpu=a threads=2", false},
    {"a word that begins like another", "triple=x cpus=9 cpu=a threads=2", "triple=x cpu=a threads=2", true},
};

static void compares_targets(void **state) {
  const struct target_row *row = *state;
  assert_int_equal(autotune_same_target(row->a, row->b), row->same);
  assert_int_equal(autotune_same_target(row->b, row->a), row->same);
}

int run_record(void) {
  const struct CMUnitTest making[] = {
      WITH_LOG(holds_all_fields),
      WITH_LOG(holds_the_hardware),
      WITH_LOG(holds_the_phases_by_name),
      WITH_LOG(a_failure_holds_class_and_message),
      WITH_LOG(a_time_that_is_none_is_a_failure),
      WITH_LOG(a_message_need_not_be_utf8),
      WITH_LOG(a_long_message_is_cut),
      WITH_LOG(a_large_seed_survives),
      WITH_LOG(refuses_null),
      cmocka_unit_test(an_array_is_no_record),
      cmocka_unit_test(a_failed_record_costs_infinity),
      cmocka_unit_test(error_words_are_inverse),
  };
  return CHECK_TESTS("records", making) + CHECK_TABLE("steps of a record", bad_steps, refuses_steps) +
         CHECK_TABLE("lines", parses, parses_line) + CHECK_TABLE("median", medians, takes_median) +
         CHECK_TABLE("targets", targets, compares_targets);
}
