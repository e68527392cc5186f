/* measure_candidates.c: a builder and a runner over one pool: turns candidates into requests, and answers
 * and failures into measurements. Builds run in parallel. Runs are made one at a time on each machine's
 * first worker, which keeps the inputs and reference outputs of the program that it measures. Both take
 * batches, or jobs one by one. */
#include <math.h>
#include <stdio.h>

#include "autotune/internal.h"
#include "autotune/measure.h"

/* How often a reference is tried; its time limit, in run time limits. */
enum { MAX_PREPARATIONS = 2, PREPARE_FACTOR = 12 };

static const char *const phase_names[] = {"parse", "lower", "compile", "load", "arguments", "run", "check", NULL};
_Static_assert(sizeof phase_names / sizeof *phase_names == MEASURE_PHASES + 1, "one name a phase");

const char *const *tn_measure_phases(void) { return phase_names; }

/* The error class of a word. An unknown one, from a newer worker, is TN_MEASURE_UNKNOWN. */
static tn_measure_error error_of_word(const char *word) {
  tn_measure_error error;
  return autotune_parse_error(word, &error) ? error : TN_MEASURE_UNKNOWN;
}

/* A kind of request: what it does, in words for messages, and the error class for each way to fail. */
typedef struct measure_stage {
  const char *doing;
  tn_measure_error classes[MEASURE_GIVEN_UP]; /* by measure_failure */
} measure_stage;

#define STAGE(words, died, timeout)                                                               \
  {                                                                                               \
    words, {                                                                                      \
      [MEASURE_DIED] = died, [MEASURE_TIMEOUT] = timeout, [MEASURE_GARBAGE] = TN_MEASURE_UNKNOWN, \
      [MEASURE_NO_MEMORY] = TN_MEASURE_MEMORY, [MEASURE_NOT_SENT] = TN_MEASURE_UNKNOWN            \
    }                                                                                             \
  }
static const measure_stage build_stage = STAGE("building", TN_MEASURE_COMPILE, TN_MEASURE_BUILD_TIMEOUT);
static const measure_stage run_stage = STAGE("running", TN_MEASURE_RUNTIME, TN_MEASURE_RUN_TIMEOUT);
static const measure_stage prepare_stage = STAGE("computing the reference", TN_MEASURE_UNKNOWN, TN_MEASURE_RUN_TIMEOUT);

/* ---- measurements ------------------------------------------------------------------------------------------------ */

static void set_error(tn_measurement *m, tn_measure_error error, const char *fmt, ...) TN_PRINTF(3, 4);
/* Replaces an earlier error. Costs are dropped: a measurement has either an error or costs. */
static void set_error(tn_measurement *m, tn_measure_error error, const char *fmt, ...) {
  runtime_str text = {0};
  RUNTIME_ADD_ARGS(&text, fmt);
  free(m->message);
  m->error = error;
  m->message = text.data;
  m->checked = false;
  m->n_costs = 0;
}

/* Makes the failure an error. WHY is quoted, and the limit is named if it is the reason. */
static void set_failure(tn_measurement *m, const measure_stage *stage, measure_failure kind, double limit_s,
                        const char *why) {
  m->abandoned = kind == MEASURE_GIVEN_UP;
  if (m->abandoned)
    set_error(m, TN_MEASURE_UNKNOWN, "%s was given up: %s", stage->doing, why);
  else if (kind == MEASURE_TIMEOUT)
    set_error(m, stage->classes[kind], "%s took longer than the limit of %g s (%s)", stage->doing, limit_s, why);
  else
    set_error(m, stage->classes[kind], "%s failed: %s", stage->doing, why);
}

/* Adds the phases of one answer: a candidate may need several requests. */
static void add_phases(tn_measurement *m, const json_t *header) {
  const json_t *phases = json_object_get(header, "phase_s");
  for (size_t i = 0; i < MEASURE_PHASES && i < json_array_size(phases); ++i) {
    double seconds = json_number_value(json_array_get(phases, i));
    if (seconds > 0) m->phase_s[i] += seconds;
  }
}

/* Whether the worker says that it succeeded; otherwise takes its error. */
static bool take_error(tn_measurement *m, const json_t *header) {
  add_phases(m, header);
  tn_measure_error error = error_of_word(protocol_text(header, "error", "unknown"));
  if (error == TN_MEASURE_NONE) return true;
  set_error(m, error, "%s", protocol_text(header, "message", "the worker does not say why"));
  return false;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* A request's header, for the caller to release. NULL: no memory, or a text that is not UTF-8, which JSON
 * cannot carry. */
static json_t *candidate_header(const char *type, const tn_candidate *c, double timeout_s) {
  json_t *header = json_pack("{s:s, s:s, s:s, s:I, s:f, s:I}", "type", type, "program", c->program, "target", c->target,
                             "seed", (json_int_t)c->seed, "timeout_s", timeout_s, "sequence", (json_int_t)c->sequence);
  if (header && c->fill) json_object_set_new(header, "fill", json_string(c->fill));
  return header;
}

/* The hash that identifies a reference, as in pool->unprepared and worker->prepared; never 0. */
static uint64_t reference_key(const tn_candidate *c) {
  uint64_t h = runtime_hash(c->program, strlen(c->program), c->seed);
  if (c->fill) h = runtime_hash(c->fill, strlen(c->fill), h);
  return runtime_hash(c->target, strlen(c->target), h) | 1;
}

static bool is_complete(const tn_candidate *c) { return c->program && c->steps && c->target; }

static const char not_text[] = "the candidate's program, steps or target is missing or not valid UTF-8";

/* The candidate's own limit, but at most the pool's. */
static double limit_of(const tn_candidate *c, double most_s) {
  return c->timeout_s > 0 ? fmin(c->timeout_s, most_s) : most_s;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* A NULL header sends nothing: the job is over, with the error that was set. */
static measure_request build_request(measure_pool *pool, measure_job *job, const measure_worker *worker) {
  (void)worker;
  const tn_candidate *c = job->candidate;
  measure_request request = {.timeout_s = limit_of(c, pool->options.build_timeout_s)};
  if (is_complete(c)) request.header = candidate_header("build", c, request.timeout_s);
  if (request.header && c->packs_apart) json_object_set_new(request.header, "packs_apart", json_true());
  if (request.header && json_object_set_new(request.header, "steps", json_string(c->steps)) != 0) {
    json_decref(request.header);
    request.header = NULL;
  }
  if (!request.header) set_error(job->out, TN_MEASURE_INSTANTIATION, "%s", not_text);
  return request;
}

/* Takes the object out of the message without copying it. */
static bool build_reply(measure_pool *pool, measure_job *job, measure_worker *worker, protocol_message *message) {
  (void)pool, (void)worker;
  tn_measurement *m = job->out;
  if (!take_error(m, message->header)) return false;
  if (message->payload_bytes == 0) {
    set_error(m, TN_MEASURE_UNKNOWN, "building failed: the worker sent no object");
    return false;
  }
  m->object = message->payload;
  m->object_bytes = message->payload_bytes;
  message->payload = NULL;
  return false;
}

static void build_failed(measure_pool *pool, measure_job *job, const measure_worker *worker, measure_failure kind,
                         const char *why) {
  (void)worker;
  set_failure(job->out, &build_stage, kind, limit_of(job->candidate, pool->options.build_timeout_s), why);
}

static const measure_kind build_kind = {MEASURE_BUILDS, build_request, build_reply, build_failed};

/* ---- running ----------------------------------------------------------------------------------------------------- */

static double prepare_limit(const measure_pool *pool) { return PREPARE_FACTOR * pool->options.run_timeout_s; }

/* Remembers that a reference cannot be made. Otherwise each candidate of the program would wait for the
 * time limit again. FOR_GOOD: the worker gave the reason itself, so another one would give the same. */
static void remember_unprepared(measure_pool *pool, uint64_t key, const tn_measurement *m, bool for_good) {
  pool->unprepared_times = pool->unprepared == key ? pool->unprepared_times + 1 : 1;
  if (for_good) pool->unprepared_times = MAX_PREPARATIONS;
  pool->unprepared = key;
  pool->unprepared_error = m->error;
  free(pool->unprepared_why);
  pool->unprepared_why = m->message ? strdup(m->message) : NULL;
}

/* Whether the reference failed so often that it is not tried again: each try costs a time limit. */
static bool is_hopeless(const measure_pool *pool, uint64_t key) {
  return pool->unprepared == key && pool->unprepared_times >= MAX_PREPARATIONS;
}

/* Adds the options that are not zero. */
static void add_repeats(json_t *header, const tn_repeat_options *r) {
  const struct {
    const char *name;
    double value;
  } fields[] = {{"repeat", r->repeat},
                {"number", r->number},
                {"min_repeat_ms", r->min_repeat_ms},
                {"cooldown_s", r->cooldown_s},
                {"flush", r->flushes_cache}};
  for (int i = 0; header && i < RUNTIME_COUNT(fields); ++i)
    if (fields[i].value > 0) json_object_set_new(header, fields[i].name, json_real(fields[i].value));
}

/* The payload is borrowed: the measurement keeps its object for further turns of the finals. */
static void fill_run_request(const measure_pool *pool, measure_request *request, const tn_candidate *c,
                             const tn_measurement *m) {
  request->timeout_s = limit_of(c, request->timeout_s);
  request->header = candidate_header("run", c, request->timeout_s);
  if (request->header) json_object_set_new(request->header, "best_s", json_real(isfinite(c->best_s) ? c->best_s : 0));
  if (request->header && c->is_final) json_object_set_new(request->header, "final", json_true());
  if (request->header && c->is_proved) json_object_set_new(request->header, "proved", json_true());
  add_repeats(request->header, &pool->options.repeats);
  request->payload = m->object;
  request->payload_bytes = m->object_bytes;
}

/* Seconds of the unscheduled program; 0: unknown. */
static double default_of(const measure_pool *pool, uint64_t key) {
  const runtime_map_value *known = runtime_map_find(&pool->defaults, key);
  return known ? known->f : 0;
}

/* A request to make the reference of KEY. */
static void fill_prepare_request(const measure_pool *pool, measure_request *request, const tn_candidate *c,
                                 uint64_t key, bool wants_default) {
  request->timeout_s = prepare_limit(pool);
  request->header = candidate_header("prepare", c, request->timeout_s);
  if (!request->header) return;
  double default_s = default_of(pool, key);
  if (default_s > 0) json_object_set_new(request->header, "default_s", json_real(default_s));
  if (wants_default) json_object_set_new(request->header, "wants_default", json_true());
}

/* If the worker does not hold the reference, it is asked to make it first; the reply then returns true, and
 * the run follows. So a worker that was replaced between two candidates needs no special case. */
static measure_request run_request(measure_pool *pool, measure_job *job, const measure_worker *worker) {
  const tn_candidate *c = job->candidate;
  tn_measurement *m = job->out;
  measure_request request = {.timeout_s = pool->options.run_timeout_s};
  uint64_t key = is_complete(c) ? reference_key(c) : 0;
  if (key && is_hopeless(pool, key)) {
    const char *why = pool->unprepared_why;
    set_error(m, pool->unprepared_error, "%s", why ? why : "the reference could not be computed");
    return request;
  }
  if (key && worker->prepared == key) {
    fill_run_request(pool, &request, c, m);
  } else if (key) {
    fill_prepare_request(pool, &request, c, key, false);
  }
  if (!request.header) set_error(m, TN_MEASURE_INSTANTIATION, "%s", not_text);
  return request;
}

/* Takes numbers that are only recorded; the costs decide. */
static void take_numbers(tn_measurement *m, const json_t *header) {
  m->n_samples = (int)fmin(fmax(protocol_number(header, "samples", 0), 0), INT32_MAX);
  m->min_s = protocol_number(header, "min_s", 0);
  m->noise = protocol_number(header, "noise", 0);
  m->waited_s = protocol_number(header, "waited_s", 0);
  m->steal_s = protocol_number(header, "steal_s", 0);
  m->load = protocol_number(header, "load", 0);
  m->share = protocol_number(header, "share", 0);
  m->odd_share = protocol_number(header, "odd_share", 0);
  m->ended_early = protocol_number(header, "ended_early", 0) > 0;
  m->is_packed = protocol_number(header, "is_packed", 0) > 0;
}

/* Takes the costs. Workers are not trusted: without a positive time the measurement has failed. */
static void take_costs(tn_measurement *m, const json_t *header) {
  take_numbers(m, header);
  const json_t *costs = json_object_get(header, "costs");
  m->n_costs = (int)RUNTIME_MIN(json_array_size(costs), (size_t)TN_MAX_COSTS);
  for (int i = 0; i < m->n_costs; ++i) m->costs[i] = json_number_value(json_array_get(costs, (size_t)i));
  m->checked = json_is_true(json_object_get(header, "checked"));
  bool is_positive = m->n_costs > 0;
  for (int i = 0; i < m->n_costs; ++i) is_positive = is_positive && m->costs[i] > 0;
  if (!is_positive)
    set_error(m, TN_MEASURE_UNKNOWN, "running failed: the worker sent no time, or one that is not positive");
}

/* Remembers the default schedule's time, with which every candidate of the program is compared. */
static void remember_default(measure_pool *pool, uint64_t key, const json_t *header) {
  double default_s = protocol_number(header, "default_s", 0);
  runtime_map_value *place = default_s > 0 ? runtime_map_at(&pool->defaults, key) : NULL;
  if (place) place->f = default_s;
}

/* Whether the job goes to another machine, because this one lacks a file or memory for the reference. */
static bool passes_on(measure_pool *pool, measure_job *job, measure_worker *worker) {
  const char *why = job->out->message;
  if (!measure_pool_passes_on(pool, job, worker->machine, why ? why : "")) return false;
  free(job->out->message);
  job->out->message = NULL;
  job->out->error = TN_MEASURE_NONE;
  return job->goes_elsewhere = true;
}

/* What the worker held when it was asked tells the answer of a preparation from that of a run. */
static bool run_reply(measure_pool *pool, measure_job *job, measure_worker *worker, protocol_message *message) {
  tn_measurement *m = job->out;
  uint64_t key = reference_key(job->candidate);
  bool was_prepared = worker->prepared == key;
  m->max_error = protocol_number(message->header, "max_error", 0);
  if (!take_error(m, message->header)) {
    if (!was_prepared && !passes_on(pool, job, worker)) remember_unprepared(pool, key, m, true);
    return false;
  }
  if (was_prepared)
    take_costs(m, message->header);
  else
    remember_default(pool, key, message->header);
  worker->prepared = key;
  return !was_prepared;
}

/* A run failed, or the making of its reference. WORKER NULL: none could be started, so no reference is to blame. */
static void run_failed(measure_pool *pool, measure_job *job, const measure_worker *worker, measure_failure kind,
                       const char *why) {
  tn_measurement *m = job->out;
  uint64_t key = worker ? reference_key(job->candidate) : 0; /* NULL: none could be started */
  if (!worker || worker->prepared == key) {
    set_failure(m, &run_stage, kind, limit_of(job->candidate, pool->options.run_timeout_s), why);
  } else {
    set_failure(m, &prepare_stage, kind, prepare_limit(pool), why);
    if (!m->abandoned) remember_unprepared(pool, key, m, false);
  }
}

static const measure_kind run_kind = {MEASURE_RUNS, run_request, run_reply, run_failed};

/* ---- the reference beforehand ------------------------------------------------------------------------------------ */

static measure_request prepare_request(measure_pool *pool, measure_job *job, const measure_worker *worker) {
  (void)worker;
  const tn_candidate *c = job->candidate;
  measure_request request = {0};
  bool is_whole = c->program && c->target;
  if (is_whole) fill_prepare_request(pool, &request, c, reference_key(c), c->steps != NULL);
  if (!request.header) set_error(job->out, TN_MEASURE_INSTANTIATION, "%s", not_text);
  return request;
}

/* Takes the default schedule's time, which was measured like a candidate's or estimated by the worker (is_estimate). */
static bool prepare_reply(measure_pool *pool, measure_job *job, measure_worker *worker, protocol_message *message) {
  tn_measurement *m = job->out;
  uint64_t key = reference_key(job->candidate);
  m->max_error = protocol_number(message->header, "max_error", 0);
  if (!take_error(m, message->header)) {
    if (!passes_on(pool, job, worker)) remember_unprepared(pool, key, m, true);
    return false;
  }
  remember_default(pool, key, message->header);
  worker->prepared = key;
  m->is_estimate = protocol_number(message->header, "is_estimate", 0) > 0;
  if (json_array_size(json_object_get(message->header, "costs")) > 0) {
    take_costs(m, message->header);
  } else {
    m->costs[0] = default_of(pool, key);
    m->n_costs = m->costs[0] > 0;
  }
  return false;
}

/* The failure concerns the program, so its other candidates must be spared it. */
static void prepare_failed(measure_pool *pool, measure_job *job, const measure_worker *worker, measure_failure kind,
                           const char *why) {
  (void)worker;
  set_failure(job->out, &prepare_stage, kind, prepare_limit(pool), why);
  if (!job->out->abandoned) remember_unprepared(pool, reference_key(job->candidate), job->out, false);
}

static const measure_kind prepare_kind = {MEASURE_RUNS, prepare_request, prepare_reply, prepare_failed};

/* tn_runner.prepare. A worker that dies over it may have had bad luck, so another one tries again. */
static tn_status prepare(void *self, const tn_candidate *candidate, tn_measurement *out) {
  tn_status status = TN_OK;
  *out = (tn_measurement){0};
  for (int tries = 0; status == TN_OK && tries < MAX_PREPARATIONS; ++tries) {
    measure_job job = {.kind = &prepare_kind, .candidate = candidate, .out = out};
    if (candidate->program && candidate->target) job.reference = reference_key(candidate);
    free(out->message);
    *out = (tn_measurement){0};
    status = measure_pool_run(self, 1, &job);
    out->run_s = job.seconds;
    bool is_final = out->error == TN_MEASURE_NONE || out->abandoned || !candidate->program || !candidate->target;
    if (is_final || is_hopeless(self, reference_key(candidate))) break;
  }
  return status;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* A build takes one core, a run its kernel's threads. A finalist has the machine for itself. */
static measure_job job_of(const measure_kind *kind, const tn_candidate *candidate, tn_measurement *out) {
  int cores = kind == &build_kind ? 1 : candidate->is_final ? 0 : candidate->threads;
  bool needs_reference = kind != &build_kind && is_complete(candidate);
  uint64_t reference = needs_reference ? reference_key(candidate) : 0;
  return (measure_job){.kind = kind, .candidate = candidate, .out = out, .cores = cores, .reference = reference};
}

static void take_seconds(const measure_job *job) {
  *(job->kind == &build_kind ? &job->out->build_s : &job->out->run_s) += job->seconds;
}

/* Serves a batch. For runs, candidates whose build failed are left as they are. */
static tn_status measure(measure_pool *pool, int n, const tn_candidate *candidates, tn_measurement *out,
                         const measure_kind *kind) {
  if (n <= 0) return TN_OK;
  measure_job *jobs = calloc((size_t)n, sizeof *jobs);
  if (!jobs) return runtime_fail(pool->ctx, TN_ERROR_MEMORY, "out of memory for a batch of %d candidates", n);
  int n_jobs = 0;
  for (int i = 0; i < n; ++i)
    if (kind == &build_kind || (out[i].error == TN_MEASURE_NONE && out[i].object))
      jobs[n_jobs++] = job_of(kind, &candidates[i], &out[i]);
  tn_status status = measure_pool_run(pool, n_jobs, jobs);
  for (int i = 0; i < n_jobs; ++i) take_seconds(&jobs[i]);
  free(jobs);
  return status;
}

static tn_status build(void *self, int n, const tn_candidate *candidates, tn_measurement *out) {
  for (int i = 0; i < n; ++i) out[i] = (tn_measurement){0};
  return measure(self, n, candidates, out, &build_kind);
}

static tn_status run(void *self, int n, const tn_candidate *candidates, tn_measurement *inout) {
  return measure(self, n, candidates, inout, &run_kind);
}

/* ---- one by one -------------------------------------------------------------------------------------------------- */

static tn_status submit(measure_pool *pool, tn_job *given, const measure_kind *kind) {
  measure_job *job = calloc(1, sizeof *job);
  if (!job) return runtime_fail(pool->ctx, TN_ERROR_MEMORY, "out of memory for a candidate");
  *job = job_of(kind, given->candidate, given->measurement);
  job->given = given;
  measure_pool_add(pool, job);
  return TN_OK;
}

static tn_status submit_build(void *self, tn_job *job) {
  *job->measurement = (tn_measurement){0};
  return submit(self, job, &build_kind);
}

static tn_status submit_run(void *self, tn_job *job) { return submit(self, job, &run_kind); }

/* Waits up to WAIT_S for one job; *DONE is NULL if none ended. Frees the pool's job. */
static tn_status poll_lane(measure_pool *pool, measure_lane lane, double wait_s, tn_job **done) {
  tn_status status = TN_OK;
  measure_job *job = measure_pool_take(pool, lane);
  if (!job) {
    status = measure_pool_step(pool, wait_s);
    job = measure_pool_take(pool, lane);
  }
  *done = job ? job->given : NULL;
  if (job) take_seconds(job);
  free(job);
  return status;
}

static tn_status poll_builds(void *self, double wait_s, tn_job **done) {
  return poll_lane(self, MEASURE_BUILDS, wait_s, done);
}

static tn_status poll_runs(void *self, double wait_s, tn_job **done) {
  return poll_lane(self, MEASURE_RUNS, wait_s, done);
}

static const tn_worker_host_state *hosts_of(void *self, int *n) { return measure_pool_hosts(self, n); }

static void release(void *self) { measure_pool_release(self); }

/* Both hold the pool, and the one that is freed last frees it. Without a pool they are still filled in, but
 * must not be used. */
bool tn_workers_new(tn_context *ctx, const tn_worker_options *options, tn_builder *builder, tn_runner *runner) {
  if (!ctx || !builder || !runner) {
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_workers_new: an argument is NULL");
    return false;
  }
  *builder = (tn_builder){0};
  *runner = (tn_runner){0};
  measure_pool *pool = measure_pool_new(ctx, options);
  if (!pool) return false;
  *builder = (tn_builder){.self = pool,
                          .build = build,
                          .free = release,
                          .submit = submit_build,
                          .poll = poll_builds,
                          .width = measure_pool_builders(pool)};
  *runner = (tn_runner){.self = pool,
                        .run = run,
                        .free = release,
                        .prepare = prepare,
                        .submit = submit_run,
                        .poll = poll_runs,
                        .hosts = hosts_of,
                        .packs = !pool->options.runner, /* a device has the one function */
                        .width = measure_pool_width(pool)};
  return true;
}
