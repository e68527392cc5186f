/* analysis.c: facts about computes that generic schedules and sketch rules ask for: how they access
 * their inputs, whether they may be inlined, whether tiling pays, which consumer may take a producer's
 * tile as it is. Nothing is kept: each question walks the body, which is some dozen nodes. */
#include "schedule/analysis.h"

/* ---- reads ------------------------------------------------------------------------------------------------------- */

/* Calls visit for every READ in an expression (each shared node once); false when visit returned false. */
typedef struct read_walk {
  bool (*visit)(void *user, const tir_expr *read);
  void *user;
} read_walk;

/* The callback of tir_walk_expr for a read_walk. */
static tir_walk walk_read(void *user, const tir_expr *e) {
  const read_walk *w = user;
  return e->op != TIR_READ || w->visit(w->user, e) ? TIR_WALK_ON : TIR_WALK_STOP;
}

/* True, too, for an op without a body, which reads nothing that could break a rule. */
static bool for_each_read(const te_op *op, bool (*visit)(void *user, const tir_expr *read), void *user) {
  read_walk w = {visit, user};
  return !op->body || tir_walk_expr(op->body, walk_read, &w);
}

/* The variable of `axis`, `axis + c`, `c + axis`, `axis - c`; NULL for a constant. False for anything else. */
static bool simple_index(const tir_expr *e, const tir_var **var) {
  *var = NULL;
  int64_t c;
  if (tir_is_int(e, &c)) return true;
  if ((e->op == TIR_ADD || e->op == TIR_SUB) && tir_is_int(e->arg[1], &c))
    e = e->arg[0];
  else if (e->op == TIR_ADD && tir_is_int(e->arg[0], &c))
    e = e->arg[1];
  if (e->op != TIR_VAR) return false;
  *var = e->u.var;
  return true;
}

/* ---- inlining ---------------------------------------------------------------------------------------------------- */

/* -1: a reduction axis, or none of OP's. */
static int data_axis_of(const te_op *op, const tir_var *var) {
  for (int a = 0; a < op->n_axes; a++) {
    if (&op->axes[a]->var == var) return a;
  }
  return -1;
}

/* The data axes in a simple read come in strictly increasing order. */
static bool read_is_ordered(void *user, const tir_expr *read) {
  int last = -1;
  for (int i = 0; i < read->n_args; i++) {
    const tir_var *var;
    if (!simple_index(read->arg[i], &var)) return false;
    if (!var) continue;
    int axis = data_axis_of(user, var);
    if (axis <= last) return false;
    last = axis;
  }
  return true;
}

/* Functions cheap enough to be computed again by every reader. */
static bool is_costly(tir_op op) {
  static const tir_op cheap[] = {TIR_FLOOR, TIR_CEIL,  TIR_ROUND,     TIR_SQRT,
                                 TIR_RSQRT, TIR_TRUNC, TIR_NEARBYINT, TIR_COPYSIGN};
  if (tir_op_table[op].op_class != TIR_CLASS_MATH) return false;
  for (int i = 0; i < RUNTIME_COUNT(cheap); i++) {
    if (op == cheap[i]) return false;
  }
  return true;
}

/* A select counts, too: TVM does not inline padding before a reduction of its own accord. */
static tir_walk stop_at_costly(void *user, const tir_expr *e) {
  (void)user;
  return e->op == TIR_SELECT || is_costly(e->op) ? TIR_WALK_STOP : TIR_WALK_ON;
}

/* A select is cheap here: it is a blend of two values. */
static tir_walk stop_at_function(void *user, const tir_expr *e) {
  (void)user;
  return is_costly(e->op) ? TIR_WALK_STOP : TIR_WALK_ON;
}

bool schedule_is_cheap(const te_op *op) { return op->body && tir_walk_expr(op->body, stop_at_function, NULL); }

/* AutoScheduler's rule (IsStrictlyInlineable): what it accepts is inlined without a choice. */
bool schedule_is_strictly_inlineable(const te_op *op) {
  if (!op->body || op->n_reduce > 0) return false;
  if (op->n_inputs == 0) return true;
  return for_each_read(op, read_is_ordered, (void *)op) && tir_walk_expr(op->body, stop_at_costly, NULL);
}

/* ---- tiling ------------------------------------------------------------------------------------------------------ */

/* Whether all reads of TENSOR have VAR in one place. */
typedef struct axis_query {
  const tn_tensor *tensor;
  const tir_var *var;
} axis_query;

/* False when a read of the tensor uses the variable. */
static bool does_not_use(void *user, const tir_expr *read) {
  const axis_query *q = user;
  return read->u.tensor != q->tensor || !tir_uses_var(read, q->var);
}

/* Sampled on the structure alone: an extent that symbols decide counts by its greatest value. */
bool schedule_is_reused(const te_op *op, const tn_tensor *input) {
  for (int a = 0; a < op->n_axes; a++) {
    axis_query q = {input, &op->axes[a]->var};
    if (op->axes[a]->extent > 1 && for_each_read(op, does_not_use, &q)) return true;
  }
  return false;
}

/* AutoScheduler's NeedsMultilevelTiling: tiles keep in the cache what is used again. */
bool schedule_needs_tiling(const te_op *op) {
  int reused = 0;
  for (int i = 0; i < op->n_inputs; i++) reused += schedule_is_reused(op, op->inputs[i]);
  return reused >= 2 || (reused >= 1 && op->n_reduce > 0);
}

/* Reads of other tensors have no say. */
static bool read_ends_in(void *user, const tir_expr *read) {
  const axis_query *q = user;
  if (read->u.tensor != q->tensor) return true;
  const tir_expr *last = read->n_args > 0 ? read->arg[read->n_args - 1] : NULL;
  return last && last->op == TIR_VAR && last->u.var == q->var;
}

/* What decides between a vector load and a gather. */
bool schedule_is_read_by_rows(const te_op *op, const tn_tensor *input) {
  if (op->n_axes == 0) return false;
  axis_query q = {input, &op->axes[op->n_axes - 1]->var};
  return for_each_read(op, read_ends_in, &q);
}

/* USER is a variable. */
static bool read_ends_elsewhere(void *user, const tir_expr *read) {
  const tir_expr *last = read->n_args > 0 ? read->arg[read->n_args - 1] : NULL;
  return !last || last->op != TIR_VAR || last->u.var != user;
}

bool schedule_reads_along_reduction(const te_op *op) {
  return op->n_reduce > 0 && !for_each_read(op, read_ends_elsewhere, &op->reduce_axes[op->n_reduce - 1]->var);
}

/* ---- consumers --------------------------------------------------------------------------------------------------- */

/* Whether OP reads TENSOR at its own axes, in their order. */
typedef struct elementwise_query {
  const te_op *op;
  const tn_tensor *tensor;
} elementwise_query;

/* The axes themselves: an offset would need a region larger than a tile. */
static bool read_is_elementwise(void *user, const tir_expr *read) {
  const elementwise_query *q = user;
  if (read->u.tensor != q->tensor) return true;
  if (read->n_args != q->op->n_axes) return false;
  for (int i = 0; i < read->n_args; i++) {
    if (read->arg[i]->op != TIR_VAR || read->arg[i]->u.var != &q->op->axes[i]->var) return false;
  }
  return true;
}

/* OP reads PRODUCER's element at exactly its own axes, all and in order, and both have the same shape. */
static bool is_elementwise_read(const te_op *op, const tn_tensor *producer) {
  const tn_tensor *own = &op->outputs[0];
  if (own->ndim != producer->ndim) return false;
  if (memcmp(own->shape, producer->shape, sizeof *own->shape * (size_t)own->ndim) != 0) return false;
  elementwise_query q = {op, producer};
  return for_each_read(op, read_is_elementwise, &q);
}

/* Follows at most the chain of stages, each once. */
int schedule_elementwise_consumer(const tn_schedule *s, int producer) {
  for (int stage = producer;;) {
    int consumers[2];
    if (schedule_consumers(s, stage, false, 2, consumers) != 1) return -1;
    const schedule_stage *consumer = &s->stages[consumers[0]];
    if (consumer->op->n_reduce > 0) return -1;
    for (int v = 0; v < s->stages[stage].n_tensors; v++)
      if (!is_elementwise_read(consumer->op, &s->stages[stage].tensors[v])) return -1;
    stage = consumers[0];
    if (consumer->attach != SCHEDULE_INLINED) return stage;
  }
}

bool schedule_is_output_stage(const tn_schedule *s, int stage) {
  int consumer;
  return schedule_is_output(s, stage) || schedule_consumers(s, stage, false, 1, &consumer) == 0;
}
