/* tune_tasks.c: `tenon tune` of several programs or of a network: reads the tasks, tunes them and prints
 * the results. */
#include <math.h>
#include <unistd.h>

#include "tools/cut.h"
#include "tools/tuning.h"

/* Points of the curve that are printed, and the width of a task's name. */
enum { SHOWN_POINTS = 8, NAME_COLUMNS = 28 };

/* One run, and what its callbacks get. Programs and names belong to the context. */
typedef struct tasks_run {
  tools_session *session;
  const tools_args *args;
  const tools_hosts *hosts;
  RUNTIME_VEC(tn_task) tasks;
  tools_progress show;
  const tn_profiler *profiler;
  tn_tasks_result result;
  double elapsed_s;
} tasks_run;

/* By its name alone: a network's file ends in .tenon. */
static bool is_network(const char *operand) {
  size_t n = strlen(operand);
  return n > 6 && strcmp(operand + n - 6, ".tenon") == 0;
}

bool tools_are_tasks(const tools_args *args) { return args->n_operands > 1 || is_network(args->operands[0]); }

int tools_check_tasks(const tools_args *args) {
  if (!tools_are_tasks(args) && !args->is_cut) {
    if (!args->strategy && !args->objective) return TOOLS_OK;
    return tools_usage(args->verb, "--%s is about several programs", args->strategy ? "schedule" : "objective");
  }
  if (args->report)
    return tools_usage(args->verb, "--report is about one program: tenon log report LOG PROGRAM, afterwards");
  if (args->strategy && tn_strategy_find(args->strategy) < 0)
    return tools_usage(args->verb, "--schedule is gradient or round-robin, not '%s'", args->strategy);
  if (args->objective && tn_objective_find(args->objective) < 0 && access(args->objective, F_OK) != 0)
    return tools_usage(args->verb, "--objective is latency or geomean, or a file of targets, not '%s'",
                       args->objective);
  return TOOLS_OK;
}

/* ---- what is given ----------------------------------------------------------------------------------------------- */

/* Adds a task, or its groups when it is cut. False after a message. */
static bool add_task(tasks_run *run, const tn_task *task) {
  tn_network parts = {0};
  run->session->program = task->program;
  if (!tools_is_cut(run->session, run->args)) return RUNTIME_PUSH(&run->tasks, *task);
  bool added = tools_cut_task(run->session, task, &parts);
  for (int i = 0; added && i < parts.n; ++i) added = RUNTIME_PUSH(&run->tasks, parts.tasks[i]);
  tn_network_free(&parts);
  return added;
}

/* Adds the tasks of a network's file. False after a message. */
static bool add_network(tasks_run *run, const char *file) {
  tn_network network;
  bool added = tn_network_read(run->session->ctx, file, &network) == TN_OK;
  for (int i = 0; added && i < network.n; ++i) added = add_task(run, &network.tasks[i]);
  tn_network_free(&network);
  return added;
}

/* Adds the program of an operand. A file gives the task its name; a text gives none. */
static bool add_program(tasks_run *run, const char *operand) {
  if (!tools_load(run->session, run->args, operand)) return false;
  tn_task task = {.program = run->session->program, .name = strchr(operand, '=') ? NULL : operand};
  return add_task(run, &task);
}

/* Adds all operands, and the targets of --objective FILE. False after a message. */
static bool add_all(tasks_run *run) {
  bool added = true;
  for (int i = 0; added && i < run->args->n_operands; ++i) {
    const char *operand = run->args->operands[i];
    added = is_network(operand) ? add_network(run, operand) : add_program(run, operand);
  }
  run->session->program = NULL;
  const char *objective = run->args->objective;
  if (!added || !objective || tn_objective_find(objective) >= 0) return added;
  return tools_read_targets(run->session, objective, run->tasks.n, run->tasks.data);
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

/* Whether the task met its target, by the time that the finals gave. */
static bool is_met(const tn_task_state *task) {
  return task->result.best_s > 0 && task->result.best_s <= task->target_s;
}

static void print_head(void) {
  printf("%-*s  %6s  %6s  %6s  %10s  %10s  %8s  %s\n", NAME_COLUMNS, "task", "weight", "rounds", "trials", "best",
         "GFLOPS", "default", "of all");
}

/* Whether the objective is the geometric mean, under which a share of the total means nothing. */
static bool is_mean(const tools_args *args) { return tn_objective_find(args->objective) == (int)TN_OBJECTIVE_GEOMEAN; }

/* Prints a task's row: behind its best time, the speed-up over the default schedule and the share of the total. */
static void print_task(const tasks_run *run, int i) {
  const tn_task_state *task = &run->result.tasks[i];
  const tn_tune_result *r = &task->result;
  const char *equal = task->same_as == i ? "" : "  as above";
  printf("%-*.*s  %6g  %6d  %6d  ", NAME_COLUMNS, NAME_COLUMNS, task->name, task->weight, task->rounds, r->trials);
  if (r->best_s == 0) {
    printf("%10s%s\n", "none", equal);
    return;
  }
  double ratio = r->default_s > 0 ? r->default_s / r->best_s : 0;
  printf("%10s  %10.2f  %7.1fx", tools_time(r->best_s).text, tools_gflops(tn_program_flops(task->program), r->best_s),
         ratio);
  if (run->result.total_s > 0 && !is_mean(run->args) && task->same_as == i)
    printf("  %.1f %%", 100 * task->weight * r->best_s / run->result.total_s);
  printf("%s\n", equal);
}

/* Prints the total at some moments, evenly spread over the run, the first and the last included. */
static void print_curve(const tn_tasks_result *r) {
  int n = RUNTIME_MIN(r->n_points, SHOWN_POINTS);
  for (int i = 0; i < n; ++i) {
    const tn_tasks_point *p = &r->curve[n > 1 ? (int64_t)i * (r->n_points - 1) / (n - 1) : 0];
    printf("%s %s at %.0f s", i == 0 ? "curve   " : ",", tools_time(p->total_s).text, p->elapsed_s);
  }
  if (n > 0) printf("\n");
}

/* Trials of all tasks, or those that were taken from the log. Equal tasks count once. */
static int count_trials(const tn_tasks_result *r, bool reused) {
  int n = 0;
  for (int i = 0; i < r->n_tasks; ++i)
    if (r->tasks[i].same_as == i) n += reused ? r->tasks[i].result.reused : r->tasks[i].result.trials;
  return n;
}

/* Prints what the whole network takes, and what finding that took. */
static void print_total(const tasks_run *run) {
  const tn_tasks_result *r = &run->result;
  printf("total    %s", tools_time(r->total_s).text);
  if (r->default_s > 0) printf(", %.1f times as fast as the default schedules", r->default_s / r->total_s);
  if (r->n_failed > 0) printf("; %d of %d tasks have no valid time and do not count", r->n_failed, r->n_distinct);
  printf("\n");
  print_curve(r);
  int trials = count_trials(r, false);
  printf("trials   %d measured, %d taken from %s\ntime     %.1f s, %.1f trials a second\n", trials,
         count_trials(r, true), run->args->log, run->elapsed_s, trials / fmax(run->elapsed_s, 1e-9));
}

/* Prints each task's failures by class, behind the task's name. */
static void print_failures(const tn_tasks_result *r, FILE *out) {
  for (int i = 0; i < r->n_tasks; ++i) {
    runtime_str prefix = {0};
    runtime_str_addf(&prefix, "%s: ", r->tasks[i].name);
    if (r->tasks[i].same_as == i && !prefix.failed) tools_print_failures(&r->tasks[i].result, prefix.data, out);
    runtime_str_free(&prefix);
  }
}

/* Prints the command that goes on with a stopped run. */
static void print_going_on(const tools_args *args) {
  printf("go on with: tenon tune");
  for (int i = 0; i < args->n_operands; ++i) tools_print_quoted(args->operands[i]);
  tools_print_options(args);
  if (args->is_cut) printf(" --cut");
  if (args->strategy) printf(" --schedule %s", args->strategy);
  if (args->objective) printf(" --objective %s", args->objective);
  printf("\n");
}

/* Prints how many of the tasks with a target have met it. */
static void print_targets(const tn_tasks_result *r) {
  int n = 0, met = 0;
  for (int i = 0; i < r->n_tasks; ++i) {
    const tn_task_state *task = &r->tasks[i];
    if (task->same_as != i || task->target_s == 0) continue;
    ++n;
    met += is_met(task);
    if (!is_met(task)) printf("missed   %s: its target is %s\n", task->name, tools_time(task->target_s).text);
  }
  if (n > 0) printf("targets  %d of %d are met\n", met, n);
}

static int print_plain(const tasks_run *run) {
  bool was_stopped = run->result.end == TN_TUNE_STOPPED || run->result.end == TN_TUNE_NO_WORKERS;
  print_head();
  for (int i = 0; i < run->result.n_tasks; ++i) print_task(run, i);
  print_total(run);
  print_targets(&run->result);
  print_failures(&run->result, stdout);
  tools_print_hosts(run->result.n_hosts, run->result.hosts, NULL, stdout);
  char *table = run->args->verbosity == 1 || was_stopped ? NULL : tn_profiler_table(run->profiler);
  if (table) printf("\n%s\n", table);
  free(table);
  if (was_stopped) print_going_on(run->args);
  return TOOLS_OK;
}

/* A task as JSON. "same_as" is the number of an equal task, which was tuned in its place. */
static json_t *task_object(const tn_task_state *task, int i) {
  const tn_tune_result *r = &task->result;
  json_t *object =
      json_pack("{s:s, s:s, s:f, s:i, s:f, s:i, s:i, s:i, s:o, s:o, s:f, s:s}", "name", task->name, "key",
                tn_program_key(task->program), "weight", task->weight, "rounds", task->rounds, "spent", task->spent_s,
                "trials", r->trials, "failed", r->failed, "reused", r->reused, "seconds", tools_time_or_null(r->best_s),
                "seconds_default", tools_time_or_null(r->default_s), "gflops",
                tools_gflops(tn_program_flops(task->program), r->best_s), "end", tn_tune_end_word(r->end));
  if (object && task->target_s > 0) {
    json_object_set_new(object, "target", json_real(task->target_s));
    json_object_set_new(object, "target_met", json_boolean(is_met(task)));
  }
  if (object && task->same_as != i) json_object_set_new(object, "same_as", json_integer(task->same_as));
  return object;
}

static int print_object(const tasks_run *run) {
  const tn_tasks_result *r = &run->result;
  json_t *tasks = json_array(), *curve = json_array();
  for (int i = 0; i < r->n_tasks; ++i) json_array_append_new(tasks, task_object(&r->tasks[i], i));
  for (int i = 0; i < r->n_points; ++i)
    json_array_append_new(curve, json_pack("{s:f, s:i, s:i, s:f}", "elapsed", r->curve[i].elapsed_s, "trials",
                                           r->curve[i].trials, "task", r->curve[i].task, "total", r->curve[i].total_s));
  json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:i, s:i, s:o, s:o, s:f, s:s, s:o}", "log", run->args->log, "target",
                             tn_target_text(run->session->target), "tasks", tasks, "curve", curve, "distinct",
                             r->n_distinct, "failed", r->n_failed, "total", tools_time_or_null(r->total_s),
                             "total_default", tools_time_or_null(r->default_s), "elapsed", run->elapsed_s, "end",
                             tn_tune_end_word(r->end), "profile", tools_profile_object(run->profiler));
  if (object && r->n_hosts > 0) json_object_set_new(object, "workers", tools_hosts_array(r->n_hosts, r->hosts));
  return tools_print_json(run->session, object);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* tn_tune_tasks' on_tasks. True: a signal asks to end. */
static bool on_tasks(void *user, const tn_tasks_progress *progress) {
  tasks_run *run = user;
  if (run->args->verbosity != 1) tools_progress_show_tasks(&run->show, progress);
  return tools_stopped_by() != 0;
}

static void on_measured(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  tasks_run *run = user;
  tools_print_measured(&run->show, run->args, 0, candidate, m);
}

/* Runs the tuner with signals, progress and the profiler attached. */
static tn_status tune(tasks_run *run, tn_profiler *profiler) {
  char *fill = tools_fill_text(run->args);
  int strategy = tn_strategy_find(run->args->strategy), objective = tn_objective_find(run->args->objective);
  tn_tasks_options options = {.tune = tools_tune_options(run->session, run->args, fill, run->hosts),
                              .strategy = (tn_strategy)RUNTIME_MAX(strategy, 0),
                              .objective = (tn_objective)RUNTIME_MAX(objective, 0),
                              .on_tasks = on_tasks};
  options.tune.on_measured = on_measured;
  options.tune.user = run;
  uint64_t start_ns = runtime_now_ns();
  run->show = tools_progress_begin(run->session, run->args->is_json);
  tools_watch_signals(true);
  tn_profiler_enter(profiler);
  tn_status status = tn_tune_tasks(run->tasks.n, run->tasks.data, &options, &run->result);
  tn_profiler_exit(profiler);
  tools_watch_signals(false);
  tools_progress_end(&run->show);
  run->elapsed_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
  free(fill);
  return status;
}

/* As tune_and_print of one program (tune.c). */
static int tune_and_print(tasks_run *run, tn_profiler *profiler) {
  run->profiler = profiler;
  tn_status done = tune(run, profiler);
  bool was_signalled = run->result.end == TN_TUNE_STOPPED && tools_stopped_by();
  if (done == TN_ERROR_TUNE && !run->args->is_json) print_failures(&run->result, stderr);
  bool lacks_workers = run->result.end == TN_TUNE_NO_WORKERS;
  if (done != TN_OK && !was_signalled && !lacks_workers) return TOOLS_FAILED;
  int status = run->args->is_json ? print_object(run) : print_plain(run);
  if (was_signalled) return TOOLS_SIGNALLED + tools_stopped_by();
  if (lacks_workers) return TOOLS_FAILED;
  if (run->result.total_s > 0) return status;
  return tools_fail(run->session, "nothing valid was measured in the time that was given");
}

int tools_tune_tasks(tools_session *session, const tools_args *args, const tools_hosts *hosts, tn_profiler *profiler) {
  tasks_run run = {.session = session, .args = args, .hosts = hosts};
  int status = add_all(&run) ? tune_and_print(&run, profiler) : TOOLS_FAILED;
  tn_tasks_result_free(&run.result);
  RUNTIME_VEC_FREE(&run.tasks);
  return status;
}
