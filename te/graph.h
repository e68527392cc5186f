/* graph.h: the te graph as the folders below see it. Immutable once made; lives in its context's arena. */
#ifndef TENON_TE_GRAPH_H
#define TENON_TE_GRAPH_H

#include "te/te.h"
#include "tir/intrin.h"

/* An axis, or a symbol. */
struct tn_axis {
  tir_var var;    /* name and dtype (TN_I32); a VAR node's u.var is &axis->var: first member, so the two convert */
  int64_t extent; /* where it depends on symbols, and of a symbol itself: the most it can be */
  const tir_expr *size; /* the extent as an i32 of symbols; NULL: a constant */
  bool is_reduce;
  bool is_symbol; /* the value of an extent, LEAST .. EXTENT */
  int64_t least;
  tn_context *ctx;
  struct te_op *op; /* the compute that owns it (tn_compute copies an axis that another one owns); NULL: none yet */
};

/* What a C call returns: a node with the measures that keep recursion over it safe. */
struct tn_expr {
  tn_context *ctx;
  const tir_expr *node;
  int depth, size; /* of the tree, sharing expanded: both are limited, so that recursion in te/ is safe */
};

typedef struct te_op te_op;

/* One output of an op. Identity is the address; two tensors may have one name in different programs. */
struct tn_tensor {
  te_op *op;
  int value_index;  /* among op->outputs */
  const char *name; /* the first output's is op->name */
  tn_dtype dtype;
  int ndim;
  int64_t shape[TN_MAX_RANK];        /* where it depends on symbols: the most it can be */
  const tir_expr *size[TN_MAX_RANK]; /* such an extent as an i32 of symbols; NULL: a constant */
  bool by_value;                     /* an input of rank 0 that the kernel takes by value: a scalar */
  bool is_layout_free;               /* an input that is the same in every call */
  bool is_strided;                   /* an argument of rank 2 or more whose strides, but the last, a call gives */
  tn_context *ctx;
};

/* A SCAN is a compute whose body reads its own outputs, directly or through other computes, at earlier values of its
 * first axis, the time. An EXTERN calls a C function that reads its inputs and writes its outputs as a whole: it has no
 * axes and no body, and each output a shape of its own. */
typedef enum te_op_kind { TE_PLACEHOLDER, TE_COMPUTE, TE_SCAN, TE_EXTERN } te_op_kind;

/* What a call is given at one place: a tensor that it reads, a number (a constant of i32, i64, f32 or f64), or, where
 * both are NULL, the op's output RESULT, which it writes. */
typedef struct te_call_arg {
  tn_tensor *input;
  const tir_expr *number;
  int result;
} te_call_arg;

/* The call of an EXTERN. Each output stands among ARGS once. An input may be given twice. */
typedef struct te_call {
  tir_callee *callee;
  int n;
  te_call_arg *args;
} te_call;

/* What makes tensors: all outputs of an op, but for an EXTERN's, have its axes as their dimensions. */
struct te_op {
  te_op_kind kind;
  const char *name;
  int n_axes;     /* == ndim of every output */
  tn_axis **axes; /* placeholder: NULL */
  int n_reduce;
  tn_axis **reduce_axes;
  const tir_expr *body; /* REDUCE at the top for a reduction, TUPLE for several values; NULL: placeholder, EXTERN */
  const te_call *call;  /* TE_EXTERN; else NULL */
  int n_inputs;         /* distinct tensors read, in order of first appearance */
  tn_tensor **inputs;
  bool may_leave; /* some read may be outside its tensor for all that is known: an index from data, a loose condition */
  int n_outputs;
  tn_tensor *outputs;
  const te_op
      *scan;     /* the scan that this op is a step of (it reads the state, and the scan reads it): set when a program
                      * is made; a scan's own is itself */
  int64_t first; /* of a scan: from this time on no step reads before time 0 */
};

/* Whether users cannot name a tensor of a program: the greatest value where argmax was given one name. */
bool te_is_hidden(const tn_tensor *tensor);
static inline bool te_is_placeholder(const te_op *op) { return op->kind == TE_PLACEHOLDER; }
static inline bool te_is_extern(const te_op *op) { return op->kind == TE_EXTERN; }
/* The tensor at place I of an EXTERN's call; NULL: a number stands there. */
static inline tn_tensor *te_call_tensor(const te_op *op, int i) {
  const te_call_arg *arg = &op->call->args[i];
  return arg->input ? arg->input : arg->number ? NULL : &op->outputs[arg->result];
}
/* The axis or symbol that a variable of a te expression is. */
static inline const tn_axis *te_var_axis(const tir_var *var) { return (const tn_axis *)(const void *)var; }
static inline const tir_expr *te_axis_expr(runtime_arena *arena, const tn_axis *axis) {
  return tir_var_expr(arena, &axis->var);
}

/* Makes a compute op from parts (the schedule, for cache stages), in the arena of ctx: finds inputs, checks nothing.
 * The shapes of what it reads are final (may_leave). NAMES: one for each value of the body. */
te_op *te_op_new(tn_context *ctx, const char *const *names, int n_axes, tn_axis **axes, const tir_expr *body);
/* An EXTERN's op that reads TO where OP reads FROM; NULL: out of memory. */
te_op *te_extern_reread(const te_op *op, const tn_tensor *from, const tn_tensor *to);
/* Refuses a program that calls functions: WHAT ("tuning") has to know all that is computed. */
tn_status te_check_no_externs(const tn_program *program, const char *what);
bool te_has_externs(const tn_program *program);

/* Kinds of operations on floats that processors take differently long for. SUM: + and -; CHOICE: min, max, comparisons
 * and selects; FUNCTION: exp and the like; FUSED: those products, counted above, that a sum adds at once, so that both are
 * one multiply-add. A product of a sum is none: sums are not expanded. */
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

/* How many of each all bodies do, each different subexpression of a body once for each value it has: what does not depend
 * on an axis is computed once for all of it (flops.c). Zeros for a program with symbols. */
void te_operations(const tn_program *program, double out[TE_OPERATION_COUNT]);
/* At most so many terms of sums are added up when tn_evaluate_at asks for one element of TENSOR; the steps of a scan are
 * not counted. */
double te_demand_terms(const tn_program *program, const tn_tensor *tensor);
/* tn_evaluate_at by the definition of TENSOR alone: ARGS has the outputs, too, and what it reads of them is taken from
 * there. */
tn_status te_evaluate_stage_at(tn_program *program, DLTensor *const *args, int n_args, const tn_tensor *tensor,
                               const int64_t *index, double *value);
/* tn_evaluate_at where each step of a sum and each element that is stored gets a rounding error that CHANCE chooses, up to
 * twice as large as a true one: how far several answers lie apart says what roundings may do to this element (stochastic
 * arithmetic: Vignes, "Discrete Stochastic Arithmetic for Validating Results of Numerical Software", 2004). */
tn_status te_evaluate_by_chance(tn_program *program, DLTensor *const *args, int n_args, runtime_rng *chance,
                                const tn_tensor *tensor, const int64_t *index, double *value);
/* tn_program_flops without what depends on layout_free inputs alone. */
double te_call_flops(const tn_program *program);
/* "f(A, x)": the call of an EXTERN. */
void te_print_call(runtime_str *out, const te_op *op);
/* An axis without checks. SIZE is NULL or what decides the extent, which then is the most it can be. */
tn_axis *te_axis_make(tn_context *ctx, const char *name, int64_t extent, const tir_expr *size, bool is_reduce);

/* The text between the braces of a `schedule { ... }`. */
typedef struct te_block {
  const char *text;
  const char *where; /* "main.te: " or "", to stand before a message */
  int line, column;  /* where it begins, from 1 */
} te_block;

/* A closed graph with its arguments. All of it lies in the context's arena and is never freed before
 * that. */
struct tn_program {
  tn_context *ctx;
  int n_ops;
  te_op **ops; /* post-order depth first from the outputs: producers before consumers; TVM's stage order */
  int n_inputs, n_args;
  tn_tensor **args;
  int n_symbols;
  const tn_axis **symbols; /* what extents depend on, in the order in which arguments' shapes name them */
  const char *text, *key;  /* made on demand */
  int n_intrins;
  const tir_intrin **intrins; /* that its text declares, in order */
  int n_blocks;
  const te_block *blocks; /* of `schedule { ... }`, in order */
  const char *schedule;   /* their texts as one; made on demand */
  int n_links;
  const char *const *links; /* of `link "..."` */
  void *derived;            /* schedule/: interned ops made by cache_read, cache_write */
};

/* A tensor of a program, and the one that a part of it has in its place; the first of their ops. */
typedef struct te_twin {
  const tn_tensor *whole, *part;
} te_twin;

/* Some computes of a program as a program of their own. All of it lies in the context's arena. */
typedef struct te_part {
  tn_program *program;
  int n_twins;
  const te_twin *twins; /* of all that it computes or reads */
} te_part;

/* IS_IN: for each op of FROM, which has no symbols, whether the part computes it; they are plain computes. What these read besides is
 * an input; what others read of them, and FROM's outputs, are the outputs. Its tensors' names come from their places, so
 * that equal parts of a program have equal texts. */
tn_status te_cut(const tn_program *from, const bool *is_in, te_part *out);

/* The least extent that is indexed by an expression which reads TENSOR; 0: none is, or TENSOR holds no integers. */
int64_t te_index_limit(const tn_program *program, const tn_tensor *tensor);

/* The value of a size, given those of the program's symbols. */
int64_t te_size_value(const tn_program *program, const tir_expr *size, const int64_t *symbols);
/* The number of a symbol in the program; -1: it is none of its symbols. */
int te_symbol_number(const tn_program *program, const tir_var *var);

/* The same program for fewer values of its symbol NUMBER: LEAST to MOST, which are among its values; a single one becomes a number. NULL
 * after a message. */
tn_program *te_within(const tn_program *program, int number, int64_t least, int64_t most);
/* Refuses a program with symbols: WHAT ("tuning") needs numbers. */
tn_status te_check_no_symbols(const tn_program *program, const char *what);
/* "i >= 1 && i < 15" over these axes and numbers, without reads of tensors. NULL: TN_ERROR_PARSE with the place in
 * TEXT. In the arena of ctx. */
const tir_expr *te_parse_condition(tn_context *ctx, int n_axes, tn_axis *const *axes, const char *text);

/* Whether the caller gives the array that some output of the op is written to. */
bool te_is_output(const tn_program *program, const te_op *op);
/* Prints a te expression in the text form (index names as axes' names). */
void te_print_expr(runtime_str *out, const tir_expr *e);

#endif
