/* simplify_bool.c: comparisons and booleans. A comparison is decided by the bounds of its sides' difference, else
 * divided by common factors and written with positive terms on the left, subtracted ones on the right. Of a
 * conjunction's (or disjunction's) parts those that the others imply are dropped. */
#include <assert.h>

#include "tir/simplify.h"

enum { MAX_PARTS = 16 };

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

/* A scalar boolean constant. */
static const tir_expr *truth(tir_simplifier *s, bool value) { return tir_int(s->arena, TN_BOOL, value); }

/* Rounds up for negative numbers, too. B > 0. */
static int64_t ceil_div(int64_t a, int64_t b) { return runtime_floordiv(a, b) + (runtime_floormod(a, b) != 0); }

/* The bound T with (factor*M + rest OP limit) == (M OP T) for one value of rest. */
static int64_t bound_for(tir_op op, int64_t limit, int64_t rest, int64_t factor) {
  bool up = op == TIR_LT || op == TIR_GE;
  return up ? ceil_div(limit - rest, factor) : runtime_floordiv(limit - rest, factor);
}

/* Far from the ends of int64, so that differences cannot overflow. */
static bool is_small(int64_t value) { return value > INT64_MIN / 4 && value < INT64_MAX / 4; }

/* Rewrites FORM OP 0, for an inequality, as M OP T where the terms that FACTOR does not divide cannot change the
 * outcome: i*32 + j < 1024 with 0 <= j < 32 is i < 32. */
static bool divide_inequality(tir_simplifier *s, tir_op op, tir_linear *form, int64_t factor) {
  tir_linear multiples, rest;
  tir_linear_zero(&multiples);
  tir_linear_zero(&rest);
  for (int i = 0; i < form->n; i++) {
    const tir_term *t = &form->terms[i];
    bool divides = t->coef % factor == 0;
    if (!tir_linear_add_atom(divides ? &multiples : &rest, t->atom, divides ? t->coef / factor : t->coef)) return false;
  }
  tir_interval r = tir_linear_bounds(&s->known, &rest);
  if (!is_small(r.lo) || !is_small(r.hi) || !is_small(form->constant)) return false;
  int64_t bound = bound_for(op, -form->constant, r.lo, factor);
  if (bound != bound_for(op, -form->constant, r.hi, factor)) return false;
  multiples.constant = -bound;
  *form = multiples;
  return true;
}

/* The largest |coefficient| less than LIMIT; 1 when there is none. */
static int64_t largest_coef_below(const tir_linear *form, int64_t limit) {
  int64_t best = 1;
  for (int i = 0; i < form->n; i++) {
    int64_t coef = form->terms[i].coef < 0 ? -form->terms[i].coef : form->terms[i].coef;
    if (coef < limit && coef > best) best = coef;
  }
  return best;
}

/* The greatest common divisor of all coefficients; 0 without any. */
static int64_t common_factor(const tir_linear *form) {
  int64_t g = 0;
  for (int i = 0; i < form->n; i++) g = tir_common_divisor(form->terms[i].coef, g);
  return g;
}

/* Divides FORM OP 0 as far as it goes. *decided: -1, or the outcome of an equation without solutions. */
static void divide_comparison(tir_simplifier *s, tir_op op, tir_linear *form, int *decided) {
  int64_t g = common_factor(form);
  assert(g > 0 && "a form with terms");
  *decided = -1;
  if (op == TIR_EQ || op == TIR_NE) {
    if (form->constant % g != 0) {
      *decided = op == TIR_NE;
    } else if (g > 1) {
      for (int i = 0; i < form->n; i++) form->terms[i].coef /= g;
      form->constant /= g;
    }
    return;
  }
  if (g > 1) divide_inequality(s, op, form, g);
  for (int64_t f = largest_coef_below(form, INT64_MAX); f > 1; f = largest_coef_below(form, f)) {
    if (divide_inequality(s, op, form, f)) f = INT64_MAX;
  }
}

/* FORM OP 0 with positive terms on the left and the constant where it is positive; NULL when a side might wrap. */
static const tir_expr *emit_comparison(tir_simplifier *s, tir_op op, const tir_linear *form, tn_dtype dtype) {
  tir_linear left, right;
  tir_linear_zero(&left);
  tir_linear_zero(&right);
  for (int i = 0; i < form->n; i++) {
    const tir_term *t = &form->terms[i];
    if (!tir_linear_add_atom(t->coef > 0 ? &left : &right, t->atom, t->coef > 0 ? t->coef : -t->coef)) return NULL;
  }
  if (left.n == 0) {
    left = right;
    tir_linear_zero(&right);
    left.constant = 0, right.constant = form->constant;
    op = tir_swapped_comparison(op);
  } else if (right.n == 0 || form->constant < 0) {
    right.constant = -form->constant;
  } else {
    left.constant = form->constant;
  }
  if (!tir_linear_exact(&s->known, &left, dtype) || !tir_linear_exact(&s->known, &right, dtype)) return NULL;
  return tir_binary(s->arena, op, tir_emit_form(s->arena, &left, dtype), tir_emit_form(s->arena, &right, dtype));
}

/* -form when no term is positive, so that bounds are read off a form with a positive side. */
static tir_op make_positive(tir_op op, tir_linear *form) {
  for (int i = 0; i < form->n; i++) {
    if (form->terms[i].coef > 0) return op;
  }
  tir_linear negated;
  tir_linear_zero(&negated);
  if (!tir_linear_add(&negated, form, -1)) return op;
  *form = negated;
  return tir_swapped_comparison(op);
}

/* FORM's term that is x // d, +-1 times, d a number; -1: there is none. */
static int quotient_of(const tir_linear *form, int64_t *divisor) {
  for (int i = 0; i < form->n; i++) {
    const tir_term *t = &form->terms[i];
    bool is_one = t->coef == 1 || t->coef == -1;
    if (is_one && t->atom->op == TIR_FLOORDIV && tir_is_int(t->atom->arg[1], divisor) && *divisor > 0) return i;
  }
  return -1;
}

/* FORM OP 0 by what is known of x, where x // d is a term: x // d + R < 0 is x + R*d < 0. 1, 0 or -1: undecided. */
static int decide_quotient(tir_simplifier *s, tir_op op, const tir_linear *form) {
  int64_t d = 0;
  int at = op == TIR_EQ || op == TIR_NE ? -1 : quotient_of(form, &d);
  if (at < 0) return -1;
  int64_t sign = form->terms[at].coef;
  tir_linear rest, x;
  tir_linear_zero(&rest);
  if (sign < 0) op = tir_swapped_comparison(op);
  bool is_said = tir_linear_add(&rest, form, sign) && tir_linear_add_atom(&rest, form->terms[at].atom, -1);
  if (op == TIR_LE || op == TIR_GT) { /* of whole numbers: q + R <= 0 is q + R - 1 < 0 */
    is_said = is_said && tir_linear_add_const(&rest, -1);
    op = op == TIR_LE ? TIR_LT : TIR_GE;
  }
  tir_exact_form(&s->known, form->terms[at].atom->arg[0], &x);
  if (!is_said || !tir_linear_add(&x, &rest, d)) return -1;
  return tir_decide_sign(op, tir_linear_bounds(&s->known, &x));
}

/* FORM OP 0 decided or in normal form; NULL when that could wrap. */
static const tir_expr *normal_comparison(tir_simplifier *s, tir_op op, tir_linear *form, tn_dtype dtype) {
  int decided = tir_decide_sign(op, tir_linear_bounds(&s->known, form));
  if (decided >= 0) return truth(s, decided);
  op = make_positive(op, form);
  divide_comparison(s, op, form, &decided);
  if (decided < 0) decided = tir_decide_sign(op, tir_linear_bounds(&s->known, form));
  if (decided < 0) decided = decide_quotient(s, op, form);
  return decided >= 0 ? truth(s, decided) : emit_comparison(s, op, form, dtype);
}

/* A comparison of integers; of equal sides even where they wrap. */
static const tir_expr *simplify_comparison(tir_simplifier *s, const tir_expr *e) {
  tn_dtype dtype = e->arg[0]->dtype;
  tir_linear a, b, difference;
  if (!tir_simplify_form(s, e->arg[0], &a) || !tir_simplify_form(s, e->arg[1], &b)) return NULL;
  difference = a;
  if (tir_linear_add(&difference, &b, -1)) {
    bool same = difference.n == 0 && difference.constant == 0;
    if (same) return truth(s, tir_decide_sign(e->op, (tir_interval){0, 0}));
    if (tir_linear_exact(&s->known, &a, dtype) && tir_linear_exact(&s->known, &b, dtype)) {
      const tir_expr *normal = normal_comparison(s, e->op, &difference, dtype);
      if (normal != NULL) return normal;
    }
  }
  return tir_binary(s->arena, e->op, tir_emit_form(s->arena, &a, dtype), tir_emit_form(s->arena, &b, dtype));
}

/* ---- conjunctions and disjunctions ------------------------------------------------------------------------------- */

/* The parts of one junction, in order; on the stack. */
typedef struct parts {
  int n;
  bool is_and;
  const tir_expr *item[MAX_PARTS];
  bool reads_memory[MAX_PARTS], dropped[MAX_PARTS];
} parts;

/* The simplified parts of a nest of ANDs (ORs). False: too many, or no memory. */
static bool collect(tir_simplifier *s, const tir_expr *e, parts *p) {
  if (e->op == (p->is_and ? TIR_AND : TIR_OR)) return collect(s, e->arg[0], p) && collect(s, e->arg[1], p);
  const tir_expr *simple = tir_simplify_node(s, e);
  if (simple == NULL || p->n == MAX_PARTS) return false;
  p->reads_memory[p->n] = tir_has_op(simple, TIR_LOAD) || tir_has_op(simple, TIR_READ);
  p->dropped[p->n] = false;
  p->item[p->n++] = simple;
  return true;
}

/* Part AT under the assumption that the other parts matter (hold for AND, fail for OR): 1, 0 or -1. A later part that
 * reads memory says nothing about an earlier one, which may guard its loads. */
static int decide_part(tir_simplifier *s, const parts *p, int at) {
  tir_known *known = &s->known;
  int n_facts = known->n_facts, n_conds = known->n_conds;
  for (int j = 0; j < p->n; j++) {
    if (j == at || p->dropped[j] || (j > at && p->reads_memory[j])) continue;
    if (j < at && tir_equal(p->item[j], p->item[at])) {
      known->n_facts = n_facts, known->n_conds = n_conds;
      return p->is_and;
    }
    tir_known_push(known, p->item[j], p->is_and);
  }
  int answer = tir_known_decide(known, p->item[at]);
  known->n_facts = n_facts, known->n_conds = n_conds;
  return answer;
}

/* What is left, joined in order. */
static const tir_expr *join_parts(tir_simplifier *s, const parts *p) {
  const tir_expr *joined = NULL;
  for (int i = 0; i < p->n; i++) {
    if (p->dropped[i]) continue;
    joined = joined == NULL ? p->item[i] : tir_binary(s->arena, p->is_and ? TIR_AND : TIR_OR, joined, p->item[i]);
  }
  return joined != NULL ? joined : truth(s, p->is_and);
}

/* Later parts are dropped first, so that of equal ones the first stays. */
static const tir_expr *simplify_junction(tir_simplifier *s, const tir_expr *e) {
  parts p = {.is_and = e->op == TIR_AND};
  if (!collect(s, e, &p)) {
    const tir_expr *a = tir_simplify_node(s, e->arg[0]), *b = tir_simplify_node(s, e->arg[1]);
    return tir_binary(s->arena, e->op, a, b);
  }
  for (int i = p.n - 1; i >= 0; i--) {
    int answer = decide_part(s, &p, i);
    if (answer == !p.is_and) return truth(s, !p.is_and);
    p.dropped[i] = answer == p.is_and;
  }
  return join_parts(s, &p);
}

/* ---- any boolean ------------------------------------------------------------------------------------------------- */

/* Any boolean node that is neither comparison nor junction: isnan, select, a load. */
static const tir_expr *simplify_args(tir_simplifier *s, const tir_expr *e) {
  const tir_expr *args[TN_MAX_RANK + 1];
  if (e->n_args > RUNTIME_COUNT(args)) return e;
  for (int i = 0; i < e->n_args; i++) {
    if ((args[i] = tir_simplify_node(s, e->arg[i])) == NULL) return NULL;
  }
  return tir_with_args(s->arena, e, args);
}

/* !(a < b) is a >= b for integers; == and != negate for floats too. */
static const tir_expr *simplify_not(tir_simplifier *s, const tir_expr *e) {
  const tir_expr *a = tir_simplify_node(s, e->arg[0]);
  if (a == NULL) return NULL;
  if (tir_class_of(a) == TIR_CLASS_COMPARISON) {
    bool total = !runtime_is_float(a->arg[0]->dtype) || a->op == TIR_EQ || a->op == TIR_NE;
    if (total) return tir_binary(s->arena, tir_negated_comparison(a->op), a->arg[0], a->arg[1]);
  }
  return tir_unary(s->arena, TIR_NOT, a);
}

/* What is known decides last, on the simplified form, so that conditions pushed in normal form are
 * found. */
const tir_expr *tir_simplify_bool(tir_simplifier *s, const tir_expr *e) {
  bool is_comparison = tir_class_of(e) == TIR_CLASS_COMPARISON;
  const tir_expr *result;
  if (e->lanes == 1 && is_comparison && !runtime_is_float(e->arg[0]->dtype)) {
    result = simplify_comparison(s, e);
  } else if (e->op == TIR_AND || e->op == TIR_OR) {
    result = simplify_junction(s, e);
  } else if (e->op == TIR_NOT) {
    result = simplify_not(s, e);
  } else {
    result = simplify_args(s, e);
  }
  if (result == NULL || tir_is_const(result)) return result;
  int answer = tir_known_decide(&s->known, result);
  return answer < 0 ? result : tir_broadcast(s->arena, truth(s, answer), e->lanes);
}
