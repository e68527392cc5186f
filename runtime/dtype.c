/* dtype.c: data types, with a row each that is made from the table in runtime.h. */
#include <string.h>

#include "runtime/base.h"

/* A dtype's name, size and DLPack code. */
typedef struct dtype_row {
  const char *name;
  size_t bytes;
  DLDataTypeCode code;
} dtype_row;

static const dtype_row rows[TN_DTYPE_COUNT] = {
#define X(name, text, bytes, code, ctype) [TN_##name] = {text, bytes, code},
    TN_DTYPES(X)
#undef X
};

/* The row of a dtype; NULL for a value outside the enum. */
static const dtype_row *row_of(tn_dtype dtype) { return (unsigned)dtype < TN_DTYPE_COUNT ? &rows[dtype] : NULL; }

const char *tn_dtype_name(tn_dtype dtype) {
  const dtype_row *row = row_of(dtype);
  return row ? row->name : "?";
}

size_t tn_dtype_bytes(tn_dtype dtype) {
  const dtype_row *row = row_of(dtype);
  return row ? row->bytes : 0;
}

bool tn_dtype_is_float(tn_dtype dtype) { return runtime_is_float(dtype); }

/* Floats count as signed, booleans as unsigned. */
bool tn_dtype_is_signed(tn_dtype dtype) {
  const dtype_row *row = row_of(dtype);
  return row && row->code != kDLUInt;
}

/* OUT may be NULL to ask only whether there is such a dtype. If there is none, nothing is written. */
bool tn_dtype_parse(const char *name, tn_dtype *out) {
  for (int i = 0; name && i < TN_DTYPE_COUNT; ++i) {
    if (strcmp(rows[i].name, name) != 0) continue;
    if (out) *out = (tn_dtype)i;
    return true;
  }
  return false;
}

/* A value outside the enum gives zero bits, which no tensor has, so comparisons with it fail. */
DLDataType tn_dtype_dlpack(tn_dtype dtype) {
  const dtype_row *row = row_of(dtype);
  if (!row) return (DLDataType){0};
  return (DLDataType){.code = (uint8_t)row->code, .bits = (uint8_t)(8 * row->bytes), .lanes = 1};
}
