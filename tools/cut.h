/* cut.h: a large program as a network of its groups (cut.c). */
#ifndef TENON_TOOLS_CUT_H
#define TENON_TOOLS_CUT_H

#include "tools/tools.h"

/* Whether the session's program is tuned in its groups: the line says so, or it is too large to be tuned as one. */
bool tools_is_cut(const tools_session *session, const tools_args *args);
/* The groups of WHOLE's program as tasks; their counts and weights are as often as WHOLE's. To be freed by tn_network_free. False
 * after a message. */
bool tools_cut_task(tools_session *session, const tn_task *whole, tn_network *out);
/* The schedule that LOG's records of the program's groups make; SESSION's cut: what was used. NULL without a message: there are none, or
 * the program is not one that can be cut. */
tn_schedule *tools_cut_schedule(tools_session *session, const char *log);
/* Groups that no record was used for. */
int tools_cut_missing(const tn_cut *cut);
/* Prints which groups were scheduled by records of LOG. */
void tools_tell_cut(const tn_cut *cut, const char *log);

#endif
