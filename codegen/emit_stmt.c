/* emit_stmt.c: statements: loops in rotated form (a guard, then do-while), branches, sequences. */
#include "codegen/emit.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>

enum { MAX_NESTING = 1000 };

/* ---- branches ---------------------------------------------------------------------------------------------------- */

/* The block behind, where both ways meet. */
LLVMBasicBlockRef codegen_begin_if(codegen_emitter *m, LLVMValueRef condition) {
  LLVMBasicBlockRef then = codegen_new_block(m, "then"), after = codegen_new_block(m, "after");
  LLVMBuildCondBr(m->builder, condition, then, after);
  LLVMPositionBuilderAtEnd(m->builder, then);
  return after;
}

/* AFTER is what codegen_begin_if gave. */
void codegen_end_if(codegen_emitter *m, LLVMBasicBlockRef after) {
  LLVMBuildBr(m->builder, after);
  LLVMPositionBuilderAtEnd(m->builder, after);
}

/* then and else in blocks of their own; the condition is evaluated before both. */
static void emit_if(codegen_emitter *m, const tir_stmt *s) {
  LLVMValueRef condition = codegen_value(m, s->u.branch.cond);
  bool has_else = s->u.branch.else_body != NULL;
  LLVMBasicBlockRef then = codegen_new_block(m, "then"), after = codegen_new_block(m, "after");
  LLVMBasicBlockRef otherwise = has_else ? codegen_new_block(m, "else") : after;
  LLVMBuildCondBr(m->builder, condition, then, otherwise);
  LLVMPositionBuilderAtEnd(m->builder, then);
  codegen_emit_stmt(m, s->u.branch.then_body);
  if (has_else) {
    LLVMBuildBr(m->builder, after);
    LLVMPositionBuilderAtEnd(m->builder, otherwise);
    codegen_emit_stmt(m, s->u.branch.else_body);
  }
  codegen_end_if(m, after);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Unbounded where it is not known, which makes indices wrap at their dtype. */
tir_interval codegen_loop_range(codegen_emitter *m, const tir_stmt *s, tir_interval *extent) {
  tir_interval min, range = {INT64_MIN, INT64_MAX};
  bool known = codegen_index_range(m, s->u.loop.min, &min);
  if (!codegen_index_range(m, s->u.loop.extent, extent))
    *extent = range;
  else if (known && extent->hi > 0)
    range = (tir_interval){min.lo, min.hi + extent->hi - 1};
  return range;
}

/* The variable has the name of its loop in printed LLVM IR. */
static void bind_variable(codegen_emitter *m, const tir_var *var, LLVMValueRef value, tir_interval range) {
  codegen_binding *binding = codegen_bind(m, var, value);
  if (binding == NULL) return;
  binding->range = range;
  LLVMSetValueName2(value, var->name, strlen(var->name));
}

/* !llvm.loop on the branch back: the loop is to be unrolled wholly. */
static void hint_unroll(codegen_emitter *m, const tir_stmt *s, LLVMValueRef branch) {
  if (!m->hints_unroll || s->u.loop.kind != TIR_UNROLLED) return;
  const char text[] = "llvm.loop.unroll.full";
  LLVMMetadataRef word = LLVMMDStringInContext2(m->llvm, text, sizeof text - 1);
  LLVMMetadataRef hint = LLVMMDNodeInContext2(m->llvm, &word, 1);
  /* A loop's node names itself, which makes it distinct from those of other loops. */
  LLVMMetadataRef parts[] = {LLVMTemporaryMDNode(m->llvm, NULL, 0), hint};
  LLVMMetadataRef loop = LLVMMDNodeInContext2(m->llvm, parts, 2);
  LLVMMetadataReplaceAllUsesWith(parts[0], loop);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(m->llvm, "llvm.loop", 9), LLVMMetadataAsValue(m->llvm, loop));
}

/* Named "loop.NAME.", behind which LLVM puts a number: IR and assembly tell their loops. */
static LLVMBasicBlockRef new_loop_block(codegen_emitter *m, const tir_var *var) {
  char name[128];
  snprintf(name, sizeof name, "loop.%.100s.", var->name);
  return codegen_new_block(m, name);
}

void codegen_emit_step(codegen_emitter *m, const tir_stmt *s, LLVMValueRef i, tir_interval range) {
  bind_variable(m, s->u.loop.var, i, range);
  codegen_emit_stmt(m, s->u.loop.body);
  codegen_unbind(m, s->u.loop.var);
}

/* Rotated by construction, which saves LLVM's pass for it. */
void codegen_emit_do_while(codegen_emitter *m, const tir_stmt *s, LLVMValueRef begin, LLVMValueRef end,
                           LLVMValueRef step, tir_interval range, int together) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->builder), head = new_loop_block(m, s->u.loop.var);
  LLVMBuildBr(m->builder, head);
  LLVMPositionBuilderAtEnd(m->builder, head);
  LLVMValueRef i = LLVMBuildPhi(m->builder, m->index, "");
  codegen_emit_step(m, s, i, range);
  for (int k = 1; k < together; k++)
    codegen_emit_step(m, s, LLVMBuildNSWAdd(m->builder, i, codegen_index_int(m, k), ""), range);
  LLVMValueRef next = LLVMBuildNSWAdd(m->builder, i, step != NULL ? step : codegen_index_int(m, 1), "");
  LLVMValueRef more = LLVMBuildICmp(m->builder, LLVMIntSLT, next, end, "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(m->builder), after = codegen_new_block(m, "done");
  hint_unroll(m, s, LLVMBuildCondBr(m->builder, more, head, after));
  LLVMAddIncoming(i, (LLVMValueRef[]){begin, next}, (LLVMBasicBlockRef[]){before, latch}, 2);
  LLVMPositionBuilderAtEnd(m->builder, after);
}

/* A guard stands before the loop only when it may have no iteration; one iteration needs no loop. Unrolled and
 * vectorized loops that the passes left as too large come here too. */
static void emit_serial(codegen_emitter *m, const tir_stmt *s) {
  tir_interval extent, range = codegen_loop_range(m, s, &extent);
  if (extent.hi <= 0) return;
  LLVMValueRef begin = codegen_index(m, s->u.loop.min);
  if (extent.lo == 1 && extent.hi == 1) {
    codegen_emit_step(m, s, begin, range);
    return;
  }
  int together = extent.lo == extent.hi ? codegen_steps_together(m, s, extent.lo) : 1;
  if (together > 1) {
    codegen_emit_steps(m, s, begin, extent.lo, together, range);
    return;
  }
  LLVMValueRef count = codegen_index(m, s->u.loop.extent), end = LLVMBuildNSWAdd(m->builder, begin, count, "");
  if (extent.lo >= 1) {
    codegen_emit_do_while(m, s, begin, end, NULL, range, 1);
    return;
  }
  LLVMBasicBlockRef after = codegen_begin_if(m, LLVMBuildICmp(m->builder, LLVMIntSLT, begin, end, ""));
  codegen_emit_do_while(m, s, begin, end, NULL, range, 1);
  codegen_end_if(m, after);
}

/* A parallel loop inside a parallel loop is serial: the threads are taken. */
static void emit_loop(codegen_emitter *m, const tir_stmt *s) {
  if (s->u.loop.kind == TIR_PARALLEL && !m->frame->is_parallel)
    codegen_emit_parallel(m, s);
  else
    emit_serial(m, s);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* A store that stands alone may still read vectors that overlap. */
static void emit_store(codegen_emitter *m, const tir_stmt *s) {
  codegen_nears_begin(m, 1, &s);
  codegen_strides_begin(m, 1, &s);
  codegen_groups_begin(m, 1, &s);
  if (codegen_emit_pairs(m, s) == 0) codegen_emit_store(m, s);
  m->nears = NULL, m->strides = NULL, m->groups = NULL;
}

/* N stores in a row. Those that turn a block together (emit_turn.c) or fill a row in turns (emit_weave.c) are taken
 * together, as many as it says; the others one by one. */
static void emit_stores(codegen_emitter *m, int n, const tir_stmt *const *stmts) {
  codegen_past_begin(m, n, stmts);
  for (int i = 0; i < n && !m->failed;) {
    int taken = codegen_emit_turned(m, n - i, stmts + i);
    if (taken == 0) taken = codegen_emit_woven(m, n - i, stmts + i);
    if (taken == 0) taken = codegen_emit_pairs(m, stmts[i]);
    codegen_forget(m);
    if (taken == 0) codegen_emit_store(m, stmts[i]);
    i += RUNTIME_MAX(taken, 1);
  }
  codegen_past_end(m);
}

/* Stores in a row are looked at together first. */
static void emit_seq(codegen_emitter *m, const tir_stmt *s) {
  for (int i = 0; i < s->u.seq.n && !m->failed;) {
    const tir_stmt *const *stmts = s->u.seq.stmts + i;
    int n_firsts = codegen_emit_firsts(m, i, s->u.seq.n - i, stmts);
    if (n_firsts > 0) {
      i += n_firsts;
      continue;
    }
    int n_stores = codegen_nears_begin(m, s->u.seq.n - i, stmts);
    codegen_strides_begin(m, n_stores, stmts);
    codegen_groups_begin(m, n_stores, stmts);
    emit_stores(m, n_stores, stmts);
    m->nears = NULL, m->strides = NULL, m->groups = NULL;
    if (n_stores == 0) codegen_emit_stmt(m, stmts[0]);
    i += RUNTIME_MAX(n_stores, 1);
  }
}

/* The buffer was made at the function's entry (emit_scratch.c). */
static void emit_alloc(codegen_emitter *m, const tir_stmt *s) { codegen_emit_stmt(m, s->u.alloc.body); }

/* The hint holds for the loops below; the outer one's is put back. */
static void emit_with_hints(codegen_emitter *m, const tir_stmt *s) {
  bool outer = m->hints_unroll;
  m->hints_unroll = s->u.attr.value == 0;
  codegen_emit_stmt(m, s->u.attr.body);
  m->hints_unroll = outer;
}

/* What was stored past the caches is in memory when the loop ends. */
static void emit_streaming(codegen_emitter *m, const tir_stmt *s) {
  bool outer = m->streams;
  m->streams = codegen_can_stream(m);
  codegen_emit_stmt(m, s->u.attr.body);
  codegen_end_streaming(m);
  m->streams = outer;
}

/* The symbol has its range back behind it. */
static void emit_at_least(codegen_emitter *m, const tir_stmt *s) {
  codegen_binding *symbol = NULL;
  for (int i = 0; i < m->func->n_scalars; i++)
    if (m->func->scalars[i].is_symbol) symbol = codegen_find(m, m->func->scalars[i].var);
  int64_t least = symbol != NULL ? symbol->range.lo : 0;
  if (symbol != NULL) symbol->range.lo = RUNTIME_MAX(least, s->u.attr.value);
  codegen_emit_stmt(m, s->u.attr.body);
  if (symbol != NULL) symbol->range.lo = least;
}

/* Loops bound to a GPU's threads have none to run on. */
static void emit_attr(codegen_emitter *m, const tir_stmt *s) {
  if (strcmp(s->u.attr.key, TIR_STREAM_STORES) == 0) {
    emit_streaming(m, s);
    return;
  }
  if (strcmp(s->u.attr.key, TIR_SYMBOL_LEAST) == 0) {
    emit_at_least(m, s);
    return;
  }
  if (strcmp(s->u.attr.key, TIR_UNROLL_EXPLICIT) == 0) {
    emit_with_hints(m, s);
    return;
  }
  if (strcmp(s->u.attr.key, TIR_STAGE) == 0) {
    codegen_emit_stage(m, s);
    return;
  }
  size_t n = strlen(TIR_THREAD_EXTENT);
  if (strncmp(s->u.attr.key, TIR_THREAD_EXTENT, n) == 0)
    codegen_emit_fail(
        m, TN_ERROR_CODEGEN,
        "bind: a loop of extent %lld is bound to %s, and CPU targets have no such threads: take parallel, vectorize "
        "or bind to vthread",
        (long long)s->u.attr.value, s->u.attr.key + n);
  codegen_emit_stmt(m, s->u.attr.body);
}

static void emit_nop(codegen_emitter *m, const tir_stmt *s) { (void)m, (void)s; }

/* The depth bounds recursion. After a failure nothing more is emitted. */
void codegen_emit_stmt(codegen_emitter *m, const tir_stmt *s) {
  static void (*const handlers[])(codegen_emitter *, const tir_stmt *) = {[TIR_FOR] = emit_loop,
                                                                          [TIR_STORE] = emit_store,
                                                                          [TIR_IF] = emit_if,
                                                                          [TIR_ALLOC] = emit_alloc,
                                                                          [TIR_SEQ] = emit_seq,
                                                                          [TIR_ATTR] = emit_attr,
                                                                          [TIR_PREFETCH] = codegen_emit_prefetch,
                                                                          [TIR_NOP] = emit_nop,
                                                                          [TIR_CALL] = codegen_emit_call};
  if (m->failed) return;
  if (m->depth >= MAX_NESTING) {
    codegen_emit_fail(m, TN_ERROR_CODEGEN, "statements are nested deeper than %d", MAX_NESTING);
    return;
  }
  codegen_forget(m);
  m->depth++;
  (codegen_is_apart(m, s) ? codegen_emit_apart : handlers[s->kind])(m, s);
  m->depth--;
}
