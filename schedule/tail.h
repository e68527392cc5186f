/* tail.h: the tail strategies of splits: their legality, and what lowering asks (tails.c). */
#ifndef TENON_SCHEDULE_TAIL_H
#define TENON_SCHEDULE_TAIL_H

#include "schedule/lowering.h"

extern const char *const schedule_tail_words[TN_TAIL_COUNT];

/* Whether loop ITER may be split with this tail. overlap: a data axis, outside of all reduction loops; pad: a
 * reduction axis, or a whole data axis of a stage that is no output. */
tn_status schedule_check_tail(const schedule_call *c, int stage, int iter, tn_tail tail);
/* Blocks that overlap run one after the other, each with its whole reduction. */
tn_status schedule_check_overlaps(const schedule_call *c, int stage);
tn_status schedule_check_fuse_overlap(const schedule_call *c, int stage, int n, const int64_t *iters);

/* Whether the buffer is longer than the region in this dimension, and how long. */
bool schedule_pads_dimension(const schedule_stage *st, int dim);
/* A tile in registers whose lanes a symbol may end: all lanes are computed, as with padding. Masked, they would be in memory. */
bool schedule_pads_tile(const schedule_stage *st, int dim);
const tir_expr *schedule_padded_extent(lowering *l, const lower_stage *ls, int dim);
/* Says which splits with tail mask have a tail and no vectorized loop. */
void schedule_warn_masks(lowering *l, const lower_stage *ls);

#endif
