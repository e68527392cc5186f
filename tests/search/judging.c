/* How finals are judged from made-up turns: who is out, who wins, what is a tie, and what other work of the machine may do to
 * that. The turns themselves are in tuning.c. */
#include "autotune/tuner.h"
#include "tests/search/search_test.h"

static finals_entry entry(int n_steps, int n, double low, double step) {
  finals_entry e = {.n_steps = n_steps, .n = n};
  for (int i = 0; i < n; ++i) e.turns[i] = low + step * i;
  return e;
}

static void certain_ones(void **state) {
  (void)state;
  bool is_tie;
  finals_entry apart[] = {entry(9, 7, 1.0, 0.01), entry(3, 7, 1.2, 0.01), entry(3, 0, 0, 0)};
  assert_int_equal(finals_judge(apart, 3), 1);
  assert_int_equal(finals_winner(apart, 3, &is_tie), 0);
  assert_false(is_tie);
  finals_entry tied[] = {entry(9, 7, 1.0, 0.01), entry(3, 7, 1.001, 0.01), entry(1, 7, 1.02, 0.01)};
  assert_int_equal(finals_judge(tied, 3), 3);
  assert_int_equal(finals_winner(tied, 3, &is_tie), 1); /* the simplest of those as good; the third is slower */
  assert_true(is_tie);
  finals_entry with_auto[] = {entry(9, 7, 1.0, 0.01), entry(3, 7, 1.001, 0.01), entry(30, 7, 1.005, 0.01)};
  with_auto[2].is_generic = true;
  assert_int_equal(finals_judge(with_auto, 3), 3);
  assert_int_equal(finals_winner(with_auto, 3, &is_tie), 2); /* it needs no record */
  finals_entry few[] = {entry(9, 4, 1.0, 0.01), entry(3, 4, 1.5, 0.01)};
  assert_int_equal(finals_judge(few, 2), 2);                      /* not sure yet */
  finals_entry torn[] = {entry(3, 7, 1.5, 0), entry(9, 7, 1, 0)}; /* each slower in some turns: the median decides */
  for (int i = 1; i < 7; i += 2) torn[1].turns[i] = 2;
  assert_int_equal(finals_judge(torn, 2), 2);
  assert_int_equal(finals_winner(torn, 2, &is_tie), 1);
  finals_entry none[] = {entry(1, 0, 0, 0)};
  assert_int_equal(finals_judge(none, 1), 0);
  assert_int_equal(finals_winner(none, 1, &is_tie), -1);
}

/* The generic schedule wins unless another one is clearly faster, whatever the short turns say. */
static void auto_gives_way_to_the_clear(void **state) {
  (void)state;
  bool is_tie;
  finals_entry unsure[] = {entry(9, 7, 1.0, 0.01), entry(30, 7, 1.02, 0.01)}; /* 2 % slower, but once it was faster */
  unsure[1].is_generic = true;
  unsure[1].turns[3] = 1.025;
  assert_int_equal(finals_judge(unsure, 2), 2);
  assert_int_equal(finals_winner(unsure, 2, &is_tie), 1);
  assert_true(is_tie);
  unsure[1].turns[3] = 1.06;
  assert_int_equal(finals_winner(unsure, 2, &is_tie), 0);
  assert_false(is_tie);
  finals_entry few[] = {entry(9, 3, 1.0, 0.01), entry(30, 3, 1.1, 0.01)};
  few[1].is_generic = true;
  assert_int_equal(finals_judge(few, 2), 2);
  assert_int_equal(finals_winner(few, 2, &is_tie), 1); /* three turns tell a tenth from chance in nobody's favour */
  few[1] = entry(30, 3, 1.3, 0.01);
  few[1].is_generic = true;
  assert_int_equal(finals_judge(few, 2), 2);
  assert_int_equal(finals_winner(few, 2, &is_tie), 0);
}

/* Turns of two kernels, the second SLOWER times as slow, while the machine is now and then slower for both, and each has noise
 * of its own. */
static void draw_turns(runtime_rng *rng, double slower, finals_entry *e) {
  enum { TURNS = 15 };
  double speed = 1;
  for (int i = 0; i < 2; ++i) e[i] = (finals_entry){.n = TURNS, .n_steps = 1 + i};
  for (int k = 0; k < TURNS; ++k) {
    if (runtime_random_below(rng, 4) == 0) speed = 1 + 0.3 * runtime_random_unit(rng);
    for (int i = 0; i < 2; ++i)
      e[i].turns[k] = speed * (i ? slower : 1) * (1 + 0.02 * runtime_random_unit(rng)) +
                      (runtime_random_below(rng, 10) == 0 ? 0.3 : 0);
  }
}

/* The same kernel twice, with the noise of a busy machine, is called a tie nearly always; one that is 5 % slower never wins, and
 * is nearly always told apart. */
static void equals_tie(void **state) {
  (void)state;
  runtime_rng rng = {.state = 5};
  int ties = 0, told_apart = 0, wrong = 0;
  for (int round = 0; round < 1000; ++round) {
    finals_entry e[2];
    bool is_tie;
    draw_turns(&rng, 1, e);
    finals_judge(e, 2);
    finals_winner(e, 2, &is_tie);
    ties += is_tie;
    draw_turns(&rng, 1.05, e);
    finals_judge(e, 2);
    wrong += finals_winner(e, 2, &is_tie) == 1;
    told_apart += !is_tie;
  }
  if (ties < 950 || told_apart < 800 || wrong > 15)
    fail_msg("of 1000: %d ties, %d told apart, %d wrong winners", ties, told_apart, wrong);
}

/* Eight kernels up to 14 % apart, on a machine whose other work meets more than half of all turns, each kernel's by itself. */
static int draw_loaded(runtime_rng *rng, finals_entry e[8]) {
  enum { TURNS = 15 };
  int fastest = (int)runtime_random_below(rng, 8);
  for (int i = 0; i < 8; ++i) {
    e[i] = (finals_entry){.n = TURNS, .n_steps = 1 + (int)runtime_random_below(rng, 40)};
    double cost = 1 + 0.02 * ((i - fastest + 8) % 8);
    for (int k = 0; k < TURNS; ++k) {
      double other_work = runtime_random_below(rng, 5) < 3 ? 1.5 * runtime_random_unit(rng) : 0;
      e[i].turns[k] = cost * (1 + other_work + 0.004 * runtime_random_unit(rng));
    }
  }
  return fastest;
}

/* Time that other work takes only makes turns longer: the short ones tell what a kernel takes. */
static void other_work_misleads_nobody(void **state) {
  (void)state;
  runtime_rng rng = {.state = 6};
  int wrong = 0;
  for (int round = 0; round < 500; ++round) {
    finals_entry e[8];
    bool is_tie;
    int fastest = draw_loaded(&rng, e);
    finals_judge(e, 8);
    int winner = finals_winner(e, 8, &is_tie);
    assert_in_range(winner, 0, 7);
    wrong += (winner - fastest + 8) % 8 > 1; /* more than 2 % slower */
  }
  if (wrong > 5) fail_msg("of 500 winners %d are 4 %% slower than the fastest, or more", wrong);
}

int run_judging_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(certain_ones),
      cmocka_unit_test(auto_gives_way_to_the_clear),
      cmocka_unit_test(equals_tie),
      cmocka_unit_test(other_work_misleads_nobody),
  };
  return CHECK_TESTS("judging finals", tests);
}
