/* print.c: a schedule as text: loop IR, steps, C calls, schedule text, the loop tree. */
#include "schedule/call.h"
#include "schedule/steps.h"

/* Replays the steps on a fresh schedule so that each call is written with the names of its moment. */
static bool print_calls(const tn_schedule *s, bool is_c, runtime_str *out) {
  tn_schedule *now = tn_schedule_new(s->program);
  bool ok = now != NULL;
  for (int i = 0; ok && i < s->n_steps; i++) {
    schedule_add_step(now, schedule_row_of(&s->steps[i]), &s->steps[i], is_c ? SCHEDULE_AS_C : SCHEDULE_AS_TEXT, out);
    runtime_str_add(out, is_c ? "\n" : i + 1 < s->n_steps ? "; " : "\n");
    ok = schedule_apply_step(now, &s->steps[i]) == TN_OK;
  }
  tn_schedule_free(now);
  return ok;
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* Lowered for no machine in particular. */
static bool print_tir(const tn_schedule *s, runtime_str *out) {
  runtime_arena arena = {0};
  tir_func *f = schedule_lower_and_optimize(s, "kernel", &arena);
  if (f) tir_print_func(out, f);
  runtime_arena_free(&arena);
  return f != NULL;
}

/* One line of compact JSON, the form that logs have. False when memory ended. */
static bool print_steps(const tn_schedule *s, runtime_str *out) {
  json_t *json = schedule_steps_json(s);
  char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
  if (text) runtime_str_addf(out, "%s\n", text);
  free(text);
  json_decref(json);
  return text != NULL;
}

static bool print_api(const tn_schedule *s, runtime_str *out) { return print_calls(s, true, out); }
static bool print_text(const tn_schedule *s, runtime_str *out) { return print_calls(s, false, out); }
static bool print_tree(const tn_schedule *s, runtime_str *out) { return schedule_print_tree(s, out); }
static bool print_script(const tn_schedule *s, runtime_str *out) { return schedule_print_script(s, out); }

/* The text ends at the context's limit, with a message. */
char *tn_schedule_print(const tn_schedule *s, tn_form form) {
  static bool (*const printers[])(const tn_schedule *, runtime_str *) = {
      [TN_FORM_TIR] = print_tir, [TN_FORM_STEPS] = print_steps, [TN_FORM_TEXT] = print_text,
      [TN_FORM_API] = print_api, [TN_FORM_TREE] = print_tree,   [TN_FORM_TVMSCRIPT] = print_script};
  static const char *const words[] = {[TN_FORM_TIR] = "the loop IR",    [TN_FORM_STEPS] = "the list of steps",
                                      [TN_FORM_TEXT] = "the schedule",  [TN_FORM_API] = "the list of C calls",
                                      [TN_FORM_TREE] = "the loop tree", [TN_FORM_TVMSCRIPT] = "the TVMScript form"};
  if (!s) return NULL;
  if ((unsigned)form >= (unsigned)RUNTIME_COUNT(printers)) {
    runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "tn_schedule_print: form %d is unknown", (int)form);
    return NULL;
  }
  runtime_str out = runtime_str_limited(s->ctx);
  if (printers[form](s, &out)) return runtime_str_finish(&out, s->ctx, words[form]);
  runtime_str_free(&out);
  if (s->ctx->status == TN_OK) runtime_fail(s->ctx, TN_ERROR_MEMORY, "out of memory while printing a schedule");
  return NULL;
}
