/* emit_weigh.c: weighed sums of bytes that lie side by side, of which a byte is kept, as a gray is made of colours:
 *
 *     Y[ramp(c, 1, 64)] = u8((u32(X[ramp(a, 3, 64)])*77 + u32(X[ramp(a + 1, 3, 64)])*150 + u32(X[ramp(a + 2, 3, 64)])*29) // 256)
 *
 * One shuffle of bytes puts what a lane weighs into its four bytes, and one dot product makes the sum, in 32 bits, which hold it
 * whatever the weights are. An instruction's weights are of 8 bits with a sign: a byte that weighs more stands there several times. What four
 * registers keep is packed inside of blocks of 16 bytes, and ordered by one more shuffle. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum { GROUP = 4, MOST_DEPTH = 16, MOST_LANES = 64, BLOCK_BYTES = 16, MOST_FACTOR = 1 << 20 };

/* Of each lane: CONSTANT + the sum of WEIGHT[i] * the byte OFFSET[i] from where FIRST's lane reads. */
typedef struct weighing {
  codegen_emitter *m;
  tn_dtype dtype; /* of the sum */
  const tir_expr *first;
  int n, n_loads;
  int64_t offset[GROUP];
  int weight[GROUP];
  int64_t constant;
} weighing;

/* ---- what is weighed --------------------------------------------------------------------------------------------- */

/* How far B's lanes are from A's, in elements. False: that is no number that is known here. */
static bool distance(codegen_emitter *m, const tir_expr *a, const tir_expr *b, int64_t *out) {
  const tir_expr *from = codegen_first_lane(&m->arena, a->arg[0]), *to = codegen_first_lane(&m->arena, b->arg[0]);
  int64_t stride, other;
  tir_linear form;
  tir_linear_zero(&form);
  if (a->u.buffer != b->u.buffer || from == NULL || to == NULL) return false;
  if (!codegen_is_linear(m, a->arg[0], &stride) || !codegen_is_linear(m, b->arg[0], &other) || stride != other)
    return false;
  if (!tir_linear_add_expr(&form, to, 1) || !tir_linear_add_expr(&form, from, -1) || form.n != 0) return false;
  return *out = form.constant, true;
}

/* What LOAD reads, FACTOR times, in as many of the lane's bytes as the factor takes. */
static bool add_byte(weighing *w, const tir_expr *load, int64_t factor) {
  int64_t offset = 0;
  if (load->op != TIR_LOAD || load->dtype != TN_U8 || tir_n_index(load) != 1 || tir_predicate(load) != NULL)
    return false;
  if (w->first == NULL) w->first = load;
  if (!distance(w->m, w->first, load, &offset)) return false;
  for (; factor != 0; w->n++) {
    int64_t part = RUNTIME_MIN(RUNTIME_MAX(factor, INT8_MIN), INT8_MAX);
    if (w->n == GROUP) return false;
    w->offset[w->n] = offset, w->weight[w->n] = (int)part;
    factor -= part;
  }
  w->n_loads++;
  return true;
}

/* FACTOR times E. False: it is no such sum, or of too many bytes. */
static bool add_terms(weighing *w, const tir_expr *e, int64_t factor, int depth) {
  int64_t value;
  if (llabs(factor) > MOST_FACTOR || depth > MOST_DEPTH) return false;
  if (tir_is_int(e, &value))
    return !__builtin_mul_overflow(value, factor, &value) && !__builtin_add_overflow(w->constant, value, &w->constant);
  if (e->op == TIR_CAST) return (tn_dtype)e->dtype == w->dtype && add_byte(w, e->arg[0], factor);
  if (e->op == TIR_ADD || e->op == TIR_SUB)
    return add_terms(w, e->arg[0], factor, depth + 1) &&
           add_terms(w, e->arg[1], e->op == TIR_ADD ? factor : -factor, depth + 1);
  if (e->op != TIR_MUL) return false;
  int number = tir_is_int(e->arg[1], &value) ? 1 : 0;
  if (!tir_is_int(e->arg[number], &value) || llabs(value) > MOST_FACTOR) return false;
  return add_terms(w, e->arg[1 - number], factor * value, depth + 1);
}

/* Whether E is a step from its first operand that registers take with a number: a division by a power of two, a bound, and what is
 * added behind such a step. */
static bool is_step(const tir_expr *e) {
  int64_t number;
  bool is_sum = e->op == TIR_ADD || e->op == TIR_SUB, is_bound = e->op == TIR_MIN || e->op == TIR_MAX;
  if ((!is_sum && !is_bound && e->op != TIR_FLOORDIV) || !tir_is_int(e->arg[1], &number)) return false;
  if (is_sum) return e->arg[0]->op == TIR_FLOORDIV && is_step(e->arg[0]);
  return is_bound || (number > 0 && number <= INT32_MAX && (number & (number - 1)) == 0);
}

/* ---- registers --------------------------------------------------------------------------------------------------- */

static LLVMValueRef numbers(const weighing *w, int64_t value) {
  return codegen_splat(w->m, LLVMConstInt(w->m->i32, (uint64_t)value, true), w->m->target->dot_i8_lanes);
}

/* The sums of a register's lanes, which read from the byte AT on behind PLACE, where a register of bytes may be read. */
static LLVMValueRef sums_of(const weighing *w, LLVMValueRef place, int64_t stride, int64_t at) {
  codegen_emitter *m = w->m;
  int lanes = m->target->dot_i8_lanes, from[MOST_LANES];
  LLVMTypeRef bytes = LLVMVectorType(m->i8, (unsigned)(GROUP * lanes));
  LLVMValueRef value = LLVMBuildLoad2(m->builder, bytes, place, ""), weights[MOST_LANES];
  LLVMSetAlignment(value, 1);
  for (int i = 0; i < GROUP * lanes; i++) {
    int k = i % GROUP;
    from[i] = k < w->n ? (int)(at + stride * (i / GROUP) + w->offset[k]) : -1;
    weights[i] = LLVMConstInt(m->i8, (uint64_t)(k < w->n ? w->weight[k] : 0), true);
  }
  LLVMValueRef ordered = codegen_shuffle(m, value, NULL, GROUP * lanes, from);
  return codegen_dot_bytes(m, numbers(w, w->constant), ordered, LLVMConstVector(weights, (unsigned)(GROUP * lanes)),
                           lanes);
}

/* The steps from SUM to E. */
static LLVMValueRef with_steps(const weighing *w, const tir_expr *e, const tir_expr *sum, LLVMValueRef value) {
  int64_t number;
  if (e == sum) return value;
  LLVMBuilderRef b = w->m->builder;
  value = with_steps(w, e->arg[0], sum, value);
  tir_is_int(e->arg[1], &number);
  if (e->op == TIR_ADD) return LLVMBuildAdd(b, value, numbers(w, number), "");
  if (e->op == TIR_SUB) return LLVMBuildSub(b, value, numbers(w, number), "");
  if (e->op == TIR_FLOORDIV) {
    LLVMValueRef by = numbers(w, __builtin_ctzll((uint64_t)number));
    return tn_dtype_is_signed(w->dtype) ? LLVMBuildAShr(b, value, by, "") : LLVMBuildLShr(b, value, by, "");
  }
  LLVMValueRef bound = numbers(w, number);
  LLVMValueRef chosen = codegen_compare(w->m, e->op == TIR_MIN ? TIR_LT : TIR_GT, e, value, bound);
  return LLVMBuildSelect(b, chosen, value, bound, "");
}

/* RANGE where no value of it begins anew at the ends of the dtype. */
static tir_interval in_dtype(const weighing *w, tir_interval range) {
  return tir_interval_within(range, tir_dtype_ranges[w->dtype]) ? range : tir_dtype_ranges[w->dtype];
}

/* What the sum can be, and then what the steps from SUM to E leave of it. */
static tir_interval range_of(const weighing *w, const tir_expr *e, const tir_expr *sum) {
  tir_interval all = {w->constant, w->constant}, number;
  for (int k = 0; k < w->n && e == sum; k++)
    all = tir_interval_add(all, tir_interval_scale((tir_interval){0, UINT8_MAX}, w->weight[k]));
  if (e == sum) return in_dtype(w, all);
  tir_is_int(e->arg[1], &number.lo);
  number.hi = number.lo;
  return in_dtype(w, tir_interval_apply((tir_op)e->op, range_of(w, e->arg[0], sum), number));
}

/* A and B, of twice BYTES an element, in half as many: in turns of 16 bytes. What they hold fits. */
static LLVMValueRef pack(const weighing *w, LLVMValueRef a, LLVMValueRef b, int bytes) {
  LLVMValueRef args[] = {a, b};
  return codegen_intrinsic(w->m, bytes == 1 ? "llvm.x86.avx512.packuswb.512" : "llvm.x86.avx512.packusdw.512", 0, NULL,
                           2, args);
}

/* The low bytes of four registers, lane by lane. FITS: there are no others. */
static LLVMValueRef low_bytes(const weighing *w, LLVMValueRef registers[GROUP], bool fits) {
  int lanes = w->m->target->dot_i8_lanes, from[MOST_LANES];
  for (int k = 0; k < GROUP && !fits; k++)
    registers[k] = LLVMBuildAnd(w->m->builder, registers[k], numbers(w, UINT8_MAX), "");
  LLVMValueRef low = pack(w, registers[0], registers[1], 2), high = pack(w, registers[2], registers[3], 2);
  for (int i = 0; i < GROUP * lanes; i++) /* a block has four lanes of each */
    from[i] = i % lanes / GROUP * BLOCK_BYTES + i / lanes * GROUP + i % GROUP;
  return codegen_shuffle(w->m, pack(w, low, high, 1), NULL, GROUP * lanes, from);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Whether what a register's lanes read, from *LOW on, which is not above 0, is no more than one load has, and all of it lies in the room. */
static bool reads_one_register(const weighing *w, const strided_room *room, int64_t *low) {
  int64_t high = 0, lanes = w->m->target->dot_i8_lanes;
  *low = 0;
  for (int k = 0; k < w->n; k++) *low = RUNTIME_MIN(*low, w->offset[k]), high = RUNTIME_MAX(high, w->offset[k]);
  bool is_inside = *low >= room->first && room->stride * (w->first->lanes - 1) + high < room->end;
  return is_inside && room->stride * (lanes - 1) + high - *low < GROUP * lanes;
}

/* Where lanes from FIRST on are loaded: behind the bytes that they read where the room ends there. */
static int64_t place_of(const strided_room *room, int64_t low, int first, int bytes) {
  return RUNTIME_MIN(room->stride * first + low, room->end - bytes);
}

static LLVMValueRef emit_lanes(const weighing *w, const tir_expr *cast, const tir_expr *sum, const strided_room *room,
                               int64_t low) {
  codegen_emitter *m = w->m;
  int lanes = m->target->dot_i8_lanes, bytes = GROUP * lanes;
  LLVMValueRef result = LLVMGetPoison(codegen_type(m, (tn_dtype)cast->dtype, cast->lanes)), registers[GROUP];
  LLVMValueRef pointer = codegen_find(m, w->first->u.buffer)->value;
  bool fits = tir_interval_within(range_of(w, cast->arg[0], sum), (tir_interval){0, UINT8_MAX});
  for (int first = 0; first < cast->lanes; first += bytes) {
    for (int k = 0; k < GROUP; k++) {
      int lane = first + k * lanes;
      int64_t place = place_of(room, low, lane, bytes);
      LLVMValueRef at = LLVMBuildNSWAdd(m->builder, room->base, codegen_index_int(m, place), "");
      LLVMValueRef from = LLVMBuildInBoundsGEP2(m->builder, m->i8, pointer, &at, 1, "");
      registers[k] = with_steps(w, cast->arg[0], sum, sums_of(w, from, room->stride, room->stride * lane - place));
    }
    result = codegen_put_piece(m, result, low_bytes(w, registers, fits), cast->lanes, first, bytes);
  }
  return result;
}

LLVMValueRef codegen_weighed_bytes(codegen_emitter *m, const tir_expr *cast) {
  const tir_expr *sum = cast->arg[0];
  int bytes = GROUP * m->target->dot_i8_lanes;
  strided_room room;
  int64_t low;
  bool keeps_byte = cast->dtype == TN_U8 || cast->dtype == TN_I8,
       is_word = sum->dtype == TN_U32 || sum->dtype == TN_I32;
  if (!keeps_byte || !is_word || !m->target->shuffles_bytes || bytes != MOST_LANES || cast->lanes % bytes != 0)
    return NULL;
  for (int depth = 0; depth < MOST_DEPTH && is_step(sum); depth++) sum = sum->arg[0];
  weighing w = {.m = m, .dtype = (tn_dtype)sum->dtype};
  if (!add_terms(&w, sum, 1, 0) || w.n_loads < 2) return NULL;
  if (!codegen_strided_room(m, w.first, &room) || !reads_one_register(&w, &room, &low)) return NULL;
  if (place_of(&room, low, 0, bytes) < room.first) return NULL;
  return emit_lanes(&w, cast, sum, &room, low);
}
