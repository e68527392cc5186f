/* bench.c: `tenon bench`: checks and times a program under a schedule, beside the default schedule and
 * vendors' libraries.
 *
 * A `bench` owns kernels, vendors and data. clean_up releases it, no matter how far it came. A `side` is
 * one of the routines that are timed in turns. */
#include <math.h>

#include "autotune/internal.h"
#include "autotune/worker.h"
#include "runtime/kernel.h"
#include "tools/vendor.h"

static int run(const tools_args *args);

static const tools_option options[] = {
    TOOLS_OPTION_LOG,
    TOOLS_OPTION_SCHEDULE,
    TOOLS_OPTION("vs", 0, TEXT, versus, "SIDES",
                 "also time these in turns, separated by commas: onednn, openblas, blis, where they\n"
                 "have what the program computes; the program under its default schedule (default), the\n"
                 "generic one (auto), or that of the best record of another log (log:FILE)"),
    TOOLS_OPTION("limits", 0, FLAG, shows_limits, NULL,
                 "also time, in turns, what this machine can do at most: such operations as the\n"
                 "program's, in their proportion, on registers alone, and reading and writing as\n"
                 "many bytes as the program's arrays have; and say which part of the nearer of\n"
                 "both the program reaches"),
    TOOLS_OPTION("seconds", 0, SECONDS, seconds, "S", "time for about this long (3)"),
    TOOLS_OPTION("threads", 'j', COUNT, threads, "N",
                 "threads of parallel loops and of the library (those of the target)"),
    TOOLS_OPTION("stages", 0, FLAG, shows_stages, NULL,
                 "also say how long each stage takes and how much it computes, from a build of\n"
                 "its own that is called for a second"),
    TOOLS_OPTION_FILL,
    TOOLS_OPTION_LINK,
    TOOLS_OPTION_PARAM,
    TOOLS_OPTION_TARGET,
    TOOLS_OPTION_JSON,
    TOOLS_OPTION_END,
};

const tools_verb tools_bench = {
    .name = "bench",
    .operands =
        "PROGRAM [--log LOG | -s SCHEDULE] [--link FILE]... [--vs onednn,openblas,blis,default,auto,log:FILE] "
        "[--limits] [--stages] "
        "[--seconds S] [--threads N] [--json]",
    .summary = "check and time a program under a schedule",
    .details =
        "Compiles PROGRAM with the best record of LOG or with SCHEDULE, compares its outputs with those of the\n"
        "unscheduled program (which is itself compared with the reference evaluator at sampled points), and\n"
        "times it beside the unscheduled one. A program that calls C functions is evaluated as a whole instead,\n"
        "which takes its time; --link gives the functions.\n"
        "\n"
        "--vs finds a vendor's library when it runs. Products of matrices (openblas, blis: f32 and f64, onednn: f32;\n"
        "in batches, transposed, with a matrix or a row added), and with onednn convolutions of images NHWC (also of\n"
        "each channel on its own), softmax and layer normalization of rows are recognised by their structure, and\n"
        "the vendor's result is compared with ours. A vendor that lacks the operator is left out with a warning.\n"
        "All sides work on the same data in one process, in rounds of alternating blocks; a ratio is the median\n"
        "over the rounds of the other's time divided by ours: above 1 is faster than the other. Where the program\n"
        "adds an input to the product, the vendor gets a copy of that input to add to, and the copying counts.\n"
        "OpenBLAS and BLIS are tried with the kernels of each kind of processor that they have and this one can\n"
        "run, and timed with the fastest. Spreads are (p75 - p25) / median.",
    .examples = "tenon bench matmul.te --log matmul.json --vs openblas --json",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};

/* Side 0 is ours; the most sides that --vs may name; two more for --limits. */
enum { OURS, MOST_VERSUS = 5, SIDES = 1 + MOST_VERSUS + 2 /* limits */ };
/* Time limits for checking sampled points and for calling a kernel with stage timers. */
enum { NS_FOR_POINTS = 1000000000, NS_FOR_STAGES = 1000000000 };

/* Seconds: of timing by default; of timing the default schedule; above which the default schedule is not run at all. */
static const double usual_s = 3, slow_s = 0.5, unbearable_s = 5;

/* A routine that is timed beside ours: a vendor's kernel, the same program under another schedule (KERNEL),
 * or a limit of the machine. TIMED points into VENDOR or CALL, so a side must not move once it is timed. */
typedef struct side {
  const char *name; /* as in --vs; the context's */
  tools_vendor vendor;
  tn_kernel *kernel; /* NULL: a vendor's, or a limit's */
  runtime_call call;
  vendor_side timed;
  double ratio, ratio_spread; /* its time / ours */
  double part,
      part_least; /* a limit's: the part of it that the program reaches, by medians and by least times; 0: no limit */
  double work, wanted; /* a limit's: operations or bytes of one call, and of one call of the program */
} side;

/* All of one run. The kernels' calls hold addresses of arrays in `program.data`, which is freed after the last call. */
typedef struct bench {
  tools_session session;
  const tools_args *args;
  worker_program program; /* its data: arguments, reference outputs, tolerance */
  double flops, max_error;
  bool is_packed;             /* layout_free inputs were packed before the first call */
  tn_kernel *kernel, *staged; /* staged: with times and counters of its stages, or NULL */
  runtime_call call;
  int n_sides;
  side sides[SIDES]; /* ours, then those of --vs */
  tn_timing default_timing;
} bench;

/* ---- kernels and data -------------------------------------------------------------------------------------------- */

/* The kernel of a schedule. NULL after a message in the context. A NULL schedule gives NULL, so that
 * callers need no test of their own. */
static tn_kernel *build(bench *b, tn_schedule *schedule) {
  return schedule ? tn_build(schedule, &(tn_build_options){.target = b->session.target}) : NULL;
}

/* In doubles: a shape's product may exceed 64 bits, and this is asked before anything is allocated. */
static double bytes_of(const tn_tensor *t) {
  double bytes = (double)tn_dtype_bytes(t->dtype);
  for (int d = 0; d < t->ndim; ++d) bytes *= (double)t->shape[d];
  return bytes;
}

/* Refuses a program whose tensors exceed the limit data_bytes: every tensor once, as the unscheduled kernel has
 * them, and the outputs once more to compare with. False after a message. */
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

/* Prepares data as the measuring worker does: inputs, and reference outputs of the unscheduled kernel,
 * which the evaluator has verified. False after a message. */
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
  char *fill = tools_fill_text(b->args);
  bool ready = autotune_fill_check(s->program, fill) == TN_OK;
  if (!ready) worker_fail_context(&answer, TN_MEASURE_UNKNOWN, s->ctx);
  ready = ready && worker_prepare_data(&b->program, b->args->seed, fill, 0, false, &answer);
  s->is_muted = false;
  free(fill);
  if (!ready) tools_fail(s, "%s", answer.message.data ? answer.message.data : "out of memory");
  runtime_str_free(&answer.message);
  return ready;
}

/* Like build(). A schedule that packs layout_free inputs is built in two parts, and the packing is done
 * once, here: as in the tuner, the time of a call does not contain it. */
static tn_kernel *build_packed(bench *b, tn_schedule *schedule) {
  if (!schedule || !schedule_has_parts(schedule)) return build(b, schedule);
  worker_answer answer = {.lap_ns = runtime_now_ns()};
  codegen_bytes object = {0};
  tn_kernel *kernel = NULL;
  if (worker_compile_candidate(&b->program, schedule, &answer, &object))
    kernel = codegen_load(b->session.ctx, object.data, object.n, WORKER_SYMBOL, b->program.n_args, b->program.args);
  bool is_packed = kernel && worker_pack(&b->program, kernel, &answer);
  if (!is_packed && answer.message.data) tools_fail(&b->session, "%s", answer.message.data);
  if (!is_packed) tn_kernel_free(kernel);
  runtime_str_free(&answer.message);
  free(object.data);
  b->is_packed |= is_packed;
  return is_packed ? kernel : NULL;
}

/* Runs KERNEL once, on outputs filled with NaNs, and compares. NAME is the schedule's in the message. False
 * after it. */
static bool check(bench *b, const tn_kernel *kernel, const char *name) {
  worker_data *data = b->program.data;
  for (int i = data->n_inputs; i < data->n_args; ++i) worker_poison(data->args[i], b->program.args[i].dtype);
  if (tn_call(b->session.ctx, kernel, data->args, data->n_args) != TN_OK) return false;
  worker_answer answer = {0};
  bool right = worker_check_outputs(&b->program, &(worker_sample){.whole = true}, &answer);
  b->max_error = fmax(b->max_error, answer.max_error);
  if (!right)
    tools_fail(&b->session, "wrong result of %s: %s", name,
               answer.message.data ? answer.message.data : "out of memory");
  runtime_str_free(&answer.message);
  return right;
}

/* Compares one element with the reference evaluator, which computes in doubles and shares no code with
 * lowering. False after a message. */
static bool check_point(bench *b, int arg, int64_t flat) {
  const worker_data *data = b->program.data;
  const DLTensor *array = data->args[arg];
  tn_dtype dtype = b->program.args[arg].dtype;
  int64_t index[TN_MAX_RANK];
  double expected = 0;
  worker_unravel(array, flat, index);
  if (tn_evaluate_at(b->session.program, data->args, data->n_args, tn_program_arg(b->session.program, arg), index,
                     &expected) != TN_OK)
    return false;
  double got = worker_element(array, dtype, flat);
  double error = worker_error(dtype, got, expected, data->scale[arg - data->n_inputs]);
  bool is_right =
      error <= data->tolerance || worker_is_rounding(b->session.program, data, arg - data->n_inputs, flat, got);
  if (!is_right || tn_dtype_is_float(dtype)) b->max_error = fmax(b->max_error, error);
  if (is_right) return true;
  return tools_fail(&b->session, "wrong result: relative error %.3g to the reference evaluator", error), false;
}

/* Checks sampled elements of the outputs, for at most a second. It is left out where prepare() has compared
 * whole tensors instead: a C function computes nothing less, and an element that depends on too much would
 * take too long. */
static bool check_points(bench *b) {
  /* Elements checked in each output. */
  enum { POINTS = 32 };
  if (te_has_externs(b->session.program) || b->program.data->is_by_stages) return true;
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

/* Compares the vendor's output with ours: the time of something else would say nothing. False after a message. */
static bool check_vendor(bench *b, const tools_vendor *v) {
  const worker_data *data = b->program.data;
  if (v->kernel.call(v->kernel.self) != 0) return tools_fail(&b->session, "%s failed", v->name), false;
  if (v->output < 0) return true;
  int output = v->output - data->n_inputs;
  tn_dtype dtype = b->program.args[v->output].dtype;
  for (int64_t i = 0, n = worker_elements(v->result); i < n; ++i) {
    double theirs = worker_element(v->result, dtype, i), ours = worker_element(data->reference[output], dtype, i);
    if (worker_error(dtype, theirs, ours, data->scale[output]) <= data->tolerance) continue;
    tools_fail(&b->session, "%s computes something else: %.9g instead of %.9g", v->name, theirs, ours);
    return false;
  }
  return true;
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

/* Times the default schedule, which may be hundreds of times slower: a few calls do. Where even these take
 * too long, the time that preparing has extrapolated is used. */
static bool time_default(bench *b) {
  const worker_data *data = b->program.data;
  if (!data->default_was_run && data->default_s > unbearable_s) {
    b->default_timing.median_s = data->default_s;
    return true;
  }
  tn_kernel *kernel = build(b, tn_schedule_new(b->session.program));
  tn_timing_options timing = {.max_total_s = slow_s, .min_samples = 2, .give_up_above_s = slow_s};
  bool timed =
      kernel && tn_time(b->session.ctx, kernel, data->args, data->n_args, &timing, &b->default_timing) == TN_OK;
  tn_kernel_free(kernel);
  return timed;
}

/* A vendor_side's call for a kernel of ours. */
static int32_t call_kernel(void *self) { return runtime_call_invoke(self); }

/* The prefix in --vs of a log's path: the schedule is that log's best record. */
#define OF_LOG "log:"

/* Whether the side is this program under another schedule; otherwise it is a vendor. */
static bool is_own_side(const char *name) {
  return strcmp(name, "default") == 0 || strcmp(name, "auto") == 0 ||
         (strncmp(name, OF_LOG, strlen(OF_LOG)) == 0 && name[strlen(OF_LOG)]);
}

/* The schedule that the side's name means. NULL after a message. */
static tn_schedule *schedule_of_side(bench *b, const char *name) {
  tools_args args = *b->args;
  bool is_of_log = strncmp(name, OF_LOG, strlen(OF_LOG)) == 0;
  args.log = is_of_log ? name + strlen(OF_LOG) : NULL;
  args.schedule = is_of_log ? NULL : strcmp(name, "auto") == 0 ? "auto" : "none";
  return tools_schedule(&b->session, &args);
}

/* Adds the program under another schedule. It is checked like ours: a wrong kernel's time is worth nothing.
 * False after a message. */
static bool add_own(bench *b, side *s) {
  const worker_data *data = b->program.data;
  ++b->n_sides; /* from here on it is torn down with the others */
  s->kernel = build_packed(b, schedule_of_side(b, s->name));
  if (!s->kernel ||
      runtime_call_prepare(b->session.ctx, "tenon bench", s->kernel, data->args, data->n_args, &s->call) != TN_OK)
    return false;
  s->timed = (vendor_side){.call = call_kernel, .self = &s->call};
  return check(b, s->kernel, s->name);
}

/* Adds a vendor. One that cannot compute the program is left out, with a message, and that is no failure. */
static bool add_vendor(bench *b, side *s) {
  if (!tools_vendor_open(&b->session, s->name, b->program.data->args, tn_target_threads(b->session.target),
                         &s->vendor)) {
    tools_vendor_close(&s->vendor);
    return true;
  }
  s->timed = (vendor_side){.call = s->vendor.kernel.call, .self = s->vendor.kernel.self};
  ++b->n_sides;
  return check_vendor(b, &s->vendor);
}

/* Adds the side that --vs names. NAME has LENGTH characters and no end; knows_sides has checked it. False
 * after a message. */
static bool add_side(bench *b, const char *name, int length) {
  side *s = &b->sides[b->n_sides];
  s->name = runtime_strndup(&b->session.ctx->arena, name, (size_t)length);
  if (!s->name) return tools_fail(&b->session, "out of memory"), false;
  return is_own_side(s->name) ? add_own(b, s) : add_vendor(b, s);
}

/* Copies MADE, whose vendor belongs to the bench from then on. If WAS_MADE is false, warns with WHY. */
static void add_limit(bench *b, const char *name, bool was_made, const side *made, const char *why) {
  side *s = &b->sides[b->n_sides];
  if (!was_made) {
    tools_warn(&b->session, "--limits: %s", why);
    return;
  }
  *s = *made;
  s->name = name;
  s->timed = (vendor_side){.call = s->vendor.kernel.call, .self = s->vendor.kernel.self};
  ++b->n_sides;
}

/* Bytes of the program's results, a part of tn_program_bytes. */
static double written_bytes(const tn_program *program) {
  double sum = 0;
  for (int i = program->n_inputs; i < program->n_args; ++i) sum += bytes_of(program->args[i]);
  return sum;
}

/* Adds the limits that --limits asks for; one that cannot be measured here is left out with a warning. */
static void add_limits(bench *b) {
  char why[VENDOR_TEXT];
  const tn_program *program = b->session.program;
  int threads = tn_target_threads(b->session.target);
  side s = {0};
  if (b->flops > 0) {
    bool made = tools_vendor_arithmetic(program, threads, &s.vendor.kernel, &s.wanted, &s.work, why);
    add_limit(b, "arithmetic", made, &s, why);
  }
  s = (side){.wanted = tn_program_bytes(program)};
  double written = written_bytes(program);
  bool made = vendor_limit_moving(s.wanted - written, written, threads, &s.vendor.kernel, &s.work, why);
  add_limit(b, "moving", made, &s, why);
}

/* Adds ours as side 0, then those of --vs and --limits. False also when all vendors were left out: a
 * comparison with nothing is no success. */
static bool add_sides(bench *b) {
  const worker_data *data = b->program.data;
  if (runtime_call_prepare(b->session.ctx, "tenon bench", b->kernel, data->args, data->n_args, &b->call) != TN_OK)
    return false;
  b->sides[OURS].timed = (vendor_side){.call = call_kernel, .self = &b->call};
  b->n_sides = 1;
  for (const char *at = b->args->versus ? b->args->versus : ""; *at; at += *at == ',') {
    int n = (int)strcspn(at, ",");
    if (!add_side(b, at, n)) return false;
    at += n;
  }
  bool has_others = b->n_sides > 1;
  if (b->args->shows_limits) add_limits(b);
  if (has_others || !b->args->versus || b->args->shows_limits) return true;
  return tools_fail(&b->session, "--vs %s: there is nothing to compare with", b->args->versus), false;
}

/* Sets the side's ratio to ours. A limit's `part` is the least time in which the machine could do the
 * program's work, in relation to the program's own. */
static bool set_ratio(const vendor_side *ours, side *s) {
  if (!vendor_ratio(ours, &s->timed, &s->ratio, &s->ratio_spread)) return false;
  if (s->work > 0) {
    s->part = s->ratio * s->wanted / s->work;
    s->part_least = s->timed.least / ours->least * s->wanted / s->work;
  }
  return true;
}

/* Times all sides in turns. They must have been added before: choosing a vendor's fastest kernels starts
 * processes of its own, which would disturb. */
static bool time_sides(bench *b) {
  vendor_side timed[SIDES];
  double seconds = b->args->seconds > 0 ? b->args->seconds : usual_s;
  for (int i = 0; i < b->n_sides; ++i) timed[i] = b->sides[i].timed;
  bool went = vendor_time_rounds(b->n_sides, timed, &(vendor_timing){.seconds = seconds, .is_paused = true});
  for (int i = 0; i < b->n_sides; ++i) b->sides[i].timed = timed[i];
  for (int i = 1; i < b->n_sides && went; ++i) went = set_ratio(&timed[OURS], &b->sides[i]);
  if (!went) tools_fail(&b->session, "the kernel failed, or memory ran out, while it was timed");
  return went;
}

/* Builds the program once more, with timers and counters for its stages, and calls that for about a second. */
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

/* How many times as fast as the default schedule. The two were not timed in turns, so it is a factor, not a
 * matter of per cents. */
static double speedup(const bench *b) { return b->default_timing.median_s / b->sides[OURS].timed.median; }

/* A row of the table. SPREAD is the distance of the quartiles in relation to the median: how far to trust
 * the digits. */
static void print_time(const bench *b, const char *name, double seconds, double spread, bool is_measured) {
  printf("%-10s  %10s  %10s", name, tools_time(seconds).text, tools_rate(b->session.program, seconds).text);
  if (is_measured)
    printf("  %8.1f %%\n", spread * 100);
  else
    printf("   estimated\n");
}

static void print_side_time(const bench *b, const char *name, const side *s) {
  print_time(b, name, s->timed.median, s->timed.spread, true);
}

/* Prints a side's line below the table: a limit in work per second, a rival kernel in time. */
static void print_ratio(const bench *b, const side *s) {
  if (s->work > 0) {
    printf("%.2f of the machine's limit in %s, %.1f %s (%.2f by the least times)\n", s->part, s->name,
           s->work / s->timed.median * 1e-9, strcmp(s->name, "moving") == 0 ? "GB/s" : "GFLOPS", s->part_least);
    return;
  }
  printf("%.3f times as fast as %s (%d rounds, spread %.1f %%)\n", s->ratio, s->name, b->sides[OURS].timed.n_rounds,
         s->ratio_spread * 100);
  if (s->vendor.kernel.note[0]) printf("  %s\n", s->vendor.kernel.note);
}

/* Prints the table and the lines below it. Limits have no row: they are rates, not times. */
static int print_plain(const bench *b) {
  bool is_scheduled = tools_is_scheduled(&b->session, b->args) || b->args->versus || b->args->shows_limits;
  printf("%-10s  %10s  %10s  %10s\n", "", "time", b->flops > 0 ? "GFLOPS" : "moved", "spread");
  print_time(b, "default", b->default_timing.median_s, b->default_timing.spread, b->default_timing.n_samples > 0);
  if (is_scheduled) print_side_time(b, b->args->log ? "tuned" : "scheduled", &b->sides[OURS]);
  for (int i = 1; i < b->n_sides; ++i)
    if (strcmp(b->sides[i].name, "default") != 0 && b->sides[i].work == 0)
      print_side_time(b, b->sides[i].name, &b->sides[i]);
  if (is_scheduled) printf("%.1f times as fast as the default schedule\n", speedup(b));
  for (int i = 1; i < b->n_sides; ++i) print_ratio(b, &b->sides[i]);
  printf("checked: largest relative error %.2g; %d threads%s\n", b->max_error, tn_target_threads(b->session.target),
         b->is_packed ? "; layout_free inputs were packed before" : "");
  if (b->program.data->odd_share > 0)
    printf("%.3g %% of the result is infinite or not a number: give the inputs' data (--fill)\n",
           100 * b->program.data->odd_share);
  char *stages = tn_kernel_stage_report(b->staged);
  if (stages) printf("\n%s", stages);
  free(stages);
  return TOOLS_OK;
}

/* An array with an object for each stage of the staged kernel; empty without memory. */
static json_t *stages_array(const bench *b) {
  json_t *array = json_array();
  int n = tn_kernel_stages(b->staged, 0, NULL);
  tn_kernel_stage *stages = calloc((size_t)n + 1, sizeof *stages);
  if (stages) tn_kernel_stages(b->staged, n, stages);
  for (int i = 0; stages && i < n; ++i) {
    const tn_kernel_stage *s = &stages[i];
    json_array_append_new(
        array,
        json_pack("{s:s, s:f, s:I, s:f, s:I, s:f, s:I, s:I, s:I, s:I}", "stage", s->name, "seconds", s->seconds,
                  "visits", (json_int_t)s->visits, "active", s->active, "points", (json_int_t)s->points, "recompute",
                  tn_kernel_stage_recompute(s), "loads", (json_int_t)s->loads, "stores", (json_int_t)s->stores,
                  "vector_loads", (json_int_t)s->vector_loads, "vector_stores", (json_int_t)s->vector_stores));
  }
  free(stages);
  return array;
}

/* Keeps the larger of VALUE and what OBJECT has under KEY. */
static void set_larger(json_t *object, const char *key, double value) {
  if (value > json_real_value(json_object_get(object, key))) json_object_set_new(object, key, json_real(value));
}

/* Adds a limit's object. "of_limit" becomes the part of the nearer limit, which is the larger part. */
static void add_limit_object(json_t *object, const side *s) {
  double per_s = s->work / s->timed.median * 1e-9;
  json_object_set_new(object, s->name,
                      json_pack("{s:f, s:f, s:f, s:f}", strcmp(s->name, "moving") == 0 ? "gbytes_per_s" : "gflops",
                                per_s, "part", s->part, "part_least", s->part_least, "spread", s->ratio_spread));
  set_larger(object, "of_limit", s->part);
  set_larger(object, "of_limit_least", s->part_least);
}

/* Adds a side's object. ratio_spread and rounds of the last side stand at the top as well, where older
 * readers look for them. */
static void add_side_object(const bench *b, json_t *object, const side *s) {
  if (s->work > 0) {
    add_limit_object(object, s);
    return;
  }
  const char *note = s->vendor.kernel.note[0] ? s->vendor.kernel.note : NULL;
  const char *operator= is_own_side(s->name) ? NULL : tools_vendor_operator(&s->vendor);
  char *ratio =
      runtime_format(&b->session.ctx->arena, "ratio_%s", s->name); /* NULL: the object lacks it, and printing says so */
  json_object_set_new(
      object, s->name,
      json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:s*, s:s*}", "gflops", tools_gflops(b->flops, s->timed.median),
                "seconds", s->timed.median, "seconds_least", s->timed.least, "spread", s->timed.spread, "ratio",
                s->ratio, "ratio_spread", s->ratio_spread, "operator", operator, "config", note));
  if (ratio) json_object_set_new(object, ratio, json_real(s->ratio));
  json_object_set_new(object, "ratio_spread", json_real(s->ratio_spread)); /* of the last */
  json_object_set_new(object, "rounds", json_integer(b->sides[OURS].timed.n_rounds));
}

/* Prints all as JSON, as measured and not rounded. The members are part of the command's interface. */
static int print_object(bench *b) {
  tools_session *s = &b->session;
  json_t *object = json_pack(
      "{s:s, s:s, s:s, s:i, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "program", tn_program_text(s->program),
      "key", tn_program_key(s->program), "target", tn_target_text(s->target), "threads", tn_target_threads(s->target),
      "checked", 1, "max_error", b->max_error, "gflops", tools_gflops(b->flops, b->sides[OURS].timed.median), "seconds",
      b->sides[OURS].timed.median, "spread", b->sides[OURS].timed.spread, "gflops_default",
      tools_gflops(b->flops, b->default_timing.median_s), "seconds_default", b->default_timing.median_s,
      "spread_default", b->default_timing.spread, "speedup_default", speedup(b));
  json_object_set_new(object, "is_default_estimated", json_boolean(b->default_timing.n_samples == 0));
  json_object_set_new(object, "seconds_least", json_real(b->sides[OURS].timed.least));
  json_object_set_new(object, "gbytes_per_s",
                      json_real(tools_gflops(tn_program_bytes(s->program), b->sides[OURS].timed.median)));
  if (b->staged) json_object_set_new(object, "stages", stages_array(b));
  for (int i = 1; i < b->n_sides; ++i) add_side_object(b, object, &b->sides[i]);
  json_object_set_new(object, "odd_share", json_real(b->program.data->odd_share));
  if (b->is_packed) json_object_set_new(object, "part", json_string("packed"));
  return tools_print_json(s, object);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Everything from the program to the last time. Outputs are checked before anything is timed: a wrong
 * kernel's time is no result. False after a message. */
static bool measure(bench *b) {
  tools_session *s = &b->session;
  if (!tools_open_program(s, b->args)) return false;
  tn_schedule *schedule = tools_schedule(s, b->args);
  b->kernel = build(b, schedule); /* what cannot be built is refused before data are made */
  if (!b->kernel || !prepare(b)) return false;
  if (schedule_has_parts(schedule)) {
    tn_kernel_free(b->kernel);
    b->kernel = build_packed(b, schedule);
  }
  return b->kernel && add_sides(b) && check(b, b->kernel, "the schedule") && check_points(b) && time_default(b) &&
         time_sides(b) && time_stages(b, schedule);
}

/* Releases all that measure() has made; what it did not come to is NULL or 0. */
static void clean_up(bench *b) {
  for (int i = 0; i < b->n_sides; ++i) {
    vendor_side_free(&b->sides[i].timed);
    tools_vendor_close(&b->sides[i].vendor);
    tn_kernel_free(b->sides[i].kernel);
  }
  tn_kernel_free(b->kernel);
  tn_kernel_free(b->staged);
  worker_data_free(b->program.data);
  runtime_arena_free(&b->program.scratch);
  free(b->program.args);
  tools_close(&b->session);
}

/* Whether all sides of --vs are known. False after a message. */
static bool knows_sides(const tools_args *args) {
  int n_sides = 1;
  for (const char *at = args->versus ? args->versus : ""; *at; at += *at == ',') {
    char name[32]; /* a path may be longer, and need not be looked at */
    size_t n = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)n, at);
    if (!is_own_side(name) && !vendor_is_known(name))
      return tools_usage(args->verb, "--vs knows %s, default, auto and log:FILE, not '%s'", vendor_names(), name),
             false;
    if (++n_sides > 1 + MOST_VERSUS) return tools_usage(args->verb, "--vs takes %d sides at most", MOST_VERSUS), false;
    at += n;
  }
  return true;
}

/* Refuses options that contradict each other before anything is compiled. */
static int run(const tools_args *args) {
  if (args->schedule && args->log) return tools_usage(args->verb, "--schedule and --log exclude each other");
  if (!knows_sides(args)) return TOOLS_USAGE;
  bench b = {.args = args};
  int status = TOOLS_FAILED;
  if (measure(&b)) status = args->is_json ? print_object(&b) : print_plain(&b);
  clean_up(&b);
  return status;
}
