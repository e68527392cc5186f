/* kernel.c: makes and frees kernels. A kernel is one block in its context's list; its arena holds
 * everything it points to. It is freed by its user or by its context, whichever comes first, and with it go
 * its code (RELEASE), its stages and the arrays bound to it. */
#include "runtime/kernel.h"

/* The size of an argument's data, in bytes. */
static size_t bytes_of(const runtime_kernel_arg *arg) {
  size_t bytes = tn_dtype_bytes(arg->dtype);
  for (int i = 0; i < arg->ndim; ++i) bytes *= (size_t)arg->shape[i];
  return bytes;
}

/* Whether calls can check tensors against this description. */
static bool arg_is_sound(const runtime_kernel_arg *arg) {
  bool sound = arg->name && tn_dtype_bytes(arg->dtype) > 0 && arg->ndim >= 0 && arg->ndim <= TN_MAX_RANK;
  for (int i = 0; sound && i < arg->ndim; ++i)
    sound = arg->size[i] ? arg->size[i]->n <= RUNTIME_MAX_SIZE_OPS : arg->shape[i] >= 0;
  sound = sound && arg->n_symbols <= RUNTIME_MAX_SYMBOLS && (!arg->is_strided || arg->ndim > 1);
  return sound;
}

/* Refuses descriptions that no builder should ask for, so that calls need not check them. */
static tn_status check_description(tn_context *ctx, const char *name, tn_kernel_fn fn, int n_args,
                                   const runtime_kernel_arg *args) {
  if (!name || !fn) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "a kernel needs a name and a function");
  if (n_args < 0 || n_args > RUNTIME_MAX_KERNEL_ARGS)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "kernel %s: %d arguments, the most is %d", name, n_args,
                        RUNTIME_MAX_KERNEL_ARGS);
  int n_strides = 0;
  for (int i = 0; i < n_args; ++i) {
    if (!arg_is_sound(&args[i]))
      return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                          "kernel %s: argument %d needs a name, a dtype, a rank from 0 to %d "
                          "and extents that are not negative",
                          name, i, TN_MAX_RANK);
    n_strides += args[i].is_strided ? args[i].ndim - 1 : 0;
  }
  if (n_strides > RUNTIME_MAX_KERNEL_STRIDES)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "kernel %s: %d strides of strided arguments, the most is %d", name,
                        n_strides, RUNTIME_MAX_KERNEL_STRIDES);
  return TN_OK;
}

void runtime_kernel_add_extent(runtime_str *out, const runtime_kernel_arg *arg, int dim) {
  if (arg->size[dim])
    runtime_str_add(out, arg->size[dim]->text);
  else
    runtime_str_addf(out, "%lld", (long long)arg->shape[dim]);
}

/* The shapes for recordings, made once, since calls are recorded by the thousand. */
static const char *shapes_text(tn_kernel *kernel) {
  runtime_str out = {0};
  runtime_str_add(&out, "");
  for (int a = 0; a < kernel->n_args; ++a) {
    const runtime_kernel_arg *arg = &kernel->args[a];
    runtime_str_addf(&out, "%s%s[", a ? " " : "", tn_dtype_name(arg->dtype));
    for (int i = 0; i < arg->ndim; ++i) {
      runtime_str_add(&out, i ? "," : "");
      runtime_kernel_add_extent(&out, arg, i);
    }
    runtime_str_add(&out, "]");
  }
  return runtime_str_take(&out, &kernel->arena);
}

/* f16 and bf16 are passed as their 16 bits. */
static ffi_type *value_type(tn_dtype dtype) {
  static ffi_type *const integers[2][4] = {
      {&ffi_type_uint8, &ffi_type_uint16, &ffi_type_uint32, &ffi_type_uint64},
      {&ffi_type_sint8, &ffi_type_sint16, &ffi_type_sint32, &ffi_type_sint64},
  };
  if (dtype == TN_F32) return &ffi_type_float;
  if (dtype == TN_F64) return &ffi_type_double;
  bool is_signed = !runtime_is_half(dtype) && tn_dtype_is_signed(dtype);
  size_t bytes = tn_dtype_bytes(dtype);
  return integers[is_signed][bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

/* Assigns parameters: pointers first, in the order of the arguments, then values. */
static void place_parameters(tn_kernel *kernel) {
  int n = 0;
  for (int by_value = 0; by_value < 2; ++by_value) {
    for (int i = 0; i < kernel->n_args; ++i) {
      const runtime_kernel_arg *arg = &kernel->args[i];
      if (arg->by_value != (by_value == 1)) continue;
      kernel->types[n] = by_value ? value_type(arg->dtype) : &ffi_type_pointer;
      kernel->place[i] = n++;
    }
  }
}

/* Copies the expressions of an argument's extents; false without memory. */
static bool copy_sizes(tn_kernel *kernel, runtime_kernel_arg *arg) {
  for (int d = 0; d < arg->ndim; ++d) {
    if (!arg->size[d]) continue;
    runtime_size *size = runtime_copy(&kernel->arena, arg->size[d], sizeof *size);
    if (!size) return false;
    size->ops = runtime_copy(&kernel->arena, size->ops, sizeof *size->ops * (size_t)size->n);
    size->text = runtime_strdup(&kernel->arena, size->text);
    if (!size->ops || !size->text) return false;
    arg->size[d] = size;
  }
  return true;
}

/* All arguments of a kernel have the same symbols, so the first one's are the kernel's. */
static bool copy_symbols(tn_kernel *kernel, const runtime_kernel_arg *arg) {
  kernel->n_symbols = arg->n_symbols;
  runtime_symbol *symbols = runtime_copy(&kernel->arena, arg->symbols, sizeof *symbols * (size_t)arg->n_symbols);
  if (!symbols) return arg->n_symbols == 0;
  for (int i = 0; i < arg->n_symbols; ++i)
    if (!(symbols[i].name = runtime_strdup(&kernel->arena, symbols[i].name))) return false;
  kernel->symbols = symbols;
  return true;
}

/* Copies the description into the kernel's arena; false without memory. */
static bool describe(tn_kernel *kernel, const char *name, int n_args, const runtime_kernel_arg *args) {
  kernel->name = runtime_strdup(&kernel->arena, name);
  kernel->args = runtime_copy(&kernel->arena, args, sizeof *args * (size_t)n_args);
  kernel->bytes = RUNTIME_NEW_ARRAY(&kernel->arena, size_t, n_args);
  for (int i = 0; i < n_args; ++i) kernel->n_strides += args[i].is_strided ? args[i].ndim - 1 : 0;
  int n_symbols = n_args > 0 ? args[0].n_symbols : 0, n_numbers = n_symbols + kernel->n_strides;
  kernel->types = RUNTIME_NEW_ARRAY(&kernel->arena, ffi_type *, n_args + n_numbers);
  kernel->place = RUNTIME_NEW_ARRAY(&kernel->arena, int, n_args);
  if (!kernel->name || !kernel->args || !kernel->bytes || !kernel->types || !kernel->place) return false;
  for (int i = 0; i < n_args; ++i) {
    kernel->bytes[i] = bytes_of(&args[i]);
    kernel->args[i].name = runtime_strdup(&kernel->arena, args[i].name);
    if (!kernel->args[i].name || !copy_sizes(kernel, &kernel->args[i])) return false;
  }
  kernel->n_args = n_args;
  if (n_symbols > 0 && !copy_symbols(kernel, &args[0])) return false;
  place_parameters(kernel);
  for (int i = 0; i < n_numbers; ++i) kernel->types[n_args + i] = &ffi_type_sint64;
  kernel->by_words = runtime_call_of_words(n_args + n_numbers, kernel->types);
  kernel->shapes = shapes_text(kernel);
  return kernel->shapes && ffi_prep_cif(&kernel->cif, FFI_DEFAULT_ABI, (unsigned)(n_args + n_numbers), &ffi_type_sint32,
                                        kernel->types) == FFI_OK;
}

/* Puts the kernel into its context's list, from which tn_kernel_free removes it. */
static void enlist(tn_context *ctx, tn_kernel *kernel) {
  kernel->ctx = ctx;
  runtime_hold(ctx, RUNTIME_KERNELS);
  kernel->next = ctx->kernels;
  if (kernel->next) kernel->next->previous = kernel;
  ctx->kernels = kernel;
}

/* Takes over OWNER only on success; after a failure the caller releases it. */
tn_kernel *runtime_kernel_new(tn_context *ctx, const char *name, tn_kernel_fn fn, int n_args,
                              const runtime_kernel_arg *args, void (*release)(void *owner), void *owner) {
  if (!ctx || check_description(ctx, name, fn, n_args, args) != TN_OK) return NULL;
  tn_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel || !describe(kernel, name, n_args, args)) {
    if (kernel) runtime_arena_free(&kernel->arena);
    free(kernel);
    runtime_fail(ctx, TN_ERROR_MEMORY, "kernel %s: out of memory", name);
    return NULL;
  }
  kernel->fn = fn;
  kernel->release = release;
  kernel->owner = owner;
  enlist(ctx, kernel);
  return kernel;
}

void tn_kernel_free(tn_kernel *kernel) {
  if (!kernel) return;
  if (kernel->next) kernel->next->previous = kernel->previous;
  if (kernel->previous)
    kernel->previous->next = kernel->next;
  else
    kernel->ctx->kernels = kernel->next;
  if (kernel->release) kernel->release(kernel->owner);
  for (int i = 0; i < kernel->n_bound; ++i) tn_array_free(kernel->bound[i]);
  runtime_unhold(kernel->ctx->held, RUNTIME_KERNELS);
  runtime_arena_free(&kernel->arena);
  free(kernel);
}

/* Moves the kernel's arrays of arguments forward by N; the PLACE of a bound argument is then read at a
 * negative index. */
bool runtime_kernel_bind(tn_kernel *kernel, int n, DLTensor *const *arrays) {
  kernel->bound = runtime_copy(&kernel->arena, arrays, sizeof *arrays * (size_t)n);
  if (!kernel->bound)
    return runtime_fail(kernel->ctx, TN_ERROR_MEMORY, "kernel %s: out of memory", kernel->name), false;
  kernel->n_bound = n;
  kernel->n_args -= n;
  kernel->args += n;
  kernel->bytes += n;
  kernel->place += n;
  return true;
}

void runtime_kernel_describe(tn_kernel *kernel, const runtime_kernel_work *work) {
  if (kernel) kernel->work = *work;
}

const runtime_kernel_arg *runtime_kernel_args(const tn_kernel *kernel, int *n) {
  *n = kernel ? kernel->n_args : 0;
  return kernel ? kernel->args : NULL;
}

tn_kernel_fn tn_kernel_function(const tn_kernel *kernel) { return kernel ? kernel->fn : NULL; }

const char *tn_kernel_name(const tn_kernel *kernel) { return kernel ? kernel->name : NULL; }

int tn_kernel_arg_count(const tn_kernel *kernel) { return kernel ? kernel->n_args : 0; }
