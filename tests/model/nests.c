/* Small loop nests built by hand. */
#include "tests/model/nests.h"

#define INDEX(...) \
  (int)(sizeof((const tir_expr *[]){__VA_ARGS__}) / sizeof(tir_expr *)), (const tir_expr *[]) { __VA_ARGS__ }
#define SHAPE(...) \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define SEQUENCE(...) \
  (int)(sizeof((const tir_stmt *[]){__VA_ARGS__}) / sizeof(tir_stmt *)), (const tir_stmt *[]) { __VA_ARGS__ }

static const tir_buffer *buffer(runtime_arena *a, const char *name, tn_dtype dtype, int ndim, const int64_t *shape) {
  tir_buffer *b = RUNTIME_NEW(a, tir_buffer);
  *b = (tir_buffer){.name = name, .dtype = dtype, .ndim = ndim, .scope = "global", .is_param = true};
  if (ndim > 0) memcpy(b->shape, shape, sizeof *shape * (size_t)ndim);
  return b;
}

static const tir_expr *var(runtime_arena *a, const char *name) {
  tir_var *v = RUNTIME_NEW(a, tir_var);
  *v = (tir_var){name, TN_I32};
  return tir_var_expr(a, v);
}

static const tir_expr *num(runtime_arena *a, int64_t value) { return tir_int(a, TN_I32, value); }
static const tir_expr *real(runtime_arena *a, double value) { return tir_float(a, TN_F32, value); }

static const tir_stmt *loop_of(runtime_arena *a, const tir_expr *v, int64_t extent, tir_loop_kind kind,
                               const tir_stmt *body) {
  return tir_for(a, v->u.var, num(a, 0), num(a, extent), kind, body);
}
static const tir_stmt *loop(runtime_arena *a, const tir_expr *v, int64_t extent, const tir_stmt *body) {
  return loop_of(a, v, extent, TIR_SERIAL, body);
}

static const tir_expr *add(runtime_arena *a, const tir_expr *x, const tir_expr *y) {
  return tir_binary(a, TIR_ADD, x, y);
}
static const tir_expr *mul(runtime_arena *a, const tir_expr *x, const tir_expr *y) {
  return tir_binary(a, TIR_MUL, x, y);
}
static const tir_expr *load(runtime_arena *a, const tir_buffer *b, int n, const tir_expr *const *index) {
  return tir_load(a, b, n, index, NULL);
}
static const tir_stmt *store(runtime_arena *a, const tir_buffer *b, const tir_expr *value, int n,
                             const tir_expr *const *index) {
  return tir_store(a, b, n, index, value, NULL);
}
/* outer*factor + inner */
static const tir_expr *tiled(runtime_arena *a, const tir_expr *outer, int64_t factor, const tir_expr *inner) {
  return add(a, mul(a, outer, num(a, factor)), inner);
}

static const tir_stmt *add_at(runtime_arena *a, const tir_expr *i) {
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(1024)), *B = buffer(a, "B", TN_F32, SHAPE(1024)),
                   *C = buffer(a, "C", TN_F32, SHAPE(1024));
  return store(a, C, add(a, load(a, A, INDEX(i)), load(a, B, INDEX(i))), INDEX(i));
}

const tir_stmt *nest_add(runtime_arena *a) {
  const tir_expr *i = var(a, "i");
  return loop(a, i, 1024, add_at(a, i));
}

const tir_stmt *nest_unit(runtime_arena *a) { return loop(a, var(a, "u"), 1, nest_add(a)); }

const tir_stmt *nest_add_vectorized(runtime_arena *a) {
  const tir_expr *io = var(a, "io"), *ii = var(a, "ii");
  return loop(a, io, 128, loop_of(a, ii, 8, TIR_VECTORIZED, add_at(a, tiled(a, io, 8, ii))));
}

/* C[i,j] = C[i,j] + A[i,k] * B[k,j] */
static const tir_stmt *product_at(runtime_arena *a, const tir_buffer *C, const tir_expr *ci, const tir_expr *cj,
                                  const tir_expr *i, const tir_expr *j, const tir_expr *k) {
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(16, 64)), *B = buffer(a, "B", TN_F32, SHAPE(64, 32));
  const tir_expr *product = mul(a, load(a, A, INDEX(i, k)), load(a, B, INDEX(k, j)));
  return store(a, C, add(a, load(a, C, INDEX(ci, cj)), product), INDEX(ci, cj));
}

static const tir_stmt *matmul(runtime_arena *a, bool with_init) {
  const tir_expr *i = var(a, "i"), *j = var(a, "j"), *k = var(a, "k");
  const tir_buffer *C = buffer(a, "C", TN_F32, SHAPE(16, 32));
  const tir_stmt *update = loop(a, k, 64, product_at(a, C, i, j, i, j, k));
  const tir_stmt *init = store(a, C, real(a, 0), INDEX(i, j));
  return loop(a, i, 16, loop(a, j, 32, with_init ? tir_seq(a, SEQUENCE(init, update)) : update));
}

const tir_stmt *nest_matmul(runtime_arena *a) { return matmul(a, true); }
const tir_stmt *nest_matmul_update(runtime_arena *a) { return matmul(a, false); }

const tir_stmt *nest_matmul_tiled(runtime_arena *a) {
  const tir_expr *io = var(a, "io"), *jo = var(a, "jo"), *ko = var(a, "ko"), *ii = var(a, "ii"), *ki = var(a, "ki"),
                 *ji = var(a, "ji");
  const tir_buffer *C = buffer(a, "C", TN_F32, SHAPE(16, 32));
  const tir_expr *i = tiled(a, io, 4, ii), *j = tiled(a, jo, 8, ji), *k = tiled(a, ko, 8, ki);
  const tir_stmt *body = loop_of(a, ji, 8, TIR_VECTORIZED, product_at(a, C, i, j, i, j, k));
  body = tir_attr(a, "auto_unroll_max_step", 8, loop_of(a, ii, 4, TIR_UNROLLED, loop(a, ki, 8, body)));
  return loop_of(a, io, 4, TIR_PARALLEL, loop(a, jo, 4, loop(a, ko, 8, body)));
}

const tir_stmt *nest_matmul_local(runtime_arena *a) {
  const tir_expr *io = var(a, "io"), *jo = var(a, "jo"), *k = var(a, "k"), *ii = var(a, "ii"), *ji = var(a, "ji"),
                 *ci = var(a, "ci"), *cj = var(a, "cj");
  const tir_buffer *C = buffer(a, "C", TN_F32, SHAPE(16, 32));
  tir_buffer *L = (tir_buffer *)buffer(a, "L", TN_F32, SHAPE(4, 8));
  L->scope = "local";
  L->is_param = false;
  const tir_stmt *update = product_at(a, L, ii, ji, tiled(a, io, 4, ii), tiled(a, jo, 8, ji), k);
  update = loop(a, k, 64, loop_of(a, ii, 4, TIR_UNROLLED, loop_of(a, ji, 8, TIR_VECTORIZED, update)));
  const tir_expr *zi = var(a, "zi"), *zj = var(a, "zj");
  const tir_stmt *init = loop(a, zi, 4, loop(a, zj, 8, store(a, L, real(a, 0), INDEX(zi, zj))));
  const tir_stmt *copy = store(a, C, load(a, L, INDEX(ci, cj)), INDEX(tiled(a, io, 4, ci), tiled(a, jo, 8, cj)));
  copy = loop(a, ci, 4, loop(a, cj, 8, copy));
  return loop(a, io, 4, loop(a, jo, 4, tir_alloc(a, L, tir_seq(a, SEQUENCE(init, update, copy)))));
}

const tir_stmt *nest_fused(runtime_arena *a) {
  const tir_expr *f = var(a, "f");
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(8, 8)), *C = buffer(a, "C", TN_F32, SHAPE(8, 8));
  const tir_expr *i = tir_binary(a, TIR_FLOORDIV, f, num(a, 8)), *j = tir_binary(a, TIR_FLOORMOD, f, num(a, 8));
  const tir_stmt *body = store(a, C, mul(a, load(a, A, INDEX(i, j)), real(a, 2)), INDEX(i, j));
  return loop_of(a, f, 64, TIR_PARALLEL, body);
}

const tir_stmt *nest_guarded(runtime_arena *a) {
  const tir_expr *io = var(a, "io"), *ii = var(a, "ii"), *i = tiled(a, io, 8, ii);
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(100)), *C = buffer(a, "C", TN_F32, SHAPE(100));
  const tir_stmt *body =
      tir_if(a, tir_binary(a, TIR_LT, i, num(a, 100)), store(a, C, load(a, A, INDEX(i)), INDEX(i)), NULL);
  return loop(a, io, 13, loop(a, ii, 8, body));
}

const tir_stmt *nest_stencil(runtime_arena *a) {
  const tir_expr *i = var(a, "i");
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(64)), *C = buffer(a, "C", TN_F32, SHAPE(62));
  const tir_expr *sum = add(a, load(a, A, INDEX(i)), load(a, A, INDEX(add(a, i, num(a, 1)))));
  return loop(a, i, 62, store(a, C, add(a, sum, load(a, A, INDEX(add(a, i, num(a, 2))))), INDEX(i)));
}

const tir_stmt *nest_transpose(runtime_arena *a) {
  const tir_expr *i = var(a, "i"), *j = var(a, "j");
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(64, 32)), *C = buffer(a, "C", TN_F32, SHAPE(32, 64));
  return loop(a, i, 32, loop(a, j, 64, store(a, C, load(a, A, INDEX(j, i)), INDEX(i, j))));
}

const tir_stmt *nest_gather(runtime_arena *a) {
  const tir_expr *i = var(a, "i");
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(1000)), *P = buffer(a, "P", TN_I32, SHAPE(32)),
                   *C = buffer(a, "C", TN_F32, SHAPE(32));
  return loop(a, i, 32, store(a, C, load(a, A, INDEX(load(a, P, INDEX(i)))), INDEX(i)));
}

const tir_stmt *nest_scalar(runtime_arena *a) {
  const tir_buffer *X = buffer(a, "X", TN_F32, 0, NULL), *S = buffer(a, "S", TN_F32, 0, NULL);
  return store(a, S, tir_unary(a, TIR_EXP, load(a, X, 0, NULL)), 0, NULL);
}

const tir_stmt *nest_fill(runtime_arena *a) {
  const tir_expr *i = var(a, "i");
  return loop(a, i, 100, store(a, buffer(a, "C", TN_F32, SHAPE(100)), real(a, 0), INDEX(i)));
}

const tir_stmt *nest_chain(runtime_arena *a) {
  const tir_expr *i = var(a, "i"), *j = var(a, "j"), *k = var(a, "k");
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(8, 16)), *T = buffer(a, "T", TN_F32, SHAPE(8, 16)),
                   *C = buffer(a, "C", TN_F32, SHAPE(8, 16));
  const tir_stmt *first = store(a, T, add(a, load(a, A, INDEX(i, j)), real(a, 1)), INDEX(i, j));
  const tir_stmt *second = store(a, C, mul(a, load(a, T, INDEX(i, k)), real(a, 2)), INDEX(i, k));
  return loop(a, i, 8, tir_seq(a, SEQUENCE(loop(a, j, 16, first), loop(a, k, 16, second))));
}

const tir_stmt *nest_select(runtime_arena *a) {
  const tir_expr *i = var(a, "i");
  const tir_buffer *A = buffer(a, "A", TN_F32, SHAPE(10)), *C = buffer(a, "C", TN_F32, SHAPE(10));
  const tir_expr *x = load(a, A, INDEX(i));
  const tir_expr *both =
      tir_binary(a, TIR_AND, tir_binary(a, TIR_GT, x, real(a, 0)), tir_binary(a, TIR_LT, i, num(a, 5)));
  const tir_expr *root = tir_unary(a, TIR_SQRT, tir_unary(a, TIR_ABS, x));
  return loop(a, i, 10, store(a, C, tir_select(a, both, root, tir_binary(a, TIR_DIV, x, real(a, 2))), INDEX(i)));
}

int nest_rows(runtime_arena *arena, const tir_stmt *body, float *rows) {
  assert_non_null(body);
  (void)arena;
  return autotune_features(&(tir_func){.name = "f", .index_dtype = TN_I32, .body = body}, 64, NULL, rows, NULL);
}
