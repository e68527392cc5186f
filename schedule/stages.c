/* stages.c: the primitives that place stages and make new ones: compute_at, compute_inline, compute_root, cache_read,
 * cache_write, set_scope; and auto_inline, which is made of one. Invariant, legality, rewrite, as in loops.c. */
#include <stdio.h>

#include "schedule/edit.h"

/* Of any stage, inputs too. */
static tn_status check_index(const schedule_call *c, int stage) {
  if (stage >= 0 && stage < c->s->n_stages) return TN_OK;
  return schedule_refuse(c, "there is no stage %d: take 0 to %d", stage, c->s->n_stages - 1);
}

/* Inputs are given: they have no place to move to. */
static tn_status check_computed(const schedule_call *c, int stage) {
  SCHEDULE_TRY(check_index(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  if (!te_is_placeholder(st->op)) return TN_OK;
  return schedule_refuse(
      c, "%s is an input: it is given, not computed; use cache_read(%s, local, reader), which copies it",
      schedule_stage_name(st), schedule_stage_name(st));
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

/* AT_STAGE and AT_AXIS are -1 but for SCHEDULE_AT; AT_AXIS is an index into that stage's axis table. */
static void place(schedule_stage *st, schedule_attach attach, int at_stage, int at_axis) {
  st->attach = attach;
  st->at_stage = (int16_t)at_stage;
  st->at_axis = (int16_t)at_axis;
}

/* Whether the whole schedule is still legal with the stage there; it is put back. */
static tn_status check_placed(const schedule_call *c, schedule_attach attach, int at_stage, int at_axis) {
  schedule_stage *st = &c->s->stages[c->step.stage], before = *st;
  place(st, attach, at_stage, at_axis);
  tn_status status = schedule_check_places(c);
  *st = before;
  return status;
}

/* A step that names one stage. */
static tn_status apply_to_stage(tn_schedule *s, schedule_step_kind kind, int stage, const char *text) {
  schedule_step step = {.kind = (uint8_t)kind, .stage = (int16_t)stage, .iter = -1, .text = text};
  return schedule_apply_step(s, &step);
}

/* Invariant of compute_at: every reader of the stage is inside the loop, so each iteration can compute the region that
 * it reads just before. Stages are pure, so computing an element twice is allowed. */
static tn_status check_target(const schedule_call *c, int stage, int target, int iter) {
  tn_schedule *s = c->s;
  SCHEDULE_TRY(check_computed(c, stage));
  SCHEDULE_TRY(schedule_check_no_extern(c, stage, "it is called once, at root; compute other stages at their readers"));
  SCHEDULE_TRY(schedule_check_no_extern_reader(c, stage, "whole tensors, and an iteration makes a part of one",
                                               "leave it at root"));
  SCHEDULE_TRY(schedule_check_iter(c, target, iter));
  SCHEDULE_TRY(schedule_check_outside(c, target, iter));
  const char *name = schedule_stage_name(&s->stages[stage]), *at = schedule_stage_name(&s->stages[target]);
  if (schedule_is_output(s, stage))
    return schedule_refuse(c, "%s is an output: outputs are computed at root; compute its producers at %s instead",
                           name, name);
  if (stage == target)
    return schedule_refuse(c, "a stage cannot be computed inside its own loops: name a reader of %s", name);
  if (schedule_inside(s, target, stage) >= 0)
    return schedule_refuse(c, "%s is itself computed inside %s: call compute_root(%s) first", at, name, at);
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(s, stage, true, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++)
    if (schedule_inside(s, readers[i], target) >= 0) return TN_OK;
  return schedule_refuse(c, "nothing inside %s reads %s: compute a stage at one of its readers, for example %s", at,
                         name, n ? schedule_stage_name(&s->stages[readers[0]]) : "none: it has no reader");
}

/* The target first, then the schedule as a whole with the stage there. */
tn_status schedule_check_compute_at(schedule_call *c) {
  int target = c->step.target_stage, iter = c->step.target_iter;
  SCHEDULE_TRY(check_target(c, c->step.stage, target, iter));
  return check_placed(c, SCHEDULE_AT, target, c->s->stages[target].leaves[iter]);
}

/* The loop is remembered as an axis: positions change with later primitives. */
bool schedule_rewrite_compute_at(schedule_call *c) {
  int target = c->step.target_stage;
  place(&c->s->stages[c->step.stage], SCHEDULE_AT, target, c->s->stages[target].leaves[c->step.target_iter]);
  return true;
}

/* TARGET_ITER is a position in the target's leaves. */
tn_status schedule_compute_at(tn_schedule *s, int stage, int target, int iter) {
  schedule_step step = {.kind = SCHEDULE_STEP_CA,
                        .stage = (int16_t)stage,
                        .iter = -1,
                        .target_stage = (int16_t)target,
                        .target_iter = iter};
  return schedule_apply_step(s, &step);
}
tn_status tn_compute_at(tn_schedule *s, const char *stage, const char *target, const char *axis) {
  return SCHEDULE_CALL(s, compute_at, schedule_name(stage), schedule_name(target), schedule_name(axis));
}

/* Invariant of compute_inline: the body, without a reduction, stands in every reader in place of the read. */
tn_status schedule_check_compute_inline(schedule_call *c) {
  int stage = c->step.stage;
  SCHEDULE_TRY(check_computed(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  const char *name = schedule_stage_name(st);
  SCHEDULE_TRY(schedule_check_no_extern(c, stage, "leave it at root"));
  SCHEDULE_TRY(schedule_check_no_extern_reader(c, stage, "tensors in memory, and one that is inlined is nowhere",
                                               "leave it at root"));
  if (st->op->body->op == TIR_REDUCE)
    return schedule_refuse(
        c, "%s is a reduction (over %s): it has no value before its loop ends; use compute_at(%s, reader, axis)", name,
        st->op->reduce_axes[0]->var.name, name);
  if (st->attach == SCHEDULE_INLINED)
    return schedule_refuse(c, "%s is inlined already; call compute_root(%s) to take that back", name, name);
  return check_placed(c, SCHEDULE_INLINED, -1, -1);
}

/* Whether making the loops anew would lose something. */
static bool has_own_loops(const schedule_stage *st) {
  bool changed = st->n_relations > 0 || st->n_prefetches > 0 || st->predicate || st->buffering;
  for (int i = 0; i < st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(st, i);
    changed |= st->leaves[i] != i || axis->annotation != SCHEDULE_NONE || schedule_has_pragma(axis) || axis->in_intrin;
  }
  return changed;
}

/* The loops are kept: compute_root brings them back. */
bool schedule_rewrite_compute_inline(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  char loops[512];
  if (has_own_loops(st))
    schedule_warn(c, ": the schedule of its loops (%s) has no effect while it is inlined",
                  schedule_loop_names(st, loops, sizeof loops));
  place(st, SCHEDULE_INLINED, -1, -1);
  return true;
}

tn_status schedule_compute_inline(tn_schedule *s, int stage) {
  return apply_to_stage(s, SCHEDULE_STEP_CI, stage, NULL);
}
tn_status tn_compute_inline(tn_schedule *s, const char *stage) {
  return SCHEDULE_CALL(s, compute_inline, schedule_name(stage));
}

/* Invariant of compute_root: what it reads is there where its loops begin. */
tn_status schedule_check_compute_root(schedule_call *c) {
  SCHEDULE_TRY(check_computed(c, c->step.stage));
  return check_placed(c, SCHEDULE_ROOT, -1, -1);
}

/* Loops are as they were left. */
bool schedule_rewrite_compute_root(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  if (st->attach == SCHEDULE_ROOT) schedule_warn(c, " has no effect: %s is at root already", schedule_stage_name(st));
  place(st, SCHEDULE_ROOT, -1, -1);
  return true;
}

tn_status tn_compute_root(tn_schedule *s, const char *stage) {
  return SCHEDULE_CALL(s, compute_root, schedule_name(stage));
}

/* ---- auto_inline ------------------------------------------------------------------------------------------------- */

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

/* Stage order is producers first, so that chains collapse from their beginning. */
tn_status schedule_compose_auto_inline(tn_schedule *s, const schedule_call *c) {
  int n = 0;
  for (int i = 0; i < s->n_stages; i++) {
    if (!is_injective(s, i) || has_guests(s, i)) continue;
    SCHEDULE_TRY(schedule_compute_inline(s, i));
    n++;
  }
  if (n == 0) schedule_warn(c, " has no effect: no stage can be inlined");
  return TN_OK;
}
tn_status tn_auto_inline(tn_schedule *s) {
  return schedule_call_words(s, &schedule_rows[SCHEDULE_WORD_auto_inline], 0, NULL);
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/* The scopes that a CPU's buffers can have. */
static tn_status check_scope(const schedule_call *c, const char *scope) {
  if (scope && (strcmp(scope, "global") == 0 || strcmp(scope, "local") == 0)) return TN_OK;
  return schedule_refuse(c, "scope \"%s\" is unknown: use \"global\" or \"local\"", scope ? scope : "");
}

/* Invariant of set_scope: every element has a place, wherever that lies. */
tn_status schedule_check_set_scope(schedule_call *c) {
  SCHEDULE_TRY(check_computed(c, c->step.stage));
  SCHEDULE_TRY(check_scope(c, c->step.text));
  const char *name = schedule_stage_name(&c->s->stages[c->step.stage]);
  if (!schedule_is_output(c->s, c->step.stage)) return TN_OK;
  return schedule_refuse(
      c, "%s is an output: its memory is the caller's; use cache_write(%s, %s), which makes a stage with that scope",
      name, name, c->step.text);
}

/* The word is interned. */
bool schedule_rewrite_set_scope(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  if (strcmp(st->scope, c->step.text) == 0)
    schedule_warn(c, " has no effect: the scope of %s is %s already", schedule_stage_name(st), c->step.text);
  const char *scope = schedule_intern(c->s->program, c->step.text);
  if (scope) st->scope = scope;
  return scope != NULL;
}

tn_status schedule_set_scope(tn_schedule *s, int stage, const char *scope) {
  return apply_to_stage(s, SCHEDULE_STEP_SS, stage, scope);
}
tn_status tn_set_scope(tn_schedule *s, const char *stage, const char *scope) {
  return SCHEDULE_CALL(s, set_scope, schedule_name(stage), schedule_name(scope));
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* "A.local_1" */
static const char *numbered_name(tn_program *program, const char *tensor, const char *scope, int number) {
  char suffix[512], digits[RUNTIME_DIGITS];
  if (strlen(scope) + 1 + RUNTIME_DIGITS > sizeof suffix) return NULL;
  stpcpy(stpcpy(stpcpy(suffix, scope), "_"), runtime_digits(number, digits));
  return schedule_intern_joined(program, tensor, suffix);
}

/* "A.local", or "A.local_1" when the schedule has one already. */
static const char *derived_name(tn_schedule *s, const tn_tensor *tensor, const char *scope) {
  const char *name = schedule_intern_joined(s->program, tensor->name, scope);
  for (int i = 1; name && schedule_find_stage(s, name) >= 0; i++)
    name = numbered_name(s->program, tensor->name, scope, i);
  return name;
}

/* NAMES has room for the stage's tensors. False: out of memory. */
bool schedule_derived_names(tn_schedule *s, const schedule_stage *stage, const char *suffix, const char **names) {
  for (int v = 0; v < stage->n_tensors; v++)
    if (!(names[v] = derived_name(s, &stage->tensors[v], suffix))) return false;
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

/* Each reads the tensor, once named, and none of them while a scan makes it. */
static tn_status check_readers(const schedule_call *c, const tn_tensor *tensor) {
  const tn_schedule *s = c->s;
  const int64_t *readers = c->step.list;
  int stage = c->step.stage, n = c->step.n;
  char names[512];
  reader_names(s, stage, tensor, names, sizeof names);
  if (n < 1 && names[0]) return schedule_refuse(c, "no reader is named: name one of %s", names);
  if (n < 1) return schedule_refuse(c, "nothing reads %s: leave the cache out", tensor->name);
  for (int i = 0; i < n; i++) {
    SCHEDULE_TRY(check_computed(c, (int)readers[i]));
    const char *reader = schedule_stage_name(&s->stages[readers[i]]);
    if (readers[i] <= stage && s->stages[stage].op->kind == TE_SCAN)
      return schedule_refuse(c,
                             "%s reads earlier times of the scan %s while it is computed, which no copy of it can "
                             "hold; name readers outside of the scan, or leave the cache out",
                             reader, tensor->name);
    if (!schedule_reads(&s->stages[readers[i]], tensor))
      return schedule_refuse(c, "%s does not read %s: name one of its readers, %s", reader, tensor->name, names);
    for (int k = 0; k < i; k++)
      if (readers[k] == readers[i]) return schedule_refuse(c, "reader %s is named twice: name each once", reader);
  }
  return TN_OK;
}

/* The tensor lies whole in memory when its copy is made. */
tn_status schedule_check_cache_read(schedule_call *c) {
  int stage = c->step.stage;
  int64_t value = c->step.value;
  const tn_schedule *s = c->s;
  SCHEDULE_TRY(check_index(c, stage));
  if (value < 0 || value >= s->stages[stage].n_tensors)
    return schedule_refuse(c, "value %lld: the stage makes %d tensor%s, counted from 0", (long long)value,
                           s->stages[stage].n_tensors, s->stages[stage].n_tensors == 1 ? "" : "s");
  SCHEDULE_TRY(check_scope(c, c->step.text));
  const schedule_stage *st = &s->stages[stage];
  if (st->tensors->by_value)
    return schedule_refuse(
        c, "%s is a scalar: it is passed by value and lies in a register; name an input that is a tensor",
        schedule_stage_name(st));
  if (st->op->kind != TE_SCAN)
    SCHEDULE_TRY(
        schedule_check_no_scan(c, stage, "cache_read", "use set_scope or storage_align, which keep its buffer"));
  if (st->predicate)
    return schedule_refuse(c,
                           "the stores of %s have a predicate (%s), and a copy reads all elements: call cache_read "
                           "before set_store_predicate, and give the copy the predicate",
                           schedule_stage_name(st), st->predicate_text);
  if (st->attach != SCHEDULE_ROOT)
    return schedule_refuse(c,
                           "%s is %s: a cache reads a stage at root; call cache_read before that, or compute_root(%s)",
                           schedule_stage_name(st), st->attach == SCHEDULE_INLINED ? "inlined" : "under compute_at",
                           schedule_stage_name(st));
  return check_readers(c, &st->tensors[value]);
}

/* Invariant: the new stage is a copy of one tensor; the named readers read it instead. Their loops stay. */
bool schedule_rewrite_cache_read(schedule_call *c) {
  tn_schedule *s = c->s;
  int stage = c->step.stage, n = c->step.n;
  const tn_tensor *tensor = &s->stages[stage].tensors[c->step.value];
  const te_op *copy = schedule_copy_op(s->program, tensor, derived_name(s, tensor, c->step.text));
  const te_op *changed[SCHEDULE_MAX_AXES];
  if (!copy) return false;
  for (int i = 0; i < n; i++) {
    changed[i] = schedule_reread_op(s->program, s->stages[c->step.list[i]].op, tensor, &copy->outputs[0]);
    if (!changed[i]) return false;
  }
  const char *kept = schedule_intern(s->program, c->step.text);
  if (!kept || !schedule_insert_stage(s, stage + 1, copy, kept)) return false;
  for (int i = 0; i < n; i++) s->stages[c->step.list[i] + 1].op = changed[i];
  return true;
}

/* READERS are positions of stages. */
tn_status schedule_cache_read(tn_schedule *s, int stage, const char *scope, int n, const int *readers) {
  int64_t list[SCHEDULE_MAX_AXES];
  for (int i = 0; i < n && i < SCHEDULE_MAX_AXES; i++) list[i] = readers[i];
  schedule_step step = {
      .kind = SCHEDULE_STEP_CHR, .stage = (int16_t)stage, .iter = -1, .n = n, .list = list, .text = scope};
  return schedule_apply_step(s, &step);
}
tn_status tn_cache_read_names(tn_schedule *s, const char *tensor, const char *scope, int n,
                              const char *const *readers) {
  return SCHEDULE_CALL(s, cache_read, schedule_name(tensor), schedule_name(scope), schedule_names(n, readers));
}

/* The new stage stands at root; what it reads must not be computed inside another stage's loop. */
tn_status schedule_check_inputs_at_root(const schedule_call *c, int stage, const char *new_stage,
                                        const char *primitive) {
  tn_schedule *s = c->s;
  const char *name = schedule_stage_name(&s->stages[stage]);
  for (int i = 0; i < stage; i++) {
    const schedule_stage *st = &s->stages[i];
    int readers[SCHEDULE_MAX_STAGES];
    int n = st->attach == SCHEDULE_AT ? schedule_consumers(s, i, true, RUNTIME_COUNT(readers), readers) : 0;
    for (int k = 0; k < n; k++) {
      if (readers[k] != stage) continue;
      const char *input = schedule_stage_name(st), *at = schedule_stage_name(&s->stages[st->at_stage]);
      return schedule_refuse(c,
                             "%s reads %s, which is computed inside loop %s of %s, and %s would read it from root: "
                             "call %s(%s, ...) before compute_at(%s, ...)",
                             name, input, s->stages[st->at_stage].axes[st->at_axis].name, at, new_stage, primitive,
                             name, input);
    }
  }
  return TN_OK;
}

/* They are attached to axes that would be gone. */
tn_status schedule_check_no_guests(const schedule_call *c, int stage, const char *primitive) {
  tn_schedule *s = c->s;
  const char *name = schedule_stage_name(&s->stages[stage]);
  for (int i = 0; i < s->n_stages; i++)
    if (s->stages[i].attach == SCHEDULE_AT && s->stages[i].at_stage == stage)
      return schedule_refuse(c, "%s is computed at a loop of %s, which would be lost: call %s(%s, ...) before it",
                             schedule_stage_name(&s->stages[i]), name, primitive, name);
  return TN_OK;
}

/* The stage's loops are made anew, so that nothing may have been done to them. */
tn_status schedule_check_cache_write(schedule_call *c) {
  int stage = c->step.stage;
  const char *scope = c->step.text;
  SCHEDULE_TRY(check_computed(c, stage));
  SCHEDULE_TRY(check_scope(c, scope));
  SCHEDULE_TRY(schedule_check_no_extern(c, stage, "give its tensor the scope by set_scope"));
  const schedule_stage *st = &c->s->stages[stage];
  const char *name = schedule_stage_name(st);
  if (st->attach == SCHEDULE_INLINED)
    return schedule_refuse(c, "%s is inlined and writes nothing: call compute_root(%s) first", name, name);
  char names[512];
  SCHEDULE_TRY(
      schedule_check_no_scan(c, stage, "cache_write", "use set_scope or storage_align, which keep its buffer"));
  if (has_own_loops(st))
    return schedule_refuse(
        c, "%s already has a schedule (loops: %s), which would be lost: call cache_write(%s, %s) before it", name,
        schedule_loop_names(st, names, sizeof names), name, scope);
  SCHEDULE_TRY(schedule_check_no_guests(c, stage, "cache_write"));
  snprintf(names, sizeof names, "%s.%s", name, scope);
  return schedule_check_inputs_at_root(c, stage, names, "cache_write");
}

/* Tensors of one op move together: half of them would leave the others without a computation. */
tn_status schedule_check_together(const schedule_call *c, int n, const char *const *tensors) {
  const schedule_stage *st = &c->s->stages[c->step.stage];
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
    return schedule_refuse(c,
                           "%s is one of %d tensors named, but computed by itself: call cache_write for each stage, "
                           "cache_write(%s, local)",
                           all, n, all);
  return schedule_refuse(
      c, "the tensors %s are computed together and move together: name each of them once, cache_write(%s, local)", all,
      all);
}

/* Invariant: a new stage computes what the stage computed; the stage copies it and keeps its tensors and its place. */
bool schedule_rewrite_cache_write(schedule_call *c) {
  tn_schedule *s = c->s;
  int stage = c->step.stage;
  const te_op *op = s->stages[stage].op;
  const char *kept = schedule_intern(s->program, c->step.text), *names[TIR_MAX_VALUES];
  bool named = schedule_derived_names(s, &s->stages[stage], c->step.text, names);
  const te_op *cache = named ? schedule_renamed_op(s->program, op, names) : NULL;
  const te_op *copy = cache ? schedule_forward_op(s->program, op, cache) : NULL;
  if (!copy || !kept || !schedule_insert_stage(s, stage, cache, kept)) return false;
  s->stages[stage + 1].op = copy;
  return schedule_reset_loops(s, &s->stages[stage + 1]);
}

tn_status schedule_cache_write(tn_schedule *s, int stage, const char *scope) {
  return apply_to_stage(s, SCHEDULE_STEP_CHW, stage, scope);
}
tn_status tn_cache_write_names(tn_schedule *s, const char *scope, int n, const char *const *tensors) {
  return SCHEDULE_CALL(s, cache_write, schedule_names(n, tensors), schedule_name(scope));
}
/* Of a stage with one tensor, or by the first of them. */
tn_status tn_cache_write(tn_schedule *s, const char *tensor, const char *scope) {
  return tn_cache_write_names(s, scope, 1, &tensor);
}
