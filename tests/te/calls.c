/* The C calls: that they make the programs the text form makes, and what they refuse. */
#include "tests/te/tests.h"

/* ---- equivalence with the text form ------------------------------------------------------------------------------ */

static tn_program *matmul(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 16), *j = tn_axis_new(ctx, "j", 24), *k = tn_reduce_axis(ctx, "k", 8);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 16, 8), *B = tn_placeholder(ctx, "B", TN_F32, 8, 24);
  tn_tensor *C = tn_compute(ctx, "C", tn_sum(tn_mul(tn_at(A, i, k), tn_at(B, k, j)), k), i, j);
  return tn_program_new(ctx, A, B, C);
}

static tn_program *shared_axes(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4), *k = tn_reduce_axis(ctx, "k", 8);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4, 8);
  tn_expr *e = tn_at(A, i, k);
  tn_tensor *S = tn_compute(ctx, "S", tn_sum(e, k), i), *M = tn_compute(ctx, "M", tn_max_over(e, k), i);
  tn_tensor *D = tn_compute(ctx, "D", tn_sub(tn_at(M, i), tn_at(S, i)), i);
  return tn_program_new(ctx, A, D);
}

static tn_program *rank_zero(tn_context *ctx) {
  tn_axis *k = tn_reduce_axis(ctx, "k", 8);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 8), *s = tn_placeholder(ctx, "s", TN_F32);
  tn_tensor *S = tn_compute(ctx, "S", tn_sum(tn_at(A, k), k));
  return tn_program_new(ctx, A, s, tn_compute(ctx, "T", tn_mul(S, tn_at(s))));
}

static tn_program *padding(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 10);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 8);
  tn_expr *inside = tn_and(tn_ge(i, 1), tn_lt(i, 9));
  return tn_program_new(ctx, A, tn_compute(ctx, "P", tn_select(inside, tn_at(A, tn_sub(i, 1)), 0), i));
}

static tn_program *every_operator(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4), *K = tn_placeholder(ctx, "K", TN_I32, 4);
  tn_expr *a = tn_at(A, i), *k = tn_at(K, i);
  tn_expr *f = tn_exp(tn_log(tn_sqrt(tn_rsqrt(tn_tanh(tn_sigmoid(tn_erf(tn_sin(tn_cos(a)))))))));
  f = tn_add(f, tn_abs(tn_floor(tn_ceil(tn_round(tn_pow(tn_div(a, 2), tn_neg(a)))))));
  f = tn_minimum(tn_maximum(f, 0.5), tn_cast(TN_F32, tn_floormod(tn_floordiv(k, 3), 2)));
  tn_expr *c = tn_or(tn_and(tn_eq(k, 1), tn_ne(k, 2)), tn_not(tn_or(tn_le(a, 1), tn_gt(a, 2.5))));
  return tn_program_new(ctx, A, K, tn_compute(ctx, "C", tn_select(c, f, 1), i));
}

static tn_program *constants(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4);
  tn_tensor *D = tn_placeholder(ctx, "D", TN_F64, 4), *U = tn_placeholder(ctx, "U", TN_U8, 4);
  tn_expr *e = tn_add(tn_mul(tn_at(D, i), 0.1), tn_const(ctx, TN_F64, 2));
  return tn_program_new(ctx, D, U, tn_compute(ctx, "C", tn_add(e, tn_add(tn_at(U, i), 7)), i));
}

static tn_program *logical(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4), *k = tn_reduce_axis(ctx, "k", 3), *l = tn_reduce_axis(ctx, "l", 2);
  tn_tensor *Q = tn_placeholder(ctx, "Q", TN_BOOL, 4, 3, 2);
  tn_tensor *X = tn_compute(ctx, "X", tn_any(tn_at(Q, i, k, l), k, l), i);
  tn_tensor *Y = tn_compute(ctx, "Y", tn_all(tn_at(Q, i, k, l), k, l), i);
  return tn_program_new(ctx, Q, X, Y);
}

static tn_program *where_and_init(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4), *k = tn_reduce_axis(ctx, "k", 4);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4), *B = tn_placeholder(ctx, "B", TN_F32, 4);
  tn_expr *e = tn_init(tn_where(tn_sum(tn_at(A, k), k), tn_ne(k, i)), tn_at(B, i));
  tn_tensor *C = tn_compute(ctx, "C", e, i), *D = tn_compute(ctx, "D", e, i); /* the second with copies of the axes */
  return tn_program_new(ctx, A, B, C, D);
}

static tn_program *init_before_where(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4), *k = tn_reduce_axis(ctx, "k", 4);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4), *B = tn_placeholder(ctx, "B", TN_F32, 4);
  tn_expr *e = tn_where(tn_init(tn_sum(tn_at(A, k), k), tn_at(B, i)), tn_ne(k, i));
  return tn_program_new(ctx, A, B, tn_compute(ctx, "C", e, i));
}

static tn_program *bits_and_functions(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4), *K = tn_placeholder(ctx, "K", TN_I32, 4);
  tn_expr *a = tn_at(A, i), *k = tn_at(K, i);
  tn_expr *bits = tn_bitxor(tn_bitor(tn_bitand(k, 6), 1), tn_shr(tn_shl(tn_bitnot(k), 2), 1));
  tn_expr *f = tn_exp2(tn_exp10(tn_log2(tn_log10(tn_log1p(tn_tan(tn_sinh(tn_cosh(a))))))));
  f = tn_asin(tn_acos(tn_atan(tn_asinh(tn_acosh(tn_atanh(tn_trunc(tn_nearbyint(f))))))));
  f = tn_atan2(tn_hypot(tn_fmod(f, a), a), tn_copysign(a, 1));
  tn_expr *c = tn_or(tn_isnan(a), tn_or(tn_isinf(a), tn_isfinite(f)));
  tn_expr *value = tn_if_then_else(c, f, tn_cast(TN_F32, tn_add(tn_popcount(bits), tn_clz(bits))));
  return tn_program_new(ctx, A, K, tn_compute(ctx, "C", value, i));
}

static tn_program *argmax_and_value(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4), *k = tn_reduce_axis(ctx, "k", 8);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4, 8);
  tn_tensor *I = tn_compute(ctx, "I, V", tn_argmax(tn_at(A, i, k), k), i), *V = tn_output(I, 1);
  tn_tensor *J = tn_compute(ctx, "J", tn_argmin(tn_tuple(tn_sub(7, k), tn_at(A, i, k)), k), i);
  return tn_program_new(ctx, A, V, I, J);
}

static tn_program *user_combiner(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4), *k = tn_reduce_axis(ctx, "k", 8);
  tn_tensor *R = tn_placeholder(ctx, "R", TN_F32, 4, 8);
  tn_combiner *c = tn_combiner_new(ctx, "cprod", TN_F32, TN_F32);
  tn_expr *ar = tn_lhs(c, 0), *ai = tn_lhs(c, 1), *br = tn_rhs(c, 0), *bi = tn_rhs(c, 1);
  tn_combiner_results(c, tn_sub(tn_mul(ar, br), tn_mul(ai, bi)), tn_add(tn_mul(ar, bi), tn_mul(ai, br)));
  tn_combiner_identity(c, 1, 0);
  tn_expr *e = tn_where(tn_reduce(c, tn_tuple(tn_at(R, i, k), 2), k), tn_ne(k, i));
  return tn_program_new(ctx, R, tn_compute(ctx, "P, Q", tn_init(e, tn_tuple(tn_cast(TN_F32, i), 1.5)), i));
}

static tn_program *plain_tuple(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4);
  tn_tensor *S = tn_compute(ctx, "S, D", tn_tuple(tn_add(tn_at(A, i), 1), i), i);
  return tn_program_new(ctx, A, S, tn_compute(ctx, "C", tn_at(tn_output(S, 1), i), i));
}

static tn_program *read_output(tn_context *ctx) {
  tn_axis *i = tn_axis_new(ctx, "i", 4);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4), *X = tn_compute(ctx, "X", tn_add(tn_at(A, i), 1), i);
  tn_tensor *Y = tn_compute(ctx, "Y", tn_mul(tn_at(X, i), 2), i);
  return tn_program_new(ctx, A, Y, X);
}

static const struct same_row {
  const char *name;
  tn_program *(*make)(tn_context *ctx);
  const char *text;
} same_rows[] = {
    {"matmul", matmul, "C[i<16, j<24] = sum[k<8](A[i,k]*B[k,j])"},
    {"where and init", where_and_init,
     "input A: f32[4], B: f32[4]; C[i<4] = sum[k<4 where k != i init = B[i]](A[k]); "
     "D[i<4] = sum[k<4 where k != i init = B[i]](A[k])"},
    {"init before where", init_before_where,
     "input A: f32[4], B: f32[4]; C[i<4] = sum[k<4 where k != i init = B[i]](A[k])"},
    {"bits and functions", bits_and_functions,
     "input A: f32[4], K: i32[4]; C[i<4] = select(isnan(A[i]) || (isinf(A[i]) || isfinite(atan2(hypot(fmod(asin(acos("
     "atan(asinh(acosh(atanh(trunc(nearbyint(exp2(exp10(log2(log10(log1p(tan(sinh(cosh(A[i]))))))))))))))))"
     ", A[i]), A[i]), copysign(A[i], 1)))), atan2(hypot(fmod(asin(acos(atan(asinh(acosh(atanh(trunc(nearbyint(exp2("
     "exp10(log2(log10(log1p(tan(sinh(cosh(A[i])))))))))))))))), A[i]), A[i]), copysign(A[i], 1)), "
     "f32(popcount((K[i] & 6 | 1) ^ ~K[i] << 2 >> 1) + clz((K[i] & 6 | 1) ^ ~K[i] << 2 >> 1)))"},
    {"axes shared between computes", shared_axes,
     "M[i<4] = max[k<8](A[i,k]); S[i<4] = sum[k<8](A[i,k]); D[i<4] = M[i] - S[i]"},
    {"rank 0", rank_zero, "input A: f32[8], s: f32; S = sum[k<8](A[k]); T = S*s"},
    {"padding", padding, "P[i<10] = select(i >= 1 && i < 9, A[i-1], 0)"},
    {"every operator", every_operator,
     "input A: f32[4], K: i32[4]; C[i<4] = select(K[i] == 1 && K[i] != 2 || !(A[i] <= 1 || A[i] > 2.5), "
     "min(max(exp(log(sqrt(rsqrt(tanh(sigmoid(erf(sin(cos(A[i]))))))))) + abs(floor(ceil(round(pow(A[i]/2, -A[i]))))), "
     "0.5), f32(K[i]//3%2)), 1)"},
    {"constants", constants, "input D: f64[4], U: u8[4]; C[i<4] = D[i]*0.1 + 2 + (U[i] + 7)"},
    {"argmax", argmax_and_value,
     "(I, V)[i<4] = argmax[k<8](A[i,k]); J[i<4] = argmin[k<8](7 - k, A[i,k]); output V, I, J"},
    {"a user's combiner", user_combiner,
     "combiner cprod(a0: f32, a1: f32; b0, b1) = (a0*b0 - a1*b1, a0*b1 + a1*b0), identity (1, 0); "
     "(P, Q)[i<4] = cprod[k<8 where k != i init = (f32(i), 1.5)](R[i,k], 2); output P"},
    {"a tuple", plain_tuple, "(S, D)[i<4] = (A[i] + 1, i); C[i<4] = D[i]"},
    {"any and all", logical,
     "input Q: bool[4,3,2]; X[i<4] = any[k<3, l<2](Q[i,k,l]); Y[i<4] = all[k<3, l<2](Q[i,k,l])"},
    {"an output that is read", read_output, "X[i<4] = A[i] + 1; Y[i<4] = X[i]*2; output Y, X"},
};

static void same_as_text(void **state) {
  const struct same_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = row->make(ctx);
  check_ok(ctx);
  assert_non_null(p);
  check_text(tn_program_text(p), tn_program_text(parse(ctx, row->text)));
  check_text(tn_program_text(parse(ctx, tn_program_text(p))), tn_program_text(p));
  check_context_free(ctx);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static void arguments(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = matmul(ctx);
  assert_int_equal(tn_program_arg_count(p), 3);
  assert_int_equal(tn_program_input_count(p), 2);
  tn_tensor *C = tn_program_arg(p, 2);
  assert_ptr_equal(C, tn_program_find(p, "C"));
  assert_string_equal(tn_tensor_name(C), "C");
  assert_int_equal(tn_tensor_dtype(C), TN_F32);
  assert_int_equal(tn_tensor_rank(C), 2);
  assert_int_equal(tn_tensor_shape(C)[1], 24);
  assert_null(tn_program_arg(p, 3));
  assert_null(tn_program_arg(p, -1));
  assert_null(tn_program_find(p, "Z"));
  check_ok(ctx);
  check_context_free(ctx);
}

static void null_chains(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_axis *bad = tn_axis_new(ctx, "i", 0);
  tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 4);
  assert_null(bad);
  tn_expr *e = tn_add(tn_exp(tn_at(A, bad)), 1);
  assert_null(e);
  assert_null(tn_sum(e, bad));
  tn_tensor *C = tn_compute(ctx, "C", e, bad);
  assert_null(C);
  assert_null(tn_program_new(ctx, A, C));
  check_fails(ctx, TN_ERROR_PROGRAM, "extent 0 of axis 'i' is not in 1 .. 2147483647");
  check_text(check_messages(ctx), "");
  check_context_free(ctx);
}

static void numbers_alone(void **state) {
  (void)state;
  assert_null(tn_add(1, 2));
  assert_null(tn_exp(1.0));
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

typedef struct parts {
  tn_context *ctx;
  tn_axis *i, *j, *k;
  tn_tensor *A, *K;
} parts;

static void bad_axis_name(parts *p) { tn_axis_new(p->ctx, "2i", 4); }
static void axis_word(parts *p) { tn_axis_new(p->ctx, "sum", 4); }
static void empty_name(parts *p) { tn_axis_new(p->ctx, "", 4); }
static void axis_negative(parts *p) { tn_reduce_axis(p->ctx, "i", -3); }
static void tensor_name(parts *p) { tn_placeholder(p->ctx, "a b", TN_F32, 4); }
static void bad_dtype(parts *p) { tn_placeholder(p->ctx, "X", 77, 4); }
static void bad_extent(parts *p) { tn_placeholder(p->ctx, "X", TN_F32, 4, 0); }
static void too_large(parts *p) { tn_placeholder(p->ctx, "X", TN_F32, 2000000000, 2000000000, 4); }
static void rank_nine(parts *p) { tn_placeholder(p->ctx, "X", TN_F32, 1, 1, 1, 1, 1, 1, 1, 1, 1); }
static void wrong_rank(parts *p) { tn_at(p->A, p->i, p->j); }
static void not_a_tensor(parts *p) { tn_at(p->i, p->j); }
static void nested(parts *p) { tn_at(p->A, tn_sum(p->k, p->k)); }
static void nested_sum(parts *p) { tn_init(tn_sum(tn_at(p->A, p->k), p->k), tn_sum(tn_at(p->A, p->k), p->k)); }
static void data_axis_reduced(parts *p) { tn_sum(tn_at(p->A, p->i), p->i); }
static void second_data_axis(parts *p) { tn_sum(tn_at(p->A, p->k), p->k, p->i); }
static void sum_without_axes(parts *p) { tn_reduction("sum", 1, (tn_arg[]){TN_ARG(tn_at(p->A, p->k))}); }
static void unknown_reduction(parts *p) { tn_reduction("mean", TN_LIST(tn_at(p->A, p->k), p->k)); }
static void reduced_over_tensor(parts *p) { tn_sum(tn_at(p->A, p->k), p->A); }
static void free_axis(parts *p) { tn_compute(p->ctx, "C", tn_at(p->A, p->j), p->i); }
static void free_reduce_axis(parts *p) { tn_compute(p->ctx, "C", tn_at(p->A, p->k), p->i); }
static void reduce_axis_as_dimension(parts *p) { tn_compute(p->ctx, "C", tn_at(p->A, p->k), p->k); }
static void axis_twice(parts *p) { tn_compute(p->ctx, "C", tn_at(p->A, p->i), p->i, p->i); }
static void not_an_axis(parts *p) { tn_compute(p->ctx, "C", tn_at(p->A, p->i), p->A); }
static void whole_tensor(parts *p) { tn_compute(p->ctx, "C", tn_add(p->A, 1), p->i); }
static void out_of_bounds(parts *p) { tn_compute(p->ctx, "C", tn_at(p->A, tn_add(p->i, 1)), p->i); }
static void unknown_operator(parts *p) { tn_operator("exq", TN_LIST(tn_at(p->A, p->i))); }
static void arity(parts *p) { tn_operator("+", TN_LIST(tn_at(p->A, p->i))); }
static void int_division(parts *p) { tn_div(tn_at(p->K, p->i), 2); }
static void int_function(parts *p) { tn_sqrt(p->i); }
static void number_as_bool(parts *p) { tn_and(tn_at(p->A, p->i), tn_lt(p->i, 2)); }
static void cast_to_nothing(parts *p) { tn_cast((tn_dtype)99, p->i); }
static void constant_out_of_range(parts *p) { tn_const(p->ctx, TN_U8, 256); }
static void constant_fraction(parts *p) { tn_const(p->ctx, TN_I32, 1.5); }
static tn_tensor *copy(parts *p, const char *name) { return tn_compute(p->ctx, name, tn_at(p->A, p->i), p->i); }
static void no_output(parts *p) { tn_program_new(p->ctx, p->A); }
static void output_first(parts *p) { tn_program_new(p->ctx, copy(p, "C"), p->A); }
static void missing_input(parts *p) { tn_program_new(p->ctx, copy(p, "C")); }
static void unused_input(parts *p) { tn_program_new(p->ctx, p->A, p->K, copy(p, "C")); }
static void same_name(parts *p) { tn_program_new(p->ctx, p->A, copy(p, "C"), copy(p, "C")); }
static void named_like_input(parts *p) { tn_program_new(p->ctx, p->A, copy(p, "A")); }
static void given_twice(parts *p) { tn_program_new(p->ctx, p->A, p->A, copy(p, "C")); }
static void axis_as_argument(parts *p) { tn_program_new(p->ctx, p->A, p->i); }

static void tuple_operand(parts *p) { tn_add(tn_tuple(tn_at(p->A, p->i), 1), 1); }
static void tuple_of_a_reduction(parts *p) { tn_tuple(tn_sum(tn_at(p->A, p->k), p->k), 1); }
static void one_name_for_two(parts *p) { tn_compute(p->ctx, "C", tn_tuple(tn_at(p->A, p->i), 1), p->i); }
static void two_names_for_one(parts *p) { tn_compute(p->ctx, "C, D", tn_at(p->A, p->i), p->i); }
static void ten_names(parts *p) { tn_compute(p->ctx, "a,b,c,d,e,f,g,h,j,k", tn_at(p->A, p->i), p->i); }
static void no_such_output(parts *p) { tn_output(tn_compute(p->ctx, "C", tn_at(p->A, p->i), p->i), 1); }
static void output_without_name(parts *p) { tn_output(tn_compute(p->ctx, "C", tn_argmax(tn_at(p->A, p->k), p->k)), 1); }
static void combiner_without_results(parts *p) {
  tn_reduce(tn_combiner_new(p->ctx, "c", TN_F32), tn_at(p->A, p->k), p->k);
}
static void combiner_without_identity(parts *p) {
  tn_combiner *c = tn_combiner_new(p->ctx, "c", TN_F32);
  tn_combiner_results(c, tn_add(tn_lhs(c, 0), tn_rhs(c, 0)));
  tn_reduce(c, tn_at(p->A, p->k), p->k);
}
static void side_beyond(parts *p) { tn_lhs(tn_combiner_new(p->ctx, "c", TN_F32), 1); }
static void nine_values(parts *p) { tn_combiner_array(p->ctx, "c", 9, (const tn_dtype[9]){TN_F32}); }
static void combiner_of_no_dtype(parts *p) { tn_combiner_new(p->ctx, "c", (tn_dtype)77); }
/* A combiner "c", by OP. */
static tn_expr *reduced(const parts *p, const char *op, double identity) {
  tn_combiner *c = tn_combiner_new(p->ctx, "c", TN_F32);
  tn_combiner_results(c, tn_operator(op, TN_LIST(tn_lhs(c, 0), tn_rhs(c, 0))));
  tn_combiner_identity(c, identity);
  return tn_reduce(c, tn_at(p->A, p->k), p->k);
}
static void combiners_of_one_name(parts *p) {
  tn_tensor *B = tn_compute(p->ctx, "B", reduced(p, "+", 0)), *C = tn_compute(p->ctx, "C", reduced(p, "*", 1));
  tn_program_new(p->ctx, p->A, B, C);
}
static void combiner_and_tensor(parts *p) { tn_program_new(p->ctx, p->A, tn_compute(p->ctx, "c", reduced(p, "+", 0))); }
static void two_contexts(parts *p) {
  tn_context *other = check_context();
  assert_null(tn_at(p->A, tn_axis_new(other, "i", 4)));
  check_context_free(other);
}

static void expression_blow_up(parts *p) {
  tn_expr *e = tn_at(p->A, p->i);
  for (int n = 0; n < 60; n++) e = tn_add(e, e);
}

static void where_of_no_reduction(parts *p) { tn_where(tn_at(p->A, p->i), tn_lt(p->i, 2)); }
static void where_twice(parts *p) {
  tn_where(tn_where(tn_sum(tn_at(p->A, p->k), p->k), tn_lt(p->k, 2)), tn_lt(p->k, 3));
}
static void where_number(parts *p) { tn_where(tn_sum(tn_at(p->A, p->k), p->k), 1); }
static void init_of_no_reduction(parts *p) { tn_init(tn_at(p->A, p->i), 0); }
static void init_twice(parts *p) { tn_init(tn_init(tn_sum(tn_at(p->A, p->k), p->k), 1), 2); }
static void init_uses_axis(parts *p) { tn_init(tn_sum(tn_at(p->A, p->k), p->k), tn_at(p->A, p->k)); }
static void init_uses_last_axis(parts *p) {
  tn_axis *l = tn_reduce_axis(p->ctx, "l", 2);
  tn_init(tn_sum(tn_at(p->A, p->k), p->k, l), tn_at(p->A, l));
}
static void init_dtype(parts *p) { tn_init(tn_sum(tn_at(p->A, p->k), p->k), tn_at(p->K, p->i)); }
static void where_foreign_axis(parts *p) {
  tn_compute(p->ctx, "C", tn_where(tn_sum(tn_at(p->A, p->k), p->k), tn_lt(p->j, 2)), p->i);
}

static const struct refusal_row {
  const char *name;
  void (*call)(parts *p);
  tn_status status;
  const char *part;
} refusals[] = {
    {"axis name", bad_axis_name, TN_ERROR_PROGRAM, "'2i' is no name for an axis"},
    {"axis named by a word", axis_word, TN_ERROR_PROGRAM, "'sum' is a word of the language"},
    {"empty name", empty_name, TN_ERROR_PROGRAM, "'' is no name for an axis"},
    {"negative extent", axis_negative, TN_ERROR_PROGRAM, "extent -3 of axis 'i' is not in 1"},
    {"tensor name", tensor_name, TN_ERROR_PROGRAM, "'a b' is no name for a tensor"},
    {"dtype", bad_dtype, TN_ERROR_ARGUMENT, "'X': 77 is no dtype"},
    {"extent", bad_extent, TN_ERROR_PROGRAM, "extent 0 of dimension 1 of 'X'"},
    {"size", too_large, TN_ERROR_PROGRAM, "'X' is too large"},
    {"rank 9", rank_nine, TN_ERROR_PROGRAM, "'X' has rank 9; at most 8"},
    {"wrong rank", wrong_rank, TN_ERROR_PROGRAM, "'A' has rank 1, but 2 indices are given"},
    {"read of no tensor", not_a_tensor, TN_ERROR_ARGUMENT, "tn_at: the first argument is the tensor"},
    {"reduction as an index", nested, TN_ERROR_PROGRAM, "a reduction cannot stand here"},
    {"reduction as an init", nested_sum, TN_ERROR_PROGRAM, "a reduction cannot stand here"},
    {"reduction of a data axis", data_axis_reduced, TN_ERROR_PROGRAM, "'i' is a data axis and cannot be reduced"},
    {"reduction of a data axis, too", second_data_axis, TN_ERROR_PROGRAM, "'i' is a data axis and cannot be reduced"},
    {"reduction without axes", sum_without_axes, TN_ERROR_PROGRAM, "a reduction has 1 to 16 axes, not 0"},
    {"where of no reduction", where_of_no_reduction, TN_ERROR_PROGRAM, "where: the first argument is no reduction"},
    {"where twice", where_twice, TN_ERROR_PROGRAM, "the reduction has two conditions: join them by &&"},
    {"where of a number", where_number, TN_ERROR_PROGRAM, "'where' cannot take 1, which is i32"},
    {"where of a foreign axis", where_foreign_axis, TN_ERROR_PROGRAM, "'C' uses axis 'j', which is neither"},
    {"init of no reduction", init_of_no_reduction, TN_ERROR_PROGRAM, "init: the first argument is no reduction"},
    {"init twice", init_twice, TN_ERROR_PROGRAM, "the reduction has two inits"},
    {"init over the reduction axis", init_uses_axis, TN_ERROR_PROGRAM, "init A[k] uses the reduction axis 'k'"},
    {"init over the last reduction axis", init_uses_last_axis, TN_ERROR_PROGRAM,
     "init A[l] uses the reduction axis 'l'"},
    {"init of another dtype", init_dtype, TN_ERROR_PROGRAM, "init K[i] is i32, but the reduction is f32: cast it"},
    {"unknown reduction", unknown_reduction, TN_ERROR_ARGUMENT, "unknown reduction 'mean'"},
    {"reduction over a tensor", reduced_over_tensor, TN_ERROR_ARGUMENT, "argument 2 is no axis"},
    {"foreign axis", free_axis, TN_ERROR_PROGRAM, "'C' uses axis 'j', which is neither"},
    {"reduction axis outside", free_reduce_axis, TN_ERROR_PROGRAM, "'C' uses axis 'k', which is neither"},
    {"reduction axis as dimension", reduce_axis_as_dimension, TN_ERROR_PROGRAM, "'k' is a reduction axis"},
    {"axis twice", axis_twice, TN_ERROR_PROGRAM, "'C' has two axes named 'i'"},
    {"no axis", not_an_axis, TN_ERROR_ARGUMENT, "'C': argument 1 after the expression is no axis"},
    {"whole tensor as operand", whole_tensor, TN_ERROR_PROGRAM, "tensor 'A' has rank 1: read an element"},
    {"out of bounds", out_of_bounds, TN_ERROR_PROGRAM, "'C' reads A[i + 1]: index 0 spans [1, 4], but the extent is 4"},
    {"unknown operator", unknown_operator, TN_ERROR_PROGRAM, "unknown operator 'exq'; did you mean 'exp'?"},
    {"arity", arity, TN_ERROR_PROGRAM, "'+' takes 2 operands, 1 given"},
    {"integer division", int_division, TN_ERROR_PROGRAM, "'/' between integers (i32) is not defined: use //"},
    {"function of an integer", int_function, TN_ERROR_PROGRAM, "'sqrt' cannot take i, which is i32"},
    {"number as a condition", number_as_bool, TN_ERROR_PROGRAM, "'&&' cannot take A[i], which is f32"},
    {"cast to no dtype", cast_to_nothing, TN_ERROR_ARGUMENT, "99 is no dtype"},
    {"constant out of range", constant_out_of_range, TN_ERROR_PROGRAM, "the constant 256 is no value of u8"},
    {"constant with a fraction", constant_fraction, TN_ERROR_PROGRAM, "the constant 1.5 is no value of i32"},
    {"program without output", no_output, TN_ERROR_PROGRAM, "a program needs an output"},
    {"output before input", output_first, TN_ERROR_PROGRAM, "input 'A' stands after an output"},
    {"missing input", missing_input, TN_ERROR_PROGRAM, "the outputs need input 'A', which is not among"},
    {"unused input", unused_input, TN_ERROR_PROGRAM, "input 'K' is not needed by any output"},
    {"two tensors of one name", same_name, TN_ERROR_PROGRAM, "two tensors are named 'C'"},
    {"output named like an input", named_like_input, TN_ERROR_PROGRAM, "two tensors are named 'A'"},
    {"argument twice", given_twice, TN_ERROR_PROGRAM, "'A' is given twice"},
    {"axis as an argument", axis_as_argument, TN_ERROR_ARGUMENT, "argument 2 is no tensor"},
    {"a tuple as an operand", tuple_operand, TN_ERROR_PROGRAM, "a tuple is several values and no operand"},
    {"a tuple of a reduction", tuple_of_a_reduction, TN_ERROR_PROGRAM, "a reduction cannot stand here"},
    {"one name for two values", one_name_for_two, TN_ERROR_PROGRAM, "'C' computes 2 values, but 1 name is given"},
    {"two names for one value", two_names_for_one, TN_ERROR_PROGRAM, "'C' computes 1 value, but 2 names are given"},
    {"ten names", ten_names, TN_ERROR_PROGRAM, "'a' computes 1 value, but 9 names are given"},
    {"an output that is not there", no_such_output, TN_ERROR_ARGUMENT, "tn_output: 'C' has no output 1"},
    {"an output without a name", output_without_name, TN_ERROR_ARGUMENT, "'C' has no output 1: name both"},
    {"a combiner without results", combiner_without_results, TN_ERROR_PROGRAM,
     "combiner 'c' has no results yet: tn_combiner_results(...) gives them"},
    {"a combiner without identity", combiner_without_identity, TN_ERROR_PROGRAM,
     "combiner 'c' has no identity yet: tn_combiner_identity(...) gives it"},
    {"a side that is not there", side_beyond, TN_ERROR_ARGUMENT, "combiner 'c' has values 0 to 0, no 1"},
    {"a combiner of nine values", nine_values, TN_ERROR_PROGRAM, "a combiner has 1 to 8 values, not 9"},
    {"a combiner of no dtype", combiner_of_no_dtype, TN_ERROR_ARGUMENT, "77 is no dtype"},
    {"two combiners of one name", combiners_of_one_name, TN_ERROR_PROGRAM, "two combiners that differ are named 'c'"},
    {"a combiner named like a tensor", combiner_and_tensor, TN_ERROR_PROGRAM, "a combiner and a tensor are named 'c'"},
    {"two contexts", two_contexts, TN_ERROR_ARGUMENT, "values of two contexts cannot be joined"},
    {"shared expressions that blow up", expression_blow_up, TN_ERROR_PROGRAM, "the expression is too large"},
};

static void refusal(void **state) {
  const struct refusal_row *row = *state;
  tn_context *ctx = check_context();
  parts p = {ctx,
             tn_axis_new(ctx, "i", 4),
             tn_axis_new(ctx, "j", 4),
             tn_reduce_axis(ctx, "k", 4),
             tn_placeholder(ctx, "A", TN_F32, 4),
             tn_placeholder(ctx, "K", TN_I32, 4)};
  check_ok(ctx);
  row->call(&p);
  check_fails(ctx, row->status, row->part);
  check_context_free(ctx);
}

int test_calls(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(arguments), cmocka_unit_test(null_chains),
                                     cmocka_unit_test(numbers_alone)};
  return CHECK_TABLE("calls and text", same_rows, same_as_text) + CHECK_TABLE("refused calls", refusals, refusal) +
         CHECK_TESTS("calls", tests);
}
