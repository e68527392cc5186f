/* expr.c: expression nodes: the table of operators, the constructors with their folding, equality and
 * small queries. Nodes lie in the caller's arena and are never changed once a constructor has returned
 * them. Constructors pass NULL on, so that a chain of them is checked once, at its end. */
#include <assert.h>
#include <math.h>

#include "tir/internal.h"

enum {
#define X(class, rule) rule_of_##class = TIR_RULE_##rule,
  TIR_CLASSES(X)
#undef X
};

const tir_op_info tir_op_table[TIR_OP_COUNT] = {
#define X(name, text, n_args, class, integer) \
  [TIR_##name] = {#name, text, n_args, TIR_CLASS_##class, (tir_rule)rule_of_##class, runtime_integer_##integer},
    TIR_OPS(X)
#undef X
};

/* ---- nodes and leaves -------------------------------------------------------------------------------------------- */

/* A node with room for n arguments, copied from args unless NULL. NULL: no memory. */
static tir_expr *new_node(runtime_arena *arena, tir_op op, tn_dtype dtype, int lanes, int n,
                          const tir_expr *const *args) {
  tir_expr *e = runtime_alloc(arena, sizeof(tir_expr) + sizeof(tir_expr *) * (size_t)n);
  if (e == NULL) return NULL;
  e->op = (uint8_t)op;
  e->dtype = (uint8_t)dtype;
  e->lanes = (uint16_t)lanes;
  e->n_args = (uint16_t)n;
  for (int i = 0; i < n; i++) e->arg[i] = args[i];
  return e;
}

/* Wraps VALUE, so that every constant is a value of its dtype and comparing two of them is comparing
 * numbers. */
const tir_expr *tir_int(runtime_arena *arena, tn_dtype dtype, int64_t value) {
  tir_expr *e = new_node(arena, TIR_INT, dtype, 1, 0, NULL);
  if (e != NULL) e->u.i = tir_wrap(dtype, value);
  return e;
}

/* Rounds VALUE to the dtype, for the same reason. */
const tir_expr *tir_float(runtime_arena *arena, tn_dtype dtype, double value) {
  tir_expr *e = new_node(arena, TIR_FLOAT, dtype, 1, 0, NULL);
  if (e != NULL) e->u.f = runtime_rounded(dtype, value);
  return e;
}

const tir_expr *tir_const(runtime_arena *arena, tn_dtype dtype, double value) {
  return runtime_is_float(dtype) ? tir_float(arena, dtype, value) : tir_int(arena, dtype, (int64_t)value);
}

const tir_expr *tir_var_expr(runtime_arena *arena, const tir_var *var) {
  if (var == NULL) return NULL;
  tir_expr *e = new_node(arena, TIR_VAR, var->dtype, 1, 0, NULL);
  if (e != NULL) e->u.var = var;
  return e;
}

/* ---- trivial operations ------------------------------------------------------------------------------------------ */

/* Whether E is the constant VALUE, as a scalar or broadcast; for floats with the sign of zero respected. */
static bool is_value(const tir_expr *e, double value) {
  e = tir_unbroadcast(e);
  if (e->op == TIR_INT) return (double)e->u.i == value;
  return e->op == TIR_FLOAT && e->u.f == value && signbit(e->u.f) == signbit(value);
}

/* A zero that can be left out of an addition: an integer 0, or the float -0 (x + 0.0 would turn -0 into +0). */
static bool is_additive_zero(const tir_expr *e) { return is_value(e, runtime_is_float(e->dtype) ? -0.0 : 0.0); }

/* Whether E is the integer constant VALUE, as a scalar or broadcast. */
static bool is_int_value(const tir_expr *e, int64_t value) {
  int64_t v;
  return tir_is_int(e, &v) && v == value;
}

/* x*0 is 0 for integers only: a float times 0 may be NaN or -0. */
static const tir_expr *trivial_product(const tir_expr *a, const tir_expr *b) {
  if (is_int_value(a, 0) || is_value(b, 1)) return a;
  return is_int_value(b, 0) || is_value(a, 1) ? b : NULL;
}

/* What a OP b is without computing, or NULL. */
static const tir_expr *trivial_arithmetic(tir_op op, const tir_expr *a, const tir_expr *b) {
  bool is_division = tir_op_table[op].op_class == TIR_CLASS_DIVISION;
  if (op == TIR_ADD) return is_additive_zero(b) ? a : is_additive_zero(a) ? b : NULL;
  if (op == TIR_SUB) return is_value(b, 0.0) ? a : NULL;
  if (op == TIR_MUL) return trivial_product(a, b);
  if (op == TIR_DIV) return is_value(b, 1) ? a : NULL;
  if (is_division && (is_int_value(a, 0) || (op == TIR_FLOORDIV && is_int_value(b, 1)))) return a;
  return is_division && is_int_value(b, 0) ? b : NULL;
}

/* && and || with a constant or with itself on one side; NULL: not such a case. */
static const tir_expr *trivial_boolean(tir_op op, const tir_expr *a, const tir_expr *b) {
  int64_t v;
  bool is_and = op == TIR_AND;
  if (!is_and && op != TIR_OR) return NULL;
  if (a == b) return a;
  if (tir_is_int(a, &v)) return (v != 0) == is_and ? b : a;
  if (tir_is_int(b, &v)) return (v != 0) == is_and ? a : b;
  return NULL;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* A result whose dtype differs (isnan of a float) is bool. Folding a broadcast folds the scalar under
 * it. */
const tir_expr *tir_unary(runtime_arena *arena, tir_op op, const tir_expr *a) {
  if (a == NULL) return NULL;
  assert(tir_op_table[op].n_args == 1 && "a unary operator");
  const tir_expr *folded = tir_fold(arena, op, tir_unbroadcast(a), NULL);
  if (folded != NULL) return a->lanes > 1 ? tir_broadcast(arena, folded, a->lanes) : folded;
  if (op == TIR_NOT && a->op == TIR_NOT) return a->arg[0];
  return new_node(arena, op, tir_op_table[op].rule == TIR_RULE_TEST ? TN_BOOL : (tn_dtype)a->dtype, a->lanes, 1, &a);
}

/* Brings two operands to the same number of lanes. False: no memory. */
static bool match_lanes(runtime_arena *arena, const tir_expr **a, const tir_expr **b) {
  if ((*a)->lanes == (*b)->lanes) return true;
  const tir_expr **scalar = (*a)->lanes == 1 ? a : b;
  assert((*scalar)->lanes == 1 && "lanes agree");
  *scalar = tir_broadcast(arena, *scalar, RUNTIME_MAX((*a)->lanes, (*b)->lanes));
  return *scalar != NULL;
}

/* Folds, then drops operands that do nothing, then makes the node. x % 1 is written as b - b, which has
 * the lanes of b. */
const tir_expr *tir_binary(runtime_arena *arena, tir_op op, const tir_expr *a, const tir_expr *b) {
  if (a == NULL || b == NULL || !match_lanes(arena, &a, &b)) return NULL;
  assert(tir_op_table[op].n_args == 2 && "a binary operator");
  assert(a->dtype == b->dtype && "operand dtypes agree");
  const tir_expr *folded = tir_fold(arena, op, tir_unbroadcast(a), tir_unbroadcast(b));
  if (folded != NULL) return a->lanes > 1 ? tir_broadcast(arena, folded, a->lanes) : folded;
  const tir_expr *trivial = trivial_arithmetic(op, a, b);
  if (trivial == NULL) trivial = trivial_boolean(op, a, b);
  if (trivial != NULL) return trivial;
  if (op == TIR_FLOORMOD && is_int_value(b, 1)) return tir_binary(arena, TIR_SUB, b, b);
  tn_dtype dtype = tir_op_table[op].rule == TIR_RULE_COMPARISON ? TN_BOOL : (tn_dtype)a->dtype;
  const tir_expr *args[] = {a, b};
  return new_node(arena, op, dtype, a->lanes, 2, args);
}

/* A scalar condition over vector values is broadcast: the back ends have one form. Equal sides are
 * compared by address only, since comparing trees at each node would be quadratic. */
const tir_expr *tir_select(runtime_arena *arena, const tir_expr *c, const tir_expr *a, const tir_expr *b) {
  if (c == NULL || a == NULL || b == NULL || !match_lanes(arena, &a, &b)) return NULL;
  if (c->lanes > 1 && a->lanes == 1 && (!match_lanes(arena, &c, &a) || !match_lanes(arena, &c, &b))) return NULL;
  if (c->lanes < a->lanes && !match_lanes(arena, &c, &a)) return NULL;
  assert(c->dtype == TN_BOOL && a->dtype == b->dtype && "select's dtypes agree");
  int64_t taken;
  if (tir_is_int(c, &taken)) return taken ? a : b;
  if (a == b) return a;
  const tir_expr *args[] = {c, a, b};
  return new_node(arena, TIR_SELECT, a->dtype, a->lanes, 3, args);
}

/* Pushed below a broadcast, so that one scalar is converted and not each lane. */
const tir_expr *tir_cast(runtime_arena *arena, tn_dtype dtype, const tir_expr *a) {
  if (a == NULL || a->dtype == dtype) return a;
  if (tir_is_const(a)) return tir_fold_cast(arena, dtype, a);
  if (a->op == TIR_BROADCAST) return tir_broadcast(arena, tir_cast(arena, dtype, a->arg[0]), a->lanes);
  return new_node(arena, TIR_CAST, dtype, a->lanes, 1, &a);
}

/* Of stride 0 it is a broadcast: one form for one value. */
const tir_expr *tir_ramp(runtime_arena *arena, const tir_expr *base, int64_t stride, int lanes) {
  if (base == NULL || lanes == 1) return base;
  assert(base->lanes == 1 && lanes > 1 && "a ramp over a scalar");
  if (stride == 0) return tir_broadcast(arena, base, lanes);
  tir_expr *e = new_node(arena, TIR_RAMP, base->dtype, lanes, 1, &base);
  if (e != NULL) e->u.i = stride;
  return e;
}

const tir_expr *tir_broadcast(runtime_arena *arena, const tir_expr *a, int lanes) {
  if (a == NULL || a->lanes == lanes) return a;
  assert(a->lanes == 1 && "a broadcast of a scalar");
  return new_node(arena, TIR_BROADCAST, a->dtype, lanes, 1, &a);
}

/* Not folded: it is made by the pass tensorize, from loads. */
const tir_expr *tir_dot(runtime_arena *arena, const tir_expr *acc, const tir_expr *a, const tir_expr *b) {
  if (acc == NULL || a == NULL || b == NULL) return NULL;
  assert(a->lanes == acc->lanes * tir_dot_group(acc->dtype) && b->lanes == a->lanes && "groups of lanes");
  const tir_expr *args[] = {acc, a, b};
  return new_node(arena, TIR_DOT, acc->dtype, acc->lanes, 3, args);
}

/* ---- memory and te nodes ----------------------------------------------------------------------------------------- */

/* Whether an argument is missing. */
static bool any_null(int n, const tir_expr *const *args) {
  for (int i = 0; i < n; i++) {
    if (args[i] == NULL) return true;
  }
  return false;
}

/* A scalar index beside vector ones is broadcast. With a predicate that never holds the load is 0 and
 * memory is not touched; with one that always does it has none. */
const tir_expr *tir_load(runtime_arena *arena, const tir_buffer *buffer, int n_index, const tir_expr *const *index,
                         const tir_expr *predicate) {
  if (buffer == NULL || any_null(n_index, index)) return NULL;
  const tir_expr *args[TN_MAX_RANK + 1];
  int lanes = predicate != NULL ? predicate->lanes : 1, n = n_index;
  for (int i = 0; i < n_index; i++) lanes = RUNTIME_MAX(lanes, index[i]->lanes);
  for (int i = 0; i < n_index; i++) args[i] = tir_broadcast(arena, index[i], lanes);
  int64_t value;
  if (predicate != NULL && tir_is_int(predicate, &value)) {
    if (!value) return tir_broadcast(arena, tir_const(arena, buffer->dtype, 0), lanes);
    predicate = NULL;
  }
  if (predicate != NULL) args[n++] = tir_broadcast(arena, predicate, lanes);
  if (any_null(n, args)) return NULL;
  tir_expr *e = new_node(arena, TIR_LOAD, buffer->dtype, lanes, n, args);
  if (e == NULL) return NULL;
  e->u.buffer = buffer;
  e->has_predicate = predicate != NULL;
  return e;
}

/* In te only. The tensor is not followed here: tir/ knows it by address. */
const tir_expr *tir_read(runtime_arena *arena, struct tn_tensor *tensor, tn_dtype dtype, int n,
                         const tir_expr *const *index) {
  if (tensor == NULL || any_null(n, index)) return NULL;
  tir_expr *e = new_node(arena, TIR_READ, dtype, 1, n, index);
  if (e != NULL) e->u.tensor = tensor;
  return e;
}

const tir_expr *tir_reduce_expr(runtime_arena *arena, const tir_reduce *reduce, const tir_expr *source) {
  if (reduce == NULL || source == NULL) return NULL;
  return tir_reduce_args(arena, reduce, &source);
}

/* The number of arguments follows from REDUCE, see there. */
const tir_expr *tir_reduce_args(runtime_arena *arena, const tir_reduce *reduce, const tir_expr *const *args) {
  int n_values = reduce->tuple ? reduce->tuple->n_values : 1;
  int n = n_values + reduce->has_where + (reduce->has_init ? n_values : 0);
  if (any_null(n, args)) return NULL;
  tir_expr *e = new_node(arena, TIR_REDUCE, args[0]->dtype, 1, n, args);
  if (e != NULL) e->u.reduce = reduce;
  return e;
}

const tir_expr *tir_tuple(runtime_arena *arena, int n, const tir_expr *const *values) {
  if (any_null(n, values)) return NULL;
  return n == 1 ? values[0] : new_node(arena, TIR_TUPLE, values[0]->dtype, 1, n, values);
}

/* ---- combiners --------------------------------------------------------------------------------------------------- */

/* NULL only for a combiner of tuples, whose identities are its own. */
const tir_expr *tir_identity(runtime_arena *arena, tir_combiner combiner, tn_dtype dtype) {
  bool is_float = runtime_is_float(dtype);
  tir_interval range = tir_dtype_range(dtype);
  switch (combiner) {
    case TIR_REDUCE_SUM:
    case TIR_REDUCE_ANY: return tir_const(arena, dtype, 0);
    case TIR_REDUCE_PROD:
    case TIR_REDUCE_ALL: return tir_const(arena, dtype, 1);
    case TIR_REDUCE_MAX: return is_float ? tir_float(arena, dtype, -INFINITY) : tir_int(arena, dtype, range.lo);
    case TIR_REDUCE_MIN: return is_float ? tir_float(arena, dtype, INFINITY) : tir_int(arena, dtype, range.hi);
    case TIR_COMBINER_COUNT: break;
  }
  return NULL;
}

/* Combiners and operators: ANY is ||, so that its right side is evaluated only where it matters. */
const tir_expr *tir_combine(runtime_arena *arena, tir_combiner combiner, const tir_expr *a, const tir_expr *b) {
  static const tir_op ops[TIR_COMBINER_COUNT] = {
      [TIR_REDUCE_SUM] = TIR_ADD, [TIR_REDUCE_PROD] = TIR_MUL, [TIR_REDUCE_MAX] = TIR_MAX,
      [TIR_REDUCE_MIN] = TIR_MIN, [TIR_REDUCE_ANY] = TIR_OR,   [TIR_REDUCE_ALL] = TIR_AND,
  };
  return tir_binary(arena, ops[combiner], a, b);
}

const tir_expr *tir_reduce_identity(runtime_arena *arena, const tir_expr *reduce, int v) {
  const tir_reduce *r = reduce->u.reduce;
  return r->tuple ? r->tuple->identity[v] : tir_identity(arena, r->combiner, tir_value_dtype(reduce, v));
}

/* Value V of "a combined with b". All values of A and B are substituted, since argmax's index depends
 * on both maxima. */
const tir_expr *tir_reduce_combine(runtime_arena *arena, const tir_expr *reduce, int v, const tir_expr *const *a,
                                   const tir_expr *const *b) {
  const tir_tuple_combiner *tuple = reduce->u.reduce->tuple;
  if (!tuple) return tir_combine(arena, reduce->u.reduce->combiner, a[0], b[0]);
  tir_binding bindings[2 * TIR_MAX_VALUES];
  for (int i = 0; i < tuple->n_values; i++) {
    if (a[i] == NULL || b[i] == NULL) return NULL;
    bindings[i] = (tir_binding){tuple->lhs[i], a[i]};
    bindings[tuple->n_values + i] = (tir_binding){tuple->rhs[i], b[i]};
  }
  return tir_substitute(arena, tuple->result[v], 2 * tuple->n_values, bindings);
}

/* ---- the same node again ----------------------------------------------------------------------------------------- */

/* Whether ARGS are the very arguments of E. */
static bool same_args(const tir_expr *e, const tir_expr *const *args) {
  for (int i = 0; i < e->n_args; i++) {
    if (e->arg[i] != args[i]) return false;
  }
  return true;
}

/* READ, REDUCE and TUPLE, the nodes that te has and loop IR has not. */
static const tir_expr *tensor_with_args(runtime_arena *arena, const tir_expr *e, const tir_expr *const *args) {
  if (e->op == TIR_READ) return tir_read(arena, e->u.tensor, e->dtype, e->n_args, args);
  if (e->op == TIR_REDUCE) return tir_reduce_args(arena, e->u.reduce, args);
  return tir_tuple(arena, e->n_args, args);
}

/* The predicate is the last argument. Once rewritten it may turn out constant and go. */
static const tir_expr *load_with_args(runtime_arena *arena, const tir_expr *e, const tir_expr *const *args) {
  int n = tir_n_index(e);
  if (e->has_predicate && args[n] == NULL) return NULL;
  return tir_load(arena, e->u.buffer, n, args, e->has_predicate ? args[n] : NULL);
}

/* Goes through the constructors, so that rewriting folds as building does. A class that is missing in
 * the switch is a warning of the compiler. */
const tir_expr *tir_with_args(runtime_arena *arena, const tir_expr *e, const tir_expr *const *args) {
  if (e == NULL || same_args(e, args)) return e;
  switch (tir_class_of(e)) {
    case TIR_CLASS_CONSTANT:
    case TIR_CLASS_VARIABLE: return e;
    case TIR_CLASS_TENSOR: return tensor_with_args(arena, e, args);
    case TIR_CLASS_LOAD: return load_with_args(arena, e, args);
    case TIR_CLASS_SELECT: return tir_select(arena, args[0], args[1], args[2]);
    case TIR_CLASS_DOT: return tir_dot(arena, args[0], args[1], args[2]);
    case TIR_CLASS_CAST: return tir_cast(arena, e->dtype, args[0]);
    case TIR_CLASS_RAMP: return tir_ramp(arena, args[0], e->u.i, e->lanes);
    case TIR_CLASS_BROADCAST: return tir_broadcast(arena, args[0], e->lanes);
    case TIR_CLASS_SUM:
    case TIR_CLASS_RATIO:
    case TIR_CLASS_DIVISION:
    case TIR_CLASS_EXTREMUM:
    case TIR_CLASS_MAGNITUDE:
    case TIR_CLASS_COMPARISON:
    case TIR_CLASS_LOGIC:
    case TIR_CLASS_BITS:
    case TIR_CLASS_SHIFT:
    case TIR_CLASS_COUNT:
    case TIR_CLASS_MATH:
    case TIR_CLASS_TEST: break;
  }
  return e->n_args == 1 ? tir_unary(arena, e->op, args[0]) : tir_binary(arena, e->op, args[0], args[1]);
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

/* Sees through a broadcast. *VALUE is written only when it is one. */
bool tir_is_int(const tir_expr *e, int64_t *value) {
  e = tir_unbroadcast(e);
  if (e->op != TIR_INT) return false;
  *value = e->u.i;
  return true;
}

int tir_n_index(const tir_expr *load) { return load->n_args - load->has_predicate; }

const tir_expr *tir_predicate(const tir_expr *load) { return load->has_predicate ? load->arg[load->n_args - 1] : NULL; }

/* Pairs already found equal, so that comparing two DAGs with much sharing stays linear. Direct-mapped: losing an entry
 * costs time only. */
enum { PAIR_SLOTS = 256, PAIR_CACHE_AFTER = 64 };
/* Lives on the stack of one tir_equal. PAIRS NULL: nothing is remembered yet. */
typedef struct pair_cache {
  int n_compared;
  const tir_expr *(*pairs)[2];
} pair_cache;

/* Reductions are compared by address: two of equal text have axes of their own and are different. */
static bool tensors_equal(const tir_expr *a, const tir_expr *b) {
  if (a->op == TIR_TUPLE) return true;
  return a->op == TIR_READ ? a->u.tensor == b->u.tensor : a->u.reduce == b->u.reduce;
}

/* Whether two nodes of one operator agree in what they hold besides arguments. */
static bool leaves_equal(const tir_expr *a, const tir_expr *b) {
  tir_class class = tir_class_of(a);
  if (a->op == TIR_FLOAT) return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
  if (class == TIR_CLASS_CONSTANT || class == TIR_CLASS_RAMP) return a->u.i == b->u.i;
  if (class == TIR_CLASS_VARIABLE) return a->u.var == b->u.var;
  if (class == TIR_CLASS_LOAD) return a->u.buffer == b->u.buffer && a->has_predicate == b->has_predicate;
  return class != TIR_CLASS_TENSOR || tensors_equal(a, b);
}

/* Without a table of pairs it gives up, false, after PAIR_CACHE_AFTER interior nodes. */
static bool nodes_equal(pair_cache *cache, const tir_expr *a, const tir_expr *b) {
  if (a == b) return true;
  if (a->op != b->op || a->dtype != b->dtype || a->lanes != b->lanes || a->n_args != b->n_args) return false;
  if (!leaves_equal(a, b)) return false;
  if (a->n_args == 0) return true;
  const tir_expr **slot = NULL;
  if (cache->pairs != NULL) {
    slot = cache->pairs[(((uintptr_t)a >> 4) * 31 + ((uintptr_t)b >> 4)) % PAIR_SLOTS];
    if (slot[0] == a && slot[1] == b) return true;
  }
  for (int i = 0; i < a->n_args; i++) {
    if (!nodes_equal(cache, a->arg[i], b->arg[i])) return false;
  }
  if (slot != NULL) slot[0] = a, slot[1] = b;
  return cache->pairs != NULL || ++cache->n_compared <= PAIR_CACHE_AFTER;
}

/* Most comparisons differ at the root or are small, so the first attempt keeps no table; only when it
 * has seen PAIR_CACHE_AFTER nodes does a second one remember pairs. With it the time is linear in the
 * smaller DAG. */
bool tir_equal(const tir_expr *a, const tir_expr *b) {
  if (a == b) return true;
  if (a == NULL || b == NULL) return false;
  pair_cache small = {0, NULL};
  if (nodes_equal(&small, a, b)) return true;
  if (small.n_compared <= PAIR_CACHE_AFTER) return false;
  const tir_expr *pairs[PAIR_SLOTS][2] = {0};
  pair_cache large = {0, pairs};
  return nodes_equal(&large, a, b);
}

/* Linear in the scalars of the function, which are few. */
bool tir_is_data_var(const tir_func *f, const tir_var *var) {
  for (int i = 0; i < f->n_scalars; i++)
    if (f->scalars[i].var == var) return !f->scalars[i].is_symbol;
  return false;
}

/* The index of the last element plus 1, as a sum over the dimensions of (extent - 1) * stride. A
 * dimension without a stride of its own is contiguous with the one behind it. */
const tir_expr *tir_strided_elements(runtime_arena *arena, tn_dtype index_dtype, const tir_buffer *buffer) {
  const tir_expr *one = tir_int(arena, index_dtype, 1), *n = one, *stride = one;
  for (int i = buffer->ndim - 1; i >= 0; i--) {
    const tir_expr *extent = buffer->size[i] != NULL ? buffer->size[i] : tir_int(arena, index_dtype, buffer->shape[i]);
    if (buffer->stride[i] != NULL) stride = buffer->stride[i];
    n = tir_binary(arena, TIR_ADD, n, tir_binary(arena, TIR_MUL, tir_binary(arena, TIR_SUB, extent, one), stride));
    stride = tir_binary(arena, TIR_MUL, stride, extent);
  }
  return n;
}
