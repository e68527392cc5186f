/* log_tvm_write.c: exports our records in the format of TVM's auto_scheduler (v0.6). Our steps have the
 * same mnemonics and arguments, so most are written as they are; a record with a step that TVM lacks is
 * refused, with the step. Stages are numbered in the order of TVM's DAG, which is ours: TVM reads the file
 * with a workload whose tensors are in the program's order.
 *
 * Steps are first replayed on the record's program, so that all extents are known and nothing illegal is
 * written. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "autotune/log_tvm.h"
#include "runtime/new_file.h"
#include "schedule/steps.h"
#include "te/graph.h"

/* Warnings that are printed; memory of programs before their context is replaced; the last of TVM's
 * annotations and error classes. */
enum { MAX_TOLD = 20, MAX_PROGRAM_BYTES = 32 << 20, LAST_ANNOTATION = 10, LAST_CLASS = TN_MEASURE_UNKNOWN };
/* The cost that TVM writes for a failed candidate. */
static const double failed_cost_s = 1e10;

/* A log that is being exported. */
typedef struct exporting {
  tn_context *ctx;
  const char *log, *workload; /* WORKLOAD NULL: made from the program's key */
  const tn_log_filter *filter;
  tn_log_sum *sum;
  FILE *file;
  /* The program of the last record, in a context of its own, which is replaced when it grows: programs live
   * as long as their context. */
  tn_context *own;
  tn_program *program;
  bool failed, lacks_memory; /* FAILED: errno says why */
} exporting;

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static int64_t number_at(const json_t *step, size_t i) { return json_integer_value(json_array_get(step, i)); }

/* A copy of the step's first N fields, a new reference; NULL: no memory. */
static json_t *first_of(const json_t *step, size_t n) {
  json_t *out = json_array();
  for (size_t i = 0; i < n && out; ++i)
    if (json_array_append(out, json_array_get(step, i)) != 0) return json_decref(out), NULL;
  return out;
}

/* Why TVM cannot have this split; NULL: it can. Its loops are guarded where a split does not divide; where
 * it does, no tail is needed. */
static const char *why_no_split(const json_t *step) {
  int64_t extent = number_at(step, 3), product = 1;
  const char *tail = json_string_value(json_array_get(step, 6));
  const json_t *lengths = json_array_get(step, 4);
  for (size_t i = 0; i < json_array_size(lengths); ++i) product *= number_at(lengths, i);
  bool divides = extent > 0 && product > 0 && extent % product == 0;
  return divides || (tail && strcmp(tail, "guard") == 0) ? NULL : "TVM has no tail but guard";
}

static const char *why_no_pragma(const json_t *step) {
  const char *text = json_string_value(json_array_get(step, 3));
  static const char known[] = "auto_unroll_max_step$";
  return text && strncmp(text, known, strlen(known)) == 0 ? NULL : "of pragmas it has auto_unroll_max_step only";
}

/* TVM makes the factor's axes from the split just before it, which a fusion may follow. */
static const char *why_no_rfactor(const json_t *steps, size_t at) {
  size_t before = at;
  const json_t *split = before > 0 ? json_array_get(steps, --before) : NULL;
  const char *name = json_string_value(json_array_get(split, 0));
  if (name && strcmp(name, "FU") == 0 && before > 0) split = json_array_get(steps, --before);
  name = json_string_value(json_array_get(split, 0));
  bool is_split = name && strcmp(name, "SP") == 0 && number_at(split, 1) == number_at(json_array_get(steps, at), 1);
  return is_split ? NULL : "TVM needs the split of the same stage just before it";
}

/* Why TVM cannot have the step; NULL: it can. */
static const char *why_not(const json_t *steps, size_t at) {
  static const char *const alike[] = {"FU", "RE", "SA", "CA", "CI", "CR", "CHW"};
  const json_t *step = json_array_get(steps, at);
  const char *name = json_string_value(json_array_get(step, 0));
  if (!name) return "it has no name";
  if (strcmp(name, "SP") == 0) return why_no_split(step);
  if (strcmp(name, "PR") == 0) return why_no_pragma(step);
  if (strcmp(name, "RF") == 0) return why_no_rfactor(steps, at);
  if (strcmp(name, "AN") == 0) return number_at(step, 3) <= LAST_ANNOTATION ? NULL : "TVM has no such annotation";
  if (strcmp(name, "CHR") == 0)
    return json_array_size(step) <= 4 ? NULL : "TVM's stages have one tensor each that can be cached";
  return RUNTIME_FIND(alike, name) >= 0 ? NULL : "auto_scheduler has no such step";
}

/* All steps in TVM's form, a new reference. NULL: *WRONG is the step that it lacks, or -1: no memory. */
static json_t *translate(const json_t *steps, int *wrong) {
  enum { SPLIT_FIELDS = 6 };
  json_t *out = json_array();
  *wrong = -1;
  for (size_t i = 0; out && i < json_array_size(steps); ++i) {
    const json_t *step = json_array_get(steps, i);
    bool is_split = json_array_size(step) > SPLIT_FIELDS;
    if (why_not(steps, i)) *wrong = (int)i;
    if (*wrong < 0 && json_array_append_new(out, first_of(step, is_split ? SPLIT_FIELDS : json_array_size(step))) == 0)
      continue;
    json_decref(out);
    out = NULL;
  }
  return out;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

/* "llvm -keys=cpu -mcpu=znver5 -num-cores=2". TVM compares only the kind. NULL: no memory. */
static json_t *target_of(const char *target) {
  char cpu[128] = "", threads[32] = "";
  runtime_str text = {0};
  autotune_target_word(target, "cpu", cpu, sizeof cpu);
  autotune_target_word(target, "threads", threads, sizeof threads);
  runtime_str_add(&text, "llvm -keys=cpu");
  if (*cpu) runtime_str_addf(&text, " -mcpu=%s", cpu);
  if (*threads) runtime_str_addf(&text, " -num-cores=%s", threads);
  json_t *out = text.failed ? NULL : json_string(text.data);
  runtime_str_free(&text);
  return out;
}

/* auto_scheduler's task: the one that the record was imported with, or one made from the program's key. The
 * hardware numbers are the cores, and the bytes of a vector and of a cache line as TVM has them for every
 * processor; the others do not apply. */
static json_t *task_of(const exporting *m, const autotune_record *record) {
  enum { VECTOR_BYTES = 64, LINE_BYTES = 64 };
  char threads[32] = "1";
  json_t *theirs = json_object_get(json_object_get(record->json, "tvm"), "task");
  if (json_array_size(theirs) >= 2 && !m->workload) return json_deep_copy(theirs);
  autotune_target_word(record->target, "threads", threads, sizeof threads);
  json_t *own = m->workload ? NULL : json_pack("[s, s]", "tenon", record->key);
  char *workload = m->workload ? strdup(m->workload) : json_dumps(own, 0);
  json_t *task = json_pack("[s, o, [i, i, i, i, i, i, i, i], s, i, []]", workload ? workload : "",
                           target_of(record->target), atoi(threads), VECTOR_BYTES, LINE_BYTES, 0, 0, 0, 0, 0, "", 1);
  json_decref(own);
  free(workload);
  return task;
}

/* Costs in seconds, the error class, the whole time in seconds, the date. TVM's last class stands for all
 * that it does not have. */
static json_t *result_of(const autotune_record *record) {
  json_t *costs = json_array();
  json_t *theirs = json_object_get(json_object_get(record->json, "tvm"), "all_cost");
  double all_s = theirs ? json_number_value(theirs) : record->build_s + record->run_s;
  for (int i = 0; record->error == TN_MEASURE_NONE && i < record->n_costs; ++i)
    json_array_append_new(costs, json_real(record->costs[i]));
  if (record->error != TN_MEASURE_NONE) json_array_append_new(costs, json_real(failed_cost_s));
  return json_pack("[o, i, f, I]", costs, (int)RUNTIME_MIN((int)record->error, (int)LAST_CLASS), all_s,
                   (json_int_t)record->time_s);
}

static void refuse(exporting *m, int line, const char *fmt, ...) TN_PRINTF(3, 4);
/* Counts and reports a record that is refused; the others are still exported. */
static void refuse(exporting *m, int line, const char *fmt, ...) {
  runtime_str why = {0};
  RUNTIME_ADD_ARGS(&why, fmt);
  if (++m->sum->n_wrong <= MAX_TOLD && !why.failed)
    runtime_say(m->ctx, TN_SEVERITY_WARNING, "%s:%d: %s", m->log, line, why.data);
  runtime_str_free(&why);
}

/* The record's program, parsed once for records that follow each other. NULL after a warning. */
static tn_program *program_of(exporting *m, int line, const autotune_record *record) {
  bool is_same = m->program && strcmp(tn_program_text(m->program), record->program) == 0;
  if (is_same && m->own->arena.total < MAX_PROGRAM_BYTES) return m->program;
  tn_context_free(m->own);
  m->own = tn_context_new(NULL);
  m->program = m->own ? tn_program_parse(m->own, record->program, 0, NULL) : NULL;
  if (!m->program) refuse(m, line, "the program is refused: %.300s", m->own ? tn_context_message(m->own) : "no memory");
  if (m->program && (m->program->n_symbols > 0 || te_has_externs(m->program))) {
    refuse(m, line, "auto_scheduler has no programs with %s",
           m->program->n_symbols > 0 ? "sizes that come with the call" : "calls of C functions");
    m->program = NULL;
  }
  return m->program;
}

/* The record's steps with all extents, a new reference. NULL after a warning. */
static json_t *whole_steps(exporting *m, int line, const autotune_record *record) {
  tn_program *program = program_of(m, line, record);
  if (!program) return NULL;
  char *text = json_dumps(record->steps, JSON_COMPACT);
  tn_schedule *schedule = text ? tn_schedule_new(program) : NULL;
  json_t *steps = NULL;
  if (schedule && tn_schedule_replay(schedule, text) == TN_OK)
    steps = schedule_steps_json(schedule);
  else
    refuse(m, line, "the steps are refused: %.300s", tn_context_message(m->own));
  tn_context_clear(m->own);
  tn_schedule_free(schedule);
  free(text);
  return steps;
}

/* Undoes what importing a record of TVM's changed: values are TVM's again, and steps that were added at the
 * end are removed. */
static void drop_added(const autotune_record *record, json_t *steps) {
  const json_t *theirs = json_object_get(record->json, "tvm");
  json_int_t n = json_integer_value(json_object_get(theirs, "added"));
  log_tvm_restore(json_object_get(theirs, "changed"), steps);
  for (; n > 0 && json_array_size(steps) > 0; --n) json_array_remove(steps, json_array_size(steps) - 1);
}

/* The record's line, a new reference. NULL: it is refused, after a warning, or there is no memory. */
static json_t *line_of(exporting *m, int line, const autotune_record *record) {
  json_t *steps = whole_steps(m, line, record);
  int wrong = -1;
  if (steps) drop_added(record, steps);
  json_t *theirs = steps ? translate(steps, &wrong) : NULL;
  if (wrong >= 0) {
    char *step = json_dumps(json_array_get(steps, (size_t)wrong), JSON_COMPACT | JSON_ENCODE_ANY);
    refuse(m, line, "step %d, %.80s, cannot be said to TVM: %s", wrong, step ? step : "",
           why_not(steps, (size_t)wrong));
    free(step);
  }
  json_decref(steps);
  if (!theirs) return NULL;
  return json_pack("{s:[o, [[], o]], s:o, s:s}", "i", task_of(m, record), theirs, "r", result_of(record), "v", "v0.6");
}

static void write_record(exporting *m, int line, const autotune_record *record) {
  json_t *json = line_of(m, line, record);
  char *text = json ? json_dumps(json, JSON_REAL_PRECISION(15)) : NULL;
  m->lacks_memory |= json && !text;
  if (text && fprintf(m->file, "%s\n", text) < 0) m->failed = true;
  m->sum->kept += text != NULL;
  free(text);
  json_decref(json);
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

static bool is_meant(const exporting *m, const log_facts *facts) {
  return !facts->is_event && log_filter_means(m->filter, facts);
}

static log_answer look(void *user, int line, const log_glance *glance, const char *text) {
  const exporting *m = user;
  log_facts facts = log_facts_of_glance(line, glance);
  (void)text;
  return is_meant(m, &facts) ? LOG_READ : LOG_PASS;
}

static bool visit(void *user, int line, autotune_record *record) {
  exporting *m = user;
  log_facts facts = log_facts_of_record(line, record);
  if (!is_meant(m, &facts)) return true;
  m->sum->records++;
  m->sum->errors[record->error]++;
  write_record(m, line, record);
  return !m->failed && !m->lacks_memory;
}

/* A workload key is a JSON list that begins with a function's name or a hash. */
static tn_status check_workload(tn_context *ctx, const char *workload) {
  json_t *list = workload ? json_loads(workload, JSON_REJECT_DUPLICATES, NULL) : NULL;
  bool is_key = !workload || json_is_string(json_array_get(list, 0));
  json_decref(list);
  if (is_key) return TN_OK;
  return runtime_fail(
      ctx, TN_ERROR_ARGUMENT,
      "'%.100s' is no workload key of auto_scheduler: write a JSON list that begins with a text, such as "
      "[\"matmul\", 128, 128, 128]",
      workload);
}

static tn_status write_all(exporting *m, const char *out, const runtime_new_file *made) {
  log_reading reading = {.look = look, .visit = visit, .user = m};
  m->file = runtime_new_file_stream(made);
  if (!m->file) return runtime_fail(m->ctx, TN_ERROR_IO, "cannot write %s: %s", out, strerror(errno));
  tn_status status = log_read(m->ctx, m->log, &reading, &(autotune_log_place){0});
  bool is_written = fclose(m->file) == 0 && !m->failed;
  m->sum->strange = reading.n_skipped;
  tn_context_free(m->own);
  if (m->lacks_memory) return runtime_fail(m->ctx, TN_ERROR_MEMORY, "out of memory while writing %s", out);
  if (status != TN_OK || is_written) return status;
  return runtime_fail(m->ctx, TN_ERROR_IO, "cannot write %s: %s", out, strerror(errno));
}

tn_status tn_log_export_tvm(tn_context *ctx, const char *log, const tn_log_filter *filter, const char *workload,
                            const char *out, tn_log_sum *sum) {
  tn_log_sum own;
  if (!ctx) return TN_ERROR_ARGUMENT;
  if (!sum) sum = &own;
  *sum = (tn_log_sum){0};
  if (!log || !out) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_log_export_tvm: an argument is NULL");
  tn_status status = log_filter_check(ctx, filter);
  if (status == TN_OK) status = check_workload(ctx, workload);
  if (status != TN_OK) return status;
  exporting m = {.ctx = ctx, .log = log, .workload = workload, .filter = filter, .sum = sum};
  runtime_new_file made;
  if (!runtime_new_file_open(&made, out))
    return runtime_fail(ctx, TN_ERROR_IO, "cannot write %s: %s", out, strerror(errno));
  status = write_all(&m, out, &made);
  if (status == TN_OK && sum->kept > 0 && !runtime_new_file_keep(&made, out))
    status = runtime_fail(ctx, TN_ERROR_IO, "cannot write %s: %s", out, strerror(errno));
  runtime_new_file_drop(&made);
  if (sum->n_wrong > MAX_TOLD)
    runtime_say(ctx, TN_SEVERITY_WARNING, "%s: %d more records are refused", log, sum->n_wrong - MAX_TOLD);
  return status;
}
