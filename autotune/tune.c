/* tune.c: tn_tune: rounds of proposing, building, running, recording and learning. A record is appended as soon as it
 * is measured; what the log held before, and what other tuners append to it meanwhile, is told to the search and not
 * measured again. */
#include <math.h>

#include "autotune/search.h"
#include "runtime/profiler/profiler.h"

enum { TRIALS = 64, PER_ROUND = 24, BUILDS_PER_JOB = 2, LEAST_CHUNK = 4, RUN_TIMEOUT_S = 10, PATIENCE = 3 };

const tn_site autotune_flow_site = {__FILE__, "tn_tune", 0, TN_CATEGORY_MEASURE, 2};

typedef struct tuner {
  tn_context *ctx;
  tn_program *program;
  tn_tune_options options; /* defaults filled in */
  autotune_task task;
  autotune_model *model;
  autotune_search *search;
  tn_builder builder;
  tn_runner runner;
  const char *target;
  tn_tune_result result;
  int held; /* records of this task in the log */
  int held_failed;
  uint64_t start_ns;
  uint64_t default_hash;
  tn_status visit_status;
  autotune_log_place read; /* how far the log was read */
  autotune_set measured;   /* hashes of the schedules that it has records of, this run's too */
  autotune_claims claims;
  bool is_patient; /* the workers have the time limit of a first candidate */
} tuner;

static double elapsed_s(const tuner *t) { return (double)(runtime_now_ns() - t->start_ns) * 1e-9; }
static bool is_time_over(const tuner *t) { return t->options.seconds > 0 && elapsed_s(t) >= t->options.seconds; }

/* ---- what is known of a schedule --------------------------------------------------------------------------------- */

/* The least of a record's times: other work on the machine only ever adds to it, so the search learns from this one;
 * what is reported, and applied later, is the median. */
static double least_cost(const autotune_record *record) {
  double least = INFINITY;
  bool failed = !isfinite(autotune_record_cost(record));
  for (int i = 0; !failed && i < record->n_costs; i++) least = fmin(least, record->costs[i]);
  return least;
}

/* A time counts as best, and as the default's, only if the output was checked. */
static tn_status learn(tuner *t, const tn_schedule *s, const autotune_record *record) {
  double cost_s = autotune_record_cost(record);
  bool counts = isfinite(cost_s) && record->checked;
  if (counts && (t->result.best_s == 0 || cost_s < t->result.best_s)) t->result.best_s = cost_s;
  if (counts && autotune_schedule_hash(s) == t->default_hash && t->result.default_s == 0) t->result.default_s = cost_s;
  t->held++;
  t->held_failed += !isfinite(cost_s);
  return autotune_search_observe(t->search, s, least_cost(record));
}

/* ---- resuming ---------------------------------------------------------------------------------------------------- */

/* The schedule of a record; NULL when its steps are refused now (said as a warning: the record only counts as a trial).
 */
static tn_schedule *replay(tuner *t, int line, const autotune_record *record) {
  tn_context *ctx = t->ctx;
  tn_schedule *s = tn_schedule_new(t->program);
  char *steps = json_dumps(record->steps, JSON_COMPACT);
  tn_message_fn on_message = ctx->options.on_message;
  ctx->options.on_message = NULL;
  bool ok = s && steps && tn_schedule_replay(s, steps) == TN_OK;
  ctx->options.on_message = on_message;
  free(steps);
  if (ok) return s;
  runtime_say(ctx, TN_SEVERITY_WARNING, "%s:%d: the record's steps are refused now and teach nothing: %s",
              t->options.log, line, tn_context_message(ctx));
  tn_context_clear(ctx);
  tn_schedule_free(s);
  return NULL;
}

/* Learns from a record of the log that this run did not write. */
static tn_status learn_from_log(tuner *t, const tn_schedule *s, const autotune_record *record) {
  uint64_t hash = autotune_schedule_hash(s);
  if (t->result.trials > 0 && autotune_set_find(&t->measured, hash)) return TN_OK;
  t->result.reused++;
  if (!autotune_set_put(&t->measured, hash, 0)) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a log");
  return learn(t, s, record);
}

static bool take_record(void *user, int line, autotune_record *record) {
  tuner *t = user;
  if (strcmp(record->key, tn_program_key(t->program)) != 0 || !autotune_same_target(record->target, t->target))
    return true;
  tn_schedule *s = replay(t, line, record);
  if (!s) {
    t->result.reused++;
    t->held++;
    return true;
  }
  t->visit_status = learn_from_log(t, s, record);
  tn_schedule_free(s);
  return t->visit_status == TN_OK;
}

/* Reads what was appended to the log since the last time. */
static tn_status catch_up(tuner *t) {
  tn_status status = autotune_log_read_on(t->ctx, t->options.log, true, &t->read, NULL, take_record, t);
  return status == TN_OK ? t->visit_status : status;
}

static tn_status resume(tuner *t) {
  TN_SCOPE(RECORD, 1, "InitializeTask/ReadLog");
  tn_status status = catch_up(t);
  if (status == TN_OK && t->held > 0) status = autotune_model_train(t->model);
  return status;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static tn_status check_options(tn_context *ctx, const tn_tune_options *o) {
  if (!o || !o->log || !*o->log)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.log is needed: the file that records go to");
  if (o->trials < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.trials is %d: give 1 or more, or 0 for %d", o->trials,
                        TRIALS);
  if (o->per_round < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.per_round is %d: give 1 or more, or 0 for %d",
                        o->per_round, PER_ROUND);
  if (!(o->seconds >= 0))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune: options.seconds is %g: give 0 (no limit) or more",
                        o->seconds);
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

static bool fill_options(tuner *t) {
  tn_tune_options *o = &t->options;
  if (o->trials == 0) o->trials = TRIALS;
  if (o->per_round == 0) o->per_round = PER_ROUND;
  if (!o->target) o->target = tn_target_new(t->ctx, NULL);
  return o->target != NULL;
}

static tn_status set_up(tuner *t) {
  TN_SCOPE(TASK, 1, "InitializeTask");
  if (!fill_options(t)) return tn_context_status(t->ctx);
  const tn_target *target = t->options.target;
  t->target = tn_target_text(target);
  t->task = (autotune_task){t->ctx, t->program, target, tn_target_threads(target), tn_target_vector_bytes(target), 64};
  t->model = autotune_model_new(t->ctx, t->options.seed, t->task.threads);
  t->search = autotune_search_new(&t->task, t->model, t->options.seed);
  tn_schedule *s = tn_schedule_new(t->program);
  if (!t->search || !s) return tn_context_status(t->ctx) == TN_OK ? TN_ERROR_MEMORY : tn_context_status(t->ctx);
  t->default_hash = autotune_schedule_hash(s);
  tn_schedule_free(s);
  return TN_OK;
}

static void stop_workers(tuner *t) {
  if (t->builder.free) t->builder.free(t->builder.self);
  if (t->runner.free) t->runner.free(t->runner.self);
  t->builder.free = t->runner.free = NULL;
}

/* Worker processes are started only when something is left to measure. PATIENCE multiplies a run's time limit: the
 * default schedule is slow by nature, and what is gained over it is worth knowing. */
static tn_status start_workers(tuner *t, int patience) {
  TN_SCOPE(QUEUE, 1, "InitializeTask/StartWorkers");
  stop_workers(t);
  t->is_patient = patience > 1;
  if (t->options.builder) {
    t->builder = *t->options.builder;
    t->runner = *t->options.runner;
    t->builder.free = t->runner.free = NULL; /* the caller's */
    return TN_OK;
  }
  tn_worker_options workers = t->options.workers;
  workers.run_timeout_s = patience * (workers.run_timeout_s > 0 ? workers.run_timeout_s : RUN_TIMEOUT_S);
  return tn_workers_new(t->ctx, &workers, &t->builder, &t->runner) ? TN_OK : tn_context_status(t->ctx);
}

static void tear_down(tuner *t) {
  stop_workers(t);
  autotune_claims_free(&t->claims);
  autotune_set_free(&t->measured);
  autotune_search_free(t->search);
  autotune_model_free(t->model);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static void tell_progress(const tuner *t, const char *phase) {
  if (!t->options.on_progress) return;
  const tn_tune_result *r = &t->result;
  double elapsed = elapsed_s(t), left = -1;
  if (r->trials > 0) left = elapsed / r->trials * (t->options.trials - t->held);
  if (t->options.seconds > 0 && (left < 0 || left > t->options.seconds - elapsed)) left = t->options.seconds - elapsed;
  t->options.on_progress(t->options.user, &(tn_progress){.trials = t->held,
                                                         .failed = t->held_failed,
                                                         .trials_wanted = t->options.trials,
                                                         .best_s = r->best_s,
                                                         .default_s = r->default_s,
                                                         .flops = tn_program_flops(t->program),
                                                         .elapsed_s = elapsed,
                                                         .left_s = left,
                                                         .phase = phase});
}

static void add_worker_phases(const tn_measurement *m) {
  static const char *const names[] = {"Worker/parse",     "Worker/lower", "Worker/compile", "Worker/load",
                                      "Worker/arguments", "Worker/run",   "Worker/check"};
  tn_profiler *profiler = tn_profiler_current();
  for (int i = 0; profiler && i < RUNTIME_COUNT(names); i++) {
    if (m->phase_s[i] > 0) tn_profiler_add(profiler, names[i], m->phase_s[i], 1);
  }
}

static tn_status append_record(tuner *t, const tn_candidate *candidate, const tn_measurement *m,
                               autotune_record *record) {
  TN_SCOPE_AS(scope, RECORD, 2, "MeasureCallback/AddToDatabase");
  tn_scope_sequence(&scope, candidate->sequence);
  tn_status status = autotune_record_make(t->ctx, candidate, t->program, t->options.target, m, record);
  return status == TN_OK ? autotune_record_append(t->ctx, t->options.log, record) : status;
}

static tn_status run_one(tuner *t, const tn_candidate *candidate, tn_measurement *m) {
  TN_SCOPE_AS(scope, MEASURE, 1, "SendToRunner");
  tn_scope_sequence(&scope, candidate->sequence);
  if (candidate->sequence) tn_flow(&autotune_flow_site, AUTOTUNE_FLOW, TN_FLOW_START, candidate->sequence);
  return t->runner.run(t->runner.self, 1, candidate, m);
}

/* What was found so far, as curves; and what this candidate came to, as arguments of its event. */
static void tell_found(const tuner *t, tn_scope *scope, const autotune_record *record) {
  static const tn_site site = {__FILE__, "tell_found", __LINE__, TN_CATEGORY_TASK, 1};
  const tn_tune_result *r = &t->result;
  double cost_s = autotune_record_cost(record), flops = tn_program_flops(t->program);
  TN_EVENT_ARG(*scope, tn_event_arg_text("workload", tn_program_key(t->program)));
  TN_EVENT_ARG(*scope, tn_event_arg_f64("seconds", isfinite(cost_s) ? cost_s : 0));
  TN_EVENT_ARG(*scope, tn_event_arg_text("error", tn_measure_error_word(record->error)));
  if (r->best_s > 0) tn_counter(&site, "best_gflops", flops / r->best_s * 1e-9);
  tn_counter(&site, "candidates_failed", t->held_failed);
}

/* Learns from a measured candidate. RECORD NULL: measuring failed as a whole, with STATUS; its arrow ends here too. */
static tn_status update(tuner *t, const tn_candidate *candidate, const tn_schedule *s, const tn_measurement *m,
                        const autotune_record *record, tn_status status) {
  TN_SCOPE_AS(scope, MODEL, 1, "MeasureCallback/UpdateCostModel");
  tn_scope_sequence(&scope, candidate->sequence);
  if (candidate->sequence) tn_flow(&autotune_flow_site, AUTOTUNE_FLOW, TN_FLOW_END, candidate->sequence);
  if (!record) return status;
  add_worker_phases(m);
  t->result.trials++;
  if (!autotune_set_put(&t->measured, autotune_schedule_hash(s), 0)) return TN_ERROR_MEMORY;
  t->result.failed += !isfinite(autotune_record_cost(record));
  status = learn(t, s, record);
  tell_found(t, &scope, record);
  tell_progress(t, "measuring");
  return status;
}

/* Runs, records and learns one built candidate. */
static tn_status measure_one(tuner *t, tn_candidate *candidate, const tn_schedule *s, tn_measurement *m) {
  autotune_record record = {0};
  candidate->best_s = t->result.best_s;
  tn_status status = run_one(t, candidate, m);
  if (status == TN_OK) status = append_record(t, candidate, m, &record);
  status = update(t, candidate, s, m, status == TN_OK ? &record : NULL, status);
  autotune_record_free(&record);
  return status;
}

/* Candidates that are built together. */
typedef struct chunk {
  int n;
  tn_candidate *candidates;
  tn_measurement *measurements;
  const tn_schedule **schedules; /* the round's */
  uint64_t *claimed;             /* as other tuners on the log see the candidates */
} chunk;

static void free_chunk(tuner *t, chunk *c) {
  for (int i = 0; i < c->n; i++) {
    autotune_unclaim(&t->claims, c->claimed[i]);
    free((char *)c->candidates[i].steps);
    free(c->measurements[i].message);
    free(c->measurements[i].object);
  }
  free(c->candidates);
  free(c->measurements);
  free(c->schedules);
  free(c->claimed);
}

/* A log may hold several programs; a claim is of one. */
static uint64_t claim_of(const tuner *t, uint64_t hash) {
  const char *key = tn_program_key(t->program);
  return runtime_hash(key, strlen(key), hash);
}

/* Adds the I-th candidate of the round unless another tuner on the log is measuring it, or has. That tuner appends its record
 * before it gives the claim up: who gets the claim and then reads the log knows. */
static tn_status add_candidate(tuner *t, const tn_schedule *s, int i, chunk *c) {
  uint64_t hash = autotune_schedule_hash(s), claim = claim_of(t, hash);
  if (!autotune_claim(&t->claims, t->options.log, claim)) return TN_OK;
  tn_status status = catch_up(t);
  bool is_wanted = status == TN_OK && !autotune_set_find(&t->measured, hash);
  char *steps = is_wanted ? tn_schedule_print(s, TN_FORM_STEPS) : NULL;
  if (!steps) autotune_unclaim(&t->claims, claim);
  if (is_wanted && !steps) status = TN_ERROR_MEMORY;
  if (!steps) return status;
  c->candidates[c->n] =
      (tn_candidate){tn_program_text(t->program),           steps, t->target, t->options.seed, t->result.best_s,
                     autotune_search_sequence(t->search, i)};
  c->schedules[c->n] = s;
  c->claimed[c->n++] = claim;
  return TN_OK;
}

/* FIRST: the place of schedules[0] in its round. */
static tn_status make_chunk(tuner *t, int n, tn_schedule *const *schedules, int first, chunk *c) {
  c->candidates = calloc((size_t)n, sizeof *c->candidates);
  c->measurements = calloc((size_t)n, sizeof *c->measurements);
  c->schedules = calloc((size_t)n, sizeof *c->schedules);
  c->claimed = calloc((size_t)n, sizeof *c->claimed);
  tn_status status = c->candidates && c->measurements && c->schedules && c->claimed ? TN_OK : TN_ERROR_MEMORY;
  for (int i = 0; status == TN_OK && i < n; i++) status = add_candidate(t, schedules[i], first + i, c);
  return status == TN_ERROR_MEMORY ? runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for %d candidates", n)
                                   : status;
}

static bool is_enough(const tuner *t) { return t->held >= t->options.trials; }

/* Builds some candidates together, then runs one after the other, so that each is recorded when it is measured. */
static tn_status measure_chunk(tuner *t, int n, tn_schedule *const *schedules, int first) {
  chunk c = {0};
  tn_status status = make_chunk(t, n, schedules, first, &c);
  if (status == TN_OK && c.n > 0 && !is_enough(t)) {
    TN_SCOPE(BUILD, 1, "SendToBuilder");
    status = t->builder.build(t->builder.self, c.n, c.candidates, c.measurements);
  }
  for (int i = 0; status == TN_OK && i < c.n && (i == 0 || !is_time_over(t)) && !is_enough(t); i++) {
    status = measure_one(t, &c.candidates[i], c.schedules[i], &c.measurements[i]);
    autotune_unclaim(&t->claims, c.claimed[i]);
    if (status == TN_OK) status = catch_up(t); /* what is wanted may be there by now */
  }
  free_chunk(t, &c);
  return status;
}

/* The default schedule goes alone: its time limits the others. */
static tn_status measure_round(tuner *t, int n, tn_schedule *const *schedules) {
  int jobs = t->options.workers.jobs > 0 ? t->options.workers.jobs : tn_thread_count();
  int most = RUNTIME_MAX(BUILDS_PER_JOB * jobs, LEAST_CHUNK);
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < n && !is_time_over(t) && !is_enough(t);) {
    int chunk_n = t->held == 0 ? 1 : RUNTIME_MIN(most, n - i);
    status = measure_chunk(t, chunk_n, schedules + i, i);
    if (status == TN_OK && t->is_patient && t->held > 0) status = start_workers(t, 1);
    i += chunk_n;
  }
  return status;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static tn_status round_of(tuner *t, int want) {
  tn_schedule **schedules = calloc((size_t)want, sizeof *schedules);
  if (!schedules) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a round of %d candidates", want);
  tell_progress(t, "searching");
  int n = autotune_search_next(t->search, want, schedules);
  t->result.exhausted = n == 0;
  tn_status status = measure_round(t, n, schedules);
  for (int i = 0; i < n; i++) tn_schedule_free(schedules[i]);
  free(schedules);
  if (status != TN_OK || n == 0) return status;
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
  tn_status status = t->held < t->options.trials ? start_workers(t, t->held == 0 ? PATIENCE : 1) : TN_OK;
  while (status == TN_OK && t->held < t->options.trials && !t->result.exhausted && !is_time_over(t)) {
    status = round_of(t, RUNTIME_MIN(t->options.per_round, t->options.trials - t->held));
    end_round();
  }
  return status;
}

tn_status tn_tune(tn_program *program, const tn_tune_options *options, tn_tune_result *out) {
  if (out) *out = (tn_tune_result){0};
  if (!program) return TN_ERROR_ARGUMENT;
  tuner t = {.ctx = program->ctx, .program = program, .start_ns = runtime_now_ns(), .claims = AUTOTUNE_NO_CLAIMS};
  tn_status status = te_check_no_symbols(program, "tuning");
  if (status == TN_OK) status = te_check_no_externs(program, "tuning");
  if (status == TN_OK) status = check_options(t.ctx, options);
  if (status != TN_OK) return status;
  t.options = *options;
  status = set_up(&t);
  if (status == TN_OK) tell_task(&t);
  if (status == TN_OK) status = resume(&t);
  if (status == TN_OK) status = run_rounds(&t);
  tear_down(&t);
  if (out) *out = t.result;
  return status;
}
