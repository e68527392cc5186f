/* names.c: open addressing, never more than half full. */
#include "te/names.h"

static struct te_name *find_slot(struct te_name *slots, int capacity, const char *name) {
  size_t mask = (size_t)capacity - 1, at = (size_t)runtime_hash(name, strlen(name), 0) & mask;
  while (slots[at].name && strcmp(slots[at].name, name) != 0) at = (at + 1) & mask;
  return &slots[at];
}

int te_names_find(const te_names *names, const char *name) {
  const struct te_name *slot = names->capacity ? find_slot(names->slots, names->capacity, name) : NULL;
  return slot && slot->name ? slot->value : -1;
}

static bool grow(te_names *names) {
  int capacity = names->capacity ? 2 * names->capacity : 32;
  struct te_name *slots = calloc((size_t)capacity, sizeof *slots);
  if (!slots) return false;
  for (int i = 0; i < names->capacity; i++)
    if (names->slots[i].name) *find_slot(slots, capacity, names->slots[i].name) = names->slots[i];
  free(names->slots);
  names->slots = slots;
  names->capacity = capacity;
  return true;
}

bool te_names_add(te_names *names, const char *name, int value) {
  if (2 * (names->n + 1) > names->capacity && !grow(names)) return false;
  struct te_name *slot = find_slot(names->slots, names->capacity, name);
  if (slot->name) return true;
  *slot = (struct te_name){name, value};
  names->n++;
  return true;
}

void te_names_free(te_names *names) {
  free(names->slots);
  *names = (te_names){0};
}
