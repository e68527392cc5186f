/* Loads and stores: contiguous, reversed, strided, scattered; masked, up to the edge of mapped memory; booleans. */
#include "tests/codegen/kit.h"

enum { N = 64 };

/* ---- strides ----------------------------------------------------------------------------------------------------- */

typedef struct stride_row {
  const char *name;
  tn_dtype dtype;
  int lanes, stride;
} stride_row;

static const stride_row stride_rows[] = {
    {"f32 x16 stride 0", TN_F32, 16, 0},   {"f32 x16 stride 1", TN_F32, 16, 1},   {"f32 x16 stride 2", TN_F32, 16, 2},
    {"f32 x16 stride 3", TN_F32, 16, 3},   {"f32 x16 stride 4", TN_F32, 16, 4},   {"f32 x16 stride 5", TN_F32, 16, 5},
    {"f32 x16 stride -1", TN_F32, 16, -1}, {"f32 x8 stride -2", TN_F32, 8, -2},   {"f32 x13 stride 1", TN_F32, 13, 1},
    {"f32 x13 stride 3", TN_F32, 13, 3},   {"f64 x8 stride 2", TN_F64, 8, 2},     {"f64 x4 stride 100", TN_F64, 4, 100},
    {"i8 x64 stride 2", TN_I8, 64, 2},     {"i8 x13 stride 1", TN_I8, 13, 1},     {"u16 x32 stride 3", TN_U16, 32, 3},
    {"i64 x4 stride 4", TN_I64, 4, 4},     {"bool x16 stride 1", TN_BOOL, 16, 1}, {"bool x8 stride 3", TN_BOOL, 8, 3},
    {"f32 x3 stride 2", TN_F32, 3, 2},     {"f32 x2 stride 4", TN_F32, 2, 4},
};

static int64_t span(const stride_row *r) { return (int64_t)(r->lanes - 1) * abs(r->stride) + 1; }
static int64_t first(const stride_row *r) { return r->stride < 0 ? span(r) - 1 : 0; }

/* C[lane] = A[first + stride*lane]; nothing after the span can be read: it ends at a forbidden page. */
static void load_strided(void **state) {
  const stride_row *r = *state;
  size_t bytes = (size_t)span(r) * tn_dtype_bytes(r->dtype);
  char *a = kit_guarded(bytes), c[N * 8];
  kit_begin();
  const tir_buffer *A = kit_in("A", r->dtype, span(r)), *C = kit_out("C", r->dtype, r->lanes);
  const tir_expr *from = kit_ramp(kit_int(first(r)), r->stride, r->lanes);
  tir_func *f = kit_func("kernel", kit_store(C, kit_ramp(kit_int(0), 1, r->lanes), kit_load(A, from)));
  kit_fill(r->dtype, a, span(r), 5);
  kit_run(f, (void *[]){a, c});
  for (int i = 0; i < r->lanes; ++i) {
    assert_memory_equal(c + i * tn_dtype_bytes(r->dtype), a + (first(r) + i * r->stride) * tn_dtype_bytes(r->dtype),
                        tn_dtype_bytes(r->dtype));
  }
  kit_guarded_free(a, bytes);
}

/* C[first + stride*lane] = A[lane]; the elements between stay. Stride 0: the last lane wins. */
static void store_strided(void **state) {
  const stride_row *r = *state;
  size_t item = tn_dtype_bytes(r->dtype), bytes = (size_t)span(r) * item;
  char *c = kit_guarded(bytes), a[N * 8];
  kit_begin();
  const tir_buffer *A = kit_in("A", r->dtype, r->lanes), *C = kit_out("C", r->dtype, span(r));
  const tir_expr *to = kit_ramp(kit_int(first(r)), r->stride, r->lanes);
  tir_func *f = kit_func("kernel", kit_store(C, to, kit_load(A, kit_ramp(kit_int(0), 1, r->lanes))));
  kit_fill(r->dtype, a, r->lanes, 6);
  memset(c, 0x55, bytes);
  kit_run(f, (void *[]){a, c});
  for (int64_t k = 0; k < span(r); ++k) {
    int64_t lane = r->stride == 0 ? r->lanes - 1 : (k - first(r)) / r->stride;
    bool written = r->stride == 0 || (k - first(r)) % r->stride == 0;
    char untouched[8];
    memset(untouched, 0x55, sizeof untouched);
    assert_memory_equal(c + k * (int64_t)item, written ? a + lane * (int64_t)item : untouched, item);
  }
  kit_guarded_free(c, bytes);
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

typedef struct mask_row {
  const char *name;
  tn_dtype dtype;
  int lanes, stride, n; /* lanes below n are on */
} mask_row;

static const mask_row mask_rows[] = {
    {"f32 x16, 5 on", TN_F32, 16, 1, 5},
    {"f32 x16, all on", TN_F32, 16, 1, 16},
    {"f32 x16, none on", TN_F32, 16, 1, 0},
    {"f32 x13, 7 on", TN_F32, 13, 1, 7},
    {"f32 x64, 33 on", TN_F32, 64, 1, 33},
    {"f64 x8, 3 on", TN_F64, 8, 1, 3},
    {"i8 x64, 17 on", TN_I8, 64, 1, 17},
    {"u16 x8, 1 on", TN_U16, 8, 1, 1},
    {"i64 x4, 3 on", TN_I64, 4, 1, 3},
    {"bool x16, 9 on", TN_BOOL, 16, 1, 9},
    {"f32 x16 stride 2, 5 on", TN_F32, 16, 2, 5},
    {"f32 x16 stride -1, 4 on", TN_F32, 16, -1, 4},
    {"f64 x4 stride 7, 2 on", TN_F64, 4, 7, 2},
    {"i8 x8 stride 3, 6 on", TN_I8, 8, 3, 6},
    {"f32 x48 stride -1, 33 on", TN_F32, 48, -1, 33},
    {"f32 x13 stride -1, 7 on", TN_F32, 13, -1, 7},
    {"f64 x13 stride -1, all on", TN_F64, 13, -1, 13},
    {"i8 x64 stride -1, 17 on", TN_I8, 64, -1, 17},
    {"bool x16 stride -1, 9 on", TN_BOOL, 16, -1, 9},
    {"f32 x16 stride -1, none on", TN_F32, 16, -1, 0},
    {"f32 x48 stride 3, 20 on", TN_F32, 48, 3, 20},
    {"f32 x13 stride 4, 12 on", TN_F32, 13, 4, 12},
    {"u16 x32 stride 2, 9 on", TN_U16, 32, 2, 9},
    {"i64 x8 stride 4, all on", TN_I64, 8, 4, 8},
    {"f32 x16 stride 2, none on", TN_F32, 16, 2, 0},
    {"f32 x8 stride 0, 3 on", TN_F32, 8, 0, 3},
    {"f32 x8 stride 0, none on", TN_F32, 8, 0, 0},
    {"f32 scalar on", TN_F32, 1, 1, 1},
    {"f32 scalar off", TN_F32, 1, 1, 0},
};

/* Elements that exist: as many as the lanes that are on need, but at least one. */
static int64_t mask_span(const mask_row *r) { return r->n > 1 ? (int64_t)(r->n - 1) * abs(r->stride) + 1 : 1; }
static int64_t mask_first(const mask_row *r) { return r->stride < 0 ? mask_span(r) - 1 : 0; }

/* lane < n, with n loaded so that nothing folds. */
static const tir_expr *lanes_below(const tir_buffer *limit, int lanes) {
  const tir_expr *lane = kit_ramp(kit_int(0), 1, lanes), *n = kit_load(limit, kit_int(0));
  return tir_binary(&K.arena, TIR_LT, lane, n);
}

static void load_masked(void **state) {
  const mask_row *r = *state;
  size_t item = tn_dtype_bytes(r->dtype), bytes = (size_t)mask_span(r) * item;
  char *a = kit_guarded(bytes), c[N * 8], zero[8] = {0};
  int32_t n = r->n;
  kit_begin();
  const tir_buffer *A = kit_in("A", r->dtype, mask_span(r)), *L = kit_in("L", TN_I32, 1);
  const tir_buffer *C = kit_out("C", r->dtype, r->lanes);
  const tir_expr *from = kit_ramp(kit_int(mask_first(r)), r->stride, r->lanes);
  const tir_expr *value = kit_load_if(A, from, lanes_below(L, r->lanes));
  tir_func *f = kit_func("kernel", kit_store(C, kit_ramp(kit_int(0), 1, r->lanes), value));
  kit_fill(r->dtype, a, mask_span(r), 9);
  memset(c, 0x55, sizeof c);
  kit_run(f, (void *[]){a, &n, c});
  for (int i = 0; i < r->lanes; ++i) {
    const char *expected = i < n ? a + (mask_first(r) + i * r->stride) * (int64_t)item : zero;
    assert_memory_equal(c + i * (int64_t)item, expected, item);
  }
  kit_guarded_free(a, bytes);
}

static void store_masked(void **state) {
  const mask_row *r = *state;
  size_t item = tn_dtype_bytes(r->dtype), bytes = (size_t)mask_span(r) * item;
  char *c = kit_guarded(bytes), a[N * 8], before[N * 64];
  int32_t n = r->n;
  kit_begin();
  const tir_buffer *A = kit_in("A", r->dtype, r->lanes), *L = kit_in("L", TN_I32, 1);
  const tir_buffer *C = kit_out("C", r->dtype, mask_span(r));
  const tir_expr *to = kit_ramp(kit_int(mask_first(r)), r->stride, r->lanes);
  const tir_expr *value = kit_load(A, kit_ramp(kit_int(0), 1, r->lanes));
  tir_func *f = kit_func("kernel", kit_store_if(C, to, value, lanes_below(L, r->lanes)));
  kit_fill(r->dtype, a, r->lanes, 10);
  memset(c, 0x55, bytes);
  memcpy(before, c, bytes);
  for (int i = 0; i < n; ++i) {
    memcpy(before + (mask_first(r) + i * r->stride) * (int64_t)item, a + i * (int64_t)item, item);
  }
  kit_run(f, (void *[]){a, &n, c});
  assert_memory_equal(c, before, bytes);
  kit_guarded_free(c, bytes);
}

/* Lanes that lie backwards or a few elements apart are loaded by registers, with a mask as without, where the processor has masks.
 * Six lanes are left, which are stored as four and two without masks: one lane alone would be counted. */
static void masks_of_registers(void **state) {
  (void)state;
  static const char *const programs[] = {"input A: f32[38]; C[j<38] = A[37 - j]",
                                         "input A: f32[112]; C[j<38] = A[3*j]"};
  static const char *const targets[] = {"cpu=znver4", "cpu=haswell"};
  for (int at = 0; at < 4; ++at) {
    char spec[80];
    snprintf(spec, sizeof spec, "triple=x86_64-pc-linux-gnu %s threads=1", targets[at % 2]);
    tn_build_options options = {.target = tn_target_new(K.ctx, spec)};
    tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, programs[at / 2], 0, NULL));
    tn_schedule_apply(s, "split(C, j, 16, tail=mask); vectorize(C, j.inner)");
    char *assembly = tn_build_text(s, &options, ".s");
    check_ok(K.ctx);
    int lanes = 0;
    for (const char *line = assembly; *line; line += strcspn(line, "\n"), line += *line == '\n')
      lanes += strncmp(line, "\tvinsertps", 10) == 0 || strncmp(line, "\tvmovss", 7) == 0;
    if (lanes > 0) fail_msg("%d lanes on their own, %s, %s:\n%s", lanes, targets[at % 2], programs[at / 2], assembly);
    free(assembly);
    tn_schedule_free(s);
  }
}

/* C is A turned, tiles of 16 x 16 with a masked tail: no row behind A's last one is touched, for it lies at the end of a page. */
static void turn_with_tail(const char *dtype, size_t item, int rows) {
  enum { COLUMNS = 32 };
  char text[160];
  size_t bytes = (size_t)rows * COLUMNS * item;
  snprintf(text, sizeof text, "input A: %s[%d, 32]\nC[i<32, j<%d] = A[j,i]", dtype, rows, rows);
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, text, 0, NULL));
  tn_schedule_apply(s,
                    "split(C, j, 16, tail=mask); split(C, i, 16); reorder(C, i.outer, j.outer, i.inner, j.inner);"
                    "vectorize(C, j.inner); unroll(C, i.inner)");
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  unsigned char *a = kit_guarded(bytes), *c = kit_guarded(bytes);
  for (size_t k = 0; k < bytes; ++k) a[k] = (unsigned char)(k * 7 % 251);
  memset(c, 255, bytes);
  assert_int_equal(((int32_t (*)(void *, void *))tn_kernel_function(kernel))(a, c), 0);
  for (int i = 0; i < COLUMNS; ++i)
    for (int j = 0; j < rows; ++j)
      assert_memory_equal(c + item * (size_t)(i * rows + j), a + item * (size_t)(j * COLUMNS + i), item);
  kit_guarded_free(a, bytes);
  kit_guarded_free(c, bytes);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

/* Rows of 20 elements, of which the last one that is read ends in the tile: not all of a tile's stores read the same rows. */
static void turn_to_the_end(void) {
  enum { LENGTH = 290 };
  tn_schedule *s = tn_schedule_new(
      tn_program_parse(K.ctx, "input A: f32[290]; C[i<16, j<16] = select(20*j + i < 290, A[20*j + i], 7)", 0, NULL));
  tn_schedule_apply(s, "vectorize(C, j); unroll(C, i)");
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  float *a = kit_guarded(LENGTH * sizeof *a), c[16][16];
  for (int k = 0; k < LENGTH; ++k) a[k] = (float)(k + 100);
  assert_int_equal(((int32_t (*)(void *, void *))tn_kernel_function(kernel))(a, c), 0);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) assert_true(c[i][j] == (20 * j + i < LENGTH ? a[20 * j + i] : 7));
  kit_guarded_free(a, LENGTH * sizeof *a);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

/* Lanes by a table under a condition that keeps them in A, which ends there: what the table says of others is not read. */
static void chosen_to_the_end(void **state) {
  (void)state;
  enum { LENGTH = 560 };
  kit_begin();
  tn_schedule *s = tn_schedule_new(tn_program_parse(
      K.ctx, "input A: f32[560]; C[i<4096, j<64] = select(i*32 + j//2 < 560, A[i*32 + j//2], 7)", 0, NULL));
  tn_schedule_apply(s, "vectorize(C, j)");
  tn_kernel *kernel = tn_build(s, NULL);
  check_ok(K.ctx);
  float *a = kit_guarded(LENGTH * sizeof *a);
  static float c[4096][64];
  for (int k = 0; k < LENGTH; ++k) a[k] = (float)(k + 100);
  assert_int_equal(((int32_t (*)(void *, void *))tn_kernel_function(kernel))(a, c), 0);
  for (int i = 0; i < 4096; ++i)
    for (int j = 0; j < 64; ++j) assert_true(c[i][j] == (i * 32 + j / 2 < LENGTH ? a[i * 32 + j / 2] : 7));
  kit_guarded_free(a, LENGTH * sizeof *a);
  tn_kernel_free(kernel);
  tn_schedule_free(s);
}

static void turned_under_masks(void **state) {
  (void)state;
  static const struct {
    const char *dtype;
    size_t item;
  } dtypes[] = {{"f32", 4}, {"u8", 1}, {"i16", 2}, {"i64", 8}};
  for (int d = 0; d < 4; ++d)
    for (int rows = 17; rows < 34; rows += 3) turn_with_tail(dtypes[d].dtype, dtypes[d].item, rows);
  turn_to_the_end();
}

/* ---- scattered --------------------------------------------------------------------------------------------------- */

/* C[i] = T[X[i] * 2 + 1], the index computed on vectors. */
static void gather(void **state) {
  (void)state;
  int32_t x[N], t[N], c[N];
  for (int i = 0; i < N; ++i) x[i] = (i * 7) % (N / 2), t[i] = 1000 + i;
  for (int lanes = 1; lanes <= N; lanes *= 4) {
    kit_begin();
    const tir_buffer *X = kit_in("X", TN_I32, N), *T = kit_in("T", TN_I32, N), *C = kit_out("C", TN_I32, N);
    const tir_var *i = kit_var("i");
    const tir_expr *at = kit_ramp(kit_mul(kit_at(i), lanes), 1, lanes);
    const tir_expr *index = kit_add(kit_mul(kit_load(X, at), 2), kit_int(1));
    memset(c, 0, sizeof c);
    kit_run(kit_func("kernel", kit_for(i, N / lanes, TIR_SERIAL, kit_store(C, at, kit_load(T, index)))),
            (void *[]){x, t, c});
    for (int k = 0; k < N; ++k) assert_int_equal(c[k], t[x[k] * 2 + 1]);
  }
}

/* Lanes that are off hold an index far outside. */
static void gather_masked(void **state) {
  (void)state;
  int32_t x[16], t[4] = {10, 11, 12, 13}, c[16];
  for (int i = 0; i < 16; ++i) x[i] = i % 3 == 0 ? 1 << 30 : i % 4;
  kit_begin();
  const tir_buffer *X = kit_in("X", TN_I32, 16), *T = kit_in("T", TN_I32, 4), *C = kit_out("C", TN_I32, 16);
  const tir_expr *at = kit_ramp(kit_int(0), 1, 16), *index = kit_load(X, at);
  const tir_expr *inside = tir_binary(&K.arena, TIR_LT, index, kit_int(4));
  kit_run(kit_func("kernel", kit_store(C, at, kit_load_if(T, index, inside))), (void *[]){x, t, c});
  for (int i = 0; i < 16; ++i) assert_int_equal(c[i], i % 3 == 0 ? 0 : t[i % 4]);
}

static void scatter(void **state) {
  (void)state;
  int32_t x[16], a[16], c[32];
  for (int i = 0; i < 16; ++i) x[i] = (i * 5) % 16 * 2, a[i] = 100 + i;
  for (int masked = 0; masked < 2; ++masked) {
    kit_begin();
    const tir_buffer *X = kit_in("X", TN_I32, 16), *A = kit_in("A", TN_I32, 16), *C = kit_out("C", TN_I32, 32);
    const tir_expr *at = kit_ramp(kit_int(0), 1, 16), *index = kit_load(X, at), *value = kit_load(A, at);
    const tir_expr *even = tir_binary(&K.arena, TIR_LT, value, kit_int(110));
    kit_run(kit_func("kernel", kit_store_if(C, index, value, masked ? even : NULL)),
            (void *[]){x, a, memset(c, 0, sizeof c)});
    for (int i = 0; i < 16; ++i) assert_int_equal(c[x[i]], masked && a[i] >= 110 ? 0 : a[i]);
  }
}

/* (i % 3) * 5 + i // 2 on lanes: an index that is no ramp. */
static void gather_affine(void **state) {
  (void)state;
  int32_t t[64], c[48];
  for (int i = 0; i < 64; ++i) t[i] = i * i;
  kit_begin();
  const tir_buffer *T = kit_in("T", TN_I32, 64), *C = kit_out("C", TN_I32, 48);
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_mul(kit_at(i), 16), 1, 16);
  const tir_expr *third = tir_binary(&K.arena, TIR_FLOORMOD, at, kit_int(3));
  const tir_expr *index = kit_add(kit_mul(third, 5), tir_binary(&K.arena, TIR_FLOORDIV, at, kit_int(2)));
  kit_run(kit_func("kernel", kit_for(i, 3, TIR_SERIAL, kit_store(C, at, kit_load(T, index)))), (void *[]){t, c});
  for (int k = 0; k < 48; ++k) assert_int_equal(c[k], t[k % 3 * 5 + k / 2]);
}

/* Indices that are ramps by arithmetic: 3 * lane, and 45 - 3 * lane. */
static void computed_ramps(void **state) {
  (void)state;
  int32_t t[64], c[32];
  for (int i = 0; i < 64; ++i) t[i] = 7 * i + 1;
  kit_begin();
  const tir_buffer *T = kit_in("T", TN_I32, 64), *C = kit_out("C", TN_I32, 32);
  const tir_expr *lanes = kit_ramp(kit_int(0), 1, 16), *up = kit_mul(lanes, 3);
  const tir_expr *down = tir_binary(&K.arena, TIR_SUB, tir_broadcast(&K.arena, kit_int(45), 16), up);
  const tir_stmt *both[] = {kit_store(C, lanes, kit_load(T, up)),
                            kit_store(C, kit_ramp(kit_int(16), 1, 16), kit_load(T, down))};
  kit_run(kit_func("kernel", kit_seq(2, both)), (void *[]){t, c});
  for (int i = 0; i < 16; ++i) {
    assert_int_equal(c[i], t[3 * i]);
    assert_int_equal(c[16 + i], t[45 - 3 * i]);
  }
}

/* One condition for all lanes; where it fails they are zero. */
static void all_or_none(void **state) {
  (void)state;
  int32_t a[16], c[16];
  for (int i = 0; i < 16; ++i) a[i] = 50 + i;
  for (int32_t n = 0; n < 2; ++n) {
    kit_begin();
    const tir_buffer *A = kit_in("A", TN_I32, 16), *L = kit_in("L", TN_I32, 1), *C = kit_out("C", TN_I32, 16);
    const tir_expr *at = kit_ramp(kit_int(0), 1, 16);
    const tir_expr *is_on = tir_binary(&K.arena, TIR_GT, kit_load(L, kit_int(0)), kit_int(0));
    const tir_expr *value = kit_load_if(A, at, tir_broadcast(&K.arena, is_on, 16));
    memset(c, 0x55, sizeof c);
    kit_run(kit_func("kernel", kit_store(C, at, value)), (void *[]){a, &n, c});
    for (int i = 0; i < 16; ++i) assert_int_equal(c[i], n ? a[i] : 0);
  }
}

/* A row whose number was loaded, T[n*16 + lane], where the condition holds it inside; else any number may stand there. */
static void rows_by_number(void **state) {
  (void)state;
  enum { ROWS = 4, LANES = 16, ASKED = 6 };
  static const int32_t numbers[ASKED] = {2, -1, ROWS, INT32_MAX, 1 << 28, 0}; /* two overflow as an index, one to 0 */
  int32_t t[ROWS * LANES], c[ASKED * LANES];
  for (int i = 0; i < ROWS * LANES; ++i) t[i] = 50 + i;
  kit_begin();
  const tir_buffer *T = kit_in("T", TN_I32, ROWS * LANES), *X = kit_in("X", TN_I32, ASKED);
  const tir_buffer *C = kit_out("C", TN_I32, ASKED * LANES);
  const tir_var *i = kit_var("i");
  const tir_expr *number = kit_load(X, kit_at(i));
  const tir_expr *is_in = tir_binary(&K.arena, TIR_AND, tir_binary(&K.arena, TIR_GE, number, kit_int(0)),
                                     tir_binary(&K.arena, TIR_LT, number, kit_int(ROWS)));
  const tir_expr *value =
      kit_load_if(T, kit_ramp(kit_mul(number, LANES), 1, LANES), tir_broadcast(&K.arena, is_in, LANES));
  const tir_stmt *store = kit_store(C, kit_ramp(kit_mul(kit_at(i), LANES), 1, LANES), value);
  memset(c, 0x55, sizeof c);
  kit_run(kit_func("kernel", kit_for(i, ASKED, TIR_SERIAL, store)), (void *[]){t, (void *)numbers, c});
  for (int k = 0; k < ASKED * LANES; ++k) {
    int32_t n = numbers[k / LANES];
    assert_int_equal(c[k], n >= 0 && n < ROWS ? t[n * LANES + k % LANES] : 0);
  }
}

/* Neither rows by their number nor vectors of floats that become integers go lane by lane. */
static void whole_vectors(void **state) {
  (void)state;
  static const char *programs[] = {"input X: i32[4], T: f32[9,16]\nY[b<4, d<16] = T[X[b], d]", "Y[d<16] = i8(A[d])",
                                   "Y[d<16] = u32(A[d])"};
  const char *lanes[] = {"extractelement", "fptosi.sat", "fptoui.sat"};
  for (int i = 0; i < (int)(sizeof programs / sizeof *programs); ++i) {
    kit_begin();
    tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, programs[i], 0, NULL));
    tn_schedule_apply(s, "vectorize(Y, d)");
    const tn_build_options options = {.target =
                                          tn_target_new(K.ctx, "cpu=znver4 threads=1 triple=x86_64-pc-linux-gnu")};
    char *text = tn_build_text(s, &options, ".ll");
    check_ok(K.ctx);
    for (int k = 0; k < (int)(sizeof lanes / sizeof *lanes); ++k) assert_null(strstr(text, lanes[k]));
    free(text);
    tn_schedule_free(s);
  }
}

/* All lanes are computed before any is stored, also of a vector that is stored in pieces, of which the last may be short. */
static void onto_itself(void **state) {
  (void)state;
  enum { MOST = 111, BY = 8 };
  static const int lengths[] = {48, 40, 37, 21, MOST};
  for (int n = 0; n < (int)(sizeof lengths / sizeof *lengths); ++n) {
    int lanes = lengths[n];
    int32_t c[MOST + BY + 1];
    for (int i = 0; i <= MOST + BY; ++i) c[i] = i;
    kit_begin();
    const tir_buffer *C = kit_out("C", TN_I32, lanes + BY);
    const tir_expr *from = kit_load(C, kit_ramp(kit_int(0), 1, lanes));
    kit_run(kit_func("kernel", kit_store(C, kit_ramp(kit_int(BY), 1, lanes), from)), (void *[]){c});
    for (int i = 0; i < lanes; ++i) assert_int_equal(c[BY + i], i);
    assert_int_equal(c[lanes + BY], lanes + BY);
  }
}

/* Sums in 40 lanes stay in registers from step to step: LLVM takes a value of 40 lanes apart lane by lane there. */
static void odd_sums(void **state) {
  (void)state;
  static const char program[] = "input X: f32[204,10]\nS[j<10] = sum[i<204](X[i,j])";
  static const char schedule[] =
      "split(S, i, 4); rfactor(S, i.inner); fuse(S.rf, i.inner, j); reorder(S.rf, i.outer, i.inner.j.fused); "
      "vectorize(S.rf, i.inner.j.fused); set_scope(S.rf, local); reorder(S, i.inner.v, j); vectorize(S, j)";
  char *assembly = kit_assembly(program, schedule, "skylake-avx512");
  check_has(assembly, "vaddps");
  check_has_not(assembly, "vaddss");
  check_has_not(assembly, "vinsertps");
  free(assembly);
  kit_same_values("input X: i32[204,10]\nS[j<10] = sum[i<204](X[i,j])", schedule);
}

/* ---- odds -------------------------------------------------------------------------------------------------------- */

/* Any byte but 0 is true; what is written is 0 or 1. */
static void bool_bytes(void **state) {
  (void)state;
  uint8_t a[16], c[16];
  for (int i = 0; i < 16; ++i) a[i] = (uint8_t)(i * 17);
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_BOOL, 16), *C = kit_out("C", TN_BOOL, 16);
  const tir_expr *at = kit_ramp(kit_int(0), 1, 16);
  kit_run(kit_func("kernel", kit_store(C, at, kit_load(A, at))), (void *[]){a, c});
  for (int i = 0; i < 16; ++i) assert_int_equal(c[i], i > 0);
}

/* Arguments that are aligned to their elements only. */
static void unaligned(void **state) {
  (void)state;
  _Alignas(64) float data[40];
  for (int i = 0; i < 40; ++i) data[i] = (float)i;
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, 16), *C = kit_out("C", TN_F32, 16);
  const tir_expr *at = kit_ramp(kit_int(0), 1, 16);
  kit_run(kit_func("kernel", kit_store(C, at, kit_load(A, at))), (void *[]){data + 1, data + 18});
  for (int i = 0; i < 16; ++i) assert_true(data[18 + i] == (float)(i + 1));
}

/* x*y + z is fused. */
static void contracted(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, 16), *C = kit_out("C", TN_F32, 16);
  const tir_expr *at = kit_ramp(kit_int(0), 1, 16), *a = kit_load(A, at);
  const tir_expr *value = kit_add(tir_binary(&K.arena, TIR_MUL, a, a), a);
  char *text = kit_text(kit_func("kernel", kit_store(C, at, value)), NULL, CODEGEN_ASSEMBLY);
  if (strstr(tn_target_text(tn_target_new(K.ctx, NULL)), "x86_64")) check_has(text, "vfmadd");
  free(text);
}

static void refuse_not_flat(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_F32, 16);
  const tir_expr *index[] = {kit_int(0), kit_int(1)};
  const tir_stmt *s = tir_store(&K.arena, C, 2, index, tir_float(&K.arena, TN_F32, 1), NULL);
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", s), NULL, &object);
  check_fails(K.ctx, TN_ERROR_INTERNAL, "C is not flat");
}

static void refuse_out_of_scope(void **state) {
  (void)state;
  kit_begin();
  const tir_stmt *s = kit_store(kit_scratch("T", TN_F32, 16), kit_int(0), tir_float(&K.arena, TN_F32, 1));
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", s), NULL, &object);
  check_fails(K.ctx, TN_ERROR_INTERNAL, "T is used outside its scope");
}

int test_memory_run(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(masks_of_registers),
                                            cmocka_unit_test(turned_under_masks),
                                            cmocka_unit_test(chosen_to_the_end),
                                            cmocka_unit_test(gather),
                                            cmocka_unit_test(gather_masked),
                                            cmocka_unit_test(scatter),
                                            cmocka_unit_test(gather_affine),
                                            cmocka_unit_test(bool_bytes),
                                            cmocka_unit_test(unaligned),
                                            cmocka_unit_test(computed_ramps),
                                            cmocka_unit_test(all_or_none),
                                            cmocka_unit_test(rows_by_number),
                                            cmocka_unit_test(whole_vectors),
                                            cmocka_unit_test(onto_itself),
                                            cmocka_unit_test(odd_sums)};
  return CHECK_TABLE("strided loads", stride_rows, load_strided) +
         CHECK_TABLE("strided stores", stride_rows, store_strided) +
         CHECK_TABLE("masked loads", mask_rows, load_masked) + CHECK_TABLE("masked stores", mask_rows, store_masked) +
         CHECK_TESTS("scattered, booleans, alignment", tests);
}

/* A stage is computed where its reader's index is limited, or the lesser or the greater of two. */
static void stages_between_limits(void **state) {
  (void)state;
  static const char *const rows[] = {"min(i + 1, 39)", "max(min(i - 3, 39), 0)", "min(i//8*8, i + 1)", "max(i, 39 - i)",
                                     "min(max(i*2 - 20, 0), 39)"};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    char program[256];
    snprintf(program, sizeof program, "P[i<40, j<16] = A[i,j] * 2\nC[i<40, j<16] = P[%s,j] + P[%s,15-j]", rows[i],
             rows[i]);
    kit_same_values(program, "split(C, i, 8); compute_at(P, C, i.outer)");
    kit_same_values(program, "split(C, i, 7, tail=overlap); compute_at(P, C, i.outer); rolling_buffer(P)");
    kit_same_values(program, "compute_at(P, C, i); vectorize(P, j)");
  }
}

/* Limits at both ends, over each other, and steps: what a tile asks for lies between two distances from it. */
static void stages_between_both_limits(void **state) {
  (void)state;
  static const char *const rows[] = {
      "Q[max(i-1,0),j] + Q[min(i+1,39),j]", "Q[max(i-2,0),j] * Q[i,j] - Q[min(i+3,39),j]",
      "Q[min(max(2*i-3,0),39),j] + Q[min(2*i+1,39),j]", "Q[max(38-i,0),j] + Q[min(40-i,39),j]"};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    char program[512];
    snprintf(program, sizeof program,
             "P[i<40, j<16] = A[i,j] * 2\nQ[i<40, j<16] = P[max(i-1,0),j] + P[min(i+1,39),15-j] * P[i,j]\nC[i<40, "
             "j<16] = %s",
             rows[i]);
    kit_same_values(program, "split(C, i, 8); compute_at(Q, C, i.outer); compute_at(P, C, i.outer)");
    kit_same_values(program, "split(C, i, 7, tail=overlap); compute_at(Q, C, i.outer); compute_at(P, Q, i)");
    kit_same_values(program, "split(C, i, 9, tail=peel); compute_at(Q, C, i.inner); compute_at(P, C, i.outer)");
  }
  kit_same_values("P[i<140000] = A[i] * 2\nC[i<70000] = P[i] + P[139999-i]", /* too far apart for a hull */
                  "split(C, i, 10000); compute_at(P, C, i.outer)");
}

/* Lanes under a condition of data, each twice: elements of the buffer are read whatever it says, no other ones. */
static void chosen_by_data(void **state) {
  (void)state;
  static const char *const rows[] = {
      "input A: f32[40,28], M: f32[40,56]\nC[i<40, j<56] = select(M[i,j] > 4.0, A[i,j//2], 7.0)",
      "input A: f32[40,28], M: f32[40,64]\nC[i<40, j<64] = select(M[i,j] > 4.0 && j < 56, A[i,min(j//2,27)], 7.0)",
      "input A: f32[560], M: f32[40,64]\nC[i<40, j<64] = select(i * 32 + j//2 < 560, A[i*32 + j//2] + M[i,j], 7.0)"};
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    kit_same_values(rows[i], "split(C, j, 16); vectorize(C, j.inner)");
    kit_same_values(rows[i], "vectorize(C, j)");
  }
}

int test_memory(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(contracted),
                                            cmocka_unit_test(refuse_not_flat),
                                            cmocka_unit_test(refuse_out_of_scope),
                                            cmocka_unit_test(stages_between_limits),
                                            cmocka_unit_test(stages_between_both_limits),
                                            cmocka_unit_test(chosen_by_data)};
  return test_memory_run() + CHECK_TESTS("memory, the rest", tests);
}
