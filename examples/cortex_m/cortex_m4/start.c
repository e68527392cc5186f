/* start.c for QEMU's mps2-an386 and mps2-an500 (Cortex-M4 and -M7): the vector table, memory, output by
 * semihosting, and instructions by a timer. The timer runs at 25 MHz, so one step is 40 ns, or 40 instructions. */
#include "board.h"

/* Addresses that board.ld defines. */
extern uint32_t data_from[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];

/* A semihosting call: the emulator sees the breakpoint and serves it on the host. */
static void call_host(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_write(const char *text) { call_host(4, text); }

static void end(void) {
  call_host(0x18, (const void *)0x20026); /* the application has ended */
  for (;;) continue;
}

/* CMSDK APB timer 0 of the board: it counts down. */
#define TIMER ((volatile uint32_t *)0x40000000)
/* Words of the timer's registers. The timer runs at 25 MHz and the emulator lets an instruction take a nanosecond,
 * so a step is 40 instructions. */
enum { CONTROL = 0, VALUE = 1, RELOAD = 2, INSTRUCTIONS_A_STEP = 40 };

uint32_t board_instructions(void) { return (0xffffffffu - TIMER[VALUE]) * INSTRUCTIONS_A_STEP; }

/* What the processor starts with: turns the FPU on, copies initial data from flash, clears the rest, starts the
 * timer. */
static void reset(void) {
  *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* floating point is on */
  __asm__ volatile("dsb\n isb");
  for (uint32_t *from = data_from, *to = data_begin; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  TIMER[RELOAD] = TIMER[VALUE] = 0xffffffffu;
  TIMER[CONTROL] = 1;
  main();
  end();
}

/* Any exception: says so and ends, so that a broken kernel costs its own run only. */
static void fault(void) {
  board_write("fault\n");
  end();
}

/* The vector table, which board.ld puts at address 0. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {stack_top, reset, fault, fault,
                                                                                   fault,     fault, fault};
