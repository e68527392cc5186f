/* fill.c: kinds of data for arrays: tn_array_fill_as. Each kind has a row: its name, how many numbers it
 * takes, and how an element is made. */
#include <math.h>

#include "runtime/base.h"

enum { MAX_NUMBERS = 2 };

/* What elements are made from. */
typedef struct filling {
  double number[MAX_NUMBERS];
  runtime_rng rng;
  tn_dtype dtype;
} filling;

/* A way to fill an array: its name and numbers, and the function that makes an element from the index and
 * the generator. */
typedef struct kind {
  const char *name;
  int least, most; /* how many numbers it takes in parentheses */
  double otherwise[MAX_NUMBERS];
  double (*element)(filling *f, int64_t i);
  const char *(*refuse)(const filling *f); /* what the numbers would have to be; NULL: they are right */
} kind;

/* Integers are drawn from LOW to HIGH inclusive; floats never reach HIGH. */
static double uniform(filling *f, int64_t i) {
  (void)i;
  double low = f->number[0], high = f->number[1];
  if (tn_dtype_is_float(f->dtype)) return low + (high - low) * runtime_random_unit(&f->rng);
  return low + (double)runtime_random_below(&f->rng, (int64_t)(high - low) + 1);
}

/* By the method of Box and Muller. */
static double normal(filling *f, int64_t i) {
  (void)i;
  double a = 1 - runtime_random_unit(&f->rng), b = runtime_random_unit(&f->rng);
  return f->number[0] + f->number[1] * sqrt(-2 * log(a)) * cos(2 * 3.14159265358979323846 * b);
}

static double zeros(filling *f, int64_t i) {
  (void)f, (void)i;
  return 0;
}

/* The element's index in memory order; storing rounds or wraps what the dtype cannot hold. */
static double iota(filling *f, int64_t i) {
  (void)f;
  return (double)i;
}

/* For the indices of a gather: whole numbers below N, which are in the bounds of the gathered array. */
static double indices(filling *f, int64_t i) {
  (void)i;
  return (double)runtime_random_below(&f->rng, (int64_t)f->number[0]);
}

/* Zeros in a SHARE of the elements, for kernels that skip zeros. For integers the other elements are never 0. */
static double sparse(filling *f, int64_t i) {
  (void)i;
  bool is_zero = runtime_random_unit(&f->rng) < f->number[0];
  if (is_zero) return 0;
  if (tn_dtype_is_float(f->dtype)) return 2 * runtime_random_unit(&f->rng) - 1;
  return f->dtype == TN_BOOL ? 1 : 1 + (double)runtime_random_below(&f->rng, 4);
}

/* These get the numbers as read, and return NULL, or what would have been right. */
static const char *refuse_range(const filling *f) { return f->number[0] < f->number[1] ? NULL : "LOW < HIGH"; }
static const char *refuse_deviation(const filling *f) { return f->number[1] >= 0 ? NULL : "a DEVIATION of 0 or more"; }
static const char *refuse_share(const filling *f) {
  return f->number[0] >= 0 && f->number[0] <= 1 ? NULL : "a SHARE from 0 to 1";
}

/* A double distinguishes whole numbers up to 2^53. */
static const char *refuse_count(const filling *f) {
  bool is_whole = f->number[0] >= 1 && f->number[0] <= 0x1p53 && floor(f->number[0]) == f->number[0];
  return is_whole ? NULL : "a whole N of 1 or more";
}

static const kind kinds[] = {{"uniform", 2, 2, {0, 0}, uniform, refuse_range},
                             {"normal", 0, 2, {0, 1}, normal, refuse_deviation},
                             {"zeros", 0, 0, {0, 0}, zeros, NULL},
                             {"iota", 0, 0, {0, 0}, iota, NULL},
                             {"index", 1, 1, {0, 0}, indices, refuse_count},
                             {"sparse", 1, 1, {0, 0}, sparse, refuse_share}};

#define KINDS "uniform(LOW, HIGH), normal, zeros, iota, index(N), sparse(SHARE), file:PATH"

/* Parentheses may follow the name in HOW, so N gives its length. */
static const kind *find_kind(const char *how, size_t n) {
  for (int i = 0; i < RUNTIME_COUNT(kinds); ++i)
    if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, how, n) == 0) return &kinds[i];
  return NULL;
}

/* Reads the numbers in parentheses. Returns how many; -1: it is no such list. */
static int read_numbers(const char *text, double number[MAX_NUMBERS]) {
  int n = 0;
  if (!*text) return 0;
  if (*text++ != '(') return -1;
  for (;; ++text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || n == MAX_NUMBERS) return -1;
    number[n++] = value;
    text = end + strspn(end, " ");
    if (*text != ',') break;
  }
  return *text == ')' && !text[1] ? n : -1;
}

/* Splits "normal(0, 2)" into the row of the kind and its numbers. Missing numbers are taken from the row. */
static tn_status read_kind(tn_context *ctx, const char *how, const kind **out, filling *f) {
  size_t n = strcspn(how, "(");
  const kind *k = find_kind(how, n);
  *out = k;
  if (!k)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "data '%s': there is no kind '%.*s': there are " KINDS, how, (int)n,
                        how);
  memcpy(f->number, k->otherwise, sizeof f->number);
  int given = read_numbers(how + n, f->number);
  if (given < k->least || given > k->most)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "data '%s': %s takes %d%s number%s in parentheses, as in %s", how,
                        k->name, k->most, k->least < k->most ? " or no" : "", k->most == 1 ? "" : "s",
                        k->most == 0   ? k->name
                        : k->most == 2 ? "uniform(0.1, 2)"
                                       : "sparse(0.9)");
  const char *wanted = k->refuse ? k->refuse(f) : NULL;
  if (wanted) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "data '%s': %s needs %s", how, k->name, wanted);
  return TN_OK;
}

tn_status tn_array_fill_as(tn_context *ctx, DLTensor *array, const char *how, uint64_t seed) {
  static const char file[] = "file:";
  filling f = {.rng = {seed}};
  const kind *k;
  if (!how) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_array_fill_as: no kind of data is given: there are " KINDS);
  tn_status status = runtime_array_writable(ctx, "tn_array_fill_as", array, &f.dtype);
  if (status != TN_OK) return status;
  if (strncmp(how, file, sizeof file - 1) == 0) return runtime_npy_read(ctx, how + sizeof file - 1, array);
  status = read_kind(ctx, how, &k, &f);
  if (status != TN_OK) return status;
  int64_t n = (int64_t)(tn_array_bytes(array) / tn_dtype_bytes(f.dtype));
  for (int64_t i = 0; i < n; ++i) runtime_array_store(array, f.dtype, i, k->element(&f, i));
  return TN_OK;
}
