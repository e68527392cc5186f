/* pass_signed_dots.c: processors multiply unsigned bytes by signed ones. A loop that adds up dot products of signed
 * bytes takes a + 128 for a, which is unsigned, and what that adds too much, 128 times the sum of b, goes once behind
 * the loop:
 *
 *     for k { T[0] = dot(T[0], A0, B); T[1] = dot(T[1], A1, B) }
 *  -> X = 0; for k { X = dot(X, 128, B); T[0] = dot(T[0], u8(A0 ^ -128), B); T[1] = ... }; T[0] = T[0] - X; T[1] = ...
 *
 * The bits of a + 128 are those of a with the top one flipped. Integers wrap, so that the result is the same. */
#include "tir/passes.h"

enum { MAX_DOTS = 64, MAX_ROOMS = 4, SHIFT = 128 };

/* A loop's body: statements, each of which adds a dot product to an element of a local buffer, and before them those that put into
 * buffers of its own what these read. */
typedef struct dots {
  int n, n_shared, n_rooms;
  const tir_buffer *rooms[MAX_ROOMS]; /* such buffers, the outermost first */
  int n_before;
  const tir_stmt *const *before; /* of the body */
  const tir_stmt *store[MAX_DOTS];
  int shared_by[MAX_DOTS];          /* of each, the place of its second operand in ... */
  const tir_expr *shared[MAX_DOTS]; /* ... the different ones */
} dots;

/* i8 times i8 into i32. The processors' instruction wants one side unsigned, hence this pass. */
static bool is_signed_dot(const tir_expr *e) {
  return e->op == TIR_DOT && e->dtype == TN_I32 && e->arg[1]->dtype == TN_I8 && e->arg[2]->dtype == TN_I8;
}

/* T[i] = dot(T[i], a, b), at the same element in all iterations of the loop over VAR. */
static bool adds_up(const tir_stmt *s, const tir_var *var) {
  if (s->kind != TIR_STORE || s->u.store.predicate != NULL || !is_signed_dot(s->u.store.value)) return false;
  const tir_buffer *to = s->u.store.buffer;
  const tir_expr *dot = s->u.store.value, *sum = dot->arg[0], *index = s->u.store.index[0];
  bool is_sum = sum->op == TIR_LOAD && sum->u.buffer == to && !sum->has_predicate && tir_equal(sum->arg[0], index);
  if (!is_sum || s->u.store.n_index != 1 || strcmp(to->scope, "local") != 0) return false;
  if (tir_uses_var(index, var) || tir_reads_memory(index)) return false;
  return !tir_loads(dot->arg[1], to) && !tir_loads(dot->arg[2], to);
}

/* Dots that read the same B share one correction. False for a store that does not add up over VAR, or one too many. */
static bool add_dot(dots *d, const tir_stmt *s, const tir_var *var) {
  if (d->n == MAX_DOTS || !adds_up(s, var)) return false;
  const tir_expr *b = s->u.store.value->arg[2];
  int at = 0;
  while (at < d->n_shared && !tir_equal(d->shared[at], b)) at++;
  if (at == d->n_shared) d->shared[d->n_shared++] = b;
  d->shared_by[d->n] = at;
  d->store[d->n++] = s;
  return true;
}

/* The body inside of the buffers of its own. NULL: they are too many. */
static const tir_stmt *enter_rooms(const tir_stmt *body, dots *d) {
  for (; body->kind == TIR_ALLOC; body = body->u.alloc.body) {
    if (d->n_rooms == MAX_ROOMS) return NULL;
    d->rooms[d->n_rooms++] = body->u.alloc.buffer;
  }
  return body;
}

/* What stands before the dot products writes and reads other buffers than their sums. */
static bool stands_before(const dots *d, const tir_stmt *s) {
  if (s->kind != TIR_STORE) return false;
  for (int i = 0; i < d->n; i++) {
    const tir_buffer *sums = d->store[i]->u.store.buffer;
    if (s->u.store.buffer == sums || tir_loads(s->u.store.value, sums)) return false;
    if (s->u.store.predicate != NULL && tir_loads(s->u.store.predicate, sums)) return false;
  }
  return true;
}

/* Worth it where each second operand meets several first ones. */
static bool collect(const tir_stmt *loop, dots *d) {
  const tir_var *var = loop->u.loop.var;
  *d = (dots){0};
  const tir_stmt *body = enter_rooms(loop->u.loop.body, d);
  if (loop->u.loop.kind != TIR_SERIAL || body == NULL || body->kind != TIR_SEQ) return false;
  d->before = body->u.seq.stmts;
  while (d->n_before < body->u.seq.n && !adds_up(d->before[d->n_before], var)) d->n_before++;
  for (int i = d->n_before; i < body->u.seq.n; i++)
    if (!add_dot(d, body->u.seq.stmts[i], var)) return false;
  for (int i = 0; i < d->n_before; i++)
    if (!stands_before(d, d->before[i])) return false;
  return d->n >= 2 * d->n_shared && d->n > 0;
}

/* a + 128 as an unsigned byte. */
static const tir_expr *shifted(runtime_arena *arena, const tir_expr *a) {
  const tir_expr *top = tir_broadcast(arena, tir_int(arena, TN_I8, -SHIFT), a->lanes);
  return tir_cast(arena, TN_U8, tir_binary(arena, TIR_BITXOR, a, top));
}

static const tir_stmt *store(runtime_arena *arena, const tir_buffer *to, const tir_expr *index, const tir_expr *value) {
  return tir_store(arena, to, 1, &index, value, NULL);
}

static const tir_expr *load(runtime_arena *arena, const tir_buffer *from, const tir_expr *index) {
  return tir_load(arena, from, 1, &index, NULL);
}

/* Where what is too much for the operand numbered SHARED lies: a vector for each operand, one behind the other. */
static const tir_expr *place_of(runtime_arena *arena, const dots *d, int shared) {
  int lanes = d->store[0]->u.store.value->lanes;
  tn_dtype dtype = (tn_dtype)d->store[0]->u.store.index[0]->dtype;
  return tir_ramp(arena, tir_int(arena, dtype, (int64_t)shared * lanes), 1, lanes);
}

/* INSIDE behind what stands before it, and in the body's own buffers. NULL: no memory. */
static const tir_stmt *put_back(runtime_arena *arena, const dots *d, const tir_stmt *inside) {
  const tir_stmt **all = runtime_alloc(arena, (size_t)(d->n_before + 1) * sizeof *all);
  if (all == NULL) return NULL;
  for (int i = 0; i < d->n_before; i++) all[i] = d->before[i];
  all[d->n_before] = inside;
  const tir_stmt *body = tir_seq(arena, d->n_before + 1, all);
  for (int i = d->n_rooms - 1; i >= 0; i--) body = tir_alloc(arena, d->rooms[i], body);
  return body;
}

/* What is too much, 128 times the sum of B, adds up in the same loop and is taken off behind it. */
static const tir_stmt *rewrite(runtime_arena *arena, const tir_stmt *loop, const dots *d) {
  const tir_expr *first = d->store[0]->u.store.value;
  int lanes = first->lanes, n = 0;
  tir_buffer *excess = RUNTIME_NEW(arena, tir_buffer);
  const tir_stmt *before[MAX_DOTS + 1], *body[2 * MAX_DOTS], *all[2 * MAX_DOTS + 2];
  if (excess == NULL) return NULL;
  *excess = (tir_buffer){.name = runtime_format(arena, "%s.excess", d->store[0]->u.store.buffer->name),
                         .dtype = TN_I32,
                         .ndim = 1,
                         .shape = {(int64_t)lanes * d->n_shared},
                         .scope = "local"};
  const tir_expr *shift = tir_broadcast(arena, tir_int(arena, TN_U8, SHIFT), first->arg[1]->lanes);
  const tir_expr *zero = tir_broadcast(arena, tir_int(arena, TN_I32, 0), lanes);
  for (int i = 0; i < d->n_shared; i++) {
    const tir_expr *at = place_of(arena, d, i);
    before[i] = store(arena, excess, at, zero);
    body[n++] = store(arena, excess, at, tir_dot(arena, load(arena, excess, at), shift, d->shared[i]));
  }
  for (int i = 0; i < d->n; i++) {
    const tir_expr *dot = d->store[i]->u.store.value;
    const tir_expr *value = tir_dot(arena, dot->arg[0], shifted(arena, dot->arg[1]), dot->arg[2]);
    body[n++] = store(arena, d->store[i]->u.store.buffer, d->store[i]->u.store.index[0], value);
  }
  const tir_stmt *inside = put_back(arena, d, tir_seq(arena, n, body));
  n = 0;
  for (int i = 0; i < d->n_shared; i++) all[n++] = before[i];
  all[n++] = tir_for(arena, loop->u.loop.var, loop->u.loop.min, loop->u.loop.extent, TIR_SERIAL, inside);
  for (int i = 0; i < d->n; i++) {
    const tir_expr *at = d->store[i]->u.store.index[0], *sum = d->store[i]->u.store.value->arg[0];
    const tir_expr *much = load(arena, excess, place_of(arena, d, d->shared_by[i]));
    all[n++] = store(arena, d->store[i]->u.store.buffer, at, tir_binary(arena, TIR_SUB, sum, much));
  }
  return tir_alloc(arena, excess, tir_seq(arena, n, all));
}

/* A loop that is rewritten is not looked into again. */
static const tir_stmt *look(void *user, const tir_stmt *s) {
  runtime_arena *arena = user;
  dots d;
  if (s->kind == TIR_FOR && collect(s, &d)) return rewrite(arena, s, &d);
  return tir_map_children(arena, s, look, arena);
}

/* Requires: unroll, so that sums of a tile are a row of statements. Establishes: loops over such rows multiply unsigned
 * by signed bytes, unless the target multiplies signed ones as well. Breaks: nothing. */
tir_func *tir_pass_signed_dots(tir_pass_context *p, tir_func *f) {
  if (p->options.multiplies_signed_bytes) return f;
  return tir_func_with_body(p, f, look(p->arena, f->body));
}
