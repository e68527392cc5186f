/* Arguments whose strides are bound at a call: parts of larger arrays under real schedules, with a guard page behind
 * the last element, and memory between an output's rows that stays as it is; what a call refuses; the exported
 * function. */
#include "tests/codegen/kit.h"

enum { ROWS = 20, DEPTH = 30, COLUMNS = 40 };

#define MATMUL \
  "input A: f32[20,30] strided, B: f32[30,40] strided\nC[i<20, j<40] = sum[k<30](A[i,k] * B[k,j])\noutput C strided"
#define SYMBOLS                                                                                                       \
  "symbol M, K\ninput A: f32[M,K] strided, B: f32[K,40] strided\nC[i<M, j<40] = sum[k<K](A[i,k] * B[k,j])\noutput C " \
  "strided"

static const struct schedule_row {
  const char *name, *program, *schedule;
} schedule_rows[] = {
    {"default", MATMUL, ""},
    {"tiles, vectorized, parallel", MATMUL,
     "tile(C, i, j, 8, 16); reorder(C, i.outer, j.outer, k, i.inner, j.inner); vectorize(C, j.inner); "
     "parallel(C, i.outer)"},
    {"register tiles and a packed cache", MATMUL,
     "cache_write(C, local); tile(C, i, j, 4, 16, tail=peel); cache_read(B, global, C.local); "
     "split(B.global, ax1, 16); vectorize(B.global, ax1.inner); transform_layout(B.global, [k, j] -> [j//16, k, "
     "j%16]); "
     "compute_at(C.local, C, j.outer); reorder(C.local, k, i.c, j.c); vectorize(C.local, j.c); unroll(C.local, i.c); "
     "vectorize(C, j.inner); parallel(C, i.outer)"},
    {"lanes over rows", MATMUL, "vectorize(C, i)"},
    {"a fused loop", MATMUL, "fuse(C, i, j); split(C, i.j.fused, 16); vectorize(C, i.j.fused.inner)"},
    {"lanes of a fused loop that overlap", MATMUL,
     "cache_write(C, local); fuse(C, i, j); split(C, i.j.fused, 48, tail=overlap); vectorize(C, i.j.fused.inner); "
     "compute_at(C.local, C, i.j.fused.outer)"},
    {"lanes over masked rows", MATMUL,
     "split(C, i, 8, tail=mask); reorder(C, i.outer, j, k, i.inner); vectorize(C, i.inner)"},
    {"partial sums and prefetch", MATMUL,
     "split(C, k, 8); rfactor(C, k.inner, 0); prefetch(C.rf, A, k.outer, 1); vectorize(C, j)"},
    {"symbols too", SYMBOLS,
     "split(C, j, 16); reorder(C, i, j.outer, k, j.inner); vectorize(C, j.inner); parallel(C, i)"},
};

/* ---- exact results ----------------------------------------------------------------------------------------------- */

/* A matrix whose rows are STRIDE apart and whose last element ends at a guard page. */
typedef struct matrix {
  DLTensor tensor;
  int64_t shape[2], strides[2];
  size_t bytes;
} matrix;

static float *make(matrix *m, int64_t rows, int64_t columns, int64_t stride) {
  m->bytes = (size_t)((rows - 1) * stride + columns) * sizeof(float);
  m->shape[0] = rows, m->shape[1] = columns;
  m->strides[0] = stride, m->strides[1] = 1;
  float *data = kit_guarded(m->bytes);
  m->tensor = (DLTensor){.data = data,
                         .device = {kDLCPU, 0},
                         .ndim = 2,
                         .dtype = tn_dtype_dlpack(TN_F32),
                         .shape = m->shape,
                         .strides = m->strides};
  for (size_t i = 0; i < m->bytes / sizeof *data; i++) data[i] = (float)(i * 7 % 11) - 5;
  return data;
}

static void check_product(const matrix *m) {
  const float *a = m[0].tensor.data, *b = m[1].tensor.data, *c = m[2].tensor.data;
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t j = 0; j < COLUMNS; j++) {
      float sum = 0;
      for (int64_t k = 0; k < DEPTH; k++) sum += a[i * m[0].strides[0] + k] * b[k * m[1].strides[0] + j];
      if (c[i * m[2].strides[0] + j] != sum)
        fail_msg("C[%d, %d] is %g, should be %g", (int)i, (int)j, (double)c[i * m[2].strides[0] + j], (double)sum);
    }
}

/* Whether all but the elements still has every byte UNTOUCHED. */
enum { UNTOUCHED = 0x7f };
static void check_gaps(const matrix *m) {
  const uint8_t *bytes = m->tensor.data;
  for (size_t i = 0; i < m->bytes; i++) {
    bool is_gap = (int64_t)(i / sizeof(float)) % m->strides[0] >= m->shape[1];
    if (is_gap && bytes[i] != UNTOUCHED) fail_msg("byte %zu, between two rows, was written to", i);
  }
}

/* By the kernel, then by the evaluator. */
static void multiply(tn_program *program, const tn_kernel *kernel, int64_t a_stride, int64_t b_stride,
                     int64_t c_stride) {
  matrix m[3];
  make(&m[0], ROWS, DEPTH, a_stride);
  make(&m[1], DEPTH, COLUMNS, b_stride);
  float *c = make(&m[2], ROWS, COLUMNS, c_stride);
  DLTensor *args[] = {&m[0].tensor, &m[1].tensor, &m[2].tensor};
  double element;
  for (int evaluates = 0; evaluates < 2; evaluates++) {
    memset(c, UNTOUCHED, m[2].bytes);
    if (evaluates)
      tn_evaluate(program, args, 3);
    else
      tn_call(K.ctx, kernel, args, 3);
    check_ok(K.ctx);
    check_product(m);
    check_gaps(&m[2]);
  }
  tn_evaluate_at(program, args, 3, tn_program_arg(program, 0), (int64_t[]){ROWS - 1, 2}, &element);
  check_ok(K.ctx);
  assert_true(element == (double)((float *)m[0].tensor.data)[(ROWS - 1) * a_stride + 2]);
  for (int i = 0; i < 3; i++) kit_guarded_free(m[i].tensor.data, m[i].bytes);
}

static void parts_of_larger_arrays(void **state) {
  const struct schedule_row *row = *state;
  static const int64_t strides[][3] = {
      {DEPTH, COLUMNS, COLUMNS}, {DEPTH + 1, COLUMNS + 7, COLUMNS + 1}, {100, 64, 100}, {0, 1, 64}, {3, 5000, 3000}};
  tn_program *program = tn_program_parse(K.ctx, row->program, 0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  check_ok(K.ctx);
  tn_schedule_apply(s, row->schedule);
  check_ok(K.ctx);
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  for (int i = 0; i < RUNTIME_COUNT(strides); i++)
    multiply(program, kernel, strides[i][0], strides[i][1], strides[i][2]);
  tn_kernel_free(kernel);
}

/* Integers of somebody else's memory. STRIDES count elements; NULL: compact. */
static DLTensor view(void *data, int ndim, int64_t *shape, int64_t *strides) {
  return (DLTensor){data, {kDLCPU, 0}, ndim, tn_dtype_dlpack(TN_I32), shape, strides, 0};
}

/* Rank 3, padding that reads nothing outside, a dimension of extent 1 whose stride means nothing. */
static void planes(void **state) {
  (void)state;
  enum { PLANE = 50, ROW = 9 };
  tn_program *program = tn_program_parse(K.ctx,
                                         "input A: i32[3,1,7] strided\n"
                                         "C[n<3, x<9] = select(x >= 1 && x < 8, A[n, 0, x - 1], 0)",
                                         0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  tn_schedule_apply(s, "split(C, x, 4, tail=mask); vectorize(C, x.inner)");
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  const size_t bytes = (2 * PLANE + 7) * sizeof(int32_t);
  int32_t *a = kit_guarded(bytes), c[3][9];
  for (int i = 0; i < 2 * PLANE + 7; i++) a[i] = i;
  int64_t shape[] = {3, 1, 7}, strides[] = {PLANE, -ROW, 1}, c_shape[] = {3, 9};
  DLTensor x = view(a, 3, shape, strides), y = view(c, 2, c_shape, NULL);
  tn_call(K.ctx, kernel, (DLTensor *[]){&x, &y}, 2);
  check_ok(K.ctx);
  for (int n = 0; n < 3; n++)
    for (int i = 0; i < 9; i++) assert_int_equal(c[n][i], i >= 1 && i < 8 ? n * PLANE + i - 1 : 0);
  kit_guarded_free(a, bytes);
  tn_kernel_free(kernel);
}

/* An image whose channels come last, written to a place where rows and columns are exchanged. */
static void transposed(void **state) {
  (void)state;
  enum { H = 5, W = 7, C = 6, ROOM = 8 };
  tn_program *program = tn_program_parse(
      K.ctx, "input A: i32[5,7,6]; O[y<5, x<7, c<6] = A[y, x, c] + y*100 + x*10; output O strided", 0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  tn_schedule_apply(s, "split(O, x, 4, tail=overlap); vectorize(O, c); parallel(O, y)");
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  DLTensor *a = tn_array_new(K.ctx, TN_I32, 3, (int64_t[]){H, W, C});
  tn_array_fill(K.ctx, a, 1);
  int32_t out[W][H][ROOM];
  int64_t shape[] = {H, W, C}, strides[] = {ROOM, H * ROOM, 1};
  DLTensor o = *a;
  o.data = out, o.shape = shape, o.strides = strides;
  for (int evaluates = 0; evaluates < 2; evaluates++) {
    for (int i = 0; i < W * H * ROOM; i++) ((int32_t *)out)[i] = -1;
    assert_int_equal(
        evaluates ? tn_evaluate(program, (DLTensor *[]){a, &o}, 2) : tn_call(K.ctx, kernel, (DLTensor *[]){a, &o}, 2),
        TN_OK);
    for (int x = 0; x < W; x++)
      for (int y = 0; y < H; y++)
        for (int c = 0; c < ROOM; c++) {
          int32_t want = c < C ? ((int32_t *)a->data)[(y * W + x) * C + c] + y * 100 + x * 10 : -1;
          assert_int_equal(out[x][y][c], want);
        }
  }
  tn_array_free(a);
  tn_kernel_free(kernel);
}

/* Two outputs, several values of one stage, and an input lie beside each other in the rows of one array. */
static void side_by_side(void **state) {
  (void)state;
  enum { N = 11, PART = 9, ROW = 4 * PART };
  tn_program *program = tn_program_parse(K.ctx,
                                         "input A: i32[11,9] strided; (P, Q)[i<11, j<9] = (A[i,j] * 2, A[i,j] + 1); "
                                         "R[i<11, j<9] = P[i,j] + Q[i, 8 - j]; output R strided, P strided, Q strided",
                                         0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  tn_schedule_apply(s, "vectorize(P, j); vectorize(R, j); parallel(R, i)");
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  int32_t data[N][ROW];
  int64_t shape[] = {N, PART}, strides[] = {ROW, 1};
  DLTensor t[4], *args[4];
  for (int i = 0; i < 4; i++) {
    t[i] = view(&data[0][i * PART], 2, shape, strides);
    args[i] = &t[i];
  }
  for (int i = 0; i < N * ROW; i++) ((int32_t *)data)[i] = i;
  assert_int_equal(tn_call(K.ctx, kernel, args, 4), TN_OK);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < PART; j++) {
      int a = i * ROW + j, mirrored = i * ROW + PART - 1 - j;
      assert_int_equal(data[i][j], a);
      assert_int_equal(data[i][2 * PART + j], a * 2);
      assert_int_equal(data[i][3 * PART + j], a + 1);
      assert_int_equal(data[i][PART + j], a * 2 + mirrored + 1);
    }
  t[2].data = &data[0][2 * PART + 1];
  assert_int_equal(tn_call(K.ctx, kernel, args, 4), TN_ERROR_CALL);
  check_fails(K.ctx, TN_ERROR_CALL, "argument 2 (P): its memory overlaps argument 3 (Q)");
  tn_kernel_free(kernel);
}

/* A scan writes, and reads again, a part of a larger array. */
static void a_scan(void **state) {
  (void)state;
  enum { TIMES = 6, N = 5, ROOM = 7 };
  tn_program *program = tn_program_parse(
      K.ctx,
      "input X: i32[6,5]; state S: i32[6,5]; scan S[t<6, i<5] = select(t < 1, X[t,i], S[t-1,i] + X[t,i])\n"
      "output S strided",
      0, NULL);
  tn_schedule *s = tn_schedule_new(program);
  tn_schedule_apply(s, "vectorize(S, i)");
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  DLTensor *x = tn_array_new(K.ctx, TN_I32, 2, (int64_t[]){TIMES, N});
  tn_array_fill(K.ctx, x, 3);
  int32_t out[TIMES][ROOM], sum;
  int64_t strides[] = {ROOM, 1};
  DLTensor o = *x;
  o.data = out, o.strides = strides;
  for (int evaluates = 0; evaluates < 2; evaluates++) {
    memset(out, 0, sizeof out);
    assert_int_equal(
        evaluates ? tn_evaluate(program, (DLTensor *[]){x, &o}, 2) : tn_call(K.ctx, kernel, (DLTensor *[]){x, &o}, 2),
        TN_OK);
    for (int i = 0; i < ROOM; i++)
      for (int t = sum = 0; t < TIMES; t++)
        assert_int_equal(out[t][i], i < N ? (sum += ((int32_t *)x->data)[t * N + i]) : 0);
  }
  tn_array_free(x);
  tn_kernel_free(kernel);
}

/* ---- what a call refuses ----------------------------------------------------------------------------------------- */

static const struct refused_row {
  const char *name;
  int64_t a[2], b[2], c[2]; /* c {0}: none are given */
  const char *message, *of_evaluator;
} refused_rows[] = {
    {"the last stride is not 1",
     {60, 2},
     {4, 1},
     {0},
     "tn_call kernel: argument 0 (A): strides [60, 2], the kernel needs 1 as the last, and 0 to 1099511627776 as the "
     "others: copy the tensor first",
     "argument 'A' is not of last stride 1, and others that are not negative"},
    {"a negative stride",
     {-8, 1},
     {4, 1},
     {0},
     "argument 0 (A): strides [-8, 1], the kernel needs 1 as the last",
     "argument 'A' is not of last stride 1, and others that are not negative"},
    {"a stride that is too large",
     {(INT64_C(1) << 40) + 1, 1},
     {4, 1},
     {0},
     "argument 0 (A): strides [1099511627777, 1], the kernel needs 1 as the last, and 0 to 1099511627776",
     NULL},
    {"an input that is not declared strided",
     {4, 1},
     {5, 1},
     {0},
     "argument 1 (B): strides [5, 1], the kernel needs compact row-major strides [4, 1]: copy the tensor first",
     "argument 'B' is not compact row-major"},
    {"an output in a row", {29, 1}, {4, 1}, {0}, "argument 2 (C): its memory overlaps argument 0 (A)", NULL},
    {"an output whose rows cross those of an input",
     {29, 1},
     {4, 1},
     {28, 1},
     "argument 2 (C): its memory overlaps argument 0 (A); an output shares memory with no other argument",
     NULL},
    {"rows of an output that share elements",
     {4, 1},
     {4, 1},
     {3, 1},
     "argument 2 (C): strides [3, 1] do not keep the elements of shape [3, 4] apart: an output needs a place of its "
     "own "
     "for each, as strides [4, 1] give",
     "argument 'C' is not of last stride 1, and others that are not negative and keep its elements apart"},
    {"one row for all of an output", {4, 1}, {4, 1}, {0, 1}, "strides [0, 1] do not keep the elements", "apart"},
    {"an output whose last stride is not 1",
     {4, 1},
     {4, 1},
     {1, 3},
     "argument 2 (C): strides [1, 3], the kernel needs 1 as the last",
     "apart"},
};

static void refused(void **state) {
  const struct refused_row *row = *state;
  static float data[3][256];
  tn_program *program = tn_program_parse(
      K.ctx, "input A: f32[3,4] strided, B: f32[3,4]\nC[i<3, j<4] = A[i,j] + B[i,j]\noutput C strided", 0, NULL);
  tn_kernel *kernel = tn_build(tn_schedule_new(program), NULL);
  check_ok(K.ctx);
  const int64_t *strides[] = {row->a, row->b, row->c[1] ? row->c : NULL};
  int64_t shape[] = {3, 4};
  DLTensor t[3], *args[] = {&t[0], &t[1], &t[2]};
  for (int i = 0; i < 3; i++)
    t[i] = (DLTensor){.data = i == 2 ? data[0] + 30 : data[i],
                      .device = {kDLCPU, 0},
                      .ndim = 2,
                      .dtype = tn_dtype_dlpack(TN_F32),
                      .shape = shape,
                      .strides = (int64_t *)strides[i]};
  assert_int_equal(tn_call(K.ctx, kernel, args, 3), TN_ERROR_CALL);
  check_fails(K.ctx, TN_ERROR_CALL, row->message);
  if (row->of_evaluator) {
    assert_int_equal(tn_evaluate(program, args, 3), TN_ERROR_CALL);
    check_fails(K.ctx, TN_ERROR_CALL, row->of_evaluator);
  }
  tn_kernel_free(kernel);
}

/* ---- in C, exported ---------------------------------------------------------------------------------------------- */

static void in_c(void **state) {
  (void)state;
  tn_tensor *a = tn_placeholder(K.ctx, "A", TN_F32, 3, 4), *v = tn_placeholder(K.ctx, "V", TN_F32, 4);
  tn_axis *i = tn_axis_new(K.ctx, "i", 3), *j = tn_axis_new(K.ctx, "j", 4);
  tn_tensor *s = tn_scalar(K.ctx, "s", TN_F32);
  assert_ptr_equal(tn_strided(a), a);
  tn_tensor *c = tn_compute(K.ctx, "C", tn_mul(tn_at(a, i, j), s), i, j);
  assert_ptr_equal(tn_strided(c), c);
  assert_null(tn_strided(s));
  check_fails(K.ctx, TN_ERROR_PROGRAM, "'s' is a scalar: only an input or an output that is an array can be strided");
  assert_null(tn_strided(v));
  check_fails(K.ctx, TN_ERROR_PROGRAM, "'V' has rank 1 and no stride but the last, which is always 1");
  assert_null(tn_strided(NULL));
  assert_string_equal(tn_program_text(tn_program_new(K.ctx, a, s, c)),
                      "input A: f32[3, 4] strided\nscalar s: f32\nC[i<3, j<4] = A[i, j]*s\noutput C strided\n");
  tn_tensor *d = tn_compute(K.ctx, "D", tn_neg(tn_at(c, i, j)), i, j);
  assert_null(tn_program_new(K.ctx, a, s, d));
  check_fails(K.ctx, TN_ERROR_PROGRAM,
              "'C' is strided but no output of this program: nothing gives it strides at a call; make it an output, or "
              "leave that out");
}

static void exported(void **state) {
  (void)state;
  char folder[64];
  tn_schedule *s = tn_schedule_new(tn_program_parse(
      K.ctx, "symbol M; scalar s: f32; input A: f32[2,M,2] strided; C[n<2, i<M, j<2] = A[n,i,j]*s; output C strided", 0,
      NULL));
  kit_folder(folder);
  kit_export(s, folder, "scale");
  assert_int_equal(
      kit_shell(
          NULL,
          "cd %s && grep -q 'int32_t scale(const float \\*A, float \\*C, float s, int64_t M, int64_t A_stride0, "
          "int64_t A_stride1, int64_t C_stride0, int64_t C_stride1);' scale.h && printf '#include \"scale.h\"\\nint "
          "main(void) { float a[20], c[12] = {0}; "
          "for (int i = 0; i < 20; i++) a[i] = i; return scale(a, c, 2, 2, 10, 3, 7, 2) != 0 || c[1] != 2 || c[2] "
          "!= 6 || c[4] != 0 || c[7] != 20 || c[10] != 28; }' > use.c && cc -Wall -Werror use.c scale.o -o use -lm && "
          "./use && "
          "cc -Wall -Wextra -Werror use.c scale.c -o use -lm && ./use",
          folder),
      0);
  kit_folder_remove(folder);
}

int test_strided(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(planes),       cmocka_unit_test(transposed),
                                     cmocka_unit_test(side_by_side), cmocka_unit_test(a_scan),
                                     cmocka_unit_test(in_c),         cmocka_unit_test(exported)};
  return CHECK_TABLE("parts of larger arrays", schedule_rows, parts_of_larger_arrays) +
         CHECK_TABLE("calls with wrong strides", refused_rows, refused) +
         cmocka_run_group_tests_name("strides", tests, NULL, NULL);
}
