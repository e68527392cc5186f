/* touch_walk.c: the walk over loop IR that collects what every store does (touch.h). */
#include "schedule/touch.h"

/* The ALLOCs around the point where the walk stands, on the walk's own stack, innermost first. */
typedef struct alloc_scope {
  const struct alloc_scope *outer;
  const tir_buffer *buffer;
  int depth;
  double outer_prod;
} alloc_scope;

/* Where the walk stands. */
typedef struct walk_state {
  touch_program *program;
  const tir_env *env;
  const alloc_scope *allocs;
  int depth;
  touch_loop loops[TOUCH_MAX_LOOPS];
  double outer_prod;
  int64_t auto_unroll;
  int instruction_depth; /* TOUCH_MAX_LOOPS: not inside of one */
  int guards;
  double guard_prod;
} walk_state;

/* ---- operations of a value --------------------------------------------------------------------------------------- */

typedef enum math_class { MAD, ADDSUB, MUL, DIVMOD, CMP, MATHFUNC, OTHERFUNC, MATH_CLASSES } math_class;

static bool is_product(const tir_expr *e, const tir_expr *sum) { return e->op == TIR_MUL && e->dtype == sum->dtype; }

/* A sum with a product below is one multiply-add; the product itself, which the walk meets too, is taken back. */
static math_class class_of_sum(const tir_expr *e, double *math) {
  if (!is_product(e->arg[0], e) && !is_product(e->arg[1], e)) return ADDSUB;
  math[MUL] -= e->lanes;
  return MAD;
}

/* MATH_CLASSES: the operation has no entry among the features of TVM. */
static math_class class_of(const tir_expr *e, double *math) {
  switch (tir_class_of(e)) {
    case TIR_CLASS_SUM: return e->op == TIR_MUL ? MUL : class_of_sum(e, math);
    case TIR_CLASS_RATIO:
    case TIR_CLASS_DIVISION: return DIVMOD;
    case TIR_CLASS_EXTREMUM:
    case TIR_CLASS_COMPARISON: return CMP;
    case TIR_CLASS_MATH: return MATHFUNC;
    case TIR_CLASS_MAGNITUDE:
    case TIR_CLASS_BITS:
    case TIR_CLASS_SHIFT:
    case TIR_CLASS_COUNT:
    case TIR_CLASS_TEST: return OTHERFUNC;
    case TIR_CLASS_CONSTANT:
    case TIR_CLASS_VARIABLE:
    case TIR_CLASS_TENSOR:
    case TIR_CLASS_LOAD:
    case TIR_CLASS_LOGIC:
    case TIR_CLASS_SELECT:
    case TIR_CLASS_CAST:
    case TIR_CLASS_RAMP:
    case TIR_CLASS_BROADCAST:
    case TIR_CLASS_DOT: break;
  }
  return MATH_CLASSES;
}

/* A multiply-add for each product. */
static void count_dot(touch_store *store, const tir_expr *e) {
  store->math[e->dtype == TN_F32 ? TOUCH_float_mad : TOUCH_int_mad] += e->arg[1]->lanes;
}

/* Lanes count one by one: a vector addition of 8 is eight additions. */
static void count_operation(touch_store *store, const tir_expr *e) {
  if (e->op == TIR_DOT) count_dot(store, e);
  if (e->op == TIR_SELECT) store->math[TOUCH_select_op] += e->lanes;
  if (tir_class_of(e) == TIR_CLASS_LOGIC) store->math[TOUCH_bool_op] += e->lanes;
  if (e->n_args == 0) return;
  double *math = store->math + (runtime_is_float(e->arg[0]->dtype) ? TOUCH_float_mad : TOUCH_int_mad);
  math_class class = class_of(e, math);
  if (class != MATH_CLASSES) math[class] += e->lanes;
}

/* Loads on both sides of a select count: which side runs is not known here. */
static tir_walk visit_value(void *user, const tir_expr *e) {
  walk_state *w = user;
  touch_store *store = &w->program->stores[w->program->n_stores];
  count_operation(store, e);
  if (e->op == TIR_LOAD) touch_access(w->program, w->env, e->u.buffer, tir_n_index(e), e->arg, false);
  return TIR_WALK_ON;
}

static bool is_constant(const tir_expr *value) { return !tir_has_op(value, TIR_LOAD) && !tir_has_op(value, TIR_VAR); }

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* NULL for arguments of the kernel, which no statement allocates. */
static const alloc_scope *find_alloc(const walk_state *w, const tir_buffer *buffer) {
  const alloc_scope *scope = w->allocs;
  while (scope && scope->buffer != buffer) scope = scope->outer;
  return scope;
}

/* A buffer that no ALLOC around the store makes is a parameter: depth 0, made once. */
static void find_allocs(const walk_state *w, touch_store *store) {
  for (int i = 0; i < store->n_touched; ++i) {
    const alloc_scope *scope = find_alloc(w, store->touched[i].buffer);
    store->touched[i].alloc_depth = scope ? scope->depth : 0;
    if (i == 0) store->alloc_outer_prod = scope ? scope->outer_prod : 1;
  }
}

/* The store to be looked at, without what it touches; VALUE NULL: a call's. NULL: there are too many. */
static touch_store *begin_store(walk_state *w, const tir_buffer *buffer, const tir_expr *value) {
  touch_program *p = w->program;
  if (p->n_stores == TOUCH_MAX_STORES) {
    p->is_cut = true;
    return NULL;
  }
  touch_store *store = &p->stores[p->n_stores];
  store->buffer = buffer;
  store->value = value;
  store->is_constant = value && is_constant(value);
  store->depth = w->depth;
  memcpy(store->loops, w->loops, sizeof *w->loops * (size_t)w->depth);
  store->outer_prod = w->outer_prod;
  store->auto_unroll = w->auto_unroll;
  store->instruction_depth = RUNTIME_MIN(w->instruction_depth, w->depth);
  store->guards = w->guards;
  store->guard_prod = w->guard_prod;
  store->n_touched = 0;
  store->touched = p->touched + p->n_touched;
  memset(store->math, 0, sizeof store->math);
  return store;
}

/* Only here the store counts: one that was begun and given up leaves no trace. */
static void end_store(walk_state *w, touch_store *store) {
  find_allocs(w, store);
  touch_finish(w->program);
  ++w->program->n_stores;
}

/* Multiply-adds are found by taking products back (class_of_sum), and shared products are met once for
 * each use. So a count can fall below 0, and is cut there. */
static void visit_store(walk_state *w, const tir_stmt *s) {
  touch_program *p = w->program;
  touch_store *store = begin_store(w, s->u.store.buffer, s->u.store.value);
  if (!store) return;
  touch_access(p, w->env, store->buffer, s->u.store.n_index, s->u.store.index, true);
  if (store->n_touched == 0) return; /* no room: the store is left out */
  tir_walk_expr(s->u.store.value, visit_value, w);
  for (int i = 0; i < TOUCH_N_MATH; ++i) store->math[i] = RUNTIME_MAX(store->math[i], 0);
  end_store(w, store);
}

/* The first and the last element of a box. */
static void touch_box(walk_state *w, const tir_operand *o, bool is_write) {
  runtime_arena arena = {0};
  const tir_expr *last[TN_MAX_RANK];
  bool ok = true;
  for (int d = 0; d < o->n_index; ++d) {
    const tir_expr *span = tir_int(&arena, (tn_dtype)o->index[d]->dtype, o->span[d] - 1);
    ok &= (last[d] = tir_binary(&arena, TIR_ADD, o->index[d], span)) != NULL;
  }
  touch_access(w->program, w->env, o->buffer, o->n_index, o->index, is_write);
  if (ok) touch_access(w->program, w->env, o->buffer, o->n_index, last, is_write);
  runtime_arena_free(&arena);
}

/* A call is a store to each buffer it writes, of what it reads; its operations are not known. */
static void visit_call(walk_state *w, const tir_stmt *s) {
  const tir_operand *operands = s->u.call.operands;
  for (int i = 0; i < s->u.call.n; ++i) {
    if (operands[i].access != TIR_WRITES && operands[i].access != TIR_UPDATES) continue;
    touch_store *store = begin_store(w, operands[i].buffer, NULL);
    if (!store) return;
    touch_box(w, &operands[i], true);
    if (store->n_touched == 0) continue;
    for (int k = 0; k < s->u.call.n; ++k)
      if (operands[k].access == TIR_READS || operands[k].access == TIR_UPDATES) touch_box(w, &operands[k], false);
    end_store(w, store);
  }
}

static void visit(walk_state *w, const tir_stmt *s);

/* False: no loop of the features, of extent 1 or too deep. Its iterations still count in outer_prod.
 * Ids beyond the table share its last entry, which then holds bytes of several loops. */
static bool enter_loop(walk_state *w, const tir_stmt *s, int64_t min, int64_t extent, tir_env *env) {
  if (extent <= 1 || w->depth == TOUCH_MAX_LOOPS) return false;
  int id = RUNTIME_MIN(w->program->n_loop_ids, RUNTIME_COUNT(w->program->loop_bytes) - 1);
  w->program->loop_bytes[id] = 0;
  w->program->n_loop_ids = id + 1;
  w->loops[w->depth++] =
      (touch_loop){s->u.loop.var, (double)min, (double)extent, s->u.loop.kind, s->u.loop.peel, id, env};
  return true;
}

/* The most iterations a loop can have, and its first value; 1 and 0 where nothing is known. */
static void loop_range(const walk_state *w, const tir_stmt *s, int64_t *min, int64_t *extent) {
  if (!tir_is_int(s->u.loop.min, min)) *min = tir_bounds(w->env, s->u.loop.min).lo;
  if (!tir_is_int(s->u.loop.extent, extent)) *extent = tir_bounds(w->env, s->u.loop.extent).hi;
  if (*min < INT32_MIN || *min > INT32_MAX) *min = 0;
  if (*extent < 1 || *extent > INT64_MAX / 2) *extent = 1;
}

/* The loop's range goes into ENV and the product of extents grows, both for the body only. */
static void visit_for(walk_state *w, const tir_stmt *s) {
  int64_t min, extent;
  loop_range(w, s, &min, &extent);
  const tir_env *outer_env = w->env;
  tir_env env = {.outer = outer_env, .var = s->u.loop.var, .range = {min, min + extent - 1}};
  double outer_prod = w->outer_prod;
  bool entered = enter_loop(w, s, min, extent, &env);
  w->env = &env;
  w->outer_prod *= (double)extent;
  visit(w, s->u.loop.body);
  w->depth -= entered;
  w->outer_prod = outer_prod;
  w->env = outer_env;
}

/* Both branches count as always taken: how often a condition holds is not known here. */
static void visit_if(walk_state *w, const tir_stmt *s) {
  double guard_prod = w->guard_prod;
  ++w->guards;
  w->guard_prod = w->outer_prod;
  visit(w, s->u.branch.then_body);
  if (s->u.branch.else_body) visit(w, s->u.branch.else_body);
  w->guard_prod = guard_prod;
  --w->guards;
}

/* What is allocated deep inside loops is allocated that many times. */
static void visit_alloc(walk_state *w, const tir_stmt *s) {
  alloc_scope scope = {w->allocs, s->u.alloc.buffer, w->depth, w->outer_prod};
  w->allocs = &scope;
  visit(w, s->u.alloc.body);
  w->allocs = scope.outer;
}

/* Hints hold for the body. Below a tensorized one the innermost loops are one instruction. */
static void visit_attr(walk_state *w, const tir_stmt *s) {
  int64_t outer = w->auto_unroll;
  int outer_depth = w->instruction_depth;
  if (strcmp(s->u.attr.key, "auto_unroll_max_step") == 0) w->auto_unroll = s->u.attr.value;
  if (strncmp(s->u.attr.key, TIR_TENSORIZE, strlen(TIR_TENSORIZE)) == 0)
    w->instruction_depth = RUNTIME_MIN(outer_depth, w->depth);
  visit(w, s->u.attr.body);
  w->auto_unroll = outer;
  w->instruction_depth = outer_depth;
}

/* In program order, since reuse is counted by what came between. */
static void visit(walk_state *w, const tir_stmt *s) {
  switch (s->kind) {
    case TIR_FOR: visit_for(w, s); break;
    case TIR_STORE: visit_store(w, s); break;
    case TIR_CALL: visit_call(w, s); break;
    case TIR_IF: visit_if(w, s); break;
    case TIR_ALLOC: visit_alloc(w, s); break;
    case TIR_ATTR: visit_attr(w, s); break;
    case TIR_SEQ:
      for (int i = 0; i < s->u.seq.n; ++i) visit(w, s->u.seq.stmts[i]);
      break;
    case TIR_PREFETCH:
    case TIR_NOP: break;
  }
}

/* ---- from stores to rows ----------------------------------------------------------------------------------------- */

static size_t loops_bytes(const touch_store *store) { return sizeof *store->loops * (size_t)store->depth; }

/* Drops constant stores to buffers that are also written otherwise. */
static void drop_inits(touch_program *p) {
  int kept = 0;
  for (int i = 0; i < p->n_stores; ++i) {
    bool drop = false;
    for (int k = 0; p->stores[i].is_constant && k < p->n_stores; ++k) {
      drop |= !p->stores[k].is_constant && p->stores[k].buffer == p->stores[i].buffer;
    }
    if (!drop && kept != i)
      memcpy(&p->stores[kept], &p->stores[i], offsetof(touch_store, loops) + loops_bytes(&p->stores[i]));
    kept += !drop;
  }
  p->n_stores = kept;
}

/* After drop_inits, so that a reduction's initialisation does not count as a second touch. */
static void sum_loop_bytes(touch_program *p) {
  for (int i = 0; i < p->n_stores; ++i) {
    const touch_store *store = &p->stores[i];
    for (int t = 0; t < store->n_touched; ++t) {
      double bytes = (double)tn_dtype_bytes(store->touched[t].buffer->dtype);
      for (int level = 0; level < store->depth; ++level) {
        p->loop_bytes[store->loops[level].id] += store->touched[t].elements[level] * bytes;
      }
    }
  }
}

void touch_collect(const tir_func *func, touch_program *p) {
  p->n_stores = p->n_touched = p->n_loop_ids = 0;
  p->is_cut = false;
  walk_state w;
  memset(&w, 0, offsetof(walk_state, loops));
  w.program = p;
  w.outer_prod = 1;
  w.auto_unroll = w.guards = 0;
  w.instruction_depth = TOUCH_MAX_LOOPS;
  w.guard_prod = 0;
  visit(&w, func->body);
  drop_inits(p);
  sum_loop_bytes(p);
}
