/* system.h: what tenon-runner asks of Linux: a dozen system calls, without a C library. */
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

/* Bytes that were moved; 0: the end of the input; negative: -errno. */
long system_read(int fd, void *data, size_t n);
long system_write(int fd, const void *data, size_t n);
void system_exit(int status) __attribute__((noreturn));
/* Zeroed pages, for this process alone or (IS_SHARED) for it and its children; NULL: there is no memory. */
void *system_map(size_t n, int is_shared);
void system_unmap(void *data, size_t n);
/* Makes whole pages read-only (IS_CODE: readable and executable). 0: done. */
int system_protect(void *data, size_t n, int is_code);
/* Has to be called between writing N bytes of code and executing them. */
void system_flush_code(void *code, size_t n);
/* As fork(2). */
long system_fork(void);
/* Waits for the child and returns its status, as wait(2) encodes it. */
int system_wait(long child);
/* Ends this process by SIGALRM after NS nanoseconds; its processor time is limited, too. */
void system_limit(uint64_t ns);
/* Monotonic time. */
uint64_t system_now_ns(void);

#endif
