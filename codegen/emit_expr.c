/* emit_expr.c: values of expressions: one handler an operator. */
#include <math.h>

#include "codegen/emit.h"

enum { MOST_BYTES = 64 }; /* of a register */

static bool is_unsigned(const tir_expr *e) { return !tn_dtype_is_signed(e->dtype); }

static bool is_float(const tir_expr *e) { return tn_dtype_is_float(e->dtype); }

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* Sign-extended: the constant is a value of its dtype. */
static LLVMValueRef emit_int(codegen_emitter *m, const tir_expr *e) {
  return LLVMConstInt(m->dtypes[e->dtype], (uint64_t)e->u.i, true);
}

/* f16 and bf16 are held as their bits. */
static LLVMValueRef emit_float(codegen_emitter *m, const tir_expr *e) {
  tn_dtype dtype = (tn_dtype)e->dtype;
  if (runtime_is_half(dtype)) return LLVMConstInt(m->dtypes[dtype], runtime_half_bits(dtype, e->u.f), false);
  return LLVMConstReal(m->dtypes[e->dtype], e->u.f);
}

/* The value of a loop variable or scalar, in its dtype; integers are held in the index type. A function of 64-bit loops
 * is made only where that has 64 bits. */
static LLVMValueRef emit_var(codegen_emitter *m, const tir_expr *e) {
  const codegen_binding *binding = codegen_find(m, e->u.var);
  if (binding != NULL && LLVMTypeOf(binding->value) != m->index) return binding->value;
  if (binding != NULL) return LLVMBuildIntCast2(m->builder, binding->value, m->dtypes[e->dtype], true, "");
  codegen_emit_fail(m, TN_ERROR_INTERNAL, "the variable %s is used outside its loop", e->u.var->name);
  return LLVMGetPoison(m->dtypes[e->dtype]);
}

/* te's nodes do not reach code generation. */
static LLVMValueRef emit_unexpected(codegen_emitter *m, const tir_expr *e) {
  codegen_emit_fail(m, TN_ERROR_INTERNAL, "%s reached code generation: it is no loop IR", tir_op_table[e->op].name);
  return LLVMGetPoison(codegen_type(m, e->dtype, e->lanes));
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* A multiply that feeds an add may become one instruction. */
static LLVMValueRef contract(LLVMValueRef value) {
  if (LLVMIsAInstruction(value) && LLVMCanValueUseFastMathFlags(value)) {
    LLVMSetFastMathFlags(value, LLVMFastMathAllowContract);
  }
  return value;
}

/* Without nsw or nuw: integers wrap. */
static LLVMValueRef emit_arithmetic(codegen_emitter *m, const tir_expr *e) {
  static const struct {
    LLVMOpcode of_int, of_float, of_bool;
  } opcodes[] = {
      [TIR_ADD] = {LLVMAdd, LLVMFAdd, LLVMOr}, /* bool: the sum, wrapped by "!= 0" */
      [TIR_SUB] = {LLVMSub, LLVMFSub, LLVMXor},
      [TIR_MUL] = {LLVMMul, LLVMFMul, LLVMAnd},
      [TIR_DIV] = {LLVMSDiv, LLVMFDiv, LLVMAnd}, /* floats only */
  };
  LLVMValueRef a = codegen_value(m, e->arg[0]), b = codegen_value(m, e->arg[1]);
  LLVMOpcode opcode = opcodes[e->op].of_int;
  if (is_float(e)) opcode = opcodes[e->op].of_float;
  if (e->dtype == TN_BOOL) opcode = opcodes[e->op].of_bool;
  LLVMValueRef value = LLVMBuildBinOp(m->builder, opcode, a, b, "");
  return is_float(e) ? contract(value) : value;
}

/* Integers have // only. */
static LLVMValueRef emit_float_division(codegen_emitter *m, const tir_expr *e) {
  if (is_float(e)) return emit_arithmetic(m, e);
  codegen_emit_fail(m, TN_ERROR_INTERNAL, "/ of integers reached code generation");
  return LLVMGetPoison(codegen_type(m, e->dtype, e->lanes));
}

LLVMValueRef codegen_compare(codegen_emitter *m, tir_op op, const tir_expr *a, LLVMValueRef x, LLVMValueRef y) {
  static const struct {
    LLVMIntPredicate of_signed, of_unsigned;
    LLVMRealPredicate of_float;
  } predicates[] = {
      [TIR_EQ] = {LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},   [TIR_NE] = {LLVMIntNE, LLVMIntNE, LLVMRealUNE},
      [TIR_LT] = {LLVMIntSLT, LLVMIntULT, LLVMRealOLT}, [TIR_LE] = {LLVMIntSLE, LLVMIntULE, LLVMRealOLE},
      [TIR_GT] = {LLVMIntSGT, LLVMIntUGT, LLVMRealOGT}, [TIR_GE] = {LLVMIntSGE, LLVMIntUGE, LLVMRealOGE},
  };
  if (is_float(a)) return LLVMBuildFCmp(m->builder, predicates[op].of_float, x, y, "");
  LLVMIntPredicate predicate = predicates[op].of_signed;
  if (is_unsigned(a)) predicate = predicates[op].of_unsigned;
  return LLVMBuildICmp(m->builder, predicate, x, y, "");
}

/* MIN(a,b) = a < b ? a : b, MAX with >, also for NaN and signed zeros. */
static LLVMValueRef emit_min_max(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef a = codegen_value(m, e->arg[0]), b = codegen_value(m, e->arg[1]);
  LLVMValueRef first = codegen_compare(m, e->op == TIR_MIN ? TIR_LT : TIR_GT, e, a, b);
  return LLVMBuildSelect(m->builder, first, a, b, "");
}

/* ---- comparisons and booleans ------------------------------------------------------------------------------------ */

/* Scalar index expressions are compared in the index type, so that a guard uses the loop's own variable. */
static LLVMValueRef emit_comparison(codegen_emitter *m, const tir_expr *e) {
  tir_interval range;
  const tir_expr *a = e->arg[0], *b = e->arg[1];
  bool wide = e->lanes == 1 && codegen_index_range(m, a, &range) && codegen_index_range(m, b, &range);
  LLVMValueRef x = wide ? codegen_index(m, a) : codegen_value(m, a);
  LLVMValueRef y = wide ? codegen_index(m, b) : codegen_value(m, b);
  return codegen_compare(m, e->op, a, x, y);
}

/* Both sides are evaluated: loads on the right have predicates where they need them (pass guard_loads). */
static LLVMValueRef emit_boolean(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef a = codegen_value(m, e->arg[0]), b = codegen_value(m, e->arg[1]);
  return e->op == TIR_AND ? LLVMBuildAnd(m->builder, a, b, "") : LLVMBuildOr(m->builder, a, b, "");
}

/* Booleans are i1, so the complement is the negation. */
static LLVMValueRef emit_not(codegen_emitter *m, const tir_expr *e) {
  return LLVMBuildNot(m->builder, codegen_value(m, e->arg[0]), "");
}

/* The operand whose order as a number without a sign E, which has its first bit turned, asks for. NULL: it has not. */
static const tir_expr *without_sign(const tir_expr *e) {
  if (e->op != TIR_BITXOR || e->dtype != TN_I32) return NULL;
  const tir_expr *bit = e->arg[1]->op == TIR_BROADCAST ? e->arg[1]->arg[0] : e->arg[1];
  return bit->op == TIR_INT && bit->u.i == INT32_MIN ? e->arg[0] : NULL;
}

/* A < B of WIDTH lanes from FIRST on. With both first bits turned it is the order without signs of what is chosen by it
 * too: LLVM would compare all lanes at once where a piece of an operand has no other use. */
static LLVMValueRef compare_piece(codegen_emitter *m, const tir_expr *e, int first, int width) {
  const tir_expr *a = without_sign(e->arg[0]), *b = without_sign(e->arg[1]);
  bool is_unsigned_order = e->op == TIR_LT && a != NULL && b != NULL;
  if (!is_unsigned_order) a = e->arg[0], b = e->arg[1];
  LLVMValueRef x = codegen_lane_piece(m, codegen_value(m, a), e->lanes, first, width);
  LLVMValueRef y = codegen_lane_piece(m, codegen_value(m, b), e->lanes, first, width);
  return is_unsigned_order ? LLVMBuildICmp(m->builder, LLVMIntULT, x, y, "") : codegen_compare(m, e->op, a, x, y);
}

/* WIDTH lanes of condition E from FIRST on: its comparisons are made of these lanes alone. */
static LLVMValueRef emit_condition(codegen_emitter *m, const tir_expr *e, int first, int width) {
  if (tir_op_table[e->op].op_class != TIR_CLASS_COMPARISON && e->op != TIR_AND && e->op != TIR_OR)
    return codegen_lane_piece(m, codegen_value(m, e), e->lanes, first, width);
  if (e->op == TIR_AND || e->op == TIR_OR) {
    LLVMValueRef a = emit_condition(m, e->arg[0], first, width), b = emit_condition(m, e->arg[1], first, width);
    return e->op == TIR_AND ? LLVMBuildAnd(m->builder, a, b, "") : LLVMBuildOr(m->builder, a, b, "");
  }
  return compare_piece(m, e, first, width);
}

/* Lanes of a piece of a select; 0: it is made as a whole. A condition of more lanes than a register holds is a vector of
 * bits, which LLVM packs into bytes and unpacks again where the processor has no registers for masks: those come with
 * vectors of 64 bytes. Of a register's lanes each comparison stays the mask that it gives. */
static int lanes_of_piece(const codegen_emitter *m, const tir_expr *e) {
  enum { MASKED_BYTES = 64 };
  int lanes = m->target->vector_bytes / (int)tn_dtype_bytes((tn_dtype)e->dtype);
  bool fits = e->dtype != TN_BOOL && e->arg[0]->lanes == e->lanes && lanes > 1 && e->lanes > lanes;
  return fits && m->target->vector_bytes < MASKED_BYTES ? lanes : 0;
}

static LLVMValueRef emit_select_by_pieces(codegen_emitter *m, const tir_expr *e, int width) {
  LLVMValueRef a = codegen_value(m, e->arg[1]), b = codegen_value(m, e->arg[2]), all = LLVMGetPoison(LLVMTypeOf(a));
  for (int first = 0; first < e->lanes; first += width) {
    int n = RUNTIME_MIN(width, e->lanes - first);
    LLVMValueRef x = codegen_lane_piece(m, a, e->lanes, first, n), y = codegen_lane_piece(m, b, e->lanes, first, n);
    LLVMValueRef part = LLVMBuildSelect(m->builder, emit_condition(m, e->arg[0], first, n), x, y, "");
    all = codegen_put_piece(m, all, part, e->lanes, first, n);
  }
  return all;
}

/* One float by a condition of several comparisons, as argmax chooses: a processor's flags choose integers, and LLVM makes
 * a branch where a float is chosen by them, which nobody foresees. So its bits are chosen. */
static LLVMValueRef select_bits(codegen_emitter *m, const tir_expr *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a), bits = m->dtypes[e->dtype == TN_F32 ? TN_I32 : TN_I64];
  a = LLVMBuildBitCast(m->builder, a, bits, ""), b = LLVMBuildBitCast(m->builder, b, bits, "");
  LLVMValueRef chosen = LLVMBuildFreeze(m->builder, LLVMBuildSelect(m->builder, c, a, b, ""), ""); /* or it is undone */
  return LLVMBuildBitCast(m->builder, chosen, type, "");
}

static bool is_chosen_by_flags(const tir_expr *e) {
  bool is_float = e->dtype == TN_F32 || e->dtype == TN_F64;
  return is_float && e->lanes == 1 && (e->arg[0]->op == TIR_AND || e->arg[0]->op == TIR_OR);
}

/* Both sides are evaluated, see tir/ir.h. */
static LLVMValueRef emit_select(codegen_emitter *m, const tir_expr *e) {
  int piece = lanes_of_piece(m, e);
  if (piece > 0) return emit_select_by_pieces(m, e, piece);
  LLVMValueRef c = codegen_value(m, e->arg[0]), a = codegen_value(m, e->arg[1]), b = codegen_value(m, e->arg[2]);
  return is_chosen_by_flags(e) ? select_bits(m, e, c, a, b) : LLVMBuildSelect(m->builder, c, a, b, "");
}

/* ---- bits and tests ---------------------------------------------------------------------------------------------- */

/* One instruction, whatever the sign. */
static LLVMValueRef emit_bits(codegen_emitter *m, const tir_expr *e) {
  LLVMOpcode opcode = e->op == TIR_BITAND ? LLVMAnd : e->op == TIR_BITOR ? LLVMOr : LLVMXor;
  return LLVMBuildBinOp(m->builder, opcode, codegen_value(m, e->arg[0]), codegen_value(m, e->arg[1]), "");
}

/* A shift by the width or more gives 0, or copies of the sign; a negative one counts as such. */
static LLVMValueRef emit_shift(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef a = codegen_value(m, e->arg[0]), by = codegen_value(m, e->arg[1]);
  LLVMTypeRef type = m->dtypes[e->dtype];
  unsigned bits = 8 * (unsigned)tn_dtype_bytes((tn_dtype)e->dtype);
  LLVMValueRef most = codegen_splat(m, LLVMConstInt(type, bits - 1, false), e->lanes);
  LLVMValueRef fits = LLVMBuildICmp(m->builder, LLVMIntULE, by, most, "");
  if (e->op == TIR_SHR && !is_unsigned(e))
    return LLVMBuildAShr(m->builder, a, LLVMBuildSelect(m->builder, fits, by, most, ""), "");
  LLVMValueRef shifted = e->op == TIR_SHL ? LLVMBuildShl(m->builder, a, by, "") : LLVMBuildLShr(m->builder, a, by, "");
  return LLVMBuildSelect(m->builder, fits, shifted, LLVMConstNull(LLVMTypeOf(a)), "");
}

/* A zero has a defined count here. */
static LLVMValueRef emit_count(codegen_emitter *m, const tir_expr *e) {
  LLVMTypeRef type = codegen_type(m, (tn_dtype)e->dtype, e->lanes);
  LLVMValueRef args[] = {codegen_value(m, e->arg[0]), LLVMConstInt(m->i1, 0, false)};
  if (e->op == TIR_POPCOUNT) return codegen_intrinsic(m, "llvm.ctpop", 1, &type, 1, args);
  return codegen_intrinsic(m, "llvm.ctlz", 1, &type, 2, args);
}

/* By comparisons: no fast-math flag is set that would remove them. */
static LLVMValueRef emit_float_test(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef a = codegen_value(m, e->arg[0]);
  LLVMTypeRef type = LLVMTypeOf(a);
  if (e->op == TIR_ISNAN) return LLVMBuildFCmp(m->builder, LLVMRealUNO, a, a, "");
  LLVMValueRef size = codegen_intrinsic(m, "llvm.fabs", 1, &type, 1, &a);
  LLVMValueRef infinity = LLVMConstReal(m->dtypes[e->arg[0]->dtype], INFINITY);
  LLVMRealPredicate predicate = e->op == TIR_ISINF ? LLVMRealOEQ : LLVMRealOLT;
  return LLVMBuildFCmp(m->builder, predicate, size, codegen_splat(m, infinity, e->lanes), "");
}

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

static LLVMValueRef emit_broadcast(codegen_emitter *m, const tir_expr *e) {
  return codegen_splat(m, codegen_value(m, e->arg[0]), e->lanes);
}

/* Steps as a constant vector; they wrap at the dtype. */
static LLVMValueRef emit_ramp(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef *steps = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, e->lanes);
  if (steps == NULL) return codegen_no_memory(m), LLVMGetPoison(codegen_type(m, (tn_dtype)e->dtype, e->lanes));
  for (int i = 0; i < e->lanes; i++) steps[i] = LLVMConstInt(m->dtypes[e->dtype], (uint64_t)(e->u.i * i), true);
  LLVMValueRef base = codegen_splat(m, codegen_value(m, e->arg[0]), e->lanes);
  return LLVMBuildAdd(m->builder, base, LLVMConstVector(steps, e->lanes), "");
}

/* The low bytes of halves, a register of them by one shuffle of two; LLVM has two instructions for each and one for both. NULL:
 * that is not what E does. */
static LLVMValueRef emit_low_bytes(codegen_emitter *m, const tir_expr *e) {
  int lanes = m->target->vector_bytes, from[MOST_BYTES];
  const tir_expr *of = e->arg[0];
  bool is_byte = e->dtype == TN_U8 || e->dtype == TN_I8, is_half = of->dtype == TN_U16 || of->dtype == TN_I16;
  if (!is_byte || !is_half || !m->target->shuffles_bytes || e->lanes % lanes != 0 || lanes > MOST_BYTES) return NULL;
  LLVMValueRef value = codegen_value(m, of), result = LLVMGetPoison(codegen_type(m, (tn_dtype)e->dtype, e->lanes));
  LLVMTypeRef bytes = codegen_type(m, (tn_dtype)e->dtype, lanes);
  for (int i = 0; i < lanes; i++) from[i] = 2 * i;
  for (int first = 0; first < e->lanes; first += lanes) {
    LLVMValueRef halves[2];
    for (int k = 0; k < 2; k++)
      halves[k] = LLVMBuildBitCast(m->builder, codegen_lane_piece(m, value, e->lanes, first + k * lanes / 2, lanes / 2),
                                   bytes, "");
    result =
        codegen_put_piece(m, result, codegen_shuffle(m, halves[0], halves[1], lanes, from), e->lanes, first, lanes);
  }
  return result;
}

/* In 16 bits where that is all the same. */
static LLVMValueRef emit_cast(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef weighed = codegen_weighed_bytes(m, e);
  if (weighed != NULL) return weighed;
  const tir_expr *narrow = codegen_narrow(m, e);
  if (narrow != NULL) return codegen_value(m, narrow); /* it may need no cast any more */
  LLVMValueRef value = codegen_paired_load(m, e);
  if (value == NULL) value = codegen_strided_halves(m, e);
  if (value == NULL) value = emit_low_bytes(m, e);
  return value != NULL ? value : codegen_cast(m, e);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* One handler a class; a class that is missing is a compiler warning. */
static LLVMValueRef emit(codegen_emitter *m, const tir_expr *e) {
  switch (tir_class_of(e)) {
    case TIR_CLASS_CONSTANT: return e->op == TIR_INT ? emit_int(m, e) : emit_float(m, e);
    case TIR_CLASS_VARIABLE: return emit_var(m, e);
    case TIR_CLASS_TENSOR: return emit_unexpected(m, e);
    case TIR_CLASS_LOAD: return codegen_emit_load(m, e);
    case TIR_CLASS_SUM: return emit_arithmetic(m, e);
    case TIR_CLASS_RATIO: return emit_float_division(m, e);
    case TIR_CLASS_DIVISION: return codegen_division(m, e);
    case TIR_CLASS_EXTREMUM: return emit_min_max(m, e);
    case TIR_CLASS_MAGNITUDE: return codegen_abs(m, e);
    case TIR_CLASS_COMPARISON: return emit_comparison(m, e);
    case TIR_CLASS_LOGIC: return e->op == TIR_NOT ? emit_not(m, e) : emit_boolean(m, e);
    case TIR_CLASS_SELECT: return emit_select(m, e);
    case TIR_CLASS_CAST: return emit_cast(m, e);
    case TIR_CLASS_RAMP: return emit_ramp(m, e);
    case TIR_CLASS_BROADCAST: return emit_broadcast(m, e);
    case TIR_CLASS_BITS: return e->op == TIR_BITNOT ? emit_not(m, e) : emit_bits(m, e);
    case TIR_CLASS_SHIFT: return emit_shift(m, e);
    case TIR_CLASS_COUNT: return emit_count(m, e);
    case TIR_CLASS_MATH: return codegen_math(m, e);
    case TIR_CLASS_TEST: return emit_float_test(m, e);
    case TIR_CLASS_DOT: return codegen_dot(m, e);
  }
  return emit_unexpected(m, e);
}

/* Remembered, so that a DAG is emitted in linear time. */
LLVMValueRef codegen_value(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef known = runtime_map_get(&m->values, e);
  if (known != NULL) return known;
  if (m->depth >= CODEGEN_MAX_DEPTH) {
    codegen_emit_fail(m, TN_ERROR_CODEGEN, "an expression is nested deeper than %d", CODEGEN_MAX_DEPTH);
    return LLVMGetPoison(codegen_type(m, e->dtype, e->lanes));
  }
  m->depth++;
  LLVMValueRef value = emit(m, e);
  m->depth--;
  runtime_map_put(&m->values, e, value);
  return value;
}

/* At each statement: stores change what loads give. */
void codegen_forget(codegen_emitter *m) {
  runtime_map_clear(&m->values);
  runtime_map_clear(&m->indices);
  runtime_map_clear(&m->ranges);
}
