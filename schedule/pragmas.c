/* pragmas.c: pragmas on loops: a table of the keys that mean something here, with their values, and one of TVM's keys
 * that do not, with the reason and what to do instead. Invariant, legality, rewrite, as in loops.c. */
#include <stdio.h>

#include "schedule/edit.h"
#include "schedule/lowering.h"

/* A pragma that is known, and the values that it takes. */
static const struct pragma_row {
  const char *key;
  int64_t least, most;
  const char *values; /* what may be given */
} rows[SCHEDULE_PRAGMA_COUNT] = {
    [SCHEDULE_PRAGMA_UNROLL] = {"auto_unroll_max_step", 0, 65535, "0 to 65535 statements, for example 64"},
    [SCHEDULE_PRAGMA_EXPLICIT] = {"unroll_explicit", 0, 1,
                                  "0 (unrolled loops are left to the compiler) or 1 (they are written out)"},
    [SCHEDULE_PRAGMA_PARTITION] = {"loop_partition_hint", 1, 1, "1"},
    [SCHEDULE_PRAGMA_STRIDE] = {"parallel_stride_pattern", 1, 1, "1"},
    [SCHEDULE_PRAGMA_STREAM] = {"stream_stores", 1, 1, "1"},
    [SCHEDULE_PRAGMA_JOIN] = {"join_loop_before", 1, 1, "1"},
};

/* Pragmas that TVM has and Tenon has not: the word, and why, with what to do instead. */
static const char *const refused[][2] = {
    {"debug_skip_region",
     "the region's values would be missing, and a schedule never changes a result; take the stage out of the program"},
    {"parallel_launch_point",
     "threads start where the parallel loop stands; put parallel on an outer loop, with the others computed inside"},
    {"parallel_barrier_when_finish", "a parallel loop always ends with a barrier; leave the pragma out"},
    {"tensor_core", "CPU targets have none; use vectorize"},
    {"import_c", "C is compiled outside of a schedule; use an extern stage"},
    {"import_llvm", "LLVM IR is no part of a loop; use an extern stage"},
    {"vectorize", "it is a primitive of its own; use vectorize(stage, axis)"},
    {"unroll", "it is a primitive of its own; use unroll(stage, axis)"},
};

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* PRAGMA is a schedule_pragma_kind. */
const char *schedule_pragma_key(int pragma) { return rows[pragma].key; }

/* NULL: nothing is known against it. */
static const char *reason_against(const char *key) {
  int i = RUNTIME_FIND(refused, key);
  return i < 0 ? NULL : refused[i][1];
}

/* Letters that would have to change. */
static bool is_nearer(const char *key, const char *a, const char *b) {
  return runtime_edit_distance(key, a) < runtime_edit_distance(key, b);
}

/* The known keys, the most similar one first. */
static const char *keys_by_distance(const char *key, char *buffer, size_t n) {
  bool said[SCHEDULE_PRAGMA_COUNT] = {false};
  size_t used = 0;
  for (int i = 0; i < SCHEDULE_PRAGMA_COUNT; i++) {
    int best = -1;
    for (int k = 0; k < SCHEDULE_PRAGMA_COUNT; k++)
      if (!said[k] && (best < 0 || is_nearer(key, rows[k].key, rows[best].key))) best = k;
    said[best] = true;
    const char *between = i == 0 ? "" : i + 1 < SCHEDULE_PRAGMA_COUNT ? ", " : " or ";
    if (used < n) used += (size_t)snprintf(buffer + used, n - used, "%s%s", between, rows[best].key);
  }
  return buffer;
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

/* Keys of TVM that mean nothing here have a reason of their own. */
static tn_status check_key(const schedule_call *c, const char *key) {
  char names[256];
  const char *reason = reason_against(key);
  if (reason) return schedule_refuse(c, "key \"%s\": %s", key, reason);
  if (RUNTIME_FIND(rows, key) >= 0) return TN_OK;
  return schedule_refuse(c, "key \"%s\" is unknown: use %s", key, keys_by_distance(key, names, sizeof names));
}

/* Each key once a loop: a second value would silently win. */
static tn_status check_value(const schedule_call *c, const schedule_axis *axis, int pragma, int64_t value) {
  const struct pragma_row *row = &rows[pragma];
  if (value < row->least || value > row->most)
    return schedule_refuse(c, "%s %lld: give %s", row->key, (long long)value, row->values);
  if (schedule_pragma_value(axis, pragma) < 0) return TN_OK;
  return schedule_refuse(c, "loop %s already has %s %d: give it once", axis->name, row->key,
                         schedule_pragma_value(axis, pragma));
}

/* Parts "auto_unroll_max_step$64". A key of which KEY holds the beginning only is none that there is. */
static tn_status read_pragma(schedule_call *c, char *key, size_t n) {
  const char *text = c->step.text, *dollar = strrchr(text, '$'), *example = rows[SCHEDULE_PRAGMA_UNROLL].key;
  char *end;
  if (!dollar) return schedule_refuse(c, "pragma \"%s\" is no key and value: write \"%s$64\"", text, example);
  c->step.value = strtoll(dollar + 1, &end, 10);
  if (*end || end == dollar + 1)
    return schedule_refuse(c, "pragma \"%s\" has no number behind the $: write \"%s$64\"", text, example);
  snprintf(key, n, "%.*s", (int)(dollar - text), text);
  return TN_OK;
}

/* Invariant: no pragma changes what is computed. Unrolling and parting a loop keep the order of its iterations; the
 * iterations of a parallel loop are independent, so they may be shared out in any way. */
tn_status schedule_check_pragma(schedule_call *c) {
  char key[256];
  SCHEDULE_TRY(schedule_check_iter(c, c->step.stage, c->step.iter));
  SCHEDULE_TRY(schedule_check_outside(c, c->step.stage, c->step.iter));
  SCHEDULE_TRY(read_pragma(c, key, sizeof key));
  SCHEDULE_TRY(check_key(c, key));
  c->found = &rows[RUNTIME_FIND(rows, key)];
  return check_value(c, schedule_leaf(&c->s->stages[c->step.stage], c->step.iter), RUNTIME_FIND(rows, key),
                     c->step.value);
}

/* FOUND is the key's row; values are stored plus 1, so that 0 means none. */
bool schedule_rewrite_pragma(schedule_call *c) {
  schedule_stage *st = &c->s->stages[c->step.stage];
  schedule_axis *axis = &st->axes[st->leaves[c->step.iter]];
  ptrdiff_t pragma = (const struct pragma_row *)c->found - rows;
  if (pragma == SCHEDULE_PRAGMA_UNROLL)
    axis->unroll_step = (int32_t)c->step.value;
  else
    axis->pragma[pragma] = (uint8_t)(c->step.value + 1);
  return true;
}

/* With the only value that there is. */
static tn_status pragma_set(tn_schedule *s, int stage, int iter, schedule_pragma_kind pragma) {
  char text[64];
  snprintf(text, sizeof text, "%s$1", rows[pragma].key);
  schedule_step step = {.kind = SCHEDULE_STEP_PR, .stage = (int16_t)stage, .iter = (int16_t)iter, .text = text};
  return schedule_apply_step(s, &step);
}

tn_status schedule_pragma_stream(tn_schedule *s, int stage, int iter) {
  return pragma_set(s, stage, iter, SCHEDULE_PRAGMA_STREAM);
}

tn_status schedule_pragma_join(tn_schedule *s, int stage, int iter) {
  return pragma_set(s, stage, iter, SCHEDULE_PRAGMA_JOIN);
}

tn_status schedule_pragma_partition(tn_schedule *s, int stage, int iter) {
  return pragma_set(s, stage, iter, SCHEDULE_PRAGMA_PARTITION);
}

/* The only pragma that the tuner sets by itself. */
tn_status schedule_pragma_unroll(tn_schedule *s, int stage, int iter, int64_t max_step) {
  char text[64];
  snprintf(text, sizeof text, "%s$%lld", rows[SCHEDULE_PRAGMA_UNROLL].key, (long long)max_step);
  schedule_step step = {.kind = SCHEDULE_STEP_PR, .stage = (int16_t)stage, .iter = (int16_t)iter, .text = text};
  return schedule_apply_step(s, &step);
}
tn_status tn_pragma(tn_schedule *s, const char *stage, const char *axis, const char *key, int64_t value) {
  return SCHEDULE_CALL(s, pragma, schedule_name(stage), schedule_name(axis), schedule_name(key),
                       schedule_number(value));
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

/* Some of what readers read of a padded dimension lies behind the tensor. */
static bool leaves_tensor(const lower_stage *ls, int dim) {
  const tn_tensor *tensor = ls->st->tensors;
  return dim < tensor->ndim && ls->extent[dim] > tensor->shape[dim];
}

/* Whether a split with a rest made this axis, alone or among others: then its iterations differ by a condition. */
static bool has_rest(const lower_stage *ls, int axis) {
  int made_by = ls->st->axes[axis].made_by;
  if (made_by < 0) return ls->st->attach == SCHEDULE_AT || leaves_tensor(ls, axis);
  const schedule_relation *r = &ls->st->relations[made_by];
  if (!r->is_fuse) return (r->tail != TN_TAIL_OVERLAP && !schedule_is_exact(ls, r)) || has_rest(ls, r->one);
  for (int i = 0; i < r->n; i++)
    if (has_rest(ls, r->many[i])) return true;
  return false;
}

/* Said by lowering, where extents are known. */
static void warn(lowering *l, const lower_stage *ls, int leaf, const char *primitive, const char *why) {
  schedule_lowering_warn(l, "%s(%s, %s) has no effect: %s", primitive, schedule_stage_name(ls->st),
                         schedule_leaf(ls->st, leaf)->name, why);
}

/* A choice, a limit, or a quotient. */
static tir_walk find_border(void *user, const tir_expr *e) {
  (void)user;
  bool is_border =
      e->op == TIR_SELECT || tir_class_of(e) == TIR_CLASS_EXTREMUM || tir_class_of(e) == TIR_CLASS_DIVISION;
  return is_border ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether what some stage computes changes at the borders of an array: it may stand inside of the loop. */
static bool has_borders(const lowering *l) {
  bool has = false;
  for (int i = 0; i < l->s->n_stages; i++) {
    const tir_expr *body = l->stages[i].body;
    bool reduces = body != NULL && body->op == TIR_REDUCE;
    has =
        has || (reduces && tir_reduce_where(body) != NULL) || (body != NULL && !tir_walk_expr(body, find_border, NULL));
  }
  return has;
}

/* Each pragma on its own terms: what "no effect" means differs. */
static void warn_pragmas(lowering *l, const lower_stage *ls, int leaf) {
  const schedule_axis *axis = schedule_leaf(ls->st, leaf);
  if (schedule_pragma_value(axis, SCHEDULE_PRAGMA_EXPLICIT) == 1)
    warn(l, ls, leaf, "pragma", "unroll_explicit 1 is what holds without it");
  if (schedule_pragma_value(axis, SCHEDULE_PRAGMA_PARTITION) >= 0 && !has_rest(ls, ls->st->leaves[leaf]) &&
      !has_borders(l))
    warn(l, ls, leaf, "pragma", "no condition depends on the loop, so loop_partition_hint has nothing to part");
  if (schedule_pragma_value(axis, SCHEDULE_PRAGMA_STRIDE) >= 0 && axis->annotation != SCHEDULE_PARALLEL)
    warn(l, ls, leaf, "pragma", "parallel_stride_pattern is for a parallel loop");
}

void schedule_warn_join(lowering *l, const lower_stage *ls) {
  warn(l, ls, 0, "pragma",
       "no loop over the same iterations stands right before it that neither needs nor changes what it computes, so "
       "join_loop_before has nothing to join");
}

/* Once for each lowering of a schedule, for live stages. */
void schedule_warn_loops(lowering *l, const lower_stage *ls) {
  for (int i = 0; i < ls->st->n_leaves; i++) {
    const schedule_axis *axis = schedule_leaf(ls->st, i);
    bool is_kind = axis->annotation > SCHEDULE_NONE && axis->annotation < SCHEDULE_BIND;
    if (is_kind && ls->var[i]->extent == 1)
      warn(l, ls, i, schedule_annotation_words[axis->annotation], "the loop has one iteration");
    warn_pragmas(l, ls, i);
  }
}
