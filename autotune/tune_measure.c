/* tune_measure.c: from schedules to records: building some together, running one after the other, a line of the log for
 * each as soon as it is measured. */
#include <math.h>

#include "autotune/tuner.h"

enum { BUILDS_PER_JOB = 2, LEAST_CHUNK = 4 };

/* A build may take so many times the average, within these limits; a run so many times what ends it in the worker. */
#define BUILD_TIMES 30
#define LEAST_BUILD_S 1.0
#define FIRST_BUILD_S 5.0
#define RUN_TIMES 10
#define LEAST_RUN_S 2.0

const tn_site autotune_flow_site = {__FILE__, "tn_tune", 0, TN_CATEGORY_MEASURE, 2};

/* ---- what is known of a schedule --------------------------------------------------------------------------------- */

/* The least of a record's times: other work on the machine only ever adds to it, so the search learns from this one;
 * what is reported, and applied later, is the median. */
static double least_cost(const autotune_record *record) {
  double least = INFINITY;
  bool failed = !isfinite(autotune_record_cost(record));
  for (int i = 0; !failed && i < record->n_costs; i++) least = fmin(least, record->costs[i]);
  return least;
}

/* PLAN may be NULL. */
static bool fill_top(tuner_top *top, uint64_t hash, const autotune_record *record, const char *plan, double cost_s) {
  free(top->steps);
  free(top->plan);
  *top = (tuner_top){.hash = hash,
                     .steps = json_dumps(record->steps, JSON_COMPACT),
                     .plan = plan ? strdup(plan) : NULL,
                     .n_steps = (int)json_array_size(record->steps),
                     .cost_s = cost_s};
  return top->steps != NULL;
}

/* Keeps the fastest in order. The last place is for the one that leaves. */
static bool keep_top(tuner *t, const tn_schedule *s, const autotune_record *record, double cost_s) {
  uint64_t hash = autotune_schedule_hash(s);
  const char *plan = schedule_plan_text(s);
  if (hash == t->generic_hash && !fill_top(&t->generic, hash, record, plan, cost_s)) return false;
  int at = t->n_top;
  while (at > 0 && t->top[at - 1].cost_s > cost_s) --at;
  if (at == TUNER_MAX_FINALISTS) return true;
  tuner_top new = {0};
  if (!fill_top(&new, hash, record, plan, cost_s)) return false;
  memmove(&t->top[at + 1], &t->top[at], sizeof *t->top * (size_t)(t->n_top - at));
  t->top[at] = new;
  t->n_top++;
  if (t->n_top <= TUNER_MAX_FINALISTS) return true;
  free(t->top[--t->n_top].steps);
  free(t->top[t->n_top].plan);
  t->top[t->n_top] = (tuner_top){0};
  return true;
}

/* A time counts as best, and as the default's, only if the output was checked. */
tn_status tuner_learn(tuner *t, const tn_schedule *s, const autotune_record *record) {
  double cost_s = autotune_record_cost(record);
  uint64_t hash = autotune_schedule_hash(s);
  bool counts = isfinite(cost_s) && record->checked;
  bool is_best = counts && (t->result.best_s == 0 || cost_s < t->result.best_s);
  if (is_best) t->result.best_s = cost_s;
  t->since_best = is_best ? 0 : t->since_best + 1;
  if (counts && hash == t->default_hash && (t->result.default_s == 0 || t->result.default_is_estimate)) {
    t->result.default_s = cost_s;
    t->result.default_is_estimate = false;
  }
  t->held++;
  t->held_failed += !isfinite(cost_s);
  if (counts && !keep_top(t, s, record, cost_s))
    return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for the fastest schedules");
  return autotune_search_observe(t->search, s, least_cost(record));
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* The schedule of a record; NULL without memory, and when its steps are refused now (said as a warning: the record only
 * counts as a trial). */
static tn_schedule *replay(tuner *t, int line, const autotune_record *record) {
  tn_context *ctx = t->ctx;
  tn_schedule *s = tn_schedule_new(t->program);
  char *steps = json_dumps(record->steps, JSON_COMPACT);
  char why[sizeof ctx->message];
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  bool ok = s && steps && tn_schedule_replay(s, steps) == TN_OK;
  memcpy(why, ctx->message, sizeof why);
  runtime_quiet_end(&quiet);
  if (!steps) runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the steps of a record");
  free(steps);
  if (ok) return s;
  t->visit_status = s && tn_context_status(ctx) != TN_ERROR_MEMORY ? TN_OK : TN_ERROR_MEMORY;
  if (t->visit_status == TN_OK)
    runtime_say(ctx, TN_SEVERITY_WARNING, "%s:%d: the record's steps are refused now and teach nothing: %s",
                t->options.log, line, why);
  tn_schedule_free(s);
  return NULL;
}

/* Plans that do not fit are said; the steps are used all the same. */
static void take_plan(tuner *t, int line, const autotune_record *record, tn_schedule *s) {
  json_t *plan = json_object_get(record->json, "plan");
  char *text = plan ? json_dumps(plan, JSON_COMPACT) : NULL;
  tn_message_fn on_message = t->ctx->options.on_message;
  if (plan && !text) t->visit_status = runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for the plan of a record");
  if (!text) return;
  t->ctx->options.on_message = NULL;
  tn_status status = autotune_search_check_plan(t->search, text);
  t->ctx->options.on_message = on_message;
  if (status == TN_OK) status = schedule_set_plan(s, text);
  if (status == TN_ERROR_MEMORY) {
    t->visit_status = status;
  } else if (status != TN_OK) {
    runtime_say(t->ctx, TN_SEVERITY_WARNING, "%s:%d: the record's plan is refused, its steps are used: %s",
                t->options.log, line, tn_context_message(t->ctx));
    tn_context_clear(t->ctx);
  }
  free(text);
}

/* Learns from a record of the log that this run did not write. */
static tn_status learn_from_log(tuner *t, const tn_schedule *s, const autotune_record *record) {
  uint64_t hash = autotune_schedule_hash(s);
  if (t->result.trials > 0 && runtime_map_find(&t->measured, hash)) return TN_OK;
  t->result.reused++;
  if (!runtime_map_at(&t->measured, hash)) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a log");
  return tuner_learn(t, s, record);
}

static bool take_record(void *user, int line, autotune_record *record) {
  tuner *t = user;
  if (record->is_final || strcmp(record->key, tn_program_key(t->program)) != 0 ||
      !autotune_same_target(record->target, t->target))
    return true;
  tn_schedule *s = replay(t, line, record);
  if (!s) {
    t->result.reused++;
    t->held++;
    return t->visit_status == TN_OK;
  }
  take_plan(t, line, record, s);
  if (t->visit_status == TN_OK) t->visit_status = learn_from_log(t, s, record);
  tn_schedule_free(s);
  return t->visit_status == TN_OK;
}

tn_status tuner_catch_up(tuner *t) {
  tn_status status = autotune_log_read_on(t->ctx, t->options.log, true, &t->read, NULL, take_record, t);
  return status == TN_OK ? t->visit_status : status;
}

/* ---- one candidate ----------------------------------------------------------------------------------------------- */

static void add_worker_phases(const tn_measurement *m) {
  static const char *const names[] = {"Worker/parse",     "Worker/lower", "Worker/compile", "Worker/load",
                                      "Worker/arguments", "Worker/run",   "Worker/check"};
  tn_profiler *profiler = tn_profiler_current();
  for (int i = 0; profiler && i < RUNTIME_COUNT(names); i++) {
    if (m->phase_s[i] > 0) tn_profiler_add(profiler, names[i], m->phase_s[i], 1);
  }
}

tn_status tuner_add_plan(tn_context *ctx, autotune_record *record, const char *text) {
  if (!text || json_object_set_new(record->json, "plan", json_loads(text, 0, NULL)) == 0) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the plan of a record");
}

static tn_status append_record(tuner *t, const tn_candidate *candidate, const tn_schedule *s, const tn_measurement *m,
                               autotune_record *record) {
  TN_SCOPE_AS(scope, RECORD, 2, "MeasureCallback/AddToDatabase");
  tn_scope_sequence(&scope, candidate->sequence);
  tn_status status = autotune_record_make(t->ctx, candidate, t->program, t->options.target, m, record);
  if (status == TN_OK) status = tuner_add_plan(t->ctx, record, schedule_plan_text(s));
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
  if (!runtime_map_at(&t->measured, autotune_schedule_hash(s))) return TN_ERROR_MEMORY;
  if (record->error != TN_MEASURE_NONE) {
    t->result.failed++;
    tuner_count_failure(t, record->error, record->message);
  } else {
    t->fails_alike = false;
  }
  status = tuner_learn(t, s, record);
  tell_found(t, &scope, record);
  if (t->options.on_measured) t->options.on_measured(t->options.user, candidate, m);
  tuner_tell(t, "measuring");
  return status;
}

/* Records and learns one measured candidate; one that was given up leaves no trace. */
static tn_status take(tuner *t, const tn_candidate *candidate, const tn_schedule *s, const tn_measurement *m,
                      tn_status status) {
  autotune_record record = {0};
  if (status == TN_OK && !m->abandoned) status = append_record(t, candidate, s, m, &record);
  status = update(t, candidate, s, m, status == TN_OK && !m->abandoned ? &record : NULL, status);
  autotune_record_free(&record);
  return status;
}

/* Longer than what ends a run in the worker, so that only what hangs comes here. */
static double run_limit(const tuner *t) {
  return t->result.best_s > 0 ? fmax(RUN_TIMES * t->result.best_s, LEAST_RUN_S) : 0;
}

static tn_status measure_one(tuner *t, tn_candidate *candidate, const tn_schedule *s, tn_measurement *m) {
  if (m->abandoned) return TN_OK;
  if (m->error == TN_MEASURE_NONE) {
    t->build_s += m->build_s;
    t->n_built++;
  }
  candidate->best_s = t->result.best_s;
  candidate->timeout_s = run_limit(t);
  return take(t, candidate, s, m, run_one(t, candidate, m));
}

/* ---- the default schedule ---------------------------------------------------------------------------------------- */

/* A log may hold several programs; a claim is of one. */
static uint64_t claim_of(const tuner *t, uint64_t hash) {
  const char *key = tn_program_key(t->program);
  return runtime_hash(key, strlen(key), hash);
}

/* Records what was measured of the default schedule, unless another tuner on the log does so now, or has. */
static tn_status record_default(tuner *t, const tn_schedule *s, const tn_candidate *candidate,
                                const tn_measurement *m) {
  uint64_t claim = claim_of(t, t->default_hash);
  bool is_ours = autotune_claim(&t->claims, t->options.log, claim);
  tn_status status = tuner_catch_up(t);
  bool is_known = runtime_map_find(&t->measured, t->default_hash) != NULL;
  if (status == TN_OK && is_ours && !is_known) status = take(t, candidate, s, m, TN_OK);
  if (is_ours) autotune_unclaim(&t->claims, claim);
  return status;
}

/* Remembers an estimate, and what another tuner records for us. */
static tn_status take_default(tuner *t, const tn_candidate *candidate, const tn_measurement *m) {
  tn_schedule *s = tn_schedule_new(t->program);
  tn_status status = s ? TN_OK : TN_ERROR_MEMORY;
  if (s && !m->is_estimate) status = record_default(t, s, candidate, m);
  if (s && status == TN_OK && t->result.default_s == 0 && m->error == TN_MEASURE_NONE && m->n_costs > 0) {
    t->result.default_s = m->costs[m->n_costs / 2];
    t->result.default_is_estimate = m->is_estimate;
    status = autotune_search_observe(t->search, s, t->result.default_s);
  }
  tn_schedule_free(s);
  return status;
}

tn_status tuner_prepare(tuner *t) {
  if (!t->runner.prepare) return TN_OK;
  TN_SCOPE(MEASURE, 1, "InitializeTask/Reference");
  tn_candidate candidate = {.program = tn_program_text(t->program),
                            .steps = t->result.default_s > 0 ? NULL : "[]",
                            .target = t->target,
                            .seed = t->options.seed};
  tn_measurement m = {0};
  tuner_tell(t, "preparing");
  tn_status status = t->runner.prepare(t->runner.self, &candidate, &m);
  candidate.steps = "[]";
  if (status == TN_OK && !m.abandoned && (t->result.default_s == 0 || m.error != TN_MEASURE_NONE))
    status = take_default(t, &candidate, &m);
  if (status == TN_OK && m.error != TN_MEASURE_NONE && !m.abandoned) {
    t->result.end = TN_TUNE_FAILED;
    status = runtime_fail(t->ctx, TN_ERROR_TUNE, "no candidate can be checked: %s: %s", tn_measure_error_word(m.error),
                          m.message ? m.message : "the runner does not say why");
  }
  free(m.message);
  free(m.object);
  return status;
}

/* ---- several candidates ------------------------------------------------------------------------------------------ */

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

static double build_limit(const tuner *t) {
  double most = t->options.workers.build_timeout_s;
  double limit = t->n_built < LEAST_CHUNK ? FIRST_BUILD_S : fmax(BUILD_TIMES * t->build_s / t->n_built, LEAST_BUILD_S);
  return most > 0 ? fmin(limit, most) : limit;
}

/* Adds the I-th candidate of the round unless another tuner on the log is measuring it, or has. That tuner appends its record
 * before it gives the claim up: who gets the claim and then reads the log knows. */
static tn_status add_candidate(tuner *t, const tn_schedule *s, int i, chunk *c) {
  uint64_t hash = autotune_schedule_hash(s), claim = claim_of(t, hash);
  if (!autotune_claim(&t->claims, t->options.log, claim)) return TN_OK;
  tn_status status = tuner_catch_up(t);
  bool is_wanted = status == TN_OK && !runtime_map_find(&t->measured, hash);
  char *steps = is_wanted ? tn_schedule_print(s, TN_FORM_STEPS) : NULL;
  if (!steps) autotune_unclaim(&t->claims, claim);
  if (is_wanted && !steps) status = TN_ERROR_MEMORY;
  if (!steps) return status;
  c->candidates[c->n] = (tn_candidate){.program = tn_program_text(t->program),
                                       .steps = steps,
                                       .target = t->target,
                                       .seed = t->options.seed,
                                       .best_s = t->result.best_s,
                                       .sequence = autotune_search_sequence(t->search, i),
                                       .timeout_s = build_limit(t)};
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

/* Builds some candidates together, then runs one after the other, so that each is recorded when it is measured. */
static tn_status measure_chunk(tuner *t, int n, tn_schedule *const *schedules, int first) {
  chunk c = {0};
  tn_status status = make_chunk(t, n, schedules, first, &c);
  if (status == TN_OK && c.n > 0 && !tuner_is_done(t)) {
    TN_SCOPE(BUILD, 1, "SendToBuilder");
    status = t->builder.build(t->builder.self, c.n, c.candidates, c.measurements);
  }
  for (int i = 0; status == TN_OK && i < c.n && !tuner_is_done(t); i++) {
    status = measure_one(t, &c.candidates[i], c.schedules[i], &c.measurements[i]);
    autotune_unclaim(&t->claims, c.claimed[i]);
    if (status == TN_OK) status = tuner_catch_up(t); /* what is wanted may be there by now */
  }
  free_chunk(t, &c);
  return status;
}

/* While no time is known the candidates go one by one: the first one's time limits the others. */
tn_status tuner_measure_round(tuner *t, int n, tn_schedule *const *schedules) {
  int jobs = t->options.workers.jobs > 0 ? t->options.workers.jobs : tn_thread_count();
  int most = RUNTIME_MAX(BUILDS_PER_JOB * jobs, LEAST_CHUNK);
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < n && !tuner_is_done(t);) {
    int chunk_n = t->held == 0 ? 1 : RUNTIME_MIN(most, n - i);
    status = measure_chunk(t, chunk_n, schedules + i, i);
    i += chunk_n;
  }
  return status;
}
