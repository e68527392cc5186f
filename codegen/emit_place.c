/* emit_place.c: argmax and argmin of rows that lie side by side in memory, by value first. Steps that take one element each,
 *
 *     for k: new = select(x[k] > V || x[k] == V && k < I, x[k], V); I = select(.., k, I); V = new
 *
 * with I = -1 in front and positions that grow, end with the greatest x that is no NaN, V among them, and the first position that has it:
 *
 *     M = V; for vectors of k: M = select(x > M, x, M);  the greatest of M's lanes;  the first k with x[k] == M
 *
 * Nothing is equal to M where V was better than every x or each of them is a NaN: I and V then stay. V becomes x at that position, since zeros
 * of both signs are equal. The last vector of a row begins where it ends with the row: elements that are met twice change neither. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum { LEAST_STEPS = 8, MOST_ROWS = 4, MOST_WRITTEN = 8, SIDE_BY_SIDE = 4, WORD = 64, LEAST_SHUFFLED = 4 };

/* The rows of one loop. */
typedef struct row_list {
  codegen_emitter *m;
  const tir_var *var;
  int64_t min, extent;
  int lanes; /* of a vector */
  int n;
  const codegen_first *rows;
  const tir_expr *vectors[MOST_ROWS];                   /* of x, from the variable's element on */
  LLVMValueRef best[MOST_ROWS];                         /* vectors of the greatest */
  LLVMValueRef values[MOST_ROWS], positions[MOST_ROWS]; /* what is there before, the values in all lanes */
  LLVMValueRef has_all; /* all rows have a value that is better than that; NULL: no row was looked at */
} row_list;

/* ---- what can be done -------------------------------------------------------------------------------------------- */

static bool is_plain(tn_dtype dtype) {
  return dtype == TN_F32 || dtype == TN_F64 || (!tn_dtype_is_float(dtype) && dtype != TN_BOOL);
}

/* Whether x goes on by one element as the loop does. */
static bool is_side_by_side(const tir_var *var, const codegen_first *row) {
  tir_linear form;
  int64_t by = 0;
  const tir_expr *x = row->x;
  if (x->op != TIR_LOAD || x->lanes != 1 || tir_n_index(x) != 1 || tir_predicate(x) != NULL) return false;
  if (x->u.buffer->dtype != row->values->dtype || !is_plain(x->u.buffer->dtype)) return false;
  tir_linear_zero(&form);
  if (!tir_linear_add_expr(&form, x->arg[0], 1)) return false;
  for (int i = 0; i < form.n; i++) {
    const tir_expr *atom = form.terms[i].atom;
    if (atom->op == TIR_VAR && atom->u.var == var)
      by = form.terms[i].coef;
    else if (tir_uses_var(atom, var))
      return false;
  }
  return by == 1;
}

/* Lanes of the longest vector that a row fills. 0: there is none. */
static int lanes_of(const codegen_emitter *m, tn_dtype dtype, int64_t extent) {
  int lanes = m->target->vector_bytes / (int)tn_dtype_bytes(dtype);
  while (lanes > 1 && (lanes > extent || lanes > WORD)) lanes /= 2;
  return lanes > 1 ? lanes : 0;
}

/* ---- vectors of a row -------------------------------------------------------------------------------------------- */

/* The variable is FIRST steps behind its least value. */
static void set_step(row_list *r, LLVMValueRef first) {
  codegen_emitter *m = r->m;
  LLVMValueRef at = LLVMBuildNSWAdd(m->builder, first, codegen_index_int(m, r->min), "");
  codegen_binding *binding = codegen_bind(m, r->var, at);
  if (binding != NULL) binding->range = (tir_interval){r->min, r->min + r->extent - 1};
  codegen_forget(m);
}

static LLVMValueRef vector_at(row_list *r, int row, LLVMValueRef first) {
  set_step(r, first);
  return codegen_value(r->m, r->vectors[row]);
}

static LLVMValueRef better(row_list *r, int row, LLVMValueRef x, LLVMValueRef best) {
  const codegen_first *f = &r->rows[row];
  LLVMValueRef wins = codegen_compare(r->m, f->is_greatest ? TIR_GT : TIR_LT, f->x, x, best);
  return LLVMBuildSelect(r->m->builder, wins, x, best, "");
}

/* Where vector I of those from FIRST on begins: it ends with the row at the latest. */
static int64_t begin_of(const row_list *r, int64_t first, int64_t i) {
  return RUNTIME_MIN(first + i * r->lanes, r->extent - r->lanes);
}

static int64_t vectors_from(const row_list *r, int64_t first) { return (r->extent - first + r->lanes - 1) / r->lanes; }

/* ---- the greatest values ----------------------------------------------------------------------------------------- */

/* Steps from FIRST on, written out; KEPT has WIDTH vectors for each row. */
static void take_written(row_list *r, int64_t first, int width, LLVMValueRef (*kept)[SIDE_BY_SIDE]) {
  for (int64_t i = 0; i < vectors_from(r, first); i++)
    for (int row = 0; row < r->n; row++) {
      LLVMValueRef x = vector_at(r, row, codegen_index_int(r->m, begin_of(r, first, i)));
      kept[row][i % width] = better(r, row, x, kept[row][i % width]);
    }
}

/* BLOCKS blocks of SIDE_BY_SIDE vectors of each row in a loop. */
static void take_in_loop(row_list *r, int64_t blocks, LLVMValueRef (*kept)[SIDE_BY_SIDE]) {
  codegen_emitter *m = r->m;
  const int64_t step = (int64_t)SIDE_BY_SIDE * r->lanes;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->builder), head = codegen_new_block(m, "greatest");
  LLVMBasicBlockRef after = codegen_new_block(m, "done");
  LLVMValueRef phis[MOST_ROWS][SIDE_BY_SIDE];
  LLVMBuildBr(m->builder, head);
  LLVMPositionBuilderAtEnd(m->builder, head);
  LLVMValueRef at = LLVMBuildPhi(m->builder, m->index, "");
  for (int row = 0; row < r->n; row++)
    for (int k = 0; k < SIDE_BY_SIDE; k++) {
      phis[row][k] = LLVMBuildPhi(m->builder, LLVMTypeOf(kept[row][k]), "");
      LLVMAddIncoming(phis[row][k], &kept[row][k], &before, 1);
    }
  for (int k = 0; k < SIDE_BY_SIDE; k++)
    for (int row = 0; row < r->n; row++) {
      LLVMValueRef first = LLVMBuildNSWAdd(m->builder, at, codegen_index_int(m, k * (int64_t)r->lanes), "");
      kept[row][k] = better(r, row, vector_at(r, row, first), phis[row][k]);
    }
  LLVMValueRef next = LLVMBuildNSWAdd(m->builder, at, codegen_index_int(m, step), "");
  LLVMValueRef more = LLVMBuildICmp(m->builder, LLVMIntSLT, next, codegen_index_int(m, blocks * step), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(m->builder);
  LLVMBuildCondBr(m->builder, more, head, after);
  LLVMAddIncoming(at, (LLVMValueRef[]){codegen_index_int(m, 0), next}, (LLVMBasicBlockRef[]){before, latch}, 2);
  for (int row = 0; row < r->n; row++)
    for (int k = 0; k < SIDE_BY_SIDE; k++) LLVMAddIncoming(phis[row][k], &kept[row][k], &latch, 1);
  LLVMPositionBuilderAtEnd(m->builder, after);
}

/* A vector for each row, whose greatest lane is the row's. */
static void take_vectors(row_list *r) {
  codegen_emitter *m = r->m;
  LLVMValueRef kept[MOST_ROWS][SIDE_BY_SIDE];
  const int64_t vectors = vectors_from(r, 0), blocks = vectors > MOST_WRITTEN ? vectors / SIDE_BY_SIDE : 0;
  const int64_t whole = RUNTIME_MIN(blocks, r->extent / ((int64_t)SIDE_BY_SIDE * r->lanes));
  const int width = whole > 0 ? SIDE_BY_SIDE : vectors > SIDE_BY_SIDE ? 2 : 1;
  for (int row = 0; row < r->n; row++) {
    const codegen_first *f = &r->rows[row];
    codegen_forget(m);
    r->positions[row] = codegen_value(m, tir_load(&m->arena, f->positions, 1, &f->place, NULL));
    r->values[row] = codegen_splat(m, codegen_value(m, tir_load(&m->arena, f->values, 1, &f->place, NULL)), r->lanes);
    for (int k = 0; k < width; k++) kept[row][k] = r->values[row];
  }
  if (whole > 0) take_in_loop(r, whole, kept);
  take_written(r, whole * SIDE_BY_SIDE * r->lanes, width, kept);
  for (int row = 0; row < r->n; row++) {
    r->best[row] = kept[row][0];
    for (int k = 1; k < width; k++) r->best[row] = better(r, row, kept[row][k], r->best[row]);
  }
}

/* Of two vectors with groups of GROUP lanes: the first or the second half of each group, A's in front of B's. */
static LLVMValueRef halves(row_list *r, LLVMValueRef a, LLVMValueRef b, int group, int second) {
  int from[WORD];
  for (int i = 0; i < r->lanes; i++) {
    const int of = i / (group / 2);
    from[i] = of * group + second * (group / 2) + i % (group / 2);
  }
  return codegen_shuffle(r->m, a, b, r->lanes, from);
}

/* What each lane becomes beside the one BY lanes away. */
static LLVMValueRef exchanged(row_list *r, LLVMValueRef a, int by) {
  int from[WORD];
  for (int i = 0; i < r->lanes; i++) from[i] = i ^ by;
  return codegen_shuffle(r->m, a, NULL, r->lanes, from);
}

/* Whether the lanes of BEST are better than what was there BEFORE. */
static void look_at(row_list *r, int row, LLVMValueRef best, LLVMValueRef before) {
  LLVMBuilderRef b = r->m->builder;
  LLVMValueRef wins = codegen_compare(r->m, r->rows[row].is_greatest ? TIR_GT : TIR_LT, r->rows[row].x, best, before);
  LLVMValueRef word = LLVMBuildBitCast(b, wins, LLVMIntTypeInContext(r->m->llvm, (unsigned)r->lanes), "");
  LLVMValueRef is_all = LLVMBuildICmp(b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), "");
  r->has_all = r->has_all == NULL ? is_all : LLVMBuildAnd(b, r->has_all, is_all, "");
}

/* N rows, a power of two of them, from ROW on: their vectors are folded into one, which has a group of lanes for each row, before a
 * group's lanes are compared with each other. */
static void fold_together(row_list *r, int row, int n) {
  int from[WORD], group = r->lanes;
  LLVMValueRef all[MOST_ROWS] = {0}, before[MOST_ROWS] = {0};
  for (int i = 0; i < n; i++) all[i] = r->best[row + i], before[i] = r->values[row + i];
  for (int left = n; left > 1; left /= 2, group /= 2)
    for (int i = 0; i < left / 2; i++) {
      LLVMValueRef a = all[2 * i], b = all[2 * i + 1];
      all[i] = better(r, row, halves(r, a, b, group, 0), halves(r, a, b, group, 1));
      before[i] = halves(r, before[2 * i], before[2 * i + 1], group, 0);
    }
  for (int by = group / 2; by >= 1; by /= 2) all[0] = better(r, row, exchanged(r, all[0], by), all[0]);
  look_at(r, row, all[0], before[0]);
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < r->lanes; i++) from[i] = k * group + i % group;
    r->best[row + k] = codegen_shuffle(r->m, all[0], NULL, r->lanes, from);
  }
}

/* Elements that are too small for shuffles of registers. */
static void fold_alone(row_list *r, int row) {
  const codegen_first *f = &r->rows[row];
  const bool is_signed = tn_dtype_is_signed(f->values->dtype);
  const char *name = f->is_greatest ? is_signed ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax"
                     : is_signed    ? "llvm.vector.reduce.smin"
                                    : "llvm.vector.reduce.umin";
  LLVMTypeRef type = LLVMTypeOf(r->best[row]);
  r->best[row] = codegen_splat(r->m, codegen_intrinsic(r->m, name, 1, &type, 1, &r->best[row]), r->lanes);
  look_at(r, row, r->best[row], r->values[row]);
}

/* All lanes of a row's vector become its greatest. */
static void fold_lanes(row_list *r) {
  const bool is_small = tn_dtype_bytes(r->rows->values->dtype) < LEAST_SHUFFLED;
  for (int row = 0, n = MOST_ROWS; row < r->n;) {
    while (n > r->n - row || n > r->lanes) n /= 2;
    if (is_small)
      fold_alone(r, row++);
    else
      fold_together(r, row, n), row += n;
  }
}

/* ---- the first position ------------------------------------------------------------------------------------------ */

/* A bit for each of N vectors' lanes that are equal to the greatest, the first of them FIRST steps behind the least, as a word. A register
 * of masks takes two vectors' bits. */
static LLVMValueRef bits_of(row_list *r, int row, LLVMValueRef first, int n) {
  codegen_emitter *m = r->m;
  LLVMValueRef equal[2];
  int lanes = r->lanes, from[WORD];
  for (int k = 0; k < n; k++) {
    LLVMValueRef at = LLVMBuildNSWAdd(m->builder, first, codegen_index_int(m, k * (int64_t)r->lanes), "");
    equal[k] = codegen_compare(m, TIR_EQ, r->rows[row].x, vector_at(r, row, at), r->best[row]);
  }
  for (int i = 0; i < n * lanes; i++) from[i] = i;
  LLVMValueRef all = n == 1 ? equal[0] : codegen_shuffle(m, equal[0], equal[1], n * lanes, from);
  LLVMValueRef word = LLVMBuildBitCast(m->builder, all, LLVMIntTypeInContext(m->llvm, (unsigned)(n * lanes)), "");
  return LLVMBuildZExt(m->builder, word, m->i64, "");
}

/* The same of all vectors of STEPS steps, at most a word's bits. */
static LLVMValueRef bits_of_steps(row_list *r, int row, LLVMValueRef first, int64_t steps) {
  codegen_emitter *m = r->m;
  LLVMValueRef all = NULL;
  const bool has_pairs = codegen_has_cheap_masks(m->target) && 2 * r->lanes <= WORD / 2;
  for (int64_t i = 0, n; i * r->lanes < steps; i += n) {
    n = has_pairs && (i + 2) * r->lanes <= steps ? 2 : 1;
    const int64_t begin = RUNTIME_MIN(i * r->lanes, steps - r->lanes);
    LLVMValueRef at = LLVMBuildNSWAdd(m->builder, first, codegen_index_int(m, begin), "");
    LLVMValueRef bits = LLVMBuildShl(m->builder, bits_of(r, row, at, (int)n), codegen_i64(m, begin), "");
    all = all == NULL ? bits : LLVMBuildOr(m->builder, all, bits, "");
  }
  return all;
}

/* The place of the lowest bit, of which there is one. */
static LLVMValueRef lowest_bit(codegen_emitter *m, LLVMValueRef bits) {
  LLVMValueRef args[] = {bits, LLVMConstInt(m->i1, 1, false)};
  return LLVMBuildIntCast2(m->builder, codegen_intrinsic(m, "llvm.cttz", 1, &m->i64, 2, args), m->index, false, "");
}

/* Rows longer than a word: a block after the other until one has the value. *FIRST: the block's step. */
static LLVMValueRef search(row_list *r, int row, LLVMValueRef *first) {
  codegen_emitter *m = r->m;
  const int64_t steps = RUNTIME_MIN((int64_t)SIDE_BY_SIDE * r->lanes, WORD), last = r->extent - steps;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(m->builder), head = codegen_new_block(m, "search");
  LLVMBasicBlockRef on = codegen_new_block(m, "on"), after = codegen_new_block(m, "found");
  LLVMBuildBr(m->builder, head);
  LLVMPositionBuilderAtEnd(m->builder, head);
  LLVMValueRef at = LLVMBuildPhi(m->builder, m->index, "");
  LLVMValueRef bits = bits_of_steps(r, row, at, steps);
  LLVMValueRef is_found = LLVMBuildICmp(m->builder, LLVMIntNE, bits, codegen_i64(m, 0), "");
  LLVMValueRef is_last = LLVMBuildICmp(m->builder, LLVMIntEQ, at, codegen_index_int(m, last), "");
  LLVMBuildCondBr(m->builder, LLVMBuildOr(m->builder, is_found, is_last, ""), after, on);
  LLVMPositionBuilderAtEnd(m->builder, on);
  LLVMValueRef next = LLVMBuildNSWAdd(m->builder, at, codegen_index_int(m, steps), "");
  LLVMValueRef fits = LLVMBuildICmp(m->builder, LLVMIntSLT, next, codegen_index_int(m, last), "");
  next = LLVMBuildSelect(m->builder, fits, next, codegen_index_int(m, last), "");
  LLVMBuildBr(m->builder, head);
  LLVMAddIncoming(at, (LLVMValueRef[]){codegen_index_int(m, 0), next}, (LLVMBasicBlockRef[]){before, on}, 2);
  LLVMPositionBuilderAtEnd(m->builder, after);
  *first = at;
  return bits;
}

static void store_one(codegen_emitter *m, const tir_buffer *buffer, const tir_expr *place, LLVMValueRef value) {
  codegen_store_run(m, buffer, codegen_index(m, place), 1, value);
}

/* IS_SURE: some element has the value. Where nothing is equal to it position and value stay as they are. */
static void store_row(row_list *r, int row, bool is_sure) {
  codegen_emitter *m = r->m;
  const codegen_first *f = &r->rows[row];
  LLVMValueRef first = codegen_index_int(m, 0);
  LLVMValueRef bits = r->extent <= WORD ? bits_of_steps(r, row, first, r->extent) : search(r, row, &first);
  LLVMValueRef is_some = LLVMBuildICmp(m->builder, LLVMIntNE, bits, codegen_i64(m, 0), "");
  if (!is_sure) bits = LLVMBuildSelect(m->builder, is_some, bits, codegen_i64(m, 1), "");
  set_step(r, LLVMBuildNSWAdd(m->builder, first, lowest_bit(m, bits), ""));
  LLVMValueRef position = codegen_value(m, f->position), x = codegen_value(m, f->x);
  if (!is_sure) {
    LLVMValueRef value = LLVMBuildExtractElement(m->builder, r->values[row], LLVMConstInt(m->i32, 0, false), "");
    position = LLVMBuildSelect(m->builder, is_some, position, r->positions[row], "");
    x = LLVMBuildSelect(m->builder, is_some, x, value, "");
  }
  store_one(m, f->positions, f->place, position);
  store_one(m, f->values, f->place, x);
}

/* A row whose best value is the one from before may have none: all are looked at with care then. */
static void store_rows(row_list *r) {
  codegen_emitter *m = r->m;
  LLVMBasicBlockRef sure = codegen_new_block(m, "sure"), other = codegen_new_block(m, "unsure");
  LLVMBasicBlockRef after = codegen_new_block(m, "after");
  LLVMBuildCondBr(m->builder, r->has_all, sure, other);
  for (int is_sure = 0; is_sure < 2; is_sure++) {
    LLVMPositionBuilderAtEnd(m->builder, is_sure ? sure : other);
    for (int i = 0; i < r->n; i++) store_row(r, i, is_sure);
    LLVMBuildBr(m->builder, after);
  }
  LLVMPositionBuilderAtEnd(m->builder, after);
}

/* ---- all rows ---------------------------------------------------------------------------------------------------- */

/* Rows of one dtype, at most MOST_ROWS. */
static void emit_rows(codegen_emitter *m, const tir_stmt *loop, int64_t min, int64_t extent, int n,
                      const codegen_first *rows) {
  row_list r = {.m = m,
                .var = loop->u.loop.var,
                .min = min,
                .extent = extent,
                .lanes = lanes_of(m, rows->values->dtype, extent),
                .n = n,
                .rows = rows};
  for (int i = 0; i < n; i++) {
    const tir_expr *x = rows[i].x, *lanes = tir_ramp(&m->arena, x->arg[0], 1, r.lanes);
    r.vectors[i] = tir_load(&m->arena, x->u.buffer, 1, &lanes, NULL);
  }
  take_vectors(&r);
  fold_lanes(&r);
  store_rows(&r);
  codegen_unbind(m, r.var);
  codegen_forget(m);
}

bool codegen_emit_rows_first(codegen_emitter *m, const tir_stmt *loop, int64_t min, int64_t extent, int n,
                             const codegen_first *rows) {
  if (extent < LEAST_STEPS) return false;
  for (int i = 0; i < n; i++) {
    const tn_dtype dtype = rows[i].values->dtype;
    if (!is_side_by_side(loop->u.loop.var, &rows[i]) || dtype != rows->values->dtype) return false;
    if (lanes_of(m, dtype, extent) == 0 || rows[i].is_greatest != rows->is_greatest) return false;
  }
  for (int i = 0; i < n && !m->failed; i += MOST_ROWS)
    emit_rows(m, loop, min, extent, RUNTIME_MIN(MOST_ROWS, n - i), rows + i);
  return true;
}
