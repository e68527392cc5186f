/* tuning.h: what `tenon tune` shares between one program (tune.c) and several (tune_tasks.c). */
#ifndef TENON_TOOLS_TUNING_H
#define TENON_TOOLS_TUNING_H

#include "runtime/profiler/profiler.h"
#include "tools/progress.h"
#include "tools/queue.h"

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

/* ---- other machines (hosts.c) ------------------------------------------------------------------------------------ */

/* The hosts of --worker and --hosts, or the pool of --queue; zero: none. What they hold is the arena's. */
typedef struct tools_hosts {
  runtime_arena arena;
  RUNTIME_VEC(tn_worker_host) hosts;
  queue_tuner *queue; /* of --queue; NULL: there is none */
} tools_hosts;
/* TOOLS_OK, or the exit status after a message: a file that cannot be read, a line that says nothing, no host with the tags. To be
 * freed in any case. */
int tools_open_hosts(tools_session *session, const tools_args *args, tools_hosts *out);
void tools_free_hosts(tools_hosts *hosts);
/* Gives the options what the line says of other machines. */
void tools_use_hosts(const tools_args *args, const tools_hosts *hosts, tn_worker_options *workers);
/* A line for each machine, and what that means for the times. FINALS_ON may be NULL. */
void tools_print_hosts(int n, const tn_worker_host_state *hosts, const char *finals_on, FILE *out);
/* The same as an array. */
json_t *tools_hosts_array(int n, const tn_worker_host_state *hosts);
/* The options of the line that name them, for a command that goes on. */
void tools_print_host_options(const tools_args *args);

/* What the command line says of a run; FILL are the lines of --fill. Callbacks are not set. */
tn_tune_options tools_tune_options(const tools_session *session, const tools_args *args, const char *fill,
                                   const tools_hosts *hosts);
/* Whether the operands are more than one program: several, or a network's file. */
bool tools_are_tasks(const tools_args *args);
/* TOOLS_OK, or TOOLS_USAGE after a message: options that do not go with so many programs, or are no such words. */
int tools_check_tasks(const tools_args *args);
/* Gives the tasks the targets of a file, `NAME TIME` a line. False after a message with file and line: a task that is not there or
 * has one already, no time, a file without any. */
bool tools_read_targets(tools_session *session, const char *file, int n, tn_task *tasks);
/* Tunes them under one budget. Returns the exit status. */
int tools_tune_tasks(tools_session *session, const tools_args *args, const tools_hosts *hosts, tn_profiler *profiler);

#endif
