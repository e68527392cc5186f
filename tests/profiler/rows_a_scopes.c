/* Rows A1 to A5: scopes, names, nesting, self times, overlap. */
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/profiler/rows.h"

void rows_other_unit(void);

static void start(void) { assert_int_equal(tn_profile_start(NULL, NULL), TN_OK); }

/* Never less than LEAST; false if more than MOST. */
static bool check_seconds(const tn_profiler *p, const char *name, double least, double most) {
  double seconds = tn_profiler_get(p, name);
  if (rows_is_instrumented()) most += 1;
  if (seconds < least) fail_msg("%s took %g s, less than %g", name, seconds, least);
  if (seconds > most) printf("%s took %g s, more than %g\n", name, seconds, most);
  return seconds <= most;
}

/* ---- A1 ---------------------------------------------------------------------------------------------------------- */

static void sleeps(void) {
  usleep(100000);
  {
    TN_TIMED("Level0");
    usleep(100000);
    {
      TN_TIMED("Level1");
      usleep(200000);
    }
  }
}

static void leave_in_three_ways(int way) {
  for (;;) {
    TN_TIMED("left");
    if (way == 0) return;
    if (way == 1) break;
    goto out;
  }
out:;
}

static void check_left_scopes(void) {
  start();
  for (int way = 0; way < 3; ++way) leave_in_three_ways(way);
  assert_int_equal(profiler_open_scopes(), 0);
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, NULL), 3);
  assert_int_equal(rows_count(r, "left"), 3);
  tn_recording_free(r);
}

static void check_odd_ends(void) {
  rows_clock_install();
  start();
  tn_scope twice = rows_begin(10, "twice");
  rows_end(20, &twice);
  rows_end(30, &twice);
  tn_scope never = rows_begin(40, "never ended"), copy = never;
  (void)copy;
  rows_clock_set(90);
  tn_recording *r = rows_collect();
  assert_int_equal(rows_count(r, NULL), 2);
  assert_int_equal(r->info.stats.double_ends, 1);
  assert_int_equal(rows_total_ns(r, "twice"), 10);
  assert_int_equal(rows_find(r, "never ended", 0)->flags, TN_EVENT_UNFINISHED);
  assert_int_equal(rows_total_ns(r, "never ended"), 50);
  assert_int_equal(r->info.stats.unfinished, 1);
  tn_recording_free(r);
  rows_end(95, &never); /* its session is gone: nothing happens */
}

static bool check_sleeps(void) {
  tn_profiler *p = tn_profiler_new();
  assert_int_equal(tn_profiler_enter(p), TN_OK);
  sleeps();
  assert_int_equal(tn_profiler_exit(p), TN_OK);
  assert_int_equal(tn_profiler_count(p), 3);
  bool ok = check_seconds(p, "Total", 0.39, 0.45) && check_seconds(p, "Level0", 0.29, 0.35) &&
            check_seconds(p, "Level1", 0.19, 0.25);
  tn_profiler_free(p);
  return ok;
}

ROW(a1_scoped_timer) {
  (void)state;
  rows_load load = rows_load_now();
  bool ok = false;
  for (int i = 0; i < 5 && !ok; ++i) ok = check_sleeps(); /* on a busy machine a sleep lasts longer now and then */
  check_left_scopes();
  check_odd_ends();
  if (!ok) rows_skip_if_busy(&load, "sleeps of 0.4 s took longer than 0.45 s");
  assert_true(ok);
}

/* ---- A2 ---------------------------------------------------------------------------------------------------------- */

static void record_literals(int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    TN_TIMED("one literal");
  }
}

static size_t allocated_bytes(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

ROW(a2_names) {
  (void)state;
  start();
  char name[16] = "before";
  {
    TN_TIMED(name);
    strcpy(name, "after");
  }
  {
    TN_TIMED("a literal of two units");
  }
  rows_other_unit();
  record_literals(10);
  size_t before = allocated_bytes();
  record_literals(rows_scaled(1000000));
  size_t after = allocated_bytes();
  tn_recording *r = rows_collect();
  if (!rows_is_instrumented()) assert_int_equal(after, before);
  assert_int_equal(rows_count(r, "before"), 1);
  assert_int_equal(rows_count(r, "after"), 0);
  assert_int_equal(rows_count(r, "a literal of two units"), 2);
  assert_ptr_equal(rows_find(r, "a literal of two units", 0)->name, rows_find(r, "a literal of two units", 1)->name);
  assert_int_equal(rows_count(r, "one literal"), 10 + rows_scaled(1000000));
  tn_recording_free(r);
}

/* ---- A3 ---------------------------------------------------------------------------------------------------------- */

enum { DEPTH = 10000 };

static void *nest_deeply(void *out) {
  static tn_scope scopes[DEPTH];
  tn_profiler *p = tn_profiler_new();
  tn_profiler_enter(p);
  for (int i = 0; i < DEPTH; ++i) scopes[i] = tn_timed_begin(i % 2 ? "odd" : "even");
  for (int i = DEPTH; i-- > 0;) tn_scope_end(&scopes[i]);
  tn_profiler_exit(p);
  char *table = tn_profiler_table(p);
  assert_non_null(table);
  assert_int_equal(tn_profiler_calls(p, "odd"), DEPTH / 2);
  assert_true(tn_profiler_get(p, "odd") <= tn_profiler_get(p, "Total"));
  free(table);
  tn_profiler_free(p);
  tn_recording *r = rows_collect();
  free(tn_recording_folded(r));
  *(tn_recording **)out = r;
  return NULL;
}

static void check_deep(void) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  pthread_t thread;
  tn_recording *r = NULL;
  const tn_profile_options options = {.categories = 1
                                                    << TN_CATEGORY_APP}; /* not the memory of nest_deeply's profiler */
  assert_int_equal(tn_profile_start(NULL, &options), TN_OK);
  assert_int_equal(pthread_create(&thread, &small, nest_deeply, &r), 0);
  pthread_join(thread, NULL);
  assert_int_equal(rows_count(r, NULL), DEPTH);
  for (int i = 0; i < DEPTH; ++i) assert_int_equal(r->events[i].parent, i - 1);
  tn_recording_free(r);
}

static void check_recursion(void) {
  rows_clock_install();
  tn_profiler *p = tn_profiler_new();
  tn_profiler_enter(p);
  tn_scope outer = rows_begin(0, "f"), inner = rows_begin(10, "f");
  rows_end(90, &inner);
  rows_end(100, &outer);
  tn_profiler_exit(p);
  assert_int_equal(tn_profiler_calls(p, "f"), 2);
  assert_true(tn_profiler_get(p, "f") == 100 * 1e-9);
  assert_true(tn_profiler_get(p, "f") <= tn_profiler_get(p, "Total"));
  tn_profiler_free(p);
}

ROW(a3_nesting) {
  (void)state;
  check_deep();
  check_recursion();
}

/* ---- A4 ---------------------------------------------------------------------------------------------------------- */

ROW(a4_self_time) {
  (void)state;
  tn_recording *r = rows_tree();
  static const struct {
    const char *name;
    int64_t total, self;
  } expected[] = {{"A", 1000, 300}, {"B", 700, 600}, {"C", 100, 100}, {"D", 300, 300}};
  int64_t self = 0;
  for (int i = 0; i < RUNTIME_COUNT(expected); ++i) {
    assert_int_equal(rows_total_ns(r, expected[i].name), expected[i].total);
    assert_int_equal(rows_self_ns(r, expected[i].name), expected[i].self);
    if (i < 3) self += expected[i].self;
  }
  assert_int_equal(self, 1000);
  assert_int_equal(r->lanes.n, 2);
  assert_string_equal(r->lanes.data[0].name, "thread 1");
  assert_string_equal(r->lanes.data[1].name, "thread 2");
  tn_recording_free(r);
}

/* ---- A5 ---------------------------------------------------------------------------------------------------------- */

ROW(a5_overlap) {
  (void)state;
  rows_clock_install();
  start();
  tn_scope a = rows_begin(0, "A"), b = rows_begin(50, "B");
  rows_end(100, &a);
  rows_end(150, &b);
  tn_scope c = rows_begin(200, "C"), d = rows_begin(210, "D");
  rows_end(220, &d);
  rows_end(230, &c);
  tn_recording *r = rows_collect();
  assert_int_equal(r->info.stats.overlaps, 1);
  const tn_event *event = rows_find(r, "B", 0);
  assert_int_equal(event->parent, -1);
  assert_int_equal(event->flags, TN_EVENT_OVERLAP);
  assert_int_equal(event->duration_ns, 100);
  assert_int_equal(rows_self_ns(r, "A"), 100);
  assert_string_equal(r->events[rows_find(r, "D", 0)->parent].name, "C");
  tn_recording_free(r);
}
