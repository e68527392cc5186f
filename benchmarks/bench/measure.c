/* measure.c: times several functions in turn, so that what the machine does meanwhile meets all of them alike. */
#include <stdlib.h>
#include <time.h>

#include "bench.h"

enum { MAX_ROUNDS = 400, MIN_ROUNDS = 7, PAUSE_NS = 40000000 };
static const double block_seconds = 4e-3;

double bench_now(bool cpu) {
  struct timespec t;
  clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double time_block(const bench_side *side, int calls, bool cpu) {
  double begin = bench_now(cpu);
  for (int i = 0; i < calls; ++i) side->run(side->state);
  return (bench_now(cpu) - begin) / calls;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void summarise(bench_side *side, double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, ascending);
  side->low = times[n / 4];
  side->median = times[n / 2];
  side->spread = (times[n * 3 / 4] - times[n / 4]) / times[n / 2];
}

/* Calls that fill a block; also warms up. */
static int calls_in_block(const bench_side *side, bool cpu) {
  double once = time_block(side, 1, cpu);
  for (int i = 0; i < 3; ++i) {
    double again = time_block(side, 1, cpu);
    if (again < once) once = again;
  }
  return once >= block_seconds ? 1 : (int)(block_seconds / (once + 1e-8)) + 1;
}

/* Lets the others' threads go to sleep and wakes those of this side. */
static void change_sides(const bench_side *side) {
  nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  side->run(side->state);
}

void bench_measure(int n, bench_side *sides, int threads, double seconds, bool cpu) {
  double *times = malloc(sizeof *times * MAX_ROUNDS * (size_t)n);
  int calls[BENCH_MAX_VENDORS + 1], round = 0;
  if (times == NULL) return;
  for (int i = 0; i < n; ++i) calls[i] = calls_in_block(&sides[i], cpu);
  double end = bench_now(false) + seconds * n * (threads > 1 && n > 1 ? 5 : 1);
  for (; round < MAX_ROUNDS && (round < MIN_ROUNDS || bench_now(false) < end); ++round) {
    for (int i = 0; i < n; ++i) {
      if (threads > 1 && n > 1) change_sides(&sides[i]);
      times[i * MAX_ROUNDS + round] = time_block(&sides[i], calls[i], cpu);
    }
  }
  for (int i = 0; i < n; ++i) summarise(&sides[i], times + i * MAX_ROUNDS, round);
  free(times);
}
