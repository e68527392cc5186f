/* npy.c: NumPy's file of one array: six bytes of magic, the version, the length of the header, the header
 * (a Python dictionary with descr, fortran_order and shape), and the data. Source: numpy.lib.format. */
#include <errno.h>
#include <stdio.h>

#include "runtime/base.h"

/* MAX_HEADER: the longest header that is read. PAD: NumPy aligns the data to so many bytes. */
enum { MAGIC_BYTES = 6, MAX_HEADER = 1 << 16, DESCR_BYTES = 16, PAD = 64 };
static const char magic[] = "\x93NUMPY";

/* NumPy's names, little-endian. It has no bf16, which is therefore two bytes of no kind, as ml_dtypes writes it. */
static const char *const descrs[TN_DTYPE_COUNT] = {
    [TN_BOOL] = "|b1", [TN_I8] = "|i1",  [TN_U8] = "|u1",  [TN_I16] = "<i2",  [TN_U16] = "<u2", [TN_I32] = "<i4",
    [TN_U32] = "<u4",  [TN_I64] = "<i8", [TN_F16] = "<f2", [TN_BF16] = "|V2", [TN_F32] = "<f4", [TN_F64] = "<f8"};

/* What a header says: dtype, order, shape. */
typedef struct npy_header {
  char descr[DESCR_BYTES];
  bool is_fortran;
  int ndim;
  int64_t shape[TN_MAX_RANK];
} npy_header;

/* ---- reading the header ------------------------------------------------------------------------------------------ */

/* The value after 'KEY': and blanks; NULL: there is no such key. */
static const char *value_of(const char *text, const char *key) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s':", key);
  const char *at = strstr(text, quoted);
  return at ? at + strlen(quoted) + strspn(at + strlen(quoted), " ") : NULL;
}

/* False for a descr that is not a quoted text but a list of fields: a structured array has no dtype of Tenon's. */
static bool read_descr(const char *at, npy_header *out) {
  const char *end = at && *at == '\'' ? strchr(at + 1, '\'') : NULL;
  if (!end || end - at - 1 >= DESCR_BYTES) return false;
  snprintf(out->descr, sizeof out->descr, "%.*s", (int)(end - at - 1), at + 1);
  return true;
}

/* "(3, 4)", "(3,)", "()" */
static bool read_shape(const char *at, npy_header *out) {
  if (!at || *at++ != '(') return false;
  for (out->ndim = 0;; ++out->ndim) {
    at += strspn(at, ", ");
    if (*at == ')') return true;
    char *end;
    errno = 0;
    long long extent = strtoll(at, &end, 10);
    if (end == at || errno || extent < 0 || out->ndim == TN_MAX_RANK) return false;
    out->shape[out->ndim] = extent;
    at = end;
  }
}

/* Parses a header: a Python dictionary with three keys in any order. False: one is missing or not understood. */
static bool parse_header(const char *text, npy_header *out) {
  const char *order = value_of(text, "fortran_order");
  bool is_false = order && strncmp(order, "False", 5) == 0, is_true = order && strncmp(order, "True", 4) == 0;
  out->is_fortran = is_true;
  return (is_false || is_true) && read_descr(value_of(text, "descr"), out) && read_shape(value_of(text, "shape"), out);
}

/* The header's text, malloc'ed; NULL with the reason. */
static char *read_header(FILE *file, const char **why) {
  unsigned char start[MAGIC_BYTES + 2], length[4] = {0};
  *why = "it is not NumPy's format (.npy)";
  if (fread(start, 1, sizeof start, file) != sizeof start || memcmp(start, magic, MAGIC_BYTES) != 0) return NULL;
  int major = start[MAGIC_BYTES];
  *why = "its version of NumPy's format is none of 1, 2 and 3";
  if (major < 1 || major > 3) return NULL;
  *why = "its header is cut short";
  size_t n_length = major == 1 ? 2 : 4;
  if (fread(length, 1, n_length, file) != n_length) return NULL;
  size_t n = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
  char *text = n <= MAX_HEADER ? calloc(1, n + 1) : NULL;
  if (text && fread(text, 1, n, file) == n) return text;
  if (n > MAX_HEADER) *why = "its header is longer than 65536 bytes";
  free(text);
  return NULL;
}

/* ---- what does not fit ------------------------------------------------------------------------------------------- */

static tn_status refuse(tn_context *ctx, const char *path, const char *why) {
  return runtime_fail(ctx, TN_ERROR_IO, "%s: %s", path, why);
}

/* Appends a shape as Python writes it, "[2, 3]". */
static void add_shape(runtime_str *out, int ndim, const int64_t *shape) {
  runtime_str_add(out, "[");
  for (int i = 0; i < ndim; ++i) runtime_str_addf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
  runtime_str_add(out, "]");
}

/* The message has both shapes, since it may simply be the wrong file. */
static tn_status check_shape(tn_context *ctx, const char *path, const npy_header *h, const DLTensor *array) {
  bool is_same = h->ndim == array->ndim;
  for (int i = 0; is_same && i < h->ndim; ++i) is_same = h->shape[i] == array->shape[i];
  if (is_same) return TN_OK;
  runtime_str text = {0};
  runtime_str_addf(&text, "%s: its shape is ", path);
  add_shape(&text, h->ndim, h->shape);
  runtime_str_add(&text, ", that of the array ");
  add_shape(&text, array->ndim, array->shape);
  tn_status status = runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s", text.failed ? path : text.data);
  runtime_str_free(&text);
  return status;
}

/* Whether the order matters: Fortran's and C's are the same bytes unless two extents exceed 1. */
static bool has_order(const npy_header *h) {
  int n = 0;
  for (int i = 0; i < h->ndim; ++i) n += h->shape[i] > 1;
  return n > 1;
}

/* Each mismatch has its message, which says how to save the file so that it fits. */
static tn_status check_header(tn_context *ctx, const char *path, const npy_header *h, const DLTensor *array,
                              tn_dtype dtype) {
  const char *wanted = descrs[dtype];
  bool is_same = strcmp(h->descr + 1, wanted + 1) == 0 && h->descr[0] != '>';
  if (h->descr[0] == '>' && strcmp(h->descr + 1, wanted + 1) == 0)
    return refuse(ctx, path,
                  "its numbers are big-endian: save it as little-endian, by a.astype(a.dtype.newbyteorder('<'))");
  if (!is_same)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: its dtype is '%s', the array is %s: save it as '%s'", path,
                        h->descr, tn_dtype_name(dtype), wanted);
  if (h->is_fortran && has_order(h))
    return refuse(ctx, path, "it is in Fortran's order: save it in C order, by numpy.ascontiguousarray");
  return check_shape(ctx, path, h, array);
}

/* ---- whole files ------------------------------------------------------------------------------------------------- */

/* Too few bytes and too many are both errors: header and data disagree. */
static tn_status read_data(tn_context *ctx, const char *path, FILE *file, DLTensor *array) {
  size_t bytes = tn_array_bytes(array), n = fread((char *)array->data + array->byte_offset, 1, bytes, file);
  if (n == bytes && fgetc(file) == EOF) return TN_OK;
  if (n == bytes) return refuse(ctx, path, "it goes on behind the data of its shape");
  return runtime_fail(ctx, TN_ERROR_IO, "%s: it ends after %zu of %zu bytes of data", path, n, bytes);
}

/* Reads a file into ARRAY, whose shape and DTYPE must match. After a failure its data may be partly written. */
static tn_status read_file(tn_context *ctx, const char *path, FILE *file, DLTensor *array, tn_dtype dtype) {
  const char *why;
  npy_header header;
  char *text = read_header(file, &why);
  if (!text) return refuse(ctx, path, why);
  bool is_read = parse_header(text, &header);
  free(text);
  if (!is_read) return refuse(ctx, path, "its header does not say descr, fortran_order and shape of one array");
  tn_status status = check_header(ctx, path, &header, array, dtype);
  return status == TN_OK ? read_data(ctx, path, file, array) : status;
}

tn_status runtime_npy_read(tn_context *ctx, const char *path, DLTensor *array) {
  tn_dtype dtype;
  tn_status status = runtime_array_writable(ctx, "reading an array", array, &dtype);
  if (status != TN_OK) return status;
  FILE *file = fopen(path, "rbe");
  if (!file) return refuse(ctx, path, strerror(errno));
  status = read_file(ctx, path, file, array, dtype);
  fclose(file);
  return status;
}

/* Writes version 1; the data begins at a multiple of 64. */
tn_status runtime_npy_write(tn_context *ctx, const char *path, const DLTensor *array) {
  tn_dtype dtype;
  runtime_str header = {0};
  tn_status status = runtime_array_writable(ctx, "writing an array", array, &dtype);
  if (status != TN_OK) return status;
  runtime_str_addf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descrs[dtype]);
  for (int i = 0; i < array->ndim; ++i) runtime_str_addf(&header, "%lld, ", (long long)array->shape[i]);
  runtime_str_add(&header, "), }");
  while ((MAGIC_BYTES + 4 + header.n + 1) % PAD != 0) runtime_str_add(&header, " ");
  runtime_str_add(&header, "\n");
  FILE *file = header.failed ? NULL : fopen(path, "wbe");
  unsigned char start[] = {1, 0, (unsigned char)header.n, (unsigned char)(header.n >> 8)};
  bool is_whole =
      file && fwrite(magic, 1, MAGIC_BYTES, file) == MAGIC_BYTES &&
      fwrite(start, 1, sizeof start, file) == sizeof start && fwrite(header.data, 1, header.n, file) == header.n &&
      fwrite((char *)array->data + array->byte_offset, 1, tn_array_bytes(array), file) == tn_array_bytes(array);
  if (!is_whole) status = refuse(ctx, path, errno ? strerror(errno) : "out of memory");
  if (file && fclose(file) != 0 && status == TN_OK) status = refuse(ctx, path, strerror(errno));
  runtime_str_free(&header);
  return status;
}
