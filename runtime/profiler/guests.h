/* guests.h: what a session gets from outside its own threads: recordings of worker processes, and what
 * sources add (tn_profile_source). The measuring pool hands over the first (autotune/measure_profile.c). */
#ifndef TENON_RUNTIME_PROFILER_GUESTS_H
#define TENON_RUNTIME_PROFILER_GUESTS_H

#include "runtime/profiler/recorder.h"

/* ---- recordings of other processes ------------------------------------------------------------------------------- */

/* What a process that works for this one should record: level and categories of the running session; file: of this
 * process's buffers, or NULL. False: none records. */
bool profiler_session_options(tn_profile_options *out);
/* Gives the running session a finished recording of another process on the same clock; its collect merges it. Takes R:
 * it is freed if no session records. */
void profiler_session_adopt(tn_recording *r);

/* ---- for session.c ----------------------------------------------------------------------------------------------- */

/* Recording begins and ends: sources are started and stopped. */
void profiler_guests_start(void);
void profiler_guests_stop(void);
/* Adds all guests to a finished recording, which is finished again. False without memory. */
bool profiler_guests_collect(tn_recording *r);
/* Shows a whole recording to the sources. */
void profiler_guests_finished(tn_recording *r);
/* Adds what workers left in files beside the one that R was recovered from: PATH.worker-*. */
bool profiler_guests_recover(tn_recording *r, const char *path);
#define PROFILER_WORKER_FILE ".worker-"
/* Removes such files, left behind by a killed run of the same name. */
void profiler_guests_clean(const char *path);
/* Forgets what was adopted (reset, and the child after a fork). */
void profiler_guests_drop(void);

#endif
