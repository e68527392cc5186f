/* cut.c: makes some computes of a program a program of their own. Its names say nothing about where the
 * part came from, so parts that compute the same have equal texts, and are one task to tune and one key in
 * logs. */
#include "te/internal.h"

#include <stdio.h>

/* A part being made. Everything but the map lives in the context's arena. */
typedef struct cutting {
  te_site site;
  const tn_program *from;
  const bool *is_in;
  runtime_map twins; /* of FROM's tensors: those of the part */
  int n_inputs, n_computes, n_args;
  tn_tensor **args;
} cutting;

/* A name for a tensor of the part: "I3", "T3"; a hidden value (te_is_hidden) gets the name of one. */
static const char *name_of(const cutting *c, const tn_tensor *from, const char *first) {
  runtime_arena *arena = &c->site.ctx->arena;
  if (from->value_index == 0) return first;
  if (te_is_hidden(from)) return runtime_format(arena, "%s.value", first);
  return runtime_format(arena, "%s_%d", first, from->value_index);
}

/* Adds an input for a tensor that the part reads and does not compute. */
static bool add_input(cutting *c, const tn_tensor *from) {
  te_extent shape[TN_MAX_RANK];
  char name[32];
  if (runtime_map_get(&c->twins, from)) return true;
  snprintf(name, sizeof name, "I%d", c->n_inputs);
  for (int d = 0; d < from->ndim; d++) shape[d] = (te_extent){from->shape[d], NULL};
  tn_tensor *input = te_input(&c->site, name, from->dtype, from->ndim, shape);
  if (!input || !te_has_memory(&c->site, runtime_map_put(&c->twins, from, input) ? input : NULL)) return false;
  input->by_value = from->by_value;
  input->is_layout_free = from->is_layout_free;
  c->args[c->n_inputs++] = input;
  return true;
}

/* Replaces a read. The rewriter works bottom-up, so the index is done already. */
static const tir_expr *read_twin(void *user, const tir_expr *e) {
  const cutting *c = user;
  if (e->op != TIR_READ) return e;
  return tir_read(&c->site.ctx->arena, runtime_map_get(&c->twins, e->u.tensor), (tn_dtype)e->dtype, e->n_args, e->arg);
}

/* Axes keep their names, which are part of the text; layers of one kind have equal ones. */
static bool add_compute(cutting *c, const te_op *op) {
  const char *names[TIR_MAX_VALUES], *first = runtime_format(&c->site.ctx->arena, "T%d", c->n_computes++);
  for (int v = 0; v < op->n_outputs; v++)
    if (!first || !(names[v] = name_of(c, &op->outputs[v], first))) return te_has_memory(&c->site, NULL);
  tir_rewriter rewriter = {&c->site.ctx->arena, NULL, read_twin, c};
  te_op *twin = te_op_new(c->site.ctx, names, op->n_axes, op->axes, tir_rewrite_expr(&rewriter, op->body));
  if (!te_has_memory(&c->site, twin)) return false;
  for (int v = 0; v < op->n_outputs; v++)
    if (!runtime_map_put(&c->twins, &op->outputs[v], &twin->outputs[v])) return te_has_memory(&c->site, NULL);
  return true;
}

/* Whether the tensor is seen outside the part. */
static bool is_result(const cutting *c, const tn_tensor *tensor) {
  for (int i = c->from->n_inputs; i < c->from->n_args; i++)
    if (c->from->args[i] == tensor) return true;
  for (int i = 0; i < c->from->n_ops; i++)
    for (int k = 0; !c->is_in[i] && k < c->from->ops[i]->n_inputs; k++)
      if (c->from->ops[i]->inputs[k] == tensor) return true;
  return false;
}

/* Adds the inputs of an op. */
static bool add_op(cutting *c, const te_op *op) {
  for (int k = 0; k < op->n_inputs; k++)
    if (!add_input(c, op->inputs[k])) return false;
  return true;
}

/* Orders the arguments: inputs as the computes read them, then the tensors seen outside. */
static bool make_tensors(cutting *c) {
  const tn_program *p = c->from;
  for (int i = 0; i < p->n_ops; i++) {
    if (!c->is_in[i]) continue;
    if (!add_op(c, p->ops[i]) || !add_compute(c, p->ops[i])) return false;
  }
  c->n_args = c->n_inputs;
  for (int i = 0; i < p->n_ops; i++)
    for (int v = 0; c->is_in[i] && v < p->ops[i]->n_outputs; v++)
      if (is_result(c, &p->ops[i]->outputs[v]))
        c->args[c->n_args++] = runtime_map_get(&c->twins, &p->ops[i]->outputs[v]);
  return true;
}

/* Pairs tensors by name: the part was parsed from its text, so that it has axes of its own. */
static const te_twin *list_twins(const cutting *c, const tn_program *part, int *n) {
  const tn_program *p = c->from;
  te_twin *twins = RUNTIME_NEW_ARRAY(&c->site.ctx->arena, te_twin, p->n_ops + 1);
  *n = 0;
  for (int i = 0; twins && i < p->n_ops; i++) {
    const tn_tensor *own = &p->ops[i]->outputs[0], *twin = runtime_map_get(&c->twins, own);
    const tn_tensor *parsed = twin ? tn_program_find(part, twin->name) : NULL;
    if (parsed) twins[(*n)++] = (te_twin){own, parsed};
  }
  return te_has_memory(&c->site, twins) ? twins : NULL;
}

static int count_tensors(const tn_program *p) {
  int n = 0;
  for (int i = 0; i < p->n_ops; i++) n += p->ops[i]->n_outputs;
  return n;
}

static tn_program *make_part(cutting *c, te_part *out) {
  c->args = RUNTIME_NEW_ARRAY(&c->site.ctx->arena, tn_tensor *, 2 * count_tensors(c->from) + 1);
  if (!te_has_memory(&c->site, c->args) || !make_tensors(c)) return NULL;
  tn_program *made = te_program(&c->site, c->n_inputs, c->n_args, c->args);
  const char *text = made ? tn_program_text(made) : NULL;
  out->program = text ? tn_program_parse(c->site.ctx, text, 0, NULL) : NULL;
  if (out->program) out->twins = list_twins(c, out->program, &out->n_twins);
  return out->twins ? out->program : NULL;
}

tn_status te_cut(const tn_program *from, const bool *is_in, te_part *out) {
  cutting c = {.site = {.ctx = from->ctx}, .from = from, .is_in = is_in};
  *out = (te_part){0};
  tn_program *part = make_part(&c, out);
  runtime_map_free(&c.twins);
  return part ? TN_OK : tn_context_status(from->ctx);
}
