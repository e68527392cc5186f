/* Profilers: the stack, accumulation, threads, and the table's exact layout. */
#include "runtime/profiler/profiler.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/common/check.h"

static void sleep_ms(int ms) { usleep((useconds_t)ms * 1000); }

/* Times that a sleep of MS may have taken on a busy machine. */
static void assert_took(double seconds, int ms) {
  if (seconds < ms * 1e-3 || seconds > ms * 1e-3 + 2) fail_msg("%g s instead of %d ms", seconds, ms);
}

static void nested_scopes_are_inclusive(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  assert_int_equal(tn_profiler_enter(p), TN_OK);
  sleep_ms(10);
  {
    TN_TIMED("Level0");
    sleep_ms(10);
    {
      TN_TIMED("Level1");
      sleep_ms(20);
    }
  }
  assert_int_equal(tn_profiler_exit(p), TN_OK);
  assert_int_equal(tn_profiler_count(p), 3);
  assert_took(tn_profiler_get(p, "Total"), 40);
  assert_took(tn_profiler_get(p, "Level0"), 30);
  assert_took(tn_profiler_get(p, "Level1"), 20);
  tn_profiler_free(p);
}

static void scopes_of_one_name_add_up(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  tn_profiler_enter(p);
  for (int i = 0; i < 1000; ++i) {
    TN_TIMED("often");
  }
  tn_profiler_exit(p);
  assert_int_equal(tn_profiler_calls(p, "often"), 1000);
  assert_int_equal(tn_profiler_calls(p, "Total"), 1);
  tn_profiler_free(p);
}

static void without_a_profiler_a_scope_does_nothing(void **state) {
  (void)state;
  assert_null(tn_profiler_current());
  tn_timed scope = tn_timed_begin("nobody looks");
  assert_int_equal(scope.state, 0);
  tn_timed_end(&scope);
  tn_timed_end(NULL);
}

/* An inner profiler takes x, an outer one y; the inner one is exclusive or not. */
static void check_nested(bool is_exclusive, int64_t outer_calls_of_x) {
  tn_profiler *outer = tn_profiler_new(), *inner = tn_profiler_new();
  tn_profiler_set_exclusive(inner, is_exclusive);
  tn_profiler_enter(outer);
  tn_profiler_enter(inner);
  assert_ptr_equal(tn_profiler_current(), inner);
  {
    TN_TIMED("x");
  }
  tn_profiler_exit(inner);
  assert_ptr_equal(tn_profiler_current(), outer);
  {
    TN_TIMED("y");
  }
  tn_profiler_exit(outer);
  assert_null(tn_profiler_current());
  assert_int_equal(tn_profiler_calls(inner, "x"), 1);
  assert_int_equal(tn_profiler_calls(outer, "x"), outer_calls_of_x);
  assert_int_equal(tn_profiler_calls(inner, "y"), 0);
  assert_int_equal(tn_profiler_calls(outer, "y"), 1);
  tn_profiler_free(inner);
  tn_profiler_free(outer);
}

static void all_enclosing_profilers_get_the_time(void **state) {
  (void)state;
  check_nested(false, 1);
}

static void an_exclusive_profiler_keeps_the_time(void **state) {
  (void)state;
  check_nested(true, 0);
}

static void a_scope_belongs_to_where_it_began(void **state) {
  (void)state;
  tn_profiler *outer = tn_profiler_new(), *inner = tn_profiler_new();
  tn_profiler_enter(outer);
  tn_timed scope = tn_timed_begin("x");
  tn_profiler_enter(inner);
  tn_timed_end(&scope);
  tn_profiler_exit(inner);
  tn_profiler_exit(outer);
  assert_int_equal(tn_profiler_calls(outer, "x"), 1);
  assert_int_equal(tn_profiler_calls(inner, "x"), 0);
  tn_profiler_free(inner);
  tn_profiler_free(outer);
}

static void stacks_are_deep(void **state) {
  (void)state;
  enum { DEPTH = 100 };
  tn_profiler *p[DEPTH];
  for (int i = 0; i < DEPTH; ++i) assert_int_equal(tn_profiler_enter(p[i] = tn_profiler_new()), TN_OK);
  for (int i = DEPTH; i-- > 0; tn_profiler_free(p[i])) assert_int_equal(tn_profiler_exit(p[i]), TN_OK);
  assert_null(tn_profiler_current());
}

static void entering_again_adds_to_the_total(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  for (int i = 0; i < 2; ++i) {
    tn_profiler_enter(p);
    sleep_ms(5);
    tn_profiler_exit(p);
  }
  assert_took(tn_profiler_get(p, "Total"), 10);
  assert_int_equal(tn_profiler_calls(p, "Total"), 2);
  tn_profiler_free(p);
}

static void entering_twice_is_refused(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new(), *q = tn_profiler_new();
  tn_profiler_enter(p);
  assert_int_equal(tn_profiler_enter(p), TN_ERROR_ARGUMENT);
  tn_profiler_enter(q);
  assert_int_equal(tn_profiler_enter(p), TN_ERROR_ARGUMENT);
  assert_ptr_equal(tn_profiler_current(), q);
  tn_profiler_exit(q);
  tn_profiler_exit(p);
  tn_profiler_free(p);
  tn_profiler_free(q);
}

static void leaving_what_is_not_on_top_is_refused(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new(), *q = tn_profiler_new();
  assert_int_equal(tn_profiler_exit(p), TN_ERROR_ARGUMENT);
  tn_profiler_enter(p);
  tn_profiler_enter(q);
  assert_int_equal(tn_profiler_exit(p), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_profiler_count(p), 0);
  assert_int_equal(tn_profiler_exit(q), TN_OK);
  assert_int_equal(tn_profiler_exit(p), TN_OK);
  assert_int_equal(tn_profiler_exit(p), TN_ERROR_ARGUMENT);
  tn_profiler_free(p);
  tn_profiler_free(q);
}

static void null_is_an_error_not_a_crash(void **state) {
  (void)state;
  assert_int_equal(tn_profiler_enter(NULL), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_profiler_exit(NULL), TN_ERROR_ARGUMENT);
  tn_profiler_add(NULL, "x", 1, 1);
  assert_true(tn_profiler_get(NULL, "x") == 0);
  assert_int_equal(tn_profiler_calls(NULL, "x"), 0);
  assert_int_equal(tn_profiler_count(NULL), 0);
  assert_null(tn_profiler_table(NULL));
  tn_profiler_free(NULL);
}

static void freeing_an_entered_one_takes_it_off_the_stack(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new(), *q = tn_profiler_new();
  tn_profiler_enter(p);
  tn_profiler_enter(q);
  tn_profiler_free(p);
  assert_ptr_equal(tn_profiler_current(), q);
  tn_profiler_free(q);
  assert_null(tn_profiler_current());
}

static void times_from_elsewhere_are_added(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  tn_profiler_add(p, "Worker/Build", 1.5, 3);
  tn_profiler_add(p, "Worker/Build", 0.5, 1);
  tn_profiler_add(p, NULL, 1, 1);
  assert_true(tn_profiler_get(p, "Worker/Build") == 2);
  assert_int_equal(tn_profiler_calls(p, "Worker/Build"), 4);
  assert_int_equal(tn_profiler_count(p), 1);
  assert_true(tn_profiler_get(p, "Worker") == 0);
  assert_true(tn_profiler_get(p, NULL) == 0);
  tn_profiler_free(p);
}

static void names_come_in_order_of_appearance(void **state) {
  (void)state;
  enum { N = 1000 };
  tn_profiler *p = tn_profiler_new();
  for (int i = 0; i < 3 * N; ++i) {
    char name[32];
    snprintf(name, sizeof name, "name %d", i % N);
    tn_profiler_add(p, name, 1, 1);
  }
  assert_int_equal(tn_profiler_count(p), N);
  for (int i = 0; i < N; ++i) {
    char name[32];
    double seconds;
    int64_t calls;
    snprintf(name, sizeof name, "name %d", i);
    assert_string_equal(tn_profiler_name_at(p, i, &seconds, &calls), name);
    assert_true(seconds == 3 && calls == 3);
  }
  assert_null(tn_profiler_name_at(p, -1, NULL, NULL));
  assert_null(tn_profiler_name_at(p, N, NULL, NULL));
  tn_profiler_free(p);
}

static void *on_another_thread(void *profiler) {
  bool empty = tn_profiler_current() == NULL;
  tn_timed scope = tn_timed_begin("unseen");
  tn_timed_end(&scope);
  tn_profiler *own = tn_profiler_new();
  tn_profiler_enter(own);
  bool refused = tn_profiler_exit(profiler) == TN_ERROR_ARGUMENT;
  tn_profiler_exit(own);
  tn_profiler_free(own);
  return empty && refused ? profiler : NULL;
}

static void threads_have_their_own_stacks(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  tn_profiler_enter(p);
  pthread_t thread;
  void *result;
  assert_int_equal(pthread_create(&thread, NULL, on_another_thread, p), 0);
  pthread_join(thread, &result);
  assert_ptr_equal(result, p);
  assert_ptr_equal(tn_profiler_current(), p);
  tn_profiler_exit(p);
  assert_int_equal(tn_profiler_calls(p, "unseen"), 0);
  tn_profiler_free(p);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void no_table_before_a_total(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  assert_null(tn_profiler_table(p));
  tn_profiler_add(p, "x", 1, 1);
  assert_null(tn_profiler_table(p));
  tn_profiler_enter(p);
  assert_null(tn_profiler_table(p));
  tn_profiler_exit(p);
  char *table = tn_profiler_table(p);
  assert_non_null(table);
  free(table);
  tn_profiler_free(p);
}

static void check_table_text(tn_profiler *p, const char *expected) {
  char *table = tn_profiler_table(p);
  check_text(table, expected);
  free(table);
  tn_profiler_free(p);
}

static void the_table_has_tvms_layout(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  tn_profiler_add(p, "SendToBuilder", 60, 1);
  tn_profiler_add(p, "EvoSearch/Evolve/Mutation", 150, 9);
  tn_profiler_add(p, "Total", 300, 1);
  check_table_text(p,
                   " ID |                      Name | Time (min) | Percentage \n"
                   "----------------------------------------------------------\n"
                   "    |                     Total |     5.0000 |   100.0000 \n"
                   "  1 | EvoSearch/Evolve/Mutation |     2.5000 |    50.0000 \n"
                   "  2 |             SendToBuilder |     1.0000 |    20.0000 \n"
                   "----------------------------------------------------------");
}

static void ties_go_by_name_and_total_stays_first(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  tn_profiler_add(p, "b", 60, 1);
  tn_profiler_add(p, "Total", 60, 1);
  tn_profiler_add(p, "a", 60, 1);
  tn_profiler_add(p, "workers", 180, 1); /* processes work at the same time */
  check_table_text(p,
                   " ID |    Name | Time (min) | Percentage \n"
                   "----------------------------------------\n"
                   "    |   Total |     1.0000 |   100.0000 \n"
                   "  1 | workers |     3.0000 |   300.0000 \n"
                   "  2 |       a |     1.0000 |   100.0000 \n"
                   "  3 |       b |     1.0000 |   100.0000 \n"
                   "----------------------------------------");
}

static void a_total_of_zero_divides_nothing(void **state) {
  (void)state;
  tn_profiler *p = tn_profiler_new();
  tn_profiler_add(p, "Total", 0, 1);
  check_table_text(p,
                   " ID |  Name | Time (min) | Percentage \n"
                   "--------------------------------------\n"
                   "    | Total |     0.0000 |     0.0000 \n"
                   "--------------------------------------");
}

int profiler_unit_tests(void);
int profiler_unit_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nested_scopes_are_inclusive),
      cmocka_unit_test(scopes_of_one_name_add_up),
      cmocka_unit_test(without_a_profiler_a_scope_does_nothing),
      cmocka_unit_test(all_enclosing_profilers_get_the_time),
      cmocka_unit_test(an_exclusive_profiler_keeps_the_time),
      cmocka_unit_test(a_scope_belongs_to_where_it_began),
      cmocka_unit_test(stacks_are_deep),
      cmocka_unit_test(entering_again_adds_to_the_total),
      cmocka_unit_test(entering_twice_is_refused),
      cmocka_unit_test(leaving_what_is_not_on_top_is_refused),
      cmocka_unit_test(null_is_an_error_not_a_crash),
      cmocka_unit_test(freeing_an_entered_one_takes_it_off_the_stack),
      cmocka_unit_test(times_from_elsewhere_are_added),
      cmocka_unit_test(names_come_in_order_of_appearance),
      cmocka_unit_test(threads_have_their_own_stacks),
      cmocka_unit_test(no_table_before_a_total),
      cmocka_unit_test(the_table_has_tvms_layout),
      cmocka_unit_test(ties_go_by_name_and_total_stays_first),
      cmocka_unit_test(a_total_of_zero_divides_nothing),
  };
  return CHECK_TESTS("profiler", tests);
}
