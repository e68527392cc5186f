/* stmt.c: statement nodes and their constructors. */
#include <assert.h>

#include "tir/internal.h"

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

const tir_stmt *tir_if(runtime_arena *arena, const tir_expr *cond, const tir_stmt *then_body, const tir_stmt *else_body) {
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

const tir_stmt *tir_attr(runtime_arena *arena, const char *key, int64_t value, const tir_stmt *body) {
  if (key == NULL || body == NULL) return NULL;
  tir_stmt *s = new_stmt(arena, TIR_ATTR);
  if (s == NULL) return NULL;
  s->u.attr.key = key;
  s->u.attr.value = value;
  s->u.attr.body = body;
  return s;
}

/* Statements that stay when a SEQ's member is spliced in. */
static int flat_count(const tir_stmt *s) {
  if (s->kind == TIR_NOP) return 0;
  return s->kind == TIR_SEQ ? s->u.seq.n : 1; /* a SEQ holds neither SEQ nor NOP */
}

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
