/* fatal.c: LLVM's fatal error handler, and C++'s for memory that ran out: they jump to the thread's innermost guard with
 * the message. Without a guard (another user of LLVM in the process) they return and all is as always. The pointer to the guard is the thread's
 * own and is only set while a guard is on its stack. */
#include "codegen/fatal.h"

#include <dlfcn.h>
#include <stdio.h>

#include <llvm-c/ErrorHandling.h>

static _Thread_local codegen_guard *innermost;

/* Jumps out of LLVM, whose objects are leaked: their state is unknown. */
static void on_fatal(const char *reason) {
  codegen_guard *guard = innermost;
  if (guard == NULL) return;
  innermost = guard->outer;
  snprintf(guard->message, sizeof guard->message, "%s", reason);
  longjmp(guard->back, 1);
}

/* std::set_new_handler. What is thrown in LLVM would end the process: nobody catches it. The function is looked for: LLVM
 * brings the C++ library along, and a C program need not link it. */
typedef void (*new_handler)(void);
/* NULL, too, where there is no C++ library: nothing of it can be out of memory then. */
static new_handler set_new_handler(new_handler handler) {
  union {
    void *object;
    new_handler (*set)(new_handler);
  } symbol = {dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE")};
  return symbol.set ? symbol.set(handler) : NULL;
}

/* Returns only without a guard: then the allocation is tried again, and fails as if this handler had never been. */
static void on_no_memory(void) {
  if (innermost == NULL)
    set_new_handler(NULL);
  else
    on_fatal("out of memory");
}

/* The C++ handler is the process's; a host's own is left in place. */
void codegen_guard_enter(codegen_guard *guard) {
  new_handler others = set_new_handler(on_no_memory);
  if (others != NULL && others != on_no_memory) set_new_handler(others); /* the host's stands */
  guard->outer = innermost;
  innermost = guard;
}

/* In reverse order of entering. */
void codegen_guard_leave(codegen_guard *guard) { innermost = guard->outer; }

/* LLVM keeps one handler a process. */
void codegen_fatal_install(void) { LLVMInstallFatalErrorHandler(on_fatal); }
