/* small_table.c: loads from any places of a table that registers hold: tables of all sizes, which end with a page, so that nothing behind
 * them may be read; lanes that are off; and which code asks for. */
#include "tests/codegen/kit.h"

enum { N = 192 };

typedef struct table_row {
  const char *name;
  tn_dtype dtype, index;
  int lanes;
} table_row;

static const table_row rows[] = {
    {"floats by bytes", TN_F32, TN_U8, 64},
    {"floats by words", TN_F32, TN_I32, 16},
    {"words by words", TN_I32, TN_I32, 48},
    {"unsigned words", TN_U32, TN_U8, 32},
    {"bytes by bytes", TN_U8, TN_U8, 64},
    {"bytes by words", TN_I8, TN_I32, 192},
    {"short vectors", TN_I8, TN_U8, 16},
    {"halves, which none holds", TN_U16, TN_U8, 32},
    {"doubles, which none holds", TN_F64, TN_U8, 16},
    {"signed bytes as indices", TN_U8, TN_I8, 64},
};

static const int sizes[] = {2,   15,  16,  17,  31,  32,  33,  63,  64,  65, 96,
                            100, 127, 128, 129, 192, 250, 255, 256, 257, 300};

/* What Y[i] = T[int32(X[i])], where X[i] is not TABLE's size, is; lanes that are off are 0. */
static tir_func *look_up(const table_row *r, int table, bool is_masked) {
  const tir_buffer *T = kit_in("T", r->dtype, table), *X = kit_in("X", r->index, N), *Y = kit_out("Y", r->dtype, N);
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_mul(kit_at(i), r->lanes), 1, r->lanes);
  const tir_expr *index = tir_cast(&K.arena, TN_I32, kit_load(X, at));
  const tir_expr *is_on = tir_binary(&K.arena, TIR_NE, index, tir_broadcast(&K.arena, kit_int(table - 1), r->lanes));
  const tir_expr *value = is_masked ? kit_load_if(T, index, is_on) : kit_load(T, index);
  return kit_func("kernel", kit_for(i, N / r->lanes, TIR_SERIAL, kit_store(Y, at, value)));
}

static void check_size(const table_row *r, int size, bool is_masked) {
  uint8_t x[N * 4], y[N * 8];
  size_t bytes = tn_dtype_bytes(r->dtype);
  unsigned char *table = kit_guarded((size_t)size * bytes);
  int most = r->index == TN_I8 ? 128 : r->index == TN_U8 ? 256 : size, used = size < most ? size : most;
  kit_begin();
  kit_fill(r->dtype, table, size, 7);
  for (int k = 0; k < N; k++) kit_set(r->index, x, k, (k * 37 + k / 5) % used, 0);
  memset(y, 0x55, sizeof y);
  kit_run(look_up(r, size, is_masked), (void *[]){table, x, y});
  for (int k = 0; k < N; k++) {
    static const uint8_t zeros[8];
    int64_t at = kit_get_int(r->index, x, k);
    const void *expected = is_masked && at == size - 1 ? zeros : table + (size_t)at * bytes;
    if (memcmp(y + (size_t)k * bytes, expected, bytes) != 0)
      fail_msg("%s, %d: lane %d of place %d", r->name, size, k, (int)at);
  }
  kit_guarded_free(table, (size_t)size * bytes);
}

static void any_place(void **state) {
  const table_row *r = *state;
  for (int i = 0; i < RUNTIME_COUNT(sizes); i++)
    for (int masked = 0; masked < 2; masked++) check_size(r, sizes[i], masked);
}

/* Lanes that are off may have any number for an index. */
static void off_lanes(void **state) {
  (void)state;
  enum { SIZE = 40, LANES = 16 };
  float t[SIZE], y[LANES];
  int32_t x[LANES];
  kit_begin();
  for (int k = 0; k < SIZE; k++) t[k] = 100.f + (float)k;
  for (int k = 0; k < LANES; k++) x[k] = k % 3 == 0 ? k * 2 : k % 3 == 1 ? -7 - k : INT32_MAX - k;
  const tir_buffer *T = kit_in("T", TN_F32, SIZE), *X = kit_in("X", TN_I32, LANES), *Y = kit_out("Y", TN_F32, LANES);
  const tir_expr *at = kit_ramp(kit_int(0), 1, LANES), *index = kit_load(X, at);
  const tir_expr *low = tir_broadcast(&K.arena, kit_int(0), LANES),
                 *high = tir_broadcast(&K.arena, kit_int(SIZE), LANES);
  const tir_expr *is_in = tir_binary(&K.arena, TIR_AND, tir_binary(&K.arena, TIR_GE, index, low),
                                     tir_binary(&K.arena, TIR_LT, index, high));
  kit_run(kit_func("kernel", kit_store(Y, at, kit_load_if(T, index, is_in))), (void *[]){t, x, y});
  for (int k = 0; k < LANES; k++) assert_true(y[k] == (k % 3 == 0 ? t[x[k]] : 0));
}

/* A program, what its code has on a processor, and what it has not. */
typedef struct code_row {
  const char *name, *program, *cpu, *has, *has_not;
} code_row;

static const code_row codes[] = {
    {"a function of a byte", "input X: u8[64], T: u8[256]; Y[d<64] = T[i32(X[d])]", "znver4", "vperm", "vpextrb"},
    {"one register", "input X: u8[64], T: f32[16]; Y[d<64] = T[i32(X[d])]", "znver4", "vperm", "gather"},
    {"256 floats", "input X: u8[64], T: f32[256]; Y[d<64] = T[i32(X[d])]", "znver4", "vperm", "gather"},
    {"too many", "input X: i32[64], T: f32[257]; Y[d<64] = T[X[d]]", "sapphirerapids", "ret", "vpermi2"},
    {"bytes are not shuffled", "input X: u8[64], T: u8[256]; Y[d<64] = T[i32(X[d])]", "skylake-avx512", "movz",
     "vpermi2b"},
    {"shorter registers", "input X: u8[64], T: f32[16]; Y[d<64] = T[i32(X[d])]", "haswell", "ret", "vperm"}};

static void code(void **state) {
  const code_row *r = *state;
  char *text = kit_assembly(r->program, "vectorize(Y, d)", r->cpu);
  check_has(text, r->has);
  check_has_not(text, r->has_not);
  free(text);
}

int test_small_table(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(off_lanes)};
  return CHECK_TABLE("tables in registers", rows, any_place) + CHECK_TABLE("code of tables", codes, code) +
         CHECK_TESTS("lanes that are off", tests);
}
