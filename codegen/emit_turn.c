/* emit_turn.c: neighbouring stores whose values are read against the grain, as an unrolled tile of a transpose has
 * them:
 *
 *     C[ramp(c, 1, L)] = A[ramp(a, S, L)]; C[ramp(d, 1, L)] = A[ramp(a + 1, S, L)]; ...
 *
 * 16 bytes of them in a row are loaded together, and L such loads become vectors by shuffles inside of blocks of 16
 * bytes, which every vector unit has. Where there are as many stores as a vector has lanes, whole vectors are loaded,
 * and shuffles of blocks come first: rows that fall into one set of the first cache are read once then. Vectors for which
 * there are no registers wait on the stack, which is near. Several such tiles whose stores take turns, so that each row is
 * written as a whole line, are turned together. Words of neighbours, as dot products of bytes want them side by side, are turned as
 * elements are; those of three are turned with a fourth, which is left out again. What is read is what the stores read one by one,
 * on or back (an image that is turned by a quarter). Under a condition that all share a lane that is off is a row that is not read:
 * zeros of our own are. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum {
  BLOCK_BYTES = 16,
  MAX_TURNED = 64,
  MAX_LANES = 256,
  LEAST_STRIDE = 5,
  MOST_ROW_BYTES = 64,
  MOST_MASKED = 64,
  MOST_WAYS = 4
};

/* How a load goes against the grain: LANES words of WORD elements each, a STEP apart. */
typedef struct walk {
  int word, lanes;
  codegen_step step;
} walk;

/* ALL stores, each with a load of words that lie at most STRIDE elements apart, BY words (1 or -1) on from the store's before. N of
 * them at a time, a block's words, are turned. */
typedef struct turn {
  codegen_emitter *m;
  int n, all, by, word, lanes;
  int64_t stride;
  codegen_step step;
  LLVMValueRef on, zeros; /* a bit of each row that is read, and what is read of the others; NULL: all are */
  const tir_expr *loads[MAX_TURNED];
  LLVMValueRef vectors[MAX_TURNED];
} turn;

/* ---- what they have in common ------------------------------------------------------------------------------------ */

static bool walks(codegen_emitter *m, const tir_expr *load, walk *w) {
  const tir_expr *index = load->arg[0];
  *w = (walk){.word = 1, .lanes = index->lanes};
  if (codegen_has_step(m, index, &w->step)) return true;
  if (!codegen_word_step(m, index, codegen_element_bytes(load->u.buffer), &w->word, &w->step.by)) return false;
  const tir_expr *predicate = tir_predicate(load);
  w->lanes /= w->word;
  return predicate == NULL || codegen_is_even(m, predicate, w->word);
}

/* Elements that a word takes in a register. */
static int room_of(int word) { return word == 3 ? 4 : word; }

/* The only load against the grain of a value. */
typedef struct finding {
  codegen_emitter *m;
  const tir_expr *load;
  bool is_one;
} finding;

/* Looks for the one load of a value that goes by strides. A second, other one stops the walk: two blocks are not
 * turned together. */
static tir_walk find_turned(void *user, const tir_expr *e) {
  finding *f = user;
  walk w;
  if (e->op != TIR_LOAD) return TIR_WALK_ON;
  if (tir_n_index(e) != 1 || e->arg[0]->lanes < 2 || !walks(f->m, e, &w)) return TIR_WALK_PRUNE;
  if (codegen_most_step(f->m, &w.step) < LEAST_STRIDE) return TIR_WALK_PRUNE;
  f->is_one = f->load == NULL || f->load == e;
  f->load = e;
  return f->is_one ? TIR_WALK_PRUNE : TIR_WALK_STOP;
}

/* NULL: it has none, or several. */
static const tir_expr *turned_load(codegen_emitter *m, const tir_stmt *s) {
  finding f = {.m = m};
  if (s->kind != TIR_STORE || s->u.store.n_index != 1) return NULL;
  tir_walk_expr(s->u.store.value, find_turned, &f);
  bool fits = f.is_one && f.load->u.buffer != s->u.store.buffer && f.load->dtype != TN_BOOL &&
              f.load->lanes == s->u.store.index[0]->lanes;
  return fits ? f.load : NULL;
}

/* The same condition, or none. */
static bool same_lanes_on(const tir_expr *a, const tir_expr *b) {
  const tir_expr *one = tir_predicate(a), *other = tir_predicate(b);
  return one == NULL || other == NULL ? one == other : tir_equal(one, other);
}

/* B begins BY elements behind A, and goes on by the same step. */
static bool follows(codegen_emitter *m, const tir_expr *a, const tir_expr *b, int by) {
  tir_linear form;
  walk first, second;
  tir_linear_zero(&form);
  if (a->u.buffer != b->u.buffer || a->lanes != b->lanes || !same_lanes_on(a, b)) return false;
  if (!walks(m, a, &first) || !walks(m, b, &second) || first.word != second.word) return false;
  codegen_step one = first.step, other = second.step;
  if (one.by != other.by) return false;
  if (one.times != other.times && (one.times == NULL || other.times == NULL || !tir_equal(one.times, other.times)))
    return false;
  const tir_expr *from = codegen_first_lane(&m->arena, a->arg[0]), *to = codegen_first_lane(&m->arena, b->arg[0]);
  return from != NULL && to != NULL && tir_linear_add_expr(&form, to, 1) && tir_linear_add_expr(&form, from, -1) &&
         form.n == 0 && form.constant == (int64_t)by * first.word;
}

/* Whether of N statements the first and each WAYS-th behind it are a block that can be turned. */
static bool find_block(turn *t, int ways, int n, const tir_stmt *const *stmts) {
  t->loads[0] = turned_load(t->m, stmts[0]);
  if (t->loads[0] == NULL) return false;
  walk w;
  if (!walks(t->m, t->loads[0], &w)) return false;
  t->word = w.word, t->lanes = w.lanes, t->step = w.step;
  t->n = BLOCK_BYTES / room_of(w.word) / (int)codegen_element_bytes(t->loads[0]->u.buffer);
  t->stride = codegen_most_step(t->m, &t->step);
  int most = RUNTIME_MIN((n + ways - 1) / ways, MAX_TURNED);
  bool fits = t->n >= 2 && t->n <= most && t->stride >= t->n * t->word && t->lanes % t->n == 0 &&
              t->lanes <= MAX_LANES && (t->lanes & (t->lanes - 1)) == 0;
  for (t->all = 1, t->by = 1; fits && t->all < most; t->all++) {
    const tir_stmt *s = stmts[t->all * ways];
    const tir_expr *load = t->loads[t->all] = turned_load(t->m, s);
    if (load == NULL || s->u.store.buffer != stmts[0]->u.store.buffer) break;
    if (t->all == 1 && follows(t->m, t->loads[0], load, -1)) t->by = -1;
    if (!follows(t->m, t->loads[0], load, t->by * t->all)) break;
  }
  fits = fits && (tir_predicate(t->loads[0]) == NULL || t->lanes <= MOST_MASKED);
  if (!fits || t->all < t->n || codegen_find(t->m, t->loads[0]->u.buffer) == NULL) return false;
  bool is_whole = t->lanes * BLOCK_BYTES / t->n == t->m->target->vector_bytes;
  t->all = is_whole && t->all >= t->lanes && t->stride >= t->lanes * t->word ? t->lanes : t->n;
  return true;
}

/* ---- loads and shuffles ------------------------------------------------------------------------------------------ */

/* What is turned as one. */
static LLVMTypeRef word_type(const turn *t) {
  const tir_buffer *buffer = t->loads[0]->u.buffer;
  if (t->word == 1) return codegen_memory_type(t->m, buffer->dtype, 1);
  return LLVMIntTypeInContext(t->m->llvm, 8 * codegen_element_bytes(buffer) * (unsigned)room_of(t->word));
}

/* N words of WORD elements each as words of ROOM elements: those that a word does not have are poison. */
static LLVMValueRef move_words(const turn *t, LLVMValueRef elements, int n, int word, int room) {
  int from[MAX_LANES];
  for (int i = 0; i < n * room; i++) from[i] = i % room < word ? i / room * word + i % room : -1;
  return codegen_shuffle(t->m, elements, NULL, n * room, from);
}

/* N words of three elements each, from PLACE on: loaded in two pieces whose lengths are powers of two. */
static LLVMValueRef load_threes(const turn *t, LLVMTypeRef element, LLVMValueRef place, int n) {
  codegen_emitter *m = t->m;
  int room = room_of(t->word), from[MAX_LANES], lengths[] = {2 * n, n};
  LLVMValueRef pieces[2];
  for (int k = 0; k < 2; k++) {
    LLVMValueRef at = codegen_i64(m, k * lengths[0]);
    LLVMValueRef piece = LLVMBuildInBoundsGEP2(m->builder, element, place, &at, 1, "");
    pieces[k] = LLVMBuildLoad2(m->builder, LLVMVectorType(element, (unsigned)lengths[k]), piece, "");
    LLVMSetAlignment(pieces[k], codegen_element_bytes(t->loads[0]->u.buffer));
    for (int i = 0; i < n * room; i++) from[i] = i < lengths[k] ? i : -1;
    pieces[k] = codegen_shuffle(m, pieces[k], NULL, n * room, from);
  }
  for (int i = 0; i < n * room; i++)
    from[i] = i < lengths[0] ? i : i < lengths[0] + lengths[1] ? n * room + i - lengths[0] : -1;
  LLVMValueRef elements = codegen_shuffle(m, pieces[0], pieces[1], n * room, from);
  return LLVMBuildBitCast(m->builder, move_words(t, elements, n, t->word, room),
                          LLVMVectorType(word_type(t), (unsigned)n), "");
}

/* N words of row ROW. */
static LLVMValueRef load_row(const turn *t, LLVMValueRef base, int row, int n) {
  codegen_emitter *m = t->m;
  const tir_buffer *buffer = t->loads[0]->u.buffer;
  LLVMValueRef at = LLVMBuildNSWAdd(m->builder, base, codegen_steps(m, &t->step, row), "");
  LLVMTypeRef element = codegen_memory_type(m, buffer->dtype, 1);
  LLVMValueRef place = LLVMBuildInBoundsGEP2(m->builder, element, codegen_find(m, buffer)->value, &at, 1, "");
  if (t->on != NULL) {
    LLVMTypeRef bits = LLVMTypeOf(t->on);
    LLVMValueRef is_on = LLVMBuildAnd(m->builder, t->on, LLVMConstInt(bits, UINT64_C(1) << row, false), "");
    is_on = LLVMBuildICmp(m->builder, LLVMIntNE, is_on, LLVMConstNull(bits), "");
    place = LLVMBuildSelect(m->builder, is_on, place, t->zeros, "");
  }
  if (room_of(t->word) > t->word) return load_threes(t, element, place, n);
  LLVMValueRef part = LLVMBuildLoad2(m->builder, LLVMVectorType(word_type(t), (unsigned)n), place, "");
  LLVMSetAlignment(part, codegen_element_bytes(buffer));
  return part;
}

/* Blocks of rows FIRST, FIRST + n, FIRST + 2n ... side by side. */
static LLVMValueRef load_blocks(const turn *t, LLVMValueRef base, int first) {
  LLVMValueRef parts[MAX_LANES] = {NULL};
  int n = t->lanes / t->n, from[MAX_LANES] = {0}, lanes = t->n;
  for (int i = 0; i < n; i++) parts[i] = load_row(t, base, first + i * t->n, t->n);
  for (int i = 0; i < t->lanes; i++) from[i] = i;
  for (; n > 1; n /= 2, lanes *= 2)
    for (int i = 0; i < n / 2; i++) parts[i] = codegen_shuffle(t->m, parts[2 * i], parts[2 * i + 1], 2 * lanes, from);
  return parts[0];
}

/* The even (ODD 0) or odd blocks of A, then those of B. */
static LLVMValueRef unzip_blocks(const turn *t, LLVMValueRef a, LLVMValueRef b, int odd) {
  int from[MAX_LANES] = {0};
  for (int i = 0; i < t->lanes; i++) {
    int block = i / t->n, half = t->lanes / t->n / 2;
    from[i] = (block % half * 2 + odd) * t->n + i % t->n + block / half * t->lanes;
  }
  return codegen_shuffle(t->m, a, b, t->lanes, from);
}

/* The same for all blocks of whole rows: block b of vector k * n + FIRST is what was block k of row FIRST + b * n. */
static void load_whole(turn *t, LLVMValueRef base, int first) {
  LLVMValueRef rows[MAX_TURNED] = {NULL}, next[MAX_TURNED] = {NULL};
  int n = t->lanes / t->n;
  for (int i = 0; i < n; i++) rows[i] = load_row(t, base, first + i * t->n, t->lanes);
  for (int step = n; step > 1; step /= 2) {
    for (int i = 0; i < n; i++) next[i / 2 + i % 2 * n / 2] = unzip_blocks(t, rows[i & ~1], rows[i | 1], i % 2);
    memcpy(rows, next, sizeof next);
  }
  for (int i = 0; i < n; i++) t->vectors[i * t->n + first] = rows[i];
}

/* In each block the first (HALF 0) or the second halves of A and B, their elements in turns. */
static LLVMValueRef zip(const turn *t, LLVMValueRef a, LLVMValueRef b, int half) {
  int from[MAX_LANES];
  for (int i = 0; i < t->lanes; i++) {
    int place = i % t->n;
    from[i] = i - place + half * t->n / 2 + place / 2 + place % 2 * t->lanes;
  }
  return codegen_shuffle(t->m, a, b, t->lanes, from);
}

/* After as many turns as the block's elements have bits, lane i of vector k is what was lane k of vector i. */
static void turn_blocks(const turn *t, LLVMValueRef *vectors) {
  LLVMValueRef next[MAX_TURNED];
  for (int step = t->n; step > 1; step /= 2) {
    for (int i = 0; i < t->n; i++) next[i] = zip(t, vectors[i / 2], vectors[i / 2 + t->n / 2], i % 2);
    memcpy(vectors, next, sizeof *next * (size_t)t->n);
  }
}

/* As long as the longest row, a whole vector; in the module once. */
static LLVMValueRef zeros_of(codegen_emitter *m) {
  static const char name[] = "turned.zeros";
  LLVMTypeRef type = LLVMArrayType2(m->i8, MOST_ROW_BYTES);
  LLVMValueRef zeros = LLVMGetNamedGlobal(m->module, name);
  if (zeros != NULL) return zeros;
  zeros = LLVMAddGlobal(m->module, type, name);
  LLVMSetInitializer(zeros, LLVMConstNull(type));
  LLVMSetGlobalConstant(zeros, true);
  LLVMSetLinkage(zeros, LLVMPrivateLinkage);
  LLVMSetAlignment(zeros, BLOCK_BYTES);
  return zeros;
}

static void read_condition(turn *t) {
  codegen_emitter *m = t->m;
  const tir_expr *predicate = tir_predicate(t->loads[0]);
  if (predicate == NULL) return;
  LLVMValueRef mask = codegen_value(m, predicate);
  int from[MAX_LANES];
  for (int i = 0; i < t->lanes; i++) from[i] = i * t->word;
  if (t->word > 1) mask = codegen_shuffle(m, mask, NULL, t->lanes, from);
  t->on = LLVMBuildBitCast(m->builder, mask, LLVMIntTypeInContext(m->llvm, (unsigned)t->lanes), "");
  t->zeros = zeros_of(m);
}

/* Whether the first of N statements are as many tiles, WAYS, whose stores take turns. */
static bool find_tiles(turn *tiles, codegen_emitter *m, int ways, int n, const tir_stmt *const *stmts) {
  for (int w = 0; w < ways; w++) {
    turn *t = &tiles[w];
    *t = (turn){.m = m};
    if (n <= w || !find_block(t, ways, n - w, stmts + w)) return false;
    bool is_alike = t->n == tiles->n && t->all == tiles->all && stmts[w]->u.store.buffer == stmts[0]->u.store.buffer;
    if (ways > 1 && (!is_alike || t->all != t->lanes || tir_predicate(t->loads[0]) != NULL)) return false;
  }
  return true;
}

/* Which vector store I wants, or which store wants vector I. */
static int vector_of(const turn *t, int i) { return t->by > 0 ? i : t->all - 1 - i; }

/* The tile's vectors, in registers or on the stack. */
static void turn_tile(turn *t) {
  codegen_forget(t->m);
  read_condition(t);
  LLVMValueRef base = codegen_first_index(t->m, t->loads[vector_of(t, 0)]->arg[0]);
  for (int i = 0; i < t->n && t->all > t->n; i++) load_whole(t, base, i);
  for (int i = 0; i < t->n && t->all == t->n; i++) t->vectors[i] = load_blocks(t, base, i);
  for (int i = 0; i < t->all; i += t->n) turn_blocks(t, t->vectors + i);
}

/* The words of a vector as elements, in a vector of TYPE. */
static LLVMValueRef elements_of(const turn *t, LLVMValueRef words, LLVMTypeRef type) {
  int room = room_of(t->word);
  if (room == t->word) return LLVMBuildBitCast(t->m->builder, words, type, "");
  LLVMTypeRef wide = LLVMVectorType(LLVMGetElementType(type), (unsigned)(t->lanes * room));
  return move_words(t, LLVMBuildBitCast(t->m->builder, words, wide, ""), t->lanes, room, t->word);
}

int codegen_emit_turned(codegen_emitter *m, int n, const tir_stmt *const *stmts) {
  turn tiles[MOST_WAYS];
  int ways = 1;
  if (turned_load(m, stmts[0]) == NULL) return 0;
  while (ways <= MOST_WAYS && !find_tiles(tiles, m, ways, n, stmts)) ways *= 2;
  if (ways > MOST_WAYS) return 0;
  for (int w = 0; w < ways; w++) turn_tile(&tiles[w]);
  for (int i = 0; i < tiles->all * ways && !m->failed; i++) {
    const turn *t = &tiles[i % ways];
    codegen_forget(m);
    const tir_expr *load = t->loads[i / ways];
    LLVMTypeRef type = codegen_memory_type(m, load->u.buffer->dtype, load->lanes);
    LLVMValueRef vector = elements_of(t, t->vectors[vector_of(t, i / ways)], type);
    if (!runtime_map_put(&m->values, load, vector))
      codegen_emit_fail(m, TN_ERROR_MEMORY, "out of memory while generating code");
    else
      codegen_emit_store_whole(m, stmts[i]);
  }
  return tiles->all * ways;
}
