/* log_file.c: a log as a file: appending whole lines, reading them back. Several processes may append to one log:
 * each line is one write under an flock. A write that has returned survives the death of the process; fdatasync is
 * not called, so a loss of power may cost the last lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/internal.h"

enum { MAX_WARNINGS = 20 };

static tn_status fail_io(tn_context *ctx, const char *doing, const char *path) {
  return runtime_fail(ctx, TN_ERROR_IO, "cannot %s %s: %s", doing, path, strerror(errno));
}

/* Waits for the lock, through signals. */
static bool lock(int fd, int how) {
  int result;
  do result = flock(fd, how);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

tn_status autotune_log_check(tn_context *ctx, const char *path) {
  if (!path || !*path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the log has no name");
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
    return TN_OK;
  }
  if (errno != ENOENT) return fail_io(ctx, "append to log", path);
  const char *slash = strrchr(path, '/');
  char folder[4096];
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
  return access(folder, W_OK | X_OK) == 0 ? TN_OK : fail_io(ctx, "make log", path);
}

/* Writes all or, when it fails, takes back what it wrote. The file is locked and SIZE bytes long. */
static bool write_whole(int fd, const char *line, size_t n, off_t size) {
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

static bool append_line(int fd, const char *line, size_t n) {
  struct stat status;
  if (!lock(fd, LOCK_EX) || fstat(fd, &status) != 0) return false;
  char last = '\n';
  if (S_ISREG(status.st_mode) && status.st_size > 0 && pread(fd, &last, 1, status.st_size - 1) != 1) return false;
  bool torn = last != '\n'; /* a writer was killed in the middle: LINE begins with a newline for that */
  return write_whole(fd, line + !torn, n - !torn, status.st_size);
}

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
  tn_status status = TN_OK;
  int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0)
    status = fail_io(ctx, "open log", path);
  else if (!append_line(fd, line.data, line.n))
    status = fail_io(ctx, "append to log", path);
  if (fd >= 0) close(fd);
  runtime_str_free(&line);
  return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
  tn_context *ctx;
  const char *path;
  int n_skipped;
  bool (*visit)(void *user, int line, autotune_record *record);
  void *user;
} reader;

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
  } else if (!autotune_record_parse(json, &record, why, sizeof why)) {
    skip(r, number, why);
  } else {
    bool goes_on = r->visit(r->user, number, &record);
    autotune_record_free(&record);
    return goes_on;
  }
  return true;
}

/* The file's text under a shared lock, so that no line is seen half. NULL with *status; TN_OK: there is nothing. */
static char *load(tn_context *ctx, const char *path, bool missing_ok, size_t *n, tn_status *status) {
  *status = TN_OK;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat file;
  if (fd < 0 || fstat(fd, &file) != 0 || !lock(fd, LOCK_SH)) {
    if (fd >= 0 || errno != ENOENT || !missing_ok) *status = fail_io(ctx, "open log", path);
    if (fd >= 0) close(fd);
    return NULL;
  }
  bool empty = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0;
  char *text = empty ? NULL : runtime_read_file(ctx, path, n);
  if (!text && !empty) *status = tn_context_status(ctx) == TN_OK ? TN_ERROR_IO : tn_context_status(ctx);
  close(fd);
  return text;
}

tn_status autotune_log_scan(tn_context *ctx, const char *path, bool missing_ok, int *n_skipped,
                            bool (*visit)(void *user, int line, autotune_record *record), void *user) {
  if (n_skipped) *n_skipped = 0;
  if (!path || !*path) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the log has no name");
  tn_status status;
  size_t n = 0;
  char *text = load(ctx, path, missing_ok, &n, &status);
  if (!text) return status;
  reader r = {ctx, path, 0, visit, user};
  bool goes_on = true;
  int number = 1;
  for (const char *at = text, *end = text + n; at < end && goes_on; ++number) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *stop = newline ? newline : end;
    goes_on = read_line(&r, number, at, (size_t)(stop - at), newline != NULL);
    at = stop + 1;
  }
  free(text);
  if (r.n_skipped > MAX_WARNINGS) {
    runtime_say(ctx, TN_SEVERITY_WARNING, "%s: %d more lines skipped", path, r.n_skipped - MAX_WARNINGS);
  }
  if (n_skipped) *n_skipped = r.n_skipped;
  return TN_OK;
}

tn_status autotune_log_read(tn_context *ctx, const char *path, bool missing_ok,
                            bool (*visit)(void *user, int line, autotune_record *record), void *user) {
  return autotune_log_scan(ctx, path, missing_ok, NULL, visit, user);
}
