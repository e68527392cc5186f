/* linear.c: arithmetic on linear forms and on intervals, every overflow noticed. */
#include "tir/linear.h"

/* Equal atoms; variables, the usual case, without walking. */
static bool same_atom(const tir_expr *a, const tir_expr *b) {
  if (a == b) return true;
  if (a->op != b->op) return false;
  return a->op == TIR_VAR ? a->u.var == b->u.var : tir_equal(a, b);
}

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

/* ---- intervals --------------------------------------------------------------------------------------------------- */

/* Whether an end of an interval means "unbounded". */
static bool is_open(int64_t end) { return end == INT64_MIN || end == INT64_MAX; }

tir_interval tir_interval_add(tir_interval a, tir_interval b) {
  tir_interval sum;
  if (is_open(a.lo) || is_open(b.lo) || __builtin_add_overflow(a.lo, b.lo, &sum.lo)) sum.lo = INT64_MIN;
  if (is_open(a.hi) || is_open(b.hi) || __builtin_add_overflow(a.hi, b.hi, &sum.hi)) sum.hi = INT64_MAX;
  return sum;
}

/* An end times a factor; an open or overflowing product gives the open end in its direction. */
static int64_t scale_end(int64_t end, int64_t factor, int64_t open) {
  int64_t product;
  return is_open(end) || __builtin_mul_overflow(end, factor, &product) ? open : product;
}

tir_interval tir_interval_scale(tir_interval a, int64_t factor) {
  if (factor == 0) return (tir_interval){0, 0};
  int64_t low = factor > 0 ? a.lo : a.hi, high = factor > 0 ? a.hi : a.lo;
  return (tir_interval){scale_end(low, factor, INT64_MIN), scale_end(high, factor, INT64_MAX)};
}

tir_interval tir_interval_meet(tir_interval a, tir_interval b) {
  return (tir_interval){RUNTIME_MAX(a.lo, b.lo), RUNTIME_MIN(a.hi, b.hi)};
}

bool tir_interval_within(tir_interval inner, tir_interval outer) {
  return inner.lo >= outer.lo && inner.hi <= outer.hi;
}
