/* walk.c: pre-order walks over expressions and statements; a shared expression node is seen once. */
#include "tir/internal.h"

/* A visit of an expression; shared nodes are visited once. */
typedef struct walker {
  tir_walk (*visit)(void *user, const tir_expr *e);
  void *user;
  tir_memo *seen; /* NULL: the expression is a leaf, nothing can be shared */
} walker;

/* E is no leaf; leaves are visited where they stand, since they are most of all nodes. False when the visitor stopped. */
static bool walk(walker *w, const tir_expr *e) {
  if (!tir_memo_add(w->seen, e)) return true;
  tir_walk next = w->visit(w->user, e);
  if (next == TIR_WALK_STOP) return false;
  if (next == TIR_WALK_PRUNE) return true;
  for (int i = 0; i < e->n_args; i++) {
    const tir_expr *arg = e->arg[i];
    if (arg->n_args == 0 ? w->visit(w->user, arg) == TIR_WALK_STOP : !walk(w, arg)) return false;
  }
  return true;
}

/* The memo makes it linear in a DAG; a leaf, the most frequent expression, needs none. */
bool tir_walk_expr(const tir_expr *e, tir_walk (*visit)(void *user, const tir_expr *e), void *user) {
  if (e->n_args == 0) return visit(user, e) != TIR_WALK_STOP;
  tir_memo seen;
  tir_memo_init(&seen);
  walker w = {visit, user, &seen};
  bool finished = walk(&w, e);
  tir_memo_end(&seen); /* without memory shared nodes are seen more than once */
  return finished;
}

/* DEPTHS remembers inner nodes. */
static int depth_of(tir_memo *depths, const tir_expr *e) {
  if (e->n_args == 0) return 1;
  const void *known = tir_memo_get(depths, e);
  if (known != NULL) return (int)(intptr_t)known;
  int deepest = 0;
  for (int i = 0; i < e->n_args; i++) deepest = RUNTIME_MAX(deepest, depth_of(depths, e->arg[i]));
  tir_memo_put(depths, e, (const void *)(intptr_t)(deepest + 1));
  return deepest + 1;
}

/* Over all paths, without walking each: a node's depth is remembered. */
int tir_depth(const tir_expr *e) {
  tir_memo depths;
  tir_memo_init(&depths);
  int depth = depth_of(&depths, e);
  tir_memo_end(&depths); /* without memory shared nodes are walked again */
  return depth;
}

/* An expression of a statement; absent ones and an absent visitor are passed over. */
static bool walk_part(const tir_visitor *v, const tir_expr *e) {
  return v->expr == NULL || e == NULL || tir_walk_expr(e, v->expr, v->user);
}

/* False: the visitor said stop. */
static bool walk_list(const tir_visitor *v, int n, const tir_expr *const *list) {
  for (int i = 0; i < n; i++) {
    if (!walk_part(v, list[i])) return false;
  }
  return true;
}

/* Indices, then the value, then the predicate. */
static bool walk_store(const tir_visitor *v, const tir_stmt *s) {
  return walk_list(v, s->u.store.n_index, s->u.store.index) && walk_part(v, s->u.store.value) &&
         walk_part(v, s->u.store.predicate);
}

/* What is passed by address has indices, what is passed by value an expression. */
static bool walk_call(const tir_visitor *v, const tir_stmt *s) {
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (!walk_part(v, o->value) || !walk_list(v, o->n_index, o->index)) return false;
  }
  return true;
}

/* False: the visitor said stop. */
static bool walk_seq(const tir_visitor *v, const tir_stmt *s) {
  for (int i = 0; i < s->u.seq.n; i++) {
    if (!tir_walk_stmt(s->u.seq.stmts[i], v)) return false;
  }
  return true;
}

/* The condition comes first, so a visitor sees it before what it guards. */
static bool walk_branch(const tir_visitor *v, const tir_stmt *s) {
  return walk_part(v, s->u.branch.cond) && tir_walk_stmt(s->u.branch.then_body, v) &&
         (s->u.branch.else_body == NULL || tir_walk_stmt(s->u.branch.else_body, v));
}

/* PRUNE leaves out the statement's expressions as well as its children. */
bool tir_walk_stmt(const tir_stmt *s, const tir_visitor *v) {
  tir_walk next = v->stmt != NULL ? v->stmt(v->user, s) : TIR_WALK_ON;
  if (next == TIR_WALK_STOP) return false;
  if (next == TIR_WALK_PRUNE) return true;
  switch (s->kind) {
    case TIR_NOP: return true;
    case TIR_STORE: return walk_store(v, s);
    case TIR_CALL: return walk_call(v, s);
    case TIR_PREFETCH: return walk_list(v, s->u.prefetch.n_index, s->u.prefetch.index);
    case TIR_SEQ: return walk_seq(v, s);
    case TIR_IF: return walk_branch(v, s);
    case TIR_FOR:
      return walk_part(v, s->u.loop.min) && walk_part(v, s->u.loop.extent) && tir_walk_stmt(s->u.loop.body, v);
    case TIR_ALLOC:
    case TIR_ATTR: break;
  }
  return tir_walk_stmt(tir_body(s), v);
}

/* ---- functions that are called ----------------------------------------------------------------------------------- */

/* The state of one walk. The memo knows callees by address. */
typedef struct callee_list {
  int n, max;
  const tir_callee **out;
  tir_memo seen;
} callee_list;

/* Counts also what no longer fits into OUT, so that the caller can ask again with more room. */
static tir_walk note_callee(void *user, const tir_stmt *s) {
  callee_list *list = user;
  if (s->kind != TIR_CALL || !tir_memo_add(&list->seen, s->u.call.callee)) return TIR_WALK_ON;
  if (list->n < list->max) list->out[list->n] = s->u.call.callee;
  list->n++;
  return TIR_WALK_ON;
}

int tir_callees(const tir_func *f, int max, const tir_callee **out) {
  callee_list list = {.max = max, .out = out};
  tir_memo_init(&list.seen);
  tir_visitor visitor = {.stmt = note_callee, .user = &list};
  tir_walk_stmt(f->body, &visitor);
  tir_memo_end(&list.seen);
  return list.n;
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

/* USER of the five below: an operator, a buffer or a variable. All stop at the first that is found. */
static tir_walk stop_at_op(void *user, const tir_expr *e) {
  return e->op == *(const tir_op *)user ? TIR_WALK_STOP : TIR_WALK_ON;
}

static tir_walk stop_at_load(void *user, const tir_expr *e) {
  return e->op == TIR_LOAD && e->u.buffer == user ? TIR_WALK_STOP : TIR_WALK_ON;
}

static tir_walk stop_at_var(void *user, const tir_expr *e) {
  return e->op == TIR_VAR && e->u.var == user ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Every way in which a statement itself names a buffer; loads in its expressions are another matter. */
static tir_walk stop_at_touch(void *user, const tir_stmt *s) {
  bool touches = (s->kind == TIR_STORE && s->u.store.buffer == user) ||
                 (s->kind == TIR_PREFETCH && s->u.prefetch.buffer == user) ||
                 (s->kind == TIR_CALL && tir_call_touches(s, user));
  return touches ? TIR_WALK_STOP : TIR_WALK_ON;
}

bool tir_has_op(const tir_expr *e, tir_op op) { return !tir_walk_expr(e, stop_at_op, &op); }

bool tir_loads(const tir_expr *e, const tir_buffer *buffer) { return !tir_walk_expr(e, stop_at_load, (void *)buffer); }

bool tir_uses_var(const tir_expr *e, const tir_var *var) { return !tir_walk_expr(e, stop_at_var, (void *)var); }

bool tir_stmt_loads(const tir_stmt *s, const tir_buffer *buffer) {
  return !tir_walk_stmt(s, &(tir_visitor){.expr = stop_at_load, .user = (void *)buffer});
}

bool tir_stmt_touches(const tir_stmt *s, const tir_buffer *buffer) {
  return !tir_walk_stmt(s, &(tir_visitor){stop_at_touch, stop_at_load, (void *)buffer});
}

bool tir_stmt_uses_var(const tir_stmt *s, const tir_var *var) {
  return !tir_walk_stmt(s, &(tir_visitor){.expr = stop_at_var, .user = (void *)var});
}
