/* stream.c: bytes out through a buffer (to a file, compressed with gzip or not, or to memory), with numbers
 * and strings as in JSON; bytes in, from a file or memory; and the map of ids that readers and merges use.
 *
 * A profiler_out owns its buffer until profiler_out_take gives it away. A profiler_in borrows memory, or
 * owns its buffer for a file. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/profiler/stream.h"

/* Sizes of the buffers. WRITER_MS: how long a pipe may be without a writer before reading gives up. */
enum { OUT_BYTES = 64 << 10, IN_BYTES = 64 << 10, NO_FILE = -1, WRITER_MS = 3000 };

/* ---- out: opening, flushing, closing ----------------------------------------------------------------------------- */

/* ERROR 0 means lack of memory. The first failure is kept. */
static void fail(profiler_out *out, int error) {
  if (!out->failed) out->error = error;
  out->failed = true;
}

void profiler_out_no_memory(profiler_out *out) { fail(out, 0); }

/* After a failure the stream can still be used and drops what it gets; whoever ends it is told. */
static bool reserve(profiler_out *out, size_t cap) {
  char *data = realloc(out->data, cap);
  if (!data) return fail(out, 0), false;
  out->data = data;
  out->cap = cap;
  return true;
}

void profiler_out_memory(profiler_out *out) {
  *out = (profiler_out){.file = NO_FILE, .is_memory = true};
  reserve(out, OUT_BYTES);
}

/* Whether to write in place: to a device, a pipe or a link, and to a file that may be changed in a folder
 * that may not. */
static bool is_in_place(runtime_new_file *made, const char *path) {
  struct stat info;
  bool exists = lstat(path, &info) == 0;
  if (exists && (!S_ISREG(info.st_mode) || access(path, W_OK) != 0)) return true;
  return !runtime_new_file_open(made, path) && (errno == EACCES || errno == EPERM || errno == EROFS);
}

/* LEVEL of gzip; 0: none. What a regular file held remains until the new one is complete. */
bool profiler_out_open(tn_context *ctx, profiler_out *out, const char *path, int level) {
  *out = (profiler_out){.file = NO_FILE, .made = {.fd = NO_FILE}};
  if (is_in_place(&out->made, path))
    out->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  else if (out->made.fd >= 0)
    out->file = fcntl(out->made.fd, F_DUPFD_CLOEXEC, 0);
  if (out->file == NO_FILE) {
    runtime_fail(ctx, TN_ERROR_IO, "%s cannot be written: %s", path, strerror(errno));
    runtime_new_file_drop(&out->made);
    return false;
  }
  char mode[] = {'w', 'b', (char)('0' + level), '\0'};
  if (level) out->gz = gzdopen(out->file, mode);
  if (reserve(out, OUT_BYTES) && (out->gz || !level)) return true;
  fail(out, 0);
  return profiler_out_close(ctx, out, path);
}

/* Writes in parts that zlib accepts, and retries after a signal. The first failure is kept. */
static void write_all(profiler_out *out, const char *data, size_t n) {
  while (n && !out->failed) {
    ssize_t done = out->gz ? gzwrite(out->gz, data, (unsigned)RUNTIME_MIN(n, 1u << 30)) : write(out->file, data, n);
    if (done < 0 && errno == EINTR && !out->gz) continue;
    if (done <= 0) return fail(out, errno);
    data += done;
    n -= (size_t)done;
  }
}

/* For streams to files; one to memory just grows. */
static void flush(profiler_out *out) {
  write_all(out, out->data, out->n);
  out->n = 0;
}

/* Removes the file if anything failed: half a recording is worse than none. */
bool profiler_out_close(tn_context *ctx, profiler_out *out, const char *path) {
  if (!out->failed) flush(out);
  int status = out->gz ? gzclose(out->gz) : close(out->file);
  if (status != 0) fail(out, out->gz && status != Z_ERRNO ? EIO : errno);
  free(out->data);
  if (!out->failed && out->made.fd >= 0 && !runtime_new_file_keep(&out->made, path)) fail(out, errno);
  runtime_new_file_drop(&out->made);
  if (!out->failed) return true;
  runtime_fail(ctx, out->error ? TN_ERROR_IO : TN_ERROR_MEMORY, "%s cannot be written: %s", path,
               out->error ? strerror(out->error) : "out of memory");
  return false;
}

/* The caller frees it. A NUL follows that *N does not count. NULL: no memory. */
char *profiler_out_take(profiler_out *out, size_t *n) {
  profiler_out_bytes(out, "", 1);
  if (n) *n = out->n - 1;
  if (!out->failed) return out->data;
  free(out->data);
  return NULL;
}

/* ---- out: bytes and numbers -------------------------------------------------------------------------------------- */

/* Makes room for N more bytes. After a failure the buffer starts again from its beginning. */
static void make_room(profiler_out *out, size_t n) {
  if (!out->is_memory) flush(out);
  if (out->is_memory && !out->failed) reserve(out, RUNTIME_MAX(2 * out->cap, out->n + n));
  if (out->failed) out->n = 0;
}

/* Data larger than the buffer is written directly. */
void profiler_out_bytes(profiler_out *out, const void *data, size_t n) {
  if (n == 0) return; /* DATA may be NULL then */
  if (out->cap - out->n < n) make_room(out, n);
  if (out->cap - out->n < n) return write_all(out, data, n);
  memcpy(out->data + out->n, data, n);
  out->n += n;
}

void profiler_out_text(profiler_out *out, const char *text) { profiler_out_bytes(out, text, strlen(text)); }

void profiler_out_addf(profiler_out *out, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  runtime_vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  profiler_out_text(out, text);
}

void profiler_out_u64(profiler_out *out, uint64_t value) {
  char digits[20];
  int at = sizeof digits;
  do digits[--at] = (char)('0' + value % 10);
  while (value /= 10);
  profiler_out_bytes(out, digits + at, sizeof digits - (size_t)at);
}

void profiler_out_i64(profiler_out *out, int64_t value) {
  if (value < 0) PROFILER_OUT_LITERAL(out, "-");
  profiler_out_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Exact: whole microseconds and three decimals, without going through a double. */
void profiler_out_us(profiler_out *out, int64_t ns) {
  uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, rest = size % 1000;
  if (ns < 0) PROFILER_OUT_LITERAL(out, "-");
  profiler_out_u64(out, size / 1000);
  char decimals[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
  if (rest) profiler_out_bytes(out, decimals, sizeof decimals);
}

/* Integers that a double holds exactly are printed the quick way. */
void profiler_out_f64(profiler_out *out, double value) {
  if (!isfinite(value)) return PROFILER_OUT_LITERAL(out, "null");
  if (value == floor(value) && fabs(value) < 0x1p53 && !(value == 0 && signbit(value))) {
    profiler_out_i64(out, (int64_t)value);
    return PROFILER_OUT_LITERAL(out, ".0");
  }
  char text[40];
  int digits = 15;
  do runtime_snprintf(text, sizeof text, "%.*g", digits, value);
  while (digits++ < 17 && runtime_parse_float(text, NULL) != value);
  profiler_out_text(out, text);
  if (!strpbrk(text, ".e")) PROFILER_OUT_LITERAL(out, ".0");
}

/* ---- out: strings ------------------------------------------------------------------------------------------------ */

/* The length of the UTF-8 character at TEXT; 0: it is none. */
static int utf8_bytes(const unsigned char *text) {
  int n = *text < 0x80 ? 1 : *text < 0xc2 ? 0 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : *text < 0xf5 ? 4 : 0;
  for (int i = 1; i < n; ++i) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  bool is_long = (*text == 0xe0 && text[1] < 0xa0) || (*text == 0xf0 && text[1] < 0x90);
  bool is_outside = (*text == 0xed && text[1] > 0x9f) || (*text == 0xf4 && text[1] > 0x8f);
  return is_long || is_outside ? 0 : n;
}

/* Writes JSON's short escape if there is one, otherwise \u00XX. */
static void add_escaped(profiler_out *out, unsigned char c) {
  static const char letters[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
  char letter = c < 32 ? letters[c] : (char)c;
  char shorter[2] = {'\\', letter}, longer[8];
  if (letter) return profiler_out_bytes(out, shorter, sizeof shorter);
  snprintf(longer, sizeof longer, "\\u%04x", c);
  profiler_out_bytes(out, longer, 6);
}

/* The number of bytes at TEXT that JSON has unchanged; all of them are ASCII. */
static size_t plain_run(const unsigned char *text) {
  size_t n = 0;
  while (text[n] >= 32 && text[n] < 128 && text[n] != '"' && text[n] != '\\') ++n;
  return n;
}

/* The result is valid JSON in UTF-8 whatever the bytes are: what is not a character becomes U+FFFD. */
void profiler_out_json(profiler_out *out, const char *text) {
  PROFILER_OUT_LITERAL(out, "\"");
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    size_t n = plain_run(at);
    profiler_out_bytes(out, at, n);
    at += n;
    if (!*at) break;
    int length = utf8_bytes(at);
    if (length == 1) add_escaped(out, *at);
    if (length > 1) profiler_out_bytes(out, at, (size_t)length);
    if (length == 0) PROFILER_OUT_LITERAL(out, "\xef\xbf\xbd");
    at += length ? length : 1;
  }
  PROFILER_OUT_LITERAL(out, "\"");
}

/* Returns TEXT itself if it is UTF-8 already, which is nearly always. */
const char *profiler_utf8(runtime_arena *arena, const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  while (*at && utf8_bytes(at)) at += utf8_bytes(at);
  if (!*at) return text;
  runtime_str out = {0};
  for (at = (const unsigned char *)text; *at;) {
    int length = utf8_bytes(at);
    runtime_str_addn(&out, length ? (const char *)at : "\xef\xbf\xbd", length ? (size_t)length : 3);
    at += length ? length : 1;
  }
  return runtime_str_take(&out, arena);
}

/* ---- in ---------------------------------------------------------------------------------------------------------- */

/* Otherwise a pipe to which nobody writes would be waited for without a word. */
static bool has_writer(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return false;
  if (!S_ISFIFO(info.st_mode)) return true;
  errno = ETIMEDOUT;
  return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, WRITER_MS) > 0;
}

/* Opens for reading that waits for data. -1 with errno. */
static int open_readable(const char *path) {
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd >= 0 && has_writer(fd) && fcntl(fd, F_SETFL, O_RDONLY) == 0) return fd;
  int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return NO_FILE;
}

/* zlib recognises gzip itself; it reads other files unchanged. */
bool profiler_in_open(tn_context *ctx, profiler_in *in, const char *path) {
  *in = (profiler_in){.buffer = malloc(IN_BYTES), .most = (uint64_t)runtime_limits(ctx)->unpacked_bytes};
  in->data = in->buffer;
  int fd = in->buffer ? open_readable(path) : NO_FILE;
  if (fd >= 0) in->gz = gzdopen(fd, "rb");
  if (in->gz) return true;
  bool has_no_memory = !in->buffer || fd >= 0;
  runtime_fail(ctx, has_no_memory ? TN_ERROR_MEMORY : TN_ERROR_IO, "%s cannot be read: %s", path,
               has_no_memory        ? "out of memory"
               : errno == ETIMEDOUT ? "it is a pipe that nobody writes to"
                                    : strerror(errno));
  if (fd >= 0) close(fd);
  profiler_in_close(in);
  return false;
}

void profiler_in_memory(profiler_in *in, const void *data, size_t n) { *in = (profiler_in){.data = data, .n = n}; }

void profiler_in_close(profiler_in *in) {
  if (in->gz) gzclose(in->gz);
  free(in->buffer);
  *in = (profiler_in){0};
}

/* A small file may unpack to any length. */
static bool is_bomb(const profiler_in *in) { return in->before + in->n > in->most && !gzdirect(in->gz); }

/* False at the end, or with in->failed set. */
bool profiler_in_fill(profiler_in *in) {
  if (!in->gz || in->failed) return false;
  in->before += in->n;
  int n = gzread(in->gz, in->buffer, IN_BYTES), error = Z_OK;
  gzerror(in->gz, &error);
  if (n < 0 || error != Z_OK) in->failed = error == Z_ERRNO ? "it cannot be read" : "its compressed data are broken";
  in->at = 0;
  in->n = n > 0 ? (size_t)n : 0;
  if (is_bomb(in)) {
    in->failed =
        "it unpacks to more bytes than the limit unpacked_bytes allows; tn_context_options.limits raises it, or "
        "TENON_LIMITS=unpacked_bytes=4G, and what gunzip made of it is read at any length";
    in->n = 0;
  }
  return in->n > 0;
}

/* Reads all N bytes. If that fails, what was read is lost. */
bool profiler_in_bytes(profiler_in *in, void *to, size_t n) {
  for (char *at = to; n;) {
    if (in->at == in->n && !profiler_in_fill(in)) return false;
    size_t some = RUNTIME_MIN(n, in->n - in->at);
    memcpy(at, in->data + in->at, some);
    in->at += some;
    at += some;
    n -= some;
  }
  return true;
}

/* NULL: more than MOST bytes, broken, or no memory. */
char *profiler_in_rest(profiler_in *in, size_t most, size_t *n) {
  profiler_out all;
  profiler_out_memory(&all);
  while (!all.failed && all.n <= most && profiler_in_peek(in) >= 0) {
    profiler_out_bytes(&all, in->data + in->at, in->n - in->at);
    in->at = in->n;
  }
  if (all.n > most || in->failed) fail(&all, EFBIG);
  return profiler_out_take(&all, n);
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

/* What comparing pairs of equal hash needs. */
typedef struct pair {
  const profiler_map *map;
  uint64_t of[2];
} pair;

/* Different pairs may have equal hashes, so the pairs are compared. */
static bool is_pair(const void *user, runtime_map_value place) {
  const pair *wanted = user;
  const profiler_map_entry *e = &wanted->map->entries.data[place.i - 1];
  return e->a == wanted->of[0] && e->b == wanted->of[1];
}

/* The address is valid until the next key is added. NULL: no memory. */
int64_t *profiler_map_at(profiler_map *map, uint64_t a, uint64_t b, int64_t otherwise) {
  pair wanted = {map, {a, b}};
  uint64_t hash = runtime_hash(wanted.of, sizeof wanted.of, 0) | 1;
  runtime_map_value *place = runtime_map_match_at(&map->index, hash, is_pair, &wanted);
  profiler_map_entry entry = {a, b, otherwise};
  if (!place || (place->i == 0 && !RUNTIME_PUSH(&map->entries, entry))) return NULL;
  if (place->i == 0) place->i = map->entries.n;
  return &map->entries.data[place->i - 1].value;
}

void profiler_map_free(profiler_map *map) {
  runtime_map_free(&map->index);
  RUNTIME_VEC_FREE(&map->entries);
}
