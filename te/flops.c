/* flops.c: counts the arithmetic operations of a program by the rules of TVM's FlopEstimator
 * (auto_scheduler's compute_dag.cc), so that GFLOPS figures can be compared. Functions such as exp count
 * nothing, index arithmetic does not count, and a select counts its condition and the dearer branch. */
#include "te/internal.h"

/* TVM's type code. Operators on another class than the output's are not counted. */
static int type_class(tn_dtype dtype) { return (int)tn_dtype_dlpack(dtype).code; }

static double count(const tir_expr *e, int output_class);

/* Shared nodes count each time, as in TVM's estimator. */
static double count_args(const tir_expr *e, int output_class) {
  double sum = 0;
  for (int i = 0; i < e->n_args; i++) sum += count(e->arg[i], output_class);
  return sum;
}

/* A step of a built-in combiner counts 1; a step of a user's combiner, what its results count. */
static double count_reduce(const tir_expr *e, int output_class) {
  const tir_tuple_combiner *tuple = e->u.reduce->tuple;
  double iterations = 1, one = tuple ? 0 : 1;
  for (int i = 0; i < e->u.reduce->n_axes; i++) iterations *= (double)e->u.reduce->axes[i]->extent;
  for (int v = 0; v < tir_n_values(e); v++) {
    int value_class = tuple ? type_class(tir_value_dtype(e, v)) : output_class;
    one += (tuple ? count(tuple->result[v], value_class) : 0) + count(e->arg[v], value_class);
  }
  return iterations * one;
}

/* Operators that count as one: binary arithmetic, comparisons, &&, || and !. */
static bool is_counted(const tir_expr *e) {
  tir_rule rule = tir_rule_of(e);
  return (rule == TIR_RULE_ARITHMETIC && e->n_args == 2) || rule == TIR_RULE_COMPARISON || rule == TIR_RULE_BOOLEAN;
}

/* OUTPUT_CLASS is that of the definition. Index arithmetic is of another class, and therefore not counted. */
static double count(const tir_expr *e, int output_class) {
  if (e->op == TIR_READ) return 0;
  if (e->op == TIR_REDUCE) return count_reduce(e, output_class);
  if (e->op == TIR_SELECT)
    return count(e->arg[0], output_class) + RUNTIME_MAX(count(e->arg[1], output_class), count(e->arg[2], output_class));
  double own = is_counted(e) && type_class((tn_dtype)e->arg[0]->dtype) == output_class ? 1 : 0;
  return own + count_args(e, output_class);
}

/* A double: the count may exceed 64 bits in programs written by mistake. */
static double flops_of(const te_op *op) {
  double sum = 0, elements = 1;
  if (!op->body) return 0; /* what a function does is not known */
  for (int d = 0; d < op->n_axes; d++) elements *= (double)op->outputs[0].shape[d];
  if (op->body->op != TIR_TUPLE) return elements * count(op->body, type_class(op->outputs[0].dtype));
  for (int v = 0; v < op->n_outputs; v++) sum += elements * count(op->body->arg[v], type_class(op->outputs[v].dtype));
  return sum;
}

double tn_program_flops(const tn_program *program) {
  double sum = 0;
  if (program && program->n_symbols > 0) return 0;
  for (int i = 0; program && i < program->n_ops; i++) sum += flops_of(program->ops[i]);
  return sum;
}

/* Stops at a read of what may change between calls. USER: a map of the ops that are equal in every call. */
static tir_walk find_variable(void *user, const tir_expr *e) {
  if (e->op != TIR_READ || e->u.tensor->is_layout_free) return TIR_WALK_ON;
  return runtime_map_get(user, e->u.tensor->op) ? TIR_WALK_ON : TIR_WALK_STOP;
}

double te_call_flops(const tn_program *program) {
  double sum = 0;
  runtime_map constant = {0};
  for (int i = 0; i < program->n_ops; i++) {
    const te_op *op = program->ops[i];
    bool is_constant = op->body && tir_walk_expr(op->body, find_variable, &constant);
    if (!is_constant || !runtime_map_put(&constant, op, program->ops[i])) sum += flops_of(op);
  }
  runtime_map_free(&constant);
  return sum;
}

/* ---- kinds of operations ----------------------------------------------------------------------------------------- */

/* Once so many subexpressions were seen, further ones all count as new. */
enum { MAX_SEEN = 512 };

/* A count being made, for one body. COUNTS is the caller's and has a number for each kind of operation.
 * SEEN holds the nodes counted so far: equal ones are computed once, so they count once. */
typedef struct tally {
  double *counts;
  double steps; /* steps of the user's combiner being looked at; otherwise 1 */
  int n_axes;   /* the axes around the expression being looked at */
  const tn_axis *axes[TN_MAX_RANK + TE_MAX_REDUCE_AXES];
  int n_seen;
  const tir_expr *seen[MAX_SEEN];
} tally;

/* Equal subexpressions are computed once, so they count once. */
static bool is_new(tally *t, const tir_expr *e) {
  for (int i = 0; i < t->n_seen; i++)
    if (tir_equal(t->seen[i], e)) return false;
  if (t->n_seen < MAX_SEEN) t->seen[t->n_seen++] = e;
  return true;
}

/* The kind of operation; -1: none, or one that takes no time beside others. */
static int operation_of(const tir_expr *e) {
  switch (e->op) {
    case TIR_ADD:
    case TIR_SUB: return TE_SUM;
    case TIR_MUL: return TE_PRODUCT;
    case TIR_DIV: return TE_DIVISION;
    case TIR_SQRT:
    case TIR_RSQRT: return TE_ROOT;
    case TIR_SELECT:
    case TIR_MIN:
    case TIR_MAX: return TE_CHOICE;
    case TIR_FLOOR:
    case TIR_CEIL:
    case TIR_ROUND:
    case TIR_TRUNC:
    case TIR_NEARBYINT: return TE_SUM;
    default:
      return tir_rule_of(e) == TIR_RULE_COMPARISON ? TE_CHOICE : tir_rule_of(e) == TIR_RULE_FLOAT ? TE_FUNCTION : -1;
  }
}

/* How many values E has: what does not depend on an axis is computed once for all of it. */
static double times_of(const tally *t, const tir_expr *e) {
  double times = t->steps;
  for (int i = 0; i < t->n_axes; i++)
    if (tir_uses_var(e, &t->axes[i]->var)) times *= (double)t->axes[i]->extent;
  return times;
}

static void tally_operations(tally *t, const tir_expr *e);

/* Whether a sum with VALUES values adds a product that has as many. A product with fewer values is computed
 * separately. */
static bool adds_product(const tally *t, double values, int n, const tir_expr *const *args) {
  for (int i = 0; i < n; i++)
    if (args[i]->op == TIR_MUL && tn_dtype_is_float((tn_dtype)args[i]->dtype) && times_of(t, args[i]) >= values)
      return true;
  return false;
}

/* Counts RESULT of a user's combiner, an expression of the combiner's own parameters. */
static void tally_step(tally *t, double steps, const tir_expr *result) {
  int n_axes = t->n_axes;
  t->n_axes = 0, t->steps = steps;
  tally_operations(t, result);
  t->n_axes = n_axes, t->steps = 1;
}

/* A reduction computes a value and a step of the combiner for each iteration. */
static void tally_reduce(tally *t, const tir_expr *e) {
  const tir_tuple_combiner *tuple = e->u.reduce->tuple;
  int n_outer = t->n_axes;
  double steps = times_of(t, e);
  for (int i = 0; i < e->u.reduce->n_axes; i++) {
    const tn_axis *axis = e->u.reduce->axes[i];
    steps *= (double)axis->extent;
    if (t->n_axes < RUNTIME_COUNT(t->axes)) t->axes[t->n_axes++] = axis;
  }
  bool adds = e->u.reduce->combiner == TIR_REDUCE_SUM, multiplies = e->u.reduce->combiner == TIR_REDUCE_PROD;
  if (!tuple && adds && adds_product(t, steps, 1, e->arg)) t->counts[TE_FUSED] += steps;
  for (int v = 0; v < tir_n_values(e); v++) tally_operations(t, e->arg[v]);
  t->n_axes = n_outer;
  for (int v = 0; tuple && v < tir_n_values(e); v++) tally_step(t, steps, tuple->result[v]);
  if (!tuple && tn_dtype_is_float((tn_dtype)e->dtype))
    t->counts[adds ? TE_SUM : multiplies ? TE_PRODUCT : TE_CHOICE] += steps;
}

/* Operations on integers are not counted, which excludes indices. */
static void tally_operations(tally *t, const tir_expr *e) {
  if (e->op == TIR_READ || e->n_args == 0 || !is_new(t, e)) return;
  if (e->op == TIR_REDUCE) {
    tally_reduce(t, e);
    return;
  }
  const tir_expr *operand = e->arg[e->op == TIR_SELECT ? 1 : 0];
  int kind = tn_dtype_is_float((tn_dtype)operand->dtype) ? operation_of(e) : -1;
  double times = times_of(t, e);
  if (kind >= 0) t->counts[kind] += times;
  if (kind == TE_SUM && e->n_args == 2 && adds_product(t, times, 2, e->arg)) t->counts[TE_FUSED] += times;
  if (e->op == TIR_RSQRT || e->op == TIR_SIGMOID) t->counts[TE_DIVISION] += times;
  for (int i = 0; i < e->n_args; i++) tally_operations(t, e->arg[i]);
}

void te_operations(const tn_program *program, double out[TE_OPERATION_COUNT]) {
  for (int k = 0; k < TE_OPERATION_COUNT; k++) out[k] = 0;
  for (int i = 0; program->n_symbols == 0 && i < program->n_ops; i++) {
    const te_op *op = program->ops[i];
    tally t = {.counts = out, .steps = 1, .n_axes = op->n_axes};
    if (!op->body) continue;
    for (int d = 0; d < op->n_axes; d++) t.axes[d] = op->axes[d];
    tally_operations(&t, op->body);
  }
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* How often one evaluation of E reads TENSOR. */
static double count_reads(const tir_expr *e, const tn_tensor *tensor) {
  double sum = e->op == TIR_READ && e->u.tensor == tensor;
  for (int i = 0; i < e->n_args; i++) sum += count_reads(e->arg[i], tensor);
  for (int i = 0; e->op == TIR_REDUCE && i < e->u.reduce->n_axes; i++) sum *= (double)e->u.reduce->axes[i]->extent;
  return sum;
}

/* A double, since a product of extents may exceed 2^63 and is only multiplied further. */
static double elements_of(const tn_tensor *tensor) {
  double n = 1;
  for (int d = 0; d < tensor->ndim; d++) n *= (double)tensor->shape[d];
  return n;
}

/* Nothing is known of what a C function reads, so all of its inputs count as read. */
static bool is_given_to_function(const te_op *op, const tn_tensor *tensor) {
  for (int i = 0; !op->body && i < op->n_inputs; i++)
    if (op->inputs[i] == tensor) return true;
  return false;
}

/* Each element counts at most once: it comes from a cache the second time. */
static double elements_read(const tn_program *program, const tn_tensor *input) {
  double reads = 0, elements = elements_of(input);
  for (int i = 0; i < program->n_ops; i++) {
    const te_op *op = program->ops[i];
    if (op->body) reads += elements_of(&op->outputs[0]) * count_reads(op->body, input);
    if (is_given_to_function(op, input)) reads += elements;
  }
  return RUNTIME_MIN(reads, elements);
}

double tn_program_bytes(const tn_program *program) {
  double sum = 0;
  if (!program || program->n_symbols > 0) return 0;
  for (int i = 0; i < program->n_args; i++) {
    const tn_tensor *arg = program->args[i];
    double elements = i < program->n_inputs ? elements_read(program, arg) : elements_of(arg);
    sum += elements * (double)tn_dtype_bytes(arg->dtype);
  }
  return sum;
}
