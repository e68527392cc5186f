/* tune.c: tn_tune: rounds of proposing, measuring and learning, then the finals. What the log held before, and what
 * other tuners append to it meanwhile, is told to the search and not measured again. */
#include <math.h>
#include <unistd.h>

#include "autotune/tuner.h"

enum { TRIALS = 64, PER_ROUND = 24, FINALISTS = 8 };

/* Of a run with a limit of time, what is left to the finals: a share of it, but not more seconds than these. */
#define FINALS_SHARE 0.2
#define FINALS_MOST_S 3.0
/* Ending the workers and writing the last line takes a moment, which belongs to the time that was given. */
#define LAST_S 0.05

/* ---- options ----------------------------------------------------------------------------------------------------- */

static tn_status refuse(tn_context *ctx, const char *what, double value, const char *allowed) {
  return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.%s is %g: give %s", what, value, allowed);
}

static tn_status check_numbers(tn_context *ctx, const tn_tune_options *o) {
  if (o->trials < 0) return refuse(ctx, "trials", o->trials, "1 or more, or 0 for 64");
  if (o->per_round < 0) return refuse(ctx, "per_round", o->per_round, "1 or more, or 0 for 24");
  if (!(o->seconds >= 0)) return refuse(ctx, "seconds", o->seconds, "0 (no limit) or more");
  if (o->early_stop < 0) return refuse(ctx, "early_stop", o->early_stop, "1 or more, or 0 for no such limit");
  if (o->finalists >= TUNER_MAX_FINALISTS)
    return refuse(ctx, "finalists", o->finalists, "up to 15, 0 for 8, or -1 for no finals");
  if ((unsigned)o->effort > TN_EFFORT_THOROUGH)
    return refuse(ctx, "effort", (double)o->effort, "one of enum tn_effort");
  return TN_OK;
}

static tn_status check_options(tn_context *ctx, const tn_tune_options *o) {
  if (!o || !o->log || !*o->log)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.log is needed: the file that records go to");
  tn_status status = check_numbers(ctx, o);
  if (status != TN_OK) return status;
  if (o->builder && !o->builder->build)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.builder has no build function");
  if (o->runner && !o->runner->run)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.runner has no run function");
  if (!o->builder != !o->runner) {
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "tn_tune: options.%s is given without options.%s: what one makes the other must know",
                        o->builder ? "builder" : "runner", o->builder ? "runner" : "builder");
  }
  return autotune_log_check(ctx, o->log);
}

/* What an effort means, where the options do not say it. */
static const struct effort {
  int trials;
  double seconds;
  int early_stop;
} efforts[] = {[TN_EFFORT_NONE] = {TRIALS, 0, 0},
               [TN_EFFORT_QUICK] = {INT32_MAX, 10, 0},
               [TN_EFFORT_NORMAL] = {INT32_MAX, 60, 0},
               [TN_EFFORT_THOROUGH] = {INT32_MAX, 0, 300}};

static bool fill_options(tuner *t) {
  tn_tune_options *o = &t->options;
  const struct effort *effort = &efforts[o->effort];
  if (o->trials == 0) o->trials = o->seconds > 0 ? INT32_MAX : effort->trials;
  if (o->seconds == 0) o->seconds = effort->seconds;
  if (o->early_stop == 0) o->early_stop = effort->early_stop;
  if (o->per_round == 0) o->per_round = PER_ROUND;
  if (o->finalists == 0) o->finalists = o->builder ? -1 : FINALISTS;
  if (!o->target) o->target = tn_target_new(t->ctx, NULL);
  return o->target != NULL;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static uint64_t hash_and_free(tn_schedule *s) {
  uint64_t hash = s ? autotune_schedule_hash(s) : 0;
  tn_schedule_free(s);
  return hash;
}

/* Candidates end when the finals begin. */
static void set_deadline(tuner *t) {
  double seconds = t->options.seconds;
  if (seconds <= 0) return;
  double finals_s = t->options.finalists > 0 ? fmin(FINALS_SHARE * seconds, FINALS_MOST_S) : 0;
  t->deadline_ns = t->start_ns + (uint64_t)(fmax(seconds - finals_s - LAST_S, 0) * 1e9);
}

/* The file that the cost model is kept in; NULL: none. */
static const char *model_file(const tuner *t) {
  const char *model = t->options.cost_model;
  return model && *model && strcmp(model, "none") != 0 && strcmp(model, "xgboost") != 0 ? model : NULL;
}

static tn_status set_up(tuner *t) {
  TN_SCOPE(TASK, 1, "InitializeTask");
  if (!fill_options(t)) return tn_context_status(t->ctx);
  const tn_target *target = t->options.target;
  set_deadline(t);
  t->target = tn_target_text(target);
  t->task = (autotune_task){t->ctx, t->program, target, tn_target_threads(target), tn_target_vector_bytes(target), 64};
  t->model = autotune_model_new(t->ctx, t->options.seed, t->task.threads);
  const char *file = model_file(t);
  if (t->model && t->options.cost_model && strcmp(t->options.cost_model, "none") == 0)
    autotune_model_turn_off(t->model);
  if (t->model && file && access(file, F_OK) == 0) autotune_model_load(t->model, file);
  t->search = autotune_search_new(&t->task, t->model, t->options.seed);
  t->default_hash = hash_and_free(tn_schedule_new(t->program));
  t->generic_hash = hash_and_free(autotune_generic_schedule(&t->task));
  if (t->search && t->default_hash) return TN_OK;
  return tn_context_status(t->ctx) == TN_OK ? TN_ERROR_MEMORY : tn_context_status(t->ctx);
}

static tn_status resume(tuner *t) {
  TN_SCOPE(RECORD, 1, "InitializeTask/ReadLog");
  tn_status status = tuner_catch_up(t);
  t->since_best = 0;
  if (status == TN_OK && t->held > 0) status = autotune_model_train(t->model);
  return status;
}

/* Worker processes are started only when something is left to measure. */
static tn_status start_workers(tuner *t) {
  TN_SCOPE(QUEUE, 1, "InitializeTask/StartWorkers");
  if (t->options.builder) {
    t->builder = *t->options.builder;
    t->runner = *t->options.runner;
    t->builder.free = t->runner.free = NULL; /* the caller's */
    return TN_OK;
  }
  tn_worker_options workers = t->options.workers;
  workers.should_stop = tuner_should_stop;
  workers.user = t;
  return tn_workers_new(t->ctx, &workers, &t->builder, &t->runner) ? TN_OK : tn_context_status(t->ctx);
}

static void tear_down(tuner *t) {
  if (t->builder.free) t->builder.free(t->builder.self);
  if (t->runner.free) t->runner.free(t->runner.self);
  for (int i = 0; i < t->n_top; i++) {
    free(t->top[i].steps);
    free(t->top[i].plan);
  }
  free(t->generic.steps);
  free(t->generic.plan);
  free(t->first_failure);
  autotune_claims_free(&t->claims);
  runtime_map_free(&t->measured);
  autotune_search_free(t->search);
  autotune_model_free(t->model);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* A search that lacks memory draws other candidates than it would. What is refused is not told, but that is. */
static tn_status check_memory(const tuner *t) {
  bool lacks_memory = t->began_well && tn_context_status(t->ctx) == TN_ERROR_MEMORY;
  return lacks_memory ? TN_ERROR_MEMORY : TN_OK;
}

static tn_status round_of(tuner *t, int want) {
  tn_schedule **schedules = calloc((size_t)want, sizeof *schedules);
  if (!schedules) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a round of %d candidates", want);
  tuner_tell(t, "searching");
  int n = autotune_search_next(t->search, want, schedules);
  t->result.exhausted = n == 0;
  if (n == 0) t->result.end = TN_TUNE_EXHAUSTED;
  tn_status status = check_memory(t);
  if (status == TN_OK) status = tuner_measure_round(t, n, schedules);
  for (int i = 0; i < n; i++) tn_schedule_free(schedules[i]);
  free(schedules);
  if (status != TN_OK || n == 0 || tuner_is_done(t)) return status;
  TN_SCOPE(MODEL, 1, "MeasureCallback/UpdateCostModel");
  return autotune_model_train(t->model);
}

/* A round is an event Round#k of the running session, if there is one. */
static void end_round(void) {
  tn_profile_state state = tn_profile_get_state();
  if (state == TN_PROFILE_RECORDING || state == TN_PROFILE_WAITING) tn_profile_step(NULL);
}

/* What is tuned, for whoever reads the recording. */
static void tell_task(const tuner *t) {
  static const tn_site site = {__FILE__, "tell_task", __LINE__, TN_CATEGORY_TASK, 1};
  if (!tn_profile_wants(TN_CATEGORY_TASK, 1)) return;
  const tn_event_arg args[] = {tn_event_arg_text("workload", tn_program_key(t->program)),
                               tn_event_arg_text("program", tn_program_text(t->program)),
                               tn_event_arg_text("target", t->target),
                               tn_event_arg_f64("flops", tn_program_flops(t->program)),
                               tn_event_arg_f64("weight", 1),
                               tn_event_arg_i64("trials_wanted", t->options.trials)};
  tn_mark(&site, "task", args, RUNTIME_COUNT(args));
}

static tn_status run_rounds(tuner *t) {
  tn_status status = start_workers(t);
  if (status == TN_OK) status = tuner_prepare(t);
  while (status == TN_OK && !t->result.exhausted && !tuner_is_done(t)) {
    status = round_of(t, RUNTIME_MIN(t->options.per_round, t->options.trials - t->held));
    end_round();
  }
  if (status == TN_OK && model_file(t)) autotune_model_save(t->model, model_file(t));
  return status == TN_OK ? tuner_finals(t) : status;
}

/* Between the lines of the log that say that it began and why it ended. */
static tn_status run(tuner *t) {
  if (tuner_is_done(t)) return TN_OK;
  tn_status status = tuner_log_start(t);
  if (status == TN_OK) status = run_rounds(t);
  if (status == TN_OK) status = tuner_judge(t);
  tn_status logged = tuner_log_end(t, status);
  return status == TN_OK ? logged : status;
}

tn_status tn_tune(tn_program *program, const tn_tune_options *options, tn_tune_result *out) {
  if (out) *out = (tn_tune_result){0};
  if (!program) return TN_ERROR_ARGUMENT;
  tuner t = {.ctx = program->ctx,
             .program = program,
             .start_ns = runtime_now_ns(),
             .claims = AUTOTUNE_NO_CLAIMS,
             .began_well = tn_context_status(program->ctx) == TN_OK};
  tn_status status = te_check_no_symbols(program, "tuning");
  if (status == TN_OK) status = te_check_no_externs(program, "tuning");
  if (status == TN_OK) status = check_options(t.ctx, options);
  if (status != TN_OK) return status;
  t.options = *options;
  status = set_up(&t);
  if (status == TN_OK) tell_task(&t);
  if (status == TN_OK) status = resume(&t);
  if (status == TN_OK) status = run(&t);
  if (status == TN_OK) status = check_memory(&t);
  tear_down(&t);
  if (out) *out = t.result;
  return status;
}
