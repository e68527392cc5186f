/* squeeze.c: a program without the dimensions of one element that its tensors end in, as images of one pixel or one colour have them:
 *
 *     Y[n<64, c<256, h<1, w<1] = max(X[n,c,h,w] + B[c], 0)  ->  Y[n<64, c<256] = max(X[n,c] + B[c], 0)
 *
 * and without reductions over one element, as filters of 1 x 1 have them. It has the same tensors, by their names, and the same axes but
 * those. What is in front of them keeps its place. */
#include "te/internal.h"

/* A program being made. Everything but the map lives in the context's arena. */
typedef struct squeezing {
  te_site site;
  const tn_program *from;
  runtime_map twins; /* of FROM's tensors: those without such dimensions */
} squeezing;

/* Dimensions that stay: the first one always does. */
static int kept_dims(const tn_tensor *t) {
  int n = t->ndim;
  while (n > 1 && t->shape[n - 1] == 1 && t->size[n - 1] == NULL) n--;
  return n;
}

static bool is_one(const tn_axis *axis) { return axis->extent == 1; }

/* Whether axis A of a reduction is one of the twin's: longer ones, or the first where there are none; of several values all, since positions
 * may count. */
static bool stays(const tir_expr *reduction, int a) {
  const tir_reduce *r = reduction->u.reduce;
  bool has_longer = false;
  for (int k = 0; k < r->n_axes; k++) has_longer |= !is_one(r->axes[k]);
  return !is_one(r->axes[a]) || r->tuple || (!has_longer && a == 0);
}

static bool has_short_reductions(const tir_expr *body) {
  for (int a = 0; body && body->op == TIR_REDUCE && a < body->u.reduce->n_axes; a++)
    if (!stays(body, a)) return true;
  return false;
}

static tir_binding zero_of(runtime_arena *arena, const tn_axis *axis) {
  return (tir_binding){&axis->var, tir_int(arena, (tn_dtype)axis->var.dtype, 0)};
}

/* Whether there is something to leave out, and nothing that says more of a tensor than its elements. */
static bool has_ones(const tn_program *p) {
  bool has = false, is_plain = p->n_symbols == 0 && p->n_intrins == 0;
  for (int i = 0; i < p->n_ops; i++) {
    const te_op *op = p->ops[i];
    is_plain &= op->kind == TE_COMPUTE || op->kind == TE_PLACEHOLDER;
    has |= has_short_reductions(op->body);
    for (int v = 0; v < op->n_outputs; v++) {
      has |= kept_dims(&op->outputs[v]) < op->outputs[v].ndim;
      is_plain &= !op->outputs[v].is_strided && !te_is_hidden(&op->outputs[v]);
    }
  }
  return has && is_plain;
}

static bool add_input(squeezing *q, const tn_tensor *from) {
  te_extent shape[TN_MAX_RANK];
  for (int d = 0; d < from->ndim; d++) shape[d] = (te_extent){from->shape[d], NULL};
  tn_tensor *input = te_input(&q->site, from->name, from->dtype, kept_dims(from), shape);
  if (!input || !te_has_memory(&q->site, runtime_map_put(&q->twins, from, input) ? input : NULL)) return false;
  input->by_value = from->by_value;
  input->is_layout_free = from->is_layout_free;
  return true;
}

/* An index of a dimension of one element is 0. */
static const tir_expr *read_twin(void *user, const tir_expr *e) {
  const squeezing *q = user;
  if (e->op != TIR_READ) return e;
  return tir_read(&q->site.ctx->arena, runtime_map_get(&q->twins, e->u.tensor), (tn_dtype)e->dtype,
                  kept_dims(e->u.tensor), e->arg);
}

/* Reductions over one element are none, but for the last of them. BODY after their variables became 0. */
static const tir_expr *without_reductions(runtime_arena *arena, const tir_expr *body) {
  if (!body || body->op != TIR_REDUCE || !has_short_reductions(body)) return body;
  tir_reduce *fewer = runtime_copy(arena, body->u.reduce, sizeof *fewer); /* the node points to it */
  tn_axis **axes = RUNTIME_NEW_ARRAY(arena, tn_axis *, body->u.reduce->n_axes);
  if (!fewer || !axes) return NULL;
  fewer->axes = axes, fewer->n_axes = 0;
  for (int a = 0; a < body->u.reduce->n_axes; a++)
    if (stays(body, a)) axes[fewer->n_axes++] = body->u.reduce->axes[a];
  return tir_reduce_args(arena, fewer, body->arg);
}

static bool add_compute(squeezing *q, const te_op *op) {
  runtime_arena *arena = &q->site.ctx->arena;
  const char *names[TIR_MAX_VALUES];
  tir_binding zeros[TN_MAX_RANK + TE_MAX_REDUCE_AXES];
  int kept = kept_dims(op->outputs), n = 0;
  for (int v = 0; v < op->n_outputs; v++) names[v] = op->outputs[v].name;
  for (int a = kept; a < op->n_axes; a++) zeros[n++] = zero_of(arena, op->axes[a]);
  for (int a = 0; op->body->op == TIR_REDUCE && a < op->body->u.reduce->n_axes; a++)
    if (!stays(op->body, a)) zeros[n++] = zero_of(arena, op->body->u.reduce->axes[a]);
  tir_rewriter rewriter = {arena, NULL, read_twin, q};
  const tir_expr *body = n > 0 ? tir_substitute(arena, op->body, n, zeros) : op->body;
  body = without_reductions(arena, body);
  te_op *twin = te_op_new(q->site.ctx, names, kept, op->axes, body ? tir_rewrite_expr(&rewriter, body) : NULL);
  if (!te_has_memory(&q->site, twin)) return false;
  for (int v = 0; v < op->n_outputs; v++)
    if (!runtime_map_put(&q->twins, &op->outputs[v], &twin->outputs[v])) return te_has_memory(&q->site, NULL);
  return true;
}

/* Parsed from its text, so that it has axes of its own. */
static tn_program *squeeze(squeezing *q) {
  const tn_program *p = q->from;
  tn_tensor **args = RUNTIME_NEW_ARRAY(&q->site.ctx->arena, tn_tensor *, p->n_args + 1);
  bool ok = te_has_memory(&q->site, args);
  for (int i = 0; ok && i < p->n_ops; i++)
    ok = te_is_placeholder(p->ops[i]) ? add_input(q, p->ops[i]->outputs) : add_compute(q, p->ops[i]);
  if (!ok) return NULL;
  for (int i = 0; i < p->n_args; i++) args[i] = runtime_map_get(&q->twins, p->args[i]);
  tn_program *made = te_program(&q->site, p->n_inputs, p->n_args, args);
  const char *text = made ? tn_program_text(made) : NULL;
  return text ? tn_program_parse(q->site.ctx, text, 0, NULL) : NULL;
}

tn_program *te_without_ones(tn_program *program) {
  if (program->without_ones || !has_ones(program)) return program->without_ones;
  squeezing q = {.site = {.ctx = program->ctx}, .from = program};
  runtime_quiet quiet = runtime_quiet_begin(program->ctx);
  tn_program *made = squeeze(&q);
  runtime_quiet_end(&quiet);
  runtime_map_free(&q.twins);
  return program->without_ones = made;
}
