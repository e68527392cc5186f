/* emit_index.c: index expressions: loop variables, constants and + - * // % min max over them. Emitted in i64, so that
 * addresses need no sign extensions; right because every part's interval fits the expression's own dtype. */
#include "codegen/emit.h"

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static const tir_interval no_range = {1, 0};

/* Only i32 and i64 serve as indices. An i64 interval that touches the ends is "unknown". */
static bool fits(tn_dtype dtype, tir_interval r) {
  if (dtype == TN_I64) return r.lo > INT64_MIN && r.hi < INT64_MAX;
  return dtype == TN_I32 && r.lo >= INT32_MIN && r.hi <= INT32_MAX;
}

/* The least and the greatest of four products; false when one overflows. */
static bool range_mul(tir_interval a, tir_interval b, tir_interval *out) {
  int64_t p[4];
  if (__builtin_mul_overflow(a.lo, b.lo, &p[0]) || __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
      __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3])) {
    return false;
  }
  *out = (tir_interval){p[0], p[0]};
  for (int i = 1; i < 4; i++) {
    out->lo = RUNTIME_MIN(out->lo, p[i]);
    out->hi = RUNTIME_MAX(out->hi, p[i]);
  }
  return true;
}

/* Division and modulo: by a positive constant only. */
static bool range_binary(tir_op op, tir_interval a, tir_interval b, tir_interval *out) {
  switch ((int)op) {
    case TIR_ADD: return !__builtin_add_overflow(a.lo, b.lo, &out->lo) && !__builtin_add_overflow(a.hi, b.hi, &out->hi);
    case TIR_SUB: return !__builtin_sub_overflow(a.lo, b.hi, &out->lo) && !__builtin_sub_overflow(a.hi, b.lo, &out->hi);
    case TIR_MUL: return range_mul(a, b, out);
    case TIR_FLOORDIV:
      *out = (tir_interval){runtime_floordiv(a.lo, b.lo), runtime_floordiv(a.hi, b.lo)};
      return b.lo > 0 && b.lo == b.hi;
    case TIR_FLOORMOD:
      *out = a.lo >= 0 && a.hi < b.lo ? a : (tir_interval){0, b.lo - 1};
      return b.lo > 0 && b.lo == b.hi;
    case TIR_MIN: *out = (tir_interval){RUNTIME_MIN(a.lo, b.lo), RUNTIME_MIN(a.hi, b.hi)}; return true;
    case TIR_MAX: *out = (tir_interval){RUNTIME_MAX(a.lo, b.lo), RUNTIME_MAX(a.hi, b.hi)}; return true;
    default: return false;
  }
}

static bool range_ramp(codegen_emitter *m, const tir_expr *e, tir_interval *out) {
  tir_interval base, steps = {0, e->lanes - 1}, offset;
  return codegen_index_range(m, e->arg[0], &base) && range_mul(steps, (tir_interval){e->u.i, e->u.i}, &offset) &&
         range_binary(TIR_ADD, base, offset, out);
}

/* False: not an index expression, or its interval is not known. */
static bool compute_range(codegen_emitter *m, const tir_expr *e, tir_interval *out) {
  tir_interval a, b;
  codegen_binding *binding;
  switch ((int)e->op) {
    case TIR_INT: *out = (tir_interval){e->u.i, e->u.i}; return true;
    case TIR_VAR:
      if ((binding = codegen_find(m, e->u.var)) == NULL) return false;
      *out = binding->range;
      return true;
    case TIR_BROADCAST: return codegen_index_range(m, e->arg[0], out);
    case TIR_RAMP: return range_ramp(m, e, out);
    case TIR_ADD:
    case TIR_SUB:
    case TIR_MUL:
    case TIR_FLOORDIV:
    case TIR_FLOORMOD:
    case TIR_MIN:
    case TIR_MAX:
      return codegen_index_range(m, e->arg[0], &a) && codegen_index_range(m, e->arg[1], &b) &&
             range_binary(e->op, a, b, out);
    default: return false;
  }
}

bool codegen_index_range(codegen_emitter *m, const tir_expr *e, tir_interval *range) {
  const tir_interval *known = runtime_map_get(&m->ranges, e);
  if (known == NULL) {
    tir_interval computed;
    tir_interval *kept = RUNTIME_NEW(&m->arena, tir_interval);
    bool is_index = kept != NULL && compute_range(m, e, &computed) && fits(e->dtype, computed);
    if (is_index) *kept = computed;
    known = is_index ? kept : &no_range;
    runtime_map_put(&m->ranges, e, (void *)known);
  }
  *range = *known;
  return known != &no_range;
}

/* ---- emission in i64 --------------------------------------------------------------------------------------------- */

static LLVMValueRef emit_index(codegen_emitter *m, const tir_expr *e);

/* E is known to be an index expression. */
static LLVMValueRef index_part(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef known = runtime_map_get(&m->indices, e);
  if (known != NULL) return known;
  LLVMValueRef value = emit_index(m, e);
  runtime_map_put(&m->indices, e, value);
  return value;
}

static LLVMValueRef emit_min_max(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef a = index_part(m, e->arg[0]), b = index_part(m, e->arg[1]);
  LLVMIntPredicate predicate = e->op == TIR_MIN ? LLVMIntSLT : LLVMIntSGT;
  return LLVMBuildSelect(m->builder, LLVMBuildICmp(m->builder, predicate, a, b, ""), a, b, "");
}

static LLVMValueRef emit_index_division(codegen_emitter *m, const tir_expr *e) {
  tir_interval a = {0, 0}, b = {1, 1};
  codegen_index_range(m, e->arg[0], &a);
  codegen_index_range(m, e->arg[1], &b);
  return codegen_divide_by(m, e->op, index_part(m, e->arg[0]), b.lo, a.lo >= 0);
}

static LLVMValueRef emit_index(codegen_emitter *m, const tir_expr *e) {
  switch ((int)e->op) {
    case TIR_INT: return codegen_i64(m, e->u.i);
    case TIR_VAR: return codegen_find(m, e->u.var)->value;
    case TIR_ADD: return LLVMBuildNSWAdd(m->builder, index_part(m, e->arg[0]), index_part(m, e->arg[1]), "");
    case TIR_SUB: return LLVMBuildNSWSub(m->builder, index_part(m, e->arg[0]), index_part(m, e->arg[1]), "");
    case TIR_MUL: return LLVMBuildNSWMul(m->builder, index_part(m, e->arg[0]), index_part(m, e->arg[1]), "");
    case TIR_FLOORDIV:
    case TIR_FLOORMOD: return emit_index_division(m, e);
    default: return emit_min_max(m, e);
  }
}

LLVMValueRef codegen_index(codegen_emitter *m, const tir_expr *e) {
  tir_interval range;
  if (codegen_index_range(m, e, &range)) return index_part(m, e);
  LLVMValueRef value = codegen_value(m, e);
  return tn_dtype_is_signed(e->dtype) ? LLVMBuildSExtOrBitCast(m->builder, value, m->i64, "")
                                      : LLVMBuildZExtOrBitCast(m->builder, value, m->i64, "");
}

/* ---- vectors of indices ------------------------------------------------------------------------------------------ */

/* Structure only; that nothing overflows is codegen_index_range's business. */
bool codegen_linear_stride(const tir_expr *e, int64_t *stride) {
  int64_t a, b, factor;
  switch ((int)e->op) {
    case TIR_RAMP: *stride = e->u.i; return true;
    case TIR_BROADCAST: *stride = 0; return true;
    case TIR_ADD:
    case TIR_SUB:
      if (!codegen_linear_stride(e->arg[0], &a) || !codegen_linear_stride(e->arg[1], &b)) return false;
      *stride = e->op == TIR_ADD ? a + b : a - b;
      return true;
    case TIR_MUL:
      if (!codegen_linear_stride(e->arg[0], &a) || !tir_is_int(e->arg[1], &factor)) return false;
      *stride = a * factor;
      return true;
    default: return false;
  }
}

bool codegen_is_linear(codegen_emitter *m, const tir_expr *e, int64_t *stride) {
  tir_interval range;
  return codegen_index_range(m, e, &range) && codegen_linear_stride(e, stride);
}

LLVMValueRef codegen_linear_base(codegen_emitter *m, const tir_expr *e) {
  switch ((int)e->op) {
    case TIR_RAMP:
    case TIR_BROADCAST: return index_part(m, e->arg[0]);
    case TIR_ADD:
      return LLVMBuildNSWAdd(m->builder, codegen_linear_base(m, e->arg[0]), codegen_linear_base(m, e->arg[1]), "");
    case TIR_SUB:
      return LLVMBuildNSWSub(m->builder, codegen_linear_base(m, e->arg[0]), codegen_linear_base(m, e->arg[1]), "");
    default:
      return LLVMBuildNSWMul(m->builder, codegen_linear_base(m, e->arg[0]), codegen_linear_base(m, e->arg[1]), "");
  }
}
