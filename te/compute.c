/* compute.c: axes, placeholders and computes: checks the parts and puts them together. An axis that another
 * compute owns is replaced by a copy, so that users can share i, j and k between computes. */
#include <stdio.h>

#include "te/internal.h"

/* ---- axes -------------------------------------------------------------------------------------------------------- */

tn_axis *te_axis_make(tn_context *ctx, const char *name, int64_t extent, const tir_expr *size, bool is_reduce) {
  tn_axis *axis = RUNTIME_NEW(&ctx->arena, tn_axis);
  char *kept = runtime_strdup(&ctx->arena, name);
  if (!axis || !kept) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory"), NULL;
  *axis = (tn_axis){.var = {kept, TN_I32}, .extent = extent, .size = size, .is_reduce = is_reduce, .ctx = ctx};
  return axis;
}

/* Checks name and extent. te_axis_make is for callers who know that both are right. */
tn_axis *te_axis(const te_site *site, const char *name, te_extent extent, bool is_reduce) {
  if (!te_check_name(site, "an axis", name)) return NULL;
  if (extent.most >= 1 && extent.most <= TE_MAX_EXTENT)
    return te_axis_make(site->ctx, name, extent.most, extent.size, is_reduce);
  te_fail(site, TN_ERROR_PROGRAM, "extent %lld of axis '%s' is not in 1 .. %d", (long long)extent.most, name,
          (int)TE_MAX_EXTENT);
  return NULL;
}

/* Makes an axis whose extent is given as an argument. The text for messages is built beforehand, since
 * extents are checked elsewhere. */
static tn_axis *axis_of(tn_context *ctx, const char *name, tn_arg extent, bool is_reduce) {
  te_site site = {.ctx = ctx};
  te_extent e;
  char what[TE_MAX_NAME + 40];
  if (!ctx || !name || !te_check_context(&site, 1, &extent)) return NULL;
  snprintf(what, sizeof what, "the extent of axis '%.127s'", name);
  return te_extent_of(&site, what, extent, &e) ? te_axis(&site, name, e, is_reduce) : NULL;
}

tn_axis *tn_axis_arg(tn_context *ctx, const char *name, tn_arg extent) { return axis_of(ctx, name, extent, false); }
tn_axis *tn_reduce_axis_arg(tn_context *ctx, const char *name, tn_arg extent) {
  return axis_of(ctx, name, extent, true);
}

tn_axis *tn_axis_new(tn_context *ctx, const char *name, int64_t extent) {
  if (!ctx || !RUNTIME_GIVEN(ctx, name)) return NULL;
  return te_axis(&(te_site){.ctx = ctx}, name, (te_extent){extent, NULL}, false);
}

tn_axis *tn_reduce_axis(tn_context *ctx, const char *name, int64_t extent) {
  if (!ctx || !RUNTIME_GIVEN(ctx, name)) return NULL;
  return te_axis(&(te_site){.ctx = ctx}, name, (te_extent){extent, NULL}, true);
}

/* ---- placeholders ------------------------------------------------------------------------------------------------ */

/* An op without axes, inputs and body. Its outputs have neither dtype nor shape yet. */
static te_op *new_op(tn_context *ctx, te_op_kind kind, int n_outputs, const char *const *names, int ndim) {
  te_op *op = RUNTIME_NEW(&ctx->arena, te_op);
  tn_tensor *outputs = RUNTIME_NEW_ARRAY(&ctx->arena, tn_tensor, n_outputs);
  bool ok = op && outputs;
  for (int v = 0; ok && v < n_outputs; v++) {
    char *kept = runtime_strdup(&ctx->arena, names[v]);
    outputs[v] = (tn_tensor){.op = op, .value_index = v, .name = kept, .ndim = ndim, .ctx = ctx};
    ok = kept != NULL;
  }
  if (!ok) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory"), NULL;
  *op = (te_op){.kind = kind, .name = outputs[0].name, .n_axes = ndim, .n_outputs = n_outputs, .outputs = outputs};
  return op;
}

bool te_is_hidden(const tn_tensor *tensor) {
  size_t n = strlen(tensor->op->name);
  bool extends = tensor->value_index > 0 && strncmp(tensor->name, tensor->op->name, n) == 0;
  return extends && strcmp(tensor->name + n, ".value") == 0;
}

/* Tensors are identified by address, so two inputs of one name can exist until a program is made of them. */
tn_tensor *te_input(const te_site *site, const char *name, tn_dtype dtype, int ndim, const te_extent *shape) {
  if (!te_check_name(site, "a tensor", name)) return NULL;
  if (ndim > TN_MAX_RANK) {
    te_fail(site, TN_ERROR_PROGRAM, "'%s' has rank %d; at most %d", name, ndim, (int)TN_MAX_RANK);
    return NULL;
  }
  te_op *op = new_op(site->ctx, TE_PLACEHOLDER, 1, &name, ndim);
  if (!op) return NULL;
  op->outputs[0].dtype = dtype;
  for (int d = 0; d < ndim; d++) {
    op->outputs[0].shape[d] = shape[d].most;
    op->outputs[0].size[d] = shape[d].size;
  }
  return te_check_shape(site, &op->outputs[0]) ? &op->outputs[0] : NULL;
}

/* The mark belongs to the tensor, and holds in every program that uses it. */
tn_tensor *tn_layout_free(tn_tensor *tensor) {
  if (!tensor) return NULL;
  te_site site = {.ctx = tensor->ctx};
  if (te_is_placeholder(tensor->op) && !tensor->by_value) {
    tensor->is_layout_free = true;
    return tensor;
  }
  te_fail(&site, TN_ERROR_PROGRAM,
          "tn_layout_free: '%s' is %s: only an input that is a tensor can be the same in every call", tensor->name,
          tensor->by_value ? "a scalar" : "computed");
  return NULL;
}

/* Tensors of rank 0 and 1 are refused: the only stride they could have is the last one, which is 1 by contract. */
bool te_make_strided(const te_site *site, tn_tensor *tensor) {
  if (tensor->by_value) {
    te_fail(site, TN_ERROR_PROGRAM, "'%s' is a scalar: only an input or an output that is an array can be strided",
            tensor->name);
    return false;
  }
  if (tensor->ndim < 2) {
    te_fail(site, TN_ERROR_PROGRAM,
            "'%s' has rank %d and no stride but the last, which is always 1: what is strided has rank 2 or more",
            tensor->name, tensor->ndim);
    return false;
  }
  tensor->is_strided = true;
  return true;
}

tn_tensor *tn_strided(tn_tensor *tensor) {
  if (!tensor) return NULL;
  te_site site = {.ctx = tensor->ctx};
  return te_make_strided(&site, tensor) ? tensor : NULL;
}

/* An input of rank 0, with the mark that it is passed by value. */
tn_tensor *te_scalar(const te_site *site, const char *name, tn_dtype dtype) {
  tn_tensor *scalar = te_input(site, name, dtype, 0, NULL);
  if (scalar) scalar->by_value = true;
  return scalar;
}

tn_tensor *tn_scalar(tn_context *ctx, const char *name, tn_dtype dtype) {
  te_site site = {.ctx = ctx};
  if (!ctx || !RUNTIME_GIVEN(ctx, name)) return NULL;
  if ((unsigned)dtype < TN_DTYPE_COUNT) return te_scalar(&site, name, dtype);
  te_fail(&site, TN_ERROR_ARGUMENT, "tn_scalar: '%s': %d is no dtype", name, (int)dtype);
  return NULL;
}

/* The rank is n - 1. The dtype comes as a number before the extents, since a C macro can only pass a list
 * of one type. */
tn_tensor *tn_placeholder_array(tn_context *ctx, const char *name, int n, const int64_t *dtype_and_shape) {
  if (!ctx || !RUNTIME_GIVEN(ctx, name) || !RUNTIME_GIVEN(ctx, dtype_and_shape) || n < 1) return NULL;
  te_site site = {.ctx = ctx};
  int64_t dtype = dtype_and_shape[0];
  te_extent shape[TN_MAX_RANK] = {{0, NULL}};
  for (int d = 0; d + 1 < n && d < TN_MAX_RANK; d++) shape[d].most = dtype_and_shape[d + 1];
  if (dtype >= 0 && dtype < TN_DTYPE_COUNT) return te_input(&site, name, (tn_dtype)dtype, n - 1, shape);
  te_fail(&site, TN_ERROR_ARGUMENT, "tn_placeholder: '%s': %lld is no dtype", name, (long long)dtype);
  return NULL;
}

/* As tn_placeholder_array, but extents may be made of symbols. */
tn_tensor *tn_placeholder_args(tn_context *ctx, const char *name, tn_dtype dtype, int n, const tn_arg *extents) {
  te_site site = {.ctx = ctx};
  te_extent shape[TN_MAX_RANK];
  char what[TE_MAX_NAME + 40];
  if (!ctx || !RUNTIME_GIVEN(ctx, name) || !RUNTIME_GIVEN(ctx, extents)) return NULL;
  if (n < 1 || !te_check_context(&site, n, extents)) return NULL;
  for (int d = 0; d < n && d < TN_MAX_RANK; d++) {
    snprintf(what, sizeof what, "extent %d of '%.127s'", d, name);
    if (!te_extent_of(&site, what, extents[d], &shape[d])) return NULL;
  }
  if ((unsigned)dtype < TN_DTYPE_COUNT) return te_input(&site, name, dtype, n, shape);
  te_fail(&site, TN_ERROR_ARGUMENT, "tn_placeholder: '%s': %d is no dtype", name, (int)dtype);
  return NULL;
}

/* ---- what an op reads -------------------------------------------------------------------------------------------- */

typedef RUNTIME_VEC(tn_tensor *) tensor_list;

/* Adds a read's tensor to the list unless it is there. */
static tir_walk collect_input(void *user, const tir_expr *e) {
  tensor_list *list = user;
  if (e->op != TIR_READ) return TIR_WALK_ON;
  for (int i = 0; i < list->n; i++)
    if (list->data[i] == e->u.tensor) return TIR_WALK_ON;
  return RUNTIME_PUSH(list, e->u.tensor) ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Takes time proportional to the reads times the distinct tensors; a body has few of the latter. */
static bool set_inputs(te_op *op, runtime_arena *arena) {
  tensor_list list = {0};
  bool ok = tir_walk_expr(op->body, collect_input, &list);
  op->n_inputs = list.n;
  op->inputs = runtime_copy(arena, list.data, sizeof *list.data * (size_t)list.n);
  ok = ok && (list.n == 0 || op->inputs);
  RUNTIME_VEC_FREE(&list);
  return ok;
}

/* BODY is not copied; NULL means that memory ran out. The list of axes is copied. The op does not own its
 * axes yet: see own_axes. */
te_op *te_op_new(tn_context *ctx, const char *const *names, int n_axes, tn_axis **axes, const tir_expr *body) {
  te_op *op = body ? new_op(ctx, TE_COMPUTE, tir_n_values(body), names, n_axes) : NULL;
  if (!op) return NULL;
  op->axes = runtime_copy(&ctx->arena, axes, sizeof *axes * (size_t)n_axes);
  op->body = body;
  for (int v = 0; v < op->n_outputs; v++) {
    op->outputs[v].dtype = tir_value_dtype(body, v);
    for (int d = 0; d < n_axes; d++) op->outputs[v].shape[d] = axes[d]->extent, op->outputs[v].size[d] = axes[d]->size;
  }
  if (body->op == TIR_REDUCE) {
    op->n_reduce = body->u.reduce->n_axes;
    op->reduce_axes = body->u.reduce->axes;
  }
  if (set_inputs(op, &ctx->arena) && (n_axes == 0 || op->axes)) return te_set_may_leave(op), op;
  runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory");
  return NULL;
}

/* ---- axes of a compute ------------------------------------------------------------------------------------------- */

/* A compute being made: its own axes and, for those that were copied, what replaces them in the body. */
typedef struct making {
  const te_site *site;
  const char *name;
  int n_axes, n_reduce, n_bindings;
  tn_axis *axes[TN_MAX_RANK], *reduce_axes[TE_MAX_REDUCE_AXES];
  tir_binding bindings[TN_MAX_RANK + TE_MAX_REDUCE_AXES];
} making;

/* Takes an axis, or a copy if another compute owns it. */
static tn_axis *adopt(making *m, tn_axis *axis) {
  if (!axis->op) return axis;
  tn_context *ctx = m->site->ctx;
  tn_axis *copy = te_axis_make(ctx, axis->var.name, axis->extent, axis->size, axis->is_reduce);
  if (copy) m->bindings[m->n_bindings++] = (tir_binding){&axis->var, te_axis_expr(&ctx->arena, copy)};
  return copy;
}

/* Refuses two axes of one name, be they data or reduction axes. */
static bool check_distinct(const making *m, int n, tn_axis *const *axes, int n_more, tn_axis *const *more) {
  for (int i = 0; i < n + n_more; i++) {
    const char *name = (i < n ? axes[i] : more[i - n])->var.name;
    for (int j = 0; j < i; j++) {
      if (strcmp((j < n ? axes[j] : more[j - n])->var.name, name) != 0) continue;
      te_fail(m->site, TN_ERROR_PROGRAM, "'%s' has two axes named '%s'", m->name, name);
      return false;
    }
  }
  return true;
}

/* Checked before axes are taken over, so that a refusal changes nothing. */
static bool check_data_axes(const making *m, int n, tn_axis *const *axes) {
  if (n > TN_MAX_RANK) {
    te_fail(m->site, TN_ERROR_PROGRAM, "'%s' has rank %d; at most %d", m->name, n, (int)TN_MAX_RANK);
    return false;
  }
  for (int i = 0; i < n; i++) {
    if (!axes[i]->is_reduce) continue;
    te_fail(m->site, TN_ERROR_PROGRAM, "'%s' is a reduction axis and cannot be a dimension of '%s': use tn_axis_new",
            axes[i]->var.name, m->name);
    return false;
  }
  return true;
}

/* Checks the axes and takes them over. */
static bool adopt_axes(making *m, int n, tn_axis *const *axes, const tir_expr *body) {
  tn_axis *const *reduce = body->op == TIR_REDUCE ? body->u.reduce->axes : NULL;
  int n_reduce = body->op == TIR_REDUCE ? body->u.reduce->n_axes : 0;
  if (!check_data_axes(m, n, axes) || !check_distinct(m, n, axes, n_reduce, reduce)) return false;
  m->n_axes = n;
  m->n_reduce = n_reduce;
  for (int i = 0; i < n; i++)
    if (!(m->axes[i] = adopt(m, axes[i]))) return false;
  for (int i = 0; i < n_reduce; i++)
    if (!(m->reduce_axes[i] = adopt(m, reduce[i]))) return false;
  return true;
}

/* The body in terms of the compute's own axes. */
static const tir_expr *adopt_body(const making *m, const tir_expr *body) {
  runtime_arena *arena = &m->site->ctx->arena;
  if (m->n_bindings == 0) return body;
  if (body->op != TIR_REDUCE) return tir_substitute(arena, body, m->n_bindings, m->bindings);
  tir_reduce *reduce = RUNTIME_NEW(arena, tir_reduce);
  tn_axis **axes = runtime_copy(arena, m->reduce_axes, sizeof *axes * (size_t)m->n_reduce);
  if (!reduce || !axes) return NULL;
  *reduce = *body->u.reduce;
  reduce->axes = axes;
  const tir_expr *args[2 * TIR_MAX_VALUES + 1];
  for (int i = 0; i < body->n_args; i++) args[i] = tir_substitute(arena, body->arg[i], m->n_bindings, m->bindings);
  return tir_reduce_args(arena, reduce, args);
}

/* Stops at the first variable that is none of the compute's axes, with a message. */
static tir_walk check_var(void *user, const tir_expr *e) {
  const making *m = user;
  if (e->op != TIR_VAR || te_var_axis(e->u.var)->is_symbol) return TIR_WALK_ON;
  for (int i = 0; i < m->n_axes; i++)
    if (&m->axes[i]->var == e->u.var) return TIR_WALK_ON;
  for (int i = 0; i < m->n_reduce; i++)
    if (&m->reduce_axes[i]->var == e->u.var) return TIR_WALK_ON;
  te_fail(m->site, TN_ERROR_PROGRAM, "'%s' uses axis '%s', which is neither one of its dimensions nor reduced", m->name,
          e->u.var->name);
  return TIR_WALK_STOP;
}

/* ---- computes ---------------------------------------------------------------------------------------------------- */

/* What te_check_access needs besides the access. */
typedef struct default_check {
  const te_site *site;
  const char *name;
} default_check;

/* For te_walk_accesses: false ends the walk at the first access that is refused. */
static bool check_one_access(void *user, const te_access *access) {
  const default_check *check = user;
  return te_check_access(check->site, check->name, access);
}

/* VISIT replaces the usual check while the parser still infers shapes. */
static bool check_accesses(const te_site *site, const te_op *op, te_access_fn visit, void *user) {
  default_check check = {site, op->name};
  runtime_arena *arena = &site->ctx->arena;
  return visit ? te_walk_accesses(op, arena, visit, user) : te_walk_accesses(op, arena, check_one_access, &check);
}

/* From here on another compute that uses these axes gets copies. */
static void own_axes(te_op *op) {
  for (int i = 0; i < op->n_axes; i++) op->axes[i]->op = op;
  for (int i = 0; i < op->n_reduce; i++) op->reduce_axes[i]->op = op;
}

/* There must be as many names as values. Only argmax and argmin may leave their second value without a name
 * (te_is_hidden). */
static bool check_output_names(const te_site *site, const tir_expr *body, int n, const char **names) {
  int wanted = tir_n_values(body);
  for (int v = 0; v < n; v++)
    if (!te_check_name(site, "a tensor", names[v])) return false;
  if (n == 1 && wanted == 2 && body->op == TIR_REDUCE && body->u.reduce->tuple->takes_position) {
    names[1] = runtime_format(&site->ctx->arena, "%s.value", names[0]);
    return te_has_memory(site, names[1]);
  }
  if (n == wanted) return true;
  te_fail(site, TN_ERROR_PROGRAM, "'%s' computes %d value%s, but %d name%s given: each value has a name, as in (A, B)",
          names[0], wanted, wanted == 1 ? "" : "s", n, n == 1 ? " is" : "s are");
  return false;
}

/* The product of the extents may overflow although each of them is in range. */
static bool check_output_shapes(const te_site *site, const te_op *op) {
  for (int v = 0; v < op->n_outputs; v++)
    if (!te_check_shape(site, &op->outputs[v])) return false;
  return true;
}

/* Changes nothing before all checks have passed: only then do the axes belong to the op. */
tn_tensor *te_compute(const te_site *site, int n_names, const char *const *given, tn_arg body, int n_axes,
                      tn_axis *const *axes, te_access_fn visit, void *user) {
  const char *names[TIR_MAX_VALUES + 1];
  memcpy(names, given, sizeof *names * (size_t)RUNTIME_MIN(n_names, TIR_MAX_VALUES + 1));
  const char *name = names[0];
  making m = {.site = site, .name = name};
  if (!te_check_name(site, "a tensor", name)) return NULL;
  bool is_number = te_is_number(body);
  const tir_expr *node = is_number ? te_convert(site, body, te_number_dtype(body)) : te_stored_node(site, body);
  if (node) node = te_lift_reductions(site, name, node, n_axes, axes, visit, user);
  if (!node || !check_output_names(site, node, n_names, names) || !adopt_axes(&m, n_axes, axes, node)) return NULL;
  node = adopt_body(&m, node);
  if (!te_has_memory(site, node) || !tir_walk_expr(node, check_var, &m)) return NULL;
  te_op *op = te_op_new(site->ctx, names, n_axes, m.axes, node);
  if (!op || !check_output_shapes(site, op)) return NULL;
  if (!check_accesses(site, op, visit, user)) return NULL;
  own_axes(op);
  return &op->outputs[0];
}

int te_split_names(const te_site *site, const char *list, const char *names[TIR_MAX_VALUES + 1]) {
  int n = 0;
  for (const char *at = list; n <= TIR_MAX_VALUES; at++) {
    at += strspn(at, " ");
    size_t length = strcspn(at, ","), used = length;
    while (used > 0 && at[used - 1] == ' ') used--;
    names[n] = runtime_strndup(&site->ctx->arena, at, used);
    if (!te_has_memory(site, names[n++])) return -1;
    at += length;
    if (!*at) break;
  }
  return n;
}

/* The value of an argmax that was given only one name exists, but must not be read: the text form could not
 * write its name. */
tn_tensor *tn_output(tn_tensor *tensor, int index) {
  if (!tensor) return NULL;
  te_op *op = tensor->op;
  te_site site = {.ctx = tensor->ctx};
  if (index >= 0 && index < op->n_outputs && !te_is_hidden(&op->outputs[index])) return &op->outputs[index];
  te_fail(&site, TN_ERROR_ARGUMENT, "tn_output: '%s' has no output %d%s", op->name, index,
          index >= 0 && index < op->n_outputs ? ": name both, tn_compute(ctx, \"I, V\", ...)" : "");
  return NULL;
}

/* ARGS[0] is the expression; the others are axes. */
tn_tensor *tn_compute_array(tn_context *ctx, const char *name, int n, const tn_arg *args) {
  if (!ctx || !name || n < 1 || !args) return NULL;
  te_site site = {.ctx = ctx};
  if (!te_check_context(&site, n, args)) return NULL;
  tn_axis *axes[TN_MAX_RANK] = {0};
  for (int i = 1; i < n; i++) {
    if (args[i].kind != TN_ARG_AXIS)
      return te_fail(&site, TN_ERROR_ARGUMENT, "tn_compute: '%s': argument %d after the expression is no axis", name,
                     i),
             NULL;
    if (i <= TN_MAX_RANK) axes[i - 1] = args[i].u.axis;
  }
  const char *names[TIR_MAX_VALUES + 1];
  int n_names = te_split_names(&site, name, names);
  if (n_names < 0) return NULL;
  if (n - 1 <= TN_MAX_RANK) return te_compute(&site, n_names, names, args[0], n - 1, axes, NULL, NULL);
  te_fail(&site, TN_ERROR_PROGRAM, "'%s' has rank %d; at most %d", name, n - 1, (int)TN_MAX_RANK);
  return NULL;
}
