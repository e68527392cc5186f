/* math.h: the functions that a kernel may call, by their names in C. Those of f32 are accurate to about an ulp;
 * of f64 there are only exp and log. They set no errno. */
#ifndef TENON_RUNNER_MATH_H
#define TENON_RUNNER_MATH_H

double exp(double x);
double log(double x);
float expf(float x);
float exp2f(float x);
float logf(float x);
float log2f(float x);
float log10f(float x);
float log1pf(float x);
float powf(float x, float y);
float tanhf(float x);
float sinhf(float x);
float coshf(float x);
float erff(float x);
float sinf(float x);
float cosf(float x);
float fmodf(float x, float y);
float fmaf(float x, float y, float z);
float floorf(float x);
float ceilf(float x);
float roundf(float x);
float truncf(float x);
float roundevenf(float x);

#endif
