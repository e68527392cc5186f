/* emit.c: a module from a loop IR function: types, declarations, attributes, and the kernel function
 * itself: int32_t name(const T *in..., T *out..., T scalar...), which returns 0, or 1 when scratch
 * memory ran out. The emitter lives on the stack of codegen_emit_module; values of LLVM belong to the
 * module. */
#include "codegen/emit.h"

#include <stdio.h>

/* ---- failing ----------------------------------------------------------------------------------------------------- */

/* Only the first one is told. LLVM cannot be left in the middle, so emission goes on with poison. */
void codegen_emit_fail(codegen_emitter *m, tn_status status, const char *fmt, ...) {
  char text[512];
  RUNTIME_PRINT_ARGS(text, fmt);
  if (!m->failed) runtime_fail(m->ctx, status, "%s: %s", m->func->name, text);
  m->failed = true;
}

void codegen_no_memory(codegen_emitter *m) {
  codegen_emit_fail(m, TN_ERROR_MEMORY, "out of memory while generating code");
}

/* ---- types and constants ----------------------------------------------------------------------------------------- */

/* In registers: a bool is i1. */
LLVMTypeRef codegen_type(codegen_emitter *m, tn_dtype dtype, int lanes) {
  return lanes == 1 ? m->dtypes[dtype] : LLVMVectorType(m->dtypes[dtype], (unsigned)lanes);
}

/* In memory: a bool is a byte, as in C. */
LLVMTypeRef codegen_memory_type(codegen_emitter *m, tn_dtype dtype, int lanes) {
  return codegen_type(m, dtype == TN_BOOL ? TN_U8 : dtype, lanes);
}

LLVMValueRef codegen_i64(codegen_emitter *m, int64_t value) { return LLVMConstInt(m->i64, (uint64_t)value, true); }

LLVMValueRef codegen_index_int(codegen_emitter *m, int64_t value) {
  return LLVMConstInt(m->index, (uint64_t)value, true);
}

unsigned codegen_element_bytes(const tir_buffer *buffer) { return (unsigned)tn_dtype_bytes(buffer->dtype); }

/* Insert and shuffle, which back ends know as a broadcast. */
LLVMValueRef codegen_splat(codegen_emitter *m, LLVMValueRef scalar, int lanes) {
  if (lanes == 1) return scalar;
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
  LLVMValueRef poison = LLVMGetPoison(type), zero = LLVMConstInt(m->i32, 0, false);
  LLVMValueRef first = LLVMBuildInsertElement(m->builder, poison, scalar, zero, "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(m->i32, (unsigned)lanes));
  return LLVMBuildShuffleVector(m->builder, first, poison, zeros, "");
}

/* f16 and bf16 are held as integers: they are for storage. */
static void init_types(codegen_emitter *m) {
  m->i1 = LLVMInt1TypeInContext(m->llvm);
  m->i8 = LLVMInt8TypeInContext(m->llvm);
  m->i32 = LLVMInt32TypeInContext(m->llvm);
  m->i64 = LLVMInt64TypeInContext(m->llvm);
  m->index = m->target->address_bits == 32 ? m->i32 : m->i64;
  m->ptr = LLVMPointerTypeInContext(m->llvm, 0);
  for (int i = 0; i < TN_DTYPE_COUNT; i++) {
    m->dtypes[i] = LLVMIntTypeInContext(m->llvm, 8 * (unsigned)tn_dtype_bytes((tn_dtype)i));
  }
  m->dtypes[TN_BOOL] = m->i1;
  m->dtypes[TN_F32] = LLVMFloatTypeInContext(m->llvm);
  m->dtypes[TN_F64] = LLVMDoubleTypeInContext(m->llvm);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* NAME is one that LLVM 19 has. */
LLVMValueRef codegen_intrinsic(codegen_emitter *m, const char *name, int n_types, LLVMTypeRef *types, int n_args,
                               LLVMValueRef *args) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(m->module, id, types, (size_t)n_types);
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  return LLVMBuildCall2(m->builder, type, function, args, (unsigned)n_args, "");
}

/* nounwind: C functions do not throw. */
LLVMValueRef codegen_call_extern(codegen_emitter *m, const char *name, LLVMTypeRef result, int n, LLVMTypeRef *types,
                                 LLVMValueRef *args) {
  LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)n, false);
  LLVMValueRef function = LLVMGetNamedFunction(m->module, name);
  if (function == NULL) {
    function = LLVMAddFunction(m->module, name, type);
    codegen_add_attribute(m, function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
  }
  return LLVMBuildCall2(m->builder, type, function, args, (unsigned)n, "");
}

/* ---- functions and attributes ------------------------------------------------------------------------------------ */

void codegen_add_attribute(codegen_emitter *m, LLVMValueRef function, unsigned index, const char *name,
                           uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(function, index, LLVMCreateEnumAttribute(m->llvm, kind, value));
}

/* For attributes that LLVM knows by text only, such as "target-cpu". */
static void add_text_attribute(codegen_emitter *m, LLVMValueRef function, const char *name, const char *value) {
  LLVMAttributeRef attribute =
      LLVMCreateStringAttribute(m->llvm, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(function, (unsigned)LLVMAttributeFunctionIndex, attribute);
}

/* Without the two widths LLVM splits 64-byte vectors on processors that it thinks slow with them. */
void codegen_add_target_attributes(codegen_emitter *m, LLVMValueRef function) {
  char bits[16];
  snprintf(bits, sizeof bits, "%d", 8 * m->target->vector_bytes);
  add_text_attribute(m, function, "target-cpu", m->target->cpu);
  if (*m->target->features != '\0') add_text_attribute(m, function, "target-features", m->target->features);
  add_text_attribute(m, function, "prefer-vector-width", bits);
  add_text_attribute(m, function, "min-legal-vector-width", bits);
  codegen_add_attribute(m, function, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
}

/* The entry block is where scratch is made. */
LLVMValueRef codegen_add_function(codegen_emitter *m, const char *name, LLVMTypeRef type, LLVMLinkage linkage) {
  LLVMValueRef function = LLVMAddFunction(m->module, name, type);
  LLVMSetLinkage(function, linkage);
  codegen_add_target_attributes(m, function);
  LLVMPositionBuilderAtEnd(m->builder, LLVMAppendBasicBlockInContext(m->llvm, function, "entry"));
  return function;
}

/* noalias is what makes loads move over stores. */
void codegen_pointer_attributes(codegen_emitter *m, LLVMValueRef function, int param, const tir_buffer *buffer,
                                unsigned align) {
  unsigned index = (unsigned)param + 1;
  codegen_add_attribute(m, function, index, "noalias", 0);
  codegen_add_attribute(m, function, index, "nonnull", 0);
  codegen_add_attribute(m, function, index, "nocapture", 0);
  codegen_add_attribute(m, function, index, "align", align);
  if (buffer->is_input) codegen_add_attribute(m, function, index, "readonly", 0);
  LLVMSetValueName2(LLVMGetParam(function, (unsigned)param), buffer->name, strlen(buffer->name));
}

LLVMBasicBlockRef codegen_new_block(codegen_emitter *m, const char *name) {
  return LLVMAppendBasicBlockInContext(m->llvm, m->frame->function, name);
}

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

/* In the current frame only: a parallel body has its own. */
codegen_binding *codegen_bind(codegen_emitter *m, const void *what, LLVMValueRef value) {
  codegen_binding *binding = RUNTIME_NEW(&m->arena, codegen_binding);
  if (binding == NULL || !runtime_map_put(&m->frame->bindings, what, binding)) {
    codegen_no_memory(m);
    return NULL;
  }
  *binding = (codegen_binding){value, {INT64_MIN, INT64_MAX}, 1};
  return binding;
}

void codegen_unbind(codegen_emitter *m, const void *what) { runtime_map_put(&m->frame->bindings, what, NULL); }

codegen_binding *codegen_find(codegen_emitter *m, const void *what) {
  return runtime_map_get(&m->frame->bindings, what);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* Parameters that the caller gives. */
static int n_given(const tir_func *f) { return f->n_params - f->n_kept; }

/* The declaration with its parameters' attributes; users' arrays are aligned to their elements only. */
static LLVMValueRef add_kernel(codegen_emitter *m) {
  const tir_func *f = m->func;
  LLVMTypeRef *types = RUNTIME_NEW_ARRAY(&m->arena, LLVMTypeRef, n_given(f) + f->n_scalars + 1);
  if (types == NULL) return NULL;
  for (int i = 0; i < n_given(f); i++) types[i] = m->ptr;
  for (int i = 0; i < f->n_scalars; i++) {
    types[n_given(f) + i] = f->scalars[i].is_symbol ? m->i64 : codegen_memory_type(m, f->scalars[i].var->dtype, 1);
  }
  LLVMTypeRef type = LLVMFunctionType(m->i32, types, (unsigned)(n_given(f) + f->n_scalars), false);
  LLVMValueRef kernel = codegen_add_function(m, f->name, type, LLVMExternalLinkage);
  for (int i = 0; i < n_given(f); i++) {
    codegen_pointer_attributes(m, kernel, i, f->params[i], codegen_element_bytes(f->params[i]));
  }
  return kernel;
}

/* Integers are held in the index type, like loop variables, but for those that are wider; a bool as 0 or 1. What a
 * symbol can be was shown to fit when the loops were made. */
static LLVMValueRef held_scalar(codegen_emitter *m, const tir_scalar *s, LLVMValueRef given) {
  tn_dtype dtype = s->var->dtype;
  if (s->is_symbol) return LLVMBuildTruncOrBitCast(m->builder, given, m->index, "");
  if (tn_dtype_is_float(dtype)) return runtime_is_half(dtype) ? LLVMBuildZExt(m->builder, given, m->index, "") : given;
  if (dtype == TN_BOOL) given = LLVMBuildICmp(m->builder, LLVMIntNE, given, LLVMConstNull(LLVMTypeOf(given)), "");
  bool is_wider = tn_dtype_bytes(dtype) * 8 > (size_t)m->target->address_bits;
  return is_wider ? given : LLVMBuildIntCast2(m->builder, given, m->index, tn_dtype_is_signed(dtype), "");
}

/* What is passed by value stands behind the pointers. */
static void bind_scalars(codegen_emitter *m, LLVMValueRef kernel) {
  for (int i = 0; i < m->func->n_scalars; i++) {
    const tir_scalar *s = &m->func->scalars[i];
    LLVMValueRef given = LLVMGetParam(kernel, (unsigned)(n_given(m->func) + i));
    LLVMSetValueName2(given, s->var->name, strlen(s->var->name));
    codegen_binding *b = codegen_bind(m, s->var, held_scalar(m, s, given));
    if (b == NULL || tn_dtype_is_float(s->var->dtype)) continue;
    b->range = tir_bounds(m->func->env, tir_var_expr(&m->arena, s->var));
  }
}

/* Zeros at first, in the module once: all functions of one module find the buffer by its name. */
static LLVMValueRef kept_buffer(codegen_emitter *m, const tir_buffer *buffer) {
  enum { ALIGN = 64 };
  const char *name = runtime_format(&m->arena, "kept.%s", buffer->name);
  if (name == NULL) return codegen_no_memory(m), LLVMGetPoison(m->ptr);
  LLVMValueRef kept = LLVMGetNamedGlobal(m->module, name);
  if (kept != NULL) return kept;
  uint64_t bytes = (uint64_t)buffer->shape[0] * codegen_element_bytes(buffer);
  kept = LLVMAddGlobal(m->module, LLVMArrayType2(m->i8, bytes), name);
  LLVMSetInitializer(kept, LLVMConstNull(LLVMArrayType2(m->i8, bytes)));
  LLVMSetLinkage(kept, LLVMInternalLinkage);
  LLVMSetAlignment(kept, ALIGN);
  return kept;
}

/* The caller's arrays, and the object's own. */
static void bind_params(codegen_emitter *m, LLVMValueRef function) {
  for (int i = 0; i < m->func->n_params; i++) {
    const tir_buffer *buffer = m->func->params[i];
    bool is_given = i < n_given(m->func);
    LLVMValueRef pointer = is_given ? LLVMGetParam(function, (unsigned)i) : kept_buffer(m, buffer);
    codegen_binding *b = codegen_bind(m, buffer, pointer);
    if (b != NULL) b->align = codegen_element_bytes(buffer);
  }
}

/* Binds the parameters, makes the scratch, emits the body. */
static void fill_kernel(codegen_emitter *m) {
  codegen_frame frame = {.function = add_kernel(m), .has_parts = codegen_has_parts(m->func->body)};
  if (frame.function == NULL) {
    codegen_no_memory(m);
    return;
  }
  m->frame = &frame;
  frame.entry = LLVMGetInsertBlock(m->builder);
  bind_params(m, frame.function);
  bind_scalars(m, frame.function);
  codegen_stages_find(m);
  codegen_stages_begin(m);
  codegen_emit_scratch(m, m->func->body);
  codegen_emit_stmt(m, m->func->body);
  LLVMValueRef zero = LLVMConstInt(m->i32, 0, false);
  codegen_emit_return(m, frame.failed != NULL ? LLVMBuildLoad2(m->builder, m->i32, frame.failed, "failed") : zero);
  runtime_map_free(&frame.bindings);
  RUNTIME_VEC_FREE(&frame.heap);
}

/* Not the module, which is the caller's. */
static void release(codegen_emitter *m) {
  LLVMDisposeBuilder(m->builder);
  runtime_map_free(&m->values);
  runtime_map_free(&m->indices);
  runtime_map_free(&m->ranges);
  runtime_map_free(&m->slices);
  runtime_map_free(&m->sums);
  runtime_map_free(&m->contents);
  runtime_map_free(&m->callees);
  runtime_map_free(&m->apart);
  runtime_arena_free(&m->arena);
}

/* After a failure the module is half made and has to be thrown away. */
tn_status codegen_emit_module(tn_context *ctx, const tir_func *func, const tn_target *target, bool stays_home,
                              LLVMModuleRef module) {
  codegen_emitter m = {.ctx = ctx, .func = func, .target = target, .module = module, .stays_home = stays_home};
  m.llvm = LLVMGetModuleContext(module);
  m.builder = LLVMCreateBuilderInContext(m.llvm);
  init_types(&m);
  codegen_link_callees(&m);
  if (!m.failed) fill_kernel(&m);
  release(&m);
  return m.failed ? tn_context_status(ctx) : TN_OK;
}
