/* math.c: functions of f32 computed in double. The argument is first reduced to a range near 0, where a series
 * is accurate, so that only the last rounding is left. Slower than a C library's, but equally slow for all
 * candidates. */
#include "runner/math.h"

#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, __SIZE_TYPE__ n);

#define INFINITE __builtin_inf()
#define NO_NUMBER __builtin_nan("")
#define LN2 0.69314718055994530942

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* 2^N for N from -1022 to 1023. */
static double power_of_two(int n) { return of_bits((uint64_t)(n + 1023) << 52); }

/* ---- whole numbers ----------------------------------------------------------------------------------------------- */

/* From 2^23 on every float is a whole number; so are infinities and NaNs for the purposes here. */
static int is_whole(float x) { return !(__builtin_fabsf(x) < 0x1p23f); }

float truncf(float x) { return is_whole(x) ? x : __builtin_copysignf((float)(int32_t)x, x); }

float floorf(float x) {
  float t = truncf(x);
  return t > x ? t - 1 : t;
}

float ceilf(float x) { return -floorf(-x); }

float roundf(float x) {
  return is_whole(x) ? x : __builtin_copysignf(truncf((float)((double)__builtin_fabsf(x) + 0.5)), x);
}

float roundevenf(float x) {
  float r = roundf(x), t = truncf(x);
  return __builtin_fabsf(x - t) == 0.5f && (int32_t)t % 2 == 0 ? t : r;
}

/* Subtracts y times powers of two, the largest first: each subtraction is exact. */
float fmodf(float x, float y) {
  double a = __builtin_fabs((double)x), b = __builtin_fabs((double)y), step = b;
  if (!(a < INFINITE) || !(b > 0)) return (float)NO_NUMBER;
  if (!(b < INFINITE)) return x;
  while (step <= a / 2) step *= 2;
  for (; step >= b; step /= 2)
    if (a >= step) a -= step;
  return __builtin_copysignf((float)a, x);
}

/* The product is exact in double. */
float fmaf(float x, float y, float z) { return (float)((double)x * (double)y + (double)z); }

/* ---- exponentials and logarithms --------------------------------------------------------------------------------- */

/* x = n ln 2 + r with |r| at most ln 2 / 2; ln 2 is subtracted in two parts so that r keeps its digits. The
 * scale is applied in two steps where 2^n alone would leave the range. */
double exp(double x) {
  if (x != x) return x;
  if (x > 709.8) return INFINITE;
  if (x < -745.2) return 0;
  int n = (int)(x / LN2 + (x < 0 ? -0.5 : 0.5));
  double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10, sum = 1;
  for (int k = 14; k > 0; k--) sum = 1 + sum * r / k;
  return n < -1000 ? sum * power_of_two(n + 200) * power_of_two(-200)
                   : sum * power_of_two(n / 2) * power_of_two(n - n / 2);
}

/* The exponent times ln 2, and a series of atanh for the mantissa, which is brought between sqrt(1/2) and sqrt(2). */
double log(double x) {
  if (!(x > 0)) return x == 0 ? -INFINITE : NO_NUMBER;
  if (x - x != 0) return x;
  int n = 0;
  if (x < 0x1p-1022) x *= 0x1p54, n = -54;
  uint64_t bits = bits_of(x);
  n += (int)(bits >> 52) - 1023;
  double m = of_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.41421356237309504880) m /= 2, n++;
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = 23; k > 0; k -= 2) sum = sum * square + 1.0 / k;
  return n * LN2 + 2 * s * sum;
}

float expf(float x) { return (float)exp((double)x); }
float exp2f(float x) { return (float)exp((double)x * LN2); }
float logf(float x) { return (float)log((double)x); }
float log2f(float x) { return (float)(log((double)x) / LN2); }
float log10f(float x) { return (float)(log((double)x) / 2.30258509299404568402); }

/* What 1 + x loses of a small x is put back by a factor. */
float log1pf(float x) {
  double u = 1 + (double)x;
  return u == 1 ? x : (float)(log(u) * (double)x / (u - 1));
}

/* exp(y log |x|), with the sign for odd powers of negative numbers. */
float powf(float x, float y) {
  int is_odd = __builtin_fabsf(y) < 0x1p24f && truncf(y) == y && ((int64_t)y & 1);
  if (y == 0 || x == 1) return 1;
  if (x < 0 && truncf(y) != y && y - y == 0) return (float)NO_NUMBER;
  double size = exp((double)y * log(__builtin_fabs((double)x)));
  return (float)((x < 0 || __builtin_signbit(x)) && is_odd ? -size : size);
}

/* ---- hyperbolic functions and erf -------------------------------------------------------------------------------- */

/* A series near 0, where the difference of exponentials would cancel. tanhf does the same. */
float sinhf(float x) {
  double a = (double)x;
  return (float)(__builtin_fabs(a) < 1e-3 ? a + a * a * a / 6 : (exp(a) - exp(-a)) / 2);
}

float coshf(float x) { return (float)((exp((double)x) + exp(-(double)x)) / 2); }

float tanhf(float x) {
  double a = (double)x;
  if (__builtin_fabs(a) < 1e-3) return (float)(a - a * a * a / 3);
  if (__builtin_fabs(a) > 20) return x > 0 ? 1 : -1;
  double e = exp(2 * a);
  return x != x ? x : (float)((e - 1) / (e + 1));
}

/* A series whose terms all have one sign, so that nothing cancels. */
float erff(float x) {
  double a = __builtin_fabs((double)x), term = a, sum = a;
  if (x != x) return x;
  if (a > 4) return x > 0 ? 1 : -1;
  for (int n = 1; n < 80; n++) term *= 2 * a * a / (2 * n + 1), sum += term;
  return __builtin_copysignf((float)(1.12837916709551257390 * exp(-a * a) * sum), x);
}

/* ---- sine and cosine --------------------------------------------------------------------------------------------- */

/* The sine of x plus SHIFT quarters of a turn. NaN beyond 10^9, where neighbouring floats are many turns apart.
 * The multiple of pi / 2 is subtracted in three parts. */
static double wave(double x, int shift) {
  if (!(__builtin_fabs(x) < 1e9)) return NO_NUMBER;
  int64_t n = (int64_t)(x / 1.57079632679489661923 + (x < 0 ? -0.5 : 0.5));
  double k = (double)n,
         r = ((x - k * 1.57079632673412561417e+00) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
  double square = r * r, sine = 0, cosine = 0;
  for (int i = 21; i > 0; i -= 2) sine = 1 - sine * square / ((i + 1) * (i + 2));
  for (int i = 20; i > 0; i -= 2) cosine = 1 - cosine * square / (i * (i - 1));
  sine *= r;
  int quarter = (int)((n + shift) & 3);
  double value = quarter & 1 ? cosine : sine;
  return quarter & 2 ? -value : value;
}

float sinf(float x) { return (float)wave((double)x, 0); }
float cosf(float x) { return (float)wave((double)x, 1); }
