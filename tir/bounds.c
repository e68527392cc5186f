/* bounds.c: interval analysis of integer expressions, sharpened by known conditions, and deciding
 * comparisons with it. Sums are bounded as linear forms, so that i*8 + j - i*8 is j; everything else by
 * the intervals of its arguments. Nothing here allocates: an analysis is a tir_known on the caller's
 * stack, and its budget bounds the time on any DAG. */
#include <assert.h>

#include "tir/linear.h"

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* What the environment says about a variable, all its nodes together. */
static tir_interval var_range(const tir_known *known, const tir_var *var) {
  tir_interval r = known->range_of != NULL ? known->range_of(var) : TIR_UNBOUNDED;
  for (const tir_env *at = known->env; at != NULL; at = at->outer) {
    if (at->var == var) r = tir_interval_meet(r, at->range);
  }
  return r;
}

/* Of a sum or a product with a constant, as a linear form. */
static tir_interval sum_bounds(tir_known *known, const tir_expr *e) {
  tir_linear form;
  tir_linear_zero(&form);
  if (known->is_thorough)
    tir_exact_form(known, e, &form);
  else if (!tir_linear_add_expr(&form, e, 1))
    return TIR_UNBOUNDED;
  if (form.n == 1 && form.terms[0].atom == e) return TIR_UNBOUNDED; /* too deep to take apart */
  return tir_linear_bounds(known, &form);
}

/* By the intervals of the arguments alone. Conditions that contradict each other leave an argument no value: then the
 * node has none, too. */
static tir_interval operator_bounds(tir_known *known, const tir_expr *e) {
  tir_interval a = tir_known_bounds(known, e->arg[0]);
  tir_interval b = e->n_args > 1 ? tir_known_bounds(known, e->arg[1]) : (tir_interval){0, 0};
  if (known->is_thorough && tir_interval_is_empty(a)) return a;
  if (known->is_thorough && tir_interval_is_empty(b)) return b;
  return tir_interval_apply((tir_op)e->op, a, b);
}

/* Over all lanes. */
static tir_interval ramp_bounds(tir_known *known, const tir_expr *e) {
  tir_interval base = tir_known_bounds(known, e->arg[0]);
  tir_interval steps = tir_interval_scale((tir_interval){0, e->lanes - 1}, e->u.i);
  return tir_interval_add(base, steps);
}

/* Each side is looked at where its side of the condition holds; a side that cannot be taken has no say. */
static tir_interval select_bounds(tir_known *known, const tir_expr *e) {
  tir_interval side[2];
  for (int i = 0; i < 2; i++) {
    int n_facts = known->n_facts, n_conds = known->n_conds;
    if (known->is_thorough) tir_known_push(known, e->arg[0], i == 0);
    side[i] = tir_known_bounds(known, e->arg[1 + i]);
    known->n_facts = n_facts, known->n_conds = n_conds;
  }
  if (tir_interval_is_empty(side[0])) return side[1];
  return tir_interval_is_empty(side[1]) ? side[0] : tir_interval_hull(side[0], side[1]);
}

/* A cast to bool is "!= 0", not a change of width, and floats have no bounds here. The caller cuts off
 * what the new dtype does not hold. */
static tir_interval cast_bounds(tir_known *known, const tir_expr *e) {
  bool is_opaque = runtime_is_float(e->arg[0]->dtype) || e->dtype == TN_BOOL;
  return is_opaque ? TIR_UNBOUNDED : tir_known_bounds(known, e->arg[0]);
}

/* Bounds over the integers; what leaves the dtype is cut off by the caller. */
static tir_interval raw_bounds(tir_known *known, const tir_expr *e) {
  int64_t value;
  switch (tir_class_of(e)) {
    case TIR_CLASS_CONSTANT: return (tir_interval){e->u.i, e->u.i};
    case TIR_CLASS_VARIABLE: return tir_interval_meet(var_range(known, e->u.var), tir_dtype_range(e->dtype));
    case TIR_CLASS_SUM:
      if (e->op != TIR_MUL || tir_is_int(e->arg[0], &value) || tir_is_int(e->arg[1], &value))
        return sum_bounds(known, e);
      return operator_bounds(known, e);
    case TIR_CLASS_DIVISION:
    case TIR_CLASS_EXTREMUM:
    case TIR_CLASS_MAGNITUDE:
    case TIR_CLASS_BITS:
    case TIR_CLASS_SHIFT: return operator_bounds(known, e);
    case TIR_CLASS_COUNT: return (tir_interval){0, 8 * (int64_t)tn_dtype_bytes(e->dtype)};
    case TIR_CLASS_SELECT: return select_bounds(known, e);
    case TIR_CLASS_CAST: return cast_bounds(known, e);
    case TIR_CLASS_BROADCAST: return tir_known_bounds(known, e->arg[0]);
    case TIR_CLASS_RAMP: return ramp_bounds(known, e);
    case TIR_CLASS_TENSOR:
    case TIR_CLASS_LOAD:
    case TIR_CLASS_RATIO:
    case TIR_CLASS_COMPARISON:
    case TIR_CLASS_LOGIC:
    case TIR_CLASS_MATH:
    case TIR_CLASS_TEST:
    case TIR_CLASS_DOT: break;
  }
  return TIR_UNBOUNDED;
}

/* Narrows by facts about this very expression. */
static tir_interval meet_facts(const tir_known *known, const tir_expr *e, tir_interval r) {
  for (int i = 0; i < known->n_facts; i++) {
    const tir_fact *fact = &known->facts[i];
    if (fact->form.n == 1 && tir_equal(fact->form.terms[0].atom, e)) r = tir_interval_meet(r, fact->range);
  }
  return r;
}

/* Where the interval of a node leaves its dtype, the value may have wrapped and can be anything: the
 * whole dtype, never a part of it. What is shared is visited on every path to it, which is what the
 * budget is for. */
tir_interval tir_known_bounds(tir_known *known, const tir_expr *e) {
  tir_interval all = tir_dtype_range(e->dtype);
  if (runtime_is_float(e->dtype)) return TIR_UNBOUNDED;
  if (--known->budget < 0) return all;
  tir_interval r = raw_bounds(known, e);
  if (!tir_interval_within(r, all)) r = all;
  return known->n_facts > 0 && e->op != TIR_INT ? meet_facts(known, e, r) : r;
}

/* ---- linear forms ------------------------------------------------------------------------------------------------ */

/* Term by term, without facts of several terms. */
static tir_interval plain_bounds(tir_known *known, const tir_linear *form) {
  tir_interval sum = {form->constant, form->constant};
  for (int i = 0; i < form->n; i++) {
    tir_interval atom = tir_known_bounds(known, form->terms[i].atom);
    sum = tir_interval_add(sum, tir_interval_scale(atom, form->terms[i].coef));
  }
  return sum;
}

/* form = factor * fact + rest: bounds by the fact's range and the plain bounds of the rest, for which only facts before
 * this one may be used. */
static tir_interval bounds_by_fact(tir_known *known, const tir_linear *form, int at) {
  const tir_fact *fact = &known->facts[at];
  const tir_term *pivot = &fact->form.terms[0];
  for (int i = 0; i < form->n; i++) {
    if (form->terms[i].atom != pivot->atom && !tir_equal(form->terms[i].atom, pivot->atom)) continue;
    int64_t factor = form->terms[i].coef / pivot->coef;
    if (factor * pivot->coef != form->terms[i].coef) break;
    tir_linear rest = *form;
    if (!tir_linear_add(&rest, &fact->form, -factor)) break;
    int n_usable = known->n_usable;
    known->n_usable = at;
    tir_interval other = plain_bounds(known, &rest);
    known->n_usable = n_usable;
    return tir_interval_add(tir_interval_scale(fact->range, factor), other);
  }
  return TIR_UNBOUNDED;
}

/* FORM with one of its least or greatest of two for term AT, which has them. False: too long a form. */
static bool with_choice(tir_known *known, const tir_linear *form, int at, int choice, tir_linear *out) {
  const tir_term *t = &form->terms[at];
  tir_linear part;
  *out = *form;
  tir_exact_form(known, t->atom->arg[choice], &part);
  return tir_linear_add_atom(out, t->atom, -t->coef) && tir_linear_add(out, &part, t->coef);
}

/* min(a, b) - c is at most a - c, and at most b - c: either may be known better, as min(o*8, M - 8) - M is. */
static tir_interval bounds_by_choice(tir_known *known, const tir_linear *form, int at) {
  const tir_term *t = &form->terms[at];
  bool is_upper = (t->atom->op == TIR_MIN) == (t->coef > 0);
  tir_interval r = TIR_UNBOUNDED;
  for (int choice = 0; choice < 2; choice++) {
    tir_linear chosen;
    if (--known->budget < 0 || !with_choice(known, form, at, choice, &chosen)) break;
    tir_interval other = tir_linear_bounds(known, &chosen);
    if (is_upper)
      r.hi = RUNTIME_MIN(r.hi, other.hi);
    else
      r.lo = RUNTIME_MAX(r.lo, other.lo);
  }
  return r;
}

/* Facts of one term have done their work when the atoms were bounded; those of several terms are
 * subtracted from the form one at a time. */
tir_interval tir_linear_bounds(tir_known *known, const tir_linear *form) {
  tir_interval r = plain_bounds(known, form);
  int n = RUNTIME_MIN(known->n_facts, known->n_usable);
  for (int i = 0; i < n && form->n > 0; i++) {
    if (known->facts[i].form.n > 1) r = tir_interval_meet(r, bounds_by_fact(known, form, i));
  }
  for (int i = 0; i < form->n && form->n > 1; i++)
    if (tir_class_of(form->terms[i].atom) == TIR_CLASS_EXTREMUM && form->terms[i].atom->lanes == 1)
      r = tir_interval_meet(r, bounds_by_choice(known, form, i));
  return r;
}

/* False: E is no sum, or too long a one. */
static bool add_exact_parts(tir_known *known, const tir_expr *e, tir_linear *form) {
  int64_t factor;
  tir_linear part;
  if (e->op == TIR_INT) return tir_linear_add_const(form, e->u.i);
  if (e->op == TIR_ADD || e->op == TIR_SUB) {
    tir_exact_form(known, e->arg[0], form);
    tir_exact_form(known, e->arg[1], &part);
    return tir_linear_add(form, &part, e->op == TIR_ADD ? 1 : -1);
  }
  if (e->op == TIR_MUL && (tir_is_int(e->arg[1], &factor) || tir_is_int(e->arg[0], &factor))) {
    tir_exact_form(known, e->arg[tir_is_int(e->arg[1], &factor) ? 0 : 1], &part);
    return factor != 0 && tir_linear_add(form, &part, factor);
  }
  if (e->op != TIR_CAST || runtime_is_float(e->arg[0]->dtype)) return false;
  tir_exact_form(known, e->arg[0], form);
  return true;
}

/* Needs a closed interval: a form with an open end could overflow int64 itself. */
void tir_exact_form(tir_known *known, const tir_expr *e, tir_linear *form) {
  tir_linear_zero(form);
  if (!runtime_is_float(e->dtype) && add_exact_parts(known, e, form)) {
    tir_interval r = tir_linear_bounds(known, form);
    if (tir_interval_is_closed(r) && tir_interval_within(r, tir_dtype_range(e->dtype))) return;
  }
  tir_linear_zero(form);
  tir_linear_add_atom(form, e, 1);
}

/* A single atom is the expression itself, which fits its dtype by definition. */
bool tir_linear_exact(tir_known *known, const tir_linear *form, tn_dtype dtype) {
  if (form->n == 1 && form->terms[0].coef == 1 && form->constant == 0) return true;
  tir_interval r = tir_linear_bounds(known, form);
  return tir_interval_is_closed(r) && tir_interval_within(r, tir_dtype_range(dtype));
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* All six comparisons of integers are a set of signs. */
static const tir_op of_signs[] = {[TIR_LESS] = TIR_LT, [TIR_EQUAL] = TIR_EQ,           [TIR_LESS | TIR_EQUAL] = TIR_LE,
                                  [TIR_MORE] = TIR_GT, [TIR_LESS | TIR_MORE] = TIR_NE, [TIR_MORE | TIR_EQUAL] = TIR_GE};

/* The six comparisons are the six proper subsets of {less, equal, more}, so that negating and swapping
 * are set operations and need no table of their own. */
int tir_comparison_signs(tir_op op) {
  for (int signs = 1; signs < RUNTIME_COUNT(of_signs); signs++)
    if (of_signs[signs] == op) return signs;
  return 0;
}

tir_op tir_negated_comparison(tir_op op) {
  return of_signs[(TIR_LESS | TIR_EQUAL | TIR_MORE) & ~tir_comparison_signs(op)];
}

tir_op tir_swapped_comparison(tir_op op) {
  int signs = tir_comparison_signs(op), swapped = signs & TIR_EQUAL;
  if (signs & TIR_LESS) swapped |= TIR_MORE;
  if (signs & TIR_MORE) swapped |= TIR_LESS;
  return of_signs[swapped];
}

/* The range of != is everything, as its true set has a hole that an interval cannot have. */
tir_interval tir_comparison_range(tir_op op) {
  int signs = tir_comparison_signs(op);
  int64_t middle = signs & TIR_EQUAL ? 0 : signs & TIR_LESS ? -1 : 1;
  return (tir_interval){signs & TIR_LESS ? INT64_MIN : middle, signs & TIR_MORE ? INT64_MAX : middle};
}

/* The difference of a comparison's sides as a form; false unless both sides are exact. */
static bool comparison_form(tir_known *known, const tir_expr *cond, tir_linear *form) {
  const tir_expr *a = cond->arg[0], *b = cond->arg[1];
  if (runtime_is_float(a->dtype)) return false;
  tir_linear right;
  tir_linear_zero(form);
  tir_linear_zero(&right);
  if (known->is_thorough) {
    tir_exact_form(known, a, form);
    tir_exact_form(known, b, &right);
    return tir_linear_add(form, &right, -1);
  }
  return tir_linear_add_expr(form, a, 1) && tir_linear_exact(known, form, a->dtype) &&
         tir_linear_add_expr(&right, b, 1) && tir_linear_exact(known, &right, b->dtype) &&
         tir_linear_add(form, &right, -1);
}

/* c*(x + ...) in [lo, hi] as x + ... in [ceil(lo/c), floor(hi/c)]; a single term loses its sign, too. */
static void divide_fact(tir_fact *fact) {
  tir_linear *form = &fact->form;
  int64_t c = 0;
  for (int i = 0; i < form->n; i++) c = tir_common_divisor(form->terms[i].coef, c);
  assert(c != 0 && "a fact about variables");
  if (form->n == 1 && form->terms[0].coef < 0) c = -c;
  for (int i = 0; i < form->n; i++) form->terms[i].coef /= c;
  if (c < 0) fact->range = tir_interval_scale(fact->range, -1), c = -c;
  int64_t low = fact->range.lo, high = fact->range.hi;
  fact->range.lo = low == INT64_MIN ? low : -runtime_floordiv(-low, c);
  fact->range.hi = high == INT64_MAX ? high : runtime_floordiv(high, c);
}

/* Makes a fact of (left OP right). */
static void push_comparison(tir_known *known, const tir_expr *cond, tir_op op) {
  if (known->n_facts == TIR_KNOWN_FACTS || op == TIR_NE) return;
  tir_fact *fact = &known->facts[known->n_facts];
  if (!comparison_form(known, cond, &fact->form) || fact->form.n == 0) return;
  int64_t offset;
  if (__builtin_sub_overflow((int64_t)0, fact->form.constant, &offset)) return;
  fact->range = tir_interval_add(tir_comparison_range(op), (tir_interval){offset, offset});
  fact->form.constant = 0;
  divide_fact(fact);
  known->n_facts++;
}

/* Of a condition that does not hold, an OR gives two facts and an AND none: one of its sides fails, but
 * which one is not known. The condition itself is kept for decide_structurally. */
void tir_known_push(tir_known *known, const tir_expr *cond, bool holds) {
  if (cond->op == TIR_NOT) {
    tir_known_push(known, cond->arg[0], !holds);
  } else if (cond->op == (holds ? TIR_AND : TIR_OR)) {
    tir_known_push(known, cond->arg[0], holds);
    tir_known_push(known, cond->arg[1], holds);
  } else {
    if (tir_class_of(cond) == TIR_CLASS_COMPARISON) {
      push_comparison(known, cond, holds ? (tir_op)cond->op : tir_negated_comparison(cond->op));
    }
    if (holds && known->n_conds < TIR_KNOWN_FACTS) known->conds[known->n_conds++] = cond;
  }
}

/* Outer conditions first, so that inner ones can build on them. */
static void push_env(tir_known *known, const tir_env *env) {
  if (env == NULL) return;
  push_env(known, env->outer);
  if (env->cond != NULL) tir_known_push(known, env->cond, true);
}

/* Linear in the length of the environment. What does not fit in the tables is forgotten from the
 * inside, since the outer conditions are pushed first. */
void tir_known_init(tir_known *known, const tir_env *env) {
  known->env = env;
  known->budget = TIR_ANALYSIS_BUDGET;
  known->is_thorough = false;
  known->range_of = NULL;
  known->n_facts = known->n_conds = 0;
  known->n_usable = TIR_KNOWN_FACTS;
  push_env(known, env);
}

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

/* An empty interval allows no sign at all and decides for 1: what stands there is never evaluated. */
int tir_decide_sign(tir_op op, tir_interval r) {
  int possible = (r.lo < 0 ? TIR_LESS : 0) | (r.lo <= 0 && r.hi >= 0 ? TIR_EQUAL : 0) | (r.hi > 0 ? TIR_MORE : 0);
  int allowed = tir_comparison_signs(op);
  return (possible & ~allowed) == 0 ? 1 : (possible & allowed) == 0 ? 0 : -1;
}

/* By the form of the difference where both sides are exact, else by the intervals of the sides. */
static int decide_comparison(tir_known *known, const tir_expr *cond) {
  const tir_expr *a = cond->arg[0], *b = cond->arg[1];
  tir_linear form;
  if (runtime_is_float(a->dtype)) return -1;
  if (comparison_form(known, cond, &form)) return tir_decide_sign(cond->op, tir_linear_bounds(known, &form));
  tir_interval low = tir_known_bounds(known, a), high = tir_interval_scale(tir_known_bounds(known, b), -1);
  return tir_decide_sign(cond->op, tir_interval_add(low, high));
}

/* Whether the condition is one of those known to hold, literally. */
static int decide_structurally(const tir_known *known, const tir_expr *cond) {
  for (int i = 0; i < known->n_conds; i++) {
    if (tir_equal(known->conds[i], cond)) return 1;
  }
  return -1;
}

/* AND with absorbing value 0, OR with 1. */
static int decide_pair(tir_known *known, const tir_expr *cond, int absorbing) {
  int a = tir_known_decide(known, cond->arg[0]), b = tir_known_decide(known, cond->arg[1]);
  if (a == absorbing || b == absorbing) return absorbing;
  return a < 0 || b < 0 ? -1 : !absorbing;
}

/* The structural comparison comes last. It finds what arithmetic cannot, conditions on loaded values
 * for instance. */
int tir_known_decide(tir_known *known, const tir_expr *cond) {
  if (--known->budget < 0) return -1;
  if (cond->op == TIR_INT) return cond->u.i != 0;
  if (cond->op == TIR_BROADCAST) return tir_known_decide(known, cond->arg[0]);
  int answer = -1;
  if (tir_class_of(cond) == TIR_CLASS_COMPARISON) answer = decide_comparison(known, cond);
  if (cond->op == TIR_AND) answer = decide_pair(known, cond, 0);
  if (cond->op == TIR_OR) answer = decide_pair(known, cond, 1);
  if (cond->op == TIR_NOT) return (answer = tir_known_decide(known, cond->arg[0])) < 0 ? -1 : !answer;
  return answer >= 0 ? answer : decide_structurally(known, cond);
}

/* Whether every value of the loops' variables is possible beside every other, and each atom of FORM is one. Then both ends of the
 * form's interval are values that it takes. */
static bool takes_its_ends(const tir_known *known, const tir_linear *form) {
  if (known->n_facts > 0 || known->n_conds > 0) return false;
  for (int i = 0; i < form->n; i++)
    if (form->terms[i].atom->op != TIR_VAR) return false;
  return form->n > 0;
}

bool tir_known_refutes(tir_known *known, const tir_expr *cond) {
  tir_linear form;
  if (tir_class_of(cond) != TIR_CLASS_COMPARISON || cond->op == TIR_NE || cond->lanes > 1) return false;
  if (!comparison_form(known, cond, &form) || !takes_its_ends(known, &form)) return false;
  tir_interval r = tir_linear_bounds(known, &form);
  return r.lo < r.hi && tir_interval_is_closed(r) && tir_decide_sign(cond->op, r) != 1;
}

/* ---- the public question ----------------------------------------------------------------------------------------- */

/* Gives "unbounded" instead of the ends of a dtype of 32 bits or more, so that a caller sees that
 * nothing is known. For narrow dtypes, as those of data, the dtype's range is worth having. */
tir_interval tir_bounds(const tir_env *env, const tir_expr *e) {
  tir_known known;
  tir_known_init(&known, env);
  tir_interval r = tir_known_bounds(&known, e), all = tir_dtype_range(e->dtype);
  bool wide = tn_dtype_bytes(e->dtype) >= 4;
  return wide && r.lo == all.lo && r.hi == all.hi ? TIR_UNBOUNDED : r;
}
