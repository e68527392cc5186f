/* names.c: names and labels of a session. The storage has each text once, and each label (a name at a
 * place) once. Everything here is called under the recorder's lock, when a thread meets a name for the
 * first time. */
#include "runtime/profiler/state.h"

#define THE (&profiler_the_recorder)

/* The recorder's maps have places in the storage plus one as values. */
static bool is_name(const void *text, runtime_map_value place) {
  return strcmp(THE->storage.names + place.i - 1, text) == 0;
}

/* Interned texts are compared by their place, not by their characters. */
static bool is_label(const void *label, runtime_map_value place) {
  const storage_label *a = &THE->storage.labels[place.i - 1], *b = label;
  return a->name == b->name && a->file == b->file && a->function == b->function && a->line == b->line &&
         a->category == b->category && a->level == b->level;
}

/* Returns the name's place. 0 is the empty name: for NULL, for "", and if there is no room, which is counted. */
uint32_t profiler_name(const char *text) {
  size_t n = text ? strlen(text) : 0;
  if (n == 0) return 0;
  runtime_map_value *place = runtime_map_match_at(&THE->names, runtime_hash(text, n, 0) | 1, is_name, text);
  if (!place || place->i) return place ? (uint32_t)place->i - 1 : 0;
  uint32_t at = storage_add_name(&THE->storage, text, n);
  if (!at) {
    atomic_fetch_add(&THE->storage.header->lost_names, 1);
    return 0;
  }
  place->i = (int64_t)at + 1;
  return at;
}

/* Recordings are passed on to others, so they do not tell where the sources were. */
static const char *without_folders(const char *file) {
  const char *slash = file ? strrchr(file, '/') : NULL;
  return slash ? slash + 1 : file;
}

/* The label's number; 0 (no name, unknown place) if there is no room. Called under the lock. */
uint32_t profiler_make_label(const tn_site *site, const char *name) {
  storage_label label;
  memset(&label, 0, sizeof label);
  label.name = profiler_name(name);
  label.file = profiler_name(without_folders(site->file));
  label.function = profiler_name(site->function);
  label.line = site->line;
  label.category = site->category;
  label.level = site->level;
  uint64_t hash = runtime_hash(&label, sizeof label, 1) | 1;
  runtime_map_value *place = runtime_map_match_at(&THE->labels, hash, is_label, &label);
  if (!place || place->i) return place ? (uint32_t)place->i - 1 : 0;
  storage_header *h = THE->storage.header;
  uint32_t n = atomic_load(&h->n_labels);
  if (n >= STORAGE_MAX_LABELS || !storage_take_label(&THE->storage, n)) {
    atomic_fetch_add(&h->lost_names, 1);
    return 0;
  }
  THE->storage.labels[n] = label;
  atomic_store_explicit(&h->n_labels, n + 1, memory_order_release);
  place->i = (int64_t)n + 1;
  return n;
}
