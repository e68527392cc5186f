/* bounds.c: bound inference. Stages are visited consumers first. The region a stage computes is the
 * hull of what its readers read, where the loops at or outside its attach point are fixed to one
 * iteration and all others take their whole range (TVM: InferBound). Extents are constants; a region's
 * first point may depend on the fixed loops. What cannot be bounded falls back to the whole tensor, so
 * a region is never too small. Everything is made in the lowering's arena, which jumps away when memory
 * runs out: allocations here are not checked. */
#include <stdarg.h>

#include "schedule/index.h"
#include "schedule/layout.h"
#include "schedule/region.h"
#include "schedule/tail.h"
#include "tir/linear.h"

/* Whether a loop around has that name: two loops of one name in a nest could not be told apart in text. */
static bool is_taken(const tir_env *env, const char *name) {
  for (; env; env = env->outer)
    if (env->var && env->var->name[0] == name[0] && strcmp(env->var->name, name) == 0) return true;
  return false;
}

/* NAME is kept by address when it is free. */
lower_var *schedule_new_var(lowering *l, const tir_env *env, const char *name, int64_t extent, const tir_expr *size) {
  lower_var *v = RUNTIME_NEW(l->arena, lower_var);
  const char *unique = name;
  char digits[RUNTIME_DIGITS];
  for (int i = 1; is_taken(env, unique); i++)
    unique = runtime_joined(l->arena, (const char *[]){name, "_", runtime_digits(i, digits), NULL});
  v->var = (tir_var){unique, l->index_dtype};
  v->extent = extent;
  v->size = size;
  return v;
}

/* ---- extents that symbols decide --------------------------------------------------------------------------------- */

/* SIZE wins: EXTENT is then only its greatest value. */
const tir_expr *schedule_extent(lowering *l, int64_t extent, const tir_expr *size) {
  return size ? size : schedule_index_int(l, extent);
}

/* In the stage's region, which can be smaller than the axis. */
const tir_expr *schedule_axis_extent(lowering *l, const lower_stage *ls, int axis) {
  return schedule_extent(l, ls->axis_extent[axis], ls->axis_size[axis]);
}

/* A size of te in the index dtype. Its intervals fit an i32 in every part, so that the wider type changes nothing. */
const tir_expr *schedule_lower_size(lowering *l, const tir_expr *e) {
  if (e->op == TIR_INT) return schedule_index_int(l, e->u.i);
  if (e->op == TIR_VAR) return tir_var_expr(l->arena, &l->symbols[te_symbol_number(l->s->program, e->u.var)]->var);
  return schedule_index_binary(l, (tir_op)e->op, schedule_lower_size(l, e->arg[0]), schedule_lower_size(l, e->arg[1]));
}

/* NULL: a number. */
static const tir_expr *tensor_size(lowering *l, const tn_tensor *tensor, int dim) {
  return tensor->size[dim] ? schedule_lower_size(l, tensor->size[dim]) : NULL;
}

const tir_expr *schedule_tensor_extent(lowering *l, const tn_tensor *tensor, int dim) {
  return schedule_extent(l, tensor->shape[dim], tensor_size(l, tensor, dim));
}

/* ---- axes of a stage --------------------------------------------------------------------------------------------- */

/* The product of the parts' extents in this region; schedule_prove_loops looks at it. */
static void infer_fused(lowering *l, lower_stage *ls, const schedule_relation *r) {
  int64_t product = 1;
  const tir_expr *size = schedule_index_int(l, 1);
  bool is_symbolic = false;
  for (int k = 0; k < r->n; k++) {
    if (__builtin_mul_overflow(product, ls->axis_extent[r->many[k]], &product)) product = INT64_MAX;
    is_symbolic = is_symbolic || ls->axis_size[r->many[k]];
    size = schedule_index_binary(l, TIR_MUL, size, schedule_axis_extent(l, ls, r->many[k]));
  }
  ls->axis_extent[r->one] = product;
  ls->axis_size[r->one] = is_symbolic ? size : NULL;
}

/* Extents in the region: lengths are cut as they are in a split, so that a region of 4 under a split by
 * 16 has one block. */
static void infer_children(lowering *l, lower_stage *ls, const schedule_relation *r) {
  int64_t extents[16], lengths[16];
  const tir_expr *size = ls->axis_size[r->one];
  for (int k = 0; k + 1 < r->n; k++) lengths[k] = ls->st->axes[r->many[r->inner_to_outer ? k + 1 : k]].extent;
  schedule_child_extents(ls->axis_extent[r->one], size != NULL, r->n - 1, lengths, r->inner_to_outer, extents);
  for (int k = 0; k < r->n; k++) ls->axis_extent[r->many[k]] = extents[k];
  if (size)
    ls->axis_size[r->many[r->inner_to_outer ? 0 : r->n - 1]] = schedule_rest_size(l->arena, size, r->n - 1, lengths);
}

/* In the order in which relations were made: an axis is there before what is made of it. */
static void infer_axis_extents(lowering *l, lower_stage *ls) {
  const schedule_stage *st = ls->st;
  ls->axis_extent = RUNTIME_NEW_ARRAY(l->arena, int64_t, st->n_axes + 1);
  ls->axis_size = RUNTIME_NEW_ARRAY(l->arena, const tir_expr *, st->n_axes + 1);
  for (int i = 0; i < st->n_roots; i++) {
    bool is_data = i < st->n_spatial_roots;
    ls->axis_extent[i] = is_data ? ls->extent[i] : st->axes[i].extent;
    ls->axis_size[i] = is_data ? ls->size[i] : st->axes[i].size ? schedule_lower_size(l, st->axes[i].size) : NULL;
  }
  for (int i = 0; i < st->n_relations; i++) {
    if (st->relations[i].is_fuse)
      infer_fused(l, ls, &st->relations[i]);
    else
      infer_children(l, ls, &st->relations[i]);
  }
}

/* The last place where a block of LENGTH begins. */
static const tir_expr *last_begin(lowering *l, const lower_stage *ls, int axis, int64_t length) {
  if (!ls->axis_size[axis]) return schedule_index_int(l, ls->axis_extent[axis] - length);
  return schedule_index_binary(l, TIR_SUB, ls->axis_size[axis], schedule_index_int(l, length));
}

/* parent = (child0 * extent1 + child1) * extent2 + ...; with tail overlap the last block begins where it just fits. */
static void split_value(lowering *l, const lower_stage *ls, const schedule_relation *r, const tir_expr **values) {
  const tir_expr *value = values[r->many[0]];
  for (int k = 1; k < r->n; k++) {
    int64_t extent = ls->axis_extent[r->many[k]];
    value = schedule_index_binary(l, TIR_MUL, value, schedule_axis_extent(l, ls, r->many[k]));
    if (k == r->n - 1 && r->tail == TN_TAIL_OVERLAP && !schedule_is_exact(ls, r))
      value = schedule_index_binary(l, TIR_MIN, value, last_begin(l, ls, r->one, extent));
    value = schedule_index_binary(l, TIR_ADD, value, values[r->many[k]]);
  }
  values[r->one] = value;
}

/* The last part counts fastest; the first needs no modulo. */
static void fuse_values(lowering *l, const lower_stage *ls, const schedule_relation *r, const tir_expr **values) {
  const tir_expr *rest = values[r->one];
  for (int k = r->n - 1; k > 0; k--) {
    const tir_expr *extent = schedule_axis_extent(l, ls, r->many[k]);
    values[r->many[k]] = schedule_index_binary(l, TIR_FLOORMOD, rest, extent);
    rest = schedule_index_binary(l, TIR_FLOORDIV, rest, extent);
  }
  values[r->many[0]] = rest;
}

/* From the leaves upwards: backwards through the relations. */
void schedule_axis_values(lowering *l, const lower_stage *ls, const tir_expr **values) {
  for (int i = ls->st->n_relations - 1; i >= 0; i--) {
    const schedule_relation *r = &ls->st->relations[i];
    if (r->is_fuse)
      fuse_values(l, ls, r, values);
    else
      split_value(l, ls, r, values);
  }
}

/* A node in the arena; nothing is undone when the loop is left. */
const tir_env *schedule_enter_loop(lowering *l, const tir_env *outer, const lower_var *v) {
  tir_env *env = RUNTIME_NEW(l->arena, tir_env);
  *env = (tir_env){.outer = outer, .var = &v->var, .range = {0, v->extent - 1}};
  if (v->size) env->cond = schedule_index_binary(l, TIR_LT, tir_var_expr(l->arena, &v->var), v->size);
  return env;
}

/* Loop variables, axis values and known ranges; a loop of one iteration is the constant 0. */
static void make_loops(lowering *l, lower_stage *ls) {
  const schedule_stage *st = ls->st;
  infer_axis_extents(l, ls);
  ls->var = RUNTIME_NEW_ARRAY(l->arena, lower_var *, st->n_leaves + 1);
  ls->env = RUNTIME_NEW_ARRAY(l->arena, const tir_env *, st->n_leaves + 1);
  ls->axis_value = RUNTIME_NEW_ARRAY(l->arena, const tir_expr *, st->n_axes + 1);
  const tir_env *env = l->root_env;
  if (st->attach == SCHEDULE_AT) {
    const lower_stage *target = &l->stages[st->at_stage];
    env = target->env[schedule_leaf_position(target->st, st->at_axis)];
  }
  for (int i = 0; i < st->n_leaves; i++) {
    int axis = st->leaves[i];
    ls->var[i] = schedule_new_var(l, env, st->axes[axis].name, ls->axis_extent[axis], ls->axis_size[axis]);
    bool is_loop = ls->axis_extent[axis] > 1;
    ls->axis_value[axis] = is_loop ? tir_var_expr(l->arena, &ls->var[i]->var) : schedule_index_int(l, 0);
    ls->env[i] = env = is_loop ? schedule_enter_loop(l, env, ls->var[i]) : env;
  }
  ls->env[st->n_leaves] = env;
  schedule_axis_values(l, ls, ls->axis_value);
}

/* ---- te expressions as loop IR ----------------------------------------------------------------------------------- */

/* A cast that value lowering put around an axis or a symbol, which are i32 by definition; one of the program's has
 * such a cast inside. */
static bool is_of_axis(const tir_expr *cast) { return !tir_has_op(cast->arg[0], TIR_CAST); }

/* Whether E has the same value in the index dtype: no part of it wraps in its own dtype, nor would in the other one.
 * What a program computes in an index wraps as te says, so arithmetic that could is left as it is. */
static bool keeps_value(const lowering *l, const tir_env *env, const tir_expr *e) {
  bool is_cast = e->op == TIR_CAST && e->arg[0]->dtype == l->index_dtype;
  if (is_cast && is_of_axis(e)) return true;
  bool is_arithmetic = tir_is_index_op((tir_op)e->op) && e->n_args == 2;
  tir_interval own = tir_dtype_range((tn_dtype)e->dtype), r = tir_bounds(env, is_cast ? e->arg[0] : e);
  if (!tir_interval_within(r, own) || !tir_interval_within(r, tir_dtype_range(l->index_dtype))) return false;
  if (e->op == TIR_INT) return true;
  if (is_cast) return true;
  bool can_wrap = r.lo == own.lo && r.hi == own.hi; /* or has all values of a narrow dtype */
  return is_arithmetic && !can_wrap && keeps_value(l, env, e->arg[0]) && keeps_value(l, env, e->arg[1]);
}

/* The same operators in the index dtype. The caller has shown that nothing wraps. */
static const tir_expr *retyped(lowering *l, const tir_expr *e) {
  if (e->op == TIR_INT) return schedule_index_int(l, e->u.i);
  if (e->op == TIR_CAST) return e->arg[0];
  return schedule_index_binary(l, (tir_op)e->op, retyped(l, e->arg[0]), retyped(l, e->arg[1]));
}

/* An integer te expression in the index dtype. With i32 indices it is mostly the expression; with i64 the casts that
 * value lowering put around loop variables come off again. */
static const tir_expr *to_index(lowering *l, const tir_env *env, const tir_expr *e) {
  if (!e || e->dtype == l->index_dtype) return e;
  return keeps_value(l, env, e) ? retyped(l, e) : tir_cast(l->arena, l->index_dtype, e);
}

/* A body on its way to loop IR: VALUES are the axes as expressions of loops. */
typedef struct expr_lowering {
  lowering *l;
  const lower_stage *ls;
  const tir_expr **values;
} expr_lowering;

/* A data axis counts from the region's first point. A variable that is neither axis nor symbol stays. */
static const tir_expr *lower_axis(const expr_lowering *x, const tir_expr *e) {
  lowering *l = x->l;
  const te_op *op = x->ls->st->op;
  for (int i = 0; i < op->n_axes; i++)
    if (e->u.var == &op->axes[i]->var)
      return tir_cast(l->arena, (tn_dtype)e->dtype, schedule_index_binary(l, TIR_ADD, x->ls->min[i], x->values[i]));
  for (int i = 0; i < op->n_reduce; i++)
    if (e->u.var == &op->reduce_axes[i]->var) return tir_cast(l->arena, (tn_dtype)e->dtype, x->values[op->n_axes + i]);
  int symbol = te_symbol_number(l->s->program, e->u.var);
  return symbol < 0 ? e : tir_cast(l->arena, (tn_dtype)e->dtype, tir_var_expr(l->arena, &l->symbols[symbol]->var));
}

/* What makes an expression more than index arithmetic. */
static tir_walk stop_at_data(void *user, const tir_expr *e) {
  (void)user;
  bool is_scalar = e->op == TIR_VAR && ((const lower_var *)e->u.var)->is_data;
  return e->op == TIR_LOAD || is_scalar ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether an expression of loop IR has no part that is data: loads, scalar arguments. */
static bool is_of_indices(const tir_expr *e) { return tir_walk_expr(e, stop_at_data, NULL); }

/* INDEX < SIZE, in a type that holds both. */
static const tir_expr *below_size(lowering *l, const tir_expr *index, const tir_expr *size) {
  tn_dtype dtype = index->dtype == size->dtype ? (tn_dtype)size->dtype : TN_I64;
  return tir_binary(l->arena, TIR_LT, tir_cast(l->arena, dtype, index), tir_cast(l->arena, dtype, size));
}

/* Adds to COND (or NULL) that INDEX, in its own dtype, is one of the extent; as far as that cannot be proved. */
static const tir_expr *and_inside(const expr_lowering *x, const tir_expr *cond, const tir_expr *index,
                                  const tn_tensor *tensor, int dim) {
  runtime_arena *arena = x->l->arena;
  const tir_env *env = x->ls->env[x->ls->st->n_leaves];
  tn_dtype dtype = (tn_dtype)index->dtype;
  int64_t extent = tensor->shape[dim];
  const tir_expr *limit = tir_int(arena, dtype, extent - 1), *size = tensor_size(x->l, tensor, dim);
  const tir_expr *sides[] = {tir_binary(arena, TIR_GE, index, tir_int(arena, dtype, 0)),
                             size ? below_size(x->l, index, size) : tir_binary(arena, TIR_LE, index, limit)};
  bool needed[] = {tn_dtype_is_signed(dtype), size || limit->u.i == extent - 1};
  for (int i = 0; i < 2; i++) {
    if (!needed[i] || tir_prove(arena, env, sides[i])) continue;
    cond = cond ? tir_binary(arena, TIR_AND, cond, sides[i]) : sides[i];
  }
  return cond;
}

/* INDEX itself where the buffer is the region in row-major order, which is the rule. */
const tir_expr *const *schedule_place(lowering *l, const lower_stage *ls, const tir_expr *const *index,
                                      const tir_expr **buffer) {
  const tir_expr *rolled[TN_MAX_RANK];
  if (!ls->roll.by && !ls->layout) return index;
  for (int i = 0; i < ls->st->tensors->ndim; i++)
    rolled[i] = ls->roll.by && i == ls->roll.dim ? schedule_rolled_index(l, ls, index[i]) : index[i];
  if (ls->layout)
    schedule_layout_index(l, ls->layout, rolled, buffer);
  else
    memcpy(buffer, rolled, sizeof *rolled * (size_t)ls->st->tensors->ndim);
  return buffer;
}

/* INDEX has one expression for each dimension of the tensor. */
const tir_expr *schedule_load(lowering *l, const lower_stage *from, int v, const tir_expr *const *index,
                              const tir_expr *predicate) {
  const tir_expr *place[TN_MAX_RANK];
  const tir_buffer *buffer = from->buffers[v];
  return tir_load(l->arena, buffer, buffer->ndim, schedule_place(l, from, index, place), predicate);
}

/* An index from data is computed in its own dtype, where it wraps as te says; what is outside gives 0. */
static const tir_expr *lower_read(const expr_lowering *x, const tir_expr *e) {
  lowering *l = x->l;
  const lower_stage *from = &l->stages[schedule_stage_of_tensor(l->s, e->u.tensor)];
  const tir_expr *index[TN_MAX_RANK] = {NULL}, *inside = NULL;
  if (from->scalar) return tir_var_expr(l->arena, &from->scalar->var);
  for (int i = 0; i < e->n_args; i++) {
    bool is_data = !is_of_indices(e->arg[i]);
    index[i] = is_data ? tir_cast(l->arena, l->index_dtype, e->arg[i])
                       : to_index(l, x->ls->env[x->ls->st->n_leaves], e->arg[i]);
    if (x->ls->may_leave) inside = and_inside(x, inside, e->arg[i], e->u.tensor, i);
    int64_t min = 0;
    if (!from->is_live || (tir_is_int(from->min[i], &min) && min == 0)) continue;
    index[i] = tir_simplify(l->arena, x->ls->env[x->ls->st->n_leaves],
                            schedule_index_binary(l, TIR_SUB, index[i], from->min[i]));
  }
  return schedule_load(l, from, e->u.tensor->value_index, index, inside);
}

/* Bottom-up: an index is lowered before the read around it. */
static const tir_expr *lower_node(void *user, const tir_expr *e) {
  const expr_lowering *x = user;
  if (e->op == TIR_VAR) return lower_axis(x, e);
  if (e->op == TIR_READ) return lower_read(x, e);
  return e;
}

/* VALUES has an entry for each axis of the stage, at least for its roots. */
const tir_expr *schedule_lower_expr(lowering *l, const lower_stage *ls, const tir_expr **values, const tir_expr *e) {
  expr_lowering x = {l, ls, values};
  tir_rewriter rewriter = {l->arena, NULL, lower_node, &x};
  return tir_rewrite_expr(&rewriter, e);
}

/* What may wrap as te says is cast as it is; the rest is computed in the index dtype. */
static const tir_expr *lower_index(lowering *l, const lower_stage *ls, const tir_expr **values, const tir_expr *e) {
  return to_index(l, ls->env[ls->st->n_leaves], schedule_lower_expr(l, ls, values, e));
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* Leaves FIRST .. LAST of a stage. */
static void mark_loops(const lower_stage *ls, int first, int last, bool relaxed) {
  for (int i = first; i <= last; i++) ls->var[i]->relaxed = relaxed;
}

/* Marks the loops around and of a reader: relaxed, unless they are at or outside the producer's attach point. */
static void mark_path(lowering *l, const schedule_stage *producer, int reader) {
  int last = l->stages[reader].st->n_leaves - 1;
  bool relaxed = true;
  for (int at = reader;;) {
    const lower_stage *ls = &l->stages[at];
    int fixed = -1;
    if (producer->attach == SCHEDULE_AT && producer->at_stage == at) {
      fixed = schedule_leaf_position(ls->st, producer->at_axis);
      relaxed = false;
      mark_loops(ls, fixed + 1, last, true);
      last = fixed;
    }
    mark_loops(ls, 0, last, relaxed);
    if (ls->st->attach != SCHEDULE_AT) return;
    last = schedule_leaf_position(l->stages[ls->st->at_stage].st, ls->st->at_axis);
    at = ls->st->at_stage;
  }
}

/* The hull of what readers read of one producer, in the making. */
typedef struct region {
  lowering *l;
  const lower_stage *reader;
  const schedule_stage *producer;
  const tn_tensor *only; /* NULL: any tensor of the producer, which are alike; those of an extern are not */
  bool is_read;
  schedule_range dim[TN_MAX_RANK];
} region;

/* Unknown gives the whole dimension in the end. */
static schedule_range read_range(region *r, const tir_expr *index) {
  if (tir_has_op(index, TIR_READ)) return (schedule_range){NULL, 0}; /* what depends on data has no range */
  const tir_expr *lowered = lower_index(r->l, r->reader, r->reader->axis_value, index);
  return schedule_index_fits(r->l, lowered) ? schedule_range_of(r->l, lowered) : (schedule_range){NULL, 0};
}

static void add_read(region *r, const tir_expr *read) {
  for (int i = 0; i < read->n_args; i++) {
    schedule_range range = read_range(r, read->arg[i]);
    r->dim[i] = r->is_read ? schedule_range_hull(r->l, r->dim[i], range) : range;
  }
  r->is_read = true;
}

/* All reads of a reader are joined; several readers, too. */
static void add_reads(region *r) {
  for (const body_read *read = r->reader->first_read; read; read = read->next) {
    const tn_tensor *tensor = read->expr->u.tensor;
    if (schedule_has_tensor(r->producer, tensor) && (!r->only || tensor == r->only)) add_read(r, read->expr);
  }
}

/* A tile in registers is as long as a number says, though a symbol may end the tensor before: what lies behind is guarded. */
static bool is_tile(const lower_stage *ls, schedule_range range) {
  return range.extent && ls->st->attach == SCHEDULE_AT && strcmp(ls->st->scope, "local") == 0;
}

/* Cuts a range to the tensor: points outside are never needed (reads there are guarded). */
static void set_region(lowering *l, lower_stage *ls, const tn_tensor *tensor, int dim, schedule_range range) {
  bool keeps_length = is_tile(ls, range) && tensor->size[dim];
  int64_t shape = keeps_length ? RUNTIME_MAX(tensor->shape[dim], range.extent) : tensor->shape[dim], first;
  ls->min[dim] = schedule_index_int(l, 0);
  ls->extent[dim] = shape;
  ls->size[dim] = is_tile(ls, range) ? NULL : tensor_size(l, tensor, dim);
  if (!range.extent || (range.extent >= shape && !keeps_length)) return;
  const tir_expr *min = tir_simplify(l->arena, l->env, range.min);
  if (tir_is_int(min, &first)) {
    int64_t begin = RUNTIME_MAX(first, 0), end = RUNTIME_MIN(first + range.extent, shape);
    if (end <= begin) return;
    min = schedule_index_int(l, begin);
    range.extent = end - begin;
  }
  ls->min[dim] = min;
  ls->extent[dim] = range.extent;
  ls->size[dim] = NULL;
}

/* All of it: of an extern, whose tensors have ranks of their own, as many dimensions as there can be. */
static void set_whole(lowering *l, lower_stage *ls) {
  const tn_tensor *t = ls->st->tensors;
  for (int i = 0; i < TN_MAX_RANK; i++) {
    ls->min[i] = schedule_index_int(l, 0);
    ls->extent[i] = i < t->ndim ? t->shape[i] : 1;
    ls->size[i] = i < t->ndim ? tensor_size(l, t, i) : NULL;
  }
}

/* Readers first, since a region depends on theirs. A stage that nobody reads is not live and gets no
 * loops. But a call is made whoever reads it: inlining may drop the last read of what it computes, and a
 * schedule decides nothing about effects. */
static void infer_region(lowering *l, int stage) {
  lower_stage *ls = &l->stages[stage];
  region r = {.l = l, .producer = ls->st};
  bool is_whole = schedule_is_output(l->s, stage) || te_is_extern(ls->st->op);
  uint64_t tensors = 0;
  for (int v = 0; v < ls->st->n_tensors; v++) tensors |= schedule_tensor_bit(&ls->st->tensors[v]);
  for (int i = stage + 1; i < l->s->n_stages; i++) {
    r.reader = &l->stages[i];
    if (!r.reader->is_live) continue;
    if (te_is_extern(r.reader->st->op)) {
      is_whole |= schedule_reads_stage(r.reader->st, ls->st);
      continue;
    }
    l->env = r.reader->env[r.reader->st->n_leaves];
    if (!(r.reader->reads & tensors)) continue;
    mark_path(l, ls->st, i);
    add_reads(&r);
  }
  ls->is_live = r.is_read || is_whole;
  is_whole |= ls->st->op->kind != TE_COMPUTE;
  if (is_whole) set_whole(l, ls);
  for (int i = 0; !is_whole && i < ls->st->tensors[0].ndim; i++) set_region(l, ls, ls->st->tensors, i, r.dim[i]);
}

/* Asks as if the tensor were computed at the loop: a prefetch wants what compute_at would compute. Of a stage with
 * several results only the one that is asked for counts: not each of them is read, nor read alike. */
bool schedule_read_box(lowering *l, int stage, int leaf, const lower_var *of, const tn_tensor *tensor,
                       schedule_box *out) {
  const lower_stage *ls = &l->stages[stage];
  schedule_stage inside = l->s->stages[schedule_stage_of_tensor(l->s, tensor)]; /* as if it were computed there */
  inside.attach = SCHEDULE_AT;
  inside.at_stage = (int16_t)stage;
  inside.at_axis = ls->st->leaves[leaf];
  region r = {.l = l, .producer = &inside, .only = tensor};
  for (int i = 0; i < l->s->n_stages; i++) {
    r.reader = &l->stages[i];
    if (!r.reader->is_live || !r.reader->body || schedule_inside(l->s, i, stage) < leaf) continue;
    mark_path(l, &inside, i);
    l->env = r.reader->env[r.reader->st->n_leaves];
    add_reads(&r);
  }
  lower_stage box = {.st = &inside};
  bool moves = false;
  for (int i = 0; r.is_read && i < tensor->ndim; i++) {
    set_region(l, &box, tensor, i, r.dim[i]);
    if (box.size[i]) return false;
    moves |= tir_uses_var(box.min[i], &of->var);
    out->min[i] = box.min[i];
    out->extent[i] = box.extent[i];
  }
  return moves;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* A stage's map was checked, and kept, when it was given. */
static const schedule_layout *read_layout(lowering *l, const schedule_stage *st) {
  const char *where;
  const schedule_known_map *known = st->layout ? schedule_map_of_text(l->s->program, st->layout) : NULL;
  if (known) return &known->layout;
  schedule_layout *layout = st->layout ? RUNTIME_NEW(l->arena, schedule_layout) : NULL;
  return layout && !schedule_layout_read(st->layout, layout, &where) ? layout : NULL;
}

/* A number where it is one, so that shapes are constants wherever they can be. */
static void set_dimension(tir_buffer *buffer, int dim, const tir_expr *extent) {
  bool is_number = tir_is_int(extent, &buffer->shape[dim]);
  if (!is_number) buffer->shape[dim] = -1;
  buffer->size[dim] = is_number ? NULL : extent;
}

/* Of the region, with room for padding and alignment. Strides of arguments come with the call. */
static const tir_buffer *make_buffer(lowering *l, const lower_stage *ls, const tn_tensor *tensor, bool is_param) {
  tir_buffer *buffer = RUNTIME_NEW(l->arena, tir_buffer);
  *buffer = (tir_buffer){.name = tensor->name,
                         .dtype = tensor->dtype,
                         .ndim = tensor->ndim,
                         .scope = ls->st->scope,
                         .is_param = is_param,
                         .is_input = te_is_placeholder(ls->st->op)};
  const tir_expr *extent[TN_MAX_RANK];
  for (int i = 0; i < tensor->ndim; i++)
    extent[i] = ls->is_live && !te_is_extern(ls->st->op) ? schedule_padded_extent(l, ls, i)
                                                         : schedule_tensor_extent(l, tensor, i);
  if (ls->roll.by) extent[ls->roll.dim] = tir_int(l->arena, l->index_dtype, ls->roll.room);
  if (ls->layout) {
    buffer->ndim = ls->layout->n_out;
    for (int i = 0; i < ls->layout->n_out; i++)
      set_dimension(buffer, i, schedule_layout_extent(l, &ls->layout->digits[i], extent));
  } else {
    for (int i = 0; i < tensor->ndim; i++) set_dimension(buffer, i, extent[i]);
    const lower_var *stride = ls->stride ? ls->stride[tensor->value_index] : NULL;
    for (int i = 0; stride && i < tensor->ndim - 1; i++) buffer->stride[i] = tir_var_expr(l->arena, &stride[i].var);
    if (ls->st->align_factor && !schedule_align_shape(ls->st, buffer->shape) && tensor->value_index == 0)
      schedule_lowering_warn(
          l, "storage_align(%s, %s): no room between rows gives a stride of %d modulo %d: it has no effect",
          tensor->name, ls->st->axes[ls->st->align_dim].name, ls->st->align_offset, ls->st->align_factor);
  }
  return buffer;
}

/* Its memory is the caller's. */
static bool is_argument(const lowering *l, const tn_tensor *tensor) {
  for (int i = 0; i < l->s->program->n_args; i++)
    if (l->s->program->args[i] == tensor) return true;
  return false;
}

/* Whether i32 need not be tried: strides may be anything, or a tensor alone has more elements than it counts. */
static bool needs_i64(const tn_schedule *s) {
  for (int i = 0; i < s->program->n_args; i++)
    if (s->program->args[i]->is_strided) return true;
  for (int i = 0; i < s->program->n_args; i++) {
    const tn_tensor *t = s->program->args[i];
    double elements = 1;
    for (int d = 0; d < t->ndim; d++) elements *= (double)t->shape[d];
    if (elements - 1 > INT32_MAX) return true;
  }
  return false;
}

/* Knows VAR, with values from LO to HI, everywhere. */
static void bind_scalar(lowering *l, const lower_var *v, bool is_symbol, int64_t lo, int64_t hi) {
  tir_env *env = RUNTIME_NEW(l->arena, tir_env);
  *env = (tir_env){.outer = l->root_env, .var = &v->var, .range = {lo, hi}};
  l->root_env = env;
  l->scalars[l->n_scalars++] = (tir_scalar){&v->var, is_symbol};
}

/* Of strided arguments, behind the symbols. */
static void make_strides(lowering *l) {
  const tn_program *p = l->s->program;
  for (int i = 0; i < p->n_args; i++) {
    const tn_tensor *t = p->args[i];
    if (!t->is_strided) continue;
    lower_stage *ls = &l->stages[schedule_stage_of_tensor(l->s, t)];
    lower_var *v = RUNTIME_NEW_ARRAY(l->arena, lower_var, t->ndim);
    for (int d = 0; d < t->ndim - 1; d++) {
      v[d] = (lower_var){.var = {runtime_format(l->arena, "%s.stride%d", t->name, d), l->index_dtype}};
      bind_scalar(l, &v[d], true, 0, RUNTIME_MAX_STRIDE);
    }
    if (!ls->stride) ls->stride = RUNTIME_NEW_ARRAY(l->arena, const lower_var *, TIR_MAX_VALUES);
    ls->stride[t->value_index] = v;
  }
}

/* Inputs that are passed by value, and symbols. */
static void make_scalars(lowering *l) {
  const tn_program *p = l->s->program;
  l->scalars = RUNTIME_NEW_ARRAY(l->arena, tir_scalar, p->n_args * TN_MAX_RANK + p->n_symbols + 1);
  l->symbols = RUNTIME_NEW_ARRAY(l->arena, lower_var *, p->n_symbols + 1);
  for (int i = 0; i < p->n_inputs; i++) {
    const tn_tensor *t = p->args[i];
    if (!t->by_value) continue;
    lower_var *v = RUNTIME_NEW(l->arena, lower_var);
    *v = (lower_var){.var = {t->name, t->dtype}, .is_data = true};
    l->stages[schedule_stage_of_tensor(l->s, t)].scalar = v;
    bind_scalar(l, v, false, INT64_MIN, INT64_MAX);
  }
  for (int i = 0; i < p->n_symbols; i++) {
    const tn_axis *symbol = p->symbols[i];
    l->symbols[i] = RUNTIME_NEW(l->arena, lower_var);
    *l->symbols[i] = (lower_var){.var = {symbol->var.name, l->index_dtype}};
    bind_scalar(l, l->symbols[i], true, symbol->least, symbol->extent);
  }
  make_strides(l);
}

/* From the last stage to the first: a stage's region is what its readers, which are known by then, need. */
static void infer_stage(lowering *l, int stage) {
  lower_stage *ls = &l->stages[stage];
  bool is_input = te_is_placeholder(ls->st->op);
  if (!is_input && ls->st->attach != SCHEDULE_INLINED) infer_region(l, stage);
  if (ls->is_live) {
    make_loops(l, ls);
    schedule_prove_loops(l, ls);
  }
  schedule_find_roll(l, ls);
  ls->layout = read_layout(l, ls->st);
  ls->buffers = RUNTIME_NEW_ARRAY(l->arena, const tir_buffer *, ls->st->n_tensors);
  for (int v = 0; v < ls->st->n_tensors && !ls->scalar; v++)
    ls->buffers[v] = make_buffer(l, ls, &ls->st->tensors[v], is_argument(l, &ls->st->tensors[v]));
  if (ls->is_live || is_input) schedule_prove_buffers(l, ls);
}

/* Stages from the last to the first: every reader's region is known before what it reads is looked at. */
bool schedule_infer_bounds(lowering *l) {
  if (!l->stages) {
    l->index_dtype = needs_i64(l->s) && !l->is_narrow ? TN_I64 : TN_I32;
    runtime_map_lend(&l->parts, l->small_parts, LOWER_PARTS);
  }
  l->stages = RUNTIME_NEW_ARRAY(l->arena, lower_stage, l->s->n_stages + 1);
  if (!schedule_inline_bodies(l)) return false;
  make_scalars(l);
  for (int i = l->s->n_stages - 1; i >= 0 && !l->unfit.what; i--) infer_stage(l, i);
  return !l->unfit.what || (schedule_widen(l) && schedule_infer_bounds(l));
}

/* In the order in which they were noted: the list holds the last one first. */
static void say_warnings(const lowering *l, const schedule_warning *last) {
  if (!last) return;
  say_warnings(l, last->before);
  runtime_say(l->ctx, TN_SEVERITY_WARNING, "%s", last->text);
}

void schedule_lowering_end(lowering *l) {
  say_warnings(l, l->warnings);
  runtime_map_free(&l->parts);
}

void schedule_lowering_warn(lowering *l, const char *format, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, format);
  schedule_warning warning = {text.failed ? format : runtime_strdup(l->arena, text.data), l->warnings};
  l->warnings = runtime_copy(l->arena, &warning, sizeof warning);
  runtime_str_free(&text);
}
