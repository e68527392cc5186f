/* tile_parities.c: reductions of the family `tile` of which a point takes every second step, or third: transposed convolutions
 * written with `where (p+r)%2 == 0`, or with X[x//2] and W[x%2], whose lanes come in turns. */
#include "schedule/tile.h"
#include "tir/linear.h"

/* X as + or - A DATA axis, + or - one of the reduction, and a number. */
static bool is_sum_of_two(const te_op *op, const tir_expr *x, int *data, int *reduced) {
  tir_linear form;
  tir_linear_zero(&form);
  *data = *reduced = -1;
  if (!tir_linear_add_expr(&form, x, 1) || form.n != 2) return false;
  for (int t = 0; t < form.n; t++) {
    const tir_expr *atom = form.terms[t].atom;
    if (atom->op != TIR_VAR || llabs(form.terms[t].coef) != 1) return false;
    for (int a = 0; a < op->n_axes; a++)
      if (atom->u.var == &op->axes[a]->var) *data = a;
    for (int a = 0; a < op->n_reduce; a++)
      if (atom->u.var == &op->reduce_axes[a]->var) *reduced = op->n_axes + a;
  }
  return *data >= 0 && *reduced >= 0;
}

/* COND as `(data + reduced) % modulus == c`, where DATA is short enough to be written out. */
static bool is_parity(const te_op *op, const tir_expr *cond, tile_parity *out) {
  enum { LONGEST = 4 };
  int64_t rest;
  bool fits = cond->op == TIR_EQ && cond->arg[0]->op == TIR_FLOORMOD && tir_is_int(cond->arg[1], &rest) &&
              tir_is_int(cond->arg[0]->arg[1], &out->modulus) && out->modulus >= 2 && out->modulus <= LONGEST;
  return fits && is_sum_of_two(op, cond->arg[0]->arg[0], &out->data, &out->reduced) &&
         op->axes[out->data]->extent <= LONGEST && op->reduce_axes[out->reduced - op->n_axes]->extent > 1;
}

/* A floor division by M of something with both axes, and neither of them elsewhere in INDEX. */
typedef struct quotient {
  const tir_var *data, *reduced;
  int64_t by;
  bool is_found, is_elsewhere;
} quotient;

static tir_walk find_quotient(void *user, const tir_expr *e) {
  quotient *q = user;
  int64_t by;
  bool divides = e->op == TIR_FLOORDIV && tir_is_int(e->arg[1], &by) && by == q->by &&
                 tir_uses_var(e->arg[0], q->data) && tir_uses_var(e->arg[0], q->reduced);
  q->is_found |= divides;
  if (divides) return TIR_WALK_PRUNE;
  q->is_elsewhere |= e->op == TIR_VAR && (e->u.var == q->data || e->u.var == q->reduced);
  return TIR_WALK_ON;
}

/* The read of one point of a parity, by steps that count: each moves it by as much as the next quotient or, where the
 * index has the axis as it is, by MODULUS elements. */
static void see_steps(const te_op *op, const tile_parity *p, generic_read *read) {
  int64_t step = 1;
  int d = p->data, k = p->reduced;
  if (read->is_known[k]) {
    if (read->stride[k] && read->is_known[d] && read->stride[d] == 0) read->stride[d] = read->stride[k];
    read->stride[k] *= p->modulus;
    return;
  }
  for (int dim = read->expr->n_args - 1; dim >= 0; step *= read->tensor->shape[dim--]) {
    quotient q = {&op->axes[d]->var, &op->reduce_axes[k - op->n_axes]->var, p->modulus, false, false};
    (void)tir_walk_expr(read->expr->arg[dim], find_quotient, &q);
    if (q.is_elsewhere || (q.is_found && read->is_known[k])) return;
    if (!q.is_found) continue;
    read->is_known[d] = read->is_known[k] = true;
    read->stride[d] = read->stride[k] = step;
    read->dim[d] = read->dim[k] = dim;
  }
}

/* COND's parities; what else it says is not looked at. */
void tile_describe_parities(tile_facts *f, const tir_expr *cond) {
  generic_reads *r = &f->reads;
  tile_parity p;
  if (cond->op == TIR_AND) {
    tile_describe_parities(f, cond->arg[0]);
    tile_describe_parities(f, cond->arg[1]);
    return;
  }
  if (f->n_parities == TILE_MAX_PARITIES || !is_parity(r->op, cond, &p)) return;
  bool is_free = p.data != f->v;
  for (int i = 0; i < f->n_parities; i++)
    is_free &= f->parities[i].data != p.data && f->parities[i].reduced != p.reduced;
  if (!is_free) return;
  f->parities[f->n_parities++] = p;
  for (int i = 0; i < r->n; i++) see_steps(r->op, &p, &r->reads[i]);
  r->extent[p.reduced] = (r->extent[p.reduced] + p.modulus - 1) / p.modulus;
}

/* ---- turns of lanes ---------------------------------------------------------------------------------------------- */

/* Whether E is VAR // G or VAR % G, as OP says. */
static bool is_of_turns(const tir_expr *e, tir_op op, const tir_var *var, int64_t g) {
  int64_t by;
  return e->op == op && e->arg[0]->op == TIR_VAR && e->arg[0]->u.var == var && tir_is_int(e->arg[1], &by) && by == g;
}

/* How many elements READ goes on by from one turn of G iterations of VAR to the next, and within a turn. False: otherwise. */
static bool see_turns(const generic_read *read, const tir_var *var, int64_t g, int64_t *turn, int64_t *within) {
  int64_t step = 1;
  *turn = *within = 0;
  for (int d = read->expr->n_args - 1; d >= 0; step *= read->tensor->shape[d--]) {
    tir_linear form;
    tir_linear_zero(&form);
    if (!tir_linear_add_expr(&form, read->expr->arg[d], 1)) return false;
    for (int t = 0; t < form.n; t++) {
      const tir_expr *atom = form.terms[t].atom;
      if (is_of_turns(atom, TIR_FLOORDIV, var, g))
        *turn += step * form.terms[t].coef;
      else if (is_of_turns(atom, TIR_FLOORMOD, var, g))
        *within += step * form.terms[t].coef;
      else if (tir_uses_var(atom, var))
        return false;
    }
  }
  return true;
}

/* Lanes of a turn share what goes along the vectors by turns; of what begins anew with each turn all vectors have the same,
 * which is loaded for all lanes at once. Neither is copied: its lanes belong together. */
int64_t tile_weave_lanes(generic_reads *r, int v, int64_t lanes) {
  enum { MOST_UNEVEN = 3 }; /* vectors that are whole turns together */
  const int64_t g = generic_grain(r, v);
  int64_t turn, within;
  bool fits = g > 1 && r->extent[v] % g == 0 && (lanes % g == 0 || (g <= MOST_UNEVEN && r->extent[v] >= g * lanes));
  if (!fits) return 0;
  for (int i = 0; i < r->n; i++) {
    const generic_read *read = &r->reads[i];
    if (read->is_known[v] && read->block[v] == 0) continue;
    if (!see_turns(read, &r->op->axes[v]->var, g, &turn, &within) || turn + within != 1) return 0;
  }
  for (int i = 0; i < r->n; i++) {
    generic_read *read = &r->reads[i];
    if (read->is_known[v] && read->block[v] == 0) continue;
    read->stride[v] = read->block[v] > 0; /* what has blocks goes on with each */
    read->is_known[v] = read->overlaps = true;
    read->block[v] = 0;
  }
  return g;
}
