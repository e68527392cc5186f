/* Makes, opens and fills the mapping that a session records into. */
#include "runtime/profiler/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Names get an eighth of the records' memory, at least a MiB. */
static size_t names_bytes_for(size_t max_bytes) { return RUNTIME_MAX(round_up(max_bytes / 8, 4096), (size_t)1 << 20); }

/* Where the parts lie. */
static void lay_out(storage_header *h, size_t max_bytes) {
  h->max_chunks = (uint32_t)RUNTIME_MIN(max_bytes / STORAGE_CHUNK_BYTES, (size_t)UINT32_MAX - 1);
  h->names_bytes = names_bytes_for(max_bytes);
  h->labels_at = round_up(sizeof *h, 4096);
  h->names_at = h->labels_at + round_up(STORAGE_MAX_LABELS * sizeof(storage_label), 4096);
  h->lanes_at = h->names_at + h->names_bytes;
  h->chunks_at = h->lanes_at + round_up(STORAGE_MAX_LANES * sizeof(storage_lane), 4096);
  h->total_bytes = h->chunks_at + (size_t)h->max_chunks * STORAGE_CHUNK_BYTES;
}

static void set_pointers(storage *s, char *base) {
  s->header = (storage_header *)base;
  s->labels = (storage_label *)(base + s->header->labels_at);
  s->names = base + s->header->names_at;
  s->lanes = (storage_lane *)(base + s->header->lanes_at);
  s->chunks = base + s->header->chunks_at;
}

/* A file of its own, empty and of the right length. */
static int create_file(const char *path, size_t bytes) {
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return -1;
  if (ftruncate(file, (off_t)bytes) == 0) return file;
  int error = errno;
  close(file);
  errno = error;
  return -1;
}

/* Takes disk space now: a full disk is an error here and a signal later. File systems that cannot are trusted. */
static bool take_space(const storage *s, size_t at, size_t bytes) {
  return s->file < 0 || fallocate(s->file, 0, (off_t)at, (off_t)bytes) == 0 || errno != ENOSPC;
}

bool storage_create(storage *s, size_t max_bytes, const char *path) {
  storage_header layout = {.magic = STORAGE_MAGIC, .version = STORAGE_VERSION, .header_bytes = sizeof layout};
  lay_out(&layout, RUNTIME_MAX(max_bytes, (size_t)4 * STORAGE_CHUNK_BYTES));
  *s = (storage){.file = -1, .mapped_bytes = layout.total_bytes};
  if (path && (s->file = create_file(path, layout.total_bytes)) < 0) return false;
  int flags = path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char *base = MAP_FAILED;
  if (take_space(s, 0, layout.labels_at + 4096))
    base = mmap(NULL, s->mapped_bytes, PROT_READ | PROT_WRITE, flags, s->file, 0);
  if (base == MAP_FAILED) {
    int error = errno;
    if (s->file >= 0) close(s->file);
    s->file = -1;
    errno = error;
    return false;
  }
  memcpy(base, &layout, sizeof layout);
  set_pointers(s, base);
  atomic_store(&s->header->names_used, 1); /* offset 0 is "" */
  return true;
}

void storage_close(storage *s) {
  if (s->header) munmap(s->header, s->mapped_bytes);
  if (s->file >= 0) close(s->file);
  *s = (storage){.file = -1};
}

uint32_t storage_new_chunk(storage *s, uint32_t lane, bool is_stack) {
  storage_header *h = s->header;
  if (atomic_load_explicit(&h->n_chunks, memory_order_relaxed) >= h->max_chunks) return 0;
  uint32_t index = atomic_fetch_add(&h->n_chunks, 1);
  if (index >= h->max_chunks ||
      !take_space(s, h->chunks_at + (size_t)index * STORAGE_CHUNK_BYTES, STORAGE_CHUNK_BYTES)) {
    atomic_fetch_sub(&h->n_chunks, 1);
    return 0;
  }
  storage_chunk *chunk = storage_chunk_at(s, index + 1);
  chunk->lane = lane;
  chunk->is_stack = is_stack;
  return index + 1;
}

uint32_t storage_add_name(storage *s, const char *text, size_t n) {
  uint64_t at = atomic_load(&s->header->names_used);
  if (n == 0) return 0;
  if (n + 1 > s->header->names_bytes - at || !take_space(s, s->header->names_at + at, n + 1)) return 0;
  memcpy(s->names + at, text, n);
  s->names[at + n] = '\0';
  atomic_store(&s->header->names_used, at + n + 1);
  return (uint32_t)at;
}

/* ---- files of other processes ------------------------------------------------------------------------------------ */

static bool is_inside(uint64_t at, uint64_t bytes, uint64_t total) { return at <= total && bytes <= total - at; }

/* Why the header cannot be believed; NULL when it can. */
static const char *what_is_wrong(const storage_header *h, size_t bytes) {
  if (bytes < sizeof *h || memcmp(h->magic, STORAGE_MAGIC, sizeof h->magic) != 0) return "not a recorder's file";
  if (h->version != STORAGE_VERSION || h->header_bytes != sizeof *h) return "written by another version";
  storage_header expected = {0};
  lay_out(&expected, (size_t)h->max_chunks * STORAGE_CHUNK_BYTES);
  bool fits = h->labels_at == expected.labels_at && h->names_at == expected.names_at && h->lanes_at % 4096 == 0 &&
              is_inside(h->names_at, h->names_bytes, h->lanes_at) &&
              is_inside(h->lanes_at, STORAGE_MAX_LANES * sizeof(storage_lane), h->chunks_at) &&
              h->chunks_at % 4096 == 0 && is_inside(h->chunks_at, 0, h->total_bytes) &&
              (h->total_bytes - h->chunks_at) / STORAGE_CHUNK_BYTES == h->max_chunks;
  if (!fits) return "damaged header";
  return h->total_bytes == bytes ? NULL : "cut off";
}

bool storage_open_file(tn_context *ctx, storage *s, const char *path) {
  *s = (storage){.file = -1};
  struct stat info = {0};
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0 || fstat(file, &info) != 0) {
    runtime_fail(ctx, TN_ERROR_IO, "cannot open %s: %s", path ? path : "(no path)", strerror(errno));
    if (file >= 0) close(file);
    return false;
  }
  size_t bytes = info.st_size > 0 ? (size_t)info.st_size : 0;
  /* A private copy: what the reader sees does not change under it. */
  char *base = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0) : MAP_FAILED;
  close(file);
  const char *wrong = base == MAP_FAILED ? "empty" : what_is_wrong((const storage_header *)base, bytes);
  if (wrong) {
    if (base != MAP_FAILED) munmap(base, bytes);
    runtime_fail(ctx, TN_ERROR_RECORD, "%s: %s", path, wrong);
    return false;
  }
  s->mapped_bytes = bytes;
  set_pointers(s, base);
  return true;
}
