/* lower.c: from a schedule to loop IR: one loop nest a stage, reductions as init and update, guards
 * around stores, attached stages inside the loop they are computed at. Requires a legal schedule;
 * establishes well-formed multi-dimensional loop IR (TVM: ScheduleOps, MakeComputeStmt). The nest of a
 * stage is put together from the innermost loop outwards. Allocations are not checked: the arena jumps
 * to lower_safely, which says that memory ran out. */
#include "runtime/profiler/profiler.h"
#include "schedule/index.h"
#include "schedule/layout.h"
#include "schedule/prepack.h"
#include "schedule/tail.h"
#include "schedule/work.h"
#include "tir/intrin.h"
#include "tir/passes.h"

static const tir_stmt *emit_stage(lowering *l, int stage);

/* ---- guards ------------------------------------------------------------------------------------------------------ */

typedef struct guard {
  lowering *l;
  const tir_env *env;
  const tir_expr *cond; /* NULL: none yet */
  bool of_pads;         /* the conditions of what is padded, or of all the rest */
} guard;

/* Adds VALUE < LIMIT to a guard unless the loops' ranges prove it. */
static void guard_below(guard *g, const tir_expr *value, const tir_expr *limit) {
  runtime_arena *arena = g->l->arena;
  const tir_expr *cond = tir_binary(arena, TIR_LT, value, limit);
  if (tir_prove(arena, g->env, cond)) return;
  g->cond = g->cond ? tir_binary(arena, TIR_AND, g->cond, cond) : cond;
}

/* As guard_below, from the other side: regions can begin before the tensor. Mostly the interval says that they do not,
 * which needs no expression. */
static void guard_not_negative(guard *g, const tir_expr *value) {
  runtime_arena *arena = g->l->arena;
  if (tir_bounds(g->env, value).lo >= 0) return;
  const tir_expr *cond = tir_binary(arena, TIR_GE, value, tir_int(arena, (tn_dtype)value->dtype, 0));
  if (tir_prove(arena, g->env, cond)) return;
  g->cond = g->cond ? tir_binary(arena, TIR_AND, g->cond, cond) : cond;
}

/* Tails of splits: the parent's value must be below its extent. */
static void guard_splits(guard *g, const lower_stage *ls, const tir_expr **values, bool with_reduce) {
  for (int i = 0; i < ls->st->n_relations; i++) {
    const schedule_relation *r = &ls->st->relations[i];
    if (r->is_fuse || r->tail == TN_TAIL_OVERLAP || schedule_is_exact(ls, r)) continue;
    if ((r->tail == TN_TAIL_PAD) != g->of_pads) continue;
    if (!with_reduce && ls->st->axes[r->one].kind == SCHEDULE_REDUCE) continue;
    guard_below(g, values[r->one], schedule_axis_extent(g->l, ls, r->one));
  }
}

/* What guard_domain would prove of most regions, without an expression for it. */
static bool is_inside(const tir_env *env, const tir_expr *min, int64_t extent, int64_t size) {
  tir_interval range = tir_bounds(env, min);
  return range.lo >= 0 && range.hi <= size - extent;
}

/* Points of the region that lie outside of the tensor are not computed. */
static void guard_domain(guard *g, const lower_stage *ls, const tir_expr **values) {
  const tn_tensor *tensor = ls->st->tensors;
  for (int i = 0; i < tensor->ndim; i++) {
    int64_t first;
    bool pads = schedule_pads_dimension(ls->st, i) || schedule_pads_tile(ls->st, i);
    if (pads != g->of_pads) continue;
    if (ls->size[i]) continue; /* the whole dimension */
    bool fits = tir_is_int(ls->min[i], &first) && first >= 0 && first + ls->extent[i] <= tensor->shape[i];
    if (!tensor->size[i] && (fits || is_inside(g->env, ls->min[i], ls->extent[i], tensor->shape[i]))) continue;
    const tir_expr *at = tir_simplify(g->l->arena, g->env, tir_binary(g->l->arena, TIR_ADD, ls->min[i], values[i]));
    guard_not_negative(g, at);
    guard_below(g, at, schedule_tensor_extent(g->l, tensor, i));
  }
}

const tir_expr *schedule_condition(lowering *l, const lower_stage *ls, const tir_env *env, const tir_expr **values,
                                   bool with_reduce) {
  guard g = {l, env, NULL, false};
  if (ls->st->predicate) g.cond = schedule_lower_expr(l, ls, values, ls->st->predicate);
  guard_splits(&g, ls, values, with_reduce);
  guard_domain(&g, ls, values);
  if (ls->roll.by) {
    const tir_expr *is_new = schedule_is_new(l, ls, values);
    g.cond = g.cond ? tir_binary(l->arena, TIR_AND, g.cond, is_new) : is_new;
  }
  return g.cond;
}

/* STMT itself where everything is proved. */
static const tir_stmt *guarded(lowering *l, const lower_stage *ls, const tir_env *env, const tir_expr **values,
                               bool with_reduce, const tir_stmt *stmt) {
  const tir_expr *cond = schedule_condition(l, ls, env, values, with_reduce);
  return cond ? tir_if(l->arena, cond, stmt, NULL) : stmt;
}

/* What a padded stage stores outside of its axes is 0 or an identity, which nothing reads. */
const tir_expr *schedule_unpadded(lowering *l, const lower_stage *ls, const tir_env *env, const tir_expr **values,
                                  bool with_reduce) {
  guard g = {l, env, NULL, true};
  guard_splits(&g, ls, values, with_reduce);
  guard_domain(&g, ls, values);
  return g.cond;
}

const tir_expr *schedule_fill_unless(lowering *l, const tir_expr *cond, const tir_expr *value, const tir_expr *fill) {
  return cond ? tir_select(l->arena, cond, value, fill) : value;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Of the loops that an intrinsic replaces where it can, the innermost data loop: in the init, and where the intrinsic
 * does not fit, it is vectorized. */
static bool counts_lanes(const lower_stage *ls, int leaf) {
  const schedule_stage *st = ls->st;
  for (int i = leaf; i < st->n_leaves; i++) {
    if (schedule_leaf(st, i)->kind == SCHEDULE_SPATIAL && ls->var[i]->extent > 1)
      return i == leaf && schedule_leaf(st, i)->in_intrin;
  }
  return false;
}

/* An annotation that lowering cannot keep (a GPU's) leaves the loop serial. */
static tir_loop_kind loop_kind(const lower_stage *ls, int leaf) {
  const schedule_axis *axis = schedule_leaf(ls->st, leaf);
  if (counts_lanes(ls, leaf)) return TIR_VECTORIZED;
  static const tir_loop_kind kinds[] = {TIR_SERIAL, TIR_UNROLLED, TIR_VECTORIZED, TIR_PARALLEL};
  return axis->annotation < SCHEDULE_BIND ? kinds[axis->annotation] : TIR_SERIAL;
}

/* Looks through splits of splits: the inner one's blocks are parted, too. */
bool schedule_wants_peel(const lower_stage *ls, int axis) {
  int made_by = ls->st->axes[axis].made_by;
  if (made_by < 0) return false;
  const schedule_relation *r = &ls->st->relations[made_by];
  if (!r->is_fuse) {
    if (r->tail == TN_TAIL_PEEL && r->many[r->n - 1] != axis && !schedule_is_exact(ls, r)) return true;
    return schedule_wants_peel(ls, r->one); /* parts of a loop that counts blocks */
  }
  for (int i = 0; i < r->n; i++)
    if (schedule_wants_peel(ls, r->many[i])) return true;
  return false;
}

/* The attribute says whose it is, for the warning that it did nothing. */
static const tir_stmt *unroll_attr(lowering *l, const lower_stage *ls, const schedule_axis *axis,
                                   const tir_stmt *body) {
  tir_stmt *attr = (tir_stmt *)tir_attr(l->arena, "auto_unroll_max_step", axis->unroll_step, body);
  if (!attr || l->s->is_replayed) return attr;
  attr->u.attr.of = runtime_joined(l->arena, (const char *[]){schedule_stage_name(ls->st), ", ", axis->name, NULL});
  return attr;
}

/* Wraps a body in loop LEAF with variable V. A loop of one iteration is left out. */
static const tir_stmt *make_loop(lowering *l, const lower_stage *ls, int leaf, const lower_var *v,
                                 const tir_stmt *body) {
  const schedule_axis *axis = schedule_leaf(ls->st, leaf);
  if (axis->unroll_step >= 0) body = unroll_attr(l, ls, axis, body);
  if (schedule_pragma_value(axis, SCHEDULE_PRAGMA_EXPLICIT) == 0)
    body = tir_attr(l->arena, TIR_UNROLL_EXPLICIT, 0, body);
  bool streams = schedule_pragma_value(axis, SCHEDULE_PRAGMA_STREAM) > 0;
  if (v->extent == 1) return streams ? tir_attr(l->arena, TIR_STREAM_STORES, 1, body) : body;
  const tir_expr *zero = schedule_index_int(l, 0), *extent = schedule_extent(l, v->extent, v->size);
  tir_stmt *loop = (tir_stmt *)tir_for(l->arena, &v->var, zero, extent, loop_kind(ls, leaf), body);
  if (!loop) return NULL;
  loop->u.loop.peel =
      schedule_wants_peel(ls, ls->st->leaves[leaf]) || schedule_pragma_value(axis, SCHEDULE_PRAGMA_PARTITION) > 0;
  loop->u.loop.strided =
      axis->annotation == SCHEDULE_PARALLEL && schedule_pragma_value(axis, SCHEDULE_PRAGMA_STRIDE) > 0;
  if (streams) return tir_attr(l->arena, TIR_STREAM_STORES, 1, loop);
  if (axis->annotation < SCHEDULE_BIND) return loop;
  const char *key = runtime_format(l->arena, TIR_THREAD_EXTENT "%s", schedule_annotation_words[axis->annotation]);
  return tir_attr(l->arena, key, v->extent, loop);
}

/* The loop over the time of a scan, in two parts: the first times, whose steps look back before time 0 (what guards
 * them there is decided when the passes simplify), and the rest. */
static const tir_stmt *part_time(lowering *l, const lower_stage *ls, const tir_stmt *loop) {
  int64_t first = ls->st->op->first, extent;
  if (loop->kind != TIR_FOR || !tir_is_int(loop->u.loop.extent, &extent) || first < 1 || first >= extent) return loop;
  const tir_stmt *both[2];
  for (int i = 0; i < 2; i++) {
    tir_stmt *part = runtime_copy(l->arena, loop, sizeof *loop);
    part->u.loop.min = tir_int(l->arena, l->index_dtype, i == 0 ? 0 : first);
    part->u.loop.extent = tir_int(l->arena, l->index_dtype, i == 0 ? first : extent - first);
    both[i] = part;
  }
  return tir_seq(l->arena, 2, both);
}

/* The first loop that runs over a reduction axis, or n_leaves: the loops outside of it are common to init and update.
 */
static int first_reduce_leaf(const schedule_stage *st) {
  for (int i = 0; i < st->n_leaves; i++)
    if (schedule_leaf(st, i)->kind != SCHEDULE_SPATIAL) return i;
  return st->n_leaves;
}

/* The place in the buffer, through layout and rolling. */
static const tir_stmt *store_value(lowering *l, const lower_stage *ls, int v, const tir_expr **values,
                                   const tir_expr *value) {
  const tir_expr *place[TN_MAX_RANK];
  const tir_buffer *buffer = ls->buffers[v];
  return tir_store(l->arena, buffer, buffer->ndim, schedule_place(l, ls, values, place), value, NULL);
}

/* Whether the value of tensor V reads one that is stored before it. */
static bool needs_temporary(const lower_stage *ls, int v, const tir_expr *value) {
  for (int i = 0; i < v; i++)
    if (tir_loads(value, ls->buffers[i])) return true;
  return false;
}

/* Stores an element of each tensor, what to store being computed from the old ones: a value that reads a tensor stored
 * before it is put aside first.
 *
 *     allocate(T.new[1]) { T.new[0] = value of T; S[i] = value of S; T[i] = T.new[0] } */
static const tir_stmt *store_values(lowering *l, const lower_stage *ls, const tir_expr **values,
                                    const tir_expr *const *stored) {
  int n = ls->st->n_tensors, n_stmts = 0;
  const tir_stmt *stmts[2 * TIR_MAX_VALUES];
  const tir_buffer *temporary[TIR_MAX_VALUES] = {NULL};
  const tir_expr *zero = schedule_index_int(l, 0);
  for (int v = 1; v < n; v++) {
    if (!needs_temporary(ls, v, stored[v])) continue;
    tir_buffer *buffer = RUNTIME_NEW(l->arena, tir_buffer);
    *buffer = (tir_buffer){.name = runtime_format(l->arena, "%s.new", ls->buffers[v]->name),
                           .dtype = ls->buffers[v]->dtype,
                           .ndim = 1,
                           .shape = {1},
                           .scope = "local"};
    temporary[v] = buffer;
    stmts[n_stmts++] = tir_store(l->arena, buffer, 1, &zero, stored[v], NULL);
  }
  for (int v = 0; v < n; v++) {
    const tir_expr *value = temporary[v] ? tir_load(l->arena, temporary[v], 1, &zero, NULL) : stored[v];
    stmts[n_stmts++] = store_value(l, ls, v, values, value);
  }
  const tir_stmt *stmt = tir_seq(l->arena, n_stmts, stmts);
  for (int v = n - 1; v > 0; v--)
    if (temporary[v]) stmt = tir_alloc(l->arena, temporary[v], stmt);
  return stmt;
}

/* STMT with a mark of the stage, when the lowering makes marks of that kind. */
static const tir_stmt *marked(lowering *l, schedule_marks kind, const char *key, const lower_stage *ls,
                              const tir_stmt *stmt) {
  return l->marks >= kind ? tir_attr(l->arena, key, schedule_computed_number(l->s, (int)(ls - l->stages)), stmt) : stmt;
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* The init nest: fresh copies "<axis>.init" of the loops from BEGIN inward that touch data axes. */
static const tir_stmt *emit_init(lowering *l, const lower_stage *ls, int begin) {
  const schedule_stage *st = ls->st;
  const tir_expr **values = runtime_copy(l->arena, ls->axis_value, sizeof *values * (size_t)st->n_axes);
  lower_var **vars = RUNTIME_NEW_ARRAY(l->arena, lower_var *, st->n_leaves + 1);
  const tir_env *env = begin ? ls->env[begin - 1] : st->attach == SCHEDULE_AT ? ls->env[st->n_leaves] : l->root_env;
  for (int i = begin; i < st->n_leaves; i++) {
    int axis = st->leaves[i];
    if (st->axes[axis].kind == SCHEDULE_REDUCE || ls->var[i]->extent == 1) continue;
    const char *name = runtime_joined(l->arena, (const char *[]){st->axes[axis].name, ".init", NULL});
    vars[i] = schedule_new_var(l, env, name, ls->var[i]->extent, ls->var[i]->size);
    values[axis] = tir_var_expr(l->arena, &vars[i]->var);
    env = schedule_enter_loop(l, env, vars[i]);
  }
  schedule_axis_values(l, ls, values);
  const tir_expr *first[TIR_MAX_VALUES];
  for (int v = 0; v < st->n_tensors; v++) {
    const tir_expr *init = tir_reduce_init(ls->body, v);
    first[v] = tir_reduce_identity(l->arena, ls->body, v);
    if (init) init = schedule_lower_expr(l, ls, values, init);
    if (init) first[v] = schedule_fill_unless(l, schedule_unpadded(l, ls, env, values, false), init, first[v]);
  }
  const tir_stmt *stmt = store_values(l, ls, values, first);
  stmt = guarded(l, ls, env, values, false, marked(l, SCHEDULE_MARKS_ALL, TIR_STAGE_POINT, ls, stmt));
  for (int i = st->n_leaves - 1; i >= begin; i--)
    if (vars[i]) stmt = make_loop(l, ls, i, vars[i], stmt);
  return stmt;
}

typedef struct placing {
  runtime_arena *arena;
  const tir_env *env;
  const tir_expr *inside; /* not in padding; NULL: there is none */
} placing;

/* Whether an index of a load can leave the buffer: it must stay under its guard. */
static bool can_leave(const placing *at, const tir_expr *load) {
  for (int i = 0; i < load->n_args && i < load->u.buffer->ndim; i++) {
    const tir_expr *index = tir_simplify(at->arena, at->env, load->arg[i]);
    tir_interval range = tir_bounds(at->env, index);
    const tir_expr *size = load->u.buffer->size[i];
    if (range.lo < 0) return true;
    if (!size && range.hi >= load->u.buffer->shape[i]) return true;
    if (size && !tir_prove(at->arena, at->env, tir_binary(at->arena, TIR_LT, index, size))) return true;
  }
  return load->n_args != load->u.buffer->ndim; /* one more: a predicate */
}

static tir_walk stop_at_load_outside(void *user, const tir_expr *e) {
  return e->op == TIR_LOAD && can_leave(user, e) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* In padding such a load gives 0. */
static const tir_expr *load_inside(void *user, const tir_expr *e) {
  const placing *at = user;
  if (e->op != TIR_LOAD || !can_leave(at, e)) return e;
  return tir_select(at->arena, at->inside, e, tir_const(at->arena, (tn_dtype)e->dtype, 0));
}

/* Of the padding of reduction axes; NULL: there is none. */
static const tir_expr *counted_steps(lowering *l, const lower_stage *ls, const tir_expr **values) {
  guard steps = {l, ls->env[ls->st->n_leaves], NULL, true};
  for (int i = 0; i < ls->st->n_relations; i++) {
    const schedule_relation *r = &ls->st->relations[i];
    bool pads = !r->is_fuse && r->tail == TN_TAIL_PAD && ls->st->axes[r->one].kind == SCHEDULE_REDUCE;
    if (pads && !schedule_is_exact(ls, r)) guard_below(&steps, values[r->one], schedule_axis_extent(l, ls, r->one));
  }
  return steps.cond;
}

/* Where an update counts; NULL: everywhere. Sums in padding are never read: they may add up anything, so that only the loads
 * of SOURCE are guarded that would leave their buffer there. A select of the sums themselves would cost a register and an
 * instruction for each; where some steps do not count it is needed anyway. WHERE (NULL: none), when it loads such elements,
 * guards all. */
static const tir_expr *counted_points(lowering *l, const lower_stage *ls, const tir_expr **values,
                                      const tir_expr **source, const tir_expr *where) {
  const tir_env *env = ls->env[ls->st->n_leaves];
  const tir_expr *inside = schedule_unpadded(l, ls, env, values, true);
  if (!inside) return NULL;
  const tir_expr *stored = schedule_condition(l, ls, env, values, true), *steps = counted_steps(l, ls, values);
  const tir_env guarded_env = tir_env_cond(env, stored);
  placing at = {l->arena, stored ? &guarded_env : env, inside};
  const tir_rewriter guarding = {.arena = l->arena, .user = &at, .expr = load_inside};
  if (where && !tir_walk_expr(where, stop_at_load_outside, &at)) return at.inside;
  for (int v = 0; v < ls->st->n_tensors; v++) {
    if (steps && !tir_walk_expr(source[v], stop_at_load_outside, &at)) return at.inside;
    if (!steps) source[v] = tir_rewrite_expr(&guarding, source[v]);
  }
  return steps;
}

/* C[...] = combine(C[...], source), under the reduction's condition; of a tuple all values. A condition over loop
 * variables alone becomes an if, which can shorten loops; one that reads memory a select, which can be vectorized. */
static const tir_stmt *emit_update(lowering *l, const lower_stage *ls) {
  const tir_expr **values = ls->axis_value, *cond = tir_reduce_where(ls->body);
  const tir_expr *source[TIR_MAX_VALUES], *self[TIR_MAX_VALUES], *stored[TIR_MAX_VALUES];
  int n = ls->st->n_tensors;
  for (int v = 0; v < n; v++) {
    source[v] = schedule_lower_expr(l, ls, values, ls->body->arg[v]);
    self[v] = schedule_load(l, ls, v, values, NULL);
  }
  if (cond) cond = schedule_lower_expr(l, ls, values, cond);
  const tir_expr *counts = counted_points(l, ls, values, source, cond);
  bool branches = cond && !tir_has_op(cond, TIR_LOAD);
  if (cond && !branches) counts = counts ? tir_binary(l->arena, TIR_AND, counts, cond) : cond;
  for (int v = 0; v < n; v++)
    stored[v] = schedule_fill_unless(l, counts, tir_reduce_combine(l->arena, ls->body, v, self, source), self[v]);
  const tir_stmt *store = store_values(l, ls, values, stored);
  store = marked(l, SCHEDULE_MARKS_ALL, TIR_STAGE_UPDATE, ls, store);
  return branches ? tir_if(l->arena, cond, store, NULL) : store;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* Whether the stage's outermost loop was asked to run with the one before it. */
static bool wants_join(const lower_stage *ls) {
  return ls->st->n_leaves > 0 && schedule_pragma_value(schedule_leaf(ls->st, 0), SCHEDULE_PRAGMA_JOIN) > 0;
}

/* allocate(buffer) { produce; rest } for each tensor of a stage that is not an argument. NEXT: the stage that REST begins with, where it is
 * to run together with this one; or NULL. */
static const tir_stmt *produce_then(lowering *l, int stage, const tir_stmt *rest, const lower_stage *next) {
  const lower_stage *ls = &l->stages[stage];
  const tir_stmt *both[] = {emit_stage(l, stage), rest}, *body = NULL;
  if (ls->is_doubled) both[0] = tir_attr(l->arena, TIR_DOUBLE_BUFFER, 1, both[0]);
  if (next) body = schedule_join_loops(l, both[0], rest);
  if (next && !body) schedule_warn_join(l, next);
  if (!body) body = tir_seq(l->arena, rest ? 2 : 1, both);
  for (int v = ls->st->n_tensors - 1; v >= 0; v--)
    if (!ls->buffers[v]->is_param && !ls->roll.by) body = tir_alloc(l->arena, ls->buffers[v], body);
  return body;
}

/* The stages computed in loop AXIS, producers first, before the loop's own body. */
static const tir_stmt *with_attached(lowering *l, int stage, int axis, const tir_stmt *body) {
  for (int i = stage - 1; i >= 0; i--) {
    const lower_stage *ls = &l->stages[i];
    if (ls->is_live && ls->st->attach == SCHEDULE_AT && ls->st->at_stage == stage && ls->st->at_axis == axis)
      body = produce_then(l, i, body, NULL);
  }
  return body;
}

/* LOOP inside the rolling buffers of the stages that are computed in it, which live as long as all its iterations. */
static const tir_stmt *with_rolling(lowering *l, int stage, int axis, const tir_stmt *loop) {
  for (int i = 0; i < stage; i++) {
    const lower_stage *ls = &l->stages[i];
    if (ls->is_live && ls->roll.by && ls->st->at_stage == stage && ls->st->at_axis == axis)
      loop = tir_alloc(l->arena, ls->buffers[0], loop);
  }
  return loop;
}

/* Without a reduction: all values of the definition at one point. */
static const tir_stmt *emit_element(lowering *l, const lower_stage *ls) {
  const tir_expr **values = ls->axis_value, *stored[TIR_MAX_VALUES];
  const tir_expr *within = schedule_unpadded(l, ls, ls->env[ls->st->n_leaves], values, true);
  for (int v = 0; v < ls->st->n_tensors; v++) {
    const tir_expr *value = schedule_lower_expr(l, ls, values, tir_value(ls->body, v));
    stored[v] = value ? schedule_fill_unless(l, within, value, tir_const(l->arena, (tn_dtype)value->dtype, 0)) : NULL;
  }
  return marked(l, SCHEDULE_MARKS_ALL, TIR_STAGE_POINT, ls, store_values(l, ls, values, stored));
}

/* The first of the reduction loops that nothing but reduction loops follows: in them an element is accumulated without
 * being stored. n_leaves: there is none. */
static int first_of_run(const schedule_stage *st) {
  int first = st->n_leaves;
  while (first > 0 && schedule_leaf(st, first - 1)->kind == SCHEDULE_REDUCE) first--;
  return first;
}

/* The value is the stage's position in the schedule. */
static const tir_stmt *tensor_mark(lowering *l, const char *kind, const schedule_stage *st, const tir_stmt *body) {
  return tir_attr(l->arena, runtime_format(l->arena, "%s%s", kind, st->intrin->name), st - l->s->stages, body);
}

/* A reduction's init, at its loop BEGIN, and UPDATE. An intrinsic may stand for the init, and for both where
 * no reduction loop stands outside of it. */
static const tir_stmt *with_init(lowering *l, const lower_stage *ls, int begin, const tir_stmt *update) {
  const schedule_stage *st = ls->st;
  bool is_whole = st->intrin && begin == schedule_tensor_position(st) && tir_intrin_has_body(st->intrin);
  bool resets = is_whole || (st->intrin && tir_intrin_has_reset(st->intrin));
  const tir_stmt *init = emit_init(l, ls, begin);
  const tir_stmt *both[] = {resets ? tensor_mark(l, TIR_TENSORIZE_RESET, st, init) : init, update};
  const tir_stmt *stmt = tir_seq(l->arena, 2, both);
  return is_whole ? tensor_mark(l, TIR_TENSORIZE_BODY, st, stmt) : stmt;
}

/* From the innermost loop outwards; a reduction's init stands before its outermost reduction loop. */
static const tir_stmt *emit_stage(lowering *l, int stage) {
  const lower_stage *ls = &l->stages[stage];
  const schedule_stage *st = ls->st;
  if (te_is_extern(st->op)) return marked(l, SCHEDULE_MARKS_NESTS, TIR_STAGE, ls, schedule_lower_call(l, ls));
  bool is_reduction = ls->body->op == TIR_REDUCE;
  int tensor = schedule_tensor_position(st);
  int begin = is_reduction ? RUNTIME_MIN(first_reduce_leaf(st), tensor) : st->n_leaves,
      run = is_reduction ? first_of_run(st) : begin;
  const tir_stmt *stmt = is_reduction ? emit_update(l, ls) : emit_element(l, ls);
  stmt = guarded(l, ls, ls->env[st->n_leaves], ls->axis_value, true, stmt);
  if (run != begin && run == st->n_leaves) stmt = marked(l, SCHEDULE_MARKS_ALL, TIR_STAGE_RUN, ls, stmt);
  for (int i = st->n_leaves - 1; i >= 0; i--) {
    stmt = schedule_with_prefetches(l, ls, i, with_attached(l, stage, st->leaves[i], stmt));
    stmt = make_loop(l, ls, i, ls->var[i], stmt);
    if (st->op->kind == TE_SCAN && st->leaves[i] == 0) stmt = part_time(l, ls, stmt);
    stmt = with_rolling(l, stage, st->leaves[i], stmt);
    if (run != begin && i == run) stmt = marked(l, SCHEDULE_MARKS_ALL, TIR_STAGE_RUN, ls, stmt);
    if (i == tensor) stmt = tensor_mark(l, TIR_TENSORIZE, st, stmt);
    if (i == begin) stmt = with_init(l, ls, begin, stmt);
  }
  return marked(l, SCHEDULE_MARKS_NESTS, TIR_STAGE, ls, stmt);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* The intrinsics of all stages, for the pass tensorize. */
static void add_intrins(lowering *l, tir_func *f) {
  const tir_intrin **intrins = RUNTIME_NEW_ARRAY(l->arena, const tir_intrin *, l->s->n_stages + 1);
  for (int i = 0; i < l->s->n_stages; i++)
    if (l->s->stages[i].intrin) intrins[f->n_intrins++] = l->s->stages[i].intrin;
  f->intrins = intrins;
}

/* Tensors first, in the order of the program's arguments, then what is passed by value. */
static tir_func *make_func(lowering *l, const char *name, const tir_stmt *body) {
  const tn_program *p = l->s->program;
  tir_func *f = RUNTIME_NEW(l->arena, tir_func);
  *f = (tir_func){.name = runtime_strdup(l->arena, name),
                  .n_scalars = l->n_scalars,
                  .scalars = l->scalars,
                  .env = l->root_env,
                  .index_dtype = l->index_dtype,
                  .body = body};
  add_intrins(l, f);
  if (l->part != SCHEDULE_WHOLE) {
    schedule_part_params(l, body, f);
    return f;
  }
  f->params = RUNTIME_NEW_ARRAY(l->arena, const tir_buffer *, p->n_args + 1);
  for (int i = 0; i < p->n_args; i++) {
    const lower_stage *ls = &l->stages[schedule_stage_of_tensor(l->s, p->args[i])];
    if (ls->scalar) continue;
    f->params[f->n_params++] = ls->buffers[p->args[i]->value_index];
    f->n_inputs += i < p->n_inputs;
  }
  return f;
}

/* Stages from the last to the first, each around what follows it: a buffer lives around its readers. Everything again
 * where the finished body needs i64. */
static tir_func *lower(lowering *l, const char *name) {
  if (!schedule_infer_bounds(l)) return NULL;
  if (l->part != SCHEDULE_WHOLE && schedule_find_packed(l) != TN_OK) return NULL;
  const tir_stmt *body = NULL;
  for (int i = 0; i < l->s->n_stages; i++)
    if (l->stages[i].is_live) {
      schedule_warn_masks(l, &l->stages[i]);
      schedule_warn_loops(l, &l->stages[i]);
    }
  const lower_stage *next = NULL;
  for (int i = l->s->n_stages - 1; i >= 0; i--) {
    const lower_stage *ls = &l->stages[i];
    if (!ls->is_live || ls->st->attach != SCHEDULE_ROOT || !schedule_in_part(l, i)) continue;
    body = produce_then(l, i, body, next);
    next = wants_join(ls) ? ls : NULL;
  }
  if (next) schedule_warn_join(l, next);
  if (body) schedule_prove_body(l, body);
  if (l->unfit.what) return schedule_widen(l) ? lower(l, name) : NULL;
  return make_func(l, name, body);
}

/* The caller has set what is lowered, and how. Its landing place is put back in every case. */
static tir_func *lower_safely(lowering *l, const char *name) {
  jmp_buf oom, *outer = l->arena->on_oom;
  if (setjmp(oom)) {
    l->arena->on_oom = outer;
    schedule_lowering_end(l);
    runtime_fail(l->ctx, TN_ERROR_MEMORY, "out of memory while lowering");
    return NULL;
  }
  l->arena->on_oom = &oom;
  tir_func *f = lower(l, name);
  l->arena->on_oom = outer;
  schedule_lowering_end(l);
  return f;
}

static lowering begin(const tn_schedule *s, runtime_arena *arena, schedule_part part) {
  return (lowering){.s = s, .ctx = s->ctx, .arena = arena, .part = part};
}

/* Marks change no loop. */
tir_func *schedule_lower_marked(const tn_schedule *s, const char *name, runtime_arena *arena, schedule_marks marks,
                                schedule_part part) {
  lowering l = begin(s, arena, part);
  l.marks = marks;
  return lower_safely(&l, name);
}

/* For the tuner and tests: before any pass, so that loops are as the schedule says. */
tir_func *schedule_lower(const tn_schedule *s, const char *name, runtime_arena *arena) {
  return schedule_lower_marked(s, name, arena, SCHEDULE_MARKS_NONE, SCHEDULE_WHOLE);
}

/* Before any pass. NULL after a message. */
static tir_func *first_form(lowering *l, const char *name, const tir_pass_options *options) {
  TN_SCOPE(COMPILE, 3, "lower");
  uint64_t start = runtime_now_ns();
  l->marks = options->marks_stages ? SCHEDULE_MARKS_NESTS : SCHEDULE_MARKS_NONE;
  l->is_narrow = options->index_bits == 32;
  tir_func *f = lower_safely(l, name);
  tir_say_time(l->ctx, "lower", start, false);
  return f;
}

/* Debug builds check the IR between passes. */
static tir_func *through_passes(lowering *l, tir_func *f, const tir_pass_options *options) {
  tir_pass_context p = {.ctx = l->ctx, .arena = l->arena, .options = *options};
  p.options.end_divisor = options->masks_are_dear || options->versions_rests ? schedule_divisor(l->s) : 0;
#ifndef NDEBUG
  p.options.check = true;
#endif
  return f ? tir_run_pipeline(&p, f) : NULL;
}

tir_func *schedule_lower_part(const tn_schedule *s, const char *name, runtime_arena *arena,
                              const tir_pass_options *options, schedule_part part, const tir_func **before) {
  if (s->n_variants > 0 && part != SCHEDULE_WHOLE) {
    runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                 "a kernel of several variants is not built in parts: each packs its layout_free inputs in another "
                 "layout; build the "
                 "whole");
    return NULL;
  }
  lowering l = begin(s, arena, part);
  tir_func *f = first_form(&l, name, options);
  if (before != NULL) *before = f;
  f = through_passes(&l, f, options);
  return f && s->n_variants > 0 ? schedule_with_variants(s, f, arena, options) : f;
}

tir_func *schedule_lower_kept(const tn_schedule *s, const char *name, runtime_arena *arena,
                              const tir_pass_options *options, schedule_part part) {
  lowering l = begin(s, arena, part);
  l.keeps = true;
  return through_passes(&l, first_form(&l, name, options), options);
}

tir_func *schedule_lower_with(const tn_schedule *s, const char *name, runtime_arena *arena,
                              const tir_pass_options *options) {
  return schedule_lower_part(s, name, arena, options, SCHEDULE_WHOLE, NULL);
}

tir_func *schedule_lower_and_optimize(const tn_schedule *s, const char *name, runtime_arena *arena) {
  return schedule_lower_with(s, name, arena, &(tir_pass_options){0});
}
