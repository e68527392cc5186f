/* named.c: the public primitives: names of stages and axes resolved to positions, then the primitive by position. */
#include <stdio.h>

#include "schedule/edit.h"

/* For messages: "A, B, C", cut where the buffer ends. */
static const char *stage_names(const tn_schedule *s, char *buffer, size_t n) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int i = 0; i < s->n_stages; i++)
    for (int v = 0; v < s->stages[i].n_tensors && used + 1 < n; v++)
      used += (size_t)snprintf(buffer + used, n - used, "%s%s", used ? ", " : "", s->stages[i].tensors[v].name);
  return buffer;
}

tn_status schedule_find_named(tn_schedule *s, const char *primitive, const char *name, int *out) {
  char names[512];
  *out = name ? schedule_find_stage(s, name) : -1;
  if (*out >= 0) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s(%s): no stage is called \"%s\": name one of %s", primitive,
                      name ? name : "", name ? name : "", stage_names(s, names, sizeof names));
}

/* What became of an axis that is no loop any more: "split into i.outer, i.inner: name one of these". */
static void describe_use(const schedule_stage *st, int axis, char *buffer, size_t n) {
  const schedule_relation *r = &st->relations[st->axes[axis].used_by];
  if (r->is_fuse) {
    snprintf(buffer, n, "fused into %s: name that", st->axes[r->one].name);
    return;
  }
  size_t used = (size_t)snprintf(buffer, n, "split into ");
  for (int i = 0; i < r->n && used + 1 < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, "%s%s", i ? ", " : "", st->axes[r->many[i]].name);
  if (used < n) snprintf(buffer + used, n - used, ": name one of these");
}

/* ARGUMENTS: what the call names before the axis. */
static tn_status find_axis(tn_schedule *s, const char *primitive, const char *arguments, int stage, const char *name,
                           int *out) {
  const schedule_stage *st = &s->stages[stage];
  char call[1024], text[512];
  snprintf(call, sizeof call, "%s(%s, %s)", primitive, arguments, name ? name : "");
  SCHEDULE_TRY(schedule_check_stage(s, call, stage));
  *out = name ? schedule_find_leaf(st, name) : -1;
  if (*out >= 0) return TN_OK;
  for (int i = 0; name && i < st->n_axes; i++) {
    if (strcmp(st->axes[i].name, name) != 0) continue;
    describe_use(st, i, text, sizeof text);
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: axis %s of %s has already been %s", call, name,
                        schedule_stage_name(st), text);
  }
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: axis \"%s\" is not part of stage %s: name one of its loops, %s",
                      call, name ? name : "", schedule_stage_name(st), schedule_loop_names(st, text, sizeof text));
}

/* A stage and one of its loops. */
static tn_status find(tn_schedule *s, const char *primitive, const char *stage, const char *axis, int *stage_at,
                      int *axis_at) {
  SCHEDULE_TRY(schedule_find_named(s, primitive, stage, stage_at));
  return find_axis(s, primitive, stage, *stage_at, axis, axis_at);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

tn_status tn_split_many(tn_schedule *s, const char *stage, const char *axis, int n, const int64_t *lengths,
                        tn_tail tail) {
  int st, it;
  if (!s || (n > 0 && !lengths)) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "split", stage, axis, &st, &it));
  return schedule_split(s, st, it, n, lengths, true, tail);
}

tn_status tn_split(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail) {
  return tn_split_many(s, stage, axis, 1, &factor, tail);
}

tn_status tn_split_nparts(tn_schedule *s, const char *stage, const char *axis, int64_t nparts, tn_tail tail) {
  int st, it;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "split", stage, axis, &st, &it));
  return schedule_split(s, st, it, 1, &nparts, false, tail);
}

/* N different loops of one stage, as positions in OUT. */
static tn_status find_axes(tn_schedule *s, const char *primitive, const char *stage, int n, const char *const *axes,
                           int *st, int *out) {
  SCHEDULE_TRY(schedule_find_named(s, primitive, stage, st));
  if (n < 1 || n > SCHEDULE_MAX_AXES)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s(%s): %d axes: name 1 to %d", primitive, stage, n,
                        SCHEDULE_MAX_AXES);
  for (int i = 0; i < n; i++) {
    SCHEDULE_TRY(find_axis(s, primitive, stage, *st, axes[i], &out[i]));
    for (int k = 0; k < i; k++)
      if (out[k] == out[i])
        return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s(%s): axis %s stands twice: name each axis once", primitive,
                            stage, axes[i]);
  }
  return TN_OK;
}

tn_status tn_fuse_names(tn_schedule *s, const char *stage, int n, const char *const *axes) {
  int st, iters[SCHEDULE_MAX_AXES];
  if (!s || !axes) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find_axes(s, "fuse", stage, n, axes, &st, iters));
  return schedule_fuse(s, st, n, iters);
}

/* The named loops take, in the given order, the sorted places that they hold (TVM: reorder). */
tn_status tn_reorder_names(tn_schedule *s, const char *stage, int n, const char *const *axes) {
  int st, named[SCHEDULE_MAX_AXES], order[SCHEDULE_MAX_AXES];
  bool is_named[SCHEDULE_MAX_AXES] = {false};
  if (!s || !axes) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find_axes(s, "reorder", stage, n, axes, &st, named));
  for (int i = 0; i < n; i++) is_named[named[i]] = true;
  int n_leaves = s->stages[st].n_leaves;
  for (int i = 0, next = 0; i < n_leaves; i++) order[i] = is_named[i] ? named[next++] : i;
  return schedule_reorder(s, st, n_leaves, order);
}

/* Begins a primitive that is composed of others, on a copy, so that a refused second step leaves no first one behind.
 * CALL stands before their refusals. NULL: out of memory. */
static tn_schedule *begin_composed(tn_schedule *s, const char *call) {
  tn_schedule *copy = tn_schedule_copy(s);
  if (copy) copy->within = call;
  return copy;
}

static tn_status end_composed(tn_schedule *s, tn_schedule *copy, tn_status status) {
  copy->within = s->within;
  if (status == TN_OK) schedule_swap_contents(s, copy);
  tn_schedule_free(copy);
  return status;
}

static tn_status tile(tn_schedule *s, const char *stage, const char *a, const char *b, int64_t fa, int64_t fb,
                      tn_tail tail) {
  char names[4][256];
  const char *const axes[] = {names[0], names[1], names[2], names[3]};
  const char *const formats[] = {"%s.outer", "%s.inner"};
  for (int i = 0; i < 4; i++) {
    int n = snprintf(names[i], sizeof names[i], i < 2 ? formats[0] : formats[1], i % 2 ? b : a);
    if (n >= (int)sizeof names[i])
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "tile(%s): an axis name is too long: split into all parts at once",
                          stage);
  }
  SCHEDULE_TRY(tn_split(s, stage, a, fa, tail));
  SCHEDULE_TRY(tn_split(s, stage, b, fb, tail));
  return tn_reorder_names(s, stage, 4, axes);
}

tn_status tn_tile(tn_schedule *s, const char *stage, const char *a, const char *b, int64_t factor_a, int64_t factor_b,
                  tn_tail tail) {
  int st, iters[2];
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find_axes(s, "tile", stage, 2, (const char *const[]){a, b}, &st, iters));
  if (factor_a < 1 || factor_b < 1)
    return runtime_fail(
        s->ctx, TN_ERROR_SCHEDULE,
        "tile(%s, %s, %s): factors %lld and %lld: both must be at least 1; for example tile(%s, %s, %s, 8, 8)", stage,
        a, b, (long long)factor_a, (long long)factor_b, stage, a, b);
  char call[512];
  snprintf(call, sizeof call, "tile(%s, %s, %s)", stage, a, b);
  tn_schedule *copy = begin_composed(s, call);
  return copy ? end_composed(s, copy, tile(copy, stage, a, b, factor_a, factor_b, tail)) : TN_ERROR_MEMORY;
}

static tn_status annotate(tn_schedule *s, const char *primitive, const char *stage, const char *axis,
                          schedule_annotation annotation) {
  int st, it;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, primitive, stage, axis, &st, &it));
  return schedule_annotate(s, st, it, annotation);
}

tn_status tn_vectorize(tn_schedule *s, const char *stage, const char *axis) {
  return annotate(s, "vectorize", stage, axis, SCHEDULE_VECTORIZE);
}
static tn_status vectorize_by(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail) {
  int st, it;
  SCHEDULE_TRY(find(s, "vectorize", stage, axis, &st, &it));
  SCHEDULE_TRY(schedule_split(s, st, it, 1, &factor, true, tail));
  return schedule_annotate(s, st, it + 1, SCHEDULE_VECTORIZE);
}

tn_status tn_vectorize_by(tn_schedule *s, const char *stage, const char *axis, int64_t factor, tn_tail tail) {
  if (!s) return TN_ERROR_ARGUMENT;
  char call[512];
  snprintf(call, sizeof call, "vectorize(%s, %s, %lld)", stage ? stage : "", axis ? axis : "", (long long)factor);
  tn_schedule *copy = begin_composed(s, call);
  return copy ? end_composed(s, copy, vectorize_by(copy, stage, axis, factor, tail)) : TN_ERROR_MEMORY;
}

tn_status tn_unroll(tn_schedule *s, const char *stage, const char *axis) {
  return annotate(s, "unroll", stage, axis, SCHEDULE_UNROLL);
}
tn_status tn_parallel(tn_schedule *s, const char *stage, const char *axis) {
  return annotate(s, "parallel", stage, axis, SCHEDULE_PARALLEL);
}

tn_status tn_pragma(tn_schedule *s, const char *stage, const char *axis, const char *key, int64_t value) {
  int st, it;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "pragma", stage, axis, &st, &it));
  return schedule_pragma(s, st, it, key ? key : "", value);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

tn_status tn_compute_at(tn_schedule *s, const char *stage, const char *target, const char *axis) {
  int st, at, it;
  char arguments[256];
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(schedule_find_named(s, "compute_at", stage, &st));
  SCHEDULE_TRY(schedule_find_named(s, "compute_at", target, &at));
  snprintf(arguments, sizeof arguments, "%s, %s", stage, target);
  SCHEDULE_TRY(find_axis(s, "compute_at", arguments, at, axis, &it));
  return schedule_compute_at(s, st, at, it);
}

/* What the primitives with one stage have in common. */
static tn_status on_stage(tn_schedule *s, const char *primitive, const char *stage,
                          tn_status (*apply)(tn_schedule *, int)) {
  int st;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(schedule_find_named(s, primitive, stage, &st));
  return apply(s, st);
}

tn_status tn_compute_inline(tn_schedule *s, const char *stage) {
  return on_stage(s, "compute_inline", stage, schedule_compute_inline);
}
tn_status tn_compute_root(tn_schedule *s, const char *stage) {
  return on_stage(s, "compute_root", stage, schedule_compute_root);
}

/* And those with a stage and a scope. */
static tn_status scoped(tn_schedule *s, const char *primitive, const char *stage, const char *scope,
                        tn_status (*apply)(tn_schedule *, int, const char *)) {
  int st;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(schedule_find_named(s, primitive, stage, &st));
  return apply(s, st, scope);
}

/* All tensors that the stage makes, but for those without a name of their own, once each. */
static tn_status check_all_named(tn_schedule *s, int stage, int n, const char *const *tensors) {
  const schedule_stage *st = &s->stages[stage];
  char all[512];
  size_t used = 0;
  bool complete = true;
  int n_visible = 0;
  for (int v = 0; v < st->n_tensors; v++) {
    const char *name = st->tensors[v].name;
    bool is_named = false;
    for (int i = 0; i < n; i++) is_named |= strcmp(tensors[i], name) == 0;
    if (v > 0 && !is_named && te_is_hidden(&st->tensors[v])) continue;
    complete &= is_named;
    n_visible++;
    if (used < sizeof all) used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", v > 0 ? ", " : "", name);
  }
  if (complete && n == n_visible) return TN_OK;
  if (st->n_tensors == 1)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "cache_write(%s): %s is one of %d tensors named, but computed by itself: call cache_write for "
                        "each stage, cache_write(%s, local)",
                        tensors[0], all, n, all);
  return runtime_fail(
      s->ctx, TN_ERROR_SCHEDULE,
      "cache_write(%s): the tensors %s are computed together and move together: name each of them once, "
      "cache_write(%s, local)",
      tensors[0], all, all);
}

tn_status tn_cache_write_names(tn_schedule *s, const char *scope, int n, const char *const *tensors) {
  int st;
  if (!s || n < 1 || !tensors) return TN_ERROR_ARGUMENT;
  for (int i = 0; i < n; i++) {
    int found;
    SCHEDULE_TRY(schedule_find_named(s, "cache_write", tensors[i], &found));
    if (i == 0) st = found;
  }
  SCHEDULE_TRY(check_all_named(s, st, n, tensors));
  return schedule_cache_write(s, st, scope);
}

tn_status tn_cache_write(tn_schedule *s, const char *tensor, const char *scope) {
  return tn_cache_write_names(s, scope, 1, &tensor);
}
tn_status tn_set_scope(tn_schedule *s, const char *stage, const char *scope) {
  return scoped(s, "set_scope", stage, scope, schedule_set_scope);
}

tn_status tn_cache_read_names(tn_schedule *s, const char *tensor, const char *scope, int n,
                              const char *const *readers) {
  int st, found[SCHEDULE_MAX_STAGES];
  if (!s || n > SCHEDULE_MAX_STAGES || (n > 0 && !readers)) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(schedule_find_named(s, "cache_read", tensor, &st));
  for (int i = 0; i < n; i++) SCHEDULE_TRY(schedule_find_named(s, "cache_read", readers[i], &found[i]));
  int value = schedule_find_tensor(&s->stages[st], tensor), n_consumers;
  if (n == 0) {
    n_consumers = schedule_consumers(s, st, false, SCHEDULE_MAX_STAGES, found);
    for (int i = 0; i < n_consumers; i++)
      if (schedule_reads(&s->stages[found[i]], &s->stages[st].tensors[value])) found[n++] = found[i];
  }
  return schedule_cache_read_value(s, st, value, scope, n, found);
}

tn_status tn_rfactor(tn_schedule *s, const char *stage, const char *axis, int factor_axis) {
  int st, it;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "rfactor", stage, axis, &st, &it));
  int n = s->stages[st].op->n_axes;
  return schedule_rfactor(s, st, it, factor_axis < 0 && factor_axis >= -n - 1 ? factor_axis + n + 1 : factor_axis);
}

/* Composed of steps that records know: the outer loop of a split by its number of parts becomes the first axis of the
 * partial results. */
static tn_status parallel_reduce(tn_schedule *s, int st, int it, int64_t parts) {
  SCHEDULE_TRY(schedule_split(s, st, it, 1, &parts, false, TN_TAIL_GUARD));
  SCHEDULE_TRY(schedule_rfactor(s, st, it, 0));
  return schedule_annotate(s, st, 0, SCHEDULE_PARALLEL);
}

tn_status tn_parallel_reduce(tn_schedule *s, const char *stage, const char *axis, int64_t parts) {
  int st, it;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "parallel_reduce", stage, axis, &st, &it));
  if (parts < 0)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "parallel_reduce(%s, %s): %lld parts: give at least 1, or 0 for one for each thread (%d)",
                        stage, axis, (long long)parts, tn_thread_count());
  char call[512];
  snprintf(call, sizeof call, "parallel_reduce(%s, %s)", stage, axis);
  tn_schedule *copy = begin_composed(s, call);
  if (!copy) return TN_ERROR_MEMORY;
  return end_composed(s, copy, parallel_reduce(copy, st, it, parts ? parts : tn_thread_count()));
}

/* Whether others are computed in the stage's loops. */
static bool has_guests(const tn_schedule *s, int stage) {
  for (int i = 0; i < s->n_stages; i++)
    if (s->stages[i].attach == SCHEDULE_AT && s->stages[i].at_stage == stage) return true;
  return false;
}

/* No input, no output, no reduction, not inlined and without loops of its own making. */
static bool is_injective(const tn_schedule *s, int stage) {
  const schedule_stage *st = &s->stages[stage];
  bool is_plain = st->op->body && st->attach != SCHEDULE_INLINED && st->op->body->op != TIR_REDUCE;
  return is_plain && schedule_extern_reader(s, stage) < 0 && st->n_relations == 0 && !schedule_is_output(s, stage);
}

tn_status tn_auto_inline(tn_schedule *s) {
  if (!s) return TN_ERROR_ARGUMENT;
  tn_schedule *copy = tn_schedule_copy(s);
  tn_status status = copy ? TN_OK : TN_ERROR_MEMORY;
  int n = 0;
  for (int i = 0; status == TN_OK && i < copy->n_stages; i++)
    if (is_injective(copy, i) && !has_guests(copy, i)) status = schedule_compute_inline(copy, i), n++;
  if (status == TN_OK && n == 0)
    runtime_say(s->ctx, TN_SEVERITY_WARNING, "auto_inline() has no effect: no stage can be inlined");
  if (status == TN_OK) schedule_swap_contents(s, copy);
  tn_schedule_free(copy);
  return status;
}

tn_status tn_transform_layout(tn_schedule *s, const char *stage, const char *map) {
  return scoped(s, "transform_layout", stage, map, schedule_transform_layout);
}

tn_status tn_storage_align(tn_schedule *s, const char *stage, const char *axis, int64_t factor, int64_t offset) {
  int st, it;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "storage_align", stage, axis, &st, &it));
  return schedule_storage_align(s, st, it, factor, offset);
}

static tn_status double_buffer(tn_schedule *s, int stage) {
  return schedule_set_buffering(s, stage, SCHEDULE_BUFFER_DOUBLE);
}
static tn_status rolling_buffer(tn_schedule *s, int stage) {
  return schedule_set_buffering(s, stage, SCHEDULE_BUFFER_ROLLING);
}

tn_status tn_double_buffer(tn_schedule *s, const char *stage) {
  return on_stage(s, "double_buffer", stage, double_buffer);
}
tn_status tn_rolling_buffer(tn_schedule *s, const char *stage) {
  return on_stage(s, "rolling_buffer", stage, rolling_buffer);
}

tn_status tn_set_store_predicate(tn_schedule *s, const char *stage, const char *condition) {
  return scoped(s, "set_store_predicate", stage, condition, schedule_set_store_predicate);
}

/* The stage, the tensor's stage and the loop of a prefetch. */
static tn_status find_prefetch(tn_schedule *s, const char *stage, const char *tensor, const char *axis, int *st,
                               int *read, int *it) {
  char arguments[512];
  SCHEDULE_TRY(schedule_find_named(s, "prefetch", stage, st));
  SCHEDULE_TRY(schedule_find_named(s, "prefetch", tensor, read));
  snprintf(arguments, sizeof arguments, "%s, %s", stage, tensor);
  return find_axis(s, "prefetch", arguments, *st, axis, it);
}

tn_status tn_prefetch(tn_schedule *s, const char *stage, const char *tensor, const char *axis, int64_t offset) {
  int st, read, it;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find_prefetch(s, stage, tensor, axis, &st, &read, &it));
  return schedule_prefetch(s, st, read, it, offset, st, it);
}

tn_status tn_prefetch_of(tn_schedule *s, const char *stage, const char *tensor, const char *axis, int64_t offset,
                         const char *reader, const char *loop) {
  int st, read, it, of, of_it;
  char arguments[512];
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find_prefetch(s, stage, tensor, axis, &st, &read, &it));
  SCHEDULE_TRY(schedule_find_named(s, "prefetch", reader, &of));
  snprintf(arguments, sizeof arguments, "%s, %s, %s, %lld, %s", stage, tensor, axis, (long long)offset, reader);
  SCHEDULE_TRY(find_axis(s, "prefetch", arguments, of, loop, &of_it));
  return schedule_prefetch(s, st, read, it, offset, of, of_it);
}

tn_status tn_tensorize(tn_schedule *s, const char *stage, const char *axis, const char *intrin) {
  int st, it;
  if (!s || !intrin) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "tensorize", stage, axis, &st, &it));
  return schedule_tensorize(s, st, it, intrin);
}

tn_status tn_tensorize_try(tn_schedule *s, const char *stage, const char *axis, const char *intrin) {
  int st, it;
  if (!s || !intrin) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "tensorize", stage, axis, &st, &it));
  return schedule_try_tensorize(s, st, it, intrin);
}

tn_status tn_bind(tn_schedule *s, const char *stage, const char *axis, const char *thread) {
  int st, it, annotation = SCHEDULE_BIND;
  if (!s) return TN_ERROR_ARGUMENT;
  SCHEDULE_TRY(find(s, "bind", stage, axis, &st, &it));
  while (annotation < SCHEDULE_ANNOTATION_COUNT && thread && strcmp(schedule_annotation_words[annotation], thread) != 0)
    annotation++;
  if (thread && annotation < SCHEDULE_ANNOTATION_COUNT)
    return schedule_annotate(s, st, it, (schedule_annotation)annotation);
  return runtime_fail(
      s->ctx, TN_ERROR_SCHEDULE,
      "bind(%s, %s): thread \"%s\" is unknown: take vthread, blockIdx.x, .y or .z, threadIdx.x, .y or .z", stage, axis,
      thread ? thread : "");
}
