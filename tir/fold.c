/* fold.c: constant folding, exactly by the semantics of tir/ir.h: integers wrap at their dtype, floor division is
 * total, f32 arithmetic rounds to f32. Functions whose last bit depends on the math library (exp, log, ...) are not
 * folded, so that a folded and a computed value never differ. */
#include <assert.h>
#include <math.h>

#include "tir/internal.h"

/* Floats get the range of int64, which means "no bound" to whoever asks. */
const tir_interval tir_dtype_ranges[TN_DTYPE_COUNT] = {
    [TN_BOOL] = {0, 1},
    [TN_I8] = {INT8_MIN, INT8_MAX},
    [TN_U8] = {0, UINT8_MAX},
    [TN_I16] = {INT16_MIN, INT16_MAX},
    [TN_U16] = {0, UINT16_MAX},
    [TN_I32] = {INT32_MIN, INT32_MAX},
    [TN_U32] = {0, UINT32_MAX},
    [TN_I64] = {INT64_MIN, INT64_MAX},
    [TN_F16] = {INT64_MIN, INT64_MAX},
    [TN_BF16] = {INT64_MIN, INT64_MAX},
    [TN_F32] = {INT64_MIN, INT64_MAX},
    [TN_F64] = {INT64_MIN, INT64_MAX},
};

/* Two's complement, written without shifts of negative numbers, which C leaves open. */
int64_t tir_wrap(tn_dtype dtype, int64_t value) {
  if (dtype == TN_BOOL) return value != 0;
  if (value >= tir_dtype_ranges[dtype].lo && value <= tir_dtype_ranges[dtype].hi) return value;
  int bits = (int)tn_dtype_bytes(dtype) * 8;
  if (bits == 64) return value;
  uint64_t low = (uint64_t)value & (((uint64_t)1 << bits) - 1);
  bool negative = tn_dtype_is_signed(dtype) && (low >> (bits - 1)) != 0;
  return negative ? (int64_t)low - ((int64_t)1 << bits) : (int64_t)low;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* A OP b of integers of DTYPE; operators of one operand ignore B. False: OP is no operator of integers. Computes in
 * int64 and wraps at the end: for + - and * that is the same as wrapping at each step. */
static bool integer_value(tir_op op, tn_dtype dtype, int64_t a, int64_t b, int64_t *value) {
  runtime_integer_fn fn = tir_op_table[op].on_integers;
  if (fn == NULL) return false;
  fn(a, b, 8 * (int)tn_dtype_bytes(dtype), value);
  *value = tir_wrap(tir_op_table[op].rule == TIR_RULE_COMPARISON ? TN_BOOL : dtype, *value);
  return true;
}

/* Recursion without a memo: for extents and bounds, which are small. A load or a float in E is a bug of
 * the caller. */
int64_t tir_evaluate(const tir_expr *e, int64_t (*value_of)(const void *user, const tir_var *var), const void *user) {
  int64_t value = 0;
  if (e->op == TIR_INT) return e->u.i;
  if (e->op == TIR_VAR) return value_of(user, e->u.var);
  int64_t a = tir_evaluate(e->arg[0], value_of, user);
  if (e->op == TIR_SELECT) return tir_evaluate(e->arg[a ? 1 : 2], value_of, user);
  if (e->op == TIR_CAST) return tir_wrap((tn_dtype)e->dtype, a);
  int64_t b = e->n_args > 1 ? tir_evaluate(e->arg[1], value_of, user) : 0;
  bool is_known = integer_value((tir_op)e->op, (tn_dtype)e->arg[0]->dtype, a, b, &value);
  assert(is_known && "an expression of integers over variables");
  (void)is_known;
  return value;
}

/* ---- floats ------------------------------------------------------------------------------------------------------ */

/* The four below exist to have an address for the table in tir_float_value. */
static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
/* As tir/ir.h says it. fmin would give the number where the right operand is a NaN; this gives the NaN. */
static double lesser(double a, double b) { return a < b ? a : b; }
static double greater(double a, double b) { return a > b ? a : b; }

/* Double arithmetic followed by rounding to f32 is correctly rounded for these, too. */
bool tir_float_value(tir_op op, double a, double b, double *value) {
  static double (*const of_two[TIR_OP_COUNT])(double, double) = {
      [TIR_ADD] = add,    [TIR_SUB] = subtract, [TIR_MUL] = multiply, [TIR_DIV] = divide,
      [TIR_MIN] = lesser, [TIR_MAX] = greater,  [TIR_FMOD] = fmod,    [TIR_COPYSIGN] = copysign};
  static double (*const of_one[TIR_OP_COUNT])(double) = {
      [TIR_SQRT] = sqrt, [TIR_FLOOR] = floor, [TIR_CEIL] = ceil,          [TIR_ROUND] = round,
      [TIR_ABS] = fabs,  [TIR_TRUNC] = trunc, [TIR_NEARBYINT] = nearbyint};
  if (of_two[op] == NULL && of_one[op] == NULL) return false;
  *value = of_two[op] != NULL ? of_two[op](a, b) : of_one[op](a);
  return true;
}

/* Comparisons and tests of floats are exact. A NaN is neither less nor equal nor more. */
static bool float_holds(tir_op op, double a, double b) {
  if (op == TIR_ISNAN) return isnan(a);
  if (op == TIR_ISINF) return isinf(a);
  if (op == TIR_ISFINITE) return isfinite(a);
  int sign = a < b ? TIR_LESS : a > b ? TIR_MORE : a == b ? TIR_EQUAL : 0;
  return sign != 0 ? (tir_comparison_signs(op) & sign) != 0 : op == TIR_NE;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Both constants are scalars of one dtype. A float function of libm is not folded: the C library at run
 * time may round its last bit the other way. */
const tir_expr *tir_fold(runtime_arena *arena, tir_op op, const tir_expr *a, const tir_expr *b) {
  if (!tir_is_const(a) || (b != NULL && !tir_is_const(b))) return NULL;
  tir_rule rule = tir_op_table[op].rule;
  bool is_truth = rule == TIR_RULE_COMPARISON || rule == TIR_RULE_TEST;
  tn_dtype dtype = is_truth ? TN_BOOL : (tn_dtype)a->dtype;
  int64_t i;
  double f;
  if (a->op == TIR_INT) {
    bool folds = integer_value(op, (tn_dtype)a->dtype, a->u.i, b != NULL ? b->u.i : 0, &i);
    return folds ? tir_int(arena, dtype, i) : NULL;
  }
  double y = b != NULL ? b->u.f : 0;
  if (is_truth) return tir_int(arena, dtype, float_holds(op, a->u.f, y));
  return tir_float_value(op, a->u.f, y, &f) ? tir_float(arena, dtype, f) : NULL;
}

/* Saturating conversion; NaN gives 0. */
static int64_t float_to_int(tn_dtype dtype, double value) {
  if (dtype == TN_BOOL) return value != 0;
  if (isnan(value)) return 0;
  tir_interval range = tir_dtype_range(dtype);
  if (value <= (double)range.lo) return range.lo;
  if (value >= (double)range.hi) return range.hi;
  return (int64_t)value;
}

/* An integer that becomes f32 is rounded once, from the integer; going through double would round
 * twice. */
const tir_expr *tir_fold_cast(runtime_arena *arena, tn_dtype dtype, const tir_expr *a) {
  bool to_float = tn_dtype_is_float(dtype);
  if (a->op == TIR_FLOAT) {
    return to_float ? tir_float(arena, dtype, a->u.f) : tir_int(arena, dtype, float_to_int(dtype, a->u.f));
  }
  if (!to_float) return tir_int(arena, dtype, a->u.i);
  return tir_float(arena, dtype, dtype == TN_F32 ? (double)(float)a->u.i : (double)a->u.i);
}
