/* profile.h: what the files of `tenon profile` share. */
#ifndef TENON_TOOLS_PROFILE_H
#define TENON_TOOLS_PROFILE_H

#include "runtime/profiler/profiler.h"
#include "tools/tools.h"

/* Loads a recording from a file, or from FILE.buffers when there is no FILE. NULL after a message. */
tn_recording *tools_load_recording(tools_session *session, const char *path);

/* Views (profile_analysis.c): each returns the exit status. */
int tools_profile_analyse(tools_session *session, const tools_args *args);
bool tools_set_rules(tools_session *session, const tools_args *args,
                     tn_recording *r); /* reads the file of --rules; false with a message */
int tools_profile_advise(tools_session *session, const tools_args *args);
int tools_profile_tasks(tools_session *session, const tools_args *args);
int tools_profile_parse(tools_session *session, const tools_args *args, tn_recording *r);
/* Answers a query of `tenon profile serve`: text that the server frees. NULL with *MESSAGE. */
char *tools_profile_query(const tn_recording *recording, const char *request, char **message);

#endif
