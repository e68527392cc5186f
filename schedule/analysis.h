/* analysis.h: facts about computes that the generic schedules and the tuner's sketch rules ask for (analysis.c).
 * Source: AS/compute_dag.cc. */
#ifndef TENON_SCHEDULE_ANALYSIS_H
#define TENON_SCHEDULE_ANALYSIS_H

#include "schedule/state.h"

/* Inlining cannot repeat costly work: no reduction, simple access in the order of the axes without one twice, no select
 * and no costly function; or nothing is read. */
bool schedule_is_strictly_inlineable(const te_op *op);
/* Nothing in its body takes many instructions: no function but rounding and square roots. */
bool schedule_is_cheap(const te_op *op);
/* Data is used again often enough: two inputs, or one under a reduction, do not depend on some data axis longer than 1.
 */
bool schedule_needs_tiling(const te_op *op);
/* OP's reads of INPUT leave out some data axis longer than 1: elements are used more than once. */
bool schedule_is_reused(const te_op *op, const tn_tensor *input);
/* Every read of INPUT has the last data axis of OP as its last index: a vector of OP reads a row of INPUT. */
bool schedule_is_read_by_rows(const te_op *op, const tn_tensor *input);
/* Some read has the last reduction axis of OP as its last index: rows are reduced along memory. */
bool schedule_reads_along_reduction(const te_op *op);
/* Looks through inlined stages: PRODUCER's only consumer, reached by elementwise reads alone, without a reduction of
 * its own; -1: none. */
int schedule_elementwise_consumer(const tn_schedule *s, int producer);
/* No stage but this one reads it. */
bool schedule_is_output_stage(const tn_schedule *s, int stage);

#endif
