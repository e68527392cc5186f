/* The structures that the rules make. TVM's counts are smaller where a packed input is one more, and where a reduction
 * is parted for vectors and threads at once. */
#include "tests/search/search_test.h"

typedef struct count_row {
  const char *name, *program;
  int n;
} count_row;

static const count_row counts[] = {
    {"matmul: fused at two levels, packed, and not fused", MATMUL(512, 512, 512), 4},
    {"matmul and addition: the same four", MATMUL_ADD(512, 512, 512), 4},
    {"two matmuls: four each", TWO_MATMULS(512), 16},
    {"convolution, scale and relu: four", CONV, 4},
    {"a matrix times a transposed one has nothing to pack", "C[i<64, j<64] = sum[k<64](A[i,k] * B[j,k])", 3},
    {"max pool: one", MAX_POOL, 1},
    {"row minimum: whole, for vectors, for threads, for both", "B[i<10] = min[k<1024](A[i,k])", 4},
    {"many rows: whole and for vectors", ROW_SUM(1024, 1024), 2},
    {"few columns: whole and for threads", "B[j<10] = sum[k<1024](A[k,j])", 2},
    {"many columns: whole", "B[j<1024] = sum[k<1024](A[k,j])", 1},
    {"a short reduction: whole", "B[i<10] = sum[k<12](A[i,k])", 1},
    {"a norm: the four of its sum", "S[b<1] = sum[i<64, j<64](A[b,i,j] * A[b,i,j]); D[b<1] = sqrt(S[b])", 4},
    {"a small matmul with a long reduction: three more than a matmul", MATMUL(4, 8, 512), 7},
    {"softmax: two of each reduction", SOFTMAX(64, 64), 4},
    {"elementwise chain: one", ELEMENTWISE(64, 64), 1},
    {"full sum: the four", "B[] = sum[k<128](A[k])", 4},
    {"outer product: tiled, with nothing to cache", "C[i<64, j<64] = A[i] * B[j]", 1},
};

static void count(void **state) {
  const count_row *row = *state;
  space_fixture f = space_make(row->program);
  f.space->n_sketches = autotune_sketches(f.task, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  check_ok(f.ctx);
  assert_int_equal(f.space->n_sketches, row->n);
  space_free(&f);
}

/* Stage C.local takes C's place and is computed inside its second level. */
static void test_matmul_structure(void **state) {
  (void)state;
  space_fixture f = space_make(MATMUL(512, 512, 512));
  f.space->n_sketches = autotune_sketches(f.task, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  int found = 0;
  for (int i = 0; i < f.space->n_sketches; i++) {
    const autotune_sketch *sketch = &f.space->sketches[i];
    int cache = schedule_find_stage(sketch->base, "C.local");
    if (cache < 0) continue;
    const schedule_stage *stage = &sketch->base->stages[cache];
    assert_int_equal(stage->attach, SCHEDULE_AT);
    assert_int_equal(sketch->roles[cache], AUTOTUNE_TILED);
    assert_int_equal(sketch->roles[cache + 1], AUTOTUNE_CONSUMER);
    assert_int_equal(stage->n_leaves, 4 + 4 + 2);
    assert_int_equal(schedule_leaf(stage, 4)->kind, SCHEDULE_REDUCE);
    assert_int_equal(schedule_leaf(stage, 7)->kind, SCHEDULE_REDUCE);
    found++;
  }
  assert_int_equal(found, 3);
  space_free(&f);
}

static void test_inlined_chain(void **state) {
  (void)state;
  space_fixture f = space_make(ELEMENTWISE(64, 64));
  f.space->n_sketches = autotune_sketches(f.task, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  const tn_schedule *s = f.space->sketches[0].base;
  assert_int_equal(s->stages[stage_named(s, "T")].attach, SCHEDULE_INLINED);
  assert_int_equal(s->stages[stage_named(s, "R")].attach, SCHEDULE_ROOT);
  space_free(&f);
}

/* No more than asked for, and no schedule is left behind (the address sanitizer looks). */
static void test_limit(void **state) {
  (void)state;
  space_fixture f = space_make(TWO_MATMULS(64));
  f.space->n_sketches = autotune_sketches(f.task, 2, f.space->sketches);
  assert_int_equal(f.space->n_sketches, 2);
  space_free(&f);
}

/* Eight tiled stages would make 3^8 sketches. */
static void test_many_stages_end(void **state) {
  (void)state;
  runtime_str text = {0};
  for (int i = 1; i <= 8; i++) {
    runtime_str_addf(&text, "M%d[i<64, j<64] = sum[k<64](M%d[i,k] * W%d[k,j])\n", i, i - 1, i);
  }
  space_fixture f = space_make(text.data);
  f.space->n_sketches = autotune_sketches(f.task, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  assert_in_range(f.space->n_sketches, 8, AUTOTUNE_MAX_SKETCHES);
  space_free(&f);
  runtime_str_free(&text);
}

/* Parted for both: threads take chunks of the rows, lanes what stands next to each other, and the hole is open. */
static void test_rfactor_structure(void **state) {
  (void)state;
  space_fixture f = space_make("B[i<10] = sum[j<8, k<128](A[i,j,k])");
  f.space->n_sketches = autotune_sketches(f.task, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  int found = 0;
  for (int i = 0; i < f.space->n_sketches; i++) {
    const autotune_sketch *sketch = &f.space->sketches[i];
    int parts = schedule_find_stage(sketch->base, "B.rf.rf");
    if (parts < 0) continue;
    const schedule_stage *stage = &sketch->base->stages[parts];
    assert_int_equal(stage->op->n_axes, 3);
    assert_string_equal(stage->axes[0].name, "j.k.fused.0");
    assert_string_equal(stage->axes[1].name, "i");
    assert_string_equal(stage->axes[2].name, "j.k.fused.2");
    assert_int_equal(sketch->n_holes, 1);
    assert_int_equal(sketch->holes[0].stage, parts);
    assert_int_equal(sketch->holes[0].extent, 1024);
    assert_true(sketch->holes[0].is_vector && sketch->holes[0].parts);
    assert_int_equal(sketch->roles[parts], AUTOTUNE_PLAIN);
    found++;
  }
  assert_int_equal(found, 1);
  space_free(&f);
}

/* ---- rules of the user's ----------------------------------------------------------------------------------------- */

typedef struct own_rule {
  tn_rule_answer answer;
  const char *schedule; /* what it does to stage C */
  int n_asked;
} own_rule;

static tn_rule_answer own_condition(void *user, const tn_schedule *schedule, const char *stage) {
  own_rule *rule = user;
  assert_true(schedule_find_stage(schedule, stage) >= 0);
  rule->n_asked++;
  return strcmp(stage, "C") == 0 ? rule->answer : TN_RULE_PASS;
}

static tn_status own_apply(void *user, tn_schedule *schedule, const char *stage) {
  assert_string_equal(stage, "C");
  return tn_schedule_apply(schedule, ((own_rule *)user)->schedule);
}

/* Sketches of a matmul; a rule adds ADDED that are its own, with HOLES open splits. */
static const struct own_row {
  const char *name;
  own_rule rule;
  int n, n_own, holes;
} owns[] = {
    {"beside the others", {TN_RULE_APPLY, "split(C, j, 1); vectorize(C, j.inner)", 0}, 5, 1, 1},
    {"instead of the others", {TN_RULE_APPLY_AND_SKIP, "split(C, j, 1); vectorize(C, j.inner)", 0}, 1, 1, 1},
    {"fixed lengths stay", {TN_RULE_APPLY_AND_SKIP, "split(C, j, 16); split(C, i, 1)", 0}, 1, 1, 1},
    {"with a stage more",
     {TN_RULE_APPLY_AND_SKIP,
      "cache_write(C, local); split(C, i, 1); compute_at(C.local, C, i.outer); split(C.local, k, 1)", 0},
     1,
     1,
     2},
    {"a rule that passes", {TN_RULE_PASS, "", 0}, 4, 0, 0},
    {"a rule that is refused", {TN_RULE_APPLY_AND_SKIP, "vectorize(C, k)", 0}, 4, 0, 0},
    {"a rule that does nothing", {TN_RULE_APPLY_AND_SKIP, "", 0}, 4, 0, 0},
};

/* Nearly every genome of an own sketch makes a schedule that lowers. */
static void own_sketch_lowers(space_fixture *f, int sketch) {
  runtime_rng rng = {3};
  int legal = 0;
  for (int i = 0; i < 40; i++) {
    autotune_genome genome;
    do autotune_sample(f->space, &rng, &genome);
    while (genome.sketch != sketch);
    runtime_arena arena = {0};
    tn_schedule *s = autotune_genome_schedule(f->space, &genome);
    legal += s && schedule_lower(s, "kernel", &arena);
    tn_schedule_free(s);
    runtime_arena_free(&arena);
  }
  assert_in_range(legal, 36, 40);
  check_ok(f->ctx);
}

static void own_rule_applies(void **state) {
  const struct own_row *row = *state;
  own_rule own = row->rule;
  space_fixture f = space_make(MATMUL(64, 64, 64));
  tn_sketch_rule rule = {"mine", own_condition, own_apply, &own};
  f.task->rules = &rule;
  f.task->n_rules = 1;
  runtime_quiet quiet = runtime_quiet_begin(f.ctx);
  f.space->n_sketches = autotune_sketches(f.task, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  runtime_quiet_end(&quiet);
  assert_int_equal(f.space->n_sketches, row->n);
  assert_true(own.n_asked > 0);
  int n_own = 0;
  for (int i = 0; i < f.space->n_sketches; i++) {
    if (!f.space->sketches[i].is_own) continue;
    n_own++;
    assert_int_equal(f.space->sketches[i].n_holes, row->holes);
    own_sketch_lowers(&f, i);
  }
  assert_int_equal(n_own, row->n_own);
  space_free(&f);
}

int run_sketch_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul_structure),  cmocka_unit_test(test_inlined_chain),
      cmocka_unit_test(test_rfactor_structure), cmocka_unit_test(test_limit),
      cmocka_unit_test(test_many_stages_end),
  };
  return CHECK_TABLE("rules of the user's", owns, own_rule_applies) + CHECK_TABLE("sketch counts", counts, count) +
         CHECK_TESTS("sketches", tests);
}
