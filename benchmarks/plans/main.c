/* main.c: tenon-plans. */
#include <stdio.h>
#include <string.h>

#include "benchmarks/plans/plans.h"

static const char usage[] =
    "usage: tenon-plans rate [PROGRAM]\n"
    "  rate    plans a second on one core: ranked by analytic cost; from the plan to the learned model's score\n";

int main(int argc, char **argv) {
  if (argc >= 2 && argc <= 3 && strcmp(argv[1], "rate") == 0) return plans_rate(argc > 2 ? argv[2] : NULL);
  fputs(usage, stderr);
  return 2;
}
