/* rounds.h: timing several routines against each other: in turns, in one process, on the same data. */
#ifndef TENON_TOOLS_ROUNDS_H
#define TENON_TOOLS_ROUNDS_H

#include "tools/tools.h"

/* One routine, and what was measured of it. Zero-initialise, set call and self; free with tools_side_free. */
typedef struct tools_side {
  int32_t (*call)(void *self); /* 0: it went well */
  void *self;
  RUNTIME_VEC(double) calls;  /* seconds of a call, a sample each */
  RUNTIME_VEC(double) rounds; /* the median of each round */
} tools_side;

/* Runs rounds until SECONDS have passed, at least three. In each round every side gets one block: a pause in which the
 * threads of the side before stop spinning, calls to warm up, calls that count; the order of the sides alternates.
 * False: a call failed or memory ran out. */
bool tools_time_rounds(int n_sides, tools_side *sides, double seconds);
void tools_side_free(tools_side *side);

typedef struct tools_statistic {
  double median, spread; /* spread: (p75 - p25) / median */
} tools_statistic;
/* N >= 1 values; sorts them. */
tools_statistic tools_statistic_of(int n, double *values);

#endif
