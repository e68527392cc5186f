/* guests.h: what a session gets from outside its own threads: recordings of worker processes, which the
 * measuring pool hands over (autotune/measure_profile.c), and what sources add (tn_profile_source). */
#ifndef TENON_RUNTIME_PROFILER_GUESTS_H
#define TENON_RUNTIME_PROFILER_GUESTS_H

#include "runtime/profiler/recorder.h"

/* ---- recordings of other processes ------------------------------------------------------------------------------- */

/* What a process working for this one should record: level and categories of the running session, and the
 * file of this process's buffers, or NULL. False: no session records. */
bool profiler_session_options(tn_profile_options *out);
/* Hands the running session a finished recording of another process on the same clock, to be merged when it
 * is collected. Takes R over; frees it if no session records. */
void profiler_session_adopt(tn_recording *r);

/* ---- for session.c ----------------------------------------------------------------------------------------------- */

/* Starts and stops the sources when recording begins and ends. */
void profiler_guests_start(void);
void profiler_guests_stop(void);
/* Adds all guests to a recording and finishes it again. False without memory. */
bool profiler_guests_collect(tn_recording *r);
/* Shows a complete recording to the sources. */
void profiler_guests_finished(tn_recording *r);
/* Adds what workers left in files next to the one that R was recovered from: PATH.worker-*. */
bool profiler_guests_recover(tn_recording *r, const char *path);
#define PROFILER_WORKER_FILE ".worker-"
/* Removes such files left behind by a killed run of the same name. */
void profiler_guests_clean(const char *path);
/* Forgets what was adopted (on reset, and in a forked child). */
void profiler_guests_drop(void);

#endif
