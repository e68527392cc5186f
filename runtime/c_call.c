/* c_call.c: calls a C function whose argument types are only known at run time (libffi). */
#include <ffi.h>

#include "runtime/base.h"

/* A value as C passes it. */
typedef union c_value {
  void *pointer;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
} c_value;

/* Anything but a pointer, i32, f32 or f64 is an i64: runtime_c_arg has no other types. */
static ffi_type *type_of(const runtime_c_arg *arg) {
  if (arg->is_pointer) return &ffi_type_pointer;
  if (arg->dtype == TN_I32) return &ffi_type_sint32;
  if (arg->dtype == TN_F32) return &ffi_type_float;
  return arg->dtype == TN_F64 ? &ffi_type_double : &ffi_type_sint64;
}

/* Narrows the wide value of a runtime_c_arg to the width that the callee reads. */
static c_value value_of(const runtime_c_arg *arg) {
  if (arg->is_pointer) return (c_value){.pointer = arg->u.pointer};
  if (arg->dtype == TN_I32) return (c_value){.i32 = (int32_t)arg->u.i};
  if (arg->dtype == TN_F32) return (c_value){.f32 = (float)arg->u.f};
  return arg->dtype == TN_F64 ? (c_value){.f64 = arg->u.f} : (c_value){.i64 = arg->u.i};
}

tn_status runtime_call_c(tn_context *ctx, void (*function)(void), int n, const runtime_c_arg *args) {
  ffi_type *types[RUNTIME_MAX_C_ARGS];
  c_value values[RUNTIME_MAX_C_ARGS];
  void *places[RUNTIME_MAX_C_ARGS];
  ffi_cif cif;
  if (n > RUNTIME_MAX_C_ARGS)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "a call of a C function with %d arguments; at most %d", n,
                        RUNTIME_MAX_C_ARGS);
  for (int i = 0; i < n; ++i) {
    types[i] = type_of(&args[i]);
    values[i] = value_of(&args[i]);
    places[i] = &values[i];
  }
  if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)n, &ffi_type_void, types) != FFI_OK)
    return runtime_fail(ctx, TN_ERROR_INTERNAL, "libffi refused the call of a C function");
  ffi_call(&cif, function, NULL, places);
  return TN_OK;
}
