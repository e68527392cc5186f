/* closure.c: expressions compiled to trees of function pointers, with a small function for each operation.
 * They define each operator directly from the semantics in tir/ir.h. They deliberately share neither the
 * folder nor the arithmetic of tir/fold.c: two implementations that agree are worth more than one. Nodes
 * live in the run's arena. Doubles are not rounded between operators; only casts and stores round. Where roundings are
 * left to chance, each operator has one. */
#include <math.h>

#include "te/evaluate.h"

static double float_of(const te_node *n, te_run *run) {
  double x = n->eval.f(n, run);
  return run->chance && n->is_rounded ? te_by_chance(run->chance, n->dtype, x) : x;
}

/* The value of argument k, as an integer, a float, and an integer without overflow. */
#define I(k) n->arg[k]->eval.i(n->arg[k], run)
#define F(k) float_of(n->arg[k], run)
#define U(k) (uint64_t)I(k)
#define INTEGER(name, value) \
  static int64_t name(const te_node *n, te_run *run) { return (value); }
#define FLOAT(name, value) \
  static double name(const te_node *n, te_run *run) { return (value); }

/* ---- integers ---------------------------------------------------------------------------------------------------- */

int64_t te_wrap(tn_dtype dtype, uint64_t value) {
  switch (dtype) {
    case TN_BOOL: return value != 0;
    case TN_I8: return (int8_t)value;
    case TN_U8: return (uint8_t)value;
    case TN_I16: return (int16_t)value;
    case TN_U16: return (uint16_t)value;
    case TN_I32: return (int32_t)value;
    case TN_U32: return (uint32_t)value;
    case TN_I64:
    case TN_F16:
    case TN_BF16:
    case TN_F32:
    case TN_F64:
    case TN_DTYPE_COUNT: return (int64_t)value;
  }
  return (int64_t)value;
}

/* Division that rounds down. Dividing by 0 gives 0, and INT64_MIN // -1 wraps. */
static int64_t quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - ((a % b < 0) != (b < 0) && a % b != 0 ? 1 : 0);
}

/* Defined by the quotient, so that x == (x // y) * y + x % y holds even for INT64_MIN. */
static int64_t remainder_of(int64_t a, int64_t b) {
  return b == 0 ? 0 : (int64_t)((uint64_t)a - (uint64_t)quotient(a, b) * (uint64_t)b);
}

/* Functions, since a macro would evaluate an argument twice. */
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
/* Unsigned, since the magnitude of INT64_MIN fits no int64_t. */
static uint64_t magnitude(int64_t a) { return a < 0 ? 0 - (uint64_t)a : (uint64_t)a; }

INTEGER(add_int, te_wrap(n->dtype, U(0) + U(1)))
INTEGER(sub_int, te_wrap(n->dtype, U(0) - U(1)))
INTEGER(mul_int, te_wrap(n->dtype, U(0) * U(1)))
INTEGER(floordiv_int, te_wrap(n->dtype, (uint64_t)quotient(I(0), I(1))))
INTEGER(floormod_int, te_wrap(n->dtype, (uint64_t)remainder_of(I(0), I(1))))
INTEGER(min_int, smaller(I(0), I(1)))
INTEGER(max_int, larger(I(0), I(1)))
INTEGER(abs_int, te_wrap(n->dtype, magnitude(I(0))))
INTEGER(eq_int, I(0) == I(1))
INTEGER(ne_int, I(0) != I(1))
INTEGER(lt_int, I(0) < I(1))
INTEGER(le_int, I(0) <= I(1))
INTEGER(gt_int, I(0) > I(1))
INTEGER(ge_int, I(0) >= I(1))
INTEGER(and_bool, I(0) && I(1))
INTEGER(or_bool, I(0) || I(1))
INTEGER(not_bool, !I(0))
INTEGER(select_int, I(0) ? I(1) : I(2))

static int width(const te_node *n) { return 8 * (int)tn_dtype_bytes(n->dtype); }

/* The bits of VALUE at the width of the node's dtype. */
static uint64_t bits_of(const te_node *n, int64_t value) { return (uint64_t)value & (UINT64_MAX >> (64 - width(n))); }

/* Defined for every shift, as tir/ir.h demands; C leaves shifts by the width or more undefined. */
static int64_t shift_left(const te_node *n, int64_t a, int64_t by) {
  return by < 0 || by >= width(n) ? 0 : te_wrap(n->dtype, (uint64_t)a << by);
}

/* A shift by the width or more leaves only the sign. */
static int64_t shift_right(const te_node *n, int64_t a, int64_t by) {
  return by < 0 || by >= width(n) ? (a < 0 ? -1 : 0) : a >> by;
}

/* Counts bit by bit, without the compiler's intrinsic: this is what the intrinsic is tested against. */
static int64_t leading_zeros(const te_node *n, int64_t a) {
  int count = 0;
  while (count < width(n) && !(bits_of(n, a) >> (width(n) - 1 - count) & 1)) count++;
  return count;
}

/* Counts the ones: removes the lowest until none is left. */
static int64_t ones(const te_node *n, int64_t a) {
  int count = 0;
  for (uint64_t rest = bits_of(n, a); rest != 0; rest &= rest - 1) count++;
  return te_wrap(n->dtype, (uint64_t)count);
}

INTEGER(bitand_int, I(0) & I(1))
INTEGER(bitor_int, I(0) | I(1))
INTEGER(bitxor_int, I(0) ^ I(1))
INTEGER(bitnot_int, te_wrap(n->dtype, ~U(0)))
INTEGER(shl_int, shift_left(n, I(0), I(1)))
INTEGER(shr_int, shift_right(n, I(0), I(1)))
INTEGER(popcount_int, ones(n, I(0)))
INTEGER(clz_int, leading_zeros(n, I(0)))

/* ---- floats ------------------------------------------------------------------------------------------------------ */

/* Not fmin and fmax, which treat NaN differently (tir/ir.h). */
static double smaller_float(double a, double b) { return a < b ? a : b; }
static double larger_float(double a, double b) { return a > b ? a : b; }

FLOAT(add_float, F(0) + F(1))
FLOAT(sub_float, F(0) - F(1))
FLOAT(mul_float, F(0) * F(1))
FLOAT(div_float, F(0) / F(1))
FLOAT(min_float, smaller_float(F(0), F(1)))
FLOAT(max_float, larger_float(F(0), F(1)))
FLOAT(abs_float, fabs(F(0)))
FLOAT(select_float, I(0) ? F(1) : F(2))
FLOAT(pow_float, pow(F(0), F(1)))
FLOAT(exp_float, exp(F(0)))
FLOAT(log_float, log(F(0)))
FLOAT(sqrt_float, sqrt(F(0)))
FLOAT(rsqrt_float, 1 / sqrt(F(0)))
FLOAT(tanh_float, tanh(F(0)))
FLOAT(sigmoid_float, 1 / (1 + exp(-F(0))))
FLOAT(erf_float, erf(F(0)))
FLOAT(sin_float, sin(F(0)))
FLOAT(cos_float, cos(F(0)))
FLOAT(floor_float, floor(F(0)))
FLOAT(ceil_float, ceil(F(0)))
FLOAT(round_float, round(F(0)))
FLOAT(exp2_float, exp2(F(0)))
FLOAT(exp10_float, exp10(F(0)))
FLOAT(log2_float, log2(F(0)))
FLOAT(log10_float, log10(F(0)))
FLOAT(log1p_float, log1p(F(0)))
FLOAT(tan_float, tan(F(0)))
FLOAT(sinh_float, sinh(F(0)))
FLOAT(cosh_float, cosh(F(0)))
FLOAT(asin_float, asin(F(0)))
FLOAT(acos_float, acos(F(0)))
FLOAT(atan_float, atan(F(0)))
FLOAT(asinh_float, asinh(F(0)))
FLOAT(acosh_float, acosh(F(0)))
FLOAT(atanh_float, atanh(F(0)))
FLOAT(trunc_float, trunc(F(0)))
FLOAT(nearbyint_float, nearbyint(F(0)))
FLOAT(atan2_float, atan2(F(0), F(1)))
FLOAT(hypot_float, hypot(F(0), F(1)))
FLOAT(fmod_float, fmod(F(0), F(1)))
FLOAT(copysign_float, copysign(F(0), F(1)))
INTEGER(isnan_float, isnan(F(0)))
INTEGER(isinf_float, isinf(F(0)) != 0)
INTEGER(isfinite_float, isfinite(F(0)))
INTEGER(eq_float, F(0) == F(1))
INTEGER(ne_float, F(0) != F(1))
INTEGER(lt_float, F(0) < F(1))
INTEGER(le_float, F(0) <= F(1))
INTEGER(gt_float, F(0) > F(1))
INTEGER(ge_float, F(0) >= F(1))

/* ---- casts ------------------------------------------------------------------------------------------------------- */

/* Truncates, and saturates at the ends of the dtype; NaN gives 0. */
static int64_t saturate(tn_dtype dtype, double value) {
  int bits = 8 * (int)tn_dtype_bytes(dtype);
  bool is_signed = tn_dtype_is_signed(dtype);
  double lo = is_signed ? -ldexp(1, bits - 1) : 0, hi = ldexp(1, is_signed ? bits - 1 : bits); /* value < hi fits */
  if (isnan(value)) return 0;
  if (value <= lo) return is_signed ? (int64_t)(-(INT64_C(1) << (bits - 2)) * 2) : 0;
  if (value >= hi) return bits == 64 ? INT64_MAX : (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
  return (int64_t)value;
}

INTEGER(int_to_int, te_wrap(n->dtype, U(0)))
INTEGER(float_to_int, saturate(n->dtype, F(0)))
INTEGER(float_to_bool, F(0) != 0)
FLOAT(int_to_f32, (double)(float)I(0))
FLOAT(int_to_f64, (double)I(0))
FLOAT(to_f32, (double)(float)F(0))
FLOAT(to_f64, F(0))
FLOAT(to_half, runtime_rounded(n->dtype, F(0)))

/* ---- leaves and reads -------------------------------------------------------------------------------------------- */

/* Leaves: constants, axes, and the two sides of a combiner. */
static int64_t constant_int(const te_node *n, te_run *run) { return (void)run, n->u.constant.i; }
static double constant_float(const te_node *n, te_run *run) { return (void)run, n->u.constant.f; }
static int64_t variable(const te_node *n, te_run *run) { return run->vars[n->u.slot]; }
static int64_t pair_int(const te_node *n, te_run *run) { return run->pair[n->u.slot].i; }
static double pair_float(const te_node *n, te_run *run) { return run->pair[n->u.slot].f; }

/* Reports a read outside its tensor. */
static bool fail_bounds(const te_node *n, te_run *run, int d, const int64_t *index) {
  const tn_tensor *t = n->u.source->tensor;
  runtime_str list = {0};
  for (int i = 0; i <= d; i++) runtime_str_addf(&list, "%s%lld", i > 0 ? ", " : "", (long long)index[i]);
  for (int i = d + 1; i < t->ndim; i++) runtime_str_add(&list, ", _");
  te_run_fail(run, TN_ERROR_PROGRAM, "'%s' reads %s[%s]: index %d is %lld, but the extent is %lld", run->op->name,
              t->name, list.data ? list.data : "", d, (long long)index[d], (long long)n->u.source->shape[d]);
  runtime_str_free(&list);
  return false;
}

/* Finds the element that a read addresses. False: it is out of bounds, which is reported. */
static bool locate(const te_node *n, te_run *run, int64_t *index, int64_t *flat) {
  const int64_t *shape = n->u.source->shape, *stride = n->u.source->stride;
  *flat = 0;
  for (int d = 0; d < n->n_args; d++) {
    index[d] = I(d);
    if (index[d] < 0 || index[d] >= shape[d]) return fail_bounds(n, run, d, index);
    *flat += index[d] * stride[d];
  }
  return true;
}

/* load_int_I8 and so on: a read of an array, one function for each dtype. */
#define LOAD(name, text, bytes, code, ctype)                                                     \
  static int64_t load_int_##name(const te_node *n, te_run *run) {                                \
    int64_t index[TN_MAX_RANK], flat;                                                            \
    return locate(n, run, index, &flat) ? (int64_t)((const ctype *)n->u.source->data)[flat] : 0; \
  }                                                                                              \
  static double load_float_##name(const te_node *n, te_run *run) {                               \
    int64_t index[TN_MAX_RANK], flat;                                                            \
    return locate(n, run, index, &flat) ? (double)((const ctype *)n->u.source->data)[flat] : 0;  \
  }
TN_DTYPES(LOAD)

/* A read of an array of f16 or bf16. */
static double load_half(const te_node *n, te_run *run) {
  int64_t index[TN_MAX_RANK], flat;
  bool is_there = locate(n, run, index, &flat);
  return is_there ? runtime_half_value(n->dtype, ((const uint16_t *)n->u.source->data)[flat]) : 0;
}

/* A read of a tensor without an array. Gives 0 after a failure, which the run remembers. */
static int64_t demand_int(const te_node *n, te_run *run) {
  int64_t index[TN_MAX_RANK], flat;
  return locate(n, run, index, &flat) ? te_demand(run, n->u.source, index, flat).i : 0;
}

/* The same for floats. An access out of bounds is reported and reads 0. */
static double demand_float(const te_node *n, te_run *run) {
  int64_t index[TN_MAX_RANK], flat;
  return locate(n, run, index, &flat) ? te_demand(run, n->u.source, index, flat).f : 0;
}

/* Chooses by dtype at run time, for single elements; a compiled read has its own function. */
te_cell te_load(tn_dtype dtype, const void *data, int64_t flat) {
  if (runtime_is_half(dtype)) return (te_cell){.f = runtime_half_value(dtype, ((const uint16_t *)data)[flat])};
  switch (dtype) {
#define X(name, text, bytes, code, ctype)                                         \
  case TN_##name:                                                                 \
    return code == kDLFloat ? (te_cell){.f = (double)((const ctype *)data)[flat]} \
                            : (te_cell){.i = (int64_t)((const ctype *)data)[flat]};
    TN_DTYPES(X)
#undef X
    case TN_DTYPE_COUNT: break;
  }
  return (te_cell){0};
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* The functions for each operator, by whether its first operand (of a select, its second) is an integer or a float. */
static const struct {
  int64_t (*ints)(const te_node *, te_run *);
  double (*floats)(const te_node *, te_run *);
  int64_t (*float_test)(const te_node *, te_run *); /* floats in, bool out */
} handlers[TIR_OP_COUNT] = {
    [TIR_ADD] = {add_int, add_float, NULL},
    [TIR_SUB] = {sub_int, sub_float, NULL},
    [TIR_MUL] = {mul_int, mul_float, NULL},
    [TIR_DIV] = {NULL, div_float, NULL},
    [TIR_FLOORDIV] = {floordiv_int, NULL, NULL},
    [TIR_FLOORMOD] = {floormod_int, NULL, NULL},
    [TIR_MIN] = {min_int, min_float, NULL},
    [TIR_MAX] = {max_int, max_float, NULL},
    [TIR_EQ] = {eq_int, NULL, eq_float},
    [TIR_NE] = {ne_int, NULL, ne_float},
    [TIR_LT] = {lt_int, NULL, lt_float},
    [TIR_LE] = {le_int, NULL, le_float},
    [TIR_GT] = {gt_int, NULL, gt_float},
    [TIR_GE] = {ge_int, NULL, ge_float},
    [TIR_AND] = {and_bool, NULL, NULL},
    [TIR_OR] = {or_bool, NULL, NULL},
    [TIR_NOT] = {not_bool, NULL, NULL},
    [TIR_SELECT] = {select_int, select_float, NULL},
    [TIR_POW] = {NULL, pow_float, NULL},
    [TIR_EXP] = {NULL, exp_float, NULL},
    [TIR_LOG] = {NULL, log_float, NULL},
    [TIR_SQRT] = {NULL, sqrt_float, NULL},
    [TIR_RSQRT] = {NULL, rsqrt_float, NULL},
    [TIR_TANH] = {NULL, tanh_float, NULL},
    [TIR_SIGMOID] = {NULL, sigmoid_float, NULL},
    [TIR_ERF] = {NULL, erf_float, NULL},
    [TIR_SIN] = {NULL, sin_float, NULL},
    [TIR_COS] = {NULL, cos_float, NULL},
    [TIR_FLOOR] = {NULL, floor_float, NULL},
    [TIR_CEIL] = {NULL, ceil_float, NULL},
    [TIR_ROUND] = {NULL, round_float, NULL},
    [TIR_ABS] = {abs_int, abs_float, NULL},
    [TIR_BITAND] = {bitand_int, NULL, NULL},
    [TIR_BITOR] = {bitor_int, NULL, NULL},
    [TIR_BITXOR] = {bitxor_int, NULL, NULL},
    [TIR_SHL] = {shl_int, NULL, NULL},
    [TIR_SHR] = {shr_int, NULL, NULL},
    [TIR_BITNOT] = {bitnot_int, NULL, NULL},
    [TIR_POPCOUNT] = {popcount_int, NULL, NULL},
    [TIR_CLZ] = {clz_int, NULL, NULL},
    [TIR_EXP2] = {NULL, exp2_float, NULL},
    [TIR_EXP10] = {NULL, exp10_float, NULL},
    [TIR_LOG2] = {NULL, log2_float, NULL},
    [TIR_LOG10] = {NULL, log10_float, NULL},
    [TIR_LOG1P] = {NULL, log1p_float, NULL},
    [TIR_TAN] = {NULL, tan_float, NULL},
    [TIR_SINH] = {NULL, sinh_float, NULL},
    [TIR_COSH] = {NULL, cosh_float, NULL},
    [TIR_ASIN] = {NULL, asin_float, NULL},
    [TIR_ACOS] = {NULL, acos_float, NULL},
    [TIR_ATAN] = {NULL, atan_float, NULL},
    [TIR_ASINH] = {NULL, asinh_float, NULL},
    [TIR_ACOSH] = {NULL, acosh_float, NULL},
    [TIR_ATANH] = {NULL, atanh_float, NULL},
    [TIR_TRUNC] = {NULL, trunc_float, NULL},
    [TIR_NEARBYINT] = {NULL, nearbyint_float, NULL},
    [TIR_ATAN2] = {NULL, atan2_float, NULL},
    [TIR_HYPOT] = {NULL, hypot_float, NULL},
    [TIR_FMOD] = {NULL, fmod_float, NULL},
    [TIR_COPYSIGN] = {NULL, copysign_float, NULL},
    [TIR_ISNAN] = {NULL, NULL, isnan_float},
    [TIR_ISINF] = {NULL, NULL, isinf_float},
    [TIR_ISFINITE] = {NULL, NULL, isfinite_float},
};

/* The functions for reads of arrays, by dtype. */
static int64_t (*const int_loads[])(const te_node *, te_run *) = {
#define X(name, text, bytes, code, ctype) load_int_##name,
    TN_DTYPES(X)
#undef X
};
static double (*const float_loads[])(const te_node *, te_run *) = {
#define X(name, text, bytes, code, ctype) load_float_##name,
    TN_DTYPES(X)
#undef X
};

/* One compilation. DEPTH is that of the path being compiled, DEEPEST the greatest so far. */
typedef struct compiler {
  te_run *run;
  const te_op *op;                 /* its axes may occur as variables; NULL: no axes may */
  const tir_tuple_combiner *tuple; /* its sides may occur as variables; NULL: none may */
  int depth, deepest;
} compiler;

/* The index in run->vars of a variable; -1: it is no axis of OP. */
static int slot_of(const te_op *op, const tir_var *var) {
  for (int i = 0; op && i < op->n_axes; i++)
    if (&op->axes[i]->var == var) return i;
  for (int i = 0; op && i < op->n_reduce; i++)
    if (&op->reduce_axes[i]->var == var) return op->n_axes + i;
  return -1;
}

/* The index in run->pair of a variable; -1: it is no side of the combiner. */
static int pair_slot_of(const tir_tuple_combiner *tuple, const tir_var *var) {
  for (int v = 0; tuple && v < tuple->n_values; v++) {
    if (tuple->lhs[v] == var) return v;
    if (tuple->rhs[v] == var) return tuple->n_values + v;
  }
  return -1;
}

/* Leaves eval NULL for any other variable, which `compile` refuses. */
static void set_variable(te_node *n, const compiler *c, const tir_var *var) {
  n->u.slot = pair_slot_of(c->tuple, var);
  if (n->u.slot >= 0 && n->is_float)
    n->eval.f = pair_float;
  else if (n->u.slot >= 0)
    n->eval.i = pair_int;
  else if ((n->u.slot = slot_of(c->op, var)) >= 0)
    n->eval.i = variable;
}

/* A symbol has one value in a run, so it is compiled as a constant. */
static void set_leaf(te_node *n, const compiler *c, const tir_expr *e) {
  if (e->op == TIR_INT) {
    n->u.constant.i = te_wrap(n->dtype, (uint64_t)e->u.i);
    n->eval.i = constant_int;
  } else if (e->op == TIR_FLOAT) {
    n->u.constant.f = runtime_rounded(n->dtype, e->u.f);
    n->eval.f = constant_float;
  } else if (c->run->program && te_symbol_number(c->run->program, e->u.var) >= 0) {
    n->u.constant.i = c->run->symbols[te_symbol_number(c->run->program, e->u.var)];
    n->eval.i = constant_int;
  } else {
    set_variable(n, c, e->u.var);
  }
}

/* The kind of load is chosen here once, not for each element. */
static void set_read(te_node *n, te_run *run, const tir_expr *e) {
  n->u.source = te_source_of(run, e->u.tensor);
  if (!n->u.source) return;
  bool is_demand = !n->u.source->data;
  if (n->is_float)
    n->eval.f = is_demand ? demand_float : runtime_is_half(n->dtype) ? load_half : float_loads[n->dtype];
  else
    n->eval.i = is_demand ? demand_int : int_loads[n->dtype];
}

/* Chooses a cast by the kinds of its two dtypes. */
static void set_cast(te_node *n) {
  bool from_float = n->arg[0]->is_float;
  if (runtime_is_half(n->dtype))
    n->eval.f = to_half;
  else if (n->is_float && from_float)
    n->eval.f = n->dtype == TN_F32 ? to_f32 : to_f64;
  else if (n->is_float)
    n->eval.f = n->dtype == TN_F32 ? int_to_f32 : int_to_f64;
  else if (from_float)
    n->eval.i = n->dtype == TN_BOOL ? float_to_bool : float_to_int;
  else
    n->eval.i = int_to_int;
}

/* Chooses an operator's function. A comparison of floats is an integer node over float arguments. */
static void set_operator(te_node *n, tir_op op) {
  if (n->is_float)
    n->eval.f = handlers[op].floats;
  else
    n->eval.i = n->arg[0]->is_float ? handlers[op].float_test : handlers[op].ints;
}

/* Chooses the function of a node whose arguments are compiled already. */
static void set_function(te_node *n, const compiler *c, const tir_expr *e) {
  if (e->op == TIR_INT || e->op == TIR_FLOAT || e->op == TIR_VAR)
    set_leaf(n, c, e);
  else if (e->op == TIR_READ)
    set_read(n, c->run, e);
  else if (e->op == TIR_CAST)
    set_cast(n);
  else if (e->op == TIR_REDUCE || e->op == TIR_TUPLE) /* evaluate.c does it */
    return;
  else
    set_operator(n, (tir_op)e->op);
}

static const te_node *compile(compiler *c, const tir_expr *e);

/* Compiles a tuple reduction's results and identities, and puts them behind the arguments. */
static bool compile_combiner(compiler *c, const tir_tuple_combiner *tuple, te_node *n) {
  c->tuple = tuple;
  for (int i = 0; i < 2 * tuple->n_values; i++) {
    int v = i % tuple->n_values;
    n->arg[n->n_args] = compile(c, i < tuple->n_values ? tuple->result[v] : tuple->identity[v]);
    if (!n->arg[n->n_args++]) return false;
  }
  c->tuple = NULL;
  return true;
}

/* Sums, products, functions and what is no number of the dtype; those that give whole numbers, or one of their operands, round
 * nothing. */
static bool is_rounded(const tir_expr *e) {
  bool is_whole =
      e->op == TIR_FLOOR || e->op == TIR_CEIL || e->op == TIR_ROUND || e->op == TIR_TRUNC || e->op == TIR_NEARBYINT;
  tir_class class = tir_class_of(e);
  if (!tn_dtype_is_float((tn_dtype)e->dtype)) return false;
  if (e->op == TIR_FLOAT) return runtime_rounded((tn_dtype)e->dtype, e->u.f) != e->u.f;
  return class == TIR_CLASS_SUM || class == TIR_CLASS_RATIO || e->op == TIR_CAST ||
         (class == TIR_CLASS_MATH && !is_whole);
}

/* Compiles the arguments first. NULL: failed, with a message. */
static const te_node *compile(compiler *c, const tir_expr *e) {
  const tir_tuple_combiner *tuple = e->op == TIR_REDUCE ? e->u.reduce->tuple : NULL;
  int n_more = tuple ? 2 * tuple->n_values : 0;
  te_node *n = runtime_alloc(&c->run->arena, sizeof *n + sizeof n->arg[0] * (size_t)(e->n_args + n_more));
  if (!n) return te_run_fail(c->run, TN_ERROR_MEMORY, "out of memory"), NULL;
  n->dtype = (tn_dtype)e->dtype;
  n->is_float = tn_dtype_is_float(n->dtype);
  n->is_rounded = is_rounded(e);
  n->n_args = e->n_args;
  ++c->depth;
  c->deepest = RUNTIME_MAX(c->deepest, c->depth);
  for (int i = 0; i < e->n_args; i++)
    if (!(n->arg[i] = compile(c, e->arg[i]))) return NULL;
  if (tuple && !compile_combiner(c, tuple, n)) return NULL;
  c->depth--;
  set_function(n, c, e);
  bool is_list = e->op == TIR_REDUCE || e->op == TIR_TUPLE;
  if (is_list || (n->is_float ? n->eval.f != NULL : n->eval.i != NULL)) return n;
  te_run_fail(c->run, TN_ERROR_INTERNAL, "'%s': the evaluator has no %s", c->op ? c->op->name : "a combiner",
              tir_op_table[e->op].name);
  return NULL;
}

const te_node *te_compile(te_run *run, const te_op *op, int *depth) {
  compiler c = {.run = run, .op = op};
  const te_node *body = compile(&c, op->body);
  *depth = c.deepest;
  return body;
}

const te_node *te_compile_values(te_run *run, const tir_tuple_combiner *tuple, const tir_expr *e) {
  compiler c = {.run = run, .tuple = tuple};
  return compile(&c, e);
}
