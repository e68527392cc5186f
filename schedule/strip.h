/* strip.h: what the family `strip` knows of a chain of stencils, shared by its files: strip_facts.c counts,
 * family_strip.c decides and realizes. */
#ifndef TENON_SCHEDULE_STRIP_H
#define TENON_SCHEDULE_STRIP_H

#include "schedule/generic.h"

enum { STRIP_LEVELS = 7 };

/* A stage of a chain. For a block of R rows of V vectors it loads near * R * V + columns * V + fixed registers: what
 * its taps along a column read serves several rows. */
typedef struct strip_stage {
  const tn_tensor *tensor;
  bool is_local; /* read point by point: computed in registers where it is used */
  bool reduces;
  bool shares;      /* rows of a block have loads or operations in common: its own, or those of what stands in the same
                                * block */
  int trailing;     /* short axes behind its columns (generic_trailing) */
  double lead;      /* points of a tile for each row and column of it: its other axes but those
                                  * that all stages have */
  double taps;      /* steps of its reduction */
  double ops, once; /* operations of a point, all taps; those of them that rows of a block do not share */
  double roots;     /* and quotients of floats, besides these */
  double limits;    /* conditions of a point that part borders off: blocks between these do without them */
  double near, columns, fixed;      /* loads, above */
  double near_spans, columns_spans; /* those of these loads that may begin anywhere in a line */
  double row_spans;                 /* the same of the rows below, a part of 1 */
  double near_apart, columns_apart; /* nanoseconds more of such loads whose lanes are not side by side */
  bool is_woven; /* these are every second element: even and odd ones become vectors once for all taps */
  double between,
      step; /* of those: registers of a row of vectors with what lies between the lanes; rows from point to point */
  double rows, more_rows; /* rows of vectors that all of these lie in: for each row of the block, and besides */
  double kept_rows, kept_more_rows; /* those of them that several taps read */
  double scale[2];                  /* rows and columns that it goes on by for each of the root's */
  double unit[2];                   /* elements of one of the root's */
  double low[2], high[2];           /* rows and columns that it computes before and behind those */
  double bytes;                     /* of an element */
  double wide;                      /* registers that what it computes takes for each of the root's */
  double reach, stride;             /* rows more than its own that it reads of one tensor; bytes between such rows */
  double planes, plane;             /* of that tensor, which it reads at such rows; bytes between them */
  int last_reader;                  /* the stage that reads it last; stages stand consumers first */
} strip_stage;

/* The chain after what costs little to compute again was inlined. */
typedef struct strip_level {
  int n, n_inlined;
  bool ends;                                        /* indices of what is read of some stage are limited */
  int64_t channels;                                 /* of each column (generic_channels); 1: there is no such axis */
  strip_stage stages[2 * GENERIC_MAX_STAGES + 1];   /* the root, then consumers first */
  const tn_tensor *inlined[2 * GENERIC_MAX_STAGES]; /* producers first */
} strip_level;

/* What describe finds out about a chain of stencils, once for all of its plans; in the arena of the draft. */
typedef struct strip_facts {
  tn_machine machine;
  int64_t rows, columns; /* of the root, columns with their channels */
  int64_t channels;      /* of each column (generic_channels); 1: there is no such axis */
  bool is_row;           /* all stages have one axis, of columns; ROWS is 1 */
  double shared, inside; /* iterations of its other axes: those that all stages have, and those inside of a tile */
  double read, written;  /* bytes of what the chain reads from outside; of the root */
  double row;            /* bytes of a row of the root */
  int n_read;            /* tensors that are read from outside */
  bool can_stream;       /* the root's vectors may go past the caches */
  int64_t lanes;         /* of a vector of the root */
  int64_t whole;         /* lanes of the fewest vectors that are whole columns */
  int n_levels;
  const strip_level *levels[STRIP_LEVELS]; /* more and more is inlined */
} strip_facts;

/* The chain as it is, and with its windows taken apart (generic_windows.c): rows or columns added up last, without parts and with them. NULL: it is
 * no chain so, or nothing is taken apart. */
enum { STRIP_WAYS = 5 };
typedef struct strip_ways {
  const strip_facts *facts[STRIP_WAYS];
} strip_ways;

/* In the draft's arena. NULL: the group is no chain, or no memory. */
const strip_facts *generic_strip_facts(const generic_draft *d, const generic_group *g);

#endif
