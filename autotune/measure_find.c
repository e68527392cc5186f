/* measure_find.c: where the `tenon` command is: it is the running program itself, is beside it, is beside
 * the library, or is left to posix_spawnp, which searches PATH. */
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autotune/measure.h"

enum { PATH_BYTES = 4096 };

/* Only regular files: a folder may be executable, too. */
static bool is_program(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* FOLDER/NAME if that is a program; otherwise adds it to the places. */
static char *try_place(const char *folder, const char *name, runtime_str *places) {
  char path[PATH_BYTES];
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return NULL;
  if (is_program(path)) return strdup(path);
  runtime_str_addf(places, "%s%s", places->n ? ", " : "", path);
  return NULL;
}

/* The running program if it is `tenon`; otherwise `tenon` beside it or, as in the build tree, one folder up. */
static char *near_program(runtime_str *places) {
  char self[PATH_BYTES];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return NULL;
  self[n] = '\0';
  const char *slash = strrchr(self, '/');
  if (slash && strcmp(slash, "/tenon") == 0 && is_program(self)) return strdup(self);
  const char *folder = dirname(self);
  char *found = try_place(folder, "tenon", places);
  return found ? found : try_place(folder, "../tenon", places);
}

/* Near the library: lib/libtenon.so and bin/tenon when installed, the same folder in the build tree. */
static char *near_library(runtime_str *places) {
  Dl_info info;
  char path[PATH_BYTES];
  if (!dladdr(__extension__(const void *) & measure_find_command, &info) || !info.dli_fname) return NULL;
  if ((size_t)snprintf(path, sizeof path, "%s", info.dli_fname) >= sizeof path || !strchr(path, '/')) return NULL;
  const char *folder = dirname(path);
  char *found = try_place(folder, "tenon", places);
  if (!found) found = try_place(folder, "../bin/tenon", places);
  return found ? found : try_place(folder, "../../bin/tenon", places); /* lib/x86_64-linux-gnu */
}

char *measure_find_command(runtime_str *places) {
  char *found = near_program(places);
  if (!found) found = near_library(places);
  if (found) return found;
  runtime_str_addf(places, "%sthe folders of PATH", places->n ? ", " : "");
  return strdup("tenon");
}
