/* Data types: the table, its inverse, values outside it. */
#include "tests/common/check.h"
#include "tests/runtime/tests.h"

static const struct row {
  const char *name;
  tn_dtype dtype;
  size_t bytes;
  bool is_float, is_signed;
  DLDataType form;
} rows[] = {
    {"bool", TN_BOOL, 1, false, false, {kDLUInt, 8, 1}}, {"i8", TN_I8, 1, false, true, {kDLInt, 8, 1}},
    {"u8", TN_U8, 1, false, false, {kDLUInt, 8, 1}},     {"i16", TN_I16, 2, false, true, {kDLInt, 16, 1}},
    {"u16", TN_U16, 2, false, false, {kDLUInt, 16, 1}},  {"i32", TN_I32, 4, false, true, {kDLInt, 32, 1}},
    {"u32", TN_U32, 4, false, false, {kDLUInt, 32, 1}},  {"i64", TN_I64, 8, false, true, {kDLInt, 64, 1}},
    {"f16", TN_F16, 2, true, true, {kDLFloat, 16, 1}},   {"bf16", TN_BF16, 2, true, true, {kDLBfloat, 16, 1}},
    {"f32", TN_F32, 4, true, true, {kDLFloat, 32, 1}},   {"f64", TN_F64, 8, true, true, {kDLFloat, 64, 1}},
};

static void a_dtype(void **state) {
  const struct row *row = *state;
  tn_dtype parsed = TN_DTYPE_COUNT;
  assert_true(tn_dtype_parse(row->name, &parsed));
  assert_int_equal(parsed, row->dtype);
  assert_string_equal(tn_dtype_name(row->dtype), row->name);
  assert_int_equal(tn_dtype_bytes(row->dtype), row->bytes);
  assert_int_equal(tn_dtype_is_float(row->dtype), row->is_float);
  assert_int_equal(tn_dtype_is_signed(row->dtype), row->is_signed);
  DLDataType form = tn_dtype_dlpack(row->dtype);
  assert_memory_equal(&form, &row->form, sizeof form);
}

static const struct {
  const char *name;
} unknown_names[] = {{"f8"}, {"float32"}, {"F32"}, {"f32 "}, {""}, {"f"}};
static void an_unknown_name(void **state) {
  tn_dtype dtype = TN_I8;
  assert_false(tn_dtype_parse(*(const char **)*state, &dtype));
  assert_int_equal(dtype, TN_I8);
}

static void every_dtype_is_tested(void **state) {
  (void)state;
  assert_int_equal(RUNTIME_COUNT(rows), TN_DTYPE_COUNT);
}

static void values_outside_the_enum(void **state) {
  (void)state;
  const int values[] = {-1, TN_DTYPE_COUNT, 1000};
  for (int i = 0; i < RUNTIME_COUNT(values); ++i) {
    tn_dtype dtype = (tn_dtype)values[i];
    assert_string_equal(tn_dtype_name(dtype), "?");
    assert_int_equal(tn_dtype_bytes(dtype), 0);
    assert_false(tn_dtype_is_float(dtype) || tn_dtype_is_signed(dtype));
    assert_int_equal(tn_dtype_dlpack(dtype).bits, 0);
  }
  assert_false(tn_dtype_parse(NULL, NULL));
}

static const struct text_row {
  const char *name;
  DLDataType form;
} text_rows[] = {
    {"f32", {kDLFloat, 32, 1}}, {"u8x4", {kDLUInt, 8, 4}}, {"bf16", {kDLBfloat, 16, 1}}, {"(code 99)7x3", {99, 7, 3}}};
static void a_foreign_dtype_in_words(void **state) {
  const struct text_row *row = *state;
  char text[RUNTIME_DLTYPE_TEXT];
  assert_string_equal(runtime_dltype_text(row->form, text), row->name);
}

int test_dtype(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_dtype_is_tested),
                                     cmocka_unit_test(values_outside_the_enum)};
  return CHECK_TESTS("dtypes", tests) + CHECK_TABLE("dtype", rows, a_dtype) +
         CHECK_TABLE("unknown dtype", unknown_names, an_unknown_name) +
         CHECK_TABLE("DLPack dtype", text_rows, a_foreign_dtype_in_words);
}
