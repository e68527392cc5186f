/* emit_exp.c: exponentials of vectors of f32, written out: a call would leave all vector registers to the callee, and
 * waits for one vector at a time. e^x = 2^n * e^r, where n is the whole number next to x / ln 2, and r, at most half of
 * ln 2, goes through a polynomial. Within 2 ulp; infinities, NaN and denormal results are as libm's. */
#include "codegen/emit.h"

/* Bounds behind which e^x is 0 or infinite; 1.5 * 2^23, at which a float's last bit is 1; ln 2 in two parts, the first
 * short, so that n times it is exact. */
static const double least = -104, most = 89, per_ln2 = 1.44269504088896341, whole = 12582912, ln2_high = 0.693359375,
                    ln2_low = -2.12194440054690583e-4;
/* (e^r - 1 - r) / r^2, fitted on Chebyshev nodes: error 1e-8 of e^r. */
static const double terms[] = {0.500000001, 0.166665766, 0.0416664642, 0.00836323538, 0.00139337332};

typedef struct exponential {
  codegen_emitter *m;
  int lanes;
  LLVMTypeRef type, bits; /* vectors of f32, of i32 */
} exponential;

static LLVMValueRef real(const exponential *x, double value) {
  return codegen_splat(x->m, LLVMConstReal(x->m->dtypes[TN_F32], value), x->lanes);
}

static LLVMValueRef integer(const exponential *x, int value) {
  return codegen_splat(x->m, LLVMConstInt(x->m->i32, (uint64_t)(int64_t)value, true), x->lanes);
}

/* One instruction where the target has it. */
static LLVMValueRef multiply_add(const exponential *x, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMTypeRef type = x->type;
  return codegen_intrinsic(x->m, "llvm.fmuladd", 1, &type, 3, (LLVMValueRef[]){a, b, c});
}

/* NaN stays. */
static LLVMValueRef clamp(const exponential *x, LLVMValueRef value) {
  LLVMBuilderRef b = x->m->builder;
  LLVMValueRef high = real(x, most), low = real(x, least);
  value = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, value, high, ""), high, value, "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, value, low, ""), low, value, "");
}

/* 1 + r + r^2 * (terms) */
static LLVMValueRef polynomial(const exponential *x, LLVMValueRef r) {
  int n = RUNTIME_COUNT(terms);
  LLVMValueRef sum = real(x, terms[n - 1]);
  for (int i = n - 2; i >= 0; i--) sum = multiply_add(x, sum, r, real(x, terms[i]));
  sum = multiply_add(x, sum, r, real(x, 1));
  return multiply_add(x, sum, r, real(x, 1));
}

/* 2^N for small whole N, by the exponent's bits. */
static LLVMValueRef power_of_two(const exponential *x, LLVMValueRef n) {
  LLVMBuilderRef b = x->m->builder;
  LLVMValueRef exponent = LLVMBuildAdd(b, n, integer(x, 127), "");
  return LLVMBuildBitCast(b, LLVMBuildShl(b, exponent, integer(x, 23), ""), x->type, "");
}

LLVMValueRef codegen_exp_f32(codegen_emitter *m, LLVMValueRef value, int lanes) {
  exponential x = {.m = m, .lanes = lanes};
  LLVMBuilderRef b = m->builder;
  x.type = codegen_type(m, TN_F32, lanes), x.bits = codegen_type(m, TN_I32, lanes);
  value = clamp(&x, value);
  LLVMValueRef shifted = multiply_add(&x, value, real(&x, per_ln2), real(&x, whole));
  LLVMValueRef n = LLVMBuildFSub(b, shifted, real(&x, whole), "");
  LLVMValueRef r = multiply_add(&x, n, real(&x, -ln2_high), value);
  r = multiply_add(&x, n, real(&x, -ln2_low), r);
  /* The last bits of n + whole are n. In two steps 2^n may be larger than a float, or smaller. */
  LLVMValueRef bits = LLVMBuildBitCast(b, shifted, x.bits, "");
  LLVMValueRef k = LLVMBuildSub(b, bits, integer(&x, 0x4B400000), "");
  LLVMValueRef half = LLVMBuildAShr(b, k, integer(&x, 1), "");
  LLVMValueRef result = LLVMBuildFMul(b, polynomial(&x, r), power_of_two(&x, half), "");
  return LLVMBuildFMul(b, result, power_of_two(&x, LLVMBuildSub(b, k, half, "")), "");
}
