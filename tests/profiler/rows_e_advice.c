/* Rows E12 to E14: rules, one firing and one quiet fixture each; the machine. */
#include <math.h>
#include <sys/resource.h>
#include <time.h>

#include "profile/analysis.h"
#include "tests/profiler/rows.h"
#include "tests/profiler/scripted.h"

/* ---- fixtures: a table with the named columns, the others empty -------------------------------------------------- */

/* VALUES are "column=value" joined by blanks, rows by '\n'; a value has no blanks. */
static char *csv_of(const char *table, const char *values) {
  const analysis_table *t = analysis_table_at(analysis_table_find(table));
  runtime_str csv = {0};
  for (int c = 0; c < t->n_columns; ++c) runtime_str_addf(&csv, "%s%s", c ? "," : "", t->columns[c].name);
  runtime_str_add(&csv, "\n");
  for (const char *line = values; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    for (int c = 0; c < t->n_columns; ++c) {
      char key[64];
      snprintf(key, sizeof key, "%s=", t->columns[c].name);
      const char *end = line + strcspn(line, "\n"), *at = line;
      while (at < end && strncmp(at, key, strlen(key)) != 0) at += strcspn(at, " \n"), at += *at == ' ';
      if (c) runtime_str_add(&csv, ",");
      if (at < end) runtime_str_addn(&csv, at + strlen(key), strcspn(at + strlen(key), " \n"));
    }
    runtime_str_add(&csv, "\n");
  }
  return csv.data;
}

static void put(tn_analysis *a, const char *table, const char *values) {
  const char *why;
  char *csv = csv_of(table, values);
  if (!analysis_set(a, table, csv, &why)) fail_msg("%s: %s in\n%s", table, why, csv);
  free(csv);
}

static int times_said(const tn_advices *advices, const char *rule) {
  int n, found = 0;
  const tn_advice *all = tn_advices_at(advices, &n);
  for (int i = 0; i < n; ++i) found += strcmp(all[i].rule, rule) == 0;
  return found;
}

static int fires(const char *rule, const char *table, const char *values, const char *options) {
  tn_analysis *a = analysis_new();
  put(a, table, values);
  tn_advices *advices = tn_advise(NULL, a, options);
  assert_non_null(advices);
  int n = times_said(advices, rule);
  tn_advices_free(advices);
  tn_analysis_free(a);
  return n;
}

typedef struct rule_fixture {
  const char *rule, *table, *firing, *quiet;
} rule_fixture;

static void check_rules(const rule_fixture *rules, int n) {
  for (int i = 0; i < n; ++i) {
    const rule_fixture *f = &rules[i];
    if (fires(f->rule, f->table, f->firing, NULL) != 1) fail_msg("%s does not fire", f->rule);
    if (fires(f->rule, f->table, f->quiet, NULL) != 0) fail_msg("%s is not quiet", f->rule);
    char off[96];
    snprintf(off, sizeof off, "{\"%s\": null}", f->rule);
    assert_int_equal(fires(f->rule, f->table, f->firing, off), 0);
  }
}

/* ---- E12 --------------------------------------------------------------------------------------------------------- */

#define MEASURES "phase=measure share=0.3\n"
#define OTHERS "worker=a trials=9 mean_ns=1\nworker=b trials=9 mean_ns=1\nworker=c trials=9 mean_ns=1\n"
static const rule_fixture tuner_rules[] = {
    {"round_interval", "round", "wait_ns=0\nwait_ns=900000", "wait_ns=9000000\nwait_ns=100000"},
    {"wait_share", "round", "wait_ns=0 duration_ns=100\nwait_ns=11 duration_ns=100",
     "wait_ns=50 duration_ns=100\nwait_ns=9 duration_ns=100"},
    {"generate_share", "phase", MEASURES "phase=generate share=0.5", MEASURES "phase=generate share=0.3"},
    {"build_share", "phase", MEASURES "phase=build share=0.8", MEASURES "phase=build share=0.7"},
    {"update_share", "phase", MEASURES "phase=update share=0.3", "phase=update share=0.3"},
    {"tail_share", "phase", MEASURES "phase=tail share=0.3", MEASURES "phase=tail share=0.1"},
    {"queue_empty", "queue", "queue=runner polls=10 empty=4 empty_share=0.4",
     "queue=runner polls=10 empty=2 empty_share=0.2"},
    {"bottleneck", "stage", "stage=measure input_usage=0.9 pressure=0.9 bottleneck=1",
     "stage=measure input_usage=0.4 pressure=0.4 bottleneck=1"},
    {"runner_idle", "stage",
     "stage=build utilisation=0.9\nstage=measure input_queue=runner calls=20 utilisation=0.05 idle_share=0.95",
     "stage=build utilisation=0.9\nstage=measure input_queue=runner calls=20 utilisation=0.05 idle_share=0.5"},
    {"cpu_share", "run", "key=cpu_ns value=900\nkey=duration_ns value=500\nkey=cores value=2",
     "key=cpu_ns value=700\nkey=duration_ns value=500\nkey=cores value=2"},
    {"worker_outlier", "worker", OTHERS "worker=d trials=9 mean_ns=1.5", OTHERS "worker=d trials=9 mean_ns=1.1"},
    {"worker_killed", "worker", "worker=a killed=1", "worker=a killed=0"},
    {"failed_trials", "task", "task=a trials=10 failed=6", "task=a trials=10 failed=5"},
    {"memory_failed", "memory", "pool=heap failed=1", "pool=heap failed=0"},
    {"memory_held", "memory", "pool=heap current_bytes=95000000 peak_bytes=100000000",
     "pool=heap current_bytes=50000000 peak_bytes=100000000"},
    {"events_dropped", "run", "key=dropped value=1", "key=dropped value=0"},
    {"recording_cost", "run", "key=events value=1000\nkey=event_cost_ns value=30\nkey=duration_ns value=100000",
     "key=events value=1000\nkey=event_cost_ns value=30\nkey=duration_ns value=10000000"}};

static void check_outlier(void) {
  tn_recording *r = scripted_new(15000);
  for (int w = 0; w < 4; ++w) {
    char name[16];
    snprintf(name, sizeof name, "worker%d", w);
    int lane = scripted_lane(r, scripted_process(r, name, 10 + w, -1), name);
    for (int i = 0; i < 10; ++i) scripted_scope(r, lane, TN_CATEGORY_WORKER, "measure", i * 1500, w == 2 ? 1500 : 1000);
  }
  tn_analysis *a = tn_analysis_of(NULL, scripted_finish(r));
  tn_advices *advices = tn_advise(NULL, a, NULL);
  int n;
  const tn_advice *all = tn_advices_at(advices, &n);
  assert_int_equal(n, 1);
  assert_string_equal(all[0].rule, "worker_outlier");
  assert_string_equal(all[0].subject, "worker2 12");
  assert_true(fabs(all[0].value - 0.33) <= 0.01);
  check_has(all[0].text, "33 % longer than the mean");
  tn_advices_free(advices);
  advices = tn_advise(NULL, a, "{\"worker_outlier\": 0.5}");
  assert_int_equal(times_said(advices, "worker_outlier"), 0);
  tn_advices_free(advices);
  tn_analysis_free(a);
  tn_recording_free(r);
}

/* The bottleneck is hidden while the queues are healthy, and shown when one is empty. */
static void check_hiding(void) {
  tn_analysis *a = analysis_new();
  put(a, "stage", "stage=build output_queue=runner pressure=0.9 bottleneck=1");
  put(a, "queue", "queue=runner polls=10 empty=1 empty_share=0.1");
  tn_advices *advices = tn_advise(NULL, a, NULL);
  assert_int_equal(times_said(advices, "bottleneck"), 0);
  tn_advices_free(advices);
  put(a, "queue", "queue=runner polls=10 empty=8 empty_share=0.8");
  advices = tn_advise(NULL, a, NULL);
  int n;
  const tn_advice *all = tn_advices_at(advices, &n);
  assert_int_equal(n, 2); /* in the order of the rules */
  assert_string_equal(all[0].rule, "queue_empty");
  assert_string_equal(all[1].rule, "bottleneck");
  check_has(all[0].text, "what fills it ('build') is too slow");
  tn_advices_free(advices);
  tn_analysis_free(a);
}

static void check_refused(const char *options, const char *message) {
  tn_context *ctx = check_context();
  tn_analysis *a = analysis_new();
  assert_null(tn_advise(ctx, a, options));
  check_fails(ctx, TN_ERROR_ARGUMENT, message);
  tn_analysis_free(a);
  check_context_free(ctx);
}

static void check_healthy(void) {
  tn_recording *r = scripted_tuning(4, 16);
  tn_analysis *a = tn_analysis_of(NULL, r);
  tn_advices *advices = tn_advise(NULL, a, NULL);
  char *text = tn_advices_text(advices, false), *json = tn_advices_text(advices, true);
  check_golden("profiler/e12_healthy.txt", text);
  check_golden("profiler/e12_healthy.json", json);
  check_has(text, "largest phase: measure");
  check_has(text, "nothing stands out");
  free(text);
  free(json);
  tn_advices_free(advices);
  tn_analysis_free(a);
  tn_recording_free(r);
}

ROW(e12_suggestions) {
  (void)state;
  check_rules(tuner_rules, RUNTIME_COUNT(tuner_rules));
  check_outlier();
  check_hiding();
  check_healthy();
  check_refused("{\"speed\": 1}", "there is no rule 'speed'");
  check_refused("{\"bottleneck\": \"low\"}", "the threshold of 'bottleneck' is a number, or null");
  check_refused("[1]", "a JSON object of thresholds");
}

/* ---- E13 --------------------------------------------------------------------------------------------------------- */

static const rule_fixture kernel_rules[] = {
    {"recompute", "kernel", "stage=a recompute=9", "stage=a recompute=1.0"},
    {"not_vectorised", "kernel", "stage=a stores=100 vector_stores=0 vector_loads=0",
     "stage=a stores=4 vector_stores=100"},
    {"gathers", "kernel", "stage=a gathers=10 vector_loads=5", "stage=a gathers=5 vector_loads=10"},
    {"scatters", "kernel", "stage=a scatters=10 vector_stores=5", "stage=a scatters=5 vector_stores=10"},
    {"scalar_stores", "kernel", "stage=a stores=10 vector_stores=100", "stage=a stores=9 vector_stores=100"},
    {"narrow_stores", "kernel", "stage=a vector_stores=9 store_bits=128 native_bits=256",
     "stage=a vector_stores=9 store_bits=256 native_bits=256"},
    {"too_coarse", "kernel", "stage=a loops=1 tasks=2 threads=8", "stage=a loops=1 tasks=16 threads=8"},
    {"too_fine", "kernel", "stage=a loops=1 tasks=10000 threads=8 active=0.4",
     "stage=a loops=1 tasks=10000 threads=8 active=0.9"},
    {"many_launches", "kernel", "stage=a loops=4 tasks=32 threads=8 active=0.5",
     "stage=a loops=1 tasks=32 threads=8 active=0.5"},
    {"serial_root", "kernel",
     "kernel=k stage=a is_root=1 is_parallel=0 share=0.3\nkernel=k stage=b is_root=1 is_parallel=1 share=0.7",
     "kernel=k stage=a is_root=1 is_parallel=0 share=0.3\nkernel=m stage=b is_root=1 is_parallel=1 share=0.7"}};

ROW(e13_schedule_rules) {
  (void)state;
  check_rules(kernel_rules, RUNTIME_COUNT(kernel_rules));
  assert_int_equal(fires("recompute", "kernel", "stage=a recompute=9 share=0.005", NULL), 0); /* below one percent */
  /* every rule of the library has its fixtures; those about roofs: rows_work.c */
  int n = 0;
  while (tn_advise_rule(n, NULL)) ++n;
  assert_int_equal(n, RUNTIME_COUNT(tuner_rules) + RUNTIME_COUNT(kernel_rules) + 2);
  /* counters arrive as marks */
  tn_recording *r = scripted_new(100);
  scripted_mark(r, 0, TN_CATEGORY_KERNEL, "stage", 50);
  scripted_text(r, "kernel", "stencil");
  scripted_text(r, "stage", "blur");
  scripted_number(r, "points", 900);
  scripted_number(r, "required", 100);
  tn_analysis *a = tn_analysis_of(NULL, scripted_finish(r));
  tn_advices *advices = tn_advise(NULL, a, NULL);
  int said;
  const tn_advice *all = tn_advices_at(advices, &said);
  assert_int_equal(said, 1);
  assert_string_equal(all[0].subject, "blur");
  assert_true(all[0].value == 9);
  tn_advices_free(advices);
  tn_analysis_free(a);
  tn_recording_free(r);
}

/* ---- E14 --------------------------------------------------------------------------------------------------------- */

static double now_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile double sink;

static void busy(double seconds) {
  for (double until = now_s(CLOCK_MONOTONIC) + seconds; now_s(CLOCK_MONOTONIC) < until;)
    for (int i = 0; i < 1000; ++i) sink = sink + 1;
}

static double percent_of(const tn_analysis *a, const char *what) {
  const tn_analyser *analyser = NULL;
  for (int k = 0; (analyser = tn_analysis_type(a, k)) && strcmp(analyser->type, "utilisation") != 0;) ++k;
  tn_rows *rows = analysis_load(NULL, a, analyser);
  double percent = NAN;
  for (int i = 0; i < tn_rows_count(rows); ++i)
    if (strcmp(analysis_text(rows, i, "what"), what) == 0) percent = analysis_number(rows, i, "percent");
  analysis_rows_free(rows);
  return percent;
}

/* Percent of one core that a second of this took: by the report, and by the system's own clock of the process. */
static double measure_use(void (*work)(double), double *own) {
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  double wall = now_s(CLOCK_MONOTONIC), cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
  work(1);
  *own = (now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (now_s(CLOCK_MONOTONIC) - wall) * 100;
  tn_recording *r = rows_collect();
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  assert_true(r->info.peak_rss_bytes > 0 && r->info.peak_rss_bytes <= (int64_t)use.ru_maxrss * 1024);
  assert_true(r->info.peak_rss_bytes >= (int64_t)use.ru_maxrss * 1024 * 9 / 10);
  tn_analysis *a = tn_analysis_of(NULL, r);
  double percent = percent_of(a, "process cpu");
  tn_analysis_free(a);
  tn_recording_free(r);
  return percent;
}

static void idle(double seconds) { nanosleep(&(struct timespec){.tv_sec = (time_t)seconds}, NULL); }

/* A multiplication of matrices as C compilers make it; 2 N^3 FLOPs. */
enum { N = 192 };
static float left[N][N], right[N][N], product[N][N];
static void multiply(void) {
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < N; ++k)
      for (int j = 0; j < N; ++j) product[i][j] += left[i][k] * right[k][j];
}

static void check_roofline(void) {
  tn_host host;
  tn_host_get(&host, true);
  assert_true(host.cores >= 1 && host.vector_bits >= 128 && host.peak_gflops > 0 && host.peak_gbps > 0);
  assert_true(strlen(host.cpu_model) > 0);
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  tn_host_record(&host);
  for (int i = 0; i < 5; ++i) {
    TN_SCOPE_AS(scope, KERNEL, 1, "matmul");
    TN_EVENT_ARG(scope, tn_event_arg_f64("flops", 2.0 * N * N * N));
    TN_EVENT_ARG(scope, tn_event_arg_u64("bytes", 3 * sizeof product));
    multiply();
  }
  tn_recording *r = rows_collect();
  tn_analysis *a = tn_analysis_of(NULL, r);
  char *answer = tn_analysis_query(NULL, a, "{\"type\": \"roofline\"}"),
       *facts = tn_analysis_query(NULL, a, "{\"type\": \"host\"}");
  check_has(answer, "\"size\": 1");
  check_has(facts, host.cpu_model);
  check_has(facts, "peak_gflops");
  size_t n;
  char *space = tn_recording_write(NULL, r, TN_FORM_XSPACE, &n);
  assert_true(space && memmem(space, n, "cpu_model", 9) && memmem(space, n, "peak_gbps", 9) &&
              memmem(space, n, "cpu_ns", 6));
  free(space);
  double gflops = analysis_number(tn_analysis_table(NULL, a, "op"), 0, "gflops");
  assert_true(gflops > 0 && gflops / host.peak_gflops <= 1.02);
  free(answer);
  free(facts);
  tn_analysis_free(a);
  tn_recording_free(r);
}

ROW(e14_utilisation_and_roofline) {
  (void)state;
  double own, percent = measure_use(busy, &own);
  /* other programs may take the core away: then the report must say what the system says */
  if (fabs(percent - own) > 5 || percent > 105) fail_msg("busy: %.1f %%, the system says %.1f %%", percent, own);
  percent = measure_use(idle, &own);
  if (percent >= 5) fail_msg("idle: %.1f %%", percent);
  check_roofline();
}

/* ---- E12: rules of users ----------------------------------------------------------------------------------------- */

#define RULES                                                                                                         \
  "[{\"id\": \"slow_load\", \"query\": {\"type\": \"op_type\", \"filter_condition\": {\"name\": {\"in\": [\"A\"]}}}," \
  " \"column\": \"mean_ns\", \"above\": 500, \"sentence\": \"'{name}' takes {mean_ns} ns {of what}\"}]"

ROW(e17_rules_of_users) {
  (void)state;
  tn_context *ctx = check_context();
  tn_recording *r = rows_tree(); /* A takes 1000 ns */
  assert_int_equal(tn_recording_set_rules(ctx, r, RULES), TN_OK);
  tn_analysis *a = tn_analysis_of(ctx, r);
  char *text = rows_advice_text(ctx, a);
  check_has(text, "slow_load (user): 'A' takes 1000 ns {of what}");
  free(text);
  text = tn_analysis_query(ctx, a, "{\"type\": \"advice\", \"filter_condition\": {\"label\": {\"in\": [\"user\"]}}}");
  check_has(text, "[\"slow_load\", \"user\", \"A\", 1000.0, 500.0, \"'A' takes 1000 ns {of what}\"]");
  free(text);
  text = tn_recording_write(ctx, r, TN_FORM_HTML, NULL);
  check_has(text, "slow_load (user)");
  free(text);
  tn_analysis_free(a);
  static const char *const wrong[][2] = {
      {"{}", "a JSON array of objects"},
      {"[3]", "row 1: it is no object"},
      {"[{\"id\": \"x\"}]", "row 1 ('x'): it needs the texts id, column and sentence"},
      {"[{\"id\": \"gathers\", \"query\": {}, \"column\": \"c\", \"above\": 1, \"sentence\": \"s\"}]",
       "row 1 ('gathers'): the library has a rule of that id"},
      {"[{\"id\": \"x\", \"query\": {}, \"column\": \"c\", \"sentence\": \"s\"}]",
       "it needs one number: above or below"},
      {"[{\"id\": \"x\", \"query\": {\"type\": \"advice\"}, \"column\": \"value\", \"above\": 1, \"sentence\": \"s\"}]",
       "row 1 ('x'): its query asks for advice, and this rule is part of that: ask a table"},
      {"[{\"id\": \"x\", \"over\": 1}]", "its keys are id, label, query"},
  };
  for (int i = 0; i < RUNTIME_COUNT(wrong); ++i) {
    assert_int_equal(tn_recording_set_rules(ctx, r, wrong[i][0]), TN_ERROR_ARGUMENT);
    check_message_has(ctx, wrong[i][1]);
    tn_context_clear(ctx);
  }
  /* what only shows when it runs is said there, and the rules before are still the recording's */
  assert_int_equal(tn_recording_set_rules(ctx, r,
                                          "[{\"id\": \"x\", \"query\": {\"type\": \"none\"}, \"column\": \"c\","
                                          " \"below\": 1, \"sentence\": \"s\"}]"),
                   TN_OK);
  a = tn_analysis_of(ctx, r);
  text = rows_advice_text(ctx, a);
  check_has(text, "x (user): the rule's query is wrong: analyse: there is no type 'none'");
  free(text);
  tn_analysis_free(a);
  tn_recording_free(r);
  check_context_free(ctx);
}
