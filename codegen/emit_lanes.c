/* emit_lanes.c: parts of vectors: what is done in pieces of a register is cut out, and put together again. */
#include "codegen/emit.h"

/* What stands for N lanes of VECTOR's elements when memory ran out. */
static LLVMValueRef lack(codegen_emitter *m, LLVMValueRef vector, int n) {
  codegen_no_memory(m);
  return LLVMGetPoison(LLVMVectorType(LLVMGetElementType(LLVMTypeOf(vector)), (unsigned)n));
}

LLVMValueRef codegen_shuffle(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b, int n, const int *from) {
  LLVMValueRef *mask = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, n);
  if (mask == NULL || from == NULL) return lack(m, a, n);
  if (b == NULL) b = LLVMGetPoison(LLVMTypeOf(a));
  for (int i = 0; i < n; i++)
    mask[i] = from[i] >= 0 ? LLVMConstInt(m->i32, (unsigned)from[i], false) : LLVMGetPoison(m->i32);
  return LLVMBuildShuffleVector(m->builder, a, b, LLVMConstVector(mask, (unsigned)n), "");
}

LLVMValueRef codegen_reverse(codegen_emitter *m, LLVMValueRef vector, int lanes) {
  int *from = RUNTIME_NEW_ARRAY(&m->arena, int, lanes);
  for (int i = 0; from != NULL && i < lanes; i++) from[i] = lanes - 1 - i;
  return codegen_shuffle(m, vector, NULL, lanes, from);
}

/* Repeating the last lane, and not poison, keeps a division in an unused lane harmless. */
LLVMValueRef codegen_lane_piece(codegen_emitter *m, LLVMValueRef vector, int lanes, int first, int width) {
  if (width == lanes) return vector;
  int *from = RUNTIME_NEW_ARRAY(&m->arena, int, width);
  for (int i = 0; from != NULL && i < width; i++) from[i] = RUNTIME_MIN(first + i, lanes - 1);
  return codegen_shuffle(m, vector, NULL, width, from);
}

/* Two shuffles: one spreads the part, one chooses. */
LLVMValueRef codegen_put_piece(codegen_emitter *m, LLVMValueRef result, LLVMValueRef part, int lanes, int first,
                               int width) {
  if (width == lanes) return part;
  int *from = RUNTIME_NEW_ARRAY(&m->arena, int, lanes);
  if (from == NULL) return lack(m, part, lanes);
  for (int i = 0; i < lanes; i++) from[i] = i >= first && i < first + width ? i - first : -1;
  LLVMValueRef spread = codegen_shuffle(m, part, NULL, lanes, from);
  for (int i = 0; i < lanes; i++) from[i] = i >= first && i < first + width ? lanes + i : i;
  return codegen_shuffle(m, result, spread, lanes, from);
}
