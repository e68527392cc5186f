/* tune_measure.c: what is known of schedules, from the log and from measurements. Each candidate is
 * appended to the log as soon as it is measured. */
#include <math.h>

#include "autotune/log.h"
#include "autotune/tuner.h"

enum { FIRST_BUILDS = 4 };

/* A build may take BUILD_TIMES the average build, but at least LEAST_BUILD_S; the first FIRST_BUILDS of a
 * run may take FIRST_BUILD_S. A worker is killed after RUN_TIMES the best time, and LEAST_RUN_S at least. */
#define BUILD_TIMES 10
#define LEAST_BUILD_S 0.25
#define FIRST_BUILD_S 5.0
#define RUN_TIMES 10
#define LEAST_RUN_S 2.0

const tn_site autotune_flow_site = {__FILE__, "tn_tune", 0, TN_CATEGORY_MEASURE, 2};

/* ---- what is known of a schedule --------------------------------------------------------------------------------- */

/* The least of a record's times. Other work on the machine only ever adds time, so the search learns from
 * the least. What is reported, and applied later, is the median. */
static double least_cost(const autotune_record *record) {
  double least = INFINITY;
  bool failed = !isfinite(autotune_record_cost(record));
  for (int i = 0; !failed && i < record->n_costs; i++) least = fmin(least, record->costs[i]);
  return least;
}

void tuner_top_free(tuner_top *top) {
  free(top->steps);
  free(top->plan);
  free(top->object);
  *top = (tuner_top){0};
}

/* Fills a place of the list; PLAN may be NULL. False: no memory. */
static bool fill_top(tuner_top *top, uint64_t hash, const autotune_record *record, const char *plan, double cost_s) {
  tuner_top_free(top);
  *top = (tuner_top){.hash = hash,
                     .steps = json_dumps(record->steps, JSON_COMPACT),
                     .plan = plan ? strdup(plan) : NULL,
                     .n_steps = (int)json_array_size(record->steps),
                     .cost_s = cost_s};
  return top->steps != NULL;
}

/* Keeps the fastest in order, and those of tuner_kept in any case. The last place is for the one that drops out. */
static bool keep_top(tuner *t, const tn_schedule *s, const autotune_record *record, double cost_s) {
  uint64_t hash = autotune_schedule_hash(s);
  const char *plan = schedule_plan_text(s);
  for (int i = 0; i < TUNER_N_KEPT; i++)
    if (hash == t->kept[i].hash && !fill_top(&t->kept[i], hash, record, plan, cost_s)) return false;
  int at = t->n_top;
  while (at > 0 && t->top[at - 1].cost_s > cost_s) --at;
  if (at == TUNER_MAX_FINALISTS) return true;
  tuner_top new = {0};
  if (!fill_top(&new, hash, record, plan, cost_s)) return tuner_top_free(&new), false;
  memmove(&t->top[at + 1], &t->top[at], sizeof *t->top * (size_t)(t->n_top - at));
  t->top[at] = new;
  t->n_top++;
  if (t->n_top <= TUNER_MAX_FINALISTS) return true;
  tuner_top_free(&t->top[--t->n_top]);
  return true;
}

/* Keeps the builder's product of a schedule that may be a finalist, so that the finals need not build it again. */
static void keep_object(tuner *t, uint64_t hash, tn_measurement *m) {
  tuner_top *top = NULL;
  for (int i = 0; i < TUNER_N_KEPT; i++)
    if (t->kept[i].hash == hash && t->kept[i].steps) top = &t->kept[i];
  for (int i = 0; !top && i < t->n_top; i++)
    if (t->top[i].hash == hash) top = &t->top[i];
  if (!top || top->object) return;
  top->object = m->object;
  top->object_bytes = m->object_bytes;
  m->object = NULL;
}

/* Takes note of a record that counts as a trial; the caller tells the search. Only a time whose output was
 * checked counts as the best, the default's or the program's own. */
static tn_status note(tuner *t, const tn_schedule *s, const autotune_record *record) {
  uint64_t hash = autotune_schedule_hash(s);
  double cost_s = autotune_record_cost(record);
  bool counts = isfinite(cost_s) && record->checked;
  bool is_best = counts && (t->result.best_s == 0 || cost_s < t->result.best_s);
  if (is_best) t->result.best_s = cost_s;
  if (is_best) tuner_set_deadline(t);
  t->since_best = is_best ? 0 : t->since_best + 1;
  if (counts && hash == t->default_hash && (t->result.default_s == 0 || t->result.default_is_estimate)) {
    t->result.default_s = cost_s;
    t->result.default_is_estimate = false;
  }
  if (counts && hash == t->kept[TUNER_OWN].hash) t->result.own_s = cost_s;
  t->held++;
  t->held_failed += !isfinite(cost_s);
  if (counts && !keep_top(t, s, record, cost_s))
    return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for the fastest schedules");
  return TN_OK;
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* The schedule of a record. NULL: no memory, or its steps are refused now. The latter is only a warning:
 * the record still counts as a trial. */
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

/* A plan that does not fit is warned of; the steps are used all the same. */
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
  tn_status status = note(t, s, record);
  return status == TN_OK ? autotune_search_observe(t->search, s, least_cost(record)) : status;
}

/* Lines of other programs and targets are passed over in silence, since one log holds many. A record whose
 * steps are refused now still counts as a trial: it was measured once, and would be refused again. */
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

/* Decides from a glance at a line whether to parse it: only those of this program. */
static log_answer look(void *user, int line, const log_glance *glance, const char *text) {
  const tuner *t = user;
  (void)line, (void)text;
  return log_span_is(&glance->key, tn_program_key(t->program)) ? LOG_READ : LOG_PASS;
}

/* Takes the records that a part of the index points to. */
static tn_status take_part(tuner *t, const log_part *part) {
  for (size_t i = 0; i < part->n && t->visit_status == TN_OK; i++) {
    autotune_record record;
    if (!log_entry_read(t->options.log, &part->entries[i], tn_program_key(t->program), &record)) continue;
    take_record(t, (int)part->entries[i].line, &record);
    autotune_record_free(&record);
  }
  return t->visit_status;
}

/* At the beginning of a run: takes the records by the index where the log has one. Reading then goes on
 * where the index ends. */
static tn_status take_index(tuner *t) {
  log_index index;
  bool has_index;
  log_part parts[2];
  tn_status status = log_index_open(t->ctx, t->options.log, &index, &has_index);
  if (status == TN_OK && has_index) {
    log_index_find(&index, tn_program_key(t->program), parts);
    for (int i = 0; i < 2 && status == TN_OK; i++) status = take_part(t, &parts[i]);
    t->read = index.place;
  }
  log_index_close(&index);
  return status;
}

/* Reads on from where the last call ended. */
tn_status tuner_catch_up(tuner *t) {
  tn_status status = t->read.file == 0 ? take_index(t) : TN_OK;
  log_reading reading = {.missing_ok = true, .claims = &t->claims, .look = look, .visit = take_record, .user = t};
  if (status == TN_OK) status = log_read(t->ctx, t->options.log, &reading, &t->read);
  return status == TN_OK ? t->visit_status : status;
}

/* ---- one candidate ----------------------------------------------------------------------------------------------- */

/* The workers' phases run beside the tuner's own, so they get names of their own in the table of times. */
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

/* Appends a measured candidate to the log. The caller frees RECORD even on failure. */
static tn_status append_record(tuner *t, const tn_candidate *candidate, const tn_schedule *s, const tn_measurement *m,
                               autotune_record *record) {
  TN_SCOPE_AS(scope, RECORD, 2, "MeasureCallback/AddToDatabase");
  tn_scope_sequence(&scope, candidate->sequence);
  tn_status status = autotune_record_make(t->ctx, candidate, t->program, t->options.target, m, record);
  if (status == TN_OK) status = tuner_add_plan(t->ctx, record, schedule_plan_text(s));
  return status == TN_OK ? autotune_record_append_held(t->ctx, t->options.log, &t->claims, record) : status;
}

/* Adds what was found so far to the recording as curves, and this candidate's result as arguments of its event. */
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

/* Learns from a measured candidate. RECORD is NULL where there is none; the candidate's arrow in the
 * recording ends in either case. */
static tn_status update(tuner *t, const tn_candidate *candidate, const tn_schedule *s, tn_measurement *m,
                        const autotune_record *record) {
  TN_SCOPE_AS(scope, MODEL, 1, "MeasureCallback/UpdateCostModel");
  tn_scope_sequence(&scope, candidate->sequence);
  if (candidate->sequence) tn_flow(&autotune_flow_site, AUTOTUNE_FLOW, TN_FLOW_END, candidate->sequence);
  if (!record) return TN_OK;
  uint64_t hash = autotune_schedule_hash(s);
  add_worker_phases(m);
  t->result.odd_share = fmax(t->result.odd_share, m->odd_share);
  t->result.trials++;
  if (!runtime_map_at(&t->measured, hash)) return TN_ERROR_MEMORY;
  if (record->error != TN_MEASURE_NONE) {
    t->result.failed++;
    tuner_count_failure(t, record->error, record->message);
  } else {
    t->fails_alike = false;
  }
  tn_status status = note(t, s, record);
  tell_found(t, &scope, record);
  if (t->options.on_measured) t->options.on_measured(t->options.user, candidate, m);
  keep_object(t, hash, m);
  tuner_tell(t, "measuring");
  return status;
}

tn_status tuner_take(tuner *t, const tn_candidate *candidate, const tn_schedule *s, tn_measurement *m, double *cost_s) {
  autotune_record record = {0};
  tn_status status = m->abandoned ? TN_OK : append_record(t, candidate, s, m, &record);
  bool is_recorded = status == TN_OK && !m->abandoned;
  *cost_s = is_recorded ? least_cost(&record) : NAN;
  tn_status updated = update(t, candidate, s, m, is_recorded ? &record : NULL);
  autotune_record_free(&record);
  return status == TN_OK ? updated : status;
}

/* The seconds after which a worker that hangs is killed; 0: no limit yet. A slow run is ended within the
 * worker long before. */
static double run_limit(const tuner *t) {
  return t->result.best_s > 0 ? fmax(RUN_TIMES * t->result.best_s, LEAST_RUN_S) : 0;
}

/* The default schedule is measured however slow it is: gains are counted from it. */
void tuner_before_run(const tuner *t, const tn_schedule *s, tn_candidate *candidate) {
  bool is_default = s->n_steps == 0;
  candidate->best_s = is_default ? 0 : t->result.best_s;
  candidate->timeout_s = is_default ? 0 : run_limit(t);
}

/* ---- the default schedule ---------------------------------------------------------------------------------------- */

/* The claim for a schedule of this program. Schedules of several programs may have equal hashes, and a log
 * may hold several programs. */
static uint64_t claim_of(const tuner *t, uint64_t hash) {
  const char *key = tn_program_key(t->program);
  return runtime_hash(key, strlen(key), hash);
}

/* Records the time of the default schedule, unless another tuner on the log does so now, or has done so. */
static tn_status record_default(tuner *t, const tn_schedule *s, const tn_candidate *candidate, tn_measurement *m) {
  double cost_s = NAN;
  uint64_t claim = claim_of(t, t->default_hash);
  bool is_ours = autotune_claim(&t->claims, t->options.log, claim);
  tn_status status = tuner_catch_up(t);
  bool is_known = runtime_map_find(&t->measured, t->default_hash) != NULL;
  if (status == TN_OK && is_ours && !is_known) status = tuner_take(t, candidate, s, m, &cost_s);
  if (is_ours) autotune_unclaim(&t->claims, claim);
  return status == TN_OK && !isnan(cost_s) ? autotune_search_observe(t->search, s, cost_s) : status;
}

/* Learns the default's time, recorded here or by another tuner, or only estimated. */
static tn_status take_default(tuner *t, const tn_candidate *candidate, tn_measurement *m) {
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

/* A user's own runner may have no `prepare`; then the first candidate's time includes it. Where the search
 * has better guesses to begin with, the default schedule is measured later as a candidate; an estimate of
 * it is taken here in any case. */
tn_status tuner_prepare(tuner *t) {
  if (!t->runner.prepare) return TN_OK;
  bool is_known = t->result.default_s > 0, is_later = autotune_search_is_advised(t->search);
  TN_SCOPE(MEASURE, 1, "InitializeTask/Reference");
  tn_candidate candidate = {.program = tn_program_text(t->program),
                            .steps = is_known || is_later ? NULL : "[]",
                            .target = t->target,
                            .seed = t->options.seed,
                            .fill = t->fill.text};
  tn_measurement m = {0};
  tuner_tell(t, "preparing");
  tn_status status = t->runner.prepare(t->runner.self, &candidate, &m);
  candidate.steps = "[]";
  bool is_wanted = !is_known && (!is_later || m.is_estimate);
  if (status == TN_OK && !m.abandoned && (is_wanted || m.error != TN_MEASURE_NONE))
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

/* How long a build may take: a multiple of the mean so far. The first builds get more, since they load LLVM. */
static double build_limit(const tuner *t) {
  double most = t->options.workers.build_timeout_s;
  double limit = t->n_built < FIRST_BUILDS ? FIRST_BUILD_S : fmax(BUILD_TIMES * t->build_s / t->n_built, LEAST_BUILD_S);
  return most > 0 ? fmin(limit, most) : limit;
}

/* A tuner appends its record before it gives up the claim. So whoever gets the claim and then reads the log
 * knows of the record. */
tn_status tuner_claim(tuner *t, const tn_schedule *s, uint64_t *claim, bool *is_wanted) {
  uint64_t hash = autotune_schedule_hash(s), wanted = claim_of(t, hash);
  *claim = 0;
  *is_wanted = autotune_claim(&t->claims, t->options.log, wanted);
  if (!*is_wanted) return TN_OK;
  *claim = wanted;
  tn_status status = tuner_catch_up(t);
  *is_wanted = status == TN_OK && !runtime_map_find(&t->measured, hash);
  return status;
}

/* Whether the schedule has a parallel loop. */
static bool is_parallel(const tn_schedule *s) {
  for (int i = 0; i < s->n_stages; i++) {
    const schedule_stage *stage = &s->stages[i];
    for (int k = 0; k < stage->n_leaves; k++)
      if (stage->axes[stage->leaves[k]].annotation == SCHEDULE_PARALLEL) return true;
  }
  return false;
}

tn_status tuner_describe(tuner *t, const tn_schedule *s, tn_candidate *out) {
  char *steps = tn_schedule_print(s, TN_FORM_STEPS);
  if (!steps) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a candidate");
  *out = (tn_candidate){.program = tn_program_text(t->program),
                        .steps = steps,
                        .target = t->target,
                        .seed = t->options.seed,
                        .fill = t->fill.text,
                        .best_s = t->result.best_s,
                        .sequence = out->sequence,
                        .timeout_s = build_limit(t),
                        .packs_apart = t->runner.packs,
                        .threads = is_parallel(s) ? t->task.threads : 1};
  return TN_OK;
}
