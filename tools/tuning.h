/* tuning.h: what `tenon tune` shares between one program (tune.c) and several (tune_tasks.c). */
#ifndef TENON_TOOLS_TUNING_H
#define TENON_TOOLS_TUNING_H

#include "runtime/profiler/profiler.h"
#include "tools/progress.h"

/* What the command line says of a run; FILL are the lines of --fill. Callbacks are not set. */
tn_tune_options tools_tune_options(const tools_session *session, const tools_args *args, const char *fill);
/* The first of SIGINT and SIGTERM asks the run to end, the second ends the process. */
void tools_watch_signals(bool on);
/* The signal that came; 0: none. */
int tools_stopped_by(void);
/* TEXT as a word for a POSIX shell, with a blank before it. */
void tools_print_quoted(const char *text);
/* By class, one line each with one sample, each behind PREFIX. */
void tools_print_failures(const tn_tune_result *result, const char *prefix, FILE *out);
/* The options of the line that say how long and how a run goes on, for a command that goes on from its log. */
void tools_print_options(const tools_args *args);
/* Seconds by phase; a time, or null when there is none. */
json_t *tools_profile_object(const tn_profiler *profiler);
json_t *tools_time_or_null(double seconds);
/* Prints a candidate where the line says --verbose 2. */
void tools_print_measured(tools_progress *show, const tools_args *args, double flops, const tn_candidate *candidate,
                          const tn_measurement *m);

/* Whether the operands are more than one program: several, or a network's file. */
bool tools_are_tasks(const tools_args *args);
/* TOOLS_OK, or TOOLS_USAGE after a message: options that do not go with so many programs, or are no such words. */
int tools_check_tasks(const tools_args *args);
/* Tunes them under one budget. Returns the exit status. */
int tools_tune_tasks(tools_session *session, const tools_args *args, tn_profiler *profiler);

#endif
