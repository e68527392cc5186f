/* names.c: the list, and runtime's map to find what is in it: the map knows hashes, the list tells names of one hash
 * apart. */
#include "te/names.h"

typedef struct search {
  const te_names *names;
  const char *name;
} search;

/* The map holds 1 + a place in the list: its hash may be that of another name. */
static bool is_it(const void *user, runtime_map_value value) {
  const search *s = user;
  return strcmp(s->names->list.data[value.i - 1], s->name) == 0;
}

/* Never 0, which is no key. */
static uint64_t key_of(const char *name) { return runtime_hash(name, strlen(name), 0) | 1; }

int te_names_find(const te_names *names, const char *name) {
  const runtime_map_value *found = runtime_map_find_match(&names->map, key_of(name), is_it, &(search){names, name});
  return found ? (int)found->i - 1 : -1;
}

/* The list first: an entry of the map without a name behind it would be read by the next search. */
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
