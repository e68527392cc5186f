/* emit_past.c: stores past the caches, in stream_stores. They need aligned addresses, which only the call knows: where an address is
 * none, plain ones take their place.
 *
 * Whole vectors that stores in a row write wait until all their values are there, and are asked for together: between a question for each,
 * LLVM would sort what is computed by rows, each a chain that waits for itself. */
#include "codegen/emit.h"

bool codegen_can_stream(const codegen_emitter *m) { return strcmp(m->target->arch->name, "x86_64") == 0; }

void codegen_end_streaming(codegen_emitter *m) {
  if (m->streams) codegen_intrinsic(m, "llvm.x86.sse.sfence", 0, NULL, 0, NULL);
}

/* ---- what may wait ----------------------------------------------------------------------------------------------- */

static bool is_output(const codegen_emitter *m, const tir_buffer *buffer) {
  bool found = false;
  for (int i = m->func->n_inputs; i < m->func->n_params; i++) found |= m->func->params[i] == buffer;
  return found;
}

/* Of an output: what is scratch is read again soon. */
bool codegen_is_past(const codegen_emitter *m, const tir_buffer *buffer, int lanes) {
  int bytes = lanes * (int)codegen_element_bytes(buffer);
  return m->streams && is_output(m, buffer) && bytes % m->target->vector_bytes == 0;
}

static tir_walk find_output(void *user, const tir_expr *e) {
  return e->op == TIR_LOAD && is_output(user, e->u.buffer) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* Whether S neither reads an output, which may wait, nor writes to one what does not wait. */
static bool may_wait(const codegen_emitter *m, const tir_stmt *s) {
  const tir_expr *index = s->u.store.n_index == 1 ? s->u.store.index[0] : NULL;
  bool is_row = index != NULL && index->op == TIR_RAMP && index->u.i == 1 && s->u.store.predicate == NULL;
  if (is_output(m, s->u.store.buffer) && !(is_row && codegen_is_past(m, s->u.store.buffer, index->lanes))) return false;
  return tir_walk_expr(s->u.store.value, find_output, (void *)m) &&
         (index == NULL || tir_walk_expr(index, find_output, (void *)m));
}

void codegen_past_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts) {
  m->past.waits = m->streams && n > 1;
  for (int i = 0; i < n && m->past.waits; i++) m->past.waits = may_wait(m, stmts[i]);
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

static void store_past(codegen_emitter *m, LLVMValueRef value, LLVMValueRef place) {
  LLVMValueRef store = LLVMBuildStore(m->builder, value, place);
  LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(m->i32, 1, false));
  LLVMSetAlignment(store, (unsigned)m->target->vector_bytes);
  LLVMSetMetadata(store, LLVMGetMDKindIDInContext(m->llvm, "nontemporal", 11),
                  LLVMMetadataAsValue(m->llvm, LLVMMDNodeInContext2(m->llvm, &one, 1)));
}

/* Whether all places that wait are aligned. */
static LLVMValueRef are_aligned(codegen_emitter *m) {
  LLVMValueRef all = NULL;
  for (int i = 0; i < m->past.n; i++) {
    LLVMValueRef address = LLVMBuildPtrToInt(m->builder, m->past.place[i], m->index, "");
    all = all != NULL ? LLVMBuildOr(m->builder, all, address, "") : address;
  }
  LLVMValueRef rest = LLVMBuildAnd(m->builder, all, codegen_index_int(m, m->target->vector_bytes - 1), "");
  return LLVMBuildICmp(m->builder, LLVMIntEQ, rest, codegen_index_int(m, 0), "");
}

/* In their order. */
static void store_all(codegen_emitter *m) {
  if (m->past.n == 0) return;
  LLVMValueRef aligned = are_aligned(m);
  LLVMBasicBlockRef streamed = codegen_new_block(m, "streamed"), plain = codegen_new_block(m, "plain");
  LLVMBasicBlockRef after = codegen_new_block(m, "stored");
  LLVMBuildCondBr(m->builder, aligned, streamed, plain);
  LLVMPositionBuilderAtEnd(m->builder, plain);
  for (int i = 0; i < m->past.n; i++)
    LLVMSetAlignment(LLVMBuildStore(m->builder, m->past.value[i], m->past.place[i]), m->past.align[i]);
  LLVMBuildBr(m->builder, after);
  LLVMPositionBuilderAtEnd(m->builder, streamed);
  for (int i = 0; i < m->past.n; i++) store_past(m, m->past.value[i], m->past.place[i]);
  LLVMBuildBr(m->builder, after);
  LLVMPositionBuilderAtEnd(m->builder, after);
  m->past.n = 0;
}

void codegen_store_past(codegen_emitter *m, LLVMValueRef place, unsigned align, LLVMValueRef value) {
  int i = m->past.n++;
  m->past.place[i] = place, m->past.value[i] = value, m->past.align[i] = align;
  if (!m->past.waits || m->past.n == CODEGEN_MAX_PAST) store_all(m);
}

void codegen_past_end(codegen_emitter *m) {
  store_all(m);
  m->past.waits = false;
}
