/* emit_scratch.c: the memory behind ALLOC. Small buffers are allocas in the entry block of the function that uses them,
 * so that sroa can turn register tiles into SSA values; larger ones come once a call, at the function's entry and not
 * in its loops, and go before it returns: from what the context keeps (runtime/scratch.h), in a file from
 * aligned_alloc. */
#include "codegen/emit.h"

enum { STACK_LIMIT = 16 << 10 };

int codegen_scratch_align(const tn_target *target) { return target->has_vectors ? 64 : 8; }

/* The size of a buffer that symbols decide, as an expression; NULL: it is a constant. Buffers are flat. */
static const tir_expr *size_of(const tir_buffer *buffer) { return buffer->ndim == 1 ? buffer->size[0] : NULL; }

/* Rounded up to a multiple of ALIGN; -1 when that does not fit. */
static int64_t buffer_bytes(const tir_buffer *buffer, int align) {
  int64_t bytes = codegen_element_bytes(buffer);
  for (int i = 0; i < buffer->ndim; i++) {
    if (__builtin_mul_overflow(bytes, buffer->shape[i], &bytes)) return -1;
  }
  return (bytes + align - 1) / align * align;
}

/* In the entry block: an alloca in a loop would grow the stack. */
static void make_on_stack(codegen_emitter *m, const tir_buffer *buffer, int64_t bytes) {
  LLVMTypeRef type =
      LLVMArrayType2(codegen_memory_type(m, buffer->dtype, 1), (uint64_t)bytes / codegen_element_bytes(buffer));
  LLVMValueRef memory = LLVMBuildAlloca(m->builder, type, buffer->name);
  LLVMSetAlignment(memory, (unsigned)codegen_scratch_align(m->target));
  m->frame->stack_bytes += bytes;
  codegen_binding *binding = codegen_bind(m, buffer, memory);
  if (binding != NULL) binding->align = (unsigned)codegen_scratch_align(m->target);
}

/* The loader gives the symbol its address. */
static LLVMValueRef kept_scratch(codegen_emitter *m) {
  LLVMValueRef scratch = LLVMGetNamedGlobal(m->module, CODEGEN_SCRATCH_SYMBOL);
  return scratch != NULL ? scratch : LLVMAddGlobal(m->module, m->i8, CODEGEN_SCRATCH_SYMBOL);
}

/* The result aliases nothing: LLVM is told. Whether it is NULL is tested once for all (check_heap). */
static void make_on_heap(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef bytes) {
  const char *name = m->stays_home ? CODEGEN_TAKE_SYMBOL : "aligned_alloc";
  LLVMTypeRef types[] = {m->stays_home ? m->ptr : m->index, m->index};
  LLVMValueRef args[] = {m->stays_home ? kept_scratch(m) : codegen_index_int(m, codegen_scratch_align(m->target)),
                         bytes};
  LLVMValueRef memory = codegen_call_extern(m, name, m->ptr, 2, types, args);
  codegen_add_attribute(m, LLVMGetNamedFunction(m->module, name), 0, "noalias", 0);
  LLVMSetValueName2(memory, buffer->name, strlen(buffer->name));
  codegen_binding *binding = codegen_bind(m, buffer, memory);
  if (binding != NULL) binding->align = (unsigned)codegen_scratch_align(m->target);
  if (!RUNTIME_PUSH(&m->frame->heap, memory)) codegen_no_memory(m);
}

/* Flattening made sure that this does not overflow. */
static LLVMValueRef symbolic_bytes(codegen_emitter *m, const tir_buffer *buffer) {
  int align = codegen_scratch_align(m->target);
  LLVMValueRef bytes = LLVMBuildNSWMul(m->builder, codegen_index(m, size_of(buffer)),
                                       codegen_index_int(m, codegen_element_bytes(buffer)), "");
  bytes = LLVMBuildNSWAdd(m->builder, bytes, codegen_index_int(m, align - 1), "");
  return LLVMBuildAnd(m->builder, bytes, codegen_index_int(m, -align), "");
}

/* Parallel loops make their own buffers, once a thread; a loop inside one is serial and makes none. A buffer that
 * stands on several paths side by side is made once. */
static tir_walk make_buffer(void *user, const tir_stmt *s) {
  codegen_emitter *m = user;
  if (s->kind == TIR_FOR && s->u.loop.kind == TIR_PARALLEL && !m->frame->is_parallel) return TIR_WALK_PRUNE;
  if (s->kind != TIR_ALLOC || codegen_find(m, s->u.alloc.buffer) != NULL) return TIR_WALK_ON;
  const tir_buffer *buffer = s->u.alloc.buffer;
  if (size_of(buffer) != NULL) {
    make_on_heap(m, buffer, symbolic_bytes(m, buffer));
    return TIR_WALK_ON;
  }
  int64_t bytes = buffer_bytes(buffer, codegen_scratch_align(m->target));
  if (bytes < 0) {
    codegen_emit_fail(m, TN_ERROR_CODEGEN, "the scratch buffer %s is larger than memory can be", buffer->name);
    return TIR_WALK_STOP;
  }
  if (m->frame->stack_bytes + bytes <= STACK_LIMIT)
    make_on_stack(m, buffer, bytes);
  else
    make_on_heap(m, buffer, codegen_index_int(m, bytes));
  return TIR_WALK_ON;
}

/* Before the return of a frame, for the buffers that are too large for the stack. */
static void free_all(codegen_emitter *m) {
  LLVMTypeRef nothing = LLVMVoidTypeInContext(m->llvm), types[] = {m->ptr, m->ptr};
  for (int i = 0; i < m->frame->heap.n; i++) {
    LLVMValueRef args[] = {m->stays_home ? kept_scratch(m) : NULL, m->frame->heap.data[i]};
    if (!m->stays_home) {
      codegen_call_extern(m, "free", nothing, 1, &types[1], &args[1]);
      continue;
    }
    codegen_call_extern(m, CODEGEN_GIVE_SYMBOL, nothing, 2, types, args);
    codegen_add_attribute(m, LLVMGetNamedFunction(m->module, CODEGEN_GIVE_SYMBOL), 2, "nocapture", 0);
  }
}

/* One test for all of them: returns 1 when one is NULL. */
static void check_heap(codegen_emitter *m) {
  LLVMValueRef missing = LLVMConstInt(m->i1, 0, false);
  for (int i = 0; i < m->frame->heap.n; i++) {
    LLVMValueRef is_null = LLVMBuildIsNull(m->builder, m->frame->heap.data[i], "");
    missing = LLVMBuildOr(m->builder, missing, is_null, "");
  }
  LLVMBasicBlockRef fails = codegen_new_block(m, "no_memory"), goes_on = codegen_new_block(m, "body");
  LLVMBuildCondBr(m->builder, missing, fails, goes_on);
  LLVMPositionBuilderAtEnd(m->builder, fails);
  codegen_emit_return(m, LLVMConstInt(m->i32, 1, false));
  LLVMPositionBuilderAtEnd(m->builder, goes_on);
}

void codegen_emit_scratch(codegen_emitter *m, const tir_stmt *body) {
  tir_visitor visitor = {.stmt = make_buffer, .user = m};
  tir_walk_stmt(body, &visitor);
  if (m->frame->heap.n > 0) check_heap(m);
}

/* The only place that returns from a kernel or a body. */
void codegen_emit_return(codegen_emitter *m, LLVMValueRef value) {
  free_all(m);
  codegen_stages_end(m);
  LLVMBuildRet(m->builder, value);
}

/* ---- for recordings ---------------------------------------------------------------------------------------------- */

/* As make_buffer decides, without emitting. */
typedef struct scratch_sum {
  int align;
  bool counts_all; /* parallel loops' as well, for one thread */
  int64_t stack, heap;
  RUNTIME_VEC(const tir_buffer *) seen; /* each of them once */
} scratch_sum;

/* Peeled loops have the buffer on several paths. */
static bool is_seen(const scratch_sum *sum, const tir_buffer *buffer) {
  for (int i = 0; i < sum->seen.n; i++) {
    if (sum->seen.data[i] == buffer) return true;
  }
  return false;
}

/* Stops at memory that runs out: the number is for a recording. */
static tir_walk add_buffer(void *user, const tir_stmt *s) {
  scratch_sum *sum = user;
  if (s->kind == TIR_FOR && s->u.loop.kind == TIR_PARALLEL && !sum->counts_all) return TIR_WALK_PRUNE;
  if (s->kind != TIR_ALLOC || size_of(s->u.alloc.buffer) != NULL) return TIR_WALK_ON; /* a symbol's size is not known */
  if (is_seen(sum, s->u.alloc.buffer)) return TIR_WALK_ON;
  if (!RUNTIME_PUSH(&sum->seen, s->u.alloc.buffer)) return TIR_WALK_STOP;
  int64_t bytes = RUNTIME_MAX(buffer_bytes(s->u.alloc.buffer, sum->align), 0);
  if (sum->stack + bytes <= STACK_LIMIT)
    sum->stack += bytes;
  else
    sum->heap += bytes;
  return TIR_WALK_ON;
}

/* Fills SUM, whose first two fields are given. */
static void add_up(scratch_sum *sum, const tir_func *func) {
  tir_visitor visitor = {.stmt = add_buffer, .user = sum};
  tir_walk_stmt(func->body, &visitor);
  RUNTIME_VEC_FREE(&sum->seen);
}

size_t codegen_scratch_bytes(const tir_func *func) {
  scratch_sum sum = {.align = 64};
  add_up(&sum, func);
  return (size_t)sum.heap;
}

int64_t codegen_all_scratch_bytes(const tir_func *func, const tn_target *target) {
  scratch_sum sum = {.align = codegen_scratch_align(target), .counts_all = true};
  add_up(&sum, func);
  return sum.stack + sum.heap;
}
