/* simplify.c: the simplifier's entry and its integer part: sums become linear forms with terms in the order in which
 * they first appeared, quotients and remainders are split and rejoined, min and max decided by bounds. */
#include <assert.h>

#include "tir/simplify.h"

/* A change can make room for another one, so a changed expression is looked at again; two rounds are the rule. */
enum { MAX_DEPTH = 400, MAX_ROUNDS = 5 };

/* ---- forms to expressions ---------------------------------------------------------------------------------------- */

/* atom * coef */
static const tir_expr *scaled_atom(runtime_arena *arena, const tir_term *t, int64_t coef) {
  return tir_binary(arena, TIR_MUL, t->atom, tir_int(arena, t->atom->dtype, coef));
}

/* sum + coef * atom, as a difference where that needs no negative constant. */
static const tir_expr *add_term(runtime_arena *arena, const tir_expr *sum, const tir_term *t, tir_interval range) {
  bool subtracts = t->coef < 0 && t->coef >= -range.hi;
  const tir_expr *term = scaled_atom(arena, t, subtracts ? -t->coef : t->coef);
  return tir_binary(arena, subtracts ? TIR_SUB : TIR_ADD, sum, term);
}

/* As a difference where the constant is negative: x - 3, not x + -3. */
static const tir_expr *add_constant(runtime_arena *arena, const tir_expr *sum, int64_t value, tir_interval range) {
  if (value == 0) return sum;
  bool subtracts = value < 0 && value >= -range.hi;
  return tir_binary(arena, subtracts ? TIR_SUB : TIR_ADD, sum, tir_int(arena, sum->dtype, subtracts ? -value : value));
}

/* A term with a positive coefficient goes first, so that no leading minus is needed. Where all are
 * negative a positive constant goes first. The order is otherwise that of the form: simplifying twice
 * gives the same text. */
const tir_expr *tir_emit_form(runtime_arena *arena, const tir_linear *form, tn_dtype dtype) {
  if (form->n == 0) return tir_int(arena, dtype, form->constant);
  tir_interval range = tir_dtype_range(dtype);
  int first = 0;
  while (first < form->n && form->terms[first].coef < 0) first++;
  bool constant_first = first == form->n && form->constant > 0;
  const tir_expr *sum = NULL;
  if (first == form->n) first = 0;
  if (constant_first) {
    sum = tir_int(arena, dtype, form->constant);
    first = -1;
  } else {
    sum = scaled_atom(arena, &form->terms[first], form->terms[first].coef);
  }
  for (int i = 0; i < form->n && sum != NULL; i++) {
    if (i != first) sum = add_term(arena, sum, &form->terms[i], range);
  }
  return sum == NULL || constant_first ? sum : add_constant(arena, sum, form->constant, range);
}

/* ---- expressions to forms ---------------------------------------------------------------------------------------- */

static bool form_of(tir_simplifier *s, const tir_expr *e, tir_linear *form);

/* FORM = E as one atom, its arguments simplified. */
static bool opaque_form(tir_simplifier *s, const tir_expr *e, tir_linear *form) {
  const tir_expr *args[2] = {tir_simplify_node(s, e->arg[0]), tir_simplify_node(s, e->arg[1])};
  if (args[0] == NULL || args[1] == NULL) return false;
  const tir_expr *rebuilt = tir_with_args(s->arena, e, args);
  tir_linear_zero(form);
  return rebuilt != NULL &&
         (rebuilt->op == TIR_INT ? tir_linear_add_const(form, rebuilt->u.i) : tir_linear_add_atom(form, rebuilt, 1));
}

/* A product with a constant scales; any other is an atom. */
static bool product_form(tir_simplifier *s, const tir_expr *e, tir_linear *form) {
  tir_linear a, b;
  if (!tir_simplify_form(s, e->arg[0], &a) || !tir_simplify_form(s, e->arg[1], &b)) return false;
  tir_linear_zero(form);
  if (b.n == 0 && tir_linear_add(form, &a, b.constant)) return true;
  tir_linear_zero(form);
  if (a.n == 0 && tir_linear_add(form, &b, a.constant)) return true;
  const tir_expr *atom =
      tir_binary(s->arena, TIR_MUL, tir_emit_form(s->arena, &a, e->dtype), tir_emit_form(s->arena, &b, e->dtype));
  tir_linear_zero(form);
  return atom != NULL && tir_linear_add_atom(form, atom, 1);
}

/* The depth and the budget end the recursion on shared nodes with an atom, which is always right. */
static bool form_of(tir_simplifier *s, const tir_expr *e, tir_linear *form) {
  tir_linear_zero(form);
  if (--s->known.budget < 0 || s->depth > MAX_DEPTH) return tir_linear_add_atom(form, e, 1);
  if (e->op == TIR_ADD || e->op == TIR_SUB) {
    tir_linear right;
    s->depth++;
    bool done = form_of(s, e->arg[0], form) && form_of(s, e->arg[1], &right);
    s->depth--;
    if (!done) return false;
    return tir_linear_add(form, &right, e->op == TIR_ADD ? 1 : -1) || opaque_form(s, e, form);
  }
  if (e->op == TIR_MUL) return product_form(s, e, form);
  const tir_expr *simple = tir_simplify_node(s, e);
  if (simple == NULL) return false;
  if (tir_linear_add_expr(form, simple, 1)) return true;
  tir_linear_zero(form);
  return tir_linear_add_atom(form, simple, 1);
}

/* Brings coefficients into the dtype, which changes the form by multiples of 2^bits only. */
static void wrap_form(tir_linear *form, tn_dtype dtype) {
  tir_interval range = tir_dtype_range(dtype);
  if (range.lo == 0) range.lo = -range.hi;
  if (form->constant < range.lo || form->constant > range.hi) form->constant = tir_wrap(dtype, form->constant);
  for (int i = 0; i < form->n; i++) {
    int64_t coef = form->terms[i].coef;
    if (coef >= range.lo && coef <= range.hi) continue;
    form->terms[i].coef = tir_wrap(dtype, coef);
    if (form->terms[i].coef != 0) continue;
    form->n--;
    memmove(&form->terms[i], &form->terms[i + 1], sizeof form->terms[i] * (size_t)(form->n - i));
    i--;
  }
}

/* Rejoins before wrapping: quotients and remainders are recognised by their coefficients. */
bool tir_simplify_form(tir_simplifier *s, const tir_expr *e, tir_linear *form) {
  if (!form_of(s, e, form)) return false;
  tir_form_rejoin(s, form);
  wrap_form(form, e->dtype);
  return true;
}

/* ---- integer nodes ----------------------------------------------------------------------------------------------- */

/* + - and * */
static const tir_expr *simplify_sum(tir_simplifier *s, const tir_expr *e) {
  tir_linear form;
  return tir_simplify_form(s, e, &form) ? tir_emit_form(s->arena, &form, e->dtype) : NULL;
}

/* // and %, by a positive constant through forms, else as an atom of simplified sides. */
static const tir_expr *simplify_division(tir_simplifier *s, const tir_expr *e) {
  tir_linear x, d;
  tn_dtype dtype = e->dtype;
  if (!tir_simplify_form(s, e->arg[0], &x) || !tir_simplify_form(s, e->arg[1], &d)) return NULL;
  if (d.n == 0 && d.constant > 0 &&
      (e->op == TIR_FLOORDIV ? tir_form_floordiv : tir_form_floormod)(s, &x, d.constant, dtype)) {
    tir_form_rejoin(s, &x);
    return tir_emit_form(s->arena, &x, dtype);
  }
  const tir_expr *left = tir_emit_form(s->arena, &x, dtype), *right = tir_emit_form(s->arena, &d, dtype);
  const tir_expr *merged = e->op == TIR_FLOORDIV ? tir_merged_quotient(s, left, right) : NULL;
  return merged ? merged : tir_binary(s->arena, e->op, left, right);
}

/* min(a, b): a when a - b <= 0; max the other way round. */
static const tir_expr *simplify_extremum(tir_simplifier *s, const tir_expr *e) {
  tir_linear a, b, difference;
  if (!tir_simplify_form(s, e->arg[0], &a) || !tir_simplify_form(s, e->arg[1], &b)) return NULL;
  const tir_expr *left = tir_emit_form(s->arena, &a, e->dtype), *right = tir_emit_form(s->arena, &b, e->dtype);
  if (left == NULL || right == NULL) return NULL;
  bool exact = tir_linear_exact(&s->known, &a, e->dtype) && tir_linear_exact(&s->known, &b, e->dtype);
  difference = a;
  if (tir_linear_add(&difference, &b, -1) && (exact || (difference.n == 0 && difference.constant == 0))) {
    tir_interval r = tir_linear_bounds(&s->known, &difference);
    if (r.hi <= 0) return e->op == TIR_MIN ? left : right;
    if (r.lo >= 0) return e->op == TIR_MIN ? right : left;
  }
  return tir_binary(s->arena, e->op, left, right);
}

/* ---- any node ---------------------------------------------------------------------------------------------------- */

/* Any other node over simplified arguments. */
static const tir_expr *simplify_args(tir_simplifier *s, const tir_expr *e) {
  const tir_expr *small[TN_MAX_RANK + 1], **args = small;
  if (e->n_args > RUNTIME_COUNT(small)) args = RUNTIME_NEW_ARRAY(s->arena, const tir_expr *, e->n_args);
  if (args == NULL) return NULL;
  for (int i = 0; i < e->n_args; i++) {
    if ((args[i] = tir_simplify_node(s, e->arg[i])) == NULL) return NULL;
  }
  assert(e->op != TIR_SELECT || e->n_args == 3);
  if (e->op == TIR_SELECT && tir_equal(args[1], args[2])) return args[1];
  return tir_with_args(s->arena, e, args);
}

/* A variable that can have one value only is that value. */
static const tir_expr *simplify_var(tir_simplifier *s, const tir_expr *e) {
  if (runtime_is_float(e->dtype)) return e;
  tir_interval r = tir_known_bounds(&s->known, e);
  return r.lo == r.hi ? tir_int(s->arena, e->dtype, r.lo) : e;
}

/* By dtype, then by operator. Vectors are simplified in their arguments, and where lanes go on by the same in a
 * remainder's. */
static const tir_expr *dispatch(tir_simplifier *s, const tir_expr *e) {
  if (e->dtype == TN_BOOL) return tir_simplify_bool(s, e);
  if (e->lanes > 1 && e->op == TIR_FLOORMOD && e->arg[0]->op == TIR_RAMP && e->arg[1]->op == TIR_BROADCAST)
    return tir_ramp_modulo(s, e);
  if (runtime_is_float(e->dtype) || e->lanes > 1) return simplify_args(s, e);
  tir_class class = tir_class_of(e);
  if (class == TIR_CLASS_SUM) return simplify_sum(s, e);
  if (class == TIR_CLASS_DIVISION) return simplify_division(s, e);
  return class == TIR_CLASS_EXTREMUM ? simplify_extremum(s, e) : simplify_args(s, e);
}

/* A result that equals the node in structure is the node: later comparisons by address succeed. */
const tir_expr *tir_simplify_node(tir_simplifier *s, const tir_expr *e) {
  if (e->op == TIR_VAR) return simplify_var(s, e);
  if (e->n_args == 0 || s->depth > MAX_DEPTH || --s->known.budget < 0) return e;
  const tir_expr *done = tir_memo_get(&s->memo, e);
  if (done != NULL) return done;
  s->depth++;
  const tir_expr *result = dispatch(s, e);
  s->depth--;
  if (result == NULL) return NULL;
  if (result != e && tir_equal(result, e)) result = e;
  tir_memo_put(&s->memo, e, result);
  return result;
}

/* The environment is digested once for an expression. */
static void start(tir_simplifier *s, runtime_arena *arena, const tir_env *env) {
  s->arena = arena;
  s->depth = 0;
  tir_memo_init(&s->memo);
  tir_known_init(&s->known, env);
}

/* A product of a variable and a number, or a leaf. */
static bool is_plain_term(const tir_expr *e) {
  if (e->op == TIR_MUL) return e->arg[0]->op == TIR_VAR && e->arg[1]->op == TIR_INT;
  return e->op == TIR_VAR || e->op == TIR_INT;
}

/* Whether E, which was emitted from a form, has variables alone as atoms. Then its form is the one that it was emitted
 * from: another round finds the same, and is mostly all that it would do. */
static bool is_plain_sum(const tir_expr *e) {
  bool is_sum = tir_class_of(e) == TIR_CLASS_SUM && e->lanes == 1 && !runtime_is_float(e->dtype);
  while (is_sum && (e->op == TIR_ADD || e->op == TIR_SUB) && is_plain_term(e->arg[1])) e = e->arg[0];
  return is_sum && is_plain_term(e);
}

/* Runs until nothing changes or MAX_ROUNDS. Each round has a new memo, since results depend on what is
 * simplified below. */
const tir_expr *tir_simplify(runtime_arena *arena, const tir_env *env, const tir_expr *e) {
  if (e == NULL || tir_is_const(e)) return e;
  tir_simplifier s;
  start(&s, arena, env);
  const tir_expr *result = e;
  for (int round = 0; round < MAX_ROUNDS && result != NULL; round++) {
    const tir_expr *before = result;
    result = tir_simplify_node(&s, before);
    if (result == before || (result && is_plain_sum(result))) break;
    if (!tir_memo_end_for(arena, &s.memo)) result = NULL;
    tir_memo_init(&s.memo);
  }
  return tir_memo_end_for(arena, &s.memo) ? result : NULL;
}

/* Asks the bounds first, which allocates nothing, and simplifies only where they do not know: for a tail's condition,
 * which fails in the last block, they do. */
bool tir_prove(runtime_arena *arena, const tir_env *env, const tir_expr *cond) {
  tir_simplifier s;
  start(&s, arena, env);
  int64_t value = tir_known_decide(&s.known, cond);
  if (value < 0 && tir_known_refutes(&s.known, cond)) value = 0;
  if (value < 0) {
    const tir_expr *result = tir_simplify_node(&s, cond);
    if (result == NULL || !tir_is_int(result, &value)) value = 0;
  }
  return tir_memo_end_for(arena, &s.memo) && value == 1;
}
