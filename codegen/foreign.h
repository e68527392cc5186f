/* foreign.h: LLVM IR that a user gives: read, and checked before anything is linked with it. */
#ifndef TENON_CODEGEN_FOREIGN_H
#define TENON_CODEGEN_FOREIGN_H

#include "codegen/internal.h"

/* What is wrong with it, to stand behind its name: "cannot be read: ..." */
typedef struct codegen_reason {
  char text[512];
} codegen_reason;

/* Text or bitcode, told by its content, also of older LLVMs: typed pointers and data layouts are brought up to date as
 * LLVM's own tools do. The caller disposes of it. NULL with a reason. */
LLVMModuleRef codegen_parse_ir(LLVMContextRef llvm, const void *bytes, size_t n, const char *name, codegen_reason *why);
/* Whether it is well-formed and for this machine. IR that says neither triple nor data layout gets these. */
bool codegen_check_ir(LLVMModuleRef module, const char *triple, const char *layout, codegen_reason *why);
/* Whether it defines a function NAME for others, of the type WANTED. */
bool codegen_check_definition(LLVMModuleRef module, const char *name, LLVMTypeRef wanted, codegen_reason *why);
/* Whether others may call it; declarations and private functions are for the module only. */
bool codegen_is_defined(LLVMModuleRef module, const char *name);
/* Whether code for triple A runs on B: architecture and system; vendors are nobody's business. */
bool codegen_is_same_machine(const char *a, const char *b);

#endif
