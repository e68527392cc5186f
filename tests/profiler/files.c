/* What the rows of files and views share. */
#include "tests/profiler/files.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char files_odd_name[] = "odd \"name\" \\ \x01\n\t, \xc3\xa9 \xf0\x9f\x98\x80 \xff\xc0";

/* ---- a recording with everything --------------------------------------------------------------------------------- */

static tn_event *add(tn_recording *r, int lane, tn_event_kind kind, const char *name, int64_t start_ns,
                     int64_t duration_ns) {
  tn_event *e = profiler_add_event(r, lane, kind, name);
  assert_non_null(e);
  e->start_ns = start_ns;
  e->duration_ns = duration_ns;
  e->parent = PROFILER_PARENT_UNKNOWN;
  e->level = 1;
  return e;
}

static void add_args(tn_recording *r) {
  const tn_event_arg args[] = {tn_event_arg_i64("minus", -1),
                               tn_event_arg_i64("i64", INT64_MAX),
                               tn_event_arg_u64("u64", UINT64_MAX),
                               tn_event_arg_f64("tiny", 1e-300),
                               tn_event_arg_text("text", "a\"b\\c\n"),
                               tn_event_arg_text("utf8", "\xc3\xa9\xf0\x9f\x98\x80"),
                               tn_event_arg_i64("kind", 7),
                               tn_event_arg_text("twice", "first"),
                               tn_event_arg_text("twice", "second")};
  for (int i = 0; i < RUNTIME_COUNT(args); ++i) profiler_add_arg(r, &args[i]);
}

static void add_scopes(tn_recording *r) {
  const tn_source source = {"search.c", "evolve", 42};
  int site = profiler_add_source(r, &source);
  tn_event *e = add(r, 0, TN_EVENT_SCOPE, "A", 0, 1000);
  e->site = site;
  e->category = TN_CATEGORY_SEARCH;
  add(r, 0, TN_EVENT_SCOPE, "B", 100, 300)->level = 2;
  add(r, 0, TN_EVENT_SCOPE, "C", 150, 100)->sequence = 5;
  add(r, 0, TN_EVENT_SCOPE, "B", 500, 400);
  add_args(r);
  add(r, 0, TN_EVENT_SCOPE, files_odd_name, 2000, 0);
  e = add(r, 0, TN_EVENT_SCOPE, "overlap", 900, 500);
  e->flags = TN_EVENT_OVERLAP;
  e->parent = -1;
  add(r, 0, TN_EVENT_SCOPE, "open", 3000, 1000)->flags = TN_EVENT_UNFINISHED;
  add(r, 2, TN_EVENT_SCOPE, "killed", 10, 3990)->flags = TN_EVENT_KILLED;
  e = add(r, 3, TN_EVENT_SCOPE, "kernel", 220, 130);
  e->flags = TN_EVENT_DEVICE;
  e->category = TN_CATEGORY_DEVICE;
}

static void add_others(tn_recording *r) {
  add(r, 1, TN_EVENT_ASYNC, "range", 42, 700)->id = 9;
  add(r, 1, TN_EVENT_ASYNC, "range", 50, 600)->id = UINT64_C(1) << 40;
  add(r, 1, TN_EVENT_INSTANT, "mark, with \"comma\"\nand line", 42, 0);
  add(r, 1, TN_EVENT_COUNTER, "best_gflops", 60, 0)->value = 12.25;
  add(r, 2, TN_EVENT_COUNTER, "best_gflops", 70, 0)->value = 1e-9;
  for (int i = 0; i < 3; ++i) {
    tn_event *e = add(r, i == 1 ? 2 : 0, TN_EVENT_FLOW, "candidate", 110 + 100 * i, 0);
    e->id = 77;
    e->phase = (uint8_t)i;
  }
  static const int64_t bytes[] = {100, 50, -100, 70};
  for (int i = 0; i < 4; ++i) {
    tn_event *e = add(r, 0, TN_EVENT_MEMORY, "arena", 600 + i, 0);
    e->bytes = bytes[i];
    e->id = bytes[i] < 0 ? 0x1000 : 0x1000u + 256u * (unsigned)i;
    if (bytes[i] < 0) e->flags = TN_EVENT_FREE;
  }
  tn_event *e = add(r, 0, TN_EVENT_MEMORY, "arena", 700, 0);
  e->bytes = 1 << 30;
  e->flags = TN_EVENT_FAILED;
}

tn_recording *files_rich(void) {
  tn_recording *r = profiler_recording_new();
  const tn_process processes[] = {{.name = "tuner", .host = "here", .pid = 100, .node_id = -1},
                                  {.name = "worker",
                                   .host = "there",
                                   .pid = 101,
                                   .node_id = 3,
                                   .is_remote = true,
                                   .was_killed = true,
                                   .clock_offset_ns = -7,
                                   .clock_bound_ns = 5}};
  const tn_lane lanes[] = {{.name = "main", .tid = 100},
                           {.name = files_odd_name, .tid = 102, .dropped = 3},
                           {.name = "main", .tid = 101, .process = 1},
                           {.name = "stub", .tid = 7, .is_device = true}};
  for (int i = 0; i < 2; ++i) profiler_add_process(r, &processes[i]);
  for (int i = 0; i < 4; ++i) profiler_add_lane(r, &lanes[i]);
  add_scopes(r);
  add_others(r);
  r->info = (tn_recording_info){.start_ns = 5000,
                                .duration_ns = 4000,
                                .start_unix_ns = 1700000000000000000,
                                .n_rounds = 2,
                                .stats = {.dropped = 3, .bytes = 4096, .event_cost_ns = 31.5, .stop_ns = 17}};
  profiler_error(r, "plug-in \"x\" failed");
  profiler_warn(r, "3 events were dropped");
  profiler_warn(r, "a second line");
  assert_true(profiler_recording_finish(r));
  return r;
}

/* ---- files and programs ------------------------------------------------------------------------------------------ */

static char folder[64]; /* "" until the first path is wanted */

static void remove_folder(void) {
  char path[400];
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    unlink(path);
  }
  if (dir) closedir(dir);
  rmdir(folder);
}

const char *files_path(char path[256], const char *name) {
  if (!*folder) {
    strcpy(folder, "/tmp/tenon-files-XXXXXX");
    assert_non_null(mkdtemp(folder));
    atexit(remove_folder);
  }
  snprintf(path, 256, "%s/%s", folder, name);
  return path;
}

char *files_run(int status, const char *fmt, ...) {
  char command[2048];
  va_list args;
  va_start(args, fmt);
  vsnprintf(command, sizeof command, fmt, args);
  va_end(args);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  runtime_str text = {0};
  char buffer[4096];
  runtime_str_add(&text, "");
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) runtime_str_addn(&text, buffer, n);
  int end = pclose(pipe);
  if (!WIFEXITED(end) || WEXITSTATUS(end) != status) fail_msg("'%s' ended with %d:\n%s", command, end, text.data);
  return text.data;
}

tn_recording *files_round_trip(const tn_recording *r, const char *name) {
  char path[256];
  tn_context *ctx = check_context();
  /* Saving adds its own time to the recording: the caller's stays as it is. */
  tn_recording copy = *r;
  tn_recording_save(ctx, &copy, files_path(path, name));
  check_ok(ctx);
  tn_recording *back = tn_recording_load(ctx, path);
  check_ok(ctx);
  assert_non_null(back);
  check_context_free(ctx);
  return back;
}

void files_same_form(const tn_recording *a, const tn_recording *b, tn_profile_form form) {
  size_t n_a, n_b;
  tn_context *ctx = check_context();
  char *left = tn_recording_write(ctx, a, form, &n_a), *right = tn_recording_write(ctx, b, form, &n_b);
  check_ok(ctx);
  if (n_a != n_b || memcmp(left, right, n_a) != 0) {
    if (form != TN_FORM_BINARY && form != TN_FORM_XSPACE) check_text(right, left);
    fail_msg("form %d differs: %zu and %zu bytes", form, n_a, n_b);
  }
  free(left);
  free(right);
  check_context_free(ctx);
}

void files_same(const tn_recording *a, const tn_recording *b) {
  static const tn_profile_form forms[] = {TN_FORM_CHROME, TN_FORM_XSPACE, TN_FORM_CSV, TN_FORM_REPORT, TN_FORM_FOLDED};
  for (int i = 0; i < RUNTIME_COUNT(forms); ++i) files_same_form(a, b, forms[i]);
}

/* ---- fuzzing ----------------------------------------------------------------------------------------------------- */

/* Flips, overwrites, cuts out, doubles or truncates somewhere. */
static size_t mutate(unsigned char *data, size_t n, size_t cap, runtime_rng *rng) {
  size_t at = (size_t)runtime_random_below(rng, (int64_t)n), length = (size_t)runtime_random_below(rng, 16) + 1;
  length = RUNTIME_MIN(length, n - at);
  switch (runtime_random_below(rng, 6)) {
    case 0: data[at] ^= (unsigned char)(1 << runtime_random_below(rng, 8)); return n;
    case 1: data[at] = (unsigned char)runtime_random(rng); return n;
    case 2: memset(data + at, (int)(runtime_random(rng) & 0xff), length); return n;
    case 3: memmove(data + at, data + at + length, n - at - length); return n - length;
    case 4:
      if (n + length > cap) return n;
      memmove(data + at + length, data + at, n - at);
      return n + length;
    default: return runtime_random_below(rng, 8) ? n : at + 1;
  }
}

void files_fuzz(const char *data, size_t n_bytes, int64_t n, void (*read)(const void *data, size_t n)) {
  runtime_rng rng = {20241120};
  size_t cap = 2 * n_bytes + 64;
  for (int64_t i = 0; i < n; ++i) {
    unsigned char *copy = malloc(cap);
    memcpy(copy, data, n_bytes);
    size_t length = n_bytes;
    for (int64_t k = runtime_random_below(&rng, 6); k >= 0 && length > 1; --k) length = mutate(copy, length, cap, &rng);
    unsigned char *exact = malloc(length); /* so that ASan sees a read behind the end */
    memcpy(exact, copy, length);
    read(exact, length);
    free(exact);
    free(copy);
  }
}
