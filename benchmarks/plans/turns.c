/* turns.c: a network's recorded trials, told again in the order in which the gradient, and round-robin, would have had
 * them: the same times on both sides, so that only the order differs. LOG is of a run of
 * `tenon tune NETWORK --json`, and RESULT what that printed. Prints a Markdown table: the total on the average until half a minute, a
 * minute, two ... had passed, and at that time. A trial takes its task's mean time; what the cost model of one task learned of another stays
 * as it was recorded. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autotune/scheduler.h"
#include "benchmarks/plans/plans.h"
#include "runtime/base.h"

enum { FIRST_ROUND = 8, ROUND = 24, BEST = 16 };
#define FIRST_LIMIT_S 30.0

/* A task's trials in the order of the log; a failed one is infinite. */
typedef struct recorded {
  const char *key; /* the result's */
  double weight, trial_s;
  RUNTIME_VEC(double) times;
} recorded;

/* How far a task is in one telling. */
typedef struct state {
  int told, n_best;
  double best[BEST + 1]; /* ascending */
} state;

typedef struct network {
  int n;
  recorded *tasks;
  double whole_s; /* what all trials took */
} network;

typedef struct curve {
  double mean_s, end_s; /* the total from FROM until the limit */
} curve;

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ---- what was recorded ------------------------------------------------------------------------------------------- */

static void take_tasks(const json_t *result, network *w) {
  const json_t *task, *tasks = json_object_get(result, "tasks");
  size_t i;
  w->tasks = calloc(json_array_size(tasks), sizeof *w->tasks);
  json_array_foreach(tasks, i, task) {
    if (json_object_get(task, "same_as")) continue;
    double trials = fmax((double)json_integer_value(json_object_get(task, "trials")), 1);
    w->tasks[w->n++] = (recorded){.key = json_string_value(json_object_get(task, "key")),
                                  .weight = json_number_value(json_object_get(task, "weight")),
                                  .trial_s = json_number_value(json_object_get(task, "spent")) / trials};
  }
}

static void take_trial(network *w, const json_t *record) {
  const char *key = json_string_value(json_object_get(record, "key"));
  const json_t *costs = json_object_get(record, "costs");
  if (!key || !costs || json_is_true(json_object_get(record, "final"))) return;
  size_t n = json_array_size(costs);
  double time = n > 0 ? json_number_value(json_array_get(costs, n / 2)) : INFINITY;
  for (int i = 0; i < w->n; ++i)
    if (strcmp(w->tasks[i].key, key) == 0) {
      if (!RUNTIME_PUSH(&w->tasks[i].times, time)) return;
      w->whole_s += w->tasks[i].trial_s;
    }
}

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

/* The next round of task I; returns how long it takes. */
static double tell_round(const network *w, scheduler *s, state *states, int i) {
  const recorded *r = &w->tasks[i];
  state *at = &states[i];
  int n = RUNTIME_MIN(s->tasks[i].n_rounds == 0 ? FIRST_ROUND : ROUND, r->times.n - at->told);
  for (int k = 0; k < n; ++k) {
    double time = r->times.data[at->told++];
    if (!isfinite(time)) continue;
    at->best[at->n_best] = time;
    qsort(at->best, (size_t)at->n_best + 1, sizeof *at->best, by_size);
    at->n_best = RUNTIME_MIN(at->n_best + 1, BEST);
  }
  if (at->n_best > 1) s->tasks[i].gap_s = (at->best[at->n_best - 1] - at->best[0]) / (at->n_best - 1);
  scheduler_tell(s, i, n * r->trial_s, at->n_best > 0 ? at->best[0] : 0);
  s->tasks[i].is_over |= at->told == r->times.n;
  return n * r->trial_s;
}

/* The curve counts from FROM_S on, when both ways have told a round of each task. */
static curve tell(const network *w, tn_strategy strategy, double from_s, double limit_s) {
  scheduler s = {.strategy = strategy, .n = w->n, .tasks = calloc((size_t)w->n, sizeof *s.tasks)};
  state *states = calloc((size_t)w->n, sizeof *states);
  curve c = {0};
  double now = 0, area = 0;
  for (int i = 0; i < w->n; ++i) s.tasks[i].weight = w->tasks[i].weight;
  for (int i; now < limit_s && (i = scheduler_next(&s)) >= 0;) {
    double before = now;
    now += tell_round(w, &s, states, i);
    area += c.end_s * fmax(fmin(now, limit_s) - fmax(before, from_s), 0);
    c.end_s = scheduler_total(&s);
  }
  c.mean_s = (area + c.end_s * fmax(limit_s - fmax(now, from_s), 0)) / (limit_s - from_s);
  free(states);
  free(s.tasks);
  return c;
}

static double first_rounds_s(const network *w) {
  double sum = 0;
  for (int i = 0; i < w->n; ++i) sum += FIRST_ROUND * w->tasks[i].trial_s;
  return sum;
}

static void print_rows(const network *w) {
  double from_s = first_rounds_s(w);
  printf(
      "| until | gradient: mean, end | round-robin: mean, end | gradient's mean is lower by |\n| --: | --: | --: | --: "
      "|\n");
  for (double limit_s = FIRST_LIMIT_S; limit_s < w->whole_s; limit_s *= 2) {
    if (limit_s <= from_s) continue;
    curve g = tell(w, TN_STRATEGY_GRADIENT, from_s, limit_s), r = tell(w, TN_STRATEGY_ROUND_ROBIN, from_s, limit_s);
    printf("| %.0f s | %.3f, %.3f ms | %.3f, %.3f ms | %.3f %% |\n", limit_s, g.mean_s * 1e3, g.end_s * 1e3,
           r.mean_s * 1e3, r.end_s * 1e3, 100 * (1 - g.mean_s / r.mean_s));
  }
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
  for (int i = 0; i < w.n; ++i) RUNTIME_VEC_FREE(&w.tasks[i].times);
  free(w.tasks);
  json_decref(result);
  return !is_read;
}
