/* emit_lane_table.c: vector loads whose index is base + a table of constants: groups of neighbours, as operands of DOT
 * are, a few rows side by side, as packing reads them, and one row of which not all is taken. The table comes from // and
 * % of ramps; what is loaded are words or rows, and a shuffle puts the lanes in order. Groups and rows may be apart by
 * multiples of one number that is not known here, a row's length that symbols decide. */
#include "codegen/emit.h"

enum { MAX_LANES = 256, MAX_DEPTH = 16, MAX_ROWS = 8, LEAST_ROW = 4, MAX_RUNS = 3 };

/* What a vector of indices is: lane i is lane 0 + offset[i]. With a factor, offset[i] is rest + multiple * UNKNOWN,
 * where UNKNOWN stands for the factor's value, and |rest| < UNKNOWN / 4: so neighbours are neighbours, and nothing else
 * is. */
typedef struct table {
  int lanes;
  bool chooses;           /* a lane's constants depend on the lane, as behind a border */
  const tir_expr *factor; /* one lane; or NULL */
  int64_t offset[MAX_LANES];
} table;

#define UNKNOWN (INT64_C(1) << 20)

/* The nearest multiple: rests are small on either side. */
static int64_t multiple_of(int64_t offset) { return runtime_floordiv(offset + UNKNOWN / 2, UNKNOWN); }

/* Otherwise an offset could belong to two multiples. */
static bool has_small_rests(const table *t) {
  bool small = true;
  for (int i = 0; i < t->lanes; i++)
    small = small && llabs(t->offset[i] - multiple_of(t->offset[i]) * UNKNOWN) < UNKNOWN / 4;
  return small;
}

/* Which of several a lane takes may depend on the lane. */
static bool is_choice(const tir_expr *e) { return e->op == TIR_SELECT || tir_class_of(e) == TIR_CLASS_EXTREMUM; }

/* Lane LANE of E; NULL: E loads, or is deeper than is looked into. */
static const tir_expr *lane_of(runtime_arena *arena, const tir_expr *e, int lane, int depth) {
  enum { MAX_ARGS = 3 };
  const tir_expr *args[MAX_ARGS];
  if (e->lanes == 1) return e;
  if (e->op == TIR_BROADCAST) return e->arg[0];
  if (e->op == TIR_RAMP)
    return tir_binary(arena, TIR_ADD, e->arg[0], tir_int(arena, (tn_dtype)e->dtype, lane * e->u.i));
  if (depth == 0 || e->n_args == 0 || e->n_args > MAX_ARGS || e->op == TIR_LOAD) return NULL;
  for (int i = 0; i < e->n_args; i++)
    if ((args[i] = lane_of(arena, e->arg[i], lane, depth - 1)) == NULL) return NULL;
  return tir_with_args(arena, e, args);
}

/* Structure only: + - * // % keep lane 0 apart from the others. */
const tir_expr *codegen_first_lane(runtime_arena *arena, const tir_expr *e) {
  if (e->lanes == 1) return e;
  if (e->op == TIR_RAMP || e->op == TIR_BROADCAST) return e->arg[0];
  if (is_choice(e)) return lane_of(arena, e, 0, MAX_DEPTH);
  return tir_binary(arena, (tir_op)e->op, codegen_first_lane(arena, e->arg[0]), codegen_first_lane(arena, e->arg[1]));
}

LLVMValueRef codegen_first_index(codegen_emitter *m, const tir_expr *index) {
  const tir_expr *first = codegen_first_lane(&m->arena, index);
  if (first != NULL) return codegen_index(m, first);
  codegen_no_memory(m);
  return codegen_index_int(m, 0);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool read_table(codegen_emitter *m, const tir_expr *e, table *out, int depth);

/* Never negative for D > 0. */
static int64_t modulo(int64_t a, int64_t d) { return a - runtime_floordiv(a, d) * d; }

/* E modulo D, when it is the same for all values of the loop variables. E is an index expression: it does not wrap. */
static bool remainder_of(const tir_expr *e, int64_t d, int64_t *out) {
  int64_t a, b;
  if (tir_is_int(e, &a)) return *out = modulo(a, d), true;
  if (e->op != TIR_ADD && e->op != TIR_SUB && e->op != TIR_MUL) return false;
  bool left = remainder_of(e->arg[0], d, &a), right = remainder_of(e->arg[1], d, &b);
  if (e->op == TIR_MUL && ((left && a == 0) || (right && b == 0))) return *out = 0, true;
  if (!left || !right || d > INT32_MAX) return false;
  *out = modulo(e->op == TIR_ADD ? a + b : e->op == TIR_SUB ? a - b : a * b, d);
  return true;
}

/* The remainder of lane 0 has to be known; then those of the others follow. */
static bool divide_table(codegen_emitter *m, const tir_expr *e, table *out, int depth) {
  int64_t d, rest;
  if (!tir_is_int(e->arg[1], &d) || d <= 0 || !read_table(m, e->arg[0], out, depth) || out->factor != NULL)
    return false;
  const tir_expr *first = codegen_first_lane(&m->arena, e->arg[0]);
  if (first == NULL || !remainder_of(first, d, &rest)) return false;
  for (int i = 0; i < out->lanes; i++) {
    int64_t quotient = runtime_floordiv(rest + out->offset[i], d);
    out->offset[i] = e->op == TIR_FLOORDIV ? quotient : out->offset[i] - quotient * d;
  }
  return true;
}

/* Small numbers times a number that is not known. */
static bool scale_by_unknown(codegen_emitter *m, const tir_expr *e, table *out, int depth) {
  int uniform = e->arg[1]->op == TIR_BROADCAST ? 1 : 0;
  if (e->arg[uniform]->op != TIR_BROADCAST || !read_table(m, e->arg[1 - uniform], out, depth)) return false;
  if (out->factor != NULL) return false;
  for (int i = 0; i < out->lanes; i++) {
    if (llabs(out->offset[i]) >= UNKNOWN) return false;
    out->offset[i] *= UNKNOWN;
  }
  out->factor = e->arg[uniform]->arg[0];
  return true;
}

/* By a constant, or by one uniform number for the whole table. */
static bool scale_table(codegen_emitter *m, const tir_expr *e, table *out, int depth) {
  int64_t factor;
  int constant = tir_is_int(e->arg[1], &factor) ? 1 : 0;
  if (!tir_is_int(e->arg[constant], &factor)) return scale_by_unknown(m, e, out, depth);
  if (!read_table(m, e->arg[1 - constant], out, depth) || out->factor != NULL) return false;
  for (int i = 0; i < out->lanes; i++) {
    if (__builtin_mul_overflow(out->offset[i], factor, &out->offset[i])) return false;
  }
  return true;
}

/* Two tables of different unknown factors do not add up. */
static bool add_tables(codegen_emitter *m, const tir_expr *e, table *out, int depth) {
  table other;
  if (!read_table(m, e->arg[0], out, depth) || !read_table(m, e->arg[1], &other, depth)) return false;
  if (out->factor != NULL && other.factor != NULL && !tir_equal(out->factor, other.factor)) return false;
  if (out->factor == NULL) out->factor = other.factor;
  if (out->factor != NULL && !(has_small_rests(out) && has_small_rests(&other))) return false;
  for (int i = 0; i < out->lanes; i++) out->offset[i] += e->op == TIR_ADD ? other.offset[i] : -other.offset[i];
  out->chooses |= other.chooses;
  return true;
}

/* A mirrored or repeated border, where it is known which lanes lie behind it: all lanes are constants. */
static bool choice_table(codegen_emitter *m, const tir_expr *e, table *out) {
  for (int i = 0; i < e->lanes; i++) {
    const tir_expr *lane = lane_of(&m->arena, e, i, MAX_DEPTH);
    if (lane == NULL || lane->op != TIR_INT) return false;
    out->offset[i] = lane->u.i;
  }
  for (int i = e->lanes - 1; i >= 0; i--) out->offset[i] -= out->offset[0];
  return out->chooses = true;
}

/* Offsets stay small: they lie in an index range that was checked before. */
static bool read_table(codegen_emitter *m, const tir_expr *e, table *out, int depth) {
  if (depth > MAX_DEPTH || e->lanes > MAX_LANES) return false;
  *out = (table){.lanes = e->lanes};
  if (e->op == TIR_BROADCAST) return true;
  for (int i = 0; e->op == TIR_RAMP && i < e->lanes; i++) out->offset[i] = i * e->u.i;
  if (e->op == TIR_RAMP) return true;
  if (e->op == TIR_MUL) return scale_table(m, e, out, depth + 1);
  if (is_choice(e)) return choice_table(m, e, out);
  if (tir_class_of(e) == TIR_CLASS_SUM) return add_tables(m, e, out, depth + 1);
  return tir_class_of(e) == TIR_CLASS_DIVISION && divide_table(m, e, out, depth + 1);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Where the load stands. */
typedef struct source {
  const tir_buffer *buffer;
  tn_dtype dtype;             /* what rows of it are loaded as, of as many bytes */
  LLVMValueRef pointer, base; /* base: of lane 0, in elements */
  LLVMValueRef factor;        /* the table's; or NULL */
  bool is_known; /* lane 0 is at a known place: such a buffer may stay in registers, and no part of it be loaded */
} source;

/* In elements from the buffer's start. */
static LLVMValueRef element_at(codegen_emitter *m, const source *s, int64_t offset) {
  int64_t multiple = s->factor != NULL ? multiple_of(offset) : 0, rest = offset - multiple * UNKNOWN;
  LLVMValueRef at = s->base;
  if (multiple != 0)
    at =
        LLVMBuildNSWAdd(m->builder, at, LLVMBuildNSWMul(m->builder, s->factor, codegen_index_int(m, multiple), ""), "");
  return rest == 0 ? at : LLVMBuildNSWAdd(m->builder, at, codegen_index_int(m, rest), "");
}

/* Aligned to the element only. */
static LLVMValueRef load(codegen_emitter *m, const source *s, int64_t offset, LLVMTypeRef type) {
  LLVMTypeRef element = codegen_memory_type(m, s->buffer->dtype, 1);
  LLVMValueRef at = element_at(m, s, offset);
  LLVMValueRef address = LLVMBuildInBoundsGEP2(m->builder, element, s->pointer, &at, 1, "");
  LLVMValueRef value = LLVMBuildLoad2(m->builder, type, address, "");
  LLVMSetAlignment(value, codegen_element_bytes(s->buffer));
  return value;
}

/* The longest group of neighbours, of 8, 4 or 2 bytes, that all lanes fall into; 0: none. */
static int group_of(const table *t, int bytes) {
  for (int word = 8; word > bytes; word /= 2) {
    int group = word / bytes;
    bool fits = t->lanes % group == 0;
    for (int i = 0; i < t->lanes && fits; i++) fits = t->offset[i] == t->offset[i - i % group] + i % group;
    if (fits) return group;
  }
  return 0;
}

/* The first N elements of a word, in as few pieces as they are; the others are 0. */
static LLVMValueRef load_word(codegen_emitter *m, const source *s, int64_t offset, LLVMTypeRef word, int n) {
  unsigned bits = 8 * codegen_element_bytes(s->buffer);
  LLVMValueRef value = LLVMConstNull(word);
  if (bits * (unsigned)n == LLVMGetIntTypeWidth(word)) return load(m, s, offset, word);
  for (int first = 0, part; first < n; first += part) {
    for (part = 1; 2 * part <= n - first;) part *= 2;
    LLVMValueRef piece = load(m, s, offset + first, LLVMIntTypeInContext(m->llvm, bits * (unsigned)part));
    piece = LLVMBuildZExt(m->builder, piece, word, "");
    piece = LLVMBuildShl(m->builder, piece, LLVMConstInt(word, bits * (unsigned)first, false), "");
    value = LLVMBuildOr(m->builder, value, piece, "");
  }
  return value;
}

/* Words of GROUP elements; one that all lanes share is loaded once. ON: of each group's first lane, how many of its elements are wanted, the
 * others are 0; NULL: all. */
static LLVMValueRef load_words(codegen_emitter *m, const source *s, const table *t, int group, const int *on) {
  LLVMTypeRef word = LLVMIntTypeInContext(m->llvm, 8 * codegen_element_bytes(s->buffer) * (unsigned)group);
  int n = t->lanes / group;
  bool is_shared = on == NULL;
  for (int i = 0; i < n; i++) is_shared = is_shared && t->offset[i * group] == t->offset[0];
  LLVMValueRef words =
      is_shared ? codegen_splat(m, load(m, s, 0, word), n) : LLVMGetPoison(LLVMVectorType(word, (unsigned)n));
  for (int i = 0; i < n && !is_shared; i++) {
    LLVMValueRef value = load_word(m, s, t->offset[i * group], word, on != NULL ? on[i * group] : group);
    words = LLVMBuildInsertElement(m->builder, words, value, LLVMConstInt(m->i32, (unsigned)i, false), "");
  }
  return LLVMBuildBitCast(m->builder, words, codegen_memory_type(m, s->buffer->dtype, t->lanes), "");
}

/* The table of an index. Of vectors that choose no range is known but that they stay in the buffer. */
static bool open_table(codegen_emitter *m, const tir_expr *index, table *out, tir_interval *range) {
  bool has_range = codegen_index_range(m, index, range);
  if (!read_table(m, index, out, 0) || !(has_range || out->chooses)) return false;
  if (!has_range) *range = (tir_interval){0, INT64_MAX / 2};
  return out->factor == NULL || has_small_rests(out);
}

bool codegen_word_step(codegen_emitter *m, const tir_expr *index, unsigned bytes, int *group, int64_t *step) {
  table t;
  tir_interval range;
  if (!open_table(m, index, &t, &range) || t.factor != NULL) return false;
  *group = group_of(&t, (int)bytes);
  if (*group == 0 && bytes <= 2 && t.lanes % 3 == 0) *group = 3; /* colours */
  if (*group == 0 || *group == t.lanes) return false;
  *step = t.offset[*group];
  bool is_even = true;
  for (int i = 0; i < t.lanes; i++) is_even = is_even && t.offset[i] == i / *group * *step + i % *group;
  return is_even;
}

/* Whether neighbours in groups of GROUP are the same. */
static bool is_even(codegen_emitter *m, const tir_expr *e, int group) {
  table t;
  bool is = read_table(m, e, &t, 0) && t.lanes % group == 0;
  for (int i = 0; is && i < t.lanes; i++) is = t.offset[i] == t.offset[i - i % group];
  return is;
}

bool codegen_is_even(codegen_emitter *m, const tir_expr *predicate, int group) {
  bool is_both = predicate->op == TIR_AND;
  if (predicate->op == TIR_BROADCAST) return true;
  if (!is_both && tir_class_of(predicate) != TIR_CLASS_COMPARISON) return false;
  bool (*is)(codegen_emitter *, const tir_expr *, int) = is_both ? codegen_is_even : is_even;
  return is(m, predicate->arg[0], group) && is(m, predicate->arg[1], group);
}

/* Rows of neighbours, all as long as the first, that together are what the lanes take; their number, 0: they are none. Short
 * ones are left to words, but for one that is all: elements of a few neighbours, or of one, each for some lanes. */
static int find_rows(const table *t, int64_t *start, int *length) {
  int64_t sorted[MAX_LANES];
  int n = 0, n_rows = 0;
  memcpy(sorted, t->offset, sizeof *sorted * (size_t)t->lanes);
  qsort(sorted, (size_t)t->lanes, sizeof *sorted, runtime_compare_i64);
  for (int i = 0; i < t->lanes; i++) {
    if (n == 0 || sorted[i] != sorted[n - 1]) sorted[n++] = sorted[i];
  }
  for (*length = 1; *length < n && sorted[*length] == sorted[0] + *length;) ++*length;
  if ((*length < LEAST_ROW && n > *length) || n % *length != 0 || n / *length > MAX_ROWS) return 0;
  for (int i = 0; i < n; i++) {
    if (sorted[i] != sorted[i - i % *length] + i % *length) return 0;
    if (i % *length == 0) start[n_rows++] = sorted[i];
  }
  return n_rows;
}

/* A row behind the other. */
static LLVMValueRef append(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b, int length) {
  int from[MAX_ROWS * MAX_LANES];
  for (int i = 0; i < 2 * length; i++) from[i] = i;
  return codegen_shuffle(m, a, b, 2 * length, from);
}

/* Which element of which row lane I takes, counted row by row. */
static int element_of(const table *t, int i, const int64_t *start, int length) {
  int row = 0;
  while (t->offset[i] < start[row] || t->offset[i] >= start[row] + length) row++;
  return row * length + (int)(t->offset[i] - start[row]);
}

/* N rows one behind the other, doubling: there is nothing behind the last. */
static LLVMValueRef append_all(codegen_emitter *m, LLVMValueRef *rows, int n, int length) {
  int all = 1;
  while (all < n) all *= 2;
  for (int i = n; i < all; i++) rows[i] = LLVMGetPoison(LLVMTypeOf(rows[0]));
  for (int width = length; all > 1; all /= 2, width *= 2) {
    for (int i = 0; i < all / 2; i++) rows[i] = append(m, rows[2 * i], rows[2 * i + 1], width);
  }
  return rows[0];
}

/* The lanes out of N rows. */
static LLVMValueRef join_rows(codegen_emitter *m, LLVMValueRef *rows, int n, const table *t, const int64_t *start,
                              int length) {
  int from[MAX_LANES];
  LLVMValueRef all = append_all(m, rows, n, length);
  for (int i = 0; i < t->lanes; i++) from[i] = element_of(t, i, start, length);
  return codegen_shuffle(m, all, NULL, t->lanes, from);
}

/* All that the lanes take lies among no more elements than there are lanes, or of some lanes than a register has: one row with gaps, a
 * power of two long, that ends with the greatest, or farther on where fewer stand before the least index there is; where there are no
 * others, no more elements than these. RANGE: of the index in all lanes, always; ELEMENTS: of the buffer; -1: nobody knows. */
static int find_gaps(const table *t, tir_interval range, int64_t elements, int64_t most, int64_t *start, int *length) {
  enum { SOME = 4 };
  int64_t low = t->offset[0], high = t->offset[0];
  for (int i = 0; i < t->lanes; i++) low = RUNTIME_MIN(low, t->offset[i]), high = RUNTIME_MAX(high, t->offset[i]);
  if (t->factor != NULL || high - low >= RUNTIME_MAX(t->lanes, t->lanes < SOME ? 0 : most)) return 0;
  for (*length = 1; *length <= high - low;) *length *= 2;
  *start = RUNTIME_MAX(high - *length + 1, low - RUNTIME_MAX(range.lo, 0));
  bool is_there = *start + *length - 1 <= high || range.hi + (*start + *length - 1 - high) < elements;
  if (!is_there) *start = low, *length = (int)(high - low) + 1;
  return 1;
}

/* All that the lanes take lies among the elements of a few registers, which is where rows of few columns are spread over them: rows with
 * gaps, the last of which ends with the greatest. */
static int find_registers(const table *t, int64_t bytes, int64_t most, bool is_known, int64_t *start, int *length) {
  const int64_t most_registers = is_known ? MAX_ROWS / 2 : MAX_ROWS;
  int64_t low = t->offset[0], high = t->offset[0], lanes = t->lanes;
  for (int i = 0; i < lanes; i++) low = RUNTIME_MIN(low, t->offset[i]), high = RUNTIME_MAX(high, t->offset[i]);
  int64_t n = (high - low + lanes) / lanes;
  if (t->factor != NULL || lanes * bytes != most || lanes < LEAST_ROW || n < 2 || n > most_registers) return 0;
  for (int64_t i = 0; i < n; i++) start[i] = RUNTIME_MIN(low + i * lanes, high - lanes + 1);
  *length = (int)lanes;
  return (int)n;
}

static LLVMValueRef load_rows(codegen_emitter *m, const source *s, const table *t, int n, const int64_t *start,
                              int length) {
  LLVMTypeRef type = codegen_memory_type(m, s->dtype, length);
  LLVMValueRef rows[MAX_ROWS];
  if (length == 1) return codegen_splat(m, load(m, s, start[0], type), t->lanes);
  bool is_ragged = codegen_is_ragged(m, s->buffer, length) && s->dtype == s->buffer->dtype;
  for (int i = 0; i < n; i++)
    rows[i] = is_ragged ? codegen_load_ragged(m, s->buffer, s->pointer, element_at(m, s, start[i]), length)
                        : load(m, s, start[i], type);
  return join_rows(m, rows, n, t, start, length);
}

static source source_of(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer, const tir_expr *index,
                        const table *t) {
  LLVMValueRef base = codegen_first_index(m, index);
  return (source){buffer,
                  buffer->dtype,
                  pointer,
                  base,
                  t->factor != NULL ? codegen_index(m, t->factor) : NULL,
                  LLVMIsAConstantInt(base) != NULL};
}

/* Which lanes begin a run of neighbours, as a row that goes on at its other end has two. 0: there are too many runs. */
static int find_runs(const table *t, int *first) {
  int n = 1;
  first[0] = 0;
  if (t->factor != NULL) return 0;
  for (int i = 1; i < t->lanes; i++) {
    if (t->offset[i] == t->offset[i - 1] + 1) continue;
    if (n == MAX_RUNS) return 0;
    first[n++] = i;
  }
  return n;
}

/* Each run by a masked load, which touches its own lanes only. */
static LLVMValueRef load_runs(codegen_emitter *m, const source *s, const table *t, int n, const int *first) {
  LLVMValueRef value = NULL, on[MAX_LANES];
  for (int r = 0; r < n; r++) {
    int end = r + 1 < n ? first[r + 1] : t->lanes;
    for (int i = 0; i < t->lanes; i++) on[i] = LLVMConstInt(m->i1, i >= first[r] && i < end, false);
    LLVMValueRef mask = LLVMConstVector(on, (unsigned)t->lanes);
    LLVMValueRef part = codegen_load_masked_run(m, s->buffer, s->pointer,
                                                element_at(m, s, t->offset[first[r]] - first[r]), t->lanes, mask);
    value = value == NULL ? part : LLVMBuildSelect(m->builder, mask, part, value, "");
  }
  return value;
}

/* NULL: the lanes are no groups, rows or runs. */
static LLVMValueRef load_lanes(codegen_emitter *m, const source *s, const table *t, tir_interval range) {
  int64_t start[MAX_ROWS], bytes = codegen_element_bytes(s->buffer), most = m->target->vector_bytes;
  int length, group = group_of(t, (int)bytes), n_rows = find_rows(t, start, &length);
  if (group == 0 && n_rows == 0)
    n_rows = find_gaps(t, range, s->buffer->ndim == 1 ? s->buffer->shape[0] : -1, most / bytes, start, &length);
  if (group == 0 && n_rows == 0) n_rows = find_registers(t, bytes, most, s->is_known, start, &length);
  int runs[MAX_RUNS], n_runs = group == 0 && n_rows == 0 && codegen_has_cheap_masks(m->target) ? find_runs(t, runs) : 0;
  if (n_runs > 0) return load_runs(m, s, t, n_runs, runs);
  if (group > 0 && (n_rows == 0 || length == group)) return load_words(m, s, t, group, NULL);
  return n_rows > 0 ? load_rows(m, s, t, n_rows, start, length) : NULL;
}

/* A vector of several registers, each by itself. */
static LLVMValueRef load_registers(codegen_emitter *m, const source *s, const table *t, tir_interval range) {
  int lanes = (int)m->target->vector_bytes / (int)codegen_element_bytes(s->buffer), from[MAX_LANES];
  int n = t->lanes / lanes;
  LLVMValueRef parts[MAX_ROWS];
  if (n < 2 || n > MAX_ROWS || t->lanes % lanes != 0) return NULL;
  for (int i = 0; i < n; i++) {
    table part = {.lanes = lanes, .chooses = t->chooses, .factor = t->factor};
    memcpy(part.offset, t->offset + i * lanes, sizeof *t->offset * (size_t)lanes);
    if ((parts[i] = load_lanes(m, s, &part, range)) == NULL) return NULL;
  }
  for (int i = 0; i < t->lanes; i++) from[i] = i;
  return codegen_shuffle(m, append_all(m, parts, n, lanes), NULL, t->lanes, from);
}

LLVMValueRef codegen_load_table(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                const tir_expr *index) {
  table t;
  tir_interval range;
  if (!open_table(m, index, &t, &range)) return NULL;
  source s = source_of(m, buffer, pointer, index, &t);
  LLVMValueRef value = load_lanes(m, &s, &t, range);
  return value != NULL || s.is_known ? value : load_registers(m, &s, &t, range);
}

bool codegen_lane_offsets(codegen_emitter *m, const tir_expr *index, int64_t *offset) {
  table t;
  tir_interval range;
  if (!open_table(m, index, &t, &range) || t.factor != NULL || t.chooses) return false;
  memcpy(offset, t.offset, sizeof *offset * (size_t)t.lanes);
  return true;
}

/* Of what lies behind the last lane nothing is known. */
LLVMValueRef codegen_load_offsets(codegen_emitter *m, const tir_expr *e, int lanes, const int64_t *offset,
                                  int64_t before) {
  table t = {.lanes = lanes};
  int64_t elements = e->u.buffer->ndim == 1 ? e->u.buffer->shape[0] : -1;
  for (int i = 0; i < lanes; i++) t.offset[i] = offset[i] - offset[0];
  source s = source_of(m, e->u.buffer, codegen_find(m, e->u.buffer)->value, e->arg[0], &t);
  s.base = LLVMBuildNSWAdd(m->builder, s.base, codegen_index_int(m, offset[0]), "");
  if (e->u.buffer->dtype == TN_F32 || e->u.buffer->dtype == TN_F64)
    s.dtype = e->u.buffer->dtype == TN_F32 ? TN_I32 : TN_I64;
  return s.is_known ? NULL : load_lanes(m, &s, &t, (tir_interval){before, RUNTIME_MAX(elements, 0)});
}

/* ---- with a mask that is known ------------------------------------------------------------------------------------ */

/* Of a word's GROUP lanes, from LANE on, the first that are on: from 0 on, and none behind a lane that is off. -1: others are. */
static int first_on(LLVMValueRef mask, int lane, int group) {
  int n = 0, all = 0;
  for (int i = 0; i < group; i++) {
    bool is_on = !LLVMIsNull(LLVMGetAggregateElement(mask, (unsigned)(lane + i)));
    n += is_on && all == i, all += is_on ? 1 : 0;
  }
  return n == all ? n : -1;
}

LLVMValueRef codegen_load_part_words(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                     const tir_expr *index, LLVMValueRef mask) {
  table t;
  tir_interval range;
  int on[MAX_LANES];
  if (!LLVMIsConstant(mask) || !open_table(m, index, &t, &range)) return NULL;
  int group = group_of(&t, (int)codegen_element_bytes(buffer));
  if (group == 0) return NULL;
  for (int i = 0; i < t.lanes; i += group)
    if ((on[i] = first_on(mask, i, group)) < 0) return NULL;
  source s = source_of(m, buffer, pointer, index, &t);
  return load_words(m, &s, &t, group, on);
}

/* ---- with a mask ------------------------------------------------------------------------------------------------- */

/* Lanes of an index: a number in all of them and constants. Lane 0's where FROM has none. */
static LLVMValueRef index_lanes(codegen_emitter *m, const tir_expr *e, int n, const int *from) {
  table t;
  LLVMValueRef rest[MAX_LANES];
  tir_interval range;
  const tir_expr *first = open_table(m, e, &t, &range) && t.factor == NULL ? codegen_first_lane(&m->arena, e) : NULL;
  if (first == NULL) return NULL;
  LLVMTypeRef type = codegen_type(m, e->dtype, 1);
  for (int i = 0; i < n; i++) rest[i] = LLVMConstInt(type, (uint64_t)(from[i] < t.lanes ? t.offset[from[i]] : 0), true);
  return LLVMBuildAdd(m->builder, codegen_splat(m, codegen_value(m, first), n), LLVMConstVector(rest, (unsigned)n), "");
}

/* Those that there are. */
static LLVMValueRef lanes_there(codegen_emitter *m, int lanes, int n, const int *from) {
  LLVMValueRef on[MAX_LANES];
  for (int i = 0; i < n; i++) on[i] = LLVMConstInt(m->i1, from[i] < lanes, false);
  return LLVMConstVector(on, (unsigned)n);
}

static LLVMValueRef comparison_lanes(codegen_emitter *m, const tir_expr *e, int n, const int *from) {
  const tir_expr *a = e->arg[0], *b = e->arg[1];
  LLVMValueRef x = tn_dtype_is_signed((tn_dtype)a->dtype) ? index_lanes(m, a, n, from) : NULL;
  LLVMValueRef y = x != NULL ? index_lanes(m, b, n, from) : NULL;
  if (y == NULL) return NULL;
  return LLVMBuildAnd(m->builder, codegen_compare(m, (tir_op)e->op, a, x, y), lanes_there(m, e->lanes, n, from), "");
}

LLVMValueRef codegen_predicate_lanes(codegen_emitter *m, const tir_expr *predicate, int n, const int *from) {
  if (n > MAX_LANES) return NULL;
  if (tir_class_of(predicate) == TIR_CLASS_COMPARISON) return comparison_lanes(m, predicate, n, from);
  if (predicate->op != TIR_AND) return NULL;
  LLVMValueRef x = codegen_predicate_lanes(m, predicate->arg[0], n, from);
  LLVMValueRef y = x != NULL ? codegen_predicate_lanes(m, predicate->arg[1], n, from) : NULL;
  return y != NULL ? LLVMBuildAnd(m->builder, x, y, "") : NULL;
}

/* Elements of a row that any lane that is on takes. Each turn has one more of the lanes that share an element. NULL: more than
 * MOST lanes share one. */
static LLVMValueRef mask_of_row(codegen_emitter *m, const tir_expr *predicate, LLVMValueRef mask, const table *t,
                                int row, const int64_t *start, int length) {
  enum { MOST = 4 };
  int taken[MAX_LANES] = {0}, from[MOST][MAX_LANES], turns = 0;
  for (int turn = 0; turn < MOST; turn++)
    for (int k = 0; k < length; k++) from[turn][k] = t->lanes;
  for (int i = 0; i < t->lanes; i++) {
    int k = element_of(t, i, start, length) - row * length;
    if (k < 0 || k >= length) continue;
    if (taken[k] == MOST) return NULL;
    from[taken[k]++][k] = i;
    turns = RUNTIME_MAX(turns, taken[k]);
  }
  LLVMValueRef any = NULL;
  for (int turn = 0; turn < turns; turn++) {
    LLVMValueRef on = codegen_mask_lanes(m, predicate, mask, t->lanes, length, from[turn]);
    any = any == NULL ? on : LLVMBuildOr(m->builder, any, on, "");
  }
  return any;
}

LLVMValueRef codegen_load_masked_table(codegen_emitter *m, const tir_buffer *buffer, LLVMValueRef pointer,
                                       const tir_expr *index, const tir_expr *predicate, LLVMValueRef mask) {
  table t;
  int64_t start[MAX_ROWS];
  LLVMValueRef on[MAX_ROWS], rows[MAX_ROWS];
  tir_interval range;
  int length, n = open_table(m, index, &t, &range) ? find_rows(&t, start, &length) : 0;
  if (n == 0 || length == 1) return NULL; /* a mask of one element is no vector */
  for (int i = 0; i < n; i++)
    if ((on[i] = mask_of_row(m, predicate, mask, &t, i, start, length)) == NULL) return NULL;
  source s = source_of(m, buffer, pointer, index, &t);
  for (int i = 0; i < n; i++)
    rows[i] = codegen_load_masked_run(m, buffer, pointer, element_at(m, &s, start[i]), length, on[i]);
  return join_rows(m, rows, n, &t, start, length);
}
