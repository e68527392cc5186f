/* join_loops.c: loops that stand one behind the other and run together, where the second was asked to (pragma
 * join_loop_before): several results of the same rows, each of which would go through memory by itself.
 *
 *     for (i, 0, 8) { A }  for (j, 0, 8) { B }    ->    for (i, 0, 8) { A; B }
 *
 * Each loop keeps the order of its own iterations, so all that it takes is that neither needs or changes what the other stores. */
#include "schedule/lowering.h"

/* What one loop stores, beside another loop. */
typedef struct beside {
  const tir_stmt *loop, *other;
} beside;

static tir_walk find_store(void *user, const tir_stmt *s) {
  return s->kind == TIR_STORE && s->u.store.buffer == user ? TIR_WALK_STOP : TIR_WALK_ON;
}

static bool stores(const tir_stmt *s, const tir_buffer *buffer) {
  const tir_visitor visitor = {.stmt = find_store, .user = (void *)buffer};
  return !tir_walk_stmt(s, &visitor);
}

/* A call may touch anything. */
static tir_walk find_conflict(void *user, const tir_stmt *s) {
  const beside *b = user;
  if (s->kind == TIR_CALL) return TIR_WALK_STOP;
  if (s->kind != TIR_STORE) return TIR_WALK_ON;
  const tir_buffer *buffer = s->u.store.buffer;
  return tir_stmt_loads(b->other, buffer) || stores(b->other, buffer) ? TIR_WALK_STOP : TIR_WALK_ON;
}

static bool is_independent(const tir_stmt *loop, const tir_stmt *other) {
  beside b = {loop, other}, back = {other, loop};
  const tir_visitor of_loop = {.stmt = find_conflict, .user = &b}, of_other = {.stmt = find_conflict, .user = &back};
  return tir_walk_stmt(loop, &of_loop) && tir_walk_stmt(other, &of_other);
}

/* The same iterations, in the same way. */
static bool is_alike(const tir_stmt *a, const tir_stmt *b) {
  int64_t min, extent, other_min, other_extent;
  return a->kind == TIR_FOR && b->kind == TIR_FOR && tir_is_int(a->u.loop.min, &min) &&
         tir_is_int(b->u.loop.min, &other_min) && tir_is_int(a->u.loop.extent, &extent) &&
         tir_is_int(b->u.loop.extent, &other_extent) && min == other_min && extent == other_extent &&
         a->u.loop.kind == b->u.loop.kind && a->u.loop.peel == b->u.loop.peel &&
         a->u.loop.strided == b->u.loop.strided && a->u.loop.kind != TIR_VECTORIZED;
}

const tir_stmt *schedule_join_loops(lowering *l, const tir_stmt *loop, const tir_stmt *rest) {
  bool is_seq = rest->kind == TIR_SEQ;
  const tir_stmt *next = is_seq ? rest->u.seq.stmts[0] : rest;
  if (!is_alike(loop, next) || !is_independent(loop, next)) return NULL;
  const tir_var *var = loop->u.loop.var;
  const tir_binding same = {next->u.loop.var, tir_var_expr(l->arena, var)};
  const tir_stmt *bodies[] = {loop->u.loop.body, tir_substitute_stmt(l->arena, next->u.loop.body, 1, &same)};
  tir_stmt *joined = runtime_copy(l->arena, loop, sizeof *loop);
  joined->u.loop.body = tir_seq(l->arena, 2, bodies);
  int n = is_seq ? rest->u.seq.n : 1;
  const tir_stmt **all = RUNTIME_NEW_ARRAY(l->arena, const tir_stmt *, n);
  all[0] = joined;
  for (int i = 1; i < n; i++) all[i] = rest->u.seq.stmts[i];
  return tir_seq(l->arena, n, all);
}
