/* c_prelude.c: the head of a C file: includes, vector types, and the functions that give C's integers
 * and casts the semantics of tir/ir.h. Only what the kernel uses is written. Two tables: vector types,
 * of which flags say what is used, and helper functions with a body for signed, unsigned and float
 * dtypes. */
#include "codegen/c_emit.h"
#include "codegen/erf.h"

/* ---- types ------------------------------------------------------------------------------------------------------- */

const char *codegen_c_type(tn_dtype dtype) {
  static const char *const names[TN_DTYPE_COUNT] = {
#define X(name, text, bytes, code, ctype) [TN_##name] = #ctype,
      TN_DTYPES(X)
#undef X
  };
  return names[dtype];
}

static tn_dtype mask_dtype(int bytes) {
  return bytes == 1 ? TN_I8 : bytes == 2 ? TN_I16 : bytes == 4 ? TN_I32 : TN_I64;
}

/* LANES is a power of two. Notes that the type is needed. */
const char *codegen_c_vector(codegen_c_emitter *m, tn_dtype dtype, int lanes, int uses) {
  m->types[dtype][__builtin_ctz((unsigned)lanes)] |= (uint8_t)(uses | CODEGEN_C_VECTOR);
  if (uses & CODEGEN_C_SELECT) codegen_c_mask(m, (int)tn_dtype_bytes(dtype), lanes);
  return runtime_format(&m->arena, "%sx%d", tn_dtype_name(dtype), lanes);
}

/* Lanes of signed integers overflow undefined in C; unsigned ones wrap. */
const char *codegen_c_wrapping_vector(codegen_c_emitter *m, tn_dtype dtype, int lanes) {
  static const tn_dtype unsigned_of[TN_DTYPE_COUNT] = {[TN_I8] = TN_U8, [TN_I16] = TN_U16, [TN_I32] = TN_U32};
  if (dtype != TN_I64) return codegen_c_vector(m, unsigned_of[dtype] ? unsigned_of[dtype] : dtype, lanes, 0);
  codegen_c_vector(m, dtype, lanes, CODEGEN_C_WRAPS);
  return runtime_format(&m->arena, "u64x%d", lanes);
}

/* Of the signed integers of BYTES. */
const char *codegen_c_mask(codegen_c_emitter *m, int bytes, int lanes) {
  return codegen_c_vector(m, mask_dtype(bytes), lanes, CODEGEN_C_VECTOR);
}

/* MASK_BYTES 0: no mask. */
const char *codegen_c_value_type(codegen_c_emitter *m, const tir_expr *e, int mask_bytes) {
  int lanes = codegen_c_lanes(m, e);
  if (lanes == 1) return codegen_c_is_index(m, e) ? codegen_c_index_type(m) : codegen_c_type((tn_dtype)e->dtype);
  return mask_bytes ? codegen_c_mask(m, mask_bytes, lanes) : codegen_c_vector(m, (tn_dtype)e->dtype, lanes, 0);
}

/* The typedefs and macros of one type, as far as they are used. */
static void add_vector(runtime_str *out, tn_dtype dtype, int lanes, int uses) {
  const char *name = tn_dtype_name(dtype), *type = codegen_c_type(dtype);
  int bytes = (int)tn_dtype_bytes(dtype);
  runtime_str_addf(out, "typedef %s %sx%d __attribute__((vector_size(%d)));\n", type, name, lanes, bytes * lanes);
  if (uses & CODEGEN_C_WRAPS) {
    runtime_str_addf(out, "typedef uint64_t u64x%d __attribute__((vector_size(%d)));\n", lanes, bytes * lanes);
  }
  if (uses & CODEGEN_C_UNALIGNED) {
    runtime_str_addf(out, "typedef %s %sx%du __attribute__((vector_size(%d), aligned(%d), may_alias));\n", type, name,
                     lanes, bytes * lanes, bytes);
  }
  if (uses & CODEGEN_C_SPLAT) {
    runtime_str_addf(out, "#define %sx%d_splat(x) ((%s)(x) - (%sx%d){0})\n", name, lanes, type, name, lanes);
  }
  if (uses & CODEGEN_C_SELECT) {
    const char *mask = tn_dtype_name(mask_dtype(bytes));
    runtime_str_addf(out, "#define %sx%d_select(m, a, b) ((%sx%d)(((%sx%d)(a) & (m)) | ((%sx%d)(b) & ~(m))))\n", name,
                     lanes, name, lanes, mask, lanes, mask, lanes);
  }
}

/* In the order of dtypes and lanes: the same kernel gives the same file. */
static void add_vectors(const codegen_c_emitter *m, runtime_str *out) {
  size_t before = out->n;
  for (int dtype = 0; dtype < TN_DTYPE_COUNT; dtype++) {
    for (int row = 1; row < CODEGEN_C_LANE_ROWS; row++) {
      if (m->types[dtype][row]) add_vector(out, (tn_dtype)dtype, 1 << row, m->types[dtype][row]);
    }
  }
  if (out->n > before) runtime_str_add(out, "\n");
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* In the bodies $N is the function's name, $T the C type, $U the unsigned one in which it wraps, $M and $H its lowest
 * and highest value, $W its width in bits, $V the unsigned type of that width, $L the lowest as a floating-point
 * number, $P the power of two after the highest. */
typedef struct helper_row {
  const char *name;                               /* with $D for the dtype */
  const char *is_signed, *is_unsigned, *is_float; /* bodies; NULL: there is none */
} helper_row;

#define OF_FLOAT(type) \
  "static inline $T $N(" type " x) {\n  return x != x ? 0 : x <= $L ? $M : x >= $P ? $H : ($T)x;\n}\n"

/* Straight on: a loop over lanes becomes vector code. */
#define ERF_STEP(number, name, at) "  " name " = " name " * " at " + " #number "f;\n"
#define ERF_NEAR(number) ERF_STEP(number, "near", "xx")
#define ERF_FAR(number) ERF_STEP(number, "far.value", "a")
#define ERF_POWER(number) ERF_STEP(number, "power.value", "r")
#define ERF_TEXT(number) #number
#define ERF_TEXT_OF(number) ERF_TEXT(number)
#define ERF_BODY \
  "static inline float $N(float x) {\n  union {\n    float value;\n    uint32_t bits;\n"                              \
  "  } far = {.value = 0}, power = {.value = 0};\n"                                                                  \
  "  float xx = x * x, near = 0, all = fabsf(x), a = all > " ERF_TEXT_OF(CODEGEN_ERF_MOST) " ? "                         \
  ERF_TEXT_OF(CODEGEN_ERF_MOST) " : all;\n" CODEGEN_ERF_NEAR(ERF_NEAR) CODEGEN_ERF_FAR(ERF_FAR)                          \
  "  float v = far.value, r;\n  far.value = v + 0x1.8p23f;\n  r = v - (far.value - 0x1.8p23f);\n"                    \
  CODEGEN_ERF_POWER(ERF_POWER) "  power.bits += far.bits << 23;\n"                                                   \
  "  return a >= 1 ? copysignf(1 - power.value, x) : x + x * near;\n}\n"

/* Written into the source in this order, and only those that the kernel uses. */
static const helper_row rows[CODEGEN_C_HELPER_COUNT] = {
    [CODEGEN_C_FLOORDIV] = {"floordiv_$D",
                            "static inline $T $N($T a, $T b) {\n  if (b == 0) return 0;\n"
                            "  if (b == -1) return ($T)(0 - ($U)a);\n"
                            "  return ($T)(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));\n}\n",
                            "static inline $T $N($T a, $T b) {\n  return ($T)(b == 0 ? 0 : a / b);\n}\n", NULL},
    [CODEGEN_C_FLOORMOD] = {"floormod_$D",
                            "static inline $T $N($T a, $T b) {\n  if (b == 0 || b == -1) return 0;\n"
                            "  return ($T)(a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0));\n}\n",
                            "static inline $T $N($T a, $T b) {\n  return ($T)(b == 0 ? 0 : a % b);\n}\n", NULL},
#define ALL(body) body, body, body
    [CODEGEN_C_MIN] = {"min_$D", ALL("static inline $T $N($T a, $T b) {\n  return a < b ? a : b;\n}\n")},
    [CODEGEN_C_MAX] = {"max_$D", ALL("static inline $T $N($T a, $T b) {\n  return a > b ? a : b;\n}\n")},
#undef ALL
    [CODEGEN_C_ABS] = {"abs_$D", "static inline $T $N($T a) {\n  return a < 0 ? ($T)(0 - ($U)a) : a;\n}\n", NULL, NULL},
    [CODEGEN_C_SHL] = {"shl_$D",
                       "static inline $T $N($T a, $T b) {\n  return ($T)(b < 0 || b >= $W ? 0 : ($U)a << b);\n}\n",
                       "static inline $T $N($T a, $T b) {\n  return ($T)(b >= $W ? 0 : ($U)a << b);\n}\n", NULL},
    [CODEGEN_C_SHR] = {"shr_$D",
                       "static inline $T $N($T a, $T b) {\n  return ($T)(a >> (b < 0 || b >= $W ? $W - 1 : b));\n}\n",
                       "static inline $T $N($T a, $T b) {\n  return ($T)(b >= $W ? 0 : a >> b);\n}\n", NULL},
#define BOTH(body) body, body, NULL
    [CODEGEN_C_POPCOUNT] = {"popcount_$D",
                            BOTH("static inline $T $N($T a) {\n  return ($T)__builtin_popcountll(($V)a);\n}\n")},
    [CODEGEN_C_CLZ] = {"clz_$D", BOTH("static inline $T $N($T a) {\n"
                                      "  return ($T)(a == 0 ? $W : __builtin_clzll(($V)a) - (64 - $W));\n}\n")},
#undef BOTH
    [CODEGEN_C_FROM_F16] = {"f32_of_$D", NULL, NULL,
                            "static inline float $N(uint16_t x) {\n  union {\n    uint16_t bits;\n"
                            "    _Float16 value;\n  } both = {.bits = x};\n  return (float)both.value;\n}\n"},
    [CODEGEN_C_TO_F16] = {"$D_of_f32", NULL, NULL,
                          "static inline uint16_t $N(float x) {\n  union {\n    uint16_t bits;\n"
                          "    _Float16 value;\n  } both = {.value = (_Float16)x};\n  return both.bits;\n}\n"},
    [CODEGEN_C_FROM_BF16] = {"f32_of_$D", NULL, NULL,
                             "static inline float $N(uint16_t x) {\n  union {\n    uint32_t bits;\n"
                             "    float value;\n  } both = {.bits = (uint32_t)x << 16};\n  return both.value;\n}\n"},
    [CODEGEN_C_TO_BF16] = {"$D_of_f32", NULL, NULL,
                           "static inline uint16_t $N(float x) {\n  union {\n    uint32_t bits;\n"
                           "    float value;\n  } both = {.value = x};\n"
                           "  uint32_t up = both.bits + 0x7FFF + (both.bits >> 16 & 1);\n"
                           "  return (uint16_t)((x != x ? both.bits | 0x400000 : up) >> 16);\n}\n"},
    [CODEGEN_C_OF_F32] = {"$D_of_f32", OF_FLOAT("float"), OF_FLOAT("float"), NULL},
    [CODEGEN_C_OF_F64] = {"$D_of_f64", OF_FLOAT("double"), OF_FLOAT("double"), NULL},
    [CODEGEN_C_ERF] = {"erf_$D", NULL, NULL, ERF_BODY},
};

/* What conversions and shifts of an integer dtype have to know of it, as C writes it. */
typedef struct limit_row {
  const char *of_unsigned;                                               /* the type in which it wraps */
  const char *low_value, *lowest, *highest, *power, *width, *same_width; /* low_value: as a floating-point literal */
} limit_row;

/* What a cast from a float to the dtype compares with and gives, as C writes it. */
static const limit_row limits[TN_DTYPE_COUNT] = {
    [TN_I8] = {"uint32_t", "-0x1p7f", "INT8_MIN", "INT8_MAX", "0x1p7f", "8", "uint8_t"},
    [TN_U8] = {"uint32_t", "0", "0", "UINT8_MAX", "0x1p8f", "8", "uint8_t"},
    [TN_I16] = {"uint32_t", "-0x1p15f", "INT16_MIN", "INT16_MAX", "0x1p15f", "16", "uint16_t"},
    [TN_U16] = {"uint32_t", "0", "0", "UINT16_MAX", "0x1p16f", "16", "uint16_t"},
    [TN_I32] = {"uint32_t", "-0x1p31f", "INT32_MIN", "INT32_MAX", "0x1p31f", "32", "uint32_t"},
    [TN_U32] = {"uint32_t", "0", "0", "UINT32_MAX", "0x1p32f", "32", "uint32_t"},
    [TN_I64] = {"uint64_t", "-0x1p63f", "INT64_MIN", "INT64_MAX", "0x1p63f", "64", "uint64_t"},
};

/* Copies TEMPLATE with what stands for its letters. */
static void fill(runtime_str *out, const char *template, tn_dtype dtype, const char *name) {
  const limit_row *limit = &limits[dtype];
  const char *const words[128] = {
      ['T'] = codegen_c_type(dtype), ['D'] = tn_dtype_name(dtype), ['N'] = name,           ['U'] = limit->of_unsigned,
      ['L'] = limit->low_value,      ['M'] = limit->lowest,        ['H'] = limit->highest, ['P'] = limit->power,
      ['W'] = limit->width,          ['V'] = limit->same_width};
  for (const char *at = template; *at != '\0'; at++) {
    if (*at == '$')
      runtime_str_add(out, words[(unsigned char)*++at & 127]);
    else
      runtime_str_addn(out, at, 1);
  }
}

/* Notes that the helper is needed and gives its name. */
const char *codegen_c_use(codegen_c_emitter *m, codegen_c_helper helper, tn_dtype dtype) {
  runtime_str name = {0};
  m->helpers[helper][dtype] = true;
  fill(&name, rows[helper].name, dtype, "");
  const char *kept = runtime_str_take(&name, &m->arena);
  if (kept == NULL) longjmp(*m->arena.on_oom, 1);
  return kept;
}

/* After the types that they use. */
static void add_helpers(codegen_c_emitter *m, runtime_str *out) {
  for (int helper = 0; helper < CODEGEN_C_HELPER_COUNT; helper++) {
    for (int i = 0; i < TN_DTYPE_COUNT; i++) {
      if (!m->helpers[helper][i]) continue;
      tn_dtype dtype = (tn_dtype)i;
      const helper_row *row = &rows[helper];
      const char *body = tn_dtype_is_float(dtype)    ? row->is_float
                         : tn_dtype_is_signed(dtype) ? row->is_signed
                                                     : row->is_unsigned;
      fill(out, body, dtype, codegen_c_use(m, (codegen_c_helper)helper, dtype));
      runtime_str_add(out, "\n");
    }
  }
}

/* A compiler cannot follow that scratch is read where, and only where, it was written. */
static const char quiet[] =
    "#pragma GCC diagnostic ignored \"-Wuninitialized\"\n#ifndef __clang__\n"
    "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n#endif\n\n";

/* Written last, when the body is known. */
void codegen_c_prelude(codegen_c_emitter *m, runtime_str *out) {
  runtime_str_add(out, "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n\n");
  if (m->has_arrays) runtime_str_add(out, quiet);
  add_vectors(m, out);
  add_helpers(m, out);
}
