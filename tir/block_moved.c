/* block_moved.c: a block of a loop's iterations that begins elsewhere. What is left at the end of a loop is as long as a block when it begins
 * earlier: iterations that were done already are done once more, which changes nothing where none reads what they store:
 *     for (i, 0, 8) { if (o*8 + i < M) C[o*8 + i] = A[o*8 + i] + 1 }   ->   for (i, 0, 8) C[M - 8 + i] = A[M - 8 + i] + 1
 * Where iterations are divided, o*8 was taken for a multiple of what they are divided by, and so must M - 8 be:
 *     A[o*4 + i//2]   ->   A[(M - 8)//2 + i//2], where M is a sum of even terms
 * Where o*8 is no such multiple, the block stays where it is: ((o*8 + i)//3)%2 became ((o*2 + i)//3)%2, which is right for whole o only. */
#include "tir/linear.h"
#include "tir/passes.h"

/* ---- what may be done twice -------------------------------------------------------------------------------------- */

static tir_walk find_alloc(void *user, const tir_stmt *s) {
  return s->kind == TIR_ALLOC && s->u.alloc.buffer == user ? TIR_WALK_STOP : TIR_WALK_ON;
}

bool tir_allocates(const tir_stmt *s, const tir_buffer *buffer) {
  tir_visitor visitor = {.stmt = find_alloc, .user = (void *)buffer};
  return !tir_walk_stmt(s, &visitor);
}

/* Stops at what must not be done twice: an update of what others see, or what nobody knows. USER: the whole statement. */
static tir_walk find_update(void *user, const tir_stmt *s) {
  const tir_stmt *whole = user;
  if (s->kind == TIR_CALL) return TIR_WALK_STOP;
  bool is_update = s->kind == TIR_STORE && tir_stmt_loads(whole, s->u.store.buffer);
  return is_update && !tir_allocates(whole, s->u.store.buffer) ? TIR_WALK_STOP : TIR_WALK_ON;
}

bool tir_may_repeat(const tir_stmt *s) {
  tir_visitor visitor = {.stmt = find_update, .user = (void *)s};
  return tir_walk_stmt(s, &visitor);
}

/* ---- where it begins --------------------------------------------------------------------------------------------- */

typedef struct moving {
  runtime_arena *arena;
  const tir_var *var;
  int64_t length;
  const tir_expr *begin;
} moving;

/* Whether an expression is a multiple of N by its terms. */
static bool is_multiple(const tir_expr *e, int64_t n) {
  tir_linear form;
  tir_linear_zero(&form);
  if (!tir_linear_add_expr(&form, e, 1) || form.constant % n != 0) return false;
  for (int i = 0; i < form.n; i++)
    if (form.terms[i].coef % n != 0) return false;
  return true;
}

/* var * factor is begin * factor / length, where that is a whole number. */
static const tir_expr *move_product(void *user, const tir_expr *e) {
  const moving *m = user;
  int64_t factor;
  bool is_product = e->op == TIR_MUL && e->lanes == 1 && e->arg[0]->op == TIR_VAR && e->arg[0]->u.var == m->var;
  if (!is_product || !tir_is_int(e->arg[1], &factor)) return e;
  int64_t common = tir_common_divisor(m->length, factor), part = m->length / common;
  if (!is_multiple(m->begin, part)) return e;
  const tir_expr *begin = m->begin;
  if (part > 1) begin = tir_binary(m->arena, TIR_FLOORDIV, begin, tir_int(m->arena, e->dtype, part));
  return tir_binary(m->arena, TIR_MUL, begin, tir_int(m->arena, e->dtype, factor / common));
}

const tir_stmt *tir_block_moved(runtime_arena *arena, const tir_stmt *s, const tir_var *var, int64_t length,
                                const tir_expr *begin, int64_t divisor) {
  moving m = {arena, var, length, begin};
  if (length % divisor != 0 || !is_multiple(begin, divisor)) return NULL;
  const tir_stmt *moved = tir_rewrite_stmt(&(tir_rewriter){arena, NULL, move_product, &m}, s);
  return moved != NULL && !tir_stmt_uses_var(moved, var) ? moved : NULL;
}
