/* evaluate.c: the reference evaluator: walks the te graph itself, in doubles and wrapped 64-bit integers, and shares no
 * code with lowering. tn_evaluate computes whole tensors, producers first; tn_evaluate_at one element on demand. */
#include <math.h>
#include <stdio.h>

#include "te/evaluate.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Row-major without gaps. */
static bool is_compact(const DLTensor *a) {
  int64_t stride = 1;
  for (int d = a->ndim; a->strides && d-- > 0; stride *= a->shape[d])
    if (a->shape[d] != 1 && a->strides[d] != stride) return false;
  return true;
}

static bool same_dtype(DLDataType a, tn_dtype dtype) {
  DLDataType b = tn_dtype_dlpack(dtype);
  bool is_bool = dtype == TN_BOOL && a.code == kDLUInt && (a.bits == 1 || a.bits == 8);
  return a.lanes == 1 && (is_bool || (a.code == b.code && a.bits == b.bits));
}

static tn_status check_array(tn_context *ctx, const tn_tensor *t, const DLTensor *a) {
  if (!a || !a->data) return runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' is NULL", t->name);
  if (!same_dtype(a->dtype, t->dtype))
    return runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' is not %s", t->name, tn_dtype_name(t->dtype));
  if (a->ndim != t->ndim)
    return runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' has rank %d, not %d", t->name, a->ndim, t->ndim);
  for (int d = 0; d < t->ndim; d++)
    if (a->shape[d] != t->shape[d])
      return runtime_fail(ctx, TN_ERROR_CALL, "dimension %d of argument '%s' is %lld, not %lld", d, t->name,
                          (long long)a->shape[d], (long long)t->shape[d]);
  return is_compact(a) ? TN_OK : runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' is not compact row-major", t->name);
}

tn_status te_check_args(const tn_program *p, DLTensor *const *args, int n_args, bool need_outputs) {
  if (n_args != p->n_args)
    return runtime_fail(p->ctx, TN_ERROR_CALL, "%d arguments given, the program has %d", n_args, p->n_args);
  for (int i = 0; i < (need_outputs ? n_args : p->n_inputs); i++) {
    tn_status status = check_array(p->ctx, p->args[i], args[i]);
    if (status != TN_OK) return status;
  }
  return TN_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

bool te_run_fail(te_run *run, tn_status status, const char *fmt, ...) {
  char text[1024];
  if (run->failed) return false;
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  run->failed = true;
  run->status = status;
  runtime_fail(run->ctx, status, "%s", text);
  return false;
}

static int64_t element_count(const tn_tensor *t) {
  int64_t n = 1;
  for (int d = 0; d < t->ndim; d++) n *= t->shape[d];
  return n;
}

te_source *te_source_of(te_run *run, const tn_tensor *t) {
  for (int i = 0; i < run->n_sources; i++)
    if (run->sources[i].tensor == t) return &run->sources[i];
  return NULL;
}

/* A run over the program's tensors; inputs (and outputs, when NEED_OUTPUTS) have their arrays. */
bool te_run_start(te_run *run, tn_program *p, DLTensor *const *args, bool need_outputs) {
  *run = (te_run){.ctx = p->ctx, .n_sources = p->n_ops};
  run->sources = RUNTIME_NEW_ARRAY(&run->arena, te_source, p->n_ops);
  if (!run->sources) return te_run_fail(run, TN_ERROR_MEMORY, "out of memory");
  for (int i = 0; i < p->n_ops; i++) run->sources[i].tensor = &p->ops[i]->outputs[0];
  for (int i = 0; i < (need_outputs ? p->n_args : p->n_inputs); i++)
    te_source_of(run, p->args[i])->data = (char *)args[i]->data + args[i]->byte_offset;
  return true;
}

void te_run_end(te_run *run) {
  for (int i = 0; i < run->n_sources && run->sources; i++) {
    if (run->sources[i].is_own) free(run->sources[i].data);
    free(run->sources[i].memo.slots);
  }
  runtime_arena_free(&run->arena);
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

static te_cell body_value(const te_node *body, te_run *run) {
  return body->is_float ? (te_cell){.f = body->eval.f(body, run)} : (te_cell){.i = body->eval.i(body, run)};
}

static te_cell combine_floats(tir_combiner combiner, te_cell a, te_cell b) {
  switch (combiner) {
    case TIR_REDUCE_SUM:
      return (te_cell){.f = a.f + b.f};
    case TIR_REDUCE_PROD:
      return (te_cell){.f = a.f * b.f};
    case TIR_REDUCE_MAX:
      return (te_cell){.f = a.f > b.f ? a.f : b.f};
    case TIR_REDUCE_MIN:
      return (te_cell){.f = a.f < b.f ? a.f : b.f};
    case TIR_REDUCE_ANY:
    case TIR_REDUCE_ALL:
    case TIR_COMBINER_COUNT:
      break;
  }
  return a;
}

static te_cell combine_integers(tir_combiner combiner, tn_dtype dtype, te_cell a, te_cell b) {
  switch (combiner) {
    case TIR_REDUCE_SUM:
      return (te_cell){.i = te_wrap(dtype, (uint64_t)a.i + (uint64_t)b.i)};
    case TIR_REDUCE_PROD:
      return (te_cell){.i = te_wrap(dtype, (uint64_t)a.i * (uint64_t)b.i)};
    case TIR_REDUCE_MAX:
      return (te_cell){.i = a.i > b.i ? a.i : b.i};
    case TIR_REDUCE_MIN:
      return (te_cell){.i = a.i < b.i ? a.i : b.i};
    case TIR_REDUCE_ANY:
      return (te_cell){.i = a.i || b.i};
    case TIR_REDUCE_ALL:
      return (te_cell){.i = a.i && b.i};
    case TIR_COMBINER_COUNT:
      break;
  }
  return a;
}

static int64_t lowest(tn_dtype dtype) {
  int bits = 8 * (int)tn_dtype_bytes(dtype);
  return tn_dtype_is_signed(dtype) ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
}

static int64_t highest(tn_dtype dtype) {
  int bits = 8 * (int)tn_dtype_bytes(dtype) - (tn_dtype_is_signed(dtype) ? 1 : 0);
  return (int64_t)(UINT64_MAX >> (64 - bits));
}

/* What a reduction starts from. */
static te_cell identity(tir_combiner combiner, tn_dtype dtype) {
  bool is_float = tn_dtype_is_float(dtype), is_one = combiner == TIR_REDUCE_PROD || combiner == TIR_REDUCE_ALL;
  if (combiner == TIR_REDUCE_MAX) return is_float ? (te_cell){.f = -INFINITY} : (te_cell){.i = lowest(dtype)};
  if (combiner == TIR_REDUCE_MIN) return is_float ? (te_cell){.f = INFINITY} : (te_cell){.i = highest(dtype)};
  return is_float ? (te_cell){.f = is_one} : (te_cell){.i = is_one};
}

/* Steps the counters of n axes, the last one fastest; false after the last combination. */
static bool next_index(int n, tn_axis *const *axes, int64_t *index) {
  for (int d = n; d-- > 0; index[d] = 0)
    if (++index[d] < axes[d]->extent) return true;
  return false;
}

/* Combines the source over the reduction axes, in order, where the condition holds. */
static te_cell reduce(const te_op *op, const te_node *body, te_run *run) {
  const tir_reduce *r = op->body->u.reduce;
  const te_node *source = body->arg[0], *where = r->has_where ? body->arg[1] : NULL;
  tn_dtype dtype = op->outputs[0].dtype;
  te_cell sum = r->has_init ? body_value(body->arg[body->n_args - 1], run) : identity(r->combiner, dtype);
  int64_t *index = run->vars + op->n_axes;
  memset(index, 0, sizeof *index * (size_t)op->n_reduce);
  do {
    if (where && !where->eval.i(where, run)) continue;
    te_cell value = body_value(source, run);
    sum = source->is_float ? combine_floats(r->combiner, sum, value) : combine_integers(r->combiner, dtype, sum, value);
  } while (!run->failed && next_index(op->n_reduce, op->reduce_axes, index));
  return sum;
}

te_cell te_element(te_run *run, const te_op *op, const te_node *body) {
  run->op = op;
  te_cell value = op->n_reduce > 0 ? reduce(op, body, run) : body_value(body, run);
  if (body->is_float) value.f = runtime_rounded(op->outputs[0].dtype, value.f);
  return value;
}

/* ---- whole tensors ----------------------------------------------------------------------------------------------- */

/* Writes an element in the tensor's dtype. */
static void store(tn_dtype dtype, void *data, int64_t flat, te_cell value) {
  switch (dtype) {
    case TN_BOOL:
      ((uint8_t *)data)[flat] = value.i != 0;
      return;
    case TN_I8:
      ((int8_t *)data)[flat] = (int8_t)value.i;
      return;
    case TN_U8:
      ((uint8_t *)data)[flat] = (uint8_t)value.i;
      return;
    case TN_I16:
      ((int16_t *)data)[flat] = (int16_t)value.i;
      return;
    case TN_U16:
      ((uint16_t *)data)[flat] = (uint16_t)value.i;
      return;
    case TN_I32:
      ((int32_t *)data)[flat] = (int32_t)value.i;
      return;
    case TN_U32:
      ((uint32_t *)data)[flat] = (uint32_t)value.i;
      return;
    case TN_I64:
      ((int64_t *)data)[flat] = value.i;
      return;
    case TN_F16:
    case TN_BF16:
      ((uint16_t *)data)[flat] = runtime_half_bits(dtype, value.f);
      return;
    case TN_F32:
      ((float *)data)[flat] = (float)value.f;
      return;
    case TN_F64:
      ((double *)data)[flat] = value.f;
      return;
    case TN_DTYPE_COUNT:
      return;
  }
}

static bool allocate(te_run *run, te_source *source) {
  const tn_tensor *t = source->tensor;
  source->data = malloc((size_t)element_count(t) * tn_dtype_bytes(t->dtype));
  source->is_own = true;
  return source->data || te_run_fail(run, TN_ERROR_MEMORY, "out of memory");
}

/* Computes a whole tensor into its array, which is made unless it is an argument. */
static bool evaluate_op(te_run *run, te_source *source) {
  const te_op *op = source->tensor->op;
  if (te_is_placeholder(op)) return true;
  if (!source->data && !allocate(run, source)) return false;
  const te_node *body = te_compile(run, op, &source->depth);
  int64_t flat = 0;
  run->vars = memset(run->own_vars, 0, sizeof run->own_vars);
  if (!body) return false;
  do {
    store(op->outputs[0].dtype, source->data, flat++, te_element(run, op, body));
  } while (!run->failed && next_index(op->n_axes, op->axes, run->vars));
  return !run->failed;
}

tn_status tn_evaluate(tn_program *program, DLTensor *const *args, int n_args) {
  if (!program || !args) return TN_ERROR_ARGUMENT;
  tn_status status = te_check_args(program, args, n_args, true);
  if (status != TN_OK) return status;
  te_run run;
  bool ok = te_run_start(&run, program, args, true);
  for (int i = 0; ok && i < run.n_sources; i++) ok = evaluate_op(&run, &run.sources[i]);
  te_run_end(&run);
  return ok ? TN_OK : run.status;
}
