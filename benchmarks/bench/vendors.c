/* vendors.c: OpenBLAS and BLIS by their common C interface; the table of vendors. Libraries are opened at run time. */
#include <dlfcn.h>
#include <stdlib.h>

#include "bench.h"

bool bench_library(const char *file, int n, const char *const *names, void **addresses) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "tenon-bench: %s\n", dlerror());
    return false;
  }
  for (int i = 0; i < n; ++i) {
    if ((addresses[i] = dlsym(library, names[i])) != NULL) continue;
    fprintf(stderr, "tenon-bench: %s has no %s\n", file, names[i]);
    return false;
  }
  return true;
}

/* ---- the C interface of the BLAS --------------------------------------------------------------------------------- */

enum { ROW_MAJOR = 101, PLAIN = 111 };

typedef void gemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                     const float *b, int ldb, float beta, float *c, int ldc);

typedef struct blas {
  gemm_fn *gemm;
  void (*set_threads)(long n);
} blas;

typedef struct blas_call {
  const blas *blas;
  int batch, m, n, k;
  const float *a, *b;
  float *c;
} blas_call;

static void run_blas(void *state) {
  const blas_call *x = state;
  int m = x->m, n = x->n, k = x->k;
  for (int i = 0; i < x->batch; ++i) {
    const float *a = x->a + (size_t)i * (size_t)(m * k), *b = x->b + (size_t)i * (size_t)(k * n);
    x->blas->gemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1, a, k, b, n, 0, x->c + (size_t)i * (size_t)(m * n), n);
  }
}

static bool prepare_blas(const blas *b, const bench_case *c, void *const *data, int threads, bench_kernel *out) {
  blas_call *call = calloc(1, sizeof *call);
  if (c->op != BENCH_GEMM || call == NULL) {
    free(call);
    return false;
  }
  *call = (blas_call){b, (int)c->dim[0], (int)c->dim[1], (int)c->dim[2], (int)c->dim[3], data[0], data[1], data[2]};
  b->set_threads(threads);
  *out = (bench_kernel){run_blas, free, call};
  return true;
}

static bool open_blas(const char *file, const char *set_threads, blas *b) {
  const char *names[] = {"cblas_sgemm", set_threads};
  void *addresses[2];
  if (!bench_library(file, 2, names, addresses)) return false;
  b->gemm = (gemm_fn *)addresses[0];
  b->set_threads = (void (*)(long))addresses[1];
  return true;
}

/* ---- the two libraries ------------------------------------------------------------------------------------------- */

static blas openblas, blis;

/* A processor that OpenBLAS does not know gets kernels for Haswell, four times slower than its best on a processor with
 * 64-byte vectors: say which. It reads that when it is loaded. */
static bool open_openblas(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
  }
  return open_blas("libopenblas.so.0", "openblas_set_num_threads", &openblas);
}

/* The same with BLIS, whose kernels have numbers: 0 is SkylakeX's. */
static bool open_blis(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    setenv("BLIS_ARCH_TYPE", "0", 1);
  }
  return open_blas("libblis.so.4", "bli_thread_set_num_threads", &blis);
}

static bool prepare_openblas(const bench_case *c, void *const *data, int threads, bench_kernel *out) {
  return prepare_blas(&openblas, c, data, threads, out);
}

static bool prepare_blis(const bench_case *c, void *const *data, int threads, bench_kernel *out) {
  return prepare_blas(&blis, c, data, threads, out);
}

const bench_vendor bench_vendors[BENCH_MAX_VENDORS] = {
    {"onednn", bench_onednn_open, bench_onednn_prepare},
    {"openblas", open_openblas, prepare_openblas},
    {"blis", open_blis, prepare_blis},
};
