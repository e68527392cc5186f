/* emit_tail.c: the first lanes of a vector, on processors where masks cost more than branches. A masked store of AVX2 takes some processors
 * as long as ten plain ones, bytes have no masks there, and other vectors than x86's have none at all. Of a mask that lets the
 * first lanes through it is enough to count them:
 *     8 lanes, 5 of them on:  4 lanes are stored, none of 2, 1 lane
 * Each of these stores is behind a branch, which a call takes the same way each time, as the end of a row does not move. */
#include "codegen/emit.h"

/* ---- how many lanes are on --------------------------------------------------------------------------------------- */

static LLVMValueRef choose(codegen_emitter *m, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(m->builder, LLVMBuildICmp(m->builder, predicate, a, b, ""), a, b, "");
}

static LLVMValueRef least(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b) { return choose(m, LLVMIntSLT, a, b); }

static LLVMValueRef most(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b) { return choose(m, LLVMIntSGT, a, b); }

/* GAP > 0 on all lanes or on none. */
static LLVMValueRef all_or_none(codegen_emitter *m, LLVMValueRef condition, int lanes) {
  return LLVMBuildSelect(m->builder, condition, codegen_index_int(m, lanes), codegen_index_int(m, 0), "");
}

/* Of less < more, or less <= more: more - less has to be positive, and falls by a fixed step from lane to lane. */
static bool count_compared(codegen_emitter *m, const tir_expr *less, const tir_expr *more, bool or_equal,
                           LLVMValueRef *count) {
  int64_t step, step_of_more;
  if (!codegen_is_linear(m, less, &step) || !codegen_is_linear(m, more, &step_of_more)) return false;
  step -= step_of_more;
  if (step < 0) return false;
  LLVMValueRef gap = LLVMBuildNSWSub(m->builder, codegen_linear_base(m, more), codegen_linear_base(m, less), "");
  if (or_equal || step > 1)
    gap = LLVMBuildNSWAdd(m->builder, gap, codegen_index_int(m, (or_equal ? 1 : 0) + RUNTIME_MAX(step, 1) - 1), "");
  if (step == 0)
    gap = all_or_none(m, LLVMBuildICmp(m->builder, LLVMIntSGT, gap, codegen_index_int(m, 0), ""), less->lanes);
  *count = step > 1 ? LLVMBuildSDiv(m->builder, gap, codegen_index_int(m, step), "") : gap;
  return true;
}

bool codegen_leading_lanes(codegen_emitter *m, const tir_expr *predicate, LLVMValueRef *count) {
  LLVMValueRef other;
  const tir_expr *const *arg = predicate->arg;
  switch ((int)predicate->op) {
    case TIR_AND:
      if (!codegen_leading_lanes(m, arg[0], count) || !codegen_leading_lanes(m, arg[1], &other)) return false;
      *count = least(m, *count, other);
      return true;
    case TIR_BROADCAST:
      if (arg[0]->lanes != 1) return false;
      *count = all_or_none(m, codegen_value(m, arg[0]), predicate->lanes);
      return true;
    case TIR_LT:
    case TIR_LE: return count_compared(m, arg[0], arg[1], predicate->op == TIR_LE, count);
    case TIR_GT:
    case TIR_GE: return count_compared(m, arg[1], arg[0], predicate->op == TIR_GE, count);
    default: return false;
  }
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

/* What is left to be stored: a vector, its place, and how many of its first lanes. */
typedef struct rest {
  LLVMValueRef vector, place, count;
  int lanes;
} rest;

/* Elements are bits here: LLVM has stores of all short vectors of these. */
static LLVMTypeRef bits_type(codegen_emitter *m, unsigned bytes, int lanes) {
  LLVMTypeRef one = LLVMIntTypeInContext(m->llvm, 8 * bytes);
  return lanes > 1 ? LLVMVectorType(one, (unsigned)lanes) : one;
}

static LLVMValueRef place_at(codegen_emitter *m, LLVMValueRef place, unsigned bytes, int by) {
  LLVMValueRef index = codegen_index_int(m, by);
  return by == 0 ? place : LLVMBuildGEP2(m->builder, bits_type(m, bytes, 1), place, &index, 1, "");
}

/* N lanes from FIRST on, at PLACE. */
static void store_some(codegen_emitter *m, LLVMValueRef vector, int lanes, int first, int n, LLVMValueRef place,
                       unsigned bytes) {
  LLVMValueRef part =
      n > 1 ? codegen_lane_piece(m, vector, lanes, first, n)
            : LLVMBuildExtractElement(m->builder, vector, LLVMConstInt(m->i32, (unsigned)first, false), "");
  LLVMSetAlignment(LLVMBuildStore(m->builder, part, place), bytes);
}

/* The longest parts first. */
static void store_number(codegen_emitter *m, const rest *r, int64_t count, unsigned bytes) {
  int n = r->lanes, first = 0;
  for (; n > 0; n /= 2) {
    if (count - first < n) continue;
    store_some(m, r->vector, r->lanes, first, n, place_at(m, r->place, bytes, first), bytes);
    first += n;
  }
}

static LLVMValueRef phi_of(codegen_emitter *m, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b,
                           LLVMBasicBlockRef from_b) {
  LLVMValueRef phi = LLVMBuildPhi(m->builder, LLVMTypeOf(a), "");
  LLVMAddIncoming(phi, (LLVMValueRef[]){a, b}, (LLVMBasicBlockRef[]){from_a, from_b}, 2);
  return phi;
}

/* One rung: half of the lanes, where so many are on. What is left is the other half, or this one. */
static rest store_half(codegen_emitter *m, const rest *r, unsigned bytes) {
  int half = r->lanes / 2;
  LLVMValueRef bit = LLVMBuildAnd(m->builder, r->count, codegen_index_int(m, half), "");
  LLVMValueRef is_on = LLVMBuildICmp(m->builder, LLVMIntNE, bit, codegen_index_int(m, 0), "");
  rest left = {.count = r->count, .lanes = half};
  LLVMValueRef lower = half > 1 ? codegen_lane_piece(m, r->vector, r->lanes, 0, half) : NULL;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->builder), after = codegen_begin_if(m, is_on);
  store_some(m, r->vector, r->lanes, 0, half, r->place, bytes);
  LLVMValueRef upper = half > 1 ? codegen_lane_piece(m, r->vector, r->lanes, half, half) : NULL;
  LLVMValueRef next = place_at(m, r->place, bytes, half);
  LLVMBasicBlockRef stored = LLVMGetInsertBlock(m->builder);
  codegen_end_if(m, after);
  if (half == 1) return left;
  left.vector = phi_of(m, upper, stored, lower, before);
  left.place = phi_of(m, next, stored, r->place, before);
  return left;
}

/* Fewer lanes than there are. The count may be below 0. */
static void store_ladder(codegen_emitter *m, rest r, unsigned bytes) {
  r.count = most(m, r.count, codegen_index_int(m, 0));
  while (r.lanes > 1) r = store_half(m, &r, bytes);
}

/* Registers that are whole are stored as such; the first that is not ends the row. */
static void store_registers(codegen_emitter *m, const rest *r, int n, unsigned bytes) {
  LLVMBasicBlockRef start = LLVMGetInsertBlock(m->builder);
  LLVMBasicBlockRef tail = codegen_new_block(m, "tail"), after = codegen_new_block(m, "after");
  LLVMPositionBuilderAtEnd(m->builder, tail);
  LLVMValueRef vector = LLVMBuildPhi(m->builder, bits_type(m, bytes, n), "");
  LLVMValueRef place = LLVMBuildPhi(m->builder, m->ptr, ""), count = LLVMBuildPhi(m->builder, m->index, "");
  LLVMPositionBuilderAtEnd(m->builder, start);
  for (int first = 0; first < r->lanes; first += n) {
    LLVMValueRef part = codegen_lane_piece(m, r->vector, r->lanes, first, n), at = place_at(m, r->place, bytes, first);
    LLVMValueRef left = LLVMBuildNSWSub(m->builder, r->count, codegen_index_int(m, first), "");
    LLVMValueRef is_whole = LLVMBuildICmp(m->builder, LLVMIntSGE, left, codegen_index_int(m, n), "");
    LLVMBasicBlockRef here = LLVMGetInsertBlock(m->builder), whole = codegen_new_block(m, "whole");
    LLVMAddIncoming(vector, &part, &here, 1);
    LLVMAddIncoming(place, &at, &here, 1);
    LLVMAddIncoming(count, &left, &here, 1);
    LLVMBuildCondBr(m->builder, is_whole, whole, tail);
    LLVMPositionBuilderAtEnd(m->builder, whole);
    LLVMSetAlignment(LLVMBuildStore(m->builder, part, at), bytes);
  }
  LLVMBuildBr(m->builder, after);
  LLVMPositionBuilderAtEnd(m->builder, tail);
  store_ladder(m, (rest){vector, place, count, n}, bytes);
  LLVMBuildBr(m->builder, after);
  LLVMPositionBuilderAtEnd(m->builder, after);
}

static int next_power(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

/* A number of lanes that is known needs no branch. */
void codegen_store_leading(codegen_emitter *m, LLVMValueRef value, int lanes, LLVMValueRef place, unsigned bytes,
                           LLVMValueRef count) {
  int n = RUNTIME_MIN(m->target->vector_bytes / (int)bytes, next_power(lanes));
  LLVMTypeRef type = bits_type(m, bytes, lanes);
  rest r = {LLVMBuildBitCast(m->builder, value, type, ""), place, count, lanes};
  if (lanes % n != 0) r.count = least(m, r.count, codegen_index_int(m, lanes));
  if (!LLVMIsAConstantInt(r.count)) {
    store_registers(m, &r, n, bytes);
    return;
  }
  int64_t left = RUNTIME_MIN(LLVMConstIntGetSExtValue(r.count), lanes);
  for (int first = 0; left > 0; first += n, left -= n) {
    rest part = {codegen_lane_piece(m, r.vector, lanes, first, n), place_at(m, place, bytes, first), NULL, n};
    store_number(m, &part, left, bytes);
  }
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

/* Elements of less than a word by masks of words: how many are in one. */
typedef struct words {
  unsigned bytes;
  int in_word, n;          /* words of a vector */
  LLVMValueRef whole, odd; /* how many words are on as a whole, and elements behind them */
} words;

/* The elements behind the whole words, 0 where there is none: each is one load of its place, or of element 0. */
static LLVMValueRef load_odd(codegen_emitter *m, const words *w, LLVMValueRef pointer, LLVMValueRef index) {
  LLVMTypeRef element = bits_type(m, w->bytes, 1);
  LLVMValueRef word = LLVMConstInt(m->i32, 0, false), in_word = codegen_index_int(m, w->in_word);
  LLVMValueRef begin = LLVMBuildAdd(m->builder, index, LLVMBuildMul(m->builder, w->whole, in_word, ""), "");
  for (int i = 0; i + 1 < w->in_word; i++) {
    LLVMValueRef is_on = LLVMBuildICmp(m->builder, LLVMIntSGT, w->odd, codegen_index_int(m, i), "");
    LLVMValueRef at = LLVMBuildAdd(m->builder, begin, codegen_index_int(m, i), "");
    at = LLVMBuildSelect(m->builder, is_on, at, codegen_index_int(m, 0), "");
    LLVMValueRef loaded =
        LLVMBuildLoad2(m->builder, element, LLVMBuildGEP2(m->builder, element, pointer, &at, 1, ""), "");
    LLVMSetAlignment(loaded, w->bytes);
    loaded = LLVMBuildSelect(m->builder, is_on, loaded, LLVMConstNull(element), "");
    LLVMValueRef shift = LLVMConstInt(m->i32, 8 * w->bytes * (unsigned)i, false);
    loaded = LLVMBuildShl(m->builder, LLVMBuildZExt(m->builder, loaded, m->i32, ""), shift, "");
    word = LLVMBuildOr(m->builder, word, loaded, "");
  }
  return word;
}

/* The numbers of N words from FIRST on. */
static LLVMValueRef numbers(codegen_emitter *m, int first, int n) {
  LLVMValueRef *number = RUNTIME_NEW_ARRAY(&m->arena, LLVMValueRef, n);
  if (number == NULL) return codegen_no_memory(m), LLVMGetPoison(LLVMVectorType(m->i32, (unsigned)n));
  for (int i = 0; i < n; i++) number[i] = LLVMConstInt(m->i32, (unsigned)(first + i), false);
  return LLVMConstVector(number, (unsigned)n);
}

/* N words from FIRST on. */
static LLVMValueRef load_words(codegen_emitter *m, const words *w, LLVMValueRef place, LLVMValueRef odd, int first,
                               int n) {
  LLVMTypeRef types[] = {LLVMVectorType(m->i32, (unsigned)n), m->ptr};
  LLVMValueRef which = numbers(m, first, n);
  LLVMValueRef whole = codegen_splat(m, LLVMBuildTrunc(m->builder, w->whole, m->i32, ""), n);
  LLVMValueRef args[] = {place_at(m, place, 4, first), LLVMConstInt(m->i32, w->bytes, false),
                         LLVMBuildICmp(m->builder, LLVMIntSLT, which, whole, ""), LLVMConstNull(types[0])};
  LLVMValueRef loaded = codegen_intrinsic(m, "llvm.masked.load", 2, types, 4, args);
  LLVMValueRef is_odd = LLVMBuildICmp(m->builder, LLVMIntEQ, which, whole, "");
  return LLVMBuildSelect(m->builder, is_odd, codegen_splat(m, odd, n), loaded, "");
}

bool codegen_can_load_leading(const codegen_emitter *m, int lanes, unsigned bytes) {
  enum { WORD = 4, MASKED_BYTES = 32 };
  int total = lanes * (int)bytes;
  bool has_words = strcmp(m->target->arch->name, "x86_64") == 0 && m->target->vector_bytes == MASKED_BYTES;
  bool is_whole = total % MASKED_BYTES == 0 || total == MASKED_BYTES / 2;
  return has_words && bytes < WORD && is_whole;
}

LLVMValueRef codegen_load_leading(codegen_emitter *m, LLVMTypeRef type, int lanes, LLVMValueRef pointer,
                                  LLVMValueRef index, unsigned bytes, LLVMValueRef count) {
  enum { WORD = 4 };
  words w = {.bytes = bytes, .in_word = WORD / (int)bytes, .n = lanes * (int)bytes / WORD};
  int n = RUNTIME_MIN(m->target->vector_bytes / WORD, w.n);
  LLVMValueRef in_word = codegen_index_int(m, w.in_word);
  count = most(m, least(m, count, codegen_index_int(m, lanes)), codegen_index_int(m, 0));
  w.whole = LLVMBuildUDiv(m->builder, count, in_word, "");
  w.odd = LLVMBuildURem(m->builder, count, in_word, "");
  LLVMValueRef odd = load_odd(m, &w, pointer, index);
  LLVMValueRef place = LLVMBuildGEP2(m->builder, bits_type(m, bytes, 1), pointer, &index, 1, "");
  LLVMValueRef result = LLVMGetPoison(LLVMVectorType(m->i32, (unsigned)w.n));
  for (int first = 0; first < w.n; first += n)
    result = codegen_put_piece(m, result, load_words(m, &w, place, odd, first, n), w.n, first, n);
  return LLVMBuildBitCast(m->builder, result, type, "");
}
