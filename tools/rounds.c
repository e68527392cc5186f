/* rounds.c: blocks of calls in turns. OpenBLAS's and libgomp's threads spin for some milliseconds after a call, on the
 * cores that the next side needs: hence the pause, and the calls that do not count. */
#include "tools/rounds.h"

#include <time.h>

enum { MIN_ROUNDS = 3, MAX_CALLS = 2000, WARM_UPS = 2, PAUSE_NS = 40000000 };

static const double block_s = 0.05;   /* of calls that count */
static const double sample_s = 20e-6; /* shorter calls are timed several at once */

static double seconds_since(uint64_t start_ns) { return (double)(runtime_now_ns() - start_ns) * 1e-9; }

tools_statistic tools_statistic_of(int n, double *values) {
  runtime_sort(values, n);
  double median = runtime_quantile(values, n, 0.5);
  double spread = median > 0 ? (runtime_quantile(values, n, 0.75) - runtime_quantile(values, n, 0.25)) / median : 0;
  return (tools_statistic){median, spread};
}

/* Seconds of one of N calls; below 0: one failed. */
static double time_calls(tools_side *side, int n) {
  uint64_t start = runtime_now_ns();
  for (int i = 0; i < n; ++i) {
    if (side->call(side->self) != 0) return -1;
  }
  return seconds_since(start) / n;
}

/* The time of the last call that warms up; slow ones are not repeated. */
static double warm_up(tools_side *side) {
  double one_s = 0;
  for (int i = 0; i < WARM_UPS && one_s >= 0 && one_s < block_s; ++i) one_s = time_calls(side, 1);
  return one_s;
}

static bool push_block_median(tools_side *side, int first) {
  int n = side->calls.n - first;
  double copy[MAX_CALLS];
  memcpy(copy, side->calls.data + first, (size_t)n * sizeof *copy);
  return RUNTIME_PUSH(&side->rounds, tools_statistic_of(n, copy).median);
}

static bool time_block(tools_side *side) {
  double one_s = warm_up(side);
  if (one_s < 0) return false;
  int batch = one_s < sample_s ? (int)(sample_s / RUNTIME_MAX(one_s, 1e-9)) + 1 : 1, first = side->calls.n;
  uint64_t start = runtime_now_ns();
  do {
    one_s = time_calls(side, batch);
    if (one_s < 0 || !RUNTIME_PUSH(&side->calls, one_s)) return false;
  } while (seconds_since(start) < block_s && side->calls.n - first < MAX_CALLS);
  return push_block_median(side, first);
}

bool tools_time_rounds(int n_sides, tools_side *sides, double seconds) {
  uint64_t start = runtime_now_ns();
  for (int round = 0; round < MIN_ROUNDS || seconds_since(start) < seconds; ++round) {
    for (int i = 0; i < n_sides; ++i) {
      if (n_sides > 1) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
      if (!time_block(&sides[round % 2 ? n_sides - 1 - i : i])) return false;
    }
  }
  return true;
}

void tools_side_free(tools_side *side) {
  RUNTIME_VEC_FREE(&side->calls);
  RUNTIME_VEC_FREE(&side->rounds);
}
