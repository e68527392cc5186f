/* write.c: a kernel as a file: the suffix chooses the form. */
#include "codegen/file.h"
#include "codegen/internal.h"

/* A form that a file can have. */
typedef struct suffix_row {
  const char *suffix;
  codegen_form form;
  bool shared; /* linked from the object */
} suffix_row;

/* What a file's name says of its form, and whether it is linked. */
static const suffix_row suffixes[] = {{".o", CODEGEN_OBJECT, false},   {".so", CODEGEN_OBJECT, true},
                                      {".s", CODEGEN_ASSEMBLY, false}, {".ll", CODEGEN_IR, false},
                                      {".bc", CODEGEN_BITCODE, false}, {".c", CODEGEN_C, false}};

/* Behind the last dot of the file's own name. */
static const suffix_row *find_suffix(tn_context *ctx, const char *path) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
  const suffix_row *row = RUNTIME_ROW(suffixes, dot);
  if (row == NULL)
    runtime_fail(ctx, TN_ERROR_ARGUMENT, "the suffix of %s says no form of code: use .o, .so, .s, .ll, .bc or .c",
                 path);
  return row;
}

/* Shared objects are linked by this machine's compiler. */
static tn_status check_linkable(tn_context *ctx, const tn_target *target, const char *path) {
  if (target == NULL || target->is_own) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                      "%s cannot be linked here: triple=%s is another machine; write an object (.o)", path,
                      target->triple);
}

/* Compiled in memory first, then written at once. */
tn_status codegen_write(tn_context *ctx, const tir_func *func, const tn_target *target, const char *path) {
  if (ctx == NULL || func == NULL || path == NULL) return TN_ERROR_ARGUMENT;
  const suffix_row *row = find_suffix(ctx, path);
  if (row == NULL) return TN_ERROR_ARGUMENT;
  codegen_bytes bytes;
  tn_status status = row->shared ? check_linkable(ctx, target, path) : TN_OK;
  if (status == TN_OK) status = codegen_bytes_of(ctx, func, target, row->form, &bytes);
  if (status != TN_OK) return status;
  status = row->shared ? codegen_link_shared(ctx, &bytes, path) : codegen_write_file(ctx, path, bytes.data, bytes.n);
  free(bytes.data);
  return status;
}
