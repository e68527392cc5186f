/* Rows A15 to A20: lanes, concurrent recording, memory, external tracers, devices. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/profiler/rows.h"

static void start(void) { assert_int_equal(tn_profile_start(NULL, NULL), TN_OK); }

/* ---- A15 --------------------------------------------------------------------------------------------------------- */

static void *named_thread(void *name) {
  pthread_setname_np(pthread_self(), name);
  {
    TN_TIMED("work");
  }
  return (void *)(intptr_t)gettid();
}

static void *short_thread(void *unused) {
  (void)unused;
  for (int i = 0; i < 10; ++i) {
    TN_TIMED("short");
  }
  return NULL;
}

static void check_names(void) {
  static const char *const names[] = {"builder", "runner", "search"};
  pthread_t threads[3];
  void *tids[3];
  start();
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, named_thread, (void *)names[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], &tids[i]);
  tn_recording *r = rows_collect();
  assert_int_equal(r->lanes.n, 3);
  for (int i = 0; i < 3; ++i) {
    int found = -1;
    for (int k = 0; k < 3; ++k)
      if (strcmp(r->lanes.data[k].name, names[i]) == 0) found = k;
    assert_true(found >= 0);
    assert_int_equal(r->lanes.data[found].tid, (intptr_t)tids[i]);
  }
  tn_recording_free(r);
}

static int64_t run_short_threads(int n) {
  start();
  for (int i = 0; i < n; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, short_thread, NULL);
    pthread_join(thread, NULL);
  }
  tn_recording *r = rows_collect();
  int64_t events = r->n_events;
  assert_int_equal(r->lanes.n, n);
  tn_recording_free(r);
  return events;
}

ROW(a15_threads) {
  (void)state;
  check_names();
  run_short_threads(10);
  int64_t before = rows_resident_bytes();
  assert_int_equal(run_short_threads(1000), 10000);
  int64_t after = rows_resident_bytes();
  if (!rows_is_instrumented() && after - before > 1 << 20)
    fail_msg("RSS grew by %lld bytes", (long long)(after - before));
}

/* ---- A16 --------------------------------------------------------------------------------------------------------- */

static int64_t scopes_each;

static void record_scopes(int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    TN_TIMED("many");
  }
}

static void *many_scopes(void *unused) {
  (void)unused;
  record_scopes(1); /* warm-up */
  getppid();        /* a marker in strace's output */
  record_scopes(scopes_each - 1);
  getppid();
  return NULL;
}

static tn_recording *record_many(int64_t each) {
  pthread_t threads[8];
  scopes_each = each;
  const tn_profile_options options = {.max_bytes = (size_t)1 << 30};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, many_scopes, NULL);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  return rows_collect();
}

/* Counts futex calls of each thread between its two getppid calls. */
static int count_futex_calls(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char line[512];
  int inside[8] = {0}, n_threads = 0, calls = 0;
  while (fgets(line, sizeof line, file)) {
    int tid = atoi(line), at = -1;
    for (int i = 0; i < n_threads; ++i)
      if (inside[i] == tid) at = i;
    if (strstr(line, "getppid(")) {
      if (at < 0 && n_threads < 8)
        inside[n_threads++] = tid;
      else if (at >= 0)
        inside[at] = -1;
    } else if (at >= 0 && strstr(line, "futex(")) {
      ++calls;
    }
  }
  fclose(file);
  assert_int_equal(n_threads, 8);
  return calls;
}

static void check_futex_calls(void) {
  if (rows_is_instrumented() || system("strace -V >/dev/null 2>&1 && strace -o /dev/null true") != 0) {
    printf("no strace here: futex calls were not counted\n");
    return;
  }
  char program[4096], command[8192], trace[] = "/tmp/tenon-a16-XXXXXX";
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  int file = mkstemp(trace);
  assert_true(n > 0 && file >= 0);
  close(file);
  program[n] = '\0';
  snprintf(command, sizeof command,
           "TENON_A16_CHILD=1 strace -f -e trace=futex,getppid -o %s '%s' a16_concurrent_recording >/dev/null 2>&1",
           trace, program);
  assert_int_equal(system(command), 0);
  int calls = count_futex_calls(trace);
  unlink(trace);
  assert_int_equal(calls, 0);
}

ROW(a16_concurrent_recording) {
  (void)state;
  if (getenv("TENON_A16_CHILD")) {
    tn_recording_free(record_many(100000));
    return;
  }
  int64_t each = rows_scaled(1000000);
  tn_recording *r = record_many(each);
  assert_int_equal(rows_count(r, "many"), 8 * each);
  assert_int_equal(r->info.stats.dropped, 0);
  for (int64_t i = 1; i < r->n_events; ++i)
    if (r->events[i].lane == r->events[i - 1].lane)
      assert_true(r->events[i].start_ns >= r->events[i - 1].start_ns + r->events[i - 1].duration_ns);
  tn_recording_free(r);
  check_futex_calls();
}

/* ---- A17, A18 ---------------------------------------------------------------------------------------------------- */

static char at[4];

ROW(a17_memory_events) {
  (void)state;
  start();
  tn_memory_alloc("arena", &at[0], 100);
  tn_memory_alloc("arena", &at[1], 50);
  tn_memory_free("arena", &at[0], 0);
  tn_memory_alloc("arena", &at[2], 70);
  tn_memory_free("arena", &at[3], 0);         /* never seen */
  tn_memory_alloc("other", &at[3], 1);        /* a pool of its own */
  tn_memory_failed("arena", (size_t)1 << 40); /* what a failing allocator says */
  tn_recording *r = rows_collect();
  static const int64_t running[] = {100, 150, 50, 120, 120, 1, 120};
  int64_t peak = 0;
  int n_allocs = 0, n_frees = 0;
  assert_int_equal(r->n_events, RUNTIME_COUNT(running));
  for (int i = 0; i < RUNTIME_COUNT(running); ++i) {
    const tn_event *e = &r->events[i];
    assert_int_equal(e->kind, TN_EVENT_MEMORY);
    assert_int_equal(e->current, running[i]);
    if (strcmp(e->name, "arena") != 0 || (e->flags & (TN_EVENT_FAILED | TN_EVENT_UNKNOWN))) continue;
    peak = RUNTIME_MAX(peak, e->current);
    if (e->flags & TN_EVENT_FREE)
      ++n_frees;
    else
      ++n_allocs;
  }
  assert_int_equal(peak, 150);
  assert_int_equal(n_allocs, 3);
  assert_int_equal(n_frees, 1);
  assert_int_equal(r->info.stats.unknown_frees, 1);
  assert_int_equal(r->events[0].id, (uintptr_t)&at[0]);
  assert_int_equal(r->events[6].flags, TN_EVENT_FAILED);
  assert_true(r->events[6].bytes == INT64_C(1) << 40);
  tn_recording_free(r);
}

ROW(a18_memory_of_ranges) {
  (void)state;
  start();
  {
    TN_TIMED("A");
    tn_memory_alloc("arena", NULL, 100);
    {
      TN_TIMED("B");
      tn_memory_alloc("arena", NULL, 50);
    }
  }
  tn_memory_alloc("arena", NULL, 7);
  tn_recording *r = rows_collect();
  int64_t *self = calloc((size_t)r->n_events, sizeof *self), *total = calloc((size_t)r->n_events, sizeof *total),
          outside;
  tn_recording_memory(r, self, total, &outside);
  int64_t a = rows_find(r, "A", 0) - r->events, b = rows_find(r, "B", 0) - r->events, sum = outside;
  assert_int_equal(total[a], 150);
  assert_int_equal(self[a], 100);
  assert_int_equal(total[b], 50);
  assert_int_equal(self[b], 50);
  assert_int_equal(outside, 7);
  for (int64_t i = 0; i < r->n_events; ++i) sum += self[i];
  assert_int_equal(sum, 157);
  free(self);
  free(total);
  tn_recording_free(r);
}

/* ---- A19 --------------------------------------------------------------------------------------------------------- */

/* A library beside this program. */
static const char *beside(const char *name, char path[4096]) {
  ssize_t n = readlink("/proc/self/exe", path, 4000);
  assert_true(n > 0);
  path[n] = '\0';
  strcpy(strrchr(path, '/') + 1, name);
  return path;
}

static void traced_scopes(const char *(*top)(void)) {
  TN_TIMED("outer");
  assert_string_equal(top(), "outer");
  for (int i = 0; i < 3; ++i) {
    TN_TIMED("inner");
    assert_string_equal(top(), "inner");
    tn_mark(NULL, "mark", NULL, 0);
  }
  assert_string_equal(top(), "outer");
  tn_counter(NULL, "counter", 1);
}

static void check_tracer(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library) fail_msg("%s", dlerror());
  union {
    void *object;
    const int *(*numbers)(void);
    const char *(*top)(void);
  } numbers = {dlsym(library, "tracer_numbers")}, top = {dlsym(library, "tracer_top")};
  const tn_profile_options options = {.pass_through = path};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  traced_scopes(top.top);
  tn_recording *r = rows_collect();
  assert_int_equal(r->n_events, 0);
  tn_recording_free(r);
  static const int expected[] = {4, 4, 3, 0, 2}; /* pushes, pops, marks, depth, deepest */
  for (int i = 0; i < RUNTIME_COUNT(expected); ++i) assert_int_equal(numbers.numbers()[i], expected[i]);
  dlclose(library);
}

ROW(a19_pass_through) {
  (void)state;
  char path[4096];
  check_tracer(beside("libtest_tracer.so", path));
  tn_context *ctx = check_context();
  const tn_profile_options absent = {.pass_through = "/nowhere/libtracer.so"};
  assert_int_equal(tn_profile_start(ctx, &absent), TN_OK);
  check_ok(ctx);
  const char *messages = check_messages(ctx);
  check_has(messages, "warning: profile: no pass-through to /nowhere/libtracer.so: ");
  assert_null(strstr(strchr(messages, '\n') + 1, "warning"));
  check_context_free(ctx);
  tn_recording *r = rows_collect();
  check_has(tn_recording_warnings(r), "no pass-through");
  tn_recording_free(r);
}

/* ---- A20 --------------------------------------------------------------------------------------------------------- */

/* The stub device's clock: another zero, and 0.1 per cent fast. */
static uint64_t device_now(void *user) {
  const uint64_t *zero = user;
  uint64_t passed = profiler_now_ns() - *zero;
  return 5000 + passed + passed / 1000;
}

/* Kernels on a device's lane; whether each lies within its launch and wait by the host's clock, give or take 5 us. */
static bool check_alignment(uint64_t *zero) {
  enum { N_KERNELS = 20, SLACK_NS = 5000 };
  bool ok = true;
  start();
  int lane = tn_device_lane("stub device", device_now, zero);
  assert_true(lane > 0);
  for (int i = 0; i < N_KERNELS; ++i) {
    TN_TIMED("launch to sync");
    uint64_t begin = device_now(zero);
    usleep(2000);
    tn_device_event(lane, "kernel", begin, device_now(zero));
  }
  tn_recording *r = rows_collect();
  for (int i = 0; i < N_KERNELS; ++i) {
    const tn_event *kernel = rows_find(r, "kernel", i), *range = rows_find(r, "launch to sync", i);
    assert_true(r->lanes.data[kernel->lane].is_device);
    assert_true(kernel->flags & TN_EVENT_DEVICE);
    ok &= kernel->start_ns >= range->start_ns - SLACK_NS &&
          kernel->start_ns + kernel->duration_ns <= range->start_ns + range->duration_ns + SLACK_NS &&
          kernel->duration_ns >= 2000000;
  }
  tn_recording_free(r);
  return ok;
}

ROW(a20_device_lane) {
  (void)state;
  assert_int_equal(tn_device_lane("none", device_now, NULL), 0); /* no session */
  tn_device_event(1, "kernel", 0, 1);
  uint64_t zero = profiler_now_ns();
  start();
  tn_recording *r = rows_collect();
  assert_int_equal(r->lanes.n, 0); /* no device, no lane */
  tn_recording_free(r);
  rows_load load = rows_load_now();
  bool ok = false;
  for (int i = 0; i < 5 && !ok; ++i) ok = check_alignment(&zero); /* a clock may be read late on a busy machine */
  if (!ok) rows_skip_if_busy(&load, "the device's clock was off by more than 5 us");
  assert_true(ok);
}
