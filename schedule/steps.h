/* steps.h: the table of steps: how each is applied, carried in JSON and written as a call. */
#ifndef TENON_SCHEDULE_STEPS_H
#define TENON_SCHEDULE_STEPS_H

#include <jansson.h>

#include "schedule/edit.h"

typedef struct schedule_call_style {
  const char *open; /* "tn_%s(s" or "%s(" ... */
  bool is_c;        /* C calls; else schedule text */
} schedule_call_style;

/* Steps as a JSON array of arrays. NULL: out of memory. */
json_t *schedule_steps_json(const tn_schedule *s);
/* Decodes one JSON step into memory of ARENA. NUMBER is its place, for messages. */
tn_status schedule_step_decode(tn_context *ctx, runtime_arena *arena, int number, const json_t *json,
                               schedule_step *out);
/* The step as a call, with the names that hold in S just before it is applied. */
void schedule_step_call(const tn_schedule *s, const schedule_step *step, bool is_c, runtime_str *out);
/* Refuses a schedule of N steps, when that is over the limit. */
tn_status schedule_check_steps(const tn_schedule *s, size_t n);
/* Writes the loop tree. */
bool schedule_print_tree(const tn_schedule *s, runtime_str *out);
/* Writes the structured form (script.c). */
bool schedule_print_script(const tn_schedule *s, runtime_str *out);

#endif
