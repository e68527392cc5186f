/* emit_math.c: functions of floats: LLVM intrinsics where there is one (LLVM lowers them to instructions or libm), libm
 * by name, lane by lane, for the others. */
#include "codegen/emit.h"

typedef struct math_row {
  const char *intrinsic;          /* llvm.*, overloaded on the type, or NULL */
  const char *libm_f32, *libm_f64; /* without an intrinsic */
} math_row;

static const math_row rows[TIR_OP_COUNT] = {
    [TIR_POW] = {.intrinsic = "llvm.pow"},     [TIR_EXP] = {.intrinsic = "llvm.exp"},
    [TIR_LOG] = {.intrinsic = "llvm.log"},     [TIR_SQRT] = {.intrinsic = "llvm.sqrt"},
    [TIR_RSQRT] = {.intrinsic = "llvm.sqrt"},  [TIR_SIGMOID] = {.intrinsic = "llvm.exp"},
    [TIR_SIN] = {.intrinsic = "llvm.sin"},     [TIR_COS] = {.intrinsic = "llvm.cos"},
    [TIR_FLOOR] = {.intrinsic = "llvm.floor"}, [TIR_CEIL] = {.intrinsic = "llvm.ceil"},
    [TIR_ROUND] = {.intrinsic = "llvm.round"}, [TIR_TANH] = {NULL, "tanhf", "tanh"},
    [TIR_ERF] = {NULL, "erff", "erf"},
};

/* One call a lane. */
static LLVMValueRef call_libm(codegen_emitter *m, const tir_expr *e, LLVMValueRef value) {
  const char *name = e->dtype == TN_F32 ? rows[e->op].libm_f32 : rows[e->op].libm_f64;
  LLVMTypeRef type = m->dtypes[e->dtype];
  if (e->lanes == 1) return codegen_call_extern(m, name, type, 1, &type, &value);
  LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(value));
  for (unsigned lane = 0; lane < e->lanes; lane++) {
    LLVMValueRef at = LLVMConstInt(m->i32, lane, false), x = LLVMBuildExtractElement(m->builder, value, at, "");
    result = LLVMBuildInsertElement(m->builder, result, codegen_call_extern(m, name, type, 1, &type, &x), at, "");
  }
  return result;
}

static LLVMValueRef one_over(codegen_emitter *m, const tir_expr *e, LLVMValueRef value) {
  LLVMValueRef one = codegen_splat(m, LLVMConstReal(m->dtypes[e->dtype], 1.0), e->lanes);
  return LLVMBuildFDiv(m->builder, one, value, "");
}

/* 1 / (1 + exp(-x)) */
static LLVMValueRef emit_sigmoid(codegen_emitter *m, const tir_expr *e, LLVMValueRef value) {
  LLVMTypeRef type = codegen_type(m, e->dtype, e->lanes);
  LLVMValueRef negated = LLVMBuildFNeg(m->builder, value, "");
  LLVMValueRef power = codegen_intrinsic(m, rows[e->op].intrinsic, 1, &type, 1, &negated);
  LLVMValueRef one = codegen_splat(m, LLVMConstReal(m->dtypes[e->dtype], 1.0), e->lanes);
  return one_over(m, e, LLVMBuildFAdd(m->builder, one, power, ""));
}

LLVMValueRef codegen_math(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef args[2] = {codegen_value(m, e->arg[0])};
  if (e->n_args > 1) args[1] = codegen_value(m, e->arg[1]);
  if (!tn_dtype_is_float(e->dtype)) {
    codegen_emit_fail(m, TN_ERROR_INTERNAL, "%s of %s reached code generation", tir_op_table[e->op].text,
                      tn_dtype_name((tn_dtype)e->dtype));
    return args[0];
  }
  if (e->op == TIR_SIGMOID) return emit_sigmoid(m, e, args[0]);
  if (rows[e->op].intrinsic == NULL) return call_libm(m, e, args[0]);
  LLVMTypeRef type = codegen_type(m, e->dtype, e->lanes);
  LLVMValueRef value = codegen_intrinsic(m, rows[e->op].intrinsic, 1, &type, e->n_args, args);
  return e->op == TIR_RSQRT ? one_over(m, e, value) : value;
}
