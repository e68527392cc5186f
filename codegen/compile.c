/* compile.c: loop IR to bytes: emission, LLVM's verifier, a short list of passes, LLVM's back end.
 * Every compilation has an LLVM context of its own (making one costs microseconds), so that nothing
 * accumulates over a tuning run. What LLVM reports goes into the message of TN_ERROR_CODEGEN; nothing
 * is printed. */
#include <stdio.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "codegen/fatal.h"
#include "codegen/internal.h"
#include "runtime/profiler/profiler.h"

/* The IR is vectorised and unrolled when it comes here. What earns its time (docs/codegen.md has the measurements):
 *   sroa        register tiles and flags become SSA values
 *   early-cse   address arithmetic shared by unrolled statements
 *   dse         of an element that unrolled steps of a sum store one after the other, all stores but the last
 *   licm        loads and addresses out of inner loops
 *   instcombine masks, selects and shuffles in the forms that instruction selection knows */
static const char pass_list[] =
    "function(sroa,early-cse<memssa>,dse,loop-mssa(licm),instcombine<max-iterations=1;no-verify-fixpoint>)";

/* The same, with loops unrolled that say so (unroll_explicit 0). */
static const char unrolling_pass_list[] =
    "function(sroa,early-cse<memssa>,loop(loop-rotate,loop-unroll-full),sroa,early-cse<memssa>,dse,loop-mssa(licm),"
    "instcombine<max-iterations=1;no-verify-fixpoint>)";

/* Where LLVM IR was linked in: its functions are inlined where that is worth it, and go when nobody calls them. */
static const char link_pass_list[] = "cgscc(inline),globaldce,";

/* One compilation. */
typedef struct compilation {
  tn_context *ctx;
  const tir_func *func;
  const tir_func *other; /* a second function of the object, or NULL */
  const tn_target *target;
  codegen_form form;
  codegen_bytes *out;
  LLVMTargetMachineRef machine;
  LLVMContextRef llvm;
  LLVMModuleRef module;
  tn_status status;
  char diagnostic[512]; /* the first error that LLVM reported */
} compilation;

/* ---- LLVM's errors ----------------------------------------------------------------------------------------------- */

/* STAGE is a station of LLVM; the function's name stands before it. */
static tn_status fail(compilation *c, const char *stage, const char *message) {
  return runtime_fail(c->ctx, TN_ERROR_CODEGEN, "%s: %s: %s", c->func->name, stage, message);
}

/* Keeps the first error; warnings and remarks are not for users. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  compilation *c = user;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || c->diagnostic[0] != '\0') return;
  char *text = LLVMGetDiagInfoDescription(info);
  strncpy(c->diagnostic, text, sizeof c->diagnostic - 1);
  LLVMDisposeMessage(text);
}

/* Back ends report some errors only here. */
static tn_status check_diagnostic(compilation *c) {
  return c->diagnostic[0] == '\0' ? TN_OK : fail(c, "LLVM", c->diagnostic);
}

/* ---- the stations ------------------------------------------------------------------------------------------------ */

/* LLVM wants layout and triple before passes look at sizes. */
static void open_module(compilation *c) {
  c->llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(c->llvm, on_diagnostic, c);
  c->module = LLVMModuleCreateWithNameInContext(c->func->name, c->llvm);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
  LLVMSetModuleDataLayout(c->module, layout);
  LLVMDisposeTargetData(layout);
  LLVMSetTarget(c->module, c->target->triple);
}

/* A module that LLVM's verifier refuses is a bug of emission. */
static tn_status verify(compilation *c) {
  TN_SCOPE(LLVM, 3, "llvm/verify");
  char *message = NULL;
  bool broken = LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message);
  tn_status status = broken ? fail(c, "LLVM's verifier", message) : TN_OK;
  LLVMDisposeMessage(message);
  return status;
}

/* A callee that brings LLVM IR. */
static tir_walk find_linked_ir(void *user, const tir_stmt *s) {
  (void)user;
  return s->kind == TIR_CALL && s->u.call.callee->module != NULL ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether a function of a linked module is called: then inlining comes before the usual passes. */
static bool has_linked_ir(const tir_func *f) {
  tir_visitor visitor = {.stmt = find_linked_ir};
  return !tir_walk_stmt(f->body, &visitor);
}

/* LLVM's own unroller runs unless the schedule hints at which loops to unroll. */
static tir_walk find_hint(void *user, const tir_stmt *s) {
  (void)user;
  return s->kind == TIR_ATTR && strcmp(s->u.attr.key, TIR_UNROLL_EXPLICIT) == 0 ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Few passes: the loops are in their final form when they come here. */
static tn_status run_passes(compilation *c) {
  TN_SCOPE(LLVM, 3, "llvm/passes");
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  tir_visitor visitor = {.stmt = find_hint};
  const char *passes = tir_walk_stmt(c->func->body, &visitor) ? pass_list : unrolling_pass_list;
  char list[sizeof unrolling_pass_list + sizeof link_pass_list];
  snprintf(list, sizeof list, "%s%s", has_linked_ir(c->func) ? link_pass_list : "", passes);
  LLVMErrorRef error = LLVMRunPasses(c->module, list, c->machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (error == NULL) {
    codegen_choose_floats(c->module);
    return check_diagnostic(c);
  }
  char *message = LLVMGetErrorMessage(error);
  tn_status status = fail(c, "LLVM's passes", message);
  LLVMDisposeErrorMessage(message);
  return status;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Everything ends in malloc memory with a NUL behind it. */
static tn_status copy_out(compilation *c, const char *data, size_t n) {
  char *copy = malloc(n + 1);
  if (copy == NULL) return runtime_fail(c->ctx, TN_ERROR_MEMORY, "out of memory for %zu bytes of code", n);
  memcpy(copy, data, n);
  copy[n] = '\0';
  *c->out = (codegen_bytes){copy, n};
  return TN_OK;
}

/* Takes BUFFER. The bytes are copied since LLVM's buffers are freed with its context. */
static tn_status copy_buffer(compilation *c, LLVMMemoryBufferRef buffer) {
  tn_status status = copy_out(c, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
  LLVMDisposeMemoryBuffer(buffer);
  return status;
}

/* Position-independent, as shared objects and the JIT need it. */
static tn_status emit_machine_code(compilation *c) {
  TN_SCOPE(LLVM, 3, "llvm/backend");
  char *message = NULL;
  LLVMMemoryBufferRef buffer = NULL;
  LLVMCodeGenFileType type = c->form == CODEGEN_ASSEMBLY ? LLVMAssemblyFile : LLVMObjectFile;
  LLVMSetTargetMachineAsmVerbosity(c->machine, true); /* assembly names its loops */
  if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->module, type, &message, &buffer)) {
    tn_status status = fail(c, "LLVM's back end", message);
    LLVMDisposeMessage(message);
    return status;
  }
  tn_status status = check_diagnostic(c);
  if (status == TN_OK) return copy_buffer(c, buffer);
  LLVMDisposeMemoryBuffer(buffer);
  return status;
}

/* As LLVM prints it, after the passes. */
static tn_status emit_ir(compilation *c) {
  char *text = LLVMPrintModuleToString(c->module);
  if (text == NULL) return runtime_fail(c->ctx, TN_ERROR_MEMORY, "out of memory for the text of LLVM IR");
  tn_status status = copy_out(c, text, strlen(text));
  LLVMDisposeMessage(text);
  return status;
}

/* An object that is too large is thrown away. */
static tn_status emit_object(compilation *c) {
  tn_status status = emit_machine_code(c);
  if (status == TN_OK) status = codegen_check_flash(c->ctx, c->func, c->target, c->out);
  if (status == TN_OK) return TN_OK;
  free(c->out->data);
  *c->out = (codegen_bytes){NULL, 0};
  return status;
}

/* C source was written elsewhere. */
static tn_status emit_form(compilation *c) {
  switch (c->form) {
    case CODEGEN_KERNEL:
    case CODEGEN_OBJECT: return emit_object(c);
    case CODEGEN_ASSEMBLY: return emit_machine_code(c);
    case CODEGEN_IR: return emit_ir(c);
    case CODEGEN_C: break; /* needs no LLVM */
    case CODEGEN_BITCODE: return copy_buffer(c, LLVMWriteBitcodeToMemoryBuffer(c->module));
  }
  return TN_ERROR_INTERNAL;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

/* Loop IR becomes LLVM IR. Both functions go into one module, so that what they keep is one global. */
static tn_status emit_module(compilation *c) {
  TN_SCOPE(LLVM, 3, "llvm/emit");
  bool stays_home = c->form == CODEGEN_KERNEL;
  tn_status status = codegen_emit_module(c->ctx, c->func, c->target, stays_home, c->module);
  if (status != TN_OK || c->other == NULL) return status;
  return codegen_emit_module(c->ctx, c->other, c->target, stays_home, c->module);
}

/* A machine's first code is that of an empty function: features that LLVM ends the process on are found out here, in
 * its back end. LLVM's pass manager keeps a list of objects on its stack, which must not be left by a jump. */
static tn_status try_machine(compilation *c) {
  bool *is_tried = codegen_session_tried(codegen_session_of(c->ctx), c->machine);
  char *message = NULL;
  LLVMMemoryBufferRef buffer = NULL;
  if (is_tried == NULL || *is_tried) return TN_OK;
  LLVMModuleRef module = LLVMCloneModule(c->module);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(c->llvm), NULL, 0, false);
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(c->llvm);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(c->llvm, LLVMAddFunction(module, "f", type), ""));
  LLVMBuildRetVoid(builder);
  LLVMDisposeBuilder(builder);
  bool failed = LLVMTargetMachineEmitToMemoryBuffer(c->machine, module, LLVMObjectFile, &message, &buffer);
  tn_status status = failed ? fail(c, "LLVM's back end", message) : check_diagnostic(c);
  if (failed)
    LLVMDisposeMessage(message);
  else
    LLVMDisposeMemoryBuffer(buffer);
  LLVMDisposeModule(module);
  *is_tried = true;
  return status;
}

/* The stations in order; the first failure ends it. */
static tn_status compile_module(compilation *c) {
  tn_status status = try_machine(c);
  if (status == TN_OK) status = emit_module(c);
  if (status == TN_OK) status = verify(c);
  if (status == TN_OK) status = run_passes(c);
  return status == TN_OK ? emit_form(c) : status;
}

/* After a fatal error in LLVM its objects are in an unknown state: they are leaked, and the target
 * machine with them. */
static tn_status compile_guarded(compilation *c) {
  codegen_guard guard;
  if (setjmp(guard.back) != 0) {
    codegen_session_abandon(codegen_session_of(c->ctx), c->machine);
    return fail(c, "LLVM gave up", guard.message);
  }
  codegen_guard_enter(&guard);
  open_module(c);
  tn_status status = compile_module(c);
  LLVMDisposeModule(c->module);
  LLVMContextDispose(c->llvm);
  codegen_guard_leave(&guard);
  return status;
}

/* LLVM and the writer of C source go down into expressions and blocks. */
static void compile_here(void *data) {
  compilation *c = data;
  c->status = c->form == CODEGEN_C ? codegen_c_source(c->ctx, c->func, c->target, c->out) : compile_guarded(c);
}

/* The bytes are malloc'ed and the caller's. OUT is empty after a failure. OTHER may be NULL. */
static tn_status bytes_of_two(tn_context *ctx, const tir_func *func, const tir_func *other, const tn_target *target,
                              codegen_form form, codegen_bytes *out) {
  if (ctx == NULL || func == NULL || out == NULL) return TN_ERROR_ARGUMENT;
  *out = (codegen_bytes){NULL, 0};
  codegen_session *session = codegen_session_of(ctx);
  target = codegen_target_or_native(ctx, target);
  if (session == NULL || target == NULL) return tn_context_status(ctx);
  tn_status status = codegen_check_name(ctx, func->name);
  if (status == TN_OK) status = codegen_check_ram(ctx, func, target);
  if (status != TN_OK) return status;
  compilation c = {.ctx = ctx, .func = func, .other = other, .target = target, .form = form, .out = out};
  c.machine = form == CODEGEN_C ? NULL : codegen_machine(session, target);
  if (form != CODEGEN_C && c.machine == NULL) return tn_context_status(ctx);
  if (runtime_with_stack(CODEGEN_STACK_BYTES, compile_here, &c)) return c.status;
  return runtime_fail(ctx, TN_ERROR_MEMORY, "no thread with the stack that compiling %s needs", func->name);
}

tn_status codegen_bytes_of(tn_context *ctx, const tir_func *func, const tn_target *target, codegen_form form,
                           codegen_bytes *out) {
  return bytes_of_two(ctx, func, NULL, target, form, out);
}

tn_status codegen_object_of_two(tn_context *ctx, const tir_func *func, const tir_func *other, const tn_target *target,
                                codegen_bytes *out) {
  return bytes_of_two(ctx, func, other, target, CODEGEN_KERNEL, out);
}

tn_status codegen_object(tn_context *ctx, const tir_func *func, const tn_target *target, codegen_bytes *out) {
  return codegen_bytes_of(ctx, func, target, CODEGEN_KERNEL, out);
}
