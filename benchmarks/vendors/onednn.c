/* onednn.c: oneDNN's matrix product, convolution, softmax and layer normalization on plain row-major layouts (NHWC,
 * weights HWIO), opened at run time; its header gives the types only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks/vendors/internal.h"

#ifdef TENON_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>

/* clang-format off */
#define FUNCTIONS(X)                                                                                              \
  X(dnnl_version) X(dnnl_sgemm) X(dnnl_engine_create) X(dnnl_stream_create) X(dnnl_stream_wait) X(dnnl_memory_desc_init_by_strides) \
  X(dnnl_memory_create) X(dnnl_memory_destroy) X(dnnl_primitive_desc_create) X(dnnl_primitive_desc_destroy)       \
  X(dnnl_primitive_create) X(dnnl_primitive_destroy) X(dnnl_primitive_execute)                                    \
  X(dnnl_dilated_convolution_forward_desc_init) X(dnnl_softmax_forward_desc_init) X(dnnl_matmul_desc_init)        \
  X(dnnl_layer_normalization_forward_desc_init) X(dnnl_inner_product_forward_desc_init) X(dnnl_deconvolution_forward_desc_init) X(dnnl_primitive_desc_query_md) X(dnnl_reorder_primitive_desc_create)
/* clang-format on */

/* oneDNN's functions under their own names, its only engine and stream, and the number of threads of its
 * OpenMP. Filled once. */
static struct {
#define X(name) __typeof__(name) *name;
  FUNCTIONS(X)
#undef X
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  void (*set_threads)(int n);
} d;

/* Opens oneDNN on the first call. False: WHY. */
static bool open_onednn(char why[VENDOR_TEXT]) {
  if (d.stream) return true;
  static const char *const names[] = {
#define X(name) #name,
      FUNCTIONS(X)
#undef X
  };
  enum { N = sizeof names / sizeof *names };
  static const char *const threads[] = {"omp_set_num_threads"};
  void *addresses[N], *set_threads;
  int at = 0;
  if (!vendor_open_library("libdnnl.so.2", N, names, addresses, why)) return false;
  if (!vendor_open_library("libgomp.so.1", 1, threads, &set_threads, why)) return false;
#define X(name) d.name = (__typeof__(name) *)addresses[at++];
  FUNCTIONS(X)
#undef X
  d.set_threads = (void (*)(int))set_threads;
  if (d.dnnl_engine_create(&d.engine, dnnl_cpu, 0) == dnnl_success &&
      d.dnnl_stream_create(&d.stream, d.engine, dnnl_stream_default_flags) == dnnl_success)
    return true;
  return snprintf(why, VENDOR_TEXT, "oneDNN makes no engine for this processor"), false;
}

/* ---- one primitive ----------------------------------------------------------------------------------------------- */

enum { MAX_ARGS = 5 };

/* A prepared operator. It owns the primitives and oneDNN's memory objects; the data stay the caller's. */
typedef struct call {
  int threads;
  bool packs_before;      /* weights are the same in every call: they are copied to oneDNN's layout once */
  vendor_problem product; /* used without a primitive: a product by sgemm */
  void *data[4];
  dnnl_primitive_t primitive; /* NULL: the plain product */
  int n_args;
  dnnl_exec_arg_t args[MAX_ARGS];
  dnnl_primitive_t reorder; /* of the weights, before each call; or NULL */
  dnnl_exec_arg_t reorder_args[2];
} call;

/* As blas.c: C begins as the addend, repeated over the rows where it is one row. */
static void copy_addend(const call *x) {
  size_t bytes = (size_t)x->product.addend_elements * sizeof(float);
  size_t all = (size_t)(x->product.dim[1] * x->product.dim[2]) * sizeof(float);
  for (size_t at = 0; at < all; at += bytes) memcpy((char *)x->data[2] + at, x->data[3], bytes);
}

/* A product by dnnl_sgemm, oneDNN's BLAS interface. */
static int32_t run_product(const call *x) {
  const vendor_problem *p = &x->product;
  dnnl_dim_t m = p->dim[1], n = p->dim[2], k = p->dim[3];
  bool ta = p->is_a_transposed, tb = p->is_b_transposed, adds = p->addend_elements > 0;
  if (adds) copy_addend(x);
  return d.dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, x->data[0], ta ? m : k, x->data[1], tb ? k : n, adds,
                      x->data[2], n) != dnnl_success;
}

/* vendor_kernel.call: copies the weights where they are copied each time, then runs the primitive and waits. */
static int32_t run(void *state) {
  const call *x = state;
  d.set_threads(x->threads);
  if (x->primitive == NULL) return run_product(x);
  if (x->reorder != NULL) d.dnnl_primitive_execute(x->reorder, d.stream, 2, x->reorder_args);
  bool went = d.dnnl_primitive_execute(x->primitive, d.stream, x->n_args, x->args) == dnnl_success;
  return !(d.dnnl_stream_wait(d.stream) == dnnl_success && went);
}

/* The copied weights stay: they are an argument of the primitive. */
static void drop_reorder(call *x) {
  if (x->reorder == NULL) return;
  d.dnnl_primitive_destroy(x->reorder);
  d.dnnl_memory_destroy(x->reorder_args[0].memory);
  x->reorder = NULL;
}

/* Releases what X holds and makes it ready for another way of doing the same. */
static void clear(call *x) {
  if (x->primitive != NULL) d.dnnl_primitive_destroy(x->primitive);
  drop_reorder(x);
  for (int i = 0; i < x->n_args; ++i) d.dnnl_memory_destroy(x->args[i].memory);
  *x = (call){.threads = x->threads, .packs_before = x->packs_before};
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

/* Adds an argument. DATA DNNL_MEMORY_ALLOCATE: oneDNN allocates it. */
static void add(call *x, int arg, const dnnl_memory_desc_t *desc, void *data) {
  dnnl_exec_arg_t *out = &x->args[x->n_args++];
  out->arg = arg;
  d.dnnl_memory_create(&out->memory, desc, d.engine, data);
}

/* Makes the primitive for an operation's description. WEIGHTS, if not NULL, becomes the layout that the
 * primitive wants them in. False: oneDNN has no implementation. */
static bool make(call *x, const void *op, dnnl_memory_desc_t *weights) {
  dnnl_primitive_desc_t desc;
  if (d.dnnl_primitive_desc_create(&desc, op, NULL, d.engine, NULL) != dnnl_success) return false;
  bool made = d.dnnl_primitive_create(&x->primitive, desc) == dnnl_success;
  if (weights != NULL) *weights = *d.dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
  d.dnnl_primitive_desc_destroy(desc);
  return made;
}

/* Copies the weights once, now, and not before each call. */
static bool reorder_now(call *x) {
  bool went = d.dnnl_primitive_execute(x->reorder, d.stream, 2, x->reorder_args) == dnnl_success &&
              d.dnnl_stream_wait(d.stream) == dnnl_success;
  drop_reorder(x);
  return went;
}

/* Weights come at DATA in layout PLAIN and are copied into layout WANTED, before each call or once. */
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
  return made && (!x->packs_before || reorder_now(x));
}

/* ---- the operators ----------------------------------------------------------------------------------------------- */

/* The product as it is, by sgemm. */
static bool plain_product(call *x, const vendor_problem *c, void *const *data) {
  x->product = *c;
  memcpy(x->data, data, (c->addend_elements > 0 ? 4 : 3) * sizeof *data);
  return true;
}

/* A product whose right factor is packed before the calls, in one of two ways: as a matmul, or as an inner
 * product, whose weights are the right factor transposed. */
static bool packed_product(call *x, const vendor_problem *c, void *const *data, bool is_inner) {
  int64_t m = c->dim[1], n = c->dim[2], k = c->dim[3];
  bool ta = c->is_a_transposed, tb = c->is_b_transposed;
  dnnl_memory_desc_t left = array(2, (int64_t[]){m, k}, (int64_t[]){ta ? 1 : k, ta ? m : 1});
  dnnl_memory_desc_t plain = is_inner ? array(2, (int64_t[]){n, k}, (int64_t[]){tb ? k : 1, tb ? 1 : n})
                                      : array(2, (int64_t[]){k, n}, (int64_t[]){tb ? 1 : n, tb ? k : 1});
  dnnl_memory_desc_t out = array(2, (int64_t[]){m, n}, NULL), right = plain, wanted;
  dnnl_matmul_desc_t matmul;
  dnnl_inner_product_desc_t inner;
  right.format_kind = dnnl_format_kind_any;
  bool described = is_inner ? d.dnnl_inner_product_forward_desc_init(&inner, dnnl_forward_inference, &left, &right,
                                                                     NULL, &out) == dnnl_success
                            : d.dnnl_matmul_desc_init(&matmul, &left, &right, NULL, &out) == dnnl_success;
  const void *op = is_inner ? (const void *)&inner : (const void *)&matmul;
  if (!described || !make(x, op, &wanted)) return false;
  add(x, DNNL_ARG_SRC, &left, data[0]);
  add(x, DNNL_ARG_DST, &out, data[2]);
  return add_reordered(x, &plain, &wanted, data[1]);
}

static bool fastest_product(call *x, const vendor_problem *c, void *const *data);

/* A single product is sgemm's, or the fastest of three ways where its weights are constant; a batch is a matmul
 * primitive. */
static bool gemm(call *x, const vendor_problem *c, void *const *data) {
  int64_t b = c->dim[0], m = c->dim[1], n = c->dim[2], k = c->dim[3];
  dnnl_matmul_desc_t op;
  if (b == 1 && c->has_constant_weights && c->addend_elements == 0) return fastest_product(x, c, data);
  if (b == 1) return plain_product(x, c, data);
  dnnl_memory_desc_t left = array(3, (int64_t[]){b, m, k}, NULL), right = array(3, (int64_t[]){b, k, n}, NULL);
  dnnl_memory_desc_t out = array(3, (int64_t[]){b, m, n}, NULL);
  if (d.dnnl_matmul_desc_init(&op, &left, &right, NULL, &out) != dnnl_success || !make(x, &op, NULL)) return false;
  add(x, DNNL_ARG_SRC, &left, data[0]);
  add(x, DNNL_ARG_WEIGHTS, &right, data[1]);
  add(x, DNNL_ARG_DST, &out, data[2]);
  return true;
}

/* ANY_WEIGHTS: oneDNN chooses the layout of the right factor, which is copied to it. */
static bool low_with(call *x, const vendor_problem *c, void *const *data, bool any_weights) {
  int64_t m = c->dim[1], n = c->dim[2], k = c->dim[3];
  bool is_bf16 = c->op == VENDOR_GEMM_BF16;
  dnnl_data_type_t a = is_bf16 ? dnnl_bf16 : c->op == VENDOR_GEMM_U8 ? dnnl_u8 : dnnl_s8;
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

/* data: X, Y. */
static bool softmax(call *x, const vendor_problem *c, void *const *data) {
  dnnl_softmax_desc_t op;
  dnnl_memory_desc_t in = array(2, c->dim, NULL);
  int axis = c->is_by_columns ? 0 : 1;
  if (d.dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &in, axis) != dnnl_success || !make(x, &op, NULL)) {
    return false;
  }
  add(x, DNNL_ARG_SRC, &in, data[0]);
  add(x, DNNL_ARG_DST, &in, data[1]);
  return true;
}

/* data: X, gamma, beta, Y. */
static bool layernorm(call *x, const vendor_problem *c, void *const *data) {
  dnnl_layer_normalization_desc_t op;
  dnnl_memory_desc_t in = array(2, c->dim, NULL), row = array(1, c->dim + 1, NULL), stat = array(1, c->dim, NULL);
  unsigned flags = dnnl_use_scale | dnnl_use_shift;
  float epsilon = c->epsilon > 0 ? (float)c->epsilon : 1e-5f;
  if (d.dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_inference, &in, &stat, epsilon, flags) !=
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

/* Adds the arguments. data: the image, the weights in memory as PLAIN, the result. WANTED: the weights are
 * copied to that layout; NULL: they are used as they are. */
static bool add_image(call *x, const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst,
                      const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *wanted, void *const *data) {
  add(x, DNNL_ARG_SRC, src, data[0]);
  add(x, DNNL_ARG_DST, dst, data[2]);
  if (wanted) return add_reordered(x, plain, wanted, data[1]);
  add(x, DNNL_ARG_WEIGHTS, plain, data[1]);
  return true;
}

/* The logical order of extents is n c h w and (g) o i h w; the strides say that memory is NHWC and HWIO. */
static bool conv_with(call *x, const vendor_problem *c, void *const *data, bool any_weights) {
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
  return add_image(x, &src, &dst, &plain, any_weights ? &wanted : NULL, data);
}

/* Weights as for a convolution: (filters, channels, height, width) in memory as HWIO. */
static bool transposed_with(call *x, const vendor_problem *c, void *const *data, bool any_weights) {
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
  return add_image(x, &src, &dst, &plain, any_weights ? &wanted : NULL, data);
}

/* Processor seconds of the fastest of twelve calls. */
static double least_time(call *x) {
  double best = 1e9;
  for (int i = 0; i < 12; ++i) {
    double begin = vendor_now(true);
    run(x);
    double took = vendor_now(true) - begin;
    if (took < best) best = took;
  }
  return best;
}

/* The fastest of three ways, of which two have their weights packed before. */
static bool fastest_product(call *x, const vendor_problem *c, void *const *data) {
  double matmul = packed_product(x, c, data, false) ? least_time(x) : 1e9;
  clear(x);
  double inner = packed_product(x, c, data, true) ? least_time(x) : 1e9;
  clear(x);
  double plain = plain_product(x, c, data) ? least_time(x) : 1e9;
  if (plain <= matmul && plain <= inner) return true;
  clear(x);
  return packed_product(x, c, data, inner < matmul);
}

/* The faster of two ways: weights as they are, or copied, each time or before, into the layout that oneDNN likes best. */
static bool faster(call *x, const vendor_problem *c, void *const *data,
                   bool (*with)(call *, const vendor_problem *, void *const *, bool)) {
  bool good = with(x, c, data, true);
  double copied = good ? least_time(x) : 1e9;
  clear(x);
  if (with(x, c, data, false) && least_time(x) <= copied) return true;
  clear(x);
  return good && with(x, c, data, true);
}

static bool conv(call *x, const vendor_problem *c, void *const *data) { return faster(x, c, data, conv_with); }
static bool gemm_low(call *x, const vendor_problem *c, void *const *data) { return faster(x, c, data, low_with); }
static bool transposed(call *x, const vendor_problem *c, void *const *data) {
  return faster(x, c, data, transposed_with);
}

/* What oneDNN lacks for the problem; NULL: nothing. */
static const char *what_lacks(const vendor_problem *p) {
  if (p->op == VENDOR_GEMM_F64) return "it has no products in f64";
  if (p->op == VENDOR_GEMM && p->dim[0] > 1 && (p->is_a_transposed || p->is_b_transposed || p->addend_elements > 0))
    return "its batches of products are compared plain only: nothing transposed, nothing added";
  return p->op == VENDOR_NONE ? "it has no such operator" : NULL;
}

bool vendor_onednn_prepare(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                           char why[VENDOR_TEXT]) {
  static bool (*const operators[])(call *, const vendor_problem *, void *const *) = {
      [VENDOR_GEMM] = gemm,        [VENDOR_GEMM_BF16] = gemm_low, [VENDOR_GEMM_U8] = gemm_low,
      [VENDOR_GEMM_I8] = gemm_low, [VENDOR_CONV] = conv,          [VENDOR_TRANSPOSED] = transposed,
      [VENDOR_SOFTMAX] = softmax,  [VENDOR_LAYERNORM] = layernorm};
  const char *lack = what_lacks(problem);
  if (lack) return snprintf(why, VENDOR_TEXT, "%s", lack), false;
  if (!open_onednn(why)) return false;
  call *x = calloc(1, sizeof *x);
  if (x == NULL) return snprintf(why, VENDOR_TEXT, "out of memory"), false;
  x->threads = threads;
  x->packs_before = problem->has_constant_weights;
  d.set_threads(threads);
  if (!operators[problem->op](x, problem, data)) {
    release(x);
    return snprintf(why, VENDOR_TEXT, "oneDNN makes no primitive for these shapes"), false;
  }
  *out = (vendor_kernel){.call = run, .free = release, .self = x};
  const dnnl_version_t *version = d.dnnl_version();
  snprintf(out->note, sizeof out->note, "oneDNN %d.%d.%d%s", version->major, version->minor, version->patch,
           x->packs_before ? ", weights in its own layout, packed before" : "");
  return true;
}

#else

bool vendor_onednn_prepare(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                           char why[VENDOR_TEXT]) {
  (void)problem, (void)data, (void)threads, (void)out;
  return snprintf(why, VENDOR_TEXT, "it was not built in: oneDNN's header was missing (libdnnl-dev)"), false;
}

#endif
