/* slice.c: vectors in pieces: what a few of an expression's lanes are. LLVM takes vectors of lanes that are no power of
 * two apart, lane by lane, where they live across blocks; C compilers may put vectors wider than the machine's in
 * memory. */
#include "codegen/emit.h"

/* One cut through an expression: which lanes are wanted, and what was cut already. */
typedef struct slicer {
  runtime_arena *arena;
  runtime_map *parts;
  int first, n, whole; /* lanes, and how many there are; of a part of DOT with more of them: in proportion */
  int step;            /* from one that is wanted to the next */
  int depth;
} slicer;

/* A dot's operands have several lanes for one of the result. */
static int times(const slicer *s, const tir_expr *e) { return e->lanes / s->whole; }

static const tir_expr *cut(slicer *s, const tir_expr *e);

/* A ramp's part is a ramp that starts later, by longer steps; the product wraps as the ramp itself would. */
static const tir_expr *cut_ramp(slicer *s, const tir_expr *e) {
  int64_t skipped = (int64_t)((uint64_t)e->u.i * (uint64_t)(s->first * times(s, e)));
  const tir_expr *by = tir_int(s->arena, (tn_dtype)e->dtype, skipped);
  return tir_ramp(s->arena, tir_binary(s->arena, TIR_ADD, e->arg[0], by), e->u.i * s->step, s->n * times(s, e));
}

/* Through the constructors, which may fold. */
static const tir_expr *cut_args(slicer *s, const tir_expr *e) {
  const tir_expr **args = RUNTIME_NEW_ARRAY(s->arena, const tir_expr *, e->n_args);
  if (args == NULL) return NULL;
  for (int i = 0; i < e->n_args; i++) {
    args[i] = cut(s, e->arg[i]);
    if (args[i] == NULL) return NULL;
  }
  return tir_with_args(s->arena, e, args);
}

/* NULL: too deep or no memory; depth tells which. */
static const tir_expr *cut_vector(slicer *s, const tir_expr *e) {
  if (++s->depth > CODEGEN_MAX_DEPTH) return NULL;
  const tir_expr *part = e->op == TIR_RAMP        ? cut_ramp(s, e)
                         : e->op == TIR_BROADCAST ? tir_broadcast(s->arena, e->arg[0], s->n * times(s, e))
                                                  : cut_args(s, e);
  s->depth--;
  return part;
}

/* Shared parts are cut once. */
static const tir_expr *cut(slicer *s, const tir_expr *e) {
  if (e->lanes == 1) return e;
  const tir_expr *known = runtime_map_get(s->parts, e);
  if (known != NULL) return known;
  const tir_expr *part = cut_vector(s, e);
  return part != NULL && runtime_map_put(s->parts, e, (void *)part) ? part : NULL;
}

/* PARTS is a map of the caller's, so that it is not made anew for each piece. */
static tn_status cut_whole(slicer *s, const tir_expr *e, const tir_expr **out) {
  runtime_map_clear(s->parts);
  *out = cut(s, e);
  return *out != NULL ? TN_OK : s->depth > CODEGEN_MAX_DEPTH ? TN_ERROR_CODEGEN : TN_ERROR_MEMORY;
}

tn_status codegen_slice(runtime_arena *arena, runtime_map *parts, const tir_expr *e, int first, int n,
                        const tir_expr **out) {
  return cut_whole(&(slicer){arena, parts, first, n, e->lanes, 1, 0}, e, out);
}

tn_status codegen_every_second(runtime_arena *arena, runtime_map *parts, const tir_expr *e, int phase,
                               const tir_expr **out) {
  return cut_whole(&(slicer){arena, parts, phase, e->lanes / 2, e->lanes, 2, 0}, e, out);
}

/* Indices (ramps) live in scalar registers or in addresses and do not count. */
static tir_walk find_widest(void *user, const tir_expr *e) {
  int *bytes = user, here = (int)tn_dtype_bytes((tn_dtype)e->dtype);
  if (e->lanes == 1) return TIR_WALK_PRUNE;
  if (e->op != TIR_RAMP && here > *bytes) *bytes = here;
  return TIR_WALK_ON;
}

/* It decides how many lanes a register has. */
int codegen_widest_bytes(const tir_buffer *buffer, const tir_expr *value) {
  int bytes = (int)tn_dtype_bytes(buffer->dtype);
  tir_walk_expr(value, find_widest, &bytes);
  return bytes;
}
