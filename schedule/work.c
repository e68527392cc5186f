/* work.c: work counters (work.h): lowers with marks of stages, runs the passes that settle guards, and
 * walks the loops. Loops whose variable decides nothing (no guard, no bound, no select on indices) are
 * multiplied, the others iterated, so that counts are exact. A counter lives for one call; its lists
 * are heap memory, the loops lie in an arena of their own. */
#include "schedule/work.h"

#include "tir/linear.h"

typedef struct value {
  const tir_var *var;
  int64_t value;
} value;

typedef RUNTIME_VEC(const tir_expr *) expr_list;

/* Where the walk is. */
typedef struct walk {
  int64_t times;         /* runs of this place; of a vectorized loop, all lanes are one */
  const tir_var *vector; /* the vectorized loop around, or NULL */
  int64_t lanes;         /* its extent, else 1 */
  int stage;             /* of the mark around, */
  bool is_update;        /* whose kind this is */
  bool is_parallel;      /* in a parallel loop: those inside stay serial */
} walk;

/* The count of one function's work, a stage at a time. Expressions that are met twice in a store count once: the
 * lists hold them for the store that is looked at. */
typedef struct counter {
  const tn_schedule *s;
  schedule_part part;
  const tir_func *func;
  tn_kernel_stage *out;
  int64_t *updates;                      /* by number of the stage: updates of a reduction */
  RUNTIME_VEC(const tir_var *) deciding; /* variables that guards, bounds and selects use */
  RUNTIME_VEC(value) values;             /* of the iterated loops around */
  expr_list seen, loads;                 /* of one store */
  bool failed;                           /* no memory */
} counter;

/* ---- stages ------------------------------------------------------------------------------------------------------ */

int schedule_computed_number(const tn_schedule *s, int stage) {
  int n = 0;
  for (int i = 0; i < stage; i++) n += !te_is_placeholder(s->stages[i].op);
  return n;
}

int schedule_computed_count(const tn_schedule *s) { return schedule_computed_number(s, s->n_stages); }

/* Of the first tensor; all of a stage have as many. */
static int64_t points_of(const tn_tensor *tensor) {
  int64_t n = 1;
  for (int i = 0; i < tensor->ndim; i++) n *= tensor->shape[i];
  return n;
}

/* A loop of its own: one around it does not count. */
static bool is_parallel(const schedule_stage *st) {
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->annotation == SCHEDULE_PARALLEL) return true;
  return false;
}

/* OUT has room for schedule_computed_count entries. */
void schedule_describe_stages(const tn_schedule *s, tn_kernel_stage *out) {
  for (int i = 0; i < s->n_stages; i++) {
    const schedule_stage *st = &s->stages[i];
    if (te_is_placeholder(st->op)) continue;
    *out++ = (tn_kernel_stage){.name = schedule_stage_name(st),
                               .is_root = st->attach == SCHEDULE_ROOT,
                               .is_parallel = is_parallel(st),
                               .is_inlined = st->attach == SCHEDULE_INLINED};
  }
}

/* ---- what decides ------------------------------------------------------------------------------------------------ */

/* USER is the function, which knows its scalars. */
static tir_walk stop_at_data(void *user, const tir_expr *e) {
  bool is_data = e->op == TIR_LOAD || (e->op == TIR_VAR && tir_is_data_var(user, e->u.var));
  return is_data ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether an expression is of loop variables alone. */
static bool is_of_indices(const counter *c, const tir_expr *e) {
  return tir_walk_expr(e, stop_at_data, (void *)c->func);
}

/* Linear in the variables that do, which are few. */
static bool decides(const counter *c, const tir_var *var) {
  for (int i = 0; i < c->deciding.n; i++)
    if (c->deciding.data[i] == var) return true;
  return false;
}

/* Loops that decide over a condition are counted one by one; the others are multiplied. */
static tir_walk note_variable(void *user, const tir_expr *e) {
  counter *c = user;
  if (e->op == TIR_VAR && !decides(c, e->u.var) && !RUNTIME_PUSH(&c->deciding, e->u.var)) c->failed = true;
  return TIR_WALK_ON;
}

/* Conditions on data cannot be evaluated here: both sides count. */
static void note_condition(counter *c, const tir_expr *cond) {
  if (cond != NULL && is_of_indices(c, cond)) tir_walk_expr(cond, note_variable, c);
}

/* The places in expressions where work is done or not by a condition. */
static tir_walk note_in_expr(void *user, const tir_expr *e) {
  if (e->op == TIR_SELECT) note_condition(user, e->arg[0]);
  if (e->op == TIR_LOAD) note_condition(user, tir_predicate(e));
  return TIR_WALK_ON;
}

/* Branches, predicates of stores, bounds of loops. */
static tir_walk note_in_stmt(void *user, const tir_stmt *s) {
  if (s->kind == TIR_IF) note_condition(user, s->u.branch.cond);
  if (s->kind == TIR_STORE) note_condition(user, s->u.store.predicate);
  if (s->kind == TIR_FOR) note_condition(user, s->u.loop.min), note_condition(user, s->u.loop.extent);
  return TIR_WALK_ON;
}

/* ---- values of index expressions --------------------------------------------------------------------------------- */

/* Of a loop that is iterated; others decide nothing. */
static int64_t variable_value(const void *user, const tir_var *var) {
  const counter *c = user;
  for (int i = c->values.n - 1; i >= 0; i--)
    if (c->values.data[i].var == var) return c->values.data[i].value;
  return 0;
}

static int64_t value_of(const counter *c, const tir_expr *e) { return tir_evaluate(e, variable_value, c); }

/* A condition on data may hold. */
static bool may_hold(const counter *c, const tir_expr *cond) {
  return cond == NULL || !is_of_indices(c, cond) || value_of(c, cond) != 0;
}

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

/* Whether lanes are next to each other: the last index grows by one with VAR, no other one has it. */
static bool is_dense(int n, const tir_expr *const *index, const tir_var *var) {
  tir_linear form;
  tir_linear_zero(&form);
  for (int i = 0; i + 1 < n; i++)
    if (tir_uses_var(index[i], var)) return false;
  if (n == 0 || !tir_linear_add_expr(&form, index[n - 1], 1)) return false;
  for (int i = 0; i < form.n; i++) {
    const tir_term *t = &form.terms[i];
    bool is_lane = t->atom->op == TIR_VAR && t->atom->u.var == var;
    if (is_lane ? t->coef != 1 : tir_uses_var(t->atom, var)) return false;
  }
  return true;
}

/* Whether the access differs between lanes. */
static bool uses_lane(const walk *w, int n, const tir_expr *const *index) {
  for (int i = 0; w->vector != NULL && i < n; i++)
    if (tir_uses_var(index[i], w->vector)) return true;
  return false;
}

/* One access adds to one of three counters. */
static void count_access(const walk *w, int n, const tir_expr *const *index, int64_t *scalars, int64_t *dense,
                         int64_t *sparse) {
  int64_t *to = !uses_lane(w, n, index) ? scalars : is_dense(n, index, w->vector) ? dense : sparse;
  *to += w->times;
}

/* A vector that all lanes share is a scalar load. */
static void count_load(counter *c, const walk *w, int n, const tir_expr *const *index) {
  tn_kernel_stage *stage = &c->out[w->stage];
  count_access(w, n, index, &stage->loads, &stage->vector_loads, &stage->gathers);
}

/* Adds to the counters of the stage that the walk stands in. */
static void count_store(counter *c, const walk *w, const tir_stmt *s) {
  tn_kernel_stage *stage = &c->out[w->stage];
  count_access(w, s->u.store.n_index, s->u.store.index, &stage->stores, &stage->vector_stores, &stage->scatters);
  if (uses_lane(w, s->u.store.n_index, s->u.store.index))
    stage->store_bits =
        RUNTIME_MAX(stage->store_bits, 8 * w->lanes * (int64_t)tn_dtype_bytes(s->u.store.buffer->dtype));
}

/* True: it was not there. BY_STRUCTURE: equal expressions count as one, as a compiler would load once. */
static bool add_once(counter *c, expr_list *list, const tir_expr *e, bool by_structure) {
  for (int i = 0; i < list->n; i++)
    if (list->data[i] == e || (by_structure && tir_equal(list->data[i], e))) return false;
  if (!RUNTIME_PUSH(list, e)) c->failed = true;
  return true;
}

/* The loads that evaluating E makes here, equal ones once. */
static void collect_loads(counter *c, const tir_expr *e) {
  if (e->n_args == 0 && e->op != TIR_LOAD) return;
  if (!add_once(c, &c->seen, e, false)) return;
  if (e->op == TIR_SELECT && is_of_indices(c, e->arg[0])) {
    collect_loads(c, e->arg[value_of(c, e->arg[0]) ? 1 : 2]);
    return;
  }
  if (e->op == TIR_LOAD && !may_hold(c, tir_predicate(e))) return;
  if (e->op == TIR_LOAD) add_once(c, &c->loads, e, true);
  for (int i = 0; i < e->n_args; i++) collect_loads(c, e->arg[i]);
}

/* NULL: there is none of that number. */
static const schedule_stage *stage_of_number(const counter *c, int number) {
  for (int i = 0; i < c->s->n_stages; i++)
    if (!te_is_placeholder(c->s->stages[i].op) && number-- == 0) return &c->s->stages[i];
  return NULL;
}

/* Which of the stage's tensors a buffer holds; -1: none, so that it is one that lowering made for a new value. */
static int tensor_of(const counter *c, int number, const tir_buffer *buffer) {
  const schedule_stage *st = stage_of_number(c, number);
  for (int v = 0; v < st->n_tensors; v++)
    if (strcmp(st->tensors[v].name, buffer->name) == 0) return v;
  return -1;
}

/* The new value of a tensor of the stage, put aside (lower.c). */
static bool is_put_aside(const counter *c, int number, const tir_buffer *buffer) {
  const schedule_stage *st = stage_of_number(c, number);
  for (int v = 1; v < st->n_tensors; v++) {
    size_t n = strlen(st->tensors[v].name);
    if (strncmp(st->tensors[v].name, buffer->name, n) == 0 && strcmp(buffer->name + n, ".new") == 0) return true;
  }
  return false;
}

/* An element that the stage's stores write, as their values read it. */
static bool is_own(const counter *c, int number, const tir_expr *load, const tir_stmt *s) {
  if (is_put_aside(c, number, load->u.buffer)) return true;
  if (load->u.buffer != s->u.store.buffer && tensor_of(c, number, load->u.buffer) < 0) return false;
  if (tir_n_index(load) != s->u.store.n_index) return false;
  for (int i = 0; i < s->u.store.n_index; i++)
    if (!tir_equal(load->arg[i], s->u.store.index[i])) return false;
  return true;
}

/* What an update reads of its own element is not counted here, but at the run (count_run), as it stays
 * in a register. */
static void visit_store(counter *c, walk w, const tir_stmt *s) {
  if (!may_hold(c, s->u.store.predicate)) return;
  c->seen.n = c->loads.n = 0;
  collect_loads(c, s->u.store.value);
  for (int i = 0; i < s->u.store.n_index; i++) collect_loads(c, s->u.store.index[i]);
  const bool puts_aside = is_put_aside(c, w.stage, s->u.store.buffer);
  for (int i = 0; i < c->loads.n; i++) {
    const tir_expr *load = c->loads.data[i];
    if (!w.is_update || (!puts_aside && !is_own(c, w.stage, load, s)) ||
        (puts_aside && tensor_of(c, w.stage, load->u.buffer) < 0))
      count_load(c, &w, tir_n_index(load), load->arg);
  }
  const bool is_first = tensor_of(c, w.stage, s->u.store.buffer) <= 0 && !puts_aside; /* a point has all tensors */
  if (is_first && w.is_update) c->updates[w.stage] += w.times * w.lanes;
  if (w.is_update) return;
  if (is_first) c->out[w.stage].points += w.times * w.lanes;
  count_store(c, &w, s);
}

/* The callee's own work is not known: its operands' boxes count as touched once, what it writes as points. */
static void visit_call(counter *c, walk w, const tir_stmt *s) {
  tn_kernel_stage *stage = &c->out[w.stage];
  bool has_points = false;
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    int64_t elements = w.times;
    if (o->access == TIR_BY_VALUE) continue;
    for (int d = 0; d < o->n_index; d++) elements *= o->span[d];
    if (o->access != TIR_WRITES) stage->loads += elements;
    if (o->access != TIR_READS) stage->stores += elements;
    if (o->access == TIR_WRITES && !has_points) stage->points += elements, has_points = true;
  }
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void visit(counter *c, walk w, const tir_stmt *s);

/* A parallel loop starts here, for all that is inside. */
static void count_tasks(counter *c, walk *w, int64_t extent) {
  c->out[w->stage].loops += w->times;
  c->out[w->stage].tasks += w->times * extent;
  w->is_parallel = true;
}

/* Every iteration by itself where the variable decides something. */
static void visit_loop(counter *c, walk w, const tir_stmt *s) {
  const tir_var *var = s->u.loop.var;
  int64_t min = value_of(c, s->u.loop.min), extent = value_of(c, s->u.loop.extent);
  if (extent <= 0) return;
  if (s->u.loop.kind == TIR_PARALLEL && !w.is_parallel) count_tasks(c, &w, extent);
  if (!decides(c, var)) {
    bool is_vector = s->u.loop.kind == TIR_VECTORIZED && w.vector == NULL;
    if (is_vector)
      w.vector = var, w.lanes = extent;
    else
      w.times *= extent;
    visit(c, w, s->u.loop.body);
    return;
  }
  for (int64_t i = 0; i < extent && !c->failed; i++) {
    value v = {var, min + i};
    if (!RUNTIME_PUSH(&c->values, v))
      c->failed = true;
    else
      visit(c, w, s->u.loop.body), c->values.n--;
  }
}

typedef struct search {
  counter *c;
  walk *w;
} search;

/* Its element of each tensor is loaded and stored. */
static tir_walk count_update(void *user, const tir_stmt *s) {
  search *at = user;
  if (s->kind != TIR_STORE || is_put_aside(at->c, at->w->stage, s->u.store.buffer)) return TIR_WALK_ON;
  count_load(at->c, at->w, s->u.store.n_index, s->u.store.index);
  count_store(at->c, at->w, s);
  return TIR_WALK_ON;
}

/* Stops at the stage's first update. */
static tir_walk find_update(void *user, const tir_stmt *s) {
  search *at = user;
  if (s->kind != TIR_ATTR || strcmp(s->u.attr.key, TIR_STAGE_UPDATE) != 0 || s->u.attr.value != at->w->stage)
    return TIR_WALK_ON;
  tir_visitor visitor = {count_update, NULL, at};
  tir_walk_stmt(s->u.attr.body, &visitor);
  return TIR_WALK_STOP;
}

/* Before the run its element is loaded, after it stored. */
static void count_run(counter *c, walk w, const tir_stmt *s) {
  search at = {c, &w};
  tir_visitor visitor = {find_update, NULL, &at};
  tir_walk_stmt(s, &visitor);
}

/* Marks of one stage inside another's nest count for the inner one. */
static void visit_mark(counter *c, walk w, const tir_stmt *s) {
  const char *key = s->u.attr.key;
  if (strncmp(key, TIR_STAGE, strlen(TIR_STAGE)) == 0) {
    w.stage = (int)s->u.attr.value;
    w.is_update = strcmp(key, TIR_STAGE_UPDATE) == 0;
    if (strcmp(key, TIR_STAGE_RUN) == 0) count_run(c, w, s->u.attr.body);
  }
  visit(c, w, s->u.attr.body);
}

/* By value: W changes on the way in only. */
static void visit(counter *c, walk w, const tir_stmt *s) {
  switch (s->kind) {
    case TIR_FOR: visit_loop(c, w, s); break;
    case TIR_STORE: visit_store(c, w, s); break;
    case TIR_CALL: visit_call(c, w, s); break;
    case TIR_ATTR: visit_mark(c, w, s); break;
    case TIR_ALLOC: visit(c, w, s->u.alloc.body); break;
    case TIR_IF:
      if (may_hold(c, s->u.branch.cond))
        visit(c, w, s->u.branch.then_body);
      else if (s->u.branch.else_body != NULL)
        visit(c, w, s->u.branch.else_body);
      break;
    case TIR_SEQ:
      for (int i = 0; i < s->u.seq.n; i++) visit(c, w, s->u.seq.stmts[i]);
      break;
    case TIR_PREFETCH:
    case TIR_NOP: break;
  }
}

/* ---- inlined stages ---------------------------------------------------------------------------------------------- */

typedef struct reads {
  counter *c;
  int64_t times; /* evaluations of what reads */
} reads;

/* Every different read of an inlined stage computes a point of it. */
static tir_walk add_read(void *user, const tir_expr *e) {
  reads *r = user;
  if (e->op != TIR_READ) return TIR_WALK_ON;
  int stage = schedule_stage_of_tensor(r->c->s, e->u.tensor);
  if (stage < 0 || r->c->s->stages[stage].attach != SCHEDULE_INLINED) return TIR_WALK_ON;
  if (add_once(r->c, &r->c->loads, e, true)) r->c->out[schedule_computed_number(r->c->s, stage)].points += r->times;
  return TIR_WALK_ON;
}

/* Equal reads count once for each evaluation. */
static void add_reads(counter *c, const tir_expr *e, int64_t times) {
  reads r = {c, times};
  c->loads.n = 0;
  if (e != NULL) tir_walk_expr(e, add_read, &r);
}

/* Readers come later than what they read: from the last stage backwards each one's count is complete. */
static void count_inlined(counter *c) {
  for (int i = c->s->n_stages - 1; i >= 0; i--) {
    const tir_expr *body = c->s->stages[i].op->body;
    if (!body) continue;
    int k = schedule_computed_number(c->s, i);
    if (body->op != TIR_REDUCE) {
      add_reads(c, body, c->out[k].points);
      continue;
    }
    for (int v = 0; v < tir_n_values(body); v++) {
      add_reads(c, body->arg[v], c->updates[k]);
      add_reads(c, tir_reduce_init(body, v), c->out[k].points);
    }
    add_reads(c, tir_reduce_where(body), c->updates[k]);
  }
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

/* Loop IR with marks after the passes that come before buffers are flat; NULL with a message. */
static const tir_func *marked_loops(const tn_schedule *s, schedule_part part, runtime_arena *arena) {
  tir_func *f = schedule_lower_marked(s, "count", arena, SCHEDULE_MARKS_ALL, part);
  tir_pass_context p = {.ctx = s->ctx, .arena = arena};
  for (const tir_pass *pass = tir_passes; f != NULL && strcmp(pass->name, "flatten") != 0; pass++) f = pass->run(&p, f);
  return f;
}

/* First what decides, then the walk, then the inlined stages. */
static void count_all(counter *c, const tir_func *f) {
  c->func = f;
  tir_visitor visitor = {note_in_stmt, note_in_expr, c};
  tir_walk_stmt(f->body, &visitor);
  visit(c, (walk){.times = 1, .lanes = 1}, f->body);
  count_inlined(c);
  int n = 0;
  for (int i = 0; i < c->s->n_stages; i++) {
    if (te_is_placeholder(c->s->stages[i].op)) continue;
    tn_kernel_stage *stage = &c->out[n++];
    stage->is_counted = c->part == SCHEDULE_WHOLE || stage->points > 0;
    if (stage->is_counted) stage->required = points_of(c->s->stages[i].tensors);
  }
}

/* Numbers only: a program with symbols has no counts. */
tn_status schedule_count_work(const tn_schedule *s, schedule_part part, tn_kernel_stage *out) {
  runtime_arena arena = {0};
  tn_status status = te_check_no_symbols(s->program, "counting work");
  if (status != TN_OK) return status;
  counter c = {.s = s, .part = part, .out = out};
  c.updates = calloc((size_t)schedule_computed_count(s) + 1, sizeof *c.updates);
  const tir_func *f = marked_loops(s, part, &arena);
  c.failed = c.updates == NULL;
  if (f != NULL && !c.failed) count_all(&c, f);
  RUNTIME_VEC_FREE(&c.deciding);
  RUNTIME_VEC_FREE(&c.values);
  RUNTIME_VEC_FREE(&c.seen);
  RUNTIME_VEC_FREE(&c.loads);
  free(c.updates);
  runtime_arena_free(&arena);
  if (c.failed) return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for work counters");
  return f != NULL ? TN_OK : tn_context_status(s->ctx);
}
