/* pass_unswitch.c: an innermost loop that asks the same question in each iteration is written once for each answer:
 *
 *     for k { if (w + s >= 1) S0; S1 }   becomes   if (w + s >= 1) { for k { S0; S1 } } else { for k { S1 } }
 *
 * A convolution's tile at the border of its image is such a loop: some of its rows are zeros there (LLVM:
 * SimpleLoopUnswitch, which gives up where a loop is as large as a tile). */
#include "tir/passes.h"

/* All versions of a loop have at most so many statements together; a loop of few iterations is not worth a version. */
enum { MAX_STORES = 384, LEAST_ITERATIONS = 4 };

/* The questions of a loop: conditions that no iteration changes. */
typedef struct questions {
  const tir_var *var; /* the loop's */
  tir_conds conds;
  bool is_innermost;
} questions;

/* Each condition once, in the order in which they are asked. */
static void note_conds(questions *q, const tir_expr *cond) {
  tir_conds asked = {0};
  if (tir_reads_memory(cond) || !tir_conds_add(&asked, cond)) return;
  for (int i = 0; i < asked.n; i++) {
    const tir_expr *one = asked.item[i];
    if (!tir_uses_var(one, q->var) && !tir_conds_has(&q->conds, one)) tir_conds_add(&q->conds, one);
  }
}

/* Stops at what is no part of an innermost loop. */
static tir_walk note_question(void *user, const tir_stmt *s) {
  questions *q = user;
  if (s->kind == TIR_IF) note_conds(q, s->u.branch.cond);
  q->is_innermost = s->kind != TIR_FOR && s->kind != TIR_ALLOC && s->kind != TIR_CALL;
  return q->is_innermost ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* A question and its answer. */
typedef struct answer {
  runtime_arena *arena;
  const tir_expr *cond;
  bool holds;
} answer;

/* A condition that reads memory is left as it is: it asked nothing. */
static const tir_stmt *answered(void *user, const tir_stmt *s) {
  const answer *a = user;
  tir_conds asked = {0}, left = {0};
  s = tir_map_children(a->arena, s, answered, user);
  bool is_asked = s != NULL && s->kind == TIR_IF && !tir_reads_memory(s->u.branch.cond) &&
                  tir_conds_add(&asked, s->u.branch.cond) && tir_conds_has(&asked, a->cond);
  if (!is_asked) return s == NULL ? NULL : tir_drop_empty(a->arena, s);
  const tir_stmt *otherwise = s->u.branch.else_body;
  if (!a->holds) return otherwise != NULL ? otherwise : tir_nop(a->arena);
  for (int i = 0; i < asked.n; i++) {
    if (!tir_equal(asked.item[i], a->cond)) tir_conds_add(&left, asked.item[i]);
  }
  if (left.n == 0) return s->u.branch.then_body;
  const tir_stmt *rest = tir_conds_guard(a->arena, &left, s->u.branch.then_body);
  return rest != NULL ? tir_if_with(a->arena, rest, rest->u.branch.cond, rest->u.branch.then_body, otherwise) : NULL;
}

/* Where the pass is, and what is known there. */
typedef struct place {
  runtime_arena *arena;
  const tir_env *env;
} place;

static const tir_stmt *versions(const place *at, const tir_stmt *loop, const questions *q, int first, int64_t stores);

/* The loop where question number FIRST has this answer, in STORES statements. */
static const tir_stmt *version(const place *at, const tir_stmt *loop, const questions *q, int first, bool holds,
                               int64_t stores) {
  const tir_expr *cond = q->conds.item[first];
  const tir_expr *known = holds ? cond : tir_simplify(at->arena, NULL, tir_unary(at->arena, TIR_NOT, cond));
  answer a = {at->arena, cond, holds};
  tir_env env = tir_env_cond(at->env, known);
  place inside = {at->arena, &env};
  return versions(&inside, answered(&a, loop), q, first + 1, stores);
}

/* The loop for each answer to the questions from FIRST on that is not known already, in STORES statements. */
static const tir_stmt *versions(const place *at, const tir_stmt *loop, const questions *q, int first, int64_t stores) {
  if (loop == NULL || loop->kind != TIR_FOR || first == q->conds.n) return loop;
  const tir_expr *cond = q->conds.item[first];
  if (tir_prove(at->arena, at->env, cond)) return version(at, loop, q, first, true, stores);
  if (tir_prove(at->arena, at->env, tir_unary(at->arena, TIR_NOT, cond)))
    return version(at, loop, q, first, false, stores);
  if (2 * tir_count_stores(loop) > stores) return loop;
  const tir_stmt *yes = version(at, loop, q, first, true, stores / 2),
                 *no = version(at, loop, q, first, false, stores / 2);
  if (yes == NULL || no == NULL) return NULL;
  return tir_drop_empty(at->arena, tir_if(at->arena, cond, yes, no));
}

/* Loops around an innermost one ask once for many iterations and stay. */
static const tir_stmt *unswitch(void *user, const tir_stmt *s) {
  const place *at = user;
  questions q = {.is_innermost = s->kind == TIR_FOR};
  if (q.is_innermost) {
    q.var = s->u.loop.var;
    tir_visitor visitor = {.stmt = note_question, .user = &q};
    tir_walk_stmt(s->u.loop.body, &visitor);
  }
  tir_env own;
  place inside = {at->arena, tir_env_inside(at->arena, at->env, s, &own)};
  if (!q.is_innermost) return tir_map_children(at->arena, s, unswitch, &inside);
  int64_t extent;
  bool is_long = !tir_is_int(s->u.loop.extent, &extent) || extent >= LEAST_ITERATIONS;
  return s->u.loop.kind == TIR_SERIAL && is_long ? versions(at, s, &q, 0, MAX_STORES) : s;
}

/* Requires: loops are unrolled. Establishes: few innermost loops ask what no iteration changes. Breaks: nothing; the
 * statements of a loop may stand several times in the function. */
tir_func *tir_pass_unswitch(tir_pass_context *p, tir_func *f) {
  return tir_func_with_body(p, f, unswitch(&(place){p->arena, f->env}, f->body));
}
