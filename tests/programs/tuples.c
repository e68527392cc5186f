/* argmax, argmin, Welford and a combiner whose values depend on each other, against loops written by hand, under the
 * default schedule and many random ones: exactly, with ties, NaN and infinities among the data. */
#include <math.h>
#include <stdio.h>

#include "codegen/codegen.h"
#include "tests/common/check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/programs/tests.h"

enum { ROWS = 21, COLUMNS = 43, RANDOM_SCHEDULES = 40 };

/* What is in a row: few different numbers; some NaN and infinities; nothing but NaN; equal numbers. */
static float element(runtime_rng *rng, int row) {
  int64_t r = runtime_random_below(rng, 9);
  if (row % 7 == 3) return NAN;
  if (row % 7 == 5) return (float)row - 10;
  if (row % 7 == 6) return r < 2 ? NAN : r < 4 ? -INFINITY : (float)r;
  return r == 0 ? -0.0f : r == 1 ? 0.0f : (float)(r - 5);
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

typedef union number {
  float f;
  int32_t i;
} number;

typedef struct data {
  number in[2][ROWS * COLUMNS], want[3][ROWS];
} data;

static void find_best(data *d, bool is_max) {
  for (int i = 0; i < ROWS; i++) {
    int best = -1;
    float value = is_max ? -INFINITY : INFINITY;
    for (int k = 0; k < COLUMNS; k++) {
      float x = d->in[0][i * COLUMNS + k].f;
      if (isnan(x) || (best >= 0 && !(is_max ? x > value : x < value))) continue;
      best = k;
      value = x;
    }
    d->want[0][i].i = best;
    d->want[1][i].f = value;
  }
}

static void argmax(data *d) { find_best(d, true); }
static void argmin(data *d) { find_best(d, false); }

/* Of the columns before the row's number, from (7, 1) on. */
static void argmax_with_parts(data *d) {
  for (int i = 0; i < ROWS; i++) {
    int best = 7;
    float value = 1;
    for (int k = 0; k < COLUMNS && k < i; k++) {
      float x = d->in[0][i * COLUMNS + k].f;
      if (!(x > value) && !(x == value && k < best)) continue;
      best = k;
      value = x;
    }
    d->want[0][i].i = best;
    d->want[1][i].f = value;
  }
}

static void complex_product(data *d) {
  for (int i = 0; i < ROWS; i++) {
    uint32_t re = 1, im = 0;
    for (int k = 0; k < COLUMNS; k++) {
      uint32_t r = (uint32_t)d->in[0][i * COLUMNS + k].i, m = (uint32_t)d->in[1][i * COLUMNS + k].i, old = re;
      re = re * r - im * m;
      im = old * m + im * r;
    }
    d->want[0][i].i = (int32_t)re;
    d->want[1][i].i = (int32_t)im;
  }
}

/* Equal numbers: the mean is exact, and so is the sum of squares, whatever the order. */
static void welford_of_equals(data *d) {
  for (int i = 0; i < ROWS; i++) {
    float x = (float)(i - 4) * 0.25f;
    for (int k = 0; k < COLUMNS; k++) d->in[0][i * COLUMNS + k].f = x;
    d->want[0][i].f = x;
    d->want[1][i].f = 0;
    d->want[2][i].f = COLUMNS;
  }
}

/* In two passes and doubles: compared with a tolerance. */
static void welford(data *d) {
  for (int i = 0; i < ROWS; i++) {
    double mean = 0, squares = 0;
    for (int k = 0; k < COLUMNS; k++) mean += (double)d->in[0][i * COLUMNS + k].f / COLUMNS;
    for (int k = 0; k < COLUMNS; k++) squares += pow((double)d->in[0][i * COLUMNS + k].f - mean, 2);
    d->want[0][i].f = (float)mean;
    d->want[1][i].f = (float)squares;
    d->want[2][i].f = COLUMNS;
  }
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

#define WELFORD                                                                                                    \
  "combiner welford(am: f32, as: f32, an: f32; bm, bs, bn) = (am + (bm - am)*bn/max(an + bn, 1), as + bs + (bm - " \
  "am)*(bm - am)*an*bn/max(an + bn, 1), an + bn), identity (0, 0, 0)\n"                                            \
  "(M, S, N)[i<21] = welford[k<43](X[i,k], 0, 1)"

static const struct row {
  const char *name, *text;
  void (*by_hand)(data *d);
  bool is_integer, is_tame, is_rough; /* of its data: integers; no NaN; results are rounded */
} rows[] = {
    {"argmax", "(I, V)[i<21] = argmax[k<43](X[i,k])", argmax, false, false, false},
    {"argmin", "(I, V)[i<21] = argmin[k<43](X[i,k])", argmin, false, false, false},
    {"argmax's index alone", "I[i<21] = argmax[k<43](X[i,k])", argmax, false, false, false},
    {"argmax of columns",
     "input X: f32[21,43]; T[k<43, i<21] = X[i,k]; (I, V)[i<21] = argmax[k<43](T[k,i]); output I, V", argmax, false,
     false, false},
    {"argmax with where and init", "(I, V)[i<21] = argmax[k<43 where k < i init = (7, 1)](X[i,k])", argmax_with_parts,
     false, false, false},
    {"a complex product",
     "combiner cprod(ar: i32, ai: i32; br, bi) = (ar*br - ai*bi, ar*bi + ai*br), identity (1, 0)\n"
     "input R: i32[21,43], J: i32[21,43]; (P, Q)[i<21] = cprod[k<43](R[i,k], J[i,k])",
     complex_product, true, true, false},
    {"Welford of equal numbers", WELFORD, welford_of_equals, false, true, false},
    {"Welford", WELFORD, welford, false, true, true},
};

static void fill(const struct row *row, data *d) {
  runtime_rng rng = {1};
  for (int v = 0; v < 2; v++)
    for (int k = 0; k < ROWS * COLUMNS; k++) {
      if (row->is_integer)
        d->in[v][k].i = (int32_t)runtime_random(&rng);
      else
        d->in[v][k].f = row->is_tame ? (float)runtime_random_unit(&rng) + 100 : element(&rng, k / COLUMNS);
    }
  row->by_hand(d);
}

static bool agrees(const struct row *row, tn_dtype dtype, number got, number want) {
  if (!row->is_rough || dtype != TN_F32) return got.i == want.i;
  return fabsf(got.f - want.f) <= 2e-3f * (1 + fabsf(want.f) / 100);
}

static void run(const struct row *row, const data *d, tn_schedule *s, const char *schedule) {
  tn_program *p = tn_schedule_program(s);
  DLTensor *args[8];
  assert_true(p->n_args <= 8);
  for (int i = 0; i < p->n_args; i++) {
    args[i] = tn_array_new(p->ctx, p->args[i]->dtype, p->args[i]->ndim, p->args[i]->shape);
    if (i < p->n_inputs) memcpy(args[i]->data, d->in[i], sizeof d->in[i]);
    if (i >= p->n_inputs) memset(args[i]->data, 0xa5, tn_array_bytes(args[i]));
  }
  tn_kernel *kernel = tn_build(s, NULL);
  tn_call(p->ctx, kernel, args, p->n_args);
  check_ok(p->ctx);
  for (int v = 0; v + p->n_inputs < p->n_args; v++) {
    const number *got = args[p->n_inputs + v]->data;
    for (int i = 0; i < ROWS; i++)
      if (!agrees(row, p->args[p->n_inputs + v]->dtype, got[i], d->want[v][i]))
        fail_msg("under `%s`: %s[%d] is %d (%g), should be %d (%g)", schedule, p->args[p->n_inputs + v]->name, i,
                 got[i].i, (double)got[i].f, d->want[v][i].i, (double)d->want[v][i].f);
  }
  tn_kernel_free(kernel);
  for (int i = 0; i < p->n_args; i++) tn_array_free(args[i]);
}

static void same_as_by_hand(void **state) {
  const struct row *row = *state;
  static data d;
  tn_context *ctx = check_context();
  tn_program *p = tn_program_parse(ctx, row->text, 0, NULL);
  check_ok(ctx);
  fuzz_counts counts = {0};
  runtime_rng rng = {runtime_hash(row->name, strlen(row->name), 2)};
  fill(row, &d);
  run(row, &d, tn_schedule_new(p), "");
  for (int i = 0; i < RANDOM_SCHEDULES; i++) {
    runtime_str text = {0};
    tn_schedule *s = tn_schedule_new(p);
    const char *why = fuzz_draw_schedule(&rng, s, &text, &counts);
    if (why) fail_msg("drawing `%s`: %s", text.data ? text.data : "", why);
    run(row, &d, s, text.data ? text.data : "");
    runtime_str_free(&text);
    tn_schedule_free(s);
  }
  assert_true(counts.accepted[FUZZ_SPLIT] > 0);
  check_context_free(ctx);
}

int test_tuples(void) { return CHECK_TABLE("tuples by hand", rows, same_as_by_hand); }
