/* evaluate.h: the parts of the reference evaluator: runs over a program (evaluate.c), expressions compiled
 * into trees of function pointers (closure.c), and elements on demand (demand.c). */
#ifndef TENON_TE_EVALUATE_H
#define TENON_TE_EVALUATE_H

#include "te/internal.h"

/* A value: i for integers and bool, wrapped at their dtype; f for floats. */
typedef union te_cell {
  int64_t i;
  double f;
} te_cell;

typedef struct te_run te_run;
typedef struct te_node te_node;

/* Where a tensor's elements come from: its array or, if data is NULL, its definition. */
typedef struct te_source {
  const tn_tensor *tensor;
  void *data;
  bool is_own;                        /* data is freed with the run */
  const te_node *body;                /* only on demand: compiled at the first element */
  int depth;                          /* of body */
  int64_t shape[TN_MAX_RANK];         /* of the tensor, with this run's symbols */
  int64_t stride[TN_MAX_RANK];        /* in elements; without gaps unless an argument brought its own */
  int64_t reduce[TE_MAX_REDUCE_AXES]; /* extents of its op's reduction axes, with this run's symbols */
  runtime_map memo;                   /* elements already computed: flat index + 1 -> the bits of a te_cell */
} te_source;

enum { TE_MAX_VARS = TN_MAX_RANK + TE_MAX_REDUCE_AXES };

/* One evaluation. It owns its memory and reads the caller's arrays. */
struct te_run {
  tn_context *ctx;
  runtime_arena arena;
  int n_sources;
  te_source *sources;               /* in the order of the program's ops, all outputs of an op together */
  int64_t *vars;                    /* values of the axes of op: its data axes, then its reduction axes */
  const te_op *op;                  /* the op being evaluated */
  const te_source *source;          /* of one of the op's outputs */
  const tn_program *program;        /* NULL where there are no symbols */
  int64_t symbols[TE_MAX_SYMBOLS];  /* their values */
  int depth;                        /* on demand: levels of expressions on the stack */
  int64_t own_vars[TE_MAX_VARS];    /* what vars points to while whole tensors are evaluated */
  te_cell pair[2 * TIR_MAX_VALUES]; /* operands of a tuple's combiner: its left values, then its right ones */
  runtime_rng *chance;              /* NULL: exact; otherwise the source of random roundings */
  bool failed;
  tn_status status; /* of the failure */
};

/* One operation of a compiled expression: eval gives its value at run->vars. */
struct te_node {
  union {
    int64_t (*i)(const te_node *n, te_run *run);
    double (*f)(const te_node *n, te_run *run);
  } eval;
  bool is_float;
  bool is_rounded; /* a kernel rounds the value, which is a float */
  tn_dtype dtype;
  union {
    te_cell constant;
    int slot;          /* in run->vars or run->pair */
    te_source *source; /* of a read */
  } u;
  int n_args;
  const te_node *arg[];
};

/* ---- evaluate.c -------------------------------------------------------------------------------------------------- */

/* Checks the arguments and finds the values of the symbols. */
tn_status te_check_args(const tn_program *p, DLTensor *const *args, int n_args, bool need_outputs, int64_t *symbols);
/* Starts a run over the program's tensors. Inputs, and with NEED_OUTPUTS also outputs, use the caller's
 * arrays. False: no memory. Call te_run_end in either case. */
bool te_run_start(te_run *run, tn_program *p, DLTensor *const *args, bool need_outputs, const int64_t *symbols);
void te_run_end(te_run *run);
/* Makes the run fail with a message, of which the first counts; returns false. */
bool te_run_fail(te_run *run, tn_status status, const char *fmt, ...) TN_PRINTF(3, 4);
/* NULL: the tensor is none of the program's. */
te_source *te_source_of(te_run *run, const tn_tensor *t);
/* Computes the element at run->vars of each output as it would be stored: floats are rounded to the tensor's dtype. */
void te_element(te_run *run, const te_source *source, const te_node *body, te_cell *values);
/* X with a random rounding error of DTYPE, up to twice as large as a real one. */
double te_by_chance(runtime_rng *chance, tn_dtype dtype, double x);
/* Recurses as deep as the expression, which TE_MAX_DEPTH limits. */
te_cell te_node_value(const te_node *node, te_run *run);

/* ---- closure.c --------------------------------------------------------------------------------------------------- */

/* Compiles an op's body; *DEPTH gets its depth. The node of a tuple or a reduction only holds its compiled
 * arguments; in a tuple's reduction the combiner's results and identities follow them. Tensors without data
 * are read on demand. NULL: failed. */
const te_node *te_compile(te_run *run, const te_op *op, int *depth);
/* Compiles an expression over the variables of TUPLE (or over none, if it is NULL) that reads no tensor. */
const te_node *te_compile_values(te_run *run, const tir_tuple_combiner *tuple, const tir_expr *e);
/* An element of an array as a cell. */
te_cell te_load(tn_dtype dtype, const void *data, int64_t flat);
/* VALUE in two's complement at the width of DTYPE. */
int64_t te_wrap(tn_dtype dtype, uint64_t value);

/* ---- demand.c ---------------------------------------------------------------------------------------------------- */

/* An element of a computed tensor, computed at most once a run. */
te_cell te_demand(te_run *run, te_source *source, const int64_t *index, int64_t flat);

#endif
