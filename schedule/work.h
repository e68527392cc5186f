/* work.h: how much a schedule computes: counts of one run of its loops. */
#ifndef TENON_SCHEDULE_WORK_H
#define TENON_SCHEDULE_WORK_H

#include "schedule/state.h"

/* The stages that compute something, in order; the marks of a lowering hold these numbers. */
int schedule_computed_count(const tn_schedule *s);
int schedule_computed_number(const tn_schedule *s, int stage);
/* Name and place of each into OUT, zeros elsewhere. Names live as long as the schedule. */
void schedule_describe_stages(const tn_schedule *s, tn_kernel_stage *out);
/* Adds the counters of the stages that PART runs. The loops are lowered once more, with marks, and walked: an iteration
 * stands for all of its loop where no guard tells them apart, else each is looked at. TN_ERROR_MEMORY and errors of
 * lowering with a message. */
tn_status schedule_count_work(const tn_schedule *s, schedule_part part, tn_kernel_stage *out);

#endif
