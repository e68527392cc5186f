/* Arrays: layout, alignment, test data, and the requests that are refused. */
#include "tests/common/check.h"
#include "tests/runtime/tests.h"

static void an_array_is_compact_aligned_and_zero(void **state) {
  (void)state;
  DLTensor *a = tn_array_new(NULL, TN_F32, 3, (int64_t[]){2, 3, 5});
  assert_int_equal((uintptr_t)a->data % 64, 0);
  assert_int_equal(a->ndim, 3);
  assert_int_equal(a->device.device_type, kDLCPU);
  const int64_t strides[] = {15, 5, 1};
  assert_memory_equal(a->strides, strides, sizeof strides);
  assert_int_equal(tn_array_bytes(a), 120);
  for (int i = 0; i < 30; ++i) assert_true(((float *)a->data)[i] == 0);
  tn_array_free(a);
}

/* An array in pages of its own is filled as any other, of every dtype. */
static void mapped_arrays_are_filled_alike(void **state) {
  (void)state;
  for (int dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype) {
    DLTensor *a = tn_array_new(NULL, (tn_dtype)dtype, 2, (int64_t[]){70, 90});
    DLTensor *b = runtime_array_map(NULL, (tn_dtype)dtype, 2, (int64_t[]){70, 90});
    assert_int_equal(tn_array_fill(NULL, a, 5), TN_OK);
    assert_int_equal(tn_array_fill(NULL, b, 5), TN_OK);
    assert_memory_equal(a->data, b->data, tn_array_bytes(a));
    assert_true(runtime_array_mapped_bytes(b) >= tn_array_bytes(b) && runtime_array_mapped_bytes(a) == 0);
    tn_array_free(a);
    tn_array_free(b);
  }
}

/* Whether the array lies in large pages depends on the system alone, not on where the data of a process happen to begin. */
static void large_arrays_begin_on_a_large_page(void **state) {
  (void)state;
  enum { LARGE = 2 << 20 };
  for (int64_t bytes = LARGE; bytes <= 3 * LARGE; bytes += LARGE / 2) {
    DLTensor *a = tn_array_new(NULL, TN_U8, 1, &bytes), *b = runtime_array_map(NULL, TN_U8, 1, &bytes);
    assert_int_equal((uintptr_t)a->data % LARGE, 0);
    assert_int_equal((uintptr_t)b->data % LARGE, 0);
    assert_true(((uint8_t *)a->data)[bytes - 1] == 0 && ((uint8_t *)b->data)[bytes - 1] == 0);
    assert_true(runtime_array_mapped_bytes(b) - (size_t)bytes < 1 << 16);
    tn_array_free(a);
    tn_array_free(b);
  }
}

static void rank_zero_is_one_number(void **state) {
  (void)state;
  DLTensor *a = tn_array_new(NULL, TN_I64, 0, NULL);
  assert_int_equal(tn_array_bytes(a), 8);
  tn_array_free(a);
}

static void an_empty_array_has_no_bytes(void **state) {
  (void)state;
  DLTensor *a = tn_array_new(NULL, TN_F64, 2, (int64_t[]){0, INT64_MAX});
  assert_int_equal(tn_array_bytes(a), 0);
  assert_int_equal(tn_array_fill(NULL, a, 1), TN_OK);
  tn_array_free(a);
}

static void it_outlives_its_context(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  DLTensor *a = tn_array_new(ctx, TN_F32, 1, (int64_t[]){4});
  tn_context_free(ctx);
  ((float *)a->data)[3] = 1;
  tn_array_free(a);
  tn_array_free(NULL);
}

static const struct refusal {
  const char *name;
  int dtype, ndim;
  int64_t shape[2];
  tn_status status;
  const char *message;
} refusals[] = {
    {"a dtype outside the enum", TN_DTYPE_COUNT, 1, {1}, TN_ERROR_ARGUMENT, "12 is no dtype"},
    {"a negative rank", TN_F32, -1, {1}, TN_ERROR_ARGUMENT, "rank -1 is outside 0 to 8"},
    {"rank 9", TN_F32, 9, {1}, TN_ERROR_ARGUMENT, "rank 9 is outside 0 to 8"},
    {"a negative extent", TN_F32, 2, {4, -3}, TN_ERROR_ARGUMENT, "extent -3 of dimension 1 is negative"},
    {"an overflowing shape", TN_F32, 2, {INT64_MAX, 4}, TN_ERROR_MEMORY, "larger than the address space"},
    {"a shape that wraps to a small size", TN_F32, 2, {INT64_C(1) << 62, 4}, TN_ERROR_MEMORY, "address space"},
    {"more than there is memory", TN_I8, 2, {INT64_C(1) << 61, 1}, TN_ERROR_MEMORY, "out of memory for 2305843009213"},
};
static void a_refused_request(void **state) {
  const struct refusal *row = *state;
  tn_context *ctx = check_context();
  assert_null(tn_array_new(ctx, (tn_dtype)row->dtype, row->ndim, row->shape));
  check_fails(ctx, row->status, "tn_array_new", row->message);
  check_context_free(ctx);
}

static void a_null_shape_is_refused(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(tn_array_new(ctx, TN_F32, 1, NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT, "the shape is NULL");
  check_context_free(ctx);
}

/* ---- test data --------------------------------------------------------------------------------------------------- */

static const struct fill_row {
  const char *name;
  tn_dtype dtype;
  double low, high; /* closed */
} fill_rows[] = {
    {"bool", TN_BOOL, 0, 1},  {"i8", TN_I8, -4, 4},           {"u8", TN_U8, 0, 8},
    {"i16", TN_I16, -4, 4},   {"u16", TN_U16, 0, 8},          {"i32", TN_I32, -4, 4},
    {"u32", TN_U32, 0, 8},    {"i64", TN_I64, -4, 4},         {"f16", TN_F16, -1, 1},
    {"bf16", TN_BF16, -1, 1}, {"f32", TN_F32, -1, 0.9999999}, {"f64", TN_F64, -1, 0.9999999},
};

#define X(NAME, text, bytes, code, ctype) \
  case TN_##NAME: return (double)((const ctype *)data)[i];
static double value_at(const void *data, tn_dtype dtype, int i) {
  if (runtime_is_half(dtype)) return runtime_half_value(dtype, ((const uint16_t *)data)[i]);
  switch (dtype) {
    TN_DTYPES(X)
    case TN_DTYPE_COUNT: break;
  }
  return 0;
}
#undef X

static void filled_data_is_in_range_and_spread(void **state) {
  const struct fill_row *row = *state;
  enum { N = 2000 };
  DLTensor *a = tn_array_new(NULL, row->dtype, 1, (int64_t[]){N});
  assert_int_equal(tn_array_fill(NULL, a, 7), TN_OK);
  double least = 1e9, most = -1e9;
  for (int i = 0; i < N; ++i) {
    least = RUNTIME_MIN(least, value_at(a->data, row->dtype, i));
    most = RUNTIME_MAX(most, value_at(a->data, row->dtype, i));
  }
  double slack = tn_dtype_is_float(row->dtype) ? 0.01 : 0;
  assert_true(least >= row->low && least <= row->low + slack);
  assert_true(most <= row->high && most >= row->high - slack);
  tn_array_free(a);
}

static void indices_are_below_their_limit(void **state) {
  (void)state;
  DLTensor *a = tn_array_new(NULL, TN_I64, 1, (int64_t[]){1000});
  int64_t most = 0;
  assert_int_equal(runtime_array_fill(NULL, a, 7, 37), TN_OK);
  for (int i = 0; i < 1000; ++i) {
    int64_t value = ((int64_t *)a->data)[i];
    assert_true(value >= 0 && value < 37);
    most = RUNTIME_MAX(most, value);
  }
  assert_int_equal(most, 36);
  tn_array_free(a);
}

static void a_seed_repeats_its_data(void **state) {
  (void)state;
  DLTensor *a = tn_array_new(NULL, TN_F32, 1, (int64_t[]){100}), *b = tn_array_new(NULL, TN_F64, 1, (int64_t[]){100});
  tn_array_fill(NULL, a, 3);
  tn_array_fill(NULL, b, 3);
  for (int i = 0; i < 100; ++i) assert_true(((float *)a->data)[i] == ((double *)b->data)[i]);
  tn_array_fill(NULL, b, 4);
  assert_true(((float *)a->data)[0] != ((double *)b->data)[0]);
  tn_array_free(a);
  tn_array_free(b);
}

static void a_foreign_tensor_is_filled_from_its_offset(void **state) {
  (void)state;
  float data[8] = {0};
  DLTensor t = {.data = data,
                .byte_offset = 8,
                .device = {kDLCPU, 0},
                .ndim = 1,
                .dtype = {kDLFloat, 32, 1},
                .shape = (int64_t[]){4}};
  assert_int_equal(tn_array_fill(NULL, &t, 1), TN_OK);
  assert_true(data[1] == 0 && data[2] != 0 && data[5] != 0 && data[6] == 0);
}

static void filling_is_refused(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_int_equal(tn_array_fill(ctx, NULL, 1), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "the array is NULL");
  DLTensor t = {.device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 8, 1}, .shape = (int64_t[]){2, 2}};
  tn_array_fill(ctx, &t, 1);
  check_fails(ctx, TN_ERROR_ARGUMENT, "dtype f8 is none of Tenon's");
  t.dtype.bits = 32;
  t.strides = (int64_t[]){1, 2};
  tn_array_fill(ctx, &t, 1);
  check_fails(ctx, TN_ERROR_ARGUMENT, "not compact row-major");
  t.strides = NULL;
  t.device.device_type = kDLCUDA;
  tn_array_fill(ctx, &t, 1);
  check_fails(ctx, TN_ERROR_ARGUMENT, "on the CPU");
  check_context_free(ctx);
}

int test_array(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_array_is_compact_aligned_and_zero),
      cmocka_unit_test(indices_are_below_their_limit),
      cmocka_unit_test(mapped_arrays_are_filled_alike),
      cmocka_unit_test(large_arrays_begin_on_a_large_page),
      cmocka_unit_test(rank_zero_is_one_number),
      cmocka_unit_test(an_empty_array_has_no_bytes),
      cmocka_unit_test(it_outlives_its_context),
      cmocka_unit_test(a_null_shape_is_refused),
      cmocka_unit_test(a_seed_repeats_its_data),
      cmocka_unit_test(a_foreign_tensor_is_filled_from_its_offset),
      cmocka_unit_test(filling_is_refused),
  };
  return CHECK_TESTS("arrays", tests) + CHECK_TABLE("refused arrays", refusals, a_refused_request) +
         CHECK_TABLE("test data", fill_rows, filled_data_is_in_range_and_spread);
}
