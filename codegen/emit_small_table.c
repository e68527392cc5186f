/* emit_small_table.c: loads from any places of a table that a few registers hold, such as the 256 values of a function of a byte:
 *
 *     Y[ramp(c, 1, L)] = T[int32(X[ramp(c, 1, L)])]
 *
 * The whole table is loaded, once outside of the loops around where nothing writes it; shuffles across two registers pick each lane's
 * element, and bits of the index choose between such pairs. A gather takes a load for every lane. AVX-512: words of four bytes,
 * and bytes where the processor shuffles them over whole registers. */
#include "codegen/emit.h"

enum { REGISTER = 64, LEAST_LANES = 16, MAX_REGISTERS = 16, MAX_BYTE_REGISTERS = 4 };

/* How a table lies in registers. */
typedef struct small_table {
  codegen_emitter *m;
  const tir_buffer *buffer;
  int bytes, per; /* of an element; elements of a register */
  int n, n_registers;
  LLVMTypeRef element, type; /* an integer as wide as an element; a register of them */
  LLVMValueRef registers[MAX_REGISTERS];
} small_table;

/* False: no such table, or too large a one. */
static bool describe(codegen_emitter *m, const tir_buffer *buffer, int lanes, small_table *t) {
  int bytes = (int)codegen_element_bytes(buffer);
  bool is_word = bytes == 4, is_byte = bytes == 1 && buffer->dtype != TN_BOOL && m->target->shuffles_bytes;
  if (m->target->vector_bytes != REGISTER || !(is_word || is_byte) || lanes < LEAST_LANES) return false;
  if (tir_is_strided(buffer) || buffer->ndim != 1 || buffer->shape[0] < 2) return false;
  int64_t per = REGISTER / bytes, n = (buffer->shape[0] + per - 1) / per;
  if (n > (is_word ? MAX_REGISTERS : MAX_BYTE_REGISTERS)) return false;
  *t = (small_table){.m = m, .buffer = buffer, .bytes = bytes, .per = (int)per};
  t->n = (int)buffer->shape[0], t->n_registers = (int)n;
  t->element = is_word ? m->i32 : LLVMInt8TypeInContext(m->llvm);
  t->type = LLVMVectorType(t->element, (unsigned)per);
  return true;
}

/* Elements FIRST and those behind it; none behind the table. */
static LLVMValueRef load_register(const small_table *t, LLVMValueRef pointer, int first) {
  codegen_emitter *m = t->m;
  LLVMValueRef at = codegen_i64(m, first), mask[REGISTER];
  LLVMValueRef place = LLVMBuildInBoundsGEP2(m->builder, t->element, pointer, &at, 1, "");
  if (first + t->per <= t->n) {
    LLVMValueRef loaded = LLVMBuildLoad2(m->builder, t->type, place, "");
    return LLVMSetAlignment(loaded, (unsigned)t->bytes), loaded;
  }
  for (int i = 0; i < t->per; i++) mask[i] = LLVMConstInt(m->i1, first + i < t->n, false);
  LLVMTypeRef types[] = {t->type, m->ptr};
  LLVMValueRef args[] = {place, LLVMConstInt(m->i32, (unsigned)t->bytes, false),
                         LLVMConstVector(mask, (unsigned)t->per), LLVMConstNull(t->type)};
  return codegen_intrinsic(m, "llvm.masked.load", 2, types, 4, args);
}

/* The elements of registers AT and AT + 1, or of the last one alone, that the last bits of INDEX say. */
static LLVMValueRef pick(const small_table *t, int at, LLVMValueRef index) {
  const char *of_one = t->bytes == 4 ? "llvm.x86.avx512.permvar.si.512" : "llvm.x86.avx512.permvar.qi.512";
  const char *of_two = t->bytes == 4 ? "llvm.x86.avx512.vpermi2var.d.512" : "llvm.x86.avx512.vpermi2var.qi.512";
  if (at + 1 >= t->n_registers)
    return codegen_intrinsic(t->m, of_one, 0, NULL, 2, (LLVMValueRef[]){t->registers[at], index});
  return codegen_intrinsic(t->m, of_two, 0, NULL, 3, (LLVMValueRef[]){t->registers[at], index, t->registers[at + 1]});
}

/* One register of values for one of indices. */
static LLVMValueRef look_up(const small_table *t, LLVMValueRef index) {
  LLVMBuilderRef b = t->m->builder;
  LLVMValueRef found[MAX_REGISTERS / 2];
  int n = 0;
  for (int i = 0; i < t->n_registers; i += 2) found[n++] = pick(t, i, index);
  for (int64_t bit = 2 * t->per; n > 1; bit *= 2, n = (n + 1) / 2) {
    LLVMValueRef one = codegen_splat(t->m, LLVMConstInt(t->element, (uint64_t)bit, false), t->per);
    LLVMValueRef is_on = LLVMBuildICmp(b, LLVMIntNE, LLVMBuildAnd(b, index, one, ""), LLVMConstNull(t->type), "");
    for (int i = 0; i < n; i += 2)
      found[i / 2] = i + 1 < n ? LLVMBuildSelect(b, is_on, found[i + 1], found[i], "") : found[i];
  }
  return found[0];
}

/* INDEX as numbers as wide as an element: bytes as they were loaded, where it was made of them. */
static LLVMValueRef narrow_index(const small_table *t, const tir_expr *index) {
  codegen_emitter *m = t->m;
  bool is_of_bytes = index->op == TIR_CAST && (index->arg[0]->dtype == TN_U8 || index->arg[0]->dtype == TN_I8);
  LLVMValueRef value = codegen_value(m, is_of_bytes && t->bytes == 1 ? index->arg[0] : index);
  LLVMTypeRef type = LLVMVectorType(t->element, index->lanes);
  return LLVMTypeOf(value) == type ? value : LLVMBuildTrunc(m->builder, value, type, "");
}

LLVMValueRef codegen_load_small_table(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                      const tir_expr *index) {
  small_table t;
  if (!describe(m, buffer, index->lanes, &t)) return NULL;
  for (int i = 0; i < t.n_registers; i++) t.registers[i] = load_register(&t, pointer, i * t.per);
  LLVMValueRef indices = narrow_index(&t, index);
  LLVMValueRef result = LLVMGetPoison(LLVMVectorType(t.element, index->lanes));
  for (int first = 0; first < index->lanes; first += t.per) {
    LLVMValueRef piece = codegen_lane_piece(m, indices, index->lanes, first, t.per);
    result = codegen_put_piece(m, result, look_up(&t, piece), index->lanes, first, t.per);
  }
  return LLVMBuildBitCast(m->builder, result, codegen_memory_type(m, buffer->dtype, index->lanes), "");
}
