/* emit_dot.c: dot products of groups of lanes (DOT in tir/ir.h): x86's vpdpbusd and vdpbf16ps where the target has
 * them, else bytes by vpmaddwd, or the same by plain vector code. */
#include "codegen/emit.h"

#include <stdio.h>

/* u8 by u8 has no instruction. */
static bool has_bytes_instruction(const codegen_emitter *m, const tir_expr *e) {
  return m->target->dot_i8_lanes > 0 && (e->arg[1]->dtype == TN_I8 || e->arg[2]->dtype == TN_I8);
}

/* The widest instruction of the target that divides LANES: 16, 8 or 4 lanes; 0: none. */
static int instruction_lanes(const codegen_emitter *m, const tir_expr *e) {
  int widest = e->dtype != TN_I32            ? m->target->dot_bf16_lanes
               : has_bytes_instruction(m, e) ? m->target->dot_i8_lanes
                                             : m->target->pair_lanes;
  for (int n = widest; n >= 4; n /= 2) {
    if (e->lanes % n == 0) return n;
  }
  return 0;
}

/* ---- with the instructions --------------------------------------------------------------------------------------- */

/* No value changes: the lanes are cut anew, as instructions for dot products want them. */
static LLVMValueRef bits_as(codegen_emitter *m, LLVMValueRef vector, LLVMTypeRef lane, int lanes) {
  return LLVMBuildBitCast(m->builder, vector, LLVMVectorType(lane, (unsigned)lanes), "");
}

/* vpdpbusd: A is unsigned, B signed, four bytes of each a lane. */
LLVMValueRef codegen_dot_bytes(codegen_emitter *m, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b, int lanes) {
  char name[48];
  snprintf(name, sizeof name, "llvm.x86.avx512.vpdpbusd.%d", 32 * lanes);
  LLVMValueRef args[] = {acc, bits_as(m, a, m->i32, lanes), bits_as(m, b, m->i32, lanes)};
  return codegen_intrinsic(m, name, 0, NULL, 3, args);
}

/* Both signed: a + 128 is a with its top bit flipped, without a sign, and the sum of 128 * b is too much then. That
 * sum depends on B alone, so it is made once where B meets several A. */
static LLVMValueRef bssd(codegen_emitter *m, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b, int lanes) {
  LLVMValueRef top = codegen_splat(m, LLVMConstInt(m->i8, 0x80, false), 4 * lanes);
  LLVMValueRef excess = codegen_dot_bytes(m, LLVMConstNull(LLVMTypeOf(acc)), top, b, lanes);
  acc = LLVMBuildSub(m->builder, acc, excess, "");
  return codegen_dot_bytes(m, acc, LLVMBuildXor(m->builder, a, top, ""), b, lanes);
}

/* vdpbf16ps, whose rounding tir/ir.h allows. */
static LLVMValueRef dot_bf16(codegen_emitter *m, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b, int lanes) {
  char name[48];
  LLVMTypeRef bf16 = LLVMBFloatTypeInContext(m->llvm);
  snprintf(name, sizeof name, "llvm.x86.avx512bf16.dpbf16ps.%d", 32 * lanes);
  LLVMValueRef args[] = {acc, bits_as(m, a, bf16, 2 * lanes), bits_as(m, b, bf16, 2 * lanes)};
  return codegen_intrinsic(m, name, 0, NULL, 3, args);
}

/* ---- with products of halves ------------------------------------------------------------------------------------- */

/* Every second byte, the even or the odd ones, in 16 bits. */
static LLVMValueRef half_of(codegen_emitter *m, const tir_expr *e, LLVMValueRef bytes, int lanes, bool odd) {
  LLVMTypeRef i16 = LLVMInt16TypeInContext(m->llvm);
  LLVMValueRef by = codegen_splat(m, LLVMConstInt(i16, 8, false), 2 * lanes), low;
  LLVMValueRef pairs = bits_as(m, bytes, i16, 2 * lanes);
  if (tn_dtype_is_signed((tn_dtype)e->dtype)) {
    low = odd ? pairs : LLVMBuildShl(m->builder, pairs, by, "");
    return LLVMBuildAShr(m->builder, low, by, "");
  }
  if (odd) return LLVMBuildLShr(m->builder, pairs, by, "");
  return LLVMBuildAnd(m->builder, pairs, codegen_splat(m, LLVMConstInt(i16, 0xFF, false), 2 * lanes), "");
}

/* vpmaddwd: products of 16 bits and sums of two of them, which are exact for values of bytes. */
static LLVMValueRef add_pairs(codegen_emitter *m, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b, int lanes) {
  const char *name = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                     : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                  : "llvm.x86.sse2.pmadd.wd";
  LLVMValueRef args[] = {a, b};
  return LLVMBuildAdd(m->builder, acc, codegen_intrinsic(m, name, 0, NULL, 2, args), "");
}

/* Bytes of either sign: the products of the even ones and those of the odd ones. What rows of a tile share is halved once. */
static LLVMValueRef dot_halves(codegen_emitter *m, const tir_expr *e, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b,
                               int lanes) {
  for (int odd = 0; odd < 2; odd++)
    acc = add_pairs(m, acc, half_of(m, e->arg[1], a, lanes, odd), half_of(m, e->arg[2], b, lanes, odd), lanes);
  return acc;
}

/* ---- piece by piece ---------------------------------------------------------------------------------------------- */

/* One register of the operation. */
static LLVMValueRef dot_register(codegen_emitter *m, const tir_expr *e, LLVMValueRef acc, LLVMValueRef a,
                                 LLVMValueRef b, int lanes) {
  if (e->dtype == TN_F32) return dot_bf16(m, acc, a, b, lanes);
  if (!has_bytes_instruction(m, e)) return dot_halves(m, e, acc, a, b, lanes);
  if (e->arg[1]->dtype != e->arg[2]->dtype)
    return e->arg[1]->dtype == TN_U8 ? codegen_dot_bytes(m, acc, a, b, lanes) : codegen_dot_bytes(m, acc, b, a, lanes);
  return bssd(m, acc, a, b, lanes);
}

/* Piece by piece of the target's width. */
static LLVMValueRef dot_registers(codegen_emitter *m, const tir_expr *e, const LLVMValueRef value[3], int width) {
  LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(value[0]));
  int lanes = e->lanes, group = tir_dot_group((tn_dtype)e->dtype);
  for (int first = 0; first < lanes; first += width) {
    LLVMValueRef acc = codegen_lane_piece(m, value[0], lanes, first, width);
    LLVMValueRef a = codegen_lane_piece(m, value[1], group * lanes, group * first, group * width);
    LLVMValueRef b = codegen_lane_piece(m, value[2], group * lanes, group * first, group * width);
    result = codegen_put_piece(m, result, dot_register(m, e, acc, a, b, width), lanes, first, width);
  }
  return result;
}

/* ---- without ----------------------------------------------------------------------------------------------------- */

/* The lanes OFFSET, OFFSET + STEP ... of a vector. */
static LLVMValueRef every(codegen_emitter *m, LLVMValueRef vector, int offset, int step, int lanes) {
  int *from = RUNTIME_NEW_ARRAY(&m->arena, int, lanes);
  for (int i = 0; from != NULL && i < lanes; i++) from[i] = offset + step * i;
  return codegen_shuffle(m, vector, NULL, lanes, from);
}

/* By the sign of the operand: u8 x i8 products widen each side by its own rule. */
static LLVMValueRef widened(codegen_emitter *m, const tir_expr *e, LLVMValueRef bytes) {
  LLVMTypeRef wide = codegen_type(m, TN_I32, e->lanes);
  return tn_dtype_is_signed((tn_dtype)e->dtype) ? LLVMBuildSExt(m->builder, bytes, wide, "")
                                                : LLVMBuildZExt(m->builder, bytes, wide, "");
}

/* Products first: a processor without the instruction multiplies 16-bit halves anyway. */
static LLVMValueRef plain_i8(codegen_emitter *m, const tir_expr *e, const LLVMValueRef value[3]) {
  LLVMValueRef a = widened(m, e->arg[1], value[1]), b = widened(m, e->arg[2], value[2]), sum = value[0];
  LLVMValueRef products = LLVMBuildMul(m->builder, a, b, "");
  for (int i = 0; i < 4; i++) sum = LLVMBuildAdd(m->builder, sum, every(m, products, i, 4, e->lanes), "");
  return sum;
}

/* The lanes with an odd or even number as f32: a bf16 is its upper half. */
static LLVMValueRef halves(codegen_emitter *m, LLVMValueRef pairs, int lanes, bool odd) {
  LLVMValueRef bits = bits_as(m, pairs, m->i32, lanes);
  LLVMValueRef mask = codegen_splat(m, LLVMConstInt(m->i32, 0xFFFF0000u, false), lanes);
  LLVMValueRef by = codegen_splat(m, LLVMConstInt(m->i32, 16, false), lanes);
  bits = odd ? LLVMBuildAnd(m->builder, bits, mask, "") : LLVMBuildShl(m->builder, bits, by, "");
  return bits_as(m, bits, m->dtypes[TN_F32], lanes);
}

/* The order of vdpbf16ps: the odd ones first. */
static LLVMValueRef plain_bf16(codegen_emitter *m, const tir_expr *e, const LLVMValueRef value[3]) {
  LLVMTypeRef type = LLVMTypeOf(value[0]);
  LLVMValueRef sum = value[0];
  for (int odd = 1; odd >= 0; odd--) {
    LLVMValueRef a = halves(m, value[1], e->lanes, odd), b = halves(m, value[2], e->lanes, odd);
    LLVMValueRef args[] = {a, b, sum};
    sum = codegen_intrinsic(m, "llvm.fmuladd", 1, &type, 3, args);
  }
  return sum;
}

LLVMValueRef codegen_dot(codegen_emitter *m, const tir_expr *e) {
  const LLVMValueRef value[] = {codegen_value(m, e->arg[0]), codegen_value(m, e->arg[1]), codegen_value(m, e->arg[2])};
  int width = instruction_lanes(m, e);
  if (width > 0) return dot_registers(m, e, value, width);
  return e->dtype == TN_I32 ? plain_i8(m, e, value) : plain_bf16(m, e, value);
}
