/* Loops, branches, scratch memory, parallel loops, loading and unloading. */
#include <pthread.h>
#include <sys/resource.h>

#include "tests/codegen/kit.h"

static const tir_expr *one_f32(void) { return tir_float(&K.arena, TN_F32, 1); }

static const tn_target *threads(int n) {
  char spec[32];
  snprintf(spec, sizeof spec, "threads=%d", n);
  const tn_target *target = tn_target_new(K.ctx, spec);
  assert_non_null(target);
  return target;
}

static void run_on(const tir_func *f, int n_threads, void *const *pointers) {
  tn_kernel *kernel = kit_compile(f, threads(n_threads));
  assert_int_equal(kit_call(kernel, pointers), 0);
  tn_kernel_free(kernel);
}

/* ---- serial loops ------------------------------------------------------------------------------------------------ */

/* C[i] = min(i, N) for extents that are constant, zero, or computed; outside them C stays. */
static void triangle(void **state) {
  (void)state;
  enum { N = 9 };
  int32_t c[N * N];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, N * N);
  const tir_var *i = kit_var("i"), *j = kit_var("j");
  const tir_stmt *inner = kit_store(C, kit_add(kit_mul(kit_at(i), N), kit_at(j)), kit_add(kit_at(i), kit_at(j)));
  inner = tir_for(&K.arena, j, kit_int(0), kit_at(i), TIR_SERIAL, inner); /* j < i: no iteration for i == 0 */
  memset(c, 0xff, sizeof c);
  kit_run(kit_func("kernel", kit_for(i, N, TIR_SERIAL, inner)), (void *[]){c});
  for (int k = 0; k < N * N; ++k) assert_int_equal(c[k], k % N < k / N ? k % N + k / N : -1);
}

static void zero_and_one(void **state) {
  (void)state;
  int32_t c[2] = {7, 7};
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 2);
  const tir_var *i = kit_var("i"), *j = kit_var("j");
  const tir_stmt *both[] = {kit_for(i, 0, TIR_SERIAL, kit_store(C, kit_at(i), kit_int(1))),
                            kit_for(j, 1, TIR_SERIAL, kit_store(C, kit_add(kit_at(j), kit_int(1)), kit_int(2)))};
  kit_run(kit_func("kernel", kit_seq(2, both)), (void *[]){c});
  assert_int_equal(c[0], 7);
  assert_int_equal(c[1], 2);
}

static void negative_minimum(void **state) {
  (void)state;
  int32_t c[10];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 10);
  const tir_var *i = kit_var("i");
  const tir_expr *third = tir_binary(&K.arena, TIR_FLOORDIV, kit_at(i), kit_int(3));
  const tir_stmt *body = kit_store(C, kit_add(kit_at(i), kit_int(5)), third);
  kit_run(kit_func("kernel", tir_for(&K.arena, i, kit_int(-5), kit_int(10), TIR_SERIAL, body)), (void *[]){c});
  for (int k = 0; k < 10; ++k) assert_int_equal(c[k], runtime_floordiv(k - 5, 3));
}

/* Twelve loops of two: the index is the counter of all of them. */
static void deep(void **state) {
  (void)state;
  enum { DEPTH = 12 };
  static int32_t c[1 << DEPTH];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 1 << DEPTH);
  const tir_var *vars[DEPTH];
  const tir_expr *index = kit_int(0);
  for (int d = 0; d < DEPTH; ++d) {
    vars[d] = kit_var("v");
    index = kit_add(kit_mul(index, 2), kit_at(vars[d]));
  }
  const tir_stmt *s = kit_store(C, index, index);
  for (int d = DEPTH - 1; d >= 0; --d) s = kit_for(vars[d], 2, d % 2 ? TIR_UNROLLED : TIR_SERIAL, s);
  kit_run(kit_func("kernel", s), (void *[]){c});
  for (int k = 0; k < 1 << DEPTH; ++k) assert_int_equal(c[k], k);
}

/* An index that needs more than 32 bits in bytes: element 2^30 of i32 is at 2^32. The pages in between are not touched.
 */
static void far_index(void **state) {
  (void)state;
  kit_begin();
  const int64_t n = (1ll << 30) + 16;
  const tir_buffer *C = kit_out("C", TN_I32, n);
  const tir_var *i = kit_var("i");
  const tir_expr *index = kit_add(kit_mul(kit_at(i), 1 << 30), kit_int(3));
  tir_func *f = kit_func("kernel", kit_for(i, 2, TIR_SERIAL, kit_store(C, index, kit_int(42))));
  size_t bytes = (size_t)n * 4;
  int32_t *c = kit_guarded(bytes);
  kit_run(f, (void *[]){c});
  assert_int_equal(c[3], 42);
  assert_int_equal(c[(1 << 30) + 3], 42);
  kit_guarded_free(c, bytes);
}

/* i * 2^20 * 2^20 wraps in i32: a value, not an index, must not be widened. */
static void wide_product_wraps(void **state) {
  (void)state;
  int32_t c[4];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 4);
  const tir_var *i = kit_var("i");
  const tir_expr *wide = kit_mul(kit_mul(kit_at(i), 1 << 20), 1 << 11); /* i << 31 */
  const tir_expr *negative = tir_binary(&K.arena, TIR_LT, wide, kit_int(0));
  const tir_expr *value = tir_select(&K.arena, negative, kit_int(1), kit_int(0));
  kit_run(kit_func("kernel", kit_for(i, 4, TIR_SERIAL, kit_store(C, kit_at(i), value))), (void *[]){c});
  for (int k = 0; k < 4; ++k) assert_int_equal(c[k], k % 2);
}

static void branches(void **state) {
  (void)state;
  int32_t c[10];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 10);
  const tir_var *i = kit_var("i");
  const tir_expr *odd =
      tir_binary(&K.arena, TIR_EQ, tir_binary(&K.arena, TIR_FLOORMOD, kit_at(i), kit_int(2)), kit_int(1));
  const tir_expr *small = tir_binary(&K.arena, TIR_LT, kit_at(i), kit_int(4));
  const tir_stmt *nested = tir_if(&K.arena, small, kit_store(C, kit_at(i), kit_int(1)), NULL);
  const tir_stmt *s = tir_if(&K.arena, odd, kit_store(C, kit_at(i), kit_int(2)), nested);
  memset(c, 0, sizeof c);
  kit_run(kit_func("kernel", kit_for(i, 10, TIR_SERIAL, s)), (void *[]){c});
  for (int k = 0; k < 10; ++k) assert_int_equal(c[k], k % 2 ? 2 : k < 4);
}

/* The same variable in two loops one after the other, with other ranges. */
static void variable_again(void **state) {
  (void)state;
  int32_t c[20];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 20);
  const tir_var *i = kit_var("i");
  const tir_stmt *body = kit_store(C, kit_at(i), tir_binary(&K.arena, TIR_FLOORDIV, kit_at(i), kit_int(3)));
  const tir_stmt *both[] = {kit_for(i, 7, TIR_PARALLEL, body),
                            tir_for(&K.arena, i, kit_int(7), kit_int(13), TIR_PARALLEL, body)};
  run_on(kit_func("kernel", kit_seq(2, both)), 2, (void *[]){c});
  for (int k = 0; k < 20; ++k) assert_int_equal(c[k], k / 3);
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

/* T[j] = A[j] + i; C[i] = T[N-1-i], by way of a buffer of N floats made inside the loop over i. */
static tir_func *through_scratch(int64_t n, tir_loop_kind kind) {
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, n), *C = kit_out("C", TN_F32, 8), *T = kit_scratch("T", TN_F32, n);
  const tir_var *i = kit_var("i"), *j = kit_var("j");
  const tir_expr *value = kit_add(kit_load(A, kit_at(j)), tir_cast(&K.arena, TN_F32, kit_at(i)));
  const tir_expr *last = tir_binary(&K.arena, TIR_SUB, kit_int(n - 1), kit_at(i));
  const tir_stmt *both[] = {kit_for(j, n, TIR_SERIAL, kit_store(T, kit_at(j), value)),
                            kit_store(C, kit_at(i), kit_load(T, last))};
  return kit_func("kernel", kit_for(i, 8, kind, tir_alloc(&K.arena, T, kit_seq(2, both))));
}

typedef struct scratch_row {
  const char *name;
  int64_t n;
  tir_loop_kind kind;
  int threads;
} scratch_row;

static const scratch_row scratch_rows[] = {
    {"small", 16, TIR_SERIAL, 1},
    {"16 KiB, on the stack", 4096, TIR_SERIAL, 1},
    {"more than 16 KiB, on the heap", 4097, TIR_SERIAL, 1},
    {"16 MiB", 4 << 20, TIR_SERIAL, 1},
    {"small in a parallel loop", 16, TIR_PARALLEL, 2},
    {"large in a parallel loop", 1 << 16, TIR_PARALLEL, 2},
    {"large in a parallel loop on one thread", 1 << 16, TIR_PARALLEL, 1},
};

static void scratch(void **state) {
  const scratch_row *r = *state;
  float *a = malloc((size_t)r->n * sizeof *a), c[8];
  for (int64_t k = 0; k < r->n; ++k) a[k] = (float)(k % 1000);
  run_on(through_scratch(r->n, r->kind), r->threads, (void *[]){a, c});
  for (int i = 0; i < 8; ++i) assert_true(c[i] == a[r->n - 1 - i] + (float)i);
  free(a);
}

/* 2^60 bytes: no machine has them. */
static void no_memory(void **state) {
  (void)state;
  if (K.c_compiler != NULL && strstr(K.c_compiler, "clang")) skip(); /* it takes scratch that it can do without away */
  for (int parallel = 0; parallel < 2; ++parallel) {
    kit_begin();
    const tir_buffer *C = kit_out("C", TN_F32, 4), *T = kit_scratch("T", TN_F32, 1ll << 58);
    const tir_var *i = kit_var("i");
    const tir_stmt *both[] = {kit_store(T, kit_at(i), one_f32()), kit_store(C, kit_at(i), kit_load(T, kit_at(i)))};
    const tir_stmt *s = tir_alloc(&K.arena, T, kit_seq(2, both));
    tn_kernel *kernel =
        kit_compile(kit_func("kernel", kit_for(i, 4, parallel ? TIR_PARALLEL : TIR_SERIAL, s)), threads(2));
    float c[4] = {5, 5, 5, 5};
    assert_int_equal(kit_call(kernel, (void *[]){c}), 1);
    assert_true(c[0] == 5);
    tn_kernel_free(kernel);
  }
}

static void refuse_scratch_size(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_F32, 4), *T = kit_scratch("T", TN_F32, INT64_MAX / 2);
  const tir_stmt *s = tir_alloc(&K.arena, T, kit_store(C, kit_int(0), kit_load(T, kit_int(0))));
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", s), NULL, &object);
  check_fails(K.ctx, TN_ERROR_CODEGEN, "scratch buffer T", "larger than memory");
}

/* A call gives its scratch back, what each thread has and what the kernel has: the process does not grow. */
static void scratch_returned(void **state) {
  (void)state;
  enum { FLOATS = 1 << 20 };
  float *a = calloc(FLOATS, sizeof *a), c[8];
  for (int parallel = 0; parallel < 2; ++parallel) {
    tn_kernel *kernel = kit_compile(through_scratch(FLOATS, parallel ? TIR_PARALLEL : TIR_SERIAL), threads(2));
    struct rusage before, after;
    for (int k = 0; k < 60; ++k) kit_call(kernel, (void *[]){a, c});
    getrusage(RUSAGE_SELF, &before);
    for (int k = 0; k < 200; ++k) kit_call(kernel, (void *[]){a, c});
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 32 * 1024);
    tn_kernel_free(kernel);
  }
  free(a);
}

/* ---- parallel loops ---------------------------------------------------------------------------------------------- */

typedef struct parallel_row {
  const char *name;
  int min, extent, threads;
  bool strided;
} parallel_row;

static const parallel_row parallel_rows[] = {
    {"100 iterations, 1 thread", 0, 100, 1, false},
    {"100 iterations, 2 threads", 0, 100, 2, false},
    {"101 iterations, 2 threads", 0, 101, 2, false},
    {"5 iterations, 16 threads", 0, 5, 16, false},
    {"1 iteration, 2 threads", 0, 1, 2, false},
    {"7 iterations from 3, 3 threads", 3, 7, 3, false},
    {"no iteration", 0, 0, 2, false},
    {"strided, 2 threads", 0, 101, 2, true},
    {"strided, 16 threads", 2, 5, 16, true},
    {"strided, 3 threads", 1, 100, 3, true},
    {"strided, 1 thread", 0, 10, 1, true},
    {"strided, no iteration", 0, 0, 2, true},
};

/* C[i] += A[i] + 1, once for every i. */
static void parallel(void **state) {
  const parallel_row *r = *state;
  int32_t a[128], c[128] = {0};
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_I32, 128), *C = kit_out("C", TN_I32, 128);
  const tir_var *i = kit_var("i");
  const tir_expr *value = kit_add(kit_load(C, kit_at(i)), kit_add(kit_load(A, kit_at(i)), kit_int(1)));
  const tir_stmt *body = kit_store(C, kit_at(i), value);
  for (int k = 0; k < 128; ++k) a[k] = k;
  tir_stmt *loop = (tir_stmt *)tir_for(&K.arena, i, kit_int(r->min), kit_int(r->extent), TIR_PARALLEL, body);
  loop->u.loop.strided = r->strided;
  run_on(kit_func("kernel", loop), r->threads, (void *[]){a, c});
  for (int k = 0; k < 128; ++k) assert_int_equal(c[k], k >= r->min && k < r->min + r->extent ? k + 1 : 0);
}

/* A parallel loop in a serial one, with the outer variable, scratch from outside, and a parallel loop inside. */
static void parallel_inside(void **state) {
  (void)state;
  enum { N = 6 };
  int32_t c[N * N * N];
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, N * N * N), *T = kit_scratch("T", TN_I32, 1 << 14);
  const tir_var *i = kit_var("i"), *j = kit_var("j"), *k = kit_var("k");
  const tir_expr *at = kit_add(kit_mul(kit_add(kit_mul(kit_at(i), N), kit_at(j)), N), kit_at(k));
  const tir_stmt *inner = kit_store(C, at, kit_add(kit_load(T, kit_at(j)), kit_at(k)));
  const tir_stmt *both[] = {
      kit_for(k, N, TIR_SERIAL, kit_store(T, kit_at(k), kit_mul(kit_add(kit_at(i), kit_at(k)), 100))),
      kit_for(j, N, TIR_PARALLEL, kit_for(k, N, TIR_PARALLEL, inner))};
  const tir_stmt *s = tir_alloc(&K.arena, T, kit_for(i, N, TIR_SERIAL, kit_seq(2, both)));
  run_on(kit_func("kernel", s), 2, (void *[]){c});
  for (int x = 0; x < N * N * N; ++x) assert_int_equal(c[x], (x / N / N + x / N % N) * 100 + x % N);
}

/* A user's parallel-for: two threads at most, 64 iterations from 0; *data counts the loops. */
static void in_two_parts(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  ++*(int *)data;
  assert_in_range(threads, 1, 2);
  assert_int_equal(begin, 0);
  assert_int_equal(end, 64);
  body(loop, 40, end);
  body(loop, begin, 40);
}

static void forgets_one(void *data, int threads, int64_t begin, int64_t end, tn_parallel_body body, void *loop) {
  (void)data, (void)threads;
  body(loop, begin, end - 1);
}

/* C[i] += 2 for i < 64. */
static tir_func *add_two(void) {
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 64);
  const tir_var *i = kit_var("i");
  const tir_expr *value = kit_add(kit_load(C, kit_at(i)), kit_int(2));
  return kit_func("kernel", kit_for(i, 64, TIR_PARALLEL, kit_store(C, kit_at(i), value)));
}

static void parallel_for_of_the_user(void **state) {
  (void)state;
  int32_t c[64] = {0};
  int loops = 0;
  tn_kernel *kernel = kit_compile(add_two(), threads(2));
  assert_int_equal(tn_set_parallel_for(K.ctx, in_two_parts, &loops), TN_OK);
  assert_int_equal(kit_call(kernel, (void *[]){c}), 0);
  assert_int_equal(loops, 1);
  tn_set_parallel_for(K.ctx, forgets_one, NULL);
  assert_int_equal(kit_call(kernel, (void *[]){c}), 2);
  tn_set_parallel_for(K.ctx, NULL, NULL);
  assert_int_equal(kit_call(kernel, (void *[]){c}), 0);
  for (int k = 0; k < 64; ++k) assert_int_equal(c[k], k < 63 ? 6 : 4);
  tn_kernel_free(kernel);
}

static void *call_often(void *kernel) {
  for (int n = 0; n < 300; ++n) {
    int32_t c[64] = {0};
    assert_int_equal(kit_call(kernel, (void *[]){c}), 0);
    for (int k = 0; k < 64; ++k) assert_int_equal(c[k], 2);
  }
  return NULL;
}

/* A kernel may be called by several threads at once. */
static void parallel_calls(void **state) {
  (void)state;
  pthread_t others[3];
  tn_kernel *kernel = kit_compile(add_two(), threads(2));
  for (int k = 0; k < 3; ++k) pthread_create(&others[k], NULL, call_often, kernel);
  call_often(kernel);
  for (int k = 0; k < 3; ++k) pthread_join(others[k], NULL);
  tn_kernel_free(kernel);
}

/* What stays in the process does not need libgomp. */
static void parallel_needs(void **state) {
  (void)state;
  codegen_bytes here, away;
  assert_int_equal(codegen_object(K.ctx, add_two(), threads(2), &here), TN_OK);
  assert_int_equal(codegen_bytes_of(K.ctx, add_two(), threads(2), CODEGEN_OBJECT, &away), TN_OK);
  assert_non_null(memmem(away.data, away.n, "GOMP_parallel", 13));
  assert_null(memmem(away.data, away.n, "tenon.", 6));
  assert_null(memmem(here.data, here.n, "GOMP_", 5));
  free(here.data);
  free(away.data);
}

/* The inner function keeps noalias, and one thread needs no libgomp. */
static void parallel_ir(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, 64), *C = kit_out("C", TN_F32, 64);
  const tir_var *i = kit_var("i");
  tir_func *f = kit_func("kernel", kit_for(i, 64, TIR_PARALLEL, kit_store(C, kit_at(i), kit_load(A, kit_at(i)))));
  char *two = kit_text(f, threads(2), CODEGEN_IR), *one = kit_text(f, threads(1), CODEGEN_IR);
  check_has(two, "call void @GOMP_parallel(ptr nonnull @kernel.parallel.0");
  check_has(strstr(two, "define internal"), "noalias");
  check_has_not(one, "GOMP_parallel");
  free(two);
  free(one);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static tn_kernel *constant_kernel(int value) {
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 1);
  return kit_compile(kit_func("same_name", kit_store(C, kit_int(0), kit_int(value))), NULL);
}

/* Kernels of one name live side by side and are unloaded in any order. */
static void side_by_side(void **state) {
  (void)state;
  tn_kernel *kernels[20];
  int32_t c;
  for (int k = 0; k < 20; ++k) kernels[k] = constant_kernel(k);
  for (int k = 0; k < 20; k += 2) tn_kernel_free(kernels[k]);
  for (int k = 1; k < 20; k += 2) {
    assert_int_equal(kit_call(kernels[k], (void *[]){&c}), 0);
    assert_int_equal(c, k);
    tn_kernel_free(kernels[k]);
  }
}

/* Compiling and loading again and again needs no more memory. */
static void flat_memory(void **state) {
  (void)state;
  struct rusage before, after;
  for (int k = 0; k < 20; ++k) tn_kernel_free(constant_kernel(k));
  getrusage(RUSAGE_SELF, &before);
  for (int k = 0; k < 150; ++k) tn_kernel_free(constant_kernel(k));
  getrusage(RUSAGE_SELF, &after);
  assert_true(after.ru_maxrss - before.ru_maxrss < 4 * 1024);
}

/* A thread with a context of its own compiles and loads what every thread may share: immutable IR. */
static void *own_context(void *user) {
  tn_context *ctx = tn_context_new(NULL);
  for (int k = 0; k < 20; ++k) {
    codegen_bytes object;
    codegen_object(ctx, user, NULL, &object);
    tn_kernel_free(codegen_load(ctx, object.data, object.n, "kernel", 0, NULL));
    free(object.data);
  }
  tn_status status = tn_context_status(ctx);
  tn_context_free(ctx);
  return status == TN_OK ? user : NULL;
}

static void two_contexts(void **state) {
  (void)state;
  pthread_t threads_[2];
  tir_func *f = through_scratch(64, TIR_PARALLEL);
  for (int k = 0; k < 2; ++k) assert_int_equal(pthread_create(&threads_[k], NULL, own_context, f), 0);
  for (int k = 0; k < 2; ++k) {
    void *result;
    assert_int_equal(pthread_join(threads_[k], &result), 0);
    assert_ptr_equal(result, f);
  }
}

static void refuse_garbage(void **state) {
  (void)state;
  char garbage[256] = "this is no object";
  assert_null(codegen_load(K.ctx, garbage, sizeof garbage, "kernel", 0, NULL));
  check_fails(K.ctx, TN_ERROR_CODEGEN, "no ELF object");
}

static void refuse_truncated(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 1);
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", kit_store(C, kit_int(0), kit_int(1))), NULL, &object);
  assert_null(codegen_load(K.ctx, object.data, object.n / 2, "kernel", 0, NULL));
  check_message_has(K.ctx, "object");
  free(object.data);
}

static void refuse_missing_symbol(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 1);
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", kit_store(C, kit_int(0), kit_int(1))), NULL, &object);
  assert_null(codegen_load(K.ctx, object.data, object.n, "another", 0, NULL));
  check_fails(K.ctx, TN_ERROR_CODEGEN, "another");
  free(object.data);
}

int test_loops_run(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(triangle),         cmocka_unit_test(zero_and_one),
                                            cmocka_unit_test(negative_minimum), cmocka_unit_test(deep),
                                            cmocka_unit_test(far_index),        cmocka_unit_test(wide_product_wraps),
                                            cmocka_unit_test(branches),         cmocka_unit_test(variable_again),
                                            cmocka_unit_test(no_memory),        cmocka_unit_test(scratch_returned),
                                            cmocka_unit_test(parallel_inside)};
  return CHECK_TESTS("loops that run", tests) + CHECK_TABLE("scratch", scratch_rows, scratch) +
         CHECK_TABLE("parallel loops", parallel_rows, parallel);
}

int test_loops(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(refuse_scratch_size),
                                            cmocka_unit_test(parallel_ir),
                                            cmocka_unit_test(parallel_for_of_the_user),
                                            cmocka_unit_test(parallel_calls),
                                            cmocka_unit_test(parallel_needs),
                                            cmocka_unit_test(side_by_side),
                                            cmocka_unit_test(flat_memory),
                                            cmocka_unit_test(two_contexts),
                                            cmocka_unit_test(refuse_garbage),
                                            cmocka_unit_test(refuse_truncated),
                                            cmocka_unit_test(refuse_missing_symbol)};
  return test_loops_run() + CHECK_TESTS("loops", tests);
}
