/* prefetch.c: the primitive prefetch: at a loop, the region of a tensor that a later iteration reads is asked for, a
 * cache line at a time, before the loop's body (TVM: Stage::prefetch, InjectPrefetch). */
#include <stdio.h>

#include "schedule/lowering.h"

enum { MAX_OFFSET = 1 << 20, LINE_BYTES = 64 };

static tn_status no_memory(tn_schedule *s) {
  return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
}

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* Whether something that runs inside the loop reads the tensor. */
static bool is_read_inside(const tn_schedule *s, int stage, int iter, int tensor) {
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(s, tensor, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++)
    if (schedule_inside(s, readers[i], stage) >= iter) return true;
  return false;
}

static tn_status check_tensor(tn_schedule *s, const char *call, int stage, int iter, int tensor) {
  if (tensor < 0 || tensor >= s->n_stages)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: there is no stage %d: take 0 to %d", call, tensor,
                        s->n_stages - 1);
  const schedule_stage *st = &s->stages[stage], *of = &s->stages[tensor];
  const char *name = schedule_stage_name(of), *axis = schedule_leaf(st, iter)->name;
  if (of->tensors->by_value)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is a scalar: it is passed by value and lies in a register; name a tensor", call, name);
  if (of->attach == SCHEDULE_INLINED)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is inlined and lies nowhere in memory: name what it reads, or call compute_root(%s)",
                        call, name, name);
  if (of->attach == SCHEDULE_AT && schedule_inside(s, tensor, stage) >= iter)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is computed inside loop %s, so that a later iteration's part is not in memory: name "
                        "what it reads, or call compute_root(%s)",
                        call, name, axis, name);
  if (of->layout)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: the layout of %s is %s, in which a region is no rows of memory: use one of prefetch and "
                        "transform_layout",
                        call, name, of->layout);
  if (is_read_inside(s, stage, iter, tensor)) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                      "%s: nothing inside loop %s of %s reads %s: name a tensor that is read there", call, axis,
                      schedule_stage_name(st), name);
}

static tn_status check_prefetch(tn_schedule *s, const char *call, int stage, int iter, int tensor, int64_t offset) {
  SCHEDULE_TRY(schedule_check_iter(s, call, stage, iter));
  SCHEDULE_TRY(schedule_check_outside(s, call, stage, iter));
  SCHEDULE_TRY(check_tensor(s, call, stage, iter, tensor));
  const schedule_stage *st = &s->stages[stage];
  const schedule_axis *axis = schedule_leaf(st, iter);
  if (offset < 1 || offset > MAX_OFFSET)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: offset %lld: a prefetch is for a later iteration; give 1 to %d iterations", call,
                        (long long)offset, MAX_OFFSET);
  for (int i = 0; i < st->n_prefetches; i++)
    if (st->prefetches[i].axis == st->leaves[iter] && st->prefetches[i].tensor == s->stages[tensor].tensors)
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: loop %s already prefetches %s (offset %d): give one offset",
                          call, axis->name, schedule_stage_name(&s->stages[tensor]), st->prefetches[i].offset);
  return TN_OK;
}

bool schedule_has_prefetch(const schedule_stage *st, int axis) {
  for (int i = 0; i < st->n_prefetches; i++)
    if (st->prefetches[i].axis == axis) return true;
  return false;
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

/* Invariant: a prefetch changes no value, and names elements of the tensor only. */
tn_status schedule_prefetch(tn_schedule *s, int stage, int tensor, int iter, int64_t offset) {
  char call[1024];
  bool exists = stage >= 0 && stage < s->n_stages, has_tensor = tensor >= 0 && tensor < s->n_stages;
  snprintf(
      call, sizeof call, "prefetch(%s, %s, %s)", exists ? schedule_stage_name(&s->stages[stage]) : "?",
      has_tensor ? schedule_stage_name(&s->stages[tensor]) : "?",
      exists && iter >= 0 && iter < s->stages[stage].n_leaves ? schedule_leaf(&s->stages[stage], iter)->name : "?");
  SCHEDULE_TRY(check_prefetch(s, call, stage, iter, tensor, offset));
  schedule_stage *st = &s->stages[stage];
  schedule_step step = {.kind = SCHEDULE_STEP_PF,
                        .stage = (int16_t)stage,
                        .iter = (int16_t)iter,
                        .target_stage = (int16_t)tensor,
                        .value = offset};
  schedule_prefetch_request *grown = RUNTIME_NEW_ARRAY(&s->arena, schedule_prefetch_request, st->n_prefetches + 1);
  if (!grown || !schedule_push_step(s, &step)) return no_memory(s);
  if (st->n_prefetches) memcpy(grown, st->prefetches, sizeof *grown * (size_t)st->n_prefetches);
  grown[st->n_prefetches++] = (schedule_prefetch_request){s->stages[tensor].tensors, st->leaves[iter], (int32_t)offset};
  st->prefetches = grown;
  return TN_OK;
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

static void warn(lowering *l, const lower_stage *ls, const schedule_prefetch_request *p, const char *why) {
  runtime_say(l->ctx, TN_SEVERITY_WARNING, "prefetch(%s, %s, %s) has no effect: %s", schedule_stage_name(ls->st),
              p->tensor->name, ls->st->axes[p->axis].name, why);
}

/* Why there is nothing to prefetch, or NULL. */
static const char *objection(lowering *l, const lower_stage *ls, int leaf, const lower_stage *from) {
  int stage = (int)(ls - l->stages), of = (int)(from - l->stages);
  if (ls->var[leaf]->extent == 1) return "the loop has one iteration";
  if (from->st->attach == SCHEDULE_INLINED) return "the tensor is inlined";
  if (from->st->layout) return "the tensor's layout does not keep regions together";
  if (from->st->attach == SCHEDULE_AT && schedule_inside(l->s, of, stage) >= leaf)
    return "the tensor is computed inside the loop";
  return is_read_inside(l->s, stage, leaf, of) ? NULL : "nothing inside the loop reads the tensor any more";
}

static const tir_expr *number(lowering *l, int64_t value) { return tir_int(l->arena, l->index_dtype, value); }

/* min(max(e, 0), extent - 1) as far as that cannot be proved. */
static const tir_expr *clamped(lowering *l, const tir_env *env, const tir_expr *e, const tir_expr *extent) {
  e = tir_binary(l->arena, TIR_MAX, e, number(l, 0));
  const tir_expr *last = tir_binary(l->arena, TIR_SUB, extent, number(l, 1));
  return tir_simplify(l->arena, env, tir_binary(l->arena, TIR_MIN, e, last));
}

/* Loops over the region of tensor V, its last dimension a cache line a step. */
static const tir_stmt *over_region(lowering *l, const lower_stage *ls, int leaf, int32_t offset,
                                   const lower_stage *from, int v, const schedule_box *box) {
  const tir_buffer *buffer = from->buffers[v];
  const tir_expr *index[TN_MAX_RANK], *later = tir_var_expr(l->arena, &ls->var[leaf]->var);
  tir_binding binding = {&ls->var[leaf]->var, tir_binary(l->arena, TIR_ADD, later, number(l, offset))};
  int64_t line = RUNTIME_MAX(LINE_BYTES / (int64_t)tn_dtype_bytes(buffer->dtype), 1), count[TN_MAX_RANK];
  lower_var *var[TN_MAX_RANK];
  const tir_env *env = ls->env[leaf];
  for (int i = 0; i < buffer->ndim; i++) {
    int64_t step = i == buffer->ndim - 1 ? line : 1;
    count[i] = (box->extent[i] + step - 1) / step;
    var[i] = schedule_new_var(l, env, runtime_format(l->arena, "%s.ahead%d", buffer->name, i), count[i], NULL);
    const tir_expr *first = tir_substitute(l->arena, box->min[i], 1, &binding);
    if (from->is_live) first = tir_binary(l->arena, TIR_SUB, first, from->min[i]);
    if (count[i] > 1) {
      tir_env *inner = RUNTIME_NEW(l->arena, tir_env);
      *inner = (tir_env){.outer = env, .var = &var[i]->var, .range = {0, count[i] - 1}};
      env = inner;
      const tir_expr *at = tir_binary(l->arena, TIR_MUL, tir_var_expr(l->arena, &var[i]->var), number(l, step));
      first = tir_binary(l->arena, TIR_ADD, first, at);
    }
    index[i] = clamped(l, env, first, schedule_extent(l, buffer->shape[i], buffer->size[i]));
  }
  const tir_stmt *stmt = tir_prefetch(l->arena, buffer, buffer->ndim, index);
  for (int i = buffer->ndim - 1; i >= 0; i--)
    if (count[i] > 1) stmt = tir_for(l->arena, &var[i]->var, number(l, 0), number(l, count[i]), TIR_SERIAL, stmt);
  return stmt;
}

static const tir_stmt *one_prefetch(lowering *l, const lower_stage *ls, int leaf, const schedule_prefetch_request *p) {
  const lower_stage *from = &l->stages[schedule_stage_of_tensor(l->s, p->tensor)];
  const char *why_not = objection(l, ls, leaf, from);
  schedule_box box;
  if (!why_not && !schedule_read_box(l, (int)(ls - l->stages), leaf, p->tensor, &box))
    why_not = "what an iteration reads is not known, or is the whole tensor";
  const tir_stmt *stmts[TIR_MAX_VALUES];
  if (why_not) {
    warn(l, ls, p, why_not);
    return tir_nop(l->arena);
  }
  for (int v = 0; v < from->st->n_tensors; v++) stmts[v] = over_region(l, ls, leaf, p->offset, from, v, &box);
  return tir_seq(l->arena, from->st->n_tensors, stmts);
}

const tir_stmt *schedule_with_prefetches(lowering *l, const lower_stage *ls, int leaf, const tir_stmt *body) {
  for (int i = ls->st->n_prefetches - 1; i >= 0; i--) {
    const schedule_prefetch_request *p = &ls->st->prefetches[i];
    if (p->axis != ls->st->leaves[leaf]) continue;
    const tir_stmt *both[] = {one_prefetch(l, ls, leaf, p), body};
    body = tir_seq(l->arena, 2, both);
  }
  return body;
}
