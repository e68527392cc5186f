/* match_conv.c: recognises convolutions. */
#include "te/match.h"

/* An index as the sum of coefficient * axis, plus a constant. */
typedef struct affine {
  int n;
  const tir_var *vars[4];
  int64_t coefs[4], constant;
} affine;

/* False: the index has more than the four terms that a convolution's can have. */
static bool add_term(affine *a, const tir_var *var, int64_t coef) {
  if (a->n == 4) return false;
  a->vars[a->n] = var;
  a->coefs[a->n++] = coef;
  return true;
}

/* Adds SCALE * E to A. False: E is not linear. Several terms of one axis are not added up, so that
 * `coefficient` finds only the first. */
static bool add_index(affine *a, const tir_expr *e, int64_t scale) {
  if (e->op == TIR_INT) return a->constant += scale * e->u.i, true;
  if (e->op == TIR_VAR) return add_term(a, e->u.var, scale);
  if (e->op == TIR_ADD) return add_index(a, e->arg[0], scale) && add_index(a, e->arg[1], scale);
  if (e->op == TIR_SUB) return add_index(a, e->arg[0], scale) && add_index(a, e->arg[1], -scale);
  if (e->op == TIR_MUL && e->arg[1]->op == TIR_INT) return add_index(a, e->arg[0], scale * e->arg[1]->u.i);
  if (e->op == TIR_MUL && e->arg[0]->op == TIR_INT) return add_index(a, e->arg[1], scale * e->arg[0]->u.i);
  return false;
}

/* The coefficient of an axis; 0: the axis does not occur. */
static int64_t coefficient(const affine *a, const tn_axis *axis) {
  for (int i = 0; i < a->n; i++)
    if (a->vars[i] == &axis->var) return a->coefs[i];
  return 0;
}

/* Whether E is the axis without offset or factor. */
static bool is_axis(const tir_expr *e, const tn_axis *axis) { return e->op == TIR_VAR && e->u.var == &axis->var; }

/* The tensor's number among the inputs; -1: it is not an input. */
static int input_number(const tn_program *program, const tn_tensor *tensor) {
  for (int i = 0; i < program->n_inputs; i++)
    if (program->args[i] == tensor) return i;
  return -1;
}

/* Matches P[n,y,x,c] = select(..., I[n, y - p, x - p, c], 0); finds the image and p. */
static bool match_padding(const tn_program *program, const te_op *op, te_conv *out) {
  if (te_is_placeholder(op) || !op->body || op->body->op != TIR_SELECT || op->n_axes != 4) return false;
  const tir_expr *read = op->body->arg[1];
  if (read->op != TIR_READ || read->n_args != 4) return false;
  affine y = {0}, x = {0};
  if (!is_axis(read->arg[0], op->axes[0]) || !is_axis(read->arg[3], op->axes[3])) return false;
  if (!add_index(&y, read->arg[1], 1) || !add_index(&x, read->arg[2], 1)) return false;
  if (y.constant != x.constant || coefficient(&y, op->axes[1]) != 1 || coefficient(&x, op->axes[2]) != 1) return false;
  out->image = input_number(program, read->u.tensor);
  out->padding = -y.constant;
  return out->image >= 0 && out->padding >= 0;
}

/* Matches the image itself, or the stage that pads it. */
static bool match_image(const tn_program *program, const tn_tensor *tensor, te_conv *out) {
  out->padding = 0;
  out->image = input_number(program, tensor);
  if (out->image < 0 && !match_padding(program, tensor->op, out)) return false;
  const tn_tensor *image = program->args[out->image];
  if (image->ndim != 4) return false;
  out->batch = image->shape[0];
  out->height = image->shape[1];
  out->width = image->shape[2];
  out->channels = image->shape[3];
  return true;
}

/* Matches W[r, s, c, f], or W[r, s, f] if each channel has its own weights. */
static bool match_weights(const tn_program *program, const te_op *op, const tir_expr *w, te_conv *out) {
  out->is_depthwise = op->n_reduce == 2;
  out->weights = input_number(program, w->u.tensor);
  if (out->weights < 0 || w->n_args != (out->is_depthwise ? 3 : 4)) return false;
  if (!is_axis(w->arg[0], op->reduce_axes[0]) || !is_axis(w->arg[1], op->reduce_axes[1])) return false;
  if (!out->is_depthwise && !is_axis(w->arg[2], op->reduce_axes[2])) return false;
  return is_axis(w->arg[w->n_args - 1], op->axes[3]);
}

/* Where a product reads the image: rows y = h*S + r*D - P and columns x = w*S + s*D - P. */
typedef struct window {
  affine y, x;
} window;

/* Matches the read of the image at [n, y, x, c]. P is 0 if a stage pads the image. */
static bool match_window(const te_op *op, const tir_expr *read, te_conv *out, window *at) {
  affine *y = &at->y, *x = &at->x;
  const tn_axis *channel = out->is_depthwise ? op->axes[3] : op->reduce_axes[2];
  if (read->n_args != 4 || !is_axis(read->arg[0], op->axes[0]) || !is_axis(read->arg[3], channel)) return false;
  if (!add_index(y, read->arg[1], 1) || !add_index(x, read->arg[2], 1) || y->constant != x->constant) return false;
  out->stride = coefficient(y, op->axes[1]);
  out->dilation = coefficient(y, op->reduce_axes[0]);
  return out->stride > 0 && out->dilation > 0 && coefficient(x, op->axes[2]) == out->stride &&
         coefficient(x, op->reduce_axes[1]) == out->dilation && y->n == 2 && x->n == 2;
}

/* A comparison E as a sum that must be at least 0. */
static bool add_comparison(affine *a, const tir_expr *e) {
  bool is_greater = e->op == TIR_GE || e->op == TIR_GT, is_strict = e->op == TIR_GT || e->op == TIR_LT;
  if (!is_greater && e->op != TIR_LE && e->op != TIR_LT) return false;
  a->constant = -is_strict;
  return add_index(a, e->arg[0], is_greater ? 1 : -1) && add_index(a, e->arg[1], is_greater ? -1 : 1);
}

/* Whether A is SIGN * INDEX + CONSTANT. */
static bool is_scaled(const affine *a, const affine *index, int sign, int64_t constant) {
  if (a->n != index->n || a->constant != sign * index->constant + constant) return false;
  for (int i = 0; i < a->n; i++)
    if (a->vars[i] != index->vars[0] && a->vars[i] != index->vars[1]) return false;
  for (int i = 0; i < a->n; i++)
    if (a->coefs[i] != sign * index->coefs[a->vars[i] == index->vars[1]]) return false;
  return a->vars[0] != a->vars[1];
}

static bool bounds_index(const affine *a, const affine *index, int64_t extent) {
  return is_scaled(a, index, 1, 0) || is_scaled(a, index, -1, extent - 1);
}

/* Whether WHERE only compares rows and columns with the ends of the image, and so leaves out products
 * outside it and no others. Which of the comparisons are there does not matter: a read outside an input
 * would have been refused. */
static bool match_where(const tir_expr *where, const window *at, const te_conv *out) {
  affine a = {0};
  if (where->op == TIR_AND) return match_where(where->arg[0], at, out) && match_where(where->arg[1], at, out);
  return add_comparison(&a, where) && (bounds_index(&a, &at->y, out->height) || bounds_index(&a, &at->x, out->width));
}

/* Matches the image with zeros around it: they are a stage's, or a condition leaves their products out. */
static bool match_edges(const tn_program *program, const te_op *op, const tir_expr *image, te_conv *out) {
  window at = {0};
  const tir_expr *where = tir_reduce_where(op->body);
  if (!match_window(op, image, out, &at) || !match_image(program, image->u.tensor, out)) return false;
  if (!where) return at.y.constant == 0;
  out->padding -= at.y.constant;
  return program->args[out->image] == image->u.tensor && out->padding >= 0 && match_where(where, &at, out);
}

/* Only square kernels: the struct has one extent for both reduction axes. */
static bool match_sum(const tn_program *program, const te_op *op, te_conv *out) {
  if (!op->body || op->body->op != TIR_REDUCE || op->n_axes != 4 || op->n_reduce < 2 || op->n_reduce > 3) return false;
  const tir_expr *product = op->body->arg[0];
  if (op->body->u.reduce->combiner != TIR_REDUCE_SUM || op->body->u.reduce->has_init || product->op != TIR_MUL)
    return false;
  const tir_expr *image = product->arg[0], *weights = product->arg[1];
  if (image->op != TIR_READ || weights->op != TIR_READ || product->dtype != TN_F32) return false;
  if (!match_weights(program, op, weights, out)) return false;
  if (!match_edges(program, op, image, out)) return false;
  out->filters = op->axes[3]->extent;
  out->kernel = op->reduce_axes[0]->extent;
  return op->reduce_axes[1]->extent == out->kernel;
}

/* The extents of the result follow from the others and are checked, since a program may compute only a part
 * of a convolution. */
bool te_match_conv(const tn_program *program, te_conv *out) {
  const te_op *last = program->ops[program->n_ops - 1];
  *out = (te_conv){0};
  if (program->n_args != program->n_inputs + 1 || program->n_inputs != 2) return false;
  if (te_is_placeholder(last) || program->args[program->n_inputs] != &last->outputs[0]) return false;
  int64_t reach = 0;
  if (!match_sum(program, last, out)) return false;
  reach = (out->kernel - 1) * out->dilation + 1;
  return last->axes[1]->extent == (out->height + 2 * out->padding - reach) / out->stride + 1 &&
         last->axes[2]->extent == (out->width + 2 * out->padding - reach) / out->stride + 1;
}
