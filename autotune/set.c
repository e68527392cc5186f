/* set.c: a hash table from 64-bit hashes to numbers, with open addressing: which schedules were seen, scores of
 * genomes. */
#include "autotune/search.h"

static struct autotune_set_entry *place_of(const autotune_set *set, uint64_t hash) {
  size_t mask = (size_t)set->cap - 1;
  for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
    struct autotune_set_entry *entry = &set->entries[i];
    if (entry->hash == hash || entry->hash == 0) return entry;
  }
}

double *autotune_set_find(const autotune_set *set, uint64_t hash) {
  if (set->cap == 0) return NULL;
  struct autotune_set_entry *entry = place_of(set, hash);
  return entry->hash == hash ? &entry->value : NULL;
}

static bool grow(autotune_set *set) {
  autotune_set bigger = {.cap = set->cap ? set->cap * 2 : 64, .n = set->n};
  bigger.entries = calloc((size_t)bigger.cap, sizeof *bigger.entries);
  if (!bigger.entries) return false;
  for (int i = 0; i < set->cap; i++) {
    if (set->entries[i].hash) *place_of(&bigger, set->entries[i].hash) = set->entries[i];
  }
  free(set->entries);
  *set = bigger;
  return true;
}

bool autotune_set_put(autotune_set *set, uint64_t hash, double value) {
  if (set->n * 2 >= set->cap && !grow(set)) return false;
  struct autotune_set_entry *entry = place_of(set, hash);
  set->n += entry->hash == 0;
  *entry = (struct autotune_set_entry){hash, value};
  return true;
}

void autotune_set_free(autotune_set *set) {
  free(set->entries);
  *set = (autotune_set){0};
}
