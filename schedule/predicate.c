/* predicate.c: the primitive set_store_predicate: every store of a stage stands in `if (condition)`. In TVM that can
 * change what is read later; here it is accepted only where every reader is proved to read nothing that is left out. */
#include <stdio.h>

#include "schedule/lowering.h"

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* Looking for a read of a tensor of STAGE at a place where CONDITION need not hold. */
typedef struct proof {
  tn_schedule *s;
  runtime_arena *arena;
  const schedule_stage *stage;
  const tir_expr *condition; /* over the stage's axes */
  const tir_expr *open;      /* the first such read */
} proof;

static bool is_output_of(const schedule_stage *st, const tn_tensor *tensor) {
  return tensor >= st->tensors && tensor < st->tensors + st->n_tensors;
}

static void look(proof *p, const tir_env *env, const tir_expr *e);

static void look_under(proof *p, const tir_env *env, const tir_expr *cond, bool holds, const tir_expr *e) {
  tir_env inner = {.outer = env, .cond = holds ? cond : tir_unary(p->arena, TIR_NOT, cond)};
  look(p, &inner, e);
}

/* The condition at the place that is read, with what is known there. */
static void look_at_read(proof *p, const tir_env *env, const tir_expr *read) {
  tir_binding bindings[TN_MAX_RANK];
  const te_op *op = p->stage->op;
  for (int i = 0; i < op->n_axes; i++) {
    const tir_var *var = &op->axes[i]->var;
    bindings[i] = (tir_binding){var, tir_cast(p->arena, var->dtype, read->arg[i])};
  }
  if (!tir_prove(p->arena, env, tir_substitute(p->arena, p->condition, op->n_axes, bindings))) p->open = read;
}

/* A select's sides, and what stands behind && and ||, count only where they are taken: elsewhere their values are
 * thrown away. The size of te's expressions is limited, shared parts counted as often as they stand there. */
static void look(proof *p, const tir_env *env, const tir_expr *e) {
  const tir_expr *where = tir_reduce_where(e);
  if (p->open) return;
  if (e->op == TIR_SELECT) {
    look(p, env, e->arg[0]);
    look_under(p, env, e->arg[0], true, e->arg[1]);
    look_under(p, env, e->arg[0], false, e->arg[2]);
  } else if (e->op == TIR_AND || e->op == TIR_OR) {
    look(p, env, e->arg[0]);
    look_under(p, env, e->arg[0], e->op == TIR_AND, e->arg[1]);
  } else if (where) {
    int n = tir_n_values(e);
    look(p, env, where);
    for (int i = 0; i < n; i++) look_under(p, env, where, true, e->arg[i]);
    for (int i = n + 1; i < e->n_args; i++) look(p, env, e->arg[i]); /* init */
  } else {
    if (e->op == TIR_READ && is_output_of(p->stage, e->u.tensor)) look_at_read(p, env, e);
    for (int i = 0; i < e->n_args; i++) look(p, env, e->arg[i]);
  }
}

/* Everything that OP computes, for all values of its axes. */
static void look_through(proof *p, const te_op *op) {
  int n = op->n_axes + op->n_reduce;
  tir_env *envs = RUNTIME_NEW_ARRAY(p->arena, tir_env, n + 1);
  for (int i = 0; envs && i < n; i++) {
    const tn_axis *axis = i < op->n_axes ? op->axes[i] : op->reduce_axes[i - op->n_axes];
    envs[i] = (tir_env){.outer = i ? &envs[i - 1] : NULL, .var = &axis->var, .range = {0, axis->extent - 1}};
  }
  if (envs) look(p, n ? &envs[n - 1] : NULL, op->body);
}

/* Whether the condition holds at every point of the stage. */
static bool holds_everywhere(proof *p) {
  const te_op *op = p->stage->op;
  tir_env *envs = RUNTIME_NEW_ARRAY(p->arena, tir_env, op->n_axes + 1);
  for (int i = 0; envs && i < op->n_axes; i++)
    envs[i] =
        (tir_env){.outer = i ? &envs[i - 1] : NULL, .var = &op->axes[i]->var, .range = {0, op->axes[i]->extent - 1}};
  return envs && tir_prove(p->arena, op->n_axes ? &envs[op->n_axes - 1] : NULL, p->condition);
}

static tn_status check_output(proof *p, const char *call, const char *text) {
  const char *name = schedule_stage_name(p->stage);
  if (holds_everywhere(p)) return TN_OK;
  return runtime_fail(p->s->ctx, TN_ERROR_SCHEDULE,
                      "%s: %s is an output, which is needed whole, and %s does not hold for all of it; use "
                      "select(%s, value, other) in the program",
                      call, name, text, text);
}

static tn_status check_readers(proof *p, const char *call, int stage, const char *text) {
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(p->s, stage, false, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++) {
    look_through(p, p->s->stages[readers[i]].op);
    if (!p->open) continue;
    runtime_str read = {0};
    te_print_expr(&read, p->open);
    tn_status status = runtime_fail(
        p->s->ctx, TN_ERROR_SCHEDULE,
        "%s: %s reads %s, where %s is not known to hold: what is not stored would be read; use select(%s, value, "
        "other) in the program, or a condition that holds wherever %s is read",
        call, schedule_stage_name(&p->s->stages[readers[i]]), read.failed ? "it" : read.data, text, text,
        schedule_stage_name(p->stage));
    runtime_str_free(&read);
    return status;
  }
  return TN_OK;
}

static tn_status check_stage(tn_schedule *s, const char *call, int stage) {
  SCHEDULE_TRY(schedule_check_stage(s, call, stage));
  const schedule_stage *st = &s->stages[stage];
  if (!st->predicate) return TN_OK;
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "%s: the stores of %s have a predicate already (%s): give one", call,
                      schedule_stage_name(st), st->predicate_text);
}

/* ---- the primitive ----------------------------------------------------------------------------------------------- */

/* The condition in one way of writing it. */
static const char *canonical_text(tn_schedule *s, const tir_expr *condition) {
  runtime_str text = {0};
  te_print_expr(&text, condition);
  const char *kept = text.failed ? NULL : schedule_intern(s->program, text.data);
  runtime_str_free(&text);
  return kept;
}

/* Invariant: an element that is not stored is not read. Primitives that come later keep what a stage reads, but for
 * cache_read of this one, which is refused then. */
static tn_status set_predicate(tn_schedule *s, const char *call, int stage, const tir_expr *condition, const char *text,
                               runtime_arena *arena) {
  proof p = {s, arena, &s->stages[stage], condition, NULL};
  if (strlen(text) > SCHEDULE_MAX_NAME)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "%s: the condition has %zu characters, at most %d: use a shorter one", call, strlen(text),
                        SCHEDULE_MAX_NAME);
  SCHEDULE_TRY(schedule_is_output(s, stage) ? check_output(&p, call, text) : check_readers(&p, call, stage, text));
  if (holds_everywhere(&p))
    runtime_say(s->ctx, TN_SEVERITY_WARNING, "%s has no effect: %s holds everywhere", call, text);
  schedule_step step = {.kind = SCHEDULE_STEP_ST, .stage = (int16_t)stage, .iter = -1, .text = text};
  if (!schedule_push_step(s, &step)) return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
  s->stages[stage].predicate = condition;
  s->stages[stage].predicate_text = text;
  return TN_OK;
}

tn_status schedule_set_store_predicate(tn_schedule *s, int stage, const char *condition) {
  char call[1024];
  snprintf(call, sizeof call, "set_store_predicate(%s)",
           stage >= 0 && stage < s->n_stages ? schedule_stage_name(&s->stages[stage]) : "?");
  SCHEDULE_TRY(check_stage(s, call, stage));
  SCHEDULE_TRY(schedule_check_no_scan(s, call, stage, "set_store_predicate",
                                      "leave elements out where a reader of the whole scan stores"));
  const te_op *op = s->stages[stage].op;
  const tir_expr *e = te_parse_condition(s->ctx, op->n_axes, op->axes, condition ? condition : "");
  const char *text = e ? canonical_text(s, e) : NULL;
  if (!e) return tn_context_status(s->ctx);
  if (!text) return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
  runtime_arena arena = {0};
  tn_status status = set_predicate(s, call, stage, e, text, &arena);
  runtime_arena_free(&arena);
  return status;
}
