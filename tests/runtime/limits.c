/* Limits: the usual numbers, reading them from text, and what a refusal says. */
#include "tests/runtime/tests.h"

#include "tests/common/check.h"

static const struct parse_row {
  const char *name, *text;
  int64_t text_bytes, params;
  const char *wrong; /* where it is no list; NULL: it is one */
} parse_rows[] = {
    {"nothing", "", 0, 0, NULL},
    {"a number", "params=7", 0, 7, NULL},
    {"units", "text_bytes=64M,params=2K", 64 << 20, 2048, NULL},
    {"the last one counts", "params=7,params=8", 0, 8, NULL},
    {"a comma at the end", "params=7,", 0, 7, NULL},
    {"an unknown name", "params=7,parms=8", 0, 0, "parms=8"},
    {"a part of a name", "param=8", 0, 0, "param=8"},
    {"no number", "params=", 0, 0, "params="},
    {"no value", "params", 0, 0, "params"},
    {"zero", "params=0", 0, 0, "params=0"},
    {"less than zero", "params=-1", 0, 0, "params=-1"},
    {"no unit", "params=7T", 0, 0, "params=7T"},
    {"more than 63 bits", "params=9223372036854775807K", 0, 0, "params=9223372036854775807K"},
    {"more than 64 bits", "params=99999999999999999999", 0, 0, "params=99999999999999999999"},
    {"blanks", "params= 7", 0, 0, "params= 7"},
};

static void parse_row(void **state) {
  const struct parse_row *row = *state;
  tn_limits limits = {0};
  const char *at = NULL;
  assert_int_equal(tn_limits_parse(row->text, &limits, &at), row->wrong == NULL);
  if (row->wrong) assert_string_equal(at, row->wrong);
  assert_int_equal(limits.text_bytes, row->text_bytes);
  assert_int_equal(limits.params, row->params);
}

static void zero_means_usual(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(&(tn_context_options){.limits = {.params = 3}});
  assert_int_equal(runtime_limits(ctx)->params, 3);
  assert_int_equal(runtime_limits(ctx)->text_bytes, 16 << 20);
  assert_int_equal(runtime_limits(NULL)->params, 4096);
  tn_context_free(ctx);
}

static void text_ends_at_its_limit(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(&(tn_context_options){.limits = {.text_bytes = 4}});
  runtime_str fits = runtime_str_limited(ctx);
  runtime_str_add(&fits, "four");
  char *text = runtime_str_finish(&fits, ctx, "the text");
  assert_string_equal(text, "four");
  free(text);
  runtime_str over = runtime_str_limited(ctx);
  runtime_str_add(&over, "four");
  runtime_str_addf(&over, "%d", 5);
  assert_true(over.failed && over.is_full);
  runtime_str_add(&over, "");
  assert_null(runtime_str_finish(&over, ctx, "the text"));
  assert_string_equal(tn_context_message(ctx),
                      "the text is longer than 4 bytes as text: the limit text_bytes is 4; "
                      "tn_context_options.limits raises it, or TENON_LIMITS=text_bytes=16");
  assert_true(runtime_check_text(ctx, "it", "four"));
  assert_false(runtime_check_text(ctx, "it", "five5"));
  tn_context_free(ctx);
}

int test_limits(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(zero_means_usual), cmocka_unit_test(text_ends_at_its_limit)};
  return CHECK_TABLE("limits as text", parse_rows, parse_row) + CHECK_TESTS("limits", tests);
}
