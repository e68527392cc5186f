/* What rows A3, A5, A6, A7, A9, A11, A15 and B11 ask of the files: recorded here, written, read by python3. */
#include <pthread.h>

#include "tests/profiler/files.h"

#define JSON "import json, sys\nt = json.load(sys.stdin)\nev = t[\"traceEvents\"]\n"
#define XSPACE "import json, sys\nt = json.load(sys.stdin)\nlines = [l for p in t[\"planes\"] for l in p[\"lines\"]]\n"

/* What a python program prints of R as a Chrome trace; free it. */
static char *of_json(const tn_recording *r, const char *program) {
  char path[256];
  tn_recording copy = *r;
  assert_int_equal(tn_recording_save(NULL, &copy, files_path(path, "row.json")), TN_OK);
  free(files_run(0, FILES_CHECK "jsonchk.py %s", path));
  return files_run(0, "python3 -c '" JSON "%s' < %s", program, path);
}

/* The same of XSpace as PBCHK reads it. */
static char *of_xspace(const tn_recording *r, const char *program) {
  char path[256];
  tn_recording copy = *r;
  assert_int_equal(tn_recording_save(NULL, &copy, files_path(path, "row.xplane.pb")), TN_OK);
  return files_run(0, FILES_CHECK "pbchk.py %s | python3 -c '" XSPACE "%s'", path, program);
}

static void check_output(char *text, const char *expected) {
  check_text(text, expected);
  free(text);
}

static void start(void) { assert_int_equal(tn_profile_start(NULL, NULL), TN_OK); }

/* ---- A3 ---------------------------------------------------------------------------------------------------------- */

static void *write_all_forms(void *recording) {
  for (int form = 0; form < TN_FORM_COUNT; ++form) {
    tn_context *ctx = check_context();
    char *text = tn_recording_write(ctx, recording, (tn_profile_form)form, NULL);
    check_ok(ctx);
    assert_non_null(text);
    free(text);
    check_context_free(ctx);
  }
  return recording;
}

ROW(a3_deep_exports) {
  (void)state;
  enum { DEPTH = 10000 };
  static tn_scope scopes[DEPTH];
  rows_clock_install();
  start();
  for (int i = 0; i < DEPTH; ++i) scopes[i] = rows_begin((uint64_t)i, i % 2 ? "odd" : "even");
  for (int i = DEPTH; i-- > 0;) rows_end((uint64_t)(2 * DEPTH - i), &scopes[i]);
  tn_recording *r = rows_collect();
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_t thread;
  void *result = NULL;
  assert_int_equal(pthread_create(&thread, &small, write_all_forms, r), 0);
  pthread_join(thread, &result);
  assert_ptr_equal(result, r);
  tn_recording_free(r);
}

/* ---- A5, A6, A7, A9 ---------------------------------------------------------------------------------------------- */

ROW(a5_overlap_in_json) {
  (void)state;
  rows_clock_install();
  start();
  tn_scope a = rows_begin(0, "A"), b = rows_begin(50, "B");
  rows_end(100, &a);
  rows_end(150, &b);
  tn_recording *r = rows_collect();
  check_output(
      of_json(r, "for e in ev:\n  if e[\"ph\"] != \"M\": print(e[\"ph\"], e[\"name\"], e[\"ts\"], e.get(\"dur\"))"),
      "X A 0 0.1\nb B 0.05 None\ne B 0.15 None\n");
  tn_recording_free(r);
}

ROW(a6_marks_in_files) {
  (void)state;
  rows_clock_install();
  start();
  rows_clock_set(42);
  tn_mark(NULL, "mark", NULL, 0);
  tn_recording *r = rows_collect();
  check_output(of_json(r, "for e in ev:\n  if e[\"name\"] == \"mark\": print(e[\"ph\"], e[\"s\"], e[\"ts\"])"),
               "i t 0.042\n");
  check_output(of_xspace(r,
                         "for l in lines:\n  for e in l[\"events\"]: print(e[\"name\"], e[\"offset_ps\"], "
                         "e[\"duration_ps\"])"),
               "mark 42000 0\n");
  tn_recording_free(r);
}

ROW(a7_counters_in_files) {
  (void)state;
  rows_clock_install();
  start();
  static const double values[] = {1.5, 2.25, 40};
  for (int i = 0; i < RUNTIME_COUNT(values); ++i) {
    rows_clock_set((uint64_t)i * 1000);
    tn_counter(NULL, "best_gflops", values[i]);
  }
  tn_recording *r = rows_collect();
  check_output(
      of_json(r, "for e in ev:\n  if e[\"ph\"] == \"C\": print(e[\"name\"], e[\"ts\"], *e[\"args\"].values())"),
      "best_gflops 0 1.5\nbest_gflops 1 2.25\nbest_gflops 2 40.0\n");
  check_output(of_xspace(r, "for l in lines:\n  if l[\"events\"]: print(l[\"name\"], len(l[\"events\"]))"),
               "_counters_ 3\n");
  tn_recording_free(r);
}

ROW(a9_async_in_json) {
  (void)state;
  rows_clock_install();
  start();
  rows_clock_set(10);
  tn_async range = tn_async_begin(NULL, "range");
  rows_clock_set(80);
  tn_async_end(&range);
  tn_recording *r = rows_collect();
  check_output(of_json(r, "for e in ev:\n  if e[\"name\"] == \"range\": print(e[\"ph\"], e[\"ts\"], e[\"id\"] > 0)"),
               "b 0.01 True\ne 0.08 True\n");
  tn_recording_free(r);
}

static void *end_range(void *range) {
  tn_async_end(range);
  return NULL;
}

/* In the file both ends stand on their own threads; what is read back is what was written. */
ROW(a9_async_of_two_threads) {
  (void)state;
  start();
  pthread_t thread;
  {
    TN_TIMED("here");
  }
  tn_async range = tn_async_begin(NULL, "range");
  assert_int_equal(pthread_create(&thread, NULL, end_range, &range), 0);
  pthread_join(thread, NULL);
  tn_recording *r = rows_collect();
  check_output(of_json(r,
                       "t = {e[\"ph\"]: e[\"tid\"] for e in ev if e[\"name\"] in (\"here\", \"range\")}\n"
                       "print(t[\"b\"] == t[\"X\"], t[\"e\"] == t[\"X\"])"),
               "True False\n");
  assert_int_equal(tn_recording_save(NULL, r, "a9.json"), TN_OK);
  tn_recording *back = tn_recording_load(NULL, "a9.json");
  const tn_event *wrote = rows_find(r, "range", 0), *read = rows_find(back, "range", 0);
  assert_int_equal(back->lanes.data[read->lane].tid, r->lanes.data[wrote->lane].tid);
  assert_int_equal(rows_arg(back, read, TN_BEGAN_ON)->i64, rows_arg(r, wrote, TN_BEGAN_ON)->i64);
  remove("a9.json");
  tn_recording_free(back);
  tn_recording_free(r);
}

/* ---- A11 --------------------------------------------------------------------------------------------------------- */

static tn_recording *with_arguments(void) {
  start();
  {
    TN_SCOPE_AS(scope, MEASURE, 2, "measure");
    TN_EVENT_ARG(scope, tn_event_arg_i64("minus one", -1));
    TN_EVENT_ARG(scope, tn_event_arg_i64("most", INT64_MAX));
    TN_EVENT_ARG(scope, tn_event_arg_u64("all", UINT64_MAX));
    TN_EVENT_ARG(scope, tn_event_arg_f64("small", 1e-300));
    TN_EVENT_ARG(scope, tn_event_arg_text("text", "a\"b\\c\n"));
    TN_EVENT_ARG(scope, tn_event_arg_text("utf-8", "k\xc3\xb6nnen"));
  }
  return rows_collect();
}

static void check_saved(const tn_recording *r) {
  tn_recording *back = files_round_trip(r, "arguments.tnprof");
  const tn_event *e = rows_find(back, "measure", 0);
  assert_int_equal(e->n_args, 6);
  for (int i = 0; i < e->n_args; ++i) {
    const tn_event_arg *saved = &r->args[i], *loaded = rows_arg(back, e, saved->key);
    assert_int_equal(loaded->type, saved->type);
    if (saved->type == TN_EVENT_ARG_TEXT)
      assert_string_equal(loaded->text, saved->text);
    else
      assert_true(loaded->u64 == saved->u64);
  }
  tn_recording_free(back);
}

ROW(a11_arguments_in_files) {
  (void)state;
  tn_recording *r = with_arguments();
  check_saved(r);
  check_output(
      of_json(r,
              "a = [e for e in ev if e[\"name\"] == \"measure\"][0][\"args\"]\n"
              "for k in (\"minus one\", \"most\", \"all\", \"small\", \"text\", \"utf-8\"): print(ascii(a[k]))"),
      "-1\n9223372036854775807\n18446744073709551615\n1e-300\n'a\"b\\\\c\\n'\n'k\\xf6nnen'\n");
  check_output(of_xspace(r,
                         "e = lines[0][\"events\"][0]\n"
                         "for k in (\"minus one\", \"most\", \"all\", \"small\", \"text\", \"utf-8\"):\n"
                         "  print(e[\"types\"][k], ascii(e[\"stats\"][k]))"),
               "int64_value -1\nint64_value 9223372036854775807\nuint64_value 18446744073709551615\n"
               "double_value 1e-300\nstr_value 'a\"b\\\\c\\n'\nstr_value 'k\\xf6nnen'\n");
  tn_recording_free(r);
}

/* ---- A15, B11 ---------------------------------------------------------------------------------------------------- */

static void *named_thread(void *name) {
  tn_thread_name(name);
  TN_TIMED("work");
  return NULL;
}

ROW(a15_lanes_in_files) {
  (void)state;
  static const char *const names[] = {"builder", "runner", "search"};
  start();
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, named_thread, (void *)names[i]);
    pthread_join(thread, NULL);
  }
  tn_recording *r = rows_collect();
  check_output(of_json(r,
                       "n = [e for e in ev if e[\"name\"] == \"thread_name\"]\n"
                       "print(*sorted(e[\"args\"][\"name\"] for e in n), {type(e[\"tid\"]).__name__ for e in n}, "
                       "len({e[\"tid\"] for e in n}))"),
               "builder runner search {'int'} 3\n");
  check_output(of_xspace(r, "print(*sorted(l[\"name\"] for l in lines))"), "builder runner search\n");
  tn_recording_free(r);
}

ROW(b11_drops_in_files) {
  (void)state;
  const tn_profile_options options = {.max_bytes = 1 << 20};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  for (int i = 0; i < 100000; ++i) {
    TN_TIMED("one of many");
  }
  tn_recording *r = rows_collect();
  char expected[128];
  long long dropped = (long long)r->info.stats.dropped;
  snprintf(expected, sizeof expected, "%lld events were dropped", dropped);
  check_has(tn_recording_warnings(r), expected);
  char *text = of_json(r, "print(t[\"otherData\"])");
  snprintf(expected, sizeof expected, "%lld", dropped);
  check_has(text, expected);
  free(text);
  text = of_xspace(r, "print(t[\"warnings\"])");
  check_has(text, expected);
  free(text);
  tn_recording_free(r);
}
