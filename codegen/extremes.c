/* extremes.c: after LLVM's passes: the greater and the less of two floats as one instruction. instcombine makes a choice between
 * floats that came as integers (emit_near.c shuffles these) one between the integers,
 *
 *     %c = fcmp ogt <16 x float> %a, %b              ; %a, %b: bitcasts of %x, %y
 *     %z = select <16 x i1> %c, <16 x i32> %x, <16 x i32> %y
 *
 * in which instruction selection knows no maximum. It is made one between the floats again. And a choice of what adds nothing (-0, emit_sum.c)
 * stands behind the other value again, where a sum knows it as one under a mask: instcombine asks whether integers are equal instead of
 * different, and turns such choices round. */
#include "codegen/internal.h"

/* The float that X, an integer, is compared as; NULL: it is not. */
static LLVMValueRef compared_as(LLVMValueRef comparison, LLVMValueRef x) {
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef side = LLVMGetOperand(comparison, i);
    if (LLVMIsABitCastInst(side) != NULL && LLVMGetOperand(side, 0) == x) return side;
  }
  return NULL;
}

static void choose_floats(LLVMBuilderRef builder, LLVMValueRef select) {
  LLVMValueRef comparison = LLVMGetOperand(select, 0);
  if (LLVMIsAFCmpInst(comparison) == NULL || LLVMGetTypeKind(LLVMTypeOf(select)) != LLVMVectorTypeKind) return;
  LLVMValueRef x = compared_as(comparison, LLVMGetOperand(select, 1));
  LLVMValueRef y = compared_as(comparison, LLVMGetOperand(select, 2));
  if (x == NULL || y == NULL) return;
  LLVMPositionBuilderBefore(builder, select);
  LLVMValueRef chosen = LLVMBuildSelect(builder, comparison, x, y, "");
  LLVMReplaceAllUsesWith(select, LLVMBuildBitCast(builder, chosen, LLVMTypeOf(select), ""));
}

/* The same comparison, of integers, that holds where COMPARISON does not; NULL: it is none, or no vector. */
static LLVMValueRef opposite(LLVMBuilderRef builder, LLVMValueRef comparison) {
  if (LLVMIsAICmpInst(comparison) == NULL || LLVMGetICmpPredicate(comparison) != LLVMIntEQ) return NULL;
  return LLVMBuildICmp(builder, LLVMIntNE, LLVMGetOperand(comparison, 0), LLVMGetOperand(comparison, 1), "");
}

static bool adds_nothing(LLVMValueRef value) {
  enum { MOST = 256 };
  LLVMTypeRef type = LLVMTypeOf(value), element;
  LLVMValueRef zeros[MOST];
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetVectorSize(type) > MOST) return false;
  element = LLVMGetElementType(type);
  LLVMTypeKind kind = LLVMGetTypeKind(element);
  if ((kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind) || !LLVMIsConstant(value)) return false;
  for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) zeros[i] = LLVMConstReal(element, -0.0);
  return LLVMConstVector(zeros, LLVMGetVectorSize(type)) == value;
}

static void put_nothing_last(LLVMBuilderRef builder, LLVMValueRef select) {
  if (!adds_nothing(LLVMGetOperand(select, 1))) return;
  LLVMPositionBuilderBefore(builder, select);
  LLVMValueRef other = opposite(builder, LLVMGetOperand(select, 0));
  if (other == NULL) return;
  LLVMReplaceAllUsesWith(select,
                         LLVMBuildSelect(builder, other, LLVMGetOperand(select, 2), LLVMGetOperand(select, 1), ""));
}

void codegen_choose_floats(LLVMModuleRef module) {
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i != NULL; i = next) {
        next = LLVMGetNextInstruction(i);
        if (LLVMIsASelectInst(i) != NULL) choose_floats(builder, i);
        if (LLVMIsASelectInst(i) != NULL && LLVMGetFirstUse(i) != NULL) put_nothing_last(builder, i);
        if (LLVMIsASelectInst(i) != NULL && LLVMGetFirstUse(i) == NULL) LLVMInstructionEraseFromParent(i);
      }
  LLVMDisposeBuilder(builder);
}
