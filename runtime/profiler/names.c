/* Names and labels of a session: each text is in the storage once, each label (a name at a place) too. Everything here
 * is called with the recorder's lock held, when a thread meets a name for the first time. */
#include "runtime/profiler/state.h"

#define THE (&profiler_the_recorder)

static bool index_grow(profiler_index *index) {
  uint32_t n = index->n_slots ? index->n_slots * 2 : 256;
  struct profiler_slot *slots = calloc(n, sizeof *slots), *old = index->slots;
  if (!slots) return false;
  for (uint32_t i = 0; i < index->n_slots; ++i) {
    if (!old[i].value) continue;
    uint32_t at = (uint32_t)old[i].hash & (n - 1);
    while (slots[at].value) at = (at + 1) & (n - 1);
    slots[at] = old[i];
  }
  free(old);
  index->slots = slots;
  index->n_slots = n;
  return true;
}

/* The slot of a hash for which IS_IT says yes, or the empty one where it belongs; NULL without memory. */
static struct profiler_slot *index_find(profiler_index *index, uint64_t hash,
                                        bool (*is_it)(uint32_t value, const void *key), const void *key) {
  if (2 * (index->n + 1) > index->n_slots && !index_grow(index)) return NULL;
  for (uint32_t at = (uint32_t)hash;; ++at) {
    struct profiler_slot *slot = &index->slots[at & (index->n_slots - 1)];
    if (!slot->value || (slot->hash == hash && is_it(slot->value - 1, key))) return slot;
  }
}

static bool is_name(uint32_t value, const void *key) { return strcmp(THE->storage.names + value, key) == 0; }

static bool is_label(uint32_t value, const void *key) {
  const storage_label *a = &THE->storage.labels[value], *b = key;
  return a->name == b->name && a->file == b->file && a->function == b->function && a->line == b->line &&
         a->category == b->category && a->level == b->level;
}

uint32_t profiler_name(const char *text) {
  size_t n = text ? strlen(text) : 0;
  if (n == 0) return 0;
  uint64_t hash = runtime_hash(text, n, 0);
  struct profiler_slot *slot = index_find(&THE->names, hash, is_name, text);
  if (!slot || slot->value) return slot ? slot->value - 1 : 0;
  uint32_t at = storage_add_name(&THE->storage, text, n);
  if (!at) {
    atomic_fetch_add(&THE->storage.header->lost_names, 1);
    return 0;
  }
  *slot = (struct profiler_slot){hash, at + 1};
  ++THE->names.n;
  return at;
}

static const char *without_folders(const char *file) {
  const char *slash = file ? strrchr(file, '/') : NULL;
  return slash ? slash + 1 : file;
}

/* The label's number; 0 (no name, unknown place) when there is no room. Under lock. */
uint32_t profiler_make_label(const tn_site *site, const char *name) {
  storage_label label;
  memset(&label, 0, sizeof label);
  label.name = profiler_name(name);
  label.file = profiler_name(without_folders(site->file));
  label.function = profiler_name(site->function);
  label.line = site->line;
  label.category = site->category;
  label.level = site->level;
  uint64_t hash = runtime_hash(&label, sizeof label, 1);
  struct profiler_slot *slot = index_find(&THE->labels, hash, is_label, &label);
  if (!slot || slot->value) return slot ? slot->value - 1 : 0;
  storage_header *h = THE->storage.header;
  uint32_t n = atomic_load(&h->n_labels);
  if (n >= STORAGE_MAX_LABELS) {
    atomic_fetch_add(&h->lost_names, 1);
    return 0;
  }
  THE->storage.labels[n] = label;
  atomic_store_explicit(&h->n_labels, n + 1, memory_order_release);
  *slot = (struct profiler_slot){hash, n + 1};
  ++THE->labels.n;
  return n;
}
