/* expr.c: makes expressions from arguments: operators with their type rules, casts, reads. A row of TIR_OPS
 * says what an operator is; the row's rule says what is asked of its operands. */
#include <assert.h>
#include <math.h>

#include "te/internal.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* The dtype of an argument that is no plain number. */
static tn_dtype stored_dtype(tn_arg a) {
  if (a.kind == TN_ARG_AXIS) return a.u.axis->var.dtype;
  return a.kind == TN_ARG_TENSOR ? a.u.tensor->dtype : (tn_dtype)a.u.expr->node->dtype;
}

tn_dtype te_arg_dtype(tn_arg a) {
  tn_dtype dtype = stored_dtype(a);
  return runtime_is_half(dtype) ? TN_F32 : dtype;
}

/* Casts f16 and bf16 to f32, since no operator takes them. */
const tir_expr *te_arg_node(const te_site *site, tn_arg a) {
  const tir_expr *node = te_stored_node(site, a);
  if (!node || !runtime_is_half((tn_dtype)node->dtype)) return node;
  node = tir_cast(&site->ctx->arena, TN_F32, node);
  return te_has_memory(site, node) ? node : NULL;
}

/* A tensor of rank 0 stands for its only element. For any other rank an index is missing. */
const tir_expr *te_stored_node(const te_site *site, tn_arg a) {
  if (a.kind == TN_ARG_EXPR) return a.u.expr->node;
  if (a.kind == TN_ARG_TENSOR && a.u.tensor->ndim > 0) {
    te_fail(site, TN_ERROR_PROGRAM, "tensor '%s' has rank %d: read an element of it", a.u.tensor->name,
            a.u.tensor->ndim);
    return NULL;
  }
  runtime_arena *arena = &site->ctx->arena;
  const tir_expr *node =
      a.kind == TN_ARG_AXIS ? te_axis_expr(arena, a.u.axis) : tir_read(arena, a.u.tensor, a.u.tensor->dtype, 0, NULL);
  return te_has_memory(site, node) ? node : NULL;
}

/* The context of an argument; NULL for numbers, and for arguments that an earlier failure left NULL. */
static tn_context *arg_context(tn_arg a) {
  switch (a.kind) {
    case TN_ARG_EXPR: return a.u.expr ? a.u.expr->ctx : NULL;
    case TN_ARG_AXIS: return a.u.axis ? a.u.axis->ctx : NULL;
    case TN_ARG_TENSOR: return a.u.tensor ? a.u.tensor->ctx : NULL;
    case TN_ARG_NONE:
    case TN_ARG_INT:
    case TN_ARG_FLOAT:
    case TN_ARG_RESULT: return NULL;
  }
  return NULL;
}

bool te_is_null(tn_arg a) { return !te_is_number(a) && arg_context(a) == NULL; }

/* Nodes of two contexts would die at different times. */
bool te_check_context(const te_site *site, int n, const tn_arg *args) {
  for (int i = 0; i < n; i++) {
    if (args[i].kind == TN_ARG_RESULT)
      te_fail(site, TN_ERROR_ARGUMENT, "tn_arg_result names a place of tn_extern's call: it is no value here");
    if (te_is_null(args[i])) return false;
  }
  for (int i = 0; i < n; i++) {
    if (te_is_number(args[i]) || arg_context(args[i]) == site->ctx) continue;
    te_fail(site, TN_ERROR_ARGUMENT, "values of two contexts cannot be joined");
    return false;
  }
  return true;
}

/* The context of the first argument that has one. In a chain of C calls only the leaves name a context. */
bool te_find_site(te_site *site, int n, const tn_arg *args) {
  *site = (te_site){0};
  for (int i = 0; i < n && !site->ctx; i++) site->ctx = arg_context(args[i]);
  return site->ctx && te_check_context(site, n, args);
}

/* At most 60 characters; the rest is shown as "...". */
const char *te_show(char buffer[64], const tir_expr *e) {
  runtime_str s = {0};
  te_print_expr(&s, e);
  const char *text = s.data ? s.data : "?";
  if (strlen(text) < 60)
    memcpy(buffer, text, strlen(text) + 1);
  else
    memcpy(buffer, text, 57), memcpy(buffer + 57, "...", 4);
  runtime_str_free(&s);
  return buffer;
}

/* A tensor is shown by its name, a number by its digits, and everything else printed. */
const char *te_show_arg(char buffer[64], const te_site *site, tn_arg a) {
  if (a.kind == TN_ARG_TENSOR) return a.u.tensor->name;
  const tir_expr *node = te_is_number(a) ? te_convert(site, a, te_number_dtype(a)) : te_arg_node(site, a);
  return node ? te_show(buffer, node) : "?";
}

tn_dtype te_shown_dtype(tn_arg a) { return te_is_number(a) ? te_number_dtype(a) : te_arg_dtype(a); }

/* For places where no reduction may stand, such as an index, a condition or a tuple: it has a loop nest of its own. */
bool te_check_not_reduction(const te_site *site, tn_arg a) {
  if (a.kind == TN_ARG_EXPR && a.u.expr->node->op == TIR_TUPLE) {
    te_fail(site, TN_ERROR_PROGRAM,
            "a tuple is several values and no operand: it is what a definition with as many names computes");
    return false;
  }
  if (a.kind != TN_ARG_EXPR || a.u.expr->node->op != TIR_REDUCE) return true;
  te_fail(
      site, TN_ERROR_PROGRAM,
      "a reduction cannot stand here, but only at the top of a definition or under operators: give it a tensor of its "
      "own and read that");
  return false;
}

bool te_check_one_value(const te_site *site, tn_arg a) {
  assert((a.kind != TN_ARG_EXPR || a.u.expr) && "te_is_null was asked");
  bool is_reduction = a.kind == TN_ARG_EXPR && a.u.expr->node->op == TIR_REDUCE;
  if (!is_reduction) return te_check_not_reduction(site, a);
  if (tir_n_values(a.u.expr->node) == 1) return true;
  te_fail(site, TN_ERROR_PROGRAM,
          "a reduction to several values is no operand: give it tensors of its own, as in (I, V)[i<4] = "
          "argmax[k<8](A[i,k]), "
          "and read those");
  return false;
}

/* ---- wrapping nodes ---------------------------------------------------------------------------------------------- */

/* An axis, a tensor or a number is a leaf. */
static int arg_depth(tn_arg a) { return a.kind == TN_ARG_EXPR ? a.u.expr->depth : 1; }
/* Counts shared nodes each time, as recursive printing and walking visit them each time. */
static int arg_size(tn_arg a) { return a.kind == TN_ARG_EXPR ? a.u.expr->size : 1; }

/* NODE may be NULL because memory ran out; that is then reported here. */
tn_expr *te_new_expr(const te_site *site, const tir_expr *node, int n, const tn_arg *args) {
  int depth = 0, size = 1;
  for (int i = 0; i < n; i++) {
    depth = RUNTIME_MAX(depth, arg_depth(args[i]));
    size += arg_size(args[i]);
  }
  if (depth >= TE_MAX_DEPTH || size > TE_MAX_SIZE) {
    te_fail(site, TN_ERROR_PROGRAM, "the expression is too large (depth %d, %d nodes; at most %d and %d): %s",
            depth + 1, size, (int)TE_MAX_DEPTH, (int)TE_MAX_SIZE, "split it into several tensors");
    return NULL;
  }
  tn_expr *e = node ? RUNTIME_NEW(&site->ctx->arena, tn_expr) : NULL;
  if (!e) return te_has_memory(site, NULL), NULL;
  *e = (tn_expr){site->ctx, node, depth + 1, size};
  return e;
}

/* ---- what an operator accepts ------------------------------------------------------------------------------------ */

bool te_refuse_operand(const te_site *site, const char *op, tn_arg a, const char *advice) {
  char text[64];
  te_fail(site, TN_ERROR_PROGRAM, "'%s' cannot take %s, which is %s: %s", op, te_show_arg(text, site, a),
          tn_dtype_name(te_shown_dtype(a)), advice);
  return false;
}

/* A number is no condition; x != 0 says what is meant. */
bool te_check_bool(const te_site *site, const char *op, tn_arg a) {
  return te_shown_dtype(a) == TN_BOOL || te_refuse_operand(site, op, a, "it needs a bool, such as x != 0");
}

/* Arithmetic takes no booleans; "/" is for floats, "//" and "%" are for integers. */
static bool check_arithmetic(const te_site *site, tir_op op, tn_dtype dtype, tn_arg first) {
  const char *text = tir_op_table[op].text;
  bool is_float = tn_dtype_is_float(dtype);
  if (dtype == TN_BOOL) return te_refuse_operand(site, text, first, "cast it, as in i32(x)");
  if (op == TIR_DIV && !is_float)
    te_fail(site, TN_ERROR_PROGRAM,
            "'/' between integers (%s) is not defined: use // for floor division, or f32(x) / y", tn_dtype_name(dtype));
  else if ((op == TIR_FLOORDIV || op == TIR_FLOORMOD) && is_float)
    te_fail(site, TN_ERROR_PROGRAM, "'%s' between floats (%s) is not defined: use %s", text, tn_dtype_name(dtype),
            op == TIR_FLOORDIV ? "floor(x / y)" : "fmod(x, y), or x - floor(x / y)*y");
  else
    return true;
  return false;
}

/* Bit operators take integers only. */
static bool check_bits(const te_site *site, tir_op op, tn_dtype dtype, int n, const tn_arg *args) {
  const char *advice =
      dtype == TN_BOOL ? "use &&, ||, != or !, or cast it, as in i32(x)" : "it needs an integer, such as i32(x)";
  if (dtype != TN_BOOL && !tn_dtype_is_float(dtype)) return true;
  int wrong = 0;
  if (op == TIR_BITXOR && dtype != TN_BOOL)
    advice = "it is of the bits of integers, such as i32(x); a power is pow(x, y)";
  while (wrong + 1 < n && te_shown_dtype(args[wrong]) != TN_BOOL && !tn_dtype_is_float(te_shown_dtype(args[wrong])))
    wrong++;
  return te_refuse_operand(site, tir_op_table[op].text, args[wrong], advice);
}

/* Functions such as exp take floats; plain numbers become f32. */
static bool check_function(const te_site *site, tir_op op, int n, const tn_arg *args) {
  for (int i = 0; i < n; i++)
    if (!te_is_number(args[i]) && !tn_dtype_is_float(te_arg_dtype(args[i])))
      return te_refuse_operand(site, tir_op_table[op].text, args[i], "it needs a float, such as f32(x)");
  return true;
}

/* Checks the operands by the operator's rule. TIR_RULE_OWN can only be a select here: the text form has no
 * other operators of that rule. */
static bool check_operands(const te_site *site, tir_op op, tn_dtype dtype, int n, const tn_arg *args) {
  const char *text = tir_op_table[op].text;
  switch (tir_op_table[op].rule) {
    case TIR_RULE_ARITHMETIC: return check_arithmetic(site, op, dtype, args[0]);
    case TIR_RULE_INTEGER: return check_bits(site, op, dtype, n, args);
    case TIR_RULE_FLOAT:
    case TIR_RULE_TEST: return check_function(site, op, n, args);
    case TIR_RULE_BOOLEAN: return te_check_bool(site, text, args[0]) && (n == 1 || te_check_bool(site, text, args[1]));
    case TIR_RULE_OWN: return te_check_bool(site, text, args[0]); /* select */
    case TIR_RULE_COMPARISON:
    case TIR_RULE_LEAF: break;
  }
  return true;
}

/* The dtype that the operands are converted to. A select's condition is not among them. */
static tn_dtype operand_dtype(tir_op op, int n, const tn_arg *args) {
  if (op == TIR_SELECT) return te_common_dtype(2, args + 1);
  tn_dtype dtype = te_common_dtype(n, args);
  bool is_function = tir_op_table[op].rule == TIR_RULE_FLOAT || tir_op_table[op].rule == TIR_RULE_TEST;
  return is_function && !tn_dtype_is_float(dtype) ? TN_F32 : dtype;
}

/* Makes the node over converted operands. */
static const tir_expr *build(runtime_arena *arena, tir_op op, int n, const tir_expr *const *nodes) {
  if (op == TIR_SELECT) return tir_select(arena, nodes[0], nodes[1], nodes[2]);
  return n == 1 ? tir_unary(arena, op, nodes[0]) : tir_binary(arena, op, nodes[0], nodes[1]);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* -x is x * -1, which also turns 0.0 into -0.0. */
static tn_expr *negate(const te_site *site, tn_arg a) {
  return te_operator(site, "*", 2, (tn_arg[]){a, tn_arg_expr(te_cast(site, te_common_dtype(1, &a), tn_arg_int(-1)))});
}

/* Finds the operator and checks the number of operands; -1: refused. */
static int find_operator(const te_site *site, const char *text, int n) {
  int op = te_find_op(text);
  if (op < 0) {
    const char *near = te_nearest_function(text);
    te_fail(site, TN_ERROR_PROGRAM, "unknown operator '%s'%s%s%s", text, near ? "; did you mean '" : "",
            near ? near : "", near ? "'?" : "");
  } else if (tir_op_table[op].n_args != n) {
    int wanted = tir_op_table[op].n_args;
    te_fail(site, TN_ERROR_PROGRAM, "'%s' takes %d operand%s, %d given", text, wanted, wanted == 1 ? "" : "s", n);
    op = -1;
  }
  return op;
}

/* A refusal shows the operand's text and the cast that would help. Operands are converted to one dtype; a
 * select's condition stays bool. */
tn_expr *te_operator(const te_site *site, const char *text, int n, const tn_arg *args) {
  for (int i = 0; i < n; i++)
    if (te_is_null(args[i]) || !te_check_one_value(site, args[i])) return NULL;
  bool is_negation = strcmp(text, "neg") == 0 && n == 1;
  if (is_negation && te_common_dtype(1, args) == TN_BOOL)
    return te_refuse_operand(site, "-", args[0], "cast it, as in i32(x)"), NULL;
  if (is_negation) return negate(site, args[0]);
  int op = find_operator(site, text, n);
  if (op < 0) return NULL;
  tn_dtype dtype = operand_dtype((tir_op)op, n, args);
  if (!check_operands(site, (tir_op)op, dtype, n, args)) return NULL;
  const tir_expr *nodes[3] = {NULL};
  for (int i = 0; i < n; i++) {
    bool is_condition = op == TIR_SELECT && i == 0;
    nodes[i] = te_convert(site, args[i], is_condition ? TN_BOOL : dtype);
    if (!nodes[i]) return NULL;
  }
  return te_new_expr(site, build(&site->ctx->arena, (tir_op)op, n, nodes), n, args);
}

/* If no argument has a context there is nowhere to report to: the result is NULL without a message. */
tn_expr *tn_operator(const char *op, int n, const tn_arg *operands) {
  te_site site;
  return op && operands && te_find_site(&site, n, operands) ? te_operator(&site, op, n, operands) : NULL;
}

/* ---- casts and constants ----------------------------------------------------------------------------------------- */

/* An enum in C may hold any number. */
static bool check_dtype(const te_site *site, tn_dtype dtype) {
  if ((unsigned)dtype < TN_DTYPE_COUNT) return true;
  te_fail(site, TN_ERROR_ARGUMENT, "%d is no dtype", (int)dtype);
  return false;
}

/* A number as a constant of DTYPE: a float gets all digits of an integer; integers are converted as a cast does. */
static const tir_expr *cast_number(const te_site *site, tn_dtype dtype, tn_arg a) {
  runtime_arena *arena = &site->ctx->arena;
  bool is_int = a.kind == TN_ARG_INT, is_exact = is_int && tn_dtype_is_float(dtype);
  const tir_expr *node = is_exact ? tir_float(arena, dtype, (double)a.u.i)
                         : is_int ? tir_int(arena, TN_I64, a.u.i)
                                  : tir_float(arena, TN_F64, a.u.f);
  node = tir_cast(arena, dtype, node);
  return te_has_memory(site, node) ? node : NULL;
}

/* Constants are converted at once. An integer becomes f16 by way of f32, as generated code does it. */
tn_expr *te_cast(const te_site *site, tn_dtype dtype, tn_arg a) {
  if (te_is_null(a) || !check_dtype(site, dtype) || !te_check_one_value(site, a)) return NULL;
  bool is_stored = !te_is_number(a) && stored_dtype(a) == dtype; /* f16(x) of an f16 */
  const tir_expr *node = te_is_number(a) ? cast_number(site, dtype, a)
                         : is_stored     ? te_stored_node(site, a)
                                         : te_convert(site, a, runtime_is_half(dtype) ? TN_F32 : dtype);
  if (node && runtime_is_half(dtype)) node = tir_cast(&site->ctx->arena, dtype, node);
  return node ? te_new_expr(site, node, 1, &a) : NULL;
}

/* The context is that of the argument. A plain number has none, and gives NULL. */
tn_expr *tn_cast_arg(tn_dtype dtype, tn_arg a) {
  te_site site;
  return te_find_site(&site, 1, &a) ? te_cast(&site, dtype, a) : NULL;
}

/* VALUE must be a value of an integer dtype: 0.5 as i32 is refused, not truncated. */
tn_expr *tn_const(tn_context *ctx, tn_dtype dtype, double value) {
  te_site site = {.ctx = ctx};
  if (!ctx || !check_dtype(&site, dtype)) return NULL;
  tn_expr *e = te_cast(&site, dtype, tn_arg_float(value));
  if (!e || tn_dtype_is_float(dtype) || (double)e->node->u.i == value) return e;
  te_fail(&site, TN_ERROR_PROGRAM, "the constant %g is no value of %s", value, tn_dtype_name(dtype));
  return NULL;
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

/* An index is an integer, and not a boolean. */
static bool check_index(const te_site *site, const tn_tensor *tensor, int d, tn_arg a) {
  if (te_is_null(a) || !te_check_not_reduction(site, a)) return false;
  tn_dtype dtype = te_shown_dtype(a);
  if (dtype != TN_BOOL && !tn_dtype_is_float(dtype)) return true;
  char text[64];
  te_fail(site, TN_ERROR_PROGRAM, "index %d of '%s' is %s, which is %s: an index is an integer, such as i32(x)", d,
          tensor->name, te_show_arg(text, site, a), tn_dtype_name(dtype));
  return false;
}

/* The index keeps its dtype; lowering converts it to the loops' dtype. */
tn_expr *te_read(const te_site *site, tn_tensor *tensor, int n, const tn_arg *index) {
  if (n != tensor->ndim) {
    te_fail(site, TN_ERROR_PROGRAM, "'%s' has rank %d, but %d ind%s given", tensor->name, tensor->ndim, n,
            n == 1 ? "ex is" : "ices are");
    return NULL;
  }
  const tir_expr *nodes[TN_MAX_RANK];
  for (int d = 0; d < n; d++) {
    if (!check_index(site, tensor, d, index[d])) return NULL;
    nodes[d] = te_convert(site, index[d], te_shown_dtype(index[d]));
    if (!nodes[d]) return NULL;
  }
  return te_new_expr(site, tir_read(&site->ctx->arena, tensor, tensor->dtype, n, nodes), n, index);
}

/* ARGS[0] is the tensor. */
tn_expr *tn_at_array(int n, const tn_arg *args) {
  te_site site;
  if (n < 1 || !args || !te_find_site(&site, n, args)) return NULL;
  if (args[0].kind == TN_ARG_TENSOR) return te_read(&site, args[0].u.tensor, n - 1, args + 1);
  te_fail(&site, TN_ERROR_ARGUMENT, "tn_at: the first argument is the tensor to read");
  return NULL;
}
