/* types.c: the dtype in which an operator computes. Expressions have one. Numbers (C numbers, and literals
 * of the text form) take that of the other operands if they fit it. */
#include <float.h>
#include <math.h>

#include "te/internal.h"

/* The dtype that both operands are converted to. Symmetric and associative, so the order of operands does
 * not matter. */
static tn_dtype unify(tn_dtype a, tn_dtype b) {
  if (a == b || b == TN_BOOL) return a;
  if (a == TN_BOOL) return b;
  if (tn_dtype_is_float(a) != tn_dtype_is_float(b)) return tn_dtype_is_float(a) ? a : b;
  if (tn_dtype_bytes(a) != tn_dtype_bytes(b)) return tn_dtype_bytes(a) > tn_dtype_bytes(b) ? a : b;
  return tn_dtype_is_signed(a) ? b : a;
}

/* f32 for every number with a point, as in TVM. */
tn_dtype te_number_dtype(tn_arg number) {
  if (number.kind == TN_ARG_FLOAT) return TN_F32;
  return number.u.i >= INT32_MIN && number.u.i <= INT32_MAX ? TN_I32 : TN_I64;
}

/* No wider than 64 bits is needed, since there is no u64. */
static bool int_fits(int64_t value, tn_dtype dtype) {
  int bits = 8 * (int)tn_dtype_bytes(dtype);
  if (bits == 64) return true;
  int64_t lo = tn_dtype_is_signed(dtype) ? -(INT64_C(1) << (bits - 1)) : 0;
  int64_t hi = (INT64_C(1) << (tn_dtype_is_signed(dtype) ? bits - 1 : bits)) - 1;
  return value >= lo && value <= hi;
}

/* The common dtype of a number and operands of DTYPE. */
static tn_dtype unify_number(tn_dtype dtype, tn_arg number) {
  if (tn_dtype_is_float(dtype)) return dtype;
  if (number.kind == TN_ARG_INT && dtype != TN_BOOL && int_fits(number.u.i, dtype)) return dtype;
  return unify(dtype, te_number_dtype(number));
}

bool te_number_fits(tn_arg number, tn_dtype dtype) { return unify_number(dtype, number) == dtype; }

/* The expressions agree first; then numbers take their dtype. */
tn_dtype te_common_dtype(int n, const tn_arg *args) {
  tn_dtype dtype = TN_DTYPE_COUNT;
  for (int i = 0; i < n; i++)
    if (!te_is_number(args[i]))
      dtype = dtype == TN_DTYPE_COUNT ? te_arg_dtype(args[i]) : unify(dtype, te_arg_dtype(args[i]));
  for (int i = 0; i < n; i++)
    if (te_is_number(args[i]))
      dtype = dtype == TN_DTYPE_COUNT ? te_number_dtype(args[i]) : unify_number(dtype, args[i]);
  return dtype;
}

/* A number that would become infinite as f32 is refused, since that is never meant. */
static const tir_expr *number_node(const te_site *site, tn_arg number, tn_dtype dtype) {
  runtime_arena *arena = &site->ctx->arena;
  double value = number.kind == TN_ARG_INT ? (double)number.u.i : number.u.f;
  if (dtype == TN_F32 && isfinite(value) && fabs(value) > FLT_MAX) {
    te_fail(site, TN_ERROR_PROGRAM, "%g does not fit f32: write f64(%g)", value, value);
    return NULL;
  }
  bool is_int = number.kind == TN_ARG_INT && !tn_dtype_is_float(dtype);
  const tir_expr *node = is_int ? tir_int(arena, dtype, number.u.i) : tir_float(arena, dtype, value);
  return te_has_memory(site, node) ? node : NULL;
}

/* A number becomes a constant; an expression is cast unless it has the dtype. */
const tir_expr *te_convert(const te_site *site, tn_arg value, tn_dtype dtype) {
  if (te_is_number(value)) return number_node(site, value, dtype);
  const tir_expr *node = te_arg_node(site, value);
  if (!node || node->dtype == dtype) return node;
  node = tir_cast(&site->ctx->arena, dtype, node);
  return te_has_memory(site, node) ? node : NULL;
}
