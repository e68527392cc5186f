/* parse_extern.c: the statement that calls a C function: `extern y: f32[4] = f(A, x)` or `extern (y:
 * f32[4], z: i32[2, 2]) = f(A)`. */
#include "te/parser.h"

/* What the call computes, and where the names stand. */
typedef struct results {
  int n;
  tn_result result[TIR_MAX_VALUES];
  const char *at[TIR_MAX_VALUES];
  te_extent extents[TIR_MAX_VALUES][TN_MAX_RANK];
} results;

/* Names must differ within the call; each was checked to be free. */
static bool parse_result(te_parser *p, results *r) {
  tn_result *result = &r->result[r->n];
  if (r->n == TIR_MAX_VALUES)
    return te_parse_fail(p, p->token.at, "a call computes at most %d tensors", (int)TIR_MAX_VALUES);
  if (!te_parse_typed_name(p, "the name of what is computed", &result->name, &r->at[r->n], &result->dtype))
    return false;
  for (int v = 0; v < r->n; v++)
    if (strcmp(r->result[v].name, result->name) == 0)
      return te_parse_fail(p, r->at[r->n], "'%s' names two results of this call", result->name);
  result->rank = te_parse_shape(p, r->extents[r->n]);
  for (int d = 0; d < result->rank; d++) {
    result->shape[d] = r->extents[r->n][d].most;
    result->size[d] =
        r->extents[r->n][d].size ? te_new_expr(te_parse_site(p, r->at[r->n]), r->extents[r->n][d].size, 0, NULL) : NULL;
  }
  r->n++;
  return result->rank >= 0;
}

/* `name: dtype[extents]`, or several in parentheses */
static bool parse_results(te_parser *p, results *r) {
  if (!te_accept(p, "(")) return parse_result(p, r);
  do {
    if (!parse_result(p, r)) return false;
  } while (te_accept(p, ","));
  return te_expect(p, ")", "',' or ')'");
}

/* A number: made of literals, parameters and symbols, or a cast of such. */
static bool parse_number(te_parser *p, tn_arg *arg) {
  te_operand number = te_parse_expr(p, 0);
  if (number.value.kind == TN_ARG_NONE) return false;
  *arg = number.value;
  const char *why = te_why_not_passed(*arg);
  return !why || te_parse_fail(p, number.at, "this argument %s", why);
}

/* Whether a name can only be a tensor's: it is no parameter, no symbol and no word of the language. */
static bool is_of_tensor(te_parser *p, const char *name) {
  return !te_find_param(p, name) && !te_find_size(p, name) && !te_is_reserved(name);
}

/* An argument: a result of the call, a tensor defined before this statement, or a number. */
static bool parse_arg(te_parser *p, const results *r, tn_arg *arg) {
  const char *at = p->token.at, *name = p->token.kind == TE_TOKEN_NAME ? te_token_text(p, &p->token) : NULL;
  te_named *symbol = name ? te_find_named(p, name) : NULL;
  int v = 0;
  while (name && v < r->n && strcmp(r->result[v].name, name) != 0) v++;
  bool is_result = name && v < r->n;
  if (!symbol && !is_result && name && is_of_tensor(p, name))
    return te_parse_fail(p, at, "'%s' is not given before this statement: declare it, as in input %s: f32[8]", name,
                         name);
  if (!symbol && !is_result) return parse_number(p, arg);
  te_advance(p);
  if (symbol) symbol->is_read = true;
  *arg = symbol ? tn_arg_tensor(symbol->tensor) : tn_arg_result(v);
  return true;
}

/* `(A, x)`. Returns how many; -1: failed. */
static int parse_args(te_parser *p, const results *r, tn_arg *args) {
  int n = 0;
  p->n_axes = p->reads.n = 0;
  if (!te_expect(p, "(", "'(' and what the function reads")) return -1;
  if (te_accept(p, ")")) return 0;
  do {
    if (n == RUNTIME_MAX_C_ARGS)
      return te_parse_fail(p, p->token.at, "a call has at most %d arguments", (int)RUNTIME_MAX_C_ARGS), -1;
    if (!parse_arg(p, r, &args[n++])) return -1;
  } while (te_accept(p, ","));
  return te_expect(p, ")", "',' or ')'") ? n : -1;
}

/* The function is known by its name only, until tn_program_bind or tn_program_link. */
bool te_parse_extern(te_parser *p) {
  results r = {0};
  tn_arg args[RUNTIME_MAX_C_ARGS];
  const char *at;
  if (!parse_results(p, &r) || !te_expect(p, "=", "'=' and the call")) return false;
  const char *name = te_take_name(p, "the name of a function", &at);
  tir_callee *callee = name ? te_callee(te_parse_site(p, at), name) : NULL;
  int n = callee ? parse_args(p, &r, args) : -1;
  if (n < 0) return false;
  tn_tensor *first = te_extern(te_parse_site(p, at), callee, r.n, r.result, n, args);
  for (int v = 0; first && v < r.n; v++)
    if (!te_add_named(p, (te_named){&first->op->outputs[v], r.at[v], false, false})) return false;
  return first != NULL;
}
