/* The search with one allocation failing after another: it says that memory ran out, or proposes what it would have proposed. A
 * failure that is taken for a refusal, or for a space with fewer plans, would be neither. The linker leads the library's
 * allocations here (tests/CMakeLists.txt). */
#include <stdatomic.h>

#include "tests/search/search_test.h"

static atomic_long n_asked, fails_at; /* 0: none fails */

static bool fails(void) { return atomic_fetch_add(&n_asked, 1) + 1 == atomic_load(&fails_at); }

/* What the linker calls the functions that it led here. */
#define WRAP(name, parameters, arguments) \
  void *__real_##name parameters;         \
  void *__wrap_##name parameters;         \
  void *__wrap_##name parameters { return fails() ? NULL : __real_##name arguments; }
WRAP(malloc, (size_t bytes), (bytes))
WRAP(calloc, (size_t n, size_t bytes), (n, bytes))
WRAP(realloc, (void *data, size_t bytes), (data, bytes))

enum { A_ROUND = 16, SPARSELY = 7 };

/* Two rounds with made up times between them, as one number; 0: there was no search. */
static uint64_t propose_twice(space_fixture *f) {
  autotune_search *search = autotune_search_new(f->task, f->model, 1);
  uint64_t all = search != NULL;
  autotune_policy few = {.population = 48, .generations = 2};
  if (search) autotune_search_set_policy(search, &few);
  for (int round = 0; search && round < 2; round++) {
    tn_schedule *schedules[A_ROUND];
    int n = autotune_search_next(search, A_ROUND, schedules);
    all = runtime_hash(&n, sizeof n, all);
    for (int i = 0; i < n; i++) {
      uint64_t hash = autotune_schedule_hash(schedules[i]);
      (void)autotune_search_observe(search, schedules[i], 1e-3 * (1 + (double)(hash % 7)));
      all = runtime_hash(&hash, sizeof hash, all);
      const char *plan = schedule_plan_text(schedules[i]);
      if (plan) all = runtime_hash(plan, strlen(plan), all);
      tn_schedule_free(schedules[i]);
    }
  }
  autotune_search_free(search);
  return all;
}

/* Allocation AT fails; how many there were in *N. */
static uint64_t propose_failing(const char *program, long at, long *n, tn_status *status) {
  space_fixture f = space_make(program);
  autotune_model_turn_off(f.model);
  atomic_store(&n_asked, 0);
  atomic_store(&fails_at, at);
  uint64_t all = propose_twice(&f);
  *n = atomic_load(&n_asked);
  atomic_store(&fails_at, 0);
  *status = tn_context_status(f.ctx);
  tn_context_clear(f.ctx);
  space_free(&f);
  return all;
}

static void step(const char *program) {
  tn_status status;
  long n, reached;
  uint64_t good = propose_failing(program, 0, &n, &status);
  assert_int_equal(status, TN_OK);
  assert_true(n > SPARSELY);
  for (long at = 1; at <= n; at += SPARSELY) {
    uint64_t all = propose_failing(program, at, &reached, &status);
    if (status != TN_OK && status != TN_ERROR_MEMORY) fail_msg("allocation %ld of %ld fails: status %d", at, n, status);
    if (status == TN_OK && all != good) fail_msg("allocation %ld of %ld fails, and nobody says so", at, n);
  }
}

static void test_product(void **state) {
  (void)state;
  step(MATMUL(30, 32, 64));
}

static void test_softmax(void **state) {
  (void)state;
  step(SOFTMAX(16, 40));
}

int run_memory_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_product),
      cmocka_unit_test(test_softmax),
  };
  return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
