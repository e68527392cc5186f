/* worker_check.c: compares outputs with the reference, element by element. Outputs are poisoned beforehand,
 * so that an element which nobody wrote is noticed. */
#include <inttypes.h>
#include <math.h>

#include "autotune/worker.h"

/* BLOCK and WHOLE are numbers of elements. Outputs of up to WHOLE elements are always compared whole; of
 * larger ones, STRATA blocks and both ends are. TYPICAL_SAMPLES: elements that worker_typical looks at. */
enum { BLOCK = 1024, TYPICAL_SAMPLES = 4096, WHOLE = 1 << 17, STRATA = 64 };

/* How many wrong elements are remembered to be judged by worker_is_rounding. */
enum { SOME_WRONG = 64 };

static const double rounding_s = 0.25; /* the evaluator's time for the wrong elements of one output */

/* DLPack lets the data begin at an offset. */
static char *bytes_of(const DLTensor *t) { return (char *)t->data + t->byte_offset; }

int64_t worker_elements(const DLTensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim; ++d) n *= t->shape[d];
  return n;
}

void worker_unravel(const DLTensor *t, int64_t flat, int64_t *index) {
  for (int d = t->ndim - 1; d >= 0; --d) {
    index[d] = flat % t->shape[d];
    flat /= t->shape[d];
  }
}

/* All bits set are a NaN in every float format, so an element that nobody wrote compares as wrong with any
 * reference. */
static void poison(DLTensor *t, tn_dtype dtype, int64_t begin, int64_t end) {
  size_t bytes = tn_dtype_bytes(dtype);
  memset(bytes_of(t) + (size_t)begin * bytes, tn_dtype_is_float(dtype) ? 0xFF : 0xA5, (size_t)(end - begin) * bytes);
}

void worker_poison(DLTensor *t, tn_dtype dtype) { poison(t, dtype, 0, worker_elements(t)); }

double worker_element(const DLTensor *t, tn_dtype dtype, int64_t i) {
  const char *data = bytes_of(t);
  if (runtime_is_half(dtype)) return runtime_half_value(dtype, ((const uint16_t *)(const void *)data)[i]);
  switch (dtype) {
#define X(NAME, text, bytes, code, ctype) \
  case TN_##NAME: return (double)((const ctype *)data)[i];
    TN_DTYPES(X)
#undef X
    case TN_DTYPE_COUNT: break;
  }
  return NAN;
}

double worker_error(tn_dtype dtype, double x, double r, double scale) {
  if (x == r || (isnan(x) && isnan(r))) return 0;
  if (!tn_dtype_is_float(dtype) || !isfinite(x) || !isfinite(r)) return INFINITY;
  double size = fmax(fabs(r), scale);
  return size > 0 ? fabs(x - r) / size : INFINITY;
}

/* ---- the size of a typical element ------------------------------------------------------------------------------- */

double worker_typical(const DLTensor *t, tn_dtype dtype) {
  double sizes[TYPICAL_SAMPLES];
  int64_t n = worker_elements(t), step = n / TYPICAL_SAMPLES + 1;
  int count = 0;
  for (int64_t i = 0; i < n; i += step) {
    double size = fabs(worker_element(t, dtype, i));
    if (size > 0 && isfinite(size)) sizes[count++] = size;
  }
  if (count == 0) return 0;
  runtime_sort(sizes, count);
  return sizes[count / 2];
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* The outcome of a comparison. WORST is the element of the largest error and means something only if
 * n_wrong > 0. SOME holds up to SOME_WRONG of the wrong elements, each with equal probability. */
typedef struct difference {
  double max_error;
  int64_t worst, n_wrong, n_compared;
  int64_t some[SOME_WRONG];
  runtime_rng rng;
} difference;

/* Notes that element I is wrong. SOME is kept by reservoir sampling. */
static void add_wrong(difference *out, int64_t i) {
  int64_t place = out->n_wrong < SOME_WRONG ? out->n_wrong : runtime_random_below(&out->rng, out->n_wrong + 1);
  if (place < SOME_WRONG) out->some[place] = i;
  out->n_wrong++;
}

/* Adds the errors of a block to OUT. The largest error counts, the first of equal ones. */
static void compare_block(const DLTensor *x, const DLTensor *r, tn_dtype dtype, double scale, double tolerance,
                          int64_t begin, int64_t end, difference *out) {
  for (int64_t i = begin; i < end; ++i) {
    double error = worker_error(dtype, worker_element(x, dtype, i), worker_element(r, dtype, i), scale);
    if (error > out->max_error) {
      out->max_error = error;
      out->worst = i;
    }
    if (error > tolerance) add_wrong(out, i);
  }
}

/* Blocks of equal bytes need not be looked at by elements. Integers beyond a double's 53 bits may look
 * equal as doubles, so for them different bytes are an error. */
static void compare_bytes(const DLTensor *x, const DLTensor *r, tn_dtype dtype, double scale, double tolerance,
                          int64_t begin, int64_t end, difference *out) {
  size_t bytes = tn_dtype_bytes(dtype), at = (size_t)begin * bytes;
  out->n_compared += end - begin;
  if (memcmp(bytes_of(x) + at, bytes_of(r) + at, (size_t)(end - begin) * bytes) == 0) return;
  int64_t wrong_before = out->n_wrong;
  compare_block(x, r, dtype, scale, tolerance, begin, end, out);
  if (tn_dtype_is_float(dtype) || out->n_wrong > wrong_before) return;
  out->max_error = INFINITY;
  out->worst = begin;
  add_wrong(out, begin);
}

/* ---- which blocks ------------------------------------------------------------------------------------------------ */

/* The number of blocks that are compared. */
static int64_t count_blocks(const worker_sample *sample, int64_t n) {
  int64_t all = (n + BLOCK - 1) / BLOCK;
  return sample->whole || n <= WHOLE ? all : RUNTIME_MIN(all, (int64_t)STRATA + 2);
}

/* The K-th block that is compared: the first, the last, and then one at random in each of STRATA equal parts. */
static int64_t block_at(const worker_sample *sample, int64_t n, int64_t k) {
  int64_t all = (n + BLOCK - 1) / BLOCK;
  if (count_blocks(sample, n) == all) return k;
  if (k < 2) return k == 0 ? 0 : all - 1;
  int64_t begin = all * (k - 2) / STRATA, end = all * (k - 1) / STRATA;
  runtime_rng rng = {.state = sample->seed + (uint64_t)k};
  return begin + runtime_random_below(&rng, RUNTIME_MAX(end - begin, 1));
}

void worker_poison_outputs(const worker_program *p, const worker_sample *sample) {
  for (int i = p->data->n_inputs; i < p->n_args; ++i) {
    DLTensor *t = p->data->args[i];
    tn_dtype dtype = p->args[i].dtype;
    int64_t n = worker_elements(t);
    for (int64_t k = 0; k < count_blocks(sample, n); ++k) {
      int64_t begin = block_at(sample, n, k) * BLOCK, end = RUNTIME_MIN(begin + BLOCK, n);
      poison(t, dtype, begin, end);
    }
  }
}

/* Compares the sample's blocks of one output. */
static difference compare(const DLTensor *x, const DLTensor *r, tn_dtype dtype, double scale, double tolerance,
                          const worker_sample *sample) {
  difference out = {.rng = {.state = sample->seed}};
  int64_t n = worker_elements(r);
  for (int64_t k = 0; k < count_blocks(sample, n); ++k) {
    int64_t begin = block_at(sample, n, k) * BLOCK;
    compare_bytes(x, r, dtype, scale, tolerance, begin, RUNTIME_MIN(begin + BLOCK, n), &out);
  }
  return out;
}

void worker_print_element(runtime_str *out, const char *name, const DLTensor *t, int64_t i) {
  int64_t stride = worker_elements(t);
  runtime_str_add(out, name);
  for (int d = 0; d < t->ndim; ++d) {
    stride /= t->shape[d];
    runtime_str_addf(out, "%s%" PRId64, d ? ", " : "[", i / stride % t->shape[d]);
  }
  if (t->ndim) runtime_str_add(out, "]");
}

/* Names the worst element in the answer. Nine digits are enough to tell any two floats apart. */
static void explain(const worker_program *p, int arg, const difference *d, worker_answer *answer) {
  const worker_data *data = p->data;
  const DLTensor *x = data->args[arg], *r = data->reference[arg - data->n_inputs];
  tn_dtype dtype = p->args[arg].dtype;
  runtime_str at = {0};
  worker_print_element(&at, p->args[arg].name, r, d->worst);
  worker_fail(answer, TN_MEASURE_WRONG_ANSWER,
              "%" PRId64 " of %" PRId64
              " elements are wrong; the worst: %s is %.9g, the reference %.9g (relative error %.3g, "
              "allowed %.3g)",
              d->n_wrong, d->n_compared, at.failed ? "an element" : at.data, worker_element(x, dtype, d->worst),
              worker_element(r, dtype, d->worst), d->max_error, tn_dtype_is_float(dtype) ? data->tolerance : 0);
  runtime_str_free(&at);
}

/* The share of blocks that is compared; 1 if the outputs have no elements. */
static double share_compared(const worker_data *data, const worker_sample *sample) {
  double compared = 0, all = 0;
  for (int i = data->n_inputs; i < data->n_args; ++i) {
    int64_t n = worker_elements(data->args[i]), blocks = (n + BLOCK - 1) / BLOCK;
    compared += (double)count_blocks(sample, n);
    all += (double)blocks;
  }
  return all > 0 ? compared / all : 1;
}

/* Whether roundings may explain all elements beyond the tolerance. The worst element is judged, and as many
 * of the others as time allows. */
static bool is_rounding(const worker_program *p, int arg, const difference *d) {
  const DLTensor *x = p->data->args[arg];
  tn_dtype dtype = p->args[arg].dtype;
  int output = arg - p->data->n_inputs;
  uint64_t end_ns = runtime_now_ns() + (uint64_t)(rounding_s * 1e9);
  bool is_it = worker_is_rounding(p->program, p->data, output, d->worst, worker_element(x, dtype, d->worst));
  for (int i = 0; is_it && i < RUNTIME_MIN(d->n_wrong, SOME_WRONG) && runtime_now_ns() < end_ns; ++i)
    is_it = worker_is_rounding(p->program, p->data, output, d->some[i], worker_element(x, dtype, d->some[i]));
  return is_it;
}

/* Stops at the first wrong output; the message names its worst element. */
bool worker_check_outputs(const worker_program *p, const worker_sample *sample, worker_answer *answer) {
  const worker_data *data = p->data;
  answer->share = share_compared(data, sample);
  for (int i = data->n_inputs; i < data->n_args; ++i) {
    int output = i - data->n_inputs;
    difference d =
        compare(data->args[i], data->reference[output], p->args[i].dtype, data->scale[output], data->tolerance, sample);
    bool is_right = d.n_wrong == 0 || is_rounding(p, i, &d);
    if (!is_right || tn_dtype_is_float(p->args[i].dtype)) answer->max_error = fmax(answer->max_error, d.max_error);
    if (!is_right) return explain(p, i, &d, answer), false;
  }
  return true;
}
