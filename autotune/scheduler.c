/* scheduler.c: which task of a network gets the next round. The objective falls with a task's time, so its round is worth what is
 * left to gain of that time. How much is left the other tasks tell: one that works at half of the rate of the best of them may
 * become twice as quick, one that works at that rate hardly quicker. Another trial among N finds about an Nth of what is left.
 *
 * Ansor's gradient (OSDI'20, section 6) guesses from what the last rounds brought, from the whole time of a task, and from similar
 * tasks; recorded searches of whole networks were no better in its order than in turns (docs/networks.md). Its faults are gone, too:
 * TVM's scheduler may choose a task that is dead, counts rounds instead of time, and may never give a task with a small share
 * of the objective a second round. What decides is only what was told: one seed and one machine give one order. */
#include "autotune/scheduler.h"

#include <math.h>

#include "runtime/base.h"

/* What is always left, as a share of a task's time: the best rate may be a slow one, and is no limit of programs that wait for
 * memory. With 1 to 5 % recorded searches came out alike. */
static const double always_left = 0.02;
/* A task gets a round when it had none for so many rounds, times the tasks that are not over: its second one, the first that draws
 * candidates, or another. */
enum { SECOND_PATIENCE = 2, PATIENCE = 4 };

/* ---- gains ------------------------------------------------------------------------------------------------------- */

/* By how much the objective falls when the task's time falls by a second. The geometric mean itself is a factor of all. */
static double slope(const scheduler *s, const scheduler_task *t) {
  return s->objective == TN_OBJECTIVE_GEOMEAN ? t->weight / t->best_s : t->weight;
}

/* Operations a second of the task that has most of them. */
static double best_rate(const scheduler *s) {
  double rate = 0;
  for (int i = 0; i < s->n; ++i)
    if (s->tasks[i].best_s > 0) rate = fmax(rate, s->tasks[i].work / s->tasks[i].best_s);
  return rate;
}

/* What is left to gain of a task's time, in seconds. */
static double left_s(const scheduler_task *t, double rate) {
  double least_s = fmax(rate > 0 ? t->work / rate : 0, t->target_s);
  return fmax(t->best_s - least_s, always_left * t->best_s);
}

/* Of the budget, for each trial behind the first round, in which all else is made ready and the slowest schedule runs; 0: it had one round
 * only. */
static double own_trial(const scheduler_task *t) {
  int n = t->n_trials - t->first_trials;
  return n > 0 ? (t->spent - t->first_spent) / n : 0;
}

/* What a trial of the task takes; of a task that had one round only, what those of the others take. */
static double trial_of(const scheduler *s, const scheduler_task *t) {
  double sum = 0, own = own_trial(t);
  int n = 0;
  if (own > 0) return own;
  for (int i = 0; i < s->n; ++i) {
    sum += own_trial(&s->tasks[i]);
    n += own_trial(&s->tasks[i]) > 0;
  }
  return n > 0 ? sum / n : 1;
}

bool scheduler_is_target_met(const scheduler_task *t) { return t->best_s > 0 && t->best_s <= t->target_s; }

double scheduler_gain(const scheduler *s, int i) {
  const scheduler_task *t = &s->tasks[i];
  if (t->best_s <= 0 || t->n_trials <= 0) return 0;
  return slope(s, t) * left_s(t, best_rate(s)) / (t->n_trials * trial_of(s, t));
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

static int count_left(const scheduler *s) {
  int n = 0;
  for (int i = 0; i < s->n; ++i) n += !s->tasks[i].is_over;
  return n;
}

/* The task that waits longest: among those without a round the first. -1: all are over. */
static int longest_waiting(const scheduler *s) {
  int longest = -1;
  for (int i = 0; i < s->n; ++i) {
    if (s->tasks[i].is_over) continue;
    if (longest < 0 || s->tasks[i].last_turn < s->tasks[longest].last_turn) longest = i;
  }
  return longest;
}

/* Of equal gains the one that waits longer. */
static int greatest_gain(const scheduler *s) {
  int best = longest_waiting(s);
  for (int i = 0; i < s->n; ++i)
    if (!s->tasks[i].is_over && scheduler_gain(s, i) > scheduler_gain(s, best)) best = i;
  return best;
}

/* Whether a task has to come first, however little it counts: without its time there is no total. If its second round brings none
 * either, it waits its time out like others that gain nothing. */
static bool comes_first(const scheduler_task *t) { return t->n_rounds == 0 || (t->n_rounds == 1 && t->best_s <= 0); }

int scheduler_next(const scheduler *s) {
  int waiting = longest_waiting(s);
  if (waiting < 0 || s->strategy == TN_STRATEGY_ROUND_ROBIN || s->tasks[waiting].n_rounds == 0) return waiting;
  for (int i = 0; i < s->n; ++i)
    if (!s->tasks[i].is_over && comes_first(&s->tasks[i])) return i;
  const scheduler_task *t = &s->tasks[waiting];
  int patience = t->n_rounds == 1 ? SECOND_PATIENCE : PATIENCE;
  return s->n_turns - t->last_turn >= patience * count_left(s) ? waiting : greatest_gain(s);
}

void scheduler_tell(scheduler *s, int i, double spent, int trials, double best_s) {
  scheduler_task *t = &s->tasks[i];
  t->spent += fmax(spent, 0);
  t->n_trials += trials;
  t->best_s = best_s;
  if (t->n_rounds++ == 0) {
    t->first_spent = t->spent;
    t->first_trials = t->n_trials;
  }
  t->last_turn = ++s->n_turns;
}

double scheduler_total(const scheduler *s) {
  double sum = 0, logs = 0, weights = 0;
  for (int i = 0; i < s->n; ++i) {
    const scheduler_task *t = &s->tasks[i];
    if (t->best_s <= 0 && t->is_over) continue;
    if (t->best_s <= 0) return 0;
    sum += t->weight * t->best_s;
    logs += t->weight * log(t->best_s);
    weights += t->weight;
  }
  if (weights <= 0) return 0;
  return s->objective == TN_OBJECTIVE_GEOMEAN ? exp(logs / weights) : sum;
}
