/* emit_math.c: functions of floats. Exponentials, tanh and error functions of vectors of f32 are written out (emit_exp.c).
 * Other vectors go to glibc's vector functions (libmvec, within 4 ulp) in pieces of a register, where the target has
 * them; else LLVM intrinsics where there is one (LLVM lowers them to instructions or libm), and libm by name, lane by
 * lane, for the others. */
#include "codegen/emit.h"

#include <stdio.h>

/* What LLVM has for functions of floats; the others, and those that a processor has no instruction for, are libm's by
 * the operator's own name; f32 has an f behind it. */
typedef struct math_row {
  const char *intrinsic; /* llvm.*, overloaded on the type, or NULL */
  bool is_instruction;   /* no function of libm is called */
  bool is_scalar_only;   /* libmvec has it not */
} math_row;

/* What is not listed is written out here or calls the C library. */
static const math_row rows[TIR_OP_COUNT] = {
    [TIR_POW] = {"llvm.pow"},
    [TIR_EXP] = {"llvm.exp"},
    [TIR_LOG] = {"llvm.log"},
    [TIR_SQRT] = {"llvm.sqrt", true},
    [TIR_RSQRT] = {"llvm.sqrt", true},
    [TIR_SIGMOID] = {"llvm.exp"},
    [TIR_SIN] = {"llvm.sin"},
    [TIR_COS] = {"llvm.cos"},
    [TIR_FLOOR] = {"llvm.floor", true},
    [TIR_CEIL] = {"llvm.ceil", true},
    [TIR_ROUND] = {"llvm.round", true},
    [TIR_EXP2] = {"llvm.exp2"},
    [TIR_LOG2] = {"llvm.log2"},
    [TIR_LOG10] = {"llvm.log10"},
    [TIR_TRUNC] = {"llvm.trunc", true},
    [TIR_NEARBYINT] = {"llvm.roundeven", true},
    [TIR_COPYSIGN] = {"llvm.copysign", true},
    [TIR_FMOD] = {NULL, false, true},
};

/* libm's name for f64. */
static const char *libm_name(const tir_expr *e) { return tir_op_table[e->op == TIR_SIGMOID ? TIR_EXP : e->op].text; }

/* Says that NAME computes a value of its arguments and nothing else: what is the same for all steps is computed once. Errno, which some functions
 * set, belongs to nobody here. */
static void mark_pure(codegen_emitter *m, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(m->module, name);
  codegen_add_attribute(m, function, (unsigned)LLVMAttributeFunctionIndex, "willreturn", 0);
  codegen_add_attribute(m, function, (unsigned)LLVMAttributeFunctionIndex, "memory", 0); /* none */
}

/* ---- glibc's vector functions ------------------------------------------------------------------------------------ */

/* The letter of the vector function ABI for the target's registers; 0: glibc has none for this target. */
static char vector_isa(const tn_target *target) {
  if (strcmp(target->arch->name, "x86_64") != 0 || strstr(target->triple, "linux") == NULL) return 0;
  if (strstr(target->triple, "musl") != NULL || strstr(target->triple, "android") != NULL) return 0;
  if (target->vector_bytes == 64) return 'e';
  return target->vector_bytes == 16 ? 'b' : target->has_avx2 ? 'd' : 'c';
}

/* Calls the vector function piece by piece. */
static LLVMValueRef call_vector(codegen_emitter *m, const tir_expr *e, char isa, const LLVMValueRef *args) {
  int width = m->target->vector_bytes / (int)tn_dtype_bytes((tn_dtype)e->dtype), n = e->n_args;
  LLVMTypeRef type = codegen_type(m, (tn_dtype)e->dtype, width), types[2] = {type, type};
  LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(args[0]));
  char name[48];
  snprintf(name, sizeof name, "_ZGV%cN%dv%s_%s%s", isa, width, n == 2 ? "v" : "", libm_name(e),
           e->dtype == TN_F32 ? "f" : "");
  for (int first = 0; first < e->lanes; first += width) {
    LLVMValueRef parts[2] = {NULL};
    for (int i = 0; i < n; i++) parts[i] = codegen_lane_piece(m, args[i], e->lanes, first, width);
    LLVMValueRef part = codegen_call_extern(m, name, type, n, types, parts);
    result = codegen_put_piece(m, result, part, e->lanes, first, width);
  }
  mark_pure(m, name);
  return result;
}

/* ---- libm -------------------------------------------------------------------------------------------------------- */

/* One call a lane. */
static LLVMValueRef call_libm(codegen_emitter *m, const tir_expr *e, LLVMValueRef *args) {
  char name[16];
  snprintf(name, sizeof name, "%s%s", libm_name(e), e->dtype == TN_F32 ? "f" : "");
  LLVMTypeRef types[] = {m->dtypes[e->dtype], m->dtypes[e->dtype]};
  if (e->lanes == 1) {
    LLVMValueRef value = codegen_call_extern(m, name, types[0], e->n_args, types, args);
    return mark_pure(m, name), value;
  }
  LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(args[0]));
  for (unsigned lane = 0; lane < e->lanes; lane++) {
    LLVMValueRef at = LLVMConstInt(m->i32, lane, false), of_lane[2];
    for (int i = 0; i < e->n_args; i++) of_lane[i] = LLVMBuildExtractElement(m->builder, args[i], at, "");
    LLVMValueRef value = codegen_call_extern(m, name, types[0], e->n_args, types, of_lane);
    result = LLVMBuildInsertElement(m->builder, result, value, at, "");
  }
  mark_pure(m, name);
  return result;
}

/* The function itself, by whatever computes it. */
static LLVMValueRef call(codegen_emitter *m, const tir_expr *e, LLVMValueRef *args) {
  bool is_exp = e->op == TIR_EXP || e->op == TIR_SIGMOID;
  bool is_vector = e->lanes > 1;
  if (is_vector && is_exp && e->dtype == TN_F32) return codegen_exp_f32(m, args[0], e->lanes);
  if (is_vector && e->op == TIR_TANH && e->dtype == TN_F32) return codegen_tanh_f32(m, args[0], e->lanes);
  if (is_vector && e->op == TIR_ERF && e->dtype == TN_F32) return codegen_erf_f32(m, args[0], e->lanes);
  is_vector = is_vector && !rows[e->op].is_instruction && !rows[e->op].is_scalar_only;
  char isa = is_vector ? vector_isa(m->target) : 0;
  if (isa != 0) return call_vector(m, e, isa, args);
  if (rows[e->op].intrinsic == NULL) return call_libm(m, e, args);
  LLVMTypeRef type = codegen_type(m, e->dtype, e->lanes);
  return codegen_intrinsic(m, rows[e->op].intrinsic, 1, &type, e->n_args, args);
}

/* 1 / x, correctly rounded: rsqrt is no estimate. */
static LLVMValueRef one_over(codegen_emitter *m, const tir_expr *e, LLVMValueRef value) {
  LLVMValueRef one = codegen_splat(m, LLVMConstReal(m->dtypes[e->dtype], 1.0), e->lanes);
  return LLVMBuildFDiv(m->builder, one, value, "");
}

/* 1 / (1 + exp(-x)) */
static LLVMValueRef emit_sigmoid(codegen_emitter *m, const tir_expr *e, LLVMValueRef value) {
  LLVMValueRef negated = LLVMBuildFNeg(m->builder, value, "");
  LLVMValueRef power = call(m, e, &negated);
  LLVMValueRef one = codegen_splat(m, LLVMConstReal(m->dtypes[e->dtype], 1.0), e->lanes);
  return one_over(m, e, LLVMBuildFAdd(m->builder, one, power, ""));
}

/* The row of the operator decides what computes it. */
LLVMValueRef codegen_math(codegen_emitter *m, const tir_expr *e) {
  LLVMValueRef args[2] = {codegen_value(m, e->arg[0])};
  if (e->n_args > 1) args[1] = codegen_value(m, e->arg[1]);
  if (!tn_dtype_is_float(e->dtype)) {
    codegen_emit_fail(m, TN_ERROR_INTERNAL, "%s of %s reached code generation", tir_op_table[e->op].text,
                      tn_dtype_name((tn_dtype)e->dtype));
    return args[0];
  }
  if (e->op == TIR_SIGMOID) return emit_sigmoid(m, e, args[0]);
  LLVMValueRef value = call(m, e, args);
  return e->op == TIR_RSQRT ? one_over(m, e, value) : value;
}
