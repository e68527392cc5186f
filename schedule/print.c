/* print.c: a schedule as text: loop IR, steps, C calls, schedule text, the loop tree. */
#include <stdio.h>

#include "schedule/steps.h"

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* A call under construction: C quotes names, schedule text does not. */
typedef struct call {
  runtime_str *out;
  bool is_c;
} call;

static call call_begin(runtime_str *out, bool is_c, const char *name, const char *stage) {
  runtime_str_addf(out, is_c ? "tn_%s(s, \"%s\"" : "%s(%s", name, stage);
  return (call){out, is_c};
}
static void call_name(call c, const char *name) { runtime_str_addf(c.out, c.is_c ? ", \"%s\"" : ", %s", name); }
static void call_number(call c, int64_t number) { runtime_str_addf(c.out, ", %lld", (long long)number); }
static void call_end(call c) { runtime_str_add(c.out, c.is_c ? ");" : ")"); }

typedef struct call_input {
  const tn_schedule *s;
  const schedule_step *step;
  const schedule_stage *st;
  const char *stage, *axis; /* axis: "" when the step has none */
  bool is_c;
  runtime_str *out;
} call_input;

static void call_annotate(const call_input *in) {
  bool is_bind = in->step->value >= SCHEDULE_BIND;
  const char *word = schedule_annotation_words[in->step->value];
  call c = call_begin(in->out, in->is_c, is_bind ? "bind" : word, in->stage);
  call_name(c, in->axis);
  if (is_bind) call_name(c, word);
  call_end(c);
}

static void call_loops(const call_input *in) {
  call c = call_begin(in->out, in->is_c, in->step->kind == SCHEDULE_STEP_FU ? "fuse" : "reorder", in->stage);
  for (int i = 0; i < in->step->n; i++) call_name(c, schedule_leaf(in->st, (int)in->step->list[i])->name);
  call_end(c);
}

static void call_pragma(const call_input *in) {
  call c = call_begin(in->out, in->is_c, "pragma", in->stage);
  char key[64];
  snprintf(key, sizeof key, "%.*s", (int)strcspn(in->step->text, "$"), in->step->text);
  call_name(c, in->axis);
  call_name(c, key);
  call_number(c, in->step->value);
  call_end(c);
}

/* C: a number, or `N, (const int64_t[]){...}`; text: numbers, or nparts=. */
static void call_lengths(const call_input *in, call c) {
  const schedule_step *step = in->step;
  if (in->is_c && step->n > 1) runtime_str_addf(in->out, ", %d, (const int64_t[]){", step->n);
  for (int i = 0; i < step->n; i++) {
    if (in->is_c && step->n > 1)
      runtime_str_addf(in->out, "%s%lld", i ? ", " : "", (long long)step->list[i]);
    else if (!in->is_c && !step->inner_to_outer)
      runtime_str_addf(in->out, ", nparts=%lld", (long long)step->list[i]);
    else
      call_number(c, step->list[i]);
  }
  if (in->is_c && step->n > 1) runtime_str_add(in->out, "}");
}

static void call_split(const call_input *in) {
  static const char *const tails[][2] = {
#define X(name, text) {"TN_TAIL_" #name, text},
      TN_TAILS(X)
#undef X
  };
  const schedule_step *step = in->step;
  const char *name = !in->is_c ? "split" : step->n > 1 ? "split_many" : step->inner_to_outer ? "split" : "split_nparts";
  call c = call_begin(in->out, in->is_c, name, in->stage);
  call_name(c, in->axis);
  call_lengths(in, c);
  if (in->is_c)
    runtime_str_addf(in->out, ", %s", tails[step->tail][0]);
  else if (step->tail != TN_TAIL_GUARD)
    runtime_str_addf(in->out, ", tail=%s", tails[step->tail][1]);
  call_end(c);
}

static void call_compute_at(const call_input *in) {
  const schedule_stage *target = &in->s->stages[in->step->target_stage];
  call c = call_begin(in->out, in->is_c, "compute_at", in->stage);
  call_name(c, schedule_stage_name(target));
  call_name(c, schedule_leaf(target, in->step->target_iter)->name);
  call_end(c);
}

static void call_place(const call_input *in) {
  static const char *const names[SCHEDULE_STEP_COUNT] = {[SCHEDULE_STEP_CI] = "compute_inline",
                                                         [SCHEDULE_STEP_CR] = "compute_root",
                                                         [SCHEDULE_STEP_DB] = "double_buffer",
                                                         [SCHEDULE_STEP_RB] = "rolling_buffer"};
  call_end(call_begin(in->out, in->is_c, names[in->step->kind], in->stage));
}

static void call_scoped(const call_input *in) {
  static const char *const names[SCHEDULE_STEP_COUNT] = {
      [SCHEDULE_STEP_CHR] = "cache_read", [SCHEDULE_STEP_SS] = "set_scope"};
  bool is_read = in->step->kind == SCHEDULE_STEP_CHR;
  const char *tensor = is_read ? in->st->tensors[in->step->value].name : in->stage;
  call c = call_begin(in->out, in->is_c, names[in->step->kind], tensor);
  call_name(c, in->step->text);
  for (int i = 0; i < in->step->n; i++) call_name(c, schedule_stage_name(&in->s->stages[in->step->list[i]]));
  call_end(c);
}

/* All tensors of the stage by name: in C behind the scope. */
static void call_cache_write(const call_input *in) {
  const schedule_stage *st = in->st;
  int n = st->n_tensors;
  while (n > 1 && te_is_hidden(&st->tensors[n - 1])) n--;
  if (n == 1 || !in->is_c) {
    call c = call_begin(in->out, in->is_c, "cache_write", in->stage);
    for (int v = 1; v < n; v++) call_name(c, st->tensors[v].name);
    call_name(c, in->step->text);
    call_end(c);
    return;
  }
  call c = call_begin(in->out, true, "cache_write_tuple", in->step->text);
  for (int v = 0; v < n; v++) call_name(c, st->tensors[v].name);
  call_end(c);
}

/* The map, or the condition, is quoted in C, and stands as it is in text. */
static void call_layout(const call_input *in) {
  call c = call_begin(in->out, in->is_c,
                      in->step->kind == SCHEDULE_STEP_TL ? "transform_layout" : "set_store_predicate", in->stage);
  call_name(c, in->step->text);
  call_end(c);
}

static void call_tensorize(const call_input *in) {
  call c = call_begin(in->out, in->is_c, "tensorize", in->stage);
  call_name(c, in->axis);
  char name[64]; /* without the pattern */
  snprintf(name, sizeof name, "%.*s", (int)strcspn(in->step->text, ":"), in->step->text);
  call_name(c, name);
  call_end(c);
}

static void call_align(const call_input *in) {
  call c = call_begin(in->out, in->is_c, "storage_align", in->stage);
  call_name(c, in->axis);
  call_number(c, in->step->value);
  call_number(c, in->step->target_iter);
  call_end(c);
}

static void call_prefetch(const call_input *in) {
  call c = call_begin(in->out, in->is_c, in->is_c && in->step->n == 2 ? "prefetch_of" : "prefetch", in->stage);
  call_name(c, schedule_stage_name(&in->s->stages[in->step->target_stage]));
  call_name(c, in->axis);
  call_number(c, in->step->value);
  if (in->step->n == 2) {
    const schedule_stage *of = &in->s->stages[in->step->list[0]];
    call_name(c, schedule_stage_name(of));
    call_name(c, schedule_leaf(of, (int)in->step->list[1])->name);
  }
  call_end(c);
}

static void call_rfactor(const call_input *in) {
  call c = call_begin(in->out, in->is_c, "rfactor", in->stage);
  call_name(c, in->axis);
  if (in->is_c || in->step->value) call_number(c, in->step->value);
  call_end(c);
}

void schedule_step_call(const tn_schedule *s, const schedule_step *step, bool is_c, runtime_str *out) {
  static void (*const writers[SCHEDULE_STEP_COUNT])(const call_input *) = {
      [SCHEDULE_STEP_AN] = call_annotate,     [SCHEDULE_STEP_FU] = call_loops,  [SCHEDULE_STEP_PR] = call_pragma,
      [SCHEDULE_STEP_RE] = call_loops,        [SCHEDULE_STEP_SP] = call_split,  [SCHEDULE_STEP_CA] = call_compute_at,
      [SCHEDULE_STEP_CI] = call_place,        [SCHEDULE_STEP_CR] = call_place,  [SCHEDULE_STEP_CHR] = call_scoped,
      [SCHEDULE_STEP_CHW] = call_cache_write, [SCHEDULE_STEP_SS] = call_scoped, [SCHEDULE_STEP_RF] = call_rfactor,
      [SCHEDULE_STEP_TL] = call_layout,       [SCHEDULE_STEP_SA] = call_align,  [SCHEDULE_STEP_DB] = call_place,
      [SCHEDULE_STEP_RB] = call_place,        [SCHEDULE_STEP_ST] = call_layout, [SCHEDULE_STEP_PF] = call_prefetch,
      [SCHEDULE_STEP_TZ] = call_tensorize};
  const schedule_stage *st = &s->stages[step->stage];
  call_input in = {s,    step, st, schedule_stage_name(st), step->iter >= 0 ? schedule_leaf(st, step->iter)->name : "",
                   is_c, out};
  writers[step->kind](&in);
}

/* Replays the steps on a fresh schedule so that each call is written with the names of its moment. */
static bool print_calls(const tn_schedule *s, bool is_c, runtime_str *out) {
  tn_schedule *now = tn_schedule_new(s->program);
  bool ok = now != NULL;
  for (int i = 0; ok && i < s->n_steps; i++) {
    schedule_step_call(now, &s->steps[i], is_c, out);
    runtime_str_add(out, is_c ? "\n" : i + 1 < s->n_steps ? "; " : "\n");
    ok = schedule_apply_step(now, &s->steps[i]) == TN_OK;
  }
  tn_schedule_free(now);
  return ok;
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

static bool print_tir(const tn_schedule *s, runtime_str *out) {
  runtime_arena arena = {0};
  tir_func *f = schedule_lower_and_optimize(s, "kernel", &arena);
  if (f) tir_print_func(out, f);
  runtime_arena_free(&arena);
  return f != NULL;
}

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
