/* Growable arrays and the string builder. */
#include <limits.h>

#include "tests/common/check.h"
#include "tests/runtime/tests.h"

static void an_array_grows(void **state) {
  (void)state;
  RUNTIME_VEC(int64_t) v = {0};
  for (int i = 0; i < 10000; ++i) assert_true(RUNTIME_PUSH(&v, i * 3));
  assert_int_equal(v.n, 10000);
  for (int i = 0; i < v.n; ++i) assert_int_equal(v.data[i], i * 3);
  RUNTIME_VEC_FREE(&v);
  assert_null(v.data);
  assert_int_equal(v.n, 0);
}

static void an_array_refuses_to_overflow(void **state) {
  (void)state;
  void *data = NULL;
  int cap = INT_MAX / 2 + 1;
  assert_false(runtime_vec_grow(&data, &cap, 1));
  assert_int_equal(cap, INT_MAX / 2 + 1);
  cap = 0;
  assert_false(runtime_vec_grow(&data, &cap, SIZE_MAX / 4));
  assert_null(data);
}

static void a_text_is_built(void **state) {
  (void)state;
  runtime_str s = {0};
  runtime_str_add(&s, "for ");
  runtime_str_addn(&s, "(i.outer", 2);
  runtime_str_addf(&s, ": %s, %d)", "int32", 52);
  assert_string_equal(s.data, "for (i: int32, 52)");
  assert_int_equal(s.n, strlen(s.data));
  runtime_str_free(&s);
  assert_null(s.data);
}

static void a_long_text_is_built(void **state) {
  (void)state;
  runtime_str s = {0};
  for (int i = 0; i < 10000; ++i) runtime_str_addf(&s, "%d,", i % 10);
  assert_int_equal(s.n, 20000);
  for (int i = 0; i < 10000; ++i) assert_int_equal(s.data[2 * i], '0' + i % 10);
  runtime_str_free(&s);
}

static void a_text_moves_into_an_arena(void **state) {
  (void)state;
  runtime_arena arena = {0};
  runtime_str s = {0};
  runtime_str_add(&s, "moved");
  assert_string_equal(runtime_str_take(&s, &arena), "moved");
  assert_null(s.data);
  assert_string_equal(runtime_str_take(&s, &arena), "");
  runtime_arena_free(&arena);
}

static void a_failed_text_gives_null(void **state) {
  (void)state;
  runtime_arena arena = {0};
  runtime_str s = {0};
  runtime_str_add(&s, "half");
  s.failed = true;
  runtime_str_add(&s, " and half");
  assert_string_equal(s.data, "half");
  assert_null(runtime_str_take(&s, &arena));
  runtime_arena_free(&arena);
}

static void taking_without_memory_frees_and_jumps(void **state) {
  (void)state;
  jmp_buf landing;
  runtime_arena arena = {.limit = 8, .on_oom = &landing};
  runtime_str s = {0};
  runtime_str_add(&s, "a text longer than eight bytes");
  if (setjmp(landing) == 0) {
    runtime_str_take(&s, &arena);
    fail_msg("the arena had no memory, the text was taken all the same");
  }
  runtime_arena_free(&arena);
}

int test_containers(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_array_grows),
      cmocka_unit_test(an_array_refuses_to_overflow),
      cmocka_unit_test(a_text_is_built),
      cmocka_unit_test(a_long_text_is_built),
      cmocka_unit_test(a_text_moves_into_an_arena),
      cmocka_unit_test(a_failed_text_gives_null),
      cmocka_unit_test(taking_without_memory_frees_and_jumps),
  };
  return CHECK_TESTS("containers", tests);
}
