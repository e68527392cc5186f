/* check.c: well-formedness of loop IR, run between the passes. Every invariant has a name, which stands
 * in the message together with the offending expression or name. A failure here is a bug of the pass
 * before, never of the user: TN_ERROR_INTERNAL. MAX_DEPTH keeps the recursion of all walks within the
 * stack. */
#include "tir/internal.h"

enum { MAX_DEPTH = 1000 };

/* What is in scope: variables and buffers, innermost first. */
typedef struct scope {
  const struct scope *outer;
  const void *what;
} scope;

/* One run over a function. Scopes are nodes on the C stack, linked outwards; the memos die with the
 * run. */
typedef struct checker {
  tn_context *ctx;
  const tir_func *f;
  const scope *vars, *buffers;
  tir_memo *seen;  /* nodes already checked in this expression */
  tir_memo *calls; /* tir_callee -> its first call */
  int depth;
  bool failed;
} checker;

/* Linear in the depth of the nest, which is some dozens. */
static bool in_scope(const scope *s, const void *what) {
  for (; s != NULL; s = s->outer) {
    if (s->what == what) return true;
  }
  return false;
}

/* Always false. */
static bool broken(checker *c, const char *invariant, const char *what) {
  if (!c->failed) {
    runtime_fail(c->ctx, TN_ERROR_INTERNAL, "loop IR of \"%s\" breaks the invariant %s: %s", c->f->name, invariant,
                 what);
  }
  c->failed = true;
  return false;
}

/* The same with the expression printed, as far as it can be. */
static bool broken_expr(checker *c, const char *invariant, const tir_expr *e) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%s node ", tir_op_table[e->op].name);
  bool whole = e->n_args > 0;
  for (int i = 0; i < e->n_args; i++) whole = whole && e->arg[i] != NULL;
  bool prints = whole && e->op != TIR_READ && e->op != TIR_REDUCE && e->op != TIR_TUPLE &&
                e->n_args >= tir_op_table[e->op].n_args;
  if (prints) tir_print_expr(&text, e);
  broken(c, invariant, text.data != NULL ? text.data : "?");
  runtime_str_free(&text);
  return false;
}

/* What an index or a loop bound may be: an integer that is no truth value. */
static bool is_index(const tir_expr *e) { return !tn_dtype_is_float(e->dtype) && e->dtype != TN_BOOL; }

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static bool check_expr(checker *c, const tir_expr *e);

/* Constants must be values of their dtype: folding and printing rely on that and would change an f32
 * that is not. */
static bool check_leaf(checker *c, const tir_expr *e) {
  if (e->lanes != 1) return broken_expr(c, "leaf-lanes", e);
  if (e->op == TIR_VAR) {
    if (e->u.var == NULL || e->dtype != e->u.var->dtype) return broken_expr(c, "variable-dtype", e);
    return in_scope(c->vars, e->u.var) || broken(c, "variable-in-scope", e->u.var->name);
  }
  bool is_float = tn_dtype_is_float(e->dtype);
  if (is_float != (e->op == TIR_FLOAT)) return broken_expr(c, "constant-dtype", e);
  if (is_float)
    return e->dtype != TN_F32 || e->u.f != e->u.f || (double)(float)e->u.f == e->u.f ||
           broken_expr(c, "constant-range", e);
  return tir_wrap(e->dtype, e->u.i) == e->u.i || broken_expr(c, "constant-range", e);
}

/* What loads and stores have in common. */
static bool check_access(checker *c, const tir_buffer *buffer, int n, const tir_expr *const *index, int lanes,
                         const tir_expr *predicate) {
  if (!in_scope(c->buffers, buffer)) return broken(c, "buffer-in-scope", buffer->name);
  if (n != buffer->ndim) return broken(c, "access-rank", buffer->name);
  for (int i = 0; i < n; i++) {
    if (!is_index(index[i])) return broken_expr(c, "index-dtype", index[i]);
    if (index[i]->lanes != lanes) return broken_expr(c, "index-lanes", index[i]);
  }
  if (predicate == NULL) return true;
  if (predicate->dtype != TN_BOOL) return broken_expr(c, "predicate-dtype", predicate);
  return predicate->lanes == lanes || broken_expr(c, "predicate-lanes", predicate);
}

/* Lanes are looked at for all operators elsewhere. */
static bool check_select(checker *c, const tir_expr *e) {
  if (e->arg[0]->dtype != TN_BOOL) return broken_expr(c, "select-condition", e);
  if (e->arg[1]->dtype != e->dtype || e->arg[2]->dtype != e->dtype) return broken_expr(c, "operand-dtypes", e);
  return true;
}

/* A ramp or broadcast of one lane does not exist: the constructors give the scalar, so that equal
 * values have one form. */
static bool check_vector_node(checker *c, const tir_expr *e) {
  if (e->lanes < 2 || e->arg[0]->lanes != 1) return broken_expr(c, "vector-lanes", e);
  if (e->arg[0]->dtype != e->dtype) return broken_expr(c, "operand-dtypes", e);
  if (e->op == TIR_RAMP && !is_index(e)) return broken_expr(c, "ramp-dtype", e);
  return true;
}

/* The combinations that processors have (VNNI, bf16 dot products) and that the back ends know how to
 * emulate. */
static bool check_dot(checker *c, const tir_expr *e) {
  int group = tir_dot_group((tn_dtype)e->dtype);
  if (e->arg[0]->dtype != e->dtype || group == 0) return broken_expr(c, "operand-dtypes", e);
  if (e->arg[0]->lanes != e->lanes) return broken_expr(c, "operand-lanes", e);
  for (int i = 1; i < 3; i++) {
    tn_dtype dtype = (tn_dtype)e->arg[i]->dtype;
    bool fits = e->dtype == TN_I32 ? dtype == TN_I8 || dtype == TN_U8 : dtype == TN_BF16;
    if (!fits) return broken_expr(c, "operand-dtypes", e);
    if (e->arg[i]->lanes != group * e->lanes) return broken_expr(c, "dot-lanes", e);
  }
  return true;
}

/* Arithmetic, comparisons, booleans and math functions. */
static bool check_operands(checker *c, const tir_expr *e) {
  tir_rule rule = tir_rule_of(e);
  const tir_expr *a = e->arg[0], *b = e->n_args > 1 ? e->arg[1] : a;
  bool is_float = tn_dtype_is_float(a->dtype), is_division = tir_class_of(e) == TIR_CLASS_DIVISION;
  if (a->dtype != b->dtype) return broken_expr(c, "operand-dtypes", e);
  if (runtime_is_half((tn_dtype)a->dtype)) return broken_expr(c, "half-operand", e);
  if (rule == TIR_RULE_TEST && !is_float) return broken_expr(c, "float-function", e);
  if (rule == TIR_RULE_COMPARISON || rule == TIR_RULE_BOOLEAN || rule == TIR_RULE_TEST) {
    if (e->dtype != TN_BOOL) return broken_expr(c, "boolean-result", e);
    return rule != TIR_RULE_BOOLEAN || a->dtype == TN_BOOL || broken_expr(c, "boolean-operands", e);
  }
  if (a->dtype != e->dtype) return broken_expr(c, "operand-dtypes", e);
  if (rule == TIR_RULE_INTEGER && (is_float || e->dtype == TN_BOOL)) return broken_expr(c, "integer-bits", e);
  if (rule == TIR_RULE_FLOAT && !is_float) return broken_expr(c, "float-function", e);
  if (e->op == TIR_DIV && !is_float) return broken_expr(c, "float-division", e);
  return !is_division || !is_float || broken_expr(c, "integer-division", e);
}

/* f16 and bf16 are converted from and to f32 only. */
static bool check_half_cast(const tir_expr *e) {
  tn_dtype from = (tn_dtype)e->arg[0]->dtype, to = (tn_dtype)e->dtype;
  return (!runtime_is_half(to) || from == TN_F32) && (!runtime_is_half(from) || to == TN_F32);
}

/* The lanes of a load are those of its indices, and a predicate has as many. */
static bool check_load(checker *c, const tir_expr *e) {
  if (e->dtype != e->u.buffer->dtype) return broken(c, "load-dtype", e->u.buffer->name);
  return check_access(c, e->u.buffer, tir_n_index(e), e->arg, e->lanes, tir_predicate(e));
}

/* An operator works lane by lane: there is no broadcast but the one that is written. */
static bool check_lanes(checker *c, const tir_expr *e) {
  for (int i = 0; i < e->n_args; i++) {
    if (e->arg[i]->lanes != e->lanes) return broken_expr(c, "operand-lanes", e);
  }
  return true;
}

/* A node whose arguments are well-formed. */
static bool check_node(checker *c, const tir_expr *e) {
  switch (tir_class_of(e)) {
    case TIR_CLASS_CONSTANT:
    case TIR_CLASS_VARIABLE: return check_leaf(c, e);
    case TIR_CLASS_TENSOR: return broken_expr(c, "no-te-nodes", e);
    case TIR_CLASS_LOAD: return check_load(c, e);
    case TIR_CLASS_RAMP:
    case TIR_CLASS_BROADCAST: return check_vector_node(c, e);
    case TIR_CLASS_DOT: return check_dot(c, e);
    case TIR_CLASS_CAST: return check_lanes(c, e) && (check_half_cast(e) || broken_expr(c, "half-cast", e));
    case TIR_CLASS_SELECT: return check_lanes(c, e) && check_select(c, e);
    case TIR_CLASS_SUM:
    case TIR_CLASS_RATIO:
    case TIR_CLASS_DIVISION:
    case TIR_CLASS_EXTREMUM:
    case TIR_CLASS_MAGNITUDE:
    case TIR_CLASS_COMPARISON:
    case TIR_CLASS_LOGIC:
    case TIR_CLASS_BITS:
    case TIR_CLASS_SHIFT:
    case TIR_CLASS_COUNT:
    case TIR_CLASS_MATH:
    case TIR_CLASS_TEST: break;
  }
  return check_lanes(c, e) && check_operands(c, e);
}

/* Arguments come first, as the rules of a node look at the dtypes of its arguments. */
static bool check_args(checker *c, const tir_expr *e) {
  int wanted = tir_op_table[e->op].n_args;
  if (wanted >= 0 && e->n_args != wanted) return broken_expr(c, "argument-count", e);
  c->depth++;
  for (int i = 0; i < e->n_args; i++) {
    if (e->arg[i] == NULL) return broken_expr(c, "argument-present", e);
    if (!check_expr(c, e->arg[i])) return false;
  }
  c->depth--;
  return true;
}

/* A node that was seen under the same statement is not checked again, which keeps the check linear in a
 * DAG. Variables are leaves and are looked at each time, for their scope may differ. */
static bool check_expr(checker *c, const tir_expr *e) {
  if (e->op >= TIR_OP_COUNT) return broken(c, "known-operator", "a number outside the table");
  if (e->dtype >= TN_DTYPE_COUNT) return broken_expr(c, "known-dtype", e);
  if (c->depth > MAX_DEPTH) return broken(c, "expression-depth", tir_op_table[e->op].name);
  if (tir_rule_of(e) == TIR_RULE_LEAF) return check_leaf(c, e);
  if (!tir_memo_add(c->seen, e)) return true;
  return check_args(c, e) && check_node(c, e);
}

/* An expression of a statement; PLACE names it when it is missing. */
static bool check_root(checker *c, const tir_expr *e, const char *place) {
  if (e == NULL) return broken(c, "expression-present", place);
  tir_memo seen;
  tir_memo_init(&seen);
  c->seen = &seen;
  c->depth = 0;
  bool good = check_expr(c, e);
  tir_memo_end(&seen);
  c->seen = NULL;
  return good;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static bool check_stmt(checker *c, const tir_stmt *s);

/* Bounds are evaluated outside of the loop, so that its own variable may not stand in them. */
static bool check_for(checker *c, const tir_stmt *s) {
  const tir_var *var = s->u.loop.var;
  const tir_expr *bounds[2] = {s->u.loop.min, s->u.loop.extent};
  if (var == NULL) return broken(c, "loop-variable", "a loop has none");
  for (int i = 0; i < 2; i++) {
    if (!check_root(c, bounds[i], var->name)) return false;
    if (bounds[i]->dtype != var->dtype || bounds[i]->lanes != 1) return broken(c, "loop-bounds", var->name);
  }
  if (var->dtype != c->f->index_dtype) return broken(c, "loop-variable-dtype", var->name);
  if (in_scope(c->vars, var)) return broken(c, "variable-bound-once", var->name);
  scope inner = {c->vars, var};
  c->vars = &inner;
  bool good = check_stmt(c, s->u.loop.body);
  c->vars = inner.outer;
  return good;
}

/* Values of another dtype are not converted by a store: a cast must say so. */
static bool check_store(checker *c, const tir_stmt *s) {
  const tir_buffer *buffer = s->u.store.buffer;
  if (buffer == NULL) return broken(c, "store-buffer", "a store has none");
  for (int i = 0; i < s->u.store.n_index; i++) {
    if (!check_root(c, s->u.store.index[i], buffer->name)) return false;
  }
  if (!check_root(c, s->u.store.value, buffer->name)) return false;
  if (s->u.store.predicate != NULL && !check_root(c, s->u.store.predicate, buffer->name)) return false;
  if (buffer->is_input) return broken(c, "inputs-are-not-stored-to", buffer->name);
  if (s->u.store.value->dtype != buffer->dtype) return broken(c, "store-dtype", buffer->name);
  return check_access(c, buffer, s->u.store.n_index, s->u.store.index, s->u.store.value->lanes, s->u.store.predicate);
}

/* What a callee takes at one place is the same in all its calls. */
static bool check_signature(checker *c, const tir_stmt *s) {
  const tir_stmt *first = tir_memo_get(c->calls, s->u.call.callee);
  const char *name = s->u.call.callee->name;
  if (first == NULL) return tir_memo_put(c->calls, s->u.call.callee, s), true;
  if (first->u.call.n != s->u.call.n) return broken(c, "callee-signature", name);
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *a = &first->u.call.operands[i], *b = &s->u.call.operands[i];
    bool by_value = a->access == TIR_BY_VALUE;
    if (by_value != (b->access == TIR_BY_VALUE) || (by_value && a->value->dtype != b->value->dtype) ||
        (!by_value && a->buffer->dtype != b->buffer->dtype))
      return broken(c, "callee-signature", name);
  }
  return true;
}

/* The types of runtime_c_arg, which is how a call within this process passes them. */
static bool check_by_value(checker *c, const tir_stmt *s, const tir_expr *value) {
  if (!check_root(c, value, s->u.call.callee->name)) return false;
  bool passes = value->dtype == TN_I32 || value->dtype == TN_I64 || value->dtype == TN_F32 || value->dtype == TN_F64;
  return (passes && value->lanes == 1) || broken_expr(c, "call-by-value", value);
}

/* The box may not be longer than the buffer. Whether it lies inside depends on the index and is not
 * checked here. */
static bool check_operand(checker *c, const tir_stmt *s, const tir_operand *o) {
  if (o->access == TIR_BY_VALUE) return check_by_value(c, s, o->value);
  if (o->buffer == NULL) return broken(c, "operand-buffer", s->u.call.callee->name);
  for (int i = 0; i < o->n_index; i++) {
    if (!check_root(c, o->index[i], o->buffer->name)) return false;
  }
  if (o->access != TIR_READS && o->buffer->is_input) return broken(c, "inputs-are-not-stored-to", o->buffer->name);
  if (!check_access(c, o->buffer, o->n_index, o->index, 1, NULL)) return false;
  for (int i = 0; i < o->n_index; i++) {
    const bool is_symbolic = o->buffer->size[i] != NULL;
    if (is_symbolic ? o->span[i] < 0 : o->span[i] < 1 || o->span[i] > o->buffer->shape[i])
      return broken(c, "operand-span", o->buffer->name);
  }
  return true;
}

/* Operands by themselves first, then against the callee's signature. */
static bool check_call(checker *c, const tir_stmt *s) {
  if (s->u.call.callee == NULL || s->u.call.callee->name == NULL) return broken(c, "callee-name", "a call has none");
  for (int i = 0; i < s->u.call.n; i++) {
    if (!check_operand(c, s, &s->u.call.operands[i])) return false;
  }
  return check_signature(c, s);
}

/* Prefetches have no predicate, and their indices must be inside by construction. */
static bool check_prefetch(checker *c, const tir_stmt *s) {
  const tir_buffer *buffer = s->u.prefetch.buffer;
  if (buffer == NULL) return broken(c, "prefetch-buffer", "a prefetch has none");
  for (int i = 0; i < s->u.prefetch.n_index; i++) {
    if (!check_root(c, s->u.prefetch.index[i], buffer->name)) return false;
  }
  return check_access(c, buffer, s->u.prefetch.n_index, s->u.prefetch.index, 1, NULL);
}

/* A branch is on one truth value; conditions a lane are predicates. */
static bool check_branch(checker *c, const tir_stmt *s) {
  const tir_expr *cond = s->u.branch.cond;
  if (!check_root(c, cond, "a condition")) return false;
  if (cond->dtype != TN_BOOL || cond->lanes != 1) return broken_expr(c, "branch-condition", cond);
  if (!check_stmt(c, s->u.branch.then_body)) return false;
  return s->u.branch.else_body == NULL || check_stmt(c, s->u.branch.else_body);
}

/* A stride is an argument of the function, and all dimensions but the last have one. */
static bool check_strides(checker *c, const tir_buffer *buffer) {
  if (!tir_is_strided(buffer)) return true;
  if (!buffer->is_param || buffer->stride[buffer->ndim - 1] != NULL) return broken(c, "buffer-strides", buffer->name);
  for (int i = 0; i < buffer->ndim - 1; i++) {
    const tir_expr *stride = buffer->stride[i];
    if (stride == NULL || stride->op != TIR_VAR || stride->dtype != c->f->index_dtype)
      return broken(c, "buffer-strides", buffer->name);
    if (!check_root(c, stride, buffer->name)) return false;
  }
  return true;
}

/* A symbolic extent has the shape -1 and a size in the index dtype; every other one is at least 1. */
static bool check_shape(checker *c, const tir_buffer *buffer) {
  if (buffer->ndim < 0 || buffer->ndim > TN_MAX_RANK) return broken(c, "buffer-rank", buffer->name);
  for (int i = 0; i < buffer->ndim; i++) {
    const tir_expr *size = buffer->size[i];
    if (size != NULL ? buffer->shape[i] != -1 : buffer->shape[i] <= 0) return broken(c, "buffer-shape", buffer->name);
    if (size != NULL && size->dtype != c->f->index_dtype) return broken(c, "buffer-size-dtype", buffer->name);
    if (size != NULL && !check_root(c, size, buffer->name)) return false;
  }
  return check_strides(c, buffer);
}

/* A buffer's scope is the body of its ALLOC. It may be allocated again elsewhere, side by side, but not
 * inside. */
static bool check_alloc(checker *c, const tir_stmt *s) {
  const tir_buffer *buffer = s->u.alloc.buffer;
  if (buffer == NULL) return broken(c, "allocation-buffer", "an allocation has none");
  if (buffer->is_param) return broken(c, "parameters-are-not-allocated", buffer->name);
  if (in_scope(c->buffers, buffer)) return broken(c, "buffer-allocated-once", buffer->name);
  if (!check_shape(c, buffer)) return false;
  scope inner = {c->buffers, buffer};
  c->buffers = &inner;
  bool good = check_stmt(c, s->u.alloc.body);
  c->buffers = inner.outer;
  return good;
}

/* No SEQ in a SEQ, no NOP in one, at least two members: tir_seq makes no other, and walks rely on it. */
static bool check_seq(checker *c, const tir_stmt *s) {
  for (int i = 0; i < s->u.seq.n; i++) {
    const tir_stmt *part = s->u.seq.stmts[i];
    if (part != NULL && (part->kind == TIR_SEQ || part->kind == TIR_NOP))
      return broken(c, "flat-sequence", "a nested one");
    if (!check_stmt(c, part)) return false;
  }
  return s->u.seq.n > 1 || broken(c, "flat-sequence", "one of fewer than two statements");
}

/* False at the first rule that is broken; the checker then holds its name and where. */
static bool check_stmt(checker *c, const tir_stmt *s) {
  if (s == NULL) return broken(c, "statement-present", "a body is missing");
  switch (s->kind) {
    case TIR_FOR: return check_for(c, s);
    case TIR_STORE: return check_store(c, s);
    case TIR_CALL: return check_call(c, s);
    case TIR_PREFETCH: return check_prefetch(c, s);
    case TIR_IF: return check_branch(c, s);
    case TIR_ALLOC: return check_alloc(c, s);
    case TIR_SEQ: return check_seq(c, s);
    case TIR_ATTR: return s->u.attr.key != NULL ? check_stmt(c, s->u.attr.body) : broken(c, "attribute-key", "none");
    case TIR_NOP: return true;
  }
  return broken(c, "known-statement", "a number outside the enum");
}

/* Puts what is passed by value in scope; SCALARS has room for it. */
static void add_scalars(checker *c, scope *scalars) {
  for (int i = 0; i < c->f->n_scalars; i++) {
    const tir_var *var = c->f->scalars[i].var;
    if (in_scope(c->vars, var)) broken(c, "scalar-once", var->name);
    if (c->f->scalars[i].is_symbol && var->dtype != c->f->index_dtype) broken(c, "symbol-dtype", var->name);
    scalars[i] = (scope){c->vars, var};
    c->vars = &scalars[i];
  }
}

/* Puts the parameters in scope; PARAMS has room for them. */
static bool check_params(checker *c, scope *params) {
  for (int i = 0; i < c->f->n_params; i++) {
    const tir_buffer *buffer = c->f->params[i];
    if (!buffer->is_param) return broken(c, "parameter-flag", buffer->name);
    if (buffer->is_input != (i < c->f->n_inputs)) return broken(c, "inputs-come-first", buffer->name);
    if (in_scope(c->buffers, buffer)) return broken(c, "parameter-once", buffer->name);
    if (!check_shape(c, buffer)) return false;
    params[i] = (scope){c->buffers, buffer};
    c->buffers = &params[i];
  }
  return true;
}

tn_status tir_check(tn_context *ctx, const tir_func *f) {
  tir_memo calls;
  checker c = {.ctx = ctx, .f = f, .calls = &calls};
  scope *params = calloc((size_t)(f->n_params + f->n_scalars) + 1, sizeof *params);
  if (params == NULL) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while checking \"%s\"", f->name);
  tir_memo_init(&calls);
  add_scalars(&c, params + f->n_params);
  if (f->index_dtype != TN_I32 && f->index_dtype != TN_I64) {
    broken(&c, "index-dtype-of-function", "neither i32 nor i64");
  } else if (!c.failed && check_params(&c, params)) {
    check_stmt(&c, f->body);
  }
  tir_memo_end(&calls);
  free(params);
  return c.failed ? TN_ERROR_INTERNAL : TN_OK;
}
