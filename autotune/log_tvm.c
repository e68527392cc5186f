/* log_tvm.c: imports records of TVM's auto_scheduler (format v0.6). Tenon's steps have the same mnemonics,
 * and its stages are in the order of TVM's DAG, so most steps are taken as they are. A split that follows
 * an earlier one (FSP, FFSP) becomes a split with that one's lengths. Every list of steps is applied to the
 * program, which checks it like a user's calls. */
#include <math.h>
#include <time.h>

#include "autotune/log_tvm.h"
#include "schedule/state.h"

/* Warnings that are printed; the most lengths of a split; versions that are read. */
enum { MAX_TOLD = 20, MAX_LENGTHS = 16, LATEST = 6, EARLIEST = 2 };

/* A file that is being imported. */
typedef struct importing {
  tn_context *ctx;
  tn_program *program;
  const char *file;
  int line;
  int n_added;     /* steps that the line's record got in addition to TVM's */
  json_t *changed; /* values that are not as TVM had them (log_tvm.h) */
  tn_log_sum *sum;
} importing;

static void refuse(importing *m, const char *fmt, ...) TN_PRINTF(2, 3);
/* Counts and reports a line that is refused; the others are still imported. */
static void refuse(importing *m, const char *fmt, ...) {
  runtime_str why = {0};
  RUNTIME_ADD_ARGS(&why, fmt);
  if (++m->sum->n_wrong <= MAX_TOLD && !why.failed)
    runtime_say(m->ctx, TN_SEVERITY_WARNING, "%s:%d: %s", m->file, m->line, why.data);
  runtime_str_free(&why);
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static int64_t number_at(const json_t *step, size_t i) { return json_integer_value(json_array_get(step, i)); }

/* The lengths of the split that step SOURCE of the record made; NULL: that step is no split. */
static const json_t *lengths_of(const json_t *steps, int64_t source) {
  const json_t *step = source >= 0 ? json_array_get(steps, (size_t)source) : NULL;
  const char *name = json_string_value(json_array_get(step, 0));
  const json_t *lengths = json_array_get(step, 4);
  return name && strcmp(name, "SP") == 0 && json_is_array(lengths) ? lengths : NULL;
}

/* The product of the lengths from FIRST on. */
static int64_t product_from(const json_t *lengths, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < json_array_size(lengths); ++i) product *= number_at(lengths, i);
  return product;
}

/* A split of the step's loop into LENGTHS, which it takes over. An EXTENT of 0 is not compared with the loop's. */
static json_t *split(const json_t *step, int64_t extent, json_t *lengths, bool inner_to_outer) {
  return json_pack("[s, I, I, I, o, i, s]", "SP", (json_int_t)number_at(step, 1), (json_int_t)number_at(step, 2),
                   (json_int_t)extent, lengths, inner_to_outer, "guard");
}

/* ["FSP", stage, iter, source, n]: n inner loops with the source's lengths, the last of them the product of
 * those that are left. */
static json_t *follow_split(const json_t *steps, const json_t *step) {
  const json_t *source = lengths_of(steps, number_at(step, 3));
  int64_t n = number_at(step, 4);
  if (!source || n < 1 || (size_t)n > json_array_size(source) || n > MAX_LENGTHS) return NULL;
  json_t *lengths = json_array();
  for (size_t i = 0; i + 1 < (size_t)n; ++i) json_array_append_new(lengths, json_integer(number_at(source, i)));
  json_array_append_new(lengths, json_integer(product_from(source, (size_t)n - 1)));
  return split(step, 0, lengths, true);
}

/* ["FFSP", stage, iter, [sources], level, is_factor]: one length, the product of that level's lengths of
 * all sources. */
static json_t *follow_fused_split(const json_t *steps, const json_t *step) {
  const json_t *sources = json_array_get(step, 3);
  int64_t level = number_at(step, 4), length = 1;
  for (size_t i = 0; i < json_array_size(sources); ++i) {
    const json_t *lengths = lengths_of(steps, number_at(sources, i));
    if (!lengths || level < 0 || (size_t)level >= json_array_size(lengths)) return NULL;
    length *= number_at(lengths, (size_t)level);
  }
  return split(step, 0, json_pack("[I]", (json_int_t)length), number_at(step, 5) != 0);
}

/* Our form of a step, a new reference; NULL: we have none, or the step is malformed. */
static json_t *translate_step(const json_t *steps, const json_t *step) {
  static const char *const alike[] = {"AN", "FU", "RE", "SA", "CA", "CI", "CR", "CHR", "CHW", "RF", "PR"};
  const char *name = json_string_value(json_array_get(step, 0));
  if (!name) return NULL;
  if (strcmp(name, "FSP") == 0) return follow_split(steps, step);
  if (strcmp(name, "FFSP") == 0) return follow_fused_split(steps, step);
  if (strcmp(name, "SP") == 0)
    return split(step, number_at(step, 3), json_copy(json_array_get(step, 4)), number_at(step, 5) != 0);
  return RUNTIME_FIND(alike, name) >= 0 ? json_deep_copy(step) : NULL;
}

/* Whether the step does nothing: TVM may fuse a single loop, which is that loop. */
static bool is_nothing(const json_t *step) {
  const char *name = json_string_value(json_array_get(step, 0));
  return name && strcmp(name, "FU") == 0 && json_array_size(json_array_get(step, 2)) == 1;
}

/* All steps in our form as text, malloc'ed. NULL: *WRONG is the number of the step without a counterpart,
 * or -1: no memory. */
static char *translate(const json_t *steps, int *wrong) {
  json_t *ours = json_array();
  *wrong = -1;
  for (size_t i = 0; ours && i < json_array_size(steps) && *wrong < 0; ++i) {
    if (is_nothing(json_array_get(steps, i))) continue;
    json_t *step = translate_step(steps, json_array_get(steps, i));
    if (!step || json_array_append_new(ours, step) != 0) *wrong = (int)i;
  }
  char *text = ours && *wrong < 0 ? json_dumps(ours, JSON_COMPACT) : NULL;
  json_decref(ours);
  return text;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

/* The steps with what LLVM adds (log_tvm_llvm.c) as text, malloc'ed; NULL: no memory. */
static char *print_steps(importing *m, const tn_schedule *theirs) {
  json_decref(m->changed);
  m->changed = json_array();
  json_t *steps = log_tvm_as_with_llvm(theirs, &m->n_added, m->changed);
  char *text = steps ? json_dumps(steps, JSON_COMPACT) : NULL;
  json_decref(steps);
  return text;
}

/* The steps as this program's schedule prints them, malloc'ed; NULL after a warning. */
static char *steps_of(importing *m, const json_t *steps) {
  int wrong;
  char *text = translate(steps, &wrong), *printed = NULL;
  if (!text && wrong >= 0) {
    char *step = json_dumps(json_array_get(steps, (size_t)wrong), JSON_COMPACT | JSON_ENCODE_ANY);
    refuse(m, "step %d, %.80s, has no counterpart here", wrong, step ? step : "");
    free(step);
  }
  if (!text) return NULL;
  runtime_quiet quiet = runtime_quiet_begin(m->ctx);
  char why[sizeof m->ctx->message];
  tn_schedule *schedule = tn_schedule_new(m->program);
  bool applied = schedule && tn_schedule_replay(schedule, text) == TN_OK;
  memcpy(why, m->ctx->message, sizeof why);
  runtime_quiet_end(&quiet);
  if (applied)
    printed = print_steps(m, schedule);
  else
    refuse(m, "the steps do not fit the program: %.300s", why);
  tn_schedule_free(schedule);
  free(text);
  return printed;
}

/* "llvm -mcpu=znver5 ..." and the number of cores in our words. There is no triple, so that the times are
 * not taken for this machine's. */
static void add_target(const json_t *task, runtime_str *out) {
  const char *target = json_string_value(json_array_get(task, 1));
  const char *cpu = target ? strstr(target, "-mcpu=") : NULL;
  const char *name = cpu ? cpu + strlen("-mcpu=") : "unknown";
  runtime_str_addf(out, "cpu=%.*s threads=%lld", (int)strcspn(name, " "), name,
                   (long long)number_at(json_array_get(task, 2), 0));
}

/* The line's record. TVM's error numbers are ours up to 8; a failed candidate has a cost of 1e10 there.
 * Values for which we have no field are kept for tn_log_export_tvm. */
static json_t *record_of(importing *m, const json_t *line, const char *steps) {
  const json_t *task = json_array_get(json_object_get(line, "i"), 0), *result = json_object_get(line, "r");
  const json_t *times = json_array_get(result, 0);
  tn_measure_error error = (tn_measure_error)number_at(result, 1);
  const char *version = json_string_value(json_object_get(line, "v"));
  char from[32];
  runtime_str target = {0};
  json_t *costs = json_array();
  add_target(task, &target);
  snprintf(from, sizeof from, "tvm %.20s", version);
  for (size_t i = 0; error == TN_MEASURE_NONE && i < json_array_size(times) && i < TN_MAX_COSTS; ++i)
    json_array_append(costs, json_array_get(times, i));
  json_t *record = json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:s, s:b, s:s, s:{s:O, s:O, s:i, s:O}, s:I}", "v", 1,
                             "key", tn_program_key(m->program), "program", tn_program_text(m->program), "target",
                             target.failed ? "" : target.data, "steps", json_loads(steps, 0, NULL), "costs", costs,
                             "error", tn_measure_error_word(error), "checked", false, "from", from, "tvm", "task", task,
                             "all_cost", json_array_get(result, 2), "added", m->n_added, "changed", m->changed, "time",
                             (json_int_t)number_at(result, 3));
  runtime_str_free(&target);
  return record;
}

/* Versions 0.2 to 0.6 have the same steps. */
static bool is_tvm_line(const json_t *line) {
  const char *version = json_string_value(json_object_get(line, "v"));
  const json_t *result = json_object_get(line, "r");
  bool is_known =
      version && strncmp(version, "v0.", 3) == 0 && atoi(version + 3) >= EARLIEST && atoi(version + 3) <= LATEST;
  return is_known && json_is_array(json_array_get(json_object_get(line, "i"), 0)) && json_array_size(result) >= 4 &&
         number_at(result, 1) >= 0 && number_at(result, 1) < TN_MEASURE_MEMORY;
}

/* Makes one line a record and appends it, or refuses it. TN_OK unless the log cannot be written. */
static tn_status take_line(importing *m, const char *text, const char *log) {
  char why[300], *steps = NULL;
  autotune_record record = {0};
  json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  if (!line || !is_tvm_line(line))
    refuse(m, "no record of TVM's auto_scheduler, v0.2 to v0.6");
  else
    steps = steps_of(m, json_array_get(json_array_get(json_object_get(line, "i"), 1), 1));
  json_t *made = steps ? record_of(m, line, steps) : NULL;
  tn_status status = TN_OK;
  if (steps && !made) status = runtime_fail(m->ctx, TN_ERROR_MEMORY, "out of memory for a record");
  if (made && !autotune_record_parse(made, &record, why, sizeof why)) {
    refuse(m, "%s", why);
  } else if (made) {
    status = autotune_record_append(m->ctx, log, &record);
    m->sum->records++;
    m->sum->errors[record.error]++;
    m->sum->kept += status == TN_OK;
  }
  autotune_record_free(&record);
  json_decref(line);
  free(steps);
  return status;
}

tn_status tn_log_import_tvm(tn_program *program, const char *file, const char *log, tn_log_sum *out) {
  tn_log_sum own;
  if (!program) return TN_ERROR_ARGUMENT;
  tn_context *ctx = program->ctx;
  if (!out) out = &own;
  *out = (tn_log_sum){0};
  if (!file || !log) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_log_import_tvm: an argument is NULL");
  char *text = runtime_read_text(ctx, file);
  tn_status status = text ? autotune_log_check(ctx, log) : tn_context_status(ctx);
  importing m = {.ctx = ctx, .program = program, .file = file, .sum = out};
  for (char *at = text; at && *at && status == TN_OK;) {
    char *newline = strchr(at, '\n');
    if (newline) *newline = '\0';
    ++m.line;
    if (*at && *at != '#' && *at != ' ') status = take_line(&m, at, log);
    at = newline ? newline + 1 : NULL;
  }
  free(text);
  json_decref(m.changed);
  if (out->n_wrong > MAX_TOLD)
    runtime_say(ctx, TN_SEVERITY_WARNING, "%s: %d more records are refused", file, out->n_wrong - MAX_TOLD);
  return status;
}
