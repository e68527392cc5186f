/* access.c: which elements a read can touch. Each index is bounded by tir's analysis of linear forms
 * (tir/linear.h). The conditions around a read serve as facts for that, since select, && and || are lazy.
 * The result is used to refuse reads outside their tensor, and to find the shapes of inputs that were not
 * declared. An analysis lives on the stack of the call; only te_access.end is made in an arena. */
#include "te/internal.h"
#include "tir/linear.h"

/* The work spent on the indices of one compute. When it is used up, an index counts as possibly anything. */
enum { MAX_WORK = 1 << 20 };

/* The values of an axis or a symbol: every variable of a te expression is one of the two (graph.h). */
static tir_interval axis_range(const tir_var *var) {
  const tn_axis *axis = te_var_axis(var);
  if (!axis) return TIR_UNBOUNDED;
  return axis->is_symbol ? (tir_interval){axis->least, axis->extent} : (tir_interval){0, axis->extent - 1};
}

/* Begins an analysis that knows the ranges of axes and symbols and nothing else. */
static void know_axes(tir_known *known) {
  tir_known_init(known, NULL);
  known->is_thorough = true;
  known->range_of = axis_range;
  known->budget = MAX_WORK;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

/* The axis that an atom of a linear form is; NULL for symbols and other expressions. */
static const tn_axis *axis_of(const tir_expr *atom) {
  return atom->op == TIR_VAR && !te_var_axis(atom->u.var)->is_symbol ? te_var_axis(atom->u.var) : NULL;
}

/* Adds the greatest (or least) value of a term whose atom is an axis: extent - 1, or 0. */
static bool add_end_of(tir_known *known, tir_linear *f, const tir_term *t, const tn_axis *axis, bool greatest) {
  if ((t->coef > 0) != greatest) return true;
  tir_linear end;
  tir_linear_zero(&end);
  end.constant = axis->extent;
  if (axis->size) tir_exact_form(known, axis->size, &end);
  return tir_linear_add_const(&end, -1) && tir_linear_add(f, &end, t->coef);
}

static bool at_ends(tir_known *known, const tir_linear *f, bool greatest, bool all, tir_linear *out);
static tir_walk stop_at_symbolic(void *user, const tir_expr *e);

/* The greatest (or least) value of the quotient ATOM, whose axes depend on symbols: as a form only where the divisor goes into what
 * it divides, but for a constant. (i // 2 of i < 2*M ends at (2*M - 1) // 2 = M - 1.) False: ATOM is something else. */
static bool end_of_quotient(tir_known *known, const tir_expr *atom, bool greatest, tir_linear *end) {
  int64_t by;
  tir_linear f;
  bool is_quotient = atom->op == TIR_FLOORDIV && tir_is_int(atom->arg[1], &by) && by > 0 &&
                     !tir_walk_expr(atom->arg[0], stop_at_symbolic, NULL);
  if (!is_quotient) return false;
  tir_exact_form(known, atom->arg[0], &f);
  if (!at_ends(known, &f, greatest, true, end)) return false;
  for (int i = 0; i < end->n; i++) {
    if (end->terms[i].coef % by != 0) return false;
    end->terms[i].coef /= by;
  }
  end->constant = runtime_floordiv(end->constant, by);
  return true;
}

/* Replaces axes in F, and quotients of them, by the values at which F is greatest (or least), so that only symbols and what is not
 * linear remain. Axes of constant extent are replaced only if ALL. False: the form is too long. */
static bool at_ends(tir_known *known, const tir_linear *f, bool greatest, bool all, tir_linear *out) {
  tir_linear_zero(out);
  out->constant = f->constant;
  for (int i = 0; i < f->n; i++) {
    const tir_term *t = &f->terms[i];
    const tn_axis *axis = axis_of(t->atom);
    tir_linear end;
    bool ok;
    if (axis && (axis->size || all))
      ok = add_end_of(known, out, t, axis, greatest);
    else if (end_of_quotient(known, t->atom, (t->coef > 0) == greatest, &end))
      ok = tir_linear_add(out, &end, t->coef);
    else
      ok = tir_linear_add_atom(out, t->atom, t->coef);
    if (!ok) return false;
  }
  return true;
}

/* The greatest value of a form, or a bound above it: the better of the bounds from its terms' ranges and
 * from axes at their symbolic ends. */
static int64_t greatest(tir_known *known, const tir_linear *f) {
  tir_linear ends;
  int64_t plain = tir_linear_bounds(known, f).hi;
  return at_ends(known, f, true, false, &ends) ? RUNTIME_MIN(plain, tir_linear_bounds(known, &ends).hi) : plain;
}

/* The least value of a form, or a bound below it, as in `greatest`. */
static int64_t least(tir_known *known, const tir_linear *f) {
  tir_linear ends;
  int64_t plain = tir_linear_bounds(known, f).lo;
  return at_ends(known, f, false, false, &ends) ? RUNTIME_MAX(plain, tir_linear_bounds(known, &ends).lo) : plain;
}

/* Stops where symbols take part: at a symbol itself, or at an axis whose extent depends on one. */
static tir_walk stop_at_symbolic(void *user, const tir_expr *e) {
  (void)user;
  const tn_axis *axis = e->op == TIR_VAR ? te_var_axis(e->u.var) : NULL;
  return axis && (axis->is_symbol || axis->size) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* A walk that reaches the end has seen only symbols and constants. */
static tir_walk stop_unless_symbol(void *user, const tir_expr *e) {
  (void)user;
  bool is_other = e->op == TIR_READ || (e->op == TIR_VAR && !te_var_axis(e->u.var)->is_symbol);
  return is_other ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* F + 1 as an expression of symbols; NULL: F has other parts. */
static const tir_expr *size_of(runtime_arena *arena, const tir_linear *f) {
  const tir_expr *sum = NULL;
  for (int i = 0; i < f->n; i++) {
    const tir_expr *atom = f->terms[i].atom;
    if (atom->dtype != TN_I32 || !tir_walk_expr(atom, stop_unless_symbol, NULL)) return NULL;
    const tir_expr *part = tir_binary(arena, TIR_MUL, atom, tir_int(arena, TN_I32, f->terms[i].coef));
    sum = sum ? tir_binary(arena, TIR_ADD, sum, part) : part;
  }
  return sum ? tir_binary(arena, TIR_ADD, sum, tir_int(arena, TN_I32, f->constant + 1)) : NULL;
}

/* Compares linear forms, not texts: M*2 + 4 and 2*(M + 1) differ by 2. False also where two sizes differ by
 * a constant in a way that linear forms do not show. */
bool te_size_difference(const tir_expr *a, const tir_expr *b, int64_t *difference) {
  tir_known known;
  tir_linear f, g;
  know_axes(&known);
  tir_exact_form(&known, a, &f);
  tir_exact_form(&known, b, &g);
  if (!tir_linear_add(&f, &g, -1) || f.n > 0) return false;
  *difference = f.constant;
  return true;
}

/* Refines what is known of the index of dimension D where symbols take part in the index or in the extent. */
static void look_at_symbols(tir_known *known, runtime_arena *arena, const tir_expr *index, int d, te_access *access) {
  const tn_tensor *tensor = access->read->u.tensor;
  tir_interval *range = &access->range[d];
  tir_linear f, ends, extent;
  tir_exact_form(known, index, &f);
  access->is_symbolic[d] = !tir_walk_expr(index, stop_at_symbolic, NULL);
  if (access->is_symbolic[d]) {
    *range = (tir_interval){RUNTIME_MAX(range->lo, least(known, &f)), RUNTIME_MIN(range->hi, greatest(known, &f))};
    if (arena && at_ends(known, &f, true, true, &ends)) access->end[d] = size_of(arena, &ends);
  }
  access->is_below[d] = range->hi < tensor->shape[d];
  if (!tensor->size[d]) return;
  tir_exact_form(known, tensor->size[d], &extent);
  access->is_below[d] = tir_interval_is_empty(*range) || (tir_linear_add(&f, &extent, -1) && greatest(known, &f) < 0);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* One walk over the reads of a body. */
typedef struct walk {
  runtime_arena *arena; /* for te_access.end; NULL: that is not wanted */
  te_access_fn visit;
  void *user;
} walk;

static bool walk_expr(const walk *w, tir_known *known, bool is_guarded, const tir_expr *e);

/* Visits the reads within the indices first, then the read itself. */
static bool visit_read(const walk *w, tir_known *known, bool is_guarded, const tir_expr *e) {
  te_access access = {.read = e, .is_guarded = is_guarded};
  for (int d = 0; d < e->n_args; d++) {
    if (!walk_expr(w, known, is_guarded, e->arg[d])) return false;
    access.range[d] = tir_known_bounds(known, e->arg[d]);
    access.is_data[d] = tir_has_op(e->arg[d], TIR_READ);
    look_at_symbols(known, w->arena, e->arg[d], d, &access);
  }
  return w->visit(w->user, &access);
}

/* Walks an expression that is evaluated only if COND is HOLDS. */
static bool walk_guarded(const walk *w, tir_known *known, const tir_expr *cond, bool holds, const tir_expr *e) {
  int n_facts = known->n_facts, n_conds = known->n_conds;
  tir_known_push(known, cond, holds);
  bool goes_on = walk_expr(w, known, true, e);
  known->n_facts = n_facts, known->n_conds = n_conds;
  return goes_on;
}

/* The sources of a reduction are evaluated only where its condition holds. */
static bool walk_where(const walk *w, tir_known *known, bool is_guarded, const tir_expr *e) {
  const tir_expr *where = tir_reduce_where(e);
  int n = tir_n_values(e);
  bool ok = walk_expr(w, known, is_guarded, where);
  for (int v = 0; ok && v < n; v++) ok = walk_guarded(w, known, where, true, e->arg[v]);
  for (int v = 0; ok && v < n && tir_reduce_init(e, v); v++)
    ok = walk_expr(w, known, is_guarded, tir_reduce_init(e, v));
  return ok;
}

/* Walks the operands that a select, && or || does not always compute with the conditions that lead to them:
 * such a read need be in bounds only when it happens. False at the first access that the visitor refuses. */
static bool walk_expr(const walk *w, tir_known *known, bool is_guarded, const tir_expr *e) {
  if (e->op == TIR_READ) return visit_read(w, known, is_guarded, e);
  if (tir_reduce_where(e)) return walk_where(w, known, is_guarded, e);
  bool is_lazy = e->op == TIR_SELECT || e->op == TIR_AND || e->op == TIR_OR;
  for (int i = 0; i < (is_lazy ? 1 : e->n_args); i++)
    if (!walk_expr(w, known, is_guarded, e->arg[i])) return false;
  if (!is_lazy) return true;
  if (!walk_guarded(w, known, e->arg[0], e->op != TIR_OR, e->arg[1])) return false;
  return e->op != TIR_SELECT || walk_guarded(w, known, e->arg[0], false, e->arg[2]);
}

/* A shared read is visited on every path, since the conditions on the way may differ. MAX_WORK limits the
 * analysis, not the number of visits; TE_MAX_SIZE does that. */
bool te_walk_accesses(const te_op *op, runtime_arena *arena, te_access_fn visit, void *user) {
  tir_known known;
  know_axes(&known);
  return walk_expr(&(walk){arena, visit, user}, &known, false, op->body);
}

/* Stops at the first read that may leave its tensor. */
static bool stays_inside(void *user, const te_access *access) {
  const tn_tensor *tensor = access->read->u.tensor;
  (void)user;
  for (int d = 0; d < tensor->ndim; d++)
    if (access->range[d].lo < 0 || !access->is_below[d]) return false;
  return true;
}

/* The search of te_index_limit for the least extent that is indexed by values of a tensor. */
typedef struct limit {
  const tn_tensor *of;
  int64_t least; /* 0: none yet */
} limit;

/* Stops the walk where an index is computed from the tensor. */
static tir_walk stop_at_read_of(void *user, const tir_expr *e) {
  return e->op == TIR_READ && e->u.tensor == ((const limit *)user)->of ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* The walk also goes on below a read, to find indices of indices. */
static tir_walk find_limit(void *user, const tir_expr *e) {
  limit *l = user;
  if (e->op != TIR_READ) return TIR_WALK_ON;
  for (int d = 0; d < e->n_args; d++) {
    int64_t extent = e->u.tensor->shape[d];
    if (!tir_walk_expr(e->arg[d], stop_at_read_of, l)) l->least = l->least ? RUNTIME_MIN(l->least, extent) : extent;
  }
  return TIR_WALK_ON;
}

/* For test data: integers below the limit are in bounds wherever they are used as an index. */
int64_t te_index_limit(const tn_program *program, const tn_tensor *tensor) {
  limit l = {tensor, 0};
  if (tn_dtype_is_float(tensor->dtype) || tensor->dtype == TN_BOOL) return 0;
  for (int i = 0; i < program->n_ops; i++)
    if (program->ops[i]->body) tir_walk_expr(program->ops[i]->body, find_limit, &l);
  return l.least;
}

/* Called when a compute is made and again when its program is, since inferred inputs may grow in between. */
void te_set_may_leave(te_op *op) { op->may_leave = op->body && !te_walk_accesses(op, NULL, stays_inside, NULL); }

/* Under a condition, or where an index depends on data, only reads that are out of bounds for certain are refused. */
bool te_check_access(const te_site *site, const char *op_name, const te_access *access) {
  const tn_tensor *tensor = access->read->u.tensor;
  for (int d = 0; d < tensor->ndim; d++) {
    tir_interval range = access->range[d], allowed = {0, tensor->shape[d] - 1},
                 both = tir_interval_meet(range, allowed);
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
    else if (tir_interval_within(tir_dtype_range(TN_I32), range))
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
