/* fatal.h: surviving LLVM's fatal errors. LLVM ends the process when its fatal error handler returns, so the handler
 * jumps out instead; what LLVM held then is given up (leaked), never used again. */
#ifndef TENON_CODEGEN_FATAL_H
#define TENON_CODEGEN_FATAL_H

#include <setjmp.h>

/* A place to come back to. One thread's guards nest. */
typedef struct codegen_guard {
  jmp_buf back;
  struct codegen_guard *outer;
  char message[512]; /* LLVM's words, after a jump */
} codegen_guard;

/* Use: codegen_guard g; if (setjmp(g.back) == 0) { codegen_guard_enter(&g); LLVM calls; codegen_guard_leave(&g); } else
 * failed: g.message holds the reason and the guard has been left. Locals changed in between must be volatile. */
void codegen_guard_enter(codegen_guard *guard);
void codegen_guard_leave(codegen_guard *guard);
/* Called once in a process. */
void codegen_fatal_install(void);

#endif
