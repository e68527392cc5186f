/* link_file.c: C functions that a program calls, from files of LLVM IR. A file's module is linked into what is built
 * (emit_call.c); here it is looked at first, so that what is wrong with it is said with its file's name, and compiled
 * for this machine, where the reference evaluator calls it. */
#include <llvm-c/Support.h>
#include <stdio.h>

#include "codegen/fatal.h"
#include "codegen/foreign.h"
#include "te/intrin.h"

/* A function that a program calls: of a call, or of an intrinsic. */
typedef struct called {
  const tir_callee *callee;
  const te_op *call;        /* the first one; or */
  const tir_intrin *intrin; /* whose function of ROLE it is */
  int role;
} called;

/* A file of functions that is being linked to a program: what LLVM read, and those of its functions that the
 * program calls. */
typedef struct file {
  tn_program *program;
  const char *path;
  char *bytes;
  size_t n_bytes;
  LLVMContextRef llvm;
  LLVMModuleRef module;
  int n; /* of the program's functions that it defines */
  const char *names[CODEGEN_MAX_CALLEES];
  called functions[CODEGEN_MAX_CALLEES];
  void (*addresses[CODEGEN_MAX_CALLEES])(void); /* in this process; NULL: it cannot run here */
} file;

/* The file's name, then what is wrong with it. */
static tn_status refuse(const file *f, const codegen_reason *why) {
  return runtime_fail(f->program->ctx, TN_ERROR_CODEGEN, "%s %s", f->path, why->text);
}

/* ---- what it defines --------------------------------------------------------------------------------------------- */

/* The first call of a function; NULL: OP is no call, or another one before it is. */
static const te_op *first_call(const tn_program *p, int op) {
  if (!te_is_extern(p->ops[op])) return NULL;
  for (int i = 0; i < op; i++)
    if (te_is_extern(p->ops[i]) && p->ops[i]->call->callee == p->ops[op]->call->callee) return NULL;
  return p->ops[op];
}

/* Scalars and numbers go by value, everything else by its address. */
static LLVMTypeRef type_at(LLVMContextRef llvm, const te_op *op, int i) {
  const tn_tensor *t = te_call_tensor(op, i);
  if (t != NULL && !t->by_value) return LLVMPointerTypeInContext(llvm, 0);
  tn_dtype dtype = t != NULL ? t->dtype : (tn_dtype)op->call->args[i].number->dtype;
  return dtype == TN_F32   ? LLVMFloatTypeInContext(llvm)
         : dtype == TN_F64 ? LLVMDoubleTypeInContext(llvm)
                           : LLVMIntTypeInContext(llvm, dtype == TN_I64 ? 64 : 32);
}

/* The function of an intrinsic: addresses, the output's first, then strides as int64 (tir/intrin.h, CALL). */
static int intrin_types(LLVMContextRef llvm, const called *c, LLVMTypeRef *types) {
  int n = 0, n_inputs = c->role == TIR_INTRIN_RESET ? 0 : c->intrin->n_inputs, n_strides = c->intrin->output->ndim;
  for (int i = 0; i < n_inputs; i++) n_strides += c->intrin->inputs[i]->ndim;
  while (n < 1 + n_inputs) types[n++] = LLVMPointerTypeInContext(llvm, 0);
  while (n < 1 + n_inputs + n_strides) types[n++] = LLVMIntTypeInContext(llvm, 64);
  return n;
}

enum { MAX_TYPES = (1 + TIR_INTRIN_INPUTS) * (1 + TN_MAX_RANK) };

/* As te/te.h says that functions are called. */
static LLVMTypeRef signature(LLVMContextRef llvm, const called *c) {
  LLVMTypeRef types[MAX_TYPES + RUNTIME_MAX_C_ARGS];
  int n = c->call != NULL ? c->call->call->n : intrin_types(llvm, c, types);
  for (int i = 0; c->call != NULL && i < n; i++) types[i] = type_at(llvm, c->call, i);
  return LLVMFunctionType(LLVMVoidTypeInContext(llvm), types, (unsigned)n, false);
}

/* Another program of the context may have linked the same file for its intrinsic of this name. */
static bool is_linked_already(const file *f, const called *c) {
  const tir_callee *callee = c->callee;
  return c->intrin != NULL && callee->module_bytes == f->n_bytes && memcmp(callee->module, f->bytes, f->n_bytes) == 0;
}

/* True for functions that the file does not define: another file may. */
static tn_status take_function(file *f, const called *c) {
  const tir_callee *callee = c->callee;
  codegen_reason why;
  tn_context *ctx = f->program->ctx;
  if (!codegen_is_defined(f->module, callee->name)) return TN_OK;
  if (callee->module != NULL && !is_linked_already(f, c))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s defines %s, which has LLVM IR already: link one of both", f->path,
                        callee->name);
  if (!codegen_check_definition(f->module, callee->name, signature(f->llvm, c), &why))
    return runtime_fail(ctx, TN_ERROR_CODEGEN, "%s: %s: it %s", f->path, callee->name, why.text);
  if (f->n == CODEGEN_MAX_CALLEES)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s defines more than %d functions that the program calls", f->path,
                        CODEGEN_MAX_CALLEES);
  f->names[f->n] = callee->name;
  f->functions[f->n++] = *c;
  return TN_OK;
}

/* For the message that none of them is called. */
static void list_names(const file *f, runtime_str *out) {
  for (LLVMValueRef v = LLVMGetFirstFunction(f->module); v != NULL; v = LLVMGetNextFunction(v)) {
    size_t n;
    const char *name = LLVMGetValueName2(v, &n);
    if (codegen_is_defined(f->module, name)) runtime_str_addf(out, "%s%s", out->n > 0 ? ", " : "", name);
  }
  if (out->n == 0) runtime_str_add(out, "none");
}

/* NAMES: of what the program calls, for a message. */
static tn_status take_one(file *f, const called *c, runtime_str *names) {
  runtime_str_addf(names, "%s%s", names->n > 0 ? ", " : "", c->callee->name);
  return take_function(f, c);
}

/* Calls, then intrinsics. */
static tn_status take_all(file *f, runtime_str *names) {
  const tn_program *p = f->program;
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < p->n_ops; i++) {
    const te_op *op = first_call(p, i);
    if (op != NULL) status = take_one(f, &(called){.callee = op->call->callee, .call = op}, names);
  }
  for (int i = 0; status == TN_OK && i < p->n_intrins * TIR_INTRIN_ROLE_COUNT; i++) {
    called c = {.intrin = p->intrins[i / TIR_INTRIN_ROLE_COUNT], .role = i % TIR_INTRIN_ROLE_COUNT};
    c.callee = c.intrin->callees[c.role];
    if (c.callee != NULL) status = take_one(f, &c, names);
  }
  return status;
}

/* A file that has none of the program's functions is a mistake. */
static tn_status take_functions(file *f) {
  runtime_str names = {0}, defined = {0};
  tn_status status = take_all(f, &names);
  if (status == TN_OK && f->n == 0) {
    list_names(f, &defined);
    status =
        runtime_fail(f->program->ctx, TN_ERROR_ARGUMENT,
                     "%s defines no function that the program calls: the program calls %.200s; the file defines %.200s",
                     f->path, names.n > 0 ? names.data : "none", defined.failed ? "?" : defined.data);
  }
  runtime_str_free(&names);
  runtime_str_free(&defined);
  return status;
}

/* ---- code for this machine --------------------------------------------------------------------------------------- */

/* Addresses for the evaluator and for kernels in memory. */
static tn_status bind(file *f, LLVMMemoryBufferRef object) {
  if (!codegen_load_functions(f->program->ctx, LLVMGetBufferStart(object), LLVMGetBufferSize(object), f->n, f->names,
                              f->addresses))
    return tn_context_status(f->program->ctx);
  for (int i = 0; i < f->n; i++)
    if (f->functions[i].call != NULL) tn_program_bind(f->program, f->names[i], f->addresses[i]);
  return TN_OK;
}

/* Where the IR is for this machine, or says nothing about it, and needs nothing that is not here. */
static tn_status compile(file *f, const tn_target *native, LLVMTargetMachineRef machine) {
  codegen_reason why;
  LLVMMemoryBufferRef object;
  LLVMTargetDataRef data = LLVMCreateTargetDataLayout(machine);
  char *layout = LLVMCopyStringRepOfTargetData(data), *message = NULL;
  LLVMDisposeTargetData(data);
  bool is_good = codegen_check_ir(f->module, native->triple, layout, &why);
  LLVMDisposeMessage(layout);
  if (!is_good) return refuse(f, &why);
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, f->module, LLVMObjectFile, &message, &object)) {
    snprintf(why.text, sizeof why.text, "cannot be compiled: %.400s", message);
    LLVMDisposeMessage(message);
    return refuse(f, &why);
  }
  tn_status status = bind(f, object);
  LLVMDisposeMemoryBuffer(object);
  return status;
}

/* Whether it is for another machine. */
static bool is_foreign(const file *f, const tn_target *native) {
  char *triple = LLVMNormalizeTargetTriple(LLVMGetTarget(f->module));
  bool is_other = *LLVMGetTarget(f->module) != '\0' && !codegen_is_same_machine(triple, native->triple);
  LLVMDisposeMessage(triple);
  return is_other;
}

/* Declared in the module, used, and nowhere in this process. */
static bool is_missing(LLVMValueRef global) {
  size_t n;
  const char *name = LLVMGetValueName2(global, &n);
  if (!LLVMIsDeclaration(global) || LLVMGetFirstUse(global) == NULL || strncmp(name, "llvm.", 5) == 0) return false;
  return LLVMSearchForAddressOfSymbol(name) == NULL;
}

/* Whether it waits for what a linker will give it. */
static bool is_incomplete(const file *f) {
  bool misses = LLVMLoadLibraryPermanently(NULL); /* makes the search look at the process */
  for (LLVMValueRef v = LLVMGetFirstFunction(f->module); v != NULL; v = LLVMGetNextFunction(v)) misses |= is_missing(v);
  for (LLVMValueRef v = LLVMGetFirstGlobal(f->module); v != NULL; v = LLVMGetNextGlobal(v)) misses |= is_missing(v);
  return misses;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

/* The file's bytes as a call of the program keeps them, or as a copy: functions of one file share them. */
static const void *kept_module(const file *f) {
  for (int i = 0; i < f->n; i++)
    if (f->functions[i].call != NULL) return f->functions[i].callee->module;
  return runtime_copy(&f->program->ctx->arena, f->bytes, f->n_bytes);
}

/* Hands the module to those intrinsics of the program whose functions this file defines and no other file gave
 * before. The program keeps one copy of the bytes for all of them. */
static tn_status give_intrins(const file *f) {
  const void *module = NULL;
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < f->n; i++) {
    const called *c = &f->functions[i];
    if (c->intrin == NULL || c->callee->module != NULL) continue;
    if (module == NULL) module = kept_module(f);
    if (module == NULL) return runtime_fail(f->program->ctx, TN_ERROR_MEMORY, "out of memory");
    status = te_give_intrin(c->intrin, c->role, f->addresses[i], module, f->n_bytes);
  }
  return status;
}

/* Bound first, then linked: what is refused leaves no IR behind. */
static tn_status link_module(file *f, const tn_target *native, LLVMTargetMachineRef machine) {
  tn_status status = take_functions(f);
  if (status == TN_OK && !is_foreign(f, native) && !is_incomplete(f)) status = compile(f, native, machine);
  for (int i = 0; status == TN_OK && i < f->n; i++)
    if (f->functions[i].call != NULL) status = tn_program_link(f->program, f->names[i], f->bytes, f->n_bytes);
  return status == TN_OK ? give_intrins(f) : status;
}

/* LLVM's own handler prints, and ends the process on errors. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) { (void)info, (void)user; }

/* After a fatal error LLVM's objects are leaked, as in compile.c. */
static tn_status link_guarded(file *f, codegen_session *session, const tn_target *native,
                              LLVMTargetMachineRef machine) {
  codegen_guard guard;
  codegen_reason why;
  if (setjmp(guard.back) != 0) {
    codegen_session_abandon(session, machine);
    return runtime_fail(f->program->ctx, TN_ERROR_CODEGEN, "%s: LLVM gave up: %s", f->path, guard.message);
  }
  codegen_guard_enter(&guard);
  f->llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(f->llvm, on_diagnostic, NULL);
  f->module = codegen_parse_ir(f->llvm, f->bytes, f->n_bytes, f->path, &why);
  tn_status status = f->module != NULL ? link_module(f, native, machine) : refuse(f, &why);
  if (f->module != NULL) LLVMDisposeModule(f->module);
  LLVMContextDispose(f->llvm);
  codegen_guard_leave(&guard);
  return status;
}

/* The bytes are copied by tn_program_link. */
static tn_status link_file(tn_program *program, const char *path) {
  file f = {.program = program, .path = path};
  codegen_session *session = codegen_session_of(program->ctx);
  const tn_target *native = codegen_target_or_native(program->ctx, NULL);
  LLVMTargetMachineRef machine = session != NULL && native != NULL ? codegen_machine(session, native) : NULL;
  if (machine == NULL) return tn_context_status(program->ctx);
  f.bytes = runtime_read_file(program->ctx, path, &f.n_bytes);
  if (f.bytes == NULL) return tn_context_status(program->ctx);
  tn_status status = link_guarded(&f, session, native, machine);
  free(f.bytes);
  return status;
}

/* A function that is left open would be noticed much later, by a linker. */
static tn_status check_all_linked(const tn_program *p) {
  for (int i = 0; i < p->n_ops; i++)
    if (te_is_extern(p->ops[i]) && p->ops[i]->call->callee->module == NULL)
      return runtime_fail(p->ctx, TN_ERROR_ARGUMENT,
                          "'%s' is computed by a call of %s, which no file defines: link one that does",
                          p->ops[i]->name, p->ops[i]->call->callee->name);
  return TN_OK;
}

/* In order; the files before a refused one stay linked. */
tn_status tn_program_link_files(tn_program *program, int n, const char *const *paths) {
  if (program == NULL || n < 0 || (n > 0 && paths == NULL)) return TN_ERROR_ARGUMENT;
  for (int i = 0; i < program->n_links; i++) {
    tn_status status = link_file(program, program->links[i]);
    if (status != TN_OK) return status;
  }
  for (int i = 0; i < n; i++) {
    tn_status status = paths[i] != NULL ? link_file(program, paths[i]) : TN_ERROR_ARGUMENT;
    if (status != TN_OK) return status;
  }
  return check_all_linked(program);
}
