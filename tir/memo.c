/* memo.c: the pointer map behind memoised walks and rewrites: open addressing, first slots on the caller's stack. */
#include "tir/internal.h"

void tir_memo_init(tir_memo *memo) {
  memset(memo->small, 0, sizeof memo->small);
  memo->slots = memo->small;
  memo->n = 0;
  memo->capacity = TIR_MEMO_INLINE;
}

void tir_memo_free(tir_memo *memo) {
  if (memo->slots != memo->small) free(memo->slots);
  memo->slots = NULL;
}

/* The slot of KEY: where it stands or where it would be put. */
static const void **find_slot(const void **slots, int capacity, const void *key) {
  uint64_t hash = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
  size_t mask = (size_t)capacity - 1, at = (size_t)(hash >> 32) & mask;
  while (slots[2 * at] != NULL && slots[2 * at] != key) at = (at + 1) & mask;
  return slots + 2 * at;
}

const void *tir_memo_get(const tir_memo *memo, const void *key) {
  return find_slot(memo->slots, memo->capacity, key)[1];
}

/* Doubles the table, in malloc memory from then on. */
static bool grow(tir_memo *memo) {
  const void **larger = calloc((size_t)memo->capacity * 4, sizeof *larger);
  if (larger == NULL) return false;
  for (int i = 0; i < memo->capacity; i++) {
    const void **from = memo->slots + 2 * i;
    if (from[0] == NULL) continue;
    const void **to = find_slot(larger, memo->capacity * 2, from[0]);
    to[0] = from[0], to[1] = from[1];
  }
  int capacity = memo->capacity * 2;
  tir_memo_free(memo);
  memo->slots = larger;
  memo->capacity = capacity;
  return true;
}

void tir_memo_put(tir_memo *memo, const void *key, const void *value) {
  const void **slot = find_slot(memo->slots, memo->capacity, key);
  if (slot[0] == NULL) {
    if (2 * (memo->n + 1) > memo->capacity) {
      if (!grow(memo)) return;
      slot = find_slot(memo->slots, memo->capacity, key);
    }
    memo->n++;
  }
  slot[0] = key, slot[1] = value;
}

bool tir_memo_add(tir_memo *memo, const void *key) {
  if (tir_memo_get(memo, key) != NULL) return false;
  tir_memo_put(memo, key, key);
  return true;
}
