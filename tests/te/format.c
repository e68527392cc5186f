/* tn_format: one layout, the same when it is done twice; comments stay; what does not fit is refused with its place. */
#include <dirent.h>

#include "tests/te/tests.h"

static const struct format_row {
  const char *name, *text, *formatted; /* NULL: as it is written */
} rows[] = {
    {"nothing", "", NULL},
    {"empty lines alone", "\n\n \n", ""},
    {"one newline at the end", "C[i<4] = A[i]", "C[i<4] = A[i]\n"},
    {"one empty line at most", "\n\na = 1\n\n\n\nb = 2\n\n", "a = 1\n\nb = 2\n"},
    {"blanks at ends of lines, tabs, carriage returns", "# c  \r\na = 1\t \r\n", "# c\na = 1\n"},
    {"definition", "C[i<4,j<N+1]=A [ i ]+ B[j]", "C[i<4, j<N+1] = A[i] + B[j]\n"},
    {"plain indices stand close", "C[i<4] = A[i, 0] + B[i+1,0] + s[ ]", "C[i<4] = A[i,0] + B[i+1, 0] + s[]\n"},
    {"shapes do not", "input A:f32[4,8],s:i32", "input A: f32[4, 8], s: i32\n"},
    {"products beside sums", "C = a*b; D = a * b + c; E = (a + b) * c", "C = a * b; D = a*b + c; E = (a + b) * c\n"},
    {"small factors", "C = (a + 1) * b + c", "C = (a+1)*b + c\n"},
    {"comparisons", "C[i<4] = select(i + 1 < 4 && !(i >= 2), A[i], -B[i])",
     "C[i<4] = select(i+1 < 4 && !(i >= 2), A[i], -B[i])\n"},
    {"reduction", "C = sum[k<4,l<5 where k<l init = - 1](A[k]*-B[l])",
     "C = sum[k<4, l<5 where k < l init = -1](A[k] * -B[l])\n"},
    {"numbers keep their signs", "C = 1e-5+2E+3-.5e-1", "C = 1e-5 + 2E+3 - .5e-1\n"},
    {"symbols", "symbol M,3 <= N <= 64", "symbol M, 3<=N<=64\n"},
    {"statements of one line", "a = 1;;b=2 ;", "a = 1; b = 2\n"},
    {"comments stay", "# one\na = 1 # two\n  # three\n", "# one\na = 1  # two\n# three\n"},
    {"a comment inside", "C = max(a, # first\nb)", "C = max(a,  # first\n        b)\n"},
    {"lines go on", "C =\na +\nb\nparam N = 1,\nM = 2", "C =\n  a +\n  b\nparam N = 1,\n  M = 2\n"},
    {"below the bracket", "C[i<4] = min(A[i],\n B[i])", "C[i<4] = min(A[i],\n             B[i])\n"},
    {"or two blanks in", "C[i<4] = min(\n A[i],\n B[i])", "C[i<4] = min(\n  A[i],\n  B[i])\n"},
    {"aligned equals signs stay aligned", "M[i<4]      =  1\nE[i<4,j<4] =  2\n", "M[i<4] = 1\nE[i<4, j<4] = 2\n"},
    {"where they were", "M[i<4]      = 1\nE[i<4, j<4] = 2\nP[i<4] = 3\n", NULL},
    {"and get as long as the longest", "M[i<4]     = 1\nE[i<4,j<4] = 2\n", "M[i<4]      = 1\nE[i<4, j<4] = 2\n"},
    {"aligned comments, too", "a = 1     # x\nbb = 22   # y\nc = 3 # z\n", "a = 1    # x\nbb = 22  # y\nc = 3  # z\n"},
    {"combiner", "combiner c(a:f32;b)=(a+b),identity(0)", "combiner c(a: f32; b) = (a + b), identity (0)\n"},
    {"calls and scans", "extern(y:f32[4],z:i32)=f( A,-1 )\nscan(S,T)[t<4]=(1,2)",
     "extern (y: f32[4], z: i32) = f(A, -1)\nscan (S, T)[t<4] = (1, 2)\n"},
    {"intrinsic", "intrin f{c[i<4]=a[i]}body g,\nalign a 64,strides a[*,1]",
     "intrin f { c[i<4] = a[i] } body g,\n  align a 64, strides a [*, 1]\n"},
    {"blocks", "schedule{\nsplit(C,i,8,tail = peel)\n# lanes\n vectorize(C,i.inner)\n}\nC=1",
     "schedule {\n  split(C, i, 8, tail=peel)\n  # lanes\n  vectorize(C, i.inner)\n}\nC = 1\n"},
    {"a schedule", "split(C,i,8,tail = peel) ;vectorize( C, i.inner );\ntransform_layout(P,[i,j]->[j//4,i,j%4])",
     "split(C, i, 8, tail=peel); vectorize(C, i.inner)\ntransform_layout(P, [i, j] -> [j//4, i, j%4])\n"},
    {"conditions of schedules", "set_store_predicate(C,i+1>=1&&i<15)", "set_store_predicate(C, i+1 >= 1 && i < 15)\n"},
    {"files", "include   \"a b.te\"\nlink\"x.ll\"", "include \"a b.te\"\nlink \"x.ll\"\n"},
};

static void check_twice(tn_context *ctx, const char *text, const char *formatted) {
  char *once = tn_format(ctx, text), *twice = once ? tn_format(ctx, once) : NULL;
  check_ok(ctx);
  if (formatted) check_text(once, formatted);
  check_text(twice, once);
  free(once);
  free(twice);
}

static void formats(void **state) {
  const struct format_row *row = *state;
  tn_context *ctx = check_context();
  check_twice(ctx, row->text, row->formatted ? row->formatted : row->text);
  check_context_free(ctx);
}

static const struct refused_row {
  const char *name, *text, *parts[2];
} refused[] = {
    {"a bracket that is not closed", "C[i<4] = max(a,\n b", {"line 1, column 13", "this is never closed"}},
    {"a bracket that is not open", "C = 1\nD = 2)", {"line 2, column 6", "nothing that this closes is open"}},
    {"another bracket", "C[i<4) = 1", {"column 6", "nothing that this closes is open"}},
    {"a string", "include \"a", {"column 9", "this quote is not closed"}},
    {"a character", "C = a ? b", {"column 7", "no text has this character"}},
};

static void refuses(void **state) {
  const struct refused_row *row = *state;
  tn_context *ctx = check_context();
  assert_null(tn_format(ctx, row->text));
  check_fails(ctx, TN_ERROR_PARSE, "format error at", row->parts[0], row->parts[1]);
  check_context_free(ctx);
}

/* What is shipped is laid out so, and parses to the same program. */
static void shipped_programs(void **state) {
  (void)state;
  static const char folder[] = TENON_SOURCE_DIR "/examples/programs";
  tn_context *ctx = check_context();
  DIR *dir = opendir(folder);
  int n = 0;
  assert_non_null(dir);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (!strstr(path, ".te")) continue;
    char *text = runtime_read_text(ctx, path);
    check_twice(ctx, text, text);
    free(text);
    n++;
  }
  closedir(dir);
  assert_true(n >= 20);
  check_context_free(ctx);
}

/* Deep nesting ends in an error; many lines take no longer than their number. */
static void large_texts(void **state) {
  (void)state;
  enum { DEPTH = 5000, LINES = 20000 };
  tn_context *ctx = check_context();
  runtime_str deep = {0}, lines = {0};
  for (int i = 0; i < DEPTH; i++) runtime_str_add(&deep, "(");
  for (int i = 0; i < LINES; i++) runtime_str_addf(&lines, "T%d[i<4]  = A[i,%d]*2+1 # c\n", i, i);
  assert_null(tn_format(ctx, deep.data));
  check_fails(ctx, TN_ERROR_PARSE, "brackets are nested too deeply");
  check_twice(ctx, lines.data, NULL);
  assert_null(tn_format(ctx, NULL));
  assert_null(tn_format(NULL, ""));
  runtime_str_free(&deep);
  runtime_str_free(&lines);
  check_context_free(ctx);
}

int test_format(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_programs), cmocka_unit_test(large_texts)};
  return CHECK_TABLE("formatted texts", rows, formats) + CHECK_TABLE("texts without a format", refused, refuses) +
         CHECK_TESTS("formatting", tests);
}
