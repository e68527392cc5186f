/* The arena: alignment, zeros, large requests, reset, and running out of memory with and without a landing place. */
#include "tests/common/check.h"
#include "tests/runtime/tests.h"

static void aligns_and_zeroes(void **state) {
  (void)state;
  runtime_arena arena = {0};
  for (size_t n = 0; n < 300; ++n) {
    unsigned char *p = runtime_alloc(&arena, n);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < n; ++i) assert_int_equal(p[i], 0);
    memset(p, 0xff, n);
  }
  runtime_arena_free(&arena);
  assert_int_equal(arena.total, 0);
}

static void keeps_what_was_written(void **state) {
  (void)state;
  enum { N = 5000 };
  runtime_arena arena = {0};
  int **cells = RUNTIME_NEW_ARRAY(&arena, int *, N);
  for (int i = 0; i < N; ++i) {
    cells[i] = RUNTIME_NEW(&arena, int);
    *cells[i] = i;
  }
  for (int i = 0; i < N; ++i) assert_int_equal(*cells[i], i);
  runtime_arena_free(&arena);
}

static void a_large_request_leaves_the_head_in_use(void **state) {
  (void)state;
  runtime_arena arena = {0};
  char *before = runtime_alloc(&arena, 16);
  runtime_chunk *head = arena.head;
  memset(runtime_alloc(&arena, 10 << 20), 1, 10 << 20);
  assert_ptr_equal(arena.head, head);
  char *after = runtime_alloc(&arena, 16);
  assert_in_range((uintptr_t)(after - before), 16, 64);
  runtime_arena_free(&arena);
}

static void reset_keeps_the_largest_chunk(void **state) {
  (void)state;
  runtime_arena arena = {0};
  for (int i = 0; i < 1000; ++i) memset(runtime_alloc(&arena, 1000), 7, 1000);
  runtime_arena_reset(&arena);
  size_t kept = arena.total;
  assert_true(kept >= 1000); /* an instrumented arena has small chunks */
  unsigned char *p = runtime_alloc(&arena, 1000);
  for (int i = 0; i < 1000; ++i) assert_int_equal(p[i], 0);
  assert_int_equal(arena.total, kept);
  runtime_arena_free(&arena);
}

/* What was written before a reset is gone, in the chunk in use and in another that was larger. */
static void reset_leaves_zeros(void **state) {
  (void)state;
  enum { LARGE = 1 << 16 };
  runtime_arena arena = {0};
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 40; ++i) {
      unsigned char *p = runtime_alloc(&arena, 100);
      for (int k = 0; k < 100; ++k) assert_int_equal(p[k], 0);
      memset(p, 0xff, 100);
    }
    unsigned char *large = runtime_alloc(&arena, LARGE);
    for (int k = 0; k < LARGE; ++k) assert_int_equal(large[k], 0);
    memset(large, 0xff, LARGE);
    runtime_arena_reset(&arena);
  }
  runtime_arena_free(&arena);
}

static void reset_of_an_empty_arena(void **state) {
  (void)state;
  runtime_arena arena = {0};
  runtime_arena_reset(&arena);
  assert_null(arena.head);
  runtime_arena_free(&arena);
}

static void copies_texts(void **state) {
  (void)state;
  runtime_arena arena = {0};
  assert_string_equal(runtime_strdup(&arena, "tenon"), "tenon");
  assert_string_equal(runtime_strndup(&arena, "tenon", 3), "ten");
  assert_string_equal(runtime_strndup(&arena, "ten", 300), "ten");
  assert_string_equal(runtime_format(&arena, "%s.%d", "i", 7), "i.7");
  assert_string_equal(runtime_joined(&arena, (const char *[]){"i", ".", "init", NULL}), "i.init");
  assert_string_equal(runtime_joined(&arena, (const char *[]){NULL}), "");
  assert_memory_equal(runtime_copy(&arena, "a\0b", 3), "a\0b", 3);
  assert_non_null(runtime_copy(&arena, NULL, 0));
  runtime_arena_free(&arena);
}

static void the_limit_gives_null(void **state) {
  (void)state;
  runtime_arena arena = {.limit = 1000};
  assert_non_null(runtime_alloc(&arena, 500));
  assert_null(runtime_alloc(&arena, 501));
  assert_null(runtime_format(&arena, "%0600d", 1));
  assert_non_null(runtime_alloc(&arena, 200));
  runtime_arena_free(&arena);
}

static void absurd_sizes_give_null(void **state) {
  (void)state;
  runtime_arena arena = {0};
  assert_null(runtime_alloc(&arena, SIZE_MAX));
  assert_null(runtime_alloc(&arena, SIZE_MAX / 2 + 1));
  assert_null(RUNTIME_NEW_ARRAY(&arena, int, -1));
  runtime_arena_free(&arena);
}

static void a_landing_place_is_jumped_to(void **state) {
  (void)state;
  jmp_buf landing;
  runtime_arena arena = {.limit = 10000, .on_oom = &landing};
  volatile int n = 0;
  if (setjmp(landing) == 0) {
    for (;; ++n) runtime_alloc(&arena, 100);
  }
  assert_in_range(n, 50, 100);
  runtime_arena_free(&arena);
}

/* Every place an allocation can fail in is reached when the limit goes up step by step until the task succeeds. */
static void every_limit_fails_cleanly_until_one_is_enough(void **state) {
  (void)state;
  bool done = false;
  for (size_t limit = 1; !done && limit < 4096; limit += 16) {
    runtime_arena arena = {.limit = limit};
    char *a = runtime_strdup(&arena, "a"), *b = runtime_format(&arena, "%0100d", 1), *c = runtime_alloc(&arena, 700);
    done = a && b && c;
    runtime_arena_free(&arena);
  }
  assert_true(done);
}

int test_arena(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(aligns_and_zeroes),
      cmocka_unit_test(keeps_what_was_written),
      cmocka_unit_test(a_large_request_leaves_the_head_in_use),
      cmocka_unit_test(reset_keeps_the_largest_chunk),
      cmocka_unit_test(reset_leaves_zeros),
      cmocka_unit_test(reset_of_an_empty_arena),
      cmocka_unit_test(copies_texts),
      cmocka_unit_test(the_limit_gives_null),
      cmocka_unit_test(absurd_sizes_give_null),
      cmocka_unit_test(a_landing_place_is_jumped_to),
      cmocka_unit_test(every_limit_fails_cleanly_until_one_is_enough),
  };
  return CHECK_TESTS("arena", tests);
}
