/* data.c: the log that is used where a command line names none. It saves measuring again, as a cache does.
 * It is kept with the user's data all the same, not in the cache directory, since measuring again would
 * take hours. */
#include <errno.h>
#include <sys/stat.h>

#include "tools/tools.h"

/* Makes the folders that PATH's file lies in. PATH is changed meanwhile and restored. */
static bool make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool is_there = mkdir(path, 0777) == 0 || errno == EEXIST;
    *slash = '/';
    if (!is_there) return false;
  }
  return true;
}

bool tools_usual_log(bool makes_folders, runtime_str *out) {
  const char *named = getenv("TENON_LOG"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  if (named && strcmp(named, "off") == 0) return false;
  if (named && *named) {
    runtime_str_add(out, named);
    return !out->failed;
  }
  if (data && *data == '/')
    runtime_str_addf(out, "%s/tenon/log.json", data);
  else if (home && *home == '/')
    runtime_str_addf(out, "%s/.local/share/tenon/log.json", home);
  return !out->failed && out->n > 0 && (!makes_folders || make_folders(out->data));
}
