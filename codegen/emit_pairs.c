/* emit_pairs.c: rows of bf16 that are computed with as f32 and stored as bf16. A bf16 is the upper half of an f32, so that two neighbours
 * are a word whose lower and upper half become the f32 of the even and the odd one by an operation each, where widening a vector takes a
 * shuffle and a shift for each register. So even and odd lanes are computed apart, from the same words:
 *
 *     Y[ramp(c, 1, 32)] = bf16(f32(X[ramp(a, 1, 32)]) * w)  ->  even = (X as words << 16) * w; odd = (X as words & 0xffff0000) * w
 *
 * and one shuffle puts the results in turns. Every lane is computed as it is written. */
#include "codegen/emit.h"

enum { MOST_LANES = 64 };

/* What a value reads. */
typedef struct pair_reads {
  codegen_emitter *m;
  int lanes;
  int n_narrow, n_wide; /* loads of bf16 that become f32; of other numbers */
} pair_reads;

/* All lanes of a load are neighbours, without a condition. */
static bool is_row(codegen_emitter *m, const tir_expr *e, int lanes) {
  int64_t stride;
  return e->op == TIR_LOAD && e->lanes == lanes && tir_n_index(e) == 1 && !e->has_predicate &&
         codegen_is_linear(m, e->arg[0], &stride) && stride == 1;
}

/* Functions take so long that widening hides beside them, and longer by single registers. */
static tir_walk count(void *user, const tir_expr *e) {
  pair_reads *r = user;
  if (e->lanes == 1 || e->op == TIR_RAMP || e->op == TIR_BROADCAST) return TIR_WALK_PRUNE;
  bool is_widened = e->op == TIR_CAST && e->dtype == TN_F32 && e->arg[0]->dtype == TN_BF16;
  if (e->op == TIR_DOT || tir_class_of(e) == TIR_CLASS_MATH || e->lanes != r->lanes ||
      (!is_widened && e->dtype == TN_BF16))
    return TIR_WALK_STOP;
  if (is_widened && is_row(r->m, e->arg[0], r->lanes)) return r->n_narrow++, TIR_WALK_PRUNE;
  if (e->op != TIR_LOAD) return TIR_WALK_ON;
  return is_row(r->m, e, r->lanes) ? (r->n_wide++, TIR_WALK_PRUNE) : TIR_WALK_STOP;
}

/* Of whole registers of bf16. Wider loads are taken apart by as many shuffles as widening takes. */
static bool is_of_pairs(codegen_emitter *m, const tir_stmt *s) {
  const tir_expr *value = s->u.store.value;
  int lanes = value->lanes;
  int64_t stride;
  bool is = m->target->bf16_lanes == 16 && s->u.store.buffer->dtype == TN_BF16 && s->u.store.predicate == NULL &&
            s->u.store.n_index == 1 && value->op == TIR_CAST && value->arg[0]->dtype == TN_F32 && lanes % 32 == 0 &&
            lanes <= MOST_LANES && s->u.store.index[0]->lanes == lanes &&
            codegen_is_linear(m, s->u.store.index[0], &stride) && stride == 1;
  pair_reads reads = {.m = m, .lanes = lanes};
  return is && tir_walk_expr(value->arg[0], count, &reads) && reads.n_narrow > reads.n_wide;
}

/* Every second lane of E, from lane PHASE on, as f32. */
static LLVMValueRef second_lanes(codegen_emitter *m, const tir_expr *e, int phase) {
  const tir_expr *part = NULL;
  tn_status status = codegen_every_second(&m->arena, &m->slices, e, phase, &part);
  if (status != TN_OK) {
    codegen_emit_fail(m, status, "a vector cannot be cut: no memory, or nested deeper than %d", CODEGEN_MAX_DEPTH);
    return LLVMGetPoison(codegen_type(m, TN_F32, e->lanes / 2));
  }
  m->phase = phase + 1;
  LLVMValueRef value = codegen_value(m, part);
  m->phase = 0;
  return value;
}

LLVMValueRef codegen_paired_load(codegen_emitter *m, const tir_expr *cast) {
  const tir_expr *e = cast->arg[0];
  int64_t stride = 0;
  bool is = m->phase > 0 && e->op == TIR_LOAD && e->dtype == TN_BF16 && cast->dtype == TN_F32 && e->lanes > 1;
  if (!is || !codegen_is_linear(m, e->arg[0], &stride) || stride != 2) return NULL;
  bool is_odd = m->phase == 2;
  LLVMTypeRef words = LLVMVectorType(m->i32, (unsigned)e->lanes);
  LLVMValueRef at = LLVMBuildNSWSub(m->builder, codegen_linear_base(m, e->arg[0]), codegen_index_int(m, is_odd), "");
  LLVMTypeRef element = codegen_memory_type(m, TN_BF16, 1);
  LLVMValueRef place = LLVMBuildInBoundsGEP2(m->builder, element, codegen_find(m, e->u.buffer)->value, &at, 1, "");
  LLVMValueRef value = LLVMBuildLoad2(m->builder, words, place, "");
  LLVMSetAlignment(value, 2);
  LLVMValueRef by = codegen_splat(m, LLVMConstInt(m->i32, is_odd ? 0xffff0000 : 16, false), e->lanes);
  value = is_odd ? LLVMBuildAnd(m->builder, value, by, "") : LLVMBuildShl(m->builder, value, by, "");
  return LLVMBuildBitCast(m->builder, value, codegen_type(m, TN_F32, e->lanes), "");
}

int codegen_emit_pairs(codegen_emitter *m, const tir_stmt *s) {
  if (!is_of_pairs(m, s)) return 0;
  const tir_expr *e = s->u.store.value->arg[0];
  int lanes = e->lanes, block = 2 * m->target->bf16_lanes, half = block / 2, from[MOST_LANES];
  codegen_forget(m);
  LLVMValueRef even = second_lanes(m, e, 0), odd = second_lanes(m, e, 1);
  for (int i = 0; i < lanes; i++) from[i] = i % half + i / block * half + (i % block < half ? 0 : lanes / 2);
  LLVMValueRef blocks = codegen_to_half(m, TN_BF16, codegen_shuffle(m, even, odd, lanes, from), lanes);
  for (int i = 0; i < lanes; i++) from[i] = i - i % block + i % block / 2 + i % 2 * half;
  LLVMValueRef value = codegen_shuffle(m, blocks, NULL, lanes, from);
  codegen_store_run(m, s->u.store.buffer, codegen_linear_base(m, s->u.store.index[0]), lanes, value);
  return 1;
}
