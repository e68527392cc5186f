/* call.c: checks tensors against a kernel's arguments, and calls it through libffi. Each thing that can be
 * wrong with a tensor is a row of the table CHECKS: a test, and the words that end the message "tn_call
 * NAME: argument I (TENSOR): ...". Everything is checked before the kernel runs, since compiled code checks
 * nothing: a wrong stride would be a wrong address. A successful call allocates nothing; texts are only
 * built for refusals. */
#include <assert.h>

#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/profiler/profiler.h"

/* fits: whether the tensor can be used for the argument. explain: appends to OUT why it cannot, when fits said so. */
typedef struct check {
  bool (*fits)(const DLTensor *tensor, const runtime_kernel_arg *arg);
  void (*explain)(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg);
} check;

/* Adds "[1, 2, 3]". */
static void add_list(runtime_str *out, const int64_t *values, int n) {
  runtime_str_add(out, "[");
  for (int i = 0; i < n; ++i) runtime_str_addf(out, "%s%lld", i ? ", " : "", (long long)values[i]);
  runtime_str_add(out, "]");
}

/* The same for an argument's extents. */
static void add_extents(runtime_str *out, const runtime_kernel_arg *arg) {
  runtime_str_add(out, "[");
  for (int i = 0; i < arg->ndim; ++i) {
    runtime_str_add(out, i ? ", " : "");
    runtime_kernel_add_extent(out, arg, i);
  }
  runtime_str_add(out, "]");
}

/* The address of the tensor's first element. */
static void *data_of(const DLTensor *tensor) { return (char *)tensor->data + tensor->byte_offset; }

/* The first of all checks: on another device the data pointer may not belong to this process. */
static bool device_fits(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  (void)arg;
  return tensor->device.device_type == kDLCPU;
}

/* Each explain function appends why a kernel refuses a tensor, after its name: first what the caller gave,
 * then what the kernel was built for. */
static void explain_device(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  (void)arg;
  runtime_str_addf(out, "DLPack device type %d, the kernel runs on the CPU (%d)", (int)tensor->device.device_type,
                   (int)kDLCPU);
}

/* Tenon's booleans and u8 are one DLPack dtype, and an array of either can be given for the other. */
static bool dtype_fits(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  DLDataType built = tn_dtype_dlpack(arg->dtype);
  return tensor->dtype.code == built.code && tensor->dtype.bits == built.bits && tensor->dtype.lanes == built.lanes;
}

/* DLPack's dtype may have no name in Tenon, so it is spelled from code, bits and lanes. */
static void explain_dtype(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  char text[RUNTIME_DLTYPE_TEXT];
  runtime_str_addf(out, "dtype %s, the kernel was built for %s", runtime_dltype_text(tensor->dtype, text),
                   tn_dtype_name(arg->dtype));
}

/* A tensor of rank 0 needs no shape; all others must have one, which later checks read. */
static bool rank_fits(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  return tensor->ndim == arg->ndim && (tensor->shape || arg->ndim == 0);
}

/* A shape of NULL with a rank above 0 is reported here, too: a rank without extents is no rank. */
static void explain_rank(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  if (tensor->ndim == arg->ndim)
    runtime_str_add(out, "its shape is NULL, the kernel was built for ");
  else
    runtime_str_addf(out, "rank %d, the kernel was built for rank %d ", tensor->ndim, arg->ndim);
  add_extents(out, arg);
}

/* Extents made of symbols are checked later. */
static bool shape_fits(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  for (int i = 0; i < arg->ndim; ++i) {
    if (!arg->size[i] && tensor->shape[i] != arg->shape[i]) return false;
  }
  return true;
}

/* Shows the whole shapes rather than the extent that differs, so that swapped axes are noticed at once. */
static void explain_shape(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  runtime_str_add(out, "shape ");
  add_list(out, tensor->shape, tensor->ndim);
  runtime_str_add(out, ", the kernel was built for ");
  add_extents(out, arg);
}

/* Only matters for extents made of symbols: afterwards every offset fits 63 bits. A strided argument is
 * checked together with its strides. */
static bool size_fits(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  size_t bytes;
  return arg->is_strided || runtime_array_has_bytes(tensor, &bytes);
}

/* For extents made of symbols: each may be in range while their product is more than memory holds. */
static void explain_size(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  runtime_str_add(out, "shape ");
  add_list(out, tensor->shape, tensor->ndim);
  runtime_str_addf(out, " of %s is more than memory holds", tn_dtype_name(arg->dtype));
}

/* Whether a stride of a strided argument is allowed. Along an extent of 1 no step is made, so any is. */
static bool is_usable_stride(const DLTensor *tensor, int dim) {
  int64_t stride = tensor->strides[dim];
  if (tensor->shape[dim] == 1) return true;
  return dim == tensor->ndim - 1 ? stride == 1 : stride >= 0 && stride <= RUNTIME_MAX_STRIDE;
}

/* The bytes from the first element to the end of the last. False: more than there can be. */
static bool count_span(const DLTensor *tensor, const int64_t *strides, size_t element_bytes, size_t *bytes) {
  int64_t span = 1, part;
  for (int d = 0; d < tensor->ndim; ++d)
    if (__builtin_mul_overflow(tensor->shape[d] - 1, strides[d], &part) || __builtin_add_overflow(span, part, &span))
      return false;
  if (span > INT64_MAX / (int64_t)element_bytes) return false;
  *bytes = (size_t)span * element_bytes;
  return true;
}

/* An argument that is not strided must be compact. A strided one may have rows at any distance, but its
 * last dimension must be contiguous, since kernels load whole vectors there. */
static bool strides_fit(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  size_t bytes;
  if (!arg->is_strided || !tensor->strides) return runtime_array_is_compact(tensor);
  for (int i = 0; i < arg->ndim; ++i)
    if (!is_usable_stride(tensor, i)) return false;
  return count_span(tensor, tensor->strides, tn_dtype_bytes(arg->dtype), &bytes);
}
/* Names the strides that would do, and the remedy: a copy. */
static void explain_strides(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  int64_t compact[TN_MAX_RANK];
  if (arg->is_strided) {
    runtime_str_add(out, "strides ");
    add_list(out, tensor->strides, tensor->ndim);
    runtime_str_addf(out, ", the kernel needs 1 as the last, and 0 to %lld as the others: copy the tensor first",
                     (long long)RUNTIME_MAX_STRIDE);
    return;
  }
  runtime_compact_strides(arg->ndim, tensor->shape, compact);
  runtime_str_add(out, "strides ");
  add_list(out, tensor->strides, tensor->ndim);
  runtime_str_add(out, ", the kernel needs compact row-major strides ");
  add_list(out, compact, arg->ndim);
  runtime_str_add(out, ": copy the tensor first");
}

/* Rows of an input may share elements, since they are only read. */
static bool elements_fit(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  return !arg->is_strided || !arg->is_output || !tensor->strides || runtime_elements_are_apart(tensor);
}

/* Two elements of an output at one place would be a race. The message also gives strides that would do. */
static void explain_elements(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  int64_t compact[TN_MAX_RANK];
  runtime_compact_strides(arg->ndim, tensor->shape, compact);
  runtime_str_add(out, "strides ");
  add_list(out, tensor->strides, tensor->ndim);
  runtime_str_add(out, " do not keep the elements of shape ");
  add_list(out, tensor->shape, tensor->ndim);
  runtime_str_add(out, " apart: an output needs a place of its own for each, as strides ");
  add_list(out, compact, arg->ndim);
  runtime_str_add(out, " give");
}

/* A tensor of no bytes may have no data, as in NumPy and PyTorch. */
static bool has_data(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  (void)arg;
  return tensor->data || tn_array_bytes(tensor) == 0;
}

/* Only used for arrays with elements: an empty array may have a data pointer of NULL. */
static void explain_no_data(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  (void)arg;
  runtime_str_addf(out, "its data pointer is NULL, %zu bytes are needed", tn_array_bytes(tensor));
}

/* Data must be aligned to its element and no more: kernels use unaligned vector loads, so that views into
 * larger arrays can be passed. */
static bool alignment_fits(const DLTensor *tensor, const runtime_kernel_arg *arg) {
  return ((uintptr_t)data_of(tensor) & (tn_dtype_bytes(arg->dtype) - 1)) == 0;
}

/* Vector code may assume that no element straddles a multiple of its size. No kernel asks for more than that. */
static void explain_alignment(runtime_str *out, const DLTensor *tensor, const runtime_kernel_arg *arg) {
  size_t bytes = tn_dtype_bytes(arg->dtype);
  runtime_str_addf(out, "its data is %zu bytes past a multiple of %zu, the kernel needs %s values aligned to %zu bytes",
                   (size_t)((uintptr_t)data_of(tensor) & (bytes - 1)), bytes, tn_dtype_name(arg->dtype), bytes);
}

/* In this order, since later checks rely on earlier ones. */
static const check checks[] = {
    {device_fits, explain_device},    {dtype_fits, explain_dtype}, {rank_fits, explain_rank},
    {shape_fits, explain_shape},      {size_fits, explain_size},   {strides_fit, explain_strides},
    {elements_fit, explain_elements}, {has_data, explain_no_data}, {alignment_fits, explain_alignment},
};

/* Fails with a text that was built, and frees it. */
static tn_status fail_with(tn_context *ctx, tn_status status, runtime_str *text) {
  runtime_fail(ctx, text->failed ? TN_ERROR_MEMORY : status, "%s", text->failed ? "out of memory" : text->data);
  runtime_str_free(text);
  return status;
}

/* Reports that argument I does not fit. FAILED: the check that refused it; NULL: there is no tensor. */
static tn_status refuse(tn_context *ctx, const char *who, const tn_kernel *kernel, int i, const DLTensor *tensor,
                        const check *failed) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%s %s: argument %d (%s): ", who, kernel->name, i, kernel->args[i].name);
  if (failed)
    failed->explain(&text, tensor, &kernel->args[i]);
  else
    runtime_str_add(&text, "the tensor is NULL");
  return fail_with(ctx, TN_ERROR_CALL, &text);
}

/* Lists the tensors that the kernel takes, since the usual mistake is a forgotten output. */
static tn_status refuse_count(tn_context *ctx, const char *who, const tn_kernel *kernel, int n_args) {
  runtime_str text = {0};
  runtime_str_addf(&text, "%s %s: %d argument%s, the kernel takes %d (", who, kernel->name, n_args,
                   n_args == 1 ? "" : "s", kernel->n_args);
  for (int i = 0; i < kernel->n_args; ++i) runtime_str_addf(&text, "%s%s", i ? ", " : "", kernel->args[i].name);
  runtime_str_add(&text, ")");
  return fail_with(ctx, TN_ERROR_CALL, &text);
}

/* All checks of one argument. */
static tn_status check_tensor(tn_context *ctx, const char *who, const tn_kernel *kernel, int i,
                              const DLTensor *tensor) {
  if (!tensor) return refuse(ctx, who, kernel, i, NULL, NULL);
  for (int c = 0; c < RUNTIME_COUNT(checks); ++c) {
    if (!checks[c].fits(tensor, &kernel->args[i])) return refuse(ctx, who, kernel, i, tensor, &checks[c]);
  }
  return TN_OK;
}

/* Whether elements of arguments I and J share a byte. Elements of a strided one may lie between the rows of another. */
static bool overlap(const runtime_call *call, DLTensor *const *args, int i, int j) {
  const size_t *bytes = call->bytes;
  const runtime_kernel_arg *arg = call->kernel->args;
  uintptr_t a = (uintptr_t)call->data[i], b = (uintptr_t)call->data[j];
  bool is_shared = i != j && !arg[j].by_value && a < b + bytes[j] && b < a + bytes[i];
  bool has_gaps = arg[i].is_strided || arg[j].is_strided;
  return is_shared && !(has_gaps && runtime_arrays_are_apart(args[i], args[j]));
}

/* Kernels are compiled under the assumption that their outputs alias nothing. */
static tn_status check_aliases(tn_context *ctx, const char *who, const runtime_call *call, DLTensor *const *args) {
  const tn_kernel *kernel = call->kernel;
  assert(args || kernel->n_args == 0);
  for (int i = 0; i < kernel->n_args; ++i) {
    if (!kernel->args[i].is_output) continue;
    for (int j = 0; j < kernel->n_args; ++j) {
      if (overlap(call, args, i, j))
        return runtime_fail(ctx, TN_ERROR_CALL,
                            "%s %s: argument %d (%s): its memory overlaps argument %d (%s); "
                            "an output shares memory with no other argument",
                            who, kernel->name, i, kernel->args[i].name, j, kernel->args[j].name);
    }
  }
  return TN_OK;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

/* The value of an extent. An overflow wraps, which is noticed, since the result is compared with the
 * tensor's extent. The stack is large enough: runtime_kernel_new checked the number of operations. */
static int64_t size_value(const runtime_size *size, const int64_t *symbols) {
  int64_t stack[RUNTIME_MAX_SIZE_OPS];
  int n = 0;
  for (int i = 0; i < size->n; ++i) {
    const runtime_size_op *at = &size->ops[i];
    if (at->apply) {
      assert(n > 1 && "both operands");
      --n;
      at->apply(stack[n - 1], stack[n], 64, &stack[n - 1]);
    } else {
      stack[n++] = at->is_symbol ? symbols[at->value] : at->value;
    }
  }
  assert(n == 1);
  return stack[0];
}

/* Gives symbol K the value of dimension D of argument I. */
static tn_status bind_symbol(tn_context *ctx, const char *who, runtime_call *call, int i, int d, int k, int64_t value) {
  const tn_kernel *kernel = call->kernel;
  const runtime_symbol *symbol = &kernel->symbols[k];
  int by = call->bound_by[k];
  if (value < symbol->least || value > symbol->most)
    return runtime_fail(
        ctx, TN_ERROR_CALL,
        "%s %s: argument %d (%s): dimension %d is %lld, and the kernel was built for %s in %lld .. %lld", who,
        kernel->name, i, kernel->args[i].name, d, (long long)value, symbol->name, (long long)symbol->least,
        (long long)symbol->most);
  if (by >= 0 && call->symbols[k] != value)
    return runtime_fail(
        ctx, TN_ERROR_CALL,
        "%s %s: argument %d (%s): dimension %d is %lld, but %s is %lld by the shape of argument %d (%s)", who,
        kernel->name, i, kernel->args[i].name, d, (long long)value, symbol->name, (long long)call->symbols[k], by,
        kernel->args[by].name);
  call->symbols[k] = value;
  if (by < 0) call->bound_by[k] = i;
  return TN_OK;
}

/* First, dimensions that are a symbol by themselves give it its value. Then all others must agree with the
 * expressions they are made of. */
static tn_status bind_symbols(tn_context *ctx, const char *who, runtime_call *call, DLTensor *const *args) {
  const tn_kernel *kernel = call->kernel;
  for (int k = 0; k < kernel->n_symbols; ++k) call->bound_by[k] = -1;
  for (int i = 0; i < kernel->n_args; ++i)
    for (int d = 0; d < kernel->args[i].ndim; ++d) {
      const runtime_size *size = kernel->args[i].size[d];
      if (!size || size->n != 1 || !size->ops[0].is_symbol) continue;
      tn_status status = bind_symbol(ctx, who, call, i, d, (int)size->ops[0].value, args[i]->shape[d]);
      if (status != TN_OK) return status;
    }
  for (int i = 0; i < kernel->n_args; ++i)
    for (int d = 0; d < kernel->args[i].ndim; ++d) {
      const runtime_size *size = kernel->args[i].size[d];
      int64_t want = size ? size_value(size, call->symbols) : args[i]->shape[d];
      if (args[i]->shape[d] == want) continue;
      return runtime_fail(ctx, TN_ERROR_CALL, "%s %s: argument %d (%s): dimension %d is %lld, but %s is %lld", who,
                          kernel->name, i, kernel->args[i].name, d, (long long)args[i]->shape[d], size->text,
                          (long long)want);
    }
  for (int k = 0; k < kernel->n_symbols; ++k) call->values[kernel->n_args + kernel->n_bound + k] = &call->symbols[k];
  return TN_OK;
}

/* Collects the strides of strided arguments, which follow the symbols. Along an extent of 1 any number will do. */
static void bind_strides(runtime_call *call, DLTensor *const *args) {
  const tn_kernel *kernel = call->kernel;
  assert(args || kernel->n_args == 0);
  int n = 0;
  for (int i = 0; i < kernel->n_args; ++i) {
    int64_t strides[TN_MAX_RANK];
    if (!kernel->args[i].is_strided) continue;
    runtime_compact_strides(args[i]->ndim, args[i]->shape, strides);
    for (int d = 0; d < args[i]->ndim - 1; ++d) {
      if (args[i]->strides) strides[d] = args[i]->strides[d];
      if (args[i]->shape[d] == 1) strides[d] = 0;
      call->strides[n++] = strides[d];
    }
    count_span(args[i], strides, tn_dtype_bytes(kernel->args[i].dtype), &call->bytes[i]);
  }
  for (int k = 0; k < n; ++k)
    call->values[kernel->n_args + kernel->n_bound + kernel->n_symbols + k] = &call->strides[k];
}

/* Bound arguments come first in the function's parameters and are not checked again. */
tn_status runtime_call_prepare(tn_context *ctx, const char *who, const tn_kernel *kernel, DLTensor *const *args,
                               int n_args, runtime_call *call) {
  call->kernel = kernel;
  if (!kernel) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s: the kernel is NULL", who);
  if (n_args != kernel->n_args) return refuse_count(ctx, who, kernel, n_args);
  if (!args && n_args > 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "%s %s: the list of arguments is NULL", who, kernel->name);
  for (int i = 0; i < kernel->n_bound; ++i) call->values[kernel->place[i - kernel->n_bound]] = &kernel->bound[i]->data;
  for (int i = 0; i < n_args; ++i) {
    tn_status status = check_tensor(ctx, who, kernel, i, args[i]);
    if (status != TN_OK) return status;
    call->data[i] = data_of(args[i]);
    call->bytes[i] = kernel->n_symbols > 0 ? tn_array_bytes(args[i]) : kernel->bytes[i];
    call->values[kernel->place[i]] = kernel->args[i].by_value ? call->data[i] : &call->data[i];
  }
  tn_status status = kernel->n_symbols > 0 ? bind_symbols(ctx, who, call, args) : TN_OK;
  if (status == TN_OK && kernel->n_strides > 0) bind_strides(call, args);
  return status == TN_OK ? check_aliases(ctx, who, call, args) : status;
}

/* RESULT is an OR of what went wrong, since several things can go wrong in one call. */
static const char *result_words(int32_t result) {
  if (result == RUNTIME_LOOP_BROKEN)
    return "the parallel-for that was set with tn_set_parallel_for did not run every iteration of a loop once";
  return result == 1 || result == (1 | RUNTIME_LOOP_BROKEN) ? "there was no memory for its scratch buffers"
                                                            : "not a result of Tenon's kernels";
}

tn_status runtime_call_failed(tn_context *ctx, const char *who, const tn_kernel *kernel, int32_t result) {
  return runtime_fail(ctx, TN_ERROR_CALL, "%s %s: the kernel returned %d: %s", who, kernel->name, (int)result,
                      result_words(result));
}

tn_status runtime_call_quiet(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args) {
  runtime_call call;
  tn_status status = runtime_call_prepare(ctx, "tn_call", kernel, args, n_args, &call);
  if (status != TN_OK) return status;
  assert(kernel && "or it was refused");
  int32_t result = runtime_call_invoke(&call);
  return result == 0 ? TN_OK : runtime_call_failed(ctx, "tn_call", kernel, result);
}

/* Adds a number to an event, unless it is 0, which means not known. */
static void add_number(tn_scope *scope, const char *key, double value) {
  tn_event_arg arg = tn_event_arg_u64(key, (uint64_t)value);
  if (value > 0) tn_scope_arg(scope, &arg);
}

/* Used only for calls that are recorded, since the arguments cost more than a small kernel. What is not
 * known is left out. */
static void describe_call(tn_scope *scope, const tn_kernel *kernel) {
  tn_event_arg shapes = tn_event_arg_text("shapes", kernel->shapes);
  tn_scope_arg(scope, &shapes);
  add_number(scope, "flops", kernel->work.flops);
  add_number(scope, "bytes", kernel->work.bytes_read + kernel->work.bytes_written);
  add_number(scope, "bytes_written", kernel->work.bytes_written);
  add_number(scope, "bytes_moved", kernel->work.bytes_moved);
  add_number(scope, "launches", kernel->work.launches);
}

/* The memory events are about the kernel's scratch buffers, which it takes and frees by itself. They are
 * recorded around the call because compiled code does not know the recorder. */
tn_status tn_call(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args) {
  TN_SCOPE_AS(scope, KERNEL, 3, kernel ? kernel->name : "tn_call");
  if (scope.state == 1 && kernel) describe_call(&scope, kernel);
  tn_hardware before = {0};
  if (scope.state == 1) tn_hardware_read(&before);
  size_t scratch = kernel && tn_profile_wants(TN_CATEGORY_MEMORY, 3) ? kernel->work.scratch_bytes : 0;
  if (scratch) tn_memory_alloc("scratch", NULL, scratch);
  tn_status status = runtime_call_quiet(ctx, kernel, args, n_args);
  tn_scope_hardware(&scope, &before);
  if (scratch && status != TN_OK) tn_memory_failed("scratch", scratch);
  if (scratch) tn_memory_free("scratch", NULL, scratch);
  return status;
}
