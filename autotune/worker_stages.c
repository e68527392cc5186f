/* worker_stages.c: proves a reference where an element depends on too much to be computed by the evaluator,
 * as the last tensor of a network depends on all of it.
 *
 * A second program computes the same and gives out every tensor. The evaluator reads a definition's
 * operands from there, so that an element costs no more than its own definition, and is asked at sampled
 * points of every tensor. Outputs that both programs have must be equal in all elements. Thus each step is
 * proved, and with the steps the whole.
 *
 * An `all_tensors` owns the arrays of its outputs; the arrays of inputs are the reference's. */
#include "autotune/worker.h"
#include "codegen/codegen.h"
#include "runtime/kernel.h"

/* Points of each tensor at which the evaluator is asked, besides the ends. */
enum { POINTS = 4 };

static const double most_terms = 1e7; /* terms of sums for one element: about a second of the evaluator's time */

/* The second program and its arguments. */
typedef struct all_tensors {
  worker_program p; /* only context, program, target and arguments are used */
  DLTensor **args;
} all_tensors;

/* Counts the terms of one element. Programs with scans or calls are not deep: the evaluator cannot read a
 * scan's steps from an array. */
bool worker_is_deep(const tn_program *program) {
  double terms = 0;
  for (int i = 0; i < program->n_ops; ++i)
    if (program->ops[i]->scan || te_is_extern(program->ops[i])) return false;
  if (program->n_symbols > 0) return false;
  for (int i = program->n_inputs; i < program->n_args; ++i) terms += te_demand_terms(program, program->args[i]);
  return terms > most_terms;
}

/* ---- the second program ------------------------------------------------------------------------------------------ */

/* Whether the program itself has the tensor as an output. */
static bool is_given_out(const tn_program *program, const tn_tensor *tensor) {
  bool is_it = false;
  for (int i = program->n_inputs; i < program->n_args; ++i) is_it |= program->args[i] == tensor;
  return is_it;
}

/* Chooses all computed tensors, or every STEP-th and those that the program gives out itself. Returns how
 * many; OUT may be NULL. */
static int choose(const tn_program *whole, int step, tn_arg *out) {
  int n = 0, count = 0;
  for (int i = 0; i < whole->n_ops; ++i)
    for (int v = 0; v < whole->ops[i]->n_outputs && !te_is_placeholder(whole->ops[i]); ++v, ++count) {
      tn_tensor *tensor = &whole->ops[i]->outputs[v];
      if (count % step != 0 && !is_given_out(whole, tensor)) continue;
      if (out) out[n] = TN_ARG(tensor);
      ++n;
    }
  return n;
}

/* The second program: the inputs in their order, then what is computed; all of it if a kernel can take so
 * many arguments. What it does not give out, the evaluator computes from what it does. */
static tn_program *give_out(const worker_program *p) {
  const tn_program *whole = p->program;
  int step = 1, n_inputs = whole->n_inputs;
  while (step < whole->n_ops && n_inputs + choose(whole, step, NULL) > RUNTIME_MAX_KERNEL_ARGS) ++step;
  int n = n_inputs + choose(whole, step, NULL);
  tn_arg *tensors = RUNTIME_NEW_ARRAY(&p->ctx->arena, tn_arg, n);
  if (!tensors) return NULL;
  for (int i = 0; i < n_inputs; ++i) tensors[i] = TN_ARG(whole->args[i]);
  choose(whole, step, tensors + n_inputs);
  return tn_program_array(p->ctx, n, tensors);
}

/* Makes the outputs' arrays, poisoned. False: no memory. */
static bool allocate(all_tensors *all, const worker_data *data) {
  tn_context *ctx = all->p.ctx;
  all->args = calloc((size_t)all->p.n_args + 1, sizeof *all->args);
  all->p.args = RUNTIME_NEW_ARRAY(&ctx->arena, runtime_kernel_arg, all->p.n_args);
  if (!all->args || !all->p.args || codegen_kernel_args(all->p.program, &ctx->arena, all->p.args) < 0) return false;
  for (int i = 0; i < all->p.n_args; ++i) {
    const runtime_kernel_arg *arg = &all->p.args[i];
    all->args[i] = i < data->n_inputs ? data->args[i] : tn_array_new(ctx, arg->dtype, arg->ndim, arg->shape);
    if (!all->args[i]) return false;
    if (i >= data->n_inputs) worker_poison(all->args[i], arg->dtype);
  }
  return true;
}

static void free_all(all_tensors *all, const worker_data *data) {
  for (int i = data->n_inputs; all->args && i < all->p.n_args; ++i) tn_array_free(all->args[i]);
  free(all->args);
}

/* Runs the generic schedule of the second program, or the default one where that is refused. */
static bool compute_all(all_tensors *all, worker_answer *answer) {
  tn_schedule *schedule = worker_generic_schedule(&all->p, false);
  if (!schedule) schedule = tn_schedule_new(all->p.program);
  tn_kernel *kernel = schedule ? worker_kernel(&all->p, schedule, NULL, answer) : NULL;
  bool ran = kernel && (runtime_call_quiet(all->p.ctx, kernel, all->args, all->p.n_args) == TN_OK ||
                        worker_fail_context(answer, TN_MEASURE_RUNTIME, all->p.ctx));
  tn_kernel_free(kernel);
  tn_schedule_free(schedule);
  return ran;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Reports a wrong element; returns false. */
static bool disagrees(const all_tensors *all, int arg, int64_t flat, double got, const char *who, double wanted,
                      worker_answer *answer) {
  runtime_str at = {0};
  worker_print_element(&at, all->p.args[arg].name, all->args[arg], flat);
  worker_fail(answer, TN_MEASURE_WRONG_ANSWER,
              "the generic schedule's kernel of all tensors disagrees with %s: %s is %.9g, not %.9g", who,
              at.failed ? "an element" : at.data, got, wanted);
  runtime_str_free(&at);
  return false;
}

/* Compares element FLAT of an output with its own definition. */
static bool agrees_at(const all_tensors *all, int arg, int64_t flat, double scale, double tolerance,
                      worker_answer *answer) {
  const DLTensor *array = all->args[arg];
  tn_dtype dtype = all->p.args[arg].dtype;
  int64_t index[TN_MAX_RANK];
  double wanted = 0, got = worker_element(array, dtype, flat);
  worker_unravel(array, flat, index);
  if (te_evaluate_stage_at(all->p.program, all->args, all->p.n_args, tn_program_arg(all->p.program, arg), index,
                           &wanted) != TN_OK)
    return worker_fail_context(answer, TN_MEASURE_UNKNOWN, all->p.ctx);
  return worker_error(dtype, got, wanted, scale) <= tolerance ||
         disagrees(all, arg, flat, got, "the evaluator", wanted, answer);
}

/* Compares the first and the last element, and others at random. */
static bool tensor_agrees(const all_tensors *all, int arg, const worker_data *data, worker_answer *answer) {
  int64_t n = worker_elements(all->args[arg]);
  double scale = worker_typical(all->args[arg], all->p.args[arg].dtype);
  runtime_rng rng = {.state = data->seed + (uint64_t)arg};
  for (int i = 0; i < POINTS && n > 0; ++i) {
    int64_t flat = i == 0 ? 0 : i == 1 ? n - 1 : runtime_random_below(&rng, n);
    if (!agrees_at(all, arg, flat, scale, data->tolerance, answer)) return false;
  }
  return true;
}

/* Whether ARG equals the program's own OUTPUT in every element. */
static bool output_agrees(const all_tensors *all, int arg, const worker_data *data, int output, worker_answer *answer) {
  const DLTensor *reference = data->reference[output];
  tn_dtype dtype = all->p.args[arg].dtype;
  for (int64_t flat = 0, n = worker_elements(reference); flat < n; ++flat) {
    double got = worker_element(all->args[arg], dtype, flat), wanted = worker_element(reference, dtype, flat);
    if (worker_error(dtype, got, wanted, data->scale[output]) > data->tolerance)
      return disagrees(all, arg, flat, got, "the program's own", wanted, answer);
  }
  return true;
}

static bool all_agree(const all_tensors *all, const tn_program *whole, const worker_data *data, worker_answer *answer) {
  for (int arg = data->n_inputs; arg < all->p.n_args; ++arg) {
    if (!tensor_agrees(all, arg, data, answer)) return false;
    for (int i = data->n_inputs; i < data->n_args; ++i)
      if (whole->args[i] == all->p.program->args[arg] && !output_agrees(all, arg, data, i - data->n_inputs, answer))
        return false;
  }
  return true;
}

bool worker_verify_stages(worker_program *p, worker_data *data, worker_answer *answer) {
  all_tensors all = {.p = {.ctx = p->ctx, .program = give_out(p), .target = p->target}};
  if (!all.p.program) return worker_fail_context(answer, TN_MEASURE_UNKNOWN, p->ctx);
  all.p.n_args = tn_program_arg_count(all.p.program);
  bool is_there =
      allocate(&all, data) || worker_fail(answer, TN_MEASURE_MEMORY, "out of memory for all tensors of the program");
  data->is_by_stages = is_there && compute_all(&all, answer) && all_agree(&all, p->program, data, answer);
  free_all(&all, data);
  runtime_arena_free(&all.p.scratch);
  return data->is_by_stages;
}
