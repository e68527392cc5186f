/* scheduler.c: which task of a network gets the next round. Ansor's gradient (OSDI'20, section 6): the objective falls with a
 * task's time, and how much that will fall is guessed from what its last rounds brought, and from what rounds bring on the
 * average. TVM's scheduler differs from this one:
 *  - it may choose a task that is dead, where all gradients are equal;
 *  - its guess of what is to come has no floor but the times of similar tasks, here it is what the machine can do at most;
 *  - it takes the whole of a task's time for what rounds bring on the average. Here the best trials tell: where many lie near each
 *    other, another one is hardly faster;
 *  - it counts rounds, so a task whose candidates take long costs it nothing: here a gain is for each unit of the budget;
 *  - a task with a small share of the objective may never get a second round.
 * What decides is only what was told: one seed and one machine give one order. */
#include "autotune/scheduler.h"

#include <math.h>

#include "runtime/base.h"

/* The share of what was gained of late in the guess; the rest is what rounds bring on the average. TVM: alpha. */
static const double past_share = 0.2;
/* Another trial among N brings about an Nth of the distance between the best ones, if trials were drawn blindly. A search is better
 * than that by a factor that is not known well: with 1 to 4 recorded searches of ResNet-50 and BERT came out alike (docs/networks.md). */
static const double skill = 4;
/* A task gets a round when it had none for so many rounds, times the tasks that are not over. */
enum { PATIENCE = 4 };

/* ---- gains ------------------------------------------------------------------------------------------------------- */

/* By how much the objective falls when the task's time falls by a second. The geometric mean itself is a factor of all. */
static double slope(const scheduler *s, const scheduler_task *t) {
  return s->objective == TN_OBJECTIVE_GEOMEAN ? t->weight / t->best_s : t->weight;
}

/* What its last rounds brought, for each unit of the budget. */
static double past_gain(const scheduler_task *t) {
  int oldest = RUNTIME_MIN(t->n_rounds - 1, SCHEDULER_WINDOW);
  if (oldest < 1 || t->past[oldest].best_s <= 0) return 0;
  double spent = t->past[0].spent - t->past[oldest].spent;
  return spent > 0 ? (t->past[oldest].best_s - t->past[0].best_s) / spent : 0;
}

/* A task that is quicker than its limit shows that the machine was taken for a slower one: all limits rest on that. */
static bool do_limits_hold(const scheduler *s) {
  for (int i = 0; i < s->n; ++i)
    if (s->tasks[i].best_s > 0 && s->tasks[i].best_s < s->tasks[i].limit_s) return false;
  return true;
}

/* As if SKILL times the distance between its best trials were gained by as much as was spent until now (the whole of its time
 * where too few trials tell), but not more than is left above LIMIT_S in a round as long as the last one. TVM: the optimistic
 * guess, of the whole time. */
static double coming_gain(const scheduler_task *t, double limit_s) {
  int before = RUNTIME_MIN(t->n_rounds - 1, 1);
  double last = before > 0 ? t->past[0].spent - t->past[before].spent : t->spent;
  double usual = (t->gap_s > 0 ? fmin(skill * t->gap_s, t->best_s) : t->best_s) / t->spent;
  return last > 0 ? fmin(usual, fmax(t->best_s - limit_s, 0) / last) : usual;
}

bool scheduler_is_target_met(const scheduler_task *t) { return t->best_s > 0 && t->best_s <= t->target_s; }

/* What falls below its target gains nothing. */
double scheduler_gain(const scheduler *s, int i) {
  const scheduler_task *t = &s->tasks[i];
  if (t->best_s <= 0 || t->spent <= 0) return 0;
  double limit_s = fmax(do_limits_hold(s) ? t->limit_s : 0, t->target_s);
  double gain = past_share * past_gain(t) + (1 - past_share) * coming_gain(t, limit_s);
  return slope(s, t) * fmax(gain, 0);
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

/* A task without any valid time has no gain: it waits its time out like others that gain nothing. */
int scheduler_next(const scheduler *s) {
  int waiting = longest_waiting(s);
  if (waiting < 0 || s->strategy == TN_STRATEGY_ROUND_ROBIN) return waiting;
  const scheduler_task *t = &s->tasks[waiting];
  bool is_due = t->n_rounds == 0 || s->n_turns - t->last_turn >= PATIENCE * count_left(s);
  return is_due ? waiting : greatest_gain(s);
}

void scheduler_tell(scheduler *s, int i, double spent, double best_s) {
  scheduler_task *t = &s->tasks[i];
  t->spent += fmax(spent, 0);
  t->best_s = best_s;
  t->n_rounds++;
  t->last_turn = ++s->n_turns;
  memmove(t->past + 1, t->past, sizeof *t->past * SCHEDULER_WINDOW);
  t->past[0] = (scheduler_point){t->spent, best_s > 0 ? best_s : 0};
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
