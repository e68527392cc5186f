/* variants.c: a kernel of several: for ranges of the program's symbol schedules of their own, made for programs whose extents are
 * known there, wholly or within limits. One function has them all, side by side, and chooses by the symbol's value. */
#include "schedule/edit.h"
#include "schedule/lowering.h"

/* ---- saying so --------------------------------------------------------------------------------------------------- */

static tn_status refuse(const tn_schedule *s, int64_t least, int64_t most, const char *why) {
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "add_variant(%lld .. %lld): %s", (long long)least, (long long)most,
                      why);
}

/* The extent of a dimension when the only symbol has this value. */
static int64_t extent_at(const tn_program *p, const tn_tensor *tensor, int d, int64_t value) {
  return tensor->size[d] && p->n_symbols > 0 ? te_size_value(p, tensor->size[d], &value) : tensor->shape[d];
}

static bool is_same_argument(const tn_program *a, const tn_program *b, int i, int64_t value) {
  const tn_tensor *x = a->args[i], *y = b->args[i];
  bool same =
      x->dtype == y->dtype && x->ndim == y->ndim && x->by_value == y->by_value && !x->is_strided && !y->is_strided;
  for (int d = 0; same && d < x->ndim; d++) same = extent_at(a, x, d, value) == extent_at(b, y, d, value);
  return same;
}

/* The same arguments for both ends of the range. */
static bool has_same_arguments(const tn_program *a, const tn_program *b, int64_t least, int64_t most) {
  bool same = a->n_args == b->n_args && a->n_inputs == b->n_inputs;
  for (int i = 0; same && i < a->n_args; i++)
    same = is_same_argument(a, b, i, least) && is_same_argument(a, b, i, most);
  return same;
}

static tn_status check_range(const tn_schedule *s, int64_t least, int64_t most) {
  if (s->program->n_symbols != 1)
    return refuse(s, least, most,
                  s->program->n_symbols == 0 ? "the program has no symbol: it is one kernel as it is"
                                             : "the program has several symbols: give all but one a number");
  const tn_axis *symbol = s->program->symbols[0];
  if (least > most || least < symbol->least || most > symbol->extent)
    return refuse(s, least, most, "these are not values of the program's symbol: keep to its limits");
  if (s->n_variants > 0 && s->variants[s->n_variants - 1].most >= least)
    return refuse(s, least, most, "a variant before has these values, too: add them in ascending order, apart");
  return TN_OK;
}

static tn_status check_program(const tn_schedule *s, int64_t least, int64_t most, const tn_program *p) {
  bool is_number = p->n_symbols == 0 && least == most;
  bool within = p->n_symbols == 1 && p->symbols[0]->least <= least && p->symbols[0]->extent >= most;
  if (!is_number && !within)
    return refuse(s, least, most,
                  "the variant's program is not for all of these values: parse it with those limits, or with a number");
  if (!has_same_arguments(s->program, p, least, most))
    return refuse(s, least, most, "the variant's program has other arguments, or some are strided");
  return TN_OK;
}

tn_status tn_schedule_add_variant(tn_schedule *s, int64_t least, int64_t most, const tn_schedule *variant) {
  if (!s) return TN_ERROR_ARGUMENT;
  if (!variant || variant->ctx != s->ctx)
    return runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "add_variant: the variant is NULL, or of another context");
  SCHEDULE_TRY(check_range(s, least, most));
  SCHEDULE_TRY(check_program(s, least, most, variant->program));
  schedule_variant *all = RUNTIME_NEW_ARRAY(&s->ctx->arena, schedule_variant, s->n_variants + 1);
  if (!all) return schedule_no_memory(s);
  if (s->n_variants > 0) memcpy(all, s->variants, sizeof *all * (size_t)s->n_variants);
  all[s->n_variants++] = (schedule_variant){least, most, variant};
  s->variants = all;
  return TN_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* A step that was whole, or moved its last block, where the extent was a number. */
static schedule_step symbolic_step(const tn_schedule *s, const schedule_step *step) {
  schedule_step out = *step;
  const schedule_stage *st = step->stage >= 0 && step->stage < s->n_stages ? &s->stages[step->stage] : NULL;
  bool is_split = step->kind == SCHEDULE_STEP_SP && st && step->iter >= 0 && step->iter < st->n_leaves;
  if (!is_split || !schedule_leaf(st, step->iter)->size) return out;
  if (out.tail == TN_TAIL_GUARD || out.tail == TN_TAIL_OVERLAP) out.tail = TN_TAIL_PEEL;
  return out;
}

tn_status schedule_replay_symbolic(tn_schedule *s, const tn_schedule *steps) {
  tn_schedule *copy = tn_schedule_copy(s);
  tn_status status = copy ? TN_OK : TN_ERROR_MEMORY;
  for (int i = 0; i < steps->n_steps && status == TN_OK; i++) {
    schedule_step step = symbolic_step(copy, &steps->steps[i]);
    status = schedule_apply_step(copy, &step);
  }
  if (status == TN_OK) copy->is_replayed = true;
  if (status == TN_OK) schedule_swap_contents(s, copy);
  tn_schedule_free(copy);
  return status;
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* A variant's body, with the parameters and the symbol of the function that it becomes a part of. */
typedef struct adoption {
  runtime_arena *arena;
  const tir_func *from, *to;
} adoption;

static const tir_buffer *adopted(const adoption *a, const tir_buffer *buffer) {
  for (int i = 0; i < a->from->n_params; i++)
    if (a->from->params[i] == buffer) return a->to->params[i];
  return buffer;
}

static const tir_expr *adopt_load(void *user, const tir_expr *e) {
  const adoption *a = user;
  if (e->op != TIR_LOAD || adopted(a, e->u.buffer) == e->u.buffer) return e;
  tir_expr *copy = runtime_copy(a->arena, e, sizeof *e + sizeof e->arg[0] * e->n_args);
  if (copy) copy->u.buffer = adopted(a, e->u.buffer);
  return copy;
}

static const tir_stmt *adopt_operands(const adoption *a, const tir_stmt *s) {
  tir_operand *operands = runtime_copy(a->arena, s->u.call.operands, sizeof *operands * (size_t)s->u.call.n);
  if (!operands) return NULL;
  for (int i = 0; i < s->u.call.n; i++)
    if (operands[i].buffer) operands[i].buffer = adopted(a, operands[i].buffer);
  return tir_call(a->arena, s->u.call.callee, s->u.call.n, operands);
}

static const tir_stmt *adopt_stmt(void *user, const tir_stmt *s) {
  const adoption *a = user;
  bool stores = s->kind == TIR_STORE, asks = s->kind == TIR_PREFETCH;
  if (s->kind == TIR_CALL) return adopt_operands(a, s);
  if (!stores && !asks) return s;
  tir_stmt *copy = runtime_copy(a->arena, s, sizeof *s);
  if (copy && stores) copy->u.store.buffer = adopted(a, s->u.store.buffer);
  if (copy && asks) copy->u.prefetch.buffer = adopted(a, s->u.prefetch.buffer);
  return copy;
}

/* Scalars by their names; the variant may lack the symbol. */
static const tir_stmt *adopt_scalars(const adoption *a, const tir_stmt *body) {
  tir_binding *bindings = RUNTIME_NEW_ARRAY(a->arena, tir_binding, a->from->n_scalars + 1);
  int n = 0;
  for (int i = 0; bindings && i < a->from->n_scalars; i++)
    for (int k = 0; k < a->to->n_scalars; k++) {
      const tir_var *own = a->from->scalars[i].var, *other = a->to->scalars[k].var;
      if (strcmp(own->name, other->name) != 0) continue;
      const tir_expr *value = tir_var_expr(a->arena, other);
      bindings[n++] = (tir_binding){own, own->dtype == other->dtype ? value : tir_cast(a->arena, own->dtype, value)};
    }
  return bindings ? tir_substitute_stmt(a->arena, body, n, bindings) : NULL;
}

static const tir_stmt *lower_variant(const schedule_variant *v, const tir_func *to, runtime_arena *arena,
                                     const tir_pass_options *options) {
  tir_pass_options own = *options;
  own.versions_rests = true;
  own.marks_stages = false;
  const tir_func *f = schedule_lower_part(v->schedule, to->name, arena, &own, SCHEDULE_WHOLE, NULL);
  adoption a = {arena, f, to};
  tir_rewriter rewriter = {arena, adopt_stmt, adopt_load, &a};
  return f ? adopt_scalars(&a, tir_rewrite_stmt(&rewriter, f->body)) : NULL;
}

static const tir_scalar *symbol_of(const tir_func *f) {
  for (int i = 0; i < f->n_scalars; i++)
    if (f->scalars[i].is_symbol) return &f->scalars[i];
  return NULL;
}

/* LEAST <= M && M <= MOST */
static const tir_expr *is_within(runtime_arena *arena, const tir_var *symbol, const schedule_variant *v) {
  const tir_expr *value = tir_var_expr(arena, symbol), *least = tir_int(arena, symbol->dtype, v->least);
  if (v->least == v->most) return tir_binary(arena, TIR_EQ, value, least);
  const tir_expr *most = tir_int(arena, symbol->dtype, v->most);
  return tir_binary(arena, TIR_AND, tir_binary(arena, TIR_GE, value, least), tir_binary(arena, TIR_LE, value, most));
}

/* All lie in one arena, and none of them holds a name that the others need. */
tir_func *schedule_with_variants(const tn_schedule *s, tir_func *f, runtime_arena *arena,
                                 const tir_pass_options *options) {
  const tir_scalar *symbol = symbol_of(f);
  const tir_stmt *body = f->body;
  for (int i = s->n_variants - 1; i >= 0; i--) {
    const tir_stmt *variant = lower_variant(&s->variants[i], f, arena, options);
    if (!variant) return NULL;
    body = tir_if(arena, is_within(arena, symbol->var, &s->variants[i]), variant, body);
  }
  tir_func *out = body ? runtime_copy(arena, f, sizeof *f) : NULL;
  if (!out) return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for a kernel of several"), NULL;
  out->body = body;
  return out;
}
