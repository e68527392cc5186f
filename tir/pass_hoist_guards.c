/* pass_hoist_guards.c: moves conditions out of loops whose variable they do not use, as far as they guard everything
 * there:
 *   for j { if (i < 10 && j < 5) S }   becomes   if (i < 10) { for j { if (j < 5) S } }
 * and out of the scratch that only what they guard reads:
 *   allocate T { T = ...  if (i < 10) C = T }   becomes   if (i < 10) { allocate T { T = ...  C = T } } */
#include "tir/passes.h"

/* A statement taken apart into the conditions that guard all of it and the rest. */
typedef struct guarded {
  tir_conds conds;
  const tir_stmt *rest;
  const tir_stmt *whole; /* the statement both make, where it is at hand; else NULL */
} guarded;

static guarded hoist(runtime_arena *arena, const tir_stmt *s);

/* A statement that no condition guards. */
static guarded unguarded(const tir_stmt *s) { return (guarded){.rest = s, .whole = s}; }

/* The statement again. */
static const tir_stmt *put_together(runtime_arena *arena, const guarded *g) {
  if (g->rest == NULL) return NULL;
  return g->whole != NULL ? g->whole : tir_conds_guard(arena, &g->conds, g->rest);
}

/* For places whose conditions cannot go further up: the body of a loop whose variable they use. */
static const tir_stmt *hoist_inside(runtime_arena *arena, const tir_stmt *s) {
  guarded g = hoist(arena, s);
  return put_together(arena, &g);
}

static const tir_stmt *hoist_child(void *user, const tir_stmt *s) { return hoist_inside(user, s); }

/* Conditions that read memory stay where they are. */
static guarded hoist_if(runtime_arena *arena, const tir_stmt *s) {
  guarded g = {.conds.n = 0};
  bool movable = s->u.branch.else_body == NULL && !tir_reads_memory(s->u.branch.cond);
  if (!movable || !tir_conds_add(&g.conds, s->u.branch.cond)) {
    return unguarded(tir_map_children(arena, s, hoist_child, arena));
  }
  guarded inner = hoist(arena, s->u.branch.then_body);
  if (inner.rest == NULL) return inner;
  g.rest = inner.rest;
  for (int i = 0; i < inner.conds.n; i++) {
    if (tir_conds_add(&g.conds, inner.conds.item[i])) continue;
    g.conds.n = 0;
    return unguarded(tir_if_with(arena, s, s->u.branch.cond, put_together(arena, &inner), NULL));
  }
  if (inner.conds.n == 0 && inner.rest == s->u.branch.then_body) g.whole = s;
  return g;
}

/* Conditions on the loop's variable stay inside, the others go up. */
static guarded hoist_for(runtime_arena *arena, const tir_stmt *s) {
  guarded inner = hoist(arena, s->u.loop.body), kept = {.rest = inner.rest}, g = {.rest = NULL};
  if (inner.rest == NULL) return inner;
  for (int i = 0; i < inner.conds.n; i++) {
    const tir_expr *cond = inner.conds.item[i];
    tir_conds_add(tir_uses_var(cond, s->u.loop.var) ? &kept.conds : &g.conds, cond);
  }
  if (g.conds.n == 0) kept.whole = inner.whole;
  g.rest = tir_with_body(arena, s, put_together(arena, &kept));
  if (g.conds.n == 0) g.whole = g.rest;
  return g;
}

/* What G is without the conditions in COMMON. */
static const tir_stmt *without(runtime_arena *arena, const guarded *g, const tir_conds *common) {
  if (common->n == 0) return put_together(arena, g);
  guarded left = {.rest = g->rest};
  for (int i = 0; i < g->conds.n; i++) {
    if (!tir_conds_has(common, g->conds.item[i])) tir_conds_add(&left.conds, g->conds.item[i]);
  }
  return put_together(arena, &left);
}

/* Which buffers a statement may write to without anyone outside noticing. */
typedef struct private_writes {
  const tir_buffer *own;
  const tir_stmt *s;
} private_writes;

/* Stops where the buffer of USER is allocated. */
static tir_walk find_alloc_of(void *user, const tir_stmt *s) {
  return s->kind == TIR_ALLOC && s->u.alloc.buffer == user ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* USER is private_writes. A prefetch changes no value and is no effect. */
static tir_walk find_effect(void *user, const tir_stmt *s) {
  const private_writes *w = user;
  if (s->kind == TIR_CALL) return TIR_WALK_STOP;
  if (s->kind != TIR_STORE || s->u.store.buffer == w->own) return TIR_WALK_ON;
  tir_visitor visitor = {.stmt = find_alloc_of, .user = (void *)s->u.store.buffer};
  return tir_walk_stmt(w->s, &visitor) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether S only fills OWN and scratch of its own, for what stands beside it. */
static bool only_fills(const tir_stmt *s, const tir_buffer *own) {
  private_writes writes = {own, s};
  tir_visitor visitor = {.stmt = find_effect, .user = &writes};
  return own != NULL && tir_walk_stmt(s, &visitor);
}

/* The conditions that guard every statement of the sequence, but those that only fill OWN, the buffer allocated around
 * the sequence or NULL: what nobody reads need not be computed. */
static guarded hoist_seq(runtime_arena *arena, const tir_stmt *s, const tir_buffer *own) {
  int n = s->u.seq.n, reader = 0;
  guarded *parts = RUNTIME_NEW_ARRAY(arena, guarded, n), g = {.rest = NULL};
  const tir_stmt **stmts = RUNTIME_NEW_ARRAY(arena, const tir_stmt *, n);
  if (parts == NULL || stmts == NULL) return g;
  for (int i = 0; i < n; i++) {
    parts[i] = hoist(arena, s->u.seq.stmts[i]);
    if (parts[i].rest == NULL) return g;
  }
  while (reader < n - 1 && only_fills(s->u.seq.stmts[reader], own)) reader++;
  for (int c = 0; c < parts[reader].conds.n; c++) {
    const tir_expr *cond = parts[reader].conds.item[c];
    int holders = 0;
    while (holders < n && (tir_conds_has(&parts[holders].conds, cond) || only_fills(s->u.seq.stmts[holders], own)))
      holders++;
    if (holders == n) tir_conds_add(&g.conds, cond);
  }
  bool same = g.conds.n == 0;
  for (int i = 0; i < n; i++) {
    stmts[i] = without(arena, &parts[i], &g.conds);
    same = same && stmts[i] == s->u.seq.stmts[i];
  }
  g.rest = same ? s : tir_seq(arena, n, stmts);
  if (g.conds.n == 0) g.whole = g.rest;
  return g;
}

/* Allocations and attributes do not matter to a condition. */
static guarded hoist_around(runtime_arena *arena, const tir_stmt *s) {
  const tir_stmt *body = tir_body(s);
  const tir_buffer *own = s->kind == TIR_ALLOC ? s->u.alloc.buffer : NULL;
  guarded g = body->kind == TIR_SEQ ? hoist_seq(arena, body, own) : hoist(arena, body);
  if (g.rest == NULL) return g;
  g.rest = tir_with_body(arena, s, g.rest);
  g.whole = g.conds.n == 0 ? g.rest : NULL;
  return g;
}

/* S taken apart. Statements other than those named have no conditions of their own. */
static guarded hoist(runtime_arena *arena, const tir_stmt *s) {
  switch (s->kind) {
    case TIR_IF: return hoist_if(arena, s);
    case TIR_FOR: return hoist_for(arena, s);
    case TIR_SEQ: return hoist_seq(arena, s, NULL);
    case TIR_ALLOC:
    case TIR_ATTR: return hoist_around(arena, s);
    case TIR_STORE:
    case TIR_CALL:
    case TIR_PREFETCH:
    case TIR_NOP: break;
  }
  return unguarded(s);
}

/* Requires: nothing; finds more after simplify. Establishes: a condition without loads stands outside every loop that
 * it guards entirely and whose variable it does not use, and outside what is computed for nothing where it is false.
 * Breaks: nothing. */
tir_func *tir_pass_hoist_guards(tir_pass_context *p, tir_func *f) {
  return tir_func_with_body(p, f, hoist_inside(p->arena, f->body));
}
