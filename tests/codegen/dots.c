/* Dot products of groups of lanes: against plain C, with and without the instructions; the instructions in the assembly
 * of cross targets. Loads in groups and rows, which feed them. */
#include <math.h>

#include "tests/codegen/kit.h"

enum { LANES = 20, MOST = 4 * LANES };

/* ---- loads from a table of offsets ------------------------------------------------------------------------------- */

typedef struct table_row {
  const char *name;
  tn_dtype dtype;
  int lanes, group, outer, inner; /* element of lane l: step*i + (l // group) * outer + (l % group) * inner */
  int step;
} table_row;

static const table_row table_rows[] = {
    {"4 bytes for all lanes", TN_U8, 64, 4, 0, 1, 4},
    {"4 bytes, each again", TN_I8, 32, 4, 4, 0, 4},
    {"pairs for all lanes", TN_BF16, 32, 2, 0, 1, 2},
    {"words here and there", TN_I8, 64, 4, 37, 1, 4},
    {"4 rows of 16 bytes", TN_I8, 64, 4, 1, 50, 16},
    {"2 rows of 16 halves", TN_BF16, 32, 2, 1, 33, 16},
    {"3 rows", TN_I32, 24, 3, 1, 40, 8},
    {"rows of odd length", TN_F32, 20, 4, 1, 7, 3},
    {"overlapping rows", TN_F32, 16, 4, 1, 2, 1},
    {"pairs of f32", TN_F32, 16, 2, 9, 1, 2},
    {"booleans", TN_BOOL, 16, 4, 0, 1, 4},
    {"rows backwards", TN_I16, 32, 4, 1, -20, 8},
    {"all apart", TN_I32, 16, 4, 100, 9, 1},
    {"8 rows of 8", TN_U8, 64, 8, 1, 8, 64},
    {"9 rows, too many", TN_U8, 63, 9, 1, 30, 7},
};

static int64_t element(const table_row *r, int64_t lane) {
  return lane / r->group * r->outer + lane % r->group * r->inner;
}

/* C[l] = A[first + element(l) + step*i] for two i; A ends at a page that cannot be touched. */
static void load_table(void **state) {
  const table_row *r = *state;
  int64_t low = 0, high = 0;
  for (int64_t l = 0; l < r->lanes; ++l) {
    if (element(r, l) < low) low = element(r, l);
    if (element(r, l) > high) high = element(r, l);
  }
  int64_t n = high - low + 1 + r->step;
  size_t item = tn_dtype_bytes(r->dtype);
  char *a = kit_guarded((size_t)n * item), *c = malloc(2 * (size_t)r->lanes * item);
  kit_begin();
  const tir_buffer *A = kit_in("A", r->dtype, n), *C = kit_out("C", r->dtype, 2 * r->lanes);
  const tir_var *i = kit_var("i");
  const tir_expr *lane = kit_ramp(kit_int(0), 1, r->lanes), *group = kit_int(r->group);
  const tir_expr *outer = kit_mul(tir_binary(&K.arena, TIR_FLOORDIV, lane, group), r->outer);
  const tir_expr *inner = kit_mul(tir_binary(&K.arena, TIR_FLOORMOD, lane, group), r->inner);
  const tir_expr *base = kit_add(kit_mul(kit_at(i), r->step), kit_int(-low));
  const tir_expr *value = kit_load(A, kit_add(kit_add(base, outer), inner));
  const tir_expr *to = kit_ramp(kit_mul(kit_at(i), r->lanes), 1, r->lanes);
  kit_fill(r->dtype, a, n, 3);
  kit_run(kit_func("kernel", kit_for(i, 2, TIR_SERIAL, kit_store(C, to, value))), (void *[]){a, c});
  for (int64_t k = 0; k < 2 * r->lanes; ++k) {
    int64_t from = k / r->lanes * r->step - low + element(r, k % r->lanes);
    assert_memory_equal(c + k * (int64_t)item, a + from * (int64_t)item, item);
  }
  kit_guarded_free(a, (size_t)n * item);
  free(c);
}

/* (4*i + l) // 4 and % 4, as a fused loop leaves them, when it does not start at 0. */
static void load_table_at_a_base(void **state) {
  (void)state;
  int8_t a[256], c[128];
  for (int i = 0; i < 256; ++i) a[i] = (int8_t)(i * 7);
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_I8, 256), *C = kit_out("C", TN_I8, 128);
  const tir_var *i = kit_var("i");
  const tir_expr *at = kit_ramp(kit_mul(kit_at(i), 32), 1, 32), *four = kit_int(4);
  const tir_expr *index =
      kit_add(kit_mul(tir_binary(&K.arena, TIR_FLOORMOD, at, four), 64), tir_binary(&K.arena, TIR_FLOORDIV, at, four));
  kit_run(kit_func("kernel", kit_for(i, 4, TIR_SERIAL, kit_store(C, at, kit_load(A, index)))), (void *[]){a, c});
  for (int k = 0; k < 128; ++k) assert_int_equal(c[k], a[k % 4 * 64 + k / 4]);
}

/* ---- dot products ------------------------------------------------------------------------------------------------ */

typedef struct dot_row {
  const char *name;
  tn_dtype a, b;
} dot_row;

static const dot_row dot_rows[] = {
    {"u8 i8", TN_U8, TN_I8}, {"i8 u8", TN_I8, TN_U8},    {"i8 i8", TN_I8, TN_I8},
    {"u8 u8", TN_U8, TN_U8}, {"bf16", TN_BF16, TN_BF16},
};

/* D[..] = dot(C[..], A[..], B[..]) */
static tir_func *dot_func(const dot_row *r, int lanes) {
  tn_dtype acc = r->a == TN_BF16 ? TN_F32 : TN_I32;
  int group = tir_dot_group(acc);
  kit_begin();
  const tir_buffer *A = kit_in("A", r->a, group * lanes), *B = kit_in("B", r->b, group * lanes);
  const tir_buffer *C = kit_in("C", acc, lanes), *D = kit_out("D", acc, lanes);
  const tir_expr *at = kit_ramp(kit_int(0), 1, lanes), *wide = kit_ramp(kit_int(0), 1, group * lanes);
  return kit_func("dot", kit_store(D, at, tir_dot(&K.arena, kit_load(C, at), kit_load(A, wide), kit_load(B, wide))));
}

static void check_dots(const dot_row *r, int lanes, const void *a, const void *b, const void *c, const void *d) {
  int group = r->a == TN_BF16 ? 2 : 4;
  for (int l = 0; l < lanes; ++l) {
    int64_t sum = kit_get_int(TN_I32, c, l);
    double real = kit_get(TN_F32, c, l), size = fabs(real);
    for (int k = group * l; k < group * (l + 1); ++k) {
      double product = r->a == TN_BF16 ? kit_get(r->a, a, k) * kit_get(r->b, b, k) : 0;
      if (r->a != TN_BF16) sum += kit_get_int(r->a, a, k) * kit_get_int(r->b, b, k);
      real += product, size += fabs(product);
    }
    if (group == 4)
      assert_int_equal(kit_get_int(TN_I32, d, l), (int32_t)(uint32_t)sum);
    else if (size < 1e37)
      assert_true(fabs(kit_get(TN_F32, d, l) - real) <= 3 * size * 0x1p-24 + 1e-37);
  }
}

static void run_dots(const dot_row *r, const tn_target *target) {
  char a[MOST], b[MOST], c[4 * LANES], d[4 * LANES];
  static const int all_lanes[] = {4, 8, 12, 16, 20};
  for (int seed = 0; seed < 15; ++seed) {
    int lanes = all_lanes[seed % 5];
    tir_func *f = dot_func(r, lanes);
    kit_fill(r->a, a, r->a == TN_BF16 ? 2 * lanes : 4 * lanes, 10 + (uint64_t)seed);
    kit_fill(r->b, b, r->a == TN_BF16 ? 2 * lanes : 4 * lanes, 50 + (uint64_t)seed);
    kit_fill(r->a == TN_BF16 ? TN_F32 : TN_I32, c, lanes, 90 + (uint64_t)seed);
    for (int l = 0; l < 2 * lanes && r->a == TN_BF16; ++l) { /* neither infinities nor subnormals */
      ((uint16_t *)a)[l] = (uint16_t)(((uint16_t *)a)[l] & 0x83FF) | 0x3C00;
      ((uint16_t *)b)[l] = (uint16_t)(((uint16_t *)b)[l] & 0x83FF) | 0x3C00;
      ((float *)c)[l / 2] = (float)(l * 3 - 20) / 7;
    }
    tn_kernel *k = kit_compile(f, target);
    assert_int_equal(kit_call(k, (void *[]){a, b, c, d}), 0);
    check_dots(r, lanes, a, b, c, d);
    tn_kernel_free(k);
  }
}

static void dots(void **state) { run_dots(*state, NULL); }

/* The plain code on whatever machine this is. */
static void dots_without(void **state) {
  const tn_target *target = tn_target_new(K.ctx, "features=-avx512vnni,-avx512bf16,-avxvnni");
  if (target == NULL) { /* no x86 */
    tn_context_clear(K.ctx);
    skip();
  }
  run_dots(*state, target);
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

typedef struct code_row {
  const char *name, *features; /* of the target */
  tn_dtype a, b;
  int lanes;
  const char *has, *has_not;
} code_row;

#define V4 "triple=x86_64-linux-gnu cpu=x86-64-v4 features="
#define V3 "triple=x86_64-linux-gnu cpu=x86-64-v3 features="
static const code_row code_rows[] = {
    {"u8 i8, 16 lanes, vnni", V4 "+avx512vnni", TN_U8, TN_I8, 16, "vpdpbusd", "vpmadd"},
    {"u8 i8, 8 lanes, vnni", V4 "+avx512vnni", TN_U8, TN_I8, 8, "%ymm", "%zmm"},
    {"i8 i8, 16 lanes, vnni", V4 "+avx512vnni", TN_I8, TN_I8, 16, "vpdpbusd", "vpmull"},
    {"u8 i8, 16 lanes, avx-vnni", V3 "+avxvnni", TN_U8, TN_I8, 16, "vpdpbusd", "%zmm"},
    {"u8 i8, 16 lanes, none", V4, TN_U8, TN_I8, 16, "%zmm", "vpdpbusd"},
    {"bf16, 16 lanes, avx512-bf16", V4 "+avx512bf16", TN_BF16, TN_BF16, 16, "vdpbf16ps", "vfmadd"},
    {"bf16, 4 lanes, avx512-bf16", V4 "+avx512bf16", TN_BF16, TN_BF16, 4, "vdpbf16ps", "%ymm"},
    {"bf16, 16 lanes, none", V3, TN_BF16, TN_BF16, 16, "vfmadd", "vdpbf16ps"},
    {"u8 i8, aarch64", "triple=aarch64-linux-gnu", TN_U8, TN_I8, 16, ".4s", "vpdpbusd"},
};

static void code(void **state) {
  const code_row *r = *state;
  char text[160];
  snprintf(text, sizeof text, "%s", r->features);
  if (text[strlen(text) - 1] == '=') text[strlen(text) - strlen(" features=")] = '\0';
  const tn_target *target = tn_target_new(K.ctx, text);
  check_ok(K.ctx);
  dot_row row = {r->name, r->a, r->b};
  char *assembly = kit_text(dot_func(&row, r->lanes), target, CODEGEN_ASSEMBLY);
  check_has(assembly, r->has);
  check_has_not(assembly, r->has_not);
  free(assembly);
}

int test_dots_run(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(load_table_at_a_base)};
  return CHECK_TABLE("loads of groups and rows", table_rows, load_table) +
         CHECK_TESTS("loads of groups and rows", tests) + CHECK_TABLE("dots", dot_rows, dots);
}

int test_dots(void) {
  return test_dots_run() + CHECK_TABLE("dots without instructions", dot_rows, dots_without) +
         CHECK_TABLE("dots: instructions", code_rows, code);
}
