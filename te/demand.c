/* demand.c: single elements on demand: a read of a computed tensor computes that element and remembers it.
 * The memo of a tensor maps the flat index to the bits of its value and belongs to the run. Elements are
 * computed depth first on the C stack, which MAX_DEMAND_DEPTH limits. */
#include <math.h>

#include "te/evaluate.h"

enum {
  MAX_DEMAND_DEPTH = 20000, /* levels of expressions on the stack, over all producers */
  LEVELS_OF_DEMAND = 4      /* what a step to a producer adds to the depth of its expression */
};

/* ---- remembered elements ----------------------------------------------------------------------------------------- */

/* Keys are the flat index plus 1, since a map has no key 0. */
static bool memo_find(const runtime_map *memo, int64_t flat, te_cell *value) {
  const runtime_map_value *known = runtime_map_find(memo, (uint64_t)flat + 1);
  if (known) value->i = known->i;
  return known != NULL;
}

/* Keys as in memo_find. False: no memory. */
static bool memo_add(runtime_map *memo, int64_t flat, te_cell value) {
  runtime_map_value *place = runtime_map_at(memo, (uint64_t)flat + 1);
  if (place) place->i = value.i;
  return place != NULL;
}

/* ---- computing --------------------------------------------------------------------------------------------------- */

/* Evaluates the definition at an index. The reader's state is saved meanwhile. */
static void compute(te_run *run, const te_source *source, const int64_t *index, te_cell *values) {
  const te_op *op = source->tensor->op, *reader = run->op;
  const te_source *reading = run->source;
  int64_t vars[TE_MAX_VARS], *outer = run->vars;
  for (int d = 0; d < op->n_axes; d++) vars[d] = index[d];
  run->vars = vars;
  run->depth += source->depth + LEVELS_OF_DEMAND;
  te_element(run, source, source->body, values);
  run->depth -= source->depth + LEVELS_OF_DEMAND;
  run->vars = outer;
  run->op = reader;
  run->source = reading;
}

/* Remembers all values of a tuple: they are computed together. */
static bool remember(te_run *run, te_source *first, int64_t flat, const te_cell *values) {
  bool ok = true;
  for (int v = 0; ok && v < first->tensor->op->n_outputs; v++) ok = memo_add(&first[v].memo, flat, values[v]);
  return ok || te_run_fail(run, TN_ERROR_MEMORY, "out of memory");
}

/* Gives 0 after a failure, which the run remembers. A definition is compiled at its first element. */
te_cell te_demand(te_run *run, te_source *source, const int64_t *index, int64_t flat) {
  te_cell value = {0}, values[TIR_MAX_VALUES] = {0};
  te_source *first = source - source->tensor->value_index;
  if (run->failed || memo_find(&source->memo, flat, &value)) return value;
  if (te_is_extern(source->tensor->op)) {
    te_run_fail(run, TN_ERROR_PROGRAM, "'%s' is computed as a whole, by a call of %s: use tn_evaluate",
                source->tensor->name, source->tensor->op->call->callee->name);
    return value;
  }
  if (!first->body) first->body = te_compile(run, source->tensor->op, &first->depth);
  if (!first->body) return value;
  if (run->depth + first->depth + LEVELS_OF_DEMAND > MAX_DEMAND_DEPTH) {
    te_run_fail(run, TN_ERROR_PROGRAM, "the chain of tensors behind '%s' is too long to compute one element: %s",
                source->tensor->name, "use tn_evaluate");
    return value;
  }
  compute(run, first, index, values);
  if (!run->failed) remember(run, first, flat, values);
  return values[source->tensor->value_index];
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* Checks the tensor first: one of another program would be read in the wrong place. */
static tn_status check_place(const tn_program *p, const tn_tensor *t, const int64_t *index, const int64_t *symbols) {
  if (tn_program_find(p, t->name) != t)
    return runtime_fail(p->ctx, TN_ERROR_ARGUMENT, "'%s' is no tensor of the program", t->name);
  for (int d = 0; d < t->ndim; d++) {
    int64_t extent = t->size[d] ? te_size_value(p, t->size[d], symbols) : t->shape[d];
    if (index[d] < 0 || index[d] >= extent)
      return runtime_fail(p->ctx, TN_ERROR_ARGUMENT, "index %d of '%s' is %lld, but the extent is %lld", d, t->name,
                          (long long)index[d], (long long)extent);
  }
  return TN_OK;
}

/* Looks the element up if the tensor has an array; otherwise, or if IS_DEFINED, computes it. */
static te_cell element_at(te_run *run, te_source *source, bool is_defined, const int64_t *index) {
  int64_t flat = 0;
  for (int d = 0; d < source->tensor->ndim; d++) flat += index[d] * source->stride[d];
  if (source->data && !is_defined) return te_load(source->tensor->dtype, source->data, flat);
  return te_demand(run, source, index, flat);
}

/* Evaluates one element. IS_DEFINED: by its definition even if its tensor has an array, from the arrays of
 * what it reads. CHANCE: where random roundings come from, or NULL. */
static tn_status evaluate_at(tn_program *program, DLTensor *const *args, int n_args, bool is_defined,
                             runtime_rng *chance, const tn_tensor *tensor, const int64_t *index, double *value) {
  int64_t symbols[TE_MAX_SYMBOLS] = {0};
  tn_status status = te_check_args(program, args, n_args, is_defined, symbols);
  if (status == TN_OK) status = check_place(program, tensor, index, symbols);
  if (status != TN_OK) return status;
  te_run run;
  te_cell cell = {0};
  bool is_float = tn_dtype_is_float(tensor->dtype);
  bool started = te_run_start(&run, program, args, is_defined, symbols);
  run.chance = chance;
  if (started) cell = element_at(&run, te_source_of(&run, tensor), is_defined, index);
  te_run_end(&run);
  if (run.failed) return run.status;
  *value = is_float ? cell.f : (double)cell.i;
  return TN_OK;
}

/* Costs as much as the elements that this one depends on, each computed once. */
tn_status tn_evaluate_at(tn_program *program, DLTensor *const *args, int n_args, const tn_tensor *tensor,
                         const int64_t *index, double *value) {
  tn_context *ctx = program ? program->ctx : NULL;
  if (!program || !RUNTIME_GIVEN(ctx, args) || !RUNTIME_GIVEN(ctx, tensor) || !RUNTIME_GIVEN(ctx, value) ||
      (tensor->ndim > 0 && !RUNTIME_GIVEN(ctx, index)))
    return TN_ERROR_ARGUMENT;
  return evaluate_at(program, args, n_args, false, NULL, tensor, index, value);
}

tn_status te_evaluate_stage_at(tn_program *program, DLTensor *const *args, int n_args, const tn_tensor *tensor,
                               const int64_t *index, double *value) {
  return evaluate_at(program, args, n_args, true, NULL, tensor, index, value);
}

tn_status te_evaluate_by_chance(tn_program *program, DLTensor *const *args, int n_args, runtime_rng *chance,
                                const tn_tensor *tensor, const int64_t *index, double *value) {
  return evaluate_at(program, args, n_args, false, chance, tensor, index, value);
}

/* ---- what it costs ----------------------------------------------------------------------------------------------- */

/* The terms of a definition's sum; 1 without a reduction. */
static double terms_of(const te_op *op) {
  double terms = 1;
  for (int r = 0; r < op->n_reduce; r++) terms *= (double)op->reduce_axes[r]->extent;
  return terms;
}

static double elements_of(const te_op *op) {
  double elements = 1;
  for (int d = 0; d < op->outputs[0].ndim; d++) elements *= (double)op->outputs[0].shape[d];
  return elements;
}

static int op_number(const tn_program *program, const te_op *op) {
  int i = 0;
  while (program->ops[i] != op) i++;
  return i;
}

double te_demand_terms(const tn_program *program, const tn_tensor *tensor) {
  double needed[TE_MAX_TENSORS] = {0}, sum = 0; /* elements of each op */
  int last = op_number(program, tensor->op);
  needed[last] = 1;
  for (int i = last; i >= 0; i--) {
    const te_op *op = program->ops[i];
    if (te_is_placeholder(op) || needed[i] == 0) continue;
    double terms = fmin(needed[i], elements_of(op)) * terms_of(op);
    sum += terms;
    for (int k = 0; k < op->n_inputs; k++) needed[op_number(program, op->inputs[k]->op)] += terms;
  }
  return sum;
}
