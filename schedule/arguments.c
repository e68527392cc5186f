/* arguments.c: the kinds of arguments that primitives take, a row each: how one is read, from names to
 * positions, into the step, and how it is written from there. A reader and a writer live on the stack
 * of one call. A row of the table KINDS is all that a new kind of argument takes. */
#include "schedule/edit.h"
#include "schedule/tail.h"
#include "te/intrin.h"

/* From the arguments of a call, as given, to the positions in a step. */
typedef struct reader {
  schedule_call *c;
  int n; /* by position; those by key stand behind them */
  int n_all;
  const schedule_argument *args;
  int at;        /* the next one */
  int64_t *list; /* SCHEDULE_MAX_AXES entries for the step's list */
  runtime_str text;
} reader;

/* From a step back to names, of the schedule as it stands before the step. */
typedef struct writer {
  const tn_schedule *s;
  const schedule_step *step;
  const schedule_stage *st; /* NULL: there is no such stage */
  schedule_style style;
  runtime_str *out;
  int n; /* arguments so far */
} writer;

/* ---- names of stages and loops ----------------------------------------------------------------------------------- */

/* Refuses with the first N arguments of ARGS as what was called. */
static schedule_call *showing(reader *r, int n, const schedule_argument *args) {
  r->c->n_written = n;
  r->c->written = args;
  return r->c;
}

/* A stage by the name of any of its tensors. */
static tn_status find_stage(reader *r, const char *name, int16_t *out) {
  tn_schedule *s = r->c->s;
  int found = schedule_find_stage(s, name);
  *out = (int16_t)found;
  if (found >= 0) return TN_OK;
  runtime_str names = {0};
  for (int i = 0; i < s->n_stages; i++)
    for (int v = 0; v < s->stages[i].n_tensors; v++)
      runtime_str_addf(&names, "%s%s", names.n ? ", " : "", s->stages[i].tensors[v].name);
  schedule_argument wrong = schedule_name(name);
  tn_status status = schedule_refuse(showing(r, 1, &wrong), "no stage is called \"%s\": name one of %.*s", name, 511,
                                     names.failed ? "" : names.data);
  runtime_str_free(&names);
  return status;
}

/* What became of an axis that is no loop any more: "split into i.outer, i.inner: name one of these". */
static void add_use(runtime_str *out, const schedule_stage *st, int axis) {
  const schedule_relation *r = &st->relations[st->axes[axis].used_by];
  if (r->is_fuse) {
    runtime_str_addf(out, "fused into %s: name that", st->axes[r->one].name);
    return;
  }
  runtime_str_add(out, "split into ");
  for (int i = 0; i < r->n; i++) runtime_str_addf(out, "%s%s", i ? ", " : "", st->axes[r->many[i]].name);
  runtime_str_add(out, ": name one of these");
}

/* The right names, or what became of the axis. */
static tn_status refuse_axis(const schedule_call *c, const schedule_stage *st, const char *name) {
  char loops[512];
  for (int i = 0; i < st->n_axes; i++) {
    if (strcmp(st->axes[i].name, name) != 0) continue;
    runtime_str use = {0};
    add_use(&use, st, i);
    tn_status status = schedule_refuse(c, "axis %s of %s has already been %s", name, schedule_stage_name(st),
                                       use.failed ? "used" : use.data);
    runtime_str_free(&use);
    return status;
  }
  return schedule_refuse(c, "axis \"%s\" is not part of stage %s: name one of its loops, %s", name,
                         schedule_stage_name(st), schedule_loop_names(st, loops, sizeof loops));
}

/* A loop of a stage by name. Messages show N arguments of ARGS, the last is the loop. */
static tn_status find_loop(reader *r, int stage, int n, const schedule_argument *args, int *out) {
  const char *name = args[n - 1].name;
  const schedule_call *c = showing(r, n, args);
  SCHEDULE_TRY(schedule_check_stage(c, stage));
  *out = schedule_find_leaf(&c->s->stages[stage], name);
  if (*out < 0) return refuse_axis(c, &c->s->stages[stage], name);
  r->c->n_written = 0;
  return TN_OK;
}

/* The next argument. */
static tn_status next_loop(reader *r, int stage, int16_t *out) {
  int found;
  r->at++;
  SCHEDULE_TRY(find_loop(r, stage, r->at, r->args, &found));
  *out = (int16_t)found;
  return TN_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* How many names are left: those of a list, in C, or what stands there. */
static int64_t names_left(const reader *r) {
  bool is_list = r->at < r->n && r->args[r->at].is_list;
  return is_list ? r->args[r->at].number : r->n - r->at;
}

/* The I-th of those; a NULL in a list is a name that nothing has. */
static const char *name_left(const reader *r, int i) {
  bool is_list = r->args[r->at].is_list;
  const char *name = is_list ? r->args[r->at].names[i] : r->args[r->at + i].name;
  return name ? name : "";
}

/* Between LEAST names and as many as the step's list holds. */
static tn_status check_names_left(reader *r, int64_t least, const char *what) {
  int64_t n = names_left(r);
  if (n >= least && n <= SCHEDULE_MAX_AXES) return TN_OK;
  return schedule_refuse(r->at ? showing(r, 1, r->args) : r->c, "%lld %s: name %lld to %d", (long long)n, what,
                         (long long)least, SCHEDULE_MAX_AXES);
}

/* Ends the list that the step now has; nothing may follow it. */
static void end_list(reader *r, int n) {
  r->c->step.n = n;
  r->c->step.list = r->list;
  r->at = r->n;
}

/* Different loops of the stage. */
static tn_status read_loops(reader *r) {
  SCHEDULE_TRY(check_names_left(r, 1, "axes"));
  int n = (int)names_left(r);
  for (int i = 0; i < n; i++) {
    schedule_argument shown[] = {r->args[0], schedule_name(name_left(r, i))};
    int found;
    SCHEDULE_TRY(find_loop(r, r->c->step.stage, 2, shown, &found));
    for (int k = 0; k < i; k++)
      if (r->list[k] == found)
        return schedule_refuse(showing(r, 1, r->args), "axis %s stands twice: name each axis once", shown[1].name);
    r->list[i] = found;
  }
  end_list(r, n);
  return TN_OK;
}

/* Loops of the stage, which take, in this order, the sorted places that they hold (TVM: reorder). */
static tn_status read_order(reader *r) {
  bool is_named[SCHEDULE_MAX_AXES] = {false};
  int64_t named[SCHEDULE_MAX_AXES] = {0};
  SCHEDULE_TRY(read_loops(r));
  for (int i = 0; i < r->c->step.n; i++) is_named[named[i] = r->list[i]] = true;
  int n = r->c->s->stages[r->c->step.stage].n_leaves;
  for (int i = 0, next = 0; i < n; i++) r->list[i] = is_named[i] ? named[next++] : i;
  end_list(r, n);
  return TN_OK;
}

/* Any stages, each as often as it is named. */
static tn_status read_stages(reader *r) {
  SCHEDULE_TRY(check_names_left(r, 0, "stages"));
  int n = (int)names_left(r);
  for (int i = 0; i < n; i++) {
    int16_t found;
    SCHEDULE_TRY(find_stage(r, name_left(r, i), &found));
    r->list[i] = found;
  }
  end_list(r, n);
  return TN_OK;
}

/* The stages that read the tensor; none named: all of them. */
static tn_status read_readers(reader *r) {
  SCHEDULE_TRY(read_stages(r));
  if (r->c->step.n) return TN_OK;
  const tn_schedule *s = r->c->s;
  int readers[SCHEDULE_MAX_STAGES], kept = 0;
  int n = schedule_consumers(s, r->c->step.stage, false, RUNTIME_COUNT(readers), readers);
  const tn_tensor *tensor = &s->stages[r->c->step.stage].tensors[r->c->step.value];
  for (int i = 0; i < n; i++)
    if (schedule_reads(&s->stages[readers[i]], tensor)) r->list[kept++] = readers[i];
  end_list(r, kept);
  return TN_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* NULL: it was not given. The text reader makes sure that keys are known and stand once. */
static const schedule_argument *find_key(const reader *r, const char *key) {
  for (int i = r->n; i < r->n_all; i++)
    if (strcmp(r->args[i].key, key) == 0) return &r->args[i];
  return NULL;
}

/* Refuses with the stages that there are. */
static tn_status read_stage(reader *r) { return find_stage(r, r->args[r->at++].name, &r->c->step.stage); }
static tn_status read_target(reader *r) { return find_stage(r, r->args[r->at++].name, &r->c->step.target_stage); }
/* A loop that is there now: one that was split is named in the refusal with its parts. */
static tn_status read_loop(reader *r) { return next_loop(r, r->c->step.stage, &r->c->step.iter); }

/* The stage, and which of its tensors; one of several outputs has no stage of its own. */
static tn_status read_tensor(reader *r) {
  const char *name = r->args[r->at].name;
  SCHEDULE_TRY(read_stage(r));
  r->c->step.value = schedule_find_tensor(&r->c->s->stages[r->c->step.stage], name);
  return TN_OK;
}

/* Looked up in the target stage, which was read before. */
static tn_status read_target_loop(reader *r) {
  int16_t found;
  SCHEDULE_TRY(next_loop(r, r->c->step.target_stage, &found));
  r->c->step.target_iter = found;
  return TN_OK;
}

/* Another loop of the stage. */
static tn_status read_second_loop(reader *r) {
  schedule_argument shown[] = {r->args[0], r->args[r->at++]};
  int found;
  SCHEDULE_TRY(find_loop(r, r->c->step.stage, 2, shown, &found));
  r->c->step.target_iter = found;
  if (found != r->c->step.iter) return TN_OK;
  return schedule_refuse(showing(r, 1, r->args), "axis %s stands twice: name each axis once", shown[1].name);
}

/* The primitive checks the range. */
static tn_status read_value(reader *r) {
  r->c->step.value = r->args[r->at++].number;
  return TN_OK;
}

/* What does not fit is out of every range that is checked later. */
static tn_status read_offset(reader *r) {
  int64_t value = r->args[r->at++].number;
  r->c->step.target_iter = (int32_t)RUNTIME_MAX(RUNTIME_MIN(value, INT32_MAX), -INT32_MAX);
  return TN_OK;
}

/* 0 is "as many as there are threads". */
static tn_status read_parts(reader *r) {
  const schedule_argument *parts = find_key(r, "parts");
  r->c->step.value = parts ? parts->number : 0;
  return TN_OK;
}

/* Of a text or of C they are there: its form, its prototype say so. */
static tn_status read_two(reader *r) {
  r->list[0] = r->args[r->at].number;
  r->list[1] = r->args[r->at + 1].number;
  end_list(r, 2);
  return TN_OK;
}

/* split(C, i, 8) split(C, i, factor=8) split(C, i, 4, 8) split(C, i, nparts=4) */
static tn_status read_lengths(reader *r) {
  schedule_step *step = &r->c->step;
  const schedule_argument *nparts = find_key(r, "nparts"), *factor = find_key(r, "factor");
  int n = 0;
  step->inner_to_outer = !nparts;
  if (r->at < r->n && r->args[r->at].is_list) {
    step->n = (int)r->args[r->at].number;
    step->list = r->args[r->at].numbers;
    return TN_OK;
  }
  while (r->at < r->n) r->list[n++] = r->args[r->at++].number;
  if (factor) r->list[n++] = factor->number;
  if ((n > 0) == (nparts != NULL)) {
    const char *stage = r->args[0].name, *axis = r->args[1].name;
    return runtime_fail(r->c->s->ctx, TN_ERROR_SCHEDULE,
                        "split(%s, %s) takes a factor or nparts=, and not both: write split(%s, %s, 32)", stage, axis,
                        stage, axis);
  }
  if (nparts) r->list[n++] = nparts->number;
  end_list(r, n);
  return TN_OK;
}

/* A place among the data axes and behind them; negative: from the end. None: 0. */
static tn_status read_factor_axis(reader *r) {
  int given = r->n - r->at, n = r->c->s->stages[r->c->step.stage].op->n_axes;
  if (given > 1) return schedule_refuse(r->c, "%d factor axes: give one, or none for 0", given);
  int64_t at = given ? r->args[r->at++].number : 0;
  r->c->step.value = at < 0 && at >= -n - 1 ? at + n + 1 : at;
  return TN_OK;
}

/* None: 0, for all. */
static tn_status read_elements(reader *r) {
  int given = r->n - r->at;
  if (given > 1) return schedule_refuse(r->c, "%d numbers of elements: give one, or none for the whole window", given);
  r->c->step.value = given ? r->args[r->at++].number : 0;
  return TN_OK;
}

/* The caller's memory, for as long as the call runs; a step that is kept interns it. */
static tn_status read_text(reader *r) {
  r->c->step.text = r->args[r->at++].name;
  return TN_OK;
}

/* "key$value", as records have it. */
static tn_status read_pragma(reader *r) {
  const schedule_argument *key = &r->args[r->at++], *value = &r->args[r->at++];
  runtime_str_addf(&r->text, "%s$%lld", key->name, (long long)value->number);
  r->c->step.text = r->text.data;
  return r->text.failed ? schedule_no_memory(r->c->s) : TN_OK;
}

/* threadIdx.x and the like are annotations from SCHEDULE_BIND on. */
static tn_status read_thread(reader *r) {
  const char *word = r->args[r->at++].name;
  int annotation = SCHEDULE_BIND;
  while (annotation < SCHEDULE_ANNOTATION_COUNT && strcmp(schedule_annotation_words[annotation], word) != 0)
    annotation++;
  r->c->step.value = annotation;
  if (annotation < SCHEDULE_ANNOTATION_COUNT) return TN_OK;
  return schedule_refuse(r->c, "thread \"%s\" is unknown: take vthread, blockIdx.x, .y or .z, threadIdx.x, .y or .z",
                         word);
}

/* Tensors that one stage makes, all of them; the scope stands behind them. */
static tn_status read_tensors(reader *r) {
  bool is_list = r->args[0].is_list;
  int64_t n = is_list ? r->args[0].number : r->n - 1;
  int16_t found;
  if (n < 1 || n > SCHEDULE_MAX_AXES)
    return schedule_refuse(r->c, "%lld tensors: name 1 to %d", (long long)n, SCHEDULE_MAX_AXES);
  for (int i = 0; i < n; i++) {
    SCHEDULE_TRY(find_stage(r, name_left(r, i), &found));
    if (i == 0) r->c->step.stage = found;
  }
  const char *names[SCHEDULE_MAX_AXES];
  for (int i = 0; i < n; i++) names[i] = name_left(r, i);
  r->c->step.text = r->args[r->n - 1].name;
  schedule_argument first = schedule_name(names[0]);
  r->at = r->n;
  return schedule_check_together(showing(r, 1, &first), (int)n, names);
}

/* Of another loop: its stage and name. */
static tn_status read_counted_loop(reader *r) {
  int given = r->n - r->at;
  int16_t of, iter;
  if (given == 0) return TN_OK;
  if (given != 2) {
    const char *stage = r->args[0].name, *tensor = r->args[1].name, *axis = r->args[2].name;
    return schedule_refuse(r->c,
                           "an offset counts iterations of this loop, or of one loop of one stage: write prefetch(%s, "
                           "%s, %s, 1, reader, loop)",
                           stage, tensor, axis);
  }
  SCHEDULE_TRY(find_stage(r, r->args[r->at++].name, &of));
  SCHEDULE_TRY(next_loop(r, of, &iter));
  r->list[0] = of;
  r->list[1] = iter;
  end_list(r, 2);
  return TN_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* C quotes names, and what is scheduled stands before all of them; text does not. */
static void write_name(writer *w, const char *name) {
  bool is_c = w->style == SCHEDULE_AS_C;
  runtime_str_add(w->out, w->n++ || is_c ? ", " : "");
  runtime_str_addf(w->out, is_c ? "\"%s\"" : "%s", name);
}

/* With a comma before it unless it is the first argument. */
static void write_number(writer *w, int64_t number) {
  runtime_str_addf(w->out, "%s%lld", w->n++ ? ", " : "", (long long)number);
}

/* What is out of range is left out of messages. */
static void write_leaf(writer *w, const schedule_stage *st, int64_t iter) {
  if (st && iter >= 0 && iter < st->n_leaves) write_name(w, schedule_leaf(st, (int)iter)->name);
}
/* NULL: out of range, in a message about just that. */
static const schedule_stage *stage_at(const writer *w, int stage) {
  return stage >= 0 && stage < w->s->n_stages ? &w->s->stages[stage] : NULL;
}

/* "?": the step names a stage that is not there, in a message about just that. */
static void write_stage(writer *w) { write_name(w, w->st ? schedule_stage_name(w->st) : "?"); }
static void write_loop(writer *w) { write_leaf(w, w->st, w->step->iter); }
static void write_second_loop(writer *w) { write_leaf(w, w->st, w->step->target_iter); }
static void write_value(writer *w) { write_number(w, w->step->value); }
static void write_offset(writer *w) { write_number(w, w->step->target_iter); }
static void write_text(writer *w) { write_name(w, w->step->text); }

/* One of several outputs by its own name. */
static void write_tensor(writer *w) {
  bool exists = w->st && w->step->value >= 0 && w->step->value < w->st->n_tensors;
  write_name(w, exists ? w->st->tensors[w->step->value].name : "?");
}

/* In messages only with its loop. */
static void write_target(writer *w) {
  const schedule_stage *target = stage_at(w, w->step->target_stage);
  if (w->st && target && w->step->target_iter >= 0 && w->step->target_iter < target->n_leaves)
    write_name(w, schedule_stage_name(target));
}
/* Nothing without a stage to take it from. */
static void write_target_loop(writer *w) {
  if (w->st) write_leaf(w, stage_at(w, w->step->target_stage), w->step->target_iter);
}
/* A stage that is named for its tensor; it need not be computed. */
static void write_buffer(writer *w) {
  const schedule_stage *target = stage_at(w, w->step->target_stage);
  write_name(w, target ? schedule_stage_name(target) : "?");
}
/* Those that are there; the others belong to the refusal. */
static void write_loops(writer *w) {
  for (int i = 0; i < w->step->n; i++) write_leaf(w, w->st, w->step->list[i]);
}
static void write_stages(writer *w) {
  for (int i = 0; i < w->step->n; i++) write_name(w, schedule_stage_name(&w->s->stages[w->step->list[i]]));
}

/* C: a number, or `N, (const int64_t[]){...}`; text: numbers, or nparts=. */
static void write_lengths(writer *w) {
  const schedule_step *step = w->step;
  bool is_array = w->style == SCHEDULE_AS_C && step->n > 1;
  if (is_array) runtime_str_addf(w->out, ", %d, (const int64_t[]){", step->n);
  for (int i = 0; i < step->n; i++)
    runtime_str_addf(w->out, "%s%s%lld", is_array && i == 0 ? "" : ", ",
                     w->style == SCHEDULE_AS_TEXT && !step->inner_to_outer ? "nparts=" : "", (long long)step->list[i]);
  if (is_array) runtime_str_add(w->out, "}");
}

/* In text 0 is what none means. */
static void write_optional(writer *w) {
  if (w->style == SCHEDULE_AS_C || w->step->value) write_number(w, w->step->value);
}

/* Up to the pattern of a declared one. */
static void write_intrinsic(writer *w) {
  runtime_str_add(w->out, w->style == SCHEDULE_AS_C ? ", \"" : ", ");
  runtime_str_addn(w->out, w->step->text, strcspn(w->step->text, ":"));
  runtime_str_add(w->out, w->style == SCHEDULE_AS_C ? "\"" : "");
}

/* Parts "key$value" again. */
static void write_pragma(writer *w) {
  const char *quote = w->style == SCHEDULE_AS_C ? "\"" : "", *dollar = strrchr(w->step->text, '$');
  runtime_str_addf(w->out, ", %s%.*s%s", quote, (int)(dollar - w->step->text), w->step->text, quote);
  runtime_str_addf(w->out, ", %s", dollar + 1);
}

static void write_thread(writer *w) { write_name(w, schedule_annotation_words[w->step->value]); }

/* Those that have names of their own; in C several stand behind the scope. */
static int visible_tensors(const schedule_stage *st) {
  int n = st->n_tensors;
  while (n > 1 && te_is_hidden(&st->tensors[n - 1])) n--;
  return n;
}
/* A single tensor is its stage's name. */
static void write_tensors(writer *w) {
  int n = w->st ? visible_tensors(w->st) : 1;
  bool scope_first = w->style == SCHEDULE_AS_C && n > 1;
  if (w->style == SCHEDULE_IN_MESSAGE || n == 1) {
    write_stage(w);
    n = 0;
  }
  if (scope_first) write_text(w);
  for (int v = 0; v < n; v++) write_name(w, w->st->tensors[v].name);
  if (w->style != SCHEDULE_IN_MESSAGE && !scope_first) write_text(w);
}

/* Nothing when the loop is the primitive's own. */
static void write_counted_loop(writer *w) {
  if (w->step->n != 2) return;
  const schedule_stage *of = &w->s->stages[w->step->list[0]];
  write_name(w, schedule_stage_name(of));
  write_leaf(w, of, w->step->list[1]);
}

/* tn_split, tn_split_many, tn_split_nparts. */
static const char *lengths_suffix(const writer *w) {
  return w->step->n > 1 ? "_many" : w->step->inner_to_outer ? "" : "_nparts";
}
/* tn_cache_write has a form for one tensor and one for several. */
static const char *tensors_suffix(const writer *w) { return visible_tensors(w->st) > 1 ? "_tuple" : ""; }
static const char *counted_suffix(const writer *w) { return w->step->n == 2 ? "_of" : ""; }

/* ---- the kinds --------------------------------------------------------------------------------------------------- */

/* FORM: what stands in a text (schedule_form_at). SUFFIX: of the C function, where several take what text takes. */
static const struct kind {
  char letter;
  bool is_shown; /* in messages */
  const char *form;
  tn_status (*read)(reader *r);
  void (*write)(writer *w);
  const char *(*suffix)(const writer *w);
} kinds[] = {
    {'s', true, "n", read_stage, write_stage, NULL},                 /* the stage */
    {'t', true, "n", read_tensor, write_tensor, NULL},               /* the stage by a tensor: value says which */
    {'i', true, "n", read_loop, write_loop, NULL},                   /* a loop of the stage */
    {'j', true, "n", read_second_loop, write_second_loop, NULL},     /* another loop of the stage: target iter */
    {'S', true, "n", read_target, write_target, NULL},               /* another stage: target stage */
    {'I', true, "n", read_target_loop, write_target_loop, NULL},     /* a loop of that */
    {'b', true, "n", read_target, write_buffer, NULL},               /* the same stage, for its buffer */
    {'l', true, "n*", read_loops, write_loops, NULL},                /* loops of the stage */
    {'p', true, "n*", read_order, write_loops, NULL},                /* the loops of the stage in another order */
    {'r', false, "*", read_readers, write_stages, NULL},             /* stages that read the tensor */
    {'g', false, "*", read_stages, write_stages, NULL},              /* stages */
    {'n', false, "+", read_lengths, write_lengths, lengths_suffix},  /* lengths, or factor= or nparts= */
    {'2', false, "##", read_two, NULL, NULL},                        /* two numbers: list */
    {'v', false, "#", read_value, write_value, NULL},                /* a number: value ... */
    {'N', true, "#", read_value, write_value, NULL},                 /* ... that messages show */
    {'o', false, "#", read_offset, write_offset, NULL},              /* a number: target iter */
    {'P', false, "", read_parts, NULL, NULL},                        /* parts=: value */
    {'f', false, "+", read_factor_axis, write_optional, NULL},       /* a place among axes, or none: value */
    {'e', false, "+", read_elements, write_optional, NULL},          /* how many elements, or none: value */
    {'x', false, "n", read_text, write_text, NULL},                  /* a word: text */
    {'m', false, "n", read_text, write_text, NULL},                  /* a map of indices: text */
    {'c', false, "c", read_text, write_text, NULL},                  /* a condition: text */
    {'z', true, "n", read_text, write_intrinsic, NULL},              /* an intrinsic: text */
    {'k', false, "n#", read_pragma, write_pragma, NULL},             /* a pragma's key and value: text */
    {'h', false, "n", read_thread, write_thread, NULL},              /* a thread index: value */
    {'w', true, "nn*", read_tensors, write_tensors, tensors_suffix}, /* all tensors of a stage, and a scope: text */
    {'q', false, "*", read_counted_loop, write_counted_loop, counted_suffix}, /* a stage and its loop, or none: list */
};

/* LETTER is one of the table's: rows are constants, and a test writes and reads each. */
static const struct kind *kind_of(char letter) {
  int i = 0;
  while (kinds[i].letter != letter) i++; /* rows have letters of kinds only: a test writes and reads each */
  return &kinds[i];
}

/* The last form repeats: "*" and "+" stand for any number. */
char schedule_form_at(const schedule_primitive *row, int at) {
  for (const char *letter = row->arguments; *letter; letter++)
    for (const char *form = kind_of(*letter)->form; *form; form++)
      if (at-- == 0 || *form == '*' || *form == '+') return *form;
  return '\0';
}

bool schedule_fits(const schedule_primitive *row, int n, const schedule_argument *args) {
  int n_all = n, at = 0;
  for (n = 0; n < n_all && !args[n].key;) n++;
  for (int k = n; k < n_all; k++)
    if (!args[k].key) return false;
  for (const char *letter = row->arguments; *letter; letter++) {
    for (const char *form = kind_of(*letter)->form; *form; form++) {
      bool is_name = *form != '#' && *form != '+', is_more = *form == '*' || *form == '+';
      if (is_more)
        while (at < n && (args[at].name != NULL) == is_name) at++;
      else if (at == n || (args[at++].name != NULL) != is_name)
        return false;
    }
  }
  return at == n;
}

/* Arguments in the order of the letters: later ones are looked up in what earlier ones named. */
static tn_status read_all(reader *r) {
  const schedule_argument *tail = find_key(r, "tail");
  r->c->step.tail = (uint8_t)(tail ? RUNTIME_MIN((uint64_t)tail->number, UINT8_MAX) : TN_TAIL_GUARD);
  for (int i = 0; i < r->n_all; i++)
    if (r->args[i].is_list && r->args[i].number > 0 && !r->args[i].names && !r->args[i].numbers)
      return runtime_fail(r->c->s->ctx, TN_ERROR_ARGUMENT, "tn_%s: a list of %lld is NULL", r->c->row->name,
                          (long long)r->args[i].number);
  for (const char *letter = r->c->row->arguments; *letter; letter++) {
    SCHEDULE_TRY(kind_of(*letter)->read(r));
    r->c->n_written = 0;
  }
  return TN_OK;
}

/* RUN gets the call with all names looked up; what it points to lives until RUN returns. */
static tn_status call_words(tn_schedule *s, const schedule_primitive *row, int n, const schedule_argument *args,
                            tn_status (*run)(schedule_call *c)) {
  if (!s) return TN_ERROR_ARGUMENT;
  int64_t list[SCHEDULE_MAX_AXES];
  schedule_call c = {.s = s, .row = row};
  c.step = (schedule_step){.kind = (uint8_t)row->kind, .stage = -1, .iter = -1, .value = row->least};
  reader r = {.c = &c, .n_all = n, .args = args, .list = list};
  while (r.n < n && !args[r.n].key) r.n++;
  tn_status status = read_all(&r);
  if (status == TN_OK) status = run(&c);
  runtime_str_free(&r.text);
  return status;
}

/* Names are looked up, then the step runs as the tuner's would. */
tn_status schedule_call_words(tn_schedule *s, const schedule_primitive *row, int n, const schedule_argument *args) {
  return call_words(s, row, n, args, schedule_run);
}

/* The check alone, with the same messages. */
tn_status schedule_try_words(tn_schedule *s, const schedule_primitive *row, int n, const schedule_argument *args) {
  return call_words(s, row, n, args, row->check);
}

/* ---- a step as a call -------------------------------------------------------------------------------------------- */

/* The usual tail is left out in text and written in C, where a parameter cannot be. */
static void write_tail(writer *w) {
  static const char *const names[] = {
#define X(name, text) "TN_TAIL_" #name,
      TN_TAILS(X)
#undef X
  };
  if (w->style == SCHEDULE_AS_C)
    runtime_str_addf(w->out, ", %s", names[w->step->tail]);
  else if (w->step->tail != TN_TAIL_GUARD)
    runtime_str_addf(w->out, ", tail=%s", schedule_tail_words[w->step->tail]);
}

/* The schedule is meant as it stands before the step: positions are looked up in it. */
void schedule_add_step(const tn_schedule *s, const schedule_primitive *row, const schedule_step *step,
                       schedule_style style, runtime_str *out) {
  writer w = {.s = s, .step = step, .style = style, .out = out};
  bool is_c = style == SCHEDULE_AS_C;
  w.st = stage_at(&w, step->stage);
  runtime_str_addf(out, is_c ? "tn_%s" : "%s", row->word);
  for (const char *letter = row->arguments; *letter && is_c; letter++)
    if (kind_of(*letter)->suffix) runtime_str_add(out, kind_of(*letter)->suffix(&w));
  runtime_str_add(out, is_c ? "(s" : "(");
  for (const char *letter = row->arguments; *letter; letter++) {
    const struct kind *kind = kind_of(*letter);
    if (kind->write && (style != SCHEDULE_IN_MESSAGE || kind->is_shown)) kind->write(&w);
  }
  if (style != SCHEDULE_IN_MESSAGE && strstr(row->keys, " tail=")) write_tail(&w);
  runtime_str_add(out, is_c ? ");" : ")");
}
