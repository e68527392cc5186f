/* linear.h: linear forms of integer expressions, what is known about them, and intervals: shared by bounds.c and the
 * files of the simplifier.
 *
 * A form stands for sum(coef * atom) + constant over the integers. It equals the expression it was made from modulo
 * 2^bits of the expression's dtype; where its interval fits the dtype the two are equal, and the form is called exact.
 */
#ifndef TENON_TIR_LINEAR_H
#define TENON_TIR_LINEAR_H

#include "tir/internal.h"

enum { TIR_LINEAR_TERMS = 16, TIR_KNOWN_FACTS = 32, TIR_ANALYSIS_BUDGET = 100000 };

/* COEF times ATOM. */
typedef struct tir_term {
  const tir_expr *atom; /* not an integer constant, sum or product with a constant */
  int64_t coef;         /* never 0 */
} tir_term;

/* Terms stand in order of first appearance; no two have equal atoms. */
typedef struct tir_linear {
  int n;
  int64_t constant; /* never INT64_MIN, so that it can be negated; nor is a coefficient */
  tir_term terms[TIR_LINEAR_TERMS];
} tir_linear;

static inline void tir_linear_zero(tir_linear *form) { form->n = 0, form->constant = 0; }

/* These are false when the form would have too many terms or a number leave int64; the form is then spoilt. */
bool tir_linear_add_atom(tir_linear *form, const tir_expr *atom, int64_t coef);
bool tir_linear_add_const(tir_linear *form, int64_t value);
bool tir_linear_add(tir_linear *form, const tir_linear *other, int64_t scale);
/* Whether two forms differ by a constant, if at all. */
static inline bool tir_linear_same_terms(const tir_linear *a, const tir_linear *b) {
  tir_linear difference = *a;
  return a->n == b->n && tir_linear_add(&difference, b, -1) && difference.n == 0;
}
/* form += scale * E, looking through + - and products with constants only; allocates nothing. */
bool tir_linear_add_expr(tir_linear *form, const tir_expr *e, int64_t scale);

/* Euclid's greatest common divisor, never negative; of 0 and x it is |x|. Coefficients are never INT64_MIN. */
int64_t tir_common_divisor(int64_t a, int64_t b);

/* ---- intervals --------------------------------------------------------------------------------------------------- */

#define TIR_UNBOUNDED ((tir_interval){INT64_MIN, INT64_MAX})

/* Results are rounded outwards: an end that int64 does not hold is open. Here, since they are a few instructions each,
 * of which lowering a schedule takes thousands. */

/* Whether an end of an interval means "unbounded". */
static inline bool tir_is_open(int64_t end) { return end == INT64_MIN || end == INT64_MAX; }

/* An end that overflows becomes open: that is always a correct bound. */
static inline tir_interval tir_interval_add(tir_interval a, tir_interval b) {
  tir_interval sum;
  if (tir_is_open(a.lo) || tir_is_open(b.lo) || __builtin_add_overflow(a.lo, b.lo, &sum.lo)) sum.lo = INT64_MIN;
  if (tir_is_open(a.hi) || tir_is_open(b.hi) || __builtin_add_overflow(a.hi, b.hi, &sum.hi)) sum.hi = INT64_MAX;
  return sum;
}

/* An end times a factor; an open or overflowing product gives the open end in its direction. */
static inline int64_t tir_scale_end(int64_t end, int64_t factor, int64_t open) {
  int64_t product;
  return tir_is_open(end) || __builtin_mul_overflow(end, factor, &product) ? open : product;
}

/* A negative factor swaps the ends. 0 times unbounded is 0. */
static inline tir_interval tir_interval_scale(tir_interval a, int64_t factor) {
  if (factor == 0) return (tir_interval){0, 0};
  int64_t low = factor > 0 ? a.lo : a.hi, high = factor > 0 ? a.hi : a.lo;
  return (tir_interval){tir_scale_end(low, factor, INT64_MIN), tir_scale_end(high, factor, INT64_MAX)};
}

static inline tir_interval tir_interval_hull(tir_interval a, tir_interval b) {
  return (tir_interval){RUNTIME_MIN(a.lo, b.lo), RUNTIME_MAX(a.hi, b.hi)};
}

/* Bounded on both sides. */
static inline bool tir_interval_is_closed(tir_interval a) { return a.lo != INT64_MIN && a.hi != INT64_MAX; }

/* lo > hi: the conditions contradict each other, and what stands there is never evaluated. */
static inline bool tir_interval_is_empty(tir_interval a) { return a.lo > a.hi; }

static inline tir_interval tir_interval_meet(tir_interval a, tir_interval b) {
  return (tir_interval){RUNTIME_MAX(a.lo, b.lo), RUNTIME_MIN(a.hi, b.hi)};
}

/* An open end is within an open end only. */
static inline bool tir_interval_within(tir_interval inner, tir_interval outer) {
  return inner.lo >= outer.lo && inner.hi <= outer.hi;
}

/* What OP makes of all values of A (and B, ignored by operators of one operand), over the integers: nothing wraps. */
tir_interval tir_interval_apply(tir_op op, tir_interval a, tir_interval b);

/* ---- what is known ----------------------------------------------------------------------------------------------- */

/* A form without constant whose value lies in range. */
typedef struct tir_fact {
  tir_linear form;
  tir_interval range;
} tir_fact;

/* An environment digested for one analysis: its conditions as facts and, for structural comparison, as they are.
 * Both are stacks: a caller may push conditions, ask, and restore the counts. */
typedef struct tir_known {
  const tir_env *env;
  int budget;       /* nodes that may still be visited; afterwards answers are "nothing known" */
  bool is_thorough; /* sharper and slower, for te: forms are exact part by part, look through casts that keep the value,
                     * and each side of a select is looked at where its side of the condition holds */
  tir_interval (*range_of)(const tir_var *var); /* of variables that ENV does not bind; NULL: of none */
  int n_facts, n_conds;
  int n_usable; /* facts of several terms that may be used: fewer while one is used, so that they do not chase each
                   other */
  tir_fact facts[TIR_KNOWN_FACTS];
  const tir_expr *conds[TIR_KNOWN_FACTS];
} tir_known;

/* No facts beyond ENV, which must outlive KNOWN; the full budget. */
void tir_known_init(tir_known *known, const tir_env *env);
/* Adds a condition that holds (or with HOLDS false: that does not). Conjunctions are taken apart; what does not fit in
 * the tables is forgotten. */
void tir_known_push(tir_known *known, const tir_expr *cond, bool holds);
/* Interval of an expression within its dtype's range; of a form over the integers. */
tir_interval tir_known_bounds(tir_known *known, const tir_expr *e);
tir_interval tir_linear_bounds(tir_known *known, const tir_linear *form);
/* The form that equals E as an integer: sums, products with a constant and casts are taken apart as far as each part
 * is shown to be exact; what is not is an atom. */
void tir_exact_form(tir_known *known, const tir_expr *e, tir_linear *form);
/* Whether the form's interval fits the dtype. */
bool tir_linear_exact(tir_known *known, const tir_linear *form, tn_dtype dtype);
/* 1: COND holds, 0: its opposite holds, -1: unknown. Allocates nothing. */
int tir_known_decide(tir_known *known, const tir_expr *cond);
/* Whether values of the loops' variables are known for which COND, that was not decided, does not hold: then no simplification of it
 * finds that it does. */
bool tir_known_refutes(tir_known *known, const tir_expr *cond);
/* The values of a form for which (form OP 0) holds; of != all. */
tir_interval tir_comparison_range(tir_op op);
/* Decides (form OP 0) from an interval of the form. */
int tir_decide_sign(tir_op op, tir_interval interval);

/* The comparison with the same meaning after negation (< to >=) or after swapping sides (< to >). */
tir_op tir_negated_comparison(tir_op op);
tir_op tir_swapped_comparison(tir_op op);

#endif
