/* plans.h: tenon-plans: figures about the space of plans (schedule/plan.h) that need the library's inside. */
#ifndef TENON_BENCH_PLANS_H
#define TENON_BENCH_PLANS_H

#include <stdbool.h>

/* Seconds of processor time that the process has taken. With several THREADS it is the wall clock instead: the
 * kernel adds up the processor time of threads only when they stop running. */
double plans_now_s(int threads);

/* How many plans a second are ranked by their analytic cost alone, and realized, lowered and scored by a trained model.
 * PROGRAM NULL: three usual ones. 0 when all went well. */
int plans_rate(const char *program);

/* For each schedule of `tenon-bench --list` whose name matches PATTERN, for so many THREADS: prints whether a
 * plan of the plain program realizes it (list.c) on TARGET (NULL: this machine). IS_TIMED: both sides are
 * timed, too. Returns 1 when fewer than AT_LEAST are realized, 2 when no name matches. */
int plans_list(const char *pattern, const char *target, int threads, bool is_timed, int at_least);

/* The most --plan arguments. */
enum { PLANS_MAX_CHANGED = 64 };

/* What `tenon-plans race` runs; the options are those of its command line. */
typedef struct plans_race_options {
  const char *program, *target; /* text; costs that the target does not say are measured */
  int threads, n_best, n_random;
  int n_schedules; /* of the fastest, printed as text */
  double seconds;  /* of processor time, for all turns together */
  int n_changed;
  const char *changed[PLANS_MAX_CHANGED]; /* the best-ranked plan with other values: "vectors=2,rows=8" */
} plans_race_options;

/* Times the best-ranked plans of the program's dearest group, and random ones, in turns, and prints them, the fastest first
 * (race.c). 0 when all went well. */
int plans_race(const plans_race_options *options);

/* Prints hashes of what N random plans and sketches of the program become on a target (digest.c). 0 when all
 * went well. */
int plans_digest(const char *program, const char *target, int n);

/* Replays a network's recorded trials in the order in which the gradient scheduler, and round-robin, would have
 * had them (turns.c). LOG was written by `tenon tune NETWORK --json`, and RESULT is the path of what that
 * printed. 0 when both could be read. */
int plans_turns(const char *log, const char *result);

#endif
