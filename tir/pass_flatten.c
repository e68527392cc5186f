/* pass_flatten.c: buffers of any rank become one-dimensional, their indices row-major offsets. */
#include <inttypes.h>

#include "tir/passes.h"

/* FLAT makes every access to a buffer find the same flat form, whichever is met first. */
typedef struct state {
  tir_pass_context *p;
  tn_dtype index_dtype;
  const tir_env *env, *p_env; /* known here; in the whole function */
  tir_memo *flat;             /* buffer -> its flat form */
} state;

/* Number of elements; false when int64 does not hold it. */
static bool count_elements(const tir_buffer *buffer, int64_t *n) {
  *n = 1;
  for (int i = 0; i < buffer->ndim; i++) {
    if (__builtin_mul_overflow(*n, buffer->shape[i], n)) return false;
  }
  return true;
}

/* As an expression, whether it is a number or made of symbols. */
static const tir_expr *extent_of(state *at, const tir_buffer *buffer, int dim) {
  const tir_expr *size = buffer->size[dim];
  return size != NULL ? size : tir_int(at->p->arena, at->index_dtype, buffer->shape[dim]);
}

/* Such a buffer's offsets cannot be checked for overflow by multiplying numbers. */
static bool is_symbolic(const tir_buffer *buffer) {
  for (int i = 0; i < buffer->ndim; i++) {
    if (buffer->size[i] != NULL || buffer->stride[i] != NULL) return true;
  }
  return false;
}

/* The number of elements as an expression of symbols. What is allocated here must not be able to be more than memory;
 * an argument is there already. NULL: it could, or no memory. */
static const tir_expr *symbolic_elements(state *at, const tir_buffer *buffer) {
  const tir_expr *n = tir_int(at->p->arena, at->index_dtype, 1);
  if (tir_is_strided(buffer)) return tir_strided_elements(at->p->arena, at->index_dtype, buffer);
  for (int i = 0; i < buffer->ndim; i++) n = tir_binary(at->p->arena, TIR_MUL, n, extent_of(at, buffer, i));
  if (n == NULL || buffer->is_param) return n;
  int64_t most = (INT64_MAX - 4096) / (int64_t)tn_dtype_bytes(buffer->dtype); /* rounded up, and with guards around */
  if (tir_bounds(at->p_env, n).hi <= RUNTIME_MIN(most, tir_dtype_range(at->index_dtype).hi)) return n;
  runtime_fail(
      at->p->ctx, TN_ERROR_LOWER,
      "buffer \"%s\" could have more elements than can be counted: say how large the symbols of its extents can "
      "be, as in symbol M<=4096",
      buffer->name);
  return NULL;
}

/* NULL: too large for the index type, or no memory; said in the context. */
static const tir_buffer *flat_buffer(state *at, const tir_buffer *buffer) {
  bool symbols = is_symbolic(buffer);
  if (buffer->ndim == 1 && (!symbols || buffer->is_param)) return buffer;
  const tir_buffer *done = tir_memo_get(at->flat, buffer);
  if (done != NULL) return done;
  int64_t n = -1;
  const tir_expr *size = symbols ? symbolic_elements(at, buffer) : NULL;
  if (symbols && size == NULL) return NULL;
  if (symbols && buffer->ndim == 1) return buffer;
  if (!symbols && (!count_elements(buffer, &n) || n - 1 > tir_dtype_range(at->index_dtype).hi)) {
    runtime_fail(at->p->ctx, TN_ERROR_LOWER, "buffer \"%s\" has more elements than %s can index", buffer->name,
                 tn_dtype_name(at->index_dtype));
    return NULL;
  }
  tir_buffer *flat = runtime_copy(at->p->arena, buffer, sizeof *buffer);
  if (flat == NULL) return NULL;
  flat->ndim = 1;
  memset(flat->shape, 0, sizeof flat->shape);
  memset(flat->size, 0, sizeof flat->size);
  memset(flat->stride, 0, sizeof flat->stride);
  flat->shape[0] = n;
  flat->size[0] = size;
  tir_memo_put(at->flat, buffer, flat);
  return flat;
}

/* The offset of an element. */
static const tir_expr *flat_index(state *at, const tir_buffer *buffer, const tir_expr *const *index) {
  runtime_arena *arena = at->p->arena;
  const tir_expr *offset = tir_int(arena, at->index_dtype, 0), *stride = tir_int(arena, at->index_dtype, 1);
  for (int i = buffer->ndim - 1; i >= 0; i--) {
    const tir_expr *at_dim = tir_cast(arena, at->index_dtype, index[i]);
    if (buffer->stride[i] != NULL) stride = buffer->stride[i];
    const tir_expr *term = tir_binary(arena, TIR_MUL, at_dim, stride);
    offset = tir_binary(arena, TIR_ADD, term, offset); /* outer dimensions' terms first */
    stride = tir_binary(arena, TIR_MUL, stride, extent_of(at, buffer, i));
  }
  return tir_simplify(arena, at->env, offset);
}

/* Bottom-up: indices that contain loads are flat already. */
static const tir_expr *flatten_load(void *user, const tir_expr *e) {
  state *at = user;
  if (e->op != TIR_LOAD || e->u.buffer->ndim == 1) return e;
  const tir_buffer *flat = flat_buffer(at, e->u.buffer);
  const tir_expr *index = flat != NULL ? flat_index(at, e->u.buffer, e->arg) : NULL;
  return index == NULL ? NULL : tir_load(at->p->arena, flat, 1, &index, tir_predicate(e));
}

/* Indices of an index: A[B[i], j] needs the rewriting twice, which the rewriter does bottom-up. */
static const tir_expr *flatten_expr(void *user, const tir_expr *e) {
  state *at = user;
  tir_rewriter rewriter = {at->p->arena, NULL, flatten_load, at};
  return tir_rewrite_expr(&rewriter, e);
}

/* The store's own expressions first, since its value may load. */
static const tir_stmt *flatten_store(state *at, const tir_stmt *s) {
  s = tir_map_exprs(at->p->arena, s, flatten_expr, at);
  if (s == NULL || s->u.store.buffer->ndim == 1) return s;
  const tir_buffer *flat = flat_buffer(at, s->u.store.buffer);
  const tir_expr *index = flat != NULL ? flat_index(at, s->u.store.buffer, s->u.store.index) : NULL;
  return index == NULL ? NULL : tir_store(at->p->arena, flat, 1, &index, s->u.store.value, s->u.store.predicate);
}

/* The elements from a box's first to its last, rows of the buffer between them included. Known where no row within
 * the box has a length that symbols decide. */
static int64_t flat_span(const tir_operand *o) {
  int64_t span = 1, stride = 1;
  for (int i = o->n_index - 1; i >= 0; i--) {
    if (o->span[i] == 0) return 0;
    span += (o->span[i] - 1) * stride;
    stride *= o->buffer->shape[i];
  }
  return span;
}

/* A box of several rows is one run of memory only where rows have a known length. */
static bool flatten_operand(state *at, tir_operand *o) {
  if (o->access == TIR_BY_VALUE || o->buffer->ndim == 1) return true;
  bool has_rows = false;
  for (int i = 1; i < o->n_index; i++) {
    has_rows = has_rows || o->span[i - 1] > 1;
    const bool is_known = (o->buffer->size[i] == NULL || o->span[i] == 0) && !tir_is_strided(o->buffer);
    if (is_known || !has_rows) continue;
    runtime_fail(at->p->ctx, TN_ERROR_LOWER, "a call takes rows of buffer \"%s\" whose %s", o->buffer->name,
                 tir_is_strided(o->buffer) ? "strides a call gives" : "length symbols decide");
    return false;
  }
  const tir_buffer *flat = flat_buffer(at, o->buffer);
  const tir_expr *index = flat != NULL ? flat_index(at, o->buffer, o->index) : NULL;
  if (index == NULL) return false;
  *o = (tir_operand){.access = o->access, .buffer = flat, .n_index = 1, .index = {index}, .span = {flat_span(o)}};
  return true;
}

/* The operands are copied only if one of them changes. */
static const tir_stmt *flatten_call(state *at, const tir_stmt *s) {
  s = tir_map_exprs(at->p->arena, s, flatten_expr, at);
  if (s == NULL) return NULL;
  tir_operand *operands = RUNTIME_NEW_ARRAY(at->p->arena, tir_operand, s->u.call.n + 1);
  bool changed = false;
  if (operands == NULL) return NULL;
  for (int i = 0; i < s->u.call.n; i++) {
    operands[i] = s->u.call.operands[i];
    if (!flatten_operand(at, &operands[i])) return NULL;
    changed = changed || operands[i].buffer != s->u.call.operands[i].buffer;
  }
  return changed ? tir_call(at->p->arena, s->u.call.callee, s->u.call.n, operands) : s;
}

/* The address becomes one index, as that of a load does. NULL: out of memory. */
static const tir_stmt *flatten_prefetch(state *at, const tir_stmt *s) {
  s = tir_map_exprs(at->p->arena, s, flatten_expr, at);
  if (s == NULL || s->u.prefetch.buffer->ndim == 1) return s;
  const tir_buffer *flat = flat_buffer(at, s->u.prefetch.buffer);
  const tir_expr *index = flat != NULL ? flat_index(at, s->u.prefetch.buffer, s->u.prefetch.index) : NULL;
  return index == NULL ? NULL : tir_prefetch(at->p->arena, flat, 1, &index);
}

static const tir_stmt *flatten(void *user, const tir_stmt *s);

/* Loops and branches add to what is known about indices. */
static const tir_stmt *flatten_around(state *at, const tir_stmt *s) {
  state inner = *at;
  tir_env env;
  s = tir_map_exprs(at->p->arena, s, flatten_expr, at);
  if (s == NULL) return NULL;
  inner.env = tir_env_inside(at->p->arena, at->env, s, &env);
  return tir_map_children(at->p->arena, s, flatten, &inner);
}

/* NULL after a message or without memory, as everywhere in a pass. */
static const tir_stmt *flatten(void *user, const tir_stmt *s) {
  state *at = user;
  if (s->kind == TIR_STORE) return flatten_store(at, s);
  if (s->kind == TIR_CALL) return flatten_call(at, s);
  if (s->kind == TIR_PREFETCH) return flatten_prefetch(at, s);
  if (s->kind != TIR_ALLOC) return flatten_around(at, s);
  const tir_buffer *flat = flat_buffer(at, s->u.alloc.buffer);
  const tir_stmt *body = flat != NULL ? flatten(at, s->u.alloc.body) : NULL;
  if (body == NULL) return NULL;
  return flat == s->u.alloc.buffer ? tir_with_body(at->p->arena, s, body) : tir_alloc(at->p->arena, flat, body);
}

/* The declared shapes are kept for the printer. Of a function that is flat already they are those of
 * before. */
static tir_func *flatten_func(state *at, tir_func *f) {
  tir_func *copy = runtime_copy(at->p->arena, f, sizeof *f);
  const tir_buffer **params = RUNTIME_NEW_ARRAY(at->p->arena, const tir_buffer *, f->n_params + 1);
  if (copy == NULL || params == NULL) return NULL;
  for (int i = 0; i < f->n_params; i++) {
    if ((params[i] = flat_buffer(at, f->params[i])) == NULL) return NULL;
  }
  copy->params = params;
  copy->declared = f->declared != NULL ? f->declared : f->params;
  copy->body = flatten(at, f->body);
  return copy->body != NULL ? copy : NULL;
}

/* Requires: guard_loads has run. Establishes: every buffer has one dimension (parameters too); indices are simplified.
 * Breaks: nothing. Fails where a buffer has more elements than the index type can count. */
tir_func *tir_pass_flatten(tir_pass_context *p, tir_func *f) {
  tir_memo flat;
  tir_memo_init(&flat);
  state at = {.p = p, .env = f->env, .p_env = f->env, .index_dtype = f->index_dtype, .flat = &flat};
  tir_func *result = flatten_func(&at, f);
  if (!tir_memo_end(&flat)) result = NULL;
  if (result == NULL && tn_context_status(p->ctx) == TN_OK) return tir_func_with_body(p, f, NULL);
  return result != NULL && result->body == f->body &&
                 memcmp(result->params, f->params, sizeof *f->params * (size_t)f->n_params) == 0
             ? f
             : result;
}
