/* bounds.c: interval analysis of integer expressions, sharpened by known conditions, and deciding comparisons with it.
 * Sums are bounded as linear forms, so that i*8 + j - i*8 is j; everything else by the intervals of its arguments. */
#include "tir/linear.h"

/* ---- intervals of operators -------------------------------------------------------------------------------------- */

/* The smallest interval around two. */
static tir_interval hull(tir_interval a, tir_interval b) {
  return (tir_interval){RUNTIME_MIN(a.lo, b.lo), RUNTIME_MAX(a.hi, b.hi)};
}

/* Bounded on both sides. */
static bool is_closed(tir_interval a) { return a.lo != INT64_MIN && a.hi != INT64_MAX; }

/* The extremes of a product lie at the corners. */
static tir_interval interval_mul(tir_interval a, tir_interval b) {
  int64_t ends[2][2] = {{a.lo, a.hi}, {b.lo, b.hi}}, product;
  if (!is_closed(a) || !is_closed(b)) return TIR_UNBOUNDED;
  tir_interval r = {INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    if (__builtin_mul_overflow(ends[0][i & 1], ends[1][i >> 1], &product)) return TIR_UNBOUNDED;
    r = hull(r, (tir_interval){product, product});
  }
  return r;
}

/* |x // d| <= |x| for every d, zero included. */
static tir_interval interval_floordiv(tir_interval x, tir_interval d) {
  if (x.lo > x.hi || d.lo > d.hi || !is_closed(x)) return TIR_UNBOUNDED;
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
  if (x.lo > x.hi || d.lo > d.hi) return TIR_UNBOUNDED;
  if (d.lo == d.hi && d.lo > 0 && is_closed(x)) {
    int64_t block = runtime_floordiv(x.lo, d.lo);
    if (block == runtime_floordiv(x.hi, d.lo)) return (tir_interval){x.lo - block * d.lo, x.hi - block * d.lo};
  }
  tir_interval r = {d.lo >= 0 ? 0 : d.lo == INT64_MIN ? d.lo : d.lo + 1, d.hi <= 0 ? 0 : d.hi - 1};
  if (d.lo > 0 && x.lo >= 0) r.hi = RUNTIME_MIN(r.hi, x.hi);
  return r;
}

static tir_interval interval_abs(tir_interval a) {
  if (!is_closed(a) || a.lo > a.hi) return TIR_UNBOUNDED;
  if (a.lo >= 0) return a;
  return a.hi <= 0 ? (tir_interval){-a.hi, -a.lo} : (tir_interval){0, RUNTIME_MAX(-a.lo, a.hi)};
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* What the environment says about a variable, all its nodes together. */
static tir_interval var_range(const tir_known *known, const tir_var *var) {
  tir_interval r = TIR_UNBOUNDED;
  for (const tir_env *at = known->env; at != NULL; at = at->outer) {
    if (at->var == var) r = tir_interval_meet(r, at->range);
  }
  return r;
}

/* Of a sum or a product with a constant, as a linear form. */
static tir_interval sum_bounds(tir_known *known, const tir_expr *e) {
  tir_linear form;
  tir_linear_zero(&form);
  if (!tir_linear_add_expr(&form, e, 1)) return TIR_UNBOUNDED;
  if (form.n == 1 && form.terms[0].atom == e) return TIR_UNBOUNDED; /* too deep to take apart */
  return tir_linear_bounds(known, &form);
}

static tir_interval binary_bounds(tir_known *known, const tir_expr *e) {
  tir_interval a = tir_known_bounds(known, e->arg[0]), b = tir_known_bounds(known, e->arg[1]);
  switch ((int)e->op) {
    case TIR_MUL: return interval_mul(a, b);
    case TIR_FLOORDIV: return interval_floordiv(a, b);
    case TIR_FLOORMOD: return interval_floormod(a, b);
    case TIR_MIN: return (tir_interval){RUNTIME_MIN(a.lo, b.lo), RUNTIME_MIN(a.hi, b.hi)};
    case TIR_MAX: return (tir_interval){RUNTIME_MAX(a.lo, b.lo), RUNTIME_MAX(a.hi, b.hi)};
    default: return TIR_UNBOUNDED;
  }
}

/* Over all lanes. */
static tir_interval ramp_bounds(tir_known *known, const tir_expr *e) {
  tir_interval base = tir_known_bounds(known, e->arg[0]);
  tir_interval steps = tir_interval_scale((tir_interval){0, e->lanes - 1}, e->u.i);
  return tir_interval_add(base, steps);
}

/* a & b is at most what is not negative of the two. */
static tir_interval masked_bounds(tir_interval a, tir_interval b) {
  if (a.lo < 0 && b.lo < 0) return TIR_UNBOUNDED;
  return (tir_interval){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : RUNTIME_MIN(a.hi, b.hi)};
}

/* Bounds over the integers; what leaves the dtype is cut off by the caller. */
static tir_interval raw_bounds(tir_known *known, const tir_expr *e) {
  int64_t value;
  switch ((int)e->op) {
    case TIR_INT: return (tir_interval){e->u.i, e->u.i};
    case TIR_VAR: return tir_interval_meet(var_range(known, e->u.var), tir_dtype_range(e->dtype));
    case TIR_ADD:
    case TIR_SUB: return sum_bounds(known, e);
    case TIR_MUL:
      if (tir_is_int(e->arg[0], &value) || tir_is_int(e->arg[1], &value)) return sum_bounds(known, e);
      return binary_bounds(known, e);
    case TIR_FLOORDIV:
    case TIR_FLOORMOD:
    case TIR_MIN:
    case TIR_MAX: return binary_bounds(known, e);
    case TIR_ABS: return interval_abs(tir_known_bounds(known, e->arg[0]));
    case TIR_BITAND: return masked_bounds(tir_known_bounds(known, e->arg[0]), tir_known_bounds(known, e->arg[1]));
    case TIR_POPCOUNT:
    case TIR_CLZ: return (tir_interval){0, 8 * (int64_t)tn_dtype_bytes(e->dtype)};
    case TIR_SELECT: return hull(tir_known_bounds(known, e->arg[1]), tir_known_bounds(known, e->arg[2]));
    case TIR_CAST:
      return tn_dtype_is_float(e->arg[0]->dtype) || e->dtype == TN_BOOL ? TIR_UNBOUNDED
                                                                        : tir_known_bounds(known, e->arg[0]);
    case TIR_BROADCAST: return tir_known_bounds(known, e->arg[0]);
    case TIR_RAMP: return ramp_bounds(known, e);
    default: return TIR_UNBOUNDED;
  }
}

/* Narrows by facts about this very expression. */
static tir_interval meet_facts(const tir_known *known, const tir_expr *e, tir_interval r) {
  for (int i = 0; i < known->n_facts; i++) {
    const tir_fact *fact = &known->facts[i];
    if (fact->form.n == 1 && tir_equal(fact->form.terms[0].atom, e)) r = tir_interval_meet(r, fact->range);
  }
  return r;
}

tir_interval tir_known_bounds(tir_known *known, const tir_expr *e) {
  tir_interval all = tir_dtype_range(e->dtype);
  if (tn_dtype_is_float(e->dtype)) return TIR_UNBOUNDED;
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

tir_interval tir_linear_bounds(tir_known *known, const tir_linear *form) {
  tir_interval r = plain_bounds(known, form);
  int n = RUNTIME_MIN(known->n_facts, known->n_usable);
  for (int i = 0; i < n && form->n > 0; i++) {
    if (known->facts[i].form.n > 1) r = tir_interval_meet(r, bounds_by_fact(known, form, i));
  }
  return r;
}

bool tir_linear_exact(tir_known *known, const tir_linear *form, tn_dtype dtype) {
  if (form->n == 1 && form->terms[0].coef == 1 && form->constant == 0) return true;
  tir_interval r = tir_linear_bounds(known, form);
  return is_closed(r) && tir_interval_within(r, tir_dtype_range(dtype));
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

tir_op tir_negated_comparison(tir_op op) {
  static const uint8_t negated[TIR_OP_COUNT] = {
      [TIR_LT] = TIR_GE, [TIR_GE] = TIR_LT, [TIR_LE] = TIR_GT, [TIR_GT] = TIR_LE, [TIR_EQ] = TIR_NE, [TIR_NE] = TIR_EQ};
  return negated[op];
}

tir_op tir_swapped_comparison(tir_op op) {
  static const uint8_t swapped[TIR_OP_COUNT] = {
      [TIR_LT] = TIR_GT, [TIR_GT] = TIR_LT, [TIR_LE] = TIR_GE, [TIR_GE] = TIR_LE, [TIR_EQ] = TIR_EQ, [TIR_NE] = TIR_NE};
  return swapped[op];
}

/* The difference of a comparison's sides as a form; false unless both sides are exact. */
static bool comparison_form(tir_known *known, const tir_expr *cond, tir_linear *form) {
  const tir_expr *a = cond->arg[0], *b = cond->arg[1];
  if (tn_dtype_is_float(a->dtype)) return false;
  tir_linear right;
  tir_linear_zero(form);
  tir_linear_zero(&right);
  return tir_linear_add_expr(form, a, 1) && tir_linear_exact(known, form, a->dtype) &&
         tir_linear_add_expr(&right, b, 1) && tir_linear_exact(known, &right, b->dtype) &&
         tir_linear_add(form, &right, -1);
}

/* The values allowed for a form when (form OP 0). */
static tir_interval range_of_sign(tir_op op) {
  switch ((int)op) {
    case TIR_LT: return (tir_interval){INT64_MIN, -1};
    case TIR_LE: return (tir_interval){INT64_MIN, 0};
    case TIR_GT: return (tir_interval){1, INT64_MAX};
    case TIR_GE: return (tir_interval){0, INT64_MAX};
    case TIR_EQ: return (tir_interval){0, 0};
    default: return TIR_UNBOUNDED;
  }
}

/* c*x in [lo, hi] as x in [ceil(lo/c), floor(hi/c)]. */
static void divide_fact(tir_fact *fact) {
  int64_t c = fact->form.terms[0].coef, low = fact->range.lo, high = fact->range.hi;
  if (c == INT64_MIN) return;
  if (c < 0) {
    tir_interval flipped = tir_interval_scale(fact->range, -1);
    low = flipped.lo, high = flipped.hi, c = -c;
  }
  fact->range.lo = low == INT64_MIN ? low : -runtime_floordiv(-low, c);
  fact->range.hi = high == INT64_MAX ? high : runtime_floordiv(high, c);
  fact->form.terms[0].coef = 1;
}

/* Makes a fact of (left OP right). */
static void push_comparison(tir_known *known, const tir_expr *cond, tir_op op) {
  if (known->n_facts == TIR_KNOWN_FACTS || op == TIR_NE) return;
  tir_fact *fact = &known->facts[known->n_facts];
  if (!comparison_form(known, cond, &fact->form) || fact->form.n == 0) return;
  int64_t offset;
  if (__builtin_sub_overflow((int64_t)0, fact->form.constant, &offset)) return;
  fact->range = tir_interval_add(range_of_sign(op), (tir_interval){offset, offset});
  fact->form.constant = 0;
  if (fact->form.n == 1) divide_fact(fact);
  known->n_facts++;
}

void tir_known_push(tir_known *known, const tir_expr *cond, bool holds) {
  if (cond->op == TIR_NOT) {
    tir_known_push(known, cond->arg[0], !holds);
  } else if (cond->op == (holds ? TIR_AND : TIR_OR)) {
    tir_known_push(known, cond->arg[0], holds);
    tir_known_push(known, cond->arg[1], holds);
  } else {
    if (tir_op_table[cond->op].op_class == 'C') {
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

void tir_known_init(tir_known *known, const tir_env *env) {
  known->env = env;
  known->budget = TIR_ANALYSIS_BUDGET;
  known->n_facts = known->n_conds = 0;
  known->n_usable = TIR_KNOWN_FACTS;
  push_env(known, env);
}

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

int tir_decide_sign(tir_op op, tir_interval r) {
  switch ((int)op) {
    case TIR_LT: return r.hi < 0 ? 1 : r.lo >= 0 ? 0 : -1;
    case TIR_LE: return r.hi <= 0 ? 1 : r.lo > 0 ? 0 : -1;
    case TIR_GT: return r.lo > 0 ? 1 : r.hi <= 0 ? 0 : -1;
    case TIR_GE: return r.lo >= 0 ? 1 : r.hi < 0 ? 0 : -1;
    case TIR_EQ: return r.lo == 0 && r.hi == 0 ? 1 : r.lo > 0 || r.hi < 0 ? 0 : -1;
    case TIR_NE: return r.lo > 0 || r.hi < 0 ? 1 : r.lo == 0 && r.hi == 0 ? 0 : -1;
    default: return -1;
  }
}

/* By the form of the difference where both sides are exact, else by the intervals of the sides. */
static int decide_comparison(tir_known *known, const tir_expr *cond) {
  const tir_expr *a = cond->arg[0], *b = cond->arg[1];
  tir_linear form;
  if (tn_dtype_is_float(a->dtype)) return -1;
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

int tir_known_decide(tir_known *known, const tir_expr *cond) {
  if (--known->budget < 0) return -1;
  int answer = -1;
  if (tir_op_table[cond->op].op_class == 'C') answer = decide_comparison(known, cond);
  switch ((int)cond->op) {
    case TIR_INT: return cond->u.i != 0;
    case TIR_BROADCAST: return tir_known_decide(known, cond->arg[0]);
    case TIR_AND: answer = decide_pair(known, cond, 0); break;
    case TIR_OR: answer = decide_pair(known, cond, 1); break;
    case TIR_NOT: answer = tir_known_decide(known, cond->arg[0]); return answer < 0 ? -1 : !answer;
    default: break;
  }
  return answer >= 0 ? answer : decide_structurally(known, cond);
}

/* ---- the public question ----------------------------------------------------------------------------------------- */

tir_interval tir_bounds(const tir_env *env, const tir_expr *e) {
  tir_known known;
  tir_known_init(&known, env);
  tir_interval r = tir_known_bounds(&known, e), all = tir_dtype_range(e->dtype);
  bool wide = tn_dtype_bytes(e->dtype) >= 4;
  return wide && r.lo == all.lo && r.hi == all.hi ? TIR_UNBOUNDED : r;
}
