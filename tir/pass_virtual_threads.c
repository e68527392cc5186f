/* pass_virtual_threads.c: a loop that is bound to vthread has, on a processor, iterations that advance together: it
 * moves inwards, to each statement (TVM: InjectVirtualThread). What is allocated inside gets a copy for each.
 *
 *     attr [vthread]                      allocate(P, [2, ...]) {
 *     for (v, 0, 2)                         for (k, 0, n) {
 *       allocate(P, [...])                    unrolled (v, 0, 2) P[v, ..] = ..
 *         for (k, 0, n) {           ->        unrolled (v, 0, 2) C[v, k] = .. P[v, ..]
 *           P[..] = ..                      } }
 *           C[v, k] = .. P[..]
 *         }
 *
 * The primitive bind has seen to it that no iteration reads what another one writes. */
#include "tir/passes.h"

enum { MAX_WRITTEN_OUT = 15 }; /* TVM: from 16 iterations on it stays a loop */

#define VTHREAD TIR_THREAD_EXTENT "vthread"

typedef struct state {
  runtime_arena *arena;
  const tir_stmt *loop;
  int64_t extent;
} state;

static bool uses(const state *at, const tir_expr *e) { return tir_uses_var(e, at->loop->u.loop.var); }

/* ---- a loop around less ------------------------------------------------------------------------------------------ */

/* S once for each iteration. Statements side by side have loops of the same variable. */
static const tir_stmt *repeat(const state *at, const tir_stmt *s) {
  bool is_leaf = s->kind == TIR_STORE || s->kind == TIR_PREFETCH || s->kind == TIR_CALL;
  const tir_stmt *loop = tir_with_body(at->arena, at->loop, s);
  return loop != NULL && is_leaf && at->extent <= MAX_WRITTEN_OUT ? tir_for_kind(at->arena, loop, TIR_UNROLLED) : loop;
}

/* Attributes around what a later pass or the code generator has to find as it is: marks of stages count what stands
 * inside, and an intrinsic's loops are a pattern. */
static bool keeps_inside(const tir_stmt *s) {
  static const char *const prefixes[] = {TIR_STAGE ".", TIR_TENSORIZE, TIR_TENSORIZE_RESET, TIR_TENSORIZE_BODY};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(s->u.attr.key, prefixes[i], strlen(prefixes[i])) == 0) return true;
  return false;
}

/* Stops at a call to which the buffer is given. */
static tir_walk find_call(void *user, const tir_stmt *s) {
  return s->kind == TIR_CALL && tir_call_touches(s, user) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether each iteration can have a copy of the buffer in one allocation. */
static bool can_copy(const tir_stmt *alloc) {
  const tir_buffer *buffer = alloc->u.alloc.buffer;
  tir_visitor calls = {.stmt = find_call, .user = (void *)buffer};
  return buffer->ndim < TN_MAX_RANK && tir_walk_stmt(alloc->u.alloc.body, &calls);
}

static const tir_stmt *interleave(void *user, const tir_stmt *s);

/* The iteration's number says which copy is its own. */
static const tir_stmt *interleave_alloc(const state *at, const tir_stmt *s) {
  if (!can_copy(s)) return repeat(at, s);
  const tir_var *var = at->loop->u.loop.var;
  const tir_buffer *all = tir_buffer_copies(at->arena, s->u.alloc.buffer, at->extent);
  const tir_expr *number = tir_binary(at->arena, TIR_SUB, tir_var_expr(at->arena, var), at->loop->u.loop.min);
  if (all == NULL || number == NULL) return NULL;
  const tir_stmt *body = tir_in_copy(at->arena, s->u.alloc.body, s->u.alloc.buffer, all, number);
  return body != NULL ? tir_alloc(at->arena, all, interleave((void *)at, body)) : NULL;
}

/* A loop or a condition that depends on the iteration stays inside. */
static const tir_stmt *interleave(void *user, const tir_stmt *s) {
  const state *at = user;
  bool moves_in = false;
  switch (s->kind) {
    case TIR_FOR: moves_in = !uses(at, s->u.loop.min) && !uses(at, s->u.loop.extent); break;
    case TIR_IF: moves_in = !uses(at, s->u.branch.cond); break;
    case TIR_ATTR: moves_in = !keeps_inside(s); break;
    case TIR_ALLOC: return interleave_alloc(at, s);
    case TIR_SEQ:
    case TIR_NOP: moves_in = true; break;
    case TIR_STORE:
    case TIR_PREFETCH:
    case TIR_CALL: break;
  }
  return moves_in ? tir_map_children(at->arena, s, interleave, user) : repeat(at, s);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Innermost first. A loop whose extent is no constant stays where it is. */
static const tir_stmt *settle(void *user, const tir_stmt *s) {
  runtime_arena *arena = user;
  s = tir_map_children(arena, s, settle, user);
  if (s == NULL || s->kind != TIR_ATTR || strcmp(s->u.attr.key, VTHREAD) != 0) return s;
  state at = {.arena = arena, .loop = s->u.attr.body};
  int64_t min;
  if (at.loop->kind != TIR_FOR || !tir_const_loop(at.loop, &min, &at.extent)) return at.loop;
  return interleave(&at, at.loop->u.loop.body);
}

/* Stops at a bound loop: then there is something to do. */
static tir_walk find_bound(void *user, const tir_stmt *s) {
  (void)user;
  return s->kind == TIR_ATTR && strcmp(s->u.attr.key, VTHREAD) == 0 ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Requires: nothing. Establishes: no attribute of vthread. Breaks: a variable may stand on several paths side by side. */
tir_func *tir_pass_virtual_threads(tir_pass_context *p, tir_func *f) {
  tir_visitor visitor = {.stmt = find_bound};
  if (tir_walk_stmt(f->body, &visitor)) return f;
  return tir_func_with_body(p, f, settle(p->arena, f->body));
}
