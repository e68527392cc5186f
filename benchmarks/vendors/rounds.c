/* rounds.c: times several routines in turns, a block of calls each, so that whatever else the machine does
 * meanwhile affects all sides alike. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "benchmarks/vendors/vendors.h"

/* Rounds at least, samples in a block at most, calls before a block that do not count, the pause between sides,
 * and room for samples to begin with. */
enum { USUAL_MIN_ROUNDS = 3, MAX_CALLS = 2000, WARM_UPS = 2, PAUSE_NS = 40000000, FIRST_ROOM = 256 };

/* Seconds of a block where the caller does not say. */
static const double usual_block_s = 0.05;
static const double sample_s = 20e-6; /* shorter calls are timed several at once */

double vendor_now(bool by_cpu) {
  struct timespec t;
  clock_gettime(by_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* With linear interpolation between neighbours. */
static double quantile(const double *sorted, int n, double q) {
  double at = q * (n - 1);
  int below = (int)at, above = below + 1 < n ? below + 1 : n - 1;
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Of N >= 1 values, which it sorts. */
static void summarise(int n, double *values, double *low, double *median, double *spread) {
  qsort(values, (size_t)n, sizeof *values, ascending);
  *low = quantile(values, n, 0.25);
  *median = quantile(values, n, 0.5);
  *spread = *median > 0 ? (quantile(values, n, 0.75) - *low) / *median : 0;
}

/* The same without changing VALUES. False: no memory. */
static bool summarise_copy(int n, const double *values, double *low, double *median, double *spread) {
  double *copy = malloc(sizeof *copy * (size_t)n + 1);
  if (!copy) return false;
  memcpy(copy, values, sizeof *copy * (size_t)n);
  summarise(n, copy, low, median, spread);
  free(copy);
  return true;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Makes room for one more sample and one more round; there are never more rounds than samples. False: no memory. */
static bool make_room(vendor_side *side) {
  if (side->n_samples < side->room) return true;
  int room = side->room ? 2 * side->room : FIRST_ROOM;
  double *samples = realloc(side->samples, sizeof *samples * (size_t)room);
  if (samples) side->samples = samples;
  double *rounds = samples ? realloc(side->rounds, sizeof *rounds * (size_t)room) : NULL;
  if (rounds) side->rounds = rounds;
  if (rounds) side->room = room;
  return rounds != NULL;
}

/* Mean seconds of N calls; negative: one failed. */
static double time_calls(const vendor_side *side, int n, bool by_cpu) {
  double start = vendor_now(by_cpu);
  for (int i = 0; i < n; ++i) {
    if (side->call(side->self) != 0) return -1;
  }
  return (vendor_now(by_cpu) - start) / n;
}

/* Calls that do not count; returns the time of the last, negative when one failed. A slow routine gets one only. */
static double warm_up(const vendor_side *side, const vendor_timing *t, double block_s) {
  double one_s = 0;
  for (int i = 0; i < WARM_UPS && one_s >= 0 && one_s < block_s; ++i) one_s = time_calls(side, 1, t->by_cpu);
  return one_s;
}

/* One block of a side: samples until BLOCK_S has passed, and their median as the round's. False: a call failed
 * or memory ran out. */
static bool time_block(vendor_side *side, const vendor_timing *t) {
  double block_s = t->block_s > 0 ? t->block_s : usual_block_s, one_s = warm_up(side, t, block_s), low, spread;
  if (one_s < 0) return false;
  int batch = one_s < sample_s ? (int)(sample_s / (one_s > 1e-9 ? one_s : 1e-9)) + 1 : 1, first = side->n_samples;
  double start = vendor_now(false);
  do {
    one_s = make_room(side) ? time_calls(side, batch, t->by_cpu) : -1;
    if (one_s < 0) return false;
    side->samples[side->n_samples++] = one_s;
  } while (vendor_now(false) - start < block_s && side->n_samples - first < MAX_CALLS);
  return summarise_copy(side->n_samples - first, side->samples + first, &low, &side->rounds[side->n_rounds++], &spread);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

bool vendor_time_rounds(int n_sides, vendor_side *sides, const vendor_timing *t) {
  int least = t->min_rounds > 0 ? t->min_rounds : USUAL_MIN_ROUNDS;
  double start = vendor_now(false);
  for (int round = 0; round < least || vendor_now(false) - start < t->seconds; ++round) {
    for (int i = 0; i < n_sides; ++i) {
      if (n_sides > 1 && t->is_paused) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
      if (!time_block(&sides[round % 2 ? n_sides - 1 - i : i], t)) return false;
    }
  }
  for (int i = 0; i < n_sides; ++i) {
    vendor_side *s = &sides[i];
    if (!summarise_copy(s->n_rounds, s->rounds, &s->low, &s->median, &s->spread)) return false;
    s->least = s->samples[0];
    for (int k = 1; k < s->n_samples; ++k)
      if (s->samples[k] < s->least) s->least = s->samples[k];
  }
  return true;
}

void vendor_side_free(vendor_side *side) {
  free(side->samples);
  free(side->rounds);
  *side = (vendor_side){0};
}

bool vendor_ratio(const vendor_side *ours, const vendor_side *theirs, double *median, double *spread) {
  int n = ours->n_rounds < theirs->n_rounds ? ours->n_rounds : theirs->n_rounds;
  double low, *ratios = malloc(sizeof *ratios * (size_t)n + 1);
  if (!ratios) return false;
  for (int i = 0; i < n; ++i) ratios[i] = theirs->rounds[i] / ours->rounds[i];
  summarise(n, ratios, &low, median, spread);
  free(ratios);
  return true;
}
