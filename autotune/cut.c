/* cut.c: one large program as a network: it is cut into groups, each the stages that a schedule computes
 * together. Groups that compute the same are one task. The tasks' records then schedule the whole program,
 * group by group. */
#include "autotune/search.h"
#include "schedule/plan.h"

/* A program that is being cut, and scheduled if there is a log. Arrays are in the context's arena. */
typedef struct cutting {
  tn_program *program;
  const tn_target *target;
  const char *log; /* NULL: only cut it */
  schedule_plans *plans;
  int n;          /* groups */
  te_part *parts; /* of each group; one without a program cannot be cut out */
  int *task_of;   /* task of each group; -1: none */
  tn_cut *out;
  tn_schedule *schedule;
  tn_status status;
} cutting;

static tn_status no_memory(tn_context *ctx) { return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a cut"); }

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* The number of the task with PART's program, made if there is none; -1: no memory. */
static int find_task(cutting *c, tn_program *part, const char *name) {
  const char *key = tn_program_key(part);
  for (int i = 0; key && i < c->out->n; ++i)
    if (strcmp(tn_program_key(c->out->tasks[i].program), key) == 0) return i;
  if (!key) return -1;
  c->out->tasks[c->out->n] = (tn_cut_task){.program = part, .name = name};
  return c->out->n++;
}

/* Cuts one group out and finds its task. A group that is computed by C functions alone has none. */
static tn_status cut_group(cutting *c, int group, bool *is_in) {
  c->task_of[group] = -1;
  if (!schedule_plans_ops(c->plans, group, is_in)) return TN_OK;
  tn_status status = te_cut(c->program, is_in, &c->parts[group]);
  if (status != TN_OK) return status;
  int task = find_task(c, c->parts[group].program, schedule_plans_name(c->plans, group));
  if (task < 0) return tn_context_status(c->program->ctx);
  c->task_of[group] = task;
  ++c->out->tasks[task].count;
  ++c->out->n_groups;
  return TN_OK;
}

/* Cuts out all groups. Finding them needs plans, which were made before. */
static tn_status cut_all(cutting *c) {
  runtime_arena *arena = &c->program->ctx->arena;
  bool *is_in = calloc((size_t)c->program->n_ops + 1, sizeof *is_in);
  c->n = schedule_plans_count(c->plans);
  c->parts = RUNTIME_NEW_ARRAY(arena, te_part, c->n + 1);
  c->task_of = RUNTIME_NEW_ARRAY(arena, int, c->n + 1);
  c->out->tasks = RUNTIME_NEW_ARRAY(arena, tn_cut_task, c->n + 1);
  tn_status status = is_in && c->parts && c->task_of && c->out->tasks ? TN_OK : no_memory(c->program->ctx);
  /* Groups are found from the outputs on; tasks are told in the order of the program. */
  for (int i = c->n - 1; i >= 0 && status == TN_OK; --i) status = cut_group(c, i, is_in);
  free(is_in);
  return status;
}

/* ---- the whole program ------------------------------------------------------------------------------------------- */

/* The schedule of the task's best record; NULL without one, and without a message. */
static tn_schedule *best_of(const cutting *c, tn_cut_task *task) {
  runtime_quiet quiet = runtime_quiet_begin(c->program->ctx);
  tn_schedule *best = tn_apply_best(task->program, c->target, c->log, &task->seconds);
  runtime_quiet_end(&quiet);
  return best;
}

/* Applies a task's schedule to a group of the whole program. False where something that the task's own
 * program does not show forbids it; the group is then scheduled without its record. */
static bool graft_group(cutting *c, int group, const tn_schedule *best) {
  runtime_quiet quiet = runtime_quiet_begin(c->program->ctx);
  bool done = schedule_graft(c->schedule, best, &c->parts[group]) == TN_OK;
  runtime_quiet_end(&quiet);
  return done;
}

/* Applies the task's schedule to all groups of the task, each through its own part, which has the same text. */
static void graft_task(cutting *c, int number, bool *done) {
  tn_cut_task *task = &c->out->tasks[number];
  tn_schedule *best = best_of(c, task);
  for (int g = 0; best && g < c->n; ++g) {
    if (c->task_of[g] != number) continue;
    done[g] = graft_group(c, g, best);
    task->n_used += done[g];
  }
  tn_schedule_free(best);
}

/* Schedules all groups by their records, and the rest as `auto` does. */
static tn_status schedule_all(cutting *c) {
  bool *done = calloc((size_t)c->n + 1, sizeof *done);
  c->schedule = done ? tn_schedule_new(c->program) : NULL;
  if (!c->schedule) return free(done), no_memory(c->program->ctx);
  int n_used = 0;
  for (int i = 0; i < c->out->n; ++i) graft_task(c, i, done), n_used += c->out->tasks[i].n_used;
  tn_status status = tn_context_status(c->program->ctx);
  if (status == TN_OK && n_used == 0)
    status = runtime_fail(
        c->program->ctx, TN_ERROR_RECORD,
        "%s holds no usable record of any of the %d groups of the program: `tenon tune` cuts it and tunes them", c->log,
        c->out->n_groups);
  if (status == TN_OK) status = schedule_plans_complete(c->plans, done, c->schedule);
  free(done);
  return status;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* Bytes of stack that lowering and simplifying a large program may need. */
enum { STACK_BYTES = 1 << 20 };

/* Makes plans, parts and the schedule. Runs on a stack that is known to be large enough. */
static void cut_here(void *data) {
  cutting *c = data;
  const tn_machine machine = tn_target_machine(c->target);
  c->plans = schedule_plans_new(c->program, &machine);
  c->status = c->plans ? cut_all(c) : tn_context_status(c->program->ctx);
  if (c->status == TN_OK && c->log) c->status = schedule_all(c);
  schedule_plans_free(c->plans);
}

/* Refuses symbols and scans: what is computed in the order of time cannot be a group of its own. */
static tn_status check(const tn_program *program) {
  tn_status status = te_check_no_symbols(program, "cutting a program");
  for (int i = 0; i < program->n_ops && status == TN_OK; ++i)
    if (program->ops[i]->kind == TE_SCAN)
      status = runtime_fail(program->ctx, TN_ERROR_PROGRAM,
                            "%s is a scan, whose steps cannot be cut apart: tune the parts before and behind the scan "
                            "as programs of their own",
                            program->ops[i]->name);
  return status;
}

/* Checks the program and runs cut_here. Returns its status. */
static tn_status run(cutting *c) {
  *c->out = (tn_cut){0};
  tn_context *ctx = c->program->ctx;
  if (!c->target) c->target = tn_target_new(ctx, NULL);
  c->status = c->target ? check(c->program) : tn_context_status(ctx);
  if (c->status != TN_OK) return c->status;
  if (runtime_with_stack(STACK_BYTES, cut_here, c)) return c->status;
  return runtime_fail(ctx, TN_ERROR_MEMORY, "no thread with the stack that cutting a program needs");
}

bool tn_program_is_large(const tn_program *program) { return program && program->n_ops > AUTOTUNE_MAX_STAGES; }

tn_status tn_program_cut(tn_program *program, const tn_target *target, tn_cut *out) {
  if (!program || !RUNTIME_GIVEN(program->ctx, out)) return TN_ERROR_ARGUMENT;
  cutting c = {.program = program, .target = target, .out = out};
  return run(&c);
}

tn_schedule *tn_apply_cut(tn_program *program, const tn_target *target, const char *log, tn_cut *out) {
  tn_cut own;
  if (!program || !RUNTIME_GIVEN(program->ctx, log)) return NULL;
  cutting c = {.program = program, .target = target, .log = log, .out = out ? out : &own};
  if (run(&c) == TN_OK) return c.schedule;
  tn_schedule_free(c.schedule);
  return NULL;
}
