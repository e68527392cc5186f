/* array.c: DLPack tensors on the CPU, compact and aligned. tn_array_new keeps the tensor, its shape and its
 * strides in one block. The dtype is kept with them because DLPack's form does not distinguish booleans
 * from bytes. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base.h"

/* DATA_ALIGNMENT: a cache line or a vector of 512 bits. LARGE_PAGE: the usual size of large pages on x86-64
 * and AArch64. */
enum { DATA_ALIGNMENT = 64, LARGE_PAGE = 2 << 20, MEMORY_LEVEL = 3 /* of the events of arrays */ };

/* What a DLTensor * made by Tenon points to. Its address is the tensor's, so that freeing it finds the
 * rest. Foreign tensors lack these members, so only those of tn_array_new and runtime_array_map may be
 * freed here. */
typedef struct owned_array {
  DLTensor tensor; /* first: users hold a pointer to it */
  int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
  tn_dtype dtype;
  runtime_held *held;  /* the context's count of its arrays */
  size_t mapped_bytes; /* of the pages that hold the data; 0: the data is malloc'ed */
} owned_array;

/* An extent of 0 makes the strides before it 0. That does no harm, as there is no element. */
void runtime_compact_strides(int ndim, const int64_t *shape, int64_t *strides) {
  int64_t stride = 1;
  for (int i = ndim; i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

/* An array without elements is compact whatever its strides are, as in NumPy. */
bool runtime_array_is_compact(const DLTensor *array) {
  if (!array->strides) return true;
  bool empty = false, compact = true;
  int64_t stride = 1;
  for (int i = array->ndim; i-- > 0;) {
    empty |= array->shape[i] == 0;
    compact &= array->shape[i] == 1 || array->strides[i] == stride;
    stride *= array->shape[i];
  }
  return empty || compact;
}

/* Names every dtype that DLPack can express, since it is used in messages that refuse one. */
const char *runtime_dltype_text(DLDataType dtype, char text[RUNTIME_DLTYPE_TEXT]) {
  static const char *const letters[] = {[kDLInt] = "i", [kDLUInt] = "u", [kDLFloat] = "f", [kDLBfloat] = "bf"};
  const char *letter = dtype.code < RUNTIME_COUNT(letters) ? letters[dtype.code] : NULL;
  int n = letter ? snprintf(text, RUNTIME_DLTYPE_TEXT, "%s%d", letter, dtype.bits)
                 : snprintf(text, RUNTIME_DLTYPE_TEXT, "(code %d)%d", dtype.code, dtype.bits);
  if (dtype.lanes != 1) snprintf(text + n, (size_t)(RUNTIME_DLTYPE_TEXT - n), "x%d", dtype.lanes);
  return text;
}

/* Counts the bytes of the data. False: more than half the address space. */
static bool count_bytes(size_t item_bytes, int ndim, const int64_t *shape, size_t *bytes) {
  size_t n = item_bytes;
  bool fits = true;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 0) {
      *bytes = 0;
      return true;
    }
    fits &= !__builtin_mul_overflow(n, (size_t)shape[i], &n);
  }
  *bytes = n;
  return fits && n < SIZE_MAX / 2;
}

/* Checks a request. *BYTES: the size of the data if it is valid. */
static tn_status check_request(tn_context *ctx, tn_dtype dtype, int ndim, const int64_t *shape, size_t *bytes) {
  if (tn_dtype_bytes(dtype) == 0) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_array_new: %d is no dtype", dtype);
  if (ndim < 0 || ndim > TN_MAX_RANK)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_array_new: rank %d is outside 0 to %d", ndim, TN_MAX_RANK);
  if (ndim > 0 && !shape) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_array_new: the shape is NULL");
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] < 0)
      return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_array_new: extent %lld of dimension %d is negative",
                          (long long)shape[i], i);
  }
  if (!count_bytes(tn_dtype_bytes(dtype), ndim, shape, bytes))
    return runtime_fail(ctx, TN_ERROR_MEMORY, "tn_array_new: the array is larger than the address space");
  return TN_OK;
}

/* Fills in what both kinds of memory have in common. */
static DLTensor *settle(tn_context *ctx, owned_array *array, tn_dtype dtype, int ndim, const int64_t *shape, void *data,
                        size_t bytes) {
  runtime_the_memory_observer.taken("array", MEMORY_LEVEL, data, bytes);
  for (int i = 0; i < ndim; ++i) array->shape[i] = shape[i];
  runtime_compact_strides(ndim, shape, array->strides);
  array->dtype = dtype;
  array->held = runtime_hold(ctx, RUNTIME_ARRAYS);
  array->tensor = (DLTensor){.data = data,
                             .device = {kDLCPU, 0},
                             .ndim = ndim,
                             .dtype = tn_dtype_dlpack(dtype),
                             .shape = array->shape,
                             .strides = array->strides};
  return &array->tensor;
}

/* Whether an array begins on a large page, so that all of it but the end lies in large pages in every process. */
static bool is_worth_large_pages(size_t bytes) { return bytes >= LARGE_PAGE; }

/* Asks for large pages for a large array, so that reading it with large strides waits less for address
 * translation (NumPy does the same). It is only a hint: no value depends on it. */
static void prefer_large_pages(void *data, size_t bytes) {
#ifdef MADV_HUGEPAGE
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)data + page - 1) & ~(page - 1);
  if (is_worth_large_pages(bytes))
    (void)madvise((char *)data + (first - (uintptr_t)data), bytes - (first - (uintptr_t)data), MADV_HUGEPAGE);
#else
  (void)data, (void)bytes;
#endif
}

/* MAPPED bytes of zeros that begin on a large page if that is worthwhile; what was mapped around them is
 * unmapped. MAP_FAILED: no memory. */
static void *map_pages(size_t mapped) {
  size_t more = is_worth_large_pages(mapped) ? LARGE_PAGE : 0;
  char *pages = mmap(NULL, mapped + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || more == 0) return pages;
  size_t before = (LARGE_PAGE - (uintptr_t)pages % LARGE_PAGE) % LARGE_PAGE;
  if (before > 0) munmap(pages, before);
  if (before < more) munmap(pages + before + mapped, more - before);
  return pages + before;
}

/* The data begin on a page and fill whole pages, so that mprotect on them affects nothing else. The worker
 * that measures candidates keeps inputs and expected results in such arrays: a candidate that writes there
 * faults. */
DLTensor *runtime_array_map(tn_context *ctx, tn_dtype dtype, int ndim, const int64_t *shape) {
  size_t bytes = 0, page = (size_t)sysconf(_SC_PAGESIZE);
  if (check_request(ctx, dtype, ndim, shape, &bytes) != TN_OK) return NULL;
  size_t mapped = (RUNTIME_MAX(bytes, (size_t)1) + page - 1) / page * page;
  owned_array *array = calloc(1, sizeof *array);
  void *pages = array ? map_pages(mapped) : MAP_FAILED;
  if (pages == MAP_FAILED) {
    free(array);
    runtime_the_memory_observer.refused("array", mapped);
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for %zu bytes", bytes);
    return NULL;
  }
  array->mapped_bytes = mapped;
  prefer_large_pages(pages, mapped);
  return settle(ctx, array, dtype, ndim, shape, pages, mapped);
}

size_t runtime_array_mapped_bytes(const DLTensor *array) { return ((const owned_array *)array)->mapped_bytes; }

DLTensor *tn_array_new(tn_context *ctx, tn_dtype dtype, int ndim, const int64_t *shape) {
  size_t bytes = 0;
  if (check_request(ctx, dtype, ndim, shape, &bytes) != TN_OK) return NULL;
  size_t rounded = RUNTIME_MAX((bytes + DATA_ALIGNMENT - 1) & ~(size_t)(DATA_ALIGNMENT - 1), (size_t)DATA_ALIGNMENT);
  owned_array *array = calloc(1, sizeof *array);
  size_t alignment = is_worth_large_pages(rounded) ? LARGE_PAGE : DATA_ALIGNMENT;
  /* ISO C asks for whole multiples; what is behind ROUNDED is never touched. */
  void *data = aligned_alloc(alignment, (rounded + alignment - 1) & ~(alignment - 1));
  if (!array || !data) {
    free(array);
    free(data);
    runtime_the_memory_observer.refused("array", rounded);
    runtime_fail(ctx, TN_ERROR_MEMORY, "tn_array_new: out of memory for %zu bytes", bytes);
    return NULL;
  }
  prefer_large_pages(data, rounded);
  memset(data, 0, rounded);
  return settle(ctx, array, dtype, ndim, shape, data, rounded);
}

void tn_array_free(DLTensor *array) {
  if (!array) return;
  runtime_the_memory_observer.returned("array", MEMORY_LEVEL, array->data);
  size_t mapped = ((owned_array *)array)->mapped_bytes;
  if (mapped > 0)
    munmap(array->data, mapped);
  else
    free(array->data);
  runtime_unhold(((owned_array *)array)->held, RUNTIME_ARRAYS);
  free((owned_array *)array);
}

bool runtime_array_has_bytes(const DLTensor *array, size_t *bytes) {
  return count_bytes(((size_t)array->dtype.bits * array->dtype.lanes + 7) / 8, array->ndim, array->shape, bytes);
}

/* Computed from the DLPack members, so it is right for foreign tensors, too. Bits are rounded up to bytes. */
size_t tn_array_bytes(const DLTensor *array) {
  size_t bytes = 0;
  if (array) runtime_array_has_bytes(array, &bytes);
  return bytes;
}

/* ---- test data --------------------------------------------------------------------------------------------------- */

#define X(NAME, text, bytes, code, ctype)                                                                        \
  static void store_##NAME(void *data, int64_t i, double value) {                                                \
    ((ctype *)data)[i] = runtime_is_half(TN_##NAME) ? (ctype)runtime_half_bits(TN_##NAME, value) : (ctype)value; \
  }
TN_DTYPES(X)
#undef X

static void (*const stores[TN_DTYPE_COUNT])(void *, int64_t, double) = {
#define X(NAME, text, bytes, code, ctype) [TN_##NAME] = store_##NAME,
    TN_DTYPES(X)
#undef X
};

/* Tenon's dtype of an array, its own or a foreign one. False: Tenon has none for it. */
static bool dtype_of(const DLTensor *array, tn_dtype *dtype) {
  const owned_array *own = (const owned_array *)array;
  if (array->shape == own->shape) { /* made by tn_array_new: only an address is compared */
    *dtype = own->dtype;
    return true;
  }
  for (int i = TN_DTYPE_COUNT; i-- > 0;) { /* downwards: bytes before booleans */
    DLDataType form = tn_dtype_dlpack((tn_dtype)i);
    if (memcmp(&form, &array->dtype, sizeof form) != 0) continue;
    *dtype = (tn_dtype)i;
    return true;
  }
  return false;
}

void runtime_array_store(DLTensor *array, tn_dtype dtype, int64_t i, double value) {
  stores[dtype]((char *)array->data + array->byte_offset, i, value);
}

tn_status runtime_array_writable(tn_context *ctx, const char *caller, const DLTensor *array, tn_dtype *dtype) {
  if (!array) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: the array is NULL", caller);
  if (!dtype_of(array, dtype)) {
    char text[RUNTIME_DLTYPE_TEXT];
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: dtype %s is none of Tenon's", caller,
                        runtime_dltype_text(array->dtype, text));
  }
  if (array->device.device_type == kDLCPU && runtime_array_is_compact(array)) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: the array is not compact row-major on the CPU", caller);
}

/* Random floats are multiples of 2^-23, so that f32 and f64 arrays of one seed hold the same numbers. */
static double random_value(runtime_rng *rng, tn_dtype dtype) {
  if (tn_dtype_is_float(dtype)) return (double)(runtime_random(rng) >> 40) * 0x1p-23 - 1.0;
  if (dtype == TN_BOOL) return (double)runtime_random_below(rng, 2);
  return (double)(runtime_random_below(rng, 9) - (tn_dtype_is_signed(dtype) ? 4 : 0));
}

tn_status tn_array_fill(tn_context *ctx, DLTensor *array, uint64_t seed) {
  return runtime_array_fill(ctx, array, seed, 0);
}

/* The values depend only on SEED, the dtype and an element's index: arrays of one seed agree between runs
 * and machines and, for floats, between f32 and f64. An invalid request leaves the array as it was. */
tn_status runtime_array_fill(tn_context *ctx, DLTensor *array, uint64_t seed, int64_t below) {
  tn_dtype dtype = TN_F32;
  tn_status status = runtime_array_writable(ctx, "tn_array_fill", array, &dtype);
  if (status != TN_OK) return status;
  runtime_rng rng = {seed};
  int64_t n = (int64_t)(tn_array_bytes(array) / tn_dtype_bytes(dtype));
  char *data = (char *)array->data + array->byte_offset;
  if (dtype == TN_F32 && below <= 0) {
    runtime_random_floats(&rng, (float *)(void *)data, n);
    return TN_OK;
  }
  for (int64_t i = 0; i < n; ++i)
    stores[dtype](data, i, below > 0 ? (double)runtime_random_below(&rng, below) : random_value(&rng, dtype));
  return TN_OK;
}
