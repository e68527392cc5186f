/* A reader of printed IR, so that a test of a pass is text in and text out. */
#include <ctype.h>

#include "tests/tir/tests.h"

static void skip_space(reader *r) {
  while (isspace((unsigned char)*r->at)) r->at++;
}

static bool take(reader *r, const char *text) {
  skip_space(r);
  size_t n = strlen(text);
  if (strncmp(r->at, text, n) != 0) return false;
  r->at += n;
  return true;
}

static void need(reader *r, const char *text) {
  if (!take(r, text)) fail_msg("the reader expected '%s' at: %.60s", text, r->at);
}

static const char *word(reader *r) {
  skip_space(r);
  const char *start = r->at;
  while (isalnum((unsigned char)*r->at) || *r->at == '_' || (*r->at == '.' && r->at[1] != '.')) r->at++;
  if (r->at == start) fail_msg("the reader expected a name at: %.60s", start);
  return runtime_strndup(r->arena, start, (size_t)(r->at - start));
}

static int64_t number(reader *r) {
  skip_space(r);
  char *end;
  int64_t v = strtoll(r->at, &end, 10);
  if (end == r->at) fail_msg("the reader expected a number at: %.60s", r->at);
  r->at = end;
  return v;
}

static tn_dtype dtype_word(reader *r) {
  static const char *const words[TN_DTYPE_COUNT] = {"bool",   "int8",  "uint8",   "int16",    "uint16",  "int32",
                                                    "uint32", "int64", "float16", "bfloat16", "float32", "float64"};
  const char *w = word(r);
  for (int i = 0; i < TN_DTYPE_COUNT; i++) {
    if (strcmp(w, words[i]) == 0) return (tn_dtype)i;
  }
  fail_msg("the reader knows no dtype %s", w);
  return TN_I32;
}

const tir_var *reader_var(const reader *r, const char *name) {
  for (int i = r->n_vars - 1; i >= 0; i--) {
    if (strcmp(r->vars[i]->name, name) == 0) return r->vars[i];
  }
  return NULL;
}

static tir_buffer *find_buffer(reader *r, const char *name) {
  for (int i = r->n_buffers - 1; i >= 0; i--) {
    if (strcmp(r->buffers[i]->name, name) == 0) return r->buffers[i];
  }
  fail_msg("the reader knows no buffer %s", name);
  return NULL;
}

static const tir_var *new_var(reader *r, const char *name, tn_dtype dtype) {
  assert_true(r->n_vars < READ_NAMES);
  tir_var *var = RUNTIME_NEW(r->arena, tir_var);
  *var = (tir_var){name, dtype};
  return r->vars[r->n_vars++] = var;
}

static tir_buffer *new_buffer(reader *r, const char *name, tn_dtype dtype) {
  assert_true(r->n_buffers < READ_NAMES);
  tir_buffer *b = RUNTIME_NEW(r->arena, tir_buffer);
  *b = (tir_buffer){.name = name, .dtype = dtype, .scope = "global"};
  need(r, "[");
  while (!take(r, "]")) {
    b->shape[b->ndim++] = number(r);
    take(r, ",");
  }
  return r->buffers[r->n_buffers++] = b;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static const tir_expr *any(reader *r);

static int arguments(reader *r, const tir_expr **args, const char *end, const tir_expr **predicate) {
  int n = 0;
  while (!take(r, end)) {
    if (predicate != NULL && take(r, "predicate = ")) {
      *predicate = any(r);
    } else {
      assert_true(n < TN_MAX_RANK);
      args[n++] = any(r);
    }
    take(r, ",");
  }
  return n;
}

static const tir_expr *call(reader *r, const char *name) {
  const tir_expr *args[TN_MAX_RANK];
  if (strcmp(name, "cast") == 0) {
    tn_dtype dtype = dtype_word(r);
    need(r, ",");
    const tir_expr *a = any(r);
    need(r, ")");
    return tir_cast(r->arena, dtype, a);
  }
  int n = arguments(r, args, ")", NULL);
  if (strcmp(name, "ramp") == 0) return tir_ramp(r->arena, args[0], args[1]->u.i, (int)args[2]->u.i);
  if (strcmp(name, "broadcast") == 0) return tir_broadcast(r->arena, args[0], (int)args[1]->u.i);
  if (strcmp(name, "dot") == 0) return tir_dot(r->arena, args[0], args[1], args[2]);
  if (strcmp(name, "select") == 0) return tir_select(r->arena, args[0], args[1], args[2]);
  if (strcmp(name, "floordiv") == 0) return tir_binary(r->arena, TIR_FLOORDIV, args[0], args[1]);
  if (strcmp(name, "floormod") == 0) return tir_binary(r->arena, TIR_FLOORMOD, args[0], args[1]);
  for (int op = 0; op < TIR_OP_COUNT; op++) {
    if (strcmp(name, tir_op_table[op].text) != 0) continue;
    return n == 1 ? tir_unary(r->arena, op, args[0]) : tir_binary(r->arena, op, args[0], args[1]);
  }
  fail_msg("the reader knows no function %s", name);
  return NULL;
}

static const tir_expr *constant(reader *r) {
  skip_space(r);
  char *end;
  double f = strtod(r->at, &end);
  int64_t i = strtoll(r->at, NULL, 10);
  bool whole = true;
  for (const char *c = r->at; c < end; c++) whole = whole && *c != '.' && *c != 'e';
  r->at = end;
  for (int d = 0; d < TN_DTYPE_COUNT; d++) {
    const char *suffix = tn_dtype_name((tn_dtype)d);
    if (strncmp(r->at, suffix, strlen(suffix)) != 0) continue;
    r->at += strlen(suffix);
    return tn_dtype_is_float((tn_dtype)d) ? tir_float(r->arena, d, f) : tir_int(r->arena, d, i);
  }
  if (!whole) fail_msg("the reader wants a suffix on floats");
  return tir_int(r->arena, TN_I32, i);
}

static const tir_expr *atom(reader *r) {
  skip_space(r);
  if (take(r, "(")) {
    const tir_expr *e = any(r);
    need(r, ")");
    return e;
  }
  if (*r->at == '!' && r->at[1] != '=') {
    need(r, "!");
    return tir_unary(r->arena, TIR_NOT, atom(r));
  }
  if (isdigit((unsigned char)*r->at) || *r->at == '-') return constant(r);
  const char *name = word(r);
  if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0) return tir_int(r->arena, TN_BOOL, name[0] == 'T');
  if (*r->at == '(') {
    need(r, "(");
    return call(r, name);
  }
  if (*r->at == '[') {
    const tir_expr *index[TN_MAX_RANK], *predicate = NULL;
    need(r, "[");
    int n = arguments(r, index, "]", &predicate);
    return tir_load(r->arena, find_buffer(r, name), n, index, predicate);
  }
  const tir_var *var = reader_var(r, name);
  if (var == NULL) fail_msg("the reader knows no variable %s", name);
  return tir_var_expr(r->arena, var);
}

typedef struct infix {
  const char *text;
  tir_op op;
  int level;
} infix;

static const infix infixes[] = {{"||", TIR_OR, 0},      {"&&", TIR_AND, 1}, {"<=", TIR_LE, 2}, {">=", TIR_GE, 2},
                                {"==", TIR_EQ, 2},      {"!=", TIR_NE, 2},  {"<", TIR_LT, 2},  {">", TIR_GT, 2},
                                {"+", TIR_ADD, 3},      {"-", TIR_SUB, 3},  {"*", TIR_MUL, 4}, {"//", TIR_FLOORDIV, 4},
                                {"%", TIR_FLOORMOD, 4}, {"/", TIR_DIV, 4}};

static const tir_expr *level(reader *r, int at) {
  if (at == 5) return atom(r);
  const tir_expr *left = level(r, at + 1);
  for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++) {
    if (infixes[i].level != at || !take(r, infixes[i].text)) continue;
    left = tir_binary(r->arena, infixes[i].op, left, level(r, at + 1));
    i = (size_t)-1;
  }
  return left;
}

static const tir_expr *any(reader *r) { return level(r, 0); }

const tir_expr *read_expr(reader *r, const char *text) {
  r->at = text;
  const tir_expr *e = any(r);
  skip_space(r);
  if (*r->at != 0) fail_msg("the reader did not expect: %.60s", r->at);
  return e;
}

const tir_env *read_names(reader *r, const char *text) {
  const tir_env *env = NULL;
  r->at = text;
  for (skip_space(r); *r->at != 0; take(r, ","), skip_space(r)) {
    const char *name = word(r);
    if (take(r, "in")) {
      tir_env *next = RUNTIME_NEW(r->arena, tir_env);
      int64_t low = number(r);
      need(r, "..");
      *next = (tir_env){.outer = env, .var = new_var(r, name, TN_I32), .range = {low, number(r)}};
      env = next;
      continue;
    }
    need(r, ":");
    tn_dtype dtype = dtype_word(r);
    if (*r->at == '[') {
      new_buffer(r, name, dtype)->is_param = true;
    } else {
      new_var(r, name, dtype);
    }
  }
  return env;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static const tir_stmt *block(reader *r);

static const tir_stmt *loop(reader *r) {
  static const struct {
    const char *text;
    tir_loop_kind kind;
  } kinds[] = {{"\"unroll\"", TIR_UNROLLED}, {"\"vectorized\"", TIR_VECTORIZED}, {"\"parallel\"", TIR_PARALLEL}};
  const char *name = word(r);
  need(r, ":");
  tn_dtype dtype = dtype_word(r);
  need(r, ",");
  const tir_expr *min = any(r);
  need(r, ",");
  const tir_expr *end = any(r);
  need(r, ")");
  tir_loop_kind kind = TIR_SERIAL;
  for (int i = 0; i < 3; i++) {
    if (take(r, kinds[i].text)) kind = kinds[i].kind;
  }
  bool peel = take(r, "\"peel\""), strided = take(r, "\"strided\"");
  int n_vars = r->n_vars;
  const tir_var *var = new_var(r, name, dtype);
  const tir_expr *extent = tir_simplify(r->arena, NULL, tir_binary(r->arena, TIR_SUB, end, min));
  tir_stmt *s = (tir_stmt *)tir_for(r->arena, var, min, extent, kind, block(r));
  s->u.loop.peel = peel;
  s->u.loop.strided = strided;
  r->n_vars = n_vars;
  return s;
}

static const tir_stmt *branch(reader *r) {
  const tir_expr *cond = any(r);
  need(r, ")");
  const tir_stmt *then_body = block(r);
  return tir_if(r->arena, cond, then_body, take(r, "else") ? block(r) : NULL);
}

static const tir_stmt *allocation(reader *r) {
  const char *name = word(r);
  need(r, ": Pointer(");
  const char *scope = word(r);
  dtype_word(r);
  need(r, "),");
  tn_dtype dtype = dtype_word(r);
  need(r, ",");
  tir_buffer *b = new_buffer(r, name, dtype);
  b->scope = scope;
  need(r, "), storage_scope =");
  word(r);
  return tir_alloc(r->arena, b, block(r));
}

/* reads(A[i, 0], [1, 4]) and so on, or a value. */
static tir_operand operand(reader *r) {
  static const char *const words[] = {[TIR_READS] = "reads(", [TIR_WRITES] = "writes(", [TIR_UPDATES] = "updates("};
  tir_operand o = {0};
  for (int i = TIR_READS; i <= TIR_UPDATES; i++) {
    if (!take(r, words[i])) continue;
    o.access = (tir_access)i;
    o.buffer = find_buffer(r, word(r));
    need(r, "[");
    o.n_index = arguments(r, o.index, "]", NULL);
    need(r, ", [");
    for (int n = 0; !take(r, "]"); take(r, ",")) o.span[n++] = number(r);
    need(r, ")");
    return o;
  }
  o.value = any(r);
  return o;
}

/* Callees are known by name (tests.h). */
static const tir_stmt *call_stmt(reader *r) {
  const char *name = word(r);
  tir_operand operands[8];
  int n = 0, at = 0;
  need(r, "(");
  while (!take(r, ")")) {
    assert_true(n < 8);
    operands[n++] = operand(r);
    take(r, ",");
  }
  while (test_callees[at].name != NULL && strcmp(test_callees[at].name, name) != 0) at++;
  return tir_call(r->arena, &test_callees[at], n, operands);
}

static const tir_stmt *prefetch(reader *r) {
  const tir_expr *index[TN_MAX_RANK], *predicate = NULL;
  const tir_buffer *buffer = find_buffer(r, word(r));
  need(r, "[");
  int n = arguments(r, index, "]", &predicate);
  need(r, ")");
  return tir_prefetch(r->arena, buffer, n, index);
}

static const tir_stmt *one(reader *r) {
  if (take(r, "call ")) return call_stmt(r);
  if (take(r, "for (")) return loop(r);
  if (take(r, "if (")) return branch(r);
  if (take(r, "allocate(")) return allocation(r);
  if (take(r, "nop")) return tir_nop(r->arena);
  if (take(r, "prefetch(")) return prefetch(r);
  if (take(r, "attr \"pragma_")) {
    const char *key = word(r);
    need(r, "\" =");
    int64_t v = number(r);
    return tir_attr(r->arena, key, v, block(r));
  }
  const tir_expr *index[TN_MAX_RANK], *predicate = NULL;
  const tir_buffer *buffer = find_buffer(r, word(r));
  need(r, "[");
  int n = arguments(r, index, "]", &predicate);
  need(r, "=");
  return tir_store(r->arena, buffer, n, index, any(r), predicate);
}

static const tir_stmt *until(reader *r, const char *end) {
  const tir_stmt *items[64];
  int n = 0;
  for (skip_space(r); *end != 0 ? !take(r, end) : *r->at != 0; skip_space(r)) {
    assert_true(n < 64);
    items[n++] = one(r);
  }
  return tir_seq(r->arena, n, items);
}

static const tir_stmt *block(reader *r) {
  need(r, "{");
  return until(r, "}");
}

const tir_stmt *read_stmts(reader *r, const char *text) {
  r->at = text;
  return until(r, "");
}

tir_func *read_func(reader *r, const char *text) {
  tir_func *f = RUNTIME_NEW(r->arena, tir_func);
  f->name = "f";
  f->index_dtype = TN_I32;
  f->params = RUNTIME_NEW_ARRAY(r->arena, const tir_buffer *, READ_NAMES);
  r->at = text;
  while (!take(r, "{")) {
    bool is_input = take(r, "in ");
    if (!is_input) need(r, "out ");
    const char *name = word(r);
    need(r, ":");
    tir_buffer *b = new_buffer(r, name, dtype_word(r));
    b->is_param = true;
    b->is_input = is_input;
    f->params[f->n_params++] = b;
    f->n_inputs += is_input;
    take(r, ";");
  }
  f->body = until(r, "}");
  return f;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

char *print_expr(runtime_arena *arena, const tir_expr *e) {
  runtime_str out = {0};
  assert_non_null(e);
  tir_print_expr(&out, e);
  return runtime_str_take(&out, arena);
}

char *print_func(runtime_arena *arena, const tir_func *f) {
  runtime_str out = {0};
  assert_non_null(f);
  tir_print_stmt(&out, f->body, 0);
  return runtime_str_take(&out, arena);
}
