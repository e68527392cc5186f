/* emit_lanes.c: parts of vectors: what is done in pieces of a register is cut out, and put together again. */
#include "codegen/emit.h"

/* Repeating the last lane, and not poison, keeps a division in an unused lane harmless. */
LLVMValueRef codegen_lane_piece(codegen_emitter *m, LLVMValueRef vector, int lanes, int first, int width) {
  LLVMValueRef *mask = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, width);
  if (width == lanes || mask == NULL) return vector;
  for (int i = 0; i < width; i++) mask[i] = LLVMConstInt(m->i32, (unsigned)RUNTIME_MIN(first + i, lanes - 1), false);
  LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(vector));
  return LLVMBuildShuffleVector(m->builder, vector, poison, LLVMConstVector(mask, (unsigned)width), "");
}

/* Two shuffles: one spreads the part, one chooses. */
LLVMValueRef codegen_put_piece(codegen_emitter *m, LLVMValueRef result, LLVMValueRef part, int lanes, int first,
                               int width) {
  LLVMValueRef *mask = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, lanes);
  if (width == lanes || mask == NULL) return part;
  for (int i = 0; i < lanes; i++) {
    bool here = i >= first && i < first + width;
    mask[i] = here ? LLVMConstInt(m->i32, (unsigned)(i - first), false) : LLVMGetPoison(m->i32);
  }
  LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(part));
  LLVMValueRef spread = LLVMBuildShuffleVector(m->builder, part, poison, LLVMConstVector(mask, (unsigned)lanes), "");
  for (int i = 0; i < lanes; i++) {
    bool here = i >= first && i < first + width;
    mask[i] = LLVMConstInt(m->i32, (unsigned)(here ? lanes + i : i), false);
  }
  return LLVMBuildShuffleVector(m->builder, result, spread, LLVMConstVector(mask, (unsigned)lanes), "");
}
