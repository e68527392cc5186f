/* A schedule's kernel from C source, by the C compiler that TENON_FUZZ_CC names: "cc -std=c17 -O1 -Wall -Wextra". A
 * compiler that fails or says anything is a finding. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "codegen/compile.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_ARGS = 64 };

/* Runs the compiler; what it says is left in SAYS. */
static bool compile(const char *folder, const char *command, runtime_str *says) {
  char block[1024];
  runtime_str line = {0};
  runtime_str_addf(&line, "%s -shared -fPIC '%s/k.c' -o '%s/k.so' -lm 2>&1", command, folder, folder);
  FILE *pipe = popen(line.data, "r");
  runtime_str_free(&line);
  if (!pipe) return false;
  for (size_t n; (n = fread(block, 1, sizeof block, pipe)) > 0;) runtime_str_addn(says, block, n);
  return pclose(pipe) == 0 && says->n == 0;
}

static void unload(void *library) { dlclose(library); }

static tn_kernel *load(const tn_schedule *s, const char *folder) {
  char path[256];
  runtime_kernel_arg args[MAX_ARGS];
  snprintf(path, sizeof path, "%s/k.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library || s->program->n_args > MAX_ARGS) {
    runtime_fail(s->ctx, TN_ERROR_CODEGEN, "%s", library ? "too many arguments" : dlerror());
    return NULL;
  }
  tn_kernel_fn fn = (tn_kernel_fn)(uintptr_t)dlsym(library, "kernel");
  return runtime_kernel_new(s->ctx, "kernel", fn, codegen_kernel_args(s->program, &s->ctx->arena, args), args, unload,
                            library);
}

static tn_kernel *build(const tn_schedule *s, const char *folder, const char *command) {
  char path[256];
  runtime_str says = {0};
  snprintf(path, sizeof path, "%s/k.c", folder);
  if (tn_build_file(s, NULL, path) != TN_OK) return NULL;
  bool compiled = compile(folder, command, &says);
  if (!compiled) runtime_fail(s->ctx, TN_ERROR_CODEGEN, "%s: %s", command, says.data ? says.data : "failed");
  runtime_str_free(&says);
  return compiled ? load(s, folder) : NULL;
}

tn_kernel *fuzz_build_through_c(const tn_schedule *s, const char *command) {
  char folder[] = "/tmp/tenon-fuzz-XXXXXX", path[256];
  if (!mkdtemp(folder)) return NULL;
  tn_kernel *kernel = build(s, folder, command);
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, i ? "k.so" : "k.c");
    unlink(path);
  }
  rmdir(folder);
  return kernel;
}
