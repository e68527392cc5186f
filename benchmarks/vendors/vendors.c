/* vendors.c: the table of vendors. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "benchmarks/vendors/internal.h"

/* The vendors by their names; vendor_names says the same in words. */
static const vendor_library libraries[] = {
    {"onednn", vendor_onednn_prepare},
    {"openblas", vendor_openblas_prepare},
    {"blis", vendor_blis_prepare},
};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static const vendor_library *find(const char *name) {
  for (int i = 0; i < LIBRARIES; ++i) {
    if (strcmp(libraries[i].name, name) == 0) return &libraries[i];
  }
  return NULL;
}

const char *vendor_names(void) { return "onednn, openblas, blis"; }

bool vendor_is_known(const char *name) { return find(name) != NULL; }

bool vendor_prepare(const char *name, const vendor_problem *problem, void *const *data, int threads, vendor_kernel *out,
                    char why[VENDOR_TEXT]) {
  const vendor_library *library = find(name);
  *out = (vendor_kernel){0};
  *why = '\0';
  if (library) return library->prepare(problem, data, threads, out, why);
  snprintf(why, VENDOR_TEXT, "there is no vendor '%s': there are %s", name, vendor_names());
  return false;
}

void vendor_kernel_free(vendor_kernel *kernel) {
  if (kernel->free) kernel->free(kernel->self);
  *kernel = (vendor_kernel){0};
}

bool vendor_open_library(const char *file, int n, const char *const *names, void **addresses, char why[VENDOR_TEXT]) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return snprintf(why, VENDOR_TEXT, "%s is not here: %s", file, dlerror()), false;
  for (int i = 0; i < n; ++i) {
    addresses[i] = dlsym(library, names[i]);
    if (!addresses[i]) return snprintf(why, VENDOR_TEXT, "%s has no function %s", file, names[i]), false;
  }
  return true;
}
