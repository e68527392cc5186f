/* system.h: what tenon-runner asks of Linux, without a C library: a dozen calls. */
#ifndef TENON_RUNNER_SYSTEM_H
#define TENON_RUNNER_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__aarch64__)
#define RUNNER_ARCH "aarch64"
#elif defined(__arm__)
#define RUNNER_ARCH "armv7"
#elif defined(__riscv) && __riscv_xlen == 64
#define RUNNER_ARCH "riscv64"
#elif defined(__x86_64__)
#define RUNNER_ARCH "x86_64"
#else
#error "tenon-runner knows aarch64, armv7, riscv64 and x86_64"
#endif

enum { SYSTEM_SIGNAL_ALARM = 14, SYSTEM_PAGE = 4096 };

/* Bytes that were moved, 0 at the end of the input, negative: an errno. */
long system_read(int fd, void *data, size_t n);
long system_write(int fd, const void *data, size_t n);
void system_exit(int status) __attribute__((noreturn));
/* Zeroed pages, for this process or (SHARED) for its children, too; NULL: none. */
void *system_map(size_t n, int is_shared);
void system_unmap(void *data, size_t n);
/* Makes whole pages read-only, or code. 0: done. */
int system_protect(void *data, size_t n, int is_code);
/* What was written to N bytes will be executed. */
void system_flush_code(void *code, size_t n);
/* As fork(2). */
long system_fork(void);
/* Waits for the child. Returns how it ended, as of wait(2). */
int system_wait(long child);
/* A signal that ends the process after so long; processor time is limited, too. */
void system_limit(uint64_t ns);
/* Monotonic. */
uint64_t system_now_ns(void);

#endif
