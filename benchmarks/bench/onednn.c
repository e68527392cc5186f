/* onednn.c: oneDNN's matrix product, convolution, softmax and layer normalization on plain row-major layouts (NHWC,
 * weights HWIO), opened at run time; its header gives the types only. */
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

#include "bench.h"

/* clang-format off */
#define FUNCTIONS(X)                                                                                              \
  X(dnnl_sgemm) X(dnnl_engine_create) X(dnnl_stream_create) X(dnnl_stream_wait) X(dnnl_memory_desc_init_by_strides) \
  X(dnnl_memory_create) X(dnnl_memory_destroy) X(dnnl_primitive_desc_create) X(dnnl_primitive_desc_destroy)       \
  X(dnnl_primitive_create) X(dnnl_primitive_destroy) X(dnnl_primitive_execute)                                    \
  X(dnnl_dilated_convolution_forward_desc_init) X(dnnl_softmax_forward_desc_init) X(dnnl_matmul_desc_init)        \
  X(dnnl_layer_normalization_forward_desc_init) X(dnnl_deconvolution_forward_desc_init) X(dnnl_primitive_desc_query_md) X(dnnl_reorder_primitive_desc_create)
/* clang-format on */

static struct {
#define X(name) __typeof__(name) *name;
  FUNCTIONS(X)
#undef X
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  void (*set_threads)(int n);
} d;

bool bench_onednn_open(void) {
  static const char *const names[] = {
#define X(name) #name,
      FUNCTIONS(X)
#undef X
  };
  enum { N = sizeof names / sizeof *names };
  static const char *const threads[] = {"omp_set_num_threads"};
  void *addresses[N], *set_threads;
  int at = 0;
  if (!bench_library("libdnnl.so.2", N, names, addresses)) return false;
  if (!bench_library("libgomp.so.1", 1, threads, &set_threads)) return false;
#define X(name) d.name = (__typeof__(name) *)addresses[at++];
  FUNCTIONS(X)
#undef X
  d.set_threads = (void (*)(int))set_threads;
  return d.dnnl_engine_create(&d.engine, dnnl_cpu, 0) == dnnl_success &&
         d.dnnl_stream_create(&d.stream, d.engine, dnnl_stream_default_flags) == dnnl_success;
}

/* ---- one primitive ----------------------------------------------------------------------------------------------- */

enum { MAX_ARGS = 5 };

typedef struct call {
  int threads;
  dnnl_dim_t m, n, k; /* of a plain product */
  const float *a, *b;
  float *c;
  dnnl_primitive_t primitive; /* NULL: the plain product */
  int n_args;
  dnnl_exec_arg_t args[MAX_ARGS];
  dnnl_primitive_t reorder; /* of the weights, before each call; or NULL */
  dnnl_exec_arg_t reorder_args[2];
} call;

static void run(void *state) {
  const call *x = state;
  d.set_threads(x->threads);
  if (x->primitive == NULL) {
    d.dnnl_sgemm('N', 'N', x->m, x->n, x->k, 1, x->a, x->k, x->b, x->n, 0, x->c, x->n);
    return;
  }
  if (x->reorder != NULL) d.dnnl_primitive_execute(x->reorder, d.stream, 2, x->reorder_args);
  d.dnnl_primitive_execute(x->primitive, d.stream, x->n_args, x->args);
  d.dnnl_stream_wait(d.stream);
}

static void clear(call *x) {
  if (x->primitive != NULL) d.dnnl_primitive_destroy(x->primitive);
  if (x->reorder != NULL) d.dnnl_primitive_destroy(x->reorder);
  if (x->reorder != NULL) d.dnnl_memory_destroy(x->reorder_args[0].memory);
  for (int i = 0; i < x->n_args; ++i) d.dnnl_memory_destroy(x->args[i].memory);
  *x = (call){.threads = x->threads};
}

static void release(void *state) {
  clear(state);
  free(state);
}

/* An array of N extents; STRIDES NULL: compact and row-major. */
static dnnl_memory_desc_t array_of(dnnl_data_type_t type, int n, const int64_t *extents, const int64_t *strides) {
  dnnl_memory_desc_t desc;
  dnnl_dims_t dims = {0}, steps = {0};
  int64_t step = 1;
  for (int i = n - 1; i >= 0; --i) {
    dims[i] = extents[i];
    steps[i] = strides != NULL ? strides[i] : step;
    step *= extents[i];
  }
  d.dnnl_memory_desc_init_by_strides(&desc, n, dims, type, steps);
  return desc;
}

static dnnl_memory_desc_t array(int n, const int64_t *extents, const int64_t *strides) {
  return array_of(dnnl_f32, n, extents, strides);
}

static void add(call *x, int arg, const dnnl_memory_desc_t *desc, void *data) {
  dnnl_exec_arg_t *out = &x->args[x->n_args++];
  out->arg = arg;
  d.dnnl_memory_create(&out->memory, desc, d.engine, data);
}

/* The primitive for an operation's description; WEIGHTS (or NULL) becomes the layout that it wants them in. */
static bool make(call *x, const void *op, dnnl_memory_desc_t *weights) {
  dnnl_primitive_desc_t desc;
  if (d.dnnl_primitive_desc_create(&desc, op, NULL, d.engine, NULL) != dnnl_success) return false;
  bool made = d.dnnl_primitive_create(&x->primitive, desc) == dnnl_success;
  if (weights != NULL) *weights = *d.dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
  d.dnnl_primitive_desc_destroy(desc);
  return made;
}

/* Weights come at DATA in layout PLAIN and are copied into layout WANTED before each call. */
static bool add_reordered(call *x, const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *wanted, void *data) {
  dnnl_primitive_desc_t desc;
  if (d.dnnl_reorder_primitive_desc_create(&desc, plain, d.engine, wanted, d.engine, NULL) != dnnl_success)
    return false;
  bool made = d.dnnl_primitive_create(&x->reorder, desc) == dnnl_success;
  d.dnnl_primitive_desc_destroy(desc);
  add(x, DNNL_ARG_WEIGHTS, wanted, DNNL_MEMORY_ALLOCATE);
  x->reorder_args[0].arg = DNNL_ARG_FROM;
  d.dnnl_memory_create(&x->reorder_args[0].memory, plain, d.engine, data);
  x->reorder_args[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, x->args[x->n_args - 1].memory};
  return made;
}

/* ---- the operators ----------------------------------------------------------------------------------------------- */

static bool gemm(call *x, const bench_case *c, void *const *data) {
  int64_t b = c->dim[0], m = c->dim[1], n = c->dim[2], k = c->dim[3];
  dnnl_matmul_desc_t op;
  if (b == 1) {
    x->m = m, x->n = n, x->k = k, x->a = data[0], x->b = data[1], x->c = data[2];
    return true;
  }
  dnnl_memory_desc_t left = array(3, (int64_t[]){b, m, k}, NULL), right = array(3, (int64_t[]){b, k, n}, NULL);
  dnnl_memory_desc_t out = array(3, (int64_t[]){b, m, n}, NULL);
  if (d.dnnl_matmul_desc_init(&op, &left, &right, NULL, &out) != dnnl_success || !make(x, &op, NULL)) return false;
  add(x, DNNL_ARG_SRC, &left, data[0]);
  add(x, DNNL_ARG_WEIGHTS, &right, data[1]);
  add(x, DNNL_ARG_DST, &out, data[2]);
  return true;
}

static bool low_with(call *x, const bench_case *c, void *const *data, bool any_weights) {
  int64_t m = c->dim[1], n = c->dim[2], k = c->dim[3];
  bool is_bf16 = c->op == BENCH_GEMM_BF16;
  dnnl_data_type_t a = is_bf16 ? dnnl_bf16 : c->op == BENCH_GEMM_U8 ? dnnl_u8 : dnnl_s8;
  dnnl_memory_desc_t left = array_of(a, 2, (int64_t[]){m, k}, NULL);
  dnnl_memory_desc_t plain = array_of(is_bf16 ? dnnl_bf16 : dnnl_s8, 2, (int64_t[]){k, n}, NULL), right = plain, wanted;
  dnnl_memory_desc_t out = array_of(is_bf16 ? dnnl_f32 : dnnl_s32, 2, (int64_t[]){m, n}, NULL);
  dnnl_matmul_desc_t op;
  if (any_weights) right.format_kind = dnnl_format_kind_any;
  if (d.dnnl_matmul_desc_init(&op, &left, &right, NULL, &out) != dnnl_success || !make(x, &op, &wanted)) return false;
  add(x, DNNL_ARG_SRC, &left, data[0]);
  add(x, DNNL_ARG_DST, &out, data[2]);
  if (any_weights) return add_reordered(x, &plain, &wanted, data[1]);
  add(x, DNNL_ARG_WEIGHTS, &plain, data[1]);
  return true;
}

static bool softmax(call *x, const bench_case *c, void *const *data) {
  dnnl_softmax_desc_t op;
  dnnl_memory_desc_t in = array(2, c->dim, NULL);
  if (d.dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &in, 1) != dnnl_success || !make(x, &op, NULL)) {
    return false;
  }
  add(x, DNNL_ARG_SRC, &in, data[0]);
  add(x, DNNL_ARG_DST, &in, data[1]);
  return true;
}

/* data: X, gamma, beta, Y. */
static bool layernorm(call *x, const bench_case *c, void *const *data) {
  dnnl_layer_normalization_desc_t op;
  dnnl_memory_desc_t in = array(2, c->dim, NULL), row = array(1, c->dim + 1, NULL), stat = array(1, c->dim, NULL);
  unsigned flags = dnnl_use_scale | dnnl_use_shift;
  if (d.dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_inference, &in, &stat, 1e-5f, flags) !=
          dnnl_success ||
      !make(x, &op, NULL)) {
    return false;
  }
  add(x, DNNL_ARG_SRC, &in, data[0]);
  add(x, DNNL_ARG_SCALE, &row, data[1]);
  add(x, DNNL_ARG_SHIFT, &row, data[2]);
  add(x, DNNL_ARG_DST, &in, data[3]);
  return true;
}

/* The logical order of extents is n c h w and (g) o i h w; the strides say that memory is NHWC and HWIO. */
static bool conv_with(call *x, const bench_case *c, void *const *data, bool any_weights) {
  int64_t n = c->dim[0], h = c->dim[1], w = c->dim[2], ci = c->dim[3], co = c->dim[4], k = c->dim[5];
  int64_t stride = c->dim[6], pad = c->dim[7], dil = c->dim[8], groups = c->dim[9], reach = (k - 1) * dil + 1;
  int64_t oh = (h + 2 * pad - reach) / stride + 1, ow = (w + 2 * pad - reach) / stride + 1, gi = ci / groups;
  dnnl_memory_desc_t src = array(4, (int64_t[]){n, ci, h, w}, (int64_t[]){h * w * ci, 1, w * ci, ci});
  dnnl_memory_desc_t dst = array(4, (int64_t[]){n, co, oh, ow}, (int64_t[]){oh * ow * co, 1, ow * co, co});
  dnnl_memory_desc_t plain = groups == 1 ? array(4, (int64_t[]){co, ci, k, k}, (int64_t[]){1, co, k * ci * co, ci * co})
                                         : array(5, (int64_t[]){groups, co / groups, gi, k, k},
                                                 (int64_t[]){co / groups, 1, co, k * gi * co, gi * co});
  dnnl_memory_desc_t weights = plain, wanted;
  if (any_weights) weights.format_kind = dnnl_format_kind_any;
  dnnl_dims_t strides = {stride, stride}, dilates = {dil - 1, dil - 1}, pads = {pad, pad};
  dnnl_convolution_desc_t op;
  if (d.dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights,
                                                   NULL, &dst, strides, dilates, pads, pads) != dnnl_success ||
      !make(x, &op, &wanted)) {
    return false;
  }
  add(x, DNNL_ARG_SRC, &src, data[0]);
  add(x, DNNL_ARG_DST, &dst, data[2]);
  if (any_weights) return add_reordered(x, &plain, &wanted, data[1]);
  add(x, DNNL_ARG_WEIGHTS, &plain, data[1]);
  return true;
}

/* Weights as for a convolution: (filters, channels, height, width) in memory as HWIO. */
static bool transposed_with(call *x, const bench_case *c, void *const *data, bool any_weights) {
  int64_t n = c->dim[0], h = c->dim[1], w = c->dim[2], ci = c->dim[3], co = c->dim[4], k = c->dim[5];
  int64_t stride = c->dim[6], pad = c->dim[7], oh = (h - 1) * stride + k - 2 * pad, ow = (w - 1) * stride + k - 2 * pad;
  dnnl_memory_desc_t src = array(4, (int64_t[]){n, ci, h, w}, (int64_t[]){h * w * ci, 1, w * ci, ci});
  dnnl_memory_desc_t dst = array(4, (int64_t[]){n, co, oh, ow}, (int64_t[]){oh * ow * co, 1, ow * co, co});
  dnnl_memory_desc_t plain = array(4, (int64_t[]){co, ci, k, k}, (int64_t[]){1, co, k * ci * co, ci * co});
  dnnl_memory_desc_t weights = plain, wanted;
  if (any_weights) weights.format_kind = dnnl_format_kind_any;
  dnnl_dims_t strides = {stride, stride}, pads = {pad, pad};
  dnnl_deconvolution_desc_t op;
  if (d.dnnl_deconvolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_deconvolution_direct, &src, &weights,
                                             NULL, &dst, strides, pads, pads) != dnnl_success ||
      !make(x, &op, &wanted)) {
    return false;
  }
  add(x, DNNL_ARG_SRC, &src, data[0]);
  add(x, DNNL_ARG_DST, &dst, data[2]);
  if (any_weights) return add_reordered(x, &plain, &wanted, data[1]);
  add(x, DNNL_ARG_WEIGHTS, &plain, data[1]);
  return true;
}

static double least_time(call *x) {
  double best = 1e9;
  for (int i = 0; i < 12; ++i) {
    double begin = bench_now(true);
    run(x);
    double took = bench_now(true) - begin;
    if (took < best) best = took;
  }
  return best;
}

/* The faster of two ways: weights as they are, or copied each time into the layout that oneDNN likes best. */
static bool faster(call *x, const bench_case *c, void *const *data,
                   bool (*with)(call *, const bench_case *, void *const *, bool)) {
  bool good = with(x, c, data, true);
  double copied = good ? least_time(x) : 1e9;
  clear(x);
  if (with(x, c, data, false) && least_time(x) <= copied) return true;
  clear(x);
  return good && with(x, c, data, true);
}

static bool conv(call *x, const bench_case *c, void *const *data) { return faster(x, c, data, conv_with); }
static bool gemm_low(call *x, const bench_case *c, void *const *data) { return faster(x, c, data, low_with); }
static bool transposed(call *x, const bench_case *c, void *const *data) { return faster(x, c, data, transposed_with); }

bool bench_onednn_prepare(const bench_case *c, void *const *data, int threads, bench_kernel *out) {
  static bool (*const operators[])(call *, const bench_case *, void *const *) = {
      [BENCH_GEMM] = gemm, [BENCH_GEMM_BF16] = gemm_low,    [BENCH_GEMM_U8] = gemm_low, [BENCH_GEMM_I8] = gemm_low,
      [BENCH_CONV] = conv, [BENCH_TRANSPOSED] = transposed, [BENCH_SOFTMAX] = softmax,  [BENCH_LAYERNORM] = layernorm};
  call *x = calloc(1, sizeof *x);
  if (x == NULL) return false;
  x->threads = threads;
  d.set_threads(threads);
  *out = (bench_kernel){run, release, x};
  if (operators[c->op] != NULL && operators[c->op](x, c, data)) return true;
  release(x);
  return false;
}
