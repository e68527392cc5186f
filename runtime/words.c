/* words.c: calls kernels whose parameters are all machine words, as they mostly are: pointers, symbols and
 * strides. The calling conventions of x86-64, AArch64 and RISC-V 64 pass a pointer and an int64_t alike, so
 * only the number of parameters matters. libffi would examine every parameter in every call
 * (`build/tenon-bench --calls`, docs/performance.md). */
#include "runtime/kernel.h"

#if UINTPTR_MAX == UINT64_MAX

static uint64_t word(void *const *values, int i) {
  uint64_t value;
  memcpy(&value, values[i], sizeof value);
  return value;
}

#define W uint64_t
#define V(i) word(values, i)
#define CALL(n, types, ...) \
  static int32_t call##n(tn_kernel_fn fn, void *const *values) { return ((int32_t(*) types)fn)(__VA_ARGS__); }
CALL(1, (W), V(0))
CALL(2, (W, W), V(0), V(1))
CALL(3, (W, W, W), V(0), V(1), V(2))
CALL(4, (W, W, W, W), V(0), V(1), V(2), V(3))
CALL(5, (W, W, W, W, W), V(0), V(1), V(2), V(3), V(4))
CALL(6, (W, W, W, W, W, W), V(0), V(1), V(2), V(3), V(4), V(5))
CALL(7, (W, W, W, W, W, W, W), V(0), V(1), V(2), V(3), V(4), V(5), V(6))
CALL(8, (W, W, W, W, W, W, W, W), V(0), V(1), V(2), V(3), V(4), V(5), V(6), V(7))

static const runtime_word_call calls[] = {NULL, call1, call2, call3, call4, call5, call6, call7, call8};

static bool is_word(const ffi_type *type) { return type == &ffi_type_pointer || type == &ffi_type_sint64; }

runtime_word_call runtime_call_of_words(int n, ffi_type *const *types) {
  for (int i = 0; i < n; ++i)
    if (!is_word(types[i])) return NULL;
  return n < RUNTIME_COUNT(calls) ? calls[n] : NULL;
}

#else

runtime_word_call runtime_call_of_words(int n, ffi_type *const *types) {
  (void)n, (void)types;
  return NULL;
}

#endif
