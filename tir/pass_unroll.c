/* pass_unroll.c: expands unrolled loops, and serial ones by the attribute auto_unroll_max_step with TVM's rules: a loop
 * is taken when no loop is left inside it, at most 8 levels were unrolled there, and extent * stores stays within the
 * limit. */
#include <inttypes.h>

#include "tir/passes.h"

enum { MAX_AUTO_DEPTH = 8, MAX_COUNTED = 1 << 20 };

/* What was found below a statement. */
typedef struct tally {
  int64_t steps; /* stores and calls, after unrolling; a store whose lanes do not lie in a row is one for each lane */
  int64_t nodes; /* of expressions */
  int depth;     /* levels of unrolled loops */
  int normal_loops; /* levels of loops that stay */
} tally;

enum { MAX_REQUESTS = 64 };

/* An attribute auto_unroll_max_step that names who asked; it may stand in several places. */
typedef struct request {
  const char *of;
  int64_t value;
  bool took_effect;
} request;

/* BELOW is how a visit tells its result, since rewriting callbacks return statements only. */
typedef struct state {
  tir_pass_context *p;
  const tir_env *env;
  int64_t max_step;  /* of the innermost attribute */
  bool leaves_loops; /* unroll_explicit 0: unrolled loops stay loops */
  int64_t taken;     /* loops that were unrolled by max_step */
  tally below;       /* result of the last visit */
  int n_requests;
  request requests[MAX_REQUESTS];
} state;

static const tir_stmt *unroll(void *user, const tir_stmt *s);

/* A child's tally joins its siblings'. */
static void join(tally *all, tally part) {
  all->steps += part.steps;
  all->nodes += part.nodes;
  all->depth = RUNTIME_MAX(all->depth, part.depth);
  all->normal_loops = RUNTIME_MAX(all->normal_loops, part.normal_loops);
}

/* What several parts of a body add up to. */
typedef struct joining {
  state *at;
  tally all;
} joining;

/* The callback of tir_map_children; joins what it found. */
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
static const char *objection(const state *at, const tir_stmt *s, int64_t *extent) {
  int64_t limit = at->p->options.max_unrolled_body;
  if (!tir_is_int(s->u.loop.extent, extent)) return "its extent is not a constant";
  if (*extent > limit / RUNTIME_MAX(at->below.steps, 1)) {
    return runtime_format(at->p->arena, "it would make more than %" PRId64 " statements", limit);
  }
  if (*extent > limit * TIR_ORDINARY_NODES / RUNTIME_MAX(at->below.nodes, 1)) {
    return runtime_format(at->p->arena, "it would make more code than %" PRId64 " statements of %d operations", limit,
                          TIR_ORDINARY_NODES);
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
  tir_env env = tir_env_loop(at->p->arena, outer, s);
  int64_t extent = 0;
  at->env = &env;
  s = tir_with_body(at->p->arena, s, unroll(at, s->u.loop.body));
  at->env = outer;
  if (s == NULL) return NULL;
  const char *why_not = objection(at, s, &extent);
  if (why_not == NULL && (s->u.loop.kind == TIR_UNROLLED || unrolls_by_itself(at, s, extent * at->below.steps))) {
    at->below.steps *= extent;
    at->below.nodes *= extent;
    at->below.depth++;
    at->taken += s->u.loop.kind != TIR_UNROLLED;
    return at->leaves_loops ? tir_for_kind(at->p->arena, s, TIR_UNROLLED) : expand(at, s, extent);
  }
  if (s->u.loop.kind == TIR_UNROLLED && !tir_is_init_loop(s)) {
    runtime_say(at->p->ctx, TN_SEVERITY_WARNING, "the loop \"%s\" is not unrolled: %s", s->u.loop.var->name, why_not);
  }
  at->below.normal_loops++;
  return s;
}

/* Remembers whether what was asked for did anything. */
static void note_request(state *at, const tir_stmt *attr, bool took_effect) {
  int i = 0;
  while (i < at->n_requests && strcmp(at->requests[i].of, attr->u.attr.of) != 0) i++;
  if (i == MAX_REQUESTS) return;
  if (i == at->n_requests) at->requests[at->n_requests++] = (request){attr->u.attr.of, attr->u.attr.value, false};
  at->requests[i].took_effect |= took_effect;
}

/* The limit holds inside and is put back behind it. */
static const tir_stmt *unroll_by_step(state *at, const tir_stmt *s) {
  int64_t outer = at->max_step, taken = at->taken;
  at->max_step = s->u.attr.value;
  const tir_stmt *body = unroll(at, s->u.attr.body);
  at->max_step = outer;
  if (s->u.attr.of != NULL && s->u.attr.value > 0) note_request(at, s, at->taken > taken);
  return body;
}

/* The node stays: it tells the code generator to leave these loops to the compiler behind it. */
static const tir_stmt *unroll_not_explicitly(state *at, const tir_stmt *s) {
  bool outer = at->leaves_loops;
  at->leaves_loops = s->u.attr.value == 0;
  s = tir_with_body(at->p->arena, s, unroll(at, s->u.attr.body));
  at->leaves_loops = outer;
  return s;
}

/* The attribute holds for the loops inside it; nodes of other keys disappear but those that the code
 * generator looks at. */
static const tir_stmt *unroll_attr(state *at, const tir_stmt *s) {
  if (strcmp(s->u.attr.key, "auto_unroll_max_step") == 0) return unroll_by_step(at, s);
  if (strcmp(s->u.attr.key, TIR_UNROLL_EXPLICIT) == 0) return unroll_not_explicitly(at, s);
  const tir_stmt *body = unroll(at, s->u.attr.body);
  bool stays = strncmp(s->u.attr.key, TIR_THREAD_EXTENT, strlen(TIR_THREAD_EXTENT)) == 0 ||
               strcmp(s->u.attr.key, TIR_STAGE) == 0 || strcmp(s->u.attr.key, TIR_STREAM_STORES) == 0 ||
               strcmp(s->u.attr.key, TIR_VARIANT) == 0;
  return stays ? tir_with_body(at->p->arena, s, body) : body;
}

/* Stops at MAX_COUNTED: beyond that no loop is unrolled anyway. */
static tir_walk count_node(void *user, const tir_expr *e) {
  (void)e;
  return ++*(int64_t *)user < MAX_COUNTED ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* TVM counts a vector's store as one step; the lanes of one that scatters become instructions of their own. */
static int64_t steps_of(const tir_stmt *s) {
  if (s->kind != TIR_STORE || s->u.store.n_index == 0) return 1;
  const tir_expr *last = s->u.store.index[s->u.store.n_index - 1];
  return last->lanes == 1 || (last->op == TIR_RAMP && last->u.i == 1) ? 1 : last->lanes;
}

/* Leaves in BELOW what stands there after unrolling. */
static const tir_stmt *unroll(void *user, const tir_stmt *s) {
  state *at = user;
  at->below = (tally){0};
  switch (s->kind) {
    case TIR_FOR: return unroll_for(at, s);
    case TIR_ATTR: return unroll_attr(at, s);
    case TIR_STORE:
    case TIR_CALL:
    case TIR_PREFETCH:
      at->below.steps = steps_of(s);
      tir_walk_stmt(s, &(tir_visitor){.expr = count_node, .user = &at->below.nodes});
      return s;
    case TIR_IF:
    case TIR_ALLOC:
    case TIR_SEQ:
    case TIR_NOP: break;
  }
  return unroll_children(at, s);
}

/* A pragma without effect is mostly a misplaced one, so it is said. */
static void warn_requests(const state *at) {
  for (int i = 0; i < at->n_requests; i++) {
    const request *r = &at->requests[i];
    if (!r->took_effect)
      runtime_say(at->p->ctx, TN_SEVERITY_WARNING,
                  "pragma(%s, auto_unroll_max_step, %" PRId64
                  ") has no effect: no innermost loop inside makes so few statements",
                  r->of, r->value);
  }
}

/* Requires: vectorize, simplify. Establishes: no attributes but those of bound loops, stages and unroll_explicit 0; no
 * unrolled loops but in the latter and those that would grow beyond max_unrolled_body (said as a warning); what was
 * expanded is simplified. Breaks: a variable and an allocation may stand on several paths side by side. */
tir_func *tir_pass_unroll(tir_pass_context *p, tir_func *f) {
  state at = {.p = p, .env = f->env, .max_step = p->options.auto_unroll_max_step};
  const tir_stmt *body = unroll(&at, f->body);
  warn_requests(&at);
  return tir_func_with_body(p, f, body);
}
