/* fatal.c: LLVM's fatal error handler, and C++'s for memory that ran out: they jump to the thread's innermost guard
 * with the message. Without a guard (another user of LLVM in the process) they return and all is as always. The
 * pointer to the guard is the thread's own and is only set while a guard is on its stack. */
#include "codegen/fatal.h"

#include <dlfcn.h>
#include <stdbool.h>
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

/* std::set_new_handler. What is thrown in LLVM would end the process: nobody catches it. The function is looked for:
 * LLVM brings the C++ library along, and a C program need not link it. */
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

/* What LLVM takes by malloc has a handler of its own, which the C interface lacks. USER is not used. Without a guard it
 * returns, and LLVM ends the process. */
static void on_bad_alloc(void *user, const char *reason, bool wants_report) {
  (void)user, (void)reason, (void)wants_report;
  on_fatal("out of memory");
}

typedef void (*bad_alloc_handler)(void *user, const char *reason, bool wants_report);
/* llvm::install_bad_alloc_error_handler. Not found where LLVM is a part of the program itself. */
static void install_bad_alloc_handler(void) {
  union {
    void *object;
    void (*install)(bad_alloc_handler, void *user);
  } symbol = {dlsym(RTLD_DEFAULT, "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_")};
  if (symbol.install) symbol.install(on_bad_alloc, NULL);
}

/* LLVM keeps one handler of each kind a process. */
void codegen_fatal_install(void) {
  LLVMInstallFatalErrorHandler(on_fatal);
  install_bad_alloc_handler();
}
