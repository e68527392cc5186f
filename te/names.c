/* names.c: a list of names and a map to find them. The map knows hashes only; the list tells names of equal
 * hash apart. */
#include "te/names.h"

/* A name being looked for. */
typedef struct search {
  const te_names *names;
  const char *name;
} search;

/* The map holds 1 + the index in the list. A name of equal hash may be there. */
static bool is_it(const void *user, runtime_map_value value) {
  const search *s = user;
  return strcmp(s->names->list.data[value.i - 1], s->name) == 0;
}

/* Never 0, which a map cannot have as a key. */
static uint64_t key_of(const char *name) { return runtime_hash(name, strlen(name), 0) | 1; }

int te_names_find(const te_names *names, const char *name) {
  const runtime_map_value *found = runtime_map_find_match(&names->map, key_of(name), is_it, &(search){names, name});
  return found ? (int)found->i - 1 : -1;
}

/* Adds to the list first: the next search would read an entry of the map without a name in the list. */
bool te_names_add(te_names *names, const char *name) {
  if (!RUNTIME_PUSH(&names->list, name)) return false;
  runtime_map_value *place = runtime_map_match_at(&names->map, key_of(name), is_it, &(search){names, name});
  if (place) place->i = names->list.n;
  return place != NULL;
}

void te_names_free(te_names *names) {
  runtime_map_free(&names->map);
  RUNTIME_VEC_FREE(&names->list);
}
