/* The reference evaluator against values worked out by hand: every operator, dtypes, wrapping, reductions, padding;
 * whole tensors and single elements agree. */
#include <math.h>

#include "tests/te/tests.h"

#define NONE -12345.0

typedef struct value_row {
  const char *name, *text;
  double inputs[3][8]; /* one row an input, in order */
  double expected[8];  /* of the last output; NONE: not looked at */
} value_row;

static const value_row values[] = {
    {"add", "C[i<3] = A[i] + B[i]", {{1, 2, 3}, {10, 20, 30}}, {11, 22, 33}},
    {"cumulative sum",
     "state S: f32[4]; scan S[t<4] = select(t < 1, X[t], S[t-1] + X[t])",
     {{1, 2, 3, 4}},
     {1, 3, 6, 10}},
    {"Fibonacci",
     "state F: i32[8]; scan F[t<8] = select(t < 2, 1, F[t-1] + F[t-2])",
     {{0}},
     {1, 1, 2, 3, 5, 8, 13, 21}},
    {"a step between two times",
     "state S: f32[3, 2]; Z[t<3, i<2] = sum[k<2 where t >= 1](S[t-1, k]); scan S[t<3, i<2] = Z[t, i] + X[t, i]",
     {{1, 2, 3, 4, 5, 6}},
     {1, 2, 6, 7, 18, 19}},
    {"a step that looks back",
     "state S: f32[4]; Z[t<4] = select(t >= 1, S[t-1], 1)*2; scan S[t<4] = Z[t] + select(t >= 1, Z[t-1], 0)",
     {{0}},
     {2, 6, 16, 44}},
    {"two states",
     "state A: i32[5], B: i32[5]; scan (A, B)[t<5] = (select(t < 1, 1, B[t-1]), select(t < 1, 10, A[t-1] + B[t-1])); "
     "C[t<5] = A[t]*100 + B[t]",
     {{0}},
     {110, 1011, 1121, 2132, 3253}},
    {"a reader of all times",
     "state S: f32[3]; scan S[t<3] = select(t < 1, X[t], S[t-1]*X[t]); M[t<3] = S[2-t]",
     {{2, 3, 4}},
     {24, 6, 2}},
    {"subtract", "C[i<3] = A[i] - B[i]", {{1, 2, 3}, {10, 20, 30}}, {-9, -18, -27}},
    {"multiply", "C[i<3] = A[i] * B[i]", {{1, 2, 3}, {10, 20, 30}}, {10, 40, 90}},
    {"divide", "C[i<3] = A[i] / B[i]", {{1, 2, 3}, {4, 0.5, -2}}, {0.25, 4, -1.5}},
    {"divide by zero", "C[i<2] = A[i] / B[i]", {{1, -1}, {0, 0}}, {INFINITY, -INFINITY}},
    {"floor division",
     "input A: i32[6], B: i32[6]; C[i<6] = A[i]//B[i]",
     {{7, -7, 7, -7, 6, 5}, {2, 2, -2, -2, -3, 0}},
     {3, -4, -4, 3, -2, 0}},
    {"floor modulo",
     "input A: i32[6], B: i32[6]; C[i<6] = A[i]%B[i]",
     {{7, -7, 7, -7, 6, 5}, {2, 2, -2, -2, -3, 0}},
     {1, 1, -1, -1, 0, 0}},
    {"lowest i32 by -1",
     "input A: i32[1], B: i32[1]; C[i<2] = select(i == 0, A[0]//B[0], A[0]%B[0])",
     {{-2147483648.0}, {-1}},
     {-2147483648.0, 0}},
    {"lowest i8 by -1", "input A: i8[1]; C = A[0]//-1", {{-128}}, {-128}},
    {"unsigned division", "input A: u32[1]; C = A[0]//16", {{4294967295.0}}, {268435455}},
    {"i8 wraps", "input A: i8[2], B: i8[2]; C[i<2] = A[i] + B[i]", {{127, -128}, {1, -1}}, {-128, 127}},
    {"u8 wraps", "input A: u8[3], B: u8[3]; C[i<3] = A[i] - B[i]", {{0, 5, 255}, {1, 6, 255}}, {255, 255, 0}},
    {"i16 wraps", "input A: i16[1]; C = A[0] * A[0]", {{300}}, {90000 - 65536}},
    {"a number that fits takes the dtype", "input A: u8[1]; C = A[0] + 255", {{1}}, {0}},
    {"a number that does not fit widens", "input A: u8[1]; C = A[0] + 256", {{1}}, {257}},
    {"a number that does not fit a signed dtype widens", "input A: i8[1]; C = A[0] + 128", {{1}}, {129}},
    {"a number below i32 is an i64", "C = -3000000000", {{0}}, {-3000000000.0}},
    {"u16 wraps", "input A: u16[1]; C = A[0] * A[0]", {{300}}, {90000 - 65536}},
    {"i32 wraps", "input A: i32[1]; C = A[0] + 1", {{2147483647}}, {-2147483648.0}},
    {"u32 wraps", "input A: u32[1]; C = A[0] - 1", {{0}}, {4294967295.0}},
    {"i64 does not wrap at 32 bits", "input A: i64[1]; C = A[0] * 4", {{2147483647}}, {8589934588.0}},
    {"negation wraps", "input A: i8[2]; C[i<2] = -A[i]", {{-128, 5}}, {-128, -5}},
    {"abs wraps", "input A: i8[3]; C[i<3] = abs(A[i])", {{-128, -5, 5}}, {-128, 5, 5}},
    {"abs", "C[i<2] = abs(A[i])", {{-1.5, 2}}, {1.5, 2}},
    {"min and max", "C[i<2, j<2] = select(j == 0, min(A[i], 2), max(A[i], 2))", {{1, 3}}, {1, 2, 2, 3}},
    {"min with nan gives the right operand", "C = min(A[0], 2)", {{NAN}}, {2}},
    {"max with nan on the right", "C = max(2, A[0])", {{NAN}}, {NAN}},
    {"comparisons", "C[i<3, j<2] = select(j == 0, A[i] < 2, A[i] >= 2)", {{1, 2, 3}}, {1, 0, 0, 1, 0, 1}},
    {"equality", "C[i<2, j<2] = select(j == 0, A[i] == 2, A[i] != 2)", {{1, 2}}, {0, 1, 1, 0}},
    {"comparison of unsigned", "input A: u32[1]; C = A[0] > 5", {{4294967295.0}}, {1}},
    {"comparisons with nan", "C[i<2] = select(i == 0, A[0] == A[0], A[0] != A[0])", {{NAN}}, {0, 1}},
    {"logic",
     "input P: bool[4], Q: bool[4]; C[i<4] = P[i] && !Q[i] || !P[i] && Q[i]",
     {{0, 0, 1, 1}, {0, 1, 0, 1}},
     {0, 1, 1, 0}},
    {"negation of floats", "C[i<2] = -A[i]", {{0, 3}}, {-0.0, -3}},
    {"exp log", "C[i<2] = select(i == 0, exp(A[0]), log(A[1]))", {{0, 1}}, {1, 0}},
    {"sqrt rsqrt", "C[i<2] = select(i == 0, sqrt(A[i]), rsqrt(A[i]))", {{9, 4}}, {3, 0.5}},
    {"tanh sigmoid erf",
     "C[i<3] = select(i == 0, tanh(A[i]), select(i == 1, sigmoid(A[i]), erf(A[i])))",
     {{0, 0, 0}},
     {0, 0.5, 0}},
    {"sin cos", "C[i<2] = select(i == 0, sin(A[i]), cos(A[i]))", {{0, 0}}, {0, 1}},
    {"pow", "C[i<2] = pow(A[i], B[i])", {{2, 9}, {10, 0.5}}, {1024, 3}},
    {"floor", "C[i<3] = floor(A[i])", {{1.5, -1.5, 2}}, {1, -2, 2}},
    {"ceil", "C[i<3] = ceil(A[i])", {{1.5, -1.5, 2}}, {2, -1, 2}},
    {"round is half away from zero", "C[i<4] = round(A[i])", {{0.5, -0.5, 2.5, 1.4}}, {1, -1, 3, 1}},
    {"bit operators",
     "input A: u8[1], B: u8[1]; C[i<4] = select(i < 2, select(i == 0, A[0] & B[0], A[0] | B[0]), "
     "select(i == 2, A[0] ^ B[0], ~A[0]))",
     {{12}, {10}},
     {8, 14, 6, 243}},
    {"shifts", "input A: i8[6]; C[i<6] = A[i] << 1", {{1, 64, -128, -1, 0, 3}}, {2, -128, 0, -2, 0, 6}},
    {"shift right copies the sign", "input A: i8[4]; C[i<4] = A[i] >> 1", {{1, 127, -128, -1}}, {0, 63, -64, -1}},
    {"unsigned shift right", "input A: u8[2]; C[i<2] = A[i] >> 7", {{255, 127}}, {1, 0}},
    {"shifting everything out",
     "input A: i16[2], N: i16[4]; C[i<4, j<2] = select(j == 0, A[0] << N[i], A[1] >> N[i])",
     {{3, -3}, {16, 15, -1, 100}},
     {0, -1, -32768, -1, 0, -1, 0, -1}},
    {"popcount and clz of i8",
     "input A: i8[4]; C[i<4, j<2] = select(j == 0, popcount(A[i]), clz(A[i]))",
     {{-1, 0, 1, 64}},
     {8, 0, 0, 8, 1, 7, 1, 1}},
    {"popcount and clz of i64",
     "input A: i64[2]; C[i<2, j<2] = select(j == 0, popcount(A[i]), clz(A[i]))",
     {{-1, 5}},
     {64, 0, 2, 61}},
    {"precedence of bit operators", "input A: i32[1]; C = A[0] | 1 ^ 3 & 2 << 1 + 1", {{16}}, {17}},
    {"bit operators before comparisons", "input A: i32[3]; C[i<3] = A[i] & 1 == 1", {{1, 2, 3}}, {1, 0, 1}},
    {"trunc", "C[i<4] = trunc(A[i])", {{1.9, -1.9, 0.5, -3}}, {1, -1, 0, -3}},
    {"nearbyint is half to even", "C[i<5] = nearbyint(A[i])", {{0.5, 1.5, 2.5, -1.5, 1.4}}, {0, 2, 2, -2, 1}},
    {"fmod has the first operand's sign", "C[i<3] = fmod(A[i], 2)", {{5, -5, 1.5}}, {1, -1, 1.5}},
    {"copysign", "C[i<2] = copysign(A[i], B[i])", {{1, -2}, {-0.0, 3}}, {-1, 2}},
    {"hypot atan2", "C[i<2] = select(i == 0, hypot(A[i], 4), atan2(A[i], 1))", {{3, 0}}, {5, 0}},
    {"exp2 exp10 log2 log10",
     "C[i<4] = select(i < 2, select(i == 0, exp2(A[i]), exp10(A[i])), select(i == 2, log2(A[i]), log10(A[i])))",
     {{3, 2, 8, 1000}},
     {8, 100, 3, 3}},
    {"log1p tan sinh cosh", "C[i<4] = log1p(A[i]) + tan(A[i]) + sinh(A[i]) + cosh(A[i])", {{0, 0, 0, 0}}, {1, 1, 1, 1}},
    {"inverse functions",
     "C[i<2] = asin(A[i]) + acos(A[i] + 1) + atan(A[i]) + asinh(A[i]) + acosh(A[i] + 1) + atanh(A[i])",
     {{0, 0}},
     {0, 0}},
    {"tests of floats",
     "C[i<4] = select(isnan(A[i]), 1, select(isinf(A[i]), 2, select(isfinite(A[i]), 3, 4)))",
     {{NAN, INFINITY, -INFINITY, 1}},
     {1, 2, 2, 3}},
    {"if_then_else is lazy",
     "input A: f32[2]; C[i<4] = if_then_else(i >= 1 && i < 3, A[i-1], 7)",
     {{1, 2}},
     {7, 1, 2, 7}},
    {"an index of bits",
     "input A: f32[4], K: i32[3]; C[i<3] = A[K[i] & 3] + A[K[i] >> 30 & 1]",
     {{1, 2, 3, 4}, {7, -1, 4}},
     {5, 6, 2}},
    {"cast truncates", "C[i<3] = i32(A[i])", {{1.9, -1.9, 0.5}}, {1, -1, 0}},
    {"cast saturates", "C[i<4] = i8(A[i])", {{1000, -1000, INFINITY, -INFINITY}}, {127, -128, 127, -128}},
    {"cast to unsigned saturates", "C[i<4] = u8(A[i])", {{-1, 256, 255, NAN}}, {0, 255, 255, 0}},
    {"cast to i64 saturates", "C[i<2] = i64(A[i])", {{1e30, -1e30}}, {9223372036854775807.0, -9223372036854775808.0}},
    {"cast to bool", "C[i<4] = bool(A[i])", {{0, 0.25, -3, NAN}}, {0, 1, 1, 1}},
    {"cast of integers wraps", "input A: i32[3]; C[i<3] = u8(A[i])", {{256, -1, 77}}, {0, 255, 77}},
    {"cast of integer to bool", "input A: i32[2]; C[i<2] = bool(A[i])", {{256, 0}}, {1, 0}},
    {"cast to f32 rounds", "input A: i32[1]; C = f64(f32(A[0]))", {{16777217}}, {16777216}},
    {"cast to f64 does not", "input A: i32[1]; C = f64(A[0])", {{16777217}}, {16777217}},
    {"f32 is rounded when stored", "input A: f64[1]; B = f32(A[0]); C = f64(B) - A[0]", {{0.1}}, {(double)0.1f - 0.1}},
    {"f64 is kept", "input A: f64[1]; B = A[0]*3; C = B", {{0.1}}, {0.1 * 3}},
    {"axis values", "C[i<3, j<2] = i*10 + j", {{0}}, {0, 1, 10, 11, 20, 21}},
    {"sum", "C = sum[k<4](A[k])", {{1, 2, 3, 4}}, {10}},
    {"prod", "C = prod[k<4](A[k])", {{1, 2, 3, 4}}, {24}},
    {"max", "C = max[k<4](A[k])", {{-4, -2, -3, -9}}, {-2}},
    {"min", "C = min[k<4](A[k])", {{4, 2, 3, 9}}, {2}},
    {"max of i8", "input A: i8[2]; C = max[k<2](A[k])", {{-128, -127}}, {-127}},
    {"min of u16", "input A: u16[2]; C = min[k<2](A[k])", {{65535, 65534}}, {65534}},
    {"sum of i8 wraps", "input A: i8[3]; C = sum[k<3](A[k])", {{100, 100, 100}}, {44}},
    {"prod of u8 wraps", "input A: u8[2]; C = prod[k<2](A[k])", {{20, 20}}, {144}},
    {"any", "input Q: bool[2,2]; C[i<2] = any[k<2](Q[i,k])", {{0, 0, 0, 1}}, {0, 1}},
    {"all", "input Q: bool[2,2]; C[i<2] = all[k<2](Q[i,k])", {{1, 0, 1, 1}}, {0, 1}},
    {"f16 is stored, f32 computes",
     "input A: f16[2], B: f16[2]; C[i<2] = A[i]*B[i]",
     {{300, 0.1}, {300, 1}},
     {90000, 0.0999755859375}},
    {"f16 rounds to nearest even",
     "C[i<6] = f16(A[i])",
     {{2049, 2051, 65519, 65520, 1e-8, -5.9604644775390625e-8}},
     {2048, 2052, 65504, INFINITY, 0, -5.9604644775390625e-8}},
    {"bf16 rounds to nearest even",
     "C[i<5] = bf16(A[i])",
     {{257, 259, 1e38, 1.00390625, -1.01171875}},
     {256, 260, 9.9692099683868690e37, 1, -1.015625}},
    {"a copy keeps f16", "input A: f16[2]; C[i<2] = A[i]", {{0.1, -2}}, {0.0999755859375, -2}},
    {"sums of bf16 are f32", "input A: bf16[3]; C = sum[k<3](A[k])", {{256, 1, 1}}, {258}},
    {"integers to f16", "input A: i32[2]; C[i<2] = f16(A[i])", {{4097, -3}}, {4096, -3}},
    {"f16 to integers", "input A: f16[2]; C[i<2] = i8(A[i])", {{1000, -2.5}}, {127, -2}},
    {"where", "C = sum[k<4 where k != 1](A[k])", {{1, 2, 3, 4}}, {8}},
    {"where over a data axis", "C[i<3] = sum[k<3 where k <= i](A[k])", {{1, 2, 4}}, {1, 3, 7}},
    {"where from data", "input Q: bool[4]; C = max[k<4 where Q[k]](A[k])", {{1, 0, 1, 0}, {1, 9, 3, 7}}, {3}},
    {"where nowhere", "C = max[k<2 where k > 5](A[k])", {{1, 2}}, {-INFINITY}},
    {"where guards the source", "input A: f32[2]; C = sum[k<4 where k >= 1 && k < 3](A[k - 1])", {{5, 6}}, {11}},
    {"init", "C[i<2] = sum[k<2 init = B[i]](A[i,k])", {{10, 20}, {1, 2, 3, 4}}, {13, 27}},
    {"init of a literal", "C = max[k<2 init = 5](A[k])", {{1, 2}}, {5}},
    {"where and init", "C = prod[k<4 where k % 2 == 0 init = 3](A[k])", {{2, 9, 5, 9}}, {30}},
    {"init of integers wraps on", "input A: u8[2]; C = sum[k<2 init = 250](A[k])", {{3, 4}}, {1}},
    {"argmax gives the first of equal ones", "C[i<2] = argmax[k<4](A[i,k])", {{1, 7, 7, 2, -1, -3, -1, -2}}, {1, 0}},
    {"argmin", "C[i<2] = argmin[k<4](A[i,k])", {{4, 7, 3, 3, -1, -3, -1, -2}}, {2, 1}},
    {"argmax with values", "(I, V)[i<2] = argmax[k<3](A[i,k])", {{1, 7, 5, -1, -3, -2}}, {7, -1}},
    {"argmax over two axes", "C = argmax[k<2, l<3](A[k,l])", {{1, 2, 3, 4, 9, 5}}, {4}},
    {"argmax passes over nan", "C[i<2] = argmax[k<3](A[i,k])", {{NAN, 1, NAN, -INFINITY, NAN, -5}}, {1, 2}},
    {"argmax of nothing but nan", "C = argmax[k<3](A[k])", {{NAN, NAN, NAN}}, {-1}},
    {"the value of nothing but nan", "(I, V) = argmax[k<3](A[k])", {{NAN, NAN, NAN}}, {-INFINITY}},
    {"argmax of infinities", "C = argmax[k<3](A[k])", {{-INFINITY, -INFINITY, -INFINITY}}, {0}},
    {"argmax of integers", "input A: i8[4]; C = argmax[k<4](A[k])", {{-128, -128, -128, -128}}, {0}},
    {"argmax keeps the sign of the first zero", "(I, V) = argmax[k<3](A[k])", {{-1, -0.0, 0.0}}, {-0.0}},
    {"argmax where nothing counts", "C[i<3] = argmax[k<3 where k < i](A[k])", {{5, 9, 1}}, {-1, 0, 1}},
    {"argmax with init", "C[i<3] = argmax[k<3 where k < i init = (7, 6)](A[k])", {{5, 9, 1}}, {7, 7, 1}},
    {"argmin of another index", "C = argmin[k<3](9 - k, A[k])", {{5, 2, 2}}, {7}},
    {"argmin of an i64 index", "(I, V) = argmin[k<3](i64(A[k]), B[k]); C = I", {{5, 4, -3}, {1, 1, 1}}, {4}},
    {"a tuple", "(S, D)[i<2] = (A[i] + B[i], A[i] - B[i]); C[i<2] = S[i]*D[i]", {{3, 5}, {1, 2}}, {8, 21}},
    {"a tuple's second output", "(S, D)[i<2] = (A[i] + B[i], i64(A[i] - B[i]))", {{3, 5}, {1, 2}}, {2, 3}},
    {"combining reads the old values",
     "input R: i32[3], I: i32[3]; combiner cprod(ar: i32, ai: i32; br, bi) = (ar*br - ai*bi, ar*bi + ai*br), identity "
     "(1, 0); (P, Q) = cprod[k<3](R[k], I[k]); C[i<2] = select(i == 0, P, Q)",
     {{1, 3, 5}, {2, 4, 6}},
     {-85, 20}},
    {"a combiner of one value",
     "combiner gcd2(a: i32; b) = (a | b), identity (0); input A: i32[3]; C = gcd2[k<3](A[k])",
     {{1, 4, 8}},
     {13}},
    {"mean and variance",
     "combiner welford(am: f32, as: f32, an: f32; bm, bs, bn) = (am + (bm - am)*bn/max(an + bn, 1), as + bs + "
     "(bm - am)*(bm - am)*an*bn/max(an + bn, 1), an + bn), identity (0, 0, 0)\n"
     "(M, S, N) = welford[k<4](A[k], 0, 1); C[i<3] = select(i == 0, M, select(i == 1, S/4, N))",
     {{1, 3, 5, 7}},
     {4, 5, 4}},
    {"two reduction axes", "C[i<2] = sum[k<2, l<2](A[i,k,l])", {{1, 2, 3, 4, 5, 6, 7, 8}}, {10, 26}},
    {"matmul", "C[i<2, j<2] = sum[k<2](A[i,k]*B[k,j])", {{1, 2, 3, 4}, {5, 6, 7, 8}}, {19, 22, 43, 50}},
    {"transposed read", "C[i<2, j<2] = A[j, i]", {{1, 2, 3, 4}}, {1, 3, 2, 4}},
    {"padding by select is lazy",
     "input A: f32[2]; C[i<4] = select(i >= 1 && i < 3, A[i-1], 7)",
     {{1, 2}},
     {7, 1, 2, 7}},
    {"and is lazy", "input A: f32[2]; C[i<4] = i < 2 && A[i] > 1", {{1, 2}}, {0, 1, 0, 0}},
    {"or is lazy", "input A: f32[2]; C[i<4] = i >= 2 || A[i] > 1", {{1, 2}}, {0, 1, 1, 1}},
    {"gather", "input A: f32[3], K: i32[2]; C[i<2] = A[K[i]]", {{5, 6, 7}, {2, 0}}, {7, 5}},
    {"rank 0 inputs", "input s: f32, t: f32; C = s - t", {{5}, {3}}, {2}},
    {"rank 8",
     "C[a<1, b<2, c<1, d<2, e<1, f<2, g<1, h<1] = A[a,b,c,d,e,f,g,h] + f",
     {{1, 2, 3, 4, 5, 6, 7, 8}},
     {1, 3, 3, 5, 5, 7, 7, 9}},
    {"strided window", "C[i<2] = sum[r<3](A[i*2 + r])", {{1, 2, 3, 4, 5}}, {6, 12}},
    {"chain of tensors", "B[i<2] = A[i]*2; S = sum[k<2](B[k]); C[i<2] = B[i]/S", {{1, 3}}, {0.25, 0.75}},
    {"bool arithmetic by casts", "input Q: bool[4]; C = sum[k<4](i32(Q[k]))", {{1, 0, 1, 1}}, {3}},
};

static bool same(double got, double expected) {
  if (isnan(expected) || isnan(got)) return isnan(got) && isnan(expected);
  return got == expected && signbit(got) == signbit(expected);
}

static void check_at(tn_context *ctx, tn_program *p, DLTensor **args, const DLTensor *out) {
  const tn_tensor *t = tn_program_arg(p, tn_program_arg_count(p) - 1);
  int n = tn_program_arg_count(p);
  for (int64_t flat = 0; flat < count_elements(out); flat++) {
    int64_t index[TN_MAX_RANK], rest = flat;
    for (int d = out->ndim; d-- > 0; rest /= out->shape[d]) index[d] = rest % out->shape[d];
    double value;
    assert_int_equal(tn_evaluate_at(p, args, n, t, index, &value), TN_OK);
    if (!same(value, get_element(out, flat))) fail_msg("one element: %g, all: %g", value, get_element(out, flat));
  }
  check_ok(ctx);
}

static void value(void **state) {
  const value_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, row->text);
  DLTensor **args = make_args(ctx, p, 1);
  int n = tn_program_arg_count(p), n_inputs = tn_program_input_count(p);
  for (int i = 0; i < n_inputs; i++)
    for (int64_t e = 0; e < count_elements(args[i]); e++) set_element(args[i], e, row->inputs[i][e]);
  assert_int_equal(tn_evaluate(p, args, n), TN_OK);
  check_ok(ctx);
  const DLTensor *out = args[n - 1];
  assert_true(count_elements(out) <= 8);
  for (int64_t e = 0; e < count_elements(out); e++)
    if (row->expected[e] != NONE && !same(get_element(out, e), row->expected[e]))
      fail_msg("element %d is %.17g instead of %.17g", (int)e, get_element(out, e), row->expected[e]);
  check_at(ctx, p, args, out);
  free_args(args, p);
  check_context_free(ctx);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void out_of_bounds(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, "input A: f32[3,3], K: i32[2]; C[i<2] = A[1, K[i]] + 1");
  DLTensor **args = make_args(ctx, p, 1);
  set_element(args[1], 0, 2);
  set_element(args[1], 1, 3);
  assert_int_equal(tn_evaluate(p, args, 3), TN_ERROR_PROGRAM);
  check_fails(ctx, TN_ERROR_PROGRAM, "'C' reads A[1, 3]: index 1 is 3, but the extent is 3");
  set_element(args[1], 1, 5);
  assert_int_equal(tn_evaluate(p, args, 3), TN_ERROR_PROGRAM);
  check_fails(ctx, TN_ERROR_PROGRAM, "'C' reads A[1, 5]: index 1 is 5, but the extent is 3");
  double value;
  assert_int_equal(tn_evaluate_at(p, args, 3, tn_program_arg(p, 2), (int64_t[]){0}, &value), TN_OK);
  assert_int_equal(tn_evaluate_at(p, args, 3, tn_program_arg(p, 2), (int64_t[]){1}, &value), TN_ERROR_PROGRAM);
  check_fails(ctx, TN_ERROR_PROGRAM, "'C' reads A[1, 5]");
  free_args(args, p);
  check_context_free(ctx);
}

static const struct wrong_row {
  const char *name;
  int arg;        /* replaced by */
  tn_dtype dtype; /* an array of this */
  int ndim;
  int64_t shape[3];
  const char *part;
} wrong_args[] = {
    {"dtype", 0, TN_F64, 2, {4, 8}, "argument 'A' is not f32"},
    {"rank", 1, TN_F32, 1, {8}, "argument 'B' has rank 1, not 2"},
    {"extent", 1, TN_F32, 2, {8, 5}, "dimension 1 of argument 'B' is 5, not 4"},
    {"output", 2, TN_F32, 2, {4, 5}, "dimension 1 of argument 'C' is 5, not 4"},
};

static void wrong_arg(void **state) {
  const struct wrong_row *row = *state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, "C[i<4, j<4] = sum[k<8](A[i,k]*B[k,j])");
  DLTensor **args = make_args(ctx, p, 1);
  tn_array_free(args[row->arg]);
  args[row->arg] = tn_array_new(ctx, row->dtype, row->ndim, row->shape);
  assert_int_equal(tn_evaluate(p, args, 3), TN_ERROR_CALL);
  check_fails(ctx, TN_ERROR_CALL, row->part);
  free_args(args, p);
  check_context_free(ctx);
}

/* All arguments have one value for a symbol, whichever is the greater. */
static void symbols_disagree(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, "symbol M; input A: f32[M], B: f32[M]; C[i<M] = A[i] + B[i]");
  for (int longer = 0; longer < 2; longer++) {
    DLTensor *args[3];
    for (int i = 0; i < 3; i++) args[i] = tn_array_new(ctx, TN_F32, 1, (int64_t[]){i == longer ? 5 : 4});
    assert_int_equal(tn_evaluate(p, args, 3), TN_ERROR_CALL);
    check_fails(ctx, TN_ERROR_CALL,
                longer ? "dimension 0 of argument 'B' is 5, but symbol M is 4 by argument 'A'"
                       : "dimension 0 of argument 'B' is 4, but symbol M is 5 by argument 'A'");
    for (int i = 0; i < 3; i++) tn_array_free(args[i]);
  }
  check_context_free(ctx);
}

static void wrong_calls(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, "C[i<4] = A[i]");
  DLTensor **args = make_args(ctx, p, 1), *saved = args[0];
  double value;
  assert_int_equal(tn_evaluate(NULL, args, 2), TN_ERROR_ARGUMENT);
  assert_int_equal(tn_evaluate(p, args, 1), TN_ERROR_CALL);
  check_fails(ctx, TN_ERROR_CALL, "1 arguments given, the program has 2");
  args[0] = NULL;
  tn_evaluate(p, args, 2);
  check_fails(ctx, TN_ERROR_CALL, "argument 'A' is NULL");
  args[0] = saved;
  int64_t strides[] = {2};
  args[0]->strides = strides;
  tn_evaluate(p, args, 2);
  check_fails(ctx, TN_ERROR_CALL, "argument 'A' is not compact row-major");
  args[0]->strides = NULL;
  tn_evaluate_at(p, args, 2, tn_program_arg(p, 1), (int64_t[]){4}, &value);
  check_fails(ctx, TN_ERROR_ARGUMENT, "index 0 of 'C' is 4, but the extent is 4");
  tn_evaluate_at(p, args, 2, tn_program_arg(parse(ctx, "C[i<4] = A[i]"), 1), (int64_t[]){0}, &value);
  check_fails(ctx, TN_ERROR_ARGUMENT, "'C' is no tensor of the program");
  free_args(args, p);
  check_context_free(ctx);
}

/* ---- elements on demand ------------------------------------------------------------------------------------------ */

/* One element of a product of three 512 x 512 matrices touches 512 elements of the first product. */
static void on_demand_is_cheap(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx,
                        "M[i<512, j<512] = sum[k<512](A[i,k]*B[k,j]); N[i<512, j<512] = sum[k<512](M[i,k]*D[k,j]);"
                        "O[i<512, j<512] = N[i,j] + N[i,j]");
  DLTensor **args = make_args(ctx, p, 3);
  DLTensor *output = args[3];
  args[3] = NULL;
  uint64_t start = runtime_now_ns();
  double value;
  assert_int_equal(tn_evaluate_at(p, args, 4, tn_program_arg(p, 3), (int64_t[]){100, 200}, &value), TN_OK);
  assert_true(runtime_now_ns() - start < 4000000000u);
  double expected = 0;
  for (int k = 0; k < 512; k++) {
    double m = 0;
    for (int l = 0; l < 512; l++) m += get_element(args[0], 100 * 512 + l) * get_element(args[1], l * 512 + k);
    expected += (double)(float)m * get_element(args[2], k * 512 + 200);
  }
  assert_true(fabs(value - 2 * (double)(float)expected) < 1e-5);
  args[3] = output;
  free_args(args, p);
  check_context_free(ctx);
}

/* A prefix sum by a chain: without memory of elements this would take 2^30 steps. */
static void elements_are_remembered(void **state) {
  (void)state;
  runtime_str text = {0};
  runtime_str_add(&text, "T0[i<4] = A[i]\n");
  for (int i = 1; i <= 30; i++) runtime_str_addf(&text, "T%d[i<4] = T%d[i]*0.5 + T%d[(i+1)%%4]*0.5\n", i, i - 1, i - 1);
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, text.data);
  DLTensor **args = make_args(ctx, p, 1);
  for (int i = 0; i < 4; i++) set_element(args[0], i, i);
  double value;
  assert_int_equal(tn_evaluate_at(p, args, 2, tn_program_arg(p, 1), (int64_t[]){2}, &value), TN_OK);
  assert_true(fabs(value - 1.5) < 1e-3);
  free_args(args, p);
  check_context_free(ctx);
  runtime_str_free(&text);
}

static void long_chains(void **state) {
  (void)state;
  runtime_str text = {0};
  runtime_str_add(&text, "T0[i<4] = A[i]\n");
  for (int i = 1; i < 4000; i++) runtime_str_addf(&text, "T%d[i<4] = (T%d[i] + 1) - 1\n", i, i - 1);
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, text.data);
  DLTensor **args = make_args(ctx, p, 1);
  double value;
  assert_int_equal(tn_evaluate(p, args, 2), TN_OK);
  tn_evaluate_at(p, args, 2, tn_program_arg(p, 1), (int64_t[]){2}, &value);
  check_fails(ctx, TN_ERROR_PROGRAM, "the chain of tensors behind", "use tn_evaluate");
  free_args(args, p);
  check_context_free(ctx);
  runtime_str_free(&text);
}

static void index_limits(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx,
                        "input A: f32[9,4], K: i32[2], L: i32[2], B: bool[2]; "
                        "C[i<2] = A[K[i], L[i]] + A[L[i], 0] + f32(B[i])");
  assert_int_equal(te_index_limit(p, tn_program_find(p, "K")), 9);
  assert_int_equal(te_index_limit(p, tn_program_find(p, "L")), 4);
  assert_int_equal(te_index_limit(p, tn_program_find(p, "A")), 0);
  assert_int_equal(te_index_limit(p, tn_program_find(p, "B")), 0);
  check_context_free(ctx);
}

/* Which computes need checks at run time. */
static void reads_that_may_leave(void **state) {
  static const struct {
    const char *text;
    bool may_leave;
  } rows[] = {{"C[i<4] = A[i + 1]", false},
              {"input A: f32[4]; C[i<4] = select(i >= 1, A[i-1], 0)", false},
              {"input A: f32[4]; C[i<4] = select(i >= 0, A[i-1], 0)", true},
              {"input A: f32[4], K: i32[4]; C[i<4] = A[K[i]]", true},
              {"input A: f32[4], K: i32[4]; C[i<4] = A[min(max(K[i], 0), 3)]", false},
              {"input A: f32[4], K: i32[4]; C[i<4] = A[K[i] % 4]", false},
              {"input A: f32[256], K: u8[4]; C[i<4] = A[K[i]]", false}};
  (void)state;
  for (int i = 0; i < RUNTIME_COUNT(rows); i++) {
    tn_context *ctx = check_context();
    assert_int_equal(tn_program_find(parse(ctx, rows[i].text), "C")->op->may_leave, rows[i].may_leave);
    check_context_free(ctx);
  }
}

static void element_of_an_input(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, "input A: i16[2,2]; C[i<2] = A[i,1]");
  DLTensor **args = make_args(ctx, p, 1);
  set_element(args[0], 2, -7);
  double value;
  assert_int_equal(tn_evaluate_at(p, args, 2, tn_program_find(p, "A"), (int64_t[]){1, 0}, &value), TN_OK);
  assert_true(value == -7);
  free_args(args, p);
  check_context_free(ctx);
}

/* An element of D takes 5 of C, each of these 4 of B, which has 12 in all and takes a term for each. */
static void terms_of_an_element(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx,
                        "input A: f32[3,4]; B[i<3, j<4] = A[i,j] + 1; C[i<3, j<5] = sum[k<4](B[i,k] * f32(j)); "
                        "D[i<3] = sum[j<5](C[i,j]); E[i<2] = sum[j<3](D[j])");
  assert_true(te_demand_terms(p, tn_program_find(p, "B")) == 1);
  assert_true(te_demand_terms(p, tn_program_find(p, "C")) == 4 + 4);
  assert_true(te_demand_terms(p, tn_program_find(p, "D")) == 5 + 20 + 12);
  assert_true(te_demand_terms(p, tn_program_find(p, "E")) == 3 + 15 + 60 + 12);
  check_context_free(ctx);
}

/* What a definition reads is taken from the arrays, right or wrong; its own array is not looked at. */
static void element_of_a_definition(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  tn_program *p = parse(ctx, "input A: i16[2]; B[i<2] = A[i] + 1; C[i<2] = sum[k<2](B[k] * i16(i + 1)); output B, C");
  DLTensor **args = make_args(ctx, p, 3);
  set_element(args[0], 0, 5);
  set_element(args[1], 0, 100);
  set_element(args[1], 1, 20);
  set_element(args[2], 1, -1);
  double value;
  assert_int_equal(te_evaluate_stage_at(p, args, 3, tn_program_find(p, "C"), (int64_t[]){1}, &value), TN_OK);
  assert_true(value == 240);
  assert_int_equal(te_evaluate_stage_at(p, args, 3, tn_program_find(p, "B"), (int64_t[]){0}, &value), TN_OK);
  assert_true(value == 6);
  free_args(args, p);
  check_context_free(ctx);
}

int test_evaluate(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_bounds), cmocka_unit_test(symbols_disagree),
                                     cmocka_unit_test(wrong_calls)};
  return CHECK_TABLE("values", values, value) + CHECK_TABLE("wrong arguments", wrong_args, wrong_arg) +
         CHECK_TESTS("evaluate", tests);
}

int test_evaluate_at(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(on_demand_is_cheap),  cmocka_unit_test(elements_are_remembered),
                                     cmocka_unit_test(long_chains),         cmocka_unit_test(element_of_an_input),
                                     cmocka_unit_test(terms_of_an_element), cmocka_unit_test(element_of_a_definition),
                                     cmocka_unit_test(index_limits),        cmocka_unit_test(reads_that_may_leave)};
  return CHECK_TESTS("one element", tests);
}
