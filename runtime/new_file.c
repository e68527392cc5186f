/* new_file.c: files that get their name only when they are complete. */
#include "runtime/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names that are tried: earlier ones may be left over from processes that died. */
enum { MOST_NAMES = 1000 };

/* PATH.PID-I.tmp, which is in the folder of PATH, since rename works only within a file system. */
static bool format_name(char name[PATH_MAX], const char *path, int i) {
  if (snprintf(name, PATH_MAX, "%s.%ld-%d.tmp", path, (long)getpid(), i) < PATH_MAX) return true;
  errno = ENAMETOOLONG;
  return false;
}

/* Opens a new file next to PATH, or gives a nameless one its first name. */
static bool take_name(runtime_new_file *f, const char *path) {
  char name[PATH_MAX], self[64];
  bool is_open = f->fd >= 0, made = false;
  snprintf(self, sizeof self, "/proc/self/fd/%d", f->fd);
  errno = EEXIST;
  for (int i = 0; !made && errno == EEXIST && i < MOST_NAMES; i++) {
    if (!format_name(name, path, i)) return false;
    if (is_open)
      made = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    else
      made = (f->fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666)) >= 0;
  }
  if (!made) return false;
  f->name = strdup(name);
  if (!f->name) unlink(name), errno = ENOMEM;
  return f->name != NULL;
}

/* Opens a file without a name; -1 if that is not possible. Without /proc it could never get one. */
static int open_nameless(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) + 1 : 0;
  if (n >= sizeof folder || access("/proc/self/fd", X_OK) != 0) return -1;
  memcpy(folder, path, n);
  folder[n] = '\0';
  return open(n ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

bool runtime_new_file_open_named(runtime_new_file *f, const char *path) {
  *f = (runtime_new_file){.fd = -1};
  if (take_name(f, path)) return true;
  int error = errno;
  runtime_new_file_drop(f);
  errno = error;
  return false;
}

/* Checked beforehand: renaming a file onto a folder would fail only at the end, for some folders with "busy". */
static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool runtime_new_file_open(runtime_new_file *f, const char *path) {
  *f = (runtime_new_file){.fd = -1};
  if (is_folder(path)) return errno = EISDIR, false;
  f->fd = open_nameless(path);
  return f->fd >= 0 || runtime_new_file_open_named(f, path);
}

FILE *runtime_new_file_stream(const runtime_new_file *f) {
  int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
  FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
  int error = errno;
  if (!stream && fd >= 0) close(fd);
  errno = error;
  return stream;
}

void runtime_new_file_drop(runtime_new_file *f) {
  if (f->name) unlink(f->name);
  if (f->fd >= 0) close(f->fd);
  free(f->name);
  *f = (runtime_new_file){.fd = -1};
}

/* Whatever close returns, the descriptor is gone; closing again could hit a file that another thread opened. */
static bool close_fd(runtime_new_file *f) {
  int fd = f->fd;
  f->fd = -1;
  return close(fd) == 0;
}

bool runtime_new_file_keep(runtime_new_file *f, const char *path) {
  bool kept = (f->name || take_name(f, path)) && close_fd(f) && rename(f->name, path) == 0;
  int error = errno;
  if (kept) free(f->name), f->name = NULL;
  runtime_new_file_drop(f);
  errno = error;
  return kept;
}

void runtime_new_file_place(const runtime_new_file *f, char *place, size_t n) {
  if (f->name)
    snprintf(place, n, "%s", f->name);
  else
    snprintf(place, n, "/proc/%ld/fd/%d", (long)getpid(), f->fd);
}
