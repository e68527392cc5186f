/* measure.c: the program around a kernel: fills its inputs, calls it, counts instructions, and says what the outputs' bytes
 * add up to. ARGUMENTS, which the builder writes into arguments.h, has X(number, type, elements, is_output) of each. */
#include "arguments.h"
#include "board.h"

#define X(number, type, elements, is_output) static type arg##number[elements] __attribute__((aligned(8)));
ARGUMENTS
#undef X

/* The same numbers as tune.c makes: -128 .. 127 in any type. */
static int32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (int8_t)(*state >> 24);
}

/* FNV-1a. */
static uint32_t add_up(uint32_t sum, const void *data, uint32_t bytes) {
  for (const uint8_t *at = data; bytes > 0; bytes--) sum = (sum ^ *at++) * 16777619u;
  return sum;
}

static void write_number(const char *name, uint32_t value) {
  char digits[12], *at = digits + sizeof digits;
  *--at = '\0';
  *--at = '\n';
  do *--at = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  board_write(name);
  board_write(at);
}

/* What compilers call; there is no C library. */
void *memset(void *to, int value, uint32_t n) {
  for (volatile uint8_t *at = to; n > 0; n--) *at++ = (uint8_t)value;
  return to;
}

void *memcpy(void *restrict to, const void *restrict from, uint32_t n) {
  volatile uint8_t *at = to;
  for (const uint8_t *f = from; n > 0; n--) *at++ = *f++;
  return to;
}

/* A kernel's larger scratch: taken in order; all of it is given back with the last that was taken. */
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
