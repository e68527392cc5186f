/* profile_session.h: recording one run of the command. */
#ifndef TENON_TOOLS_PROFILE_SESSION_H
#define TENON_TOOLS_PROFILE_SESSION_H

#include "runtime/profiler/profiler.h"
#include "tools/tools.h"

/* A recording of this run. tools_record_end releases it; its context is apart from the session's. */
typedef struct tools_recording {
  tn_context *ctx;
  char *output; /* the file that is asked for */
  struct tn_plugin *plugins[64];
  int n_plugins;
  bool is_on, lacks_memory, is_traced; /* lacks_memory: there is no context; is_traced: scopes also go to a tracer */
} tools_recording;

/* Starts a session when --profile or the environment asks for one. Its buffers are in OUTPUT.buffers until
 * the end, so that `tenon profile convert` can rebuild what a killed run recorded. */
tools_recording tools_record(tools_session *session, const tools_args *args);
/* Stops and writes the file. False after a message, and when there was no memory to begin. */
bool tools_record_end(tools_session *session, tools_recording *recording);

#endif
