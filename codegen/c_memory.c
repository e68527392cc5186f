/* c_memory.c: loads and stores in C: an element, a vector through a pointer to an unaligned vector type, or lane by
 * lane. A store that has no vector form, and one with a predicate, is a loop over its lanes. */
#include "codegen/c_emit.h"

/* An access, taken apart. */
typedef struct access {
  const tir_buffer *buffer;
  const char *name;
  const tir_expr *index;     /* NULL: the only element of a scalar buffer */
  const tir_expr *predicate; /* or NULL */
  int lanes;
  bool linear; /* a vector of base + stride * lane */
  int64_t stride;
} access;

/* A name that is not in scope is a bug: the message says which. */
static access take_apart(codegen_c_emitter *m, const tir_buffer *buffer, int n_index, const tir_expr *const *index,
                         const tir_expr *predicate) {
  access a = {.buffer = buffer, .name = codegen_c_name(m, buffer), .predicate = predicate, .lanes = 1};
  if (a.name == NULL || n_index > 1) {
    codegen_c_fail(m, TN_ERROR_INTERNAL, "%s is %s", buffer->name, n_index > 1 ? "not flat" : "used outside its scope");
    a.name = "";
  }
  if (n_index > 0) a.index = index[0];
  if (a.index != NULL) a.lanes = codegen_c_lanes(m, a.index);
  a.linear = a.lanes > 1 && codegen_c_is_index(m, a.index) && codegen_linear_stride(a.index, &a.stride);
  return a;
}

/* ---- indices ----------------------------------------------------------------------------------------------------- */

/* One element by its flat index. */
static codegen_c_text element(codegen_c_emitter *m, const access *a, codegen_c_text index) {
  return codegen_c_format(m, CODEGEN_C_CALL, "%s[%s]", a->name, index.text);
}

/* The element of an access that is scalar, or its first one if it is linear. */
static codegen_c_text first_element(codegen_c_emitter *m, const access *a) {
  if (a->index == NULL) return codegen_c_format(m, CODEGEN_C_CALL, "%s[0]", a->name);
  return element(m, a, codegen_c_value(m, a->linear ? codegen_first_lane(&m->arena, a->index) : a->index));
}

/* The element that the variable `lane` selects. */
static codegen_c_text lane_element(codegen_c_emitter *m, const access *a) {
  if (!a->linear) return element(m, a, codegen_c_at_lane(m, a->index, "lane"));
  const tir_expr *ramp = tir_ramp(&m->arena, codegen_first_lane(&m->arena, a->index), a->stride, a->lanes);
  return element(m, a, codegen_c_at_lane(m, ramp, "lane"));
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

/* A bool in memory is a byte. */
static codegen_c_text read_bool(codegen_c_emitter *m, const access *a, codegen_c_text loaded) {
  if (a->buffer->dtype != TN_BOOL) return loaded;
  return codegen_c_format(m, CODEGEN_C_RELATION, "%s != 0", loaded.text);
}

/* A predicate becomes ?:, so that memory is touched only where it holds. */
static codegen_c_text load_scalar(codegen_c_emitter *m, const access *a) {
  codegen_c_text loaded = read_bool(m, a, first_element(m, a));
  if (a->predicate == NULL) return loaded;
  codegen_c_text predicate = codegen_c_value(m, a->predicate);
  return codegen_c_format(m, CODEGEN_C_TERNARY, "%s ? %s : 0", codegen_c_wrap(m, predicate, CODEGEN_C_BITS),
                          loaded.text);
}

/* Through an unaligned vector type that may alias: arrays are aligned to their element only. */
static codegen_c_text load_contiguous(codegen_c_emitter *m, const access *a) {
  tn_dtype dtype = a->buffer->dtype == TN_BOOL ? TN_U8 : a->buffer->dtype;
  const char *type = codegen_c_vector(m, dtype, a->lanes, CODEGEN_C_UNALIGNED);
  codegen_c_text loaded = codegen_c_format(m, CODEGEN_C_UNARY, "*(const %su *)&%s", type, first_element(m, a).text);
  if (a->buffer->dtype != TN_BOOL) return loaded;
  codegen_c_text mask =
      codegen_c_format(m, CODEGEN_C_UNARY, "(%s)(%s != (%s){0})", codegen_c_mask(m, 1, a->lanes), loaded.text, type);
  mask.mask_bytes = 1;
  return mask;
}

/* With a predicate lanes that are off keep 0. */
static codegen_c_text load_lanes(codegen_c_emitter *m, const access *a, const tir_expr *e) {
  codegen_c_text loaded = read_bool(m, a, lane_element(m, a)), guard;
  if (a->predicate != NULL) guard = codegen_c_at_lane(m, a->predicate, "lane");
  return codegen_c_lane_by_lane(m, e, loaded, a->predicate != NULL ? &guard : NULL);
}

/* Vectors by the plainest form that their index allows. */
codegen_c_text codegen_c_load(codegen_c_emitter *m, const tir_expr *e) {
  access a = take_apart(m, e->u.buffer, tir_n_index(e), e->arg, tir_predicate(e));
  if (a.lanes == 1) return load_scalar(m, &a);
  if (a.predicate == NULL && a.linear && a.stride == 1) return load_contiguous(m, &a);
  if (a.predicate == NULL && a.linear && a.stride == 0) {
    const tir_expr *first = codegen_first_lane(&m->arena, a.index);
    const tir_expr *scalar = tir_load(&m->arena, a.buffer, 1, &first, NULL);
    return codegen_c_value(m, tir_broadcast(&m->arena, scalar, a.lanes));
  }
  return load_lanes(m, &a, e);
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

/* The value is written before the place: its name may be needed there. */
static void store_scalar(codegen_c_emitter *m, const access *a, const tir_expr *e) {
  m->stored = e;
  codegen_c_text value = codegen_c_value(m, e), to = first_element(m, a);
  const char *only_if = "";
  if (a->predicate != NULL) {
    only_if = codegen_c_format(m, CODEGEN_C_ATOM, "if (%s) ", codegen_c_value(m, a->predicate).text).text;
  }
  codegen_c_line(m, "%s%s = %s;", only_if, to.text, value.text);
}

/* A mask is stored as bytes of 0 and 1. */
static void store_contiguous(codegen_c_emitter *m, const access *a, const tir_expr *e) {
  m->stored = e;
  codegen_c_text value = codegen_c_value(m, e), to = first_element(m, a);
  tn_dtype dtype = a->buffer->dtype == TN_BOOL ? TN_U8 : a->buffer->dtype;
  const char *type = codegen_c_vector(m, dtype, a->lanes, CODEGEN_C_UNALIGNED), *text = value.text;
  if (a->buffer->dtype == TN_BOOL) {
    value = codegen_c_widen_mask(m, value, 1, a->lanes);
    text = codegen_c_format(m, CODEGEN_C_UNARY, "(%s)-%s", type, codegen_c_wrap(m, value, CODEGEN_C_CALL)).text;
  }
  codegen_c_line(m, "*(%su *)&%s = %s;", type, to.text, text);
}

/* A scatter: lane by lane to places that have no stride. */
static void store_lanes(codegen_c_emitter *m, const access *a, const tir_expr *e) {
  codegen_c_text value = codegen_c_at_lane(m, e, "lane"), to = lane_element(m, a);
  codegen_c_line(m, "for (int lane = 0; lane < %d; lane++) %s = %s;", a->lanes, to.text, value.text);
}

/* for each lane: everything scalar */
static void begin_lanes(codegen_c_emitter *m, int lanes) {
  codegen_c_line(m, "for (int lane = 0; lane < %d; lane++) {", lanes);
  m->indent++;
  m->lane = "lane";
}

/* Behind begin_lanes: subexpressions are whole vectors again. */
static void end_lanes(codegen_c_emitter *m) {
  m->lane = NULL;
  m->indent--;
  codegen_c_line(m, "}");
}

/* What vectors of GNU C cannot say (calls of libm, mixed widths) is said for one lane, in a loop over the lanes. Uses
 * are counted first, so that what is used twice is computed once outside of it. */
static void store_in_lane_mode(codegen_c_emitter *m, const tir_stmt *s, int lanes) {
  codegen_c_count_uses(m, s->u.store.index[0]);
  codegen_c_count_uses(m, s->u.store.value);
  codegen_c_count_uses(m, s->u.store.predicate);
  begin_lanes(m, lanes);
  access a = take_apart(m, s->u.store.buffer, s->u.store.n_index, s->u.store.index, s->u.store.predicate);
  store_scalar(m, &a, s->u.store.value);
  end_lanes(m);
}

/* Whether a lane may read what another one stores. */
static tir_walk find_other_lane(void *user, const tir_expr *e) {
  const tir_stmt *s = user;
  bool is_own = e->op == TIR_LOAD && e->u.buffer == s->u.store.buffer && tir_equal(e->arg[0], s->u.store.index[0]);
  return e->op == TIR_LOAD && e->u.buffer == s->u.store.buffer && !is_own ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* All values, then all stores: a vector's lanes are computed before any is stored. */
static void store_in_two_loops(codegen_c_emitter *m, const tir_stmt *s, int lanes) {
  const char *kept = codegen_c_new_name(m), *only_if = "";
  codegen_c_line(m, "%s %s[%d];", codegen_c_type(s->u.store.buffer->dtype), kept, lanes);
  codegen_c_count_uses(m, s->u.store.value);
  begin_lanes(m, lanes);
  codegen_c_line(m, "%s[lane] = %s;", kept, codegen_c_value(m, s->u.store.value).text);
  end_lanes(m);
  codegen_c_forget(m);
  codegen_c_count_uses(m, s->u.store.index[0]);
  codegen_c_count_uses(m, s->u.store.predicate);
  begin_lanes(m, lanes);
  access a = take_apart(m, s->u.store.buffer, s->u.store.n_index, s->u.store.index, s->u.store.predicate);
  codegen_c_text to = first_element(m, &a);
  if (a.predicate != NULL)
    only_if = codegen_c_format(m, CODEGEN_C_ATOM, "if (%s) ", codegen_c_value(m, a.predicate).text).text;
  codegen_c_line(m, "%s%s = %s[lane];", only_if, to.text, kept);
  end_lanes(m);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The largest power of two that divides LANES and whose vectors, of the widest type in VALUE, the target has. */
static int piece_lanes(const codegen_c_emitter *m, const tir_buffer *buffer, const tir_expr *value, int lanes) {
  int bytes = codegen_widest_bytes(buffer, value), n = lanes & -lanes;
  while (n > CODEGEN_C_MAX_LANES || (n > 2 && n * bytes > m->target->vector_bytes)) n /= 2;
  return n;
}

/* A part of a vector that is as wide as the target's registers. */
static void store_piece(codegen_c_emitter *m, const tir_buffer *buffer, const tir_expr *index, const tir_expr *value) {
  access a = take_apart(m, buffer, 1, &index, NULL);
  if (a.linear && a.stride == 1)
    store_contiguous(m, &a, value);
  else
    store_lanes(m, &a, value);
}

/* E itself after a failure, which is kept. */
static const tir_expr *piece(codegen_c_emitter *m, const tir_expr *e, int first, int n) {
  const tir_expr *part = NULL;
  tn_status status = codegen_slice(&m->arena, &m->slices, e, first, n, &part);
  if (status == TN_OK) return part;
  codegen_c_fail(m, status, "a vector cannot be cut: no memory, or nested deeper than %d", CODEGEN_MAX_DEPTH);
  return e;
}

/* A predicate, or a number of lanes that is odd, has no vector form. */
static void store_vector(codegen_c_emitter *m, const tir_stmt *s, int lanes) {
  const tir_expr *index = s->u.store.index[0], *value = s->u.store.value;
  if (value->lanes < lanes) value = tir_broadcast(&m->arena, value, lanes);
  int n = piece_lanes(m, s->u.store.buffer, value, lanes), n_pieces = lanes / n;
  bool is_cut = s->u.store.predicate != NULL || n < lanes;
  if (is_cut && !tir_walk_expr(value, find_other_lane, (void *)s)) {
    store_in_two_loops(m, s, lanes);
    return;
  }
  if (s->u.store.predicate != NULL || n == 1) {
    store_in_lane_mode(m, s, lanes);
    return;
  }
  const tir_expr **parts = RUNTIME_NEW_ARRAY(&m->arena, const tir_expr *, 2 * n_pieces);
  for (int i = 0; i < n_pieces; i++) {
    parts[2 * i] = n_pieces == 1 ? index : piece(m, index, i * n, n);
    parts[2 * i + 1] = n_pieces == 1 ? value : piece(m, value, i * n, n);
  }
  for (int i = 0; i < 2 * n_pieces; i++) codegen_c_count_uses(m, parts[i]);
  for (int i = 0; i < n_pieces && !m->failed; i++) {
    store_piece(m, s->u.store.buffer, parts[2 * i], parts[2 * i + 1]);
  }
}

/* A hint; compilers drop it where there is none. */
void codegen_c_prefetch(codegen_c_emitter *m, const tir_stmt *s) {
  for (int i = 0; i < s->u.prefetch.n_index; i++) codegen_c_count_uses(m, s->u.prefetch.index[i]);
  access a = take_apart(m, s->u.prefetch.buffer, s->u.prefetch.n_index, s->u.prefetch.index, NULL);
  codegen_c_line(m, "__builtin_prefetch(&%s);", first_element(m, &a).text);
}

/* Uses are counted for all parts of the statement first. */
void codegen_c_store(codegen_c_emitter *m, const tir_stmt *s) {
  int lanes = s->u.store.n_index > 0 ? s->u.store.index[0]->lanes : 1;
  if (lanes > 1) {
    store_vector(m, s, lanes);
    return;
  }
  if (s->u.store.n_index > 0) codegen_c_count_uses(m, s->u.store.index[0]);
  codegen_c_count_uses(m, s->u.store.value);
  codegen_c_count_uses(m, s->u.store.predicate);
  access a = take_apart(m, s->u.store.buffer, s->u.store.n_index, s->u.store.index, s->u.store.predicate);
  store_scalar(m, &a, s->u.store.value);
}
