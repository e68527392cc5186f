/* fold.c: constant folding, exactly by the semantics of tir/ir.h: integers wrap at their dtype, floor division is
 * total, f32 arithmetic rounds to f32. Functions whose last bit depends on the math library (exp, log, ...) are not
 * folded, so that a folded and a computed value never differ. */
#include <math.h>
#include <string.h>

#include "tir/internal.h"

tir_interval tir_dtype_range(tn_dtype dtype) {
  static const tir_interval ranges[TN_DTYPE_COUNT] = {
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
  return ranges[dtype];
}

int64_t tir_wrap(tn_dtype dtype, int64_t value) {
  if (dtype == TN_BOOL) return value != 0;
  int bits = (int)tn_dtype_bytes(dtype) * 8;
  if (bits == 64) return value;
  uint64_t low = (uint64_t)value & (((uint64_t)1 << bits) - 1);
  bool negative = tn_dtype_is_signed(dtype) && (low >> (bits - 1)) != 0;
  return negative ? (int64_t)low - ((int64_t)1 << bits) : (int64_t)low;
}

/* Operators on the bits of integers of a dtype; the caller wraps. */
static bool fold_bits(tir_op op, tn_dtype dtype, int64_t a, int64_t b, int64_t *out) {
  int bits = 8 * (int)tn_dtype_bytes(dtype);
  uint64_t low = (uint64_t)a & (UINT64_MAX >> (64 - bits));
  bool all_out = b < 0 || b >= bits;
  switch ((int)op) {
    case TIR_BITAND: *out = a & b; return true;
    case TIR_BITOR: *out = a | b; return true;
    case TIR_BITXOR: *out = a ^ b; return true;
    case TIR_BITNOT: *out = ~a; return true;
    case TIR_SHL: *out = all_out ? 0 : (int64_t)((uint64_t)a << b); return true;
    case TIR_SHR: *out = a >> (all_out ? 63 : b); return true;
    case TIR_POPCOUNT: *out = __builtin_popcountll(low); return true;
    case TIR_CLZ: *out = low == 0 ? bits : __builtin_clzll(low) - (64 - bits); return true;
    default: return false;
  }
}

/* Integer operators on values that fit int64; the caller wraps. False: not an integer operator. */
static bool fold_ints(tir_op op, int64_t a, int64_t b, int64_t *out) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch ((int)op) {
    case TIR_ADD: *out = (int64_t)(x + y); return true;
    case TIR_SUB: *out = (int64_t)(x - y); return true;
    case TIR_MUL: *out = (int64_t)(x * y); return true;
    case TIR_FLOORDIV: *out = runtime_floordiv(a, b); return true;
    case TIR_FLOORMOD: *out = runtime_floormod(a, b); return true;
    case TIR_MIN: *out = a < b ? a : b; return true;
    case TIR_MAX: *out = a > b ? a : b; return true;
    case TIR_EQ: *out = a == b; return true;
    case TIR_NE: *out = a != b; return true;
    case TIR_LT: *out = a < b; return true;
    case TIR_LE: *out = a <= b; return true;
    case TIR_GT: *out = a > b; return true;
    case TIR_GE: *out = a >= b; return true;
    case TIR_AND: *out = a && b; return true;
    case TIR_OR: *out = a || b; return true;
    case TIR_NOT: *out = !a; return true;
    case TIR_ABS: *out = a < 0 ? (int64_t)(0 - x) : a; return true;
    default: return false;
  }
}

/* Float operators whose result is exact or correctly rounded; double arithmetic followed by rounding to f32 is
 * correctly rounded for these. */
static bool fold_floats(tir_op op, double a, double b, double *out) {
  switch ((int)op) {
    case TIR_ADD: *out = a + b; return true;
    case TIR_SUB: *out = a - b; return true;
    case TIR_MUL: *out = a * b; return true;
    case TIR_DIV: *out = a / b; return true;
    case TIR_MIN: *out = a < b ? a : b; return true;
    case TIR_MAX: *out = a > b ? a : b; return true;
    case TIR_SQRT: *out = sqrt(a); return true;
    case TIR_FLOOR: *out = floor(a); return true;
    case TIR_CEIL: *out = ceil(a); return true;
    case TIR_ROUND: *out = round(a); return true;
    case TIR_ABS: *out = fabs(a); return true;
    case TIR_TRUNC: *out = trunc(a); return true;
    case TIR_NEARBYINT: *out = nearbyint(a); return true;
    case TIR_FMOD: *out = fmod(a, b); return true;
    case TIR_COPYSIGN: *out = copysign(a, b); return true;
    default: return false;
  }
}

/* Comparisons and tests of floats are exact; false: neither. */
static bool fold_float_comparison(tir_op op, double a, double b, int64_t *out) {
  switch ((int)op) {
    case TIR_EQ: *out = a == b; return true;
    case TIR_NE: *out = a != b; return true;
    case TIR_LT: *out = a < b; return true;
    case TIR_LE: *out = a <= b; return true;
    case TIR_GT: *out = a > b; return true;
    case TIR_GE: *out = a >= b; return true;
    case TIR_ISNAN: *out = isnan(a); return true;
    case TIR_ISINF: *out = isinf(a) != 0; return true;
    case TIR_ISFINITE: *out = isfinite(a); return true;
    default: return false;
  }
}

static bool is_exact_test(tir_op op) { return strchr("CT", tir_op_table[op].op_class) != NULL; }

const tir_expr *tir_fold(runtime_arena *arena, tir_op op, const tir_expr *a, const tir_expr *b) {
  if (!tir_is_const(a) || (b != NULL && !tir_is_const(b))) return NULL;
  tn_dtype dtype = is_exact_test(op) ? TN_BOOL : (tn_dtype)a->dtype;
  int64_t i;
  double f;
  if (a->op == TIR_INT) {
    int64_t z = b != NULL ? b->u.i : 0;
    bool folds = tir_op_table[op].op_class == 'I' ? fold_bits(op, dtype, a->u.i, z, &i) : fold_ints(op, a->u.i, z, &i);
    return folds ? tir_int(arena, dtype, i) : NULL;
  }
  double y = b != NULL ? b->u.f : 0;
  if (is_exact_test(op)) return fold_float_comparison(op, a->u.f, y, &i) ? tir_int(arena, dtype, i) : NULL;
  return fold_floats(op, a->u.f, y, &f) ? tir_float(arena, dtype, f) : NULL;
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

const tir_expr *tir_fold_cast(runtime_arena *arena, tn_dtype dtype, const tir_expr *a) {
  bool to_float = tn_dtype_is_float(dtype);
  if (a->op == TIR_FLOAT) {
    return to_float ? tir_float(arena, dtype, a->u.f) : tir_int(arena, dtype, float_to_int(dtype, a->u.f));
  }
  if (!to_float) return tir_int(arena, dtype, a->u.i);
  return tir_float(arena, dtype, dtype == TN_F32 ? (double)(float)a->u.i : (double)a->u.i);
}
