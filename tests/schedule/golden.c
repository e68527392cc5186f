/* Each case as text: program, schedule, loop tree, lowered loop IR. */
#include "tests/schedule/tests.h"

static void golden(void **state) {
  const schedule_case *c = *state;
  fixture f = fixture_new(c->program, c->schedule);
  char *tree = print_form(f.s, TN_FORM_TREE), *tir = print_form(f.s, TN_FORM_TIR), file[256];
  runtime_str text = {0};
  runtime_str_addf(&text, "%s\n\n%s\n\n%s\n%s", c->program, c->schedule, tree, tir);
  snprintf(file, sizeof file, "schedule/%s.txt", c->name);
  check_golden(file, text.data);
  runtime_str_free(&text);
  free(tree);
  free(tir);
  fixture_free(&f);
}

int test_golden(void) {
  return check_table("golden", schedule_cases, sizeof *schedule_cases, n_schedule_cases, golden, NULL, NULL);
}
