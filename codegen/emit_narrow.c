/* emit_narrow.c: arithmetic on bytes and halves, which programs do in 32 bits so that nothing is lost, and of which they keep 8 or 16:
 *
 *     u8((u32(X[..]) * 77 + u32(Y[..]) * 150) // 256)
 *
 * It is done in 16 bits where that is shown to give the same: a register then holds twice as many lanes. Of sums and products it is enough that
 * the whole fits: modulo 2^16 they are right whatever their parts are. What a whole can be is looked at in the corners of its atoms, since it is
 * linear in each of them, so that two weights that make up 255 are not taken for two that can both be 255:
 *
 *     u8((u32(X[..]) * u32(A[..]) + u32(Y[..]) * (255 - u32(A[..]))) // 255) */
#include "codegen/emit.h"
#include "tir/linear.h"

/* IN_CORNERS: atoms of a whole whose corners are looked at; of more of them the interval is what each by itself makes of it. */
enum { MOST_DEPTH = 64, MOST_NODES = 400, MOST_LEAVES = 64, MOST_ATOMS = 64, IN_CORNERS = 8, ANYWHERE = -1 };

/* One cast's argument. */
typedef struct narrowing {
  codegen_emitter *m;
  runtime_arena *arena;
  tn_dtype dtype;      /* that it is done in */
  tir_interval allows; /* what that holds */
  int nodes;           /* looked at so far */
} narrowing;

static const tir_expr *narrow(narrowing *n, const tir_expr *e, int depth, tir_interval *range);

/* ---- sums and products ------------------------------------------------------------------------------------------- */

/* A whole of sums and products: its leaves from left to right, each with its atom. Leaves that are equal share one. */
typedef struct polynomial {
  int n, n_atoms;
  int atoms[MOST_LEAVES];
  const tir_expr *leaves[MOST_LEAVES];
  tir_interval ranges[MOST_ATOMS];
} polynomial;

/* A number is an atom, too, of one value. False: too many of them. */
static bool add_leaf(polynomial *p, const tir_expr *e, tir_interval range) {
  int atom = p->n_atoms;
  for (int i = 0; i < p->n; i++)
    if (tir_equal(p->leaves[i], e)) atom = p->atoms[i];
  if (p->n == MOST_LEAVES || atom == MOST_ATOMS) return false;
  p->leaves[p->n] = e, p->atoms[p->n++] = atom;
  p->ranges[atom] = range;
  p->n_atoms = RUNTIME_MAX(p->n_atoms, atom + 1);
  return true;
}

/* The factor of leaves FIRST to MIDDLE - 1 gets atoms of its own for those that the other one has, which only adds to the values that the product
 * can have: a product is linear in every atom then. */
static bool part_factors(polynomial *p, int first, int middle) {
  for (int i = first; i < middle; i++) {
    bool is_shared = false;
    const int atom = p->atoms[i];
    for (int k = middle; k < p->n; k++) is_shared |= p->atoms[k] == atom;
    if (!is_shared) continue;
    if (p->n_atoms == MOST_ATOMS) return false;
    p->ranges[p->n_atoms] = p->ranges[atom];
    for (int k = i; k < middle; k++)
      if (p->atoms[k] == atom) p->atoms[k] = p->n_atoms;
    p->n_atoms++;
  }
  return true;
}

/* The same in few bits, leaf by leaf. NULL: a leaf is something else, or not shown to fit. */
static const tir_expr *narrow_terms(narrowing *n, polynomial *p, const tir_expr *e, int depth) {
  tir_interval range;
  if (tir_class_of(e) != TIR_CLASS_SUM || depth > MOST_DEPTH) {
    const tir_expr *leaf = narrow(n, e, depth, &range);
    return leaf != NULL && add_leaf(p, e, range) ? leaf : NULL;
  }
  const int first = p->n;
  const tir_expr *x = narrow_terms(n, p, e->arg[0], depth + 1);
  const int middle = p->n;
  const tir_expr *y = x != NULL ? narrow_terms(n, p, e->arg[1], depth + 1) : NULL;
  if (y == NULL || (e->op == TIR_MUL && !part_factors(p, first, middle))) return NULL;
  return tir_binary(n->arena, (tir_op)e->op, x, y);
}

/* At CORNER, whose bits say which end of its interval each atom has, or ANYWHERE. *LEAF goes on from leaf to leaf. */
static tir_interval value_at(const polynomial *p, const tir_expr *e, int corner, int *leaf) {
  if (tir_class_of(e) != TIR_CLASS_SUM) {
    const int atom = p->atoms[(*leaf)++];
    if (corner == ANYWHERE) return p->ranges[atom];
    const int64_t end = (corner >> atom & 1) != 0 ? p->ranges[atom].hi : p->ranges[atom].lo;
    return (tir_interval){end, end};
  }
  tir_interval a = value_at(p, e->arg[0], corner, leaf);
  return tir_interval_apply((tir_op)e->op, a, value_at(p, e->arg[1], corner, leaf));
}

static const tir_expr *narrow_whole(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  polynomial p = {.n = 0};
  const tir_expr *done = narrow_terms(n, &p, e, depth);
  if (done == NULL) return NULL;
  bool looks = p.n_atoms <= IN_CORNERS;
  for (int corner = looks ? 0 : ANYWHERE; corner < (looks ? 1 << p.n_atoms : 0); corner++) {
    int leaf = 0;
    tir_interval value = value_at(&p, e, corner, &leaf);
    *range = corner <= 0 ? value : tir_interval_hull(*range, value);
  }
  return done;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* NULL: something else, or not shown to fit. Divisors and shifts are numbers. */
static const tir_expr *narrow_binary(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  tir_interval a, b;
  const tir_expr *x = narrow(n, e->arg[0], depth + 1, &a), *y = x != NULL ? narrow(n, e->arg[1], depth + 1, &b) : NULL;
  bool divides = tir_class_of(e) == TIR_CLASS_DIVISION, shifts = e->op == TIR_SHR;
  if (y == NULL || ((divides || shifts) && (b.lo != b.hi || b.lo < (divides ? 1 : 0) || (shifts && b.hi > 15))))
    return NULL;
  *range = tir_interval_apply((tir_op)e->op, a, b);
  return tir_binary(n->arena, (tir_op)e->op, x, y);
}

/* A shift to the left by a number is a product of a whole. */
static const tir_expr *narrow_shifted(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  tir_interval a;
  int64_t by;
  if (!tir_is_int(e->arg[1], &by) || by < 0 || by > 14) return NULL;
  const tir_expr *x = narrow(n, e->arg[0], depth + 1, &a);
  if (x == NULL) return NULL;
  *range = tir_interval_scale(a, INT64_C(1) << by);
  return tir_binary(n->arena, TIR_MUL, x, tir_int(n->arena, n->dtype, INT64_C(1) << by));
}

static const tir_expr *narrow_abs(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  tir_interval a;
  const tir_expr *x = narrow(n, e->arg[0], depth + 1, &a);
  if (x == NULL) return NULL;
  *range = tir_interval_apply(TIR_ABS, a, a);
  return tir_unary(n->arena, TIR_ABS, x);
}

static const tir_expr *narrow_choice(narrowing *n, const tir_expr *e, int depth, tir_interval *range) {
  tir_interval a, b;
  const tir_expr *x = narrow(n, e->arg[1], depth + 1, &a), *y = x != NULL ? narrow(n, e->arg[2], depth + 1, &b) : NULL;
  if (y == NULL) return NULL;
  *range = tir_interval_hull(a, b);
  return tir_select(n->arena, e->arg[0], x, y);
}

/* All that is stored to a buffer. */
typedef struct contents {
  const tir_buffer *buffer;
  bool is_some;
  tir_interval range;
} contents;

/* Stops where something else may write to it. */
static tir_walk see_store(void *user, const tir_stmt *s) {
  contents *c = user;
  if (s->kind == TIR_CALL) return TIR_WALK_STOP;
  if (s->kind != TIR_STORE || s->u.store.buffer != c->buffer) return TIR_WALK_ON;
  tir_interval range = tir_bounds(NULL, s->u.store.value);
  c->range = c->is_some ? tir_interval_hull(c->range, range) : range;
  c->is_some = true;
  return TIR_WALK_ON;
}

/* What elements of the kernel's own buffers can be; asked once of each. */
static tir_interval range_of_elements(codegen_emitter *m, const tir_buffer *buffer) {
  tir_interval all = tir_dtype_ranges[buffer->dtype];
  if (buffer->is_param) return all;
  contents *c = runtime_map_get(&m->contents, buffer);
  if (c != NULL) return c->range;
  if ((c = RUNTIME_NEW(&m->arena, contents)) == NULL) return all;
  *c = (contents){.buffer = buffer};
  const tir_visitor visitor = {.stmt = see_store, .user = c};
  if (!tir_walk_stmt(m->func->body, &visitor) || !c->is_some) c->range = all;
  runtime_map_put(&m->contents, buffer, c);
  return c->range;
}

/* Lanes that a predicate leaves out are 0. */
static tir_interval range_of_load(codegen_emitter *m, const tir_expr *load) {
  tir_interval range = range_of_elements(m, load->u.buffer);
  return tir_predicate(load) != NULL ? tir_interval_hull(range, (tir_interval){0, 0}) : range;
}

/* What is widened: no wider than 16 bits itself. */
static const tir_expr *narrow_leaf(narrowing *n, const tir_expr *e, tir_interval *range) {
  tn_dtype from = (tn_dtype)e->arg[0]->dtype;
  if (tn_dtype_is_float(from) || from == TN_BOOL || tn_dtype_bytes(from) > 2) return NULL;
  *range = e->arg[0]->op == TIR_LOAD ? range_of_load(n->m, e->arg[0]) : tir_dtype_ranges[from];
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
  if (of == TIR_CLASS_SUM) return narrow_whole(n, e, depth, range);
  if (e->op == TIR_SHL) return narrow_shifted(n, e, depth, range);
  if (e->op == TIR_ABS) return narrow_abs(n, e, depth, range);
  bool is_known = of == TIR_CLASS_DIVISION || of == TIR_CLASS_EXTREMUM || e->op == TIR_SHR || e->op == TIR_BITAND;
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
    narrowing n = {m, &m->arena, dtypes[i], tir_dtype_ranges[dtypes[i]], 0};
    const tir_expr *done = narrow(&n, of, 0, &range);
    if (done != NULL) return tir_cast(&m->arena, to, done);
  }
  return NULL;
}
