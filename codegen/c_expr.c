/* c_expr.c: values of expressions in C: leaves, vectors made of scalars, what gets a name, and the
 * table of handlers. Values are remembered for a statement only: a store may change what a load gives. */
#include <math.h>

#include "codegen/c_emit.h"

enum { MAX_TEXT = 72, MAX_STORED = 100 };

int codegen_c_lanes(const codegen_c_emitter *m, const tir_expr *e) { return m->lane != NULL ? 1 : e->lanes; }

/* ---- index expressions ------------------------------------------------------------------------------------------- */

const char *codegen_c_index_type(const codegen_c_emitter *m) {
  return m->target->address_bits == 32 ? "int32_t" : "int64_t";
}

/* Of the two dtypes that loops have. */
static bool has_index_op(const tir_expr *e) {
  return tir_is_index_op((tir_op)e->op) && (e->dtype == TN_I32 || e->dtype == TN_I64);
}

/* A range with an open end may not fit int64_t in all its parts; where addresses have 32 bits, all parts fit
 * int32_t. */
static bool decide_index(codegen_c_emitter *m, const tir_expr *e) {
  if (!has_index_op(e) || (e->op == TIR_VAR && tir_is_data_var(m->func, e->u.var))) return false;
  for (int i = 0; i < e->n_args; i++) {
    if (!codegen_c_is_index(m, e->arg[i])) return false;
  }
  tir_interval range = tir_bounds(m->env, e);
  if (m->target->address_bits == 32) return range.lo >= INT32_MIN && range.hi <= INT32_MAX;
  return range.lo != INT64_MIN && range.hi != INT64_MAX;
}

/* Remembered, as it is asked at every node of an index. */
bool codegen_c_is_index(codegen_c_emitter *m, const tir_expr *e) {
  static const char yes = 'y', no = 'n';
  const char *known = runtime_map_get(&m->indices, e);
  if (known != NULL) return *known == yes;
  known = decide_index(m, e) ? &yes : &no;
  codegen_c_put(m, &m->indices, e, known);
  return *known == yes;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* INT64_MIN has no literal: -9223372036854775808 is a minus sign and a number that does not fit. */
static codegen_c_text emit_int(codegen_c_emitter *m, const tir_expr *e) {
  long long value = e->u.i;
  codegen_c_prec prec = value < 0 ? CODEGEN_C_UNARY : CODEGEN_C_ATOM;
  if (value == INT64_MIN) return codegen_c_format(m, CODEGEN_C_ATOM, "INT64_MIN");
  if (value == INT32_MIN) return codegen_c_format(m, CODEGEN_C_ATOM, "INT32_MIN");
  if (value > INT32_MAX || value < INT32_MIN) {
    return codegen_c_format(m, prec, "%s%lld%s", value < 0 ? "-" : "", value < 0 ? -value : value,
                            e->dtype == TN_U32 ? "u" : "ll");
  }
  return codegen_c_format(m, prec, "%lld%s", value, e->dtype == TN_U32 ? "u" : "");
}

/* The shortest decimal that reads back as the value. */
static codegen_c_text emit_float(codegen_c_emitter *m, const tir_expr *e) {
  if (runtime_is_half((tn_dtype)e->dtype))
    return codegen_c_format(m, CODEGEN_C_ATOM, "0x%04x", runtime_half_bits((tn_dtype)e->dtype, e->u.f));
  bool is_f32 = e->dtype == TN_F32;
  double value = is_f32 ? (double)(float)e->u.f : e->u.f;
  char digits[RUNTIME_FLOAT_TEXT];
  codegen_c_prec prec = signbit(value) ? CODEGEN_C_UNARY : CODEGEN_C_ATOM;
  if (isnan(value)) return codegen_c_format(m, CODEGEN_C_ATOM, is_f32 ? "NAN" : "(double)NAN");
  if (isinf(value)) return codegen_c_format(m, prec, "%sINFINITY", value < 0 ? "-" : "");
  runtime_float_text(digits, value, (tn_dtype)e->dtype);
  bool is_plain = strpbrk(digits, ".e") == NULL;
  return codegen_c_format(m, prec, "%s%s%s", digits, is_plain ? ".0" : "", is_f32 ? "f" : "");
}

/* A bool is held as a byte of any value but 0 and 1 in foreign arrays: compared, not used. */
static codegen_c_text emit_var(codegen_c_emitter *m, const tir_expr *e) {
  const char *name = codegen_c_name(m, e->u.var);
  if (name == NULL) {
    codegen_c_fail(m, TN_ERROR_INTERNAL, "the variable %s is used outside its loop", e->u.var->name);
    name = "";
  }
  if (e->dtype == TN_BOOL) return codegen_c_format(m, CODEGEN_C_RELATION, "%s != 0", name);
  return codegen_c_format(m, CODEGEN_C_ATOM, "%s", name);
}

/* A bug of lowering, not of the user. */
static codegen_c_text emit_unexpected(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_fail(m, TN_ERROR_INTERNAL, "%s reached code generation: it is no loop IR", tir_op_table[e->op].name);
  return codegen_c_format(m, CODEGEN_C_ATOM, "0");
}

/* ---- vectors of scalars ------------------------------------------------------------------------------------------ */

/* By subtracting zeros: GNU C has no literal for a splat of a variable. */
static codegen_c_text emit_broadcast(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text scalar = codegen_c_value(m, e->arg[0]);
  if (m->lane != NULL) return scalar;
  bool is_bool = e->dtype == TN_BOOL;
  tn_dtype dtype = is_bool ? TN_I8 : (tn_dtype)e->dtype;
  const char *type = codegen_c_vector(m, dtype, e->lanes, CODEGEN_C_SPLAT);
  const char *text = is_bool ? codegen_c_format(m, CODEGEN_C_UNARY, "-(%s)", scalar.text).text : scalar.text;
  codegen_c_text vector = codegen_c_format(m, CODEGEN_C_CALL, "%s_splat(%s)", type, text);
  vector.mask_bytes = is_bool;
  return vector;
}

/* base + stride * lane, where LANE is the text of the lane's number. */
static codegen_c_text ramp_lane(codegen_c_emitter *m, const tir_expr *e, const char *lane) {
  codegen_c_text base = codegen_c_value(m, e->arg[0]), number = {lane, CODEGEN_C_ATOM, 0};
  codegen_c_text stride = codegen_c_format(m, CODEGEN_C_ATOM, "%lld", (long long)e->u.i);
  if (e->u.i < 0) stride.prec = CODEGEN_C_UNARY;
  codegen_c_text step = e->u.i == 1 ? number : codegen_c_binary(m, stride, "*", number);
  if (codegen_c_is_index(m, e)) {
    bool from_zero = strcmp(base.text, "0") == 0;
    return from_zero ? step : codegen_c_binary(m, base, "+", step);
  }
  const char *wide = e->dtype == TN_I64 ? "uint64_t" : "uint32_t";
  return codegen_c_format(m, CODEGEN_C_UNARY, "(%s)((%s)%s + (%s)(%s))", codegen_c_type((tn_dtype)e->dtype), wide,
                          codegen_c_wrap(m, base, CODEGEN_C_UNARY), wide, step.text);
}

/* The steps as an initialiser, wrapped to the dtype. */
static const char *ramp_steps(codegen_c_emitter *m, const tir_expr *e) {
  const char *list = "0";
  for (int i = 1; i < e->lanes; i++) {
    const tir_expr *step = tir_int(&m->arena, (tn_dtype)e->dtype, (int64_t)((uint64_t)e->u.i * (uint64_t)i));
    list = runtime_format(&m->arena, "%s, %s", list, emit_int(m, step).text);
  }
  return list;
}

/* In int64_t lanes where it is an index; else it wraps at its dtype. */
static codegen_c_text emit_ramp(codegen_c_emitter *m, const tir_expr *e) {
  if (m->lane != NULL) return ramp_lane(m, e, m->lane);
  codegen_c_text base = codegen_c_value(m, e->arg[0]);
  const char *type = codegen_c_vector(m, (tn_dtype)e->dtype, e->lanes, CODEGEN_C_SPLAT);
  if (codegen_c_is_index(m, e)) {
    return codegen_c_format(m, CODEGEN_C_SUM, "%s_splat(%s) + (%s){%s}", type, base.text, type, ramp_steps(m, e));
  }
  const char *sum = codegen_c_wrapping_vector(m, (tn_dtype)e->dtype, e->lanes);
  return codegen_c_format(m, CODEGEN_C_UNARY, "(%s)((%s)%s_splat(%s) + (%s)(%s){%s})", type, sum, type, base.text, sum,
                          type, ramp_steps(m, e));
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* A name for what is a name already is that name. */
codegen_c_text codegen_c_named(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a) {
  if (a.prec == CODEGEN_C_ATOM) return a;
  codegen_c_text name = {codegen_c_new_name(m), CODEGEN_C_ATOM, a.mask_bytes};
  codegen_c_line(m, "const %s %s = %s;", codegen_c_value_type(m, e, a.mask_bytes), name.text, a.text);
  return name;
}

/* How often each node is an argument in the statement. */
static tir_walk count_args(void *user, const tir_expr *e) {
  codegen_c_emitter *m = user;
  for (int i = 0; i < e->n_args; i++) {
    const char *n = runtime_map_get(&m->uses, e->arg[i]);
    codegen_c_put(m, &m->uses, e->arg[i], n == NULL ? (const char *)1 : n + 1);
  }
  return TIR_WALK_ON;
}

/* Once for every expression of a statement, before the first value of it is asked for. */
void codegen_c_count_uses(codegen_c_emitter *m, const tir_expr *e) {
  if (e != NULL) tir_walk_expr(e, count_args, m);
}

/* Names are given to what would otherwise be computed twice, but not to what costs nothing, and to keep lines short. */
static bool wants_name(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a) {
  bool is_shared = (uintptr_t)runtime_map_get(&m->uses, e) > 1;
  bool is_cheap = tir_rule_of(e) == TIR_RULE_LEAF || e->op == TIR_RAMP || e->op == TIR_BROADCAST ||
                  (codegen_c_lanes(m, e) == 1 && codegen_c_is_index(m, e));
  size_t most = e == m->stored ? MAX_STORED : MAX_TEXT;
  return a.prec != CODEGEN_C_ATOM && ((is_shared && !is_cheap) || strlen(a.text) > most);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* Ramps and broadcasts need no vector; anything else is computed as a vector and indexed. */
codegen_c_text codegen_c_at_lane(codegen_c_emitter *m, const tir_expr *e, const char *lane) {
  if (e->lanes == 1) return codegen_c_value(m, e);
  if (e->op == TIR_BROADCAST) return codegen_c_value(m, e->arg[0]);
  if (e->op == TIR_RAMP) return ramp_lane(m, e, lane);
  bool is_comparison = tir_class_of(e) == TIR_CLASS_COMPARISON && e->arg[0]->dtype != TN_BOOL;
  if (is_comparison) {
    codegen_c_text a = codegen_c_at_lane(m, e->arg[0], lane), b = codegen_c_at_lane(m, e->arg[1], lane);
    return codegen_c_compare(m, e, a, b);
  }
  codegen_c_text vector = codegen_c_named(m, e, codegen_c_value(m, e));
  codegen_c_put(m, &m->values, e, runtime_copy(&m->arena, &vector, sizeof vector));
  if (e->dtype == TN_BOOL) return codegen_c_format(m, CODEGEN_C_RELATION, "%s[%s] != 0", vector.text, lane);
  return codegen_c_format(m, CODEGEN_C_CALL, "%s[%s]", vector.text, lane);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* One handler a class; a class that is missing is a compiler warning. */
static codegen_c_text emit(codegen_c_emitter *m, const tir_expr *e) {
  switch (tir_class_of(e)) {
    case TIR_CLASS_CONSTANT: return e->op == TIR_INT ? emit_int(m, e) : emit_float(m, e);
    case TIR_CLASS_VARIABLE: return emit_var(m, e);
    case TIR_CLASS_TENSOR: return emit_unexpected(m, e);
    case TIR_CLASS_LOAD: return codegen_c_load(m, e);
    case TIR_CLASS_SUM:
    case TIR_CLASS_RATIO: return codegen_c_arithmetic(m, e);
    case TIR_CLASS_DIVISION: return codegen_c_division(m, e);
    case TIR_CLASS_EXTREMUM: return codegen_c_min_max(m, e);
    case TIR_CLASS_MAGNITUDE: return codegen_c_abs(m, e);
    case TIR_CLASS_COMPARISON: return codegen_c_comparison(m, e);
    case TIR_CLASS_LOGIC: return codegen_c_logic(m, e);
    case TIR_CLASS_SELECT: return codegen_c_select(m, e);
    case TIR_CLASS_CAST: return codegen_c_cast(m, e);
    case TIR_CLASS_RAMP: return emit_ramp(m, e);
    case TIR_CLASS_BROADCAST: return emit_broadcast(m, e);
    case TIR_CLASS_BITS: return codegen_c_bits(m, e);
    case TIR_CLASS_SHIFT: return codegen_c_shift(m, e);
    case TIR_CLASS_COUNT: return codegen_c_count(m, e);
    case TIR_CLASS_MATH: return codegen_c_math(m, e);
    case TIR_CLASS_TEST: return codegen_c_float_test(m, e);
    case TIR_CLASS_DOT: return codegen_c_dot(m, e);
  }
  return emit_unexpected(m, e);
}

/* The depth bounds recursion; a name is given after the value's parts have theirs. */
codegen_c_text codegen_c_value(codegen_c_emitter *m, const tir_expr *e) {
  const codegen_c_text *known = runtime_map_get(&m->values, e);
  if (known != NULL) return *known;
  if (m->depth >= CODEGEN_MAX_DEPTH) {
    codegen_c_fail(m, TN_ERROR_CODEGEN, "an expression is nested deeper than %d", CODEGEN_MAX_DEPTH);
    return (codegen_c_text){"0", CODEGEN_C_ATOM, 0};
  }
  m->depth++;
  codegen_c_text value = emit(m, e);
  m->depth--;
  if (wants_name(m, e, value)) value = codegen_c_named(m, e, value);
  codegen_c_put(m, &m->values, e, runtime_copy(&m->arena, &value, sizeof value));
  return value;
}

/* Names of the statement before stay valid C, but are not used again. */
void codegen_c_forget(codegen_c_emitter *m) {
  runtime_map_clear(&m->values);
  runtime_map_clear(&m->indices);
  runtime_map_clear(&m->uses);
}
