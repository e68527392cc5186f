/* parse_expr.c: expressions of the text form, by precedence climbing over the table of infix operators.
 * Values are arguments as in C calls: literals and parameters stay numbers until an operator gives them a
 * dtype. */
#include <math.h>

#include "te/language.h"
#include "te/parser.h"

static const te_operand failed = {.value = {.kind = TN_ARG_NONE}};

static te_operand make(const char *at, tn_arg value) { return (te_operand){value, at}; }
static te_operand made(const char *at, tn_expr *e) { return e ? make(at, tn_arg_expr(e)) : failed; }
/* Failures are reported where they occur; callers only pass them on. */
static bool is_failed(te_operand o) { return o.value.kind == TN_ARG_NONE; }

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* An i64 above 2^53 is rounded, as in C. */
static double as_double(tn_arg number) { return number.kind == TN_ARG_INT ? (double)number.u.i : number.u.f; }

/* Whether the result of two integers is an integer: + - * // % min max. */
static bool is_integer_arithmetic(tir_op op) { return tir_op_table[op].rule == TIR_RULE_ARITHMETIC && op != TIR_DIV; }

/* Arithmetic on two numbers gives a number. kind TN_ARG_NONE: it gives an expression (as a comparison
 * does), or overflows. */
static tn_arg fold_numbers(tir_op op, tn_arg a, tn_arg b) {
  int64_t i;
  double f;
  bool folds = false;
  if (tir_op_table[op].rule != TIR_RULE_ARITHMETIC) return (tn_arg){.kind = TN_ARG_NONE};
  if (a.kind == TN_ARG_INT && b.kind == TN_ARG_INT) {
    folds = is_integer_arithmetic(op) && tir_op_table[op].on_integers(a.u.i, b.u.i, 64, &i);
    return folds ? tn_arg_int(i) : (tn_arg){.kind = TN_ARG_NONE};
  }
  return tir_float_value(op, as_double(a), as_double(b), &f) ? tn_arg_float(f) : (tn_arg){.kind = TN_ARG_NONE};
}

/* Whether both are numbers without a point. */
static bool are_integers(const te_operand *args) {
  return args[0].value.kind == TN_ARG_INT && args[1].value.kind == TN_ARG_INT;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Applies the operator at AT. */
static te_operand apply(te_parser *p, const char *text, const char *at, int n, const te_operand *args) {
  tn_arg values[3];
  for (int i = 0; i < n; i++) {
    if (!te_check_one_value(te_parse_site(p, args[i].at), args[i].value)) return failed;
    values[i] = args[i].value;
  }
  int op = te_find_op(text);
  if (n == 2 && op >= 0 && te_is_number(values[0]) && te_is_number(values[1])) {
    tn_arg number = fold_numbers((tir_op)op, values[0], values[1]);
    if (number.kind != TN_ARG_NONE) return make(args[0].at, number);
    if (are_integers(args) && is_integer_arithmetic((tir_op)op))
      return te_parse_fail(p, at, "the integer constant does not fit i64"), failed;
  }
  return made(args[0].at, te_operator(te_parse_site(p, at), text, n, values));
}

/* A sign before a literal is part of the literal, so that the lowest i64 can be written. */
static te_operand negative_literal(te_parser *p, const char *at) {
  te_token t = p->token;
  te_advance(p);
  return make(at, t.kind == TE_TOKEN_INT ? tn_arg_int((int64_t)(0 - t.magnitude)) : tn_arg_float(-t.value));
}

/* A number stays a number, except the lowest i64, which has no positive counterpart. */
static te_operand negate(te_parser *p, const char *at, te_operand a) {
  if (a.value.kind == TN_ARG_FLOAT) return make(at, tn_arg_float(-a.value.u.f));
  if (a.value.kind == TN_ARG_INT && a.value.u.i != INT64_MIN) return make(at, tn_arg_int(-a.value.u.i));
  return apply(p, "neg", at, 1, &a);
}

static te_operand parse_primary(te_parser *p);

/* Prefixes bind more tightly than all infix operators. */
static te_operand parse_prefix(te_parser *p) {
  const char *at = p->token.at;
  const char *not_text = te_token_is(&p->token, "!") ? "!" : te_token_is(&p->token, "~") ? "~" : NULL;
  bool is_not = not_text != NULL;
  if (!is_not && !te_token_is(&p->token, "-")) return parse_primary(p);
  te_advance(p);
  if (!is_not && (p->token.kind == TE_TOKEN_INT || p->token.kind == TE_TOKEN_FLOAT)) return negative_literal(p, at);
  if (++p->nesting > TE_MAX_NESTING) return te_parse_fail(p, at, "the expression is nested too deeply"), failed;
  te_operand a = parse_prefix(p);
  p->nesting--;
  if (is_failed(a)) return failed;
  a = is_not ? apply(p, not_text, at, 1, &a) : negate(p, at, a);
  a.at = at;
  return a;
}

/* The infix operator here; NULL: the expression ends. */
static const te_infix *infix_at(const te_parser *p) {
  return p->token.kind == TE_TOKEN_SYMBOL ? te_find_infix_text(p->token.at, p->token.length) : NULL;
}

/* Precedence climbing: the right operand takes all operators that bind more tightly, the loop takes the
 * rest. After an operator the expression may continue on the next line. */
te_operand te_parse_expr(te_parser *p, int precedence) {
  te_operand left = parse_prefix(p);
  const te_infix *infix;
  while (!is_failed(left) && (infix = infix_at(p)) != NULL && infix->precedence >= precedence) {
    const char *at = p->token.at;
    te_advance(p);
    te_skip_newlines(p);
    te_operand right = te_parse_expr(p, infix->precedence + 1);
    if (is_failed(right)) return failed;
    const te_infix *next = infix_at(p);
    if (next && !infix->chains && next->precedence == infix->precedence)
      return te_parse_fail(p, p->token.at, "comparisons do not chain: write a < b && b < c"), failed;
    left = apply(p, infix->text, at, 2, (te_operand[]){left, right});
  }
  return left;
}

/* Comparisons are left out, so that `param N = 4 < 5` is an error at the '<'. */
bool te_parse_integer(te_parser *p, const char *what, int64_t *value) {
  te_operand o = te_parse_expr(p, te_find_infix(TIR_ADD)->precedence);
  if (is_failed(o)) return false;
  if (o.value.kind != TN_ARG_INT)
    return te_parse_fail(p, o.at, "%s must be a constant integer made of literals and parameters, such as 8 or 2*N",
                         what);
  *value = o.value.u.i;
  return true;
}

bool te_parse_extent(te_parser *p, const char *what, te_extent *extent) {
  te_operand o = te_parse_expr(p, te_find_infix(TIR_ADD)->precedence);
  if (is_failed(o)) return false;
  if (o.value.kind == TN_ARG_INT || (o.value.kind == TN_ARG_EXPR && p->sizes.n > 0))
    return te_extent_of(te_parse_site(p, o.at), what, o.value, extent);
  return te_parse_fail(
      p, o.at, "%s must be a constant integer made of literals and parameters, such as 8 or 2*N, or made of symbols",
      what);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Expressions separated by commas, up to and including CLOSE. Returns how many; -1: failed. */
static int parse_list(te_parser *p, const char *close, const char *expected, int limit, te_operand *list) {
  int n = 0;
  if (te_accept(p, close)) return 0;
  do {
    te_operand item = te_parse_expr(p, 0);
    if (is_failed(item)) return -1;
    if (n == limit) return te_parse_fail(p, item.at, "more than %d values", limit), -1;
    list[n++] = item;
  } while (te_accept(p, ","));
  return te_expect(p, close, expected) ? n : -1;
}

/* The opening parenthesis is not taken yet. */
int te_parse_values(te_parser *p, te_operand *list) {
  const char *at = p->token.at;
  if (!te_expect(p, "(", "'('")) return -1;
  int n = parse_list(p, ")", "',' or ')'", TIR_MAX_VALUES, list);
  if (n == 0) te_parse_fail(p, at, "a tuple has 1 to %d values, not 0", (int)TIR_MAX_VALUES);
  return n > 0 ? n : -1;
}

/* `dtype(x)` */
static te_operand parse_cast(te_parser *p, const char *at, tn_dtype dtype) {
  te_operand arg;
  te_advance(p);
  int n = parse_list(p, ")", "')'", 1, &arg);
  if (n == 0) te_parse_fail(p, at, "a cast takes one value");
  return n == 1 ? made(at, te_cast(te_parse_site(p, arg.at), dtype, arg.value)) : failed;
}

/* Reports an unknown function with the list of all; without memory for the list it says "others". */
static void list_functions(te_parser *p, const char *at, const char *name) {
  runtime_str functions = {0};
  te_add_functions(&functions);
  te_parse_fail(p, at, "unknown function '%s': there are %s; a tensor is read with [ ]", name,
                functions.failed ? "others" : functions.data);
  runtime_str_free(&functions);
}

/* Each guess is a mistake that users made: a reduction without axes, a tensor with ( ), a name from NumPy. */
static te_operand unknown_function(te_parser *p, const char *at, const char *name) {
  const char *near = te_nearest_function(name), *other = te_other_spelling(name);
  if (te_find_combiner(name) >= 0 || te_find_position_reduction(name) >= 0 || te_find_named_combiner(p, name))
    te_parse_fail(p, at, "the reduction '%s' needs its axes: %s[k<10](...)", name, name);
  else if (te_find_named(p, name))
    te_parse_fail(p, at, "'%s' is a tensor: read it with [ ]", name);
  else if (other)
    te_parse_fail(p, at, "unknown function '%s': write %s", name, other);
  else if (near)
    te_parse_fail(p, at, "unknown function '%s'; did you mean '%s'?", name, near);
  else
    list_functions(p, at, name);
  return failed;
}

/* `f(x, y)`; the name is taken already. */
static te_operand parse_call(te_parser *p, const char *at, const char *name) {
  tn_dtype dtype;
  te_operand args[3];
  if (tn_dtype_parse(name, &dtype)) return parse_cast(p, at, dtype);
  if (te_find_op(name) < 0) return unknown_function(p, at, name);
  te_advance(p);
  int n = parse_list(p, ")", "',' or ')'", 3, args);
  if (n == 0) te_parse_fail(p, at, "'%s' is given no operands", name);
  if (n <= 0) return failed;
  te_operand result = apply(p, name, at, n, args);
  result.at = at;
  return result;
}

/* How a reduction combines: by a built-in combiner (KIND), as argmax or argmin (IS_MAX), or by the
 * program's own (TUPLE). */
typedef struct reducer {
  enum { REDUCE_VALUES, REDUCE_POSITIONS, REDUCE_TUPLES } what;
  tir_combiner kind;
  bool is_max;
  const tir_tuple_combiner *tuple;
} reducer;

/* Built-in names come first; a program cannot define them. */
static bool find_reducer(te_parser *p, const char *name, reducer *out) {
  int kind = te_find_combiner(name), position = te_find_position_reduction(name);
  const te_named_combiner *named = te_find_named_combiner(p, name);
  *out = (reducer){REDUCE_TUPLES, .tuple = named ? &named->combiner->combiner : NULL};
  if (kind >= 0) *out = (reducer){REDUCE_VALUES, .kind = (tir_combiner)kind};
  if (position >= 0) *out = (reducer){REDUCE_POSITIONS, .is_max = position == 1};
  return kind >= 0 || position >= 0 || named;
}

/* The parts after a reduction's axes: `where cond` and `init = value` or `init = (value, value)`. */
typedef struct reduction_parts {
  te_operand where; /* `failed`: not given */
  int n_init;       /* 0: not given */
  te_operand init[TIR_MAX_VALUES];
} reduction_parts;

/* Parses one expression; false after a message. */
static bool parse_part(te_parser *p, te_operand *part) {
  *part = te_parse_expr(p, 0);
  return !is_failed(*part);
}

/* Several values are in parentheses; a single one may be. */
static bool parse_init(te_parser *p, const reducer *by, reduction_parts *parts) {
  if (!te_expect(p, "=", "'=' and what to start from")) return false;
  bool is_tuple = by->what == REDUCE_POSITIONS || (by->what == REDUCE_TUPLES && by->tuple->n_values > 1);
  parts->n_init = is_tuple ? te_parse_values(p, parts->init) : 1;
  return is_tuple ? parts->n_init > 0 : parse_part(p, parts->init);
}

/* `where` comes before `init`; either may be missing. */
static bool parse_parts(te_parser *p, const reducer *by, reduction_parts *parts) {
  if (!p->has_open_axes) return true;
  p->has_open_axes = false; /* those of what stands inside come and go */
  if (te_accept(p, "where") && !parse_part(p, &parts->where)) return false;
  if (te_accept(p, "init") && !parse_init(p, by, parts)) return false;
  return te_expect(p, "]", parts->n_init == 0 ? "where, init or ']'" : "an operator or ']'");
}

/* Adds the parts; a refusal is reported at the part. */
static tn_expr *add_parts(te_parser *p, tn_expr *e, const reduction_parts *parts) {
  tn_arg init[TIR_MAX_VALUES];
  for (int v = 0; v < parts->n_init; v++) init[v] = parts->init[v].value;
  if (!is_failed(parts->where)) e = te_reduction_where(te_parse_site(p, parts->where.at), e, parts->where.value);
  if (parts->n_init > 0) e = te_reduction_init(te_parse_site(p, parts->init[0].at), e, parts->n_init, init);
  return e;
}

/* The sources in their parentheses; several if tuples are combined. Returns how many; -1: failed. */
static int parse_sources(te_parser *p, const reducer *by, te_operand *list) {
  if (by->what != REDUCE_VALUES) return te_parse_values(p, list);
  if (!te_expect(p, "(", "'(' and what is reduced, as in sum[k<8](A[i,k])")) return -1;
  list[0] = te_parse_expr(p, 0);
  return !is_failed(list[0]) && te_expect(p, ")", "')'") ? 1 : -1;
}

/* Makes the reduction from its parsed sources. */
static tn_expr *reduce_by(te_parser *p, const char *at, const reducer *by, int n, const te_operand *list, int n_axes,
                          tn_axis *const *axes) {
  tn_arg sources[TIR_MAX_VALUES];
  const te_site *site = te_parse_site(p, at);
  for (int v = 0; v < n; v++) sources[v] = list[v].value;
  if (by->what == REDUCE_VALUES) return te_reduction(site, by->kind, sources[0], n_axes, axes);
  if (by->what == REDUCE_POSITIONS) return te_position_reduction(site, by->is_max, n, sources, n_axes, axes);
  return te_tuple_reduction(site, by->tuple, n, sources, n_axes, axes);
}

/* `sum[k<10](...)`: the axes are in scope within the brackets and parentheses. */
static te_operand parse_reduction(te_parser *p, const char *at, const reducer *by) {
  te_operand sources[TIR_MAX_VALUES];
  reduction_parts parts = {.where = failed};
  int outer = p->n_axes, n = te_parse_axes(p, true, TE_MAX_REDUCE_AXES);
  if (n == 0) return te_parse_fail(p, at, "a reduction needs an axis, as in sum[k<10](...)"), failed;
  if (n < 0 || !parse_parts(p, by, &parts)) return failed;
  int n_sources = parse_sources(p, by, sources);
  if (n_sources < 0) return failed;
  p->n_axes = outer;
  for (int v = 0; v < n_sources; v++)
    if (by->what != REDUCE_VALUES && !te_check_not_reduction(te_parse_site(p, sources[v].at), sources[v].value))
      return failed;
  return made(at, add_parts(p, reduce_by(p, at, by, n_sources, sources, n, p->axes + outer), &parts));
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Searches from the innermost scope outwards. */
static tn_axis *find_axis(const te_parser *p, const char *name) {
  for (int i = p->n_axes; i-- > 0;)
    if (strcmp(p->axes[i]->var.name, name) == 0) return p->axes[i];
  return NULL;
}

/* Whether an unknown name is followed by axes, as a misspelt reduction would be. The bracket is taken already. */
static bool looks_like_axes(te_parser *p) {
  const char *next = p->lexer.next + strspn(p->lexer.next, " \t");
  if (p->token.kind != TE_TOKEN_NAME || next[0] != '<' || next[1] == '=') return false;
  const char *name = te_token_text(p, &p->token);
  return name && !find_axis(p, name) && !te_find_param(p, name) && !te_find_size(p, name);
}

/* The tensor to read. A name not seen before is an input whose shape will be inferred from its reads. */
static tn_tensor *tensor_to_read(te_parser *p, const char *at, const char *name, int rank) {
  static const te_extent ones[TN_MAX_RANK] = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
  te_named *known = te_find_named(p, name);
  if (known) known->is_read = true;
  if (known) return known->tensor;
  tn_tensor *input = te_input(te_parse_site(p, at), name, TN_F32, rank, ones);
  return input && te_add_named(p, (te_named){input, at, true, true}) ? input : NULL;
}

/* Makes a read, and remembers its place for the check of its bounds. */
static te_operand read_at(te_parser *p, const char *at, tn_tensor *tensor, int n, const te_operand *index) {
  tn_arg values[TN_MAX_RANK];
  for (int i = 0; i < n; i++) {
    if (!te_check_not_reduction(te_parse_site(p, index[i].at), index[i].value)) return failed;
    values[i] = index[i].value;
  }
  tn_expr *e = te_read(te_parse_site(p, at), tensor, n, values);
  if (e && !te_has_memory(&p->lexer.site, RUNTIME_PUSH(&p->reads, ((te_read_place){e->node, at})) ? p : NULL))
    return failed;
  return made(at, e);
}

/* `name[index, index]`; the name is taken already. */
static te_operand parse_read(te_parser *p, const char *at, const char *name) {
  te_operand index[TN_MAX_RANK];
  te_advance(p);
  if (!te_find_named(p, name) && looks_like_axes(p))
    return te_parse_fail(p, at,
                         "unknown reduction '%s': they are sum, prod, max, min, any, all, argmax, argmin and this "
                         "program's combiners",
                         name),
           failed;
  int n = parse_list(p, "]", "',' or ']'", TN_MAX_RANK, index);
  if (n < 0) return failed;
  tn_tensor *tensor = tensor_to_read(p, at, name, n);
  return tensor ? read_at(p, at, tensor, n, index) : failed;
}

/* Reports a name that nothing in scope has; the message thinks of sizes first, which are forgotten most often. */
static te_operand unknown_name(te_parser *p, const char *at, const char *name) {
  if (strcmp(name, "if") == 0)
    te_parse_fail(p, at, "there is no 'if': a choice is select(condition, x, y)");
  else
    te_parse_fail(
        p, at,
        "unknown name '%s': no axis of this statement, no parameter, no tensor before it; declare a size, as in "
        "param %s=64",
        name, name);
  return failed;
}

/* A value of one of the sides of the combiner being defined; `failed`: there is none of that name. */
static te_operand find_side(te_parser *p, const char *at, const char *name) {
  for (int i = 0; p->defining && i < 2 * p->defining->combiner.n_values; i++) {
    int v = i / 2;
    const tir_var *var = i % 2 ? p->defining->combiner.rhs[v] : p->defining->combiner.lhs[v];
    if (strcmp(var->name, name) == 0) return made(at, te_combiner_side(te_parse_site(p, at), p->defining, i % 2, v));
  }
  return failed;
}

/* A name alone: an axis, a parameter, a symbol or a tensor of rank 0, in this order. */
static te_operand parse_plain_name(te_parser *p, const char *at, const char *name) {
  tn_axis *axis = find_axis(p, name);
  te_operand side = find_side(p, at, name);
  const tn_param *param = te_find_param(p, name);
  te_named *symbol = te_find_named(p, name);
  if (axis) return make(at, tn_arg_axis(axis));
  if (!is_failed(side)) return side;
  if (param) return make(at, tn_arg_int(param->value));
  if (te_find_size(p, name)) return made(at, te_symbol_value(te_parse_site(p, at), te_find_size(p, name)));
  if (!symbol) return unknown_name(p, at, name);
  symbol->is_read = true;
  if (symbol->tensor->ndim == 0) return read_at(p, at, symbol->tensor, 0, NULL);
  te_parse_fail(p, at, "'%s' has rank %d: read an element, %s[...]", name, symbol->tensor->ndim, name);
  return failed;
}

/* Whatever begins with a name; what follows it decides. */
static te_operand parse_name(te_parser *p) {
  const char *at = p->token.at, *name = te_token_text(p, &p->token);
  if (!name) return failed;
  te_advance(p);
  reducer by;
  bool is_reducer = find_reducer(p, name, &by), is_indexed = te_token_is(&p->token, "[");
  if (te_token_is(&p->token, "(")) return parse_call(p, at, name);
  if (is_indexed && is_reducer) return parse_reduction(p, at, &by);
  if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0)
    return make(at, tn_arg_float(name[0] == 'i' ? INFINITY : NAN));
  if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
    return made(at, te_cast(te_parse_site(p, at), TN_BOOL, tn_arg_int(name[0] == 't')));
  if (te_is_reserved(name)) return te_parse_fail(p, at, "'%s' cannot stand here", name), failed;
  return is_indexed ? parse_read(p, at, name) : parse_plain_name(p, at, name);
}

/* ---- primaries --------------------------------------------------------------------------------------------------- */

/* 2^63 is a literal only after a minus sign. */
static te_operand parse_literal(te_parser *p) {
  te_token t = p->token;
  te_advance(p);
  if (t.kind == TE_TOKEN_FLOAT) return make(t.at, tn_arg_float(t.value));
  if (t.magnitude > INT64_MAX) return te_parse_fail(p, t.at, "the integer does not fit i64"), failed;
  return make(t.at, tn_arg_int((int64_t)t.magnitude));
}

/* Newlines inside are blanks, since the lexer counts open parentheses. */
static te_operand parse_parentheses(te_parser *p) {
  te_advance(p);
  te_operand inner = te_parse_expr(p, 0);
  return !is_failed(inner) && te_expect(p, ")", "')' or an operator") ? inner : failed;
}

/* NESTING limits the recursion that a hostile text can cause. */
static te_operand parse_primary(te_parser *p) {
  te_operand result = failed;
  const char *at = p->token.at;
  if (++p->nesting > TE_MAX_NESTING) return te_parse_fail(p, at, "the expression is nested too deeply"), failed;
  if (p->token.kind == TE_TOKEN_INT || p->token.kind == TE_TOKEN_FLOAT)
    result = parse_literal(p);
  else if (p->token.kind == TE_TOKEN_NAME)
    result = parse_name(p);
  else if (te_token_is(&p->token, "("))
    result = parse_parentheses(p);
  else if (te_token_is(&p->token, "*") && at > p->lexer.site.text && at[-1] == '*')
    te_parse_fail(p, at - 1, "there is no '**': a power is pow(x, y), a square x*x");
  else
    te_fail_expected(p, "a value");
  p->nesting--;
  return result;
}
