/* Rows A6 to A14: marks, counters, flows, async ranges, filters, arguments, numbers, places. */
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/profiler/rows.h"

static const tn_site search_1 = {"a.c", "f", 1, TN_CATEGORY_SEARCH, 1},
                     measure_2 = {"a.c", "f", 2, TN_CATEGORY_MEASURE, 2}, app_3 = {"a.c", "f", 3, TN_CATEGORY_APP, 3};

static void start_with(const tn_profile_options *options) { assert_int_equal(tn_profile_start(NULL, options), TN_OK); }

static int64_t count_kind(const tn_recording *r, tn_event_kind kind) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) n += r->events[i].kind == kind;
  return n;
}

ROW(a6_marks) {
  (void)state;
  rows_clock_install();
  start_with(NULL);
  tn_scope a = rows_begin(0, "A");
  rows_clock_set(42);
  tn_mark(NULL, "mark", NULL, 0);
  rows_end(100, &a);
  tn_recording *r = rows_collect();
  const tn_event *mark = rows_find(r, "mark", 0);
  assert_int_equal(mark->kind, TN_EVENT_INSTANT);
  assert_int_equal(mark->start_ns, 42);
  assert_int_equal(mark->duration_ns, 0);
  assert_int_equal(mark->self_ns, 0);
  assert_string_equal(r->events[mark->parent].name, "A");
  assert_int_equal(rows_self_ns(r, "A"), 100);
  tn_recording_free(r);
}

ROW(a7_counters) {
  (void)state;
  rows_clock_install();
  start_with(NULL);
  static const double values[] = {1.5, 2.25, 1e300, 0};
  for (int i = 0; i < RUNTIME_COUNT(values); ++i) {
    rows_clock_set((uint64_t)(i + 1) * 10);
    tn_counter(&search_1, "best_gflops", values[i]);
  }
  tn_recording *r = rows_collect();
  assert_int_equal(count_kind(r, TN_EVENT_COUNTER), RUNTIME_COUNT(values));
  for (int i = 0; i < RUNTIME_COUNT(values); ++i) {
    const tn_event *e = rows_find(r, "best_gflops", i);
    assert_int_equal(e->start_ns, (i + 1) * 10);
    assert_true(e->value == values[i]);
    assert_int_equal(e->category, TN_CATEGORY_SEARCH);
  }
  tn_recording_free(r);
}

static void *flow_step(void *id) {
  tn_flow(&measure_2, "candidate", TN_FLOW_STEP, *(uint64_t *)id);
  return NULL;
}

ROW(a8_flows) {
  (void)state;
  start_with(NULL);
  for (uint64_t id = 1; id <= 64; ++id) {
    pthread_t thread;
    tn_flow(&measure_2, "candidate", TN_FLOW_START, id);
    pthread_create(&thread, NULL, flow_step, &id);
    pthread_join(thread, NULL);
    tn_flow(&measure_2, "candidate", TN_FLOW_END, id);
  }
  tn_recording *r = rows_collect();
  int64_t at[65][3] = {0};
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    assert_int_equal(e->kind, TN_EVENT_FLOW);
    assert_string_equal(e->name, "candidate");
    assert_int_equal(at[e->id][e->phase], 0);
    at[e->id][e->phase] = e->start_ns;
  }
  for (int id = 1; id <= 64; ++id) {
    assert_true(at[id][TN_FLOW_START] <= at[id][TN_FLOW_STEP]);
    assert_true(at[id][TN_FLOW_STEP] <= at[id][TN_FLOW_END]);
  }
  assert_int_equal(r->n_events, 64 * 3);
  tn_recording_free(r);
}

/* ---- A9 ---------------------------------------------------------------------------------------------------------- */

static void *end_range(void *range) {
  rows_clock_set(80);
  tn_async_end(range);
  return NULL;
}

static void *end_scope(void *scope) {
  rows_end(90, scope);
  return NULL;
}

static void run(void *(*fn)(void *), void *argument) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, fn, argument), 0);
  pthread_join(thread, NULL);
}

static void check_async(const tn_recording *r, const char *name, int64_t total) {
  const tn_event *e = rows_find(r, name, 0);
  assert_int_equal(e->kind, TN_EVENT_ASYNC);
  assert_int_equal(e->duration_ns, total);
  assert_int_equal(e->self_ns, 0);
  assert_int_equal(e->parent, -1);
  assert_true(e->id != 0);
  for (int64_t i = 0; i < r->n_events; ++i) assert_true(r->events[i].parent != (int32_t)(e - r->events));
}

/* It stands on the thread that ended it, and knows the one that began it: that of "outer". */
static void check_threads(const tn_recording *r, const char *name) {
  const tn_event *e = rows_find(r, name, 0), *outer = rows_find(r, "outer", 0);
  assert_int_not_equal(e->lane, outer->lane);
  assert_int_equal(rows_arg(r, e, TN_BEGAN_ON)->i64, r->lanes.data[outer->lane].tid);
}

ROW(a9_async) {
  (void)state;
  rows_clock_install();
  start_with(NULL);
  tn_scope outer = rows_begin(0, "outer");
  rows_clock_set(10);
  tn_async range = tn_async_begin(&search_1, "range");
  tn_scope inner = rows_begin(20, "inner"), handed_over = rows_begin(30, "handed over"),
           child = rows_begin(35, "child");
  rows_end(40, &child);
  run(end_range, &range);
  run(end_scope, &handed_over);
  rows_end(95, &handed_over);
  tn_async_end(&range); /* ends once */
  rows_end(100, &inner);
  rows_end(110, &outer);
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, "range"), 1);
  check_async(r, "range", 70);
  check_async(r, "handed over", 60);
  check_threads(r, "range");
  check_threads(r, "handed over");
  assert_string_equal(r->events[rows_find(r, "inner", 0)->parent].name, "outer");
  assert_int_equal(rows_self_ns(r, "outer"), 110 - 80);
  assert_int_equal(r->info.stats.double_ends, 1);
  tn_recording_free(r);
}

/* ---- A10 --------------------------------------------------------------------------------------------------------- */

static void record_some(void) {
  {
    TN_SCOPE(APP, 0, "always");
  }
  {
    TN_SCOPE(SEARCH, 1, "search");
  }
  {
    TN_SCOPE(MEASURE, 2, "measure");
  }
  {
    TN_SCOPE(MODEL, 5, "model");
  }
  tn_mark(&app_3, "mark", NULL, 0);
  tn_counter(&measure_2, "counter", 1);
  tn_flow(&search_1, "flow", TN_FLOW_START, 1);
}

/* The names of what a session with these options records, joined. */
static char *recorded(const tn_profile_options *options) {
  start_with(options);
  record_some();
  tn_recording *r = rows_collect();
  runtime_str names = {0};
  runtime_str_add(&names, "");
  for (int64_t i = 0; i < r->n_events; ++i) runtime_str_addf(&names, "%s ", r->events[i].name);
  tn_recording_free(r);
  return names.data;
}

ROW(a10_filter) {
  (void)state;
  static const struct {
    tn_profile_options options;
    const char *text, *expected;
  } cases[] = {
      {{0}, "x.json", "always search measure mark counter flow "},
      {{.level = -1}, "x.json:level=0", "always "},
      {{.level = 1}, "x.json:level=1", "always search flow "},
      {{.level = 2}, "x.json:level=2", "always search measure counter flow "},
      {{.level = 7}, "x.json:level=7", "always search measure model mark counter flow "},
      {{.categories = 1 << TN_CATEGORY_SEARCH | 1 << TN_CATEGORY_MEASURE},
       "x.json:categories=search+measure",
       "search measure counter flow "},
      {{.level = 1, .categories = 1 << TN_CATEGORY_MODEL}, "x.json:categories=model:level=1", ""},
  };
  for (int i = 0; i < RUNTIME_COUNT(cases); ++i) {
    char *direct = recorded(&cases[i].options), *output;
    tn_profile_options parsed;
    assert_int_equal(tn_profile_parse(NULL, cases[i].text, &parsed, &output), TN_OK);
    char *by_text = recorded(&parsed);
    assert_string_equal(output, "x.json");
    assert_string_equal(direct, cases[i].expected);
    assert_string_equal(by_text, cases[i].expected);
    free(direct);
    free(by_text);
    free(output);
  }
}

/* ---- A11 --------------------------------------------------------------------------------------------------------- */

static int evaluations;

static int64_t evaluate(int64_t value) {
  ++evaluations;
  return value;
}

static void scope_with_arguments(void) {
  TN_SCOPE_AS(scope, MEASURE, 2, "measure");
  TN_EVENT_ARG(scope, tn_event_arg_i64("minus one", evaluate(-1)));
  TN_EVENT_ARG(scope, tn_event_arg_i64("most", INT64_MAX));
  TN_EVENT_ARG(scope, tn_event_arg_u64("all", UINT64_MAX));
  {
    TN_SCOPE(MEASURE, 2, "inner");
  }
  TN_EVENT_ARG(scope, tn_event_arg_f64("small", 1e-300));
  TN_EVENT_ARG(scope, tn_event_arg_text("text", "a\"b\\c\n"));
  TN_EVENT_ARG(scope, tn_event_arg_text("utf-8", "k\xc3\xb6nnen \xe2\x88\x91"));
}

static void mark_with_arguments(void) {
  const tn_event_arg args[] = {tn_event_arg_text("why", "because"), tn_event_arg_i64("n", 7)};
  tn_mark(&measure_2, "mark", args, 2);
}

ROW(a11_arguments) {
  (void)state;
  scope_with_arguments();
  assert_int_equal(evaluations, 0);
  const tn_profile_options level_1 = {.level = 1};
  start_with(&level_1);
  scope_with_arguments();
  tn_recording_free(rows_collect());
  assert_int_equal(evaluations, 0);
  start_with(NULL);
  scope_with_arguments();
  mark_with_arguments();
  tn_recording *r = rows_collect();
  assert_int_equal(evaluations, 1);
  const tn_event *e = rows_find(r, "measure", 0);
  assert_int_equal(e->n_args, 6);
  assert_int_equal(rows_arg(r, e, "minus one")->i64, -1);
  assert_true(rows_arg(r, e, "most")->i64 == INT64_MAX);
  assert_true(rows_arg(r, e, "all")->u64 == UINT64_MAX);
  assert_int_equal(rows_arg(r, e, "all")->type, TN_EVENT_ARG_U64);
  assert_true(rows_arg(r, e, "small")->f64 == 1e-300);
  assert_string_equal(rows_arg(r, e, "text")->text, "a\"b\\c\n");
  assert_string_equal(rows_arg(r, e, "utf-8")->text, "k\xc3\xb6nnen \xe2\x88\x91");
  assert_int_equal(rows_find(r, "inner", 0)->n_args, 0);
  e = rows_find(r, "mark", 0);
  assert_int_equal(e->n_args, 2);
  assert_string_equal(rows_arg(r, e, "why")->text, "because");
  assert_int_equal(rows_arg(r, e, "n")->i64, 7);
  tn_recording_free(r);
}

/* ---- A13 --------------------------------------------------------------------------------------------------------- */

static const char *const phases[] = {"generate", "build", "measure", "update"};

static void *work_on(void *number) {
  for (int i = 1; i < 3; ++i) {
    TN_SCOPE_AS(scope, MEASURE, 2, phases[i]);
    tn_scope_sequence(&scope, *(uint32_t *)number);
  }
  return NULL;
}

static void one_candidate(void) {
  uint32_t number = tn_sequence_next();
  {
    TN_SCOPE_AS(scope, SEARCH, 2, "generate");
    tn_scope_sequence(&scope, number);
  }
  run(work_on, &number);
  uint64_t now = profiler_now_ns();
  tn_event_add(&search_1, "update", now - 100, now, number, NULL, 0);
}

ROW(a13_sequence_numbers) {
  (void)state;
  assert_int_equal(tn_sequence_next(), 0);
  const tn_profile_options no_app = {.categories = ~(1u << TN_CATEGORY_APP) & ((1u << TN_CATEGORY_COUNT) - 1)};
  start_with(&no_app);
  for (int i = 0; i < 20; ++i) one_candidate();
  tn_recording *r = rows_collect();
  for (int p = 0; p < RUNTIME_COUNT(phases); ++p) {
    assert_int_equal(rows_count(r, phases[p]), 20);
    for (int i = 0; i < 20; ++i) assert_int_equal(rows_find(r, phases[p], i)->sequence, i + 1);
  }
  tn_recording_free(r);
}

/* ---- A14 --------------------------------------------------------------------------------------------------------- */

static void check_stack_argument(bool wanted) {
  const tn_profile_options options = {.stacks = wanted};
  start_with(&options);
  {
    TN_TIMED("here");
  }
  tn_recording *r = rows_collect();
  const tn_event_arg *stack = rows_arg(r, rows_find(r, "here", 0), "stack");
  assert_int_equal(stack != NULL, wanted);
  if (wanted) {
    assert_non_null(strchr(stack->text, ';'));
    assert_null(strchr(stack->text, '/'));
  }
  tn_recording_free(r);
}

/* The sum of the values at the ends of the lines. */
static int64_t sum_of_folded(const char *text, int *n_lines) {
  int64_t sum = 0;
  for (*n_lines = 0; *text; ++*n_lines) {
    const char *end = strchr(text, '\n'), *blank = end;
    while (*blank != ' ') --blank;
    sum += strtoll(blank, NULL, 10);
    text = end + 1;
  }
  return sum;
}

static void check_folded(void) {
  rows_clock_install();
  start_with(NULL);
  tn_scope a = rows_begin(0, "A"), b = rows_begin(100400, "B;b"), c = rows_begin(150900, "C c");
  rows_end(250000, &c);
  rows_end(400000, &b);
  rows_end(1000700, &a);
  tn_recording *r = rows_collect();
  char *folded = tn_recording_folded(r);
  check_has(folded, "A 701\n");
  check_has(folded, "A;B:b;C c 99\n");
  int n_lines;
  int64_t sum = sum_of_folded(folded, &n_lines);
  assert_int_equal(n_lines, 3);
  assert_true(llabs(sum - 1001) <= n_lines);
  free(folded);
  tn_recording_free(r);
}

ROW(a14_places_and_stacks) {
  (void)state;
  start_with(NULL);
  int line;
  {
    line = __LINE__ + 1;
    TN_TIMED("here");
  }
  tn_recording *r = rows_collect();
  const tn_source *source = &r->sources.data[rows_find(r, "here", 0)->site];
  assert_string_equal(source->file, "rows_a_events.c");
  assert_string_equal(source->function, "row_a14_places_and_stacks");
  assert_int_equal(source->line, line);
  tn_recording_free(r);
  check_stack_argument(false);
  check_stack_argument(true);
  check_folded();
}
