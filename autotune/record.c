/* record.c: one line of a log as a value: made from a measurement, or read from JSON. docs/records.md is
 * the schema; the table of fields below is what a reader insists on.
 *
 * A record owns its JSON, which has all of its strings. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "autotune/internal.h"
#include "autotune/log.h"

/* RECORD_VERSION: the only version of a log's lines that is written and read. MAX_MESSAGE: bytes of a failure's
 * message that a record keeps. */
enum { RECORD_VERSION = 1, MAX_MESSAGE = 2000 };

/* ---- error classes ----------------------------------------------------------------------------------------------- */

static const char *const error_words[] = {
#define X(name, number, word) [number] = word,
    TN_MEASURE_ERRORS(X)
#undef X
};

const char *tn_measure_error_word(tn_measure_error error) {
  return (unsigned)error < (unsigned)RUNTIME_COUNT(error_words) ? error_words[error] : "unknown";
}

bool autotune_parse_error(const char *word, tn_measure_error *out) {
  int i = RUNTIME_FIND(error_words, word);
  if (i >= 0) *out = (tn_measure_error)i;
  return i >= 0;
}

/* ---- a target's text --------------------------------------------------------------------------------------------- */

bool autotune_target_word(const char *target, const char *key, char *value, size_t n) {
  for (size_t n_key = strlen(key); *target; target += strcspn(target, " ")) {
    target += strspn(target, " ");
    if (strncmp(target, key, n_key) != 0 || target[n_key] != '=') continue;
    snprintf(value, n, "%.*s", (int)strcspn(target + n_key + 1, " "), target + n_key + 1);
    return true;
  }
  return false;
}

/* Only these three words decide whether times can be compared; others only choose code (tune flags, vector widths). */
bool autotune_same_target(const char *a, const char *b) {
  static const char *const keys[] = {"triple", "cpu", "threads"};
  for (int i = 0; i < RUNTIME_COUNT(keys); ++i) {
    char word_a[128] = "", word_b[128] = "";
    autotune_target_word(a, keys[i], word_a, sizeof word_a);
    autotune_target_word(b, keys[i], word_b, sizeof word_b);
    if (strcmp(word_a, word_b) != 0) return false;
  }
  return true;
}

/* For people who compare logs; nothing reads it back. */
static json_t *hardware_of(const tn_target *target) {
  json_t *caches = json_array();
  for (int level = 1; level <= 3; ++level)
    json_array_append_new(caches, json_integer(tn_target_cache_bytes(target, level)));
  return json_pack("{s:i, s:i, s:i, s:o}", "threads", tn_target_threads(target), "vector_bytes",
                   tn_target_vector_bytes(target), "cache_line_bytes", 64, "cache_bytes", caches);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Seven digits: what a clock gives, and short in the file. */
static json_t *number(double value) {
  char text[32];
  runtime_snprintf(text, sizeof text, "%.7g", isfinite(value) ? value : 0);
  return json_real(runtime_parse_float(text, NULL));
}

/* Text from a worker may be long and need not be UTF-8. */
static json_t *message_text(const char *message) {
  size_t n = strnlen(message, MAX_MESSAGE);
  json_t *json = json_stringn(message, n);
  if (json) return json;
  char plain[MAX_MESSAGE];
  for (size_t i = 0; i < n; ++i) plain[i] = (unsigned char)message[i] < 0x80 ? message[i] : '?';
  return json_stringn(plain, n);
}

/* A cost of zero means that the clock did not tick. */
static bool is_usable(double cost_s) { return isfinite(cost_s) && cost_s > 0; }

/* Unusable costs are left out, since JSON has no infinity. */
static json_t *costs_of(const tn_measurement *measured) {
  json_t *costs = json_array();
  for (int i = 0; i < measured->n_costs && i < TN_MAX_COSTS; ++i) {
    if (is_usable(measured->costs[i])) json_array_append_new(costs, number(measured->costs[i]));
  }
  return costs;
}

/* The seconds of phases that have a name, for the caller to release. */
static json_t *phases_of(const tn_measurement *measured) {
  json_t *phases = json_object();
  const char *const *names = tn_measure_phases();
  for (int i = 0; names[i] && i < RUNTIME_COUNT(measured->phase_s); ++i) {
    json_object_set_new(phases, names[i], number(measured->phase_s[i]));
  }
  return phases;
}

/* Adds how the costs were measured; unknown numbers are left out. */
static void add_samples(json_t *json, const tn_measurement *m) {
  const struct {
    const char *name;
    double value;
  } fields[] = {{"share", m->share < 1 ? m->share : 0},
                {"odd_share", m->odd_share},
                {"min_s", m->min_s},
                {"noise", m->noise},
                {"waited_s", m->waited_s},
                {"steal_s", m->steal_s},
                {"load", m->load}};
  if (m->n_samples > 0) json_object_set_new(json, "samples", json_integer(m->n_samples));
  for (int i = 0; i < RUNTIME_COUNT(fields); ++i)
    if (fields[i].value > 0) json_object_set_new(json, fields[i].name, number(fields[i].value));
  if (m->ended_early) json_object_set_new(json, "ended_early", json_true());
  if (m->is_packed) json_object_set_new(json, "part", json_string("packed"));
}

/* The steps as an array, for the caller to release. NULL with a message. */
static json_t *steps_of(tn_context *ctx, const char *steps) {
  json_error_t error;
  json_t *json = json_loads(steps ? steps : "", 0, &error);
  if (json_is_array(json)) return json;
  runtime_fail(ctx, TN_ERROR_RECORD, "the candidate's steps are no JSON array%s%s", json ? "" : ": ",
               json ? "" : error.text);
  json_decref(json);
  return NULL;
}

/* json_pack's "o" takes its value over, and makes the whole object NULL when that is NULL. */
static json_t *record_json(const tn_candidate *candidate, const tn_program *program, const tn_target *target,
                           const tn_measurement *measured, json_t *steps) {
  json_t *costs = costs_of(measured);
  bool lost = measured->error == TN_MEASURE_NONE && json_array_size(costs) == 0;
  const char *message = lost ? "the runner gave no usable time" : measured->message;
  json_t *json =
      json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:o, s:s}", "v", RECORD_VERSION, "key", tn_program_key(program),
                "program", candidate->program, "target", candidate->target, "hardware", hardware_of(target), "steps",
                steps, "costs", costs, "error", tn_measure_error_word(lost ? TN_MEASURE_UNKNOWN : measured->error));
  if (!json) return NULL;
  if (message) json_object_set_new(json, "message", message_text(message));
  if (measured->machine) json_object_set_new(json, "machine", message_text(measured->machine));
  json_object_set_new(json, "checked", json_boolean(measured->checked));
  json_object_set_new(json, "max_error", number(measured->max_error));
  add_samples(json, measured);
  json_object_set_new(json, "build_s", number(measured->build_s));
  json_object_set_new(json, "run_s", number(measured->run_s));
  json_object_set_new(json, "phases", phases_of(measured));
  json_object_set_new(json, "seed", json_integer((json_int_t)candidate->seed));
  json_object_set_new(json, "tenon", json_string(TN_VERSION));
  json_object_set_new(json, "time", json_integer((json_int_t)time(NULL)));
  return json;
}

/* Goes through JSON and the checks of a line that is read, so that what is written can be read back. */
tn_status autotune_record_make(tn_context *ctx, const tn_candidate *candidate, const tn_program *program,
                               const tn_target *target, const tn_measurement *measured, autotune_record *out) {
  if (!candidate || !program || !target || !measured || !out || !candidate->program || !candidate->target) {
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "record: an argument is NULL");
  }
  json_t *steps = steps_of(ctx, candidate->steps);
  if (!steps) return TN_ERROR_RECORD;
  char why[256];
  if (autotune_record_parse(record_json(candidate, program, target, measured, steps), out, why, sizeof why))
    return TN_OK;
  return runtime_fail(ctx, TN_ERROR_RECORD, "the measurement makes no record: %s", why);
}

/* ---- taking apart ------------------------------------------------------------------------------------------------ */

typedef enum field_kind { TEXT, ARRAY, TRUTH, NUMBER, INTEGER, OBJECT } field_kind;

/* What a reader insists on: fields that it knows, their kinds, and whether they are required. */
static const struct field {
  const char *name;
  size_t n; /* its bytes */
  field_kind kind;
  bool required;
} fields[] = {
#define FIELD(name, kind, required) {name, sizeof name - 1, kind, required}
    FIELD("program", TEXT, true),      FIELD("key", TEXT, true),        FIELD("target", TEXT, true),
    FIELD("steps", ARRAY, true),       FIELD("costs", ARRAY, true),     FIELD("error", TEXT, true),
    FIELD("checked", TRUTH, true),     FIELD("message", TEXT, false),   FIELD("hardware", OBJECT, false),
    FIELD("max_error", NUMBER, false), FIELD("build_s", NUMBER, false), FIELD("run_s", NUMBER, false),
    FIELD("phases", OBJECT, false),    FIELD("seed", INTEGER, false),   FIELD("tenon", TEXT, false),
    FIELD("time", INTEGER, false),     FIELD("final", TRUTH, false),    FIELD("rank", INTEGER, false),
    FIELD("machine", TEXT, false),
#undef FIELD
};
/* The kinds in words for messages, by field_kind. */
static const char *const kind_words[] = {"a string", "an array",   "true or false",
                                         "a number", "an integer", "an object"};

/* An integer is also a number, as in JSON. */
static bool is_of_kind(const json_t *value, field_kind kind) {
  switch (kind) {
    case TEXT: return json_is_string(value);
    case ARRAY: return json_is_array(value);
    case TRUTH: return json_is_boolean(value);
    case NUMBER: return json_is_number(value);
    case INTEGER: return json_is_integer(value);
    case OBJECT: return json_is_object(value);
  }
  return false;
}

/* An unknown field may be anything. A glance has already checked "v". */
bool autotune_record_takes(const char *name, size_t n, char kind) {
  static const char kinds[][2] = {
      [TEXT] = {'"'}, [ARRAY] = {'['}, [TRUTH] = {'t'}, [NUMBER] = {'i', 'f'}, [INTEGER] = {'i'}, [OBJECT] = {'{'}};
  for (int i = 0; i < RUNTIME_COUNT(fields); ++i)
    if (fields[i].n == n && log_same_bytes(fields[i].name, name, n))
      return kind == kinds[fields[i].kind][0] || kind == kinds[fields[i].kind][1];
  return true;
}

/* A newer version is refused as a whole: fields may have changed their meaning. */
static bool check_version(const json_t *json, char *why, size_t n_why) {
  const json_t *version = json_object_get(json, "v");
  if (json_is_integer(version) && json_integer_value(version) == RECORD_VERSION) return true;
  if (json_is_integer(version)) {
    snprintf(why, n_why, "version %lld is not known here (this Tenon reads %d)", (long long)json_integer_value(version),
             RECORD_VERSION);
  } else {
    snprintf(why, n_why, "no field \"v\" with the version of the record");
  }
  return false;
}

/* Checks the kinds of known fields; unknown ones are passed over, since newer versions may have more. */
static bool check_fields(const json_t *json, char *why, size_t n_why) {
  for (int i = 0; i < RUNTIME_COUNT(fields); ++i) {
    const json_t *value = json_object_get(json, fields[i].name);
    if (value ? is_of_kind(value, fields[i].kind) : !fields[i].required) continue;
    if (value)
      snprintf(why, n_why, "field \"%s\" is not %s", fields[i].name, kind_words[fields[i].kind]);
    else
      snprintf(why, n_why, "field \"%s\" is missing", fields[i].name);
    return false;
  }
  return true;
}

/* OUT's costs are filled up to the first wrong one. */
static bool read_costs(const json_t *json, autotune_record *out, char *why, size_t n_why) {
  const json_t *costs = json_object_get(json, "costs");
  size_t n = json_array_size(costs);
  if (n > TN_MAX_COSTS) {
    snprintf(why, n_why, "field \"costs\" holds %zu numbers, at most %d are allowed", n, TN_MAX_COSTS);
    return false;
  }
  for (size_t i = 0; i < n; ++i) {
    const json_t *cost = json_array_get(costs, i);
    if (!json_is_number(cost) || !is_usable(json_number_value(cost))) {
      snprintf(why, n_why, "field \"costs\" holds something that is no positive number of seconds");
      return false;
    }
    out->costs[out->n_costs++] = json_number_value(cost);
  }
  if (out->error != TN_MEASURE_NONE || n > 0) return true;
  snprintf(why, n_why, "field \"costs\" is empty although \"error\" is \"none\"");
  return false;
}

/* Texts are borrowed from JSON, which must live as long as OUT. False with WHY. */
static bool read_fields(json_t *json, autotune_record *out, char *why, size_t n_why) {
  if (!json_is_object(json)) {
    snprintf(why, n_why, "not a JSON object");
    return false;
  }
  if (!check_version(json, why, n_why) || !check_fields(json, why, n_why)) return false;
  const char *error = json_string_value(json_object_get(json, "error"));
  if (!autotune_parse_error(error, &out->error)) {
    snprintf(why, n_why, "field \"error\" is \"%.40s\", which is no error class", error);
    return false;
  }
  return read_costs(json, out, why, n_why);
}

bool autotune_record_parse(json_t *json, autotune_record *out, char *why, size_t n_why) {
  *out = (autotune_record){0};
  if (!read_fields(json, out, why, n_why)) {
    json_decref(json);
    *out = (autotune_record){0};
    return false;
  }
  out->json = json;
  out->program = json_string_value(json_object_get(json, "program"));
  out->key = json_string_value(json_object_get(json, "key"));
  out->target = json_string_value(json_object_get(json, "target"));
  out->message = json_string_value(json_object_get(json, "message"));
  out->steps = json_object_get(json, "steps");
  out->checked = json_is_true(json_object_get(json, "checked"));
  out->is_final = json_is_true(json_object_get(json, "final"));
  out->rank = (int)json_integer_value(json_object_get(json, "rank"));
  out->max_error = json_number_value(json_object_get(json, "max_error"));
  out->build_s = json_number_value(json_object_get(json, "build_s"));
  out->run_s = json_number_value(json_object_get(json, "run_s"));
  out->seed = (uint64_t)json_integer_value(json_object_get(json, "seed"));
  out->time_s = json_integer_value(json_object_get(json, "time"));
  return true;
}

void autotune_record_free(autotune_record *record) {
  if (!record) return;
  json_decref(record->json);
  *record = (autotune_record){0};
}

/* The median, not the least: records of different runs are compared, and the least of few samples is luck. */
double autotune_record_cost(const autotune_record *record) {
  int n = record->n_costs;
  if (record->error != TN_MEASURE_NONE || n == 0) return INFINITY;
  double sorted[TN_MAX_COSTS];
  memcpy(sorted, record->costs, sizeof *sorted * (size_t)n);
  runtime_sort(sorted, n);
  return runtime_quantile(sorted, n, 0.5);
}
