/* Kernels from C source: written, compiled by a C compiler that must say nothing, loaded. */
#include <dlfcn.h>

#include "tests/codegen/kit.h"

static void write_source(const tir_func *func, const tn_target *target, const char *folder) {
  char path[128];
  snprintf(path, sizeof path, "%s/k.c", folder);
  codegen_write(K.ctx, func, target, path);
  check_ok(K.ctx);
}

static void compile_source(const char *folder, const char *command) {
  runtime_str says = {0};
  int status = kit_shell(&says, "%s -shared -fPIC %s/k.c -o %s/k.so -lm 2>&1", command, folder, folder);
  if (status != 0 || says.n > 0) {
    runtime_str source = {0};
    kit_shell(&source, "cat %s/k.c", folder);
    fail_msg("%s ended with status %d: %s\n%s", command, status, says.data ? says.data : "", source.data);
  }
  runtime_str_free(&says);
}

static void unload(void *library) { dlclose(library); }

tn_kernel *kit_compile_c(const tir_func *func, const tn_target *target, const char *command) {
  char folder[64], path[128];
  runtime_kernel_arg args[KIT_MAX_PARAMS];
  kit_folder(folder);
  write_source(func, target, folder);
  compile_source(folder, command);
  snprintf(path, sizeof path, "%s/k.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail_msg("%s", dlerror());
  kit_folder_remove(folder);
  for (int i = 0; i < func->n_params; ++i) {
    const tir_buffer *b = func->params[i];
    args[i] = (runtime_kernel_arg){
        .name = b->name, .dtype = b->dtype, .ndim = 1, .shape = {b->shape[0]}, .is_output = !b->is_input};
  }
  tn_kernel_fn fn = (tn_kernel_fn)(uintptr_t)dlsym(library, func->name);
  assert_non_null(fn);
  return runtime_kernel_new(K.ctx, func->name, fn, func->n_params, args, unload, library);
}
