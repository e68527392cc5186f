/* script_expr.c: names and expressions of the structured form, in Python's syntax with TVMScript's functions: integers
 * of type i32 stand bare, other constants in T.float32(0.5); what has no operator in Python, or binds otherwise there,
 * is a call. */
#include "schedule/script.h"

#include <ctype.h>
#include <math.h>

#include "te/graph.h"
#include "tir/text.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Python's words, and T. */
static bool is_reserved(const char *name) {
  static const char *const words[] = {"T",       "False",    "None",  "True",   "and",  "as",     "assert", "async",
                                      "await",   "break",    "class", "def",    "del",  "elif",   "else",   "except",
                                      "finally", "for",      "from",  "global", "if",   "import", "in",     "is",
                                      "lambda",  "nonlocal", "not",   "or",     "pass", "raise",  "range",  "return",
                                      "try",     "while",    "with",  "yield"};
  return RUNTIME_FIND(words, name) >= 0;
}

/* TVMScript has one name space for buffers, variables and Python's own words. */
static bool is_taken(const script *s, const char *text) {
  for (int i = 0; i < s->n_names; i++)
    if (strcmp(s->names[i].text, text) == 0) return true;
  return is_reserved(text);
}

const char *script_find_name(const script *s, const void *of) {
  for (int i = s->n_names - 1; i >= 0; i--)
    if (s->names[i].of == of) return s->names[i].text;
  return NULL;
}

/* Names end with their scope: the caller puts n_names back. */
void script_share_name(script *s, const void *of, const char *text) {
  if (s->n_names == s->cap_names) {
    int cap = s->cap_names ? 2 * s->cap_names : 32;
    script_name *grown = RUNTIME_NEW_ARRAY(s->l->arena, script_name, cap);
    if (s->n_names) memcpy(grown, s->names, sizeof *grown * (size_t)s->n_names);
    s->names = grown;
    s->cap_names = cap;
  }
  s->names[s->n_names++] = (script_name){of, text};
}

/* Numbers behind a taken name count from 1. */
const char *script_add_name(script *s, const void *of, const char *name) {
  char *plain = runtime_strdup(s->l->arena, name);
  for (char *c = plain; *c; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  const char *text = plain;
  for (int i = 1; is_taken(s, text); i++) text = runtime_format(s->l->arena, "%s_%d", plain, i);
  script_share_name(s, of, text);
  return text;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* How strongly Python's operators bind. */
enum { ANY, OR, AND, NOT, COMPARE, ADD, MUL, ATOM };

/* In Python comparisons bind weaker than arithmetic and chain, so that they are always in parentheses
 * inside each other. */
static int binding_of(const tir_expr *e) {
  static const uint8_t bindings[TIR_OP_COUNT] = {
      [TIR_OR] = OR,   [TIR_AND] = AND, [TIR_NOT] = NOT,      [TIR_ADD] = ADD,     [TIR_SUB] = ADD,
      [TIR_MUL] = MUL, [TIR_DIV] = MUL, [TIR_FLOORDIV] = MUL, [TIR_FLOORMOD] = MUL};
  if (tir_class_of(e) == TIR_CLASS_COMPARISON) return COMPARE;
  return bindings[e->op] ? bindings[e->op] : ATOM;
}

static void print(const script *s, const tir_expr *e, int context);

static void print_list(const script *s, int n, const tir_expr *const *list) {
  for (int i = 0; i < n; i++) {
    if (i > 0) runtime_str_add(s->out, ", ");
    print(s, list[i], ANY);
  }
}

/* i32 stands bare: TVMScript takes it for that. */
static void print_int(const script *s, const tir_expr *e) {
  if (e->dtype == TN_BOOL)
    runtime_str_addf(s->out, "T.bool(%s)", e->u.i ? "True" : "False");
  else if (e->dtype == TN_I32)
    runtime_str_addf(s->out, "%lld", (long long)e->u.i);
  else
    runtime_str_addf(s->out, "T.%s(%lld)", tir_dtype_words[e->dtype], (long long)e->u.i);
}

/* What is no number stands in quotes. */
static void print_float(const script *s, const tir_expr *e) {
  char text[RUNTIME_FLOAT_TEXT];
  const char *quote = isfinite(e->u.f) ? "" : "\"";
  runtime_str_addf(s->out, "T.%s(%s%s%s)", tir_dtype_words[e->dtype], quote,
                   runtime_float_text(text, e->u.f, (tn_dtype)e->dtype), quote);
}

/* Python spells && and ||. */
static const char *operator_of(tir_op op) {
  return op == TIR_AND ? "and" : op == TIR_OR ? "or" : tir_op_table[op].text;
}

/* x + -3 is x - 3. */
static void print_infix(const script *s, const tir_expr *e, int own) {
  const tir_expr *b = e->arg[1];
  bool is_difference = e->op == TIR_ADD && b->op == TIR_INT && b->dtype == TN_I32 && b->u.i < 0 && b->u.i > INT32_MIN;
  print(s, e->arg[0], own == COMPARE ? own + 1 : own);
  if (is_difference) {
    runtime_str_addf(s->out, " - %lld", -(long long)b->u.i);
    return;
  }
  runtime_str_addf(s->out, " %s ", operator_of((tir_op)e->op));
  print(s, b, own == AND || own == OR ? own : own + 1);
}

/* TVM's names where they differ from te's. */
static const char *function_of(const tir_expr *e) {
  static const char *const names[TIR_OP_COUNT] = {
      [TIR_SELECT] = "if_then_else", /* neither touches memory on the side not taken */
      [TIR_BITAND] = "bitwise_and",
      [TIR_BITOR] = "bitwise_or",
      [TIR_BITXOR] = "bitwise_xor",
      [TIR_BITNOT] = "bitwise_not",
      [TIR_SHL] = "shift_left",
      [TIR_SHR] = "shift_right",
      [TIR_CAST] = "Cast"};
  return names[e->op] ? names[e->op] : tir_op_table[e->op].text;
}

/* A cast names its dtype first. */
static void print_call(const script *s, const tir_expr *e) {
  runtime_str_addf(s->out, "T.%s(", function_of(e));
  if (e->op == TIR_CAST) runtime_str_addf(s->out, "\"%s\", ", tir_dtype_words[e->dtype]);
  print_list(s, e->n_args, e->arg);
  runtime_str_add(s->out, ")");
}

/* A name in scope, or the variable's own. */
static void print_var(const script *s, const tir_var *var) {
  const char *name = script_find_name(s, var);
  runtime_str_add(s->out, name ? name : var->name);
}

/* A scalar is its name, a tensor of rank 0 S[()]. An index from data has no bounds to print. */
void script_print_read(const script *s, const tir_expr *read, bool is_region) {
  const tn_tensor *tensor = read->u.tensor;
  const char *name = script_find_name(s, tensor);
  runtime_str_add(s->out, name ? name : tensor->name);
  if (tensor->by_value) return;
  runtime_str_add(s->out, read->n_args ? "[" : "[()");
  for (int i = 0; i < read->n_args; i++) {
    if (i > 0) runtime_str_add(s->out, ", ");
    if (is_region && tir_has_op(read->arg[i], TIR_READ)) {
      runtime_str_add(s->out, "0:");
      if (tensor->size[i])
        print(s, tensor->size[i], ANY);
      else
        runtime_str_addf(s->out, "%lld", (long long)tensor->shape[i]);
    } else
      print(s, read->arg[i], ANY);
  }
  runtime_str_add(s->out, "]");
}

/* OWN: how strongly E itself binds; its operands are put in parentheses where they bind less. */
static void print_node(const script *s, const tir_expr *e, int own) {
  if (e->op == TIR_INT)
    print_int(s, e);
  else if (e->op == TIR_FLOAT)
    print_float(s, e);
  else if (e->op == TIR_VAR)
    print_var(s, e->u.var);
  else if (e->op == TIR_READ)
    script_print_read(s, e, false);
  else if (e->op == TIR_NOT)
    runtime_str_add(s->out, "not "), print(s, e->arg[0], own);
  else if (own < ATOM)
    print_infix(s, e, own);
  else
    print_call(s, e);
}

/* Asks for failure at each node, as the text of a DAG can be endless. */
static void print(const script *s, const tir_expr *e, int context) {
  int own = binding_of(e);
  if (s->out->failed) return;
  if (own < context) runtime_str_add(s->out, "(");
  print_node(s, e, own);
  if (own < context) runtime_str_add(s->out, ")");
}

void script_print_expr(const script *s, const tir_expr *e) { print(s, e, ANY); }
