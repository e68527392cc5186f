/* emit_call.c: calls of C functions: `void name(...)` with pointers and numbers. A callee that comes as LLVM IR is
 * linked into the kernel's module, where everything the IR defines becomes private: an object holds what it needs and
 * clashes with no other. Any other callee is a symbol that whoever links or loads the object gives. */
#include <stdio.h>

#include <llvm-c/Linker.h>

#include "codegen/emit.h"
#include "codegen/foreign.h"

/* ---- signatures -------------------------------------------------------------------------------------------------- */

/* USER: the callee, and where its call goes. */
static tir_walk find_call(void *user, const tir_stmt *s) {
  const void **wanted = user; /* [0] the callee, [1] its first call */
  if (s->kind != TIR_CALL || s->u.call.callee != wanted[0]) return TIR_WALK_ON;
  wanted[1] = s;
  return TIR_WALK_STOP;
}

/* As the callee's first call has it; all have the same (tir_check). */
static LLVMTypeRef signature(codegen_emitter *m, const tir_callee *callee) {
  const void *found[2] = {callee, NULL};
  tir_visitor visitor = {.stmt = find_call, .user = found};
  tir_walk_stmt(m->func->body, &visitor);
  const tir_stmt *call = found[1];
  LLVMTypeRef *types = RUNTIME_NEW_ARRAY(&m->arena, LLVMTypeRef, call->u.call.n + 1);
  if (types == NULL) return NULL;
  for (int i = 0; i < call->u.call.n; i++) {
    const tir_operand *o = &call->u.call.operands[i];
    types[i] = o->access == TIR_BY_VALUE ? codegen_type(m, (tn_dtype)o->value->dtype, 1) : m->ptr;
  }
  return LLVMFunctionType(LLVMVoidTypeInContext(m->llvm), types, (unsigned)call->u.call.n, false);
}

/* The declaration is found again at each call. */
static bool keep(codegen_emitter *m, const tir_callee *callee, LLVMValueRef function) {
  if (runtime_map_put(&m->callees, callee, function)) return true;
  codegen_no_memory(m);
  return false;
}

/* A symbol of somebody else's. */
static void declare(codegen_emitter *m, const tir_callee *callee) {
  LLVMTypeRef type = signature(m, callee);
  if (strcmp(callee->name, m->func->name) == 0) {
    codegen_emit_fail(m, TN_ERROR_CODEGEN, "the kernel and a function that it calls are both named %s", callee->name);
    return;
  }
  LLVMValueRef function = LLVMGetNamedFunction(m->module, callee->name);
  if (function == NULL) function = LLVMAddFunction(m->module, callee->name, type);
  codegen_add_attribute(m, function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
  keep(m, callee, function);
}

/* ---- LLVM IR ----------------------------------------------------------------------------------------------------- */

/* WHY stands behind "the LLVM IR of NAME". */
static void fail_module(codegen_emitter *m, const tir_callee *callee, const char *why) {
  codegen_emit_fail(m, TN_ERROR_CODEGEN, "the LLVM IR of %s %s", callee->name, why);
}

/* NULL with a message. The module is in the kernel's LLVM context. */
static LLVMModuleRef parse(codegen_emitter *m, const tir_callee *callee) {
  codegen_reason why;
  LLVMModuleRef module = codegen_parse_ir(m->llvm, callee->module, callee->module_bytes, callee->name, &why);
  if (module == NULL) fail_module(m, callee, why.text);
  return module;
}

/* Type for type: a call by another type would be undefined. */
static bool check_function(codegen_emitter *m, const tir_callee *callee, LLVMModuleRef module) {
  codegen_reason why;
  if (codegen_check_definition(module, callee->name, signature(m, callee), &why)) return true;
  fail_module(m, callee, why.text);
  return false;
}

/* Well-formed, and for this target. */
static bool check_module(codegen_emitter *m, const tir_callee *callee, LLVMModuleRef module) {
  codegen_reason why;
  if (codegen_check_ir(module, m->target->triple, LLVMGetDataLayoutStr(m->module), &why))
    return check_function(m, callee, module);
  fail_module(m, callee, why.text);
  return false;
}

typedef RUNTIME_VEC(const char *) name_list;

/* Names of what the module defines for others; they become private after linking. */
static void collect_name(codegen_emitter *m, LLVMValueRef global, name_list *names) {
  size_t n;
  const char *name = LLVMGetValueName2(global, &n);
  LLVMLinkage linkage = LLVMGetLinkage(global);
  bool is_private = linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
  bool is_special = linkage == LLVMAppendingLinkage || strncmp(name, "llvm.", 5) == 0;
  if (LLVMIsDeclaration(global) || is_private || is_special) return;
  if (!RUNTIME_PUSH(names, runtime_strdup(&m->arena, name))) codegen_no_memory(m);
}

/* The names that a module defines for others. */
static void collect_names(codegen_emitter *m, LLVMModuleRef module, name_list *names) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f)) collect_name(m, f, names);
  for (LLVMValueRef g = LLVMGetFirstGlobal(module); g != NULL; g = LLVMGetNextGlobal(g)) collect_name(m, g, names);
}

/* What came with a module is the kernel's own from now on. */
static void make_private(codegen_emitter *m, const char *name) {
  LLVMValueRef global = LLVMGetNamedFunction(m->module, name);
  static const char cpu[] = "target-cpu";
  if (global != NULL &&
      LLVMGetStringAttributeAtIndex(global, (unsigned)LLVMAttributeFunctionIndex, cpu, sizeof cpu - 1) == NULL)
    codegen_add_target_attributes(m, global);
  if (global == NULL) global = LLVMGetNamedGlobal(m->module, name);
  if (global == NULL) return;
  LLVMSetVisibility(global, LLVMDefaultVisibility);
  LLVMSetLinkage(global, LLVMInternalLinkage);
}

/* All callees that come from one module. MODULE is taken. */
static void link_module(codegen_emitter *m, const tir_callee *first, LLVMModuleRef module, int n,
                        const tir_callee *const *callees) {
  name_list names = {0};
  collect_names(m, module, &names);
  for (int i = 0; i < names.n; i++) {
    if (strcmp(names.data[i], m->func->name) == 0)
      codegen_emit_fail(m, TN_ERROR_CODEGEN, "the LLVM IR of %s defines the kernel's own name, too: %s", first->name,
                        m->func->name);
  }
  if (LLVMLinkModules2(m->module, module)) {
    fail_module(m, first, "cannot be linked into the kernel: a name is defined twice");
  } else {
    for (int i = 0; i < n; i++) {
      if (callees[i]->module == first->module) keep(m, callees[i], LLVMGetNamedFunction(m->module, callees[i]->name));
    }
    for (int i = 0; i < names.n; i++) make_private(m, names.data[i]);
  }
  RUNTIME_VEC_FREE(&names);
}

/* Callees of one module are linked together: it is parsed once. */
static void add_module(codegen_emitter *m, const tir_callee *first, int n, const tir_callee *const *callees) {
  LLVMModuleRef module = parse(m, first);
  if (module == NULL) return;
  bool good = check_module(m, first, module);
  for (int i = 0; good && i < n; i++) {
    if (callees[i]->module == first->module) good = check_function(m, callees[i], module);
  }
  if (good)
    link_module(m, first, module, n, callees);
  else
    LLVMDisposeModule(module);
}

/* Before the kernel is emitted, so that calls find their functions. */
void codegen_link_callees(codegen_emitter *m) {
  int n = tir_callees(m->func, 0, NULL);
  const tir_callee **callees = RUNTIME_NEW_ARRAY(&m->arena, const tir_callee *, n + 1);
  if (callees == NULL) {
    codegen_no_memory(m);
    return;
  }
  tir_callees(m->func, n, callees);
  for (int i = 0; i < n && !m->failed; i++) {
    if (runtime_map_get(&m->callees, callees[i]) != NULL) continue;
    if (callees[i]->module != NULL)
      add_module(m, callees[i], n, callees);
    else
      declare(m, callees[i]);
  }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Of the operand's first element. A buffer without an index is passed from its beginning. */
static LLVMValueRef address(codegen_emitter *m, const tir_operand *o) {
  codegen_binding *binding = codegen_find(m, o->buffer);
  if (binding == NULL || o->n_index > 1) {
    codegen_emit_fail(m, TN_ERROR_INTERNAL, "%s is %s", o->buffer->name,
                      o->n_index > 1 ? "not flat" : "used outside its scope");
    return LLVMGetPoison(m->ptr);
  }
  if (o->n_index == 0) return binding->value;
  LLVMValueRef index = codegen_index(m, o->index[0]);
  LLVMTypeRef type = codegen_memory_type(m, o->buffer->dtype, 1);
  return LLVMBuildInBoundsGEP2(m->builder, type, binding->value, &index, 1, "");
}

/* At the call: another call of the function may promise less. */
static void add_call_attribute(codegen_emitter *m, LLVMValueRef call, int operand, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddCallSiteAttribute(call, (unsigned)operand + 1, LLVMCreateEnumAttribute(m->llvm, kind, 0));
}

/* What the operands promise (tir/ir.h, CALL). */
static void describe_operand(codegen_emitter *m, LLVMValueRef call, int i, const tir_operand *o) {
  if (o->access == TIR_BY_VALUE) {
    if (o->value->dtype == TN_I32) add_call_attribute(m, call, i, "signext");
    return;
  }
  add_call_attribute(m, call, i, "nocapture");
  if (o->access == TIR_READS) add_call_attribute(m, call, i, "readonly");
}

/* The callee's own calling convention, which linked IR may have changed. */
void codegen_emit_call(codegen_emitter *m, const tir_stmt *s) {
  LLVMValueRef function = runtime_map_get(&m->callees, s->u.call.callee);
  LLVMValueRef *args = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, s->u.call.n + 1);
  if (function == NULL) codegen_emit_fail(m, TN_ERROR_INTERNAL, "%s was not declared", s->u.call.callee->name);
  if (args == NULL) codegen_no_memory(m);
  if (m->failed) return;
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    args[i] = o->access == TIR_BY_VALUE ? codegen_value(m, o->value) : address(m, o);
  }
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  LLVMValueRef call = LLVMBuildCall2(m->builder, type, function, args, (unsigned)s->u.call.n, "");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(function));
  for (int i = 0; i < s->u.call.n; i++) describe_operand(m, call, i, &s->u.call.operands[i]);
}
