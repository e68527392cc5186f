/* blas.c: OpenBLAS and BLIS by the C interface that they have in common: products in f32 and f64. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks/vendors/internal.h"

/* Values of the CBLAS enumerations, which both libraries share: no header is needed. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                      const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_fn(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                      const double *b, int ldb, double beta, double *c, int ldc);

/* One of the libraries. The first lines say where to find it; the addresses are filled in once it is open, and
 * it stays open. */
typedef struct blas {
  const char *file, *package, *set_threads_name;
  const char *describe_name, *core_name; /* functions that return a text, or NULL */
  const char *variable;                  /* the environment variable by which a user chooses its kind of processor */
  const char *const *values;
  bool is_open;
  sgemm_fn *sgemm;
  dgemm_fn *dgemm;
  void (*set_threads)(long n);
  char *(*describe)(void), *(*core)(void);
  char note[VENDOR_TEXT];
} blas;

/* A prepared product, or a batch of them. Points into the caller's arrays. */
typedef struct product {
  const blas *blas;
  vendor_problem problem;
  void *data[4];
} product;

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* C begins as the addend, which is repeated over the rows where it is one row; the product is then added to it. */
static void copy_addend(const product *p, size_t element_bytes) {
  size_t bytes = (size_t)p->problem.addend_elements * element_bytes;
  size_t all = (size_t)(p->problem.dim[1] * p->problem.dim[2]) * element_bytes;
  for (size_t at = 0; at < all; at += bytes) memcpy((char *)p->data[2] + at, p->data[3], bytes);
}

/* Calls the library once for each matrix of the batch. */
static int32_t call_product(void *self) {
  const product *p = self;
  int batch = (int)p->problem.dim[0], m = (int)p->problem.dim[1], n = (int)p->problem.dim[2],
      k = (int)p->problem.dim[3];
  int ta = p->problem.is_a_transposed ? TRANSPOSED : NOT_TRANSPOSED, lda = p->problem.is_a_transposed ? m : k;
  int tb = p->problem.is_b_transposed ? TRANSPOSED : NOT_TRANSPOSED, ldb = p->problem.is_b_transposed ? k : n;
  bool is_double = p->problem.op == VENDOR_GEMM_F64, adds = p->problem.addend_elements > 0;
  if (adds) copy_addend(p, is_double ? 8 : 4);
  for (int64_t i = 0; i < batch; ++i) {
    int64_t a = i * m * k, b = i * k * n, c = i * m * n;
    if (is_double)
      p->blas->dgemm(ROW_MAJOR, ta, tb, m, n, k, 1, (double *)p->data[0] + a, lda, (double *)p->data[1] + b, ldb, adds,
                     (double *)p->data[2] + c, n);
    else
      p->blas->sgemm(ROW_MAJOR, ta, tb, m, n, k, 1, (float *)p->data[0] + a, lda, (float *)p->data[1] + b, ldb, adds,
                     (float *)p->data[2] + c, n);
  }
  return 0;
}

/* Fills OUT with a product that calls B's functions. False: no memory. Sets the library's number of threads,
 * which is one for the process. */
static bool make_product(const blas *b, const vendor_problem *problem, void *const *data, int threads,
                         vendor_kernel *out) {
  product *p = calloc(1, sizeof *p);
  if (!p) return false;
  *p = (product){.blas = b, .problem = *problem};
  memcpy(p->data, data, (problem->addend_elements > 0 ? 4 : 3) * sizeof *data);
  b->set_threads(threads);
  *out = (vendor_kernel){.call = call_product, .free = free, .self = p};
  return true;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Opens the library and finds its functions. False: WHY, with the package that has it. */
static bool open_blas(blas *b, char why[VENDOR_TEXT]) {
  const char *names[] = {"cblas_sgemm", "cblas_dgemm", b->set_threads_name, b->describe_name, b->core_name};
  void *found[5] = {NULL};
  int n = 3 + (b->describe_name != NULL) + (b->core_name != NULL);
  if (!vendor_open_library(b->file, n, names, found, why)) {
    snprintf(why + strlen(why), VENDOR_TEXT - strlen(why), "; Debian has it as %s", b->package);
    return false;
  }
  *(void **)&b->sgemm = found[0];
  *(void **)&b->dgemm = found[1];
  *(void **)&b->set_threads = found[2];
  *(void **)&b->describe = found[3];
  *(void **)&b->core = found[4];
  return true;
}

/* What the child that tries a kind of processor gets (choose.c). */
typedef struct attempt {
  blas *blas;
  const vendor_problem *problem;
  void *const *data;
  int threads;
} attempt;

/* In the child: opens the library under the variable that was set, and makes the product ready. */
static bool prepare_attempt(void *user, vendor_kernel *out, char name[64]) {
  const attempt *a = user;
  char why[VENDOR_TEXT];
  if (!open_blas(a->blas, why) || !make_product(a->blas, a->problem, a->data, a->threads, out)) return false;
  snprintf(name, 64, "%s", a->blas->core ? a->blas->core() : "");
  return true;
}

/* Common to both vendors. The first call chooses the kind of processor for this and all later products. */
static bool prepare(blas *b, const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                    char why[VENDOR_TEXT]) {
  if (problem->op != VENDOR_GEMM && problem->op != VENDOR_GEMM_F64)
    return snprintf(why, VENDOR_TEXT, "it has products in f32 and f64 only"), false;
  for (int i = 0; i < 4; ++i)
    if (problem->dim[i] > INT32_MAX) return snprintf(why, VENDOR_TEXT, "its extents are 32 bits"), false;
  if (!b->is_open) {
    attempt a = {b, problem, data, threads};
    vendor_choose(&(vendor_choice){b->variable, b->values, prepare_attempt, &a}, b->note);
    b->is_open = open_blas(b, why);
    if (!b->is_open) return false;
  }
  if (!make_product(b, problem, data, threads, out)) return snprintf(why, VENDOR_TEXT, "out of memory"), false;
  snprintf(out->note, sizeof out->note, "%.200s%s%.300s", b->describe ? b->describe() : "", b->describe ? "; " : "",
           b->note);
  return true;
}

/* ---- the two libraries ------------------------------------------------------------------------------------------- */

/* Kinds of processor whose kernels this one can run, by OpenBLAS' names. One that this OpenBLAS does not know
 * is passed over when it is tried. */
static const char *const *core_types(void) {
#if defined(__x86_64__)
  static const char *const avx512[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", NULL};
  static const char *const avx2[] = {"Haswell", "Zen", NULL};
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2;
#endif
  static const char *const none[] = {NULL};
  return none;
}

/* The same for BLIS, which numbers them: SkylakeX, Haswell, Zen 3, Zen 2. */
static const char *const *architectures(void) {
#if defined(__x86_64__)
  static const char *const avx512[] = {"0", "3", "6", "7", NULL};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return avx512;
#endif
  static const char *const none[] = {NULL};
  return none;
}

bool vendor_openblas_prepare(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                             char why[VENDOR_TEXT]) {
  static blas openblas = {.file = "libopenblas.so.0",
                          .package = "libopenblas0-pthread",
                          .set_threads_name = "openblas_set_num_threads",
                          .describe_name = "openblas_get_config",
                          .core_name = "openblas_get_corename",
                          .variable = "OPENBLAS_CORETYPE"};
  openblas.values = core_types();
  return prepare(&openblas, problem, data, threads, out, why);
}

bool vendor_blis_prepare(const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                         char why[VENDOR_TEXT]) {
  static blas blis = {.file = "libblis.so.4",
                      .package = "libblis4-pthread",
                      .set_threads_name = "bli_thread_set_num_threads",
                      .variable = "BLIS_ARCH_TYPE"};
  blis.values = architectures();
  return prepare(&blis, problem, data, threads, out, why);
}
