/* emit_memory.c: loads and stores. A vector access is one of
 *   uniform      all lanes the same element       scalar access and splat
 *   contiguous   base + lane                      vector access; with a mask llvm.masked.load / store
 *   reversed     base - lane                      vector access and reversal; with a mask, too
 *   strided      base + 2..4 * lane               emit_stride.c and emit_weave.c, or vector loads that together cover what
 *                                                  is read and no more, and shuffles; masked ones, too
 *   tabulated    base + constants in groups or rows   words or vectors, and a shuffle (emit_lane_table.c); also where
 *                these are multiples of a number that is not known apart
 *   scattered    anything else                    lane by lane (Zen 5, 16 floats: 0.19 ns an element, its gather 0.29)
 * Any other masked access loads element 0, which every buffer has, on the lanes that are off. */
#include "codegen/emit.h"

enum { MAX_SHUFFLED_STRIDE = 4 };

/* An access, taken apart. */
typedef struct access {
  const tir_buffer *buffer;
  LLVMValueRef pointer;
  unsigned align; /* of an element */
  int lanes;
  const tir_expr *index;     /* NULL: element 0 of a scalar buffer */
  const tir_expr *predicate; /* or NULL */
  bool linear;
  int64_t stride; /* linear vectors */
} access;

/* base + stride * lane where the base is any number of 32 bits, as a row that was worked out from what was loaded: lanes count up
 * in an address's 64 bits, in which nothing overflows; a lane that would in 32 lies in no buffer. */
static bool is_row_of_any(const codegen_emitter *m, const tir_expr *index, int64_t *stride) {
  if (index->op != TIR_RAMP || index->dtype != TN_I32 || m->target->address_bits != 64) return false;
  *stride = index->u.i;
  return true;
}

/* align stays 0 when the access is wrong: the message is out then. */
static access take_apart(codegen_emitter *m, const tir_buffer *buffer, int n_index, const tir_expr *const *index,
                         const tir_expr *predicate) {
  access a = {.buffer = buffer, .lanes = 1, .predicate = predicate};
  codegen_binding *binding = codegen_find(m, buffer);
  if (binding == NULL || n_index > 1) {
    codegen_emit_fail(m, TN_ERROR_INTERNAL, "%s is %s", buffer->name,
                      n_index > 1 ? "not flat" : "used outside its scope");
    a.pointer = LLVMGetPoison(m->ptr);
    return a;
  }
  a.pointer = binding->value;
  a.align = codegen_element_bytes(buffer);
  if (n_index == 1) a.index = index[0];
  if (a.index != NULL) a.lanes = a.index->lanes;
  a.linear = a.lanes > 1 && (codegen_is_linear(m, a.index, &a.stride) || is_row_of_any(m, a.index, &a.stride));
  return a;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* INBOUNDS must not be claimed for an access that a mask may switch off. */
static LLVMValueRef element(codegen_emitter *m, const access *a, LLVMValueRef index, bool inbounds) {
  LLVMTypeRef type = codegen_memory_type(m, a->buffer->dtype, 1);
  return inbounds ? LLVMBuildInBoundsGEP2(m->builder, type, a->pointer, &index, 1, "")
                  : LLVMBuildGEP2(m->builder, type, a->pointer, &index, 1, "");
}

/* Element 0 of a buffer without dimensions. */
static LLVMValueRef scalar_index(codegen_emitter *m, const access *a) {
  return a->index != NULL ? codegen_index(m, a->index) : codegen_index_int(m, 0);
}

/* nsw: it stays in the buffer. */
static LLVMValueRef offset(codegen_emitter *m, LLVMValueRef base, int64_t by) {
  return by == 0 ? base : LLVMBuildNSWAdd(m->builder, base, codegen_index_int(m, by), "");
}

/* ---- plain accesses ---------------------------------------------------------------------------------------------- */

/* LANES elements from INDEX on. */
static LLVMValueRef load_at(codegen_emitter *m, const access *a, LLVMValueRef index, int lanes) {
  LLVMTypeRef type = codegen_memory_type(m, a->buffer->dtype, lanes);
  LLVMValueRef value = LLVMBuildLoad2(m->builder, type, element(m, a, index, true), "");
  LLVMSetAlignment(value, a->align);
  return value;
}

/* The alignment is that of the access: lanes may start anywhere in a row. */
static void store_at(codegen_emitter *m, const access *a, LLVMValueRef index, LLVMValueRef value) {
  LLVMSetAlignment(LLVMBuildStore(m->builder, value, element(m, a, index, true)), a->align);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

static LLVMValueRef lane_of(codegen_emitter *m, LLVMValueRef vector, int lane) {
  return LLVMBuildExtractElement(m->builder, vector, LLVMConstInt(m->i32, (unsigned)lane, false), "");
}

/* Masked accesses are made of registers' lanes: where LLVM 19 halves one for AVX2 whose mask is (a condition that is the same for
 * all lanes) AND (a constant that is off in one half), it takes that half for one that is on. */
static int lanes_of_register(const codegen_emitter *m, const access *a) {
  return m->target->vector_bytes / (int)codegen_element_bytes(a->buffer);
}

/* Whether the processor has instructions for masked accesses of such elements. */
static bool has_masks(const codegen_emitter *m, const access *a) {
  bool is_x86 = strcmp(m->target->arch->name, "x86_64") == 0;
  return is_x86 &&
         (m->target->vector_bytes == 64 || (m->target->vector_bytes == 32 && codegen_element_bytes(a->buffer) >= 4));
}

bool codegen_is_ragged(const codegen_emitter *m, const tir_buffer *buffer, int n) {
  const access a = {.buffer = buffer, .lanes = n};
  int rest = n % lanes_of_register(m, &a);
  bool is_param = false;
  for (int i = 0; i < m->func->n_params; i++) is_param |= m->func->params[i] == buffer;
  return is_param && (rest & (rest - 1)) != 0 && rest > 4 && codegen_has_cheap_masks(m->target) && has_masks(m, &a);
}

/* Of neighbours that are loaded or stored under a mask: a register's, or, if there are fewer, the least power of two of them. */
static int masked_lanes(const codegen_emitter *m, const access *a, int lanes) {
  int most = lanes_of_register(m, a), n = 1;
  while (n < RUNTIME_MIN(lanes, most)) n *= 2;
  return n;
}

static LLVMValueRef all_on(codegen_emitter *m, int lanes) {
  return LLVMConstAllOnes(LLVMVectorType(m->i1, (unsigned)lanes));
}

/* Elements that a load takes of SPAN in which lanes lie apart: as many as there are lanes, or, where these are no whole register,
 * the most that one has. */
static int strided_width(const codegen_emitter *m, const access *a, int span) {
  int most = lanes_of_register(m, a), width = 1;
  if (a->lanes >= most || (a->lanes & (a->lanes - 1)) == 0) return a->lanes;
  while (2 * width <= RUNTIME_MIN(span, most)) width *= 2;
  return width;
}

/* base + stride * lane by vector loads. The last one is moved down so that it ends at the last element needed:
 * nothing outside the first and the last element is read. */
static LLVMValueRef load_strided(codegen_emitter *m, const access *a, LLVMValueRef base) {
  int lanes = a->lanes, stride = (int)a->stride, span = stride * (lanes - 1) + 1, width = strided_width(m, a, span);
  int *from = RUNTIME_NEW_ARRAY(&m->arena, int, width);
  LLVMValueRef result = LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, width));
  if (from == NULL) return codegen_no_memory(m), LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, lanes));
  for (int first = 0; first < span; first += width) {
    int start = RUNTIME_MIN(first, span - width);
    LLVMValueRef loaded = load_at(m, a, offset(m, base, start), width);
    for (int lane = 0; lane < width; lane++) {
      int at = lane * stride;
      from[lane] = lane < lanes && at >= first && at < first + width ? width + at - start : lane;
    }
    result = codegen_shuffle(m, result, loaded, width, from);
  }
  for (int lane = 0; lane < lanes; lane++) from[lane] = lane;
  return width > lanes ? codegen_shuffle(m, result, NULL, lanes, from) : result;
}

/* Whether that takes less than the lanes one by one. A longer stride needs a shuffle of any two registers for each it goes over. */
static bool is_shuffled(const codegen_emitter *m, const access *a) {
  enum { MOST = 8 };
  if (a->stride < 2 || a->lanes < 4 || a->stride > MOST) return false;
  bool has_any =
      codegen_has_cheap_masks(m->target) && (codegen_element_bytes(a->buffer) > 1 || m->target->shuffles_bytes);
  return a->stride <= MAX_SHUFFLED_STRIDE || (has_any && a->lanes >= 2 * a->stride);
}

/* base + stride * lane for any stride, without a mask. */
static LLVMValueRef load_linear(codegen_emitter *m, const access *a) {
  LLVMValueRef base = codegen_linear_base(m, a->index);
  if (a->stride == 0) return codegen_splat(m, load_at(m, a, base, 1), a->lanes);
  if (a->stride == 1) return load_at(m, a, base, a->lanes);
  if (a->stride == -1) return codegen_reverse(m, load_at(m, a, offset(m, base, 1 - a->lanes), a->lanes), a->lanes);
  if (is_shuffled(m, a)) return load_strided(m, a, base);
  LLVMValueRef result = LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, a->lanes));
  for (int lane = 0; lane < a->lanes; lane++) {
    LLVMValueRef at = LLVMConstInt(m->i32, (unsigned)lane, false);
    LLVMValueRef value = load_at(m, a, offset(m, base, a->stride * lane), 1);
    result = LLVMBuildInsertElement(m->builder, result, value, at, "");
  }
  return result;
}

/* One lane of a vector of indices, in the index type. */
static LLVMValueRef widen_lane(codegen_emitter *m, const access *a, LLVMValueRef indices, int lane) {
  return LLVMBuildIntCast2(m->builder, lane_of(m, indices, lane), m->index,
                           tn_dtype_is_signed((tn_dtype)a->index->dtype), "");
}

/* INDICES: a vector of integers, valid on every lane. */
static LLVMValueRef load_lanes(codegen_emitter *m, const access *a, LLVMValueRef indices) {
  LLVMValueRef result = LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, a->lanes));
  for (int lane = 0; lane < a->lanes; lane++) {
    LLVMValueRef value = load_at(m, a, widen_lane(m, a, indices, lane), 1);
    result = LLVMBuildInsertElement(m->builder, result, value, LLVMConstInt(m->i32, (unsigned)lane, false), "");
  }
  return result;
}

/* ---- masked accesses --------------------------------------------------------------------------------------------- */

/* value where the condition (a scalar or a mask) holds, zero elsewhere. */
static LLVMValueRef or_zero(codegen_emitter *m, LLVMValueRef condition, LLVMValueRef value) {
  return LLVMBuildSelect(m->builder, condition, value, LLVMConstNull(LLVMTypeOf(value)), "");
}

/* Of conditions that are joined each is taken apart: what is constant in the piece is seen to be before LLVM chooses
 * instructions. */
LLVMValueRef codegen_mask_lanes(codegen_emitter *m, const tir_expr *predicate, LLVMValueRef mask, int lanes, int n,
                                const int *from) {
  LLVMValueRef computed = predicate != NULL ? codegen_predicate_lanes(m, predicate, n, from) : NULL;
  if (computed != NULL) return computed;
  LLVMOpcode op = LLVMIsAInstruction(mask) ? LLVMGetInstructionOpcode(mask) : 0;
  if (op == LLVMAnd || op == LLVMOr) {
    LLVMValueRef a = codegen_mask_lanes(m, NULL, LLVMGetOperand(mask, 0), lanes, n, from);
    LLVMValueRef b = codegen_mask_lanes(m, NULL, LLVMGetOperand(mask, 1), lanes, n, from);
    return op == LLVMAnd ? LLVMBuildAnd(m->builder, a, b, "") : LLVMBuildOr(m->builder, a, b, "");
  }
  return codegen_shuffle(m, mask, LLVMConstNull(LLVMTypeOf(mask)), n, from);
}

/* N of the LANES of a mask from FIRST on, those behind its end off. */
static LLVMValueRef mask_piece(codegen_emitter *m, const tir_expr *predicate, LLVMValueRef mask, int lanes, int first,
                               int n) {
  if (n == lanes) return mask;
  int *from = RUNTIME_NEW_ARRAY(&m->arena, int, n);
  for (int i = 0; from != NULL && i < n; i++) from[i] = RUNTIME_MIN(first + i, lanes);
  return from != NULL ? codegen_mask_lanes(m, predicate, mask, lanes, n, from)
                      : codegen_lane_piece(m, mask, lanes, first, n);
}

/* N elements from INDEX on, of which those that MASK turns off are 0 and are not touched. */
static LLVMValueRef load_masked_at(codegen_emitter *m, const access *a, LLVMValueRef index, int n, LLVMValueRef mask) {
  LLVMTypeRef types[] = {codegen_memory_type(m, a->buffer->dtype, n), m->ptr};
  LLVMValueRef args[] = {element(m, a, index, false), LLVMConstInt(m->i32, a->align, false), mask,
                         LLVMConstNull(types[0])};
  return codegen_intrinsic(m, "llvm.masked.load", 2, types, 4, args);
}

/* In pieces of a register; the last is a whole one, too. */
static LLVMValueRef load_masked_run(codegen_emitter *m, const access *a, LLVMValueRef index, int lanes,
                                    LLVMValueRef mask) {
  int n = masked_lanes(m, a, lanes);
  LLVMValueRef result = LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, lanes));
  for (int first = 0; first < lanes; first += n) {
    int width = RUNTIME_MIN(n, lanes - first);
    LLVMValueRef part =
        load_masked_at(m, a, offset(m, index, first), n, mask_piece(m, a->predicate, mask, lanes, first, n));
    result = codegen_put_piece(m, result, codegen_lane_piece(m, part, n, 0, width), lanes, first, width);
  }
  return result;
}

LLVMValueRef codegen_load_masked_run(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                     LLVMValueRef index, int n, LLVMValueRef mask) {
  const access a = {.buffer = buffer, .pointer = pointer, .align = codegen_element_bytes(buffer), .lanes = n};
  return load_masked_run(m, &a, index, n, mask);
}

LLVMValueRef codegen_load_ragged(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer, LLVMValueRef index,
                                 int n) {
  return codegen_load_masked_run(m, buffer, pointer, index, n, all_on(m, n));
}

/* What of PREDICATE holds for all lanes or for none, a scalar. NULL: nothing. */
static LLVMValueRef shared_condition(codegen_emitter *m, const tir_expr *predicate) {
  if (predicate->op == TIR_BROADCAST) return codegen_value(m, predicate->arg[0]);
  if (predicate->op != TIR_AND) return NULL;
  LLVMValueRef a = shared_condition(m, predicate->arg[0]), b = shared_condition(m, predicate->arg[1]);
  return a != NULL && b != NULL ? LLVMBuildAnd(m->builder, a, b, "") : a != NULL ? a : b;
}

/* Lanes that are off are 0 and touch nothing. Where all are, element 0 is the address: see is_all_or_none. */
static LLVMValueRef load_masked(codegen_emitter *m, const access *a, LLVMValueRef mask) {
  LLVMValueRef base = codegen_linear_base(m, a->index), condition = shared_condition(m, a->predicate);
  if (condition != NULL) base = or_zero(m, condition, base);
  return load_masked_run(m, a, base, a->lanes, mask);
}

/* Of lanes FIRST to FIRST + WIDTH of a masked access, N elements a register: where part PART of the elements that they lie among
 * begins, behind the first lane's; and which lane each element of it is, LANES for those between. False: none is a lane. */
static bool find_part(const access *a, int first, int width, int n, int part, int64_t *start, int *lane_of_element) {
  bool is_any = false;
  int step = a->stride < 0 ? -1 : (int)a->stride;
  *start = (int64_t)first * a->stride + (step < 0 ? 1 - width : part * n);
  for (int k = 0; k < n; k++) {
    int at = step < 0 ? width - 1 - k : (part * n + k) / step;
    bool is_lane = (step < 0 || (part * n + k) % step == 0) && at >= 0 && at < width;
    lane_of_element[k] = is_lane ? first + at : a->lanes;
    is_any |= is_lane;
  }
  return is_any;
}

/* base + stride * lane, backwards or with gaps, by masked loads of whole registers and shuffles. */
static LLVMValueRef load_masked_strided(codegen_emitter *m, const access *a, LLVMValueRef mask) {
  int n = RUNTIME_MIN(lanes_of_register(m, a), a->lanes), parts = a->stride < 0 ? 1 : (int)a->stride;
  int *lane = RUNTIME_NEW_ARRAY(&m->arena, int, n), *from = RUNTIME_NEW_ARRAY(&m->arena, int, n);
  LLVMValueRef base = codegen_linear_base(m, a->index);
  LLVMValueRef result = LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, a->lanes));
  if (lane == NULL || from == NULL) return codegen_no_memory(m), result;
  for (int first = 0; first < a->lanes; first += n) {
    int width = RUNTIME_MIN(n, a->lanes - first);
    LLVMValueRef piece = LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, n));
    for (int part = 0; part < parts; part++) {
      int64_t start;
      if (!find_part(a, first, width, n, part, &start, lane)) continue;
      LLVMValueRef loaded =
          load_masked_at(m, a, offset(m, base, start), n, codegen_mask_lanes(m, a->predicate, mask, a->lanes, n, lane));
      for (int i = 0; i < n; i++) from[i] = i;
      for (int k = 0; k < n; k++)
        if (lane[k] < a->lanes) from[lane[k] - first] = n + k;
      piece = codegen_shuffle(m, piece, loaded, n, from);
    }
    result = codegen_put_piece(m, result, piece, a->lanes, first, width);
  }
  return result;
}

/* All lanes or none, as padding is: when none, the buffer's first elements are loaded instead. A masked load of an
 * address outside of mapped memory, with no lane on, is an assist of the processor of some hundred cycles. */
static bool is_all_or_none(const access *a) {
  return a->predicate->op == TIR_BROADCAST && a->buffer->ndim == 1 && a->buffer->shape[0] >= a->lanes;
}

/* Neighbours behind a base that is a number of any size, as a row's that was loaded: where a predicate lets all of them through or none,
 * they lie in the buffer, so that counting up to them did not overflow. */
static bool is_in_a_row(const access *a) {
  return a->linear ? a->stride == 1 : a->lanes > 1 && a->index->op == TIR_RAMP && a->index->u.i == 1;
}

/* One scalar select of the address. That of the value is one of lanes: LLVM would make a branch of one that is scalar, and
 * schedule nothing across it; a mask is part of the load. */
static LLVMValueRef load_all_or_none(codegen_emitter *m, const access *a) {
  LLVMValueRef condition = codegen_value(m, a->predicate->arg[0]);
  LLVMValueRef value = load_at(m, a, or_zero(m, condition, codegen_linear_base(m, a->index)), a->lanes);
  return or_zero(m, codegen_splat(m, condition, a->lanes), value);
}

/* Whether a mask, the value of PREDICATE, lets any lane through. */
static LLVMValueRef is_any_on(codegen_emitter *m, const tir_expr *predicate, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(mask);
  LLVMValueRef count;
  if (!codegen_has_cheap_masks(m->target) && codegen_leading_lanes(m, predicate, &count))
    return LLVMBuildICmp(m->builder, LLVMIntSGT, count, codegen_index_int(m, 0), "");
  return codegen_intrinsic(m, "llvm.vector.reduce.or", 1, &type, 1, &mask);
}

/* By how many of the first lanes are on. NULL: not by that. */
static LLVMValueRef load_leading(codegen_emitter *m, const access *a) {
  LLVMValueRef count;
  bool is_row = a->linear && a->stride == 1 && codegen_can_load_leading(m, a->lanes, a->align);
  if (!is_row || !codegen_leading_lanes(m, a->predicate, &count)) return NULL;
  LLVMTypeRef type = codegen_memory_type(m, a->buffer->dtype, a->lanes);
  return codegen_load_leading(m, type, a->lanes, a->pointer, codegen_linear_base(m, a->index), a->align, count);
}

/* Whether all lanes, whatever the predicate says of them, are elements of the buffer. */
static bool lies_inside(codegen_emitter *m, const access *a) {
  tir_interval range;
  int64_t elements = 1;
  for (int i = 0; i < a->buffer->ndim; i++) {
    if (a->buffer->shape[i] <= 0 || a->buffer->stride[i] != NULL) return false;
    elements *= a->buffer->shape[i];
  }
  return codegen_index_range(m, a->index, &range) && range.lo >= 0 && range.hi < elements;
}

/* Loads nothing that a false predicate forbids, but elements of the buffer where that takes fewer instructions: else the index becomes 0
 * there. */
static LLVMValueRef load_guarded(codegen_emitter *m, const access *a) {
  LLVMValueRef value = load_leading(m, a), mask;
  if (value != NULL) return value;
  mask = codegen_value(m, a->predicate);
  if (a->lanes == 1) {
    value = load_at(m, a, or_zero(m, mask, scalar_index(m, a)), 1);
  } else if (a->linear && a->stride == 0) {
    LLVMValueRef any = is_any_on(m, a->predicate, mask);
    value = codegen_splat(m, load_at(m, a, or_zero(m, any, codegen_linear_base(m, a->index)), 1), a->lanes);
  } else if (a->linear && a->stride == 1) {
    return load_masked(m, a, mask);
  } else if (a->linear && (a->stride == -1 || (a->stride > 1 && a->stride <= MAX_SHUFFLED_STRIDE)) && a->lanes >= 4 &&
             has_masks(m, a)) {
    return load_masked_strided(m, a, mask);
  } else if (!a->linear && lies_inside(m, a) &&
             (value = codegen_load_table(m, a->buffer, a->pointer, a->index)) != NULL) {
    return or_zero(m, mask, value);
  } else if (!a->linear && (value = codegen_load_part_words(m, a->buffer, a->pointer, a->index, mask)) != NULL) {
    return value;
  } else if (!a->linear && (has_masks(m, a) || LLVMIsConstant(mask)) &&
             (value = codegen_load_masked_table(m, a->buffer, a->pointer, a->index, a->predicate, mask)) != NULL) {
    return or_zero(m, mask, value);
  } else if ((value = codegen_load_small_table(m, a->buffer, a->pointer, a->index)) == NULL) {
    value = load_lanes(m, a, or_zero(m, mask, codegen_value(m, a->index)));
  }
  return or_zero(m, mask, value);
}

/* base + step * lane for a step that is no number, without a mask. */
static LLVMValueRef load_stepped(codegen_emitter *m, const access *a, const codegen_step *step) {
  LLVMValueRef base = codegen_linear_base(m, a->index);
  LLVMValueRef result = LLVMGetPoison(codegen_memory_type(m, a->buffer->dtype, a->lanes));
  for (int lane = 0; lane < a->lanes; lane++) {
    LLVMValueRef at = LLVMConstInt(m->i32, (unsigned)lane, false);
    LLVMValueRef place = LLVMBuildNSWAdd(m->builder, base, codegen_steps(m, step, lane), "");
    result = LLVMBuildInsertElement(m->builder, result, load_at(m, a, place, 1), at, "");
  }
  return result;
}

/* Any index without a mask. */
static LLVMValueRef load_unlinear(codegen_emitter *m, const access *a) {
  LLVMValueRef value = codegen_load_table(m, a->buffer, a->pointer, a->index);
  codegen_step step;
  if (value == NULL && codegen_has_step(m, a->index, &step)) return load_stepped(m, a, &step);
  if (value == NULL) value = codegen_load_small_table(m, a->buffer, a->pointer, a->index);
  return value != NULL ? value : load_lanes(m, a, codegen_value(m, a->index));
}

/* A bool in memory is any byte; in registers 0 or 1. */
LLVMValueRef codegen_emit_load(codegen_emitter *m, const tir_expr *e) {
  access a = take_apart(m, e->u.buffer, tir_n_index(e), e->arg, tir_predicate(e));
  LLVMValueRef value;
  if (a.align == 0) return LLVMGetPoison(codegen_type(m, (tn_dtype)e->dtype, e->lanes));
  if (e->dtype != TN_BOOL && a.predicate == NULL && a.linear && a.stride == 1 &&
      codegen_is_ragged(m, a.buffer, a.lanes))
    return load_masked_run(m, &a, codegen_linear_base(m, a.index), a.lanes, all_on(m, a.lanes));
  value = codegen_near_load(m, e);
  if (value != NULL) return value;
  value = e->dtype != TN_BOOL ? codegen_strided_load(m, e) : NULL;
  if (value == NULL) value = codegen_grouped_load(m, e);
  if (value != NULL) return value;
  if (a.predicate != NULL && is_in_a_row(&a) && is_all_or_none(&a))
    value = load_all_or_none(m, &a);
  else if (a.predicate != NULL)
    value = load_guarded(m, &a);
  else if (a.lanes == 1)
    value = load_at(m, &a, scalar_index(m, &a), 1);
  else
    value = a.linear ? load_linear(m, &a) : load_unlinear(m, &a);
  if (e->dtype != TN_BOOL) return value;
  return LLVMBuildICmp(m->builder, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

/* In the order of the lanes: where two lanes meet, the last one wins. */
static void store_lanes(codegen_emitter *m, const access *a, LLVMValueRef value) {
  LLVMValueRef base = a->linear ? codegen_linear_base(m, a->index) : NULL;
  LLVMValueRef indices = a->linear ? NULL : codegen_value(m, a->index);
  for (int lane = 0; lane < a->lanes; lane++) {
    LLVMValueRef at = a->linear ? offset(m, base, a->stride * lane) : widen_lane(m, a, indices, lane);
    store_at(m, a, at, lane_of(m, value, lane));
  }
}

/* Lanes whose mask is false do not touch memory, so a tail may reach behind the buffer. */
static void store_masked(codegen_emitter *m, const access *a, LLVMValueRef value, LLVMValueRef mask) {
  int n = masked_lanes(m, a, a->lanes);
  LLVMValueRef base = codegen_linear_base(m, a->index);
  for (int first = 0; first < a->lanes; first += n) {
    LLVMValueRef part = codegen_lane_piece(m, value, a->lanes, first, n);
    LLVMTypeRef types[] = {LLVMTypeOf(part), m->ptr};
    LLVMValueRef args[] = {part, element(m, a, offset(m, base, first), false), LLVMConstInt(m->i32, a->align, false),
                           mask_piece(m, a->predicate, mask, a->lanes, first, n)};
    codegen_intrinsic(m, "llvm.masked.store", 2, types, 4, args);
  }
}

/* base - lane: reversed registers. */
static void store_masked_backwards(codegen_emitter *m, const access *a, LLVMValueRef value, LLVMValueRef mask) {
  int n = RUNTIME_MIN(lanes_of_register(m, a), a->lanes);
  int *lane = RUNTIME_NEW_ARRAY(&m->arena, int, n);
  LLVMValueRef base = codegen_linear_base(m, a->index);
  for (int first = 0; first < a->lanes && lane != NULL; first += n) {
    int64_t start;
    if (!find_part(a, first, RUNTIME_MIN(n, a->lanes - first), n, 0, &start, lane)) continue;
    LLVMValueRef on = codegen_mask_lanes(m, a->predicate, mask, a->lanes, n, lane);
    for (int k = 0; k < n; k++) lane[k] = RUNTIME_MIN(lane[k], a->lanes - 1);
    LLVMValueRef part = codegen_shuffle(m, value, NULL, n, lane);
    LLVMTypeRef types[] = {LLVMTypeOf(part), m->ptr};
    LLVMValueRef args[] = {part, element(m, a, offset(m, base, start), false), LLVMConstInt(m->i32, a->align, false),
                           on};
    codegen_intrinsic(m, "llvm.masked.store", 2, types, 4, args);
  }
  if (lane == NULL) codegen_no_memory(m);
}

/* Lanes that are off touch nothing; the order is that of the lanes. */
static void scatter_masked(codegen_emitter *m, const access *a, LLVMValueRef value, LLVMValueRef mask) {
  LLVMTypeRef wide = LLVMVectorType(m->index, (unsigned)a->lanes);
  bool is_signed = tn_dtype_is_signed((tn_dtype)a->index->dtype);
  LLVMValueRef indices = LLVMBuildIntCast2(m->builder, codegen_value(m, a->index), wide, is_signed, "");
  LLVMTypeRef types[] = {LLVMTypeOf(value), LLVMVectorType(m->ptr, (unsigned)a->lanes)};
  LLVMValueRef args[] = {value, element(m, a, indices, false), LLVMConstInt(m->i32, a->align, false), mask};
  codegen_intrinsic(m, "llvm.masked.scatter", 2, types, 4, args);
}

/* Whole vectors of an output may go past the caches. */
static void store_row(codegen_emitter *m, const access *a, LLVMValueRef index, LLVMValueRef value) {
  if (codegen_is_past(m, a->buffer, a->lanes))
    codegen_store_past(m, element(m, a, index, true), a->align, value);
  else
    store_at(m, a, index, value);
}

void codegen_store_run(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef index, int lanes,
                       LLVMValueRef value) {
  const access a = {.buffer = buffer,
                    .pointer = codegen_find(m, buffer)->value,
                    .align = codegen_element_bytes(buffer),
                    .lanes = lanes};
  store_row(m, &a, index, value);
}

/* By what is known of the addresses: side by side, side by side backwards, a fixed step, or any. Each has the cheapest
 * instructions that LLVM makes good code of. */
/* A fixed place in a small buffer of one's own, all of whose lanes are there, masked or not. */
static bool is_in_a_tile(codegen_emitter *m, const access *a) {
  enum { MOST_BYTES = 4096 };
  int64_t base;
  const tir_buffer *b = a->buffer;
  if (b->scope == NULL || strcmp(b->scope, "local") != 0 || b->ndim != 1 || a->index->op != TIR_RAMP) return false;
  int64_t n = masked_lanes(m, a, a->lanes),
          lanes = (a->lanes + n - 1) / n * n; /* the last piece goes on behind what is stored */
  return tir_is_int(a->index->arg[0], &base) && base >= 0 && base + lanes <= b->shape[0] &&
         b->shape[0] * a->align <= MOST_BYTES;
}

/* All lanes, those that are off as they were: a masked store would keep accumulators in memory, since sroa knows no masks. In the
 * pieces that a masked load has, whose masks are the same. */
static void store_in_a_tile(codegen_emitter *m, const access *a, LLVMValueRef value) {
  int n = masked_lanes(m, a, a->lanes);
  LLVMValueRef base = codegen_linear_base(m, a->index), mask = codegen_value(m, a->predicate);
  for (int first = 0; first < a->lanes; first += n) {
    LLVMValueRef at = offset(m, base, first), on = mask_piece(m, a->predicate, mask, a->lanes, first, n);
    LLVMValueRef part = codegen_lane_piece(m, value, a->lanes, first, n);
    store_at(m, a, at, LLVMBuildSelect(m->builder, on, part, load_at(m, a, at, n), ""));
  }
}

static void store_vector(codegen_emitter *m, const access *a, LLVMValueRef value) {
  LLVMValueRef count;
  bool is_row = a->linear && a->stride == 1;
  if (a->predicate != NULL && is_row && is_in_a_tile(m, a)) {
    store_in_a_tile(m, a, value);
  } else if (a->predicate != NULL && is_row && !codegen_has_cheap_masks(m->target) &&
             codegen_leading_lanes(m, a->predicate, &count)) {
    LLVMValueRef place = element(m, a, codegen_linear_base(m, a->index), false);
    codegen_store_leading(m, value, a->lanes, place, a->align, count);
  } else if (a->predicate != NULL) {
    LLVMValueRef mask = codegen_value(m, a->predicate);
    if (a->linear && a->stride == 1)
      store_masked(m, a, value, mask);
    else if (a->linear && a->stride == -1 && has_masks(m, a))
      store_masked_backwards(m, a, value, mask);
    else
      scatter_masked(m, a, value, mask);
  } else if (a->linear && a->stride == 1 && codegen_is_past(m, a->buffer, a->lanes)) {
    store_row(m, a, codegen_linear_base(m, a->index), value);
  } else if (a->linear && a->stride == 1 && codegen_is_ragged(m, a->buffer, a->lanes)) {
    store_masked(m, a, value, all_on(m, a->lanes));
  } else if (a->linear && a->stride == 1) {
    store_at(m, a, codegen_linear_base(m, a->index), value);
  } else if (a->linear && a->stride == -1) {
    LLVMValueRef base = codegen_linear_base(m, a->index);
    store_at(m, a, offset(m, base, 1 - a->lanes), codegen_reverse(m, value, a->lanes));
  } else {
    store_lanes(m, a, value);
  }
}

/* A predicate becomes a branch: there is no address that may always be written. */
static void store_scalar(codegen_emitter *m, const access *a, LLVMValueRef value) {
  LLVMValueRef index = scalar_index(m, a);
  if (a->predicate == NULL) {
    store_at(m, a, index, value);
    return;
  }
  LLVMBasicBlockRef after = codegen_begin_if(m, codegen_value(m, a->predicate));
  store_at(m, a, index, value);
  codegen_end_if(m, after);
}

/* For reading, into all levels of the cache. */
void codegen_emit_prefetch(codegen_emitter *m, const tir_stmt *s) {
  access a = take_apart(m, s->u.prefetch.buffer, s->u.prefetch.n_index, s->u.prefetch.index, NULL);
  if (a.align == 0) return;
  LLVMTypeRef type = m->ptr;
  LLVMValueRef args[] = {element(m, &a, scalar_index(m, &a), true), LLVMConstInt(m->i32, 0, false),
                         LLVMConstInt(m->i32, 3, false), LLVMConstInt(m->i32, 1, false)};
  codegen_intrinsic(m, "llvm.prefetch", 1, &type, 4, args);
}

LLVMValueRef codegen_stored_value(codegen_emitter *m, const tir_stmt *s, int lanes) {
  LLVMValueRef value = codegen_value(m, s->u.store.value);
  if (s->u.store.value->lanes == 1) value = codegen_splat(m, value, lanes);
  if (s->u.store.buffer->dtype != TN_BOOL) return value;
  return LLVMBuildZExt(m->builder, value, codegen_memory_type(m, TN_BOOL, lanes), "");
}

/* The value is evaluated before the place is looked at. */
static void store_whole(codegen_emitter *m, const tir_stmt *s) {
  access a = take_apart(m, s->u.store.buffer, s->u.store.n_index, s->u.store.index, s->u.store.predicate);
  if (a.align == 0) return;
  LLVMValueRef value = codegen_stored_value(m, s, a.lanes);
  if (a.lanes == 1)
    store_scalar(m, &a, value);
  else
    store_vector(m, &a, value);
}

/* Lanes in a piece where a store is done in pieces, or all of them: more than one of the target's vectors, but not a power of
 * two of them. LLVM would keep such a vector lane by lane from one loop's step to the next. */
static int piece_lanes(const codegen_emitter *m, const tir_stmt *s, int lanes) {
  int native = m->target->vector_bytes / codegen_widest_bytes(s->u.store.buffer, s->u.store.value);
  bool is_power = (lanes & (lanes - 1)) == 0;
  return is_power || native < 2 || lanes < native ? lanes : native;
}

/* E itself after a failure, which is kept. */
static const tir_expr *piece(codegen_emitter *m, const tir_expr *e, int first, int n) {
  const tir_expr *part = NULL;
  tn_status status = e != NULL ? codegen_slice(&m->arena, &m->slices, e, first, n, &part) : TN_OK;
  if (status == TN_OK) return part;
  codegen_emit_fail(m, status, "a vector cannot be cut: no memory, or nested deeper than %d", CODEGEN_MAX_DEPTH);
  return e;
}

/* All values, then all stores, as a vector's lanes are computed before any is stored. The last piece may be shorter. */
static void store_pieces(codegen_emitter *m, const tir_stmt *s, int lanes, int n) {
  int n_pieces = (lanes + n - 1) / n;
  tir_stmt *part = RUNTIME_NEW_ARRAY(&m->arena, tir_stmt, n_pieces);
  const tir_expr **index = RUNTIME_NEW_ARRAY(&m->arena, const tir_expr *, n_pieces);
  if (part == NULL || index == NULL) {
    codegen_no_memory(m);
    return;
  }
  for (int i = 0; i < n_pieces && !m->failed; i++) {
    int first = i * n, width = RUNTIME_MIN(n, lanes - first);
    index[i] = piece(m, s->u.store.index[0], first, width);
    part[i] = *s;
    part[i].u.store.index = &index[i];
    part[i].u.store.value = piece(m, s->u.store.value, first, width);
    part[i].u.store.predicate = piece(m, s->u.store.predicate, first, width);
    codegen_value(m, part[i].u.store.value);
  }
  for (int i = 0; i < n_pieces && !m->failed; i++) store_whole(m, &part[i]);
}

void codegen_emit_store_whole(codegen_emitter *m, const tir_stmt *s) {
  tir_stmt own = *s;
  own.u.store.value = codegen_masked_sum(m, s);
  store_whole(m, &own);
}

/* In pieces where LLVM would take the vector apart lane by lane. */
void codegen_emit_store(codegen_emitter *m, const tir_stmt *s) {
  int lanes = s->u.store.n_index == 1 ? s->u.store.index[0]->lanes : 1, n = piece_lanes(m, s, lanes);
  if (n == lanes) {
    codegen_emit_store_whole(m, s);
    return;
  }
  tir_stmt own = *s;
  own.u.store.value = codegen_masked_sum(m, s);
  store_pieces(m, &own, lanes, n);
}
