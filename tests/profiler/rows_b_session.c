/* Rows B1 to B7: nested profilers, sessions and their states, windows, rounds, options from outside, stopping. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/profiler/rows.h"

static void start(void) { assert_int_equal(tn_profile_start(NULL, NULL), TN_OK); }

/* ---- B1 ---------------------------------------------------------------------------------------------------------- */

/* outer { X; inner { X; Y } } under CLK */
static void nest_profilers(tn_profiler *outer, tn_profiler *inner) {
  rows_clock_install();
  tn_profiler_enter(outer);
  tn_scope scope = rows_begin(10, "X");
  rows_end(20, &scope);
  tn_profiler_enter(inner);
  scope = rows_begin(30, "X");
  rows_end(45, &scope);
  scope = rows_begin(50, "Y");
  rows_end(60, &scope);
  assert_int_equal(tn_profiler_exit(outer), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_profiler_calls(outer, "X") > 0, 1);
  assert_int_equal(tn_profiler_calls(inner, "X"), 1);
  rows_clock_set(70);
  assert_int_equal(tn_profiler_exit(inner), TN_OK);
  rows_clock_set(80);
  assert_int_equal(tn_profiler_exit(outer), TN_OK);
}

static void check_nested(bool is_exclusive) {
  tn_profiler *outer = tn_profiler_new(), *inner = tn_profiler_new();
  tn_profiler_set_exclusive(inner, is_exclusive);
  nest_profilers(outer, inner);
  assert_int_equal(tn_profiler_count(inner), 3);
  assert_int_equal(tn_profiler_calls(inner, "X"), 1);
  assert_int_equal(tn_profiler_calls(inner, "Y"), 1);
  assert_int_equal(tn_profiler_calls(outer, "X"), is_exclusive ? 1 : 2);
  assert_int_equal(tn_profiler_calls(outer, "Y"), is_exclusive ? 0 : 1);
  assert_int_equal(tn_profiler_count(outer), is_exclusive ? 2 : 3);
  assert_true(tn_profiler_get(outer, "Total") >= tn_profiler_get(inner, "Total"));
  if (!is_exclusive) assert_true(tn_profiler_get(outer, "X") >= tn_profiler_get(inner, "X"));
  tn_profiler_free(inner);
  tn_profiler_free(outer);
}

ROW(b1_nested_profilers) {
  (void)state;
  check_nested(false);
  check_nested(true);
  assert_null(tn_profiler_current());
  for (int64_t i = 0; i < rows_scaled(1000000); ++i) {
    TN_TIMED("nobody looks");
  }
  assert_int_equal(profiler_live_events(), 0);
  assert_true(tn_profile_filter == 0);
}

typedef struct joining {
  tn_profiler *profiler;
  tn_status refused;
} joining;

static void *join_and_work(void *data) {
  joining *j = data;
  {
    TN_TIMED("before");
  }
  assert_int_equal(tn_profiler_join(j->profiler), TN_OK);
  j->refused = tn_profiler_join(j->profiler);
  assert_ptr_equal(tn_profiler_current(), j->profiler);
  {
    TN_TIMED("on a thread");
  }
  {
    TN_TIMED("on both");
  }
  assert_int_equal(tn_profiler_leave(j->profiler), TN_OK);
  {
    TN_TIMED("after");
  }
  return NULL;
}

/* Threads that join are in the table; so is what a thread with more stack did for its caller. */
ROW(b1_scopes_of_other_threads) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  joining joined[THREADS];
  tn_profiler *p = tn_profiler_new();
  assert_int_equal(tn_profiler_enter(p), TN_OK);
  assert_int_equal(tn_profiler_join(p), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_profiler_leave(p), TN_ERROR_ARGUMENT);
  for (int i = 0; i < THREADS; ++i) {
    joined[i] = (joining){.profiler = p};
    assert_int_equal(pthread_create(&threads[i], NULL, join_and_work, &joined[i]), 0);
  }
  {
    TN_TIMED("on both");
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) assert_int_equal(joined[i].refused, TN_ERROR_ARGUMENT);
  assert_int_equal(tn_profiler_exit(p), TN_OK);
  assert_int_equal(tn_profiler_calls(p, "on a thread"), THREADS);
  assert_int_equal(tn_profiler_calls(p, "on both"), THREADS + 1);
  assert_int_equal(tn_profiler_calls(p, "before") + tn_profiler_calls(p, "after"), 0);
  assert_int_equal(tn_profiler_calls(p, "Total"), 1);
  assert_true(tn_profile_filter == 0);
  tn_profiler_free(p);
}

static void run_an_errand(void *data) {
  TN_TIMED("errand");
  *(pthread_t *)data = pthread_self();
}

ROW(b1_scopes_of_errands) {
  (void)state;
  pthread_t where = pthread_self();
  tn_profiler *p = tn_profiler_new();
  assert_int_equal(tn_profiler_enter(p), TN_OK);
  assert_true(runtime_with_stack((size_t)1 << 40, run_an_errand, &where));
  assert_int_equal(tn_profiler_exit(p), TN_OK);
  assert_false(pthread_equal(where, pthread_self()));
  assert_int_equal(tn_profiler_calls(p, "errand"), 1);
  tn_profiler_free(p);
}

/* ---- B2 ---------------------------------------------------------------------------------------------------------- */

static void check_reset(void) {
  start();
  for (int i = 0; i < 10; ++i) {
    if (i == 2) assert_int_equal(tn_profile_reset(NULL), TN_OK);
    {
      TN_TIMED("first");
    }
    {
      TN_TIMED("second");
    }
  }
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, "first"), 8);
  assert_int_equal(rows_count(r, "second"), 8);
  tn_recording_free(r);
}

static tn_status collect(tn_context *ctx) {
  tn_recording *r = tn_profile_collect(ctx);
  tn_recording_free(r);
  return r ? TN_OK : tn_context_status(ctx);
}

static tn_status start_call(tn_context *ctx) { return tn_profile_start(ctx, NULL); }

static const struct {
  const char *name;
  tn_status (*run)(tn_context *ctx);
} calls[] = {{"start", start_call},
             {"step", tn_profile_step},
             {"reset", tn_profile_reset},
             {"stop", tn_profile_stop},
             {"collect", collect}};

/* Brings the profiler from idle into a state. */
static void enter_state(tn_profile_state wanted) {
  const tn_profile_options waiting = {.skip = 1000, .record = 1};
  if (wanted != TN_PROFILE_IDLE) tn_profile_start(NULL, wanted == TN_PROFILE_WAITING ? &waiting : NULL);
  if (wanted == TN_PROFILE_STOPPED) tn_profile_stop(NULL);
  assert_int_equal(tn_profile_get_state(), wanted);
}

static void back_to_idle(void) {
  if (tn_profile_get_state() == TN_PROFILE_IDLE) return;
  if (tn_profile_get_state() != TN_PROFILE_STOPPED) tn_profile_stop(NULL);
  tn_recording_free(tn_profile_collect(NULL));
  assert_int_equal(tn_profile_get_state(), TN_PROFILE_IDLE);
}

ROW(b2_state_machine) {
  (void)state;
  check_reset();
  enum {
    IDLE = TN_PROFILE_IDLE,
    WAIT = TN_PROFILE_WAITING,
    REC = TN_PROFILE_RECORDING,
    STOP = TN_PROFILE_STOPPED,
    NO = -1
  };
  static const int next[4][RUNTIME_COUNT(calls)] = {/* start, step, reset, stop, collect */
                                                    [IDLE] = {REC, NO, NO, NO, NO},
                                                    [WAIT] = {NO, WAIT, WAIT, STOP, NO},
                                                    [REC] = {NO, REC, REC, STOP, NO},
                                                    [STOP] = {REC, NO, IDLE, NO, IDLE}};
  static const char *const words[] = {"idle", "waiting", "recording", "stopped"};
  for (int s = IDLE; s <= STOP; ++s) {
    for (int c = 0; c < RUNTIME_COUNT(calls); ++c) {
      tn_context *ctx = check_context();
      enter_state((tn_profile_state)s);
      tn_status status = calls[c].run(ctx);
      assert_int_equal(status, next[s][c] == NO ? TN_ERROR_ARGUMENT : TN_OK);
      assert_int_equal(tn_profile_get_state(), next[s][c] == NO ? s : next[s][c]);
      if (next[s][c] == NO) check_fails(ctx, TN_ERROR_ARGUMENT, calls[c].name, words[s]);
      back_to_idle();
      check_context_free(ctx);
    }
  }
}

static void check_refused(tn_profile_options options, const char *text) {
  tn_context *ctx = check_context();
  assert_int_equal(tn_profile_start(ctx, &options), TN_ERROR_ARGUMENT);
  check_fails(ctx, TN_ERROR_ARGUMENT, text);
  assert_int_equal(tn_profile_get_state(), TN_PROFILE_IDLE);
  check_context_free(ctx);
}

ROW(b2_options_are_checked) {
  (void)state;
  check_refused((tn_profile_options){.level = 8}, "level 8 is outside -1 to 7");
  check_refused((tn_profile_options){.level = -2}, "level -2");
  check_refused((tn_profile_options){.categories = 1u << 31}, "bits beyond the last category");
  check_refused((tn_profile_options){.delay_s = -1}, "must not be negative");
  check_refused((tn_profile_options){.record = -1}, "numbers of rounds must not be negative");
  check_refused((tn_profile_options){.closed = 1}, "windows need record rounds");
  tn_context *ctx = check_context();
  const tn_profile_options no_folder = {.file = "/nowhere/at/all/buffers"};
  assert_int_equal(tn_profile_start(ctx, &no_folder), TN_ERROR_IO);
  check_fails(ctx, TN_ERROR_IO, "cannot make /nowhere/at/all/buffers: No such file or directory");
  assert_int_equal(tn_profile_get_state(), TN_PROFILE_IDLE);
  check_context_free(ctx);
}

/* ---- B3 ---------------------------------------------------------------------------------------------------------- */

static void one_cycle(void) {
  start();
  for (int i = 0; i < 1000; ++i) {
    TN_TIMED("event");
  }
  tn_recording *r = rows_collect();
  assert_int_equal(r->n_events, 1000);
  tn_recording_free(r);
}

ROW(b3_restart) {
  (void)state;
  int n = rows_is_instrumented() ? 50 : 1000;
  for (int i = 0; i < 10; ++i) one_cycle();
  int64_t before = rows_resident_bytes();
  for (int i = 10; i < n; ++i) one_cycle();
  int64_t grown = rows_resident_bytes() - before;
  if (!rows_is_instrumented() && grown >= 1 << 20) fail_msg("RSS grew by %lld bytes", (long long)grown);
}

/* ---- B4 ---------------------------------------------------------------------------------------------------------- */

typedef struct windows {
  int n, first[8], last[8];
  tn_status start_inside;
  char *folded; /* an export made inside the callback */
} windows;

static void take_window(void *user, tn_recording *r) {
  windows *w = user;
  int round = -1;
  w->first[w->n] = 1000;
  for (int64_t i = 0; i < r->n_events; ++i) {
    if (sscanf(r->events[i].name, "work %d", &round) != 1) continue;
    w->first[w->n] = RUNTIME_MIN(w->first[w->n], round);
    w->last[w->n] = RUNTIME_MAX(w->last[w->n], round);
  }
  ++w->n;
  w->start_inside = tn_profile_start(NULL, NULL);
  free(w->folded);
  w->folded = tn_recording_folded(r);
  tn_recording_free(r);
}

static void run_rounds(int n) {
  for (int i = 0; i < n; ++i) {
    char name[32];
    snprintf(name, sizeof name, "work %d", i);
    {
      TN_TIMED(name);
      usleep(20);
    }
    assert_int_equal(tn_profile_step(NULL), TN_OK);
  }
  assert_int_equal(tn_profile_stop(NULL), TN_OK);
  tn_recording_free(tn_profile_collect(NULL));
}

static void check_windows(tn_profile_options options, int n, const int *first, const int *last) {
  windows seen = {0};
  options.on_window = take_window;
  options.user = &seen;
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  run_rounds(20);
  assert_int_equal(seen.n, n);
  assert_int_equal(seen.start_inside, TN_ERROR_ARGUMENT);
  assert_non_null(seen.folded);
  check_has(seen.folded, "work ");
  free(seen.folded);
  for (int i = 0; i < n; ++i) {
    assert_int_equal(seen.first[i], first[i]);
    assert_int_equal(seen.last[i], last[i]);
  }
}

static void check_limit(void) {
  const tn_profile_options options = {.limit_s = 0.5};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  uint64_t begin = runtime_now_ns();
  while (runtime_now_ns() - begin < 2000000000u) {
    TN_TIMED("often");
    usleep(1000);
  }
  tn_recording *r = rows_collect();
  assert_true(r->n_events > 10);
  assert_true(r->events[r->n_events - 1].start_ns <= 510000000);
  tn_recording_free(r);
}

ROW(b4_windows) {
  (void)state;
  static const int first[] = {3, 9, 15}, last[] = {6, 12, 18}, pair_first[] = {2}, pair_last[] = {4};
  check_windows((tn_profile_options){.skip = 1, .closed = 1, .ready = 1, .record = 4}, 3, first, last);
  check_windows((tn_profile_options){.skip = 1, .closed = 1, .ready = 1, .record = 4, .repeat = 2}, 2, first, last);
  check_windows((tn_profile_options){.skip = 2, .record = 3, .repeat = 1}, 1, pair_first, pair_last);
  check_limit();
}

/* Without a callback the windows of a session add up. */
ROW(b4_windows_without_callback) {
  (void)state;
  const tn_profile_options options = {.closed = 1, .record = 1};
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  for (int i = 0; i < 10; ++i) {
    {
      TN_TIMED("work");
    }
    tn_profile_step(NULL);
  }
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, "work"), 5);
  assert_int_equal(rows_count(r, "Round#1") + rows_count(r, "Round#9"), 2);
  tn_recording_free(r);
}

/* ---- B5 ---------------------------------------------------------------------------------------------------------- */

ROW(b5_rounds) {
  (void)state;
  start();
  for (int i = 0; i < 10; ++i) {
    {
      TN_TIMED("work");
    }
    usleep(100);
    {
      TN_TIMED("more work");
    }
    tn_profile_step(NULL);
  }
  tn_recording *r = rows_collect();
  int64_t end = 0;
  assert_int_equal(r->info.n_rounds, 10);
  for (int i = 0; i < 10; ++i) {
    char name[32];
    snprintf(name, sizeof name, "Round#%d", i);
    assert_int_equal(rows_count(r, name), 1);
    const tn_event *round = rows_find(r, name, 0);
    assert_int_equal(round->category, TN_CATEGORY_ROUND);
    assert_true(round->start_ns >= end);
    if (i > 0) assert_int_equal(round->start_ns, end);
    end = round->start_ns + round->duration_ns;
    assert_ptr_equal(&r->events[rows_find(r, "work", i)->parent], round);
    assert_ptr_equal(&r->events[rows_find(r, "more work", i)->parent], round);
  }
  tn_recording_free(r);
}

/* ---- B6 ---------------------------------------------------------------------------------------------------------- */

ROW(b6_options_as_text) {
  (void)state;
  tn_profile_options o;
  char *output;
  assert_int_equal(tn_profile_parse(NULL, "t.json.gz:max=2:drop=last:stacks=1:delay=0.5:limit=3:level=7", &o, &output),
                   TN_OK);
  assert_string_equal(output, "t.json.gz");
  free(output);
  assert_true(o.max_bytes == 2 << 20 && o.drop == TN_KEEP_LAST && o.stacks && o.level == 7);
  assert_true(o.delay_s == 0.5 && o.limit_s == 3);
  static const struct {
    const char *text, *part, *accepted;
  } wrong[] = {
      {"", "names no file", "FILE[:key=value]"},
      {":level=1", "names no file", ""},
      {"t:level=9", "'level=9': level takes", "0 to 7"},
      {"t:level=1.5", "'level=1.5'", "0 to 7"},
      {"t:level=", "'level='", "0 to 7"},
      {"t:categories=sarch", "'categories=sarch'", "app+round+task+search"},
      {"t:drop=all", "'drop=all'", "new or last"},
      {"t:max=0", "'max=0'", "1 to 1048576 MiB"},
      {"t:limit=-1", "'limit=-1'", "seconds"},
      {"t:stacks=yes", "'stacks=yes'", "0 or 1"},
      {"t:colour=red", "'colour=red' is not key=value", "level (0 to 7), categories"},
      {"t:level", "'level' is not key=value", "drop (new or last)"},
  };
  for (int i = 0; i < RUNTIME_COUNT(wrong); ++i) {
    tn_context *ctx = check_context();
    assert_int_equal(tn_profile_parse(ctx, wrong[i].text, &o, &output), TN_ERROR_ARGUMENT);
    assert_null(output);
    check_fails(ctx, TN_ERROR_ARGUMENT, wrong[i].part, wrong[i].accepted);
    check_context_free(ctx);
  }
}

/* ---- B7 ---------------------------------------------------------------------------------------------------------- */

static _Atomic bool is_over;

static void *record_until_over(void *unused) {
  (void)unused;
  for (int i = 0; !atomic_load(&is_over); ++i) {
    TN_TIMED("busy");
    if (i % 256 == 0) usleep(100);
  }
  return NULL;
}

/* Time in which this thread ran or was blocked: the clock's, less what it waited for a processor. */
static int64_t own_ns(void) {
  unsigned long long ran = 0, waited = 0;
  FILE *file = fopen("/proc/thread-self/schedstat", "r");
  if (file && fscanf(file, "%llu %llu", &ran, &waited) != 2) waited = 0;
  if (file) fclose(file);
  return (int64_t)(runtime_now_ns() - waited);
}

/* ns of the longest of N stops. */
static int64_t longest_stop(int n) {
  pthread_t threads[8];
  int64_t longest = 0;
  atomic_store(&is_over, false);
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, record_until_over, NULL);
  for (int i = 0; i < n; ++i) {
    const tn_profile_options options = {.max_bytes = 1 << 20};
    assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
    usleep(20);
    int64_t begin = own_ns();
    assert_int_equal(tn_profile_stop(NULL), TN_OK);
    longest = RUNTIME_MAX(longest, own_ns() - begin);
    assert_int_equal(tn_profile_reset(NULL), TN_OK);
  }
  atomic_store(&is_over, true);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  printf("the longest of %d stops took %.3f ms\n", n, (double)longest * 1e-6);
  return longest;
}

/* A stop waits for a thread that is about to write; where others take the processors away from that thread, so long. */
static void check_stops(int n) {
  rows_load load = rows_load_now();
  int64_t longest = INT64_MAX;
  for (int i = 0; i < 3 && longest >= 50000000; ++i) longest = longest_stop(n);
  if (!rows_is_optimized() || longest < 50000000) return;
  rows_skip_if_busy(&load, "a stop took longer than 50 ms");
  fail_msg("a stop took %.1f ms", (double)longest * 1e-6);
}

static pthread_key_t late_key;

/* Runs while its thread ends. */
static void late_session(void *unused) {
  (void)unused;
  {
    TN_TIMED("late");
  }
  tn_profile_stop(NULL);
  tn_recording_free(tn_profile_collect(NULL));
  start();
  {
    TN_TIMED("later");
  }
}

static void *end_with_session(void *unused) {
  pthread_setspecific(late_key, &late_key);
  {
    TN_TIMED("before the end");
  }
  return unused;
}

static void stop_at_exit(void) {
  TN_TIMED("at exit");
  tn_profile_stop(NULL);
  tn_recording_free(tn_profile_collect(NULL));
}

/* In a process of its own, which a watchdog ends if it hangs. */
static void from_everywhere(void) {
  alarm(10);
  atexit(stop_at_exit);
  start();
  {
    TN_TIMED("scope");
    tn_profile_stop(NULL);
    tn_recording_free(tn_profile_collect(NULL));
    start();
  }
  pthread_t thread;
  pthread_key_create(&late_key, late_session);
  pthread_create(&thread, NULL, end_with_session, NULL);
  pthread_join(thread, NULL);
  exit(0);
}

ROW(b7_stop_never_blocks) {
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) from_everywhere();
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  check_stops(rows_is_instrumented() ? 50 : 1000);
}
