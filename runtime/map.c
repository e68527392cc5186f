/* map.c: hash maps with open addressing and linear probing, at most half full; capacities are powers of two. */
#include "runtime/base.h"

/* The size of the first table. Instrumented builds begin with two slots, so that every table has to grow. */
enum { FIRST_SLOTS = RUNTIME_SMALL(64, 2) };

/* Keys are addresses and hashes. Multiplication spreads both; the high bits are the best (Knuth, vol. 3, 6.4). */
static size_t first_place(const runtime_map *map, uint64_t key) {
  return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & ((size_t)map->capacity - 1);
}

/* The slot that holds KEY, or the free one where it belongs. The map must have a table. */
static runtime_map_slot *slot_of(const runtime_map *map, uint64_t key, runtime_map_match is_it, const void *user) {
  size_t mask = (size_t)map->capacity - 1, at = first_place(map, key);
  for (;; at = (at + 1) & mask) {
    runtime_map_slot *slot = &map->slots[at];
    if (slot->key == 0) return slot;
    if (slot->key == key && (!is_it || slot->value.i == 0 || is_it(user, slot->value))) return slot;
  }
}

/* A free slot for KEY, which may be in the map several times. */
static runtime_map_slot *free_slot(const runtime_map *map, uint64_t key) {
  size_t mask = (size_t)map->capacity - 1, at = first_place(map, key);
  while (map->slots[at].key != 0) at = (at + 1) & mask;
  return &map->slots[at];
}

/* Doubles the table and inserts every key again. On failure the map is as before, and the insertion fails. */
static bool grow(runtime_map *map) {
  if (map->capacity > INT32_MAX / 2) return false;
  runtime_map larger = {.n = map->n,
                        .capacity = map->capacity ? 2 * map->capacity : FIRST_SLOTS,
                        .failed = map->failed,
                        .lent = map->lent};
  larger.slots = calloc((size_t)larger.capacity, sizeof *larger.slots);
  if (!larger.slots) return false;
  for (int i = 0; i < map->capacity; i++)
    if (map->slots[i].key != 0) *free_slot(&larger, map->slots[i].key) = map->slots[i];
  if (map->slots != map->lent) free(map->slots);
  *map = larger;
  return true;
}

void runtime_map_lend(runtime_map *map, runtime_map_slot *slots, int n) {
  memset(slots, 0, (size_t)n * sizeof *slots);
  *map = (runtime_map){.slots = slots, .lent = slots, .capacity = n};
}

runtime_map_value *runtime_map_find(const runtime_map *map, uint64_t key) {
  if (map->n == 0) return NULL;
  runtime_map_slot *slot = slot_of(map, key, NULL, NULL);
  return slot->key ? &slot->value : NULL;
}

runtime_map_value *runtime_map_find_match(const runtime_map *map, uint64_t key, runtime_map_match is_it,
                                          const void *user) {
  if (map->n == 0) return NULL;
  runtime_map_slot *slot = slot_of(map, key, is_it, user);
  return slot->key && slot->value.i != 0 ? &slot->value : NULL;
}

runtime_map_value *runtime_map_match_at(runtime_map *map, uint64_t key, runtime_map_match is_it, const void *user) {
  if (2 * (map->n + 1) > map->capacity && !grow(map)) {
    map->failed = true;
    return NULL;
  }
  runtime_map_slot *slot = slot_of(map, key, is_it, user);
  map->n += slot->key == 0;
  slot->key = key;
  return &slot->value;
}

runtime_map_value *runtime_map_at(runtime_map *map, uint64_t key) { return runtime_map_match_at(map, key, NULL, NULL); }

/* A map that was once filled far has its capacity halved by each clearing that finds it mostly empty, so
 * that clearing costs in proportion to what was put in. */
void runtime_map_clear(runtime_map *map) {
  bool is_sparse = map->n < map->capacity / 16 && map->capacity > FIRST_SLOTS;
  if (map->slots) memset(map->slots, 0, (size_t)map->capacity * sizeof *map->slots);
  if (is_sparse) map->capacity /= 2;
  map->n = 0;
}

void runtime_map_free(runtime_map *map) {
  if (map->slots != map->lent) free(map->slots);
  *map = (runtime_map){0};
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* A text that need not end with NUL, for comparing names. */
typedef struct span {
  const char *text;
  size_t n;
} span;

/* The wanted text need not end with NUL; the stored one does. */
static bool is_text(const void *user, runtime_map_value value) {
  const span *wanted = user;
  const char *text = value.p;
  return strncmp(text, wanted->text, wanted->n) == 0 && text[wanted->n] == '\0';
}

const char *runtime_intern(runtime_names *names, const char *text, size_t n) {
  span wanted = {text, strnlen(text, n)};
  runtime_map_value *kept = runtime_map_match_at(&names->map, runtime_hash(text, wanted.n, 0) | 1, is_text, &wanted);
  if (!kept) return NULL;
  if (!kept->p) kept->p = runtime_strndup(names->arena, text, wanted.n);
  return kept->p;
}

void runtime_names_free(runtime_names *names) { runtime_map_free(&names->map); }
