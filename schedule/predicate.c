/* predicate.c: the primitive set_store_predicate: every store of a stage stands in `if (condition)`. In TVM that can
 * change what is read later; here it is accepted only where every reader is proved to read nothing that is left out. */
#include "schedule/edit.h"
#include "schedule/lowering.h"

/* ---- legality ---------------------------------------------------------------------------------------------------- */

/* Looking for a read of a tensor of STAGE at a place where CONDITION need not hold. */
typedef struct proof {
  const schedule_call *c;
  runtime_arena *arena;
  const schedule_stage *stage;
  const tir_expr *condition; /* over the stage's axes */
  const tir_expr *open;      /* the first such read */
} proof;

/* Tensors of a stage lie side by side. */
static bool is_output_of(const schedule_stage *st, const tn_tensor *tensor) {
  return tensor >= st->tensors && tensor < st->tensors + st->n_tensors;
}

static void look(proof *p, const tir_env *env, const tir_expr *e);

/* SIDE conditions live on the C stack, one for each select around. */
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
  if (te_is_extern(op)) return; /* refused before */
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

/* An output is needed whole, so that the condition must be true everywhere. */
static tn_status check_output(proof *p, const char *text) {
  const char *name = schedule_stage_name(p->stage);
  if (holds_everywhere(p)) return TN_OK;
  return schedule_refuse(p->c,
                         "%s is an output, which is needed whole, and %s does not hold for all of it; use select(%s, "
                         "value, other) in the program",
                         name, text, text);
}

/* Looks through inlined readers, with the conditions of these. */
static tn_status check_readers(proof *p, const char *text) {
  const tn_schedule *s = p->c->s;
  int readers[SCHEDULE_MAX_STAGES], n = schedule_consumers(s, p->c->step.stage, false, RUNTIME_COUNT(readers), readers);
  for (int i = 0; i < n; i++) {
    look_through(p, s->stages[readers[i]].op);
    if (!p->open) continue;
    runtime_str read = {0};
    te_print_expr(&read, p->open);
    tn_status status =
        schedule_refuse(p->c,
                        "%s reads %s, where %s is not known to hold: what is not stored would be read; use select(%s, "
                        "value, other) in the program, or a condition that holds wherever %s is read",
                        schedule_stage_name(&s->stages[readers[i]]), read.failed ? "it" : read.data, text, text,
                        schedule_stage_name(p->stage));
    runtime_str_free(&read);
    return status;
  }
  return TN_OK;
}

/* One predicate a stage: two would need a rule for how they combine. */
static tn_status check_stage(const schedule_call *c, int stage) {
  SCHEDULE_TRY(schedule_check_stage(c, stage));
  const schedule_stage *st = &c->s->stages[stage];
  if (!st->predicate) return TN_OK;
  return schedule_refuse(c, "the stores of %s have a predicate already (%s): give one", schedule_stage_name(st),
                         st->predicate_text);
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
static tn_status check_condition(const schedule_call *c, const tir_expr *condition, const char *text,
                                 runtime_arena *arena) {
  proof p = {c, arena, &c->s->stages[c->step.stage], condition, NULL};
  if (strlen(text) > SCHEDULE_MAX_NAME)
    return schedule_refuse(c, "the condition has %zu characters, at most %d: use a shorter one", strlen(text),
                           SCHEDULE_MAX_NAME);
  SCHEDULE_TRY(schedule_is_output(c->s, c->step.stage) ? check_output(&p, text) : check_readers(&p, text));
  if (holds_everywhere(&p)) schedule_warn(c, " has no effect: %s holds everywhere", text);
  return TN_OK;
}

/* The condition is parsed over the op's axes and recorded in canonical form: equal conditions are equal
 * texts. */
tn_status schedule_check_set_store_predicate(schedule_call *c) {
  SCHEDULE_TRY(check_stage(c, c->step.stage));
  SCHEDULE_TRY(schedule_check_no_scan(c, c->step.stage, "set_store_predicate",
                                      "leave elements out where a reader of the whole scan stores"));
  SCHEDULE_TRY(schedule_check_no_extern_reader(c, c->step.stage, "whole tensors",
                                               "use select(condition, value, other) in the program"));
  const te_op *op = c->s->stages[c->step.stage].op;
  const tir_expr *condition = te_parse_condition(c->s->ctx, op->n_axes, op->axes, c->step.text);
  const char *text = condition ? canonical_text(c->s, condition) : NULL;
  if (!condition) return tn_context_status(c->s->ctx);
  if (!text) return schedule_no_memory(c->s);
  runtime_arena arena = {0};
  tn_status status = check_condition(c, condition, text, &arena);
  runtime_arena_free(&arena);
  c->found = condition;
  c->step.text = text;
  return status;
}

/* The condition lies in the context's arena. */
bool schedule_rewrite_set_store_predicate(schedule_call *c) {
  c->s->stages[c->step.stage].predicate = c->found;
  c->s->stages[c->step.stage].predicate_text = c->step.text;
  return true;
}

tn_status tn_set_store_predicate(tn_schedule *s, const char *stage, const char *condition) {
  return SCHEDULE_CALL(s, set_store_predicate, schedule_name(stage), schedule_name(condition));
}
