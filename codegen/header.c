/* header.c: the C header that declares a kernel. */
#include <ctype.h>

#include "codegen/c_emit.h"
#include "codegen/internal.h"

/* A header being written, and what its parameters are called: arguments, then symbols, then strides. */
typedef struct header {
  runtime_str out;
  const char *name;
  int n_args;
  const runtime_kernel_arg *args;
  runtime_arena arena;
  RUNTIME_VEC(const char *) names;
  bool failed; /* no memory for names */
} header;

/* ---- names of parameters ----------------------------------------------------------------------------------------- */

/* C has one name space for arguments, extents and strides. */
static bool is_taken(const header *h, const char *name) {
  return runtime_find_row(h->names.data, h->names.n, sizeof *h->names.data, name) >= 0;
}

/* What is taken already gets a number after it. */
static void add_name(header *h, const char *name) {
  const char *plain = codegen_plain_name(&h->arena, name, codegen_is_word_of_c(name)), *chosen = plain;
  for (int i = 1; chosen != NULL && is_taken(h, chosen); i++) chosen = runtime_format(&h->arena, "%s_%d", plain, i);
  h->failed = h->failed || chosen == NULL || !RUNTIME_PUSH(&h->names, chosen);
}

/* All arguments have the same. */
static int symbol_count(const header *h) { return h->n_args > 0 ? h->args[0].n_symbols : 0; }

static int stride_count(const runtime_kernel_arg *arg) { return arg->is_strided && arg->ndim > 1 ? arg->ndim - 1 : 0; }

/* A_stride0 counts elements. */
static void add_stride_names(header *h, const char *array, int n) {
  for (int d = 0; d < n && !h->failed; d++) {
    const char *name = runtime_format(&h->arena, "%s_stride%d", array, d);
    if (name == NULL)
      h->failed = true;
    else
      add_name(h, name);
  }
}

/* Arguments first, so that they keep their own names and the strides get other ones. */
static bool choose_names(header *h) {
  for (int i = 0; i < h->n_args; i++) add_name(h, h->args[i].name);
  for (int i = 0; i < symbol_count(h); i++) add_name(h, h->args[0].symbols[i].name);
  for (int i = 0; i < h->n_args && !h->failed; i++) add_stride_names(h, h->names.data[i], stride_count(&h->args[i]));
  return !h->failed;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* " *   A  in  f32[64, 64]" */
static void add_argument_comment(header *h, int i) {
  const runtime_kernel_arg *arg = &h->args[i];
  const char *role = arg->by_value ? "by value" : arg->is_output ? "out" : "in";
  runtime_str_addf(&h->out, " *   %s  %s  %s", h->names.data[i], role, tn_dtype_name(arg->dtype));
  if (arg->by_value) {
    runtime_str_add(&h->out, "\n");
    return;
  }
  runtime_str_add(&h->out, "[");
  for (int d = 0; d < arg->ndim; d++) {
    runtime_str_add(&h->out, d ? ", " : "");
    runtime_kernel_add_extent(&h->out, arg, d);
  }
  runtime_str_add(&h->out, arg->is_strided ? "], with strides in elements, the last 1" : "]");
  runtime_str_add(&h->out, arg->is_strided && arg->is_output ? ", that keep its elements apart\n" : "\n");
}

/* Pointers first, then what is passed by value, then extents and strides. */
static void add_prototype(header *h) {
  const char *comma = "";
  runtime_str_addf(&h->out, "int32_t %s(", h->name);
  for (int by_value = 0; by_value < 2; by_value++) {
    for (int i = 0; i < h->n_args; i++) {
      const runtime_kernel_arg *arg = &h->args[i];
      if (arg->by_value != (by_value == 1)) continue;
      runtime_str_addf(&h->out, "%s%s%s %s%s", comma, by_value || arg->is_output ? "" : "const ",
                       codegen_c_type(arg->dtype), by_value ? "" : "*", h->names.data[i]);
      comma = ", ";
    }
  }
  for (int i = h->n_args; i < h->names.n; i++) {
    runtime_str_addf(&h->out, "%sint64_t %s", comma, h->names.data[i]);
    comma = ", ";
  }
  runtime_str_addf(&h->out, "%s);\n", h->n_args == 0 ? "void" : "");
}

/* From the kernel's name, which is unique in its program. */
static void add_guard(runtime_str *out, const char *before, const char *name) {
  runtime_str_addf(out, "%sTENON_KERNEL_", before);
  for (; *name != '\0'; name++) runtime_str_addf(out, "%c", toupper((unsigned char)*name));
  runtime_str_add(out, "_H\n");
}

/* What a C caller must know that the types do not say goes into the comment: layout, aliasing, extents, alignment. */
static void write_header(header *h) {
  runtime_str_addf(&h->out, "/* %s: a kernel made by Tenon %s. */\n", h->name, TN_VERSION);
  add_guard(&h->out, "#ifndef ", h->name);
  add_guard(&h->out, "#define ", h->name);
  runtime_str_add(&h->out, "\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  runtime_str_add(&h->out, "/* Arrays are compact, row-major and do not overlap.\n");
  for (int i = 0; i < h->n_args; i++) add_argument_comment(h, i);
  for (int i = 0; i < symbol_count(h); i++)
    runtime_str_addf(&h->out, " *   %s  an extent, %lld .. %lld\n", h->names.data[h->n_args + i],
                     (long long)h->args[0].symbols[i].least, (long long)h->args[0].symbols[i].most);
  runtime_str_add(&h->out, " * Returns 0, or 1 when there was no memory for scratch. */\n");
  add_prototype(h);
  runtime_str_add(&h->out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* Arguments only: the code is not looked at. */
char *codegen_header(tn_context *ctx, const char *name, int n_args, const runtime_kernel_arg *args) {
  if (codegen_check_name(ctx, name) != TN_OK) return NULL;
  header h = {.name = name, .n_args = n_args, .args = args};
  if (choose_names(&h)) write_header(&h);
  bool done = !h.failed && !h.out.failed;
  RUNTIME_VEC_FREE(&h.names);
  runtime_arena_free(&h.arena);
  if (done) return h.out.data;
  runtime_str_free(&h.out);
  runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the header of %s", name);
  return NULL;
}
