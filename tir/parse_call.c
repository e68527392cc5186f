/* parse_call.c: calls of C functions in loop IR from text: call axpy(reads(A[i*4], [4]), updates(C[i*4], [4]), 2f32). A
 * function is known by its name alone. */
#include "tir/parser.h"
#include "tir/text.h"

/* The function of that name in this text. */
static const tir_callee *find_callee(parser *p, const char *name) {
  for (int i = 0; i < p->n_callees; i++) {
    if (strcmp(p->callees[i]->name, name) == 0) return p->callees[i];
  }
  tir_callee *callee = (tir_callee *)parser_made(p, RUNTIME_NEW(p->arena, tir_callee));
  p->callees = parser_room(p, p->callees, p->n_callees, sizeof *p->callees);
  if (callee == NULL || p->callees == NULL) return NULL;
  callee->name = name;
  return p->callees[p->n_callees++] = callee;
}

/* [1, 4]: an extent of the box in each dimension. */
static bool parse_span(parser *p, tir_operand *o) {
  if (!parser_need(p, "[")) return false;
  for (int i = 0; i < o->n_index; i++) {
    if (i > 0 && !parser_need(p, ",")) return false;
    const char *at = parser_here(p);
    if (!parser_integer(p, &o->span[i])) return false;
    if (o->buffer->size[i] != NULL && o->span[i] >= 0) continue;
    if (o->span[i] < 1 || o->span[i] > o->buffer->shape[i])
      return parser_fail(p, at, "expected 1 to %lld elements of '%s'", (long long)o->buffer->shape[i], o->buffer->name);
  }
  return parser_need(p, "]");
}

/* Behind "reads(": element, box). */
static bool parse_address(parser *p, tir_operand *o) {
  parser_access access;
  const char *at = parser_here(p), *name = parser_word(p, "an element of a buffer");
  if (name == NULL || !parser_access_rest(p, name, at, &access) || !parser_need(p, ",")) return false;
  bool is_scalar = access.predicate == NULL;
  o->buffer = access.buffer;
  o->n_index = access.n;
  for (int i = 0; i < access.n; i++) {
    o->index[i] = access.index[i];
    is_scalar = is_scalar && access.index[i]->lanes == 1;
  }
  if (!is_scalar) return parser_fail(p, at, "expected one element without a predicate");
  parser_param *param = parser_param_of(p, access.buffer);
  if (param != NULL && o->access != TIR_READS) param->is_stored = true;
  return parse_span(p, o) && parser_need(p, ")");
}

/* A word in front says that it is an address; a number has none. */
static bool parse_operand(parser *p, tir_operand *o) {
  const char *at = parser_here(p);
  *o = (tir_operand){.access = TIR_BY_VALUE};
  for (int i = TIR_READS; i < TIR_ACCESS_COUNT; i++) {
    if (!parser_accept_word(p, tir_access_words[i])) continue;
    o->access = (tir_access)i;
    return parser_need(p, "(") && parse_address(p, o);
  }
  if ((o->value = parser_expr(p)) == NULL) return false;
  tn_dtype dtype = (tn_dtype)o->value->dtype;
  bool passes = dtype == TN_I32 || dtype == TN_I64 || dtype == TN_F32 || dtype == TN_F64;
  return (passes && o->value->lanes == 1) ||
         parser_fail(p, at, "expected reads, writes, updates, or a number of int32, int64, float32 or float64");
}

/* What the function is (in this process, a module) is not in the text: the callee has a name only. */
const tir_stmt *parser_call(parser *p) {
  tir_operand *operands = NULL;
  int n = 0;
  const char *name = parser_word(p, "the name of a C function");
  const tir_callee *callee = name != NULL && parser_need(p, "(") ? find_callee(p, name) : NULL;
  if (callee == NULL) return NULL;
  for (; !parser_accept(p, ")"); n++) {
    if (n > 0 && !parser_need(p, ",")) return NULL;
    if ((operands = parser_room(p, operands, n, sizeof *operands)) == NULL || !parse_operand(p, &operands[n]))
      return NULL;
  }
  return tir_call(p->arena, callee, n, operands);
}
