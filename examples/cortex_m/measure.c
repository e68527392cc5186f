/* measure.c: the program around a kernel on the board. It fills the inputs, calls the kernel, counts
 * instructions and prints a checksum of the outputs. The builder writes arguments.h: ARGUMENTS with X(number,
 * type, elements, is_output) for each argument, SEED and KERNEL_CALL. */
#include "arguments.h"
#include "board.h"

#define X(number, type, elements, is_output) static type arg##number[elements] __attribute__((aligned(8)));
ARGUMENTS
#undef X

/* Pseudo-random numbers from -128 to 127 for any type. tune.c makes the same ones for the reference. */
static int32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (int8_t)(*state >> 24);
}

/* FNV-1a over the bytes, going on from SUM. */
static uint32_t add_up(uint32_t sum, const void *data, uint32_t bytes) {
  for (const uint8_t *at = data; bytes > 0; bytes--) sum = (sum ^ *at++) * 16777619u;
  return sum;
}

/* Prints NAME and the number in decimal, on a line. */
static void write_number(const char *name, uint32_t value) {
  char digits[12], *at = digits + sizeof digits;
  *--at = '\0';
  *--at = '\n';
  do *--at = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  board_write(name);
  board_write(at);
}

/* Compilers call these by themselves, and there is no C library. The pointers are volatile, so that a loop is
 * not compiled to a call of itself. */
void *memset(void *to, int value, uint32_t n) {
  for (volatile uint8_t *at = to; n > 0; n--) *at++ = (uint8_t)value;
  return to;
}

void *memcpy(void *restrict to, const void *restrict from, uint32_t n) {
  volatile uint8_t *at = to;
  for (const uint8_t *f = from; n > 0; n--) *at++ = *f++;
  return to;
}

/* A kernel's larger scratch, allocated one behind the other. All of it is free again when the last piece was
 * given back. */
static char *heap_at = heap_begin;
static int n_taken;

void *aligned_alloc(uint32_t align, uint32_t bytes) {
  char *taken = (char *)(((uintptr_t)heap_at + align - 1) / align * align);
  if (taken > heap_end || bytes > (uint32_t)(heap_end - taken)) return 0;
  heap_at = taken + bytes;
  n_taken++;
  return taken;
}

void free(void *data) {
  if (data && --n_taken == 0) heap_at = heap_begin;
}

/* Prints three lines, which tune.c reads: the kernel's status, the instructions of the call, the checksum of
 * the outputs. */
int main(void) {
  uint32_t state = SEED, sum = 2166136261u;
#define X(number, type, elements, is_output) \
  for (uint32_t i = 0; i < (elements); i++) arg##number[i] = (is_output) ? (type)0x55 : (type)next(&state);
  ARGUMENTS
#undef X
  uint32_t start = board_instructions();
  int32_t failed = KERNEL_CALL;
  uint32_t n = board_instructions() - start;
#define X(number, type, elements, is_output) \
  if (is_output) sum = add_up(sum, arg##number, sizeof arg##number);
  ARGUMENTS
#undef X
  write_number("failed ", (uint32_t)failed);
  write_number("instructions ", n);
  write_number("sum ", sum);
  return 0;
}
