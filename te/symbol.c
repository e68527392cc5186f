/* symbol.c: symbols, which get their values when a kernel is called, and extents made of them. A symbol is
 * a tn_axis with is_symbol set, so that every variable of an expression leads to its axis or symbol. */
#include "te/internal.h"

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

tn_axis *te_symbol_new(const te_site *site, const char *name, int64_t least, int64_t most) {
  if (!te_check_name(site, "a symbol", name)) return NULL;
  if (least < 1 || most < least || most > TE_MAX_EXTENT) {
    te_fail(site, TN_ERROR_PROGRAM, "symbol '%s' in %lld .. %lld: its values are in 1 .. %d, at least one of them",
            name, (long long)least, (long long)most, (int)TE_MAX_EXTENT);
    return NULL;
  }
  tn_axis *symbol = te_axis_make(site->ctx, name, most, NULL, false);
  if (!symbol) return NULL;
  symbol->is_symbol = true;
  symbol->least = least;
  return symbol;
}

/* A leaf of depth and size 1. */
tn_expr *te_symbol_value(const te_site *site, const tn_axis *symbol) {
  tn_expr *e = RUNTIME_NEW(&site->ctx->arena, tn_expr);
  const tir_expr *node = e ? te_axis_expr(&site->ctx->arena, symbol) : NULL;
  if (!te_has_memory(site, node)) return NULL;
  *e = (tn_expr){.ctx = site->ctx, .node = node, .depth = 1, .size = 1};
  return e;
}

/* Limits are inclusive. With tight ones indices can be 32 bits wide. */
tn_expr *tn_symbol_in(tn_context *ctx, const char *name, int64_t least, int64_t most) {
  te_site site = {.ctx = ctx};
  tn_axis *symbol = ctx && RUNTIME_GIVEN(ctx, name) ? te_symbol_new(&site, name, least, most) : NULL;
  return symbol ? te_symbol_value(&site, symbol) : NULL;
}

tn_expr *tn_symbol(tn_context *ctx, const char *name) { return tn_symbol_in(ctx, name, 1, TE_MAX_SYMBOL); }

/* ---- extents ----------------------------------------------------------------------------------------------------- */

/* The most nodes in the expression of an extent. */
enum { MAX_SIZE_NODES = 200 };

/* An expression that is examined as an extent. */
typedef struct sizing {
  tir_env known[TE_MAX_SYMBOLS]; /* the ranges of its symbols, chained */
  int n, nodes;
  bool ok;
} sizing;

/* Constants, and the operators + - * // % min max. */
static bool is_size_op(const tir_expr *e) {
  tir_class class = tir_class_of(e);
  return e->op == TIR_INT || class == TIR_CLASS_SUM || class == TIR_CLASS_DIVISION || class == TIR_CLASS_EXTREMUM;
}

/* Adds a symbol once. Too many symbols are refused for the program later; here the expression just does not
 * count as a size. */
static void know_symbol(sizing *s, const tn_axis *symbol) {
  for (int i = 0; i < s->n; i++)
    if (s->known[i].var == &symbol->var) return;
  if (s->n == TE_MAX_SYMBOLS) {
    s->ok = false;
    return;
  }
  s->known[s->n] = (tir_env){
      .outer = s->n > 0 ? &s->known[s->n - 1] : NULL, .var = &symbol->var, .range = {symbol->least, symbol->extent}};
  s->n++;
}

/* USER is a sizing. All parts must be i32, as extents are. */
static tir_walk look_at_node(void *user, const tir_expr *e) {
  sizing *s = user;
  bool is_symbol = e->op == TIR_VAR && te_var_axis(e->u.var)->is_symbol;
  if (is_symbol) know_symbol(s, te_var_axis(e->u.var));
  s->ok = s->ok && (is_symbol || is_size_op(e)) && e->dtype == TN_I32 && ++s->nodes <= MAX_SIZE_NODES;
  return s->ok ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Whether every value of the symbols gives a valid extent. */
static bool check_range(const te_site *site, const char *what, const tir_expr *e, tir_interval range) {
  char text[64];
  if (range.lo == INT64_MIN)
    te_fail(site, TN_ERROR_PROGRAM,
            "%s, %s, can be more than an integer holds; say how large the symbols can be, as in "
            "symbol M<=4096",
            what, te_show(text, e));
  else if (range.lo < 1)
    te_fail(site, TN_ERROR_PROGRAM,
            "%s, %s, can be %lld: it must be at least 1; say how small the symbols can be, as in "
            "symbol 3<=M",
            what, te_show(text, e), (long long)range.lo);
  else if (range.hi > TE_MAX_EXTENT - 1)
    te_fail(site, TN_ERROR_PROGRAM,
            "%s, %s, can be %lld or more: it must be below %d; say how large the symbols can be, "
            "as in symbol M<=4096",
            what, te_show(text, e), (long long)range.hi, (int)TE_MAX_EXTENT);
  else
    return true;
  return false;
}

/* Buffers and the width of indices are planned for the greatest value. */
bool te_extent_of(const te_site *site, const char *what, tn_arg value, te_extent *out) {
  char text[64];
  sizing s = {.ok = value.kind == TN_ARG_EXPR};
  if (value.kind == TN_ARG_INT) return *out = (te_extent){value.u.i, NULL}, true;
  const tir_expr *e = s.ok ? value.u.expr->node : NULL;
  if (s.ok) tir_walk_expr(e, look_at_node, &s);
  if (!s.ok) {
    te_fail(site, TN_ERROR_PROGRAM, "%s, %s, is no number and not made of symbols with + - * // %% min max", what,
            e ? te_show(text, e) : "a tensor, an axis or a float");
    return false;
  }
  tir_interval range = tir_bounds(s.n > 0 ? &s.known[s.n - 1] : NULL, e); /* what could wrap can be anything */
  if (!check_range(site, what, e, range)) return false;
  *out = (te_extent){range.hi, e->op == TIR_INT ? NULL : e};
  return true;
}

bool te_is_size(const tir_expr *e, bool *fits) {
  sizing s = {.ok = true};
  if (e->op == TIR_CAST) e = e->arg[0];
  tir_walk_expr(e, look_at_node, &s);
  if (!s.ok || s.n == 0) return false;
  tir_interval range = tir_bounds(&s.known[s.n - 1], e); /* what could wrap can be anything */
  *fits = range.lo >= INT32_MIN && range.hi <= INT32_MAX;
  return true;
}

/* Prints a size as the expression it was given as. */
void te_print_extent(runtime_str *out, int64_t extent, const tir_expr *size) {
  if (size)
    te_print_expr(out, size);
  else
    runtime_str_addf(out, "%lld", (long long)extent);
}

/* Whether some extent of the op's tensor or reduction axes depends on symbols. */
static bool is_symbolic(const te_op *op) {
  for (int d = 0; d < op->outputs[0].ndim; d++)
    if (op->outputs[0].size[d]) return true;
  for (int i = 0; i < op->n_reduce; i++)
    if (op->reduce_axes[i]->size) return true;
  return false;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

int te_symbol_number(const tn_program *program, const tir_var *var) {
  for (int i = 0; i < program->n_symbols; i++)
    if (&program->symbols[i]->var == var) return i;
  return -1;
}

/* What value_of_symbol needs. */
typedef struct symbol_values {
  const tn_program *program;
  const int64_t *values;
} symbol_values;

/* For tir_evaluate: the only variables in extents are a program's symbols. */
static int64_t value_of_symbol(const void *user, const tir_var *var) {
  const symbol_values *s = user;
  return s->values[te_symbol_number(s->program, var)];
}

/* SYMBOLS: values in the order of the program's symbols. */
int64_t te_size_value(const tn_program *program, const tir_expr *size, const int64_t *symbols) {
  return tir_evaluate(size, value_of_symbol, &(symbol_values){program, symbols});
}

/* The message tells how to give the symbol a value on the command line and in C. */
tn_status te_check_no_symbols(const tn_program *program, const char *what) {
  if (program->n_symbols == 0) return TN_OK;
  const char *name = program->symbols[0]->var.name;
  return runtime_fail(
      program->ctx, TN_ERROR_PROGRAM,
      "%s needs numbers for all extents, and the program has symbol %s: give it a value, as in -p %s=64 "
      "(tn_program_parse with a parameter %s)",
      what, name, name, name);
}

int tn_program_symbol_count(const tn_program *program) { return program ? program->n_symbols : 0; }

/* "symbol 3<=M<=64, N": the symbols, with new limits for symbol NUMBER. */
static void print_limits(runtime_str *out, const tn_program *program, int number, int64_t least, int64_t most) {
  for (int i = 0; i < program->n_symbols; i++) {
    const tn_axis *s = program->symbols[i];
    runtime_str_addf(out, "%s%lld<=%s<=%lld", i > 0 ? ", " : "symbol ", (long long)(i == number ? least : s->least),
                     s->var.name, (long long)(i == number ? most : s->extent));
  }
}

/* Changes the program's text, whose first line declares the symbols, and parses it again. */
tn_program *te_within(const tn_program *program, int number, int64_t least, int64_t most) {
  const char *text = tn_program_text(program), *rest = text ? strchr(text, '\n') : NULL;
  tn_param value = {program->symbols[number]->var.name, least};
  if (!rest || least == most) {
    tn_program *one = rest ? tn_program_parse(program->ctx, text, 1, &value) : NULL;
    if (one) one->is_of_symbol = true;
    return one;
  }
  runtime_str out = {0};
  print_limits(&out, program, number, least, most);
  runtime_str_add(&out, rest);
  tn_program *within = out.failed ? NULL : tn_program_parse(program->ctx, out.data, 0, NULL);
  if (out.failed) runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory for a program's text");
  runtime_str_free(&out);
  return within;
}

/* ---- of a program ------------------------------------------------------------------------------------------------ */

/* The check of a program's symbols. */
typedef struct collection {
  const te_site *site;
  tn_program *program;
  const char *where; /* an op that uses what is being checked, for messages */
} collection;

/* False: there are more than TE_MAX_SYMBOLS. */
static bool add_symbol(tn_program *p, const tn_axis *symbol) {
  if (te_symbol_number(p, &symbol->var) >= 0) return true;
  if (p->n_symbols == TE_MAX_SYMBOLS) return false;
  p->symbols[p->n_symbols++] = symbol;
  return true;
}

/* Adds the symbols that are by themselves an extent of an argument. */
static bool add_from_arguments(const te_site *site, tn_program *p) {
  for (int i = 0; i < p->n_args; i++)
    for (int d = 0; d < p->args[i]->ndim; d++) {
      const tir_expr *size = p->args[i]->size[d];
      if (!size || size->op != TIR_VAR || add_symbol(p, te_var_axis(size->u.var))) continue;
      te_fail(site, TN_ERROR_PROGRAM, "the program has more than %d symbols", (int)TE_MAX_SYMBOLS);
      return false;
    }
  return true;
}

/* A symbol that is not by itself an extent of some argument would have no value in a call. */
static tir_walk check_known(void *user, const tir_expr *e) {
  const collection *c = user;
  bool is_symbol = e->op == TIR_VAR && te_var_axis(e->u.var)->is_symbol;
  if (!is_symbol || te_symbol_number(c->program, e->u.var) >= 0) return TIR_WALK_ON;
  te_fail(c->site, TN_ERROR_PROGRAM,
          "symbol '%s', which '%s' uses, is not the extent of a dimension of an input or output: nothing gives it a "
          "value at a call; give an argument a dimension of extent %s",
          e->u.var->name, c->where, e->u.var->name);
  return TIR_WALK_STOP;
}

/* Checks the numbers that a C call passes; symbols in extents of results are checked like any others. */
static bool check_numbers(collection *c, const te_op *op) {
  for (int i = 0; i < op->call->n; i++)
    if (op->call->args[i].number && !tir_walk_expr(op->call->args[i].number, check_known, c)) return false;
  return true;
}

/* Checks the extents of an op's outputs, which are the same for all outputs unless a C call computes them. */
static bool check_sizes(collection *c, const te_op *op) {
  for (int v = 0; v < op->n_outputs; v++)
    for (int d = 0; d < op->outputs[v].ndim; d++)
      if (op->outputs[v].size[d] && !tir_walk_expr(op->outputs[v].size[d], check_known, c)) return false;
  return !te_is_extern(op) || check_numbers(c, op);
}

/* Checks extents of outputs and reduction axes, then the body. */
static bool check_op(collection *c, const te_op *op) {
  c->where = op->name;
  if (op->scan && is_symbolic(op)) {
    te_fail(
        c->site, TN_ERROR_PROGRAM,
        "'%s' is part of a scan, whose extents are numbers: give its symbols a value, or leave them out of the scan",
        op->name);
    return false;
  }
  if (!check_sizes(c, op)) return false;
  for (int i = 0; i < op->n_reduce; i++)
    if (op->reduce_axes[i]->size && !tir_walk_expr(op->reduce_axes[i]->size, check_known, c)) return false;
  return !op->body || tir_walk_expr(op->body, check_known, c);
}

/* Names of symbols become parameters of the kernel, so nothing else may have them. */
static bool is_name_of(const te_op *op, const char *name) {
  bool same = strcmp(op->name, name) == 0;
  for (int i = 0; op->axes && i < op->n_axes; i++) same = same || strcmp(op->axes[i]->var.name, name) == 0;
  for (int i = 0; i < op->n_reduce; i++) same = same || strcmp(op->reduce_axes[i]->var.name, name) == 0;
  return same;
}

/* A symbol's name must not be that of another symbol, of a tensor or of an axis. */
static bool check_names(const te_site *site, const tn_program *p) {
  for (int i = 0; i < p->n_symbols; i++) {
    const char *name = p->symbols[i]->var.name;
    bool is_taken = false;
    for (int k = 0; k < i; k++) is_taken = is_taken || strcmp(p->symbols[k]->var.name, name) == 0;
    for (int k = 0; k < p->n_ops; k++) is_taken = is_taken || is_name_of(p->ops[k], name);
    if (!is_taken) continue;
    te_fail(site, TN_ERROR_PROGRAM, "symbol '%s' has the name of another symbol, a tensor or an axis", name);
    return false;
  }
  return true;
}

/* Whether NAME is a stride parameter of the kernel, "A_stride0", for argument A. */
static bool names_a_stride(const tn_tensor *t, const char *name) {
  size_t n = strlen(t->name);
  bool begins = t->is_strided && strncmp(name, t->name, n) == 0 && strncmp(name + n, "_stride", 7) == 0;
  const char *digit = name + n + 7;
  return begins && digit[0] >= '0' && digit[0] < '0' + t->ndim - 1 && digit[1] == '\0';
}

/* A strided tensor must be an argument, since nothing else gets strides. */
static bool check_strided_op(const te_site *site, const tn_program *p, const te_op *op) {
  for (int v = 0; v < op->n_outputs; v++) {
    const tn_tensor *t = &op->outputs[v];
    bool is_argument = !t->is_strided;
    for (int i = 0; i < p->n_args; i++) is_argument |= p->args[i] == t;
    if (is_argument) continue;
    te_fail(site, TN_ERROR_PROGRAM,
            "'%s' is strided but no output of this program: nothing gives it strides at a call; make it an output, or "
            "leave that out",
            t->name);
    return false;
  }
  return true;
}

/* No parameter of the kernel may have the name of a stride. */
static bool check_strides(const te_site *site, const tn_program *p) {
  for (int i = 0; i < p->n_ops; i++)
    if (!check_strided_op(site, p, p->ops[i])) return false;
  for (int k = 0; k < p->n_args + p->n_symbols; k++) {
    const char *name = k < p->n_args ? p->args[k]->name : p->symbols[k - p->n_args]->var.name;
    for (int i = 0; i < p->n_args; i++) {
      if (!names_a_stride(p->args[i], name)) continue;
      te_fail(site, TN_ERROR_PROGRAM, "'%s' has the name of a stride of '%s', which is strided: give it another name",
              name, p->args[i]->name);
      return false;
    }
  }
  return true;
}

/* Symbols are numbered by the first argument that has each; they come in that order in the kernel's signature. */
bool te_collect_symbols(const te_site *site, tn_program *p) {
  collection c = {site, p, NULL};
  p->symbols = RUNTIME_NEW_ARRAY(&site->ctx->arena, const tn_axis *, TE_MAX_SYMBOLS);
  if (!te_has_memory(site, p->symbols) || !add_from_arguments(site, p)) return false;
  for (int i = 0; i < p->n_ops; i++)
    if (!check_op(&c, p->ops[i])) return false;
  return check_names(site, p) && check_strides(site, p);
}
