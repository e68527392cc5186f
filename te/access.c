/* access.c: what a read can touch. Each index is bounded by interval arithmetic over linear forms; the conditions
 * around a read (select, && and || are lazy) narrow the forms they speak about. Used to refuse reads that leave their
 * tensor and to find the shapes of inputs that were not declared. */
#include "te/internal.h"

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static const te_interval everything = {INT64_MIN, INT64_MAX};

/* Whether every value of A is one of B. */
static bool is_inside(te_interval a, te_interval b) { return a.lo >= b.lo && a.hi <= b.hi; }

static te_interval intersect(te_interval a, te_interval b) {
  return (te_interval){RUNTIME_MAX(a.lo, b.lo), RUNTIME_MIN(a.hi, b.hi)};
}

static te_interval hull(te_interval a, te_interval b) {
  return (te_interval){RUNTIME_MIN(a.lo, b.lo), RUNTIME_MAX(a.hi, b.hi)};
}

/* What an integer dtype can hold. */
static te_interval dtype_range(tn_dtype dtype) {
  int bits = 8 * (int)tn_dtype_bytes(dtype);
  if (dtype == TN_BOOL) return (te_interval){0, 1};
  if (bits == 64) return everything;
  int64_t half = INT64_C(1) << (bits - 1);
  return tn_dtype_is_signed(dtype) ? (te_interval){-half, half - 1} : (te_interval){0, 2 * half - 1};
}

/* ---- linear forms ------------------------------------------------------------------------------------------------ */

enum {
  MAX_TERMS = 12,
  MAX_FACTS = 8,     /* of one condition; more are not looked at */
  MAX_NESTING = 64,  /* of nodes that are not linear: deeper ones can have any value */
  MAX_WORK = 1 << 20 /* bounds computed for one compute: after that, everything can have any value */
};

typedef struct term {
  const tir_expr *atom; /* a variable, or whatever is not linear */
  int64_t factor;       /* never 0 */
  te_interval range;    /* of the atom */
} term;

/* factor*atom + ... + constant, as an integer without wrapping. */
typedef struct form {
  int n;
  term terms[MAX_TERMS];
  int64_t constant;
} form;

/* A condition that holds: lo <= form <= hi, with a form whose constant is 0. */
typedef struct fact fact;
struct fact {
  const fact *outer;
  form form;
  te_interval range;
};

/* Where an expression stands. */
typedef struct place {
  const fact *facts;
  int nesting;
  int *work;
} place;

static te_interval bound(place at, const tir_expr *e);
static form linear(place at, const tir_expr *e);
static te_interval atom_bound(place at, const tir_expr *e);

static form atom_form(place at, const tir_expr *e) { return (form){.n = 1, .terms = {{e, 1, atom_bound(at, e)}}}; }

static bool add_term(form *f, term t) {
  for (int i = 0; i < f->n; i++) {
    if (!tir_equal(f->terms[i].atom, t.atom)) continue;
    if (__builtin_add_overflow(f->terms[i].factor, t.factor, &f->terms[i].factor)) return false;
    if (f->terms[i].factor == 0) f->terms[i] = f->terms[--f->n];
    return true;
  }
  if (f->n == MAX_TERMS) return false;
  f->terms[f->n++] = t;
  return true;
}

/* f += scale * g; false: too long or too large. */
static bool add_form(form *f, const form *g, int64_t scale) {
  int64_t constant;
  if (__builtin_mul_overflow(g->constant, scale, &constant)) return false;
  if (__builtin_add_overflow(f->constant, constant, &f->constant)) return false;
  for (int i = 0; i < g->n; i++) {
    term t = g->terms[i];
    if (__builtin_mul_overflow(t.factor, scale, &t.factor) || !add_term(f, t)) return false;
  }
  return true;
}

/* Whether a's terms are SIGN times b's, in any order. */
static bool same_terms(const form *a, const form *b, int64_t sign) {
  if (a->n != b->n) return false;
  for (int i = 0; i < a->n; i++) {
    int found = 0;
    while (found < b->n && !tir_equal(a->terms[i].atom, b->terms[found].atom)) found++;
    if (found == b->n || a->terms[i].factor != sign * b->terms[found].factor) return false;
  }
  return true;
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/* Divides the factors by what they have in common; returns it. */
static int64_t normalize(form *f) {
  int64_t common = 0;
  for (int i = 0; i < f->n; i++) common = common_divisor(f->terms[i].factor, common);
  for (int i = 0; i < f->n && common > 1; i++) f->terms[i].factor /= common;
  return RUNTIME_MAX(common, 1);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/* An interval times a factor; what overflows 64 bits is unbounded. */
static te_interval scale(te_interval a, int64_t factor) {
  int64_t lo, hi;
  if (factor < 0) a = (te_interval){a.hi, a.lo};
  if (__builtin_mul_overflow(a.lo, factor, &lo) || __builtin_mul_overflow(a.hi, factor, &hi)) return everything;
  return (te_interval){lo, hi};
}

static te_interval add(te_interval a, te_interval b) {
  te_interval sum;
  if (__builtin_add_overflow(a.lo, b.lo, &sum.lo) || __builtin_add_overflow(a.hi, b.hi, &sum.hi)) return everything;
  return sum;
}

/* What the facts say about a form without constant, whose factors have nothing in common. */
static te_interval narrowed(const fact *facts, const form *f, te_interval range) {
  for (; facts; facts = facts->outer) {
    if (same_terms(f, &facts->form, 1)) range = intersect(range, facts->range);
    if (same_terms(f, &facts->form, -1)) range = intersect(range, scale(facts->range, -1));
  }
  return range;
}

/* Only a constant positive divisor keeps the order of values. */
static te_interval floor_div_bound(te_interval a, te_interval b) {
  if (b.lo != b.hi || b.lo <= 0) return everything;
  return (te_interval){runtime_floordiv(a.lo, b.lo), runtime_floordiv(a.hi, b.lo)};
}

/* Exact while the dividend stays within one period, else the whole period. */
static te_interval floor_mod_bound(te_interval a, te_interval b) {
  if (b.lo <= 0) return everything;
  if (b.lo == b.hi && runtime_floordiv(a.lo, b.lo) == runtime_floordiv(a.hi, b.lo))
    return (te_interval){runtime_floormod(a.lo, b.lo), runtime_floormod(a.hi, b.lo)};
  return (te_interval){0, a.lo >= 0 ? RUNTIME_MIN(a.hi, b.hi - 1) : b.hi - 1};
}

static te_interval abs_bound(te_interval a) {
  if (a.lo == INT64_MIN) return everything;
  if (a.lo >= 0) return a;
  return (te_interval){a.hi < 0 ? -a.hi : 0, RUNTIME_MAX(-a.lo, a.hi)};
}

static te_interval product_bound(te_interval a, te_interval b) {
  return is_inside(everything, a) || is_inside(everything, b) ? everything : hull(scale(a, b.lo), scale(a, b.hi));
}

static place assume(place at, fact storage[], int *n, const tir_expr *cond, bool holds);

/* a & b is at most what is not negative of the two. */
static te_interval masked_bound(te_interval a, te_interval b) {
  if (a.lo < 0 && b.lo < 0) return everything;
  return (te_interval){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : RUNTIME_MIN(a.hi, b.hi)};
}

/* a >> b for b in 0 .. 63 is a floor division by a power of two. */
static te_interval shifted_bound(te_interval a, te_interval b) {
  return (te_interval){RUNTIME_MIN(a.lo >> b.lo, a.lo >> b.hi), RUNTIME_MAX(a.hi >> b.lo, a.hi >> b.hi)};
}

/* Each branch is bounded under its own side of the condition. */
static te_interval select_bound(place at, const tir_expr *e) {
  fact yes[MAX_FACTS], no[MAX_FACTS];
  int n_yes = 0, n_no = 0;
  te_interval a = bound(assume(at, yes, &n_yes, e->arg[0], true), e->arg[1]);
  te_interval b = bound(assume(at, no, &n_no, e->arg[0], false), e->arg[2]);
  return a.lo > a.hi ? b : b.lo > b.hi ? a : hull(a, b);
}

/* A node that is not linear, from the bounds of its parts. */
static te_interval node_bound(place at, const tir_expr *e) {
  bool has_parts = strchr("AI", tir_op_table[e->op].op_class) != NULL || e->op == TIR_CAST;
  te_interval a = has_parts ? bound(at, e->arg[0]) : everything;
  te_interval b = has_parts && e->n_args == 2 ? bound(at, e->arg[1]) : everything;
  switch ((int)e->op) {
    case TIR_MUL: return product_bound(a, b);
    case TIR_FLOORDIV: return floor_div_bound(a, b);
    case TIR_FLOORMOD: return floor_mod_bound(a, b);
    case TIR_MIN: return (te_interval){RUNTIME_MIN(a.lo, b.lo), RUNTIME_MIN(a.hi, b.hi)};
    case TIR_MAX: return (te_interval){RUNTIME_MAX(a.lo, b.lo), RUNTIME_MAX(a.hi, b.hi)};
    case TIR_ABS: return abs_bound(a);
    case TIR_CAST: return a;
    case TIR_BITAND: return masked_bound(a, b);
    case TIR_SHR: return b.lo >= 0 && b.hi < 64 ? shifted_bound(a, b) : everything;
    case TIR_POPCOUNT:
    case TIR_CLZ: return (te_interval){0, 8 * (int64_t)tn_dtype_bytes((tn_dtype)e->dtype)};
    case TIR_SELECT: return select_bound(at, e);
    default: return everything;
  }
}

/* A variable is an axis or a symbol (graph.h). Whatever could wrap can have any value of its dtype. */
static te_interval atom_bound(place at, const tir_expr *e) {
  te_interval all = tn_dtype_is_float((tn_dtype)e->dtype) ? everything : dtype_range((tn_dtype)e->dtype), range = all;
  const tn_axis *axis = e->op == TIR_VAR ? te_var_axis(e->u.var) : NULL;
  if (axis)
    range = axis->is_symbol ? (te_interval){axis->least, axis->extent} : (te_interval){0, axis->extent - 1};
  else if (at.nesting < MAX_NESTING && ++*at.work < MAX_WORK)
    range = node_bound((place){at.facts, at.nesting + 1, at.work}, e);
  if (!is_inside(range, all)) range = all;
  form f = {.n = 1, .terms = {{e, 1, range}}};
  return narrowed(at.facts, &f, range);
}

/* The sum of the terms' bounds, narrowed by a fact about the same combination of terms. */
static te_interval form_bound(place at, const form *f) {
  te_interval sum = {0, 0};
  form rest = *f;
  rest.constant = 0;
  int64_t common = normalize(&rest);
  for (int i = 0; i < rest.n; i++) {
    te_interval t = scale(rest.terms[i].range, rest.terms[i].factor);
    if (is_inside(everything, t)) return everything;
    sum = add(sum, t);
  }
  if (rest.n > 1) sum = narrowed(at.facts, &rest, sum);
  return add(scale(sum, common), (te_interval){f->constant, f->constant});
}

/* The form of + - and of * with a constant; false: not linear. */
static bool linear_parts(place at, const tir_expr *e, form *out) {
  int64_t factor;
  if (e->op == TIR_INT) return *out = (form){.constant = e->u.i}, true;
  if (e->op == TIR_ADD || e->op == TIR_SUB) {
    form b = linear(at, e->arg[1]);
    *out = linear(at, e->arg[0]);
    return add_form(out, &b, e->op == TIR_ADD ? 1 : -1);
  }
  if (e->op == TIR_MUL && (tir_is_int(e->arg[1], &factor) || tir_is_int(e->arg[0], &factor))) {
    form a = linear(at, e->arg[tir_is_int(e->arg[1], &factor) ? 0 : 1]);
    *out = (form){0};
    return factor != 0 && add_form(out, &a, factor);
  }
  if (e->op != TIR_CAST || tn_dtype_is_float((tn_dtype)e->arg[0]->dtype)) return false;
  *out = linear(at, e->arg[0]);
  return true;
}

/* A sum that could wrap, or a cast that could change a value, is an atom. */
static form linear(place at, const tir_expr *e) {
  form f;
  if (tn_dtype_is_float((tn_dtype)e->dtype) || !linear_parts(at, e, &f)) return atom_form(at, e);
  te_interval range = form_bound(at, &f);
  bool is_exact = is_inside(range, dtype_range((tn_dtype)e->dtype)) && !is_inside(everything, range);
  return is_exact ? f : atom_form(at, e);
}

/* Bounds of an integer expression at a place. */
static te_interval bound(place at, const tir_expr *e) {
  if (tn_dtype_is_float((tn_dtype)e->dtype)) return everything;
  form f = linear(at, e);
  return form_bound(at, &f);
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* What a comparison of a and b says about a - b. */
static bool comparison_range(tir_op op, bool holds, te_interval *range) {
  static const struct {
    tir_op op, negated;
    te_interval range;
  } rows[] = {
      {TIR_LT, TIR_GE, {INT64_MIN, -1}}, {TIR_LE, TIR_GT, {INT64_MIN, 0}}, {TIR_GT, TIR_LE, {1, INT64_MAX}},
      {TIR_GE, TIR_LT, {0, INT64_MAX}},  {TIR_EQ, TIR_NE, {0, 0}},
  };
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    if ((holds ? rows[i].op : rows[i].negated) != op) continue;
    *range = rows[i].range;
    return true;
  }
  return false;
}

static int64_t floor_bound(int64_t hi, int64_t constant, int64_t common) {
  return hi == INT64_MAX || __builtin_sub_overflow(hi, constant, &hi) ? INT64_MAX : runtime_floordiv(hi, common);
}

/* lo <= f <= hi as a fact about f's terms alone. */
static fact make_fact(const fact *outer, form f, te_interval range) {
  int64_t constant = f.constant, common = normalize(&f), lo = range.lo;
  f.constant = 0;
  bool is_open = lo == INT64_MIN || __builtin_sub_overflow(lo, constant, &lo);
  int64_t low = is_open ? INT64_MIN : runtime_floordiv(lo, common) + (runtime_floormod(lo, common) != 0);
  return (fact){outer, f, {low, floor_bound(range.hi, constant, common)}};
}

/* a op b of integers is a fact about the linear form a - b. */
static place assume_comparison(place at, fact storage[], int *n, const tir_expr *cond, bool holds) {
  te_interval range;
  if (*n == MAX_FACTS || tn_dtype_is_float((tn_dtype)cond->arg[0]->dtype)) return at;
  if (!comparison_range((tir_op)cond->op, holds, &range)) return at;
  form f = linear(at, cond->arg[0]), b = linear(at, cond->arg[1]);
  if (!add_form(&f, &b, -1) || f.n == 0) return at;
  storage[*n] = make_fact(at.facts, f, range);
  return (place){&storage[(*n)++], at.nesting, at.work};
}

/* The place where COND is known to hold (or not to). Its facts live in STORAGE, MAX_FACTS of them. */
static place assume(place at, fact storage[], int *n, const tir_expr *cond, bool holds) {
  if (cond->op == TIR_NOT) return assume(at, storage, n, cond->arg[0], !holds);
  if (cond->op == (holds ? TIR_AND : TIR_OR)) {
    at = assume(at, storage, n, cond->arg[0], holds);
    return assume(at, storage, n, cond->arg[1], holds);
  }
  return tir_op_table[cond->op].op_class == 'C' ? assume_comparison(at, storage, n, cond, holds) : at;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static const tn_axis *axis_of(const tir_expr *atom) {
  return atom->op == TIR_VAR && !te_var_axis(atom->u.var)->is_symbol ? te_var_axis(atom->u.var) : NULL;
}

/* Adds the greatest (or least) value of a term whose atom is an axis: extent - 1, or 0. */
static bool add_end_of(place at, form *f, const term *t, const tn_axis *axis, bool greatest) {
  if ((t->factor > 0) != greatest) return true;
  form end = axis->size ? linear(at, axis->size) : (form){.constant = axis->extent};
  end.constant -= 1;
  return add_form(f, &end, t->factor);
}

/* F with its axes at the ends where F is greatest (or least): what is left are symbols and what is not linear. False:
 * too long. Axes of constant extent stay unless ALL. */
static bool at_ends(place at, const form *f, bool greatest, bool all, form *out) {
  *out = (form){.constant = f->constant};
  for (int i = 0; i < f->n; i++) {
    const tn_axis *axis = axis_of(f->terms[i].atom);
    bool ok =
        axis && (axis->size || all) ? add_end_of(at, out, &f->terms[i], axis, greatest) : add_term(out, f->terms[i]);
    if (!ok) return false;
  }
  return true;
}

/* The greatest value of a form (or the least, negated): by its terms' ranges, or with axes at their symbolic ends. */
static int64_t greatest(place at, const form *f) {
  form ends;
  int64_t plain = form_bound(at, f).hi;
  return at_ends(at, f, true, false, &ends) ? RUNTIME_MIN(plain, form_bound(at, &ends).hi) : plain;
}

static int64_t least(place at, const form *f) {
  form ends;
  int64_t plain = form_bound(at, f).lo;
  return at_ends(at, f, false, false, &ends) ? RUNTIME_MAX(plain, form_bound(at, &ends).lo) : plain;
}

static tir_walk stop_at_symbolic(void *user, const tir_expr *e) {
  (void)user;
  const tn_axis *axis = e->op == TIR_VAR ? te_var_axis(e->u.var) : NULL;
  return axis && (axis->is_symbol || axis->size) ? TIR_WALK_STOP : TIR_WALK_ON;
}

static tir_walk stop_unless_symbol(void *user, const tir_expr *e) {
  (void)user;
  bool is_other = e->op == TIR_READ || (e->op == TIR_VAR && !te_var_axis(e->u.var)->is_symbol);
  return is_other ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* F + 1 as an expression of symbols; NULL: it has other parts. */
static const tir_expr *size_of(runtime_arena *arena, const form *f) {
  const tir_expr *sum = NULL;
  for (int i = 0; i < f->n; i++) {
    const tir_expr *atom = f->terms[i].atom;
    if (atom->dtype != TN_I32 || !tir_walk_expr(atom, stop_unless_symbol, NULL)) return NULL;
    const tir_expr *part = tir_binary(arena, TIR_MUL, atom, tir_int(arena, TN_I32, f->terms[i].factor));
    sum = sum ? tir_binary(arena, TIR_ADD, sum, part) : part;
  }
  return sum ? tir_binary(arena, TIR_ADD, sum, tir_int(arena, TN_I32, f->constant + 1)) : NULL;
}

bool te_size_difference(const tir_expr *a, const tir_expr *b, int64_t *difference) {
  int work = 0;
  place at = {NULL, 0, &work};
  form f = linear(at, a), g = linear(at, b);
  if (!add_form(&f, &g, -1) || f.n > 0) return false;
  *difference = f.constant;
  return true;
}

/* What the index of dimension D can be, where symbols have a part in it or in the extent. */
static void look_at_symbols(place at, runtime_arena *arena, const tir_expr *index, int d, te_access *access) {
  const tn_tensor *tensor = access->read->u.tensor;
  te_interval *range = &access->range[d];
  form f = linear(at, index), ends;
  access->is_symbolic[d] = !tir_walk_expr(index, stop_at_symbolic, NULL);
  if (access->is_symbolic[d]) {
    *range = (te_interval){RUNTIME_MAX(range->lo, least(at, &f)), RUNTIME_MIN(range->hi, greatest(at, &f))};
    if (arena && at_ends(at, &f, true, true, &ends)) access->end[d] = size_of(arena, &ends);
  }
  access->is_below[d] = range->hi < tensor->shape[d];
  if (!tensor->size[d]) return;
  form extent = linear(at, tensor->size[d]);
  access->is_below[d] = range->lo > range->hi || (add_form(&f, &extent, -1) && greatest(at, &f) < 0);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

typedef struct walk {
  runtime_arena *arena; /* for te_access.end; NULL: not wanted */
  te_access_fn visit;
  void *user;
} walk;

static tir_walk stop_at_read(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_READ ? TIR_WALK_STOP : TIR_WALK_ON;
}

static bool walk_expr(const walk *w, place at, bool is_guarded, const tir_expr *e);

/* The reads in an index come first, then the read itself. */
static bool visit_read(const walk *w, place at, bool is_guarded, const tir_expr *e) {
  te_access access = {.read = e, .is_guarded = is_guarded};
  for (int d = 0; d < e->n_args; d++) {
    if (!walk_expr(w, at, is_guarded, e->arg[d])) return false;
    access.range[d] = bound(at, e->arg[d]);
    access.is_data[d] = !tir_walk_expr(e->arg[d], stop_at_read, NULL);
    look_at_symbols(at, w->arena, e->arg[d], d, &access);
  }
  return w->visit(w->user, &access);
}

/* Walks what is only evaluated when COND holds (or does not). */
static bool walk_guarded(const walk *w, place at, const tir_expr *cond, bool holds, const tir_expr *e) {
  fact storage[MAX_FACTS];
  int n = 0;
  return walk_expr(w, assume(at, storage, &n, cond, holds), true, e);
}

/* A reduction's sources count only where its condition holds. */
static bool walk_where(const walk *w, place at, bool is_guarded, const tir_expr *e) {
  const tir_expr *where = tir_reduce_where(e);
  int n = tir_n_values(e);
  bool ok = walk_expr(w, at, is_guarded, where);
  for (int v = 0; ok && v < n; v++) ok = walk_guarded(w, at, where, true, e->arg[v]);
  for (int v = 0; ok && v < n && tir_reduce_init(e, v); v++) ok = walk_expr(w, at, is_guarded, tir_reduce_init(e, v));
  return ok;
}

static bool walk_expr(const walk *w, place at, bool is_guarded, const tir_expr *e) {
  if (e->op == TIR_READ) return visit_read(w, at, is_guarded, e);
  if (tir_reduce_where(e)) return walk_where(w, at, is_guarded, e);
  bool is_lazy = e->op == TIR_SELECT || e->op == TIR_AND || e->op == TIR_OR;
  for (int i = 0; i < (is_lazy ? 1 : e->n_args); i++)
    if (!walk_expr(w, at, is_guarded, e->arg[i])) return false;
  if (!is_lazy) return true;
  if (!walk_guarded(w, at, e->arg[0], e->op != TIR_OR, e->arg[1])) return false;
  return e->op != TIR_SELECT || walk_guarded(w, at, e->arg[0], false, e->arg[2]);
}

bool te_walk_accesses(const te_op *op, runtime_arena *arena, te_access_fn visit, void *user) {
  int work = 0;
  return walk_expr(&(walk){arena, visit, user}, (place){NULL, 0, &work}, false, op->body);
}

static bool stays_inside(void *user, const te_access *access) {
  const tn_tensor *tensor = access->read->u.tensor;
  (void)user;
  for (int d = 0; d < tensor->ndim; d++)
    if (access->range[d].lo < 0 || !access->is_below[d]) return false;
  return true;
}

typedef struct limit {
  const tn_tensor *of;
  int64_t least; /* 0: none yet */
} limit;

static tir_walk stop_at_read_of(void *user, const tir_expr *e) {
  return e->op == TIR_READ && e->u.tensor == ((const limit *)user)->of ? TIR_WALK_STOP : TIR_WALK_ON;
}

static tir_walk find_limit(void *user, const tir_expr *e) {
  limit *l = user;
  if (e->op != TIR_READ) return TIR_WALK_ON;
  for (int d = 0; d < e->n_args; d++) {
    int64_t extent = e->u.tensor->shape[d];
    if (!tir_walk_expr(e->arg[d], stop_at_read_of, l)) l->least = l->least ? RUNTIME_MIN(l->least, extent) : extent;
  }
  return TIR_WALK_ON;
}

int64_t te_index_limit(const tn_program *program, const tn_tensor *tensor) {
  limit l = {tensor, 0};
  if (tn_dtype_is_float(tensor->dtype) || tensor->dtype == TN_BOOL) return 0;
  for (int i = 0; i < program->n_ops; i++)
    if (program->ops[i]->body) tir_walk_expr(program->ops[i]->body, find_limit, &l);
  return l.least;
}

void te_set_may_leave(te_op *op) { op->may_leave = op->body && !te_walk_accesses(op, NULL, stays_inside, NULL); }

/* Under a condition, or where an index depends on data, only what is out of bounds for certain is refused. */
bool te_check_access(const te_site *site, const char *op_name, const te_access *access) {
  const tn_tensor *tensor = access->read->u.tensor;
  for (int d = 0; d < tensor->ndim; d++) {
    te_interval range = access->range[d], allowed = {0, tensor->shape[d] - 1}, both = intersect(range, allowed);
    bool is_unsure = access->is_guarded || access->is_data[d];
    if (range.lo >= 0 && access->is_below[d]) continue;
    if ((is_unsure && both.lo <= both.hi) || range.lo > range.hi) continue;
    char text[64], extent[64];
    te_show(text, access->read);
    if (tensor->size[d])
      te_fail(
          site, TN_ERROR_PROGRAM,
          "'%s' reads %s: index %d is not known to be in 0 .. %s - 1: guard the read by select, change an extent, or "
          "say how small the symbols can be, as in symbol 3<=M",
          op_name, text, d, te_show(extent, tensor->size[d]));
    else if (is_inside(dtype_range(TN_I32), range))
      te_fail(site, TN_ERROR_PROGRAM,
              "'%s' reads %s: index %d can have any value (extent %lld): guard the read by select", op_name, text, d,
              (long long)tensor->shape[d]);
    else
      te_fail(site, TN_ERROR_PROGRAM, "'%s' reads %s: index %d spans [%lld, %lld], but the extent is %lld: %s", op_name,
              text, d, (long long)range.lo, (long long)range.hi, (long long)tensor->shape[d],
              "guard the read by select, or change an extent");
    return false;
  }
  return true;
}
