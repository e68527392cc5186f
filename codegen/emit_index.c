/* emit_index.c: index expressions: loop variables, integers that are loaded, constants and + - * // % min max over them
 * (a gather's row is such a load between bounds). Emitted in the index type, as wide as an address, so that
 * addresses need no sign extensions; right because every part's interval fits the expression's own dtype and that
 * type. */
#include "codegen/emit.h"
#include "tir/linear.h"

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static const tir_interval no_range = {1, 0};

/* Only i32 and i64 serve as indices. An i64 interval that touches the ends is "unknown". */
static bool fits(const codegen_emitter *m, tn_dtype dtype, tir_interval r) {
  if (dtype != TN_I32 && dtype != TN_I64) return false;
  if (dtype == TN_I64 && m->target->address_bits == 64) return r.lo > INT64_MIN && r.hi < INT64_MAX;
  return r.lo >= INT32_MIN && r.hi <= INT32_MAX;
}

/* Division and modulo are by a positive constant only. */
static bool operator_range(codegen_emitter *m, const tir_expr *e, tir_interval *out) {
  tir_interval a, b;
  bool is_division = tir_class_of(e) == TIR_CLASS_DIVISION;
  if (!codegen_index_range(m, e->arg[0], &a) || !codegen_index_range(m, e->arg[1], &b)) return false;
  *out = tir_interval_apply((tir_op)e->op, a, b);
  return !is_division || (b.lo > 0 && b.lo == b.hi);
}

/* Over all lanes: the base's range widened by the last lane's step. */
static bool ramp_range(codegen_emitter *m, const tir_expr *e, tir_interval *out) {
  tir_interval base, steps = {0, e->lanes - 1};
  if (!codegen_index_range(m, e->arg[0], &base)) return false;
  *out = tir_interval_add(base, tir_interval_scale(steps, e->u.i));
  return true;
}

/* What an integer of a dtype narrower than i64 can be. */
static bool load_range(const tir_expr *e, tir_interval *out) {
  int bits = 8 * (int)tn_dtype_bytes(e->dtype);
  if (tn_dtype_is_float(e->dtype) || e->dtype == TN_BOOL || bits > 32 || e->lanes > 1) return false;
  *out = tn_dtype_is_signed(e->dtype) ? (tir_interval){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1}
                                      : (tir_interval){0, (INT64_C(1) << bits) - 1};
  return true;
}

/* A row that is chosen, as behind the border of an array that is reflected there. */
static bool choice_range(codegen_emitter *m, const tir_expr *e, tir_interval *out) {
  tir_interval a, b;
  if (e->lanes > 1 || !codegen_index_range(m, e->arg[1], &a) || !codegen_index_range(m, e->arg[2], &b)) return false;
  *out = tir_interval_hull(a, b);
  return true;
}

/* False: its interval is not known. E is made of index operators. */
static bool compute_range(codegen_emitter *m, const tir_expr *e, tir_interval *out) {
  if (e->op == TIR_LOAD) return load_range(e, out);
  if (e->op == TIR_SELECT) return choice_range(m, e, out);
  if (e->op == TIR_CAST) return e->lanes == 1 && codegen_index_range(m, e->arg[0], out);
  if (e->op == TIR_INT) return *out = (tir_interval){e->u.i, e->u.i}, true;
  if (e->op == TIR_BROADCAST) return codegen_index_range(m, e->arg[0], out);
  if (e->op == TIR_RAMP) return ramp_range(m, e, out);
  if (e->op != TIR_VAR) return operator_range(m, e, out);
  const codegen_binding *binding = codegen_find(m, e->u.var);
  if (binding != NULL) *out = binding->range;
  return binding != NULL;
}

/* Remembered for the statement. False: E is no index expression, or may leave its dtype. */
bool codegen_index_range(codegen_emitter *m, const tir_expr *e, tir_interval *range) {
  const tir_interval *known = runtime_map_get(&m->ranges, e);
  if (known == NULL) {
    tir_interval computed;
    tir_interval *kept = RUNTIME_NEW(&m->arena, tir_interval);
    if (kept == NULL) codegen_no_memory(m);
    bool is_made_of = tir_is_index_op((tir_op)e->op) || e->op == TIR_LOAD || e->op == TIR_CAST || e->op == TIR_SELECT;
    bool is_index = kept != NULL && is_made_of && compute_range(m, e, &computed) &&
                    fits(m, e->op == TIR_LOAD ? TN_I64 : (tn_dtype)e->dtype, computed);
    if (is_index) *kept = computed;
    known = is_index ? kept : &no_range;
    runtime_map_put(&m->ranges, e, (void *)known);
  }
  *range = *known;
  return known != &no_range;
}

/* ---- emission ---------------------------------------------------------------------------------------------------- */

static LLVMValueRef emit_index(codegen_emitter *m, const tir_expr *e);

/* E is known to be an index expression. */
static LLVMValueRef index_part(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef known = runtime_map_get(&m->indices, e);
  if (known != NULL) return known;
  LLVMValueRef value = emit_index(m, e);
  runtime_map_put(&m->indices, e, value);
  return value;
}

/* By a select, which back ends turn into conditional moves. */
static LLVMValueRef emit_min_max(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef a = index_part(m, e->arg[0]), b = index_part(m, e->arg[1]);
  LLVMIntPredicate predicate = e->op == TIR_MIN ? LLVMIntSLT : LLVMIntSGT;
  return LLVMBuildSelect(m->builder, LLVMBuildICmp(m->builder, predicate, a, b, ""), a, b, "");
}

/* By a positive constant; a dividend that is known not to be negative needs no correction. */
static LLVMValueRef emit_index_division(codegen_emitter *m, const tir_expr *e) {
  tir_interval a = {0, 0}, b = {1, 1};
  codegen_index_range(m, e->arg[0], &a);
  codegen_index_range(m, e->arg[1], &b);
  return codegen_divide_by(m, e->op, index_part(m, e->arg[0]), b.lo, a.lo >= 0);
}

/* + - or *, of what is known not to overflow. */
static LLVMValueRef build_sum(codegen_emitter *m, const tir_expr *e, LLVMValueRef a, LLVMValueRef b) {
  if (e->op == TIR_ADD) return LLVMBuildNSWAdd(m->builder, a, b, "");
  return e->op == TIR_SUB ? LLVMBuildNSWSub(m->builder, a, b, "") : LLVMBuildNSWMul(m->builder, a, b, "");
}

/* E's value as any other's, extended from its dtype. A wider one is cut: an access that is made lies in its buffer. */
static LLVMValueRef emit_loaded(codegen_emitter *m, const tir_expr *e) {
  return LLVMBuildIntCast2(m->builder, codegen_value(m, e), m->index, tn_dtype_is_signed(e->dtype), "");
}

/* nsw: the ranges were checked. */
static LLVMValueRef emit_index(codegen_emitter *m, const tir_expr *e) {
  if (e->op == TIR_LOAD) return emit_loaded(m, e);
  if (e->op == TIR_SELECT)
    return LLVMBuildSelect(m->builder, codegen_value(m, e->arg[0]), index_part(m, e->arg[1]), index_part(m, e->arg[2]),
                           "");
  if (e->op == TIR_CAST) return index_part(m, e->arg[0]);
  if (e->op == TIR_INT) return codegen_index_int(m, e->u.i);
  if (e->op == TIR_VAR) return codegen_find(m, e->u.var)->value;
  if (tir_class_of(e) == TIR_CLASS_DIVISION) return emit_index_division(m, e);
  if (tir_class_of(e) == TIR_CLASS_EXTREMUM) return emit_min_max(m, e);
  return build_sum(m, e, index_part(m, e->arg[0]), index_part(m, e->arg[1]));
}

/* Extended from its own dtype where it is no index expression. */
LLVMValueRef codegen_index(codegen_emitter *m, const tir_expr *e) {
  tir_interval range;
  if (codegen_index_range(m, e, &range)) return index_part(m, e);
  return emit_loaded(m, e);
}

/* ---- vectors of indices ------------------------------------------------------------------------------------------ */

/* Structure only; that nothing overflows is codegen_index_range's business. */
bool codegen_linear_stride(const tir_expr *e, int64_t *stride) {
  int64_t a, b, factor;
  if (e->op == TIR_RAMP) return *stride = e->u.i, true;
  if (e->op == TIR_BROADCAST) return *stride = 0, true;
  if (tir_class_of(e) != TIR_CLASS_SUM || !codegen_linear_stride(e->arg[0], &a)) return false;
  if (e->op == TIR_MUL) return tir_is_int(e->arg[1], &factor) && (*stride = a * factor, true);
  if (!codegen_linear_stride(e->arg[1], &b)) return false;
  *stride = e->op == TIR_ADD ? a + b : a - b;
  return true;
}

/* Linear and without overflow. */
bool codegen_is_linear(codegen_emitter *m, const tir_expr *e, int64_t *stride) {
  tir_interval range;
  return codegen_index_range(m, e, &range) && codegen_linear_stride(e, stride);
}

/* ---- steps that are no numbers ----------------------------------------------------------------------------------- */

static bool step_of(const tir_expr *e, codegen_step *out);

/* A step of numbers times a uniform value. */
static bool scaled_step(const tir_expr *e, const tir_expr *factor, codegen_step *out) {
  int64_t number;
  if (!step_of(e, out)) return false;
  if (tir_is_int(factor, &number)) return !__builtin_mul_overflow(out->by, number, &out->by);
  if (factor->op != TIR_BROADCAST || out->times != NULL) return false;
  if (out->by != 0) out->times = factor->arg[0];
  return true;
}

/* Both count the same, or one of them nothing. */
static bool step_of_sum(const tir_expr *e, codegen_step *out) {
  codegen_step a, b;
  if (!step_of(e->arg[0], &a) || !step_of(e->arg[1], &b)) return false;
  bool are_alike = a.times == b.times || (a.times != NULL && b.times != NULL && tir_equal(a.times, b.times));
  if (!are_alike && a.by != 0 && b.by != 0) return false;
  out->times = a.by != 0 ? a.times : b.times;
  return e->op == TIR_ADD ? !__builtin_add_overflow(a.by, b.by, &out->by)
                          : !__builtin_sub_overflow(a.by, b.by, &out->by);
}

static bool step_of(const tir_expr *e, codegen_step *out) {
  *out = (codegen_step){e->op == TIR_RAMP ? e->u.i : 0, NULL};
  if (e->op == TIR_RAMP || e->op == TIR_BROADCAST) return true;
  if (tir_class_of(e) != TIR_CLASS_SUM) return false;
  if (e->op != TIR_MUL) return step_of_sum(e, out);
  return scaled_step(e->arg[0], e->arg[1], out) || scaled_step(e->arg[1], e->arg[0], out);
}

bool codegen_has_step(codegen_emitter *m, const tir_expr *e, codegen_step *step) {
  tir_interval range;
  return codegen_index_range(m, e, &range) && step_of(e, step) &&
         (step->times == NULL || codegen_index_range(m, step->times, &range));
}

int64_t codegen_most_step(codegen_emitter *m, const codegen_step *step) {
  tir_interval range = {1, 1};
  if (step->times != NULL && !codegen_index_range(m, step->times, &range)) return INT64_MIN;
  return tir_interval_scale(range, llabs(step->by)).hi;
}

LLVMValueRef codegen_steps(codegen_emitter *m, const codegen_step *step, int64_t row) {
  LLVMValueRef number = codegen_index_int(m, row * step->by);
  return step->times == NULL ? number : LLVMBuildNSWMul(m->builder, codegen_index(m, step->times), number, "");
}

/* Lane 0, by the structure that codegen_linear_stride has looked at. What lies in the ramp need not be an index
 * expression. */
LLVMValueRef codegen_linear_base(codegen_emitter *m, const tir_expr *e) {
  if (e->op == TIR_RAMP || e->op == TIR_BROADCAST) return codegen_index(m, e->arg[0]);
  return build_sum(m, e, codegen_linear_base(m, e->arg[0]), codegen_linear_base(m, e->arg[1]));
}
