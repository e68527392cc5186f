/* call.c: the table of primitives, and what all of them have in common: a call is checked, done and recorded, or
 * refused in words that begin with the call. */
#include "schedule/call.h"

#include <stdarg.h>

#include "schedule/edit.h"

const schedule_primitive schedule_rows[SCHEDULE_WORD_COUNT] = {
#define STEP(mnemonic_, name_, how_, fields_, arguments_, keys_, usage_, about_) \
  [SCHEDULE_WORD_##name_] = {.name = #name_,                                     \
                             .word = #name_,                                     \
                             .kind = SCHEDULE_STEP_##mnemonic_,                  \
                             .most = -1,                                         \
                             .mnemonic = #mnemonic_,                             \
                             .fields = fields_,                                  \
                             .arguments = arguments_,                            \
                             .keys = keys_,                                      \
                             .usage = usage_,                                    \
                             .about = about_,                                    \
                             .check = schedule_check_##how_,                     \
                             .rewrite = schedule_rewrite_##how_},
#define WORD(mnemonic_, name_, how_, least_, most_, arguments_, keys_, usage_, about_) \
  [SCHEDULE_WORD_##name_] = {.name = #name_,                                           \
                             .word = #name_,                                           \
                             .kind = SCHEDULE_STEP_##mnemonic_,                        \
                             .least = least_,                                          \
                             .most = most_,                                            \
                             .arguments = arguments_,                                  \
                             .keys = keys_,                                            \
                             .usage = usage_,                                          \
                             .about = about_,                                          \
                             .check = schedule_check_##how_,                           \
                             .rewrite = schedule_rewrite_##how_},
#define COMPOSED(name_, word_, arguments_, keys_, usage_, about_) \
  [SCHEDULE_WORD_##name_] = {.name = #name_,                      \
                             .word = word_,                       \
                             .kind = SCHEDULE_STEP_COUNT,         \
                             .arguments = arguments_,             \
                             .keys = keys_,                       \
                             .usage = usage_,                     \
                             .about = about_,                     \
                             .compose = schedule_compose_##name_},
    SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)
#undef STEP
#undef WORD
#undef COMPOSED
};

/* The row with a kind's mnemonic. */
static const uint8_t own_rows[SCHEDULE_STEP_COUNT] = {
#define STEP(mnemonic, name, how, fields, arguments, keys, usage, about) \
  [SCHEDULE_STEP_##mnemonic] = SCHEDULE_WORD_##name,
#define WORD(mnemonic, name, how, least, most, arguments, keys, usage, about)
#define COMPOSED(name, word, arguments, keys, usage, about)
    SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)
#undef STEP
#undef WORD
#undef COMPOSED
};

/* Kinds of which some values have a word, and a row, of their own. */
static const uint64_t with_words = 0
#define STEP(mnemonic, name, how, fields, arguments, keys, usage, about)
#define WORD(mnemonic, name, how, least, most, arguments, keys, usage, about) | UINT64_C(1) << SCHEDULE_STEP_##mnemonic
#define COMPOSED(name, word, arguments, keys, usage, about)
    SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)
#undef STEP
#undef WORD
#undef COMPOSED
    ;
_Static_assert(SCHEDULE_STEP_COUNT <= 64, "a bit for each kind");

const schedule_primitive *schedule_row_of(const schedule_step *step) {
  if (step->kind >= SCHEDULE_STEP_COUNT) return NULL;
  for (int i = 0; with_words >> step->kind & 1 && i < SCHEDULE_WORD_COUNT; i++) {
    const schedule_primitive *row = &schedule_rows[i];
    if (row->kind == step->kind && row->least <= step->value && step->value <= row->most) return row;
  }
  return &schedule_rows[own_rows[step->kind]];
}

/* ---- what was called --------------------------------------------------------------------------------------------- */

/* While names are looked up there are no positions yet: the arguments as they were given. */
static void add_written(const schedule_call *c, runtime_str *out) {
  runtime_str_addf(out, "%s(", c->row->word);
  for (int i = 0; i < c->n_written; i++) {
    runtime_str_add(out, i ? ", " : "");
    if (c->written[i].name)
      runtime_str_add(out, c->written[i].name);
    else
      runtime_str_addf(out, "%lld", (long long)c->written[i].number);
  }
  runtime_str_add(out, ")");
}

/* "split(C, i)", behind the composed primitives that it runs in. Their own schedule stays as it is while they run, and
 * so does what they are called. */
static void add_call(const schedule_call *c, runtime_str *out) {
  if (c->s->within) {
    add_call(c->s->within, out);
    runtime_str_add(out, ": ");
  }
  if (!c->row)
    runtime_str_add(out, c->words);
  else if (c->n_written)
    add_written(c, out);
  else
    schedule_add_step(c->s, c->row, &c->step, SCHEDULE_IN_MESSAGE, out);
}

/* Text is only made when there is something to say: most calls succeed. */
static void add_message(const schedule_call *c, const char *between, const char *fmt, va_list args, runtime_str *out) {
  add_call(c, out);
  runtime_str_add(out, between);
  runtime_str_addv(out, fmt, args);
}

/* A composed primitive's refusal begins with the composed call. Without memory for the text the status
 * says so. */
tn_status schedule_refuse(const schedule_call *c, const char *fmt, ...) {
  runtime_str text = {0};
  va_list args;
  va_start(args, fmt);
  add_message(c, ": ", fmt, args, &text);
  va_end(args);
  tn_status status =
      text.failed ? schedule_no_memory(c->s) : runtime_fail(c->s->ctx, TN_ERROR_SCHEDULE, "%s", text.data);
  runtime_str_free(&text);
  return status;
}

/* Nothing is refused. Without memory nothing is said. */
void schedule_warn(const schedule_call *c, const char *fmt, ...) {
  runtime_str text = {0};
  va_list args;
  va_start(args, fmt);
  add_message(c, "", fmt, args, &text);
  va_end(args);
  if (!text.failed) runtime_say(c->s->ctx, TN_SEVERITY_WARNING, "%s", text.data);
  runtime_str_free(&text);
}

/* One sentence for all places where a schedule grows. */
tn_status schedule_no_memory(const tn_schedule *s) {
  return runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* On a copy, so that a refused second step leaves no first one behind. */
static tn_status run_composed(const schedule_call *c) {
  tn_schedule *copy = tn_schedule_copy(c->s);
  if (!copy) return TN_ERROR_MEMORY;
  copy->within = c;
  tn_status status = c->row->compose(copy, c);
  copy->within = c->s->within;
  if (status == TN_OK) schedule_swap_contents(c->s, copy);
  tn_schedule_free(copy);
  return status;
}

/* The check changes nothing, and the rewrite cannot be refused any more: it fails for memory only. Then
 * the schedule may be half changed, which is why composed calls, texts and records run on a copy. */
tn_status schedule_run(schedule_call *c) {
  if (c->row->compose) return run_composed(c);
  SCHEDULE_TRY(c->row->check(c));
  return c->row->rewrite(c) && schedule_push_step(c->s, &c->step) ? TN_OK : schedule_no_memory(c->s);
}

/* Steps come from records and from the tuner, so nothing about them is taken for granted. */
tn_status schedule_apply_step(tn_schedule *s, const schedule_step *step) {
  schedule_call c = {.s = s, .row = schedule_row_of(step), .step = *step};
  if (!c.row) return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "step kind %d is unknown", step->kind);
  if (step->n > SCHEDULE_MAX_AXES)
    return runtime_fail(s->ctx, TN_ERROR_SCHEDULE, "a step's list has over %d entries", SCHEDULE_MAX_AXES);
  return schedule_run(&c);
}
