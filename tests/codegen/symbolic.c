/* Kernels whose extents are bound at a call: every number of rows under a real schedule, between guard pages; what a
 * call refuses; the exported function. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/codegen/kit.h"

enum { ROWS = 300, COLUMNS = 48, DEPTH = 32 };

#define ROWS_OF_M "symbol M\nC[i<M, j<48] = sum[k<32](A[i,k] * B[k,j])"
#define ALL "symbol M, N, K\nC[i<M, j<N] = sum[k<K](A[i,k] * B[k,j])"
#define TILED                                                                                                          \
  "cache_write(C, local); tile(C, i, j, 4, 16, tail=peel); cache_read(B, global, C.local); "                           \
  "split(B.global, ax1, 16); vectorize(B.global, ax1.inner); transform_layout(B.global, [k, j] -> [j//16, k, j%16]); " \
  "compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c); unroll(C.local, i.c); "    \
  "vectorize(C, j.inner); parallel(C, i.outer)"

static const struct matmul_row {
  const char *name, *program, *schedule;
} matmul_rows[] = {
    {"default", ALL, ""},
    {"register tiles, packed cache, vectorized, parallel", ROWS_OF_M, TILED},
    {"the same with all extents bound at the call", ALL, TILED},
    {"guarded tiles", ALL,
     "tile(C, i, j, 8, 16); reorder(C, i.outer, j.outer, k, i.inner, j.inner); vectorize(C, j.inner); "
     "parallel(C, i.outer)"},
    {"fused, split, parallel", ALL, "fuse(C, i, j); split(C, i.j.fused, 50); parallel(C, i.j.fused.outer)"},
    {"nparts, cache inside", ALL,
     "split(C, i, nparts=3); cache_read(A, local, C); compute_at(A.local, C, i.inner); parallel(C, i.outer)"},
    {"rows of a block in full, those behind the last one", ROWS_OF_M,
     "cache_write(C, local); split(C, i, 16, tail=peel); compute_at(C.local, C, i.outer); "
     "split(C.local, i.c, 16, tail=pad); reorder(C.local, i.c.outer, k, i.c.inner, j.c)"},
    {"small numbers, 32-bit indices", "symbol M<=300, N<=48, K<=32\nC[i<M, j<N] = sum[k<K](A[i,k] * B[k,j])", TILED},
};

/* ---- between guard pages ----------------------------------------------------------------------------------------- */

static char *pages;
static size_t page, room;

/* An array of floats that ends where a page cannot be touched. */
static float *guarded(int slot, int64_t n) {
  if (!pages) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    room = ((size_t)ROWS * COLUMNS * sizeof(float) / page + 2) * page;
    pages = mmap(NULL, 3 * room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    for (int i = 0; i <= 3; i++) assert_int_equal(mprotect(pages + (size_t)i * room, page, PROT_NONE), 0);
  }
  return (float *)(void *)(pages + (size_t)(slot + 1) * room) - n;
}

static DLTensor matrix(float *data, int64_t *shape) {
  return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = tn_dtype_dlpack(TN_F32), .shape = shape};
}

static void call_with(const tn_kernel *kernel, int64_t m) {
  int64_t shapes[3][2] = {{m, DEPTH}, {DEPTH, COLUMNS}, {m, COLUMNS}};
  float *a = guarded(0, m * DEPTH), *b = guarded(1, DEPTH * COLUMNS), *c = guarded(2, m * COLUMNS);
  DLTensor x = matrix(a, shapes[0]), y = matrix(b, shapes[1]), z = matrix(c, shapes[2]);
  for (int64_t i = 0; i < m * DEPTH; i++) a[i] = (float)(i * 7 % 9 - 4);
  for (int64_t i = 0; i < DEPTH * COLUMNS; i++) b[i] = (float)(i * 5 % 11 - 5);
  memset(c, 0x7f, (size_t)m * COLUMNS * sizeof *c);
  tn_call(K.ctx, kernel, (DLTensor *[]){&x, &y, &z}, 3);
  check_ok(K.ctx);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < COLUMNS; j++) {
      float sum = 0;
      for (int64_t k = 0; k < DEPTH; k++) sum += a[i * DEPTH + k] * b[k * COLUMNS + j];
      if (c[i * COLUMNS + j] != sum)
        fail_msg("with M = %d, C[%d, %d] is %g, should be %g", (int)m, (int)i, (int)j, (double)c[i * COLUMNS + j],
                 (double)sum);
    }
}

static tn_kernel *built(const char *program, const char *schedule, const tn_build_options *options) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  check_ok(K.ctx);
  tn_schedule_apply(s, schedule);
  check_ok(K.ctx);
  tn_kernel *kernel = tn_build(s, options);
  check_ok(K.ctx);
  return kernel;
}

static void every_number_of_rows(void **state) {
  const struct matmul_row *row = *state;
  tn_kernel *kernel = built(row->program, row->schedule, NULL);
  for (int64_t m = 1; m <= ROWS; m++) call_with(kernel, m);
  tn_kernel_free(kernel);
}

/* ---- products of bytes by an intrinsic --------------------------------------------------------------------------- */

#define PEELED \
  "split(C, j, 16, tail=peel); split(C, k, 4, tail=peel); reorder(C, i, j.outer, k.outer, j.inner, k.inner); "

static const struct bytes_row {
  const char *name, *program, *schedule;
  bool by_rows;             /* B is [columns, depth] */
  int rows, columns, depth; /* at most; 0: any up to 70 */
} bytes_rows[] = {
    {"panels and a block of registers",
     "symbol M; input A: i8[M,32], B: i8[32,48]\nC[i<M, j<48] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     "cache_write(C, local); split(C, i, 4); split(C, j, 16); reorder(C, i.outer, j.outer, i.inner, j.inner); "
     "vectorize(C, j.inner); compute_at(C.local, C, j.outer); cache_read(B, global, C.local); "
     "transform_layout(B.global, [k, j] -> [j//16, k//4, j%16, k%4]); split(C.local, k, 4); "
     "reorder(C.local, k.outer, i.c, j.c, k.inner); tensorize(C.local, j.c, dot4_i8i8); parallel(C, i.outer)",
     false, ROWS, 48, 32},
    {"lanes over rows",
     "symbol M; input A: i8[M,32], B: i8[32,48]\nC[i<M, j<48] = sum[k<32](i32(A[i,k]) * i32(B[k,j]))",
     "split(C, i, 16, tail=peel); split(C, k, 4); reorder(C, j, i.outer, k.outer, i.inner, k.inner); "
     "tensorize(C, i.inner, dot4_i8i8)",
     false, ROWS, 48, 32},
    {"all extents", "symbol M, N, K; input A: i8[M,K], B: i8[K,N]\nC[i<M, j<N] = sum[k<K](i32(A[i,k]) * i32(B[k,j]))",
     PEELED "tensorize(C, j.inner, dot4_i8i8)", false, 5, 0, 0},
    {"all extents, B by rows",
     "symbol M, N, K; input A: i8[M,K], B: i8[N,K]\nC[i<M, j<N] = sum[k<K](i32(A[i,k]) * i32(B[j,k]))",
     PEELED "tensorize(C, j.inner, dot4_i8i8)", true, 5, 0, 0},
    {"blocks of rows, B by rows",
     "symbol M, 16<=N; input A: i8[M,32], B: i8[N,32]\nC[i<M, j<N] = sum[k<32](i32(A[i,k]) * i32(B[j,k]))",
     "split(C, i, 3); split(C, j, 16, tail=peel); split(C, k, 4); reorder(C, i.outer, j.outer, i.inner, k.outer, "
     "j.inner, "
     "k.inner); tensorize(C, j.inner, dot4_i8i8)",
     true, 7, 0, 32},
};

static void call_bytes(const tn_kernel *kernel, bool by_rows, int64_t m, int64_t n, int64_t depth) {
  int64_t shapes[3][2] = {{m, depth}, {by_rows ? n : depth, by_rows ? depth : n}, {m, n}};
  int8_t *a = (int8_t *)guarded(0, 0) - m * depth, *b = (int8_t *)guarded(1, 0) - depth * n;
  int32_t *c = (int32_t *)guarded(2, m * n);
  DLTensor args[3] = {matrix((float *)a, shapes[0]), matrix((float *)b, shapes[1]), matrix((float *)c, shapes[2])};
  for (int i = 0; i < 3; i++) args[i].dtype = tn_dtype_dlpack(i < 2 ? TN_I8 : TN_I32);
  for (int64_t i = 0; i < m * depth; i++) a[i] = (int8_t)(i * 37 % 251);
  for (int64_t i = 0; i < depth * n; i++) b[i] = (int8_t)(i * 53 % 241);
  memset(c, 0x7f, (size_t)(m * n) * sizeof *c);
  tn_call(K.ctx, kernel, (DLTensor *[]){&args[0], &args[1], &args[2]}, 3);
  check_ok(K.ctx);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      int32_t sum = 0;
      for (int64_t k = 0; k < depth; k++) sum += a[i * depth + k] * b[by_rows ? j * depth + k : k * n + j];
      if (c[i * n + j] != sum)
        fail_msg("with %d x %d x %d, C[%d, %d] is %d, should be %d", (int)m, (int)n, (int)depth, (int)i, (int)j,
                 (int)c[i * n + j], (int)sum);
    }
}

static void bytes(void **state) {
  const struct bytes_row *row = *state;
  tn_kernel *kernel = built(row->program, row->schedule, NULL);
  for (int64_t m = 1; row->columns > 0 && m <= row->rows; m++)
    call_bytes(kernel, row->by_rows, m, row->columns, row->depth);
  for (int64_t n = 16; row->columns == 0 && n <= 70; n += 3)
    for (int64_t depth = row->depth ? row->depth : 1; depth <= (row->depth ? row->depth : 70); depth++)
      call_bytes(kernel, row->by_rows, row->rows, n, depth);
  tn_kernel_free(kernel);
}

/* Steps that were found for one number of rows serve all. */
static void steps_of_one_size(void **state) {
  (void)state;
  tn_param m = {"M", 64};
  tn_schedule *one = tn_schedule_new(tn_program_parse(K.ctx, ROWS_OF_M, 1, &m));
  tn_schedule_apply(one,
                    "tile(C, i, j, 8, 16); reorder(C, i.outer, j.outer, k, i.inner, j.inner); vectorize(C, j.inner)");
  check_ok(K.ctx);
  char *steps = tn_schedule_print(one, TN_FORM_STEPS);
  tn_schedule *all = tn_schedule_new(tn_program_parse(K.ctx, ROWS_OF_M, 0, NULL));
  tn_schedule_replay(all, steps);
  check_ok(K.ctx);
  tn_kernel *kernel = tn_build(all, NULL);
  check_ok(K.ctx);
  for (int64_t rows = 1; rows <= 20; rows++) call_with(kernel, rows);
  tn_kernel_free(kernel);
  free(steps);
}

/* ---- in C -------------------------------------------------------------------------------------------------------- */

static void in_c(void **state) {
  (void)state;
  tn_expr *m = tn_symbol(K.ctx, "M"), *n = tn_symbol_in(K.ctx, "N", 3, 100);
  tn_tensor *scale = tn_scalar(K.ctx, "scale", TN_F32);
  tn_tensor *a = tn_placeholder_of(K.ctx, "A", TN_F32, m, tn_add(n, 2));
  tn_axis *i = tn_axis_of(K.ctx, "i", m), *j = tn_axis_of(K.ctx, "j", n), *r = tn_reduce_axis(K.ctx, "r", 3);
  tn_tensor *c = tn_compute(K.ctx, "C", tn_sum(tn_mul(tn_at(a, i, tn_add(j, r)), scale), r), i, j);
  tn_program *p = tn_program_new(K.ctx, a, scale, c);
  check_ok(K.ctx);
  assert_string_equal(tn_program_text(p),
                      "symbol M, 3<=N<=100\ninput A: f32[M, N + 2]\nscalar scale: f32\n"
                      "C[i<M, j<N] = sum[r<3](A[i, j + r]*scale)\n");
  assert_int_equal(tn_program_symbol_count(p), 2);
  assert_null(tn_axis_of(K.ctx, "x", tn_sub(m, 1)));
  check_fails(K.ctx, TN_ERROR_PROGRAM, "the extent of axis 'x', M - 1, can be 0: it must be at least 1");
  assert_null(tn_placeholder_of(K.ctx, "X", TN_F32, 4, i));
  check_fails(K.ctx, TN_ERROR_PROGRAM, "extent 1 of 'X', ");
  assert_null(tn_symbol_in(K.ctx, "S", 0, 4));
  check_fails(K.ctx, TN_ERROR_PROGRAM, "symbol 'S' in 0 .. 4: its values are in 1 .. 2147483647");
}

/* ---- what a call refuses ----------------------------------------------------------------------------------------- */

static const struct refused_row {
  const char *name;
  int64_t a[2], b[2], c[2];
  const char *message, *of_evaluator;
} refused_rows[] = {
    {"two arguments disagree",
     {4, 5},
     {5, 7},
     {3, 7},
     "tn_call kernel: argument 2 (C): dimension 0 is 3, but M is 4 by the shape of argument 0 (A)",
     "dimension 0 of argument 'C' is 3, but symbol M is 4 by argument 'A'"},
    {"two inputs disagree",
     {4, 5},
     {6, 7},
     {4, 7},
     "tn_call kernel: argument 1 (B): dimension 0 is 6, but K is 5 by the shape of argument 0 (A)",
     "dimension 0 of argument 'B' is 6, but symbol K is 5 by argument 'A'"},
    {"a symbol is too large",
     {50, 5},
     {5, 7},
     {50, 7},
     "tn_call kernel: argument 0 (A): dimension 0 is 50, and the kernel was built for M in 2 .. 40",
     "dimension 0 of argument 'A' is 50, but symbol M is in 2 .. 40"},
    {"a symbol is too small",
     {1, 5},
     {5, 7},
     {1, 7},
     "tn_call kernel: argument 0 (A): dimension 0 is 1, and the kernel was built for M in 2 .. 40",
     "dimension 0 of argument 'A' is 1, but symbol M is in 2 .. 40"},
    {"an extent made of a symbol",
     {4, 5},
     {5, 7},
     {4, 8},
     "tn_call kernel: argument 2 (C): dimension 1 is 8, but N - 1 + 1 is 7",
     "dimension 1 of argument 'C' is 8"},
};

static void refused(void **state) {
  const struct refused_row *row = *state;
  static const char program[] =
      "symbol 2<=M<=40, N, K\ninput A: f32[M,K], B: f32[K,N]\nC[i<M, j<N - 1 + 1] = sum[k<K](A[i,k] * B[k,j])";
  tn_program *p = tn_program_parse(K.ctx, program, 0, NULL);
  check_ok(K.ctx);
  tn_kernel *kernel = tn_build(tn_schedule_new(p), NULL);
  check_ok(K.ctx);
  DLTensor *args[] = {tn_array_new(K.ctx, TN_F32, 2, row->a), tn_array_new(K.ctx, TN_F32, 2, row->b),
                      tn_array_new(K.ctx, TN_F32, 2, row->c)};
  tn_call(K.ctx, kernel, args, 3);
  check_fails(K.ctx, TN_ERROR_CALL, row->message);
  tn_evaluate(p, args, 3);
  check_fails(K.ctx, TN_ERROR_CALL, row->of_evaluator);
  for (int i = 0; i < 3; i++) tn_array_free(args[i]);
  tn_kernel_free(kernel);
}

static void too_many_elements(void **state) {
  (void)state;
  tn_schedule *s = tn_schedule_new(tn_program_parse(
      K.ctx, "symbol M, N, K\nT[i<M, j<N, k<K] = A[i,j] * B[j,k]\nC[i<M, k<K] = sum[j<N](T[i,j,k])", 0, NULL));
  check_ok(K.ctx);
  assert_null(tn_build(s, NULL));
  check_fails(K.ctx, TN_ERROR_LOWER,
              "buffer \"T\" could have more elements than can be counted: say how large the symbols of its extents can "
              "be, as in symbol M<=4096");
}

/* Each extent is one that its symbol may have; their product is not. */
static void shapes_beyond_memory(void **state) {
  (void)state;
  tn_kernel *kernel = built("symbol M, N, K\nC[i<M, j<N, k<K] = A[i,j,k] + 1", "", NULL);
  float one = 1;
  int64_t shape[] = {500000000, 500000000, 500000000};
  DLTensor a = {.data = &one, .device = {kDLCPU, 0}, .ndim = 3, .dtype = tn_dtype_dlpack(TN_F32), .shape = shape};
  DLTensor c = a, *args[] = {&a, &c};
  assert_int_equal(tn_call(K.ctx, kernel, args, 2), TN_ERROR_CALL);
  check_fails(
      K.ctx, TN_ERROR_CALL,
      "tn_call kernel: argument 0 (A): shape [500000000, 500000000, 500000000] of f32 is more than memory holds");
  tn_kernel_free(kernel);
}

/* The lanes of a vector ascend, so that one of them is divided, and not each of 64. */
static void divisions_of_one_lane(void **state) {
  (void)state;
  enum { FEW = 4 };
  char *text =
      kit_assembly("symbol 33<=M<=300\ninput A: f32[50,M]\nC[i<50, j<M] = select(j < M-3, A[i,j+3], 0)",
                   "fuse(C, i, j); split(C, i.j.fused, 64, tail=peel); vectorize(C, i.j.fused.inner)", "znver4");
  int n = 0;
  for (const char *at = text; (at = strstr(at, "\tdiv")) != NULL; at++) n++;
  for (const char *at = text; (at = strstr(at, "\tidiv")) != NULL; at++) n++;
  free(text);
  assert_true(n > 0 && n <= FEW);
}

/* ---- exported ---------------------------------------------------------------------------------------------------- */

static void exported(void **state) {
  (void)state;
  char folder[64];
  tn_schedule *s = tn_schedule_new(tn_program_parse(
      K.ctx, "symbol M<=1000, N; scalar s: f32; input A: f32[M,N]; C[i<M, j<N] = A[i,j]*s + f32(M)", 0, NULL));
  kit_folder(folder);
  kit_export(s, folder, "scale");
  assert_int_equal(
      kit_shell(
          NULL,
          "cd %s && grep -q 'int32_t scale(const float \\*A, float \\*C, float s, int64_t M, int64_t N);' scale.h && "
          "grep -q 'M  an extent, 1 .. 1000' scale.h && printf '#include \"scale.h\"\\nint main(void) { float "
          "a[6] = {1, 2, 3, 4, 5, 6}, c[6]; return scale(a, c, 2, 2, 3) != 0 || c[0] != 4 || c[5] != 14; }' > use.c "
          "&& cc -Wall -Werror use.c scale.o -o use -lm && ./use && cc -Wall -Wextra -Werror use.c scale.c -o use "
          "-lm && ./use",
          folder),
      0);
  kit_folder_remove(folder);
}

int test_symbolic(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps_of_one_size), cmocka_unit_test(in_c),
                                     cmocka_unit_test(too_many_elements), cmocka_unit_test(shapes_beyond_memory),
                                     cmocka_unit_test(exported),          cmocka_unit_test(divisions_of_one_lane)};
  return CHECK_TABLE("every number of rows", matmul_rows, every_number_of_rows) +
         CHECK_TABLE("bytes by an intrinsic", bytes_rows, bytes) +
         CHECK_TABLE("calls with wrong shapes", refused_rows, refused) +
         cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
