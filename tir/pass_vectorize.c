/* pass_vectorize.c: vectorized loops become straight code on vectors. The loop variable is a ramp; what does not depend
 * on it stays scalar until it meets a vector; a condition that depends on it becomes the predicate of the stores and
 * loads under it; an allocation inside gets one copy a lane. */
#include "tir/passes.h"

enum { MIN_CHUNK = 8, LEAST_COUNTED = 16, MAX_COUNTED = 1 << 20, MAX_WIDENED = 8 };

/* A loop whose variable becomes a vector. Widening an expression twice gives the same node, so MEMO belongs to the
 * mask that held then. */
typedef struct widener {
  tir_pass_context *p;
  const tir_env *env;
  const tir_var *var;
  const tir_expr *lane_values; /* what VAR becomes: a ramp */
  int lanes;
  const tir_expr *mask; /* vector condition around, NULL: none */
  tir_memo *memo;       /* widened expressions under this mask */
  const char *why_not;  /* set when the loop cannot be vectorized */
  int n_widened;        /* allocations inside the loop */
  const tir_buffer *from[MAX_WIDENED], *to[MAX_WIDENED];
} widener;

static const tir_expr *widen(widener *w, const tir_expr *e);

/* Keeps the first reason; gives NULL. */
static const tir_stmt *refuse(widener *w, const char *why) {
  if (w->why_not == NULL) w->why_not = why;
  return NULL;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* a +- b with a ramp among them keeps the form of a ramp; NULL: not such a case. */
static const tir_expr *add_ramps(runtime_arena *arena, tir_op op, const tir_expr *a, const tir_expr *b) {
  bool left = a->op == TIR_RAMP, right = b->op == TIR_RAMP;
  if ((!left && !right) || (!left && a->lanes > 1) || (!right && b->lanes > 1)) return NULL;
  int64_t left_stride = left ? a->u.i : 0, right_stride = right ? b->u.i : 0, stride;
  bool overflow = op == TIR_ADD ? __builtin_add_overflow(left_stride, right_stride, &stride)
                                : __builtin_sub_overflow(left_stride, right_stride, &stride);
  if (overflow) return NULL;
  const tir_expr *base = tir_binary(arena, op, left ? a->arg[0] : a, right ? b->arg[0] : b);
  return tir_ramp(arena, base, stride, left ? a->lanes : b->lanes);
}

/* A ramp times a constant. */
static const tir_expr *scale_ramp(runtime_arena *arena, const tir_expr *ramp, const tir_expr *factor) {
  int64_t value, stride;
  if (ramp->op != TIR_RAMP || !tir_is_int(factor, &value)) return NULL;
  if (__builtin_mul_overflow(ramp->u.i, value, &stride)) return NULL;
  const tir_expr *base = tir_binary(arena, TIR_MUL, ramp->arg[0], tir_unbroadcast(factor));
  return tir_ramp(arena, base, stride, ramp->lanes);
}

/* + - and *: ramps stay ramps where they can. */
static const tir_expr *widen_sum(widener *w, const tir_expr *e, const tir_expr *const *args) {
  runtime_arena *arena = w->p->arena;
  const tir_expr *ramp = NULL;
  if (e->op == TIR_MUL) {
    ramp = scale_ramp(arena, args[0], args[1]);
    if (ramp == NULL) ramp = scale_ramp(arena, args[1], args[0]);
  } else {
    ramp = add_ramps(arena, e->op, args[0], args[1]);
  }
  return ramp != NULL ? ramp : tir_with_args(arena, e, args);
}

/* Index bounds relied on 32 bits holding every lane, so a wider ramp has the same values. */
static const tir_expr *widen_cast(widener *w, const tir_expr *e, const tir_expr *a) {
  runtime_arena *arena = w->p->arena;
  if (a->op == TIR_RAMP && e->dtype == TN_I64 && a->dtype == TN_I32) {
    tir_interval first = tir_bounds(w->env, a->arg[0]);
    tir_interval range = tir_dtype_range(TN_I32);
    int64_t last = a->u.i * (a->lanes - 1);
    if (first.lo + RUNTIME_MIN(last, 0) >= range.lo && first.hi <= range.hi - RUNTIME_MAX(last, 0)) {
      return tir_ramp(arena, tir_cast(arena, TN_I64, a->arg[0]), a->u.i, a->lanes);
    }
  }
  return tir_with_args(arena, e, &a);
}

/* The buffer's copy with one element a lane, or NULL. */
static const tir_buffer *widened_buffer(const widener *w, const tir_buffer *buffer) {
  for (int i = w->n_widened - 1; i >= 0; i--) {
    if (w->from[i] == buffer) return w->to[i];
  }
  return NULL;
}

/* index * lanes + lane. */
static const tir_expr *lane_index(widener *w, const tir_expr *index) {
  runtime_arena *arena = w->p->arena;
  tn_dtype dtype = index->dtype;
  const tir_expr *scale = tir_int(arena, dtype, w->lanes);
  if (index->lanes == 1) return tir_ramp(arena, tir_binary(arena, TIR_MUL, index, scale), 1, w->lanes);
  return tir_binary(arena, TIR_ADD, tir_binary(arena, TIR_MUL, index, scale),
                    tir_ramp(arena, tir_int(arena, dtype, 0), 1, w->lanes));
}

/* Whether the element exists for every iteration, whatever the mask says. */
static bool stays_inside(widener *w, const tir_buffer *buffer, const tir_expr *index) {
  tir_interval r = tir_bounds(w->env, index);
  return r.lo >= 0 && r.hi < buffer->shape[0];
}

/* The conjunction of two conditions, either of which may be absent (NULL). */
static const tir_expr *both(runtime_arena *arena, const tir_expr *a, const tir_expr *b) {
  return a == NULL ? b : b == NULL ? a : tir_binary(arena, TIR_AND, a, b);
}

/* Whether all lanes may be loaded although a mask guards them: a tile in registers, which masked loads would keep in memory. What the
 * lanes that are off have is thrown away; no operation on a float minds it. */
static bool needs_no_mask(widener *w, const tir_buffer *buffer, const tir_expr *index) {
  bool is_tile = buffer->scope != NULL && strcmp(buffer->scope, "local") == 0 && buffer->size[0] == NULL;
  return is_tile && tn_dtype_is_float(buffer->dtype) && stays_inside(w, buffer, index);
}

/* A load whose index is the same for all lanes stays scalar, unless only the mask keeps it inside its buffer. */
static const tir_expr *widen_load(widener *w, const tir_expr *e, const tir_expr *const *args) {
  const tir_buffer *buffer = e->u.buffer, *copy = widened_buffer(w, buffer);
  const tir_expr *index = args[0], *predicate = e->has_predicate ? args[1] : NULL;
  if (copy != NULL) index = lane_index(w, index), buffer = copy;
  if (index == NULL) return NULL;
  bool scalar = index->lanes == 1 && (predicate == NULL || predicate->lanes == 1);
  if (scalar && (w->mask == NULL || stays_inside(w, buffer, index))) return tir_with_args(w->p->arena, e, args);
  const tir_expr *mask = w->mask == NULL || needs_no_mask(w, buffer, index) ? NULL : w->mask;
  return tir_load(w->p->arena, buffer, 1, &index, both(w->p->arena, mask, predicate));
}

/* Other nodes become vectors by having vector arguments; the constructors broadcast the rest. */
static const tir_expr *widen_node(widener *w, const tir_expr *e) {
  const tir_expr *args[TN_MAX_RANK + 1] = {NULL};
  if (e->n_args > RUNTIME_COUNT(args)) return NULL;
  for (int i = 0; i < e->n_args; i++) {
    if ((args[i] = widen(w, e->arg[i])) == NULL) return NULL;
  }
  tir_class class = tir_class_of(e);
  if (class == TIR_CLASS_SUM) return widen_sum(w, e, args);
  if (class == TIR_CLASS_CAST) return widen_cast(w, e, args[0]);
  return class == TIR_CLASS_LOAD ? widen_load(w, e, args) : tir_with_args(w->p->arena, e, args);
}

/* A vector where E depends on the loop variable, else E, a scalar. */
static const tir_expr *widen(widener *w, const tir_expr *e) {
  if (e->op == TIR_VAR && e->u.var == w->var) return w->lane_values;
  if (e->n_args == 0) return e;
  const tir_expr *result = tir_memo_get(w->memo, e);
  if (result != NULL) return result;
  result = widen_node(w, e);
  if (result != NULL) tir_memo_put(w->memo, e, result);
  return result;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static const tir_stmt *widen_stmt(void *user, const tir_stmt *s);

/* Under the mask; the lanes must go to different elements. */
static const tir_stmt *widen_store(widener *w, const tir_stmt *s) {
  runtime_arena *arena = w->p->arena;
  if (s->u.store.index[0]->lanes > 1) return refuse(w, "there are vectors inside it already");
  const tir_buffer *buffer = s->u.store.buffer, *copy = widened_buffer(w, buffer);
  const tir_expr *index = widen(w, s->u.store.index[0]), *value = widen(w, s->u.store.value), *predicate = NULL;
  if (index == NULL || value == NULL) return NULL;
  if (s->u.store.predicate != NULL && (predicate = widen(w, s->u.store.predicate)) == NULL) return NULL;
  predicate = both(arena, w->mask, predicate);
  if (copy != NULL) index = lane_index(w, index), buffer = copy;
  if (index == NULL) return NULL;
  if (index->lanes == 1 && (value->lanes > 1 || (predicate != NULL && predicate->lanes > 1))) {
    return refuse(w, "all its iterations store to one element");
  }
  return tir_store(arena, buffer, 1, &index, value, predicate);
}

/* Results are not remembered beyond a scope: whether a load stays inside its buffer was answered for that scope. */
static const tir_stmt *widen_under_env(widener *w, tir_env env, const tir_stmt *s) {
  const tir_env *outer = w->env;
  tir_memo memo, *outer_memo = w->memo;
  tir_memo_init(&memo);
  w->env = &env;
  w->memo = &memo;
  s = widen_stmt(w, s);
  w->memo = outer_memo;
  w->env = outer;
  return tir_memo_end_for(w->p->arena, &memo) ? s : NULL;
}

/* The statement where MASK holds, too. */
static const tir_stmt *widen_under_mask(widener *w, const tir_expr *mask, const tir_stmt *s) {
  const tir_expr *outer_mask = w->mask;
  tir_memo memo, *outer_memo = w->memo;
  tir_memo_init(&memo);
  w->mask = both(w->p->arena, outer_mask, mask);
  w->memo = &memo;
  s = mask != NULL && w->mask != NULL ? widen_stmt(w, s) : NULL;
  w->memo = outer_memo;
  w->mask = outer_mask;
  return tir_memo_end_for(w->p->arena, &memo) ? s : NULL;
}

/* Splits the condition into the part that is the same for all lanes and the mask; either may be NULL. */
static bool split_cond(widener *w, const tir_expr *cond, const tir_expr **scalar, const tir_expr **mask) {
  tir_conds conds = {0};
  if (!tir_conds_add(&conds, cond)) conds = (tir_conds){1, {cond}};
  for (int i = 0; i < conds.n; i++) {
    const tir_expr *wide = widen(w, conds.item[i]);
    if (wide == NULL) return false;
    const tir_expr **part = wide->lanes == 1 ? scalar : mask;
    if ((*part = both(w->p->arena, *part, wide)) == NULL) return false;
  }
  return true;
}

/* Both bodies, one after the other, under the condition and its opposite. */
static const tir_stmt *widen_masked_else(widener *w, const tir_expr *cond, const tir_stmt *s) {
  const tir_stmt *parts[2] = {
      widen_under_mask(w, cond, s->u.branch.then_body),
      widen_under_mask(w, tir_unary(w->p->arena, TIR_NOT, cond), s->u.branch.else_body),
  };
  return tir_seq(w->p->arena, 2, parts);
}

/* A condition that is the same for all lanes stays a branch, any other becomes part of the mask. */
static const tir_stmt *widen_branch(widener *w, const tir_stmt *s) {
  runtime_arena *arena = w->p->arena;
  const tir_expr *scalar = NULL, *mask = NULL;
  if (!split_cond(w, s->u.branch.cond, &scalar, &mask)) return NULL;
  if (mask == NULL) {
    const tir_stmt *then_body = widen_under_env(w, tir_env_cond(w->env, scalar), s->u.branch.then_body);
    const tir_stmt *else_body = s->u.branch.else_body != NULL ? widen_stmt(w, s->u.branch.else_body) : NULL;
    if (s->u.branch.else_body != NULL && else_body == NULL) return NULL;
    return tir_if(arena, scalar, then_body, else_body);
  }
  if (tir_reads_memory(s->u.branch.cond)) return refuse(w, "a condition inside it reads memory");
  if (s->u.branch.else_body != NULL) return widen_masked_else(w, widen(w, s->u.branch.cond), s);
  if (scalar == NULL) return widen_under_mask(w, mask, s->u.branch.then_body);
  tir_env env = tir_env_cond(w->env, scalar);
  const tir_env *outer = w->env;
  w->env = &env;
  const tir_stmt *body = widen_under_mask(w, mask, s->u.branch.then_body);
  w->env = outer;
  return tir_if(arena, scalar, body, NULL);
}

/* A loop inside stays one; its body is widened. */
static const tir_stmt *widen_for(widener *w, const tir_stmt *s) {
  const tir_expr *min = widen(w, s->u.loop.min), *extent = widen(w, s->u.loop.extent);
  if (min == NULL || extent == NULL) return NULL;
  if (min->lanes > 1 || extent->lanes > 1) return refuse(w, "the bounds of a loop inside it depend on it");
  tir_env env = tir_env_loop(w->p->arena, w->env, s);
  return tir_for_with(w->p->arena, s, min, extent, widen_under_env(w, env, s->u.loop.body));
}

/* One copy of the buffer a lane, lanes innermost. */
static const tir_stmt *widen_alloc(widener *w, const tir_stmt *s) {
  if (w->n_widened == MAX_WIDENED) return refuse(w, "it has too many allocations inside");
  tir_buffer *copy = runtime_copy(w->p->arena, s->u.alloc.buffer, sizeof *copy);
  if (copy == NULL) return NULL;
  if (copy->size[0] != NULL)
    copy->size[0] =
        tir_binary(w->p->arena, TIR_MUL, copy->size[0], tir_int(w->p->arena, copy->size[0]->dtype, w->lanes));
  else
    copy->shape[0] *= w->lanes;
  w->from[w->n_widened] = s->u.alloc.buffer;
  w->to[w->n_widened++] = copy;
  const tir_stmt *body = widen_stmt(w, s->u.alloc.body);
  w->n_widened--;
  return tir_alloc(w->p->arena, copy, body);
}

/* An expression at the loop's first iteration. */
typedef struct first_lane {
  runtime_arena *arena;
  tir_binding binding;
} first_lane;

/* VAR at the lane's base: one cache line is asked for, not one for each lane. */
static const tir_expr *at_first_lane(void *user, const tir_expr *e) {
  const first_lane *x = user;
  return tir_substitute(x->arena, e, 1, &x->binding);
}

/* What the first lane asks for; a buffer that the lanes have copies of is in the cache. */
static const tir_stmt *widen_prefetch(widener *w, const tir_stmt *s) {
  first_lane x = {w->p->arena, {w->var, w->lane_values->arg[0]}};
  if (widened_buffer(w, s->u.prefetch.buffer) != NULL) return tir_nop(w->p->arena);
  return tir_map_exprs(w->p->arena, s, at_first_lane, &x);
}

/* Attributes and sequences have no lanes of their own. */
static const tir_stmt *widen_stmt(void *user, const tir_stmt *s) {
  widener *w = user;
  switch (s->kind) {
    case TIR_STORE: return widen_store(w, s);
    case TIR_IF: return widen_branch(w, s);
    case TIR_FOR: return widen_for(w, s);
    case TIR_ALLOC: return widen_alloc(w, s);
    case TIR_CALL: return refuse(w, "it calls a function");
    case TIR_PREFETCH: return widen_prefetch(w, s);
    case TIR_SEQ:
    case TIR_ATTR:
    case TIR_NOP: break;
  }
  return tir_map_children(w->p->arena, s, widen_stmt, w);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* The scope of the walk outside of vectorized loops. */
typedef struct state {
  tir_pass_context *p;
  const tir_env *env;
} state;

/* The body for LANES iterations from BASE at once. NULL: *why_not, or no memory. */
static const tir_stmt *widen_chunk(state *at, const tir_env *env, const tir_stmt *loop, const tir_expr *base, int lanes,
                                   const char **why_not) {
  tir_memo memo;
  tir_memo_init(&memo);
  widener w = {.p = at->p, .env = env, .var = loop->u.loop.var, .lanes = lanes, .memo = &memo};
  w.lane_values = tir_ramp(at->p->arena, base, 1, lanes);
  const tir_stmt *body = w.lane_values != NULL ? widen_stmt(&w, loop->u.loop.body) : NULL;
  if (!tir_memo_end_for(at->p->arena, &memo)) body = NULL;
  *why_not = w.why_not;
  return body != NULL ? tir_simplify_stmt(at->p->arena, env, NULL, body) : NULL;
}

int tir_chunk_lanes(int64_t extent) {
  if (extent <= TIR_MAX_LANES) return (int)extent;
  for (int lanes = TIR_MAX_LANES; lanes >= MIN_CHUNK; lanes--) {
    if (extent % lanes == 0) return lanes;
  }
  return TIR_MAX_LANES;
}

/* Of an expression: VAR occurs, and others do. */
typedef struct variables {
  const tir_var *var;
  bool has_var, has_others;
} variables;

static tir_walk count_variable(void *user, const tir_expr *e) {
  variables *v = user;
  if (e->op == TIR_LOAD) v->has_others = true;
  if (e->op == TIR_VAR) *(e->u.var == v->var ? &v->has_var : &v->has_others) = true;
  return TIR_WALK_ON;
}

/* A vector of integers that takes other lanes' places behind a border, which depends on VAR alone. */
static tir_walk find_border(void *user, const tir_expr *e) {
  variables *found = user, v = {.var = found->var};
  tir_class class = tir_class_of(e);
  bool is_choice = e->op == TIR_SELECT || class == TIR_CLASS_EXTREMUM || class == TIR_CLASS_DIVISION;
  if (!is_choice || e->lanes == 1 || tn_dtype_is_float((tn_dtype)e->dtype)) return TIR_WALK_ON;
  tir_walk_expr(e, count_variable, &v);
  found->has_var |= v.has_var && !v.has_others;
  return TIR_WALK_ON;
}

/* Few chunks of which some touch a border are written out: then it is known where in them it lies, and the others do without. */
static tir_loop_kind kind_of_chunks(const tir_stmt *body, const tir_var *var, int64_t n) {
  enum { MOST = 8 };
  variables found = {.var = var};
  if (body != NULL && n <= MOST) tir_walk_stmt(body, &(tir_visitor){.expr = find_border, .user = &found});
  return found.has_var ? TIR_UNROLLED : TIR_SERIAL;
}

/* A loop over chunks of LANES iterations. */
static const tir_stmt *chunk_loop(state *at, const tir_stmt *loop, int64_t n, int lanes, const char **why_not) {
  runtime_arena *arena = at->p->arena;
  tn_dtype dtype = loop->u.loop.var->dtype;
  tir_var *var = RUNTIME_NEW(arena, tir_var);
  if (var == NULL) return NULL;
  *var = (tir_var){runtime_format(arena, "%s.chunk", loop->u.loop.var->name), dtype};
  tir_env env = {.outer = at->env, .var = var, .range = {0, n - 1}};
  const tir_expr *start = tir_binary(arena, TIR_MUL, tir_var_expr(arena, var), tir_int(arena, dtype, lanes));
  const tir_expr *base = tir_binary(arena, TIR_ADD, start, loop->u.loop.min);
  if (base == NULL) return NULL;
  const tir_stmt *body = widen_chunk(at, &env, loop, base, lanes, why_not);
  return tir_for(arena, var, tir_int(arena, dtype, 0), tir_int(arena, dtype, n), kind_of_chunks(body, var, n), body);
}

/* Stops at MAX_COUNTED: how much larger than that an expression is does not matter. */
static tir_walk count_node(void *user, const tir_expr *e) {
  (void)e;
  return ++*(int64_t *)user < MAX_COUNTED ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* Fewer lanes where the body is so long that LLVM would take very long: its time is quadratic in straight code. 0: even
 * LEAST_COUNTED are too many. */
static int limit_lanes(const state *at, const tir_stmt *loop, int lanes) {
  int64_t nodes = 0, most = at->p->options.max_unrolled_body * TIR_ORDINARY_NODES;
  tir_walk_stmt(loop->u.loop.body, &(tir_visitor){.expr = count_node, .user = &nodes});
  while (lanes > LEAST_COUNTED && nodes * lanes > most) lanes = RUNTIME_MAX(lanes / 2, LEAST_COUNTED);
  return nodes * LEAST_COUNTED > most ? 0 : lanes;
}

/* All iterations at once, or chunks of them and a rest. */
static const tir_stmt *vectorize_loop(state *at, const tir_stmt *loop, int64_t extent, const char **why_not) {
  runtime_arena *arena = at->p->arena;
  int lanes = limit_lanes(at, loop, tir_chunk_lanes(extent));
  if (lanes == 0) {
    *why_not = "its body is so long that vectors of it would take LLVM minutes: split it into several stages";
    return NULL;
  }
  int64_t chunks = extent / lanes, rest = extent % lanes;
  const tir_stmt *parts[2] = {NULL, tir_nop(arena)};
  parts[0] = chunks == 1 ? widen_chunk(at, at->env, loop, loop->u.loop.min, lanes, why_not)
                         : chunk_loop(at, loop, chunks, lanes, why_not);
  if (parts[0] != NULL && rest > 0) {
    const tir_expr *done = tir_int(arena, loop->u.loop.var->dtype, chunks * lanes);
    const tir_expr *base = tir_binary(arena, TIR_ADD, loop->u.loop.min, done);
    parts[1] = base != NULL ? widen_chunk(at, at->env, loop, base, (int)rest, why_not) : NULL;
  }
  return tir_seq(arena, 2, parts);
}

/* A loop that cannot be widened runs serially, which is said except for the init of a reduction, whose
 * loop the user did not write. */
static const tir_stmt *vectorize(void *user, const tir_stmt *s) {
  state *at = user, inner = *at;
  runtime_arena *arena = at->p->arena;
  tir_env env;
  int64_t extent;
  if (s->kind == TIR_FOR && s->u.loop.kind == TIR_VECTORIZED && tir_is_int(s->u.loop.extent, &extent)) {
    const char *why_not = NULL;
    const tir_stmt *result = vectorize_loop(at, s, extent, &why_not);
    if (result != NULL || why_not == NULL) return result;
    if (!tir_is_init_loop(s))
      runtime_say(at->p->ctx, TN_SEVERITY_WARNING, "the vectorized loop \"%s\" runs serially: %s", s->u.loop.var->name,
                  why_not);
    return tir_for_kind(arena, s, TIR_SERIAL);
  }
  inner.env = tir_env_inside(arena, at->env, s, &env);
  return tir_map_children(arena, s, vectorize, &inner);
}

/* Requires: loop_kinds, flatten (one index a buffer), simplify. Establishes: no vectorized loop; at most 64 lanes;
 * accesses that a lane's condition guards are predicated. Breaks: nothing. */
tir_func *tir_pass_vectorize(tir_pass_context *p, tir_func *f) {
  state at = {.p = p, .env = f->env};
  return tir_func_with_body(p, f, vectorize(&at, f->body));
}
