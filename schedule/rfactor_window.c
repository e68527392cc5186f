/* rfactor_window.c: the primitive rfactor_window: partial results of a sliding window that the windows of neighbours share. What rfactor
 * computes for each point and each step of the window's axis is the same wherever their sum is: it is computed once for each place
 * that both reach together, over the other reduction axes and perhaps a few neighbours, and each point combines those of its window. A 5x5 box filter takes
 * 5 + 5 steps instead of 25 (the separable filter of image processing, for any combiner and any number of axes). */
#include <stdio.h>

#include "schedule/edit.h"
#include "tir/linear.h"

/* What reads of the stage say about the two axes: a point's window begins at STRIDE * along, its elements are STEP apart; some that
 * follow each other are a place. Alive while the primitive runs. */
typedef struct window {
  const schedule_stage *st;
  int along, axis; /* of the op's data axes, of its reduction axes */
  int64_t stride, step;
  int64_t elements; /* of a place: neighbours in the window */
  int64_t places;   /* that all windows reach together */
} window;

/* In memory of the program. */
typedef struct made_ops {
  const te_op *partial, *final;
} made_ops;

/* ---- the window -------------------------------------------------------------------------------------------------- */

static int64_t coefficient_of(const tir_linear *form, const tir_var *var) {
  for (int i = 0; i < form->n; i++)
    if (form->terms[i].atom->op == TIR_VAR && form->terms[i].atom->u.var == var) return form->terms[i].coef;
  return 0;
}

static const tn_axis *along_of(const window *w) { return w->st->op->axes[w->along]; }
static const tn_axis *axis_of(const window *w) { return w->st->op->reduce_axes[w->axis]; }
/* Places of a window, and how far they are apart. */
static int64_t places_of(const window *w) { return axis_of(w)->extent / w->elements; }
static int64_t places_apart(const window *w) { return w->step * w->elements; }

/* The first index that moves with both axes says by how much. */
static tir_walk find_strides(void *user, const tir_expr *e) {
  window *w = user;
  for (int d = 0; e->op == TIR_READ && w->step == 0 && d < e->n_args; d++) {
    tir_linear form;
    tir_linear_zero(&form);
    if (!tir_linear_add_expr(&form, e->arg[d], 1)) continue;
    int64_t stride = coefficient_of(&form, &along_of(w)->var), step = coefficient_of(&form, &axis_of(w)->var);
    if (stride == 0 || step == 0) continue;
    int64_t divisor = tir_common_divisor(stride, step) * (step < 0 ? -1 : 1);
    w->stride = stride / divisor, w->step = step / divisor;
  }
  return TIR_WALK_ON;
}

static tn_status check_strides(const schedule_call *c, window *w) {
  const te_op *op = w->st->op;
  const char *name = schedule_stage_name(w->st), *along = along_of(w)->var.name, *axis = axis_of(w)->var.name;
  (void)tir_walk_expr(op->body, find_strides, w);
  if (w->step == 0)
    return schedule_refuse(c,
                           "no index of what %s reads moves with both %s and %s: it has no window there; use rfactor",
                           name, along, axis);
  int64_t n = along_of(w)->extent, length = axis_of(w)->extent;
  if (w->stride < 0 || (w->stride > 1 && w->step > 1))
    return schedule_refuse(
        c,
        "a window of %s begins at %lld * %s and its elements are %lld apart: one of both has to be 1, "
        "the other positive; use rfactor",
        name, (long long)w->stride, along, (long long)w->step);
  if (w->elements > 1 && (w->stride != 1 || length % w->elements != 0 || w->elements == length))
    return schedule_refuse(
        c,
        "%lld elements at a time of windows of %lld, which begin %lld apart: they have to begin at each "
        "place, and the number has to divide their length; leave it out to take all together",
        (long long)w->elements, (long long)length, (long long)w->stride);
  bool do_share = w->stride == 1 ? n > places_apart(w) : length > w->stride;
  if (!do_share)
    return schedule_refuse(c,
                           "windows of %s along %s share no place: they begin %lld apart and have %lld elements, %lld "
                           "apart; use rfactor",
                           name, along, (long long)w->stride, (long long)places_of(w), (long long)places_apart(w));
  w->places = w->stride * (n - 1) + places_apart(w) * (places_of(w) - 1) + 1;
  if (w->places <= INT32_MAX) return TN_OK;
  return schedule_refuse(c, "the partial results would have %lld places along %s, more than an index holds (%d)",
                         (long long)w->places, along, INT32_MAX);
}

/* ---- the two ops ------------------------------------------------------------------------------------------------- */

/* The partial results' op under construction. */
typedef struct factoring {
  runtime_arena *arena;
  const window *w;
  tn_axis *data[TN_MAX_RANK], **reduce; /* the new op's axes */
  int n_reduce;
  int n_bindings;
  tir_binding *bindings; /* of the op's axes, but the one that PLACE stands for */
  const tn_axis *which;  /* counts the places of a window */
  const tir_var *gone;   /* it, or the data axis: it has no value, nothing may depend on it */
  const tir_env *env;    /* ranges of the new axes */
  tir_env *ranges;
} factoring;

/* AXIS is VALUE, whose range is that of a new axis. */
static void bind(factoring *f, const tn_axis *axis, const tir_expr *value) {
  f->bindings[f->n_bindings++] = (tir_binding){&axis->var, value};
}

/* False: out of memory. */
static bool add_axis(factoring *f, int at, tn_axis *axis, const tn_axis *of) {
  if (!axis) return false;
  f->ranges[at] = (tir_env){.outer = f->env, .var = &axis->var, .range = {0, axis->extent - 1}};
  f->env = &f->ranges[at];
  if (of) bind(f, of, te_axis_expr(f->arena, axis));
  return true;
}

/* PLACE = stride * along + apart * which: the one whose factor is 1 is what the other leaves of it. */
static void bind_place(factoring *f, const tn_axis *place) {
  const window *w = f->w;
  bool is_along = w->stride == 1;
  const tn_axis *bound = is_along ? along_of(w) : f->which, *gone = is_along ? f->which : along_of(w);
  const tir_expr *part = te_axis_expr(f->arena, gone);
  int64_t factor = is_along ? places_apart(w) : w->stride;
  part = tir_binary(f->arena, TIR_MUL, part, tir_int(f->arena, TN_I32, factor));
  bind(f, bound, tir_binary(f->arena, TIR_SUB, te_axis_expr(f->arena, place), part));
  f->gone = &gone->var;
}

/* The window's axis = elements * which + ELEMENT. False: out of memory. */
static bool bind_elements(factoring *f, tn_context *ctx, const tn_axis *element) {
  tn_axis *which = te_axis_make(ctx, axis_of(f->w)->var.name, places_of(f->w), NULL, true);
  if (!which) return false;
  const tir_expr *at = te_axis_expr(f->arena, which);
  at = tir_binary(f->arena, TIR_MUL, at, tir_int(f->arena, TN_I32, f->w->elements));
  bind(f, axis_of(f->w), tir_binary(f->arena, TIR_ADD, at, te_axis_expr(f->arena, element)));
  f->which = which;
  return true;
}

static bool make_axes(factoring *f, tn_context *ctx) {
  const te_op *op = f->w->st->op;
  int n = op->n_axes + op->n_reduce;
  f->which = axis_of(f->w);
  f->reduce = RUNTIME_NEW_ARRAY(f->arena, tn_axis *, op->n_reduce);
  f->bindings = RUNTIME_NEW_ARRAY(f->arena, tir_binding, n);
  f->ranges = RUNTIME_NEW_ARRAY(f->arena, tir_env, n);
  if (!f->reduce || !f->bindings || !f->ranges) return false;
  for (int i = 0; i < op->n_axes; i++) {
    const tn_axis *axis = op->axes[i];
    bool is_place = i == f->w->along;
    f->data[i] = te_axis_make(ctx, axis->var.name, is_place ? f->w->places : axis->extent, axis->size, false);
    if (!add_axis(f, i, f->data[i], is_place ? NULL : axis)) return false;
  }
  for (int i = 0; i < op->n_reduce; i++) {
    const tn_axis *axis = op->reduce_axes[i];
    bool is_window = i == f->w->axis;
    if (is_window && f->w->elements == 1) continue;
    int64_t extent = is_window ? f->w->elements : axis->extent;
    tn_axis *made = f->reduce[f->n_reduce++] = te_axis_make(ctx, axis->var.name, extent, axis->size, true);
    if (!add_axis(f, op->n_axes + i, made, is_window ? NULL : axis)) return false;
    if (is_window && !bind_elements(f, ctx, made)) return false;
  }
  bind_place(f, f->data[f->w->along]);
  return true;
}

/* What is reduced, over the new axes. NULL: it depends on where in a window a place lies; or no memory. */
static const tir_expr *moved(const factoring *f, const tir_expr *e) {
  e = tir_substitute(f->arena, e, f->n_bindings, f->bindings);
  if (e) e = tir_simplify(f->arena, f->env, e);
  return e && !tir_uses_var(e, f->gone) ? e : NULL;
}

/* *FITS: what is reduced depends on places alone. NULL: it does not, or no memory. */
static const tir_expr *partial_body(const factoring *f, bool *fits) {
  const te_op *op = f->w->st->op;
  const tir_expr *source[TIR_MAX_VALUES + 1], *where = tir_reduce_where(op->body);
  int n_values = tir_n_values(op->body);
  bool has_where = where != NULL;
  *fits = false;
  if (has_where && !(where = moved(f, where))) return NULL;
  for (int v = 0; v < n_values; v++) {
    source[v] = moved(f, op->body->arg[v]);
    if (!source[v]) return NULL;
    if (has_where && f->n_reduce == 0)
      source[v] = tir_select(f->arena, where, source[v], tir_reduce_identity(f->arena, op->body, v));
  }
  *fits = true;
  if (f->n_reduce == 0) return tir_tuple(f->arena, n_values, source);
  tir_reduce *reduce = RUNTIME_NEW(f->arena, tir_reduce);
  if (!reduce) return NULL;
  source[n_values] = where;
  *reduce = (tir_reduce){.combiner = op->body->u.reduce->combiner,
                         .tuple = op->body->u.reduce->tuple,
                         .has_where = has_where,
                         .n_axes = f->n_reduce,
                         .axes = f->reduce};
  return tir_reduce_args(f->arena, reduce, source);
}

/* PARTIAL's places of a window, along an axis called "<axis>.v". */
static const te_op *final_op(tn_schedule *s, const window *w, const te_op *partial) {
  const te_op *op = w->st->op;
  runtime_arena *arena = &s->ctx->arena;
  const tir_expr *index[TN_MAX_RANK];
  const char *name = schedule_internf(s->program, "%s.v", axis_of(w)->var.name);
  tn_axis *axis = name ? te_axis_make(s->ctx, name, places_of(w), NULL, true) : NULL;
  if (!axis) return NULL;
  for (int i = 0; i < op->n_axes; i++) index[i] = te_axis_expr(arena, op->axes[i]);
  const tir_expr *begin = index[w->along], *place = te_axis_expr(arena, axis);
  if (w->stride > 1) begin = tir_binary(arena, TIR_MUL, begin, tir_int(arena, TN_I32, w->stride));
  if (places_apart(w) > 1) place = tir_binary(arena, TIR_MUL, place, tir_int(arena, TN_I32, places_apart(w)));
  index[w->along] = tir_binary(arena, TIR_ADD, begin, place);
  return schedule_combining_op(s->program, op, partial, axis, index);
}

/* Made once for all schedules of a program. */
static tn_status make_ops(schedule_call *c, const window *w, made_ops *out) {
  tn_schedule *s = c->s;
  const char *names[TIR_MAX_VALUES];
  bool fits = true, is_named = schedule_derived_names(s, w->st, "rf", names);
  if (!is_named) return schedule_no_memory(s);
  const char *key = schedule_internf(s->program, "%s %d %d %lld", names[0], w->along, w->axis, (long long)w->elements);
  if (!key) return schedule_no_memory(s);
  out->partial = schedule_find_op(s->program, "rfactor_window", w->st->op, key);
  out->final = schedule_find_op(s->program, "rfactor_window final", w->st->op, key);
  if (out->partial && out->final) return TN_OK;
  factoring f = {.arena = &s->ctx->arena, .w = w};
  const tir_expr *body = make_axes(&f, s->ctx) ? partial_body(&f, &fits) : NULL;
  if (!body && !fits && !s->ctx->arena.failed)
    return schedule_refuse(c,
                           "what %s reduces depends on %s itself, not only on the place that %s and %s reach together: "
                           "windows of neighbours share nothing; use rfactor",
                           schedule_stage_name(w->st), axis_of(w)->var.name, along_of(w)->var.name,
                           axis_of(w)->var.name);
  const te_op *partial = body ? te_op_new(s->ctx, names, w->st->op->n_axes, f.data, body) : NULL;
  const te_op *final = partial ? final_op(s, w, partial) : NULL;
  out->partial = final ? schedule_keep_op(s->program, "rfactor_window", w->st->op, key, partial) : NULL;
  out->final = out->partial ? schedule_keep_op(s->program, "rfactor_window final", w->st->op, key, final) : NULL;
  return out->final ? TN_OK : schedule_no_memory(s);
}

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* AXIS is one over which the stage reduces, ALONG one of its data axes, both as they came. */
static tn_status check_axes(const schedule_call *c, int stage, int iter, int along) {
  SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
  SCHEDULE_TRY(schedule_check_iter(c, stage, along));
  const schedule_stage *st = &c->s->stages[stage];
  const char *name = schedule_stage_name(st);
  char names[512];
  if (st->op->body->op != TIR_REDUCE)
    return schedule_refuse(
        c, "%s is no reduction: it has no windows that share partial results; name a stage that reduces", name);
  bool is_kept = st->n_prefetches == 0 && !st->predicate && !st->buffering && st->n_relations == 0;
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    is_kept = is_kept && st->leaves[i] == i && axis->annotation == SCHEDULE_NONE && !schedule_has_pragma(axis) &&
              !axis->in_intrin;
  }
  if (!is_kept)
    return schedule_refuse(c,
                           "%s already has a schedule (loops: %s), which would be lost: call rfactor_window before it",
                           name, schedule_loop_names(st, names, sizeof names));
  if (schedule_leaf(st, iter)->kind != SCHEDULE_REDUCE || schedule_leaf(st, along)->kind != SCHEDULE_SPATIAL)
    return schedule_refuse(
        c,
        "%s is a %s axis and %s a %s axis of %s: name the reduction axis of a window first, then the "
        "data axis that the window moves along",
        schedule_leaf(st, iter)->name, schedule_leaf(st, iter)->kind == SCHEDULE_REDUCE ? "reduction" : "data",
        schedule_leaf(st, along)->name, schedule_leaf(st, along)->kind == SCHEDULE_REDUCE ? "reduction" : "data", name);
  if (c->step.value < 0)
    return schedule_refuse(c, "%lld elements: give at least 2, or none to take all together", (long long)c->step.value);
  if (schedule_leaf(st, iter)->size || schedule_leaf(st, along)->size)
    return schedule_refuse(
        c, "a symbol decides how long %s is: how many places windows reach has to be known; use rfactor",
        schedule_leaf(st, schedule_leaf(st, iter)->size ? iter : along)->name);
  if (strlen(schedule_leaf(st, iter)->name) + strlen(".v") > SCHEDULE_MAX_NAME)
    return schedule_refuse(c, "the new axis %s.v would have a name of over %d characters",
                           schedule_leaf(st, iter)->name, SCHEDULE_MAX_NAME);
  return TN_OK;
}

/* The ops are made last: a body is rewritten for them. */
tn_status schedule_check_rfactor_window(schedule_call *c) {
  int stage = c->step.stage, iter = c->step.iter, along = c->step.target_iter;
  char part[SCHEDULE_MAX_NAME + 8];
  SCHEDULE_TRY(check_axes(c, stage, iter, along));
  SCHEDULE_TRY(schedule_check_no_scan(c, stage, "rfactor_window", "make loops over data axes of it parallel"));
  const schedule_stage *st = &c->s->stages[stage];
  window w = {.st = st, .along = along, .axis = iter - st->n_spatial_roots, .elements = RUNTIME_MAX(c->step.value, 1)};
  SCHEDULE_TRY(check_strides(c, &w));
  snprintf(part, sizeof part, "%s.rf", schedule_stage_name(st));
  SCHEDULE_TRY(schedule_check_no_guests(c, stage, "rfactor_window"));
  SCHEDULE_TRY(schedule_check_inputs_at_root(c, stage, part, "rfactor_window"));
  made_ops *ops = RUNTIME_NEW(&c->s->program->ctx->arena, made_ops);
  c->found = ops;
  return ops ? make_ops(c, &w, ops) : schedule_no_memory(c->s);
}

/* ---- the rewrite ------------------------------------------------------------------------------------------------- */

/* Invariant: a point combines the same elements as before, each once, in another order, which combiners allow (floats up to
 * rounding): those of a place are combined once, for all windows that it lies in. */
bool schedule_rewrite_rfactor_window(schedule_call *c) {
  tn_schedule *s = c->s;
  int stage = c->step.stage;
  const made_ops *ops = c->found;
  if (!schedule_insert_stage(s, stage, ops->partial, "global")) return false;
  s->stages[stage + 1].op = ops->final;
  return schedule_reset_loops(s, &s->stages[stage + 1]);
}

/* ALONG: a data axis; both are positions among the stage's loops. ELEMENTS: of a place; 0: 1. */
tn_status schedule_rfactor_window(tn_schedule *s, int stage, int iter, int along, int64_t elements) {
  schedule_step step = {.kind = SCHEDULE_STEP_RW,
                        .stage = (int16_t)stage,
                        .iter = (int16_t)iter,
                        .target_iter = (int16_t)along,
                        .value = elements};
  return schedule_apply_step(s, &step);
}
tn_status tn_rfactor_window(tn_schedule *s, const char *stage, const char *axis, const char *along, int64_t elements) {
  return SCHEDULE_CALL(s, rfactor_window, schedule_name(stage), schedule_name(axis), schedule_name(along),
                       schedule_number(elements));
}
