/* linear.c: arithmetic on linear forms and on intervals, every overflow noticed. */
#include "tir/linear.h"

/* Equal atoms; variables, the usual case, without walking. */
static bool same_atom(const tir_expr *a, const tir_expr *b) {
  if (a == b) return true;
  if (a->op != b->op) return false;
  return a->op == TIR_VAR ? a->u.var == b->u.var : tir_equal(a, b);
}

/* Linear in the terms, of which there are at most TIR_LINEAR_TERMS. A coefficient that becomes 0 leaves
 * the form. */
bool tir_linear_add_atom(tir_linear *form, const tir_expr *atom, int64_t coef) {
  if (coef == 0) return true;
  for (int i = 0; i < form->n; i++) {
    tir_term *term = &form->terms[i];
    if (!same_atom(term->atom, atom)) continue;
    if (__builtin_add_overflow(term->coef, coef, &term->coef) || term->coef == INT64_MIN) return false;
    if (term->coef != 0) return true;
    form->n--;
    memmove(term, term + 1, sizeof *term * (size_t)(form->n - i));
    return true;
  }
  if (form->n == TIR_LINEAR_TERMS || coef == INT64_MIN) return false;
  form->terms[form->n++] = (tir_term){atom, coef};
  return true;
}

bool tir_linear_add_const(tir_linear *form, int64_t value) {
  return !__builtin_add_overflow(form->constant, value, &form->constant) && form->constant != INT64_MIN;
}

/* form += scale * other. */
bool tir_linear_add(tir_linear *form, const tir_linear *other, int64_t scale) {
  int64_t scaled;
  if (__builtin_mul_overflow(other->constant, scale, &scaled) || !tir_linear_add_const(form, scaled)) return false;
  for (int i = 0; i < other->n; i++) {
    if (__builtin_mul_overflow(other->terms[i].coef, scale, &scaled)) return false;
    if (!tir_linear_add_atom(form, other->terms[i].atom, scaled)) return false;
  }
  return true;
}

/* Depth is limited so that a deep chain of shared nodes cannot be followed down every path. */
static bool add_expr(tir_linear *form, const tir_expr *e, int64_t scale, int depth) {
  int64_t value, scaled;
  e = tir_unbroadcast(e);
  if (e->op == TIR_INT) {
    return !__builtin_mul_overflow(e->u.i, scale, &scaled) && tir_linear_add_const(form, scaled);
  }
  if (depth > 0 && e->dtype != TN_BOOL) {
    if (e->op == TIR_ADD || e->op == TIR_SUB) {
      int64_t other = scale;
      if (e->op == TIR_SUB && __builtin_sub_overflow((int64_t)0, scale, &other)) return false;
      return add_expr(form, e->arg[0], scale, depth - 1) && add_expr(form, e->arg[1], other, depth - 1);
    }
    if (e->op == TIR_MUL && tir_is_int(e->arg[1], &value)) {
      return !__builtin_mul_overflow(value, scale, &scaled) && add_expr(form, e->arg[0], scaled, depth - 1);
    }
    if (e->op == TIR_MUL && tir_is_int(e->arg[0], &value)) {
      return !__builtin_mul_overflow(value, scale, &scaled) && add_expr(form, e->arg[1], scaled, depth - 1);
    }
  }
  return tir_linear_add_atom(form, e, scale);
}

enum { MAX_DEPTH = 16 };

bool tir_linear_add_expr(tir_linear *form, const tir_expr *e, int64_t scale) {
  return add_expr(form, e, scale, MAX_DEPTH);
}

int64_t tir_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/* ---- intervals of operators -------------------------------------------------------------------------------------- */

/* Correct but not sharp for equal operands: x - x is [lo - hi, hi - lo]. Linear forms see that;
 * intervals do not. */
static tir_interval interval_sub(tir_interval a, tir_interval b) {
  return tir_interval_add(a, tir_interval_scale(b, -1));
}

/* The extremes of a product lie at the corners. */
static tir_interval interval_mul(tir_interval a, tir_interval b) {
  int64_t ends[2][2] = {{a.lo, a.hi}, {b.lo, b.hi}}, product;
  if (!tir_interval_is_closed(a) || !tir_interval_is_closed(b)) return TIR_UNBOUNDED;
  if (a.lo >= 0 && b.lo >= 0 && a.hi <= INT32_MAX && b.hi <= INT32_MAX && !tir_interval_is_empty(a) &&
      !tir_interval_is_empty(b))
    return (tir_interval){a.lo * b.lo, a.hi * b.hi}; /* extents and what counts them: nearly all */
  tir_interval r = {INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    if (__builtin_mul_overflow(ends[0][i & 1], ends[1][i >> 1], &product)) return TIR_UNBOUNDED;
    r = tir_interval_hull(r, (tir_interval){product, product});
  }
  return r;
}

/* |x // d| <= |x| for every d, zero included. */
static tir_interval interval_floordiv(tir_interval x, tir_interval d) {
  if (tir_interval_is_empty(x) || tir_interval_is_empty(d) || !tir_interval_is_closed(x)) return TIR_UNBOUNDED;
  if (d.lo > 0) {
    tir_interval low = {runtime_floordiv(x.lo, d.lo), runtime_floordiv(x.lo, d.hi)};
    tir_interval high = {runtime_floordiv(x.hi, d.lo), runtime_floordiv(x.hi, d.hi)};
    return (tir_interval){RUNTIME_MIN(low.lo, low.hi), RUNTIME_MAX(high.lo, high.hi)};
  }
  int64_t most = RUNTIME_MAX(x.hi, -x.lo);
  most = RUNTIME_MAX(most, 0);
  return (tir_interval){-most, most};
}

/* The result has the divisor's sign and is smaller than it; 0 for a zero divisor. */
static tir_interval interval_floormod(tir_interval x, tir_interval d) {
  if (tir_interval_is_empty(x) || tir_interval_is_empty(d)) return TIR_UNBOUNDED;
  if (d.lo == d.hi && d.lo > 0 && tir_interval_is_closed(x)) {
    int64_t block = runtime_floordiv(x.lo, d.lo);
    if (block == runtime_floordiv(x.hi, d.lo)) return (tir_interval){x.lo - block * d.lo, x.hi - block * d.lo};
  }
  tir_interval r = {d.lo >= 0 ? 0 : d.lo == INT64_MIN ? d.lo : d.lo + 1, d.hi <= 0 ? 0 : d.hi - 1};
  if (d.lo > 0 && x.lo >= 0) r.hi = RUNTIME_MIN(r.hi, x.hi);
  return r;
}

/* Ends by ends, which is exact. */
static tir_interval interval_min(tir_interval a, tir_interval b) {
  return (tir_interval){RUNTIME_MIN(a.lo, b.lo), RUNTIME_MIN(a.hi, b.hi)};
}

/* The interval of max(x, y) for x in A and y in B. */
static tir_interval interval_max(tir_interval a, tir_interval b) {
  return (tir_interval){RUNTIME_MAX(a.lo, b.lo), RUNTIME_MAX(a.hi, b.hi)};
}

/* Open intervals stay open, since -INT64_MIN does not exist. */
static tir_interval interval_abs(tir_interval a, tir_interval none) {
  (void)none;
  if (!tir_interval_is_closed(a) || tir_interval_is_empty(a)) return TIR_UNBOUNDED;
  if (a.lo >= 0) return a;
  return a.hi <= 0 ? (tir_interval){-a.hi, -a.lo} : (tir_interval){0, RUNTIME_MAX(-a.lo, a.hi)};
}

/* a & b is at most what is not negative of the two. */
static tir_interval interval_and(tir_interval a, tir_interval b) {
  if (a.lo < 0 && b.lo < 0) return TIR_UNBOUNDED;
  return (tir_interval){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : RUNTIME_MIN(a.hi, b.hi)};
}

/* A floor division by a power of two, for shifts that leave something. */
static tir_interval interval_shr(tir_interval a, tir_interval b) {
  if (b.lo < 0 || b.hi > 63 || tir_interval_is_empty(b) || !tir_interval_is_closed(a)) return TIR_UNBOUNDED;
  return (tir_interval){RUNTIME_MIN(a.lo >> b.lo, a.lo >> b.hi), RUNTIME_MAX(a.hi >> b.lo, a.hi >> b.hi)};
}

/* Operators without a row give no information. SHL has none, for it wraps. */
tir_interval tir_interval_apply(tir_op op, tir_interval a, tir_interval b) {
  static tir_interval (*const rows[TIR_OP_COUNT])(tir_interval, tir_interval) = {
      [TIR_ADD] = tir_interval_add,       [TIR_SUB] = interval_sub,
      [TIR_MUL] = interval_mul,           [TIR_FLOORDIV] = interval_floordiv,
      [TIR_FLOORMOD] = interval_floormod, [TIR_MIN] = interval_min,
      [TIR_MAX] = interval_max,           [TIR_ABS] = interval_abs,
      [TIR_BITAND] = interval_and,        [TIR_SHR] = interval_shr};
  return rows[op] != NULL ? rows[op](a, b) : TIR_UNBOUNDED;
}
