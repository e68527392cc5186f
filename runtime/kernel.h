/* kernel.h: kernels as runtime/ sees them, shared by making (kernel.c), calling (call.c) and timing
 * (timing.c). Nothing above runtime/ includes it. */
#ifndef TENON_RUNTIME_KERNEL_H
#define TENON_RUNTIME_KERNEL_H

#include <ffi.h>

#include "runtime/base.h"
#include "runtime/stages.h"

/* Calls a function whose parameters are all machine words, with those that VALUES point to (words.c). */
typedef int32_t (*runtime_word_call)(tn_kernel_fn fn, void *const *values);
/* The caller for a function with N parameters. NULL: a parameter is no word, or there are too many; then
 * libffi calls it. */
runtime_word_call runtime_call_of_words(int n, ffi_type *const *types);

/* A built function, with what a call has to check and to pass. The arena is the kernel's own. OWNER holds
 * the code; RELEASE gives it back. */
struct tn_kernel {
  tn_context *ctx;
  tn_kernel *next, *previous; /* in the context's list */
  runtime_arena arena;        /* holds everything below that is a pointer */
  const char *name;
  tn_kernel_fn fn;
  int n_args;
  runtime_kernel_arg *args;
  size_t *bytes; /* of each argument's data; not known if symbols decide */
  int n_symbols;
  const runtime_symbol *symbols;
  int n_strides;              /* passed to the function, for all strided arguments */
  int *place;                 /* each argument's index among the function's parameters: pointers first, then values */
  ffi_type **types;           /* by place */
  int n_bound;                /* arguments before ARGS, which calls do not give */
  DLTensor **bound;           /* their arrays, which the kernel owns */
  ffi_cif cif;                /* prepared once: int32_t fn(pointer..., value..., int64_t symbol or stride...) */
  runtime_word_call by_words; /* NULL: libffi calls it */
  void (*release)(void *owner);
  void *owner;
  const char *shapes;       /* of all arguments, for recordings: "f32[8,8] f32[8]" */
  runtime_kernel_work work; /* of one call */
  runtime_stages *stages;   /* NULL: built without */
};

enum { RUNTIME_MAX_KERNEL_STRIDES = 64 * (TN_MAX_RANK - 1) }; /* of all arguments together */

/* A call that is ready: its tensors were checked, and these are the values it passes. */
typedef struct runtime_call {
  const tn_kernel *kernel;
  void *data[RUNTIME_MAX_KERNEL_ARGS];
  size_t bytes[RUNTIME_MAX_KERNEL_ARGS]; /* of each argument's data */
  int64_t symbols[RUNTIME_MAX_SYMBOLS];
  int bound_by[RUNTIME_MAX_SYMBOLS]; /* the argument whose shape gave a symbol its value */
  int64_t strides[RUNTIME_MAX_KERNEL_STRIDES];
  void *values[RUNTIME_MAX_KERNEL_ARGS + RUNTIME_MAX_SYMBOLS +
               RUNTIME_MAX_KERNEL_STRIDES]; /* by place; libffi wants pointers to the values */
} runtime_call;

/* Checks the tensors and fills CALL, which points into itself and must not be copied. WHO begins messages:
 * "tn_call". */
tn_status runtime_call_prepare(tn_context *ctx, const char *who, const tn_kernel *kernel, DLTensor *const *args,
                               int n_args, runtime_call *call);
/* Calls the kernel; returns its result. */
static inline int32_t runtime_call_invoke(runtime_call *call) {
  ffi_arg result = 0;
  const tn_kernel *kernel = call->kernel;
  runtime_stages *stages = kernel->stages;
  uint64_t start = stages != NULL ? runtime_stages_enter(stages) : 0;
  if (kernel->by_words != NULL)
    result = (ffi_arg)kernel->by_words(kernel->fn, call->values);
  else
    ffi_call((ffi_cif *)&kernel->cif, kernel->fn, &result, call->values);
  if (stages != NULL) runtime_stages_leave(stages, start);
  return (int32_t)result;
}
/* tn_call without its event, for calls that are timed from outside. */
tn_status runtime_call_quiet(tn_context *ctx, const tn_kernel *kernel, DLTensor *const *args, int n_args);
/* Fails with the message for a result other than 0. */
tn_status runtime_call_failed(tn_context *ctx, const char *who, const tn_kernel *kernel, int32_t result);

#endif
