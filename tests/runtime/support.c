/* Hashing, random numbers, floor division, files, threads. */
#include <sched.h>
#include <unistd.h>

#include "tests/common/check.h"
#include "tests/runtime/tests.h"

/* Log lines carry hashes, so these numbers must never change. */
static void hashes_are_stable(void **state) {
  (void)state;
  assert_true(runtime_hash("", 0, 0) == UINT64_C(0x48218226ff3cd4bf));
  assert_true(runtime_hash("tenon", 5, 0) == UINT64_C(0xc6c7ce546f5dba1d));
  assert_true(runtime_hash("a text of more than eight", 25, 1) == UINT64_C(0x355334f446e48df2));
}

static void every_byte_and_the_seed_matter(void **state) {
  (void)state;
  unsigned char data[40] = {0};
  for (size_t n = 1; n <= sizeof data; ++n) {
    uint64_t h = runtime_hash(data, n, 0);
    assert_true(h != runtime_hash(data, n - 1, 0));
    assert_true(h != runtime_hash(data, n, 1));
    for (size_t i = 0; i < n; ++i) {
      data[i] = 1;
      assert_true(h != runtime_hash(data, n, 0));
      data[i] = 0;
    }
  }
}

static void a_flipped_bit_flips_half_the_hash(void **state) {
  (void)state;
  int flipped = 0, tried = 0;
  for (uint64_t word = 1; word < 200; ++word) {
    for (int bit = 0; bit < 64; ++bit, ++tried) {
      uint64_t other = word ^ (UINT64_C(1) << bit);
      flipped += __builtin_popcountll(runtime_hash(&word, 8, 0) ^ runtime_hash(&other, 8, 0));
    }
  }
  assert_in_range(flipped / tried, 31, 32);
}

static void random_numbers_stay_below(void **state) {
  (void)state;
  runtime_rng rng = {1};
  int seen[7] = {0};
  for (int i = 0; i < 7000; ++i) ++seen[runtime_random_below(&rng, 7)];
  for (int i = 0; i < 7; ++i) assert_in_range(seen[i], 850, 1150);
  assert_int_equal(runtime_random_below(&rng, 1), 0);
  assert_int_equal(runtime_random_below(&rng, 0), 0);
  assert_int_equal(runtime_random_below(&rng, -5), 0);
}

static void random_units_are_uniform(void **state) {
  (void)state;
  runtime_rng rng = {2};
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    double u = runtime_random_unit(&rng);
    assert_true(u >= 0 && u < 1);
    sum += u;
  }
  assert_true(sum > 4900 && sum < 5100);
}

static const struct division {
  const char *name;
  int64_t a, b, quotient, remainder;
} divisions[] = {
    {"7 // 2", 7, 2, 3, 1},
    {"-7 // 2", -7, 2, -4, 1},
    {"7 // -2", 7, -2, -4, -1},
    {"-7 // -2", -7, -2, 3, -1},
    {"-8 // 2", -8, 2, -4, 0},
    {"by zero", 5, 0, 0, 0},
    {"the least by -1 wraps", INT64_MIN, -1, INT64_MIN, 0},
    {"the least by 2", INT64_MIN, 2, INT64_MIN / 2, 0},
    {"the least by the most", INT64_MIN, INT64_MAX, -2, INT64_MAX - 1},
};
static void a_floor_division(void **state) {
  const struct division *row = *state;
  assert_true(runtime_floordiv(row->a, row->b) == row->quotient);
  assert_true(runtime_floormod(row->a, row->b) == row->remainder);
}

static void time_goes_on(void **state) {
  (void)state;
  uint64_t before = runtime_now_ns();
  usleep(2000);
  assert_in_range(runtime_now_ns() - before, 2000000, 2000000000);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void a_file_is_read_whole(void **state) {
  (void)state;
  char path[] = "/tmp/tenon-test-XXXXXX";
  int file = mkstemp(path);
  char block[1000];
  for (int i = 0; i < RUNTIME_COUNT(block); ++i) block[i] = (char)i;
  for (int i = 0; i < 50; ++i) assert_int_equal(write(file, block, sizeof block), sizeof block);
  close(file);
  size_t n;
  char *text = runtime_read_file(NULL, path, &n);
  unlink(path);
  assert_int_equal(n, 50 * sizeof block);
  assert_memory_equal(text + 49 * sizeof block, block, sizeof block);
  assert_int_equal(text[n], 0);
  free(text);
}

static void an_empty_file_is_an_empty_text(void **state) {
  (void)state;
  size_t n = 1;
  char *text = runtime_read_file(NULL, "/dev/null", &n);
  assert_string_equal(text, "");
  assert_int_equal(n, 0);
  free(text);
}

static void a_missing_file_is_named(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(runtime_read_file(ctx, "/nowhere/program.te", NULL));
  check_fails(ctx, TN_ERROR_IO, "cannot open /nowhere/program.te", "No such file");
  check_context_free(ctx);
}

static void a_folder_is_no_file(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(runtime_read_file(ctx, "/tmp", NULL));
  check_fails(ctx, TN_ERROR_IO, "cannot read /tmp", "directory");
  check_context_free(ctx);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static const struct quota {
  const char *name;
  const char *quota, *period;
  int threads;
} quotas[] = {
    {"two and a half", "250000", "100000", 3}, {"one", "100000", "100000", 1},
    {"a tenth", "10000", "100000", 1},         {"max", "max 100000", "100000", RUNTIME_NO_QUOTA},
    {"-1", "-1", "100000", RUNTIME_NO_QUOTA},  {"no file", "", "", RUNTIME_NO_QUOTA},
    {"nonsense", "x", "y", RUNTIME_NO_QUOTA},  {"more than anybody has", "9e18", "1", RUNTIME_NO_QUOTA},
};
static void a_quota(void **state) {
  const struct quota *row = *state;
  assert_int_equal(runtime_quota_threads(row->quota, row->period), row->threads);
}

static void threads_follow_the_affinity(void **state) {
  (void)state;
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  assert_in_range(tn_thread_count(), 1, CPU_COUNT(&all));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all) && CPU_COUNT(&one) == 0) CPU_SET(i, &one);
  }
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(tn_thread_count(), 1);
  sched_setaffinity(0, sizeof all, &all);
}

int test_support(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hashes_are_stable),
      cmocka_unit_test(every_byte_and_the_seed_matter),
      cmocka_unit_test(a_flipped_bit_flips_half_the_hash),
      cmocka_unit_test(random_numbers_stay_below),
      cmocka_unit_test(random_units_are_uniform),
      cmocka_unit_test(time_goes_on),
      cmocka_unit_test(a_file_is_read_whole),
      cmocka_unit_test(an_empty_file_is_an_empty_text),
      cmocka_unit_test(a_missing_file_is_named),
      cmocka_unit_test(a_folder_is_no_file),
      cmocka_unit_test(threads_follow_the_affinity),
  };
  return CHECK_TESTS("support", tests) + CHECK_TABLE("floor division", divisions, a_floor_division) +
         CHECK_TABLE("quotas", quotas, a_quota);
}
