/* board.h: what measure.c needs of a board. Each board's start.c defines these functions, each board.ld the memory. */
#ifndef CORTEX_M_BOARD_H
#define CORTEX_M_BOARD_H

#include <stdint.h>

int main(void); /* in measure.c; start.c calls it */
/* Sends TEXT to the emulator, which prints it. */
void board_write(const char *text);
/* Instructions since some fixed moment, in steps of the board's counter. The emulator lets each take a nanosecond, so
 * that a timer counts them. */
uint32_t board_instructions(void);
/* The memory for a kernel's larger scratch, as board.ld lays it out. */
extern char heap_begin[], heap_end[];

#endif
