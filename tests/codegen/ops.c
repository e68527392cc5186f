/* Every operator with every dtype it has, scalar and on 4 to 64 lanes, and every cast, against plain C. */
#include <math.h>

#include "tests/codegen/kit.h"
#include "tests/tir/real.h"

enum { ROUNDS = 5, ALL_LANES = 1 + 4 + 8 + 13 + 16 + 64, MAX_N = ROUNDS * ALL_LANES };
static const int all_lanes[] = {1, 4, 8, 13, 16, 64};

/* ---- what C says ------------------------------------------------------------------------------------------------- */

typedef struct number {
  int64_t i;
  double f;
} number;

static int64_t wrap(tn_dtype dtype, int64_t value) {
  uint8_t bytes[8] = {0};
  kit_set(dtype, bytes, 0, value, 0);
  return kit_get_int(dtype, bytes, 0);
}

static int64_t add_wrapping(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static bool compare(tir_op op, tn_dtype dtype, number a, number b) {
  bool is_float = tn_dtype_is_float(dtype);
  bool less = is_float ? a.f < b.f : a.i < b.i, equal = is_float ? a.f == b.f : a.i == b.i;
  bool greater = is_float ? a.f > b.f : a.i > b.i;
  switch ((int)op) {
    case TIR_EQ: return equal;
    case TIR_NE: return !equal;
    case TIR_LT: return less;
    case TIR_LE: return less || equal;
    case TIR_GT: return greater;
    default: return greater || equal;
  }
}

static int64_t integer_result(tir_op op, int64_t a, int64_t b) {
  switch ((int)op) {
    case TIR_ADD: return add_wrapping(a, b);
    case TIR_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case TIR_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TIR_FLOORDIV:
      return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b - (a % b != 0 && (a % b < 0) != (b < 0));
    case TIR_FLOORMOD: return b == 0 || b == -1 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
    case TIR_MIN: return a < b ? a : b;
    case TIR_MAX: return a > b ? a : b;
    case TIR_AND: return a && b;
    case TIR_OR: return a || b;
    case TIR_NOT: return !a;
    case TIR_ABS: return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
    case TIR_BITAND: return a & b;
    case TIR_BITOR: return a | b;
    case TIR_BITXOR: return a ^ b;
    case TIR_BITNOT: return -1 - a;
    default: fail_msg("no integer reference for %s", tir_op_table[op].name); return 0;
  }
}

/* Bit by bit. */
static int64_t bits_result(tir_op op, tn_dtype dtype, int64_t a, int64_t b) {
  int width = 8 * (int)tn_dtype_bytes(dtype), n = 0;
  switch ((int)op) {
    case TIR_SHL:
      if (b < 0 || b >= width) return 0;
      for (; b > 0; --b) a = add_wrapping(a, a);
      return wrap(dtype, a);
    case TIR_SHR:
      if (b < 0 || b >= width) return a < 0 ? -1 : 0;
      for (; b > 0; --b) a = a / 2 - (a % 2 < 0);
      return a;
    case TIR_POPCOUNT:
      for (int i = 0; i < width; ++i) n += (int)(a >> i & 1);
      return wrap(dtype, n);
    case TIR_CLZ:
      while (n < width && !(a >> (width - 1 - n) & 1)) ++n;
      return wrap(dtype, n);
    default: return wrap(dtype, integer_result(op, a, b));
  }
}

static double real_result(tir_op op, double a, double b) {
  switch ((int)op) {
    case TIR_ADD: return a + b;
    case TIR_SUB: return a - b;
    case TIR_MUL: return a * b;
    case TIR_DIV: return a / b;
    case TIR_MIN: return a < b ? a : b;
    case TIR_MAX: return a > b ? a : b;
    case TIR_ABS: return fabs(a);
    default: return real_math(op, a, b);
  }
}

static number result(tir_op op, tn_dtype dtype, number a, number b) {
  if (tir_op_table[op].rule == TIR_RULE_COMPARISON) return (number){compare(op, dtype, a, b), 0};
  if (op == TIR_SELECT) return a;
  if (op == TIR_ISNAN) return (number){isnan(a.f), 0};
  if (op == TIR_ISINF) return (number){isinf(a.f) != 0, 0};
  if (op == TIR_ISFINITE) return (number){isfinite(a.f) != 0, 0};
  if (tn_dtype_is_float(dtype)) return (number){0, real_result(op, a.f, b.f)};
  return (number){bits_result(op, dtype, a.i, b.i), 0};
}

static bool is_exact(tir_op op) {
  static const tir_op exact[] = {TIR_SQRT,  TIR_FLOOR,     TIR_CEIL, TIR_ROUND,
                                 TIR_TRUNC, TIR_NEARBYINT, TIR_FMOD, TIR_COPYSIGN};
  for (int i = 0; i < RUNTIME_COUNT(exact); ++i)
    if (op == exact[i]) return true;
  return tir_op_table[op].rule != TIR_RULE_FLOAT;
}

static void check_number(tir_op op, tn_dtype dtype, const void *got, int64_t i, number expected, int lanes) {
  if (!tn_dtype_is_float(dtype)) {
    if (kit_get_int(dtype, got, i) == expected.i) return;
    fail_msg("lanes %d, element %d: got %lld, expected %lld", lanes, (int)i, (long long)kit_get_int(dtype, got, i),
             (long long)expected.i);
  }
  double e = dtype == TN_F32 ? (double)(float)expected.f : expected.f, g = kit_get(dtype, got, i);
  double tolerance = is_exact(op) ? 0 : (dtype == TN_F32 ? 1e-6 : 1e-14) * fabs(e);
  if (dtype == TN_F32 && fabs(e) < 1e-37) tolerance = is_exact(op) ? 0 : 1e-43; /* denormal results of libm */
  bool is_other_zero = g == 0 && e == 0 && (op == TIR_MIN || op == TIR_MAX) && signbit(g) != signbit(e);
  if (!is_other_zero && (g == e || (isnan(g) && isnan(e)) || fabs(g - e) <= tolerance)) return;
  fail_msg("lanes %d, element %d: got %.17g, expected %.17g", lanes, (int)i, g, e);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

typedef struct row {
  const char *name;
  char text[40];
  tir_op op;
  tn_dtype from, to;
} row;

static _Alignas(64) char a_data[MAX_N * 8], b_data[MAX_N * 8], c_data[MAX_N * 8];

static const tir_expr *operate(tir_op op, const tir_expr *a, const tir_expr *b) {
  if (op == TIR_SELECT) return tir_select(&K.arena, tir_binary(&K.arena, TIR_EQ, a, a), a, b);
  return tir_op_table[op].n_args == 1 ? tir_unary(&K.arena, op, a) : tir_binary(&K.arena, op, a, b);
}

/* C[i] = A[i] op B[i] over ROUNDS vectors from element FIRST on. */
static const tir_stmt *op_loop(const row *r, int lanes, int first) {
  const tir_buffer *A = K.params[0], *B = K.params[1], *C = K.params[2];
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_add(kit_mul(kit_at(i), lanes), kit_int(first)), 1, lanes);
  const tir_expr *a = kit_load(A, at), *b = kit_load(B, at);
  const tir_expr *value = r->op == TIR_CAST ? tir_cast(&K.arena, r->to, a) : operate(r->op, a, b);
  return kit_for(i, ROUNDS, TIR_SERIAL, kit_store(C, at, value));
}

/* One loop for every number of lanes. */
static tir_func *op_func(const row *r) {
  const tir_stmt *loops[RUNTIME_COUNT(all_lanes)];
  kit_begin();
  kit_in("A", r->from, MAX_N);
  kit_in("B", r->from, MAX_N);
  kit_out("C", r->to, MAX_N);
  for (int l = 0, first = 0; l < RUNTIME_COUNT(all_lanes); first += ROUNDS * all_lanes[l++]) {
    loops[l] = op_loop(r, all_lanes[l], first);
  }
  return kit_func("kernel", kit_seq(RUNTIME_COUNT(all_lanes), loops));
}

/* Now and then 0 meets -0: which of them is the less is a matter of order. */
static void put_zeros(tn_dtype dtype) {
  for (int i = 0; i + 1 < MAX_N; i += 53) {
    for (int k = 0; k < 2; ++k) {
      kit_set(dtype, a_data, i + k, 0, k ? -0.0 : 0.0);
      kit_set(dtype, b_data, i + k, 0, k ? 0.0 : -0.0);
    }
  }
}

/* Now and then a number is shifted by its width, by one less and one more, and by less than nothing. */
static void put_shifts(tn_dtype dtype) {
  int width = 8 * (int)tn_dtype_bytes(dtype);
  for (int i = 0; i + 3 < MAX_N; i += 53) {
    for (int k = 0; k < 4; ++k) {
      kit_set(dtype, a_data, i + k, 2 * i + 1, 0);
      kit_set(dtype, b_data, i + k, k == 3 && tn_dtype_is_signed(dtype) ? -1 : width - 1 + k, 0);
    }
  }
}

static void run_op(const row *r) {
  kit_fill(r->from, a_data, MAX_N, 1);
  kit_fill(r->from, b_data, MAX_N, 1000);
  if (r->op == TIR_MIN || r->op == TIR_MAX) put_zeros(r->from);
  if (r->op == TIR_SHL || r->op == TIR_SHR) put_shifts(r->from);
  kit_run(op_func(r), (void *[]){a_data, b_data, c_data});
}

static int lanes_at(int i) {
  int l = 0;
  for (int first = 0; i >= first + ROUNDS * all_lanes[l]; l++) first += ROUNDS * all_lanes[l];
  return all_lanes[l];
}

static number element(tn_dtype dtype, const void *data, int64_t i) {
  return (number){kit_get_int(dtype, data, i), kit_get(dtype, data, i)};
}

/* select(a == a, a, b) gives b where a is NaN. */
static number expected_of(const row *r, int64_t i) {
  number a = element(r->from, a_data, i), b = element(r->from, b_data, i);
  if (r->op == TIR_SELECT && tn_dtype_is_float(r->from) && isnan(a.f)) return b;
  return result(r->op, r->from, a, b);
}

static void test_op(void **state) {
  const row *r = *state;
  run_op(r);
  for (int i = 0; i < MAX_N; ++i) check_number(r->op, r->to, c_data, i, expected_of(r, i), lanes_at(i));
}

static bool has_dtype(tir_op op, tn_dtype dtype) {
  bool is_float = tn_dtype_is_float(dtype);
  if (runtime_is_half(dtype)) return false;
  if (op == TIR_AND || op == TIR_OR || op == TIR_NOT) return dtype == TN_BOOL;
  if (op == TIR_DIV || tir_op_table[op].rule == TIR_RULE_FLOAT) return is_float;
  if (op == TIR_FLOORDIV || op == TIR_FLOORMOD) return !is_float && dtype != TN_BOOL;
  if (op == TIR_ABS) return dtype != TN_BOOL;
  tir_rule rule = tir_op_table[op].rule;
  if (rule == TIR_RULE_INTEGER) return !is_float && dtype != TN_BOOL;
  if (rule == TIR_RULE_TEST) return is_float;
  return rule == TIR_RULE_COMPARISON || op == TIR_SELECT || (rule == TIR_RULE_ARITHMETIC && dtype != TN_BOOL);
}

static int op_rows(row *rows) {
  int n = 0;
  for (int op = TIR_ADD; op < TIR_OP_COUNT; ++op) {
    for (int dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype) {
      if (!has_dtype((tir_op)op, (tn_dtype)dtype)) continue;
      row *r = &rows[n++];
      *r = (row){.op = (tir_op)op, .from = (tn_dtype)dtype, .to = (tn_dtype)dtype};
      snprintf(r->text, sizeof r->text, "%s %s", tir_op_table[op].text, tn_dtype_name((tn_dtype)dtype));
      tir_rule rule = tir_op_table[op].rule;
      if (rule == TIR_RULE_COMPARISON || rule == TIR_RULE_TEST) r->to = TN_BOOL;
    }
  }
  return n;
}

/* ---- casts ------------------------------------------------------------------------------------------------------- */

static int64_t saturate(tn_dtype to, double value) {
  static const double lowest[TN_DTYPE_COUNT] = {
      [TN_I8] = -0x1p7, [TN_I16] = -0x1p15, [TN_I32] = -0x1p31, [TN_I64] = -0x1p63};
  static const double highest[TN_DTYPE_COUNT] = {
      [TN_I8] = 0x1p7,   [TN_U8] = 0x1p8,   [TN_I16] = 0x1p15, [TN_U16] = 0x1p16,
      [TN_I32] = 0x1p31, [TN_U32] = 0x1p32, [TN_I64] = 0x1p63};
  if (isnan(value)) return 0;
  if (value <= lowest[to]) return (int64_t)lowest[to];
  if (trunc(value) >= highest[to]) return to == TN_I64 ? INT64_MAX : (int64_t)(highest[to] - 1);
  return (int64_t)value;
}

static number cast(tn_dtype from, tn_dtype to, number a) {
  bool from_float = tn_dtype_is_float(from);
  if (to == TN_BOOL) return (number){from_float ? a.f != 0 : a.i != 0, 0};
  if (runtime_is_half(to)) return (number){0, runtime_rounded(to, a.f)};
  if (to == TN_F32) return (number){0, from_float ? (double)(float)a.f : (double)(float)a.i};
  if (to == TN_F64) return (number){0, from_float ? a.f : (double)a.i};
  return (number){from_float ? saturate(to, a.f) : wrap(to, a.i), 0};
}

static void test_cast(void **state) {
  const row *r = *state;
  run_op(r);
  for (int i = 0; i < MAX_N; ++i) {
    check_number(r->op, r->to, c_data, i, cast(r->from, r->to, element(r->from, a_data, i)), lanes_at(i));
  }
}

static int cast_rows(row *rows) {
  int n = 0;
  for (int from = 0; from < TN_DTYPE_COUNT; ++from) {
    for (int to = 0; to < TN_DTYPE_COUNT; ++to) {
      bool is_half = runtime_is_half((tn_dtype)from) || runtime_is_half((tn_dtype)to);
      if (from == to || (is_half && from != TN_F32 && to != TN_F32)) continue;
      rows[n] = (row){.op = TIR_CAST, .from = (tn_dtype)from, .to = (tn_dtype)to};
      snprintf(rows[n].text, sizeof rows[n].text, "cast %s to %s", tn_dtype_name((tn_dtype)from),
               tn_dtype_name((tn_dtype)to));
      n++;
    }
  }
  return n;
}

/* LANES of BITS at a time. */
static void check_ties(tn_dtype to, int n, const uint32_t *bits, int lanes) {
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, n), *C = kit_out("C", to, n);
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_mul(kit_at(i), lanes), 1, lanes);
  const tir_stmt *store = kit_store(C, at, tir_cast(&K.arena, to, kit_load(A, at)));
  kit_run(kit_func("kernel", kit_for(i, n / lanes, TIR_SERIAL, store)), (void *[]){(void *)bits, c_data});
  for (int k = 0; k < n; ++k)
    check_number(TIR_CAST, to, c_data, k, (number){0, runtime_rounded(to, kit_get(TN_F32, bits, k))}, lanes);
}

/* What lies between two values of f16 or bf16, and NaNs whose upper half alone is an infinity; with subnormal numbers and without
 * (codegen/emit_half.c goes another way then). */
static void test_ties(void **state) {
  enum { N = 64, KINDS = 16, SUBNORMAL = 11 };
  static const uint32_t kinds[KINDS] = {0x3F808000, 0x3F818000, 0x3F808001, 0xBF817FFF, 0x45001000, 0x45003000,
                                        0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001, 0x7F7FFFFF, 0x00018000,
                                        0x7F800001, 0xFF800001, 0x7FC00000, 0x7F800000};
  const row *r = *state;
  uint32_t bits[N];
  for (int with = 0; with < 2; ++with) {
    for (int k = 0; k < N; ++k) {
      int kind = (k + k / KINDS) % KINDS; /* at another place in each vector */
      bits[k] = kind == SUBNORMAL && !with ? 0x80000000 : kinds[kind];
    }
    for (int lanes = 1; lanes <= N; lanes *= 2) check_ties(r->to, N, bits, lanes);
    check_ties(r->to, 48, bits, 24);
    check_ties(r->to, 48, bits, 48);
  }
}

/* The instructions that make bf16 are of use beside one that finds subnormal numbers. */
static void test_bf16_instructions(void **state) {
  (void)state;
  static const char *const without[] = {"triple=x86_64-linux-gnu cpu=znver4 features=-avx512dq",
                                        "triple=x86_64-linux-gnu cpu=skylake-avx512", "triple=aarch64-linux-gnu"};
  for (int i = 0; i <= RUNTIME_COUNT(without); ++i) {
    kit_begin();
    const tir_buffer *A = kit_in("A", TN_F32, 32), *C = kit_out("C", TN_BF16, 32);
    const tir_expr *at = kit_ramp(kit_int(0), 1, 32);
    const tn_target *target =
        tn_target_new(K.ctx, i < RUNTIME_COUNT(without) ? without[i] : "triple=x86_64-linux-gnu cpu=znver4");
    check_ok(K.ctx);
    tir_func *f = kit_func("kernel", kit_store(C, at, tir_cast(&K.arena, TN_BF16, kit_load(A, at))));
    char *text = kit_text(f, target, CODEGEN_ASSEMBLY);
    if (i < RUNTIME_COUNT(without))
      check_has_not(text, "vcvtne2ps2bf16");
    else
      check_has(text, "vcvtne2ps2bf16");
    free(text);
  }
}

static const row tie_rows[] = {{.name = "ties of f16", .to = TN_F16}, {.name = "ties of bf16", .to = TN_BF16}};

/* ---- division by constants --------------------------------------------------------------------------------------- */

typedef struct divide_row {
  const char *name;
  tir_op op;
  tn_dtype dtype;
  int64_t by;
} divide_row;

static const divide_row divide_rows[] = {
    {"i32 // 8", TIR_FLOORDIV, TN_I32, 8},   {"i32 % 8", TIR_FLOORMOD, TN_I32, 8},
    {"i32 // 7", TIR_FLOORDIV, TN_I32, 7},   {"i32 % 7", TIR_FLOORMOD, TN_I32, 7},
    {"i32 // -3", TIR_FLOORDIV, TN_I32, -3}, {"i32 % -3", TIR_FLOORMOD, TN_I32, -3},
    {"i32 // -1", TIR_FLOORDIV, TN_I32, -1}, {"i64 // 10", TIR_FLOORDIV, TN_I64, 10},
    {"i64 % 16", TIR_FLOORMOD, TN_I64, 16},  {"i8 // 5", TIR_FLOORDIV, TN_I8, 5},
    {"u8 // 200", TIR_FLOORDIV, TN_U8, 200}, {"u8 % 200", TIR_FLOORMOD, TN_U8, 200},
    {"u32 // 4", TIR_FLOORDIV, TN_U32, 4},   {"u16 % 1000", TIR_FLOORMOD, TN_U16, 1000},
};

static void test_divide(void **state) {
  const divide_row *r = *state;
  enum { N = 130 };
  for (int lanes = 1; lanes <= 13; lanes += 12) {
    kit_begin();
    const tir_buffer *A = kit_in("A", r->dtype, N), *C = kit_out("C", r->dtype, N);
    const tir_var *i = kit_var("i");
    const tir_expr *at = kit_ramp(kit_mul(kit_at(i), lanes), 1, lanes);
    const tir_expr *value = tir_binary(&K.arena, r->op, kit_load(A, at), tir_int(&K.arena, r->dtype, r->by));
    kit_fill(r->dtype, a_data, N, 7);
    kit_run(kit_func("kernel", kit_for(i, N / lanes, TIR_SERIAL, kit_store(C, at, value))), (void *[]){a_data, c_data});
    for (int64_t k = 0; k < N; ++k) {
      int64_t expected = wrap(r->dtype, integer_result(r->op, kit_get_int(r->dtype, a_data, k), r->by));
      assert_int_equal(kit_get_int(r->dtype, c_data, k), expected);
    }
  }
}

/* Vectors are divided as floats: all pairs of bytes; of wider numbers what lies beside a multiple, where a rounding would show. */
static const row quotient_rows[] = {
    {.name = "u8 // u8", .op = TIR_FLOORDIV, .from = TN_U8},
    {.name = "i8 // i8", .op = TIR_FLOORDIV, .from = TN_I8},
    {.name = "u16 // u16", .op = TIR_FLOORDIV, .from = TN_U16},
    {.name = "i16 // i16", .op = TIR_FLOORDIV, .from = TN_I16},
    {.name = "u32 // u32", .op = TIR_FLOORDIV, .from = TN_U32},
    {.name = "i32 // i32", .op = TIR_FLOORDIV, .from = TN_I32},
    {.name = "i8 % i8", .op = TIR_FLOORMOD, .from = TN_I8},
    {.name = "u32 % u32", .op = TIR_FLOORMOD, .from = TN_U32},
};

/* A divisor of any number of bits, and a multiple of it or the number before or behind one. */
static void draw_quotient(runtime_rng *rng, tn_dtype dtype, int64_t i, void *a, void *b) {
  int bits = 8 * (int)tn_dtype_bytes(dtype), kept = 1 + (int)runtime_random_below(rng, bits);
  int64_t y = runtime_random_below(rng, INT64_C(1) << kept),
          times = runtime_random_below(rng, INT64_C(1) << (bits - kept));
  int64_t x = bits == 8 ? i >> 8 : y * times + runtime_random_below(rng, 3) - 1;
  if (bits == 8) y = i & 255;
  if (bits > 8 && tn_dtype_is_signed(dtype) && runtime_random_below(rng, 2)) y = -y;
  kit_set(dtype, a, i, x, 0);
  kit_set(dtype, b, i, y, 0);
}

static void test_quotients(void **state) {
  enum { N = 1 << 16, LANES = 16 };
  static _Alignas(64) char a[N * 4], b[N * 4], c[N * 4];
  const row *r = *state;
  runtime_rng rng = {11};
  kit_begin();
  const tir_buffer *A = kit_in("A", r->from, N), *B = kit_in("B", r->from, N), *C = kit_out("C", r->from, N);
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_mul(kit_at(i), LANES), 1, LANES);
  const tir_expr *value = tir_binary(&K.arena, r->op, kit_load(A, at), kit_load(B, at));
  for (int64_t k = 0; k < N; ++k) draw_quotient(&rng, r->from, k, a, b);
  kit_run(kit_func("kernel", kit_for(i, N / LANES, TIR_SERIAL, kit_store(C, at, value))), (void *[]){a, b, c});
  for (int64_t k = 0; k < N; ++k) {
    int64_t x = kit_get_int(r->from, a, k), y = kit_get_int(r->from, b, k);
    int64_t expected = wrap(r->from, integer_result(r->op, x, y)), got = kit_get_int(r->from, c, k);
    if (got != expected)
      fail_msg("%lld and %lld: %lld, expected %lld", (long long)x, (long long)y, (long long)got, (long long)expected);
  }
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static const struct constant_row {
  const char *name;
  tn_dtype dtype;
  int64_t value;
} constant_rows[] = {{"the lowest i64", TN_I64, INT64_MIN},    {"the greatest i64", TN_I64, INT64_MAX},
                     {"5000000000", TN_I64, 5000000000},       {"-5000000000", TN_I64, -5000000000},
                     {"the lowest i32", TN_I32, INT32_MIN},    {"-1", TN_I32, -1},
                     {"the greatest u32", TN_U32, UINT32_MAX}, {"the lowest i8", TN_I8, INT8_MIN},
                     {"the greatest u16", TN_U16, UINT16_MAX}};

/* The lower half of C is A ^ constant, the upper A - constant; of each one element, or four lanes. */
static void test_constant(void **state) {
  const struct constant_row *r = *state;
  kit_fill(r->dtype, a_data, 8, 3);
  for (int lanes = 1; lanes <= 4; lanes += 3) {
    kit_begin();
    const tir_buffer *A = kit_in("A", r->dtype, 8), *C = kit_out("C", r->dtype, 8);
    const tir_expr *low = kit_ramp(kit_int(0), 1, lanes), *high = kit_ramp(kit_int(4), 1, lanes);
    const tir_expr *value = tir_int(&K.arena, r->dtype, r->value);
    if (lanes > 1) value = tir_broadcast(&K.arena, value, lanes);
    const tir_stmt *both[] = {kit_store(C, low, tir_binary(&K.arena, TIR_BITXOR, kit_load(A, low), value)),
                              kit_store(C, high, tir_binary(&K.arena, TIR_SUB, kit_load(A, high), value))};
    kit_run(kit_func("kernel", kit_seq(2, both)), (void *[]){a_data, c_data});
    for (int i = 0; i < 8; ++i) {
      if (i % 4 >= lanes) continue;
      number a = element(r->dtype, a_data, i), b = {r->value, 0};
      check_number(TIR_SUB, r->dtype, c_data, i, result(i < 4 ? TIR_BITXOR : TIR_SUB, r->dtype, a, b), lanes);
    }
  }
}

/* ---- operators inside of operators ------------------------------------------------------------------------------- */

enum { TREES = 64, LEAVES = 4 };

/* What trees are made of: small numbers, of which the results of f64 are exact. */
typedef struct forest {
  tn_dtype dtype;
  runtime_rng rng;
  const tir_expr *leaf[LEAVES];
  number value[LEAVES];
} forest;

static const tir_expr *grow(forest *f, int depth, number *value) {
  static const tir_op ints[] = {TIR_SUB,    TIR_ADD,   TIR_MUL,    TIR_FLOORDIV, TIR_FLOORMOD, TIR_MIN,
                                TIR_BITAND, TIR_BITOR, TIR_BITXOR, TIR_SHL,      TIR_SHR};
  static const tir_op floats[] = {TIR_SUB, TIR_ADD, TIR_MUL, TIR_MAX};
  bool is_float = tn_dtype_is_float(f->dtype);
  number a, b;
  if (depth == 0) {
    int i = (int)runtime_random_below(&f->rng, LEAVES);
    return *value = f->value[i], f->leaf[i];
  }
  const tir_expr *x = grow(f, (int)runtime_random_below(&f->rng, depth), &a), *y = grow(f, depth - 1, &b);
  if (runtime_random_below(&f->rng, 6) == 0) { /* x < y ? x : y - x */
    *value = compare(TIR_LT, f->dtype, a, b) ? a : result(TIR_SUB, f->dtype, b, a);
    return tir_select(&K.arena, tir_binary(&K.arena, TIR_LT, x, y), x, tir_binary(&K.arena, TIR_SUB, y, x));
  }
  tir_op op = is_float ? floats[runtime_random_below(&f->rng, RUNTIME_COUNT(floats))]
                       : ints[runtime_random_below(&f->rng, RUNTIME_COUNT(ints))];
  *value = result(op, f->dtype, a, b);
  return tir_binary(&K.arena, op, x, y);
}

/* C[lane] of each tree, on scalars and on vectors. */
static void test_trees(void **state) {
  const row *r = *state;
  for (int lanes = 1; lanes <= 4; lanes += 3) {
    forest f = {.dtype = r->from, .rng = {.state = 11}};
    number expected[TREES];
    const tir_stmt *stores[TREES];
    kit_begin();
    const tir_buffer *A = kit_in("A", r->from, LEAVES), *C = kit_out("C", r->from, TREES * 4);
    for (int i = 0; i < LEAVES; ++i) {
      f.value[i] = (number){3 * i - 4, 3 * i - 4};
      kit_set(r->from, a_data, i, f.value[i].i, f.value[i].f);
      const tir_expr *leaf = kit_load(A, kit_int(i));
      f.leaf[i] = lanes > 1 ? tir_broadcast(&K.arena, leaf, lanes) : leaf;
    }
    for (int k = 0; k < TREES; ++k)
      stores[k] = kit_store(C, kit_ramp(kit_int(k * lanes), 1, lanes), grow(&f, 4, &expected[k]));
    kit_run(kit_func("kernel", kit_seq(TREES, stores)), (void *[]){a_data, c_data});
    for (int k = 0; k < TREES * lanes; ++k) check_number(TIR_ADD, r->from, c_data, k, expected[k / lanes], lanes);
  }
}

static const row tree_rows[] = {{.name = "trees of i32", .from = TN_I32}, {.name = "trees of f64", .from = TN_F64}};

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refuse_reduce(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_F32, 1);
  static const tir_reduce reduce = {.combiner = TIR_REDUCE_SUM};
  const tir_expr *value = tir_reduce_expr(&K.arena, &reduce, tir_float(&K.arena, TN_F32, 1));
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", kit_store(C, kit_int(0), value)), NULL, &object);
  check_fails(K.ctx, TN_ERROR_INTERNAL, "REDUCE reached code generation");
  assert_null(object.data);
}

static void refuse_integer_slash(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_I32, 2), *C = kit_out("C", TN_I32, 1);
  const tir_expr *value = tir_binary(&K.arena, TIR_DIV, kit_load(A, kit_int(0)), kit_load(A, kit_int(1)));
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", kit_store(C, kit_int(0), value)), NULL, &object);
  check_fails(K.ctx, TN_ERROR_INTERNAL, "/ of integers");
}

static void refuse_unbound(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 1);
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", kit_store(C, kit_int(0), kit_at(kit_var("stray")))), NULL, &object);
  check_fails(K.ctx, TN_ERROR_INTERNAL, "variable stray", "outside its loop");
}

static void refuse_deep(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, 1), *C = kit_out("C", TN_F32, 1);
  const tir_expr *x = kit_load(A, kit_int(0)), *sum = x;
  for (int i = 0; i < 5000; ++i) sum = tir_binary(&K.arena, TIR_ADD, sum, x);
  codegen_bytes object;
  codegen_object(K.ctx, kit_func("kernel", kit_store(C, kit_int(0), sum)), NULL, &object);
  check_fails(K.ctx, TN_ERROR_CODEGEN, "nested deeper than 4000");
}

/* 2^40 paths through 40 shared nodes. */
static void shared_nodes(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_I64, 1), *C = kit_out("C", TN_I64, 1);
  const tir_expr *x = kit_load(A, kit_int(0));
  for (int i = 0; i < 40; ++i) x = tir_binary(&K.arena, TIR_ADD, x, x);
  int64_t a = 3, c = 0;
  kit_run(kit_func("kernel", kit_store(C, kit_int(0), x)), (void *[]){&a, &c});
  assert_int_equal(c, 3ll << 40);
}

/* i*2^30 + 2^30 for i < 2: the second one leaves i32 and wraps, as any value does. Widened, it would not. */
static void wraps_at_the_last_iteration(void **state) {
  (void)state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_BOOL, 2);
  const tir_var *i = kit_var("i");
  const tir_expr *value = kit_add(kit_mul(kit_at(i), 1 << 30), kit_int(1 << 30));
  const tir_expr *is_less = tir_binary(&K.arena, TIR_LT, value, kit_int(0));
  uint8_t c[2] = {7, 7};
  kit_run(kit_func("kernel", kit_for(i, 2, TIR_SERIAL, kit_store(C, kit_at(i), is_less))), (void *[]){c});
  assert_int_equal(c[0], 0);
  assert_int_equal(c[1], 1);
}

/* 200 as a u8 is no -56. */
static void an_unsigned_index_has_no_sign(void **state) {
  const tn_dtype dtypes[] = {TN_U8, TN_U16};
  (void)state;
  for (int d = 0; d < RUNTIME_COUNT(dtypes); ++d) {
    static int32_t a[65536];
    int32_t c = 0, top = d == 0 ? 200 : 60000;
    uint16_t wide = 60000;
    uint8_t narrow = 200;
    kit_begin();
    const tir_buffer *A = kit_in("A", TN_I32, 65536), *X = kit_in("X", dtypes[d], 1), *C = kit_out("C", TN_I32, 1);
    a[top] = 42;
    kit_run(kit_func("kernel", kit_store(C, kit_int(0), kit_load(A, kit_load(X, kit_int(0))))),
            (void *[]){a, d == 0 ? (void *)&narrow : &wide, &c});
    assert_int_equal(c, 42);
  }
}

static void name_rows(row *rows, int n) {
  for (int i = 0; i < n; ++i) rows[i].name = rows[i].text;
}

int test_ops_run(void) {
  static row ops[TIR_OP_COUNT * TN_DTYPE_COUNT], casts[TN_DTYPE_COUNT * TN_DTYPE_COUNT];
  int n_ops = op_rows(ops), n_casts = cast_rows(casts);
  name_rows(ops, n_ops);
  name_rows(casts, n_casts);
  return check_table("operators", ops, sizeof *ops, (size_t)n_ops, test_op, NULL, NULL) +
         check_table("casts", casts, sizeof *casts, (size_t)n_casts, test_cast, NULL, NULL) +
         CHECK_TABLE("ties of halves", tie_rows, test_ties) + CHECK_TABLE("constants", constant_rows, test_constant) +
         CHECK_TABLE("operators inside of operators", tree_rows, test_trees) +
         CHECK_TABLE("division by constants", divide_rows, test_divide) +
         CHECK_TABLE("quotients of vectors", quotient_rows, test_quotients);
}

int test_ops(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(refuse_reduce),
                                            cmocka_unit_test(test_bf16_instructions),
                                            cmocka_unit_test(refuse_integer_slash),
                                            cmocka_unit_test(refuse_unbound),
                                            cmocka_unit_test(refuse_deep),
                                            cmocka_unit_test(shared_nodes),
                                            cmocka_unit_test(wraps_at_the_last_iteration),
                                            cmocka_unit_test(an_unsigned_index_has_no_sign)};
  return test_ops_run() + CHECK_TESTS("operators, the rest", tests);
}
