/* emit_near.c: vectors that overlap, as the taps of a stencil read them:
 *
 *     Y[ramp(c, 1, L)] = X[ramp(a, 1, L)] + X[ramp(a + 1, 1, L)] + X[ramp(a + 2, 1, L)]
 *
 * A vector as long as a line of the cache touches two lines wherever it does not begin with one, and takes as long as
 * two loads. So neighbouring stores are looked at together: what they read of a buffer with indices that differ by
 * constants is read once, in vectors side by side, and what lies across two of them is put together by one shuffle.
 * Of every second element, as a filter reads them that halves an image, even and odd ones become vectors first, by one shuffle each.
 * What is read is what the stores read: the last vector ends where theirs do. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum { LINE_BYTES = 64, MAX_LANES = 16, MAX_STARTS = 64, MAX_NEARS = 256 };

/* Reads of BUFFER from FORM + one of the constants STARTS on, which are sorted and differ. Those that overlap or meet
 * are a run; vectors of a run lie side by side from its first start on. */
typedef struct near_reads {
  const tir_buffer *buffer;
  tir_linear form; /* without its constant */
  int lanes;       /* of a register */
  int step;        /* from lane to lane, 1 or 2 */
  int n;
  int64_t starts[MAX_STARTS];
  bool pays[MAX_STARTS];                /* the run that a start is in is read so */
  int64_t first[MAX_STARTS];            /* start of that run */
  int64_t end[MAX_STARTS];              /* behind its last element */
  LLVMValueRef vectors[2 * MAX_STARTS]; /* that have been loaded, */
  int64_t places[2 * MAX_STARTS];       /* and from where */
  int n_vectors;
  LLVMValueRef seconds[MAX_STARTS]; /* by twos: of each start its even or odd elements; NULL: not made yet */
} near_reads;

/* What stores in a row read; lives in the emitter's arena as long as they are emitted. */
struct codegen_nears {
  codegen_emitter *m;
  int n;
  near_reads *reads[MAX_NEARS];
};

/* ---- what is read ------------------------------------------------------------------------------------------------ */

/* A load of one register or several, side by side, of four or eight bytes an element, for which one shuffle does it. */
static bool is_candidate(codegen_emitter *m, const tir_expr *e, int *lanes, int *step) {
  int bytes = (int)codegen_element_bytes(e->u.buffer);
  int64_t stride = 0;
  *lanes = LINE_BYTES / bytes;
  bool is = bytes >= 4 && e->dtype != TN_BOOL && tir_n_index(e) == 1 && tir_predicate(e) == NULL &&
            e->lanes >= *lanes && e->lanes % *lanes == 0 && codegen_is_linear(m, e->arg[0], &stride) &&
            (stride == 1 || stride == 2);
  *step = (int)stride;
  return is;
}

/* The form of E's first lane, its constant apart. */
static bool form_of(const tir_expr *e, tir_linear *form, int64_t *constant) {
  const tir_expr *index = e->arg[0];
  tir_linear_zero(form);
  if (index->op != TIR_RAMP || !tir_linear_add_expr(form, index->arg[0], 1)) return false;
  *constant = form->constant;
  form->constant = 0;
  return true;
}

/* Two loads can share vectors only where their indices differ by a number that is known here. NULL: there is none of that form. */
static near_reads *find_reads(const struct codegen_nears *nears, const tir_buffer *buffer, int step,
                              const tir_linear *form) {
  for (int i = 0; i < nears->n; i++) {
    near_reads *r = nears->reads[i];
    if (r->buffer == buffer && r->step == step && tir_linear_same_terms(&r->form, form)) return r;
  }
  return NULL;
}

/* Sorted, once. What there is no room for is loaded as it stands. */
static void add_start(near_reads *r, int64_t start) {
  int at = 0;
  while (at < r->n && r->starts[at] < start) at++;
  if (r->n == MAX_STARTS || (at < r->n && r->starts[at] == start)) return;
  memmove(&r->starts[at + 1], &r->starts[at], sizeof *r->starts * (size_t)(r->n - at));
  r->starts[at] = start;
  r->n++;
}

/* Adds the registers of each load of a value to what its buffer and form have so far. Inside of a load nothing is
 * looked at: what an index reads is no neighbour. */
static tir_walk collect(void *user, const tir_expr *e) {
  struct codegen_nears *nears = user;
  tir_linear form;
  int64_t constant;
  int lanes, step;
  if (e->op != TIR_LOAD) return TIR_WALK_ON;
  if (!is_candidate(nears->m, e, &lanes, &step) || !form_of(e, &form, &constant)) return TIR_WALK_PRUNE;
  near_reads *r = find_reads(nears, e->u.buffer, step, &form);
  if (r == NULL && nears->n < MAX_NEARS && (r = RUNTIME_NEW(&nears->m->arena, near_reads)) != NULL) {
    *r = (near_reads){.buffer = e->u.buffer, .form = form, .lanes = lanes, .step = step};
    nears->reads[nears->n++] = r;
  }
  for (int i = 0; r != NULL && i < e->lanes; i += lanes) add_start(r, constant + (int64_t)i * step);
  return TIR_WALK_PRUNE;
}

/* A store may change what a vector that was read before it holds, so such buffers are read as they stand. */
static bool is_stored(int n, const tir_stmt *const *stmts, const tir_buffer *buffer) {
  for (int i = 0; i < n; i++)
    if (stmts[i]->u.store.buffer == buffer) return true;
  return false;
}

/* ---- what pays --------------------------------------------------------------------------------------------------- */

/* Elements from the first of a register's to behind its last. */
static int64_t reach_of(const near_reads *r) { return (int64_t)(r->lanes - 1) * r->step + 1; }

/* By twos each register takes a shuffle in any case; now two vectors are loaded for each, or for two whose elements take turns. */
static bool pays_by_twos(const near_reads *r, int from, int to) {
  int64_t length = r->starts[to - 1] + reach_of(r) - r->starts[from];
  int pairs = 1;
  for (int i = from + 1; i < to; i++)
    pairs += (r->starts[i] - r->starts[from]) / 2 != (r->starts[i - 1] - r->starts[from]) / 2;
  return (length + r->lanes - 1) / r->lanes < 2 * pairs;
}

/* Half loads of a run, a shuffle being a quarter of one: now, all that do not lie side by side already count as two;
 * then, vectors side by side and shuffles. */
static bool pays(const near_reads *r, int from, int to) {
  int64_t first = r->starts[from], length = r->starts[to - 1] + r->lanes - first;
  int vectors = (int)((length + r->lanes - 1) / r->lanes), shuffles = 0;
  for (int i = from; i < to; i++) shuffles += (r->starts[i] - first) % r->lanes != 0;
  int halves = 2 * vectors - (length % r->lanes != 0); /* the last one is short: it seldom touches two lines */
  return 2 * halves + shuffles < 4 * (to - from);
}

/* Parts the starts into runs. */
static void find_runs(near_reads *r) {
  for (int from = 0, to; from < r->n; from = to) {
    int64_t along = (int64_t)r->lanes * r->step;
    for (to = from + 1; to < r->n && r->starts[to] <= r->starts[to - 1] + along; to++) continue;
    bool does_pay = r->step == 1 ? pays(r, from, to) : pays_by_twos(r, from, to);
    for (int i = from; i < to; i++) {
      r->pays[i] = does_pay;
      r->first[i] = r->starts[from];
      r->end[i] = r->starts[to - 1] + reach_of(r);
    }
  }
}

/* How many of the N statements are stores in a row. */
static int count_stores(int n, const tir_stmt *const *stmts) {
  int stores = 0;
  while (stores < n && stmts[stores]->kind == TIR_STORE) stores++;
  return stores;
}

int codegen_nears_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts) {
  int n_stores = count_stores(n, stmts), kept = 0;
  m->nears = NULL;
  if (n_stores == 0 || m->target->vector_bytes != LINE_BYTES) return n_stores;
  struct codegen_nears *nears = RUNTIME_NEW(&m->arena, struct codegen_nears);
  if (nears == NULL) return n_stores;
  *nears = (struct codegen_nears){.m = m};
  codegen_forget(m);
  for (int i = 0; i < n_stores; i++) tir_walk_expr(stmts[i]->u.store.value, collect, nears);
  for (int i = 0; i < nears->n; i++) {
    find_runs(nears->reads[i]);
    if (!is_stored(n_stores, stmts, nears->reads[i]->buffer)) nears->reads[kept++] = nears->reads[i];
  }
  nears->n = kept;
  m->nears = kept > 0 ? nears : NULL;
  return n_stores;
}

/* ---- loads and shuffles ------------------------------------------------------------------------------------------ */

/* Elements as integers: of these LLVM makes one instruction that takes no table. */
static LLVMTypeRef words(codegen_emitter *m, const near_reads *r, int lanes) {
  return LLVMVectorType(codegen_element_bytes(r->buffer) == 4 ? m->i32 : m->i64, (unsigned)lanes);
}

/* LANES of A and B from FIRST of A's on. */
static LLVMValueRef across(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b, int lanes, int first) {
  int from[MAX_LANES];
  for (int i = 0; i < lanes; i++) from[i] = first + i;
  return codegen_shuffle(m, a, b, lanes, from);
}

/* N lanes, fewer than a register's, from PLACE on; the register's others are poison. */
static LLVMValueRef load_some(codegen_emitter *m, const near_reads *r, LLVMValueRef place, int n) {
  int width = 4; /* the narrowest vectors */
  LLVMValueRef mask[MAX_LANES];
  int widened[MAX_LANES];
  while (width < n) width *= 2;
  LLVMTypeRef types[] = {words(m, r, width), m->ptr};
  for (int i = 0; i < width; i++) mask[i] = LLVMConstInt(m->i1, i < n, false);
  LLVMValueRef args[] = {place, LLVMConstInt(m->i32, codegen_element_bytes(r->buffer), false),
                         LLVMConstVector(mask, (unsigned)width), LLVMConstNull(types[0])};
  LLVMValueRef part = codegen_intrinsic(m, "llvm.masked.load", 2, types, 4, args);
  for (int i = 0; i < r->lanes; i++) widened[i] = i < n ? i : -1;
  return codegen_shuffle(m, part, NULL, r->lanes, widened);
}

/* The vector of a run that begins at START, BY elements from INDEX; loaded where it is needed first. */
static LLVMValueRef vector_at(codegen_emitter *m, near_reads *r, int64_t start, int64_t end, LLVMValueRef index,
                              int64_t by) {
  for (int i = 0; i < r->n_vectors; i++)
    if (r->places[i] == start) return r->vectors[i];
  LLVMTypeRef element = codegen_memory_type(m, r->buffer->dtype, 1);
  LLVMValueRef at = LLVMBuildNSWAdd(m->builder, index, codegen_i64(m, by), "");
  LLVMValueRef place = LLVMBuildInBoundsGEP2(m->builder, element, codegen_find(m, r->buffer)->value, &at, 1, "");
  LLVMValueRef vector;
  if (end - start < r->lanes) {
    vector = load_some(m, r, place, (int)(end - start));
  } else {
    vector = LLVMBuildLoad2(m->builder, words(m, r, r->lanes), place, "");
    LLVMSetAlignment(vector, codegen_element_bytes(r->buffer));
  }
  r->places[r->n_vectors] = start;
  return r->vectors[r->n_vectors++] = vector;
}

/* N lanes of A from FIRST on, then every second of B from REST on. */
static LLVMValueRef join(codegen_emitter *m, const near_reads *r, LLVMValueRef a, LLVMValueRef b, int first, int n,
                         int rest) {
  int from[MAX_LANES];
  for (int i = 0; i < r->lanes; i++) from[i] = i < n ? first + i : r->lanes + rest + 2 * (i - n);
  return codegen_shuffle(m, a, b, r->lanes, from);
}

/* -1: it is not among the starts. */
static int place_of(const near_reads *r, int64_t start) {
  for (int i = 0; i < r->n; i++)
    if (r->starts[i] == start) return i;
  return -1;
}

/* Every second of the elements from start AT on, which is whole vectors and one element at most from its run's: of the two vectors that these
 * are in. */
static LLVMValueRef take_seconds(codegen_emitter *m, near_reads *r, int at, int64_t constant, LLVMValueRef index) {
  int64_t odd = (r->starts[at] - r->first[at]) % 2, low = r->starts[at] - odd, end = r->end[at];
  if (r->seconds[at] != NULL) return r->seconds[at];
  LLVMValueRef a = vector_at(m, r, low, end, index, low - constant), b = a;
  if (low + r->lanes < end) b = vector_at(m, r, low + r->lanes, end, index, low + r->lanes - constant);
  int from[MAX_LANES];
  for (int i = 0; i < r->lanes; i++) from[i] = (int)odd + 2 * i;
  return r->seconds[at] = codegen_shuffle(m, a, b, r->lanes, from);
}

/* A register by twos that begins within the vector of seconds of another start: the rest is that of the next such vector, or of what was
 * loaded behind. NULL: there is no such start. */
static LLVMValueRef load_seconds(codegen_emitter *m, near_reads *r, int at, int64_t constant, LLVMValueRef index) {
  int64_t along = 2 * (int64_t)r->lanes, from_first = r->starts[at] - r->first[at], low = from_first / along * along;
  int within = (int)(from_first % along) / 2, odd = (int)(from_first % 2);
  int one = place_of(r, r->first[at] + low + odd), next = place_of(r, r->first[at] + low + along + odd);
  if (within == 0) return take_seconds(m, r, at, constant, index);
  if (one < 0) return NULL;
  LLVMValueRef a = take_seconds(m, r, one, constant, index);
  if (next >= 0) return across(m, a, take_seconds(m, r, next, constant, index), r->lanes, within);
  if (2 * within - 1 + odd > r->lanes) return NULL;
  int64_t behind = r->first[at] + low + along;
  return join(m, r, a, vector_at(m, r, behind, r->end[at], index, behind - constant), within, r->lanes - within, odd);
}

/* One register of a load: START - CONSTANT elements from INDEX. */
static LLVMValueRef load_register(codegen_emitter *m, near_reads *r, int at, int64_t constant, LLVMValueRef index) {
  int64_t start = r->starts[at], within = (start - r->first[at]) % r->lanes, low = start - within;
  LLVMTypeRef type = codegen_memory_type(m, r->buffer->dtype, r->lanes);
  if (r->step == 2) {
    LLVMValueRef seconds = load_seconds(m, r, at, constant, index);
    return seconds == NULL ? NULL : LLVMBuildBitCast(m->builder, seconds, type, "");
  }
  LLVMValueRef a = vector_at(m, r, low, r->end[at], index, low - constant);
  if (within == 0) return LLVMBuildBitCast(m->builder, a, type, "");
  LLVMValueRef b = vector_at(m, r, low + r->lanes, r->end[at], index, low + r->lanes - constant);
  return LLVMBuildBitCast(m->builder, across(m, a, b, r->lanes, (int)within), type, "");
}

/* -1: it is not among the starts, or its run is loaded as it stands. */
static int find_start(const near_reads *r, int64_t start) {
  int at = place_of(r, start);
  return at >= 0 && r->pays[at] ? at : -1;
}

/* A register behind what VALUE has already, of FILLED lanes; NULL: nothing. */
static LLVMValueRef append(codegen_emitter *m, LLVMValueRef value, LLVMValueRef next, int filled, int lanes, int all) {
  if (filled == 0 && lanes == all) return next;
  int *from = RUNTIME_NEW_ARRAY(&m->arena, int, all);
  for (int i = 0; from != NULL && i < all; i++) from[i] = i < lanes ? i : -1;
  LLVMValueRef wide = codegen_shuffle(m, next, NULL, all, from);
  for (int i = 0; from != NULL && i < all; i++) from[i] = i < filled ? i : i < filled + lanes ? all + i - filled : -1;
  return filled == 0 ? wide : codegen_shuffle(m, value, wide, all, from);
}

LLVMValueRef codegen_near_load(codegen_emitter *m, const tir_expr *e) {
  tir_linear form;
  int64_t constant;
  int lanes, step;
  if (m->nears == NULL || !is_candidate(m, e, &lanes, &step) || !form_of(e, &form, &constant)) return NULL;
  near_reads *r = find_reads(m->nears, e->u.buffer, step, &form);
  for (int i = 0; r != NULL && i < e->lanes; i += lanes)
    if (find_start(r, constant + (int64_t)i * step) < 0) return NULL;
  if (r == NULL) return NULL;
  LLVMValueRef index = codegen_linear_base(m, e->arg[0]), value = NULL;
  for (int i = 0; i < e->lanes; i += lanes) {
    LLVMValueRef next = load_register(m, r, find_start(r, constant + (int64_t)i * step), constant, index);
    if (next == NULL) return NULL;
    value = append(m, value, next, i, lanes, e->lanes);
  }
  return value;
}
