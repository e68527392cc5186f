/* Data of a kind for arrays, and NumPy's files: what they hold, and what is refused. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/common/check.h"
#include "tests/runtime/tests.h"

enum { N = 4000 };

/* Mean, least, most and share of zeros of N numbers. */
typedef struct seen {
  double mean, least, most, zeros;
} seen;

static seen look(const char *how, uint64_t seed) {
  tn_context *ctx = check_context();
  DLTensor *a = tn_array_new(ctx, TN_F64, 1, (int64_t[]){N});
  assert_int_equal(tn_array_fill_as(ctx, a, how, seed), TN_OK);
  const double *x = a->data;
  seen s = {0, x[0], x[0], 0};
  for (int i = 0; i < N; ++i) {
    s.mean += x[i] / N;
    s.least = fmin(s.least, x[i]);
    s.most = fmax(s.most, x[i]);
    s.zeros += (x[i] == 0) / (double)N;
  }
  tn_array_free(a);
  check_context_free(ctx);
  return s;
}

static void kinds_are_what_they_say(void **state) {
  (void)state;
  seen uniform = look("uniform(0.1, 2)", 1), normal = look("normal", 1), moved = look("normal(5,0.1)", 1);
  assert_true(uniform.least >= 0.1 && uniform.most < 2 && fabs(uniform.mean - 1.05) < 0.05);
  assert_true(fabs(normal.mean) < 0.06 && normal.least < -2.5 && normal.most > 2.5);
  assert_true(fabs(moved.mean - 5) < 0.01 && moved.most < 5.6);
  seen zeros = look("zeros", 1), iota = look("iota", 1), index = look("index(10)", 1), sparse = look("sparse(0.9)", 1);
  assert_true(zeros.least == 0 && zeros.most == 0);
  assert_true(iota.least == 0 && iota.most == N - 1 && fabs(iota.mean - (N - 1) / 2.0) < 1e-6);
  assert_true(index.least == 0 && index.most == 9);
  assert_true(fabs(sparse.zeros - 0.9) < 0.03 && sparse.most > 0.9);
}

static void integers_are_whole_and_reach_both_ends(void **state) {
  (void)state;
  DLTensor *a = tn_array_new(NULL, TN_I8, 1, (int64_t[]){N});
  assert_int_equal(tn_array_fill_as(NULL, a, "uniform(-3, 3)", 1), TN_OK);
  int8_t least = 0, most = 0;
  for (int i = 0; i < N; ++i) {
    least = RUNTIME_MIN(least, ((int8_t *)a->data)[i]);
    most = RUNTIME_MAX(most, ((int8_t *)a->data)[i]);
  }
  assert_int_equal(least, -3);
  assert_int_equal(most, 3);
  tn_array_free(a);
}

/* Every dtype goes out and comes back. */
static void numpy_files_come_back(void **state) {
  (void)state;
  char path[] = "/tmp/tenon-npy-XXXXXX", how[64];
  close(mkstemp(path));
  snprintf(how, sizeof how, "file:%s", path);
  for (int dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype) {
    for (int rank = 0; rank < 4; ++rank) {
      DLTensor *a = tn_array_new(NULL, (tn_dtype)dtype, rank, (int64_t[]){3, 1, 7});
      DLTensor *b = tn_array_new(NULL, (tn_dtype)dtype, rank, (int64_t[]){3, 1, 7});
      assert_int_equal(tn_array_fill(NULL, a, 3), TN_OK);
      assert_int_equal(runtime_npy_write(NULL, path, a), TN_OK);
      assert_int_equal(tn_array_fill_as(NULL, b, how, 0), TN_OK);
      assert_memory_equal(a->data, b->data, tn_array_bytes(a));
      tn_array_free(a);
      tn_array_free(b);
    }
  }
  unlink(path);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

typedef struct refusal {
  const char *how, *what, *remedy;
} refusal;

static const refusal refusals[] = {
    {"gauss(1)", "no kind 'gauss'", "uniform(LOW, HIGH), normal"},
    {"uniform", "uniform takes 2 numbers", "uniform(0.1, 2)"},
    {"uniform(2, 1)", "uniform needs LOW < HIGH", "uniform(2, 1)"},
    {"uniform(1, x)", "uniform takes 2 numbers", "uniform(1, x)"},
    {"uniform(1, 2", "uniform takes 2 numbers", "uniform(1, 2"},
    {"zeros(1)", "zeros takes 0 numbers", "as in zeros"},
    {"index(0)", "a whole N of 1 or more", "index(0)"},
    {"index(2.5)", "a whole N of 1 or more", "index(2.5)"},
    {"sparse(1.5)", "a SHARE from 0 to 1", "sparse(1.5)"},
    {"normal(0,-1)", "DEVIATION of 0 or more", "normal(0,-1)"},
    {"file:/no/such.npy", "/no/such.npy", "No such file"},
    {NULL, "no kind of data is given", "file:PATH"},
};

static void refused_kinds_leave_the_array(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  DLTensor *a = tn_array_new(ctx, TN_F32, 1, (int64_t[]){4});
  for (int i = 0; i < RUNTIME_COUNT(refusals); ++i) {
    assert_true(tn_array_fill_as(ctx, a, refusals[i].how, 1) != TN_OK);
    check_message_has(ctx, refusals[i].what, refusals[i].remedy);
    tn_context_clear(ctx);
    for (int k = 0; k < 4; ++k) assert_true(((float *)a->data)[k] == 0);
  }
  tn_array_free(a);
  check_context_free(ctx);
}

/* A file's bytes behind "\x93NUMPY" and the version, and what is said of it to a 2 x 3 array of f32. */
typedef struct broken {
  const char *version, *header;
  int n_data;
  const char *what;
} broken;

#define HEADER(descr, order, shape) "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"
static const broken broken_files[] = {
    {"\1", HEADER("<f4", "False", "(2, 3)"), 20, "ends after 20 of 24 bytes"},
    {"\1", HEADER("<f4", "False", "(2, 3)"), 25, "goes on behind the data"},
    {"\4", HEADER("<f4", "False", "(2, 3)"), 24, "none of 1, 2 and 3"},
    {"\1", HEADER("<f8", "False", "(2, 3)"), 48, "its dtype is '<f8', the array is f32: save it as '<f4'"},
    {"\1", HEADER(">f4", "False", "(2, 3)"), 24, "big-endian"},
    {"\1", HEADER("<f4", "True", "(2, 3)"), 24, "numpy.ascontiguousarray"},
    {"\1", HEADER("<f4", "False", "(3, 2)"), 24, "its shape is [3, 2], that of the array [2, 3]"},
    {"\1", HEADER("<f4", "False", "(6,)"), 24, "its shape is [6], that of the array [2, 3]"},
    {"\1", "{'descr': '<f4', 'shape': (2, 3), }", 24, "does not say descr, fortran_order and shape"},
    {"\1", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", 24, "of one array"},
};

static void write_broken(const char *path, const broken *b) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  unsigned n = (unsigned)strlen(b->header);
  unsigned char length[4] = {(unsigned char)n, (unsigned char)(n >> 8), 0, 0};
  fwrite("\x93NUMPY", 1, 6, file);
  fwrite(b->version, 1, 1, file);
  fputc(0, file);
  fwrite(length, 1, b->version[0] == 1 ? 2 : 4, file);
  fwrite(b->header, 1, n, file);
  for (int i = 0; i < b->n_data; ++i) fputc(0, file);
  fclose(file);
}

static void broken_files_are_refused(void **state) {
  (void)state;
  tn_context *ctx = check_context();
  char path[] = "/tmp/tenon-npy-XXXXXX";
  close(mkstemp(path));
  DLTensor *a = tn_array_new(ctx, TN_F32, 2, (int64_t[]){2, 3});
  for (int i = 0; i < RUNTIME_COUNT(broken_files); ++i) {
    write_broken(path, &broken_files[i]);
    assert_true(runtime_npy_read(ctx, path, a) != TN_OK);
    check_message_has(ctx, path, broken_files[i].what);
    tn_context_clear(ctx);
  }
  FILE *file = fopen(path, "wb");
  fputs("not an array", file);
  fclose(file);
  assert_int_equal(runtime_npy_read(ctx, path, a), TN_ERROR_IO);
  check_fails(ctx, TN_ERROR_IO, path, "not NumPy's format");
  unlink(path);
  tn_array_free(a);
  check_context_free(ctx);
}

/* Versions 2 and 3 have a longer length. */
static void later_versions_are_read(void **state) {
  (void)state;
  char path[] = "/tmp/tenon-npy-XXXXXX";
  close(mkstemp(path));
  DLTensor *a = tn_array_new(NULL, TN_F32, 2, (int64_t[]){2, 3});
  for (int version = 2; version <= 3; ++version) {
    const broken whole = {version == 2 ? "\2" : "\3", HEADER("<f4", "False", "(2, 3)"), 24, ""};
    ((float *)a->data)[5] = 1;
    write_broken(path, &whole);
    assert_int_equal(runtime_npy_read(NULL, path, a), TN_OK);
    assert_true(((float *)a->data)[5] == 0);
  }
  unlink(path);
  tn_array_free(a);
}

int test_fill(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_are_what_they_say),  cmocka_unit_test(integers_are_whole_and_reach_both_ends),
      cmocka_unit_test(numpy_files_come_back),    cmocka_unit_test(refused_kinds_leave_the_array),
      cmocka_unit_test(broken_files_are_refused), cmocka_unit_test(later_versions_are_read),
  };
  return CHECK_TESTS("data of a kind", tests);
}
