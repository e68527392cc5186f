/* tuning.h: what `tenon tune` of one program (tune.c) and of several (tune_tasks.c) share. */
#ifndef TENON_TOOLS_TUNING_H
#define TENON_TOOLS_TUNING_H

#include "runtime/profiler/profiler.h"
#include "tools/progress.h"
#include "tools/queue.h"

/* Watches for SIGINT and SIGTERM, or stops that. The first asks the run to end, the second ends the process. */
void tools_watch_signals(bool on);
/* The signal that has come; 0: none. */
int tools_stopped_by(void);
/* Prints TEXT as a word for a POSIX shell, with a blank before it. */
void tools_print_quoted(const char *text);
/* Prints the failures by class, a line each with one message, behind PREFIX. */
void tools_print_failures(const tn_tune_result *result, const char *prefix, FILE *out);
/* Prints the options that say how a run goes on, for a command that continues from its log. */
void tools_print_options(const tools_args *args);
/* Seconds by phase as an object; below: a time, or null when there is none. */
json_t *tools_profile_object(const tn_profiler *profiler);
json_t *tools_time_or_null(double seconds);
/* Prints a candidate if the line says --verbose 2. */
void tools_print_measured(tools_progress *show, const tools_args *args, double flops, const tn_candidate *candidate,
                          const tn_measurement *m);

/* ---- other machines (hosts.c) ------------------------------------------------------------------------------------ */

/* The hosts of --worker and --hosts, or the pool of --queue. Zero-initialised: none. Texts are the arena's. */
typedef struct tools_hosts {
  runtime_arena arena;
  RUNTIME_VEC(tn_worker_host) hosts;
  queue_tuner *queue; /* of --queue, or NULL */
} tools_hosts;
/* Reads them. Returns TOOLS_OK, or the exit status after a message: a file that cannot be read, a line
 * without a command, no host with the tags. To be freed in any case. */
int tools_open_hosts(tools_session *session, const tools_args *args, tools_hosts *out);
void tools_free_hosts(tools_hosts *hosts);
/* Sets what the line says about other machines in the options. */
void tools_use_hosts(const tools_args *args, const tools_hosts *hosts, tn_worker_options *workers);
/* Prints a line for each machine, and what several machines mean for the times. FINALS_ON may be NULL. */
void tools_print_hosts(int n, const tn_worker_host_state *hosts, const char *finals_on, FILE *out);
/* The same as a JSON array. */
json_t *tools_hosts_array(int n, const tn_worker_host_state *hosts);
/* Prints the options that name the machines, for a command that goes on. */
void tools_print_host_options(const tools_args *args);

/* The tuner's options as the command line says. FILL has the lines of --fill. Callbacks are not set. */
tn_tune_options tools_tune_options(const tools_session *session, const tools_args *args, const char *fill,
                                   const tools_hosts *hosts);
/* Whether the operands are several programs, or a network's file. */
bool tools_are_tasks(const tools_args *args);
/* TOOLS_OK, or TOOLS_USAGE after a message: options that do not apply to one program or to several, or have
 * an unknown word. */
int tools_check_tasks(const tools_args *args);
/* Gives the tasks the targets of a file with `NAME TIME` in each line. False after a message with file and
 * line: an unknown task, a second target, no time, or a file without any target. */
bool tools_read_targets(tools_session *session, const char *file, int n, tn_task *tasks);
/* Tunes all tasks under one budget and prints the results. Returns the exit status. */
int tools_tune_tasks(tools_session *session, const tools_args *args, const tools_hosts *hosts, tn_profiler *profiler);

#endif
