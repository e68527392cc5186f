/* emit_groups.c: vectors of short groups of neighbours that lie a constant step apart, as windows over colours have them that move on by
 * two pixels:
 *
 *     S[ramp(0, 1, L)] += X[a + lane / 3 * 6 + lane % 3] * w0;   S[ramp(0, 1, L)] += X[a + 6 + lane / 3 * 6 + lane % 3] * w2
 *
 * Such reads of neighbouring stores that are whole steps apart are lanes of one long row of groups. It is loaded once, register by register,
 * and what begins at a later group is put together of two registers. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum { MOST_ROWS = 64, MOST_LANES = 256, MOST_PIECES = 12 };

/* Reads of BUFFER from FORM + a constant on, FIRST the least and LAST the greatest, whole steps apart. */
typedef struct group_row {
  const tir_buffer *buffer;
  tir_linear form; /* without its constant */
  int lanes, group;
  int64_t step, first, last;
  LLVMValueRef pieces[MOST_PIECES]; /* registers of the row, each loaded where it is needed first */
} group_row;

/* What stores in a row read; lives in the emitter's arena as long as they are emitted. */
struct codegen_groups {
  codegen_emitter *m;
  int n;
  group_row *rows[MOST_ROWS];
};

/* Lanes of a register. */
static int register_lanes(const codegen_emitter *m, const tir_buffer *buffer) {
  return m->target->vector_bytes / (int)codegen_element_bytes(buffer);
}

/* Lanes of a row: those of the longest way from its first read to the end of the last. */
static int row_lanes(const group_row *row) {
  return row->lanes + (int)((row->last - row->first) / row->step) * row->group;
}

/* A load, taken apart: lane i is OFFSET[i] elements behind lane 0, which stands a constant behind FORM. */
typedef struct lanes_read {
  tir_linear form;
  int64_t constant, offset[MOST_LANES];
} lanes_read;

/* False: E's lanes are no constants apart, or it has a condition. */
static bool take_apart(codegen_emitter *m, const tir_expr *e, lanes_read *out) {
  bool is_plain =
      e->op == TIR_LOAD && e->lanes > 1 && e->lanes <= MOST_LANES && tir_n_index(e) == 1 && !e->has_predicate;
  if (!is_plain || e->dtype == TN_BOOL || strcmp(e->u.buffer->scope, "local") == 0) return false;
  if (!codegen_lane_offsets(m, e->arg[0], out->offset)) return false;
  const tir_expr *first = codegen_first_lane(&m->arena, e->arg[0]);
  tir_linear_zero(&out->form);
  if (first == NULL || !tir_linear_add_expr(&out->form, first, 1)) return false;
  out->constant = out->form.constant;
  out->form.constant = 0;
  return true;
}

/* Elements from a row's first lane to its lane NUMBER. */
static int64_t place_of(const group_row *row, int64_t number) {
  return number / row->group * row->step + number % row->group;
}

/* E as a row of its own. False: its lanes are no groups of two or more that lie apart. */
static bool as_row(const tir_expr *e, const lanes_read *read, group_row *out) {
  *out = (group_row){.buffer = e->u.buffer, .form = read->form, .lanes = e->lanes, .first = read->constant};
  for (out->group = 1; out->group < e->lanes && read->offset[out->group] == out->group;) out->group++;
  if (out->group == 1 || out->group == e->lanes) return false;
  out->step = read->offset[out->group], out->last = out->first;
  bool is = out->step > out->group;
  for (int i = 0; i < e->lanes; i++) is = is && read->offset[i] == place_of(out, i);
  return is;
}

/* One whose first or last read overlaps it. NULL: there is none like it. */
static group_row *find_row(const struct codegen_groups *groups, const group_row *like) {
  int64_t length = place_of(like, like->lanes);
  for (int i = 0; i < groups->n; i++) {
    group_row *row = groups->rows[i];
    bool is_near = like->first > row->first - length && like->first < row->last + length;
    bool is_alike = row->buffer == like->buffer && row->lanes == like->lanes && row->group == like->group &&
                    row->step == like->step && is_near && (like->first - row->first) % row->step == 0;
    if (is_alike && tir_linear_same_terms(&row->form, &like->form)) return row;
  }
  return NULL;
}

/* Adds each such load of a value. Inside of a load nothing is looked at: what an index reads is no neighbour. */
static tir_walk collect(void *user, const tir_expr *e) {
  struct codegen_groups *groups = user;
  lanes_read read;
  group_row found;
  if (e->op != TIR_LOAD) return TIR_WALK_ON;
  if (!take_apart(groups->m, e, &read) || !as_row(e, &read, &found)) return TIR_WALK_PRUNE;
  group_row *row = find_row(groups, &found);
  if (row != NULL) {
    row->first = RUNTIME_MIN(row->first, found.first), row->last = RUNTIME_MAX(row->last, found.first);
  } else if (groups->n < MOST_ROWS && (row = RUNTIME_NEW(&groups->m->arena, group_row)) != NULL) {
    *row = found;
    groups->rows[groups->n++] = row;
  }
  return TIR_WALK_PRUNE;
}

/* A row that pays: several reads that overlap, at least a register long, of a buffer that no store changes meanwhile. */
static bool is_kept(const codegen_emitter *m, const group_row *row, int n, const tir_stmt *const *stmts) {
  int width = register_lanes(m, row->buffer), lanes = row_lanes(row);
  bool pays = row->last > row->first && lanes < 2 * row->lanes && lanes <= MOST_PIECES * width;
  for (int i = 0; i < n && pays; i++) pays = stmts[i]->u.store.buffer != row->buffer;
  return pays && row->lanes >= width;
}

void codegen_groups_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts) {
  struct codegen_groups found = {.m = m};
  int kept = 0;
  m->groups = NULL;
  if (!codegen_has_cheap_masks(m->target)) return; /* no shuffles of whole registers */
  for (int i = 0; i < n; i++) tir_walk_expr(stmts[i]->u.store.value, collect, &found);
  for (int i = 0; i < found.n; i++)
    if (is_kept(m, found.rows[i], n, stmts)) found.rows[kept++] = found.rows[i];
  found.n = kept;
  if (kept > 0) m->groups = RUNTIME_NEW(&m->arena, struct codegen_groups);
  if (m->groups != NULL) *m->groups = found;
}

/* The row that has what E reads, and at which of its lanes that begins: E may be a part of a longer vector. NULL: none has it. */
static group_row *row_of(codegen_emitter *m, const tir_expr *e, const lanes_read *read, int *at) {
  for (int i = 0; i < m->groups->n; i++) {
    group_row *row = m->groups->rows[i];
    int64_t by = read->constant - row->first, number = by / row->step * row->group + by % row->step;
    bool is = row->buffer == e->u.buffer && by >= 0 && number + e->lanes <= row_lanes(row) &&
              tir_linear_same_terms(&row->form, &read->form);
    for (int k = 0; k < e->lanes && is; k++) is = place_of(row, number + k) == by + read->offset[k];
    if (is) return *at = (int)number, row;
  }
  return NULL;
}

/* Register NUMBER of a row, seen from load E, BY elements in front of whose first lane the row begins; as integers: of shuffles of these
 * that move lanes LLVM makes one instruction that takes no table. NULL: it cannot be loaded. */
static LLVMValueRef piece_of(codegen_emitter *m, group_row *row, const tir_expr *e, int64_t by, int number) {
  int width = register_lanes(m, row->buffer), first = number * width, from[MOST_LANES];
  int lanes = RUNTIME_MIN(width, row_lanes(row) - first);
  int64_t offset[MOST_LANES];
  if (row->pieces[number] != NULL) return row->pieces[number];
  for (int i = 0; i < lanes; i++) offset[i] = place_of(row, first + i) - by;
  LLVMValueRef piece = codegen_load_offsets(m, e, lanes, offset, offset[0] + by);
  for (int i = 0; i < width; i++) from[i] = i < lanes ? i : -1;
  if (piece == NULL) return NULL;
  if (lanes < width) piece = codegen_shuffle(m, piece, NULL, width, from);
  LLVMTypeRef word = LLVMIntTypeInContext(m->llvm, 8 * codegen_element_bytes(row->buffer));
  piece = LLVMBuildBitCast(m->builder, piece, LLVMVectorType(word, (unsigned)width), "");
  return row->pieces[number] = piece;
}

LLVMValueRef codegen_grouped_load(codegen_emitter *m, const tir_expr *e) {
  lanes_read read;
  int begin;
  group_row *row = m->groups != NULL && take_apart(m, e, &read) ? row_of(m, e, &read, &begin) : NULL;
  int width = row != NULL ? register_lanes(m, row->buffer) : 0;
  if (row == NULL || e->lanes < width) return NULL;
  int64_t by = read.constant - row->first;
  LLVMTypeRef type = codegen_memory_type(m, row->buffer->dtype, e->lanes);
  LLVMTypeRef word = LLVMIntTypeInContext(m->llvm, 8 * codegen_element_bytes(row->buffer));
  LLVMValueRef result = LLVMGetPoison(LLVMVectorType(word, (unsigned)e->lanes));
  for (int done = 0; done < e->lanes; done += width) {
    int first = RUNTIME_MIN(done, e->lanes - width) + begin, from[MOST_LANES];
    LLVMValueRef low = piece_of(m, row, e, by, first / width), high = low;
    if (first % width != 0) high = piece_of(m, row, e, by, first / width + 1);
    if (low == NULL || high == NULL) return NULL;
    for (int i = 0; i < width; i++) from[i] = first % width + i;
    LLVMValueRef part = first % width == 0 ? low : codegen_shuffle(m, low, high, width, from);
    result = codegen_put_piece(m, result, part, e->lanes, first - begin, width);
  }
  return LLVMBuildBitCast(m->builder, result, type, "");
}
