/* openblas.c: the other side of `tenon bench --vs openblas`. */
#include "tools/openblas.h"

#include <dlfcn.h>

/* CBLAS's order and transposition. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                         int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*dgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                         const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static bool find_library(tools_session *session, tools_openblas *out) {
  static const char *const names[] = {"libopenblas.so.0", "libopenblas.so",
                                      "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
                                      "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0"};
  for (int i = 0; i < RUNTIME_COUNT(names) && !out->library; ++i)
    out->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (out->library) return true;
  tools_fail(session, "OpenBLAS is not here: no %s; Debian has it as libopenblas0-pthread", names[0]);
  return false;
}

static void *find_symbol(tools_session *session, tools_openblas *blas, const char *name) {
  void *symbol = dlsym(blas->library, name);
  if (!symbol) tools_fail(session, "OpenBLAS has no function %s", name);
  return symbol;
}

static bool find_functions(tools_session *session, int threads, tools_openblas *out) {
  void (*set_threads)(int) = NULL;
  const char *(*config)(void) = NULL;
  out->gemm = find_symbol(session, out, out->matmul.dtype == TN_F64 ? "cblas_dgemm" : "cblas_sgemm");
  *(void **)&set_threads = find_symbol(session, out, "openblas_set_num_threads");
  *(void **)&config = find_symbol(session, out, "openblas_get_config");
  if (!out->gemm || !set_threads || !config) return false;
  set_threads(threads);
  out->config = strdup(config());
  return out->config != NULL;
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

static bool match(tools_session *session, tools_openblas *out) {
  if (!te_match_matmul(session->program, &out->matmul)) {
    tools_fail(
        session,
        "--vs openblas: no stage of the program is a matrix product C[i,j] = sum[k](A[i,k] * B[k,j]) of two inputs "
        "in f32 or f64");
    return false;
  }
  if (out->matmul.output < 0)
    tools_warn(session, "OpenBLAS does the program's matrix product only: its other stages are not counted");
  return true;
}

bool tools_openblas_open(tools_session *session, DLTensor *const *args, int threads, tools_openblas *out) {
  *out = (tools_openblas){0};
  if (!match(session, out) || !find_library(session, out) || !find_functions(session, threads, out)) return false;
  const te_matmul *m = &out->matmul;
  out->a = args[m->a];
  out->b = args[m->b];
  out->addend = m->addend >= 0 ? args[m->addend] : NULL;
  out->result = tn_array_new(session->ctx, m->dtype, 2, (const int64_t[]){m->m, m->n});
  return out->result != NULL;
}

void tools_openblas_close(tools_openblas *blas) {
  tn_array_free(blas->result);
  free(blas->config);
  if (blas->library) dlclose(blas->library);
}

static void copy_addend(const tools_openblas *blas) {
  size_t bytes = tn_array_bytes(blas->addend), all = tn_array_bytes(blas->result);
  for (size_t at = 0; at < all; at += bytes) memcpy((char *)blas->result->data + at, blas->addend->data, bytes);
}

int32_t tools_openblas_call(void *self) {
  const tools_openblas *blas = self;
  const te_matmul *p = &blas->matmul;
  int m = (int)p->m, n = (int)p->n, k = (int)p->k;
  int lda = p->is_a_transposed ? m : k, ldb = p->is_b_transposed ? k : n;
  int ta = p->is_a_transposed ? TRANSPOSED : NOT_TRANSPOSED, tb = p->is_b_transposed ? TRANSPOSED : NOT_TRANSPOSED;
  if (blas->addend) copy_addend(blas);
  double beta = blas->addend ? 1 : 0;
  if (p->dtype == TN_F64) {
    dgemm_fn gemm;
    *(void **)&gemm = blas->gemm;
    gemm(ROW_MAJOR, ta, tb, m, n, k, 1, blas->a->data, lda, blas->b->data, ldb, beta, blas->result->data, n);
  } else {
    sgemm_fn gemm;
    *(void **)&gemm = blas->gemm;
    gemm(ROW_MAJOR, ta, tb, m, n, k, 1, blas->a->data, lda, blas->b->data, ldb, (float)beta, blas->result->data, n);
  }
  return 0;
}
