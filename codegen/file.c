/* file.c: files that leave home: they get their names when they are complete. */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/file.h"
#include "runtime/new_file.h"

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

/* ERROR is errno's, kept by the caller before it cleans up. */
static tn_status fail(tn_context *ctx, const char *path, int error) {
  return runtime_fail(ctx, TN_ERROR_IO, "cannot write %s: %s", path, strerror(error));
}

/* Renames: a file of that name is replaced whole or not at all. */
static tn_status keep(tn_context *ctx, runtime_new_file *file, const char *path) {
  return runtime_new_file_keep(file, path) ? TN_OK : fail(ctx, path, errno);
}

/* Leaves nothing when it fails. */
static tn_status write_new(tn_context *ctx, const char *path, const void *data, size_t n, runtime_new_file *file) {
  if (!runtime_new_file_open(file, path)) return fail(ctx, path, errno);
  if (write_all(file->fd, data, n)) return TN_OK;
  int error = errno;
  runtime_new_file_drop(file);
  return fail(ctx, path, error);
}

/* An existing file keeps its contents until the new one is complete. */
tn_status codegen_write_file(tn_context *ctx, const char *path, const void *data, size_t n) {
  runtime_new_file file;
  tn_status status = write_new(ctx, path, data, n, &file);
  return status == TN_OK ? keep(ctx, &file, path) : status;
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

/* Into a file with or without a name; it is left open. */
static tn_status link_into(tn_context *ctx, runtime_new_file *out, const runtime_new_file *object, const char *path) {
  char out_place[PATH_MAX], object_place[PATH_MAX];
  runtime_new_file_place(out, out_place, sizeof out_place);
  runtime_new_file_place(object, object_place, sizeof object_place);
  return link_objects(ctx, out_place, object_place, path);
}

/* Whether the linker that cc calls writes to a file that is there. */
static bool link_in_place(runtime_new_file *out, const runtime_new_file *object, const char *path) {
  if (!runtime_new_file_open(out, path)) return false;
  if (link_into(NULL, out, object, path) == TN_OK && lseek(out->fd, 0, SEEK_END) > 0) return true;
  runtime_new_file_drop(out);
  return false;
}

/* Some linkers make their output anew, under its name. */
static tn_status link_named(tn_context *ctx, runtime_new_file *out, const runtime_new_file *object, const char *path) {
  if (!runtime_new_file_open_named(out, path)) return fail(ctx, path, errno);
  tn_status status = link_into(ctx, out, object, path);
  if (status != TN_OK) runtime_new_file_drop(out);
  return status;
}

/* The object stands beside PATH while cc runs, and goes in each case. */
tn_status codegen_link_shared(tn_context *ctx, const codegen_bytes *object, const char *path) {
  runtime_new_file from, out;
  tn_status status = write_new(ctx, path, object->data, object->n, &from);
  if (status != TN_OK) return status;
  if (!link_in_place(&out, &from, path)) status = link_named(ctx, &out, &from, path);
  runtime_new_file_drop(&from);
  return status == TN_OK ? keep(ctx, &out, path) : status;
}
