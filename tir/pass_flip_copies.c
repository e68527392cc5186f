/* pass_flip_copies.c: bytes whose top bit is flipped wherever they are read, as signed_dots leaves them, are flipped where they are
 * copied; and an input that is read more often than that costs gets a flipped copy at the function's beginning.
 *
 *     allocate P: i8; P[x] = A[y]; ... P[x] ^ -128 ... P[x] ^ -128
 *  -> allocate P: i8; P[x] = A[y] ^ -128; ... P[x] ... P[x]
 *
 * The innermost loop then takes its operand from memory as it lies there, without an instruction for each. */
#include "tir/passes.h"

enum { MAX_FLIPPED = 8, FLIP = -128 };
/* Bytes that a dot product reads for all of its lanes; bytes of the loops that copy an input; an input is copied where so many
 * times its bytes are read. */
enum { GROUP = 4, VECTOR = 64, LEAST_READS = 4 };

/* A buffer of bytes that somebody flips. */
typedef struct flipped {
  const tir_buffer *buffer, *copy; /* COPY: of an input; NULL: what is stored to BUFFER itself is flipped */
  double read;                     /* bytes that are flipped, in a call */
  bool is_allocated, stays;        /* stays: something else is done with it */
} flipped;

typedef struct flips {
  tir_func *func;
  runtime_arena *arena;
  double times; /* how often what is looked at runs in a call */
  int n;
  flipped of[MAX_FLIPPED];
} flips;

static flipped *find(flips *all, const tir_buffer *buffer) {
  for (int i = 0; i < all->n; i++)
    if (all->of[i].buffer == buffer) return &all->of[i];
  return NULL;
}

/* Of all lanes: what a predicate leaves out is 0, flipped or not, which are two different numbers. */
static bool is_flipped_read(const tir_expr *e) {
  int64_t bits;
  return e->op == TIR_BITXOR && e->dtype == TN_I8 && e->arg[0]->op == TIR_LOAD && !e->arg[0]->has_predicate &&
         tir_is_int(e->arg[1], &bits) && bits == FLIP;
}

/* ---- what is flipped --------------------------------------------------------------------------------------------- */

static tir_walk find_reads(void *user, const tir_expr *e) {
  flips *all = user;
  if (!is_flipped_read(e)) return TIR_WALK_ON;
  if (find(all, e->arg[0]->u.buffer) == NULL && all->n < MAX_FLIPPED)
    all->of[all->n++] = (flipped){.buffer = e->arg[0]->u.buffer};
  return TIR_WALK_ON;
}

static void stay(flips *all, const tir_buffer *buffer) {
  flipped *f = find(all, buffer);
  if (f != NULL) f->stays = true;
}

static tir_walk judge_expr(void *user, const tir_expr *e) {
  flips *all = user;
  flipped *f = is_flipped_read(e) ? find(all, e->arg[0]->u.buffer) : NULL;
  if (f != NULL) f->read += all->times * GROUP;
  if (f == NULL && e->op == TIR_LOAD && !e->u.buffer->is_param)
    stay(all, e->u.buffer); /* inputs may be read both ways */
  return f != NULL ? TIR_WALK_PRUNE : TIR_WALK_ON;
}

static tir_walk judge_stmt(void *user, const tir_stmt *s);

/* A loop whose length symbols decide counts as one of a single iteration. */
static tir_walk judge_loop(flips *all, const tir_stmt *loop) {
  tir_visitor judges = {judge_stmt, judge_expr, all};
  int64_t extent = 1;
  double times = all->times;
  if (tir_is_int(loop->u.loop.extent, &extent)) all->times *= (double)extent;
  tir_walk_stmt(loop->u.loop.body, &judges);
  all->times = times;
  return TIR_WALK_PRUNE;
}

static tir_walk judge_stmt(void *user, const tir_stmt *s) {
  flips *all = user;
  if (s->kind == TIR_FOR) return judge_loop(all, s);
  flipped *allocated = s->kind == TIR_ALLOC ? find(all, s->u.alloc.buffer) : NULL;
  if (allocated != NULL) allocated->is_allocated = true;
  if (s->kind == TIR_PREFETCH && !s->u.prefetch.buffer->is_param) stay(all, s->u.prefetch.buffer);
  for (int i = 0; s->kind == TIR_CALL && i < s->u.call.n; i++) stay(all, s->u.call.operands[i].buffer);
  return TIR_WALK_ON;
}

/* Of a known length. */
static bool is_worth_copy(const flipped *f) {
  const tir_buffer *b = f->buffer;
  return b->is_input && b->ndim == 1 && b->size[0] == NULL && b->shape[0] > 0 &&
         f->read >= LEAST_READS * (double)b->shape[0];
}

/* Keeps those that can be flipped elsewhere. */
static void keep(flips *all) {
  int n = 0;
  for (int i = 0; i < all->n; i++) {
    flipped f = all->of[i];
    if (f.stays || !(f.is_allocated || is_worth_copy(&f))) continue;
    if (!f.is_allocated) {
      tir_buffer *copy = runtime_copy(all->arena, f.buffer, sizeof *copy);
      if (copy == NULL) continue;
      copy->name = runtime_format(all->arena, "%s.flipped", f.buffer->name);
      copy->scope = "global";
      copy->is_param = copy->is_input = false;
      f.copy = copy;
    }
    all->of[n++] = f;
  }
  all->n = n;
}

/* ---- what it becomes --------------------------------------------------------------------------------------------- */

static const tir_expr *flip(runtime_arena *arena, const tir_expr *e) {
  const tir_expr *top = tir_broadcast(arena, tir_int(arena, TN_I8, FLIP), e->lanes);
  return tir_binary(arena, TIR_BITXOR, e, top);
}

static const tir_expr *flip_read(void *user, const tir_expr *e) {
  flips *all = user;
  flipped *f = is_flipped_read(e) ? find(all, e->arg[0]->u.buffer) : NULL;
  if (f == NULL) return e;
  return tir_load(all->arena, f->copy != NULL ? f->copy : f->buffer, e->arg[0]->n_args, e->arg[0]->arg, NULL);
}

static const tir_stmt *flip_store(void *user, const tir_stmt *s) {
  flips *all = user;
  flipped *f = s->kind == TIR_STORE ? find(all, s->u.store.buffer) : NULL;
  if (f == NULL) return s;
  return tir_store(all->arena, f->buffer, s->u.store.n_index, s->u.store.index, flip(all->arena, s->u.store.value),
                   s->u.store.predicate);
}

/* to[begin + LANES * n + x] = from[...] ^ -128 of all N. */
static const tir_stmt *copy_part(const flips *all, const flipped *f, int64_t begin, int64_t n, int lanes) {
  runtime_arena *arena = all->arena;
  tn_dtype index = all->func->index_dtype;
  tir_var *var = RUNTIME_NEW(arena, tir_var);
  if (n == 0) return tir_nop(arena);
  if (var == NULL) return NULL;
  *var = (tir_var){runtime_format(arena, "%s.%s", f->buffer->name, lanes == 1 ? "byte" : "vector"), index};
  const tir_expr *step = tir_binary(arena, TIR_MUL, tir_var_expr(arena, var), tir_int(arena, index, lanes));
  const tir_expr *first = tir_binary(arena, TIR_ADD, step, tir_int(arena, index, begin));
  const tir_expr *at = lanes == 1 ? first : tir_ramp(arena, first, 1, lanes);
  const tir_stmt *copied =
      tir_store(arena, f->copy, 1, &at, flip(arena, tir_load(arena, f->buffer, 1, &at, NULL)), NULL);
  return tir_for(arena, var, tir_int(arena, index, 0), tir_int(arena, index, n), TIR_SERIAL, copied);
}

/* The whole input, by vectors and what is left of the last one, before BODY. */
static const tir_stmt *copy_input(const flips *all, const flipped *f, const tir_stmt *body) {
  int64_t n = f->buffer->shape[0], vectors = n / VECTOR;
  const tir_stmt *parts[] = {copy_part(all, f, 0, vectors, VECTOR), copy_part(all, f, vectors * VECTOR, n % VECTOR, 1),
                             body};
  return tir_alloc(all->arena, f->copy, tir_seq(all->arena, RUNTIME_COUNT(parts), parts));
}

/* Requires: signed_dots, flatten. Establishes: signed bytes of dot products are flipped once, where they are copied, or where they
 * are read again and again. Breaks: nothing. */
tir_func *tir_pass_flip_copies(tir_pass_context *p, tir_func *f) {
  flips all = {.func = f, .arena = p->arena, .times = 1};
  tir_visitor finds = {NULL, find_reads, &all}, judges = {judge_stmt, judge_expr, &all};
  tir_rewriter rewriter = {p->arena, flip_store, flip_read, &all};
  tir_walk_stmt(f->body, &finds);
  if (all.n == 0) return f;
  tir_walk_stmt(f->body, &judges);
  keep(&all);
  if (all.n == 0) return f;
  const tir_stmt *body = tir_rewrite_stmt(&rewriter, f->body);
  for (int i = 0; body != NULL && i < all.n; i++)
    if (all.of[i].copy != NULL) body = copy_input(&all, &all.of[i], body);
  return tir_func_with_body(p, f, body);
}
