/* A schedule as a value: copies, the C calls, names, limits. */
#include "tests/schedule/tests.h"

#define MM "C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])"

static void check_form(const tn_schedule *s, tn_form form, const char *expected) {
  char *text = print_form(s, form);
  check_text(text, expected);
  free(text);
}

static void a_copy_is_independent(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "split(C, i, 8)");
  tn_schedule *copy = tn_schedule_copy(f.s);
  assert_int_equal(tn_unroll(copy, "C", "i.inner"), TN_OK);
  assert_int_equal(tn_cache_read(copy, "A", "local", "C"), TN_OK);
  check_form(f.s, TN_FORM_TEXT, "split(C, i, 8)\n");
  check_form(copy, TN_FORM_TEXT, "split(C, i, 8); unroll(C, i.inner); cache_read(A, local, C)\n");
  fixture_free(&f);
}

static void the_original_may_go_first(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "cache_write(C, local)");
  tn_schedule *copy = tn_schedule_copy(f.s);
  tn_schedule_free(f.s);
  assert_int_equal(tn_compute_at(copy, "C.local", "C", "i"), TN_OK);
  check_form(copy, TN_FORM_TEXT, "cache_write(C, local); compute_at(C.local, C, i)\n");
  assert_ptr_equal(tn_schedule_program(copy), f.program);
  fixture_free(&f);
}

static void copies_share_derived_stages(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "");
  tn_schedule *copy = tn_schedule_copy(f.s);
  assert_int_equal(tn_cache_read(f.s, "A", "local", "C"), TN_OK);
  assert_int_equal(tn_cache_read(copy, "A", "local", "C"), TN_OK);
  assert_ptr_equal(f.s->stages[1].op, copy->stages[1].op);
  fixture_free(&f);
}

static void c_calls(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "");
  tn_schedule *s = f.s;
  assert_int_equal(tn_cache_write(s, "C", "local"), TN_OK);
  assert_int_equal(tn_cache_read(s, "A", "local"), TN_OK);
  assert_int_equal(tn_tile(s, "C", "i", "j", 8, 16, TN_TAIL_PEEL), TN_OK);
  assert_int_equal(tn_fuse(s, "C", "i.outer", "j.outer"), TN_OK);
  assert_int_equal(tn_parallel(s, "C", "i.outer.j.outer.fused"), TN_OK);
  assert_int_equal(tn_vectorize(s, "C", "j.inner"), TN_OK);
  assert_int_equal(tn_compute_at(s, "C.local", "C", "i.outer.j.outer.fused"), TN_OK);
  assert_int_equal(tn_split_many(s, "C.local", "k", 2, (const int64_t[]){4, 2}, TN_TAIL_GUARD), TN_OK);
  assert_int_equal(tn_reorder(s, "C.local", "k.0", "i.c", "k.1", "k.2", "j.c"), TN_OK);
  assert_int_equal(tn_split_nparts(s, "C.local", "j.c", 4, TN_TAIL_GUARD), TN_OK);
  assert_int_equal(tn_unroll(s, "C.local", "k.2"), TN_OK);
  assert_int_equal(tn_pragma(s, "C.local", "i.c", "auto_unroll_max_step", 64), TN_OK);
  assert_int_equal(tn_compute_at(s, "A.local", "C.local", "k.0"), TN_OK);
  assert_int_equal(tn_set_scope(s, "A.local", "global"), TN_OK);
  assert_int_equal(tn_compute_root(s, "A.local"), TN_OK);
  char *api = print_form(s, TN_FORM_API);
  check_golden("schedule/c_calls.txt", api);
  free(api);
  fixture_free(&f);
}

static void c_calls_by_text(void **state) {
  (void)state;
  fixture f = fixture_new(
      MM, "# comments and\n\n split( C , i , factor = 8 ) ;; split(\"C\", j, 4, tail=guard)\nunroll(C, k);\n");
  check_form(f.s, TN_FORM_TEXT, "split(C, i, 8); split(C, j, 4); unroll(C, k)\n");
  fixture_free(&f);
}

static void cache_names_are_unique(void **state) {
  (void)state;
  fixture f =
      fixture_new("P[i<8] = A[i] * 2\nQ[i<8] = A[i] + P[i]", "cache_read(A, local, P); cache_read(A, local, Q)");
  assert_true(schedule_find_stage(f.s, "A.local") >= 0);
  assert_true(schedule_find_stage(f.s, "A.local_1") >= 0);
  fixture_free(&f);
}

static void attachments_follow_inserted_stages(void **state) {
  (void)state;
  fixture f = fixture_new("P[i<8] = A[i] * 2\nQ[i<8] = B[i] + P[i]", "compute_at(P, Q, i); cache_read(B, local, Q)");
  const schedule_stage *p = &f.s->stages[schedule_find_stage(f.s, "P")];
  assert_int_equal(p->at_stage, schedule_find_stage(f.s, "Q"));
  fixture_free(&f);
}

static void null_gives_null(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "");
  assert_null(tn_schedule_new(NULL));
  assert_null(tn_schedule_copy(NULL));
  assert_null(tn_schedule_program(NULL));
  assert_null(tn_schedule_print(NULL, TN_FORM_TIR));
  tn_schedule_free(NULL);
  assert_int_equal(tn_split(NULL, "C", "i", 4, TN_TAIL_GUARD), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_tile(NULL, "C", "i", "j", 4, 4, TN_TAIL_GUARD), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_fuse(NULL, "C", "i", "j"), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_reorder(NULL, "C", "i", "j"), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_vectorize(NULL, "C", "i"), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_compute_inline(NULL, "C"), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_cache_read(NULL, "A", "local", "C"), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_schedule_apply(f.s, NULL), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_schedule_replay(f.s, NULL), TN_ERROR_ARGUMENT);
  fixture_free(&f);
}

/* The schedules of a program share derived stages; other lengths of a split make others. */
static void partial_results_differ_by_lengths(void **state) {
  (void)state;
  fixture f = fixture_new("S[i<4] = sum[k<24](A[i,k])", "");
  tn_schedule *other = tn_schedule_copy(f.s);
  assert_int_equal(tn_schedule_apply(f.s, "split(S, k, 4); rfactor(S, k.inner)"), TN_OK);
  assert_int_equal(tn_schedule_apply(other, "split(S, k, 8); rfactor(S, k.inner)"), TN_OK);
  int first = schedule_find_stage(f.s, "S.rf"), second = schedule_find_stage(other, "S.rf");
  assert_int_equal(f.s->stages[first].tensors[0].shape[0], 4);
  assert_int_equal(other->stages[second].tensors[0].shape[0], 8);
  tn_schedule_free(other);
  fixture_free(&f);
}

static void an_unknown_form_is_refused(void **state) {
  (void)state;
  fixture f = fixture_new(MM, "");
  assert_null(tn_schedule_print(f.s, (tn_form)9));
  check_fails(f.ctx, TN_ERROR_ARGUMENT, "tn_schedule_print: form 9 is unknown");
  fixture_free(&f);
}

/* Splits the innermost loop until it is refused; returns the number of splits. */
static int split_until_refused(tn_schedule *s, int limit) {
  int n = 0;
  while (n < limit) {
    const schedule_stage *st = &s->stages[1];
    char *before = state_of(s);
    tn_status status = schedule_split(s, 1, st->n_leaves - 1, 1, (int64_t[]){1 << 20}, true, TN_TAIL_GUARD);
    char *after = state_of(s);
    if (status != TN_OK) check_text(after, before);
    free(before);
    free(after);
    if (status != TN_OK) return n;
    n++;
  }
  return n;
}

static void names_that_grow_too_long_are_refused(void **state) {
  (void)state;
  fixture f = fixture_new("C[i<1000000] = A[i]", "");
  assert_in_range(split_until_refused(f.s, 300), 20, 200);
  check_fails(f.ctx, TN_ERROR_SCHEDULE, "split(C, i.inner.",
              "the name of the new loop would be longer than 200 characters");
  fixture_free(&f);
}

static void too_many_axes_are_refused(void **state) {
  (void)state;
  fixture f = fixture_new("C[i<1000000] = A[i]", "");
  tn_status status = TN_OK;
  for (int n = 0; n < 100 && status == TN_OK; n++)
    status = schedule_split(f.s, 1, n % 16, 15, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, true,
                            TN_TAIL_GUARD);
  check_fails(f.ctx, TN_ERROR_SCHEDULE, "stage C would have more than 512 axes");
  fixture_free(&f);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#define TILED                                                                                             \
  "cache_write(C, local); tile(C, i, j, 4, 16); vectorize(C, j.inner); compute_at(C.local, C, j.outer); " \
  "unroll(C.local, i.c)"

/* Gives more and more memory until the work is done; before that, each attempt must fail with a message. */
static void lower_in(tir_func *(*lower)(const tn_schedule *, const char *, runtime_arena *)) {
  fixture f = fixture_new(MM, TILED);
  tir_func *func = NULL;
  int failures = 0;
  for (size_t limit = 64; !func; limit += limit / 8) {
    runtime_arena arena = {.limit = limit};
    func = lower(f.s, "kernel", &arena);
    if (!func) check_fails(f.ctx, TN_ERROR_MEMORY, "out of memory");
    failures += !func;
    runtime_arena_free(&arena);
  }
  assert_true(failures > 10);
  check_ok(f.ctx);
  fixture_free(&f);
}

static void lowering_says_when_memory_runs_out(void **state) {
  (void)state;
  lower_in(schedule_lower);
}

static void passes_say_when_memory_runs_out(void **state) {
  (void)state;
  lower_in(schedule_lower_and_optimize);
}

static void primitives_say_when_memory_runs_out(void **state) {
  (void)state;
  tn_status status = TN_ERROR_MEMORY;
  int failures = 0;
  for (size_t more = 0; status != TN_OK; more += 512) {
    fixture f = fixture_new(MM, "");
    f.s->arena.limit = f.s->arena.total + more;
    status = TN_OK;
    for (int i = 0; i < 12 && status == TN_OK; i++)
      status = schedule_split(f.s, 2, i, 3, (int64_t[]){1, 2, 3}, true, TN_TAIL_PEEL);
    if (status != TN_OK) check_fails(f.ctx, TN_ERROR_MEMORY, "out of memory in a schedule");
    failures += status != TN_OK;
    fixture_free(&f);
    assert_true(more < 1 << 22);
  }
  assert_true(failures > 0);
}

int test_values(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_copy_is_independent),
      cmocka_unit_test(the_original_may_go_first),
      cmocka_unit_test(copies_share_derived_stages),
      cmocka_unit_test(c_calls),
      cmocka_unit_test(c_calls_by_text),
      cmocka_unit_test(cache_names_are_unique),
      cmocka_unit_test(attachments_follow_inserted_stages),
      cmocka_unit_test(null_gives_null),
      cmocka_unit_test(partial_results_differ_by_lengths),
      cmocka_unit_test(an_unknown_form_is_refused),
      cmocka_unit_test(names_that_grow_too_long_are_refused),
      cmocka_unit_test(too_many_axes_are_refused),
      cmocka_unit_test(lowering_says_when_memory_runs_out),
      cmocka_unit_test(passes_say_when_memory_runs_out),
      cmocka_unit_test(primitives_say_when_memory_runs_out),
  };
  return CHECK_TESTS("values", tests);
}
