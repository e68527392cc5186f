/* stmt.c: statement nodes and their constructors. Statements lie in the caller's arena. A constructor
 * gives NULL when a part is NULL or memory ran out and never half a statement. The mapping functions
 * return S itself when nothing changed, on which the passes' cost rests. */
#include <assert.h>

#include "tir/internal.h"

/* All fields zero, which is "absent" for each of them. */
static tir_stmt *new_stmt(runtime_arena *arena, tir_stmt_kind kind) {
  tir_stmt *s = RUNTIME_NEW(arena, tir_stmt);
  if (s != NULL) s->kind = kind;
  return s;
}

const tir_stmt *tir_nop(runtime_arena *arena) { return new_stmt(arena, TIR_NOP); }

const tir_stmt *tir_for(runtime_arena *arena, const tir_var *var, const tir_expr *min, const tir_expr *extent,
                        tir_loop_kind kind, const tir_stmt *body) {
  if (var == NULL || min == NULL || extent == NULL || body == NULL) return NULL;
  tir_stmt *s = new_stmt(arena, TIR_FOR);
  if (s == NULL) return NULL;
  s->u.loop.var = var;
  s->u.loop.min = min;
  s->u.loop.extent = extent;
  s->u.loop.kind = kind;
  s->u.loop.body = body;
  return s;
}

/* The widest of a store's parts. */
static int store_lanes(int n_index, const tir_expr *const *index, const tir_expr *value, const tir_expr *predicate) {
  int lanes = value->lanes;
  if (predicate != NULL) lanes = RUNTIME_MAX(lanes, predicate->lanes);
  for (int i = 0; i < n_index; i++) lanes = RUNTIME_MAX(lanes, index[i]->lanes);
  return lanes;
}

/* As tir_load: scalars beside vectors are broadcast, a known predicate goes. Under one that never holds
 * it is NOP. */
const tir_stmt *tir_store(runtime_arena *arena, const tir_buffer *buffer, int n_index, const tir_expr *const *index,
                          const tir_expr *value, const tir_expr *predicate) {
  if (buffer == NULL || value == NULL) return NULL;
  for (int i = 0; i < n_index; i++) {
    if (index[i] == NULL) return NULL;
  }
  int64_t known;
  if (predicate != NULL && tir_is_int(predicate, &known)) {
    if (!known) return tir_nop(arena);
    predicate = NULL;
  }
  int lanes = store_lanes(n_index, index, value, predicate);
  const tir_expr **wide = RUNTIME_NEW_ARRAY(arena, const tir_expr *, n_index + 1);
  tir_stmt *s = new_stmt(arena, TIR_STORE);
  if (s == NULL || wide == NULL) return NULL;
  for (int i = 0; i < n_index; i++) {
    if ((wide[i] = tir_broadcast(arena, index[i], lanes)) == NULL) return NULL;
  }
  s->u.store.buffer = buffer;
  s->u.store.n_index = n_index;
  s->u.store.index = wide;
  s->u.store.value = tir_broadcast(arena, value, lanes);
  s->u.store.predicate = predicate != NULL ? tir_broadcast(arena, predicate, lanes) : NULL;
  return s->u.store.value != NULL ? s : NULL;
}

const tir_stmt *tir_prefetch(runtime_arena *arena, const tir_buffer *buffer, int n_index,
                             const tir_expr *const *index) {
  for (int i = 0; i < n_index; i++) {
    if (index[i] == NULL) return NULL;
  }
  const tir_expr **kept = runtime_copy(arena, index, sizeof *index * (size_t)n_index);
  tir_stmt *s = new_stmt(arena, TIR_PREFETCH);
  if (s == NULL || kept == NULL) return NULL;
  s->u.prefetch.buffer = buffer;
  s->u.prefetch.n_index = n_index;
  s->u.prefetch.index = kept;
  return s;
}

/* A constant condition is left in: the pass simplify removes it, with what it knows. */
const tir_stmt *tir_if(runtime_arena *arena, const tir_expr *cond, const tir_stmt *then_body,
                       const tir_stmt *else_body) {
  if (cond == NULL || then_body == NULL) return NULL;
  assert(cond->dtype == TN_BOOL && cond->lanes == 1 && "a branch on one boolean");
  tir_stmt *s = new_stmt(arena, TIR_IF);
  if (s == NULL) return NULL;
  s->u.branch.cond = cond;
  s->u.branch.then_body = then_body;
  s->u.branch.else_body = else_body;
  return s;
}

const tir_stmt *tir_alloc(runtime_arena *arena, const tir_buffer *buffer, const tir_stmt *body) {
  if (buffer == NULL || body == NULL) return NULL;
  tir_stmt *s = new_stmt(arena, TIR_ALLOC);
  if (s == NULL) return NULL;
  s->u.alloc.buffer = buffer;
  s->u.alloc.body = body;
  return s;
}

/* KEY is kept by address and must live as long as the arena. `of` is NULL; who asked is filled in by
 * lowering. */
const tir_stmt *tir_attr(runtime_arena *arena, const char *key, int64_t value, const tir_stmt *body) {
  if (key == NULL || body == NULL) return NULL;
  tir_stmt *s = new_stmt(arena, TIR_ATTR);
  if (s == NULL) return NULL;
  s->u.attr.key = key;
  s->u.attr.value = value;
  s->u.attr.body = body;
  return s;
}

/* Whether no part is missing, as after running out of memory. */
static bool operand_is_whole(const tir_operand *o) {
  if (o->access == TIR_BY_VALUE) return o->value != NULL;
  for (int i = 0; i < o->n_index; i++) {
    if (o->index[i] == NULL) return false;
  }
  return o->buffer != NULL;
}

const tir_stmt *tir_call(runtime_arena *arena, const tir_callee *callee, int n, const tir_operand *operands) {
  if (callee == NULL) return NULL;
  for (int i = 0; i < n; i++) {
    if (!operand_is_whole(&operands[i])) return NULL;
  }
  tir_stmt *s = new_stmt(arena, TIR_CALL);
  tir_operand *kept = runtime_copy(arena, operands, sizeof *operands * (size_t)n);
  if (s == NULL || kept == NULL) return NULL;
  s->u.call.callee = callee;
  s->u.call.n = n;
  s->u.call.operands = kept;
  return s;
}

/* An argument passed by value touches nothing. */
bool tir_call_touches(const tir_stmt *call, const tir_buffer *buffer) {
  for (int i = 0; i < call->u.call.n; i++) {
    const tir_operand *o = &call->u.call.operands[i];
    if (o->access != TIR_BY_VALUE && (buffer == NULL || o->buffer == buffer)) return true;
  }
  return false;
}

/* Statements that stay when a SEQ's member is spliced in. */
static int flat_count(const tir_stmt *s) {
  assert(s != NULL);
  if (s->kind == TIR_NOP) return 0;
  return s->kind == TIR_SEQ ? s->u.seq.n : 1; /* a SEQ holds neither SEQ nor NOP */
}

/* One allocation of the final length. A single statement is returned as it is. */
const tir_stmt *tir_seq(runtime_arena *arena, int n, const tir_stmt *const *stmts) {
  int total = 0;
  const tir_stmt *only = NULL;
  for (int i = 0; i < n; i++) {
    if (stmts[i] == NULL) return NULL;
    int count = flat_count(stmts[i]);
    if (count > 0) only = stmts[i];
    total += count;
  }
  if (total == 0) return tir_nop(arena);
  if (total == flat_count(only)) return only;
  const tir_stmt **flat = RUNTIME_NEW_ARRAY(arena, const tir_stmt *, total);
  tir_stmt *s = new_stmt(arena, TIR_SEQ);
  if (flat == NULL || s == NULL) return NULL;
  for (int i = 0, at = 0; i < n; i++) {
    int count = flat_count(stmts[i]);
    const tir_stmt *const *from = stmts[i]->kind == TIR_SEQ ? stmts[i]->u.seq.stmts : &stmts[i];
    for (int j = 0; j < count; j++) flat[at++] = from[j];
  }
  s->u.seq.n = total;
  s->u.seq.stmts = flat;
  return s;
}

/* ---- statements with other parts --------------------------------------------------------------------------------- */

/* A copy keeps kind, peel and strided. */
const tir_stmt *tir_for_with(runtime_arena *arena, const tir_stmt *s, const tir_expr *min, const tir_expr *extent,
                             const tir_stmt *body) {
  if (min == s->u.loop.min && extent == s->u.loop.extent && body == s->u.loop.body) return s;
  if (min == NULL || extent == NULL || body == NULL) return NULL;
  tir_stmt *copy = runtime_copy(arena, s, sizeof *s);
  if (copy == NULL) return NULL;
  copy->u.loop.min = min;
  copy->u.loop.extent = extent;
  copy->u.loop.body = body;
  return copy;
}

const tir_stmt *tir_for_kind(runtime_arena *arena, const tir_stmt *s, tir_loop_kind kind) {
  if (s->u.loop.kind == kind) return s;
  tir_stmt *copy = runtime_copy(arena, s, sizeof *s);
  if (copy != NULL) copy->u.loop.kind = kind;
  return copy;
}

const tir_stmt *tir_if_with(runtime_arena *arena, const tir_stmt *s, const tir_expr *cond, const tir_stmt *then_body,
                            const tir_stmt *else_body) {
  if (cond == s->u.branch.cond && then_body == s->u.branch.then_body && else_body == s->u.branch.else_body) return s;
  return tir_if(arena, cond, then_body, else_body);
}

/* The one child of those statements that have exactly one. */
const tir_stmt *tir_body(const tir_stmt *s) {
  switch (s->kind) {
    case TIR_FOR: return s->u.loop.body;
    case TIR_ALLOC: return s->u.alloc.body;
    case TIR_ATTR: return s->u.attr.body;
    case TIR_STORE:
    case TIR_CALL:
    case TIR_IF:
    case TIR_SEQ:
    case TIR_PREFETCH:
    case TIR_NOP: break;
  }
  return NULL;
}

/* Of an ATTR keeps who asked for it. */
const tir_stmt *tir_with_body(runtime_arena *arena, const tir_stmt *s, const tir_stmt *body) {
  if (body == tir_body(s)) return s;
  if (s->kind == TIR_FOR) return tir_for_with(arena, s, s->u.loop.min, s->u.loop.extent, body);
  if (s->kind == TIR_ALLOC) return tir_alloc(arena, s->u.alloc.buffer, body);
  tir_stmt *attr = (tir_stmt *)tir_attr(arena, s->u.attr.key, s->u.attr.value, body);
  if (attr != NULL) attr->u.attr.of = s->u.attr.of;
  return attr;
}

bool tir_const_loop(const tir_stmt *s, int64_t *min, int64_t *extent) {
  return s->kind == TIR_FOR && tir_is_int(s->u.loop.min, min) && tir_is_int(s->u.loop.extent, extent);
}

/* A SEQ with FN applied to its members; copied at the first that differs. */
static const tir_stmt *map_seq(runtime_arena *arena, const tir_stmt *s, tir_stmt_fn fn, void *user) {
  const tir_stmt **mapped = NULL;
  for (int i = 0; i < s->u.seq.n; i++) {
    const tir_stmt *old = s->u.seq.stmts[i], *new = fn(user, old);
    if (new == NULL) return NULL;
    if (new != old && mapped == NULL) {
      mapped = runtime_copy(arena, s->u.seq.stmts, sizeof *mapped * (size_t)s->u.seq.n);
      if (mapped == NULL) return NULL;
    }
    if (mapped != NULL) mapped[i] = new;
  }
  return mapped == NULL ? s : tir_seq(arena, s->u.seq.n, mapped);
}

/* An IF with FN applied to its bodies. */
static const tir_stmt *map_branch(runtime_arena *arena, const tir_stmt *s, tir_stmt_fn fn, void *user) {
  const tir_stmt *then_body = fn(user, s->u.branch.then_body), *else_body = NULL;
  if (then_body == NULL) return NULL;
  if (s->u.branch.else_body != NULL && (else_body = fn(user, s->u.branch.else_body)) == NULL) return NULL;
  return tir_if_with(arena, s, s->u.branch.cond, then_body, else_body);
}

/* One level: FN itself decides whether to go on below. */
const tir_stmt *tir_map_children(runtime_arena *arena, const tir_stmt *s, tir_stmt_fn fn, void *user) {
  switch (s->kind) {
    case TIR_STORE:
    case TIR_CALL:
    case TIR_PREFETCH:
    case TIR_NOP: return s;
    case TIR_SEQ: return map_seq(arena, s, fn, user);
    case TIR_IF: return map_branch(arena, s, fn, user);
    case TIR_FOR:
    case TIR_ALLOC:
    case TIR_ATTR: break;
  }
  return tir_with_body(arena, s, fn(user, tir_body(s)));
}

/* N expressions from FROM with FN applied, into TO, which may be FROM; *changed is set where one differs. */
static bool map_list(int n, const tir_expr *const *from, const tir_expr **to, tir_expr_fn fn, void *user,
                     bool *changed) {
  for (int i = 0; i < n; i++) {
    const tir_expr *old = from[i];
    if ((to[i] = fn(user, old)) == NULL) return false;
    *changed = *changed || to[i] != old;
  }
  return true;
}

/* A STORE with FN applied to its indices, value and predicate. */
static const tir_stmt *map_store(runtime_arena *arena, const tir_stmt *s, tir_expr_fn fn, void *user) {
  const tir_expr *index[TN_MAX_RANK], *predicate = NULL;
  bool changed = false;
  if (!map_list(s->u.store.n_index, s->u.store.index, index, fn, user, &changed)) return NULL;
  const tir_expr *value = fn(user, s->u.store.value);
  if (s->u.store.predicate != NULL && (predicate = fn(user, s->u.store.predicate)) == NULL) return NULL;
  if (!changed && value == s->u.store.value && predicate == s->u.store.predicate) return s;
  return tir_store(arena, s->u.store.buffer, s->u.store.n_index, index, value, predicate);
}

/* FN applied to the value or the indices of an operand, in place; *changed is set where one differs. */
static bool map_operand(tir_operand *o, tir_expr_fn fn, void *user, bool *changed) {
  const tir_expr **parts = o->access == TIR_BY_VALUE ? &o->value : o->index;
  return map_list(o->access == TIR_BY_VALUE ? 1 : o->n_index, parts, parts, fn, user, changed);
}

/* A CALL with FN applied to what stands in its operands. */
static const tir_stmt *map_call(runtime_arena *arena, const tir_stmt *s, tir_expr_fn fn, void *user) {
  tir_operand small[8], *operands = small;
  bool changed = false;
  if (s->u.call.n > RUNTIME_COUNT(small)) operands = RUNTIME_NEW_ARRAY(arena, tir_operand, s->u.call.n);
  if (operands == NULL) return NULL;
  for (int i = 0; i < s->u.call.n; i++) {
    operands[i] = s->u.call.operands[i];
    if (!map_operand(&operands[i], fn, user, &changed)) return NULL;
  }
  return changed ? tir_call(arena, s->u.call.callee, s->u.call.n, operands) : s;
}

/* Nothing is allocated while nothing changes. */
static const tir_stmt *map_prefetch(runtime_arena *arena, const tir_stmt *s, tir_expr_fn fn, void *user) {
  const tir_expr *index[TN_MAX_RANK];
  bool changed = false;
  if (!map_list(s->u.prefetch.n_index, s->u.prefetch.index, index, fn, user, &changed)) return NULL;
  return changed ? tir_prefetch(arena, s->u.prefetch.buffer, s->u.prefetch.n_index, index) : s;
}

/* Not those of child statements. Order: indices, value, predicate; min, extent. */
const tir_stmt *tir_map_exprs(runtime_arena *arena, const tir_stmt *s, tir_expr_fn fn, void *user) {
  switch (s->kind) {
    case TIR_STORE: return map_store(arena, s, fn, user);
    case TIR_CALL: return map_call(arena, s, fn, user);
    case TIR_PREFETCH: return map_prefetch(arena, s, fn, user);
    case TIR_FOR: return tir_for_with(arena, s, fn(user, s->u.loop.min), fn(user, s->u.loop.extent), s->u.loop.body);
    case TIR_IF: return tir_if_with(arena, s, fn(user, s->u.branch.cond), s->u.branch.then_body, s->u.branch.else_body);
    case TIR_ALLOC:
    case TIR_SEQ:
    case TIR_ATTR:
    case TIR_NOP: break;
  }
  return s;
}
