/* c_math.c: functions of floats, shifts and counts of bits, absolute values and casts in C; what has no vector form is
 * done lane by lane. */
#include <assert.h>

#include "codegen/c_emit.h"

/* ---- lane by lane ------------------------------------------------------------------------------------------------ */

/* One or two arguments, all that the helpers and libm have. */
codegen_c_text codegen_c_call(codegen_c_emitter *m, const char *name, int n, const codegen_c_text *args) {
  if (n == 1) return codegen_c_format(m, CODEGEN_C_CALL, "%s(%s)", name, args[0].text);
  assert(n == 2);
  return codegen_c_format(m, CODEGEN_C_CALL, "%s(%s, %s)", name, args[0].text, args[1].text);
}

/* An array-like vector filled by a loop of one line, which compilers vectorise where they can. */
codegen_c_text codegen_c_lane_by_lane(codegen_c_emitter *m, const tir_expr *e, codegen_c_text scalar,
                                      const codegen_c_text *guard) {
  bool is_bool = e->dtype == TN_BOOL;
  codegen_c_text result = {codegen_c_new_name(m), CODEGEN_C_ATOM, is_bool};
  const char *only_if = guard != NULL ? codegen_c_format(m, CODEGEN_C_ATOM, "if (%s) ", guard->text).text : "";
  codegen_c_line(m, "%s %s = {0};", codegen_c_value_type(m, e, is_bool), result.text);
  codegen_c_line(m, "for (int lane = 0; lane < %d; lane++) %s%s[lane] = %s%s;", e->lanes, only_if, result.text,
                 is_bool ? "-" : "", is_bool ? codegen_c_wrap(m, scalar, CODEGEN_C_CALL) : scalar.text);
  return result;
}

codegen_c_text codegen_c_call_lanes(codegen_c_emitter *m, const char *name, const tir_expr *e) {
  codegen_c_text args[2];
  for (int i = 0; i < e->n_args; i++) args[i] = codegen_c_at_lane(m, e->arg[i], "lane");
  return codegen_c_lane_by_lane(m, e, codegen_c_call(m, name, e->n_args, args), NULL);
}

/* A scalar call, or one a lane. */
static codegen_c_text call(codegen_c_emitter *m, const char *name, const tir_expr *e) {
  codegen_c_text args[2];
  if (codegen_c_lanes(m, e) > 1) return codegen_c_call_lanes(m, name, e);
  for (int i = 0; i < e->n_args; i++) args[i] = codegen_c_value(m, e->arg[i]);
  return codegen_c_call(m, name, e->n_args, args);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Whether C has it: others are operators, or are expanded. */
static bool is_function(tir_op op) {
  tir_class class = tir_op_table[op].op_class;
  bool is_expanded = op == TIR_SIGMOID || op == TIR_RSQRT;
  return !is_expanded && (class == TIR_CLASS_MATH || class == TIR_CLASS_TEST || class == TIR_CLASS_MAGNITUDE);
}

/* C's name of a function, of f64; of a test, a macro for every type. */
static const char *c_name(tir_op op) {
  if (op == TIR_EXP10) return "__builtin_exp10"; /* math.h's needs _GNU_SOURCE */
  return op == TIR_ABS ? "fabs" : tir_op_table[op].text;
}

/* Names of libm, also with the f of f32: a user's tensor may not be called so. */
bool codegen_c_is_function(const char *name) {
  for (int op = 0; op < TIR_OP_COUNT; op++) {
    const char *function = c_name((tir_op)op);
    size_t n = strlen(function);
    if (is_function((tir_op)op) && strncmp(name, function, n) == 0 && (name[n] == '\0' || strcmp(name + n, "f") == 0))
      return true;
  }
  return false;
}

/* libm's name for the dtype; for erf of vectors of f32 a helper's, which compilers vectorise. */
static const char *function_of(codegen_c_emitter *m, const tir_expr *e) {
  if (e->op == TIR_ERF && e->dtype == TN_F32 && codegen_c_lanes(m, e) > 1)
    return codegen_c_use(m, CODEGEN_C_ERF, TN_F32);
  return runtime_format(&m->arena, "%s%s", c_name((tir_op)e->op), e->dtype == TN_F32 ? "f" : "");
}

/* As an expression, so that it is written like any other. */
static const tir_expr *one_over(codegen_c_emitter *m, const tir_expr *e) {
  return tir_binary(&m->arena, TIR_DIV, tir_float(&m->arena, (tn_dtype)e->dtype, 1), e);
}

/* 1 / (1 + exp(-x)) */
static const tir_expr *expand_sigmoid(codegen_c_emitter *m, const tir_expr *e) {
  const tir_expr *zero = tir_float(&m->arena, (tn_dtype)e->dtype, 0),
                 *one = tir_float(&m->arena, (tn_dtype)e->dtype, 1);
  const tir_expr *power = tir_unary(&m->arena, TIR_EXP, tir_binary(&m->arena, TIR_SUB, zero, e->arg[0]));
  return one_over(m, tir_binary(&m->arena, TIR_ADD, one, power));
}

/* Only floats come here: te refuses the others. */
codegen_c_text codegen_c_math(codegen_c_emitter *m, const tir_expr *e) {
  if (!tn_dtype_is_float((tn_dtype)e->dtype)) {
    codegen_c_fail(m, TN_ERROR_INTERNAL, "%s of %s reached code generation", tir_op_table[e->op].text,
                   tn_dtype_name((tn_dtype)e->dtype));
    return codegen_c_value(m, e->arg[0]);
  }
  if (e->op == TIR_SIGMOID) return codegen_c_value(m, expand_sigmoid(m, e));
  if (e->op == TIR_RSQRT) return codegen_c_value(m, one_over(m, tir_unary(&m->arena, TIR_SQRT, e->arg[0])));
  return call(m, function_of(m, e), e);
}

/* Macros of math.h give any nonzero number. */
codegen_c_text codegen_c_float_test(codegen_c_emitter *m, const tir_expr *e) {
  bool is_vector = codegen_c_lanes(m, e) > 1;
  codegen_c_text a = is_vector ? codegen_c_at_lane(m, e->arg[0], "lane") : codegen_c_value(m, e->arg[0]);
  codegen_c_text test = codegen_c_format(m, CODEGEN_C_RELATION, "%s(%s) != 0", c_name((tir_op)e->op), a.text);
  return is_vector ? codegen_c_lane_by_lane(m, e, test, NULL) : test;
}

/* By a helper, since C's shifts are not total. */
codegen_c_text codegen_c_shift(codegen_c_emitter *m, const tir_expr *e) {
  return call(m, codegen_c_use(m, e->op == TIR_SHL ? CODEGEN_C_SHL : CODEGEN_C_SHR, (tn_dtype)e->dtype), e);
}

/* By a helper, since 0 has no defined count for the builtin. */
codegen_c_text codegen_c_count(codegen_c_emitter *m, const tir_expr *e) {
  return call(m, codegen_c_use(m, e->op == TIR_CLZ ? CODEGEN_C_CLZ : CODEGEN_C_POPCOUNT, (tn_dtype)e->dtype), e);
}

/* An unsigned value is its own. */
codegen_c_text codegen_c_abs(codegen_c_emitter *m, const tir_expr *e) {
  tn_dtype dtype = (tn_dtype)e->dtype;
  if (tn_dtype_is_float(dtype)) return call(m, function_of(m, e), e);
  return tn_dtype_is_signed(dtype) ? call(m, codegen_c_use(m, CODEGEN_C_ABS, dtype), e) : codegen_c_value(m, e->arg[0]);
}

/* ---- casts ------------------------------------------------------------------------------------------------------- */

/* A mask as numbers: its lanes are 0 or -1. */
static codegen_c_text mask_to_numbers(codegen_c_emitter *m, const tir_expr *e, codegen_c_text mask) {
  tn_dtype to = (tn_dtype)e->dtype;
  mask = codegen_c_widen_mask(m, mask, (int)tn_dtype_bytes(to), e->lanes);
  const char *ones = codegen_c_format(m, CODEGEN_C_UNARY, "-%s", codegen_c_wrap(m, mask, CODEGEN_C_CALL)).text;
  const char *type = codegen_c_vector(m, to, e->lanes, 0);
  if (!tn_dtype_is_float(to)) return codegen_c_format(m, CODEGEN_C_UNARY, "(%s)%s", type, ones);
  return codegen_c_format(m, CODEGEN_C_CALL, "__builtin_convertvector(%s, %s)", ones, type);
}

/* A comparison with zeros: GCC's vectors give all bits set for true, in lanes as wide as those compared. */
static codegen_c_text vector_to_mask(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a) {
  tn_dtype from = (tn_dtype)e->arg[0]->dtype;
  int bytes = (int)tn_dtype_bytes(from);
  codegen_c_text mask = codegen_c_format(m, CODEGEN_C_UNARY, "(%s)(%s != (%s){0})", codegen_c_mask(m, bytes, e->lanes),
                                         codegen_c_wrap(m, a, CODEGEN_C_SUM), codegen_c_vector(m, from, e->lanes, 0));
  mask.mask_bytes = bytes;
  return mask;
}

/* Element by element, of the same number of lanes. */
static codegen_c_text cast_vector(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a) {
  if (e->dtype == TN_BOOL) return vector_to_mask(m, e, a);
  if (e->arg[0]->dtype == TN_BOOL) return mask_to_numbers(m, e, a);
  const char *type = codegen_c_vector(m, (tn_dtype)e->dtype, e->lanes, 0);
  return codegen_c_format(m, CODEGEN_C_CALL, "__builtin_convertvector(%s, %s)", a.text, type);
}

/* Between f32 and the bits of f16 or bf16. */
static codegen_c_text cast_half(codegen_c_emitter *m, const tir_expr *e) {
  bool is_from = runtime_is_half((tn_dtype)e->arg[0]->dtype);
  tn_dtype half = (tn_dtype)(is_from ? e->arg[0]->dtype : e->dtype);
  codegen_c_helper from = half == TN_F16 ? CODEGEN_C_FROM_F16 : CODEGEN_C_FROM_BF16;
  codegen_c_helper to = half == TN_F16 ? CODEGEN_C_TO_F16 : CODEGEN_C_TO_BF16;
  return call(m, codegen_c_use(m, is_from ? from : to, half), e);
}

/* From floats by helpers that saturate: C leaves the rest undefined. */
codegen_c_text codegen_c_cast(codegen_c_emitter *m, const tir_expr *e) {
  if (runtime_is_half((tn_dtype)e->dtype) || runtime_is_half((tn_dtype)e->arg[0]->dtype)) return cast_half(m, e);
  tn_dtype from = (tn_dtype)e->arg[0]->dtype, to = (tn_dtype)e->dtype;
  if (from == to) return codegen_c_value(m, e->arg[0]);
  if (tn_dtype_is_float(from) && !tn_dtype_is_float(to) && to != TN_BOOL) {
    return call(m, codegen_c_use(m, from == TN_F32 ? CODEGEN_C_OF_F32 : CODEGEN_C_OF_F64, to), e);
  }
  codegen_c_text a = codegen_c_value(m, e->arg[0]);
  if (codegen_c_lanes(m, e) > 1) return cast_vector(m, e, a);
  if (to == TN_BOOL) return codegen_c_format(m, CODEGEN_C_RELATION, "%s != 0", codegen_c_wrap(m, a, CODEGEN_C_SUM));
  return codegen_c_format(m, CODEGEN_C_UNARY, "(%s)%s", codegen_c_type(to), codegen_c_wrap(m, a, CODEGEN_C_UNARY));
}
