/* match_rows.c: recognises softmax and layer normalization, which can be written in many ways, by the
 * operators that occur and the shapes of arguments. */
#include "te/match.h"

/* What the definitions of a program are made of. */
typedef struct ingredients {
  bool has_exp, has_max, has_sum, has_root;
  double epsilon; /* a positive constant below 0.1 that is added under a root */
  unsigned along; /* bit d: some matrix is reduced along its dimension d */
} ingredients;

/* The small positive constant of a sum; 0: it has none, so there is no epsilon. */
static double constant_in(const tir_expr *sum) {
  for (int i = 0; i < 2 && sum->op == TIR_ADD; i++)
    if (sum->arg[i]->op == TIR_FLOAT && sum->arg[i]->u.f > 0 && sum->arg[i]->u.f < 0.1) return sum->arg[i]->u.f;
  return 0;
}

/* The dimensions at which READ, of a matrix, has one of OP's reduction axes. */
static unsigned reduced_along(const te_op *op, const tir_expr *read) {
  unsigned along = 0;
  for (int d = 0; read->op == TIR_READ && read->n_args == 2 && d < 2; d++)
    for (int a = 0; a < op->n_reduce; a++)
      if (read->arg[d]->op == TIR_VAR && read->arg[d]->u.var == &op->reduce_axes[a]->var) along |= 1U << d;
  return along;
}

/* E: a part of OP's body. Visits shared nodes each time, which only costs time, since expressions are limited in size. */
static void look(ingredients *in, const te_op *op, const tir_expr *e) {
  in->along |= reduced_along(op, e);
  in->has_exp |= e->op == TIR_EXP;
  if (e->op == TIR_RSQRT || e->op == TIR_SQRT) {
    in->has_root = true;
    in->epsilon = constant_in(e->arg[0]);
  }
  if (e->op == TIR_REDUCE) {
    in->has_max |= e->u.reduce->combiner == TIR_REDUCE_MAX;
    in->has_sum |= e->u.reduce->combiner == TIR_REDUCE_SUM;
  }
  for (int i = 0; i < e->n_args; i++) look(in, op, e->arg[i]);
}

static bool is_vector_of(const tn_tensor *t, int64_t n) { return t->ndim == 1 && t->shape[0] == n; }

/* Whether X[rows, columns] becomes Y of the same shape; there may be further inputs. */
static bool have_shapes(const tn_program *program, te_row_operator *out) {
  if (program->n_args != program->n_inputs + 1) return false;
  const tn_tensor *x = program->args[0], *y = program->args[program->n_inputs];
  if (x->ndim != 2 || y->ndim != 2 || x->dtype != TN_F32 || y->dtype != TN_F32) return false;
  out->rows = x->shape[0];
  out->columns = x->shape[1];
  return y->shape[0] == out->rows && y->shape[1] == out->columns;
}

/* Prefers to say yes: callers compare results with a library's, and a wrong match fails there. What is reduced along rows and
 * along columns is neither. */
bool te_match_rows(const tn_program *program, te_row_operator *out) {
  ingredients in = {0};
  *out = (te_row_operator){.scale = 1, .shift = 2};
  if (!have_shapes(program, out)) return false;
  for (int i = 0; i < program->n_ops; i++)
    if (program->ops[i]->body) look(&in, program->ops[i], program->ops[i]->body);
  out->epsilon = in.epsilon;
  out->is_by_columns = in.along == 1U << 0;
  if (in.along == (1U << 0 | 1U << 1)) return false;
  out->is_softmax = program->n_inputs == 1 && in.has_exp && in.has_max && in.has_sum && !in.has_root;
  bool is_normalization = program->n_inputs == 3 && !out->is_by_columns && in.has_root && in.has_sum && !in.has_exp &&
                          in.epsilon > 0 && is_vector_of(program->args[1], out->columns) &&
                          is_vector_of(program->args[2], out->columns);
  return out->is_softmax || is_normalization;
}
