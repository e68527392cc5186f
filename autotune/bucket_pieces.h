/* bucket_pieces.h: cuts the values of a symbol between two sizes into pieces, each served by the schedule
 * of one size. */
#ifndef TENON_AUTOTUNE_BUCKET_PIECES_H
#define TENON_AUTOTUNE_BUCKET_PIECES_H

#include "autotune/internal.h"
#include "schedule/plan.h"

/* Each of the first values has a kernel of its own: a block of rows is about as long as they are, so a
 * block for another size would only be used in part. */
enum { BUCKET_EACH_UP_TO = 32, BUCKET_MAX_PIECES = 16 };

/* Up to so many vectors the number of vectors decides: a tile may be as wide as the symbol, and a tail is a large part of a row. */
enum { BUCKET_VECTORS = 6 };

/* The values FIRST to LAST, served by the schedule of the program with the number SIZE. */
typedef struct bucket_piece {
  int64_t first, last, size;
} bucket_piece;

/* Values FIRST to LAST between two sizes that have schedules, BELOW and ABOVE; 0: there is none on that side. */
typedef struct bucket_range {
  tn_program *program; /* its only symbol is the one that is cut */
  const tn_machine *machine;
  int64_t first, last, below, above;
} bucket_range;

/* Cuts the range where the analytic cost says that a plan made for the size there is clearly faster than
 * the plan that serves the values beside it. OUT has room for BUCKET_MAX_PIECES; pieces ascend. */
tn_status bucket_cut(const bucket_range *range, bucket_piece *out, int *n);

/* Whether vectors are stored past the caches. */
bool bucket_streams(const tn_schedule *s);

#endif
