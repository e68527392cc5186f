/* map.c: the emitter's map from addresses to addresses: open addressing, emptied by counting generations. */
#include "codegen/emit.h"

static size_t first_slot(const codegen_map *map, const void *key) {
  return (size_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u) >> 20) & (map->capacity - 1);
}

/* The slot that holds KEY, or the free one where it would stand. */
static codegen_slot *find(const codegen_map *map, const void *key) {
  size_t i = first_slot(map, key);
  while (map->slots[i].key != NULL && map->slots[i].generation == map->generation && map->slots[i].key != key) {
    i = (i + 1) & (map->capacity - 1);
  }
  return &map->slots[i];
}

static bool is_live(const codegen_map *map, const codegen_slot *slot) {
  return slot->key != NULL && slot->generation == map->generation;
}

static bool grow(codegen_map *map) {
  codegen_map wide = {.capacity = map->capacity ? 2 * map->capacity : 64, .generation = map->generation};
  wide.slots = calloc(wide.capacity, sizeof *wide.slots);
  if (wide.slots == NULL) return false;
  for (size_t i = 0; i < map->capacity; i++) {
    if (!is_live(map, &map->slots[i])) continue;
    *find(&wide, map->slots[i].key) = map->slots[i];
    wide.n++;
  }
  free(map->slots);
  *map = wide;
  return true;
}

void *codegen_map_get(const codegen_map *map, const void *key) {
  if (map->n == 0) return NULL;
  const codegen_slot *slot = find(map, key);
  return is_live(map, slot) ? slot->value : NULL;
}

bool codegen_map_put(codegen_map *map, const void *key, void *value) {
  if (2 * (map->n + 1) > map->capacity && !grow(map)) return false;
  codegen_slot *slot = find(map, key);
  map->n += !is_live(map, slot);
  *slot = (codegen_slot){key, value, map->generation};
  return true;
}

void codegen_map_clear(codegen_map *map) {
  map->n = 0;
  map->generation++;
}

void codegen_map_free(codegen_map *map) {
  free(map->slots);
  *map = (codegen_map){0};
}
