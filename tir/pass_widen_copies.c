/* pass_widen_copies.c: a copy of f16 or bf16 numbers that is read as f32 only holds f32: what is read many times is converted
 * once.
 *
 *     allocate P: f16; P[x] = B[y]; ... cast(f32, P[x]) ... cast(f32, P[x])
 *  -> allocate P: f32; P[x] = cast(f32, B[y]); ... P[x] ... P[x]
 *
 * Each f16 and bf16 is an f32, so that the values are the same. A buffer that something is computed into stays as it is: whoever
 * wants it rounded, or small, said so. */
#include "tir/passes.h"

enum { MAX_COPIES = 16 };

typedef struct copies {
  runtime_arena *arena;
  int n;
  struct {
    const tir_buffer *buffer, *wide;
    bool is_stored, is_read, stays; /* stays: something else is done with it */
  } of[MAX_COPIES];
} copies;

/* -1: BUFFER is no copy that may become wide. */
static int find(const copies *c, const tir_buffer *buffer) {
  for (int i = 0; i < c->n; i++)
    if (c->of[i].buffer == buffer) return i;
  return -1;
}

static bool is_half(tn_dtype dtype) { return dtype == TN_F16 || dtype == TN_BF16; }

/* Elements of another buffer, or constants where there are none. */
static bool is_copied(const tir_expr *e) {
  e = tir_unbroadcast(e);
  if (e->op == TIR_SELECT) return is_copied(e->arg[1]) && is_copied(e->arg[2]);
  return e->op == TIR_LOAD || tir_is_const(e);
}

static tir_walk collect(void *user, const tir_stmt *s) {
  copies *c = user;
  if (s->kind == TIR_ALLOC && is_half(s->u.alloc.buffer->dtype) && c->n < MAX_COPIES)
    c->of[c->n++].buffer = s->u.alloc.buffer;
  return TIR_WALK_ON;
}

static void stay(copies *c, const tir_buffer *buffer) {
  int at = find(c, buffer);
  if (at >= 0) c->of[at].stays = true;
}

/* A value that is stored or part of another one is read as it is. */
static void read_plainly(copies *c, const tir_expr *e) {
  if (e->op == TIR_LOAD) stay(c, e->u.buffer);
}

static tir_walk judge_stmt(void *user, const tir_stmt *s) {
  copies *c = user;
  if (s->kind == TIR_STORE) {
    int at = find(c, s->u.store.buffer);
    if (at >= 0) c->of[at].is_stored = true;
    if (at >= 0 && !is_copied(s->u.store.value)) c->of[at].stays = true;
    read_plainly(c, s->u.store.value);
  }
  if (s->kind == TIR_PREFETCH) stay(c, s->u.prefetch.buffer);
  for (int i = 0; s->kind == TIR_CALL && i < s->u.call.n; i++) stay(c, s->u.call.operands[i].buffer);
  return TIR_WALK_ON;
}

static bool is_wide_read(const tir_expr *e) {
  return e->op == TIR_CAST && e->dtype == TN_F32 && e->arg[0]->op == TIR_LOAD;
}

static tir_walk judge_expr(void *user, const tir_expr *e) {
  copies *c = user;
  int at = is_wide_read(e) ? find(c, e->arg[0]->u.buffer) : -1;
  if (at >= 0) c->of[at].is_read = true;
  for (int i = 0; !is_wide_read(e) && i < e->n_args; i++) read_plainly(c, e->arg[i]);
  return TIR_WALK_ON;
}

/* Keeps those that become wide, with their other buffers. */
static void keep(copies *c) {
  int n = 0;
  for (int i = 0; i < c->n; i++) {
    if (c->of[i].stays || !c->of[i].is_stored || !c->of[i].is_read) continue;
    tir_buffer *wide = runtime_copy(c->arena, c->of[i].buffer, sizeof *wide);
    if (wide == NULL) continue;
    wide->dtype = TN_F32;
    c->of[n] = c->of[i];
    c->of[n++].wide = wide;
  }
  c->n = n;
}

static const tir_expr *widen_read(void *user, const tir_expr *e) {
  const copies *c = user;
  int at = is_wide_read(e) ? find(c, e->arg[0]->u.buffer) : -1;
  if (at < 0) return e;
  const tir_expr *load = e->arg[0];
  int n = load->n_args - (load->has_predicate ? 1 : 0);
  return tir_load(c->arena, c->of[at].wide, n, load->arg, load->has_predicate ? load->arg[n] : NULL);
}

static const tir_stmt *widen_stmt(void *user, const tir_stmt *s) {
  const copies *c = user;
  int at = s->kind == TIR_STORE ? find(c, s->u.store.buffer) : s->kind == TIR_ALLOC ? find(c, s->u.alloc.buffer) : -1;
  if (at < 0) return s;
  if (s->kind == TIR_ALLOC) return tir_alloc(c->arena, c->of[at].wide, s->u.alloc.body);
  return tir_store(c->arena, c->of[at].wide, s->u.store.n_index, s->u.store.index,
                   tir_cast(c->arena, TN_F32, s->u.store.value), s->u.store.predicate);
}

/* Requires: tensorize, whose dot products take bf16 as it is. Establishes: no copy of f16 or bf16 that is read as f32 only.
 * Breaks: nothing. */
tir_func *tir_pass_widen_copies(tir_pass_context *p, tir_func *f) {
  copies c = {.arena = p->arena};
  tir_visitor collects = {.stmt = collect, .user = &c}, judges = {judge_stmt, judge_expr, &c};
  tir_rewriter rewriter = {p->arena, widen_stmt, widen_read, &c};
  tir_walk_stmt(f->body, &collects);
  if (c.n == 0) return f;
  tir_walk_stmt(f->body, &judges);
  keep(&c);
  return c.n > 0 ? tir_func_with_body(p, f, tir_rewrite_stmt(&rewriter, f->body)) : f;
}
