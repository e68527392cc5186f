/* Row D7: XSpace written, read, merged. */
#include "profile/xspace.h"
#include "tests/profiler/files.h"

static char *write_space(const tn_recording *r, size_t *n) {
  tn_context *ctx = check_context();
  char *data = tn_recording_write(ctx, r, TN_FORM_XSPACE, n);
  check_ok(ctx);
  check_context_free(ctx);
  return data;
}

static tn_recording *read_space(const void *data, size_t n) {
  tn_context *ctx = check_context();
  tn_recording *r = tn_recording_read(ctx, data, n);
  check_ok(ctx);
  check_context_free(ctx);
  return r;
}

/* What PBCHK says of R's space; free it. */
static char *checked(const tn_recording *r, const char *name, const char *program) {
  char path[256];
  tn_recording copy = *r;
  assert_int_equal(tn_recording_save(NULL, &copy, files_path(path, name)), TN_OK);
  return files_run(0, FILES_CHECK "pbchk.py %s | python3 -c 'import json, sys\nspace = json.load(sys.stdin)\n%s'", path,
                   program);
}

ROW(d7_tree_as_xspace) {
  (void)state;
  tn_recording *r = rows_tree();
  char *text =
      checked(r, "tree.xplane.pb",
              "for p in space[\"planes\"]:\n"
              "    print(p[\"name\"])\n"
              "    for l in p[\"lines\"]:\n"
              "        print(\" \", l[\"name\"], l[\"timestamp_ns\"])\n"
              "        for e in l[\"events\"]: print(\"   \", e[\"name\"], e[\"offset_ps\"], e[\"duration_ps\"])");
  check_text(text,
             "/host:CPU\n"
             "  thread 1 1700000000000000000\n"
             "    A 0 1000000\n"
             "    B 100000 300000\n"
             "    C 150000 100000\n"
             "    B 500000 400000\n"
             "  thread 2 1700000000000000000\n"
             "    D 0 300000\n");
  free(text);
  tn_recording_free(r);
}

ROW(d7_every_kind_and_argument) {
  (void)state;
  tn_recording *r = files_rich();
  char *text = checked(
      r, "rich.xplane.pb",
      "print(*(p[\"name\"] for p in space[\"planes\"]), sep=\"; \")\n"
      "print(space[\"errors\"], space[\"warnings\"], space[\"hostnames\"])\n"
      "events = [(l[\"name\"], e) for p in space[\"planes\"] for l in p[\"lines\"] for e in l[\"events\"]]\n"
      "args = [e for l, e in events if \"u64\" in e[\"stats\"]][0]\n"
      "for k in (\"minus\", \"i64\", \"u64\", \"tiny\", \"text\", \"utf8\", \"arg:kind\", \"twice\", \"twice#2\"):\n"
      "    print(k, args[\"types\"][k], ascii(args[\"stats\"][k]))\n"
      "for l, e in events:\n"
      "    if l == \"_counters_\": print(e[\"name\"], e[\"stats\"][e[\"name\"]])\n"
      "    if e[\"name\"].startswith(\"Memory\"): print(e[\"name\"], e[\"stats\"][\"bytes_allocated\"])");
  check_text(text,
             "/host:CPU; /host:CPU worker 101; /device:CUSTOM:0\n"
             "['plug-in \"x\" failed'] ['3 events were dropped', 'a second line'] ['here', 'there']\n"
             "minus int64_value -1\n"
             "i64 int64_value 9223372036854775807\n"
             "u64 uint64_value 18446744073709551615\n"
             "tiny double_value 1e-300\n"
             "text str_value 'a\"b\\\\c\\n'\n"
             "utf8 str_value '\\xe9\\U0001f600'\n"
             "arg:kind int64_value 7\n"
             "twice str_value 'first'\n"
             "twice#2 str_value 'second'\n"
             "MemoryAllocation 100\n"
             "MemoryAllocation 150\n"
             "MemoryDeallocation 50\n"
             "MemoryAllocation 120\n"
             "best_gflops 12.25\n"
             "best_gflops 1e-09\n");
  free(text);
  tn_recording_free(r);
}

ROW(d7_write_read_write) {
  (void)state;
  tn_recording *recordings[] = {files_rich(), rows_tree()};
  for (int i = 0; i < 2; ++i) {
    tn_recording *back = files_round_trip(recordings[i], "again.xplane.pb.gz");
    files_same_form(recordings[i], back, TN_FORM_XSPACE);
    if (i == 1) files_same(recordings[i], back); /* nothing in it that this form must rename */
    tn_recording_free(back);
    tn_recording_free(recordings[i]);
  }
}

/* Fields 99 (a varint), 100 (bytes) and 101 (a double) are nobody's. */
ROW(d7_unknown_fields_are_skipped) {
  (void)state;
  static const char unknown[] =
      "\x98\x06\x05"
      "\xa2\x06\x03"
      "abc"
      "\xa9\x06"
      "12345678";
  size_t n;
  tn_recording *r = files_rich();
  char *data = write_space(r, &n), *longer = malloc(n + sizeof unknown);
  memcpy(longer, data, n);
  memcpy(longer + n, unknown, sizeof unknown);
  tn_recording *plain = read_space(data, n), *back = read_space(longer, n + sizeof unknown - 1);
  files_same(plain, back);
  tn_recording_free(plain);
  tn_recording_free(back);
  tn_recording_free(r);
  free(data);
  free(longer);
}

/* A file that was cut off anywhere is refused, except where only more of nothing would follow. */
ROW(d7_truncation_everywhere) {
  (void)state;
  size_t n;
  tn_recording *r = rows_tree();
  char *data = write_space(r, &n);
  for (size_t length = 0; length < n; ++length) {
    char *exact = malloc(length + 1);
    memcpy(exact, data, length);
    tn_context *ctx = check_context();
    assert_null(tn_recording_read(ctx, exact, length));
    check_fails(ctx, TN_ERROR_PARSE, "the recording: it ");
    check_context_free(ctx);
    free(exact);
  }
  free(data);
  tn_recording_free(r);
}

static xspace_space *unpack(const void *data, size_t n) { return tensorflow__profiler__xspace__unpack(NULL, n, data); }

ROW(d7_merge_keeps_all) {
  (void)state;
  size_t n, n_tree, n_all;
  void *all;
  tn_recording *r = files_rich(), *tree = rows_tree();
  char *data = write_space(r, &n), *tree_data = write_space(tree, &n_tree);
  const tn_bytes parts[] = {{data, n}, {tree_data, n_tree}, {data, n}, {"", 0}};
  tn_context *ctx = check_context();
  assert_int_equal(tn_xspace_merge(ctx, parts, 4, &all, &n_all), TN_OK);
  xspace_space *space = unpack(all, n_all), *one = unpack(tree_data, n_tree);
  assert_int_equal(space->n_planes, 3 + 1 + 3);
  assert_int_equal(space->n_errors, 2);
  assert_int_equal(space->n_warnings, 4);
  assert_int_equal(space->n_hostnames, 2 + one->n_hostnames);
  assert_string_equal(space->planes[3]->name, "/host:CPU");
  tensorflow__profiler__xspace__free_unpacked(space, NULL);
  tensorflow__profiler__xspace__free_unpacked(one, NULL);
  tn_recording *merged = read_space(all, n_all);
  assert_int_equal(merged->n_events, 2 * r->n_events + tree->n_events);
  tn_recording_free(merged);
  free(all);
  const tn_bytes broken[] = {{data, n}, {data, n - 1}};
  assert_int_equal(tn_xspace_merge(ctx, broken, 2, &all, &n_all), TN_ERROR_PARSE);
  check_fails(ctx, TN_ERROR_PARSE, "XSpace 1: it is no XSpace, or it is cut off");
  assert_null(all);
  free(data);
  free(tree_data);
  tn_recording_free(r);
  tn_recording_free(tree);
  check_context_free(ctx);
}

/* A plane as a plug-in makes one: "/device:CUSTOM:x" with the line "q" and the event "k" at 2.5 us for 1 us. */
static const char foreign[] =
    "\x0a\x2f"                 /* plane of 47 bytes */
    "\x12\x10/device:CUSTOM:x" /* its name */
    "\x1a\x10"
    "\x12\x01q"
    "\x18\xe8\x07" /* line of 16 bytes: name, timestamp 1000 ns */
    "\x22\x08"
    "\x08\x01"
    "\x10\xc4\x13"
    "\x18\xe8\x07" /* event: id 1, offset 2500 ps, duration 1000 ps */
    "\x22\x09"
    "\x08\x01"
    "\x12\x05"
    "\x08\x01\x12\x01k" /* its name */
    "\x12\x05"
    "error";

ROW(d7_planes_of_others) {
  (void)state;
  const char *why = NULL;
  tn_recording *r = read_space(foreign, sizeof foreign - 1);
  assert_int_equal(r->n_events, 1);
  assert_string_equal(r->events[0].name, "k");
  assert_int_equal(r->events[0].start_ns, 2);
  assert_int_equal(r->events[0].duration_ns, 1);
  assert_int_equal(r->info.start_unix_ns, 1000);
  assert_true(r->lanes.data[0].is_device);
  assert_string_equal(r->lanes.data[0].name, "/device:CUSTOM:x: q");
  assert_string_equal(tn_recording_errors(r), "error");
  char *text = checked(r, "foreign.xplane.pb",
                       "for p in space[\"planes\"]: print(p[\"name\"], *(l[\"name\"] for l in p[\"lines\"]))");
  check_text(text, "/host:CPU\n/device:CUSTOM:x q\n");
  free(text);
  tn_recording_free(r);
  r = profiler_recording_new();
  const tn_process process = {.name = "p", .host = "", .pid = 1, .node_id = -1};
  profiler_add_process(r, &process);
  assert_true(profiler_append_xspace(r, foreign, sizeof foreign - 1, &why));
  assert_false(profiler_append_xspace(r, foreign, sizeof foreign - 2, &why));
  assert_string_equal(why, "it is no XSpace, or it is cut off");
  assert_int_equal(r->processes.n, 1);
  assert_int_equal(r->n_events, 1);
  tn_recording_free(r);
}

ROW(d7_protoc_decodes) {
  (void)state;
  char path[256];
  if (system("command -v protoc >/dev/null 2>&1") != 0) ROW_SKIP("protoc is not installed");
  tn_recording *r = files_rich();
  assert_int_equal(tn_recording_save(NULL, r, files_path(path, "protoc.xplane.pb")), TN_OK);
  char *text = files_run(
      0, "protoc --proto_path=" TENON_SOURCE_DIR " --decode tensorflow.profiler.XSpace profile/xspace.proto <%s 2>&1",
      path);
  check_has(text, "name: \"/host:CPU\"");
  check_has(text, "double_value: 1e-300");
  check_has_not(text, "\n1: ");
  free(text);
  tn_recording_free(r);
}
