/* emit_narrow.c: arithmetic on bytes and halves, which programs do in 32 bits so that nothing is lost, and of which they keep 8 or 16:
 *
 *     u8((u32(X[..]) * 77 + u32(Y[..]) * 150) // 256)
 *
 * It is done in 16 bits where every part of it is shown to fit these: a register then holds twice as many lanes. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum { MOST_DEPTH = 24, MOST_NODES = 200 };

/* One cast's argument. */
typedef struct narrowing {
  runtime_arena *arena;
  tn_dtype dtype;      /* that it is done in */
  tir_interval allows; /* what that holds */
  int nodes;           /* looked at so far */
} narrowing;

static const tir_expr *narrow(narrowing *n, const tir_expr *e, int depth, tir_interval *range);

/* NULL: something else, or not shown to fit. */
static const tir_expr *narrow_binary(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  tir_interval a, b;
  const tir_expr *x = narrow(n, e->arg[0], depth + 1, &a), *y = x != NULL ? narrow(n, e->arg[1], depth + 1, &b) : NULL;
  bool divides = tir_class_of(e) == TIR_CLASS_DIVISION;
  if (y == NULL || (divides && (b.lo != b.hi || b.lo < 1))) return NULL;
  *range = tir_interval_apply((tir_op)e->op, a, b);
  return tir_binary(n->arena, (tir_op)e->op, x, y);
}

static const tir_expr *narrow_choice(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  tir_interval a, b;
  const tir_expr *x = narrow(n, e->arg[1], depth + 1, &a), *y = x != NULL ? narrow(n, e->arg[2], depth + 1, &b) : NULL;
  if (y == NULL) return NULL;
  *range = tir_interval_hull(a, b);
  return tir_select(n->arena, e->arg[0], x, y);
}

/* What is widened: no wider than 16 bits itself. */
static const tir_expr *narrow_leaf(narrowing *n, const tir_expr *e, tir_interval *range) {
  tn_dtype from = (tn_dtype)e->arg[0]->dtype;
  if (tn_dtype_is_float(from) || from == TN_BOOL || tn_dtype_bytes(from) > 2) return NULL;
  *range = tir_dtype_ranges[from];
  return tir_cast(n->arena, n->dtype, e->arg[0]);
}

static const tir_expr *narrow_any(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  int64_t value;
  tir_class of = tir_class_of(e);
  if (tir_is_int(e, &value)) {
    *range = (tir_interval){value, value};
    const tir_expr *number = tir_int(n->arena, n->dtype, value);
    return e->lanes > 1 && number != NULL ? tir_broadcast(n->arena, number, e->lanes) : number;
  }
  if (e->op == TIR_CAST) return narrow_leaf(n, e, range);
  if (e->op == TIR_SELECT) return narrow_choice(n, e, depth, range);
  if (e->op == TIR_BROADCAST) {
    const tir_expr *one = narrow(n, e->arg[0], depth + 1, range);
    return one != NULL ? tir_broadcast(n->arena, one, e->lanes) : NULL;
  }
  bool is_known = of == TIR_CLASS_SUM || of == TIR_CLASS_DIVISION || of == TIR_CLASS_EXTREMUM;
  return is_known ? narrow_binary(n, e, depth, range) : NULL;
}

static const tir_expr *narrow(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  if (depth > MOST_DEPTH || ++n->nodes > MOST_NODES) return NULL;
  const tir_expr *done = narrow_any(n, e, depth, range);
  return done != NULL && tir_interval_within(*range, n->allows) ? done : NULL;
}

const tir_expr *codegen_narrow(codegen_emitter *m, const tir_expr *cast) {
  static const tn_dtype dtypes[] = {TN_U16, TN_I16};
  const tir_expr *of = cast->arg[0];
  tn_dtype to = (tn_dtype)cast->dtype, from = (tn_dtype)of->dtype;
  bool keeps_few = !tn_dtype_is_float(to) && to != TN_BOOL && tn_dtype_bytes(to) <= 2;
  if (!keeps_few || tn_dtype_is_float(from) || tn_dtype_bytes(from) < 4 || cast->lanes == 1 || of->op == TIR_CAST)
    return NULL;
  for (int i = 0; i < (tn_dtype_is_signed(from) ? 2 : 1); i++) { /* what is unsigned would begin anew below 0 */
    tir_interval range;
    narrowing n = {&m->arena, dtypes[i], tir_dtype_ranges[dtypes[i]], 0};
    const tir_expr *done = narrow(&n, of, 0, &range);
    if (done != NULL) return tir_cast(&m->arena, to, done);
  }
  return NULL;
}
