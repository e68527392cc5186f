/* emit_arith.c: integer division towards minus infinity, total; absolute values; casts. */
#include <float.h>
#include <math.h>

#include "codegen/emit.h"

/* VALUE as a constant of TYPE on all lanes. */
static LLVMValueRef splat_int(codegen_emitter *m, LLVMTypeRef type, int64_t value, int lanes) {
  return codegen_splat(m, LLVMConstInt(type, (uint64_t)value, true), lanes);
}

/* ---- division ---------------------------------------------------------------------------------------------------- */

/* The quotient or remainder that C gives, moved to the floor: one less, or b more, when the remainder is not zero and
 * has not the sign of b. b is neither 0 nor -1. */
static LLVMValueRef floor_signed(codegen_emitter *m, tir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef zero = LLVMConstNull(type);
  LLVMValueRef r = LLVMBuildSRem(m->builder, a, b, "");
  LLVMValueRef differs = LLVMBuildICmp(m->builder, LLVMIntSLT, LLVMBuildXor(m->builder, r, b, ""), zero, "");
  LLVMValueRef moves = LLVMBuildAnd(m->builder, LLVMBuildICmp(m->builder, LLVMIntNE, r, zero, ""), differs, "");
  if (op == TIR_FLOORMOD) {
    return LLVMBuildAdd(m->builder, r, LLVMBuildSelect(m->builder, moves, b, zero, ""), "");
  }
  LLVMValueRef q = LLVMBuildSDiv(m->builder, a, b, "");
  return LLVMBuildAdd(m->builder, q, LLVMBuildSExt(m->builder, moves, type, ""), "");
}

/* VALUE in the type of A, on all its lanes. */
static LLVMValueRef constant_like(LLVMValueRef a, int64_t value, codegen_emitter *m) {
  LLVMTypeRef type = LLVMTypeOf(a);
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  return vector ? splat_int(m, LLVMGetElementType(type), value, (int)LLVMGetVectorSize(type))
                : LLVMConstInt(type, (uint64_t)value, true);
}

/* Powers of two: an arithmetic shift and a mask are floor division and modulo for negative numbers too. */
LLVMValueRef codegen_divide_by(codegen_emitter *m, tir_op op, LLVMValueRef a, int64_t b, bool nonnegative) {
  LLVMValueRef by = constant_like(a, b, m);
  if ((b & (b - 1)) == 0) {
    if (op == TIR_FLOORMOD) return LLVMBuildAnd(m->builder, a, constant_like(a, b - 1, m), "");
    LLVMValueRef shift = constant_like(a, __builtin_ctzll((uint64_t)b), m);
    return nonnegative ? LLVMBuildLShr(m->builder, a, shift, "") : LLVMBuildAShr(m->builder, a, shift, "");
  }
  if (!nonnegative) return floor_signed(m, op, a, by);
  return op == TIR_FLOORMOD ? LLVMBuildURem(m->builder, a, by, "") : LLVMBuildUDiv(m->builder, a, by, "");
}

/* B, but 1 where it is 0. */
static LLVMValueRef never_zero(codegen_emitter *m, LLVMValueRef b, LLVMValueRef is_zero) {
  return LLVMBuildOr(m->builder, b, LLVMBuildZExt(m->builder, is_zero, LLVMTypeOf(b), ""), "");
}

/* Likewise 1 where it is -1. */
static LLVMValueRef never_minus(codegen_emitter *m, LLVMValueRef b, LLVMValueRef is_minus) {
  LLVMValueRef mask = LLVMBuildSExt(m->builder, is_minus, LLVMTypeOf(b), "");
  return LLVMBuildXor(m->builder, b, LLVMBuildAnd(m->builder, mask, constant_like(b, -2, m), ""), "");
}

/* Any divisor: x // 0 = x % 0 = 0 and x // -1 = -x, both without executing a division that traps. */
static LLVMValueRef divide_signed(codegen_emitter *m, tir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = constant_like(a, 0, m), minus = constant_like(a, -1, m);
  LLVMValueRef is_zero = LLVMBuildICmp(m->builder, LLVMIntEQ, b, zero, "");
  LLVMValueRef is_minus = LLVMBuildICmp(m->builder, LLVMIntEQ, b, minus, "");
  LLVMValueRef safe = never_minus(m, never_zero(m, b, is_zero), is_minus);
  LLVMValueRef value = floor_signed(m, op, a, safe); /* the remainder by 1 is the 0 that is wanted */
  if (op == TIR_FLOORMOD) return value;
  LLVMValueRef negated = LLVMBuildSelect(m->builder, is_minus, LLVMBuildNeg(m->builder, a, ""), value, "");
  return LLVMBuildSelect(m->builder, is_zero, zero, negated, "");
}

/* A divisor of 0 is replaced, so that nothing traps, and the result chosen. */
static LLVMValueRef divide_unsigned(codegen_emitter *m, tir_op op, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef zero = constant_like(a, 0, m);
  LLVMValueRef is_zero = LLVMBuildICmp(m->builder, LLVMIntEQ, b, zero, "");
  LLVMValueRef safe = never_zero(m, b, is_zero);
  LLVMValueRef value =
      op == TIR_FLOORMOD ? LLVMBuildURem(m->builder, a, safe, "") : LLVMBuildUDiv(m->builder, a, safe, "");
  return op == TIR_FLOORMOD ? value : LLVMBuildSelect(m->builder, is_zero, zero, value, "");
}

/* Both divisions are total: a divisor of 0 gives 0 and does not trap. */
static LLVMValueRef divide(codegen_emitter *m, const tir_expr *e, LLVMValueRef a, LLVMValueRef b) {
  return tn_dtype_is_signed(e->dtype) ? divide_signed(m, e->op, a, b) : divide_unsigned(m, e->op, a, b);
}

/* Lane by lane. LLVM 19 takes a vector of divisors with one lane that is a constant
 * zero for undefined as a whole, also where that lane is one arm of a select and not chosen, and sees through what
 * keeps it from zero. */
static LLVMValueRef divide_lanes(codegen_emitter *m, const tir_expr *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(a));
  for (int lane = 0; lane < e->lanes; lane++) {
    LLVMValueRef at = LLVMConstInt(m->i32, (unsigned)lane, false);
    LLVMValueRef value =
        divide(m, e, LLVMBuildExtractElement(m->builder, a, at, ""), LLVMBuildExtractElement(m->builder, b, at, ""));
    result = LLVMBuildInsertElement(m->builder, result, value, at, "");
  }
  return result;
}

/* Floats in which the quotient of two integers of E's dtype never reaches the next integer by being rounded: a quotient that is no
 * integer is at least 1/|b| away from one, and a rounding moves it by a/b * 2^-53, or 2^-24 for 16 bits. NULL: there are none. */
static LLVMTypeRef floats_of_quotients(codegen_emitter *m, const tir_expr *e) {
  enum { LEAST_VECTOR = 32 };
  size_t bytes = tn_dtype_bytes((tn_dtype)e->dtype);
  if (m->target->vector_bytes < LEAST_VECTOR || bytes > 4) return NULL;
  return codegen_type(m, bytes == 4 ? TN_F64 : TN_F32, e->lanes);
}

/* All lanes at once, by a division of floats, where processors have none of integers. A divisor of 0, and the least number by -1, make
 * floats that are no such integer: these lanes are chosen away. */
static LLVMValueRef divide_as_floats(codegen_emitter *m, const tir_expr *e, LLVMTypeRef floats, LLVMValueRef a,
                                     LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  bool is_signed = tn_dtype_is_signed((tn_dtype)e->dtype);
  LLVMOpcode to = is_signed ? LLVMSIToFP : LLVMUIToFP, from = is_signed ? LLVMFPToSI : LLVMFPToUI;
  LLVMValueRef x = LLVMBuildCast(m->builder, to, a, floats, ""), y = LLVMBuildCast(m->builder, to, b, floats, "");
  LLVMValueRef ratio = LLVMBuildFDiv(m->builder, x, y, "");
  if (is_signed) ratio = codegen_intrinsic(m, "llvm.floor", 1, &floats, 1, &ratio);
  LLVMValueRef q = LLVMBuildCast(m->builder, from, ratio, type, "");
  if (is_signed) {
    LLVMValueRef is_minus = LLVMBuildICmp(m->builder, LLVMIntEQ, b, constant_like(b, -1, m), "");
    q = LLVMBuildSelect(m->builder, is_minus, LLVMBuildNeg(m->builder, a, ""), q, "");
  }
  if (e->op == TIR_FLOORMOD) q = LLVMBuildSub(m->builder, a, LLVMBuildMul(m->builder, q, b, ""), "");
  LLVMValueRef is_zero = LLVMBuildICmp(m->builder, LLVMIntEQ, b, LLVMConstNull(type), "");
  return LLVMBuildSelect(m->builder, is_zero, LLVMConstNull(type), q, "");
}

/* VALUE of an index, in the type of E's lanes. */
static LLVMValueRef lane_of(codegen_emitter *m, const tir_expr *e, LLVMValueRef value) {
  return LLVMBuildIntCast2(m->builder, value, codegen_type(m, (tn_dtype)e->dtype, 1), true, "");
}

/* base, base + STEP, ... */
static LLVMValueRef steps_from(codegen_emitter *m, const tir_expr *e, LLVMValueRef base, int64_t step) {
  LLVMTypeRef type = codegen_type(m, (tn_dtype)e->dtype, 1);
  LLVMValueRef *by = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, e->lanes);
  if (by == NULL) return codegen_no_memory(m), LLVMGetPoison(codegen_type(m, (tn_dtype)e->dtype, e->lanes));
  for (int i = 0; i < e->lanes; i++) by[i] = LLVMConstInt(type, (uint64_t)(i * step), true);
  return LLVMBuildAdd(m->builder, codegen_splat(m, base, e->lanes), LLVMConstVector(by, (unsigned)e->lanes), "");
}

/* How often lanes that ascend by *STEP pass a multiple of the divisor at the most, which a symbol decides. -1: it is no such division. */
static int64_t most_wraps(codegen_emitter *m, const tir_expr *e, int64_t *step) {
  tir_interval a, b;
  bool is_uniform = e->lanes > 1 && e->arg[1]->op == TIR_BROADCAST && e->arg[1]->arg[0]->lanes == 1;
  if (!is_uniform || !tn_dtype_is_signed(e->dtype) || !codegen_is_linear(m, e->arg[0], step) || *step < 0) return -1;
  if (!codegen_index_range(m, e->arg[0], &a) || !codegen_index_range(m, e->arg[1], &b) || a.lo < 0 || b.lo < 1)
    return -1;
  return (b.lo - 1 + *step * (e->lanes - 1)) / b.lo;
}

/* Ascending lanes by what is the same on all: one division, of the first. The remainders of the others ascend from its remainder, less
 * the divisor for each multiple of it that they pass:   0 1 2 0 1 2 0 1  is  0 1 2 3 4 5 6 7  less 3 from the fourth on and from the seventh on. */
static LLVMValueRef divide_ascending(codegen_emitter *m, const tir_expr *e, int64_t wraps, int64_t step) {
  LLVMValueRef first = codegen_linear_base(m, e->arg[0]), by = codegen_index(m, e->arg[1]->arg[0]);
  LLVMValueRef quotient = lane_of(m, e, LLVMBuildUDiv(m->builder, first, by, ""));
  LLVMValueRef rest = steps_from(m, e, lane_of(m, e, LLVMBuildURem(m->builder, first, by, "")), step);
  LLVMValueRef quotients = codegen_splat(m, quotient, e->lanes), bys = codegen_splat(m, lane_of(m, e, by), e->lanes);
  for (int64_t i = 0; i < wraps; i++) {
    LLVMValueRef passes = LLVMBuildICmp(m->builder, LLVMIntSGE, rest, bys, "");
    rest = LLVMBuildSelect(m->builder, passes, LLVMBuildSub(m->builder, rest, bys, ""), rest, "");
    quotients = LLVMBuildSub(m->builder, quotients, LLVMBuildSExt(m->builder, passes, LLVMTypeOf(rest), ""), "");
  }
  return e->op == TIR_FLOORMOD ? rest : quotients;
}

/* bool: b is 1 (the quotient is a, the remainder 0) or 0 (both are 0). */
static LLVMValueRef divide_bool(codegen_emitter *m, tir_op op, LLVMValueRef a, LLVMValueRef b) {
  return op == TIR_FLOORMOD ? LLVMConstNull(LLVMTypeOf(a)) : LLVMBuildAnd(m->builder, a, b, "");
}

/* The usual divisor is a positive constant, the usual dividend an index that is known not to be negative. */
LLVMValueRef codegen_division(codegen_emitter *m, const tir_expr *e) {
  enum { FEW_WRAPS = 6 };
  int64_t step, wraps = most_wraps(m, e, &step);
  if (wraps >= 0 && wraps <= FEW_WRAPS) return divide_ascending(m, e, wraps, step);
  LLVMValueRef a = codegen_value(m, e->arg[0]);
  tir_interval range;
  int64_t by;
  bool is_signed = tn_dtype_is_signed(e->dtype), known = codegen_index_range(m, e->arg[0], &range);
  if (e->dtype != TN_BOOL && tir_is_int(e->arg[1], &by) && by > 0) {
    return codegen_divide_by(m, e->op, a, by, !is_signed || (known && range.lo >= 0));
  }
  LLVMValueRef b = codegen_value(m, e->arg[1]);
  if (e->dtype == TN_BOOL) return divide_bool(m, e->op, a, b);
  if (e->lanes == 1) return divide(m, e, a, b);
  LLVMTypeRef floats = floats_of_quotients(m, e);
  return floats != NULL ? divide_as_floats(m, e, floats, a, b) : divide_lanes(m, e, a, b);
}

/* ---- absolute value ---------------------------------------------------------------------------------------------- */

/* LLVM's abs wraps at the lowest value when it is told to. */
LLVMValueRef codegen_abs(codegen_emitter *m, const tir_expr *e) {
  LLVMTypeRef type = codegen_type(m, e->dtype, e->lanes);
  LLVMValueRef args[] = {codegen_value(m, e->arg[0]), LLVMConstInt(m->i1, 0, false)};
  if (tn_dtype_is_float(e->dtype)) return codegen_intrinsic(m, "llvm.fabs", 1, &type, 1, args);
  return tn_dtype_is_signed(e->dtype) ? codegen_intrinsic(m, "llvm.abs", 1, &type, 2, args) : args[0];
}

/* ---- casts ------------------------------------------------------------------------------------------------------- */

/* X where it is on the right side of LIMIT, else LIMIT, also for NaN: one instruction on x86. */
static LLVMValueRef within(codegen_emitter *m, LLVMValueRef x, LLVMRealPredicate side, double limit, int lanes) {
  LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(x));
  LLVMValueRef end = codegen_splat(m, LLVMConstReal(element, limit), lanes);
  return LLVMBuildSelect(m->builder, LLVMBuildFCmp(m->builder, side, x, end, ""), x, end, "");
}

/* A vector, whose lanes LLVM's saturating conversion would take one by one: it is cut to what the integers hold first. Where a float
 * has fewer digits than they have, the greatest one that they hold is below their greatest. */
static LLVMValueRef float_lanes_to_int(codegen_emitter *m, LLVMValueRef value, tn_dtype from, tn_dtype to, int lanes) {
  bool is_signed = tn_dtype_is_signed(to), is_narrow = tn_dtype_bytes(to) < sizeof(int32_t);
  int bits = 8 * (int)tn_dtype_bytes(to) - is_signed, digits = from == TN_F64 ? DBL_MANT_DIG : FLT_MANT_DIG;
  double above = ldexp(1, bits), most = above - (bits > digits ? ldexp(1, bits - digits) : 1);
  LLVMTypeRef type = codegen_type(m, to, lanes), wide = is_narrow ? LLVMVectorType(m->i32, (unsigned)lanes) : type;
  LLVMValueRef cut = within(m, within(m, value, LLVMRealOGT, is_signed ? -above : 0, lanes), LLVMRealOLT, most, lanes);
  LLVMValueRef result =
      is_signed || is_narrow ? LLVMBuildFPToSI(m->builder, cut, wide, "") : LLVMBuildFPToUI(m->builder, cut, wide, "");
  if (bits > digits) {
    LLVMValueRef end = codegen_splat(m, LLVMConstReal(LLVMGetElementType(LLVMTypeOf(value)), above), lanes);
    LLVMValueRef greatest = LLVMConstInt(LLVMGetElementType(type), UINT64_MAX >> (64 - bits), false);
    LLVMValueRef is_above = LLVMBuildFCmp(m->builder, LLVMRealOGE, value, end, "");
    result = LLVMBuildSelect(m->builder, is_above, codegen_splat(m, greatest, lanes), result, "");
  }
  if (is_signed) { /* without a sign NaN was cut to 0 */
    LLVMValueRef is_number = LLVMBuildFCmp(m->builder, LLVMRealORD, value, value, "");
    result = LLVMBuildSelect(m->builder, is_number, result, LLVMConstNull(wide), "");
  }
  return is_narrow ? LLVMBuildTrunc(m->builder, result, type, "") : result;
}

/* Saturating; NaN gives 0. */
static LLVMValueRef float_to_int(codegen_emitter *m, LLVMValueRef value, tn_dtype from, tn_dtype to, int lanes) {
  if (lanes > 1) return float_lanes_to_int(m, value, from, to, lanes);
  LLVMTypeRef types[] = {codegen_type(m, to, lanes), LLVMTypeOf(value)};
  const char *name = tn_dtype_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  return codegen_intrinsic(m, name, 2, types, 1, &value);
}

/* C's: anything but zero is true, NaN too. */
static LLVMValueRef to_bool(codegen_emitter *m, LLVMValueRef value, bool from_float) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  return from_float ? LLVMBuildFCmp(m->builder, LLVMRealUNE, value, zero, "")
                    : LLVMBuildICmp(m->builder, LLVMIntNE, value, zero, "");
}

/* By the kinds of the two dtypes; equal ones need nothing. */
LLVMValueRef codegen_cast(codegen_emitter *m, const tir_expr *e) {
  tn_dtype from = (tn_dtype)e->arg[0]->dtype, to = (tn_dtype)e->dtype;
  bool from_float = tn_dtype_is_float(from), to_float = tn_dtype_is_float(to);
  LLVMValueRef value = codegen_value(m, e->arg[0]);
  LLVMTypeRef type = codegen_type(m, to, e->lanes);
  if (from == to) return value;
  if (runtime_is_half(from)) return codegen_from_half(m, from, value, e->lanes);
  if (runtime_is_half(to)) return codegen_to_half(m, to, value, e->lanes);
  if (to == TN_BOOL) return to_bool(m, value, from_float);
  if (from_float && to_float) return LLVMBuildFPCast(m->builder, value, type, "");
  if (from_float) return float_to_int(m, value, from, to, e->lanes);
  if (!to_float) return LLVMBuildIntCast2(m->builder, value, type, tn_dtype_is_signed(from), "");
  return tn_dtype_is_signed(from) ? LLVMBuildSIToFP(m->builder, value, type, "")
                                  : LLVMBuildUIToFP(m->builder, value, type, "");
}
