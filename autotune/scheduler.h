/* scheduler.h: which task of a network gets the next round. Numbers only: the tuners are in tasks.c. */
#ifndef TENON_AUTOTUNE_SCHEDULER_H
#define TENON_AUTOTUNE_SCHEDULER_H

#include "autotune/autotune.h"

/* A task as the scheduler sees it. Zero-initialise it, then set weight, work and target_s. */
typedef struct scheduler_task {
  double weight;      /* of its time in the objective: the user's weight times its count */
  double work;        /* floating-point operations of one call; 0: not known */
  double target_s;    /* a time that is good enough; 0: none */
  double best_s;      /* the least time found so far; 0: none yet */
  double spent;       /* in seconds of rounds */
  double first_spent; /* in the first round alone */
  int n_trials, first_trials;
  int n_rounds;
  int last_turn; /* the value of scheduler.n_turns after its last round */
  bool is_over;  /* it gets no more rounds */
} scheduler_task;

/* All tasks of a run. The owner allocates the tasks; n_turns counts the rounds of all of them. */
typedef struct scheduler {
  tn_strategy strategy;
  tn_objective objective;
  int n, n_turns;
  scheduler_task *tasks;
} scheduler;

/* The index of the task that gets the next round; -1: all are finished. Tasks without a round come first,
 * then a task that got none for very long. */
int scheduler_next(const scheduler *s);
/* Reports a round of task I that took SPENT and made TRIALS trials. BEST_S: the least of all its times; 0
 * while there is none. */
void scheduler_tell(scheduler *s, int i, double spent, int trials, double best_s);
/* Whether a task has a time that is good enough. */
bool scheduler_is_target_met(const scheduler_task *t);
/* By how much the objective is expected to fall for each unit of the budget spent on task I. Never negative. */
double scheduler_gain(const scheduler *s, int i);
/* The objective: the weighted sum of the least times in seconds, or their weighted geometric mean. Finished
 * tasks without a time do not count. 0 while an unfinished task has no time. */
double scheduler_total(const scheduler *s);

#endif
