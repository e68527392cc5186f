/* scan.c: recurrences: states, which are declared before they are defined; which computes are steps of a
 * scan; and the proof that a step only reads what earlier steps, or earlier computes of its own step, have
 * made. A state is an op of kind TE_SCAN whose body is filled in later. States are the only nodes of the
 * graph that change after others point to them. */
#include <stdio.h>

#include "te/internal.h"

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* All states have one shape. Names and extents are copied. */
tn_tensor *te_state(const te_site *site, int n, const char *const *names, const tn_dtype *dtypes, int ndim,
                    const int64_t *shape) {
  runtime_arena *arena = &site->ctx->arena;
  if (ndim < 1 || ndim > TN_MAX_RANK) {
    te_fail(site, TN_ERROR_PROGRAM, "state '%s' has rank %d: its first dimension is the time, so 1 to %d", names[0],
            ndim, (int)TN_MAX_RANK);
    return NULL;
  }
  te_op *op = RUNTIME_NEW(arena, te_op);
  tn_tensor *outputs = RUNTIME_NEW_ARRAY(arena, tn_tensor, n);
  if (!te_has_memory(site, op) || !te_has_memory(site, outputs)) return NULL;
  for (int v = 0; v < n; v++) {
    char *kept = runtime_strdup(arena, names[v]);
    if (!te_has_memory(site, kept) || !te_check_name(site, "a tensor", names[v])) return NULL;
    outputs[v] =
        (tn_tensor){.op = op, .value_index = v, .name = kept, .dtype = dtypes[v], .ndim = ndim, .ctx = site->ctx};
    memcpy(outputs[v].shape, shape, sizeof *shape * (size_t)ndim);
    if (!te_check_shape(site, &outputs[v])) return NULL;
  }
  *op = (te_op){.kind = TE_SCAN, .name = outputs[0].name, .n_axes = ndim, .n_outputs = n, .outputs = outputs};
  return &outputs[0];
}

/* The axes must have the extents of the state's dimensions. */
static bool check_axes(const te_site *site, const te_op *state, int n_axes, tn_axis *const *axes) {
  const tn_tensor *t = &state->outputs[0];
  if (n_axes != t->ndim) {
    te_fail(site, TN_ERROR_PROGRAM, "state '%s' has rank %d, but its scan has %d ax%ss", t->name, t->ndim, n_axes,
            n_axes == 1 ? "i" : "e");
    return false;
  }
  for (int d = 0; d < n_axes; d++) {
    if (axes[d]->extent == t->shape[d] && !axes[d]->size) continue;
    te_fail(site, TN_ERROR_PROGRAM, "dimension %d of state '%s' is %lld, but axis '%s' of its scan has extent %lld", d,
            t->name, (long long)t->shape[d], axes[d]->var.name, (long long)axes[d]->extent);
    return false;
  }
  return true;
}

/* Dtypes must be equal: a conversion would round in every step. */
static bool check_dtypes(const te_site *site, const te_op *state, const te_op *made) {
  for (int v = 0; v < state->n_outputs; v++) {
    tn_dtype wanted = state->outputs[v].dtype, has = made->outputs[v].dtype;
    if (wanted == has) continue;
    te_fail(site, TN_ERROR_PROGRAM, "state '%s' is %s, but its scan gives %s: cast it, as in %s(x)",
            state->outputs[v].name, tn_dtype_name(wanted), tn_dtype_name(has), tn_dtype_name(wanted));
    return false;
  }
  return true;
}

/* A scan's body must not be a reduction, whose loops would be inside the step. */
static bool check_body(const te_site *site, const te_op *state, tn_arg body) {
  if (state->body) {
    te_fail(site, TN_ERROR_PROGRAM, "state '%s' has a scan already", state->name);
    return false;
  }
  if (body.kind != TN_ARG_EXPR || !body.u.expr || body.u.expr->node->op != TIR_REDUCE) return true;
  te_fail(
      site, TN_ERROR_PROGRAM,
      "the scan of '%s' is a reduction: give the reduction a name of its own, as in Z[t, ...] = sum[k](...), and read "
      "that",
      state->name);
  return false;
}

/* Makes the body as a separate compute first, so that the state stays open if the body is refused. */
bool te_scan(const te_site *site, te_op *state, tn_arg body, int n_axes, tn_axis *const *axes, te_access_fn visit,
             void *user) {
  const char *names[TIR_MAX_VALUES];
  for (int v = 0; v < state->n_outputs; v++) names[v] = state->outputs[v].name;
  if (!check_body(site, state, body) || !check_axes(site, state, n_axes, axes)) return false;
  if (te_is_number(body)) {
    const tir_expr *node = te_convert(site, body, state->outputs[0].dtype);
    tn_expr *number = node ? te_new_expr(site, node, 0, NULL) : NULL;
    if (!number) return false;
    body = tn_arg_expr(number);
  }
  tn_tensor *made = te_compute(site, state->n_outputs, names, body, n_axes, axes, visit, user);
  if (!made || !check_dtypes(site, state, made->op)) return false;
  state->axes = made->op->axes;
  state->body = made->op->body;
  state->n_inputs = made->op->n_inputs;
  state->inputs = made->op->inputs;
  state->may_leave = made->op->may_leave;
  for (int d = 0; d < n_axes; d++) state->axes[d]->op = state;
  return true;
}

/* ---- calls from C ------------------------------------------------------------------------------------------------ */

/* NAMES may list several states that are defined together. */
tn_tensor *tn_state_array(tn_context *ctx, const char *names, int n, const int64_t *dtype_and_shape) {
  const char *list[TIR_MAX_VALUES + 1];
  tn_dtype dtypes[TIR_MAX_VALUES];
  te_site site = {.ctx = ctx};
  if (!ctx || !RUNTIME_GIVEN(ctx, names) || !RUNTIME_GIVEN(ctx, dtype_and_shape) || n < 1) return NULL;
  int64_t dtype = dtype_and_shape[0];
  if (dtype < 0 || dtype >= TN_DTYPE_COUNT)
    return te_fail(&site, TN_ERROR_ARGUMENT, "tn_state: '%s': %lld is no dtype", names, (long long)dtype), NULL;
  int n_names = te_split_names(&site, names, list);
  if (n_names < 1) return NULL;
  if (n_names > TIR_MAX_VALUES)
    return te_fail(&site, TN_ERROR_PROGRAM, "a scan has at most %d states", (int)TIR_MAX_VALUES), NULL;
  for (int v = 0; v < n_names; v++) dtypes[v] = (tn_dtype)dtype;
  return te_state(&site, n_names, list, dtypes, n - 1, dtype_and_shape + 1);
}

/* Returns the state, so that calls can be chained. */
tn_tensor *tn_scan_array(tn_tensor *state, int n, const tn_arg *args) {
  if (!state || n < 1 || !args) return NULL;
  te_site site = {.ctx = state->ctx};
  tn_axis *axes[TN_MAX_RANK] = {0};
  if (!te_check_context(&site, n, args)) return NULL;
  if (state->op->kind != TE_SCAN)
    return te_fail(&site, TN_ERROR_ARGUMENT, "tn_scan: '%s' is no state: make it with tn_state", state->name), NULL;
  for (int i = 1; i < n; i++) {
    if (args[i].kind != TN_ARG_AXIS)
      return te_fail(&site, TN_ERROR_ARGUMENT, "tn_scan: '%s': argument %d after the expression is no axis",
                     state->name, i),
             NULL;
    if (i <= TN_MAX_RANK) axes[i - 1] = args[i].u.axis;
  }
  return te_scan(&site, state->op, args[0], n - 1, axes, NULL, NULL) ? state : NULL;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* The check of one step's reads. */
typedef struct looking {
  const te_site *site;
  const te_op *scan, *op; /* OP: the step, or the scan itself */
  int64_t longest;        /* how far back the state is read */
  bool is_fine;
} looking;

/* How many steps back a read is. False: that is not constant. */
static bool find_lag(const te_op *op, const tir_expr *read, int64_t *lag) {
  runtime_arena arena = {0};
  const tir_expr *at = read->arg[0];
  const tir_expr *now = tir_cast(&arena, (tn_dtype)at->dtype, te_axis_expr(&arena, op->axes[0]));
  tir_env env = {.var = &op->axes[0]->var, .range = {0, op->axes[0]->extent - 1}};
  const tir_expr *difference = tir_binary(&arena, TIR_SUB, now, at);
  if (difference) difference = tir_simplify(&arena, &env, difference);
  bool is_known = difference && tir_is_int(difference, lag);
  runtime_arena_free(&arena);
  return is_known;
}

/* Reports a bad read. The message has the rule, with the time's name in it. Always false. */
static bool refuse_read(looking *w, const tir_expr *read, const char *rule) {
  runtime_str text = {0};
  te_print_expr(&text, read);
  te_fail(w->site, TN_ERROR_PROGRAM, "'%s' reads %s in the scan of '%s': %s, where %s is the time, %s", w->op->name,
          text.data ? text.data : read->u.tensor->name, w->scan->name, rule, w->op->axes[0]->var.name,
          "so that every step reads what is there by then");
  runtime_str_free(&text);
  return w->is_fine = false;
}

/* Checks a read of a state or of another step; other reads are not restricted. */
static tir_walk look_at_read(void *user, const tir_expr *e) {
  looking *w = user;
  int64_t lag;
  if (e->op != TIR_READ || e->u.tensor->op->scan != w->scan) return TIR_WALK_ON;
  bool of_state = e->u.tensor->op == w->scan, is_known = find_lag(w->op, e, &lag);
  char rule[200];
  snprintf(rule, sizeof rule, "the first index must be %s - c with a constant c >= %d", w->op->axes[0]->var.name,
           of_state);
  if (!is_known || lag < of_state) return refuse_read(w, e, rule), TIR_WALK_STOP;
  if (of_state) w->longest = RUNTIME_MAX(w->longest, lag);
  return TIR_WALK_ON;
}

/* Also updates scan->first by how far back the step reads. */
static bool check_step(const te_site *site, te_op *scan, const te_op *op) {
  looking w = {site, scan, op, scan->first, true};
  if (op != scan && op->kind == TE_SCAN) {
    te_fail(site, TN_ERROR_PROGRAM, "the scan of '%s' is a step of the scan of '%s': scans do not nest", op->name,
            scan->name);
    return false;
  }
  if (te_is_extern(op)) {
    te_fail(
        site, TN_ERROR_PROGRAM,
        "'%s' is a step of the scan of '%s', and is computed by a call of %s, which takes tensors as a whole: call it "
        "before or behind the scan",
        op->name, scan->name, op->call->callee->name);
    return false;
  }
  if (op->n_axes == 0) {
    te_fail(site, TN_ERROR_PROGRAM, "'%s' is a step of the scan of '%s': its first dimension must be the time",
            op->name, scan->name);
    return false;
  }
  tir_walk_expr(op->body, look_at_read, &w);
  scan->first = w.longest;
  return w.is_fine;
}

/* Whether OP reads a step directly; find_steps follows longer chains. */
static bool reads_step(const te_op *op, const te_op *scan) {
  for (int i = 0; i < op->n_inputs; i++)
    if (op->inputs[i]->op->scan == scan) return true;
  return false;
}

/* The name of a reader of OP that is not part of the scan; NULL: none. */
static const char *outside_reader(const tn_program *p, const te_op *op, const te_op *scan) {
  for (int i = 0; i < p->n_ops; i++)
    for (int k = 0; k < p->ops[i]->n_inputs; k++)
      if (p->ops[i]->inputs[k]->op == op && p->ops[i]->scan != scan) return p->ops[i]->name;
  return NULL;
}

/* A step's value exists for one time only, so only the scan and its other steps can read it. */
static bool check_outside(const te_site *site, const tn_program *p, const te_op *step, const te_op *scan) {
  const char *reader = outside_reader(p, step, scan);
  if (!reader && !te_is_output(p, step)) return true;
  te_fail(site, TN_ERROR_PROGRAM,
          "'%s' is a step of the scan of '%s', which keeps it for one time only, but %s%s%s: make it another state, as "
          "in scan (%s, %s)[...]",
          step->name, scan->name, reader ? "'" : "it is an output", reader ? reader : "", reader ? "' reads it" : "",
          scan->name, step->name);
  return false;
}

/* A step reads the state, and the scan reads the step, so it precedes the scan in te_program's order. If it
 * is also read elsewhere, the scan may come before it. */
static bool find_steps(const te_site *site, const tn_program *p, int at) {
  te_op *scan = p->ops[at];
  scan->scan = scan;
  for (int i = 0; i < at; i++)
    if (reads_step(p->ops[i], scan)) p->ops[i]->scan = scan;
  for (int k = 0; k <= at; k++) {
    for (int j = 0; j < p->ops[k]->n_inputs; j++) {
      te_op *from = p->ops[k]->inputs[j]->op;
      int index = 0;
      while (p->ops[index] != from) index++;
      if (index <= at) continue;
      if (from->kind != TE_SCAN) return from->scan = scan, check_outside(site, p, from, scan);
      te_fail(site, TN_ERROR_PROGRAM,
              "the scans of '%s' and '%s' read each other: make them one, as in scan (%s, %s)[...]", scan->name,
              from->name, scan->name, from->name);
      return false;
    }
  }
  return true;
}

/* Goes through the ops in order, so that the steps of a scan come before it. */
bool te_check_scans(const te_site *site, const tn_program *p) {
  for (int at = 0; at < p->n_ops; at++) {
    te_op *scan = p->ops[at];
    if (scan->kind != TE_SCAN) continue;
    if (!scan->body) {
      te_fail(site, TN_ERROR_PROGRAM, "state '%s' is declared, but no scan defines it", scan->name);
      return false;
    }
    if (!find_steps(site, p, at)) return false;
    for (int i = 0; i <= at; i++) {
      const te_op *op = p->ops[i];
      if (op->scan != scan) continue;
      if (!check_step(site, scan, op) || (op != scan && !check_outside(site, p, op, scan))) return false;
    }
  }
  return true;
}
