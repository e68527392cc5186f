/* tenon/te.h: tensor expressions: axes, placeholders, computes and reductions in C without callbacks; the same as text;
 * the reference evaluator. The words are TVM's (te.placeholder, te.compute, te.reduce_axis, te.sum).
 *
 *     tn_axis *i = tn_axis_new(ctx, "i", 1024), *j = tn_axis_new(ctx, "j", 1024), *k = tn_reduce_axis(ctx, "k", 1024);
 *     tn_tensor *A = tn_placeholder(ctx, "A", TN_F32, 1024, 1024), *B = tn_placeholder(ctx, "B", TN_F32, 1024, 1024);
 *     tn_tensor *C = tn_compute(ctx, "C", tn_sum(tn_mul(tn_at(A, i, k), tn_at(B, k, j)), k), i, j);
 *     tn_program *p = tn_program_new(ctx, A, B, C);
 *
 * Everything is owned by the context. Functions return NULL on failure, with the message in the context, and NULL when
 * given NULL, so a chain is checked once at its end. */
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

/* TN_ARG_NONE is no argument and is refused. TN_ARG_RESULT is for tn_extern alone. */
typedef enum tn_arg_kind {
  TN_ARG_NONE,
  TN_ARG_EXPR,
  TN_ARG_AXIS,
  TN_ARG_TENSOR,
  TN_ARG_INT,
  TN_ARG_FLOAT,
  TN_ARG_RESULT
} tn_arg_kind;
/* What TN_ARG makes of an expression, axis, tensor or C number. A value: nothing is owned by it. */
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

/* What TN_ARG makes of a value by its type. Plain functions, so that C++ and bindings can call them. */
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

/* A data axis over [0, extent), 1 <= extent < 2^31; TVM's IterVar of kind DataPar. As a value it is i32. An axis
 * belongs to the first compute that uses it; a later tn_compute takes a fresh copy (same name, same extent) in its
 * place, so i and j can be shared between computes as in TVM's lambdas. tn_reduce_axis likewise. */
TN_API tn_axis *tn_axis_new(tn_context *ctx, const char *name, int64_t extent);
/* A reduction axis over [0, extent); TVM's te.reduce_axis. */
TN_API tn_axis *tn_reduce_axis(tn_context *ctx, const char *name, int64_t extent);

/* An input: tn_placeholder(ctx, "A", TN_F32, 64, 128); no extents: rank 0. Names are [A-Za-z_][A-Za-z0-9_]*. */
#define tn_placeholder(ctx, name, ...)                                                           \
  tn_placeholder_array((ctx), (name), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                       (const int64_t[]){__VA_ARGS__})
/* N numbers: the dtype, then N-1 extents. */
TN_API tn_tensor *tn_placeholder_array(tn_context *ctx, const char *name, int n, const int64_t *dtype_and_shape);

/* A scalar parameter: an input of rank 0 that the kernel takes by value. It is used like a rank-0 tensor and listed
 * among the inputs of a program; its argument in tn_call and tn_evaluate is a rank-0 DLTensor. In the kernel's C
 * function all scalars stand behind all tensors. As an index it counts as data: reads there are guarded. */
TN_API tn_tensor *tn_scalar(tn_context *ctx, const char *name, tn_dtype dtype);

/* A symbol: a number that is known when a kernel is called, from the shapes of its arguments (TVM's te.size_var). As
 * a value it is i32. It stands in extents, alone or in an expression of + - * // % min max with numbers and other
 * symbols, and may stand in any other expression. Every symbol of a program must be, alone, the extent of some
 * dimension of an argument. Its value is in [least, most]; tn_symbol: 1 to 536870911. Tighter limits make tighter
 * code: with small ones indices have 32 bits. An extent must be in 1 .. 2147483647 for all values that its symbols
 * can have. */
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
/* Declares an input constant from call to call, such as a network's weights: stages that depend on such inputs alone
 * can be computed once, before all calls (tn_prepack), in whatever layout suits the kernel. Returns TENSOR; NULL,
 * with a message, for one that is computed or passed by value. TVM: layout_free_placeholders. */
TN_API tn_tensor *tn_layout_free(tn_tensor *tensor);
/* Declares an input or an output whose rows need not be dense, such as a part of a larger array: its strides, but the
 * last, which stays 1, are found when a kernel is called. Without this arguments are compact. What is computed and
 * strided has to be an output of each program that it is in. Returns TENSOR; NULL, with a message, for one that is
 * passed by value, or of rank 0 or 1. To be called before the tensor is in a program. TVM:
 * decl_buffer(strides=[te.var("s"),
 * 1]). */
TN_API tn_tensor *tn_strided(tn_tensor *tensor);

/* A computed tensor: tn_compute(ctx, "C", expression, i, j): one data axis a dimension, outermost first; none: rank
 * 0. The expression uses these axes; it may be a reduction (tn_sum ...) at its top level only. Of several values
 * (tn_tuple) NAME lists the names. */
#define tn_compute(ctx, name, ...) tn_compute_array((ctx), (name), TN_LIST(__VA_ARGS__))
TN_API tn_tensor *tn_compute_array(tn_context *ctx, const char *name, int n, const tn_arg *expr_and_axes);

/* Reads an element: tn_at(A, i, k). One index a dimension, integers. A compute whose read can leave the tensor is
 * refused, unless a select's condition, && or || guards the read or the index depends on data: where such a read is
 * outside after all, tn_evaluate fails and a kernel gets 0 (docs/language.md, Meaning). */
#define tn_at(...) tn_at_array(TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_at_array(int n, const tn_arg *tensor_and_indices);

/* Reductions: tn_sum(expression, k, l). any and all are over booleans. Identities: see tir/ir.h. */
#define tn_sum(...) tn_reduction("sum", TN_LIST(__VA_ARGS__))
#define tn_prod(...) tn_reduction("prod", TN_LIST(__VA_ARGS__))
#define tn_max_over(...) tn_reduction("max", TN_LIST(__VA_ARGS__))
#define tn_min_over(...) tn_reduction("min", TN_LIST(__VA_ARGS__))
#define tn_any(...) tn_reduction("any", TN_LIST(__VA_ARGS__))
#define tn_all(...) tn_reduction("all", TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_reduction(const char *combiner, int n, const tn_arg *expr_and_axes);
/* The same reduction over the points where COND, a bool over any of the axes, holds (TVM's where); elsewhere the source
 * is not looked at: its reads are guarded. tn_where(tn_sum(x, k), tn_lt(k, i)). */
#define tn_where(reduction, cond) tn_reduction_where((reduction), TN_ARG(cond))
TN_API tn_expr *tn_reduction_where(tn_expr *reduction, tn_arg cond);
/* The same reduction starting from INIT instead of the identity (TVM's init): of its dtype, over data axes only. */
#define tn_init(reduction, init) tn_reduction_init((reduction), TN_ARG(init))
TN_API tn_expr *tn_reduction_init(tn_expr *reduction, tn_arg init);

/* ---- several values at once -------------------------------------------------------------------------------------- */

/* Values computed together: tensors of one shape, over the same axes. They are named together, and tn_compute returns
 * the first one (1 to 8 values, none a reduction):
 *
 *     tn_tensor *S = tn_compute(ctx, "S, D", tn_tuple(tn_add(a, b), tn_sub(a, b)), i), *D = tn_output(S, 1); */
#define tn_tuple(...) tn_tuple_array(TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_tuple_array(int n, const tn_arg *values);
/* The tensor of value INDEX of the definition that TENSOR is of. */
TN_API tn_tensor *tn_output(tn_tensor *tensor, int index);

/* Where the greatest or least element is, over the axes: the pair (index, value). Of equal values the one with the
 * least index wins, whatever the schedule; a NaN never wins; where nothing does (a condition that never holds, NaN
 * alone), the index is -1 and the value -inf or +inf (of integers the lowest or highest). The index is the element's
 * position, an i32, in the order of the axes; tn_argmax(tn_tuple(index, x), k) gives another integer, compared as
 * unsigned.
 *
 *     tn_tensor *I = tn_compute(ctx, "I, V", tn_argmax(tn_at(X, i, k), k), i), *V = tn_output(I, 1);
 *
 * With one name, "I", the values are computed but cannot be read. */
#define tn_argmax(...) tn_reduction("argmax", TN_LIST(__VA_ARGS__))
#define tn_argmin(...) tn_reduction("argmin", TN_LIST(__VA_ARGS__))

/* How a reduction of tuples combines them (TVM: te.comm_reducer): values of these dtypes, not f16 nor bf16; results
 * over tn_lhs and tn_rhs alone; constants that are the identity.
 *
 *     tn_combiner *c = tn_combiner_new(ctx, "complex_prod", TN_F32, TN_F32);
 *     tn_expr *ar = tn_lhs(c, 0), *ai = tn_lhs(c, 1), *br = tn_rhs(c, 0), *bi = tn_rhs(c, 1);
 *     tn_combiner_results(c, tn_sub(tn_mul(ar, br), tn_mul(ai, bi)), tn_add(tn_mul(ar, bi), tn_mul(ai, br)));
 *     tn_combiner_identity(c, 1, 0);
 *     tn_tensor *P = tn_compute(ctx, "PR, PI", tn_reduce(c, tn_tuple(tn_at(R, i, k), tn_at(I, i, k)), k), i);
 *
 * Schedules change the order, so combining must be associative and commutative (floats up to rounding), and the
 * identity must be one. tn_reduce tries that on some hundred values such as its sources have, finite ones, and refuses
 * a combiner that is shown to fail, with the values; beyond that it is trusted. */
#define tn_combiner_new(ctx, name, ...)                                                         \
  tn_combiner_array((ctx), (name), (int)(sizeof((tn_dtype[]){__VA_ARGS__}) / sizeof(tn_dtype)), \
                    (const tn_dtype[]){__VA_ARGS__})
TN_API tn_combiner *tn_combiner_array(tn_context *ctx, const char *name, int n, const tn_dtype *dtypes);
/* Value VALUE (from 0) of the left or right operand, for the results. */
TN_API tn_expr *tn_lhs(tn_combiner *combiner, int value);
TN_API tn_expr *tn_rhs(tn_combiner *combiner, int value);
/* They return COMBINER, or NULL. */
#define tn_combiner_results(combiner, ...) tn_combiner_results_array((combiner), TN_LIST(__VA_ARGS__))
TN_API tn_combiner *tn_combiner_results_array(tn_combiner *combiner, int n, const tn_arg *results);
#define tn_combiner_identity(combiner, ...) tn_combiner_identity_array((combiner), TN_LIST(__VA_ARGS__))
TN_API tn_combiner *tn_combiner_identity_array(tn_combiner *combiner, int n, const tn_arg *values);
/* tn_reduce(combiner, sources, k, l): SOURCES is a tuple of as many values (an expression where there is one). tn_where
 * holds for all of them; tn_init takes a tuple, too. */
#define tn_reduce(combiner, ...) tn_reduce_array((combiner), TN_LIST(__VA_ARGS__))
TN_API tn_expr *tn_reduce_array(tn_combiner *combiner, int n, const tn_arg *sources_and_axes);

/* Recurrences (TVM: te.scan). A state is a tensor that its own definition reads at earlier times; the time is its
 * first dimension. tn_state declares it, so that other computes can read it, and tn_scan defines it:
 *
 *     tn_tensor *S = tn_state(ctx, "S", TN_F32, T, N);
 *     tn_scan(S, tn_select(tn_lt(t, 1), tn_at(X, t, i), tn_add(tn_at(S, tn_sub(t, 1), i), tn_at(X, t, i))), t, i);
 *
 * What lies between two times can be computes of their own, with the time as first dimension; they are computed step by
 * step with the scan, and nothing else may read them. A state is read at t - c, c >= 1, such a compute at t - c, c >=
 * 0; a read before time 0 is guarded like any other (select, where). The body is no reduction. "C, H": several states
 * that are defined together, of one shape; the rest by tn_output, the body is a tn_tuple. */
#define tn_state(ctx, names, ...)                                                           \
  tn_state_array((ctx), (names), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                 (const int64_t[]){__VA_ARGS__})
TN_API tn_tensor *tn_state_array(tn_context *ctx, const char *names, int n, const int64_t *dtype_and_shape);
#define tn_scan(state, ...) tn_scan_array((state), TN_LIST(__VA_ARGS__))
TN_API tn_tensor *tn_scan_array(tn_tensor *state, int n, const tn_arg *expr_and_axes);

/* ---- stages that are a call of a C function (TVM: te.extern) ----------------------------------------------------- */

/* The function `void NAME(const T *input ..., T *result ...)`: compact row-major arrays, inputs first, in the order of
 * tn_extern, unless tn_extern gives the results other places; bool is uint8_t, f16 and bf16 are uint16_t. A scalar
 * and a number (i32, i64, f32, f64) are passed by value. The function reads all of its inputs and nothing else, writes
 * all of its results, does not read them first, keeps no address and returns. It is called once in each run of a
 * kernel. Where it is:
 *   tn_callee_function  an address in this process; exported objects and C source leave the symbol NAME open
 *   tn_callee_llvm      LLVM IR, text or bitcode, that defines NAME: it is linked into what is built, which holds it then
 *   tn_callee_symbol    nowhere yet: what is exported leaves NAME open
 * BYTES of MODULE are copied. */
TN_API tn_callee *tn_callee_function(tn_context *ctx, const char *name, void (*function)(void));
TN_API tn_callee *tn_callee_llvm(tn_context *ctx, const char *name, const void *module, size_t bytes);
TN_API tn_callee *tn_callee_symbol(tn_context *ctx, const char *name);

/* A tensor that a function computes. */
typedef struct tn_result {
  const char *name;
  tn_dtype dtype;
  int rank;
  int64_t shape[TN_MAX_RANK];
  /* an extent that is made of symbols, in the place of SHAPE's; NULL: there is none */
  const tn_expr *size[TN_MAX_RANK];
} tn_result;

/* The tensors that CALLEE computes of some others; the first one, the rest by tn_output:
 *
 *     tn_callee *gemv = tn_callee_function(ctx, "my_gemv", (void (*)(void))my_gemv);
 *     tn_tensor *y = tn_extern(ctx, gemv, TN_RESULT("y", TN_F32, 64), A, x);              my_gemv(A, x, y)
 *     const tn_result two[] = {{"y", TN_F32, 1, .shape = {64}}, {"n", TN_I32, 0, .shape = {0}}};
 *     tn_tensor *z = tn_extern(ctx, other, TN_RESULTS(two), A), *n = tn_output(z, 1);     other(A, y, n)
 *
 * Arguments are tensors, C numbers (i32, or i64 where it is too large; f32), constants of another dtype
 * (tn_const(ctx, TN_F64, 1)), and, where the results are not to stand behind all others, tn_arg_result of each:
 *
 *     tn_extern(ctx, gemv, TN_RESULT("y", TN_F32, 64), 64, 32, A, 32, x, tn_arg_result(0))       gemv(64, 32, A, 32, x, y)
 *
 * Extents may be made of symbols, and so may numbers: they are passed as i32, or as what tn_cast makes of them. M a
 * symbol, A of extents M and 32:
 *
 *     const tn_result one[] = {{"y", TN_F32, 1, .size = {M}}};
 *     tn_extern(ctx, gemv, TN_RESULTS(one), M, tn_cast(TN_I64, tn_mul(M, 32)), A, x)         gemv(M, M*32, A, x, y)
 *
 * Such a stage has no loops to schedule; what it reads and writes is whole, contiguous and in memory. Without inputs:
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

/* A C function: the name that exported code calls it by, and its address, or NULL when code is only exported. */
typedef struct tn_intrin_function {
  const char *name; /* NULL: there is no such function */
  void (*function)(void);
} tn_intrin_function;

/* void f(T *output, const T *input ..., int64_t stride ...): the strides, in elements, of each dimension of the output,
 * then of each input, in the pattern's order. BODY writes the output; RESET, which has no inputs, writes what the
 * reduction starts from; UPDATE combines the output with what BODY would write. A reduction needs UPDATE: with BODY it
 * is used where the whole reduction is inside, with RESET for the init, which are loops otherwise. Anything else has
 * BODY only. They touch nothing but the pattern's elements, keep no pointer and may run on several threads at once. */
typedef struct tn_intrin_functions {
  tn_intrin_function body, reset, update;
} tn_intrin_functions;

/* What the functions need of an operand of the pattern; tensorize refuses loops that do not give it. TVM: decl_buffer's
 * data_alignment and strides. */
typedef struct tn_intrin_operand {
  const char *name; /* of the pattern: "a" */
  int align; /* the first element's address is a multiple of so many bytes: 1 to 64, a power of two; 0: an element's */
  int n_strides;          /* 0, or the tensor's rank */
  const int64_t *strides; /* of each dimension, in elements; 0: any */
} tn_intrin_operand;

/* Declares an intrinsic for this context. TVM: decl_tensor_intrin. PATTERN is the text of a program with one computed
 * tensor, whose inputs are read at plain axes: "c[m<16] = sum[l<64](a[l] * b[m,l])". Functions with an address are
 * called once with random numbers here and compared with the pattern. TN_ERROR_ARGUMENT: a name that is none or is
 * taken, functions that are missing or compute something else; TN_ERROR_PARSE, TN_ERROR_SCHEDULE: no pattern. */
TN_API tn_status tn_intrin_new(tn_context *ctx, const char *name, const char *pattern,
                               const tn_intrin_functions *functions);
/* The same for functions that need more of some operands. In text: the statement `intrin` (docs/language.md), which
 * names functions without addresses; tn_program_link_files gives their code. */
TN_API tn_status tn_intrin_declare(tn_context *ctx, const char *name, const char *pattern,
                                   const tn_intrin_functions *functions, int n_operands,
                                   const tn_intrin_operand *operands);

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Operand types are unified as in TVM: float with float: the wider; int with float: the float; same signedness: the
 * wider; mixed signedness: the wider, at equal width the unsigned; bool with another type: the other; a C number takes
 * the other operand's dtype if it fits (a float number beside integers makes f32). At least one operand is no C number.
 * Arithmetic on booleans, functions such as exp of integers and numbers as conditions are refused: write the cast or x
 * != 0. OP is the operator or function of the text form ("+", "min", "exp", ...). */
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

/* The graph that computes some tensors: tn_program_new(ctx, A, B, C): inputs (placeholders) first, then outputs; this
 * is the kernel's argument order. Refused: an input that no output needs, a needed placeholder that is missing, an
 * output before an input, two tensors or two axes of one stage with the same name. */
#define tn_program_new(ctx, ...) tn_program_array((ctx), TN_LIST(__VA_ARGS__))
TN_API tn_program *tn_program_array(tn_context *ctx, int n, const tn_arg *tensors);

/* A number that a program's text names. */
typedef struct tn_param {
  const char *name;
  int64_t value;
} tn_param;

/* Parses the text form (docs/language.md): statements (param, input, scalar, symbol, state, combiner, extern, intrin,
 * schedule, output) and definitions. PARAMS override `param` statements by name, and give symbols a value, which makes
 * them constants; an unknown one is refused. A parse error's message shows the line, a caret and what was expected. */
TN_API tn_program *tn_program_parse(tn_context *ctx, const char *text, int n_params, const tn_param *params);
/* The same for the file PATH. A file, unlike a text, may include others and name LLVM IR to link (`include "other.te"`,
 * `link "f.ll"`): what it includes is opened here, what it links by tn_program_link_files. Messages name the file. */
TN_API tn_program *tn_program_parse_file(tn_context *ctx, const char *path, int n_params, const tn_param *params);
/* The text of the program's `schedule { ... }` blocks, in order; NULL: it has none. It is no part of the canonical text
 * and of the key: it says how, not what. tn_schedule_apply_own applies it. Owned by the context. */
TN_API const char *tn_program_schedule(const tn_program *program);
/* The files that the program's `link` statements name, beside the program's own file; NULL outside of 0 .. count -
 * 1. */
TN_API int tn_program_link_count(const tn_program *program);
TN_API const char *tn_program_link_path(const tn_program *program, int index);

/* The text of a program or a schedule in the one layout that Tenon has: blanks, indentation and empty lines, nothing
 * else; comments stay. It need not parse. malloc'ed; NULL with a message: brackets that do not fit, a character that no
 * text has. Formatting the result gives the same text. */
TN_API TN_GIVE char *tn_format(tn_context *ctx, const char *text);

/* Gives a function that the program calls (`extern y: f32[64] = gemv(A, x)` in text) an address in this process, for
 * kernels in memory and tn_evaluate. */
TN_API tn_status tn_program_bind(tn_program *program, const char *name, void (*function)(void));
/* Gives it a body in LLVM IR, text or bitcode, that is linked into what is built from now on; copied. */
TN_API tn_status tn_program_link(tn_program *program, const char *name, const void *module, size_t bytes);

/* The canonical text form: parsing it gives the same program, printing that the same text. Owned by the context. */
TN_API const char *tn_program_text(const tn_program *program);
/* 16 hex digits: a hash of the canonical text. Owned by the context. */
TN_API const char *tn_program_key(const tn_program *program);
/* Arguments: inputs, then outputs. */
TN_API int tn_program_arg_count(const tn_program *program);
TN_API int tn_program_input_count(const tn_program *program);
/* NULL outside of 0 .. count - 1. */
TN_API tn_tensor *tn_program_arg(const tn_program *program, int index);
TN_API tn_tensor *tn_program_find(const tn_program *program, const char *tensor_name); /* NULL: none, no message */
/* Arithmetic operations of one run, counted as TVM's FlopEstimator does (reference: AS/compute_dag.cc); 0 where symbols
 * decide. */
TN_API double tn_program_flops(const tn_program *program);
/* Bytes of inputs and outputs that one run moves at least: each element once, of an input that is read fewer times
 * than it has elements (a gather) as many as are read. What intermediate tensors hold does not count. 0 where
 * symbols decide. */
TN_API double tn_program_bytes(const tn_program *program);

/* The four below answer NULL, TN_DTYPE_COUNT, 0 and NULL for NULL. Names and shapes are owned by the
 * context. */
TN_API const char *tn_tensor_name(const tn_tensor *tensor);
TN_API tn_dtype tn_tensor_dtype(const tn_tensor *tensor);
TN_API int tn_tensor_rank(const tn_tensor *tensor);
/* An extent that depends on symbols: the most it can be. */
TN_API const int64_t *tn_tensor_shape(const tn_tensor *tensor);
/* The number of symbols that a program's extents depend on. */
TN_API int tn_program_symbol_count(const tn_program *program);

/* Runs the program by walking its graph, one element at a time: the reference. Shares no code with lowering. Floats are
 * computed in double and rounded when stored; integers exactly. ARGS as for the kernel (tn_program_arg); symbols get
 * their values from the arguments' shapes. */
TN_API tn_status tn_evaluate(tn_program *program, DLTensor *const *args, int n_args);
/* One element of one tensor, computed on demand from the inputs (outputs in ARGS are not looked at and may be NULL). */
TN_API tn_status tn_evaluate_at(tn_program *program, DLTensor *const *args, int n_args, const tn_tensor *tensor,
                                const int64_t *index, double *value);

#ifdef __cplusplus
}
#endif
#endif
