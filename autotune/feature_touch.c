/* feature_touch.c: which part of a buffer a store touches, by loop level.
 *
 * An index is taken apart into base + sum of coefficient * loop variable; then the range of a level is the range of
 * the level inside it plus one term, so all levels of an access cost one pass over its loops. What is not linear
 * (fused loops: f // 8) is asked of tir_bounds, only at the levels whose variable it uses. */
#include <math.h>

#include "autotune/feature.h"

enum { MAX_INDEX_NODES = 128 };

/* An index as a linear form of the store's loops. Only the coefficients of used loops are set. */
typedef struct linear {
  double base;
  double coefficient[FEATURE_MAX_LOOPS];
  uint64_t used;
  bool is_linear; /* else the coefficients are only estimates of the step */
  int budget;     /* nodes that may still be looked at: shared subtrees could blow up */
} linear;

typedef struct access {
  const feature_store *store;
  const tir_env *env;
  linear dims[TN_MAX_RANK];
} access;

static int find_loop(const feature_store *store, const tir_var *var) {
  int i = store->depth - 1;
  while (i >= 0 && store->loops[i].var != var) --i;
  return i;
}

static void add_var(const feature_store *store, const tir_var *var, double scale, linear *out) {
  int i = find_loop(store, var);
  if (i < 0) return; /* a loop of extent 1: constant, and the same in all accesses */
  if (!(out->used >> i & 1)) out->coefficient[i] = 0;
  out->used |= UINT64_C(1) << i;
  out->coefficient[i] += scale;
}

typedef struct opaque {
  const feature_store *store;
  linear *out;
} opaque;

static tir_walk mark_var(void *user, const tir_expr *e) {
  opaque *o = user;
  if (e->op != TIR_VAR) return TIR_WALK_ON;
  int i = find_loop(o->store, e->u.var);
  if (i >= 0 && !(o->out->used >> i & 1)) add_var(o->store, e->u.var, 1, o->out);
  return TIR_WALK_ON;
}

/* A part that is not linear: its variables step by about one. */
static void add_opaque(const feature_store *store, const tir_expr *e, linear *out) {
  out->is_linear = false;
  tir_walk_expr(e, mark_var, &(opaque){store, out});
}

static void decompose(const feature_store *store, const tir_expr *e, double scale, linear *out) {
  int64_t factor;
  if (out->budget-- <= 0) {
    add_opaque(store, e, out);
  } else if (e->op == TIR_INT) {
    out->base += scale * (double)e->u.i;
  } else if (e->op == TIR_VAR) {
    add_var(store, e->u.var, scale, out);
  } else if (e->op == TIR_ADD || e->op == TIR_SUB) {
    decompose(store, e->arg[0], scale, out);
    decompose(store, e->arg[1], e->op == TIR_ADD ? scale : -scale, out);
  } else if (e->op == TIR_MUL && tir_is_int(e->arg[1], &factor)) {
    decompose(store, e->arg[0], scale * (double)factor, out);
  } else if (e->op == TIR_MUL && tir_is_int(e->arg[0], &factor)) {
    decompose(store, e->arg[1], scale * (double)factor, out);
  } else if (e->op == TIR_CAST && !tn_dtype_is_float(e->arg[0]->dtype)) {
    decompose(store, e->arg[0], scale, out);
  } else {
    add_opaque(store, e, out);
  }
}

/* ---- hulls ------------------------------------------------------------------------------------------------------- */

static void set_range(const feature_loop *loop, bool runs) {
  int64_t min = (int64_t)loop->min;
  loop->env->range = (tir_interval){min, runs ? min + (int64_t)loop->extent - 1 : min};
}

/* Widens the hull of one level by [lo, hi], cut to the buffer: a guarded tail does not run over its end. */
static void widen(feature_hull *hull, int dim, bool first, double lo, double hi, int64_t extent) {
  lo = RUNTIME_MIN(RUNTIME_MAX(lo, 0), (double)extent - 1);
  hi = RUNTIME_MAX(RUNTIME_MIN(hi, (double)extent - 1), lo);
  hull->lo[dim] = first ? lo : RUNTIME_MIN(hull->lo[dim], lo);
  hull->hi[dim] = first ? hi : RUNTIME_MAX(hull->hi[dim], hi);
}

static void widen_linear(const access *a, int dim, feature_hull *hulls, bool first, int64_t extent) {
  const linear *form = &a->dims[dim];
  double lo = form->base, hi;
  for (int i = 0; i < a->store->depth; ++i) {
    if (form->used >> i & 1) lo += form->coefficient[i] * a->store->loops[i].min;
  }
  hi = lo;
  for (int i = a->store->depth - 1; i >= 0; --i) {
    double span = form->used >> i & 1 ? form->coefficient[i] * (a->store->loops[i].extent - 1) : 0;
    *(span < 0 ? &lo : &hi) += span;
    widen(&hulls[i], dim, first, lo, hi, extent);
  }
  if (a->store->depth == 0) widen(hulls, dim, first, lo, hi, extent);
}

static void widen_opaque(const access *a, const tir_expr *index, int dim, feature_hull *hulls, bool first,
                         int64_t extent) {
  const feature_store *store = a->store;
  tir_interval range = {INT64_MIN, INT64_MAX};
  for (int i = 0; i < store->depth; ++i) set_range(&store->loops[i], false);
  for (int i = store->depth - 1; i >= 0; --i) {
    set_range(&store->loops[i], true);
    if (i == store->depth - 1 || a->dims[dim].used >> i & 1) range = tir_bounds(a->env, index);
    widen(&hulls[i], dim, first, (double)range.lo, (double)range.hi, extent);
  }
  if (store->depth == 0) widen(hulls, dim, first, 0, (double)extent - 1, extent);
}

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

/* The store's entry for a buffer; NULL when there are too many. */
static feature_touched *find_touched(feature_program *p, const tir_buffer *buffer, bool *is_new) {
  feature_store *store = &p->stores[p->n_stores];
  *is_new = false;
  for (int i = 0; i < store->n_touched; ++i) {
    if (store->touched[i].buffer == buffer) return &store->touched[i];
  }
  if (store->n_touched == FEATURE_MAX_BUFFERS || p->n_touched == FEATURE_MAX_TOUCHED) return NULL;
  *is_new = true;
  ++p->n_touched;
  feature_touched *touched = &store->touched[store->n_touched++];
  *touched = (feature_touched){.buffer = buffer, .contiguous = 1};
  return touched;
}

/* Steps of the loops through the rightmost index that has them. */
static void take_strides(const access *a, feature_touched *touched) {
  uint64_t seen = 0;
  double right = 1;
  for (int dim = touched->buffer->ndim - 1; dim >= 0; --dim) {
    const linear *form = &a->dims[dim];
    for (uint64_t left = form->used & ~seen; left; left &= left - 1) {
      int i = __builtin_ctzll(left);
      double step = fabs(form->coefficient[i]) * right;
      bool had = touched->used >> i & 1;
      touched->stride[i] = had ? RUNTIME_MIN(touched->stride[i], step) : step;
    }
    seen |= form->used;
    right *= (double)touched->buffer->shape[dim];
  }
  touched->used |= seen;
}

void feature_touch(feature_program *p, const tir_env *env, const tir_buffer *buffer, int n_index,
                   const tir_expr *const *index, bool is_write) {
  bool is_new;
  feature_touched *touched = n_index == buffer->ndim ? find_touched(p, buffer, &is_new) : NULL;
  if (!touched) return;
  *(is_write ? &touched->is_written : &touched->is_read) = true;
  access a;
  a.store = &p->stores[p->n_stores];
  a.env = env;
  feature_hull *hulls = p->hulls[touched - a.store->touched];
  for (int dim = 0; dim < n_index; ++dim) {
    linear *form = &a.dims[dim];
    form->base = 0;
    form->used = 0;
    form->is_linear = true;
    form->budget = MAX_INDEX_NODES;
    decompose(a.store, index[dim], 1, form);
    if (form->is_linear)
      widen_linear(&a, dim, hulls, is_new, buffer->shape[dim]);
    else
      widen_opaque(&a, index[dim], dim, hulls, is_new, buffer->shape[dim]);
  }
  take_strides(&a, touched);
}

static double hull_elements(const feature_hull *hull, int ndim) {
  double n = 1;
  for (int dim = 0; dim < ndim; ++dim) n *= hull->hi[dim] - hull->lo[dim] + 1;
  return n;
}

/* From the right: whole dimensions, and the first one that is not whole. */
static double hull_contiguous(const feature_hull *hull, const tir_buffer *buffer) {
  double n = 1;
  for (int dim = buffer->ndim - 1; dim >= 0; --dim) {
    double extent = hull->hi[dim] - hull->lo[dim] + 1;
    n *= extent;
    if (extent < (double)buffer->shape[dim]) break;
  }
  return n;
}

void feature_touch_finish(feature_program *p) {
  feature_store *store = &p->stores[p->n_stores];
  for (int i = 0; i < store->n_touched; ++i) {
    feature_touched *touched = &store->touched[i];
    int levels = RUNTIME_MAX(store->depth, 1);
    for (int level = 0; level < levels; ++level) {
      touched->elements[level] = hull_elements(&p->hulls[i][level], touched->buffer->ndim);
    }
    touched->contiguous = hull_contiguous(&p->hulls[i][0], touched->buffer);
  }
}
