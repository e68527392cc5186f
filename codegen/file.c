/* file.c: files that leave home. Everything is written under a temporary name in the file's own directory and renamed
 * when it is complete, so that a failure leaves neither a half file nor a changed one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/file.h"

extern char **environ;

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* False with errno set. */
static bool write_all(int file, const char *data, size_t n) {
  while (n > 0) {
    ssize_t written = write(file, data, n);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    n -= (size_t)written;
  }
  return true;
}

/* Makes a file next to PATH that was not there, with the mode that a new file gets; the name is left in NAME. */
static int open_temporary(tn_context *ctx, const char *path, char name[PATH_MAX]) {
  int file = -1;
  errno = EEXIST;
  for (int i = 0; file < 0 && errno == EEXIST && i < 1000; i++) {
    int n = snprintf(name, PATH_MAX, "%s.%ld-%d.tmp", path, (long)getpid(), i);
    if (n >= PATH_MAX)
      errno = ENAMETOOLONG;
    else
      file = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  }
  if (file < 0) runtime_fail(ctx, TN_ERROR_IO, "cannot write %s: %s", path, strerror(errno));
  return file;
}

/* Leaves the complete bytes under NAME, next to PATH, or nothing. */
static tn_status write_temporary(tn_context *ctx, const char *path, const void *data, size_t n, char name[PATH_MAX]) {
  int file = open_temporary(ctx, path, name);
  if (file < 0) return TN_ERROR_IO;
  bool written = write_all(file, data, n);
  int error = errno;
  if (close(file) == 0 && written) return TN_OK;
  unlink(name);
  return runtime_fail(ctx, TN_ERROR_IO, "cannot write %s: %s", path, strerror(written ? errno : error));
}

/* Within one directory, so that rename is atomic. */
static tn_status move_into_place(tn_context *ctx, const char *name, const char *path) {
  if (rename(name, path) == 0) return TN_OK;
  int error = errno;
  unlink(name);
  return runtime_fail(ctx, TN_ERROR_IO, "cannot write %s: %s", path, strerror(error));
}

/* An existing file keeps its contents until the new one is complete. */
tn_status codegen_write_file(tn_context *ctx, const char *path, const void *data, size_t n) {
  char name[PATH_MAX];
  tn_status status = write_temporary(ctx, path, data, n, name);
  return status == TN_OK ? move_into_place(ctx, name, path) : status;
}

/* ---- linking ----------------------------------------------------------------------------------------------------- */

/* Runs `cc -shared -o OUT OBJECT -lgomp -lm`; its messages go to the file descriptor SAYS. A kernel without parallel
 * loops does not come to need libgomp. Returns the exit status, or -errno when cc could not be started. */
static int run_linker(const char *out, const char *object, int says) {
  const char *const args[] = {"cc", "-shared", "-o", out, object, "-Wl,--as-needed", "-lgomp", "-lm", NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  posix_spawn_file_actions_adddup2(&actions, says, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, says, STDERR_FILENO);
  int error = posix_spawnp(&child, args[0], &actions, NULL, (char *const *)args, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -error;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The linker's words are kept in a file without a name. */
static tn_status link_objects(tn_context *ctx, const char *out, const char *object, const char *path) {
  char words[512] = "";
  FILE *says = tmpfile();
  if (says == NULL) return runtime_fail(ctx, TN_ERROR_IO, "cannot link %s: %s", path, strerror(errno));
  int result = run_linker(out, object, fileno(says));
  if (fseek(says, 0, SEEK_SET) == 0) words[fread(words, 1, sizeof words - 1, says)] = '\0';
  fclose(says);
  if (result == 0) return TN_OK;
  if (result < 0)
    return runtime_fail(ctx, TN_ERROR_IO, "cannot link %s: cc cannot be run: %s", path, strerror(-result));
  return runtime_fail(ctx, TN_ERROR_IO, "cannot link %s: cc ended with status %d: %s", path, result, words);
}

/* A name next to PATH that nothing has, kept by an empty file. */
static tn_status reserve(tn_context *ctx, const char *path, char name[PATH_MAX]) {
  return write_temporary(ctx, path, "", 0, name);
}

/* The object stands beside PATH while cc runs, and goes in each case. */
tn_status codegen_link_shared(tn_context *ctx, const codegen_bytes *object, const char *path) {
  char object_name[PATH_MAX], out_name[PATH_MAX];
  tn_status status = write_temporary(ctx, path, object->data, object->n, object_name);
  if (status != TN_OK) return status;
  status = reserve(ctx, path, out_name);
  if (status == TN_OK) {
    status = link_objects(ctx, out_name, object_name, path);
    if (status != TN_OK)
      unlink(out_name);
    else
      status = move_into_place(ctx, out_name, path);
  }
  unlink(object_name);
  return status;
}
