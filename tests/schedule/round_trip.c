/* What is printed can be read back: steps, schedule text; a replayed or copied schedule lowers to the same loop IR. */
#include "tests/schedule/tests.h"

/* The loop IR of another schedule of F's program is that of F's schedule, and so are steps and text. */
static void check_same(const fixture *f, const tn_schedule *other) {
  static const tn_form forms[] = {TN_FORM_STEPS, TN_FORM_TEXT, TN_FORM_API, TN_FORM_TREE, TN_FORM_TIR};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    char *expected = print_form(f->s, forms[i]), *got = print_form(other, forms[i]);
    check_text(got, expected);
    free(expected);
    free(got);
  }
}

static void steps(void **state) {
  const schedule_case *c = *state;
  fixture f = fixture_new(c->program, c->schedule);
  tn_schedule *again = tn_schedule_new(f.program);
  char *json = print_form(f.s, TN_FORM_STEPS);
  tn_schedule_replay(again, json);
  check_ok(f.ctx);
  check_same(&f, again);
  free(json);
  fixture_free(&f);
}

static void text(void **state) {
  const schedule_case *c = *state;
  fixture f = fixture_new(c->program, c->schedule);
  tn_schedule *again = tn_schedule_new(f.program);
  char *words = print_form(f.s, TN_FORM_TEXT);
  tn_schedule_apply(again, words);
  check_ok(f.ctx);
  check_same(&f, again);
  free(words);
  fixture_free(&f);
}

static void copy(void **state) {
  const schedule_case *c = *state;
  fixture f = fixture_new(c->program, c->schedule);
  tn_schedule *again = tn_schedule_copy(f.s);
  check_ok(f.ctx);
  check_same(&f, again);
  fixture_free(&f);
}

int test_round_trip(void) {
  const size_t bytes = sizeof *schedule_cases;
  return check_table("steps again", schedule_cases, bytes, n_schedule_cases, steps, NULL, NULL) +
         check_table("text again", schedule_cases, bytes, n_schedule_cases, text, NULL, NULL) +
         check_table("copies", schedule_cases, bytes, n_schedule_cases, copy, NULL, NULL);
}
