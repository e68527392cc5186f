/* print.c: loop IR as text in the style of TVM's old text form, with as few parentheses as precedence allows:
 * spaces around additions, comparisons and booleans, none around products; floor division, min, select as calls. */
#include <inttypes.h>

#include "tir/text.h"

const char *const tir_dtype_words[TN_DTYPE_COUNT] = {
    [TN_BOOL] = "bool",   [TN_I8] = "int8",       [TN_U8] = "uint8",    [TN_I16] = "int16",
    [TN_U16] = "uint16",  [TN_I32] = "int32",     [TN_U32] = "uint32",  [TN_I64] = "int64",
    [TN_F16] = "float16", [TN_BF16] = "bfloat16", [TN_F32] = "float32", [TN_F64] = "float64",
};

const char *const tir_loop_words[TIR_LOOP_KIND_COUNT] = {
    [TIR_SERIAL] = "",
    [TIR_UNROLLED] = "unroll",
    [TIR_VECTORIZED] = "vectorized",
    [TIR_PARALLEL] = "parallel",
};

/* What prints as a call, or stands alone, is an atom. */
int tir_text_binding(tir_op op) {
  static const uint8_t bindings[TIR_OP_COUNT] = {
      [TIR_OR] = BIND_OR,     [TIR_AND] = BIND_AND,       [TIR_NOT] = BIND_UNARY,     [TIR_ADD] = BIND_ADD,
      [TIR_SUB] = BIND_ADD,   [TIR_MUL] = BIND_MUL,       [TIR_DIV] = BIND_MUL,       [TIR_BITOR] = BIND_BITOR,
      [TIR_SHL] = BIND_SHIFT, [TIR_BITXOR] = BIND_BITXOR, [TIR_BITAND] = BIND_BITAND, [TIR_BITNOT] = BIND_UNARY,
      [TIR_SHR] = BIND_SHIFT};
  if (tir_op_table[op].op_class == TIR_CLASS_COMPARISON) return BIND_COMPARE;
  return bindings[op] != 0 ? bindings[op] : BIND_ATOM;
}

/* How strongly the node's operator binds. */
static int binding(const tir_expr *e) { return tir_text_binding((tir_op)e->op); }

static void print(runtime_str *out, const tir_expr *e, int context);

/* Comma-separated. */
static void print_list(runtime_str *out, int n, const tir_expr *const *items) {
  for (int i = 0; i < n; i++) {
    if (i > 0) runtime_str_add(out, ", ");
    print(out, items[i], BIND_ANY);
  }
}

/* i32, by far the most frequent, has no letters behind it. */
static void print_int(runtime_str *out, tn_dtype dtype, int64_t value) {
  if (dtype == TN_BOOL) {
    runtime_str_add(out, value ? "True" : "False");
  } else {
    runtime_str_addf(out, "%" PRId64 "%s", value, dtype == TN_I32 ? "" : tn_dtype_name(dtype));
  }
}

/* The shortest text that reads back, with its dtype: 0.5f32. */
static void print_float(runtime_str *out, tn_dtype dtype, double value) {
  char text[RUNTIME_FLOAT_TEXT];
  runtime_str_addf(out, "%s%s", runtime_float_text(text, value, dtype), tn_dtype_name(dtype));
}

/* a + -3 reads as a - 3. */
static bool prints_as_subtraction(const tir_expr *e) {
  const tir_expr *b = e->arg[1];
  return e->op == TIR_ADD && b->op == TIR_INT && b->u.i < 0 && b->u.i > tir_dtype_range((tn_dtype)b->dtype).lo;
}

/* An operator between its operands; in parentheses where the context binds stronger. */
static void print_infix(runtime_str *out, const tir_expr *e, int context) {
  int own = binding(e);
  bool tight = own == BIND_MUL, comparison = own == BIND_COMPARE;
  if (own < context) runtime_str_add(out, "(");
  print(out, e->arg[0], comparison ? own + 1 : own);
  if (prints_as_subtraction(e)) {
    runtime_str_add(out, " - ");
    print_int(out, e->dtype, -e->arg[1]->u.i);
  } else {
    runtime_str_addf(out, tight ? "%s" : " %s ", tir_op_table[e->op].text);
    bool associative = own == BIND_AND || own == BIND_OR;
    print(out, e->arg[1], associative ? own : own + 1);
  }
  if (own < context) runtime_str_add(out, ")");
}

/* name[index, ..., predicate = condition] */
static void print_access(runtime_str *out, const char *name, int n, const tir_expr *const *index,
                         const tir_expr *predicate) {
  runtime_str_addf(out, "%s[", name);
  print_list(out, n, index);
  if (predicate != NULL) {
    runtime_str_add(out, n > 0 ? ", predicate = " : "predicate = ");
    print(out, predicate, BIND_ANY);
  }
  runtime_str_add(out, "]");
}

/* The function name of what prints as a call. */
static const char *call_name(const tir_expr *e) {
  static const char *const combiners[TIR_COMBINER_COUNT] = {
#define X(name, text) [TIR_REDUCE_##name] = text,
      TIR_COMBINERS(X)
#undef X
  };
  if (e->op == TIR_REDUCE) return e->u.reduce->tuple ? e->u.reduce->tuple->name : combiners[e->u.reduce->combiner];
  if (e->op == TIR_FLOORDIV) return "floordiv";
  return e->op == TIR_FLOORMOD ? "floormod" : tir_op_table[e->op].text;
}

/* A cast says its dtype first; ramp and broadcast say their lanes last. */
static void print_call(runtime_str *out, const tir_expr *e) {
  runtime_str_addf(out, "%s(", call_name(e));
  if (e->op == TIR_CAST) runtime_str_addf(out, "%s, ", tir_dtype_words[e->dtype]);
  print_list(out, e->n_args, e->arg);
  if (e->op == TIR_RAMP) runtime_str_addf(out, ", %" PRId64, e->u.i);
  if (e->op == TIR_RAMP || e->op == TIR_BROADCAST) runtime_str_addf(out, ", %d", e->lanes);
  runtime_str_add(out, ")");
}

/* ! and ~ bind strongest and have one operand. */
static void print_prefix(runtime_str *out, const tir_expr *e) {
  runtime_str_add(out, tir_op_table[e->op].text);
  print(out, e->arg[0], BIND_UNARY);
}

/* Asks for failure at each node: a DAG of 30 nodes can be a text of 2^30. */
static void print(runtime_str *out, const tir_expr *e, int context) {
  if (out->failed) return;
  if (e->op == TIR_INT)
    print_int(out, e->dtype, e->u.i);
  else if (e->op == TIR_FLOAT)
    print_float(out, e->dtype, e->u.f);
  else if (e->op == TIR_VAR)
    runtime_str_add(out, e->u.var->name);
  else if (e->op == TIR_LOAD)
    print_access(out, e->u.buffer->name, tir_n_index(e), e->arg, tir_predicate(e));
  else if (binding(e) == BIND_UNARY)
    print_prefix(out, e);
  else if (binding(e) < BIND_UNARY)
    print_infix(out, e, context);
  else
    print_call(out, e);
}

void tir_print_expr(runtime_str *out, const tir_expr *e) { print(out, e, BIND_ANY); }

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* Two blanks a level. */
static void start_line(runtime_str *out, int indent) {
  for (int i = 0; i < indent; i++) runtime_str_add(out, "  ");
}

/* Extents as the user gave them; symbolic ones as expressions. */
static void print_shape(runtime_str *out, const tir_buffer *buffer) {
  runtime_str_add(out, "[");
  for (int i = 0; i < buffer->ndim; i++) {
    if (i > 0) runtime_str_add(out, ", ");
    if (buffer->size[i] != NULL)
      print(out, buffer->size[i], BIND_ANY);
    else
      runtime_str_addf(out, "%" PRId64, buffer->shape[i]);
  }
  runtime_str_add(out, "]");
}

/* Behind a strided buffer's shape. */
static void print_strides(runtime_str *out, const tir_buffer *buffer) {
  if (!tir_is_strided(buffer)) return;
  runtime_str_add(out, ", [");
  for (int i = 0; i < buffer->ndim - 1; i++) {
    print(out, buffer->stride[i], BIND_ANY);
    runtime_str_add(out, ", ");
  }
  runtime_str_add(out, "1]");
}

/* " {", the body one level deeper, "}". */
static void print_block(runtime_str *out, const tir_stmt *body, int indent) {
  runtime_str_add(out, " {\n");
  tir_print_stmt(out, body, indent + 1);
  start_line(out, indent);
  runtime_str_add(out, "}");
}

/* The end bound, min + extent. */
static void print_end(runtime_str *out, const tir_expr *min, const tir_expr *extent) {
  int64_t a, n;
  bool known_min = tir_is_int(min, &a), known_extent = tir_is_int(extent, &n);
  if (known_min && known_extent) {
    print_int(out, min->dtype, a + n);
  } else if (known_min && a == 0) {
    print(out, extent, BIND_ANY);
  } else {
    print(out, min, BIND_ADD);
    runtime_str_add(out, " + ");
    print(out, extent, BIND_MUL);
  }
}

/* for (var: dtype, begin, end) "kind" {...} */
static void print_for(runtime_str *out, const tir_stmt *s, int indent) {
  const tir_var *var = s->u.loop.var;
  runtime_str_addf(out, "for (%s: %s, ", var->name, tir_dtype_words[var->dtype]);
  print(out, s->u.loop.min, BIND_ANY);
  runtime_str_add(out, ", ");
  print_end(out, s->u.loop.min, s->u.loop.extent);
  runtime_str_add(out, ")");
  if (s->u.loop.kind != TIR_SERIAL) runtime_str_addf(out, " \"%s\"", tir_loop_words[s->u.loop.kind]);
  if (s->u.loop.peel) runtime_str_add(out, " \"peel\"");
  if (s->u.loop.strided) runtime_str_add(out, " \"strided\"");
  print_block(out, s->u.loop.body, indent);
}

/* ELSE on the line of the closing brace. */
static void print_branch(runtime_str *out, const tir_stmt *s, int indent) {
  runtime_str_add(out, "if (");
  print(out, s->u.branch.cond, BIND_ANY);
  runtime_str_add(out, ")");
  print_block(out, s->u.branch.then_body, indent);
  if (s->u.branch.else_body == NULL) return;
  runtime_str_add(out, " else");
  print_block(out, s->u.branch.else_body, indent);
}

/* TVM's words, though the scope says nothing to a CPU but "local". */
static void print_alloc(runtime_str *out, const tir_stmt *s, int indent) {
  const tir_buffer *b = s->u.alloc.buffer;
  const char *scope = b->scope != NULL ? b->scope : "global", *dtype = tir_dtype_words[b->dtype];
  runtime_str_addf(out, "allocate(%s: Pointer(%s %s), %s, ", b->name, scope, dtype, dtype);
  print_shape(out, b);
  runtime_str_addf(out, "), storage_scope = %s", scope);
  print_block(out, s->u.alloc.body, indent);
}

/* An access on the left is written as one on the right. */
static void print_store(runtime_str *out, const tir_stmt *s) {
  print_access(out, s->u.store.buffer->name, s->u.store.n_index, s->u.store.index, s->u.store.predicate);
  runtime_str_add(out, " = ");
  print(out, s->u.store.value, BIND_ANY);
}

const char *const tir_access_words[TIR_ACCESS_COUNT] = {
    [TIR_BY_VALUE] = "", [TIR_READS] = "reads", [TIR_WRITES] = "writes", [TIR_UPDATES] = "updates"};

/* reads(A[i*4, 0], [1, 4]): the address of an element and the box that the callee touches from there. */
static void print_address(runtime_str *out, const tir_operand *o) {
  runtime_str_addf(out, "%s(", tir_access_words[o->access]);
  print_access(out, o->buffer->name, o->n_index, o->index, NULL);
  runtime_str_add(out, ", [");
  for (int i = 0; i < o->n_index; i++) runtime_str_addf(out, "%s%" PRId64, i > 0 ? ", " : "", o->span[i]);
  runtime_str_add(out, "])");
}

/* Operands that are addresses say what the callee does there. */
static void print_call_stmt(runtime_str *out, const tir_stmt *s) {
  runtime_str_addf(out, "call %s(", s->u.call.callee->name);
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (i > 0) runtime_str_add(out, ", ");
    if (o->access == TIR_BY_VALUE) {
      print(out, o->value, BIND_ANY);
    } else {
      print_address(out, o);
    }
  }
  runtime_str_add(out, ")");
}

/* A bound thread index has a form of its own in TVM's text. */
static void print_key(runtime_str *out, const char *key) {
  size_t n = strlen(TIR_THREAD_EXTENT);
  if (strncmp(key, TIR_THREAD_EXTENT, n) == 0)
    runtime_str_addf(out, "attr [%s] \"thread_extent\"", key + n);
  else
    runtime_str_addf(out, "attr \"pragma_%s\"", key);
}

/* A SEQ has no line of its own: its members are lines. */
void tir_print_stmt(runtime_str *out, const tir_stmt *s, int indent) {
  if (s->kind == TIR_SEQ) {
    for (int i = 0; i < s->u.seq.n; i++) tir_print_stmt(out, s->u.seq.stmts[i], indent);
    return;
  }
  start_line(out, indent);
  switch (s->kind) {
    case TIR_FOR: print_for(out, s, indent); break;
    case TIR_STORE: print_store(out, s); break;
    case TIR_CALL: print_call_stmt(out, s); break;
    case TIR_PREFETCH:
      runtime_str_add(out, "prefetch(");
      print_access(out, s->u.prefetch.buffer->name, s->u.prefetch.n_index, s->u.prefetch.index, NULL);
      runtime_str_add(out, ")");
      break;
    case TIR_IF: print_branch(out, s, indent); break;
    case TIR_ALLOC: print_alloc(out, s, indent); break;
    case TIR_ATTR:
      print_key(out, s->u.attr.key);
      runtime_str_addf(out, " = %" PRId64, s->u.attr.value);
      print_block(out, s->u.attr.body, indent);
      break;
    case TIR_NOP: runtime_str_add(out, "nop"); break;
    case TIR_SEQ: break;
  }
  runtime_str_add(out, "\n");
}

/* name: dtype; a symbol has its range behind it. */
static void print_scalar(runtime_str *out, const tir_func *f, int i) {
  const tir_var *var = f->scalars[i].var;
  runtime_str_addf(out, "%s%s: %s", i + f->n_params > 0 ? ", " : "", var->name, tir_dtype_words[var->dtype]);
  if (!f->scalars[i].is_symbol) return;
  const tir_env *env = f->env;
  while (env != NULL && env->var != var) env = env->outer;
  tir_interval range = env != NULL ? env->range : (tir_interval){1, INT64_MAX};
  runtime_str_addf(out, " in [%" PRId64 ", %" PRId64 "]", range.lo, range.hi);
}

/* Parameters in the shapes they were declared with, the body with flat accesses: both are needed to
 * read it back. */
void tir_print_func(runtime_str *out, const tir_func *f) {
  runtime_str_add(out, "primfn(");
  for (int i = 0; i < f->n_params; i++) {
    const tir_buffer *b = f->declared != NULL ? f->declared[i] : f->params[i];
    runtime_str_addf(out, "%s%s: Buffer(%s, ", i > 0 ? ", " : "", b->name, tir_dtype_words[b->dtype]);
    print_shape(out, b);
    print_strides(out, b);
    runtime_str_add(out, ")");
  }
  for (int i = 0; i < f->n_scalars; i++) print_scalar(out, f, i);
  runtime_str_addf(out, ") -> int32\n  attr = {\"global_symbol\": \"%s\", \"tir.noalias\": True}", f->name);
  print_block(out, f->body, 0);
  runtime_str_add(out, "\n");
}
