/* The test program of schedule/. */
#include "tests/schedule/tests.h"

fixture fixture_new(const char *program, const char *schedule) {
  fixture f = {.ctx = check_context()};
  f.program = tn_program_parse(f.ctx, program, 0, NULL);
  f.s = tn_schedule_new(f.program);
  check_ok(f.ctx);
  assert_int_equal(tn_schedule_apply(f.s, schedule), TN_OK);
  check_ok(f.ctx);
  return f;
}

void fixture_free(fixture *f) { check_context_free(f->ctx); }

char *print_form(const tn_schedule *s, tn_form form) {
  char *text = tn_schedule_print(s, form);
  if (!text) check_ok(s->ctx);
  assert_non_null(text);
  return text;
}

char *state_of(const tn_schedule *s) {
  char *steps = print_form(s, TN_FORM_STEPS), *tree = print_form(s, TN_FORM_TREE);
  runtime_str both = {0};
  runtime_str_addf(&both, "%s%s", steps, tree);
  free(steps);
  free(tree);
  return both.data;
}

int main(void) {
  return test_golden() + test_refusals() + test_positions() + test_reference() + test_replay() + test_round_trip() +
         test_regions() + test_values() + test_warnings() + test_tensorize() + test_generic() + test_plans() +
         test_plan_costs() + test_plan_texts() + test_script() + test_subjects() + test_width();
}
