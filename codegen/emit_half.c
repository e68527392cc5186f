/* emit_half.c: between f32 and the bits of f16 or bf16. Vectors become bf16 by avx512-bf16's instructions where the target
 * has them; these take subnormal numbers for zero, so lanes that hold one go another way. */
#include "codegen/emit.h"

#include <stdio.h>

enum { IS_SUBNORMAL = 0x20 };

/* A vector of as many lanes, or the element itself. */
static LLVMTypeRef like(LLVMTypeRef element, int lanes) {
  return lanes == 1 ? element : LLVMVectorType(element, (unsigned)lanes);
}

/* Always 32 bits wide: for counts of shifts and the like. */
static LLVMValueRef int_splat(codegen_emitter *m, uint64_t value, int lanes) {
  return codegen_splat(m, LLVMConstInt(m->i32, value, false), lanes);
}

LLVMValueRef codegen_from_half(codegen_emitter *m, tn_dtype from, LLVMValueRef bits, int lanes) {
  LLVMTypeRef to = codegen_type(m, TN_F32, lanes);
  LLVMTypeRef half = like(LLVMHalfTypeInContext(m->llvm), lanes);
  if (from == TN_F16) return LLVMBuildFPExt(m->builder, LLVMBuildBitCast(m->builder, bits, half, ""), to, "");
  LLVMValueRef wide = LLVMBuildZExt(m->builder, bits, like(m->i32, lanes), "");
  return LLVMBuildBitCast(m->builder, LLVMBuildShl(m->builder, wide, int_splat(m, 16, lanes), ""), to, "");
}

/* The upper half of an f32, rounded to the nearest, ties to even; a NaN stays one. */
static LLVMValueRef by_integers(codegen_emitter *m, LLVMValueRef value, int lanes) {
  LLVMBuilderRef b = m->builder;
  LLVMValueRef bits = LLVMBuildBitCast(b, value, like(m->i32, lanes), ""), sixteen = int_splat(m, 16, lanes);
  LLVMValueRef upper = LLVMBuildLShr(b, bits, sixteen, "");
  LLVMValueRef odd = LLVMBuildAnd(b, upper, int_splat(m, 1, lanes), "");
  LLVMValueRef bias = LLVMBuildAdd(b, odd, int_splat(m, 0x7FFF, lanes), "");
  LLVMValueRef rounded = LLVMBuildLShr(b, LLVMBuildAdd(b, bits, bias, ""), sixteen, "");
  LLVMValueRef quiet = LLVMBuildOr(b, upper, int_splat(m, 0x40, lanes), "");
  LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, value, value, "");
  return LLVMBuildTrunc(b, LLVMBuildSelect(b, is_nan, quiet, rounded, ""), codegen_type(m, TN_BF16, lanes), "");
}

/* ---- by instructions --------------------------------------------------------------------------------------------- */

/* Lanes of the widest instruction that divides LANES: 16 or 8; 0: there is none. */
static int instruction_lanes(const codegen_emitter *m, int lanes) {
  for (int n = m->target->bf16_lanes; n >= 8; n /= 2)
    if (lanes % n == 0) return n;
  return 0;
}

/* Which of PART's N lanes are subnormal numbers: a bit each. */
static LLVMValueRef subnormals(codegen_emitter *m, LLVMValueRef part, int n) {
  char name[48];
  snprintf(name, sizeof name, "llvm.x86.avx512.fpclass.ps.%d", 32 * n);
  LLVMValueRef args[] = {part, LLVMConstInt(m->i32, IS_SUBNORMAL, false)};
  return codegen_intrinsic(m, name, 0, NULL, 2, args);
}

/* Registers of N lanes each; two by one instruction. Subnormal numbers become zero. */
static LLVMValueRef by_instructions(codegen_emitter *m, LLVMValueRef value, int lanes, int n) {
  LLVMTypeRef element = codegen_type(m, TN_BF16, 1);
  LLVMValueRef result = LLVMGetUndef(codegen_type(m, TN_BF16, lanes));
  char name[48];
  for (int first = 0, step; first < lanes; first += step) {
    step = first + 2 * n <= lanes ? 2 * n : n;
    snprintf(name, sizeof name, "llvm.x86.avx512bf16.%s.%d", step > n ? "cvtne2ps2bf16" : "cvtneps2bf16", 32 * n);
    LLVMValueRef low = codegen_lane_piece(m, value, lanes, first, n);
    LLVMValueRef args[] = {step > n ? codegen_lane_piece(m, value, lanes, first + n, n) : low, low};
    LLVMValueRef part = codegen_intrinsic(m, name, 0, NULL, step / n, args);
    part = LLVMBuildBitCast(m->builder, part, like(element, step), "");
    result = step == lanes ? part : codegen_put_piece(m, result, part, lanes, first, step);
  }
  return result;
}

static LLVMValueRef any_subnormal(codegen_emitter *m, LLVMValueRef value, int lanes, int n) {
  LLVMValueRef any = NULL;
  for (int first = 0; first < lanes; first += n) {
    LLVMValueRef are = subnormals(m, codegen_lane_piece(m, value, lanes, first, n), n);
    any = any != NULL ? LLVMBuildOr(m->builder, any, are, "") : are;
  }
  LLVMTypeRef mask = LLVMIntTypeInContext(m->llvm, (unsigned)n);
  any = LLVMBuildICmp(m->builder, LLVMIntNE, LLVMBuildBitCast(m->builder, any, mask, ""), LLVMConstNull(mask), "");
  LLVMValueRef args[] = {any, LLVMConstInt(m->i1, 0, false)};
  return codegen_intrinsic(m, "llvm.expect", 1, &m->i1, 2, args);
}

/* The one branch for all lanes is hardly ever taken. */
static LLVMValueRef to_bf16(codegen_emitter *m, LLVMValueRef value, int lanes) {
  int n = instruction_lanes(m, lanes);
  if (n == 0 || LLVMIsConstant(value)) return by_integers(m, value, lanes);
  LLVMValueRef fast = by_instructions(m, value, lanes, n);
  LLVMValueRef is_slow = any_subnormal(m, value, lanes, n);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->builder);
  LLVMBasicBlockRef exact = codegen_new_block(m, "subnormal"), after = codegen_new_block(m, "rounded");
  LLVMBuildCondBr(m->builder, is_slow, exact, after);
  LLVMPositionBuilderAtEnd(m->builder, exact);
  LLVMValueRef slow = by_integers(m, value, lanes);
  LLVMBuildBr(m->builder, after);
  LLVMPositionBuilderAtEnd(m->builder, after);
  LLVMValueRef result = LLVMBuildPhi(m->builder, LLVMTypeOf(fast), "");
  LLVMAddIncoming(result, (LLVMValueRef[]){fast, slow}, (LLVMBasicBlockRef[]){before, exact}, 2);
  return result;
}

/* f16 by LLVM's truncation, to nearest even. */
LLVMValueRef codegen_to_half(codegen_emitter *m, tn_dtype to, LLVMValueRef value, int lanes) {
  if (to == TN_BF16) return to_bf16(m, value, lanes);
  LLVMTypeRef half = like(LLVMHalfTypeInContext(m->llvm), lanes);
  return LLVMBuildBitCast(m->builder, LLVMBuildFPTrunc(m->builder, value, half, ""), codegen_type(m, to, lanes), "");
}
