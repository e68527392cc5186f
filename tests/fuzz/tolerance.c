/* Error bounds for float tensors, by a walk over the te graph. A value that is a multiple of a power of two and small
 * enough is exact in its dtype; every other operation adds a rounding. An operation that is not continuous (comparison,
 * floor, a cast to an integer) must have exact operands: otherwise a rounding could decide, and the program is of no
 * use here. */
#include <math.h>

#include "tests/fuzz/externs.h"

typedef struct bounding {
  const tn_program *program;
  const fuzz_bound *by_tensor;
  bool unsafe;
} bounding;

static double largest(fuzz_bound b) { return fmax(fabs(b.lo), fabs(b.hi)); }

static double unit(tn_dtype dtype) {
  static const double units[TN_DTYPE_COUNT] = {
      [TN_F16] = 0x1p-10, [TN_BF16] = 0x1p-7, [TN_F32] = 0x1p-22, [TN_F64] = 0x1p-50};
  return units[dtype];
}

/* Integers up to this are exact. */
static double exact_limit(tn_dtype dtype) {
  static const double limits[TN_DTYPE_COUNT] = {
      [TN_F16] = 0x1p11, [TN_BF16] = 0x1p8, [TN_F32] = 0x1p24, [TN_F64] = 0x1p53};
  return limits[dtype];
}

static fuzz_bound integer_range(tn_dtype dtype) {
  int bits = 8 * (int)tn_dtype_bytes(dtype);
  if (dtype == TN_BOOL) return (fuzz_bound){0, 1, 0, 0};
  if (tn_dtype_is_signed(dtype)) return (fuzz_bound){-ldexp(1, bits - 1), ldexp(1, bits - 1) - 1, 0, 0};
  return (fuzz_bound){0, ldexp(1, bits) - 1, 0, 0};
}

/* A result as its dtype holds it: integers wrap, floats round. */
static fuzz_bound held(tn_dtype dtype, fuzz_bound b) {
  if (!tn_dtype_is_float(dtype)) {
    fuzz_bound all = integer_range(dtype);
    return b.lo >= all.lo && b.hi <= all.hi ? (fuzz_bound){b.lo, b.hi, 0, 0} : all;
  }
  double limit = exact_limit(dtype);
  bool is_exact = b.error == 0 && b.q >= 0 && b.q < 60 && ldexp(largest(b), b.q) <= limit;
  if (!is_exact) b.error += largest(b) * unit(dtype) + (runtime_is_half(dtype) ? 0x1p-24 : 0), b.q = -1;
  return b;
}

static fuzz_bound bound_of(bounding *x, const tir_expr *e);

static fuzz_bound exact(bounding *x, fuzz_bound b) {
  x->unsafe |= b.error > 0;
  return b;
}

static fuzz_bound constant(double value) {
  int q = 0;
  while (q < 40 && ldexp(value, q) != floor(ldexp(value, q))) q++;
  return (fuzz_bound){value, value, 0, q < 40 ? q : -1};
}

static int product_q(fuzz_bound a, fuzz_bound b) { return a.q < 0 || b.q < 0 ? -1 : a.q + b.q; }
static int common_q(fuzz_bound a, fuzz_bound b) { return a.q < 0 || b.q < 0 ? -1 : RUNTIME_MAX(a.q, b.q); }

static fuzz_bound multiply(fuzz_bound a, fuzz_bound b) {
  double c[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  return (fuzz_bound){fmin(fmin(c[0], c[1]), fmin(c[2], c[3])), fmax(fmax(c[0], c[1]), fmax(c[2], c[3])),
                      a.error * largest(b) + b.error * largest(a) + a.error * b.error, product_q(a, b)};
}

static fuzz_bound divide(bounding *x, fuzz_bound a, fuzz_bound b) {
  double least = b.lo - b.error, most = largest(a) / fmax(least, 1e-9);
  x->unsafe |= least < 0.25;
  return (fuzz_bound){-most, most, (a.error + most * b.error) / fmax(least, 1e-9), -1};
}

static fuzz_bound hull(fuzz_bound a, fuzz_bound b) {
  return (fuzz_bound){fmin(a.lo, b.lo), fmax(a.hi, b.hi), fmax(a.error, b.error), common_q(a, b)};
}

static fuzz_bound absolute(fuzz_bound a) {
  double lo = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0;
  return (fuzz_bound){lo, largest(a), a.error, a.q};
}

/* y = f(x) with a slope of at most SLOPE, between f(lo) and f(hi) when f is monotonic. */
static fuzz_bound through(fuzz_bound a, double lo, double hi, double slope) {
  return (fuzz_bound){lo, hi, a.error * slope, -1};
}

/* Functions of a value clamped to [-2, 2], and their slopes there. */
static fuzz_bound steep(bounding *x, tir_op op, fuzz_bound a) {
  double most = largest(a) + a.error;
  switch ((int)op) {
    case TIR_TAN: x->unsafe |= most > 1.1; return through(a, -2, 2, 5);
    case TIR_ASIN:
    case TIR_ACOS:
    case TIR_ATANH: x->unsafe |= most > 0.6; return through(a, -1, 3, 2);
    case TIR_EXP10: x->unsafe |= most > 1.1; return through(a, 0, 13, 30);
    default: /* exp2, sinh, cosh */ x->unsafe |= most > 2.1; return through(a, -5, 5, 5);
  }
}

static fuzz_bound math(bounding *x, tir_op op, fuzz_bound a) {
  double lo = fmax(a.lo - a.error, 0.01), hi = a.hi + a.error;
  bool needs_positive = op == TIR_SQRT || op == TIR_LOG || op == TIR_RSQRT || op == TIR_LOG2 || op == TIR_LOG10;
  x->unsafe |= needs_positive && a.lo - a.error < 0.25;
  x->unsafe |= op == TIR_EXP && hi > 8;
  switch ((int)op) {
    case TIR_EXP: return through(a, 0, exp(fmin(hi, 8)), exp(fmin(hi, 8)));
    case TIR_LOG: return through(a, log(lo), log(hi), 1 / lo);
    case TIR_SQRT: return through(a, 0, sqrt(hi), 0.5 / sqrt(lo));
    case TIR_RSQRT: return through(a, 0, 1 / sqrt(lo), 0.5 / (lo * sqrt(lo)));
    case TIR_SIGMOID: return through(a, 0, 1, 0.25);
    case TIR_ERF: return through(a, -1, 1, 1.2);
    case TIR_TANH:
    case TIR_SIN:
    case TIR_COS: return through(a, -1, 1, 1);
    case TIR_LOG2:
    case TIR_LOG10: return through(a, log2(lo), log2(fmax(hi, 1)), 1.5 / lo);
    case TIR_LOG1P: x->unsafe |= a.lo < 0; return through(a, 0, log1p(hi), 1);
    case TIR_ACOSH: x->unsafe |= a.lo - a.error < 1.25; return through(a, 0, acosh(fmax(hi, 1)), 2);
    case TIR_ATAN:
    case TIR_ASINH: return through(a, -asinh(largest(a)) - 1, asinh(largest(a)) + 1, 1);
    case TIR_TAN:
    case TIR_SINH:
    case TIR_COSH:
    case TIR_ASIN:
    case TIR_ACOS:
    case TIR_ATANH:
    case TIR_EXP2:
    case TIR_EXP10: return steep(x, op, a);
    default: exact(x, a); return (fuzz_bound){a.lo - 1, a.hi + 1, 0, 0}; /* floor, ceil, round */
  }
}

static fuzz_bound power(bounding *x, fuzz_bound a, fuzz_bound b) {
  double base = a.hi + a.error, exponent = largest(b) + b.error, most = pow(fmax(base, 1), exponent);
  x->unsafe |= a.lo - a.error < 0.25 || exponent > 4;
  most = fmax(most, pow(0.25, -exponent));
  return (fuzz_bound){0, most, most * (a.error * exponent * 4 + b.error * 4), -1};
}

/* atan2 jumps: its operands must be exact, as those of fmod and copysign. */
static fuzz_bound of_two(bounding *x, const tir_expr *e) {
  fuzz_bound a = bound_of(x, e->arg[0]), b = bound_of(x, e->arg[1]);
  if (e->op == TIR_POW) return power(x, a, b);
  if (e->op == TIR_HYPOT) return (fuzz_bound){0, largest(a) + largest(b), a.error + b.error, -1};
  exact(x, a), exact(x, b);
  if (e->op == TIR_ATAN2) return (fuzz_bound){-4, 4, 0, -1};
  x->unsafe |= e->op == TIR_FMOD && a.q < 0;
  return (fuzz_bound){-largest(a), largest(a), 0, e->op == TIR_FMOD ? common_q(a, b) : a.q};
}

static fuzz_bound arithmetic(bounding *x, const tir_expr *e) {
  fuzz_bound a = bound_of(x, e->arg[0]), b = e->n_args > 1 ? bound_of(x, e->arg[1]) : a;
  switch ((int)e->op) {
    case TIR_ADD: return (fuzz_bound){a.lo + b.lo, a.hi + b.hi, a.error + b.error, common_q(a, b)};
    case TIR_SUB: return (fuzz_bound){a.lo - b.hi, a.hi - b.lo, a.error + b.error, common_q(a, b)};
    case TIR_MUL: return multiply(a, b);
    case TIR_DIV: return divide(x, a, b);
    case TIR_MIN:
    case TIR_MAX: return hull(a, b);
    case TIR_FLOORDIV: return (fuzz_bound){-largest(a) - 1, largest(a) + 1, 0, 0};
    case TIR_FLOORMOD: return (fuzz_bound){-largest(b), largest(b), 0, 0};
    default: return absolute(a);
  }
}

static fuzz_bound cast(bounding *x, const tir_expr *e) {
  fuzz_bound a = bound_of(x, e->arg[0]);
  bool to_integer = !tn_dtype_is_float((tn_dtype)e->dtype) && tn_dtype_is_float((tn_dtype)e->arg[0]->dtype);
  if (!to_integer) return a;
  exact(x, a);
  fuzz_bound all = integer_range((tn_dtype)e->dtype);
  return (fuzz_bound){fmax(a.lo, all.lo), fmax(fmin(a.hi, all.hi), all.lo), 0, 0};
}

/* At most, for symbols as they are drawn. */
static double extent_of(const bounding *x, const tn_axis *axis) {
  int64_t drawn[64];
  for (int i = 0; i < x->program->n_symbols; i++) drawn[i] = RUNTIME_MIN(x->program->symbols[i]->extent, 40);
  if (axis->is_symbol) return (double)RUNTIME_MIN(axis->extent, 40);
  return (double)(axis->size ? te_size_value(x->program, axis->size, drawn) : axis->extent);
}

static double reduce_count(const bounding *x, const tir_reduce *r) {
  double n = 1;
  for (int i = 0; i < r->n_axes; i++) n *= extent_of(x, r->axes[i]);
  return n;
}

/* Any of the terms may be left out (where). Without a term, max and min are infinite: nothing to compare here. */
static fuzz_bound reduction(bounding *x, const tir_expr *e) {
  const tir_reduce *r = e->u.reduce;
  tir_combiner combiner = r->combiner;
  double one = combiner == TIR_REDUCE_PROD;
  fuzz_bound a = bound_of(x, e->arg[0]), all, init = {one, one, 0, 0};
  if (r->has_where) exact(x, bound_of(x, tir_reduce_where(e)));
  if (r->has_init) init = bound_of(x, tir_reduce_init(e, 0));
  double n = reduce_count(x, r), m = fmax(largest(a), 1), eps = unit((tn_dtype)e->dtype),
         first = fmax(largest(init), 1);
  if (combiner == TIR_REDUCE_SUM)
    all = (fuzz_bound){fmin(a.lo * n, 0) + init.lo, fmax(a.hi * n, 0) + init.hi, n * a.error + init.error,
                       common_q(a, init)};
  else if (combiner == TIR_REDUCE_PROD)
    all = (fuzz_bound){-pow(m, n) * first, pow(m, n) * first,
                       n * pow(m, n - 1) * a.error * first + init.error * pow(m + a.error, n),
                       a.q < 0 || init.q < 0 ? -1 : (int)fmin(n * a.q + init.q, 99)};
  else if (r->has_init)
    return hull(a, init);
  else
    return r->has_where ? hull(a, integer_range((tn_dtype)e->dtype)) : a;
  all = held((tn_dtype)e->dtype, all);
  if (all.error > 0) all.error += n * eps * largest(all);
  return all;
}

/* ---- several values ---------------------------------------------------------------------------------------------- */

/* What is known of the values that a reduction of tuples combines. */
typedef struct tuple_bounds {
  fuzz_bound source[TIR_MAX_VALUES], init[TIR_MAX_VALUES];
  bool has_init, has_where;
  double n; /* terms */
} tuple_bounds;

static fuzz_bound summed(const tuple_bounds *t, int v, tn_dtype dtype) {
  fuzz_bound a = t->source[v], init = t->init[v];
  fuzz_bound all = {fmin(a.lo * t->n, 0) + init.lo, fmax(a.hi * t->n, 0) + init.hi, t->n * a.error + init.error,
                    common_q(a, init)};
  all = held(dtype, all);
  if (all.error > 0) all.error += t->n * unit(dtype) * largest(all);
  return all;
}

/* One of the values, or of what a reduction without them starts from. */
static fuzz_bound chosen(const tuple_bounds *t, int v, tn_dtype dtype) {
  if (t->has_init) return hull(t->source[v], t->init[v]);
  if (!t->has_where) return t->source[v];
  return tn_dtype_is_float(dtype) ? (fuzz_bound){-INFINITY, INFINITY, 0, -1} : integer_range(dtype);
}

/* Mean, sum of squared differences and count (tests/fuzz/generate.c): each step rounds a mean between those before. */
static fuzz_bound welford(const tuple_bounds *t, int v, tn_dtype dtype) {
  double most = largest(t->source[0]), mean_error = 4 * t->n * unit(dtype) * (1 + most);
  if (v == 0) return (fuzz_bound){-most, most, mean_error, -1};
  if (v == 2) return (fuzz_bound){0, t->n, 0, 0};
  double square = 4 * most * most;
  return (fuzz_bound){0, t->n * square, 8 * t->n * (1 + most) * mean_error + 4 * t->n * t->n * unit(dtype) * square,
                      -1};
}

static fuzz_bound tuple_value(bounding *x, const tir_expr *e, int v) {
  const tir_tuple_combiner *c = e->u.reduce->tuple;
  tn_dtype dtype = tir_value_dtype(e, v);
  tuple_bounds t = {
      .has_init = e->u.reduce->has_init, .has_where = e->u.reduce->has_where, .n = reduce_count(x, e->u.reduce)};
  for (int i = 0; i < c->n_values; i++) {
    t.source[i] = bound_of(x, e->arg[i]);
    if (t.has_init) t.init[i] = bound_of(x, tir_reduce_init(e, i));
  }
  if (t.has_where) exact(x, bound_of(x, tir_reduce_where(e)));
  if (c->takes_position) {
    exact(x, t.source[1]);
    exact(x, t.init[1]);
    if (v == 1) return chosen(&t, v, dtype);
    return tn_dtype_is_signed(dtype) ? hull(hull(t.source[0], t.init[0]), (fuzz_bound){-1, 0, 0, 0})
                                     : integer_range(dtype);
  }
  if (strncmp(c->name, "sums", 4) == 0) return summed(&t, v, dtype);
  if (strncmp(c->name, "spread", 6) == 0) return chosen(&t, v, dtype);
  if (strncmp(c->name, "welford", 7) == 0) return exact(x, t.source[0]), welford(&t, v, dtype);
  x->unsafe |= tn_dtype_is_float(dtype); /* nothing is known of it */
  return integer_range(dtype);
}

/* Value V of what a definition computes. */
static fuzz_bound value_bound(bounding *x, const tir_expr *body, int v) {
  if (body->op == TIR_REDUCE && body->u.reduce->tuple) return held(tir_value_dtype(body, v), tuple_value(x, body, v));
  return bound_of(x, tir_value(body, v));
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

int fuzz_tensor_number(const tn_program *program, const tn_tensor *tensor) {
  int n = tensor->value_index;
  for (int i = 0; program->ops[i] != tensor->op; i++) n += program->ops[i]->n_outputs;
  return n;
}

static fuzz_bound read(bounding *x, const tir_expr *e) {
  for (int i = 0; i < e->n_args; i++) bound_of(x, e->arg[i]);
  return x->by_tensor[fuzz_tensor_number(x->program, e->u.tensor)];
}

static fuzz_bound other(bounding *x, const tir_expr *e) {
  switch ((int)e->op) {
    case TIR_INT: return (fuzz_bound){(double)e->u.i, (double)e->u.i, 0, 0};
    case TIR_FLOAT: return constant(e->u.f);
    case TIR_VAR: return (fuzz_bound){0, extent_of(x, te_var_axis(e->u.var)), 0, 0};
    case TIR_READ: return read(x, e);
    case TIR_REDUCE: return reduction(x, e);
    case TIR_CAST: return cast(x, e);
    case TIR_SELECT: bound_of(x, e->arg[0]); return hull(bound_of(x, e->arg[1]), bound_of(x, e->arg[2]));
    default: break;
  }
  for (int i = 0; i < e->n_args; i++) exact(x, bound_of(x, e->arg[i])); /* comparisons, booleans, bits */
  if (tir_rule_of(e) == TIR_RULE_INTEGER) return integer_range((tn_dtype)e->dtype);
  return (fuzz_bound){0, 1, 0, 0};
}

static fuzz_bound bound_of(bounding *x, const tir_expr *e) {
  tir_rule rule = tir_rule_of(e);
  fuzz_bound b = rule == TIR_RULE_ARITHMETIC                ? arithmetic(x, e)
                 : rule == TIR_RULE_FLOAT && e->n_args == 2 ? of_two(x, e)
                 : rule == TIR_RULE_FLOAT                   ? math(x, (tir_op)e->op, bound_of(x, e->arg[0]))
                                                            : other(x, e);
  return held((tn_dtype)e->dtype, b);
}

/* Value V of a call: floats as the function's row says. */
static fuzz_bound extern_bound(bounding *x, const te_op *op, int v) {
  fuzz_bound in[RUNTIME_MAX_C_ARGS];
  tn_dtype dtype = op->outputs[v].dtype;
  for (int i = 0, n = 0; i < op->call->n; i++) {
    const tn_tensor *input = op->call->args[i].input;
    if (input) in[n++] = x->by_tensor[fuzz_tensor_number(x->program, input)];
  }
  return tn_dtype_is_float(dtype) ? held(dtype, fuzz_extern_bound(op->call->callee->name, in)) : integer_range(dtype);
}

/* As fuzz_run_pair fills them. */
static fuzz_bound input_bound(tn_dtype dtype) {
  if (tn_dtype_is_float(dtype)) return (fuzz_bound){-2, 2, 0, 2};
  if (tn_dtype_bytes(dtype) == 1) return integer_range(dtype);
  return (fuzz_bound){tn_dtype_is_signed(dtype) ? -8 : 0, 16, 0, 0};
}

/* Where the bounds of an op's outputs begin. */
static int tensors_before(const tn_program *program, int op) {
  int n = 0;
  for (int i = 0; i < op; i++) n += program->ops[i]->n_outputs;
  return n;
}

/* A scan and its steps, time after time: what a time reads of the state is bounded by all earlier ones. */
static void bound_scan(bounding *x, int at, fuzz_bound *by_tensor) {
  const te_op *scan = x->program->ops[at];
  int own = tensors_before(x->program, at);
  for (int v = 0; v < scan->n_outputs; v++) by_tensor[own + v] = (fuzz_bound){0};
  for (int64_t t = 0; t < scan->axes[0]->extent; t++)
    for (int i = 0; i <= at; i++) {
      const te_op *op = x->program->ops[i];
      int first = tensors_before(x->program, i);
      for (int v = 0; op->scan == scan && v < op->n_outputs; v++) {
        fuzz_bound now = value_bound(x, op->body, v);
        by_tensor[first + v] = op == scan && t > 0 ? hull(by_tensor[first + v], now) : now;
      }
    }
}

bool fuzz_bounds(const tn_program *program, int max, fuzz_bound *by_tensor) {
  bounding x = {program, by_tensor, false};
  int n = 0;
  for (int i = 0; i < program->n_ops; i++) {
    const te_op *op = program->ops[i];
    if (n + op->n_outputs > max) return false;
    if (op->scan == op) bound_scan(&x, i, by_tensor);
    for (int v = 0; v < op->n_outputs; v++, n++) {
      if (op->scan && op->scan != op) continue; /* with its scan */
      if (!op->scan)
        by_tensor[n] = te_is_placeholder(op) ? input_bound(op->outputs[v].dtype)
                       : te_is_extern(op)    ? extern_bound(&x, op, v)
                                             : value_bound(&x, op->body, v);
      fuzz_bound b = by_tensor[n];
      x.unsafe |= !isfinite(b.error) || b.error > 0.02 * (1 + largest(b)) || largest(b) > 1e30;
    }
  }
  return !x.unsafe;
}
