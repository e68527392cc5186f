/* local.c: a host that loads what uses Tenon for itself alone: neither libm nor libmvec is in its global scope. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(void) = NULL;
  if (plugin) *(void **)&run = dlsym(plugin, "run_plugin");
  if (!run) return fprintf(stderr, "local: %s\n", dlerror()), 1;
  void *global = dlopen(NULL, RTLD_NOW);
  if (dlsym(global, "expf")) return fprintf(stderr, "local: libm is in the global scope, so this proves nothing\n"), 1;
  return run();
}
