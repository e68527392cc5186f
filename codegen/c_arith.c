/* c_arith.c: integers that wrap, division towards minus infinity, comparisons, booleans and masks in C. */
#include <assert.h>

#include "codegen/c_emit.h"

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* How C writes an operator of two operands. */
typedef struct operator_row {
  const char *text;
  codegen_c_prec prec, left, right; /* of the whole, and the least of its operands */
} operator_row;

/* The strength that the whole has, and the least that the left and the right side need to stand without
 * parentheses. C's own order, but for what compilers warn of: && beside || and bits beside sums get parentheses. */
static const operator_row operators[] = {
    {"+", CODEGEN_C_SUM, CODEGEN_C_SUM, CODEGEN_C_PRODUCT},
    {"-", CODEGEN_C_SUM, CODEGEN_C_SUM, CODEGEN_C_PRODUCT},
    {"*", CODEGEN_C_PRODUCT, CODEGEN_C_PRODUCT, CODEGEN_C_UNARY},
    {"/", CODEGEN_C_PRODUCT, CODEGEN_C_PRODUCT, CODEGEN_C_UNARY},
    {"%", CODEGEN_C_PRODUCT, CODEGEN_C_PRODUCT, CODEGEN_C_UNARY},
    {"<", CODEGEN_C_RELATION, CODEGEN_C_SUM, CODEGEN_C_SUM},
    {"<=", CODEGEN_C_RELATION, CODEGEN_C_SUM, CODEGEN_C_SUM},
    {">", CODEGEN_C_RELATION, CODEGEN_C_SUM, CODEGEN_C_SUM},
    {">=", CODEGEN_C_RELATION, CODEGEN_C_SUM, CODEGEN_C_SUM},
    {"==", CODEGEN_C_RELATION, CODEGEN_C_SUM, CODEGEN_C_SUM},
    {"!=", CODEGEN_C_RELATION, CODEGEN_C_SUM, CODEGEN_C_SUM},
    {"&&", CODEGEN_C_LOGIC, CODEGEN_C_RELATION, CODEGEN_C_RELATION},
    {"||", CODEGEN_C_LOGIC, CODEGEN_C_RELATION, CODEGEN_C_RELATION},
    {"&", CODEGEN_C_BITS, CODEGEN_C_UNARY, CODEGEN_C_UNARY},
    {"|", CODEGEN_C_BITS, CODEGEN_C_UNARY, CODEGEN_C_UNARY},
    {"^", CODEGEN_C_BITS, CODEGEN_C_UNARY, CODEGEN_C_UNARY},
};

/* Only for texts of the table itself, hence without an end to look for. */
static const operator_row *find_operator(const char *text) {
  const operator_row *row = operators;
  while (strcmp(row->text, text) != 0) row++;
  return row;
}

/* Parentheses also where C would not need them but a reader, or gcc's warnings, would. */
codegen_c_text codegen_c_binary(codegen_c_emitter *m, codegen_c_text a, const char *op, codegen_c_text b) {
  assert(op != NULL && "an operator of the table");
  const operator_row *row = find_operator(op);
  const char *left = codegen_c_wrap(m, a, row->left), *right = codegen_c_wrap(m, b, row->right);
  if (*op == '+' && *right == '-') op = "-", right++; /* i + -1 */
  codegen_c_text both = codegen_c_format(m, row->prec, "%s %s %s", left, op, right);
  both.mask_bytes = a.mask_bytes;
  return both;
}

/* Both masks as wide as the first. */
static codegen_c_text binary_mask(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a, const char *op,
                                  codegen_c_text b) {
  int lanes = codegen_c_lanes(m, e);
  return codegen_c_binary(m, a, op, lanes > 1 ? codegen_c_widen_mask(m, b, a.mask_bytes, lanes) : b);
}

/* Not, of an int that is 0 or 1 or of a mask. */
static codegen_c_text negate(codegen_c_emitter *m, codegen_c_text a) {
  const char *text = codegen_c_wrap(m, a, CODEGEN_C_UNARY);
  codegen_c_text result = codegen_c_format(m, CODEGEN_C_UNARY, "%s%s", a.mask_bytes ? "~" : "!", text);
  result.mask_bytes = a.mask_bytes;
  return result;
}

/* Lanes of 0 and -1 keep their value when they are widened or narrowed. */
codegen_c_text codegen_c_widen_mask(codegen_c_emitter *m, codegen_c_text mask, int bytes, int lanes) {
  if (mask.mask_bytes == bytes) return mask;
  const char *type = codegen_c_mask(m, bytes, lanes);
  codegen_c_text wide = codegen_c_format(m, CODEGEN_C_CALL, "__builtin_convertvector(%s, %s)", mask.text, type);
  wide.mask_bytes = bytes;
  return wide;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* A cast binds like a unary operator. */
static codegen_c_text cast_text(codegen_c_emitter *m, const char *type, codegen_c_text a) {
  return codegen_c_format(m, CODEGEN_C_UNARY, "(%s)%s", type, codegen_c_wrap(m, a, CODEGEN_C_UNARY));
}

/* (T)((U)a op (U)b) */
static codegen_c_text wrapping(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a, const char *op,
                               codegen_c_text b) {
  tn_dtype dtype = (tn_dtype)e->dtype;
  const char *type = codegen_c_type(dtype), *wide = dtype == TN_I64 ? "uint64_t" : "uint32_t";
  if (codegen_c_lanes(m, e) > 1) {
    type = codegen_c_vector(m, dtype, e->lanes, 0);
    wide = codegen_c_wrapping_vector(m, dtype, e->lanes);
  }
  codegen_c_text value = codegen_c_binary(m, cast_text(m, wide, a), op, cast_text(m, wide, b));
  return cast_text(m, type, value);
}

/* What C computes modulo 2^n already: u32, and vectors of unsigned lanes, whose arithmetic is not
 * promoted. */
static bool wraps_by_itself(const codegen_c_emitter *m, const tir_expr *e) {
  tn_dtype dtype = (tn_dtype)e->dtype;
  if (tn_dtype_is_float(dtype) || dtype == TN_U32) return true;
  return codegen_c_lanes(m, e) > 1 && !tn_dtype_is_signed(dtype);
}

/* Booleans: the sum is "or", as tir/ir.h wraps it by != 0. */
codegen_c_text codegen_c_arithmetic(codegen_c_emitter *m, const tir_expr *e) {
  static const char *const of_bool[TIR_OP_COUNT] = {[TIR_ADD] = "|", [TIR_SUB] = "^", [TIR_MUL] = "&"};
  if (e->op == TIR_DIV && !tn_dtype_is_float((tn_dtype)e->dtype)) {
    codegen_c_fail(m, TN_ERROR_INTERNAL, "/ of integers reached code generation");
  }
  codegen_c_text a = codegen_c_value(m, e->arg[0]), b = codegen_c_value(m, e->arg[1]);
  const char *op = tir_op_table[e->op].text;
  if (e->dtype == TN_BOOL && of_bool[e->op] != NULL) return binary_mask(m, e, a, of_bool[e->op], b);
  if (codegen_c_is_index(m, e) || wraps_by_itself(m, e)) return codegen_c_binary(m, a, op, b);
  return wrapping(m, e, a, op, b);
}

/* Narrow unsigned integers are inverted by ^: gcc warns where a promoted ~ is compared. */
codegen_c_text codegen_c_bits(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text a = codegen_c_value(m, e->arg[0]);
  if (e->op != TIR_BITNOT) return codegen_c_binary(m, a, tir_op_table[e->op].text, codegen_c_value(m, e->arg[1]));
  bool is_narrow = e->dtype == TN_U8 || e->dtype == TN_U16;
  if (is_narrow && codegen_c_lanes(m, e) == 1) {
    return codegen_c_binary(m, a, "^", codegen_c_format(m, CODEGEN_C_ATOM, e->dtype == TN_U8 ? "0xff" : "0xffff"));
  }
  codegen_c_text inverted = codegen_c_format(m, CODEGEN_C_UNARY, "~%s", codegen_c_wrap(m, a, CODEGEN_C_UNARY));
  return codegen_c_lanes(m, e) > 1 ? inverted : cast_text(m, codegen_c_type((tn_dtype)e->dtype), inverted);
}

/* ---- division ---------------------------------------------------------------------------------------------------- */

/* Whether C's own division is right: by a positive constant, of what is not negative. */
static bool divides_plainly(codegen_c_emitter *m, const tir_expr *e) {
  int64_t by;
  if (!tir_is_int(e->arg[1], &by) || by <= 0) return false;
  if (!tn_dtype_is_signed((tn_dtype)e->dtype)) return true;
  return codegen_c_is_index(m, e->arg[0]) && tir_bounds(m->env, e->arg[0]).lo >= 0;
}

/* bool: b is 1 (the quotient is a, the remainder 0) or 0 (both are 0). */
static codegen_c_text divide_bool(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text a = codegen_c_value(m, e->arg[0]);
  codegen_c_text b = e->op == TIR_FLOORMOD ? negate(m, a) : codegen_c_value(m, e->arg[1]);
  return binary_mask(m, e, a, "&", b);
}

/* By a helper where the sign or the divisor is not known. */
codegen_c_text codegen_c_division(codegen_c_emitter *m, const tir_expr *e) {
  bool is_modulo = e->op == TIR_FLOORMOD;
  if (e->dtype == TN_BOOL) return divide_bool(m, e);
  if (divides_plainly(m, e)) {
    codegen_c_text a = codegen_c_value(m, e->arg[0]), b = codegen_c_value(m, e->arg[1]);
    return codegen_c_binary(m, a, is_modulo ? "%" : "/", b);
  }
  tn_dtype dtype = codegen_c_lanes(m, e) == 1 && codegen_c_is_index(m, e) ? TN_I64 : (tn_dtype)e->dtype;
  const char *name = codegen_c_use(m, is_modulo ? CODEGEN_C_FLOORMOD : CODEGEN_C_FLOORDIV, dtype);
  if (codegen_c_lanes(m, e) > 1) return codegen_c_call_lanes(m, name, e);
  return codegen_c_call(m, name, 2, (codegen_c_text[]){codegen_c_value(m, e->arg[0]), codegen_c_value(m, e->arg[1])});
}

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

/* Of booleans: one of them negated, and joined: a < b is !a & b. */
static codegen_c_text compare_bool(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a, codegen_c_text b) {
  static const struct {
    bool negates_a, negates_b;
    const char *op;
  } rows[TIR_OP_COUNT] = {[TIR_EQ] = {true, false, "^"}, [TIR_NE] = {false, false, "^"}, [TIR_LT] = {true, false, "&"},
                          [TIR_LE] = {true, false, "|"}, [TIR_GT] = {false, true, "&"},  [TIR_GE] = {false, true, "|"}};
  if (rows[e->op].negates_a) a = negate(m, a);
  if (rows[e->op].negates_b) b = negate(m, b);
  return binary_mask(m, e, a, rows[e->op].op, b);
}

/* Integers compared with themselves come from simplified indices; gcc warns of them. */
codegen_c_text codegen_c_compare(codegen_c_emitter *m, const tir_expr *e, codegen_c_text a, codegen_c_text b) {
  bool is_float = tn_dtype_is_float((tn_dtype)e->arg[0]->dtype);
  if (is_float || strcmp(a.text, b.text) != 0) return codegen_c_binary(m, a, tir_op_table[e->op].text, b);
  bool holds = e->op == TIR_EQ || e->op == TIR_LE || e->op == TIR_GE;
  return codegen_c_format(m, CODEGEN_C_ATOM, holds ? "1" : "0");
}

/* A vector's result is a mask as wide as what was compared. */
codegen_c_text codegen_c_comparison(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text a = codegen_c_value(m, e->arg[0]), b = codegen_c_value(m, e->arg[1]);
  if (e->arg[0]->dtype == TN_BOOL) return compare_bool(m, e, a, b);
  codegen_c_text both = codegen_c_compare(m, e, a, b);
  if (codegen_c_lanes(m, e) == 1) return both;
  if (both.prec == CODEGEN_C_ATOM) {
    const tir_expr *always = tir_int(&m->arena, TN_BOOL, *both.text == '1');
    return codegen_c_value(m, tir_broadcast(&m->arena, always, e->lanes));
  }
  int bytes = (int)tn_dtype_bytes((tn_dtype)e->arg[0]->dtype);
  codegen_c_text mask = cast_text(m, codegen_c_mask(m, bytes, e->lanes), both);
  mask.mask_bytes = bytes;
  return mask;
}

/* Scalars by && and ||, which do not evaluate the right side when it does not matter; vectors evaluate
 * both. */
codegen_c_text codegen_c_logic(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text a = codegen_c_value(m, e->arg[0]);
  if (e->op == TIR_NOT) return negate(m, a);
  codegen_c_text b = codegen_c_value(m, e->arg[1]);
  bool is_and = e->op == TIR_AND;
  if (codegen_c_lanes(m, e) > 1) return binary_mask(m, e, a, is_and ? "&" : "|", b);
  return codegen_c_binary(m, a, is_and ? "&&" : "||", b);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* m ? a : b of bool vectors, all as wide as M. */
static codegen_c_text choose_mask(codegen_c_emitter *m, const tir_expr *e, codegen_c_text mask, codegen_c_text a,
                                  codegen_c_text b) {
  codegen_c_text on = binary_mask(m, e, mask, "&", a), off = binary_mask(m, e, negate(m, mask), "&", b);
  return codegen_c_binary(m, on, "|", off);
}

/* MASK is written twice, hence named. */
static codegen_c_text choose_vector(codegen_c_emitter *m, const tir_expr *e, codegen_c_text mask, codegen_c_text a,
                                    codegen_c_text b) {
  if (e->dtype == TN_BOOL) return choose_mask(m, e, codegen_c_named(m, e, mask), a, b);
  int bytes = (int)tn_dtype_bytes((tn_dtype)e->dtype);
  mask = codegen_c_named(m, e, codegen_c_widen_mask(m, mask, bytes, e->lanes));
  const char *type = codegen_c_vector(m, (tn_dtype)e->dtype, e->lanes, CODEGEN_C_SELECT);
  const char *yes = codegen_c_wrap(m, a, CODEGEN_C_CALL), *no = codegen_c_wrap(m, b, CODEGEN_C_CALL); /* a macro's */
  return codegen_c_format(m, CODEGEN_C_CALL, "%s_select(%s, %s, %s)", type, mask.text, yes, no);
}

/* ?: evaluates one side, as SELECT allows. */
codegen_c_text codegen_c_select(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text c = codegen_c_value(m, e->arg[0]);
  codegen_c_text a = codegen_c_value(m, e->arg[1]), b = codegen_c_value(m, e->arg[2]);
  if (codegen_c_lanes(m, e) > 1) return choose_vector(m, e, c, a, b);
  return codegen_c_format(m, CODEGEN_C_TERNARY, "%s ? %s : %s", codegen_c_wrap(m, c, CODEGEN_C_BITS),
                          codegen_c_wrap(m, a, CODEGEN_C_LOGIC), codegen_c_wrap(m, b, CODEGEN_C_LOGIC));
}

/* MIN(a, b) = a < b ? a : b, MAX with >, also for NaN and signed zeros. */
codegen_c_text codegen_c_min_max(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text a = codegen_c_value(m, e->arg[0]), b = codegen_c_value(m, e->arg[1]);
  bool is_min = e->op == TIR_MIN;
  if (e->dtype == TN_BOOL) return binary_mask(m, e, a, is_min ? "&" : "|", b);
  if (codegen_c_lanes(m, e) == 1) {
    tn_dtype dtype = codegen_c_is_index(m, e) ? TN_I64 : (tn_dtype)e->dtype;
    return codegen_c_call(m, codegen_c_use(m, is_min ? CODEGEN_C_MIN : CODEGEN_C_MAX, dtype), 2,
                          (codegen_c_text[]){a, b});
  }
  a = codegen_c_named(m, e, a);
  b = codegen_c_named(m, e, b);
  int bytes = (int)tn_dtype_bytes((tn_dtype)e->dtype);
  codegen_c_text mask = cast_text(m, codegen_c_mask(m, bytes, e->lanes), codegen_c_binary(m, a, is_min ? "<" : ">", b));
  mask.mask_bytes = bytes;
  return choose_vector(m, e, mask, a, b);
}
