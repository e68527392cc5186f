/* lesson.h: corrections of the plans' costs, learned from records of similar programs (lesson.c). */
#ifndef TENON_AUTOTUNE_LESSON_H
#define TENON_AUTOTUNE_LESSON_H

#include "autotune/search.h"

/* The factor for the cost of a plan: 1 for that of `auto`, and for all plans if nothing was learned. */
double lessons_factor(const autotune_lessons *lessons, const schedule_plans *plans, const schedule_plan *by_group);
/* Learns from all records of the neighbours. False: no memory, and the space is as it was. */
bool lessons_learn(autotune_space *space, int n, const autotune_neighbour *near);
void lessons_release(autotune_lessons *lessons);

#endif
