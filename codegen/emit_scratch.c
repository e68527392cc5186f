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
static LLVMValueRef make_on_heap(codegen_emitter *m, const char *buffer_name, LLVMValueRef bytes) {
  const char *name = m->stays_home ? CODEGEN_TAKE_SYMBOL : "aligned_alloc";
  LLVMTypeRef types[] = {m->stays_home ? m->ptr : m->index, m->index};
  LLVMValueRef args[] = {m->stays_home ? kept_scratch(m) : codegen_index_int(m, codegen_scratch_align(m->target)),
                         bytes};
  LLVMValueRef memory = codegen_call_extern(m, name, m->ptr, 2, types, args);
  codegen_add_attribute(m, LLVMGetNamedFunction(m->module, name), 0, "noalias", 0);
  LLVMSetValueName2(memory, buffer_name, strlen(buffer_name));
  if (!RUNTIME_PUSH(&m->frame->heap, memory)) codegen_no_memory(m);
  return memory;
}

static void bind_memory(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef memory) {
  codegen_binding *binding = codegen_bind(m, buffer, memory);
  if (binding != NULL) binding->align = (unsigned)codegen_scratch_align(m->target);
}

/* Flattening made sure that this does not overflow. */
static LLVMValueRef symbolic_bytes(codegen_emitter *m, const tir_buffer *buffer) {
  int align = codegen_scratch_align(m->target);
  LLVMValueRef bytes = LLVMBuildNSWMul(m->builder, codegen_index(m, size_of(buffer)),
                                       codegen_index_int(m, codegen_element_bytes(buffer)), "");
  bytes = LLVMBuildNSWAdd(m->builder, bytes, codegen_index_int(m, align - 1), "");
  return LLVMBuildAnd(m->builder, bytes, codegen_index_int(m, -align), "");
}

/* A buffer that is too large for the stack. Statements of the function's outermost sequence are counted. */
typedef struct large_buffer {
  const tir_buffer *buffer;
  int64_t bytes;
  int first, last; /* statements that use it */
  int slot;
} large_buffer;

/* Memory that buffers share which are never in use together. */
typedef struct scratch_slot {
  int64_t bytes;
  int last; /* the statement that is done with it */
} scratch_slot;

typedef struct scratch {
  codegen_emitter *m;
  runtime_map numbers; /* of a large buffer: its place in LARGE, from 1 on */
  RUNTIME_VEC(large_buffer) large;
  RUNTIME_VEC(scratch_slot) slots;
  int at; /* the statement that is looked at */
} scratch;

static void add_large(scratch *all, const tir_buffer *buffer, int64_t bytes) {
  large_buffer large = {.buffer = buffer, .bytes = bytes, .first = -1, .slot = -1};
  if (runtime_map_get(&all->numbers, buffer) != NULL) return;
  if (!RUNTIME_PUSH(&all->large, large) ||
      !runtime_map_put(&all->numbers, buffer, (void *)(intptr_t)all->large.n)) /* NOLINT: a number, not an address */
    codegen_no_memory(all->m);
}

/* The walk of make_buffer knows a buffer that it has met by its binding, or by its number. */
static bool is_met(const scratch *all, const tir_buffer *buffer) {
  return codegen_find(all->m, buffer) != NULL || runtime_map_get(&all->numbers, buffer) != NULL;
}

/* Parallel loops make their own buffers, once a thread; a loop inside one is serial and makes none. Variants make their own. A
 * buffer that stands on several paths side by side is made once. */
static tir_walk make_buffer(void *user, const tir_stmt *s) {
  scratch *all = user;
  codegen_emitter *m = all->m;
  if (codegen_is_apart(m, s)) return TIR_WALK_PRUNE;
  if (s->kind == TIR_FOR && s->u.loop.kind == TIR_PARALLEL && !m->frame->is_parallel) return TIR_WALK_PRUNE;
  if (s->kind != TIR_ALLOC || is_met(all, s->u.alloc.buffer)) return TIR_WALK_ON;
  const tir_buffer *buffer = s->u.alloc.buffer;
  if (size_of(buffer) != NULL) {
    bind_memory(m, buffer, make_on_heap(m, buffer->name, symbolic_bytes(m, buffer)));
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
    add_large(all, buffer, bytes);
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

/* ---- sharing ----------------------------------------------------------------------------------------------------- */

static void note_use(scratch *all, const tir_buffer *buffer) {
  intptr_t number = buffer != NULL ? (intptr_t)runtime_map_get(&all->numbers, buffer) : 0;
  if (number == 0) return;
  large_buffer *large = &all->large.data[number - 1];
  if (large->first < 0) large->first = all->at;
  large->last = all->at;
}

static tir_walk note_expr(void *user, const tir_expr *e) {
  if (e->op == TIR_LOAD) note_use(user, e->u.buffer);
  return TIR_WALK_ON;
}

static tir_walk note_stmt(void *user, const tir_stmt *s) {
  if (s->kind == TIR_STORE) note_use(user, s->u.store.buffer);
  if (s->kind == TIR_PREFETCH) note_use(user, s->u.prefetch.buffer);
  for (int i = 0; s->kind == TIR_CALL && i < s->u.call.n; i++) note_use(user, s->u.call.operands[i].buffer);
  return TIR_WALK_ON;
}

/* Statements one after the other, each counted once; what stands in a loop or a branch is one with it. */
static void note_uses(scratch *all, const tir_stmt *s) {
  tir_visitor visitor = {note_stmt, note_expr, all};
  if (s->kind == TIR_ALLOC || s->kind == TIR_ATTR) {
    note_uses(all, s->kind == TIR_ALLOC ? s->u.alloc.body : s->u.attr.body);
  } else if (s->kind == TIR_SEQ) {
    for (int i = 0; i < s->u.seq.n; i++) note_uses(all, s->u.seq.stmts[i]);
  } else {
    tir_walk_stmt(s, &visitor);
    all->at++;
  }
}

static int by_first_use(const void *a, const void *b) {
  const large_buffer *x = a, *y = b;
  return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                              : (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* The slot that fits best of those that are free: as little is left over as can be, or else as little has to be added. */
static int find_slot(const scratch *all, const large_buffer *large) {
  int best = -1;
  for (int i = 0; i < all->slots.n; i++) {
    const scratch_slot *slot = &all->slots.data[i], *other = best >= 0 ? &all->slots.data[best] : NULL;
    if (slot->last >= large->first) continue;
    bool fits = slot->bytes >= large->bytes, other_fits = other != NULL && other->bytes >= large->bytes;
    if (other == NULL || (fits && !other_fits) || (fits == other_fits && (slot->bytes < other->bytes) == fits))
      best = i;
  }
  return best;
}

static bool take_slot(scratch *all, large_buffer *large) {
  large->slot = find_slot(all, large);
  if (large->slot < 0) {
    if (!RUNTIME_PUSH(&all->slots, ((scratch_slot){0}))) return false;
    large->slot = all->slots.n - 1;
  }
  scratch_slot *slot = &all->slots.data[large->slot];
  slot->bytes = RUNTIME_MAX(slot->bytes, large->bytes);
  slot->last = large->last;
  return true;
}

/* In the order of their first uses, as their memory becomes free. */
static void share(scratch *all, const tir_stmt *body) {
  note_uses(all, body);
  if (all->large.n > 0) qsort(all->large.data, (size_t)all->large.n, sizeof *all->large.data, by_first_use);
  for (int i = 0; i < all->large.n; i++)
    if (!take_slot(all, &all->large.data[i])) codegen_no_memory(all->m);
}

static void make_slots(scratch *all) {
  codegen_emitter *m = all->m;
  for (int i = 0; i < all->slots.n && !m->failed; i++) {
    LLVMValueRef memory = NULL;
    for (int k = 0; k < all->large.n; k++) {
      const large_buffer *large = &all->large.data[k];
      if (large->slot != i) continue;
      if (memory == NULL) memory = make_on_heap(m, large->buffer->name, codegen_index_int(m, all->slots.data[i].bytes));
      bind_memory(m, large->buffer, memory);
    }
  }
}

void codegen_emit_scratch(codegen_emitter *m, const tir_stmt *body) {
  scratch all = {.m = m};
  tir_visitor visitor = {.stmt = make_buffer, .user = &all};
  tir_walk_stmt(body, &visitor);
  if (!m->failed) share(&all, body);
  if (!m->failed) make_slots(&all);
  if (m->frame->heap.n > 0) check_heap(m);
  runtime_map_free(&all.numbers);
  RUNTIME_VEC_FREE(&all.large);
  RUNTIME_VEC_FREE(&all.slots);
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
