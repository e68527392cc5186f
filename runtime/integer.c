/* integer.c: the functions of integer.h, one for each operator. Operators whose exact result may not fit 64
 * bits come first; the others always fit and are made by a macro. */
#include "runtime/integer.h"

/* ---- operators whose exact value may not fit --------------------------------------------------------------------- */

/* The compiler's builtins give both at once: the wrapped value, and whether it is exact. */
bool runtime_integer_add(int64_t a, int64_t b, int bits, int64_t *out) {
  (void)bits;
  return !__builtin_add_overflow(a, b, out);
}

bool runtime_integer_sub(int64_t a, int64_t b, int bits, int64_t *out) {
  (void)bits;
  return !__builtin_sub_overflow(a, b, out);
}

bool runtime_integer_mul(int64_t a, int64_t b, int bits, int64_t *out) {
  (void)bits;
  return !__builtin_mul_overflow(a, b, out);
}

/* Only INT64_MIN // -1 does not fit. */
bool runtime_integer_floordiv(int64_t a, int64_t b, int bits, int64_t *out) {
  (void)bits;
  *out = runtime_floordiv(a, b);
  return !(a == INT64_MIN && b == -1);
}

/* Only INT64_MIN has no absolute value of its own width. */
bool runtime_integer_abs(int64_t a, int64_t b, int bits, int64_t *out) {
  (void)b, (void)bits;
  *out = a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
  return a != INT64_MIN;
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

/* The lower BITS bits. */
static uint64_t low(int64_t a, int bits) { return (uint64_t)a & (UINT64_MAX >> (64 - bits)); }

/* A shift by a negative amount, or by the width or more, shifts everything out. */
static bool shifts_all(int64_t by, int bits) { return by < 0 || by >= bits; }

#define TOTAL(name, value)                                                    \
  bool runtime_integer_##name(int64_t a, int64_t b, int bits, int64_t *out) { \
    (void)a, (void)b, (void)bits;                                             \
    *out = (value);                                                           \
    return true;                                                              \
  }

TOTAL(floormod, runtime_floormod(a, b))
TOTAL(min, a < b ? a : b)
TOTAL(max, a > b ? a : b)
TOTAL(eq, a == b)
TOTAL(ne, a != b)
TOTAL(lt, a < b)
TOTAL(le, a <= b)
TOTAL(gt, a > b)
TOTAL(ge, a >= b)
TOTAL(and, a &&b)
TOTAL(or, a || b)
TOTAL(not, !a)
TOTAL(bitand, a &b)
TOTAL(bitor, a | b)
TOTAL(bitxor, a ^ b)
TOTAL(bitnot, ~a)
TOTAL(shl, shifts_all(b, bits) ? 0 : (int64_t)((uint64_t)a << b))
TOTAL(shr, a >> (shifts_all(b, bits) ? 63 : b))
TOTAL(popcount, __builtin_popcountll(low(a, bits)))
TOTAL(clz, low(a, bits) == 0 ? bits : __builtin_clzll(low(a, bits)) - (64 - bits))
