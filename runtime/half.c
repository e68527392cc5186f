/* half.c: f16 (IEEE binary16) and bf16 (the upper half of an f32) on the host, bit by bit, for evaluating
 * and checking, so that no compiler's half type is needed. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "runtime/base.h"

/* Uses memcpy, since casting the pointer would break C's aliasing rules. */
static uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The same bits as a number; a cast of pointers would break the aliasing rules here, too. */
static float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ---- f16: 5 bits of exponent, 10 of fraction --------------------------------------------------------------------- */

/* Exact, since every f16 is a double. An exponent of 31 means infinity or NaN; one of 0, a multiple of 2^-24. */
static double f16_value(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                : exponent > 0 ? ldexp(1024 + fraction, exponent - 25)
                               : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

/* Rounds to the nearest multiple of the last place; from 65520 on the result is infinity. */
static uint16_t f16_bits(float value) {
  uint16_t sign = (uint16_t)(bits_of_float(value) >> 16 & 0x8000);
  double size = fabs((double)value);
  int exponent;
  if (isnan(value)) return sign | 0x7E00;
  if (size >= 65520) return sign | 0x7C00;
  frexp(size, &exponent);
  if (size < 0x1p-14) exponent = -13;                             /* denormal, or 0 */
  int64_t units = (int64_t)nearbyint(ldexp(size, 11 - exponent)); /* 1024 .. 2048 of them, fewer when denormal */
  return (uint16_t)(sign + (((exponent + 13) << 10) + units));
}

/* ---- bf16 -------------------------------------------------------------------------------------------------------- */

/* Adding 0x7FFF plus the last bit that is kept, and truncating, rounds to nearest, ties to even. A carry
 * into the exponent is right, too, up to infinity. NaN is handled separately, since a carry could turn it
 * into infinity. */
static uint16_t bf16_bits(float value) {
  uint32_t bits = bits_of_float(value);
  if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

double runtime_half_value(tn_dtype dtype, uint16_t bits) {
  return dtype == TN_F16 ? f16_value(bits) : (double)float_of_bits((uint32_t)bits << 16);
}

/* VALUE is first rounded to f32 and then to the dtype, as compiled code does it. That may differ in the
 * last bit from rounding once. */
uint16_t runtime_half_bits(tn_dtype dtype, double value) {
  return dtype == TN_F16 ? f16_bits((float)value) : bf16_bits((float)value);
}

double runtime_rounded(tn_dtype dtype, double value) {
  if (runtime_is_half(dtype)) return runtime_half_value(dtype, runtime_half_bits(dtype, value));
  return dtype == TN_F32 ? (double)(float)value : value;
}

double runtime_float_unit(tn_dtype dtype) {
  static const double units[TN_DTYPE_COUNT] = {
      [TN_F16] = 0x1p-10, [TN_BF16] = 0x1p-7, [TN_F32] = FLT_EPSILON, [TN_F64] = DBL_EPSILON};
  return units[dtype];
}
