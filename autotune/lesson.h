/* lesson.h: what records of programs like one teach about the costs of its plans (lesson.c). */
#ifndef TENON_AUTOTUNE_LESSON_H
#define TENON_AUTOTUNE_LESSON_H

#include "autotune/search.h"

/* What the costs of plans are multiplied by: 1 for those of `auto`, and for all where nothing was learned. */
double lessons_factor(const autotune_lessons *lessons, const schedule_plans *plans, const schedule_plan *by_group);
/* From all records of the neighbours. False: no memory, and the space is as it was. */
bool lessons_learn(autotune_space *space, int n, const autotune_neighbour *near);
void lessons_release(autotune_lessons *lessons);

#endif
