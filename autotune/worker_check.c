/* Comparing outputs with the reference, element by element; poison, so that an element nobody wrote is seen. */
#include <inttypes.h>
#include <math.h>

#include "autotune/worker.h"

enum { BLOCK = 1024, TYPICAL_SAMPLES = 4096 };

static char *bytes_of(const DLTensor *t) { return (char *)t->data + t->byte_offset; }

int64_t worker_elements(const DLTensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim; ++d) n *= t->shape[d];
  return n;
}

void worker_poison(DLTensor *t, tn_dtype dtype) {
  memset(bytes_of(t), tn_dtype_is_float(dtype) ? 0xFF : 0xA5, tn_array_bytes(t));
}

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

typedef struct difference {
  double max_error;
  int64_t worst, n_wrong;
} difference;

static void compare_block(const DLTensor *x, const DLTensor *r, tn_dtype dtype, double scale, double tolerance,
                          int64_t begin, int64_t end, difference *out) {
  for (int64_t i = begin; i < end; ++i) {
    double error = worker_error(dtype, worker_element(x, dtype, i), worker_element(r, dtype, i), scale);
    if (error > out->max_error) {
      out->max_error = error;
      out->worst = i;
    }
    out->n_wrong += error > tolerance;
  }
}

/* Blocks of equal bytes need no look at their elements. Integers beyond a double's 53 bits differ in their bytes. */
static difference compare(const DLTensor *x, const DLTensor *r, tn_dtype dtype, double scale, double tolerance) {
  difference out = {0};
  int64_t n = worker_elements(r);
  size_t bytes = tn_dtype_bytes(dtype);
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t end = RUNTIME_MIN(i + BLOCK, n);
    if (memcmp(bytes_of(x) + (size_t)i * bytes, bytes_of(r) + (size_t)i * bytes, (size_t)(end - i) * bytes) == 0)
      continue;
    int64_t wrong_before = out.n_wrong;
    compare_block(x, r, dtype, scale, tolerance, i, end, &out);
    if (tn_dtype_is_float(dtype) || out.n_wrong > wrong_before) continue;
    out = (difference){.max_error = INFINITY, .worst = i, .n_wrong = out.n_wrong + 1};
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
              d->n_wrong, worker_elements(r), at.failed ? "an element" : at.data, worker_element(x, dtype, d->worst),
              worker_element(r, dtype, d->worst), d->max_error, tn_dtype_is_float(dtype) ? data->tolerance : 0);
  runtime_str_free(&at);
}

bool worker_check_outputs(const worker_program *p, worker_answer *answer) {
  const worker_data *data = p->data;
  for (int i = data->n_inputs; i < data->n_args; ++i) {
    int output = i - data->n_inputs;
    difference d =
        compare(data->args[i], data->reference[output], p->args[i].dtype, data->scale[output], data->tolerance);
    answer->max_error = fmax(answer->max_error, d.max_error);
    if (d.n_wrong > 0) {
      explain(p, i, &d, answer);
      return false;
    }
  }
  return true;
}

uint64_t worker_hash_inputs(const worker_data *data) {
  uint64_t h = 0;
  for (int i = 0; i < data->n_inputs; ++i) h = runtime_hash(bytes_of(data->args[i]), tn_array_bytes(data->args[i]), h);
  return h;
}
