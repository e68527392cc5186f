/* Random genomes and changed ones: they make schedules that lower, compute the right values, and come back from their
 * steps. */
#include <math.h>

#include "tests/search/search_test.h"

enum { SAMPLES = 50, COMPILED = 6, CHANGES = 200, MAX_ARGS = 8 };

typedef struct program_row {
  const char *name, *program;
} program_row;

static const program_row programs[] = {
    {"matmul", MATMUL(32, 48, 24)},
    {"matmul of odd sizes", MATMUL(13, 37, 11)},
    {"matmul and addition", MATMUL_ADD(24, 32, 16)},
    {"matmul and addition of odd sizes", MATMUL_ADD(17, 29, 7)},
    {"two matmuls", TWO_MATMULS(16)},
    {"convolution", CONV},
    {"max pool", MAX_POOL},
    {"softmax", SOFTMAX(12, 40)},
    {"row sum", ROW_SUM(40, 24)},
    {"softmax of odd sizes", SOFTMAX(7, 37)},
    {"norm", "S[b<2] = sum[i<7, j<45](A[b,i,j] * A[b,i,j]); D[b<2] = sqrt(S[b])"},
    {"column sum", "B[j<5] = sum[k<101](A[k,j])"},
    {"elementwise", ELEMENTWISE(20, 70)},
    {"full sum", "B[] = sum[k<128](A[k])"},
    {"matrix times vector of i32", "input A: i32[40,9], B: i32[9]\nC[i<40] = sum[k<9](A[i,k] * B[k])"},
};

static space_fixture make(const char *program) {
  space_fixture f = space_make(program);
  f.space->n_sketches = autotune_sketches(f.task, AUTOTUNE_MAX_SKETCHES, f.space->sketches);
  check_ok(f.ctx);
  return f;
}

/* The schedule of a genome, or NULL; the context stays clear. */
static tn_schedule *schedule_of(space_fixture *f, const autotune_genome *genome) {
  runtime_quiet quiet = runtime_quiet_begin(f->ctx);
  tn_schedule *s = autotune_genome_schedule(f->space, genome);
  runtime_quiet_end(&quiet);
  return s;
}

static void assert_lowers(space_fixture *f, const tn_schedule *s) {
  runtime_arena arena = {0};
  if (!schedule_lower(s, "kernel", &arena)) {
    char *steps = tn_schedule_print(s, TN_FORM_STEPS);
    print_error("%s\n%s\n", tn_context_message(f->ctx), steps);
    free(steps);
    fail();
  }
  runtime_arena_free(&arena);
}

/* Nearly every sample is legal, and what is legal lowers. */
static void samples_lower(void **state) {
  const program_row *row = *state;
  space_fixture f = make(row->program);
  runtime_rng rng = {7};
  int legal = 0;
  for (int i = 0; i < SAMPLES; i++) {
    autotune_genome genome;
    autotune_sample(f.space, &rng, &genome);
    tn_schedule *s = schedule_of(&f, &genome);
    if (!s) continue;
    assert_lowers(&f, s);
    tn_schedule_free(s);
    legal++;
  }
  assert_in_range(legal, SAMPLES * 9 / 10, SAMPLES);
  space_free(&f);
}

/* genome -> text -> the same genome, and a schedule that says it is a genome's is found to be. */
static void genomes_come_back(void **state) {
  const program_row *row = *state;
  space_fixture f = make(row->program);
  runtime_rng rng = {11};
  for (int i = 0; i < SAMPLES; i++) {
    autotune_genome genome, back;
    autotune_sample(f.space, &rng, &genome);
    char *text = autotune_genome_text(f.space, &genome);
    assert_int_equal(autotune_genome_read(f.space, text, &back), TN_OK);
    assert_memory_equal(&back, &genome, sizeof back);
    free(text);
    tn_schedule *s = schedule_of(&f, &genome);
    if (!s) continue;
    assert_false(autotune_genome_of(f.space, s, &back));
    autotune_genome_say(f.space, &genome, s);
    assert_true(autotune_genome_of(f.space, s, &back));
    assert_memory_equal(&back, &genome, sizeof back);
    tn_schedule_free(s);
  }
  space_free(&f);
}

static void changes_stay_legal(void **state) {
  const program_row *row = *state;
  space_fixture f = make(row->program);
  runtime_rng rng = {13};
  autotune_genome genome;
  int legal = 0;
  autotune_sample(f.space, &rng, &genome);
  for (int i = 0; i < CHANGES; i++) {
    autotune_genome changed = genome;
    autotune_mutate(f.space, &rng, &changed);
    tn_schedule *s = schedule_of(&f, &changed);
    if (!s) continue;
    assert_lowers(&f, s);
    tn_schedule_free(s);
    genome = changed;
    legal++;
  }
  assert_in_range(legal, CHANGES * 4 / 5, CHANGES);
  space_free(&f);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef struct arguments {
  int n, n_inputs;
  DLTensor *got[MAX_ARGS], *wanted[MAX_ARGS];
} arguments;

static arguments arguments_make(const space_fixture *f) {
  const tn_program *p = f->task->program;
  arguments a = {tn_program_arg_count(p), tn_program_input_count(p), {NULL}, {NULL}};
  for (int i = 0; i < a.n; i++) {
    const tn_tensor *t = tn_program_arg(p, i);
    a.wanted[i] = tn_array_new(f->ctx, t->dtype, t->ndim, t->shape);
    a.got[i] = i < a.n_inputs ? a.wanted[i] : tn_array_new(f->ctx, t->dtype, t->ndim, t->shape);
    if (i < a.n_inputs) assert_int_equal(tn_array_fill(f->ctx, a.wanted[i], (uint64_t)i + 1), TN_OK);
  }
  assert_int_equal(tn_evaluate(f->task->program, a.wanted, a.n), TN_OK);
  return a;
}

static void arguments_free(arguments *a) {
  for (int i = 0; i < a->n; i++) {
    if (i >= a->n_inputs) tn_array_free(a->got[i]);
    tn_array_free(a->wanted[i]);
  }
}

static bool same_values(const DLTensor *got, const DLTensor *wanted) {
  size_t n = tn_array_bytes(got) / 4;
  if (got->dtype.code != kDLFloat) return memcmp(got->data, wanted->data, n * 4) == 0;
  const float *x = got->data, *y = wanted->data;
  for (size_t i = 0; i < n; i++) {
    if (!(fabsf(x[i] - y[i]) <= 1e-4f * (1 + fabsf(y[i])))) return false;
  }
  return true;
}

static void check_values(space_fixture *f, const tn_schedule *s, arguments *a) {
  for (int i = a->n_inputs; i < a->n; i++) memset(a->got[i]->data, 0x7f, tn_array_bytes(a->got[i]));
  tn_kernel *kernel = tn_build(s, NULL);
  bool same = kernel && tn_call(f->ctx, kernel, a->got, a->n) == TN_OK;
  for (int i = a->n_inputs; same && i < a->n; i++) same = same_values(a->got[i], a->wanted[i]);
  if (!same) {
    char *steps = tn_schedule_print(s, TN_FORM_STEPS);
    print_error("wrong values or %s\n%s\n", tn_context_message(f->ctx), steps);
    free(steps);
    fail();
  }
  tn_kernel_free(kernel);
}

static void samples_are_right(void **state) {
  const program_row *row = *state;
  space_fixture f = make(row->program);
  runtime_rng rng = {17};
  arguments a = arguments_make(&f);
  for (int i = 0; i < COMPILED; i++) {
    autotune_genome genome;
    autotune_sample(f.space, &rng, &genome);
    tn_schedule *s = schedule_of(&f, &genome);
    if (s) check_values(&f, s, &a);
    tn_schedule_free(s);
  }
  arguments_free(&a);
  space_free(&f);
}

/* ---- single facts ------------------------------------------------------------------------------------------------ */

static void test_divisors(void **state) {
  (void)state;
  runtime_rng rng = {3};
  int seen[13] = {0};
  for (int i = 0; i < 500; i++) seen[autotune_random_divisor(&rng, 12, 12)]++;
  for (int d = 1; d <= 12; d++) assert_int_equal(seen[d] > 0, 12 % d == 0);
  for (int i = 0; i < 100; i++) assert_in_range(autotune_random_divisor(&rng, 96, 8), 1, 8);
  assert_int_equal(autotune_random_divisor(&rng, 7, 6), 1);
  assert_int_equal(autotune_random_divisor(&rng, 1, 0), 1);
}

/* Most innermost tiles of a large matmul fit the registers and are whole vectors. */
static void test_register_tiles(void **state) {
  (void)state;
  space_fixture f = make(MATMUL(512, 512, 512));
  runtime_rng rng = {5};
  int fit = 0, n = 200;
  for (int i = 0; i < n; i++) {
    autotune_genome genome;
    autotune_sample(f.space, &rng, &genome);
    int rows = genome.tiles[0].length[2], columns = genome.tiles[1].length[2];
    int registers = rows * ((columns + 15) / 16);
    fit += columns % 16 == 0 && registers >= 2 && registers <= 28;
  }
  assert_in_range(fit, n / 2, n);
  space_free(&f);
}

/* Extents without good divisors get tails. */
static void test_primes_get_tails(void **state) {
  (void)state;
  space_fixture f = make(MATMUL(521, 523, 64));
  runtime_rng rng = {5};
  int tails = 0, n = 100;
  for (int i = 0; i < n; i++) {
    autotune_genome genome;
    autotune_sample(f.space, &rng, &genome);
    tails += genome.tiles[1].length[2] > 1;
  }
  assert_in_range(tails, n / 3, n);
  space_free(&f);
}

/* A schedule that says it is of a sketch, and is another one, is no parent. */
static void test_foreign_schedule(void **state) {
  (void)state;
  space_fixture f = make(MATMUL(32, 32, 32));
  tn_schedule *s = tn_schedule_new(f.task->program);
  runtime_rng rng = {5};
  autotune_genome genome;
  assert_int_equal(tn_split(s, "C", "k", 4, TN_TAIL_GUARD), TN_OK);
  autotune_sample(f.space, &rng, &genome);
  autotune_genome_say(f.space, &genome, s);
  runtime_quiet quiet = runtime_quiet_begin(f.ctx);
  assert_false(autotune_genome_of(f.space, s, &genome));
  runtime_quiet_end(&quiet);
  tn_schedule_free(s);
  space_free(&f);
}

/* ---- genomes of sketches in records ------------------------------------------------------------------------------ */

#define SKETCH_OF(number, tiles, stages) \
  "[{\"family\":\"sketch\",\"sketch\":" number ",\"tiles\":" tiles ",\"stages\":" stages "}]"

/* B = sum(A): one stage of choices, and A's that mean nothing. The last sketch has no open split. */
static const struct wrong_row {
  const char *name, *text, *message;
} wrongs[] = {
    {"no number", "[{\"family\":\"sketch\"}]", "plan: \"sketch\" has to be a number from 0 to"},
    {"a sketch that is not there", SKETCH_OF("99", "[]", "[]"), "plan: \"sketch\" has to be a number from 0 to"},
    {"no tiles", SKETCH_OF("0", "7", "[]"), "plan: \"tiles\" of family sketch has to be an array of 1"},
    {"too many tiles", SKETCH_OF("0", "[1,2]", "[]"), "plan: \"tiles\" of family sketch has to be an array of 1"},
    {"no stages", SKETCH_OF("0", "[[1,1,1,\"peel\"]]", "[]"),
     "plan: \"stages\" of family sketch has to be an array of 3"},
    {"no tail", SKETCH_OF("0", "[[1,1,1,\"cut\"]]", "[[],[],[]]"),
     "plan: \"tiles\"[0] of family sketch ends in no tail"},
    {"a length of 0", SKETCH_OF("0", "[[0,1,1,\"peel\"]]", "[[],[],[]]"),
     "plan: \"tiles\"[0] of family sketch has a length that is none of the split's"},
    {"a choice that is not there", SKETCH_OF("0", "[[8,1,1,\"peel\"]]", "[[0,9,0,0,0],[],[]]"),
     "plan: \"stages\"[0] of family sketch: vector is a number from 0 to 4"},
};

static void sketch_refused(void **state) {
  const struct wrong_row *row = *state;
  space_fixture f = make(ROW_SUM(40, 240));
  autotune_genome genome;
  assert_int_equal(autotune_genome_read(f.space, row->text, &genome), TN_ERROR_RECORD);
  check_fails(f.ctx, TN_ERROR_RECORD, row->message);
  space_free(&f);
}

static void test_illegal_genome_is_refused(void **state) {
  (void)state;
  space_fixture f = make(MATMUL(32, 32, 32));
  runtime_rng rng = {5};
  autotune_genome genome;
  autotune_sample(f.space, &rng, &genome);
  genome.tiles[0].length[2] = 0;
  assert_null(autotune_genome_schedule(f.space, &genome));
  check_fails(f.ctx, TN_ERROR_SCHEDULE, "0");
  space_free(&f);
}

/* A quiet stretch hides refusals, keeps an earlier failure, and gives messages back afterwards. */
static void test_quiet(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  runtime_quiet quiet = runtime_quiet_begin(ctx);
  runtime_fail(ctx, TN_ERROR_SCHEDULE, "hidden");
  runtime_quiet_end(&quiet);
  check_ok(ctx);
  check_has_not(check_messages(ctx), "hidden");
  runtime_fail(ctx, TN_ERROR_IO, "first");
  quiet = runtime_quiet_begin(ctx);
  runtime_fail(ctx, TN_ERROR_SCHEDULE, "hidden");
  runtime_quiet_end(&quiet);
  check_fails(ctx, TN_ERROR_IO, "first");
  check_context_free(ctx);
}

/* Splits in one step and in two, and loops of extent 1, are the same loop nest; tails and annotations are not. */
static void test_hash(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    bool same;
  } pairs[] = {
      {"split(C, i, 8); split(C, i.inner, 2)", "split(C, i, 2); split(C, i.outer, 4)", true},
      {"split(C, i, 1)", "", true},
      {"split(C, i, 8)", "split(C, i, 4)", false},
      {"split(C, i, 8)", "split(C, i, 4); reorder(C, i.inner, i.outer)", false}, /* lengths 4 and 8, other strides */
      {"split(C, i, 8); vectorize(C, j)", "split(C, i, 8)", false},
      {"split(C, i, 7, tail=guard)", "split(C, i, 7, tail=peel)", false},
      {"split(C, i, 8, tail=guard)", "split(C, i, 8, tail=peel)", true},
      {"fuse(C, i, j)", "", false},
      {"split(C, i, 1); fuse(C, i.inner, j)", "", true},
      {"reorder(C, j, i)", "", false},
      {"parallel(C, i)", "", false},
      {"unroll(C, j)", "", false},
  };
  space_fixture f = make("C[i<32, j<32] = A[i,j]");
  for (int i = 0; i < RUNTIME_COUNT(pairs); i++) {
    tn_schedule *a = tn_schedule_new(f.task->program), *b = tn_schedule_new(f.task->program);
    tn_schedule_apply(a, pairs[i].a);
    tn_schedule_apply(b, pairs[i].b);
    check_ok(f.ctx);
    if ((autotune_schedule_hash(a) == autotune_schedule_hash(b)) != pairs[i].same)
      fail_msg("%s | %s", pairs[i].a, pairs[i].b);
    tn_schedule_free(a);
    tn_schedule_free(b);
  }
  space_free(&f);
}

int run_genome_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_divisors),
      cmocka_unit_test(test_register_tiles),
      cmocka_unit_test(test_primes_get_tails),
      cmocka_unit_test(test_foreign_schedule),
      cmocka_unit_test(test_quiet),
      cmocka_unit_test(test_illegal_genome_is_refused),
      cmocka_unit_test(test_hash),
  };
  return CHECK_TABLE("samples lower", programs, samples_lower) +
         CHECK_TABLE("genomes come back", programs, genomes_come_back) +
         CHECK_TABLE("changes stay legal", programs, changes_stay_legal) +
         CHECK_TABLE("samples are right", programs, samples_are_right) +
         CHECK_TABLE("genomes of records refused", wrongs, sketch_refused) + CHECK_TESTS("genomes", tests);
}
