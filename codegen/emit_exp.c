/* emit_exp.c: exponentials, hyperbolic tangents and error functions of vectors of f32, written out: a call would leave
 * all vector registers to the callee, and waits for one vector at a time. e^x = 2^n * e^r, where n is the whole number next to
 * x / ln 2, and r, at most half of ln 2, goes through a polynomial. erf: erf.h. Within 2 ulp, tanh within 3; infinities, NaN, zeros and
 * denormal numbers are as libm's. */
#include "codegen/emit.h"
#include "codegen/erf.h"

/* Bounds behind which e^x is 0 or infinite; 1.5 * 2^23, at which a float's last bit is 1; the same and two biases of an exponent;
 * ln 2 in two parts, the first short, so that n times it is exact. */
static const double least = -104, most = 89, per_ln2 = 1.44269504088896341, whole = 12582912, biased = 12582912 + 254,
                    ln2_high = 0.693359375, ln2_low = -2.12194440054690583e-4;
/* e^r, fitted on Chebyshev nodes with 1 and 1 held: error 1e-8 of e^r. */
static const double exp_terms[] = {0.00139337332, 0.00836323538, 0.0416664642, 0.166665766, 0.500000001, 1, 1};

/* What every step of a polynomial needs: where instructions go, and the types of a value and of its bits. */
typedef struct vectors {
  codegen_emitter *m;
  int lanes;
  LLVMTypeRef type, bits; /* vectors of f32, of i32 */
} vectors;

static vectors vectors_of(codegen_emitter *m, int lanes) {
  return (vectors){m, lanes, codegen_type(m, TN_F32, lanes), codegen_type(m, TN_I32, lanes)};
}

static LLVMValueRef real(const vectors *x, double value) {
  return codegen_splat(x->m, LLVMConstReal(x->m->dtypes[TN_F32], value), x->lanes);
}

static LLVMValueRef integer(const vectors *x, int value) {
  return codegen_splat(x->m, LLVMConstInt(x->m->i32, (uint64_t)(int64_t)value, true), x->lanes);
}

/* One instruction where the target has it. */
static LLVMValueRef multiply_add(const vectors *x, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMTypeRef type = x->type;
  return codegen_intrinsic(x->m, "llvm.fmuladd", 1, &type, 3, (LLVMValueRef[]){a, b, c});
}

/* NaN stays. */
static LLVMValueRef at_most(const vectors *x, LLVMValueRef value, LLVMValueRef high) {
  LLVMBuilderRef b = x->m->builder;
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, value, high, ""), high, value, "");
}

/* N terms, of the highest power first. */
static LLVMValueRef polynomial(const vectors *x, int n, const double *terms, LLVMValueRef r) {
  LLVMValueRef sum = real(x, terms[0]);
  for (int i = 1; i < n; i++) sum = multiply_add(x, sum, r, real(x, terms[i]));
  return sum;
}

/* 2^(N - 127), N being the last bits of BITS: they move to where an exponent is. */
static LLVMValueRef power_of_two(const vectors *x, LLVMValueRef bits) {
  return LLVMBuildBitCast(x->m->builder, LLVMBuildShl(x->m->builder, bits, integer(x, 23), ""), x->type, "");
}

/* VALUE * 2^k, SHIFTED being k + biased, whose last bits are k and twice an exponent's bias. In two steps of half of these bits, as
 * 2^k may be larger than a float, or smaller. */
static LLVMValueRef scale_by_bits(const vectors *x, LLVMValueRef value, LLVMValueRef shifted) {
  LLVMBuilderRef b = x->m->builder;
  LLVMValueRef bits = LLVMBuildBitCast(b, shifted, x->bits, "");
  LLVMValueRef half = LLVMBuildLShr(b, bits, integer(x, 1), "");
  value = LLVMBuildFMul(b, value, power_of_two(x, half), "");
  return LLVMBuildFMul(b, value, power_of_two(x, LLVMBuildSub(b, bits, half, "")), "");
}

enum { SCALED_LANES = 16, AS_ROUNDED = 4 };

/* VALUE * 2^N by AVX-512's instruction for it, one for a register: seven less. 0 where COUNTS is false. */
static LLVMValueRef scale_by_instruction(const vectors *x, LLVMValueRef value, LLVMValueRef n, LLVMValueRef counts) {
  codegen_emitter *m = x->m;
  LLVMTypeRef mask = LLVMInt16TypeInContext(m->llvm);
  LLVMValueRef result = LLVMGetPoison(x->type);
  for (int first = 0; first < x->lanes; first += SCALED_LANES) {
    LLVMValueRef piece = codegen_lane_piece(m, value, x->lanes, first, SCALED_LANES);
    LLVMValueRef is_on = codegen_lane_piece(m, counts, x->lanes, first, SCALED_LANES);
    LLVMValueRef args[] = {piece, codegen_lane_piece(m, n, x->lanes, first, SCALED_LANES),
                           LLVMConstNull(LLVMTypeOf(piece)), LLVMBuildBitCast(m->builder, is_on, mask, ""),
                           LLVMConstInt(m->i32, AS_ROUNDED, false)};
    piece = codegen_intrinsic(m, "llvm.x86.avx512.mask.scalef.ps.512", 0, NULL, RUNTIME_COUNT(args), args);
    result = codegen_put_piece(m, result, piece, x->lanes, first, SCALED_LANES);
  }
  return result;
}

/* What e^value is made of: 2^n * e^r. */
typedef struct reduced {
  LLVMValueRef shifted, n, r; /* n + BIASED; n; the rest */
} reduced;

static reduced reduce(const vectors *x, LLVMValueRef value) {
  LLVMValueRef shifted = multiply_add(x, value, real(x, per_ln2), real(x, biased));
  LLVMValueRef n = LLVMBuildFSub(x->m->builder, shifted, real(x, biased), "");
  LLVMValueRef r = multiply_add(x, n, real(x, -ln2_high), value);
  return (reduced){shifted, n, multiply_add(x, n, real(x, -ln2_low), r)};
}

/* What is too small for a float, as behind the mask of an attention, is left out: a result that is smaller than the least normal number
 * is an assist of the processor of some hundred cycles. */
LLVMValueRef codegen_exp_f32(codegen_emitter *m, LLVMValueRef value, int lanes) {
  vectors x = vectors_of(m, lanes);
  LLVMBuilderRef b = m->builder;
  bool has_instruction = m->target->vector_bytes == 64 && lanes % SCALED_LANES == 0;
  LLVMValueRef counts = LLVMBuildFCmp(b, LLVMRealUGE, value, real(&x, least), ""); /* NaN, too */
  value = at_most(&x, value, real(&x, most));
  if (!has_instruction) value = LLVMBuildSelect(b, counts, value, LLVMConstNull(x.type), "");
  reduced e = reduce(&x, value);
  LLVMValueRef power = polynomial(&x, RUNTIME_COUNT(exp_terms), exp_terms, e.r);
  if (has_instruction) return scale_by_instruction(&x, power, e.n, counts);
  return LLVMBuildSelect(b, counts, scale_by_bits(&x, power, e.shifted), LLVMConstNull(x.type), "");
}

static LLVMValueRef absolute(const vectors *x, LLVMValueRef value) {
  LLVMTypeRef type = x->type;
  return codegen_intrinsic(x->m, "llvm.fabs", 1, &type, 1, &value);
}

static LLVMValueRef with_sign(const vectors *x, LLVMValueRef value, LLVMValueRef sign) {
  LLVMTypeRef type = x->type;
  return codegen_intrinsic(x->m, "llvm.copysign", 1, &type, 2, (LLVMValueRef[]){value, sign});
}

/* By e^2a - 1 = 2^n * (e^r - 1) + (2^n - 1), of which nothing is lost where a is small: tanh a = (e^2a - 1) / (e^2a + 1). */
LLVMValueRef codegen_tanh_f32(codegen_emitter *m, LLVMValueRef value, int lanes) {
  static const double end = 10; /* where a float is 1 */
  vectors x = vectors_of(m, lanes);
  LLVMBuilderRef b = m->builder;
  LLVMValueRef a = at_most(&x, absolute(&x, value), real(&x, end));
  reduced e = reduce(&x, LLVMBuildFAdd(b, a, a, ""));
  LLVMValueRef above = polynomial(&x, RUNTIME_COUNT(exp_terms) - 2, exp_terms, e.r); /* without 1 + r */
  above = multiply_add(&x, LLVMBuildFMul(b, e.r, e.r, ""), above, e.r);
  LLVMValueRef bits = LLVMBuildSub(b, LLVMBuildBitCast(b, e.shifted, x.bits, ""), integer(&x, 127), "");
  LLVMValueRef power = power_of_two(&x, bits);
  LLVMValueRef top = multiply_add(&x, power, above, LLVMBuildFSub(b, power, real(&x, 1), ""));
  return with_sign(&x, LLVMBuildFDiv(b, top, LLVMBuildFAdd(b, top, real(&x, 2), ""), ""), value);
}

#define TERM(number) number,
static const double erf_near[] = {CODEGEN_ERF_NEAR(TERM)}, erf_far[] = {CODEGEN_ERF_FAR(TERM)},
                    erf_power[] = {CODEGEN_ERF_POWER(TERM)};
#undef TERM

/* 2^value, value from -27 to 0: the whole part goes into the exponent's bits. */
static LLVMValueRef small_power(const vectors *x, LLVMValueRef value) {
  LLVMBuilderRef b = x->m->builder;
  LLVMValueRef shifted = LLVMBuildFAdd(b, value, real(x, whole), "");
  LLVMValueRef r = LLVMBuildFSub(b, value, LLVMBuildFSub(b, shifted, real(x, whole), ""), "");
  LLVMValueRef power = polynomial(x, RUNTIME_COUNT(erf_power), erf_power, r);
  LLVMValueRef n = LLVMBuildShl(b, LLVMBuildBitCast(b, shifted, x->bits, ""), integer(x, 23), "");
  LLVMValueRef bits = LLVMBuildAdd(b, LLVMBuildBitCast(b, power, x->bits, ""), n, "");
  return LLVMBuildBitCast(b, bits, x->type, "");
}

/* Both ways for all lanes. NaN goes by the first: its bits are no exponent to add to. */
LLVMValueRef codegen_erf_f32(codegen_emitter *m, LLVMValueRef value, int lanes) {
  vectors x = vectors_of(m, lanes);
  LLVMBuilderRef b = m->builder;
  LLVMValueRef end = real(&x, CODEGEN_ERF_MOST), one = real(&x, 1);
  LLVMValueRef a = at_most(&x, absolute(&x, value), end);
  LLVMValueRef near = polynomial(&x, RUNTIME_COUNT(erf_near), erf_near, LLVMBuildFMul(b, value, value, ""));
  near = multiply_add(&x, value, near, value);
  LLVMValueRef far = small_power(&x, polynomial(&x, RUNTIME_COUNT(erf_far), erf_far, a));
  far = with_sign(&x, LLVMBuildFSub(b, one, far, ""), value);
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGE, a, one, ""), far, near, "");
}
