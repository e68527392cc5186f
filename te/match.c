/* match.c: finds a stage that is a matrix product, and what the program does with it. Matching is
 * structural: a program that computes the same in another form is not recognised, which only loses a
 * comparison with a library. */
#include "te/match.h"

/* Whether E reads a tensor at these axes, one for each whole dimension. */
static bool reads_at(const tir_expr *e, int n, const tn_axis *const *axes) {
  if (e->op != TIR_READ || e->n_args != n) return false;
  for (int d = 0; d < n; ++d) {
    if (e->arg[d]->op != TIR_VAR || e->arg[d]->u.var != &axes[d]->var) return false;
    if (e->u.tensor->shape[d] != axes[d]->extent || axes[d]->size) return false;
  }
  return true;
}

/* Whether E is T[row, column] with plain axes as indices. */
static bool reads_matrix(const tir_expr *e, const tn_axis *row, const tn_axis *column) {
  return reads_at(e, 2, (const tn_axis *const[]){row, column});
}

/* The tensor's number among the arguments; -1: it is not an input. */
static int input_index(const tn_program *program, const tn_tensor *tensor) {
  for (int i = 0; i < program->n_inputs; ++i) {
    if (program->args[i] == tensor) return i;
  }
  return -1;
}

/* The number among the arguments of OP's first output; -1: it is no argument. */
static int output_index(const tn_program *program, const te_op *op) {
  for (int i = program->n_inputs; i < program->n_args; ++i) {
    if (program->args[i] == &op->outputs[0]) return i;
  }
  return -1;
}

/* Whether A is read at i and k, and B at k and j, each possibly transposed. */
static bool match_factors(const te_op *op, const tir_expr *a, const tir_expr *b, te_matmul *out) {
  const tn_axis *i = op->axes[0], *j = op->axes[1], *k = op->reduce_axes[0];
  out->is_a_transposed = reads_matrix(a, k, i);
  out->is_b_transposed = reads_matrix(b, j, k);
  return (out->is_a_transposed || reads_matrix(a, i, k)) && (out->is_b_transposed || reads_matrix(b, k, j));
}

/* Tries the factors in either order. Both must be inputs: an intermediate stage would have to be computed first. */
static bool match_product(const tn_program *program, const te_op *op, te_matmul *out) {
  if (!op->body || op->body->op != TIR_REDUCE || op->n_axes != 2 || op->n_reduce != 1) return false;
  if (op->body->u.reduce->combiner != TIR_REDUCE_SUM || op->body->n_args > 1) return false;
  const tir_expr *source = op->body->arg[0];
  if (source->op != TIR_MUL || (source->dtype != TN_F32 && source->dtype != TN_F64)) return false;
  const tir_expr *a = source->arg[0], *b = source->arg[1];
  if (!match_factors(op, a, b, out)) {
    a = source->arg[1];
    b = source->arg[0];
    if (!match_factors(op, a, b, out)) return false;
  }
  out->dtype = (tn_dtype)source->dtype;
  out->m = op->axes[0]->extent;
  out->n = op->axes[1]->extent;
  out->k = op->reduce_axes[0]->extent;
  out->a = input_index(program, a->u.tensor);
  out->b = input_index(program, b->u.tensor);
  return out->a >= 0 && out->b >= 0;
}

/* Whether OP adds an input of the product's shape, or of a row's, to the product. */
static bool match_addition(const tn_program *program, const te_op *op, const te_op *product, te_matmul *out) {
  if (!op->body || op->body->op != TIR_ADD || op->n_axes != 2) return false;
  const tn_axis *i = op->axes[0], *j = op->axes[1];
  for (int side = 0; side < 2; ++side) {
    const tir_expr *sum = op->body->arg[side], *added = op->body->arg[1 - side];
    if (!reads_matrix(sum, i, j) || sum->u.tensor != &product->outputs[0] || added->op != TIR_READ) continue;
    out->addend = input_index(program, added->u.tensor);
    out->is_addend_row = reads_at(added, 1, &(const tn_axis *){j});
    if (out->addend >= 0 && (out->is_addend_row || reads_matrix(added, i, j))) return true;
  }
  return false;
}

/* Matches what the program does with the product: nothing, or an addition. For anything else output is -1. */
static void match_rest(const tn_program *program, const te_op *product, te_matmul *out) {
  int n_computes = 0;
  for (int i = 0; i < program->n_ops; ++i) n_computes += !te_is_placeholder(program->ops[i]);
  out->addend = out->output = -1;
  out->is_addend_row = false;
  const te_op *last = program->ops[program->n_ops - 1];
  if (n_computes == 1) {
    out->output = output_index(program, product);
  } else if (n_computes == 2 && output_index(program, product) < 0 && match_addition(program, last, product, out)) {
    out->output = output_index(program, last);
  }
  if (out->output < 0) out->addend = -1;
}

/* Takes the first stage that matches, in the program's order. */
bool te_match_matmul(const tn_program *program, te_matmul *out) {
  for (int i = 0; i < program->n_ops; ++i) {
    *out = (te_matmul){0};
    if (!match_product(program, program->ops[i], out)) continue;
    match_rest(program, program->ops[i], out);
    return true;
  }
  return false;
}

/* Whether A is read at b, i and k, and B at b, k and j. */
static bool match_batch_factors(const te_op *op, const tir_expr *a, const tir_expr *b) {
  const tn_axis *n = op->axes[0], *i = op->axes[1], *j = op->axes[2], *k = op->reduce_axes[0];
  return reads_at(a, 3, (const tn_axis *const[]){n, i, k}) && reads_at(b, 3, (const tn_axis *const[]){n, k, j});
}

/* The program must have no other stages. */
bool te_match_batch_matmul(const tn_program *program, te_batch_matmul *out) {
  const te_op *op = program->ops[program->n_ops - 1];
  if (program->n_args != 3 || program->n_ops != 3 || !op->body || op->body->op != TIR_REDUCE) return false;
  if (op->n_axes != 3 || op->n_reduce != 1 || op->body->n_args > 1) return false;
  const tir_expr *source = op->body->arg[0];
  if (op->body->u.reduce->combiner != TIR_REDUCE_SUM || source->op != TIR_MUL) return false;
  if (source->dtype != TN_F32 && source->dtype != TN_F64) return false;
  int first = match_batch_factors(op, source->arg[0], source->arg[1]) ? 0 : 1;
  if (first == 1 && !match_batch_factors(op, source->arg[1], source->arg[0])) return false;
  *out = (te_batch_matmul){.dtype = (tn_dtype)source->dtype,
                           .batch = op->axes[0]->extent,
                           .m = op->axes[1]->extent,
                           .n = op->axes[2]->extent,
                           .k = op->reduce_axes[0]->extent,
                           .a = input_index(program, source->arg[first]->u.tensor),
                           .b = input_index(program, source->arg[1 - first]->u.tensor)};
  return out->a >= 0 && out->b >= 0;
}
