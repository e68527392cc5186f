/* pass_dead_lanes.c: lanes of local buffers that nobody reads are not computed. A tile of accumulators at the end of a
 * row is as wide as the others, and what stands behind the row's end is nobody's:
 *
 *     T[0 to 15] = T[0 to 15] + a * B[.. if lane < 4]        T[0 to 3] = T[0 to 3] + a * B[..]
 *     T[16 to 31] = T[16 to 31] + a * 0                  ->
 *     C[.. if lane < 4] = T[0 to 15]                         C[..] = T[0 to 3] */
#include "tir/linear.h"
#include "tir/passes.h"

enum { MAX_ELEMENTS = 4096, MAX_STORES = 1024, LEAST_BYTES = 16, MAX_LANES = 256 };

/* What is found out about one local buffer. On the stack of look_at_alloc. */
typedef struct local {
  const tir_pass_context *p;
  const tir_env *env;
  const tir_buffer *buffer;
  const tir_stmt *stores[MAX_STORES]; /* to the buffer */
  int n_stores;
  bool possible;           /* all indices are constants, and no other reader is unknown */
  bool read[MAX_ELEMENTS]; /* by who is no update of just this place */
  const tir_stmt *at; /* the store whose value is looked at: to the buffer, or, once that is known, to another one */
} local;

/* ---- conditions on lanes ----------------------------------------------------------------------------------------- */

/* The value of an integer constant's lane. False: it is no constant, or not of a simple form. */
static bool lane_value(const tir_expr *e, int lane, int64_t *value) {
  int64_t a, b;
  if (tir_is_int(e, value)) return true;
  if (e->op == TIR_BROADCAST) return lane_value(e->arg[0], 0, value);
  if (e->op == TIR_RAMP) {
    if (e->arg[0]->lanes != 1 || !lane_value(e->arg[0], 0, &a)) return false;
    *value = a + e->u.i * lane;
    return true;
  }
  bool is_known = e->op == TIR_AND || e->op == TIR_LT || e->op == TIR_LE || e->op == TIR_GT || e->op == TIR_GE;
  if (!is_known || !lane_value(e->arg[0], lane, &a) || !lane_value(e->arg[1], lane, &b)) return false;
  *value = e->op == TIR_AND  ? a && b
           : e->op == TIR_LT ? a < b
           : e->op == TIR_LE ? a <= b
           : e->op == TIR_GT ? a > b
                             : a >= b;
  return true;
}

/* The first lanes for which a constant predicate holds, behind which it holds for none. -1: not so, or not known. */
static int leading_lanes(const tir_expr *predicate) {
  int n = 0;
  for (int i = 0; i < predicate->lanes; i++) {
    int64_t holds;
    if (!lane_value(predicate, i, &holds) || (holds && n < i)) return -1;
    n += holds != 0;
  }
  return n;
}

/* The values of a lane. */
static tir_interval lane_bounds(const tir_env *env, const tir_expr *e, int lane) {
  bool is_spread = e->op == TIR_RAMP || e->op == TIR_BROADCAST;
  if (!is_spread || e->arg[0]->lanes != 1) return TIR_UNBOUNDED;
  int64_t step = e->op == TIR_RAMP ? e->u.i * lane : 0;
  return tir_interval_add(tir_bounds(env, e->arg[0]), (tir_interval){step, step});
}

/* Whether a predicate, of which a symbol's limits may be all that is known, holds for a lane never. */
static bool is_never(const tir_env *env, const tir_expr *e, int lane) {
  if (e->op == TIR_AND) return is_never(env, e->arg[0], lane) || is_never(env, e->arg[1], lane);
  bool is_less = e->op == TIR_LT || e->op == TIR_LE, is_more = e->op == TIR_GT || e->op == TIR_GE;
  if (!is_less && !is_more) return false;
  tir_interval less = lane_bounds(env, e->arg[is_more], lane), more = lane_bounds(env, e->arg[is_less], lane);
  return e->op == TIR_LT || e->op == TIR_GT ? less.lo >= more.hi : less.lo > more.hi;
}

/* So many of the first lanes are enough: behind them the predicate holds for none. */
static int most_lanes(const tir_env *env, const tir_expr *predicate) {
  int n = predicate->lanes, leading = leading_lanes(predicate);
  if (leading >= 0) return leading;
  while (n > 0 && is_never(env, predicate, n - 1)) n--;
  return n;
}

/* So many lanes as code has vectors for: a part of a register, or whole ones. */
static int whole_lanes(const tir_pass_options *o, int used, tn_dtype dtype, int most) {
  int bytes = (int)tn_dtype_bytes(dtype), of_register = RUNTIME_MAX(o->vector_bytes / bytes, 1), n = 1;
  if (used > of_register) return RUNTIME_MIN((used + of_register - 1) / of_register * of_register, most);
  while (n < used || n * bytes < LEAST_BYTES) n *= 2;
  return RUNTIME_MIN(n, most);
}

/* ---- narrower vectors -------------------------------------------------------------------------------------------- */

/* An expression of vectors as one of their first lanes. */
typedef struct narrowing {
  runtime_arena *arena;
  int lanes;
  bool failed; /* a node does not go lane by lane, or there is no memory */
} narrowing;

static const tir_expr *narrow(narrowing *n, const tir_expr *e);

/* Where all lanes that are left are read, no predicate says so. */
static const tir_expr *narrow_load(narrowing *n, const tir_expr *e) {
  const tir_expr *index = narrow(n, e->arg[0]), *predicate = tir_predicate(e);
  n->failed |= tir_n_index(e) != 1 || e->arg[0]->lanes != e->lanes;
  bool is_whole = predicate != NULL && leading_lanes(predicate) >= n->lanes;
  predicate = predicate != NULL && !is_whole ? narrow(n, predicate) : NULL;
  return n->failed ? NULL : tir_load(n->arena, e->u.buffer, 1, &index, predicate);
}

/* A copy with narrower arguments. Each lane of such a node is made of the same lane of its arguments. */
static const tir_expr *narrow_args(narrowing *n, const tir_expr *e) {
  tir_expr *copy = runtime_copy(n->arena, e, sizeof *e + sizeof e->arg[0] * e->n_args);
  for (int i = 0; copy != NULL && i < e->n_args; i++) {
    n->failed |= e->arg[i]->lanes != e->lanes && e->arg[i]->lanes != 1;
    if ((copy->arg[i] = narrow(n, e->arg[i])) == NULL) return NULL;
  }
  if (copy == NULL || n->failed) return NULL;
  copy->lanes = (uint16_t)n->lanes;
  return copy;
}

static const tir_expr *narrow(narrowing *n, const tir_expr *e) {
  if (n->failed || e->lanes == 1) return e;
  bool is_spread = e->op == TIR_RAMP || e->op == TIR_BROADCAST;
  n->failed |= e->op == TIR_DOT || (is_spread && e->arg[0]->lanes != 1);
  if (n->failed) return NULL;
  if (e->op == TIR_RAMP) return tir_ramp(n->arena, e->arg[0], e->u.i, n->lanes);
  if (e->op == TIR_BROADCAST) return tir_broadcast(n->arena, e->arg[0], n->lanes);
  return e->op == TIR_LOAD ? narrow_load(n, e) : narrow_args(n, e);
}

/* Nodes that are shared would be copied for each use: long expressions stay as they are. */
static bool is_short(const tir_expr *e) {
  enum { DEEPEST = 12 };
  return tir_depth(e) <= DEEPEST;
}

/* S with the first LANES of its vectors; NULL: it does not go lane by lane. */
static const tir_stmt *narrow_store(runtime_arena *arena, const tir_stmt *s, int lanes, bool keeps_predicate) {
  narrowing n = {.arena = arena, .lanes = lanes};
  const tir_expr *predicate = s->u.store.predicate;
  if (s->u.store.n_index != 1 || s->u.store.value->lanes < lanes || !is_short(s->u.store.value)) return NULL;
  const tir_expr *index = narrow(&n, s->u.store.index[0]), *value = narrow(&n, s->u.store.value);
  if (predicate != NULL) predicate = keeps_predicate ? narrow(&n, predicate) : NULL;
  return n.failed ? NULL : tir_store(arena, s->u.store.buffer, 1, &index, value, predicate);
}

/* ---- who reads what ---------------------------------------------------------------------------------------------- */

/* Neighbouring elements at constant places inside of the buffer. */
static bool is_place(const tir_buffer *buffer, const tir_expr *index, int64_t *first) {
  const tir_expr *base = index->op == TIR_RAMP && index->u.i == 1 ? index->arg[0] : index;
  if (base->lanes != 1 || !tir_is_int(base, first)) return false;
  return *first >= 0 && *first + index->lanes <= buffer->shape[0];
}

static bool is_same_place(const tir_expr *a, const tir_expr *b) { return a->lanes == b->lanes && tir_equal(a, b); }

static void mark_read(local *t, int64_t first, int n) {
  for (int i = 0; i < n; i++) t->read[first + i] = true;
}

/* An update reads its own place for itself alone. */
static tir_walk note_load(void *user, const tir_expr *e) {
  local *t = user;
  int64_t first;
  if (e->op != TIR_LOAD || e->u.buffer != t->buffer) return TIR_WALK_ON;
  if (!is_place(t->buffer, e->arg[0], &first)) {
    t->possible = false;
    return TIR_WALK_STOP;
  }
  bool is_update = t->at != NULL && is_same_place(e->arg[0], t->at->u.store.index[0]);
  if (!is_update) mark_read(t, first, e->has_predicate ? most_lanes(t->env, tir_predicate(e)) : e->lanes);
  return TIR_WALK_ON;
}

/* The shape that tir_map_exprs wants; nothing is changed. */
static const tir_expr *note_loads(void *user, const tir_expr *e) {
  tir_walk_expr(e, note_load, user);
  return e;
}

static tir_walk note_stmt(void *user, const tir_stmt *s) {
  local *t = user;
  int64_t first;
  bool stores = s->kind == TIR_STORE && s->u.store.buffer == t->buffer;
  bool is_outside = s->kind == TIR_CALL && tir_call_touches(s, t->buffer);
  bool is_again = s->kind == TIR_ALLOC && s->u.alloc.buffer == t->buffer;
  if (stores) is_outside |= t->n_stores == MAX_STORES || !is_place(t->buffer, s->u.store.index[0], &first);
  t->possible &= !is_outside && !is_again;
  if (!t->possible) return TIR_WALK_STOP;
  if (stores) t->stores[t->n_stores++] = s;
  t->at = stores ? s : NULL;
  tir_map_exprs(NULL, s, note_loads, t);
  return t->possible ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Lanes from the first to the last one that is read. */
static int used_lanes(const local *t, const tir_stmt *store) {
  int64_t first = 0;
  (void)is_place(t->buffer, store->u.store.index[0], &first);
  int n = store->u.store.index[0]->lanes;
  while (n > 0 && !t->read[first + n - 1]) n--;
  return n;
}

/* How many lanes of a store have to stay. */
static int kept_lanes(const local *t, const tir_stmt *store) {
  int used = used_lanes(t, store), lanes = store->u.store.index[0]->lanes;
  return used == 0 ? 0 : whole_lanes(&t->p->options, used, t->buffer->dtype, lanes);
}

/* A store that stays whole reads all of its own place: no other store may leave a part of that out. Until nothing changes. */
static void settle(local *t) {
  for (bool changes = true; changes;) {
    changes = false;
    for (int i = 0; i < t->n_stores; i++) {
      const tir_stmt *s = t->stores[i];
      int lanes = s->u.store.index[0]->lanes, used = used_lanes(t, s), kept = kept_lanes(t, s);
      if (used == 0 || used == lanes) continue;
      if (kept < lanes && narrow_store(t->p->arena, s, kept, true) != NULL) continue;
      int64_t first = 0;
      (void)is_place(t->buffer, s->u.store.index[0], &first);
      mark_read(t, first, lanes);
      changes = true;
    }
  }
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

/* Without a predicate on what the buffer itself holds: a load of all lanes, of which the store takes those that it wants. */
static const tir_expr *unmask(void *user, const tir_expr *e) {
  const local *t = user;
  if (e->op != TIR_LOAD || e->u.buffer != t->buffer || !e->has_predicate) return e;
  bool is_same = t->at->u.store.predicate != NULL && tir_equal(tir_predicate(e), t->at->u.store.predicate);
  return is_same ? tir_load(t->p->arena, e->u.buffer, 1, e->arg, NULL) : e;
}

/* What the other lanes of the buffer hold, if anything, is used by nobody, but a division by it could stop the program. */
static bool may_unmask(const tir_stmt *store) {
  const tir_expr *value = store->u.store.value;
  return store->u.store.predicate != NULL && !tir_has_op(value, TIR_FLOORDIV) && !tir_has_op(value, TIR_FLOORMOD);
}

/* Stores to the buffer without what nobody reads. */
static const tir_stmt *trim(void *user, const tir_stmt *s) {
  local *t = user;
  if (s->kind != TIR_STORE) return tir_map_children(t->p->arena, s, trim, t);
  if (s->u.store.buffer != t->buffer) {
    t->at = s;
    return may_unmask(s) ? tir_rewrite_stmt(&(tir_rewriter){t->p->arena, NULL, unmask, t}, s) : s;
  }
  int kept = kept_lanes(t, s);
  if (kept == 0) return tir_nop(t->p->arena);
  return kept == s->u.store.index[0]->lanes ? s : narrow_store(t->p->arena, s, kept, true);
}

/* Where the pass is, and what is known there. */
typedef struct place {
  const tir_pass_context *p;
  const tir_env *env;
} place;

/* What becomes narrower gets a buffer of its own: elsewhere the same one has vectors of the usual width. */
static const tir_stmt *look_at_alloc(const tir_pass_context *p, const tir_env *env, const tir_stmt *s) {
  local *t = RUNTIME_NEW(p->arena, local);
  if (t == NULL) return NULL;
  t->p = p, t->env = env, t->buffer = s->u.alloc.buffer, t->possible = true;
  tir_visitor visitor = {.stmt = note_stmt, .user = t};
  tir_walk_stmt(s->u.alloc.body, &visitor);
  if (!t->possible) return s;
  settle(t);
  const tir_stmt *body = tir_map_children(p->arena, s, trim, t);
  return body == NULL || body == s ? body : tir_with_own_buffers(p->arena, body);
}

static bool is_register_tile(const tir_buffer *buffer) {
  return buffer->ndim == 1 && strcmp(buffer->scope, "local") == 0 && buffer->shape[0] > 0 &&
         buffer->shape[0] <= MAX_ELEMENTS;
}

/* A store of a vector's first lanes has just these. */
static const tir_stmt *look_at_store(const tir_pass_context *p, const tir_env *env, const tir_stmt *s) {
  const tir_expr *predicate = s->u.store.predicate;
  if (predicate == NULL || predicate->lanes == 1 || predicate->lanes > MAX_LANES) return s;
  int leading = leading_lanes(predicate), used = most_lanes(env, predicate);
  if (used <= 0) return s;
  int kept = whole_lanes(&p->options, used, s->u.store.buffer->dtype, predicate->lanes);
  const tir_stmt *narrower = kept < predicate->lanes ? narrow_store(p->arena, s, kept, leading < kept) : NULL;
  return narrower != NULL ? narrower : s;
}

/* Bottom-up: the stores in a buffer's scope are as narrow as they get before it is looked at. */
static const tir_stmt *look_at(void *user, const tir_stmt *s) {
  const place *at = user;
  if (s->kind == TIR_STORE) return look_at_store(at->p, at->env, s);
  tir_env own;
  place inside = {at->p, tir_env_inside(at->p->arena, at->env, s, &own)};
  s = tir_map_children(at->p->arena, s, look_at, &inside);
  bool is_tile = s != NULL && s->kind == TIR_ALLOC && is_register_tile(s->u.alloc.buffer);
  return is_tile ? look_at_alloc(at->p, at->env, s) : s;
}

/* Requires: flatten, vectorize, unroll. Establishes: no store to a register tile whose elements nobody reads; a vector of
 * which only the first lanes are read or stored, by a constant condition or by what a symbol can be, has no more than these, rounded up to
 * what registers have. Breaks: nothing; what becomes empty is left to remove_noops. */
tir_func *tir_pass_dead_lanes(tir_pass_context *p, tir_func *f) {
  tir_pass_context own = *p;
  if (own.options.vector_bytes == 0) own.options.vector_bytes = 64;
  return tir_func_with_body(p, f, (tir_stmt *)look_at(&(place){&own, f->env}, f->body));
}
