/* log_index.c: the index beside a large log. LOG.index holds for each record what decides whether it is
 * wanted, and where its line is. It is only a help: whoever takes a record by it reads the line itself, and
 * an index that does not fit its log is made again.
 *
 * The file is a header and entries in the machine's byte order, sorted by key and line. It is mapped, and
 * is valid as long as it is the same log, with the same beginning and the same end of what was indexed.
 * Lines appended since are read at each opening; once there are many, the index is written again. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/log.h"
#include "runtime/new_file.h"

/* A smaller log is read in full as quickly. */
#define LEAST_LOG_BYTES (4 << 20)
/* A new index is made when more than this, and more than one part in APPENDED_SHARE of the log, was
 * appended. SAMPLE_BYTES: of each end of the indexed part that its checksum covers. */
#define MOST_APPENDED_BYTES (1 << 20)
enum { APPENDED_SHARE = 8, SAMPLE_BYTES = 4096 };

/* The file's header. It says which log, and how much of it, is indexed. An index that does not fit its log
 * is made again. */
typedef struct index_header {
  char magic[8];
  uint64_t sample; /* hash of the log's first bytes and of the last ones indexed */
  uint64_t device, file;
  int64_t covered, line; /* bytes and lines of the log that were indexed */
  uint64_t n;
  int64_t changed_ns; /* the log's time of change if it ended at COVERED: shows an edit in place */
} index_header;

/* The version of the file's form; another one is a stale index. */
static const char magic[8] = "tnindex2";

/* ---- entries ------------------------------------------------------------------------------------------------------ */

/* Entries being collected. */
typedef struct entry_list {
  RUNTIME_VEC(log_entry) entries;
  log_reading reading;
  bool failed; /* no memory */
} entry_list;

/* The flags of a record with cost COST_S, which is INFINITY if it failed. */
static uint32_t flags_of(double cost_s, bool checked, bool is_final, int rank, bool is_planned) {
  return (checked ? LOG_CHECKED : 0u) | (is_final ? LOG_FINAL : 0u) | (rank == 1 ? LOG_WINNER : 0u) |
         (isfinite(cost_s) ? LOG_VALID : 0u) | (is_planned ? LOG_PLANNED : 0u);
}

/* A line of 4 GiB or more has no entry. False: no memory. */
static bool add_entry(entry_list *list, int line, log_entry entry) {
  entry.offset = list->reading.offset;
  entry.bytes = (uint32_t)list->reading.bytes;
  entry.line = (uint32_t)line;
  if (isinf(entry.cost_s)) entry.cost_s = 0;
  if (list->reading.bytes <= UINT32_MAX && !RUNTIME_PUSH(&list->entries, entry)) list->failed = true;
  return !list->failed;
}

/* Makes the entry from the glance alone: only lines that it does not understand are parsed. */
static log_answer look(void *user, int line, const log_glance *g, const char *text) {
  double cost_s = log_glance_cost(g);
  (void)text;
  log_entry entry = {.key = log_key_hash(g->key.at, g->key.n),
                     .target = log_target_hash(g->target.at, g->target.n),
                     .shape = log_shape_hash(g->program.at, g->program.n, true),
                     .cost_s = cost_s,
                     .flags = flags_of(cost_s, g->checked, g->is_final, g->rank, log_glance_is_family_plan(g))};
  return add_entry(user, line, entry) ? LOG_PASS : LOG_STOP;
}

/* Takes the records that a glance did not understand. */
static bool visit(void *user, int line, autotune_record *record) {
  double cost_s = autotune_record_cost(record);
  bool is_planned = log_is_family_plan(json_object_get(record->json, "plan"));
  log_entry entry = {.key = log_key_hash(record->key, strlen(record->key)),
                     .target = log_target_hash(record->target, strlen(record->target)),
                     .shape = log_shape_hash(record->program, strlen(record->program), false),
                     .cost_s = cost_s,
                     .flags = flags_of(cost_s, record->checked, record->is_final, record->rank, is_planned)};
  return add_entry(user, line, entry);
}

/* Binary search needs the entries of a key together, and readers expect them by line. */
static int by_key(const void *a, const void *b) {
  const log_entry *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* Collects entries for the log's lines from PLACE on. *OWNED gets the memory, which the caller frees. */
static tn_status collect(tn_context *ctx, const char *path, autotune_log_place *place, log_part *out,
                         log_entry **owned) {
  entry_list list = {.reading = {.missing_ok = true, .look = look, .visit = visit}};
  list.reading.user = &list;
  tn_status status = log_read(ctx, path, &list.reading, place);
  if (list.failed) status = runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the index of %s", path);
  if (list.entries.n > 0) qsort(list.entries.data, (size_t)list.entries.n, sizeof *list.entries.data, by_key);
  *owned = list.entries.data;
  *out = (log_part){list.entries.data, (size_t)list.entries.n};
  return status;
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

/* LOG.index, malloc'ed; NULL without memory. */
static char *index_path(const char *log) {
  runtime_str path = {0};
  runtime_str_addf(&path, "%s.index", log);
  return path.data;
}

/* A hash of the first and the last bytes of what was indexed; 0: they cannot be read. */
static uint64_t sample_of(int fd, int64_t covered) {
  char bytes[2 * SAMPLE_BYTES];
  int64_t n = RUNTIME_MIN(covered, (int64_t)SAMPLE_BYTES);
  bool is_read = pread(fd, bytes, (size_t)n, 0) == n && pread(fd, bytes + n, (size_t)n, covered - n) == n;
  return is_read ? runtime_hash(bytes, (size_t)(2 * n), (uint64_t)covered) | 1 : 0;
}

static int64_t changed_ns(const struct stat *file) {
  return (int64_t)file->st_mtim.tv_sec * 1000000000 + file->st_mtim.tv_nsec;
}

/* Fills the header from the log as it is now. False: it is not the log that PLACE was read from. */
static bool describe(const char *log, const autotune_log_place *place, index_header *out) {
  int fd = open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat file;
  bool is_same = fd >= 0 && fstat(fd, &file) == 0 && file.st_ino == place->file && file.st_dev == place->device &&
                 file.st_size >= place->offset;
  *out = (index_header){
      .device = (uint64_t)place->device, .file = (uint64_t)place->file, .covered = place->offset, .line = place->line};
  memcpy(out->magic, magic, sizeof magic);
  if (is_same) out->sample = sample_of(fd, place->offset);
  if (is_same && file.st_size == place->offset) out->changed_ns = changed_ns(&file);
  if (fd >= 0) close(fd);
  return is_same && out->sample;
}

/* Closing counts, too: it may be what fails on a full disk. */
static bool write_all(const runtime_new_file *made, const index_header *header, const log_entry *entries) {
  FILE *file = runtime_new_file_stream(made);
  if (!file) return false;
  bool written = fwrite(header, sizeof *header, 1, file) == 1 &&
                 (header->n == 0 || fwrite(entries, sizeof *entries, header->n, file) == header->n);
  return (fclose(file) == 0) && written;
}

/* Writes the index. Where that fails, the next opening makes it again. */
static void save(const char *log, const autotune_log_place *place, const log_entry *entries, size_t n) {
  index_header header;
  runtime_new_file made = {.fd = -1};
  char *path = index_path(log);
  if (path && describe(log, place, &header) && runtime_new_file_open(&made, path)) {
    header.n = n;
    if (write_all(&made, &header, entries)) (void)runtime_new_file_keep(&made, path);
  }
  runtime_new_file_drop(&made);
  free(path);
}

/* Whether the index is of this log and its part. */
static bool is_fresh(const index_header *h, size_t bytes, int log_fd, const struct stat *log) {
  if (bytes < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0) return false;
  if (h->n > (bytes - sizeof *h) / sizeof(log_entry)) return false;
  if (h->device != (uint64_t)log->st_dev || h->file != (uint64_t)log->st_ino) return false;
  if (h->covered <= 0 || h->covered > log->st_size) return false;
  if (h->covered == log->st_size && h->changed_ns != changed_ns(log)) return false;
  return sample_of(log_fd, h->covered) == h->sample;
}

/* Maps an index that fits its log. False: there is none, or it is stale. */
static bool map_file(const char *log, int log_fd, const struct stat *log_file, log_index *out) {
  char *path = index_path(log);
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  struct stat file;
  free(path);
  bool is_open = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0;
  void *mapped = is_open ? mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (fd >= 0) close(fd);
  if (mapped == MAP_FAILED) return false;
  out->mapped = mapped;
  out->mapped_bytes = (size_t)file.st_size;
  const index_header *h = mapped;
  if (!is_fresh(h, out->mapped_bytes, log_fd, log_file)) {
    log_index_close(out);
    return false;
  }
  out->parts[0] = (log_part){(const log_entry *)(const void *)(h + 1), (size_t)h->n};
  out->place = (autotune_log_place){
      .device = log_file->st_dev, .file = log_file->st_ino, .offset = (off_t)h->covered, .line = (int)h->line};
  return true;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* Indexes the whole log and saves the index. */
static tn_status make_anew(tn_context *ctx, const char *log, log_index *out) {
  *out = (log_index){0};
  tn_status status = collect(ctx, log, &out->place, &out->parts[0], &out->owned[0]);
  if (status == TN_OK) save(log, &out->place, out->parts[0].entries, out->parts[0].n);
  return status;
}

tn_status log_index_open(tn_context *ctx, const char *path, log_index *out, bool *is_there) {
  struct stat file;
  *out = (log_index){0};
  *is_there = false;
  if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size < LEAST_LOG_BYTES) return TN_OK;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return TN_OK; /* reading says why */
  bool is_mapped = fstat(fd, &file) == 0 && map_file(path, fd, &file, out);
  close(fd);
  int64_t appended = is_mapped ? (int64_t)(file.st_size - out->place.offset) : INT64_MAX;
  bool is_much = appended > MOST_APPENDED_BYTES && appended > file.st_size / APPENDED_SHARE;
  if (is_much) log_index_close(out);
  tn_status status = is_much ? make_anew(ctx, path, out) : TN_OK;
  if (status == TN_OK && !is_much && appended > 0)
    status = collect(ctx, path, &out->place, &out->parts[1], &out->owned[1]);
  *is_there = status == TN_OK;
  if (status != TN_OK) log_index_close(out);
  return status;
}

tn_status log_index_open_any(tn_context *ctx, const char *path, log_index *out) {
  bool is_there;
  tn_status status = log_index_open(ctx, path, out, &is_there);
  if (status == TN_OK && !is_there) status = collect(ctx, path, &out->place, &out->parts[1], &out->owned[1]);
  if (status != TN_OK) log_index_close(out);
  return status;
}

void log_index_close(log_index *index) {
  if (index->mapped) munmap(index->mapped, index->mapped_bytes);
  free(index->owned[0]);
  free(index->owned[1]);
  *index = (log_index){0};
}

/* ---- looking up --------------------------------------------------------------------------------------------------- */

/* The first entry of a part whose key is not before KEY. */
static size_t lower_bound(const log_part *part, uint64_t key) {
  size_t low = 0, high = part->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (part->entries[middle].key < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void log_index_find(const log_index *index, const char *key, log_part out[2]) {
  log_index_find_hash(index, log_key_hash(key, strlen(key)), out);
}

void log_index_find_hash(const log_index *index, uint64_t hash, log_part out[2]) {
  for (int i = 0; i < 2; ++i) {
    size_t first = lower_bound(&index->parts[i], hash);
    size_t end = hash == UINT64_MAX ? index->parts[i].n : lower_bound(&index->parts[i], hash + 1);
    out[i] = (log_part){index->parts[i].entries + first, end - first};
  }
}

bool log_entry_read(const char *path, const log_entry *entry, const char *key, autotune_record *out) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  char *text = malloc((size_t)entry->bytes + 1), why[300];
  bool is_read = fd >= 0 && text && pread(fd, text, entry->bytes, entry->offset) == (ssize_t)entry->bytes;
  json_t *json = is_read ? json_loadb(text, entry->bytes, JSON_REJECT_DUPLICATES, NULL) : NULL;
  if (fd >= 0) close(fd);
  free(text);
  if (!json || !autotune_record_parse(json, out, why, sizeof why)) return false;
  bool is_ours = key ? strcmp(out->key, key) == 0 : log_key_hash(out->key, strlen(out->key)) == entry->key;
  if (is_ours) return true;
  autotune_record_free(out);
  return false;
}
