/* Growable arrays and the string builder. */
#include <limits.h>
#include <stdio.h>

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

static void appends_numbers(void **state) {
  (void)state;
  static const int64_t numbers[] = {0, 7, -1, 1234567890123, INT64_MAX, INT64_MIN};
  for (int i = 0; i < RUNTIME_COUNT(numbers); ++i) {
    runtime_str s = {0}, expected = {0};
    runtime_str_add_int(&s, numbers[i]);
    runtime_str_addf(&expected, "%lld", (long long)numbers[i]);
    assert_string_equal(s.data, expected.data);
    runtime_str_free(&s);
    runtime_str_free(&expected);
  }
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

/* ---- the map ------------------------------------------------------------------------------------------------------ */

static void a_map_keeps_what_is_put_in(void **state) {
  (void)state;
  runtime_map map = {0};
  assert_null(runtime_map_find(&map, 1));
  for (uint64_t key = 1; key <= 10000; key++) runtime_map_at(&map, key * 64)->i = (int64_t)key;
  assert_int_equal(map.n, 10000);
  assert_int_equal(runtime_map_at(&map, 64)->i, 1);
  assert_int_equal(map.n, 10000);
  for (uint64_t key = 1; key <= 10000; key++) assert_int_equal(runtime_map_find(&map, key * 64)->i, key);
  assert_null(runtime_map_find(&map, 65));
  runtime_map_free(&map);
  assert_null(map.slots);
}

static void a_lent_table_is_left_when_it_is_full(void **state) {
  (void)state;
  runtime_map map;
  runtime_map_slot slots[8];
  int things[100];
  runtime_map_lend(&map, slots, RUNTIME_COUNT(slots));
  for (int i = 0; i < 4; i++) assert_true(runtime_map_add(&map, &things[i]));
  assert_ptr_equal(map.slots, slots);
  for (int i = 4; i < 100; i++) assert_true(runtime_map_add(&map, &things[i]));
  assert_ptr_not_equal(map.slots, slots);
  for (int i = 0; i < 100; i++) assert_false(runtime_map_add(&map, &things[i]));
  assert_ptr_equal(runtime_map_get(&map, &things[50]), &things[50]);
  runtime_map_free(&map);
}

/* An entry that was lost is missed at the end, however much was put in since. */
static void a_map_does_not_forget_that_it_failed(void **state) {
  (void)state;
  runtime_map map = {.failed = true}; /* as if growing had failed once */
  for (uintptr_t key = 1; key <= 1000; ++key) assert_true(runtime_map_put(&map, (void *)key, &map));
  assert_true(map.failed);
  runtime_map_free(&map);
}

static void a_cleared_map_is_empty_and_small_in_the_end(void **state) {
  (void)state;
  runtime_map map = {0};
  for (uint64_t key = 1; key <= 5000; key++) runtime_map_at(&map, key);
  int capacity = map.capacity;
  for (int i = 0; i < 20; i++) {
    runtime_map_clear(&map);
    assert_null(runtime_map_find(&map, 7));
    runtime_map_at(&map, 7)->i = i;
    assert_int_equal(runtime_map_find(&map, 7)->i, i);
    assert_int_equal(map.n, 1);
  }
  assert_true(map.capacity < capacity / 16);
  for (uint64_t key = 1; key <= 5000; key++) runtime_map_at(&map, key)->i = (int64_t)key;
  for (uint64_t key = 1; key <= 5000; key++) assert_int_equal(runtime_map_find(&map, key)->i, key);
  runtime_map_free(&map);
}

static bool is_number(const void *user, runtime_map_value value) { return value.i == *(const int64_t *)user; }

static void entries_of_one_hash_are_told_apart(void **state) {
  (void)state;
  runtime_map map = {0};
  for (int64_t i = 1; i <= 100; i++) {
    assert_null(runtime_map_find_match(&map, 42, is_number, &i));
    runtime_map_match_at(&map, 42, is_number, &i)->i = i;
  }
  for (int64_t i = 1; i <= 100; i++) assert_int_equal(runtime_map_match_at(&map, 42, is_number, &i)->i, i);
  assert_int_equal(map.n, 100);
  runtime_map_free(&map);
}

static void equal_texts_have_one_address(void **state) {
  (void)state;
  runtime_arena arena = {0};
  runtime_names names = {.arena = &arena};
  const char *kept[300];
  char text[16];
  for (int i = 0; i < 300; i++) {
    snprintf(text, sizeof text, "name%d", i);
    kept[i] = runtime_intern(&names, text, strlen(text));
    assert_string_equal(kept[i], text);
  }
  for (int i = 0; i < 300; i++) {
    snprintf(text, sizeof text, "name%dxyz", i);
    assert_ptr_equal(runtime_intern(&names, text, strlen(text) - 3), kept[i]);
  }
  assert_string_equal(runtime_intern(&names, "", 0), "");
  runtime_names_free(&names);
  runtime_arena_free(&arena);
}

static void a_text_without_memory_is_asked_for_again(void **state) {
  (void)state;
  runtime_arena arena = {.limit = 1};
  runtime_names names = {.arena = &arena};
  assert_null(runtime_intern(&names, "text", 4));
  arena.limit = 0;
  const char *kept = runtime_intern(&names, "text", 4);
  assert_string_equal(kept, "text");
  assert_ptr_equal(runtime_intern(&names, "text", 4), kept);
  runtime_names_free(&names);
  runtime_arena_free(&arena);
}

int test_containers(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_array_grows),
      cmocka_unit_test(appends_numbers),
      cmocka_unit_test(an_array_refuses_to_overflow),
      cmocka_unit_test(a_text_is_built),
      cmocka_unit_test(a_long_text_is_built),
      cmocka_unit_test(a_text_moves_into_an_arena),
      cmocka_unit_test(a_failed_text_gives_null),
      cmocka_unit_test(taking_without_memory_frees_and_jumps),
      cmocka_unit_test(a_map_keeps_what_is_put_in),
      cmocka_unit_test(a_lent_table_is_left_when_it_is_full),
      cmocka_unit_test(a_map_does_not_forget_that_it_failed),
      cmocka_unit_test(a_cleared_map_is_empty_and_small_in_the_end),
      cmocka_unit_test(entries_of_one_hash_are_told_apart),
      cmocka_unit_test(equal_texts_have_one_address),
      cmocka_unit_test(a_text_without_memory_is_asked_for_again),
  };
  return CHECK_TESTS("containers", tests);
}
