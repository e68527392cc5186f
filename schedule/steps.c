/* steps.c: steps as data: one table row a kind gives its fields, in the order of the JSON array (TVM's logs), and how
 * it is applied. Decoding checks types and ranges; applying checks legality as for a user's call. */
#include "schedule/steps.h"

#include <stdio.h>

#include "schedule/intrin.h"
#include "schedule/tail.h"

/* Fields: s stage, i iter, S target stage, I target iter, v value, l list, o inner_to_outer, t tail, x text. In
 * capitals V and L: last, and left out where 0 and empty. */
typedef struct step_row {
  const char *mnemonic, *fields;
  tn_status (*apply)(tn_schedule *s, const schedule_step *step);
} step_row;

typedef struct small_ints {
  int n, data[SCHEDULE_MAX_AXES];
} small_ints;

static bool to_ints(const schedule_step *step, small_ints *out) {
  if (step->n > SCHEDULE_MAX_AXES) return false;
  out->n = step->n;
  for (int i = 0; i < step->n; i++) out->data[i] = (int)step->list[i];
  return true;
}

static tn_status too_long(tn_schedule *s) {
  return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "a step's list has over %d entries", SCHEDULE_MAX_AXES);
}

static tn_status apply_an(tn_schedule *s, const schedule_step *t) {
  bool is_known = t->value >= SCHEDULE_NONE && t->value < SCHEDULE_ANNOTATION_COUNT;
  return schedule_annotate(s, t->stage, t->iter, is_known ? (schedule_annotation)t->value : SCHEDULE_ANNOTATION_COUNT);
}
static tn_status apply_fu(tn_schedule *s, const schedule_step *t) {
  small_ints list;
  return to_ints(t, &list) ? schedule_fuse(s, t->stage, list.n, list.data) : too_long(s);
}
static tn_status apply_re(tn_schedule *s, const schedule_step *t) {
  small_ints list;
  return to_ints(t, &list) ? schedule_reorder(s, t->stage, list.n, list.data) : too_long(s);
}
static tn_status apply_chr(tn_schedule *s, const schedule_step *t) {
  small_ints list;
  return to_ints(t, &list) ? schedule_cache_read_value(s, t->stage, t->value, t->text, list.n, list.data) : too_long(s);
}
/* "auto_unroll_max_step$64" */
static tn_status apply_pr(tn_schedule *s, const schedule_step *t) {
  const char *dollar = strchr(t->text, '$');
  char key[64], *end;
  if (!dollar || dollar - t->text >= (ptrdiff_t)sizeof key)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "pragma \"%s\" is no key and value: write \"%s$64\"", t->text,
                        schedule_pragma_key(SCHEDULE_PRAGMA_UNROLL));
  long value = strtol(dollar + 1, &end, 10);
  if (*end || end == dollar + 1 || value > INT32_MAX || value < 0)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "pragma \"%s\" has no number behind the $: write \"%s$64\"", t->text,
                        schedule_pragma_key(SCHEDULE_PRAGMA_UNROLL));
  snprintf(key, sizeof key, "%.*s", (int)(dollar - t->text), t->text);
  return schedule_pragma(s, t->stage, t->iter, key, value);
}

/* The recorded extent says which axis was meant: a record that does not fit its program is stale. */
static tn_status apply_sp(tn_schedule *s, const schedule_step *t) {
  bool exists = t->stage >= 0 && t->stage < s->n_stages && t->iter >= 0 && t->iter < s->stages[t->stage].n_leaves;
  const schedule_axis *split = exists ? schedule_leaf(&s->stages[t->stage], t->iter) : NULL;
  if (exists && t->value && !split->size && split->extent != t->value) {
    const schedule_axis *axis = schedule_leaf(&s->stages[t->stage], t->iter);
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "split(%s, %s): the step was recorded for extent %lld, the loop has %lld: use it with the "
                        "program that it was recorded for",
                        schedule_stage_name(&s->stages[t->stage]), axis->name, (long long)t->value,
                        (long long)axis->extent);
  }
  return schedule_split(s, t->stage, t->iter, t->n, t->list, t->inner_to_outer, (tn_tail)t->tail);
}
static tn_status apply_ca(tn_schedule *s, const schedule_step *t) {
  return schedule_compute_at(s, t->stage, t->target_stage, t->target_iter);
}
static tn_status apply_ci(tn_schedule *s, const schedule_step *t) { return schedule_compute_inline(s, t->stage); }
static tn_status apply_cr(tn_schedule *s, const schedule_step *t) { return schedule_compute_root(s, t->stage); }
static tn_status apply_chw(tn_schedule *s, const schedule_step *t) {
  return schedule_cache_write(s, t->stage, t->text);
}
static tn_status apply_ss(tn_schedule *s, const schedule_step *t) { return schedule_set_scope(s, t->stage, t->text); }

static tn_status apply_rf(tn_schedule *s, const schedule_step *t) {
  return schedule_rfactor(s, t->stage, t->iter, (int)RUNTIME_MIN(t->value, TN_MAX_RANK + 1));
}

static tn_status apply_tl(tn_schedule *s, const schedule_step *t) {
  return schedule_transform_layout(s, t->stage, t->text);
}

static tn_status apply_sa(tn_schedule *s, const schedule_step *t) {
  return schedule_storage_align(s, t->stage, t->iter, t->value, t->target_iter);
}

static tn_status apply_pf(tn_schedule *s, const schedule_step *t) {
  if (t->n != 0 && t->n != 2)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "prefetch: a list of %d numbers: write [stage, loop]", t->n);
  int of = t->n == 2 ? (int)t->list[0] : t->stage, of_iter = t->n == 2 ? (int)t->list[1] : t->iter;
  return schedule_prefetch(s, t->stage, t->target_stage, t->iter, t->value, of, of_iter);
}

static tn_status apply_st(tn_schedule *s, const schedule_step *t) {
  return schedule_set_store_predicate(s, t->stage, t->text);
}

static tn_status apply_db(tn_schedule *s, const schedule_step *t) {
  return schedule_set_buffering(s, t->stage, SCHEDULE_BUFFER_DOUBLE);
}
static tn_status apply_rb(tn_schedule *s, const schedule_step *t) {
  return schedule_set_buffering(s, t->stage, SCHEDULE_BUFFER_ROLLING);
}

/* "name", or "name: pattern" of a declared intrinsic, which must have that pattern here. */
static tn_status apply_tz(tn_schedule *s, const schedule_step *t) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(t->text, ":"), t->text);
  const char *here = schedule_intrin_record(s->ctx, name);
  if (strcmp(here, name) != 0 && strchr(t->text, ':') && strcmp(here, t->text) != 0)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE,
                        "tensorize: the step was recorded with another intrinsic, %s; here it is %s: declare that one",
                        t->text, here);
  return schedule_tensorize(s, t->stage, t->iter, name);
}

static const step_row rows[SCHEDULE_STEP_COUNT] = {
    [SCHEDULE_STEP_AN] = {"AN", "siv", apply_an},     [SCHEDULE_STEP_FU] = {"FU", "sl", apply_fu},
    [SCHEDULE_STEP_PR] = {"PR", "six", apply_pr},     [SCHEDULE_STEP_RE] = {"RE", "sl", apply_re},
    [SCHEDULE_STEP_SP] = {"SP", "sivlot", apply_sp},  [SCHEDULE_STEP_CA] = {"CA", "sSI", apply_ca},
    [SCHEDULE_STEP_CI] = {"CI", "s", apply_ci},       [SCHEDULE_STEP_CR] = {"CR", "s", apply_cr},
    [SCHEDULE_STEP_CHR] = {"CHR", "sxlV", apply_chr}, [SCHEDULE_STEP_CHW] = {"CHW", "sx", apply_chw},
    [SCHEDULE_STEP_SS] = {"SS", "sx", apply_ss},      [SCHEDULE_STEP_RF] = {"RF", "siv", apply_rf},
    [SCHEDULE_STEP_TL] = {"TL", "sx", apply_tl},      [SCHEDULE_STEP_SA] = {"SA", "sivI", apply_sa},
    [SCHEDULE_STEP_DB] = {"DB", "s", apply_db},       [SCHEDULE_STEP_RB] = {"RB", "s", apply_rb},
    [SCHEDULE_STEP_ST] = {"ST", "sx", apply_st},      [SCHEDULE_STEP_PF] = {"PF", "sSivL", apply_pf},
    [SCHEDULE_STEP_TZ] = {"TZ", "six", apply_tz},
};

tn_status schedule_apply_step(tn_schedule *s, const schedule_step *step) {
  if (step->kind >= SCHEDULE_STEP_COUNT)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "step kind %d is unknown", step->kind);
  return rows[step->kind].apply(s, step);
}

/* ---- to JSON ----------------------------------------------------------------------------------------------------- */

static json_t *encode_list(const schedule_step *step) {
  json_t *list = json_array();
  for (int i = 0; i < step->n; i++) json_array_append_new(list, json_integer(step->list[i]));
  return list;
}

/* One letter of a row's fields, see step_row. */
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

static bool is_left_out(const schedule_step *step, char field) {
  return (field == 'V' && step->value == 0) || (field == 'L' && step->n == 0);
}

json_t *schedule_steps_json(const tn_schedule *s) {
  json_t *steps = json_array();
  for (int i = 0; i < s->n_steps; i++) {
    const step_row *row = &rows[s->steps[i].kind];
    json_t *json = json_array();
    json_array_append_new(json, json_string(row->mnemonic));
    for (const char *f = row->fields; *f; f++)
      if (!is_left_out(&s->steps[i], *f)) json_array_append_new(json, encode_field(&s->steps[i], *f));
    json_array_append_new(steps, json);
  }
  return steps;
}

/* ---- from JSON --------------------------------------------------------------------------------------------------- */

/* Stages and loops: 16 bits, not below 0. Whether there is such a stage is the primitive's check. */
static bool decode_small(const json_t *json, int16_t *out) {
  json_int_t value = json_integer_value(json);
  if (!json_is_integer(json) || value < 0 || value > INT16_MAX) return false;
  *out = (int16_t)value;
  return true;
}

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

static bool decode_tail(const json_t *json, schedule_step *out) {
  for (int i = 0; json_is_string(json) && i < TN_TAIL_COUNT; i++) {
    if (strcmp(json_string_value(json), schedule_tail_words[i]) != 0) continue;
    out->tail = (uint8_t)i;
    return true;
  }
  return false;
}

static bool decode_text(runtime_arena *arena, const json_t *json, schedule_step *out) {
  return json_is_string(json) && (out->text = runtime_strdup(arena, json_string_value(json)));
}

/* False: the JSON value is not of that kind. */
static bool decode_field(runtime_arena *arena, const json_t *json, char field, schedule_step *out) {
  switch (field) {
    case 's': return decode_small(json, &out->stage);
    case 'i': return decode_small(json, &out->iter);
    case 'S': return decode_small(json, &out->target_stage);
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

static const char *field_words(char field) {
  static const char *const words[] = {
      "sstage number",    "iloop number",     "Starget stage", "Itarget loop", "vvalue", "Vvalue",
      "llist of numbers", "Llist of numbers", "oflag 0 or 1",  "ttail word",   "xtext"};
  for (int i = 0; i < RUNTIME_COUNT(words); i++)
    if (words[i][0] == field) return words[i] + 1;
  return "field";
}

/* "AN, FU, ... or SS": the mnemonics, in a buffer of the caller. */
static const char *mnemonics(char *buffer, size_t n) {
  size_t used = 0;
  for (int i = 0; i < SCHEDULE_STEP_COUNT && used < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, "%s%s",
                             i == 0                        ? ""
                             : i + 1 < SCHEDULE_STEP_COUNT ? ", "
                                                           : " or ",
                             rows[i].mnemonic);
  return buffer;
}

tn_status schedule_step_decode(tn_context *ctx, runtime_arena *arena, int number, const json_t *json,
                               schedule_step *out) {
  const char *mnemonic = json_string_value(json_array_get(json, 0));
  char known[128];
  int kind = 0;
  while (mnemonic && kind < SCHEDULE_STEP_COUNT && strcmp(rows[kind].mnemonic, mnemonic) != 0) kind++;
  if (!mnemonic || kind == SCHEDULE_STEP_COUNT)
    return runtime_fail(ctx, TN_ERROR_RECORD, "step %d: \"%s\" is no step: %s", number, mnemonic ? mnemonic : "",
                        mnemonics(known, sizeof known));
  *out = (schedule_step){.kind = (uint8_t)kind, .stage = -1, .iter = -1};
  const char *fields = rows[kind].fields;
  size_t n = json_array_size(json) - 1, least = strcspn(fields, "VL");
  if (n < least || n > strlen(fields))
    return runtime_fail(ctx, TN_ERROR_RECORD, "step %d: %s has %zu arguments, takes %zu", number, mnemonic, n, least);
  for (size_t i = 0; i < n; i++)
    if (!decode_field(arena, json_array_get(json, i + 1), fields[i], out))
      return runtime_fail(ctx, TN_ERROR_RECORD, "step %d: argument %zu of %s is not a %s", number, i + 1, mnemonic,
                          field_words(fields[i]));
  return TN_OK;
}

tn_status schedule_check_steps(const tn_schedule *s, size_t n) {
  if ((int64_t)n <= runtime_limits(s->ctx)->steps) return TN_OK;
  return RUNTIME_FAIL_LIMIT(s->ctx, TN_ERROR_SCHEDULE, steps, "the schedule would have %zu steps or more", n);
}

/* On a copy; stops at the first step that is refused. */
static tn_status replay(tn_schedule *s, const json_t *steps) {
  runtime_arena arena = {0};
  tn_status status = TN_OK;
  for (size_t i = 0; status == TN_OK && i < json_array_size(steps); i++) {
    schedule_step step;
    status = schedule_step_decode(s->ctx, &arena, (int)i + 1, json_array_get(steps, i), &step);
    if (status == TN_OK) status = schedule_apply_step(s, &step);
  }
  runtime_arena_free(&arena);
  return status;
}

tn_status tn_schedule_replay(tn_schedule *s, const char *steps_json) {
  if (!s || !steps_json) return TN_ERROR_ARGUMENT;
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
