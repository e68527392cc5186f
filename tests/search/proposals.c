/* What the search proposes: the default first, nothing twice, the same for the same seed, an end of small spaces. */
#include <math.h>

#include "tests/search/search_test.h"

enum { MANY = 120 };

static int propose(autotune_search *search, int n, uint64_t *hashes) {
  tn_schedule *schedules[MANY];
  int found = autotune_search_next(search, n, schedules);
  for (int i = 0; i < found; i++) {
    hashes[i] = autotune_schedule_hash(schedules[i]);
    tn_schedule_free(schedules[i]);
  }
  return found;
}

static void test_default_first(void **state) {
  (void)state;
  space_fixture f = space_make(MATMUL(64, 64, 64));
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  tn_schedule *first[2];
  assert_int_equal(autotune_search_next(search, 2, first), 2);
  assert_int_equal(first[0]->n_steps, 0);
  assert_true(first[1]->n_steps > 0);
  for (int i = 0; i < 2; i++) tn_schedule_free(first[i]);
  autotune_search_free(search);
  space_free(&f);
}

/* For the task's machine. */
static void test_generic_second(void **state) {
  (void)state;
  space_fixture f = space_make(MATMUL(64, 64, 64));
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  tn_machine machine = tn_target_machine(f.task->target);
  machine.threads = f.task->threads;
  machine.vector_bytes = f.task->vector_bytes;
  tn_schedule *first[2], *generic = tn_schedule_new(f.task->program);
  assert_int_equal(tn_schedule_auto(generic, &machine), TN_OK);
  assert_int_equal(autotune_search_next(search, 2, first), 2);
  assert_int_equal(autotune_schedule_hash(first[1]), autotune_schedule_hash(generic));
  for (int i = 0; i < 2; i++) tn_schedule_free(first[i]);
  tn_schedule_free(generic);
  autotune_search_free(search);
  space_free(&f);
}

static void test_observed_default_is_not_proposed(void **state) {
  (void)state;
  space_fixture f = space_make(MATMUL(64, 64, 64));
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  tn_schedule *s = tn_schedule_new(f.task->program), *first;
  assert_int_equal(autotune_search_observe(search, s, 0.5), TN_OK);
  assert_int_equal(autotune_search_next(search, 1, &first), 1);
  assert_true(first->n_steps > 0);
  tn_schedule_free(first);
  tn_schedule_free(s);
  autotune_search_free(search);
  space_free(&f);
}

static void test_nothing_twice(void **state) {
  (void)state;
  space_fixture f = space_make(MATMUL_ADD(64, 64, 64));
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  uint64_t hashes[2 * MANY];
  int n = propose(search, MANY, hashes);
  n += propose(search, MANY, hashes + n);
  assert_int_equal(n, 2 * MANY);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) assert_true(hashes[i] != hashes[j]);
  }
  autotune_search_free(search);
  space_free(&f);
}

static void test_same_seed(void **state) {
  (void)state;
  uint64_t hashes[3][MANY];
  for (int run = 0; run < 3; run++) {
    space_fixture f = space_make(MATMUL_ADD(64, 64, 64));
    autotune_search *search = autotune_search_new(f.task, f.model, run == 2 ? 8 : 7);
    assert_int_equal(propose(search, 30, hashes[run]), 30);
    autotune_search_free(search);
    space_free(&f);
  }
  assert_memory_equal(hashes[0], hashes[1], 30 * sizeof **hashes);
  assert_memory_not_equal(hashes[0], hashes[2], 30 * sizeof **hashes);
}

typedef struct small_row {
  const char *name, *program;
  int most;
} small_row;

static const small_row small[] = {
    {"one element", "C[i<1] = A[i] + 1", 3},
    {"no loops", "C[] = A[] + 1", 3},
    {"three elements", "C[i<3] = A[i] + 1", 12},
    {"a sum of two", "C[] = sum[k<2](A[k])", 12},
    {"a scan alone", "state S: f32[9, 40]\nscan S[t<9, i<40] = select(t < 1, X[i,t], S[t-1,i] + X[i,t])", 12},
};

static void small_space_ends(void **state) {
  const small_row *row = *state;
  space_fixture f = space_make(row->program);
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  uint64_t hashes[MANY];
  assert_in_range(propose(search, MANY, hashes), 1, row->most);
  assert_int_equal(propose(search, MANY, hashes), 0);
  check_ok(f.ctx);
  autotune_search_free(search);
  space_free(&f);
}

/* With a trained model most proposals come from evolution; they are new ones too. */
static void test_evolution_after_training(void **state) {
  (void)state;
  space_fixture f = space_make(MATMUL_ADD(64, 64, 64));
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  tn_schedule *schedules[24];
  uint64_t hashes[24];
  assert_int_equal(autotune_search_next(search, 24, schedules), 24);
  for (int i = 0; i < 24; i++) {
    assert_int_equal(autotune_search_observe(search, schedules[i], i % 5 ? 0.001 * (1 + i % 7) : INFINITY), TN_OK);
    tn_schedule_free(schedules[i]);
  }
  assert_int_equal(autotune_model_train(f.model), TN_OK);
  assert_true(autotune_model_is_trained(f.model));
  assert_int_equal(propose(search, 24, hashes), 24);
  check_ok(f.ctx);
  autotune_search_free(search);
  space_free(&f);
}

static void test_null_arguments(void **state) {
  (void)state;
  tn_schedule *out;
  assert_null(autotune_search_new(NULL, NULL, 1));
  assert_int_equal(autotune_search_next(NULL, 1, &out), 0);
  assert_int_equal(autotune_search_observe(NULL, NULL, 1), TN_ERROR_ARGUMENT);
  autotune_search_free(NULL);
}

static void test_too_many_tensors(void **state) {
  (void)state;
  runtime_str text = {0};
  for (int i = 1; i <= 60; i++) runtime_str_addf(&text, "T%d[i<4] = T%d[i] + 1\n", i, i - 1);
  space_fixture f = space_make(text.data);
  assert_null(autotune_search_new(f.task, f.model, 1));
  check_fails(f.ctx, TN_ERROR_PROGRAM, "61", "48", "in parts");
  space_free(&f);
  runtime_str_free(&text);
}

int run_proposal_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_default_first),
      cmocka_unit_test(test_generic_second),
      cmocka_unit_test(test_observed_default_is_not_proposed),
      cmocka_unit_test(test_nothing_twice),
      cmocka_unit_test(test_same_seed),
      cmocka_unit_test(test_evolution_after_training),
      cmocka_unit_test(test_null_arguments),
      cmocka_unit_test(test_too_many_tensors),
  };
  return CHECK_TABLE("small spaces end", small, small_space_ends) + CHECK_TESTS("proposals", tests);
}
