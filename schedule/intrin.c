/* intrin.c: the intrinsics there are. A pattern is the text of a program with one computed tensor; it is read into the
 * form that loops are compared with (tir/intrin.h) when it is first used, and kept with the context. */
#include "schedule/intrin.h"

#include <stdio.h>

/* LANES results, of K products each. */
#define DOT(name, lanes, k, a, b, acc)                                                                     \
  {                                                                                                        \
    name, "input a: " a "[" lanes "," k "], b: " b "[" lanes "," k "]\nc[l<" lanes "] = sum[k<" k "](" acc \
          "(a[l,k]) * " acc "(b[l,k]))"                                                                    \
  }
#define DOTS(name, k, a, b, acc) \
  DOT(name, "16", k, a, b, acc), DOT(name "_x8", "8", k, a, b, acc), DOT(name "_x4", "4", k, a, b, acc)

static const struct builtin {
  const char *name, *pattern;
} builtins[] = {
    DOTS("dot4_u8i8", "4", "u8", "i8", "i32"),
    DOTS("dot4_i8i8", "4", "i8", "i8", "i32"),
    DOTS("dot2_bf16", "2", "bf16", "bf16", "f32"),
};

/* ---- from a program to a pattern ----------------------------------------------------------------------------------
 */

typedef struct reading {
  runtime_arena *arena;
  tir_intrin *intrin;
  const te_op *op;
  bool failed;
} reading;

static const tir_buffer *make_buffer(runtime_arena *arena, const tn_tensor *tensor) {
  tir_buffer *buffer = RUNTIME_NEW(arena, tir_buffer);
  if (!buffer) return NULL;
  *buffer = (tir_buffer){.name = tensor->name, .dtype = tensor->dtype, .ndim = tensor->ndim, .scope = "global"};
  memcpy(buffer->shape, tensor->shape, sizeof *tensor->shape * (size_t)tensor->ndim);
  return buffer;
}

static const tir_expr *read_node(void *user, const tir_expr *e) {
  reading *r = user;
  if (e->op != TIR_READ) return e;
  int input = 0;
  while (input < r->op->n_inputs && r->op->inputs[input] != e->u.tensor) input++;
  for (int i = 0; i < e->n_args; i++) r->failed |= e->arg[i]->op != TIR_VAR && e->arg[i]->op != TIR_INT;
  return input < r->op->n_inputs ? tir_load(r->arena, r->intrin->inputs[input], e->n_args, e->arg, NULL) : NULL;
}

static void add_axes(tir_intrin *intrin, int n, tn_axis *const *axes) {
  for (int i = 0; i < n; i++)
    intrin->axes[intrin->n_axes++] = (tir_intrin_axis){&axes[i]->var, axes[i]->extent, axes[i]->is_reduce};
}

/* What of a program makes no pattern; NULL: it is one. */
static const char *objection(const tn_program *p) {
  const te_op *op = p->ops[p->n_ops - 1];
  if (te_is_placeholder(op) || p->n_ops != op->n_inputs + 1 || op->n_outputs != 1)
    return "it has to compute one tensor";
  if (op->n_axes + op->n_reduce > TIR_INTRIN_AXES) return "it has more than 6 axes";
  if (op->n_inputs > TIR_INTRIN_INPUTS) return "it has more than 6 inputs";
  if (op->body->op == TIR_REDUCE && (op->body->u.reduce->has_where || op->body->u.reduce->has_init))
    return "its reduction has a where or an init";
  if (tir_reduces_tuples(op->body)) return "its reduction is by a combiner of the program";
  return op->may_leave ? "a read of it can leave its tensor" : NULL;
}

/* Fills INTRIN from the program's last op. NULL, or what is wrong. */
static const char *from_program(runtime_arena *arena, const tn_program *p, tir_intrin *intrin) {
  const char *wrong = objection(p);
  if (wrong) return wrong;
  const te_op *op = p->ops[p->n_ops - 1];
  const bool is_reduction = op->body->op == TIR_REDUCE;
  intrin->n_data = op->n_axes;
  add_axes(intrin, op->n_axes, op->axes);
  add_axes(intrin, op->n_reduce, op->reduce_axes);
  intrin->n_inputs = op->n_inputs;
  for (int i = 0; i < op->n_inputs; i++)
    if (!(intrin->inputs[i] = make_buffer(arena, op->inputs[i]))) return "out of memory";
  intrin->output = make_buffer(arena, &op->outputs[0]);
  intrin->is_reduction = is_reduction;
  if (is_reduction) intrin->combiner = op->body->u.reduce->combiner;
  reading r = {arena, intrin, op, false};
  tir_rewriter rewriter = {arena, NULL, read_node, &r};
  intrin->source = tir_simplify(arena, NULL, tir_rewrite_expr(&rewriter, is_reduction ? op->body->arg[0] : op->body));
  if (r.failed) return "it reads its inputs at more than plain axes";
  return intrin->source && intrin->output ? NULL : "out of memory";
}

/* ---- the list of a context ----------------------------------------------------------------------------------------
 */

typedef struct known {
  tir_intrin intrin;
  struct known *next;
} known;

static const tir_intrin *find_known(const tn_context *ctx, const char *name) {
  for (const known *k = ctx->intrins; k; k = k->next)
    if (strcmp(k->intrin.name, name) == 0) return &k->intrin;
  return NULL;
}

static const tir_intrin *read_builtin(tn_context *ctx, const struct builtin *builtin) {
  tn_program *p = tn_program_parse(ctx, builtin->pattern, 0, NULL);
  known *k = p ? RUNTIME_NEW(&ctx->arena, known) : NULL;
  if (!k) return NULL;
  *k = (known){.intrin = {.name = builtin->name, .text = strchr(builtin->pattern, '\n') + 1, .form = TIR_INTRIN_DOT},
               .next = ctx->intrins};
  const char *wrong = from_program(&ctx->arena, p, &k->intrin);
  if (wrong) {
    runtime_fail(ctx, TN_ERROR_INTERNAL, "the intrinsic %s: %s", builtin->name, wrong);
    return NULL;
  }
  ctx->intrins = k;
  return &k->intrin;
}

const tir_intrin *schedule_find_intrin(tn_context *ctx, const char *name) {
  const tir_intrin *found = find_known(ctx, name);
  for (int i = 0; !found && i < RUNTIME_COUNT(builtins); i++)
    if (strcmp(builtins[i].name, name) == 0) return read_builtin(ctx, &builtins[i]);
  return found;
}

const char *schedule_intrin_names(tn_context *ctx, char *buffer, size_t n) {
  size_t used = 0;
  (void)ctx;
  for (int i = 0; i < RUNTIME_COUNT(builtins) && used < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, "%s%s", i ? ", " : "", builtins[i].name);
  return buffer;
}
