/* condition.c: parses a condition over the axes of a compute, as schedules have them for stores. */
#include "te/parser.h"

/* Parses the whole text. NULL after a message with the place. Reads are refused: where the condition is
 * evaluated, no tensor is at hand. */
static const tir_expr *parse(te_parser *p) {
  const char *at = p->lexer.site.text;
  te_advance(p);
  te_operand o = te_parse_expr(p, 0);
  if (o.value.kind == TN_ARG_NONE) return NULL;
  if (p->token.kind != TE_TOKEN_END) return te_fail_expected(p, "the end of the condition"), NULL;
  if (te_is_number(o.value) || te_arg_dtype(o.value) != TN_BOOL)
    return te_parse_fail(p, at, "this is no condition: compare axes, as in i >= 1 && i < 15"), NULL;
  const tir_expr *e = te_arg_node(te_parse_site(p, at), o.value);
  if (e && (tir_has_op(e, TIR_READ) || tir_has_op(e, TIR_REDUCE)))
    return te_parse_fail(p, at, "a condition of the schedule reads no tensors: use axes and numbers"), NULL;
  return e;
}

const tir_expr *te_parse_condition(tn_context *ctx, int n_axes, tn_axis *const *axes, const char *text) {
  te_parser p = {.lexer = {.site = {ctx, text, text}, .next = text, .has_dots = true}};
  for (int i = 0; i < n_axes; i++) p.axes[p.n_axes++] = axes[i];
  const tir_expr *e = parse(&p);
  RUNTIME_VEC_FREE(&p.symbols);
  RUNTIME_VEC_FREE(&p.params);
  RUNTIME_VEC_FREE(&p.reads);
  RUNTIME_VEC_FREE(&p.outputs);
  return e;
}
