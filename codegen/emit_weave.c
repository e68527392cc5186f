/* emit_weave.c: neighbouring stores that go by strides and together fill what they go over, as colours that lie in turns and rows of
 * which each element is written twice have them:
 *
 *     C[ramp(c, 2, L)] = a; C[ramp(c + 1, 2, L)] = b
 *
 * The vectors are put in order by shuffles inside of blocks of 16 bytes (emit_stride.c takes them apart so), and stored whole. What
 * is stored is what the stores store one by one, in any order: their values read nothing of it. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum { MOST_STRIDE = 4, MOST_LANES = 64, BLOCK_BYTES = 16, LEAST_BYTES = 8 };

/* STRIDE stores: the one of elements PHASE, PHASE + STRIDE ... from BASE on stands at AT[PHASE] in the row. */
typedef struct weave {
  codegen_emitter *m;
  const tir_buffer *buffer;
  int lanes, width; /* of a store; of a register, or of a store if that is shorter */
  int n;            /* elements of a block */
  int stride;
  int at[MOST_STRIDE];
  const tir_expr *base;
} weave;

/* ---- what stores have in common ---------------------------------------------------------------------------------- */

/* The step between a store's lanes; 0: it is none of those, or has a mask. */
static int stride_of(codegen_emitter *m, const tir_stmt *s) {
  int64_t stride = 0;
  bool fits = s->kind == TIR_STORE && s->u.store.n_index == 1 && s->u.store.predicate == NULL &&
              s->u.store.index[0]->lanes > 1 && codegen_is_linear(m, s->u.store.index[0], &stride);
  return fits && stride >= 2 && stride <= MOST_STRIDE ? (int)stride : 0;
}

/* How many elements S begins behind FIRST; false: nobody knows. */
static bool distance(codegen_emitter *m, const tir_stmt *first, const tir_stmt *s, int64_t *by) {
  tir_linear form;
  const tir_expr *from = codegen_first_lane(&m->arena, first->u.store.index[0]);
  const tir_expr *to = codegen_first_lane(&m->arena, s->u.store.index[0]);
  tir_linear_zero(&form);
  if (from == NULL || to == NULL || !tir_linear_add_expr(&form, to, 1) || !tir_linear_add_expr(&form, from, -1))
    return false;
  *by = form.constant;
  return form.n == 0;
}

static tir_walk find_buffer(void *user, const tir_expr *e) {
  return e->op == TIR_LOAD && e->u.buffer == user ? TIR_WALK_STOP : TIR_WALK_ON;
}

static bool is_read_by(const tir_buffer *buffer, const tir_stmt *s) {
  return !tir_walk_expr(s->u.store.value, find_buffer, (void *)buffer);
}

/* A store like the first one that is LEAST elements away from it or up to a stride more. */
static bool is_like(codegen_emitter *m, const weave *w, const tir_stmt *first, const tir_stmt *s, int64_t *by) {
  return stride_of(m, s) == w->stride && s->u.store.buffer == w->buffer && !is_read_by(w->buffer, s) &&
         s->u.store.index[0]->lanes == w->lanes && distance(m, first, s, by) && llabs(*by) < w->stride;
}

/* Whether the first of N statements are such stores. */
static bool find_stores(weave *w, int n, const tir_stmt *const *stmts) {
  codegen_emitter *m = w->m;
  int64_t by[MOST_STRIDE], least = 0;
  w->stride = stride_of(m, stmts[0]);
  if (w->stride == 0 || n < w->stride || codegen_find(m, stmts[0]->u.store.buffer) == NULL) return false;
  w->buffer = stmts[0]->u.store.buffer, w->lanes = stmts[0]->u.store.index[0]->lanes;
  for (int i = 0; i < w->stride; i++) {
    if (!is_like(m, w, stmts[0], stmts[i], &by[i])) return false;
    least = RUNTIME_MIN(least, by[i]), w->at[i] = -1;
  }
  for (int i = 0; i < w->stride; i++) {
    if (by[i] - least >= w->stride || w->at[by[i] - least] >= 0) return false;
    w->at[by[i] - least] = i;
  }
  w->base = stmts[w->at[0]]->u.store.index[0];
  return true;
}

/* Registers that stores are cut into. False: they are too short, or LLVM would take what they store apart. */
static bool find_width(weave *w) {
  int bytes = (int)codegen_element_bytes(w->buffer), most = w->m->target->vector_bytes / bytes;
  bool is_power = (w->lanes & (w->lanes - 1)) == 0;
  w->width = RUNTIME_MIN(w->lanes, most);
  w->n = codegen_block_bytes(w->m, bytes, w->width) / bytes;
  return is_power && w->width * bytes >= LEAST_BYTES && w->width <= MOST_LANES && w->width > 1;
}

/* ---- shuffles ---------------------------------------------------------------------------------------------------- */

/* In each block elements of A and B in turns, those of the first (HALF 0) or the second halves. */
static LLVMValueRef zip(const weave *w, LLVMValueRef a, LLVMValueRef b, int half) {
  int from[MOST_LANES];
  for (int i = 0; i < w->width; i++) from[i] = i - i % w->n + half * w->n / 2 + i % w->n / 2 + i % 2 * w->width;
  return codegen_shuffle(w->m, a, b, w->width, from);
}

/* Each vector with its elements at their places in blocks of three vectors' elements: one choice of three makes each of these. */
static void zip_three(const weave *w, const LLVMValueRef *values, LLVMValueRef *out) {
  LLVMValueRef placed[3] = {NULL};
  int from[MOST_LANES] = {0}, more[MOST_LANES];
  bool whole = w->n == w->width && w->n * (int)codegen_element_bytes(w->buffer) != BLOCK_BYTES;
  for (int phase = 0; phase < 3; phase++) {
    for (int i = 0; i < w->width; i++) from[i - i % w->n + (phase + 3 * (i % w->n)) % w->n] = i;
    placed[phase] = whole ? values[phase] : codegen_shuffle(w->m, values[phase], NULL, w->width, from);
  }
  for (int part = 0; part < 3; part++) {
    for (int i = 0; i < w->width; i++) {
      int element = part * w->n + i % w->n, phase = element % 3, lane = whole ? i - i % w->n + element / 3 : i;
      from[i] = phase == 2 ? -1 : lane + phase * w->width;
      more[i] = phase == 2 ? w->width + lane : i;
    }
    out[part] = codegen_shuffle(w->m, placed[0], placed[1], w->width, from);
    out[part] = codegen_shuffle(w->m, out[part], placed[2], w->width, more);
  }
}

/* Block B of OUT[P] is what lies STRIDE * B + P blocks behind the first element. */
static void zip_all(const weave *w, const LLVMValueRef *v, LLVMValueRef *out) {
  if (w->stride == 3) {
    zip_three(w, v, out);
    return;
  }
  if (w->stride == 2) {
    for (int half = 0; half < 2; half++) out[half] = zip(w, v[0], v[1], half);
    return;
  }
  for (int half = 0; half < 2; half++) {
    LLVMValueRef even = zip(w, v[0], v[2], half), odd = zip(w, v[1], v[3], half);
    for (int k = 0; k < 2; k++) out[2 * half + k] = zip(w, even, odd, k);
  }
}

/* The K-th register of what is stored: blocks one behind the other. */
static LLVMValueRef gather_blocks(const weave *w, const LLVMValueRef *parts, int k) {
  int blocks = w->width / w->n, from[MOST_LANES];
  LLVMValueRef all = parts[k * blocks % w->stride];
  for (int b = 0; b < blocks; b++) {
    int number = k * blocks + b, part = number % w->stride, block = number / w->stride;
    for (int i = 0; i < w->width; i++) from[i] = b == 0 ? block * w->n + i % w->n : i;
    for (int i = 0; b > 0 && i < w->n; i++) from[b * w->n + i] = w->width + block * w->n + i;
    all = codegen_shuffle(w->m, all, b == 0 ? NULL : parts[part], w->width, from);
  }
  return all;
}

int codegen_emit_woven(codegen_emitter *m, int n, const tir_stmt *const *stmts) {
  weave w = {.m = m};
  LLVMValueRef values[MOST_STRIDE] = {NULL};
  if (!find_stores(&w, n, stmts) || !find_width(&w)) return 0;
  codegen_forget(m);
  for (int i = 0; i < w.stride; i++) values[i] = codegen_stored_value(m, stmts[w.at[i]], w.lanes);
  LLVMValueRef base = codegen_linear_base(m, w.base);
  for (int first = 0; first < w.lanes; first += w.width) {
    LLVMValueRef pieces[MOST_STRIDE], parts[MOST_STRIDE];
    for (int i = 0; i < w.stride; i++) pieces[i] = codegen_lane_piece(m, values[i], w.lanes, first, w.width);
    zip_all(&w, pieces, parts);
    for (int k = 0; k < w.stride; k++) {
      LLVMValueRef at = LLVMBuildNSWAdd(m->builder, base, codegen_index_int(m, first * w.stride + k * w.width), "");
      codegen_store_run(m, w.buffer, at, w.width, gather_blocks(&w, parts, k));
    }
  }
  return w.stride;
}
