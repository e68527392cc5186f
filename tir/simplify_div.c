/* simplify_div.c: floor division and modulo of linear forms by positive constants. Both split the form the same way
 * into multiples of a factor of the divisor and a rest that stays below it, so that their results meet again in rejoin:
 *   (32*i + 8*j + k) // 16 with 0 <= k < 8   =   2*i + j//2
 *   (32*i + 8*j + k) %  16                   =   (j%2)*8 + k */
#include "tir/simplify.h"

/* Splits FORM = factor * multiples + rest, each coefficient whole on one side, the constant by floor. */
static bool split_by(const tir_linear *form, int64_t factor, tir_linear *multiples, tir_linear *rest) {
  tir_linear_zero(multiples);
  tir_linear_zero(rest);
  multiples->constant = runtime_floordiv(form->constant, factor);
  rest->constant = runtime_floormod(form->constant, factor);
  for (int i = 0; i < form->n; i++) {
    tir_term t = form->terms[i];
    bool divides = t.coef % factor == 0;
    if (divides) t.coef /= factor;
    if (!tir_linear_add_atom(divides ? multiples : rest, t.atom, t.coef)) return false;
  }
  return true;
}

/* The largest factor of DIVISOR (not DIVISOR itself) for which the rest stays in [0, factor). 1: none. */
static int64_t best_split(tir_simplifier *s, const tir_linear *form, int64_t divisor, tir_linear *multiples,
                          tir_linear *rest) {
  int64_t best = 1;
  for (int i = 0; i < form->n; i++) {
    int64_t factor = tir_common_divisor(divisor, form->terms[i].coef);
    tir_linear m, r;
    if (factor <= best || factor == divisor || !split_by(form, factor, &m, &r)) continue;
    if (!tir_interval_within(tir_linear_bounds(&s->known, &r), (tir_interval){0, factor - 1})) continue;
    best = factor;
    *multiples = m, *rest = r;
  }
  return best;
}

/* Takes the multiples of DIVISOR out: FORM = divisor * quotient + rest, |coefficients| and |constant| of rest below it.
 */
static bool take_multiples(const tir_linear *form, int64_t divisor, tir_linear *quotient, tir_linear *rest) {
  tir_linear_zero(quotient);
  tir_linear_zero(rest);
  quotient->constant = form->constant / divisor;
  rest->constant = form->constant % divisor;
  for (int i = 0; i < form->n; i++) {
    const tir_term *t = &form->terms[i];
    if (!tir_linear_add_atom(quotient, t->atom, t->coef / divisor)) return false;
    if (!tir_linear_add_atom(rest, t->atom, t->coef % divisor)) return false;
  }
  return true;
}

/* When the form stays within one block of DIVISOR numbers: that block. */
static bool single_block(tir_simplifier *s, const tir_linear *form, int64_t divisor, int64_t *block) {
  tir_interval r = tir_linear_bounds(&s->known, form);
  if (r.lo == INT64_MIN || r.hi == INT64_MAX) return false;
  *block = runtime_floordiv(r.lo, divisor);
  return *block == runtime_floordiv(r.hi, divisor);
}

/* FORM += coef * (x OP divisor) as a new atom. */
static bool add_atom_op(tir_simplifier *s, tir_linear *form, tir_op op, const tir_linear *x, int64_t divisor,
                        int64_t coef, tn_dtype dtype) {
  const tir_expr *atom = tir_binary(s->arena, op, tir_emit_form(s->arena, x, dtype), tir_int(s->arena, dtype, divisor));
  return atom != NULL && tir_linear_add_atom(form, atom, coef);
}

/* Whether the dtype can hold the divisor. */
static bool fits_divisor(int64_t divisor, tn_dtype dtype) { return divisor <= tir_dtype_range(dtype).hi; }

/* x == 1 * (inner OP constant) + offset: gives the parts. */
static bool is_inner(const tir_linear *x, tir_op op, const tir_expr **inner, int64_t *constant) {
  if (x->n != 1 || x->terms[0].coef != 1 || x->terms[0].atom->op != op) return false;
  *inner = x->terms[0].atom->arg[0];
  return tir_is_int(x->terms[0].atom->arg[1], constant) && *constant > 0;
}

/* FORM += scale * x, when x as a form is exact: only then may a modulus or divisor see through it. */
static bool add_exact(tir_simplifier *s, tir_linear *form, const tir_expr *x, int64_t scale) {
  tir_linear inner;
  tir_linear_zero(&inner);
  return tir_linear_add_expr(&inner, x, 1) && tir_linear_exact(&s->known, &inner, x->dtype) &&
         tir_linear_add(form, &inner, scale);
}

/* (x//a + r) // b = (x + r*a) // (a*b). RESULT += quotient. */
static bool divide_quotient(tir_simplifier *s, const tir_linear *x, int64_t divisor, tn_dtype dtype,
                            tir_linear *result) {
  const tir_expr *inner;
  int64_t constant, product, offset;
  tir_linear form;
  tir_linear_zero(&form);
  return is_inner(x, TIR_FLOORDIV, &inner, &constant) && !__builtin_mul_overflow(constant, divisor, &product) &&
         !__builtin_mul_overflow(x->constant, constant, &offset) && fits_divisor(product, dtype) &&
         add_exact(s, &form, inner, 1) && tir_linear_add_const(&form, offset) &&
         tir_form_floordiv(s, &form, product, dtype) && tir_linear_add(result, &form, 1);
}

/* (x % a) // b = (x//b) % (a/b) where b divides a. RESULT += quotient. */
static bool divide_remainder(tir_simplifier *s, const tir_linear *x, int64_t divisor, tn_dtype dtype,
                             tir_linear *result) {
  const tir_expr *inner;
  int64_t constant;
  tir_linear form;
  tir_linear_zero(&form);
  return x->constant == 0 && is_inner(x, TIR_FLOORMOD, &inner, &constant) && constant % divisor == 0 &&
         add_exact(s, &form, inner, 1) && tir_form_floordiv(s, &form, divisor, dtype) &&
         tir_form_floormod(s, &form, constant / divisor, dtype) && tir_linear_add(result, &form, 1);
}

/* By cases: within one block a constant; with a common factor, divided by it first; of a quotient or
 * remainder of the same kind, joined; else an atom. Requires exactness: (x + 2^32) // 4 is another
 * number than x // 4. */
bool tir_form_floordiv(tir_simplifier *s, tir_linear *form, int64_t divisor, tn_dtype dtype) {
  tir_linear quotient, rest, multiples, low;
  int64_t block;
  if (divisor == 1) return true;
  if (!tir_linear_exact(&s->known, form, dtype) || !take_multiples(form, divisor, &quotient, &rest)) return false;
  if (single_block(s, &rest, divisor, &block)) {
    if (!tir_linear_add_const(&quotient, block)) return false;
    *form = quotient;
    return true;
  }
  tir_linear result = quotient;
  int64_t factor = best_split(s, &rest, divisor, &multiples, &low);
  if (factor > 1) {
    if (!tir_form_floordiv(s, &multiples, divisor / factor, dtype) || !tir_linear_add(&result, &multiples, 1))
      return false;
    *form = result;
    return true;
  }
  if (!tir_linear_exact(&s->known, &rest, dtype)) return false;
  if (!divide_quotient(s, &rest, divisor, dtype, &result)) {
    result = quotient;
    if (!divide_remainder(s, &rest, divisor, dtype, &result)) {
      result = quotient;
      if (!add_atom_op(s, &result, TIR_FLOORDIV, &rest, divisor, 1, dtype)) return false;
    }
  }
  *form = result;
  return true;
}

/* Replaces coef * (x % a) by coef * x where the divisor divides coef * a; true when something was replaced. */
static bool open_inner_mods(tir_simplifier *s, const tir_linear *form, int64_t divisor, tir_linear *opened) {
  bool changed = false;
  tir_linear_zero(opened);
  opened->constant = form->constant;
  for (int i = 0; i < form->n; i++) {
    const tir_term *t = &form->terms[i];
    int64_t modulus, span;
    bool opens = t->atom->op == TIR_FLOORMOD && tir_is_int(t->atom->arg[1], &modulus) && modulus > 0 &&
                 !__builtin_mul_overflow(t->coef, modulus, &span) && span % divisor == 0;
    if (opens ? !add_exact(s, opened, t->atom->arg[0], t->coef) : !tir_linear_add_atom(opened, t->atom, t->coef)) {
      return false;
    }
    changed = changed || opens;
  }
  return changed;
}

/* The form modulo DIVISOR without the terms that cannot matter; false when no smaller exact form was found. */
static bool reduce_modulo(tir_simplifier *s, tir_linear *form, int64_t divisor, tn_dtype dtype) {
  tir_linear quotient, rest, opened;
  if (!take_multiples(form, divisor, &quotient, &rest)) return false;
  for (int i = 0; i < 4 && open_inner_mods(s, &rest, divisor, &opened); i++) {
    tir_linear reduced;
    if (!take_multiples(&opened, divisor, &quotient, &reduced)) break;
    if (!tir_linear_exact(&s->known, &reduced, dtype)) break;
    rest = reduced;
  }
  if (!tir_linear_exact(&s->known, &rest, dtype)) return false;
  *form = rest;
  return true;
}

/* The same cases. The remainder of what the divisor divides is 0 and falls out first. */
bool tir_form_floormod(tir_simplifier *s, tir_linear *form, int64_t divisor, tn_dtype dtype) {
  tir_linear rest = *form, multiples, low;
  int64_t block, offset;
  if (!tir_linear_exact(&s->known, form, dtype) || !reduce_modulo(s, &rest, divisor, dtype)) return false;
  if (single_block(s, &rest, divisor, &block)) {
    if (__builtin_mul_overflow(block, -divisor, &offset) || !tir_linear_add_const(&rest, offset)) return false;
    *form = rest;
    return true;
  }
  int64_t factor = best_split(s, &rest, divisor, &multiples, &low);
  if (factor > 1) {
    tir_linear result;
    tir_linear_zero(&result);
    if (!tir_form_floormod(s, &multiples, divisor / factor, dtype)) return false;
    if (!tir_linear_add(&result, &multiples, factor) || !tir_linear_add(&result, &low, 1)) return false;
    *form = result;
    return true;
  }
  tir_linear result;
  tir_linear_zero(&result);
  if (!add_atom_op(s, &result, TIR_FLOORMOD, &rest, divisor, 1, dtype)) return false;
  *form = result;
  return true;
}

/* Whether lanes that go on by STEP from FORM, the last of them LAST further, are exact in DTYPE. *ALL: what they can be. */
static bool is_exact_ramp(tir_simplifier *s, const tir_linear *form, int64_t last, tn_dtype dtype, tir_interval *all) {
  if (!tir_linear_exact(&s->known, form, dtype)) return false;
  *all =
      tir_interval_add(tir_linear_bounds(&s->known, form), (tir_interval){RUNTIME_MIN(last, 0), RUNTIME_MAX(last, 0)});
  return tir_interval_within(*all, tir_dtype_range(dtype));
}

const tir_expr *tir_ramp_modulo(tir_simplifier *s, const tir_expr *e) {
  const tir_expr *ramp = e->arg[0];
  const tn_dtype dtype = e->dtype;
  int64_t divisor, last;
  tir_linear form, quotient, rest;
  tir_interval all;
  if (!tir_is_int(e->arg[1]->arg[0], &divisor) || divisor < 1) return e;
  if (__builtin_mul_overflow(ramp->u.i, (int64_t)ramp->lanes - 1, &last)) return e;
  if (!tir_simplify_form(s, ramp->arg[0], &form)) return NULL;
  if (!is_exact_ramp(s, &form, last, dtype, &all) || !take_multiples(&form, divisor, &quotient, &rest)) return e;
  if (!is_exact_ramp(s, &rest, last, dtype, &all)) return e;
  const tir_expr *base = tir_emit_form(s->arena, &rest, dtype);
  ramp = base != NULL ? tir_ramp(s->arena, base, ramp->u.i, ramp->lanes) : NULL;
  if (ramp == NULL || tir_interval_within(all, (tir_interval){0, divisor - 1})) return ramp;
  return tir_binary(s->arena, TIR_FLOORMOD, ramp, e->arg[1]);
}

/* ---- quotient and remainder together ----------------------------------------------------------------------------- */

/* Whether ATOM is x // divisor. */
static bool is_quotient(const tir_expr *atom, const tir_expr *x, int64_t divisor) {
  int64_t d;
  return atom->op == TIR_FLOORDIV && tir_is_int(atom->arg[1], &d) && d == divisor && tir_equal(atom->arg[0], x);
}

/* What (x % d) and OTHER/d make together: x when OTHER is d*(x//d), x % (d*b) when it is d*(x//d % b). NULL: nothing.
 */
static const tir_expr *join(tir_simplifier *s, const tir_expr *remainder, int64_t d, const tir_expr *other) {
  const tir_expr *x = remainder->arg[0];
  int64_t b, product;
  tn_dtype dtype = remainder->dtype;
  if (is_quotient(other, x, d)) return x;
  if (other->op != TIR_FLOORMOD || !is_quotient(other->arg[0], x, d) || !tir_is_int(other->arg[1], &b)) return NULL;
  if (b <= 0 || __builtin_mul_overflow(b, d, &product) || !fits_divisor(product, dtype)) return NULL;
  return tir_binary(s->arena, TIR_FLOORMOD, x, tir_int(s->arena, dtype, product));
}

/* Joins the remainder at place AT with a quotient; false when there is none. */
static bool rejoin_at(tir_simplifier *s, tir_linear *form, int at) {
  tir_term remainder = form->terms[at];
  int64_t d, wanted;
  if (remainder.atom->op != TIR_FLOORMOD || !tir_is_int(remainder.atom->arg[1], &d) || d <= 0) return false;
  if (__builtin_mul_overflow(remainder.coef, d, &wanted)) return false;
  for (int i = 0; i < form->n; i++) {
    tir_term other = form->terms[i];
    const tir_expr *whole = other.coef == wanted && i != at ? join(s, remainder.atom, d, other.atom) : NULL;
    if (whole == NULL) continue;
    tir_linear result = *form;
    if (!tir_linear_add_atom(&result, remainder.atom, -remainder.coef) ||
        !tir_linear_add_atom(&result, other.atom, -other.coef) ||
        !tir_linear_add_expr(&result, whole, remainder.coef)) {
      continue;
    }
    *form = result;
    return true;
  }
  return false;
}

/* ---- the same where the divisor is no number ---------------------------------------------------------------------- */

/* Whether CORE is x // d, or x // d % b with B set. */
static bool is_scaled(const tir_expr *core, const tir_expr *x, const tir_expr *d, const tir_expr **b) {
  *b = NULL;
  if (core->op == TIR_FLOORMOD) *b = core->arg[1], core = core->arg[0];
  return core->op == TIR_FLOORDIV && tir_equal(core->arg[0], x) && tir_equal(core->arg[1], d);
}

/* Whether TERM, an atom or a product of one with OTHER, is SCALE * d times the atom, over the integers. */
static bool has_scale(const tir_term *term, const tir_expr *other, const tir_expr *d, int64_t scale) {
  tir_linear left;
  tir_linear_zero(&left);
  bool is_said = other ? tir_linear_add_expr(&left, other, term->coef) : tir_linear_add_const(&left, term->coef);
  return is_said && tir_linear_add_expr(&left, d, -scale) && left.n == 0 && left.constant == 0;
}

/* Whether TERM is SCALE*d * (x // d), or with B set SCALE*d * (x // d % b). */
static bool is_quotient_term(const tir_term *term, const tir_expr *x, const tir_expr *d, int64_t scale,
                             const tir_expr **b) {
  const tir_expr *atom = term->atom;
  if (is_scaled(atom, x, d, b)) return has_scale(term, NULL, d, scale);
  if (atom->op != TIR_MUL) return false;
  for (int side = 0; side < 2; side++)
    if (is_scaled(atom->arg[side], x, d, b) && has_scale(term, atom->arg[!side], d, scale)) return true;
  return false;
}

/* d * b as a divisor. NULL: it could wrap, or be no divisor. */
static const tir_expr *whole_divisor(tir_simplifier *s, const tir_expr *d, const tir_expr *b) {
  tir_interval product = tir_interval_apply(TIR_MUL, tir_known_bounds(&s->known, d), tir_known_bounds(&s->known, b));
  if (tir_known_bounds(&s->known, b).lo <= 0 || !tir_interval_within(product, tir_dtype_range(d->dtype))) return NULL;
  return tir_simplify_node(s, tir_binary(s->arena, TIR_MUL, b, d));
}

/* y // a // b is y // (a*b). */
const tir_expr *tir_merged_quotient(tir_simplifier *s, const tir_expr *x, const tir_expr *b) {
  if (x == NULL || b == NULL || x->op != TIR_FLOORDIV || tir_known_bounds(&s->known, x->arg[1]).lo <= 0) return NULL;
  const tir_expr *divisor = whole_divisor(s, x->arg[1], b);
  return divisor ? tir_binary(s->arena, TIR_FLOORDIV, x->arg[0], divisor) : NULL;
}

/* As rejoin_at, of a remainder by what is no number, or of one whose quotient is taken apart by what is none. x = (x // d) * d + x % d
 * holds modulo 2^bits, too, but not for d = 0. */
static bool rejoin_symbolic_at(tir_simplifier *s, tir_linear *form, int at) {
  tir_term remainder = form->terms[at];
  if (remainder.atom->op != TIR_FLOORMOD || tir_known_bounds(&s->known, remainder.atom->arg[1]).lo <= 0) return false;
  const tir_expr *x = remainder.atom->arg[0], *d = remainder.atom->arg[1], *b = NULL;
  for (int i = 0; i < form->n; i++) {
    tir_term other = form->terms[i];
    if (i == at || !is_quotient_term(&other, x, d, remainder.coef, &b)) continue;
    const tir_expr *divisor = b ? whole_divisor(s, d, b) : NULL;
    const tir_expr *whole = b ? divisor ? tir_binary(s->arena, TIR_FLOORMOD, x, divisor) : NULL : x;
    tir_linear result = *form;
    if (whole == NULL || !tir_linear_add_atom(&result, remainder.atom, -remainder.coef) ||
        !tir_linear_add_atom(&result, other.atom, -other.coef) || !tir_linear_add_expr(&result, whole, remainder.coef))
      continue;
    *form = result;
    return true;
  }
  return false;
}

/* Starts over after each join, as one can make room for another. A join removes a term, so it ends. */
void tir_form_rejoin(tir_simplifier *s, tir_linear *form) {
  for (int i = 0; i < form->n; i++) {
    if (rejoin_at(s, form, i) || rejoin_symbolic_at(s, form, i)) i = -1;
  }
}
