/* names.c: the names that kernels and their parameters may have in C and C++. */
#include <ctype.h>
#include <dlfcn.h>

#include "codegen/internal.h"

/* Words with a meaning of their own in some C or C++, and what the headers that every file includes give one:
 * stdint.h and stddef.h, and macros that are lower-case words, or the letter that complex.h takes. In alphabetic
 * order. */
static const char *const words[] = {
    "I",
    "INFINITY",
    "NAN",
    "NULL",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "complex",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "i386",
    "if",
    "imaginary",
    "inline",
    "int",
    "linux",
    "long",
    "main",
    "mutable",
    "namespace",
    "near",
    "new",
    "noexcept",
    "noreturn",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

/* stdint.h's and stddef.h's types and limits: int8_t ... uint_fast64_t, size_t, INT8_MIN ... UINT64_MAX, SIZE_MAX. */
static bool is_of_stdint(const char *name) {
  static const char *const types[] = {"int",  "uint",    "intptr",    "uintptr", "intmax", "uintmax",
                                      "size", "ptrdiff", "max_align", "ssize",   "nullptr"};
  static const char *const limits[] = {"INT", "UINT", "SIZE_", "PTRDIFF_", "WCHAR_", "WINT_", "SIG_ATOMIC_"};
  size_t n = strlen(name);
  for (int i = 0; n > 2 && strcmp(name + n - 2, "_t") == 0 && i < RUNTIME_COUNT(types); i++) {
    size_t head = strlen(types[i]);
    if (strncmp(name, types[i], head) == 0 && (head == n - 2 || i < 2)) return true;
  }
  for (int i = 0; i < RUNTIME_COUNT(limits); i++)
    if (strncmp(name, limits[i], strlen(limits[i])) == 0) return true;
  return false;
}

/* C keeps what begins with two underscores, or with one and a capital, for itself. */
static bool is_of_the_compiler(const char *name) {
  return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

bool codegen_is_word_of_c(const char *name) {
  return RUNTIME_FIND(words, name) >= 0 || is_of_stdint(name) || is_of_the_compiler(name);
}

/* Whether a library that every program has, or gets with a kernel's object, has a symbol of this name: an object that
 * defines it would take its place. Asks the libraries of this machine. */
static bool is_symbol_of_libc(const char *name) {
  static const char *const files[] = {"libc.so.6", "libm.so.6", "libgomp.so.1"};
  bool found = false;
  for (int i = 0; i < RUNTIME_COUNT(files) && !found; i++) {
    void *library = dlopen(files[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (library == NULL) continue;
    found = dlsym(library, name) != NULL;
    dlclose(library);
  }
  return found;
}

/* ASCII, at most CODEGEN_MAX_NAME. */
static bool is_identifier(const char *name) {
  size_t n = 0;
  if (isdigit((unsigned char)*name)) return false;
  while (isalnum((unsigned char)name[n]) || name[n] == '_') n++;
  return n > 0 && name[n] == '\0' && n <= CODEGEN_MAX_NAME;
}

/* The proposed name, kernel_NAME, is always free. */
tn_status codegen_check_name(tn_context *ctx, const char *name) {
  if (!is_identifier(name))
    return runtime_fail(
        ctx, TN_ERROR_ARGUMENT,
        "the function name \"%.80s\" cannot be used: it must be a C identifier of at most %d characters", name,
        CODEGEN_MAX_NAME);
  const char *why = codegen_is_word_of_c(name) ? "it has a meaning of its own in C, C++ or their headers"
                    : is_symbol_of_libc(name)  ? "the C library has something of that name"
                                               : NULL;
  if (why == NULL) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_ARGUMENT, "the function name \"%s\" cannot be used: %s; kernel_%s can", name, why,
                      name);
}

/* Two names may become one: the callers number them. */
const char *codegen_plain_name(runtime_arena *arena, const char *name, bool is_reserved) {
  bool fits = isalpha((unsigned char)*name) && !is_reserved;
  char *plain = runtime_format(arena, "%s%s", fits ? "" : "v_", name);
  for (char *at = plain; at != NULL && *at != '\0'; at++) *at = isalnum((unsigned char)*at) ? *at : '_';
  return plain;
}
