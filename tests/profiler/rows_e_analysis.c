/* Rows E8 to E11 and E15: tables on disk, queries, rounds, the pipeline, tasks. */
#include <jansson.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/analysis.h"
#include "tests/profiler/rows.h"
#include "tests/profiler/scripted.h"

static tn_analysis *analysis_of(tn_recording *r) {
  tn_analysis *a = tn_analysis_of(NULL, r);
  assert_non_null(a);
  tn_recording_free(r);
  return a;
}

static char *ask(const tn_analysis *a, const char *query) {
  tn_context *ctx = check_context();
  char *text = tn_analysis_query(ctx, a, query);
  if (!text) fail_msg("%s: %s", query, tn_context_message(ctx));
  check_context_free(ctx);
  return text;
}

static json_t *ask_json(const tn_analysis *a, const char *query) {
  char *text = ask(a, query);
  json_t *root = json_loads(text, 0, NULL);
  assert_non_null(root);
  free(text);
  return root;
}

static void check_query_fails(const tn_analysis *a, const char *query, const char *message) {
  tn_context *ctx = check_context();
  assert_null(tn_analysis_query(ctx, a, query));
  check_message_has(ctx, message);
  check_context_free(ctx);
}

static json_t *cell(const json_t *answer, int row, const char *column) {
  const json_t *names = json_object_get(answer, "col_name");
  for (size_t c = 0; c < json_array_size(names); ++c) {
    if (strcmp(json_string_value(json_array_get(names, c)), column) == 0)
      return json_array_get(json_array_get(json_object_get(answer, "object"), (size_t)row), c);
  }
  fail_msg("no column %s", column);
  return NULL;
}

static size_t rows_in(const json_t *answer) { return json_array_size(json_object_get(answer, "object")); }

/* ---- E8 ---------------------------------------------------------------------------------------------------------- */

static const char *const every_query[] = {"{\"type\": \"op_type\", \"sort_condition\": {\"name\": \"total_ns\"}}",
                                          "{\"type\": \"op_instance\"}",
                                          "{\"type\": \"step_trace\"}",
                                          "{\"type\": \"utilisation\"}",
                                          "{\"type\": \"task\"}",
                                          "{\"type\": \"types\"}"};

/* The answers to all queries, one after the other. */
static char *answers(const tn_analysis *a) {
  runtime_str all = {0};
  for (int i = 0; i < RUNTIME_COUNT(every_query); ++i) {
    char *text = ask(a, every_query[i]);
    runtime_str_addf(&all, "%s\n", text);
    free(text);
  }
  return all.data;
}

/* The answers from a directory, worked out by another process. */
static char *answers_elsewhere(const char *directory) {
  int ends[2];
  runtime_str all = {0};
  char bytes[4096];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    tn_analysis *a = tn_analysis_open(NULL, directory);
    char *text = a ? answers(a) : NULL;
    _exit(text && write(ends[1], text, strlen(text)) == (ssize_t)strlen(text) ? 0 : 1);
  }
  close(ends[1]);
  for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;) runtime_str_addn(&all, bytes, (size_t)n);
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  return all.data;
}

static void shell(const char *fmt, const char *a, const char *b) {
  char command[512];
  snprintf(command, sizeof command, fmt, a, b);
  assert_int_equal(system(command), 0);
}

ROW(e8_parser_layer) {
  (void)state;
  char first[] = "/tmp/tenon_e8_XXXXXX", second[64], file[96];
  assert_non_null(mkdtemp(first));
  snprintf(second, sizeof second, "%s_copy", first);
  tn_recording *r = scripted_tuning(4, 16);
  assert_int_equal(tn_profile_parse_to(NULL, r, first), TN_OK);
  shell("cp -r %s %s", first, second);
  tn_analysis *a = analysis_of(r);
  char *here = answers(a), *there = answers_elsewhere(second);
  check_text(there, here);
  free(here);
  free(there);
  tn_analysis_free(a);
  /* one table deleted, one broken: only their analysers fail, and say so */
  snprintf(file, sizeof file, "%s/round.csv", second);
  assert_int_equal(unlink(file), 0);
  shell("echo wrong,columns > %s/%s", second, "task.csv");
  a = tn_analysis_open(NULL, second);
  assert_non_null(a);
  check_query_fails(a, "{\"type\": \"step_trace\"}", "round.csv: No such file");
  check_query_fails(a, "{\"type\": \"task\"}", "task.csv: its columns are not those of this version");
  free(ask(a, "{\"type\": \"op_type\"}"));
  tn_analysis_free(a);
  tn_context *ctx = check_context();
  assert_null(tn_analysis_open(ctx, "/nowhere"));
  check_fails(ctx, TN_ERROR_IO, "/nowhere is no directory of tables");
  check_context_free(ctx);
  shell("rm -r %s %s", first, second);
}

/* ---- E9 ---------------------------------------------------------------------------------------------------------- */

/* 25 names of two categories; durations 1 to 25 us. */
static tn_recording *twenty_five(void) {
  tn_recording *r = scripted_new(1000000);
  for (int i = 0; i < 25; ++i) {
    char name[32];
    snprintf(name, sizeof name, "%s_%02d", i % 2 ? "Mutate" : "lower", i);
    scripted_scope(r, 0, i % 5 ? TN_CATEGORY_SEARCH : TN_CATEGORY_MODEL, name, i * 30000, (i + 1) * 1000);
  }
  return scripted_finish(r);
}

static const struct refusal {
  const char *query, *message;
} refusals[] = {
    {"{\"type\": \"op_type\"", "not JSON"},
    {"{}", "names no type"},
    {"{\"type\": \"ops\"}", "there is no type 'ops': there are op_type, op_instance"},
    {"{\"type\": \"op_type\", \"limit\": 3}", "there is no 'limit' in a query"},
    {"{\"type\": \"op_type\", \"filter_condition\": {\"colour\": {\"in\": [1]}}}",
     "there is no column 'colour': there are name"},
    {"{\"type\": \"op_type\", \"filter_condition\": {\"name\": {\"like\": [\"x\"]}}}", "there is no filter 'like'"},
    {"{\"type\": \"op_type\", \"filter_condition\": {\"name\": {\"in\": \"x\"}}}", "wants a list of values"},
    {"{\"type\": \"op_type\", \"filter_condition\": {\"calls\": {\"partial_match_str_in\": [\"1\"]}}}", "is for texts"},
    {"{\"type\": \"op_type\", \"sort_condition\": {\"name\": \"colour\"}}",
     "sort_condition: there is no column 'colour'"},
    {"{\"type\": \"op_type\", \"sort_condition\": {\"name\": \"calls\", \"type\": \"up\"}}", "type is 'up'"},
    {"{\"type\": \"op_type\", \"group_condition\": {\"limit\": 0}}", "limit is a whole number from 1 to 100"},
    {"{\"type\": \"op_type\", \"group_condition\": {\"limit\": 101}}", "limit is a whole number from 1 to 100"},
    {"{\"type\": \"op_type\", \"group_condition\": {\"offset\": -1}}", "offset is a whole number from 0 to 1000000"}};

static void check_pages(const tn_analysis *a) {
  json_t *answer =
      ask_json(a,
               "{\"type\": \"op_type\", \"sort_condition\": {\"name\": \"total_ns\", \"type\": \"ascending\"},"
               " \"group_condition\": {\"limit\": 10, \"offset\": 2}}");
  assert_int_equal(json_object_size(answer), 3);
  assert_int_equal(json_integer_value(json_object_get(answer, "size")), 25);
  assert_int_equal(rows_in(answer), 5);
  for (int i = 0; i < 5; ++i) assert_int_equal(json_integer_value(cell(answer, i, "total_ns")), (21 + i) * 1000);
  json_decref(answer);
  answer = ask_json(a, "{\"type\": \"op_type\", \"group_condition\": {\"offset\": 0}}");
  assert_int_equal(rows_in(answer), 10); /* the limit is 10 when only the offset is given */
  json_decref(answer);
  answer = ask_json(a, "{\"type\": \"op_type\"}");
  assert_int_equal(rows_in(answer), 25);
  json_decref(answer);
}

static void check_filters(const tn_analysis *a) {
  static const struct {
    const char *condition;
    int n;
  } filters[] = {{"\"name\": {\"in\": [\"lower_00\", \"lower_02\", \"none\"]}", 2},
                 {"\"name\": {\"not_in\": [\"lower_00\"]}", 24},
                 {"\"name\": {\"partial_match_str_in\": [\"MUT\"]}", 12},
                 {"\"category\": {\"in\": [\"model\"]}", 5},
                 {"\"category\": {\"in\": [\"model\"]}, \"name\": {\"partial_match_str_in\": [\"lower\"]}", 3},
                 {"\"total_ns\": {\"in\": [1000, 2000.0]}", 2}};
  for (int i = 0; i < RUNTIME_COUNT(filters); ++i) {
    char query[256];
    snprintf(query, sizeof query, "{\"type\": \"op_type\", \"filter_condition\": {%s}}", filters[i].condition);
    json_t *answer = ask_json(a, query);
    assert_int_equal(json_integer_value(json_object_get(answer, "size")), filters[i].n);
    json_decref(answer);
  }
}

static bool load_longest(const tn_rows *const *tables, tn_rows *out) {
  double most = 0;
  for (int i = 0; i < tn_rows_count(tables[0]); ++i)
    most = RUNTIME_MAX(most, analysis_number(tables[0], i, "total_ns"));
  return tn_rows_add(out, "longest", most);
}
static const tn_column longest_columns[] = {{"what", TN_CELL_TEXT}, {"ns", TN_CELL_REAL}};
static const tn_analyser longest = {"longest", "the longest total", {"op"}, longest_columns, 2, load_longest};

ROW(e9_queries) {
  (void)state;
  tn_analysis *a = analysis_of(twenty_five());
  check_pages(a);
  check_filters(a);
  for (int i = 0; i < RUNTIME_COUNT(refusals); ++i) check_query_fails(a, refusals[i].query, refusals[i].message);
  assert_int_equal(tn_analysis_add(NULL, a, &longest), TN_OK);
  json_t *answer = ask_json(a, "{\"type\": \"longest\"}");
  assert_true(json_number_value(cell(answer, 0, "ns")) == 25000);
  json_decref(answer);
  tn_context *ctx = check_context();
  tn_analysis_add(ctx, a, &longest);
  check_fails(ctx, TN_ERROR_ARGUMENT, "there is a type 'longest' already");
  check_context_free(ctx);
  tn_analysis_free(a);

  a = analysis_of(scripted_tuning(4, 16));
  json_t *types = ask_json(a, "{\"type\": \"types\"}");
  assert_true(rows_in(types) >= 12);
  for (size_t i = 0; i < rows_in(types); ++i) {
    char query[128];
    snprintf(query, sizeof query, "{\"type\": \"%s\"}", json_string_value(cell(types, (int)i, "type")));
    answer = ask_json(a, query);
    assert_true(rows_in(answer) >= 1);
    json_decref(answer);
  }
  json_decref(types);
  tn_analysis_free(a);
}

/* ---- E10 --------------------------------------------------------------------------------------------------------- */

ROW(e10_round_trace) {
  static const char *const phases[] = {"wait_ns", "generate_ns", "build_ns", "measure_ns", "update_ns", "tail_ns"};
  (void)state;
  tn_analysis *a = analysis_of(scripted_tuning(5, 8));
  json_t *answer = ask_json(a, "{\"type\": \"step_trace\"}");
  assert_int_equal(rows_in(answer), 6);
  double mean = 0;
  for (int i = 0; i < 6; ++i) {
    double wall = json_number_value(cell(answer, i, "duration_ns")), sum = 0;
    assert_int_equal(json_integer_value(cell(answer, i, "round")), i);
    for (int p = 0; p < RUNTIME_COUNT(phases); ++p) sum += json_number_value(cell(answer, i, phases[p]));
    assert_true(wall > 0 && fabs(sum - wall) <= 0.01 * wall);
    assert_true(json_number_value(cell(answer, i, "measure_ns")) == 80e6);
    assert_true(json_number_value(cell(answer, i, "generate_ns")) == 20e6);
    if (i >= 2) mean += wall / 4;
  }
  assert_true(fabs(json_number_value(cell(answer, 0, "duration_ns")) - mean) <= 1);
  json_decref(answer);
  tn_analysis_free(a);
}

/* ---- E11 --------------------------------------------------------------------------------------------------------- */

/* A builder and a runner beside each other, candidates taking BUILD and MEASURE units; the queue between them holds 4.
 */
static tn_recording *pipeline(int build, int measure) {
  tn_recording *r = scripted_new(1000 * 300);
  int builder = scripted_lane(r, scripted_process(r, "builder", 2, -1), "builder");
  int runner = scripted_lane(r, scripted_process(r, "runner", 3, -1), "runner");
  int queued = 0, built_at = build, measured_at = -1, capacity = 4;
  scripted_counter(r, TN_CATEGORY_QUEUE, "runner_queue_capacity", 0, capacity);
  scripted_scope(r, builder, TN_CATEGORY_BUILD, "build", 0, build * 1000);
  for (int t = 0; t < 300; ++t) {
    scripted_counter(r, TN_CATEGORY_QUEUE, "runner_queue", t * 1000 + 1, queued);
    if (t >= built_at && queued < capacity) {
      ++queued;
      built_at = t + build;
      scripted_scope(r, builder, TN_CATEGORY_BUILD, "build", t * 1000, build * 1000);
    }
    if (t >= measured_at && queued > 0) {
      --queued;
      measured_at = t + measure;
      scripted_scope(r, runner, TN_CATEGORY_MEASURE, "measure", t * 1000, measure * 1000);
    }
  }
  return scripted_finish(r);
}

static void check_bottleneck(int build, int measure, const char *expected, double least_empty, double most_empty) {
  tn_analysis *a = analysis_of(pipeline(build, measure));
  json_t *queue = ask_json(a, "{\"type\": \"queue\"}");
  assert_int_equal(rows_in(queue), 1);
  double empty = json_number_value(cell(queue, 0, "empty_share"));
  assert_true(empty >= least_empty && empty <= most_empty);
  json_t *stages = ask_json(a, "{\"type\": \"pipeline\", \"filter_condition\": {\"bottleneck\": {\"in\": [1]}}}");
  assert_int_equal(rows_in(stages), 1);
  assert_string_equal(json_string_value(cell(stages, 0, "stage")), expected);
  json_decref(queue);
  json_decref(stages);
  tn_advices *advices = tn_advise(NULL, a, NULL);
  int n, found = 0;
  const tn_advice *all = tn_advices_at(advices, &n);
  for (int i = 0; i < n; ++i) found += strcmp(all[i].rule, "bottleneck") == 0 && strcmp(all[i].subject, expected) == 0;
  assert_int_equal(found, 1);
  tn_advices_free(advices);
  tn_analysis_free(a);
}

/* The tuner's thread generates and waits; a builder and a runner work side by side or, TOGETHER false, in turns. The
 * runner works 10 of every PERIOD units. */
static tn_analysis *with_tuner(bool together, int period) {
  tn_recording *r = scripted_new(1000 * 64 * period);
  int builder = scripted_lane(r, scripted_process(r, "builder", 2, -1), "builder");
  int runner = scripted_lane(r, scripted_process(r, "runner", 3, -1), "runner");
  for (int i = 0; i < 64; ++i) {
    int64_t at = (int64_t)i * period * 1000;
    scripted_scope(r, 0, TN_CATEGORY_SEARCH, "generate", at, 1000);
    scripted_scope(r, 0, TN_CATEGORY_MEASURE, "SendToRunner/wait", at + 1000, period * 1000 - 1500);
    scripted_scope(r, builder, TN_CATEGORY_BUILD, "build", at + (together ? 12000 : 1000), 10000);
    scripted_scope(r, runner, TN_CATEGORY_MEASURE, "measure", at + 11000, 10000);
  }
  return analysis_of(scripted_finish(r));
}

static void check_turns(bool together, int period, bool is_lockstep, double idle_share, bool is_said) {
  tn_analysis *a = with_tuner(together, period);
  json_t *stages = ask_json(a, "{\"type\": \"pipeline\"}");
  assert_int_equal(json_integer_value(cell(stages, 2, "lockstep")), is_lockstep);
  assert_true(fabs(json_number_value(cell(stages, 2, "idle_share")) - idle_share) < 0.02);
  tn_advices *advices = tn_advise(NULL, a, NULL);
  int n, said = 0;
  const tn_advice *all = tn_advices_at(advices, &n);
  for (int i = 0; i < n; ++i) said += strcmp(all[i].rule, "runner_idle") == 0;
  assert_int_equal(said, is_said);
  tn_advices_free(advices);
  json_decref(stages);
  tn_analysis_free(a);
}

/* The tuner's own waiting is no work: stages that overlap do not take turns, and a runner may be idle. */
ROW(e11_a_runner_that_is_never_busy) {
  (void)state;
  check_turns(true, 25, false, 0.6, false);
  check_turns(false, 25, true, 0.6, false);
  check_turns(true, 200, false, 0.95, true);
}

ROW(e11_pipeline) {
  (void)state;
  check_bottleneck(3, 1, "build", 0.6, 1);
  check_bottleneck(1, 3, "measure", 0, 0.2);
}

/* ---- E15 --------------------------------------------------------------------------------------------------------- */

static void put_task(tn_recording *r, const char *workload, const char *program, double flops, double weight) {
  scripted_mark(r, 0, TN_CATEGORY_TASK, "task", 0);
  scripted_text(r, "workload", workload);
  scripted_text(r, "program", program);
  scripted_number(r, "flops", flops);
  scripted_number(r, "weight", weight);
  scripted_number(r, "trials_wanted", weight > 1 ? 32 : 100);
}

/* Two tasks of 32 trials, the second without a valid one. */
static tn_recording *two_tasks(void) {
  tn_recording *r = scripted_new(64000);
  put_task(r, "aaaa", "input A[9]\nmatmul[i<9] = A[i]\n", 4e6, 5);
  put_task(r, "bbbb", "conv[i<9] = 1", 3e6, 1);
  for (int i = 0; i < 64; ++i) {
    scripted_scope(r, 0, TN_CATEGORY_MODEL, "MeasureCallback/UpdateCostModel", i * 1000, 900);
    scripted_text(r, "workload", i % 2 ? "bbbb" : "aaaa");
    scripted_number(r, "seconds", i % 2 ? 0 : 2e-3 - i * 1e-5);
  }
  return scripted_finish(r);
}

ROW(e15_task_table) {
  (void)state;
  tn_analysis *a = analysis_of(two_tasks());
  char *text = tn_analysis_task_table(NULL, a);
  assert_non_null(text);
  check_golden("profiler/e15_tasks.txt", text);
  check_has(text, "Total trials: 64\n");
  check_has(text, "N/A");
  json_t *answer = ask_json(a, "{\"type\": \"task\", \"filter_condition\": {\"workload\": {\"in\": [\"aaaa\"]}}}");
  double best_s = json_number_value(cell(answer, 0, "best_s")), gflops = json_number_value(cell(answer, 0, "gflops"));
  assert_true(fabs(best_s - 1.38e-3) < 1e-12 && fabs(gflops - 4e6 / best_s * 1e-9) < 1e-9);
  double latency;
  assert_int_equal(sscanf(strstr(text, "Total latency (us):"), "Total latency (us): %lf", &latency), 1);
  assert_true(fabs(latency - 5 * best_s * 1e6) < 0.1);
  json_decref(answer);
  free(text);
  tn_analysis_free(a);
}

/* ---- E10: phases that users name --------------------------------------------------------------------------------- */

/* Three steps of 10, 20 and 30 us of load, forward and backward, and 5 us of nothing. */
static tn_recording *record_training(void) {
  static const char *const names[] = {"load", "forward", "backward"};
  uint64_t now = 0;
  rows_clock_install();
  rows_clock_set(0);
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  for (int step = 1; step <= 3; ++step) {
    for (int k = 0; k < 3; ++k) {
      tn_scope scope = rows_begin(now, names[k]);
      now += (uint64_t)(10000 * (k + 1) * step);
      rows_end(now, &scope);
    }
    now += 5000;
    rows_clock_set(now);
    tn_profile_step(NULL);
  }
  return rows_collect();
}

ROW(e18_steps_of_users) {
  (void)state;
  tn_recording *r = record_training();
  tn_analysis *a = tn_analysis_of(NULL, r);
  char *mean = tn_analysis_query(NULL, a,
                                 "{\"type\": \"step_phase\", \"filter_condition\": {\"round\": {\"in\": [0]}},"
                                 " \"sort_condition\": {\"name\": \"total_ns\", \"type\": \"ascending\"}}");
  check_has(mean, "[0, \"(rest)\", 1, 5000,");
  check_has(mean, "[0, \"load\", 1, 25000,");
  check_has(mean, "[0, \"forward\", 1, 50000,");
  check_has(mean, "[0, \"backward\", 1, 75000,");
  free(mean);
  char *second =
      tn_analysis_query(NULL, a, "{\"type\": \"step_phase\", \"filter_condition\": {\"round\": {\"in\": [2]}}}");
  check_has(second, "[2, \"forward\", 1, 40000, 0.32]");
  free(second);
  /* nobody says that it was all of it a tuner's tail */
  char *trace = tn_analysis_query(NULL, a, "{\"type\": \"step_trace\"}");
  check_has(trace, "[1, 0, 65000, null, null, null, null, null, null]");
  free(trace);
  char *advice = rows_advice_text(NULL, a);
  check_has(advice, "largest phase: backward, 48.0 % of the time");
  check_has_not(advice, "tail");
  free(advice);
  tn_analysis_free(a);
  tn_recording_free(r);
}
