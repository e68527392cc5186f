/* The arguments that candidates get: inputs in pages of their own, which are made read-only once they are filled, and
 * outputs; and for each output what it shall be. */
#include <float.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "autotune/worker.h"

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* A tensor whose data is mapped. */
typedef struct mapped_array {
  DLTensor tensor; /* first: users hold a pointer to it */
  int64_t shape[TN_MAX_RANK], strides[TN_MAX_RANK];
} mapped_array;

size_t worker_mapped_bytes(const DLTensor *t) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = tn_array_bytes(t);
  return (RUNTIME_MAX(bytes, 1) + page - 1) / page * page;
}

static DLTensor *map_array(const runtime_kernel_arg *arg) {
  mapped_array *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  runtime_compact_strides(arg->ndim, arg->shape, a->strides);
  memcpy(a->shape, arg->shape, sizeof *a->shape * (size_t)arg->ndim);
  a->tensor = (DLTensor){.device = {kDLCPU, 0},
                         .ndim = arg->ndim,
                         .dtype = tn_dtype_dlpack(arg->dtype),
                         .shape = a->shape,
                         .strides = a->strides};
  void *pages = mmap(NULL, worker_mapped_bytes(&a->tensor), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t bytes = worker_mapped_bytes(&a->tensor);
  if (pages == MAP_FAILED) {
    tn_memory_failed("array", bytes);
    free(a);
    return NULL;
  }
  if (tn_profile_wants(TN_CATEGORY_MEMORY, 3)) tn_memory_alloc("array", pages, bytes);
  a->tensor.data = pages;
  return &a->tensor;
}

static void unmap_array(DLTensor *t) {
  if (t && tn_profile_wants(TN_CATEGORY_MEMORY, 3)) tn_memory_free("array", t->data, 0);
  if (t) munmap(t->data, worker_mapped_bytes(t));
  free(t);
}

void worker_data_free(worker_data *data) {
  if (!data) return;
  worker_guard_inputs(NULL);
  for (int i = 0; data->args && i < data->n_inputs; ++i) unmap_array(data->args[i]);
  for (int i = data->n_inputs; data->args && i < data->n_args; ++i) tn_array_free(data->args[i]);
  for (int i = 0; data->reference && i < data->n_args - data->n_inputs; ++i) tn_array_free(data->reference[i]);
  free(data->args);
  free(data->reference);
  free(data->scale);
  free(data);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* The distance of 1 to the next value. */
static double unit_of(tn_dtype dtype) {
  static const double units[TN_DTYPE_COUNT] = {
      [TN_F16] = 0x1p-10, [TN_BF16] = 0x1p-7, [TN_F32] = FLT_EPSILON, [TN_F64] = DBL_EPSILON};
  return units[dtype];
}

/* Rounding errors of N terms add up like a random walk; the constant leaves room for the functions' last bits.
 * What is stored as f16 or bf16 may fall on either side of a tie. */
static double float_tolerance(const tn_program *program) {
  double terms = 0, epsilon = 0, half = 0;
  for (int i = 0; i < program->n_ops; ++i) {
    const te_op *op = program->ops[i];
    double here = 1;
    for (int r = 0; r < op->n_reduce; ++r) here *= (double)op->reduce_axes[r]->extent;
    terms += here;
    for (int v = 0; v < op->n_outputs; ++v) {
      double unit = unit_of(op->outputs[v].dtype);
      bool is_half = runtime_is_half(op->outputs[v].dtype);
      epsilon = fmax(epsilon, is_half ? (double)FLT_EPSILON : unit);
      half = fmax(half, is_half ? unit : 0);
    }
  }
  return epsilon * (256 + 8 * sqrt(terms)) + 4 * half;
}

static bool allocate_output(worker_program *p, worker_data *data, int i, worker_answer *answer) {
  const runtime_kernel_arg *arg = &p->args[i];
  DLTensor **reference = &data->reference[i - data->n_inputs];
  data->args[i] = tn_array_new(p->ctx, arg->dtype, arg->ndim, arg->shape);
  if (data->args[i]) *reference = tn_array_new(p->ctx, arg->dtype, arg->ndim, arg->shape);
  return *reference || worker_fail_context(answer, TN_MEASURE_MEMORY, p->ctx);
}

static bool allocate_arrays(worker_program *p, worker_data *data, worker_answer *answer) {
  for (int i = 0; i < data->n_args; ++i) {
    const runtime_kernel_arg *arg = &p->args[i];
    if (i >= data->n_inputs) {
      if (!allocate_output(p, data, i, answer)) return false;
      continue;
    }
    data->args[i] = map_array(arg);
    double bytes = (double)tn_dtype_bytes(arg->dtype);
    for (int d = 0; d < arg->ndim; ++d) bytes *= (double)arg->shape[d];
    if (!data->args[i])
      return worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for %.0f bytes of %s", bytes, arg->name);
  }
  return true;
}

/* Every input gets a seed of its own, so that equal shapes do not hold equal data; what is used as an index gets
 * indices. */
static bool fill_inputs(worker_program *p, worker_data *data, worker_answer *answer) {
  for (int i = 0; i < data->n_inputs; ++i)
    if (runtime_array_fill(p->ctx, data->args[i], data->seed + (uint64_t)i,
                           te_index_limit(p->program, tn_program_arg(p->program, i))) != TN_OK)
      return worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
  return true;
}

worker_data *worker_data_new(worker_program *p, uint64_t seed, worker_answer *answer) {
  worker_data *data = calloc(1, sizeof *data);
  int n = p->n_args, n_inputs = tn_program_input_count(p->program);
  if (data) {
    *data = (worker_data){.seed = seed, .n_args = n, .n_inputs = n_inputs, .tolerance = float_tolerance(p->program)};
    data->args = calloc((size_t)n + 1, sizeof *data->args);
    data->reference = calloc((size_t)(n - n_inputs) + 1, sizeof *data->reference);
    data->scale = calloc((size_t)(n - n_inputs) + 1, sizeof *data->scale);
  }
  if (!data || !data->args || !data->reference || !data->scale)
    worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for the arguments");
  else if (allocate_arrays(p, data, answer) && fill_inputs(p, data, answer))
    return data;
  worker_data_free(data);
  return NULL;
}
