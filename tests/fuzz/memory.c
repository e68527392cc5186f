/* Memory between pages that cannot be touched: the first byte outside of an array is a fault. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { SLOTS = 24, SLOT_BYTES = 1 << 22, GUARD_BYTES = 1 << 16 };

struct fuzz_memory {
  char *slots[SLOTS]; /* each SLOT_BYTES between two guards */
};

fuzz_memory *fuzz_memory_new(void) {
  fuzz_memory *memory = calloc(1, sizeof *memory);
  for (int i = 0; memory && i < SLOTS; i++) {
    char *all = mmap(NULL, SLOT_BYTES + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + GUARD_BYTES, SLOT_BYTES, PROT_READ | PROT_WRITE) != 0) return NULL;
    memory->slots[i] = all + GUARD_BYTES;
  }
  return memory;
}

void *fuzz_memory_at(fuzz_memory *memory, int slot, size_t bytes, bool at_end) {
  if (slot >= SLOTS || bytes > SLOT_BYTES) return NULL;
  return memory->slots[slot] + (at_end ? SLOT_BYTES - bytes : 0);
}
