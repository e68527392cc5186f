/* A pair without code generation: the loop IR, before and after the passes, in the interpreter of tests/tir. It sees
 * every access outside of a scratch buffer, which guard pages do not, and every read of what was not written. */
#include <math.h>
#include <stdio.h>

#include "tests/fuzz/fuzz.h"
#include "tests/tir/tests.h"

enum { MAX_WORK = 12000, MAX_NAMES = 400, MAX_BUFFERS = 60 };

/* ---- what it would take ------------------------------------------------------------------------------------------ */

typedef struct size {
  int names, buffers;
} size;

static tir_walk count(void *user, const tir_stmt *s) {
  size *n = user;
  n->names += s->kind == TIR_FOR;
  n->buffers += s->kind == TIR_ALLOC;
  return TIR_WALK_ON;
}

/* Within what the interpreter holds, and soon done. */
static bool fits(const tir_func *f) {
  size n = {0, f->n_params};
  tir_walk_stmt(f->body, &(tir_visitor){.stmt = count, .user = &n});
  return n.names <= MAX_NAMES && n.buffers <= MAX_BUFFERS && fuzz_count_stores(f->body) <= MAX_WORK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static value element(const DLTensor *array, tn_dtype dtype, int64_t k) {
  double v = fuzz_element(array, dtype, k);
  return tn_dtype_is_float(dtype) ? (value){.f = v} : (value){.i = (int64_t)v};
}

/* The memory of the next argument that is a tensor. */
static memory *next_memory(machine *m, const tn_tensor *t, int *next) {
  return t->by_value ? NULL : &m->memories[(*next)++];
}

static void fill(machine *m, const tir_func *f, const tn_program *p, DLTensor *const *arrays) {
  int next = 0, scalar = 0;
  for (int i = 0; i < p->n_args; i++) {
    const tn_tensor *t = p->args[i];
    memory *at = next_memory(m, t, &next);
    if (!at) machine_set_scalar(m, f->scalars[scalar++].var, element(arrays[i], t->dtype, 0));
    for (int64_t k = 0; at && k < at->size; k++) {
      value poison = tn_dtype_is_float(t->dtype) ? (value){.f = 7e77} : (value){.i = 77};
      at->data[k] = i >= p->n_inputs ? poison : element(arrays[i], t->dtype, k);
    }
  }
}

static bool agrees(tn_dtype dtype, value got, double want, double error) {
  if (!tn_dtype_is_float(dtype)) return (double)got.i == want;
  return fabs(got.f - want) <= error || got.f == want || (isnan(got.f) && isnan(want));
}

static fuzz_status compare(machine *m, const tn_program *p, DLTensor *const *arrays, const fuzz_bound *bounds,
                           char *why, size_t n) {
  for (int i = 0, next = 0; i < p->n_args; i++) {
    const tn_tensor *t = p->args[i];
    const memory *at = next_memory(m, t, &next);
    double error = bounds[fuzz_tensor_number(p, t)].error;
    if (i < p->n_inputs) continue;
    for (int64_t k = 0; k < at->size; k++) {
      value got = at->data[k];
      double want = fuzz_element(arrays[i], t->dtype, k);
      if (agrees(t->dtype, got, want, error)) continue;
      snprintf(why, n, "%s, flat element %lld is %.17g, should be %.17g", t->name, (long long)k,
               tn_dtype_is_float(t->dtype) ? got.f : (double)got.i, want);
      return FUZZ_DIFFERS;
    }
  }
  return FUZZ_AGREES;
}

/* The symbols' values, then the strides of the reference's arrays. */
static void collect_numbers(const tn_program *p, DLTensor *const *arrays, const int64_t *symbols, int64_t *numbers) {
  int n = p->n_symbols;
  memcpy(numbers, symbols, sizeof *numbers * (size_t)n);
  for (int i = 0; i < p->n_args; i++)
    for (int d = 0; p->args[i]->is_strided && d < p->args[i]->ndim - 1; d++) numbers[n++] = arrays[i]->strides[d];
}

static fuzz_status interpret(const tir_func *f, const tn_program *p, DLTensor *const *arrays, const int64_t *symbols,
                             const fuzz_bound *bounds, char *why, size_t n) {
  machine *m = calloc(1, sizeof *m);
  int64_t numbers[RUNTIME_MAX_SYMBOLS + RUNTIME_MAX_KERNEL_ARGS * TN_MAX_RANK];
  collect_numbers(p, arrays, symbols, numbers);
  machine_start_with(m, f, 1, numbers);
  fill(m, f, p, arrays);
  execute(m, f->body);
  fuzz_status status = m->fault ? FUZZ_DIFFERS : !bounds ? FUZZ_AGREES : compare(m, p, arrays, bounds, why, n);
  if (m->fault) snprintf(why, n, "%s", m->fault);
  machine_free(m);
  free(m);
  return status;
}

fuzz_status fuzz_interpret_pair(tn_schedule *s, DLTensor *const *arrays, const int64_t *symbols,
                                const fuzz_bound *bounds, char *why, size_t n) {
  runtime_arena arena = {0};
  char reason[512];
  fuzz_status status = FUZZ_AGREES;
  tir_func *before = schedule_lower(s, "kernel", &arena);
  tir_func *after = before ? schedule_lower_and_optimize(s, "kernel", &arena) : NULL;
  const tir_func *both[] = {before, after};
  for (int i = 0; i < 2 && status == FUZZ_AGREES; i++) {
    if (!both[i] || !fits(both[i])) continue;
    status = interpret(both[i], s->program, arrays, symbols, bounds, reason, sizeof reason);
    if (status != FUZZ_AGREES) snprintf(why, n, "loop IR %s the passes: %s", i ? "after" : "before", reason);
  }
  runtime_arena_free(&arena);
  return status;
}
