/* jit.c: objects into this process by LLVM's ORC. One LLJIT a context; every loaded object has a library (JITDylib) of
 * its own, so that kernels of one name live side by side and each can be unloaded. Libraries are cleared and used
 * again. */
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdio.h>

#include "codegen/internal.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/scratch.h"

/* A context's JIT. A kernel's library is cleared when the kernel goes, and used again. */
struct codegen_jit {
  tn_context *ctx;
  LLVMOrcLLJITRef lljit;
  LLVMOrcExecutionSessionRef session;
  RUNTIME_VEC(LLVMOrcJITDylibRef) idle; /* cleared libraries */
  int n_libraries;
};

/* What a kernel holds: the library with its code. */
typedef struct loaded {
  codegen_jit *jit;
  LLVMOrcJITDylibRef library;
} loaded;

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Consumes ERROR; true when there was one. */
static bool failed(tn_context *ctx, const char *what, LLVMErrorRef error) {
  if (error == NULL) return false;
  char *message = LLVMGetErrorMessage(error);
  runtime_fail(ctx, TN_ERROR_CODEGEN, "%s: %s", what, message);
  LLVMDisposeErrorMessage(message);
  return true;
}

/* ORC's own reporter prints. What goes wrong in a lookup arrives there too, so the words are kept for the message. */
static void on_report(void *user, LLVMErrorRef error) {
  codegen_jit *jit = user;
  failed(jit->ctx, "linking a kernel", error);
}

/* ---- the JIT of a context ---------------------------------------------------------------------------------------- */

/* For this machine, whatever the target of the code was: the object is loaded as it is. */
static LLVMOrcLLJITBuilderRef make_builder(tn_context *ctx) {
  LLVMOrcJITTargetMachineBuilderRef machine;
  if (failed(ctx, "detecting this machine for the JIT", LLVMOrcJITTargetMachineBuilderDetectHost(&machine)))
    return NULL;
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(builder, machine);
  return builder;
}

/* In the context's arena; LLJIT itself is LLVM's. */
static codegen_jit *jit_new(tn_context *ctx) {
  codegen_jit *jit = RUNTIME_NEW(&ctx->arena, codegen_jit);
  LLVMOrcLLJITBuilderRef builder = jit != NULL ? make_builder(ctx) : NULL;
  if (builder == NULL || failed(ctx, "making the JIT", LLVMOrcCreateLLJIT(&jit->lljit, builder))) return NULL;
  jit->ctx = ctx;
  jit->session = LLVMOrcLLJITGetExecutionSession(jit->lljit);
  LLVMOrcExecutionSessionSetErrorReporter(jit->session, on_report, jit);
  return jit;
}

/* Errors at the end have nobody to be told to. */
void codegen_jit_free(codegen_jit *jit) {
  LLVMErrorRef error = LLVMOrcDisposeLLJIT(jit->lljit);
  if (error != NULL) LLVMConsumeError(error);
  RUNTIME_VEC_FREE(&jit->idle);
}

/* Made by the first kernel. NULL with a message. */
static codegen_jit *jit_of(tn_context *ctx) {
  codegen_session *session = codegen_session_of(ctx);
  if (session == NULL) return NULL;
  codegen_jit **jit = codegen_session_jit(session);
  if (*jit == NULL) *jit = jit_new(ctx);
  return *jit;
}

/* ---- libraries --------------------------------------------------------------------------------------------------- */

/* Where kernels find the functions that their code calls. NULL: what the process shows, in which a user's own libm
 * comes first. A host that loads Tenon for itself alone (RTLD_LOCAL), or links it statically, does not show the C
 * libraries that Tenon needs, so they are named. */
static const struct {
  const char *file;
  bool is_needed; /* libmvec: on x86-64 and aarch64 only; nothing calls libgcc_s where the processor has half floats */
} sources[] = {{NULL, true}, {"libm.so.6", true}, {"libmvec.so.1", false}, {"libgcc_s.so.1", false}};

/* Lets LIBRARY look for symbols in one of the sources. */
static bool add_source(codegen_jit *jit, LLVMOrcJITDylibRef library, int source) {
  LLVMOrcDefinitionGeneratorRef generator;
  const char *file = sources[source].file, prefix = LLVMOrcLLJITGetGlobalPrefix(jit->lljit);
  LLVMErrorRef error = file == NULL
                           ? LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&generator, prefix, NULL, NULL)
                           : LLVMOrcCreateDynamicLibrarySearchGeneratorForPath(&generator, file, prefix, NULL, NULL);
  if (error != NULL && !sources[source].is_needed) {
    LLVMConsumeError(error);
    return true;
  }
  if (failed(jit->ctx, "finding the functions that kernels call", error)) return false;
  LLVMOrcJITDylibAddGenerator(library, generator);
  return true;
}

/* A fresh library that finds libm and libc. */
static LLVMOrcJITDylibRef make_library(codegen_jit *jit) {
  char name[32];
  snprintf(name, sizeof name, "kernel.%d", jit->n_libraries++);
  LLVMOrcJITDylibRef library = LLVMOrcExecutionSessionCreateBareJITDylib(jit->session, name);
  for (int i = 0; i < RUNTIME_COUNT(sources); i++) {
    if (!add_source(jit, library, i)) return NULL;
  }
  return library;
}

/* A cleared one where there is one: ORC keeps libraries until the session ends. */
static LLVMOrcJITDylibRef take_library(codegen_jit *jit) {
  return jit->idle.n > 0 ? jit->idle.data[--jit->idle.n] : make_library(jit);
}

/* Unloads the code. A library that cannot be cleared or kept is not used again. */
static void give_back(codegen_jit *jit, LLVMOrcJITDylibRef library) {
  LLVMErrorRef error = LLVMOrcJITDylibClear(library);
  if (error != NULL)
    LLVMConsumeError(error);
  else
    (void)RUNTIME_PUSH(&jit->idle, library);
}

/* What kernels need of the runtime, by address: nothing of it is exported. */
static bool define_runtime(codegen_jit *jit, LLVMOrcJITDylibRef library) {
  runtime_pool *pool = runtime_pool_of(jit->ctx);
  runtime_scratch *scratch = runtime_scratch_of(jit->ctx);
  const LLVMJITSymbolFlags data = {LLVMJITSymbolGenericFlagsExported, 0};
  const LLVMJITSymbolFlags code = {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
  if (pool == NULL || scratch == NULL) return false;
  LLVMOrcCSymbolMapPair pairs[] = {
      {LLVMOrcLLJITMangleAndIntern(jit->lljit, CODEGEN_POOL_SYMBOL), {(uintptr_t)pool, data}},
      {LLVMOrcLLJITMangleAndIntern(jit->lljit, CODEGEN_RUN_SYMBOL), {(uintptr_t)runtime_pool_run, code}},
      {LLVMOrcLLJITMangleAndIntern(jit->lljit, CODEGEN_SCRATCH_SYMBOL), {(uintptr_t)scratch, data}},
      {LLVMOrcLLJITMangleAndIntern(jit->lljit, CODEGEN_TAKE_SYMBOL), {(uintptr_t)runtime_scratch_take, code}},
      {LLVMOrcLLJITMangleAndIntern(jit->lljit, CODEGEN_GIVE_SYMBOL), {(uintptr_t)runtime_scratch_give, code}}};
  LLVMErrorRef error = LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, RUNTIME_COUNT(pairs)));
  return !failed(jit->ctx, "giving a kernel the runtime's addresses", error);
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

/* ADDRESS 0: not found, and said. */
typedef struct lookup {
  codegen_jit *jit;
  LLVMOrcExecutorAddress address;

} lookup;

/* Called before the lookup returns. */
static void on_found(LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t n, void *user) {
  lookup *l = user;
  if (!failed(l->jit->ctx, "linking a kernel", error) && n == 1) l->address = pairs[0].Sym.Address;
}

/* Links the library's object and returns the function's address; 0: there is none, which a message says unless it may
 * be so. No thread but ours works for this session, so the lookup is complete when the call returns. */
static LLVMOrcExecutorAddress find_symbol(codegen_jit *jit, LLVMOrcJITDylibRef library, const char *name,
                                          bool may_lack) {
  lookup l = {.jit = jit};
  LLVMOrcCJITDylibSearchOrderElement order = {library, LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
  LLVMOrcCLookupSetElement wanted = {
      LLVMOrcLLJITMangleAndIntern(jit->lljit, name),
      may_lack ? LLVMOrcSymbolLookupFlagsWeaklyReferencedSymbol : LLVMOrcSymbolLookupFlagsRequiredSymbol};
  LLVMOrcExecutionSessionLookup(jit->session, LLVMOrcLookupKindStatic, &order, 1, &wanted, 1, on_found, &l);
  if (l.address == 0 && !may_lack && tn_context_status(jit->ctx) == TN_OK) {
    runtime_fail(jit->ctx, TN_ERROR_CODEGEN, "the object does not define %s", name);
  }
  return l.address;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Called by the kernel when it is freed. Its library is cleared and waits for the next kernel. */
static void unload(void *owner) {
  loaded *code = owner;
  give_back(code->jit, code->library);
  free(code);
}

/* The kernel owns the library from here on. */
static tn_kernel *wrap(tn_context *ctx, loaded code, const char *name, LLVMOrcExecutorAddress address, int n_args,
                       const runtime_kernel_arg *args) {
  loaded *owner = malloc(sizeof *owner);
  if (owner == NULL) {
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the kernel %s", name);
    return NULL;
  }
  *owner = code;
  tn_kernel_fn fn = (tn_kernel_fn)(uintptr_t)address;
  tn_kernel *kernel = runtime_kernel_new(ctx, name, fn, n_args, args, unload, owner);
  if (kernel == NULL) free(owner);
  return kernel;
}

/* ORC asserts on what is no object, so the magic number is looked at here. */
static bool is_object(tn_context *ctx, const void *object, size_t n) {
  if (n > 64 && memcmp(object, "\177ELF", 4) == 0) return true;
  runtime_fail(ctx, TN_ERROR_CODEGEN, "%zu bytes that are no ELF object cannot be loaded", n);
  return false;
}

/* The bytes are copied. */
static bool add_object(const loaded *code, const void *object, size_t n, const char *name) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, n, name);
  LLVMErrorRef error = LLVMOrcLLJITAddObjectFile(code->jit->lljit, code->library, buffer);
  return !failed(code->jit->ctx, "loading an object", error);
}

/* Gives the library the functions that FUNC (or NULL) calls by address. */
static bool define_callees(codegen_jit *jit, LLVMOrcJITDylibRef library, const tir_func *func) {
  const tir_callee *callees[CODEGEN_MAX_CALLEES];
  LLVMOrcCSymbolMapPair pairs[CODEGEN_MAX_CALLEES];
  int n = func != NULL ? tir_callees(func, CODEGEN_MAX_CALLEES, callees) : 0, n_pairs = 0;
  if (n > CODEGEN_MAX_CALLEES) {
    runtime_fail(jit->ctx, TN_ERROR_CODEGEN, "%s calls %d functions; at most %d", func->name, n, CODEGEN_MAX_CALLEES);
    return false;
  }
  for (int i = 0; i < n; i++) {
    if (callees[i]->module != NULL) continue;
    if (callees[i]->function == NULL) {
      runtime_fail(jit->ctx, TN_ERROR_CODEGEN,
                   "%s calls %s, which has no code here: give its address (tn_program_bind) or its LLVM IR "
                   "(tn_program_link), or write an object and link it with the function",
                   func->name, callees[i]->name);
      return false;
    }
    LLVMJITEvaluatedSymbol symbol = {(LLVMOrcExecutorAddress)(uintptr_t)callees[i]->function,
                                     {LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0}};
    pairs[n_pairs++] = (LLVMOrcCSymbolMapPair){LLVMOrcLLJITMangleAndIntern(jit->lljit, callees[i]->name), symbol};
  }
  if (n_pairs == 0) return true;
  return !failed(jit->ctx, "giving a kernel its functions",
                 LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, (size_t)n_pairs)));
}

/* A kernel that calls nothing. */
tn_kernel *codegen_load(tn_context *ctx, const void *object, size_t n, const char *name, int n_args,
                        const runtime_kernel_arg *args) {
  return codegen_load_calling(ctx, object, n, name, n_args, args, NULL);
}

/* A kernel to be loaded, and what came of it. */
typedef struct loading {
  tn_context *ctx;
  const void *object;
  size_t n_bytes;
  const char *name;
  int n_args;
  const runtime_kernel_arg *args;
  const tir_func *func;
  tn_kernel *kernel;
} loading;

/* On a thread with stack enough for ORC. Without a kernel in the end, the library goes back. */
static void load_here(void *data) {
  loading *l = data;
  loaded code = {.jit = jit_of(l->ctx)};
  if (code.jit == NULL || (code.library = take_library(code.jit)) == NULL) return;
  bool added = define_runtime(code.jit, code.library) && define_callees(code.jit, code.library, l->func) &&
               add_object(&code, l->object, l->n_bytes, l->name);
  LLVMOrcExecutorAddress address = added ? find_symbol(code.jit, code.library, l->name, false) : 0;
  if (address != 0) l->kernel = wrap(l->ctx, code, l->name, address, l->n_args, l->args);
  if (l->kernel == NULL) give_back(code.jit, code.library);
}

/* On enough stack: ORC recurses. */
tn_kernel *codegen_load_calling(tn_context *ctx, const void *object, size_t n, const char *name, int n_args,
                                const runtime_kernel_arg *args, const tir_func *func) {
  if (ctx == NULL || object == NULL || name == NULL || !is_object(ctx, object, n)) return NULL;
  loading l = {ctx, object, n, name, n_args, args, func, NULL};
  if (!runtime_with_stack(CODEGEN_STACK_BYTES, load_here, &l))
    runtime_fail(ctx, TN_ERROR_MEMORY, "no thread with the stack that loading %s needs", name);
  return l.kernel;
}

/* What is loaded stays until the context goes: nobody knows who still holds an address. */
bool codegen_load_functions(tn_context *ctx, const void *object, size_t n_bytes, int n, const char *const *names,
                            void (**out)(void)) {
  if (!is_object(ctx, object, n_bytes)) return false;
  loaded code = {.jit = jit_of(ctx)};
  if (code.jit == NULL || (code.library = take_library(code.jit)) == NULL) return false;
  bool found = add_object(&code, object, n_bytes, names[0]);
  for (int i = 0; found && i < n; i++) {
    LLVMOrcExecutorAddress address = find_symbol(code.jit, code.library, names[i], false);
    out[i] = (void (*)(void))(uintptr_t)address;
    found = address != 0;
  }
  if (!found) give_back(code.jit, code.library);
  return found;
}

void *codegen_symbol(const tn_kernel *kernel, const char *name) {
  const loaded *code = kernel->owner;
  return (void *)(uintptr_t)find_symbol(code->jit, code->library, name, false);
}

/* The new kernel owns nothing: the object goes with the first one, which therefore must be freed last. */
tn_kernel *codegen_load_other(tn_context *ctx, const tn_kernel *kernel, const char *name) {
  const loaded *code = kernel->owner;
  int n_args;
  const runtime_kernel_arg *args = runtime_kernel_args(kernel, &n_args);
  tn_kernel_fn fn = (tn_kernel_fn)(uintptr_t)find_symbol(code->jit, code->library, name, true);
  return fn != NULL ? runtime_kernel_new(ctx, name, fn, n_args, args, NULL, NULL) : NULL;
}
