/* usdt.c: scopes and marks as static user-space probes (USDT): tenon:push and tenon:mark with the address of the name,
 * and tenon:pop. A probe is a nop and a note in the section .note.stapsdt, the format that SystemTap defined and perf,
 * bpftrace and gdb read. Reading them needs nothing of Tenon:
 *
 *   bpftrace -e 'usdt:./libtenon.so:tenon:push { @[str(arg0)] = count(); }'
 *
 * A tracer that watches a probe replaces its nop; otherwise a probe costs nothing. */
#include "runtime/profiler/state.h"

/* A note: the lengths of owner and description, and the type 3; the owner; then where the nop is, where
 * .stapsdt.base was when the program was linked (by which readers recognise a moved section), and no
 * semaphore; then provider, probe and arguments. */
#define NOTE(probe, arguments)                                            \
  "990: nop\n"                                                            \
  ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
  ".balign 4\n"                                                           \
  ".4byte 992f-991f, 994f-993f, 3\n"                                      \
  "991: .asciz \"stapsdt\"\n"                                             \
  "992: .balign 4\n"                                                      \
  "993: .8byte 990b\n"                                                    \
  ".8byte _.stapsdt.base\n"                                               \
  ".8byte 0\n"                                                            \
  ".asciz \"tenon\"\n"                                                    \
  ".asciz \"" probe                                                       \
  "\"\n"                                                                  \
  ".asciz \"" arguments                                                   \
  "\"\n"                                                                  \
  "994: .balign 4\n"                                                      \
  ".popsection\n"                                                         \
  ".ifndef _.stapsdt.base\n"                                              \
  ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n"                                                \
  ".hidden _.stapsdt.base\n"                                              \
  "_.stapsdt.base: .space 1\n"                                            \
  ".size _.stapsdt.base, 1\n"                                             \
  ".popsection\n"                                                         \
  ".endif\n"

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__ELF__) && __SIZEOF_POINTER__ == 8
#define HAS_PROBES 1
static void push(void *user, const char *name) {
  (void)user;
  __asm__ volatile(NOTE("push", "8@%0") : : "nor"(name) : "memory");
}

static void pop(void *user) {
  (void)user;
  __asm__ volatile(NOTE("pop", "") : : : "memory");
}

static void mark(void *user, const char *name) {
  (void)user;
  __asm__ volatile(NOTE("mark", "8@%0") : : "nor"(name) : "memory");
}
#else
#define HAS_PROBES 0
static void push(void *user, const char *name) { (void)user, (void)name; }
static void pop(void *user) { (void)user; }
static void mark(void *user, const char *name) { (void)user, (void)name; }
#endif

const char *profiler_usdt(tn_tracer *tracer) {
  tracer->push = push;
  tracer->pop = pop;
  tracer->mark = mark;
  return HAS_PROBES ? NULL : "this machine has no probes of that form";
}
