/* c_slice.c: wide vectors in pieces: what a few of an expression's lanes are. Compilers keep vectors of the machine's
 * width in registers; wider ones they may put in memory. */
#include "codegen/c_emit.h"

typedef struct slice {
  codegen_c_emitter *m;
  int first, n, whole; /* lanes, and how many there are; of a part of DOT with more of them: in proportion */
} slice;

static int times(const slice *s, const tir_expr *e) { return e->lanes / s->whole; }

static const tir_expr *cut(slice *s, const tir_expr *e);

static const tir_expr *cut_ramp(slice *s, const tir_expr *e) {
  runtime_arena *arena = &s->m->arena;
  const tir_expr *skipped = tir_int(arena, (tn_dtype)e->dtype, (int64_t)((uint64_t)e->u.i * (uint64_t)(s->first * times(s, e))));
  return tir_ramp(arena, tir_binary(arena, TIR_ADD, e->arg[0], skipped), e->u.i, s->n * times(s, e));
}

static const tir_expr *cut_args(slice *s, const tir_expr *e) {
  const tir_expr **args = RUNTIME_NEW_ARRAY(&s->m->arena, const tir_expr *, e->n_args);
  for (int i = 0; i < e->n_args; i++) args[i] = cut(s, e->arg[i]);
  return tir_with_args(&s->m->arena, e, args);
}

static const tir_expr *cut_vector(slice *s, const tir_expr *e) {
  if (++s->m->depth > CODEGEN_C_MAX_DEPTH) {
    codegen_c_fail(s->m, TN_ERROR_CODEGEN, "an expression is nested deeper than %d", CODEGEN_C_MAX_DEPTH);
    return e;
  }
  const tir_expr *part = e->op == TIR_RAMP        ? cut_ramp(s, e)
                         : e->op == TIR_BROADCAST ? tir_broadcast(&s->m->arena, e->arg[0], s->n * times(s, e))
                                                  : cut_args(s, e);
  s->m->depth--;
  return part;
}

static const tir_expr *cut(slice *s, const tir_expr *e) {
  if (e->lanes == 1 || s->m->failed) return e;
  const tir_expr *known = codegen_map_get(&s->m->slices, e);
  if (known != NULL) return known;
  const tir_expr *part = cut_vector(s, e);
  codegen_c_put(s->m, &s->m->slices, e, part);
  return part;
}

const tir_expr *codegen_c_slice(codegen_c_emitter *m, const tir_expr *e, int first, int n) {
  slice s = {m, first, n, e->lanes};
  codegen_map_clear(&m->slices);
  return cut(&s, e);
}
