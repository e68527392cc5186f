/* Files: each form, what the exported object needs, C programs that use it, headers, and what is refused. */
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/codegen/kit.h"

/* C[i] = exp(A[i]) + scratch, in a parallel loop: everything an export may need. */
static tir_func *everything(void) {
  enum { N = 64, BIG = 1 << 14 };
  kit_begin();
  const tir_buffer *A = kit_in("A", TN_F32, N), *C = kit_out("C", TN_F32, N), *T = kit_scratch("T", TN_F32, BIG);
  const tir_var *i = kit_var("i");
  const tir_expr *power = tir_unary(&K.arena, TIR_EXP, kit_load(A, kit_at(i)));
  const tir_stmt *both[] = {kit_store(T, kit_mul(kit_at(i), BIG / N), power),
                            kit_store(C, kit_at(i), kit_load(T, kit_mul(kit_at(i), BIG / N)))};
  return kit_func("expand", kit_for(i, N, TIR_PARALLEL, tir_alloc(&K.arena, T, kit_seq(2, both))));
}

static const tn_target *two_threads(void) { return tn_target_new(K.ctx, "threads=2"); }

static const runtime_kernel_arg expand_args[] = {
    {.name = "A", .dtype = TN_F32, .ndim = 2, .shape = {8, 8}, .is_output = false},
    {.name = "C", .dtype = TN_F32, .ndim = 2, .shape = {8, 8}, .is_output = true}};

static const char use_expand[] =
    "#include \"expand.h\"\n"
    "#include <math.h>\n"
    "int main(void) {\n"
    "  float a[64], c[64];\n"
    "  for (int i = 0; i < 64; ++i) a[i] = i / 64.0f;\n"
    "  if (expand(a, c) != 0) return 2;\n"
    "  for (int i = 0; i < 64; ++i) if (fabsf(c[i] - expf(a[i])) > 1e-5f) return 3;\n"
    "  return 0;\n"
    "}\n";

static void write_kernel(const char *folder, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  codegen_write(K.ctx, everything(), two_threads(), path);
  check_ok(K.ctx);
}

/* ---- each form --------------------------------------------------------------------------------------------------- */

typedef struct form_row {
  const char *name; /* the file's */
  const char *begins;
  size_t n;
} form_row;

static const form_row form_rows[] = {{"expand.o", "\177ELF", 4},     {"expand.so", "\177ELF", 4},
                                     {"expand.s", "\t.text", 6},     {"expand.ll", "; ModuleID", 10},
                                     {"expand.bc", "BC\xc0\xde", 4}, {"expand.c", "/* expand: a kernel", 19}};

static void form(void **state) {
  const form_row *r = *state;
  char folder[64], path[128];
  kit_folder(folder);
  write_kernel(folder, r->name);
  snprintf(path, sizeof path, "%s/%s", folder, r->name);
  char *text = runtime_read_file(K.ctx, path, NULL);
  check_ok(K.ctx);
  assert_memory_equal(text, r->begins, r->n);
  assert_int_equal(kit_folder_count(folder), 1);
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_true(info.st_mode & S_IRUSR);
  free(text);
  kit_folder_remove(folder);
}

/* ---- used by C --------------------------------------------------------------------------------------------------- */

static void prepare_program(char folder[64], const char *kernel) {
  kit_folder(folder);
  write_kernel(folder, kernel);
  char *header = codegen_header(K.ctx, "expand", 2, expand_args);
  kit_write(folder, "expand.h", header);
  kit_write(folder, "use.c", use_expand);
  free(header);
}

static void object_in_program(void **state) {
  (void)state;
  char folder[64];
  prepare_program(folder, "expand.o");
  assert_int_equal(
      kit_shell(NULL,
                "cd %s && cc -std=c99 -Wall -Wextra -Werror -pedantic use.c expand.o -lgomp -lm -o use 2>&1 && ./use",
                folder),
      0);
  kit_folder_remove(folder);
}

static void assembly_in_program(void **state) {
  (void)state;
  char folder[64];
  prepare_program(folder, "expand.s");
  assert_int_equal(kit_shell(NULL, "cd %s && cc use.c expand.s -lgomp -lm -o use 2>&1 && ./use", folder), 0);
  kit_folder_remove(folder);
}

static void shared_object(void **state) {
  (void)state;
  char folder[64], path[128];
  float a[64] = {0}, c[64] = {0};
  kit_folder(folder);
  write_kernel(folder, "expand.so");
  snprintf(path, sizeof path, "%s/expand.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail_msg("%s", dlerror());
  int32_t (*expand)(const float *, float *) = (int32_t (*)(const float *, float *))(uintptr_t)dlsym(library, "expand");
  assert_non_null(expand);
  assert_int_equal(expand(a, c), 0);
  assert_true(c[63] == 1.0f);
  dlclose(library);
  kit_folder_remove(folder);
}

/* What an export leaves undefined is in libc, libm and libgomp, and it defines nothing but its function. */
static void symbols(void **state) {
  (void)state;
  static const char *const known[] = {
      "GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads", "aligned_alloc", "free", "expf"};
  char folder[64], *save;
  runtime_str out = {0};
  kit_folder(folder);
  write_kernel(folder, "expand.o");
  assert_int_equal(kit_shell(&out, "nm -u %s/expand.o | awk '{print $2}'", folder), 0);
  for (char *word = strtok_r(out.data, "\n", &save); word != NULL; word = strtok_r(NULL, "\n", &save)) {
    bool found = false;
    for (int i = 0; i < RUNTIME_COUNT(known); ++i) found = found || strcmp(word, known[i]) == 0;
    if (!found) fail_msg("the export needs %s", word);
  }
  runtime_str_free(&out);
  assert_int_equal(kit_shell(&out, "nm -g --defined-only %s/expand.o | awk '{print $3}'", folder), 0);
  assert_string_equal(out.data, "expand\n");
  runtime_str_free(&out);
  kit_folder_remove(folder);
}

static void header_in_cpp(void **state) {
  (void)state;
  char folder[64];
  prepare_program(folder, "expand.o");
  kit_write(
      folder, "use.cc",
      "#include \"expand.h\"\n#include \"expand.h\"\nint main() { return sizeof expand(nullptr, nullptr) != 4; }\n");
  if (kit_shell(NULL, "c++ --version > /dev/null 2>&1") != 0) skip();
  assert_int_equal(kit_shell(NULL, "cd %s && c++ -Wall -Werror use.cc expand.o -lgomp -lm -o use 2>&1", folder), 0);
  kit_folder_remove(folder);
}

static void header_text(void **state) {
  (void)state;
  static const runtime_kernel_arg args[] = {
      {.name = "A.local", .dtype = TN_I8, .ndim = 0, .shape = {0}, .is_output = false},
      {.name = "int", .dtype = TN_BOOL, .ndim = 1, .shape = {3}, .is_output = false},
      {.name = "C", .dtype = TN_F64, .ndim = 3, .shape = {1, 2, 3}, .is_output = true}};
  char *text = codegen_header(K.ctx, "odd_names", 3, args);
  check_ok(K.ctx);
  check_has(text, "int32_t odd_names(const int8_t *A_local, const uint8_t *v_int, double *C);");
  check_has(text, " *   A_local  in  i8[]");
  check_has(text, " *   C  out  f64[1, 2, 3]");
  check_has(text, "#ifndef TENON_KERNEL_ODD_NAMES_H");
  free(text);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

typedef struct refusal_row {
  const char *name;
  const char *path;
  tn_status status;
  const char *message;
} refusal_row;

static const refusal_row refusal_rows[] = {
    {"no suffix", "/tmp/kernel", TN_ERROR_ARGUMENT, "use .o, .so, .s, .ll, .bc or .c"},
    {"unknown suffix", "/tmp/kernel.exe", TN_ERROR_ARGUMENT, "the suffix of /tmp/kernel.exe"},
    {"suffix of a folder", "/tmp/x.o/kernel", TN_ERROR_ARGUMENT, "the suffix of /tmp/x.o/kernel"},
    {"no such folder", "/nonexistent/kernel.o", TN_ERROR_IO, "cannot write /nonexistent/kernel.o: No such file"},
    {"no such folder, linked", "/nonexistent/kernel.so", TN_ERROR_IO, "cannot write /nonexistent/kernel.so"},
    {"no folder but a file", "/dev/null/kernel.o", TN_ERROR_IO, "cannot write /dev/null/kernel.o: Not a directory"},
};

static void refuse_path(void **state) {
  const refusal_row *r = *state;
  assert_int_equal(codegen_write(K.ctx, everything(), NULL, r->path), r->status);
  check_fails(K.ctx, r->status, r->message);
}

/* The target is a folder: the temporary file is gone again. */
static void refuse_folder(void **state) {
  (void)state;
  char folder[64], path[128];
  kit_folder(folder);
  snprintf(path, sizeof path, "%s/taken.o", folder);
  assert_int_equal(mkdir(path, 0777), 0);
  codegen_write(K.ctx, everything(), NULL, path);
  check_fails(K.ctx, TN_ERROR_IO, "cannot write", "taken.o", "Is a directory");
  assert_int_equal(kit_folder_count(folder), 1);
  kit_folder_remove(folder);
}

static void refuse_read_only(void **state) {
  (void)state;
  char folder[64], path[128];
  if (geteuid() == 0) skip(); /* root may write anywhere */
  kit_folder(folder);
  assert_int_equal(chmod(folder, 0500), 0);
  snprintf(path, sizeof path, "%s/kernel.o", folder);
  codegen_write(K.ctx, everything(), NULL, path);
  check_fails(K.ctx, TN_ERROR_IO, "cannot write", "Permission denied");
  chmod(folder, 0700);
  kit_folder_remove(folder);
}

/* An existing file stays what it was when the new one cannot be made. */
static void old_file_stays(void **state) {
  (void)state;
  char folder[64], path[128];
  kit_folder(folder);
  kit_write(folder, "kernel.o", "old");
  snprintf(path, sizeof path, "%s/kernel.o", folder);
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 1);
  codegen_write(K.ctx, kit_func("kernel", kit_store(C, kit_int(0), kit_at(kit_var("stray")))), NULL, path);
  check_fails(K.ctx, TN_ERROR_INTERNAL, "stray");
  char *text = runtime_read_file(K.ctx, path, NULL);
  assert_string_equal(text, "old");
  free(text);
  kit_folder_remove(folder);
}

static const struct name_row {
  const char *name, *why;
} name_rows[] = {{"", "C identifier"},
                 {"9lives", "C identifier"},
                 {"mat mul", "C identifier"},
                 {"mat-mul", "C identifier"},
                 {"a.b", "C identifier"},
                 {"\303\244", "C identifier"},
                 {"x;y", "C identifier"},
                 {"for", "a meaning of its own"},
                 {"class", "a meaning of its own"},
                 {"typeof", "a meaning of its own"},
                 {"linux", "a meaning of its own"},
                 {"size_t", "a meaning of its own"},
                 {"INT8_MAX", "a meaning of its own"},
                 {"_Bool", "a meaning of its own"},
                 {"__matmul", "a meaning of its own"},
                 {"malloc", "the C library has something of that name"},
                 {"expf", "the C library has something of that name"},
                 {"stpcpy", "the C library has something of that name"}};

static void refuse_name(void **state) {
  const struct name_row *r = *state;
  kit_begin();
  const tir_buffer *C = kit_out("C", TN_I32, 1);
  codegen_bytes object;
  codegen_object(K.ctx, kit_func(r->name, kit_store(C, kit_int(0), kit_int(1))), NULL, &object);
  check_fails(K.ctx, TN_ERROR_ARGUMENT, r->name, r->why);
  assert_null(codegen_header(K.ctx, r->name, 0, NULL));
  check_fails(K.ctx, TN_ERROR_ARGUMENT, r->name, r->why);
}

/* Parameters of every name that a program allows, and of names that fall together in C: the header compiles, as C of each
 * age and as C++, after headers that take names as macros. */
static void header_of_any_names(void **state) {
  (void)state;
  static const char *const names[] = {"asm",      "typeof",   "linux",   "_Bool",    "class",  "new",     "this",
                                      "template", "v_new",    "v_new_1", "A.b",      "A_b",    "int64_t", "INT8_MIN",
                                      "size_t",   "NULL",     "errno",   "stdin",    "I",      "complex", "bool",
                                      "__LINE__", "_Generic", "and",     "kernel",   "malloc", "wchar_t", "nullptr",
                                      "unix",     "main",     "X",       "X_stride0"};
  runtime_kernel_arg args[RUNTIME_COUNT(names)];
  for (int i = 0; i < RUNTIME_COUNT(names); ++i)
    args[i] = (runtime_kernel_arg){.name = names[i], .dtype = TN_F32, .ndim = 2, .shape = {2, 2}};
  args[30].is_strided = true;
  char *header = codegen_header(K.ctx, "kernel", RUNTIME_COUNT(names), args), folder[64];
  check_ok(K.ctx);
  kit_folder(folder);
  kit_write(folder, "kernel.h", header);
  kit_write(folder, "use.c",
            "#include <complex.h>\n#include <errno.h>\n#include <iso646.h>\n#include <stdbool.h>\n#include <stdio.h>\n"
            "#include <stdlib.h>\n#include \"kernel.h\"\nint main(void) { return 0; }\n");
  kit_write(folder, "use.cc", "#include <cerrno>\n#include <cstdio>\n#include \"kernel.h\"\nint main() {}\n");
  assert_int_equal(
      kit_shell(NULL,
                "cd %s && for s in c99 gnu99 c17 gnu2x; do cc -std=$s -Werror -c use.c -o use.o || exit 1; done && "
                "{ ! c++ --version >/dev/null 2>&1 || c++ -std=gnu++20 -Werror -c use.cc -o use.o; }",
                folder),
      0);
  free(header);
  kit_folder_remove(folder);
}

int test_files(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(object_in_program),   cmocka_unit_test(assembly_in_program),
      cmocka_unit_test(shared_object),       cmocka_unit_test(symbols),
      cmocka_unit_test(header_in_cpp),       cmocka_unit_test(header_text),
      cmocka_unit_test(header_of_any_names), cmocka_unit_test(refuse_folder),
      cmocka_unit_test(refuse_read_only),    cmocka_unit_test(old_file_stays)};
  return CHECK_TABLE("forms", form_rows, form) + CHECK_TESTS("files", tests) +
         CHECK_TABLE("paths refused", refusal_rows, refuse_path) + CHECK_TABLE("names refused", name_rows, refuse_name);
}
