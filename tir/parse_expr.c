/* parse_expr.c: expressions of loop IR from text: constants, names, accesses, calls, operators by their binding. What
 * the constructors take for granted (types, lanes) is checked here, at its place in the text. */
#include <ctype.h>

#include "tir/parser.h"
#include "tir/text.h"

enum { MAX_LANES = UINT16_MAX };

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* The type that a number's letters name; i32 without any. */
static bool suffix_dtype(parser *p, const char *at, bool is_float, tn_dtype *dtype) {
  char word[16];
  size_t n = 0;
  while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_') n++;
  const char *start = p->at;
  p->at += n;
  *dtype = TN_I32;
  if (n == 0) return !is_float || parser_fail(p, at, "expected a type behind the number, as in 1.5f32");
  if (n >= sizeof word) return parser_fail(p, start, "expected the type of the number, such as f32 or i64");
  memcpy(word, start, n);
  word[n] = '\0';
  if (!tn_dtype_parse(word, dtype) || *dtype == TN_BOOL)
    return parser_fail(p, start, "expected the type of the number, such as f32 or i64, not '%s'", word);
  return !is_float || tn_dtype_is_float(*dtype) || parser_fail(p, at, "expected a whole number of type %s", word);
}

/* Where digits, fraction and exponent end. */
static const char *number_end(const char *c, bool *is_float) {
  c += *c == '-';
  while (isdigit((unsigned char)*c)) c++;
  *is_float = *c == '.' && isdigit((unsigned char)c[1]);
  if (*is_float)
    for (c++; isdigit((unsigned char)*c);) c++;
  const char *exponent = c + 1 + (*c == 'e' && (c[1] == '+' || c[1] == '-'));
  if (*c != 'e' || !isdigit((unsigned char)*exponent)) return c;
  *is_float = true;
  for (c = exponent; isdigit((unsigned char)*c);) c++;
  return c;
}

/* The letters behind the digits are read first, as they say how to read the digits. */
static const tir_expr *parse_number(parser *p) {
  const char *at = p->at;
  bool is_float;
  tn_dtype dtype;
  int64_t value;
  p->at = number_end(at, &is_float);
  const char *end = p->at;
  if (!suffix_dtype(p, at, is_float, &dtype)) return NULL;
  if (tn_dtype_is_float(dtype)) return tir_float(p->arena, dtype, runtime_parse_float(at, NULL));
  const char *behind = p->at;
  p->at = at;
  if (!parser_integer(p, &value)) return NULL;
  if (p->at != end || tir_wrap(dtype, value) != value)
    return parser_fail(p, at, "the number does not fit %s", tir_dtype_words[dtype]), NULL;
  p->at = behind;
  return tir_int(p->arena, dtype, value);
}

/* True, False, inff32, nanf64; NULL: no such word. */
static const tir_expr *word_constant(parser *p, const char *word, bool negative) {
  tn_dtype dtype;
  if (!negative && (strcmp(word, "True") == 0 || strcmp(word, "False") == 0))
    return tir_int(p->arena, TN_BOOL, word[0] == 'T');
  bool is_inf = strncmp(word, "inf", 3) == 0, is_nan = strncmp(word, "nan", 3) == 0;
  if ((!is_inf && !is_nan) || !tn_dtype_parse(word + 3, &dtype) || !tn_dtype_is_float(dtype)) return NULL;
  double value = is_inf ? __builtin_inf() : __builtin_nan("");
  return tir_float(p->arena, dtype, negative ? -value : value);
}

/* At a minus sign or a digit. */
static const tir_expr *parse_constant(parser *p) {
  const char *at = p->at;
  if (isdigit((unsigned char)at[*at == '-'])) return parse_number(p);
  p->at++;
  const char *word = parser_word(p, "a number behind '-'");
  const tir_expr *e = word != NULL ? word_constant(p, word, true) : NULL;
  if (e == NULL) parser_fail(p, at, "expected a number behind '-'");
  return e;
}

/* ---- what operands must be --------------------------------------------------------------------------------------- */

static const char *dtype_word(const tir_expr *e) { return tir_dtype_words[e->dtype]; }

/* The rule of the operator's class, as a sentence at its place. */
static bool check_class(parser *p, const char *at, tir_op op, const tir_expr *a) {
  const char *text = tir_op_table[op].text;
  tir_rule rule = tir_op_table[op].rule;
  tn_dtype dtype = (tn_dtype)a->dtype;
  bool is_float = tn_dtype_is_float(dtype), is_bool = dtype == TN_BOOL;
  bool floors = tir_op_table[op].op_class == TIR_CLASS_DIVISION;
  if (runtime_is_half(dtype)) return parser_fail(p, at, "expected a cast: '%s' takes no %s", text, dtype_word(a));
  if ((rule == TIR_RULE_FLOAT || rule == TIR_RULE_TEST || op == TIR_DIV) && !is_float)
    return parser_fail(p, at, "expected floats as operands of '%s', not %s", text, dtype_word(a));
  if ((rule == TIR_RULE_INTEGER || floors) && (is_float || is_bool))
    return parser_fail(p, at, "expected integers as operands of '%s', not %s", text, dtype_word(a));
  if (rule == TIR_RULE_BOOLEAN && !is_bool)
    return parser_fail(p, at, "expected bools as operands of '%s', not %s", text, dtype_word(a));
  return true;
}

/* One lane goes with any number of lanes: it is broadcast. The dtypes must be written alike: nothing is cast
 * unasked. */
static bool check_pair(parser *p, const char *at, const char *text, const tir_expr *a, const tir_expr *b) {
  if (a->dtype != b->dtype)
    return parser_fail(p, at, "expected operands of one type for '%s', not %s and %s", text, dtype_word(a),
                       dtype_word(b));
  return a->lanes == b->lanes || a->lanes == 1 || b->lanes == 1 ||
         parser_fail(p, at, "expected operands of as many lanes for '%s', not %d and %d", text, a->lanes, b->lanes);
}

/* NULL after a message; an operand of the right class makes the constructors' assertions hold. */
static const tir_expr *make_unary(parser *p, const char *at, tir_op op, const tir_expr *a) {
  return a != NULL && check_class(p, at, op, a) ? tir_unary(p->arena, op, a) : NULL;
}

/* NULL after a message, also when an operand has failed before. */
static const tir_expr *make_binary(parser *p, const char *at, tir_op op, const tir_expr *a, const tir_expr *b) {
  if (a == NULL || b == NULL || !check_pair(p, at, tir_op_table[op].text, a, b) || !check_class(p, at, op, a))
    return NULL;
  return tir_binary(p->arena, op, a, b);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* f16 and bf16 go through f32 only, which the message says. */
static const tir_expr *parse_cast(parser *p, const char *at) {
  tn_dtype to;
  if (!parser_dtype(p, &to) || !parser_need(p, ",")) return NULL;
  const tir_expr *a = parser_expr(p);
  if (a == NULL) return NULL;
  tn_dtype from = (tn_dtype)a->dtype;
  bool is_fine = (!runtime_is_half(to) || from == TN_F32) && (!runtime_is_half(from) || to == TN_F32);
  if (!is_fine && from != to)
    return parser_fail(p, at, "expected a cast to or from float32: %s and %s are for storage", tir_dtype_words[TN_F16],
                       tir_dtype_words[TN_BF16]),
           NULL;
  return tir_cast(p->arena, to, a);
}

/* ramp(base, stride, lanes), broadcast(value, lanes) */
static const tir_expr *parse_vector(parser *p, tir_op op) {
  const char *at = parser_here(p);
  const tir_expr *a = parser_expr(p);
  int64_t stride = 0, lanes;
  if (a == NULL || !parser_need(p, ",")) return NULL;
  if (a->lanes > 1) return parser_fail(p, at, "expected one lane"), NULL;
  bool is_index = !tn_dtype_is_float((tn_dtype)a->dtype) && a->dtype != TN_BOOL;
  if (op == TIR_RAMP && !is_index) return parser_fail(p, at, "expected an integer, not %s", dtype_word(a)), NULL;
  if (op == TIR_RAMP && (!parser_integer(p, &stride) || !parser_need(p, ","))) return NULL;
  at = parser_here(p);
  if (!parser_integer(p, &lanes)) return NULL;
  if (lanes < 2 || lanes > MAX_LANES) return parser_fail(p, at, "expected 2 to %d lanes", MAX_LANES), NULL;
  return op == TIR_RAMP ? tir_ramp(p->arena, a, stride, (int)lanes) : tir_broadcast(p->arena, a, (int)lanes);
}

enum { MAX_ARGS = 3 };

/* N operands, separated by commas. */
static bool parse_operands(parser *p, int n, const tir_expr **args) {
  for (int i = 0; i < n; i++) {
    if (i > 0 && !parser_need(p, ",")) return false;
    if ((args[i] = parser_expr(p)) == NULL) return false;
  }
  return true;
}

/* A vector condition decides lane by lane; a scalar one over vectors is allowed, as in tir_select. */
static const tir_expr *parse_select(parser *p, const char *at) {
  const tir_expr *a[MAX_ARGS];
  if (!parse_operands(p, 3, a) || !check_pair(p, at, "select", a[1], a[2])) return NULL;
  if (a[0]->dtype != TN_BOOL)
    return parser_fail(p, at, "expected a bool as the condition of 'select', not %s", dtype_word(a[0])), NULL;
  int lanes = RUNTIME_MAX(a[1]->lanes, a[2]->lanes);
  if (a[0]->lanes > 1 && lanes > 1 && a[0]->lanes != lanes)
    return parser_fail(p, at, "expected a condition of %d lanes", lanes), NULL;
  return tir_select(p->arena, a[0], a[1], a[2]);
}

/* Types and lanes as tir/ir.h says; everything else would trip an assertion. */
static const tir_expr *parse_dot(parser *p, const char *at) {
  const tir_expr *a[MAX_ARGS];
  if (!parse_operands(p, 3, a)) return NULL;
  int group = tir_dot_group((tn_dtype)a[0]->dtype);
  if (group == 0) return parser_fail(p, at, "expected int32 or float32 to add to, not %s", dtype_word(a[0])), NULL;
  for (int i = 1; i < 3; i++) {
    bool is_byte = a[i]->dtype == TN_I8 || a[i]->dtype == TN_U8;
    if (a[0]->dtype == TN_I32 ? !is_byte : a[i]->dtype != TN_BF16)
      return parser_fail(p, at, "expected operands of int8 or uint8 with int32, of bfloat16 with float32"), NULL;
    if (a[i]->lanes != group * a[0]->lanes)
      return parser_fail(p, at, "expected operands of %d lanes, not %d", group * a[0]->lanes, a[i]->lanes), NULL;
  }
  return tir_dot(p->arena, a[0], a[1], a[2]);
}

/* The operator that is written as a call of NAME; TIR_OP_COUNT: none. */
static int find_call(const char *name) {
  if (strcmp(name, "floordiv") == 0) return TIR_FLOORDIV;
  if (strcmp(name, "floormod") == 0) return TIR_FLOORMOD;
  for (int op = 0; op < TIR_OP_COUNT; op++) {
    bool is_call = tir_op_table[op].n_args > 0 && isalpha((unsigned char)tir_op_table[op].text[0]);
    if (is_call && strcmp(tir_op_table[op].text, name) == 0) return op;
  }
  return TIR_OP_COUNT;
}

/* Offers the functions only: an operator is never called by its sign. */
static bool unknown_call(parser *p, const char *at, const char *name) {
  runtime_nearest near = runtime_nearest_to(name);
  for (int op = 0; op < TIR_OP_COUNT; op++)
    if (find_call(tir_op_table[op].text) != TIR_OP_COUNT) runtime_nearest_offer(&near, tir_op_table[op].text);
  return parser_fail(p, at, "expected a function, not '%s'%s%s%s", name, near.word ? ": is '" : "",
                     near.word ? near.word : "", near.word ? "' meant?" : "");
}

/* Behind "name(". */
static const tir_expr *parse_call(parser *p, const char *at, const char *name) {
  const tir_expr *args[MAX_ARGS], *e;
  int op = find_call(name);
  if (op == TIR_OP_COUNT) return unknown_call(p, at, name), NULL;
  if (op == TIR_CAST)
    e = parse_cast(p, at);
  else if (op == TIR_RAMP || op == TIR_BROADCAST)
    e = parse_vector(p, (tir_op)op);
  else if (op == TIR_SELECT)
    e = parse_select(p, at);
  else if (op == TIR_DOT)
    e = parse_dot(p, at);
  else if (!parse_operands(p, tir_op_table[op].n_args, args))
    return NULL;
  else if (tir_op_table[op].n_args == 1)
    e = make_unary(p, at, (tir_op)op, args[0]);
  else
    e = make_binary(p, at, (tir_op)op, args[0], args[1]);
  return parser_need(p, ")") ? e : NULL;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static const tir_expr *parse_infix(parser *p, int least);

/* Innermost first, so that a loop's variable hides an outer one of its name. */
static const tir_var *find_var(const parser *p, const char *name) {
  for (const parser_name *n = p->names; n != NULL; n = n->outer) {
    if (n->var != NULL && strcmp(n->var->name, name) == 0) return n->var;
  }
  return NULL;
}

/* What begins with a name. A variable hides a constant of its name. */
static const tir_expr *parse_named(parser *p) {
  const char *at = p->at, *name = parser_word(p, "an expression");
  if (name == NULL) return NULL;
  if (parser_accept(p, "(")) return parse_call(p, at, name);
  if (*parser_here(p) == '[') {
    parser_access access;
    if (!parser_access_rest(p, name, at, &access)) return NULL;
    return tir_load(p->arena, access.buffer, access.n, access.index, access.predicate);
  }
  const tir_var *var = find_var(p, name);
  if (var != NULL) return tir_var_expr(p->arena, var);
  const tir_expr *e = word_constant(p, name, false);
  if (e == NULL) parser_fail(p, at, "expected the variable of a loop around this, not '%s'", name);
  return e;
}

/* What begins an operand. A minus sign belongs to a constant: there is no negation in loop IR. */
static const tir_expr *parse_unary(parser *p) {
  const char *at = parser_here(p);
  if (isdigit((unsigned char)*at) || *at == '-') return parse_constant(p);
  if (parser_accept(p, "!")) return make_unary(p, at, TIR_NOT, parse_infix(p, BIND_UNARY));
  if (parser_accept(p, "~")) return make_unary(p, at, TIR_BITNOT, parse_infix(p, BIND_UNARY));
  if (!parser_accept(p, "(")) return parse_named(p);
  const tir_expr *e = parser_expr(p);
  return e != NULL && parser_need(p, ")") ? e : NULL;
}

/* How strongly an operator binds that stands between its operands; BIND_ANY: it does not. */
static int infix_binding(int op) {
  bool is_infix = tir_op_table[op].n_args == 2 && !isalpha((unsigned char)tir_op_table[op].text[0]);
  bool floors = op == TIR_FLOORDIV || op == TIR_FLOORMOD;
  return !is_infix ? BIND_ANY : floors ? BIND_MUL : tir_text_binding((tir_op)op);
}

/* The longest operator that stands here; TIR_OP_COUNT: none. */
static int infix_here(parser *p) {
  const char *at = parser_here(p);
  size_t longest = 0;
  int best = TIR_OP_COUNT;
  for (int op = 0; op < TIR_OP_COUNT; op++) {
    size_t n = strlen(tir_op_table[op].text);
    if (n <= longest || infix_binding(op) == BIND_ANY || strncmp(at, tir_op_table[op].text, n) != 0) continue;
    longest = n;
    best = op;
  }
  return best;
}

/* Operators that bind as strongly as LEAST or more; all lean to the left. */
static const tir_expr *parse_infix(parser *p, int least) {
  if (!parser_enter(p)) return NULL;
  const tir_expr *left = parse_unary(p);
  while (left != NULL && !p->failed) {
    int op = infix_here(p);
    if (op == TIR_OP_COUNT || infix_binding(op) < least) break;
    const char *at = p->at;
    p->at += strlen(tir_op_table[op].text);
    left = make_binary(p, at, (tir_op)op, left, parse_infix(p, infix_binding(op) + 1));
  }
  parser_leave(p);
  return p->failed ? NULL : left;
}

/* From here every operator may stand. */
const tir_expr *parser_expr(parser *p) { return parser_made(p, parse_infix(p, BIND_ANY + 1)); }

const tir_expr *parser_scalar(parser *p, tn_dtype dtype, const char *what) {
  const char *at = parser_here(p);
  const tir_expr *e = parser_expr(p);
  if (e == NULL) return NULL;
  if (e->dtype != dtype)
    return parser_fail(p, at, "expected %s as %s, not %s", tir_dtype_words[dtype], what, dtype_word(e)), NULL;
  return e->lanes == 1 ? e : (parser_fail(p, at, "expected one lane as %s", what), NULL);
}
