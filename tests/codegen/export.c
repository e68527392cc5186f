/* Exports side by side: two modules in one program, what they leave undefined, and the same bytes every time. */
#include "tests/codegen/kit.h"

typedef struct module {
  const char *name, *program, *schedule;
} module;

/* Both have parallel loops, scratch on the heap, vectors, functions of libm, and helpers in C. */
static const module modules[] = {
    {"first", "T[i<64, j<300] = exp(A[i,j])\nC[i<64, j<300] = T[i,j] + max(T[i,299-j], 0)",
     "compute_at(T, C, i); split(C, j, 13); vectorize(C, j.inner); parallel(C, i)"},
    {"second", "input A: i32[20000]; T[i<20000] = A[i] * 3\nC[i<20000] = T[19999-i] // (A[i] % 5)",
     "split(T, i, 16); vectorize(T, i.inner); split(C, i, 8); vectorize(C, i.inner); parallel(C, i.outer)"},
};

static tn_schedule *scheduled(tn_context *ctx, const module *m) {
  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, m->program, 0, NULL));
  tn_schedule_apply(s, m->schedule);
  check_ok(ctx);
  return s;
}

static void write_module(tn_context *ctx, const module *m, const char *folder, const char *form) {
  char path[128];
  tn_schedule *s = scheduled(ctx, m);
  tn_build_options options = {.target = tn_target_new(ctx, "threads=2"), .name = m->name};
  snprintf(path, sizeof path, "%s/%s.%s", folder, m->name, form);
  tn_build_file(s, &options, path);
  snprintf(path, sizeof path, "%s/%s.h", folder, m->name);
  tn_build_header(s, &options, path);
  check_ok(ctx);
  tn_schedule_free(s);
}

/* ---- two in one program ------------------------------------------------------------------------------------------ */

static const char use[] =
    "#include <math.h>\n"
    "#include \"first.h\"\n"
    "#include \"second.h\"\n"
    "static float a[64 * 300], c[64 * 300];\n"
    "static int32_t x[20000], y[20000];\n"
    "int main(void) {\n"
    "  for (int i = 0; i < 20000; ++i) x[i] = i % 7 - 3;\n"
    "  if (first(a, c) != 0 || second(x, y) != 0) return 2;\n"
    "  for (int i = 0; i < 64 * 300; ++i) if (c[i] != 2) return 3;\n"
    "  for (int i = 0; i < 20000; ++i) {\n"
    "    int n = 3 * x[19999 - i], d = (x[i] % 5 + 5) % 5;\n"
    "    if (y[i] != (d == 0 ? 0 : (int)floor((double)n / d))) return 4;\n"
    "  }\n"
    "  return 0;\n"
    "}\n";

typedef struct link_row {
  const char *name, *first, *second, *flags;
} link_row;

static const link_row link_rows[] = {
    {"objects", "o", "o", ""},
    {"an object and assembly", "o", "s", ""},
    {"C and C", "c", "c", "-fopenmp"},
    {"C without OpenMP and an object", "c", "o", ""},
};

static void link_two(void **state) {
  const link_row *r = *state;
  char folder[64], path[128];
  kit_folder(folder);
  write_module(K.ctx, &modules[0], folder, r->first);
  write_module(K.ctx, &modules[1], folder, r->second);
  snprintf(path, sizeof path, "%s/use.c", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(use, file);
  fclose(file);
  assert_int_equal(
      kit_shell(NULL,
                "cd %s && cc -std=c17 -Wall -Wextra -Werror %s -static use.c first.%s second.%s -o use -lgomp "
                "-lm 1>&2 && ./use 1>&2",
                folder, r->flags, r->first, r->second),
      0);
  kit_folder_remove(folder);
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static const struct symbol_row {
  const char *name, *form, *compile;
} symbol_rows[] = {
    {"of the object", "o", "true"},
    {"of the assembly", "s", "cc -c first.s && cc -c second.s"},
    {"of the C source", "c", "cc -O2 -fopenmp -c first.c && cc -O2 -fopenmp -c second.c"},
    {"of the C source by clang", "c",
     "{ ! clang-19 --version || { clang-19 -O2 -c first.c && clang-19 -O2 -c second.c; }; }"},
    {"of the IR", "ll", "{ ! clang-19 --version || { clang-19 -O2 -c first.ll && clang-19 -O2 -c second.ll; }; }"},
};

/* libc, libm, libgomp; nothing else, and only the kernel is global. */
static void symbols(void **state) {
  const struct symbol_row *r = *state;
  char folder[64];
  runtime_str out = {0};
  kit_folder(folder);
  for (int i = 0; i < 2; ++i) write_module(K.ctx, &modules[i], folder, r->form);
  assert_int_equal(kit_shell(NULL, "cd %s && %s > /dev/null", folder, r->compile), 0);
  kit_shell(&out,
            "cd %s && nm -u *.o 2> /dev/null | awk 'NF == 2 {print $2}' | "
            "grep -vE '^(GOMP_[a-z_]+|omp_get_(thread_num|num_threads)|aligned_alloc|free|mem(set|cpy)|expf"
            "|_GLOBAL_OFFSET_TABLE_)$'",
            folder);
  if (out.n > 0) fail_msg("needed besides libc, libm and libgomp: %s", out.data);
  kit_shell(&out,
            "cd %s && nm -g --defined-only *.o 2> /dev/null | awk 'NF == 3 {print $3}' | grep -vxE 'first|second'",
            folder);
  if (out.n > 0) fail_msg("defined besides the kernels: %s", out.data);
  runtime_str_free(&out);
  kit_folder_remove(folder);
}

/* ---- the same bytes ---------------------------------------------------------------------------------------------- */

static const struct form_row {
  const char *name;
} form_rows[] = {{"o"}, {"s"}, {"c"}, {"ll"}, {"bc"}};

/* From two contexts, the second one not fresh. */
static void same_bytes(void **state) {
  const struct form_row *r = *state;
  char folders[2][64];
  for (int i = 0; i < 2; ++i) {
    tn_context *ctx = check_context();
    kit_folder(folders[i]);
    if (i == 1) write_module(ctx, &modules[1], folders[i], "o");
    write_module(ctx, &modules[0], folders[i], r->name);
    check_context_free(ctx);
  }
  assert_int_equal(kit_shell(NULL, "cmp %s/first.%s %s/first.%s 1>&2", folders[0], r->name, folders[1], r->name), 0);
  for (int i = 0; i < 2; ++i) kit_folder_remove(folders[i]);
}

int test_export(void) {
  return CHECK_TABLE("two modules in one program", link_rows, link_two) + CHECK_TABLE("symbols", symbol_rows, symbols) +
         CHECK_TABLE("the same bytes", form_rows, same_bytes);
}
