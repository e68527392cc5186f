/* foreign.c: see foreign.h. */
#include "codegen/foreign.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>

/* At most 400 characters of MESSAGE. Always false. */
static bool object_to(codegen_reason *why, const char *what, const char *message) {
  snprintf(why->text, sizeof why->text, "%s%s%.400s", what, *message ? ": " : "", message);
  return false;
}

/* Older LLVMs write other data layouts for the same machine. LLVM's reader of bitcode brings them up to date, its reader of
 * text does not, so text goes through bitcode once. Takes MODULE and returns it, or the one to use instead. */
static LLVMModuleRef upgrade_layout(LLVMContextRef llvm, LLVMModuleRef module) {
  LLVMModuleRef upgraded = NULL;
  if (*LLVMGetDataLayoutStr(module) == '\0' || LLVMVerifyModule(module, LLVMReturnStatusAction, NULL)) return module;
  LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
  bool is_read = bitcode != NULL && !LLVMParseBitcodeInContext2(llvm, bitcode, &upgraded);
  if (bitcode != NULL) LLVMDisposeMemoryBuffer(bitcode);
  if (!is_read) return module;
  LLVMDisposeModule(module);
  return upgraded;
}

/* In LLVM, the context, whose module it is. */
LLVMModuleRef codegen_parse_ir(LLVMContextRef llvm, const void *bytes, size_t n, const char *name,
                               codegen_reason *why) {
  LLVMModuleRef module = NULL;
  char *message = NULL;
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, n, name);
  if (!LLVMParseIRInContext(llvm, buffer, &module, &message)) /* it takes the buffer */
    return upgrade_layout(llvm, module);
  object_to(why, "cannot be read", message != NULL ? message : "");
  LLVMDisposeMessage(message);
  return NULL;
}

/* ---- machines ---------------------------------------------------------------------------------------------------- */

/* The N-th part of a triple, from 0, as (text, length). */
static const char *part(const char *triple, int n, size_t *length) {
  for (; n > 0 && triple != NULL; n--) {
    triple = strchr(triple, '-');
    if (triple != NULL) triple++;
  }
  *length = triple != NULL ? strcspn(triple, "-") : 0;
  return triple;
}

/* Architecture and system; the vendor's part of the triple says nothing. */
bool codegen_is_same_machine(const char *a, const char *b) {
  static const int compared[] = {0, 2};
  for (int i = 0; i < RUNTIME_COUNT(compared); i++) {
    size_t n_a, n_b;
    const char *part_a = part(a, compared[i], &n_a), *part_b = part(b, compared[i], &n_b);
    if (n_a != n_b || (n_a > 0 && memcmp(part_a, part_b, n_a) != 0)) return false;
  }
  return true;
}

/* A layout that differs would put fields elsewhere: refused, with what to compile for. */
static bool check_machine(LLVMModuleRef module, const char *triple, const char *layout, codegen_reason *why) {
  const char *own_layout = LLVMGetDataLayoutStr(module);
  char *own = LLVMNormalizeTargetTriple(LLVMGetTarget(module)), text[400];
  bool is_same = *LLVMGetTarget(module) == '\0' || codegen_is_same_machine(own, triple);
  snprintf(text, sizeof text, "%s, not %s", own, triple);
  LLVMDisposeMessage(own);
  if (!is_same) return object_to(why, "is for another machine", text);
  snprintf(text, sizeof text,
           "\"%.120s\", the target's is \"%.120s\"; compile it with clang 19 or older for --target=%s", own_layout,
           layout, triple);
  if (*own_layout != '\0' && strcmp(own_layout, layout) != 0) return object_to(why, "has another data layout", text);
  LLVMSetTarget(module, triple);
  LLVMSetDataLayout(module, layout);
  return true;
}

/* Sets triple and layout where the module has none. */
bool codegen_check_ir(LLVMModuleRef module, const char *triple, const char *layout, codegen_reason *why) {
  char *message = NULL;
  bool is_broken = LLVMVerifyModule(module, LLVMReturnStatusAction, &message);
  if (is_broken) object_to(why, "is malformed", message);
  LLVMDisposeMessage(message);
  return !is_broken && check_machine(module, triple, layout, why);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Weak definitions count: they are there. */
bool codegen_is_defined(LLVMModuleRef module, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(module, name);
  if (function == NULL || LLVMIsDeclaration(function)) return false;
  LLVMLinkage linkage = LLVMGetLinkage(function);
  return linkage != LLVMInternalLinkage && linkage != LLVMPrivateLinkage;
}

/* Compared as types of one LLVM context, by identity. */
bool codegen_check_definition(LLVMModuleRef module, const char *name, LLVMTypeRef wanted, codegen_reason *why) {
  if (!codegen_is_defined(module, name)) return object_to(why, "does not define it", "");
  LLVMTypeRef type = LLVMGlobalGetValueType(LLVMGetNamedFunction(module, name));
  if (type == wanted) return true;
  char *has = LLVMPrintTypeToString(type), *wants = LLVMPrintTypeToString(wanted), text[400];
  snprintf(text, sizeof text, "%.180s, but it is called as %.180s", has, wants);
  LLVMDisposeMessage(has);
  LLVMDisposeMessage(wants);
  return object_to(why, "defines it as", text);
}
