/* evaluate.c: the reference evaluator. It walks the te graph itself, in doubles and wrapped 64-bit
 * integers, and shares no code with lowering. tn_evaluate computes whole tensors, producers first;
 * tn_evaluate_at computes one element on demand. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "te/evaluate.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Whether an array is row-major without gaps. */
static bool is_compact(const DLTensor *a) {
  int64_t stride = 1;
  for (int d = a->ndim; a->strides && d-- > 0; stride *= a->shape[d])
    if (a->shape[d] != 1 && a->strides[d] != stride) return false;
  return true;
}

/* Booleans may be passed as {uint, 1} or {uint, 8}. */
static bool same_dtype(DLDataType a, tn_dtype dtype) {
  DLDataType b = tn_dtype_dlpack(dtype);
  bool is_bool = dtype == TN_BOOL && a.code == kDLUInt && (a.bits == 1 || a.bits == 8);
  return a.lanes == 1 && (is_bool || (a.code == b.code && a.bits == b.bits));
}

/* Whether the strides of A are allowed for T. A strided tensor needs rows without gaps and strides that are
 * not negative; if it is computed, no two elements may share memory. */
static bool strides_fit(const tn_tensor *t, const DLTensor *a) {
  bool fits = true;
  if (!t->is_strided || !a->strides) return is_compact(a);
  for (int d = 0; d < a->ndim; d++) {
    bool is_last = d == a->ndim - 1;
    fits = fits && (a->shape[d] == 1 || (is_last ? a->strides[d] == 1 : a->strides[d] >= 0));
  }
  return fits && (te_is_placeholder(t->op) || runtime_elements_are_apart(a));
}

/* Checks all but extents made of symbols, which are left to check_sizes. */
static tn_status check_array(tn_context *ctx, const tn_tensor *t, const DLTensor *a) {
  if (!a || !a->data) return runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' is NULL", t->name);
  if (!same_dtype(a->dtype, t->dtype))
    return runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' is not %s", t->name, tn_dtype_name(t->dtype));
  if (a->ndim != t->ndim)
    return runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' has rank %d, not %d", t->name, a->ndim, t->ndim);
  for (int d = 0; d < t->ndim; d++)
    if (!t->size[d] && a->shape[d] != t->shape[d])
      return runtime_fail(ctx, TN_ERROR_CALL, "dimension %d of argument '%s' is %lld, not %lld", d, t->name,
                          (long long)a->shape[d], (long long)t->shape[d]);
  if (strides_fit(t, a)) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_CALL, "argument '%s' is not %s", t->name,
                      !t->is_strided             ? "compact row-major"
                      : te_is_placeholder(t->op) ? "of last stride 1, and others that are not negative"
                                                 : "of last stride 1, and others that are not negative and keep its "
                                                   "elements apart");
}

/* How the symbols get their values from the arguments. */
typedef struct binding {
  const tn_program *program;
  DLTensor *const *args;
  int n;            /* arguments that are present */
  int64_t *symbols; /* 0: not known yet */
  const char *by[TE_MAX_SYMBOLS];
} binding;

/* Gives symbol K the value of dimension D of argument I. */
static tn_status bind(binding *b, int i, int d, int k) {
  const tn_axis *symbol = b->program->symbols[k];
  const char *name = b->program->args[i]->name;
  int64_t value = b->args[i]->shape[d];
  if (value < symbol->least || value > symbol->extent)
    return runtime_fail(b->program->ctx, TN_ERROR_CALL,
                        "dimension %d of argument '%s' is %lld, but symbol %s is in %lld .. %lld", d, name,
                        (long long)value, symbol->var.name, (long long)symbol->least, (long long)symbol->extent);
  if (b->by[k] && b->symbols[k] != value)
    return runtime_fail(b->program->ctx, TN_ERROR_CALL,
                        "dimension %d of argument '%s' is %lld, but symbol %s is %lld by argument '%s'", d, name,
                        (long long)value, symbol->var.name, (long long)b->symbols[k], b->by[k]);
  b->symbols[k] = value;
  b->by[k] = name;
  return TN_OK;
}

/* In the order of the arguments, so that a symbol gets its value from the same argument as in a kernel. */
static tn_status bind_all(binding *b) {
  for (int i = 0; i < b->n; i++)
    for (int d = 0; d < b->program->args[i]->ndim; d++) {
      const tir_expr *size = b->program->args[i]->size[d];
      if (!size || size->op != TIR_VAR) continue;
      tn_status status = bind(b, i, d, te_symbol_number(b->program, size->u.var));
      if (status != TN_OK) return status;
    }
  for (int k = 0; k < b->program->n_symbols; k++)
    if (!b->by[k])
      return runtime_fail(b->program->ctx, TN_ERROR_CALL, "symbol %s is the extent of an output only: use tn_evaluate",
                          b->program->symbols[k]->var.name);
  return TN_OK;
}

/* Checks the extents that are expressions of symbols. */
static tn_status check_sizes(const binding *b) {
  for (int i = 0; i < b->n; i++)
    for (int d = 0; d < b->program->args[i]->ndim; d++) {
      const tn_tensor *t = b->program->args[i];
      int64_t want = t->size[d] ? te_size_value(b->program, t->size[d], b->symbols) : t->shape[d];
      char text[64];
      if (b->args[i]->shape[d] == want) continue;
      return runtime_fail(b->program->ctx, TN_ERROR_CALL, "dimension %d of argument '%s' is %lld, but %s is %lld", d,
                          t->name, (long long)b->args[i]->shape[d], te_show(text, t->size[d]), (long long)want);
    }
  return TN_OK;
}

/* Messages name the tensor. SYMBOLS gets a value for each symbol of the program. */
tn_status te_check_args(const tn_program *p, DLTensor *const *args, int n_args, bool need_outputs, int64_t *symbols) {
  if (n_args != p->n_args)
    return runtime_fail(p->ctx, TN_ERROR_CALL, "%d arguments given, the program has %d", n_args, p->n_args);
  for (int i = 0; i < (need_outputs ? n_args : p->n_inputs); i++) {
    tn_status status = check_array(p->ctx, p->args[i], args[i]);
    if (status != TN_OK) return status;
  }
  binding b = {.program = p, .args = args, .n = need_outputs ? n_args : p->n_inputs, .symbols = symbols};
  tn_status status = bind_all(&b);
  return status == TN_OK ? check_sizes(&b) : status;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Keeps the first failure, which is also the context's. Later ones only follow from it and are not reported. */
bool te_run_fail(te_run *run, tn_status status, const char *fmt, ...) {
  char text[1024];
  if (run->failed) return false;
  RUNTIME_PRINT_ARGS(text, fmt);
  run->failed = true;
  run->status = status;
  runtime_fail(run->ctx, status, "%s", text);
  return false;
}

/* The number of elements with this run's extents. */
static int64_t element_count(const te_source *source) {
  int64_t n = 1;
  for (int d = 0; d < source->tensor->ndim; d++) n *= source->shape[d];
  return n;
}

/* The value of SIZE or, if it is NULL, EXTENT. */
static int64_t extent_value(const te_run *run, int64_t extent, const tir_expr *size) {
  return size ? te_size_value(run->program, size, run->symbols) : extent;
}

/* Sets extents, and strides of an array without gaps. te_run_start replaces the strides if an argument
 * brings its own. */
static void set_extents(const te_run *run, te_source *source) {
  const tn_tensor *t = source->tensor;
  for (int d = 0; d < t->ndim; d++) source->shape[d] = extent_value(run, t->shape[d], t->size[d]);
  int64_t stride = 1;
  for (int d = t->ndim - 1; d >= 0; stride *= source->shape[d--]) source->stride[d] = stride;
  for (int i = 0; i < t->op->n_reduce; i++)
    source->reduce[i] = extent_value(run, t->op->reduce_axes[i]->extent, t->op->reduce_axes[i]->size);
}

/* Searches all tensors of the program, so it is called while compiling and not for each element. */
te_source *te_source_of(te_run *run, const tn_tensor *t) {
  for (int i = 0; i < run->n_sources; i++)
    if (run->sources[i].tensor == t) return &run->sources[i];
  return NULL;
}

/* Starts a run. Inputs, and with NEED_OUTPUTS also outputs, use the caller's arrays. */
bool te_run_start(te_run *run, tn_program *p, DLTensor *const *args, bool need_outputs, const int64_t *symbols) {
  *run = (te_run){.ctx = p->ctx, .program = p};
  int n = 0;
  for (int i = 0; i < p->n_ops; i++) n += p->ops[i]->n_outputs;
  run->sources = RUNTIME_NEW_ARRAY(&run->arena, te_source, n);
  if (!run->sources) return te_run_fail(run, TN_ERROR_MEMORY, "out of memory");
  memcpy(run->symbols, symbols, sizeof run->symbols);
  for (int i = 0; i < p->n_ops; i++)
    for (int v = 0; v < p->ops[i]->n_outputs; v++) {
      run->sources[run->n_sources].tensor = &p->ops[i]->outputs[v];
      set_extents(run, &run->sources[run->n_sources++]);
    }
  for (int i = 0; i < (need_outputs ? p->n_args : p->n_inputs); i++) {
    te_source *source = te_source_of(run, p->args[i]);
    source->data = (char *)args[i]->data + args[i]->byte_offset;
    bool has_strides = p->args[i]->is_strided && args[i]->strides;
    if (has_strides) memcpy(source->stride, args[i]->strides, sizeof *source->stride * (size_t)args[i]->ndim);
  }
  return true;
}

/* The arrays of arguments belong to the caller and stay. */
void te_run_end(te_run *run) {
  for (int i = 0; i < run->n_sources && run->sources; i++) {
    if (run->sources[i].is_own) free(run->sources[i].data);
    runtime_map_free(&run->sources[i].memo);
  }
  runtime_arena_free(&run->arena);
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

te_cell te_node_value(const te_node *body, te_run *run) {
  return body->is_float ? (te_cell){.f = body->eval.f(body, run)} : (te_cell){.i = body->eval.i(body, run)};
}

/* As tir/ir.h defines MIN and MAX, also for NaN. */
static te_cell combine_floats(tir_combiner combiner, te_cell a, te_cell b) {
  switch (combiner) {
    case TIR_REDUCE_SUM: return (te_cell){.f = a.f + b.f};
    case TIR_REDUCE_PROD: return (te_cell){.f = a.f * b.f};
    case TIR_REDUCE_MAX: return (te_cell){.f = a.f > b.f ? a.f : b.f};
    case TIR_REDUCE_MIN: return (te_cell){.f = a.f < b.f ? a.f : b.f};
    case TIR_REDUCE_ANY:
    case TIR_REDUCE_ALL:
    case TIR_COMBINER_COUNT: break;
  }
  return a;
}

/* Sums and products of narrow integers wrap after each step. */
static te_cell combine_integers(tir_combiner combiner, tn_dtype dtype, te_cell a, te_cell b) {
  switch (combiner) {
    case TIR_REDUCE_SUM: return (te_cell){.i = te_wrap(dtype, (uint64_t)a.i + (uint64_t)b.i)};
    case TIR_REDUCE_PROD: return (te_cell){.i = te_wrap(dtype, (uint64_t)a.i * (uint64_t)b.i)};
    case TIR_REDUCE_MAX: return (te_cell){.i = a.i > b.i ? a.i : b.i};
    case TIR_REDUCE_MIN: return (te_cell){.i = a.i < b.i ? a.i : b.i};
    case TIR_REDUCE_ANY: return (te_cell){.i = a.i || b.i};
    case TIR_REDUCE_ALL: return (te_cell){.i = a.i && b.i};
    case TIR_COMBINER_COUNT: break;
  }
  return a;
}

/* The least value of an integer dtype, where a maximum begins. */
static int64_t lowest(tn_dtype dtype) {
  int bits = 8 * (int)tn_dtype_bytes(dtype);
  return tn_dtype_is_signed(dtype) ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
}

/* The largest value of an integer dtype, where a minimum begins. */
static int64_t highest(tn_dtype dtype) {
  int bits = 8 * (int)tn_dtype_bytes(dtype) - (tn_dtype_is_signed(dtype) ? 1 : 0);
  return (int64_t)(UINT64_MAX >> (64 - bits));
}

/* The value that a reduction starts from. */
static te_cell identity(tir_combiner combiner, tn_dtype dtype) {
  bool is_float = tn_dtype_is_float(dtype), is_one = combiner == TIR_REDUCE_PROD || combiner == TIR_REDUCE_ALL;
  if (combiner == TIR_REDUCE_MAX) return is_float ? (te_cell){.f = -INFINITY} : (te_cell){.i = lowest(dtype)};
  if (combiner == TIR_REDUCE_MIN) return is_float ? (te_cell){.f = INFINITY} : (te_cell){.i = highest(dtype)};
  return is_float ? (te_cell){.f = is_one} : (te_cell){.i = is_one};
}

/* Steps n counters, the last one fastest; false after the last combination. */
static bool next_index(int n, const int64_t *extents, int64_t *index) {
  for (int d = n; d-- > 0; index[d] = 0)
    if (++index[d] < extents[d]) return true;
  return false;
}

/* The compiled parts of a reduction; they point into its node. */
typedef struct parts {
  const tir_reduce *r;
  int n; /* number of values */
  const te_node *where;
  const te_node *const *source, *const *init, *const *result, *const *identity; /* NULL: it has none */
} parts;

/* Finds the parts in the compiled body: its arguments are in the order of the REDUCE node's, followed by
 * those of the combiner. */
static parts parts_of(const te_op *op, const te_node *body) {
  const tir_reduce *r = op->body->u.reduce;
  int n = op->n_outputs;
  const te_node *const *own_end = body->arg + op->body->n_args;
  return (parts){.r = r,
                 .n = n,
                 .source = body->arg,
                 .where = r->has_where ? body->arg[n] : NULL,
                 .init = r->has_init ? own_end - n : NULL,
                 .result = r->tuple ? own_end : NULL,
                 .identity = r->tuple ? own_end + n : NULL};
}

/* An init is evaluated at the data axes only, since the reduction axes have no value yet. */
static te_cell first_value(const parts *p, const te_op *op, te_run *run, int v) {
  if (p->init) return te_node_value(p->init[v], run);
  return p->identity ? te_node_value(p->identity[v], run) : identity(p->r->combiner, op->outputs[v].dtype);
}

double te_by_chance(runtime_rng *chance, tn_dtype dtype, double x) {
  return x * (1 + runtime_float_unit(dtype) * (2 * runtime_random_unit(chance) - 1));
}

/* Sums of f16 and bf16 are made in f32. */
static double sum_by_chance(te_run *run, tn_dtype dtype, double x) {
  return run->chance ? te_by_chance(run->chance, runtime_is_half(dtype) ? TN_F32 : dtype, x) : x;
}

/* Combines VALUES with MORE, in place. */
static void combine(const parts *p, const te_op *op, te_run *run, te_cell *values, const te_cell *more) {
  assert(p->source && "a reduction");
  if (!p->result) {
    tn_dtype dtype = op->outputs[0].dtype;
    values[0] = p->source[0]->is_float ? combine_floats(p->r->combiner, values[0], more[0])
                                       : combine_integers(p->r->combiner, dtype, values[0], more[0]);
    bool is_rounded = p->r->combiner == TIR_REDUCE_SUM || p->r->combiner == TIR_REDUCE_PROD;
    if (p->source[0]->is_float && is_rounded) values[0].f = sum_by_chance(run, dtype, values[0].f);
    return;
  }
  memcpy(run->pair, values, sizeof *values * (size_t)p->n);
  memcpy(run->pair + p->n, more, sizeof *more * (size_t)p->n);
  for (int v = 0; v < p->n; v++) values[v] = te_node_value(p->result[v], run);
}

/* Combines the sources over the reduction axes, in order, where the condition holds. */
static void reduce(const te_op *op, const te_node *body, te_run *run, te_cell *values) {
  parts p = parts_of(op, body);
  te_cell more[TIR_MAX_VALUES];
  for (int v = 0; v < p.n; v++) values[v] = first_value(&p, op, run, v);
  int64_t *index = run->vars + op->n_axes;
  memset(index, 0, sizeof *index * (size_t)op->n_reduce);
  do {
    if (p.where && !p.where->eval.i(p.where, run)) continue;
    for (int v = 0; v < p.n; v++) more[v] = te_node_value(p.source[v], run);
    combine(&p, op, run, values, more);
  } while (!run->failed && next_index(op->n_reduce, run->source->reduce, index));
}

/* RUN->vars must hold the data axes. Sums are made in double, so a kernel's f32 result is compared with a tolerance. */
void te_element(te_run *run, const te_source *source, const te_node *body, te_cell *values) {
  const te_op *op = source->tensor->op;
  run->op = op;
  run->source = source;
  bool is_tuple = op->body->op == TIR_TUPLE;
  if (op->n_reduce > 0)
    reduce(op, body, run, values);
  else
    for (int v = 0; v < op->n_outputs; v++) values[v] = te_node_value(is_tuple ? body->arg[v] : body, run);
  for (int v = 0; v < op->n_outputs; v++) {
    tn_dtype dtype = op->outputs[v].dtype;
    if (!tn_dtype_is_float(dtype)) continue;
    if (run->chance) values[v].f = te_by_chance(run->chance, dtype, values[v].f);
    values[v].f = runtime_rounded(dtype, values[v].f);
  }
}

/* ---- whole tensors ----------------------------------------------------------------------------------------------- */

/* Writes an element in the tensor's dtype. */
static void store(tn_dtype dtype, void *data, int64_t flat, te_cell value) {
  switch (dtype) {
    case TN_BOOL: ((uint8_t *)data)[flat] = value.i != 0; return;
    case TN_I8: ((int8_t *)data)[flat] = (int8_t)value.i; return;
    case TN_U8: ((uint8_t *)data)[flat] = (uint8_t)value.i; return;
    case TN_I16: ((int16_t *)data)[flat] = (int16_t)value.i; return;
    case TN_U16: ((uint16_t *)data)[flat] = (uint16_t)value.i; return;
    case TN_I32: ((int32_t *)data)[flat] = (int32_t)value.i; return;
    case TN_U32: ((uint32_t *)data)[flat] = (uint32_t)value.i; return;
    case TN_I64: ((int64_t *)data)[flat] = value.i; return;
    case TN_F16:
    case TN_BF16: ((uint16_t *)data)[flat] = runtime_half_bits(dtype, value.f); return;
    case TN_F32: ((float *)data)[flat] = (float)value.f; return;
    case TN_F64: ((double *)data)[flat] = value.f; return;
    case TN_DTYPE_COUNT: return;
  }
}

/* The array is not cleared, since every element is computed. */
static bool allocate(te_run *run, te_source *source) {
  const tn_tensor *t = source->tensor;
  source->data = malloc((size_t)element_count(source) * tn_dtype_bytes(t->dtype));
  source->is_own = true;
  return source->data || te_run_fail(run, TN_ERROR_MEMORY, "out of memory");
}

/* Makes arrays for the outputs of an op, beginning at SOURCE, unless they are arguments. */
static bool allocate_op(te_run *run, te_source *source) {
  const te_op *op = source->tensor->op;
  for (int v = 0; v < op->n_outputs; v++)
    if (!source[v].data && !allocate(run, &source[v])) return false;
  return true;
}

/* Stores the values of the element at run->vars into all outputs of the op. */
static void store_all(const te_run *run, const te_source *source, const te_cell *values) {
  const te_op *op = source->tensor->op;
  for (int v = 0; v < op->n_outputs; v++) {
    int64_t at = 0;
    for (int d = 0; d < op->n_axes; d++) at += run->vars[d] * source[v].stride[d];
    store(op->outputs[v].dtype, source[v].data, at, values[v]);
  }
}

/* Computes all outputs of an op from the element at run->vars on. FIRST_ONLY: only while the first axis
 * keeps its value. */
static bool fill(te_run *run, te_source *source, const te_node *body, bool first_only) {
  const te_op *op = source->tensor->op;
  te_cell values[TIR_MAX_VALUES];
  do {
    te_element(run, source, body, values);
    store_all(run, source, values);
  } while (!run->failed && next_index(op->n_axes - first_only, source->shape + first_only, run->vars + first_only));
  return !run->failed;
}

/* Computes all elements of a compute's outputs. */
static bool evaluate_op(te_run *run, te_source *source) {
  const te_op *op = source->tensor->op;
  if (te_is_placeholder(op)) return true;
  const te_node *body = allocate_op(run, source) ? te_compile(run, op, &source->depth) : NULL;
  run->vars = memset(run->own_vars, 0, sizeof run->own_vars);
  return body && fill(run, source, body, false);
}

/* A C function's argument: a tensor's array, or a scalar's value. */
static runtime_c_arg argument(te_run *run, const tn_tensor *t) {
  const te_source *source = te_source_of(run, t);
  if (!t->by_value) return (runtime_c_arg){.is_pointer = true, .u.pointer = source->data};
  te_cell value = te_load(t->dtype, source->data, 0);
  if (tn_dtype_is_float(t->dtype)) return (runtime_c_arg){.dtype = t->dtype, .u.f = value.f};
  return (runtime_c_arg){.dtype = t->dtype, .u.i = value.i};
}

/* A C function's argument that is a number: a literal, or a size with this run's symbols, possibly cast to a float. */
static runtime_c_arg number_argument(const te_run *run, const tir_expr *e) {
  bool is_cast = e->op == TIR_CAST;
  if (e->op != TIR_FLOAT && e->op != TIR_INT) {
    int64_t value = te_size_value(run->program, is_cast ? e->arg[0] : e, run->symbols);
    runtime_c_arg arg = {.dtype = (tn_dtype)e->dtype};
    if (tn_dtype_is_float(arg.dtype))
      arg.u.f = (double)value;
    else
      arg.u.i = value;
    return arg;
  }
  if (e->op == TIR_FLOAT) return (runtime_c_arg){.dtype = (tn_dtype)e->dtype, .u.f = e->u.f};
  return (runtime_c_arg){.dtype = (tn_dtype)e->dtype, .u.i = e->u.i};
}

/* Calls the C function itself, on whole arrays. */
static bool evaluate_extern(te_run *run, te_source *source) {
  const te_op *op = source->tensor->op;
  const te_call *call = op->call;
  runtime_c_arg args[RUNTIME_MAX_C_ARGS];
  if (!allocate_op(run, source)) return false;
  if (!call->callee->function)
    return te_run_fail(run, TN_ERROR_CALL,
                       "'%s' is computed by a call of %s, of which there is no function in this process: give one with "
                       "tn_program_bind",
                       op->name, call->callee->name);
  for (int i = 0; i < call->n; i++) {
    const tn_tensor *t = te_call_tensor(op, i);
    args[i] = t ? argument(run, t) : number_argument(run, call->args[i].number);
  }
  run->status = runtime_call_c(run->ctx, call->callee->function, call->n, args);
  return run->status == TN_OK;
}

/* Evaluates a scan: all its steps at one time, in order, then at the next time. */
static bool evaluate_scan(te_run *run, const te_op *scan) {
  for (int i = 0; i < run->n_sources; i++)
    if (run->sources[i].tensor->op->scan == scan && !allocate_op(run, &run->sources[i])) return false;
  for (int64_t t = 0; t < scan->axes[0]->extent; t++)
    for (int i = 0; i < run->n_sources; i += run->sources[i].tensor->op->n_outputs) {
      te_source *source = &run->sources[i];
      const te_op *op = source->tensor->op;
      if (op->scan != scan || t >= op->axes[0]->extent) continue;
      if (!source->body) source->body = te_compile(run, op, &source->depth);
      run->vars = memset(run->own_vars, 0, sizeof run->own_vars);
      run->vars[0] = t;
      if (!source->body || !fill(run, source, source->body, true)) return false;
    }
  return true;
}

/* A scan's steps are computed when the scan itself is reached. */
static bool evaluate_next(te_run *run, te_source *source) {
  const te_op *op = source->tensor->op;
  if (te_is_extern(op)) return evaluate_extern(run, source);
  if (!op->scan) return evaluate_op(run, source);
  return op != op->scan || evaluate_scan(run, op);
}

/* Goes through the program's ops, producers first. Outputs are the caller's arrays; intermediate tensors
 * are allocated for the run. */
tn_status tn_evaluate(tn_program *program, DLTensor *const *args, int n_args) {
  if (!program || !RUNTIME_GIVEN(program->ctx, args)) return TN_ERROR_ARGUMENT;
  int64_t symbols[TE_MAX_SYMBOLS] = {0};
  tn_status status = te_check_args(program, args, n_args, true, symbols);
  if (status != TN_OK) return status;
  te_run run;
  bool ok = te_run_start(&run, program, args, true, symbols);
  for (int i = 0; ok && i < run.n_sources; i += run.sources[i].tensor->op->n_outputs)
    ok = evaluate_next(&run, &run.sources[i]);
  te_run_end(&run);
  return ok ? TN_OK : run.status;
}
