/* Runs the groups of tests of tensor expressions; helpers they share. */
#include "tests/te/tests.h"

tn_program *parse(tn_context *ctx, const char *text) {
  tn_program *p = tn_program_parse(ctx, text, 0, NULL);
  if (!p) print_error("%s\n", tn_context_message(ctx));
  assert_non_null(p);
  return p;
}

DLTensor **make_args(tn_context *ctx, const tn_program *p, uint64_t seed) {
  int n = tn_program_arg_count(p);
  DLTensor **args = calloc((size_t)n, sizeof *args);
  for (int i = 0; i < n; i++) {
    const tn_tensor *t = tn_program_arg(p, i);
    args[i] = tn_array_new(ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    assert_non_null(args[i]);
    assert_int_equal(tn_array_fill(ctx, args[i], seed + (uint64_t)i), TN_OK);
  }
  return args;
}

void free_args(DLTensor **args, const tn_program *p) {
  for (int i = 0; i < tn_program_arg_count(p); i++) tn_array_free(args[i]);
  free(args);
}

int64_t count_elements(const DLTensor *a) {
  int64_t n = 1;
  for (int d = 0; d < a->ndim; d++) n *= a->shape[d];
  return n;
}

static tn_dtype dtype_of(const DLTensor *a) {
  for (int i = TN_U8; i < TN_DTYPE_COUNT; i++) {
    DLDataType t = tn_dtype_dlpack((tn_dtype)i);
    if (t.code == a->dtype.code && t.bits == a->dtype.bits) return (tn_dtype)i;
  }
  return a->dtype.code == kDLInt ? TN_I8 : TN_U8;
}

double get_element(const DLTensor *a, int64_t flat) {
  tn_dtype dtype = dtype_of(a);
  if (runtime_is_half(dtype)) return runtime_half_value(dtype, ((const uint16_t *)a->data)[flat]);
  switch ((int)dtype_of(a)) {
#define X(name, text, bytes, code, ctype) \
  case TN_##name: return (double)((const ctype *)a->data)[flat];
    TN_DTYPES(X)
#undef X
    default: return 0;
  }
}

void set_element(DLTensor *a, int64_t flat, double value) {
  tn_dtype dtype = dtype_of(a);
  if (runtime_is_half(dtype)) {
    ((uint16_t *)a->data)[flat] = runtime_half_bits(dtype, value);
    return;
  }
  switch ((int)dtype_of(a)) {
#define X(name, text, bytes, code, ctype) \
  case TN_##name: ((ctype *)a->data)[flat] = (ctype)value; return;
    TN_DTYPES(X)
#undef X
    default: return;
  }
}

int main(void) {
  return test_print() + test_parse_errors() + test_files() + test_format() + test_shapes() + test_calls() +
         test_evaluate() + test_evaluate_at() + test_flops() + test_random_texts();
}
