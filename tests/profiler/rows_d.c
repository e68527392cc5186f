/* Rows D1 to D6: plug-ins. */
#include <dlfcn.h>

#include <glob.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "profile/files.h"
#include "profile/profiler_loader.h"
#include "profile/profiler_plugin.h"
#include "tests/profiler/rows.h"

enum { START, STOP, SIZE, FILL, DESTROY_PROFILER, DESTROY_FNS };

static const char *path_of(const char *variant) {
  static char path[512];
  snprintf(path, sizeof path, "%s/libtest_plugin_%s.so", TENON_PLUGIN_DIR, variant);
  return path;
}

/* Its counters; the handle keeps the library loaded. */
static int *calls_of(const char *variant) {
  void *library = dlopen(path_of(variant), RTLD_NOW);
  if (!library) fail_msg("%s", dlerror());
  return dlsym(library, "stub_calls");
}

static tn_plugin *load(tn_context *ctx, const char *variant) {
  tn_plugin *plugin = tn_plugin_load(ctx, path_of(variant));
  if (!plugin) fail_msg("%s", tn_context_message(ctx));
  return plugin;
}

static void refuse(tn_context *ctx, const char *path, const char *why) {
  assert_null(tn_plugin_load(ctx, path));
  check_message_has(ctx, "plug-in", why);
  tn_context_clear(ctx);
}

static tn_recording *record_once(void) {
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  {
    TN_TIMED("work");
  }
  return rows_collect();
}

static int count_planes(const tn_recording *r, const char *name) {
  int n = 0;
  for (int i = 0; i < r->processes.n; ++i) n += strstr(r->processes.data[i].name, name) != NULL;
  for (int i = 0; i < r->lanes.n && n == 0; ++i) n += strstr(r->lanes.data[i].name, name) != NULL;
  return n;
}

/* ---- D1 ---------------------------------------------------------------------------------------------------------- */

ROW(d1_loading) {
  (void)state;
  tn_context *ctx = check_context();
  tn_plugin *plugin = load(ctx, "FINE");
  assert_string_equal(tn_plugin_device_type(plugin), "STUB");
  refuse(ctx, "/nowhere/plugin.so", "/nowhere/plugin.so");
  refuse(ctx, "/proc/self/status", "/proc/self/status");
  refuse(ctx, TENON_PLUGIN_DIR "/libtest_tracer.so", "defines neither tn_plugin_init");
  refuse(ctx, path_of("FAIL_INIT"), "no init today");
  tn_recording *r = record_once();
  assert_int_equal(rows_count(r, "stub"), 1); /* the others did not stop it */
  assert_int_equal(rows_count(r, "work"), 1);
  assert_string_equal(tn_recording_errors(r), "");
  size_t n;
  char *bytes = tn_recording_write(ctx, r, TN_FORM_XSPACE, &n);
  assert_non_null(memmem(bytes, n, "CUSTOM:STUB", 11));
  free(bytes);
  assert_true(count_planes(r, "STUB") >= 1);
  tn_recording_free(r);
  assert_int_equal(tn_plugin_unload(ctx, plugin), TN_OK);
  check_context_free(ctx);
}

ROW(d1_not_while_a_session_runs) {
  (void)state;
  tn_context *ctx = check_context();
  tn_plugin *plugin = load(ctx, "FINE");
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  assert_null(tn_plugin_load(ctx, path_of("OLDER")));
  check_message_has(ctx, "not while a session runs");
  tn_context_clear(ctx);
  assert_int_equal(tn_plugin_unload(ctx, plugin), TN_ERROR_ARGUMENT);
  tn_context_clear(ctx);
  tn_recording_free(rows_collect());
  assert_int_equal(tn_plugin_unload(ctx, plugin), TN_OK);
  check_context_free(ctx);
}

/* ---- D2 ---------------------------------------------------------------------------------------------------------- */

ROW(d2_sizes) {
  (void)state;
  static const struct {
    const char *variant, *why;
  } wrong[] = {{"ZERO_SIZE", "struct_size is 0"},
               {"NO_FUNCTION", "function stop is NULL"},
               {"NO_TYPE", "device type is NULL"},
               {"BAD_TYPE", "device type is malformed"}};
  tn_context *ctx = check_context();
  for (int i = 0; i < RUNTIME_COUNT(wrong); ++i) refuse(ctx, path_of(wrong[i].variant), wrong[i].why);
  assert_int_equal(TN_PLUGIN_PROFILER_SIZE, offsetof(tn_plugin_profiler, name) + sizeof(char *));
  assert_int_equal(TN_PLUGIN_STATUS_SIZE, offsetof(tn_plugin_status, message) + 500);
  tn_plugin *older = load(ctx, "OLDER"), *newer = load(ctx, "NEWER"); /* their structs end where memory does */
  tn_recording *r = record_once();
  assert_int_equal(rows_count(r, "stub"), 2);
  tn_recording_free(r);
  assert_int_equal(tn_plugin_unload(ctx, older), TN_OK);
  assert_int_equal(tn_plugin_unload(ctx, newer), TN_OK);
  check_context_free(ctx);
}

/* ---- D3 ---------------------------------------------------------------------------------------------------------- */

/* The plug-in's own side of the protocol, without the core. */
static tn_plugin_profiler_fns register_alone(const char *path, tn_plugin_profiler *profiler,
                                             tn_plugin_registration *params) {
  static tn_plugin_profiler_fns fns;
  void *library = dlopen(path, RTLD_NOW);
  if (!library) fail_msg("%s", dlerror());
  union {
    void *object;
    tn_plugin_init_fn init;
  } symbol = {dlsym(library, TN_PLUGIN_INIT)};
  tn_plugin_status status = {.struct_size = TN_PLUGIN_STATUS_SIZE};
  *profiler = (tn_plugin_profiler){.struct_size = TN_PLUGIN_PROFILER_SIZE};
  fns = (tn_plugin_profiler_fns){.struct_size = TN_PLUGIN_PROFILER_FNS_SIZE};
  *params =
      (tn_plugin_registration){.struct_size = TN_PLUGIN_REGISTRATION_SIZE, .profiler = profiler, .profiler_fns = &fns};
  symbol.init(params, &status);
  assert_int_equal(status.code, TN_PLUGIN_OK);
  return fns;
}

static void check_protocol(const char *path, bool needs_data) {
  tn_plugin_profiler profiler;
  tn_plugin_registration params;
  tn_plugin_profiler_fns fns = register_alone(path, &profiler, &params);
  for (int i = 0; i < 2; ++i) {
    tn_plugin_status status = {.struct_size = TN_PLUGIN_STATUS_SIZE};
    size_t size = 0xdeadbeef, n;
    fns.start(&profiler, &status);
    fns.stop(&profiler, &status);
    fns.collect_data_xspace(&profiler, NULL, &size, &status);
    assert_true(status.code == TN_PLUGIN_OK && size < 1 << 20 && (size > 0 || !needs_data));
    n = size;
    if (n == 0) continue;
    uint8_t *buffer = malloc(n); /* the sanitizer sees an overrun */
    size = n - 1;
    fns.collect_data_xspace(&profiler, buffer, &size, &status);
    assert_int_equal(status.code, TN_PLUGIN_FAILED_PRECONDITION);
    status.code = TN_PLUGIN_OK;
    size = n;
    fns.collect_data_xspace(&profiler, buffer, &size, &status);
    assert_true(status.code == TN_PLUGIN_OK && size == n);
    size = n;
    fns.collect_data_xspace(&profiler, NULL, &size, &status);
    assert_int_equal(size, 0);
    free(buffer);
  }
  params.destroy_profiler(&profiler);
  params.destroy_profiler_fns(params.profiler_fns);
}

ROW(d3_two_calls) {
  (void)state;
  check_protocol(path_of("FINE"), true);
  check_protocol(TENON_PERF_PLUGIN, false);
  int *calls = calls_of("NO_DATA");
  tn_context *ctx = check_context();
  tn_plugin *plugin = load(ctx, "NO_DATA");
  tn_recording *r = record_once();
  assert_true(calls[START] == 1 && calls[STOP] == 1 && calls[SIZE] == 1 && calls[FILL] == 0);
  assert_int_equal(r->processes.n, 1);
  assert_string_equal(tn_recording_errors(r), "");
  tn_recording_free(r);
  tn_plugin_unload(ctx, plugin);
  check_context_free(ctx);
}

/* ---- D4 ---------------------------------------------------------------------------------------------------------- */

ROW(d4_each_destroyed_once) {
  (void)state;
  int *calls = calls_of("FINE"), *half = calls_of("HALF_INIT");
  tn_context *ctx = check_context();
  for (int i = 1; i <= 100; ++i) {
    tn_plugin *plugin = load(ctx, "FINE");
    if (i % 10 == 0) tn_recording_free(record_once());
    assert_int_equal(calls[DESTROY_PROFILER], i - 1);
    assert_int_equal(tn_plugin_unload(ctx, plugin), TN_OK);
    assert_true(calls[DESTROY_PROFILER] == i && calls[DESTROY_FNS] == i);
    refuse(ctx, path_of("HALF_INIT"), "half an init");
    assert_true(half[DESTROY_PROFILER] == i && half[DESTROY_FNS] == i);
  }
  assert_true(calls[START] == 10 && calls[STOP] == 10 && calls[SIZE] == 10 && calls[FILL] == 10);
  check_context_free(ctx);
}

/* ---- D5 ---------------------------------------------------------------------------------------------------------- */

ROW(d5_errors_are_kept) {
  (void)state;
  static const char *const variants[] = {"FAIL_START", "FAIL_STOP", "FAIL_SIZE", "FAIL_FILL", "GARBAGE", "FINE"};
  static const char *const texts[] = {"no start today", "no stop today", "no size today", "no filling today", "stub"};
  tn_plugin *plugins[RUNTIME_COUNT(variants)];
  tn_context *ctx = check_context();
  for (int i = 0; i < RUNTIME_COUNT(variants); ++i) plugins[i] = load(ctx, variants[i]);
  tn_recording *r = record_once();
  for (int i = 0; i < RUNTIME_COUNT(texts); ++i) check_has(tn_recording_errors(r), texts[i]);
  assert_int_equal(rows_count(r, "work"), 1);
  assert_true(rows_count(r, "stub") >= 1);
  size_t n;
  char *bytes = tn_recording_write(ctx, r, TN_FORM_XSPACE, &n);
  for (int i = 0; i < 4; ++i) assert_non_null(memmem(bytes, n, texts[i], strlen(texts[i])));
  free(bytes);
  tn_recording_free(r);
  for (int i = 0; i < RUNTIME_COUNT(plugins); ++i) assert_int_equal(tn_plugin_unload(ctx, plugins[i]), TN_OK);
  check_context_free(ctx);
}

ROW(d5_fuzzed_buffers) {
  (void)state;
  tn_context *ctx = check_context();
  size_t n;
  tn_recording *tree = rows_tree();
  char *good = tn_recording_write(ctx, tree, TN_FORM_XSPACE, &n);
  runtime_rng rng = {5};
  for (int i = 0; i < 10000; ++i) {
    char *bytes = malloc(n);
    size_t some = (size_t)runtime_random_below(&rng, (int64_t)n + 1);
    memcpy(bytes, good, some);
    for (int k = (int)runtime_random_below(&rng, 8); k > 0 && some > 0; --k)
      bytes[runtime_random_below(&rng, (int64_t)some)] = (char)runtime_random(&rng);
    tn_recording *r = profiler_recording_new();
    const char *why = NULL;
    bool read = profiler_append_xspace(r, bytes, some, &why);
    assert_true(read || why);
    profiler_recording_finish(r);
    tn_recording_free(r);
    free(bytes);
  }
  free(good);
  tn_recording_free(tree);
  check_context_free(ctx);
}

/* ---- D6 ---------------------------------------------------------------------------------------------------------- */

/* How often the plug-in was started in one session with these options. */
static int starts_with(int *calls, unsigned level, tn_device_type type) {
  tn_device_options options = tn_device_options_default();
  options.device_tracer_level = level;
  options.device_type = type;
  tn_device_options_set(&options);
  int before = calls[START];
  tn_recording_free(record_once());
  return calls[START] - before;
}

ROW(d6_who_is_started) {
  (void)state;
  int *calls = calls_of("FINE");
  tn_context *ctx = check_context();
  tn_plugin *plugin = load(ctx, "FINE");
  assert_int_equal(starts_with(calls, 0, TN_DEVICE_UNSPECIFIED), 0);
  assert_int_equal(starts_with(calls, 1, TN_DEVICE_CPU), 0);
  assert_int_equal(starts_with(calls, 1, TN_DEVICE_GPU), 0);
  assert_int_equal(starts_with(calls, 1, TN_DEVICE_UNSPECIFIED), 1);
  assert_int_equal(starts_with(calls, 1, TN_DEVICE_PLUGGABLE), 1);
  tn_device_options_set(NULL);
  tn_recording_free(record_once());
  assert_int_equal(calls[START], 3);
  tn_plugin_unload(ctx, plugin);
  check_context_free(ctx);
}

/* A session of 30 ms with an event of every level and one of a device; what came of it. */
static tn_recording *record_with(const tn_device_options *options) {
  tn_device_options_set(options);
  assert_int_equal(tn_profile_start(NULL, NULL), TN_OK);
  {
    TN_SCOPE(APP, 1, "user's");
    TN_SCOPE(LLVM, 4, "fine");
    TN_SCOPE(LLVM, 7, "finest");
    usleep(30000);
  }
  {
    TN_SCOPE(APP, 1, "late");
  }
  tn_device_options_set(NULL); /* changes nothing while a session runs */
  tn_context *ctx = check_context();
  bool runs = tn_profile_get_state() == TN_PROFILE_RECORDING;
  if (runs) {
    assert_int_equal(tn_profile_set_device_options(ctx, NULL), TN_ERROR_ARGUMENT);
    check_message_has(ctx, "tn_profile_set_device_options: not while a session runs");
    tn_context_clear(ctx);
  }
  check_context_free(ctx);
  tn_recording *r = rows_collect();
  tn_device_options_set(NULL);
  return r;
}

static void check_levels(unsigned level, int users, int fine, int finest) {
  tn_device_options options = tn_device_options_default();
  options.host_tracer_level = level;
  tn_recording *r = record_with(&options);
  assert_int_equal(rows_count(r, "user's"), users);
  assert_int_equal(rows_count(r, "fine"), fine);
  assert_int_equal(rows_count(r, "finest"), finest);
  tn_recording_free(r);
}

ROW(d8_options_are_obeyed) {
  (void)state;
  check_levels(0, 0, 0, 0);
  check_levels(1, 1, 0, 0);
  check_levels(2, 1, 1, 0);
  check_levels(3, 1, 1, 1);
  tn_device_options options = tn_device_options_default();
  options.duration_ms = 1;
  tn_recording *r = record_with(&options);
  const tn_event *cut = rows_find(r, "user's", 0);
  assert_true(cut && cut->duration_ns <= 1000000 && (cut->flags & TN_EVENT_UNFINISHED));
  assert_int_equal(rows_count(r, "late"), 0);
  tn_recording_free(r);
  options.duration_ms = 0;
  options.start_timestamp_ns = (uint64_t)time(NULL) * 1000000000 + 3600000000000u;
  r = record_with(&options);
  assert_int_equal(rows_count(r, NULL), 0);
  tn_recording_free(r);
  r = record_with(NULL); /* and are gone */
  assert_int_equal(rows_count(r, "late"), 1);
  tn_recording_free(r);
}

ROW(d8_the_repository_is_written) {
  (void)state;
  char folder[] = "/tmp/tenon-d6-XXXXXX", command[256];
  assert_non_null(mkdtemp(folder));
  tn_device_options options = tn_device_options_default();
  options.repository_path = folder;
  tn_recording *r = record_with(&options);
  assert_string_equal(tn_recording_errors(r), "");
  tn_recording_free(r);
  glob_t found;
  snprintf(command, sizeof command, "%s/plugins/profile/*/*.xplane.pb", folder);
  assert_int_equal(glob(command, 0, NULL, &found), 0);
  assert_int_equal(found.gl_pathc, 1);
  r = tn_recording_load(NULL, found.gl_pathv[0]);
  assert_int_equal(rows_count(r, "user's"), 1);
  tn_recording_free(r);
  globfree(&found);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  /* a folder that cannot be made is told, and the recording is there */
  options.repository_path = "/proc/none";
  r = record_with(&options);
  check_has(tn_recording_errors(r), "repository_path: /proc/none/plugins/profile/");
  assert_int_equal(rows_count(r, "late"), 1);
  tn_recording_free(r);
}

ROW(d6_options_as_bytes) {
  (void)state;
  static const uint8_t upstream[] = {
      0x08, 1,    0x10, 3, 0x18, 2,    0x20, 1,    0x28, 1,   0x30, 4,   0x38,
      1,    0x40, 0x96, 1, 0x48, 0xac, 2,    0x52, 4,    '/', 't',  'm', 'p'}; /* fields 1 to 10, by hand */
  const tn_device_options options = {1, TN_DEVICE_PLUGGABLE, true, 3, 2, 1, true, 150, 300, "/tmp"};
  tn_context *ctx = check_context();
  tn_device_options back;
  char *path;
  size_t n;
  void *bytes = tn_device_options_encode(&options, &n);
  assert_int_equal(n, sizeof upstream);
  assert_memory_equal(bytes, upstream, n);
  assert_int_equal(tn_device_options_decode(ctx, bytes, n, &back, &path), TN_OK);
  assert_true(back.version == 1 && back.device_type == TN_DEVICE_PLUGGABLE && back.include_dataset_ops &&
              back.host_tracer_level == 3 && back.device_tracer_level == 2 && back.python_tracer_level == 1 &&
              back.enable_hlo_proto && back.start_timestamp_ns == 150 && back.duration_ms == 300);
  assert_string_equal(back.repository_path, "/tmp");
  free(path);
  assert_int_equal(tn_device_options_decode(ctx, "\xff\xff", 2, &back, &path), TN_ERROR_PARSE);
  check_message_has(ctx, "ProfileOptions");
  free(bytes);
  check_context_free(ctx);
}
