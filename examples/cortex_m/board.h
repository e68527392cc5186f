/* board.h: what the program around a kernel asks of a board; each board's start.c has it. */
#ifndef CORTEX_M_BOARD_H
#define CORTEX_M_BOARD_H

#include <stdint.h>

int main(void); /* measure.c */
/* Text to whoever runs the board. */
void board_write(const char *text);
/* Instructions since some time, in steps of BOARD_STEP: the emulator counts one nanosecond for each. */
uint32_t board_instructions(void);
/* Where a kernel's larger scratch may be; board.ld has both. */
extern char heap_begin[], heap_end[];

#endif
