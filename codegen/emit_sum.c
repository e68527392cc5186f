/* emit_sum.c: sums of what counts for some lanes alone. Where masks are cheap,
 *
 *     S = S + select(c, x, 0)    is    S = S + select(c, x, -0)
 *
 * since adding -0 changes nothing at all: that is one addition under a mask, where adding 0 is a choice and an addition. Both are the same unless
 * S is -0, which a sum that begins with 0 never becomes. */
#include <math.h>

#include "codegen/emit.h"

static const tir_expr *scalar_of(const tir_expr *e) { return e->op == TIR_BROADCAST ? e->arg[0] : e; }

static bool is_zero(const tir_expr *e) {
  const tir_expr *one = scalar_of(e);
  return one->op == TIR_FLOAT && one->u.f == 0 && !signbit(one->u.f);
}

/* The side of a sum that is not what the store's own element was; NULL: it is no such sum. */
static const tir_expr *added(const tir_stmt *s) {
  const tir_expr *value = s->u.store.value;
  if (value->op != TIR_ADD || s->u.store.n_index != 1 || s->u.store.predicate != NULL) return NULL;
  for (int side = 0; side < 2; side++) {
    const tir_expr *own = value->arg[side];
    if (own->op == TIR_LOAD && own->u.buffer == s->u.store.buffer && tir_n_index(own) == 1 &&
        tir_predicate(own) == NULL && tir_equal(own->arg[0], s->u.store.index[0]))
      return value->arg[!side];
  }
  return NULL;
}

/* Stops where BUFFER may become something else than 0 or a sum. */
static tir_walk find_other(void *user, const tir_stmt *s) {
  if (s->kind == TIR_CALL) return TIR_WALK_STOP;
  if (s->kind != TIR_STORE || s->u.store.buffer != user) return TIR_WALK_ON;
  return is_zero(s->u.store.value) || added(s) != NULL ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Asked once of each buffer. */
static bool begins_with_zero(codegen_emitter *m, const tir_buffer *buffer) {
  static const char yes[] = "yes", no[] = "no";
  const char *known = runtime_map_get(&m->sums, buffer);
  if (known == NULL) {
    const tir_visitor visitor = {.stmt = find_other, .user = (void *)buffer};
    known = tir_walk_stmt(m->func->body, &visitor) ? yes : no;
    runtime_map_put(&m->sums, buffer, (void *)known);
  }
  return known == yes;
}

static tir_walk stop_at_name(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_VAR || e->op == TIR_LOAD ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* A mask that is a constant, as at the end of rows, costs nothing: a shuffle or shorter vectors take its place. */
static bool is_constant(const tir_expr *condition) { return tir_walk_expr(condition, stop_at_name, NULL); }

static const tir_expr *negative_zero(codegen_emitter *m, const tir_expr *zero) {
  const tir_expr *one = tir_float(&m->arena, (tn_dtype)zero->dtype, -0.0);
  return zero->lanes == 1 || one == NULL ? one : tir_broadcast(&m->arena, one, zero->lanes);
}

/* Zeros that E, choices in choices, chooses become -0; NULL: no memory. */
static const tir_expr *without_zeros(codegen_emitter *m, const tir_expr *e) {
  if (e->op != TIR_SELECT) return e;
  const tir_expr *args[3] = {e->arg[0]};
  bool is_fixed = is_constant(e->arg[0]), is_same = true;
  for (int i = 1; i < 3; i++) {
    args[i] = is_zero(e->arg[i]) && !is_fixed ? negative_zero(m, e->arg[i]) : without_zeros(m, e->arg[i]);
    if (args[i] == NULL) return NULL;
    is_same &= args[i] == e->arg[i];
  }
  return is_same ? e : tir_with_args(&m->arena, e, args);
}

const tir_expr *codegen_masked_sum(codegen_emitter *m, const tir_stmt *s) {
  const tir_expr *value = s->u.store.value, *x = added(s);
  bool is_float = value->dtype == TN_F32 || value->dtype == TN_F64;
  if (!is_float || value->lanes == 1 || x == NULL || x->op != TIR_SELECT || !codegen_has_cheap_masks(m->target))
    return value;
  const tir_expr *masked = without_zeros(m, x);
  if (masked == NULL || masked == x || !begins_with_zero(m, s->u.store.buffer)) return value;
  const tir_expr *args[2] = {value->arg[0] == x ? masked : value->arg[0], value->arg[0] == x ? value->arg[1] : masked};
  const tir_expr *sum = tir_with_args(&m->arena, value, args);
  return sum != NULL ? sum : value;
}
