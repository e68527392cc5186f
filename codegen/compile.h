/* compile.h: code generation as the tuner's workers use it: loop IR to an object in memory, an object to a callable kernel. */
#ifndef TENON_CODEGEN_COMPILE_H
#define TENON_CODEGEN_COMPILE_H

#include "codegen/codegen.h"
#include "schedule/state.h"
#include "tir/ir.h"

typedef struct codegen_bytes {
  void *data; /* malloc'ed */
  size_t n;
} codegen_bytes;

/* FUNC has gone through tir_run_pipeline. The object defines one symbol, func->name. */
tn_status codegen_object(tn_context *ctx, const tir_func *func, const tn_target *target, codegen_bytes *out);
/* Links an object into this process (ORC) and wraps its function. ARGS describe the parameters in order. */
tn_kernel *codegen_load(tn_context *ctx, const void *object, size_t n, const char *name, int n_args, const runtime_kernel_arg *args);
/* The argument descriptions of a program's kernel. Returns their number; OUT has room for tn_program_arg_count. */
int codegen_kernel_args(const tn_program *program, runtime_kernel_arg *out);

#endif
