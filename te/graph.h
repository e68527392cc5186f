/* graph.h: the te graph as the folders below see it. It is immutable once made, and lives in its context's arena. */
#ifndef TENON_TE_GRAPH_H
#define TENON_TE_GRAPH_H

#include "te/te.h"
#include "tir/intrin.h"

/* An axis of a compute, or a symbol. */
struct tn_axis {
  tir_var var;    /* name and dtype (TN_I32); a VAR node's u.var is &axis->var: first member, so the two convert */
  int64_t extent; /* of a symbol, or if it depends on symbols: the most it can be */
  const tir_expr *size; /* the extent as an i32 of symbols; NULL: a constant */
  bool is_reduce;
  bool is_symbol; /* it stands for the value of an extent, LEAST to EXTENT */
  int64_t least;
  tn_context *ctx;
  struct te_op *op; /* the compute that owns it; NULL: none yet. tn_compute copies an axis that another one owns */
};

/* What the C calls for expressions return: a node, with measures that keep recursion over it safe. */
struct tn_expr {
  tn_context *ctx;
  const tir_expr *node;
  int depth, size; /* of the tree with shared nodes counted each time; limited, so that recursion in te/ is safe */
};

typedef struct te_op te_op;

/* One output of an op. It is identified by its address: programs may use one name for different tensors. */
struct tn_tensor {
  te_op *op;
  int value_index;  /* among op->outputs */
  const char *name; /* for the first output the same as op->name */
  tn_dtype dtype;
  int ndim;
  int64_t shape[TN_MAX_RANK];        /* if it depends on symbols: the most it can be */
  const tir_expr *size[TN_MAX_RANK]; /* such an extent as an i32 of symbols; NULL: a constant */
  bool by_value;                     /* a scalar: an input of rank 0 that kernels take by value */
  bool is_layout_free;               /* an input that holds the same in every call */
  bool is_strided;                   /* an argument of rank 2 or more; each call gives its strides but the last */
  tn_context *ctx;
};

/* A SCAN is a compute whose body reads its own outputs, directly or through other computes, at earlier
 * values of its first axis, the time. An EXTERN calls a C function that reads its inputs and writes its
 * outputs as a whole. It has no axes and no body, and each output has its own shape. */
typedef enum te_op_kind { TE_PLACEHOLDER, TE_COMPUTE, TE_SCAN, TE_EXTERN } te_op_kind;

/* What a call passes at one place: a tensor that it reads, a number (a constant of i32, i64, f32 or f64),
 * or, if both are NULL, the array of the op's output RESULT, which it writes. */
typedef struct te_call_arg {
  tn_tensor *input;
  const tir_expr *number;
  int result;
} te_call_arg;

/* The call of an EXTERN. Each output appears among ARGS once; an input may appear twice. */
typedef struct te_call {
  tir_callee *callee;
  int n;
  te_call_arg *args;
} te_call;

/* A node of the graph. The axes are the dimensions of all its outputs; only an EXTERN's outputs have shapes
 * of their own. */
struct te_op {
  te_op_kind kind;
  const char *name;
  int n_axes;     /* == ndim of every output */
  tn_axis **axes; /* placeholder: NULL */
  int n_reduce;
  tn_axis **reduce_axes;
  const tir_expr *body; /* REDUCE at the top for a reduction, TUPLE for several values; NULL: placeholder, EXTERN */
  const te_call *call;  /* TE_EXTERN; else NULL */
  int n_inputs;         /* distinct tensors it reads, in the order of first appearance */
  tn_tensor **inputs;
  bool may_leave; /* some read may be outside its tensor for all that is known: an index from data, a loose condition */
  int n_outputs;
  tn_tensor *outputs;
  const te_op
      *scan;     /* the scan that this op is a step of (it reads the state, and the scan reads it): set when a program
                      * is made; a scan's own is itself */
  int64_t first; /* of a scan: from this time on no step reads before time 0 */
};

/* Whether a program's text cannot name a tensor: the second value of an argmax that was given one name. */
bool te_is_hidden(const tn_tensor *tensor);
static inline bool te_is_placeholder(const te_op *op) { return op->kind == TE_PLACEHOLDER; }
static inline bool te_is_extern(const te_op *op) { return op->kind == TE_EXTERN; }
/* The tensor at place I of an EXTERN's call; NULL: a number. */
static inline tn_tensor *te_call_tensor(const te_op *op, int i) {
  const te_call_arg *arg = &op->call->args[i];
  return arg->input ? arg->input : arg->number ? NULL : &op->outputs[arg->result];
}
/* The axis or symbol that a variable of a te expression belongs to. */
static inline const tn_axis *te_var_axis(const tir_var *var) { return (const tn_axis *)(const void *)var; }
static inline const tir_expr *te_axis_expr(runtime_arena *arena, const tn_axis *axis) {
  return tir_var_expr(arena, &axis->var);
}

/* Makes a compute from parts, in the arena of ctx: finds its inputs and checks nothing. The schedule uses
 * it for cache stages. The shapes of what it reads must be final, as may_leave depends on them. NAMES: one
 * for each value of the body. */
te_op *te_op_new(tn_context *ctx, const char *const *names, int n_axes, tn_axis **axes, const tir_expr *body);
/* An EXTERN's op that reads TO where OP reads FROM; NULL: out of memory. */
te_op *te_extern_reread(const te_op *op, const tn_tensor *from, const tn_tensor *to);
/* Refuses a program that calls functions, since WHAT ("tuning") must know everything that is computed. */
tn_status te_check_no_externs(const tn_program *program, const char *what);
bool te_has_externs(const tn_program *program);

/* Kinds of operations on floats that processors take different times for. SUM: + and -. CHOICE: min, max,
 * comparisons and selects. FUNCTION: exp and the like. FUSED: products, counted under PRODUCT as well, that
 * a sum adds at once, so that both are one multiply-add. A product of a sum is not among them, since sums
 * are not expanded. */
typedef enum te_operation {
  TE_SUM,
  TE_PRODUCT,
  TE_CHOICE,
  TE_DIVISION,
  TE_ROOT,
  TE_FUNCTION,
  TE_FUSED,
  TE_OPERATION_COUNT
} te_operation;

/* Counts the operations of each kind in all bodies. Each different subexpression of a body counts once for
 * each value it has: what does not depend on an axis is computed once for all of it (flops.c). Zeros for a
 * program with symbols. */
void te_operations(const tn_program *program, double out[TE_OPERATION_COUNT]);
/* An upper bound for the terms of sums that tn_evaluate_at adds up for one element of TENSOR. The steps of
 * a scan are not counted. */
double te_demand_terms(const tn_program *program, const tn_tensor *tensor);
/* Like tn_evaluate_at, but only by the definition of TENSOR: ARGS has the outputs, too, and what the
 * definition reads is taken from them. */
tn_status te_evaluate_stage_at(tn_program *program, DLTensor *const *args, int n_args, const tn_tensor *tensor,
                               const int64_t *index, double *value);
/* Like tn_evaluate_at, but each step of a sum and each stored element gets a rounding error that CHANCE
 * chooses, up to twice as large as a real one. How much several answers differ shows what roundings may do
 * to this element (stochastic arithmetic: Vignes, "Discrete Stochastic Arithmetic for Validating Results of
 * Numerical Software", 2004). */
tn_status te_evaluate_by_chance(tn_program *program, DLTensor *const *args, int n_args, runtime_rng *chance,
                                const tn_tensor *tensor, const int64_t *index, double *value);
/* tn_program_flops without stages that depend only on layout_free inputs. */
double te_call_flops(const tn_program *program);
/* Appends the call of an EXTERN: "f(A, x)". */
void te_print_call(runtime_str *out, const te_op *op);
/* Makes an axis without checks. SIZE: the expression that decides the extent, which is then its greatest
 * value; or NULL. */
tn_axis *te_axis_make(tn_context *ctx, const char *name, int64_t extent, const tir_expr *size, bool is_reduce);

/* The text between the braces of a `schedule { ... }`. */
typedef struct te_block {
  const char *text;
  const char *where; /* "main.te: " or "", for the beginning of messages */
  int line, column;  /* where the text begins, from 1 */
} te_block;

/* A closed graph with its arguments. All of it lives in the context's arena and is freed only with the context. */
struct tn_program {
  tn_context *ctx;
  int n_ops;
  te_op **ops; /* depth-first post-order from the outputs: producers before consumers, which is TVM's stage order */
  int n_inputs, n_args;
  tn_tensor **args;
  int n_symbols;
  const tn_axis **symbols;  /* what extents depend on, in the order in which the arguments' shapes name them */
  bool is_of_symbol;        /* one value of a symbol: its schedule is to go with others, too */
  const char *text, *key;   /* made on demand */
  tn_program *without_ones; /* te_without_ones; made on demand */
  int n_intrins;
  const tir_intrin **intrins; /* declared by its text, in order */
  int n_blocks;
  const te_block *blocks; /* of its `schedule { ... }`, in order */
  const char *schedule;   /* their texts in one; made on demand */
  int n_links;
  const char *const *links; /* of its `link "..."` */
  void *derived;            /* for schedule/: interned ops that cache_read and cache_write made */
};

/* A tensor of a program and its counterpart in a part; each is the first output of its op. */
typedef struct te_twin {
  const tn_tensor *whole, *part;
} te_twin;

/* A part of a program as a program of its own, in the context's arena. */
typedef struct te_part {
  tn_program *program;
  int n_twins;
  const te_twin *twins; /* for all that it computes or reads */
} te_part;

/* Cuts out the computes for which IS_IN is set, an entry for each op of FROM; they must be plain computes,
 * and FROM without symbols. What they read besides becomes inputs; what others read of them, and FROM's
 * outputs, becomes outputs. Names depend only on places, so that equal parts have equal texts. */
tn_status te_cut(const tn_program *from, const bool *is_in, te_part *out);

/* The program without the dimensions of one element that its tensors end in: what it computes, the names of tensors and of the other axes
 * are the same. NULL: there are none, it is no program of plain computes, or no memory. */
tn_program *te_without_ones(tn_program *program);

/* The least extent that is indexed by an expression reading TENSOR; 0: there is none, or TENSOR holds no integers. */
int64_t te_index_limit(const tn_program *program, const tn_tensor *tensor);

/* The value of a size for given values of the program's symbols. */
int64_t te_size_value(const tn_program *program, const tir_expr *size, const int64_t *symbols);
/* The number of a symbol in the program; -1: it has no such symbol. */
int te_symbol_number(const tn_program *program, const tir_var *var);

/* The same program with fewer values for its symbol NUMBER: LEAST to MOST, which must be among its values.
 * A symbol with one value becomes a number. NULL after a message. */
tn_program *te_within(const tn_program *program, int number, int64_t least, int64_t most);
/* Refuses a program with symbols, since WHAT ("tuning") needs numbers. */
tn_status te_check_no_symbols(const tn_program *program, const char *what);
/* Parses a condition such as "i >= 1 && i < 15" over these axes and numbers, without reads. NULL:
 * TN_ERROR_PARSE with the place in TEXT. The result is in the arena of ctx. */
const tir_expr *te_parse_condition(tn_context *ctx, int n_axes, tn_axis *const *axes, const char *text);

/* Whether some output of the op is written to an array of the caller's. */
bool te_is_output(const tn_program *program, const te_op *op);
/* Prints a te expression in the text form, with axes by their names. */
void te_print_expr(runtime_str *out, const tir_expr *e);

#endif
