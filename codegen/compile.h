/* compile.h: code generation as the tuner's workers use it: loop IR to an object in memory, an object to a callable
 * kernel. */
#ifndef TENON_CODEGEN_COMPILE_H
#define TENON_CODEGEN_COMPILE_H

#include "codegen/codegen.h"
#include "schedule/state.h"
#include "tir/ir.h"

/* An object, or text with a NUL behind it that N does not count. Whoever got it frees DATA; NULL and 0 after a
 * failure. */
typedef struct codegen_bytes {
  void *data; /* malloc'ed */
  size_t n;
} codegen_bytes;

/* CODEGEN_KERNEL is an object for codegen_load only: its parallel loops need what the loader has. */
typedef enum codegen_form {
  CODEGEN_KERNEL,
  CODEGEN_OBJECT,
  CODEGEN_ASSEMBLY,
  CODEGEN_IR,
  CODEGEN_BITCODE,
  CODEGEN_C
} codegen_form;

/* What loop IR's passes have to know about a target. */
/* Whether masked accesses of any elements are about as quick as plain ones. */
bool codegen_has_cheap_masks(const tn_target *target);
tir_pass_options codegen_pass_options(const tn_target *target);
/* FUNC has gone through tir_run_pipeline. An object for codegen_load (CODEGEN_KERNEL), which defines one symbol,
 * func->name, and leaves those open that the function calls without bringing them along as LLVM IR. The same input
 * gives the same bytes. */
tn_status codegen_object(tn_context *ctx, const tir_func *func, const tn_target *target, codegen_bytes *out);
/* The same for two functions, which share what is kept (tir_func.n_kept). FUNC decides on the passes. */
tn_status codegen_object_of_two(tn_context *ctx, const tir_func *func, const tir_func *other, const tn_target *target,
                                codegen_bytes *out);
/* Heap memory that a call of the function takes, outside of its parallel loops (whose threads take their own). */
size_t codegen_scratch_bytes(const tir_func *func);
/* In any form; text is NUL-terminated (not counted in n). */
tn_status codegen_bytes_of(tn_context *ctx, const tir_func *func, const tn_target *target, codegen_form form,
                           codegen_bytes *out);
/* Writes a file whose suffix says the form: .o .so .s .ll .bc .c. Nothing is left behind when it fails. */
tn_status codegen_write(tn_context *ctx, const tir_func *func, const tn_target *target, const char *path);
/* Links an object into this process (ORC) and wraps its function. ARGS describe the parameters in order. Parallel
 * loops run on the context's threads. */
TN_GIVE tn_kernel *codegen_load(tn_context *ctx, const void *object, size_t n, const char *name, int n_args,
                                const runtime_kernel_arg *args);
/* The same for a function that calls C functions (tir_callees): those with an address in this process are found there.
 */
TN_GIVE tn_kernel *codegen_load_calling(tn_context *ctx, const void *object, size_t n, const char *name, int n_args,
                                        const runtime_kernel_arg *args, const tir_func *func);
/* The address of another symbol of a loaded object; NULL with a message. */
void *codegen_symbol(const tn_kernel *kernel, const char *name);
/* Another function of the kernel's object, with the same arguments; it has to be freed before. NULL: there is
 * none (no message), or a message says why. */
TN_GIVE tn_kernel *codegen_load_other(tn_context *ctx, const tn_kernel *kernel, const char *name);
/* The counters of a build with tn_build_options.sample (runtime/stages.h): the symbol's name, from the kernel's. */
#define CODEGEN_STAGE_SYMBOL "%s_stage"
/* The argument descriptions of a program's kernel; what extents are made of goes into ARENA. Returns their number, -1
 * without memory (no message); OUT has room for tn_program_arg_count. */
int codegen_kernel_args(const tn_program *program, runtime_arena *arena, runtime_kernel_arg *out);
/* The C header that declares a kernel; malloc'ed, NULL with a message. */
TN_GIVE char *codegen_header(tn_context *ctx, const char *name, int n_args, const runtime_kernel_arg *args);

#endif
