/* emit_stride.c: vectors of every second, third or fourth element: colours that lie in turns, windows that move on by more
 * than one element, halves of an image:
 *
 *     G[ramp(c, 1, L)] = X[ramp(a, 3, L)] * .3 + X[ramp(a + 1, 3, L)] * .6 + X[ramp(a + 2, 3, L)] * .1
 *
 * Neighbouring stores are looked at together. All elements of a register's lanes, with those between, are loaded once, and
 * lanes are taken out of them by shuffles that stay inside of blocks of 16 bytes, for which processors without shuffles of whole
 * registers have single instructions. So blocks are loaded where they are wanted: a register's block B is the B-th run of
 * what a lane's neighbours lie in. What lies between the lanes is loaded only where another read takes it, or the buffer is known to
 * have it. */
#include "codegen/emit.h"
#include "tir/linear.h"

enum {
  MOST_STRIDE = 4,
  MOST_LANES = 64,
  MOST_READS = 64,
  MOST_STARTS = 64,
  MOST_PLACES = 64,
  BLOCK_BYTES = 16,
  LEAST_BYTES = 8
};

/* STRIDE registers of what was loaded, in the order of blocks. */
typedef struct loaded {
  int64_t place; /* of the first element, as constants of indices count */
  int lanes, n;  /* of a register; of a block */
  LLVMValueRef parts[MOST_STRIDE];
} loaded;

/* Reads of BUFFER from FORM + one of the constants STARTS on. FIRST and END: what they touch, all together. */
typedef struct strided_reads {
  const tir_buffer *buffer;
  const tir_expr *predicate; /* of all of them and all lanes, or NULL */
  tir_linear form;           /* without its constant */
  int64_t stride, first, end;
  int n;
  int64_t starts[MOST_STARTS];
  int n_loaded;
  loaded loaded[MOST_PLACES];
} strided_reads;

/* What stores in a row read; lives in the emitter's arena as long as they are emitted. */
struct codegen_strides {
  codegen_emitter *m;
  int n;
  strided_reads *reads[MOST_READS];
};

/* One load, taken apart. Backwards it is that of the lanes from the last to the first, which are turned round. */
typedef struct strided_load {
  const tir_expr *e, *predicate; /* one condition for all lanes, or NULL */
  tir_linear form;
  int64_t constant, stride;
  bool is_backwards;
  int lanes; /* of a register, or of the load if that is shorter */
  LLVMValueRef base;
} strided_load;

/* ---- what is read ------------------------------------------------------------------------------------------------ */

/* Lanes of a register, or fewer that are a power of two of bytes. */
static int register_lanes(const codegen_emitter *m, const tir_buffer *buffer, int lanes) {
  int bytes = (int)codegen_element_bytes(buffer), most = m->target->vector_bytes / bytes;
  bool is_short = lanes < most && (lanes & (lanes - 1)) == 0 && lanes * bytes >= LEAST_BYTES;
  return lanes >= most ? most : is_short ? lanes : 0;
}

/* Whether E goes by such a stride, without a mask. */
static bool take_apart(codegen_emitter *m, const tir_expr *e, strided_load *out) {
  out->predicate = tir_predicate(e);
  bool is_uniform = out->predicate == NULL || out->predicate->op == TIR_BROADCAST;
  if (tir_n_index(e) != 1 || !is_uniform || !codegen_is_linear(m, e->arg[0], &out->stride)) return false;
  const tir_expr *first = codegen_first_lane(&m->arena, e->arg[0]);
  out->e = e;
  out->lanes = register_lanes(m, e->u.buffer, e->lanes);
  tir_linear_zero(&out->form);
  out->is_backwards = out->stride < 0;
  out->stride = llabs(out->stride);
  if (out->stride < 2 || out->stride > MOST_STRIDE || out->lanes < 2 || out->lanes > MOST_LANES) return false;
  if (first == NULL || !tir_linear_add_expr(&out->form, first, 1)) return false;
  out->constant = out->form.constant - (out->is_backwards ? out->stride * (e->lanes - 1) : 0);
  out->form.constant = 0;
  return true;
}

/* NULL: there are none like it. */
static strided_reads *find_reads(const struct codegen_strides *strides, const strided_load *load) {
  for (int i = 0; strides != NULL && i < strides->n; i++) {
    strided_reads *r = strides->reads[i];
    bool is_alike = r->predicate == load->predicate ||
                    (r->predicate != NULL && load->predicate != NULL && tir_equal(r->predicate, load->predicate));
    if (is_alike && r->buffer == load->e->u.buffer && r->stride == load->stride &&
        tir_linear_same_terms(&r->form, &load->form))
      return r;
  }
  return NULL;
}

static int64_t end_of(const strided_load *load) { return load->constant + load->stride * (load->e->lanes - 1) + 1; }

/* Adds each strided load of a value. Inside of a load nothing is looked at: what an index reads is no neighbour. */
static tir_walk collect(void *user, const tir_expr *e) {
  struct codegen_strides *strides = user;
  strided_load load;
  if (e->op != TIR_LOAD) return TIR_WALK_ON;
  if (e->lanes < 2 || !take_apart(strides->m, e, &load)) return TIR_WALK_PRUNE;
  strided_reads *r = find_reads(strides, &load);
  if (r == NULL && strides->n < MOST_READS && (r = RUNTIME_NEW(&strides->m->arena, strided_reads)) != NULL) {
    *r = (strided_reads){.buffer = e->u.buffer,
                         .predicate = load.predicate,
                         .form = load.form,
                         .stride = load.stride,
                         .first = load.constant,
                         .end = end_of(&load)};
    strides->reads[strides->n++] = r;
  }
  if (r == NULL) return TIR_WALK_PRUNE;
  if (r->n < MOST_STARTS) r->starts[r->n++] = load.constant;
  r->first = RUNTIME_MIN(r->first, load.constant);
  r->end = RUNTIME_MAX(r->end, end_of(&load));
  return TIR_WALK_PRUNE;
}

/* A store may change what was loaded before it. */
static bool is_stored(int n, const tir_stmt *const *stmts, const tir_buffer *buffer) {
  for (int i = 0; i < n; i++)
    if (stmts[i]->u.store.buffer == buffer) return true;
  return false;
}

void codegen_strides_begin(codegen_emitter *m, int n, const tir_stmt *const *stmts) {
  struct codegen_strides found = {.m = m};
  int kept = 0;
  m->strides = NULL;
  codegen_forget(m);
  for (int i = 0; i < n; i++) tir_walk_expr(stmts[i]->u.store.value, collect, &found);
  for (int i = 0; i < found.n; i++)
    if (!is_stored(n, stmts, found.reads[i]->buffer)) found.reads[kept++] = found.reads[i];
  found.n = kept;
  if (kept > 0) m->strides = RUNTIME_NEW(&m->arena, struct codegen_strides);
  if (m->strides != NULL) *m->strides = found;
}

/* ---- where to load ----------------------------------------------------------------------------------------------- */

/* The first of the reads that lie between the lanes of those before: neighbours in a row of taps. */
static int64_t origin_of(const strided_reads *r, int64_t start) {
  int64_t origin = start;
  for (int i = 0; r != NULL && i < r->n; i++)
    if (r->starts[i] < origin && r->starts[i] > origin - r->stride) origin = r->starts[i], i = -1;
  return origin;
}

/* Where LOAD's buffer ends at the earliest, counted as the constants of LOAD's neighbours are: symbols that decide both its length and the
 * index cancel. False: that is not known. */
static bool end_of_buffer(codegen_emitter *m, const strided_load *load, int64_t *end) {
  const tir_buffer *buffer = load->e->u.buffer;
  const tir_expr *size = buffer->size[0];
  tir_linear length;
  tir_linear_zero(&length);
  if (buffer->ndim != 1 || (size == NULL && buffer->shape[0] <= 0)) return false;
  bool is_sum = size != NULL ? tir_linear_add_expr(&length, size, 1) : tir_linear_add_const(&length, buffer->shape[0]);
  if (!is_sum || !tir_linear_add(&length, &load->form, -1)) return false;
  tir_interval all = {length.constant, length.constant}, range;
  for (int i = 0; i < length.n; i++) {
    if (!codegen_index_range(m, length.terms[i].atom, &range)) return false;
    all = tir_interval_add(all, tir_interval_scale(range, length.terms[i].coef));
  }
  return *end = all.lo, !tir_is_open(all.lo);
}

/* What may be read: from *FIRST to in front of *END, as the constants of LOAD's neighbours count. False: that is not known for its
 * condition. */
static bool find_limits(codegen_emitter *m, const strided_load *load, const strided_reads *r, int64_t *first,
                        int64_t *end) {
  const tir_buffer *buffer = load->e->u.buffer;
  tir_interval range;
  bool is_known = buffer->ndim == 1 && buffer->shape[0] > 0;
  *first = r != NULL ? r->first : load->constant, *end = r != NULL ? r->end : end_of(load);
  if (load->predicate != NULL) return is_known && buffer->shape[0] >= load->stride * load->e->lanes;
  if (codegen_index_range(m, load->e->arg[0], &range)) *first = RUNTIME_MIN(*first, load->constant - range.lo);
  int64_t last;
  if (end_of_buffer(m, load, &last)) *end = RUNTIME_MAX(*end, last);
  return true;
}

/* Where the elements begin that hold the lanes from START on, and those between and behind them: a whole number of strides
 * behind the first of its row, or moved down from the end of what may be read. False: some of it may lie outside. */
static bool find_place(codegen_emitter *m, const strided_load *load, const strided_reads *r, int64_t start,
                       int64_t *place) {
  int64_t first, end, all = load->stride * load->e->lanes, ahead = (start - origin_of(r, start)) % load->stride;
  if (!find_limits(m, load, r, &first, &end)) return false;
  *place = start - ahead;
  if (*place >= first && *place + all <= end) return true;
  *place = end - all;
  return *place >= first && *place <= start && *place > start - load->stride;
}

/* Whether shuffles of elements of BYTES take any two registers. */
static bool has_whole(const codegen_emitter *m, int bytes) {
  return codegen_has_cheap_masks(m->target) && (bytes > 1 || m->target->shuffles_bytes);
}

int codegen_block_bytes(const codegen_emitter *m, int bytes, int lanes) {
  return has_whole(m, bytes) ? lanes * bytes : RUNTIME_MIN(lanes * bytes, BLOCK_BYTES);
}

/* Whether one vector only is taken out of what lies from PLACE on: others that lie there may be taken from elsewhere. */
static bool is_alone(codegen_emitter *m, const strided_load *load, const strided_reads *r, int64_t place) {
  int64_t other;
  for (int i = 0; r != NULL && i < r->n; i++)
    if (r->starts[i] != load->constant && find_place(m, load, r, r->starts[i], &other) && other == place) return false;
  return true;
}

/* Elements of a block. Where registers of words are put in order as a whole, once for a vector, halves are not worth loading. */
static int block_of(codegen_emitter *m, const strided_load *load, const strided_reads *r, int64_t place) {
  int bytes = (int)codegen_element_bytes(load->e->u.buffer);
  bool orders = m->target->has_avx2 && bytes >= 4, has_three = load->stride == 3 && bytes == 4;
  if (orders && (has_three || (load->stride == 2 && is_alone(m, load, r, place)))) return load->lanes;
  return codegen_block_bytes(m, bytes, load->lanes) / bytes;
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

/* N elements BY elements from the load's first one. */
static LLVMValueRef load_block(codegen_emitter *m, const strided_load *load, int64_t by, int n) {
  const tir_buffer *buffer = load->e->u.buffer;
  LLVMValueRef at = LLVMBuildNSWAdd(m->builder, load->base, codegen_index_int(m, by), "");
  LLVMTypeRef element = codegen_memory_type(m, buffer->dtype, 1);
  LLVMValueRef place = LLVMBuildInBoundsGEP2(m->builder, element, codegen_find(m, buffer)->value, &at, 1, "");
  LLVMValueRef value = LLVMBuildLoad2(m->builder, codegen_memory_type(m, buffer->dtype, n), place, "");
  LLVMSetAlignment(value, codegen_element_bytes(buffer));
  return value;
}

/* Block B of register PART is what lies STRIDE * B + PART blocks behind PLACE. */
static LLVMValueRef load_part(codegen_emitter *m, const strided_load *load, int64_t place, int part, int n) {
  LLVMValueRef blocks[MOST_LANES] = {NULL};
  int count = load->lanes / n, from[MOST_LANES], width = n;
  for (int b = 0; b < count; b++)
    blocks[b] = load_block(m, load, place - load->constant + (load->stride * b + part) * n, n);
  for (int i = 0; i < load->lanes; i++) from[i] = i;
  for (; count > 1; count /= 2, width *= 2)
    for (int b = 0; b < count / 2; b++)
      blocks[b] = codegen_shuffle(m, blocks[2 * b], blocks[2 * b + 1], 2 * width, from);
  return blocks[0];
}

/* Lanes of a block that are one of STRIDE behind each other, groups in order. Small elements are put so once, then groups are zipped as
 * elements of four bytes or more are. */
static LLVMValueRef group_lanes(codegen_emitter *m, LLVMValueRef part, int64_t stride, int lanes, int n) {
  int from[MOST_LANES], of_group = n / (int)stride;
  for (int i = 0; i < lanes; i++) from[i] = i - i % n + i % n % of_group * (int)stride + i % n / of_group;
  return codegen_shuffle(m, part, NULL, lanes, from);
}

/* Whether that pays: one instruction orders the bytes of a block. */
static bool groups_pay(const codegen_emitter *m, int64_t stride, int bytes, int n) {
  bool is_even = stride == 2 || stride == 4;
  return is_even && bytes < 4 && n * bytes == BLOCK_BYTES && m->target->has_avx2;
}

/* What lies from PLACE on, for a register of lanes; loaded where it is needed first. */
static bool load_parts(codegen_emitter *m, const strided_load *load, strided_reads *r, int64_t place, int n,
                       LLVMValueRef *parts) {
  int stride = (int)load->stride, bytes = (int)codegen_element_bytes(load->e->u.buffer);
  bool groups = groups_pay(m, stride, bytes, n);
  for (int i = 0; r != NULL && i < r->n_loaded; i++) {
    if (r->loaded[i].place != place || r->loaded[i].lanes != load->lanes || r->loaded[i].n != n) continue;
    memcpy(parts, r->loaded[i].parts, sizeof r->loaded[i].parts);
    return groups;
  }
  for (int part = 0; part < stride; part++) {
    parts[part] = load_part(m, load, place, part, n);
    if (groups) parts[part] = group_lanes(m, parts[part], stride, load->lanes, n);
  }
  if (r != NULL && r->n_loaded < MOST_PLACES) {
    r->loaded[r->n_loaded] = (loaded){.place = place, .lanes = load->lanes, .n = n};
    memcpy(r->loaded[r->n_loaded++].parts, parts, sizeof *parts * (size_t)stride);
  }
  return groups;
}

/* ---- shuffles ---------------------------------------------------------------------------------------------------- */

/* Of each block of A and then of B every second element, from the first (ODD 0) or the second. */
static LLVMValueRef halve(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b, int lanes, int n, int odd) {
  int from[MOST_LANES];
  for (int i = 0; i < lanes; i++) {
    int at = 2 * (i % n) + odd;
    from[i] = i - i % n + at % n + (at < n ? 0 : lanes);
  }
  return codegen_shuffle(m, a, b, lanes, from);
}

/* Groups of G lanes of a block of A and of B in turns, those of the first (HALF 0) or the second half of blocks. */
static LLVMValueRef zip(codegen_emitter *m, LLVMValueRef a, LLVMValueRef b, int lanes, int n, int g, int half) {
  int from[MOST_LANES];
  for (int i = 0; i < lanes; i++) {
    int group = i % n / g;
    from[i] = i - i % n + half * n / 2 + group / 2 * g + i % g + group % 2 * lanes;
  }
  return codegen_shuffle(m, a, b, lanes, from);
}

/* Element 3 * i + PHASE of three blocks: in each block they stand at places of their own, where they are chosen first and then put
 * in order; shuffles of whole registers take two of the three at once. */
static LLVMValueRef third(codegen_emitter *m, const LLVMValueRef *parts, int lanes, int n, int phase, bool whole) {
  int one[MOST_LANES], other[MOST_LANES], last[MOST_LANES];
  for (int i = 0; i < lanes; i++) {
    int at = 3 * (i % n) + phase, place = i - i % n + at % n, lane = whole ? i : place;
    one[lane] = at / n == 0 ? place : at / n == 1 ? lanes + place : -1;
    other[lane] = at / n == 2 ? lanes + place : lane;
    last[i] = place;
  }
  LLVMValueRef two = codegen_shuffle(m, parts[0], parts[1], lanes, one);
  LLVMValueRef all = codegen_shuffle(m, two, parts[2], lanes, other);
  return whole ? all : codegen_shuffle(m, all, NULL, lanes, last);
}

/* Lanes PHASE, PHASE + stride ... of what PARTS hold. GROUPS: in each block they stand in groups. */
static LLVMValueRef take(codegen_emitter *m, const strided_load *load, const LLVMValueRef *parts, int n, int phase,
                         bool groups) {
  int lanes = load->lanes, half = phase / 2, odd = phase % 2, g = n / (int)load->stride;
  if (load->stride == 3)
    return third(m, parts, lanes, n, phase, has_whole(m, (int)codegen_element_bytes(load->e->u.buffer)));
  if (load->stride == 2)
    return groups ? zip(m, parts[0], parts[1], lanes, n, g, phase) : halve(m, parts[0], parts[1], lanes, n, phase);
  LLVMValueRef a, b;
  if (groups) {
    a = zip(m, parts[0], parts[1], lanes, n, g, half), b = zip(m, parts[2], parts[3], lanes, n, g, half);
    return zip(m, a, b, lanes, n, 2 * g, odd);
  }
  a = halve(m, parts[0], parts[1], lanes, n, odd), b = halve(m, parts[2], parts[3], lanes, n, odd);
  return halve(m, a, b, lanes, n, half);
}

/* The last register ends with the load's last lane. Where nothing is to be read the buffer's first elements are, for nothing. */
LLVMValueRef codegen_strided_load(codegen_emitter *m, const tir_expr *e) {
  strided_load load;
  int64_t place;
  if (e->lanes < 2 || !take_apart(m, e, &load)) return NULL;
  strided_reads *r = find_reads(m->strides, &load);
  if (!find_place(m, &load, r, load.constant, &place)) return NULL;
  int n = block_of(m, &load, r, place), phase = (int)(load.constant - place);
  LLVMValueRef result = LLVMGetPoison(codegen_memory_type(m, e->u.buffer->dtype, e->lanes));
  load.base = codegen_linear_base(m, e->arg[0]);
  if (load.is_backwards)
    load.base = LLVMBuildNSWAdd(m->builder, load.base, codegen_index_int(m, -load.stride * (e->lanes - 1)), "");
  LLVMValueRef on = load.predicate != NULL ? codegen_value(m, load.predicate->arg[0]) : NULL;
  if (on != NULL) load.base = LLVMBuildSelect(m->builder, on, load.base, codegen_index_int(m, phase), "");
  for (int first = 0; first < e->lanes; first += load.lanes) {
    LLVMValueRef parts[MOST_STRIDE];
    int from = RUNTIME_MIN(first, e->lanes - load.lanes);
    bool groups = load_parts(m, &load, r, place + from * load.stride, n, parts);
    LLVMValueRef lanes = take(m, &load, parts, n, phase, groups);
    result = codegen_put_piece(m, result, lanes, e->lanes, from, load.lanes);
  }
  if (load.is_backwards) result = codegen_reverse(m, result, e->lanes);
  return on == NULL ? result
                    : LLVMBuildSelect(m->builder, codegen_splat(m, on, e->lanes), result,
                                      LLVMConstNull(LLVMTypeOf(result)), "");
}

bool codegen_strided_room(codegen_emitter *m, const tir_expr *e, strided_room *out) {
  strided_load load;
  if (e->lanes < 2 || !take_apart(m, e, &load) || load.is_backwards || load.predicate != NULL) return false;
  if (!find_limits(m, &load, find_reads(m->strides, &load), &out->first, &out->end)) return false;
  out->stride = load.stride;
  out->first -= load.constant, out->end -= load.constant;
  out->base = codegen_linear_base(m, e->arg[0]);
  return true;
}

/* ---- bytes as halves --------------------------------------------------------------------------------------------- */

/* LANES halves whose low bytes are every third one, beginning with PHASE, of the 3 * LANES from BY elements behind the load's
 * first on: two registers hold them, and one shuffle takes each byte to the half that it is to be in. */
static LLVMValueRef third_bytes(codegen_emitter *m, const strided_load *load, int64_t by, int phase, int lanes) {
  int bytes = m->target->vector_bytes, from[MOST_LANES], behind = 3 * lanes - bytes;
  LLVMValueRef first = load_block(m, load, by, bytes), second = load_block(m, load, by + behind, bytes);
  for (int i = 0; i < lanes; i++) {
    int at = 3 * i + phase;
    from[2 * i] = at < bytes ? at : bytes + at - behind;
    from[2 * i + 1] = -1;
  }
  return codegen_shuffle(m, first, second, bytes, from);
}

/* Widening a register of bytes costs two shuffles; here they come as halves at once. */
LLVMValueRef codegen_strided_halves(codegen_emitter *m, const tir_expr *cast) {
  const tir_expr *e = cast->arg[0];
  int lanes = m->target->vector_bytes / 2;
  int64_t place;
  strided_load load;
  bool is_widened = e->op == TIR_LOAD && e->dtype == TN_U8 && (cast->dtype == TN_U16 || cast->dtype == TN_I16);
  if (!is_widened || !has_whole(m, 1) || e->lanes < lanes || 2 * lanes > MOST_LANES) return NULL;
  if (!take_apart(m, e, &load) || load.stride != 3 || load.is_backwards || load.predicate != NULL) return NULL;
  strided_reads *r = find_reads(m->strides, &load);
  if (!find_place(m, &load, r, load.constant, &place)) return NULL;
  int phase = (int)(load.constant - place);
  LLVMTypeRef type = codegen_type(m, (tn_dtype)cast->dtype, lanes);
  LLVMValueRef result = LLVMGetPoison(codegen_type(m, (tn_dtype)cast->dtype, e->lanes));
  LLVMValueRef low = codegen_splat(m, LLVMConstInt(m->dtypes[cast->dtype], UINT8_MAX, false), lanes);
  load.base = codegen_linear_base(m, e->arg[0]);
  for (int first = 0; first < e->lanes; first += lanes) {
    int from = RUNTIME_MIN(first, e->lanes - lanes);
    LLVMValueRef bytes = third_bytes(m, &load, place - load.constant + 3 * from, phase, lanes);
    LLVMValueRef halves = LLVMBuildAnd(m->builder, LLVMBuildBitCast(m->builder, bytes, type, ""), low, "");
    result = codegen_put_piece(m, result, halves, e->lanes, from, lanes);
  }
  return result;
}
