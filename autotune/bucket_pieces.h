/* bucket_pieces.h: the values of a symbol between two sizes in pieces, each served by the schedule of one size. */
#ifndef TENON_AUTOTUNE_BUCKET_PIECES_H
#define TENON_AUTOTUNE_BUCKET_PIECES_H

#include "autotune/internal.h"
#include "schedule/plan.h"

/* The first values have a kernel each: a block of rows is about as long, so any block of another size would be a part of one. */
enum { BUCKET_EACH_UP_TO = 32, BUCKET_MAX_PIECES = 16 };

/* The values FIRST to LAST by the schedule of the program with the number SIZE. */
typedef struct bucket_piece {
  int64_t first, last, size;
} bucket_piece;

/* A range of values, above BELOW and below ABOVE, which have schedules; 0: there is none on that side. */
typedef struct bucket_range {
  tn_program *program; /* whose only symbol it is */
  const tn_machine *machine;
  int64_t first, last, below, above;
} bucket_range;

/* Cuts the range where the analytic cost says that a plan made for the size there is quicker than the plan that serves the values beside it
 * by more than people would bear. Ascending. */
tn_status bucket_cut(const bucket_range *range, bucket_piece *out, int *n);

#endif
