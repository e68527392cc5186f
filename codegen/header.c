/* header.c: the C header that declares a kernel, and the names a kernel may have. */
#include <ctype.h>

#include "codegen/internal.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const char *const keywords[] = {
    "auto",   "break",  "case",     "char",   "const",    "continue", "default",  "do",     "double",
    "else",   "enum",   "extern",   "float",  "for",      "goto",     "if",       "inline", "int",
    "long",   "main",   "register", "return", "restrict", "short",    "signed",   "sizeof", "static",
    "struct", "switch", "typedef",  "union",  "unsigned", "void",     "volatile", "while",
};

/* Names that C, C++ or the linker give another meaning; main among them. */
bool codegen_is_keyword(const char *name) {
  for (int i = 0; i < RUNTIME_COUNT(keywords); i++) {
    if (strcmp(keywords[i], name) == 0) return true;
  }
  return false;
}

tn_status codegen_check_name(tn_context *ctx, const char *name) {
  enum { MAX_NAME = 200 };
  size_t n = 0;
  if (isdigit((unsigned char)*name))
    n = 1;
  else
    while (isalnum((unsigned char)name[n]) || name[n] == '_') n++;
  if (n > 0 && name[n] == '\0' && n <= MAX_NAME && !codegen_is_keyword(name)) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                      "the function name \"%s\" cannot be used: it must be a C identifier of at most %d characters, no "
                      "keyword",
                      name, MAX_NAME);
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static const char *c_type(tn_dtype dtype) {
  static const char *const names[TN_DTYPE_COUNT] = {
#define X(name, text, bytes, code, ctype) [TN_##name] = #ctype,
      TN_DTYPES(X)
#undef X
  };
  return names[dtype];
}

/* "A.local" cannot be a parameter's name: what C does not take becomes '_'. */
static void add_identifier(runtime_str *out, const char *name) {
  if (isdigit((unsigned char)*name) || codegen_is_keyword(name)) runtime_str_add(out, "_");
  for (; *name != '\0'; name++) runtime_str_addf(out, "%c", isalnum((unsigned char)*name) ? *name : '_');
}

/* " *   A  in  f32[64, 64]" */
static void add_argument_comment(runtime_str *out, const runtime_kernel_arg *arg) {
  runtime_str_add(out, " *   ");
  add_identifier(out, arg->name);
  runtime_str_addf(out, "  %s  %s",
                   arg->by_value    ? "by value"
                   : arg->is_output ? "out"
                                    : "in",
                   tn_dtype_name(arg->dtype));
  if (arg->by_value) {
    runtime_str_add(out, "\n");
    return;
  }
  runtime_str_add(out, "[");
  for (int i = 0; i < arg->ndim; i++) {
    runtime_str_add(out, i ? ", " : "");
    runtime_kernel_add_extent(out, arg, i);
  }
  runtime_str_add(out, arg->is_strided ? "], with strides in elements, the last 1" : "]");
  runtime_str_add(out, arg->is_strided && arg->is_output ? ", that keep its elements apart\n" : "\n");
}

/* Pointers first, then what is passed by value. */
static void add_prototype(runtime_str *out, const char *name, int n_args, const runtime_kernel_arg *args) {
  runtime_str_addf(out, "int32_t %s(", name);
  const char *comma = "";
  for (int by_value = 0; by_value < 2; by_value++) {
    for (int i = 0; i < n_args; i++) {
      if (args[i].by_value != (by_value == 1)) continue;
      runtime_str_addf(out, "%s%s%s %s", comma, by_value || args[i].is_output ? "" : "const ", c_type(args[i].dtype),
                       by_value ? "" : "*");
      add_identifier(out, args[i].name);
      comma = ", ";
    }
  }
  for (int i = 0; n_args > 0 && i < args[0].n_symbols; i++) {
    runtime_str_addf(out, "%sint64_t ", comma);
    add_identifier(out, args[0].symbols[i].name);
  }
  for (int i = 0; i < n_args; i++) {
    for (int d = 0; args[i].is_strided && d < args[i].ndim - 1; d++) {
      runtime_str_addf(out, "%sint64_t ", comma);
      add_identifier(out, args[i].name);
      runtime_str_addf(out, "_stride%d", d);
    }
  }
  runtime_str_addf(out, "%s);\n", n_args == 0 ? "void" : "");
}

static void add_guard(runtime_str *out, const char *before, const char *name) {
  runtime_str_addf(out, "%sTENON_KERNEL_", before);
  for (; *name != '\0'; name++) runtime_str_addf(out, "%c", toupper((unsigned char)*name));
  runtime_str_add(out, "_H\n");
}

char *codegen_header(tn_context *ctx, const char *name, int n_args, const runtime_kernel_arg *args) {
  if (codegen_check_name(ctx, name) != TN_OK) return NULL;
  runtime_str out = {0};
  runtime_str_addf(&out, "/* %s: a kernel made by Tenon %s. */\n", name, TN_VERSION);
  add_guard(&out, "#ifndef ", name);
  add_guard(&out, "#define ", name);
  runtime_str_add(&out, "\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  runtime_str_add(&out, "/* Arrays are compact, row-major and do not overlap.\n");
  for (int i = 0; i < n_args; i++) add_argument_comment(&out, &args[i]);
  for (int i = 0; n_args > 0 && i < args[0].n_symbols; i++)
    runtime_str_addf(&out, " *   %s  an extent, %lld .. %lld\n", args[0].symbols[i].name,
                     (long long)args[0].symbols[i].least, (long long)args[0].symbols[i].most);
  runtime_str_add(&out, " * Returns 0, or 1 when there was no memory for scratch. */\n");
  add_prototype(&out, name, n_args, args);
  runtime_str_add(&out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  if (!out.failed) return out.data;
  runtime_str_free(&out);
  runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for the header of %s", name);
  return NULL;
}
