/* xgboost.c: finds XGBoost's C functions in the installed library. */
#include "autotune/xgboost.h"

#include <dlfcn.h>
#include <stdio.h>

#include "runtime/base.h"

static const char *const usual_names[] = {"libxgboost.so.0", "libxgboost.so", "libxgboost.dylib"};

/* RTLD_NODELETE: XGBoost starts OpenMP threads, which would go on running code that is gone. RTLD_LOCAL:
 * its symbols must not shadow the program's. WHY speaks of the first name only, which is the usual one. */
static void *open_library(const char *library, char *why, size_t n_why) {
  const char *const given[] = {library};
  const char *const *names = library ? given : usual_names;
  void *handle = NULL;
  for (int i = 0; !handle && i < (library ? 1 : RUNTIME_COUNT(usual_names)); ++i) {
    handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *error = handle ? NULL : dlerror();
    if (!handle && i == 0) snprintf(why, n_why, "%s", error ? error : "the library cannot be loaded");
  }
  return handle;
}

bool autotune_xgboost_load(const char *library, autotune_xgboost *out, char *why, size_t n_why) {
  void *handle = open_library(library, why, n_why);
  if (!handle) return false;
  const struct {
    const char *name;
    void *place;
  } functions[] = {
#define X(name) {"XG" #name, &out->name},
      XGBOOST_FUNCTIONS(X)
#undef X
  };
  bool complete = true;
  for (int i = 0; complete && i < RUNTIME_COUNT(functions); ++i) {
    void *found = dlsym(handle, functions[i].name);
    memcpy(functions[i].place, &found, sizeof found);
    complete = found != NULL;
    if (!complete) snprintf(why, n_why, "it is too old: it has no function %s", functions[i].name);
  }
  if (!complete) dlclose(handle);
  return complete;
}
