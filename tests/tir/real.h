/* real.h: what operators on real numbers give, by the C library: the reference of interpreter and code generator. */
#ifndef TENON_TESTS_TIR_REAL_H
#define TENON_TESTS_TIR_REAL_H

#include <math.h>

#include "tests/common/check.h"
#include "tir/ir.h"

/* In double; an operator that is none of real numbers fails the test. */
static inline double real_math(tir_op op, double a, double b) {
  switch ((int)op) {
    case TIR_POW: return pow(a, b);
    case TIR_EXP: return exp(a);
    case TIR_LOG: return log(a);
    case TIR_SQRT: return sqrt(a);
    case TIR_RSQRT: return 1 / sqrt(a);
    case TIR_TANH: return tanh(a);
    case TIR_SIGMOID: return 1 / (1 + exp(-a));
    case TIR_ERF: return erf(a);
    case TIR_SIN: return sin(a);
    case TIR_COS: return cos(a);
    case TIR_FLOOR: return floor(a);
    case TIR_CEIL: return ceil(a);
    case TIR_ROUND: return round(a);
    case TIR_EXP2: return exp2(a);
    case TIR_EXP10: return exp10(a);
    case TIR_LOG2: return log2(a);
    case TIR_LOG10: return log10(a);
    case TIR_LOG1P: return log1p(a);
    case TIR_TAN: return tan(a);
    case TIR_SINH: return sinh(a);
    case TIR_COSH: return cosh(a);
    case TIR_ASIN: return asin(a);
    case TIR_ACOS: return acos(a);
    case TIR_ATAN: return atan(a);
    case TIR_ASINH: return asinh(a);
    case TIR_ACOSH: return acosh(a);
    case TIR_ATANH: return atanh(a);
    case TIR_TRUNC: return trunc(a);
    case TIR_NEARBYINT: return nearbyint(a);
    case TIR_ATAN2: return atan2(a, b);
    case TIR_HYPOT: return hypot(a, b);
    case TIR_FMOD: return fmod(a, b);
    case TIR_COPYSIGN: return copysign(a, b);
    default: fail_msg("the C library knows no %s of real numbers", tir_op_table[op].name);
  }
  return 0;
}

#endif
