/* scheduler.c: which task of a network gets the next round: the one whose round is expected to lower the
 * objective most for its cost. How much of a task's time can still be saved is guessed from the other
 * tasks: one that computes at half the rate of the best of them may become twice as fast, one at the best
 * rate hardly faster. Of what can be saved, one more trial after N finds about an Nth part.
 *
 * Ansor's gradient (OSDI'20, section 6) instead extrapolates the last rounds, the task's whole time and
 * similar tasks. In recorded searches of whole networks that order was no better than taking turns
 * (docs/networks.md). Three faults of TVM's scheduler are avoided as well: it may choose a task that is
 * finished, it counts rounds instead of time, and it may never give a second round to a task with a small
 * share of the objective. Decisions depend only on what scheduler_tell was told, so equal times give an
 * equal order. */
#include "autotune/scheduler.h"

#include <math.h>

#include "runtime/base.h"

/* What can always be saved, as a share of a task's time. The best rate may itself be slow, and it says
 * nothing about programs that wait for memory. Recorded searches came out alike with 1 to 5 %. */
static const double always_left = 0.02;
/* A task gets a round at the latest after this many turns without one, times the number of unfinished
 * tasks. The second round has less patience: it is the first one that draws candidates. */
enum { SECOND_PATIENCE = 2, PATIENCE = 4 };

/* ---- gains ------------------------------------------------------------------------------------------------------- */

/* By how much the objective falls when the task's time falls by a second. For the geometric mean a factor
 * common to all tasks is left out. */
static double slope(const scheduler *s, const scheduler_task *t) {
  return s->objective == TN_OBJECTIVE_GEOMEAN ? t->weight / t->best_s : t->weight;
}

/* The highest rate of all tasks, in operations a second. */
static double best_rate(const scheduler *s) {
  double rate = 0;
  for (int i = 0; i < s->n; ++i)
    if (s->tasks[i].best_s > 0) rate = fmax(rate, s->tasks[i].work / s->tasks[i].best_s);
  return rate;
}

/* What can still be saved of a task's time, in seconds. RATE: that of the best task. */
static double left_s(const scheduler_task *t, double rate) {
  double least_s = fmax(rate > 0 ? t->work / rate : 0, t->target_s);
  return fmax(t->best_s - least_s, always_left * t->best_s);
}

/* The budget that one trial of the task takes. The first round is not counted: it also prepares the task
 * and runs the slowest schedules. 0: the task had only one round. */
static double own_trial(const scheduler_task *t) {
  int n = t->n_trials - t->first_trials;
  return n > 0 ? (t->spent - t->first_spent) / n : 0;
}

/* What a trial of the task takes. For a task that had only one round, the mean of the others; 1 where
 * nothing is known. */
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

/* The tasks that may still get rounds. */
static int count_left(const scheduler *s) {
  int n = 0;
  for (int i = 0; i < s->n; ++i) n += !s->tasks[i].is_over;
  return n;
}

/* The unfinished task that has waited longest; a task without a round comes before the others. -1: all are finished. */
static int longest_waiting(const scheduler *s) {
  int longest = -1;
  for (int i = 0; i < s->n; ++i) {
    if (s->tasks[i].is_over) continue;
    if (longest < 0 || s->tasks[i].last_turn < s->tasks[longest].last_turn) longest = i;
  }
  return longest;
}

/* Among equal gains, the task that has waited longest. */
static int greatest_gain(const scheduler *s) {
  int best = longest_waiting(s);
  for (int i = 0; i < s->n; ++i)
    if (!s->tasks[i].is_over && scheduler_gain(s, i) > scheduler_gain(s, best)) best = i;
  return best;
}

/* Whether a task must come first, however little it counts: without its time there is no total. If its
 * second round finds no time either, it waits its turn like others that gain nothing. */
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
