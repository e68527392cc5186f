/* Programs in files: what they include, where their mistakes are told to be, what they link; what a text may not do. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/te/tests.h"

/* Files, each with its text, in a folder of their own; the first one is parsed. */
typedef struct file_text {
  const char *name, *text;
} file_text;

enum { MAX_FILES = 4 };

static void path_of(char path[256], const char *folder, const char *name) {
  snprintf(path, 256, "%s/%s", folder, name);
}

static void write_files(const char *folder, const file_text *files) {
  char path[256];
  for (int i = 0; i < MAX_FILES && files[i].name; i++) {
    path_of(path, folder, files[i].name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(files[i].text, file);
    fclose(file);
  }
}

static void remove_files(const char *folder, const file_text *files) {
  char path[256];
  for (int i = 0; i < MAX_FILES && files[i].name; i++) path_of(path, folder, files[i].name), unlink(path);
  path_of(path, folder, "sub");
  rmdir(path);
  rmdir(folder);
}

static void make_folder(char folder[64]) {
  char sub[256];
  snprintf(folder, 64, "/tmp/tenon-te-XXXXXX");
  assert_non_null(mkdtemp(folder));
  path_of(sub, folder, "sub");
  assert_int_equal(mkdir(sub, 0700), 0);
}

/* FIRST is parsed in its folder. */
static tn_program *parse_files(tn_context *ctx, const char *folder, const file_text *files) {
  char path[256];
  path_of(path, folder, files[0].name);
  return tn_program_parse_file(ctx, path, 0, NULL);
}

/* ---- what is read ------------------------------------------------------------------------------------------------ */

static const struct good_row {
  const char *name, *printed;
  file_text files[MAX_FILES];
} good[] = {
    {"one file", "input A: f32[4]\nC[i<4] = A[i]\n", {{"a.te", "C[i<4] = A[i]"}}},
    {"definitions of another file",
     "input A: f32[4]\nB[i<4] = A[i] + 1.0\nC[i<4] = B[i]*2.0\n",
     {{"a.te", "include \"b.te\"\nC[i<N] = B[i] * 2"}, {"b.te", "param N = 4\nB[i<N] = A[i] + 1"}}},
    {"no newline at the end, and statements beside it",
     "input A: f32[4]\nB[i<4] = A[i] + 1.0\nC[i<4] = B[i]*2.0\n",
     {{"a.te", "param N = 4; include \"b.te\" # here\n; C[i<N] = B[i] * 2"}, {"b.te", "B[i<N] = A[i] + 1 # end"}}},
    {"a file once",
     "input A: f32[4]\nB[i<4] = A[i] + 1.0\nC[i<4] = B[i]*2.0\n",
     {{"a.te", "include \"b.te\"; include \"c.te\"; include \"./b.te\""},
      {"b.te", "B[i<4] = A[i] + 1"},
      {"c.te", "include \"b.te\"\nC[i<4] = B[i] * 2"}}},
    {"beside the file that includes",
     "input A: f32[4]\nB[i<4] = A[i] + 1.0\nC[i<4] = B[i]*2.0\n",
     {{"a.te", "include \"sub/b.te\"; C[i<4] = B[i] * 2"},
      {"sub/b.te", "include \"c.te\""},
      {"sub/c.te", "B[i<4] = A[i] + 1"}}},
    {"comments, strings and braces hold no statement",
     "input A: f32[4]\nC[i<4] = A[i]\n",
     {{"a.te", "# include \"no.te\"\nschedule {\n  # }\ninclude \"no.te\"\n}\nC[i<4] = A[\ni]"}}},
    {"a tensor named include",
     "input include: f32[4]\nlink[i<4] = include[i]\n",
     {{"a.te", "link[i<4] =\n include[i]"}}},
};

static void reads_files(void **state) {
  const struct good_row *row = *state;
  char folder[64];
  tn_context *ctx = check_context();
  make_folder(folder);
  write_files(folder, row->files);
  tn_program *p = parse_files(ctx, folder, row->files);
  remove_files(folder, row->files);
  check_ok(ctx);
  check_text(tn_program_text(p), row->printed);
  check_context_free(ctx);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static const struct bad_row {
  const char *name, *parts[3];
  file_text files[MAX_FILES];
} bad[] = {
    {"itself", {"/a.te: parse error at line 2, column 1", "/a.te includes itself"}, {{"a.te", "\ninclude \"a.te\""}}},
    {"a ring",
     {"/c.te: parse error at line 1", "/a.te includes itself", "c.te is included in line 1 of"},
     {{"a.te", "include \"b.te\""}, {"b.te", "include \"c.te\""}, {"c.te", "include \"a.te\""}}},
    {"a file that is not there",
     {"/a.te: parse error at line 3, column 1", "cannot open", "/none.te: No such file or directory"},
     {{"a.te", "\n\ninclude \"none.te\"\nC[i<4] = A[i]"}}},
    {"a folder", {"/a.te: parse error at line 1", "/sub is no regular file"}, {{"a.te", "include \"sub\""}}},
    {"a mistake in another file",
     {"/b.te: parse error at line 2, column 10", "unknown function 'relu'", "b.te is included in line 1 of"},
     {{"a.te", "include \"b.te\""}, {"b.te", "# head\nB[i<4] = relu(A[i])"}}},
    {"a mistake behind an include",
     {"/a.te: parse error at line 3, column 10", "unknown function 'relu'"},
     {{"a.te", "# head\ninclude \"b.te\"\nC[i<4] = relu(B[i])"}, {"b.te", "\n\nB[i<4] = A[i]\n"}}},
    {"a name of another file",
     {"/a.te: parse error at line 2, column 1", "'B' is already given in line 1 of", "/b.te"},
     {{"a.te", "include \"b.te\"\nB[i<4] = A[i]"}, {"b.te", "B[i<4] = A[i]"}}},
    {"no closing quote", {"/a.te: parse error at line 1, column 9", "no closing quote"}, {{"a.te", "include \"b.te"}}},
    {"no name", {"/a.te: parse error at line 1, column 9", "expected a file's name"}, {{"a.te", "include \"\""}}},
    {"more behind it", {"line 1, column 16", "expected the end of the statement"}, {{"a.te", "include \"b.te\" C"}}},
    {"in parentheses", {"unexpected character '\"'"}, {{"a.te", "C[i<4] = (\ninclude \"b.te\")"}}},
    {"a pattern in another file",
     {"/b.te: parse error at line 2, column 14", "expected"},
     {{"a.te", "include \"b.te\"\nC[i<4] = A[i]"}, {"b.te", "# head\nintrin f { c[ } body g"}}},
};

static void refuses_files(void **state) {
  const struct bad_row *row = *state;
  char folder[64];
  tn_context *ctx = check_context();
  make_folder(folder);
  write_files(folder, row->files);
  assert_null(parse_files(ctx, folder, row->files));
  remove_files(folder, row->files);
  for (int i = 0; i < 3 && row->parts[i]; i++) check_has(tn_context_message(ctx), row->parts[i]);
  check_context_free(ctx);
}

/* Each file includes the next one. */
static void too_deep(void **state) {
  (void)state;
  enum { DEPTH = 20 };
  char folder[64], path[256], text[64];
  tn_context *ctx = check_context();
  make_folder(folder);
  for (int i = 0; i < DEPTH; i++) {
    snprintf(text, sizeof text, "d%d.te", i);
    path_of(path, folder, text);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "include \"d%d.te\"\n", i + 1);
    fclose(file);
  }
  path_of(path, folder, "d0.te");
  assert_null(tn_program_parse_file(ctx, path, 0, NULL));
  check_fails(ctx, TN_ERROR_PARSE, "/d16.te: parse error at line 1", "files include each other 16 deep");
  for (int i = 0; i < DEPTH; i++) {
    snprintf(text, sizeof text, "d%d.te", i);
    path_of(path, folder, text);
    unlink(path);
  }
  remove_files(folder, (file_text[MAX_FILES]){{0}});
  check_context_free(ctx);
}

/* Alone each is short enough, together they are not. */
static void too_long(void **state) {
  (void)state;
  static const file_text files[MAX_FILES] = {{"a.te", "include \"b.te\"\nC[i<4] = B[i]                           "},
                                             {"b.te", "B[i<4] = A[i]                                           "}};
  char folder[64];
  tn_context *ctx = tn_context_new(&(tn_context_options){.limits = {.text_bytes = 64}});
  make_folder(folder);
  write_files(folder, files);
  assert_null(parse_files(ctx, folder, files));
  check_has(tn_context_message(ctx), "a.te and what it includes is longer than 64 bytes");
  check_has(tn_context_message(ctx), "text_bytes");
  remove_files(folder, files);
  tn_context_free(ctx);
}

/* A record's program is a text: nothing in it names a file. */
static void texts_open_nothing(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(tn_program_parse(ctx, "include \"/etc/passwd\"\nC[i<4] = A[i]", 0, NULL));
  check_fails(ctx, TN_ERROR_PARSE, "line 1, column 1", "include stands in program files only", "opens no files");
  assert_null(tn_program_parse(ctx, "C[i<4] = A[i]\nlink \"f.ll\"", 0, NULL));
  check_fails(ctx, TN_ERROR_PARSE, "line 2, column 1", "link stands in program files only");
  assert_null(tn_program_parse(ctx, "intrin f { link \"f.ll\"; c[i<4] = a[i] } body g; C[i<4] = A[i]", 0, NULL));
  check_fails(ctx, TN_ERROR_PARSE, "link stands in program files only");
  check_context_free(ctx);
}

/* Not in the text, which is what records hold. */
static void links_and_schedules(void **state) {
  (void)state;
  static const file_text files[MAX_FILES] = {
      {"a.te", "include \"sub/b.te\"\nschedule { split(C, i, 2) }\nC[i<4] = A[i]\nlink \"/lib/y.bc\""},
      {"sub/b.te", "link \"x.ll\"; schedule {\n vectorize(C, i.inner)\n}"}};
  char folder[64], path[256];
  tn_context *ctx = check_context();
  make_folder(folder);
  write_files(folder, files);
  tn_program *p = parse_files(ctx, folder, files), *plain = parse(ctx, "C[i<4] = A[i]");
  check_ok(ctx);
  assert_int_equal(tn_program_link_count(p), 2);
  path_of(path, folder, "sub/x.ll");
  assert_string_equal(tn_program_link_path(p, 0), path);
  assert_string_equal(tn_program_link_path(p, 1), "/lib/y.bc");
  assert_null(tn_program_link_path(p, 2));
  check_text(tn_program_schedule(p), "\n vectorize(C, i.inner)\n\n split(C, i, 2) \n");
  check_text(tn_program_text(p), tn_program_text(plain));
  assert_string_equal(tn_program_key(p), tn_program_key(plain));
  assert_null(tn_program_schedule(plain));
  assert_int_equal(tn_program_link_count(plain), 0);
  remove_files(folder, files);
  check_context_free(ctx);
}

static void nulls(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  assert_null(tn_program_parse_file(NULL, "a.te", 0, NULL));
  assert_null(tn_program_parse_file(ctx, NULL, 0, NULL));
  assert_null(tn_program_schedule(NULL));
  assert_int_equal(tn_program_link_count(NULL), 0);
  assert_null(tn_program_link_path(NULL, 0));
  check_context_free(ctx);
}

int test_files(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(too_deep), cmocka_unit_test(too_long),
                                     cmocka_unit_test(texts_open_nothing), cmocka_unit_test(links_and_schedules),
                                     cmocka_unit_test(nulls)};
  return CHECK_TABLE("program files", good, reads_files) + CHECK_TABLE("refused files", bad, refuses_files) +
         CHECK_TESTS("files", tests);
}
