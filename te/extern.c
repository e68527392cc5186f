/* extern.c: stages that are calls of C functions: callees, their results, and checks of all calls in a program. */
#include <stdio.h>

#include "te/internal.h"

/* ---- callees ----------------------------------------------------------------------------------------------------- */

/* Makes one for each call; te_check_externs makes those of equal names one. */
tir_callee *te_callee(const te_site *site, const char *name) {
  if (!te_check_name(site, "a function", name)) return NULL;
  tir_callee *callee = RUNTIME_NEW(&site->ctx->arena, tir_callee);
  const char *kept = runtime_strdup(&site->ctx->arena, name);
  if (!te_has_memory(site, callee) || !te_has_memory(site, kept)) return NULL;
  *callee = (tir_callee){.name = kept};
  return callee;
}

/* Sets a function of this process. Exported code leaves the symbol undefined instead. */
static tn_status set_function(tn_context *ctx, tir_callee *callee, void (*function)(void)) {
  if (!function) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the function given for '%s' is NULL", callee->name);
  callee->function = function;
  return TN_OK;
}

/* An equal module of another call in the program, so that code generation links it once; NULL: none. */
static const void *find_module(const tn_program *p, const void *module, size_t bytes) {
  for (int i = 0; p && i < p->n_ops; i++) {
    const tir_callee *callee = te_is_extern(p->ops[i]) ? p->ops[i]->call->callee : NULL;
    if (callee && callee->module && callee->module_bytes == bytes && memcmp(callee->module, module, bytes) == 0)
      return callee->module;
  }
  return NULL;
}

/* P: the program that calls it, or NULL. */
static tn_status set_module(tn_context *ctx, const tn_program *p, tir_callee *callee, const void *module,
                            size_t bytes) {
  if (!module || bytes == 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the LLVM IR given for '%s' is empty", callee->name);
  const void *kept = find_module(p, module, bytes);
  if (!kept) kept = runtime_copy(&ctx->arena, module, bytes);
  if (!kept) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory");
  callee->module = kept;
  callee->module_bytes = bytes;
  return TN_OK;
}

tn_callee *tn_callee_symbol(tn_context *ctx, const char *name) {
  te_site site = {.ctx = ctx};
  return ctx && RUNTIME_GIVEN(ctx, name) ? te_callee(&site, name) : NULL;
}

tn_callee *tn_callee_function(tn_context *ctx, const char *name, void (*function)(void)) {
  tn_callee *callee = tn_callee_symbol(ctx, name);
  return callee && set_function(ctx, callee, function) == TN_OK ? callee : NULL;
}

tn_callee *tn_callee_llvm(tn_context *ctx, const char *name, const void *module, size_t bytes) {
  tn_callee *callee = tn_callee_symbol(ctx, name);
  return callee && set_module(ctx, NULL, callee, module, bytes) == TN_OK ? callee : NULL;
}

/* The callee of the first call of that name. NULL after a message: there is none. */
static tir_callee *find_callee(const tn_program *p, const char *name) {
  const char *some = NULL;
  for (int i = 0; i < p->n_ops; i++) {
    if (!te_is_extern(p->ops[i])) continue;
    some = p->ops[i]->call->callee->name;
    if (strcmp(some, name) == 0) return p->ops[i]->call->callee;
  }
  runtime_fail(p->ctx, TN_ERROR_ARGUMENT, "the program calls no function '%s'%s%s", name, some ? "; it calls " : "",
               some ? some : "");
  return NULL;
}

/* Takes effect in kernels built from now on, and in tn_evaluate at once. */
tn_status tn_program_bind(tn_program *program, const char *name, void (*function)(void)) {
  if (!program || !RUNTIME_GIVEN(program->ctx, name)) return TN_ERROR_ARGUMENT;
  tir_callee *callee = find_callee(program, name);
  return callee ? set_function(program->ctx, callee, function) : TN_ERROR_ARGUMENT;
}

tn_status tn_program_link(tn_program *program, const char *name, const void *module, size_t bytes) {
  if (!program || !RUNTIME_GIVEN(program->ctx, name)) return TN_ERROR_ARGUMENT;
  tir_callee *callee = find_callee(program, name);
  return callee ? set_module(program->ctx, program, callee, module, bytes) : TN_ERROR_ARGUMENT;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* The arrays of results are arguments of the function, too, so both count. */
static bool check_count(const te_site *site, const char *callee, int n_results, int n_args) {
  int most = RUNTIME_MAX_C_ARGS - n_results;
  if (n_results >= 1 && n_results <= TIR_MAX_VALUES && n_args <= most) return true;
  if (n_args > most)
    te_fail(site, TN_ERROR_PROGRAM, "%s has %d arguments; at most %d", callee, n_args + n_results,
            (int)RUNTIME_MAX_C_ARGS);
  else
    te_fail(site, TN_ERROR_PROGRAM, "%s has %d results: a call computes 1 to %d tensors", callee, n_results,
            (int)TIR_MAX_VALUES);
  return false;
}

/* Only types that C passes unchanged: narrower ones would be promoted. */
static bool check_scalar(const te_site *site, const char *callee, const tn_tensor *t) {
  bool fits = t->dtype == TN_I32 || t->dtype == TN_I64 || t->dtype == TN_F32 || t->dtype == TN_F64;
  if (!t->by_value || fits) return true;
  te_fail(
      site, TN_ERROR_PROGRAM,
      "%s: scalar '%s' is %s, and scalars are passed to functions as i32, i64, f32 or f64: pass a tensor that holds "
      "it, as in one[i<1] = %s",
      callee, t->name, tn_dtype_name(t->dtype), t->name);
  return false;
}

/* Sets extent D of a result: a number, or an expression of symbols. */
static bool set_extent(const te_site *site, tn_tensor *t, int d, const tn_result *r) {
  te_extent extent = {r->shape[d], NULL};
  const tn_arg size = tn_arg_expr((tn_expr *)r->size[d]);
  bool fits =
      !r->size[d] || (te_check_context(site, 1, &size) && te_extent_of(site, "an extent of an extern", size, &extent));
  t->shape[d] = extent.most;
  t->size[d] = extent.size;
  return fits;
}

/* Copies the result's name and shape. */
static bool set_result(const te_site *site, te_op *op, int v, const tn_result *r) {
  tn_tensor *t = &op->outputs[v];
  if (!r->name || !te_check_name(site, "a tensor", r->name)) return false;
  if ((unsigned)r->dtype >= TN_DTYPE_COUNT || r->rank < 0 || r->rank > TN_MAX_RANK) {
    te_fail(site, TN_ERROR_ARGUMENT, "tn_extern: '%s': dtype %d or rank %d (0 to %d) is wrong", r->name, (int)r->dtype,
            r->rank, (int)TN_MAX_RANK);
    return false;
  }
  const char *name = runtime_strdup(&site->ctx->arena, r->name);
  if (!te_has_memory(site, name)) return false;
  *t = (tn_tensor){.op = op, .value_index = v, .name = name, .dtype = r->dtype, .ndim = r->rank, .ctx = site->ctx};
  for (int d = 0; d < r->rank; d++)
    if (!set_extent(site, t, d, r)) return false;
  return te_check_shape(site, t);
}

/* Lists the tensors that a call reads, each once. */
static void set_inputs(te_op *op, const te_call *call) {
  op->n_inputs = 0;
  for (int i = 0; i < call->n; i++) {
    tn_tensor *input = call->args[i].input;
    int k = 0;
    while (input && k < op->n_inputs && op->inputs[k] != input) k++;
    if (input) op->inputs[k] = input;
    op->n_inputs += input && k == op->n_inputs;
  }
}

/* Allocates all parts in the context's arena, so that a failure leaves nothing to free. N_ARGS counts results, too. */
static te_op *new_extern(const te_site *site, tir_callee *callee, int n_results, int n_args) {
  runtime_arena *arena = &site->ctx->arena;
  te_op *op = RUNTIME_NEW(arena, te_op);
  te_call *call = RUNTIME_NEW(arena, te_call);
  tn_tensor *outputs = RUNTIME_NEW_ARRAY(arena, tn_tensor, n_results);
  te_call_arg *args = RUNTIME_NEW_ARRAY(arena, te_call_arg, n_args + 1);
  tn_tensor **inputs = RUNTIME_NEW_ARRAY(arena, tn_tensor *, n_args + 1);
  if (!te_has_memory(site, op) || !te_has_memory(site, call) || !te_has_memory(site, outputs) ||
      !te_has_memory(site, args) || !te_has_memory(site, inputs))
    return NULL;
  *call = (te_call){callee, n_args, args};
  *op = (te_op){.kind = TE_EXTERN, .call = call, .inputs = inputs, .n_outputs = n_results, .outputs = outputs};
  return op;
}

const char *te_why_not_passed(tn_arg arg) {
  bool fits = true;
  const tir_expr *e = arg.kind == TN_ARG_EXPR ? arg.u.expr->node : NULL;
  bool is_number = te_is_number(arg) || (e && (e->op == TIR_INT || e->op == TIR_FLOAT));
  if (!is_number && (!e || !te_is_size(e, &fits)))
    return "is no tensor, result or constant number, and not made of symbols with + - * // % min max: make it a tensor "
           "of its own";
  return fits ? NULL : "can be more than an i32 holds: say how large the symbols can be, as in symbol M<=4096";
}

/* Shows how the call would be right: the number in the nearest C type. */
static void refuse_dtype(const te_site *site, const char *callee, int i, const tir_expr *number) {
  char text[64];
  if (number->op == TIR_FLOAT || number->op == TIR_INT)
    snprintf(text, sizeof text, "%g", number->op == TIR_FLOAT ? number->u.f : (double)number->u.i);
  else
    te_show(text, number->op == TIR_CAST ? number->arg[0] : number);
  te_fail(site, TN_ERROR_PROGRAM, "%s: input %d is a number of %s; functions take i32, i64, f32 or f64: write %s(%s)",
          callee, i + 1, tn_dtype_name((tn_dtype)number->dtype), number->op == TIR_FLOAT ? "f32" : "i32", text);
}

/* The number at place I; NULL after a message. */
static const tir_expr *number_at(const te_site *site, const char *callee, int i, tn_arg arg) {
  const char *why = te_why_not_passed(arg);
  const tir_expr *number = why                 ? NULL
                           : te_is_number(arg) ? te_convert(site, arg, te_number_dtype(arg))
                                               : arg.u.expr->node;
  if (why) te_fail(site, TN_ERROR_ARGUMENT, "tn_extern: input %d of %s %s", i + 1, callee, why);
  bool fits = number && (number->dtype == TN_I32 || number->dtype == TN_I64 || number->dtype == TN_F32 ||
                         number->dtype == TN_F64);
  if (number && !fits) refuse_dtype(site, callee, i, number);
  return fits ? number : NULL;
}

/* Sets what the call passes at place I. */
static bool set_arg(const te_site *site, const te_op *op, int i, tn_arg arg) {
  const char *callee = op->call->callee->name;
  te_call_arg *out = &op->call->args[i];
  if (arg.kind == TN_ARG_TENSOR) return check_scalar(site, callee, out->input = arg.u.tensor);
  if (arg.kind != TN_ARG_RESULT) return (out->number = number_at(site, callee, i, arg)) != NULL;
  if (arg.u.i >= 0 && arg.u.i < op->n_outputs) return out->result = (int)arg.u.i, true;
  te_fail(site, TN_ERROR_ARGUMENT, "tn_extern: %s has results 0 to %d, and argument %d is result %lld", callee,
          op->n_outputs - 1, i + 1, (long long)arg.u.i);
  return false;
}

/* Gives each result one place; without a given place, behind all others. */
static bool place_results(const te_site *site, const te_op *op, int n_given) {
  te_call *call = (te_call *)op->call;
  int count[TIR_MAX_VALUES] = {0}, n_placed = 0;
  for (int i = 0; i < n_given; i++) {
    if (call->args[i].input || call->args[i].number) continue;
    count[call->args[i].result]++;
    n_placed++;
  }
  for (int v = 0; n_placed == 0 && v < op->n_outputs; v++) call->args[n_given + v].result = v;
  call->n = n_given + (n_placed == 0 ? op->n_outputs : 0);
  for (int v = 0; n_placed > 0 && v < op->n_outputs; v++) {
    if (count[v] == 1) continue;
    te_fail(site, TN_ERROR_PROGRAM,
            "%s is given result '%s' %d times: give each result once, or none, and they stand behind the others",
            call->callee->name, op->outputs[v].name, count[v]);
    return false;
  }
  return true;
}

/* How many of ARGS are not places of results. */
static int count_given(int n, const tn_arg *args) {
  int n_given = 0;
  for (int i = 0; i < n; i++) n_given += args[i].kind != TN_ARG_RESULT;
  return n_given;
}

/* The function is not called, and its signature cannot be checked, since C cannot tell it. */
tn_tensor *te_extern(const te_site *site, tir_callee *callee, int n_results, const tn_result *results, int n_args,
                     const tn_arg *args) {
  if (!check_count(site, callee->name, n_results, count_given(n_args, args))) return NULL;
  te_op *op = new_extern(site, callee, n_results, n_args + n_results);
  if (!op) return NULL;
  for (int v = 0; v < n_results; v++)
    if (!set_result(site, op, v, &results[v])) return NULL;
  op->name = op->outputs[0].name;
  for (int i = 0; i < n_args; i++)
    if (!set_arg(site, op, i, args[i])) return NULL;
  if (!place_results(site, op, n_args)) return NULL;
  set_inputs(op, op->call);
  return &op->outputs[0];
}

tn_tensor *tn_extern_array(tn_context *ctx, tn_callee *callee, int n_results, const tn_result *results, int n,
                           const tn_arg *args) {
  te_site site = {.ctx = ctx};
  if (!ctx || !callee || !results || n < 0 || (n > 0 && !args)) return NULL;
  for (int i = 0; i < n; i++)
    if (args[i].kind != TN_ARG_RESULT && !te_check_context(&site, 1, &args[i])) return NULL;
  return te_extern(&site, callee, n_results, results, n, args);
}

/* For the schedule's cache stages: the same call with TO in place of FROM. */
te_op *te_extern_reread(const te_op *op, const tn_tensor *from, const tn_tensor *to) {
  tn_context *ctx = op->outputs[0].ctx;
  te_site site = {.ctx = ctx};
  te_op *made = new_extern(&site, op->call->callee, op->n_outputs, op->call->n);
  const te_call_arg *args = op->call->args;
  if (!made) return NULL;
  made->name = op->name;
  for (int v = 0; v < op->n_outputs; v++) {
    made->outputs[v] = op->outputs[v];
    made->outputs[v].op = made;
  }
  for (int i = 0; i < op->call->n; i++) {
    made->call->args[i] = args[i];
    if (args[i].input == from && from) made->call->args[i].input = (tn_tensor *)to;
  }
  set_inputs(made, made->call);
  return made;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* Modules are compared by contents, since parsing a program twice makes two copies. */
static bool is_same_callee(const tir_callee *a, const tir_callee *b) {
  if (a == b) return true;
  bool is_same = a->function == b->function && a->module_bytes == b->module_bytes && !a->module == !b->module;
  return is_same && (!a->module || memcmp(a->module, b->module, a->module_bytes) == 0);
}

/* Whether place I takes a number or the value of a scalar. */
static bool is_by_value(const te_op *op, int i) {
  const tn_tensor *t = te_call_tensor(op, i);
  return !t || t->by_value;
}

/* The dtype of argument I, a tensor or a number. */
static tn_dtype dtype_at(const te_op *op, int i) {
  const tn_tensor *t = te_call_tensor(op, i);
  return t ? t->dtype : (tn_dtype)op->call->args[i].number->dtype;
}

/* Whether both calls pass the same type at place I. A place that one call writes must be written by the
 * other, since the C declarations differ by `const`. */
static bool is_same_type(const te_op *a, const te_op *b, int i) {
  bool writes_a = !a->call->args[i].input, writes_b = !b->call->args[i].input;
  bool is_same = dtype_at(a, i) == dtype_at(b, i) && is_by_value(a, i) == is_by_value(b, i);
  return is_same && (is_by_value(a, i) || writes_a == writes_b);
}

/* C has one function of a name, so calls with different types cannot both be right. */
static bool is_same_signature(const te_op *a, const te_op *b) {
  bool is_same = a->call->n == b->call->n;
  for (int i = 0; is_same && i < a->call->n; i++) is_same = is_same_type(a, b, i);
  return is_same;
}

/* Two calls of one name must have the same callee and signature; then OP shares BEFORE's callee. */
static bool check_pair(const te_site *site, const te_op *before, te_op *op) {
  tir_callee *one = before->call->callee, *other = op->call->callee;
  if (strcmp(one->name, other->name) != 0) return true;
  if (!is_same_callee(one, other)) {
    te_fail(site, TN_ERROR_PROGRAM, "two functions that differ are named '%s'", one->name);
    return false;
  }
  if (!is_same_signature(before, op)) {
    te_fail(site, TN_ERROR_PROGRAM,
            "'%s' and '%s' call %s with arguments of different types: a C function has one type", before->name,
            op->name, one->name);
    return false;
  }
  ((te_call *)op->call)->callee = one;
  return true;
}

/* Functions get bare pointers without strides, so results must be compact. */
static bool check_results(const te_site *site, const te_op *op) {
  for (int v = 0; v < op->n_outputs; v++) {
    if (!op->outputs[v].is_strided) continue;
    te_fail(
        site, TN_ERROR_PROGRAM,
        "'%s' is strided and written by a call of %s: a function takes compact arrays; make a copy of '%s', a tensor "
        "that reads it element by element, the strided output",
        op->outputs[v].name, op->call->callee->name, op->outputs[v].name);
    return false;
  }
  return true;
}

/* Inputs must be compact for the same reason. */
static bool check_inputs(const te_site *site, const te_op *op) {
  for (int i = 0; i < op->n_inputs; i++) {
    const tn_tensor *t = op->inputs[i];
    if (t->is_strided) {
      te_fail(
          site, TN_ERROR_PROGRAM,
          "'%s' calls %s with '%s', whose strides are known at a call only: a function takes compact arrays; give it a "
          "copy, a tensor that reads '%s' element by element",
          op->name, op->call->callee->name, t->name, t->name);
      return false;
    }
  }
  return true;
}

/* Compares every pair of calls; a program has few. */
bool te_check_externs(const te_site *site, const tn_program *p) {
  for (int i = 0; i < p->n_ops; i++) {
    if (!te_is_extern(p->ops[i])) continue;
    if (!check_inputs(site, p->ops[i]) || !check_results(site, p->ops[i])) return false;
    for (int k = 0; k < i; k++)
      if (te_is_extern(p->ops[k]) && !check_pair(site, p->ops[k], p->ops[i])) return false;
  }
  return true;
}

bool te_has_externs(const tn_program *p) {
  for (int i = 0; i < p->n_ops; i++)
    if (te_is_extern(p->ops[i])) return true;
  return false;
}

/* A program's text does not contain the function, so a worker could not build it. */
tn_status te_check_no_externs(const tn_program *p, const char *what) {
  for (int i = 0; i < p->n_ops; i++)
    if (te_is_extern(p->ops[i]))
      return runtime_fail(p->ctx, TN_ERROR_PROGRAM,
                          "%s: %s is computed by a call of %s, of which a program's text holds the name only: make the "
                          "parts before and behind the call programs of their own",
                          what, p->ops[i]->name, p->ops[i]->call->callee->name);
  return TN_OK;
}

/* Whether the results have the places they get when none is given. */
static bool results_are_last(const te_op *op) {
  const te_call *call = op->call;
  bool are_last = true;
  for (int v = 0; v < op->n_outputs; v++) {
    const te_call_arg *arg = &call->args[call->n - op->n_outputs + v];
    are_last = are_last && !arg->input && !arg->number && arg->result == v;
  }
  return are_last;
}

/* Results behind all other arguments are left out of the text. */
void te_print_call(runtime_str *out, const te_op *op) {
  const te_call *call = op->call;
  int n = results_are_last(op) ? call->n - op->n_outputs : call->n;
  runtime_str_addf(out, "%s(", call->callee->name);
  for (int i = 0; i < n; i++) {
    runtime_str_add(out, i > 0 ? ", " : "");
    if (call->args[i].number)
      te_print_expr(out, call->args[i].number);
    else
      runtime_str_add(out, te_call_tensor(op, i)->name);
  }
  runtime_str_add(out, ")");
}
