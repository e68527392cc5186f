/* pass_unroll.c: expands unrolled loops, and serial ones by the attribute auto_unroll_max_step with TVM's rules: a loop
 * is taken when no loop is left inside it, at most 8 levels were unrolled there, and extent * stores stays within the
 * limit. */
#include <inttypes.h>

#include "tir/passes.h"

enum { MAX_AUTO_DEPTH = 8 };

/* What was found below a statement. */
typedef struct tally {
  int64_t steps;    /* stores, after unrolling */
  int depth;        /* levels of unrolled loops */
  int normal_loops; /* levels of loops that stay */
} tally;

typedef struct state {
  tir_pass_context *p;
  const tir_env *env;
  int64_t max_step; /* of the innermost attribute */
  tally below;      /* result of the last visit */
} state;

static const tir_stmt *unroll(void *user, const tir_stmt *s);

/* A child's tally joins its siblings'. */
static void join(tally *all, tally part) {
  all->steps += part.steps;
  all->depth = RUNTIME_MAX(all->depth, part.depth);
  all->normal_loops = RUNTIME_MAX(all->normal_loops, part.normal_loops);
}

typedef struct joining {
  state *at;
  tally all;
} joining;

static const tir_stmt *unroll_child(void *user, const tir_stmt *s) {
  joining *j = user;
  s = unroll(j->at, s);
  join(&j->all, j->at->below);
  return s;
}

/* Statements side by side: steps add up, levels are the deepest. */
static const tir_stmt *unroll_children(state *at, const tir_stmt *s) {
  joining j = {at, {0}};
  s = tir_map_children(at->p->arena, s, unroll_child, &j);
  at->below = j.all;
  return s;
}

/* The body once for each iteration, simplified. */
static const tir_stmt *expand(state *at, const tir_stmt *loop, int64_t extent) {
  runtime_arena *arena = at->p->arena;
  const tir_stmt **copies = RUNTIME_NEW_ARRAY(arena, const tir_stmt *, extent + 1);
  if (copies == NULL) return NULL;
  for (int64_t i = 0; i < extent; i++) {
    const tir_expr *value = tir_int(arena, loop->u.loop.var->dtype, i);
    tir_binding binding = {loop->u.loop.var, tir_binary(arena, TIR_ADD, loop->u.loop.min, value)};
    if (binding.value == NULL) return NULL;
    copies[i] = tir_simplify_stmt(arena, at->env, &binding, loop->u.loop.body);
  }
  return tir_seq(arena, (int)extent, copies);
}

/* Why a loop marked as unrolled stays one, or NULL. */
static const char *objection(const state *at, const tir_stmt *s, int64_t *extent, int64_t *steps) {
  if (!tir_is_int(s->u.loop.extent, extent)) return "its extent is not a constant";
  if (__builtin_mul_overflow(*extent, RUNTIME_MAX(at->below.steps, 1), steps) ||
      *steps > at->p->options.max_unrolled_body) {
    return runtime_format(at->p->arena, "it would make more than %" PRId64 " statements",
                          at->p->options.max_unrolled_body);
  }
  return NULL;
}

/* TVM's rule for loops that nobody marked. */
static bool unrolls_by_itself(const state *at, const tir_stmt *s, int64_t steps) {
  return s->u.loop.kind == TIR_SERIAL && at->max_step > 0 && at->below.normal_loops == 0 &&
         at->below.depth <= MAX_AUTO_DEPTH && steps <= at->max_step;
}

/* Inner loops first: whether a loop is taken depends on what is left inside it. */
static const tir_stmt *unroll_for(state *at, const tir_stmt *s) {
  const tir_env *outer = at->env;
  tir_env env = tir_env_loop(outer, s);
  int64_t extent = 0, steps = 0;
  at->env = &env;
  s = tir_with_body(at->p->arena, s, unroll(at, s->u.loop.body));
  at->env = outer;
  if (s == NULL) return NULL;
  const char *why_not = objection(at, s, &extent, &steps);
  if (s->u.loop.kind == TIR_UNROLLED ? why_not == NULL : why_not == NULL && unrolls_by_itself(at, s, steps)) {
    at->below.steps = steps;
    at->below.depth++;
    return expand(at, s, extent);
  }
  if (s->u.loop.kind == TIR_UNROLLED) {
    runtime_say(at->p->ctx, TN_SEVERITY_WARNING, "the loop \"%s\" is not unrolled: %s", s->u.loop.var->name, why_not);
  }
  at->below.normal_loops++;
  return s;
}

/* The attribute holds for the loops inside it; nodes of any key disappear but those of bound loops and stages. */
static const tir_stmt *unroll_attr(state *at, const tir_stmt *s) {
  int64_t outer = at->max_step;
  if (strcmp(s->u.attr.key, "auto_unroll_max_step") == 0) at->max_step = s->u.attr.value;
  const tir_stmt *body = unroll(at, s->u.attr.body);
  at->max_step = outer;
  bool is_bind = strncmp(s->u.attr.key, TIR_THREAD_EXTENT, strlen(TIR_THREAD_EXTENT)) == 0;
  return is_bind || strcmp(s->u.attr.key, TIR_STAGE) == 0 ? tir_with_body(at->p->arena, s, body) : body;
}

static const tir_stmt *unroll(void *user, const tir_stmt *s) {
  state *at = user;
  at->below = (tally){0};
  switch (s->kind) {
    case TIR_FOR:
      return unroll_for(at, s);
    case TIR_ATTR:
      return unroll_attr(at, s);
    case TIR_STORE:
      at->below.steps = 1;
      return s;
    case TIR_IF:
    case TIR_ALLOC:
    case TIR_SEQ:
    case TIR_NOP:
      break;
  }
  return unroll_children(at, s);
}

/* Requires: vectorize, simplify. Establishes: no attributes but those of bound loops and stages; no unrolled loops but those that would grow beyond
 * max_unrolled_body (said as a warning); what was expanded is simplified. Breaks: a variable and an allocation may
 * stand on several paths side by side. */
tir_func *tir_pass_unroll(tir_pass_context *p, tir_func *f) {
  state at = {.p = p, .env = f->env, .max_step = p->options.auto_unroll_max_step};
  return tir_func_with_body(p, f, unroll(&at, f->body));
}
