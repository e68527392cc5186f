/* tune.c: tn_tune: rounds of proposing, measuring and learning, then the finals. What the log already
 * holds, and what other tuners append to it meanwhile, is told to the search and not measured again.
 *
 * One `tuner` (tuner.h) on the stack of tn_tune owns everything: search, model, workers, the list of the
 * fastest. */
#include <math.h>
#include <unistd.h>

#include "autotune/measure.h"
#include "autotune/tuner.h"

/* TRIALS and FINALISTS: the defaults of the options. A builder without a queue gets batches of
 * BUILDS_PER_JOB for each job, and of at least LEAST_TOGETHER. */
enum { TRIALS = 64, FINALISTS = 8, BUILDS_PER_JOB = 2, LEAST_TOGETHER = 4 };

/* Of a run with a time limit: the share kept for the finals, but no more seconds than FINALS_MOST_S. */
#define FINALS_SHARE 0.2
#define FINALS_MOST_S 4.0
/* Ending the workers and writing the last line takes a moment, which belongs to the time that was given. */
#define LAST_S 0.05

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* VALUE is a double, which holds every numeric option. */
static tn_status refuse(tn_context *ctx, const char *what, double value, const char *allowed) {
  return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.%s is %g: give %s", what, value, allowed);
}

/* 0 always means the default. `!(x >= 0)` catches NaN as well. */
static tn_status check_numbers(tn_context *ctx, const tn_tune_options *o) {
  if (o->trials < 0) return refuse(ctx, "trials", o->trials, "1 or more, or 0 for 64");
  if (o->per_round < 0) return refuse(ctx, "per_round", o->per_round, "1 or more, or 0 for 24");
  if (o->n_inputs < 0 || (o->n_inputs > 0 && !o->inputs))
    return refuse(ctx, "n_inputs", o->n_inputs, "how many options.inputs has");
  if (!(o->seconds >= 0)) return refuse(ctx, "seconds", o->seconds, "0 (no limit) or more");
  if (o->population < 0 || o->population > 1 << 16)
    return refuse(ctx, "population", o->population, "2 to 65536, or 0 for 1024");
  if (o->generations < 0 || o->generations > 1000)
    return refuse(ctx, "generations", o->generations, "1 to 1000, or 0 for 4");
  if (!(o->eps <= 1)) return refuse(ctx, "eps", o->eps, "a share up to 1, 0 for 0.1, or a negative number for none");
  if (!(o->mutation <= 1))
    return refuse(ctx, "mutation", o->mutation, "a share up to 1, 0 for 0.75, or a negative number");
  if (!(o->crossover <= 1))
    return refuse(ctx, "crossover", o->crossover, "a share up to 1, 0 for 0.15, or a negative number");
  const tn_repeat_options *r = &o->workers.repeats;
  if (r->repeat < 0 || r->repeat > 1000) return refuse(ctx, "workers.repeats.repeat", r->repeat, "1 to 1000, or 0");
  if (r->number < 0) return refuse(ctx, "workers.repeats.number", r->number, "1 or more, or 0");
  if (!(r->min_repeat_ms >= 0)) return refuse(ctx, "workers.repeats.min_repeat_ms", r->min_repeat_ms, "0 or more");
  if (!(r->cooldown_s >= 0)) return refuse(ctx, "workers.repeats.cooldown_s", r->cooldown_s, "0 or more");
  if (o->early_stop < 0) return refuse(ctx, "early_stop", o->early_stop, "1 or more, or 0 for no such limit");
  if (o->finalists > TUNER_MOST_FINALISTS)
    return refuse(ctx, "finalists", o->finalists, "up to 15, 0 for 8, or -1 for no finals");
  if ((unsigned)o->effort > TN_EFFORT_THOROUGH)
    return refuse(ctx, "effort", (double)o->effort, "one of enum tn_effort");
  return TN_OK;
}

/* Rules are checked before anything runs, since they are called much later, inside the search. */
static tn_status check_rules(tn_context *ctx, const tn_tune_options *o) {
  if (o->n_rules < 0 || (o->n_rules > 0 && !o->rules))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.n_rules is %d%s", o->n_rules,
                        o->n_rules < 0 ? ": give 0 or more" : ", and options.rules is NULL");
  for (int i = 0; i < o->n_rules; i++)
    if (!o->rules[i].condition || !o->rules[i].apply)
      return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.rules[%d] has no %s function", i,
                          o->rules[i].condition ? "apply" : "condition");
  return TN_OK;
}

/* What a user's builder makes is opaque: only the user's runner can run it. Objects are the exception; the
 * workers can run them. */
static tn_status check_options(tn_context *ctx, const tn_tune_options *o) {
  if (!o || !o->log || !*o->log)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.log is needed: the file that records go to");
  tn_status status = check_numbers(ctx, o);
  if (status == TN_OK) status = check_rules(ctx, o);
  if (status != TN_OK) return status;
  const tn_builder *b = o->builder;
  const tn_runner *r = o->runner;
  if (b && !b->submit != !b->poll)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.builder has %s without %s: give both or neither",
                        b->submit ? "submit" : "poll", b->submit ? "poll" : "submit");
  if (r && !r->submit != !r->poll)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.runner has %s without %s: give both or neither",
                        r->submit ? "submit" : "poll", r->submit ? "poll" : "submit");
  if (b && !b->build && !b->submit)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "tn_tune: options.builder has no build function, and no submit and poll");
  if (r && !r->run && !r->submit)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.runner has no run function, and no submit and poll");
  if (!o->builder != !o->runner && !(b && b->makes_objects)) {
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "tn_tune: options.%s is given without options.%s: what one makes the other must know%s",
                        o->builder ? "builder" : "runner", o->builder ? "runner" : "builder",
                        b ? ", unless builder.makes_objects" : "");
  }
  return autotune_log_check(ctx, o->log);
}

/* What an effort means where the options do not say. */
static const struct effort {
  int trials;
  double seconds;
  int early_stop;
} efforts[] = {[TN_EFFORT_NONE] = {TRIALS, 0, 0},
               [TN_EFFORT_QUICK] = {INT32_MAX, 10, 0},
               [TN_EFFORT_NORMAL] = {INT32_MAX, 60, 0},
               [TN_EFFORT_THOROUGH] = {INT32_MAX, 0, 300}};

/* Afterwards an option of 0 means 0. The context owns the target that is made here. */
static bool fill_options(tuner *t) {
  tn_tune_options *o = &t->options;
  const struct effort *effort = &efforts[o->effort];
  if (o->trials == 0) o->trials = o->seconds > 0 ? INT32_MAX : effort->trials;
  if (o->seconds == 0) o->seconds = effort->seconds;
  if (o->early_stop == 0) o->early_stop = effort->early_stop;
  if (o->finalists == 0) o->finalists = o->runner ? -1 : FINALISTS;
  if (!o->target) o->target = tn_target_new(t->ctx, NULL);
  return o->target != NULL;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

/* Frees S and returns its hash; 0 if S is NULL. */
static uint64_t hash_and_free(tn_schedule *s) {
  uint64_t hash = s ? autotune_schedule_hash(s) : 0;
  tn_schedule_free(s);
  return hash;
}

/* Candidates end when the finals begin: as late as the best kernel's time allows. */
void tuner_set_deadline(tuner *t) {
  double seconds = t->options.seconds;
  if (seconds <= 0) return;
  double finals_s = t->options.finalists > 0 ? fmin(FINALS_SHARE * seconds, FINALS_MOST_S) : 0;
  finals_s = fmin(finals_s, tuner_finals_need_s(t));
  t->deadline_ns = t->start_ns + (uint64_t)(fmax(seconds - finals_s - LAST_S, 0) * 1e9);
  t->promised_ns = t->start_ns + (uint64_t)(fmax(seconds - LAST_S, 0) * 1e9);
  t->has_finals_left = finals_s > 0;
}

/* The file that keeps the cost model; NULL: none. */
static const char *model_file(const tuner *t) {
  const char *model = t->options.cost_model;
  return model && *model && strcmp(model, "none") != 0 && strcmp(model, "xgboost") != 0 ? model : NULL;
}

/* Makes or loads the cost model; t->model is NULL without memory. */
static void make_model(tuner *t) {
  const char *file = model_file(t);
  t->model = autotune_model_new(t->ctx, t->options.seed, t->task.threads);
  t->owns_model = true;
  if (t->model && t->options.cost_model && strcmp(t->options.cost_model, "none") == 0)
    autotune_model_turn_off(t->model);
  if (t->model && file && access(file, F_OK) == 0) autotune_model_load(t->model, file);
}

void tuner_save_model(const tuner *t) {
  if (model_file(t)) autotune_model_save(t->model, model_file(t));
}

/* Whatever was made before a failure is in T, for tuner_close. */
static tn_status set_up(tuner *t) {
  TN_SCOPE(TASK, 1, "InitializeTask");
  if (!fill_options(t)) return tn_context_status(t->ctx);
  const tn_tune_options *o = &t->options;
  tn_status filled = autotune_fill_open(t->program, o->fill, o->inputs, o->n_inputs, &t->fill);
  if (filled != TN_OK) return filled;
  const tn_target *target = t->options.target;
  tuner_set_deadline(t);
  t->target = tn_target_text(target);
  t->task = (autotune_task){.ctx = t->ctx,
                            .program = t->program,
                            .target = target,
                            .threads = tn_target_threads(target),
                            .vector_bytes = tn_target_vector_bytes(target),
                            .cache_line_bytes = 64,
                            .n_rules = t->options.n_rules,
                            .rules = t->options.rules,
                            .meanwhile = {tuner_meanwhile, t}};
  if (!t->model) make_model(t);
  autotune_model_set_meanwhile(t->model, t->task.meanwhile);
  t->search = autotune_search_new(&t->task, t->model, t->options.seed);
  if (t->search)
    autotune_search_set_policy(t->search, &(autotune_policy){o->population, o->generations, o->eps, o->no_sketches,
                                                             o->mutation, o->crossover});
  t->default_hash = hash_and_free(tn_schedule_new(t->program));
  t->kept[TUNER_GENERIC].hash = hash_and_free(autotune_generic_schedule(&t->task));
  t->kept[TUNER_OWN].hash = hash_and_free(autotune_own_schedule(&t->task));
  if (t->program->n_blocks > 0 && !t->kept[TUNER_OWN].hash) return tn_context_status(t->ctx);
  if (t->search && t->default_hash) return TN_OK;
  return tn_context_status(t->ctx) == TN_OK ? TN_ERROR_MEMORY : tn_context_status(t->ctx);
}

tn_status tuner_ask_neighbours(tuner *t) {
  /* How many similar programs in the log are asked for, and how many trials of each. */
  enum { ASKED = 6, TRIALS_OF_EACH = 128 };
  autotune_neighbour near[ASKED];
  int n;
  if (t->result.reused > 0) return TN_OK;
  tn_status status =
      autotune_neighbours(t->program, t->options.target, t->options.log, ASKED, TRIALS_OF_EACH, near, &n);
  autotune_search_learn(t->search, n, near);
  autotune_neighbours_free(n, near);
  return status;
}

/* Learns what the log holds. Its trials count for the cost model and for the trials wanted, but not for early_stop. */
static tn_status resume(tuner *t) {
  TN_SCOPE(RECORD, 1, "InitializeTask/ReadLog");
  tn_status status = tuner_catch_up(t);
  t->since_best = 0;
  if (status == TN_OK && !t->takes_turns) status = tuner_ask_neighbours(t);
  if (status == TN_OK && t->held > 0) status = autotune_model_refresh(t->model);
  return status;
}

static int most(int a, int b) { return a > b ? a : b; }

int tuner_usual_round(const tuner *t) {
  int n = t->runner.width;
  return TUNER_ROUND + (n > TUNER_FEW_MACHINES ? TUNER_ROUND_OF_EACH * (n - 1) : 0);
}

/* Sets up builder and runner as stages of the pipeline. Twice as many jobs are submitted as can work at
 * once, so that nobody idles until the next poll. */
static void make_stages(tuner *t) {
  if (t->options.per_round == 0) t->options.per_round = tuner_usual_round(t);
  int jobs = t->options.workers.jobs > 0 ? t->options.workers.jobs : tn_thread_count();
  int together = t->builder.submit ? 1 : most(BUILDS_PER_JOB * jobs, LEAST_TOGETHER);
  t->build_stage = (tuner_stage){.self = t->builder.self,
                                 .submit = t->builder.submit,
                                 .poll = t->builder.poll,
                                 .batch = t->builder.build,
                                 .together = together,
                                 .ahead = t->builder.submit ? 2 * most(t->builder.width, 1) : together};
  t->run_stage = (tuner_stage){.self = t->runner.self,
                               .submit = t->runner.submit,
                               .poll = t->runner.poll,
                               .batch = t->runner.run,
                               .together = 1,
                               .ahead = t->runner.submit ? 2 * most(t->runner.width, 1) : 1};
}

/* The user's builder replaces the workers', which then only run. It is the caller's to free. */
static void use_builder(tuner *t) {
  if (t->builder.free) t->builder.free(t->builder.self);
  t->builder = *t->options.builder;
  t->builder.free = NULL;
}

/* Worker processes are started only if something is left to measure. */
tn_status tuner_start_workers(tuner *t, bool (*should_stop)(void *user), void *user) {
  TN_SCOPE(QUEUE, 1, "InitializeTask/StartWorkers");
  tn_worker_options workers = t->options.workers;
  workers.should_stop = should_stop;
  workers.user = user;
  workers.target = t->options.target;
  bool are_needed = !t->options.runner;
  if (are_needed && !tn_workers_new(t->ctx, &workers, &t->builder, &t->runner)) return tn_context_status(t->ctx);
  t->shares_pool = !t->options.builder;
  if (t->options.builder) use_builder(t);
  if (t->options.runner) t->runner = *t->options.runner;
  if (t->options.runner) t->runner.free = NULL; /* the caller's */
  if (t->options.runner && t->runner.watch) t->runner.watch(t->runner.self, should_stop, user);
  make_stages(t);
  return TN_OK;
}

void tuner_borrow_workers(tuner *t, const tuner *from) {
  t->builder = from->builder;
  t->runner = from->runner;
  t->builder.free = NULL;
  t->runner.free = NULL;
  t->shares_pool = from->shares_pool;
  make_stages(t);
}

void tuner_stop_workers(tuner *t) {
  if (t->builder.free) t->builder.free(t->builder.self);
  if (t->runner.free) t->runner.free(t->runner.self);
  t->builder.free = NULL;
  t->runner.free = NULL;
}

/* The context owns the target and the program's texts. Safe after a set_up that failed half way. */
void tuner_close(tuner *t) {
  tuner_stop_workers(t);
  tuner_free_rounds(t);
  for (int i = 0; i < t->n_top; i++) tuner_top_free(&t->top[i]);
  for (int i = 0; i < TUNER_N_KEPT; i++) tuner_top_free(&t->kept[i]);
  tuner_stage_free(&t->build_stage);
  tuner_stage_free(&t->run_stage);
  free(t->first_failure);
  autotune_fill_close(&t->fill);
  autotune_claims_free(&t->claims);
  runtime_map_free(&t->measured);
  autotune_search_free(t->search);
  if (t->owns_model) autotune_model_free(t->model);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* A search that lacks memory draws other candidates than it would have, so its result is an error. Refusals
 * of candidates set no such status. */
tn_status tuner_check_memory(const tuner *t) {
  bool lacks_memory = t->began_well && tn_context_status(t->ctx) == TN_ERROR_MEMORY;
  return lacks_memory ? TN_ERROR_MEMORY : TN_OK;
}

/* Ends a round of the running profile session, if there is one, as the event Round#k. */
void tuner_end_round(void) {
  tn_profile_state state = tn_profile_get_state();
  if (state == TN_PROFILE_RECORDING || state == TN_PROFILE_WAITING) tn_profile_step(NULL);
}

/* Writes to the recording what is tuned. */
static void tell_task(const tuner *t) {
  static const tn_site site = {__FILE__, "tell_task", __LINE__, TN_CATEGORY_TASK, 1};
  if (!tn_profile_wants(TN_CATEGORY_TASK, 1)) return;
  const tn_event_arg args[] = {tn_event_arg_text("workload", tn_program_key(t->program)),
                               tn_event_arg_text("program", tn_program_text(t->program)),
                               tn_event_arg_text("target", t->target),
                               tn_event_arg_f64("flops", tn_program_flops(t->program)),
                               tn_event_arg_f64("weight", t->weight),
                               tn_event_arg_i64("trials_wanted", t->options.trials)};
  tn_mark(&site, "task", args, RUNTIME_COUNT(args));
}

/* The cost model is saved before the finals, which the user may cut short. */
static tn_status run_rounds(tuner *t) {
  tn_status status = tuner_start_workers(t, tuner_should_stop, t);
  if (status == TN_OK) status = tuner_prepare(t);
  if (status == TN_OK) status = tuner_begin_rounds(t);
  if (status == TN_OK) status = tuner_end_rounds(t, tuner_run_rounds(t, 0));
  if (status == TN_OK) tuner_save_model(t);
  return status == TN_OK ? tuner_finals(t) : status;
}

void tuner_take_hosts(tuner *t, tn_status status) {
  if (!t->runner.hosts) return;
  t->result.hosts = t->runner.hosts(t->runner.self, &t->result.n_hosts);
  if (status == TN_ERROR_WORKER && t->result.n_hosts > 0) t->result.end = TN_TUNE_NO_WORKERS;
}

/* A run between the log's lines that say that it began and why it ended. */
static tn_status run(tuner *t) {
  if (tuner_is_done(t)) return TN_OK;
  tn_status status = tuner_log_start(t);
  if (status == TN_OK) status = run_rounds(t);
  tuner_take_hosts(t, status);
  if (status == TN_OK) status = tuner_judge(t);
  tn_status logged = tuner_log_end(t, status);
  return status == TN_OK ? logged : status;
}

/* Options are checked before anything is made. */
tn_status tuner_open(tuner *t, tn_program *program, const tn_tune_options *options, autotune_model *model) {
  bool takes_turns = t->takes_turns;
  double weight = t->weight;
  *t = (tuner){.ctx = program->ctx,
               .program = program,
               .model = model,
               .takes_turns = takes_turns,
               .weight = weight > 0 ? weight : 1,
               .start_ns = runtime_now_ns(),
               .claims = AUTOTUNE_NO_CLAIMS,
               .began_well = tn_context_status(program->ctx) == TN_OK};
  t->run_id = t->start_ns;
  tn_status status = te_check_no_symbols(program, "tuning");
  if (status == TN_OK) status = te_check_no_externs(program, "tuning");
  if (status == TN_OK) status = check_options(t->ctx, options);
  if (status != TN_OK) return status;
  t->options = *options;
  status = set_up(t);
  if (status == TN_OK) tell_task(t);
  return status == TN_OK ? resume(t) : status;
}

/* *OUT is set on every way out: even a run that fails half way has measured something. */
tn_status tn_tune(tn_program *program, const tn_tune_options *options, tn_tune_result *out) {
  if (out) *out = (tn_tune_result){0};
  if (!program) return TN_ERROR_ARGUMENT;
  tuner t = {0};
  tn_status status = tuner_open(&t, program, options, NULL);
  if (status == TN_OK) status = run(&t);
  if (status == TN_OK) status = tuner_check_memory(&t);
  tuner_close(&t);
  if (out) *out = t.result;
  return status;
}
