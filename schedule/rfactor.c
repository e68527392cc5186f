/* rfactor.c: the primitive that parts a reduction in two: a new stage computes partial results, one for each iteration
 * of one of the reduction's loops, and the stage reduces those. What was a reduction loop is a data axis of the new
 * stage, so it may run in parallel or in lockstep (TVM: Schedule::rfactor). */
#include <stdio.h>

#include "schedule/edit.h"
#include "schedule/lowering.h"

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* "k.outer, k.inner", in a buffer of the caller. */
static const char *reduction_loops(const schedule_stage *st, char *buffer, size_t n) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int i = 0; i < st->n_leaves && used < n; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL)
      used += (size_t)snprintf(buffer + used, n - used, "%s%s", used ? ", " : "", schedule_leaf(st, i)->name);
  return buffer;
}

/* A loop over reduction axes only, which can become a data axis. */
static tn_status check_reduction_loop(const schedule_call *c, int stage, int iter) {
  SCHEDULE_TRY(schedule_check_iter(c, stage, iter));
  const schedule_stage *st = &c->s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  const char *name = schedule_stage_name(st);
  char names[256];
  if (st->op->body->op != TIR_REDUCE)
    return schedule_refuse(c, "%s is no reduction: it has no partial results; use parallel on its loops as they are",
                           name);
  if (axis->kind == SCHEDULE_SPATIAL)
    return schedule_refuse(c, "loop %s of %s runs over a data axis: name a loop over a reduction axis (%s)", axis->name,
                           name, reduction_loops(st, names, sizeof names));
  if (axis->kind == SCHEDULE_MIXED)
    return schedule_refuse(c, "loop %s of %s runs over data and reduction axes: call rfactor before fuse", axis->name,
                           name);
  if (strlen(axis->name) + strlen(".v") > SCHEDULE_MAX_NAME)
    return schedule_refuse(c, "the new axis %s.v would have a name of over %d characters: split into all parts at once",
                           axis->name, SCHEDULE_MAX_NAME);
  if (axis->extent <= INT32_MAX) return TN_OK;
  return schedule_refuse(c, "loop %s has extent %lld: a data axis has at most %d; split it first", axis->name,
                         (long long)axis->extent, INT32_MAX);
}

/* The stage's loops are made anew: loops over data axes must be as they came, and nothing may be annotated. */
static tn_status check_loops_untouched(const schedule_call *c, int stage) {
  const schedule_stage *st = &c->s->stages[stage];
  char names[512];
  bool kept = st->n_prefetches == 0 && !st->predicate && !st->buffering;
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    kept = kept && axis->annotation == SCHEDULE_NONE && !schedule_has_pragma(axis) && !axis->in_intrin;
    kept = kept && (axis->kind == SCHEDULE_REDUCE) == (i >= st->n_spatial_roots);
    kept = kept && (i >= st->n_spatial_roots || st->leaves[i] == i);
  }
  if (kept) return TN_OK;
  return schedule_refuse(c,
                         "%s already has a schedule besides that of its reduction axes (loops: %s), which would be "
                         "lost: call rfactor before it, and after split and fuse of reduction axes only",
                         schedule_stage_name(st), schedule_loop_names(st, names, sizeof names));
}

/* The new stage's tensor has one more dimension. */
static tn_status check_new_tensor(const schedule_call *c, int stage, int iter, int64_t factor_axis) {
  const schedule_stage *st = &c->s->stages[stage];
  double elements = (double)schedule_leaf(st, iter)->extent;
  for (int i = 0; i < st->tensors[0].ndim; i++)
    if (!st->tensors[0].size[i]) elements *= (double)st->tensors[0].shape[i];
  if (factor_axis < 0 || factor_axis > st->op->n_axes)
    return schedule_refuse(c, "factor axis %lld: give a place from 0 to %d among the data axes of %s",
                           (long long)factor_axis, st->op->n_axes, schedule_stage_name(st));
  if (st->op->n_axes == TN_MAX_RANK)
    return schedule_refuse(
        c,
        "%s has rank %d, and the partial results would have one more than there can be: fuse dimensions in the program",
        schedule_stage_name(st), TN_MAX_RANK);
  if (elements <= 0x1p40) return TN_OK;
  return schedule_refuse(
      c, "the partial results would have %.0f elements, more than 2^40: split the loop, and factor the shorter part",
      elements);
}

/* Values of the reduction axes are computed with 32 bits. */
static tn_status check_index_range(const schedule_call *c, int stage) {
  const schedule_stage *st = &c->s->stages[stage];
  for (int i = 0; i < st->n_relations; i++) {
    const schedule_relation *r = &st->relations[i];
    double product = 1;
    for (int k = 0; k < r->n; k++) product *= (double)st->axes[r->many[k]].extent;
    if (product <= INT32_MAX) continue;
    return schedule_refuse(
        c, "the loops made from %s run over %.0f values, more than an index holds (%d): factor one of the axes alone",
        st->axes[r->is_fuse ? r->many[0] : r->one].name, product, INT32_MAX);
  }
  return TN_OK;
}

/* The schedule is asked last whether the new stage could read all its inputs: that walks all stages. */
tn_status schedule_check_rfactor(schedule_call *c) {
  int stage = c->step.stage, iter = c->step.iter;
  SCHEDULE_TRY(check_reduction_loop(c, stage, iter));
  SCHEDULE_TRY(schedule_check_no_scan(c, stage, "rfactor", "make loops over data axes of it parallel"));
  SCHEDULE_TRY(check_loops_untouched(c, stage));
  SCHEDULE_TRY(check_new_tensor(c, stage, iter, c->step.value));
  SCHEDULE_TRY(check_index_range(c, stage));
  char part[SCHEDULE_MAX_NAME + 8];
  snprintf(part, sizeof part, "%s.rf", schedule_stage_name(&c->s->stages[stage]));
  SCHEDULE_TRY(schedule_check_no_guests(c, stage, "rfactor"));
  return schedule_check_inputs_at_root(c, stage, part, "rfactor");
}

/* ---- the two ops ------------------------------------------------------------------------------------------------- */

/* The partial results' op under construction. */
typedef struct factoring {
  tn_context *ctx;
  runtime_arena *arena;
  const schedule_stage *st;
  int iter, factor_axis;
  tn_axis *data[TN_MAX_RANK]; /* the new op's axes */
  int n_reduce;
  tn_axis **reduce;
  const tir_expr **values; /* by axis index of the stage: over the new op's axes */
} factoring;

/* The new op's axes: one for each loop over data and for the factored one, and its reduce axes. False: out of
 * memory. */
static bool make_axes(factoring *f) {
  const schedule_stage *st = f->st;
  f->reduce = RUNTIME_NEW_ARRAY(f->arena, tn_axis *, st->n_leaves);
  f->values = RUNTIME_NEW_ARRAY(f->arena, const tir_expr *, st->n_axes);
  if (!f->reduce || !f->values) return false;
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *leaf = schedule_leaf(st, i);
    bool is_data = i == f->iter || leaf->kind == SCHEDULE_SPATIAL;
    tn_axis *axis = te_axis_make(f->ctx, leaf->name, leaf->extent, leaf->size, !is_data);
    if (!axis) return false;
    f->values[st->leaves[i]] = te_axis_expr(f->arena, axis);
    if (i == f->iter)
      f->data[f->factor_axis] = axis;
    else if (is_data)
      f->data[i + (i >= f->factor_axis)] = axis;
    else
      f->reduce[f->n_reduce++] = axis;
  }
  return true;
}

/* The op's axes as expressions of the new axes, and the condition that no split went beyond its axis (NULL: none). */
static const tir_expr *find_values(factoring *f) {
  const schedule_stage *st = f->st;
  lowering l = {.arena = f->arena, .index_dtype = TN_I32};
  lower_stage ls = {.st = st, .axis_extent = RUNTIME_NEW_ARRAY(f->arena, int64_t, st->n_axes)};
  ls.axis_size = RUNTIME_NEW_ARRAY(f->arena, const tir_expr *, st->n_axes);
  if (!ls.axis_extent || !ls.axis_size) return NULL;
  for (int i = 0; i < st->n_axes; i++) ls.axis_extent[i] = st->axes[i].extent, ls.axis_size[i] = st->axes[i].size;
  schedule_axis_values(&l, &ls, f->values);
  const tir_expr *cond = tir_int(f->arena, TN_BOOL, 1);
  for (int i = 0; i < st->n_relations; i++) {
    const schedule_relation *r = &st->relations[i];
    if (r->is_fuse || schedule_is_exact(&ls, r)) continue;
    const tir_expr *limit = schedule_axis_extent(&l, &ls, r->one);
    cond = tir_binary(f->arena, TIR_AND, cond, tir_binary(f->arena, TIR_LT, f->values[r->one], limit));
  }
  return cond;
}

/* Whether the factored loop is outside of the other reduction loops: points that an inexact split adds are then the last steps of
 * these, which a shorter loop leaves out. Inside they are single lanes of a step. */
static bool leaves_last_steps_out(const factoring *f) { return f->n_reduce > 0 && f->iter == f->st->n_spatial_roots; }

/* Outside of the axes the partial results get the identity: an inexact split adds points. */
static const tir_expr *partial_body(factoring *f) {
  const te_op *op = f->st->op;
  const tir_expr *cond = find_values(f);
  tir_binding *bindings = RUNTIME_NEW_ARRAY(f->arena, tir_binding, op->n_axes + op->n_reduce);
  if (!cond || !bindings) return NULL;
  for (int i = 0; i < op->n_axes + op->n_reduce; i++) {
    const tn_axis *axis = i < op->n_axes ? op->axes[i] : op->reduce_axes[i - op->n_axes];
    bindings[i] = (tir_binding){&axis->var, f->values[i]};
  }
  int n_values = tir_n_values(op->body);
  const tir_expr *source[TIR_MAX_VALUES + 1];
  const tir_expr *where = tir_reduce_where(op->body);
  int64_t holds;
  if (where) where = tir_substitute(f->arena, where, op->n_axes + op->n_reduce, bindings);
  if (where) cond = tir_binary(f->arena, TIR_AND, cond, where);
  if (tir_reduce_where(op->body) && !where) return NULL;
  bool has_where = leaves_last_steps_out(f) && cond && !tir_is_int(cond, &holds);
  for (int v = 0; v < n_values; v++) {
    source[v] = tir_substitute(f->arena, op->body->arg[v], op->n_axes + op->n_reduce, bindings);
    if (!has_where) source[v] = tir_select(f->arena, cond, source[v], tir_reduce_identity(f->arena, op->body, v));
  }
  if (f->n_reduce == 0) return tir_tuple(f->arena, n_values, source);
  tir_reduce *reduce = RUNTIME_NEW(f->arena, tir_reduce);
  if (!reduce) return NULL;
  source[n_values] = cond;
  *reduce = (tir_reduce){.combiner = op->body->u.reduce->combiner,
                         .tuple = op->body->u.reduce->tuple,
                         .has_where = has_where,
                         .n_axes = f->n_reduce,
                         .axes = f->reduce};
  return tir_reduce_args(f->arena, reduce, source);
}

/* A number in 64 digits, the least first: keys are made for each candidate of a search, and nobody reads them. */
static void add_number(runtime_str *key, uint64_t number) {
  char digits[16];
  int n = 0;
  for (; number > 0; number /= 64) digits[n++] = (char)('0' + number % 64);
  digits[n++] = ' ';
  digits[n] = '\0';
  runtime_str_add(key, digits);
}

/* What decides a split: its loop, and its parts with their lengths. */
static void add_relation(runtime_str *key, const schedule_stage *st, const schedule_relation *r) {
  add_number(key, (uint64_t)r->one);
  add_number(key, (uint64_t)r->n);
  for (int k = 0; k < r->n; k++) {
    const schedule_axis *part = &st->axes[r->many[k]];
    add_number(key, (uint64_t)r->many[k]);
    add_number(key, 2 * (uint64_t)part->extent + (part->size != NULL));
  }
}

/* Everything that decides the new op, as text. */
static const char *factoring_key(tn_program *program, const factoring *f, const char *const *names) {
  const schedule_stage *st = f->st;
  runtime_str text = {0};
  for (int v = 0; v < st->n_tensors; v++) runtime_str_add(&text, names[v]), runtime_str_add(&text, " ");
  add_number(&text, (uint64_t)f->iter);
  add_number(&text, (uint64_t)f->factor_axis);
  add_number(&text, (uint64_t)st->n_leaves);
  for (int i = 0; i < st->n_leaves; i++) add_number(&text, (uint64_t)st->leaves[i]);
  for (int i = 0; i < st->n_relations; i++) add_relation(&text, st, &st->relations[i]);
  const char *key = text.failed ? NULL : schedule_intern(program, text.data);
  runtime_str_free(&text);
  return key;
}

/* NAMES[.., factor, ..] = the reduction over the loops but ITER. NULL: out of memory. */
static const te_op *partial_op(tn_program *program, factoring *f, const char *const *names) {
  const char *key = factoring_key(program, f, names);
  const te_op *known = key ? schedule_find_op(program, "rfactor", f->st->op, key) : NULL;
  if (known || !key) return known;
  const tir_expr *body = make_axes(f) ? partial_body(f) : NULL;
  if (!body) return NULL;
  return schedule_keep_op(program, "rfactor", f->st->op, key,
                          te_op_new(f->ctx, names, f->st->op->n_axes + 1, f->data, body));
}

const te_op *schedule_combining_op(tn_program *program, const te_op *op, const te_op *partial, tn_axis *axis,
                                   const tir_expr *const *index) {
  runtime_arena *arena = &program->ctx->arena;
  tir_reduce *reduce = RUNTIME_NEW(arena, tir_reduce);
  tn_axis **axes = RUNTIME_NEW_ARRAY(arena, tn_axis *, 1);
  const tir_expr *parts[2 * TIR_MAX_VALUES];
  if (!reduce || !axes) return NULL;
  axes[0] = axis;
  *reduce = (tir_reduce){.combiner = op->body->u.reduce->combiner,
                         .tuple = op->body->u.reduce->tuple,
                         .n_axes = 1,
                         .axes = axes,
                         .has_init = op->body->u.reduce->has_init};
  for (int v = 0; v < partial->n_outputs; v++) {
    tn_tensor *tensor = &partial->outputs[v];
    parts[v] = tir_read(arena, tensor, tensor->dtype, partial->n_axes, index);
    parts[partial->n_outputs + v] = tir_reduce_init(op->body, v);
  }
  return schedule_op_like(program, op, op->n_axes, op->axes, tir_reduce_args(arena, reduce, parts));
}

/* The partial results over the factor axis, called "<axis>.v"; the condition went into PARTIAL. */
static const te_op *final_op(tn_program *program, const factoring *f, const te_op *partial) {
  const te_op *op = f->st->op;
  const te_op *known = schedule_find_op(program, "rfactor final", op, partial);
  if (known) return known;
  const tir_expr *index[TN_MAX_RANK];
  const tn_axis *factor = partial->axes[f->factor_axis];
  const char *name = schedule_internf(program, "%s.v", factor->var.name);
  tn_axis *axis = name ? te_axis_make(f->ctx, name, factor->extent, factor->size, true) : NULL;
  if (!axis) return NULL;
  for (int i = 0; i < partial->n_axes; i++)
    index[i] = te_axis_expr(f->arena, i == f->factor_axis ? axis : op->axes[i - (i > f->factor_axis)]);
  return schedule_keep_op(program, "rfactor final", op, partial,
                          schedule_combining_op(program, op, partial, axis, index));
}

/* ---- the rewrite ------------------------------------------------------------------------------------------------- */

/* Invariant: combining the partial results combines every element once, in another order, which combiners allow (floats
 * up to rounding); what an inexact split adds is the identity. */
bool schedule_rewrite_rfactor(schedule_call *c) {
  tn_schedule *s = c->s;
  int stage = c->step.stage;
  const schedule_stage *st = &s->stages[stage];
  factoring f = {
      .ctx = s->ctx, .arena = &s->ctx->arena, .st = st, .iter = c->step.iter, .factor_axis = (int)c->step.value};
  const char *names[TIR_MAX_VALUES];
  bool named = schedule_derived_names(s, st, "rf", names);
  const te_op *partial = named ? partial_op(s->program, &f, names) : NULL;
  const te_op *final = partial ? final_op(s->program, &f, partial) : NULL;
  if (!final || !schedule_insert_stage(s, stage, partial, "global")) return false;
  s->stages[stage + 1].op = final;
  return schedule_reset_loops(s, &s->stages[stage + 1]);
}

/* FACTOR_AXIS is 0 .. the number of data axes. */
tn_status schedule_rfactor(tn_schedule *s, int stage, int iter, int factor_axis) {
  schedule_step step = {.kind = SCHEDULE_STEP_RF, .stage = (int16_t)stage, .iter = (int16_t)iter, .value = factor_axis};
  return schedule_apply_step(s, &step);
}
tn_status tn_rfactor(tn_schedule *s, const char *stage, const char *axis, int factor_axis) {
  return SCHEDULE_CALL(s, rfactor, schedule_name(stage), schedule_name(axis), schedule_number(factor_axis));
}

/* ---- parallel_reduce --------------------------------------------------------------------------------------------- */

/* The outer loop of a split by its number of parts becomes the first axis of the partial results. */
tn_status schedule_compose_parallel_reduce(tn_schedule *s, const schedule_call *c) {
  int64_t parts = c->step.value;
  if (parts < 0)
    return schedule_refuse(c, "%lld parts: give at least 1, or 0 for one for each thread (%d)", (long long)parts,
                           tn_thread_count());
  if (parts == 0) parts = tn_thread_count();
  SCHEDULE_TRY(schedule_split(s, c->step.stage, c->step.iter, 1, &parts, false, TN_TAIL_GUARD));
  SCHEDULE_TRY(schedule_rfactor(s, c->step.stage, c->step.iter, 0));
  return schedule_annotate(s, c->step.stage, 0, SCHEDULE_PARALLEL);
}
tn_status tn_parallel_reduce(tn_schedule *s, const char *stage, const char *axis, int64_t parts) {
  return SCHEDULE_CALL(s, parallel_reduce, schedule_name(stage), schedule_name(axis),
                       {.key = "parts", .number = parts});
}
