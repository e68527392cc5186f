/* A plain interpreter of loop IR by the semantics in tir/ir.h, for comparing before and after. Floats are doubles. */
#include <math.h>

#include "tests/tir/real.h"
#include "tests/tir/tests.h"

static value fault(machine *m, const char *what) {
  if (m->fault == NULL) m->fault = what;
  return (value){0};
}

void machine_set(machine *m, const tir_var *var, int64_t v) { machine_set_scalar(m, var, (value){.i = v}); }

void machine_set_scalar(machine *m, const tir_var *var, value v) {
  for (int i = m->n_vars - 1; i >= 0; i--) {
    if (m->vars[i].var == var) {
      m->vars[i].value = v;
      return;
    }
  }
  assert_true(m->n_vars < (int)(sizeof m->vars / sizeof *m->vars));
  m->vars[m->n_vars].var = var;
  m->vars[m->n_vars++].value = v;
}

static value variable(machine *m, const tir_var *var) {
  for (int i = m->n_vars - 1; i >= 0; i--) {
    if (m->vars[i].var == var) return m->vars[i].value;
  }
  return fault(m, "unbound variable");
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

static int64_t wrap(int dtype, int64_t v) {
  switch (dtype) {
    case TN_BOOL: return v != 0;
    case TN_I8: return (int8_t)v;
    case TN_U8: return (uint8_t)v;
    case TN_I16: return (int16_t)v;
    case TN_U16: return (uint16_t)v;
    case TN_I32: return (int32_t)v;
    case TN_U32: return (uint32_t)v;
    default: return v;
  }
}

static int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  __int128 q = (__int128)a / b, r = (__int128)a % b;
  return (int64_t)(r != 0 && (r < 0) != (b < 0) ? q - 1 : q);
}

static int64_t integer(const tir_expr *e, int64_t a, int64_t b) {
  int width = 8 * (int)tn_dtype_bytes(e->dtype);
  uint64_t low = (uint64_t)a & (UINT64_MAX >> (64 - width));
  switch ((int)e->op) {
    case TIR_ADD: return wrap(e->dtype, (int64_t)((uint64_t)a + (uint64_t)b));
    case TIR_SUB: return wrap(e->dtype, (int64_t)((uint64_t)a - (uint64_t)b));
    case TIR_MUL: return wrap(e->dtype, (int64_t)((uint64_t)a * (uint64_t)b));
    case TIR_FLOORDIV: return wrap(e->dtype, floor_divide(a, b));
    case TIR_FLOORMOD: return b == 0 ? 0 : (int64_t)((__int128)a - (__int128)floor_divide(a, b) * b);
    case TIR_MIN: return a < b ? a : b;
    case TIR_MAX: return a > b ? a : b;
    case TIR_EQ: return a == b;
    case TIR_NE: return a != b;
    case TIR_LT: return a < b;
    case TIR_LE: return a <= b;
    case TIR_GT: return a > b;
    case TIR_GE: return a >= b;
    case TIR_ABS: return wrap(e->dtype, a < 0 ? (int64_t)(0 - (uint64_t)a) : a);
    case TIR_BITAND: return a & b;
    case TIR_BITOR: return a | b;
    case TIR_BITXOR: return a ^ b;
    case TIR_BITNOT: return wrap(e->dtype, ~a);
    case TIR_SHL: return b < 0 || b >= width ? 0 : wrap(e->dtype, (int64_t)((uint64_t)a << b));
    case TIR_SHR: return a >> (b < 0 || b >= width ? 63 : b);
    case TIR_POPCOUNT: return wrap(e->dtype, __builtin_popcountll(low));
    case TIR_CLZ: return wrap(e->dtype, low ? __builtin_clzll(low) - 64 + width : width);
    default: fail_msg("the interpreter knows no integer %s", tir_op_table[e->op].name);
  }
  return 0;
}

static value real(const tir_expr *e, double a, double b) {
  switch ((int)e->op) {
    case TIR_ADD: return (value){.f = a + b};
    case TIR_SUB: return (value){.f = a - b};
    case TIR_MUL: return (value){.f = a * b};
    case TIR_DIV: return (value){.f = a / b};
    case TIR_MIN: return (value){.f = a < b ? a : b};
    case TIR_MAX: return (value){.f = a > b ? a : b};
    case TIR_EQ: return (value){.i = a == b};
    case TIR_NE: return (value){.i = a != b};
    case TIR_LT: return (value){.i = a < b};
    case TIR_LE: return (value){.i = a <= b};
    case TIR_GT: return (value){.i = a > b};
    case TIR_GE: return (value){.i = a >= b};
    case TIR_ABS: return (value){.f = fabs(a)};
    case TIR_ISNAN: return (value){.i = isnan(a)};
    case TIR_ISINF: return (value){.i = isinf(a) != 0};
    case TIR_ISFINITE: return (value){.i = isfinite(a)};
    default: return (value){.f = real_math((tir_op)e->op, a, b)};
  }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static memory *find_memory(machine *m, const tir_buffer *buffer) {
  for (int i = m->n_memories - 1; i >= 0; i--) {
    if (m->memories[i].buffer == buffer && m->memories[i].live) return &m->memories[i];
  }
  fault(m, "buffer without memory");
  return NULL;
}

static int64_t extent_of(machine *m, const tir_buffer *buffer, int dim) {
  return buffer->size[dim] != NULL ? evaluate(m, buffer->size[dim], 0).i : buffer->shape[dim];
}

/* Iterations of a parallel loop may run in any order and at the same time: none may write what another touches. */
static void note_touch(machine *m, const memory *mem, touch *t, bool writes) {
  if (m->loop == 0 || mem - m->memories >= m->n_shared) return;
  bool written = t->write_loop == m->loop && t->writer != m->iteration;
  bool was_read = t->read_loop == m->loop && t->reader != m->iteration;
  if (written || (writes && was_read)) fault(m, "a race: an iteration of a parallel loop touches what another writes");
  if (writes) {
    t->write_loop = m->loop, t->writer = m->iteration;
  } else {
    t->reader = was_read ? -1 : m->iteration, t->read_loop = m->loop;
  }
}

static value *element(machine *m, const tir_buffer *buffer, int n, const tir_expr *const *index, int lane,
                      bool writes) {
  memory *mem = find_memory(m, buffer);
  int64_t offset = 0;
  for (int i = 0; i < n; i++) {
    int64_t at = evaluate(m, index[i], lane).i, extent = extent_of(m, buffer, i);
    if (at < 0 || at >= extent) fault(m, "access outside a buffer");
    offset = offset * extent + at;
  }
  if (mem == NULL || offset < 0 || offset >= mem->size) {
    fault(m, "access outside a buffer");
    return NULL;
  }
  note_touch(m, mem, &mem->touches[offset], writes);
  return &mem->data[offset];
}

static value load(machine *m, const tir_expr *e, int lane) {
  const tir_expr *predicate = tir_predicate(e);
  if (predicate != NULL && !evaluate(m, predicate, lane).i) return (value){0};
  value *v = element(m, e->u.buffer, tir_n_index(e), e->arg, lane, false);
  return v != NULL ? *v : (value){0};
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* A float to an integer: saturates, NaN is 0; to bool: whether it is not 0. */
static int64_t saturate(int dtype, double a) {
  if (dtype == TN_BOOL) return a != 0;
  int bits = 8 * (int)tn_dtype_bytes(dtype) - tn_dtype_is_signed(dtype);
  double limit = ldexp(1, bits), least = tn_dtype_is_signed(dtype) ? -limit : 0;
  if (isnan(a)) return 0;
  if (a >= limit) return bits == 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
  return (int64_t)(a < least ? least : a);
}

static value convert(const tir_expr *e, value a) {
  bool from_float = tn_dtype_is_float(e->arg[0]->dtype), to_float = tn_dtype_is_float(e->dtype);
  if (from_float && to_float) return (value){.f = runtime_is_half(e->dtype) ? runtime_rounded(e->dtype, a.f) : a.f};
  if (to_float) return (value){.f = (double)a.i};
  return (value){.i = from_float ? saturate(e->dtype, a.f) : wrap(e->dtype, a.i)};
}

static value dot(machine *m, const tir_expr *e, int lane) {
  int group = tir_dot_group(e->dtype);
  value sum = evaluate(m, e->arg[0], lane);
  for (int i = group * lane; i < group * (lane + 1); i++) {
    value a = evaluate(m, e->arg[1], i), b = evaluate(m, e->arg[2], i);
    if (e->dtype == TN_F32)
      sum.f += a.f * b.f;
    else
      sum.i = wrap(TN_I32, sum.i + a.i * b.i);
  }
  return sum;
}

static value special(machine *m, const tir_expr *e, int lane) {
  switch ((int)e->op) {
    case TIR_INT: return (value){.i = e->u.i};
    case TIR_FLOAT: return (value){.f = e->u.f};
    case TIR_VAR: return variable(m, e->u.var);
    case TIR_LOAD: return load(m, e, lane);
    case TIR_RAMP: return (value){.i = wrap(e->dtype, evaluate(m, e->arg[0], 0).i + e->u.i * lane)};
    case TIR_BROADCAST: return evaluate(m, e->arg[0], 0);
    case TIR_CAST: return convert(e, evaluate(m, e->arg[0], lane));
    case TIR_SELECT: return evaluate(m, e->arg[evaluate(m, e->arg[0], lane).i ? 1 : 2], lane);
    case TIR_AND: return (value){.i = evaluate(m, e->arg[0], lane).i && evaluate(m, e->arg[1], lane).i};
    case TIR_OR: return (value){.i = evaluate(m, e->arg[0], lane).i || evaluate(m, e->arg[1], lane).i};
    case TIR_NOT: return (value){.i = !evaluate(m, e->arg[0], lane).i};
    case TIR_DOT: return dot(m, e, lane);
    default: fail_msg("the interpreter knows no %s", tir_op_table[e->op].name);
  }
  return (value){0};
}

value evaluate(machine *m, const tir_expr *e, int lane) {
  tir_rule rule = tir_rule_of(e);
  if (rule == TIR_RULE_LEAF || rule == TIR_RULE_BOOLEAN || rule == TIR_RULE_OWN) return special(m, e, lane);
  value a = evaluate(m, e->arg[0], lane), b = e->n_args > 1 ? evaluate(m, e->arg[1], lane) : (value){0};
  if (tn_dtype_is_float(e->arg[0]->dtype)) return real(e, a.f, b.f);
  return (value){.i = integer(e, a.i, b.i)};
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void store(machine *m, const tir_stmt *s) {
  int lanes = s->u.store.value->lanes;
  value values[512];
  bool active[512];
  assert_true(lanes <= 512);
  for (int lane = 0; lane < lanes; lane++) {
    active[lane] = s->u.store.predicate == NULL || evaluate(m, s->u.store.predicate, lane).i != 0;
    if (active[lane]) values[lane] = evaluate(m, s->u.store.value, lane);
  }
  for (int lane = 0; lane < lanes; lane++) {
    if (!active[lane]) continue;
    value *at = element(m, s->u.store.buffer, s->u.store.n_index, s->u.store.index, lane, true);
    if (at != NULL) *at = values[lane];
    m->steps++;
  }
}

static int64_t elements(machine *m, const tir_buffer *buffer) {
  int64_t n = 1;
  for (int i = 0; i < buffer->ndim; i++) n *= extent_of(m, buffer, i);
  return n;
}

static void add_memory(machine *m, const tir_buffer *buffer) {
  assert_true(m->n_memories < (int)(sizeof m->memories / sizeof *m->memories));
  int64_t size = elements(m, buffer);
  m->memories[m->n_memories++] =
      (memory){buffer, calloc((size_t)size + 1, sizeof(value)), calloc((size_t)size + 1, sizeof(touch)), size, true};
}

static void allocate(machine *m, const tir_stmt *s) {
  int at = m->n_memories;
  add_memory(m, s->u.alloc.buffer);
  value poison = tn_dtype_is_float(s->u.alloc.buffer->dtype) ? (value){.f = 7e77} : (value){.i = 77};
  for (int64_t i = 0; i < m->memories[at].size; i++) m->memories[at].data[i] = poison;
  execute(m, s->u.alloc.body);
  free(m->memories[at].data);
  free(m->memories[at].touches);
  m->n_memories--;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void axpy(const float *x, float *y, float a, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

static void fill(int32_t *y, int64_t n, int32_t v) {
  for (int64_t i = 0; i < n; i++) y[i] = v;
}

const tir_callee test_callees[] = {
    {.name = "axpy", .function = (void (*)(void))axpy}, {.name = "fill", .function = (void (*)(void))fill}, {0}};

static void store_native(tn_dtype dtype, void *at, value v) {
  uint16_t half = runtime_is_half(dtype) ? runtime_half_bits(dtype, v.f) : 0;
  float single = (float)v.f;
  const void *from = runtime_is_half(dtype)     ? (const void *)&half
                     : dtype == TN_F32          ? (const void *)&single
                     : tn_dtype_is_float(dtype) ? (const void *)&v.f
                                                : (const void *)&v.i; /* its low bytes */
  memcpy(at, from, tn_dtype_bytes(dtype));
}

static value load_native(tn_dtype dtype, const void *at) {
  if (runtime_is_half(dtype)) return (value){.f = runtime_half_value(dtype, *(const uint16_t *)at)};
  switch (dtype) {
#define X(name, text, bytes, code, ctype)                                      \
  case TN_##name:                                                              \
    return tn_dtype_is_float(dtype) ? (value){.f = (double)*(const ctype *)at} \
                                    : (value){.i = (int64_t)*(const ctype *)at};
    TN_DTYPES(X)
#undef X
    case TN_DTYPE_COUNT: break;
  }
  return (value){.i = 0};
}

/* Copies a buffer between its values and an array. */
static void copy_native(memory *mem, void *native, bool to_native) {
  tn_dtype dtype = mem->buffer->dtype;
  for (int64_t i = 0; i < mem->size; i++) {
    char *at = (char *)native + i * (int64_t)tn_dtype_bytes(dtype);
    if (to_native)
      store_native(dtype, at, mem->data[i]);
    else
      mem->data[i] = load_native(dtype, at);
  }
}

/* A callee that was read from text has only its name. */
static void (*code_of(const tir_callee *callee))(void) {
  int at = 0;
  if (callee->function != NULL) return callee->function;
  while (test_callees[at].name != NULL && strcmp(test_callees[at].name, callee->name) != 0) at++;
  return test_callees[at].function;
}

/* The box must lie inside of the buffer; the callee works on a copy of all of it. */
static void *address(machine *m, const tir_operand *o, memory **mem) {
  int64_t offset = 0;
  *mem = find_memory(m, o->buffer);
  for (int i = 0; i < o->n_index; i++) {
    int64_t at = evaluate(m, o->index[i], 0).i;
    int64_t room = o->buffer->size[i] != NULL ? evaluate(m, o->buffer->size[i], 0).i : o->buffer->shape[i];
    if (at < 0 || at + o->span[i] > room) fault(m, "a call's box outside a buffer");
    offset = offset * o->buffer->shape[i] + at;
  }
  if (*mem == NULL || m->fault != NULL) return NULL;
  void *native = calloc((size_t)(*mem)->size + 1, tn_dtype_bytes(o->buffer->dtype));
  copy_native(*mem, native, true);
  return (char *)native + (int64_t)tn_dtype_bytes(o->buffer->dtype) * offset;
}

static void call(machine *m, const tir_stmt *s) {
  runtime_c_arg args[8];
  memory *memories[8] = {NULL};
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    args[i] = (runtime_c_arg){.is_pointer = o->access != TIR_BY_VALUE};
    if (args[i].is_pointer) {
      args[i].u.pointer = address(m, o, &memories[i]);
      if (args[i].u.pointer == NULL) return;
      continue;
    }
    value v = evaluate(m, o->value, 0);
    args[i].dtype = (tn_dtype)o->value->dtype;
    if (tn_dtype_is_float(args[i].dtype))
      args[i].u.f = v.f;
    else
      args[i].u.i = v.i;
  }
  assert_int_equal(runtime_call_c(NULL, code_of(s->u.call.callee), s->u.call.n, args), TN_OK);
  for (int i = 0; i < s->u.call.n; i++) {
    const tir_operand *o = &s->u.call.operands[i];
    if (memories[i] == NULL) continue;
    int64_t offset = 0;
    for (int d = 0; d < o->n_index; d++) offset = offset * o->buffer->shape[d] + evaluate(m, o->index[d], 0).i;
    void *native = (char *)args[i].u.pointer - (int64_t)tn_dtype_bytes(o->buffer->dtype) * offset;
    if (o->access != TIR_READS) copy_native(memories[i], native, false);
    free(native);
  }
  m->steps++;
}

/* Of an element outside of its buffer: a fault. The element itself is not touched. */
static void prefetch(machine *m, const tir_stmt *s) {
  int64_t loop = m->loop;
  m->loop = 0;
  element(m, s->u.prefetch.buffer, s->u.prefetch.n_index, s->u.prefetch.index, 0, false);
  m->loop = loop;
}

static void run_loop(machine *m, const tir_stmt *s) {
  int64_t min = evaluate(m, s->u.loop.min, 0).i, extent = evaluate(m, s->u.loop.extent, 0).i;
  bool is_outermost = m->loop == 0 && s->u.loop.kind == TIR_PARALLEL;
  if (is_outermost) m->loop = ++m->n_loops, m->n_shared = m->n_memories;
  for (int64_t i = min; i < min + extent; i++) {
    machine_set(m, s->u.loop.var, i);
    if (is_outermost) m->iteration = i;
    execute(m, s->u.loop.body);
  }
  if (is_outermost) m->loop = 0;
}

void execute(machine *m, const tir_stmt *s) {
  switch (s->kind) {
    case TIR_CALL: call(m, s); return;
    case TIR_NOP: return;
    case TIR_STORE: store(m, s); return;
    case TIR_PREFETCH: prefetch(m, s); return;
    case TIR_ALLOC: allocate(m, s); return;
    case TIR_ATTR: execute(m, s->u.attr.body); return;
    case TIR_IF:
      if (evaluate(m, s->u.branch.cond, 0).i) {
        execute(m, s->u.branch.then_body);
      } else if (s->u.branch.else_body != NULL) {
        execute(m, s->u.branch.else_body);
      }
      return;
    case TIR_SEQ:
      for (int i = 0; i < s->u.seq.n; i++) execute(m, s->u.seq.stmts[i]);
      return;
    case TIR_FOR: run_loop(m, s); return;
  }
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* A value of a symbol for which none is given: 20, or what it may be that is next to that. */
static int64_t some_value(const tir_func *f, const tir_var *symbol) {
  const tir_env *env = f->env;
  while (env != NULL && env->var != symbol) env = env->outer;
  return env == NULL ? 20 : RUNTIME_MIN(RUNTIME_MAX(env->range.lo, 20), env->range.hi);
}

void machine_start(machine *m, const tir_func *f, uint64_t seed) { machine_start_with(m, f, seed, NULL); }

void machine_start_with(machine *m, const tir_func *f, uint64_t seed, const int64_t *symbols) {
  memset(m, 0, sizeof *m);
  for (int i = 0, k = 0; i < f->n_scalars; i++) {
    const tir_var *var = f->scalars[i].var;
    if (f->scalars[i].is_symbol) machine_set(m, var, symbols != NULL ? symbols[k++] : some_value(f, var));
  }
  runtime_rng rng = {seed};
  for (int i = 0; i < f->n_params; i++) {
    add_memory(m, f->params[i]);
    for (int64_t j = 0; j < m->memories[i].size; j++) {
      int64_t number = runtime_random_below(&rng, 9) - 4;
      if (tn_dtype_is_float(f->params[i]->dtype)) {
        m->memories[i].data[j].f = (double)number;
      } else {
        m->memories[i].data[j].i = wrap(f->params[i]->dtype, number);
      }
    }
  }
}

void machine_free(machine *m) {
  for (int i = 0; i < m->n_memories; i++) {
    free(m->memories[i].data);
    free(m->memories[i].touches);
  }
  m->n_memories = 0;
}

static const char *compare(const machine *a, const machine *b) {
  if (a->fault != NULL) return "the function before does not run";
  if (b->fault != NULL) return b->fault;
  for (int i = 0; i < a->n_memories; i++) {
    size_t bytes = (size_t)a->memories[i].size * sizeof(value);
    if (memcmp(a->memories[i].data, b->memories[i].data, bytes) != 0) return "results differ";
  }
  return NULL;
}

const char *same_effect(const tir_func *a, const tir_func *b, uint64_t seed) {
  machine *x = malloc(sizeof *x), *y = malloc(sizeof *y);
  machine_start(x, a, seed);
  machine_start(y, b, seed);
  execute(x, a->body);
  execute(y, b->body);
  const char *difference = compare(x, y);
  machine_free(x);
  machine_free(y);
  free(x);
  free(y);
  return difference;
}
