/* storage.c: makes, opens and fills the mapping that a session records into.
 *
 * A `storage` is header, labels, names, lanes and chunks in one mapping, at offsets given in the header, so
 * that a reader in another process finds them. It owns the mapping and the descriptor; the file's name is
 * the session's. */
#include "runtime/profiler/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Names get an eighth of the memory for records, and at least a MiB. */
static size_t names_bytes_for(size_t max_bytes) { return RUNTIME_MAX(round_up(max_bytes / 8, 4096), (size_t)1 << 20); }

/* Sets the offsets of the parts. */
static void lay_out(storage_header *h, size_t max_bytes) {
  h->max_chunks = (uint32_t)RUNTIME_MIN(max_bytes / STORAGE_CHUNK_BYTES, (size_t)UINT32_MAX - 1);
  h->names_bytes = names_bytes_for(max_bytes);
  h->labels_at = round_up(sizeof *h, 4096);
  h->names_at = h->labels_at + round_up(STORAGE_MAX_LABELS * sizeof(storage_label), 4096);
  h->lanes_at = h->names_at + h->names_bytes;
  h->chunks_at = h->lanes_at + round_up(STORAGE_MAX_LANES * sizeof(storage_lane), 4096);
  h->total_bytes = h->chunks_at + (size_t)h->max_chunks * STORAGE_CHUNK_BYTES;
}

/* The offsets are trusted; those of a file were checked before. */
static void set_pointers(storage *s, char *base) {
  s->header = (storage_header *)base;
  s->labels = (storage_label *)(base + s->header->labels_at);
  s->names = base + s->header->names_at;
  s->lanes = (storage_lane *)(base + s->header->lanes_at);
  s->chunks = base + s->header->chunks_at;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Whether the file is empty and nobody else's, as a tuner makes it for its worker. */
static bool is_empty(int file) {
  struct stat info;
  return fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0 && info.st_nlink == 1;
}

/* Whether a recorder wrote the file. Checked before mapping it, since any file could have been named. */
static bool is_recorders(int file) {
  struct stat info;
  char magic[sizeof STORAGE_MAGIC];
  return fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
         pread(file, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
         memcmp(magic, STORAGE_MAGIC, sizeof magic) == 0;
}

/* Opens an empty file. A file of a killed run is replaced rather than emptied, since another process may
 * have it mapped. A symbolic link, or a file that no recorder wrote, is left alone. */
static int open_empty(const char *path) {
  enum { NEW = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
  int file = open(path, NEW, 0666);
  if (file >= 0 || errno != EEXIST) return file;
  file = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 || is_empty(file)) return file;
  bool is_ours = is_recorders(file);
  close(file);
  errno = EEXIST;
  return is_ours && unlink(path) == 0 ? open(path, NEW, 0666) : -1;
}

/* Checked beforehand: extending a file beyond the process's limit would raise a signal. */
static bool is_within_limit(size_t bytes) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || bytes <= most.rlim_cur) return true;
  errno = EFBIG;
  return false;
}

/* ---- its place on the disk --------------------------------------------------------------------------------------- */

/* For file systems without fallocate. Nothing was written to this part yet. */
static bool write_zeros(int file, size_t at, size_t bytes) {
  static const char zeros[4096];
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pwrite(file, zeros, RUNTIME_MIN(bytes - done, sizeof zeros), (off_t)(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

/* Takes blocks from the disk before they are written to: writing into a mapped file on a full disk is a
 * SIGBUS, not an error. */
static bool take_space(storage *s, size_t at, size_t bytes) {
  if (s->file < 0) return true;
  int result;
  do result = fallocate(s->file, 0, (off_t)at, (off_t)bytes);
  while (result != 0 && errno == EINTR);
  if (result == 0 || ((errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(s->file, at, bytes))) return true;
  if (s->header) atomic_store(&s->header->is_disk_full, 1);
  return false;
}

/* Takes the pages of the part at AT, up to its first USED bytes. */
static bool take_part(storage *s, size_t at, size_t *taken, size_t used) {
  size_t to = round_up(used, 4096);
  if (used <= *taken) return true;
  if (!take_space(s, at + *taken, to - *taken)) return false;
  *taken = to;
  return true;
}

bool storage_take_label(storage *s, uint32_t i) {
  return take_part(s, s->header->labels_at, &s->labels_taken, ((size_t)i + 1) * sizeof(storage_label));
}

bool storage_take_lane(storage *s, uint32_t i) {
  return take_part(s, s->header->lanes_at, &s->lanes_taken, ((size_t)i + 1) * sizeof(storage_lane));
}

/* Takes what one thread needs to record at all: a page of each part, a chunk for its stack and one for its records. */
static bool take_least(storage *s, const storage_header *h) {
  return take_space(s, 0, h->labels_at) && take_part(s, h->labels_at, &s->labels_taken, 1) &&
         take_part(s, h->names_at, &s->names_taken, 1) && take_part(s, h->lanes_at, &s->lanes_taken, 1) &&
         take_space(s, h->chunks_at, (size_t)2 * STORAGE_CHUNK_BYTES);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Gives the file its length and its first pages. */
static bool prepare_file(storage *s, const storage_header *h) {
  return is_within_limit(h->total_bytes) && ftruncate(s->file, (off_t)h->total_bytes) == 0 && take_least(s, h);
}

/* Cleans up. Keeps errno, which tells the caller why. */
static bool give_up(storage *s, const char *path) {
  int error = errno;
  if (s->file >= 0) {
    close(s->file);
    unlink(path);
  }
  *s = (storage){.file = -1};
  errno = error;
  return false;
}

/* MAX_BYTES are of address space; pages are only taken as they are used. False with errno set. */
bool storage_create(storage *s, size_t max_bytes, const char *path) {
  storage_header layout = {.magic = STORAGE_MAGIC, .version = STORAGE_VERSION, .header_bytes = sizeof layout};
  lay_out(&layout, RUNTIME_MAX(max_bytes, (size_t)4 * STORAGE_CHUNK_BYTES));
  *s = (storage){.file = path ? open_empty(path) : -1, .mapped_bytes = layout.total_bytes};
  if (path && (s->file < 0 || !prepare_file(s, &layout))) return give_up(s, path);
  int flags = path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char *base = mmap(NULL, s->mapped_bytes, PROT_READ | PROT_WRITE, flags, s->file, 0);
  if (base == MAP_FAILED) return give_up(s, path);
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

/* Takes a new chunk; returns its number, or h->max_chunks if there is none. Once the disk was full it is
 * not asked again: that would cost every event a system call. */
static uint32_t grow(storage *s) {
  storage_header *h = s->header;
  uint32_t index = atomic_load_explicit(&h->n_chunks, memory_order_relaxed);
  if (index >= h->max_chunks || atomic_load_explicit(&h->is_disk_full, memory_order_relaxed)) return h->max_chunks;
  if (!take_space(s, h->chunks_at + (size_t)index * STORAGE_CHUNK_BYTES, STORAGE_CHUNK_BYTES)) return h->max_chunks;
  atomic_store(&h->n_chunks, index + 1);
  return index;
}

/* Uses a spin lock of its own, since threads extend their lists without the recorder's lock. 0: full. */
uint32_t storage_new_chunk(storage *s, uint32_t lane, bool is_stack) {
  while (atomic_exchange_explicit(&s->is_growing, true, memory_order_acquire)) sched_yield();
  uint32_t index = grow(s);
  atomic_store_explicit(&s->is_growing, false, memory_order_release);
  if (index >= s->header->max_chunks) return 0;
  storage_chunk *chunk = storage_chunk_at(s, index + 1);
  chunk->lane = lane;
  chunk->is_stack = is_stack;
  return index + 1;
}

/* Called under the recorder's lock. Returns the offset; 0: no room. */
uint32_t storage_add_name(storage *s, const char *text, size_t n) {
  uint64_t at = atomic_load(&s->header->names_used);
  if (n == 0 || n + 1 > s->header->names_bytes - at) return 0;
  if (!take_part(s, s->header->names_at, &s->names_taken, at + n + 1)) return 0;
  memcpy(s->names + at, text, n);
  s->names[at + n] = '\0';
  atomic_store(&s->header->names_used, at + n + 1);
  return (uint32_t)at;
}

/* ---- files of other processes ------------------------------------------------------------------------------------ */

static bool is_inside(uint64_t at, uint64_t bytes, uint64_t total) { return at <= total && bytes <= total - at; }

/* Why the header cannot be trusted; NULL: it can. */
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

/* False after a message. The file is not changed: changes go to a private copy. */
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
