/* log.h: the words of `tenon log` beside its tables. Each returns the exit status. */
#ifndef TENON_TOOLS_LOG_H
#define TENON_TOOLS_LOG_H

#include "tools/tools.h"

/* What the options and the session's program mean. False after a message: wrong usage. */
bool tools_log_filter(const tools_session *session, const tools_args *args, tn_log_filter *out);
/* Whether a record's target is the session's, as far as times are comparable. */
bool tools_log_same_target(const tools_session *session, const char *target);
/* log_work.c */
int tools_log_show(tools_session *session, const tools_args *args);
int tools_log_stats(tools_session *session, const tools_args *args);
int tools_log_check(tools_session *session, const tools_args *args);
int tools_log_merge(tools_session *session, const tools_args *args);
int tools_log_compact(tools_session *session, const tools_args *args);
int tools_log_export(tools_session *session, const tools_args *args);
int tools_log_import(tools_session *session, const tools_args *args);
/* Builds and times the fastest record of the session's program, of whatever target, here, and appends that to the log. */
int tools_log_measure_best(tools_session *session, const tools_args *args);
/* Times the best records of the session's target again (log_remeasure.c). */
int tools_log_remeasure(tools_session *session, const tools_args *args);

#endif
