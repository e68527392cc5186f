/* log_file.c: a log as a file: appending whole lines, reading them back. Several processes may append to one log:
 * each line is one write under an flock. A write that has returned survives the death of the process; fdatasync is
 * not called, so a loss of power may cost the last lines.
 *
 * Nothing is kept open between calls: a log can be moved or replaced under a running tuner. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "autotune/internal.h"

enum { MAX_WARNINGS = 20, LOCK_SAY_S = 1, LOCK_MOST_S = 10, LOCK_STEP_MS = 20 };

/* To be called at once: it reads errno. */
static tn_status fail_io(tn_context *ctx, const char *doing, const char *path) {
  return runtime_fail(ctx, TN_ERROR_IO, "cannot %s %s: %s", doing, path, strerror(errno));
}

/* ---- opening and locking ----------------------------------------------------------------------------------------- */

/* For messages, with its article. */
static const char *kind_of(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
                          : "something else";
}

/* A FIFO would hang, a folder cannot be locked; the message says what to do instead. */
static tn_status refuse_kind(tn_context *ctx, const char *path, mode_t mode) {
  return runtime_fail(ctx, TN_ERROR_IO,
                      "log %s is %s: a log is a regular file, which can be locked and read again; copy what is to be "
                      "read into one",
                      path, kind_of(mode));
}

/* Opens a log; *FD is -1 when that fails, and also, with TN_OK, when there is no such file. What is no regular file is
 * not even opened: a FIFO would block, a device may act. */
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

/* Waits for the lock, says so after a moment, and gives up in the end: whoever can read a log can hold its lock. */
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

/* Whether a log could be made where there is none. */
static tn_status check_folder(tn_context *ctx, const char *path) {
  const char *slash = strrchr(path, '/');
  char folder[4096];
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
  return access(folder, W_OK | X_OK) == 0 ? TN_OK : fail_io(ctx, "make log", path);
}

/* Waits for the lock too: a log that another program keeps locked would stop the run at its first
 * record. */
tn_status autotune_log_check(tn_context *ctx, const char *path) {
  if (!path || !*path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the log has no name");
  int fd;
  tn_status status = open_log(ctx, "append to log", path, O_RDWR | O_APPEND, &fd);
  if (status == TN_OK) status = fd >= 0 ? lock_log(ctx, path, fd, LOCK_EX) : check_folder(ctx, path);
  if (fd >= 0) close(fd);
  return status;
}

/* Whether the process may make the file so long. The kernel's answer would be a signal, after half a line. */
static bool is_within_limit(off_t size, size_t n) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return true;
  errno = EFBIG;
  return (rlim_t)size <= most.rlim_cur && n <= most.rlim_cur - (rlim_t)size;
}

/* Writes all or, when it fails, takes back what it wrote. The file is locked and SIZE bytes long. */
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

/* The file is locked. */
static bool append_line(int fd, const char *line, size_t n) {
  struct stat file;
  assert(fd >= 0 && "a log that was opened");
  if (fstat(fd, &file) != 0) return false;
  char last = '\n';
  if (file.st_size > 0 && pread(fd, &last, 1, file.st_size - 1) != 1) return false;
  bool torn = last != '\n'; /* a writer was killed in the middle: LINE begins with a newline for that */
  return write_whole(fd, line + !torn, n - !torn, file.st_size);
}

/* The line is made before the file is opened, so that the lock is held for one write only. */
tn_status autotune_record_append(tn_context *ctx, const char *path, const autotune_record *record) {
  if (!path || !record || !record->json) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "log: an argument is NULL");
  runtime_str line = {0};
  char *text = json_dumps(record->json, JSON_COMPACT | JSON_REAL_PRECISION(15));
  if (text) runtime_str_addf(&line, "\n%s\n", text);
  free(text);
  if (!text || line.failed) {
    runtime_str_free(&line);
    return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while writing a record");
  }
  int fd;
  tn_status status = open_log(ctx, "open log", path, O_RDWR | O_APPEND | O_CREAT, &fd);
  if (status == TN_OK) status = lock_log(ctx, path, fd, LOCK_EX);
  if (status == TN_OK && !append_line(fd, line.data, line.n)) status = fail_io(ctx, "append to log", path);
  if (fd >= 0) close(fd);
  runtime_str_free(&line);
  return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Lines that are skipped are all counted, but only MAX_WARNINGS are told: a wrong file would else fill
 * the screen. */
typedef struct reader {
  tn_context *ctx;
  const char *path;
  int n_skipped;
  bool (*visit)(void *user, int line, autotune_record *record);
  void *user;
} reader;

/* A bad line costs one record, not the log. Only the first MAX_WARNINGS are told. */
static void skip(reader *r, int line, const char *why) {
  if (r->n_skipped++ < MAX_WARNINGS) {
    runtime_say(r->ctx, TN_SEVERITY_WARNING, "%s:%d: %s: line skipped", r->path, line, why);
  }
}

/* One line without its newline. False: the visitor stops. */
static bool read_line(reader *r, int number, const char *text, size_t n, bool whole) {
  if (strspn(text, " \t\r") >= n) return true;
  json_error_t error;
  char why[300];
  json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
  autotune_record record;
  if (!json && !whole) {
    skip(r, number, "the last line was cut short (it has no newline)");
  } else if (!json) {
    snprintf(why, sizeof why, "no whole JSON object (column %d: %s)", error.column, error.text);
    skip(r, number, why);
  } else if (json_is_string(json_object_get(json, "event"))) {
    json_decref(json); /* that a run began or ended */
  } else if (!autotune_record_parse(json, &record, why, sizeof why)) {
    skip(r, number, why);
  } else {
    bool goes_on = r->visit(r->user, number, &record);
    autotune_record_free(&record);
    return goes_on;
  }
  return true;
}

/* The bytes of a file from FROM to TO; NULL after a message. */
static char *load_bytes(tn_context *ctx, const char *path, int fd, off_t from, off_t to) {
  size_t n = (size_t)(to - from), done = 0;
  char *text = malloc(n + 1);
  if (!text) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while reading log %s", path), NULL;
  while (done < n) {
    ssize_t got = pread(fd, text + done, n - done, from + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) done += (size_t)got;
    if (got > 0) continue;
    if (got == 0) errno = EIO; /* it became shorter */
    fail_io(ctx, "read log", path);
    return free(text), NULL;
  }
  text[n] = '\0';
  return text;
}

/* What stands behind PLACE, under a shared lock, so that no line is seen half. A file that is another one now, or
 * shorter, is read from its beginning. *TEXT is NULL when there is nothing. */
static tn_status load(tn_context *ctx, const char *path, bool missing_ok, autotune_log_place *place, char **text,
                      size_t *n) {
  struct stat file;
  int fd;
  *text = NULL;
  tn_status status = open_log(ctx, "open log", path, O_RDONLY, &fd);
  if (status != TN_OK) return status;
  if (fd < 0) return missing_ok ? TN_OK : fail_io(ctx, "open log", path);
  status = lock_log(ctx, path, fd, LOCK_SH);
  if (status == TN_OK && fstat(fd, &file) != 0) status = fail_io(ctx, "read log", path);
  if (status == TN_OK) {
    bool is_same = place->file == file.st_ino && place->device == file.st_dev && place->offset <= file.st_size;
    if (!is_same) *place = (autotune_log_place){.device = file.st_dev, .file = file.st_ino};
    *n = (size_t)(file.st_size - place->offset);
    if (*n > 0 && !(*text = load_bytes(ctx, path, fd, place->offset, file.st_size))) status = tn_context_status(ctx);
  }
  close(fd);
  return status;
}

/* Reads the lines of a text that begins at PLACE, which moves behind what was read. False: the visitor stops. */
static bool read_lines(reader *r, const char *text, size_t n, autotune_log_place *place) {
  bool goes_on = true;
  for (const char *at = text, *end = text + n; at < end && goes_on;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline ? newline : end, *next = newline ? newline + 1 : end;
    goes_on = read_line(r, place->line + 1, at, (size_t)(stop - at), newline != NULL);
    place->offset += next - at;
    place->line += newline != NULL;
    at = next;
  }
  return goes_on;
}

tn_status autotune_log_read_on(tn_context *ctx, const char *path, bool missing_ok, autotune_log_place *place,
                               int *n_skipped, bool (*visit)(void *user, int line, autotune_record *record),
                               void *user) {
  if (n_skipped) *n_skipped = 0;
  if (!path || !*path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the log has no name");
  char *text;
  size_t n = 0;
  tn_status status = load(ctx, path, missing_ok, place, &text, &n);
  if (!text) return status;
  reader r = {ctx, path, 0, visit, user};
  read_lines(&r, text, n, place);
  free(text);
  if (r.n_skipped > MAX_WARNINGS) {
    runtime_say(ctx, TN_SEVERITY_WARNING, "%s: %d more lines skipped", path, r.n_skipped - MAX_WARNINGS);
  }
  if (n_skipped) *n_skipped = r.n_skipped;
  return TN_OK;
}

tn_status autotune_log_scan(tn_context *ctx, const char *path, bool missing_ok, int *n_skipped,
                            bool (*visit)(void *user, int line, autotune_record *record), void *user) {
  autotune_log_place start = {0};
  return autotune_log_read_on(ctx, path, missing_ok, &start, n_skipped, visit, user);
}

tn_status autotune_log_read(tn_context *ctx, const char *path, bool missing_ok,
                            bool (*visit)(void *user, int line, autotune_record *record), void *user) {
  return autotune_log_scan(ctx, path, missing_ok, NULL, visit, user);
}
