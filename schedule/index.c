/* index.c: the index arithmetic of a lowering, and the proof that none of it leaves the index dtype. Lowering is done
 * with i32; where something cannot be shown to fit it is done again with i64; where that cannot be shown either it is
 * refused. Nothing is assumed about how much a split rounds up or what a layout adds: what they made is looked at.
 *
 * Proved, by the interval of each part from those of its operands:
 *  - numbers, which are folded while expressions are made: extents, lengths of buffers;
 *  - the last iteration of every loop, each axis as an expression of loops, and the point of the tensor that it is;
 *  - the indices of every access, the bounds of every loop and the sides of every comparison in the finished body;
 *  - the last element of every buffer. An access that is made lies in its buffer (ir.h), so its flat offset, a sum of
 *    terms that are not negative, is at most that. Where symbols decide, i32 needs the most they can be; with i64 the
 *    size of an argument is what a call checks, and the pass flatten refuses other buffers.
 *
 * What a program computes from data, or itself in i64, wraps as te says: it is no index arithmetic. */
#include "schedule/index.h"

#include "tir/linear.h"

/* For i64 both ends are left out: they mean "more". */
static bool fits(tn_dtype dtype, tir_interval r) {
  tir_interval all = tir_dtype_range(dtype);
  return dtype == TN_I64 ? tir_interval_is_closed(r) : tir_interval_within(r, all);
}

/* The first one is told: others mostly follow from it. */
static void note(lowering *l, schedule_unfit unfit) {
  if (!l->unfit.what) l->unfit = unfit;
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

const tir_expr *schedule_index_int(lowering *l, int64_t value) {
  if (!fits(l->index_dtype, (tir_interval){value, value}))
    note(l, (schedule_unfit){.what = "a number", .most = (double)value});
  const tir_expr **known = &l->ints[(uint64_t)value % LOWER_INTS];
  if (!*known || (*known)->u.i != value || (*known)->dtype != l->index_dtype)
    *known = tir_int(l->arena, l->index_dtype, value);
  return *known;
}

const tir_expr *schedule_index_binary(lowering *l, tir_op op, const tir_expr *a, const tir_expr *b) {
  int64_t x, y;
  const tir_expr *made = tir_binary(l->arena, op, a, b);
  if (!made || made->op != TIR_INT || made->dtype != l->index_dtype || !tir_is_int(a, &x) || !tir_is_int(b, &y))
    return made;
  tir_interval r = tir_interval_apply(op, (tir_interval){x, x}, (tir_interval){y, y});
  if (fits(l->index_dtype, r)) return made;
  note(l, (schedule_unfit){.what = "a number", .most = op == TIR_MUL ? (double)x * (double)y : (double)x + (double)y});
  return made;
}

/* ---- intervals of expressions ------------------------------------------------------------------------------------ */

/* What an expression can be; UNFIT: the first part that can leave the index dtype, or NULL. */
typedef struct part {
  tir_interval range;
  bool is_data;
  const tir_expr *unfit;
} part;

static part look_at(lowering *l, const tir_expr *e);

/* Loops know their extents; symbols and strides are known everywhere. */
static tir_interval var_range(const lowering *l, const lower_var *v) {
  if (v->extent > 0) return (tir_interval){0, v->extent - 1};
  for (const tir_env *env = l->root_env; env; env = env->outer)
    if (env->var == &v->var) return env->range;
  return TIR_UNBOUNDED;
}

/* In the index dtype sums that are no data are made by lowering alone. */
static part look_at_operator(lowering *l, const tir_expr *e) {
  part a = look_at(l, e->arg[0]), b = e->n_args > 1 ? look_at(l, e->arg[1]) : a;
  part p = {tir_interval_apply((tir_op)e->op, a.range, b.range), a.is_data || b.is_data, a.unfit ? a.unfit : b.unfit};
  if (fits((tn_dtype)e->dtype, p.range)) return p;
  p.range = tir_dtype_range((tn_dtype)e->dtype);
  if (!p.unfit && !p.is_data && e->dtype == l->index_dtype && tir_class_of(e) == TIR_CLASS_SUM) p.unfit = e;
  return p;
}

/* A conversion keeps what fits. A load, a truth value or a side of a select can be anything. */
static part look_at_other(lowering *l, const tir_expr *e) {
  part p = {tir_dtype_range((tn_dtype)e->dtype), e->op == TIR_LOAD, NULL};
  for (int i = 0; i < e->n_args && e->op != TIR_LOAD; i++) {
    part arg = look_at(l, e->arg[i]);
    bool keeps = e->op == TIR_CAST && !runtime_is_float((tn_dtype)e->arg[i]->dtype);
    if (keeps && tir_interval_within(arg.range, p.range)) p.range = arg.range;
    p.is_data = p.is_data || arg.is_data;
    if (!p.unfit) p.unfit = arg.unfit;
  }
  return p;
}

/* Only operators of integers can leave int64; a comparison or a float below an index starts anew. */
static part look_into(lowering *l, const tir_expr *e) {
  bool is_integer = !runtime_is_float((tn_dtype)e->dtype) && e->dtype != TN_BOOL;
  return is_integer && tir_is_index_op((tir_op)e->op) ? look_at_operator(l, e) : look_at_other(l, e);
}

/* Quicker to look at again than to look up. */
static bool is_small(const tir_expr *e) {
  for (int i = 0; i < e->n_args; i++)
    if (e->arg[i]->n_args > 0) return false;
  return true;
}

/* Each shared part once, as far as there is memory. */
static part look_at(lowering *l, const tir_expr *e) {
  if (e->op == TIR_INT) return (part){{e->u.i, e->u.i}, false, NULL};
  if (e->op == TIR_VAR) {
    const lower_var *v = (const lower_var *)e->u.var;
    return (part){tir_interval_meet(var_range(l, v), tir_dtype_range((tn_dtype)e->dtype)), v->is_data, NULL};
  }
  if (is_small(e)) return look_into(l, e);
  const part *known = runtime_map_get(&l->parts, e);
  if (known) return *known;
  part p = look_into(l, e), *kept = runtime_copy(l->arena, &p, sizeof p);
  runtime_map_put(&l->parts, e, kept);
  return p;
}

bool schedule_index_fits(lowering *l, const tir_expr *e) { return !look_at(l, e).unfit; }

/* ---- the proof --------------------------------------------------------------------------------------------------- */

/* Of + - *: the greatest distance from 0, for the message. */
static double magnitude(lowering *l, const tir_expr *e) {
  double far[2];
  for (int i = 0; i < 2; i++) {
    tir_interval r = look_at(l, e->arg[i]).range;
    far[i] = RUNTIME_MAX(-(double)r.lo, (double)r.hi);
  }
  return e->op == TIR_MUL ? far[0] * far[1] : far[0] + far[1];
}

/* NAME may be NULL; LS too, where the loop nest is no single stage's. Constants and variables alone always fit. */
static void prove(lowering *l, const lower_stage *ls, const char *what, const char *name, const tir_expr *e) {
  if (e->n_args == 0) return;
  const tir_expr *unfit = look_at(l, e).unfit;
  if (unfit) note(l, (schedule_unfit){ls, what, name, unfit, magnitude(l, unfit)});
}

/* The point is the axis counted from the region's first. */
static void prove_point(lowering *l, const lower_stage *ls, int dim) {
  prove(l, ls, "axis", ls->st->axes[dim].name, ls->min[dim]);
  tir_interval from = look_at(l, ls->min[dim]).range, by = look_at(l, ls->axis_value[dim]).range;
  if (!fits(l->index_dtype, tir_interval_add(from, by)))
    note(l, (schedule_unfit){ls, "axis", ls->st->axes[dim].name, NULL, (double)from.hi + (double)by.hi});
}

void schedule_prove_loops(lowering *l, const lower_stage *ls) {
  const schedule_stage *st = ls->st;
  for (int i = 0; i < st->n_axes; i++) {
    double extent = (double)ls->axis_extent[i];
    if (!fits(l->index_dtype, (tir_interval){0, ls->axis_extent[i]}))
      note(l, (schedule_unfit){ls, "axis", st->axes[i].name, NULL, extent});
    if (ls->axis_size[i]) prove(l, ls, "axis", st->axes[i].name, ls->axis_size[i]);
    prove(l, ls, "axis", st->axes[i].name, ls->axis_value[i]);
  }
  for (int i = 0; i < st->n_spatial_roots; i++) prove_point(l, ls, i);
}

/* The offset of the last element; a doubled buffer has two halves. */
static void prove_buffer(lowering *l, const lower_stage *ls, const tir_buffer *buffer) {
  tir_interval elements = {1, ls->is_doubled ? 2 : 1};
  double most = (double)elements.hi;
  bool is_symbolic = tir_is_strided(buffer);
  for (int i = 0; i < buffer->ndim; i++) {
    tir_interval extent = {buffer->shape[i], buffer->shape[i]};
    if (buffer->size[i]) {
      prove(l, ls, "buffer", buffer->name, buffer->size[i]);
      extent = look_at(l, buffer->size[i]).range;
      is_symbolic = true;
    }
    elements = tir_interval_apply(TIR_MUL, elements, extent);
    most *= (double)extent.hi;
  }
  if (is_symbolic && l->index_dtype == TN_I64) return;
  elements.hi = tir_interval_is_closed(elements) ? elements.hi - 1 : INT64_MAX;
  if (l->is_narrow) elements = tir_interval_scale(elements, (int64_t)tn_dtype_bytes(buffer->dtype));
  if (!fits(l->index_dtype, elements)) note(l, (schedule_unfit){ls, "buffer", buffer->name, NULL, most});
}

void schedule_prove_buffers(lowering *l, const lower_stage *ls) {
  for (int v = 0; v < ls->st->n_tensors && !ls->scalar; v++) prove_buffer(l, ls, ls->buffers[v]);
}

/* What is no data has no loads to look for inside. */
static tir_walk prove_expr(void *user, const tir_expr *e) {
  lowering *l = user;
  bool is_place = e->op == TIR_LOAD || tir_class_of(e) == TIR_CLASS_COMPARISON, has_data = false;
  if (e->n_args == 0) return TIR_WALK_PRUNE;
  bool is_index = e->dtype == l->index_dtype && tir_is_index_op((tir_op)e->op);
  if (!is_place) return is_index && !look_at(l, e).is_data ? TIR_WALK_PRUNE : TIR_WALK_ON;
  for (int i = 0; i < e->n_args; i++) {
    prove(l, NULL, "an index", e->op == TIR_LOAD ? e->u.buffer->name : NULL, e->arg[i]);
    has_data = has_data || look_at(l, e->arg[i]).is_data;
  }
  return has_data ? TIR_WALK_ON : TIR_WALK_PRUNE;
}

/* One index for each dimension. */
static void prove_indices(lowering *l, const tir_buffer *buffer, int n, const tir_expr *const *index) {
  for (int i = 0; i < n; i++) prove(l, NULL, "an index", buffer->name, index[i]);
}

/* Proves of every index, loop bound and operand of S that no part of it leaves the index dtype; what cannot be
 * proved is noted in the lowering, which widens or refuses. */
static tir_walk prove_stmt(void *user, const tir_stmt *s) {
  lowering *l = user;
  if (s->kind == TIR_STORE) prove_indices(l, s->u.store.buffer, s->u.store.n_index, s->u.store.index);
  if (s->kind == TIR_PREFETCH) prove_indices(l, s->u.prefetch.buffer, s->u.prefetch.n_index, s->u.prefetch.index);
  if (s->kind == TIR_FOR) {
    prove(l, NULL, "loop", s->u.loop.var->name, s->u.loop.min);
    prove(l, NULL, "loop", s->u.loop.var->name, s->u.loop.extent);
  }
  for (int i = 0; s->kind == TIR_CALL && i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (o->buffer) prove_indices(l, o->buffer, o->n_index, o->index);
  }
  return TIR_WALK_ON;
}

/* With i64, sums of i64 that a program makes itself cannot be told from lowering's, and may wrap. */
static tir_walk stop_at_wide_sum(void *user, const tir_expr *e) {
  (void)user;
  return e->dtype == TN_I64 && tir_class_of(e) == TIR_CLASS_SUM ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Such a program's own sums may need more than int64, which is then no fault of the schedule. */
static bool computes_in_i64(const lowering *l) {
  for (int i = 0; i < l->s->n_stages; i++)
    if (l->s->stages[i].op->body && !tir_walk_expr(l->s->stages[i].op->body, stop_at_wide_sum, NULL)) return true;
  return false;
}

void schedule_prove_body(lowering *l, const tir_stmt *body) {
  tir_visitor visitor = {prove_stmt, prove_expr, l};
  if (l->index_dtype == TN_I32 || !computes_in_i64(l)) tir_walk_stmt(body, &visitor);
}

/* ---- what follows ------------------------------------------------------------------------------------------------ */

/* How far the value can reach is told, and what makes it smaller. */
static void refuse(const lowering *l) {
  const schedule_unfit *u = &l->unfit;
  runtime_str text = runtime_str_limited(l->ctx);
  if (u->expr) tir_print_expr(&text, u->expr);
  runtime_fail(l->ctx, TN_ERROR_LOWER,
               "%s%s%s%s%s can reach %.4g%s%s, and an index of %s at most %lld: fuse fewer loops, split by smaller "
               "lengths, or take smaller extents%s",
               u->ls ? schedule_stage_name(u->ls->st) : "", u->ls ? ": " : "", u->what, u->name ? " " : "",
               u->name ? u->name : "", u->most, u->expr ? " in " : "", u->expr && !text.failed ? text.data : "",
               l->is_narrow ? "int32, which the target's addresses are," : "int64",
               l->is_narrow ? INT32_MAX : (long long)INT64_MAX - 1, l->is_narrow ? "; or a target of 64 bits" : "");
  runtime_str_free(&text);
}

bool schedule_widen(lowering *l) {
  if (l->index_dtype == TN_I64 || l->is_narrow) {
    refuse(l);
    return false;
  }
  l->index_dtype = TN_I64;
  l->warnings = NULL;
  l->unfit = (schedule_unfit){0};
  l->root_env = NULL;
  l->n_scalars = 0;
  return true;
}
