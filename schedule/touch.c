/* touch.c: which part of a buffer a store touches, by loop level.
 *
 * An index is taken apart into a linear form (tir/linear.h) of the store's loops; then the range of a level is the
 * range of the level inside it plus one term, so all levels of an access cost one pass over its loops. What is not
 * linear (fused loops: f // 8) is asked of tir_bounds, only at the levels whose variable it uses. */
#include <assert.h>
#include <math.h>

#include "schedule/touch.h"
#include "tir/linear.h"

enum { MAX_INDEX_CASTS = 16 };

/* An index as base + sum(step * loop variable). Only the steps of used loops are set. */
typedef struct index_steps {
  int64_t base, step[TOUCH_MAX_LOOPS];
  uint64_t used;
  bool is_linear; /* else the steps are only estimates */
  int budget;     /* casts that may still be looked through: shared subtrees could blow up */
} index_steps;

/* One access being added. DIMS is filled up to the buffer's rank; the rest is garbage. */
typedef struct access {
  const touch_store *store;
  const tir_env *env;
  index_steps dims[TN_MAX_RANK];
} access;

/* From the inside: most indices use inner loops. */
static int find_loop(const touch_store *store, const tir_var *var) {
  int i = store->depth - 1;
  while (i >= 0 && store->loops[i].var != var) --i;
  return i;
}

/* Steps are set when a loop is first used: an index_steps is not cleared for every index. */
static void add_var(const touch_store *store, const tir_var *var, int64_t step, index_steps *out) {
  int i = find_loop(store, var);
  if (i < 0) return; /* a loop of extent 1: constant, and the same in all accesses */
  if (!(out->used >> i & 1)) out->step[i] = 0;
  out->used |= UINT64_C(1) << i;
  if (__builtin_add_overflow(out->step[i], step, &out->step[i])) out->is_linear = false;
}

typedef struct opaque {
  const touch_store *store;
  index_steps *out;
} opaque;

/* A variable that also stands in a linear part keeps the step it has there. */
static tir_walk mark_var(void *user, const tir_expr *e) {
  opaque *o = user;
  if (e->op != TIR_VAR) return TIR_WALK_ON;
  int i = find_loop(o->store, e->u.var);
  if (i >= 0 && !(o->out->used >> i & 1)) add_var(o->store, e->u.var, 1, o->out);
  return TIR_WALK_ON;
}

/* A part that is not linear: its variables step by about one. */
static void add_opaque(const touch_store *store, const tir_expr *e, index_steps *out) {
  out->is_linear = false;
  tir_walk_expr(e, mark_var, &(opaque){store, out});
}

static void add_index(const touch_store *store, const tir_expr *e, int64_t scale, index_steps *out);

/* The interval of a form of loop variables; a loop of extent 1 stands at 0. */
static tir_interval form_range(const touch_store *store, const tir_linear *form) {
  tir_interval range = {form->constant, form->constant};
  for (int i = 0; i < form->n; ++i) {
    const tir_expr *atom = form->terms[i].atom;
    int loop = atom->op == TIR_VAR ? find_loop(store, atom->u.var) : -1;
    if (atom->op != TIR_VAR) return TIR_UNBOUNDED;
    if (loop < 0) continue;
    int64_t min = (int64_t)store->loops[loop].min, last = min + (int64_t)store->loops[loop].extent - 1;
    range = tir_interval_add(range, tir_interval_scale((tir_interval){min, last}, form->terms[i].coef));
  }
  return range;
}

/* (c*q + r) // c is q, and (c*q + r) % c is r, where r stays in [0, c): so panels are indexed. False: E is none
 * such. */
static bool add_division(const touch_store *store, const tir_expr *e, int64_t scale, index_steps *out) {
  tir_linear form, whole, rest;
  int64_t by;
  if ((e->op != TIR_FLOORDIV && e->op != TIR_FLOORMOD) || !tir_is_int(e->arg[1], &by) || by < 1) return false;
  tir_linear_zero(&form), tir_linear_zero(&whole), tir_linear_zero(&rest);
  bool ok = tir_linear_add_expr(&form, e->arg[0], 1) && tir_linear_add_const(&rest, form.constant);
  for (int i = 0; ok && i < form.n; ++i) {
    bool divides = form.terms[i].coef % by == 0;
    ok = tir_linear_add_atom(divides ? &whole : &rest, form.terms[i].atom, form.terms[i].coef / (divides ? by : 1));
  }
  if (!ok || !tir_interval_within(form_range(store, &rest), (tir_interval){0, by - 1})) return false;
  const tir_linear *result = e->op == TIR_FLOORDIV ? &whole : &rest;
  if (__builtin_add_overflow(out->base, scale * result->constant, &out->base)) out->is_linear = false;
  for (int i = 0; i < result->n; ++i) add_index(store, result->terms[i].atom, scale * result->terms[i].coef, out);
  return true;
}

static bool keeps_integer(const tir_expr *e) { return e->op == TIR_CAST && !runtime_is_float(e->arg[0]->dtype); }

/* Adds SCALE * E. The sum may overflow for absurd extents: then the index counts as not linear, and its
 * interval is asked of tir_bounds, which saturates. */
static void add_index(const touch_store *store, const tir_expr *e, int64_t scale, index_steps *out) {
  tir_linear form;
  tir_linear_zero(&form);
  if (!tir_linear_add_expr(&form, e, scale)) {
    add_opaque(store, e, out);
    return;
  }
  if (__builtin_add_overflow(out->base, form.constant, &out->base)) out->is_linear = false;
  for (int i = 0; i < form.n; ++i) {
    const tir_expr *atom = form.terms[i].atom;
    if (atom->op == TIR_VAR)
      add_var(store, atom->u.var, form.terms[i].coef, out);
    else if (keeps_integer(atom) && out->budget-- > 0)
      add_index(store, atom->arg[0], form.terms[i].coef, out);
    else if (out->budget-- <= 0 || !add_division(store, atom, form.terms[i].coef, out))
      add_opaque(store, atom, out);
  }
}

/* ---- hulls ------------------------------------------------------------------------------------------------------- */

/* Changes the range in the chain that the walk holds: tir_bounds sees it at once. The caller restores
 * nothing, since each question sets all loops anew. */
static void set_range(const touch_loop *loop, bool runs) {
  int64_t min = (int64_t)loop->min;
  loop->env->range = (tir_interval){min, runs ? min + (int64_t)loop->extent - 1 : min};
}

/* A range cut to the buffer: a guarded tail does not run over its end. */
static tir_interval cut_to(tir_interval range, int64_t extent) {
  range.lo = RUNTIME_MIN(RUNTIME_MAX(range.lo, 0), extent - 1);
  range.hi = RUNTIME_MAX(RUNTIME_MIN(range.hi, extent - 1), range.lo);
  return range;
}

/* Widens the hull of one level by a range that lies in the buffer. */
static void widen(touch_hull *hull, int dim, bool first, tir_interval range) {
  hull->dim[dim] = first ? range : tir_interval_hull(hull->dim[dim], range);
}

/* All loops stand at their first iterations. */
static tir_interval first_point(const access *a, const index_steps *index) {
  tir_interval at = {index->base, index->base};
  for (uint64_t left = index->used; left; left &= left - 1) {
    int i = __builtin_ctzll(left);
    int64_t min = (int64_t)a->store->loops[i].min;
    if (min != 0) at = tir_interval_add(at, tir_interval_scale((tir_interval){min, min}, index->step[i]));
  }
  return at;
}

/* O(loops): the range of a level is that of the level inside plus one term. Loops are taken to be
 * independent. */
static void widen_linear(const access *a, int dim, touch_hull *hulls, bool first, int64_t extent) {
  const index_steps *index = &a->dims[dim];
  tir_interval range = first_point(a, index), inside = cut_to(range, extent);
  for (int i = a->store->depth - 1; i >= 0; --i) {
    if (index->used >> i & 1) {
      tir_interval iterations = {0, (int64_t)a->store->loops[i].extent - 1};
      range = tir_interval_add(range, tir_interval_scale(iterations, index->step[i]));
      inside = cut_to(range, extent);
    }
    widen(&hulls[i], dim, first, inside);
  }
  if (a->store->depth == 0) widen(hulls, dim, first, inside);
}

/* O(loops that the index uses) questions to tir_bounds, each a walk over the index. */
static void widen_opaque(const access *a, const tir_expr *index, int dim, touch_hull *hulls, bool first,
                         int64_t extent) {
  const touch_store *store = a->store;
  tir_interval range = TIR_UNBOUNDED;
  assert(store->depth >= 0 && store->depth <= TOUCH_MAX_LOOPS);
  for (int i = 0; i < store->depth; ++i) set_range(&store->loops[i], false);
  for (int i = store->depth - 1; i >= 0; --i) {
    set_range(&store->loops[i], true);
    if (i == store->depth - 1 || a->dims[dim].used >> i & 1) range = tir_bounds(a->env, index);
    widen(&hulls[i], dim, first, cut_to(range, extent));
  }
  if (store->depth == 0) widen(hulls, dim, first, cut_to((tir_interval){0, extent - 1}, extent));
}

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

/* The store's entry for a buffer; NULL when there are too many. Of a new one what the store's loops do not cover is left
 * as it is; touch_finish fills the rest. */
static touch_region *find_touched(touch_program *p, const tir_buffer *buffer, bool *is_new) {
  touch_store *store = &p->stores[p->n_stores];
  *is_new = false;
  for (int i = 0; i < store->n_touched; ++i) {
    if (store->touched[i].buffer == buffer) return &store->touched[i];
  }
  if (store->n_touched == TOUCH_MAX_BUFFERS || p->n_touched == TOUCH_MAX_TOUCHED) {
    p->is_cut = true;
    return NULL;
  }
  *is_new = true;
  ++p->n_touched;
  touch_region *touched = &store->touched[store->n_touched++];
  memset(touched, 0, offsetof(touch_region, elements));
  memset(touched->stride, 0, sizeof *touched->stride * (size_t)store->depth);
  touched->elements[0] = 0;
  touched->buffer = buffer;
  touched->contiguous = 1;
  return touched;
}

/* Steps of the loops through the rightmost index that has them. */
static void take_strides(const access *a, touch_region *touched) {
  uint64_t seen = 0;
  double right = 1;
  for (int dim = touched->buffer->ndim - 1; dim >= 0; --dim) {
    const index_steps *index = &a->dims[dim];
    for (uint64_t left = index->used & ~seen; left; left &= left - 1) {
      int i = __builtin_ctzll(left);
      double step = fabs((double)index->step[i]) * right;
      bool had = touched->used >> i & 1;
      touched->stride[i] = had ? RUNTIME_MIN(touched->stride[i], step) : step;
    }
    seen |= index->used;
    right *= (double)touched->buffer->shape[dim];
  }
  touched->used |= seen;
}

/* An access with another rank than its buffer (a flattened one), or to more buffers than there is room
 * for, is left out. */
void touch_access(touch_program *p, const tir_env *env, const tir_buffer *buffer, int n_index,
                  const tir_expr *const *index, bool is_write) {
  bool is_new;
  touch_region *touched = n_index == buffer->ndim ? find_touched(p, buffer, &is_new) : NULL;
  if (!touched) return;
  *(is_write ? &touched->is_written : &touched->is_read) = true;
  access a;
  a.store = &p->stores[p->n_stores];
  a.env = env;
  touch_hull *hulls = p->hulls[touched - a.store->touched];
  for (int dim = 0; dim < n_index; ++dim) {
    index_steps *steps = &a.dims[dim];
    steps->base = 0;
    steps->used = 0;
    steps->is_linear = true;
    steps->budget = MAX_INDEX_CASTS;
    add_index(a.store, index[dim], 1, steps);
    if (steps->is_linear)
      widen_linear(&a, dim, hulls, is_new, buffer->shape[dim]);
    else
      touched->is_gathered |= tir_has_op(index[dim], TIR_LOAD),
          widen_opaque(&a, index[dim], dim, hulls, is_new, buffer->shape[dim]);
  }
  take_strides(&a, touched);
}

static double length(tir_interval range) { return (double)(range.hi - range.lo + 1); }

/* A box: of a strided access also the elements between, since whole lines come in anyway. */
static double hull_elements(const touch_hull *hull, int ndim) {
  double n = 1;
  for (int dim = 0; dim < ndim; ++dim) n *= length(hull->dim[dim]);
  return n;
}

/* From the right: whole dimensions, and the first one that is not whole. */
static double hull_contiguous(const touch_hull *hull, const tir_buffer *buffer) {
  double n = 1;
  for (int dim = buffer->ndim - 1; dim >= 0; --dim) {
    double extent = length(hull->dim[dim]);
    n *= extent;
    if (extent < (double)buffer->shape[dim]) break;
  }
  return n;
}

/* From the innermost level outwards: a loop that no index uses touches what the loops inside of it do. */
static void count_levels(touch_region *touched, const touch_hull *hulls, int levels) {
  for (int level = levels - 1; level >= 0; --level) {
    bool is_new = level == levels - 1 || touched->used >> level & 1;
    touched->elements[level] =
        is_new ? hull_elements(&hulls[level], touched->buffer->ndim) : touched->elements[level + 1];
    touched->run[level] = is_new ? (float)hull_contiguous(&hulls[level], touched->buffer) : touched->run[level + 1];
  }
}

void touch_finish(touch_program *p) {
  touch_store *store = &p->stores[p->n_stores];
  for (int i = 0; i < store->n_touched; ++i) {
    touch_region *touched = &store->touched[i];
    count_levels(touched, p->hulls[i], RUNTIME_MAX(store->depth, 1));
    touched->all = p->hulls[i][0];
    touched->contiguous = hull_contiguous(&p->hulls[i][0], touched->buffer);
  }
}
