/* The search by plans: `auto` is always a parent, drawn and changed plans lower, come back from their schedules, and
 * what a record says of its plans is checked. */
#include <math.h>

#include "schedule/tile.h"
#include "tests/search/search_test.h"

enum { SAMPLES = 40, CHANGES = 100 };

typedef struct program_row {
  const char *name, *program;
} program_row;

static const program_row programs[] = {
    {"matmul", MATMUL(32, 48, 24)},
    {"matmul of odd sizes", MATMUL(13, 37, 11)},
    {"matmul and addition", MATMUL_ADD(24, 32, 16)},
    {"two matmuls", TWO_MATMULS(16)},
    {"convolution", CONV},
    {"max pool", MAX_POOL},
    {"softmax", SOFTMAX(12, 40)},
    {"row sum", ROW_SUM(40, 240)},
    {"elementwise", ELEMENTWISE(20, 70)},
    {"full sum", "B[] = sum[k<128](A[k])"},
    {"transpose", "B[i<40, j<70] = A[j,i]"},
    {"batched matmul", "C[b<3, i<40, j<70] = sum[k<24](A[b,i,k] * B[b,k,j])"},
    {"grouped convolution",
     "O[n<1, h<6, w<6, f<32] = sum[r<3, s<3, c<16](I[n, h+r, w+s, f // 16 * 16 + c] * W[r,s,c,f])"},
    {"padded convolution",
     "input I: f32[2,8,8,16], W: f32[3,3,16,40]\n"
     "P[n<2, h<10, w<10, c<16] = select(h >= 1 && h < 9 && w >= 1 && w < 9, I[n, h-1, w-1, c], 0)\n"
     "O[n<2, h<8, w<8, f<40] = sum[r<3, s<3, c<16](P[n, h+r, w+s, c] * W[r,s,c,f])"},
    {"bytes", "input A: u8[32,64], B: i8[64,48]\nC[i<32, j<48] = sum[k<64](i32(A[i,k]) * i32(B[k,j]))"},
    {"stencils",
     "input I: f32[66,70]\nP[y<64, x<68] = sum[r<3, s<3](I[y+r, x+s])\n"
     "S[y<62, x<66] = sum[r<3, s<3](P[y+r, x+s])\nQ[y<62, x<66] = S[y,x] * 0.1 + I[y+2, x+2]"},
    {"recurrence",
     "input X: f32[6,24,16], W: f32[16,40], U: f32[40,40]\n"
     "P[t<6, b<24, j<40] = sum[k<16](X[t,b,k] * W[k,j])\nstate S: f32[6,24,40]\n"
     "H[t<6, b<24, j<40] = sum[k<40](select(t < 1, 0, S[t-1,b,k]) * U[k,j] * 0.01)\n"
     "scan S[t<6, b<24, j<40] = select(t < 1, P[t,b,j], tanh(H[t,b,j] + P[t,b,j]))"},
};

static space_fixture make(const char *program) {
  space_fixture f = space_make(program);
  assert_true(autotune_plan_space(f.space));
  check_ok(f.ctx);
  assert_true(f.space->n_groups > 0);
  return f;
}

/* The generic schedule that a new search proposes second says its plans, and they make it again. */
static void auto_is_a_parent(void **state) {
  const program_row *row = *state;
  space_fixture f = make(row->program);
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  tn_schedule *first[2];
  autotune_genome genome;
  assert_int_equal(autotune_search_next(search, 2, first), 2);
  assert_non_null(schedule_plan_text(first[1]));
  assert_true(autotune_genome_of(f.space, first[1], &genome));
  assert_memory_equal(&genome, &f.space->best, sizeof genome);
  for (int i = 0; i < 2; i++) tn_schedule_free(first[i]);
  autotune_search_free(search);
  space_free(&f);
}

static tn_schedule *schedule_of(space_fixture *f, const autotune_genome *genome) {
  runtime_quiet quiet = runtime_quiet_begin(f->ctx);
  tn_schedule *s = autotune_genome_schedule(f->space, genome);
  runtime_quiet_end(&quiet);
  return s;
}

static void assert_lowers_and_comes_back(space_fixture *f, const autotune_genome *genome, tn_schedule *s) {
  runtime_arena arena = {0};
  autotune_genome back;
  assert_non_null(schedule_lower(s, "kernel", &arena));
  autotune_genome_say(f->space, genome, s);
  assert_true(autotune_genome_of(f->space, s, &back));
  assert_memory_equal(&back, genome, sizeof back);
  runtime_arena_free(&arena);
}

static void samples_come_back(void **state) {
  const program_row *row = *state;
  space_fixture f = make(row->program);
  runtime_rng rng = {7};
  int legal = 0;
  for (int i = 0; i < SAMPLES; i++) {
    autotune_genome genome;
    autotune_sample_plans(f.space, &rng, &genome);
    tn_schedule *s = schedule_of(&f, &genome);
    if (!s) continue;
    assert_lowers_and_comes_back(&f, &genome, s);
    tn_schedule_free(s);
    legal++;
  }
  assert_in_range(legal, SAMPLES / 2, SAMPLES);
  space_free(&f);
}

/* Mutations and crossings of legal plans are mostly legal. */
static void changes_stay_legal(void **state) {
  const program_row *row = *state;
  space_fixture f = make(row->program);
  runtime_rng rng = {13};
  autotune_genome genome = f.space->best;
  int legal = 0;
  for (int i = 0; i < CHANGES; i++) {
    autotune_genome changed = genome, child;
    assert_true(autotune_mutate(f.space, &rng, &changed));
    autotune_crossover(&changed, &f.space->best, &rng, &child);
    tn_schedule *s = schedule_of(&f, i % 2 ? &changed : &child);
    if (!s) continue;
    assert_lowers_and_comes_back(&f, i % 2 ? &changed : &child, s);
    tn_schedule_free(s);
    legal++;
  }
  assert_in_range(legal, CHANGES / 2, CHANGES);
  space_free(&f);
}

/* As text; NULL: refused. */
static char *loops_of(space_fixture *f, const autotune_genome *genome) {
  runtime_arena arena = {0};
  runtime_str text = {0};
  tn_schedule *s = schedule_of(f, genome);
  const tir_func *loops = s ? schedule_lower(s, "kernel", &arena) : NULL;
  if (loops) tir_print_func(&text, loops);
  tn_schedule_free(s);
  runtime_arena_free(&arena);
  return text.data;
}

/* A normal form makes the loops of the plan, and is its own. */
static void normal_forms_are_the_same(void **state) {
  enum { DRAWN = 200 };
  const program_row *row = *state;
  space_fixture f = make(row->program);
  runtime_rng rng = {17};
  for (int i = 0; i < DRAWN; i++) {
    autotune_genome genome, normal, again;
    autotune_sample_plans(f.space, &rng, &genome);
    normal = genome;
    autotune_normalize(f.space, &normal);
    again = normal;
    autotune_normalize(f.space, &again);
    assert_memory_equal(&again, &normal, sizeof normal);
    if (memcmp(&normal, &genome, sizeof normal) == 0) continue;
    char *loops = loops_of(&f, &genome), *same = loops_of(&f, &normal);
    assert_true(!loops == !same);
    if (loops) assert_string_equal(loops, same);
    free(loops);
    free(same);
  }
  space_free(&f);
}

/* Ranked plans of the family `tile` are different loops, all of them. */
static void ranked_are_distinct(void **state) {
  (void)state;
  space_fixture f = make(MATMUL(96, 160, 64));
  const schedule_plan *ranked;
  char *loops[PLAN_MAX_RANKED];
  int n = schedule_plans_ranked(f.space->plans, 0, &ranked);
  assert_int_equal(n, PLAN_MAX_RANKED);
  for (int i = 0; i < n; i++) {
    autotune_genome genome = f.space->best;
    autotune_plan_put(&genome, 0, &ranked[i]);
    loops[i] = loops_of(&f, &genome);
    for (int k = 0; loops[i] && k < i; k++)
      if (loops[k]) assert_string_not_equal(loops[i], loops[k]);
  }
  for (int i = 0; i < n; i++) free(loops[i]);
  space_free(&f);
}

/* ---- plans of records -------------------------------------------------------------------------------------------- */

typedef struct wrong_row {
  const char *name, *text, *message;
} wrong_row;

#define WHOLE_PLAN(rows)                                                                                           \
  "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64,\"vectors\":1,\"rows\":" rows                                \
  ",\"rows2\":1,\"pack\":0,\"panels\":1,\"block\":0,\"order\":0,\"inner\":0,\"dot\":0,\"lanes\":0,\"prefetch\":0," \
  "\"depth\":0,"                                                                                                   \
  "\"threads\":0,\"padding\":0,\"parity\":0}]"

static const wrong_row wrongs[] = {
    {"no JSON", "{", "plan: an array of objects is needed"},
    {"no array", "{}", "plan: an array of objects is needed"},
    {"no stage", "[{\"family\":\"points\"}]", "plan: \"stage\" names no group of the program: it is missing"},
    {"another stage", "[{\"stage\":\"X\"}]", "plan: \"stage\" names no group of the program: X"},
    {"a family that cannot", "[{\"stage\":\"C\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0}]",
     "plan: \"family\" of C is points, which cannot schedule it"},
    {"a field is missing", "[{\"stage\":\"C\",\"family\":\"tile\",\"width\":64}]",
     "plan: \"vectors\" of family tile has to be a whole number"},
    {"a value that cannot be chosen", WHOLE_PLAN("99"),
     "plan: \"rows\" of C is 99, and family tile has 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... there"},
    {"a number that is none of a field's", WHOLE_PLAN("1.5"), "plan: \"rows\" of family tile has to be a whole number"},
};

static void plan_refused(void **state) {
  const wrong_row *row = *state;
  space_fixture f = space_make(MATMUL(32, 48, 24));
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  assert_int_equal(autotune_search_check_plan(search, row->text), TN_ERROR_RECORD);
  check_fails(f.ctx, TN_ERROR_RECORD, row->message);
  autotune_search_free(search);
  space_free(&f);
}

/* Columns go first for what all rows share: of one row nothing is shared. */
static void one_row_shares_nothing(void **state) {
  (void)state;
  space_fixture f = space_make("Y[i<1, j<2048] = exp(X[i,j])");
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  const char *plan =
      "[{\"stage\":\"Y\",\"family\":\"points\",\"vectors\":4,\"threads\":0,\"stream\":0,\"columns\":1,\"fold\":0}]";
  assert_int_equal(autotune_search_check_plan(search, plan), TN_ERROR_RECORD);
  check_fails(f.ctx, TN_ERROR_RECORD, "plan: \"columns\" of Y is 1, and family points has 0 there");
  autotune_search_free(search);
  space_free(&f);
}

/* Records of before hold plans that are not normal: with an order of two loops of which there is one. */
static void plans_that_are_not_normal_apply(void **state) {
  (void)state;
  space_fixture f = make(MATMUL(96, 160, 64));
  autotune_genome genome = f.space->best, back;
  genome.plans[0].value[TILE_ORDER] = 1;
  tn_schedule *s = schedule_of(&f, &genome);
  assert_non_null(s);
  autotune_genome_say(f.space, &genome, s);
  assert_true(autotune_genome_of(f.space, s, &back));
  assert_memory_equal(&back, &genome, sizeof back);
  tn_schedule_free(s);
  space_free(&f);
}

/* A plan whose schedule is another one is no parent, however well it reads. */
static void other_plan_is_no_parent(void **state) {
  (void)state;
  space_fixture f = make(MATMUL(64, 64, 64));
  autotune_genome genome;
  tn_schedule *planned = schedule_of(&f, &f.space->best), *s = tn_schedule_new(f.task->program);
  assert_int_equal(tn_vectorize_by(s, "C", "j", 16, TN_TAIL_GUARD), TN_OK);
  assert_false(autotune_genome_of(f.space, s, &genome));
  autotune_genome_say(f.space, &f.space->best, s);
  assert_false(autotune_genome_of(f.space, s, &genome));
  autotune_genome_say(f.space, &f.space->best, planned);
  assert_non_null(schedule_plan_text(planned));
  assert_int_equal(tn_unroll(planned, "C", "i.inner"), TN_OK);
  assert_null(schedule_plan_text(planned));
  tn_schedule_free(planned);
  tn_schedule_free(s);
  space_free(&f);
}

/* ---- what is worth compiling ------------------------------------------------------------------------------------- */

static void too_much_is_dropped(void **state) {
  (void)state;
  const autotune_space space = {.least_work = 1000}, unknown = {0};
  assert_true(autotune_is_promising(&space, &(autotune_estimate){.work = 4000, .statements = 100}));
  assert_false(autotune_is_promising(&space, &(autotune_estimate){.work = 4001, .statements = 100}));
  assert_false(autotune_is_promising(&space, &(autotune_estimate){.work = 1000, .statements = 1e5}));
  assert_true(autotune_is_promising(&unknown, &(autotune_estimate){.work = 4000, .statements = 100}));
}

/* A board has no room for it, by the elements of vectors where it has none. */
static void what_flash_cannot_hold_is_dropped(void **state) {
  (void)state;
  const autotune_space words = {.flash_bytes = 4096, .is_in_words = true}, vectors = {.flash_bytes = 4096}, any = {0};
  const autotune_estimate fits = {.code = 100, .words = 400}, too_long = {.code = 400, .words = 1600};
  assert_true(autotune_is_promising(&words, &fits));
  assert_false(autotune_is_promising(&words, &too_long));
  assert_true(autotune_is_promising(&vectors, &too_long));
  assert_false(autotune_is_promising(&vectors, &(autotune_estimate){.code = 600, .words = 600}));
  assert_true(autotune_is_promising(&any, &too_long));
}

/* What took LLVM too long is a limit for the rest of the run, but never for what is as long as `auto`. */
static void a_time_out_is_learned_from(void **state) {
  (void)state;
  autotune_space space = {.statements = 900};
  const autotune_estimate shorter = {.statements = 1999}, as_long = {.statements = 2000}, usual = {.statements = 1700};
  assert_true(autotune_is_promising(&space, &as_long));
  autotune_learn_too_many(&space, 2000);
  assert_false(autotune_is_promising(&space, &as_long));
  assert_true(autotune_is_promising(&space, &shorter));
  autotune_learn_too_many(&space, 3000);
  assert_false(autotune_is_promising(&space, &as_long));
  autotune_learn_too_many(&space, 100);
  assert_true(autotune_is_promising(&space, &usual));
  assert_false(autotune_is_promising(&space, &shorter));
}

/* Before anything was measured: the best-ranked plans, and a few sketches; none computes much more than it needs. */
static void first_round_is_planned(void **state) {
  (void)state;
  enum { ROUND = 24 };
  space_fixture f = space_make(MATMUL(512, 512, 512));
  static float rows[AUTOTUNE_MAX_ROWS * AUTOTUNE_FEATURES];
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  tn_schedule *round[ROUND];
  runtime_arena arena = {0};
  int n_plans = 0;
  assert_true(autotune_space_fill(f.space));
  assert_int_equal(autotune_search_next(search, ROUND, round), ROUND);
  for (int i = 0; i < ROUND; i++) {
    autotune_genome genome;
    autotune_estimate estimate;
    bool is_genome = autotune_genome_of(f.space, round[i], &genome);
    assert_true(is_genome == (i > 0)); /* the default schedule is none */
    n_plans += is_genome && genome.sketch == AUTOTUNE_PLANNED;
    if (is_genome) assert_true(isfinite(autotune_genome_cost(f.space, &genome)));
    assert_true(autotune_schedule_rows(f.space, round[i], 0, &arena, rows, &estimate) > 0);
    assert_true(i == 0 || autotune_is_promising(f.space, &estimate));
    tn_schedule_free(round[i]);
  }
  assert_in_range(n_plans, ROUND / 2, ROUND);
  runtime_arena_free(&arena);
  autotune_search_free(search);
  space_free(&f);
}

/* The analytic cost puts an operand that is read where it lies, and one that is copied before all, behind hundreds of plans that
 * copy it by blocks. They are measured all the same, so that somebody learns when it is wrong. */
static void structures_are_tried(void **state) {
  (void)state;
  enum { ROUNDS = 3, ROUND = 24, PACKS = 3, INNERS = 2 };
  space_fixture f = space_make(MATMUL(256, 256, 256));
  autotune_search *search = autotune_search_new(f.task, f.model, 1);
  tn_schedule *round[ROUND];
  int packs[PACKS] = {0}, inners[INNERS] = {0};
  assert_true(autotune_space_fill(f.space));
  for (int r = 0; r < ROUNDS; r++) {
    assert_int_equal(autotune_search_next(search, ROUND, round), ROUND);
    for (int i = 0; i < ROUND; i++) {
      autotune_genome genome;
      bool is_planned = autotune_genome_of(f.space, round[i], &genome) && genome.sketch == AUTOTUNE_PLANNED;
      if (is_planned) packs[genome.plans[0].value[TILE_PACK]]++, inners[genome.plans[0].value[TILE_INNER]]++;
      tn_schedule_free(round[i]);
    }
  }
  for (int i = 0; i < PACKS; i++) assert_in_range(packs[i], 2, ROUNDS * ROUND);
  for (int i = 0; i < INNERS; i++) assert_in_range(inners[i], 2, ROUNDS * ROUND);
  autotune_search_free(search);
  space_free(&f);
}

int run_planned_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_plan_is_no_parent),    cmocka_unit_test(ranked_are_distinct),
      cmocka_unit_test(one_row_shares_nothing),     cmocka_unit_test(plans_that_are_not_normal_apply),
      cmocka_unit_test(too_much_is_dropped),        cmocka_unit_test(what_flash_cannot_hold_is_dropped),
      cmocka_unit_test(a_time_out_is_learned_from), cmocka_unit_test(first_round_is_planned),
      cmocka_unit_test(structures_are_tried)};
  return CHECK_TABLE("auto is a parent", programs, auto_is_a_parent) +
         CHECK_TABLE("drawn plans come back", programs, samples_come_back) +
         CHECK_TABLE("changed plans stay legal", programs, changes_stay_legal) +
         CHECK_TABLE("normal forms", programs, normal_forms_are_the_same) +
         CHECK_TABLE("plans of records refused", wrongs, plan_refused) + CHECK_TESTS("plans", tests);
}
