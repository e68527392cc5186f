/* tasks.c: tn_tune_tasks tunes the tasks of a network under one budget. Each distinct program has a tuner.
 * The scheduler says whose turn it is (scheduler.c), and that tuner runs one round. The tuners share
 * workers, cost model and log. When the time for candidates is over, every task has its finals.
 *
 * One `network` on the stack of tn_tune_tasks owns the tuners, and the states until the result takes them
 * over. */
#include <math.h>

#include "autotune/scheduler.h"
#include "autotune/tuner.h"

/* TRIALS_PER_TASK: the budget where the options give no limit. SECOND_ROUND: the most candidates of a
 * task's second round. */
enum { TRIALS_PER_TASK = 64, GENERIC = 1, SECOND_ROUND = 8 };

/* Of a run with a time limit: the share that is kept for the finals of all tasks, and the most and least
 * seconds for one task. */
#define FINALS_SHARE 0.2
#define FINALS_MOST_S 4.0
#define FINALS_LEAST_S 0.1
#define LAST_S 0.05
/* Finals that came out this many times slower than the best trial were disturbed by other work. While time
 * is left they are repeated after the others, at most MOST_FINALS times in all. */
#define DISTURBED 1.25
enum { MOST_FINALS = 3 };

/* A run of tn_tune_tasks. Arrays are indexed by tuner (N of them), but states by task (N_TASKS). */
typedef struct network {
  tn_context *ctx;
  const tn_tasks_options *options;
  int n_tasks, n; /* tasks given; distinct tasks, each with a tuner */
  tn_task_state *states;
  int *first;    /* of each tuner: the first task it stands for */
  tuner *tuners; /* N of them */
  bool *is_open, *has_started;
  scheduler schedule;
  autotune_model *model;
  int leader;  /* the tuner whose workers all use; -1: none yet */
  int current; /* the tuner whose turn it is; -1: nobody's */
  bool is_stopped;
  int trials_wanted; /* for all tasks; INT32_MAX: no limit */
  double seconds;    /* for the whole run; 0: no limit */
  uint64_t start_ns;
  RUNTIME_VEC(tn_tasks_point) curve;
} network;

int tn_strategy_find(const char *word) {
  static const char *const words[] = {
#define X(name, word) word,
      TN_STRATEGIES(X)
#undef X
  };
  return word ? RUNTIME_FIND(words, word) : -1;
}

int tn_objective_find(const char *word) {
  static const char *const words[] = {
#define X(name, word) word,
      TN_OBJECTIVES(X)
#undef X
  };
  return word ? RUNTIME_FIND(words, word) : -1;
}

/* ---- what is given ----------------------------------------------------------------------------------------------- */

static tn_status check_task(tn_context *ctx, const tn_task *task, int i) {
  if (!task->program) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune_tasks: tasks[%d] has no program", i);
  if (task->program->ctx != ctx)
    return runtime_fail(
        ctx, TN_ERROR_ARGUMENT,
        "tn_tune_tasks: the program of tasks[%d] is of another context than that of tasks[0]: parse all "
        "programs in one",
        i);
  if (!(task->weight >= 0) || isinf(task->weight))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "tn_tune_tasks: the weight of tasks[%d] is %g: give a number above 0, or 0 for 1", i,
                        task->weight);
  if (!(task->target_s >= 0) || isinf(task->target_s))
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "tn_tune_tasks: the target of tasks[%d] is %g s: give a time above 0, or 0 for none", i,
                        task->target_s);
  if (task->count < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "tn_tune_tasks: the count of tasks[%d] is %d: give 1 or more, or 0 for 1", i, task->count);
  return TN_OK;
}

static tn_status check(tn_context *ctx, int n, const tn_task *tasks, const tn_tasks_options *o) {
  if (!o) return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune_tasks: options are needed: options.tune.log at least");
  for (int i = 0; i < n; ++i) {
    tn_status status = check_task(ctx, &tasks[i], i);
    if (status != TN_OK) return status;
  }
  if ((unsigned)o->tune.effort > TN_EFFORT_THOROUGH)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune_tasks: options.effort is %d: give one of enum tn_effort",
                        (int)o->tune.effort);
  if (tn_strategy_find("round-robin") < (int)o->strategy || (int)o->strategy < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune_tasks: options.strategy is %d: give one of enum tn_strategy",
                        (int)o->strategy);
  if (tn_objective_find("geomean") < (int)o->objective || (int)o->objective < 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT, "tn_tune_tasks: options.objective is %d: give one of enum tn_objective",
                        (int)o->objective);
  if (o->tune.n_inputs > 0)
    return runtime_fail(ctx, TN_ERROR_ARGUMENT,
                        "tn_tune_tasks: options.tune.inputs are arrays of one program: give tasks[].fill");
  return TN_OK;
}

/* Whether two tasks are the same. Keys are hashes, so the texts decide; and the inputs' data, which a time
 * may depend on. */
static bool are_same(const tn_task *a, const tn_task *b) {
  bool same_fill = strcmp(a->fill ? a->fill : "", b->fill ? b->fill : "") == 0;
  return same_fill && strcmp(tn_program_key(a->program), tn_program_key(b->program)) == 0 &&
         strcmp(tn_program_text(a->program), tn_program_text(b->program)) == 0;
}

static bool allocate(network *w, int n) {
  w->n_tasks = n;
  w->states = calloc((size_t)n, sizeof *w->states);
  w->first = calloc((size_t)n, sizeof *w->first);
  w->tuners = calloc((size_t)n, sizeof *w->tuners);
  w->is_open = calloc((size_t)n, sizeof *w->is_open);
  w->has_started = calloc((size_t)n, sizeof *w->has_started);
  w->schedule.tasks = calloc((size_t)n, sizeof *w->schedule.tasks);
  return w->states && w->first && w->tuners && w->is_open && w->has_started && w->schedule.tasks;
}

/* The index of the tuner of task I: that of an equal task before it, or a new one. */
static int tuner_of(network *w, const tn_task *tasks, int i) {
  for (int k = 0; k < w->n; ++k)
    if (are_same(&tasks[w->first[k]], &tasks[i])) return k;
  w->first[w->n] = i;
  return w->n++;
}

/* Keeps the smaller of the targets that are given. */
static void take_target(const tn_task *task, scheduler_task *out) {
  if (task->target_s > 0 && (out->target_s == 0 || task->target_s < out->target_s)) out->target_s = task->target_s;
}

/* Assigns the tasks to tuners. The weights of equal tasks add up. */
static void take_tasks(network *w, const tn_task *tasks) {
  for (int i = 0; i < w->n_tasks; ++i) {
    const tn_task *task = &tasks[i];
    int k = tuner_of(w, tasks, i);
    double weight = (task->weight > 0 ? task->weight : 1) * (task->count > 0 ? task->count : 1);
    w->states[i] = (tn_task_state){.name = task->name ? task->name : tn_program_key(task->program),
                                   .program = task->program,
                                   .same_as = w->first[k]};
    w->states[w->first[k]].weight += weight;
    w->schedule.tasks[k].weight += weight;
    take_target(task, &w->schedule.tasks[k]);
    w->states[w->first[k]].target_s = w->schedule.tasks[k].target_s;
  }
  for (int i = 0; i < w->n_tasks; ++i) {
    w->states[i].weight = w->states[w->states[i].same_as].weight;
    w->states[i].target_s = w->states[w->states[i].same_as].target_s;
  }
  w->schedule.n = w->n;
}

/* Fills in what the effort means for all tasks where the options do not say. */
static void fill_budget(network *w) {
  const tn_tune_options *o = &w->options->tune;
  /* Seconds per task; 0: no limit. */
  static const double seconds[] = {[TN_EFFORT_QUICK] = 10, [TN_EFFORT_NORMAL] = 60, [TN_EFFORT_THOROUGH] = 0};
  w->seconds = o->seconds > 0 ? o->seconds : seconds[o->effort] * w->n;
  bool has_limit = o->trials > 0 || w->seconds > 0 || o->effort == TN_EFFORT_THOROUGH;
  w->trials_wanted = o->trials > 0 ? o->trials : has_limit ? INT32_MAX : TRIALS_PER_TASK * w->n;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static double elapsed_s(const network *w) { return (double)(runtime_now_ns() - w->start_ns) * 1e-9; }

/* Records of all tasks in the log, earlier runs' included. */
static int count_held(const network *w) {
  int held = 0;
  for (int i = 0; i < w->n; ++i) held += w->tuners[i].held;
  return held;
}

/* Trials of this run. */
static int count_trials(const network *w) {
  int trials = 0;
  for (int i = 0; i < w->n; ++i) trials += w->tuners[i].result.trials;
  return trials;
}

/* Seconds until candidates end, by time or by trials, whichever comes first; -1: not known. */
static double left_s(const network *w, double elapsed) {
  double left = -1;
  int trials = count_trials(w);
  if (trials > 0 && w->trials_wanted < INT32_MAX) left = elapsed / trials * (w->trials_wanted - count_held(w));
  if (w->seconds > 0 && (left < 0 || left > w->seconds - elapsed)) left = fmax(w->seconds - elapsed, 0);
  return left;
}

/* Brings the public states up to date; equal tasks get the same result. */
static void copy_results(network *w) {
  for (int i = 0; i < w->n; ++i) w->states[w->first[i]].result = w->tuners[i].result;
  for (int i = 0; i < w->n_tasks; ++i) {
    const tn_task_state *same = &w->states[w->states[i].same_as];
    w->states[i].result = same->result;
    w->states[i].rounds = same->rounds;
    w->states[i].spent_s = same->spent_s;
  }
}

/* Called by the tuner whose turn it is, so that the user is asked whether to stop as often as in tn_tune. */
static bool on_progress(void *user, const tn_progress *progress) {
  network *w = user;
  if (!w->options->on_tasks || w->current < 0) return w->is_stopped;
  double elapsed = elapsed_s(w);
  copy_results(w);
  tn_tasks_progress all = {.n_tasks = w->n_tasks,
                           .tasks = w->states,
                           .task = w->first[w->current],
                           .trials = count_held(w),
                           .trials_wanted = w->trials_wanted < INT32_MAX ? w->trials_wanted : 0,
                           .total_s = scheduler_total(&w->schedule),
                           .elapsed_s = elapsed,
                           .left_s = left_s(w, elapsed),
                           .phase = progress->phase};
  w->is_stopped |= w->options->on_tasks(w->options->tune.user, &all);
  return w->is_stopped;
}

/* Passes a measurement on to the user's function. */
static void on_measured(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  const network *w = user;
  w->options->tune.on_measured(w->options->tune.user, candidate, m);
}

/* Asked by the pool of workers, which all tuners share. */
static bool should_stop(void *user) {
  network *w = user;
  return w->current >= 0 ? tuner_should_stop(&w->tuners[w->current]) : w->is_stopped;
}

/* Adds a point to the curve, once the objective is known. */
static void note_total(network *w, int i) {
  double total = scheduler_total(&w->schedule);
  if (total > 0) (void)RUNTIME_PUSH(&w->curve, ((tn_tasks_point){elapsed_s(w), count_trials(w), w->first[i], total}));
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

/* The limits of trials and time are the network's. A task's early stop is checked between rounds, so that
 * no candidate under way is given up for it. */
static tn_status open_tuner(network *w, const tn_task *tasks, int i) {
  const tn_task *task = &tasks[w->first[i]];
  tn_tune_options o = w->options->tune;
  o.trials = INT32_MAX;
  o.seconds = 0;
  o.effort = TN_EFFORT_NONE;
  o.early_stop = 0;
  o.fill = task->fill ? task->fill : o.fill;
  o.on_progress = on_progress;
  o.on_measured = o.on_measured ? on_measured : NULL;
  o.user = w;
  w->tuners[i] = (tuner){.takes_turns = true, .weight = w->schedule.tasks[i].weight};
  w->is_open[i] = true;
  tn_status status = tuner_open(&w->tuners[i], task->program, &o, w->model);
  if (status != TN_OK) return status;
  if (i == 0) w->model = w->tuners[0].model; /* the first one's, which is closed last */
  w->schedule.tasks[i].best_s = w->tuners[i].result.best_s;
  w->schedule.tasks[i].n_trials = w->tuners[i].held;
  w->schedule.tasks[i].work = tn_program_flops(task->program);
  if (scheduler_is_target_met(&w->schedule.tasks[i])) { /* by what the log holds */
    w->schedule.tasks[i].is_over = true;
    w->tuners[i].result.end = TN_TUNE_TARGET;
  }
  return TN_OK;
}

static tn_status open_all(network *w, const tn_task *tasks) {
  tn_status status = TN_OK;
  for (int i = 0; status == TN_OK && i < w->n; ++i) status = open_tuner(w, tasks, i);
  return status;
}

/* Workers end first: after an error they may still write to any tuner's rounds. The first tuner is closed
 * last, since it owns the model. */
static void close_all(network *w) {
  for (int i = 0; i < w->n; ++i) tuner_stop_workers(&w->tuners[i]);
  for (int i = w->n - 1; i >= 0; --i)
    if (w->is_open[i]) tuner_close(&w->tuners[i]);
}

static void release(network *w) {
  free(w->states);
  free(w->first);
  free(w->tuners);
  free(w->is_open);
  free(w->has_started);
  free(w->schedule.tasks);
  RUNTIME_VEC_FREE(&w->curve);
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* The seconds that the finals of all tasks may take of a limited time. */
static double finals_s(const network *w) {
  double need = 0;
  for (int i = 0; i < w->n; ++i)
    if (w->tuners[i].options.finalists > 0) need += fmin(tuner_finals_need_s(&w->tuners[i]), FINALS_MOST_S);
  return fmin(need, FINALS_SHARE * w->seconds);
}

/* Candidates end when the finals begin. */
static void set_deadline(const network *w, tuner *t) {
  if (w->seconds <= 0) return;
  double finals = finals_s(w);
  t->deadline_ns = w->start_ns + (uint64_t)(fmax(w->seconds - finals - LAST_S, 0) * 1e9);
  t->promised_ns = w->start_ns + (uint64_t)(fmax(w->seconds - LAST_S, 0) * 1e9);
  t->has_finals_left = finals > 0;
}

/* Sets the tuner's clock and limits for a turn. The time of other tasks' turns does not count as its own. */
static void begin_turn(network *w, int i) {
  tuner *t = &w->tuners[i];
  uint64_t now = runtime_now_ns(), own_ns = (uint64_t)(w->states[w->first[i]].spent_s * 1e9);
  t->start_ns = now - own_ns;
  w->current = i;
  autotune_model_set_meanwhile(t->model, t->task.meanwhile);
  set_deadline(w, t);
  if (w->trials_wanted < INT32_MAX) t->options.trials = t->held + RUNTIME_MAX(w->trials_wanted - count_held(w), 0);
}

/* The first task that gets a turn starts the workers; the others borrow them. */
static tn_status take_workers(network *w, int i) {
  if (w->leader >= 0) {
    tuner_borrow_workers(&w->tuners[i], &w->tuners[w->leader]);
    return TN_OK;
  }
  w->leader = i;
  return tuner_start_workers(&w->tuners[i], should_stop, w);
}

/* Prepares a task. If its candidates cannot be checked, only this task is given up. */
static tn_status start_task(network *w, int i) {
  tuner *t = &w->tuners[i];
  w->has_started[i] = true;
  tn_status status = tuner_log_start(t);
  if (status == TN_OK) status = take_workers(w, i);
  if (status != TN_OK) return status;
  status = tuner_prepare(t);
  if (status == TN_ERROR_TUNE) {
    w->schedule.tasks[i].is_over = true;
    tn_context_clear(t->ctx);
    return TN_OK;
  }
  return status == TN_OK ? tuner_begin_rounds(t) : status;
}

/* A task's first round has the schedules that need no search, so that the total is known soon and time can
 * go where most is left. It draws no candidates, whose builds would disturb those runs. The default
 * schedule is left out where its time is known already, from preparing the task or from the log. */
static int trials_of_round(const network *w, int i) {
  const tuner *t = &w->tuners[i];
  int given = w->options->tune.per_round, usual = given > 0 ? given : tuner_usual_round(t);
  bool knows_default = t->result.default_s > 0;
  int first = GENERIC + (t->program->n_blocks > 0) + !knows_default;
  int rounds = w->states[w->first[i]].rounds;
  return rounds == 0 ? RUNTIME_MIN(first, usual) : rounds == 1 ? RUNTIME_MIN(SECOND_ROUND, usual) : usual;
}

/* Before its second round, the first that draws candidates, a task asks for similar programs: what other
 * tasks of this run have measured by then counts, too. In its first round nothing is proposed ahead. */
static tn_status run_round(network *w, int i) {
  tuner *t = &w->tuners[i];
  bool is_first = !w->has_started[i], is_second = w->states[w->first[i]].rounds == 1;
  tn_status status = is_first ? start_task(w, i) : is_second ? tuner_ask_neighbours(t) : TN_OK;
  t->options.per_round = trials_of_round(w, i);
  t->has_one_round = is_first;
  if (status == TN_OK && t->pipeline) status = tuner_run_rounds(t, 1);
  return status == TN_OK ? tuner_check_memory(t) : status;
}

/* Whether this task is finished, whatever the run does. Sets its result's end. */
static bool is_task_over(const network *w, int i) {
  tuner *t = &w->tuners[i];
  if (scheduler_is_target_met(&w->schedule.tasks[i])) t->result.end = TN_TUNE_TARGET;
  int early_stop = w->options->tune.early_stop;
  if (early_stop == 0 && w->options->tune.effort == TN_EFFORT_THOROUGH) early_stop = 300;
  if (early_stop > 0 && t->since_best >= early_stop) t->result.end = TN_TUNE_NO_PROGRESS;
  static const tn_tune_end own[] = {TN_TUNE_NO_PROGRESS, TN_TUNE_EXHAUSTED, TN_TUNE_FAILED, TN_TUNE_TARGET};
  for (int k = 0; k < RUNTIME_COUNT(own); ++k)
    if (t->result.end == own[k]) return true;
  return false;
}

/* Gives task I one round. A task that is finished gives up what it has under way; otherwise the next tuner
 * would be handed its jobs. */
static tn_status take_turn(network *w, int i) {
  tuner *t = &w->tuners[i];
  tn_task_state *state = &w->states[w->first[i]];
  int held = t->held;
  uint64_t from_ns = runtime_now_ns();
  begin_turn(w, i);
  tn_status status = run_round(w, i);
  double took_s = (double)(runtime_now_ns() - from_ns) * 1e-9;
  state->spent_s += took_s;
  state->rounds++;
  int trials = t->held - held;
  scheduler_tell(&w->schedule, i, w->seconds > 0 ? took_s : trials, trials, t->result.best_s);
  w->schedule.tasks[i].is_over |= is_task_over(w, i);
  note_total(w, i);
  return w->schedule.tasks[i].is_over ? tuner_end_rounds(t, status) : status;
}

/* Why a run ended in which every task is finished. */
static tn_tune_end end_of_all(const network *w) {
  for (int i = 0; i < w->n; ++i)
    if (w->tuners[i].result.end == TN_TUNE_TARGET) return TN_TUNE_TARGET;
  return TN_TUNE_EXHAUSTED;
}

/* The first reason to end the run that holds, or TN_TUNE_RUNNING. */
static tn_tune_end end_of(const network *w) {
  bool is_late = w->seconds > 0 && elapsed_s(w) >= w->seconds - finals_s(w) - LAST_S;
  if (w->is_stopped) return TN_TUNE_STOPPED;
  if (count_held(w) >= w->trials_wanted) return TN_TUNE_TRIALS;
  if (is_late) return TN_TUNE_TIME;
  return scheduler_next(&w->schedule) < 0 ? end_of_all(w) : TN_TUNE_RUNNING;
}

static tn_status run_turns(network *w, tn_tune_end *end) {
  tn_status status = TN_OK;
  while (status == TN_OK && (*end = end_of(w)) == TN_TUNE_RUNNING) status = take_turn(w, scheduler_next(&w->schedule));
  return status;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Tasks that finished for a reason of their own keep it. */
static void name_ends(network *w, tn_tune_end end) {
  for (int i = 0; i < w->n; ++i)
    if (!is_task_over(w, i)) w->tuners[i].result.end = end;
}

/* Gives a task its share of the time that is left for the N_LEFT finals still to come. */
static void set_finals_deadline(const network *w, tuner *t, int n_left) {
  double own_s = fmin(tuner_finals_need_s(t), FINALS_MOST_S);
  if (w->seconds > 0) own_s = fmin(own_s, fmax((w->seconds - LAST_S - elapsed_s(w)) / n_left, 0));
  t->deadline_ns = runtime_now_ns() + (uint64_t)(fmax(own_s, FINALS_LEAST_S) * 1e9);
  t->promised_ns = t->deadline_ns;
  t->has_finals_left = false;
}

static tn_status run_finals_of(network *w, int i, int n_left) {
  tuner *t = &w->tuners[i];
  uint64_t from_ns = runtime_now_ns();
  begin_turn(w, i);
  set_finals_deadline(w, t, n_left);
  tn_status status = tuner_finals(t);
  w->states[w->first[i]].spent_s += (double)(runtime_now_ns() - from_ns) * 1e-9;
  w->schedule.tasks[i].best_s = t->result.best_s;
  return status;
}

/* Whether a task's finals are still to be run. Until then its result has the time of its best trial, which
 * TRIAL_S keeps. */
static bool wants_finals(const network *w, int i, const double *trial_s) {
  double best_s = w->tuners[i].result.best_s;
  return w->has_started[i] && best_s > 0 && (trial_s[i] == 0 || best_s > DISTURBED * trial_s[i]);
}

/* Runs the finals of all tasks that want them. */
static tn_status run_finals_once(network *w, double *trial_s) {
  tn_status status = TN_OK;
  int n_left = 0;
  for (int i = 0; i < w->n; ++i) n_left += wants_finals(w, i, trial_s);
  for (int i = 0; i < w->n && status == TN_OK && !w->is_stopped; ++i) {
    if (!wants_finals(w, i, trial_s)) continue;
    if (trial_s[i] == 0) trial_s[i] = w->tuners[i].result.best_s;
    status = run_finals_of(w, i, n_left--);
  }
  return status;
}

static bool has_time(const network *w) {
  return w->seconds <= 0 || elapsed_s(w) < w->seconds - LAST_S - FINALS_LEAST_S;
}

/* Ends the rounds first, since what is under way belongs to the current task; then runs finals, repeating
 * disturbed ones. */
static tn_status run_finals(network *w) {
  tn_status status = TN_OK;
  for (int i = 0; i < w->n && status == TN_OK; ++i) status = tuner_end_rounds(&w->tuners[i], TN_OK);
  if (status == TN_OK && w->n > 0) tuner_save_model(&w->tuners[0]);
  double *trial_s = calloc((size_t)RUNTIME_MAX(w->n, 1), sizeof *trial_s);
  if (!trial_s) return runtime_fail(w->ctx, TN_ERROR_MEMORY, "out of memory for the finals");
  for (int k = 0; k < MOST_FINALS && status == TN_OK && !w->is_stopped && (k == 0 || has_time(w)); ++k)
    status = run_finals_once(w, trial_s);
  free(trial_s);
  return status;
}

/* Also after an error, as far as the log can still be written. */
static tn_status log_ends(network *w, tn_status status) {
  tn_status logged = TN_OK;
  for (int i = 0; i < w->n; ++i) {
    w->tuners[i].start_ns = runtime_now_ns() - (uint64_t)(w->states[w->first[i]].spent_s * 1e9);
    if (w->has_started[i] && logged == TN_OK) logged = tuner_log_end(&w->tuners[i], status);
  }
  return status == TN_OK ? logged : status;
}

/* The objective of the unscheduled programs; 0 while one of them has no time, or without memory. */
static double total_of_defaults(const network *w) {
  scheduler defaults = w->schedule;
  double total = 0;
  defaults.tasks = calloc((size_t)RUNTIME_MAX(w->n, 1), sizeof *defaults.tasks);
  for (int i = 0; defaults.tasks && i < w->n; ++i)
    defaults.tasks[i] =
        (scheduler_task){.weight = w->schedule.tasks[i].weight, .best_s = w->tuners[i].result.default_s};
  if (defaults.tasks) total = scheduler_total(&defaults);
  free(defaults.tasks);
  return total;
}

/* Moves the states and the curve into the result. */
static void give_result(network *w, tn_tune_end end, tn_tasks_result *out) {
  for (int i = 0; i < w->n; ++i) w->schedule.tasks[i].is_over = true;
  copy_results(w);
  *out = (tn_tasks_result){.n_tasks = w->n_tasks,
                           .tasks = w->states,
                           .n_distinct = w->n,
                           .total_s = scheduler_total(&w->schedule),
                           .default_s = total_of_defaults(w),
                           .n_points = w->curve.n,
                           .curve = w->curve.data,
                           .end = end};
  if (w->leader >= 0) {
    out->n_hosts = w->tuners[w->leader].result.n_hosts;
    out->hosts = w->tuners[w->leader].result.hosts;
  }
  for (int i = 0; i < w->n; ++i) out->n_failed += w->tuners[i].result.best_s == 0;
  w->states = NULL;
  w->curve.data = NULL;
}

/* TN_OK if any task has a valid schedule; otherwise the error of the first task that tells why not. */
static tn_status judge(const network *w) {
  for (int i = 0; i < w->n; ++i)
    if (w->tuners[i].result.best_s > 0) return TN_OK;
  for (int i = 0; i < w->n; ++i) {
    tn_status status = tuner_judge(&w->tuners[i]);
    if (status != TN_OK) return status;
  }
  return TN_OK;
}

static tn_status tune(network *w, const tn_task *tasks, tn_tune_end *end) {
  tn_status status = open_all(w, tasks);
  if (status == TN_OK) fill_budget(w);
  if (status == TN_OK) status = run_turns(w, end);
  if (status == TN_OK) name_ends(w, *end);
  if (status == TN_OK) status = run_finals(w);
  if (status == TN_OK) status = judge(w);
  if (w->leader >= 0) tuner_take_hosts(&w->tuners[w->leader], status);
  if (w->leader >= 0 && w->tuners[w->leader].result.end == TN_TUNE_NO_WORKERS) *end = TN_TUNE_NO_WORKERS;
  return log_ends(w, status);
}

tn_status tn_tune_tasks(int n, const tn_task *tasks, const tn_tasks_options *options, tn_tasks_result *out) {
  if (out) *out = (tn_tasks_result){0};
  if (!tasks || n < 1 || !tasks[0].program) return TN_ERROR_ARGUMENT;
  network w = {
      .ctx = tasks[0].program->ctx, .options = options, .leader = -1, .current = -1, .start_ns = runtime_now_ns()};
  tn_status status = check(w.ctx, n, tasks, options);
  if (status != TN_OK) return status;
  w.schedule.strategy = options->strategy;
  w.schedule.objective = options->objective;
  tn_tune_end end = TN_TUNE_RUNNING;
  if (allocate(&w, n)) {
    take_tasks(&w, tasks);
    status = tune(&w, tasks, &end);
    tn_tasks_result result;
    give_result(&w, end, &result);
    if (out)
      *out = result;
    else
      tn_tasks_result_free(&result);
  } else {
    status = runtime_fail(w.ctx, TN_ERROR_MEMORY, "out of memory for %d tasks", n);
  }
  close_all(&w);
  release(&w);
  return status;
}

void tn_tasks_result_free(tn_tasks_result *result) {
  if (!result) return;
  free(result->tasks);
  free(result->curve);
  *result = (tn_tasks_result){0};
}
