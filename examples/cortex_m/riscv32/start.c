/* start.c for QEMU's virt machine with 32 bits: memory, output by the serial port, and instructions by the
 * processor's own counter. */
#include "board.h"

/* Addresses that board.ld defines. */
extern uint32_t bss_begin[], bss_end[];

void board_write(const char *text) {
  while (*text) *(volatile uint8_t *)0x10000000 = (uint8_t)*text++;
}

uint32_t board_instructions(void) {
  uint32_t n;
  __asm__ volatile("rdinstret %0" : "=r"(n));
  return n;
}

__attribute__((noreturn)) static void end(void) {
  for (;;) *(volatile uint32_t *)0x100000 = 0x5555; /* the machine is switched off */
}

/* Any exception: says so and switches the machine off. */
__attribute__((used, aligned(4))) static void trap(void) {
  board_write("fault\n");
  end();
}

/* Clears memory and runs the program; the lines below set the stack first. */
__attribute__((used)) static void begin(void) {
  __asm__ volatile("csrw mtvec, %0" ::"r"(trap));
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  main();
  end();
}

__asm__(".section .start, \"ax\"\n.globl _start\n_start:\n  la sp, stack_top\n  j begin\n.text\n");
