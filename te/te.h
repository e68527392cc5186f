/* tenon/te.h: tensor expressions: axes, placeholders, computes and reductions in C without callbacks; the
 * same as text; and the reference evaluator. The names follow TVM's (te.placeholder, te.compute,
 * te.reduce_axis, te.sum).
 *
 *     tn_axis *i = tn_axis_new(ctx, "i", 1024), *j = tn_axis_new(ctx, "j", 1024), *k = tn_reduce_axis(ctx, "k", 1024);
 *     tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 1024, 1024), *B = tn_placeholder(ctx, "B", TN_F32, 1024, 1024);
 *     tn_tensor *C = tn_compute(ctx, "C", tn_sum(tn_mul(tn_at(A, i, k), tn_at(B, k, j)), k), i, j);
 *     tn_program *p = tn_program_new(ctx, A, B, C);
 *
 * Everything belongs to the context. Functions return NULL on failure, with the message in the context, and
 * NULL when given NULL, so a chain of calls can be checked once at its end. */
#ifndef TENON_TE_H
#define TENON_TE_H

#include "runtime/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_axis tn_axis;
typedef struct tn_tensor tn_tensor;
typedef struct tn_expr tn_expr;
typedef struct tn_program tn_program;
typedef struct tn_combiner tn_combiner;
typedef struct tn_callee tn_callee;

/* ---- arguments: every place that takes an expression also takes an axis or a C number ---------------------------- */

/* TN_ARG_NONE is refused everywhere. TN_ARG_RESULT is only for tn_extern. */
typedef enum tn_arg_kind {
  TN_ARG_NONE,
  TN_ARG_EXPR,
  TN_ARG_AXIS,
  TN_ARG_TENSOR,
  TN_ARG_INT,
  TN_ARG_FLOAT,
  TN_ARG_RESULT
} tn_arg_kind;
/* What TN_ARG makes from an expression, axis, tensor or C number. A plain value that owns nothing. */
typedef struct tn_arg {
  tn_arg_kind kind;
  union {
    tn_expr *expr;
    tn_axis *axis;
    tn_tensor *tensor;
    int64_t i;
    double f;
  } u;
} tn_arg;

/* In words that C++ has, too. */
static inline tn_arg tn_arg_expr(tn_expr *e) {
  tn_arg arg;
  arg.kind = TN_ARG_EXPR;
  arg.u.expr = e;
  return arg;
}

/* What TN_ARG makes from a value by its type. These are plain functions, so that C++ and bindings can call them. */
static inline tn_arg tn_arg_axis(tn_axis *a) {
  tn_arg arg;
  arg.kind = TN_ARG_AXIS;
  arg.u.axis = a;
  return arg;
}
static inline tn_arg tn_arg_tensor(tn_tensor *t) {
  tn_arg arg;
  arg.kind = TN_ARG_TENSOR;
  arg.u.tensor = t;
  return arg;
}
static inline tn_arg tn_arg_int(int64_t i) {
  tn_arg arg;
  arg.kind = TN_ARG_INT;
  arg.u.i = i;
  return arg;
}
static inline tn_arg tn_arg_float(double f) {
  tn_arg arg;
  arg.kind = TN_ARG_FLOAT;
  arg.u.f = f;
  return arg;
}

/* The place of result INDEX among the arguments of a C function: tn_extern(..., A, tn_arg_result(0), 64). */
static inline tn_arg tn_arg_result(int index) {
  tn_arg arg;
  arg.kind = TN_ARG_RESULT;
  arg.u.i = index;
  return arg;
}
static inline tn_arg tn_arg_self(tn_arg arg) { return arg; }

/* clang-format off */
#define TN_ARG(x)                                                                                                  \
  _Generic((x), tn_expr *: tn_arg_expr, tn_axis *: tn_arg_axis, tn_tensor *: tn_arg_tensor, tn_arg: tn_arg_self,   \
           float: tn_arg_float, double: tn_arg_float, bool: tn_arg_int, int: tn_arg_int, long: tn_arg_int,         \
           long long: tn_arg_int, short: tn_arg_int, signed char: tn_arg_int, unsigned: tn_arg_int,                \
           unsigned long: tn_arg_int, unsigned short: tn_arg_int, unsigned char: tn_arg_int)(x)
/* clang-format on */

#define TN_COUNT(...) TN_COUNT_(__VA_ARGS__, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define TN_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, count, ...) count
#define TN_CAT_(a, b) a##b
#define TN_CAT(a, b) TN_CAT_(a, b)
#define TN_ARGS(...) TN_CAT(TN_ARGS_, TN_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TN_ARGS_1(a) TN_ARG(a)
#define TN_ARGS_2(a, ...) TN_ARG(a), TN_ARGS_1(__VA_ARGS__)
#define TN_ARGS_3(a, ...) TN_ARG(a), TN_ARGS_2(__VA_ARGS__)
#define TN_ARGS_4(a, ...) TN_ARG(a), TN_ARGS_3(__VA_ARGS__)
#define TN_ARGS_5(a, ...) TN_ARG(a), TN_ARGS_4(__VA_ARGS__)
#define TN_ARGS_6(a, ...) TN_ARG(a), TN_ARGS_5(__VA_ARGS__)
#define TN_ARGS_7(a, ...) TN_ARG(a), TN_ARGS_6(__VA_ARGS__)
#define TN_ARGS_8(a, ...) TN_ARG(a), TN_ARGS_7(__VA_ARGS__)
#define TN_ARGS_9(a, ...) TN_ARG(a), TN_ARGS_8(__VA_ARGS__)
#define TN_ARGS_10(a, ...) TN_ARG(a), TN_ARGS_9(__VA_ARGS__)
#define TN_ARGS_11(a, ...) TN_ARG(a), TN_ARGS_10(__VA_ARGS__)
#define TN_ARGS_12(a, ...) TN_ARG(a), TN_ARGS_11(__VA_ARGS__)
#define TN_ARGS_13(a, ...) TN_ARG(a), TN_ARGS_12(__VA_ARGS__)
#define TN_ARGS_14(a, ...) TN_ARG(a), TN_ARGS_13(__VA_ARGS__)
#define TN_ARGS_15(a, ...) TN_ARG(a), TN_ARGS_14(__VA_ARGS__)
#define TN_ARGS_16(a, ...) TN_ARG(a), TN_ARGS_15(__VA_ARGS__)
#define TN_ARGS_17(a, ...) TN_ARG(a), TN_ARGS_16(__VA_ARGS__)
#define TN_ARGS_18(a, ...) TN_ARG(a), TN_ARGS_17(__VA_ARGS__)
#define TN_ARGS_19(a, ...) TN_ARG(a), TN_ARGS_18(__VA_ARGS__)
#define TN_ARGS_20(a, ...) TN_ARG(a), TN_ARGS_19(__VA_ARGS__)
#define TN_LIST(...) \
  TN_COUNT(__VA_ARGS__), (const tn_arg[]) { TN_ARGS(__VA_ARGS__) }

/* ---- axes, placeholders, computes -------------------------------------------------------------------------------- */

/* A data axis over [0, extent), 1 <= extent < 2^31; TVM's IterVar of kind DataPar. As a value it is an i32.
 * An axis belongs to the first compute that uses it. A later tn_compute uses a fresh copy with the same
 * name and extent in its place, so i and j can be shared between computes as in TVM's lambdas. The same
 * holds for tn_reduce_axis. */
TN_API tn_axis *tn_axis_new(tn_context *ctx, const char *name, int64_t extent);
/* A reduction axis over [0, extent); TVM's te.reduce_axis. */
TN_API tn_axis *tn_reduce_axis(tn_context *ctx, const char *name, int64_t extent);

/* An input: tn_placeholder(ctx, "A", TN_F32, 64, 128). Without extents it has rank 0. Names are
 * [A-Za-z_][A-Za-z0-9_]*. */
#define tn_placeholder(ctx, name, ...)                                                           \
  tn_placeholder_array((ctx), (name), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                       (const int64_t[]){__VA_ARGS__})
/* Takes N numbers: the dtype, then N-1 extents. */
TN_API tn_tensor *tn_placeholder_array(tn_context *ctx, const char *name, int n, const int64_t *dtype_and_shape);

/* A scalar parameter: an input of rank 0 that the kernel takes by value. It is used like a rank-0 tensor
 * and listed among a program's inputs; its argument in tn_call and tn_evaluate is a rank-0 DLTensor. In the
 * kernel's C function all scalars come after all tensors. As an index it counts as data: such reads are
 * guarded. */
TN_API tn_tensor *tn_scalar(tn_context *ctx, const char *name, tn_dtype dtype);

/* A symbol: a number that becomes known when a kernel is called, from the shapes of its arguments (TVM's
 * te.size_var). As a value it is an i32. It can be used in extents, alone or in an expression of + - * // %
 * min max with numbers and other symbols, and in any other expression. Every symbol of a program must be,
 * by itself, the extent of some dimension of an argument. Its value is in [least, most]; for tn_symbol, 1
 * to 536870911. Tighter limits give faster code: indices can have 32 bits. An extent must be in 1 ..
 * 2147483647 for all values of its symbols. */
TN_API tn_expr *tn_symbol(tn_context *ctx, const char *name);
TN_API tn_expr *tn_symbol_in(tn_context *ctx, const char *name, int64_t least, int64_t most);
/* Axes and placeholders whose extents are numbers or expressions of symbols: tn_axis_of(ctx, "i", M),
 * tn_placeholder_of(ctx, "A", TN_F32, M, tn_add(K, 2)). */
#define tn_axis_of(ctx, name, extent) tn_axis_arg((ctx), (name), TN_ARG(extent))
TN_API tn_axis *tn_axis_arg(tn_context *ctx, const char *name, tn_arg extent);
#define tn_reduce_axis_of(ctx, name, extent) tn_reduce_axis_arg((ctx), (name), TN_ARG(extent))
TN_API tn_axis *tn_reduce_axis_arg(tn_context *ctx, const char *name, tn_arg extent);
#define tn_placeholder_of(ctx, name, dtype, ...) tn_placeholder_args((ctx), (name), (dtype), TN_LIST(__VA_ARGS__))
TN_API tn_tensor *tn_placeholder_args(tn_context *ctx, const char *name, tn_dtype dtype, int n, const tn_arg *extents);
/* Declares that an input is the same in every call, such as a network's weights. Stages that depend only on
 * such inputs can be computed once, before all calls (tn_prepack), in whatever layout suits the kernel.
 * Returns TENSOR; NULL, with a message, if it is computed or passed by value. TVM:
 * layout_free_placeholders. */
TN_API tn_tensor *tn_layout_free(tn_tensor *tensor);
/* Declares that the rows of an input or output need not be contiguous, as in a part of a larger array: its
 * strides, except the last, which stays 1, are taken from each call. All other arguments are compact. A
 * computed tensor that is strided must be an output of each program that contains it. Returns TENSOR; NULL,
 * with a message, if it is passed by value or has rank 0 or 1. Call it before the tensor is in a program.
 * TVM: decl_buffer(strides=[te.var("s"), 1]). */
TN_API tn_tensor *tn_strided(tn_tensor *tensor);

/* A computed tensor: tn_compute(ctx, "C", expression, i, j), with one data axis for each dimension,
 * outermost first; none: rank 0. The expression uses these axes. A reduction (tn_sum ...) that is only a
 * part of it becomes a tensor of its own. For several values (tn_tuple) NAME lists the names. */
#define tn_compute(ctx, name, ...) tn_compute_array((ctx), (name), TN_LIST(__VA_ARGS__))
TN_API tn_tensor *tn_compute_array(tn_context *ctx, const char *name, int n, const tn_arg *expr_and_axes);

/* Reads an element: tn_at(A, i, k), with one integer index for each dimension. A compute with a read that
 * can leave its tensor is refused, unless a select's condition, && or || guards the read, or the index
 * depends on data. If such a read is out of bounds after all, tn_evaluate fails and a kernel reads 0
 * (docs/language.md, Meaning). */
#define tn_at(...) tn_at_array(TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_at_array(int n, const tn_arg *tensor_and_indices);

/* Reductions: tn_sum(expression, k, l). any and all take booleans. Identities: see tir/ir.h. */
#define tn_sum(...) tn_reduction("sum", TN_LIST(__VA_ARGS__))
#define tn_prod(...) tn_reduction("prod", TN_LIST(__VA_ARGS__))
#define tn_max_over(...) tn_reduction("max", TN_LIST(__VA_ARGS__))
#define tn_min_over(...) tn_reduction("min", TN_LIST(__VA_ARGS__))
#define tn_any(...) tn_reduction("any", TN_LIST(__VA_ARGS__))
#define tn_all(...) tn_reduction("all", TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_reduction(const char *combiner, int n, const tn_arg *expr_and_axes);
/* The same reduction over only those points where COND, a bool over any of the axes, holds (TVM's where).
 * Elsewhere the source is not evaluated, so its reads are guarded. tn_where(tn_sum(x, k), tn_lt(k, i)). */
#define tn_where(reduction, cond) tn_reduction_where((reduction), TN_ARG(cond))
TN_API tn_expr *tn_reduction_where(tn_expr *reduction, tn_arg cond);
/* The same reduction starting from INIT instead of the identity (TVM's init). INIT has its dtype and uses
 * data axes only. */
#define tn_init(reduction, init) tn_reduction_init((reduction), TN_ARG(init))
TN_API tn_expr *tn_reduction_init(tn_expr *reduction, tn_arg init);

/* ---- several values at once -------------------------------------------------------------------------------------- */

/* Values computed together: tensors of one shape, over the same axes. They are named together, and tn_compute returns
 * the first one (1 to 8 values, none a reduction):
 *
 *     tn_tensor *S = tn_compute(ctx, "S, D", tn_tuple(tn_add(a, b), tn_sub(a, b)), i), *D = tn_output(S, 1); */
#define tn_tuple(...) tn_tuple_array(TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_tuple_array(int n, const tn_arg *values);
/* The tensor of value INDEX of the definition that TENSOR belongs to. */
TN_API tn_tensor *tn_output(tn_tensor *tensor, int index);

/* Finds the greatest or least element over the axes: the pair (index, value). Among equal values the least
 * index wins, whatever the schedule. A NaN never wins. If no element wins (the condition never holds, or
 * all are NaN), the index is -1 and the value -inf or +inf (for integers the lowest or highest). The index
 * is the element's position, an i32, in the order of the axes; tn_argmax(tn_tuple(index, x), k) gives
 * another integer instead, compared as unsigned.
 *
 *     tn_tensor *I = tn_compute(ctx, "I, V", tn_argmax(tn_at(X, i, k), k), i), *V = tn_output(I, 1);
 *
 * With one name, "I", the values are computed but cannot be read. */
#define tn_argmax(...) tn_reduction("argmax", TN_LIST(__VA_ARGS__))
#define tn_argmin(...) tn_reduction("argmin", TN_LIST(__VA_ARGS__))

/* How a reduction of tuples combines them (TVM: te.comm_reducer): the values' dtypes (not f16 nor bf16),
 * results that use only tn_lhs and tn_rhs, and constants that are the identity.
 *
 *     tn_combiner *c = tn_combiner_new(ctx, "complex_prod", TN_F32, TN_F32);
 *     tn_expr *ar = tn_lhs(c, 0), *ai = tn_lhs(c, 1), *br = tn_rhs(c, 0), *bi = tn_rhs(c, 1);
 *     tn_combiner_results(c, tn_sub(tn_mul(ar, br), tn_mul(ai, bi)), tn_add(tn_mul(ar, bi), tn_mul(ai, br)));
 *     tn_combiner_identity(c, 1, 0);
 *     tn_tensor *P = tn_compute(ctx, "PR, PI", tn_reduce(c, tn_tuple(tn_at(R, i, k), tn_at(I, i, k)), k), i);
 *
 * Schedules change the order, so combining must be associative and commutative (for floats up to rounding),
 * and the identity must be one. tn_reduce tries this on some hundred finite values like those of its
 * sources. It refuses a combiner that fails, and shows the values; beyond that the combiner is trusted. */
#define tn_combiner_new(ctx, name, ...)                                                         \
  tn_combiner_array((ctx), (name), (int)(sizeof((tn_dtype[]){__VA_ARGS__}) / sizeof(tn_dtype)), \
                    (const tn_dtype[]){__VA_ARGS__})
TN_API tn_combiner *tn_combiner_array(tn_context *ctx, const char *name, int n, const tn_dtype *dtypes);
/* Value VALUE (from 0) of the left or right operand, for use in the results. */
TN_API tn_expr *tn_lhs(tn_combiner *combiner, int value);
TN_API tn_expr *tn_rhs(tn_combiner *combiner, int value);
/* Both return COMBINER, or NULL. */
#define tn_combiner_results(combiner, ...) tn_combiner_results_array((combiner), TN_LIST(__VA_ARGS__))
TN_API tn_combiner *tn_combiner_results_array(tn_combiner *combiner, int n, const tn_arg *results);
#define tn_combiner_identity(combiner, ...) tn_combiner_identity_array((combiner), TN_LIST(__VA_ARGS__))
TN_API tn_combiner *tn_combiner_identity_array(tn_combiner *combiner, int n, const tn_arg *values);
/* tn_reduce(combiner, sources, k, l): SOURCES is a tuple with a source for each value (an expression if
 * there is one). tn_where applies to all of them; tn_init takes a tuple, too. */
#define tn_reduce(combiner, ...) tn_reduce_array((combiner), TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_reduce_array(tn_combiner *combiner, int n, const tn_arg *sources_and_axes);

/* Recurrences (TVM: te.scan). A state is a tensor that its own definition reads at earlier times; the time is its
 * first dimension. tn_state declares it, so that other computes can read it, and tn_scan defines it:
 *
 *     tn_tensor *S = tn_state(ctx, "S", TN_F32, T, N);
 *     tn_scan(S, tn_select(tn_lt(t, 1), tn_at(X, t, i), tn_add(tn_at(S, tn_sub(t, 1), i), tn_at(X, t, i))), t, i);
 *
 * Intermediate results of a step can be computes of their own, with the time as first dimension. They are
 * computed step by step with the scan, and nothing else may read them. A state is read at t - c with c >=
 * 1, such a compute at t - c with c >= 0; a read before time 0 needs a guard like any other (select,
 * where). The body must not be a reduction. "C, H" declares several states of one shape that are defined
 * together: the body is a tn_tuple, and tn_output gives the others. */
#define tn_state(ctx, names, ...)                                                           \
  tn_state_array((ctx), (names), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                 (const int64_t[]){__VA_ARGS__})
TN_API tn_tensor *tn_state_array(tn_context *ctx, const char *names, int n, const int64_t *dtype_and_shape);
#define tn_scan(state, ...) tn_scan_array((state), TN_LIST(__VA_ARGS__))
TN_API tn_tensor *tn_scan_array(tn_tensor *state, int n, const tn_arg *expr_and_axes);

/* ---- stages that are a call of a C function (TVM: te.extern) ----------------------------------------------------- */

/* A function `void NAME(const T *input ..., T *result ...)` of compact row-major arrays: inputs first, in
 * the order of tn_extern, unless tn_extern gives the results other places. bool is uint8_t; f16 and bf16
 * are uint16_t. Scalars and numbers (i32, i64, f32, f64) are passed by value. The function must read only
 * its inputs, write all of its results without reading them first, keep no address, and return. It is
 * called once in each run of a kernel. Where the function comes from:
 *   tn_callee_function  an address in this process; exported objects and C source leave the symbol NAME undefined
 *   tn_callee_llvm      LLVM IR, text or bitcode, that defines NAME; it is linked into what is built
 *   tn_callee_symbol    nowhere yet; what is exported leaves NAME undefined
 * BYTES of MODULE are copied. */
TN_API tn_callee *tn_callee_function(tn_context *ctx, const char *name, void (*function)(void));
TN_API tn_callee *tn_callee_llvm(tn_context *ctx, const char *name, const void *module, size_t bytes);
TN_API tn_callee *tn_callee_symbol(tn_context *ctx, const char *name);

/* A tensor that a C function computes. */
typedef struct tn_result {
  const char *name;
  tn_dtype dtype;
  int rank;
  int64_t shape[TN_MAX_RANK];
  /* an extent that is made of symbols, in the place of SHAPE's; NULL: there is none */
  const tn_expr *size[TN_MAX_RANK];
} tn_result;

/* The tensors that CALLEE computes from others. Returns the first; tn_output gives the rest:
 *
 *     tn_callee *gemv = tn_callee_function(ctx, "my_gemv", (void (*)(void))my_gemv);
 *     tn_tensor *y = tn_extern(ctx, gemv, TN_RESULT("y", TN_F32, 64), A, x);              my_gemv(A, x, y)
 *     const tn_result two[] = {{"y", TN_F32, 1, .shape = {64}}, {"n", TN_I32, 0, .shape = {0}}};
 *     tn_tensor *z = tn_extern(ctx, other, TN_RESULTS(two), A), *n = tn_output(z, 1);     other(A, y, n)
 *
 * Arguments are tensors, C numbers (i32, or i64 if too large for that; f32), constants of another dtype
 * (tn_const(ctx, TN_F64, 1)) and, if the results do not come last, a tn_arg_result for each:
 *
 *     tn_extern(ctx, gemv, TN_RESULT("y", TN_F32, 64), 64, 32, A, 32, x, tn_arg_result(0))       gemv(64, 32, A, 32, x, y)
 *
 * Extents and numbers may be made of symbols. Such numbers are passed as i32, or as what tn_cast makes of
 * them. With a symbol M, and A of extents M and 32:
 *
 *     const tn_result one[] = {{"y", TN_F32, 1, .size = {M}}};
 *     tn_extern(ctx, gemv, TN_RESULTS(one), M, tn_cast(TN_I64, tn_mul(M, 32)), A, x)         gemv(M, M*32, A, x, y)
 *
 * Such a stage has no loops to schedule. What it reads and writes is whole, contiguous and in memory.
 * Without inputs:
 * tn_extern_array(ctx, callee, TN_RESULTS(two), 0, NULL). */
#define TN_RESULT(name, dtype, ...)                                                                \
  1, &(const tn_result) {                                                                          \
    (name), (dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}, {0} \
  }
#define TN_RESULTS(array) (int)(sizeof(array) / sizeof *(array)), (array)
#define tn_extern(ctx, callee, results, ...) tn_extern_array((ctx), (callee), results, TN_LIST(__VA_ARGS__))
TN_API tn_tensor *tn_extern_array(tn_context *ctx, tn_callee *callee, int n_results, const tn_result *results, int n,
                                  const tn_arg *args);

/* ---- tensor intrinsics (TVM: te.decl_tensor_intrin) -------------------------------------------------------------- */

/* A C function: the name by which exported code calls it, and its address, or NULL if code is only exported. */
typedef struct tn_intrin_function {
  const char *name; /* NULL: there is no such function */
  void (*function)(void);
} tn_intrin_function;

/* void f(T *output, const T *input ..., int64_t stride ...): the strides, in elements, of each dimension of
 * the output, then of each input, in the pattern's order. BODY writes the output. RESET, which has no
 * inputs, writes what the reduction starts from. UPDATE combines the output with what BODY would write. A
 * reduction needs UPDATE. It may also have BODY, which is used where the whole reduction is inside, and
 * RESET, which initialises; both are loops otherwise. Anything else has only BODY. The functions touch
 * nothing but the pattern's elements, keep no pointers, and may run on several threads at once. */
typedef struct tn_intrin_functions {
  tn_intrin_function body, reset, update;
} tn_intrin_functions;

/* What the functions need of an operand; tensorize refuses loops that do not provide it. TVM: decl_buffer's
 * data_alignment and strides. */
typedef struct tn_intrin_operand {
  const char *name; /* in the pattern: "a" */
  int align; /* the first element's address is a multiple of so many bytes: 1 to 64, a power of two; 0: an element's */
  int n_strides;          /* 0, or the tensor's rank */
  const int64_t *strides; /* of each dimension, in elements; 0: any */
} tn_intrin_operand;

/* Declares an intrinsic for this context. TVM: decl_tensor_intrin. PATTERN is the text of a program with
 * one computed tensor, whose inputs are read at plain axes: "c[m<16] = sum[l<64](a[l] * b[m,l])". Functions
 * with an address are called here with random numbers and compared with the pattern. TN_ERROR_ARGUMENT: a
 * name that is invalid or taken, functions that are missing or compute something else. TN_ERROR_PARSE,
 * TN_ERROR_SCHEDULE: not a pattern. */
TN_API tn_status tn_intrin_new(tn_context *ctx, const char *name, const char *pattern,
                               const tn_intrin_functions *functions);
/* The same for functions with needs of some operands. The text form has the statement `intrin`
 * (docs/language.md), which names functions without addresses; tn_program_link_files gives their code. */
TN_API tn_status tn_intrin_declare(tn_context *ctx, const char *name, const char *pattern,
                                   const tn_intrin_functions *functions, int n_operands,
                                   const tn_intrin_operand *operands);

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Operand types are unified as in TVM. Two floats: the wider. Int and float: the float. Integers of equal
 * signedness: the wider; of mixed signedness: the wider, at equal width the unsigned one. Bool with another
 * type: the other. A C number takes the other operand's dtype if it fits (a float number beside integers
 * gives f32). At least one operand must not be a C number. Arithmetic on booleans, functions such as exp of
 * integers, and numbers as conditions are refused: write the cast or x != 0. OP is the operator or function
 * of the text form ("+", "min", "exp", ...). */
TN_API tn_expr *tn_operator(const char *op, int n, const tn_arg *operands);
#define tn_add(a, b) tn_operator("+", TN_LIST(a, b))
#define tn_sub(a, b) tn_operator("-", TN_LIST(a, b))
#define tn_mul(a, b) tn_operator("*", TN_LIST(a, b))
#define tn_div(a, b) tn_operator("/", TN_LIST(a, b)) /* floats; two integers are refused: use tn_floordiv */
#define tn_floordiv(a, b) tn_operator("//", TN_LIST(a, b))
#define tn_floormod(a, b) tn_operator("%", TN_LIST(a, b))
#define tn_minimum(a, b) tn_operator("min", TN_LIST(a, b))
#define tn_maximum(a, b) tn_operator("max", TN_LIST(a, b))
#define tn_pow(a, b) tn_operator("pow", TN_LIST(a, b))
#define tn_eq(a, b) tn_operator("==", TN_LIST(a, b))
#define tn_ne(a, b) tn_operator("!=", TN_LIST(a, b))
#define tn_lt(a, b) tn_operator("<", TN_LIST(a, b))
#define tn_le(a, b) tn_operator("<=", TN_LIST(a, b))
#define tn_gt(a, b) tn_operator(">", TN_LIST(a, b))
#define tn_ge(a, b) tn_operator(">=", TN_LIST(a, b))
#define tn_and(a, b) tn_operator("&&", TN_LIST(a, b))
#define tn_or(a, b) tn_operator("||", TN_LIST(a, b))
#define tn_not(a) tn_operator("!", TN_LIST(a))
#define tn_neg(a) tn_operator("neg", TN_LIST(a))
#define tn_select(c, a, b) tn_operator("select", TN_LIST(c, a, b))
#define tn_exp(a) tn_operator("exp", TN_LIST(a))
#define tn_log(a) tn_operator("log", TN_LIST(a))
#define tn_sqrt(a) tn_operator("sqrt", TN_LIST(a))
#define tn_rsqrt(a) tn_operator("rsqrt", TN_LIST(a))
#define tn_tanh(a) tn_operator("tanh", TN_LIST(a))
#define tn_sigmoid(a) tn_operator("sigmoid", TN_LIST(a))
#define tn_erf(a) tn_operator("erf", TN_LIST(a))
#define tn_sin(a) tn_operator("sin", TN_LIST(a))
#define tn_cos(a) tn_operator("cos", TN_LIST(a))
#define tn_abs(a) tn_operator("abs", TN_LIST(a))
#define tn_floor(a) tn_operator("floor", TN_LIST(a))
#define tn_ceil(a) tn_operator("ceil", TN_LIST(a))
#define tn_round(a) tn_operator("round", TN_LIST(a))
#define tn_if_then_else(c, a, b) tn_operator("if_then_else", TN_LIST(c, a, b)) /* another name of select */
#define tn_bitand(a, b) tn_operator("&", TN_LIST(a, b))                        /* integers: so are all down to clz */
#define tn_bitor(a, b) tn_operator("|", TN_LIST(a, b))
#define tn_bitxor(a, b) tn_operator("^", TN_LIST(a, b))
#define tn_bitnot(a) tn_operator("~", TN_LIST(a))
#define tn_shl(a, b) tn_operator("<<", TN_LIST(a, b)) /* total: see tir/ir.h */
#define tn_shr(a, b) tn_operator(">>", TN_LIST(a, b))
#define tn_popcount(a) tn_operator("popcount", TN_LIST(a))
#define tn_clz(a) tn_operator("clz", TN_LIST(a))
#define tn_exp2(a) tn_operator("exp2", TN_LIST(a))
#define tn_exp10(a) tn_operator("exp10", TN_LIST(a))
#define tn_log2(a) tn_operator("log2", TN_LIST(a))
#define tn_log10(a) tn_operator("log10", TN_LIST(a))
#define tn_log1p(a) tn_operator("log1p", TN_LIST(a))
#define tn_tan(a) tn_operator("tan", TN_LIST(a))
#define tn_sinh(a) tn_operator("sinh", TN_LIST(a))
#define tn_cosh(a) tn_operator("cosh", TN_LIST(a))
#define tn_asin(a) tn_operator("asin", TN_LIST(a))
#define tn_acos(a) tn_operator("acos", TN_LIST(a))
#define tn_atan(a) tn_operator("atan", TN_LIST(a))
#define tn_asinh(a) tn_operator("asinh", TN_LIST(a))
#define tn_acosh(a) tn_operator("acosh", TN_LIST(a))
#define tn_atanh(a) tn_operator("atanh", TN_LIST(a))
#define tn_trunc(a) tn_operator("trunc", TN_LIST(a))
#define tn_nearbyint(a) tn_operator("nearbyint", TN_LIST(a))
#define tn_atan2(a, b) tn_operator("atan2", TN_LIST(a, b))
#define tn_hypot(a, b) tn_operator("hypot", TN_LIST(a, b))
#define tn_fmod(a, b) tn_operator("fmod", TN_LIST(a, b))
#define tn_copysign(a, b) tn_operator("copysign", TN_LIST(a, b))
#define tn_isnan(a) tn_operator("isnan", TN_LIST(a))
#define tn_isinf(a) tn_operator("isinf", TN_LIST(a))
#define tn_isfinite(a) tn_operator("isfinite", TN_LIST(a))
/* A cast: tn_cast(TN_I32, x). */
#define tn_cast(dtype, a) tn_cast_arg((dtype), TN_ARG(a))
TN_API tn_expr *tn_cast_arg(tn_dtype dtype, tn_arg a);
/* A constant of a given dtype. */
TN_API tn_expr *tn_const(tn_context *ctx, tn_dtype dtype, double value);

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* The graph that computes some tensors: tn_program_new(ctx, A, B, C), with inputs (placeholders) first,
 * then outputs. This is the kernel's argument order. Refused are an input that no output needs, a needed
 * placeholder that is missing, an output before an input, and two tensors, or two axes of one stage, with
 * the same name. */
#define tn_program_new(ctx, ...) tn_program_array((ctx), TN_LIST(__VA_ARGS__))
TN_API tn_program *tn_program_array(tn_context *ctx, int n, const tn_arg *tensors);

/* A value for a number that a program's text names. */
typedef struct tn_param {
  const char *name;
  int64_t value;
} tn_param;

/* Parses the text form (docs/language.md): statements (param, input, scalar, symbol, state, combiner,
 * extern, intrin, schedule, output) and definitions. PARAMS override `param` statements by name and give
 * values to symbols, which makes them constants; an unknown name is refused. The message of a parse error
 * shows the line, a caret and what was expected. */
TN_API tn_program *tn_program_parse(tn_context *ctx, const char *text, int n_params, const tn_param *params);
/* The same for the file PATH. Unlike a text, a file may include others and name LLVM IR to link (`include
 * "other.te"`, `link "f.ll"`). What it includes is opened here; what it links, by tn_program_link_files.
 * Messages name the file. */
TN_API tn_program *tn_program_parse_file(tn_context *ctx, const char *path, int n_params, const tn_param *params);
/* The text of the program's `schedule { ... }` blocks, in order; NULL: it has none. It belongs neither to
 * the canonical text nor to the key, since it says how to compute and not what. tn_schedule_apply_own
 * applies it. Owned by the context. */
TN_API const char *tn_program_schedule(const tn_program *program);
/* The files that the program's `link` statements name, relative to the program's file; NULL outside of 0 ..
 * count - 1. */
TN_API int tn_program_link_count(const tn_program *program);
TN_API const char *tn_program_link_path(const tn_program *program, int index);

/* The text of a program or a schedule in Tenon's one layout. Only blanks, indentation and empty lines
 * change; comments stay. The text need not parse. malloc'ed; NULL with a message: brackets that do not
 * match, or a character that no text has. Formatting the result gives the same text. */
TN_API TN_GIVE char *tn_format(tn_context *ctx, const char *text);

/* Gives a function that the program calls (`extern y: f32[64] = gemv(A, x)` in text) an address in this
 * process, for kernels in memory and for tn_evaluate. */
TN_API tn_status tn_program_bind(tn_program *program, const char *name, void (*function)(void));
/* Gives such a function a body in LLVM IR, text or bitcode, which is linked into what is built from now on.
 * Copies it. */
TN_API tn_status tn_program_link(tn_program *program, const char *name, const void *module, size_t bytes);

/* The canonical text form: parsing it gives the same program, and printing that gives the same text. Owned
 * by the context. */
TN_API const char *tn_program_text(const tn_program *program);
/* 16 hex digits: a hash of the canonical text. Owned by the context. */
TN_API const char *tn_program_key(const tn_program *program);
/* Arguments: inputs, then outputs. */
TN_API int tn_program_arg_count(const tn_program *program);
TN_API int tn_program_input_count(const tn_program *program);
/* NULL outside of 0 .. count - 1. */
TN_API tn_tensor *tn_program_arg(const tn_program *program, int index);
TN_API tn_tensor *tn_program_find(const tn_program *program, const char *tensor_name); /* NULL: none, no message */
/* The arithmetic operations of one run, counted as TVM's FlopEstimator does (reference: AS/compute_dag.cc);
 * 0 for a program with symbols. */
TN_API double tn_program_flops(const tn_program *program);
/* The bytes of inputs and outputs that one run must move at least: each element once; for an input that is
 * read fewer times than it has elements (a gather), as many as are read. Intermediate tensors do not count.
 * 0 for a program with symbols. */
TN_API double tn_program_bytes(const tn_program *program);

/* For NULL the four below return NULL, TN_DTYPE_COUNT, 0 and NULL. Names and shapes belong to the context. */
TN_API const char *tn_tensor_name(const tn_tensor *tensor);
TN_API tn_dtype tn_tensor_dtype(const tn_tensor *tensor);
TN_API int tn_tensor_rank(const tn_tensor *tensor);
/* For an extent that depends on symbols: the most it can be. */
TN_API const int64_t *tn_tensor_shape(const tn_tensor *tensor);
/* The number of symbols on which a program's extents depend. */
TN_API int tn_program_symbol_count(const tn_program *program);

/* Runs the program by walking its graph, one element at a time: the reference. It shares no code with
 * lowering. Floats are computed in double and rounded when stored, integers exactly. ARGS are as for the
 * kernel (tn_program_arg); symbols get their values from the arguments' shapes. */
TN_API tn_status tn_evaluate(tn_program *program, DLTensor *const *args, int n_args);
/* Computes one element of one tensor on demand from the inputs (outputs in ARGS are ignored and may be NULL). */
TN_API tn_status tn_evaluate_at(tn_program *program, DLTensor *const *args, int n_args, const tn_tensor *tensor,
                                const int64_t *index, double *value);

#ifdef __cplusplus
}
#endif
#endif
