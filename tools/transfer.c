/* transfer.c: a program without a record may take the plan of a similar one (autotune/neighbour.c), if a
 * measurement here shows that it is faster than the generic schedule. Both kernels get the same data and
 * are timed in turns. The plan's outputs are also compared with the tuner's reference. */
#include <math.h>

#include "autotune/internal.h"
#include "autotune/worker.h"
#include "schedule/plan.h"
#include "tools/build.h"

/* Neighbours that are tried, and turns of each comparison. */
enum { ASKED = 3, TURNS = 5 };
/* A smaller gain than this is within what times vary by. */
static const double least_gain = 1.05;

/* The comparison of one program's schedules. Owns the generic kernel and the data; close_trial frees them. */
typedef struct trial {
  tools_session *session;
  worker_program program;
  tn_kernel *generic;
  double generic_s;
} trial;

/* Makes the data with reference outputs, as a measuring worker does, and the generic kernel. False: one of
 * them cannot be made. */
static bool open_trial(trial *t, const tn_schedule *generic) {
  tools_session *s = t->session;
  worker_answer answer = {.lap_ns = runtime_now_ns()};
  int n = tn_program_arg_count(s->program);
  t->program = (worker_program){.ctx = s->ctx, .program = s->program, .target = s->target, .n_args = n};
  t->program.args = calloc((size_t)n + 1, sizeof *t->program.args);
  bool ready = t->program.args && codegen_kernel_args(s->program, &s->ctx->arena, t->program.args) >= 0 &&
               worker_prepare_data(&t->program, 0, NULL, 0, false, &answer);
  runtime_str_free(&answer.message);
  t->generic = ready ? tn_build(generic, &(tn_build_options){.target = s->target}) : NULL;
  return t->generic != NULL;
}

static void close_trial(trial *t) {
  tn_kernel_free(t->generic);
  worker_data_free(t->program.data);
  runtime_arena_free(&t->program.scratch);
  free(t->program.args);
}

/* Runs the kernel on outputs filled with NaNs and compares all elements. */
static bool is_right(trial *t, const tn_kernel *kernel) {
  worker_data *data = t->program.data;
  worker_answer answer = {0};
  static const worker_sample whole = {.whole = true};
  worker_poison_outputs(&t->program, &whole);
  bool right = tn_call(t->session->ctx, kernel, data->args, data->n_args) == TN_OK &&
               worker_check_outputs(&t->program, &whole, &answer);
  runtime_str_free(&answer.message);
  return right;
}

/* Median seconds of one turn; INFINITY after a failure. */
static double time_turn(trial *t, const tn_kernel *kernel) {
  static const tn_timing_options options = {.max_total_s = 0.02, .min_samples = 3};
  tn_timing timing;
  const worker_data *data = t->program.data;
  bool timed = tn_time(t->session->ctx, kernel, data->args, data->n_args, &options, &timing) == TN_OK;
  return timed ? timing.median_s : INFINITY;
}

/* How many times as fast as the generic schedule it is; 0: it cannot be built or is wrong. */
static double gain_of(trial *t, const tn_schedule *schedule) {
  double ours = INFINITY, generic = INFINITY;
  tn_kernel *kernel = tn_build(schedule, &(tn_build_options){.target = t->session->target});
  bool right = kernel && is_right(t, kernel);
  for (int i = 0; i < TURNS && right; ++i) {
    generic = fmin(generic, time_turn(t, t->generic));
    ours = fmin(ours, time_turn(t, kernel));
  }
  tn_kernel_free(kernel);
  return right && isfinite(generic) && isfinite(ours) ? generic / ours : 0;
}

/* The schedule that a neighbour's plan gives for this program; NULL: the plan does not fit. */
static tn_schedule *schedule_of(schedule_plans *plans, const char *plan) {
  /* A program with more groups takes no plan from a neighbour. */
  enum { MOST_GROUPS = 256 };
  schedule_plan by_group[MOST_GROUPS];
  if (schedule_plans_count(plans) > MOST_GROUPS) return NULL;
  schedule_plans_best(plans, by_group);
  return schedule_plans_fit(plans, plan, by_group) == TN_OK ? schedule_plans_realize(plans, by_group) : NULL;
}

/* Tries each neighbour. The fastest schedule becomes *BEST, its gain and source are in OUT. */
static void try_all(trial *t, schedule_plans *plans, int n, const autotune_neighbour *near, tn_schedule **best,
                    tools_transfer *out) {
  for (int i = 0; i < n; ++i) {
    tn_schedule *schedule = schedule_of(plans, near[i].plan);
    double gain = schedule ? gain_of(t, schedule) : 0;
    bool is_better = gain >= least_gain && gain > out->gain;
    if (is_better) {
      tn_schedule_free(*best);
      *best = schedule;
      out->gain = gain;
      snprintf(out->from, sizeof out->from, "%s%s", near[i].sizes[0] ? near[i].sizes : "a program like it",
               near[i].is_other_machine ? " on another machine" : "");
    } else {
      tn_schedule_free(schedule);
    }
    tn_context_clear(t->session->ctx);
  }
}

/* Whether anything can be timed here: not for another machine, and not where C functions or sizes come with
 * the call. */
static bool can_measure(const tools_session *s) {
  const tn_target *native = tn_target_new(s->ctx, NULL);
  bool can = native && autotune_same_target(tn_target_text(native), tn_target_text(s->target)) &&
             s->program->n_symbols == 0 && !te_has_externs(s->program);
  tn_context_clear(s->ctx);
  return can;
}

tn_schedule *tools_transferred(tools_session *session, const char *log, const tn_schedule *generic,
                               tools_transfer *out) {
  autotune_neighbour near[ASKED];
  tn_schedule *best = NULL;
  trial t = {.session = session};
  int n = 0;
  *out = (tools_transfer){0};
  if (!generic || !can_measure(session)) return NULL;
  session->is_muted = true;
  autotune_neighbours(session->program, session->target, log, ASKED, 0, near, &n);
  const tn_machine machine = tn_target_machine(session->target);
  schedule_plans *plans = n > 0 ? schedule_plans_new(session->program, &machine) : NULL;
  if (plans && open_trial(&t, generic)) try_all(&t, plans, n, near, &best, out);
  close_trial(&t);
  schedule_plans_free(plans);
  autotune_neighbours_free(n, near);
  tn_context_clear(session->ctx);
  session->is_muted = false;
  return best;
}
