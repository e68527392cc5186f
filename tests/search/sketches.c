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
  f.space->n_sketches = autotune_sketches(f.task->program, 2, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  check_ok(f.ctx);
  assert_int_equal(f.space->n_sketches, row->n);
  space_free(&f);
}

/* Stage C.local takes C's place and is computed inside its second level. */
static void test_matmul_structure(void **state) {
  (void)state;
  space_fixture f = space_make(MATMUL(512, 512, 512));
  f.space->n_sketches = autotune_sketches(f.task->program, 2, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
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
  f.space->n_sketches = autotune_sketches(f.task->program, 2, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  const tn_schedule *s = f.space->sketches[0].base;
  assert_int_equal(s->stages[stage_named(s, "T")].attach, SCHEDULE_INLINED);
  assert_int_equal(s->stages[stage_named(s, "R")].attach, SCHEDULE_ROOT);
  space_free(&f);
}

/* No more than asked for, and no schedule is left behind (the address sanitizer looks). */
static void test_limit(void **state) {
  (void)state;
  space_fixture f = space_make(TWO_MATMULS(64));
  f.space->n_sketches = autotune_sketches(f.task->program, 2, 2, f.space->sketches);
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
  f.space->n_sketches = autotune_sketches(f.task->program, 2, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  assert_in_range(f.space->n_sketches, 8, AUTOTUNE_MAX_SKETCHES);
  space_free(&f);
  runtime_str_free(&text);
}

/* Parted for both: threads take chunks of the rows, lanes what stands next to each other, and the hole is open. */
static void test_rfactor_structure(void **state) {
  (void)state;
  space_fixture f = space_make("B[i<10] = sum[j<8, k<128](A[i,j,k])");
  f.space->n_sketches = autotune_sketches(f.task->program, 2, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
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

int run_sketch_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul_structure),  cmocka_unit_test(test_inlined_chain),
      cmocka_unit_test(test_rfactor_structure), cmocka_unit_test(test_limit),
      cmocka_unit_test(test_many_stages_end),
  };
  return CHECK_TABLE("sketch counts", counts, count) + CHECK_TESTS("sketches", tests);
}
