/* log_file.c: a log as a file: appending whole lines and reading them back. Several processes may append to
 * one log: each line is one write under an flock. A write that has returned survives the death of the
 * process, but fdatasync is not called, so a loss of power may cost the last lines.
 *
 * Nothing is kept open between calls except the descriptor of the claims (log_claim.c), which is used while
 * it is the file of that name: a log can be moved or replaced under a running tuner. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "autotune/log.h"

/* Warnings about lines that are printed; seconds after which waiting for a lock is reported, and given up;
 * milliseconds between two tries. */
enum { MAX_WARNINGS = 20, LOCK_SAY_S = 1, LOCK_MOST_S = 10, LOCK_STEP_MS = 20 };

/* Fails with errno's reason, so it has to be called at once. */
static tn_status fail_io(tn_context *ctx, const char *doing, const char *path) {
  return runtime_fail(ctx, TN_ERROR_IO, "cannot %s %s: %s", doing, path, strerror(errno));
}

/* ---- opening and locking ----------------------------------------------------------------------------------------- */

/* What kind of file it is, with its article, for messages. */
static const char *kind_of(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
                          : "something else";
}

/* Fails: a FIFO would hang, and a folder cannot be locked. The message says what to do instead. */
static tn_status refuse_kind(tn_context *ctx, const char *path, mode_t mode) {
  return runtime_fail(ctx, TN_ERROR_IO,
                      "log %s is %s: a log is a regular file, which can be locked and read again; copy what is to be "
                      "read into one",
                      path, kind_of(mode));
}

/* Opens a log. *FD is -1 when this fails, and also, with TN_OK, when there is no such file. A file that is
 * not regular is not even opened: a FIFO would block, a device may act. */
static tn_status open_log(tn_context *ctx, const char *doing, const char *path, int flags, int *fd) {
  struct stat file;
  *fd = -1;
  if (stat(path, &file) == 0 && !S_ISREG(file.st_mode)) return refuse_kind(ctx, path, file.st_mode);
  *fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (*fd < 0) return errno == ENOENT && !(flags & O_CREAT) ? TN_OK : fail_io(ctx, doing, path);
  if (fstat(*fd, &file) == 0 && S_ISREG(file.st_mode)) return TN_OK;
  close(*fd);
  *fd = -1;
  return refuse_kind(ctx, path, file.st_mode);
}

/* Waits for the lock, says so after a moment, and gives up in the end: anybody who can read a log can hold its lock. */
static tn_status lock_log(tn_context *ctx, const char *path, int fd, int how) {
  uint64_t start_ns = runtime_now_ns();
  bool said = false;
  while (flock(fd, how | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail_io(ctx, "lock log", path);
    double waited_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
    if (waited_s > LOCK_MOST_S)
      return runtime_fail(ctx, TN_ERROR_IO,
                          "cannot lock log %s: another process has held its lock for %d s (`fuser %s` shows which)",
                          path, LOCK_MOST_S, path);
    if (waited_s > LOCK_SAY_S && !said)
      runtime_say(ctx, TN_SEVERITY_INFO, "waiting for log %s, which another process has locked", path);
    said |= waited_s > LOCK_SAY_S;
    nanosleep(&(struct timespec){.tv_nsec = (waited_s < 0.02 ? 1 : LOCK_STEP_MS) * 1000000L}, NULL);
  }
  return TN_OK;
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

/* Whether a log could be created in its folder. */
static tn_status check_folder(tn_context *ctx, const char *path) {
  const char *slash = strrchr(path, '/');
  char folder[4096];
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
  return access(folder, W_OK | X_OK) == 0 ? TN_OK : fail_io(ctx, "make log", path);
}

/* Also waits for the lock: a log that another program keeps locked would stop the run at its first record. */
tn_status autotune_log_check(tn_context *ctx, const char *path) {
  if (!path || !*path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the log has no name");
  int fd;
  tn_status status = open_log(ctx, "append to log", path, O_RDWR | O_APPEND, &fd);
  if (status == TN_OK) status = fd >= 0 ? lock_log(ctx, path, fd, LOCK_EX) : check_folder(ctx, path);
  if (fd >= 0) close(fd);
  return status;
}

/* Whether the process may make the file so long. Otherwise the kernel would send a signal after half a line. */
static bool is_within_limit(off_t size, size_t n) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return true;
  errno = EFBIG;
  return (rlim_t)size <= most.rlim_cur && n <= most.rlim_cur - (rlim_t)size;
}

/* Writes all bytes or, when that fails, removes what it wrote. The file is locked and SIZE bytes long. */
static bool write_whole(int fd, const char *line, size_t n, off_t size) {
  if (!is_within_limit(size, n)) return false;
  for (size_t done = 0; done < n;) {
    ssize_t written = write(fd, line + done, n - done);
    if (written > 0) done += (size_t)written;
    if (written > 0 || (written < 0 && errno == EINTR)) continue;
    int error = written == 0 ? ENOSPC : errno;
    if (done > 0 && ftruncate(fd, size) != 0) error = errno;
    errno = error;
    return false;
  }
  return true;
}

/* Appends a line to the locked file. */
static bool append_line(int fd, const char *line, size_t n) {
  struct stat file;
  assert(fd >= 0 && "a log that was opened");
  if (fstat(fd, &file) != 0) return false;
  char last = '\n';
  if (file.st_size > 0 && pread(fd, &last, 1, file.st_size - 1) != 1) return false;
  bool torn = last != '\n'; /* a writer was killed in the middle: LINE begins with a newline for that */
  return write_whole(fd, line + !torn, n - !torn, file.st_size);
}

/* Whether FD is still the file at PATH. While the lock was waited for, another process may have put a
 * compacted log in its place. */
static bool is_still_there(const char *path, int fd) {
  struct stat here, there;
  return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

tn_status log_open_locked(tn_context *ctx, const char *path, int *fd) {
  tn_status status = TN_OK;
  for (*fd = -1; status == TN_OK && *fd < 0;) {
    status = open_log(ctx, "open log", path, O_RDWR | O_APPEND | O_CREAT, fd);
    if (status == TN_OK) status = lock_log(ctx, path, *fd, LOCK_EX);
    if (status != TN_OK || is_still_there(path, *fd)) break;
    close(*fd);
    *fd = -1;
  }
  return status;
}

/* The descriptor of the claims; -1: it is not the file at PATH. */
static int held_by(const autotune_claims *claims, const char *path) {
  return claims && claims->fd >= 0 && is_still_there(path, claims->fd) ? claims->fd : -1;
}

/* Locks the log through the descriptor of the claims. *FD is -1 if that is not the log's, or not any more. */
static tn_status lock_held(tn_context *ctx, const char *path, const autotune_claims *claims, int *fd) {
  *fd = held_by(claims, path);
  tn_status status = *fd >= 0 ? lock_log(ctx, path, *fd, LOCK_EX) : TN_OK;
  if (status != TN_OK || *fd < 0 || is_still_there(path, *fd)) return status;
  flock(*fd, LOCK_UN);
  *fd = -1;
  return TN_OK;
}

/* Appends a line with one write, under the lock. */
static tn_status append_locked(tn_context *ctx, const char *path, const autotune_claims *claims,
                               const runtime_str *line) {
  int held, fd = -1;
  tn_status status = lock_held(ctx, path, claims, &held);
  if (status == TN_OK && held < 0) status = log_open_locked(ctx, path, &fd);
  int to = held >= 0 ? held : fd;
  if (status == TN_OK && !append_line(to, line->data, line->n)) status = fail_io(ctx, "append to log", path);
  if (held >= 0) flock(held, LOCK_UN);
  if (fd >= 0) close(fd);
  return status;
}

tn_status autotune_record_append(tn_context *ctx, const char *path, const autotune_record *record) {
  return autotune_record_append_held(ctx, path, NULL, record);
}

/* The line is made before the file is opened, so that the lock is held for one write only. */
tn_status autotune_record_append_held(tn_context *ctx, const char *path, const autotune_claims *claims,
                                      const autotune_record *record) {
  if (!path || !record || !record->json) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "log: an argument is NULL");
  runtime_str line = {0};
  char *text = json_dumps(record->json, JSON_COMPACT | JSON_REAL_PRECISION(15));
  if (text) runtime_str_addf(&line, "\n%s\n", text);
  free(text);
  if (!text || line.failed) {
    runtime_str_free(&line);
    return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while writing a record");
  }
  tn_status status = append_locked(ctx, path, claims, &line);
  runtime_str_free(&line);
  return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Bytes that are read at once. */
enum { PIECE_BYTES = 16 << 20 };

/* A reading of a log. All skipped lines are counted, but only MAX_WARNINGS are reported: a wrong file would
 * otherwise fill the screen. */
typedef struct reader {
  tn_context *ctx;
  const char *path;
  log_reading *reading;
  autotune_log_place *place;
} reader;

/* Skips a line: a bad line costs one record, not the log. */
static void skip(reader *r, int line, bool is_whole, const char *why) {
  if (r->reading->on_strange) r->reading->on_strange(r->reading->user, line, is_whole);
  if (r->reading->n_skipped++ < MAX_WARNINGS) {
    runtime_say(r->ctx, TN_SEVERITY_WARNING, "%s:%d: %s: line skipped", r->path, line, why);
  }
}

static bool visit_record(reader *r, int line, autotune_record *record) {
  bool goes_on = !r->reading->visit || r->reading->visit(r->reading->user, line, record);
  autotune_record_free(record);
  return goes_on;
}

/* Parses one line, given without its newline. False: the visitor stops. */
static bool parse_line(reader *r, int number, const char *text, size_t n, bool whole) {
  json_error_t error;
  char why[300];
  bool is_object;
  json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
  autotune_record record;
  if (!json && !whole) {
    skip(r, number, false, "the last line was cut short (it has no newline)");
  } else if (!json) {
    snprintf(why, sizeof why, "no whole JSON object (column %d: %s)", error.column, error.text);
    skip(r, number, false, why);
  } else if (json_is_string(json_object_get(json, "event"))) {
    json_decref(json); /* that a run began or ended */
  } else if (is_object = json_is_object(json), !autotune_record_parse(json, &record, why, sizeof why)) {
    skip(r, number, is_object, why);
  } else {
    return visit_record(r, number, &record);
  }
  return true;
}

/* Looks at a line, and parses it if the glance does not understand it or if it is wanted. False: the visitor stops. */
static bool read_line(reader *r, int number, const char *text, size_t n, bool whole) {
  log_glance glance;
  log_reading *reading = r->reading;
  if (strspn(text, " \t\r") >= n) return true;
  reading->offset = r->place->offset;
  reading->text = text;
  reading->bytes = n;
  if (!reading->look || !log_look(text, n, &glance)) return parse_line(r, number, text, n, whole);
  if (glance.event.at && !reading->sees_events) return true;
  log_answer answer = reading->look(reading->user, number, &glance, text);
  return answer == LOG_READ ? parse_line(r, number, text, n, whole) : answer == LOG_PASS;
}

/* Fills TEXT from the file, from FROM on. False after a message. */
static bool load_bytes(reader *r, int fd, char *text, size_t n, off_t from) {
  for (size_t done = 0; done < n;) {
    ssize_t got = pread(fd, text + done, n - done, from + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) done += (size_t)got;
    if (got > 0) continue;
    if (got == 0) errno = EIO; /* it became shorter */
    fail_io(r->ctx, "read log", r->path);
    return false;
  }
  return true;
}

/* Reads the whole lines of a piece; the last one of the file may lack its newline. The place moves behind
 * what was read. False: the visitor stops. */
static bool read_piece(reader *r, const char *text, size_t n, bool is_last) {
  bool goes_on = true;
  for (const char *at = text, *end = text + n; at < end && goes_on;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (!newline && !is_last) break;
    const char *stop = newline ? newline : end, *next = newline ? newline + 1 : end;
    goes_on = read_line(r, r->place->line + 1, at, (size_t)(stop - at), newline != NULL);
    r->place->offset += next - at;
    r->place->line += newline != NULL;
    at = next;
  }
  return goes_on;
}

/* Reads piece by piece. A line that is longer than a piece makes the next piece larger. */
static tn_status read_pieces(reader *r, int fd, off_t end) {
  size_t cap = PIECE_BYTES;
  char *text = NULL;
  bool goes_on = true;
  while (goes_on && r->place->offset < end) {
    off_t from = r->place->offset;
    size_t n = (size_t)RUNTIME_MIN(end - from, (off_t)cap);
    free(text);
    text = malloc(n + 1);
    if (!text) return runtime_fail(r->ctx, TN_ERROR_MEMORY, "out of memory while reading log %s", r->path);
    if (!load_bytes(r, fd, text, n, from)) return free(text), tn_context_status(r->ctx);
    text[n] = '\0';
    goes_on = read_piece(r, text, n, from + (off_t)n == end);
    if (r->place->offset == from) cap *= 2;
  }
  free(text);
  return TN_OK;
}

/* How long the log is, under a shared lock, so that no half line is seen: lines are only appended. If the
 * file is another one now, or shorter, it is read from its beginning. */
static tn_status measure(reader *r, int fd, off_t *end) {
  struct stat file;
  tn_status status = r->reading->is_locked ? TN_OK : lock_log(r->ctx, r->path, fd, LOCK_SH);
  if (status == TN_OK && fstat(fd, &file) != 0) status = fail_io(r->ctx, "read log", r->path);
  flock(fd, LOCK_UN);
  if (status != TN_OK) return status;
  bool is_same = r->place->file == file.st_ino && r->place->device == file.st_dev && r->place->offset <= file.st_size;
  if (!is_same) *r->place = (autotune_log_place){.device = file.st_dev, .file = file.st_ino};
  *end = file.st_size;
  return TN_OK;
}

/* Whether the file at PATH is the one that was read and ends where reading ended. Opening and closing a
 * file with many claims makes the kernel walk over all claims, and a tuner asks several times for each
 * candidate. */
static bool is_read_already(const char *path, const autotune_log_place *place) {
  struct stat file;
  return place->file != 0 && stat(path, &file) == 0 && file.st_ino == place->file && file.st_dev == place->device &&
         file.st_size == place->offset;
}

tn_status log_read(tn_context *ctx, const char *path, log_reading *reading, autotune_log_place *place) {
  reading->n_skipped = 0;
  if (!path || !*path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the log has no name");
  if (is_read_already(path, place)) return TN_OK;
  reader r = {ctx, path, reading, place};
  int held = held_by(reading->claims, path), fd = held;
  off_t end;
  tn_status status = held < 0 ? open_log(ctx, "open log", path, O_RDONLY, &fd) : TN_OK;
  if (status != TN_OK) return status;
  if (fd < 0) return reading->missing_ok ? TN_OK : fail_io(ctx, "open log", path);
  status = measure(&r, fd, &end);
  if (status == TN_OK) status = read_pieces(&r, fd, end);
  if (fd != held) close(fd);
  if (reading->n_skipped > MAX_WARNINGS)
    runtime_say(ctx, TN_SEVERITY_WARNING, "%s: %d more lines skipped", path, reading->n_skipped - MAX_WARNINGS);
  return status;
}
