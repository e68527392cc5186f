/* turns.c: a network's recorded trials, replayed in the order in which the gradient scheduler (Ansor's task
 * scheduler) and round-robin would have had them. Both have the same times, so that only the order differs. LOG
 * was written by `tenon tune NETWORK --json`, and RESULT is what that printed. Prints a Markdown table: the
 * network's total time, on the average from the first total until twice that moment, four times ..., the total
 * then, and how much of the time either order is ahead. A trial takes as long as was recorded, with its share
 * of the search. What the cost model of one task learned from another stays as it was recorded. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autotune/scheduler.h"
#include "benchmarks/plans/plans.h"
#include "runtime/base.h"

/* Trials of a task's rounds as tn_tune_tasks has them: the first, the second, ..., all later ones. The third is
 * short, since it was proposed together with the second. */
static const int rounds[] = {2, 8, 8, 24};
enum { LAST_ROUND = RUNTIME_COUNT(rounds) - 1 };
/* The first limit is so many times as late as the moment of the first total. */
enum { FIRST_LIMIT = 2 };

/* A task's trials in the order of the log. A failed trial's time is infinite. */
typedef struct recorded {
  const char *key;                          /* the task's key; RESULT's JSON owns the text */
  double weight, work, spent_s, measured_s; /* SPENT: with the search; MEASURED: builds and runs */
  RUNTIME_VEC(double) times;
  RUNTIME_VEC(double) taken; /* by builds and runs */
} recorded;

/* How far a task has come in one replay. */
typedef struct state {
  int told;
  double best_s; /* 0: none */
} state;

/* The tasks that were tuned themselves; those with the same program as another are left out. */
typedef struct network {
  int n;
  recorded *tasks;
} network;

/* A total, and when it was reached. */
typedef struct point {
  double at_s, total_s;
} point;

/* A network's total as time goes on, one point a round. */
typedef struct curve {
  RUNTIME_VEC(point) points;
} curve;

/* ---- what was recorded ------------------------------------------------------------------------------------------- */

/* Takes the tasks from RESULT. `work` is the operations of a call, from its rate and time. */
static void take_tasks(const json_t *result, network *w) {
  const json_t *task, *tasks = json_object_get(result, "tasks");
  size_t i;
  w->tasks = calloc(json_array_size(tasks), sizeof *w->tasks);
  json_array_foreach(tasks, i, task) {
    if (json_object_get(task, "same_as")) continue;
    double seconds = json_number_value(json_object_get(task, "seconds"));
    w->tasks[w->n++] = (recorded){.key = json_string_value(json_object_get(task, "key")),
                                  .weight = json_number_value(json_object_get(task, "weight")),
                                  .work = 1e9 * json_number_value(json_object_get(task, "gflops")) * seconds,
                                  .spent_s = json_number_value(json_object_get(task, "spent"))};
  }
}

/* Adds one line of the log to its task. Finals, which time old candidates again, are left out. */
static void take_trial(network *w, const json_t *record) {
  const char *key = json_string_value(json_object_get(record, "key"));
  const json_t *costs = json_object_get(record, "costs");
  if (!key || !costs || json_is_true(json_object_get(record, "final"))) return;
  size_t n = json_array_size(costs);
  double time = n > 0 ? json_number_value(json_array_get(costs, n / 2)) : INFINITY;
  double taken =
      json_number_value(json_object_get(record, "build_s")) + json_number_value(json_object_get(record, "run_s"));
  for (int i = 0; i < w->n; ++i) {
    recorded *r = &w->tasks[i];
    if (strcmp(r->key, key) != 0) continue;
    if (!RUNTIME_PUSH(&r->times, time) || !RUNTIME_PUSH(&r->taken, taken)) return;
    r->measured_s += taken;
  }
}

/* False: the log cannot be opened. Lines that are no records are passed over. */
static bool take_log(const char *path, network *w) {
  char *line = NULL;
  size_t room = 0;
  FILE *log = fopen(path, "r");
  while (log && getline(&line, &room, log) > 0) {
    json_t *record = json_loads(line, 0, NULL);
    take_trial(w, record);
    json_decref(record);
  }
  if (log) fclose(log);
  free(line);
  return log != NULL;
}

/* ---- telling it again -------------------------------------------------------------------------------------------- */

/* Replays the next round of task I and returns how many seconds it takes. */
static double tell_round(const network *w, scheduler *s, state *states, int i) {
  const recorded *r = &w->tasks[i];
  state *at = &states[i];
  int n = RUNTIME_MIN(rounds[RUNTIME_MIN(s->tasks[i].n_rounds, LAST_ROUND)], r->times.n - at->told);
  double taken = 0;
  for (int k = 0; k < n; ++k, ++at->told) {
    double time = r->times.data[at->told];
    taken += r->taken.data[at->told];
    if (isfinite(time) && (at->best_s == 0 || time < at->best_s)) at->best_s = time;
  }
  taken *= r->measured_s > 0 ? r->spent_s / r->measured_s : 1;
  scheduler_tell(s, i, taken, n, at->best_s);
  s->tasks[i].is_over |= at->told == r->times.n;
  return taken;
}

/* Replays all rounds under a strategy. The curve begins when each task has a time. */
static curve tell(const network *w, tn_strategy strategy) {
  scheduler s = {.strategy = strategy, .n = w->n, .tasks = calloc((size_t)w->n, sizeof *s.tasks)};
  state *states = calloc((size_t)w->n, sizeof *states);
  curve c = {0};
  double now = 0;
  for (int i = 0; i < w->n; ++i) {
    s.tasks[i].weight = w->tasks[i].weight;
    s.tasks[i].work = w->tasks[i].work;
  }
  for (int i; (i = scheduler_next(&s)) >= 0;) {
    now += tell_round(w, &s, states, i);
    double total_s = scheduler_total(&s);
    if (total_s > 0 && !RUNTIME_PUSH(&c.points, ((point){now, total_s}))) break;
  }
  free(states);
  free(s.tasks);
  return c;
}

/* The total that was reached at a moment; 0 before the first. */
static double total_at(const curve *c, double at_s) {
  double total_s = 0;
  for (int i = 0; i < c->points.n && c->points.data[i].at_s <= at_s; ++i) total_s = c->points.data[i].total_s;
  return total_s;
}

/* ---- both orders ------------------------------------------------------------------------------------------------------ */

/* Both curves are compared at so many moments at equal distances. */
enum { LOOKS = 1000 };

/* Their mean totals, and at how many moments the gradient's is lower, and higher. */
typedef struct compared {
  double gradient_s, robin_s;
  int n_lower, n_higher;
} compared;

/* Compares the two curves at LOOKS evenly spaced moments from FROM_S to LIMIT_S. */
static compared compare(const curve *gradient, const curve *robin, double from_s, double limit_s) {
  compared c = {0};
  for (int k = 0; k < LOOKS; ++k) {
    double at_s = from_s + (limit_s - from_s) * (k + 0.5) / LOOKS;
    double g = total_at(gradient, at_s), r = total_at(robin, at_s);
    c.gradient_s += g / LOOKS;
    c.robin_s += r / LOOKS;
    c.n_lower += g < r;
    c.n_higher += g > r;
  }
  return c;
}

/* Seconds that the whole recorded run spent. */
static double whole_s(const network *w) {
  double sum = 0;
  for (int i = 0; i < w->n; ++i) sum += w->tasks[i].spent_s;
  return sum;
}

/* Prints a row for each limit. The first rounds are the same in both orders, so the curves begin where these
 * are over. */
static void print_rows(const network *w) {
  double whole = whole_s(w);
  curve g = tell(w, TN_STRATEGY_GRADIENT), r = tell(w, TN_STRATEGY_ROUND_ROBIN);
  double from_s = g.points.n > 0 && r.points.n > 0 ? fmax(g.points.data[0].at_s, r.points.data[0].at_s) : whole;
  printf(
      "| from %.1f s until | gradient: mean, end | round-robin: mean, end | gradient's mean is lower by | lower, "
      "higher in "
      "so much of the time |\n| --: | --: | --: | --: | --: |\n",
      from_s);
  for (double limit_s = FIRST_LIMIT * from_s; limit_s < whole; limit_s *= 2) {
    compared c = compare(&g, &r, from_s, limit_s);
    printf("| %.1f s | %.3f, %.3f ms | %.3f, %.3f ms | %.3f %% | %.0f, %.0f %% |\n", limit_s, c.gradient_s * 1e3,
           total_at(&g, limit_s) * 1e3, c.robin_s * 1e3, total_at(&r, limit_s) * 1e3,
           100 * (1 - c.gradient_s / c.robin_s), 100.0 * c.n_lower / LOOKS, 100.0 * c.n_higher / LOOKS);
  }
  RUNTIME_VEC_FREE(&g.points);
  RUNTIME_VEC_FREE(&r.points);
}

int plans_turns(const char *log, const char *result_path) {
  network w = {0};
  json_t *result = json_load_file(result_path, 0, NULL);
  if (result) take_tasks(result, &w);
  bool is_read = result && take_log(log, &w);
  if (is_read)
    print_rows(&w);
  else
    fprintf(stderr, "tenon-plans: %s cannot be read\n", result ? log : result_path);
  for (int i = 0; i < w.n; ++i) {
    RUNTIME_VEC_FREE(&w.tasks[i].times);
    RUNTIME_VEC_FREE(&w.tasks[i].taken);
  }
  free(w.tasks);
  json_decref(result);
  return !is_read;
}
