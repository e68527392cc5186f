/* Whether elements of strided arrays share memory: against a table of bytes, on all small shapes and strides; parts of
 * one array; strides that are too tangled. */
#include "runtime/base.h"
#include "tests/common/check.h"
#include "tests/runtime/tests.h"

enum { RANK = 3, BYTES = 512 };

static DLTensor view(void *data, int64_t *shape, int64_t *strides, int bits) {
  return (DLTensor){.data = data,
                    .device = {kDLCPU, 0},
                    .ndim = RANK,
                    .dtype = {kDLInt, (uint8_t)bits, 1},
                    .shape = shape,
                    .strides = strides};
}

/* How often each byte from FIRST on is part of an element. */
static void count_bytes(const DLTensor *t, ptrdiff_t first, uint8_t *counts) {
  const int bytes = t->dtype.bits / 8;
  for (int64_t i = 0; i < t->shape[0]; i++)
    for (int64_t j = 0; j < t->shape[1]; j++)
      for (int64_t k = 0; k < t->shape[2]; k++)
        for (int b = 0; b < bytes; b++)
          counts[first + (i * t->strides[0] + j * t->strides[1] + k * t->strides[2]) * bytes + b]++;
}

static bool are_all_below(const uint8_t *counts, int limit) {
  bool all = true;
  for (int i = 0; i < BYTES; i++) all = all && counts[i] < limit;
  return all;
}

/* Digits of N in this base, from 1 on or (FROM 0) from 0 on. */
static void digits(int n, int base, int from, int64_t *out) {
  for (int d = 0; d < RANK; d++, n /= base) out[d] = from + n % base;
}

static void elements_of_one(void **state) {
  (void)state;
  for (int shapes = 0; shapes < 27; shapes++)
    for (int steps = 0; steps < 512; steps++) {
      int64_t shape[RANK], strides[RANK];
      uint8_t counts[BYTES] = {0};
      digits(shapes, 3, 1, shape);
      digits(steps, 8, 0, strides);
      DLTensor t = view(counts, shape, strides, 8);
      count_bytes(&t, 0, counts);
      assert_int_equal(runtime_elements_are_apart(&t), are_all_below(counts, 2));
    }
}

static void elements_of_two(void **state) {
  (void)state;
  runtime_rng rng = {5};
  int n_apart = 0;
  for (int n = 0; n < 40000; n++) {
    int64_t shape[2][RANK], strides[2][RANK], at = runtime_random_below(&rng, 40);
    uint8_t counts[2][BYTES] = {{0}};
    DLTensor t[2];
    for (int i = 0; i < 2; i++) {
      digits((int)runtime_random_below(&rng, 27), 3, 1, shape[i]);
      digits((int)runtime_random_below(&rng, 1000), 10, 0, strides[i]);
      t[i] = view(counts[0], shape[i], strides[i], i ? 8 << runtime_random_below(&rng, 3) : 16);
    }
    t[1].byte_offset = (uint64_t)at;
    for (int i = 0; i < 2; i++) count_bytes(&t[i], i ? at : 0, counts[i]);
    bool apart = true;
    for (int i = 0; i < BYTES; i++) apart = apart && !(counts[0][i] && counts[1][i]);
    n_apart += apart;
    assert_int_equal(runtime_arrays_are_apart(&t[0], &t[1]), apart);
    assert_int_equal(runtime_arrays_are_apart(&t[1], &t[0]), apart);
  }
  assert_in_range(n_apart, 4000, 36000);
}

/* Halves and corners of a large array, whose strides are large, too. */
static void parts_of_one(void **state) {
  (void)state;
  int64_t shape[] = {1 << 20, 300, 500}, strides[] = {INT64_C(1) << 21, 1000, 1};
  DLTensor left = view((void *)4096, shape, strides, 32), right = left, below = left;
  right.byte_offset = 500 * 4, below.byte_offset = 300 * 1000 * 4;
  assert_true(runtime_elements_are_apart(&left));
  assert_true(runtime_arrays_are_apart(&left, &right));
  assert_true(runtime_arrays_are_apart(&left, &below));
  right.byte_offset = 499 * 4;
  assert_false(runtime_arrays_are_apart(&left, &right));
  below.byte_offset -= 4;
  assert_true(runtime_arrays_are_apart(&left, &below)); /* behind the last row of 500 in 1000 */
  below.byte_offset = 299 * 1000 * 4;
  assert_false(runtime_arrays_are_apart(&left, &below));
  left.strides = NULL;
  assert_true(runtime_elements_are_apart(&left));
  assert_false(runtime_arrays_are_apart(&left, &right));
}

static void what_cannot_be_told(void **state) {
  (void)state;
  int64_t shape[] = {1 << 20, 1 << 20, 1 << 20}, strides[] = {3 << 20, (3 << 19) + 7, (3 << 18) + 3};
  DLTensor t = view((void *)4096, shape, strides, 8);
  assert_false(runtime_elements_are_apart(&t));
  strides[0] = INT64_MAX / 2;
  assert_false(runtime_elements_are_apart(&t));
  shape[1] = 0;
  assert_true(runtime_elements_are_apart(&t));
  assert_true(runtime_arrays_are_apart(&t, &t));
}

int test_overlap(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(elements_of_one), cmocka_unit_test(elements_of_two),
                                            cmocka_unit_test(parts_of_one), cmocka_unit_test(what_cannot_be_told)};
  return CHECK_TESTS("overlaps of strided arrays", tests);
}
