/* bench.c: `tenon bench`: how fast a scheduled program is: checked, beside the default schedule and OpenBLAS. */
#include <math.h>

#include "autotune/worker.h"
#include "runtime/kernel.h"
#include "tools/openblas.h"
#include "tools/rounds.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION_LOG,
    TOOLS_OPTION_SCHEDULE,
    TOOLS_OPTION("vs", 0, TEXT, versus, "SIDE",
                 "also time this in turns: openblas, for programs that are a matrix product or one\n"
                 "with something added; or default, the program under its default schedule"),
    TOOLS_OPTION("seconds", 0, SECONDS, seconds, "S", "time for about this long (3)"),
    TOOLS_OPTION("threads", 'j', COUNT, threads, "N",
                 "threads of parallel loops and of the library (those of the target)"),
    TOOLS_OPTION("stages", 0, FLAG, shows_stages, NULL,
                 "also say how long each stage takes and how much it computes, from a build of\n"
                 "its own that is sampled for a second"),
    TOOLS_OPTION_LINK,
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_TARGET,
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_END,
};

const tools_verb tools_bench = {
    .name = "bench",
    .operands =
        "PROGRAM [--log LOG | -s SCHEDULE] [--link FILE]... [--vs openblas|default] [--stages] [--seconds S] "
        "[--threads N] [--json]",
    .summary = "check and time a program under a schedule",
    .details =
        "Compiles PROGRAM with the best record of LOG or with SCHEDULE, compares its outputs with those of the\n"
        "unscheduled program (which is itself compared with the reference evaluator at sampled points), and\n"
        "times it beside the unscheduled one. A program that calls C functions is evaluated as a whole instead,\n"
        "which takes its time; --link gives the functions.\n"
        "\n"
        "--vs openblas finds libopenblas.so.0 when it runs. Both sides work on the same data in one process, in\n"
        "rounds of alternating blocks; the ratio is the median over the rounds of OpenBLAS's time divided by\n"
        "ours: above 1 is faster than OpenBLAS. Where the program adds an input to the product, OpenBLAS gets a\n"
        "copy of that input to add to, and the copying counts. Spreads are (p75 - p25) / median.",
    .examples = "tenon bench matmul.te --log matmul.json --vs openblas --json",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

enum { OURS, THEIRS, SIDES };
enum { NS_FOR_POINTS = 1000000000, NS_FOR_STAGES = 1000000000 };

static const double usual_s = 3, slow_s = 0.5;

typedef struct bench {
  tools_session session;
  const tools_args *args;
  worker_program program; /* its data: arguments, reference outputs, tolerance */
  double flops, max_error;
  tn_kernel *kernel, *staged; /* staged: with times and counters of its stages, or NULL */
  tn_kernel *unscheduled;     /* for --vs default, or NULL */
  runtime_call call, unscheduled_call;
  tools_openblas blas;
  int n_sides;
  tools_side sides[SIDES];
  tn_timing default_timing;
  tools_statistic times[SIDES], ratio; /* ratio: OpenBLAS's time / ours */
} bench;

/* ---- kernels and data -------------------------------------------------------------------------------------------- */

static tn_kernel *build(bench *b, tn_schedule *schedule) {
  return schedule ? tn_build(schedule, &(tn_build_options){.target = b->session.target}) : NULL;
}

static double bytes_of(const tn_tensor *t) {
  double bytes = (double)tn_dtype_bytes(t->dtype);
  for (int d = 0; d < t->ndim; ++d) bytes *= (double)t->shape[d];
  return bytes;
}

/* Every tensor once, as the unscheduled kernel has them, and the outputs once more to compare with. */
static bool check_sizes(bench *b) {
  tools_session *s = &b->session;
  double bytes = 0, largest = -1;
  const char *name = "";
  for (int i = 0; i < s->program->n_ops; ++i) {
    for (int v = 0; v < s->program->ops[i]->n_outputs; ++v) {
      const tn_tensor *t = &s->program->ops[i]->outputs[v];
      double here = bytes_of(t);
      if (here > largest) largest = here, name = t->name;
      bytes += here;
    }
  }
  for (int i = s->program->n_inputs; i < s->program->n_args; ++i) bytes += bytes_of(s->program->args[i]);
  if (bytes <= (double)runtime_limits(s->ctx)->data_bytes) return true;
  RUNTIME_FAIL_LIMIT(s->ctx, TN_ERROR_ARGUMENT, data_bytes,
                     "timing takes arrays of %.0f bytes together, the outputs twice; the largest is %s with %.0f",
                     bytes, name, largest);
  return false;
}

/* The measuring worker's own preparation: inputs, and the outputs of the unscheduled kernel, verified by the evaluator.
 */
static bool prepare(bench *b) {
  tools_session *s = &b->session;
  worker_answer answer = {.lap_ns = runtime_now_ns()};
  int n = tn_program_arg_count(s->program);
  if (te_check_no_symbols(s->program, "measuring") != TN_OK || !check_sizes(b)) return false;
  b->flops = tn_program_flops(s->program);
  b->program = (worker_program){.ctx = s->ctx, .program = s->program, .target = s->target, .n_args = n};
  b->program.args = calloc((size_t)n + 1, sizeof *b->program.args);
  if (!b->program.args) return tools_fail(s, "out of memory"), false;
  if (codegen_kernel_args(s->program, &s->ctx->arena, b->program.args) < 0)
    return tools_fail(s, "out of memory"), false;
  s->is_muted = true;
  bool ready = worker_prepare_data(&b->program, b->args->seed, false, &answer);
  s->is_muted = false;
  if (!ready) tools_fail(s, "%s", answer.message.data ? answer.message.data : "out of memory");
  runtime_str_free(&answer.message);
  return ready;
}

/* Runs the kernel once on poisoned outputs and compares. */
static bool check(bench *b) {
  worker_data *data = b->program.data;
  for (int i = data->n_inputs; i < data->n_args; ++i) worker_poison(data->args[i], b->program.args[i].dtype);
  if (tn_call(b->session.ctx, b->kernel, data->args, data->n_args) != TN_OK) return false;
  worker_answer answer = {0};
  bool right = worker_check_outputs(&b->program, &answer);
  b->max_error = answer.max_error;
  if (!right) tools_fail(&b->session, "wrong result: %s", answer.message.data ? answer.message.data : "out of memory");
  runtime_str_free(&answer.message);
  return right;
}

/* The error of an element as the reference evaluator has it, which computes in doubles and shares no code with
 * lowering. */
static bool check_point(bench *b, int arg, int64_t flat) {
  const worker_data *data = b->program.data;
  const DLTensor *array = data->args[arg];
  tn_dtype dtype = b->program.args[arg].dtype;
  int64_t index[TN_MAX_RANK], rest = flat;
  double expected = 0;
  for (int d = array->ndim - 1; d >= 0; rest /= array->shape[d--]) index[d] = rest % array->shape[d];
  if (tn_evaluate_at(b->session.program, data->args, data->n_args, tn_program_arg(b->session.program, arg), index,
                     &expected) != TN_OK)
    return false;
  double error = worker_error(dtype, worker_element(array, dtype, flat), expected, data->scale[arg - data->n_inputs]);
  b->max_error = fmax(b->max_error, error);
  if (error <= data->tolerance) return true;
  return tools_fail(&b->session, "wrong result: relative error %.3g to the reference evaluator", error), false;
}

/* A call of a C function computes whole tensors only: prepare() has compared all of them. */
static bool check_points(bench *b) {
  enum { POINTS = 32 };
  if (te_has_externs(b->session.program)) return true;
  const worker_data *data = b->program.data;
  uint64_t end_ns = runtime_now_ns() + NS_FOR_POINTS;
  for (int i = data->n_inputs; i < data->n_args; ++i) {
    runtime_rng rng = {.state = b->args->seed};
    for (int n = 0; n < POINTS && (n == 0 || runtime_now_ns() < end_ns); ++n) {
      if (!check_point(b, i, runtime_random_below(&rng, worker_elements(data->args[i])))) return false;
    }
  }
  return true;
}

/* OpenBLAS computes the same: otherwise its time would say nothing. */
static bool check_openblas(bench *b) {
  const te_matmul *m = &b->blas.matmul;
  if (tools_openblas_call(&b->blas) != 0) return false;
  if (m->output < 0) return true;
  const worker_data *data = b->program.data;
  int output = m->output - data->n_inputs;
  for (int64_t i = 0, n = worker_elements(b->blas.result); i < n; ++i) {
    double theirs = worker_element(b->blas.result, m->dtype, i),
           ours = worker_element(data->reference[output], m->dtype, i);
    if (worker_error(m->dtype, theirs, ours, data->scale[output]) <= data->tolerance) continue;
    tools_fail(&b->session, "OpenBLAS computes something else: %.9g instead of %.9g", theirs, ours);
    return false;
  }
  return true;
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

/* The default schedule may be hundreds of times slower: few calls will do. */
static bool time_default(bench *b) {
  const worker_data *data = b->program.data;
  tn_kernel *kernel = build(b, tn_schedule_new(b->session.program));
  tn_timing_options timing = {.max_total_s = slow_s, .min_samples = 2, .give_up_above_s = slow_s};
  bool timed =
      kernel && tn_time(b->session.ctx, kernel, data->args, data->n_args, &timing, &b->default_timing) == TN_OK;
  tn_kernel_free(kernel);
  return timed;
}

static int32_t call_kernel(void *self) { return runtime_call_invoke(self); }

static bool is_versus(const bench *b, const char *side) {
  return b->args->versus && strcmp(b->args->versus, side) == 0;
}

static bool prepare_unscheduled(bench *b) {
  const worker_data *data = b->program.data;
  b->unscheduled = build(b, tn_schedule_new(b->session.program));
  return b->unscheduled && runtime_call_prepare(b->session.ctx, "tenon bench", b->unscheduled, data->args, data->n_args,
                                                &b->unscheduled_call) == TN_OK;
}

/* Ratios round by round: what slows both sides down at a time cancels. */
static bool compare_rounds(bench *b) {
  int n = RUNTIME_MIN(b->sides[OURS].rounds.n, b->sides[THEIRS].rounds.n);
  double *ratios = calloc((size_t)n + 1, sizeof *ratios);
  if (!ratios) return false;
  for (int i = 0; i < n; ++i) ratios[i] = b->sides[THEIRS].rounds.data[i] / b->sides[OURS].rounds.data[i];
  b->ratio = tools_statistic_of(n, ratios);
  free(ratios);
  return true;
}

static bool time_sides(bench *b) {
  const worker_data *data = b->program.data;
  if (runtime_call_prepare(b->session.ctx, "tenon bench", b->kernel, data->args, data->n_args, &b->call) != TN_OK)
    return false;
  b->sides[OURS] = (tools_side){.call = call_kernel, .self = &b->call};
  b->sides[THEIRS] = (tools_side){.call = tools_openblas_call, .self = &b->blas};
  if (is_versus(b, "default")) {
    if (!prepare_unscheduled(b)) return false;
    b->sides[THEIRS] = (tools_side){.call = call_kernel, .self = &b->unscheduled_call};
  }
  b->n_sides = b->args->versus ? SIDES : 1;
  if (!tools_time_rounds(b->n_sides, b->sides, b->args->seconds > 0 ? b->args->seconds : usual_s))
    return tools_fail(&b->session, "the kernel failed, or memory ran out, while it was timed"), false;
  bool compared = b->n_sides == 1 || compare_rounds(b);
  for (int i = 0; i < b->n_sides; ++i) b->times[i] = tools_statistic_of(b->sides[i].calls.n, b->sides[i].calls.data);
  return compared;
}

/* Builds once more with what stages need, and calls that for a while. */
static bool time_stages(bench *b, const tn_schedule *schedule) {
  const worker_data *data = b->program.data;
  tn_build_options build = {.target = b->session.target, .sample = true, .count = true};
  if (!b->args->shows_stages) return true;
  b->staged = tn_build(schedule, &build);
  bool called = b->staged != NULL;
  for (uint64_t end_ns = runtime_now_ns() + NS_FOR_STAGES; called && runtime_now_ns() < end_ns;)
    called = tn_call(b->session.ctx, b->staged, data->args, data->n_args) == TN_OK;
  return called;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static double speedup(const bench *b) { return b->default_timing.median_s / b->times[OURS].median; }

static void print_time(const bench *b, const char *name, double seconds, double spread) {
  printf("%-10s  %10s  %10s  %8.1f %%\n", name, tools_time(seconds).text, tools_rate(b->session.program, seconds).text,
         spread * 100);
}

static int print_plain(const bench *b) {
  bool is_scheduled = b->args->log || b->args->schedule || is_versus(b, "default");
  printf("%-10s  %10s  %10s  %10s\n", "", "time", b->flops > 0 ? "GFLOPS" : "moved", "spread");
  print_time(b, "default", b->default_timing.median_s, b->default_timing.spread);
  if (is_scheduled) print_time(b, b->args->log ? "tuned" : "scheduled", b->times[OURS].median, b->times[OURS].spread);
  if (is_versus(b, "openblas")) print_time(b, b->args->versus, b->times[THEIRS].median, b->times[THEIRS].spread);
  if (is_scheduled) printf("%.1f times as fast as the default schedule\n", speedup(b));
  if (b->args->versus)
    printf("%.3f times as fast as %s (%d rounds, spread %.1f %%%s%s)\n", b->ratio.median, b->args->versus,
           b->sides[OURS].rounds.n, b->ratio.spread * 100, b->blas.config ? "; " : "",
           b->blas.config ? b->blas.config : "");
  printf("checked: largest relative error %.2g; %d threads\n", b->max_error, tn_target_threads(b->session.target));
  char *stages = tn_kernel_stage_report(b->staged);
  if (stages) printf("\n%s", stages);
  free(stages);
  return TOOLS_OK;
}

static json_t *stages_array(const bench *b) {
  json_t *array = json_array();
  int n = tn_kernel_stages(b->staged, 0, NULL);
  tn_kernel_stage *stages = calloc((size_t)n + 1, sizeof *stages);
  if (stages) tn_kernel_stages(b->staged, n, stages);
  for (int i = 0; stages && i < n; ++i) {
    const tn_kernel_stage *s = &stages[i];
    json_array_append_new(
        array, json_pack("{s:s, s:f, s:I, s:I, s:f, s:I, s:I, s:I, s:I}", "stage", s->name, "seconds", s->seconds,
                         "samples", (json_int_t)s->samples, "points", (json_int_t)s->points, "recompute",
                         tn_kernel_stage_recompute(s), "loads", (json_int_t)s->loads, "stores", (json_int_t)s->stores,
                         "vector_loads", (json_int_t)s->vector_loads, "vector_stores", (json_int_t)s->vector_stores));
  }
  free(stages);
  return array;
}

static int print_object(bench *b) {
  tools_session *s = &b->session;
  json_t *object = json_pack(
      "{s:s, s:s, s:s, s:i, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "program", tn_program_text(s->program),
      "key", tn_program_key(s->program), "target", tn_target_text(s->target), "threads", tn_target_threads(s->target),
      "checked", 1, "max_error", b->max_error, "gflops", tools_gflops(b->flops, b->times[OURS].median), "seconds",
      b->times[OURS].median, "spread", b->times[OURS].spread, "gflops_default",
      tools_gflops(b->flops, b->default_timing.median_s), "seconds_default", b->default_timing.median_s,
      "spread_default", b->default_timing.spread, "speedup_default", speedup(b));
  json_object_set_new(object, "gbytes_per_s",
                      json_real(tools_gflops(tn_program_bytes(s->program), b->times[OURS].median)));
  if (b->staged) json_object_set_new(object, "stages", stages_array(b));
  if (!b->args->versus) return tools_print_json(s, object);
  const tools_statistic *theirs = &b->times[THEIRS];
  bool blas = is_versus(b, "openblas");
  json_object_set_new(object, b->args->versus,
                      json_pack("{s:f, s:f, s:f, s:s*}", "gflops", tools_gflops(b->flops, theirs->median), "seconds",
                                theirs->median, "spread", theirs->spread, "config", b->blas.config));
  json_object_set_new(object, blas ? "ratio_openblas" : "ratio_default", json_real(b->ratio.median));
  json_object_set_new(object, "ratio_spread", json_real(b->ratio.spread));
  json_object_set_new(object, "rounds", json_integer(b->sides[OURS].rounds.n));
  return tools_print_json(s, object);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static bool measure(bench *b) {
  tools_session *s = &b->session;
  if (!tools_open_program(s, b->args)) return false;
  tn_schedule *schedule = tools_schedule(s, b->args);
  b->kernel = build(b, schedule);
  if (!b->kernel || !prepare(b)) return false;
  int threads = tn_target_threads(s->target);
  bool blas = is_versus(b, "openblas");
  if (blas && !tools_openblas_open(s, b->program.data->args, threads, &b->blas)) return false;
  return check(b) && check_points(b) && (!blas || check_openblas(b)) && time_default(b) && time_sides(b) &&
         time_stages(b, schedule);
}

static void clean_up(bench *b) {
  for (int i = 0; i < SIDES; ++i) tools_side_free(&b->sides[i]);
  tools_openblas_close(&b->blas);
  tn_kernel_free(b->kernel);
  tn_kernel_free(b->staged);
  tn_kernel_free(b->unscheduled);
  worker_data_free(b->program.data);
  runtime_arena_free(&b->program.scratch);
  free(b->program.args);
  tools_close(&b->session);
}

static int run(const tools_args *args) {
  if (args->schedule && args->log) return tools_usage(args->verb, "--schedule and --log exclude each other");
  if (args->versus && strcmp(args->versus, "openblas") != 0 && strcmp(args->versus, "default") != 0)
    return tools_usage(args->verb, "--vs knows openblas and default, not '%s'", args->versus);
  bench b = {.args = args};
  int status = TOOLS_FAILED;
  if (measure(&b)) status = args->is_json ? print_object(&b) : print_plain(&b);
  clean_up(&b);
  return status;
}
