/* tune_tell.c: what a run reports (progress, failures, its beginning and its end) and when it ends. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "autotune/tuner.h"

/* Progress is reported at least every TELL_EVERY_MS. A run ends when its first FIRST_BATCH trials all fail
 * alike: their messages agree in the first ALIKE_BYTES bytes. SAMPLE_BYTES of a message are shown. */
enum { TELL_EVERY_MS = 100, FIRST_BATCH = 4, SAMPLE_BYTES = 200, ALIKE_BYTES = 60 };

/* How long a run under way may go on when the candidates' time is over: GRACE_S, and GRACE_TIMES the best
 * kernel's time. */
#define GRACE_S 0.05
#define GRACE_TIMES 3

double tuner_elapsed_s(const tuner *t) { return (double)(runtime_now_ns() - t->start_ns) * 1e-9; }

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* Seconds until the end as far as can be told; negative: unknown. */
static double left_s(const tuner *t, double elapsed) {
  double left = -1;
  if (t->result.trials > 0 && t->options.trials < INT32_MAX)
    left = elapsed / t->result.trials * (t->options.trials - t->held);
  if (t->options.seconds > 0 && (left < 0 || left > t->options.seconds - elapsed))
    left = fmax(t->options.seconds - elapsed, 0);
  return left;
}

void tuner_tell(tuner *t, const char *phase) {
  t->phase = phase;
  t->told_ns = runtime_now_ns();
  if (!t->options.on_progress) return;
  double elapsed = tuner_elapsed_s(t);
  tn_progress progress = {.trials = t->held,
                          .failed = t->held_failed,
                          .trials_wanted = t->options.trials < INT32_MAX ? t->options.trials : 0,
                          .best_s = t->result.best_s,
                          .default_s = t->result.default_s,
                          .default_is_estimate = t->result.default_is_estimate,
                          .flops = tn_program_flops(t->program),
                          .elapsed_s = elapsed,
                          .left_s = left_s(t, elapsed),
                          .phase = phase};
  t->is_stopped |= t->options.on_progress(t->options.user, &progress);
}

/* ---- when it ends ------------------------------------------------------------------------------------------------ */

/* Whether the time for the current part is over. deadline_ns moves when the finals begin. */
static bool is_time_over(const tuner *t) { return t->deadline_ns > 0 && runtime_now_ns() >= t->deadline_ns; }

/* A run that is under way when candidates end may finish, so that its worker stays alive for the finals: it
 * holds the reference. */
static bool is_grace_over(const tuner *t) {
  uint64_t grace_ns = t->has_finals_left ? (uint64_t)((GRACE_S + GRACE_TIMES * t->result.best_s) * 1e9) : 0;
  uint64_t end_ns = t->deadline_ns + grace_ns;
  if (t->promised_ns > 0 && end_ns > t->promised_ns) end_ns = t->promised_ns;
  return is_time_over(t) && runtime_now_ns() >= end_ns;
}

bool tuner_gives_up(tuner *t) {
  if (runtime_now_ns() - t->told_ns >= TELL_EVERY_MS * UINT64_C(1000000)) tuner_tell(t, t->phase);
  return t->is_stopped || t->winds_up || is_grace_over(t);
}

/* Asked by the pool of workers while it waits. */
bool tuner_should_stop(void *t) { return tuner_gives_up(t); }

/* Whether every trial so far failed, all for one reason. */
static bool fails_alike(const tuner *t) {
  return t->fails_alike && t->result.best_s == 0 && t->result.trials >= RUNTIME_MIN(FIRST_BATCH, t->options.trials);
}

/* Reports the first reason to end that holds; the user's wish comes before all others. */
bool tuner_is_done(tuner *t) {
  tn_tune_end end = TN_TUNE_RUNNING;
  if (t->is_stopped)
    end = TN_TUNE_STOPPED;
  else if (t->held >= t->options.trials)
    end = TN_TUNE_TRIALS;
  else if (fails_alike(t))
    end = TN_TUNE_FAILED;
  else if (is_time_over(t))
    end = TN_TUNE_TIME;
  else if (t->options.early_stop > 0 && t->since_best >= t->options.early_stop)
    end = TN_TUNE_NO_PROGRESS;
  if (end != TN_TUNE_RUNNING) t->result.end = end;
  return end != TN_TUNE_RUNNING;
}

const char *tn_tune_end_word(tn_tune_end end) {
  static const char *const words[] = {
#define X(name, word) [TN_TUNE_##name] = word,
      TN_TUNE_ENDS(X)
#undef X
  };
  return (unsigned)end < (unsigned)RUNTIME_COUNT(words) ? words[end] : "unknown";
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Whether two messages begin alike. Digits are skipped, since numbers differ from candidate to candidate. */
static bool sounds_alike(const char *a, const char *b) {
  for (int i = 0; i < ALIKE_BYTES && (*a || *b); ++i) {
    while (*a >= '0' && *a <= '9') ++a;
    while (*b >= '0' && *b <= '9') ++b;
    if (*a != *b) return false;
    a += *a != '\0';
    b += *b != '\0';
  }
  return true;
}

void tuner_count_failure(tuner *t, tn_measure_error error, const char *message) {
  tn_failure *failure = &t->result.failures[error];
  const char *text = message ? message : "";
  if (failure->n++ == 0) snprintf(failure->sample, sizeof failure->sample, "%s", text);
  if (!t->first_failure) {
    t->first_failure = strdup(text);
    t->fails_alike = t->result.trials == 1;
  }
  t->fails_alike = t->fails_alike && t->first_failure && sounds_alike(t->first_failure, text);
}

/* Appends, for example, "3 compile (why), 2 runtime (why)". */
static void add_failures(const tuner *t, runtime_str *out) {
  const char *between = "";
  for (int i = 1; i < TN_MEASURE_CLASSES; ++i) {
    const tn_failure *failure = &t->result.failures[i];
    if (failure->n == 0) continue;
    runtime_str_addf(out, "%s%d %s (%s)", between, failure->n, tn_measure_error_word((tn_measure_error)i),
                     failure->sample);
    between = ", ";
  }
  if (!*between) runtime_str_add(out, "no output was checked");
}

/* A run that measured and reused nothing did not fail: there was nothing to do. */
tn_status tuner_judge(tuner *t) {
  if (t->result.best_s > 0 || t->result.trials + t->result.reused == 0) return TN_OK;
  runtime_str text = {0};
  add_failures(t, &text);
  const char *why = text.failed ? "out of memory" : text.data;
  tn_status status =
      runtime_fail(t->ctx, TN_ERROR_TUNE, "no candidate was valid, of %d measured: %s", t->result.trials, why);
  runtime_str_free(&text);
  return status;
}

/* ---- the log's lines of a run ------------------------------------------------------------------------------------ */

/* Appends EVENT, which it takes over, to the log; NULL means no memory. The "event" field tells readers
 * that this is no record, so that they skip it. */
static tn_status append_event(tuner *t, json_t *event) {
  if (!event) return runtime_fail(t->ctx, TN_ERROR_MEMORY, "out of memory for a line of %s", t->options.log);
  json_object_set_new(event, "time", json_integer((json_int_t)time(NULL)));
  autotune_record record = {.json = event};
  tn_status status = autotune_record_append(t->ctx, t->options.log, &record);
  json_decref(event);
  return status;
}

tn_status tuner_log_start(tuner *t) {
  const tn_tune_options *o = &t->options;
  json_t *event = json_pack("{s:i, s:s, s:s, s:s, s:I, s:s, s:I}", "v", 1, "event", "start", "key",
                            tn_program_key(t->program), "target", t->target, "seed", (json_int_t)o->seed, "tenon",
                            TN_VERSION, "run", (json_int_t)(t->run_id & INT64_MAX));
  if (event && o->trials < INT32_MAX) json_object_set_new(event, "trials_wanted", json_integer(o->trials));
  if (event && o->seconds > 0) json_object_set_new(event, "seconds", json_real(o->seconds));
  return append_event(t, event);
}

/* Also written after a failure, as far as the log can still be written. */
tn_status tuner_log_end(tuner *t, tn_status status) {
  const tn_tune_result *r = &t->result;
  const char *reason =
      status == TN_OK || status == TN_ERROR_TUNE || r->end == TN_TUNE_NO_WORKERS ? tn_tune_end_word(r->end) : "error";
  json_t *event =
      json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:I}", "v", 1, "event", "end", "key",
                tn_program_key(t->program), "target", t->target, "reason", reason, "trials", r->trials, "failed",
                r->failed, "elapsed_s", tuner_elapsed_s(t), "run", (json_int_t)(t->run_id & INT64_MAX));
  if (event && r->best_s > 0) json_object_set_new(event, "best_s", json_real(r->best_s));
  if (event && r->default_s > 0) json_object_set_new(event, "default_s", json_real(r->default_s));
  if (event && r->default_s > 0)
    json_object_set_new(event, "default_is_estimate", json_boolean(r->default_is_estimate));
  return append_event(t, event);
}
