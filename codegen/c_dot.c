/* c_dot.c: dot products of groups of lanes in C, lane by lane; compilers make vector code of the line. */
#include "codegen/c_emit.h"

/* The lane of operand I that holds its K-th factor of lane `lane`. */
static codegen_c_text factor(codegen_c_emitter *m, const tir_expr *e, int i, int k) {
  const char *at = runtime_format(&m->arena, "%d * lane%s%s", tir_dot_group((tn_dtype)e->dtype), k > 0 ? " + " : "",
                                  k > 0 ? runtime_format(&m->arena, "%d", k) : "");
  codegen_c_text lane = codegen_c_at_lane(m, e->arg[i], at);
  if (e->dtype == TN_I32) return lane;
  return codegen_c_call(m, codegen_c_use(m, CODEGEN_C_FROM_BF16, TN_BF16), 1, &lane);
}

/* The K-th product of a lane, not added up. */
static codegen_c_text product(codegen_c_emitter *m, const tir_expr *e, int k) {
  return codegen_c_binary(m, factor(m, e, 1, k), "*", factor(m, e, 2, k));
}

/* Products of bytes and the sum of four are far from the ends of an int; the accumulator wraps. */
static codegen_c_text lane_of_i8(codegen_c_emitter *m, const tir_expr *e, codegen_c_text acc) {
  codegen_c_text sum = product(m, e, 0);
  for (int k = 1; k < 4; k++) sum = codegen_c_binary(m, sum, "+", product(m, e, k));
  return codegen_c_format(m, CODEGEN_C_UNARY, "(int32_t)((uint32_t)%s + (uint32_t)(%s))", acc.text, sum.text);
}

/* In the order of vdpbf16ps, odd lanes first, so that both back ends round alike. */
codegen_c_text codegen_c_dot(codegen_c_emitter *m, const tir_expr *e) {
  codegen_c_text acc = codegen_c_at_lane(m, e->arg[0], "lane"), sum;
  if (m->lane != NULL || e->lanes == 1) {
    codegen_c_fail(m, TN_ERROR_INTERNAL, "%s stands in a store that is no plain vector", tir_op_table[e->op].text);
    return acc;
  }
  if (e->dtype == TN_I32) {
    sum = lane_of_i8(m, e, acc);
  } else {
    sum = codegen_c_binary(m, acc, "+", product(m, e, 1));
    sum = codegen_c_binary(m, sum, "+", product(m, e, 0));
  }
  return codegen_c_lane_by_lane(m, e, sum, NULL);
}
