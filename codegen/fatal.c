/* fatal.c: LLVM's fatal error handler: jumps to the thread's innermost guard with the message. Without a guard (another
 * user of LLVM in the process) it returns and LLVM does what it always does. The pointer to the guard is the thread's
 * own and is only set while a guard is on its stack. */
#include "codegen/fatal.h"

#include <stdio.h>

#include <llvm-c/ErrorHandling.h>

static _Thread_local codegen_guard *innermost;

static void on_fatal(const char *reason) {
  codegen_guard *guard = innermost;
  if (guard == NULL) return;
  innermost = guard->outer;
  snprintf(guard->message, sizeof guard->message, "%s", reason);
  longjmp(guard->back, 1);
}

void codegen_guard_enter(codegen_guard *guard) {
  guard->outer = innermost;
  innermost = guard;
}

void codegen_guard_leave(codegen_guard *guard) { innermost = guard->outer; }

void codegen_fatal_install(void) { LLVMInstallFatalErrorHandler(on_fatal); }
