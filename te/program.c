/* program.c: programs: the graph behind some outputs in post-order, its arguments, its text and its key. */
#include <stdio.h>

#include "te/internal.h"

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* A step of a depth-first walk without recursion: an op, and how many of its inputs are done. */
typedef struct frame {
  te_op *op;
  int next;
} frame;

/* Ops being ordered so that each comes after what it reads. The stack is the path to the op being looked at. */
typedef struct ordering {
  RUNTIME_VEC(frame) stack;
  RUNTIME_VEC(te_op *) ops;
  bool has_scans; /* only then can a path reach itself again */
  bool failed;
} ordering;

/* Whether an op is on the path: it was reached again through the state of its scan. */
static bool is_open(const ordering *o, const te_op *op) {
  for (int i = o->stack.n; i-- > 0;)
    if (o->stack.data[i].op == op) return true;
  return false;
}

/* Searches from the end, since the most recent ops are asked for most. */
static bool is_listed(const ordering *o, const te_op *op) {
  for (int i = o->ops.n; i-- > 0;)
    if (o->ops.data[i] == op) return true;
  return false;
}

/* Pushes an op that is not listed yet. One that is on the path already closes a cycle, which only scans may have. */
static void push_op(ordering *o, te_op *op) {
  if (!is_listed(o, op) && !(o->has_scans && is_open(o, op)) && !RUNTIME_PUSH(&o->stack, ((frame){op, 0})))
    o->failed = true;
}

/* Adds OP after everything it reads. */
static void order_from(ordering *o, te_op *op) {
  o->has_scans |= op->kind == TE_SCAN;
  push_op(o, op);
  while (o->stack.n > 0 && !o->failed && o->ops.n <= TE_MAX_TENSORS) {
    frame *top = &o->stack.data[o->stack.n - 1];
    if (top->next < top->op->n_inputs) {
      te_op *input = top->op->inputs[top->next++]->op;
      o->has_scans |= input->kind == TE_SCAN;
      push_op(o, input);
      continue;
    }
    te_op *done = top->op;
    o->stack.n--;
    if (!is_listed(o, done) && !RUNTIME_PUSH(&o->ops, done)) o->failed = true;
  }
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Whether an output of OP is among arguments FROM to TO - 1. */
static bool is_arg(const tn_program *p, int from, int to, const te_op *op) {
  for (int i = from; i < to; i++)
    if (p->args[i]->op == op) return true;
  return false;
}

/* Whether some output depends on the op. */
static bool is_needed(const tn_program *p, const te_op *op) {
  for (int i = 0; i < p->n_ops; i++)
    if (p->ops[i] == op) return true;
  return false;
}

/* The given inputs must be exactly the placeholders that the outputs need. */
static bool check_inputs(const te_site *site, const tn_program *p) {
  for (int i = 0; i < p->n_inputs; i++) {
    if (is_needed(p, p->args[i]->op)) continue;
    te_fail(site, TN_ERROR_PROGRAM, "input '%s' is not needed by any output", p->args[i]->name);
    return false;
  }
  for (int i = 0; i < p->n_ops; i++) {
    if (!te_is_placeholder(p->ops[i]) || is_arg(p, 0, p->n_inputs, p->ops[i])) continue;
    te_fail(site, TN_ERROR_PROGRAM, "the outputs need input '%s', which is not among the arguments", p->ops[i]->name);
    return false;
  }
  return true;
}

/* The tensor of that name among the outputs of the first N ops; NULL: none. */
static tn_tensor *find_tensor(const tn_program *p, int n, const char *name) {
  for (int i = 0; i < n; i++)
    for (int v = 0; v < p->ops[i]->n_outputs; v++)
      if (strcmp(p->ops[i]->outputs[v].name, name) == 0) return &p->ops[i]->outputs[v];
  return NULL;
}

/* The outputs of an op must have names that differ from each other and from those of earlier ops. */
static bool check_op_names(const te_site *site, const tn_program *p, int i) {
  const te_op *op = p->ops[i];
  for (int v = 0; v < op->n_outputs; v++) {
    const char *name = op->outputs[v].name;
    bool is_twice = find_tensor(p, i, name) != NULL;
    for (int k = 0; k < v; k++) is_twice |= strcmp(op->outputs[k].name, name) == 0;
    if (!is_twice) continue;
    te_fail(site, TN_ERROR_PROGRAM, "two tensors are named '%s'", name);
    return false;
  }
  return true;
}

/* The combiner that a program must define; argmax and argmin are built in. */
const tir_tuple_combiner *te_op_combiner(const te_op *op) {
  const tir_tuple_combiner *c = op->body && op->body->op == TIR_REDUCE ? op->body->u.reduce->tuple : NULL;
  return c && !c->takes_position ? c : NULL;
}

/* Compares texts, since parts of a program may have been made separately and mean the same. */
static bool is_same_combiner(const tir_tuple_combiner *a, const tir_tuple_combiner *b) {
  runtime_str x = {0}, y = {0};
  if (a != b) te_print_combiner(&x, a), te_print_combiner(&y, b);
  bool is_same = a == b || (x.data && y.data && strcmp(x.data, y.data) == 0);
  runtime_str_free(&x);
  runtime_str_free(&y);
  return is_same;
}

/* A combiner's name must mean one combiner, and no tensor. */
static bool check_combiner(const te_site *site, const tn_program *p, int i) {
  const tir_tuple_combiner *c = te_op_combiner(p->ops[i]);
  if (c && find_tensor(p, p->n_ops, c->name)) {
    te_fail(site, TN_ERROR_PROGRAM, "a combiner and a tensor are named '%s'", c->name);
    return false;
  }
  for (int k = 0; c && k < i; k++) {
    const tir_tuple_combiner *before = te_op_combiner(p->ops[k]);
    if (!before || strcmp(before->name, c->name) != 0 || is_same_combiner(before, c)) continue;
    te_fail(site, TN_ERROR_PROGRAM, "two combiners that differ are named '%s'", c->name);
    return false;
  }
  return true;
}

/* A program with two tensors or combiners of one name could not be parsed back. */
static bool check_names(const te_site *site, const tn_program *p) {
  for (int i = 0; i < p->n_ops; i++)
    if (!check_op_names(site, p, i) || !check_combiner(site, p, i)) return false;
  return true;
}

/* A tensor given twice would make two arguments alias. */
static bool check_args_distinct(const te_site *site, const tn_program *p) {
  for (int i = 0; i < p->n_args; i++) {
    for (int k = 0; k < i; k++) {
      if (p->args[k] != p->args[i]) continue;
      te_fail(site, TN_ERROR_PROGRAM, "'%s' is given twice", p->args[i]->name);
      return false;
    }
  }
  return true;
}

/* Also reports that memory ran out while ordering. */
static bool check_size(const te_site *site, const ordering *o) {
  if (o->failed) return te_has_memory(site, NULL);
  if (o->ops.n <= TE_MAX_TENSORS) return true;
  te_fail(site, TN_ERROR_PROGRAM, "the program has more than %d tensors", (int)TE_MAX_TENSORS);
  return false;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* Lists the ops in post-order from the outputs. */
static bool set_ops(const te_site *site, tn_program *p) {
  ordering o = {0};
  for (int i = p->n_inputs; i < p->n_args; i++) order_from(&o, p->args[i]->op);
  bool ok = check_size(site, &o);
  if (ok) {
    p->n_ops = o.ops.n;
    p->ops = runtime_copy(&site->ctx->arena, o.ops.data, sizeof *o.ops.data * (size_t)o.ops.n);
    ok = te_has_memory(site, p->ops);
  }
  RUNTIME_VEC_FREE(&o.stack);
  RUNTIME_VEC_FREE(&o.ops);
  return ok;
}

/* Checks of names take quadratic time in the number of ops, of which programs have a few hundred. */
tn_program *te_program(const te_site *site, int n_inputs, int n_args, tn_tensor *const *args) {
  tn_program *p = RUNTIME_NEW(&site->ctx->arena, tn_program);
  if (!te_has_memory(site, p)) return NULL;
  if (n_args == n_inputs) return te_fail(site, TN_ERROR_PROGRAM, "a program needs an output"), NULL;
  *p = (tn_program){.ctx = site->ctx, .n_inputs = n_inputs, .n_args = n_args};
  p->args = runtime_copy(&site->ctx->arena, args, sizeof *args * (size_t)n_args);
  if (!te_has_memory(site, p->args) || !check_args_distinct(site, p) || !set_ops(site, p)) return NULL;
  for (int i = 0; i < p->n_ops; i++) te_set_may_leave(p->ops[i]); /* inferred inputs have their shapes only now */
  return check_inputs(site, p) && check_names(site, p) && te_check_scans(site, p) && te_check_externs(site, p) &&
                 te_collect_symbols(site, p)
             ? p
             : NULL;
}

/* Puts inputs first, as kernels take them. */
tn_program *tn_program_array(tn_context *ctx, int n, const tn_arg *tensors) {
  te_site site = {.ctx = ctx};
  tn_tensor *args[TE_MAX_TENSORS];
  int n_inputs = 0;
  if (!ctx || !tensors || !te_check_context(&site, n, tensors)) return NULL;
  if (n > TE_MAX_TENSORS) return te_fail(&site, TN_ERROR_PROGRAM, "%d arguments are too many", n), NULL;
  for (int i = 0; i < n; i++) {
    if (tensors[i].kind != TN_ARG_TENSOR)
      return te_fail(&site, TN_ERROR_ARGUMENT, "tn_program_new: argument %d is no tensor", i + 1), NULL;
    args[i] = tensors[i].u.tensor;
    if (te_is_placeholder(args[i]->op) && n_inputs < i)
      return te_fail(&site, TN_ERROR_PROGRAM, "input '%s' stands after an output: inputs come first", args[i]->name),
             NULL;
    n_inputs += te_is_placeholder(args[i]->op);
  }
  return te_program(&site, n_inputs, n, args);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Text and key are made once and kept: a program is const only to its users. */
const char *tn_program_text(const tn_program *program) {
  if (!program || program->text) return program ? program->text : NULL;
  runtime_str out = runtime_str_limited(program->ctx);
  te_print_program(&out, program);
  char *printed = runtime_str_finish(&out, program->ctx, "the program");
  const char *text = printed ? runtime_strdup(&program->ctx->arena, printed) : NULL;
  if (printed && !text) runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory");
  free(printed);
  ((tn_program *)program)->text = text;
  return text;
}

/* A hash that is not cryptographic. Logs take programs of equal keys for the same. */
const char *tn_program_key(const tn_program *program) {
  const char *text = tn_program_text(program);
  if (!text || program->key) return text ? program->key : NULL;
  uint64_t hash = runtime_hash(text, strlen(text), 0);
  const char *key = runtime_format(&program->ctx->arena, "%016llx", (unsigned long long)hash);
  if (!key) runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory");
  ((tn_program *)program)->key = key;
  return key;
}

/* Made once and kept, like the text. */
const char *tn_program_schedule(const tn_program *program) {
  if (!program || program->n_blocks == 0 || program->schedule) return program ? program->schedule : NULL;
  runtime_str out = {0};
  for (int i = 0; i < program->n_blocks; i++) runtime_str_addf(&out, "%s\n", program->blocks[i].text);
  const char *text = runtime_str_take(&out, &program->ctx->arena);
  if (!text) runtime_fail(program->ctx, TN_ERROR_MEMORY, "out of memory");
  ((tn_program *)program)->schedule = text;
  return text;
}

int tn_program_link_count(const tn_program *program) { return program ? program->n_links : 0; }

const char *tn_program_link_path(const tn_program *program, int index) {
  return program && index >= 0 && index < program->n_links ? program->links[index] : NULL;
}

int tn_program_arg_count(const tn_program *program) { return program ? program->n_args : 0; }
int tn_program_input_count(const tn_program *program) { return program ? program->n_inputs : 0; }

tn_tensor *tn_program_arg(const tn_program *program, int index) {
  return program && index >= 0 && index < program->n_args ? program->args[index] : NULL;
}

/* Searches the outputs of all ops, including hidden values of argmax. */
tn_tensor *tn_program_find(const tn_program *program, const char *tensor_name) {
  if (!program || !RUNTIME_GIVEN(program->ctx, tensor_name)) return NULL;
  return find_tensor(program, program->n_ops, tensor_name);
}

bool te_is_output(const tn_program *program, const te_op *op) {
  return is_arg(program, program->n_inputs, program->n_args, op);
}

const char *tn_tensor_name(const tn_tensor *tensor) { return tensor ? tensor->name : NULL; }
tn_dtype tn_tensor_dtype(const tn_tensor *tensor) { return tensor ? tensor->dtype : TN_DTYPE_COUNT; }
int tn_tensor_rank(const tn_tensor *tensor) { return tensor ? tensor->ndim : 0; }
const int64_t *tn_tensor_shape(const tn_tensor *tensor) { return tensor ? tensor->shape : NULL; }
