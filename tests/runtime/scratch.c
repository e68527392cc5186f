/* Scratch memory that is kept: what is given back comes again, what does not fit does not, limits, many threads. */
#include "runtime/scratch.h"

#include <pthread.h>

#include "tests/common/check.h"
#include "tests/runtime/tests.h"

enum { BYTES = 1 << 20, MANY = 40 };

static void comes_again(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  runtime_scratch *s = runtime_scratch_of(ctx);
  assert_ptr_equal(runtime_scratch_of(ctx), s);
  void *a = runtime_scratch_take(s, BYTES), *b = runtime_scratch_take(s, BYTES);
  assert_true(a && b && a != b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
  runtime_scratch_give(s, a);
  assert_int_equal(runtime_scratch_idle(s), BYTES);
  assert_ptr_equal(runtime_scratch_take(s, BYTES - 100), a);
  assert_int_equal(runtime_scratch_idle(s), 0);
  runtime_scratch_give(s, b);
  runtime_scratch_give(s, a);
  assert_int_equal(runtime_scratch_idle(s), 2 * BYTES);
  runtime_scratch_give(s, NULL);
  tn_context_free(ctx);
}

/* A buffer far larger than what is asked for stays for whom it fits; a smaller one is none. */
static void fits_only(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  runtime_scratch *s = runtime_scratch_of(ctx);
  void *a = runtime_scratch_take(s, BYTES), *b, *c;
  runtime_scratch_give(s, a);
  assert_ptr_not_equal(b = runtime_scratch_take(s, BYTES / 4), a);
  assert_ptr_not_equal(c = runtime_scratch_take(s, BYTES + 1), a);
  assert_ptr_equal(runtime_scratch_take(s, BYTES), a);
  runtime_scratch_give(s, a);
  runtime_scratch_give(s, b);
  runtime_scratch_give(s, c);
  tn_context_free(ctx);
}

/* More buffers than places, and more bytes than are kept: the rest goes back to the system. */
static void limits(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  runtime_scratch *s = runtime_scratch_of(ctx);
  char *taken[MANY];
  for (int i = 0; i < MANY; i++) {
    taken[i] = runtime_scratch_take(s, BYTES);
    assert_non_null(taken[i]);
    memset(taken[i], i, BYTES);
  }
  for (int i = 0; i < MANY; i++) assert_true(taken[i][0] == i && taken[i][BYTES - 1] == i);
  for (int i = 0; i < MANY; i++) runtime_scratch_give(s, taken[i]);
  assert_true(runtime_scratch_idle(s) < MANY * BYTES && runtime_scratch_idle(s) > 0);
  void *large = runtime_scratch_take(s, RUNTIME_SCRATCH_KEPT); /* in the place of an idle one */
  assert_non_null(large);
  int64_t idle = runtime_scratch_idle(s);
  runtime_scratch_give(s, large); /* with the others it is too much */
  assert_int_equal(runtime_scratch_idle(s), idle);
  tn_context_free(ctx);
}

static void refuses(void **state) {
  (void)state;
  tn_context *ctx = tn_context_new(NULL);
  runtime_scratch *s = runtime_scratch_of(ctx);
  void *a = runtime_scratch_take(s, BYTES);
  runtime_scratch_give(s, a);
  assert_null(runtime_scratch_take(s, INT64_MAX - 10));
  assert_int_equal(runtime_scratch_idle(s), BYTES);
  assert_null(runtime_scratch_take(s, 1ll << 60)); /* what is idle went first */
  assert_int_equal(runtime_scratch_idle(s), 0);
  tn_context_free(ctx);
}

/* Nobody else writes where a thread writes. */
static void *use(void *user) {
  for (int i = 0; i < 2000; i++) {
    int64_t n = 1000 + i % 7 * 1000;
    int64_t *mine = runtime_scratch_take(user, n * (int64_t)sizeof *mine);
    if (!mine) return user;
    mine[0] = mine[n - 1] = (int64_t)(uintptr_t)&n + i;
    for (int k = 0; k < 50; k++)
      if (((volatile int64_t *)mine)[0] != (int64_t)(uintptr_t)&n + i || mine[n - 1] != mine[0]) return user;
    runtime_scratch_give(user, mine);
  }
  return NULL;
}

static void many_threads(void **state) {
  (void)state;
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  tn_context *ctx = tn_context_new(NULL);
  runtime_scratch *s = runtime_scratch_of(ctx);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, use, s), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  tn_context_free(ctx);
}

int test_scratch(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(comes_again), cmocka_unit_test(fits_only),
                                            cmocka_unit_test(limits), cmocka_unit_test(refuses),
                                            cmocka_unit_test(many_threads)};
  return CHECK_TESTS("scratch memory", tests);
}
