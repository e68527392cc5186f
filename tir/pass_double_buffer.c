/* pass_double_buffer.c: an allocation inside a loop whose filling is marked by the attribute double_buffer gets two
 * halves that alternate: each iteration fills the half of the next one, and uses its own (TVM: InjectDoubleBuffer).
 *
 *     for (i, 0, n) allocate(P) {              allocate(P, [2, ...]) {
 *       attr "double_buffer" fill(P, i)          fill(P[0], 0)
 *       use(P, i)                        ->      for (i, 0, n) {
 *     }                                            if (i + 1 < n) fill(P[(i + 1) % 2], i + 1)
 *                                                  use(P[i % 2], i)
 *                                              } } */
#include <assert.h>

#include "tir/passes.h"

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* The mark that the primitive double_buffer leaves. */
static bool is_fill(const tir_stmt *s) { return s->kind == TIR_ATTR && strcmp(s->u.attr.key, TIR_DOUBLE_BUFFER) == 0; }

/* What stands first in the body of a marked allocation. */
static const tir_stmt *fill_of(const tir_stmt *s) {
  if (s->kind != TIR_ALLOC) return NULL;
  const tir_stmt *body = s->u.alloc.body, *first = body->kind == TIR_SEQ ? body->u.seq.stmts[0] : body;
  return is_fill(first) ? first : NULL;
}

/* The first marked allocation that each iteration of a loop runs once; NULL: none. */
static const tir_stmt *find_alloc(const tir_stmt *s) {
  assert(s != NULL);
  const tir_stmt *found = fill_of(s) != NULL ? s : NULL;
  for (int i = 0; found == NULL && s->kind == TIR_SEQ && i < s->u.seq.n; i++) found = find_alloc(s->u.seq.stmts[i]);
  if (found == NULL && (s->kind == TIR_ALLOC || s->kind == TIR_ATTR)) found = find_alloc(tir_body(s));
  return found;
}

/* ---- what may run ahead ------------------------------------------------------------------------------------------ */

/* Buffers that are written in a loop, without the filling, and those that the filling reads and writes. */
typedef struct effects {
  const tir_stmt *fill;
  const tir_buffer *own;
  tir_memo *written, *made; /* made: allocated in the filling */
  bool reaches_out;
} effects;

/* A call may write anything that it can reach: whoever cannot see that gives up. */
static tir_walk note_write(void *user, const tir_stmt *s) {
  effects *x = user;
  if (s == x->fill) return TIR_WALK_PRUNE;
  if (s->kind == TIR_STORE) tir_memo_add(x->written, s->u.store.buffer);
  x->reaches_out |= s->kind == TIR_CALL;
  return TIR_WALK_ON;
}

/* The filling may write its own buffer and what it allocates itself. */
static tir_walk note_fill(void *user, const tir_stmt *s) {
  effects *x = user;
  if (s->kind == TIR_ALLOC) tir_memo_add(x->made, s->u.alloc.buffer);
  if (s->kind == TIR_STORE && s->u.store.buffer != x->own && tir_memo_get(x->made, s->u.store.buffer) == NULL)
    x->reaches_out = true;
  x->reaches_out |= s->kind == TIR_CALL;
  return TIR_WALK_ON;
}

/* Loads of what the rest of the loop writes would see last iteration's values if the filling ran ahead. */
static tir_walk note_read(void *user, const tir_expr *e) {
  effects *x = user;
  if (e->op == TIR_LOAD && tir_memo_get(x->written, e->u.buffer) != NULL) x->reaches_out = true;
  return TIR_WALK_ON;
}

/* Whether the filling touches nothing that the rest of the loop writes, and writes nothing but its buffer. What a call
 * touches lies in one piece, which a half may not. */
static bool may_run_ahead(const tir_stmt *loop, const tir_stmt *alloc) {
  tir_memo written, made;
  tir_memo_init(&written);
  tir_memo_init(&made);
  effects x = {fill_of(alloc), alloc->u.alloc.buffer, &written, &made, false};
  tir_visitor writes = {.stmt = note_write, .user = &x}, filling = {note_fill, note_read, &x};
  tir_walk_stmt(loop->u.loop.body, &writes);
  x.reaches_out |= tir_memo_get(&written, x.own) != NULL;
  tir_walk_stmt(x.fill->u.attr.body, &filling);
  bool is_known = tir_memo_end(&written);
  return tir_memo_end(&made) && is_known && !x.reaches_out;
}

/* NULL: the two halves are possible. The words end the warning. */
static const char *objection(const tir_stmt *loop, const tir_stmt *alloc) {
  int64_t min, extent;
  if (loop->u.loop.kind == TIR_PARALLEL || loop->u.loop.kind == TIR_VECTORIZED)
    return "the loop's iterations do not follow each other";
  if (!tir_const_loop(loop, &min, &extent)) return "the loop's bounds are not constant";
  if (alloc->u.alloc.buffer->ndim == TN_MAX_RANK) return "the buffer has too many dimensions";
  return may_run_ahead(loop, alloc) ? NULL : "filling the buffer is not independent of the rest of the loop";
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

/* S with its accesses in the half of iteration AT. The half is a new first dimension, so that both halves are contiguous. */
static const tir_stmt *in_half(runtime_arena *arena, const tir_stmt *s, const tir_buffer *from, const tir_buffer *to,
                               const tir_expr *at) {
  const tir_expr *two = at != NULL ? tir_int(arena, (tn_dtype)at->dtype, 2) : NULL;
  const tir_expr *half = at != NULL ? tir_binary(arena, TIR_FLOORMOD, at, two) : NULL;
  return half != NULL ? tir_in_copy(arena, s, from, to, half) : NULL;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* A loop and its marked allocation. */
typedef struct doubling {
  runtime_arena *arena;
  const tir_stmt *loop, *alloc;
  const tir_buffer *two;
} doubling;

/* The filling for iteration AT, into its half. */
static const tir_stmt *fill_at(const doubling *d, const tir_expr *at) {
  tir_binding binding = {d->loop->u.loop.var, at};
  const tir_stmt *fill = at != NULL ? fill_of(d->alloc)->u.attr.body : NULL;
  if (fill != NULL) fill = tir_substitute_stmt(d->arena, fill, 1, &binding);
  return fill != NULL ? in_half(d->arena, fill, d->alloc->u.alloc.buffer, d->two, at) : NULL;
}

/* The next iteration's filling, and what follows the filling in this one. */
static const tir_stmt *fill_and_use(const doubling *d) {
  runtime_arena *arena = d->arena;
  const tir_stmt *loop = d->loop, *body = d->alloc->u.alloc.body;
  const tir_expr *here = tir_var_expr(arena, loop->u.loop.var), *one = tir_int(arena, loop->u.loop.var->dtype, 1);
  const tir_expr *next = tir_binary(arena, TIR_ADD, here, one);
  const tir_expr *end = tir_binary(arena, TIR_ADD, loop->u.loop.min, loop->u.loop.extent);
  const tir_stmt *ahead = fill_at(d, next), *use = tir_nop(arena);
  if (body->kind == TIR_SEQ) use = tir_seq(arena, body->u.seq.n - 1, body->u.seq.stmts + 1);
  if (ahead == NULL || use == NULL || end == NULL) return NULL;
  const tir_stmt *parts[] = {tir_if(arena, tir_binary(arena, TIR_LT, next, end), ahead, NULL),
                             in_half(arena, use, d->alloc->u.alloc.buffer, d->two, here)};
  return tir_seq(arena, 2, parts);
}

typedef struct replacing {
  const tir_stmt *old, *new;
  runtime_arena *arena;
} replacing;

/* Stops at inner loops: the allocation belongs to this one. */
static const tir_stmt *replace(void *user, const tir_stmt *s) {
  const replacing *r = user;
  if (s == r->old) return r->new;
  return s->kind == TIR_FOR ? s : tir_map_children(r->arena, s, replace, user);
}

/* The first filling stands in front of the loop, outside of any condition on its variable. */
static const tir_stmt *double_loop(runtime_arena *arena, const tir_stmt *loop, const tir_stmt *alloc) {
  doubling d = {arena, loop, alloc, tir_buffer_copies(arena, alloc->u.alloc.buffer, 2)};
  replacing r = {alloc, d.two != NULL ? fill_and_use(&d) : NULL, arena};
  if (r.new == NULL) return NULL;
  const tir_stmt *parts[] = {fill_at(&d, loop->u.loop.min), tir_with_body(arena, loop, replace(&r, loop->u.loop.body))};
  return tir_alloc(arena, d.two, tir_seq(arena, 2, parts));
}

/* An allocation that keeps one buffer. */
static const tir_stmt *unmark(runtime_arena *arena, const tir_stmt *alloc) {
  const tir_stmt *fill = fill_of(alloc), *body = alloc->u.alloc.body;
  if (body == fill) return tir_with_body(arena, alloc, fill->u.attr.body);
  const tir_stmt **parts = runtime_copy(arena, body->u.seq.stmts, sizeof *parts * (size_t)body->u.seq.n);
  if (parts == NULL) return NULL;
  parts[0] = fill->u.attr.body;
  return tir_with_body(arena, alloc, tir_seq(arena, body->u.seq.n, parts));
}

/* One marked allocation of a loop after the other; the first loop around it is the one that counts. */
static const tir_stmt *settle_loop(tir_pass_context *p, const tir_stmt *s) {
  const tir_stmt *alloc;
  while (s != NULL && s->kind == TIR_FOR && (alloc = find_alloc(s->u.loop.body)) != NULL) {
    const char *why_not = objection(s, alloc);
    if (why_not != NULL) {
      runtime_say(p->ctx, TN_SEVERITY_WARNING, "double_buffer(%s) has no effect: %s", alloc->u.alloc.buffer->name,
                  why_not);
      replacing r = {alloc, unmark(p->arena, alloc), p->arena};
      s = r.new != NULL ? tir_with_body(p->arena, s, replace(&r, s->u.loop.body)) : NULL;
      continue;
    }
    const tir_stmt *whole = double_loop(p->arena, s, alloc);
    if (whole == NULL) return NULL;
    const tir_stmt *seq = whole->u.alloc.body;
    const tir_stmt *loop = settle_loop(p, seq->u.seq.stmts[seq->u.seq.n - 1]);
    const tir_stmt **parts = runtime_copy(p->arena, seq->u.seq.stmts, sizeof *parts * (size_t)seq->u.seq.n);
    if (parts == NULL || loop == NULL) return NULL;
    parts[seq->u.seq.n - 1] = loop;
    return tir_with_body(p->arena, whole, tir_seq(p->arena, seq->u.seq.n, parts));
  }
  return s;
}

/* Innermost first. Each loop takes the allocations that it runs once an iteration. */
static const tir_stmt *settle(void *user, const tir_stmt *s) {
  tir_pass_context *p = user;
  s = tir_map_children(p->arena, s, settle, p);
  return s != NULL && s->kind == TIR_FOR ? settle_loop(p, s) : s;
}

/* Stops at a fill: then the loop has something to run ahead. */
static tir_walk find_mark(void *user, const tir_stmt *s) {
  (void)user;
  return is_fill(s) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Requires: the attribute double_buffer stands around the first statement of an allocation in a loop. Establishes: no
 * such attribute; what had to keep one buffer is said as a warning. Breaks: a variable and an allocation may stand on
 * two paths side by side. */
tir_func *tir_pass_double_buffer(tir_pass_context *p, tir_func *f) {
  tir_visitor visitor = {.stmt = find_mark};
  if (tir_walk_stmt(f->body, &visitor)) return f;
  return tir_func_with_body(p, f, settle(p, f->body));
}
