/* Every pass on the cases of its file (pass_cases.c). */
#include "tests/tir/tests.h"

static void pass_file(void **state) {
  const char *pass = ((const tir_pass_line *)*state)->name;
  if (strcmp(pass, "tensorize") != 0) check_pass_cases(pass, NULL); /* its intrinsics are known in schedule/ */
}

static void an_unknown_pass_is_refused(void **state) {
  (void)state;
  runtime_arena arena = {0};
  tn_context *ctx = check_context();
  tir_pass_context p = {.ctx = ctx, .arena = &arena};
  tir_func *f =
      tir_parse_func(ctx, &arena, "primfn() -> int32 attr = {\"global_symbol\": \"f\", \"tir.noalias\": True} {}");
  assert_null(tir_run_passes(&p, f, "simplify,vectorise"));
  check_fails(ctx, TN_ERROR_ARGUMENT, "there is no pass 'vectorise'; the nearest name is 'vectorize'");
  assert_null(tir_run_passes(&p, f, "a_name_that_is_far_too_long"));
  check_fails(ctx, TN_ERROR_ARGUMENT, "there is no pass");
  assert_ptr_equal(tir_run_passes(&p, f, ""), f);
  check_context_free(ctx);
  runtime_arena_free(&arena);
}

static void the_list_names_every_pass(void **state) {
  (void)state;
  for (const tir_pass *pass = tir_passes; pass->run != NULL; pass++) {
    bool listed = false;
    for (int i = 0; i < TIR_PASS_COUNT; i++) listed = listed || strcmp(tir_pass_lines[i].name, pass->name) == 0;
    if (!listed) fail_msg("%s stands in no line", pass->name);
  }
}

int test_passes(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(an_unknown_pass_is_refused),
                                     cmocka_unit_test(the_list_names_every_pass)};
  return CHECK_TABLE("tir passes", tir_pass_lines, pass_file) + CHECK_TESTS("tir passes by name", tests);
}
