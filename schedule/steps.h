/* steps.h: steps in JSON, and the forms of a schedule that have files of their own. */
#ifndef TENON_SCHEDULE_STEPS_H
#define TENON_SCHEDULE_STEPS_H

#include <jansson.h>

#include "schedule/edit.h"

/* Steps as a JSON array of arrays. NULL: out of memory. */
TN_GIVE json_t *schedule_steps_json(const tn_schedule *s);
/* Refuses a schedule of N steps, when that is over the limit. */
tn_status schedule_check_steps(const tn_schedule *s, size_t n);
/* Writes the loop tree. */
bool schedule_print_tree(const tn_schedule *s, runtime_str *out);
/* Writes the structured form (script.c). */
bool schedule_print_script(const tn_schedule *s, runtime_str *out);

#endif
