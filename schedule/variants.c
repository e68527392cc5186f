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

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* A variant's body, with the parameters and the symbol of the function that it becomes a part of. */
typedef struct adoption {
  runtime_arena *arena;
  const tir_func *from, *to;
  int n_bindings;
  tir_binding *bindings; /* scalars, by their names */
  runtime_map buffers;   /* that the symbol sizes: each in terms of TO's */
  bool failed;           /* no memory */
} adoption;

/* The variant may lack the symbol. */
static void bind_scalars(adoption *a) {
  a->bindings = RUNTIME_NEW_ARRAY(a->arena, tir_binding, a->from->n_scalars + 1);
  a->failed = !a->bindings;
  for (int i = 0; !a->failed && i < a->from->n_scalars; i++)
    for (int k = 0; k < a->to->n_scalars; k++) {
      const tir_var *own = a->from->scalars[i].var, *other = a->to->scalars[k].var;
      if (strcmp(own->name, other->name) != 0) continue;
      const tir_expr *value = tir_var_expr(a->arena, other);
      if (own->dtype != other->dtype) value = tir_cast(a->arena, own->dtype, value);
      a->bindings[a->n_bindings++] = (tir_binding){own, value};
    }
}

static tir_walk adopt_sizes(void *user, const tir_stmt *s) {
  adoption *a = user;
  bool is_sized = false;
  for (int d = 0; s->kind == TIR_ALLOC && d < s->u.alloc.buffer->ndim; d++)
    is_sized |= s->u.alloc.buffer->size[d] != NULL;
  if (!is_sized || runtime_map_get(&a->buffers, s->u.alloc.buffer)) return TIR_WALK_ON;
  tir_buffer *copy = runtime_copy(a->arena, s->u.alloc.buffer, sizeof *copy);
  for (int d = 0; copy && d < copy->ndim; d++)
    if (copy->size[d]) copy->size[d] = tir_substitute(a->arena, copy->size[d], a->n_bindings, a->bindings);
  if (!copy || !runtime_map_put(&a->buffers, s->u.alloc.buffer, copy)) a->failed = true;
  return a->failed ? TIR_WALK_STOP : TIR_WALK_ON;
}

static const tir_buffer *adopted(const adoption *a, const tir_buffer *buffer) {
  for (int i = 0; i < a->from->n_params; i++)
    if (a->from->params[i] == buffer) return a->to->params[i];
  const tir_buffer *sized = runtime_map_get(&a->buffers, buffer);
  return sized ? sized : buffer;
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
  if (s->kind == TIR_ALLOC) return tir_alloc(a->arena, adopted(a, s->u.alloc.buffer), s->u.alloc.body);
  if (!stores && !asks) return s;
  tir_stmt *copy = runtime_copy(a->arena, s, sizeof *s);
  if (copy && stores) copy->u.store.buffer = adopted(a, s->u.store.buffer);
  if (copy && asks) copy->u.prefetch.buffer = adopted(a, s->u.prefetch.buffer);
  return copy;
}

static const tir_stmt *adopt(adoption *a, const tir_stmt *body) {
  tir_visitor visitor = {.stmt = adopt_sizes, .user = a};
  tir_rewriter rewriter = {a->arena, adopt_stmt, adopt_load, a};
  bind_scalars(a);
  if (!a->failed) (void)tir_walk_stmt(body, &visitor);
  const tir_stmt *made = a->failed ? NULL : tir_rewrite_stmt(&rewriter, body);
  runtime_map_free(&a->buffers);
  return made ? tir_substitute_stmt(a->arena, made, a->n_bindings, a->bindings) : NULL;
}

static const tir_stmt *lower_variant(const schedule_variant *v, const tir_func *to, runtime_arena *arena,
                                     const tir_pass_options *options) {
  tir_pass_options own = *options;
  own.versions_rests = true;
  own.marks_stages = false;
  const tir_func *f = schedule_lower_part(v->schedule, to->name, arena, &own, SCHEDULE_WHOLE, NULL);
  adoption a = {.arena = arena, .from = f, .to = to};
  const tn_program *p = v->schedule->program;
  const tir_stmt *body = f ? adopt(&a, f->body) : NULL;
  return body ? tir_attr(arena, TIR_SYMBOL_LEAST, p->n_symbols == 1 ? p->symbols[0]->least : v->least, body) : NULL;
}

static const tir_scalar *symbol_of(const tir_func *f) {
  for (int i = 0; i < f->n_scalars; i++)
    if (f->scalars[i].is_symbol) return &f->scalars[i];
  return NULL;
}

/* The functions of the variants while one is chosen among them. */
typedef struct choice {
  runtime_arena *arena;
  const tir_var *symbol;
  const schedule_variant *variants;
  const tir_stmt **bodies; /* as many */
  const tir_stmt *other;   /* for values that no variant has */
} choice;

/* One schedule may stand for several ranges: they are one function. NULL: it is met for the first time. */
static const tir_stmt *made_before(const choice *c, int at) {
  for (int i = 0; i < at; i++)
    if (c->variants[i].schedule == c->variants[at].schedule) return c->bodies[i];
  return NULL;
}

/* A variant, and its ends where the symbol, which is LEAST .. MOST here, can lie beside them. */
static const tir_stmt *choose_one(const choice *c, int i, int64_t least, int64_t most) {
  const schedule_variant *v = &c->variants[i];
  if (v->least <= least && most <= v->most) return c->bodies[i];
  const tir_expr *value = tir_var_expr(c->arena, c->symbol);
  const tir_expr *from = tir_binary(c->arena, TIR_GE, value, tir_int(c->arena, c->symbol->dtype, v->least));
  const tir_expr *to = tir_binary(c->arena, TIR_LE, value, tir_int(c->arena, c->symbol->dtype, v->most));
  return tir_if(c->arena, tir_binary(c->arena, TIR_AND, from, to), c->bodies[i], c->other);
}

/* How many of N variants from FIRST are below the first question. Those of one value in front, of which there may be many, are asked for
 * apart: they are short, and what follows has fewer. */
static int below_first(const choice *c, int first, int n) {
  enum { MANY = 8 };
  int singles = 0;
  while (singles < n && c->variants[first + singles].least == c->variants[first + singles].most) singles++;
  return singles >= MANY && singles < n ? singles : n / 2;
}

/* N variants from FIRST:  if (M < 16) ... else ... */
static const tir_stmt *choose(const choice *c, int first, int n, int64_t least, int64_t most) {
  if (n == 1) return choose_one(c, first, least, most);
  int n_below = below_first(c, first, n);
  int64_t middle = c->variants[first + n_below].least;
  const tir_expr *value = tir_var_expr(c->arena, c->symbol);
  const tir_expr *is_below = tir_binary(c->arena, TIR_LT, value, tir_int(c->arena, c->symbol->dtype, middle));
  const tir_stmt *below = choose(c, first, n_below, least, middle - 1);
  const tir_stmt *above = choose(c, first + n_below, n - n_below, middle, most);
  return above ? tir_if(c->arena, is_below, below, above) : NULL;
}

/* All lie in one arena, and none of them holds a name that the others need. */
tir_func *schedule_with_variants(const tn_schedule *s, tir_func *f, runtime_arena *arena,
                                 const tir_pass_options *options) {
  const tn_axis *axis = s->program->symbols[0];
  choice c = {arena, symbol_of(f)->var, s->variants, RUNTIME_NEW_ARRAY(arena, const tir_stmt *, s->n_variants),
              tir_attr(arena, TIR_VARIANT, s->n_variants, f->body)};
  tir_func *out = c.bodies && c.other ? runtime_copy(arena, f, sizeof *f) : NULL;
  for (int i = 0; i < s->n_variants && out; i++) {
    if ((c.bodies[i] = made_before(&c, i)) != NULL) continue;
    const tir_stmt *body = lower_variant(&s->variants[i], f, arena, options);
    if (!body) return NULL;
    if (!(c.bodies[i] = tir_attr(arena, TIR_VARIANT, i, body))) out = NULL;
  }
  if (out) out->body = choose(&c, 0, s->n_variants, axis->least, axis->extent);
  if (!out || !out->body) return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for a kernel of several"), NULL;
  return out;
}
