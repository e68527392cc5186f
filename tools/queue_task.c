/* queue_task.c: candidates and measurements as JSON, for a queue. What is read comes from other machines: a
 * field of the wrong type counts as missing, and a time that is no time fails the candidate. */
#include <math.h>

#include "autotune/internal.h"
#include "autotune/protocol.h"
#include "tools/queue_redis.h"

/* Bytes of a failure's message that are sent. */
enum { MOST_MESSAGE = 2000 };

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* A NULL text is left out. */
static void add_text(json_t *json, const char *name, const char *text) {
  if (text) json_object_set_new(json, name, json_string(text));
}

/* Zero is left out: it is what a missing number reads as. */
static void add_number(json_t *json, const char *name, double value) {
  if (isfinite(value) && value != 0) json_object_set_new(json, name, json_real(value));
}

/* Takes JSON over; NULL gives NULL. */
static char *print_and_free(json_t *json) {
  char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
  json_decref(json);
  return text;
}

char *queue_task_print(const tn_candidate *c, const queue_way *way, bool is_prepare) {
  json_t *json = json_pack("{s:s, s:s, s:I, s:i, s:b, s:b, s:b}", "program", c->program, "target", c->target, "seed",
                           (json_int_t)c->seed, "threads", c->threads, "final", (int)c->is_final, "proved",
                           (int)c->is_proved, "prepare", (int)is_prepare);
  if (!json) return NULL;
  add_text(json, "steps", c->steps);
  add_text(json, "fill", c->fill);
  add_number(json, "best_s", c->best_s);
  add_number(json, "timeout_s", c->timeout_s);
  add_number(json, "run_timeout_s", way->run_timeout_s);
  add_number(json, "repeat", way->repeats.repeat);
  add_number(json, "number", way->repeats.number);
  add_number(json, "min_repeat_ms", way->repeats.min_repeat_ms);
  add_number(json, "cooldown_s", way->repeats.cooldown_s);
  add_number(json, "flush", way->repeats.flushes_cache);
  return print_and_free(json);
}

/* The number, between 0 and MOST whatever was written; 0 where there is none. */
static double number_up_to(const json_t *json, const char *name, double most) {
  return fmin(fmax(protocol_number(json, name, 0), 0), most);
}

static int whole(const json_t *json, const char *name, int most) { return (int)number_up_to(json, name, most); }

/* The limits keep a faulty tuner from holding a worker for hours. */
static void take_way(const json_t *json, queue_way *way) {
  way->run_timeout_s = number_up_to(json, "run_timeout_s", 3600);
  way->repeats.repeat = whole(json, "repeat", 1000);
  way->repeats.number = whole(json, "number", 1 << 20);
  way->repeats.min_repeat_ms = number_up_to(json, "min_repeat_ms", 1e5);
  way->repeats.cooldown_s = number_up_to(json, "cooldown_s", 10);
  way->repeats.flushes_cache = protocol_number(json, "flush", 0) > 0;
}

bool queue_task_parse(const char *text, size_t n, queue_task *out) {
  *out = (queue_task){.json = n <= QUEUE_MOST_BYTES ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL};
  const json_t *json = out->json;
  if (!json_is_object(json)) return false;
  out->candidate = (tn_candidate){.program = protocol_text(json, "program", NULL),
                                  .target = protocol_text(json, "target", NULL),
                                  .steps = protocol_text(json, "steps", NULL),
                                  .fill = protocol_text(json, "fill", NULL),
                                  .seed = (uint64_t)protocol_int(json, "seed", 0),
                                  .best_s = number_up_to(json, "best_s", 3600),
                                  .timeout_s = number_up_to(json, "timeout_s", 3600),
                                  .threads = whole(json, "threads", 1 << 16),
                                  .is_final = json_is_true(json_object_get(json, "final")),
                                  .is_proved = json_is_true(json_object_get(json, "proved"))};
  out->is_prepare = json_is_true(json_object_get(json, "prepare"));
  take_way(json, &out->way);
  return out->candidate.program && out->candidate.target && (out->candidate.steps || out->is_prepare);
}

void queue_task_free(queue_task *task) {
  json_decref(task->json);
  *task = (queue_task){0};
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* A measurement's numbers that are sent as they are, by their place in the struct. */
static const struct number {
  const char *name;
  size_t at;
} numbers[] = {{"share", offsetof(tn_measurement, share)},       {"max_error", offsetof(tn_measurement, max_error)},
               {"min_s", offsetof(tn_measurement, min_s)},       {"noise", offsetof(tn_measurement, noise)},
               {"waited_s", offsetof(tn_measurement, waited_s)}, {"steal_s", offsetof(tn_measurement, steal_s)},
               {"load", offsetof(tn_measurement, load)},         {"odd_share", offsetof(tn_measurement, odd_share)},
               {"run_s", offsetof(tn_measurement, run_s)}};

/* Numbers that JSON does not have become 0. */
static json_t *list_of(const double *values, int n) {
  json_t *list = json_array();
  for (int i = 0; i < n; ++i) json_array_append_new(list, json_real(isfinite(values[i]) ? values[i] : 0));
  return list;
}

/* Adds the message, cut to its most. One that is not UTF-8 is replaced. */
static void add_message(json_t *json, const char *message) {
  json_t *text = json_stringn(message, strnlen(message, MOST_MESSAGE));
  json_object_set_new(json, "message", text ? text : json_string("(a message that is not UTF-8)"));
}

char *queue_answer_print(const tn_measurement *m, bool lacks) {
  json_t *json = json_pack("{s:s, s:b, s:b, s:b, s:b, s:i, s:o, s:o}", "error", tn_measure_error_word(m->error),
                           "lacks", (int)lacks, "checked", (int)m->checked, "ended_early", (int)m->ended_early,
                           "is_estimate", (int)m->is_estimate, "samples", m->n_samples, "costs",
                           list_of(m->costs, m->n_costs), "phase_s", list_of(m->phase_s, RUNTIME_COUNT(m->phase_s)));
  if (!json) return NULL;
  for (int i = 0; i < RUNTIME_COUNT(numbers); ++i)
    add_number(json, numbers[i].name, *(const double *)((const char *)m + numbers[i].at));
  if (m->message) add_message(json, m->message);
  return print_and_free(json);
}

/* Makes the measurement a failure. */
static void fail_answer(tn_measurement *m, tn_measure_error error, const char *why) {
  free(m->message);
  m->error = error;
  m->message = strdup(why);
  m->n_costs = 0;
  m->checked = false;
}

/* Takes the costs. If they are no times, or are missing although NEEDS_TIME, the candidate failed. */
static void take_costs(const json_t *json, bool needs_time, tn_measurement *m) {
  const json_t *costs = json_object_get(json, "costs");
  m->n_costs = (int)RUNTIME_MIN(json_array_size(costs), (size_t)TN_MAX_COSTS);
  bool are_times = m->n_costs > 0 || !needs_time;
  for (int i = 0; i < m->n_costs; ++i) {
    m->costs[i] = json_number_value(json_array_get(costs, (size_t)i));
    are_times = are_times && m->costs[i] > 0 && isfinite(m->costs[i]);
  }
  if (!are_times) fail_answer(m, TN_MEASURE_UNKNOWN, "running failed: the worker sent a time that is none");
}

/* Takes numbers that are only recorded; negative ones become 0. */
static void take_numbers(const json_t *json, tn_measurement *m) {
  const json_t *phases = json_object_get(json, "phase_s");
  for (int i = 0; i < RUNTIME_COUNT(numbers); ++i)
    *(double *)((char *)m + numbers[i].at) = fmax(protocol_number(json, numbers[i].name, 0), 0);
  for (int i = 0; i < RUNTIME_COUNT(m->phase_s); ++i)
    m->phase_s[i] += fmax(json_number_value(json_array_get(phases, (size_t)i)), 0);
  m->n_samples = whole(json, "samples", 1 << 30);
  m->checked = json_is_true(json_object_get(json, "checked"));
  m->ended_early = json_is_true(json_object_get(json, "ended_early"));
  m->is_estimate = json_is_true(json_object_get(json, "is_estimate"));
}

bool queue_answer_parse(const char *text, size_t n, bool needs_time, tn_measurement *m, bool *lacks) {
  json_t *json = n <= QUEUE_MOST_ANSWER ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
  const char *word = protocol_text(json, "error", NULL);
  tn_measure_error error;
  bool is_answer = word && autotune_parse_error(word, &error);
  if (is_answer) {
    *lacks = json_is_true(json_object_get(json, "lacks"));
    take_numbers(json, m);
    if (error == TN_MEASURE_NONE)
      take_costs(json, needs_time, m);
    else
      fail_answer(m, error, protocol_text(json, "message", "the worker does not say why"));
  }
  json_decref(json);
  return is_answer;
}
