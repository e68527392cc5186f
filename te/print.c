/* print.c: the canonical text form. What is printed parses back to the same graph. There are only as many
 * parentheses as the precedences need, and a constant shows its dtype unless the parser would find the same
 * one. The caller limits the output, since an expression that is small as a DAG can be endless as text. */
#include <ctype.h>
#include <stdio.h>

#include "te/internal.h"
#include "te/intrin.h"
#include "te/language.h"

/* Where the text goes, and which names of axes hide others. */
typedef struct printer {
  runtime_str *out;
  const te_op *op; /* the op whose body is printed, or NULL: its axes hide rank-0 tensors of the same name */
} printer;

static void print_expr(const printer *p, const tir_expr *e, int precedence);

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Whether E is printed as a number, possibly with a cast. */
static bool is_constant(const tir_expr *e) { return e->op == TIR_INT || e->op == TIR_FLOAT; }

/* The dtype that a literal of this value would have on its own. */
static tn_dtype literal_dtype(const tir_expr *e) {
  return te_number_dtype(e->op == TIR_INT ? tn_arg_int(e->u.i) : tn_arg_float(e->u.f));
}

/* TAKES_DTYPE: at this place the parser would give a literal this dtype. */
static void print_constant(const printer *p, const tir_expr *e, bool takes_dtype) {
  tn_dtype dtype = (tn_dtype)e->dtype;
  if (dtype == TN_BOOL) {
    runtime_str_add(p->out, e->u.i ? "true" : "false");
    return;
  }
  bool needs_cast = !takes_dtype && dtype != literal_dtype(e);
  if (needs_cast) runtime_str_addf(p->out, "%s(", tn_dtype_name(dtype));
  if (e->op == TIR_INT)
    runtime_str_addf(p->out, "%lld", (long long)e->u.i);
  else
    te_format_float(p->out, e->u.f, dtype);
  if (needs_cast) runtime_str_add(p->out, ")");
}

/* Prints an operand next to OTHER, whose dtype a constant would take. */
static void print_beside(const printer *p, const tir_expr *e, const tir_expr *other, int precedence) {
  if (is_constant(e))
    print_constant(p, e, !is_constant(other));
  else
    print_expr(p, e, precedence);
}

/* ---- the kinds of expression ------------------------------------------------------------------------------------- */

/* Prints a list with commas, without parentheses. */
static void print_list(const printer *p, int n, const tir_expr *const *list) {
  for (int i = 0; i < n; i++) {
    if (i > 0) runtime_str_add(p->out, ", ");
    print_expr(p, list[i], 0);
  }
}

/* Whether an axis has this name; then a rank-0 tensor needs brackets to be told from it. */
static bool is_axis_name(const te_op *op, const char *name) {
  for (int i = 0; op && i < op->n_axes; i++)
    if (strcmp(op->axes[i]->var.name, name) == 0) return true;
  for (int i = 0; op && i < op->n_reduce; i++)
    if (strcmp(op->reduce_axes[i]->var.name, name) == 0) return true;
  return false;
}

/* A rank-0 tensor is printed as its name, with brackets if an axis has the same one. */
static void print_read(const printer *p, const tir_expr *e) {
  const char *name = e->u.tensor->name;
  runtime_str_add(p->out, name);
  if (e->n_args == 0 && !is_axis_name(p->op, name)) return;
  runtime_str_add(p->out, "[");
  print_list(p, e->n_args, e->arg);
  runtime_str_add(p->out, "]");
}

/* `i<64, k<N` */
static void print_axis_list(runtime_str *out, int n, tn_axis *const *axes) {
  for (int i = 0; i < n; i++) {
    runtime_str_addf(out, "%s%s<", i > 0 ? ", " : "", axes[i]->var.name);
    te_print_extent(out, axes[i]->extent, axes[i]->size);
  }
}

static void print_axes(runtime_str *out, int n, tn_axis *const *axes) {
  if (n == 0) return;
  runtime_str_add(out, "[");
  print_axis_list(out, n, axes);
  runtime_str_add(out, "]");
}

/* Prints values of known dtypes, which literals take. */
static void print_values(const printer *p, int n, const tir_expr *const *list) {
  runtime_str_add(p->out, "(");
  for (int i = 0; i < n; i++) {
    if (i > 0) runtime_str_add(p->out, ", ");
    if (is_constant(list[i]))
      print_constant(p, list[i], true);
    else
      print_expr(p, list[i], 0);
  }
  runtime_str_add(p->out, ")");
}

/* Whether E is argmax or argmin over positions, which are not printed. */
static bool leaves_out_position(const tir_expr *e) {
  const tir_reduce *reduce = e->u.reduce;
  runtime_arena arena = {0};
  if (!reduce->tuple || !reduce->tuple->takes_position) return false;
  const tir_expr *position = te_position(&arena, reduce->n_axes, reduce->axes);
  bool is_position = position && tir_equal(position, e->arg[0]);
  runtime_arena_free(&arena);
  return is_position;
}

/* Even a single source is in parentheses. */
static void print_sources(const printer *p, const tir_expr *e) {
  int first = leaves_out_position(e) ? 1 : 0, n = tir_n_values(e) - first;
  if (e->u.reduce->tuple) {
    print_values(p, n, e->arg + first);
    return;
  }
  runtime_str_add(p->out, "(");
  print_expr(p, e->arg[0], 0);
  runtime_str_add(p->out, ")");
}

/* Prints the init, of the source's dtype, which a literal takes. */
static void print_init(const printer *p, const tir_expr *e) {
  const tir_expr *init = tir_reduce_init(e, 0);
  runtime_str_add(p->out, " init = ");
  if (e->u.reduce->tuple)
    print_values(p, tir_n_values(e), e->arg + e->n_args - tir_n_values(e));
  else
    print_beside(p, init, e->arg[0], 0);
}

/* Condition and init are within the brackets, after the axes. */
static void print_reduce(const printer *p, const tir_expr *e) {
  static const char *const names[] = {
#define X(name, text) text,
      TIR_COMBINERS(X)
#undef X
  };
  const tir_reduce *reduce = e->u.reduce;
  const tir_expr *where = tir_reduce_where(e);
  runtime_str_addf(p->out, "%s[", reduce->tuple ? reduce->tuple->name : names[reduce->combiner]);
  print_axis_list(p->out, reduce->n_axes, reduce->axes);
  if (where) runtime_str_add(p->out, " where "), print_expr(p, where, 0);
  if (reduce->has_init) print_init(p, e);
  runtime_str_add(p->out, "]");
  print_sources(p, e);
}

/* As on the right side of a definition with several names. */
static void print_tuple(const printer *p, const tir_expr *e) {
  runtime_str_add(p->out, "(");
  print_list(p, e->n_args, e->arg);
  runtime_str_add(p->out, ")");
}

/* Operators are left-associative: a right operand of the same precedence needs parentheses. */
static void print_infix(const printer *p, const tir_expr *e, const te_infix *infix) {
  int level = infix->precedence;
  print_beside(p, e->arg[0], e->arg[1], infix->chains ? level : level + 1);
  runtime_str_addf(p->out, infix->is_tight ? "%s" : " %s ", infix->text);
  print_beside(p, e->arg[1], e->arg[0], level + 1);
}

/* Prints select, min(a, b), exp(a), casts. */
static void print_call(const printer *p, const tir_expr *e) {
  runtime_str_addf(p->out, "%s(", e->op == TIR_CAST ? tn_dtype_name((tn_dtype)e->dtype) : tir_op_table[e->op].text);
  int first = e->op == TIR_SELECT ? 1 : 0;
  if (first == 1) print_expr(p, e->arg[0], 0);
  for (int i = first; i < e->n_args; i++) {
    const tir_expr *other = e->n_args == first + 2 ? e->arg[first + first + 1 - i] : e->arg[i];
    if (i > 0) runtime_str_add(p->out, ", ");
    print_beside(p, e->arg[i], other, 0);
  }
  runtime_str_add(p->out, ")");
}

/* -x is represented by x * -1; unsigned types have no -1. */
static bool is_negation(const tir_expr *e) {
  if (e->op != TIR_MUL || is_constant(e->arg[0])) return false;
  return (e->arg[1]->op == TIR_INT && e->arg[1]->u.i == -1) || (e->arg[1]->op == TIR_FLOAT && e->arg[1]->u.f == -1);
}

/* Prints a prefix. Only operands that bind at least as tightly have no parentheses. */
static void print_prefix(const printer *p, const char *text, const tir_expr *operand) {
  runtime_str_add(p->out, text);
  print_expr(p, operand, TE_PREFIX_PRECEDENCE);
}

/* The precedence of an expression's outermost operator as it is printed. */
static int precedence_of(const tir_expr *e) {
  if (is_negation(e) || e->op == TIR_NOT || e->op == TIR_BITNOT) return TE_PREFIX_PRECEDENCE;
  const te_infix *infix = te_find_infix((tir_op)e->op);
  return infix ? infix->precedence : TE_PREFIX_PRECEDENCE + 1;
}

/* The text parses back to the same program. */
static void print_node(const printer *p, const tir_expr *e) {
  const te_infix *infix = te_find_infix((tir_op)e->op);
  if (is_constant(e))
    print_constant(p, e, false);
  else if (e->op == TIR_VAR)
    runtime_str_add(p->out, e->u.var->name);
  else if (e->op == TIR_READ)
    print_read(p, e);
  else if (e->op == TIR_REDUCE)
    print_reduce(p, e);
  else if (e->op == TIR_TUPLE)
    print_tuple(p, e);
  else if (is_negation(e))
    print_prefix(p, "-", e->arg[0]);
  else if (e->op == TIR_NOT || e->op == TIR_BITNOT)
    print_prefix(p, tir_op_table[e->op].text, e->arg[0]);
  else if (infix)
    print_infix(p, e, infix);
  else
    print_call(p, e);
}

/* Prints an expression; an operator that binds less tightly than PRECEDENCE needs parentheses. */
static void print_expr(const printer *p, const tir_expr *e, int precedence) {
  bool needs_parentheses = precedence_of(e) < precedence;
  if (p->out->failed) return;
  if (needs_parentheses) runtime_str_add(p->out, "(");
  print_node(p, e);
  if (needs_parentheses) runtime_str_add(p->out, ")");
}

/* Without an op, no axis hides a name. */
void te_print_expr(runtime_str *out, const tir_expr *e) { print_expr(&(printer){out, NULL}, e, 0); }

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* `symbol M, 3<=N<=64`: only unusual limits are printed. */
static void print_symbols(runtime_str *out, const tn_program *program) {
  for (int i = 0; i < program->n_symbols; i++) {
    const tn_axis *s = program->symbols[i];
    runtime_str_add(out, i > 0 ? ", " : "symbol ");
    if (s->least > 1) runtime_str_addf(out, "%lld<=", (long long)s->least);
    runtime_str_add(out, s->var.name);
    if (s->extent != TE_MAX_SYMBOL) runtime_str_addf(out, "<=%lld", (long long)s->extent);
  }
  if (program->n_symbols > 0) runtime_str_add(out, "\n");
}

/* Neighbours of one kind share a statement. */
static void print_inputs(runtime_str *out, const tn_program *program) {
  for (int i = 0; i < program->n_inputs; i++) {
    const tn_tensor *t = program->args[i];
    bool begins = i == 0 || program->args[i - 1]->by_value != t->by_value;
    if (begins) runtime_str_addf(out, "%s%s", i > 0 ? "\n" : "", t->by_value ? "scalar " : "input ");
    runtime_str_addf(out, "%s%s: %s", begins ? "" : ", ", t->name, tn_dtype_name(t->dtype));
    for (int d = 0; d < t->ndim; d++) {
      runtime_str_add(out, d > 0 ? ", " : "[");
      te_print_extent(out, t->shape[d], t->size[d]);
    }
    if (t->ndim > 0) runtime_str_add(out, "]");
    if (t->is_layout_free) runtime_str_add(out, " layout_free");
    if (t->is_strided) runtime_str_add(out, " strided");
  }
  if (program->n_inputs > 0) runtime_str_add(out, "\n");
}

/* `combiner c(a: f32; b) = (a + b), identity (0)` */
void te_print_combiner(runtime_str *out, const tir_tuple_combiner *c) {
  printer p = {out, NULL};
  runtime_str_addf(out, "combiner %s", c->name);
  for (int v = 0; v < c->n_values; v++)
    runtime_str_addf(out, "%s%s: %s", v > 0 ? ", " : "(", c->lhs[v]->name, tn_dtype_name(c->lhs[v]->dtype));
  for (int v = 0; v < c->n_values; v++) runtime_str_addf(out, "%s%s", v > 0 ? ", " : "; ", c->rhs[v]->name);
  runtime_str_add(out, ") = ");
  print_values(&p, c->n_values, c->result);
  runtime_str_add(out, ", identity ");
  print_values(&p, c->n_values, c->identity);
}

/* Prints each combiner once; those of equal names are the same (te_program). */
static void print_combiners(runtime_str *out, const tn_program *program) {
  for (int i = 0; i < program->n_ops; i++) {
    const tir_tuple_combiner *c = te_op_combiner(program->ops[i]);
    for (int k = 0; c && k < i; k++) {
      const tir_tuple_combiner *before = te_op_combiner(program->ops[k]);
      if (before && strcmp(before->name, c->name) == 0) c = NULL;
    }
    if (c) te_print_combiner(out, c), runtime_str_add(out, "\n");
  }
}

/* `S: f32[4]` */
static void print_typed(runtime_str *out, const tn_tensor *t) {
  runtime_str_addf(out, "%s: %s", t->name, tn_dtype_name(t->dtype));
  for (int d = 0; d < t->ndim; d++) {
    runtime_str_add(out, d > 0 ? ", " : "[");
    te_print_extent(out, t->shape[d], t->size[d]);
  }
  if (t->ndim > 0) runtime_str_add(out, "]");
}

/* `state S: f32[4], T: f32[4]` */
static void print_states(runtime_str *out, const te_op *scan) {
  for (int v = 0; v < scan->n_outputs; v++) {
    runtime_str_add(out, v > 0 ? ", " : "state ");
    print_typed(out, &scan->outputs[v]);
  }
  runtime_str_add(out, "\n");
}

/* Whether an op is the first in the program that belongs to its scan. */
static bool begins_scan(const tn_program *program, int at) {
  const te_op *scan = program->ops[at]->scan;
  for (int i = 0; scan && i < at; i++)
    if (program->ops[i]->scan == scan) return false;
  return scan != NULL;
}

/* `C[i<4] = body`, `(A, B)[i<4] = body`, `scan S[t<4] = body` */
static void print_definition(runtime_str *out, const te_op *op) {
  bool is_tuple = op->n_outputs > 1 && !te_is_hidden(&op->outputs[1]);
  if (op->kind == TE_SCAN) runtime_str_add(out, "scan ");
  runtime_str_addf(out, "%s%s", is_tuple ? "(" : "", op->name);
  for (int v = 1; is_tuple && v < op->n_outputs; v++) runtime_str_addf(out, ", %s", op->outputs[v].name);
  if (is_tuple) runtime_str_add(out, ")");
  print_axes(out, op->n_axes, op->axes);
  runtime_str_add(out, " = ");
  print_expr(&(printer){out, op}, op->body, 0);
  runtime_str_add(out, "\n");
}

/* `extern y: f32[4] = f(A, x)`, `extern (y: f32[4], z: i32) = f(A)` */
static void print_extern(runtime_str *out, const te_op *op) {
  runtime_str_add(out, op->n_outputs > 1 ? "extern (" : "extern ");
  for (int v = 0; v < op->n_outputs; v++) {
    if (v > 0) runtime_str_add(out, ", ");
    print_typed(out, &op->outputs[v]);
  }
  runtime_str_add(out, op->n_outputs > 1 ? ") = " : " = ");
  te_print_call(out, op);
  runtime_str_add(out, "\n");
}

/* Whether anything reads the tensor, apart from the steps of its own scan. */
static bool is_read(const tn_program *program, const tn_tensor *tensor) {
  for (int i = 0; i < program->n_ops; i++)
    for (int j = 0; j < program->ops[i]->n_inputs; j++)
      if (program->ops[i]->inputs[j] == tensor && (!tensor->op->scan || program->ops[i]->scan != tensor->op->scan))
        return true;
  return false;
}

/* An output statement is printed only if it is needed: the outputs are not just the tensors that nothing
 * reads, in order, or some are strided. */
static void print_outputs(runtime_str *out, const tn_program *program) {
  int next = program->n_inputs;
  bool is_needed = false;
  for (int i = 0; i < program->n_ops; i++) {
    const te_op *op = program->ops[i];
    for (int v = 0; v < op->n_outputs; v++) {
      const tn_tensor *t = &op->outputs[v];
      if (te_is_placeholder(op) || te_is_hidden(t) || is_read(program, t)) continue;
      is_needed |= next == program->n_args || program->args[next++] != t;
    }
  }
  is_needed |= next < program->n_args;
  for (int i = program->n_inputs; i < program->n_args; i++) is_needed |= program->args[i]->is_strided;
  for (int i = program->n_inputs; is_needed && i < program->n_args; i++)
    runtime_str_addf(out, "%s%s%s", i > program->n_inputs ? ", " : "output ", program->args[i]->name,
                     program->args[i]->is_strided ? " strided" : "");
  if (is_needed) runtime_str_add(out, "\n");
}

/* Prints definitions in the order of the ops, so that parsing gives the same order. Declarations come first. */
void te_print_program(runtime_str *out, const tn_program *program) {
  print_symbols(out, program);
  print_inputs(out, program);
  print_combiners(out, program);
  for (int i = 0; i < program->n_intrins; i++) te_print_intrin(out, program->intrins[i]), runtime_str_add(out, "\n");
  for (int i = 0; i < program->n_ops; i++) {
    if (begins_scan(program, i)) print_states(out, program->ops[i]->scan);
    if (te_is_extern(program->ops[i]))
      print_extern(out, program->ops[i]);
    else if (!te_is_placeholder(program->ops[i]))
      print_definition(out, program->ops[i]);
  }
  print_outputs(out, program);
}
