/* Rows F1 to F4: Chrome traces, streaming, .tnprof, CSV and JSON reports. */
#include "tests/profiler/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

static int64_t count_kind(const tn_recording *r, tn_event_kind kind, int with, int without) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) {
    const tn_event *e = &r->events[i];
    n += e->kind == kind && (e->flags & with) == with && !(e->flags & without);
  }
  return n;
}

static int64_t count_flow(const tn_recording *r, int phase) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->n_events; ++i) n += r->events[i].kind == TN_EVENT_FLOW && r->events[i].phase == phase;
  return n;
}

/* What JSONCHK must count in a trace of R. */
static void expect_counts(const tn_recording *r, char text[256]) {
  int64_t ranges = count_kind(r, TN_EVENT_ASYNC, 0, 0) + count_kind(r, TN_EVENT_SCOPE, TN_EVENT_OVERLAP, 0);
  int64_t failed = count_kind(r, TN_EVENT_MEMORY, TN_EVENT_FAILED, 0);
  int64_t memory = count_kind(r, TN_EVENT_MEMORY, 0, TN_EVENT_FAILED);
  snprintf(text, 256, "X=%lld b=%lld e=%lld i=%lld C=%lld s=%lld t=%lld f=%lld processes=%d lanes=%d\n",
           (long long)count_kind(r, TN_EVENT_SCOPE, 0, TN_EVENT_OVERLAP), (long long)ranges, (long long)ranges,
           (long long)(count_kind(r, TN_EVENT_INSTANT, 0, 0) + failed),
           (long long)(count_kind(r, TN_EVENT_COUNTER, 0, 0) + memory), (long long)count_flow(r, TN_FLOW_START),
           (long long)count_flow(r, TN_FLOW_STEP), (long long)count_flow(r, TN_FLOW_END), r->processes.n, r->lanes.n);
}

static void check_trace(const tn_recording *r, const char *name) {
  char path[256], expected[256];
  tn_recording *back = files_round_trip(r, name);
  char *counts = files_run(0, FILES_CHECK "jsonchk.py %s", files_path(path, name));
  expect_counts(r, expected);
  check_text(counts, expected);
  expect_counts(back, expected);
  check_text(counts, expected);
  free(counts);
  tn_recording_free(back);
}

/* ---- F1 ---------------------------------------------------------------------------------------------------------- */

ROW(f1_chrome_trace) {
  (void)state;
  tn_recording *rich = files_rich(), *tree = rows_tree();
  check_trace(rich, "rich.json");
  check_trace(rich, "rich.json.gz");
  check_trace(tree, "tree.json");
  char path[256];
  char *args = files_run(0, FILES_CHECK "jsonchk.py %s --args A", files_path(path, "rich.json"));
  check_text(args, "{\"source\": \"search.c:42:evolve\"}\n");
  free(args);
  tn_context *ctx = check_context();
  char *text = tn_recording_write(ctx, rich, TN_FORM_CHROME, NULL);
  check_has(text, "\"dropped\":3,");
  check_has(text, "\"version\":\"" TN_VERSION "\"");
  check_has(text, "plug-in \\\"x\\\" failed");
  check_has(text, "\"ph\":\"i\",\"ts\":0.042,");
  free(text);
  assert_null(tn_recording_write(ctx, NULL, TN_FORM_CHROME, NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT, "no recording");
  assert_int_equal(tn_recording_save(ctx, rich, "/tmp/name.unknown"), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, "'/tmp/name.unknown'", ".json", ".xplane.pb", ".tnprof");
  assert_int_equal(tn_recording_save(ctx, rich, "/nowhere/at/all.json"), TN_ERROR_IO);
  check_fails(ctx, TN_ERROR_IO, "/nowhere/at/all.json cannot be written", "No such file");
  check_context_free(ctx);
  tn_recording_free(rich);
  tn_recording_free(tree);
}

/* What a killed run began has no end: its points are marks, for a viewer refuses half a flow. */
ROW(f1_half_a_flow) {
  (void)state;
  char path[256];
  tn_recording *r = files_rich(), *cut = profiler_recording_new();
  assert_true(profiler_recording_append(cut, r, 0));
  for (int64_t i = 0; i < cut->n_events; ++i) {
    tn_event *e = &cut->events[i];
    if (e->kind == TN_EVENT_FLOW && e->phase == TN_FLOW_END) e->id = 78;
  }
  assert_true(profiler_recording_finish(cut));
  assert_int_equal(tn_recording_save(NULL, cut, files_path(path, "cut.json")), TN_OK);
  char *counts = files_run(0, FILES_CHECK "jsonchk.py %s", path);
  check_has(counts, " i=5 ");
  check_has(counts, " s=0 t=0 f=0 ");
  free(counts);
  tn_recording_free(cut);
  tn_recording_free(r);
}

/* ---- F2 ---------------------------------------------------------------------------------------------------------- */

/* Children that begin with their parents, that end with them, that last no time, at times of hours. */
static tn_recording *tight(void) {
  tn_recording *r = profiler_recording_new();
  const tn_process process = {.name = "p", .host = "", .pid = 1, .node_id = -1};
  const tn_lane lane = {.name = "l", .tid = 1};
  static const int64_t spans[][2] = {{0, 1001}, {0, 1001}, {0, 7}, {7, 994}, {1000, 1}, {1001, 0}, {1001, 3}};
  profiler_add_process(r, &process);
  profiler_add_lane(r, &lane);
  for (int hours = 0; hours < 3; ++hours) {
    for (int i = 0; i < RUNTIME_COUNT(spans); ++i) {
      tn_event *e = profiler_add_event(r, 0, TN_EVENT_SCOPE, "span");
      e->start_ns = spans[i][0] + hours * INT64_C(36000000000001);
      e->duration_ns = spans[i][1];
      e->parent = PROFILER_PARENT_UNKNOWN;
    }
  }
  assert_true(profiler_recording_finish(r));
  return r;
}

ROW(f2_exact_nesting_and_escaping) {
  (void)state;
  char path[256];
  tn_recording *r = tight(), *rich = files_rich();
  check_trace(r, "tight.json");
  tn_recording *back = files_round_trip(r, "tight.json");
  files_same_form(r, back, TN_FORM_CSV);
  tn_recording_free(back);
  /* What was cured of bad bytes once stays as it is. */
  back = files_round_trip(rich, "names.json");
  const char *cured = "odd \"name\" \\ \x01\n\t, \xc3\xa9 \xf0\x9f\x98\x80 \xef\xbf\xbd\xef\xbf\xbd";
  assert_non_null(rows_find(back, cured, 0));
  char *names = files_run(0, FILES_CHECK "jsonchk.py %s --names", files_path(path, "names.json"));
  check_has(names, "\"odd \\\"name\\\" \\\\ \\u0001\\n\\t, \\u00e9 \\ud83d\\ude00 \\ufffd\\ufffd\"");
  free(names);
  const tn_event *b = rows_find(back, "B", 1);
  assert_true(rows_arg(back, b, "u64")->u64 == UINT64_MAX && rows_arg(back, b, "i64")->i64 == INT64_MAX);
  assert_true(rows_arg(back, b, "minus")->i64 == -1 && rows_arg(back, b, "tiny")->f64 == 1e-300);
  assert_string_equal(rows_arg(back, b, "text")->text, "a\"b\\c\n");
  tn_recording_free(back);
  tn_recording_free(r);
  tn_recording_free(rich);
}

/* On a busy machine a sleep lasts longer now and then: the shortest of some counts. */
ROW(f2_a_millisecond_is_a_thousand) {
  (void)state;
  int64_t best_ns = INT64_MAX;
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  for (int i = 0; i < 100; ++i) {
    TN_TIMED("1 ms");
    usleep(1000);
  }
  tn_recording *r = rows_collect(), *back = files_round_trip(r, "ms.json");
  assert_int_equal(rows_count(back, "1 ms"), 100);
  for (int i = 0; i < 100; ++i) best_ns = RUNTIME_MIN(best_ns, rows_find(back, "1 ms", i)->duration_ns);
  assert_in_range(best_ns, 1000000, 1500000);
  check_trace(r, "ms2.json");
  tn_recording_free(r);
  tn_recording_free(back);
}

/* ---- F3 ---------------------------------------------------------------------------------------------------------- */

static tn_recording *long_run(int64_t n) {
  tn_recording *r = profiler_recording_new();
  const tn_process process = {.name = "p", .host = "", .pid = 1, .node_id = -1};
  const tn_lane lane = {.name = "l", .tid = 1};
  profiler_add_process(r, &process);
  profiler_add_lane(r, &lane);
  for (int64_t i = 0; i < n; ++i) {
    tn_event *e = profiler_add_event(r, 0, TN_EVENT_SCOPE, i % 2 ? "EvoSearch/Evolve" : "measure");
    assert_non_null(e);
    e->start_ns = i * 100;
    e->duration_ns = 90;
    e->self_ns = 90;
  }
  assert_true(profiler_recording_finish(r));
  return r;
}

static int64_t peak_bytes(void) {
  FILE *file = fopen("/proc/self/status", "r");
  long long kib = 0;
  char line[128];
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %lld", &kib);
  if (file) fclose(file);
  return (int64_t)kib * 1024;
}

/* Of this process, so that what else the machine does is not counted. */
static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

ROW(f3_streaming_export) {
  (void)state;
  int64_t n = rows_scaled(10000000);
  profiler_out out;
  tn_recording *r = long_run(n);
  int refs = open("/proc/self/clear_refs", O_WRONLY); /* 5: the peak is the present size again */
  bool is_reset = refs >= 0 && write(refs, "5", 1) == 1;
  if (refs >= 0) close(refs);
  int64_t before = is_reset ? rows_resident_bytes() : peak_bytes();
  double start_s = cpu_seconds();
  assert_true(profiler_out_open(NULL, &out, "/dev/null", 0));
  assert_true(profiler_write_chrome(&out, r));
  assert_true(profiler_out_close(NULL, &out, "/dev/null"));
  double rate = (double)n / (cpu_seconds() - start_s) * 1e-6, growth = (double)(peak_bytes() - before) / (1 << 20);
  printf("%lld events, %.2f million a second of CPU time, %.1f MiB more memory\n", (long long)n, rate, growth);
  if (!rows_is_instrumented()) assert_true(growth < 32);
  if (rows_is_optimized()) assert_true(rate >= 1);
  tn_recording_free(r);
}

static tn_recording *read_text(tn_context *ctx, const char *text) { return tn_recording_read(ctx, text, strlen(text)); }

static const struct cut {
  const char *text;
  int n_events; /* -1: refused */
  const char *why;
} cuts[] = {
    {"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2.5,\"pid\":1,\"tid\":1}", 1, "cut off"},
    {"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},\n{\"ph\":\"X\",\"na", 1, "cut off"},
    {"[{\"ph\":\"B\",\"name\":\"a\",\"ts\":1,\"pid\":1,\"tid\":1},{\"ph\":\"E\",\"ts\":3,\"pid\":1,\"tid\":1}]", 1, ""},
    {"[{\"ph\":\"B\",\"name\":\"a\",\"ts\":1,\"pid\":\"p\",\"tid\":\"t\"},", 1, "cut off"},
    {"{\"traceEvents\":[],\"displayTimeUnit\":\"ms\"}", 0, ""},
    {"[]", 0, ""},
    {"[1]", -1, "an event is no object"},
    {"{\"program\":3}", -1, "it has no traceEvents"},
    {"{\"traceEvents\":3}", -1, "traceEvents is no array"},
    {"[{\"ph\":\"X\" \"name\":\"a\"}]", -1, "',' or '}' is expected"},
    {"[{\"ph\":\"X\",\"ts\":0x1}]", -1, "',' or '}' is expected"},
    {"[{\"ph\":\"\\q\"}]", -1, "an escape that JSON does not have"},
    {"{\"traceEvents\":[{\"args\":nil}]}", -1, "a value is expected"},
    {"", -1, "it is empty"},
};

ROW(f3_array_without_its_end) {
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(cuts); ++i) {
    tn_context *ctx = check_context();
    tn_recording *r = read_text(ctx, cuts[i].text);
    if (cuts[i].n_events < 0) {
      assert_null(r);
      check_fails(ctx, TN_ERROR_PARSE, "the recording", cuts[i].why);
    } else {
      check_ok(ctx);
      assert_int_equal(r->n_events, cuts[i].n_events);
      check_has(tn_recording_warnings(r), cuts[i].why);
    }
    tn_recording_free(r);
    check_context_free(ctx);
  }
}

/* ---- F4 ---------------------------------------------------------------------------------------------------------- */

ROW(f4_binary_keeps_everything) {
  (void)state;
  tn_recording *r = files_rich(), *tree = rows_tree();
  tn_recording *back = files_round_trip(r, "rich.tnprof"), *tree_back = files_round_trip(tree, "tree.tnprof");
  files_same(r, back);
  files_same(tree, tree_back);
  assert_int_equal(back->events[0].self_ns, r->events[0].self_ns);
  assert_int_equal(rows_self_ns(tree_back, "A"), 300);
  assert_int_equal(tn_recording_get_info(back)->stats.dropped, 3);
  assert_non_null(rows_find(back, files_odd_name, 0)); /* this form keeps bad bytes, too */
  tn_recording_free(r);
  tn_recording_free(tree);
  tn_recording_free(back);
  tn_recording_free(tree_back);
}

/* The first version's file, as it was written then: kept in the tree for as long as it must load. */
ROW(f4_older_versions_load) {
  (void)state;
  const char *path = TENON_GOLDEN_DIR "/profiler/version1.tnprof";
  tn_context *ctx = check_context();
  tn_recording *r = files_rich();
  if (getenv("TENON_UPDATE_GOLDEN") && access(path, F_OK) != 0) tn_recording_save(ctx, r, path);
  tn_recording *old = tn_recording_load(ctx, path);
  check_ok(ctx);
  files_same(r, old);
  tn_recording_free(old);
  tn_recording_free(r);
  check_context_free(ctx);
}

/* N bytes of blanks between the head and the tail of a trace. */
static void write_blanks(const char *path, const char *mode, size_t n) {
  static char blanks[1 << 20];
  memset(blanks, ' ', sizeof blanks);
  gzFile file = gzopen(path, mode);
  assert_non_null(file);
  assert_true(gzputs(file, "{\"traceEvents\": [") > 0);
  for (; n > sizeof blanks; n -= sizeof blanks) assert_int_equal(gzwrite(file, blanks, sizeof blanks), sizeof blanks);
  assert_true(gzputs(file, "]}") > 0);
  assert_int_equal(gzclose(file), Z_OK);
}

/* It would be waited for without a word. */
ROW(f1_pipe_without_writer) {
  (void)state;
  char path[256];
  tn_context *ctx = check_context();
  assert_int_equal(mkfifo(files_path(path, "pipe.json"), 0600), 0);
  assert_null(tn_recording_load(ctx, path));
  check_fails(ctx, TN_ERROR_IO, "pipe.json cannot be read", "a pipe that nobody writes to");
  unlink(path);
  check_context_free(ctx);
}

/* Small files that unpack to a lot are refused; the same bytes as they are, or a little less of them, are read. */
ROW(f1_unpacks_to_too_much) {
  (void)state;
  static const size_t much = (size_t)390 << 20, some = (size_t)370 << 20;
  char path[256];
  tn_context *ctx = check_context();
  write_blanks(files_path(path, "bomb.json.gz"), "wb1", much);
  assert_null(tn_recording_load(ctx, path));
  check_fails(ctx, TN_ERROR_PARSE, "bomb.json.gz", "more bytes than the limit unpacked_bytes");
  tn_context *raised = tn_context_new(&(tn_context_options){.limits.unpacked_bytes = (int64_t)1 << 30});
  tn_recording *all = tn_recording_load(raised, path);
  assert_non_null(all);
  tn_recording_free(all);
  tn_context_free(raised);
  write_blanks(path, "wb1", some);
  tn_recording *r = tn_recording_load(ctx, path);
  check_ok(ctx);
  assert_non_null(r);
  tn_recording_free(r);
  unlink(path);
  write_blanks(files_path(path, "plain.json"), "wbT", much);
  r = tn_recording_load(ctx, path);
  unlink(path);
  check_ok(ctx);
  assert_non_null(r);
  tn_recording_free(r);
  check_context_free(ctx);
}

/* A file of a version with fewer fields, and with one that is not known here; hand-made. Varints are zigzag: 2 is 1. */
ROW(f4_fields_may_be_fewer_or_more) {
  (void)state;
  static const char file[] = PROFILER_BINARY_MAGIC
      "\x02"
      "\x04\x02"
      "p"
      "\x02"
      "e"        /* version 1; texts: p, e */
      "\x00\x02" /* about the recording: no fields would be no item */
      ;
  tn_context *ctx = check_context();
  assert_null(tn_recording_read(ctx, file, sizeof file - 1));
  check_fails(ctx, TN_ERROR_PARSE, "a section's number of items is wrong");
  static const char whole[] = PROFILER_BINARY_MAGIC
      "\x02"
      "\x04\x02"
      "p"
      "\x02"
      "e"
      "\x02\x06\x02"
      "\x64" /* one field, I32, one item: 50 rounds */
      "\x02\x0e\x02"
      "\x00" /* a process with only a name */
      "\x02\x0e\x02"
      "\x02"                                                                     /* a lane with only a name */
      "\x02\x0e\x00"                                                             /* no sources */
      "\x00\x00"                                                                 /* arguments: none */
      "\x20\x0a\x0a\x0a\x0a\x0e\x06\x06\x06\x06\x08\x02\x02\x02\x02\x04\x0a\x02" /* events: 15 fields and a newer one */
      "\x14\x28\x00\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x7f";
  tn_recording *r = tn_recording_read(ctx, whole, sizeof whole - 1);
  check_ok(ctx);
  assert_int_equal(r->n_events, 1);
  assert_string_equal(r->events[0].name, "e");
  assert_int_equal(r->events[0].start_ns, 10);
  assert_int_equal(r->events[0].duration_ns, 20);
  assert_int_equal(r->info.n_rounds, 50);
  tn_recording_free(r);
  for (size_t n = 1; n < sizeof whole - 1; ++n) {
    assert_null(tn_recording_read(ctx, whole, n));
    tn_context_clear(ctx);
  }
  check_context_free(ctx);
}

static void read_quietly(const void *data, size_t n) {
  tn_recording *r = tn_recording_read(NULL, data, n);
  char *text = r ? tn_recording_write(NULL, r, TN_FORM_CHROME, NULL) : NULL;
  free(text);
  tn_recording_free(r);
}

/* How many mutated files a reader gets; TENON_FUZZ_FILES says another number. */
static int64_t fuzz_count(void) {
  const char *text = getenv("TENON_FUZZ_FILES");
  return text ? atoll(text) : rows_is_instrumented() ? 10000 : 100000;
}

static void fuzz_form(tn_profile_form form) {
  size_t n;
  tn_recording *r = files_rich();
  char *data = tn_recording_write(NULL, r, form, &n);
  files_fuzz(data, n, fuzz_count(), read_quietly);
  free(data);
  tn_recording_free(r);
}

ROW(f4_fuzzed_binary) {
  (void)state;
  fuzz_form(TN_FORM_BINARY);
}

ROW(f4_fuzzed_chrome) {
  (void)state;
  fuzz_form(TN_FORM_CHROME);
}

ROW(f4_fuzzed_xspace) {
  (void)state;
  fuzz_form(TN_FORM_XSPACE);
}

ROW(f4_csv_and_json_reports) {
  (void)state;
  char csv[256], json[256];
  tn_recording *r = files_rich();
  tn_context *ctx = check_context();
  tn_recording_save(ctx, r, files_path(csv, "rich.csv"));
  tn_recording_save(ctx, r, files_path(json, "rich.report.json"));
  check_ok(ctx);
  char *rows = files_run(
      0,
      "python3 -c 'import csv, json, sys\n"
      "table = list(csv.DictReader(open(sys.argv[1], newline=\"\", encoding=\"utf-8\", errors=\"replace\")))\n"
      "report = json.load(open(sys.argv[2]))[\"rows\"]\n"
      "assert len(table) == len(report), (len(table), len(report))\n"
      "for a, b in zip(table, report):\n"
      "    assert a[\"name\"] == b[\"name\"], (a, b)\n"
      "    for key in a:\n"
      "        if key.endswith(\"ns\") or key == \"calls\": assert float(a[key]) == b[key], (a, b)\n"
      "    print(a[\"name\"] if a[\"name\"].isalpha() else \"*\", a[\"calls\"], a[\"total_ns\"], a[\"self_ns\"])\n"
      "' %s %s",
      csv, json);
  check_has(rows, "A 1 1000 300\n");
  check_has(rows, "B 2 700 600\n");
  check_has(rows, "C 1 100 100\n");
  check_has(rows, "* 1 0 0\n");
  free(rows);
  tn_recording_free(r);
  check_context_free(ctx);
}
