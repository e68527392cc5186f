/* reduce.c: reductions with built-in combiners and with those of tuples, optionally over the points where a
 * condition holds, and from the user's initial values. */
#include "te/internal.h"

/* ---- combiners of one value -------------------------------------------------------------------------------------- */

/* any and all combine booleans; the others combine numbers. */
static bool check_combiner(const te_site *site, tir_combiner combiner, tn_arg source) {
  static const char *const names[] = {
#define X(name, text) text,
      TIR_COMBINERS(X)
#undef X
  };
  bool is_logical = combiner == TIR_REDUCE_ANY || combiner == TIR_REDUCE_ALL,
       is_bool = te_shown_dtype(source) == TN_BOOL;
  if (is_logical && !is_bool)
    return te_refuse_operand(site, names[combiner], source, "it needs a bool, such as x != 0");
  if (!is_logical && is_bool)
    return te_refuse_operand(site, names[combiner], source, "use any or all, or cast it, as in i32(x)");
  return true;
}

/* Reduction axes are made as such, as in TVM. */
static bool check_reduce_axes(const te_site *site, int n, tn_axis *const *axes) {
  if (n < 1 || n > TE_MAX_REDUCE_AXES) {
    te_fail(site, TN_ERROR_PROGRAM, "a reduction has 1 to %d axes, not %d", (int)TE_MAX_REDUCE_AXES, n);
    return false;
  }
  for (int i = 0; i < n; i++) {
    if (axes[i]->is_reduce) continue;
    te_fail(site, TN_ERROR_PROGRAM, "'%s' is a data axis and cannot be reduced: make it with tn_reduce_axis",
            axes[i]->var.name);
    return false;
  }
  return true;
}

/* AXES is copied, so the caller's array need not outlive the call. NULL after a message. */
static tir_reduce *new_reduce(const te_site *site, tir_combiner combiner, const tir_tuple_combiner *tuple, int n_axes,
                              tn_axis *const *axes) {
  runtime_arena *arena = &site->ctx->arena;
  tir_reduce *reduce = RUNTIME_NEW(arena, tir_reduce);
  tn_axis **kept = runtime_copy(arena, axes, sizeof *axes * (size_t)n_axes);
  if (!te_has_memory(site, reduce) || !te_has_memory(site, kept)) return NULL;
  *reduce = (tir_reduce){.combiner = combiner, .tuple = tuple, .n_axes = n_axes, .axes = kept};
  return reduce;
}

/* A plain number as a source has its own dtype. */
tn_expr *te_reduction(const te_site *site, tir_combiner combiner, tn_arg source, int n_axes, tn_axis *const *axes) {
  if (te_is_null(source) || !te_check_one_value(site, source) || !check_reduce_axes(site, n_axes, axes)) return NULL;
  if (!check_combiner(site, combiner, source)) return NULL;
  const tir_expr *node = te_convert(site, source, te_shown_dtype(source));
  const tir_reduce *reduce = node ? new_reduce(site, combiner, NULL, n_axes, axes) : NULL;
  return reduce ? te_new_expr(site, tir_reduce_expr(&site->ctx->arena, reduce, node), 1, &source) : NULL;
}

/* ---- combiners of tuples ----------------------------------------------------------------------------------------- */

/* VALUE in the dtype of value V of a reduction. Numbers and constants are converted; anything else must
 * have the dtype. WHAT: "source" or "init". NULL: refused. */
static const tir_expr *tuple_value(const te_site *site, const tir_tuple_combiner *combiner, int v, const char *what,
                                   tn_arg value) {
  tn_dtype wanted = combiner->lhs[v]->dtype;
  char text[64];
  if (te_is_null(value) || !te_check_not_reduction(site, value)) return NULL;
  const tir_expr *node = value.kind == TN_ARG_EXPR ? value.u.expr->node : NULL;
  if (node && node->op == TIR_INT && node->dtype != TN_BOOL) value = tn_arg_int(node->u.i);
  if (node && node->op == TIR_FLOAT) value = tn_arg_float(node->u.f);
  bool fits = te_is_number(value) ? te_number_fits(value, wanted) : te_shown_dtype(value) == wanted;
  if (fits) return te_convert(site, value, wanted);
  te_fail(site, TN_ERROR_PROGRAM, "value %d of '%s' is %s, but its %s %s is %s: cast it, as in %s(x)", v,
          combiner->name, tn_dtype_name(wanted), what, te_show_arg(text, site, value),
          tn_dtype_name(te_shown_dtype(value)), tn_dtype_name(wanted));
  return NULL;
}

/* There must be one source, init or result for each value. */
static bool check_count(const te_site *site, const char *name, int wanted, const char *what, int n) {
  if (n == wanted) return true;
  te_fail(site, TN_ERROR_PROGRAM, "'%s' combines %d value%s, but %d %s%s given", name, wanted, wanted == 1 ? "" : "s",
          n, what, n == 1 ? " is" : "s are");
  return false;
}

/* The combiner is tried at every use, since the values of sources differ between uses. */
tn_expr *te_tuple_reduction(const te_site *site, const tir_tuple_combiner *combiner, int n, const tn_arg *sources,
                            int n_axes, tn_axis *const *axes) {
  const tir_expr *nodes[TIR_MAX_VALUES];
  if (!check_count(site, combiner->name, combiner->n_values, "source", n)) return NULL;
  if (!check_reduce_axes(site, n_axes, axes)) return NULL;
  for (int v = 0; v < n; v++)
    if (!(nodes[v] = tuple_value(site, combiner, v, "source", sources[v]))) return NULL;
  const tir_reduce *reduce = new_reduce(site, TIR_REDUCE_TUPLE, combiner, n_axes, axes);
  const tir_expr *node = reduce ? tir_reduce_args(&site->ctx->arena, reduce, nodes) : NULL;
  if (!reduce || !te_has_memory(site, node) || !te_try_combiner(site, node)) return NULL;
  return te_new_expr(site, node, n, sources);
}

/* ---- where and init ---------------------------------------------------------------------------------------------- */

/* A copy of a reduction's description, to be changed; NULL: refused. */
static tir_reduce *copy_reduce(const te_site *site, const char *call, const tn_expr *e) {
  if (e->node->op != TIR_REDUCE) {
    te_fail(site, TN_ERROR_PROGRAM, "%s: the first argument is no reduction", call);
    return NULL;
  }
  tir_reduce *copy = runtime_copy(&site->ctx->arena, e->node->u.reduce, sizeof *copy);
  return te_has_memory(site, copy) ? copy : NULL;
}

/* The reduction with other parts: WHERE, and INIT with n_values entries; each may be NULL. PARTS: the
 * arguments they came from. */
static tn_expr *with_parts(const te_site *site, tn_expr *e, const tir_reduce *reduce, const tir_expr *where,
                           const tir_expr *const *init, int n_parts, const tn_arg *parts) {
  const tir_expr *nodes[2 * TIR_MAX_VALUES + 1];
  tn_arg args[TIR_MAX_VALUES + 1] = {tn_arg_expr(e)};
  int n_values = tir_n_values(e->node), n = 0;
  for (int v = 0; v < n_values; v++) nodes[n++] = e->node->arg[v];
  if (where) nodes[n++] = where;
  for (int v = 0; init && v < n_values; v++) nodes[n++] = init[v];
  for (int i = 0; i < n_parts; i++) args[1 + i] = parts[i];
  return te_new_expr(site, tir_reduce_args(&site->ctx->arena, reduce, nodes), 1 + n_parts, args);
}

/* A reduction has at most one condition, which may use its axes. */
tn_expr *te_reduction_where(const te_site *site, tn_expr *e, tn_arg cond) {
  if (!e || te_is_null(cond) || !te_check_not_reduction(site, cond)) return NULL;
  tir_reduce *reduce = copy_reduce(site, "where", e);
  if (!reduce || !te_check_bool(site, "where", cond)) return NULL;
  if (reduce->has_where)
    return te_fail(site, TN_ERROR_PROGRAM, "the reduction has two conditions: join them by &&"), NULL;
  const tir_expr *where = te_arg_node(site, cond), *init[TIR_MAX_VALUES];
  for (int v = 0; v < tir_n_values(e->node); v++) init[v] = tir_reduce_init(e->node, v);
  reduce->has_where = true;
  return where ? with_parts(site, e, reduce, where, reduce->has_init ? init : NULL, 1, &cond) : NULL;
}

/* Initial values must not use the reduction's axes, which have no value at the start. */
static bool check_init_axes(const te_site *site, const tir_reduce *reduce, tn_arg init) {
  char text[64];
  const tir_expr *node = te_is_number(init) ? NULL : te_arg_node(site, init);
  for (int i = 0; node && i < reduce->n_axes; i++) {
    if (!tir_uses_var(node, &reduce->axes[i]->var)) continue;
    te_fail(site, TN_ERROR_PROGRAM, "init %s uses the reduction axis '%s', over which the reduction has yet to run",
            te_show(text, node), reduce->axes[i]->var.name);
    return false;
  }
  return true;
}

/* The init of a reduction of one value, in its dtype. */
static const tir_expr *plain_init(const te_site *site, const tn_expr *e, tn_arg init) {
  tn_dtype dtype = (tn_dtype)e->node->dtype;
  char text[64];
  if (te_is_number(init) ? te_common_dtype(2, (tn_arg[]){tn_arg_expr((tn_expr *)e), init}) == dtype
                         : te_shown_dtype(init) == dtype)
    return te_convert(site, init, dtype);
  te_fail(site, TN_ERROR_PROGRAM, "init %s is %s, but the reduction is %s: cast it, as in %s(x)",
          te_show_arg(text, site, init), tn_dtype_name(te_shown_dtype(init)), tn_dtype_name(dtype),
          tn_dtype_name(dtype));
  return NULL;
}

/* A reduction has at most one init, over data axes only. */
tn_expr *te_reduction_init(const te_site *site, tn_expr *e, int n, const tn_arg *inits) {
  const tir_expr *nodes[TIR_MAX_VALUES] = {NULL};
  for (int v = 0; v < n; v++)
    if (!e || te_is_null(inits[v]) || !te_check_not_reduction(site, inits[v])) return NULL;
  tir_reduce *reduce = copy_reduce(site, "init", e);
  if (!reduce) return NULL;
  if (reduce->has_init) return te_fail(site, TN_ERROR_PROGRAM, "the reduction has two inits"), NULL;
  const tir_tuple_combiner *tuple = reduce->tuple;
  if (!check_count(site, tuple ? tuple->name : "the reduction", tir_n_values(e->node), "init", n)) return NULL;
  for (int v = 0; v < n; v++) {
    if (!check_init_axes(site, reduce, inits[v])) return NULL;
    nodes[v] = tuple ? tuple_value(site, tuple, v, "init", inits[v]) : plain_init(site, e, inits[v]);
    if (!nodes[v]) return NULL;
  }
  reduce->has_init = true;
  return with_parts(site, e, reduce, tir_reduce_where(e->node), nodes, n, inits);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The values of a tuple as arguments; any other argument is one value. Returns how many; -1: no memory. */
static int values_of(const te_site *site, tn_arg a, tn_arg values[TIR_MAX_VALUES]) {
  values[0] = a;
  if (a.kind != TN_ARG_EXPR || a.u.expr->node->op != TIR_TUPLE) return 1;
  const tn_expr *tuple = a.u.expr;
  for (int v = 0; v < tuple->node->n_args; v++) {
    tn_expr *e = RUNTIME_NEW(&site->ctx->arena, tn_expr);
    if (!te_has_memory(site, e)) return -1;
    *e = (tn_expr){tuple->ctx, tuple->node->arg[v], tuple->depth, tuple->size};
    values[v] = tn_arg_expr(e);
  }
  return tuple->node->n_args;
}

/* The context, where messages go, is that of the arguments. */
tn_expr *tn_reduction_where(tn_expr *reduction, tn_arg cond) {
  te_site site;
  tn_arg args[] = {tn_arg_expr(reduction), cond};
  return te_find_site(&site, 2, args) ? te_reduction_where(&site, reduction, cond) : NULL;
}

tn_expr *tn_reduction_init(tn_expr *reduction, tn_arg init) {
  te_site site;
  tn_arg args[] = {tn_arg_expr(reduction), init}, values[TIR_MAX_VALUES];
  if (!te_find_site(&site, 2, args)) return NULL;
  int n = values_of(&site, init, values);
  return n < 0 ? NULL : te_reduction_init(&site, reduction, n, values);
}

/* Takes the axes after a call's first argument; false: something else is there. */
static bool take_axes(const te_site *site, const char *call, int n, const tn_arg *args,
                      tn_axis *axes[TE_MAX_REDUCE_AXES]) {
  for (int i = 1; i < n; i++) {
    if (args[i].kind != TN_ARG_AXIS) {
      te_fail(site, TN_ERROR_ARGUMENT, "%s: argument %d is no axis", call, i + 1);
      return false;
    }
    if (i <= TE_MAX_REDUCE_AXES) axes[i - 1] = args[i].u.axis;
  }
  return true;
}

/* COMBINER is one of sum, prod, max, min, any, all, argmax, argmin. */
tn_expr *tn_reduction(const char *combiner, int n, const tn_arg *args) {
  te_site site;
  tn_arg values[TIR_MAX_VALUES];
  if (!combiner || n < 1 || !args || !te_find_site(&site, n, args)) return NULL;
  int kind = te_find_combiner(combiner), position = te_find_position_reduction(combiner);
  if (kind < 0 && position < 0) return te_fail(&site, TN_ERROR_ARGUMENT, "unknown reduction '%s'", combiner), NULL;
  tn_axis *axes[TE_MAX_REDUCE_AXES];
  if (!take_axes(&site, combiner, n, args, axes)) return NULL;
  if (kind >= 0) return te_reduction(&site, (tir_combiner)kind, args[0], n - 1, axes);
  int n_values = values_of(&site, args[0], values);
  return n_values < 0 ? NULL : te_position_reduction(&site, position == 1, n_values, values, n - 1, axes);
}

/* Refuses a combiner whose results or identity are missing. */
tn_expr *tn_reduce_array(tn_combiner *combiner, int n, const tn_arg *args) {
  tn_arg values[TIR_MAX_VALUES];
  if (!combiner || n < 1 || !args) return NULL;
  te_site site = {.ctx = combiner->ctx};
  const tir_tuple_combiner *c = &combiner->combiner;
  tn_axis *axes[TE_MAX_REDUCE_AXES];
  if (!te_check_context(&site, n, args) || !take_axes(&site, c->name, n, args, axes)) return NULL;
  if (!c->result[0] || !c->identity[0]) {
    te_fail(&site, TN_ERROR_PROGRAM, "combiner '%s' has no %s yet: tn_combiner_%s(...) gives %s", c->name,
            c->result[0] ? "identity" : "results", c->result[0] ? "identity" : "results", c->result[0] ? "it" : "them");
    return NULL;
  }
  int n_values = values_of(&site, args[0], values);
  return n_values < 0 ? NULL : te_tuple_reduction(&site, c, n_values, values, n - 1, axes);
}
