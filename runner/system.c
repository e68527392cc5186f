/* system.c: the start of the process and Linux's system calls for each machine. There is no C library: a static
 * one would be larger than the whole runner. */
#include "runner/system.h"

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* Numbers of the system calls; FORK is clone, LIMIT is setrlimit. */
#if defined(__aarch64__) || defined(__riscv)
enum { READ = 63, WRITE = 64, EXIT = 94, MAP = 222, UNMAP = 215, PROTECT = 226, WAIT = 260, TIMER = 103, CLOCK = 113 };
enum { FORK = 220, LIMIT = 164 };
#elif defined(__arm__)
enum { READ = 3, WRITE = 4, EXIT = 248, MAP = 192, UNMAP = 91, PROTECT = 125, WAIT = 114, TIMER = 104, CLOCK = 263 };
enum { FORK = 120, LIMIT = 75 };
#else
enum { READ = 0, WRITE = 1, EXIT = 231, MAP = 9, UNMAP = 11, PROTECT = 10, WAIT = 61, TIMER = 38, CLOCK = 228 };
enum { FORK = 56, LIMIT = 160 };
#endif

/* One system call. Returns what the kernel does: -errno on failure. */
static long call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#elif defined(__arm__)
  register long r7 __asm__("r7") = number, r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
  register long r3 __asm__("r3") = d, r4 __asm__("r4") = e, r5 __asm__("r5") = f;
  __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
  return r0;
#elif defined(__riscv)
  register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
  register long a3 __asm__("a3") = d, a4 __asm__("a4") = e, a5 __asm__("a5") = f;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
  return a0;
#else
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#endif
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* -EINTR: a signal came first; the call is made again. */
enum { INTERRUPTED = -4 };

long system_read(int fd, void *data, size_t n) {
  long result;
  do result = call(READ, fd, (long)data, (long)n, 0, 0, 0);
  while (result == INTERRUPTED);
  return result;
}

long system_write(int fd, const void *data, size_t n) {
  long result;
  do result = call(WRITE, fd, (long)data, (long)n, 0, 0, 0);
  while (result == INTERRUPTED);
  return result;
}

void system_exit(int status) {
  for (;;) call(EXIT, status, 0, 0, 0, 0, 0);
}

void *system_map(size_t n, int is_shared) {
  /* The kernel's numbers; results above -LAST_ERROR are errors. */
  enum { READ_WRITE = 3, ANONYMOUS = 0x20, LAST_ERROR = 4095 };
  long result = call(MAP, 0, (long)n, READ_WRITE, (is_shared ? 1 : 2) | ANONYMOUS, -1, 0);
  return (unsigned long)result >= (unsigned long)-LAST_ERROR ? NULL : (void *)result;
}

void system_unmap(void *data, size_t n) { call(UNMAP, (long)data, (long)n, 0, 0, 0, 0); }

int system_protect(void *data, size_t n, int is_code) {
  enum { READS = 1, RUNS = 4 };
  return (int)call(PROTECT, (long)data, (long)n, is_code ? READS | RUNS : READS, 0, 0, 0);
}

/* Makes written code visible to the processor's instruction fetch. RISC-V has no instruction that reaches other
 * harts' caches, so the kernel is asked. */
void system_flush_code(void *code, size_t n) {
#if defined(__riscv)
  enum { FLUSH = 259 };
  call(FLUSH, (long)code, (long)code + (long)n, 0, 0, 0, 0);
#else
  __builtin___clear_cache((char *)code, (char *)code + n);
#endif
}

long system_fork(void) {
  enum { CHILD_SIGNAL = 17 };
  return call(FORK, CHILD_SIGNAL, 0, 0, 0, 0, 0);
}

int system_wait(long child) {
  int status = 0;
  while (call(WAIT, child, (long)&status, 0, 0, 0, 0) == INTERRUPTED) continue;
  return status;
}

/* The timer ends the process after NS of wall time; two more seconds of processor time is a second fence, in
 * case the signal is not delivered. No core file is written. */
void system_limit(uint64_t ns) {
  enum { PROCESSOR = 0, CORE_FILE = 4 };
  uint32_t us = (uint32_t)(ns / 1000 > 2000000000u ? 2000000000u : ns / 1000);
  long timer[4] = {0, 0, (long)(us / 1000000), (long)(us % 1000000 + (us == 0))};
  unsigned long seconds[2] = {us / 1000000 + 2, us / 1000000 + 3}, none[2] = {0, 0};
  call(LIMIT, PROCESSOR, (long)seconds, 0, 0, 0, 0);
  call(LIMIT, CORE_FILE, (long)none, 0, 0, 0, 0);
  call(TIMER, 0, (long)timer, 0, 0, 0, 0);
}

uint64_t system_now_ns(void) {
  enum { MONOTONIC = 1 };
  long time[2];
  call(CLOCK, MONOTONIC, (long)time, 0, 0, 0, 0);
  return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

int runner_main(int argc, char **argv);

/* STACK: the stack pointer as Linux starts a process with it: argc, then argv. */
__attribute__((used)) void runner_start(long *stack) { system_exit(runner_main((int)stack[0], (char **)(stack + 1))); }

/* The entry point of each machine: passes the stack pointer on, with the stack aligned as its ABI wants. */
#if defined(__aarch64__)
__asm__(".globl _start\n_start:\n  mov x29, 0\n  mov x0, sp\n  and sp, x0, -16\n  bl runner_start\n");
#elif defined(__arm__)
__asm__(".globl _start\n.arm\n_start:\n  mov r0, sp\n  bic sp, sp, #7\n  blx runner_start\n");
#elif defined(__riscv)
__asm__(
    ".globl _start\n_start:\n  .option push\n  .option norelax\n  lla gp, __global_pointer$\n  .option pop\n"
    "  mv a0, sp\n  andi sp, sp, -16\n  call runner_start\n");
#else
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call runner_start\n");
#endif

/* ---- functions that compilers call by themselves ----------------------------------------------------------------- */

/* From the lowest byte to the highest, by words where both sides are aligned, since the frames are large. FROM may lie above TO and
 * overlap it. */
static void copy_upwards(char *t, const char *f, size_t n) {
  for (; n >= sizeof(long) && (((uintptr_t)t | (uintptr_t)f) & (sizeof(long) - 1)) == 0; n -= sizeof(long)) {
    *(long __attribute__((may_alias)) *)(void *)t = *(const long __attribute__((may_alias)) *)(const void *)f;
    t += sizeof(long);
    f += sizeof(long);
  }
  while (n-- > 0) *t++ = *f++;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) { return copy_upwards(to, from, n), to; }

void *memmove(void *to, const void *from, size_t n) {
  char *t = to;
  const char *f = from;
  if (t <= f || t >= f + n) return copy_upwards(t, f, n), to;
  while (n-- > 0) t[n] = f[n];
  return to;
}

void *memset(void *to, int value, size_t n) {
  unsigned char *t = to;
  for (; n > 0 && ((uintptr_t)t & (sizeof(long) - 1)) != 0; n--) *t++ = (unsigned char)value;
  unsigned long word = (unsigned char)value * (~0ul / 255);
  for (; n >= sizeof(long); n -= sizeof(long), t += sizeof(long))
    *(unsigned long __attribute__((may_alias)) *)(void *)t = word;
  while (n-- > 0) *t++ = (unsigned char)value;
  return to;
}

int memcmp(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < n; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

/* Called by libgcc after a division by zero. */
int raise(int signal) {
  (void)signal;
  system_exit(70);
}
