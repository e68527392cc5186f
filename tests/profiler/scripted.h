/* scripted.h: recordings made by hand, for the rows about analysis: events at given times, a whole tuning run. */
#ifndef TENON_TESTS_PROFILER_SCRIPTED_H
#define TENON_TESTS_PROFILER_SCRIPTED_H

#include "runtime/profiler/recorder.h"

tn_recording *scripted_new(int64_t duration_ns); /* with process "main", pid 1, and lane 0, "main" */
int scripted_process(tn_recording *r, const char *name, int64_t pid, int32_t node_id);
int scripted_lane(tn_recording *r, int process, const char *name);
/* Nested by its times. */
tn_event *scripted_scope(tn_recording *r, int lane, int category, const char *name, int64_t start_ns,
                         int64_t duration_ns);
tn_event *scripted_mark(tn_recording *r, int lane, int category, const char *name, int64_t at_ns);
void scripted_counter(tn_recording *r, int category, const char *name, int64_t at_ns, double value);
/* Arguments of the event added last. */
void scripted_number(tn_recording *r, const char *key, double value);
void scripted_text(tn_recording *r, const char *key, const char *value);
tn_recording *scripted_finish(tn_recording *r); /* R */

/* A tuning run as the tuner records it: ROUNDS rounds of PER_ROUND candidates, two workers; healthy. */
tn_recording *scripted_tuning(int rounds, int per_round);

#endif
