/* log.h: the words of `tenon log` that print no table. Each function returns the exit status. */
#ifndef TENON_TOOLS_LOG_H
#define TENON_TOOLS_LOG_H

#include "tools/tools.h"

/* Makes a filter of the options and the session's program. False after a message about wrong usage. */
bool tools_log_filter(const tools_session *session, const tools_args *args, tn_log_filter *out);
/* Whether times of a record's target and of the session's can be compared (autotune_same_target). */
bool tools_log_same_target(const tools_session *session, const char *target);
/* log_work.c */
int tools_log_show(tools_session *session, const tools_args *args);
int tools_log_stats(tools_session *session, const tools_args *args);
int tools_log_check(tools_session *session, const tools_args *args);
int tools_log_merge(tools_session *session, const tools_args *args);
int tools_log_compact(tools_session *session, const tools_args *args);
int tools_log_export(tools_session *session, const tools_args *args);
int tools_log_import(tools_session *session, const tools_args *args);
/* Times the fastest record of the session's program here, no matter what target it is of, and appends the
 * new record to the log. */
int tools_log_measure_best(tools_session *session, const tools_args *args);
/* Times the best records of the session's target again and prints both times (log_remeasure.c). */
int tools_log_remeasure(tools_session *session, const tools_args *args);

#endif
