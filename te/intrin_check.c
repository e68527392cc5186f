/* intrin_check.c: checks the functions of a declared intrinsic against its pattern. Each is called with
 * random numbers, in rows with gaps between them, and its output is compared with the reference
 * evaluator's. (TVM does not check them.) */
#include <math.h>

#include "te/intrin.h"

enum { ROOM = 3, MAX_SPAN = 1 << 20 }; /* elements between rows; of one sample */

/* An array for one of the pattern's tensors: compact for the evaluator, with gaps for the function. */
typedef struct sample {
  const tn_tensor *tensor;
  DLTensor *compact;
  char *spread;
  int64_t stride[TN_MAX_RANK], n;
} sample;

/* One check. te_check_functions frees the samples in any case. */
typedef struct checking {
  tn_context *ctx;
  tn_program *program;
  const tir_intrin *intrin;
  bool calls;          /* some function has an address; otherwise only strides are checked */
  runtime_arena arena; /* of the spread samples */
  int n;               /* samples made: the inputs, then the output */
  sample samples[TIR_INTRIN_INPUTS + 1];
} checking;

/* Chooses strides that are not NEEDED so that rows have gaps of ROOM elements; a function that ignores its
 * strides is found out. */
static bool set_strides(const checking *c, sample *x, const tir_intrin_need *need) {
  bool fits = true;
  int64_t more, elements = 1;
  for (int d = 0; fits && d < x->tensor->ndim; d++)
    fits = !__builtin_mul_overflow(elements, x->tensor->shape[d], &elements) && elements <= MAX_SPAN;
  x->n = 1;
  for (int d = 0; fits && d < x->tensor->ndim; d++) {
    x->stride[d] = need->stride[d];
    fits = !__builtin_mul_overflow(need->stride[d], x->tensor->shape[d] - 1, &more) && more <= MAX_SPAN;
    if (fits) x->n += more;
  }
  for (int d = x->tensor->ndim - 1; fits && d >= 0; d--) {
    if (need->stride[d]) continue;
    x->stride[d] = x->n;
    fits = !__builtin_mul_overflow(x->n, x->tensor->shape[d], &more) && more <= MAX_SPAN;
    x->n = more + ROOM;
  }
  if (fits && x->n <= MAX_SPAN) return true;
  runtime_fail(c->ctx, TN_ERROR_ARGUMENT,
               "intrinsic %s: '%s' spans more than %d elements: an intrinsic is a small block", c->intrin->name,
               x->tensor->name, (int)MAX_SPAN);
  return false;
}

/* The index in the array with gaps of element I of the compact one. */
static int64_t spread_index(const sample *x, int64_t i) {
  int64_t at = 0;
  for (int d = x->tensor->ndim - 1; d >= 0; d--) {
    at += i % x->tensor->shape[d] * x->stride[d];
    i /= x->tensor->shape[d];
  }
  return at;
}

/* The number of elements of the compact array. */
static int64_t count(const sample *x) {
  int64_t n = 1;
  for (int d = 0; d < x->tensor->ndim; d++) n *= x->tensor->shape[d];
  return n;
}

/* Copies the compact array into the one with gaps, which keep their contents. */
static void copy_out(const sample *x) {
  size_t bytes = tn_dtype_bytes(x->tensor->dtype);
  for (int64_t i = 0; i < count(x); i++)
    memcpy(x->spread + spread_index(x, i) * (int64_t)bytes, (char *)x->compact->data + i * (int64_t)bytes, bytes);
}

/* Whether no two elements share a place; strides under which they do cannot hold what the pattern computes. */
static bool are_apart(checking *c, const sample *x) {
  bool apart = true, *seen = runtime_alloc(&c->arena, (size_t)x->n);
  for (int64_t i = 0; seen && apart && i < count(x); i++) {
    bool *place = &seen[spread_index(x, i)];
    apart = !*place;
    *place = true;
  }
  if (!apart)
    runtime_fail(c->ctx, TN_ERROR_ARGUMENT, "intrinsic %s: by the strides of '%s' two of its elements share memory",
                 c->intrin->name, x->tensor->name);
  return seen && apart;
}

/* Makes a sample. It is filled by its number, so that inputs differ, and begins at a multiple of the
 * strictest alignment that a function may need. */
static bool open_sample(checking *c, const tn_tensor *tensor, const tir_intrin_need *need) {
  sample *x = &c->samples[c->n++];
  x->tensor = tensor;
  if (!set_strides(c, x, need)) return false;
  if (!are_apart(c, x)) return false;
  if (!c->calls) return true;
  x->compact = tn_array_new(c->ctx, tensor->dtype, tensor->ndim, tensor->shape);
  char *memory = runtime_alloc(&c->arena, (size_t)x->n * tn_dtype_bytes(tensor->dtype) + TIR_SCRATCH_ALIGN);
  if (!x->compact || !memory) return false;
  x->spread = memory + (TIR_SCRATCH_ALIGN - (uintptr_t)memory % TIR_SCRATCH_ALIGN) % TIR_SCRATCH_ALIGN;
  return tn_array_fill(c->ctx, x->compact, (uint64_t)c->n) == TN_OK;
}

/* Passes arguments in the order of tir/intrin.h: addresses, then strides. */
static tn_status call(checking *c, tir_intrin_role role) {
  runtime_c_arg args[RUNTIME_MAX_C_ARGS];
  int n = 0, n_inputs = role == TIR_INTRIN_RESET ? 0 : c->n - 1;
  const sample *output = &c->samples[c->n - 1];
  args[n++] = (runtime_c_arg){.is_pointer = true, .u.pointer = output->spread};
  for (int i = 0; i < n_inputs; i++) args[n++] = (runtime_c_arg){.is_pointer = true, .u.pointer = c->samples[i].spread};
  for (int i = -1; i < n_inputs; i++) {
    const sample *x = i < 0 ? output : &c->samples[i];
    for (int d = 0; d < x->tensor->ndim; d++) args[n++] = (runtime_c_arg){.dtype = TN_I64, .u.i = x->stride[d]};
  }
  return runtime_call_c(c->ctx, c->intrin->callees[role]->function, n, args);
}

/* Element I of an array as a number. */
static double number(tn_dtype dtype, const void *data, int64_t i) {
  if (runtime_is_half(dtype)) return runtime_half_value(dtype, ((const uint16_t *)data)[i]);
  switch (dtype) {
#define X(name, text, bytes, code, ctype) \
  case TN_##name: return (double)((const ctype *)data)[i];
    TN_DTYPES(X)
#undef X
    case TN_DTYPE_COUNT: break;
  }
  return 0;
}

/* Whether the dtype cannot hold the value; C leaves the result open then. */
static bool wraps(tn_dtype dtype, double value) {
  double limit = ldexp(1, 8 * (int)tn_dtype_bytes(dtype) - tn_dtype_is_signed(dtype));
  return value >= limit || value < (tn_dtype_is_signed(dtype) ? -limit : 0);
}

/* In double, which is exact for the small integers in the samples. */
static double combined(const tir_intrin *intrin, double a, double b) {
  switch (intrin->combiner) {
    case TIR_REDUCE_SUM: return a + b;
    case TIR_REDUCE_PROD: return a * b;
    case TIR_REDUCE_MAX: return fmax(a, b);
    case TIR_REDUCE_MIN: return fmin(a, b);
    case TIR_REDUCE_ANY: return a != 0 || b != 0;
    case TIR_REDUCE_ALL: return a != 0 && b != 0;
    case TIR_REDUCE_TUPLE: break;
  }
  return NAN;
}

/* Whether element I is what ROLE must make of it. Body: the evaluator's value. Reset: what the reduction
 * starts from. Update, called twice: the evaluator's value combined with itself. Integers that would wrap
 * are not checked. *WANTED_VALUE: what it should be. */
static bool agrees(const checking *c, tir_intrin_role role, int64_t i, double *wanted_value) {
  const sample *x = &c->samples[c->n - 1];
  tn_dtype dtype = x->tensor->dtype;
  double got = number(dtype, x->spread, spread_index(x, i)), wanted = number(dtype, x->compact->data, i);
  runtime_arena arena = {0};
  const tir_expr *start = tir_identity(&arena, c->intrin->combiner, dtype);
  double first = !start ? 0 : start->op == TIR_FLOAT ? start->u.f : (double)start->u.i;
  runtime_arena_free(&arena);
  if (role == TIR_INTRIN_RESET) wanted = first;
  if (role == TIR_INTRIN_UPDATE) wanted = combined(c->intrin, wanted, wanted);
  *wanted_value = wanted;
  if (role == TIR_INTRIN_RESET) return got == wanted;
  if (tn_dtype_is_float(dtype)) return fabs(got - wanted) <= 1e-2 * (1 + fabs(wanted)) || got == wanted;
  return got == wanted || wraps(dtype, wanted);
}

/* Stops at the first element that differs, and reports it. */
static tn_status compare(checking *c, tir_intrin_role role) {
  static const char *const words[] = {"body", "reset", "update"};
  const sample *x = &c->samples[c->n - 1];
  for (int64_t i = 0; i < count(x); i++) {
    double wanted;
    if (agrees(c, role, i, &wanted)) continue;
    return runtime_fail(c->ctx, TN_ERROR_ARGUMENT,
                        "intrinsic %s: its %s, %s, does not do what the pattern says: element %lld is %g and should be "
                        "%g; the pattern is "
                        "%s",
                        c->intrin->name, words[role], c->intrin->callees[role]->name, (long long)i,
                        number(x->tensor->dtype, x->spread, spread_index(x, i)), wanted, c->intrin->text);
  }
  return TN_OK;
}

/* Fills the output with what the reduction starts from. */
static void start_output(checking *c) {
  sample *x = &c->samples[c->n - 1];
  runtime_arena arena = {0};
  const tir_expr *start = tir_identity(&arena, c->intrin->combiner, x->tensor->dtype);
  size_t bytes = tn_dtype_bytes(x->tensor->dtype);
  for (int64_t i = 0; start && i < x->n; i++) {
    float f = start->op == TIR_FLOAT ? (float)start->u.f : 0;
    double g = start->op == TIR_FLOAT ? start->u.f : 0;
    uint16_t half = start->op == TIR_FLOAT ? runtime_half_bits(x->tensor->dtype, start->u.f) : 0;
    const void *from = start->op == TIR_INT         ? (const void *)&start->u.i
                       : x->tensor->dtype == TN_F32 ? (const void *)&f
                       : x->tensor->dtype == TN_F64 ? (const void *)&g
                                                    : (const void *)&half;
    memcpy(x->spread + i * (int64_t)bytes, from, bytes);
  }
  runtime_arena_free(&arena);
}

/* The output first holds garbage, so that a function which does not write is found out. An update runs twice. */
static tn_status check_role(checking *c, tir_intrin_role role) {
  const tir_callee *callee = c->intrin->callees[role];
  if (!callee || !callee->function) return TN_OK;
  memset(c->samples[c->n - 1].spread, 0x55, (size_t)c->samples[c->n - 1].n * tn_dtype_bytes(c->intrin->output->dtype));
  if (role == TIR_INTRIN_UPDATE) start_output(c);
  tn_status status = call(c, role);
  if (status == TN_OK && role == TIR_INTRIN_UPDATE) status = call(c, role);
  return status == TN_OK ? compare(c, role) : status;
}

static tn_status failed(const checking *c) {
  return tn_context_status(c->ctx) != TN_OK ? tn_context_status(c->ctx) : TN_ERROR_MEMORY;
}

/* Runs the evaluator once, and compares the output of each function with it. */
static tn_status check(checking *c) {
  DLTensor *args[TIR_INTRIN_INPUTS + 1];
  const te_op *op = c->program->ops[c->program->n_ops - 1];
  for (int i = 0; i < op->n_inputs; i++)
    if (!open_sample(c, op->inputs[i], &c->intrin->needs[i])) return failed(c);
  if (!open_sample(c, &op->outputs[0], &c->intrin->needs[op->n_inputs])) return failed(c);
  if (!c->calls) return TN_OK;
  for (int i = 0; i < c->program->n_args; i++)
    for (int k = 0; k < c->n; k++)
      if (c->samples[k].tensor == c->program->args[i]) args[i] = c->samples[k].compact;
  tn_status status = tn_evaluate(c->program, args, c->program->n_args);
  for (int i = 0; i < c->n - 1; i++) copy_out(&c->samples[i]);
  for (int role = 0; status == TN_OK && role < TIR_INTRIN_ROLE_COUNT; role++)
    status = check_role(c, (tir_intrin_role)role);
  return status;
}

tn_status te_check_functions(tn_program *program, const tir_intrin *intrin) {
  checking c = {.ctx = program->ctx, .program = program, .intrin = intrin};
  for (int i = 0; i < TIR_INTRIN_ROLE_COUNT; i++) c.calls |= intrin->callees[i] && intrin->callees[i]->function;
  tn_status status = check(&c);
  for (int i = 0; i < c.n; i++) tn_array_free(c.samples[i].compact);
  runtime_arena_free(&c.arena);
  return status;
}
