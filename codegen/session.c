/* session.c: what code generation keeps on a context between compilations: target machines by target, and the JIT; and
 * the one-time set-up of LLVM in the process. */
#include <pthread.h>

#include <llvm-c/Support.h>

#include "codegen/fatal.h"
#include "codegen/internal.h"

/* The key is the target's text: two targets of one text share a machine. */
typedef struct machine_entry {
  const char *key; /* the target's text */
  LLVMTargetMachineRef machine;
  bool is_tried; /* it has made code */
} machine_entry;

/* What compiling keeps on a context. NATIVE is made once, since asking the processor takes longer than parsing a
 * target. */
struct codegen_session {
  tn_context *ctx;
  RUNTIME_VEC(machine_entry) machines;
  const tn_target *native;
  codegen_jit *jit;
};

/* ---- once in a process ------------------------------------------------------------------------------------------- */

/* LLVM's machine scheduler moves all loads of a large unrolled body to its front and then spills them (528 stack
 * accesses for 22 without it, in an 8x32 tile unrolled 64 times: half the speed). The IR's own order, loads beside
 * their uses, is what out-of-order machines want. The pass that moves scalar work into mask registers of AVX-512 takes
 * time that grows with the square of a long body (docs/findings.md). LICM gives a loop up that has some hundred accesses,
 * and leaves sums and tables of a block's columns in memory then. The options are the process's; there are none for a
 * target machine. */
static void set_backend_options(void) {
  static const char *const options[] = {"tenon",
                                        "-enable-misched=0",
                                        "-disable-post-ra",
                                        "-disable-x86-domain-reassignment",
                                        "-licm-mssa-optimization-cap=1000",
                                        "-licm-mssa-max-acc-promotion=1000"};
  LLVMParseCommandLineOptions(RUNTIME_COUNT(options), options, NULL);
}

/* The architectures that the target table has. */
static void init_once(void) {
#define INIT(arch)                      \
  do {                                  \
    LLVMInitialize##arch##TargetInfo(); \
    LLVMInitialize##arch##Target();     \
    LLVMInitialize##arch##TargetMC();   \
    LLVMInitialize##arch##AsmPrinter(); \
  } while (0)
  INIT(X86);
  INIT(AArch64);
  INIT(RISCV);
  INIT(ARM);
#undef INIT
  codegen_fatal_install();
  set_backend_options();
}

/* From any thread. */
void codegen_init_llvm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, init_once);
}

/* ---- one for a context ------------------------------------------------------------------------------------------- */

/* When the context is freed; kernels are gone by then. */
static void session_free(void *data) {
  codegen_session *session = data;
  if (session->jit != NULL) codegen_jit_free(session->jit);
  for (int i = 0; i < session->machines.n; i++) LLVMDisposeTargetMachine(session->machines.data[i].machine);
  RUNTIME_VEC_FREE(&session->machines);
}

/* Made on first use, in the context's slot. */
codegen_session *codegen_session_of(tn_context *ctx) {
  codegen_session *session = runtime_slot_get(ctx, RUNTIME_SLOT_SESSION);
  if (session != NULL) return session;
  codegen_init_llvm();
  session = RUNTIME_NEW(&ctx->arena, codegen_session);
  if (session == NULL) {
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for code generation's state");
    return NULL;
  }
  session->ctx = ctx;
  runtime_slot_set(ctx, RUNTIME_SLOT_SESSION, session, session_free);
  return session;
}

/* The machine is leaked. */
void codegen_session_abandon(codegen_session *session, LLVMTargetMachineRef machine) {
  for (int i = 0; i < session->machines.n; i++) {
    if (session->machines.data[i].machine == machine)
      session->machines.data[i--] = session->machines.data[--session->machines.n];
  }
}

/* See try_machine in compile.c. */
bool *codegen_session_tried(codegen_session *session, LLVMTargetMachineRef machine) {
  for (int i = 0; i < session->machines.n; i++) {
    if (session->machines.data[i].machine == machine) return &session->machines.data[i].is_tried;
  }
  return NULL;
}

codegen_jit **codegen_session_jit(codegen_session *session) { return &session->jit; }

/* The native target is made once a context. */
const tn_target *codegen_target_or_native(tn_context *ctx, const tn_target *target) {
  if (target != NULL) return target;
  codegen_session *session = codegen_session_of(ctx);
  if (session != NULL && session->native == NULL) session->native = tn_target_new(ctx, NULL);
  return session != NULL ? session->native : NULL;
}

/* ---- target machines --------------------------------------------------------------------------------------------- */

/* Code of the default level: the passes are chosen in compile.c. Position-independent but for boards, whose programs
 * lie where they were linked. */
LLVMTargetMachineRef codegen_machine(codegen_session *session, const tn_target *target) {
  bool is_board = target->address_bits == 32 && strstr(target->triple, "linux") == NULL;
  for (int i = 0; i < session->machines.n; i++) {
    if (strcmp(session->machines.data[i].key, target->text) == 0) return session->machines.data[i].machine;
  }
  LLVMTargetMachineRef machine =
      LLVMCreateTargetMachine(target->llvm, target->triple, target->cpu, target->features, LLVMCodeGenLevelDefault,
                              is_board ? LLVMRelocStatic : LLVMRelocPIC, LLVMCodeModelDefault);
  machine_entry entry = {runtime_strdup(&session->ctx->arena, target->text), machine, false};
  if (machine != NULL && entry.key != NULL && RUNTIME_PUSH(&session->machines, entry)) return machine;
  if (machine != NULL) LLVMDisposeTargetMachine(machine);
  runtime_fail(session->ctx, TN_ERROR_CODEGEN, "LLVM makes no code for the target %s", target->text);
  return NULL;
}
