/* region.h: the range of an index expression when some loop variables are relaxed: first value (an expression of the
 * fixed variables) and extent (a constant). */
#ifndef TENON_SCHEDULE_REGION_H
#define TENON_SCHEDULE_REGION_H

#include "schedule/lowering.h"

/* Indices from MIN on, which loops outside may move. */
typedef struct schedule_range {
  const tir_expr *min;
  int64_t extent; /* 0: unknown */
} schedule_range;

/* E in the index dtype over lower_vars; uses their `relaxed` marks. */
schedule_range schedule_range_of(lowering *l, const tir_expr *e);
/* The hull of two ranges; unknown when their distance is neither a constant nor between two. */
schedule_range schedule_range_hull(lowering *l, schedule_range a, schedule_range b);

#endif
