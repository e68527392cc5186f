/* pass_remove_noops.c: removes what has no effect: stores of an element to itself, allocations that nobody reads with
 * the stores to them, and statements around nothing. */
#include "tir/passes.h"

/* The pass at work; buffers that nobody reads need no stores. */
typedef struct state {
  runtime_arena *arena;
  tir_memo *read; /* buffers that are loaded from, or touched by a call */
} state;

/* A buffer that is read anywhere counts as read everywhere. */
static tir_walk note_load(void *user, const tir_expr *e) {
  state *at = user;
  if (e->op == TIR_LOAD) tir_memo_add(at->read, e->u.buffer);
  return TIR_WALK_ON;
}

/* A call may read what is stored to the buffers it touches. */
static tir_walk note_call(void *user, const tir_stmt *s) {
  state *at = user;
  for (int i = 0; s->kind == TIR_CALL && i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (o->access != TIR_BY_VALUE) tir_memo_add(at->read, o->buffer);
  }
  return TIR_WALK_ON;
}

/* With a predicate on the load the store would write zeros. */
static bool stores_itself(const tir_stmt *s) {
  const tir_expr *value = s->u.store.value;
  if (value->op != TIR_LOAD || value->u.buffer != s->u.store.buffer || value->has_predicate) return false;
  for (int i = 0; i < s->u.store.n_index; i++) {
    if (!tir_equal(value->arg[i], s->u.store.index[i])) return false;
  }
  return true;
}

/* Bottom-up, so that what becomes empty takes what is around it along. */
static const tir_stmt *clean(void *user, const tir_stmt *s) {
  state *at = user;
  if (s->kind == TIR_STORE) {
    bool unread = !s->u.store.buffer->is_param && tir_memo_get(at->read, s->u.store.buffer) == NULL;
    return unread || stores_itself(s) ? tir_nop(at->arena) : s;
  }
  if (s->kind == TIR_PREFETCH) {
    const tir_buffer *buffer = s->u.prefetch.buffer;
    return buffer->is_param || tir_memo_get(at->read, buffer) != NULL ? s : tir_nop(at->arena);
  }
  s = tir_map_children(at->arena, s, clean, at);
  if (s != NULL && s->kind == TIR_ALLOC && tir_memo_get(at->read, s->u.alloc.buffer) == NULL) return s->u.alloc.body;
  return tir_drop_empty(at->arena, s);
}

/* Requires: nothing. Establishes: no empty loop, branch or allocation, no self-store, no allocation without a load (one
 * round: what only fed a removed store stays until the next). Breaks: nothing. */
tir_func *tir_pass_remove_noops(tir_pass_context *p, tir_func *f) {
  tir_memo read;
  tir_memo_init(&read);
  state at = {p->arena, &read};
  tir_visitor visitor = {note_call, note_load, &at};
  tir_walk_stmt(f->body, &visitor);
  const tir_stmt *body = clean(&at, f->body);
  return tir_func_with_body(p, f, tir_memo_end_for(p->arena, &read) ? body : NULL);
}
