/* pass_loop_kinds.c: makes the kinds of nested loops ones that the later passes and the code generator can keep. */
#include "tir/passes.h"

typedef struct state {
  tir_pass_context *p;
  bool in_parallel, in_vectorized;
} state;

/* Stops at a vectorized loop. */
static tir_walk find_vectorized(void *user, const tir_stmt *s) {
  (void)user;
  return s->kind == TIR_FOR && s->u.loop.kind == TIR_VECTORIZED ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Asked at every vectorized loop, so the pass is quadratic in their nesting, which is two or three. */
static bool has_vectorized(const tir_stmt *s) {
  tir_visitor visitor = {.stmt = find_vectorized};
  return !tir_walk_stmt(s, &visitor);
}

/* Why a loop cannot keep its kind, or NULL. */
static const char *objection(const state *at, const tir_stmt *loop) {
  int64_t extent;
  if (loop->u.loop.kind == TIR_PARALLEL) {
    return at->in_parallel     ? "it is inside another parallel loop"
           : at->in_vectorized ? "it is inside a vectorized loop"
                               : NULL;
  }
  if (loop->u.loop.kind != TIR_VECTORIZED) return NULL;
  if (has_vectorized(loop->u.loop.body)) return "another vectorized loop is inside it";
  return tir_is_int(loop->u.loop.extent, &extent) ? NULL : "its extent is not a constant";
}

/* From outside inwards: whether a loop may be parallel depends on those around it. */
static const tir_stmt *settle(void *user, const tir_stmt *s) {
  state *at = user, inner = *at;
  if (s->kind == TIR_FOR) {
    static const char *const words[] = {[TIR_SERIAL] = "serial",
                                        [TIR_UNROLLED] = "unrolled",
                                        [TIR_VECTORIZED] = "vectorized",
                                        [TIR_PARALLEL] = "parallel"};
    const char *why = objection(at, s);
    if (why != NULL) {
      if (!tir_is_init_loop(s))
        runtime_say(at->p->ctx, TN_SEVERITY_WARNING, "the %s loop \"%s\" runs serially: %s", words[s->u.loop.kind],
                    s->u.loop.var->name, why);
      s = tir_for_kind(at->p->arena, s, TIR_SERIAL);
      if (s == NULL) return NULL;
    }
    inner.in_parallel = at->in_parallel || s->u.loop.kind == TIR_PARALLEL;
    inner.in_vectorized = at->in_vectorized || s->u.loop.kind == TIR_VECTORIZED;
  }
  return tir_map_children(at->p->arena, s, settle, &inner);
}

/* Requires: nothing. Establishes: no parallel loop inside a parallel or vectorized one, vectorized loops are innermost
 * among their kind and of constant extent; what had to become serial is said as a warning. Breaks: nothing. */
tir_func *tir_pass_loop_kinds(tir_pass_context *p, tir_func *f) {
  state at = {.p = p};
  return tir_func_with_body(p, f, settle(&at, f->body));
}
