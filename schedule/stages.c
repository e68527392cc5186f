/* stages.c: the primitives that place stages and make new ones: compute_at, compute_inline, compute_root, cache_read,
 * cache_write, set_scope. Invariant, legality, rewrite, as in loops.c. */
#include <stdio.h>

#include "schedule/edit.h"

static tn_status no_memory(tn_schedule *s) {
  return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
}

static const char *call_text(char *buffer, size_t n, const char *primitive, const tn_schedule *s, int stage) {
  snprintf(buffer, n, "%s(%s)", primitive,
           stage >= 0 && stage < s->n_stages ? schedule_stage_name(&s->stages[stage]) : "?");
  return buffer;
}

static tn_status check_index(tn_schedule *s, const char *call, int stage) {
  if (stage >= 0 && stage < s->n_stages) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: there is no stage %d: take 0 to %d", call, stage,
                      s->n_stages - 1);
}

static tn_status check_computed(tn_schedule *s, const char *call, int stage) {
  SCHEDULE_TRY(check_index(s, call, stage));
  const schedule_stage *st = &s->stages[stage];
  if (!te_is_placeholder(st->op)) return TN_OK;
  return runtime_fail(
      s->ctx, TN_ERROR_SCHEDULE,
      "%s: %s is an input: it is given, not computed; use cache_read(%s, local, reader), which copies it", call,
      schedule_stage_name(st), schedule_stage_name(st));
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

/* Places a stage and keeps that only when the whole schedule is still legal. */
static tn_status place(tn_schedule *s, const char *call, int stage, schedule_attach attach, int at_stage, int at_axis) {
  schedule_stage *st = &s->stages[stage], before = *st;
  st->attach = attach;
  st->at_stage = (int16_t)at_stage;
  st->at_axis = (int16_t)at_axis;
  tn_status status = schedule_check_attachments(s, call);
  if (status == TN_OK) status = schedule_check_paths(s, call);
  if (status != TN_OK) *st = before;
  return status;
}

static tn_status record(tn_schedule *s, schedule_step_kind kind, int stage, int target, int iter) {
  schedule_step step = {.kind = (uint8_t)kind,
                        .stage = (int16_t)stage,
                        .iter = -1,
                        .target_stage = (int16_t)target,
                        .target_iter = (int16_t)iter};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
}

/* Invariant of compute_at: every reader of the stage is inside the loop, so each iteration can compute the region that
 * it reads just before. Stages are pure, so computing an element twice is allowed. */
static tn_status check_compute_at(tn_schedule *s, const char *call, int stage, int target, int iter) {
  SCHEDULE_TRY(check_computed(s, call, stage));
  SCHEDULE_TRY(
      schedule_check_no_extern(s, call, stage, "it is called once, at root; compute other stages at their readers"));
  SCHEDULE_TRY(schedule_check_no_extern_reader(s, call, stage, "whole tensors, and an iteration makes a part of one",
                                               "leave it at root"));
  SCHEDULE_TRY(schedule_check_iter(s, call, target, iter));
  SCHEDULE_TRY(schedule_check_outside(s, call, target, iter));
  const char *name = schedule_stage_name(&s->stages[stage]), *at = schedule_stage_name(&s->stages[target]);
  if (schedule_is_output(s, stage))
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is an output: outputs are computed at root; compute its producers at %s instead", call,
                        name, name);
  if (stage == target)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: a stage cannot be computed inside its own loops: name a reader of %s", call, name);
  if (schedule_inside(s, target, stage) >= 0)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: %s is itself computed inside %s: call compute_root(%s) first",
                        call, at, name, at);
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++)
    if (schedule_inside(s, readers[i], target) >= 0) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                      "%s: nothing inside %s reads %s: compute a stage at one of its readers, for example %s", call, at,
                      name, n ? schedule_stage_name(&s->stages[readers[0]]) : "none: it has no reader");
}

tn_status schedule_compute_at(tn_schedule *s, int stage, int target, int iter) {
  char call[1024];
  call_text(call, sizeof call, "compute_at", s, stage);
  if (target >= 0 && target < s->n_stages && iter >= 0 && iter < s->stages[target].n_leaves && stage >= 0 &&
      stage < s->n_stages)
    snprintf(call, sizeof call, "%s%scompute_at(%s, %s, %s)", s->within ? s->within : "", s->within ? ": " : "",
             schedule_stage_name(&s->stages[stage]), schedule_stage_name(&s->stages[target]),
             schedule_leaf(&s->stages[target], iter)->name);
  SCHEDULE_TRY(check_compute_at(s, call, stage, target, iter));
  SCHEDULE_TRY(place(s, call, stage, SCHEDULE_AT, target, s->stages[target].leaves[iter]));
  return record(s, SCHEDULE_STEP_CA, stage, target, iter);
}

/* Invariant of compute_inline: the body, without a reduction, stands in every reader in place of the read. */
tn_status schedule_compute_inline(tn_schedule *s, int stage) {
  char call[1024];
  call_text(call, sizeof call, "compute_inline", s, stage);
  SCHEDULE_TRY(check_computed(s, call, stage));
  const schedule_stage *st = &s->stages[stage];
  const char *name = schedule_stage_name(st);
  SCHEDULE_TRY(schedule_check_no_extern(s, call, stage, "leave it at root"));
  SCHEDULE_TRY(schedule_check_no_extern_reader(s, call, stage, "tensors in memory, and one that is inlined is nowhere",
                                               "leave it at root"));
  if (st->op->body->op == TIR_REDUCE)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is a reduction (over %s): it has no value before its loop ends; use "
                        "compute_at(%s, reader, axis)",
                        call, name, st->op->reduce_axes[0]->var.name, name);
  if (st->attach == SCHEDULE_INLINED)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: %s is inlined already; call compute_root(%s) to take that back",
                        call, name, name);
  SCHEDULE_TRY(place(s, call, stage, SCHEDULE_INLINED, -1, -1));
  char loops[512];
  if (schedule_has_own_loops(st))
    runtime_say(s->ctx, TN_SEVERITY_WARNING, "%s: the schedule of its loops (%s) has no effect while it is inlined",
                call, schedule_loop_names(st, loops, sizeof loops));
  return record(s, SCHEDULE_STEP_CI, stage, -1, -1);
}

tn_status schedule_compute_root(tn_schedule *s, int stage) {
  char call[1024];
  call_text(call, sizeof call, "compute_root", s, stage);
  SCHEDULE_TRY(check_computed(s, call, stage));
  if (s->stages[stage].attach == SCHEDULE_ROOT)
    runtime_say(s->ctx, TN_SEVERITY_WARNING, "%s has no effect: %s is at root already", call,
                schedule_stage_name(&s->stages[stage]));
  SCHEDULE_TRY(place(s, call, stage, SCHEDULE_ROOT, -1, -1));
  return record(s, SCHEDULE_STEP_CR, stage, -1, -1);
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

static tn_status check_scope(tn_schedule *s, const char *call, const char *scope) {
  if (scope && (strcmp(scope, "global") == 0 || strcmp(scope, "local") == 0)) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: scope \"%s\" is unknown: use \"global\" or \"local\"", call,
                      scope ? scope : "");
}

tn_status schedule_set_scope(tn_schedule *s, int stage, const char *scope) {
  char call[1024];
  call_text(call, sizeof call, "set_scope", s, stage);
  SCHEDULE_TRY(check_computed(s, call, stage));
  SCHEDULE_TRY(check_scope(s, call, scope));
  schedule_stage *st = &s->stages[stage];
  if (schedule_is_output(s, stage))
    return runtime_fail(
        s->ctx, TN_ERROR_SCHEDULE,
        "%s: %s is an output: its memory is the caller's; use cache_write(%s, %s), which makes a stage with that scope",
        call, schedule_stage_name(st), schedule_stage_name(st), scope);
  if (strcmp(st->scope, scope) == 0)
    runtime_say(s->ctx, TN_SEVERITY_WARNING, "%s has no effect: the scope of %s is %s already", call,
                schedule_stage_name(st), scope);
  st->scope = schedule_intern(s->program, scope);
  schedule_step step = {.kind = SCHEDULE_STEP_SS, .stage = (int16_t)stage, .iter = -1, .text = scope};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* "A.local", or "A.local_1" when the schedule has one already. */
const char *schedule_derived_name(tn_schedule *s, const tn_tensor *tensor, const char *scope) {
  const char *name = schedule_internf(s->program, "%s.%s", tensor->name, scope);
  for (int i = 1; name && schedule_find_stage(s, name) >= 0; i++)
    name = schedule_internf(s->program, "%s.%s_%d", tensor->name, scope, i);
  return name;
}

bool schedule_derived_names(tn_schedule *s, const schedule_stage *stage, const char *suffix, const char **names) {
  for (int v = 0; v < stage->n_tensors; v++)
    if (!(names[v] = schedule_derived_name(s, &stage->tensors[v], suffix))) return false;
  return true;
}

/* "B, C": the stages that read a tensor of a stage. */
static void reader_names(const tn_schedule *s, int stage, const tn_tensor *tensor, char *buffer, size_t n) {
  int readers[SCHEDULE_MAX_STAGES], count = schedule_consumers(s, stage, false, RUNTIME_COUNT(readers), readers);
  size_t used = 0;
  buffer[0] = '\0';
  for (int i = 0; i < count && used + 1 < n; i++)
    if (schedule_reads(&s->stages[readers[i]], tensor))
      used += (size_t)snprintf(buffer + used, n - used, "%s%s", used ? ", " : "",
                               schedule_stage_name(&s->stages[readers[i]]));
}

static tn_status check_readers(tn_schedule *s, const char *call, int stage, const tn_tensor *tensor, int n,
                               const int *readers) {
  char names[512];
  reader_names(s, stage, tensor, names, sizeof names);
  if (n < 1 && names[0])
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: no reader is named: name one of %s", call, names);
  if (n < 1)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: nothing reads %s: leave the cache out", call, tensor->name);
  for (int i = 0; i < n; i++) {
    SCHEDULE_TRY(check_computed(s, call, readers[i]));
    const char *reader = schedule_stage_name(&s->stages[readers[i]]);
    if (readers[i] <= stage && s->stages[stage].op->kind == TE_SCAN)
      return runtime_fail(
          s->ctx, TN_ERROR_SCHEDULE,
          "%s: %s reads earlier times of the scan %s while it is computed, which no copy of it can hold; "
          "name readers outside of the scan, or leave the cache out",
          call, reader, tensor->name);
    if (!schedule_reads(&s->stages[readers[i]], tensor))
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: %s does not read %s: name one of its readers, %s", call,
                          reader, tensor->name, names);
    for (int k = 0; k < i; k++)
      if (readers[k] == readers[i])
        return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: reader %s is named twice: name each once", call, reader);
  }
  return TN_OK;
}

static tn_status check_cache_read(tn_schedule *s, const char *call, int stage, int64_t value, const char *scope, int n,
                                  const int *readers) {
  SCHEDULE_TRY(check_index(s, call, stage));
  if (value < 0 || value >= s->stages[stage].n_tensors)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: value %lld: the stage makes %d tensor%s, counted from 0", call,
                        (long long)value, s->stages[stage].n_tensors, s->stages[stage].n_tensors == 1 ? "" : "s");
  SCHEDULE_TRY(check_scope(s, call, scope));
  const schedule_stage *st = &s->stages[stage];
  if (st->tensors->by_value)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is a scalar: it is passed by value and lies in a register; name an input that is a "
                        "tensor",
                        call, schedule_stage_name(st));
  if (st->op->kind != TE_SCAN)
    SCHEDULE_TRY(
        schedule_check_no_scan(s, call, stage, "cache_read", "use set_scope or storage_align, which keep its buffer"));
  if (st->predicate)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: the stores of %s have a predicate (%s), and a copy reads all elements: call cache_read "
                        "before set_store_predicate, and give the copy the predicate",
                        call, schedule_stage_name(st), st->predicate_text);
  if (st->attach != SCHEDULE_ROOT)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: %s is %s: a cache reads a stage at root; call cache_read before that, or compute_root(%s)",
                        call, schedule_stage_name(st), st->attach == SCHEDULE_INLINED ? "inlined" : "under compute_at",
                        schedule_stage_name(st));
  return check_readers(s, call, stage, &st->tensors[value], n, readers);
}

tn_status schedule_cache_read(tn_schedule *s, int stage, const char *scope, int n, const int *readers) {
  return schedule_cache_read_value(s, stage, 0, scope, n, readers);
}

/* Invariant: the new stage is a copy of one tensor; the named readers read it instead. Their loops stay. */
tn_status schedule_cache_read_value(tn_schedule *s, int stage, int64_t value, const char *scope, int n,
                                    const int *readers) {
  char call[1024];
  bool exists = stage >= 0 && stage < s->n_stages && value >= 0 && value < s->stages[stage].n_tensors;
  snprintf(call, sizeof call, "cache_read(%s)", exists ? s->stages[stage].tensors[value].name : "?");
  SCHEDULE_TRY(check_cache_read(s, call, stage, value, scope, n, readers));
  const tn_tensor *tensor = &s->stages[stage].tensors[value];
  const te_op *copy = schedule_copy_op(s->program, tensor, schedule_derived_name(s, tensor, scope));
  if (!copy || n > SCHEDULE_MAX_AXES) return no_memory(s);
  const te_op *changed[SCHEDULE_MAX_AXES];
  int64_t list[SCHEDULE_MAX_AXES];
  for (int i = 0; i < n; i++) {
    changed[i] = schedule_reread_op(s->program, s->stages[readers[i]].op, tensor, &copy->outputs[0]);
    if (!changed[i]) return no_memory(s);
    list[i] = readers[i];
  }
  const char *kept = schedule_intern(s->program, scope);
  if (!kept || !schedule_insert_stage(s, stage + 1, copy, kept)) return no_memory(s);
  for (int i = 0; i < n; i++) s->stages[readers[i] + 1].op = changed[i];
  schedule_step step = {.kind = SCHEDULE_STEP_CHR,
                        .stage = (int16_t)stage,
                        .iter = -1,
                        .value = value,
                        .n = n,
                        .list = list,
                        .text = scope};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
}

bool schedule_has_own_loops(const schedule_stage *st) {
  bool changed = st->n_relations > 0 || st->n_prefetches > 0 || st->predicate || st->buffering;
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    changed |= st->leaves[i] != i || axis->annotation != SCHEDULE_NONE || schedule_has_pragma(axis) || axis->in_intrin;
  }
  return changed;
}

/* The new stage stands at root; what it reads must not be computed inside another stage's loop. */
tn_status schedule_check_inputs_at_root(tn_schedule *s, const char *call, int stage, const char *new_stage,
                                        const char *primitive) {
  const char *name = schedule_stage_name(&s->stages[stage]);
  for (int i = 0; i < stage; i++) {
    const schedule_stage *st = &s->stages[i];
    int readers[SCHEDULE_MAX_STAGES];
    int n = st->attach == SCHEDULE_AT ? schedule_consumers(s, i, true, RUNTIME_COUNT(readers), readers) : 0;
    for (int k = 0; k < n; k++) {
      if (readers[k] != stage) continue;
      const char *input = schedule_stage_name(st), *at = schedule_stage_name(&s->stages[st->at_stage]);
      return runtime_fail(
          s->ctx, TN_ERROR_SCHEDULE,
          "%s: %s reads %s, which is computed inside loop %s of %s, and %s would read it from root: call "
          "%s(%s, ...) before compute_at(%s, ...)",
          call, name, input, s->stages[st->at_stage].axes[st->at_axis].name, at, new_stage, primitive, name, input);
    }
  }
  return TN_OK;
}

tn_status schedule_check_no_guests(tn_schedule *s, const char *call, int stage, const char *primitive) {
  const char *name = schedule_stage_name(&s->stages[stage]);
  for (int i = 0; i < s->n_stages; i++)
    if (s->stages[i].attach == SCHEDULE_AT && s->stages[i].at_stage == stage)
      return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                          "%s: %s is computed at a loop of %s, which would be lost: call %s(%s, ...) before it", call,
                          schedule_stage_name(&s->stages[i]), name, primitive, name);
  return TN_OK;
}

static tn_status check_cache_write(tn_schedule *s, const char *call, int stage, const char *scope) {
  SCHEDULE_TRY(check_computed(s, call, stage));
  SCHEDULE_TRY(check_scope(s, call, scope));
  SCHEDULE_TRY(schedule_check_no_extern(s, call, stage, "give its tensor the scope by set_scope"));
  const schedule_stage *st = &s->stages[stage];
  const char *name = schedule_stage_name(st);
  if (st->attach == SCHEDULE_INLINED)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: %s is inlined and writes nothing: call compute_root(%s) first",
                        call, name, name);
  char names[512];
  SCHEDULE_TRY(
      schedule_check_no_scan(s, call, stage, "cache_write", "use set_scope or storage_align, which keep its buffer"));
  if (schedule_has_own_loops(st))
    return runtime_fail(
        s->ctx, TN_ERROR_SCHEDULE,
        "%s: %s already has a schedule (loops: %s), which would be lost: call cache_write(%s, %s) before it", call,
        name, schedule_loop_names(st, names, sizeof names), name, scope);
  SCHEDULE_TRY(schedule_check_no_guests(s, call, stage, "cache_write"));
  snprintf(names, sizeof names, "%s.%s", name, scope);
  return schedule_check_inputs_at_root(s, call, stage, names, "cache_write");
}

/* Invariant: a new stage computes what the stage computed; the stage copies it and keeps its tensors and its place. */
tn_status schedule_cache_write(tn_schedule *s, int stage, const char *scope) {
  char call[1024];
  call_text(call, sizeof call, "cache_write", s, stage);
  SCHEDULE_TRY(check_cache_write(s, call, stage, scope));
  const te_op *op = s->stages[stage].op;
  const char *kept = schedule_intern(s->program, scope), *names[TIR_MAX_VALUES];
  bool named = schedule_derived_names(s, &s->stages[stage], scope, names);
  const te_op *cache = named ? schedule_renamed_op(s->program, op, names) : NULL;
  const te_op *copy = cache ? schedule_forward_op(s->program, op, cache) : NULL;
  if (!copy || !kept || !schedule_insert_stage(s, stage, cache, kept)) return no_memory(s);
  s->stages[stage + 1].op = copy;
  if (!schedule_reset_loops(s, &s->stages[stage + 1])) return no_memory(s);
  schedule_step step = {.kind = SCHEDULE_STEP_CHW, .stage = (int16_t)stage, .iter = -1, .text = scope};
  return schedule_push_step(s, &step) ? TN_OK : no_memory(s);
}
