/* argmax and argmin in the order of their positions: one comparison a step where that is enough; and what makes it not enough: ties, NaN,
 * lanes of nothing but the least value, positions that do not grow. */
#include <math.h>

#include "tests/codegen/kit.h"

enum { ROWS = 16, STEPS = 48, LONG_STEPS = 211, MOST_STEPS = 1000, N = ROWS * MOST_STEPS };

/* What the position of step k is. */
typedef enum counting { UPWARDS, BACKWARDS, FROM_BELOW, BY_PAIRS, BY_TWO, EVERY_SECOND } counting;

/* How steps are done: as they are written, once without a comparison for equality, or the greatest value before its position. */
typedef enum way { AS_WRITTEN, QUICKLY, BY_VALUE } way;

typedef struct first_row {
  const char *name, *program, *schedule;
  tn_dtype dtype;
  bool is_max, by_columns;
  way way;
  counting counts;
  int steps;
} first_row;

#define ROWS_OF(dtype, word) "input X: " dtype "[16,48]\n(I, V)[i<16] = " word "[k<48](X[i,k])"
#define COLUMNS_OF(dtype, word) "input X: " dtype "[48,16]\n(I, V)[i<16] = " word "[k<48](X[k,i])"
#define LONG_ROWS(dtype, steps, word) "input X: " dtype "[16," steps "]\n(I, V)[i<16] = " word "[k<" steps "](X[i,k])"
#define TOGETHER(n) "split(I, i, " n "); reorder(I, i.outer, k, i.inner); unroll(I, i.inner)"
#define COUNTED(position) "input X: f32[48,16]\n(I, V)[i<16] = argmax[k<48](" position ", X[k,i])"
#define BLOCKS "split(I, i, 8); reorder(I, i.outer, k, i.inner); vectorize(I, i.inner)"
#define STEPS_BY(n, order) "split(I, i, 8); split(I, k, " n "); reorder(I, i.outer, " order ", i.inner); "
#define LANES                                                                                              \
  "split(I, k, 8); rfactor(I, k.inner, 1); reorder(I.rf, i, k.outer, k.inner); vectorize(I.rf, k.inner); " \
  "compute_at(I.rf, I, i)"

#define FOLDED(n)                                                                             \
  "split(I, k, " n                                                                            \
  "); rfactor(I, k.inner); fuse(I.rf, k.inner, i); reorder(I.rf, k.outer, k.inner.i.fused); " \
  "vectorize(I.rf, k.inner.i.fused)"

static const first_row first_rows[] = {
    {"scalars", ROWS_OF("f32", "argmax"), "", TN_F32, true, false, BY_VALUE, UPWARDS, STEPS},
    {"scalars, the least", ROWS_OF("f32", "argmin"), "", TN_F32, false, false, BY_VALUE, UPWARDS, STEPS},
    {"columns", COLUMNS_OF("f32", "argmax"), BLOCKS, TN_F32, true, true, QUICKLY, UPWARDS, STEPS},
    {"columns, the least", COLUMNS_OF("f32", "argmin"), BLOCKS, TN_F32, false, true, QUICKLY, UPWARDS, STEPS},
    {"two vectors at a time", COLUMNS_OF("f32", "argmax"),
     "split(I, i, 8); reorder(I, k, i.outer, i.inner); unroll(I, i.outer); vectorize(I, i.inner)", TN_F32, true, true,
     QUICKLY, UPWARDS, STEPS},
    {"whole numbers", COLUMNS_OF("i32", "argmax"), BLOCKS, TN_I32, true, true, QUICKLY, UPWARDS, STEPS},
    {"whole numbers, the least", COLUMNS_OF("i32", "argmin"), BLOCKS, TN_I32, false, true, QUICKLY, UPWARDS, STEPS},
    {"bytes", COLUMNS_OF("u8", "argmin"), "vectorize(I, i)", TN_U8, false, true, QUICKLY, UPWARDS, STEPS},
    {"some steps written out", COLUMNS_OF("f32", "argmax"),
     STEPS_BY("4", "k.outer, k.inner") "unroll(I, k.inner); vectorize(I, i.inner)", TN_F32, true, true, QUICKLY,
     UPWARDS, STEPS},
    {"all steps written out", COLUMNS_OF("f32", "argmax"),
     "split(I, i, 8); reorder(I, i.outer, k, i.inner); unroll(I, k); vectorize(I, i.inner)", TN_F32, true, true,
     QUICKLY, UPWARDS, STEPS},
    {"a loop in a loop", COLUMNS_OF("f32", "argmax"), STEPS_BY("6", "k.outer, k.inner") "vectorize(I, i.inner)", TN_F32,
     true, true, QUICKLY, UPWARDS, STEPS},
    {"steps in another order", COLUMNS_OF("f32", "argmax"), STEPS_BY("6", "k.inner, k.outer") "vectorize(I, i.inner)",
     TN_F32, true, true, AS_WRITTEN, UPWARDS, STEPS},
    {"another order, written out", COLUMNS_OF("f32", "argmax"),
     STEPS_BY("6", "k.inner, k.outer") "unroll(I, k.outer); unroll(I, k.inner); vectorize(I, i.inner)", TN_F32, true,
     true, QUICKLY, UPWARDS, STEPS},
    {"lanes of rows", ROWS_OF("f32", "argmax"), LANES, TN_F32, true, false, QUICKLY, UPWARDS, STEPS},
    {"lanes of rows, the least", ROWS_OF("f32", "argmin"), LANES, TN_F32, false, false, QUICKLY, UPWARDS, STEPS},
    {"lanes of rows with a rest", ROWS_OF("f32", "argmax"),
     "split(I, k, 10, tail=peel); rfactor(I, k.inner, 1); reorder(I.rf, i, k.outer, k.inner); vectorize(I.rf, "
     "k.inner); "
     "compute_at(I.rf, I, i)",
     TN_F32, true, false, AS_WRITTEN, UPWARDS, STEPS},
    {"rows folded into a vector", COLUMNS_OF("f32", "argmax"), FOLDED("4"), TN_F32, true, true, QUICKLY, UPWARDS,
     STEPS},
    {"rows folded into an odd vector", COLUMNS_OF("f32", "argmin"), FOLDED("3"), TN_F32, false, true, QUICKLY, UPWARDS,
     STEPS},
    {"folded whole numbers", COLUMNS_OF("i32", "argmax"), FOLDED("5"), TN_I32, true, true, AS_WRITTEN, UPWARDS, STEPS},
    {"positions backwards", COUNTED("47 - k"), BLOCKS, TN_F32, true, true, AS_WRITTEN, BACKWARDS, STEPS},
    {"positions that begin below 0", COUNTED("k - 3"), BLOCKS, TN_F32, true, true, AS_WRITTEN, FROM_BELOW, STEPS},
    {"positions that stand still", COUNTED("k//2"), BLOCKS, TN_F32, true, true, AS_WRITTEN, BY_PAIRS, STEPS},
    {"four rows", ROWS_OF("f32", "argmax"), TOGETHER("4"), TN_F32, true, false, BY_VALUE, UPWARDS, STEPS},
    {"four rows, the least", ROWS_OF("f32", "argmin"), TOGETHER("4"), TN_F32, false, false, BY_VALUE, UPWARDS, STEPS},
    {"eight rows", ROWS_OF("f32", "argmax"), TOGETHER("8"), TN_F32, true, false, BY_VALUE, UPWARDS, STEPS},
    {"three rows at a time", ROWS_OF("f32", "argmax"), TOGETHER("3"), TN_F32, true, false, AS_WRITTEN, UPWARDS, STEPS},
    {"rows of doubles", ROWS_OF("f64", "argmax"), TOGETHER("2"), TN_F64, true, false, BY_VALUE, UPWARDS, STEPS},
    {"rows of whole numbers", ROWS_OF("i32", "argmin"), TOGETHER("4"), TN_I32, false, false, BY_VALUE, UPWARDS, STEPS},
    {"rows of bytes", ROWS_OF("u8", "argmax"), TOGETHER("4"), TN_U8, true, false, BY_VALUE, UPWARDS, STEPS},
    {"long rows", LONG_ROWS("f32", "211", "argmax"), "", TN_F32, true, false, BY_VALUE, UPWARDS, LONG_STEPS},
    {"long rows, the least", LONG_ROWS("f32", "211", "argmin"), TOGETHER("4"), TN_F32, false, false, BY_VALUE, UPWARDS,
     LONG_STEPS},
    {"long rows of bytes", LONG_ROWS("u8", "211", "argmin"), TOGETHER("2"), TN_U8, false, false, BY_VALUE, UPWARDS,
     LONG_STEPS},
    {"longer rows", LONG_ROWS("f32", "1000", "argmax"), "", TN_F32, true, false, BY_VALUE, UPWARDS, MOST_STEPS},
    {"longer rows of doubles", LONG_ROWS("f64", "1000", "argmin"), TOGETHER("4"), TN_F64, false, false, BY_VALUE,
     UPWARDS, MOST_STEPS},
    {"rows of a few", LONG_ROWS("f32", "9", "argmax"), TOGETHER("4"), TN_F32, true, false, BY_VALUE, UPWARDS, 9},
    {"rows of a word and one", LONG_ROWS("f32", "65", "argmax"), TOGETHER("4"), TN_F32, true, false, BY_VALUE, UPWARDS,
     65},
    {"rows of too few", LONG_ROWS("f32", "6", "argmax"), TOGETHER("4"), TN_F32, true, false, QUICKLY, UPWARDS, 6},
    {"rows whose positions go by two", "input X: f32[16,48]\n(I, V)[i<16] = argmax[k<48](2*k + 5, X[i,k])", "", TN_F32,
     true, false, BY_VALUE, BY_TWO, STEPS},
    {"rows of products", "input X: f32[16,48]\n(I, V)[i<16] = argmax[k<48](X[i,k] * 2.0 * 0.5)", "", TN_F32, true,
     false, QUICKLY, UPWARDS, STEPS},
    {"rows with a step between", "input X: f32[16,96]\n(I, V)[i<16] = argmax[k<48](X[i,2*k])", "", TN_F32, true, false,
     QUICKLY, EVERY_SECOND, STEPS},
};

static int count(const char *text, const char *word) {
  int n = 0;
  for (; (text = strstr(text, word)) != NULL; text++) n++;
  return n;
}

static tn_schedule *scheduled(const first_row *r) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, r->program, 0, NULL));
  tn_schedule_apply(s, r->schedule);
  check_ok(K.ctx);
  return s;
}

/* Each step compares twice; the quick ones, which may be the first of several alone, are there once more without it. */
static void comparisons(void **state) {
  const first_row *r = *state;
  tn_schedule *s = scheduled(r);
  const tn_build_options options = {.target = tn_target_new(K.ctx, "cpu=haswell threads=1 triple=x86_64-pc-linux-gnu")};
  char *text = tn_build_text(s, &options, ".ll");
  check_ok(K.ctx);
  int better = count(text, "fcmp ogt") + count(text, "fcmp olt"), same = count(text, "fcmp oeq");
  bool by_value = strstr(text, "cttz") != NULL;
  if (by_value != (r->way == BY_VALUE)) fail_msg("%d > or <, %d == in\n%s", better, same, text);
  if (r->dtype == TN_F32 && !by_value && (better > same) != (r->way == QUICKLY))
    fail_msg("%d > or <, %d == in\n%s", better, same, text);
  free(text);
  tn_schedule_free(s);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int32_t position_of(counting counts, int k) {
  static const int last = STEPS - 1, below = 3;
  switch (counts) {
    case BACKWARDS: return last - k;
    case FROM_BELOW: return k - below;
    case BY_PAIRS: return k / 2;
    case BY_TWO: return 2 * k + 5;
    case EVERY_SECOND:
    case UPWARDS: return k;
  }
  return k;
}

/* The value that an empty reduction has. */
static double worst(const first_row *r) {
  if (r->dtype == TN_I32) return r->is_max ? INT32_MIN : INT32_MAX;
  if (r->dtype == TN_U8) return r->is_max ? 0 : UINT8_MAX;
  return r->is_max ? -INFINITY : INFINITY;
}

/* Step K of row I: the first rows are the worst value and NaN alone, some have one other or many equal ones. */
static double element(const first_row *r, int i, int k) {
  uint32_t x = (uint32_t)(i * 97 + k * 131 + 7) * UINT32_C(2654435761) >> 28;
  const double none = r->dtype == TN_F32 || r->dtype == TN_F64 ? NAN : worst(r);
  if (i == 0) return worst(r);
  if (i == 1) return none;
  if (i == 2) return k < 5 ? none : worst(r);
  if (i == 3) return k == 9 ? 1 : worst(r);
  if (i == 4) return k % 2 ? none : x % 2;
  if (i == 5) return k % 3 ? -0.0 : 0.0;
  if (i == 6) return k % 3 ? 0.0 : -0.0;
  if (i == 7) return k == 5 ? worst(r) : none;
  return i < 11 ? x % 3 : x == 0 ? none : x == 1 ? worst(r) : x;
}

static void put(const first_row *r, void *data, int at, double value) {
  if (r->dtype == TN_I32)
    ((int32_t *)data)[at] = (int32_t)value;
  else if (r->dtype == TN_U8)
    ((uint8_t *)data)[at] = (uint8_t)value;
  else if (r->dtype == TN_F64)
    ((double *)data)[at] = value;
  else
    ((float *)data)[at] = (float)value;
}

static double get(const first_row *r, const void *data, int at) {
  if (r->dtype == TN_I32) return ((const int32_t *)data)[at];
  if (r->dtype == TN_F64) return ((const double *)data)[at];
  return r->dtype == TN_U8 ? ((const uint8_t *)data)[at] : (double)((const float *)data)[at];
}

/* As the definition says: a better value, or the same one at a smaller position, where -1 is the greatest. */
static void choose(const first_row *r, int i, int32_t *position, double *value) {
  *position = -1, *value = worst(r);
  for (int k = 0; k < r->steps; k++) {
    double x = element(r, i, k);
    int32_t at = position_of(r->counts, k);
    bool wins = r->is_max ? x > *value : x < *value;
    if (wins || (x == *value && (uint32_t)at < (uint32_t)*position)) *position = at, *value = x;
  }
}

static void values(void **state) {
  const first_row *r = *state;
  _Alignas(64) static double x[N], v[ROWS];
  _Alignas(64) static int32_t positions[ROWS];
  const bool has_signs = r->dtype == TN_F32 || r->dtype == TN_F64; /* of zeros */
  tn_schedule *s = scheduled(r);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < r->steps; k++)
      put(r, x, r->by_columns ? k * ROWS + i : (i * r->steps + k) * (r->counts == EVERY_SECOND ? 2 : 1),
          element(r, i, k));
  assert_int_equal(kit_call(kernel, (void *[]){x, positions, v}), 0);
  for (int i = 0; i < ROWS; i++) {
    int32_t position;
    double value;
    choose(r, i, &position, &value);
    if (positions[i] != position || get(r, v, i) != value || (has_signs && !signbit(get(r, v, i)) != !signbit(value)))
      fail_msg("row %d: %g at %d instead of %g at %d", i, get(r, v, i), positions[i], value, position);
  }
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

int test_first(void) {
  return CHECK_TABLE("one comparison a step", first_rows, comparisons) +
         CHECK_TABLE("what is chosen", first_rows, values);
}
