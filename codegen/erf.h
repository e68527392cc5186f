/* erf.h: the coefficients of erf x for f32, for both back ends. Fitted with weights so that the error of erf, not of
 * the terms, is even. X(number), from the highest power to the lowest. With a = |x|, at most CODEGEN_ERF_MOST:
 *   a < 1:  erf x = x + x * NEAR(x^2)                  error 1.2e-9
 *   else:   erf x = sign of x * (1 - 2^FAR(a))         FAR is log2(1 - erf a), error 1.1e-9
 * and 2^v = 2^n * POWER(v - n), n whole and next to v, error 7.5e-8 of what is at most 0.16. */
#ifndef TENON_CODEGEN_ERF_H
#define TENON_CODEGEN_ERF_H

#define CODEGEN_ERF_MOST 4 /* erf is 1 from 3.92 on */
#define CODEGEN_ERF_NEAR(X) \
  X(7.8542268e-5) X(-8.01031308e-4) X(5.18834272e-3) X(-2.6853821e-2) X(0.112835854) X(-0.376126259) X(0.128379167)
#define CODEGEN_ERF_FAR(X) \
  X(2.68891962e-4) X(-4.25260488e-3) X(3.15057874e-2) X(-0.148751834) X(-0.920648145) X(-1.62604612) X(-4.92684706e-4)
#define CODEGEN_ERF_POWER(X) \
  X(1.32763802e-3) X(9.6755406e-3) X(5.55071356e-2) X(0.240221197) X(0.693146967) X(1.00000007)

#endif
