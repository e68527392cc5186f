/* steps.c: steps as JSON: the fields of a row of primitives.h, in the order of TVM's logs. Decoding checks types and
 * ranges; applying checks legality as for a user's call. */
#include "schedule/steps.h"

#include <stdio.h>

#include "schedule/call.h"
#include "schedule/tail.h"

/* ---- to JSON ----------------------------------------------------------------------------------------------------- */

/* The row that has a kind's mnemonic and fields. */
static const schedule_primitive *row_of_kind(int kind) {
  const schedule_primitive *row = schedule_rows;
  while (row->kind != kind || !row->mnemonic) row++;
  return row;
}

/* Takes ITEM, which may be NULL. False without memory: jansson would only leave the item out. */
static bool append(json_t *array, json_t *item) { return json_array_append_new(array, item) == 0; }

/* ARRAY; NULL, and it is freed, when an item is missing. */
static json_t *if_whole(json_t *array, bool is_whole) {
  if (array && is_whole) return array;
  json_decref(array);
  return NULL;
}

/* NULL: out of memory. */
static json_t *encode_list(const schedule_step *step) {
  json_t *list = json_array();
  bool ok = true;
  for (int i = 0; i < step->n; i++) ok &= append(list, json_integer(step->list[i]));
  return if_whole(list, ok);
}

/* One letter of a row's fields. */
static json_t *encode_field(const schedule_step *step, char field) {
  switch (field) {
    case 's': return json_integer(step->stage);
    case 'i': return json_integer(step->iter);
    case 'S': return json_integer(step->target_stage);
    case 'I': return json_integer(step->target_iter);
    case 'v':
    case 'V': return json_integer(step->value);
    case 'l':
    case 'L': return encode_list(step);
    case 'o': return json_integer(step->inner_to_outer);
    case 't': return json_string(schedule_tail_words[step->tail]);
    case 'x': return json_string(step->text);
    default: return NULL;
  }
}

/* So that logs of programs with one output are those of TVM. */
static bool is_left_out(const schedule_step *step, char field) {
  return (field == 'V' && step->value == 0) || (field == 'L' && step->n == 0);
}

/* As TVM's logs have it, where TVM has the step. */
static json_t *encode_step(const schedule_step *step) {
  const schedule_primitive *row = row_of_kind(step->kind);
  json_t *json = json_array();
  bool ok = append(json, json_string(row->mnemonic));
  for (const char *f = row->fields; *f; f++)
    if (!is_left_out(step, *f)) ok &= append(json, encode_field(step, *f));
  return if_whole(json, ok);
}

/* The caller's to release. */
json_t *schedule_steps_json(const tn_schedule *s) {
  json_t *steps = json_array();
  bool ok = true;
  for (int i = 0; i < s->n_steps; i++) ok &= append(steps, encode_step(&s->steps[i]));
  return if_whole(steps, ok);
}

/* ---- from JSON --------------------------------------------------------------------------------------------------- */

/* Stages and loops: 16 bits, not below 0. Whether there is such a stage is the primitive's check. */
static bool decode_small(const json_t *json, int *out) {
  json_int_t value = json_integer_value(json);
  *out = (int)RUNTIME_MIN(value, INT32_MAX);
  return json_is_integer(json) && value >= 0 && value <= INT16_MAX;
}

/* Numbers that an index holds, not below 0; in memory of ARENA. */
static bool decode_list(runtime_arena *arena, const json_t *json, schedule_step *out) {
  if (!json_is_array(json) || json_array_size(json) > SCHEDULE_MAX_AXES) return false;
  int64_t *list = RUNTIME_NEW_ARRAY(arena, int64_t, json_array_size(json) + 1);
  if (!list) return false;
  out->list = list;
  out->n = (int)json_array_size(json);
  for (int i = 0; i < out->n; i++) {
    const json_t *item = json_array_get(json, (size_t)i);
    if (!json_is_integer(item) || json_integer_value(item) < 0 || json_integer_value(item) > INT32_MAX) return false;
    list[i] = json_integer_value(item);
  }
  return true;
}

/* By word: numbers would change their meaning with the table. */
static bool decode_tail(const json_t *json, schedule_step *out) {
  for (int i = 0; json_is_string(json) && i < TN_TAIL_COUNT; i++) {
    if (strcmp(json_string_value(json), schedule_tail_words[i]) != 0) continue;
    out->tail = (uint8_t)i;
    return true;
  }
  return false;
}

/* A copy in ARENA: the JSON value goes before the step is applied. */
static bool decode_text(runtime_arena *arena, const json_t *json, schedule_step *out) {
  return json_is_string(json) && (out->text = runtime_strdup(arena, json_string_value(json)));
}

/* False: the JSON value is not of that kind. */
static bool decode_field(runtime_arena *arena, const json_t *json, char field, schedule_step *out) {
  int small;
  switch (field) {
    case 's': return decode_small(json, &small) && (out->stage = (int16_t)small, true);
    case 'i': return decode_small(json, &small) && (out->iter = (int16_t)small, true);
    case 'S': return decode_small(json, &small) && (out->target_stage = (int16_t)small, true);
    case 'I': return decode_small(json, &out->target_iter);
    case 'v':
    case 'V': out->value = json_integer_value(json); return json_is_integer(json) && out->value >= 0;
    case 'l':
    case 'L': return decode_list(arena, json, out);
    case 'o':
      out->inner_to_outer = json_integer_value(json) == 1;
      return json_is_integer(json) && json_integer_value(json) >> 1 == 0;
    case 't': return decode_tail(json, out);
    case 'x': return decode_text(arena, json, out);
    default: return false;
  }
}

/* For messages. */
static const char *field_words(char field) {
  static const char *const words[] = {
      "sstage number",    "iloop number",     "Starget stage", "Itarget loop", "vvalue", "Vvalue",
      "llist of numbers", "Llist of numbers", "oflag 0 or 1",  "ttail word",   "xtext"};
  for (int i = 0; i < RUNTIME_COUNT(words); i++)
    if (words[i][0] == field) return words[i] + 1;
  return "field";
}

/* "SP, FU, ... or PF": the mnemonics. */
static void add_mnemonics(runtime_str *out) {
  for (int kind = 0; kind < SCHEDULE_STEP_COUNT; kind++)
    runtime_str_addf(out, "%s%s",
                     kind == 0                        ? ""
                     : kind + 1 < SCHEDULE_STEP_COUNT ? ", "
                                                      : " or ",
                     row_of_kind(kind)->mnemonic);
}

/* With those that there are. */
static tn_status refuse_mnemonic(tn_context *ctx, int number, const char *mnemonic) {
  runtime_str known = {0};
  add_mnemonics(&known);
  tn_status status = runtime_fail(ctx, TN_ERROR_RECORD, "step %d: \"%s\" is no step: %s", number,
                                  mnemonic ? mnemonic : "", known.failed ? "" : known.data);
  runtime_str_free(&known);
  return status;
}

/* One JSON step into memory of ARENA; NUMBER is its place, for messages. Types only: whether the step is legal is asked
 * when it is applied. */
static tn_status decode_step(tn_context *ctx, runtime_arena *arena, int number, const json_t *json,
                             schedule_step *out) {
  const char *mnemonic = json_string_value(json_array_get(json, 0));
  int kind = 0;
  while (mnemonic && kind < SCHEDULE_STEP_COUNT && strcmp(row_of_kind(kind)->mnemonic, mnemonic) != 0) kind++;
  if (!mnemonic || kind == SCHEDULE_STEP_COUNT) return refuse_mnemonic(ctx, number, mnemonic);
  *out = (schedule_step){.kind = (uint8_t)kind, .stage = -1, .iter = -1};
  const char *fields = row_of_kind(kind)->fields;
  size_t n = json_array_size(json) - 1, least = strcspn(fields, "VL");
  if (n < least || n > strlen(fields))
    return runtime_fail(ctx, TN_ERROR_RECORD, "step %d: %s has %zu arguments, takes %zu", number, mnemonic, n, least);
  for (size_t i = 0; i < n; i++)
    if (!decode_field(arena, json_array_get(json, i + 1), fields[i], out))
      return runtime_fail(ctx, TN_ERROR_RECORD, "step %d: argument %zu of %s is not a %s", number, i + 1, mnemonic,
                          field_words(fields[i]));
  return TN_OK;
}

/* Before the steps are decoded: the limit is against hostile records. */
tn_status schedule_check_steps(const tn_schedule *s, size_t n) {
  if ((int64_t)n <= runtime_limits(s->ctx)->steps) return TN_OK;
  return RUNTIME_FAIL_LIMIT(s->ctx, TN_ERROR_SCHEDULE, steps, "the schedule would have %zu steps or more", n);
}

/* Stops at the first step that is refused. */
static tn_status apply_all(tn_schedule *s, runtime_arena *arena, const json_t *steps) {
  tn_status status = TN_OK;
  for (size_t i = 0; status == TN_OK && i < json_array_size(steps); i++) {
    schedule_step step;
    status = decode_step(s->ctx, arena, (int)i + 1, json_array_get(steps, i), &step);
    if (status == TN_OK) status = schedule_apply_step(s, &step);
  }
  return status;
}

/* Arguments of steps live in an arena of this call only: primitives copy what they keep. */
static tn_status replay(tn_schedule *s, const json_t *steps) {
  jmp_buf oom;
  runtime_arena arena = {.on_oom = &oom};
  if (setjmp(oom)) {
    runtime_arena_free(&arena);
    return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory for steps");
  }
  tn_status status = apply_all(s, &arena, steps);
  runtime_arena_free(&arena);
  return status;
}

/* On a copy that takes the schedule's place at the end. */
tn_status tn_schedule_replay(tn_schedule *s, const char *steps_json) {
  if (!s) return TN_ERROR_ARGUMENT;
  if (!steps_json)
    return runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "tn_schedule_replay: the steps are NULL: give \"[]\" for none");
  if (!runtime_check_text(s->ctx, "the list of steps", steps_json)) return TN_ERROR_RECORD;
  json_error_t error;
  json_t *steps = json_loads(steps_json, 0, &error);
  if (!json_is_array(steps)) {
    json_decref(steps);
    return runtime_fail(s->ctx, TN_ERROR_RECORD, "the steps are not a JSON array: %s",
                        steps ? "another value" : error.text);
  }
  tn_schedule *copy = tn_schedule_copy(s);
  tn_status status = copy ? schedule_check_steps(s, (size_t)s->n_steps + json_array_size(steps)) : TN_ERROR_MEMORY;
  if (status == TN_OK) status = replay(copy, steps);
  if (status == TN_OK) copy->is_replayed = true;
  if (status == TN_OK) schedule_swap_contents(s, copy);
  tn_schedule_free(copy);
  json_decref(steps);
  return status;
}
