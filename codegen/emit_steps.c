/* emit_steps.c: the steps of a sum whose results are registers: some of them go together, so that one branch and one sum of
 * addresses serve them all. LLVM does not unroll loops as long as a tile's (GotoBLAS: the micro-kernel's k loop). */
#include "codegen/emit.h"

#include <string.h>

/* What a tile is: its registers, or that it is none. */
typedef struct tile {
  const codegen_emitter *m;
  int registers;
  bool is_one;
} tile;

/* Each statement adds to a register of its own. */
static tir_walk add_statement(void *user, const tir_stmt *s) {
  tile *t = user;
  if (s->kind == TIR_SEQ || s->kind == TIR_PREFETCH) return TIR_WALK_ON;
  t->is_one = s->kind == TIR_STORE && strcmp(s->u.store.buffer->scope, "local") == 0 && s->u.store.predicate == NULL &&
              tir_loads(s->u.store.value, s->u.store.buffer);
  if (!t->is_one) return TIR_WALK_STOP;
  int bytes = s->u.store.value->lanes * (int)tn_dtype_bytes(s->u.store.buffer->dtype),
      vector = t->m->target->vector_bytes;
  t->registers += (bytes + vector - 1) / vector;
  return TIR_WALK_ON;
}

/* A tile of nearly all registers has none for what the next step reads: two steps of 2x14 vectors went to the stack. */
int codegen_steps_together(const codegen_emitter *m, const tir_stmt *loop, int64_t extent) {
  enum { LEAST = 8, FREE = 5, STEPS = 4 };
  tile t = {.m = m, .is_one = true};
  const tir_visitor visitor = {.stmt = add_statement, .user = &t};
  tir_walk_stmt(loop->u.loop.body, &visitor);
  int all = codegen_pass_options(m->target).vector_registers;
  if (loop->u.loop.kind != TIR_SERIAL || !t.is_one || t.registers < LEAST || t.registers + FREE > all) return 1;
  return extent >= 2 * STEPS ? STEPS : 1;
}

void codegen_emit_steps(codegen_emitter *m, const tir_stmt *loop, LLVMValueRef begin, int64_t extent, int together,
                        tir_interval range) {
  int64_t whole = extent / together * together;
  LLVMValueRef end = LLVMBuildNSWAdd(m->builder, begin, codegen_index_int(m, whole), "");
  codegen_emit_do_while(m, loop, begin, end, codegen_index_int(m, together), range, together);
  for (int64_t i = whole; i < extent; i++)
    codegen_emit_step(m, loop, LLVMBuildNSWAdd(m->builder, begin, codegen_index_int(m, i), ""), range);
}
