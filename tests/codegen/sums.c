/* Sums of what counts for some lanes: with cheap masks what does not count adds -0, which is nothing at all, where a sum begins with 0. */
#include <math.h>

#include "tests/codegen/kit.h"

enum { ROWS = 16, STEPS = 64, N = ROWS * STEPS };

typedef struct sum_row {
  const char *name, *program, *schedule, *cpu;
  bool is_masked; /* zeros of the choice become -0 */
  float begin;    /* of each sum */
} sum_row;

#define MASKED(x, otherwise) "select(K[i,k] > u8(0), " x ", " otherwise ")"
#define INPUTS "input X: f32[16,64], K: u8[16,64]\n"
#define LANES                                                                                               \
  "split(S, k, 16); rfactor(S, k.inner, 1); reorder(S.rf, i, k.outer, k.inner); vectorize(S.rf, k.inner); " \
  "compute_at(S.rf, S, i)"
#define WIDE "cpu=skylake-avx512 threads=1 triple=x86_64-pc-linux-gnu"

static const sum_row sum_rows[] = {
    {"rows", INPUTS "S[i<16] = sum[k<64](" MASKED("X[i,k]", "0.0") ")", LANES, WIDE, true, 0},
    {"rows, the other side", INPUTS "S[i<16] = sum[k<64](select(K[i,k] == u8(0), 0.0, X[i,k]))", LANES, WIDE, true, 0},
    {"a choice in a choice", INPUTS "S[i<16] = sum[k<64](select(k < 64, " MASKED("X[i,k]", "0.0") ", 0.0))", LANES,
     WIDE, true, 0},
    {"columns", "input X: f32[64,16], K: u8[64,16]\nS[i<16] = sum[k<64](select(K[k,i] > u8(0), X[k,i], 0.0))",
     "reorder(S, k, i); vectorize(S, i)", WIDE, true, 0},
    {"the end of rows", "input X: f32[16,60]\nS[i<16] = sum[k<60](X[i,k])",
     "split(S, k, 16, tail=guard); rfactor(S, k.inner, 1); split(S.rf, k.outer, 3, tail=peel); reorder(S.rf, i, "
     "k.outer.outer, "
     "k.outer.inner, k.inner); vectorize(S.rf, k.inner); compute_at(S.rf, S, i)",
     WIDE, false, 0},
    {"a step at a time", INPUTS "S[i<16] = sum[k<64](" MASKED("X[i,k]", "0.0") ")", "", WIDE, false, 0},
    {"dear masks", INPUTS "S[i<16] = sum[k<64](" MASKED("X[i,k]", "0.0") ")", LANES,
     "cpu=haswell threads=1 triple=x86_64-pc-linux-gnu", false, 0},
    {"a sum that begins with -0",
     "input X: f32[64,16], K: u8[64,16], B: f32[16]\n"
     "S[i<16] = sum[k<64 init = B[i]](select(K[k,i] > u8(0), X[k,i], 0.0))",
     "reorder(S, k, i); vectorize(S, i)", WIDE, false, -0.0F},
};

static tn_schedule *scheduled(const sum_row *r) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, r->program, 0, NULL));
  tn_schedule_apply(s, r->schedule);
  check_ok(K.ctx);
  return s;
}

static void masks(void **state) {
  const sum_row *r = *state;
  tn_schedule *s = scheduled(r);
  const tn_build_options options = {.target = tn_target_new(K.ctx, r->cpu)};
  char *text = tn_build_text(s, &options, ".ll");
  check_ok(K.ctx);
  if ((strstr(text, "float -0.000000e+00") != NULL) != r->is_masked) fail_msg("%s", text);
  free(text);
  tn_schedule_free(s);
}

/* Whole numbers, which add up exactly in any order; of row 0 nothing counts, of row 1 zeros below 0 do. */
static float element(int i, int k) { return i == 1 ? -0.0F : (float)((i * 37 + k * 11) % 23 - 9); }

static bool counts(int i, int k) { return i != 0 && (i == 1 || (i * 7 + k * 5) % 3 == 0); }

static void values(void **state) {
  const sum_row *r = *state;
  _Alignas(64) static float x[N], sums[ROWS], begin[ROWS];
  _Alignas(64) static uint8_t mask[N];
  if (strstr(r->program, "K: u8") == NULL) return; /* nothing is masked */
  bool by_columns = strstr(r->program, "X: f32[64,16]") != NULL;
  tn_schedule *s = scheduled(r);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  for (int i = 0; i < ROWS; i++) {
    begin[i] = r->begin;
    for (int k = 0; k < STEPS; k++) {
      int at = by_columns ? k * ROWS + i : i * STEPS + k;
      x[at] = element(i, k), mask[at] = counts(i, k);
    }
  }
  bool begins = strstr(r->program, "init") != NULL;
  void *inputs[] = {x, mask, begins ? begin : sums, sums};
  assert_int_equal(kit_call(kernel, inputs), 0);
  for (int i = 0; i < ROWS; i++) {
    volatile float wanted = r->begin;
    for (int k = 0; k < STEPS; k++) wanted += counts(i, k) ? element(i, k) : 0.0F;
    if (sums[i] != wanted || !signbit(sums[i]) != !signbit(wanted))
      fail_msg("sum %d: %g instead of %g", i, (double)sums[i], (double)wanted);
  }
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

int test_sums(void) {
  return CHECK_TABLE("zeros that add nothing", sum_rows, masks) + CHECK_TABLE("what is summed", sum_rows, values);
}
