/* scheduler.h: which task of a network gets the next round: the numbers, without tuners (scheduler.c). */
#ifndef TENON_AUTOTUNE_SCHEDULER_H
#define TENON_AUTOTUNE_SCHEDULER_H

#include "autotune/autotune.h"

/* A task as the scheduler sees it. Zero-initialise, then set weight and work. */
typedef struct scheduler_task {
  double weight;      /* of its time in the objective: weight times count */
  double work;        /* operations; 0: not known */
  double target_s;    /* a time that is good enough; 0: none */
  double best_s;      /* the least of its times; 0: none is known yet */
  double spent;       /* of the budget, in seconds or in trials */
  double first_spent; /* of that, in its first round */
  int n_trials, first_trials;
  int n_rounds;
  int last_turn; /* of all rounds, when it had its last one */
  bool is_over;  /* it gets no more rounds */
} scheduler_task;

typedef struct scheduler {
  tn_strategy strategy;
  tn_objective objective;
  int n, n_turns;
  scheduler_task *tasks;
} scheduler;

/* The task of the next round; -1: all are over. Tasks without a round come first, then whoever got none for very long. */
int scheduler_next(const scheduler *s);
/* Tells what a round of task I came to. SPENT: of the budget, for so many TRIALS. BEST_S: the least of all its times, 0 while there
 * is none. */
void scheduler_tell(scheduler *s, int i, double spent, int trials, double best_s);
/* Whether a task has a time that is good enough. */
bool scheduler_is_target_met(const scheduler_task *t);
/* By how much a unit of the budget lets the objective fall, if it goes to task I: never negative. */
double scheduler_gain(const scheduler *s, int i);
/* The objective: the weighted sum of the least times in seconds, or their weighted geometric mean. Tasks that are over without
 * any time do not count. 0 while another one has no time. */
double scheduler_total(const scheduler *s);

#endif
