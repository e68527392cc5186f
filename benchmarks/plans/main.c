/* main.c: tenon-plans, the command: reads the words and calls the file of the same name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "benchmarks/plans/plans.h"

static const char usage[] =
    "usage: tenon-plans rate [PROGRAM]\n"
    "       tenon-plans list [--case PATTERN] [--target T] [--threads N] [--time] [--at-least N]\n"
    "       tenon-plans race PROGRAM [--best N] [--random N] [--threads N] [--seconds S] [--target T]\n"
    "                              [--schedules N] [--plan FIELD=VALUE,...]...\n"
    "       tenon-plans digest PROGRAM [TARGET [N]]\n"
    "       tenon-plans turns LOG RESULT\n"
    "  rate    plans a second on one core: ranked by analytic cost; from the plan to the learned model's score\n"
    "  list    the schedules of tenon-bench --list beside plans of the plain program: work and estimated time by hand, "
    "in\n"
    "          relation to the plan's; --time: processor time too. Fails when fewer than N are realized\n"
    "  race    what plans of PROGRAM's dearest group take beside what they cost: the best-ranked, random ones,\n"
    "          and the best-ranked with other values (--plan); the schedules of the N fastest as text, too\n"
    "  digest  numbers over the loops, features and estimates of N random candidates: two builds that print the same "
    "make\n"
    "          the same of all of them, given one target with its costs\n"
    "  turns   a network's trials, recorded in LOG (RESULT: what `tenon tune NETWORK --json` printed), in the "
    "gradient's order\n"
    "          and in round-robin's: the total over the time\n";

double plans_now_s(int threads) {
  struct timespec t;
  clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int list(int argc, char **argv) {
  const char *pattern = "*", *target = NULL;
  int threads = 1, at_least = 0;
  bool is_timed = false;
  for (int i = 2; i < argc; ++i) {
    bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--time") == 0)
      is_timed = true;
    else if (has_value && strcmp(argv[i], "--case") == 0)
      pattern = argv[++i];
    else if (has_value && strcmp(argv[i], "--target") == 0)
      target = argv[++i];
    else if (has_value && strcmp(argv[i], "--threads") == 0)
      threads = atoi(argv[++i]);
    else if (has_value && strcmp(argv[i], "--at-least") == 0)
      at_least = atoi(argv[++i]);
    else
      return fputs(usage, stderr), 2;
  }
  return plans_list(pattern, target, threads, is_timed, at_least);
}

static int race(int argc, char **argv) {
  plans_race_options o = {.program = argv[2], .target = "native", .threads = 1, .n_best = 16, .seconds = 2};
  for (int i = 3; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--best") == 0)
      o.n_best = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--random") == 0)
      o.n_random = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--threads") == 0)
      o.threads = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--seconds") == 0)
      o.seconds = atof(argv[i + 1]);
    else if (strcmp(argv[i], "--schedules") == 0)
      o.n_schedules = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--plan") == 0 && o.n_changed < PLANS_MAX_CHANGED)
      o.changed[o.n_changed++] = argv[i + 1];
    else if (strcmp(argv[i], "--target") == 0)
      o.target = argv[i + 1];
    else
      return fputs(usage, stderr), 2;
  }
  return plans_race(&o);
}

int main(int argc, char **argv) {
  if (argc >= 2 && argc <= 3 && strcmp(argv[1], "rate") == 0) return plans_rate(argc > 2 ? argv[2] : NULL);
  if (argc >= 2 && strcmp(argv[1], "list") == 0) return list(argc, argv);
  if (argc >= 3 && argc % 2 == 1 && strcmp(argv[1], "race") == 0) return race(argc, argv);
  if (argc >= 3 && argc <= 5 && strcmp(argv[1], "digest") == 0)
    return plans_digest(argv[2], argc > 3 ? argv[3] : "threads=1", argc > 4 ? atoi(argv[4]) : 200);
  if (argc == 4 && strcmp(argv[1], "turns") == 0) return plans_turns(argv[2], argv[3]);
  fputs(usage, stderr);
  return 2;
}
