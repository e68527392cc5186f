/* ir.h: the loop IR: expressions, statements, functions; how they are built, walked, printed, simplified, checked and
 * rewritten. One expression type serves both tensor expressions (te/) and loop IR: READ, REDUCE and TUPLE stand only in
 * the former, LOAD, RAMP and BROADCAST only in the latter.
 *
 * Semantics (the contract between te's evaluator, the simplifier and the code generator)
 *  - Expressions are pure and total. Nodes are immutable and live in an arena; a rewrite that changes nothing returns
 *    the same pointer. Expressions are DAGs: walks that could blow up are memoised.
 *  - Integers wrap in two's complement at their dtype's width. FLOORDIV and FLOORMOD round towards minus infinity;
 *    x // 0 = 0, x % 0 = 0, INT_MIN // -1 = INT_MIN. DIV is for floats only. Float to integer casts saturate, NaN -> 0;
 *    other casts are C's; a cast to bool is "!= 0".
 *  - f16 and bf16 are for storage: LOAD, STORE, constants and casts from and to f32 (to nearest even) have them,
 *    nothing else has.
 *  - MIN(a,b) = a < b ? a : b and MAX(a,b) = a > b ? a : b (so a NaN in a gives b). Floats are not reassociated; a
 *    multiply feeding an add may be fused (contraction). Comparisons give TN_BOOL; bool is stored as one byte 0/1.
 *  - isnan, isinf and isfinite hold for the values as they are: no fast-math flag lets the compiler assume otherwise.
 *  - SELECT(c, a, b) may evaluate both sides, but no memory is touched outside a buffer on the side not taken: a load
 *    that could be out of bounds gets a predicate (pass guard_loads). AND and OR behave likewise: the right operand's
 *    loads are only made when they matter.
 *  - A scalar argument is a variable bound around the whole body, of any dtype (f16 and bf16: to be cast only). Its
 *    value is data: what it takes part in wraps at its dtype. A symbol is the value of an extent: a variable of the index
 *    dtype that is at least 1. A stride of an input is a symbol, too, of i64, and may be 0.
 *  - Index arithmetic is made of loop variables, symbols and constants in the loops' dtype: bounds of loops, indices,
 *    sides of comparisons. Lowering proves, by the interval of each part, that none of it leaves that dtype. It is i32
 *    where that can be proved, else i64; where i64 is not enough lowering refuses (schedule/index.c). Passes keep that:
 *    what they make of indices has the same values. An access that is made lies in its buffer, whose last element has an
 *    offset that fits; an index under a condition that fails counts for nothing.
 *    The simplifier treats an expression as an integer, code generation computes it in i64, and lowering takes arithmetic
 *    of a program into another dtype, only where the interval of each part fits. What is not shown to (loads, products
 *    that a program makes) stays a value that wraps at its dtype.
 *  - Distinct buffers never overlap. A PARALLEL loop's iterations are independent; a VECTORIZED loop's iterations run
 *    in lockstep and do not depend on each other; UNROLLED is a request for expansion. Order between statements of a
 *    SEQ holds.
 *  - A read that cannot be proved to be inside its tensor (its index comes from data, or its guard is loose) is lowered
 *    to a LOAD with a predicate. Outside, te's evaluator reports an error and a kernel gets 0; it never touches memory
 *    outside a buffer.
 *  - DOT(acc, a, b) stands only in loop IR. a and b have g times the lanes of acc, and lane l of the result is acc[l]
 *    plus the products of lanes g*l .. g*l + g-1 of a and b. acc is i32, a and b i8 or u8 each, g = 4: exact, and wraps.
 *    Or acc is f32, a and b bf16, g = 2: the products are exact, each of the two sums is rounded to f32, in either order,
 *    and a subnormal operand or sum may count as 0.
 *  - LOAD with a predicate gives 0 where it is false and touches nothing there; STORE with one writes nothing there.
 *  - CALL runs a C function. It touches no memory of the kernel but the boxes that its operands name, in the ways they
 *    say, keeps no address, does not throw or jump out, and may run on several threads at once. WRITES: it writes
 *    without reading first. A call has an effect even where nobody reads what it writes. */
#ifndef TENON_TIR_IR_H
#define TENON_TIR_IR_H

#include "runtime/base.h"
#include "runtime/integer.h"
#include "tir/tir.h"

struct tn_tensor;
struct tn_axis;

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* Operators of one class are handled alike; code that has to know all operators switches over the classes, without a
 * default, so that the compiler names the places that a new class is missing in.
 * X(CLASS, rule)   rule: how the dtypes of operands and result go together:
 *   LEAF no operands; ARITHMETIC all of one dtype; INTEGER likewise, of integers but not bool; FLOAT likewise, of floats;
 *   COMPARISON operands of one dtype, result bool; BOOLEAN all bool; TEST a float, result bool; OWN as said at the class */
#define TIR_CLASSES(X)                                                \
  X(CONSTANT, LEAF)                                                   \
  X(VARIABLE, LEAF)                                                   \
  X(TENSOR, OWN)          /* in te only */                            \
  X(LOAD, OWN)            /* indices, perhaps a bool; the buffer's */ \
  X(SUM, ARITHMETIC)      /* + - * */                                 \
  X(RATIO, ARITHMETIC)    /* / of floats */                           \
  X(DIVISION, ARITHMETIC) /* // % of integers and bool */             \
  X(EXTREMUM, ARITHMETIC) /* min max */                               \
  X(MAGNITUDE, ARITHMETIC)                                            \
  X(COMPARISON, COMPARISON)                                           \
  X(LOGIC, BOOLEAN)                                                   \
  X(SELECT, OWN) /* a bool and two of the result's */                 \
  X(CAST, OWN)   /* any */                                            \
  X(RAMP, OWN)   /* one lane of the result's */                       \
  X(BROADCAST, OWN)                                                   \
  X(BITS, INTEGER)  /* & | ^ ~ */                                     \
  X(SHIFT, INTEGER) /* << >> */                                       \
  X(COUNT, INTEGER) /* of bits */                                     \
  X(MATH, FLOAT)                                                      \
  X(TEST, TEST)                                                       \
  X(DOT, OWN) /* see above */

typedef enum tir_class {
#define X(name, rule) TIR_CLASS_##name,
  TIR_CLASSES(X)
#undef X
} tir_class;

/* What the table of classes above abbreviates; check.c and the parser read it from there. */
typedef enum tir_rule {
  TIR_RULE_LEAF,
  TIR_RULE_ARITHMETIC,
  TIR_RULE_INTEGER,
  TIR_RULE_FLOAT,
  TIR_RULE_COMPARISON,
  TIR_RULE_BOOLEAN,
  TIR_RULE_TEST,
  TIR_RULE_OWN
} tir_rule;

/* X(NAME, text, n_args or -1, class, integer)   text: the operator or function name of the text form, of math functions
 * and tests libm's name, too. integer: the function of runtime/integer.h that computes it on integers, or none. */
#define TIR_OPS(X)                                                                                                  \
  X(INT, "int", 0, CONSTANT, none)      /* u.i; every integer dtype and bool */                                     \
  X(FLOAT, "float", 0, CONSTANT, none)  /* u.f */                                                                   \
  X(VAR, "var", 0, VARIABLE, none)      /* u.var */                                                                 \
  X(READ, "read", -1, TENSOR, none)     /* te: u.tensor at arg[0..n) */                                             \
  X(REDUCE, "reduce", -1, TENSOR, none) /* te: u.reduce of arg[0] ... */                                            \
  X(TUPLE, "tuple", -1, TENSOR, none)   /* te: several values, as what a definition computes; dtype of the first */ \
  X(LOAD, "load", -1, LOAD, none)       /* u.buffer at arg[0..n_index), then the predicate if has_predicate */      \
  X(ADD, "+", 2, SUM, add)                                                                                          \
  X(SUB, "-", 2, SUM, sub)                                                                                          \
  X(MUL, "*", 2, SUM, mul)                                                                                          \
  X(DIV, "/", 2, RATIO, none)                                                                                       \
  X(FLOORDIV, "//", 2, DIVISION, floordiv)                                                                          \
  X(FLOORMOD, "%", 2, DIVISION, floormod)                                                                           \
  X(MIN, "min", 2, EXTREMUM, min)                                                                                   \
  X(MAX, "max", 2, EXTREMUM, max)                                                                                   \
  X(EQ, "==", 2, COMPARISON, eq)                                                                                    \
  X(NE, "!=", 2, COMPARISON, ne)                                                                                    \
  X(LT, "<", 2, COMPARISON, lt)                                                                                     \
  X(LE, "<=", 2, COMPARISON, le)                                                                                    \
  X(GT, ">", 2, COMPARISON, gt)                                                                                     \
  X(GE, ">=", 2, COMPARISON, ge)                                                                                    \
  X(AND, "&&", 2, LOGIC, and)                                                                                       \
  X(OR, "||", 2, LOGIC, or)                                                                                         \
  X(NOT, "!", 1, LOGIC, not)                                                                                        \
  X(SELECT, "select", 3, SELECT, none)                                                                              \
  X(CAST, "cast", 1, CAST, none) /* to the node's dtype */                                                          \
  X(RAMP, "ramp", 1, RAMP, none) /* arg[0] + u.i * (0 .. lanes-1); u.i is the constant stride */                    \
  X(BROADCAST, "broadcast", 1, BROADCAST, none)                                                                     \
  X(POW, "pow", 2, MATH, none)                                                                                      \
  X(EXP, "exp", 1, MATH, none)                                                                                      \
  X(LOG, "log", 1, MATH, none)                                                                                      \
  X(SQRT, "sqrt", 1, MATH, none)                                                                                    \
  X(RSQRT, "rsqrt", 1, MATH, none)                                                                                  \
  X(TANH, "tanh", 1, MATH, none)                                                                                    \
  X(SIGMOID, "sigmoid", 1, MATH, none)                                                                              \
  X(ERF, "erf", 1, MATH, none)                                                                                      \
  X(SIN, "sin", 1, MATH, none)                                                                                      \
  X(COS, "cos", 1, MATH, none)                                                                                      \
  X(FLOOR, "floor", 1, MATH, none)                                                                                  \
  X(CEIL, "ceil", 1, MATH, none)                                                                                    \
  X(ROUND, "round", 1, MATH, none) /* half away from zero */                                                        \
  X(ABS, "abs", 1, MAGNITUDE, abs) /* integers (wraps) and floats */                                                \
  X(BITAND, "&", 2, BITS, bitand)                                                                                   \
  X(BITOR, "|", 2, BITS, bitor)                                                                                     \
  X(BITXOR, "^", 2, BITS, bitxor)                                                                                   \
  X(SHL, "<<", 2, SHIFT, shl) /* a shift by less than 0, or by the width or more, shifts everything out: 0 */       \
  X(SHR, ">>", 2, SHIFT, shr) /* copies the sign; likewise 0, or -1 for a negative value */                         \
  X(BITNOT, "~", 1, BITS, bitnot)                                                                                   \
  X(POPCOUNT, "popcount", 1, COUNT, popcount) /* ones of the dtype's bits */                                        \
  X(CLZ, "clz", 1, COUNT, clz)                /* leading zeros of the dtype's bits; all of them for 0 */            \
  X(EXP2, "exp2", 1, MATH, none)                                                                                    \
  X(EXP10, "exp10", 1, MATH, none)                                                                                  \
  X(LOG2, "log2", 1, MATH, none)                                                                                    \
  X(LOG10, "log10", 1, MATH, none)                                                                                  \
  X(LOG1P, "log1p", 1, MATH, none)                                                                                  \
  X(TAN, "tan", 1, MATH, none)                                                                                      \
  X(SINH, "sinh", 1, MATH, none)                                                                                    \
  X(COSH, "cosh", 1, MATH, none)                                                                                    \
  X(ASIN, "asin", 1, MATH, none)                                                                                    \
  X(ACOS, "acos", 1, MATH, none)                                                                                    \
  X(ATAN, "atan", 1, MATH, none)                                                                                    \
  X(ASINH, "asinh", 1, MATH, none)                                                                                  \
  X(ACOSH, "acosh", 1, MATH, none)                                                                                  \
  X(ATANH, "atanh", 1, MATH, none)                                                                                  \
  X(TRUNC, "trunc", 1, MATH, none)                                                                                  \
  X(NEARBYINT, "nearbyint", 1, MATH, none) /* half to even */                                                       \
  X(ATAN2, "atan2", 2, MATH, none)                                                                                  \
  X(HYPOT, "hypot", 2, MATH, none)                                                                                  \
  X(FMOD, "fmod", 2, MATH, none) /* C's: the sign of the first operand */                                           \
  X(COPYSIGN, "copysign", 2, MATH, none)                                                                            \
  X(ISNAN, "isnan", 1, TEST, none)                                                                                  \
  X(ISINF, "isinf", 1, TEST, none)                                                                                  \
  X(ISFINITE, "isfinite", 1, TEST, none)                                                                            \
  X(DOT, "dot", 3, DOT, none) /* acc, a, b: dot products of groups of lanes, see above */

typedef enum tir_op {
#define X(name, text, n, class, integer) TIR_##name,
  TIR_OPS(X)
#undef X
      TIR_OP_COUNT
} tir_op;

/* A row of TIR_OPS. n_args -1: it varies. */
typedef struct tir_op_info {
  const char *name; /* "ADD" */
  const char *text; /* "+" */
  int8_t n_args;
  tir_class op_class;
  tir_rule rule;
  runtime_integer_fn on_integers; /* NULL: none */
} tir_op_info;
extern const tir_op_info tir_op_table[TIR_OP_COUNT];

/* A variable's identity is its address. */
typedef struct tir_var {
  const char *name;
  tn_dtype dtype;
} tir_var;

typedef struct tir_expr tir_expr;

/* Memory with a name: a parameter, or what an ALLOC around its uses provides. Identity is the address.
 * An element's index counts from 0 in each dimension. */
typedef struct tir_buffer {
  const char *name;
  tn_dtype dtype;
  int ndim;                            /* 0..8; 1 after flattening */
  int64_t shape[TN_MAX_RANK];          /* -1 where symbols decide */
  const tir_expr *size[TN_MAX_RANK];   /* such an extent, of symbols and constants, in the index dtype; else NULL */
  const tir_expr *stride[TN_MAX_RANK]; /* in elements, from a call: a variable; NULL: as row-major without gaps. Of
                                        * parameters that are not flat, never in the last dimension */
  const char *scope;                   /* "global", "local" as given by the user */
  bool is_param;                       /* a function argument, not an ALLOC */
  bool is_input;                       /* a parameter that is only read */
} tir_buffer;

/* Whether a call gives strides of the buffer. */
static inline bool tir_is_strided(const tir_buffer *buffer) { return buffer->ndim > 1 && buffer->stride[0] != NULL; }

/* sum, prod, max, min, any, all. Identity: 0, 1, -inf (integers: lowest), +inf (integers: highest), false, true. */
#define TIR_COMBINERS(X) X(SUM, "sum") X(PROD, "prod") X(MAX, "max") X(MIN, "min") X(ANY, "any") X(ALL, "all")
typedef enum tir_combiner {
#define X(name, text) TIR_REDUCE_##name,
  TIR_COMBINERS(X)
#undef X
      TIR_COMBINER_COUNT,
  TIR_REDUCE_TUPLE = TIR_COMBINER_COUNT /* tir_reduce.tuple says how */
} tir_combiner;

enum { TIR_MAX_VALUES = 8 }; /* of a tuple */

/* How tuples of N_VALUES are combined: RESULT[v] over the variables LHS and RHS (a tuple each, of the results' dtypes)
 * is value v of "lhs combined with rhs"; IDENTITY[v] are constants. Combining is commutative and associative, floats up
 * to rounding. */
typedef struct tir_tuple_combiner {
  const char *name;
  int n_values;
  bool takes_position; /* argmax, argmin: the first source may be left out, which means an element's position */
  const tir_var *lhs[TIR_MAX_VALUES], *rhs[TIR_MAX_VALUES];
  const tir_expr *result[TIR_MAX_VALUES], *identity[TIR_MAX_VALUES];
} tir_tuple_combiner;

/* A REDUCE node's arguments: the sources, one a value; the condition where they count (has_where); the values that the
 * reduction starts from instead of the identity, as many (has_init). One value, unless COMBINER is TIR_REDUCE_TUPLE. */
typedef struct tir_reduce {
  tir_combiner combiner;
  const tir_tuple_combiner *tuple; /* TIR_REDUCE_TUPLE; else NULL */
  int n_axes;
  struct tn_axis **axes;
  bool has_where, has_init;
} tir_reduce;

/* A node. Its fields must not change once it is shared, and nothing owns it but the arena. The
 * arguments follow in the same allocation. */
struct tir_expr {
  uint8_t op;     /* tir_op */
  uint8_t dtype;  /* tn_dtype of one lane */
  uint16_t lanes; /* 1: scalar */
  uint16_t n_args;
  bool has_predicate; /* LOAD: the last argument is a bool predicate of the same lanes */
  union {
    int64_t i;
    double f;
    const tir_var *var;
    const tir_buffer *buffer;
    struct tn_tensor *tensor;
    const tir_reduce *reduce;
  } u;
  const tir_expr *arg[];
};

/* Whether index expressions are made of it: constants, variables, + - * // % min max, and lanes of these. */
static inline bool tir_is_index_op(tir_op op) {
  tir_class class = tir_op_table[op].op_class;
  return op == TIR_INT || class == TIR_CLASS_VARIABLE || class == TIR_CLASS_SUM || class == TIR_CLASS_DIVISION ||
         class == TIR_CLASS_EXTREMUM || class == TIR_CLASS_RAMP || class == TIR_CLASS_BROADCAST;
}
static inline tir_class tir_class_of(const tir_expr *e) { return tir_op_table[e->op].op_class; }
static inline tir_rule tir_rule_of(const tir_expr *e) { return tir_op_table[e->op].rule; }

/* Constructors. They return NULL when an argument is NULL or memory ran out. They fold constants and drop trivial
 * operations (x+0, x*1, select(true,..)), nothing more; operands must agree in dtype and lanes (asserted), except that
 * a scalar operand next to a vector one is broadcast. Type conversion rules belong to te/. */
const tir_expr *tir_int(runtime_arena *arena, tn_dtype dtype, int64_t value); /* wraps value to dtype */
const tir_expr *tir_float(runtime_arena *arena, tn_dtype dtype, double value);
const tir_expr *tir_const(runtime_arena *arena, tn_dtype dtype, double value); /* int or float by dtype */
const tir_expr *tir_var_expr(runtime_arena *arena, const tir_var *var);
const tir_expr *tir_unary(runtime_arena *arena, tir_op op, const tir_expr *a);
const tir_expr *tir_binary(runtime_arena *arena, tir_op op, const tir_expr *a, const tir_expr *b);
const tir_expr *tir_select(runtime_arena *arena, const tir_expr *c, const tir_expr *a, const tir_expr *b);
const tir_expr *tir_cast(runtime_arena *arena, tn_dtype dtype, const tir_expr *a);
/* INDEX has as many as the buffer has dimensions. All that are vectors have the same lanes, and so has
 * PREDICATE. */
const tir_expr *tir_load(runtime_arena *arena, const tir_buffer *buffer, int n_index, const tir_expr *const *index,
                         const tir_expr *predicate /* or NULL */);
const tir_expr *tir_read(runtime_arena *arena, struct tn_tensor *tensor, tn_dtype dtype, int n,
                         const tir_expr *const *index);
const tir_expr *tir_reduce_expr(runtime_arena *arena, const tir_reduce *reduce, const tir_expr *source);
/* With all the arguments that REDUCE says it has. */
const tir_expr *tir_reduce_args(runtime_arena *arena, const tir_reduce *reduce, const tir_expr *const *args);
const tir_expr *tir_ramp(runtime_arena *arena, const tir_expr *base, int64_t stride, int lanes);
const tir_expr *tir_broadcast(runtime_arena *arena, const tir_expr *a, int lanes);
/* Lanes of A and B: tir_dot_group times those of ACC. */
const tir_expr *tir_dot(runtime_arena *arena, const tir_expr *acc, const tir_expr *a, const tir_expr *b);
/* How many products DOT adds to a lane of this dtype; 0: there is no DOT of it. */
static inline int tir_dot_group(tn_dtype acc) { return acc == TN_I32 ? 4 : acc == TN_F32 ? 2 : 0; }
/* The combiner's identity for a dtype, and combine(a, b); not for TIR_REDUCE_TUPLE. */
const tir_expr *tir_identity(runtime_arena *arena, tir_combiner combiner, tn_dtype dtype);
const tir_expr *tir_combine(runtime_arena *arena, tir_combiner combiner, const tir_expr *a, const tir_expr *b);
/* The same for value V of any REDUCE node; A and B are as many values as it has. */
const tir_expr *tir_reduce_identity(runtime_arena *arena, const tir_expr *reduce, int v);
const tir_expr *tir_reduce_combine(runtime_arena *arena, const tir_expr *reduce, int v, const tir_expr *const *a,
                                   const tir_expr *const *b);
/* Several values. With one it is that expression itself. */
const tir_expr *tir_tuple(runtime_arena *arena, int n, const tir_expr *const *values);
/* The same node with other arguments (E itself when all are the same pointers). Folds like the constructors. */
const tir_expr *tir_with_args(runtime_arena *arena, const tir_expr *e, const tir_expr *const *args);

/* Whether a body reduces by a combiner of tuples; that may be tuples of one value. */
static inline bool tir_reduces_tuples(const tir_expr *e) { return e->op == TIR_REDUCE && e->u.reduce->tuple; }
/* Number of values that a body computes; value V of a TUPLE, or of an expression that is its own only value. */
static inline int tir_n_values(const tir_expr *e) {
  if (e->op == TIR_TUPLE) return e->n_args;
  return e->op == TIR_REDUCE && e->u.reduce->tuple ? e->u.reduce->tuple->n_values : 1;
}
static inline const tir_expr *tir_value(const tir_expr *e, int v) { return e->op == TIR_TUPLE ? e->arg[v] : e; }
/* The dtype of value V of a body. A reduction's is that of its source. */
static inline tn_dtype tir_value_dtype(const tir_expr *e, int v) {
  return (tn_dtype)(e->op == TIR_TUPLE || e->op == TIR_REDUCE ? e->arg[v] : e)->dtype;
}

/* The parts of a REDUCE node, of init those of value V; NULL where it has none, and for other nodes. */
static inline const tir_expr *tir_reduce_where(const tir_expr *e) {
  return e->op == TIR_REDUCE && e->u.reduce->has_where ? e->arg[tir_n_values(e)] : NULL;
}

/* What value V of a reduction starts from, NULL if that is the combiner's identity. The initial values stand last among
 * the arguments. */
static inline const tir_expr *tir_reduce_init(const tir_expr *e, int v) {
  return e->op == TIR_REDUCE && e->u.reduce->has_init ? e->arg[e->n_args - tir_n_values(e) + v] : NULL;
}

/* A OP b of doubles, where it is exact or correctly rounded; false: no such operator. */
bool tir_float_value(tir_op op, double a, double b, double *value);
/* The value of an expression of integers over variables alone (no load, no read, one lane): those are what
 * VALUE_OF says. */
int64_t tir_evaluate(const tir_expr *e, int64_t (*value_of)(const void *user, const tir_var *var), const void *user);
bool tir_is_int(const tir_expr *e, int64_t *value); /* a scalar or broadcast integer constant */
/* After how many steps of what stands in it a quotient or a remainder goes on or begins anew; 0: E is none, or nobody knows. What does so after
 * a long period has a border there; others do it in each vector. */
enum { TIR_LONG_PERIOD = 32 };
static inline int64_t tir_period(const tir_expr *e) {
  int64_t period = 0;
  return tir_class_of(e) == TIR_CLASS_DIVISION && tir_is_int(e->arg[1], &period) ? period : 0;
}
bool tir_equal(const tir_expr *a, const tir_expr *b); /* structural; variables, buffers by address */
/* Sees every node once; a leaf costs no table. */
bool tir_uses_var(const tir_expr *e, const tir_var *var);
int tir_n_index(const tir_expr *load);               /* arguments without the predicate */
const tir_expr *tir_predicate(const tir_expr *load); /* or NULL */

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* What the iterations allow, see Semantics. The pass loop_kinds makes combinations that no back end has
 * serial. */
typedef enum tir_loop_kind { TIR_SERIAL, TIR_UNROLLED, TIR_VECTORIZED, TIR_PARALLEL } tir_loop_kind;
/* The kinds of statements; tir_stmt has the fields of each in its union. */
typedef enum tir_stmt_kind {
  TIR_FOR,
  TIR_STORE,
  TIR_IF,
  TIR_ALLOC,
  TIR_SEQ,
  TIR_ATTR,
  TIR_PREFETCH,
  TIR_NOP,
  TIR_CALL
} tir_stmt_kind;

/* A C function `void name(...)` that CALL statements call; its address is its identity. Where its code is:
 *   function given      in this process: kernels in memory and the evaluator call it there; exported code needs NAME
 *   module given        in LLVM IR, text or bitcode, that defines NAME and is linked into what is compiled
 *   neither             NAME is found when the exported object is linked; nothing runs here */
typedef struct tn_callee {
  const char *name; /* a C identifier */
  void (*function)(void);
  const void *module;
  size_t module_bytes;
} tir_callee;

/* What a callee does to the elements in its box. UPDATES reads and writes. */
typedef enum tir_access { TIR_BY_VALUE, TIR_READS, TIR_WRITES, TIR_UPDATES } tir_access;

/* An argument of a call: a scalar by value, or the address of an element of a buffer, from which the callee may touch
 * a box of `span` elements in each dimension (flat: as many in a row; 0: as many as symbols decide, within the buffer)
 * and nothing else. */
typedef struct tir_operand {
  tir_access access;
  const tir_expr *value; /* BY_VALUE: i32, i64, f32 or f64, one lane; else NULL */
  const tir_buffer *buffer;
  int n_index;
  const tir_expr *index[TN_MAX_RANK]; /* one lane each */
  int64_t span[TN_MAX_RANK];
} tir_operand;

#define TIR_THREAD_EXTENT "thread_extent."
/* Around what fills an allocation, as its first statement, in a loop: pass double_buffer. */
#define TIR_DOUBLE_BUFFER "double_buffer"
/* Around a loop's body; 0: unrolled loops inside stay loops of that kind, which the code generator leaves to the
 * compiler behind it. */
#define TIR_UNROLL_EXPLICIT "unroll_explicit"
/* Around a loop: vectors stored to outputs inside go to memory past the caches, where the target can. */
#define TIR_STREAM_STORES "stream_stores"
/* Around the body of a variant: it becomes a function of its own, with its own scratch and stack (schedule/variants.c). */
#define TIR_VARIANT "variant"
/* Around what runs only where the function's one symbol is that or more: loops that then have an iteration need no test. */
#define TIR_SYMBOL_LEAST "symbol_least"
/* Marks of stages, in builds that ask for them; the value is the stage's number among those that compute. STAGE stands
 * around its loop nest; POINT around the store of one of its points (a reduction's: of its init); UPDATE around a store
 * that updates a reduction; RUN around the reduction loops in which one element is updated, where they are not all
 * there are. */
#define TIR_STAGE "stage"
#define TIR_STAGE_POINT "stage.point"
#define TIR_STAGE_UPDATE "stage.update"
#define TIR_STAGE_RUN "stage.run"

/* The loops inside become the intrinsic whose name follows, where they can (pass tensorize); the value is its stage's
 * position in the schedule. */
#define TIR_TENSORIZE "tensorize."
/* Around the init of such a reduction, and around init and update where nothing stands between them: for intrinsics
 * that can stand for these. */
#define TIR_TENSORIZE_RESET "tensorize_reset."
#define TIR_TENSORIZE_BODY "tensorize_body."

typedef struct tir_stmt tir_stmt;
/* A statement. As with expressions: immutable once it is shared, in an arena, the same pointer where
 * nothing changed. */
struct tir_stmt {
  tir_stmt_kind kind;
  union {
    struct { /* for (var = min; var < min + extent; var++) */
      const tir_var *var;
      const tir_expr *min, *extent;
      tir_loop_kind kind;
      bool peel;    /* partition this loop so that its last, partial iterations stand apart (pass partition) */
      bool strided; /* a parallel loop: thread t of n runs iterations t, t + n, t + 2n ..., not one run of them */
      const tir_stmt *body;
    } loop;
    struct {
      const tir_buffer *buffer;
      int n_index;
      const tir_expr *const *index;
      const tir_expr *value;
      const tir_expr *predicate; /* or NULL */
    } store;
    struct { /* asks for the cache line of an element, which must be inside of the buffer; changes no value */
      const tir_buffer *buffer;
      int n_index;
      const tir_expr *const *index; /* scalars */
    } prefetch;
    struct {
      const tir_expr *cond;
      const tir_stmt *then_body, *else_body; /* else may be NULL */
    } branch;
    struct { /* the buffer lives around body */
      const tir_buffer *buffer;
      const tir_stmt *body;
    } alloc;
    struct {
      int n;
      const tir_stmt *const *stmts;
    } seq;
    struct
    { /* key: "auto_unroll_max_step" and TIR_UNROLL_EXPLICIT around a loop body; TIR_STREAM_STORES; TIR_VARIANT; TIR_SYMBOL_LEAST; TIR_THREAD_EXTENT
              * "threadIdx.x" around a bound loop; TIR_STAGE; TIR_TENSORIZE
               * "dot4_u8i8" */
      const char *key;
      const char *of; /* the stage and loop that asked for it, for messages; or NULL */
      int64_t value;
      const tir_stmt *body;
    } attr;
    struct {
      const tir_callee *callee;
      int n;
      const tir_operand *operands;
    } call;
  } u;
};

/* Statements take the pointers they are given, except arrays, which they copy. NULL for an absent part
 * or no memory. */
const tir_stmt *tir_for(runtime_arena *arena, const tir_var *var, const tir_expr *min, const tir_expr *extent,
                        tir_loop_kind kind, const tir_stmt *body);
const tir_stmt *tir_store(runtime_arena *arena, const tir_buffer *buffer, int n_index, const tir_expr *const *index,
                          const tir_expr *value, const tir_expr *predicate);
const tir_stmt *tir_if(runtime_arena *arena, const tir_expr *cond, const tir_stmt *then_body,
                       const tir_stmt *else_body);
const tir_stmt *tir_alloc(runtime_arena *arena, const tir_buffer *buffer, const tir_stmt *body);
/* Of none: NOP; of one: that one. */
const tir_stmt *tir_seq(runtime_arena *arena, int n, const tir_stmt *const *stmts); /* flattens nested SEQ, drops NOP */
const tir_stmt *tir_attr(runtime_arena *arena, const char *key, int64_t value, const tir_stmt *body);
const tir_stmt *tir_prefetch(runtime_arena *arena, const tir_buffer *buffer, int n_index, const tir_expr *const *index);
const tir_stmt *tir_nop(runtime_arena *arena);
/* Copies the operands. */
const tir_stmt *tir_call(runtime_arena *arena, const tir_callee *callee, int n, const tir_operand *operands);
/* Operands that are addresses in BUFFER: whether there is one. NULL: in any buffer. */
bool tir_call_touches(const tir_stmt *call, const tir_buffer *buffer);

/* An argument that is passed by value, behind the buffers: its variable is bound in the whole body. */
typedef struct tir_scalar {
  const tir_var *var; /* of any dtype */
  bool
      is_symbol; /* the value of an extent or a stride: an int64_t in the signature, whatever the variable's dtype is */
} tir_scalar;

typedef struct tir_scope_env tir_env;

typedef struct tir_intrin tir_intrin; /* tir/intrin.h */

/* A function: int32_t name(pointers to the parameters, scalars). A pass returns a new one that shares
 * what it did not change. Everything in it lies in the arena of the lowering, which must outlive it. */
typedef struct tir_func {
  const char *name;
  int n_params, n_inputs; /* params[0..n_inputs) are read only, the others written */
  const tir_buffer **params;
  int n_kept; /* the last params are no arguments: they belong to the object, whose functions find in them what another one
               * of them has left there */
  int n_scalars;
  const tir_scalar *scalars; /* the program's scalars, then its symbols, then strides */
  const tir_env *env;        /* the scalars' names and ranges: what is known where the body begins */
  tn_dtype index_dtype;      /* of loop variables: TN_I32, or TN_I64 */
  const tir_stmt *body;
  const tir_buffer **declared; /* the parameters as they were before flattening, for printing; NULL: they are params */
  int n_intrins;
  const tir_intrin *const *intrins; /* that TIR_TENSORIZE may name */
} tir_func;

/* Whether VAR is a scalar argument whose value is data: no symbol. */
bool tir_is_data_var(const tir_func *f, const tir_var *var);
/* The functions that F calls, each once; returns their number, of which at most MAX are in OUT. */
int tir_callees(const tir_func *f, int max, const tir_callee **out);

/* ---- walking and rewriting --------------------------------------------------------------------------------------- */

/* PRUNE: not below this node; STOP: nowhere any more. */
typedef enum tir_walk { TIR_WALK_ON, TIR_WALK_PRUNE, TIR_WALK_STOP } tir_walk;

/* Pre-order over an expression, each shared node once. Returns false when the visitor stopped. */
bool tir_walk_expr(const tir_expr *e, tir_walk (*visit)(void *user, const tir_expr *e), void *user);
/* Whether a node of E is the operator; loads from BUFFER. */
bool tir_has_op(const tir_expr *e, tir_op op);
bool tir_loads(const tir_expr *e, const tir_buffer *buffer);
/* How many nodes are inside each other at most; a leaf is 1. */
int tir_depth(const tir_expr *e);
/* Pre-order over statements and the expressions in them; either visitor may be NULL. */
typedef struct tir_visitor {
  tir_walk (*stmt)(void *user, const tir_stmt *s);
  tir_walk (*expr)(void *user, const tir_expr *e);
  void *user;
} tir_visitor;
bool tir_walk_stmt(const tir_stmt *s, const tir_visitor *visitor);
/* Whether an expression in S loads from BUFFER; whether anything in S has to do with it: also a store, a prefetch, or a
 * call that is given its address. */
bool tir_stmt_loads(const tir_stmt *s, const tir_buffer *buffer);
bool tir_stmt_touches(const tir_stmt *s, const tir_buffer *buffer);
/* Whether VAR stands in an expression of S. */
bool tir_stmt_uses_var(const tir_stmt *s, const tir_var *var);

/* Bottom-up rewriting. The callbacks get a node whose children are already rewritten and return a replacement (or the
 * same pointer). stmt or expr may be NULL. Shared subexpressions are rewritten once. */
typedef struct tir_rewriter {
  runtime_arena *arena;
  const tir_stmt *(*stmt)(void *user, const tir_stmt *s);
  const tir_expr *(*expr)(void *user, const tir_expr *e);
  void *user;
} tir_rewriter;
const tir_expr *tir_rewrite_expr(const tir_rewriter *rewriter, const tir_expr *e);
const tir_stmt *tir_rewrite_stmt(const tir_rewriter *rewriter, const tir_stmt *s);

/* Replaces variables by expressions. */
typedef struct tir_binding {
  const tir_var *var;
  const tir_expr *value;
} tir_binding;
/* All bindings at once: a value is not looked into for variables of the others. */
const tir_expr *tir_substitute(runtime_arena *arena, const tir_expr *e, int n, const tir_binding *bindings);
const tir_stmt *tir_substitute_stmt(runtime_arena *arena, const tir_stmt *s, int n, const tir_binding *bindings);

/* ---- analysis ---------------------------------------------------------------------------------------------------- */

/* All integers from LO to HI. Empty where LO is above HI. */
typedef struct tir_interval {
  int64_t lo, hi; /* inclusive; INT64_MIN / INT64_MAX: unbounded */
} tir_interval;

/* What is known while looking at an expression: the ranges of the variables in scope, and conditions known to hold.
 * A linked list on the caller's stack or in an arena: entering a scope is making a node. */
struct tir_scope_env {
  const tir_env *outer;
  const tir_var *var; /* NULL, or var in [range.lo, range.hi] */
  tir_interval range;
  const tir_expr *cond; /* NULL, or a condition that holds */
};

/* Bounds of an integer expression; unbounded where nothing is known or where it could wrap at its dtype. */
tir_interval tir_bounds(const tir_env *env, const tir_expr *e);
/* True only when the boolean expression holds for every value of the variables in env. */
bool tir_prove(runtime_arena *arena, const tir_env *env, const tir_expr *cond);
/* Canonical form: interval and affine reasoning over + - * // % min max, comparisons, booleans, select. Keeps the
 * expression's value for every assignment allowed by env. Idempotent. */
const tir_expr *tir_simplify(runtime_arena *arena, const tir_env *env, const tir_expr *e);

/* ---- printing (TVM's textual style, minimal parentheses) --------------------------------------------------------- */

/* What is small as a graph can be endless as text: OUT needs a limit (runtime_str_limited) where users decide the
 * graph. */

/* `i.outer*20 + i.inner < 1024`; loads as A[i*1024 + j], vector accesses A[ramp(i*1024, 1, 32)]; f32 constants 0f32. */
void tir_print_expr(runtime_str *out, const tir_expr *e);
/* `for (x.outer: int32, 0, 52) "parallel" {` ... two spaces a level. */
void tir_print_stmt(runtime_str *out, const tir_stmt *s, int indent);
void tir_print_func(runtime_str *out, const tir_func *f);

/* The function that tir_print_func printed: printing it gives the same text (docs/ir.md). All nodes in ARENA.
 * Parameters before the first that is stored to are inputs; with one index where another number of dimensions was
 * declared, buffers are flat. NULL: TN_ERROR_PARSE with line and caret, or what tir_check says. */
tir_func *tir_parse_func(tn_context *ctx, runtime_arena *arena, const char *text);

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* Zero fields where a number stands in parentheses mean that number. */
typedef struct tir_pass_options {
  int auto_unroll_max_step; /* for loops outside any pragma (0) */
  int64_t
      max_unrolled_body; /* an unroll that would make more statements than this, or so much code, is left a loop (4096) */
  int vector_registers;         /* that accumulators may take (32) */
  int vector_bytes;             /* of one (64) */
  bool multiplies_signed_bytes; /* dot products are made of instructions that take both operands signed */
  int index_bits;               /* of addresses: lowering refuses loops that need wider indices (64) */
  bool check;                   /* run tir_check between passes */
  bool marks_stages;            /* lower with TIR_STAGE around loop nests, and keep it */
  bool
      versions_rests; /* where a symbol decides how much of a peeled block is left: code for each such length, up to 15 */
  bool masks_are_dear; /* code with masks is to be avoided, even by more code */
  int64_t
      end_divisor; /* a block at the end of a loop may begin at multiples of this where its length is one, too; 0: it stays where it is */
} tir_pass_options;

/* What the pass tensorize found under the marks of one stage. */
typedef struct tir_tensorized {
  int64_t stage;
  const char *intrin;
  int n_matched;       /* nests that became the intrinsic */
  const char *why_not; /* of the first that did not; NULL: all did */
} tir_tensorized;

/* What all passes of one lowering share. The arena holds their results and their scraps alike. */
typedef struct tir_pass_context {
  tn_context *ctx; /* errors, debug dumps */
  runtime_arena *arena;
  tir_pass_options options;
  tir_tensorized *tensorized; /* the answer for the stage that it names goes here, and nothing is said; or NULL */
} tir_pass_context;

/* Each pass: requires / establishes / breaks stand above its definition. NULL: failed, message in ctx. */
typedef tir_func *(*tir_pass_fn)(tir_pass_context *p, tir_func *f);
/* NAME is what the debug option and tir_run_passes know the pass by. */
typedef struct tir_pass {
  const char *name;
  tir_pass_fn run;
} tir_pass;
extern const tir_pass tir_passes[]; /* in pipeline order, ended by {NULL, NULL} */
/* Every pass once, with what it does in a line. */
typedef struct tir_pass_line {
  const char *name, *summary;
} tir_pass_line;
enum { TIR_PASS_COUNT = 20 };
extern const tir_pass_line tir_pass_lines[TIR_PASS_COUNT];

/* Runs the passes that NAMES lists, "flatten,vectorize", in that order; "all" are those of the pipeline. After each the
 * IR is checked. NULL: TN_ERROR_ARGUMENT for an unknown name, with the nearest one. */
tir_func *tir_run_passes(tir_pass_context *p, tir_func *f, const char *names);

/* Runs the whole pipeline on lowered (multi-dimensional) loop IR: afterwards buffers are flat, no vectorized or
 * unrolled loop is left (but those too large), peeled loops are partitioned, guards hoisted, loads that could leave a
 * buffer have predicates. */
tir_func *tir_run_pipeline(tir_pass_context *p, tir_func *f);
/* Only up to and with the pass of this name, without dumps. */
tir_func *tir_run_through(tir_pass_context *p, tir_func *f, const char *last);
/* A line of the debug option "time": how long WHAT took since START_NS. */
void tir_say_time(const tn_context *ctx, const char *what, uint64_t start_ns, bool unchanged);
/* Well-formedness: variables bound once on a path and used in scope, dtypes and lanes agree, ranks fit, constants in
 * range, buffers allocated around their uses, inputs never stored to. TN_ERROR_INTERNAL with the invariant's name. */
tn_status tir_check(tn_context *ctx, const tir_func *f);

#endif
