/* own_buffers.c: a statement with allocations of its own, so that how it uses them does not decide where those of a like statement
 * beside it lie: a tile that one path indexes by variables would be in memory on the other path, too. */
#include "tir/passes.h"

typedef struct renaming {
  runtime_arena *arena;
  runtime_map copies; /* of the buffers that are allocated inside */
  bool failed;        /* no memory */
} renaming;

static tir_walk copy_buffer(void *user, const tir_stmt *s) {
  renaming *r = user;
  if (s->kind != TIR_ALLOC || runtime_map_get(&r->copies, s->u.alloc.buffer) != NULL) return TIR_WALK_ON;
  tir_buffer *copy = runtime_copy(r->arena, s->u.alloc.buffer, sizeof *copy);
  r->failed = copy == NULL || !runtime_map_put(&r->copies, s->u.alloc.buffer, copy);
  return r->failed ? TIR_WALK_STOP : TIR_WALK_ON;
}

static const tir_buffer *own(const renaming *r, const tir_buffer *buffer) {
  const tir_buffer *copy = buffer != NULL ? runtime_map_get(&r->copies, buffer) : NULL;
  return copy != NULL ? copy : buffer;
}

static const tir_expr *own_load(void *user, const tir_expr *e) {
  const renaming *r = user;
  if (e->op != TIR_LOAD || own(r, e->u.buffer) == e->u.buffer) return e;
  tir_expr *copy = runtime_copy(r->arena, e, sizeof *e + sizeof e->arg[0] * e->n_args);
  if (copy != NULL) copy->u.buffer = own(r, e->u.buffer);
  return copy;
}

static const tir_stmt *own_operands(const renaming *r, const tir_stmt *s) {
  tir_operand *operands = runtime_copy(r->arena, s->u.call.operands, sizeof *operands * (size_t)s->u.call.n);
  for (int i = 0; operands != NULL && i < s->u.call.n; i++) operands[i].buffer = own(r, operands[i].buffer);
  return operands != NULL ? tir_call(r->arena, s->u.call.callee, s->u.call.n, operands) : NULL;
}

static const tir_stmt *own_stmt(void *user, const tir_stmt *s) {
  const renaming *r = user;
  bool stores = s->kind == TIR_STORE, asks = s->kind == TIR_PREFETCH;
  if (s->kind == TIR_CALL) return own_operands(r, s);
  if (!stores && !asks && s->kind != TIR_ALLOC) return s;
  tir_stmt *copy = runtime_copy(r->arena, s, sizeof *s);
  if (copy != NULL && stores) copy->u.store.buffer = own(r, s->u.store.buffer);
  if (copy != NULL && asks) copy->u.prefetch.buffer = own(r, s->u.prefetch.buffer);
  if (copy != NULL && s->kind == TIR_ALLOC) copy->u.alloc.buffer = own(r, s->u.alloc.buffer);
  return copy;
}

const tir_stmt *tir_with_own_buffers(runtime_arena *arena, const tir_stmt *s) {
  renaming r = {.arena = arena};
  tir_visitor visitor = {.stmt = copy_buffer, .user = &r};
  tir_rewriter rewriter = {arena, own_stmt, own_load, &r};
  tir_walk_stmt(s, &visitor);
  const tir_stmt *out = r.failed ? NULL : tir_rewrite_stmt(&rewriter, s);
  runtime_map_free(&r.copies);
  return out;
}
